//! Each rule is shown runs with a planted fault, which it must find, and clean runs, on which it must be silent.

mod answers;
mod cold;
mod headlines;
mod ladders_and_rates;
mod mysql;
mod no_work;
mod noisy_host;
mod of_servers;
mod plans;
mod response_limits;
mod saturated;
mod several_targets;
mod sqlite;
mod unpaired;

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::document::Percentiles;
use crate::event::{
    Embedded, Event, Finished, Host, LogSyncs, Outcome, QueryFailure, ServerChange, ServerChanged,
    SettingsSet, Severity, StageKind, Table, Target,
};
use crate::finding::Facts;
use crate::fixture::{
    Fixture, FixtureStage, GIB, check, clean_fixture, clean_report, interval, resize, setting, wobble,
};
use crate::fold::{Fold, fold};
use crate::spec::{PhaseSpec, StreamSpec, Time};

fn found(report: &Report, code: &str) -> Option<Finding> {
    let mut findings = judge(report).into_iter().filter(|finding| finding.code == code);
    let first = findings.next();
    assert!(findings.next().is_none(), "{code} was found twice");
    first
}

fn must_find(report: &Report, code: &str, severity: Severity, words: &[&str]) {
    let finding = found(report, code).unwrap_or_else(|| panic!("{code} was not found: {:?}", judge(report)));
    assert_eq!(finding.severity, severity, "{finding:?}");
    for word in words {
        assert!(finding.evidence.contains(word), "no {word:?} in: {}", finding.evidence);
    }
    assert!(!finding.advice.is_empty());
    // Where nothing is known but that something is so.
    let may_have_none = matches!(finding.code, Code::Noisy | Code::SharedHost);
    assert!(!finding.facts.is_empty() || may_have_none, "{finding:?}");
}

fn must_be_silent(report: &Report, code: &str) {
    assert_eq!(found(report, code), None);
}

#[test]
fn findings_of_one_code_have_the_same_remedy_if_they_have_the_same_advice() {
    let rule = |advice: &str| {
        let rule = (Code::Saturated, Severity::Note);
        Finding::new(rule, crate::event::Subject::default(), advice.to_owned(), advice, Facts::default())
    };
    let mut findings = ["a", "b", "a"].map(rule).to_vec();
    number_remedies(&mut findings);
    assert_eq!(findings.iter().map(|finding| finding.remedy).collect::<Vec<_>>(), [0, 1, 0]);
}

/// The clean run on a server of which a crash would corrupt the data.
fn without_syncs(mut report: Report) -> Report {
    report.settings[0].facts.crash_corrupts = vec!["fsync is off".to_owned()];
    report.settings[0].facts.durable_by = None;
    report.settings[0].facts.durability_advice = Some("turn these on".to_owned());
    report
}

/// The clean run's hold.
fn hold(report: &mut Report) -> &mut crate::document::StageResult {
    report.stages.iter_mut().find(|result| result.stage.kind == StageKind::Hold).unwrap()
}

/// The clean run with one hold of 30 s of another load at its end.
fn with_hold(load: &FixtureStage<'_>) -> Report {
    let mut fixture = clean_fixture();
    fixture.events.pop();
    fixture.play(load);
    fixture.finish();
    fold(&fixture.events)
}

#[test]
fn a_server_that_was_another_at_the_end_is_told_and_not_called_durable() {
    let mut report = clean_report();
    let target = || "pg".to_owned();
    let changed = |changes| ServerChanged { target: target(), restarted: true, by_hook: false, changes };
    report.server_changes = vec![changed(Vec::new())];
    must_find(&report, "restarted", Severity::Doubt, &["restarted"]);
    must_find(&report, "durable", Severity::Note, &[]);
    let fsync = ServerChange {
        what: "fsync".to_owned(),
        before: Some("on".to_owned()),
        after: Some("off".to_owned()),
        decides: true,
    };
    report.server_changes = vec![changed(vec![fsync.clone()])];
    must_find(&report, "restarted", Severity::Invalid, &["restarted", "fsync on → off"]);
    must_be_silent(&report, "durable");
    let by_hook = ServerChanged { target: target(), restarted: false, by_hook: true, changes: vec![fsync] };
    report.server_changes = vec![by_hook];
    must_find(&report, "restarted", Severity::Note, &["a hook between stages changed fsync on → off"]);
    must_be_silent(&report, "durable");
}

#[test]
fn a_clean_run_gives_rise_to_notes_alone() {
    let findings = judge(&clean_report());
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["durable", "closed-loop-latency"]);
    assert!(findings.iter().all(|finding| finding.severity == Severity::Note));
}

#[test]
fn a_run_of_which_nothing_is_known_is_not_guessed_at() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[100; 10]));
    fixture.finish();
    assert_eq!(judge(&fold(&fixture.events)), []);
}

