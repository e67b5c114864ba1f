//! The ten tests as loads: what is counted is what was done, and what was done stands in the tables.

use dyno_results::spec::{End, Protocol, Segment};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_engine::workload::Workload;
use dyno_target::product::Dialect;
use dyno_target::{Environment, Target};
use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_workload::benchmark::Sending;
use dyno_workload::pgbench::initialize::Initialization;
use dyno_workload::registry::{self, DataOptions};
use dyno_workload::sysbench::{
    Counters, Distribution, FatalErrors, IgnoredErrors, OnError, Options, Snapshot, Sysbench, Test,
};

use crate::database::{LONG, config, wait_until};
use crate::server::{Seen, Server, assert_passed, load, load_until};

fn run(
    server: &Server,
    test: Test,
    options: &Options,
    protocol: Protocol,
    clients: u32,
    events: u64,
) -> Seen {
    let workload = |counters: Arc<Counters>| -> Arc<dyn Workload> {
        options.check(test).unwrap();
        Arc::new(
            Sysbench::new(test, options.clone(), &Dialect::of_wire(server.is_mysql()))
                .with_counters(counters),
        )
    };
    let config = EngineConfig { protocol, tries_max: u32::MAX, seed: 5, ..config(2) };
    load(server, workload, clients, End::TransactionsPerClient(events), config)
}

/// Reads, writes and others of each event, by the specification of sysbench's tests.
const STATEMENTS: [(u64, u64, u64); 10] = [
    (1, 0, 0),
    (14, 0, 2),
    (14, 4, 2),
    (0, 4, 2),
    (0, 1, 0),
    (0, 1, 0),
    (0, 1, 0),
    (0, 1, 0),
    (1, 0, 0),
    (1, 0, 0),
];

#[test]
fn every_test_does_what_it_says_in_both_modes() {
    Server::on_each(|server| {
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            let mut options = Options {
                tables: 2,
                table_size: 2_000,
                distribution: Distribution::Uniform,
                ..Options::default()
            };
            server.prepare(&options).unwrap();
            for (test, (reads, writes, other)) in Test::ALL.into_iter().zip(STATEMENTS) {
                let about = format!("{} {} {protocol:?}", server.name(), test.name());
                options.tables = if test.uses_first_table_only() { 1 } else { 2 };
                let mut seen = Seen::default();
                let checks = server.verified(test, &options, || {
                    seen = run(&server, test, &options, protocol, 3, 20);
                    seen.told()
                });
                assert_passed(&checks, &about);
                assert_eq!((seen.done, seen.failed, seen.unknown), (60, 0, 0), "{about}: {:?}", seen.errors);
                let (queries, counted) = (seen.queries, &seen.counted);
                assert_eq!(
                    (counted.reads, counted.writes, counted.other),
                    (queries.reads, queries.writes, queries.other),
                    "{about}"
                );
                assert_eq!(
                    (counted.events, counted.running, counted.latencies.count()),
                    (60, 0, 60),
                    "{about}"
                );
                assert_eq!(
                    counted.per_client.iter().map(|client| client.0).collect::<Vec<_>>(),
                    [20; 3],
                    "{about}"
                );
                if seen.retries == 0 {
                    assert_eq!(queries.reads, 60 * reads, "{about}");
                    assert_eq!(queries.writes + queries.writes_in_vain, 60 * writes, "{about}");
                    assert_eq!(queries.other, 60 * other + queries.writes_in_vain, "{about}");
                }
            }
        }
    });
}

#[test]
fn writes_that_touch_nothing_are_other() {
    Server::on_each(|server| {
        let options = Options { table_size: 50, distribution: Distribution::Uniform, ..Options::default() };
        server.prepare(&options).unwrap();
        let mut seen = Seen::default();
        let checks = server.verified(Test::Delete, &options, || {
            seen = run(&server, Test::Delete, &options, Protocol::Prepared, 2, 400);
            seen.told()
        });
        assert_passed(&checks, &server.name());
        // 800 deletes of 50 rows: nearly all of the rows are gone, and most deletes found none.
        let (writes, vain) = (seen.queries.writes, seen.queries.writes_in_vain);
        assert!((40..=50).contains(&writes) && writes + vain == 800, "{}: {:?}", server.name(), seen.queries);
        assert_eq!((seen.counted.writes, seen.counted.other), (writes, vain), "{}", server.name());
    });
}

