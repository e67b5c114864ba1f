//! Load that goes up in steps, clients that share connections, and a target that gives way.

use crate::home::Home;
use crate::report::Report;
use crate::server::{database, first_do, prefixed, shared};

const BRIEF: [&str; 9] =
    ["run", "events/join", "--json", "--warm-up", "0", "--rows", "2000", "--customers", "100"];

/// Runs on a database of its own name.
fn run(database_name: &str, arguments: &[&str]) -> Option<Report> {
    let server = shared()?;
    let target = database(&server, database_name);
    let home = Home::new();
    let report = home.dyno(&[&BRIEF[..], &["--target", &target], arguments].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    report.assert_checks_passed();
    Some(report)
}

#[test]
fn a_ramp_ends_where_the_target_gives_way_and_holds_what_was_good() {
    let no_room_for_three = "perform pg_sleep(0.02); \
                             if (select count(*) from pg_stat_activity where datname = current_database() \
                             and state = 'active' and query like 'SELECT c.name%') > 2 \
                             then raise 'no room'; end if";
    let hooks = ["--before", "join", &first_do(no_room_for_three)];
    // Nothing is read of the host: its last reading comes behind a step, when the ramp has gone on.
    let ramp = ["--ramp", "1..32x2", "--step", "500ms", "--hold", "500ms", "--no-telemetry"];
    let Some(report) = run("ramp_gives_way", &[&ramp[..], &hooks].concat()) else { return };
    let (hold, rungs) = report.stages().split_last().unwrap();
    // Steps beyond the first one with errors show the same, and 32 clients are not needed to see it.
    assert_eq!(rungs.len(), 5, "{:?}", report.stage_names());
    for (rung, clients) in rungs.iter().zip((0..).map(|step| 1_u64 << step)) {
        assert_eq!((&rung["kind"], &rung["clients"]), (&"ladder".into(), &clients.into()));
    }
    let [series] = report.series() else { panic!("one series") };
    let saturation = &series["saturation"];
    assert_eq!(
        (&saturation["stage"], &saturation["last_good"]),
        (&rungs[2]["id"], &rungs[1]["id"]),
        "{series:#}"
    );
    let evidence = saturation["evidence"].as_str().unwrap();
    assert!(evidence.contains("from 4 clients on transactions failed"), "{evidence}");
    assert_eq!(
        (&hold["kind"], &hold["clients"]),
        (&"hold".into(), &2.into()),
        "held where it was still good"
    );
    assert!(report.notices().contains("the target is saturated: "), "{}", report.notices());
}

#[test]
fn clients_behind_one_connection_wait_for_it() {
    let slow = first_do("perform pg_sleep(0.02)");
    let load = ["--clients", "16", "--transactions", "3", "--connections", "1", "--before", "join", &slow];
    let Some(report) = run("behind_one", &load) else { return };
    let stage = report.stage();
    assert_eq!((&stage["pool"]["connections"], &stage["totals"]["done"]), (&1.into(), &48.into()));
    // Each waits until all others had their turn, but for the first time. What is told of times is rounded.
    let [turn, waited] = ["service", "wait"].map(|of| stage[of]["p50_us"].as_f64().unwrap() / 20e3);
    assert!(turn > 0.9 && waited > 0.9 * 15.0, "{turn} {waited}");
}

#[test]
fn a_ramp_of_the_rate_offers_what_it_says() {
    let steps = ["--ramp", "50/s..150/s", "--step", "500ms", "--arrivals", "constant", "--to-the-end"];
    let Some(report) = run("ramp_rate", &[&steps[..], &["--clients", "4"]].concat()) else { return };
    let rates: Vec<f64> = report.stages().iter().filter_map(|stage| stage["rate_per_s"].as_f64()).collect();
    assert_eq!(rates, [50.0, 100.0, 150.0]);
    assert!(report.stages().iter().all(|stage| stage["kind"] == "ladder" && stage["clients"] == 4));
}

#[test]
fn many_clients_need_no_more_connections_than_they_share() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let run = |limit: u32| {
        let name = prefixed(&format!("pooled_{limit}"));
        server.psql(&format!("create role {name} login connection limit {limit}"));
        server.psql(&format!("create database {name} owner {name}"));
        let target = format!("postgres://{name}@{}/{name}", server.address);
        let pooled = ["--clients", "500", "--connections", "3", "--think-time", "100ms", "--duration", "1s"];
        home.dyno(&[&BRIEF[..], &["--target", &target], &pooled].concat())
    };
    // Those that are shared, and dyno's own three: the server lets nobody have more.
    let report = run(3 + 3).expect(0).report();
    let stage = report.stage();
    assert_eq!(stage["errors"], serde_json::json!({}), "{stage:#}");
    assert_eq!((&stage["clients"], &stage["connections"]), (&500.into(), &3.into()));
    assert!(stage["response"]["count"].as_u64() > Some(0));
    run(3 + 2).expect(1).says(&["share", "--connections"]);
}

#[test]
fn more_connections_than_clients_are_told_and_a_scenario_says_the_same() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ramp_scenario");
    let home = Home::new();
    let text = format!(
        "version = 1\n[[targets]]\nname = 'db'\nurl = '{target}'\n[[systems]]\ndata = {{ rows = '2k', customers = 100 }}\n\
         [[hooks]]\nwhen = 'before'\nstage = 'db:join'\naction = 'echo hello'\n[[phases]]\nwarm-up = 0\n\
         [[phases.streams]]\nworkload = 'events/join'\nconnections = 8\n\
         load = {{ ramp = '1..2', step = '300ms', to-the-end = true }}\n"
    );
    let scenario = home.file("mine.toml", &text);
    let report = home.dyno(&["run", &scenario, "--json"]).expect(0).report();
    assert_eq!(report.stage_names(), ["ladder 1", "ladder 2"]);
    assert!(report.notices().contains("2 clients can never use more than 2"), "{}", report.notices());
    assert_eq!(report.document()["hooks"][0]["said"], "hello");
    assert_eq!(report.document()["targets"][0]["name"], "db");
    // What is typed goes before what the file says.
    let typed = home.dyno(&["run", &scenario, "--json", "--clients", "1", "--duration", "300ms"]).expect(0);
    assert_eq!(typed.report().stage_names(), ["hold 1"]);
}

#[test]
fn the_page_of_a_run_is_served_while_it_goes() {
    let Some(server) = shared() else { return };
    let target = database(&server, "live");
    let home = Home::new();
    let load = ["--clients", "1", "--duration", "300ms", "--live", "--target", &target];
    let help = home.dyno(&["run", "--help"]).expect(0).out;
    assert!(help.contains("--live"));
    let ended = home.dyno(&[&BRIEF[..], &load].concat());
    if ended.code == Some(1) && ended.err.contains("built without") {
        println!("skipped: this dyno was built without a server");
        return;
    }
    let ended = ended.expect(0);
    assert!(ended.err.contains("live      http://127.0.0.1:"), "{}", ended.err);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--live={}", taken.local_addr().unwrap());
    let refused = home.dyno(&[&BRIEF[..], &["--target", &target, &address]].concat()).expect(1);
    refused.says(&["port", "taken"]);
}
