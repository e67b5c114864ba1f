//! The tests that the authors of pgbench and sysbench wrote for their programs, run with `dyno pgbench` and `dyno sysbench` in
//! their place, and with the real programs as control. They are fetched, and no part of this tree.
#![allow(clippy::unwrap_used, clippy::panic)]

mod pgbench;
mod sysbench;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use dyno_test_servers::copy_program;

/// Puts a script into `directory` that stands for the program `name`.
fn stand_in(directory: &Path, name: &str, script: &str) {
    fs::create_dir_all(directory).unwrap();
    let (path, written) = (directory.join(name), directory.join(format!("{name}.written")));
    fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
    copy_program(&written, &path);
    fs::remove_file(&written).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A command as a line of a script.
fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    words.join(" ")
}
