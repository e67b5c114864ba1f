//! SQLite as a target: the engine's load through the driver, and what SQLite's own shell finds in the same file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation, Signals};
use dyno_engine::error::EngineError;
use dyno_engine::request::{QueryKind, Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::event::{Distribution, Interval, StageFinished, StageKind};
use dyno_results::spec::{Arrivals, End, StageOrder};
use dyno_target::connection::QueryError;
use dyno_target::{Connection, Environment, Target, inspect};
use tempfile::TempDir;

const BEGIN: StatementId = StatementId(0);
const ADD: StatementId = StatementId(1);
const READ: StatementId = StatementId(2);
const COMMIT: StatementId = StatementId(3);
const ROLLBACK: StatementId = StatementId(4);
const ENDLESS: StatementId = StatementId(5);

/// Never ends by itself.
const ENDLESS_SQL: &str =
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// A file with a table of accounts.
struct Bank {
    directory: TempDir,
}

impl Bank {
    fn new(options: &str) -> Self {
        let bank = Self { directory: tempfile::tempdir().unwrap() };
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, 0 FROM n";
        bank.connect(options)
            .execute(&format!(
                "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO account {rows}"
            ))
            .unwrap();
        bank
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("bank.db")
    }

    fn target(&self, options: &str) -> Target {
        Target::parse(&format!("sqlite:{}{options}", self.file().display()), &Environment::empty()).unwrap()
    }

    fn connect(&self, options: &str) -> Connection {
        self.target(options).connect().unwrap()
    }

    /// What SQLite's shell says of the file; `None` where there is no shell.
    fn shell(&self, sql: &str) -> Option<String> {
        let Ok(output) = Command::new("sqlite3").arg(self.file()).arg(sql).output() else {
            println!("skipped: sqlite3 is not installed");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    fn engine(&self, options: &str, what: What, config: EngineConfig) -> Engine {
        let workload: Arc<dyn Workload> = Arc::new(Load::new(what));
        Engine::start(self.target(options).route().unwrap(), &workload, config).unwrap()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Read,
    Write,
    Endless,
}

struct Load {
    what: What,
    types: Vec<String>,
    statements: Vec<Statement>,
}

impl Load {
    fn new(what: What) -> Self {
        let statements = [
            "BEGIN IMMEDIATE",
            "UPDATE account SET balance = balance + $2 WHERE id = $1",
            "SELECT balance FROM account WHERE id = $1",
            "COMMIT",
            "ROLLBACK",
            ENDLESS_SQL,
        ];
        Self { what, types: vec!["all".to_owned()], statements: statements.map(Statement::new).into() }
    }
}

impl Workload for Load {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        Some(ROLLBACK)
    }

    fn client(&self, identity: ClientIdentity, _: u64) -> Box<dyn Client> {
        Box::new(Account { what: self.what, id: i64::from(identity.id) % 100 + 1, step: 0 })
    }
}

struct Account {
    what: What,
    id: i64,
    step: u8,
}

impl Client for Account {
    fn begin(&mut self) -> TransactionType {
        self.step = 0;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.step = 0;
    }

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        self.step += 1;
        match (self.what, self.step) {
            (What::Write, 1) => request.execute(BEGIN, &[]),
            (What::Write, 2) => {
                request.execute(ADD, &[self.id, 1]);
                request.counts_as(QueryKind::Write);
            }
            (What::Write, 3) => {
                assert_eq!(answer.map(|answer| answer.affected), Some(1));
                request.execute(COMMIT, &[]);
                return Step::SendCommit;
            }
            (What::Read, 1) => {
                request.execute(READ, &[self.id]);
                request.counts_as(QueryKind::Read);
            }
            (What::Endless, 1) => request.execute(ENDLESS, &[]),
            (What::Read, _) => {
                assert_eq!(answer.map(|answer| answer.rows), Some(1));
                return Step::Done;
            }
            _ => return Step::Done,
        }
        Step::Send
    }
}

fn order(clients: u32, arrivals: Arrivals, end: End) -> StageOrder {
    StageOrder::new(StageKind::Hold, clients, arrivals, end)
}

fn closed() -> Arrivals {
    Arrivals::Closed { think_time: Duration::ZERO }
}

fn run(engine: &mut Engine, order: &StageOrder) -> (StageFinished, Vec<Interval>) {
    let (outcome, intervals, _) = run_until(engine, order, &AtomicBool::new(false)).unwrap();
    (outcome, intervals)
}

type Ran = (StageFinished, Vec<Interval>, Vec<String>);

fn run_until<'s>(
    engine: &mut Engine,
    order: &StageOrder,
    signals: impl Into<Signals<'s>>,
) -> Result<Ran, EngineError> {
    let (mut intervals, mut errors) = (Vec::new(), Vec::new());
    let outcome = engine.run_stage(order, signals, &mut |observation| match observation {
        Observation::Interval(interval) => intervals.push(interval),
        Observation::Error(error) => errors.push(error.to_string()),
        _ => {}
    })?;
    Ok((outcome, intervals, errors))
}

fn done(intervals: &[Interval]) -> u64 {
    intervals.iter().flat_map(|interval| &interval.types).map(|part| part.done).sum()
}

#[test]
fn every_acknowledged_transaction_is_in_the_file() {
    for options in ["?journal_mode=wal&synchronous=off", "?journal_mode=delete&synchronous=off"] {
        let bank = Bank::new(options);
        let mut engine = bank.engine(options, What::Write, EngineConfig::new(2));
        // The count ends the load, so that every client takes part; a busy file makes them wait or try again.
        let (outcome, intervals) = run(&mut engine, &order(8, closed(), End::TransactionsPerClient(40)));
        assert!(outcome.complete);
        assert_eq!(done(&intervals), 320);
        let writes: u64 =
            intervals.iter().flat_map(|it| &it.types).filter_map(|it| it.queries).map(|it| it.writes).sum();
        assert_eq!(writes, 320);
        assert!(
            intervals.iter().all(|interval| interval.driver_cpu_ns.is_empty()),
            "the library's time is in it"
        );
        let sum = bank.connect(options).query_value::<u64>("SELECT sum(balance) FROM account").unwrap();
        assert_eq!(sum, Some(320));
        if let Some(sum) = bank.shell("SELECT sum(balance), count(*) FROM account") {
            assert_eq!(sum, "320|100");
        }
    }
}

#[test]
fn clients_share_connections() {
    let bank = Bank::new("?journal_mode=wal");
    let config = EngineConfig { connections: Some(2), ..EngineConfig::new(2) };
    let mut engine = bank.engine("", What::Read, config);
    let (outcome, intervals) = run(&mut engine, &order(7, closed(), End::TransactionsPerClient(50)));
    assert_eq!((outcome.complete, done(&intervals), engine.threads()), (true, 350, 2));
    assert!(intervals.iter().filter_map(|it| it.pool.as_ref()).all(|pool| pool.connections <= 2));
}

#[test]
fn an_open_load_keeps_its_schedule_whoever_is_busy() {
    let bank = Bank::new("?journal_mode=wal");
    let mut engine = bank.engine("", What::Read, EngineConfig::new(2));
    let arrivals =
        Arrivals::Open { rate_per_s: 200.0, rate_end_per_s: 200.0, distribution: Distribution::Constant };
    let (outcome, intervals) = run(&mut engine, &order(4, arrivals, End::Duration(Duration::from_secs(2))));
    // Each arrival is served once, by whichever client is free.
    assert_eq!(done(&intervals) + outcome.not_begun, 400);
    // A second stage with more clients, and one with fewer.
    for clients in [6, 1] {
        let (outcome, intervals) =
            run(&mut engine, &order(clients, arrivals, End::Duration(Duration::from_secs(1))));
        assert_eq!(done(&intervals) + outcome.not_begun, 200, "{clients} clients");
    }
}

#[test]
fn a_statement_that_outlasts_its_limit_is_stopped() {
    let bank = Bank::new("");
    let config = EngineConfig { statement_limit: Some(Duration::from_millis(200)), ..EngineConfig::new(1) };
    let mut engine = bank.engine("", What::Endless, config);
    let (outcome, intervals) = run(&mut engine, &order(2, closed(), End::TransactionsPerClient(2)));
    let cancelled: u64 = intervals.iter().flat_map(|it| &it.types).map(|it| it.cancelled).sum();
    assert_eq!((outcome.complete, done(&intervals), cancelled), (true, 0, 4));
}

#[test]
fn what_is_under_way_at_the_end_is_stopped() {
    let bank = Bank::new("");
    let config = EngineConfig {
        drain_timeout: Duration::from_millis(100),
        stopped_drain_timeout: Duration::from_millis(100),
        ..EngineConfig::new(1)
    };
    let mut engine = bank.engine("", What::Endless, config.clone());
    let (outcome, intervals) =
        run(&mut engine, &order(2, closed(), End::Duration(Duration::from_millis(300))));
    assert_eq!((outcome.complete, done(&intervals)), (true, 0));
    // The user stops it: nothing would ever end by itself.
    let mut engine = bank.engine("", What::Endless, config);
    let stop = AtomicBool::new(false);
    let (outcome, ..) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        run_until(&mut engine, &order(2, closed(), End::Duration(Duration::from_secs(3600))), &stop).unwrap()
    });
    assert!(!outcome.complete);
}

