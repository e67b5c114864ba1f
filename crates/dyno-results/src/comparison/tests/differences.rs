//! Each difference planted in one of two runs that are alike, and silence where nothing was.

use std::sync::Arc;

use super::*;
use crate::comparison::{Comparison, Evidence, compare};
use crate::event::{
    Answer, Arrival, Data, Distribution, Embedded, Event, Hook, HookTime, Host, Outcome, QueryAnswer,
    SettingFacts, Stage, Table, Target, TargetLost,
};
use crate::fixture::{Fixture, FixtureStage, GIB, clean_fixture, resize, wobble};
use crate::plan::{Plan, PlanNode};
use crate::spec::{FolderSpec, FrontEndSpec, PhaseSpec, StreamSpec};

/// Renames a run.
fn named(fixture: &Fixture, name: &str) -> Vec<crate::event::Stamped> {
    let mut events = fixture.events.clone();
    if let Some(Event::Started(started)) = events.first_mut().map(|stamped| &mut stamped.event) {
        started.run = name.to_owned();
    }
    events
}

/// The differences of a clean run and of one in which this was changed.
fn with_change(change: impl FnOnce(&mut Fixture)) -> Vec<Difference> {
    let mut changed = clean_fixture();
    change(&mut changed);
    between(&clean_fixture(), &changed)
}

fn between(a: &Fixture, b: &Fixture) -> Vec<Difference> {
    compared(a, b).differences
}

fn compared(a: &Fixture, b: &Fixture) -> Comparison {
    let side = |name: &str, fixture: &Fixture| Side {
        name: name.to_owned(),
        members: vec![Member {
            evidence: Arc::new(Evidence::of_events(&named(fixture, name))),
            target: "pg".to_owned(),
        }],
        series: None,
    };
    compare(&[side("a", a), side("b", b)], 0).unwrap()
}

/// Both runs changed alike at first, and then the second.
fn after(both: impl Fn(&mut Fixture), change: impl FnOnce(&mut Fixture)) -> Vec<Difference> {
    let (mut a, mut b) = (clean_fixture(), clean_fixture());
    both(&mut a);
    both(&mut b);
    change(&mut b);
    between(&a, &b)
}

#[track_caller]
fn assert_found(differences: &[Difference], aspect: &str, severity: Severity, words: &[&str]) {
    let found = differences.iter().find(|difference| difference.aspect == aspect);
    let Some(found) = found else { panic!("no {aspect} in {differences:#?}") };
    assert_eq!(found.severity, severity, "{found:?}");
    assert!(!found.advice.is_empty());
    for word in words {
        assert!(found.text.contains(word), "`{word}` in {}", found.text);
    }
}

fn targets(fixture: &mut Fixture, change: impl Fn(&mut Target)) {
    for stamped in &mut fixture.events {
        if let Event::Target(target) = &mut stamped.event {
            change(target);
        }
    }
}

fn data(fixture: &mut Fixture, change: impl Fn(&mut Data)) {
    for stamped in &mut fixture.events {
        if let Event::Data(data) = &mut stamped.event {
            change(data);
        }
    }
}

fn stages(fixture: &mut Fixture, change: impl Fn(&mut Stage)) {
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            change(stage);
        }
    }
}

/// A crash would do what `change` says of the settings.
fn not_durable(fixture: &mut Fixture, change: fn(&mut SettingFacts, Vec<String>), setting: &str) {
    for stamped in &mut fixture.events {
        if let Event::Settings(settings) = &mut stamped.event {
            settings.facts.durable_by = None;
            change(&mut settings.facts, vec![format!("{setting} is off")]);
        }
    }
}

/// The server's own machine becomes known.
fn known_host(fixture: &mut Fixture) {
    host(fixture, |host| {
        host.roles.push("pg".to_owned());
        host.cpu_model = Some("Quick 1".to_owned());
        host.memory_bytes = Some(16 * GIB);
        host.disk_kind = Some("nvme".to_owned());
    });
}

fn host(fixture: &mut Fixture, change: impl Fn(&mut Host)) {
    for stamped in &mut fixture.events {
        if let Event::Host(host) = &mut stamped.event {
            change(host);
        }
    }
}

#[test]
fn two_clean_runs_that_are_alike_differ_in_nothing() {
    assert_eq!(with_change(|_| ()), []);
    assert_eq!(after(known_host, |_| ()), []);
}

