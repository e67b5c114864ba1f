//! The load through the real engine, and what verification makes of connections that break and of planted faults.

use dyno_results::spec::{End, Protocol, StageOrder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_results::event::Check;
use dyno_target::product::Dialect;
use dyno_wire::endpoint::Endpoint;
use dyno_workload::benchmark::{Done, Sending, SeriesLoad};

use crate::server::Database;
use crate::{load, prepared};

/// All of tpcb.
pub(crate) const WORKLOADS: [&str; 3] = ["tpcb/tpcb-like", "tpcb/simple-update", "tpcb/select-only"];

/// A short stage of load.
pub(crate) struct Run {
    pub(crate) protocol: Protocol,
    pub(crate) clients: u32,
    pub(crate) transactions_per_client: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self { protocol: Protocol::Prepared, clients: 4, transactions_per_client: 50 }
    }
}

impl Run {
    pub(crate) const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

    pub(crate) fn on(&self, load: &dyn SeriesLoad, endpoint: &Endpoint) -> Done {
        self.counted(load, endpoint).0
    }

    /// Commits, and retries.
    fn counted(&self, load: &dyn SeriesLoad, endpoint: &Endpoint) -> (Done, u64) {
        let end = End::TransactionsPerClient(self.transactions_per_client);
        self.until(load, &AtomicBool::new(false), end, endpoint)
    }

    /// The same until it is stopped.
    fn until(&self, load: &dyn SeriesLoad, stop: &AtomicBool, end: End, endpoint: &Endpoint) -> (Done, u64) {
        let dialect = (self.protocol == Protocol::Simple).then(|| Dialect::of_wire(false));
        let sending = Sending {
            protocol: self.protocol,
            dialect,
            threads: 2,
            tries_max: u32::MAX,
            seed: 7,
            ..Sending::default()
        };
        let workload = load.workload(&sending).unwrap();
        let config = EngineConfig {
            protocol: self.protocol,
            tries_max: u32::MAX,
            seed: 7,
            reconnect_timeout: LONG,
            drain_timeout: LONG,
            stopped_drain_timeout: LONG,
            ..EngineConfig::new(2)
        };
        let mut engine = Engine::start(endpoint, &workload, config).unwrap();
        let plan = StageOrder::closed(self.clients, end);
        let (mut commits, mut retries) = (Done::default(), 0);
        let mut observe = |observation| {
            if let Observation::Interval(interval) = observation {
                for part in &interval.types {
                    commits.acknowledged += part.done;
                    commits.unknown += part.unknown;
                    retries += part.retries;
                }
            }
        };
        engine.run_stage(&plan, stop, &mut observe).unwrap();
        (commits, retries)
    }
}

/// Longer than anything takes that a test waits for, however slow the machine.
const LONG: Duration = Duration::from_secs(300);

pub(crate) fn assert_passed(checks: &[Check]) {
    for check in checks {
        assert_eq!(check.passed, Some(true), "{check:#?}");
    }
}

#[test]
fn no_commit_is_lost_when_connections_break() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    let load = load(&mut connection, "tpcb/tpcb-like");
    let before = load.baseline(&mut connection).unwrap().unwrap();
    let endpoint = database.endpoint("postgres");
    let over = AtomicBool::new(false);
    let (commits, broken) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut killer = database.open();
            let mut count = |sql: &str| killer.query_value::<u64>(sql).unwrap().unwrap_or(0);
            // Once one has committed all have been there: a client that never was ends the run.
            let (begun, mut broken) = (Instant::now(), 0);
            while broken < 10 && begun.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(20));
                if count("select count(*) from pgbench_history") > 0 {
                    let victims = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                                   where datname = current_database() and (query like 'END%' or query like 'UPDATE%')";
                    broken += count(victims);
                }
            }
            over.store(true, Ordering::Relaxed);
            broken
        });
        let commits = Run::default().until(load.as_ref(), &over, End::Duration(2 * LONG), &endpoint).0;
        (commits, killer.join().unwrap())
    });
    assert!(broken >= 10 && commits.acknowledged > 0, "{broken} broken, {commits:?}");
    assert_passed(&before.verify(&mut connection, "pg", commits, &[load.acknowledged()]).unwrap());
}

