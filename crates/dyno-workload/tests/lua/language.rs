//! What a script finds and may do, without any server. Scripts say by `assert` what must hold.

use std::fs;

use dyno_workload::sysbench::lua::{
    DeclaredOption, Invocation, LuaScript, OptionKind, OptionValue, ScriptSettings,
};

use crate::run::{invocation, nowhere, read, wrong};

/// Runs the text as the body of a command.
#[track_caller]
fn holds(body: &str) {
    let mut script = read(&format!("function prepare() {body}\nend"));
    script.configure(ScriptSettings { seed: 3, ..ScriptSettings::default() }).unwrap();
    assert_eq!(script.run_command("prepare", 1, &nowhere), Ok(true));
}

#[test]
fn the_names_that_scripts_know_are_there() {
    holds(
        r###"
        assert(sysbench.tid == 0 and thread_id == 0)
        assert(sysbench.version == "1.0.20" and sysbench.version_string == "sysbench 1.0.20")
        assert(sysbench.cmdline.command == "run" and sysbench.cmdline.script_path == "test.lua")
        local sql = sysbench.sql
        assert(sql.type.INT == 3 and sql.type.CHAR == 11 and sql.type.VARCHAR == 12 and sql.type.TIMESTAMP == 10)
        assert(sql.error.NONE == 0 and sql.error.IGNORABLE == 1 and sql.error.FATAL == 2)
        assert(sysbench.error.NONE == 0 and sysbench.error.RESTART_EVENT == 1)
        assert(sysbench.cmdline.ARG_BOOL == 1 and sysbench.cmdline.ARG_LIST == 6)
        assert(sysbench.cmdline.PARALLEL_COMMAND == true)
        for _, name in ipairs { "connect", "disconnect", "query", "prepare", "bind_param", "execute", "close",
            "store_results", "free_results", "bulk_insert_init", "bulk_insert_next", "bulk_insert_done" } do
           assert(type(_G["db_" .. name]) == "function", name)
        end
        assert(DB_ERROR_NONE == 0 and DB_ERROR_RESTART_TRANSACTION == 1 and DB_ERROR_FAILED == 2)
        assert(type(io.open) == "function" and type(os.time()) == "number" and bit.band(6, 3) == 2 and jit.version)
        assert(tostring(sysbench.sql.driver()) == "<sql_driver>" and sysbench.sql.driver():name() == "pgsql")
        assert(not pcall(sysbench.sql.driver, "nosuch"))
        "###,
    );
}

#[test]
fn random_numbers_keep_to_their_bounds() {
    holds(
        r###"
        local rand = sysbench.rand
        for _ = 1, 500 do
           for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian" } do
              local drawn = rand[name](10, 20)
              assert(drawn >= 10 and drawn <= 20 and drawn % 1 == 0, name .. drawn)
           end
           local fraction = rand.uniform_double()
           assert(fraction >= 0 and fraction < 1)
           assert(sb_rand(3, 3) == 3 and sb_rand_uniform(1, 2) <= 2)
           local unique = sb_rand_uniq(5, 9)
           assert(unique >= 5 and unique <= 9)
        end
        assert(rand.unique() ~= rand.unique())
        local seen = {}
        for _ = 1, 20000 do
           local unique = sb_rand_uniq(101, 20100)
           assert(not seen[unique] and unique >= 101 and unique <= 20100, unique)
           seen[unique] = true
        end
        assert(rand.string("a##-@@"):match("^a%d%d%-%l%l$") and sb_rand_str("#"):match("^%d$"))
        assert(type(rand.uniform_uint64()) == "cdata" and tostring(rand.uniform_uint64()):match("^%d+ULL$"))
        local ok, why = pcall(rand.uniform, "5", 7)
        assert(not ok and why:find("cannot convert 'string'"), why)
        assert(not pcall(rand.uniform, 1) and not pcall(rand.string, 5) and not pcall(rand.string))
        "###,
    );
}

