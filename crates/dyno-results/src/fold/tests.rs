//! What a report says of streams of which the answer is known.

mod mixes;
mod resources;
mod shared_connections;

use super::*;
use crate::document::{Metric, NOT_FINISHED, SCHEMA, StageResult};
use crate::event::{Interval, Outcome, Pool, Queries, Sample, StageKind, Stamped};
use crate::fixture::{
    Fixture, FixtureStage, clean_fixture, clean_report, divided, interval, saturated_ladder, wobble,
};
use crate::latency::Latency;

/// The report of one stage of five intervals that `change` was let loose on.
fn with_intervals(load: &FixtureStage<'_>, change: impl Fn(usize, &mut Interval)) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    let id = fixture.start_stage(load);
    for (index, done) in load.tps.iter().enumerate() {
        let mut interval = interval(load, id, index, *done);
        change(index, &mut interval);
        fixture.push(Event::Interval(interval));
    }
    fixture.finish_stage(id, load.tps.len());
    fixture.finish();
    fold(&fixture.events)
}

fn only_stage(report: &Report) -> &StageResult {
    assert_eq!(report.stages.len(), 1);
    &report.stages[0]
}

#[test]
fn a_whole_run_is_told() {
    let report = clean_report();
    assert_eq!(report.schema, SCHEMA);
    assert_eq!((report.run.name.as_str(), report.run.outcome), ("2026-11-20-1", Outcome::Complete));
    assert_eq!(report.run.seconds, 45.0);
    let series = &report.series[0];
    assert_eq!((series.target.as_str(), series.name.as_str()), ("pg", "write"));
    assert_eq!(
        (series.ladder.as_slice(), series.holds.as_slice()),
        ([0, 1, 2, 3, 4].as_slice(), [5].as_slice())
    );
    let peak = series.peak.as_ref().unwrap();
    assert_eq!((peak.stage, peak.clients, peak.passed), (3, 8, true));
    let hold = &report.stages[5];
    assert_eq!((hold.start_s, hold.seconds, hold.complete), (25.0, 20.0, true));
    assert!((hold.throughput.unwrap().mean - 990.0).abs() < 9.0);
    assert!((hold.service.unwrap().p50_us - 1000.0).abs() < 1.0);
    assert_eq!((hold.response, hold.lag), (None, None));
    assert_eq!(hold.by_type[0].name, "only");
}

#[test]
fn what_must_stand_beside_a_workload_stands_beside_its_series() {
    let told = |caveat: Option<&str>| {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[100; 5]));
        let stages = fixture.events.iter_mut().filter_map(|stamped| match &mut stamped.event {
            Event::StageStarted(stage) => Some(stage),
            _ => None,
        });
        stages.for_each(|stage| stage.caveat = caveat.map(str::to_owned));
        fold(&fixture.events).series[0].caveat.clone()
    };
    assert_eq!(told(Some("derived")).as_deref(), Some("derived"));
    assert_eq!(told(None), None);
}

#[test]
fn a_stream_cut_anywhere_gives_a_report_and_all_of_it_the_same_as_at_once() {
    let events = clean_fixture().events;
    let mut fold_so_far = Fold::new();
    for (index, stamped) in events.iter().enumerate() {
        if index % 5 == 0 || index + 1 == events.len() {
            let report = fold_so_far.report();
            assert_eq!(report.run.outcome, Outcome::Incomplete);
            assert_eq!(report.run.reason.as_deref(), Some(NOT_FINISHED));
        }
        fold_so_far.add(stamped);
    }
    let json = |report: &Report| serde_json::to_value(report).unwrap();
    assert_eq!(json(&fold_so_far.report()), json(&fold(&events)));
}