#[test]
fn a_wait_for_a_lock_is_stopped_like_a_statement() {
    let bank = Bank::new("");
    let mut holder = bank.connect("");
    holder.execute("BEGIN IMMEDIATE").unwrap();
    let config = EngineConfig { statement_limit: Some(Duration::from_millis(100)), ..EngineConfig::new(1) };
    let mut engine = bank.engine("?busy_timeout=60000", What::Write, config);
    let stage = order(2, closed(), End::TransactionsPerClient(1));
    let (_, intervals, errors) = run_until(&mut engine, &stage, &AtomicBool::new(false)).unwrap();
    let cancelled: u64 = intervals.iter().flat_map(|it| &it.types).map(|it| it.cancelled).sum();
    assert_eq!((done(&intervals), cancelled), (0, 2));
    assert!(errors.is_empty(), "{errors:?}");
    // So is one of a session of dyno's own that has a time for its answer.
    let mut brief = bank.connect("?busy_timeout=60000");
    brief.set_answer_timeout(Duration::from_millis(100));
    let error = brief.execute("BEGIN IMMEDIATE").unwrap_err();
    assert!(matches!(error, QueryError::TimedOut { .. }), "{error}");
}

#[test]
fn a_load_that_others_end_is_over_when_they_are_however_long_a_statement_takes() {
    let bank = Bank::new("");
    let drain = Duration::from_millis(500);
    let config = EngineConfig { drain_timeout: drain, ..EngineConfig::new(1) };
    let mut engine = bank.engine("", What::Endless, config);
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let began = std::time::Instant::now();
    let (outcome, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            over.store(true, Ordering::Relaxed);
        });
        let signals = Signals { stop: &stop, over: Some(&over) };
        let (outcome, intervals, errors) =
            run_until(&mut engine, &order(2, closed(), End::WithOthers), signals).unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        (outcome, intervals)
    });
    // The statements were waited for afterwards, and then stopped.
    let load = Duration::from_secs_f64(outcome.seconds);
    assert!(outcome.complete && load + drain <= began.elapsed(), "{load:?} of {:?}", began.elapsed());
}

