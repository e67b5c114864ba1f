//! ClickHouse as a target: the driver against the engine of today behind a front, and against a server of 2018.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::driver::{Batch, Driver, DriverSession, Operation, Route, RowSink, Value};
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::event::Interval;
use dyno_results::spec::{End, StageOrder};
use dyno_target::cause::Cause;
use dyno_target::connection::QueryError;
use dyno_target::inspect::{self, Statistics};
use dyno_target::{Connection, Environment, Target, catalog};
use dyno_test_servers::{ClickHouse, ClickHouseKind, Lie, LyingProxy, succeed};
use dyno_wire::server_error::DriverErrorKind;

const KINDS: [ClickHouseKind; 2] = [ClickHouseKind::Engine, ClickHouseKind::Server];
/// Takes hours.
const ENDLESS: &str = "SELECT count() FROM numbers(1000000000000) WHERE number % 7 = 3";

fn target(url: &str) -> Target {
    Target::parse(url, &Environment::empty()).unwrap()
}

fn connect(url: &str) -> Connection {
    target(url).connect().unwrap()
}

/// Why no session comes about.
fn refused(url: &str) -> String {
    target(url).connect().unwrap_err().to_string()
}

fn driver(url: &str) -> Arc<dyn Driver> {
    match target(url).route().unwrap() {
        Route::Driver(driver) => driver,
        Route::Wire(_) => panic!("{url} is a driver's"),
    }
}

fn open(url: &str) -> Box<dyn DriverSession> {
    driver(url).open(&[]).unwrap()
}

#[derive(Default)]
struct Seen(Vec<String>);

impl RowSink for Seen {
    fn wants_rows(&self) -> bool {
        true
    }

    fn columns(&mut self, names: &[&str]) {
        self.0.push(names.join(" "));
    }

    fn row(&mut self, values: &[Value<'_>]) {
        let shown = values.iter().map(|value| match value {
            Value::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
            other => format!("{other:?}"),
        });
        self.0.push(shown.collect::<Vec<_>>().join(" "));
    }
}

#[test]
fn values_come_back_with_their_types() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut session = open(&server.url());
        let mut seen = Seen::default();
        let sql = "SELECT toInt8(-5) AS a, toUInt64(7) AS b, 18446744073709551615 AS c, toFloat64(0.5) AS d, NULL AS e, \
                   'it''s a\\tb\\\\N\\n' AS f, toDate('1998-12-01') AS g, toDecimal64(-3.1, 2) AS h, toNullable(3) AS i; \
                   SELECT 1 AS x WHERE 0; SELECT ';' AS y";
        let executed = session.execute(Operation::Sql(sql), &mut seen).unwrap();
        assert_eq!((executed.statements, executed.rows, executed.affected), (3, 2, 0), "{kind:?}");
        let last = seen.0.pop().unwrap();
        assert_eq!(last, r#"";""#, "{kind:?}");
        assert_eq!(seen.0.remove(0), "a b c d e f g h i", "{kind:?}");
        assert_eq!(
            seen.0.remove(0),
            r#"Integer(-5) Integer(7) "18446744073709551615" Double(0.5) Null "it's a\tb\\N\n" "1998-12-01" "-3.10" Integer(3)"#,
            "{kind:?}"
        );
    }
}

#[test]
fn an_answer_in_another_format_is_an_error() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut connection = connect(&server.url());
        for format in ["JSON", "TSV", "CSV", "JSONEachRow"] {
            let error =
                connection.query(&format!("SELECT number FROM numbers(3) FORMAT {format}")).unwrap_err();
            assert!(error.to_string().contains("OTHER_FORMAT"), "{kind:?}: {error}");
            // The session goes on.
            assert_eq!(connection.query("SELECT 7").unwrap()[0].text(0), Some("7"));
        }
    }
}

