//! DuckDB as a target, and as any database with a driver of ADBC, with its real library.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::driver::{Batch, ColumnValues, Texts, TypedValues};
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::request::{Request, Statement, Value};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::event::{Interval, StageKind};
use dyno_results::spec::{Arrivals, End, StageOrder};
use dyno_target::catalog::{self, Names};
use dyno_target::cause::Cause;
use dyno_target::connection::QueryError;
use dyno_target::{Connection, Environment, Target, inspect};
use dyno_test_servers::{duckdb_library, old_duckdb_library};
use tempfile::TempDir;

/// Takes minutes, and more memory with none of them.
const LONG_SQL: &str = "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3";

struct Duck {
    directory: TempDir,
    library: PathBuf,
}

impl Duck {
    /// `None` where the library cannot be had.
    fn new() -> Option<Self> {
        Some(Self { library: duckdb_library()?, directory: tempfile::tempdir().unwrap() })
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("duck.db")
    }

    fn target(&self, options: &str) -> Target {
        let (file, library) = (self.file(), self.library.display());
        parse(&format!("duckdb:{}?driver={library}{options}", file.display())).unwrap()
    }

    fn connect(&self) -> Connection {
        self.target("").connect().unwrap()
    }
}

fn parse(text: &str) -> Result<Target, dyno_target::TargetError> {
    Target::parse(text, &Environment::empty())
}

fn all(connection: &mut Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap();
    let row = |row: &dyno_target::connection::TextRow| {
        row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join("|")
    };
    rows.iter().map(row).collect()
}

#[test]
fn answers_have_their_names_and_values() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    let rows =
        connection.query("SELECT 1 AS one, NULL AS missing, 'it''s' AS text, 0.5::DOUBLE AS half").unwrap();
    let shown: Vec<(&str, Option<&str>)> = rows[0].iter().collect();
    assert_eq!(shown, [("one", Some("1")), ("missing", None), ("text", Some("it's")), ("half", Some("0.5"))]);
    for (sql, text) in [
        ("-7::TINYINT", "-7"),
        ("18446744073709551615::UBIGINT", "18446744073709551615"),
        ("sum(i) FROM range(5) t(i)", "10"),
        ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
        ("(-5)::HUGEINT", "-5"),
        ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
        ("'10101'::BIT", "10101"),
        ("'111111110'::BIT", "111111110"),
        ("'12:34:56.5+02'::TIMETZ", "12:34:56.5+02"),
        ("'12:34:56-03:30'::TIMETZ", "12:34:56-03:30"),
        ("'00:00:00+00'::TIMETZ", "00:00:00+00"),
        ("NULL::TIMETZ IS NULL", "t"),
        ("[true, NULL, false]", "{t,NULL,f}"),
        ("['10'::BIT]", "{10}"),
        ("{'a': 5::HUGEINT}", "{a: 5}"),
        ("1.5::FLOAT", "1.5"),
        ("-0.05::DECIMAL(15, 2)", "-0.05"),
        ("12::DECIMAL(15, 2)", "12.00"),
        ("true", "t"),
        ("DATE '1998-12-01'", "1998-12-01"),
        ("TIME '01:02:03.5'", "01:02:03.500"),
        ("TIMESTAMP '1998-12-01 01:02:03'", "1998-12-01 01:02:03"),
        ("TIMESTAMP '1998-12-01 01:02:03.000004'", "1998-12-01 01:02:03.000004"),
        ("TIMESTAMPTZ '1998-12-01 01:02:03+01'", "1998-12-01 00:02:03+00"),
        ("[1, NULL, 3]", "{1,NULL,3}"),
        ("{'a': 1, 'b': DATE '1998-12-01'}", "{a: 1, b: 1998-12-01}"),
        ("MAP {'k': 1.25}", "{\"{key: k, value: 1.25}\"}"),
        ("'b'::ENUM ('a', 'b')", "b"),
        ("'ab'::BLOB", "ab"),
        ("'9a6e3c9a-8a7f-4bd8-b1ab-5bd9a5b6b3d0'::UUID", "9a6e3c9a-8a7f-4bd8-b1ab-5bd9a5b6b3d0"),
    ] {
        assert_eq!(all(&mut connection, &format!("SELECT {sql}")), [text], "{sql}");
    }
    assert_eq!(
        all(&mut connection, "SELECT INTERVAL '14 months 3 days 04:05:06.7'"),
        ["1 year 2 mons 3 days 04:05:06.7"]
    );
    assert_eq!(all(&mut connection, "SELECT ['a b', 'NULL', NULL]"), [r#"{"a b","NULL",NULL}"#]);
    assert_eq!(all(&mut connection, "SELECT 'infinity'::timestamp"), ["infinity"]);
    assert_eq!(all(&mut connection, "SELECT * FROM range(3000)").len(), 3000);
}

#[test]
fn a_text_may_have_several_statements() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    let made =
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR); INSERT INTO t SELECT i, 'x;' FROM range(10) r(i)";
    assert_eq!(connection.execute(made).unwrap(), 10);
    assert_eq!(connection.execute("UPDATE t SET b = 'y' WHERE a < 7; SELECT 1").unwrap(), 7);
    assert_eq!(connection.execute("DELETE FROM t WHERE a > 7 RETURNING a").unwrap(), 2);
    assert_eq!(connection.execute("BEGIN; COMMIT; ; -- nothing").unwrap(), 0);
    // What a text began is undone with it.
    let error = connection.execute("BEGIN; DELETE FROM t; SELECT * FROM missing; COMMIT").unwrap_err();
    assert_eq!(error.cause(), Some(Cause::NoSuchTable), "{error}");
    assert_eq!(all(&mut connection, "SELECT count(*) FROM t"), ["8"]);
}