#[test]
fn an_open_load_that_is_too_much_loses_nothing_that_it_began() {
    let bank = Bank::new("?journal_mode=wal");
    let mut engine = bank.engine("?synchronous=off", What::Write, EngineConfig::new(1));
    let arrivals = Arrivals::Open {
        rate_per_s: 500_000.0,
        rate_end_per_s: 500_000.0,
        distribution: Distribution::Constant,
    };
    let (outcome, intervals) = run(&mut engine, &order(3, arrivals, End::Duration(Duration::from_secs(1))));
    let ended = done(&intervals);
    assert_eq!(ended + outcome.not_begun, 500_000);
    let sum = bank.connect("").query_value::<u64>("SELECT sum(balance) FROM account").unwrap();
    assert_eq!(sum, Some(ended));
}

#[test]
fn a_file_that_is_locked_for_too_long_is_tried_again_and_told() {
    let bank = Bank::new("");
    let mut holder = bank.connect("");
    holder.execute("BEGIN IMMEDIATE").unwrap();
    let config = EngineConfig { tries_max: 3, ..EngineConfig::new(1) };
    let mut engine = bank.engine("?busy_timeout=1", What::Write, config);
    let stage = order(1, closed(), End::TransactionsPerClient(1));
    let (_, intervals, errors) = run_until(&mut engine, &stage, &AtomicBool::new(false)).unwrap();
    let retries: u64 = intervals.iter().flat_map(|it| &it.types).map(|it| it.retries).sum();
    assert_eq!((done(&intervals), retries), (0, 2));
    assert_eq!(intervals.iter().filter_map(|it| it.errors.get("SQLITE_BUSY")).sum::<u64>(), 3);
    assert!(errors.iter().any(|error| error.contains("database is locked (SQLITE_BUSY)")), "{errors:?}");
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(done(&run(&mut engine, &stage).1), 1);
}

