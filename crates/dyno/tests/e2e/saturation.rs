//! A limit planted on one of two servers, which the ramp must find and name, and must not find on the other.

use dyno_test_servers::{Cap, Postgres, Setup};
use serde_json::Value;

use crate::home::Home;
use crate::report::Report;
use crate::server::{database, first_do, shared, url};

/// A resource that was at its bound, and the evidence for it.
#[derive(Debug)]
struct Limit {
    resource: String,
    evidence: String,
}

/// A share of a processor. The group that has it goes before all others on the machine, so that it gets that much.
const QUOTA: f64 = 0.1;
/// Writes to the disk each second, far fewer than any disk can do: what a commit takes beside one counts for little.
const WRITES: u32 = 50;

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

/// Runs a load on both servers, one of which the cap holds. At the same time: then nobody can tell whether other programs
/// took the processors in a step, which would leave it out of what a ramp is judged by. The cap binds whatever they do. The
/// load begins with its workload.
fn ramp(cap: &Cap, held: &Postgres, free: &Postgres, load: &[&str]) -> Report {
    let home = Home::new();
    let targets = [format!("held={}", url(held, "postgres")), format!("free={}", url(free, "postgres"))];
    let targets = ["run", load[0], "--target", &targets[0], "--target", &targets[1], "--json"];
    // The data are made before, without the cap.
    let data =
        ["--rows", "2000", "--customers", "100", "--warm-up", "0", "--clients", "1", "--transactions", "1"];
    home.dyno(&[&targets[..], &data].concat()).expect(0);
    cap.hold(held.pid());
    let course = ["--together", "--to-the-end", "--warm-up", "1s"];
    home.dyno(&[&targets[..], &load[1..], &course].concat()).expect(0).report()
}

fn stages_of<'a>(report: &'a Report, target: &str) -> impl Iterator<Item = &'a Value> {
    report.stages().iter().filter(move |stage| stage["target"] == target)
}

/// Transactions per second of a target's best step.
fn best(report: &Report, target: &str) -> f64 {
    let steps = stages_of(report, target).filter(|stage| stage["kind"] == "ladder");
    steps.filter_map(|stage| stage["throughput"]["mean"].as_f64()).fold(0.0, f64::max)
}

/// Each step of a target, for the message of a test that fails.
fn steps(report: &Report, target: &str) -> String {
    let step = |stage: &Value| {
        let [clients, mean, p99] =
            [&stage["clients"], &stage["throughput"]["mean"], &stage["service"]["p99_us"]];
        format!("{clients} clients: {mean}/s, p99 {p99}, idle {}\n", stage["resources"]["cpu_idle_share"])
    };
    stages_of(report, target).map(step).collect()
}

fn finding<'a>(report: &'a Report, about: &str) -> Option<&'a Value> {
    let findings = report.document()["findings"].as_array().unwrap();
    findings.iter().find(|finding| {
        finding["code"] == "saturated" && finding["about"].as_str().is_some_and(|it| it.starts_with(about))
    })
}

/// `held` gave way to what was planted, and `free`, whatever it did, did not.
#[track_caller]
fn assert_only_held(report: &Report, is_planted: impl Fn(&Limit) -> bool, words: &str) {
    let Some(of_held) = limits(report, "held") else { panic!("never gave way:\n{}", steps(report, "held")) };
    assert!(first_of_server(&of_held).is_some_and(is_planted), "{of_held:?}\n{}", steps(report, "held"));
    let found = finding(report, "held").unwrap_or_else(|| panic!("no finding: {of_held:?}"));
    assert!(found["evidence"].as_str().unwrap().contains("held is saturated"), "{found:#}");
    // Without a cap it may come to an end of another kind, which is said as well, or to none.
    let of_free = limits(report, "free");
    assert_eq!(finding(report, "free").is_some(), of_free.is_some(), "{of_free:?}");
    assert!(!of_free.iter().flatten().any(|limit| limit.evidence.contains(words)), "{of_free:?}");
    let (held, free) = (best(report, "held"), best(report, "free"));
    assert!(held > 0.0 && free > held, "{held} and {free} transactions per second");
}