#[test]
fn a_check_of_one_series_is_found_of_that() {
    let mut report = clean_report();
    (report.checks[0].passed, report.checks[0].series) = (Some(false), Some("write".to_owned()));
    let of = |report: &Report| found(report, "data-check-failed").unwrap().subject.series;
    assert_eq!(of(&report).as_deref(), Some("write"));
    report.checks[0].series = None;
    assert_eq!(of(&report), None);
}

#[test]
fn the_gravest_come_first() {
    let mut report = clean_report();
    report.targets[0].same_host = Some(true);
    report.checks[0].passed = Some(false);
    let severities: Vec<Severity> = judge(&report).iter().map(|finding| finding.severity).collect();
    assert_eq!(severities[..2], [Severity::Invalid, Severity::Doubt]);
    assert!(severities.is_sorted_by(|left, right| left >= right));
}

#[test]
fn durability_that_is_off_is_found() {
    let report = without_syncs(clean_report());
    must_find(&report, "durability-off", Severity::Doubt, &["fsync is off", "wal_level replica"]);
    let advice = found(&report, "durability-off").unwrap().advice;
    assert!(advice.ends_with("as unsafe; for a durable figure, turn these on"), "{advice}");
    must_be_silent(&report, "durable");
    let mut report = clean_report();
    report.data[0].tables[0].logged = Some(false);
    must_find(&report, "durability-off", Severity::Doubt, &["unlogged: pgbench_accounts"]);

    let mut report = clean_report();
    report.settings.clear();
    report.targets[0].embedded =
        Some(Embedded { profile: "extreme".to_owned(), source: "/usr".to_owned(), unsafe_profile: true });
    must_find(&report, "durability-off", Severity::Doubt, &["unsafe"]);
}

#[test]
fn durability_that_is_relaxed_is_found() {
    let mut report = clean_report();
    report.settings[0].facts.crash_loses_last = vec!["synchronous_commit is off".to_owned()];
    must_find(
        &report,
        "durability-relaxed",
        Severity::Doubt,
        &["last acknowledged commits", "synchronous_commit is off"],
    );
    must_be_silent(&report, "durability-off");
    must_be_silent(&report, "durable");
}

#[test]
fn reads_alone_gain_nothing_from_missing_durability() {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| {
        !matches!(stamped.event, Event::StageStarted(_) | Event::Interval(_) | Event::StageFinished(_))
    });
    fixture.grow("database", "tuples_updated_total", 0.0);
    fixture.grow("database", "tuples_inserted_total", 2.0);
    fixture.play(&FixtureStage::read(StageKind::Hold, 8, &[5000; 10]));
    let report = without_syncs(fold(&fixture.events));
    must_find(&report, "durability-off", Severity::Note, &["fsync"]);
}

#[test]
fn settings_that_are_not_known_make_nothing_durable() {
    let mut report = clean_report();
    report.settings[0].facts.durable_by = None;
    must_be_silent(&report, "durable");
    must_be_silent(&report, "durability-off");
}

#[test]
fn a_driver_thread_without_rest_is_found() {
    let mut report = clean_report();
    hold(&mut report).driver_thread_busy_max = Some(0.97);
    must_find(&report, "driver-bound", Severity::Doubt, &["97%", "hold of 20 s at 8 clients"]);
    hold(&mut report).driver_thread_busy_max = Some(0.80);
    must_be_silent(&report, "driver-bound");
}

#[test]
fn a_driver_that_is_late_with_free_clients_is_found() {
    // 32 clients at 1000/s of 1 ms: one of them is at work on average.
    let mut load = FixtureStage::write(StageKind::Hold, 32, &[1000; 10]);
    load.open = Some((1000.0, 2000));
    must_find(&with_hold(&load), "driver-bound", Severity::Doubt, &["2.0 ms late"]);

    load.open = Some((1000.0, 20));
    must_be_silent(&with_hold(&load), "driver-bound");
}

#[test]
fn lag_of_a_server_that_is_too_slow_is_not_laid_at_the_drivers_door() {
    // Two clients at 1000/s of 2 ms: both are always at work, and arrivals queue for them.
    let mut load = FixtureStage::write(StageKind::Hold, 2, &[1000; 10]);
    load.service_us = 2000;
    load.open = Some((1000.0, 500_000));
    must_be_silent(&with_hold(&load), "driver-bound");
}

#[test]
fn a_shared_host_is_found_with_the_drivers_share() {
    let mut report = clean_report();
    report.targets[0].same_host = Some(true);
    report.hosts = vec![Host { roles: vec!["driver".into(), "pg".into()], cpus: Some(2), ..Host::default() }];
    // 550 ms of processor time in each second, of two processors.
    must_find(&report, "shared-host", Severity::Doubt, &["2 processors", "28%"]);

    report.hosts[0].cpus = Some(64);
    must_find(&report, "shared-host", Severity::Note, &["64 processors", "0.86%"]);

    report.hosts[0].cpus_limit = Some(1.5);
    must_find(&report, "shared-host", Severity::Doubt, &["1.5 processors"]);

    report.hosts.clear();
    must_find(&report, "shared-host", Severity::Doubt, &["not known"]);
}