#[test]
fn what_cannot_be_opened_or_written_is_said() {
    let bank = Bank::new("");
    let said = |target: &Target| target.connect().unwrap_err().to_string();
    let nowhere = Target::parse("sqlite:/nowhere/at/all.db", &Environment::empty()).unwrap();
    assert!(said(&nowhere).contains("/nowhere/at/all.db could not be opened"), "{}", said(&nowhere));
    assert!(said(&nowhere).contains("there is no directory /nowhere/at"), "{}", said(&nowhere));
    let missing = Target::parse(
        &format!("sqlite:{}/missing.db?mode=ro", bank.directory.path().display()),
        &Environment::empty(),
    )
    .unwrap();
    assert!(said(&missing).contains("mode=ro makes none"), "{}", said(&missing));
    let mut reader = bank.connect("?mode=ro");
    let refused = reader.execute("DELETE FROM account").unwrap_err();
    assert_eq!(refused.cause(), Some(dyno_target::cause::Cause::ReadOnly), "{refused}");
    fs::write(bank.directory.path().join("text.db"), "no database at all, but a text of some length ")
        .unwrap();
    let text =
        Target::parse(&format!("sqlite:{}/text.db", bank.directory.path().display()), &Environment::empty())
            .unwrap();
    let error = text.connect().map(|mut it| it.query("SELECT * FROM sqlite_schema").unwrap_err());
    assert!(format!("{error:?}").contains("NOTADB"), "{error:?}");
}

#[test]
fn a_full_file_is_an_error_and_no_loss() {
    let bank = Bank::new("");
    let mut connection = bank.connect("");
    connection.execute("PRAGMA max_page_count = 4").unwrap();
    let insert = "INSERT INTO account SELECT id + 1000, 0 FROM account; INSERT INTO account SELECT id + 10000, hex(randomblob(2000)) FROM account";
    let error = connection.execute(insert).unwrap_err();
    assert_eq!(error.cause(), Some(dyno_target::cause::Cause::DiskFull), "{error}");
    assert_eq!(
        connection.query_value::<u64>("SELECT count(*) FROM account WHERE id <= 100").unwrap(),
        Some(100)
    );
}