#[test]
fn data_of_another_scale_or_number_of_rows_are_not_the_same() {
    let found = with_change(|fixture| data(fixture, |data| data.scale = Some(10.0)));
    assert_found(&found, "scale", Severity::Invalid, &["5,000 (a)", "10 (b)"]);
    let unknown = with_change(|fixture| data(fixture, |data| data.scale = None));
    assert_found(&unknown, "scale", Severity::Doubt, &["unknown (b)"]);

    let tables = |rows: &[(&str, u64)]| -> Vec<Table> {
        let table = |(name, rows): &(&str, u64)| Table {
            name: (*name).to_owned(),
            rows: Some(*rows),
            rows_counted: true,
            table_bytes: None,
            index_bytes: None,
            logged: None,
            indexed: None,
            analyzed: None,
        };
        rows.iter().map(table).collect()
    };
    let with = |rows: &'static [(&str, u64)]| {
        move |fixture: &mut Fixture| {
            data(fixture, |data| {
                data.scale = None;
                data.tables = tables(rows);
            });
        }
    };
    let base = with(&[("event", 1_000_000), ("customer", 100_000), ("note", 10)]);
    let same = after(base, with(&[("event", 1_030_000), ("customer", 100_000), ("note", 90)]));
    assert_eq!(same, [], "a little more, and a table that weighs nothing");
    let found = after(base, with(&[("event", 1_150_000), ("customer", 100_000), ("note", 10)]));
    assert_found(&found, "rows", Severity::Doubt, &["1,150,000 in event"]);
    // What the load itself has added plays no part.
    let grown = after(base, |fixture| {
        let mut again =
            fixture.events.iter().find(|stamped| matches!(stamped.event, Event::Data(_))).cloned().unwrap();
        if let Event::Data(data) = &mut again.event {
            data.tables[0].rows = Some(9_000_000);
        }
        fixture.events.push(again);
    });
    assert_eq!(grown, []);
    let found = after(base, with(&[("event", 2_000_000), ("customer", 100_000), ("note", 10)]));
    assert_found(&found, "rows", Severity::Invalid, &["1,000,000 in event", "2,000,000 in event"]);
    let found = after(base, with(&[("event", 1_000_000)]));
    assert_found(&found, "rows", Severity::Invalid, &["2 tables", "1,000,000 in event (b)"]);
}

#[test]
fn an_index_that_one_side_has_more_is_told() {
    let indexed = |columns: &'static [&str]| {
        move |fixture: &mut Fixture| {
            data(fixture, |data| {
                let columns = columns.iter().map(|&column| column.to_owned()).collect();
                data.tables[0].indexed = Some(columns);
                data.tables.truncate(1);
            });
        }
    };
    let found = after(indexed(&["customer_id"]), indexed(&[]));
    assert_found(&found, "indexes", Severity::Doubt, &["customer_id (a)", "none beside the keys (b)"]);
    assert_eq!(after(indexed(&["customer_id"]), indexed(&["customer_id"])), []);
    assert_eq!(after(indexed(&["customer_id"]), |_| ()), [], "of a run of before nobody knows");
    let five = indexed(&["a", "b", "c", "d", "e"]);
    let found = after(five, indexed(&["a", "b", "c", "d", "f"]));
    assert_found(&found, "indexes", Severity::Doubt, &[".e (a)", ".f (b)"]);
    let found = after(five, indexed(&["a", "b", "c", "d"]));
    assert_found(&found, "indexes", Severity::Doubt, &[".e (a)", "no others (b)"]);
    let dropped = |fixture: &mut Fixture| {
        indexed(&["a"])(fixture);
        data(fixture, |data| data.missing_indexes = vec!["index event_pkey of event".to_owned()]);
    };
    let found = after(indexed(&["a"]), dropped);
    assert_found(
        &found,
        "indexes",
        Severity::Doubt,
        &["no others (a)", "without index event_pkey of event (b)"],
    );
}

#[test]
fn data_that_lie_in_memory_on_one_side_only_are_doubted() {
    let found = with_change(|fixture| data(fixture, |data| data.cache_bytes = Some(100 * GIB)));
    assert_found(&found, "data against memory", Severity::Doubt, &["in the server's cache", "larger than"]);
    let found = with_change(|fixture| data(fixture, |data| data.memory_bytes = Some(200 * GIB)));
    assert_found(&found, "data against memory", Severity::Doubt, &["in the host's memory"]);
    // A cache of another size that changes nothing of that.
    let found = with_change(|fixture| data(fixture, |data| data.cache_bytes = Some(5 * GIB)));
    assert_eq!(found.iter().map(|it| it.aspect).collect::<Vec<_>>(), ["cache of the server"]);
}

#[test]
fn caches_of_other_sizes_are_told() {
    const MIB: u64 = 1 << 20;
    let with = |own: Option<u64>, other: Option<u64>, database: u64| {
        let with = |cache: Option<u64>| {
            move |fixture: &mut Fixture| {
                data(fixture, |data| {
                    data.cache_bytes = cache;
                    resize(data, Some(database));
                });
            }
        };
        after(with(own), with(other))
    };
    let large = 75 * 1024 * MIB;
    let found = with(Some(128 * MIB), Some(1024 * MIB), large);
    assert_found(&found, "cache of the server", Severity::Doubt, &["128 MiB (a), 1 GiB (b)"]);
    // Where all data lie in each of them they are of no account.
    let found = with(Some(128 * MIB), Some(1024 * MIB), 10 * MIB);
    assert_found(&found, "cache of the server", Severity::Note, &["128 MiB (a)"]);
    let silent = |differences: Vec<Difference>| {
        assert!(differences.iter().all(|it| it.aspect != "cache of the server"), "{differences:#?}");
    };
    // A server rounds what it is given; what one of them does not say is no difference.
    silent(with(Some(1000 * MIB), Some(1024 * MIB), large));
    silent(with(None, Some(1024 * MIB), large));
    // Caches that hold a part of what is read are told by their names.
    let named = |name: &str, sizes: [u64; 2]| {
        let with = |size: u64| {
            let name = name.to_owned();
            move |fixture: &mut Fixture| {
                data(fixture, |data| {
                    data.caches.insert(name.clone(), size);
                });
            }
        };
        after(with(sizes[0]), with(sizes[1]))
    };
    let found = named("mmap_size", [0, 256 * MIB]);
    assert_found(
        &found,
        "cache of the server",
        Severity::Doubt,
        &["mmap_size 0 B (a), mmap_size 256 MiB (b)"],
    );
    let found = named("mark_cache_size", [1024 * MIB, 5120 * MIB]);
    assert_found(&found, "cache of the server", Severity::Doubt, &["mark_cache_size 1 GiB (a)"]);
    silent(named("cache_size", [2 * MIB, 2 * MIB]));
    // Another product has no such cache.
    silent(with_change(|fixture| {
        data(fixture, |data| {
            data.caches.insert("cache_size".to_owned(), 2 * MIB);
        });
    }));
}

