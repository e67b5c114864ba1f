//! Each way in which tables can be made.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use dyno_target::connection::Connection;
use dyno_workload::pgbench::initialize::{Initialization, PartitionMethod, Step};

use crate::fingerprint::Fingerprint;
use crate::pgbench::{Did, aspects};
use crate::reference::{
    DATA_SPACE, INDEX_SPACE, Recordings, Said, Server, assert_covering, at_the_end, did, recorded_as,
    run_ours, speaks_as_we_do, timeless,
};

static RECORDED: Recordings = LazyLock::new(|| recorded_as("variants"));

const SMALL: &str = "storage of small tables";

/// Makes the tables in a database with ours, and compares with what each pgbench did that makes them so.
fn compare(name: &str, arguments: &str, options: &Initialization) {
    let Some(server) = Server::get() else { return };
    // On a machine that takes more than five seconds, a quiet pgbench says more.
    let settled = |said: Said| match options.quiet {
        true => Said { stderr: at_the_end(&said.stderr), ..said },
        false => said,
    };
    let done = |database: &str, make: &dyn Fn(&mut Connection) -> Said| {
        let mut connection = server.create(database, "");
        let said = settled(make(&mut connection));
        assert!(said.succeeded, "{database}: {}", said.stderr);
        let mut done = did(&said, &server.statements(database));
        let found = Fingerprint::of(&server, database, &mut connection);
        let Fingerprint { tables, storage, storage_of_small } = found;
        done.extend([("tables", tables), ("storage", storage), (SMALL, storage_of_small)]);
        done
    };
    let ours = done(&format!("{name}_ours"), &|connection| run_ours(options, connection));
    // Before 17 all tables were made unlogged, also the partitioned, which cannot be.
    let since = if options.unlogged && options.partitions > 0 { 18 } else { 0 };
    let theirs = aspects(&RECORDED, name, since, |pgbench| {
        let database = format!("{name}_theirs_{}", pgbench.version);
        let arguments: Vec<&str> = ["-i"].into_iter().chain(arguments.split_ascii_whitespace()).collect();
        done(&database, &|_| server.pgbench(pgbench, &database, &arguments))
    });
    for (version, theirs) in theirs {
        let what = format!("{name}, pgbench {version}");
        assert_eq!(ours["tables"], theirs["tables"], "{what}");
        assert_eq!(ours["storage"], theirs["storage"], "{what}");
        if speaks_as_we_do(version) {
            assert_eq!(ours["messages"], theirs["messages"], "{what}");
            assert_eq!(ours["statements"], theirs["statements"], "{what}");
            assert_eq!(ours[SMALL], theirs[SMALL], "{what}");
        } else {
            let words =
                ours["messages"].iter().map(|line| line.replace(" of pgbench_accounts done", " done"));
            assert_eq!(words.collect::<Vec<_>>(), theirs["messages"], "{what}");
            let statements = as_before_17(&theirs["statements"]);
            assert_eq!(as_before_17(&ours["statements"]), statements, "{what}");
        }
    }
}

/// Without how the small tables are filled, and whether the accounts are looked at first.
fn as_before_17(statements: &[String]) -> Vec<&str> {
    let small = |sql: &str| {
        let client_side = [
            "insert into pgbench_branches(bid,bbalance) values",
            "insert into pgbench_tellers(tid,bid,tbalance) values",
        ];
        client_side.iter().any(|start| sql.starts_with(start))
            || sql.starts_with("copy pgbench_branches")
            || sql.starts_with("copy pgbench_tellers")
            || sql.starts_with("SELECT relkind")
    };
    statements.iter().map(String::as_str).filter(|sql| !small(sql)).collect()
}

fn steps(letters: &str) -> Vec<Step> {
    Step::parse_all(letters).unwrap()
}

#[test]
fn plain() {
    compare("plain", "-s 2", &Initialization { scale: 2, ..Initialization::default() });
}

#[test]
fn quiet() {
    compare("quiet", "-q -s 1", &Initialization { scale: 1, quiet: true, ..Initialization::default() });
}

#[test]
fn without_vacuum_rows_are_frozen_all_the_same() {
    let options = Initialization { steps: steps("dtgp"), ..Initialization::default() };
    compare("no_vacuum", "-n", &options);
}

