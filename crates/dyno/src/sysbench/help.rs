//! Help, laid out as sysbench lays it out: options in groups, each with the form of its value and its default.

use std::fmt::Write as _;

use dyno_workload::sysbench::lua::DeclaredOption;

use super::VERSION;
use super::options::Options;
use super::options::known::{KNOWN, KnownOption, OptionGroup};

/// What `--version` prints, and the first line of everything else. Its first words are sysbench's, for whoever looks at the
/// version.
pub(super) fn version() -> String {
    format!("sysbench {VERSION} (dyno {})\n", env!("CARGO_PKG_VERSION"))
}

/// What `--help` prints.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n",
    );
    group(&mut text, "General options:\n", OptionGroup::General);
    group(&mut text, "Pseudo-Random Numbers Generator options:\n", OptionGroup::Random);
    group(&mut text, "Log options:\n", OptionGroup::Log);
    group(&mut text, "", OptionGroup::Latency);
    group(&mut text, "General database options:\n\n", OptionGroup::Database);
    text.push_str(
        "\nCompiled-in database drivers:\n  mysql - MySQL's protocol\n  pgsql - PostgreSQL's protocol\n\n",
    );
    group(&mut text, "mysql options:\n", OptionGroup::Mysql);
    group(&mut text, "pgsql options:\n", OptionGroup::Postgres);
    group(&mut text, "Options that sysbench 1.0.20 does not have:\n", OptionGroup::Added);
    text.push_str("Tests:\n");
    for test in dyno_workload::sysbench::Test::ALL {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  {} - {}", test.name(), test.about());
    }
    text.push_str("  bulk_insert - rows in INSERTs of many, a table for each thread\n");
    text.push_str(
        "  FILE.lua - a script\n\nSee 'sysbench <testname> help' for a list of options for each test.\n\n",
    );
    text
}

fn group(text: &mut String, title: &str, group: OptionGroup) {
    let rows: Vec<_> = KNOWN.iter().filter(|known| known.group == group).map(KnownOption::declared).collect();
    text.push_str(&format!("{title}{}\n", DeclaredOption::list(&rows)));
}

/// What `help` prints of a test that has no help of its own.
pub(super) fn test_help(name: &str, options: &Options) -> String {
    format!("{name} options:\n{}\n", DeclaredOption::list(options.declared()))
}
