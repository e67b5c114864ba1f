//! The scripts that come with pgbench.

use std::process::Command;

use dyno_workload::script::{Names, QueryMode, builtin, parse};

use crate::reference::{programs, said};

#[test]
fn builtins_are_the_same() {
    for builtin in builtin::ALL {
        parse(builtin.description, builtin.text.as_bytes(), QueryMode::Prepared, &mut Names::new()).unwrap();
        let ours = format!("-- {}: {}\n{}\n", builtin.name, builtin.description, builtin.text);
        for program in programs() {
            let shown = said(Command::new(&program).arg(format!("--show-script={}", builtin.name)));
            assert_eq!(ours, shown, "{}", program.display());
        }
    }
}

#[test]
fn builtins_are_found_by_their_beginnings() {
    for prefix in ["t", "si", "select-only", "s", "", "x", "select-only2", "TPCB"] {
        let ours = match builtin::find(prefix) {
            Ok(builtin) => format!("-- {}: ", builtin.name),
            Err(error) => format!("pgbench: error: {error}\n"),
        };
        for program in programs() {
            let shown = said(Command::new(&program).arg(format!("--show-script={prefix}")));
            assert!(shown.starts_with(&ours), "{} {prefix:?}: {ours} is not {shown}", program.display());
        }
    }
}
