//! Whether the sides ran the same queries in their passes: a total over other queries is of other work.

use super::server::same_products;
use super::{Aspect, told, unequal_where_known};
use crate::comparison::answers::differing;
use crate::comparison::document::Difference;
use crate::comparison::sections::SharedParts;
use crate::comparison::side::{Member, Picked, Side};
use crate::document::Series;
use crate::event::{Answer, Data, Severity, StageKind};
use crate::format;
use crate::words::list;

const QUERIES: Aspect = Aspect {
    name: "queries",
    severity: Severity::Invalid,
    advice: "totals over different queries have no ratio: run the same set on both, or compare query by query",
};
const TEXTS: Aspect = Aspect {
    name: "texts of the queries",
    severity: Severity::Doubt,
    advice: "other values find other rows: run both with the same parameters (-D for queries of your own; --parameters and --seed \
             for tpch)",
};
const ANSWERS: Aspect = Aspect {
    name: "answers",
    severity: Severity::Invalid,
    advice: "times of queries that return something else are of other work: look whether the data are the same, and which answer is right",
};
const PASSES: Aspect = Aspect {
    name: "passes",
    severity: Severity::Note,
    advice: "the median of fewer passes is known less well: run both with the same --repeat",
};
const WARM_UP: Aspect = Aspect {
    name: "warm-up pass",
    severity: Severity::Doubt,
    advice: "a first pass fills the caches for the next: run both with a warm-up, or none (--warm-up 0)",
};
/// Queries that are named.
const NAMED_MAX: usize = 5;

pub(super) fn differences(
    sides: &[Side],
    shared: &SharedParts<'_>,
    picks: &[Picked<'_>],
) -> Vec<Option<Difference>> {
    // Of each run: several of a side repeat each other.
    let count = |picked: &Picked<'_>| {
        let of_run = picked.0.iter().map(|(_, stages)| stages.iter().filter(|it| it.stage.pass).count());
        super::joined(of_run.filter(|passes| *passes > 0).map(|passes| passes.to_string()))
    };
    vec![
        names(sides, shared),
        texts(sides, shared).filter(|_| same_products(sides)),
        answers(sides, shared),
        unequal_where_known(sides, &PASSES, picks.iter().map(count).collect()),
        unequal_where_known(sides, &WARM_UP, shared.sides.iter().map(warm_up).collect()),
    ]
}

/// `22 queries`, and which of them are not on all sides.
fn names(sides: &[Side], shared: &SharedParts<'_>) -> Option<Difference> {
    if shared.same_queries() {
        return None;
    }
    let all = shared.queries();
    let common = |name: &str| all.iter().filter(|names| !names.is_empty()).all(|it| it.contains(&name));
    let text = |names: &Vec<&str>| {
        let own: Vec<&str> = names.iter().copied().filter(|name| !common(name)).collect();
        let count = format::queries(names.len());
        match names.as_slice() {
            [] => None,
            _ if own.is_empty() => Some(count),
            _ => Some(format!("{count}, among them {}", shortened(&own))),
        }
    };
    unequal_where_known(sides, &QUERIES, all.iter().map(text).collect())
}

/// Queries of one name that were sent with another text. Products need texts of their own, which says nothing, and so do tables
/// of other names: each variant of `storage` has its own.
fn texts(sides: &[Side], shared: &SharedParts<'_>) -> Option<Difference> {
    let sent: Vec<Vec<Sent<'_>>> = shared.sides.iter().map(|side| texts_of(side)).collect();
    let first = sent.iter().find(|texts| !texts.is_empty())?;
    let is_other = |one: &&Sent<'_>| {
        let mut same = sent.iter().flatten().filter(|it| it.query == one.query && it.tables == one.tables);
        same.any(|it| it.sql != one.sql)
    };
    let other: Vec<&str> = first.iter().filter(is_other).map(|sent| sent.query).collect();
    if other.is_empty() {
        return None;
    }
    let difference = told(sides, &TEXTS, vec![None; sides.len()]);
    Some(Difference { text: format!("{}: {} differ", TEXTS.name, shortened(&other)), ..difference })
}

/// Queries whose answers differ from those of the base.
fn answers(sides: &[Side], shared: &SharedParts<'_>) -> Option<Difference> {
    let against_base = |side: usize| {
        let differing = differing(&shared.sides[shared.base], &shared.sides[side]);
        let names: Vec<&str> = differing.iter().map(|(query, _)| *query).collect();
        let (first, in_what) = differing.first()?;
        Some(format!("{} of {} differ ({first}: {in_what})", shortened(&names), sides[side].name))
    };
    let others = (0..sides.len()).filter(|side| *side != shared.base);
    let texts: Vec<String> = others.filter_map(against_base).collect();
    (!texts.is_empty()).then(|| {
        let difference = told(sides, &ANSWERS, vec![None; sides.len()]);
        Difference { text: format!("{}: {}", ANSWERS.name, texts.join("; ")), ..difference }
    })
}

/// A query as it was sent.
struct Sent<'a> {
    query: &'a str,
    sql: &'a str,
    /// Names of those that dyno made for its workload.
    tables: Vec<&'a str>,
}

fn texts_of<'a>(side: &[(&'a Member, &'a Series)]) -> Vec<Sent<'a>> {
    let of_member = |(member, series): &(&'a Member, &'a Series)| {
        let (target, name, report) = (member.target.as_str(), series.name.as_str(), member.report());
        let family = series.workload.split('/').next();
        let is_own = report.has_statements_of_the_user(series);
        let is_of_series =
            |it: &&Data| !is_own && it.target == target && Some(it.workload.as_str()) == family;
        let data = report.data.iter().filter(is_of_series);
        let tables: Vec<&str> = data.flat_map(|it| &it.tables).map(|table| table.name.as_str()).collect();
        let own = report.answers.iter().filter(move |it| it.target == target && it.series == name);
        let sent = |Answer { answer, .. }: &'a Answer| Sent {
            query: &answer.query,
            sql: &answer.sql,
            tables: tables.clone(),
        };
        own.map(sent).collect::<Vec<_>>()
    };
    side.iter().flat_map(of_member).collect()
}

fn warm_up(side: &Vec<(&Member, &Series)>) -> Option<String> {
    let passes = side.iter().filter(|(_, series)| series.passes.is_some());
    let warmed = passes.map(|(member, series)| {
        let stages = member.report().stages.iter().map(|result| &result.stage);
        let mut own = stages.filter(|it| it.key.system == member.target && it.series == series.name);
        own.any(|stage| stage.kind == StageKind::WarmUp)
    });
    super::joined(warmed.map(|it| if it { "made" } else { "none" }.to_owned()))
}

/// `Q1, Q3 and 4 more`
fn shortened(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED_MAX).map(|name| (*name).to_owned());
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    list(&shown.chain(more).collect::<Vec<_>>())
}