#[test]
fn errors_are_the_librarys_own_words() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)").unwrap();
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    for (sql, said, cause) in [
        ("SELEC 1", "syntax error at or near \"SELEC\" (Parser Error)", None),
        ("SELECT * FROM missing", "Table with name missing does not exist!", Some(Cause::NoSuchTable)),
        ("SELECT b FROM t", "(Binder Error)", Some(Cause::OtherColumns)),
        ("CREATE TABLE t (a INTEGER)", "already exists", Some(Cause::TableExists)),
        ("INSERT INTO t VALUES (1)", "(Constraint Error)", None),
        // Seen only while the rows are read.
        (
            "SELECT CAST(CASE WHEN i = 90000 THEN 'x' ELSE '1' END AS INTEGER) FROM range(100000) r(i)",
            "(Conversion Error)",
            None,
        ),
    ] {
        let error = connection.query(sql).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.cause(), cause, "{error}");
        assert!(!connection.is_broken());
    }
}

#[test]
fn what_cannot_be_opened_is_said() {
    let Some(duck) = Duck::new() else { return };
    let (directory, library) = (duck.directory.path().display(), duck.library.display());
    let said = |name: &str| parse(name).unwrap().connect().unwrap_err().to_string();
    let missing = said(&format!("duckdb:{directory}/a.db?driver=/nowhere/libduckdb.so"));
    for part in ["could not be loaded", "/nowhere/libduckdb.so", "npm package", "DYNO_DUCKDB_LIBRARY"] {
        assert!(missing.contains(part), "{missing}");
    }
    std::fs::write(duck.directory.path().join("text.db"), "no database at all, but a text ".repeat(1000))
        .unwrap();
    let text = said(&format!("duckdb:{directory}/text.db?driver={library}"));
    assert!(text.contains("text.db could not be opened") && text.contains("not a valid DuckDB"), "{text}");
    std::fs::write(
        duck.directory.path().join("lite.db"),
        [b"SQLite format 3\0".as_slice(), &[0; 8192]].concat(),
    )
    .unwrap();
    let other = said(&format!("duckdb:{directory}/lite.db?driver={library}"));
    assert!(other.contains("sqlite") && !other.contains("http"), "{other}");
    let nowhere = said(&format!("duckdb:/nowhere/at/all.db?driver={library}"));
    assert!(nowhere.contains("/nowhere/at/all.db could not be opened"), "{nowhere}");
    let setting = said(&format!("duckdb:{directory}/b.db?driver={library}&threds=2"));
    assert!(setting.contains("threds") && setting.contains("duckdb_settings()"), "{setting}");
    let unreadable = said(&format!("adbc:{library}?entrypoint=nothing_of_that_name"));
    assert!(unreadable.contains("nothing_of_that_name"), "{unreadable}");
    duck.connect().execute("CREATE TABLE t (a INTEGER)").unwrap();
    let mut reader = duck.target("&access_mode=read_only").connect().unwrap();
    let refused = reader.execute("INSERT INTO t VALUES (1)").unwrap_err();
    assert_eq!(refused.cause(), Some(Cause::ReadOnly), "{refused}");
}

