//! What a client is told and may decide: rows, failures, ends, connections of its own, giving up.

use dyno_results::spec::{Arrivals, End, Protocol, StageOrder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_engine::clock::now_ns;
use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_engine::engine::Engine;
use dyno_engine::error::SessionError;
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, EndedTransaction, Reaction, Reply, StatementFailure, StatementId, Step,
    TransactionType, Workload,
};
use dyno_results::event::Distribution;

use crate::bank::{
    self, Database, Held, LONG_MS, Seen, closed, database, for_ms, run, run_until, wait_until,
};

/// What all clients of a test were told.
#[derive(Debug, Default)]
struct Told {
    values: Vec<String>,
    connected: u32,
    lost: Vec<String>,
    failed: Vec<(String, u32)>,
    ended_well: Vec<u32>,
    ended_badly: Vec<u32>,
    skipped: u64,
    began_again: u32,
    first_rows_ns: Vec<u64>,
}

/// Each client sends one statement a transaction and keeps the rows.
struct One {
    sql: &'static str,
    /// What all clients but the first send, if that is something else.
    others: Option<&'static str>,
    reaction: Reaction,
    /// Gives up by itself in its third transaction.
    aborts: bool,
    told: Arc<Mutex<Told>>,
    types: Vec<String>,
    statements: [Statement; 1],
}

impl One {
    fn new(sql: &'static str) -> Self {
        Self {
            sql,
            others: None,
            reaction: Reaction::Fail,
            aborts: false,
            told: Arc::default(),
            types: vec!["one".to_owned()],
            statements: [Statement::new("ROLLBACK")],
        }
    }
}

impl Workload for One {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        Some(StatementId(0))
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        let told = Arc::clone(&self.told);
        Box::new(OneClient {
            sql: self.others.filter(|_| identity.id > 0).unwrap_or(self.sql),
            reaction: self.reaction,
            aborts: self.aborts,
            told,
            sent: false,
            begun: 0,
        })
    }
}

struct OneClient {
    sql: &'static str,
    reaction: Reaction,
    aborts: bool,
    told: Arc<Mutex<Told>>,
    sent: bool,
    begun: u32,
}

impl Client for OneClient {
    fn begin(&mut self) -> TransactionType {
        self.sent = false;
        self.begun += 1;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.sent = false;
        self.told.lock().unwrap().began_again += 1;
    }

    fn next(&mut self, _answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if self.aborts && self.begun == 3 {
            return Step::Abort;
        }
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        request.keep_rows();
        request.time_first_row();
        request.query(self.sql.as_bytes());
        Step::Send
    }

    fn connected(&mut self, _took_ns: u64) {
        self.told.lock().unwrap().connected += 1;
    }

    fn reply(&mut self, part: Reply<'_>) {
        if let Reply::Row(row) = part {
            let mut values = Vec::new();
            row.for_each(|field| values.push(field.to_string()));
            self.told.lock().unwrap().values.extend(values.into_iter().next());
        }
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        let mut told = self.told.lock().unwrap();
        told.failed.push((failure.error.code().to_string(), failure.tries));
        if self.reaction == Reaction::Retry && failure.tries == 3 { Reaction::Fail } else { self.reaction }
    }

    fn lost(&mut self, error: &SessionError) {
        self.told.lock().unwrap().lost.push(error.to_string());
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        assert!(ended.due_ns <= ended.begun_ns && ended.begun_ns <= ended.ended_ns, "{ended:?}");
        let mut told = self.told.lock().unwrap();
        told.first_rows_ns.extend(ended.first_row_ns);
        if ended.well { told.ended_well.push(ended.tries) } else { told.ended_badly.push(ended.tries) }
    }

    fn skipped(&mut self, due_ns: u64, now_ns: u64) {
        assert!(due_ns < now_ns);
        self.told.lock().unwrap().skipped += 1;
    }
}

fn config() -> EngineConfig {
    EngineConfig { protocol: Protocol::Simple, on_loss: OnLoss::Abort, ..bank::config(1) }
}

fn ran(database: &Database, workload: One, config: EngineConfig, plan: &StageOrder) -> (Seen, Told) {
    let told = Arc::clone(&workload.told);
    let workload: Arc<dyn Workload> = Arc::new(workload);
    let mut engine = Engine::start(&database.endpoint(), &workload, config).unwrap();
    let seen = run(&mut engine, plan);
    drop(engine);
    let told = std::mem::take(&mut *told.lock().unwrap());
    (seen, told)
}

fn times(clients: u32, transactions: u64) -> StageOrder {
    closed(clients, End::TransactionsPerClient(transactions))
}

