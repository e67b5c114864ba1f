//! Recognising products and looking at them, against PostgreSQL and the servers that speak MySQL's protocol.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_results::event::Setting;
use dyno_target::inspect::{self, Statistics};
use dyno_target::product::{Analyze, AutoIncrement, Bulk};
use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup};

fn open(url: &str) -> Connection {
    let target = Target::parse(url, &Environment::empty()).unwrap();
    target.connect().unwrap()
}

/// The database of these tests, on servers that other suites use, too.
const DATABASE: &str = "target_products";

const WITH_INNODB: [MysqlProduct; 2] = [MysqlProduct::Mysql, MysqlProduct::MariaDb];

fn root(server: &Mysql) -> Connection {
    open(&server.url("root", &server.password, DATABASE))
}

/// The server of a product for all tests that only read, or keep to tables of their own; `None` where this machine cannot
/// have it.
fn shared(product: MysqlProduct) -> Option<Arc<Mysql>> {
    static PREPARED: Mutex<BTreeSet<SocketAddr>> = Mutex::new(BTreeSet::new());
    let server = Mysql::shared(&MysqlSetup::new(product))?;
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared.insert(server.address) {
        server.sql(&format!("DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}"));
    }
    Some(server)
}

/// A server of the caller's own.
fn own(setup: MysqlSetup) -> Option<Mysql> {
    Mysql::start(&setup.with_sql(&format!("CREATE DATABASE {DATABASE}")))
}

/// One of each product that is tested and that this machine can have.
fn each() -> impl Iterator<Item = Arc<Mysql>> {
    MysqlProduct::tested().iter().copied().filter_map(shared)
}

#[test]
fn postgresql_is_recognised_with_its_dialect() {
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    let mut anywhere = open(&format!("postgres://postgres@{}/postgres", server.address));
    anywhere.execute(&format!("DROP DATABASE IF EXISTS {DATABASE}")).unwrap();
    anywhere.execute(&format!("CREATE DATABASE {DATABASE}")).unwrap();
    let mut session = open(&format!("postgres://postgres@{}/{DATABASE}", server.address));
    let found = inspect::recognise(&mut session).unwrap();
    assert_eq!(found.name.as_deref(), Some("PostgreSQL"));
    assert_eq!(found.product.unwrap().name, "PostgreSQL");
    assert!(found.version_text.unwrap().starts_with(&format!("PostgreSQL {}", found.version.unwrap())));
    let dialect = found.dialect;
    assert!(dialect.vacuum && dialect.bulk == Bulk::Copy { freeze: true });
    assert_eq!((dialect.analyze, dialect.auto_increment), (Analyze::Plain, AutoIncrement::Serial));
    // What the dialect says is understood.
    session.execute("BEGIN").unwrap();
    session
        .execute(&format!(
            "CREATE TABLE spoken (id {} PRIMARY KEY){}",
            dialect.auto_increment.column_type(),
            dialect.table_options
        ))
        .unwrap();
    session.copy_in("COPY spoken FROM STDIN WITH (FREEZE on)").unwrap().finish().unwrap();
    session.execute("COMMIT").unwrap();
    session.execute(&dialect.analyze("spoken").unwrap()).unwrap();
    session.execute("VACUUM spoken").unwrap();
}

/// An extension is known by the table access method that it brings, whatever its name is.
#[test]
fn an_extension_that_stores_tables_is_part_of_the_product() {
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    server.psql("drop database if exists target_storing with (force)");
    server.psql("create database target_storing");
    let mut connection = open(&format!("postgres://postgres@{}/target_storing", server.address));
    let name = |connection: &mut Connection| inspect::recognise(connection).unwrap().name.unwrap();
    assert_eq!(name(&mut connection), "PostgreSQL");
    connection.execute("CREATE ACCESS METHOD kept TYPE TABLE HANDLER heap_tableam_handler").unwrap();
    assert_eq!(name(&mut connection), "PostgreSQL", "it is of no extension");
    connection.execute("ALTER EXTENSION plpgsql ADD ACCESS METHOD kept").unwrap();
    let with = name(&mut connection);
    assert!(with.starts_with("PostgreSQL with plpgsql "), "{with}");
    server.psql("drop database target_storing with (force)");
}

#[test]
fn each_product_is_recognised_with_its_version_and_place() {
    for server in each() {
        let mut session = root(&server);
        let facts = inspect::facts(&mut session, "db", "mysql://x").unwrap();
        assert_eq!(facts.product, Some(server.product().to_string()));
        let (version, text) = (facts.version.unwrap(), facts.version_text.unwrap());
        assert!(
            text.contains(&version) && text == server.sql("select version()").trim(),
            "{version}: {text}"
        );
        let first = match server.product() {
            MysqlProduct::Mysql => "9.",
            MysqlProduct::MariaDb => "10.11.",
            MysqlProduct::SeekDb => "1.",
        };
        assert!(version.starts_with(first) && !version.contains('-'), "{version}");
        assert_eq!(facts.same_host, Some(true));
        assert_eq!(facts.tls, None);
        let most = if server.product() == MysqlProduct::SeekDb { i32::MAX as u32 } else { 500 };
        assert_eq!(facts.connections_max, Some(most));
        let isolation =
            if server.product() == MysqlProduct::SeekDb { "read committed" } else { "repeatable read" };
        assert_eq!(facts.isolation.as_deref(), Some(isolation));
    }
}