#[test]
fn a_library_that_stops_no_query_is_refused() {
    let Some(library) = old_duckdb_library() else { return };
    let old = Duck { library, directory: tempfile::tempdir().unwrap() };
    let said = old.target("").connect().unwrap_err().to_string();
    let found =
        format!("DuckDB's library {} is version 1.4.5: dyno needs 1.5 or newer", old.library.display());
    assert!(said.contains(&found) && said.contains("npm package @duckdb/node-bindings"), "{said}");
    // Nothing was made or changed.
    assert!(!old.file().exists());
    // Of a driver that any database may have nothing is asked.
    let any = parse(&format!("adbc:{}?entrypoint=duckdb_adbc_init", old.library.display())).unwrap();
    assert_eq!(all(&mut any.connect().unwrap(), "SELECT 1"), ["1"]);
}

#[test]
fn sessions_of_one_file_share_its_database() {
    let Some(duck) = Duck::new() else { return };
    let (mut one, mut other) = (duck.connect(), duck.connect());
    one.execute("CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 0)").unwrap();
    one.execute("BEGIN; UPDATE t SET b = 1").unwrap();
    assert_eq!(all(&mut other, "SELECT b FROM t"), ["0"]);
    let conflict = other.execute("UPDATE t SET b = 2").unwrap_err();
    assert!(matches!(&conflict, QueryError::Server { error, .. } if error.asks_for_retry()), "{conflict}");
    one.execute("COMMIT").unwrap();
    other.execute("UPDATE t SET b = b + 2").unwrap();
    assert_eq!(all(&mut one, "SELECT b FROM t"), ["3"]);
    // Another way to say the same file, but not with the same settings.
    let error = duck.target("&threads=1").connect().unwrap_err().to_string();
    assert!(error.contains("open in this run already"), "{error}");
    drop((one, other));
    assert_eq!(all(&mut duck.target("&threads=1").connect().unwrap(), "SELECT b FROM t"), ["3"]);
}

