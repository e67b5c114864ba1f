//! What the probe reads of servers on MySQL's protocol, and what it says of rights that it has not.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use dyno_results::event::Event;
use dyno_target::inspect::{self, Statistics};
use dyno_target::probe::{Probe, ProbeOptions};
use dyno_target::{Connection, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};

use crate::support::{DATABASE, WITH_INNODB, own, root, shared, shared_with, target, wait_for};

fn names(tables: &[&str]) -> Vec<String> {
    tables.iter().map(|table| (*table).to_owned()).collect()
}

fn read(session: &mut Connection, tables: &[&str]) -> BTreeMap<String, f64> {
    Statistics::prepare(session, &names(tables)).unwrap().read(session).unwrap()
}

/// As MariaDB is unless it is told otherwise.
fn without_performance_schema(product: MysqlProduct) -> Option<Arc<Mysql>> {
    shared_with(&MysqlSetup::new(product).with("performance-schema=OFF"))
}

#[test]
fn every_key_is_documented() {
    let documented = include_str!("../../../../docs/telemetry.md");
    let products = MysqlProduct::tested().iter().copied().filter_map(shared);
    for server in products.chain(without_performance_schema(MysqlProduct::MariaDb)) {
        let mut session = root(&server);
        session.execute("CREATE TABLE keyed (id INT PRIMARY KEY)").unwrap();
        let mut statistics = Statistics::prepare(&mut session, &names(&["keyed"])).unwrap();
        assert_eq!(statistics.missing(), [] as [String; 0], "{}", server.product());
        let values = statistics.read(&mut session).unwrap();
        for key in values.keys() {
            let shown = key.split_once('[').map_or_else(|| key.clone(), |(base, _)| format!("{base}[…]"));
            assert!(documented.contains(&format!("`{shown}`")), "{key} is not documented");
        }
        let expected: &[&str] = match server.product() {
            MysqlProduct::Mysql => &[
                "checkpoint_age_bytes",
                "checkpoint_age_limit_bytes",
                "file_wait_seconds_total[redo]",
                "file_write_bytes_total[data]",
                "wal_write_operations_total",
                "undo_history_transactions",
                "deadlocks_total",
                "waits_sessions[Other]",
                "transaction_age_max_seconds",
                "table_bytes[keyed]",
            ],
            MysqlProduct::MariaDb => &[
                "checkpoint_age_bytes",
                "checkpoint_age_limit_bytes",
                "undo_history_transactions",
                "deadlocks_total",
                "waits_sessions[Other]",
                "transaction_age_max_seconds",
                "table_bytes[keyed]",
            ],
            MysqlProduct::SeekDb => &["wal_bytes_total", "connections_active", "connections_open"],
        };
        for key in expected {
            assert!(values.contains_key(*key), "{} has no {key}: {values:?}", server.product());
        }
    }
}

/// One waits for a row, then one for a table's definition.
#[test]
fn sessions_that_wait_for_locks_are_seen_waiting() {
    for server in WITH_INNODB.into_iter().filter_map(own) {
        let mut session = root(&server);
        session.execute("CREATE TABLE wanted (id INT PRIMARY KEY, x INT)").unwrap();
        session.execute("INSERT INTO wanted VALUES (1, 1)").unwrap();
        let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
        let idle = statistics.read(&mut session).unwrap();
        assert_eq!((idle["lock_waiting_sessions"], idle["transaction_age_max_seconds"]), (0.0, 0.0));
        for (waiting, of_a_row) in
            [("UPDATE wanted SET x = 3 WHERE id = 1", 1.0), ("ALTER TABLE wanted ADD COLUMN y INT", 0.0)]
        {
            let mut holder = root(&server);
            holder.execute("BEGIN").unwrap();
            holder.execute("UPDATE wanted SET x = 2 WHERE id = 1").unwrap();
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| root(&server).execute(waiting).is_ok());
                wait_for("the wait to be seen", || {
                    // InnoDB's table of transactions stays as it is while anybody reads it more often than this.
                    std::thread::sleep(std::time::Duration::from_millis(200));
                    let values = statistics.read(&mut session).unwrap();
                    values["lock_waiting_sessions"] == of_a_row
                        && values["waits_sessions[Lock]"] == 1.0
                        && values["waits_sessions[Other]"] == 0.0
                        && values["connections_active"] == 1.0
                        && values["transaction_age_max_seconds"] > 0.0
                });
                holder.execute("COMMIT").unwrap();
                assert!(waiter.join().unwrap());
            });
        }
    }
}

