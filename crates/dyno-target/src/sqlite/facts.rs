//! What SQLite's settings come to, by its documentation of `PRAGMA synchronous` and `PRAGMA journal_mode`, and what is
//! behind its errors.

use dyno_results::event::SettingFacts;

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
    let both = |synchronous: &[&str], journal: &[&str]| {
        says(SYNCHRONOUS, synchronous)
            .zip(says(JOURNAL, journal))
            .map(|(synchronous, journal)| format!("{synchronous}, {journal}"))
    };
    // To delete the journal is to commit, and only EXTRA waits until its directory is on the disk, too: a journal that comes back is
    // rolled back.
    let comes_back = both(&["full"], &["delete"]);
    let relaxed = says(SYNCHRONOUS, &["normal"]).or(comes_back);
    let advice = (!off.is_empty() || relaxed.is_some()).then_some(
        "name the target with ?journal_mode=wal&synchronous=full, or with ?synchronous=extra for a journal that is deleted",
    );
    let durable =
        both(&["extra"], &["delete"]).or_else(|| both(&["full", "extra"], &["truncate", "persist", "wal"]));
    SettingFacts {
        crash_corrupts: off,
        crash_loses_last: relaxed.into_iter().collect(),
        durable_by: durable,
        durability_advice: advice.map(str::to_owned),
        ..SettingFacts::default()
    }
}

pub(super) fn cause(code: &str, message: &str) -> Option<Cause> {
    Some(match code {
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
        for (journal, synchronous) in
            [("delete", "extra"), ("wal", "full"), ("truncate", "full"), ("persist", "full")]
        {
            let expected = format!("synchronous is {synchronous}, journal_mode is {journal}");
            assert_eq!(durable(journal, synchronous), Some(expected));
            assert!(with(journal, synchronous).crash_loses_last.is_empty());
        }
        let deleted = with("delete", "full");
        assert_eq!(deleted.crash_loses_last, ["synchronous is full, journal_mode is delete"]);
        assert!(
            deleted.durable_by.is_none() && deleted.durability_advice.unwrap().contains("synchronous=extra")
        );
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