#[test]
fn what_is_acknowledged_must_survive_on_both_or_neither() {
    type Change = fn(&mut SettingFacts, Vec<String>);
    let changes: [(Change, &str, &str); 2] = [
        (|facts, why| facts.crash_corrupts = why, "fsync", "off"),
        (|facts, why| facts.crash_loses_last = why, "synchronous_commit", "relaxed"),
    ];
    for (change, name, class) in changes {
        let found = with_change(|fixture| not_durable(fixture, change, name));
        let said = format!("{name} is off");
        assert_found(&found, "durability", Severity::Invalid, &["durable", class, &said]);
        let both = after(|fixture| not_durable(fixture, change, name), |_| ());
        assert!(both.iter().all(|difference| difference.aspect != "durability"), "{both:?}");
    }
    let unknown = with_change(|fixture| {
        fixture.events.retain(|stamped| !matches!(stamped.event, Event::Settings(_)));
    });
    assert_found(&unknown, "durability", Severity::Note, &["unknown (b)"]);
}

#[test]
fn machines_that_differ_are_doubted() {
    type Change = fn(&mut Host);
    let changes: [(&str, Change, &str); 5] = [
        ("processors of the server", |host| host.cpus = Some(8), "8 (b)"),
        ("processors of the server", |host| host.cpus_limit = Some(1.5), "1.5 of 4 (b)"),
        ("processor model", |host| host.cpu_model = Some("Slow 2".to_owned()), "Slow 2 (b)"),
        ("memory of the server", |host| host.memory_limit_bytes = Some(GIB), "1 GiB (b)"),
        ("disk of the server", |host| host.disk_kind = Some("hdd".to_owned()), "hdd (b)"),
    ];
    for (aspect, change, words) in changes {
        let found = after(known_host, |fixture| host(fixture, change));
        assert_found(&found, aspect, Severity::Doubt, &[words]);
    }
    assert_found(
        &with_change(known_host),
        "hardware of the server",
        Severity::Doubt,
        &["unknown (a), known (b)"],
    );
    let elsewhere =
        with_change(|fixture| targets(fixture, |target| target.url = "postgres://other/bench".to_owned()));
    assert_found(&elsewhere, "hardware of the server", Severity::Doubt, &["unknown, at other (b)"]);
    let driver = with_change(|fixture| host(fixture, |host| host.cpus = Some(64)));
    assert_found(&driver, "processors of the driver", Severity::Doubt, &["4 (a), 64 (b)"]);
    // A firmware that keeps a little for itself is no other machine.
    let near =
        after(known_host, |fixture| host(fixture, |host| host.memory_bytes = Some(16 * GIB - GIB / 10)));
    assert_eq!(near, []);
}

#[test]
fn where_and_what_the_server_is_is_told() {
    let found = with_change(|fixture| targets(fixture, |target| target.same_host = Some(true)));
    assert_found(&found, "place of the server", Severity::Doubt, &["on the driver's host (b)"]);
    let found = with_change(|fixture| targets(fixture, |target| target.tls = Some("TLSv1.3".to_owned())));
    assert_found(&found, "encryption", Severity::Doubt, &["none (a), TLS (b)"]);
    let found = with_change(|fixture| targets(fixture, |target| target.version = Some("18.1".to_owned())));
    assert_found(&found, "version", Severity::Note, &["15.18 (a), 18.1 (b)"]);
    let found = with_change(|fixture| targets(fixture, |target| target.product = Some("MySQL".to_owned())));
    assert_found(&found, "product", Severity::Note, &["PostgreSQL 15.18 (a)", "MySQL"]);
    assert!(found.iter().all(|difference| difference.aspect != "version"), "said once: {found:?}");

    let begins_with = |level: &'static str| {
        move |fixture: &mut Fixture| targets(fixture, |target| target.isolation = Some(level.to_owned()))
    };
    let found = after(begins_with("read committed"), begins_with("serializable"));
    assert_found(&found, "isolation level", Severity::Doubt, &["read committed (a), serializable (b)"]);
    let found = after(begins_with("read committed"), |fixture| {
        begins_with("repeatable read")(fixture);
        targets(fixture, |target| target.product = Some("MySQL".to_owned()));
    });
    assert_found(&found, "isolation level", Severity::Note, &["repeatable read (b)"]);
    assert_eq!(with_change(begins_with("read committed")), [], "an older run says nothing of it");

    let embedded = |profile: &'static str| {
        move |fixture: &mut Fixture| {
            targets(fixture, |target| {
                target.embedded = Some(Embedded {
                    profile: profile.to_owned(),
                    source: "/usr/lib".to_owned(),
                    unsafe_profile: false,
                });
            });
        }
    };
    let found = after(embedded("default"), embedded("production"));
    assert_found(&found, "embedded profile", Severity::Doubt, &["default (a), production (b)"]);
}