/// Rows of which InnoDB's statistics know nothing yet: they are brought up to date some seconds later, and no ANALYZE runs.
#[test]
fn what_was_just_loaded_is_counted_by_its_files() {
    for server in WITH_INNODB.into_iter().filter_map(shared) {
        let mut session = root(&server);
        session.execute("DROP DATABASE IF EXISTS `target_odd-one`").unwrap();
        session.execute("CREATE DATABASE `target_odd-one`").unwrap();
        session.execute("CREATE TABLE `target_odd-one`.`event` (id INT PRIMARY KEY)").unwrap();
        let columns = "id INT PRIMARY KEY, x INT, c CHAR(200) NOT NULL DEFAULT 'x', KEY (c)";
        session.execute(&format!("CREATE TABLE event ({columns}) STATS_AUTO_RECALC = 0")).unwrap();
        session
            .execute(&format!(
                "CREATE TABLE parts ({columns}) STATS_AUTO_RECALC = 0 PARTITION BY HASH (id) PARTITIONS 3"
            ))
            .unwrap();
        let empty = read(&mut session, &["event", "parts", "target_odd-one.event", "missing"]);
        for table in ["event", "parts"] {
            let values: Vec<String> = (0..20_000).map(|id| format!("({id}, {id})")).collect();
            session.execute(&format!("INSERT INTO {table} (id, x) VALUES {}", values.join(", "))).unwrap();
        }
        let loaded = read(&mut session, &["event", "parts", "target_odd-one.event", "missing"]);
        // Rows of some 220 bytes, twice.
        const LEAST: f64 = 20_000.0 * 220.0 * 2.0;
        let product = server.product();
        for table in ["event", "parts"] {
            let bytes = |values: &BTreeMap<String, f64>| {
                values[&format!("table_bytes[{table}]")] + values[&format!("index_bytes[{table}]")]
            };
            assert!(bytes(&empty) < LEAST / 4.0, "{product}: {empty:?}");
            assert!(bytes(&loaded) > LEAST, "{product}: {loaded:?}");
        }
        assert!(loaded["database_bytes"] > 2.0 * LEAST, "{product}: {loaded:?}");
        assert!(loaded["table_bytes[target_odd-one.event]"] > 0.0, "{product}: {loaded:?}");
        assert!(!loaded.keys().any(|key| key.contains("missing")), "{product}: {loaded:?}");
        let data = inspect::data(&mut session, "my", "events", None, &["event"]).unwrap();
        let table = &data.tables[0];
        assert!((table.table_bytes.unwrap() + table.index_bytes.unwrap_or(0)) as f64 > LEAST, "{table:?}");
        // Nobody has counted the rows, and no number of them looks as if somebody had.
        assert_eq!(table.rows, None, "{product}");
    }
}

#[test]
fn what_files_were_written_is_told_by_their_kind() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    let mut session = root(&server);
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let before = statistics.read(&mut session).unwrap();
    let mut worker = root(&server);
    worker.execute("CREATE TABLE written (id INT PRIMARY KEY, c CHAR(200) NOT NULL DEFAULT 'x')").unwrap();
    let rows: Vec<String> = (0..20_000).map(|id| format!("({id})")).collect();
    worker.execute(&format!("INSERT INTO written (id) VALUES {}", rows.join(", "))).unwrap();
    let after = statistics.read(&mut session).unwrap();
    let grown = |key: &str| after[key] - before[key];
    assert!(grown("file_write_bytes_total[redo]") > 20_000.0 * 200.0, "{after:?}");
    assert!(grown("file_wait_seconds_total[redo]") > 0.0, "{after:?}");
    assert!(grown("wal_write_operations_total") > 0.0 && grown("io_write_bytes_total") > 0.0, "{after:?}");
}