#[test]
fn a_long_statement_is_stopped() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    connection.set_answer_timeout(Duration::from_millis(300));
    let began = Instant::now();
    let error = connection.query(LONG_SQL).unwrap_err();
    assert!(matches!(error, QueryError::TimedOut { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(60));
    connection.set_answer_timeout(Duration::from_secs(600));
    assert_eq!(all(&mut connection, "SELECT 1"), ["1"]);
}

/// A column of each type with a NULL in every tenth row, each in another.
fn hundred_thousand() -> Vec<ColumnValues> {
    const ROWS: usize = 100_000;
    let nulls = |from: usize| (from..ROWS).step_by(10).collect::<Vec<_>>();
    let mut texts = Texts::default();
    for row in 0..ROWS {
        texts.bytes.extend_from_slice(format!("text ü {}", row % 1000).as_bytes());
        texts.ends.push(texts.bytes.len());
    }
    let values = |row: usize| row as i64;
    vec![
        ColumnValues { values: TypedValues::Integers((0..ROWS).map(values).collect()), nulls: Vec::new() },
        ColumnValues { values: TypedValues::Integers((0..ROWS).map(values).collect()), nulls: nulls(1) },
        ColumnValues {
            values: TypedValues::Decimals {
                values: (0..ROWS).map(|row| values(row) - 50_000).collect(),
                places: 2,
            },
            nulls: nulls(2),
        },
        ColumnValues {
            values: TypedValues::Dates((0..ROWS).map(|row| (row % 3000) as i32).collect()),
            nulls: nulls(3),
        },
        ColumnValues { values: TypedValues::Texts(texts), nulls: nulls(4) },
        ColumnValues { values: TypedValues::None, nulls: (0..ROWS).collect() },
    ]
}

const COLUMNS: [&str; 6] = ["id", "k", "price", "day", "name", "nothing"];

#[test]
fn rows_are_loaded_as_they_are() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    connection
        .execute(
            "CREATE TABLE t (id INTEGER NOT NULL, k BIGINT, day DATE, price DECIMAL(15, 2), name VARCHAR, nothing INTEGER)",
        )
        .unwrap();
    let batch = Batch::Columns(hundred_thousand());
    assert_eq!(connection.load_batch("t", &COLUMNS, &batch).unwrap(), 100_000);
    let sums = "SELECT count(*), sum(id), count(k), sum(k), count(price), sum(price), count(day), min(day), max(day), \
                       count(name), count(DISTINCT name), count(nothing) FROM t";
    let k: i64 = (0..100_000).filter(|row| row % 10 != 1).sum();
    let price: i64 = (0..100_000).filter(|row| row % 10 != 2).map(|row| row - 50_000).sum();
    let expected = format!(
        "100000|4999950000|90000|{k}|90000|{}.{:02}|90000|1970-01-01|1978-03-19|90000|900|0",
        price / 100,
        price % 100
    );
    assert_eq!(all(&mut connection, sums), [expected]);
    assert_eq!(
        all(&mut connection, "SELECT id, k, price, day, name FROM t WHERE id BETWEEN 1 AND 5 ORDER BY id"),
        [
            "1|NULL|-499.99|1970-01-02|text ü 1",
            "2|2|NULL|1970-01-03|text ü 2",
            "3|3|-499.97|NULL|text ü 3",
            "4|4|-499.96|1970-01-05|NULL",
            "5|5|-499.95|1970-01-06|text ü 5"
        ]
    );
    // A buffer is used again, and within a transaction.
    connection.execute("BEGIN").unwrap();
    assert_eq!(connection.load_batch("t", &COLUMNS, &batch).unwrap(), 100_000);
    assert_eq!(all(&mut connection, "SELECT count(*) FROM t"), ["200000"]);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(all(&mut connection, "SELECT count(*) FROM t"), ["100000"]);
}

#[test]
fn rows_that_do_not_fit_are_an_error_and_leave_nothing() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.connect();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k TINYINT)").unwrap();
    let two = |ids: [i64; 2], ks: [i64; 2], nulls: &[usize]| {
        Batch::Columns(vec![
            ColumnValues { values: TypedValues::Integers(ids.into()), nulls: nulls.to_vec() },
            ColumnValues { values: TypedValues::Integers(ks.into()), nulls: Vec::new() },
        ])
    };
    let mut refused = |batch: &Batch, said: &str| {
        let error = connection.load_batch("t", &["id", "k"], batch).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(all(&mut connection, "SELECT count(*) FROM t"), ["0"], "{said}");
    };
    refused(&two([1, 1], [1, 2], &[]), "Constraint");
    refused(&two([1, 2], [1, 2], &[1]), "NOT NULL");
    refused(&two([1, 2], [1, 1000], &[]), "1000");
    let error = connection.load_batch("missing", &["id", "k"], &two([1, 2], [1, 2], &[])).unwrap_err();
    assert_eq!(error.cause(), Some(Cause::NoSuchTable), "{error}");
    connection.execute("BEGIN").unwrap();
    let error = connection.load_batch("t", &["id", "k"], &two([1, 1], [1, 2], &[])).unwrap_err().to_string();
    assert!(error.contains("Constraint"), "{error}");
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(connection.load_batch("T", &["K", "ID"], &two([5, 6], [1, 2], &[])).unwrap(), 2);
    assert_eq!(all(&mut connection, "SELECT id, k FROM t ORDER BY id"), ["1|5", "2|6"]);
}