#[test]
fn hosts_that_are_apart_or_unknown_are_not_found_shared() {
    let mut report = clean_report();
    for same_host in [Some(false), None] {
        report.targets[0].same_host = same_host;
        must_be_silent(&report, "shared-host");
    }
}

#[test]
fn a_hold_without_a_checkpoint_is_found() {
    let fixture = clean_fixture();
    let mut without = Fold::new();
    for stamped in &fixture.events {
        let mut stamped = stamped.clone();
        if let Event::Sample(sample) = &mut stamped.event {
            sample.values.insert("checkpoints_timed_total".to_owned(), 3.0);
        }
        without.add(&stamped);
    }
    let mut report = without.report();
    let words = ["no checkpoint began in the hold of 20 s at 8 clients", "7.6 MiB of WAL"];
    must_find(&report, "too-short", Severity::Doubt, &words);
    let mut timeout = setting("checkpoint_timeout", "300", false, false);
    timeout.unit = Some("s".to_owned());
    report.settings[0].rows.push(timeout);
    assert!(found(&report, "too-short").unwrap().advice.contains("checkpoint_timeout (5min)"));

    // Without counters nothing is known of checkpoints.
    hold(&mut report).resources.remove("checkpoints");
    must_be_silent(&report, "too-short");
}

#[test]
fn a_hold_that_reads_needs_no_checkpoint() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.read("database", "checkpoints_timed_total", 3.0);
    fixture.grow("database", "tuples_updated_total", 1.0);
    fixture.play(&FixtureStage::read(StageKind::Hold, 8, &[5000; 10]));
    fixture.finish();
    must_be_silent(&fold(&fixture.events), "too-short");
}

#[test]
fn fewer_rows_than_clients_that_change_them_are_found() {
    let of_rows = |rows| {
        let mut report = clean_report();
        let writes = report.stages.iter_mut().filter(|result| result.stage.series == "write");
        writes.for_each(|result| result.stage.contended_rows = rows);
        report
    };
    must_find(&of_rows(Some(4)), "contention-by-design", Severity::Doubt, &["4 rows", "8 clients"]);
    must_find(&of_rows(Some(10)), "contention-by-design", Severity::Note, &["the rungs at 16 clients"]);
    must_be_silent(&of_rows(Some(16)), "contention-by-design");
    must_be_silent(&of_rows(None), "contention-by-design");
}

/// Two systems of one target.
fn variants() -> Vec<Target> {
    ["heap", "columnar"].map(|name| Target { server: "pg".to_owned(), ..crate::fixture::target(name) }).into()
}

/// The throughput of what ends where its work does is no figure, and what failed of it has no time.
#[test]
fn fixed_work_is_not_judged_as_a_load() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.read("database", "checkpoints_timed_total", 3.0);
    fixture.grow("database", "tuples_updated_total", 30.0);
    fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[30, 1]));
    fixture.push(Event::QueryFailure(QueryFailure {
        target: "pg".to_owned(),
        series: "write".to_owned(),
        query: "update".to_owned(),
        said: "no such operation".to_owned(),
        over_limit: false,
    }));
    fixture.finish();
    let mut report = fold(&fixture.events);
    hold(&mut report).totals.failed_with_drain = 100;
    hold(&mut report).clients_aborted = 1;
    for (code, severity) in
        [("noisy", Severity::Doubt), ("too-short", Severity::Doubt), ("errors", Severity::Invalid)]
    {
        must_find(&report, code, severity, &[]);
    }
    hold(&mut report).stage.fixed = true;
    must_be_silent(&report, "noisy");
    must_be_silent(&report, "too-short");
    must_find(&report, "errors", Severity::Invalid, &["100 of 131", "; not run: update: no such operation"]);
    // What a variant cannot do stands in a table.
    report.targets = variants();
    must_find(&report, "errors", Severity::Note, &["100 of 131"]);
    hold(&mut report).totals.lost_s = 2.0;
    must_find(&report, "errors", Severity::Invalid, &["broken connections"]);
}

#[test]
fn a_pass_is_in_doubt_where_a_query_did_not_end_well() {
    let mut report = clean_report();
    hold(&mut report).stage.pass = true;
    must_be_silent(&report, "errors");
    // Their share is far below what counts of another load.
    hold(&mut report).totals.failed_with_drain = 1;
    must_find(&report, "errors", Severity::Doubt, &["in the pass", "1 of 19,"]);
    hold(&mut report).totals.failed_with_drain = 100_000;
    must_find(&report, "errors", Severity::Invalid, &["100,000 of"]);
    hold(&mut report).totals.failed_with_drain = 0;
    hold(&mut report).totals.cancelled = 2;
    must_be_silent(&report, "errors");
    let stage = hold(&mut report).stage.clone();
    report.query_failures.push(QueryFailure {
        target: stage.key.system,
        series: stage.series,
        query: "q1".to_owned(),
        said: "cancelled after 300 s, at the time limit".to_owned(),
        over_limit: true,
    });
    must_find(&report, "errors", Severity::Doubt, &["2 transactions ended at the time limit"]);
    // The user has stopped it.
    hold(&mut report).complete = false;
    must_be_silent(&report, "errors");
    // It is in the table of variants.
    report.targets = variants();
    (hold(&mut report).complete, hold(&mut report).stage.fixed) = (true, true);
    must_be_silent(&report, "errors");
    hold(&mut report).totals.failed_with_drain = 100_000;
    must_find(&report, "errors", Severity::Note, &["100,000 of"]);
}

