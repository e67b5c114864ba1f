//! Where SQL commands end, and what is sent of them.

use std::sync::LazyLock;

use dyno_test_servers::{Pgbench, Recorded};
use dyno_workload::script::random::Prng;
use dyno_workload::script::{Kind, Names, Protocol, Value, Variables, parse};

use crate::pgbench::{lines, recordings};
use crate::reference::{Random, lines_of, on_server, output, told};

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "statements"));

/// How many random scripts are recorded.
const SCRIPTS: usize = 150;

/// What decides where commands end, and what might be mistaken for it.
const PIECES: &[&str] = &[
    "'",
    "'",
    "''",
    "\"",
    "\"\"",
    "e'",
    "E'\\'",
    "b'",
    "x'",
    "n'",
    "U&'",
    "u&\"",
    "\\\\'",
    "$$",
    "$$",
    "$a$",
    "$a$",
    "$1",
    "$é$",
    "$1a$",
    "a$$",
    "1$$",
    "1e$$",
    "/*",
    "/*",
    "*/",
    "*/",
    "--",
    "-",
    "- -",
    "/",
    "*",
    "+--",
    "=/*",
    "1e-",
    "1.e'",
    ".5e'",
    "1..2",
    "0x1e'",
    "(",
    ")",
    "(",
    ")",
    ";",
    ";",
    ";",
    " ;\n",
    "\\;",
    "\\:",
    ":",
    "::",
    ":=",
    ":a",
    ":a$$",
    ":'a'",
    ":'a b'",
    ":\"a\"",
    ":{?a}",
    ":{?a",
    ":{?}",
    ":begin",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\u{b}",
    " ",
    " ",
    "select",
    "é",
    "create function f()",
    " begin ",
    " begin atomic ",
    " end ",
    " case ",
    "create or replace ",
    "procedure",
    "create\nfunction",
    "function",
    "as",
    "@",
    "~",
    "{",
    "}",
    "%",
    "\u{1}",
];

fn pgbench(pgbench: &Pgbench, arguments: &[&str], script: &[u8]) -> (String, String) {
    let mut command = on_server(pgbench);
    command.args(arguments);
    output(command, script)
}

/// The first lines of a script's commands, or the message that refuses it.
fn first_lines(script: &[u8]) -> Result<Vec<String>, String> {
    parse("-", script, Protocol::Simple, &mut Names::new())
        .map(|script| script.commands.into_iter().map(|command| command.first_line).collect())
        .map_err(|error| format!("pgbench: error: {error}\n"))
}

/// Nothing of the script is run, but `-r` lists its commands.
#[test]
fn commands_end_where_pgbench_ends_them() {
    for random in Random::all() {
        let mut numbers = Prng::seed(random.seed);
        let scripts: Vec<_> = (0..SCRIPTS * random.times).map(|_| random_script(&mut numbers)).collect();
        let commands: usize = scripts.iter().map(|(_, ours)| ours.as_ref().map_or(0, Vec::len)).sum();
        println!("seed {}: {} scripts of {commands} commands", random.seed, scripts.len());
        let ours = scripts.iter().map(|(script, ours)| {
            let lines = match ours {
                Ok(commands) => commands.iter().flat_map(|line| printed(line)).collect(),
                Err(message) => lines_of(message),
            };
            told(&format!("{script:?}"), &lines)
        });
        let ours: Vec<_> = ours.collect();
        let theirs = random.theirs(&RECORDED, "commands", |program| {
            scripts.iter().map(|(script, _)| told(&format!("{script:?}"), &listed(program, script))).collect()
        });
        for (version, theirs) in theirs {
            random.assert_same(version, &ours, &theirs);
        }
    }
}

/// The script's commands, or the message that refuses it.
fn listed(program: &Pgbench, script: &str) -> Vec<String> {
    let (listed, said) = pgbench(program, &["-r"], script.as_bytes());
    match listed.split_once("failures:\n") {
        Some((_, lines)) => lines.lines().map(command_of).collect(),
        None => lines_of(&said),
    }
}

/// A script and what becomes of it here. Few of those in which something is left open, which are most.
fn random_script(random: &mut Prng) -> (String, Result<Vec<String>, String>) {
    loop {
        let count = random.range(1, 24);
        let middle: String =
            (0..count).map(|_| PIECES[random.range(0, PIECES.len() as u64 - 1) as usize]).collect();
        let script = format!("\\if false\n{middle}\n\\endif\n");
        let ours = first_lines(script.as_bytes());
        if ours.is_ok() || random.range(0, 9) == 0 {
            return (script, ours);
        }
    }
}

/// As it comes out when a program's output is cut into lines.
fn printed(line: &str) -> Vec<String> {
    line.lines().map(str::to_owned).collect()
}

