//! What SQLite's settings come to, by its documentation of `PRAGMA synchronous` and `PRAGMA journal_mode`.

use super::{DurabilityFacts, Settings};

pub(super) const JOURNAL: &str = "journal_mode";
const SYNCHRONOUS: &str = "synchronous";

pub(super) fn judge(settings: &Settings<'_>) -> DurabilityFacts {
    let says = |name: &str, is: &[&str]| {
        settings.value(name).filter(|value| is.contains(value)).map(|value| format!("{name} is {value}"))
    };
    // A journal in memory is gone with the process, and what it had begun to change is not undone.
    let off = [says(SYNCHRONOUS, &["off"]), says(JOURNAL, &["off", "memory"])];
    let relaxed = says(SYNCHRONOUS, &["normal"]);
    let durable =
        says(SYNCHRONOUS, &["full", "extra"]).zip(says(JOURNAL, &["delete", "truncate", "persist", "wal"]));
    DurabilityFacts {
        off: off.into_iter().flatten().collect(),
        relaxed: relaxed.into_iter().collect(),
        durable: durable.map(|(synchronous, journal)| format!("{synchronous}, {journal}")),
        details: Vec::new(),
        advice_off: "for a durable figure, name the target with ?synchronous=full&journal_mode=wal",
        advice_relaxed: "for a durable figure, name the target with ?synchronous=full",
    }
}