#[test]
fn what_the_dialect_says_is_understood() {
    for server in each() {
        let mut session = root(&server);
        let dialect = inspect::recognise(&mut session).unwrap().dialect;
        assert!(dialect.bulk == Bulk::LoadLocal && !dialect.vacuum, "{dialect:?}");
        let column = dialect.auto_increment.column_type();
        let create = format!(
            "CREATE TABLE spoken (id {column}, PRIMARY KEY (id{})){}",
            dialect.key_order, dialect.table_options
        );
        session.execute(&create).unwrap();
        session.execute(&dialect.analyze("spoken").unwrap()).unwrap();
        assert!(session.execute("VACUUM spoken").is_err());
    }
}

#[test]
fn local_infile_that_is_off_is_no_part_of_the_dialect() {
    for product in WITH_INNODB {
        let Some(server) = own(MysqlSetup::new(product).with("local-infile=OFF")) else { continue };
        let bulk = inspect::recognise(&mut root(&server)).unwrap().dialect.bulk;
        assert!(matches!(bulk, Bulk::Inserts { .. }), "{product}");
    }
}

#[test]
fn the_servers_process_is_found_over_tcp_and_its_socket() {
    for server in each() {
        let by_socket =
            format!("mysql://root:{}@localhost?socket={}", server.password, server.socket().display());
        for url in [server.url("root", &server.password, DATABASE), by_socket] {
            let mut session = open(&url);
            let found = inspect::server_process(&mut session).unwrap();
            let found = found.unwrap_or_else(|| panic!("{} is not seen", server.product()));
            assert_eq!(found.pid, Some(server.pid()), "{}", server.product());
            let data = found.data_directory.unwrap();
            assert!(data.starts_with(server.directory().join("data")), "{}", data.display());
        }
    }
}

#[test]
fn free_connections_are_counted_by_server_and_account() {
    for product in WITH_INNODB {
        let setup = MysqlSetup::new(product)
            .with("max-connections=30")
            .with_sql("CREATE USER few@'%' WITH MAX_USER_CONNECTIONS 3");
        let Some(server) = own(setup) else { continue };
        let mut session = root(&server);
        wait_for("the test's own client to be gone", || {
            inspect::connections_allowed(&mut session).unwrap().least() == Some(29)
        });
        let _another = root(&server);
        assert_eq!(inspect::connections_allowed(&mut session).unwrap().least(), Some(28));
        let mut few = open(&server.url("few", "", ""));
        assert_eq!(inspect::connections_allowed(&mut few).unwrap().least(), Some(2), "{product}");
        assert_eq!(inspect::facts(&mut few, "db", "mysql://x").unwrap().connections_max, Some(3));
    }
}

#[test]
fn changed_and_durability_settings_are_reported() {
    for product in WITH_INNODB {
        let setup = MysqlSetup::new(product)
            .with("innodb-flush-log-at-trx-commit=2")
            .with("innodb-buffer-pool-size=64M");
        let Some(server) = own(setup) else { continue };
        let mut another = root(&server);
        another.execute("SET GLOBAL sort_buffer_size = 1048576, GLOBAL innodb_io_capacity = 700").unwrap();
        another.execute("SET SESSION autocommit = OFF, SESSION sql_mode = 'ANSI'").unwrap();
        let mut session = root(&server);
        session.execute("SET SESSION join_buffer_size = 4194304").unwrap();
        let found = inspect::settings(&mut session, "db").unwrap();
        let get = |name: &str| found.rows.iter().find(|row| row.name == name);
        let commit = get("innodb_flush_log_at_trx_commit").unwrap();
        let of_mariadb = |value: &str| (product == MysqlProduct::MariaDb).then(|| value.to_owned());
        let expected = Setting {
            name: "innodb_flush_log_at_trx_commit".into(),
            value: "2".into(),
            unit: None,
            default: of_mariadb("1"),
            source: Some("command line".into()),
            changed: true,
            durability: true,
        };
        assert_eq!(*commit, expected, "{product}");
        for (name, value) in
            [("innodb_doublewrite", "ON"), ("innodb_flush_method", "nosync"), ("log_bin", "OFF")]
        {
            let row = get(name).unwrap();
            assert!(row.durability && row.value == value, "{product}: {row:?}");
        }
        assert_eq!(get("innodb_redo_log_enabled").is_some(), product == MysqlProduct::Mysql);
        let pool = get("innodb_buffer_pool_size").unwrap();
        assert_eq!((pool.value.as_str(), pool.unit.as_deref(), pool.changed), ("67108864", Some("B"), true));
        let sort = get("sort_buffer_size").unwrap();
        assert_eq!(
            (sort.value.as_str(), sort.source.as_deref()),
            ("1048576", Some("SET GLOBAL")),
            "{product}"
        );
        let capacity = get("innodb_io_capacity").unwrap();
        assert_eq!((capacity.value.as_str(), capacity.changed), ("700", true));
        let of_sessions = ["join_buffer_size", "autocommit", "sql_mode", "foreign_key_checks"];
        let of_places = ["datadir", "socket", "port", "pid_file", "tmpdir"];
        for absent in of_sessions.into_iter().chain(of_places) {
            assert!(get(absent).is_none(), "{product}: {:?}", get(absent));
        }
    }
}

