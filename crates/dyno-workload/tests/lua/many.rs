//! Many connections on few threads.

use dyno_engine::config::EngineConfig;
use dyno_results::spec::End;

use crate::run::Run;
use crate::server::own_postgres;

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