#[test]
fn a_text_is_taken_apart_as_the_server_reads_it() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let mut seen = Seen::default();
    let sql = "SELECT $$a;b$$ AS x; # one;\nSELECT 'c\\';d' AS y -- two;\n; /* nothing; */";
    let executed = open(&server.url()).execute(Operation::Sql(sql), &mut seen).unwrap();
    assert_eq!((executed.statements, executed.rows), (2, 2));
    assert_eq!(seen.0, ["x", "\"a;b\"", "y", "\"c';d\""]);
}

#[test]
fn statements_get_their_values_as_they_are() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    // A setting of the target goes with each request.
    let mut connection = connect(&format!("{}?max_threads=1&join_use_nulls=1", server.url()));
    let setting =
        "SELECT concat(toString(getSetting('max_threads')), toString(getSetting('join_use_nulls')))";
    assert!(matches!(connection.query_value::<String>(setting).unwrap().as_deref(), Some("11" | "1true")));
    connection
        .execute("CREATE TABLE t (a Int32, b String, PRIMARY KEY (a)) ENGINE = MergeTree COMMENT 'dyno x'")
        .unwrap();
    assert_eq!(connection.execute(r"INSERT INTO t VALUES (1, 'it''s; a\\b'), (2, '')").unwrap(), 2);
    assert_eq!(
        connection.query_value::<String>("SELECT b FROM t WHERE a = 1").unwrap().unwrap(),
        r"it's; a\b"
    );
    // The catalog, as workloads ask it.
    let tables = catalog::tables(&mut connection, catalog::Names::These(&["t"])).unwrap();
    assert_eq!((tables.len(), tables[0].is_table, tables[0].comment.as_str()), (1, true, "dyno x"));
    assert_eq!(tables[0].key().collect::<Vec<_>>(), ["a"]);
    assert!(tables[0].columns[0].kind.to_lowercase().contains("int"), "{tables:?}");
    assert!(tables[0].columns[1].kind.contains("varchar"), "{tables:?}");
    assert_eq!(catalog::indexes(&mut connection, catalog::Names::BeginWith("t")).unwrap(), Some(Vec::new()));
    assert!(catalog::bytes(&mut connection, catalog::Names::These(&["t"])).unwrap().unwrap().tables > 0);
}

#[test]
fn an_error_is_the_servers_own() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut connection = connect(&server.url());
        for (sql, code, cause) in [
            ("SELECT * FROM nowhere", "UNKNOWN_TABLE", Some(Cause::NoSuchTable)),
            ("SELECT nothing FROM system.one", "UNKNOWN_IDENTIFIER", Some(Cause::OtherColumns)),
            ("SELEC 1", "SYNTAX_ERROR", None),
            ("SELECT throwIf(number = 3) FROM numbers(5)", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", None),
        ] {
            let error = connection.query(sql).unwrap_err();
            assert!(error.to_string().contains(code), "{kind:?}: {error}");
            // Older versions call an unknown column a missing one.
            assert!(error.cause() == cause || kind == ClickHouseKind::Server, "{kind:?}: {error}");
            assert!(!connection.is_broken() && !error.to_string().contains(ClickHouse::PASSWORD));
        }
        let error = refused(&format!("{}?max_treads=1", server.url()));
        assert!(error.contains("UNKNOWN_SETTING") && error.contains("sent as settings"), "{kind:?}: {error}");
        let error = refused(&format!("{}nowhere", server.url().strip_suffix("default").unwrap()));
        assert!(error.contains("UNKNOWN_DATABASE") && error.contains("create it"), "{kind:?}: {error}");
    }
}

#[test]
fn an_error_in_the_middle_of_an_answer_is_an_error() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Server) else { return };
    let mut connection = connect(&format!("{}?max_block_size=100", server.url()));
    // So many rows that the first of them are sent long before; of one text, which an error could be mistaken for.
    for column in ["number", "toString(number)"] {
        let sql = format!("SELECT {column} FROM numbers(400000) WHERE throwIf(number = 390000) = 0");
        let error = connection.query(&sql).map(|rows| rows.len()).unwrap_err();
        assert!(error.to_string().contains("FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"), "{error}");
        assert_eq!(connection.query("SELECT number FROM numbers(100000)").unwrap().len(), 100_000);
    }
}

