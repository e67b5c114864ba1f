//! Faults that a server's bug, or somebody else at the same time, would leave: each is found, by its own check.

use dyno_results::spec::End;
use dyno_workload::benchmark::{Done, SeriesLoad};

use crate::database::config;
use crate::server::{Server, Test, benchmark, failed, load};

/// What drops the foreign key, so that nothing keeps an event from a customer who is not there.
fn drop_foreign_key(server: &Server) -> String {
    let sql = match server.is_mysql() {
        true => {
            "SELECT constraint_name FROM information_schema.referential_constraints \
             WHERE constraint_schema = DATABASE() AND table_name = 'event'"
        }
        false => "SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = 'event'::regclass",
    };
    let name: String = server.open().query_value(sql).unwrap().unwrap();
    let kind = if server.is_mysql() { "FOREIGN KEY" } else { "CONSTRAINT" };
    format!("ALTER TABLE event DROP {kind} {name}")
}

/// The checks that fail where `faults` happen within an otherwise faultless load.
fn planted(server: &Server, test: Test, faults: &[&str]) -> String {
    let loaded = |load: &dyn SeriesLoad| {
        let done = server.run(load, 2, End::TransactionsPerClient(30), config(1)).done;
        assert_eq!((done.acknowledged, done.failed), (60, 0), "{}", server.name());
        server.execute(faults);
        done
    };
    failed(&server.verified(load(server, test).as_ref(), loaded))
}

#[test]
fn planted_faults_are_found() {
    Server::on_each(|server| {
        let name = server.name();
        server.prepare(&benchmark(&Test::ALL, 800, 50)).unwrap();
        for test in Test::ALL {
            assert_eq!(planted(&server, test, &[]), "", "{name}");
        }
        let found = |test, sql: &str| planted(&server, test, &[sql]);
        // An event that was acknowledged, and one that was there before.
        assert_eq!(found(Test::Ingest, "DELETE FROM event WHERE id = 7"), "rows-of-event", "{name}");
        let newest = server.number("SELECT MAX(id) FROM event");
        let gone = format!("DELETE FROM event WHERE id = {newest}");
        assert_eq!(found(Test::Ingest, &gone), "rows-of-event", "{name}");
        // Somebody else's event, and one with an action of somebody else's.
        let foreign = "INSERT INTO event (customer_id, action) VALUES (3, 'login')";
        assert_eq!(found(Test::Ingest, foreign), "rows-of-event", "{name}");
        let strange = "INSERT INTO event (customer_id, action) VALUES (3, 'steal')";
        assert_eq!(found(Test::Ingest, strange), "rows-of-event actions-are-the-ten", "{name}");
        server.execute(&["DELETE FROM event WHERE action = 'steal'"]);
        let customer = "INSERT INTO customer (name, address) VALUES ('a', 'b')";
        assert_eq!(found(Test::Ingest, customer), "rows-of-customer", "{name}");
        assert_eq!(found(Test::Join, "DELETE FROM event WHERE id = 10"), "rows-of-event", "{name}");
        let ingest = load(&server, Test::Ingest);
        // A key that does not resolve: the event moved, or the customer is gone.
        let (drop_key, moved) =
            (drop_foreign_key(&server), "UPDATE event SET customer_id = 99999 WHERE id = 11");
        assert_eq!(
            planted(&server, Test::Ingest, &[&drop_key, moved]),
            "every-foreign-key-resolves",
            "{name}"
        );
        let back = "UPDATE event SET customer_id = 1 WHERE id = 11";
        let found =
            planted_without_key(&server, ingest.as_ref(), &[back, "DELETE FROM customer WHERE id = 20"]);
        assert_eq!(found, "rows-of-customer every-foreign-key-resolves", "{name}");
        // A campaign does not begin on such tables.
        let refusal = server.refusal(&benchmark(&Test::ALL, 800, 50));
        assert!(refusal.contains("no foreign key"), "{name}: {refusal}");
    });
}

/// On tables that a campaign would refuse: the checks of a load that was found before.
fn planted_without_key(server: &Server, load: &dyn SeriesLoad, faults: &[&str]) -> String {
    let faulty = |_: &dyn SeriesLoad| {
        server.execute(faults);
        Done::default()
    };
    failed(&server.verified(load, faulty))
}

/// Joins that find nothing are seen by the clients themselves.
#[test]
fn joins_without_a_row_are_counted() {
    Server::on_each(|server| {
        let name = server.name();
        server.prepare(&benchmark(&Test::ALL, 400, 50)).unwrap();
        let data = server.find(&benchmark(&[Test::Join], 400, 50)).unwrap();
        // It counts for as long as it is there.
        let join = || data.loads().remove(0);
        let joined = |faults: &[&str]| {
            server.verified(join().as_ref(), |load| {
                // After the look at the tables: ids that clients draw have no event any more.
                server.execute(faults);
                server.run(load, 2, End::TransactionsPerClient(1_000), config(1)).done
            })
        };
        let gone = ["DELETE FROM event WHERE id BETWEEN 101 AND 108"];
        assert_eq!(failed(&joined(&gone)), "rows-of-event no-wrong-answer", "{name}");
        // Known from the start, a few such ids are allowed for: inserts that failed leave them too.
        let checks = joined(&[]);
        assert_eq!(failed(&checks), "", "{name}: {checks:#?}");
        let answers = checks.iter().find(|check| check.name == "no-wrong-answer").unwrap();
        assert_ne!(answers.found.as_deref(), Some("0"), "{name}: {answers:?}");
        assert!(answers.detail.contains("8 of 400 numbers have no row"), "{name}: {answers:?}");
        // Many are too many.
        server.execute(&["DELETE FROM event WHERE id BETWEEN 201 AND 300"]);
        assert_eq!(failed(&joined(&[])), "no-wrong-answer", "{name}");
        let none = server.verified(join().as_ref(), |_| Done::default());
        assert_eq!(failed(&none), "", "{name}");
    });
}
