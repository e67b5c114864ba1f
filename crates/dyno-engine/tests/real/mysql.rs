//! The same engine against the servers that speak MySQL's protocol.

use dyno_results::spec::{End, Protocol};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_engine::request::{QueryKind, Request, Statement, Value};
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, Reaction, Reply, StatementFailure, StatementId, Step, TransactionType,
    Workload,
};
use dyno_results::event::Queries;
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Password, Tls, Wire};
use dyno_wire::my::handshake::Options;

use crate::bank::{
    Held, LONG_MS, Script, closed, config, for_ms, has_done_something, reconnects, run, run_until_enough,
    wait_until,
};

const BOTH: [MysqlProduct; 2] = [MysqlProduct::Mysql, MysqlProduct::MariaDb];
const TABLE: &str = "CREATE TABLE log (client int, number int, note varchar(40))";

/// A database of the test's own, on a server that it shares or on one of its own.
struct Database {
    server: Arc<Mysql>,
    name: String,
}

impl Database {
    /// A new one on the server of this product that tests share; `None` where this machine cannot have it.
    fn on(product: MysqlProduct, name: &str) -> Option<Self> {
        let (server, name) = (Mysql::shared(&MysqlSetup::new(product))?, format!("engine_{name}"));
        server.sql(&format!("CREATE DATABASE {name}"));
        Some(Self { server, name })
    }

    /// Runs `job` with one on each of these products, at the same time.
    fn on_each(products: &[MysqlProduct], name: &str, job: impl Fn(Self) + Sync) {
        std::thread::scope(|scope| {
            for product in products {
                let job = &job;
                scope.spawn(move || Self::on(*product, name).map(job));
            }
        });
    }

    fn own(server: Mysql) -> Self {
        Self { server: Arc::new(server), name: "test".to_owned() }
    }

    fn product(&self) -> MysqlProduct {
        self.server.product()
    }

    fn sql(&self, sql: &str) -> String {
        self.server.sql(&format!("USE {}; {sql}", self.name))
    }

    /// The client program as it reads what it is to do from standard input.
    fn client(&self) -> Command {
        let mut client = self.server.client("root", &self.server.password);
        client.args(["--unbuffered", &format!("--database={}", self.name)]);
        client
    }

    fn endpoint(&self) -> Endpoint {
        endpoint(&self.server, &self.name)
    }

    /// Ends the load's connections; one that is gone already is no matter.
    fn kill_connections(&self) {
        let others = "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND db = ";
        for id in self.server.sql(&format!("{others}'{}'", self.name)).lines() {
            let mut client = self.server.client("root", &self.server.password);
            client.args(["-e", &format!("KILL {id}")]).output().unwrap();
        }
    }
}

fn endpoint(server: &Mysql, database: &str) -> Endpoint {
    let login = Login {
        user: "root".to_owned(),
        password: Some(Password::new(server.password.clone())),
        database: database.to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Disable,
    };
    Endpoint {
        address: Address::Tcp(server.address),
        login: Arc::new(login),
        wire: Wire::MySql(Options::default()),
        connect_timeout: None,
    }
}

fn script(database: &Database, statements: Vec<Statement>, config: EngineConfig) -> Engine {
    let workload: Arc<dyn Workload> = Arc::new(Script::of(statements));
    Engine::start(&database.endpoint(), &workload, config).unwrap()
}

fn insert() -> Statement {
    Statement::new("INSERT INTO log (client, number) VALUES ($1, $2)")
}

#[test]
fn every_acknowledged_transaction_is_there_in_both_modes() {
    Database::on_each(MysqlProduct::tested(), "acknowledged", |database| {
        let product = database.product();
        database.sql(TABLE);
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            database.sql("DELETE FROM log");
            let config = EngineConfig { protocol, ..config(2) };
            let statements = vec![Statement::text("BEGIN"), insert(), Statement::text("COMMIT")];
            let mut engine = script(&database, statements, config);
            let seen = run(&mut engine, &closed(7, End::TransactionsPerClient(30)));
            assert!(seen.outcome.complete && seen.errors.is_empty(), "{product} {protocol:?}: {seen:?}");
            assert_eq!((seen.done(), seen.sum(|part| part.statements)), (210, 630), "{product} {protocol:?}");
            let found = database
                .sql("SELECT count(*), count(DISTINCT client, number), min(number), max(client) FROM log");
            assert_eq!(found.trim(), "210\t210\t1\t6", "{product} {protocol:?}");
        }
    });
}

#[test]
fn the_extended_protocol_is_refused() {
    let Some(database) = Database::on(MysqlProduct::Mysql, "extended") else { return };
    let config = EngineConfig { protocol: Protocol::Extended, ..config(1) };
    let workload: Arc<dyn Workload> = Arc::new(Script::of(vec![Statement::new("SELECT 1")]));
    let refused = Engine::start(&database.endpoint(), &workload, config).unwrap_err();
    assert!(matches!(refused, EngineError::NotExtended));
}