#[test]
#[ignore = "slow: seekdb"]
fn seekdb_reports_its_own_parameters_and_no_settings_of_innodb() {
    let Some(server) = shared(MysqlProduct::SeekDb) else { return };
    let found = inspect::settings(&mut root(&server), "db").unwrap();
    let datafile = found.rows.iter().find(|row| row.name == "datafile_size").unwrap();
    assert_eq!((datafile.value.as_str(), datafile.changed), ("512M", true));
    assert!(found.rows.iter().all(|row| !row.durability && !row.name.starts_with("innodb")), "{found:?}");
}

#[test]
fn a_user_without_rights_learns_what_he_may() {
    for product in WITH_INNODB {
        let Some(server) = shared(product) else { continue };
        server.sql(&format!(
            "DROP USER IF EXISTS target_rightless; CREATE USER target_rightless; \
             GRANT ALL ON {DATABASE}.* TO target_rightless"
        ));
        let mut session = open(&server.url("target_rightless", "", DATABASE));
        let found = inspect::settings(&mut session, "db").unwrap();
        assert!(
            found.rows.iter().any(|row| row.name == "innodb_flush_method" && row.durability),
            "{product}"
        );
        assert_eq!(inspect::facts(&mut session, "db", "mysql://x").unwrap().same_host, Some(true));
        let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
        let values = statistics.read(&mut session).unwrap();
        assert!(values.contains_key("queries_total"), "{product}: {values:?}");
        // MySQL counts deadlocks where an ordinary user may not look.
        assert_eq!(values.contains_key("deadlocks_total"), product == MysqlProduct::MariaDb);
    }
}

#[test]
fn sizes_are_read_of_tables_that_are_there() {
    for server in each() {
        let mut session = root(&server);
        session.execute("CREATE TABLE sized (id INT PRIMARY KEY, c CHAR(200), KEY (c))").unwrap();
        let rows: Vec<String> = (0..2000).map(|id| format!("({id}, 'row {id}')")).collect();
        session.execute(&format!("INSERT INTO sized VALUES {}", rows.join(", "))).unwrap();
        session.execute("ANALYZE TABLE sized").unwrap();
        let tables = ["sized", "`sized`", &format!("{DATABASE}.sized"), "missing"];
        let data = inspect::data(&mut session, "db", "w", Some(2.0), &tables).unwrap();
        assert_eq!((data.target.as_str(), data.workload.as_str(), data.scale), ("db", "w", Some(2.0)));
        let [sized, quoted, qualified, missing] = data.tables.as_slice() else { panic!("{:?}", data.tables) };
        assert_eq!((sized.rows, sized.table_bytes), (quoted.rows, quoted.table_bytes));
        assert_eq!((sized.rows, sized.table_bytes), (qualified.rows, qualified.table_bytes));
        assert_eq!((missing.rows, missing.table_bytes, missing.logged), (None, None, None));
        if server.product() == MysqlProduct::SeekDb {
            // The rows are in memory, of which nothing is counted here.
            assert_eq!(data.cache_bytes, None);
            continue;
        }
        assert!((1500..2500).contains(&sized.rows.unwrap()), "{sized:?}");
        assert!(sized.table_bytes.unwrap() > 100_000 && sized.index_bytes.unwrap() > 100_000, "{sized:?}");
        assert!(data.database_bytes.unwrap() > 200_000);
        assert_eq!((data.cache_bytes, sized.logged), (Some(128 << 20), Some(true)));
        assert_eq!((sized.analyzed, missing.analyzed), (Some(true), None));
        // A table whose statistics the server does not make by itself.
        session
            .execute("CREATE TABLE unanalysed (id INT PRIMARY KEY, c CHAR(200)) STATS_AUTO_RECALC = 0")
            .unwrap();
        session.execute("INSERT INTO unanalysed SELECT * FROM sized").unwrap();
        let mut analyzed = || {
            inspect::data(&mut session, "db", "w", None, &["unanalysed"]).map(|data| data.tables[0].analyzed)
        };
        assert_eq!(analyzed().unwrap(), Some(false));
        root(&server).execute("ANALYZE TABLE unanalysed").unwrap();
        assert_eq!(analyzed().unwrap(), Some(true));
        session.execute("CREATE TABLE volatile_one (id INT) ENGINE = MEMORY").unwrap();
        let data = inspect::data(&mut session, "db", "w", None, &["volatile_one"]).unwrap();
        assert_eq!(data.tables[0].logged, Some(false));
    }
}