#[test]
fn what_dyno_had_cancelled_is_told_as_that() {
    let mut report = clean_report();
    let key = hold(&mut report).stage.key.clone();
    hold(&mut report).totals.cancelled = 3;
    must_be_silent(&report, "errors");
    let stream = StreamSpec { time_limit: Some(Time(Duration::from_secs(1))), ..StreamSpec::default() };
    let phase = PhaseSpec { streams: vec![stream; key.stream as usize + 1], ..PhaseSpec::default() };
    report.run.resolved.phases = vec![phase; key.phase as usize + 1];
    must_find(&report, "errors", Severity::Note, &["3 transactions were cancelled at the time limit of 1s"]);
    let advice = |report: &Report| found(report, "errors").unwrap().advice;
    assert!(advice(&report).contains("raise --time-limit") && !advice(&report).contains("log"));
    hold(&mut report).totals.cancelled = 100_000;
    must_find(&report, "errors", Severity::Invalid, &["100,000 transactions were cancelled"]);
    hold(&mut report).totals.cancelled = 0;
    // A statement that the server did not end in time behind the load.
    hold(&mut report).totals.failed_with_drain = 1;
    hold(&mut report).errors.insert("not-ended".to_owned(), 1);
    must_find(&report, "errors", Severity::Doubt, &["cancelled by dyno"]);
    assert!(!advice(&report).contains("log"));
    hold(&mut report).errors.insert("57P01".to_owned(), 1);
    assert!(advice(&report).contains("the server's log"));
    report.targets[0].in_process = true;
    assert!(
        advice(&report).contains("the run's report has") && !advice(&report).contains("the server's log")
    );
}

#[test]
fn errors_weigh_by_their_share() {
    let mut report = clean_report();
    hold(&mut report).totals.failed_with_drain = 20;
    hold(&mut report).errors.insert("57014".to_owned(), 20);
    let words = ["in the hold of 20 s at 8 clients 20 of 19,", "(0.1%)", "57014 (query canceled) 20"];
    must_find(&report, "errors", Severity::Note, &words);
    hold(&mut report).totals.failed_with_drain = 1000;
    must_find(&report, "errors", Severity::Doubt, &["1,000 of"]);
    hold(&mut report).totals.failed_with_drain = 100_000;
    must_find(&report, "errors", Severity::Invalid, &["100,000 of"]);
}

#[test]
fn failures_of_a_drain_weigh_as_those_of_the_load() {
    let mut fixture = clean_fixture();
    let load = FixtureStage::write(StageKind::Hold, 8, &[100]);
    let id = fixture.start_stage(&load);
    fixture.push(Event::Interval(interval(&load, id, 0, 100)));
    let mut drain = interval(&load, id, 1, 0);
    drain.drain = true;
    drain.types[0].failed = 8;
    drain.errors.insert("57P01".to_owned(), 8);
    fixture.push(Event::Interval(drain));
    fixture.finish_stage(id, 1);
    let words = ["in the hold of 1 s at 8 clients 8 of 108 transactions failed", "57P01 (admin shutdown) 8"];
    must_find(&fold(&fixture.events), "errors", Severity::Doubt, &words);
}

#[test]
fn retries_lost_connections_and_clients_that_gave_up_are_found() {
    let mut report = clean_report();
    hold(&mut report).totals.retries = 7;
    must_find(&report, "errors", Severity::Note, &["7 retries"]);
    hold(&mut report).totals.reconnects = 2;
    hold(&mut report).clients_aborted = 1;
    must_find(&report, "errors", Severity::Doubt, &["2 connections were lost", "1 client gave up"]);
}

#[test]
fn time_lost_to_broken_connections_is_told_and_weighed() {
    // Eight clients for 20 s: 160 s of clients' time.
    let mut report = clean_report();
    hold(&mut report).totals.lost_s = 1.5;
    must_find(&report, "errors", Severity::Note, &["broken connections cost 1.5 s of the clients' time"]);
    hold(&mut report).totals.lost_s = 1.7;
    must_find(&report, "errors", Severity::Doubt, &["1.7 s"]);
    hold(&mut report).totals.lost_s = 33.0;
    must_find(&report, "errors", Severity::Invalid, &["33 s"]);
}