/// A user of the database alone, with a name that must be quoted; returns what opens his sessions.
fn of_few_rights(server: &Mysql, name: &str) -> Target {
    let user = format!("`target_o'{name}`@'%'");
    server.sql(&format!(
        "DROP USER IF EXISTS {user}; CREATE USER {user} IDENTIFIED BY 'x'; GRANT ALL ON {DATABASE}.* TO {user}"
    ));
    target(&server.url(&format!("target_o%27{name}"), "x", DATABASE))
}

#[test]
fn rights_that_are_missing_are_named_with_their_grants() {
    let default_of_mariadb = without_performance_schema(MysqlProduct::MariaDb);
    for server in WITH_INNODB.into_iter().filter_map(shared).chain(default_of_mariadb) {
        let product = server.product();
        let few = of_few_rights(&server, "few");
        let missing = || {
            let mut session = few.connect().unwrap();
            let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
            let values = statistics.read(&mut session).unwrap();
            assert!(values.contains_key("queries_total"), "{values:?}");
            (statistics.missing().to_vec(), values)
        };
        let (found, values) = missing();
        // Of others' sessions MariaDB shows nothing to him, and no error either.
        assert!(!values.keys().any(|key| key.starts_with("waits_sessions")), "{product}: {values:?}");
        let process = "GRANT PROCESS ON *.* TO 'target_o''few'@'%'";
        let schema = "GRANT SELECT ON performance_schema.* TO 'target_o''few'@'%'";
        let has_schema = root(&server).query_value::<u8>("SELECT @@performance_schema").unwrap() == Some(1);
        let expected = if has_schema { vec![process, schema] } else { vec![process] };
        assert_eq!(found.len(), expected.len(), "{product}: {found:?}");
        for (said, grant) in found.iter().zip(&expected) {
            assert!(said.ends_with(&format!(": {grant}")), "{product}: {said}");
        }
        // What is said helps.
        let mut admin = root(&server);
        for grant in expected {
            admin.execute(grant).unwrap();
        }
        let (found, values) = missing();
        assert_eq!(found, [] as [String; 0], "{product}");
        assert!(values.contains_key("waits_sessions[Lock]"), "{product}: {values:?}");
        assert!(values.contains_key("transaction_age_max_seconds"), "{product}: {values:?}");
    }
}

#[test]
fn a_performance_schema_that_is_off_is_told_and_done_without() {
    let Some(server) = without_performance_schema(MysqlProduct::Mysql) else { return };
    let mut session = root(&server);
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let [missing] = statistics.missing() else { panic!("{:?}", statistics.missing()) };
    assert!(missing.contains("performance_schema=ON"), "{missing}");
    let values = statistics.read(&mut session).unwrap();
    assert!(values.contains_key("waits_sessions[Lock]"), "{values:?}");
    assert!(values.contains_key("transaction_age_max_seconds"), "{values:?}");
    assert!(!values.keys().any(|key| key.starts_with("file_")), "{values:?}");
}

#[test]
fn the_probe_says_once_what_it_may_not_read() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    let (sender, events) = mpsc::channel();
    let options = ProbeOptions {
        database: Some(of_few_rights(&server, "once").route().unwrap()),
        interval: Duration::from_millis(50),
        ..ProbeOptions::new("my")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    let first: Vec<Event> = (0..6).map(|_| events.recv_timeout(Duration::from_secs(300)).unwrap()).collect();
    drop(probe);
    let is_notice = |event: &&Event| matches!(event, Event::Notice(_));
    assert!(first[..2].iter().all(|event| matches!(event, Event::Notice(_))), "{first:?}");
    assert_eq!(first.iter().filter(is_notice).count(), 2, "{first:?}");
}