#[test]
fn a_server_that_is_capped_on_one_side_only_is_told() {
    let capped = |key: &'static str, cap: f64| {
        move |fixture: &mut Fixture| {
            for stamped in &mut fixture.events {
                if let Event::Sample(sample) = &mut stamped.event
                    && sample.source == "host"
                {
                    sample.values.insert(key.to_owned(), cap);
                }
            }
        }
    };
    let aspect = "limits of the server's control group";
    for (key, cap, words) in [
        ("server_cgroup_cpus_limit", 0.5, "0.5 processors (b)"),
        ("server_cgroup_memory_limit_bytes", 2e9, "1.9 GiB of memory (b)"),
        ("server_cgroup_disk_write_limit_bytes", 5e6, "4.8 MiB write each second (b)"),
        ("server_cgroup_disk_read_limit_operations", 100.0, "100 read operations/s (b)"),
    ] {
        assert_found(&with_change(capped(key, cap)), aspect, Severity::Doubt, &["none (a)", words]);
        assert_eq!(after(capped(key, cap), |_| ()), []);
    }
    // Of a machine that is read from afar nothing is known of its groups.
    let from_afar = |fixture: &mut Fixture| {
        for stamped in &mut fixture.events {
            if let Event::Sample(sample) = &mut stamped.event {
                sample.values.retain(|key, _| !key.starts_with("server_"));
            }
        }
    };
    let found = after(capped("server_cgroup_cpus_limit", 0.5), from_afar);
    assert!(found.iter().all(|difference| difference.aspect != aspect), "{found:?}");
}

#[track_caller]
fn assert_silent(differences: &[Difference], aspect: &str) {
    assert!(differences.iter().all(|difference| difference.aspect != aspect), "{differences:#?}");
}

/// A run of a stream of the user's own.
fn runs(fixture: &mut Fixture, workload: &str, stream: StreamSpec, front_end: Option<FrontEndSpec>) {
    stages(fixture, |stage| stage.workload = workload.to_owned());
    let Some(Event::Started(started)) = fixture.events.first_mut().map(|stamped| &mut stamped.event) else {
        panic!("no start")
    };
    let streams = vec![StreamSpec { workload: Some(workload.to_owned()), ..stream }];
    started.resolved.phases = vec![PhaseSpec { streams, ..PhaseSpec::default() }];
    started.resolved.front_end = front_end;
}

#[test]
fn a_workload_of_the_users_is_told_by_its_name_and_text_and_not_by_its_place() {
    let script = |text: &str| StreamSpec { script: Some(text.to_owned()), ..StreamSpec::default() };
    let folder = || {
        let queries = [("q1".to_owned(), "SELECT 1".to_owned())].into();
        StreamSpec { queries, ..StreamSpec::default() }
    };
    let between = |a: (&str, StreamSpec), b: (&str, StreamSpec)| {
        after(|fixture| runs(fixture, a.0, a.1.clone(), None), |fixture| runs(fixture, b.0, b.1, None))
    };
    assert_silent(
        &between(("./x.sql", script("SELECT 1")), ("/mnt/b/x.sql", script("SELECT 1"))),
        "workload",
    );
    assert_silent(&between(("./queries/", folder()), ("/mnt/queries", folder())), "workload");
    let other = between(("./x.sql", script("SELECT 1")), ("./x.sql", script("SELECT 2")));
    assert_found(&other, "workload", Severity::Invalid, &["x.sql ("]);
    let other = between(("./x.sql", script("SELECT 1")), ("./y.sql", script("SELECT 1")));
    assert_found(&other, "workload", Severity::Invalid, &["x.sql (", "y.sql ("]);
    let other = between(("./a/", folder()), ("./b/", folder()));
    assert_found(&other, "workload", Severity::Invalid, &["a (a)", "b (b)"]);

    let own = |name: &str, buy: &str| {
        let files = [("workload.toml", "about = \"x\""), ("buy.sql", buy)];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let folder = Some(FolderSpec { name: name.to_owned(), files });
        StreamSpec { folder, ..StreamSpec::default() }
    };
    let same = between(("./shop/buy", own("./shop", "x")), ("/mnt/shop/buy", own("/mnt/shop", "x")));
    assert_silent(&same, "workload");
    let other = between(("./shop/buy", own("./shop", "x")), ("./shop/buy", own("./shop", "y")));
    assert_found(&other, "workload", Severity::Invalid, &["shop/buy ("]);

    let lua = |path: &str, sha256: &str| {
        let script = serde_json::json!({ "name": path, "sha256": sha256 });
        let options = [("script".to_owned(), script)].into_iter().collect();
        Some(FrontEndSpec { program: "sysbench".to_owned(), options })
    };
    let between = |a: (&str, &str), b: (&str, &str)| {
        let run = |fixture: &mut Fixture, of: (&str, &str)| {
            runs(fixture, "sysbench/lua", StreamSpec::default(), lua(of.0, of.1));
        };
        after(|fixture| run(fixture, a), |fixture| run(fixture, b))
    };
    assert_silent(&between(("./x.lua", "0123456789"), ("/opt/x.lua", "0123456789")), "workload");
    let other = between(("./x.lua", "0123456789"), ("./x.lua", "9876543210"));
    assert_found(&other, "workload", Severity::Invalid, &["x.lua (01234567)", "x.lua (98765432)"]);
}