#[test]
fn a_drain_counts_for_everything_but_throughput() {
    let report = with_intervals(
        &FixtureStage::write(StageKind::Hold, 4, &[100, 100, 100, 100, 7]),
        |index, interval| {
            interval.drain = index == 4;
            interval.types[0].unknown = u64::from(index == 4);
            interval.types[0].failed = 2;
            interval.types[0].retries = 3;
            interval.errors.insert("40001".to_owned(), 5);
            interval.reconnects = 1;
            interval.lost_ns = 250_000_000;
        },
    );
    let stage = only_stage(&report);
    let totals = &stage.totals;
    assert_eq!((totals.done, totals.done_with_drain), (400, 407));
    assert_eq!((totals.failed, totals.failed_with_drain), (8, 10));
    assert_eq!((totals.unknown, totals.unknown_with_drain), (0, 1));
    assert_eq!((totals.retries, totals.reconnects, totals.lost_s), (15, 5, 1.25));
    assert_eq!(stage.errors["40001"], 25);
    let of_type = &stage.by_type[0];
    assert_eq!((of_type.done, of_type.failed, of_type.failed_with_drain), (400, 8, 10));
    assert_eq!((stage.throughput.unwrap().mean, stage.seconds), (100.0, 5.0));
    assert_eq!((stage.service.unwrap().count, of_type.service.unwrap().count), (407, 407));
    assert_eq!(report.timelines[0].load.tps, [Some(100.0); 4]);
}

#[test]
fn a_stall_that_reaches_the_end_shows_in_every_latency() {
    // 100 a second are due; from the fourth second on nothing is answered, and the drain brings all that waited.
    let mut load = FixtureStage::write(StageKind::Hold, 4, &[100, 100, 100, 0, 100]);
    load.open = Some((100.0, 0));
    let stalled_ns = 900_000_000;
    let report = with_intervals(&load, |index, interval| {
        interval.drain = index == 4;
        if interval.drain {
            let of_type = &mut interval.types[0];
            for latency in [&mut of_type.service, &mut of_type.response, &mut of_type.lag] {
                latency.clear();
                latency.record_n(stalled_ns, 100);
            }
        }
    });
    let stage = only_stage(&report);
    for latency in [stage.service, stage.response, stage.lag, stage.by_type[0].response] {
        let latency = latency.unwrap();
        assert_eq!(latency.count, 400);
        assert!((latency.p90_us - 900_000.0).abs() < 900.0, "{latency:?}");
    }
    assert_eq!(stage.throughput.unwrap().mean, 75.0);
}

#[test]
fn percentiles_come_from_merged_histograms() {
    // Nine tenths at 1 ms in four intervals, and a tenth at 100 ms in another: a mean of percentiles would say 20.8.
    let report = with_intervals(
        &FixtureStage::write(StageKind::Hold, 4, &[900, 900, 900, 900, 400]),
        |index, interval| {
            if index == 4 {
                interval.types[0].service = Latency::new();
                interval.types[0].service.record_n(100_000_000, 400);
            }
        },
    );
    let service = only_stage(&report).service.unwrap();
    assert!((service.p50_us - 1000.0).abs() < 1.0);
    assert!((service.p95_us - 100_000.0).abs() < 100.0);
    assert!((service.mean_us - 10_900.0).abs() < 20.0, "{}", service.mean_us);
}

#[test]
fn types_are_told_apart_and_merged_for_the_stage() {
    let report = with_intervals(&FixtureStage::write(StageKind::Hold, 4, &[100; 5]), |_, interval| {
        let mut other = interval.types[0].clone();
        other.type_index = 1;
        other.done = 50;
        other.failed = 2;
        other.service.clear();
        other.service.record_n(5_000_000, 50);
        interval.types.push(other);
    });
    let stage = only_stage(&report);
    let done: Vec<_> = stage.by_type.iter().map(|of_type| (of_type.name.as_str(), of_type.done)).collect();
    assert_eq!(done, [("only", 500), ("type 1", 250)]);
    assert_eq!(stage.service.unwrap().count, 750);
    assert_eq!((stage.totals.failed, stage.throughput.unwrap().mean), (10, 150.0));
    assert!((stage.by_type[1].service.unwrap().p50_us - 5000.0).abs() < 5.0);
}

