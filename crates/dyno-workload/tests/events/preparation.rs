//! The tables that are made: plain, the same on every product, keyed, and found again.

use dyno_target::connection::TextRow;
use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_workload::benchmark::Progress;

use serde_json::json;

use crate::server::{Asked, Server, Test, benchmark};

fn rows(server: &Server, sql: &str) -> Vec<String> {
    let line = |row: &TextRow| {
        row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join("|")
    };
    server.open().query(sql).unwrap().iter().map(line).collect()
}

#[test]
fn every_product_holds_the_same_rows() {
    // More than one part where rows travel in parts.
    let benchmark = benchmark(&Test::ALL, 100_500, 2_345);
    let made = Server::on_each(|server| {
        let name = server.name();
        let progress = server.prepare(&benchmark).unwrap();
        let begun: Vec<_> = progress
            .iter()
            .filter_map(|news| match news {
                Progress::Begun { step } => Some(*step),
                _ => None,
            })
            .collect();
        assert_eq!(begun, ["drop", "tables", "data", "keys", "indexes", "analyze"], "{name}");
        let last_rows = progress.iter().rev().find(|news| matches!(news, Progress::Rows { .. }));
        assert_eq!(last_rows, Some(&Progress::Rows { done: 102_845, total: 102_845 }), "{name}");
        assert!(!progress.iter().any(|news| matches!(news, Progress::Remark(_))), "{name}: {progress:?}");
        if name.starts_with("PostgreSQL") {
            let sizes = "SELECT pg_total_relation_size('event') + pg_total_relation_size('customer')";
            let bytes: f64 = rows(&server, sizes)[0].parse().unwrap();
            let told = server
                .on(&benchmark)
                .sizes_wanted()
                .iter()
                .find(|it| it.protocol == "PostgreSQL")
                .unwrap()
                .bytes;
            assert!((bytes / told as f64 - 1.0).abs() < 0.1, "{bytes} bytes, and {told} were told");
        }
        let data = server.find(&benchmark).unwrap();
        let counted = data.count(&mut server.open()).unwrap();
        assert_eq!(counted, [2_345, 100_500], "{name}");
        let made = (
            rows(&server, "SELECT id, customer_id, action FROM event ORDER BY id"),
            rows(&server, "SELECT id, name, address FROM customer ORDER BY id"),
            data.recipe.clone(),
        );
        assert_eq!(made.0.len(), 100_500, "{name}");
        (name, made)
    });
    for pair in made.windows(2) {
        assert!(pair[0].1 == pair[1].1, "{} holds other rows than {}", pair[1].0, pair[0].0);
    }
}

#[test]
fn tables_that_were_topped_up_hold_what_larger_ones_would() {
    let (few, many) = (benchmark(&Test::ALL, 3_000, 50), benchmark(&Test::ALL, 150_000, 50));
    Server::on_each(|server| {
        let name = server.name();
        server.prepare(&few).unwrap();
        let insert = "INSERT INTO event (customer_id, action) VALUES (7, 'pay'), (8, 'login')";
        server.execute(&[insert]);
        let count = || server.find(&few).unwrap().count(&mut server.open()).unwrap();
        server.top_up(&few, &[50, 150_000]).unwrap();
        assert_eq!(count(), [50, 150_000], "{name}");
        // What is there already stays.
        server.top_up(&few, &[50, 100]).unwrap();
        assert_eq!(count(), [50, 150_000], "{name}");
        let last = server.number("SELECT MAX(id) FROM event");
        server.execute(&[insert]);
        assert!(server.number("SELECT MAX(id) FROM event") > last, "{name}: ids go on");
        let added = "SELECT id, customer_id, action FROM event WHERE id BETWEEN 4000 AND 150000 ORDER BY id";
        let topped_up = rows(&server, added);
        server.prepare(&many).unwrap();
        assert!(topped_up == rows(&server, added), "{name}: the rows are others");
    });
}