#[test]
fn trouble_is_told_of_any_stage_and_weighs_nothing_in_a_warm_up() {
    let mut fixture = clean_fixture();
    fixture.events.pop();
    let warm_up = fixture.play(&FixtureStage::write(StageKind::WarmUp, 8, &[100; 5])) as usize;
    let ramp = fixture.play(&FixtureStage::write(StageKind::Ramp, 8, &[100; 5])) as usize;
    fixture.finish();
    let mut report = fold(&fixture.events);
    must_be_silent(&report, "errors");

    report.stages[warm_up].totals.reconnects = 1;
    report.stages[warm_up].totals.failed_with_drain = 400;
    must_find(
        &report,
        "errors",
        Severity::Note,
        &["in the warm-up of 5 s at 8 clients 400 of 900", "1 conn"],
    );
    report.stages[ramp].stage.clients_end = Some(64);
    report.stages[ramp].totals.failed_with_drain = 400;
    must_find(
        &report,
        "errors",
        Severity::Doubt,
        &["in the ramp of 5 s from 8 to 64 clients 400 of 900", "; in the warm-up of 5 s"],
    );
    for rung in 0..3 {
        report.stages[rung].totals.retries = 1;
    }
    let words = ["in 4 stages, the rung of 5 s at 1 client the first,", "3 retries"];
    must_find(&report, "errors", Severity::Doubt, &words);
}

#[test]
fn changed_settings_are_listed() {
    let mut report = clean_report();
    let rows = &mut report.settings[0].rows;
    let mut buffers = setting("shared_buffers", "786432", true, false);
    buffers.unit = Some("8kB".to_owned());
    rows.push(buffers);
    for name in
        ["max_wal_size", "autovacuum", "work_mem", "jit", "a_setting_nobody_knows", "zero_damaged_pages"]
    {
        rows.push(setting(name, "1", true, false));
    }
    must_find(
        &report,
        "settings-changed",
        Severity::Note,
        &[
            "7 settings differ from the defaults: shared_buffers 6GB, max_wal_size 1, autovacuum 1",
            "and 1 more",
        ],
    );
}

#[test]
fn units_are_written_as_in_a_configuration_file() {
    let shown =
        [("300", "s"), ("786432", "8kB"), ("-1", "8kB"), ("0", "ms"), ("1500", "ms"), ("10", "pages")].map(
            |(value, unit)| {
                let mut row = setting("any", value, true, false);
                row.unit = Some(unit.to_owned());
                settings_changed::with_unit(&row)
            },
        );
    assert_eq!(shown, ["5min", "6GB", "-1", "0", "1500ms", "10 pages"]);
}

#[test]
fn data_that_fit_into_memory_are_found() {
    let mut report = clean_report();
    resize(&mut report.data[0], Some(3 * GIB));
    must_find(&report, "cached", Severity::Note, &["server's cache of 4 GiB", "hit share", "90%"]);
    // What else is in the database is no matter.
    report.data[0].database_bytes = Some(1000 * GIB);
    must_find(&report, "cached", Severity::Note, &["3 GiB of data fit into the server's cache of 4 GiB"]);
    resize(&mut report.data[0], Some(10 * GIB));
    must_find(&report, "cached", Severity::Note, &["host's memory of 16 GiB"]);
    resize(&mut report.data[0], None);
    must_be_silent(&report, "cached");
}

#[test]
fn a_load_that_stays_in_a_part_of_the_data_is_found_cached() {
    let mut fixture = clean_fixture();
    fixture.grow("database", "blocks_read_total", 1.0);
    fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(990, 10)));
    let mut report = fold(&fixture.events);
    report.series[0].holds.remove(0);
    must_find(&report, "cached", Severity::Note, &["stays in memory"]);
}

#[test]
fn queries_that_write_temporary_files_are_found() {
    let mut report = clean_report();
    must_be_silent(&report, "spilling");
    hold(&mut report).resources.insert("temp_bytes_per_s".to_owned(), 0.0);
    must_be_silent(&report, "spilling");
    hold(&mut report).resources.insert("temp_disk_tables_per_s".to_owned(), 1.5);
    must_find(
        &report,
        "spilling",
        Severity::Note,
        &["in the hold of 20 s at 8 clients 30 temporary tables went to disk"],
    );
    hold(&mut report).resources.insert("temp_bytes_per_s".to_owned(), f64::from(10 << 20));
    must_find(&report, "spilling", Severity::Note, &["200 MiB were written to temporary files"]);
}

#[test]
fn a_failed_check_makes_the_run_invalid() {
    let mut report = clean_report();
    report.checks[0].passed = Some(false);
    must_find(
        &report,
        "data-check-failed",
        Severity::Invalid,
        &["history-holds-every-commit", "found 126304"],
    );
    report.checks[0] = check("four-sums-agree", None);
    must_find(&report, "data-check-not-made", Severity::Doubt, &["four-sums-agree"]);
    must_be_silent(&report, "data-check-failed");
    let advice = |report: &Report| found(report, "data-check-not-made").unwrap().advice;
    assert!(advice(&report).contains("make the check possible"));
    report.checks[0] = check(DATA_UNKNOWN, None);
    assert!(advice(&report).contains("look yourself") && !advice(&report).contains("possible"));
}

