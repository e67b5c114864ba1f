//! Queries that are to stop: at the user's wish they do so on the server too, and beyond their limit dyno does not wait for a
//! server that does not obey. What hangs is ended by the test's own timeout.

use dyno_test_servers::MysqlProduct;
use rustix::process::Signal;

use crate::home::{Home, wait_until};
use crate::victim::{Victim, on_each};

on_each! {
    a_query_that_the_user_stops_ends_on_the_server
    a_query_beyond_its_limit_that_does_not_stop_loses_its_connection
}

/// The words of a run of the endless query, once, and of nothing else.
fn run_of<'a>(home: &Home, victim: &Victim, target: &'a str) -> [&'a str; 10] {
    std::fs::create_dir(home.path("queries")).unwrap();
    home.file("queries/endless.sql", victim.endless_query());
    ["run", "./queries/", "--target", target, "--repeat", "1", "--warm-up", "0s", "--plans", "none"]
}

fn a_query_that_the_user_stops_ends_on_the_server(product: Option<MysqlProduct>) {
    let Some(victim) = Victim::start(product) else { return };
    let home = Home::new();
    let run = run_of(&home, &victim, &victim.target);
    for signal in [Signal::INT, Signal::TERM] {
        let running = home.start(&run);
        wait_until("the query runs", || victim.runs_endless_query());
        running.signal(signal);
        let ended = running.end().expect(2);
        ended.says(&["interrupted"]);
        for wrong in ["could not be cancelled", "time limit"] {
            assert!(!ended.err.contains(wrong) && !ended.out.contains(wrong), "{}{}", ended.out, ended.err);
        }
        wait_until("the query ends", || !victim.runs_endless_query());
    }
}

#[test]
fn a_query_of_a_library_that_the_user_stops_has_not_ended_at_its_limit() {
    let home = Home::new();
    std::fs::create_dir(home.path("queries")).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    home.file("queries/endless.sql", endless);
    let target = format!("sqlite:{}", home.path("own.db").display());
    let mut running =
        home.start(&["run", "./queries/", "--target", &target, "--repeat", "1", "--warm-up", "0s"]);
    running.wait_for("its stage", |report| !report.stages().is_empty());
    running.signal(Signal::INT);
    running.end().expect(2).says(&["interrupted"]);
    let report = home.report();
    assert_eq!(report.stage()["complete"], false, "{:#}", report.stage());
    assert!(
        !report.document()["findings"].to_string().contains("time limit"),
        "{}",
        report.document()["findings"]
    );
}

fn a_query_beyond_its_limit_that_does_not_stop_loses_its_connection(product: Option<MysqlProduct>) {
    let Some(victim) = Victim::start(product) else { return };
    let home = Home::new();
    let target = victim.target_with(1);
    let running = home.start(&[&run_of(&home, &victim, &target)[..], &["--time-limit", "2s"]].concat());
    wait_until("the query runs", || victim.runs_endless_query());
    let _stopped = victim.stop_endless_query();
    // Only a limit ends it. Where sessions have processes the others go on, and the pass is complete.
    let code = if product.is_some() { 2 } else { 1 };
    running.end().expect(code).says(&["did not cancel a statement"]);
}

/// One that crashes takes dyno with it: then this is all that is said.
#[test]
fn a_library_is_named_before_it_is_loaded() {
    let home = Home::new();
    home.file("libnone.so", "no library");
    let library = home.path("libnone.so").display().to_string();
    let ended = home.dyno(&["run", "tpch", "--target", &format!("duckdb:d.duckdb?driver={library}")]);
    let at = |words: &str| ended.err.find(words).unwrap_or_else(|| panic!("{words}: {}", ended.err));
    assert!(at(&format!("loading {library} for ")) < at("could not be loaded"), "{}", ended.err);
}
