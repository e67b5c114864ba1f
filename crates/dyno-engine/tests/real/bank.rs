//! A small workload of the tests' own, and a database for it.

use dyno_results::spec::{End, StageOrder};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::event::{Interval, StageFinished};
use dyno_test_servers::{Postgres, Setup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};

/// What a client does in each transaction, statement by statement; the last one may be durable.
pub(crate) struct Script {
    pub(crate) statements: Vec<Statement>,
    pub(crate) rollback: bool,
    types: Vec<String>,
}

impl Script {
    pub(crate) fn new(lines: &[&str]) -> Self {
        Self::of(lines.iter().copied().map(Statement::new).collect())
    }

    pub(crate) fn of(mut statements: Vec<Statement>) -> Self {
        statements.push(Statement::text("ROLLBACK"));
        Self { statements, rollback: true, types: vec!["only".to_owned()] }
    }
}

impl Workload for Script {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        self.rollback.then(|| StatementId(self.statements.len() as u16 - 1))
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        let lines = &self.statements[..self.statements.len() - 1];
        let parameters = lines
            .iter()
            .map(|line| usize::from(line.sql().contains("$1")) + usize::from(line.sql().contains("$2")))
            .collect();
        Box::new(ScriptClient { parameters, line: 0, id: i64::from(identity.id), drawn: 0 })
    }
}

/// Runs the lines in order; `$1` is the client's number and `$2` counts its transactions.
struct ScriptClient {
    /// How many each line has.
    parameters: Vec<usize>,
    line: u16,
    id: i64,
    drawn: i64,
}

impl Client for ScriptClient {
    fn begin(&mut self) -> TransactionType {
        self.line = 0;
        self.drawn += 1;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.line = 0;
    }

    fn next(&mut self, _answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        let Some(parameters) = self.parameters.get(usize::from(self.line)) else { return Step::Done };
        request.execute(StatementId(self.line), &[self.id, self.drawn][..*parameters]);
        self.line += 1;
        if usize::from(self.line) == self.parameters.len() { Step::SendCommit } else { Step::Send }
    }
}

/// A database of a test's own on a PostgreSQL.
#[derive(Debug)]
pub(crate) struct Database {
    server: Arc<Postgres>,
    name: String,
}

/// A new one, in which `sql` was run, on the server that tests share; `None` where this machine has none.
pub(crate) fn database(sql: &str) -> Option<Database> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let server = Postgres::shared(&Setup::default())?;
    let name = format!("engine_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    server.psql(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    server.psql(&format!("CREATE DATABASE {name}"));
    let database = Database { server, name };
    if !sql.is_empty() {
        database.psql(sql);
    }
    Some(database)
}

/// The same on a server of the test's own.
pub(crate) fn own_server(sql: &str) -> Option<Database> {
    let server = Postgres::start(&Setup { sql: sql.to_owned(), ..Setup::default() })?;
    Some(Database { server: Arc::new(server), name: "postgres".to_owned() })
}

impl Database {
    /// Runs SQL as the superuser; returns the values, a line for each row.
    pub(crate) fn psql(&self, sql: &str) -> String {
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql];
        self.server.client("psql", &self.name, &arguments)
    }

    /// psql as it reads what it is to do from standard input.
    pub(crate) fn client(&self) -> Command {
        let mut psql = self.server.command("psql", &self.name);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        psql
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint {
            address: Address::Tcp(self.server.address),
            login: Arc::new(Login {
                user: "postgres".to_owned(),
                password: None,
                database: self.name.clone(),
                parameters: Vec::new(),
                tls: Tls::Disable,
                channel_binding: ChannelBinding::Disable,
            }),
            wire: Wire::Postgres,
            connect_timeout: None,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.address.port()
    }

    /// Process id of the server's first process.
    pub(crate) fn server_pid(&self) -> u32 {
        self.server.pid()
    }

    /// Ends the server, which is the test's own, as a crash would.
    pub(crate) fn crash_server(&mut self) {
        Arc::get_mut(&mut self.server).unwrap().crash();
    }
}

/// A transaction of somebody else's that stays open.
pub(crate) struct Held {
    client: Child,
    input: ChildStdin,
}

