//! What the probe reads of PostgreSQL, and what it says of rights that it has not.

use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_results::event::Event;
use dyno_target::Connection;
use dyno_target::embedded::{self, EmbeddedError, EmbeddedOptions, EmbeddedServer, ServerSpec, VersionSpec};
use dyno_target::inspect::{self, Statistics};
use dyno_target::probe::{self, Probe};

use crate::support::{Server, wait_for};

fn names(tables: &[&str]) -> Vec<String> {
    tables.iter().map(|table| (*table).to_owned()).collect()
}

/// Those of `docs/telemetry.md`, labels as `[…]`.
fn assert_documented<'a>(keys: impl Iterator<Item = &'a String>) {
    let documented = include_str!("../../../../docs/telemetry.md");
    for key in keys {
        let shown = key.split_once('[').map_or_else(|| key.clone(), |(base, _)| format!("{base}[…]"));
        assert!(documented.contains(&format!("`{shown}`")), "{key} is not documented");
    }
}

#[test]
fn every_key_is_documented() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.admin();
    let mut statistics = Statistics::prepare(&mut session, &names(&["pg_class"])).unwrap();
    assert_eq!(statistics.missing(), [] as [String; 0]);
    let values = statistics.read(&mut session).unwrap();
    assert!(values.len() > 40, "{values:?}");
    assert_documented(values.keys());
}

#[test]
fn a_session_that_waits_for_a_lock_is_seen_waiting() {
    let Some(server) = Server::start(&[]) else { return };
    let mut session = server.admin();
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let idle = statistics.read(&mut session).unwrap();
    assert_eq!((idle["transaction_age_max_seconds"], idle["lock_waiting_sessions"]), (0.0, 0.0));
    let mut holder = server.tcp("user=postgres");
    holder.execute("CREATE TABLE wanted (x int)").unwrap();
    holder.execute("BEGIN; LOCK TABLE wanted").unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.tcp("user=postgres").execute("SELECT * FROM wanted").is_ok());
        wait_for("the wait to be seen", || {
            let values = statistics.read(&mut session).unwrap();
            values["waits_sessions[Lock]"] == 1.0
                && values["lock_waiting_sessions"] == 1.0
                && values["connections_active"] == 1.0
                && values["waits_sessions[CPU]"] == 0.0
                && values["transaction_age_max_seconds"] > 0.0
        });
        holder.execute("COMMIT").unwrap();
        assert!(waiter.join().unwrap());
    });
}

#[test]
fn sizes_of_the_workloads_tables_are_read_now_and_then() {
    // Nobody else counts rows, or removes dead ones.
    let Some(server) = Server::start(&["autovacuum=off"]) else { return };
    let mut session = server.admin();
    session
        .execute(
            "CREATE TABLE event (id int PRIMARY KEY, x int); CREATE TABLE \"Odd one\" (id int) PARTITION BY RANGE (id);
             CREATE TABLE odd_1 PARTITION OF \"Odd one\" FOR VALUES FROM (0) TO (10);
             CREATE TABLE odd_2 PARTITION OF \"Odd one\" FOR VALUES FROM (10) TO (20)",
        )
        .unwrap();
    let tables = names(&["event", "\"Odd one\"", "missing"]);
    let mut statistics = Statistics::prepare(&mut session, &tables).unwrap();
    let first = statistics.read(&mut session).unwrap();
    assert_eq!((first["table_bytes[event]"], first["index_bytes[event]"]), (0.0, 8192.0));
    assert_eq!(first["table_bytes[\"Odd one\"]"], 0.0);
    assert!(!first.keys().any(|key| key.contains("missing")), "{first:?}");
    let mut worker = server.tcp("user=postgres");
    worker.execute("INSERT INTO event SELECT i, i FROM generate_series(1, 5000) i").unwrap();
    worker.execute("INSERT INTO \"Odd one\" SELECT generate_series(0, 19)").unwrap();
    worker.execute("DELETE FROM event WHERE id <= 1000").unwrap();
    drop(worker);
    wait_for("the tables to have grown", || {
        let values = statistics.read(&mut session).unwrap();
        let Some(table_bytes) = values.get("table_bytes[event]") else { return false };
        assert!(values.contains_key("database_bytes"));
        *table_bytes > 100_000.0
            && values["index_bytes[event]"] > 100_000.0
            && values["table_bytes[\"Odd one\"]"] == 16384.0
            && values["table_rows[event]"] == 4000.0
            && values["dead_rows[event]"] == 1000.0
            && values["table_rows[\"Odd one\"]"] == 20.0
    });
    // What is just loaded is read as it is.
    let data = inspect::data(&mut session, "pg", "events", None, &["event"]).unwrap();
    assert!(data.tables[0].table_bytes.unwrap() > 100_000);
}