#[test]
fn a_stream_follows_from_seed_and_thread_alone() {
    let draws = |seed, body: &str| {
        let mut script = read(&format!(
            "function prepare() {body} local t = {{}} for i = 1, 8 do t[i] = sysbench.rand.uniform(1, 1e9) end \
             error(table.concat(t, ','), 0) end"
        ));
        script.configure(ScriptSettings { seed, ..ScriptSettings::default() }).unwrap();
        script.run_command("prepare", 1, &nowhere).unwrap_err().message
    };
    assert_eq!(draws(1, ""), draws(1, ""));
    assert_ne!(draws(1, ""), draws(2, ""));
}

#[test]
fn each_thread_has_globals_of_its_own() {
    let script = read(
        r###"
        sysbench.cmdline.commands = { go = { function()
           assert(count == nil, "another thread's global is seen")
           count = sysbench.tid
           local module = require "string"
           assert(module == string and _G.count == sysbench.tid)
           assert(loadstring("return count")() == sysbench.tid)
           assert(getfenv(0).count == sysbench.tid)
        end, sysbench.cmdline.PARALLEL_COMMAND } }
        "###,
    );
    assert!(script.has_command("go") && script.is_parallel("go") && !script.has_command("stop"));
    assert_eq!(script.run_command("go", 5, &nowhere), Ok(true));
    assert_eq!(script.run_command("nosuch", 5, &nowhere), Ok(false));
}

#[test]
fn modules_are_found_beside_the_script_and_by_the_users_path() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write("beside.lua", "#!/usr/bin/env sysbench\nshared_name = ... return { got = shared_name }");
    write("deep/below.lua", "plain = 7");
    write("old.lua", "module('old', package.seeall) function get() return type(print) end");
    write("broken.lua", "x = = 1");
    write("elsewhere/far.lua", "return 'far'");
    let path = write(
        "main.lua",
        r###"#!/usr/bin/env sysbench
        local beside = require("beside")
        assert(beside.got == "beside" and shared_name == "beside" and require("beside") == beside)
        assert(require "deep.below" == true and plain == 7)
        require "old"
        assert(old.get() == "function" and old._NAME == "old")
        assert(require("far") == "far")
        package.preload.made = function() return { 5 } end
        assert(require("made")[1] == 5)
        local ok, why = pcall(require, "broken")
        assert(not ok and why:find("broken.lua:1: unexpected symbol", 1, true), why)
        ok, why = pcall(require, "nosuch")
        assert(not ok and why:find("module 'nosuch' not found", 1, true) and why:find("nosuch.lua", 1, true), why)
        assert(not pcall(loadfile("broken.lua") or error))
        "###,
    );
    let elsewhere = format!("{}/elsewhere/?.lua;;", directory.path().display());
    let invocation = Invocation { lua_path: Some(elsewhere), ..invocation("run") };
    LuaScript::load(&path, &invocation).unwrap();
}

#[test]
fn options_are_declared_and_given() {
    let mut script = read(
        r###"
        assert(sysbench.opt == nil)
        sysbench.cmdline.options = {
           rows = { "Rows", 5 }, on = { "Switch", true }, ["da-sh"] = { "Dash", 2.5 }, text = { "Text" },
           names = { "Names", { "x", "y" } }, listed = { "Listed", "a,b", sysbench.cmdline.ARG_LIST },
           size = { "Size", "3k", sysbench.cmdline.ARG_SIZE }, number = { "Number", nil, sysbench.cmdline.ARG_INT },
        }
        function prepare()
           local opt = sysbench.opt
           assert(opt.rows == 9 and opt.on == true and opt.da_sh == 2.5 and opt.text == "" and opt.number == 0)
           assert(table.concat(opt.names, "+") == "x+y" and table.concat(opt.listed, "+") == "a+b")
           assert(opt.size == 3072 and opt.nosuch == nil)
        end
        "###,
    );
    let syntax: Vec<_> = script.options_declared().iter().map(DeclaredOption::syntax).collect();
    let expected = [
        "da-sh=N",
        "listed=[LIST,...]",
        "names=[LIST,...]",
        "number=N",
        "on[=on|off]",
        "rows=N",
        "size=SIZE",
        "text=STRING",
    ];
    assert_eq!(syntax, expected);
    let values = |option: &DeclaredOption| {
        let given = (option.name == "rows").then(|| option.kind.read(Some("9")));
        (option.key(), given.unwrap_or_else(|| option.value_unset()))
    };
    let options: Vec<(String, OptionValue)> = script.options_declared().iter().map(values).collect();
    assert_eq!(script.options_declared()[3].kind, OptionKind::Integer);
    script.configure(ScriptSettings { options, ..ScriptSettings::default() }).unwrap();
    assert_eq!(script.run_command("prepare", 1, &nowhere), Ok(true));
}