#[test]
fn scripts_that_run_together_are_told_with_their_weights_and_builtins_by_their_names() {
    let builtin = |name: &str, weight: u32| serde_json::json!({ "name": name, "weight": weight });
    let file =
        |weight: u32| serde_json::json!({ "name": "./x.sql", "sha256": "0123456789", "weight": weight });
    let between = |a: &[serde_json::Value], b: &[serde_json::Value]| {
        let run = |fixture: &mut Fixture, scripts: &[serde_json::Value]| {
            let options = [("scripts".to_owned(), scripts.into())].into_iter().collect();
            let front_end = FrontEndSpec { program: "pgbench".to_owned(), options };
            runs(fixture, "pgbench", StreamSpec::default(), Some(front_end));
        };
        after(|fixture| run(fixture, a), |fixture| run(fixture, b))
    };
    let other = between(&[builtin("tpcb-like", 1), file(1)], &[builtin("select-only", 1), file(1)]);
    let words = ["tpcb-like@1 and x.sql (01234567)@1 (a)", "select-only@1 and x.sql (01234567)@1 (b)"];
    assert_found(&other, "workload", Severity::Invalid, &words);
    let other = between(&[builtin("tpcb-like", 9), file(1)], &[builtin("tpcb-like", 1), file(9)]);
    assert_found(&other, "workload", Severity::Invalid, &["@9 and x.sql", "(01234567)@9"]);
    assert_silent(&between(&[file(1)], &[file(9)]), "workload");
}

#[test]
fn loads_that_differ_are_told() {
    let found =
        with_change(|fixture| stages(fixture, |stage| stage.workload = "tpcb/simple-update".to_owned()));
    assert_found(&found, "workload", Severity::Invalid, &["tpcb/tpcb-like (a)", "tpcb/simple-update (b)"]);
    let found = with_change(|fixture| stages(fixture, |stage| stage.protocol = "simple".to_owned()));
    assert_found(&found, "protocol mode", Severity::Doubt, &["prepared (a), simple (b)"]);
    let found = with_change(|fixture| {
        stages(fixture, |stage| stage.arrival = Arrival::Closed { think_time_ms: 10.0 });
    });
    assert_found(&found, "think time", Severity::Doubt, &["none (a), 10 ms (b)"]);
    let found = with_change(|fixture| stages(fixture, |stage| stage.connections = Some(4)));
    assert_found(&found, "connections", Severity::Doubt, &["one for each client (a), 4 shared (b)"]);
    let open = |rate_per_s: f64, distribution: Distribution| {
        move |fixture: &mut Fixture| {
            stages(fixture, |stage| stage.arrival = Arrival::Open { rate_per_s, distribution });
        }
    };
    let found = with_change(open(900.0, Distribution::Poisson));
    assert_found(&found, "arrivals", Severity::Invalid, &["closed loop (a), open loop (b)"]);
    let found = after(open(900.0, Distribution::Poisson), open(900.0, Distribution::Constant));
    assert_found(&found, "distribution", Severity::Doubt, &["Poisson (a), evenly spaced (b)"]);
    let found = after(open(900.0, Distribution::Poisson), open(950.0, Distribution::Poisson));
    assert_found(&found, "rate", Severity::Doubt, &["900/s (a), 950/s (b)"]);
}

#[test]
fn clients_of_each_ones_own_peak_are_a_note_and_others_a_doubt() {
    let hold_at = |clients: u32| {
        move |fixture: &mut Fixture| {
            stages(fixture, |stage| {
                if stage.kind == crate::event::StageKind::Hold {
                    stage.clients = clients;
                }
            });
        }
    };
    let found = with_change(hold_at(12));
    assert_found(&found, "clients", Severity::Doubt, &["8 (a), 12 (b)"]);
    let found = with_change(|fixture| {
        stages(fixture, |stage| {
            if stage.clients == 8 {
                stage.clients = 10;
            }
        });
    });
    assert_found(&found, "clients", Severity::Note, &["8 (a), 10 (b)"]);
}

