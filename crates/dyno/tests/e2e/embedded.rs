//! `dyno run` without a target: on a PostgreSQL of dyno's own, of which nothing may stay however dyno ends.

use rustix::process::Signal;

use crate::home::{Home, Running};
use crate::processes::{lives, postmaster, wait_until_ended};
use crate::report::Report;
use crate::server::installed;

/// A load that lasts longer than any test.
const LONG: [&str; 11] = [
    "run",
    "--workload",
    "tpcb/tpcb-like",
    "--clients",
    "2",
    "--scale",
    "1",
    "--warm-up",
    "0",
    "--duration",
    "10m",
];

#[test]
fn a_quick_run_finds_both_peaks_and_leaves_nothing() {
    if !installed() {
        return;
    }
    let home = Home::new();
    // Shorter than a quick run is by itself: which peak it finds is nothing to this test.
    let short = ["--warm-up", "300ms", "--step", "300ms", "--hold", "2s"];
    let servers = home.servers();
    let quick = ["run", "--quick", "--json", "--data-dir", &servers];
    let ended = home.dyno(&[&quick[..], &short].concat()).expect(0);
    assert!(!ended.err.is_empty(), "with --json the progress is told beside the report");
    let report = ended.report();
    assert_eq!(report.outcome(), "complete");
    assert_eq!(report.series().len(), 2);
    for (series, workload) in report.series().iter().zip(["tpcb/select-only", "tpcb/tpcb-like"]) {
        assert_eq!(series["workload"], workload);
        assert!(series["peak"]["throughput"]["mean"].as_f64().unwrap() > 0.0);
        let [hold] = &series["holds"].as_array().unwrap()[..] else { panic!("one hold: {series:#}") };
        let hold = &report.stages()[usize::try_from(hold.as_u64().unwrap()).unwrap()];
        assert_eq!(hold["clients"], series["peak"]["clients"], "what is held is the peak");
        assert!(hold["service"]["p99_us"].as_f64() >= hold["service"]["p50_us"].as_f64());
    }
    report.assert_checks_passed();
    for code in ["shared-host", "durable"] {
        assert!(report.findings().contains(&code), "{code} in {:?}", report.findings());
    }
    let target = &report.document()["targets"][0];
    assert_eq!(target["product"], "PostgreSQL");
    assert_eq!(target["embedded"]["profile"], "production");

    assert!(home.server_directories().is_empty(), "{:?}", home.server_directories());
    assert_eq!(report.document(), home.report().document(), "what is stored is what was printed");
    written_page(&home, &report);
}

/// The page beside the store; a copy is left for the page's own tests.
fn written_page(home: &Home, report: &Report) {
    if !cfg!(feature = "page") {
        return;
    }
    let page = home.store().with_file_name("runs").join(report.name()).join("report.html");
    let html = std::fs::read(&page).unwrap();
    assert!(html.len() < 400_000, "{} bytes", html.len());
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/e2e-report.html"), html).unwrap();
}

#[test]
fn the_usual_place_is_left_clean_too() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let mut running = home.start(&[&LONG[..], &["--json"]].concat());
    wait_for_load(&mut running);
    let ours = format!("dyno-{}-", running.pid());
    let left = || {
        let entries = std::fs::read_dir("/var/tmp").unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with(&ours)).count()
    };
    assert_eq!(left(), 1);
    running.signal(Signal::TERM);
    running.end().expect(2);
    assert_eq!(left(), 0);
}

#[test]
fn an_interrupted_run_is_kept_and_leaves_no_server() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let (running, seen, server) = start_long(&home);
    running.signal(Signal::INT);
    let ended = running.end().expect(2);
    ended.says(&["interrupted"]);
    assert!(ended.out.contains("incomplete"), "what was measured is shown: {}", ended.out);
    assert!(!lives(server) && home.server_directories().is_empty());

    let report = home.report();
    assert_eq!((report.outcome(), report.reason()), ("incomplete", "interrupted"));
    assert!(report.intervals().len() >= seen.intervals().len());
    assert_eq!(report.stage()["complete"], false);
    assert!(report.stage()["throughput"]["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_closed_terminal_interrupts_too_and_the_check_is_told_as_not_made() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let (running, _, server) = start_long(&home);
    running.signal(Signal::HUP);
    running.end().expect(2).says(&["interrupted"]);
    assert!(!lives(server) && home.server_directories().is_empty());
    let report = home.report();
    assert!(report.findings().contains(&"data-check-not-made"), "{:?}", report.findings());
}

#[test]
fn a_killed_run_is_stored_up_to_its_last_second_and_swept_by_the_next() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let (running, seen, server) = start_long(&home);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    wait_until_ended(server);

    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    let (stored, seen) = (report.intervals(), seen.intervals());
    assert_eq!(stored[..seen.len()], seen, "what was stored once stays");
    assert!(report.stage()["throughput"]["mean"].as_f64().unwrap() > 0.0);
    let listed = home.dyno(&["runs", "--json"]).expect(0).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    let shown = home.dyno(&["report"]).expect(0);
    assert!(shown.out.contains("incomplete"), "{}", shown.out);

    assert_eq!(home.server_directories().len(), 1, "nobody was left to remove it");
    let brief = ["--workload", "tpcb/select-only", "--clients", "1", "--transactions", "10"];
    let place = home.servers();
    home.dyno(&[&["run", "--scale", "1", "--warm-up", "0", "--data-dir", &place], &brief[..]].concat())
        .expect(0);
    assert!(home.server_directories().is_empty(), "{:?}", home.server_directories());
}

/// A run under load: with what is stored of it by now, and its server's main process.
fn start_long(home: &Home) -> (Running<'_>, Report, u32) {
    let mut running = home.start(&[&LONG[..], &["--data-dir", &home.servers()]].concat());
    let seen = wait_for_load(&mut running);
    let server = server_of(home);
    (running, seen, server)
}

fn wait_for_load(running: &mut Running<'_>) -> Report {
    running.wait_for("three intervals of the load", |report| {
        let last = report.stages().last().is_some_and(|stage| stage["kind"] == "hold");
        let measured = || &report.stage()["throughput"];
        last && measured()["samples"].as_u64() >= Some(3) && measured()["mean"].as_f64() > Some(0.0)
    })
}

/// The main process of the only server of a home.
fn server_of(home: &Home) -> u32 {
    let directories = home.server_directories();
    let [directory] = &directories[..] else { panic!("one server: {directories:?}") };
    let server = postmaster(directory);
    assert!(lives(server));
    server
}
