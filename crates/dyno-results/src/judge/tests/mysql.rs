//! What the rules make of MySQL's settings, numbers and sizes.

use super::{clean_report, found, hold, must_be_silent, must_find, set};
use crate::document::Report;
use crate::event::Severity;
use crate::fixture::{GIB, setting};

/// The clean run on a server with InnoDB, durable as it stands.
fn on_innodb() -> Report {
    let mut report = clean_report();
    report.settings[0].rows = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_redo_log_enabled", "ON"),
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
    ]
    .map(|(name, value)| setting(name, value, false, true))
    .into();
    report
}

#[test]
fn innodb_that_flushes_each_commit_is_durable() {
    let words = ["innodb_flush_log_at_trx_commit is 1", "sync_binlog is 1", "(log_bin ON)"];
    must_find(&on_innodb(), "durable", Severity::Note, &words);

    let mut report = on_innodb();
    set(&mut report, "log_bin", "OFF");
    set(&mut report, "sync_binlog", "0");
    set(&mut report, "innodb_flush_log_at_trx_commit", "3");
    must_find(&report, "durable", Severity::Note, &["innodb_flush_log_at_trx_commit is 3"]);
    must_be_silent(&report, "durability-relaxed");
}

#[test]
fn innodb_that_flushes_later_is_relaxed() {
    for value in ["0", "2"] {
        let mut report = on_innodb();
        set(&mut report, "innodb_flush_log_at_trx_commit", value);
        let words = ["last acknowledged commits", &format!("innodb_flush_log_at_trx_commit is {value}")];
        must_find(&report, "durability-relaxed", Severity::Doubt, &words);
        must_be_silent(&report, "durable");
    }
    for value in ["0", "1000"] {
        let mut report = on_innodb();
        set(&mut report, "sync_binlog", value);
        must_find(&report, "durability-relaxed", Severity::Doubt, &[&format!("sync_binlog is {value}")]);
    }
}

#[test]
fn innodb_that_flushes_nothing_or_tears_pages_is_off() {
    for (name, value) in [
        ("innodb_doublewrite", "OFF"),
        ("innodb_doublewrite", "DETECT_ONLY"),
        ("innodb_flush_method", "nosync"),
        ("innodb_flush_method", "littlesync"),
        ("innodb_redo_log_enabled", "OFF"),
    ] {
        let mut report = on_innodb();
        set(&mut report, name, value);
        let words = ["lose or corrupt", &format!("{name} is {value}")];
        must_find(&report, "durability-off", Severity::Doubt, &words);
        must_be_silent(&report, "durable");
    }
}

#[test]
fn settings_that_a_product_only_shows_decide_nothing() {
    let mut report = on_innodb();
    set(&mut report, "innodb_flush_log_at_trx_commit", "0");
    set(&mut report, "innodb_doublewrite", "OFF");
    report.settings[0].rows.iter_mut().for_each(|row| row.durability = false);
    for code in ["durable", "durability-off", "durability-relaxed"] {
        must_be_silent(&report, code);
    }
    for unknown in ["innodb_doublewrite", "innodb_flush_method", "log_bin"] {
        let mut report = on_innodb();
        report.settings[0].rows.retain(|row| row.name != unknown);
        must_be_silent(&report, "durable");
    }
}

#[test]
fn mysqls_numbers_are_named_with_what_helps() {
    let mut report = clean_report();
    hold(&mut report).totals.failed_with_drain = 30;
    for (code, times) in [("1213", 5), ("1461", 20), ("1205", 10), ("9999", 40)] {
        hold(&mut report).errors.insert(code.to_owned(), times);
    }
    let words = ["9999 40", "1461 (too many prepared statements) 20", "1213 (deadlock) 5"];
    must_find(&report, "errors", Severity::Note, &words);
    let advice = found(&report, "errors").unwrap().advice;
    assert!(advice.contains("1461: raise max_prepared_stmt_count") && advice.contains("1205: "), "{advice}");
    assert!(!advice.contains("1213"), "two remedies are enough: {advice}");
    for (code, word) in [("1290", "read-only"), ("1836", "read-only"), ("1153", "max_allowed_packet")] {
        let mut report = clean_report();
        hold(&mut report).errors.insert(code.to_owned(), 1);
        assert!(found(&report, "errors").unwrap().advice.contains(word), "{code}");
    }
}

#[test]
fn data_in_memory_are_not_cached_where_the_server_bypasses_the_system() {
    let mut report = on_innodb();
    report.data[0].database_bytes = Some(10 * GIB);
    must_be_silent(&report, "cached");
    set(&mut report, "innodb_flush_method", "fsync");
    must_find(&report, "cached", Severity::Note, &["host's memory of 16 GiB"]);
    report.data[0].database_bytes = Some(3 * GIB);
    must_find(&report, "cached", Severity::Note, &["server's cache of 4 GiB"]);
}
