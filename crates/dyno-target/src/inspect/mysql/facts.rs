//! What the settings of InnoDB and the binary log come to. Only products that heed them have them among their durability
//! settings.

use dyno_results::event::SettingFacts;
use dyno_results::words::list;

use crate::inspect::SettingValues;

const COMMIT: &str = "innodb_flush_log_at_trx_commit";
const DOUBLEWRITE: &str = "innodb_doublewrite";
const METHOD: &str = "innodb_flush_method";
/// Ways to flush that do not.
const NO_FLUSH: [&str; 2] = ["nosync", "littlesync"];
/// Pages that were torn by a crash can be mended from their copies.
const PAGES_WHOLE: [&str; 3] = ["ON", "1", "DETECT_AND_RECOVER"];
/// Settings that most often decide a benchmark.
pub(super) const WEIGHTIEST: &[&str] = &[
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "log_bin",
    "sync_binlog",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_buffer_size",
    "innodb_buffer_pool_instances",
    "innodb_page_size",
    "innodb_adaptive_hash_index",
    "innodb_thread_concurrency",
    "innodb_dedicated_server",
    "innodb_use_native_aio",
    "thread_handling",
    "thread_pool_size",
    "transaction_isolation",
    "performance_schema",
    "table_open_cache",
    "query_cache_type",
    "query_cache_size",
];

pub(super) fn facts(settings: &SettingValues<'_>) -> SettingFacts {
    let off = [
        settings.says(DOUBLEWRITE, |value| !PAGES_WHOLE.contains(&value)),
        settings.says(METHOD, |value| NO_FLUSH.contains(&value)),
        settings.says("innodb_redo_log_enabled", |value| value == "OFF"),
    ];
    let off: Vec<String> = off.into_iter().flatten().collect();
    // What InnoDB has prepared and the binary log has lost is rolled back after a crash.
    let binary_log =
        settings.says("sync_binlog", |value| value != "1").filter(|_| settings.get("log_bin") == Some("ON"));
    // 3 is MariaDB's: at prepare and at commit.
    let relaxed = [settings.says(COMMIT, |value| !matches!(value, "1" | "3")), binary_log];
    let relaxed: Vec<String> = relaxed.into_iter().flatten().collect();
    let advice = match (off.is_empty(), relaxed.is_empty()) {
        (false, _) => Some(
            "turn these on and set innodb_flush_method to one that flushes. innodb_doublewrite may be off where \
             the file system writes pages whole (ZFS)",
        ),
        (true, false) => {
            Some("set innodb_flush_log_at_trx_commit = 1, and sync_binlog = 1 where there is a binary log")
        }
        (true, true) => None,
    };
    let method = |beginning| settings.says(METHOD, |value| value.starts_with(beginning)).is_some();
    SettingFacts {
        crash_corrupts: off,
        crash_loses_last: relaxed,
        durable_by: durable_by(settings),
        durability_details: settings.listed(&[
            "innodb_flush_log_at_timeout",
            "innodb_checksum_algorithm",
            "log_bin",
        ]),
        durability_advice: advice.map(str::to_owned),
        log_written_through: method("O_DSYNC"),
        bypasses_system_cache: method("O_DIRECT"),
        checkpoint_setting: None,
    }
}

/// Said only where all that decides is known.
fn durable_by(settings: &SettingValues<'_>) -> Option<String> {
    let mut named = vec![
        (COMMIT, settings.get(COMMIT)?),
        (DOUBLEWRITE, settings.get(DOUBLEWRITE)?),
        // Before 8.0 it says nothing where it was not set.
        (METHOD, settings.get(METHOD).map(|value| if value.is_empty() { "fsync" } else { value })?),
    ];
    if settings.get("log_bin")? == "ON" {
        named.push(("sync_binlog", settings.get("sync_binlog")?));
    }
    let named: Vec<String> = named.iter().map(|(name, value)| format!("{name} is {value}")).collect();
    Some(list(&named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::tests::bearing_on_durability;

    const CLEAN: [(&str, &str); 6] = [
        (COMMIT, "1"),
        (DOUBLEWRITE, "ON"),
        (METHOD, "O_DIRECT"),
        ("innodb_redo_log_enabled", "ON"),
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
    ];

    fn with(changed: &[(&str, &str)]) -> SettingFacts {
        facts(&SettingValues(&bearing_on_durability(&CLEAN, changed)))
    }

    #[test]
    fn a_log_flushed_with_each_commit_is_durable() {
        let clean = with(&[]);
        let durable = clean.durable_by.unwrap();
        assert!(durable.contains("innodb_flush_log_at_trx_commit is 1"), "{durable}");
        assert!(durable.contains("sync_binlog is 1"), "{durable}");
        assert_eq!(clean.durability_details, ["log_bin ON"]);
        assert!(clean.bypasses_system_cache && clean.durability_advice.is_none());
        let without = with(&[("log_bin", "OFF"), ("sync_binlog", "0"), (COMMIT, "3"), (METHOD, "fsync")]);
        assert!(without.durable_by.unwrap().contains("innodb_flush_log_at_trx_commit is 3"));
        assert!(without.crash_loses_last.is_empty() && !without.bypasses_system_cache);
        assert!(with(&[(METHOD, "O_DSYNC")]).log_written_through);
    }

    #[test]
    fn a_log_flushed_later_loses_the_last_commits() {
        for (name, value) in [(COMMIT, "0"), (COMMIT, "2"), ("sync_binlog", "0"), ("sync_binlog", "1000")] {
            let facts = with(&[(name, value)]);
            assert_eq!(facts.crash_loses_last, [format!("{name} is {value}")]);
            assert!(facts.crash_corrupts.is_empty() && facts.durability_advice.is_some());
        }
    }

    #[test]
    fn without_flushes_or_whole_pages_a_crash_corrupts() {
        for (name, value) in [
            (DOUBLEWRITE, "OFF"),
            (DOUBLEWRITE, "DETECT_ONLY"),
            (METHOD, "nosync"),
            (METHOD, "littlesync"),
            ("innodb_redo_log_enabled", "OFF"),
        ] {
            assert_eq!(with(&[(name, value)]).crash_corrupts, [format!("{name} is {value}")]);
        }
    }

    #[test]
    fn settings_that_a_product_only_shows_decide_nothing() {
        let mut rows = bearing_on_durability(&CLEAN, &[(COMMIT, "0"), (DOUBLEWRITE, "OFF")]);
        rows.iter_mut().for_each(|row| row.durability = false);
        assert_eq!(facts(&SettingValues(&rows)), SettingFacts::default());
        for unknown in [DOUBLEWRITE, METHOD, "log_bin"] {
            let mut rows = bearing_on_durability(&CLEAN, &[]);
            rows.retain(|row| row.name != unknown);
            assert_eq!(facts(&SettingValues(&rows)).durable_by, None);
        }
    }
}