#[test]
fn a_locked_table_holds_nothing_up() {
    let Some(server) = Server::start(&[]) else { return };
    let mut session = server.admin();
    session.execute("CREATE TABLE locked (id int); CREATE TABLE free (id int)").unwrap();
    let mut statistics = Statistics::prepare(&mut session, &names(&["free", "locked"])).unwrap();
    let mut holder = server.tcp("user=postgres");
    holder.execute("BEGIN; LOCK TABLE locked").unwrap();
    let values = statistics.read(&mut session).unwrap();
    assert!(values.contains_key("database_bytes") && values.contains_key("connections_active"));
    assert!(!values.contains_key("table_bytes[locked]"), "{values:?}");
    holder.execute("ROLLBACK").unwrap();
    wait_for("the sizes to be read again", || {
        statistics.read(&mut session).unwrap().contains_key("table_bytes[locked]")
    });
}

#[test]
fn rights_that_are_missing_are_named_with_their_grants() {
    let Some(server) = Server::start(&[]) else { return };
    server.admin().execute("REVOKE SELECT ON pg_stat_bgwriter, pg_stat_wal FROM PUBLIC").unwrap();
    let missing = |server: &Server| {
        let mut session = server.tcp("user=plain");
        Statistics::prepare(&mut session, &[]).unwrap().missing().to_vec()
    };
    let found = missing(&server);
    let [others, views] = found.as_slice() else { panic!("{found:?}") };
    assert!(others.ends_with(": GRANT pg_monitor TO plain"), "{others}");
    let grant = "GRANT SELECT ON pg_catalog.pg_stat_bgwriter, pg_catalog.pg_stat_wal TO plain";
    assert!(views.ends_with(grant), "{views}");
    // What is said helps.
    server.admin().execute(&format!("GRANT pg_monitor TO plain; {grant}")).unwrap();
    assert_eq!(missing(&server), [] as [String; 0]);
}

#[test]
fn the_probe_says_once_what_it_may_not_read() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (sender, events) = mpsc::channel();
    let options = probe::ProbeOptions {
        database: Some(Route::Wire(server.settings("user=plain", false).endpoint().unwrap())),
        interval: Duration::from_millis(50),
        ..probe::ProbeOptions::new("pg")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    let next = || events.recv_timeout(Duration::from_secs(300)).unwrap();
    match next() {
        Event::Notice(notice) => {
            assert!(notice.text.contains("GRANT pg_monitor TO plain"), "{}", notice.text);
        }
        other => panic!("{other:?}"),
    }
    let _ = next();
    server.restart();
    let mut texts = Vec::new();
    while texts.len() < 2 {
        if let Event::Notice(notice) = next() {
            texts.push(notice.text);
        }
    }
    assert!(texts[0].contains("missing for a while") && texts[1].contains("read again"), "{texts:?}");
    drop(probe);
    assert!(events.try_iter().all(|event| matches!(event, Event::Sample(_))));
}

#[test]
fn a_prepared_statement_that_is_gone_is_done_without() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.admin();
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let before = statistics.read(&mut session).unwrap();
    session.execute("DEALLOCATE ALL").unwrap();
    let after = statistics.read(&mut session).unwrap();
    assert!(before.keys().filter(|key| *key != "database_bytes").all(|key| after.contains_key(key)));
}

