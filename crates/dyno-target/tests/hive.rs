//! HiveServer2's protocol as a target, against Spark's Thrift server. One server is started for each kind of login, because that
//! takes many seconds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use dyno_engine::driver::{Batch, Driver, DriverSession, Operation, Route, RowSink, Value};
use dyno_target::catalog::{self, Names};
use dyno_target::cause::Cause;
use dyno_target::connection::QueryError;
use dyno_target::inspect::{self, Statistics};
use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Spark, succeed};
use dyno_wire::server_error::DriverErrorKind;

/// Takes hours.
const ENDLESS: &str = "SELECT count(*) FROM range(1000000000000) WHERE hash(id) % 7 = 3";

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

fn open(url: &str) -> Box<dyn DriverSession> {
    let driver: Arc<dyn Driver> = match target(url).route().unwrap() {
        Route::Driver(driver) => driver,
        Route::Wire(_) => panic!("{url} is a driver's"),
    };
    driver.open(&[]).unwrap()
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
fn a_server_without_logins() {
    let Some(mut server) = Spark::start(false) else { return };
    values_come_back_with_their_types(&server);
    errors_are_the_servers_own(&server);
    rows_are_loaded_and_counted_back(&server);
    the_catalog_is_read(&server);
    statements_are_stopped(&server);
    the_server_is_described(&server);
    what_is_wrong_with_a_target_is_said(&server);
    a_server_that_is_silent_is_left(&server);
    a_server_that_goes_loses_its_sessions(&mut server);
}

#[test]
#[ignore = "slow: a second server of Spark"]
fn a_server_with_logins() {
    let Some(server) = Spark::start(true) else { return };
    let mut connection = connect(&server.url());
    assert_eq!(connection.query_value::<String>("SELECT current_user()").unwrap().as_deref(), Some("tester"));
    // A login without a password is one that the server takes.
    connect(&server.url().replace(":s%2Fcret", ""));
    // More than one piece of the transport.
    let many = connection.query("SELECT id, repeat('x', 100) FROM range(20000)").unwrap();
    assert_eq!((many.len(), many[19_999].text(0)), (20_000, Some("19999")));
    // Another connection stops a statement, and logs in for that.
    connection.set_answer_timeout(Duration::from_secs(1));
    let error = connection.query(ENDLESS).unwrap_err();
    assert!(matches!(error, QueryError::TimedOut { .. }) && !connection.is_broken(), "{error}");
    let error = refused(&server.url().replace("auth=plain", "auth=nosasl"));
    assert!(error.contains("NO_CONNECTION") && error.contains("leave that out"), "{error}");
    assert!(!error.contains("cret"), "{error}");
}

fn values_come_back_with_their_types(server: &Spark) {
    let mut session = open(&format!("{}&spark.sql.session.timeZone=UTC", server.url()));
    let mut seen = Seen::default();
    let sql = r"SELECT CAST(-5 AS TINYINT) AS a, CAST(6 AS SMALLINT) AS b, 7 AS c, CAST(8 AS BIGINT) AS d, CAST(0.5 AS FLOAT) AS e,
        2.5D AS f, TRUE AS g, 'it\'s ü' AS h, DATE '1998-12-01' AS i, CAST(-3.1 AS DECIMAL(15, 2)) AS j, NULL AS k,
        TIMESTAMP '2020-01-02 03:04:05' AS l; SELECT id FROM range(3) WHERE id > 5; SELECT ';' AS y";
    let executed = session.execute(Operation::Sql(sql), &mut seen).unwrap();
    assert_eq!((executed.statements, executed.rows, executed.affected), (3, 2, 0));
    assert_eq!(
        seen.0,
        [
            "a b c d e f g h i j k l",
            "Integer(-5) Integer(6) Integer(7) Integer(8) Double(0.5) Double(2.5) \"t\" \"it's ü\" \"1998-12-01\" \"-3.10\" \
             Null \"2020-01-02 03:04:05\"",
            "id",
            "y",
            "\";\"",
        ]
    );
    let mut seen = Seen::default();
    let nulls = "SELECT id, if(id % 3 = 0, NULL, id), if(id % 3 = 1, NULL, 'x') FROM range(20) ORDER BY id";
    session.execute(Operation::Sql(nulls), &mut seen).unwrap();
    for (id, row) in seen.0.iter().skip(1).enumerate() {
        let number = if id % 3 == 0 { "Null".to_owned() } else { format!("Integer({id})") };
        let text = if id % 3 == 1 { "Null" } else { "\"x\"" };
        assert_eq!(*row, format!("Integer({id}) {number} {text}"));
    }
    // More than one answer of rows.
    let counted = session.execute(Operation::Sql("SELECT id FROM range(12345)"), &mut ()).unwrap();
    assert_eq!(counted.rows, 12_345);
}

fn errors_are_the_servers_own(server: &Spark) {
    let mut connection = connect(&server.url());
    for (sql, code, says, cause) in [
        ("SELECT * FROM nowhere", "42P01", "[TABLE_OR_VIEW_NOT_FOUND]", Some(Cause::NoSuchTable)),
        ("SELECT nothing FROM range(1)", "42703", "`nothing`", Some(Cause::OtherColumns)),
        ("SELEC 1", "42601", "near 'SELEC'", None),
        ("SELECT 1 / 0", "22012", "Division by zero", None),
        (
            "SELECT raise_error(concat('ouch', id)) FROM range(9)",
            "HIVESERVER2_ERROR",
            "P0001: [USER_RAISED",
            None,
        ),
    ] {
        let error = connection.query(sql).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(code) && said.contains(says), "{said}");
        assert!(!said.contains("org.apache") && !said.contains(".scala") && said.len() < 900, "{said}");
        assert_eq!(error.cause(), cause, "{said}");
        assert!(!connection.is_broken());
    }
}

