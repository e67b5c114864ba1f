//! `dyno report`, `runs` and `findings`: what is stored is shown again, in every form.

use std::fs;
use std::sync::OnceLock;

use dyno_results::event::Event;
use dyno_results::store::Store;

use crate::home::Home;
use crate::server::{database, first_do, shared};

/// The home of tests that only read, made once.
fn home_to_read() -> Option<&'static (Home, [String; 2])> {
    static HOME: OnceLock<Option<(Home, [String; 2])>> = OnceLock::new();
    HOME.get_or_init(|| home_with_runs(Home::for_several(), "stored")).as_ref()
}

/// A home with two stored runs, the second one named with the second name; `None` without a PostgreSQL.
fn home_with_runs(home: Home, database_name: &str) -> Option<(Home, [String; 2])> {
    let server = shared()?;
    let target = database(&server, database_name);
    let run = |workload| {
        let brief =
            ["--clients", "1,2", "--step", "200ms", "--hold", "300ms", "--warm-up", "0", "--scale", "1"];
        let named = ["run", "--json", "--target", &target, "--workload", workload];
        home.dyno(&[&named[..], &brief[..]].concat()).expect(0).report().name().to_owned()
    };
    let names = [run("tpcb/select-only"), run("tpcb/tpcb-like")];
    Some((home, names))
}

#[test]
fn a_run_is_shown_again_as_text_json_and_page() {
    let Some((home, [first, last])) = home_to_read() else { return };
    let shown = home.dyno(&["report"]).expect(0);
    for word in ["target", "peak", "hold", "verify", "findings", last] {
        assert!(shown.out.contains(word), "{word} in {}", shown.out);
    }
    assert!(!shown.out.contains('\u{1b}'), "no colours where there is no terminal");
    assert_eq!(home.report().name(), last);
    for named in [first.as_str(), "last~1"] {
        let report = home.dyno(&["report", named, "--json"]).expect(0).report();
        assert_eq!(report.name(), first);
        assert_eq!(report.series()[0]["workload"], "tpcb/select-only");
    }
    let asked = home.dyno(&["report", first, "--html", "again.html"]);
    if cfg!(feature = "page") {
        let asked = asked.expect(0);
        assert!(asked.out.contains("again.html"), "{}", asked.out);
        let html = fs::read_to_string(home.path("again.html")).unwrap();
        assert!(html.len() < 400_000, "{} bytes", html.len());
        assert!(html.contains(first.as_str()) && html.contains("tpcb/select-only"));
    } else {
        asked.expect(1).says(&["without"]);
    }
}

#[test]
fn runs_are_listed_and_judged() {
    let Some((home, names)) = home_to_read() else { return };
    let listed = home.dyno(&["runs", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "dyno.runs/1");
    let mut found: Vec<_> =
        listed["runs"].as_array().unwrap().iter().map(|run| run["name"].clone()).collect();
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, names);
    let shown = home.dyno(&["runs"]).expect(0).out;
    assert!(names.iter().all(|name| shown.contains(name)), "{shown}");

    let judged = home.dyno(&["findings", "--json"]).expect(0).json();
    assert_eq!((&judged["schema"], &judged["run"]), (&"dyno.findings/1".into(), &names[1][..].into()));
    // The tests' servers run without fsync.
    let codes: Vec<_> = judged["findings"].as_array().unwrap().iter().map(|it| it["code"].clone()).collect();
    assert!(codes.contains(&"durability-off".into()), "{codes:?}");
    let shown = home.dyno(&["findings", &names[1]]).expect(0).out;
    assert!(shown.contains("durability-off") && shown.contains("fsync"), "{shown}");
}

#[test]
fn strict_turns_an_invalid_finding_into_an_exit_status() {
    let Some((home, names)) = home_with_runs(Home::new(), "strict") else { return };
    let judged = home.dyno(&["findings", "--json"]).expect(0).json();
    let invalid = |finding: &serde_json::Value| finding["severity"] == "invalid";
    assert!(!judged["findings"].as_array().unwrap().iter().any(invalid), "{judged:#}");
    home.dyno(&["findings", "--strict"]).expect(0);

    // The same run once more, with what it has acknowledged said to be lost.
    let store = Store::open(home.store()).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    for mut stamped in store.events(&names[1]).unwrap() {
        if let Event::Check(check) = &mut stamped.event {
            check.passed = check.passed.map(|_| false);
        }
        writer.append(&stamped).unwrap();
    }
    let name = writer.name().to_owned();
    drop((writer, store));
    home.dyno(&["findings", &name, "--strict"]).expect(3);
    let judged = home.dyno(&["findings", &name]).expect(0).out;
    assert!(judged.contains("data-check-failed"), "{judged}");
}

#[test]
fn a_run_that_was_changed_in_the_store_is_refused_and_others_are_shown() {
    let Some((home, names)) = home_with_runs(Home::new(), "changed") else { return };
    let store = rusqlite::Connection::open(home.store()).unwrap();
    let changes = [
        "update event set at_ms = at_ms + 1 where kind = 'stage-started' and run_id = (select id from run where name = ?1)",
        "update run set summary = replace(summary, '\"tps\":', '\"tps\":1') where name = ?1",
    ];
    for change in changes {
        assert!(store.execute(change, [&names[1]]).unwrap() > 0, "{change}");
    }
    drop(store);
    for command in [
        &["report"][..],
        &["report", "--json"],
        &["report", "--events"],
        &["report", "--csv"],
        &["findings"],
        &["compare"],
    ] {
        let refused = home.dyno(&[command, &[&names[1]]].concat()).expect(1);
        refused.says(&["event ", &names[1], "is not as it was written", "copy of the store"]);
    }
    home.dyno(&["report", &names[0]]).expect(0);
    let listed = home.dyno(&["runs", "--json"]).expect(0).json();
    let damaged = listed["runs"].as_array().unwrap().iter().filter(|run| run["damaged"] == true);
    assert_eq!(damaged.map(|run| run["name"].as_str().unwrap()).collect::<Vec<_>>(), [&names[1]]);
    assert!(home.dyno(&["runs"]).expect(0).out.contains("damaged"));
}

#[test]
fn a_strict_run_says_why_also_when_it_is_quiet() {
    let Some(server) = shared() else { return };
    let target = database(&server, "strict_quiet");
    let fails = first_do("raise 'never'");
    let load = ["--warm-up", "0", "--clients", "1", "--transactions", "2", "--before", "join", &fails];
    let run =
        ["run", "events/join", "--target", &target, "--rows", "2000", "--customers", "100", "--strict", "-q"];
    let ended = Home::new().dyno(&[&run[..], &load].concat()).expect(3);
    ended.says(&["--strict", "failed", "dyno findings"]);
    assert_eq!(ended.out, "");
}

#[test]
fn a_run_that_is_not_there_is_told_from_an_empty_store() {
    let home = Home::new();
    home.dyno(&["run", "--target", "postgres://nobody@127.0.0.1:1/none"]).expect(1);
    home.dyno(&["report"]).expect(1).says(&["holds no run yet", "dyno run"]);
    let Some((home, [first, _])) = home_to_read() else { return };
    home.dyno(&["report", "2001-01-01-1"]).expect(1).says(&["2001-01-01-1"]);
    // Both names begin with the day.
    let day = first.rsplit_once('-').unwrap().0;
    home.dyno(&["report", day]).expect(1).says(&[day]);
}
