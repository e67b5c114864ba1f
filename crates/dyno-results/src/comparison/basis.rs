//! What a series' intervals rest on, said in one sentence beside them.

use super::document::{Basis, BasisUnit};
use super::side::{Picked, Side};
use crate::words::list;

pub(super) fn basis(sides: &[Side], picks: &[Picked<'_>]) -> Basis {
    let repeats: Vec<u32> =
        picks.iter().map(|picked| u32::try_from(picked.repeats()).unwrap_or(u32::MAX)).collect();
    let present: Vec<&Picked<'_>> = picks.iter().filter(|picked| picked.repeats() > 0).collect();
    let repeated = present.iter().filter(|picked| picked.repeats() > 1).count();
    let unit = match repeated {
        0 => BasisUnit::Seconds,
        _ if repeated == present.len() => BasisUnit::Repeats,
        _ => BasisUnit::Mixed,
    };
    let in_turn = unit == BasisUnit::Repeats && took_turns(&present);
    Basis { unit, text: text(unit, in_turn, sides, picks), repeats, in_turn }
}

/// Whether the stages of one run took turns: A B A B, or A B B A, each round having one of every side.
fn took_turns(present: &[&Picked<'_>]) -> bool {
    let mut runs: Vec<&str> = Vec::new();
    let mut order: Vec<(f64, usize)> = Vec::new();
    for (side, picked) in present.iter().enumerate() {
        for (member, result) in picked.stages() {
            runs.push(&member.report().run.name);
            order.push((result.start_s, side));
        }
    }
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    let fair =
        |round: &[(f64, usize)]| (0..present.len()).all(|side| round.iter().any(|(_, of)| *of == side));
    runs.windows(2).all(|pair| pair[0] == pair[1]) && order.chunks(present.len().max(1)).all(fair)
}

fn text(unit: BasisUnit, in_turn: bool, sides: &[Side], picks: &[Picked<'_>]) -> String {
    let one_run = one_run(picks);
    let of_side = |(side, picked): (&Side, &Picked<'_>)| {
        let noun = match (picked.repeats(), picked.0.len()) {
            (0, _) => return None,
            (1, _) if one_run => "1 stage".to_owned(),
            (1, _) => "1 run".to_owned(),
            (stages, 1) if one_run => format!("{stages} stages"),
            (stages, 1) => format!("{stages} stages of one run"),
            (runs, _) => format!("{runs} runs"),
        };
        Some((side.name.clone(), noun))
    };
    let counts: Vec<(String, String)> = sides.iter().zip(picks).filter_map(of_side).collect();
    let alike = counts.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let counted = match counts.first() {
        Some((_, count)) if alike => format!("{count} each"),
        _ => list(&counts.iter().map(|(side, count)| format!("{side} {count}")).collect::<Vec<_>>()),
    };
    let turns = match (in_turn, one_run) {
        (true, _) => " of one run, in turn",
        (false, true) => " of one run",
        (false, false) => "",
    };
    match unit {
        BasisUnit::Seconds if one_run => {
            "one stage each: the interval is of the seconds within them, not of repeats".to_owned()
        }
        BasisUnit::Seconds => {
            "one run each: the interval is of the seconds within them, not of repeats".to_owned()
        }
        BasisUnit::Repeats => {
            format!("{counted}{turns}: medians, and the interval of their ratio is of the repeats")
        }
        BasisUnit::Mixed => {
            format!(
                "{counted}: what was not repeated is known by the seconds within it only, so the interval is too narrow"
            )
        }
    }
}

fn one_run(picks: &[Picked<'_>]) -> bool {
    let runs: Vec<&str> = picks
        .iter()
        .flat_map(|picked| picked.stages().map(|(member, _)| member.report().run.name.as_str()))
        .collect();
    runs.windows(2).all(|pair| pair[0] == pair[1])
}
