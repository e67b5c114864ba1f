//! What the rules make of SQLite's settings.

use super::{clean_report, must_be_silent, must_find};
use crate::document::Report;
use crate::event::Severity;
use crate::fixture::setting;

fn with(journal: &str, synchronous: &str) -> Report {
    let mut report = clean_report();
    report.settings[0].rows = [("journal_mode", journal), ("synchronous", synchronous)]
        .map(|(name, value)| setting(name, value, false, true))
        .into();
    report
}

#[test]
fn durability_follows_from_journal_and_syncs() {
    must_find(
        &with("delete", "full"),
        "durable",
        Severity::Note,
        &["synchronous is full", "journal_mode is delete"],
    );
    must_find(
        &with("wal", "extra"),
        "durable",
        Severity::Note,
        &["synchronous is extra", "journal_mode is wal"],
    );
    let relaxed = with("wal", "normal");
    must_find(&relaxed, "durability-relaxed", Severity::Doubt, &["synchronous is normal"]);
    must_be_silent(&relaxed, "durable");
    for (journal, synchronous, word) in [
        ("wal", "off", "synchronous is off"),
        ("memory", "full", "journal_mode is memory"),
        ("off", "full", "journal_mode is off"),
    ] {
        let report = with(journal, synchronous);
        must_find(&report, "durability-off", Severity::Doubt, &[word]);
        must_be_silent(&report, "durable");
    }
}

#[test]
fn a_library_in_the_process_takes_no_processors_from_itself() {
    let mut report = with("wal", "full");
    report.targets[0].same_host = Some(true);
    report.targets[0].in_process = true;
    must_be_silent(&report, "shared-host");
    report.targets[0].in_process = false;
    must_find(&report, "shared-host", Severity::Doubt, &[]);
}