#[test]
fn an_open_loop_shows_response_and_lag() {
    let mut load = FixtureStage::write(StageKind::Hold, 4, &[100; 5]);
    load.open = Some((100.0, 4000));
    let report = with_intervals(&load, |_, _| {});
    let stage = only_stage(&report);
    assert!((stage.service.unwrap().p50_us - 1000.0).abs() < 1.0);
    assert!((stage.response.unwrap().p50_us - 5000.0).abs() < 5.0);
    assert!((stage.lag.unwrap().p50_us - 4000.0).abs() < 4.0);
    assert!((report.timelines[0].load.p50_us[0].unwrap() - 5000.0).abs() < 5.0);
}

#[test]
fn the_busiest_thread_and_the_cost_of_a_transaction_are_told() {
    let report = with_intervals(&FixtureStage::write(StageKind::Hold, 4, &[100; 5]), |_, _| {});
    let stage = only_stage(&report);
    assert!((stage.driver_thread_busy_max.unwrap() - 0.3).abs() < 1e-9);
    assert!((stage.driver_cpu_us_per_transaction.unwrap() - 5500.0).abs() < 1e-6);
}

#[test]
fn an_interval_in_which_nothing_ended_has_no_latency() {
    let report = with_intervals(&FixtureStage::write(StageKind::Hold, 4, &[100, 0, 100]), |_, _| {});
    let load = &report.timelines[0].load;
    assert_eq!(load.p99_us[1], None);
    assert_eq!((load.tps[1], load.t_s[1]), (Some(0.0), 1.5));
    assert!(load.p99_us[2].is_some());
}

#[test]
fn the_rest_of_a_second_has_no_rate_and_what_is_all_of_a_stage_has_one() {
    let last_for = |tps: &'static [u64], ms: u64| {
        let report = with_intervals(&FixtureStage::write(StageKind::Hold, 4, tps), |index, interval| {
            if index + 1 == tps.len() {
                interval.duration_ns = ms * 1_000_000;
            }
        });
        let load = report.timelines[0].load.clone();
        assert_eq!(load.p99_us.iter().flatten().count(), tps.len(), "its latencies are as known as any");
        (load.tps.last().copied().flatten(), load.failed_per_s.last().copied().flatten())
    };
    assert_eq!(last_for(&[100, 100, 1], 4), (None, None));
    assert_eq!(last_for(&[100, 100, 40], 499), (None, None));
    assert_eq!(last_for(&[100, 100, 60], 600), (Some(100.0), Some(0.0)));
    assert_eq!(last_for(&[30], 300), (Some(100.0), Some(0.0)));
}

/// A run of two streams: `oltp`, the first of them, goes up a ladder, and `reports` begins each stage before it.
fn two_streams(reports: &[u32]) -> Report {
    fold(&events_of_two_streams(reports))
}

fn events_of_two_streams(reports: &[u32]) -> Vec<Stamped> {
    let mut fixture = Fixture::started("2026-11-20-1");
    let kinds = [StageKind::WarmUp, StageKind::Ladder, StageKind::Ladder, StageKind::Ladder, StageKind::Hold];
    for ((kind, clients), of_reports) in kinds.into_iter().zip([4, 1, 2, 4, 2]).zip(reports) {
        let of = |series, clients| FixtureStage { series, ..FixtureStage::write(kind, clients, &[100; 3]) };
        let (reports, oltp) = (of("reports", *of_reports), of("oltp", clients));
        let ids = [&reports, &oltp].map(|load| fixture.start_stage(load));
        for second in 0..3 {
            for (id, load) in ids.iter().zip([&reports, &oltp]) {
                fixture.push(Event::Interval(interval(load, *id, second, 100)));
            }
        }
        ids.iter().for_each(|id| fixture.finish_stage(*id, 3));
        fixture.second_passes();
        fixture.second_passes();
        fixture.second_passes();
        fixture.second_passes();
    }
    fixture.finish();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            (stage.key.phase, stage.key.stream) = (0, u32::from(stage.series == "reports"));
        }
    }
    fixture.events
}

