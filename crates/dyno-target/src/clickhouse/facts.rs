//! What ClickHouse's settings come to, by its documentation of MergeTree's settings, of asynchronous inserts and of what is
//! transactional of an INSERT. Parts that a crash damages are set aside at the next start: rows are lost, nothing is corrupt.

use dyno_results::event::SettingFacts;

use crate::inspect::SettingValues;

const FSYNC: &str = "fsync_after_insert";
const FSYNC_DIRECTORY: &str = "fsync_part_directory";
const ASYNC: &str = "async_insert";
const WAITS: &str = "wait_for_async_insert";

pub(super) fn facts(settings: &SettingValues<'_>) -> SettingFacts {
    let off = |name| settings.says(name, |value| value == "0");
    let on = |name| settings.says(name, |value| value == "1");
    // Rows that nobody waits for are acknowledged in memory.
    let unwaited = on(ASYNC).and_then(|it| Some(format!("{it}, {}", off(WAITS)?)));
    let loses: Vec<String> = [off(FSYNC), off(FSYNC_DIRECTORY), unwaited].into_iter().flatten().collect();
    let durable = on(FSYNC).zip(on(FSYNC_DIRECTORY)).filter(|_| loses.is_empty());
    let advice = "set fsync_after_insert and fsync_part_directory to 1 for merge_tree in the server's configuration, \
                  and wait_for_async_insert to 1";
    SettingFacts {
        durability_advice: (!loses.is_empty()).then(|| advice.to_owned()),
        crash_loses_last: loses,
        durable_by: durable.map(|(data, directory)| format!("{data}, {directory}")),
        ..SettingFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::tests::bearing_on_durability;

    #[test]
    fn durability_follows_from_syncs_and_from_who_waits() {
        let with = |changed: &[(&str, &str)]| {
            let usual = [(FSYNC, "1"), (FSYNC_DIRECTORY, "1"), (ASYNC, "0"), (WAITS, "1")];
            facts(&SettingValues(&bearing_on_durability(&usual, changed)))
        };
        let durable = Some("fsync_after_insert is 1, fsync_part_directory is 1".to_owned());
        assert_eq!(with(&[]).durable_by, durable);
        assert_eq!(with(&[(ASYNC, "1")]).durable_by, durable);
        for (changed, word) in [
            (&[(FSYNC, "0")][..], "fsync_after_insert is 0"),
            (&[(FSYNC_DIRECTORY, "0")], "fsync_part_directory is 0"),
            (&[(ASYNC, "1"), (WAITS, "0")], "async_insert is 1, wait_for_async_insert is 0"),
        ] {
            let facts = with(changed);
            assert_eq!((facts.crash_loses_last, facts.durable_by), (vec![word.to_owned()], None));
            assert!(facts.crash_corrupts.is_empty() && facts.durability_advice.is_some());
        }
        assert_eq!(facts(&SettingValues(&[])), SettingFacts::default());
    }
}