#[test]
fn what_the_server_refuses_to_prepare_is_told_in_its_words() {
    let Some(database) = Database::on(MysqlProduct::MariaDb, "refused") else { return };
    let statements = vec![Statement::new("SELECT 1"), Statement::new("SELECT nothing FROM nowhere")];
    let mut engine = script(&database, statements, config(1));
    let refused = engine.connect(2, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let EngineError::Connect { source, .. } = &refused else { panic!("{refused}") };
    assert_eq!(source.server_error().unwrap().code().to_string(), "1146", "{refused}");
}

/// Between the one row and the other each client passes a third, which somebody else holds until two clients have come so
/// far, each with a row that the other wants.
#[test]
fn a_deadlock_is_tried_again_and_the_sums_agree() {
    Database::on_each(&BOTH, "deadlocked", |database| {
        let product = database.product();
        let rows = "INSERT INTO pair VALUES (0, 0), (1, 0), (2, 0)";
        database.sql(&format!("CREATE TABLE pair (id int PRIMARY KEY, n int); {rows}"));
        let statements = vec![
            Statement::text("BEGIN"),
            Statement::new("UPDATE pair SET n = n + 1 WHERE id = $1 % 2"),
            Statement::new("SELECT n FROM pair WHERE id = 2 LOCK IN SHARE MODE"),
            Statement::new("UPDATE pair SET n = n + 1 WHERE id = ($1 + 1) % 2"),
            Statement::text("COMMIT"),
        ];
        let config = EngineConfig { tries_max: u32::MAX, ..config(2) };
        let mut engine = script(&database, statements, config);
        let held = Held::begin(database.client(), "UPDATE pair SET n = n + 1 WHERE id = 2");
        let passing = format!(
            "SELECT count(*) FROM information_schema.processlist \
             WHERE db = '{}' AND info LIKE 'SELECT n FROM pair%'",
            database.name
        );
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_until("two clients are to pass", || database.server.sql(&passing).trim() == "2");
                held.end();
            });
            run(&mut engine, &closed(8, End::TransactionsPerClient(50)))
        });
        assert_eq!((seen.done(), seen.sum(|part| part.failed)), (400, 0), "{product} {:?}", seen.errors);
        let found = database.sql("SELECT min(n), max(n) FROM pair WHERE id < 2");
        assert_eq!(found.trim(), "400\t400", "{product}");
        let (deadlocks, timeouts) = (seen.errors_of("1213"), seen.errors_of("1205"));
        assert!(deadlocks > 0, "{product} {:?}", seen.errors);
        assert_eq!(seen.sum(|part| part.retries), deadlocks + timeouts, "{product} {:?}", seen.errors);
    });
}

#[test]
fn a_connection_that_is_killed_comes_back_with_its_statements() {
    Database::on_each(&BOTH, "killed", |database| {
        let product = database.product();
        database.sql(TABLE);
        let mut engine = script(&database, vec![insert()], config(2));
        let mut killed = false;
        let mut kill = |observation: &Observation| {
            if !killed && has_done_something(observation) {
                killed = true;
                database.kill_connections();
            }
        };
        let plan = closed(4, for_ms(LONG_MS));
        let seen = run_until_enough(&mut engine, &plan, &mut kill, |intervals| reconnects(intervals) >= 4);
        assert_eq!(seen.reconnects(), 4, "{product}: {:?}", seen.errors);
        let (done, unknown) = (seen.done(), seen.sum(|part| part.unknown));
        let found: u64 = database.sql("SELECT count(*) FROM log").trim().parse().unwrap();
        assert!((done..=done + unknown).contains(&found), "{product}: {found} of {done} and {unknown}");
    });
}

#[test]
fn a_server_that_dies_is_told_and_ends_the_stage() {
    let Some(mut server) = Mysql::start(&MysqlSetup::new(MysqlProduct::Mysql).with_sql(TABLE)) else {
        return;
    };
    let config = EngineConfig { reconnect_timeout: Duration::from_millis(500), ..config(1) };
    let workload: Arc<dyn Workload> = Arc::new(Script::of(vec![insert()]));
    let mut engine = Engine::start(&endpoint(&server, "test"), &workload, config).unwrap();
    let mut killed = false;
    let mut said = Vec::new();
    let plan = closed(3, for_ms(LONG_MS));
    let ended = engine.run_stage(&plan, &AtomicBool::new(false), &mut |observed| {
        if !std::mem::replace(&mut killed, true) {
            server.kill();
        }
        if let Observation::Error(error) = observed {
            said.push(error.to_string());
        }
    });
    assert!(ended.is_err() || !ended.unwrap().complete);
    assert!(!said.is_empty());
}

/// A client that does what its steps say once, and remembers what it heard.
struct Told {
    step: usize,
    heard: Arc<Mutex<Vec<String>>>,
}

