//! What SQLite's settings come to, by its documentation of `PRAGMA synchronous` and `PRAGMA journal_mode`, and what is
//! behind its errors.

use dyno_results::event::SettingFacts;
use dyno_wire::server_error::DriverError;

use super::session::MOVED;
use crate::cause::Cause;
use crate::inspect::SettingValues;

const JOURNAL: &str = "journal_mode";
const SYNCHRONOUS: &str = "synchronous";

pub(super) fn facts(settings: &SettingValues<'_>) -> SettingFacts {
    let says = |name: &str, is: &[&str]| settings.says(name, |value| is.contains(&value));
    // A journal in memory is gone with the process, and what it had begun to change is not undone.
    let off = [says(SYNCHRONOUS, &["off"]), says(JOURNAL, &["off", "memory"])];
    let off: Vec<String> = off.into_iter().flatten().collect();
    let relaxed = says(SYNCHRONOUS, &["normal"]);
    let advice = if off.is_empty() {
        relaxed.as_ref().map(|_| "name the target with ?synchronous=full")
    } else {
        Some("name the target with ?synchronous=full&journal_mode=wal")
    };
    let durable =
        says(SYNCHRONOUS, &["full", "extra"]).zip(says(JOURNAL, &["delete", "truncate", "persist", "wal"]));
    SettingFacts {
        crash_corrupts: off,
        crash_loses_last: relaxed.into_iter().collect(),
        durable_by: durable.map(|(synchronous, journal)| format!("{synchronous}, {journal}")),
        durability_advice: advice.map(str::to_owned),
        ..SettingFacts::default()
    }
}

pub(super) fn cause(error: &DriverError) -> Option<Cause> {
    let message = error.message.as_str();
    Some(match error.code {
        "SQLITE_FULL" => Cause::DiskFull,
        MOVED => Cause::FileMoved,
        code if code.starts_with("SQLITE_READONLY") => Cause::ReadOnly,
        code if code.starts_with("SQLITE_BUSY") || code.starts_with("SQLITE_LOCKED") => Cause::Locked,
        "SQLITE_PERM" | "SQLITE_AUTH" => Cause::Denied,
        // One code for all that is wrong with a statement.
        "SQLITE_ERROR" if message.starts_with("no such table") => Cause::NoSuchTable,
        "SQLITE_ERROR" if message.contains("already exists") => Cause::TableExists,
        "SQLITE_ERROR" if message.contains("no column") || message.contains("no such column") => {
            Cause::OtherColumns
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::tests::bearing_on_durability;

    fn with(journal: &str, synchronous: &str) -> SettingFacts {
        let rows = bearing_on_durability(&[(JOURNAL, journal), (SYNCHRONOUS, synchronous)], &[]);
        facts(&SettingValues(&rows))
    }

    #[test]
    fn durability_follows_from_journal_and_syncs() {
        let durable = |journal, synchronous| with(journal, synchronous).durable_by;
        assert_eq!(durable("delete", "full").as_deref(), Some("synchronous is full, journal_mode is delete"));
        assert_eq!(durable("wal", "extra").as_deref(), Some("synchronous is extra, journal_mode is wal"));
        let relaxed = with("wal", "normal");
        assert_eq!(
            (relaxed.crash_loses_last, relaxed.durable_by),
            (vec!["synchronous is normal".to_owned()], None)
        );
        for (journal, synchronous, word) in [
            ("wal", "off", "synchronous is off"),
            ("memory", "full", "journal_mode is memory"),
            ("off", "full", "journal_mode is off"),
        ] {
            let facts = with(journal, synchronous);
            assert_eq!(facts.crash_corrupts, [word]);
            assert!(facts.durable_by.is_none() && facts.durability_advice.is_some());
        }
    }
}
