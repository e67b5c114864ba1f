//! What reaches the server.

use std::cell::Cell;
use std::process::Stdio;

use crate::case::{Case, case, same, script};
use crate::program::{Call, Program};
use crate::real;
use crate::server::{database, installed};

#[test]
fn statements_as_the_server_logs_them() {
    let Some(database) = database("logged") else { return };
    let text = "\\set x 1 + 1\n\\set y 0.1 + 0.2\n\\set z null\n\\set b true\nbegin;\nselect :x, :y::text, :z::text, :b::text, :x;\nselect 2 /* é */ as k \\gset\n\
                -- a comment\nselect :x::int, :k + 1 -- behind\n  ;\nend;\n";
    for mode in ["simple", "extended", "prepared"] {
        let runs = Cell::new(0);
        let logged = |program: &Program| -> Vec<String> {
            let application = format!("logged {mode} {}", runs.replace(runs.get() + 1));
            let case = case(&format!("-n -t 2 -c 1 -f s -M {mode}"))
                .file("s", text)
                .environment("PGAPPNAME", &application)
                .environment("PGOPTIONS", "-c log_statement=all");
            let ran = case.run(program, &database);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let lines = database.logged(&application);
            lines.into_iter().filter(|line| !set_up(line)).collect()
        };
        let ours = logged(&Program::dyno());
        assert!(ours.len() >= 10, "{ours:?}");
        let Some(theirs) = real::does(database.version(), &format!("statements logged, {mode}"), 0, logged)
        else {
            return;
        };
        assert_eq!(ours, theirs, "{mode}");
    }
}

/// What dyno asks on the setup connection, beside pgbench's own statements.
fn set_up(line: &str) -> bool {
    !["begin", "end", "select :", "select 2", "select $", "select '", "parameters:"]
        .iter()
        .any(|word| line.contains(word))
        || line.contains("pg_")
}

#[test]
fn parameters_have_no_declared_type() {
    let Some(database) = database("declared") else { return };
    let kept = |arguments: &str| -> Case {
        script(
            arguments,
            "\\set x 5\ninsert into seen select name, statement, parameter_types::text from pg_prepared_statements where name not in (select name from seen);\n\
             select :x + 1, upper(:x), :x::interval;\n",
        )
        .setup("drop table if exists seen; create table seen(name text, statement text, types text)")
        .contents("select * from seen order by ctid")
    };
    same(
        &database,
        [
            kept("-M prepared -t 3").since(18),
            kept("-M prepared -t 3 -f script --random-seed=3").since(18),
            kept("-M extended"),
            kept("-M prepared -C -t 3").since(18),
        ],
    );
}

#[test]
fn a_pipeline_goes_in_one_system_call() {
    let Some(database) = database("one_call") else { return };
    let Some(strace) = installed("strace") else { return };
    let directory = tempfile::tempdir().unwrap();
    let call = Call {
        arguments: "-n -t 20 -M prepared --no-dyno -f s".split(' ').map(str::to_owned).collect(),
        environment: database.environment(),
        files: vec![("s".to_owned(), b"\\startpipeline\nselect 'mark' || 1;\nselect 'mark' || 2;\nselect 'mark' || 3;\n\\endpipeline\n".to_vec())],
        ..Call::default()
    };
    let program = Program::dyno().command(directory.path(), &call);
    let mut traced = std::process::Command::new(strace);
    traced.args(["-f", "-qq", "-s", "300", "-e", "trace=sendto,sendmsg,write,writev", "-o", "trace"]);
    traced.arg(program.get_program()).args(program.get_args()).current_dir(directory.path()).env_clear();
    traced.envs(call.environment.iter().cloned()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = traced.output().unwrap();
    if !output.status.success() {
        println!("skipped: strace may not trace here: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let trace = std::fs::read_to_string(directory.path().join("trace")).unwrap();
    let bound: Vec<_> = trace.lines().filter(|line| line.contains("P_0") && !line.contains("mark")).collect();
    assert_eq!(bound.len(), 20, "{trace}");
    assert!(bound.iter().all(|line| line.contains("P_1") && line.contains("P_2")), "{bound:?}");
}
