//! Whether what is named as repeats of a side repeats anything: stages of which different things were asked have no median.

use super::{Aspect, joined};
use crate::comparison::document::Difference;
use crate::comparison::side::{Picked, Side};
use crate::document::StageResult;
use crate::event::{Code, Severity};
use crate::words::list;

const REPEATS: Aspect = Aspect {
    name: "repeats",
    severity: Severity::Invalid,
    advice: "stages of different loads are no repeats of each other, and their median is nobody's figure: name runs that \
             were asked for the same, or compare the others side by side",
};

/// What a stage was asked for, in words; `None` where that does not apply to it.
pub(super) type MadeOf = fn(&StageResult) -> Option<String>;

/// `made_of` is what repeats of one stage must have in common, and what it is called behind its values.
pub(super) fn repeats(
    sides: &[Side],
    picks: &[Picked<'_>],
    made_of: &[(&str, MadeOf)],
) -> Option<Difference> {
    let values: Vec<Option<String>> = picks.iter().map(|picked| unlike(picked, made_of)).collect();
    let of_sides: Vec<String> = sides
        .iter()
        .zip(&values)
        .filter_map(|(side, value)| Some(format!("those of {} are of {}", side.name, value.as_ref()?)))
        .collect();
    if of_sides.is_empty() {
        return None;
    }
    // A median over connections or protocols is at least one of the same load.
    let same_load =
        picks.iter().filter(|picked| picked.repeats() > 0).all(|picked| picked.demand().is_some());
    let severity = if same_load { Severity::Doubt } else { REPEATS.severity };
    Some(Difference {
        code: Code::NotComparable,
        aspect: REPEATS.name,
        severity,
        series: None,
        values,
        text: format!("{}: {}", REPEATS.name, of_sides.join(", ")),
        advice: REPEATS.advice,
    })
}

/// What differs between the stages of one side: `8 and 16 clients, a hold and a ramp`.
fn unlike(picked: &Picked<'_>, made_of: &[(&str, MadeOf)]) -> Option<String> {
    let differs = |(name, of): &(&str, MadeOf)| {
        let values = || picked.stages().filter_map(|(_, stage)| of(stage));
        let first = values().next()?;
        let text = joined(values()).filter(|_| values().any(|value| value != first))?;
        Some(if name.is_empty() { text } else { format!("{text} {name}") })
    };
    let all: Vec<String> = made_of.iter().filter_map(differs).collect();
    (!all.is_empty()).then(|| list(&all))
}