/// Without its journal a commit cannot be undone: SQLite answers it with an error, and it is done.
#[test]
fn a_commit_whose_journal_was_removed_is_neither_done_nor_failed() {
    let options = "?synchronous=off";
    let bank = Bank::new(options);
    let mut connection = bank.connect(options);
    connection.execute("BEGIN IMMEDIATE; UPDATE account SET balance = 1 WHERE id = 1").unwrap();
    let journal = bank.directory.path().join("bank.db-journal");
    fs::remove_file(&journal).unwrap();
    let error = connection.execute("COMMIT").unwrap_err();
    assert!(error.to_string().contains("SQLITE_IOERR"), "{error}");
    assert!(connection.is_broken(), "what it knows of the file is no longer true");
    let balance = "SELECT balance FROM account WHERE id = 1";
    assert_eq!(bank.connect(options).query_value::<u64>(balance).unwrap(), Some(1));
    // The same under a load, of which somebody removes what journals there are.
    bank.connect(options).execute("UPDATE account SET balance = 0").unwrap();
    let mut engine = bank.engine(options, What::Write, EngineConfig::new(1));
    let is_over = AtomicBool::new(false);
    let (_, intervals) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = fs::remove_file(&journal);
            }
        });
        let ran = run(&mut engine, &order(1, closed(), End::TransactionsPerClient(2000)));
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    let unknown: u64 = intervals.iter().flat_map(|interval| &interval.types).map(|part| part.unknown).sum();
    let sum = bank.connect(options).query_value::<u64>("SELECT sum(balance) FROM account").unwrap().unwrap();
    let done = done(&intervals);
    assert!(unknown > 0 && (done..=done + unknown).contains(&sum), "{done} {unknown} {sum}");
}

#[test]
fn the_caches_of_a_session_are_told_in_bytes() {
    let bank = Bank::new("");
    for (options, bytes) in [("?cache_size=-4096", 4 << 20), ("?cache_size=100", 100 * 4096)] {
        let data = inspect::data(&mut bank.connect(options), "lite", "w", None, &["account"]).unwrap();
        assert_eq!(data.caches.get("cache_size"), Some(&bytes), "{options}: {data:?}");
        assert_eq!((data.caches.get("mmap_size"), data.cache_bytes), (Some(&0), None), "{options}");
    }
}

#[test]
fn a_file_that_was_moved_is_no_replica() {
    let bank = Bank::new("");
    let mut connection = bank.connect("");
    fs::rename(bank.file(), bank.file().with_extension("away")).unwrap();
    let error = connection.execute("UPDATE account SET balance = 1").unwrap_err();
    assert_eq!(error.cause(), Some(dyno_target::cause::Cause::FileMoved), "{error}");
    let said = error.to_string();
    assert!(said.contains("renamed, replaced or removed") && !said.contains("replica"), "{said}");
}

#[test]
fn answers_have_their_names_and_values() {
    let bank = Bank::new("");
    let mut connection = bank.connect("");
    let rows = connection.query("SELECT 1 AS one, NULL AS missing, 'it''s' AS text, 0.5 AS half").unwrap();
    let shown: Vec<(&str, Option<&str>)> = rows[0].iter().collect();
    assert_eq!(shown, [("one", Some("1")), ("missing", None), ("text", Some("it's")), ("half", Some("0.5"))]);
    assert_eq!(connection.execute("UPDATE account SET balance = 1 WHERE id <= 7; SELECT 1").unwrap(), 7);
    assert_eq!(connection.execute("BEGIN; COMMIT").unwrap(), 0);
    let wrong = connection.query("SELECT * FROM missing").unwrap_err().to_string();
    assert!(wrong.contains("no such table: missing (SQLITE_ERROR)"), "{wrong}");
}

#[test]
fn an_answer_without_an_end_is_stopped() {
    let bank = Bank::new("");
    let mut connection = bank.connect("");
    for columns in ["1", "NULL, NULL, NULL, NULL", "hex(zeroblob(50000))"] {
        let endless = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {columns} FROM n"
        );
        let error = connection.query(&endless).unwrap_err();
        assert!(matches!(error, QueryError::TooLarge { .. }), "{columns}: {error}");
    }
    // The session goes on.
    assert_eq!(connection.query_value::<u32>("SELECT 7").unwrap(), Some(7));
}