#[test]
fn a_load_that_stays_the_same_stands_at_the_steps_of_the_one_that_it_accompanies() {
    let accompanied = |report: &Report| -> Vec<_> {
        report.stages.iter().map(|result| (result.stage.id, result.accompanies)).collect()
    };
    let report = two_streams(&[1; 5]);
    let of_reports = [(0, None), (2, Some(3)), (4, Some(5)), (6, Some(7)), (8, Some(9))];
    let of_oltp = [1, 3, 5, 7, 9].map(|id| (id, None));
    let mut all = [of_reports, of_oltp].concat();
    all.sort_unstable();
    assert_eq!(accompanied(&report), all);
    // With a ladder of its own it stands at its own steps.
    let both = two_streams(&[1, 1, 2, 4, 4]);
    assert!(accompanied(&both).iter().all(|(_, accompanies)| accompanies.is_none()));
    // Streams are told in the order of the phase, whichever began first.
    let names: Vec<_> = report.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["oltp", "reports"]);
}

#[test]
fn a_load_that_accompanies_a_ladder_has_no_peak_where_one_step_alone_was_measured() {
    let mut events = events_of_two_streams(&[1; 3]);
    events.retain(|stamped| !matches!(&stamped.event, Event::StageFinished(finished) if finished.stage == 4));
    let report = fold(&events);
    let peaks: Vec<_> = report.series.iter().map(|series| (&*series.name, series.peak.is_some())).collect();
    assert_eq!(peaks, [("oltp", true), ("reports", false)]);
}

#[test]
fn a_warm_up_is_shown_and_plays_no_part_in_the_peak() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::WarmUp, 64, &wobble(5000, 5)));
    fixture.play(&FixtureStage::write(StageKind::Ladder, 1, &wobble(100, 5)));
    fixture.finish();
    let report = fold(&fixture.events);
    assert_eq!(report.stages.len(), 2);
    assert_eq!(report.series[0].ladder, [1]);
    assert_eq!(report.series[0].peak.as_ref().unwrap().clients, 1);
}

#[test]
fn a_rung_under_way_is_no_peak() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Ladder, 1, &wobble(100, 5)));
    let load = FixtureStage::write(StageKind::Ladder, 2, &[200]);
    let id = fixture.start_stage(&load);
    fixture.push(Event::Interval(interval(&load, id, 0, 200)));
    let report = fold(&fixture.events);
    assert_eq!(report.series[0].peak.as_ref().unwrap().clients, 1);
    assert_eq!((report.stages[1].complete, report.stages[1].seconds), (false, 1.0));
    assert_eq!(report.stages[1].throughput.unwrap().half_width, None);
}

#[test]
fn a_ramp_has_a_mean_and_no_interval() {
    let report = with_intervals(&FixtureStage::write(StageKind::Ramp, 4, &[100, 200, 300, 400]), |_, _| {});
    let throughput = only_stage(&report).throughput.unwrap();
    assert_eq!((throughput.mean, throughput.half_width), (250.0, None));
}

/// The metrics of target `pg` after these samples of one source, a second apart.
fn metrics(
    source: &str,
    sampled: &str,
    same_host: Option<bool>,
    samples: &[&[(&str, f64)]],
) -> Vec<Metric<'static>> {
    let mut fold = Fold::new();
    let mut target = clean_fixture().events[1].clone();
    if let Event::Target(target) = &mut target.event {
        target.same_host = same_host;
    }
    fold.add(&target);
    for (second, values) in samples.iter().enumerate() {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        let sample = Sample { source: source.to_owned(), target: sampled.to_owned(), values };
        let at_ms = second as u64 * 1000;
        fold.add(&Stamped { seq: second as u64 + 1, at_ms, event: Event::Sample(sample) });
    }
    fold.report().timelines.remove(0).metrics
}

fn of<'a>(metrics: &'a [Metric<'a>], key: &str) -> &'a Metric<'a> {
    metrics.iter().find(|metric| metric.key == key).unwrap_or_else(|| panic!("no {key} in {metrics:?}"))
}

