//! What the rules make of MySQL's numbers and sizes.

use super::{clean_report, found, hold, must_be_silent, must_find};
use crate::event::Severity;
use crate::fixture::{GIB, resize};

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
    let mut report = clean_report();
    report.settings[0].facts.bypasses_system_cache = true;
    resize(&mut report.data[0], Some(10 * GIB));
    must_be_silent(&report, "cached");
    report.settings[0].facts.bypasses_system_cache = false;
    must_find(&report, "cached", Severity::Note, &["host's memory of 16 GiB"]);
    resize(&mut report.data[0], Some(3 * GIB));
    must_find(&report, "cached", Severity::Note, &["server's cache of 4 GiB"]);
}