#[test]
#[ignore = "slow: planted limits"]
fn a_quota_of_processors_on_one_side_is_named_there_and_only_there() {
    let Some(cap) = Cap::processors(QUOTA) else { return };
    let roomy = || Postgres::start(&Setup::default().with("max_connections=100"));
    let (Some(held), Some(free)) = (roomy(), roomy()) else { return };
    // A statement takes some milliseconds of a processor: so few of them are done that dyno can ask for more on any machine.
    let work = first_do("perform count(*) from generate_series(1, 20000)");
    // Three seconds of some thirty transactions each say too little of how much throughput varies, where others take the
    // processors as well.
    let load = ["events/join", "--ramp", "1..32x2", "--step", "6s", "--before", "join", &work];
    let report = ramp(&cap, &held, &free, &load);
    let words = format!("control group may use {QUOTA}");
    let is_planted = |limit: &Limit| limit.resource == "cpu-quota" && limit.evidence.contains(&words);
    assert_only_held(&report, is_planted, "control group may use");
    // What the server used is what it was allowed. In one step of a busy machine it may have been read late.
    let of_held = stages_of(&report, "held").filter_map(|it| it["resources"]["server_cpu_cores"].as_f64());
    let mut cores: Vec<f64> = of_held.collect();
    cores.sort_by(f64::total_cmp);
    assert!((0.5 * QUOTA..1.5 * QUOTA).contains(&cores[cores.len() / 2]), "{cores:?}");
}

/// Of its host nothing is read, so that no step is left out because other programs took the processors in it.
#[test]
#[ignore = "slow: planted limits"]
fn a_pool_of_connections_is_found_to_be_the_limit() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "planted_pool");
    // A statement waits for so long that what it takes of the processors counts for little, and not all for as long: else
    // all ended at the same time, and a step had one round of them more than another.
    let hooks = ["--before", "join", &first_do("perform pg_sleep(0.2 + 0.4 * random())")];
    let ramp = ["--ramp", "10..5120x2", "--step", "4s", "--hold", "500ms", "--connections", "20"];
    let run = ["run", "events/join", "--target", &target, "--no-telemetry", "--warm-up", "0", "--json"];
    let data = ["--rows", "2000", "--customers", "100"];
    let report = home.dyno(&[&run[..], &data, &ramp, &hooks].concat()).expect(0).report();
    report.assert_checks_passed();
    let found = limits(&report, "pg").unwrap_or_else(|| panic!("never gave way:\n{}", steps(&report, "pg")));
    let is_planted =
        |limit: &Limit| limit.resource == "connections" && limit.evidence.contains("20 connections");
    assert!(found.iter().any(is_planted), "{found:?}");
    assert!(report.notices().contains("the target is saturated: "), "{}", report.notices());
    let stages: Vec<&Value> = stages_of(&report, "pg").collect();
    let (hold, rungs) = stages.split_last().unwrap();
    for (rung, clients) in rungs.iter().zip((0..).map(|step| 10_u64 << step)) {
        assert_eq!((&rung["kind"], &rung["clients"]), (&"ladder".into(), &clients.into()));
        assert_eq!(rung["pool"]["connections"], clients.min(20));
    }
    // More clients only wait longer for a connection.
    let p99 = |rung: &Value| rung["wait"]["p99_us"].as_f64().unwrap();
    assert!(p99(rungs.last().unwrap()) > p99(rungs[0]), "{}", steps(&report, "pg"));
    // Not the first step: twice as many clients have a connection each, and bring twice as much.
    let last_good = rungs.iter().find(|rung| rung["id"] == report.series()[0]["saturation"]["last_good"]);
    let last_good = last_good.unwrap_or_else(|| panic!("no step was good:\n{}", steps(&report, "pg")));
    assert_eq!((&hold["kind"], &hold["clients"]), (&"hold".into(), &last_good["clients"]));
}

#[test]
#[ignore = "slow: planted limits"]
fn a_slow_disk_on_one_side_is_named_there_and_only_there() {
    let durable = || Postgres::start(&Setup::default().with("fsync=on"));
    let (Some(held), Some(free)) = (durable(), durable()) else { return };
    let Some(cap) = Cap::disk_writes(WRITES, held.directory()) else { return };
    // Connections that wait for the disk together write some of their commits together, in one step more of them than in
    // another. One connection writes each commit by itself.
    let load = ["events/ingest", "--ramp", "1..256x2", "--step", "4s", "--connections", "1"];
    let report = ramp(&cap, &held, &free, &load);
    let for_disk = |limit: &Limit| ["disk", "log"].contains(&limit.resource.as_str());
    let words = format!("control group may write {WRITES}");
    // A disk that is slow by itself may be the bound of both, but the group's is that of one.
    assert_only_held(&report, for_disk, &words);
    let named = limits(&report, "held").unwrap();
    assert!(named.iter().any(|limit| limit.evidence.contains(&words)), "{named:?}");
    // A commit takes one write at least.
    let most = best(&report, "held");
    assert!(most <= 1.5 * f64::from(WRITES), "{most} transactions per second");
}