#[test]
fn rows_are_loaded_and_counted_back() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut connection = connect(&server.url());
        connection
            .execute("CREATE TABLE loaded (id Int64, text Nullable(String)) ENGINE = MergeTree ORDER BY id")
            .unwrap();
        let mut sent = 0;
        for batch in 0..4_u64 {
            let ids = batch * 25_000 + 1..=(batch + 1) * 25_000;
            let lines =
                ids.map(|id| if id % 2 == 0 { format!("{id}\t\\N\n") } else { format!("{id}\tno {id}\n") });
            let batch = Batch::Lines(lines.collect::<String>().into_bytes());
            sent += connection.load_batch("loaded", &["id", "text"], &batch).unwrap();
        }
        assert_eq!(sent, 100_000, "{kind:?}");
        let back = "SELECT concat(toString(count()), ' ', toString(sum(id)), ' ', toString(countIf(isNull(text)))) FROM loaded";
        let back: Option<String> = connection.query_value(back).unwrap();
        assert_eq!(back.as_deref(), Some("100000 5000050000 50000"), "{kind:?}");
        let wrong = Batch::Lines(b"1\tx\tone too many\n".to_vec());
        let error = connection.load_batch("loaded", &["id", "text"], &wrong).unwrap_err();
        assert!(matches!(error, QueryError::Server { .. }) && !connection.is_broken(), "{kind:?}: {error}");
    }
}

/// What is between dyno and the server may answer in its place.
#[test]
fn an_insert_that_was_not_done_is_not_taken_as_done() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let create = "CREATE TABLE swallowed (id Int64) ENGINE = MergeTree ORDER BY id";
    connect(&server.url()).execute(create).unwrap();
    let answered = |headers, body| {
        let proxy = LyingProxy::start(server.address, Lie { asked: "swallowed", times: 1, headers, body });
        let mut connection = connect(&format!("clickhouse://{}", proxy.address));
        let loaded = connection.load_batch("swallowed", &["id"], &Batch::Lines(b"1\n2\n3\n".to_vec()));
        assert_eq!(proxy.kept(), 1);
        loaded.map_err(|error| error.to_string())
    };
    let exception = "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.9)";
    let marked =
        "\r\n__exception__\r\nCode: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS) (version 26.9)\n";
    for (body, said) in [
        (exception, "MEMORY_LIMIT_EXCEEDED"),
        (marked, "TOO_MANY_PARTS"),
        ("<html>try again later</html>", "try again later"),
    ] {
        let error = answered("", body).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(answered("X-ClickHouse-Summary: {\"written_rows\":\"2\"}\r\n", ""), Ok(2));
}

#[test]
fn a_query_is_stopped_from_another_thread() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut session = open(&server.url());
        let canceller = session.canceller();
        // Nothing is under way.
        canceller.cancel();
        let error = std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_millis(100)) {
                    canceller.cancel();
                }
            });
            let error = session.execute(Operation::Sql(ENDLESS), &mut ()).unwrap_err();
            drop(done);
            error
        });
        assert_eq!(error.kind, DriverErrorKind::Cancelled, "{kind:?}: {error}");
        // The session goes on, and the server does nothing more.
        let mut seen = Seen::default();
        let others = "SELECT count() AS n FROM system.processes WHERE query LIKE '%1000000000000%' AND query NOT LIKE '%processes%'";
        session.execute(Operation::Sql(others), &mut seen).unwrap();
        assert_eq!(seen.0, ["n", "Integer(0)"], "{kind:?}");
        let mut connection = connect(&server.url());
        connection.set_answer_timeout(Duration::from_millis(200));
        let error = connection.query(ENDLESS).unwrap_err();
        assert!(matches!(error, QueryError::TimedOut { .. }), "{kind:?}: {error}");
    }
}

