//! What scripts ask of a server, and what they get: each assertion stands in the script, where users would write it.

use dyno_workload::sysbench::lua::OptionValue;

use crate::run::Run;
use crate::server::{postgres, servers};

/// Runs `body` as the one event of one thread, on every server.
#[track_caller]
fn holds(body: &str) {
    for server in servers() {
        let script = format!("function event()\nlocal con = sysbench.sql.driver():connect()\n{body}\nend");
        let run = Run { clients: 1, threads: 1, ..Run::of(&script, &server) };
        let log = run.log.clone();
        let outcome = run.events(1, &server);
        assert_eq!(outcome.failure, None, "{server}: {:?}", log.lock().unwrap());
        assert_eq!(outcome.counts.events, 1, "{server}");
    }
}

#[test]
fn rows_come_as_text_and_null_as_nil() {
    holds(
        r###"
        local rs = con:query("SELECT 1, 'x', NULL, '' UNION ALL SELECT 2, 'y', 'z', 'w' ORDER BY 1")
        assert(tostring(con) == "<sql_connection>" and tostring(rs) == "<sql_result>")
        assert(rs.nrows == 2 and rs.nfields == 4)
        local row = rs:fetch_row()
        assert(row[1] == "1" and row[2] == "x" and row[3] == nil and row[4] == "")
        row = rs:fetch_row()
        assert(#row == 4 and row[1] == "2" and row[4] == "w")
        assert(rs:fetch_row() == nil and rs:fetch_row() == nil)
        rs:free()
        local a, b, c = con:query_row("SELECT 'one', NULL, 3 UNION ALL SELECT 'two', 'x', 4 ORDER BY 3")
        assert(a == "one" and b == nil and c == "3")
        assert(con:query_row("SELECT 1 FROM (SELECT 1 AS a) AS t WHERE 1 = 0") == nil)
        -- One result is read while another is.
        local outer, seen = con:query("SELECT 1 UNION ALL SELECT 2 ORDER BY 1"), {}
        for _ = 1, outer.nrows do
           local n = outer:fetch_row()[1]
           seen[#seen + 1] = con:query_row("SELECT 10 + " .. n)
        end
        assert(table.concat(seen, ",") == "11,12")
        assert(#con:query_row("SELECT '" .. ("x"):rep(100000) .. "'") == 100000)
        "###,
    );
}

#[test]
fn prepared_statements_take_values_of_their_types() {
    holds(
        r###"
        con:query("DROP TABLE IF EXISTS lua_typed")
        con:query("CREATE TABLE lua_typed (a bigint, b varchar(100), c double precision, d integer)")
        local types = sysbench.sql.type
        local insert = con:prepare("INSERT INTO lua_typed (a, b, c, d) VALUES (?, ?, ?, ?)")
        local a, b = insert:bind_create(types.BIGINT), insert:bind_create(types.VARCHAR, 8)
        local c, d = insert:bind_create(types.DOUBLE), insert:bind_create(types.INT)
        assert(tostring(insert) == "<sql_statement>" and tostring(a) == "<sql_param>")
        insert:bind_param(a, b, c, d)
        local function add(va, vb, vc, vd)
           a:set(va) b:set(vb) c:set(vc) d:set(vd)
           assert(insert:execute() == nil)
        end
        add(1, "it's\\", 0.5, 3.7)
        add(2LL, "0123456789", 3, -3.7)
        add(3, nil, nil, nil)
        a:set(4) b:set_rand_str("##-@@") c:set(1e-3)
        insert:execute()
        a:set(9007199254740993ULL) b:set("")
        insert:execute()
        local got = {}
        local rs = con:query("SELECT a, b, c, d FROM lua_typed ORDER BY a")
        for i = 1, rs.nrows do got[i] = rs:fetch_row() end
        assert(got[1][1] == "1" and got[1][2] == "it's\\" and tonumber(got[1][3]) == 0.5 and got[1][4] == "3")
        assert(got[2][1] == "2" and got[2][2] == "01234567" and tonumber(got[2][3]) == 3 and got[2][4] == "-3")
        assert(got[3][1] == "3" and got[3][2] == nil and got[3][3] == nil and got[3][4] == nil)
        assert(got[4][2]:match("^%d%d%-%l%l$") and tonumber(got[4][3]) == 0.001 and got[4][4] == nil)
        assert(got[5][1] == "9007199254740993" and got[5][2] == "")
        local ask = con:prepare("SELECT b, a FROM lua_typed WHERE a = ? AND '?' = '?' -- ?")
        local key = ask:bind_create(types.INT)
        ask:bind_param(key)
        for id = 1, 2 do
           key:set(id)
           local row = ask:execute():fetch_row()
           assert(row[2] == tostring(id), row[2])
        end
        assert(ask:close() == 0 and ask:close() == 0 and not pcall(ask.execute, ask))
        assert(not pcall(ask.bind_create, ask, 99) and not pcall(key.set, key, {}) and not pcall(key.set, key, "1"))
        assert(not pcall(key.set_rand_str, key, "#"))
        local wrong, why = pcall(insert.bind_param, insert, a)
        assert(not wrong and why:find("4 parameters, and 1 are given"), why)
        "###,
    );
}

#[test]
fn statements_may_be_made_and_closed_in_each_event() {
    let script = r###"
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
           local kept
           for i = 1, 3 do
              local statement = con:prepare("SELECT " .. i .. " + ?")
              local value = statement:bind_create(sysbench.sql.type.INT)
              statement:bind_param(value)
              value:set(i)
              assert(statement:execute():fetch_row()[1] == tostring(2 * i))
              if i == 2 then kept = statement else statement:close() end
           end
           assert(kept:execute():fetch_row()[1] == "4")
           kept:close()
        end"###;
    for server in servers() {
        let own = if server.is_mysql() { script.to_owned() } else { script.replace("+ ?", "+ ?::integer") };
        assert_eq!(Run::of(&own, &server).events(50, &server).well().reads, 800, "{server}");
    }
}

#[test]
fn statements_that_are_not_prepared_read_the_same() {
    let script = r###"
        function event()
           con = con or sysbench.sql.driver():connect()
           local statement = con:prepare("SELECT ?, ?, ?, '?' FROM (SELECT 1 AS one) AS t WHERE one = ?")
           local text, number, none = statement:bind_create(12, 20), statement:bind_create(6), statement:bind_create(12, 1)
           local one = statement:bind_create(3)
           statement:bind_param(text, number, none, one)
           text:set("it's \\ here") number:set(0.25) none:set(nil) one:set(1.9)
           local row = statement:execute():fetch_row()
           assert(row[1] == "it's \\ here" and tonumber(row[2]) == 0.25 and row[3] == nil and row[4] == "?")
        end"###;
    for server in servers() {
        let mut run = Run::of(script, &server);
        run.settings.emulates_statements = true;
        assert_eq!(run.events(3, &server).well().reads, 12, "{server}");
    }
}

#[test]
fn bulk_inserts_are_sent_in_pieces() {
    for server in servers() {
        let script = r###"
            function prepare()
               local con = sysbench.sql.driver():connect()
               con:query("DROP TABLE IF EXISTS lua_bulk")
               con:query("CREATE TABLE lua_bulk (id integer, pad varchar(200))")
               con:bulk_insert_init("INSERT INTO lua_bulk (id, pad) VALUES")
               local pad = ("x"):rep(150)
               for id = 1, 10000 do con:bulk_insert_next(string.format("(%d, '%s')", id, pad)) end
               con:bulk_insert_done()
               con:bulk_insert_init("INSERT INTO lua_bulk (id, pad) VALUES")
               con:bulk_insert_done()
               assert(not pcall(con.bulk_insert_next, con, "(1, '')") and con:bulk_insert_done())
            end
            function event() end
            function cleanup() sysbench.sql.driver():connect():query("DROP TABLE lua_bulk") end"###;
        assert_eq!(Run::of(script, &server).command("prepare", &server), Ok(true));
        assert_eq!(
            server.sql("SELECT count(*), min(id), max(id), count(DISTINCT id) FROM lua_bulk"),
            "10000|1|10000|10000"
        );
        assert_eq!(Run::of(script, &server).command("cleanup", &server), Ok(true));
        assert!(server.open().unwrap().query("SELECT 1 FROM lua_bulk").is_err());
    }
}

#[test]
fn queries_count_by_what_they_did() {
    let script = r###"
        function thread_init()
           con = sysbench.sql.driver():connect()
           con:query("SELECT 'not counted here'")
        end
        function event()
           con:query("BEGIN")
           con:query("SELECT 1")
           con:query("SELECT 1 FROM (SELECT 1 AS a) AS t WHERE a = 2")
           con:query("UPDATE lua_counted SET n = n + 1 WHERE id = " .. sysbench.tid)
           con:query("DELETE FROM lua_counted WHERE id = -1")
           con:query("COMMIT")
        end"###;
    for server in servers() {
        let mut connection = server.open().unwrap();
        connection.execute("DROP TABLE IF EXISTS lua_counted").unwrap();
        connection.execute("CREATE TABLE lua_counted (id integer PRIMARY KEY, n integer)").unwrap();
        connection.execute("INSERT INTO lua_counted VALUES (0, 0), (1, 0), (2, 0), (3, 0)").unwrap();
        let counts = Run::of(script, &server).events(25, &server).well();
        assert_eq!(
            (counts.events, counts.reads, counts.writes, counts.other),
            (100, 200, 100, 300),
            "{server}"
        );
        assert_eq!((counts.ignored_errors, counts.failed_events, counts.running), (0, 0, 0), "{server}");
        assert_eq!(server.sql("SELECT n FROM lua_counted ORDER BY id"), "25|25|25|25", "{server}");
    }
}

/// As sysbench: a result makes a read, but of a prepared statement only one that the server has described when it prepared it.
#[test]
fn what_returns_rows_is_a_read_if_its_result_was_expected() {
    let script = r###"
        local function nothing(result) assert(result == nil, tostring(result)) end
        function thread_init()
           con = sysbench.sql.driver():connect()
           mysql = sysbench.sql.driver():name() == "mysql"
           insert, delete = "INSERT INTO lua_kinds VALUES (1, 'x') RETURNING n", "DELETE FROM lua_kinds WHERE n = -1 RETURNING n"
           update = "UPDATE lua_kinds SET s = 'returning' WHERE n = -1 /* returning */"
           for name, sql in pairs { update = update, insert = insert, delete = delete, call = mysql and "CALL lua_rows()" or nil } do
              _G["prepared_" .. name] = con:prepare(sql)
           end
        end
        function event()
           nothing(prepared_update:execute())
           nothing(con:query(update))
           assert(con:query(insert):fetch_row()[1] == "1" and con:query(delete).nrows == 0)
           if not mysql then
              assert(prepared_insert:execute():fetch_row()[1] == "1" and prepared_delete:execute().nrows == 0)
           else
              nothing(prepared_insert:execute())
              nothing(prepared_delete:execute())
              assert(con:query("CALL lua_rows()").nrows == 1 and con:query("CALL lua_no_rows()").nrows == 0)
              nothing(prepared_call:execute())
           end
        end"###;
    for server in servers() {
        let mut connection = server.open().unwrap();
        connection.execute("DROP TABLE IF EXISTS lua_kinds").unwrap();
        connection.execute("CREATE TABLE lua_kinds (n integer, s varchar(20))").unwrap();
        if server.is_mysql() {
            for (name, condition) in [("lua_rows", ""), ("lua_no_rows", " FROM lua_kinds WHERE n = -1")] {
                connection.execute(&format!("DROP PROCEDURE IF EXISTS {name}")).unwrap();
                connection.execute(&format!("CREATE PROCEDURE {name}() SELECT 1{condition}")).unwrap();
            }
        }
        let counts = Run::of(script, &server).events(1, &server).well();
        let expected = if server.is_mysql() { (16, 12, 8) } else { (16, 0, 8) };
        assert_eq!((counts.reads, counts.writes, counts.other), expected, "{server}");
    }
}

#[test]
fn a_method_that_is_called_with_a_point_is_told_with_the_scripts_line() {
    holds(
        r###"
        local statement, driver = con:prepare("SELECT 1"), sysbench.sql.driver()
        for _, wrong in ipairs {
           function() con.query("SELECT 1") return 1 end,
           function() con.disconnect() return 1 end,
           function() statement.execute() return 1 end,
           function() statement.close() return 1 end,
           function() driver.connect() return 1 end,
        } do
           local ok, why = pcall(wrong)
           assert(not ok and why:find("test.lua:%d+: ") and why:find("with a colon", 1, true), why)
        end"###,
    );
}

#[test]
fn a_truthy_return_ends_the_thread() {
    let script = r###"
        local events = 0
        function event(id)
           assert(id == sysbench.tid)
           events = events + 1
           local con = sysbench.sql.driver():connect()
           con:query("SELECT 1")
           con:disconnect()
           return events == sysbench.tid + 2
        end"###;
    // The event that ends a thread is not counted, as with sysbench.
    for server in servers() {
        let outcome = Run::of(script, &server).events(100, &server);
        assert_eq!((outcome.aborted, outcome.counts.events), (4, 1 + 2 + 3 + 4), "{server}");
    }
}

#[test]
fn errors_of_the_older_functions_name_the_scripts_line() {
    for server in servers() {
        let script = "function event()\n  db_query('SELECT 1')\n  db_query('SELECT nothing_like_it')\nend";
        let failure = Run::of(script, &server).events(1, &server).failure.unwrap();
        assert!(failure.message.starts_with("test.lua:3: "), "{server}: {failure}");
    }
}

#[test]
fn a_thread_may_have_several_connections() {
    for server in servers() {
        let own = if server.is_mysql() { "connection_id()" } else { "pg_backend_pid()" };
        let one = if server.is_mysql() { "SELECT ? + 0" } else { "SELECT ?::integer" };
        let script = format!(
            r###"
            local driver = sysbench.sql.driver()
            first = driver:connect()
            function thread_init()
               second = driver:connect()
               sessions = {{ first:query_row("SELECT {own}"), second:query_row("SELECT {own}") }}
               assert(sessions[1] ~= sessions[2])
               by_first, by_second = first:prepare("{one}"), second:prepare("{one}")
               for _, statement in ipairs {{ by_first, by_second }} do
                  local value = statement:bind_create(sysbench.sql.type.INT)
                  value:set(sysbench.tid)
                  statement:bind_param(value)
               end
            end
            function event(id)
               for _ = 1, 3 do
                  assert(by_second:execute():fetch_row()[1] == tostring(id))
                  assert(first:query_row("SELECT {own}") == sessions[1])
                  assert(by_first:execute():fetch_row()[1] == tostring(id))
                  assert(second:query_row("SELECT {own}") == sessions[2])
               end
               -- Many that nobody closes, as a script may leave them.
               local third = driver:connect()
               assert(third:query_row("SELECT {own}") ~= sessions[2])
               local short = second:prepare("{one}")
               first:query("SELECT 1")
               short:close()
               if id % 2 == 0 then third:disconnect() end
            end"###
        );
        let counts = Run::of(&script, &server).events(50, &server).well();
        assert_eq!(counts.reads, 200 * (3 * 4 + 2), "{server}");
    }
}

/// Waits in the server until it has no such session any more; a limit for a test that fails.
const GONE: &str = r###"
        local function gone(con, sessions, pause)
           for _ = 1, 3000 do
              if con:query_row(sessions) == "0" then return true end
              con:query(pause)
           end
        end
"###;

#[test]
fn a_connection_is_closed_when_the_script_says_so() {
    for server in servers() {
        let (own, sessions, pause) = match server.is_mysql() {
            true => ("connection_id()", "information_schema.processlist WHERE id", "SELECT SLEEP(0.02)"),
            false => ("pg_backend_pid()", "pg_stat_activity WHERE pid", "SELECT pg_sleep(0.02)"),
        };
        let events = format!(
            r###"
            function event()
               local driver = sysbench.sql.driver()
               local first, second = driver:connect(), driver:connect()
               local id = second:query_row("SELECT {own}")
               assert(second:disconnect() and second:disconnect())
               assert(gone(first, "SELECT count(*) FROM {sessions} = " .. id, "{pause}"), "it is still there")
               assert(second:reconnect() and second:query_row("SELECT 1") == "1")
               first:disconnect()
               second:disconnect()
            end"###
        );
        let run = Run::of(&format!("{GONE}{events}"), &server);
        assert_eq!(run.events(2, &server).well().events, 8, "{server}");
    }
}

#[test]
fn a_thread_that_ends_closes_all_its_connections() {
    let Some(server) = postgres() else { return };
    let events = r###"
        local kept = {}
        function thread_init()
           for i = 1, 3 do
              kept[i] = sysbench.sql.driver():connect()
              if sysbench.tid == 0 then kept[i]:query("SET application_name = 'lua_leaver'") end
           end
        end
        function event(id)
           local sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lua_leaver'"
           assert(id == 0 or gone(kept[1], sessions, "SELECT pg_sleep(0.02)"), "some are still there")
           return id == 0
        end"###;
    let run = Run { clients: 2, threads: 1, ..Run::of(&format!("{GONE}{events}"), &server) };
    let outcome = run.events(1, &server);
    assert_eq!((outcome.failure, outcome.counts.events, outcome.aborted), (None, 1, 1));
}

#[test]
fn rows_of_a_scripts_own_may_be_as_large_as_they_come() {
    let Some(server) = postgres() else { return };
    let script = r###"
        function prepare()
           local con = sysbench.sql.driver():connect()
           assert(#con:query_row("SELECT repeat('x', 70000000)") == 70000000)
        end"###;
    Run { threads: 1, ..Run::of(script, &server) }.command("prepare", &server).unwrap();
}

#[test]
fn a_new_connection_is_another_session() {
    for server in servers() {
        let own = if server.is_mysql() { "connection_id()" } else { "pg_backend_pid()" };
        let script = format!(
            r###"
            function event()
               local driver = sysbench.sql.driver()
               local con = driver:connect()
               local first = con:query_row("SELECT {own}")
               assert(con:query_row("SELECT {own}") == first)
               con:reconnect()
               local second = con:query_row("SELECT {own}")
               assert(first ~= second)
               con:disconnect()
               local ok, why = pcall(con.query, con, "SELECT 1")
               assert(not ok and why == "test.lua:11: SQL API error", why)
               con = driver:connect()
               assert(con:query_row("SELECT {own}") ~= second)
               con:disconnect()
            end"###
        );
        let counts = Run::of(&script, &server).events(3, &server).well();
        assert_eq!((counts.events, counts.reconnects), (12, 12), "{server}");
    }
}

#[test]
fn statements_go_with_their_connection() {
    holds(
        r###"
        local statement = con:prepare("SELECT 1")
        statement:execute()
        con:reconnect()
        local ok, why = pcall(statement.execute, statement)
        assert(not ok and (why:find("errno = 1243", 1, true) or why:find("26000", 1, true)), why)
        statement:close()
        statement = con:prepare("SELECT 1")
        assert(statement:execute():fetch_row()[1] == "1")
        "###,
    );
}

#[test]
fn databases_are_reached_through_c() {
    holds(
        r###"
        local ffi = require("ffi")
        ffi.cdef "sql_result *db_query(sql_connection *con, const char *query, size_t len);"
        local C, driver = ffi.C, ffi.gc(ffi.C.db_create(nil), ffi.C.db_destroy)
        local function query(con, sql) return C.db_query(con, sql, #sql) end
        local own = ffi.gc(C.db_connection_create(driver), C.db_connection_free)
        assert(own ~= nil and C.db_create("nosuch") == nil and query(own, "DROP TABLE IF EXISTS lua_c") == nil)
        assert(own.error == C.DB_ERROR_NONE)
        query(own, "CREATE TABLE lua_c (a integer PRIMARY KEY, b bigint, c double precision, d varchar(10))")
        -- What is refused is told by the connection, and raised by none of them; of each kind of connection.
        for _, one in ipairs { own, con } do
           assert(query(one, "SELECT nothing_like_it") == nil and one.error == C.DB_ERROR_FATAL)
           local unknown = one.sql_errno == 1054 or ffi.string(one.sql_state) == "42703"
           assert(unknown and ffi.string(one.sql_errmsg):find("nothing_like_it"), one.sql_errmsg)
           assert(query(one, "SELECT 1") ~= nil and one.error == 0 and one.sql_errno == 0)
        end
        local insert = C.db_prepare(own, ffi.cast("const char *", "INSERT INTO lua_c VALUES (?, ?, ?, ?)--"), 37)
        local number, big, double = ffi.new("int[1]", 1), ffi.new("int64_t[1]", 2LL ^ 40), ffi.new("double[1]", 0.5)
        local text, length, null = ffi.new("char[10]", "some text"), ffi.new("unsigned long[1]", 4), ffi.new("char[1]")
        local binds = ffi.new("sql_bind[4]")
        for at, bind in ipairs { { "INT", number }, { "BIGINT", big }, { "DOUBLE", double }, { "VARCHAR", text } } do
           binds[at - 1].type, binds[at - 1].buffer = C["SQL_TYPE_" .. bind[1]], bind[2]
        end
        binds[3].data_len, binds[3].is_null = length, null
        assert(C.db_bind_param(insert, binds, 4) == 0 and C.db_execute(insert) == nil and own.error == 0)
        number[0], null[0] = 2, 1
        assert(C.db_execute(insert) == nil and own.error == 0)
        -- The same key again: an error that begins an event anew is one to ignore here.
        assert(C.db_execute(insert) == nil and own.error == (driver:name() == "mysql" and 2 or 1), own.error)
        assert(C.db_close(insert) == 0)
        assert(C.db_bulk_insert_init(own, "INSERT INTO lua_c VALUES", 24) == 0)
        for key = 3, 4 do
           local row = string.format("(%d, 0, 0, '')", key)
           assert(C.db_bulk_insert_next(own, row, #row) == 0)
        end
        assert(C.db_bulk_insert_done(own) == 0 and C.db_bulk_insert_next(own, "(9)", 3) == 1)
        local result = query(con, "SELECT a, b, c, d FROM lua_c ORDER BY a")
        assert(result.nrows == 4 and result.nfields == 4)
        local row = C.db_fetch_row(result)
        local function value(at) return ffi.string(row.values[at].ptr, row.values[at].len) end
        assert(value(0) == "1" and value(1) == "1099511627776" and tonumber(value(2)) == 0.5 and value(3) == "some")
        row = C.db_fetch_row(result)
        assert(value(0) == "2" and row.values[3].ptr == nil and row.values[3].len == 0)
        assert(C.db_fetch_row(result) and C.db_fetch_row(result) and C.db_fetch_row(result) == nil)
        assert(C.db_free_results(result) == 0 and C.db_free_results(result) == 1)
        assert(C.db_connection_reconnect(own) == 0 and query(own, "SELECT 1") ~= nil)
        assert(C.db_connection_close(own) == 0 and C.db_connection_close(own) == 1)
        assert(query(own, "SELECT 1") == nil and own.error == C.DB_ERROR_FATAL)
        local found, why = pcall(C.db_query, driver, "SELECT 1", 8)
        assert(not found and why:find("a connection is expected", 1, true), why)
        "###,
    );
}

#[test]
fn what_sysbench_counts_can_be_read_and_added_to() {
    for server in servers() {
        let script = r###"
            local C = require("ffi").C
            require("ffi").cdef "uint64_t sb_counter_val(int, sb_counter_type);"
            function thread_init() con = sysbench.sql.driver():connect() end
            function event(id)
               local before = C.sb_counter_val(id, C.SB_CNT_READ)
               con:query("SELECT 1")
               con:query("SELECT 2")
               assert(C.sb_counter_val(id, C.SB_CNT_READ) == before + 2)
               assert(type(before) == "cdata" and C.sb_counter_val(99, C.SB_CNT_READ) == 0)
               local counted = C.sb_counter_val(id, C.SB_CNT_TRX)
               C.sb_counter_inc(id, C.SB_CNT_TRX)
               assert(C.sb_counter_val(id, C.SB_CNT_TRX) == counted + 1)
               C.sb_counter_inc(id, C.SB_CNT_RECONNECT)
               C.sb_counter_inc(id, C.SB_CNT_ERROR)
               C.sb_counter_inc(id, C.SB_CNT_ERROR)
            end"###;
        let counts = Run::of(script, &server).events(5, &server).well();
        let counted = (counts.reads, counts.events, counts.reconnects, counts.ignored_errors);
        assert_eq!(counted, (40, 40, 20, 40), "{server}");
    }
}

#[test]
fn what_is_wrongly_used_is_told_as_sysbench_tells_it() {
    for server in servers() {
        let script = r###"
            function event()
               local driver = sysbench.sql.driver()
               local con = driver:connect()
               local rs, none = con:query("SELECT 1"), con:query("BEGIN")
               local function raises(expected, ...)
                  local ok, why = pcall(...)
                  assert(not ok and why == expected, why)
               end
               raises("db_free_results() failed", rs.free, rs)
               raises("db_free_results() failed", none.free, rs)
               rs = con:query("SELECT 1")
               assert(rs:free() and con:query("COMMIT") == nil)
               raises("test.lua:14: db_free_results() failed", function() rs:free() end)
               raises("SQL API error", con.prepare, con, "SELECT a FROM nothing_like_it")
               raises("db_bulk_insert_next() failed", con.bulk_insert_next, con, "(1)")
               raises("failed to initialize the DB driver", sysbench.sql.driver, "nosuch")
               con:disconnect()
               con:disconnect()
               raises("test.lua:7: SQL API error", con.query, con, "SELECT 1")
               raises("test.lua:21: SQL API error", function() con:query("SELECT 1") end)
            end"###;
        let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
        let log = run.log.clone();
        run.events(1, &server).well();
        let log = log.lock().unwrap();
        let invalid = "attempt to free an invalid result set";
        let refused: &[&str] = if server.is_mysql() {
            &[
                "mysql_stmt_prepare() failed",
                "MySQL error: 1146 \"Table 'workload_lua.nothing_like_it' doesn't exist\"",
            ]
        } else {
            &[
                "PQprepare() failed: ERROR:  relation \"nothing_like_it\" does not exist\nLINE 1: SELECT a FROM \
               nothing_like_it\n                      ^\n",
            ]
        };
        let expected = [
            &[invalid; 3][..],
            refused,
            &[
                "attempt to call bulk_insert_next() before bulk_insert_init()",
                "invalid database driver name: 'nosuch'",
                "attempt to close an already closed connection",
                "attempt to use an already closed connection",
                "attempt to use an already closed connection",
            ],
        ];
        assert_eq!(*log, expected.concat(), "{server}");
    }
}

#[test]
fn older_names_work_on_one_connection() {
    let script = r###"
        function thread_init() db_connect() end
        function event(id)
           assert(thread_id == id and id == sysbench.tid)
           db_query("BEGIN")
           db_bulk_insert_init("INSERT INTO lua_older (id) VALUES")
           for i = 1, 3 do db_bulk_insert_next("(" .. sb_rand(i, i) .. ")") end
           db_bulk_insert_done()
           local statement = db_prepare("INSERT INTO lua_older (id) VALUES (?)")
           db_bind_param(statement, { 4 })
           db_execute(statement)
           db_close(statement)
           db_query("COMMIT")
        end
        function thread_done() db_disconnect() end"###;
    for server in servers() {
        let mut connection = server.open().unwrap();
        connection.execute("DROP TABLE IF EXISTS lua_older").unwrap();
        connection.execute("CREATE TABLE lua_older (id integer)").unwrap();
        let counts = Run::of(script, &server).events(2, &server).well();
        assert_eq!((counts.events, counts.writes, counts.other), (8, 16, 16), "{server}");
        assert_eq!(server.sql("SELECT count(*), sum(id) FROM lua_older"), "32|80", "{server}");
    }
}

#[test]
fn parallel_commands_share_the_work() {
    let script = r###"
        local function work()
           local con = sysbench.sql.driver():connect()
           for i = sysbench.tid % sysbench.opt.threads + 1, 10, sysbench.opt.threads do
              con:query("INSERT INTO lua_shared (id, thread) VALUES (" .. i .. ", " .. sysbench.tid .. ")")
           end
        end
        sysbench.cmdline.commands = { fill = { work, sysbench.cmdline.PARALLEL_COMMAND } }"###;
    for server in servers() {
        let mut connection = server.open().unwrap();
        connection.execute("DROP TABLE IF EXISTS lua_shared").unwrap();
        connection.execute("CREATE TABLE lua_shared (id integer, thread integer)").unwrap();
        let run = Run { threads: 4, ..Run::of(script, &server) };
        assert_eq!(run.command("fill", &server), Ok(true));
        let found = server.sql("SELECT count(DISTINCT id), count(*), count(DISTINCT thread) FROM lua_shared");
        assert_eq!(found, "10|10|4", "{server}");
    }
}

#[test]
fn a_command_sees_how_many_rows_there_are() {
    let script = r###"
        function prepare()
           local con = sysbench.sql.driver():connect()
           con:query("DROP TABLE IF EXISTS lua_rows")
           con:query("CREATE TABLE lua_rows (id integer)")
           local inserted = con:query("INSERT INTO lua_rows VALUES (1), (2), (3)")
           assert(inserted == nil and tostring(inserted) == "<sql_result>")
           local read, why = pcall(function() return inserted.nrows end)
           assert(not read and why:find("test.lua") and why:find("'nrows' of the result"), why)
           assert(con:query("SELECT id FROM lua_rows WHERE id > 1").nrows == 2)
           assert(con:query("SELECT id FROM lua_rows WHERE id > 99").nrows == 0)
           assert(con:query("UPDATE lua_rows SET id = 9 WHERE id > 1") == nil and con:query("BEGIN") == nil)
           if sysbench.sql.driver():name() == "pgsql" then
              assert(con:query("DELETE FROM lua_rows WHERE id = 99 RETURNING id").nrows == 0)
           end
           assert(select("#", db_query("SELECT 1")) == 0)
        end"###;
    for server in servers() {
        assert_eq!(Run::of(script, &server).command("prepare", &server), Ok(true), "{server}");
    }
}

#[test]
fn thread_done_may_ask_the_server() {
    let script = r###"
        function event() end
        function thread_done(id)
           assert(id == sysbench.tid)
           sysbench.sql.driver():connect():query("INSERT INTO lua_done VALUES (" .. id .. ")")
        end"###;
    for server in servers() {
        let mut connection = server.open().unwrap();
        connection.execute("DROP TABLE IF EXISTS lua_done").unwrap();
        connection.execute("CREATE TABLE lua_done (id integer)").unwrap();
        Run::of(script, &server).events(2, &server).well();
        assert_eq!(server.sql("SELECT id FROM lua_done ORDER BY id"), "0|1|2|3", "{server}");
    }
}

#[test]
fn questions_may_stand_anywhere() {
    holds(
        r###"
        local function rows()
           for i = 1, 3 do coroutine.yield(con:query_row("SELECT " .. i)) end
        end
        local sum = 0
        for value in coroutine.wrap(rows) do sum = sum + value end
        assert(sum == 6)
        local asking = setmetatable({}, { __index = function(_, key) return con:query_row("SELECT '" .. key .. "'") end })
        assert(asking.through == "through")
        assert(xpcall(function() return con:query("SELECT 1") end, print))
        local inner = coroutine.create(function() error("within") end)
        local ok, why = coroutine.resume(inner)
        assert(not ok and why:find("within"))
        assert(os.execute("sleep 0.01") == 0)
        assert(require("ffi").C.usleep(1000) == 0)
        local before = os.time()
        assert(os.execute("sleep 1") == 0 and os.time() > before)
        "###,
    );
}

#[test]
fn a_run_sees_its_options() {
    for server in servers() {
        let script = "sysbench.cmdline.options = { rows = { 'Rows', 1 } }\n\
                      function event() assert(sysbench.opt.rows == 17 and sysbench.opt.threads == 4) end";
        let run = Run::of(script, &server).option("rows", OptionValue::Integer(17));
        assert_eq!(run.events(2, &server).well().events, 8);
    }
}

#[test]
fn a_thread_may_have_a_loop_of_its_own() {
    let script = r###"
        local ffi = require("ffi")
        ffi.cdef "bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);"
        function event() error("is not called") end
        function thread_run(id)
           local con = sysbench.sql.driver():connect()
           for _ = 1, 5 do
              assert(ffi.C.sb_more_events(id))
              ffi.C.sb_event_start(id)
              con:query("SELECT 1")
              ffi.C.sb_event_stop(id)
           end
        end"###;
    for server in servers() {
        let outcome = Run::of(script, &server).events(10, &server);
        assert_eq!(outcome.failure, None, "{server}");
        assert_eq!((outcome.counts.events, outcome.counts.reads, outcome.aborted), (20, 20, 4), "{server}");
    }
}