#[test]
fn counters_become_rates_and_gauges_stay() {
    let metrics = metrics(
        "database",
        "pg",
        None,
        &[
            &[("wal_bytes_total", 100.0), ("connections_active", 3.0)],
            &[("wal_bytes_total", 350.0), ("connections_active", 4.0)],
        ],
    );
    let wal = of(&metrics, "wal_bytes_per_s");
    assert_eq!((&*wal.unit, &wal.t_s[..]), ("bytes/s", [0.5].as_slice()));
    assert_eq!(*wal.values, [Some(250.0)]);
    let connections = of(&metrics, "connections_active");
    assert_eq!((&*connections.unit, &connections.t_s[..]), ("connections", [0.0, 1.0].as_slice()));
    assert_eq!(*connections.values, [Some(3.0), Some(4.0)]);
    assert_eq!(metrics.len(), 2);
}

#[test]
fn a_counter_that_starts_anew_has_no_rate_for_that_step() {
    let sample = |count| [("transactions_committed_total", count)];
    let samples = [sample(1000.0), sample(1500.0), sample(20.0), sample(70.0)];
    let metrics = metrics("database", "pg", None, &samples.each_ref().map(<[_; 1]>::as_slice));
    assert_eq!(*of(&metrics, "transactions_committed_per_s").values, [Some(500.0), None, Some(50.0)]);
}

#[test]
fn a_reading_that_is_missing_is_not_filled_in() {
    let metrics = metrics(
        "database",
        "pg",
        None,
        &[
            &[("wal_bytes_total", 100.0)],
            &[("connections_active", 1.0)],
            &[("wal_bytes_total", 300.0)],
            &[("wal_bytes_total", 400.0)],
        ],
    );
    let wal = of(&metrics, "wal_bytes_per_s");
    assert_eq!((&wal.t_s[..], &wal.values[..]), ([2.5].as_slice(), [Some(100.0)].as_slice()));
}

#[test]
fn processor_time_becomes_shares_and_cores() {
    let at = |user: f64, iowait: f64, idle: f64| {
        [
            ("cpu_user_seconds_total", user),
            ("cpu_iowait_seconds_total", iowait),
            ("cpu_idle_seconds_total", idle),
            ("server_cpu_seconds_total", user / 2.0),
        ]
    };
    // Two processors; the kernel takes some iowait back in the second step.
    let samples = [at(10.0, 5.0, 20.0), at(10.5, 5.5, 21.0), at(11.5, 5.4, 22.0)];
    let metrics = metrics("host", "pg", None, &samples.each_ref().map(<[_; 4]>::as_slice));
    assert_eq!(*of(&metrics, "cpu_user_share").values, [Some(0.25), Some(0.5)]);
    assert_eq!(*of(&metrics, "cpu_iowait_share").values, [Some(0.25), None]);
    assert_eq!(*of(&metrics, "server_cpu_cores").values, [Some(0.25), Some(0.5)]);
    assert_eq!(of(&metrics, "server_cpu_cores").unit, "cores");
}

#[test]
fn the_hit_share_is_of_what_was_asked_for() {
    let at = |hit, read| [("blocks_hit_total", hit), ("blocks_read_total", read)];
    let samples = [at(100.0, 10.0), at(190.0, 20.0), at(190.0, 20.0)];
    let metrics = metrics("database", "pg", None, &samples.each_ref().map(<[_; 2]>::as_slice));
    assert_eq!(*of(&metrics, "cache_hit_share").values, [Some(0.9), None]);
}

#[test]
fn checkpoints_are_counted_from_the_first_sample_on() {
    let at =
        |timed, requested| [("checkpoints_timed_total", timed), ("checkpoints_requested_total", requested)];
    let samples = [at(7.0, 2.0), at(8.0, 3.0), at(0.0, 0.0), at(0.0, 1.0)];
    let metrics = metrics("database", "pg", None, &samples.each_ref().map(<[_; 2]>::as_slice));
    assert_eq!(*of(&metrics, "checkpoints").values, [0.0, 2.0, 2.0, 3.0].map(Some));
}