#[test]
fn saturated_latency_is_set_beside_that_of_the_lowest_rung() {
    let mut report = clean_report();
    report.stages[0].service =
        report.stages[0].service.map(|service| Percentiles { p50_us: 240.0, ..service });
    must_find(&report, "closed-loop-latency", Severity::Note, &["p50 1.0 ms, against 240 µs with 1 client"]);
}

#[test]
fn latency_that_did_not_rise_with_the_clients_holds_no_wait() {
    let with_first = |p50_us: f64| {
        let mut report = clean_report();
        let service = report.stages[0].service.map(|service| Percentiles { p50_us, ..service });
        report.stages[0].service = service;
        report
    };
    // 1.0 ms in the hold.
    must_be_silent(&with_first(3900.0), "closed-loop-latency");
    must_be_silent(&with_first(980.0), "closed-loop-latency");
    must_find(&with_first(700.0), "closed-loop-latency", Severity::Note, &["so latency includes the wait"]);
    // Without a ladder nobody knows.
    let mut report = with_first(700.0);
    report.series[0].ladder.clear();
    let words = ["includes the wait for other clients, if they wait; no step with fewer clients shows that"];
    must_find(&report, "closed-loop-latency", Severity::Note, &words);
}

#[test]
fn open_loops_think_time_and_a_single_client_do_not_saturate() {
    let mut report = clean_report();
    hold(&mut report).stage.arrival = crate::event::Arrival::Closed { think_time_ms: 10.0 };
    must_be_silent(&report, "closed-loop-latency");

    let mut report = clean_report();
    hold(&mut report).stage.clients = 1;
    must_be_silent(&report, "closed-loop-latency");

    let mut load = FixtureStage::write(StageKind::Hold, 8, &[1000; 10]);
    load.open = Some((1000.0, 10));
    let mut report = with_hold(&load);
    report.series[0].holds.remove(0);
    must_be_silent(&report, "closed-loop-latency");
}

#[test]
fn a_run_that_ended_early_is_found() {
    let mut fixture = clean_fixture();
    fixture.events.truncate(60);
    must_find(
        &fold(&fixture.events),
        "incomplete",
        Severity::Doubt,
        &["killed or is still going", "cut short"],
    );
}

/// Servers end what they say with one, and so do systems.
#[test]
fn a_full_stop_of_others_does_not_stand_within_a_sentence() {
    let mut report = clean_report();
    report.run.outcome = Outcome::Incomplete;
    report.run.reason = Some("no room is left.".to_owned());
    (hold(&mut report).complete, hold(&mut report).totals.failed_with_drain) = (false, 100);
    let stage = hold(&mut report).stage.clone();
    for query in ["q1", "q2"] {
        report.query_failures.push(QueryFailure {
            target: stage.key.system.clone(),
            series: stage.series.clone(),
            query: query.to_owned(),
            said: "no such table.".to_owned(),
            over_limit: false,
        });
    }
    report.checks[0].passed = None;
    report.checks[0].detail = "the server is gone.".to_owned();
    for (code, words) in [
        ("incomplete", "no room is left; cut short: "),
        ("errors", "not run: q1: no such table; q2: no such table"),
        ("data-check-not-made", ": the server is gone"),
    ] {
        let evidence = found(&report, code).unwrap().evidence;
        assert!(evidence.contains(words) && !evidence.ends_with('.'), "{evidence}");
    }
}

#[test]
fn a_run_about_to_end_is_judged_as_it_will_end() {
    let mut fold = Fold::new();
    let fixture = clean_fixture();
    let (_, all_but_last) = fixture.events.split_last().unwrap();
    all_but_last.iter().for_each(|stamped| fold.add(stamped));
    must_find(&fold.report(), "incomplete", Severity::Doubt, &[]);
    let complete = Finished { outcome: Outcome::Complete, reason: None, targets_lost: false, seconds: 45.0 };
    must_be_silent(&fold.report_ending(&complete), "incomplete");
    let interrupted =
        Finished { outcome: Outcome::Incomplete, reason: Some("interrupted".into()), ..complete };
    must_find(&fold.report_ending(&interrupted), "incomplete", Severity::Doubt, &["interrupted"]);
}

