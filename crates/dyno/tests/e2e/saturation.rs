//! A limit planted on one of two servers, which the ramp must find and name, and must not find on the other.

use dyno_test_servers::{Cap, Postgres, Setup};
use serde_json::Value;

use crate::home::Home;
use crate::report::Report;
use crate::server::url;

/// Where a target gave way, and the resources that were at their bound there.
fn saturation(report: &Report, target: &str) -> Option<(u64, Vec<String>)> {
    let series = report.series().iter().find(|series| series["target"] == target).unwrap();
    let saturation = series["saturation"].as_object()?;
    let limits = saturation["limits"].as_array().unwrap().iter();
    let resources = limits.map(|limit| limit["resource"].as_str().unwrap().to_owned()).collect();
    Some((saturation["clients"].as_u64().unwrap(), resources))
}

/// Runs a load on both servers, one of which the cap holds.
fn ramp(cap: &Cap, held: &Postgres, free: &Postgres, load: &[&str]) -> Report {
    cap.hold(held.pid());
    let home = Home::new();
    let (held, free) = (format!("held={}", url(held, "postgres")), format!("free={}", url(free, "postgres")));
    let step = ["--step", "2s", "--to-the-end", "--warm-up", "1s"];
    let data = ["--rows", "20000", "--customers", "1000", "--json"];
    let targets = ["run", "--target", &held, "--target", &free];
    home.dyno(&[&targets[..], load, &step, &data].concat()).expect(0).report()
}

fn finding<'a>(report: &'a Report, code: &str, about: &str) -> Option<&'a Value> {
    let findings = report.document()["findings"].as_array().unwrap();
    findings.iter().find(|finding| {
        finding["code"] == code && finding["about"].as_str().is_some_and(|it| it.starts_with(about))
    })
}

#[test]
fn a_quota_of_processors_on_one_side_is_named_there_and_only_there() {
    let Some(cap) = Cap::processors(0.2) else { return };
    let (Some(held), Some(free)) = (Postgres::start(&Setup::default()), Postgres::start(&Setup::default()))
    else {
        return;
    };
    let report = ramp(&cap, &held, &free, &["events/join", "--ramp", "1..32x2"]);
    let (_, resources) = saturation(&report, "held").expect("the held server gives way");
    assert_eq!(resources.first().map(String::as_str), Some("cpu-quota"), "{resources:?}");
    let found = finding(&report, "saturated", "held").unwrap();
    assert!(found["evidence"].as_str().unwrap().contains("0.2"), "{found:#}");
    if let Some((_, resources)) = saturation(&report, "free") {
        assert!(!resources.iter().any(|resource| resource == "cpu-quota"), "{resources:?}");
    }
    // What the server used is what it was allowed.
    let of_held = report.stages().iter().rfind(|stage| stage["target"] == "held").unwrap();
    let cores = of_held["resources"]["server_cpu_cores"].as_f64().unwrap();
    assert!((0.1..0.3).contains(&cores), "{cores}");
}

#[test]
fn a_slow_disk_on_one_side_is_named_there_and_only_there() {
    let durable = || Postgres::start(&Setup::default().with("fsync=on"));
    let (Some(held), Some(free)) = (durable(), durable()) else { return };
    let Some(cap) = Cap::disk_writes(60, held.directory()) else { return };
    // Without a pool, commits that wait for the disk together are written together, and more clients do bring more.
    let load = ["events/ingest", "--ramp", "1..32x2", "--connections", "4"];
    let report = ramp(&cap, &held, &free, &load);
    let for_disk = |resource: &String| ["disk", "log"].contains(&resource.as_str());
    let (_, resources) = saturation(&report, "held").expect("the held server gives way");
    assert!(resources.first().is_some_and(for_disk), "{resources:?}");
    let tps = |target: &str| {
        let stages = report.stages().iter().filter(|stage| stage["target"] == target);
        stages.filter_map(|stage| stage["throughput"]["mean"].as_f64()).fold(0.0, f64::max)
    };
    assert!(tps("held") < tps("free"), "{} {}", tps("held"), tps("free"));
    assert!(finding(&report, "saturated", "held").is_some());
}
