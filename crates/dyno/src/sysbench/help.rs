//! Help, laid out as sysbench lays it out: options in groups, each with the form of its value and its default.

use std::fmt::Write as _;

use super::VERSION;
use super::options::known::{KNOWN, OptionGroup};
use super::options::{Declared, ValueKind};

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
    text.push_str(title);
    let rows: Vec<_> = KNOWN
        .iter()
        .filter(|known| known.group == group)
        .map(|known| OptionRow::new(known.name, known.kind, known.default, known.about))
        .collect();
    lay_out(text, &rows);
    text.push('\n');
}

/// What `help` prints of a test that has no help of its own.
pub(super) fn test_help(name: &str, options: &[Declared]) -> String {
    let mut text = format!("{name} options:\n");
    let rows: Vec<_> = options
        .iter()
        .map(|it| OptionRow::new(&it.name, it.kind, it.default.as_deref(), &it.about))
        .collect();
    lay_out(&mut text, &rows);
    text.push('\n');
    text
}

struct OptionRow<'a> {
    option: String,
    default: Option<&'a str>,
    about: &'a str,
}

impl<'a> OptionRow<'a> {
    fn new(name: &str, kind: ValueKind, default: Option<&'a str>, about: &'a str) -> Self {
        let value = match kind {
            ValueKind::Flag => "[=on|off]",
            ValueKind::Integer | ValueKind::Double => "=N",
            ValueKind::Size => "=SIZE",
            ValueKind::Text => "=STRING",
            ValueKind::List => "=[LIST,...]",
            ValueKind::File => "=FILENAME",
        };
        Self { option: format!("{name}{value}"), default, about }
    }
}

fn lay_out(text: &mut String, rows: &[OptionRow<'_>]) {
    let width = rows.iter().map(|row| row.option.len()).max().unwrap_or(0);
    for OptionRow { option, default, about } in rows {
        let default = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  --{option:width$} {about}{default}");
    }
}
