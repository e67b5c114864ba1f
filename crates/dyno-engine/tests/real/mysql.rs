//! The same engine against the servers that speak MySQL's protocol.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_engine::plan::{EngineConfig, Limit};
use dyno_engine::request::{Protocol, QueryKind, Request, Statement, Value};
use dyno_engine::workload::{
    Answer, Client, Failure, Place, Reaction, Reply, StatementId, Step, TransactionType, Workload,
};
use dyno_results::event::Queries;
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Password, Tls, Wire};
use dyno_wire::my::handshake::Options;

use crate::bank::{Script, closed, for_ms, run, run_until};

const PRODUCTS: [MysqlProduct; 3] = [MysqlProduct::Mysql, MysqlProduct::MariaDb, MysqlProduct::SeekDb];
const TABLE: &str = "CREATE TABLE log (client int, number int, note varchar(40))";

fn endpoint(server: &Mysql) -> Endpoint {
    let login = Login {
        user: "root".to_owned(),
        password: Some(Password::new(server.password.clone())),
        database: "test".to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Disable,
    };
    Endpoint {
        address: Address::Tcp(server.address),
        login: Arc::new(login),
        wire: Wire::MySql(Options::default()),
    }
}

fn script(server: &Mysql, statements: Vec<Statement>, config: EngineConfig) -> Engine {
    let workload: Arc<dyn Workload> = Arc::new(Script::of(statements));
    Engine::start(&endpoint(server), &workload, config).unwrap()
}

fn insert() -> Statement {
    Statement::new("INSERT INTO log (client, number) VALUES ($1, $2)")
}

#[test]
fn every_acknowledged_transaction_is_there_in_both_modes() {
    for product in PRODUCTS {
        let Some(server) = Mysql::start(&MysqlSetup::new(product).with_sql(TABLE)) else { continue };
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            server.sql("DELETE FROM log");
            let config = EngineConfig { protocol, ..EngineConfig::new(2) };
            let statements = vec![Statement::text("BEGIN"), insert(), Statement::text("COMMIT")];
            let mut engine = script(&server, statements, config);
            let seen = run(&mut engine, &closed(7, Limit::TransactionsPerClient(30)));
            assert!(seen.outcome.complete && seen.errors.is_empty(), "{product} {protocol:?}: {seen:?}");
            assert_eq!((seen.done(), seen.sum(|part| part.statements)), (210, 630), "{product} {protocol:?}");
            let found = server
                .sql("SELECT count(*), count(DISTINCT client, number), min(number), max(client) FROM log");
            assert_eq!(found.trim(), "210\t210\t1\t6", "{product} {protocol:?}");
        }
    }
}

#[test]
fn the_extended_protocol_is_refused() {
    let Some(server) = Mysql::start(&MysqlSetup::new(MysqlProduct::Mysql)) else { return };
    let config = EngineConfig { protocol: Protocol::Extended, ..EngineConfig::new(1) };
    let workload: Arc<dyn Workload> = Arc::new(Script::of(vec![Statement::new("SELECT 1")]));
    let refused = Engine::start(&endpoint(&server), &workload, config).unwrap_err();
    assert!(matches!(refused, EngineError::ExtendedOnMySql));
}

#[test]
fn what_the_server_refuses_to_prepare_is_told_in_its_words() {
    let Some(server) = Mysql::start(&MysqlSetup::new(MysqlProduct::MariaDb)) else { return };
    let statements = vec![Statement::new("SELECT 1"), Statement::new("SELECT nothing FROM nowhere")];
    let mut engine = script(&server, statements, EngineConfig::new(1));
    let refused = engine.connect(2, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let EngineError::Connect { source, .. } = &refused else { panic!("{refused}") };
    assert_eq!(source.server_error().unwrap().code(), "1146", "{refused}");
}

#[test]
fn a_deadlock_is_tried_again_and_the_sums_agree() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let setup = MysqlSetup::new(product)
            .with_sql("CREATE TABLE pair (id int PRIMARY KEY, n int)")
            .with_sql("INSERT INTO pair VALUES (0, 0), (1, 0)");
        let Some(server) = Mysql::start(&setup) else { continue };
        let statements = vec![
            Statement::text("BEGIN"),
            Statement::new("UPDATE pair SET n = n + 1 WHERE id = $1 % 2"),
            Statement::new("UPDATE pair SET n = n + 1 WHERE id = ($1 + 1) % 2"),
            Statement::text("COMMIT"),
        ];
        let mut engine =
            script(&server, statements, EngineConfig { tries_max: 1000, ..EngineConfig::new(2) });
        let seen = run(&mut engine, &closed(8, Limit::TransactionsPerClient(100)));
        assert_eq!(seen.done(), 800, "{product} {:?}", seen.errors);
        let retries = seen.sum(|part| part.retries);
        let deadlocks: u64 = seen.intervals.iter().filter_map(|interval| interval.errors.get("1213")).sum();
        assert!(retries > 0 && deadlocks > 0, "{product}: {retries} retries, {deadlocks} deadlocks");
        assert_eq!(server.sql("SELECT min(n), max(n) FROM pair").trim(), "800\t800", "{product}");
    }
}

