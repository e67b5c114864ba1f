//! The scripts that come with pgbench.

use std::process::Command;
use std::sync::LazyLock;

use dyno_test_servers::{Pgbench, Recorded};
use dyno_workload::script::{Names, Protocol, builtin, parse};

use crate::pgbench::{lines, recordings};
use crate::reference::{lines_of, said};

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "builtins"));

/// What `--show-script` shows.
fn shown(pgbench: &Pgbench, name: &str) -> Vec<String> {
    lines_of(&said(Command::new(&pgbench.program).env("LC_ALL", "C").arg(format!("--show-script={name}"))))
}

#[test]
fn builtins_are_the_same() {
    for builtin in builtin::ALL {
        parse(builtin.description, builtin.text.as_bytes(), Protocol::Prepared, &mut Names::new()).unwrap();
        let ours = format!("-- {}: {}\n{}\n", builtin.name, builtin.description, builtin.text);
        for (version, theirs) in lines(&RECORDED, builtin.name, |pgbench| shown(pgbench, builtin.name)) {
            assert_eq!(lines_of(&ours), theirs, "pgbench {version}");
        }
    }
}

#[test]
fn builtins_are_found_by_their_beginnings() {
    for prefix in ["t", "si", "select-only", "s", "", "x", "select-only2", "TPCB"] {
        let ours = match builtin::find(prefix) {
            Ok(builtin) => format!("-- {}: {}", builtin.name, builtin.description),
            Err(error) => format!("pgbench: error: {error}"),
        };
        let key = format!("first line of {prefix:?}");
        for (version, theirs) in lines(&RECORDED, &key, |pgbench| shown(pgbench, prefix)[..1].to_vec()) {
            assert_eq!([ours.as_str()], *theirs, "pgbench {version} {prefix:?}");
        }
    }
}
