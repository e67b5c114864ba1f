//! Several loads at the same time on one target, and a load for each system.

use serde_json::Value;

use dyno_test_servers::MysqlProduct;

use crate::home::{Ended, Home, wait_until};
use crate::mysql;
use crate::report::Report;
use crate::server::{client, database, shared};
use crate::victim::{Pause, Victim};

const BIG: &str =
    "-- all accounts\nSELECT bid, count(*), sum(abalance) FROM pgbench_accounts GROUP BY bid;\n";

fn of_series<'r>(report: &'r Report, name: &str) -> Vec<&'r Value> {
    report.stages().iter().filter(|stage| stage["series"] == name).collect()
}

fn begin_and_end(stage: &Value) -> (f64, f64) {
    let begin = stage["start_s"].as_f64().unwrap();
    (begin, begin + stage["seconds"].as_f64().unwrap())
}

#[test]
fn two_streams_load_one_target_at_the_same_time() {
    let Some(server) = shared() else { return };
    let target = database(&server, "two_streams");
    let home = Home::new();
    std::fs::write(home.path("big.sql"), BIG).unwrap();
    let streams = ["--stream", "oltp=tpcb/tpcb-like,clients=1,2", "--stream", "report=./big.sql,clients=1"];
    let run = ["run", "--json", "--target", &target, "--scale", "1", "--warm-up", "300ms"];
    // Of the stream that has a course of its own.
    let length = ["--step", "500ms", "--hold", "500ms"];
    let report = home.dyno(&[&run[..], &streams, &length].concat()).expect(0).report();
    assert_eq!(report.outcome(), "complete");
    assert!(!report.document()["findings"].to_string().contains("unpaired"));
    // What oltp has acknowledged was found, though another stream read meanwhile.
    report.assert_checks_passed();
    let (oltp, big) = (of_series(&report, "oltp"), of_series(&report, "report"));
    let kinds = |stages: &[&Value]| stages.iter().map(|stage| stage["kind"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&oltp), ["warm-up", "ladder", "ladder", "hold"]);
    assert_eq!(kinds(&big), kinds(&oltp));
    for (one, other) in oltp.iter().zip(&big) {
        assert_eq!((&one["round"], &one["complete"]), (&other["round"], &Value::Bool(true)));
        assert_eq!(other["stream"], 1);
        // With one client throughout, it stands at the steps of oltp.
        let step = if one["kind"] == "warm-up" { &Value::Null } else { &one["id"] };
        assert_eq!((&other["accompanies"], &one["accompanies"]), (step, &Value::Null));
        let ((begin, end), (other_begin, other_end)) = (begin_and_end(one), begin_and_end(other));
        assert!(begin < other_end && other_begin < end, "at the same time: {one:#} {other:#}");
        // Nobody can say which of them the server worked for.
        assert_eq!((&one["costs"], &other["costs"]), (&Value::Null, &Value::Null));
        assert_eq!((&one["errors"], &other["errors"]), (&serde_json::json!({}), &serde_json::json!({})));
    }
    assert!(big.iter().any(|stage| stage["totals"]["done"].as_u64() > Some(0)), "{big:#?}");
    let timelines = report.document()["timelines"].as_array().unwrap();
    let lanes: Vec<(u64, bool)> = timelines
        .iter()
        .map(|lane| (lane["stream"].as_u64().unwrap_or(0), lane["metrics"].as_array().unwrap().is_empty()))
        .collect();
    assert_eq!(lanes, [(0, false), (1, true)]);
    let csv = home.dyno(&["report", "--csv"]).expect(0).out;
    assert!(csv.contains(",oltp,") && csv.contains(",report,"), "{csv}");
    // Not as a table, which cuts off what is too long for it.
    let list = home.dyno(&["runs", "--json"]).expect(0).out;
    assert!(list.contains("oltp") && list.contains("report"), "{list}");
    // The script is run as it was, also where its file is gone.
    std::fs::remove_file(home.path("big.sql")).unwrap();
    let again = home.dyno(&["run", "--json", "--rerun", "last", "--target", &target]);
    assert_eq!(of_series(&again.expect(0).report(), "report").len(), 4);
}

