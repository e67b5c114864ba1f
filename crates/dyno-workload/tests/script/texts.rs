//! Texts that become values, and operands that are texts: what `-D` and results give.

use std::sync::LazyLock;

use dyno_test_servers::{Pgbench, Recorded};
use dyno_workload::script::random::Prng;
use dyno_workload::script::{Kind, Names, Protocol, Variables, parse, shell_command, sleep_us};

use crate::pgbench::{lines, recordings};
use crate::reference::{on_server, run, told};
use crate::runner::Client;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "texts"));

const TEXTS: &[&str] = &[
    "null",
    "NULL",
    "nul",
    "nulls",
    " null",
    "t",
    "T",
    "tr",
    "true",
    "TRUE",
    "truex",
    "y",
    "ye",
    "yes",
    "yesss",
    "on",
    "ON",
    "o",
    "onn",
    "f",
    "false",
    "n",
    "no",
    "non",
    "of",
    "off",
    "offf",
    "0",
    "1",
    "-0",
    "+7",
    "007",
    "  12",
    "\t-3",
    "12 ",
    "1 2",
    " ",
    "-",
    "+",
    "- 1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999",
    "0.5",
    ".5",
    "5.",
    ".",
    "-.5e1",
    "1e5",
    "1E+05",
    "1e",
    "1e+",
    "1e400",
    "-1e400",
    "1e-400",
    "4e-320",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "0e-9999",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    " 1.5",
    "1.5 ",
    "1.5x",
    "inf",
    "-Infinity",
    "infin",
    "nan",
    "-NaN",
    "NAN(12_x)",
    "nan(",
    "0x10",
    "0X1.8P+1",
    "0x",
    "0x.",
    "0x.8",
    "0x1p",
    "0x1p-1075",
    "0x3p-1075",
    "0x1p1024",
    "0x1.fffffffffffff8p1023",
    "0x1.fffffffffffff7p1023",
    "-0x0p0",
    "0x123456789abcdef123456789p-20",
    "0x1.00000000000008p0",
    "0x1.000000000000080000000001p0",
    "1_000",
    "1,5",
    "é",
    "0.1e-6",
    "123456789012345678901234567890",
    "1e22",
    "-0.0",
];

/// What a pgbench says about a script where `-D` gives it these variables, without that the client has ended.
fn said(pgbench: &Pgbench, defined: &[String], script: &str) -> Vec<String> {
    let mut command = on_server(pgbench);
    command.args(defined.iter().flat_map(|definition| ["-D", definition]));
    let said = run(command, script.as_bytes());
    said.lines().filter(|line| !line.contains("abort")).map(str::to_owned).collect()
}

fn assert_same(ours: &[String], theirs: Vec<(u32, Vec<String>)>) {
    for (version, theirs) in theirs {
        for (our, their) in ours.iter().zip(&theirs) {
            assert_eq!(our, their, "pgbench {version}");
        }
        assert_eq!(ours.len(), theirs.len(), "pgbench {version}");
    }
}

#[test]
fn texts_become_the_same_values() {
    let script = "\\set y debug(:x)\n\\set z debug(:y is null)\n";
    let mut names = Names::new();
    let parsed = parse("-", script.as_bytes(), Protocol::Simple, &mut names).unwrap();
    let ours = TEXTS.iter().map(|text| {
        let mut ours = Vec::new();
        let outcome = Client::new(&names, Prng::seed(0), &[], &[("x", text)]).run(&parsed, &mut ours);
        // An empty message is none.
        ours.extend(outcome.err().map(|error| format!("pgbench: error: {error}")));
        told(&format!("{text:?}"), &ours)
    });
    let theirs = lines(&RECORDED, "texts", |program| {
        let of = |text| told(&format!("{text:?}"), &said(program, &[format!("x={text}")], script));
        TEXTS.iter().map(of).collect()
    });
    assert_same(&ours.collect::<Vec<_>>(), theirs);
}

/// An empty text comes from a result only.
#[test]
fn an_empty_text_is_no_value() {
    let mut names = Names::new();
    let script = parse("-", b"\\set y :x", Protocol::Simple, &mut names).unwrap();
    let outcome = Client::new(&names, Prng::seed(0), &[], &[("x", "")]).run(&script, &mut Vec::new());
    assert_eq!(outcome.unwrap_err().to_string(), "");
    let theirs = lines(&RECORDED, "first line about an empty text", |program| {
        let said = run(on_server(program), b"select '' as x \\gset\n\\set y :x\n");
        said.lines().take(1).map(str::to_owned).collect()
    });
    for (version, theirs) in theirs {
        let start = "pgbench: error: client 0 aborted in command 1 (set)";
        assert!(theirs[0].starts_with(start), "pgbench {version}: {theirs:?}");
    }
}

/// What `\sleep`, `\shell` and `\set` say about their operands when it comes to them.
const OPERANDS: &[&str] = &[
    "\\sleep :nosuch ms\n",
    "\\sleep :word us\n",
    "\\sleep :null\n",
    "\\sleep :\n",
    "\\shell echo :nosuch\n",
    "\\shell :nosuch echo\n",
    "\\setshell x echo ::a :1x\n",
    "\\set 1x 5\n",
    "\\set x-y debug(5)\n",
    "\\set ü:x 1/0\n",
    "\\set x :1y\n",
];

#[test]
fn operands_are_refused_with_the_same_messages() {
    let long = format!("\\shell echo {}\n", "x".repeat(250));
    let texts: Vec<_> = OPERANDS.iter().copied().chain([long.as_str()]).collect();
    let ours: Vec<_> = texts.iter().map(|text| told(&format!("{text:?}"), &refused_operand(text))).collect();
    let theirs = lines(&RECORDED, "operands", |program| {
        let defined = ["word=abc", "null=null"].map(str::to_owned);
        let of = |text: &&str| told(&format!("{text:?}"), &said(program, &defined, text));
        texts.iter().map(of).collect()
    });
    assert_same(&ours, theirs);
}

fn refused_operand(text: &str) -> Vec<String> {
    let mut names = Names::new();
    let script = parse("-", text.as_bytes(), Protocol::Simple, &mut names).unwrap();
    let defined = [("word", "abc"), ("null", "null")];
    let mut variables = Variables::new(&names);
    for (name, text) in defined {
        if let Some(slot) = names.find(name) {
            variables.set_spelling(slot, text);
        }
    }
    let mut said = Vec::new();
    let outcome = match &script.commands[0].kind {
        Kind::Sleep { amount, unit } => sleep_us(amount, *unit, &variables, &names).map(|_| ()),
        Kind::Shell { words } | Kind::SetShell { words, .. } => {
            shell_command(words, &variables, &names, &mut Vec::new())
        }
        _ => Client::new(&names, Prng::seed(0), &[], &defined).run(&script, &mut said),
    };
    said.push(format!("pgbench: error: {}", outcome.unwrap_err()));
    said
}
