//! Help, laid out as sysbench lays it out: options in groups, each with the form of its value and its default.

use std::fmt::Write as _;

use super::VERSION;
use super::options::known::{Group, KNOWN};
use super::options::{Declared, Kind};

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
    group(&mut text, "General options:\n", Group::General);
    group(&mut text, "Pseudo-Random Numbers Generator options:\n", Group::Random);
    group(&mut text, "Log options:\n", Group::Log);
    group(&mut text, "", Group::Latency);
    group(&mut text, "General database options:\n\n", Group::Database);
    text.push_str(
        "\nCompiled-in database drivers:\n  mysql - MySQL's protocol\n  pgsql - PostgreSQL's protocol\n\n",
    );
    group(&mut text, "mysql options:\n", Group::Mysql);
    group(&mut text, "pgsql options:\n", Group::Postgres);
    group(&mut text, "Options that sysbench 1.0.20 does not have:\n", Group::Added);
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

fn group(text: &mut String, title: &str, group: Group) {
    text.push_str(title);
    let rows: Vec<_> = KNOWN
        .iter()
        .filter(|known| known.group == group)
        .map(|known| Row::new(known.name, known.kind, known.default, known.about))
        .collect();
    lay_out(text, &rows);
    text.push('\n');
}

/// What `help` prints of a test that has no help of its own.
pub(super) fn test_help(name: &str, options: &[Declared]) -> String {
    let mut text = format!("{name} options:\n");
    let rows: Vec<_> =
        options.iter().map(|it| Row::new(&it.name, it.kind, it.default.as_deref(), &it.about)).collect();
    lay_out(&mut text, &rows);
    text.push('\n');
    text
}

struct Row<'a> {
    option: String,
    default: Option<&'a str>,
    about: &'a str,
}

impl<'a> Row<'a> {
    fn new(name: &str, kind: Kind, default: Option<&'a str>, about: &'a str) -> Self {
        let value = match kind {
            Kind::Flag => "[=on|off]",
            Kind::Integer | Kind::Double => "=N",
            Kind::Size => "=SIZE",
            Kind::Text => "=STRING",
            Kind::List => "=[LIST,...]",
            Kind::File => "=FILENAME",
        };
        Self { option: format!("{name}{value}"), default, about }
    }
}

fn lay_out(text: &mut String, rows: &[Row<'_>]) {
    let width = rows.iter().map(|row| row.option.len()).max().unwrap_or(0);
    for Row { option, default, about } in rows {
        let default = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  --{option:width$} {about}{default}");
    }
}