#[test]
fn statistics_count_what_was_done() {
    for product in WITH_INNODB {
        let Some(server) = own(MysqlSetup::new(product)) else { continue };
        let mut session = root(&server);
        let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
        let before = statistics.read(&mut session).unwrap();
        let documented = include_str!("../../../docs/telemetry.md");
        for key in before.keys() {
            let shown = key.split_once('[').map_or_else(|| key.clone(), |(base, _)| format!("{base}[…]"));
            assert!(documented.contains(&format!("`{shown}`")), "{key} is not documented");
        }
        let mut worker = root(&server);
        worker.execute("CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, x INT)").unwrap();
        let values = vec!["(1)"; 5000].join(", ");
        worker.execute("BEGIN").unwrap();
        worker.execute(&format!("INSERT INTO counted (x) VALUES {values}")).unwrap();
        worker.execute("COMMIT").unwrap();
        worker.execute("UPDATE counted SET x = 2 WHERE id <= 100").unwrap();
        worker.execute("DELETE FROM counted WHERE id <= 10").unwrap();
        deadlock(&server, &mut worker);
        let after = statistics.read(&mut session).unwrap();
        let grown = |key: &str| after[key] - before[key];
        for (key, least) in [
            ("tuples_inserted_total", 5000.0),
            ("tuples_updated_total", 100.0),
            ("tuples_deleted_total", 10.0),
            ("tuples_returned_total", 100.0),
            ("commit_statements_total", 1.0),
            ("rollback_statements_total", 1.0),
            ("queries_total", 6.0),
            ("wal_bytes_total", 100_000.0),
            ("blocks_hit_total", 5000.0),
            ("row_lock_waits_total", 1.0),
            ("deadlocks_total", 1.0),
        ] {
            assert!(grown(key) >= least, "{product}: {key} grew by {}", grown(key));
        }
        let mut anew = Statistics::prepare(&mut session, &[]).unwrap();
        assert!(anew.read(&mut session).unwrap()["database_bytes"] >= 16384.0, "a page at least");
        assert!(!anew.read(&mut session).unwrap().contains_key("database_bytes"), "read now and then only");
        wait_for("one other session, idle", || {
            let now = statistics.read(&mut session).unwrap();
            now["connections_open"] == 1.0 && now["connections_active"] == 0.0
        });
    }
}

/// Two transactions that wait for each other; one is sent back.
fn deadlock(server: &Mysql, worker: &mut Connection) {
    worker.execute("BEGIN").unwrap();
    worker.execute("UPDATE counted SET x = 3 WHERE id = 200").unwrap();
    thread::scope(|scope| {
        let (sent, received) = std::sync::mpsc::channel();
        let other = scope.spawn(move || {
            let mut other = root(server);
            other.execute("BEGIN").unwrap();
            other.execute("UPDATE counted SET x = 3 WHERE id = 300").unwrap();
            sent.send(()).unwrap();
            other.execute("UPDATE counted SET x = 4 WHERE id = 200").is_err()
        });
        received.recv().unwrap();
        let one = worker.execute("UPDATE counted SET x = 4 WHERE id = 300").is_err();
        worker.execute("ROLLBACK").unwrap();
        assert!(one ^ other.join().unwrap(), "one of them is sent back");
    });
}

#[test]
#[ignore = "slow: seekdb"]
fn seekdb_counts_its_log_and_connections() {
    let Some(server) = shared(MysqlProduct::SeekDb) else { return };
    let mut session = root(&server);
    session.execute("CREATE TABLE logged (id INT PRIMARY KEY)").unwrap();
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let before = statistics.read(&mut session).unwrap();
    let rows: Vec<String> = (0..5000).map(|id| format!("({id})")).collect();
    session.execute(&format!("INSERT INTO logged VALUES {}", rows.join(", "))).unwrap();
    let mut read = || statistics.read(&mut session).unwrap();
    wait_for("the log to have grown", || read()["wal_bytes_total"] - before["wal_bytes_total"] > 10_000.0);
    assert!(read().contains_key("connections_open"));
}

/// Asks until it is so.
fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !so() {
        assert!(Instant::now() < deadline, "it did not come to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
