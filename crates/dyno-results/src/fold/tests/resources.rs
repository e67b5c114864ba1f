//! What server and host did in a stage, and what that comes to for a transaction and for a row.

use super::*;
use crate::document::Costs;
use crate::event::{Data, Table};

/// A stage of 100 transactions a second on a remote target, during which counters grew so much in each second.
fn stage_with(source: &'static str, growth: &[(&'static str, f64)], gauges: &[(&str, f64)]) -> StageResult {
    stage_on(false, source, growth, gauges)
}

fn stage_on(
    same_host: bool,
    source: &'static str,
    growth: &[(&'static str, f64)],
    gauges: &[(&str, f64)],
) -> StageResult {
    let mut fixture = Fixture::started("2026-11-20-1");
    let target = crate::event::Target { same_host: Some(same_host), ..crate::fixture::target("pg") };
    fixture.push(Event::Target(target));
    growth.iter().for_each(|(key, per_second)| fixture.grow(source, key, *per_second));
    gauges.iter().for_each(|(key, value)| fixture.read(source, key, *value));
    fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[100; 5]));
    fold(&fixture.events).stages.remove(0)
}

fn costs(stage: StageResult) -> Costs {
    stage.costs.unwrap()
}

#[test]
fn means_are_of_the_stage_alone() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for (per_second, level) in [(1e6, 10.0), (3e6, 30.0)] {
        fixture.grow("database", "wal_bytes_total", per_second);
        fixture.read("database", "waits_sessions[Lock]", level);
        fixture.read("database", "table_bytes[event]", 1e9);
        fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[100; 5]));
    }
    let report = fold(&fixture.events);
    for (stage, times) in report.stages.iter().zip([1.0, 3.0]) {
        assert_eq!(stage.resources["wal_bytes_per_s"], times * 1e6);
        assert_eq!(stage.resources["waits_sessions[Lock]"], times * 10.0);
        assert!(!stage.resources.contains_key("table_bytes[event]"));
    }
}

#[test]
fn a_label_stays_at_the_end_and_plays_no_part_in_the_unit() {
    let sample = |count| [("io_read_bytes_total[client]", count), ("table_bytes[event]", 7.0)];
    let metrics = metrics("database", "pg", None, &[&sample(10.0), &sample(30.0)]);
    let rate = of(&metrics, "io_read_bytes_per_s[client]");
    assert_eq!((&*rate.unit, &rate.values[..]), ("bytes/s", [Some(20.0)].as_slice()));
    assert_eq!(of(&metrics, "table_bytes[event]").unit, "bytes");
    assert_eq!(metrics.len(), 2);
}

#[test]
fn seconds_become_what_they_mean() {
    let at = |times: f64| {
        [
            ("disk_queue_seconds_total", 3.0 * times),
            ("disk_read_seconds_total", 0.5 * times),
            ("disk_write_seconds_total", 1.5 * times),
            ("disk_read_operations_total", 100.0 * times),
            ("disk_write_operations_total", 300.0 * times),
            ("server_cgroup_periods_total", 10.0 * times),
            ("server_cgroup_throttled_periods_total", 9.0 * times),
            ("pressure_io_seconds_total", 0.4 * times),
        ]
    };
    let metrics = metrics("host", "pg", None, &[&at(1.0), &at(2.0), &at(2.0)]);
    for (key, unit, values) in [
        ("disk_queue_operations", "operations", [Some(3.0), Some(0.0)]),
        ("disk_await_seconds", "seconds", [Some(0.005), None]),
        ("server_cgroup_throttled_share", "share", [Some(0.9), None]),
        ("pressure_io_share", "share", [Some(0.4), Some(0.0)]),
    ] {
        let metric = of(&metrics, key);
        assert_eq!((&*metric.unit, &metric.values[..]), (unit, values.as_slice()), "{key}");
    }
}

#[test]
fn the_drivers_own_host_is_told_from_the_servers() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(crate::fixture::target("pg")));
    fixture.read("host", "memory_available_bytes", 8e9);
    for target in ["pg", "driver"] {
        // The driver's probe reads dyno itself as well.
        fixture.target = target;
        if target == "driver" {
            fixture.read("host", "driver_memory_bytes", 1e6);
            fixture.read("host", "memory_available_bytes", 2e9);
        }
        fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[100; 3]));
    }
    // Both are there in the span of the driver's stage; only the target's own stage counts here.
    let report = fold(&fixture.events);
    let resources = &report.stages[0].resources;
    assert_eq!(resources["memory_available_bytes"], 8e9);
    let metrics = &report.timelines[0].metrics;
    assert!(metrics.iter().any(|metric| metric.source == "driver" && metric.key == "memory_available_bytes"));
}

#[test]
fn a_transaction_costs_what_was_used_in_its_time() {
    let host =
        [("server_cpu_seconds_total", 0.5), ("disk_read_bytes_total", 1e5), ("disk_write_bytes_total", 2e5)];
    let disk = costs(stage_with("host", &host, &[]));
    assert_eq!(disk.server_cpu_us, Some(5000.0));
    assert_eq!((disk.disk_read_bytes, disk.disk_write_bytes), (Some(1000.0), Some(2000.0)));
    assert_eq!((disk.disk_source.as_deref(), disk.disk_operations_source.as_deref()), (Some("disk"), None));
    assert_eq!((disk.wal_bytes, disk.network_receive_bytes), (None, None));

    let wal = costs(stage_with("database", &[("wal_bytes_total", 80_000.0)], &[]));
    assert_eq!((wal.wal_bytes, wal.server_cpu_us, wal.disk_source), (Some(800.0), None, None));
}