#[test]
fn the_drivers_host_is_the_targets_where_they_share_it() {
    let samples: [&[(&str, f64)]; 2] = [
        &[("driver_cpu_seconds_total", 1.0), ("memory_available_bytes", 9.0)],
        &[("driver_cpu_seconds_total", 1.5), ("memory_available_bytes", 8.0)],
    ];
    let shared = metrics("host", "driver", Some(true), &samples);
    assert_eq!(of(&shared, "memory_available_bytes").source, "host");
    let driver = of(&shared, "driver_cpu_cores");
    assert_eq!((&*driver.source, &driver.values[..]), ("driver", [Some(0.5)].as_slice()));

    for sampled in ["driver", "pg"] {
        let shared = metrics("host", sampled, Some(true), &samples);
        assert_eq!(of(&shared, "memory_available_bytes").source, "host");
        for same_host in [Some(false), None] {
            let apart = metrics("host", sampled, same_host, &samples);
            assert!(apart.iter().all(|metric| metric.source == "driver"), "{apart:?}");
        }
    }
}

#[test]
fn queries_are_summed_over_the_load_without_its_drain() {
    let load = FixtureStage::write(StageKind::Hold, 4, &[100; 2]);
    let mut fixture = Fixture::started("2026-11-20-1");
    let id = fixture.start_stage(&load);
    for (index, drain) in [false, false, true].into_iter().enumerate() {
        let mut interval = interval(&load, id, index, 100);
        let of_each = Queries { reads: 1400, writes: 300, other: 300, writes_in_vain: 100 };
        interval.types[0].queries = Some(of_each);
        interval.drain = drain;
        fixture.push(Event::Interval(interval));
    }
    fixture.finish_stage(id, 2);
    let queries = fold(&fixture.events).stages[0].queries.unwrap();
    assert_eq!([queries.reads, queries.writes, queries.other, queries.writes_in_vain], [2800, 600, 600, 200]);
    assert_eq!([queries.per_s, queries.reads_per_s, queries.writes_per_s], [2000.0, 1400.0, 300.0]);
    assert_eq!((queries.other_per_s, queries.in_vain_share), (300.0, Some(0.25)));
    assert_eq!(clean_report().stages[0].queries, None);
}

const JSON_DOCUMENT: &str = include_str!("../../../../docs/json.md");

/// Names that stand in backticks in the documentation.
fn is_documented(name: &str) -> bool {
    JSON_DOCUMENT.contains(&format!("`{name}`")) || JSON_DOCUMENT.contains(&format!(".{name}`"))
}

/// The report without how many generators there were.
fn without_generators(events: &[Stamped]) -> serde_json::Value {
    let mut told = serde_json::to_value(fold(events)).unwrap();
    for stage in told["stages"].as_array_mut().unwrap() {
        stage.as_object_mut().unwrap().remove("generators");
    }
    told
}

#[test]
fn what_several_generators_did_is_what_one_would_have_done() {
    let mut over_a_pool = Fixture::started("2026-11-20-1");
    let pool = Pool { connections: 4, in_use_mean: 3.5, in_use_max: 4, waiting_mean: 2.25, waiting_max: 5 };
    let load = FixtureStage::write(StageKind::Hold, 10, &[100, 0, 7, 120]);
    over_a_pool.play(&FixtureStage { pool: Some((pool, 300)), ..load });
    over_a_pool.finish();
    for fixture in [clean_fixture(), over_a_pool] {
        assert_eq!(without_generators(&divided(&fixture.events)), without_generators(&fixture.events));
    }
}