#[test]
fn a_hold_of_another_length_is_told() {
    let shorter = |seconds: f64| {
        move |fixture: &mut Fixture| {
            for stamped in &mut fixture.events {
                if let Event::StageFinished(finished) = &mut stamped.event
                    && finished.seconds > 10.0
                {
                    finished.seconds = seconds;
                }
            }
        }
    };
    assert_eq!(with_change(shorter(19.0)), []);
    assert_found(&with_change(shorter(15.0)), "duration", Severity::Note, &["20 s (a), 15 s (b)"]);
    assert_found(&with_change(shorter(8.0)), "duration", Severity::Doubt, &["8 s (b)"]);
}

#[test]
fn cold_caches_on_one_side_only_are_told() {
    let found = with_change(|fixture| {
        fixture.push(Event::Hook(Hook {
            target: "pg".to_owned(),
            about: "hold".to_owned(),
            phase: Some(0),
            when: HookTime::Before,
            action: "cold".to_owned(),
            seconds: 2.0,
            succeeded: true,
            said: None,
            cold: None,
        }));
    });
    assert_found(&found, "before the load", Severity::Doubt, &["caches made cold (b)"]);
}

#[test]
fn sides_that_ran_at_the_same_time_on_one_host_are_doubted() {
    // Twice the same run: its stages lie over each other in time.
    let evidence = Arc::new(Evidence::of_events(&clean_fixture().events));
    let side = |name: &str| Side {
        name: name.to_owned(),
        members: vec![Member { evidence: Arc::clone(&evidence), target: "pg".to_owned() }],
        series: None,
    };
    let found = compare(&[side("a"), side("b")], 0).unwrap().differences;
    assert_found(&found, "at the same time", Severity::Doubt, &["on one host"]);
}

#[test]
fn a_run_that_is_doubted_itself_is_doubted_here() {
    let found = with_change(|fixture| {
        for stamped in &mut fixture.events {
            if let Event::Finished(finished) = &mut stamped.event {
                finished.outcome = Outcome::Incomplete;
                finished.reason = Some("interrupted".to_owned());
            }
        }
    });
    assert_found(&found, "outcome", Severity::Doubt, &["complete (a)", "incomplete, interrupted (b)"]);
    let found = with_change(|fixture| {
        fixture.push(Event::TargetLost(TargetLost {
            target: "pg".to_owned(),
            stage: None,
            reason: "it is gone".to_owned(),
        }));
    });
    assert_found(&found, "outcome", Severity::Doubt, &["given up in mid-run, it is gone (b)"]);

    let failed_check = |fixture: &mut Fixture| {
        for stamped in &mut fixture.events {
            if let Event::Check(check) = &mut stamped.event {
                check.passed = Some(false);
            }
        }
    };
    let aspect = "figures that must not be used";
    assert_found(&with_change(failed_check), aspect, Severity::Invalid, &["none (a), data-check-failed (b)"]);
    assert_found(&after(failed_check, |_| ()), aspect, Severity::Invalid, &["data-check-failed (a, b)"]);

    let unchecked = |fixture: &mut Fixture| {
        for stamped in &mut fixture.events {
            if let Event::Check(check) = &mut stamped.event {
                check.passed = None;
            }
        }
    };
    let found = with_change(unchecked);
    assert_found(&found, "doubts of one side only", Severity::Doubt, &["data-check-not-made (b)"]);
    let found = after(unchecked, |_| ());
    assert_found(&found, "doubts of every side", Severity::Note, &["data-check-not-made (a, b)"]);
}

#[test]
fn another_dyno_is_told() {
    let found = with_change(|fixture| {
        if let Some(Event::Started(started)) = fixture.events.first_mut().map(|stamped| &mut stamped.event) {
            started.dyno_version = "0.2.0".to_owned();
        }
    });
    assert_found(&found, "dyno's version", Severity::Doubt, &["0.1.0 (a), 0.2.0 (b)"]);
}

#[test]
fn settings_of_one_product_that_were_changed_are_noted() {
    let found = with_change(|fixture| {
        for stamped in &mut fixture.events {
            if let Event::Settings(settings) = &mut stamped.event {
                settings.rows.push(crate::fixture::setting("work_mem", "64MB", true, false));
            }
        }
    });
    assert_found(&found, "settings", Severity::Note, &["work_mem at its default (a)", "work_mem 64MB (b)"]);
}

#[test]
fn the_gravest_comes_first_and_each_is_a_finding() {
    let found = with_change(|fixture| {
        not_durable(fixture, |facts, why| facts.crash_corrupts = why, "fsync");
        targets(fixture, |target| target.version = Some("18.1".to_owned()));
        stages(fixture, |stage| stage.protocol = "simple".to_owned());
    });
    let severities: Vec<Severity> = found.iter().map(|difference| difference.severity).collect();
    assert!(severities.is_sorted_by(|left, right| left >= right), "{severities:?}");
    let finding = finding(&found[0]);
    assert_eq!((finding.code.as_str(), finding.severity), ("not-comparable", Severity::Invalid));
}

/// Passes over a query set instead of the clean run's hold: its `names`, and the text with which the first was sent.
fn passes(fixture: &mut Fixture, names: &[&str], sql: &str) {
    stages(fixture, |stage| {
        stage.pass = true;
        stage.types = names.iter().map(|&name| name.to_owned()).collect();
    });
    let answer = QueryAnswer { query: names[0].to_owned(), sql: sql.to_owned(), ..QueryAnswer::default() };
    let (target, series) = ("pg".to_owned(), "write".to_owned());
    let end = fixture.events.pop().unwrap();
    fixture.push(Event::Answer(Answer { target, series, answer }));
    fixture.push(end.event);
}

