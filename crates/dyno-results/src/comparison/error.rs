//! Why nothing can be compared, in words that say what there is.

use crate::store::StoreError;
use crate::words::list;

/// A comparison that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a side of the comparison is empty: {wanted:?}\n  {FORMS}")]
    Empty { wanted: String },
    #[error("{wanted:?} is neither a run nor a target; the nearest runs are {}\n  {FORMS}", near.join(", "))]
    NoSuchSide { wanted: String, near: Vec<String> },
    #[error(
        "{wanted:?} could be the run {run} or a target of that name\n  write the run's whole name, or RUN:{wanted}"
    )]
    RunOrTarget { wanted: String, run: String },
    #[error("no run has all of the targets {}: {}", list(targets), newest(found))]
    NotTogether {
        targets: Vec<String>,
        /// The newest run of each.
        found: Vec<(String, String)>,
    },
    #[error("the run {run} has no target {wanted:?}; it has {}", list_or_none(targets))]
    NoSuchTarget { run: String, wanted: String, targets: Vec<String> },
    #[error("the run {run} has several targets, {}: write {run}:{}", list(targets), targets.first().map_or("TARGET", String::as_str))]
    SeveralTargets { run: String, targets: Vec<String> },
    #[error("the target {target} of the run {run} has no series {wanted:?}; it has {}", list_or_none(series))]
    NoSuchSeries { run: String, target: String, wanted: String, series: Vec<String> },
    #[error("the runs of {wanted:?} name different series, {}: repeats are of one", list(series))]
    DifferentSeries { wanted: String, series: Vec<String> },
    #[error("{name} is named twice: a thing cannot be compared with itself, nor count twice as a repeat")]
    Twice { name: String },
    #[error("{name} is all there is to compare: it has one target\n  name a second run or target; {FORMS}")]
    Alone { name: String },
    #[error("--base {wanted:?} is none of the sides, which are {}", list(sides))]
    NoSuchBase { wanted: String, sides: Vec<String> },
    #[error(
        "the sides have no series in common: {}\n  to compare two of other names, name them: RUN:TARGET/SERIES RUN:TARGET/SERIES",
        inventory(sides)
    )]
    NothingInCommon {
        /// Each side with its series.
        sides: Vec<(String, Vec<String>)>,
    },
}

const FORMS: &str = "a side is RUN, RUN:TARGET, RUN:TARGET/SERIES, a target's name, or repeats RUN,RUN,RUN (`dyno runs` lists what there is)";

fn list_or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { list(names) }
}

fn newest(found: &[(String, String)]) -> String {
    let each: Vec<String> = found.iter().map(|(target, run)| format!("{run}:{target}")).collect();
    format!("name them by their runs: {}", each.join(" "))
}

fn inventory(sides: &[(String, Vec<String>)]) -> String {
    let each: Vec<String> =
        sides.iter().map(|(side, series)| format!("{side} has {}", list_or_none(series))).collect();
    each.join("; ")
}