#[test]
fn a_connection_that_is_killed_comes_back_with_its_statements() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let Some(server) = Mysql::start(&MysqlSetup::new(product).with_sql(TABLE)) else { continue };
        let mut engine = script(&server, vec![insert()], EngineConfig::new(2));
        let mut intervals = 0;
        let seen =
            run_until(&mut engine, &closed(4, for_ms(3000)), &AtomicBool::new(false), &mut |observed| {
                if matches!(observed, Observation::Interval(_)) {
                    intervals += 1;
                    if intervals == 1 {
                        kill_connections(&server);
                    }
                }
            });
        let reconnects: u64 = seen.intervals.iter().map(|interval| interval.reconnects).sum();
        assert!(seen.outcome.complete && reconnects >= 4, "{product}: {reconnects} {:?}", seen.errors);
        let (done, unknown) = (seen.done(), seen.sum(|part| part.unknown));
        let found: u64 = server.sql("SELECT count(*) FROM log").trim().parse().unwrap();
        assert!((done..=done + unknown).contains(&found), "{product}: {found} of {done} and {unknown}");
    }
}

#[test]
fn a_server_that_dies_is_told_and_ends_the_stage() {
    let Some(mut server) = Mysql::start(&MysqlSetup::new(MysqlProduct::Mysql).with_sql(TABLE)) else {
        return;
    };
    let config = EngineConfig { reconnect_timeout: Duration::from_millis(500), ..EngineConfig::new(1) };
    let mut engine = script(&server, vec![insert()], config);
    let mut killed = false;
    let mut said = Vec::new();
    let ended = engine.run_stage(&closed(3, for_ms(20_000)), &AtomicBool::new(false), &mut |observed| {
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

/// Ends the load's connections; one that is gone already is no matter.
fn kill_connections(server: &Mysql) {
    let others =
        "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> connection_id()";
    for id in server.sql(others).lines() {
        server.client("root", &server.password).args(["-e", &format!("KILL {id}")]).output().unwrap();
    }
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

    fn recovery(&self) -> Option<StatementId> {
        None
    }

    fn client(&self, _place: Place, _seed: u64) -> Box<dyn Client> {
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
        assert!(request.is_mysql());
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
            7 => return Step::Reconnect,
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
            Reply::MyRow(row) => {
                let values: Vec<String> = row.columns().map(|value| value.to_string()).collect();
                self.hear(format!("row {}", values.join(", ")));
            }
            Reply::MyColumn(column) => self.hear(format!("column {:?}", column.name)),
            _ => {}
        }
    }

    fn failed(&mut self, failure: &Failure<'_>) -> Reaction {
        self.hear(format!("failed with {}", failure.error.code()));
        Reaction::GoOn
    }
}

#[test]
fn a_client_hears_rows_and_makes_its_own_statements() {
    for product in PRODUCTS {
        for protocol in [Protocol::Prepared, Protocol::Simple] {
            let Some(server) = Mysql::start(&MysqlSetup::new(product).with_sql(TABLE)) else { continue };
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
            let config = EngineConfig { protocol, ..EngineConfig::new(1) };
            let mut engine = Engine::start(&endpoint(&server), &workload, config).unwrap();
            let seen = run(&mut engine, &closed(1, Limit::TransactionsPerClient(1)));
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
    }
}

#[test]
fn a_thousand_clients_share_two_threads() {
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with("max_connections=1100").with_sql(TABLE);
    let Some(server) = Mysql::start(&setup) else { return };
    let mut engine = script(&server, vec![insert()], EngineConfig::new(2));
    let seen = run(&mut engine, &closed(1000, Limit::TransactionsPerClient(3)));
    assert_eq!(seen.done(), 3000, "{:?}", seen.errors);
    assert_eq!(server.sql("SELECT count(*), count(DISTINCT client) FROM log").trim(), "3000\t1000");
}
