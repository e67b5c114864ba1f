//! Errors of the server: what restarts an event, what ends the run, and what hooks hear of it.

use dyno_results::spec::End;
use std::time::Duration;

use dyno_engine::config::{EngineConfig, OnLoss};
use dyno_workload::sysbench::IgnoredErrors;

use crate::run::Run;
use crate::server::{own_postgres, servers};

#[test]
fn an_error_that_is_not_ignored_ends_the_run() {
    for server in servers() {
        let script =
            "function event()\n  local con = sysbench.sql.driver():connect()\n  con:query('SELEC 1')\nend";
        let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
        let log = run.log.clone();
        let outcome = run.events(5, &server);
        let failure = outcome.failure.unwrap();
        let (number, state) = if server.is_mysql() { (1064, "42000") } else { (0, "42601") };
        let begins = format!(
            "`thread_run' function failed: test.lua:3: SQL error, errno = {number}, state = '{state}': "
        );
        assert!(failure.to_string().starts_with(&begins), "{failure}");
        assert_eq!((outcome.counts.events, outcome.counts.ignored_errors), (0, 1), "{server}");
        let log = log.lock().unwrap().join("\n");
        let told = if server.is_mysql() { "for query 'SELEC 1'" } else { "failed query was: SELEC 1" };
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn an_error_may_be_caught_by_the_script() {
    let script = r###"
        function event()
           con = con or sysbench.sql.driver():connect()
           local ok, why = pcall(con.query, con, "SELECT nothing FROM nowhere")
           assert(not ok and type(why) == "string" and why:find("SQL error, errno = "), why)
           con:query("SELECT 1")
        end"###;
    for server in servers() {
        let counts = Run::of(script, &server).events(2, &server).well();
        assert_eq!((counts.events, counts.reads, counts.ignored_errors), (8, 8, 8), "{server}");
    }
}

/// Each thread meets a row that is there on every other try.
const DUPLICATES: &str = r###"
    local tries, restarts = 0, 0
    function thread_init() con = sysbench.sql.driver():connect() end
    function event()
       tries = tries + 1
       con:query("BEGIN")
       con:query("SELECT 1")
       if tries % 2 == 1 then con:query("INSERT INTO lua_unique VALUES (1)") end
       con:query("COMMIT")
    end
    function sysbench.hooks.before_restart_event(failure)
       restarts = restarts + 1
       assert(failure.errcode == sysbench.error.RESTART_EVENT and tostring(failure.connection) == "<sql_connection>")
       assert(failure.query == "INSERT INTO lua_unique VALUES (1)" and failure.sql_state == "23505" or
              failure.sql_state == "23000", failure.sql_state)
       assert(failure.sql_errno == 0 or failure.sql_errno == 1062)
       assert(failure.sql_errmsg:lower():find("duplicate"))
    end
    function thread_done() assert(restarts == tries / 2, restarts .. " of " .. tries) end
"###;

/// Makes `table` with that row; the script with its name in place of `lua_unique`. Tests run at the same time.
fn with_a_unique_row(server: &crate::server::Server, table: &str, script: &str) -> String {
    let mut connection = server.open().unwrap();
    connection.execute(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
    connection.execute(&format!("CREATE TABLE {table} (id integer PRIMARY KEY)")).unwrap();
    connection.execute(&format!("INSERT INTO {table} VALUES (1)")).unwrap();
    script.replace("lua_unique", table)
}

#[test]
fn an_ignored_error_restarts_the_event() {
    for server in servers() {
        let script = with_a_unique_row(&server, "lua_ignored", DUPLICATES);
        let mut run = Run::of(&script, &server);
        // PostgreSQL's is ignored as it is.
        run.ignored = server.is_mysql().then(|| IgnoredErrors::of_numbers(&[1062]));
        let counts = run.events(3, &server).well();
        assert_eq!((counts.events, counts.ignored_errors, counts.reads), (12, 12, 24), "{server}");
        assert_eq!(counts.failed_events, 0, "{server}");
    }
}

/// sysbench's is a pointer, which scripts that print tables show as a name.
#[test]
fn the_connection_that_a_hook_gets_is_the_scripts_own() {
    let script = r###"
        local C = require("ffi").C
        function thread_init() con, other = sysbench.sql.driver():connect(), sysbench.sql.driver():connect() end
        function event()
           local ok, why = pcall(con.query, con, "SELECT nothing_like_it")
           assert(not ok and heard == 1, why)
           assert(con.mark == 7 and con:query_row("SELECT 5") == "5")
        end
        function sysbench.hooks.sql_error_ignorable(failure)
           local found = failure.connection
           assert(type(found) == "cdata" and tostring(found) == "<sql_connection>")
           assert(found == con and con == found and found ~= other and found ~= nil and found ~= "con")
           assert(found.sql_state == failure.sql_state and found.error == sysbench.sql.error.FATAL)
           found.mark = 7
           assert(found:reconnect() and found:query_row("SELECT 3") == "3")
           con.own = false
           assert(found.own == false and found.nothing == nil)
           local statement = found:prepare("SELECT 4")
           assert(statement:execute():fetch_row()[1] == "4" and statement:close() == 0)
           assert(C.db_query(found, "SELECT 6", 8).nrows == 1 and C.db_connection_reconnect(found) == 0)
           local ok, why = pcall(function()
              found.query("SELECT 1")
           end)
           assert(not ok and why:find("test.lua:22: a method of a connection is called with a colon", 1, true), why)
           heard = (heard or 0) + 1
        end"###;
    for server in servers() {
        let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
        let outcome = run.events(1, &server);
        assert_eq!(outcome.failure, None, "{server}");
        assert_eq!((outcome.counts.events, outcome.counts.ignored_errors), (1, 1), "{server}");
    }
}

#[test]
fn a_hook_may_ignore_what_is_not_ignored() {
    let hook = "function sysbench.hooks.sql_error_ignorable(failure) return failure.sql_errmsg:lower():find('duplicate') end";
    for server in servers() {
        let script = with_a_unique_row(&server, "lua_hooked", &format!("{DUPLICATES}\n{hook}"));
        let mut run = Run::of(&script, &server);
        run.ignored = Some(IgnoredErrors::of_numbers(&[1]));
        let log = run.log.clone();
        let counts = run.events(3, &server).well();
        assert_eq!((counts.events, counts.ignored_errors), (12, 12), "{server}");
        // As sysbench does: PostgreSQL's error and the query each have a line.
        let lines = if server.is_mysql() { 12 } else { 24 };
        assert_eq!(
            log.lock().unwrap().len(),
            lines,
            "{server}: what only the hook ignores is told all the same"
        );
    }
}

#[test]
fn a_script_may_restart_an_event_itself() {
    let script = r###"
        local tries = 0
        function event()
           tries = tries + 1
           if tries % 3 ~= 0 then error({ errcode = sysbench.error.RESTART_EVENT }) end
        end
        function thread_done() assert(tries == 30, tries) end"###;
    for server in servers() {
        assert_eq!(Run::of(script, &server).events(10, &server).well().events, 40);
    }
}

#[test]
fn a_script_may_roll_back_and_try_again_by_itself() {
    let script = r###"
        local ffi = require("ffi")
        ffi.cdef "void sb_counter_inc(int, sb_counter_type);"
        function thread_init()
           con = sysbench.sql.driver():connect()
           con:query(sysbench.sql.driver():name() == "mysql" and "SET autocommit = 0" or "SET statement_timeout = 0")
        end
        function transaction()
           con:query("BEGIN")
           con:query("INSERT INTO lua_unique VALUES (" .. next_id .. ")")
           con:query("ROLLBACK")
        end
        function event(id)
           which, next_id = "transaction", 1
           while not pcall(function() _G[which]() end) do
              ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
              con:query("ROLLBACK")
              next_id = 100 + id
           end
        end"###;
    for server in servers() {
        let script = with_a_unique_row(&server, "lua_rolled_back", script);
        let counts = Run::of(&script, &server).events(5, &server).well();
        // One error that the server told, and one that the script counted.
        assert_eq!((counts.events, counts.ignored_errors, counts.writes), (20, 40, 20), "{server}");
        assert_eq!(server.sql("SELECT count(*) FROM lua_rolled_back"), "1", "{server}");
    }
}

#[test]
fn errors_of_thread_init_and_thread_done_are_told() {
    for server in servers() {
        let script = "function thread_init()\n  error('at the start')\nend\nfunction event() end";
        let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
        let outcome = run.events(1, &server);
        let failure = outcome.failure.unwrap();
        assert_eq!(failure.to_string(), "`thread_init' function failed: test.lua:2: at the start");
        let script = "function event() end\nfunction thread_done()\n  error('at the end')\nend";
        let failure = Run::of(script, &server).events(1, &server).finished.unwrap_err();
        assert_eq!(failure.to_string(), "`thread_done' function failed: test.lua:3: at the end");
    }
}

/// A thread that has its connection killed by another one's query.
fn killing(server: &crate::server::Server) -> String {
    let (own, kill) = if server.is_mysql() {
        ("connection_id()", "KILL ")
    } else {
        ("pg_backend_pid()", "SELECT pg_terminate_backend(")
    };
    let behind = if server.is_mysql() { "" } else { ")" };
    format!(
        r###"
        local events = 0
        local function open()
           statement = con:prepare("SELECT ?")
           one = statement:bind_create(sysbench.sql.type.VARCHAR, 5)
           statement:bind_param(one)
        end
        function thread_init()
           con = sysbench.sql.driver():connect()
           open()
        end
        function event()
           events = events + 1
           one:set("1")
           statement:execute()
           if events == 3 then con:query("{kill}" .. con:query_row("SELECT {own}") .. "{behind}") end
           one:set("2")
           statement:execute()
        end
        function sysbench.hooks.before_restart_event(failure)
           -- MariaDB says so before it closes the connection.
           if failure.sql_errno == 1927 or failure.sql_errno == 1317 then return end
           assert(failure.sql_errno == 2013 or failure.sql_state == "08006", failure.sql_errmsg)
           statement:close()
           open()
        end"###
    )
}

#[test]
fn a_lost_connection_restarts_the_event_if_it_is_ignored() {
    for server in servers() {
        let mut run = Run::of(&killing(&server), &server);
        run.ignored = Some(IgnoredErrors::all());
        let outcome = run.events(10, &server);
        assert_eq!(outcome.failure, None, "{server}");
        assert_eq!((outcome.aborted, outcome.counts.reconnects), (0, 4), "{server}");
        // One of the ten of each client was given up with its connection.
        assert!(outcome.complete && outcome.counts.events >= 36, "{server}: {:?}", outcome.counts);
    }
}

#[test]
fn a_lost_connection_ends_the_run_if_it_is_not_ignored() {
    for server in servers() {
        let run = Run::of(&killing(&server), &server);
        let failure = run.until(End::TransactionsPerClient(1000), &server).failure.unwrap();
        assert_eq!(failure.hook.as_deref(), Some("event"), "{failure}");
    }
}

/// Its only thread is at rest while its connection is closed by another session. That it is at rest it says by a file: a
/// row would be there before the answer is.
#[test]
fn a_connection_lost_at_rest_ends_the_run_as_well() {
    for server in servers() {
        let own = if server.is_mysql() { "connection_id()" } else { "pg_backend_pid()" };
        let directory = tempfile::tempdir().unwrap();
        let told = directory.path().join("id");
        let script = format!(
            "local ffi = require('ffi')
             ffi.cdef('int usleep(unsigned int);')
             function event()
                con = con or sysbench.sql.driver():connect()
                local file = io.open('{}', 'w')
                file:write(con:query_row('SELECT {own}'), '.')
                file:close()
                ffi.C.usleep(600e6)
             end",
            told.display()
        );
        let run = Run { clients: 1, threads: 1, ..Run::of(&script, &server) };
        let config = EngineConfig { on_loss: OnLoss::Abort, ..EngineConfig::new(1) };
        let outcome = std::thread::scope(|scope| {
            let ran = scope.spawn(|| run.on(End::TransactionsPerClient(1), config, &server));
            let id = loop {
                let text = std::fs::read_to_string(&told).unwrap_or_default();
                match text.strip_suffix('.') {
                    Some(id) => break id.to_owned(),
                    None => assert!(!ran.is_finished(), "{server}: it did not come to rest"),
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            server.sql(&match server.is_mysql() {
                true => format!("KILL {id}"),
                false => format!("SELECT pg_terminate_backend({id})"),
            });
            ran.join().unwrap()
        });
        let failure = outcome.failure.as_ref().unwrap_or_else(|| panic!("{server}: {outcome:?}")).to_string();
        assert!(failure.starts_with("`thread_run' function failed: SQL error, errno = "), "{failure}");
    }
}

/// The one of two connections is lost at rest, and is the one that hears of it.
#[test]
fn a_loss_is_told_to_its_connection() {
    for server in servers() {
        let own = if server.is_mysql() { "connection_id()" } else { "pg_backend_pid()" };
        let directory = tempfile::tempdir().unwrap();
        let told = directory.path().join("id");
        let script = format!(
            "local ffi = require('ffi')
             ffi.cdef('int usleep(unsigned int);')
             function event()
                assert(not lost, 'the event was begun again')
                local driver = sysbench.sql.driver()
                local other = driver:connect()
                lost = driver:connect()
                local file = io.open('{}', 'w')
                file:write(lost:query_row('SELECT {own}'), '.')
                file:close()
                ffi.C.usleep(600e6)
                assert(other:query_row('SELECT 1') == '1')
                local ok, why = pcall(lost.query, lost, 'SELECT 2')
                assert(not ok and why.sql_errmsg:find('lost'), 'the loss is told')
                assert(lost:query_row('SELECT 3') == '3' and other:query_row('SELECT 4') == '4')
             end",
            told.display()
        );
        let run =
            Run { clients: 1, threads: 1, ignored: Some(IgnoredErrors::all()), ..Run::of(&script, &server) };
        let outcome = std::thread::scope(|scope| {
            // The first is given up with the connection, and the script is still within it in the second.
            let ran = scope.spawn(|| run.events(2, &server));
            let id = loop {
                let text = std::fs::read_to_string(&told).unwrap_or_default();
                match text.strip_suffix('.') {
                    Some(id) => break id.to_owned(),
                    None => assert!(!ran.is_finished(), "{server}: it did not come to rest"),
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            server.sql(&match server.is_mysql() {
                true => format!("KILL {id}"),
                false => format!("SELECT pg_terminate_backend({id})"),
            });
            ran.join().unwrap()
        });
        assert_eq!(outcome.failure, None, "{server}");
    }
}

/// A server that is full refuses a connection in mid-event.
#[test]
fn a_connection_that_is_refused_is_the_scripts_to_handle() {
    let script = r###"
        function event()
           local driver, open = sysbench.sql.driver(), {}
           repeat
              local ok, con = pcall(driver.connect, driver)
              if ok then open[#open + 1] = con else why = con end
           until not ok
           assert(why:find("connection creation failed"), why)
           assert(open[1]:query_row("SELECT 1") == "1")
           assert(not pcall(driver.connect, driver))
           assert(#open > 1 and open[#open]:query_row("SELECT 2") == "2")
        end"###;
    for on_loss in [OnLoss::Abort, OnLoss::Reconnect] {
        let Some(server) = own_postgres(10) else { return };
        let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
        let config = EngineConfig { on_loss, ..EngineConfig::new(1) };
        let outcome = run.on(End::TransactionsPerClient(1), config, &server);
        assert_eq!((outcome.counts.events, outcome.aborted), (1, 0), "{on_loss:?}: {outcome:?}");
        outcome.well();
    }
}