#[test]
fn a_query_says_how_far_it_is() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut session = open(&server.url());
        let (progress, canceller) = (session.progress().unwrap(), session.canceller());
        let slow = match kind {
            ClickHouseKind::Engine => ENDLESS,
            // It does not know how many numbers there are. Each block sleeps: that takes a minute or more.
            ClickHouseKind::Server => {
                let create =
                    "CREATE TABLE rows (id UInt64) ENGINE = MergeTree PARTITION BY tuple() ORDER BY id";
                session.execute(Operation::Sql(create), &mut ()).unwrap();
                let insert = "INSERT INTO rows SELECT number FROM system.numbers LIMIT 10000000";
                session.execute(Operation::Sql(insert), &mut ()).unwrap();
                "SELECT count() FROM (SELECT id, sleep(0.5) AS slept FROM rows) WHERE slept = 0"
            }
        };
        // Nothing is under way.
        assert_eq!(progress.read_share(), None, "{kind:?}");
        let (done, ended) = channel();
        let mut shares = vec![0.0];
        let error = std::thread::scope(|scope| {
            scope.spawn(move || done.send(session.execute(Operation::Sql(slow), &mut ()).unwrap_err()));
            for _ in 0..1000 {
                shares.extend(progress.read_share().filter(|share| shares.last() < Some(share)));
                if shares.len() > 3 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            loop {
                canceller.cancel();
                match ended.recv_timeout(Duration::from_millis(100)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    ended => break ended.unwrap(),
                }
            }
        });
        assert_eq!(error.kind, DriverErrorKind::Cancelled, "{kind:?}: {error}");
        assert!(shares.len() > 3 && shares.last() < Some(&1.0), "{kind:?}: {shares:?}");
        // It has ended.
        assert_eq!(progress.read_share(), None, "{kind:?}");
    }
}

#[test]
fn a_query_that_does_not_stop_is_left() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Server) else { return };
    let mut connection = connect(&server.url());
    connection.set_answer_timeout(Duration::from_millis(200));
    // The server says that it stops it, and looks for that between blocks of rows only: this is one.
    let error =
        connection.query("SELECT sleep(3), sleep(2.9), sleep(2.8), sleep(2.7)").unwrap_err().to_string();
    assert!(error.contains("did not stop a query") && error.contains("CONNECTION_LOST"), "{error}");
    assert!(connection.is_broken());
}

#[test]
fn a_server_that_goes_loses_its_sessions() {
    for kind in KINDS {
        let Some(mut server) = ClickHouse::start(kind) else { continue };
        let mut session = open(&server.url());
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                server.kill();
            });
            session.execute(Operation::Sql(ENDLESS), &mut ()).unwrap_err()
        });
        assert_eq!(error.kind, DriverErrorKind::SessionLost, "{kind:?}: {error}");
        assert!(error.to_string().contains("CONNECTION_LOST"), "{kind:?}: {error}");
        // The driver is there and the server is not.
        let error = session.execute(Operation::Sql("SELECT 1"), &mut ()).unwrap_err();
        assert_eq!(
            (error.kind, error.code),
            (DriverErrorKind::SessionLost, "NO_CONNECTION"),
            "{kind:?}: {error}"
        );
        assert!(refused(&server.url()).contains("connection refused"), "{}", refused(&server.url()));
    }
}

#[test]
fn a_server_that_is_silent_is_left() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Server) else { return };
    let mut connection = connect(&server.url());
    connection.set_answer_timeout(Duration::from_millis(200));
    signal("-STOP", &server);
    // Each thread stops by itself.
    while !are_stopped(server.pid()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = connection.query("SELECT 1").unwrap_err().to_string();
    signal("-CONT", &server);
    assert!(error.contains("did not stop a query") && error.contains("CONNECTION_LOST"), "{error}");
    assert!(connection.is_broken());
}