#[test]
fn errors_name_file_line_and_function() {
    let error = wrong(b"x = 1\ny = = 2");
    assert_eq!(error.hook, None);
    assert_eq!(error.to_string(), "test.lua:2: unexpected symbol near '='");
    let error = wrong(b"\n\nerror('top')");
    assert_eq!(error.to_string(), "test.lua:3: top");
    // A chunk that only looks whole within a function.
    assert_eq!(wrong(b"end function x()").to_string(), "test.lua:1: '<eof>' expected near 'end'");
    let script = read("\nfunction prepare()\n  local t = nil\n  return t.x\nend");
    let error = script.run_command("prepare", 1, &nowhere).unwrap_err();
    assert_eq!(error.hook.as_deref(), Some("prepare"));
    assert_eq!(
        error.to_string(),
        "`prepare' function failed: test.lua:4: attempt to index local 't' (a nil value)"
    );
}

#[test]
fn whatever_is_raised_is_told_in_words() {
    let raised = |body: &str| {
        let script = read(&format!("function prepare() {body} end"));
        script.run_command("prepare", 1, &nowhere).unwrap_err().message
    };
    assert_eq!(raised("error()"), "an error without a message (error() was called with nil)");
    assert_eq!(raised("error({})"), "an error that is no text but a table");
    assert_eq!(raised("error({ message = 'in a table' })"), "in a table");
    assert_eq!(raised("error(setmetatable({}, { __tostring = function() return 'shown' end }))"), "shown");
    assert_eq!(
        raised("error(setmetatable({}, { __tostring = error }))"),
        "an error that is no text but a table"
    );
    assert_eq!(raised("error(print)"), "an error that is no text but a function");
    assert!(raised("local function f() return 1 + f() end f()").contains("stack overflow"));
    assert!(raised("coroutine.yield(1)").contains("yields outside of a coroutine"));
    assert!(raised("string.rep('x', 2^31 - 1)").contains("not enough memory"));
    assert!(raised("string.rep('x', 100)() ").contains("attempt to call"));
    assert!(raised("con = sysbench.sql.driver().nosuch()").contains("nosuch"));
}

#[test]
fn the_foreign_function_interface_bears_repeated_declarations() {
    let script = read(
        r###"
        local ffi = require("ffi")
        ffi.cdef[[ int getpid(void); struct point { int x, y; }; void sb_counter_inc(int, sb_counter_type); ]]
        sysbench.cmdline.commands = { go = { function()
           assert(ffi.C.getpid() > 0 and ffi.new("struct point", 1, 2).y == 2)
           assert(ffi.C.SB_CNT_TRX == 3 and ffi.C.SB_CNT_ERROR == 4 and ffi.C.SB_CNT_RECONNECT == 5)
        end, sysbench.cmdline.PARALLEL_COMMAND } }
        "###,
    );
    assert_eq!(script.run_command("go", 3, &nowhere), Ok(true));
}

#[test]
fn a_query_needs_a_server() {
    let error = wrong(b"sysbench.sql.driver():connect()");
    assert_eq!(error.message, "test.lua:1: connection creation failed");
}

#[test]
fn a_script_may_look_at_its_own_stack() {
    holds(
        r###"
        local ok, text = xpcall(function() error("deep") end, debug.traceback)
        assert(not ok and text:find("deep") and text:find("stack traceback:"), text)
        local info = debug.getinfo(1)
        assert(info.short_src == "test.lua" and info.currentline == 4, info.currentline)
        "###,
    );
}

