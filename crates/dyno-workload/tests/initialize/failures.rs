//! What goes wrong on the way is said as pgbench says it, with nothing more done.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use dyno_workload::pgbench::initialize::{Initialization, InitializeError, Step};

use crate::pgbench::aspects;
use crate::reference::{Recordings, Server, did, recorded_as, run_ours, speaks_as_we_do};

static RECORDED: Recordings = LazyLock::new(|| recorded_as("failures"));

/// Does the steps in databases that were prepared alike, and compares what was said and what the server was asked.
/// Versions that fill the small tables in another way are left out where that matters.
fn compare(name: &str, letters: &str, preparation: &str, expected: &str, all_versions: bool) {
    compare_with(name, &[], &options(letters), letters, preparation, expected, all_versions);
}

fn options(letters: &str) -> Initialization {
    Initialization { steps: Step::parse_all(letters).unwrap(), ..Initialization::default() }
}

fn compare_with(
    name: &str,
    arguments: &[&str],
    options: &Initialization,
    letters: &str,
    preparation: &str,
    expected: &str,
    all_versions: bool,
) {
    let Some(server) = Server::get() else { return };
    let ours = format!("{name}_ours");
    let mut connection = server.create(&ours, preparation);
    let said = run_ours(options, &mut connection);
    assert!(said.stderr.contains(expected), "{name}: {}", said.stderr);
    let ours = did(&said, &server.statements(&ours));
    let theirs = aspects(&RECORDED, name, 0, |pgbench| {
        let theirs = format!("{name}_theirs_{}", pgbench.version);
        drop(server.create(&theirs, preparation));
        let arguments = [&["-i", "-I", letters], arguments].concat();
        did(&server.pgbench(pgbench, &theirs, &arguments), &server.statements(&theirs))
    });
    for (version, theirs) in theirs {
        if all_versions || speaks_as_we_do(version) {
            for (aspect, lines) in &ours {
                assert_eq!(lines, &theirs[*aspect], "{name}, pgbench {version}");
            }
        }
    }
}

#[test]
fn no_step_is_done_in_no_time() {
    compare("no_step", "  ", "", "done in T s ().\n", true);
}

#[test]
fn tables_that_are_missing() {
    for (name, letters) in [("no_g", "g"), ("no_u", "G"), ("no_v", "v"), ("no_p", "p"), ("no_f", "f")] {
        compare(name, letters, "", "does not exist\npgbench: detail: Query was: ", true);
    }
}

#[test]
fn tables_that_are_there_already() {
    compare("twice", "dtt", "", "relation \"pgbench_history\" already exists", true);
    compare("keys_twice", "dtpp", "", "multiple primary keys for table", true);
}

#[test]
fn objects_that_stand_in_the_way_of_a_drop() {
    let view = "create view pgbench_branches as select 1 as bid, 0 as bbalance";
    compare("view", "d", view, "HINT:  Use DROP VIEW to remove a view.\n", true);
    let dependent = "create table pgbench_accounts(aid int primary key); \
                     create table others(aid int references pgbench_accounts)";
    compare("dependent", "d", dependent, "DETAIL:  constraint others_aid_fkey", true);
}

#[test]
fn rows_that_the_server_refuses() {
    let check = "create table pgbench_history(); create table pgbench_tellers(); create table pgbench_accounts(); \
                 create table pgbench_branches(bid int check (bid < 0), bbalance int, filler char(88))";
    compare("refused", "g", check, "\npgbench: error: PQendcopy failed\n", false);
    let narrow = "create table pgbench_history(); create table pgbench_tellers(); create table pgbench_accounts(); \
                  create table pgbench_branches(bid int, bbalance int)";
    compare("columns", "g", narrow, "extra data after last expected column", false);
    let trigger = "create table pgbench_history(); create table pgbench_tellers(); create table pgbench_accounts(); \
                   create table pgbench_branches(bid int, bbalance int, filler char(88)); \
                   create function refuse() returns trigger language plpgsql as \
                   $$begin raise exception 'not today' using hint = 'come again'; end$$; \
                   create trigger refuse before insert on pgbench_branches for each row execute function refuse()";
    compare("trigger", "G", trigger, "HINT:  come again\nCONTEXT:  PL/pgSQL function refuse()", true);
}

#[test]
fn a_tablespace_that_is_missing() {
    let options = Initialization { tablespace: Some("no \"space".to_owned()), ..options("dt") };
    let expected = "tablespace \"no \"\"space\"";
    compare_with("space", &["--tablespace=no \"space"], &options, "dt", "", expected, true);
    let options = Initialization { tablespace: None, index_tablespace: Some("Ä".to_owned()), ..options };
    let options = Initialization { steps: Step::parse_all("dtp").unwrap(), ..options };
    let expected = "tablespace \"Ä\" does not exist";
    compare_with("index_space", &["--index-tablespace=Ä"], &options, "dtp", "", expected, true);
}

#[test]
fn once_stopped_it_ends_between_blocks_of_rows_and_leaves_none() {
    let Some(server) = Server::get() else { return };
    let mut connection = server.create("stopped", "");
    let (stop, mut said) = (AtomicBool::new(false), String::new());
    let options = Initialization { scale: 5, ..Initialization::default() };
    let outcome = options.run(&mut connection, false, &stop, &mut |text| {
        said.push_str(text);
        if text.starts_with("100000 of 500000") {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(matches!(outcome, Err(InitializeError::Stopped)), "{outcome:?}");
    assert!(said.contains("100000 of 500000 tuples (20%)") && !said.contains("200000 of"), "{said}");
    drop(connection);
    let rows = server.psql("stopped", "select count(*) from pgbench_accounts");
    assert!(rows.contains("\n0\n"), "{rows}");
    let statements = server.statements("stopped");
    assert_eq!(statements.last().unwrap(), "copy pgbench_accounts from stdin with (freeze on)");
}

#[test]
fn a_lost_connection_is_told_in_the_words_of_libpq() {
    let Some(server) = Server::get() else { return };
    let mut connection = server.create("lost", "");
    server.end_sessions("lost");
    let said = run_ours(&options("d"), &mut connection);
    assert_eq!(
        said.stderr,
        "dropping old tables...\n\
         pgbench: error: query failed: FATAL:  terminating connection due to administrator command\n\
         server closed the connection unexpectedly\n\
         \tThis probably means the server terminated abnormally\n\
         \tbefore or while processing the request.\n\
         pgbench: detail: Query was: drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, \
         pgbench_tellers\n"
    );
}