/// Many clients on few rows: deadlocks and waits, and yet no row is lost. Where clients lock several rows, rounds go on
/// until two have met; where they lock one at a time, no statement has to fail.
#[test]
fn conflicts_restart_events_and_lose_no_row() {
    Server::on_each(|server| {
        let server = if server.is_seekdb() { server_that_gives_up_locks_soon() } else { Some(server) };
        let Some(server) = server else { return };
        for skip_trx in [false, true] {
            let options = Options {
                table_size: 20,
                index_updates: 3,
                skip_trx,
                distribution: Distribution::Uniform,
                ..Options::default()
            };
            let about = format!("{} skip_trx {skip_trx}", server.name());
            server.prepare(&options).unwrap();
            let rounds = if skip_trx { 3 } else { 50 };
            let met = (0..rounds).any(|_| {
                let mut seen = Seen::default();
                let checks = server.verified(Test::WriteOnly, &options, || {
                    seen = run(&server, Test::WriteOnly, &options, Protocol::default(), 8, 10);
                    seen.told()
                });
                assert_passed(&checks, &about);
                assert_eq!((seen.done + seen.failed, seen.unknown), (80, 0), "{about}: {:?}", seen.errors);
                // Two clients that delete the same row by themselves both insert it anew, and seekdb tells of a wait for
                // a lock that it gives up, now and then, by an error that sysbench does not restart for.
                let allowed = |error: &String| {
                    skip_trx && error.contains("uplicate")
                        || server.is_seekdb() && error.contains("Statement is timeout (error 4012")
                };
                assert!(seen.failed == 0 || seen.errors.iter().any(allowed), "{about}: {:?}", seen.errors);
                let counted = (seen.counted.events, seen.counted.failed_events, seen.counted.running);
                assert_eq!(counted, (seen.done, seen.failed, 0), "{about}");
                assert!(seen.counted.ignored_errors >= seen.retries, "{about}: {seen:?}");
                seen.counted.ignored_errors > 0
            });
            assert!(met || skip_trx, "{about}: 8 clients on 20 rows never met in {rounds} rounds");
        }
    });
}

/// OceanBase seekdb finds no deadlock: its clients wait until the one or the other has waited long enough.
fn server_that_gives_up_locks_soon() -> Option<Server> {
    let soon = "SET GLOBAL ob_trx_lock_timeout = 100000";
    Server::own_mysql(&MysqlSetup::new(MysqlProduct::SeekDb).with_sql(soon))
}

#[test]
fn without_auto_increment_no_id_comes_twice() {
    Server::on_each(|server| {
        let options = Options { table_size: 0, auto_inc: false, ..Options::default() };
        server.prepare(&options).unwrap();
        let mut seen = Seen::default();
        let sized = Options { table_size: 1_000, ..options };
        let checks = server.verified(Test::Insert, &sized, || {
            seen = run(&server, Test::Insert, &sized, Protocol::Simple, 4, 100);
            seen.told()
        });
        assert_passed(&checks, &server.name());
        assert_eq!(
            (seen.done, seen.retries, seen.failed),
            (400, 0, 0),
            "{}: {:?}",
            server.name(),
            seen.errors
        );
    });
}