fn rows_are_loaded_and_counted_back(server: &Spark) {
    let mut connection = connect(&server.url());
    // What the largest INSERT of a user may look like.
    connection.execute("CREATE TABLE inserted (id INT, text STRING) USING parquet").unwrap();
    for batch in 0..4 {
        let rows = (1..=2_500).map(|row| format!("({}, 'no {row}')", batch * 2_500 + row));
        connection
            .execute(&format!("INSERT INTO inserted VALUES {}", rows.collect::<Vec<_>>().join(", ")))
            .unwrap();
    }
    let counted = "SELECT concat(count(*), ' ', sum(id), ' ', count(DISTINCT text)) FROM inserted";
    assert_eq!(connection.query_value::<String>(counted).unwrap().as_deref(), Some("10000 50005000 2500"));
    // The driver's own way.
    let create = "CREATE TABLE loaded (id BIGINT NOT NULL, price DECIMAL(15, 2), day DATE, flag CHAR(3), text VARCHAR(40)) \
                  USING parquet COMMENT 'dyno {\"a\":1}'";
    connection.execute(create).unwrap();
    let columns = ["id", "price", "day", "flag", "text"];
    for batch in 0..2 {
        let lines = (1..=5_000).map(|row| match row % 2 {
            0 => format!("{}\t{row}.05\t1998-12-01\tab\tit's ü {row}\n", batch * 5_000 + row),
            _ => format!("{}\t\\N\t\\N\t\\N\t\\N\n", batch * 5_000 + row),
        });
        let lines = Batch::Lines(lines.collect::<String>().into_bytes());
        assert_eq!(connection.load_batch("loaded", &columns, &lines).unwrap(), 5_000);
    }
    let counted = "SELECT concat_ws(' ', count(*), count(price), sum(id), sum(price), max(day), max(flag), max(text)) FROM loaded";
    let expected = "10000 5000 50005000 12505250.00 1998-12-01 ab  it's ü 998";
    assert_eq!(connection.query_value::<String>(counted).unwrap().as_deref(), Some(expected));
    let wrong = Batch::Lines(b"1\tx\t1998-12-01\tab\tc\n".to_vec());
    let error = connection.load_batch("loaded", &columns, &wrong).unwrap_err();
    assert!(error.to_string().contains("22018") && !connection.is_broken(), "{error}");
    let error = connection.load_batch("loaded", &["nothing"], &wrong).unwrap_err();
    assert!(error.to_string().contains("no column nothing"), "{error}");
}

fn the_catalog_is_read(server: &Spark) {
    let mut connection = connect(&server.url());
    connection
        .execute("CREATE VIEW loaded_view AS SELECT 1 AS one; ANALYZE TABLE loaded COMPUTE STATISTICS")
        .unwrap();
    let tables = catalog::tables(&mut connection, Names::BeginWith("loaded")).unwrap();
    let shown: Vec<_> =
        tables.iter().map(|it| (it.name.as_str(), it.is_table, it.comment.as_str())).collect();
    assert_eq!(shown, [("loaded", true, "dyno {\"a\":1}"), ("loaded_view", false, "")]);
    let columns: Vec<_> = tables[0].columns.iter().map(|it| (it.name.as_str(), it.kind.as_str())).collect();
    assert_eq!(columns[..2], [("id", "bigint"), ("price", "decimal(15,2)")]);
    assert_eq!((columns[3], columns.len(), tables[0].key().count()), (("flag", "char(3)"), 5, 0));
    connection.execute("COMMENT ON TABLE loaded IS 'changed'").unwrap();
    let names = Names::These(&["nowhere", "loaded"]);
    assert_eq!(catalog::tables(&mut connection, names).unwrap()[0].comment, "changed");
    assert_eq!(catalog::tables(&mut connection, Names::These(&["nowhere"])).unwrap(), []);
    assert_eq!(catalog::indexes(&mut connection, names).unwrap(), Some(Vec::new()));
    assert_eq!(catalog::foreign_keys(&mut connection, names).unwrap(), Some(Vec::new()));
    assert_eq!(catalog::bytes(&mut connection, names).unwrap(), None);
}