#[test]
fn streams_that_change_data_each_in_its_way_are_not_checked_and_that_is_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "two_writers");
    let home = Home::new();
    let run = |streams: [&str; 2]| {
        let [one, other] = streams;
        let run =
            ["run", "--json", "--target", &target, "--scale", "1", "--warm-up", "0", "--duration", "500ms"];
        home.dyno(&[&run[..], &["--stream", one, "--stream", other]].concat()).expect(0).report()
    };
    let same = run(["a=tpcb/tpcb-like,clients=1", "b=tpcb/tpcb-like,clients=2"]);
    same.assert_checks_passed();
    let others = run(["a=tpcb/tpcb-like,clients=1", "b=tpcb/simple-update,clients=1"]);
    let [check] = others.checks() else { panic!("{:#?}", others.checks()) };
    assert_eq!(check["passed"], Value::Null);
    assert!(check["detail"].as_str().unwrap().contains("several streams change the data"), "{check:#}");
}

#[test]
fn streams_of_one_workload_draw_their_ids_together() {
    let Some(server) = shared() else { return };
    let target = database(&server, "ids_of_streams");
    let home = Home::new();
    let words =
        ["run", "--json", "--target", &target, "--tables", "1", "--table-size", "100", "--auto-inc=off"];
    // Connections are opened anew between the two stages, and the ids go on.
    let times = ["--warm-up", "300ms", "--duration", "500ms", "--before", "hold", "sql:select 1"];
    let streams =
        ["--stream", "a=sysbench/oltp_insert,clients=1", "--stream", "b=sysbench/oltp_insert,clients=2"];
    let report = home.dyno(&[&words[..], &times, &streams].concat()).expect(0).report();
    assert_eq!(report.stages().len(), 4);
    for stage in report.stages() {
        let errors = (&stage["errors"], &stage["totals"]["failed"]);
        assert_eq!(errors, (&serde_json::json!({}), &0.into()), "{stage:#}");
    }
}

#[test]
fn a_script_that_fails_fails_by_its_own_error() {
    let Some(server) = shared() else { return };
    let target = database(&server, "script_alone");
    let home = Home::new();
    let run = |text: &str| {
        std::fs::write(home.path("q.sql"), text).unwrap();
        home.dyno(&[
            "run",
            "./q.sql",
            "--json",
            "--target",
            &target,
            "--warm-up",
            "0",
            "-T",
            "500ms",
            "-c",
            "1",
        ])
    };
    let report = run("\\set n random(1, 10)\nSELECT :n;").expect(0).report();
    assert_eq!(
        (report.stage()["workload"].as_str(), report.stage()["series"].as_str()),
        (Some("./q.sql"), Some("q"))
    );
    assert!(report.stage()["totals"]["done"].as_u64() > Some(0));
    let failed = run("SELECT * FROM no_such_table;");
    assert!(failed.err.contains("no_such_table"), "{}", failed.err);
    run("\\sett").expect(1).says(&["./q.sql is no script", "sett"]);
}