#[test]
fn rows_reach_the_client_that_asked_for_them() {
    let Some(database) = database("") else { return };
    let (seen, told) =
        ran(&database, One::new("select 'row ' || i from generate_series(1, 3) i"), config(), &times(2, 5));
    assert_eq!(seen.done(), 10);
    assert_eq!(told.values.len(), 30);
    assert_eq!(told.values[..3], ["row 1", "row 2", "row 3"]);
    assert_eq!(told.ended_well, [1; 10]);
}

/// The last row waits for a lock until the time of the first was noted: the load thread has done that when another client of it,
/// which waits until the first row was seen, has had its answer.
#[test]
fn the_first_row_has_a_time_of_its_own() {
    let Some(database) = database("") else { return };
    // So long that the server sends the first of them for the second.
    let rows = "select repeat('x', 100000) from generate_series(1, 2) union all select 'y' from pg_advisory_xact_lock(7)";
    let workload = One { others: Some("select pg_advisory_xact_lock(8)"), ..One::new(rows) };
    let told = Arc::clone(&workload.told);
    let held =
        [7, 8].map(|lock| Held::begin(database.client(), &format!("SELECT pg_advisory_xact_lock({lock})")));
    let released = std::thread::spawn(move || {
        let [of_last_row, of_other] = held;
        wait_until("the first row", || !told.lock().unwrap().values.is_empty());
        of_other.end();
        wait_until("the other client", || !told.lock().unwrap().ended_well.is_empty());
        let released_ns = now_ns();
        of_last_row.end();
        released_ns
    });
    let (seen, told) = ran(&database, workload, config(), &times(2, 1));
    assert_eq!(seen.done(), 2);
    let [_, first_ns] = told.first_rows_ns[..] else { panic!("{:?}", told.first_rows_ns) };
    assert!(first_ns <= released.join().unwrap());
}

#[test]
fn what_returns_no_row_has_no_first_one() {
    let Some(database) = database("") else { return };
    let (seen, told) = ran(&database, One::new("select where false"), config(), &times(1, 2));
    assert_eq!((seen.done(), told.first_rows_ns.len()), (2, 0));
}

#[test]
fn each_transaction_may_have_a_connection_of_its_own() {
    let Some(database) = database("") else { return };
    let config = EngineConfig { connect_per_transaction: true, ..config() };
    let (seen, mut told) = ran(&database, One::new("select pg_backend_pid()"), config, &times(3, 4));
    assert_eq!((seen.done(), told.connected), (12, 12));
    told.values.sort();
    told.values.dedup();
    assert_eq!(told.values.len(), 12, "each in a session of its own");
    assert!(seen.outcome.complete);
}

#[test]
fn the_client_decides_about_a_failure() {
    let Some(database) = database("") else { return };
    let failing = "begin; select 1/0";
    let (seen, told) = ran(&database, One::new(failing), config(), &times(1, 3));
    assert_eq!(told.failed, vec![("22012".to_owned(), 1); 3]);
    assert_eq!((told.ended_badly.as_slice(), seen.sum(|part| part.failed)), ([1; 3].as_slice(), 3));

    let retrying = One { reaction: Reaction::Retry, ..One::new(failing) };
    let (seen, told) = ran(&database, retrying, config(), &times(1, 2));
    assert_eq!((told.began_again, told.ended_badly.as_slice()), (4, [3, 3].as_slice()));
    assert_eq!(seen.sum(|part| part.retries), 4);

    let aborting = One { reaction: Reaction::Abort, ..One::new(failing) };
    let (seen, told) = ran(&database, aborting, config(), &times(2, 5));
    assert_eq!((seen.outcome.clients_aborted, told.failed.len()), (2, 2));
    assert!(!seen.outcome.complete && told.ended_badly.is_empty());
}

#[test]
fn a_client_may_give_up_while_others_go_on() {
    let Some(database) = database("") else { return };
    let (seen, told) = ran(&database, One { aborts: true, ..One::new("select 1") }, config(), &times(2, 9));
    assert_eq!((seen.outcome.clients_aborted, seen.done(), told.ended_well.len()), (2, 4, 4));
}

#[test]
fn a_broken_connection_ends_the_client_where_it_is_not_to_reconnect() {
    let Some(database) = database("create table t (a int)") else { return };
    for (sql, words) in
        [("select pg_terminate_backend(pg_backend_pid())", "57P01"), ("copy t from stdin", "nothing to copy")]
    {
        let (seen, told) = ran(&database, One::new(sql), config(), &times(1, 3));
        assert_eq!(seen.outcome.clients_aborted, 1, "{sql}");
        assert!(told.lost.len() == 1 && told.lost[0].contains(words), "{sql}: {:?}", told.lost);
        assert_eq!(told.connected, 1, "{sql}");
    }
}

