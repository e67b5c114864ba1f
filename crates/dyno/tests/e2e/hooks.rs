//! `--before` and `--after`: what the user has done between loads, told and kept apart from them.

use dyno_test_servers::{MysqlProduct, Postgres, Setup};
use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, TIMEOUT, wait_until};
use crate::mysql;
use crate::processes::lives;
use crate::server::{database, shared, url, value};

const BRIEF: [&str; 11] = [
    "run",
    "events/join",
    "--json",
    "--warm-up",
    "0",
    "--rows",
    "500",
    "--customers",
    "50",
    "--clients",
    "2",
];

fn text<'a>(hook: &'a Value, key: &str) -> &'a str {
    hook[key].as_str().unwrap_or_else(|| panic!("{key}: {hook}"))
}

#[test]
fn hooks_run_in_their_order_and_know_where_they_are() {
    let Some(server) = shared() else { return };
    let target = database(&server, "hooked");
    let home = Home::new();
    let password = "s3cret-in-a-hook";
    let with_password = target.replace("postgres@", &format!("postgres:{password}@"));
    let say = "echo $DYNO_TARGET/$DYNO_SERIES/$DYNO_STAGE; echo $DYNO_URL $DYNO_HOST $DYNO_PORT >&2";
    let hooks = [
        ["--before", "run", "sql:create table hooked (t int)"],
        ["--before", "join", say],
        ["--before", "pg:hold", say],
        ["--after", "hold", &format!("set -x; PGPASSWORD={password} true")],
        ["--after", "run", "sql:insert into hooked values (1)"],
    ];
    let load = ["--step", "200ms", "--hold", "300ms", "--target", &with_password];
    let ended = home.dyno(&[&BRIEF[..], &load, hooks.as_flattened()].concat()).expect(0);
    assert!(!ended.out.contains(password), "no password in the report");
    let report = ended.report();
    let told = report.document()["hooks"].as_array().unwrap();
    let about: Vec<String> = told
        .iter()
        .map(|hook| format!("{} {} {}", text(hook, "when"), text(hook, "about"), text(hook, "target")))
        .collect();
    assert_eq!(about, ["before run pg", "before join pg", "before hold pg", "after hold pg", "after run pg"]);
    assert!(told.iter().all(|hook| hook["succeeded"] == true), "{told:#?}");
    assert!(text(&told[1], "said").contains("pg/join/\n") || text(&told[1], "said").contains("pg/join/"));
    assert!(text(&told[2], "said").contains("pg/join/hold"), "{}", told[2]);
    assert!(text(&told[2], "said").contains(&format!("127.0.0.1 {}", server.address.port())), "{}", told[2]);
    assert_eq!(value(&server, "hooked", "select count(*) from hooked"), "1");
    assert_eq!(report.outcome(), "complete");
}