#[test]
fn a_variable_without_a_value_ends_a_script_and_is_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "undefined");
    let home = Home::new();
    let run = |sql: &str, more: &[&str]| {
        std::fs::write(home.path("q.sql"), sql).unwrap();
        let brief = ["--json", "--target", &target, "--warm-up", "0", "-T", "500ms"];
        home.dyno(&[&["run"][..], more, &brief].concat())
    };
    let (alone, one) = (["./q.sql", "-c", "1"], ["--stream", "q=./q.sql,clients=1"]);
    let typo = "\\set aid random(1, 10)\nSELECT :aid\n  + :aidd;";
    for stream in [&alone[..], &one] {
        run(typo, stream).expect(1).says(&["./q.sql:3: the variable :aidd", "did you mean :aid?"]);
    }
    run("SELECT :len + 1;", &alone).expect(1).says(&["./q.sql:1: the variable :len", "-D len=VALUE"]);
    let done = |ran: Ended| ran.expect(0).report().stage()["totals"]["done"].as_u64();
    assert!(done(run("SELECT :len + 1;", &[&alone[..], &["-D", "len=5"]].concat())) > Some(0));
    assert!(done(run("SELECT :len + 1;", &["--stream", "q=./q.sql,clients=1,define=len=5"])) > Some(0));
    assert!(done(run("SELECT :len + 1;", &[&one[..], &["-D", "len=5"]].concat())) > Some(0));
    let two = [&one[..], &["--stream", "other=./other.sql,clients=1", "-D", "len=5"]].concat();
    home.file("other.sql", "SELECT '{\"a\":true}'::json, to_char(now(), 'HH24:MI:SS');");
    for protocol in ["simple", "extended", "prepared"] {
        let ran = run("SELECT :len + 1;", &[&two[..], &["--protocol", protocol]].concat()).expect(0);
        let report = ran.report();
        assert!(report.stages().iter().all(|stage| stage["errors"].as_object().unwrap().is_empty()));
    }
    run("SELECT 1;", &two).expect(1).says(&["no stream uses the variable len"]);
    // Only the server knows the columns of `\gset`.
    for (behind, why) in [
        ("SELECT 7 AS total \\gset\nSELECT :totl;", "./q.sql:2: the variable totl has no value here"),
        ("SELECT 7 AS total \\gset\n\\set x :totl + 1\nSELECT :x;", "./q.sql:2: \\set: undefined variable"),
        ("\\if :scale > 1\n\\set x 1\n\\endif\nSELECT :x;", "./q.sql:4: the variable x has no value here"),
        ("BEGIN;\nSELECT 1;", "./q.sql: end of script reached without completing the last transaction"),
    ] {
        for protocol in ["simple", "prepared"] {
            let ran = run(behind, &[&alone[..], &["--protocol", protocol]].concat());
            ran.says(&[why]);
            let report = ran.report();
            let notices = report.document()["notices"].to_string();
            assert!(notices.contains(&why.replace('\\', "\\\\")), "{behind}: {notices}");
            assert_eq!(report.stage()["errors"]["workload"], 1, "{:#}", report.stage());
        }
    }
}

/// PostgreSQL refuses the execution too, and says there that the statement is not prepared, as it does behind a pooler.
#[test]
fn a_statement_that_cannot_be_prepared_ends_a_script_in_the_servers_own_words() {
    let Some(server) = shared() else { return };
    let target = database(&server, "not_prepared");
    let home = Home::new();
    for (sql, said) in [
        (
            "selec 1;",
            ":1: the server does not prepare the statement: ERROR: syntax error at or near \"selec\" (SQLSTATE 42601)",
        ),
        (
            "select 1;\n\nselect * from nowhere;",
            ":3: the server does not prepare the statement: ERROR: relation \"nowhere\" does not exist (SQLSTATE 42P01)",
        ),
        (
            "\\startpipeline\nselect 1;\nselect nothing;\n\\endpipeline",
            ":3: the server does not prepare the statement: ERROR: column \"nothing\" does not exist (SQLSTATE 42703)",
        ),
    ] {
        home.file("q.sql", sql);
        let run =
            ["run", "./q.sql", "--json", "--target", &target, "--warm-up", "0", "-T", "500ms", "-c", "2"];
        let ran = home.dyno(&run).expect(2);
        ran.says(&[&format!("a client cannot go on: ./q.sql{said}")]);
        assert!(!ran.err.contains("26000") && !ran.err.contains("pooler"), "{}", ran.err);
        let report = ran.report();
        let code = said.rsplit_once("SQLSTATE ").unwrap().1.trim_end_matches(')');
        assert_eq!(report.stage()["errors"], serde_json::json!({ code: 2 }), "{:#}", report.stage());
        assert_eq!(report.stage()["clients_aborted"], 2, "{:#}", report.stage());
    }
}

#[test]
fn names_in_quotes_are_sent_as_psql_sends_them() {
    let Some(server) = shared() else { return };
    let target = database(&server, "quoted_names");
    let home = Home::new();
    let run = |sql: &str, more: &[&str]| {
        home.file("q.sql", sql);
        let brief =
            ["run", "./q.sql", "--json", "--target", &target, "--warm-up", "0", "-T", "500ms", "-c", "1"];
        home.dyno(&[&brief[..], more].concat())
    };
    let text = "SELECT 1 / (:'who' = E'O\\x27Neil \\\\')::int, 1 / (date :'day' > '2020-01-01')::int AS :\"who\";\n\
                SELECT 'a b' AS pair \\gset\nSELECT 1 / (:'pair' = 'a b')::int;";
    let values = ["-D", "who=O'Neil \\", "-D", "day=2021-02-03"];
    for protocol in ["simple", "extended", "prepared"] {
        let report = run(text, &[&values[..], &["--protocol", protocol]].concat()).expect(0).report();
        assert_eq!(report.stage()["errors"], serde_json::json!({}), "{protocol}: {:#}", report.stage());
    }
    run(text, &values[..2]).expect(1).says(&["./q.sql:1: the variable :day has no value", "-D day=VALUE"]);
    let changes = "SELECT 'pg_class' AS t \\gset\nSELECT count(*) FROM :\"t\";";
    run(changes, &["--protocol", "simple"]).expect(0);
    run(changes, &[]).expect(1).says(&["./q.sql:2: :\"t\"", "--protocol simple"]);
}

