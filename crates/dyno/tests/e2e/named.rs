//! `dyno run --target`: every kind of load on a PostgreSQL that the user names.

use dyno_test_servers::{Postgres, Setup};
use serde_json::Value;

use crate::home::Home;
use crate::report::Report;
use crate::server::{client, database, prefixed, shared, url, value, wait_until_alone};

/// Runs on a database of its own name, with the least data.
fn run(database_name: &str, arguments: &[&str]) -> Option<Report> {
    let server = shared()?;
    database(&server, database_name);
    Some(run_on(&server, database_name, arguments))
}

/// Runs on a database that is there.
fn run_on(server: &Postgres, database_name: &str, arguments: &[&str]) -> Report {
    let home = Home::new();
    let target = url(server, database_name);
    let fixed = ["run", "--json", "--scale", "1", "--warm-up", "200ms", "--target", &target];
    let report = home.dyno(&[&fixed, arguments].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    // Who reads does not look at the history; who writes has it emptied first.
    let rows = value(server, database_name, "select count(*) from pgbench_history");
    assert_eq!(
        rows.parse::<u64>().unwrap(),
        report.total_of_writes("done_with_drain"),
        "commits acknowledged"
    );
    report.assert_checks_passed();
    report
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn a_ladder_climbs_what_it_was_told_and_holds_the_peak() {
    let Some(report) = run("ladder", &["--clients", "1,2", "--step", "300ms", "--hold", "300ms"]) else {
        return;
    };
    let [read, write] = report.series() else { panic!("reads and writes") };
    for series in [read, write] {
        assert_eq!(series["ladder"].as_array().unwrap().len(), 2);
    }
    let held = |series: &Value| format!("hold {}", series["peak"]["clients"]);
    let steps = ["warm-up 2", "ladder 1", "ladder 2"].map(str::to_owned);
    let expected = [&steps[..], &[held(read)], &steps[..], &[held(write)]].concat();
    assert_eq!(report.stage_names(), expected);
    assert_eq!(report.document()["data"][0]["scale"], 1.0);
    assert_eq!(report.document()["targets"][0]["embedded"], Value::Null);
    for stage in report.stages() {
        assert_eq!((&stage["arrival"], &stage["think_time_ms"]), (&"closed".into(), &0.0.into()));
        assert_eq!(stage["response"], Value::Null, "a closed loop has no schedule");
    }
}

#[test]
fn a_ladder_of_dynos_own_does_not_climb_into_contention() {
    // Clients that pause do not come to a peak by themselves: each does one transaction in a step, and has half a second
    // for it.
    let pausing = ["--workload", "tpcb/tpcb-like", "--think-time", "500ms", "--step", "1s", "--hold", "1s"];
    let Some(report) = run("uncontended", &pausing) else { return };
    let cpus = std::thread::available_parallelism().unwrap().get();
    let rungs: Vec<_> = report.stage_names().into_iter().filter(|name| name.starts_with("ladder")).collect();
    assert_eq!(rungs.last(), Some(&format!("ladder {}", 2 * cpus)));
    assert!(report.notices().contains(&format!("ends at {} clients", 2 * cpus)), "{}", report.notices());
}

#[test]
fn a_stage_says_how_its_threads_waited_and_why_not_as_was_asked() {
    let load = ["--workload", "tpcb/tpcb-like", "--clients", "3", "--duration", "300ms", "--poller", "uring"];
    let Some(report) = run("over_io_uring", &load) else { return };
    let refused = report.notices().contains("io_uring cannot be used, and the load threads use epoll: ");
    assert_eq!(report.stage()["poller"], if refused { "epoll" } else { "uring" }, "{}", report.notices());
    assert_eq!(report.document()["run"]["spec"]["poller"], "uring");
}

#[test]
fn an_open_loop_has_a_schedule_and_keeps_it() {
    let rate = ["--workload", "tpcb/select-only", "--clients", "2", "--rate", "200/s", "--duration", "2s"];
    let Some(report) = run("open_loop", &[&rate[..], &["--arrivals", "constant"]].concat()) else { return };
    let stage = report.stage();
    assert_eq!((&stage["arrival"], &stage["distribution"]), (&"open".into(), &"constant".into()));
    assert_eq!((&stage["rate_per_s"], &stage["kind"]), (&200.0.into(), &"hold".into()));
    // Every arrival was done, or was due and could not be begun before the end.
    let told = number(&stage["totals"]["done_with_drain"]) + number(&stage["not_begun"]);
    assert!((399..=401).contains(&told), "200/s for 2 s, constant: {told}");
    assert_eq!(stage["response"]["count"], stage["lag"]["count"]);
    assert!(stage["response"]["max_us"].as_f64() >= stage["service"]["max_us"].as_f64());
}

#[test]
fn a_count_of_transactions_is_done_exactly() {
    let Some(server) = shared() else { return };
    database(&server, "count");
    for protocol in ["simple", "extended", "prepared"] {
        let counted = ["--workload", "tpcb/tpcb-like", "--clients", "3", "--transactions", "50"];
        let report = run_on(&server, "count", &[&counted[..], &["--protocol", protocol]].concat());
        let stage = report.stage();
        assert_eq!(stage["protocol"], protocol);
        assert_eq!((number(&stage["planned_transactions"]), &stage["planned_s"]), (150, &Value::Null));
        assert_eq!(number(&stage["totals"]["done_with_drain"]), 150);
    }
}

#[test]
fn a_check_that_nobody_wants_is_told_as_not_made() {
    let Some(server) = shared() else { return };
    let target = database(&server, "unverified");
    let home = Home::new();
    let brief = ["--clients", "2", "--transactions", "20", "--warm-up", "0", "--scale", "1", "--no-verify"];
    let arguments = [&["run", "--json", "--target", &target], &brief[..]].concat();
    let report = home.dyno(&arguments).expect(0).report();
    // Of the two series only the second writes.
    let [check] = report.checks() else { panic!("{:?}", report.checks()) };
    assert_eq!((&check["passed"], &check["workload"]), (&Value::Null, &"tpcb/tpcb-like".into()));
    assert!(report.findings().contains(&"data-check-not-made"), "{:?}", report.findings());
}

#[test]
fn as_many_clients_as_fit_are_had_by_every_series() {
    let Some(server) = Postgres::start(&Setup::default().with("max_connections=12")) else { return };
    let home = Home::new();
    let brief = ["--scale", "1", "--warm-up", "0", "--step", "200ms", "--hold", "200ms", "--json"];
    let target = url(&server, "postgres");
    let arguments = [&["run", "--target", &target], &brief[..]].concat();
    let refused = home.dyno(&[&arguments[..], &["--clients", "50"]].concat()).expect(1);
    let most = refused.err.split("at most ").nth(1).unwrap().split(')').next().unwrap().to_owned();
    // The server is not at once done with sessions that have ended.
    wait_until_alone(&server);
    let report = home.dyno(&[&arguments[..], &["--clients", &most]].concat()).expect(0).report();
    assert_eq!(report.series().len(), 2);
}

#[test]
fn the_arrivals_of_a_scenarios_rate_can_be_typed() {
    let Some(server) = shared() else { return };
    let target = database(&server, "arrivals");
    let home = Home::new();
    let scenario = home.file("mine.toml", "version = 1\n[[phases]]\n[[phases.streams]]\nworkload = 'tpcb/select-only'\nload = { rate = '50/s', transactions = 5 }\n");
    let typed =
        ["--arrivals", "constant", "--duration", "1s", "--warm-up", "0", "--scale", "1", "--clients", "1"];
    let arguments = [&["run", &scenario, "--json", "--target", &target], &typed[..]].concat();
    let report = home.dyno(&arguments).expect(0).report();
    assert_eq!(report.stage()["distribution"], "constant");
    assert_eq!(report.stage()["planned_s"], 1.0, "a typed duration sets a count aside");
}

#[test]
fn a_ramp_adds_clients_and_loses_none() {
    let ramp = ["--workload", "tpcb/simple-update", "--clients", "1..4", "--duration", "3s"];
    let Some(report) = run("ramp", &ramp) else { return };
    let stage = report.stage();
    assert_eq!(
        (&stage["kind"], &stage["clients"], &stage["clients_end"]),
        (&"ramp".into(), &1.into(), &4.into())
    );
    let load = &report.document()["timelines"][0]["load"];
    let (stages, clients) = (load["stage"].as_array().unwrap(), load["clients"].as_array().unwrap());
    let during = stages.iter().zip(clients).filter(|(id, _)| **id == stage["id"]).map(|(_, n)| number(n));
    let during: Vec<u64> = during.collect();
    assert!(during.is_sorted() && during.iter().all(|clients| (1..=4).contains(clients)), "{during:?}");
    assert!(during.last() > during.first(), "{during:?}");
}

#[test]
fn data_that_is_there_is_used_and_its_scale_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "used_again");
    let _ = client(&server, "pgbench", "used_again", &["-i", "-q", "-s", "2"]);
    let note =
        "insert into pgbench_history (tid, bid, aid, delta) select 1, 1, 1, 0 from generate_series(1, 1234)";
    let _ = value(&server, "used_again", note);
    let home = Home::new();
    let brief = ["--workload", "tpcb/tpcb-like", "--clients", "2", "--transactions", "20", "--warm-up", "0"];
    let report =
        home.dyno(&[&["run", "--json", "--target", &target], &brief[..]].concat()).expect(0).report();
    assert_eq!(report.document()["data"][0]["scale"], 2.0);
    assert_eq!(report.document()["prepare"].as_array().unwrap().len(), 0, "nothing was made");
    assert!(report.notices().contains("pgbench_history held 1,234 rows"), "{}", report.notices());
    report.assert_checks_passed();
}

