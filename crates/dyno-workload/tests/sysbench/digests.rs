//! Statements as the servers count them: those of the real sysbench, and as many.

use std::collections::BTreeMap;
use std::sync::Arc;

use dyno_engine::plan::{EngineConfig, Limit};
use dyno_engine::request::Protocol;
use dyno_target::Connection;
use dyno_test_servers::{MysqlProduct, MysqlSetup, Setup, succeed};
use dyno_workload::sysbench::{Options, Sysbench, Test};

use crate::database::{config, wait_until};
use crate::server::{Server, load};

const EVENTS: u64 = 40;

/// Waits until the server is rid of all other sessions. It may count a statement a little after it has answered, but not
/// after its session's end.
fn settle(server: &Server, connection: &mut Connection) {
    let others = match server.is_mysql() {
        true => {
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = DATABASE()"
        }
        false => {
            "SELECT count(*) FROM pg_stat_activity \
             WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'"
        }
    };
    wait_until("the end of all other sessions", || connection.query_value::<u64>(others).unwrap() == Some(0));
}

/// Statements of `run` by what the server tells them apart by, with their text.
fn digests(server: &Server, run: impl FnOnce()) -> BTreeMap<String, (String, u64)> {
    let mut connection = server.open();
    let (begin, read) = match server.is_mysql() {
        true => (
            "TRUNCATE performance_schema.events_statements_summary_by_digest",
            "SELECT digest, digest_text, count_star FROM performance_schema.events_statements_summary_by_digest \
             WHERE schema_name = 'test' AND (digest_text LIKE '%sbtest%' OR digest_text IN ('BEGIN', 'COMMIT'))",
        ),
        false => (
            "SELECT pg_stat_statements_reset()",
            // Its numbers change with each table that is made anew: here the text decides, whatever its blanks.
            "SELECT trim(regexp_replace(query, '\\s+', ' ', 'g')), query, calls FROM pg_stat_statements \
             WHERE query LIKE '%sbtest%' OR query IN ('BEGIN', 'COMMIT')",
        ),
    };
    settle(server, &mut connection);
    connection.query(begin).unwrap();
    run();
    settle(server, &mut connection);
    let rows = connection.query(read).unwrap();
    let row = |row: &dyno_target::connection::Row| {
        let text = |at| row.text(at).unwrap_or_default().to_owned();
        (text(0), (text(1), text(2).parse().unwrap()))
    };
    // MySQL counts what prepares statements and what forgets them, which a client may leave to the connection's end.
    let beside = ["PREPARE ", "DEALLOCATE ", "ANALYZE "];
    let executed =
        |text: &str| !text.contains("statements") && !beside.iter().any(|word| text.starts_with(word));
    rows.iter().map(row).filter(|(_, (text, _))| executed(text)).collect()
}

#[test]
fn the_servers_count_the_statements_of_the_real_sysbench() {
    let of_its_own: [fn() -> Option<Server>; 3] = [
        || Server::own_mysql(&MysqlSetup::new(MysqlProduct::Mysql).with("performance_schema=ON")),
        || Server::own_mysql(&MysqlSetup::new(MysqlProduct::MariaDb).with("performance_schema=ON")),
        || Server::own_postgres(&Setup::default().with("shared_preload_libraries=pg_stat_statements")),
    ];
    std::thread::scope(|scope| {
        for start in of_its_own {
            scope.spawn(move || start().iter().for_each(counts_the_same));
        }
    });
}

/// Statements of each test, as many as of the real sysbench.
fn counts_the_same(server: &Server) {
    if !server.is_mysql() {
        server.open().execute("CREATE EXTENSION pg_stat_statements").unwrap();
    }
    let options = Options { table_size: 1_000, ..Options::default() };
    for (test, simple) in Test::ALL.into_iter().flat_map(|test| [(test, false), (test, true)]) {
        let about = format!("{} {} simple {simple}", server.name(), test.name());
        if server.name() == "MariaDB" && !simple {
            // It gives no digest to what was prepared.
            continue;
        }
        server.prepare(&options).unwrap();
        let Some(mut sysbench) = server.sysbench() else { return };
        let events = format!("--events={EVENTS}");
        sysbench.args([test.name(), "--table-size=1000", &events, "--time=0", "--threads=1"]);
        sysbench.args(simple.then_some("--db-ps-mode=disable")).arg("run");
        let theirs = digests(server, || drop(succeed(&mut sysbench)));
        server.prepare(&options).unwrap();
        let ours = digests(server, || {
            let protocol = if simple { Protocol::Simple } else { Protocol::Prepared };
            let config = EngineConfig { protocol, ..config(1) };
            let test = Sysbench::new(test, options.clone(), server.is_mysql());
            let limit = Limit::TransactionsPerClient(EVENTS);
            let seen = load(server, |counters| Arc::new(test.with_counters(counters)), 1, limit, config);
            assert_eq!(seen.done, EVENTS, "{about}: {:?}", seen.errors);
        });
        let counts = |of: &BTreeMap<String, (String, u64)>| {
            of.iter().map(|(digest, (_, count))| (digest.clone(), *count)).collect::<BTreeMap<_, _>>()
        };
        assert!(!theirs.is_empty(), "{about}");
        assert_eq!(counts(&ours), counts(&theirs), "{about}: ours {ours:#?}, theirs {theirs:#?}");
    }
}
