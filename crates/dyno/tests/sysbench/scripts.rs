//! Scripts of users, run by both.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;

use crate::mask;
use crate::program::{Program, Ran};
use crate::reference::{Said, assert_alike, recorded};
use crate::server::{databases, postgres_database};

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recorded("scripts"));

const SCRIPT: &str = r#"
sysbench.cmdline.options = {
   rows = {"Rows", 20},
   loud = {"Say when something begins", false},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE things (id INTEGER PRIMARY KEY, name VARCHAR(20), seen INTEGER NOT NULL DEFAULT 0)")
   con:bulk_insert_init("INSERT INTO things (id, name) VALUES")
   for id = 1, sysbench.opt.rows do
      con:bulk_insert_next(string.format("(%d, 'thing %d')", id, id))
   end
   con:bulk_insert_done()
   print("made " .. sysbench.opt.rows)
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE things")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   by_id = con:prepare("SELECT name FROM things WHERE id = ?")
   id = by_id:bind_create(sysbench.sql.type.INT)
   by_id:bind_param(id)
   if sysbench.opt.loud then print("thread " .. sysbench.tid) end
end

function event()
   id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
   by_id:execute():free()
   con:query("UPDATE things SET seen = seen + 1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.rows))
   local count = con:query_row("SELECT count(*) FROM things")
   assert(tonumber(count) == sysbench.opt.rows, "rows are missing")
end

function thread_done()
   con:disconnect()
end
"#;

const BROKEN: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                      function event()\n  con:query('SELECT nothing_like_it')\nend\n";
const WRONG: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                     function event()\n  local t = nil\n  return t.x\nend\n";
const FEW: &str = "function thread_init() con = sysbench.sql.driver():connect(); n = 0 end\n\
                   function event()\n  con:query('SELECT 1')\n  n = n + 1\n  if n == 3 then return true end\nend\n";

#[test]
fn commands_and_runs_of_a_script() {
    let databases = databases("scripts");
    assert_alike(&RECORDED, "commands and runs", &databases, |program, database| {
        let run = |words: &str| {
            Said::new(&program.run(&[("things.lua", SCRIPT)], &database.with(words)), mask::measured)
        };
        [
            "./things.lua --rows=30 prepare",
            "./things.lua --rows=30 --events=12 --time=0 --threads=3 run",
            "./things.lua --rows=30 --events=12 --time=0 --db-ps-mode=disable run",
            "./things.lua --rows=30 --loud --events=2 --time=0 run",
            "./things.lua --rows=31 --events=2 --time=0 run",
            "./things.lua prepare",
            "./things.lua cleanup",
            "./things.lua cleanup",
        ]
        .map(|words| (words.to_owned(), run(words)))
        .to_vec()
    });
}

/// As scripts for sysbench 0.5 are written: options are globals, and the connection is one that nobody names.
const OLD: &str = r#"
function each_table(doing)
   for table = 1, oltp_tables_count or 1 do doing("old" .. table) end
end

-- Options that the script does not declare are text.
function rows() return tonumber(oltp_table_size) end

function prepare()
   db_connect()
   each_table(function(name)
      db_query("CREATE TABLE " .. name .. " (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c VARCHAR(20))")
      db_bulk_insert_init("INSERT INTO " .. name .. " VALUES")
      for id = 1, rows() do
         db_bulk_insert_next("(" .. id .. ", " .. id .. ", '" .. sb_rand_str("@@") .. "')")
      end
      db_bulk_insert_done()
      print(name, oltp_table_size, db_driver, test, num_threads, mysql_table_engine, oltp_read_only)
   end)
end

function cleanup()
   each_table(function(name) db_query("DROP TABLE " .. name) end)
end

function thread_init(thread_id)
   db_connect()
   begins = db_driver == "mysql" and "START TRANSACTION" or "BEGIN"
end

function event(thread_id)
   local name = "old" .. sb_rand_uniform(1, tonumber(oltp_tables_count))
   if not oltp_skip_trx then db_query(begins) end
   db_query("SELECT c FROM " .. name .. " WHERE id = " .. sb_rand(1, rows()))
   if oltp_read_only ~= "on" then db_query("UPDATE " .. name .. " SET k = k + 1 WHERE id = 1") end
   if not oltp_skip_trx then db_query("COMMIT") end
end
"#;

#[test]
fn a_script_in_the_style_of_the_version_before_finds_its_options() {
    let databases = databases("old_style");
    let options = "--test=./old.lua --oltp-tables-count=4 --oltp-table-size=50";
    assert_alike(&RECORDED, options, &databases, |program, database| {
        let did = |words: &str| {
            let ran = program.run(&[("old.lua", OLD)], &database.with(&format!("{options} {words}")));
            (words.to_owned(), Said::new(&ran, mask::measured))
        };
        let made = [did("--oltp-read-only=on --num-threads=1 prepare")];
        let rows = database.sql("select count(*), count(distinct k), min(k), max(k) from old4");
        let ran = [
            did("--max-requests=8 --max-time=0 --num-threads=2 run"),
            did("--max-requests=4 --max-time=0 --oltp-skip-trx=on --oltp-read-only=on run"),
            did("cleanup"),
        ];
        (made, rows, ran)
    });
}

const SEVERAL: &str = r#"
local driver = sysbench.sql.driver()
first = driver:connect()
first:query("SELECT 1")

function init()
   if sysbench.opt.threads > 1 then driver:connect():query("SELECT 2") end
end

function thread_init()
   second = driver:connect()
   second:query("SELECT 3")
end

function event()
   first:query("SELECT 4")
   second:query("SELECT 5")
   for _ = 1, 3 do
      local more = driver:connect()
      more:query("SELECT 6")
      more:disconnect()
   end
end

function thread_done() first:query("SELECT 7") end
function done() second = driver:connect(); second:query("SELECT 8") end
"#;
const UNCOUNTED: &str = "function thread_init() sysbench.sql.driver() end\nfunction event() end\n";
const NO_DATABASE: &str = "function event() local sum = 0 for i = 1, 1000 do sum = sum + i end end\n";
const HOOK: &str = "function event() end\nsysbench.hooks.report_cumulative = function(stat)\n   \
                    print(stat.threads_running, stat.events, stat.errors)\n   stat.time_total, stat.events = 3, 0\n   \
                    stat.latency_pct = 0.5\n   sysbench.report_json(stat)\nend\n";
const PIECES: &str = r#"
sysbench.cmdline.options = {
   flag = {"A flag", nil, sysbench.cmdline.ARG_BOOL}, ["two-words"] = {"A list", {"a", "b"}}, size = {"A number", 1.5},
}
function help()
   sysbench.cmdline.print_test_options()
   local seen = sysbench.histogram.new(10, 1, 100)
   for _, value in ipairs {0.1, 1, 2, 2, 2, 3, 50, 99, 200} do seen:update(value) end
   seen:print()
end
function thread_init()
   local statement = sysbench.sql.driver():connect():prepare("SELECT 1")
   print(sysbench.opt.flag, statement:bind_param())
   statement:execute()
end
function event() end
"#;

#[test]
fn what_is_counted_of_a_script_and_what_it_finds() {
    let files = [
        ("several.lua", SEVERAL),
        ("uncounted.lua", UNCOUNTED),
        ("none.lua", NO_DATABASE),
        ("hook.lua", HOOK),
        ("pieces.lua", PIECES),
    ];
    let databases = databases("pieces");
    // Nothing listens on port 1.
    let nowhere = "--mysql-port=1 --pgsql-port=1";
    for words in [
        "./several.lua --events=6 --time=0 --threads=2 run",
        "./uncounted.lua --events=4 --time=0 run",
        &format!("./none.lua --events=4 --time=0 {nowhere} run"),
        &format!("./hook.lua --events=4 --time=0 {nowhere} run"),
        &format!("./uncounted.lua --events=4 --time=0 {nowhere} run"),
        &format!("./several.lua --events=4 --time=0 {nowhere} run"),
        "./pieces.lua help",
        "./pieces.lua --events=1 --time=0 run",
        "./pieces.lua --events=1 --time=0 --flag=off run",
    ] {
        assert_alike(&RECORDED, words, &databases, |program, database| {
            Said::new(&program.run(&files, &database.with(words)), mask::measured)
        });
    }
}

/// sysbench itself only reads such a script, whatever the command.
#[test]
fn a_script_may_stand_on_standard_input() {
    let Some(database) = postgres_database("stdin") else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = |script: &str, words: &str| {
        std::fs::write(directory.path().join("script"), script).unwrap();
        let file = std::fs::File::open(directory.path().join("script")).unwrap();
        let mut command = Program::Dyno.command(directory.path(), &database.with(words));
        Ran::new(&command.stdin(file).output().unwrap())
    };
    let ran = run(FEW, "- --time=0 --events=5 run").well("a run");
    assert!(ran.stdout.contains("        read:                            3\n"), "{}", ran.stdout);
    for words in ["", "-"] {
        let ran = run("print('as it is read')", words).well("no command");
        assert!(ran.stdout.ends_with("\n\nas it is read\n"), "{}", ran.stdout);
    }
    let ran = run("error('boom')", "/dev/stdin run");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.ends_with("FATAL: stdin:1: boom\n"), "{}", ran.stdout);
}

#[test]
fn errors_of_a_script_are_told_alike() {
    let files = [("broken.lua", BROKEN), ("wrong.lua", WRONG), ("few.lua", FEW)];
    let databases = databases("script_errors");
    for words in [
        "./broken.lua --time=0 --events=5 run",
        "./wrong.lua --time=0 --events=5 run",
        "./few.lua --time=9 --threads=2 run",
    ] {
        assert_alike(&RECORDED, words, &databases, |program, database| {
            Said::new(&program.run(&files, &database.with(words)), mask::measured)
        });
    }
}

#[test]
fn the_script_that_comes_with_it_fills_a_table_for_each_thread() {
    let databases = databases("bulk");
    assert_alike(&RECORDED, "bulk_insert", &databases, |program, database| {
        let run = |words: &str| {
            let ran = program.run(&[], &database.with(words)).well(&format!("{program:?} {words}"));
            Said::new(&ran, |stdout| mask::kinds(&mask::own(stdout)))
        };
        let made = run("bulk_insert --threads=2 prepare");
        run("bulk_insert --threads=2 --events=1000 --time=0 run");
        let rows = database.sql("select (select count(*) from sbtest1) + (select count(*) from sbtest2)");
        (made, rows, run("bulk_insert --threads=2 cleanup"))
    });
}