#[test]
fn the_driver_is_known_while_the_script_is_read() {
    for (mysql, name) in [(false, "pgsql"), (true, "mysql")] {
        let text =
            format!("assert(sysbench.sql.driver():name() == '{name}' and sysbench.sql.driver('{name}'))");
        let invocation = Invocation { mysql, ..invocation("run") };
        LuaScript::from_text("test.lua", text.into_bytes(), &invocation).unwrap();
    }
}

#[test]
fn functions_of_sysbench_that_are_called_through_c_are_there() {
    holds(
        r###"
        local ffi = require("ffi")
        ffi.cdef "uint32_t sb_rand_uniform(uint32_t, uint32_t); void sb_rand_str(const char *, char *);"
        assert(ffi.C.sb_rand_uniform(5, 5) == 5 and ffi.C.sb_rand_pareto(3, 3) == 3)
        assert(type(ffi.C.sb_rand_uniform_uint64()) == "cdata" and ffi.C.sb_rand_uniform_double() < 1)
        local buffer = ffi.new("char[?]", 6)
        ffi.C.sb_rand_str("##-@@", buffer)
        assert(ffi.string(buffer):match("^%d%d%-%l%l$"))
        local histogram = ffi.C.sb_histogram_new(10, 1, 100)
        ffi.C.sb_histogram_update(histogram, 3)
        ffi.C.sb_histogram_delete(histogram)
        ffi.cdef "int nothing_like_it(void);"
        local found, why = pcall(function() return ffi.C.nothing_like_it() end)
        assert(not found and why:find("^test.lua:1") and why:find("nothing_like_it"), why)
        "###,
    );
}

#[test]
fn a_function_of_sysbench_that_is_not_there_ends_the_script_even_within_pcall() {
    let uses = [
        ("db_bind_result", "()"),
        ("sb_timer_init", "()"),
        ("log_text", "(4, 'x')"),
        ("sb_globals", ".threads"),
        ("sb_of_another_version", "()"),
    ];
    for (name, used) in uses {
        let body = format!("\npcall(function() return require('ffi').C.{name}{used} or 1 end)\nos.exit(9)");
        let expected = format!("test.lua:2: dyno has no C function {name} (see docs/lua.md)");
        assert_eq!(wrong(body.as_bytes()).message, expected);
    }
}

#[test]
fn percentiles_of_a_histogram_are_had_through_c() {
    holds(
        r###"
        local C = require("ffi").C
        require("ffi").cdef "double sb_histogram_get_pct_cumulative(sb_histogram_t *, double);"
        local histogram = C.sb_histogram_new(100, 1, 1000)
        local function near(value, expected) assert(math.abs(value / expected - 1) < 1e-6, value) end
        for value = 1, 100 do C.sb_histogram_update(histogram, value) end
        near(C.sb_histogram_get_pct_intermediate(histogram, 95), 93.260334688322)
        near(C.sb_histogram_get_pct_intermediate(histogram, 95), 1)
        near(C.sb_histogram_get_pct_cumulative(histogram, 95), 93.260334688322)
        for value = 101, 200 do C.sb_histogram_update(histogram, value) end
        near(C.sb_histogram_get_pct_checkpoint(histogram, 95), 187.38174228604)
        near(C.sb_histogram_get_pct_cumulative(histogram, 50), 1)
        C.sb_histogram_update(histogram, 5)
        near(C.sb_histogram_get_pct_cumulative(histogram, 50), 4.9770235643321)
        near(C.sb_histogram_get_pct_intermediate(histogram, 50), 1)
        "###,
    );
}

#[test]
fn malformed_options_are_refused() {
    for (options, expected) in [
        ("'x'", "wrong type for sysbench.cmdline.options: string"),
        ("{ foo = 3 }", "wrong table structure in sysbench.cmdline.options, at 'foo'"),
        ("{ 'foo' }", "wrong table structure in sysbench.cmdline.options, at '1'"),
        ("{ {} }", "wrong table structure in sysbench.cmdline.options, at '1'"),
        ("{ bar = {} }", "nil description for option bar"),
    ] {
        let error = wrong(format!("sysbench.cmdline.options = {options}").as_bytes());
        assert_eq!(error.message, expected);
        assert!(error.to_string().starts_with("`sysbench.cmdline.read_cmdline_options' function failed: "));
    }
}