struct Telling {
    statements: Vec<Statement>,
    types: Vec<String>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Workload for Telling {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn client(&self, _identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        Box::new(Told { step: 0, heard: Arc::clone(&self.heard) })
    }
}

impl Told {
    fn hear(&self, text: String) {
        self.heard.lock().unwrap().push(text);
    }
}

impl Client for Told {
    fn begin(&mut self) -> TransactionType {
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if let Some(answer) = answer {
            self.hear(format!(
                "{} answered, {} rows, {} affected",
                answer.statements, answer.rows, answer.affected
            ));
        }
        self.step += 1;
        match self.step {
            1 => {
                let note = Value::Text(br"it's a \ note");
                request.execute_values(StatementId(0), &[note, Value::Integer(-7), Value::Null]);
                request.counts_as(QueryKind::Write);
            }
            2 => {
                request.execute(StatementId(1), &[-7]);
                request.keep_rows();
                request.counts_as(QueryKind::Read);
            }
            3 => request.prepare(5, b"SELECT note, number + ? FROM log WHERE number = ?"),
            4 => {
                request.execute_prepared(5, &[Value::Integer(8), Value::Integer(-7)]);
                request.keep_rows();
            }
            5 => {
                request.execute(StatementId(2), &[99]);
                request.counts_as(QueryKind::Write);
            }
            // Two in one go.
            6 => {
                request.query(b"SELECT 1");
                request.execute(StatementId(1), &[-7]);
            }
            7 => return Step::Connect(0),
            8 => {
                request.execute(StatementId(1), &[-7]);
                request.keep_rows();
            }
            9 => request.query(b"SELECT broken"),
            _ => return Step::Done,
        }
        Step::Send
    }

    fn reply(&mut self, part: Reply<'_>) {
        match part {
            Reply::Row(row) => {
                let mut values = Vec::new();
                row.for_each(|field| values.push(field.to_string()));
                self.hear(format!("row {}", values.join(", ")));
            }
            Reply::Column(name) => self.hear(format!("column {:?}", String::from_utf8_lossy(name))),
            _ => {}
        }
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        self.hear(format!("failed with {}", failure.error.code()));
        Reaction::GoOn
    }
}

#[test]
fn a_client_hears_rows_and_makes_its_own_statements() {
    Database::on_each(MysqlProduct::tested(), "heard", |database| {
        for protocol in [Protocol::Prepared, Protocol::Simple] {
            database.sql("DROP TABLE IF EXISTS log");
            database.sql(TABLE);
            hears_rows_and_makes_its_own_statements(&database, protocol);
        }
    });
}

fn hears_rows_and_makes_its_own_statements(database: &Database, protocol: Protocol) {
    let product = database.product();
    let heard = Arc::default();
    let workload: Arc<dyn Workload> = Arc::new(Telling {
        statements: vec![
            Statement::new("INSERT INTO log (client, number, note) VALUES ($3, $2, $1)"),
            Statement::new("SELECT client, note FROM log WHERE number = $1"),
            Statement::new("DELETE FROM log WHERE number = $1"),
        ],
        types: vec!["told".to_owned()],
        heard: Arc::clone(&heard),
    });
    let config = EngineConfig { protocol, ..config(1) };
    let mut engine = Engine::start(&database.endpoint(), &workload, config).unwrap();
    let seen = run(&mut engine, &closed(1, End::TransactionsPerClient(1)));
    assert_eq!(seen.done(), 1, "{product}: {:?}", seen.errors);
    let heard = heard.lock().unwrap();
    let rows: Vec<&str> = heard.iter().filter_map(|it| it.strip_prefix("row ")).collect();
    let note = r"it's a \ note";
    let (found, sum) = (format!("NULL, {note}"), format!("{note}, 1"));
    assert_eq!(rows, [&found, &sum, &found], "{product} {protocol:?}: {heard:?}");
    assert!(heard.contains(&"2 answered, 2 rows, 0 affected".to_owned()), "{product}: {heard:?}");
    assert!(heard.contains(&"failed with 1054".to_owned()), "{product}: {heard:?}");
    let mut queries = Queries::default();
    seen.intervals
        .iter()
        .flat_map(|interval| &interval.types)
        .filter_map(|part| part.queries.as_ref())
        .for_each(|part| queries.add(part));
    assert_eq!(queries, Queries { reads: 1, writes: 1, other: 1, writes_in_vain: 1 }, "{product}");
}

#[test]
fn a_thousand_clients_share_two_threads() {
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with("max_connections=1100").with_sql(TABLE);
    let Some(database) = Mysql::start(&setup).map(Database::own) else { return };
    let mut engine = script(&database, vec![insert()], config(2));
    let seen = run(&mut engine, &closed(1000, End::TransactionsPerClient(3)));
    assert_eq!(seen.done(), 3000, "{:?}", seen.errors);
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT client) FROM log").trim(), "3000\t1000");
}