#[test]
fn a_second_of_which_a_generator_has_not_told_has_no_rate() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage::write(StageKind::Hold, 6, &[300; 20]));
    fixture.finish();
    let whole = fold(&fixture.events);
    let without = |is_lost: fn(&Interval) -> bool| {
        let mut events = divided(&fixture.events);
        events.retain(|stamped| !matches!(&stamped.event, Event::Interval(interval) if is_lost(interval)));
        fold(&events)
    };
    let one = without(|interval| (interval.generator, interval.index) == (1, 7));
    let (stage, undivided) = (&one.stages[0], &whole.stages[0]);
    assert_eq!((stage.incomplete_seconds, stage.totals.done), (1, undivided.totals.done - 100));
    let mean = |result: &StageResult| result.throughput.unwrap().mean;
    assert_eq!((mean(stage), mean(undivided)), (300.0, 300.0));
    let load = &one.timelines[0].load;
    assert_eq!((load.tps[7], load.tps.iter().flatten().count(), load.tps.len()), (None, 19, 20));
    // A generator that is gone keeps nothing of the others back.
    let gone = without(|interval| interval.generator == 2 && interval.index > 2);
    let stage = &gone.stages[0];
    assert_eq!((stage.incomplete_seconds, stage.totals.done), (17, 3 * 300 + 17 * 200));
    assert_eq!(mean(stage), 300.0);
}

#[test]
fn every_metric_is_documented() {
    let counters = "cpu_user_seconds cpu_system_seconds cpu_iowait_seconds cpu_steal_seconds cpu_idle_seconds \
        disk_read_bytes disk_write_bytes disk_read_operations disk_write_operations disk_busy_seconds \
        network_receive_bytes network_transmit_bytes cgroup_throttled_seconds server_cpu_seconds \
        driver_cpu_seconds driver_cpu_user_seconds transactions_committed transactions_rolled_back \
        tuples_returned tuples_inserted tuples_updated tuples_deleted blocks_hit blocks_read deadlocks conflicts \
        temp_bytes wal_bytes wal_records wal_full_page_images checkpoints_timed checkpoints_requested \
        checkpoint_write_seconds checkpoint_sync_seconds buffers_written server_cpu_user_seconds \
        server_cpu_system_seconds server_cgroup_cpu_seconds server_cgroup_throttled_seconds \
        server_cgroup_throttled_periods server_cgroup_periods pressure_cpu_seconds pressure_io_seconds \
        pressure_memory_seconds disk_queue_seconds disk_read_seconds disk_write_seconds server_disk_read_bytes \
        server_disk_write_bytes server_cgroup_disk_read_bytes server_cgroup_disk_write_bytes \
        server_cgroup_disk_read_operations server_cgroup_disk_write_operations loopback_bytes \
        row_lock_wait_seconds";
    let not_in_the_table = ["server_cgroup_throttled_periods_per_s", "server_cgroup_periods_per_s"];
    let gauges = "cpus memory_available_bytes server_memory_bytes driver_memory_bytes connections_active \
        connections_idle connections_in_transaction connections_open database_bytes running_processes \
        blocked_processes server_processes server_threads memory_total_bytes memory_cached_bytes \
        memory_dirty_bytes swap_used_bytes server_cgroup_cpus_limit server_cgroup_memory_bytes \
        server_cgroup_memory_limit_bytes server_cgroup_disk_read_limit_bytes \
        server_cgroup_disk_write_limit_bytes server_cgroup_disk_read_limit_operations \
        server_cgroup_disk_write_limit_operations lock_waiting_sessions";
    let counters: Vec<String> = counters.split_whitespace().map(|name| format!("{name}_total")).collect();
    let keys = || counters.iter().map(String::as_str).chain(gauges.split_whitespace());
    let samples: Vec<Vec<(&str, f64)>> =
        [1.0, 2.0].iter().map(|value| keys().map(|key| (key, *value)).collect()).collect();
    let metrics = metrics("host", "pg", None, &samples.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(metrics.len() > 40, "{}", metrics.len());
    for metric in metrics.iter().filter(|metric| !not_in_the_table.contains(&&*metric.key)) {
        let row = format!("`{}`", metric.key);
        let line = JSON_DOCUMENT.lines().find(|line| line.starts_with('|') && line.contains(&row));
        let line = line.unwrap_or_else(|| panic!("{} is not documented", metric.key));
        assert!(
            line.contains(&format!("| `{}` |", metric.unit)),
            "{} is in {}: {line}",
            metric.key,
            metric.unit
        );
    }
}

#[test]
fn every_field_is_documented() {
    fn check(value: &serde_json::Value, path: &str) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| check(item, path)),
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    assert!(is_documented(name), "{path}.{name} is not documented");
                    check(field, &format!("{path}.{name}"));
                }
            }
            _ => {}
        }
    }
    let mut fixture = clean_fixture();
    crate::fixture::one_of_each_remark().into_iter().for_each(|event| fixture.push(event));
    let mut load = FixtureStage::write(StageKind::Hold, 4, &[100; 5]);
    load.open = Some((100.0, 4000));
    fixture.play(&load);
    load.open = None;
    load.pool = Some((Pool { connections: 2, in_use_mean: 2.0, ..Pool::default() }, 4000));
    fixture.play(&load);
    fixture.read("host", "cpus", 8.0);
    saturated_ladder(&mut fixture, |fixture, load| {
        fixture.grow("host", "server_cpu_seconds_total", 8.0 * load);
    });
    for stamped in &mut fixture.events {
        if let Event::Interval(interval) = &mut stamped.event {
            interval.types[0].queries = Some(Queries { reads: 1, ..Queries::default() });
        }
    }
    check(&serde_json::to_value(fold(&fixture.events)).unwrap(), "report");
    let mut passes = Fixture::started("a");
    for target in ["pg", "my"] {
        passes.target = target;
        passes.play(&FixtureStage::read(StageKind::Hold, 1, &[1]));
    }
    for stamped in &mut passes.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    let report = fold(&passes.events);
    assert_eq!(report.series[0].passes.as_ref().map(|passes| passes.speed_ups[0].ratios.len()), Some(1));
    check(&serde_json::to_value(report).unwrap(), "report");
}

