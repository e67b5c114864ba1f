//! Each way in which tables can be made.

use std::sync::atomic::AtomicBool;

use dyno_workload::pgbench::initialize::{Initialization, PartitionMethod, Steps};

use crate::fingerprint::Fingerprint;
use crate::reference::{Reference, Said, Server, assert_covering, at_the_end, run_ours, timeless};

/// Makes the tables in a database with each pgbench that is there and in another with ours, and compares.
fn compare(name: &str, arguments: &str, options: &Initialization) {
    let Some(server) = Server::get() else { return };
    let ours = format!("{name}_ours");
    let mut connection = server.create(&ours, "");
    // On a machine that takes more than five seconds, a quiet pgbench says more.
    let settled = |said: Said| match options.quiet {
        true => Said { stderr: at_the_end(&said.stderr), ..said },
        false => said,
    };
    let said = settled(run_ours(options, &mut connection));
    let statements = server.statements(&ours);
    assert!(said.succeeded, "{name}: {}", said.stderr);
    let fingerprint = Fingerprint::of(&server, &ours, &mut connection);
    for reference in Reference::all() {
        // Earlier ones made all tables unlogged, also the partitioned, which cannot be.
        if options.unlogged && options.partitions > 0 && !reference.speaks_as_we_do() {
            continue;
        }
        let what = format!("{name}, pgbench {}", reference.version);
        let theirs = format!("{name}_theirs_{}", reference.version);
        let mut connection = server.create(&theirs, "");
        let arguments: Vec<&str> = ["-i"].into_iter().chain(arguments.split_ascii_whitespace()).collect();
        let their_words = settled(server.pgbench(&reference, &theirs, &arguments));
        assert!(their_words.succeeded, "{what}: {}", their_words.stderr);
        let their_statements = server.statements(&theirs);
        if reference.speaks_as_we_do() {
            assert_eq!(said.stderr, their_words.stderr, "{what}");
            assert_eq!(statements, their_statements, "{what}");
        } else {
            let words = said.stderr.replace(" of pgbench_accounts done", " done");
            assert_eq!(words, their_words.stderr, "{what}");
            assert_eq!(as_before_17(&statements), as_before_17(&their_statements), "{what}");
        }
        let theirs = Fingerprint::of(&server, &theirs, &mut connection);
        fingerprint.assert_same(&theirs, reference.speaks_as_we_do(), &what);
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

fn steps(letters: &str) -> Steps {
    Steps::parse(letters).unwrap()
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
    let options = Initialization { steps: Steps::default().without_vacuum(), ..Initialization::default() };
    compare("no_vacuum", "-n", &options);
}

#[test]
fn with_foreign_keys() {
    let options = Initialization { steps: Steps::default().with_foreign_keys(), ..Initialization::default() };
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
        tablespace: Some("data_space".to_owned()),
        index_tablespace: Some("data_space".to_owned()),
        ..Initialization::default()
    };
    compare("spaces", "--tablespace=data_space --index-tablespace=data_space", &options);
}

#[test]
fn partitions_in_tablespaces() {
    let options = Initialization {
        partitions: 2,
        tablespace: Some("data_space".to_owned()),
        ..Initialization::default()
    };
    compare("partition_spaces", "--tablespace=data_space --partitions=2", &options);
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
        for reference in Reference::all().iter().filter(|reference| reference.speaks_as_we_do()) {
            let theirs = format!("{name}_theirs_{}", reference.version);
            drop(server.create(&theirs, ""));
            if let Some(words) = server.pgbench_on_terminal(reference, &theirs, arguments) {
                assert_covering(&words);
                let settled = |text: &str| if quiet { at_the_end(&timeless(text)) } else { timeless(text) };
                assert_eq!(settled(&said), settled(&words));
            }
        }
    }
}