#[test]
fn one_system_rises_while_the_other_is_held() {
    let (Some(postgres), Some(mysql)) = (shared(), mysql::shared(MysqlProduct::MariaDb)) else {
        return;
    };
    let pg = format!("pg={}", database(&postgres, "rises"));
    let my = format!("my={}", mysql::database(&mysql, "is_held"));
    let home = Home::new();
    let load = ["--ramp", "pg=1..3", "--to-the-end", "--step", "500ms", "--clients", "my=2", "--together"];
    let run = ["run", "events/join", "--json", "--warm-up", "0", "--rows", "2000", "--customers", "100"];
    let report =
        home.dyno(&[&run[..], &["--target", &pg, "--target", &my], &load].concat()).expect(0).report();
    let clients = |target: &str| -> Vec<u64> {
        let stages = report.stages().iter().filter(|stage| stage["target"] == target);
        stages.map(|stage| stage["clients"].as_u64().unwrap()).collect()
    };
    assert_eq!(
        (clients("pg"), clients("my")),
        (vec![1, 2, 3], vec![2, 2, 2]),
        "{} {:#?}",
        report.reason(),
        report.stages()
    );
    assert!(report.stages().iter().all(|stage| stage["complete"] == true), "{:#?}", report.stages());
}

#[test]
fn a_statement_that_outlasts_its_limit_is_cancelled_and_no_connection_is_lost() {
    let Some(server) = shared() else { return };
    let target = database(&server, "time_limit");
    let home = Home::new();
    std::fs::write(home.path("slow.sql"), "SELECT pg_sleep(600);").unwrap();
    std::fs::write(home.path("quick.sql"), "BEGIN;\nSELECT 1;\nEND;").unwrap();
    let run = ["run", "--json", "--target", &target, "--warm-up", "0", "--duration", "1s"];
    let streams =
        ["--stream", "slow=./slow.sql,clients=2,time-limit=200ms", "--stream", "quick=./quick.sql,clients=1"];
    let report = home.dyno(&[&run[..], &streams].concat()).expect(0).report();
    let [slow] = of_series(&report, "slow")[..] else { panic!("{:#?}", report.stages()) };
    assert!(slow["totals"]["cancelled"].as_u64() >= Some(2), "{slow:#}");
    assert_only_cancelled(slow);
    let [quick] = of_series(&report, "quick")[..] else { panic!("{:#?}", report.stages()) };
    assert_eq!((&quick["totals"]["cancelled"], &quick["errors"]), (&0.into(), &serde_json::json!({})));
    assert!(quick["totals"]["done"].as_u64() > Some(0));
    wait_until("no statement is left on the server", || {
        !client(&server, "psql", "postgres", &["-X", "-A", "-t", "-c", SLEEPING]).contains('t')
    });
}

#[test]
#[ignore = "slow: waits for what the server does not cancel"]
fn what_the_server_does_not_end_in_time_is_no_lost_connection() {
    let Some(server) = shared() else { return };
    let (target, home) = (database(&server, "stubborn"), Home::new());
    let stubborn = "create function stubborn() returns int language plpgsql as $$ \
         declare until timestamptz := clock_timestamp() + interval '25 s'; begin \
         while clock_timestamp() < until loop begin perform pg_sleep(1); exception when query_canceled then null; end; \
         end loop; return 1; end $$";
    let psql = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", stubborn];
    client(&server, "psql", "stubborn", &psql);
    std::fs::write(home.path("slow.sql"), "SELECT stubborn();").unwrap();
    let run =
        ["run", "./slow.sql", "--json", "--target", &target, "--warm-up", "0", "-c", "1", "-T", "200ms"];
    let ended = home.dyno(&run).expect(1);
    assert!(ended.err.contains("still under way at the end of the load"), "{}", ended.err);
    let report = ended.report();
    assert_eq!(report.stage()["errors"], serde_json::json!({ "not-ended": 1 }));
    let findings = report.document()["findings"].as_array().unwrap();
    let errors = findings.iter().find(|finding| finding["code"] == "errors").unwrap();
    assert_eq!(errors["severity"], "doubt", "{errors}");
    assert!(!errors["advice"].as_str().unwrap().contains("server's log"), "{errors}");
}

