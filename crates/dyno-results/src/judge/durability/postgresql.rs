//! What PostgreSQL's settings come to.

use super::{DurabilityFacts, Settings};
use crate::words::list;

/// Without these a crash of the machine may corrupt the data, or lose any part of them.
const AGAINST_CORRUPTION: [&str; 2] = ["fsync", "full_page_writes"];

pub(super) fn judge(settings: &Settings<'_>) -> DurabilityFacts {
    let off = AGAINST_CORRUPTION.iter().filter(|name| settings.value(name) == Some("off"));
    let commit = settings.value("synchronous_commit");
    DurabilityFacts {
        off: off.map(|name| format!("{name} is off")).collect(),
        relaxed: commit
            .filter(|value| *value == "off")
            .map(|_| "synchronous_commit is off".to_owned())
            .into_iter()
            .collect(),
        durable: durable(settings, commit),
        details: settings.listed(&["wal_level", "data_checksums"]),
        advice_off: "for a durable figure, turn these on. full_page_writes may be off where the file system \
                     writes pages whole (ZFS)",
        advice_relaxed: "for a durable figure, set synchronous_commit = on",
    }
}

/// Said only where all three settings are known to be on.
fn durable(settings: &Settings<'_>, commit: Option<&str>) -> Option<String> {
    let all_on = AGAINST_CORRUPTION.iter().all(|name| settings.value(name) == Some("on"));
    let commit = commit.filter(|_| all_on)?;
    Some(if commit == "on" {
        "fsync, synchronous_commit and full_page_writes are on".to_owned()
    } else {
        format!("{} are on, synchronous_commit is {commit}", list(&AGAINST_CORRUPTION))
    })
}