#[test]
fn its_catalog_settings_and_sizes_are_read() {
    let Some(duck) = Duck::new() else { return };
    let mut connection = duck.target("&threads=1&memory_limit=1GB").connect().unwrap();
    let recognised = inspect::recognise(&mut connection).unwrap();
    assert_eq!(recognised.name.as_deref(), Some("DuckDB"));
    assert!(recognised.version.unwrap().starts_with("1."));
    let dialect = recognised.dialect;
    let create = "CREATE TABLE part (a INTEGER, b TEXT, PRIMARY KEY (a))";
    connection.execute(&dialect.comments.create([create, ""], "part", "it is mine")).unwrap();
    connection
        .execute("CREATE TABLE item (a INTEGER REFERENCES part (a), c DATE); CREATE VIEW w AS SELECT 1")
        .unwrap();
    connection
        .execute("CREATE INDEX item_c ON item (c, a); INSERT INTO part SELECT i, i FROM range(1000) r(i)")
        .unwrap();
    let names = Names::These(&["part", "item", "w"]);
    let mut tables = catalog::tables(&mut connection, names).unwrap();
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    let [item, part, w] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!((part.comment.as_str(), part.is_table, w.is_table), ("it is mine", true, false));
    assert_eq!(part.key().collect::<Vec<_>>(), ["a"]);
    assert_eq!(part.columns[1].kind, "VARCHAR (TEXT)");
    assert_eq!(item.columns.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    let indexes = catalog::indexes(&mut connection, names).unwrap().unwrap();
    assert!(
        indexes.iter().any(|it| (it.name.as_str(), it.first_column.as_str()) == ("item_c", "c")),
        "{indexes:?}"
    );
    assert!(
        indexes.iter().any(|it| (it.table.as_str(), it.first_column.as_str()) == ("part", "a")),
        "{indexes:?}"
    );
    let keys = catalog::foreign_keys(&mut connection, names).unwrap().unwrap();
    assert_eq!((keys.len(), keys[0].refers_to.as_str()), (1, "part"));
    connection.execute(&dialect.comments.change("part", "changed")).unwrap();
    connection.execute(&dialect.analyze("part").unwrap()).unwrap();

    let settings = inspect::settings(&mut connection, "duck").unwrap();
    let shown: Vec<(&str, &str, bool)> =
        settings.rows.iter().map(|it| (it.name.as_str(), it.value.as_str(), it.changed)).collect();
    assert_eq!(shown[..2], [("threads", "1", true), ("memory_limit", "953.6 MiB", true)], "{shown:?}");
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(settings.facts.durable_by.is_some());
    let data = inspect::data(&mut connection, "duck", "w", None, &["part", "item", "missing"]).unwrap();
    assert!(data.cache_bytes.is_some_and(|bytes| (900 << 20..1 << 30).contains(&bytes)), "{data:?}");
    assert!(data.database_bytes.is_some_and(|bytes| bytes > 100_000), "{data:?}");
    assert_eq!((data.tables[0].rows, data.tables[2].rows), (Some(1000), None));
    assert!(data.tables[0].table_bytes.is_some_and(|bytes| bytes >= 262_144), "{data:?}");
    assert_eq!(data.tables[1].indexed.as_deref(), Some(&["c".to_owned()][..]));
    let facts = inspect::facts(&mut connection, "duck", "duckdb:x").unwrap();
    assert!(facts.in_process && facts.same_host == Some(true), "{facts:?}");
    let mut statistics = inspect::Statistics::prepare(&mut connection, &[]).unwrap();
    assert!(statistics.read(&mut connection).unwrap()["database_bytes"] > 0.0);
    let one = inspect::identity(&mut connection).unwrap();
    assert!(one.has_same_tables(
        &inspect::identity(&mut duck.target("&threads=1&memory_limit=1GB").connect().unwrap()).unwrap()
    ));
    connection.execute(&dialect.empty("item")).unwrap();
}

#[test]
fn any_library_with_a_driver_can_be_named() {
    let Some(duck) = Duck::new() else { return };
    let library = duck.library.display();
    let name = format!("adbc:{library}?entrypoint=duckdb_adbc_init&path={}&threads=1", duck.file().display());
    let target = parse(&name).unwrap();
    let mut connection = target.connect().unwrap();
    assert_eq!(inspect::recognise(&mut connection).unwrap().name, None);
    let dialect = connection.dialect();
    let create = "CREATE TABLE part (a INTEGER, b TEXT, PRIMARY KEY (a))";
    connection.execute(&dialect.comments.create([create, ""], "part", "it is mine")).unwrap();
    let tables = catalog::tables(&mut connection, Names::These(&["part"])).unwrap();
    let [part] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!((part.comment.as_str(), part.is_table, part.columns.len()), ("it is mine", true, 2));
    assert_eq!(part.key().collect::<Vec<_>>(), ["a"]);
    connection.execute(&dialect.comments.change("part", "changed")).unwrap();
    assert_eq!(catalog::tables(&mut connection, Names::These(&["part"])).unwrap()[0].comment, "changed");
    assert_eq!(catalog::indexes(&mut connection, Names::These(&["part"])).unwrap(), Some(Vec::new()));
    let ids = ColumnValues { values: TypedValues::Integers(vec![1, 2]), nulls: Vec::new() };
    let names = ColumnValues { values: TypedValues::None, nulls: vec![0, 1] };
    assert_eq!(connection.load_batch("part", &["a", "b"], &Batch::Columns(vec![ids, names])).unwrap(), 2);
    assert_eq!(all(&mut target.connect().unwrap(), "SELECT a, b FROM part ORDER BY a"), ["1|NULL", "2|NULL"]);
    let data = inspect::data(&mut connection, "any", "w", None, &["part"]).unwrap();
    assert_eq!(data.tables[0].rows, Some(2));
}

#[test]
fn no_error_repeats_what_may_be_a_secret() {
    let Some(duck) = Duck::new() else { return };
    let (library, file) = (duck.library.display(), duck.file().display().to_string());
    // Of an unknown driver nobody knows what the option means.
    let secret = duck.directory.path().join("hidden-one").display().to_string();
    let name =
        format!("adbc:{library}?entrypoint=duckdb_adbc_init&path={file}&temp_directory={secret}&threads=1");
    let target = parse(&name).unwrap();
    assert!(!target.url().contains("hidden") && !format!("{target:?}").contains("hidden"), "{target:?}");
    let remembered = target.passwords().iter().any(|password| password.reveal() == secret);
    assert!(remembered);
    let mut connection = target.connect().unwrap();
    let error = connection.query(&format!("SELECT error('at {secret}')")).unwrap_err();
    let QueryError::Server { error, .. } = error else { panic!("{error}") };
    assert!(error.message().contains("at ***"), "{error:?}");
}

/// Adds to an account and notes that with values of each type, within a transaction.
struct Load {
    types: Vec<String>,
    statements: Vec<Statement>,
}

const STATEMENTS: [&str; 6] = [
    "BEGIN",
    "UPDATE account SET balance = balance + $2 WHERE id = $1",
    "INSERT INTO note VALUES ($1, $2, $3, $4)",
    "COMMIT",
    "ROLLBACK",
    LONG_SQL,
];

impl Load {
    fn of(kind: &str) -> Arc<dyn Workload> {
        Arc::new(Self { types: vec![kind.to_owned()], statements: STATEMENTS.map(Statement::new).into() })
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
        Some(StatementId(4))
    }

    fn client(&self, _: ClientIdentity, _: u64) -> Box<dyn Client> {
        Box::new(Account { is_long: self.types[0] == "long", step: 0 })
    }
}

struct Account {
    is_long: bool,
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
        match self.step {
            1 if self.is_long => request.execute(StatementId(5), &[]),
            1 => request.execute(StatementId(0), &[]),
            2 if !self.is_long => request.execute(StatementId(1), &[7, 1]),
            3 => {
                assert_eq!(answer.map(|answer| answer.affected), Some(1));
                let values =
                    [Value::Integer(7), Value::Double(0.5), Value::Text("ü'".as_bytes()), Value::Null];
                request.execute_values(StatementId(2), &values);
            }
            4 => {
                request.execute(StatementId(3), &[]);
                return Step::SendCommit;
            }
            _ => return Step::Done,
        }
        Step::Send
    }
}