/// A port where connections are made and nothing is ever said.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("clickhouse://{}/", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn a_port_that_says_nothing_is_given_up() {
    let (_listener, url) = silent();
    let error = refused(&url);
    assert!(error.contains("NO_CONNECTION") && error.contains("did not answer in time"), "{error}");
}

#[test]
fn clients_that_are_being_connected_can_be_stopped() {
    let (_listener, url) = silent();
    let (types, statements) = (["all".to_owned()], [Statement::new("SELECT 1")]);
    let workload: Arc<dyn Workload> = Arc::new(Load { types, statements });
    let mut engine = Engine::start(Route::Driver(driver(&url)), &workload, EngineConfig::new(1)).unwrap();
    // Looked at when the clients have begun to connect.
    let connected = engine.connect(2, &AtomicBool::new(true), &mut |_| {});
    assert!(matches!(connected, Err(EngineError::Stopped)), "{connected:?}");
    // Ends its threads.
    drop(engine);
}

fn are_stopped(pid: u32) -> bool {
    let mut threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    threads.all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:\tT"))
    })
}

fn signal(name: &str, server: &ClickHouse) {
    succeed(Command::new("kill").args([name, &server.pid().to_string()]));
}

#[test]
fn a_login_or_a_port_that_is_wrong_is_said() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Server) else { return };
    let wrong = server.url().replace("cr%3Aet", "ecret-word");
    let error = refused(&wrong);
    assert!(error.contains("WRONG_PASSWORD") && error.contains("CLICKHOUSE_PASSWORD"), "{error}");
    assert!(!error.contains("ecret-word"), "{error}");
    let with_variable = Environment::empty().with_variable("CLICKHOUSE_PASSWORD", ClickHouse::PASSWORD);
    let named = Target::parse(&format!("clickhouse://{}/", server.address), &with_variable).unwrap();
    assert_eq!(named.url(), format!("clickhouse://default@{}/default", server.address));
    assert_eq!(named.passwords().len(), 1);
    named.connect().unwrap();
    let native = server.native_address().unwrap();
    let error = refused(&server.url().replace(&server.address.to_string(), &native.to_string()));
    let http = format!("the port of HTTP, {}", server.address.port());
    assert!(error.contains("native protocol") && error.contains(&http), "{error}");
    let error = refused(&format!("{}?secure=1", server.url()));
    // The server may also wait for the end of what it takes for a request, until dyno gives up.
    assert!(error.contains("TLS") && error.contains("(8443)"), "{error}");
}

/// Each transaction is one query.
struct Load {
    types: [String; 1],
    statements: [Statement; 1],
}

struct OneQuery(bool);

impl Workload for Load {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        None
    }

    fn client(&self, _: ClientIdentity, _: u64) -> Box<dyn Client> {
        Box::new(OneQuery(false))
    }
}

impl Client for OneQuery {
    fn begin(&mut self) -> TransactionType {
        self.0 = false;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.0 = false;
    }

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if std::mem::replace(&mut self.0, true) {
            assert_eq!(answer.map(|answer| answer.rows), Some(7));
            return Step::Done;
        }
        request.execute(StatementId(0), &[7]);
        Step::Send
    }
}

/// Runs a query on several clients so many times; done, cancelled.
fn load(server: &ClickHouse, sql: &str, times: u64, limit: Option<Duration>) -> (u64, u64) {
    let (types, statements) = (["all".to_owned()], [Statement::new(sql)]);
    let workload: Arc<dyn Workload> = Arc::new(Load { types, statements });
    let config = EngineConfig { statement_limit: limit, ..EngineConfig::new(2) };
    let mut engine = Engine::start(target(&server.url()).route().unwrap(), &workload, config).unwrap();
    let order = StageOrder::closed(3, End::TransactionsPerClient(times));
    let mut intervals: Vec<Interval> = Vec::new();
    let mut observe = |observation| match observation {
        Observation::Interval(interval) => intervals.push(interval),
        Observation::Error(error) => panic!("{error}"),
        _ => {}
    };
    assert!(engine.run_stage(&order, &AtomicBool::new(false), &mut observe).unwrap().complete);
    let parts = || intervals.iter().flat_map(|interval| &interval.types);
    (parts().map(|part| part.done).sum(), parts().map(|part| part.cancelled).sum())
}