#[test]
fn several_statistics_of_a_session_have_statements_of_their_own() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.admin();
    let mut all = [(); 3].map(|()| Statistics::prepare(&mut session, &[]).unwrap());
    all.iter_mut().for_each(|statistics| assert!(!statistics.read(&mut session).unwrap().is_empty()));
    let prepared = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'dyno_probe%'";
    assert_eq!(session.query_value::<u64>(prepared).unwrap(), Some(6));
}

/// The newest has all that the installed one may lack.
#[test]
fn the_newest_version_tells_what_it_has() {
    of_versions(18..=18);
}

#[test]
#[ignore = "slow: every version of PostgreSQL"]
fn every_version_tells_what_it_has() {
    of_versions(13..=18);
}

/// All that versions differ in: of those that are in the cache, or all where fetching is asked for.
fn of_versions(majors: RangeInclusive<u32>) {
    let asked = std::env::var_os("DYNO_TEST_FETCH").is_some();
    let mut tried = 0;
    for major in majors {
        let base = tempfile::Builder::new().prefix("dynotest-telemetry-").tempdir_in("/var/tmp").unwrap();
        let version = VersionSpec { major, minor: (major == 16).then_some(4) };
        let options = EmbeddedOptions {
            server: Some(ServerSpec::Version(version)),
            directory: Some(base.path().to_owned()),
            connections_max: 16,
            ..EmbeddedOptions::default()
        };
        let cached = embedded::available(&options);
        if !asked && !cached {
            continue;
        }
        tried += 1;
        let server = match EmbeddedServer::start(&options, &mut |_| ()) {
            Err(error @ EmbeddedError::NoBinaries { .. }) if !cached => {
                println!("skipped: {error}");
                continue;
            }
            started => started.unwrap(),
        };
        check_version(major, &mut Connection::open(&server.endpoint()).unwrap());
        server.stop().unwrap();
    }
    if tried == 0 {
        println!("skipped: no fetched PostgreSQL is cached; DYNO_TEST_FETCH=1 fetches some");
    }
}

/// A server that syncs nothing counts nothing, whatever is committed.
#[test]
fn a_commit_of_dynos_own_shows_whether_syncs_are_counted() {
    for (setting, counts) in [("fsync=on", true), ("fsync=off", false)] {
        let Some(server) = Server::start(&[setting]) else { return };
        let mut session = server.admin();
        let before = inspect::log_syncs(&mut session).unwrap().expect("PostgreSQL counts them");
        let after = inspect::log_syncs_later(&mut session, before).unwrap().unwrap();
        assert_eq!(after > before, counts, "{setting}: {before} {after}");
    }
}

fn check_version(major: u32, session: &mut Connection) {
    let mut statistics = Statistics::prepare(session, &names(&["pg_class"])).unwrap();
    let values = statistics.read(session).unwrap();
    assert_documented(values.keys());
    let mut expected = vec![
        "transactions_committed_total",
        "temp_files_total",
        "wal_bytes_total",
        "checkpoints_timed_total",
        "buffers_written_total",
        "buffers_allocated_total",
        "connections_active",
        "waits_sessions[CPU]",
        "waits_sessions[Lock]",
        "transaction_age_max_seconds",
        "autovacuum_workers",
        "table_bytes[pg_class]",
        "table_rows[pg_class]",
    ];
    if major >= 14 {
        expected.extend([
            "wal_records_total",
            "wal_write_operations_total",
            "wal_fsyncs_total",
            "log_waits_total",
        ]);
    }
    if major >= 16 {
        expected.extend([
            "io_read_bytes_total[client]",
            "io_write_bytes_total[writer]",
            "io_extend_bytes_total[client]",
            "io_fsyncs_total[writer]",
            "io_read_bytes_total[autovacuum]",
        ]);
    }
    for key in expected {
        assert!(values.contains_key(key), "{major} has no {key}: {values:?}");
    }
    assert_eq!(values.keys().any(|key| key.starts_with("io_")), major >= 16, "{major}: {values:?}");
    assert!(!values.contains_key("io_read_bytes_total[writer]"), "who never reads has no such key");
}
