//! Tables that are somebody else's, and preparations that were broken off.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_workload::benchmark::{BenchmarkError, Progress};
use dyno_workload::dataset::PrepareError;

use crate::server::{Server, Test, benchmark};

/// A shop's own tables, with the very columns that dyno's have.
const SHOP: [&str; 4] = [
    "CREATE TABLE customer (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL, address VARCHAR(200) NOT NULL)",
    "CREATE TABLE event (id INTEGER NOT NULL PRIMARY KEY, customer_id INTEGER NOT NULL, action VARCHAR(30) NOT NULL)",
    "INSERT INTO customer VALUES (1, 'theirs', 'there')",
    "INSERT INTO event VALUES (1, 1, 'theirs')",
];

#[test]
fn a_users_own_tables_are_never_touched() {
    Server::on_each(|server| {
        let name = server.name();
        let asked = benchmark(&Test::ALL, 100, 10);
        server.execute(&SHOP);
        let refused = |what: &str| {
            let refusal = server.refusal(&asked);
            assert!(refusal.contains(what) && refusal.contains("name another database"), "{name}: {refusal}");
            let error = server.prepare(&asked).unwrap_err();
            let BenchmarkError::Preparation(error) = error else { panic!("{name}: {error}") };
            assert!(matches!(*error, PrepareError::NotOurs { .. }), "{name}: {error}");
        };
        refused("dyno has not made it (its columns are id int");
        let theirs = "SELECT COUNT(*) FROM event e JOIN customer c ON c.id = e.customer_id \
                      WHERE e.action = 'theirs' AND c.name = 'theirs'";
        assert_eq!(server.number(theirs), 1, "{name}");
        // One of the two is enough, be it a table or a view.
        server.execute(&["DROP TABLE event"]);
        refused("customer is there and dyno has not made it");
        server.execute(&[
            "ALTER TABLE customer RENAME TO client",
            "CREATE VIEW event AS SELECT id FROM client",
        ]);
        refused("event is there and dyno has not made it (its columns are id");
        server.execute(&["DROP VIEW event"]);
        server.prepare(&asked).unwrap();
        assert_eq!(server.number("SELECT COUNT(*) FROM client WHERE name = 'theirs'"), 1, "{name}");
        // What replaced a table of dyno's is somebody's again.
        server.execute(&["DROP TABLE event", SHOP[1], SHOP[3]]);
        refused("event is there and dyno has not made it");
        assert_eq!(server.number("SELECT COUNT(*) FROM event WHERE action = 'theirs'"), 1, "{name}");
    });
}

/// A table of another schema on the search path, which a bare DROP TABLE would meet.
#[test]
fn tables_elsewhere_on_the_search_path_are_not_touched_either() {
    let Some(server) = Server::postgres() else { return };
    server.execute(&["CREATE SCHEMA mine", "CREATE TABLE public.event (id bigint)"]);
    server.execute(&[&format!("ALTER DATABASE {} SET search_path = mine, public", server.database())]);
    let asked = benchmark(&Test::ALL, 100, 10);
    assert!(server.refusal(&asked).contains("its columns are id bigint"));
    assert!(server.prepare(&asked).is_err());
    assert_eq!(server.number("SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('public.event')"), 1);
}

/// Rows that nobody loads before a stop is noticed.
const TOO_MANY: u64 = 9_000_000;

#[test]
fn a_preparation_that_was_broken_off_is_made_anew() {
    Server::on_each(|server| {
        let name = server.name();
        let (asked, stop) = (benchmark(&Test::ALL, TOO_MANY, 100), AtomicBool::new(false));
        let outcome = server.prepare_until(&asked, &stop, &mut |progress| {
            if matches!(progress, Progress::Rows { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let Err(BenchmarkError::Preparation(error)) = outcome else { panic!("{name}: {outcome:?}") };
        assert!(matches!(*error, PrepareError::Stopped { step: "data", .. }), "{name}: {error}");
        server.wait_until_alone();
        assert!(server.number("SELECT COUNT(*) FROM event") < TOO_MANY, "{name}");
        // As where nothing is, so that a campaign prepares.
        let asked = benchmark(&Test::ALL, 1_000, 100);
        assert!(server.find(&asked).is_none(), "{name}");
        server.prepare(&asked).unwrap();
        let data = server.find(&asked).unwrap();
        assert_eq!(data.count(&mut server.open()).unwrap(), vec![100, 1_000], "{name}");
    });
}

#[test]
fn who_may_not_make_tables_is_told_what_to_do() {
    let Some(server) = Server::postgres() else { return };
    server.execute(&["REVOKE CREATE ON SCHEMA public FROM PUBLIC"]);
    let target = server.target_of(&server.create_user("guest"), "");
    let asked = benchmark(&Test::ALL, 10, 10);
    let denied = server.prepare_as(&target, &asked, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let BenchmarkError::Preparation(error) = &denied else { panic!("{denied}") };
    assert!(matches!(**error, PrepareError::Denied { step: "tables", .. }), "{denied}");
    assert!(denied.to_string().contains("connect as a user who may make"), "{denied}");
}

#[test]
fn tables_in_use_are_waited_for_but_not_for_ever() {
    Server::on_each(|server| {
        if server.is_seekdb() {
            return;
        }
        let name = server.name();
        let asked = benchmark(&Test::ALL, 100, 10);
        server.prepare(&asked).unwrap();
        let mut holder = server.open();
        holder.execute("BEGIN").unwrap();
        holder.query("SELECT COUNT(*) FROM event").unwrap();
        let locked = server.prepare(&asked).unwrap_err();
        let BenchmarkError::Preparation(error) = &locked else { panic!("{name}: {locked}") };
        assert!(matches!(**error, PrepareError::Locked { .. }), "{name}: {locked}");
        holder.execute("ROLLBACK").unwrap();
        server.prepare(&asked).unwrap();
    });
}
