//! A limit planted on one of two servers, which the ramp must find and name, and must not find on the other.

use dyno_test_servers::{Cap, Postgres, Setup, in_some_attempt};
use serde_json::Value;

use crate::home::Home;
use crate::report::Report;
use crate::server::url;

/// A resource that was at its bound, and the evidence for it.
#[derive(Debug)]
struct Limit {
    resource: String,
    evidence: String,
}

/// What was at its bound where a target gave way; `None` where it did not.
fn limits(report: &Report, target: &str) -> Option<Vec<Limit>> {
    let series = report.series().iter().find(|series| series["target"] == target).unwrap();
    let limits = series["saturation"].as_object()?["limits"].as_array().unwrap().iter();
    let text = |limit: &Value, key: &str| limit[key].as_str().unwrap().to_owned();
    Some(limits.map(|it| Limit { resource: text(it, "resource"), evidence: text(it, "evidence") }).collect())
}

/// The first one that is the server's: whatever else runs on this machine may fill its processors and its memory.
fn first_of_server(limits: &[Limit]) -> Option<&Limit> {
    limits.iter().find(|limit| !["cpu", "memory"].contains(&limit.resource.as_str()))
}

/// Runs a load on both servers, one of which the cap holds.
fn ramp(cap: &Cap, held: &Postgres, free: &Postgres, load: &[&str]) -> Report {
    cap.hold(held.pid());
    let home = Home::new();
    let (held, free) = (format!("held={}", url(held, "postgres")), format!("free={}", url(free, "postgres")));
    // Of shorter steps nobody knows how much throughput varied within them, and more of them are needed.
    let step = ["--step", "3s", "--to-the-end", "--warm-up", "1s"];
    let data = ["--rows", "20000", "--customers", "1000", "--prepare", "--json"];
    let targets = ["run", "--target", &held, "--target", &free];
    home.dyno(&[&targets[..], load, &step, &data].concat()).expect(0).report()
}

/// Each step of a target, for the message of a test that fails.
fn steps(report: &Report, target: &str) -> String {
    let stages = report.stages().iter().filter(|stage| stage["target"] == target);
    let step = |stage: &Value| {
        let [clients, mean, taken] =
            [&stage["clients"], &stage["throughput"]["mean"], &stage["cpu_taken_share"]];
        format!("{clients} clients: {mean}/s, taken {taken}, idle {}\n", stage["resources"]["cpu_idle_share"])
    };
    stages.map(step).collect()
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
    let roomy = || Postgres::start(&Setup::default().with("max_connections=100"));
    let (Some(held), Some(free)) = (roomy(), roomy()) else { return };
    // What else the machine does may hide any limit for a while.
    in_some_attempt("a quota on one side", || {
        let report = ramp(&cap, &held, &free, &["events/join", "--ramp", "1..32x2"]);
        let Some(found_held) = limits(&report, "held") else {
            panic!("never gave way:\n{}", steps(&report, "held"))
        };
        let planted = |limit: &Limit| {
            limit.resource == "cpu-quota" && limit.evidence.contains("control group may use 0.2")
        };
        assert!(first_of_server(&found_held).is_some_and(planted), "{found_held:?}");
        let found = finding(&report, "saturated", "held").unwrap();
        assert!(found["evidence"].as_str().unwrap().contains("0.2"), "{found:#}");
        if let Some(found_free) = limits(&report, "free") {
            assert!(!found_free.iter().any(planted), "{found_free:?}");
        }
        // What the server used is what it was allowed.
        let of_held = report.stages().iter().rfind(|stage| stage["target"] == "held").unwrap();
        let cores = of_held["resources"]["server_cpu_cores"].as_f64().unwrap();
        assert!((0.1..0.3).contains(&cores), "{cores}");
    });
}

#[test]
fn a_slow_disk_on_one_side_is_named_there_and_only_there() {
    let durable = || Postgres::start(&Setup::default().with("fsync=on"));
    let (Some(held), Some(free)) = (durable(), durable()) else { return };
    let Some(cap) = Cap::disk_writes(60, held.directory()) else { return };
    // What else the machine does may hide any limit for a while.
    in_some_attempt("a slow disk on one side", || {
        // Without a pool, commits that wait for the disk together are written together, and more clients do bring more.
        let load = ["events/ingest", "--ramp", "1..64x2", "--connections", "4"];
        let report = ramp(&cap, &held, &free, &load);
        let Some(found_held) = limits(&report, "held") else {
            panic!("never gave way:\n{}", steps(&report, "held"))
        };
        let for_disk = |limit: &Limit| ["disk", "log"].contains(&limit.resource.as_str());
        assert!(first_of_server(&found_held).is_some_and(for_disk), "{found_held:?}");
        // A disk that is slow by itself may be the bound of both, but the group's is that of one.
        let planted = |limit: &Limit| limit.evidence.contains("control group may write 60");
        if let Some(found_free) = limits(&report, "free") {
            assert!(!found_free.iter().any(planted), "{found_free:?}");
        }
        // A write makes durable what the four connections commit together at most.
        let tps = report.stages().iter().filter(|stage| stage["target"] == "held");
        let most = tps.filter_map(|stage| stage["throughput"]["mean"].as_f64()).fold(0.0, f64::max);
        assert!(most > 0.0 && most <= 1.5 * 4.0 * 60.0, "{most} transactions per second");
        assert!(finding(&report, "saturated", "held").is_some());
    });
}