#[test]
fn a_server_that_a_hook_restarts_is_waited_for() {
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    let home = Home::new();
    // What a restart does to sessions, without one who could do it here: all of them have ended when it is over.
    let target = url(&server, "postgres");
    let ending = "with others as materialized (select pid from pg_stat_activity where pid <> pg_backend_pid() \
                  and backend_type = 'client backend') select pid from others where pg_terminate_backend(pid)";
    let psql = dyno_test_servers::postgres_binaries().unwrap().join("psql");
    let psql = format!("{} -X -q -A -t -h $DYNO_HOST -p $DYNO_PORT -U postgres", psql.display());
    let gone = "for pid in $ended; do while [ -e /proc/$pid ]; do sleep 0.05; done; done; echo $ended";
    let command = format!("ended=$({psql} -c \"{ending}\"); {gone}");
    let hooks = ["--before", "hold", &command];
    let load = ["--clients", "2", "--warm-up", "200ms", "--transactions", "20", "--target", &target];
    let data = ["run", "events/join", "--json", "--rows", "500", "--customers", "50"];
    let report = home.dyno(&[&data[..], &load, &hooks].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    // The two clients' of the warm-up at least.
    let ended = text(&report.document()["hooks"][0], "said").split_whitespace().count();
    assert!(ended >= 2, "{ended} sessions");
    let totals = &report.stage()["totals"];
    assert_eq!(totals["done_with_drain"], 40);
    assert_eq!(totals["reconnects"], 0, "connections were opened anew before the stage");
}

/// What a hook changes is meant: the report says what the load ran on, and where that was changed between stages.
#[test]
fn settings_that_a_hook_changes_are_what_the_load_ran_on() {
    let Some(server) = Postgres::start(&Setup::default().with("fsync=on")) else { return };
    let target = url(&server, "postgres");
    let home = Home::new();
    let change = ["sql:alter system set fsync = off", "sql:select pg_reload_conf()"];
    let run = |stage: &str| {
        server.psql("alter system reset fsync");
        server.psql("select pg_reload_conf()");
        wait_until("it holds", || value(&server, "postgres", "show fsync") == "on");
        let load = ["--clients", "2", "--warm-up", "200ms", "--transactions", "20", "--target", &target];
        let data = ["run", "events/ingest", "--json", "--rows", "500", "--customers", "50"];
        let hooks = ["--before", stage, change[0], "--before", stage, change[1]];
        home.dyno(&[&data[..], &load, &hooks].concat()).expect(0).report()
    };
    let before = run("run");
    let findings = before.findings();
    assert!(findings.contains(&"durability-off") && !findings.contains(&"restarted"), "{findings:?}");
    assert_eq!(before.document()["server_changes"], Value::Null);
    let between = run("hold");
    let findings = between.document()["findings"].as_array().unwrap();
    let told = findings.iter().find(|finding| finding["code"] == "restarted").unwrap();
    assert_eq!(told["severity"], "note", "{told}");
    assert!(text(told, "evidence").contains("a hook between stages changed fsync on → off"), "{told}");
    assert!(!between.findings().contains(&"durable"), "{:?}", between.findings());
}

#[test]
fn a_hook_that_fails_ends_the_run_with_its_words() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "failing_hook");
    let load = ["--step", "200ms", "--hold", "200ms", "--target", &target];
    let run =
        |stage: &str, action: &str| home.dyno(&[&BRIEF[..], &load, &["--before", stage, action]].concat());
    let ended = run("hold", "echo going; echo no such database server >&2; exit 7").expect(2);
    ended.says(&["hook failed on pg", "exit status 7", "no such database server"]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    let hook = &report.document()["hooks"][0];
    assert_eq!((&hook["succeeded"], &hook["about"]), (&false.into(), &"hold".into()));
    assert!(report.stages().iter().all(|stage| stage["kind"] == "ladder"), "the hold did not begin");
    let alter = run("run", "sql:alter role no_such_role password 's3cret'").expect(1);
    alter.says(&["hook failed", "no_such_role", "42704"]);
    assert!(!alter.err.contains("s3cret") && !alter.out.contains("s3cret"), "{}", alter.err);
    run("run", "sql:drop table no_such_table").expect(1).says(&["hook failed", "no_such_table", "42P01"]);
}

#[test]
fn an_interrupt_ends_a_hook() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "interrupted_hook");
    let file = home.path("pid");
    let sleep = format!("echo $$ > {}; sleep 1000", file.display());
    let load = ["--step", "200ms", "--hold", "200ms", "--target", &target, "--before", "hold", &sleep];
    let running = home.start(&[&BRIEF[..], &load].concat());
    let begun = std::time::Instant::now();
    let pid: u32 = loop {
        let written = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok());
        if let Some(pid) = written {
            break pid;
        }
        assert!(begun.elapsed() < TIMEOUT, "the hook did not begin");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    running.signal(Signal::INT);
    let ended = running.end().expect(2);
    assert_eq!(ended.report().reason(), "interrupted");
    assert!(!lives(pid), "the command was ended");
}

/// Of several statements each is done, and the first that fails ends them.
#[test]
fn sql_may_be_several_statements_on_either_protocol() {
    let several = "sql:create table hooked (t int); insert into hooked values (1), (2); select t from hooked";
    let failing = "sql:insert into hooked values (3); insert into no_such_table values (4)";
    let each = |target: &str, name: &str, there: &dyn Fn(&str) -> String| {
        let home = Home::new();
        let load = ["--duration", "300ms", "--target", target];
        let run = |action: &str| home.dyno(&[&BRIEF[..], &load, &["--before", "join", action]].concat());
        let report = run(several).expect(0).report();
        let hook = &report.document()["hooks"][0];
        assert_eq!((&hook["target"], &hook["succeeded"]), (&name.into(), &true.into()), "{hook}");
        assert_eq!(there("select sum(t) from hooked").trim(), "3");
        run(failing).expect(1).says(&["hook failed", "no_such_table"]);
    };
    if let Some(server) = shared() {
        let target = database(&server, "hooked_statements");
        each(&target, "pg", &|sql| value(&server, "hooked_statements", sql));
    }
    if let Some(server) = mysql::shared(MysqlProduct::Mysql) {
        let target = mysql::database(&server, "hooked");
        each(&target, "my", &|sql| server.sql(&sql.replace("hooked", "e2e_hooked.hooked")));
    }
}
