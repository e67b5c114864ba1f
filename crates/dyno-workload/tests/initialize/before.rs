//! What happens before a run.

use std::sync::LazyLock;

use dyno_target::connection::Connection;
use dyno_workload::pgbench::before::{BeforeError, TableFacts, table_facts, vacuum_before};
use dyno_workload::pgbench::initialize::{Initialization, PartitionMethod, Step};

use crate::pgbench::aspects;
use crate::reference::{Recordings, Said, Server, database, did, recorded_as, run_ours, speaks_as_we_do};

static RECORDED: Recordings = LazyLock::new(|| recorded_as("before"));

/// As `dyno pgbench` will do it before a run of a built-in script.
fn before(connection: &mut Connection, scale_given: bool, vacuum_all: bool) -> Said {
    let mut stderr = String::new();
    let outcome = table_facts(connection, scale_given, &mut |text| stderr.push_str(text));
    match &outcome {
        Ok(_) => vacuum_before(connection, vacuum_all, &mut |text| stderr.push_str(text)),
        Err(error) => {
            stderr.push_str(&format!("pgbench: error: {error}\n"));
            if let Some(hint) = error.hint() {
                stderr.push_str(&format!("pgbench: hint: {hint}\n"));
            }
        }
    }
    Said { stderr, succeeded: outcome.is_ok() }
}

/// Runs ours in a database, where the real programs are run a read-only transaction of each in it, and compares.
fn compare(name: &str, preparation: &str, arguments: &[&str], expected: &str) {
    let Some(server) = Server::get() else { return };
    let mut connection = server.create(name, preparation);
    let said = before(&mut connection, arguments.contains(&"-s"), arguments.contains(&"-v"));
    assert_eq!(said.stderr, expected.replace("DATABASE", &database(name)), "{name}");
    let statements = server.statements(name);
    let ours = did(&said, &statements);
    let theirs = aspects(&RECORDED, name, 0, |pgbench| {
        let mut said = server.pgbench(pgbench, name, &[&["-S", "-t", "1"], arguments].concat());
        // Since 17 names of settings are quoted.
        if !speaks_as_we_do(pgbench.version) {
            said.stderr = said.stderr.replace(" in search_path\n", " in \"search_path\"\n");
        }
        let since = server.statements(name).split_off(statements.len());
        did(&said, &last_run(&since))
    });
    for (version, theirs) in theirs {
        for (aspect, lines) in &ours {
            assert_eq!(lines, &theirs[*aspect], "{name}, pgbench {version}");
        }
    }
}

/// The statements of the last run, without those of its script.
fn last_run(statements: &[String]) -> Vec<String> {
    let begin = statements.iter().rposition(|sql| sql.starts_with("select count(*) from pgbench_branches"));
    let run = statements[begin.unwrap_or(0)..].iter();
    run.filter(|sql| !sql.starts_with("SELECT abalance")).cloned().collect()
}

/// Tables as pgbench has them, with one row each and no key.
const TABLES: &str = "create table pgbench_history(aid int); create table pgbench_tellers(tid int); \
                      create table pgbench_accounts(aid int, abalance int); \
                      create table pgbench_branches(bid int); insert into pgbench_branches values (1);";

#[test]
fn the_small_tables_are_vacuumed_and_the_history_emptied() {
    compare("vacuumed", TABLES, &[], "starting vacuum...end.\n");
}

#[test]
fn the_accounts_are_vacuumed_if_asked_for() {
    let expected = "starting vacuum...end.\nstarting vacuum pgbench_accounts...end.\n";
    compare("vacuumed_all", TABLES, &["-v"], expected);
}

#[test]
fn a_scale_that_was_given_is_ignored_with_a_warning() {
    let expected = "pgbench: warning: scale option ignored, using count from pgbench_branches table (1)\n\
                    starting vacuum...end.\n";
    compare("scale_given", TABLES, &["-s", "7"], expected);
}

#[test]
fn missing_tables_are_an_error_with_a_hint() {
    let expected = "pgbench: error: could not count number of branches: \
                    ERROR:  relation \"pgbench_branches\" does not exist\n\
                    LINE 1: select count(*) from pgbench_branches\n\
                    \x20                            ^\n\
                    pgbench: hint: Perhaps you need to do initialization (\"pgbench -i\") in database \"DATABASE\".\n";
    compare("missing", "", &[], expected);
    let expected = "pgbench: error: no pgbench_accounts table found in \"search_path\"\n\
                    pgbench: hint: Perhaps you need to do initialization (\"pgbench -i\") in database \"DATABASE\".\n";
    compare("no_accounts", "create table pgbench_branches()", &[], expected);
    let list = "create table pgbench_branches(); \
                create table pgbench_accounts(aid int) partition by list (aid)";
    compare("by_list", list, &[], "pgbench: error: unexpected partition method: \"l\"\n");
}

#[test]
fn what_cannot_be_vacuumed_is_said_and_passed_over() {
    let partly = "create table pgbench_accounts(aid int, abalance int); \
                  create view pgbench_branches as select 1 as bid";
    let expected = "starting vacuum...\
        WARNING:  skipping \"pgbench_branches\" --- cannot vacuum non-tables or special system tables\n\
        pgbench: error: ERROR:  relation \"pgbench_tellers\" does not exist\n\
        pgbench: detail: (ignoring this error and continuing anyway)\n\
        pgbench: error: ERROR:  relation \"pgbench_history\" does not exist\n\
        pgbench: detail: (ignoring this error and continuing anyway)\nend.\n\
        starting vacuum pgbench_accounts...end.\n";
    compare("partly", partly, &["-v"], expected);
}

#[test]
fn partitions_are_found() {
    let Some(server) = Server::get() else { return };
    let mut connection = server.create("partitioned", "");
    let mut facts_with = |scale, partitions, partition_method| {
        let steps = Step::parse_all("dtG").unwrap();
        let options =
            Initialization { steps, scale, partitions, partition_method, ..Initialization::default() };
        assert!(run_ours(&options, &mut connection).succeeded);
        table_facts(&mut connection, false, &mut |_| {})
    };
    let facts = |branches, partition| TableFacts { branches, partition };
    assert_eq!(facts_with(2, 0, PartitionMethod::Hash).unwrap(), facts(2, None));
    let range = Some((PartitionMethod::Range, 3));
    assert_eq!(facts_with(1, 3, PartitionMethod::Range).unwrap(), facts(1, range));
    let hash = Some((PartitionMethod::Hash, 2));
    assert_eq!(facts_with(1, 2, PartitionMethod::Hash).unwrap(), facts(1, hash));
}

#[test]
fn a_lost_connection_is_an_error() {
    let Some(server) = Server::get() else { return };
    let mut connection = server.create("lost_before", "");
    server.end_sessions("lost_before");
    let error = table_facts(&mut connection, false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, BeforeError::Count { .. }), "{error:?}");
    assert!(error.to_string().contains("server closed the connection unexpectedly"), "{error}");
}
