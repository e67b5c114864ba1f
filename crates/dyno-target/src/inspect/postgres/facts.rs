//! What PostgreSQL's settings come to.

use dyno_results::event::SettingFacts;

use crate::inspect::SettingValues;

/// Settings that most often decide a benchmark.
pub(super) const WEIGHTIEST: &[&str] = &[
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
    "autovacuum",
    "checkpoint_timeout",
    "wal_level",
    "wal_compression",
    "wal_buffers",
    "commit_delay",
    "checkpoint_completion_target",
    "effective_io_concurrency",
    "io_method",
    "huge_pages",
    "work_mem",
    "maintenance_work_mem",
    "effective_cache_size",
    "random_page_cost",
    "jit",
    "max_parallel_workers_per_gather",
    "max_worker_processes",
    "default_statistics_target",
    "max_connections",
];

pub(super) fn facts(settings: &SettingValues<'_>) -> SettingFacts {
    let off: Vec<String> = ["fsync", "full_page_writes"]
        .into_iter()
        .filter_map(|name| settings.says(name, |value| value == "off"))
        .collect();
    let relaxed = settings.says("synchronous_commit", |value| value == "off");
    let advice = if !off.is_empty() {
        Some("turn these on. full_page_writes may be off where the file system writes pages whole (ZFS)")
    } else {
        relaxed.as_ref().map(|_| "set synchronous_commit = on")
    };
    SettingFacts {
        crash_corrupts: off,
        crash_loses_last: relaxed.into_iter().collect(),
        durable_by: durable_by(settings),
        durability_details: settings.listed(&["wal_level", "data_checksums"]),
        durability_advice: advice.map(str::to_owned),
        log_written_through: settings.says("wal_sync_method", |value| value.starts_with("open_")).is_some(),
        bypasses_system_cache: false,
        checkpoint_setting: Some("checkpoint_timeout".to_owned()),
    }
}

/// Said only where all three settings are known to be on.
fn durable_by(settings: &SettingValues<'_>) -> Option<String> {
    let on = |name| settings.get(name).filter(|value| *value == "on");
    let commit = settings.get("synchronous_commit").filter(|value| *value != "off");
    Some(match (on("fsync")?, on("full_page_writes")?, commit?) {
        (_, _, "on") => "fsync, synchronous_commit and full_page_writes are on".to_owned(),
        (_, _, commit) => format!("fsync and full_page_writes are on, synchronous_commit is {commit}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::tests::bearing_on_durability;

    fn with(changed: &[(&str, &str)]) -> SettingFacts {
        let clean = [
            ("fsync", "on"),
            ("synchronous_commit", "on"),
            ("full_page_writes", "on"),
            ("wal_level", "replica"),
        ];
        facts(&SettingValues(&bearing_on_durability(&clean, changed)))
    }

    #[test]
    fn without_syncs_or_whole_pages_a_crash_corrupts() {
        for name in ["fsync", "full_page_writes"] {
            let facts = with(&[(name, "off"), ("synchronous_commit", "off")]);
            assert_eq!(facts.crash_corrupts, [format!("{name} is off")]);
            assert!(facts.durable_by.is_none() && facts.durability_advice.unwrap().contains("turn these on"));
            assert_eq!(facts.durability_details, ["wal_level replica"]);
        }
    }

    #[test]
    fn a_commit_that_does_not_wait_is_lost_and_one_that_waits_for_the_local_disk_is_not() {
        let off = with(&[("synchronous_commit", "off")]);
        assert_eq!(off.crash_loses_last, ["synchronous_commit is off"]);
        assert!(off.crash_corrupts.is_empty() && off.durable_by.is_none());
        let local = with(&[("synchronous_commit", "local")]);
        assert!(local.durable_by.unwrap().contains("synchronous_commit is local"));
        assert!(local.crash_loses_last.is_empty() && local.durability_advice.is_none());
    }

    #[test]
    fn durable_is_said_only_where_all_that_decides_is_known() {
        assert_eq!(
            with(&[]).durable_by.as_deref(),
            Some("fsync, synchronous_commit and full_page_writes are on")
        );
        assert_eq!(with(&[("full_page_writes", "")]).durable_by, None);
        assert_eq!(facts(&SettingValues(&[])).durable_by, None);
        assert!(with(&[("wal_sync_method", "open_datasync")]).log_written_through);
    }
}