#[test]
fn clients_of_random_points_keep_to_their_segment() {
    let Some(server) = Server::postgres() else { return };
    let options = Options { table_size: 900, distribution: Distribution::Uniform, ..Options::default() };
    server.prepare(&options).unwrap();
    let workload = |counters: Arc<Counters>| -> Arc<dyn Workload> {
        let test = Sysbench::new(Test::SelectRandomRanges, options.clone(), &Dialect::of_wire(false));
        Arc::new(test.with_counters(counters).with_segments(3))
    };
    // For sessions that begin from now on, and for this database only.
    let logged = format!("ALTER DATABASE {} SET log_statement = 'all'", server.database());
    server.open().execute(&logged).unwrap();
    // An earlier run may have had a database of the same name.
    let logged_before = server.log().len();
    let config = EngineConfig { protocol: Protocol::Simple, ..config(1) };
    let seen = load(&server, workload, 3, End::TransactionsPerClient(20), config);
    assert_eq!(seen.done, 60);
    let mut statements = server.log().split_off(logged_before);
    statements.retain(|line| line.contains("SELECT count(k) FROM sbtest1 WHERE"));
    assert_eq!(statements.len(), 60);
    let mut segments = [0; 3];
    for statement in statements {
        let firsts: Vec<i64> = statement
            .split("k BETWEEN ")
            .skip(1)
            .map(|range| range.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(firsts.len(), 10, "{statement}");
        let segment = (0..3).find(|n| firsts.iter().all(|first| (n * 300..=n * 300 + 300).contains(first)));
        segments[segment.unwrap_or_else(|| panic!("{statement}")) as usize] += 1;
    }
    assert_eq!(segments, [20; 3]);
}

#[test]
fn three_generators_send_what_one_sends() {
    let Some(server) = Server::postgres() else { return };
    // Of few ids that are drawn, no two are the same: no client waits for another, and none repeats a transaction.
    let options =
        Options { table_size: 10_000_000, distribution: Distribution::Uniform, ..Options::default() };
    server.prepare(&Options { table_size: 0, ..options.clone() }).unwrap();
    let tables = Initialization { scale: 2, ..Initialization::default() };
    tables.run(&mut server.open(), false, &AtomicBool::new(false), &mut |_| {}).unwrap();
    server
        .open()
        .execute(&format!("ALTER DATABASE {} SET log_statement = 'all'", server.database()))
        .unwrap();
    let dialect = Dialect::of_wire(false);
    let sysbench = |counters| -> Arc<dyn Workload> {
        Arc::new(Sysbench::new(Test::ReadWrite, options.clone(), &dialect).with_counters(counters))
    };
    let target = Target::parse("postgres://u@h/d", &Environment::empty()).unwrap().capabilities();
    let tpcb = registry::find("tpcb/tpcb-like").unwrap().benchmark(&DataOptions::default(), &target).unwrap();
    let scripts = tpcb.find(&mut server.open()).unwrap().unwrap().loads().remove(0);
    let sending =
        Sending { protocol: Protocol::Simple, dialect: Some(dialect), seed: 5, ..Sending::default() };
    let tpcb = |_| -> Arc<dyn Workload> { scripts.workload(&sending).unwrap() };
    let workloads: [&dyn Fn(Arc<Counters>) -> Arc<dyn Workload>; 2] = [&sysbench, &tpcb];
    for workload in workloads {
        let sent = |generators: u32, threads: u32| {
            let logged_before = server.log().len();
            let mut done = Vec::new();
            for generator in 0..generators {
                let segment = Segment::new(generator, generators).unwrap();
                let config = EngineConfig { protocol: Protocol::Simple, seed: 5, segment, ..config(threads) };
                let seen = load(&server, workload, 7, End::TransactionsPerClient(4), config);
                assert_eq!((seen.retries, seen.failed, seen.unknown), (0, 0, 0), "{:?}", seen.errors);
                done.push(seen.done);
            }
            let log = server.log().split_off(logged_before);
            let mut statements: Vec<String> =
                log.iter().filter_map(|line| Some(line.split_once("statement: ")?.1.to_owned())).collect();
            statements.sort_unstable();
            (done, statements)
        };
        let (one, expected) = sent(1, 2);
        assert!(one == [28] && expected.len() >= 28 * 7, "{one:?}: {}", expected.len());
        let (three, statements) = sent(3, 1);
        assert_eq!(three, [12, 8, 8]);
        assert_eq!(statements, expected);
    }
}

#[test]
fn an_error_that_is_not_ignored_ends_the_run_or_fails_the_event() {
    Server::on_each(|server| {
        let name = server.name();
        let options = Options { table_size: 100, ..Options::default() };
        server.prepare(&options).unwrap();
        let mysql = server.is_mysql();
        let dialect = Dialect::of_wire(mysql);
        server.open().execute("DROP TABLE sbtest1").unwrap();
        let config = || EngineConfig { protocol: Protocol::Simple, ..config(1) };
        let goes_on = load(
            &server,
            |counters| {
                Arc::new(Sysbench::new(Test::ReadWrite, options.clone(), &dialect).with_counters(counters))
            },
            2,
            End::TransactionsPerClient(5),
            config(),
        );
        assert_eq!((goes_on.done, goes_on.failed, goes_on.retries), (0, 10, 0), "{name}");
        assert_eq!((goes_on.counted.failed_events, goes_on.counted.ignored_errors), (10, 0), "{name}");
        let fatal = FatalErrors::new();
        let ends = load(
            &server,
            |counters| {
                let test = Sysbench::new(Test::ReadWrite, options.clone(), &dialect).with_counters(counters);
                Arc::new(test.with_on_error(OnError::EndRun(Arc::clone(&fatal))))
            },
            2,
            End::TransactionsPerClient(5),
            config(),
        );
        assert_eq!((ends.done, ends.clients_aborted, ends.counted.running), (0, 2, 0), "{name}");
        let error = fatal.first().unwrap();
        assert_eq!(
            (error.number, error.state.as_str()),
            if mysql { (Some(1146), "42S02") } else { (None, "42P01") }
        );
        let placeholder = if mysql { "?" } else { "$1" };
        assert_eq!(error.query, format!("SELECT c FROM sbtest1 WHERE id={placeholder}"), "{name}");
        assert!(error.message.contains("sbtest1"), "{name}: {}", error.message);
        let ignoring = load(
            &server,
            |counters| {
                let test = Sysbench::new(Test::ReadWrite, options.clone(), &dialect).with_counters(counters);
                Arc::new(test.with_ignored_errors(IgnoredErrors::all()))
            },
            1,
            End::TransactionsPerClient(1),
            config(),
        );
        assert_eq!((ignoring.failed, ignoring.counted.ignored_errors), (1, 10), "{name}");
    });
}

#[test]
fn a_lost_connection_is_opened_again_and_counted() {
    Server::on_each(|server| {
        let name = server.name();
        let options = Options { table_size: 1_000, ..Options::default() };
        server.prepare(&options).unwrap();
        let (stop, counted) = (AtomicBool::new(false), OnceLock::<Arc<Counters>>::new());
        // Both connections are ended as they work, and what follows waits until both are there again and work.
        let end_connections = || {
            let so_far = || counted.get().map_or_else(Snapshot::default, |counters| counters.read());
            wait_until("events", || so_far().events >= 10);
            server.end_connections();
            wait_until("two connections that are new", || so_far().reconnects >= 2);
            let before = so_far().events;
            wait_until("events of theirs", || so_far().events >= before + 10);
            stop.store(true, Ordering::Relaxed);
        };
        let mut seen = Seen::default();
        let checks = server.verified(Test::UpdateIndex, &options, || {
            seen = std::thread::scope(|scope| {
                scope.spawn(end_connections);
                let config = EngineConfig { on_loss: OnLoss::Reconnect, ..config(1) };
                let workload = |counters| -> Arc<dyn Workload> {
                    let test = Sysbench::new(
                        Test::UpdateIndex,
                        options.clone(),
                        &Dialect::of_wire(server.is_mysql()),
                    );
                    Arc::new(test.with_counters(Arc::clone(counted.get_or_init(|| counters))))
                };
                load_until(&stop, &server, workload, 2, End::Duration(2 * LONG), config)
            });
            seen.told()
        });
        assert_passed(&checks, &name);
        assert_eq!((seen.counted.reconnects, seen.counted.running), (2, 0), "{name}: {seen:?}");
    });
}
