//! Many connections on few threads, and one that holds up its thread.

use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_results::spec::End;

use crate::run::Run;
use crate::server::{own_postgres, servers};

#[test]
fn hundreds_of_connections_run_on_two_threads() {
    let Some(server) = own_postgres(300) else { return };
    let script = r###"
        function thread_init()
           con = sysbench.sql.driver():connect()
           statement = con:prepare("SELECT ?::integer + 1")
           value = statement:bind_create(sysbench.sql.type.INT)
           statement:bind_param(value)
        end
        function event()
           value:set(sysbench.tid)
           assert(statement:execute():fetch_row()[1] == tostring(sysbench.tid + 1))
        end"###;
    let run = Run { clients: 200, ..Run::of(script, &server) };
    let config = EngineConfig::new(2);
    let counts = run.on(End::TransactionsPerClient(20), config, &server).well();
    assert_eq!((counts.events, counts.reads), (4000, 4000));
    assert!(counts.per_client.iter().all(|(events, _)| *events == 20));
}

#[test]
fn an_event_that_blocks_its_thread_beyond_the_end_is_the_last() {
    for server in servers() {
        for query in ["", "con:query('SELECT 1')"] {
            let script = format!(
                r#"
                function thread_init() con = sysbench.sql.driver():connect() end
                function event() {query} io.popen("sleep 0.6"):close() end"#
            );
            let run = Run { clients: 1, threads: 1, ..Run::of(&script, &server) };
            let counts = run.until(End::Duration(Duration::from_millis(300)), &server).well();
            assert!(counts.events < 2, "{server}, {query}: {} events", counts.events);
        }
    }
}