#[test]
fn what_is_too_late_is_skipped_and_counted() {
    let Some(database) = database("") else { return };
    let config =
        EngineConfig { skip_later_than: Some(Duration::from_millis(10)), finish_late: false, ..config() };
    let arrivals =
        Arrivals::Open { rate_per_s: 200.0, rate_end_per_s: 200.0, distribution: Distribution::Constant };
    let plan = StageOrder { arrivals, ..closed(1, for_ms(1000)) };
    let (seen, told) = ran(&database, One::new("select pg_sleep(0.04)"), config, &plan);
    let skipped: u64 = seen.intervals.iter().map(|interval| interval.skipped).sum();
    assert!(skipped > 0 && skipped == told.skipped, "{skipped} and {}", told.skipped);
    let (done, not_begun) = (seen.done(), seen.outcome.not_begun);
    // One may be under way when the time is up.
    assert!((199..=201).contains(&(done + skipped + not_begun)), "{done} + {skipped} + {not_begun}");
    assert!(seen.outcome.complete);
}

#[test]
fn skipped_transactions_count_to_a_clients_quota() {
    let Some(database) = database("") else { return };
    let config = EngineConfig { skip_later_than: Some(Duration::from_millis(5)), ..config() };
    let arrivals =
        Arrivals::Open { rate_per_s: 500.0, rate_end_per_s: 500.0, distribution: Distribution::Constant };
    let plan = StageOrder { arrivals, ..times(1, 50) };
    let (seen, told) = ran(&database, One::new("select pg_sleep(0.02)"), config, &plan);
    assert_eq!(seen.done() + told.skipped, 50);
    assert!(told.skipped > 0 && seen.outcome.complete);
}

/// Computes and sends nothing, as a script of `\set` lines does.
struct Thinker;

impl Workload for Thinker {
    fn types(&self) -> &[String] {
        static TYPES: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| vec!["none".to_owned()]);
        &TYPES
    }

    fn statements(&self) -> &[Statement] {
        &[]
    }

    fn timed_from_begin(&self) -> bool {
        true
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        Box::new(ThinkerClient { slow: identity.id == 1 })
    }
}

struct ThinkerClient {
    slow: bool,
}

impl Client for ThinkerClient {
    fn begin(&mut self) -> TransactionType {
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    fn next(&mut self, _answer: Option<&Answer>, _request: &mut Request<'_>) -> Step {
        if self.slow {
            std::thread::sleep(Duration::from_millis(20));
        }
        Step::Done
    }
}

#[test]
fn a_load_that_needs_no_server_ends_in_time_and_is_timed() {
    let Some(database) = database("") else { return };
    let workload: Arc<dyn Workload> = Arc::new(Thinker);
    let mut engine = Engine::start(&database.endpoint(), &workload, config()).unwrap();
    let seen = run(&mut engine, &closed(1, for_ms(1200)));
    assert!(seen.outcome.complete && seen.done() > 0);
    assert_eq!(seen.intervals.iter().filter(|interval| !interval.drain).count(), 2);
    // The second client takes its time, and that is its latency.
    let seen = run(&mut engine, &times(2, 5));
    let longest = seen.intervals.iter().flat_map(|it| &it.types).filter_map(|it| it.service.max_ns()).max();
    assert!(seen.done() == 10 && longest.unwrap() >= 20_000_000, "{longest:?}");
}

#[test]
fn a_stage_that_is_stopped_waits_no_longer_than_it_may() {
    let Some(database) = database("") else { return };
    let one = One::new("select pg_sleep(300)");
    let told = Arc::clone(&one.told);
    let workload: Arc<dyn Workload> = Arc::new(one);
    let config = EngineConfig {
        drain_timeout: Duration::MAX,
        stopped_drain_timeout: Duration::from_millis(50),
        ..config()
    };
    let mut engine = Engine::start(&database.endpoint(), &workload, config).unwrap();
    let stop = AtomicBool::new(false);
    // Stopped when the first second is over: without a limit it would then wait for five minutes.
    let seen = run_until(&mut engine, &closed(2, for_ms(LONG_MS)), &stop, &mut |_| {
        stop.store(true, Ordering::Relaxed);
    });
    assert!(!seen.outcome.complete && seen.done() == 0);
    drop(engine);
    assert!(told.lock().unwrap().lost.is_empty() && seen.sum(|part| part.failed) == 0);
}

#[test]
fn a_client_that_is_done_hangs_up_and_is_not_missed() {
    let Some(database) = database("") else { return };
    let config = EngineConfig { hang_up_when_done: true, ..config() };
    let one = One::new("select count(*) from pg_stat_activity where datname = current_database()");
    let (seen, told) = ran(&database, one, config, &times(3, 4));
    assert!(seen.outcome.complete && told.lost.is_empty());
    assert_eq!((seen.done(), seen.outcome.clients_aborted), (12, 0));
}