#[test]
fn settings_alone_make_nothing_durable() {
    must_find(&clean_report(), "durable", Severity::Note, &["settings promise durability: fsync"]);
    let mut in_memory = clean_report();
    in_memory.hosts.push(Host {
        roles: vec!["pg".to_owned()],
        disk_kind: Some("tmpfs".to_owned()),
        ..Host::default()
    });
    must_find(&in_memory, "durability-off", Severity::Doubt, &["lie in memory"]);
    assert!(found(&in_memory, "durability-off").unwrap().advice.contains("on a disk"));
    must_be_silent(&in_memory, "durable");
    // Of two targets on one host its disk is that of the first.
    let mut second = in_memory.targets[0].clone();
    "second".clone_into(&mut second.name);
    in_memory.targets.push(second);
    in_memory.hosts.last_mut().unwrap().roles.push("second".to_owned());
    must_be_silent(&in_memory, "durability-off");
    // Where each says what its own is, the second's data lie in memory, and the first's on a disk.
    for (target, kind) in in_memory.targets.iter_mut().zip(["nvme", "tmpfs"]) {
        target.disk_kind = Some(kind.to_owned());
    }
    let off: Vec<_> =
        judge(&in_memory).into_iter().filter(|finding| finding.code == "durability-off").collect();
    assert_eq!(
        off.iter().map(|finding| finding.subject.about.as_deref()).collect::<Vec<_>>(),
        [Some("second")]
    );
    // 990 commits a second of eight clients need 124 syncs.
    let synced = |per_second: f64| {
        let mut report = clean_report();
        let hold = report.stages.iter_mut().find(|result| result.stage.kind == StageKind::Hold).unwrap();
        hold.resources.insert("wal_fsyncs_per_s".to_owned(), per_second);
        report
    };
    for enough in [120.0, 500.0] {
        must_find(&synced(enough), "durable", Severity::Note, &["settings promise"]);
    }
    let words = ["20 syncs of the log", "990 commits of 8 clients"];
    must_find(&synced(20.0), "durability-implausible", Severity::Doubt, &words);
    must_be_silent(&synced(20.0), "durable");
    // A server that counts them has made none here.
    let mut none = synced(0.0);
    none.stages[0].resources.insert("wal_fsyncs_per_s".to_owned(), 3.0);
    must_find(&none, "durability-implausible", Severity::Doubt, &["0 syncs of the log"]);
    none.settings[0].facts.log_written_through = true;
    must_find(&none, "durable", Severity::Note, &[]);
}

#[test]
fn a_server_that_counts_no_sync_in_a_whole_run_is_not_durable() {
    let hold = |report: &mut Report, syncs: f64| {
        let holds = report.stages.iter_mut().filter(|result| result.stage.kind == StageKind::Hold);
        holds.for_each(|result| {
            result.resources.insert("wal_fsyncs_per_s".to_owned(), syncs);
        });
    };
    let of_run = |before: f64, after: f64| LogSyncs { target: "pg".to_owned(), before, after };
    let without = clean_report();
    must_find(&without, "durable", Severity::Note, &["no counter shows whether the log was synced"]);
    // In no stage, and none in the run.
    for syncs in [None, Some(of_run(7.0, 7.0))] {
        let mut report = clean_report();
        hold(&mut report, 0.0);
        report.log_syncs.extend(syncs);
        must_find(&report, "durability-unknown", Severity::Note, &["counted no sync of its log"]);
        must_be_silent(&report, "durable");
        must_be_silent(&report, "durability-implausible");
        report.settings[0].facts.log_written_through = true;
        must_find(&report, "durable", Severity::Note, &["are on"]);
    }
    // Stages too short to be read.
    let mut report = clean_report();
    report.log_syncs = vec![of_run(7.0, 7.0)];
    must_find(&report, "durability-unknown", Severity::Note, &["counted no sync"]);
    report.log_syncs = vec![of_run(7.0, 9.0)];
    must_find(&report, "durable", Severity::Note, &["are on"]);
    assert!(!found(&report, "durable").unwrap().evidence.contains("counter"));
    // A counter that moves, and did not under the load.
    hold(&mut report, 0.0);
    must_find(&report, "durability-implausible", Severity::Doubt, &["0 syncs of the log"]);
    // What was committed in so short a time may be counted later.
    report.stages.iter_mut().for_each(|result| result.seconds = 2.0);
    must_find(&report, "durable", Severity::Note, &["are on"]);
}

