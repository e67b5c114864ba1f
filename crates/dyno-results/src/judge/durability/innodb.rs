//! What the settings of InnoDB and the binary log come to. Only products that heed them have them among their durability
//! settings.

use super::{DurabilityFacts, Settings};
use crate::words::list;

pub(super) const COMMIT: &str = "innodb_flush_log_at_trx_commit";
const DOUBLEWRITE: &str = "innodb_doublewrite";
const METHOD: &str = "innodb_flush_method";
const REDO_LOG: &str = "innodb_redo_log_enabled";
/// Ways to flush that do not.
const NO_FLUSH: [&str; 2] = ["nosync", "littlesync"];
/// Pages that were torn by a crash can be mended from their copies.
const PAGES_WHOLE: [&str; 3] = ["ON", "1", "DETECT_AND_RECOVER"];

pub(super) fn judge(settings: &Settings<'_>) -> DurabilityFacts {
    let says = |name: &str, so: &dyn Fn(&str) -> bool| {
        settings.value(name).filter(|value| so(value)).map(|value| format!("{name} is {value}"))
    };
    let off = [
        says(DOUBLEWRITE, &|value| !PAGES_WHOLE.contains(&value)),
        says(METHOD, &|value| NO_FLUSH.contains(&value)),
        says(REDO_LOG, &|value| value == "OFF"),
    ];
    // What InnoDB has prepared and the binary log has lost is rolled back after a crash.
    let binary_log =
        says("sync_binlog", &|value| value != "1").filter(|_| settings.value("log_bin") == Some("ON"));
    let relaxed = [says(COMMIT, &|value| !is_flushed(value)), binary_log];
    DurabilityFacts {
        off: off.into_iter().flatten().collect(),
        relaxed: relaxed.into_iter().flatten().collect(),
        durable: durable(settings),
        details: settings.listed(&["innodb_flush_log_at_timeout", "innodb_checksum_algorithm", "log_bin"]),
        advice_off: "for a durable figure, turn these on and set innodb_flush_method to one that flushes. \
                     innodb_doublewrite may be off where the file system writes pages whole (ZFS)",
        advice_relaxed: "for a durable figure, set innodb_flush_log_at_trx_commit = 1, and sync_binlog = 1 \
                         where there is a binary log",
    }
}

/// 3 is MariaDB's: at prepare and at commit.
fn is_flushed(value: &str) -> bool {
    matches!(value, "1" | "3")
}

/// Said only where all that decides is known.
fn durable(settings: &Settings<'_>) -> Option<String> {
    let mut named = vec![
        (COMMIT, settings.value(COMMIT)?),
        (DOUBLEWRITE, settings.value(DOUBLEWRITE)?),
        // Before 8.0 it says nothing where it was not set.
        (METHOD, settings.value(METHOD).map(|value| if value.is_empty() { "fsync" } else { value })?),
    ];
    if settings.value("log_bin")? == "ON" {
        named.push(("sync_binlog", settings.value("sync_binlog")?));
    }
    Some(list(&named.iter().map(|(name, value)| format!("{name} is {value}")).collect::<Vec<_>>()))
}
