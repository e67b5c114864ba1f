//! Targets that are loaded at the same time, and targets that share a server: what ends the run for one of them, and
//! what one takes from the other.

use dyno_test_servers::{Postgres, Setup};

use crate::home::Home;
use crate::server::{database, first_do, prefixed, shared};

const BRIEF: [&str; 9] =
    ["run", "events/join", "--json", "--warm-up", "0", "--rows", "100", "--customers", "20"];

#[test]
fn a_hook_that_fails_ends_the_stages_of_the_others_and_keeps_what_they_did() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let targets = ["a", "b"].map(|name| format!("{name}={}", database(&server, &format!("together_{name}"))));
    // b is slow from then on: its stage would go on for a minute and more.
    let slow = first_do("perform pg_sleep(0.02)");
    let load = ["--clients", "2", "--transactions", "4000", "--together"];
    let hooks = ["--before", "b:hold", &slow, "--after", "a:hold", "echo no such host >&2; exit 3"];
    let ended = home
        .dyno(&[&BRIEF[..], &["--target", &targets[0], "--target", &targets[1]], &load, &hooks].concat())
        .expect(2);
    ended.says(&["a hook failed on a", "exit status 3", "no such host"]);
    let report = home.report();
    let stage = |target: &str| report.stages().iter().find(|stage| stage["target"] == target).unwrap();
    assert_eq!((&stage("a")["complete"], &stage("b")["complete"]), (&true.into(), &false.into()));
    let of_b =
        || report.checks().iter().filter(|check| check["target"] == "b" && check["name"] != "same-data");
    assert!(of_b().count() > 1 && of_b().all(|check| check["passed"] == true), "{:#?}", report.checks());
    assert!(report.notices().contains("another target failed"), "{}", report.notices());
}

#[test]
fn each_hook_that_fails_is_told() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let targets = ["a", "b"].map(|name| format!("{name}={}", database(&server, &format!("each_{name}"))));
    // Neither ends before the other has begun.
    let fail = "touch $DYNO_TARGET.begun; until [ -e a.begun ] && [ -e b.begun ]; do sleep 0.05; done; \
                echo nothing works on $DYNO_TARGET >&2; exit 3";
    let load = ["--duration", "300ms", "--together", "--before", "hold", fail];
    let ended = home
        .dyno(&[&BRIEF[..], &["--target", &targets[0], "--target", &targets[1]], &load].concat())
        .expect(1);
    ended.says(&["hook failed on a", "nothing works on a", "hook failed on b", "nothing works on b"]);
}

#[test]
fn targets_on_one_server_share_what_it_has_room_for() {
    let Some(server) = Postgres::start(&Setup::default().with("max_connections=40")) else { return };
    let home = Home::new();
    // The same server by another address.
    let by_socket = |name: &str| {
        let name = prefixed(name);
        let (directory, port) = (server.directory().display(), server.address.port());
        format!("b=postgres:///{name}?host={directory}&port={port}&user=postgres")
    };
    let a = format!("a={}", database(&server, "mine"));
    database(&server, "theirs");
    let b = by_socket("theirs");
    let targets = ["--target", &a, "--target", &b, "--duration", "300ms"];
    // One target alone would have room for all of them.
    home.dyno(&[&BRIEF[..], &targets[..2], &["--duration", "300ms", "--clients", "25"]].concat()).expect(0);
    let ended = home.dyno(&[&BRIEF[..], &targets, &["--clients", "25"]].concat()).expect(1);
    ended.says(&["25 clients", "for each of its targets a, b", "--connections"]);
    home.dyno(&[&BRIEF[..], &targets, &["--clients", "12", "--together"]].concat()).expect(0);
    let twice = ["--target", &a, "--target", &by_socket("mine")];
    let ingest =
        home.dyno(&[&["run", "events/ingest", "--rows", "100", "--customers", "20"][..], &twice].concat());
    ingest.expect(1).says(&["a and b are the same database", "its own database"]);
}