#[test]
fn totals_over_other_queries_have_no_ratio() {
    let (mut a, mut b) = (clean_fixture(), clean_fixture());
    passes(&mut a, &["Q1", "Q2"], "select 1");
    passes(&mut b, &["Q1", "Q3"], "select 1");
    let found = between(&a, &b);
    let words = ["2 queries, among them Q2 (a)", "2 queries, among them Q3 (b)"];
    assert_found(&found, "queries", Severity::Invalid, &words);
    assert!(found.iter().all(|difference| difference.aspect != "texts of the queries"), "{found:#?}");
}

#[test]
fn other_answers_to_the_same_queries_are_told_and_have_no_speed_up() {
    let with = |value: &str, parameters: Option<&str>| {
        let mut fixture = clean_fixture();
        passes(&mut fixture, &["only"], "select 1");
        for stamped in &mut fixture.events {
            if let Event::Answer(Answer { answer, .. }) = &mut stamped.event {
                (answer.rows, answer.count) = (vec![vec![value.to_owned()]], 1);
                (answer.columns, answer.parameters) =
                    (Some(vec![None]), parameters.map(|it| vec![it.to_owned()]));
            }
        }
        fixture
    };
    let speed_up = |one: &Fixture, other: &Fixture| compared(one, other).series[0].speed_ups[1][0].clone();
    let (one, other) = (with("1", None), with("2", None));
    let found = between(&one, &other);
    assert_found(
        &found,
        "answers",
        Severity::Invalid,
        &["only of b differ (only: row 1 is (2) instead of (1))"],
    );
    assert_eq!(speed_up(&one, &other).without, ["only"]);
    let same = between(&one, &one);
    assert!(same.iter().all(|difference| difference.aspect != "answers"), "{same:#?}");
    assert_eq!(speed_up(&one, &one).mean, Some(1.0));
    // Answers to other questions say nothing.
    let asked = between(&with("1", Some("n=1")), &with("2", Some("n=2")));
    assert!(asked.iter().all(|difference| difference.aspect != "answers"), "{asked:#?}");
}

#[test]
fn other_texts_of_the_same_queries_are_told() {
    let with = |sql: &str| {
        let mut fixture = clean_fixture();
        passes(&mut fixture, &["Q1", "Q2"], sql);
        fixture
    };
    let found = between(&with("select 1"), &with("select 2"));
    assert_found(&found, "texts of the queries", Severity::Doubt, &["Q1 differ"]);
    assert_eq!(between(&with("select 1"), &with("select 1")), []);
    // Each variant of storage has tables of its own.
    let mut variant = with("select 2");
    for stamped in &mut variant.events {
        if let Event::Data(data) = &mut stamped.event {
            data.tables[0].name = "storage_heap_accounts".to_owned();
        }
    }
    let found = between(&with("select 1"), &variant);
    assert_silent(&found, "texts of the queries");
    // Tables of the user's own are no variants, be they named in the text or not.
    let own = |fixture: &mut Fixture, table: &str| {
        let queries = [("Q1".to_owned(), String::new())].into();
        runs(fixture, "./queries/", StreamSpec { queries, ..StreamSpec::default() }, None);
        data(fixture, |data| {
            data.workload = "./queries/".to_owned();
            data.tables[0].name = table.to_owned();
        });
    };
    let (mut one, mut other) = (with("insert into t_a"), with("insert into t_b"));
    own(&mut one, "t_a");
    own(&mut other, "t_b");
    assert_found(&between(&one, &other), "texts of the queries", Severity::Doubt, &["Q1 differ"]);
}

/// Has the queries of a series run in passes, each with a plan of two steps.
fn queries_run(fixture: &mut Fixture, operation: &str) {
    let mut queries = Vec::new();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event
            && stage.series == "write"
        {
            stage.pass = true;
            queries.clone_from(&stage.types);
        }
    }
    let node =
        |depth, operation: &str| PlanNode { depth, operation: operation.to_owned(), ..PlanNode::default() };
    for query in queries {
        fixture.push(Event::Plan(Plan {
            target: "pg".to_owned(),
            series: "write".to_owned(),
            query,
            sql: "SELECT 1".to_owned(),
            when: HookTime::After,
            executed: true,
            reason: None,
            nodes: vec![node(0, "Sort"), node(1, operation)],
            text: None,
        }));
    }
}

