//! Both tests as loads: what was acknowledged is there, and what is there was acknowledged.

use dyno_results::spec::{End, Protocol};
use std::sync::atomic::{AtomicBool, Ordering};

use dyno_engine::config::{EngineConfig, OnLoss};

use crate::database::{LONG, config};
use crate::server::{Seen, Server, Test, assert_passed, benchmark, load};

#[test]
fn every_transaction_is_one_statement_that_does_its_work() {
    Server::on_each(|server| {
        server.prepare(&benchmark(&Test::ALL, 5_000, 300)).unwrap();
        for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
            if server.is_mysql() && protocol == Protocol::Extended {
                continue;
            }
            for test in Test::ALL {
                let about = format!("{} {} {protocol:?}", server.name(), test.name());
                let config = EngineConfig { protocol, seed: 5, ..config(2) };
                let mut seen = Seen::default();
                let checks = server.verified(load(&server, test).as_ref(), |load| {
                    seen = server.run(load, 4, End::TransactionsPerClient(100), config);
                    seen.done
                });
                assert_passed(&checks, &about);
                let (done, queries) = (seen.done, seen.queries);
                assert_eq!(
                    (done.acknowledged, done.failed, done.unknown),
                    (400, 0, 0),
                    "{about}: {:?}",
                    seen.errors
                );
                let expected = if test.writes() { (0, 400, 0, 0) } else { (400, 0, 0, 0) };
                let counted = (queries.reads, queries.writes, queries.other, queries.writes_in_vain);
                assert_eq!(counted, expected, "{about}");
            }
        }
        // Customers and actions of the new events are drawn from all that there are.
        let new = |what: &str| server.number(&format!("SELECT {what} FROM event WHERE id > 5000"));
        assert!(new("COUNT(DISTINCT customer_id)") > 150, "{}", server.name());
        assert_eq!(new("COUNT(DISTINCT action)"), 10, "{}", server.name());
    });
}

/// Clients that draw the same on each server: the seed decides, not the product.
#[test]
fn the_same_seed_asks_every_product_the_same() {
    let asked = Server::on_each(|server| {
        server.prepare(&benchmark(&Test::ALL, 1_000, 300)).unwrap();
        let config = EngineConfig { seed: 77, ..config(1) };
        let ingest = load(&server, Test::Ingest);
        let seen = server.run(ingest.as_ref(), 1, End::TransactionsPerClient(200), config);
        assert_eq!(seen.done.acknowledged, 200, "{}: {:?}", server.name(), seen.errors);
        let sql = "SELECT customer_id, action FROM event WHERE id > 1000 ORDER BY id";
        let rows = server.open().query(sql).unwrap();
        let line = |row: &dyno_target::connection::TextRow| {
            [0, 1].map(|at| row.text(at).unwrap().to_owned()).join(" ")
        };
        (server.name(), rows.iter().map(line).collect::<Vec<String>>())
    });
    for pair in asked.windows(2) {
        assert_eq!(pair[0].1, pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
}

/// A second load goes on from what the first left, and a join draws from all of it.
#[test]
fn loads_go_on_from_what_is_there() {
    Server::on_each(|server| {
        let name = server.name();
        let asked = benchmark(&[Test::Ingest], 0, 10);
        server.prepare(&asked).unwrap();
        for _ in 0..2 {
            let ingest = load(&server, Test::Ingest);
            let checks = server.verified(ingest.as_ref(), |load| {
                server.run(load, 3, End::TransactionsPerClient(50), config(1)).done
            });
            assert_passed(&checks, &name);
        }
        assert_eq!(server.number("SELECT COUNT(*) FROM event"), 300, "{name}");
        let join = load(&server, Test::Join);
        let checks = server.verified(join.as_ref(), |load| {
            server.run(load, 3, End::TransactionsPerClient(200), config(1)).done
        });
        assert_passed(&checks, &name);
        // The data is still what it was made as.
        assert!(server.find(&asked).is_some(), "{name}");
    });
}

#[test]
fn a_lost_connection_leaves_an_unknown_outcome_that_is_allowed_for() {
    Server::on_each(|server| {
        let name = server.name();
        server.prepare(&benchmark(&Test::ALL, 1_000, 300)).unwrap();
        let mut seen = Seen::default();
        let ingest = load(&server, Test::Ingest);
        let checks = server.verified(ingest.as_ref(), |load| {
            // All four are ended as they work, and it goes on until all are back.
            let (stop, mut ended) = (AtomicBool::new(false), false);
            let mut end = |so_far: &Seen| {
                if !ended && so_far.done.acknowledged > 0 {
                    ended = true;
                    server.end_connections();
                }
                stop.store(so_far.reconnects >= 4, Ordering::Relaxed);
            };
            let config = EngineConfig { on_loss: OnLoss::Reconnect, ..config(1) };
            seen = server.run_until(&stop, load, 4, End::Duration(LONG), config, &mut end);
            seen.done
        });
        assert_passed(&checks, &name);
        assert!(seen.done.acknowledged > 0 && !seen.errors.is_empty(), "{name}: {seen:?}");
        assert_eq!(seen.reconnects, 4, "{name}: {seen:?}");
    });
}