#[test]
fn what_a_load_changed_without_anybody_knowing_its_log_is_not_durable() {
    type Change<'a> = &'a dyn Fn(&mut crate::event::Data);
    let with = |change: Change<'_>| {
        let mut report = clean_report();
        report.data.iter_mut().for_each(change);
        report
    };
    let named = |indirect: &[&str]| Some(indirect.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    // A workload's own tables are known to it, whether or not the server says so; those of a user's statements are not.
    must_find(&with(&|data| data.tables[0].logged = None), "durable", Severity::Note, &[]);
    must_find(&with(&|data| data.indirect = named(&[])), "durable", Severity::Note, &[]);
    let unknown: [(Change<'_>, &str); 4] = [
        (&|data| data.indirect = named(&["enqueue"]), "enqueue"),
        (&|data| (data.indirect, data.tables[0].logged) = (named(&[]), None), "pgbench_accounts"),
        (&|data| (data.indirect, data.tables) = (named(&[]), Vec::new()), "the tables of tpcb/"),
        (&|data| data.workload = "another".to_owned(), "the tables of tpcb/"),
    ];
    for (change, said) in unknown {
        let report = with(change);
        must_find(&report, "durability-unknown", Severity::Note, &["settings promise", said]);
        must_be_silent(&report, "durable");
    }
    let set = |set: SettingsSet| with(&|data: &mut crate::event::Data| data.settings_set = Some(set.clone()));
    let why = || vec!["synchronous_commit is off".to_owned()];
    let relaxed = set(SettingsSet { crash_loses_last: why(), ..SettingsSet::default() });
    must_find(&relaxed, "durability-relaxed", Severity::Doubt, &["off by the load's own statements"]);
    let off = set(SettingsSet { crash_corrupts: why(), ..SettingsSet::default() });
    must_find(&off, "durability-off", Severity::Doubt, &["off by the load's own statements"]);
    let unknown =
        set(SettingsSet { unknown: vec!["synchronous_commit".to_owned()], ..SettingsSet::default() });
    must_find(&unknown, "durability-unknown", Severity::Note, &["own statements set: synchronous_commit"]);
    let off = with(&|data| (data.indirect, data.tables[0].logged) = (named(&["f"]), Some(false)));
    must_find(&off, "durability-off", Severity::Doubt, &["unlogged: pgbench_accounts"]);
    must_be_silent(&off, "durability-unknown");
    let mut failed = clean_report();
    failed.checks[0].passed = Some(false);
    must_be_silent(&failed, "durable");
}

#[test]
fn what_only_reads_makes_nothing_durable_and_needs_no_log() {
    let with = |only_reads: &dyn Fn(&str) -> Option<bool>| {
        let mut report = clean_report();
        // The counters are of the server, and say that rows changed.
        report
            .stages
            .iter_mut()
            .for_each(|result| result.stage.only_reads = only_reads(&result.stage.series));
        report.data.iter_mut().for_each(|data| data.workload = "another".to_owned());
        report
    };
    let all = with(&|_| Some(true));
    must_be_silent(&all, "durable");
    must_be_silent(&all, "durability-unknown");
    must_find(&with(&|_| None), "durability-unknown", Severity::Note, &["the tables of tpcb/"]);
    // Beside one that only reads, the tables of the other count.
    let report = clean_report();
    let all: BTreeSet<&str> = report.series.iter().map(|series| series.name.as_str()).collect();
    for reading in all {
        let report = with(&|series| Some(series == reading));
        let finding = found(&report, "durability-unknown");
        let said = finding.as_ref().map(|finding| finding.evidence.as_str()).unwrap_or_default();
        let workload = &report.series.iter().find(|series| series.name == reading).unwrap().workload;
        assert!(!said.contains(workload.as_str()), "{reading}: {said}");
    }
    // Settings that lose commits are told all the same.
    let mut off = with(&|_| Some(true));
    off.settings[0].facts.crash_corrupts = vec!["fsync is off".to_owned()];
    must_find(&off, "durability-off", Severity::Note, &["fsync is off"]);
}

#[test]
fn what_only_the_end_can_tell_is_not_told_before() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for clients in [1, 2, 4] {
        fixture.play(&FixtureStage::read(StageKind::Ladder, clients, &[u64::from(clients) * 100; 10]));
    }
    let report = fold(&fixture.events);
    must_find(&report, "peak-not-reached", Severity::Doubt, &[]);
    assert!(judge_so_far(&report).iter().all(|finding| finding.code != "peak-not-reached"));
}

#[test]
fn tables_that_were_never_analysed_are_found() {
    let with = |analyzed: &[Option<bool>]| {
        let mut report = clean_report();
        let of = &mut report.found[0].tables;
        let first = of[0].clone();
        *of = analyzed
            .iter()
            .zip(["a", "b", "c", "d", "e", "f"])
            .map(|(analyzed, name)| Table { name: name.to_owned(), analyzed: *analyzed, ..first.clone() })
            .collect();
        report
    };
    let missing = with(&[Some(true), Some(false), None, Some(false)]);
    must_find(&missing, "stats-missing", Severity::Doubt, &["no statistics of b and d"]);
    let many = with(&[Some(false); 6]);
    must_find(&many, "stats-missing", Severity::Doubt, &["a, b, c, d and 2 more"]);
    must_be_silent(&with(&[Some(true), None]), "stats-missing");
    must_be_silent(&clean_report(), "stats-missing");
}

#[test]
fn indexes_that_were_dropped_are_named() {
    let mut report = clean_report();
    report.found[0].missing_indexes = vec!["index a_k of a".to_owned(), "foreign key b to b of a".to_owned()];
    let named = ["index a_k of a and foreign key b to b of a"];
    must_find(&report, "index-missing", Severity::Doubt, &named);
    must_be_silent(&clean_report(), "index-missing");
}