/// They wait for a row that somebody else then has changed.
#[test]
fn a_transaction_that_is_retried_counts_once() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    let isolation = format!("alter database {} set default_transaction_isolation", database.name);
    connection.execute(&format!("{isolation} = 'repeatable read'")).unwrap();
    let load = load(&mut connection, "tpcb/tpcb-like");
    let before = load.baseline(&mut connection).unwrap().unwrap();
    let mut holder = database.open();
    holder.execute("begin; update pgbench_branches set bbalance = bbalance").unwrap();
    let pid: Option<u64> = holder.query_value("select pg_backend_pid()").unwrap();
    let waiting =
        format!("select count(*) from pg_stat_activity where {} = any(pg_blocking_pids(pid))", pid.unwrap());
    let run = Run { clients: 8, ..Run::default() };
    let (commits, retries) = std::thread::scope(|scope| {
        let running = scope.spawn(|| run.counted(load.as_ref(), &database.endpoint("postgres")));
        let begun = Instant::now();
        while connection.query_value::<u64>(&waiting).unwrap() == Some(0) {
            assert!(begun.elapsed() < LONG, "nobody waits for the branch");
            std::thread::sleep(Duration::from_millis(5));
        }
        holder.execute("commit").unwrap();
        running.join().unwrap()
    });
    assert_eq!(commits, Done { acknowledged: 400, ..Done::default() });
    assert_passed(&before.verify(&mut connection, "pg", commits, &[load.acknowledged()]).unwrap());
    assert!(retries > 0);
}

#[test]
fn faults_planted_in_the_data_are_found() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 1).unwrap();
    let endpoint = database.endpoint("postgres");
    let [like, simple, select] = WORKLOADS;
    let teller = "update pgbench_tellers set tbalance = tbalance + 1 where tid = 3";
    let swapped = "update pgbench_tellers set tbalance = tbalance + case tid when 1 then 1 else -1 end where tid in (1, 2)";
    let account = "update pgbench_accounts set abalance = abalance + 1 where aid = 77";
    let faults = [
        (
            like,
            "delete from pgbench_history where ctid = (select min(ctid) from pgbench_history where delta <> 0)",
            "rows-of-pgbench_history four-sums-agree each-teller-and-branch-agrees",
        ),
        (
            like,
            "insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 0)",
            "rows-of-pgbench_history",
        ),
        (like, account, "four-sums-agree"),
        (like, teller, "four-sums-agree each-teller-and-branch-agrees"),
        (like, swapped, "each-teller-and-branch-agrees"),
        (like, "insert into pgbench_accounts values (100001, 1, 0, '')", "rows-of-pgbench_accounts"),
        (simple, teller, "tellers-and-branches-untouched"),
        (simple, swapped, "tellers-and-branches-untouched"),
        (simple, account, "accounts-agree-with-history"),
        (select, account, "nothing-changed"),
        (select, swapped, "nothing-changed"),
        (select, "update pgbench_history set delta = delta + 1", "nothing-changed"),
        (select, "truncate pgbench_history", "rows-of-pgbench_history nothing-changed"),
    ];
    for (workload, fault, expected) in faults {
        let load = load(&mut connection, workload);
        let before = load.baseline(&mut connection).unwrap().unwrap();
        let commits = Run::default().on(load.as_ref(), &endpoint);
        connection.execute(fault).unwrap();
        let checks = before.verify(&mut connection, "pg", commits, &[load.acknowledged()]).unwrap();
        let failed: Vec<&str> = checks
            .iter()
            .filter(|check| check.passed == Some(false))
            .map(|check| check.name.as_str())
            .collect();
        assert_eq!(failed.join(" "), expected, "{workload}: {fault}: {checks:#?}");
        connection.execute("delete from pgbench_accounts where aid > 100000").unwrap();
    }
}
