//! Both tests as loads: what was acknowledged is there, and what is there was acknowledged.

use std::time::Duration;

use dyno_engine::plan::{EngineConfig, Limit, OnLoss};
use dyno_engine::request::Protocol;
use dyno_workload::events::Test;

use crate::server::{Seen, Server, assert_passed, benchmark, load};

#[test]
fn every_transaction_is_one_statement_that_does_its_work() {
    for server in Server::each() {
        server.prepare(&benchmark(&Test::ALL, 5_000, 300)).unwrap();
        for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
            if server.is_mysql() && protocol == Protocol::Extended {
                continue;
            }
            for test in Test::ALL {
                let about = format!("{} {} {protocol:?}", server.name(), test.name());
                let config = EngineConfig { protocol, seed: 5, ..EngineConfig::new(2) };
                let mut seen = Seen::default();
                let checks = server.verified(load(&server, test).as_ref(), |load| {
                    seen = server.run(load, 4, Limit::TransactionsPerClient(100), config);
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
    }
}

/// Clients that draw the same on each server: the seed decides, not the product.
#[test]
fn the_same_seed_asks_every_product_the_same() {
    let mut first: Option<Vec<String>> = None;
    for server in Server::each() {
        server.prepare(&benchmark(&Test::ALL, 1_000, 300)).unwrap();
        let config = EngineConfig { seed: 77, ..EngineConfig::new(1) };
        let ingest = load(&server, Test::Ingest);
        assert_eq!(
            server.run(ingest.as_ref(), 1, Limit::TransactionsPerClient(200), config).done.acknowledged,
            200
        );
        let sql = "SELECT customer_id, action FROM event WHERE id > 1000 ORDER BY id";
        let rows = server.open().query(sql).unwrap();
        let line =
            |row: &dyno_target::connection::Row| [0, 1].map(|at| row.text(at).unwrap().to_owned()).join(" ");
        let asked: Vec<String> = rows.iter().map(line).collect();
        match &first {
            None => first = Some(asked),
            Some(first) => assert_eq!(*first, asked, "{}", server.name()),
        }
    }
}

/// A second load goes on from what the first left, and a join draws from all of it.
#[test]
fn loads_go_on_from_what_is_there() {
    for server in Server::each() {
        let name = server.name();
        let asked = benchmark(&[Test::Ingest], 0, 10);
        server.prepare(&asked).unwrap();
        for _ in 0..2 {
            let ingest = load(&server, Test::Ingest);
            let checks = server.verified(ingest.as_ref(), |load| {
                server.run(load, 3, Limit::TransactionsPerClient(50), EngineConfig::new(1)).done
            });
            assert_passed(&checks, &name);
        }
        assert_eq!(server.number("SELECT COUNT(*) FROM event"), 300, "{name}");
        let join = load(&server, Test::Join);
        let checks = server.verified(join.as_ref(), |load| {
            server.run(load, 3, Limit::TransactionsPerClient(200), EngineConfig::new(1)).done
        });
        assert_passed(&checks, &name);
        // The data is still what it was made as.
        assert!(server.find(&asked).is_some(), "{name}");
    }
}

#[test]
fn a_lost_connection_leaves_an_unknown_outcome_that_is_allowed_for() {
    for server in Server::each() {
        let name = server.name();
        server.prepare(&benchmark(&Test::ALL, 1_000, 300)).unwrap();
        let mut killer = server.open();
        let kill = match server.is_mysql() {
            true => {
                "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'"
            }
            false => {
                "SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity \
                 WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            }
        };
        let mut seen = Seen::default();
        let ingest = load(&server, Test::Ingest);
        let checks = server.verified(ingest.as_ref(), |load| {
            seen = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(1_500));
                    let rows = killer.query(kill).unwrap();
                    for id in rows.iter().filter(|_| server.is_mysql()).filter_map(|row| row.text(0)) {
                        // It may have ended by itself.
                        let _ = killer.execute(&format!("KILL {id}"));
                    }
                });
                let config = EngineConfig { on_loss: OnLoss::Reconnect, ..EngineConfig::new(1) };
                server.run(load, 4, Limit::Duration(Duration::from_secs(3)), config)
            });
            seen.done
        });
        assert_passed(&checks, &name);
        assert!(seen.done.acknowledged > 0 && !seen.errors.is_empty(), "{name}: {seen:?}");
    }
}