#[test]
fn the_engine_runs_it_and_stops_what_takes_too_long() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        assert_eq!(load(&server, "SELECT number FROM numbers($1)", 100, None), (300, 0), "{kind:?}");
        assert_eq!(load(&server, ENDLESS, 2, Some(Duration::from_millis(200))), (0, 6), "{kind:?}");
    }
}

/// Names the server for the part of the test below that runs in a process of its own.
const TRUSTED: &str = "DYNO_TEST_TRUSTED_CLICKHOUSE";

#[test]
fn tls_is_trusted_by_who_trusts_the_authority() {
    if let Ok(url) = std::env::var(TRUSTED) {
        assert_eq!(connect(&url).query_value::<u8>("SELECT 7").unwrap(), Some(7));
        return;
    }
    let Some(server) = ClickHouse::start(ClickHouseKind::Server) else { return };
    let tls = format!("localhost:{}", server.tls_address().unwrap().port());
    let plain = server.url().replace(&server.address.to_string(), &tls);
    let url = plain.replacen("clickhouse:", "clickhouses:", 1);
    let error = refused(&url);
    assert!(error.contains("certificate") && error.contains("SSL_CERT_FILE"), "{error}");
    let error = refused(&plain);
    assert!(error.contains("clickhouses://"), "{error}");
    let mut trusting = Command::new(std::env::current_exe().unwrap());
    trusting.args(["--exact", "tls_is_trusted_by_who_trusts_the_authority"]);
    let output = trusting.env(TRUSTED, url).env("SSL_CERT_FILE", server.authority()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_server_is_described() {
    for kind in KINDS {
        let Some(server) = ClickHouse::start(kind) else { continue };
        let mut connection = connect(&server.url());
        let facts = inspect::facts(&mut connection, "ch", &target(&server.url()).url()).unwrap();
        assert_eq!((facts.product.as_deref(), facts.in_process), (Some("ClickHouse"), false));
        let settings = inspect::settings(&mut connection, "ch").unwrap();
        let statistics = Statistics::prepare(&mut connection, &["described".to_owned()]);
        inspect::connections_allowed(&mut connection).unwrap();
        match kind {
            ClickHouseKind::Engine => {
                assert!(facts.version.unwrap().starts_with("26.9"), "{kind:?}");
                assert_eq!(facts.connections_max, Some(4096));
                let loses = settings.facts.crash_loses_last;
                assert!(loses.contains(&"fsync_after_insert is 0".to_owned()), "{loses:?}");
                connection.execute("CREATE TABLE described (a Int8) ENGINE = MergeTree ORDER BY a").unwrap();
                connection.execute("INSERT INTO described SELECT number FROM numbers(100)").unwrap();
                let read = statistics.unwrap().read(&mut connection).unwrap();
                assert!(read["queries_total"] > 1.0 && read["table_bytes[described]"] > 100.0, "{read:?}");
                let data = inspect::data(&mut connection, "ch", "w", None, &["described"]).unwrap();
                assert_eq!(data.tables[0].rows, Some(100));
                let caches: Vec<&str> = data.caches.keys().map(String::as_str).collect();
                assert_eq!(caches, ["mark_cache_size", "uncompressed_cache_size"], "{data:?}");
            }
            ClickHouseKind::Server => {
                assert_eq!((facts.version.as_deref(), facts.same_host), (Some("18.16.1"), Some(true)));
                let process = inspect::server_process(&mut connection).unwrap().unwrap();
                assert_eq!(process.pid, Some(server.pid()));
            }
        }
    }
}