const SLEEPING: &str = "select count(*) > 0 from pg_stat_activity where query like '%pg_sleep(600)%' \
                        and state = 'active' and pid <> pg_backend_pid()";

/// Nothing of a stage failed or was lost, and it has no latency.
fn assert_only_cancelled(stage: &Value) {
    let totals = &stage["totals"];
    for count in ["done_with_drain", "failed_with_drain", "unknown_with_drain", "reconnects"] {
        assert_eq!(totals[count], 0, "{count}: {stage:#}");
    }
    assert_eq!((&stage["errors"], &stage["service"]), (&serde_json::json!({}), &Value::Null), "{stage:#}");
}

#[test]
fn what_outlasts_its_stage_is_cancelled_on_postgresql() {
    let Some(server) = shared() else { return };
    let target = database(&server, "outlasts");
    let home = Home::new();
    std::fs::write(home.path("slow.sql"), "SELECT pg_sleep(600);").unwrap();
    let run =
        ["run", "./slow.sql", "--json", "--target", &target, "--warm-up", "0", "-c", "2", "-T", "200ms"];
    let ended = home.dyno(&run).expect(1);
    assert!(ended.err.contains("were still under way at the end of the load"), "{}", ended.err);
    let report = ended.report();
    assert_eq!(report.stage()["totals"]["cancelled"], 2);
    assert_only_cancelled(report.stage());
    // With a limit, it is the limit that is told.
    let ended = home.dyno(&[&run[..], &["--time-limit", "200ms"]].concat()).expect(1);
    assert!(ended.err.contains("longer than --time-limit 200ms"), "{}", ended.err);
    let findings = ended.report().document()["findings"].to_string();
    assert!(findings.contains("cancelled at the time limit of 200ms"), "{findings}");
    assert!(findings.contains("raise --time-limit") && !findings.contains("server's log"), "{findings}");
}

#[test]
fn what_outlasts_its_stage_is_cancelled_on_mariadb() {
    let Some(victim) = Victim::start(Some(MysqlProduct::MariaDb)) else { return };
    let home = Home::new();
    let pause = Pause::new(&home);
    let load = [
        "--workload",
        "sysbench/point_select",
        "--tables",
        "2",
        "--table-size",
        "500",
        "--protocol",
        "simple",
    ];
    let length = ["--warm-up", "0", "-c", "1", "-T", "3s", "--no-verify", "--no-telemetry"];
    let run = ["run", "--prepare", "--target", &victim.target, "--before", "hold", &pause.hook()];
    let running = home.start(&[&run[..], &load, &length].concat());
    let _keeper = pause.meanwhile(|| victim.lock_table());
    running.end();
    let report = home.report();
    assert_eq!(report.stage()["totals"]["cancelled"], 1, "{:#}", report.stage());
    assert_eq!(
        (&report.stage()["totals"]["reconnects"], &report.stage()["errors"]),
        (&0.into(), &serde_json::json!({}))
    );
}

#[test]
fn a_stream_that_fails_ends_the_one_beside_it() {
    let Some(server) = shared() else { return };
    let target = database(&server, "fails_beside");
    let home = Home::new();
    std::fs::write(home.path("wrong.sql"), "SELECT * FROM no_such_table;").unwrap();
    std::fs::write(home.path("quick.sql"), "SELECT 1;").unwrap();
    let run = ["run", "--json", "--target", &target, "--warm-up", "0"];
    let streams = [
        "--stream",
        "long=./quick.sql,clients=1,duration=1h",
        "--stream",
        "wrong=./wrong.sql,clients=1,duration=1h",
    ];
    let ended = home.dyno(&[&run[..], &streams].concat()).expect(2);
    ended.says(&["no_such_table"]);
    let report = home.report();
    let [long] = of_series(&report, "long")[..] else { panic!("{:#?}", report.stages()) };
    assert_eq!(long["complete"], false);
}