#[test]
fn queries_that_are_run_in_other_ways_are_told_of_one_product() {
    let run = |operation: &'static str| move |fixture: &mut Fixture| queries_run(fixture, operation);
    let between = |a: &'static str, b: &'static str, product: &str| {
        let (mut first, mut second) = (clean_fixture(), clean_fixture());
        run(a)(&mut first);
        run(b)(&mut second);
        for stamped in &mut second.events {
            if let Event::Target(target) = &mut stamped.event {
                target.product = Some(product.to_owned());
            }
        }
        self::between(&first, &second)
    };
    let found = between("Seq Scan", "Index Scan", "PostgreSQL");
    assert_found(&found, "plans", Severity::Note, &[" with Seq Scan (a), ", " with Index Scan (b)"]);
    assert_eq!(found.last().map(|difference| difference.code), Some(Code::PlanChanged));
    assert!(
        found
            .iter()
            .all(|difference| (difference.aspect == "plans") == (difference.code == Code::PlanChanged))
    );
    for silent in [between("Seq Scan", "Seq Scan", "PostgreSQL"), between("Seq Scan", "Index Scan", "MySQL")]
    {
        assert!(silent.iter().all(|difference| difference.aspect != "plans"), "{silent:#?}");
    }
}

#[test]
fn one_series_that_is_invalid_condemns_no_other() {
    let with_read = |failing: &[&str]| {
        let mut fixture = clean_fixture();
        fixture.events.pop();
        let read = fixture.play(&FixtureStage::read(crate::event::StageKind::Hold, 8, &wobble(5000, 20)));
        let of = |stage: u32| if stage == read { "read" } else { "write" };
        for stamped in &mut fixture.events {
            if let Event::Interval(interval) = &mut stamped.event
                && failing.contains(&of(interval.stage))
            {
                interval.types[0].failed = 2 * interval.types[0].done;
            }
        }
        fixture.finish();
        fixture
    };
    let aspect = "figures that must not be used";
    let found = |failing: &[&str]| -> Vec<Option<String>> {
        let differences = between(&with_read(&[]), &with_read(failing));
        let own = differences.into_iter().filter(|difference| difference.aspect == aspect);
        own.inspect(|own| assert!(own.text.contains("errors (b)"), "{own:?}")).map(|own| own.series).collect()
    };
    assert_eq!(found(&[]), []);
    assert_eq!(found(&["read"]), [Some("read".to_owned())]);
    assert_eq!(found(&["read", "write"]).len(), 2);
    // What is of the whole run is of all series.
    let mut fixture = with_read(&[]);
    for stamped in &mut fixture.events {
        if let Event::Check(check) = &mut stamped.event {
            check.passed = Some(false);
        }
    }
    let differences = between(&with_read(&[]), &fixture);
    let of_run = differences.iter().find(|difference| difference.aspect == aspect).unwrap();
    assert_eq!(of_run.series, None);
}

#[test]
fn a_doubt_that_another_side_has_as_a_note_is_no_doubt_of_one_side_only() {
    let failing = |one_in: u64| {
        let mut fixture = clean_fixture();
        for stamped in &mut fixture.events {
            if let Event::Interval(interval) = &mut stamped.event {
                interval.types[0].failed = interval.types[0].done / one_in;
            }
        }
        fixture
    };
    let found = between(&failing(50), &failing(200));
    let aspect = "doubts that are notes of another side";
    assert_found(&found, aspect, Severity::Doubt, &["errors (a), errors as a note (b)"]);
    let is_of_one = |difference: &&Difference| difference.aspect == "doubts of one side only";
    assert_eq!(found.iter().find(is_of_one), None);
}

#[test]
fn doubts_are_of_the_series_that_they_are_found_of() {
    let with = |doubted: &[&str], both: bool| {
        let mut fixture = clean_fixture();
        fixture.events.pop();
        let read = fixture.play(&FixtureStage::read(crate::event::StageKind::Hold, 8, &wobble(5000, 20)));
        for stamped in &mut fixture.events {
            if let Event::Interval(interval) = &mut stamped.event
                && doubted.contains(&if interval.stage == read { "read" } else { "write" })
            {
                interval.types[0].failed = interval.types[0].done / 50;
            }
            if let Event::Check(check) = &mut stamped.event
                && both
            {
                check.passed = None;
            }
        }
        fixture.finish();
        fixture
    };
    let found = |a: &Fixture, b: &Fixture| -> Vec<(Option<String>, String)> {
        // The read hold met no checkpoint on either side.
        let usual = "doubts of every side: too-short (a, b)";
        let is_meant = |it: &Difference| it.aspect.starts_with("doubts of") && it.text != usual;
        let own = between(a, b).into_iter().filter(is_meant);
        own.map(|own| (own.series, own.text)).collect()
    };
    let one = "doubts of one side only: none (a), errors (b)".to_owned();
    let every = "doubts of every side: errors and too-short (a, b)".to_owned();
    let of = |name: &str| Some(name.to_owned());
    assert_eq!(found(&with(&[], false), &with(&["read"], false)), [(of("read"), one.clone())]);
    // The same code of another series on the other side is none that both have.
    let unlike = found(&with(&["write"], false), &with(&["read"], false));
    assert_eq!(unlike.len(), 2, "{unlike:#?}");
    assert!(unlike.contains(&(of("read"), one)), "{unlike:#?}");
    assert_eq!(found(&with(&["read"], false), &with(&["read"], false)), [(of("read"), every)]);
    // What is of the whole run stands once.
    let run = found(&with(&[], false), &with(&[], true));
    assert_eq!(run, [(None, "doubts of one side only: none (a), data-check-not-made (b)".to_owned())]);
}
