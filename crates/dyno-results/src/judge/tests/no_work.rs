//! Writes that touched no row.

use super::{must_be_silent, must_find, without_syncs};
use crate::document::Report;
use crate::event::{Event, Queries, Severity};
use crate::fixture::{clean_fixture, clean_report};
use crate::fold::fold;

/// The clean run with what its transactions' queries did, by how many of them there were in a second.
fn with_queries(queries: impl Fn(u64) -> Queries) -> Report {
    let mut fixture = clean_fixture();
    for stamped in &mut fixture.events {
        if let Event::Interval(interval) = &mut stamped.event {
            let of_type = &mut interval.types[0];
            of_type.queries = Some(queries(of_type.done));
        }
    }
    fold(&fixture.events)
}

/// Each transaction is one delete, and so many of a thousand find no row.
fn deletes(in_vain_per_mille: u64) -> Report {
    with_queries(|done| {
        let writes_in_vain = done * in_vain_per_mille / 1000;
        Queries { reads: 0, writes: done - writes_in_vain, other: writes_in_vain, writes_in_vain }
    })
}

#[test]
fn writes_that_touch_nothing_are_found_with_the_rate_without_them() {
    let words =
        ["the hold of 20 s", "80% of 19,7", "touched no row: 990 transactions/s, 198/s without those"];
    must_find(&deletes(800), "no-work", Severity::Invalid, &words);
    must_find(&deletes(505), "no-work", Severity::Invalid, &["50%"]);
    must_find(&deletes(490), "no-work", Severity::Doubt, &["49%"]);
    must_find(&deletes(13), "no-work", Severity::Doubt, &["1.2%"]);
    must_find(&deletes(5), "no-work", Severity::Note, &["0.4%"]);
    must_be_silent(&deletes(0), "no-work");
}

#[test]
fn among_other_statements_the_rate_is_that_of_the_writes() {
    let mixed =
        |done: u64| Queries { reads: 14 * done, writes: 3 * done, other: 3 * done, writes_in_vain: done };
    let words = ["25% of 79,1", "3,958 writes/s, 2,969/s without those"];
    must_find(&with_queries(mixed), "no-work", Severity::Doubt, &words);
    let all = |done: u64| Queries { reads: 0, writes: 0, other: 3 * done, writes_in_vain: done };
    must_find(&with_queries(all), "no-work", Severity::Invalid, &["990 writes/s, 0/s without those"]);
    // Several writes of a transaction, and nothing else.
    let updates = |done: u64| Queries { reads: 0, writes: 3 * done, other: done, writes_in_vain: done };
    must_find(&with_queries(updates), "no-work", Severity::Doubt, &["3,958 writes/s, 2,969/s without"]);
}

#[test]
fn a_workload_that_does_not_tell_its_queries_or_does_not_write_is_not_judged_by_them() {
    must_be_silent(&clean_report(), "no-work");
    let reads = |done: u64| Queries { reads: done, ..Queries::default() };
    must_be_silent(&with_queries(reads), "no-work");
}

#[test]
fn what_statements_did_says_whether_a_load_writes() {
    let off = |queries: fn(u64) -> Queries| without_syncs(with_queries(queries));
    let reads = off(|done| Queries { reads: done, ..Queries::default() });
    must_find(&reads, "durability-off", Severity::Note, &["fsync"]);
    let writes = off(|done| Queries { writes: done, ..Queries::default() });
    must_find(&writes, "durability-off", Severity::Doubt, &["fsync"]);
}
