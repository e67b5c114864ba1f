//! Scripts of users, run by both.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;

use crate::mask;
use crate::reference::{Said, assert_alike, recorded};
use crate::server::databases;

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