/// The indexes are those of tables that a user makes by hand, from the same schema.
#[test]
fn tables_have_their_keys_and_no_more() {
    Server::on_each(|server| {
        let name = server.name();
        let indexes = |server: &Server| match server.is_mysql() {
            true => rows(
                server,
                "SELECT table_name, column_name FROM information_schema.statistics \
                 WHERE table_schema = DATABASE() ORDER BY 1, 2",
            ),
            false => rows(
                server,
                "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) \
                 WHERE c.relname IN ('customer', 'event') ORDER BY 1, 2",
            ),
        };
        let by_hand: &[&str] = match server.is_mysql() {
            true => &[
                "CREATE TABLE customer (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100))",
                "CREATE TABLE event (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, customer_id INTEGER NOT NULL, \
                 FOREIGN KEY (customer_id) REFERENCES customer (id))",
            ],
            false => &[
                "CREATE TABLE customer (id SERIAL PRIMARY KEY, name VARCHAR(100))",
                "CREATE TABLE event (id SERIAL PRIMARY KEY, customer_id INTEGER REFERENCES customer (id))",
            ],
        };
        server.execute(by_hand);
        let plain = indexes(&server);
        server.execute(&["DROP TABLE event, customer"]);
        server.prepare(&benchmark(&Test::ALL, 500, 20)).unwrap();
        assert_eq!(indexes(&server), plain, "{name}");
        let expected: &[&str] = match server.is_mysql() && !server.is_seekdb() {
            true => &["customer|id", "event|customer_id", "event|id"],
            false => &["customer|id", "event|id"],
        };
        assert_eq!(plain, expected, "{name}");
        let mut connection = server.open();
        let refused = connection.execute("INSERT INTO event (customer_id, action) VALUES (21, 'login')");
        assert!(refused.is_err(), "{name}: a customer who is not there was taken");
        assert!(connection.execute("DELETE FROM customer WHERE id = 7").is_err(), "{name}");
        connection.execute("INSERT INTO event (customer_id, action) VALUES (20, 'login')").unwrap();
        assert!(server.number("SELECT MAX(id) FROM event") > 500, "{name}");
        connection.execute("INSERT INTO customer (name, address) VALUES ('a', 'b')").unwrap();
        assert!(server.number("SELECT MAX(id) FROM customer") > 20, "{name}");
        let wishes = json!({ "rows": 500, "customers": 20, "customer-index": true });
        let indexed = Asked::new(&[Test::Join], &wishes);
        let brought_by_key = expected.len() == 3;
        match brought_by_key {
            true => assert!(server.find(&indexed).is_some(), "{name}"),
            false => assert!(server.refusal(&indexed).contains("no index on customer_id"), "{name}"),
        }
        server.prepare(&indexed).unwrap();
        assert_eq!(indexes(&server), ["customer|id", "event|customer_id", "event|id"], "{name}");
        assert!(server.find(&indexed).is_some(), "{name}");
    });
}

#[test]
fn what_is_not_as_asked_for_is_told() {
    Server::on_each(|server| {
        let name = server.name();
        let asked = benchmark(&Test::ALL, 1_000, 50);
        assert!(server.find(&asked).is_none(), "{name}");
        server.prepare(&asked).unwrap();
        assert!(server.find(&asked).is_some(), "{name}");
        let refusal = server.refusal(&benchmark(&Test::ALL, 2_000, 50));
        assert!(refusal.contains("--rows 1,000, not 2,000") && refusal.contains("--rows 1000"), "{refusal}");
        let refusal = server.refusal(&benchmark(&Test::ALL, 1_000, 60));
        assert!(refusal.contains("--customers 50, not 60"), "{name}: {refusal}");
        server.execute(&["DELETE FROM event WHERE id BETWEEN 200 AND 300"]);
        let refusal = server.refusal(&asked);
        assert!(refusal.contains("rows of event that were looked up, "), "{name}: {refusal}");
        // Nothing to join, and something to begin with.
        let empty = benchmark(&[Test::Join], 0, 50);
        server.prepare(&empty).unwrap();
        assert!(server.refusal(&empty).contains("events/join draws from event, which has no row"), "{name}");
        assert!(server.find(&benchmark(&[Test::Ingest], 0, 50)).is_some(), "{name}");
    });
}

#[test]
fn a_user_who_may_only_read_finds_the_tables() {
    Server::on_each(|server| {
        let name = server.name();
        let asked = benchmark(&[Test::Join], 300, 20);
        server.prepare(&asked).unwrap();
        let user = server.create_reader();
        let mut reader = server.target_of(&user, "x").connect().unwrap();
        assert!(server.on(&asked).find(&mut reader).unwrap().is_some(), "{name}");
        assert!(reader.execute("DELETE FROM event").is_err(), "{name}");
    });
}

#[test]
fn rows_go_by_insert_where_the_bulk_load_is_not_allowed() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let setup = MysqlSetup::new(product).with("local_infile=0");
        let Some(server) = Server::shared_mysql(&setup) else { continue };
        let asked = benchmark(&Test::ALL, 30_000, 300);
        let progress = server.prepare(&asked).unwrap();
        let remarks: Vec<_> = progress.iter().filter(|news| matches!(news, Progress::Remark(_))).collect();
        assert_eq!(remarks.len(), 1, "{}: {remarks:?}", server.name());
        let data = server.find(&asked).unwrap();
        assert_eq!(data.count(&mut server.open()).unwrap(), vec![300, 30_000], "{}", server.name());
    }
}