#[test]
fn the_disk_traffic_nearest_to_the_server_counts() {
    let all = [
        ("disk_write_bytes_total", 9e5),
        ("disk_write_operations_total", 9e6),
        ("server_disk_write_bytes_total", 1e5),
        ("server_cgroup_disk_write_bytes_total", 3e5),
        ("server_cgroup_disk_write_operations_total", 200.0),
    ];
    let group = costs(stage_with("host", &all, &[]));
    assert_eq!((group.disk_write_bytes, group.disk_source.as_deref()), (Some(3000.0), Some("cgroup")));
    assert_eq!(group.disk_write_operations, Some(2.0));
    assert_eq!(group.disk_operations_source.as_deref(), Some("cgroup"));
    let processes = costs(stage_with("host", &all[..3], &[]));
    assert_eq!(
        (processes.disk_write_bytes, processes.disk_source.as_deref()),
        (Some(1000.0), Some("server"))
    );
    assert_eq!(processes.disk_operations_source.as_deref(), Some("disk"));
}

#[test]
fn processes_cannot_have_written_more_than_the_device() {
    let overstated = [("disk_write_bytes_total", 2e5), ("server_disk_write_bytes_total", 9e6)];
    let costs = costs(stage_with("host", &overstated, &[]));
    assert_eq!((costs.disk_write_bytes, costs.disk_source.as_deref()), (Some(2000.0), Some("disk")));
}

#[test]
fn a_host_that_the_driver_shares_costs_the_server_nothing_that_could_be_told() {
    let host = [
        ("network_receive_bytes_total", 1e5),
        ("cpu_user_seconds_total", 1.0),
        ("cpu_idle_seconds_total", 3.0),
    ];
    let cpus = [("cpus", 4.0)];
    let apart = costs(stage_on(false, "host", &host, &cpus));
    assert_eq!((apart.network_receive_bytes, apart.host_cpu_us), (Some(1000.0), Some(10_000.0)));
    assert_eq!(stage_on(true, "host", &host, &cpus).costs, None);
}

#[test]
fn what_another_targets_load_takes_of_a_host_is_no_cost() {
    let host = [
        ("cpu_user_seconds_total", 1.0),
        ("cpu_idle_seconds_total", 3.0),
        ("disk_write_bytes_total", 1e5),
        ("network_receive_bytes_total", 1e5),
    ];
    let costs_beside = |source: &str, together: bool| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for (name, source) in [("pg", "http://db:9100/metrics"), ("my", source)] {
            let target = crate::fixture::target(name);
            let host_source = Some(source.to_owned());
            fixture.push(Event::Target(crate::event::Target { host_source, ..target }));
        }
        fixture.read("host", "cpus", 4.0);
        host.iter().for_each(|(key, per_second)| fixture.grow("host", key, *per_second));
        let load = FixtureStage::write(StageKind::Hold, 4, &[100; 5]);
        if together {
            fixture.target = "my";
            let id = fixture.start_stage(&load);
            fixture.push(Event::Interval(crate::fixture::interval(&load, id, 0, 100)));
            fixture.target = "pg";
        }
        let id = fixture.play(&load);
        fold(&fixture.events).stages.remove(id as usize).costs
    };
    let alone = costs_beside("http://db:9100/metrics", false).unwrap();
    assert_eq!((alone.host_cpu_us, alone.disk_write_bytes), (Some(10_000.0), Some(1000.0)));
    assert_eq!(costs_beside("http://other:9100/metrics", true), Some(alone));
    assert_eq!(costs_beside("http://db:9100/metrics", true), None);
}

#[test]
fn nothing_that_ended_costs_nothing_that_is_known() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.grow("host", "server_cpu_seconds_total", 1.0);
    fixture.play(&FixtureStage::write(StageKind::Hold, 4, &[0; 3]));
    assert_eq!(fold(&fixture.events).stages[0].costs, None);
    assert_eq!(clean_report().stages[5].costs.as_ref().unwrap().wal_bytes.map(f64::round), Some(8084.0));
}

#[test]
fn rows_take_what_was_last_read_of_them() {
    let table = |rows, table_bytes, index_bytes| Table {
        name: "event".to_owned(),
        rows,
        rows_counted: true,
        table_bytes,
        index_bytes,
        logged: None,
        indexed: None,
        analyzed: None,
    };
    let sizes = |tables: Vec<Table>| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for tables in [vec![table(Some(1), Some(1), Some(1))], tables] {
            fixture.push(Event::Data(Data {
                target: "pg".to_owned(),
                workload: "events".to_owned(),
                scale: None,
                database_bytes: None,
                cache_bytes: None,
                memory_bytes: None,
                caches: std::collections::BTreeMap::new(),
                indirect: None,
                missing_indexes: Vec::new(),
                settings_set: None,
                after: None,
                phase: None,
                tables,
            }));
        }
        fold(&fixture.events).sizes
    };
    let known = sizes(vec![
        table(Some(1000), Some(60_000), Some(20_000)),
        table(Some(600), Some(40_000), Some(8_000)),
    ]);
    assert_eq!(
        (known.len(), known[0].rows, known[0].bytes, known[0].bytes_per_row),
        (1, 1600, 128_000, 80.0)
    );
    for unknown in
        [table(None, Some(1), Some(1)), table(Some(1), None, Some(1)), table(Some(1), Some(1), None)]
    {
        assert!(sizes(vec![table(Some(1), Some(1), Some(1)), unknown]).is_empty());
    }
    assert!(sizes(vec![table(Some(0), Some(8192), Some(8192))]).is_empty(), "no row, no share of one");
}