/// Behind the latency and the number of failures.
fn command_of(line: &str) -> String {
    let mut rest = line.trim_start();
    for _ in 0..2 {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start_matches(' '));
    }
    rest.to_owned()
}

const SENT: &[&str] = &[
    "select :x;\n",
    "select :x, :x;\n",
    "select ':x', '12:30', 1::int, \":x\";\n",
    "select :x::int, :x::text, ':::x', '::x :: :';\n",
    "select '\\:x', \\:x;\n",
    "-- a comment\n  /* another */ select /* :x */ 1 -- and more\n + 1;\n",
    "select 1 as a \\; select 2 as b;\n",
    "select (1\n\t,2);\n",
    "select :d, :t, :n;\n",
    "select $$:x;$$, $x$ $$ :s; $x$;\n",
    "select e'\\':x', e'a'\n'\\'b;';\n",
    "select 1 as a\\gset\n",
    "select 1 as a \\gset p_ \nselect :p_a;\n",
    "select 1 as a, 2 as b \\; select 3 as c \\aset\nselect :a + :b + :c;\n",
    "select :{?x};\n",
    "select 1\n\n",
    "select case when (select :x) > 1 then 'a;' end\n;\n",
];

/// Texts as they are sent, which `--debug` shows.
#[test]
fn commands_are_sent_with_the_same_texts() {
    for mode in ["simple", "extended"] {
        for script in SENT {
            // Several statements in one request are for the simple protocol only.
            if mode == "extended" && script.contains("\\;") {
                continue;
            }
            let ours = lines_of(&sent(script, mode));
            let theirs = lines(&RECORDED, &format!("-M {mode} {script}"), |program| {
                let defined =
                    ["-Dx=17", "-Dd=1e400", "-Dt=yes", "-Dn=null", "-Ds='it''s'", "-M", mode, "--debug"];
                let (_, said) = pgbench(program, &defined, script.as_bytes());
                first_sent(&said)
            });
            for (version, theirs) in theirs {
                assert_eq!(ours, theirs, "pgbench {version} {script:?}");
            }
        }
    }
}

/// The first text that a pgbench says it sends, until it says something else.
fn first_sent(said: &str) -> Vec<String> {
    let (_, text) = said.split_once("client 0 sending ").unwrap_or_else(|| panic!("nothing is sent: {said}"));
    let end = text.find("\npgbench: ").unwrap_or(text.len());
    lines_of(&text[..end])
}

/// What is sent of the script's first SQL command, as `--debug` shows it.
fn sent(script: &str, mode: &str) -> String {
    let query_mode = if mode == "simple" { Protocol::Simple } else { Protocol::Extended };
    let mut names = Names::new();
    let script = parse("-", script.as_bytes(), query_mode, &mut names).unwrap();
    let Kind::Sql(sql) = &script.commands[0].kind else { panic!("{script:?}") };
    let mut variables = Variables::new(&names);
    for (name, text) in [("x", "17"), ("d", "1e400"), ("t", "yes"), ("n", "null"), ("s", "'it''s'")] {
        if let Some(slot) = names.find(name) {
            variables.set_spelling(slot, text);
        }
    }
    let mut text = Vec::new();
    match query_mode {
        Protocol::Simple => sql.write_simple(&variables, &names, &mut text),
        _ => text.extend_from_slice(&sql.text),
    }
    // What it logs ends without empty lines.
    String::from_utf8(text).unwrap().trim_end_matches('\n').to_owned()
}

/// A double that was computed is printed with 15 digits, wherever it is used.
#[test]
fn computed_values_are_sent_as_pgbench_writes_them() {
    let mut random = Prng::seed(7);
    let (mut script, mut expected) = (String::new(), Vec::new());
    for _ in 0..300 {
        // All bit patterns, among them a few that are no numbers.
        let bits = random.next_u64();
        let value = f64::from_bits(bits);
        if value.is_nan() || value.is_infinite() || !value.is_normal() {
            continue;
        }
        script += &format!("\\set x {value:e}\nselect ':x';\n");
        let mut text = Vec::new();
        Value::Double(value).write_text(&mut text);
        expected.push(format!("'{}'", String::from_utf8(text).unwrap()));
    }
    let shortened = |values: &[String]| values.chunks(5).map(|chunk| chunk.join(", ")).collect::<Vec<_>>();
    let theirs = lines(&RECORDED, "computed values", |program| {
        let (_, said) = pgbench(program, &["--debug"], script.as_bytes());
        let sending = said.lines().filter_map(|line| line.split_once("client 0 sending select "));
        let values: Vec<_> = sending.map(|(_, text)| text.trim_end_matches(';').to_owned()).collect();
        shortened(&values)
    });
    for (version, theirs) in theirs {
        assert_eq!(shortened(&expected), theirs, "pgbench {version}");
    }
}