/// Runs so many transactions of each client; the intervals, and the errors that were told.
fn run(engine: &mut Engine, clients: u32, each: u64) -> (Vec<Interval>, Vec<String>) {
    let arrivals = Arrivals::Closed { think_time: Duration::ZERO };
    let end = End::TransactionsPerClient(each);
    let order = StageOrder::new(StageKind::Hold, clients, arrivals, end);
    let (mut intervals, mut errors) = (Vec::new(), Vec::new());
    let outcome = engine.run_stage(&order, &AtomicBool::new(false), &mut |observation| match observation {
        Observation::Interval(interval) => intervals.push(interval),
        Observation::Error(error) => errors.push(error.to_string()),
        _ => {}
    });
    assert!(outcome.unwrap().complete);
    (intervals, errors)
}

#[test]
fn every_acknowledged_transaction_is_in_the_file() {
    let Some(duck) = Duck::new() else { return };
    let tables = "CREATE TABLE account (id INTEGER, balance INTEGER); INSERT INTO account VALUES (7, 0); \
                  CREATE TABLE note (id BIGINT, half DOUBLE, name VARCHAR, nothing DATE)";
    duck.connect().execute(tables).unwrap();
    let config = EngineConfig { tries_max: 1000, ..EngineConfig::new(2) };
    let mut engine = Engine::start(duck.target("").route().unwrap(), &Load::of("write"), config).unwrap();
    // All change the same row: whoever comes second is told of a conflict, and tries again.
    let (intervals, errors) = run(&mut engine, 3, 20);
    let done: u64 = intervals.iter().flat_map(|it| &it.types).map(|it| it.done).sum();
    assert_eq!(done, 60, "{errors:?}");
    drop(engine);
    let found = all(
        &mut duck.connect(),
        "SELECT balance, (SELECT count(*) FROM note WHERE half = 0.5 AND name = 'ü''' AND nothing IS NULL) FROM account",
    );
    assert_eq!(found, ["60|60"]);
}

#[test]
fn a_statement_that_outlasts_its_limit_is_stopped() {
    let Some(duck) = Duck::new() else { return };
    duck.connect().execute("CREATE TABLE account (id INTEGER, balance INTEGER)").unwrap();
    duck.connect().execute("CREATE TABLE note (id BIGINT, half DOUBLE, name VARCHAR, nothing DATE)").unwrap();
    let config = EngineConfig { statement_limit: Some(Duration::from_millis(200)), ..EngineConfig::new(1) };
    let mut engine = Engine::start(duck.target("").route().unwrap(), &Load::of("long"), config).unwrap();
    let (intervals, errors) = run(&mut engine, 2, 2);
    let sum = |of: fn(&dyno_results::event::TypeInterval) -> u64| -> u64 {
        intervals.iter().flat_map(|it| &it.types).map(of).sum()
    };
    assert_eq!((sum(|it| it.done), sum(|it| it.cancelled)), (0, 4), "{errors:?}");
}