#[test]
fn a_pass_that_was_cut_short_counts_as_not_begun() {
    // Passes of one query that took so many milliseconds; 0 where it was not reached, or failed.
    let passes = |ms: &[u64], is_cut: &dyn Fn(u32) -> Option<StageFinishes>| {
        let mut fixture = Fixture::started("a");
        for ms in ms {
            let done = [u64::from(*ms > 0)];
            let pass = FixtureStage::read(StageKind::Hold, 1, &done);
            fixture.play(&FixtureStage { service_us: ms * 1000, ..pass });
        }
        let mut events = fixture.events;
        events.retain_mut(|stamped| match &mut stamped.event {
            Event::StageStarted(stage) => {
                stage.pass = true;
                true
            }
            Event::StageFinished(finished) => match is_cut(finished.stage) {
                Some(how) => {
                    finished.complete = false;
                    matches!(how, StageFinishes::Stopped)
                }
                None => true,
            },
            _ => true,
        });
        let report = fold(&events);
        assert_eq!(report.stages.len(), ms.len());
        let passes = report.series[0].passes.clone().unwrap();
        let median_ms = passes.queries[0].median_s.map(|seconds| (seconds * 1000.0).round());
        assert_eq!(passes.queries[0].times_s.len(), passes.seconds.len());
        (passes.stages, median_ms, passes.total_s.is_some())
    };
    for how in [StageFinishes::Stopped, StageFinishes::Never] {
        let last_cut = |at| (at == 2).then_some(how);
        // Neither without its query nor with it.
        assert_eq!(passes(&[100, 300, 0], &last_cut), (vec![0, 1], Some(200.0), true), "{how:?}");
        assert_eq!(passes(&[100, 300, 900], &last_cut), (vec![0, 1], Some(200.0), true), "{how:?}");
        // Nothing else is known.
        assert_eq!(passes(&[100], &|_| Some(how)), (vec![0], Some(100.0), false), "{how:?}");
        assert_eq!(passes(&[0], &|_| Some(how)), (vec![0], None, false), "{how:?}");
    }
    // A query that failed in a pass that went to its end counts as longer than all others.
    assert_eq!(passes(&[100, 300, 0], &|_| None), (vec![0, 1, 2], Some(300.0), true));
    assert_eq!(passes(&[100, 0, 0], &|_| None), (vec![0, 1, 2], None, false));
}

/// How a stage that was cut short ends: as stopped, or without its end since dyno was killed.
#[derive(Debug, Clone, Copy)]
enum StageFinishes {
    Stopped,
    Never,
}