fn statements_are_stopped(server: &Spark) {
    let mut session = open(&server.url());
    let canceller = session.canceller();
    // Nothing is under way.
    canceller.cancel();
    let error = std::thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        // The first asks for the end while the server still plans the statement.
        scope.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_millis(50)) {
                canceller.cancel();
            }
        });
        let error = session.execute(Operation::Sql(ENDLESS), &mut ()).unwrap_err();
        drop(done);
        error
    });
    assert_eq!(error.kind, DriverErrorKind::Cancelled, "{error}");
    // The session goes on, and so does the server: nothing of the statement holds its processors.
    assert_eq!(session.execute(Operation::Sql("SELECT 1"), &mut ()).unwrap().rows, 1);
    let mut connection = connect(&server.url());
    connection.set_answer_timeout(Duration::from_secs(100));
    assert_eq!(connection.query_value::<i64>("SELECT count(*) FROM range(10)").unwrap(), Some(10));
    connection.set_answer_timeout(Duration::from_secs(1));
    let error = connection.query(ENDLESS).unwrap_err();
    assert!(matches!(error, QueryError::TimedOut { .. }) && !connection.is_broken(), "{error}");
}

fn the_server_is_described(server: &Spark) {
    let mut connection = connect(&format!("{}&spark.sql.shuffle.partitions=3", server.url()));
    let facts = inspect::facts(&mut connection, "hive", &target(&server.url()).url()).unwrap();
    assert_eq!((facts.product.as_deref(), facts.version.as_deref()), (Some("Spark SQL"), Some("4.0.1")));
    assert_eq!((facts.in_process, facts.same_host), (false, Some(true)));
    let settings = inspect::settings(&mut connection, "hive").unwrap();
    let value = |name: &str| settings.rows.iter().find(|it| it.name == name).map(|it| it.value.as_str());
    assert_eq!((value("spark.master"), value("spark.sql.shuffle.partitions")), (Some("local[2]"), Some("3")));
    assert_eq!(settings.facts, dyno_results::event::SettingFacts::default());
    let process = inspect::server_process(&mut connection).unwrap().unwrap();
    assert_eq!(process.pid, Some(server.pid()));
    assert!(process.data_directory.unwrap().ends_with("warehouse"));
    let identity = inspect::identity(&mut connection).unwrap();
    let other = inspect::identity(&mut connect(&server.url())).unwrap();
    assert!(identity.has_same_tables(&other) && identity.is_same_account(&other));
    let data = inspect::data(&mut connection, "hive", "w", None, &["loaded", "nowhere"]).unwrap();
    assert_eq!((data.tables[0].rows, data.tables[1].rows), (Some(10_000), None));
    assert!(data.tables[0].table_bytes.unwrap() > 10_000);
    let mut statistics = Statistics::prepare(&mut connection, &[]).unwrap();
    assert!(statistics.read(&mut connection).unwrap().is_empty());
}

fn what_is_wrong_with_a_target_is_said(server: &Spark) {
    let error = refused(&server.url().replace("/default", "/nowhere"));
    assert!(error.contains("42704") && error.contains("nowhere"), "{error}");
    let error = refused(&server.url().replace("auth=nosasl", "auth=plain"));
    assert!(error.contains("NO_CONNECTION") && error.contains("auth=nosasl"), "{error}");
    assert!(!error.contains("cret"), "{error}");
    let error = refused(&format!("{}&spark.sql.ansi.enabled=maybe", server.url()));
    assert!(error.contains("should be boolean") && !error.contains("java.lang"), "{error}");
    // Something else that listens there: it hangs up.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let place = listener.local_addr().unwrap();
    let error = std::thread::scope(|scope| {
        scope.spawn(move || drop(listener.accept()));
        refused(&format!("hive2://{place}/"))
    });
    assert!(error.contains("it hung up") && error.contains("check host and port"), "{error}");
    assert!(refused(&format!("hive2://{place}/")).contains("connection refused"));
}

fn a_server_that_is_silent_is_left(server: &Spark) {
    let mut connection = connect(&server.url());
    connection.set_answer_timeout(Duration::from_millis(200));
    signal("-STOP", server);
    let error = connection.query("SELECT 1").unwrap_err().to_string();
    signal("-CONT", server);
    assert!(error.contains("did not stop a statement") && error.contains("CONNECTION_LOST"), "{error}");
    assert!(connection.is_broken());
}

fn signal(name: &str, server: &Spark) {
    succeed(Command::new("kill").args([name, &server.pid().to_string()]));
}

fn a_server_that_goes_loses_its_sessions(server: &mut Spark) {
    let mut session = open(&server.url());
    let url = server.url();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            server.kill();
        });
        session.execute(Operation::Sql(ENDLESS), &mut ()).unwrap_err()
    });
    assert_eq!((error.kind, error.code), (DriverErrorKind::SessionLost, "CONNECTION_LOST"), "{error}");
    assert!(refused(&url).contains("connection refused"), "{}", refused(&url));
}