impl Held {
    /// Has a client program, which reads SQL from standard input, run `sql` in a transaction and leave it open.
    pub(crate) fn begin(mut client: Command, sql: &str) -> Self {
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        writeln!(input, "BEGIN; {sql}; SELECT 'held';").unwrap();
        let mut lines = BufReader::new(client.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "held"), "{sql}: the client has ended");
        Self { client, input }
    }

    /// Commits it.
    pub(crate) fn end(self) {
        let Self { mut client, mut input } = self;
        writeln!(input, "COMMIT;").unwrap();
        drop(input);
        assert!(client.wait().unwrap().success());
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_millis(LONG_MS), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// With limits on time that only an engine or a server reaches that is broken, however slow the machine.
pub(crate) fn config(threads: u32) -> EngineConfig {
    let long = Duration::from_secs(300);
    EngineConfig {
        reconnect_timeout: long,
        drain_timeout: long,
        stopped_drain_timeout: long,
        ..EngineConfig::new(threads)
    }
}

pub(crate) fn engine(database: &Database, lines: &[&str], config: EngineConfig) -> Engine {
    let workload: Arc<dyn Workload> = Arc::new(Script::new(lines));
    Engine::start(&database.endpoint(), &workload, config).unwrap()
}

pub(crate) fn closed(clients: u32, end: End) -> StageOrder {
    StageOrder { stage: 1, ..StageOrder::closed(clients, end) }
}

pub(crate) fn for_ms(ms: u64) -> End {
    End::Duration(Duration::from_millis(ms))
}

/// Longer than anything that a stage is run for takes, in milliseconds.
pub(crate) const LONG_MS: u64 = 300_000;

/// All that a stage brought.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) errors: Vec<String>,
    pub(crate) outcome: StageFinished,
}

impl Seen {
    /// Sums a count over all intervals, the drain included.
    pub(crate) fn sum(&self, count: impl Fn(&dyno_results::event::TypeInterval) -> u64) -> u64 {
        self.intervals.iter().flat_map(|interval| &interval.types).map(count).sum()
    }

    pub(crate) fn done(&self) -> u64 {
        self.sum(|part| part.done)
    }

    pub(crate) fn reconnects(&self) -> u64 {
        reconnects(&self.intervals)
    }

    /// How often an error of this code was counted.
    pub(crate) fn errors_of(&self, code: &str) -> u64 {
        errors_of(&self.intervals, code)
    }
}

pub(crate) fn run(engine: &mut Engine, plan: &StageOrder) -> Seen {
    run_until(engine, plan, &AtomicBool::new(false), &mut |_| {})
}

/// Runs a stage; `look` sees each observation as it comes.
pub(crate) fn run_until(
    engine: &mut Engine,
    plan: &StageOrder,
    stop: &AtomicBool,
    look: &mut dyn FnMut(&Observation),
) -> Seen {
    let (mut intervals, mut errors) = (Vec::new(), Vec::new());
    let outcome = engine
        .run_stage(plan, stop, &mut |observation| {
            look(&observation);
            match observation {
                Observation::Interval(interval) => intervals.push(interval),
                Observation::Error(error) => errors.push(error.to_string()),
                _ => {}
            }
        })
        .unwrap();
    Seen { intervals, errors, outcome }
}

/// Runs a stage, whose plan is long enough for anything, until its intervals show `enough`.
pub(crate) fn run_until_enough(
    engine: &mut Engine,
    plan: &StageOrder,
    look: &mut dyn FnMut(&Observation),
    enough: impl Fn(&[Interval]) -> bool,
) -> Seen {
    let (stop, mut intervals) = (AtomicBool::new(false), Vec::new());
    run_until(engine, plan, &stop, &mut |observation| {
        look(observation);
        if let Observation::Interval(interval) = observation {
            intervals.push(interval.clone());
            if !stop.load(Ordering::Relaxed) && enough(&intervals) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    })
}

/// Whether an interval of the load is over in which something was done.
pub(crate) fn has_done_something(observation: &Observation) -> bool {
    let Observation::Interval(interval) = observation else { return false };
    interval.types.iter().any(|part| part.done > 0)
}

pub(crate) fn reconnects(intervals: &[Interval]) -> u64 {
    intervals.iter().map(|interval| interval.reconnects).sum()
}

pub(crate) fn errors_of(intervals: &[Interval], code: &str) -> u64 {
    intervals.iter().filter_map(|interval| interval.errors.get(code)).sum()
}