#[test]
fn with_foreign_keys() {
    let options = Initialization { steps: steps("dtgvpf"), ..Initialization::default() };
    compare("foreign_keys", "--foreign-keys", &options);
}

#[test]
fn generated_on_the_server() {
    let options = Initialization { steps: steps("dtGvp"), scale: 2, ..Initialization::default() };
    compare("server_side", "-I dtGvp -s 2", &options);
}

#[test]
fn generated_on_the_server_into_partitions_with_foreign_keys() {
    let options = Initialization {
        steps: steps("d tGpf"),
        partitions: 2,
        partition_method: PartitionMethod::Hash,
        ..Initialization::default()
    };
    compare("server_hash", "-I dtGpf --partitions=2 --partition-method=hash", &options);
}

#[test]
fn unlogged_with_a_fill_factor() {
    let options = Initialization { unlogged: true, fillfactor: 70, ..Initialization::default() };
    compare("unlogged", "--unlogged-tables -F 70", &options);
}

#[test]
fn divided_by_range() {
    let options = Initialization { partitions: 3, fillfactor: 90, ..Initialization::default() };
    compare("by_range", "--partitions=3 -F 90", &options);
}

#[test]
fn divided_by_hash_and_unlogged() {
    let options = Initialization {
        partitions: 4,
        partition_method: PartitionMethod::Hash,
        unlogged: true,
        ..Initialization::default()
    };
    compare("by_hash", "--partitions=4 --partition-method=hash --unlogged-tables", &options);
}

#[test]
fn one_partition_is_one_nevertheless() {
    let options = Initialization { partitions: 1, ..Initialization::default() };
    compare("one_partition", "--partitions=1 --partition-method=range", &options);
}

#[test]
fn in_tablespaces() {
    let options = Initialization {
        tablespace: Some(DATA_SPACE.to_owned()),
        index_tablespace: Some(INDEX_SPACE.to_owned()),
        ..Initialization::default()
    };
    let arguments = format!("--tablespace={DATA_SPACE} --index-tablespace={INDEX_SPACE}");
    compare("spaces", &arguments, &options);
}

#[test]
fn partitions_in_tablespaces() {
    let options = Initialization {
        partitions: 2,
        tablespace: Some(DATA_SPACE.to_owned()),
        ..Initialization::default()
    };
    compare("partition_spaces", &format!("--tablespace={DATA_SPACE} --partitions=2"), &options);
}

#[test]
fn wide_account_numbers() {
    let options =
        Initialization { steps: steps("dtpvf"), scale: 20_000, partitions: 3, ..Initialization::default() };
    compare("wide", "-I dtpvf -s 20000 --partitions=3", &options);
    let plain = Initialization { partitions: 0, ..options };
    compare("wide_plain", "-I dtpvf -s 20000", &plain);
}

#[test]
fn on_a_terminal_lines_cover_each_other() {
    let Some(server) = Server::get() else { return };
    for (name, arguments, quiet) in [("terminal", "-i -s 2", false), ("terminal_quiet", "-i -q -s 2", true)] {
        let mut connection = server.create(&format!("{name}_ours"), "");
        let options = Initialization { quiet, scale: 2, ..Initialization::default() };
        let mut said = String::new();
        options.run(&mut connection, true, &AtomicBool::new(false), &mut |text| said.push_str(text)).unwrap();
        assert_covering(&said);
        let settled = |text: &str| if quiet { at_the_end(&timeless(text)) } else { timeless(text) };
        let lines = |text: &str| settled(text).split('\n').map(str::to_owned).collect::<Vec<_>>();
        // Before 17 progress did not name the table.
        let theirs = aspects(&RECORDED, name, 18, |pgbench| {
            let theirs = format!("{name}_theirs_{}", pgbench.version);
            drop(server.create(&theirs, ""));
            let words = server.pgbench_on_terminal(pgbench, &theirs, arguments);
            assert_covering(&words);
            Did::from([("messages", lines(&words))])
        });
        for (version, theirs) in theirs {
            assert_eq!(lines(&said), theirs["messages"], "{name}, pgbench {version}");
        }
    }
}