#[test]
fn a_target_is_named_as_for_psql() {
    let Some(server) = shared() else { return };
    database(&server, "named");
    let home = Home::new();
    let brief = ["--workload", "tpcb/select-only", "--clients", "1", "--transactions", "5", "--warm-up", "0"];
    let ways = [
        format!(
            "host={} port={} user=postgres dbname={}",
            server.directory().display(),
            server.address.port(),
            prefixed("named")
        ),
        url(&server, "named"),
        format!("dbname={}", prefixed("named")),
    ];
    for way in &ways {
        let arguments = [&["run", "--scale=1", "--json", "--target", way], &brief[..]].concat();
        let mut command = home.command(&arguments);
        if way.starts_with("dbname=") {
            command.env("PGHOST", "127.0.0.1").env("PGPORT", server.address.port().to_string());
            command.env("PGUSER", "postgres");
        }
        crate::home::Ended::of(command, &arguments).expect(0);
    }
}

#[test]
fn a_scenario_file_says_the_same_as_flags() {
    let Some(server) = shared() else { return };
    let target = database(&server, "scenario");
    let home = Home::new();
    let scenario = home.file(
        "mine.toml",
        &format!(
            "version = 1\nseed = 42\n[[targets]]\nurl = '{target}'\n[[systems]]\ndata = {{ scale = 1 }}\n\
             [[phases]]\nwarm-up = 0\n[[phases.streams]]\nworkload = 'tpcb/simple-update'\n\
             load = {{ clients = 2, transactions = 10 }}\n"
        ),
    );
    let report = home.dyno(&["run", &scenario, "--json", "--transactions", "7"]).expect(0).report();
    assert_eq!(report.document()["run"]["seed"], 42);
    assert_eq!(report.total_of_writes("done_with_drain"), 14, "a flag goes before the file");
    // What was stored is run again, and is what `dyno plan` prints.
    let again = home.dyno(&["run", "--rerun", "last", "--json"]).expect(0).report();
    assert_eq!(again.document()["run"]["spec"], report.document()["run"]["spec"]);
    assert_eq!(again.total_of_writes("done_with_drain"), 14);
    let planned = home.dyno(&["plan", &scenario, "--transactions", "7"]).expect(0);
    // Beside it stands what such a run takes, by one that was stored.
    planned.says(&["duration", "7 transactions of each client", "disk", " as in run ", "memory"]);
    let written = home.file("written.toml", &planned.out);
    let json = home.dyno(&["plan", &written, "--json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json, report.document()["run"]["spec"]);
}
