//! Random expressions, evaluated by both: some 1,500 that are recorded, and thousands where the real program is run.

use std::process::Command;
use std::sync::LazyLock;

use dyno_test_servers::{Pgbench, Recorded};
use dyno_workload::script::random::Prng;
use dyno_workload::script::seeds::Seeds;
use dyno_workload::script::{Names, Protocol, parse};

use crate::generator::{DEFINED, Generator};
use crate::pgbench::recordings;
use crate::reference::{Random, lines_of, on_server, refusal, run, told};
use crate::runner::Client;

/// How many expressions are made for those that are recorded.
const EXPRESSIONS: usize = 2300;
/// How many of those that are refused are recorded.
const REFUSED_MAX: usize = 75;
/// How many of those that fail.
const FAILING_MAX: usize = 100;
/// How many clients one pgbench runs for those that fail; each ends with its error.
const CLIENTS: usize = 40;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "expressions"));

/// The expressions of a run, by what becomes of them here.
struct Expressions {
    /// Have values when they are evaluated one after the other.
    fine: Vec<String>,
    failing: Vec<String>,
    refused: Vec<String>,
}

fn set(expression: &str) -> String {
    format!("\\set x debug({expression})\n")
}

/// Sorts expressions by running them one after the other as the first client of a run with this seed.
fn sort(seed: u64, count: usize) -> Expressions {
    let mut generator = Generator::new(seed);
    let mut sorted = Expressions { fine: Vec::new(), failing: Vec::new(), refused: Vec::new() };
    let (mut random, built_in) = first_client(seed);
    for _ in 0..count {
        let expression = generator.expression();
        let mut names = Names::new();
        let Ok(script) = parse("-", set(&expression).as_bytes(), Protocol::Simple, &mut names) else {
            sorted.refused.push(expression);
            continue;
        };
        let mut client = Client::new(&names, random, &built_in, DEFINED);
        if client.run(&script, &mut Vec::new()).is_ok() {
            random = client.random;
            sorted.fine.push(expression);
        } else {
            sorted.failing.push(expression);
        }
    }
    sorted
}

/// The random numbers of a run's only client, and its variables.
fn first_client(seed: u64) -> (Prng, Vec<(&'static str, i64)>) {
    let mut seeds = Seeds::new(seed);
    let client = seeds.client();
    (client, built_in(seed, seeds.default_seed(), 0))
}

fn built_in(seed: u64, default_seed: i64, client: i64) -> Vec<(&'static str, i64)> {
    vec![("scale", 1), ("client_id", client), ("random_seed", seed as i64), ("default_seed", default_seed)]
}

fn pgbench(pgbench: &Pgbench, seed: u64, clients: usize) -> Command {
    let mut command = on_server(pgbench);
    command.args([&format!("-c{clients}"), &format!("--random-seed={seed}")]);
    for (name, text) in DEFINED {
        command.arg("-D").arg(format!("{name}={text}"));
    }
    command
}

fn announces_seed(line: &str) -> bool {
    line.starts_with("pgbench: setting random seed to ")
}

/// The values of expressions that were printed, each behind its expression; what is no value comes last.
fn values(expressions: &[String], printed: &[String]) -> Vec<String> {
    let mut values = vec![Vec::new(); expressions.len()];
    let mut others = Vec::new();
    for line in printed {
        let value = line.strip_prefix("debug(script=0,command=").and_then(|rest| rest.split_once("): "));
        match value.and_then(|(number, value)| Some((number.parse::<usize>().ok()?, value))) {
            Some((number, value)) => values[number - 1].push(value.to_owned()),
            None => others.push(line.clone()),
        }
    }
    let each = expressions.iter().zip(values).map(|(expression, values)| told(expression, &values));
    each.chain(others).collect()
}

#[test]
fn expressions_have_the_same_values() {
    for random in Random::all() {
        let seed = random.seed;
        let expressions = sort(seed, EXPRESSIONS * random.times).fine;
        println!("seed {seed}: {} expressions have values", expressions.len());
        let text: String = expressions.iter().map(|expression| set(expression)).collect();
        let mut names = Names::new();
        let script = parse("-", text.as_bytes(), Protocol::Simple, &mut names).unwrap();
        let (client, built_in) = first_client(seed);
        let mut ours = Vec::new();
        Client::new(&names, client, &built_in, DEFINED).run(&script, &mut ours).unwrap();
        let ours = values(&expressions, &ours);
        let theirs = random.theirs(&RECORDED, "values", |program| {
            let mut said = lines_of(&run(pgbench(program, seed, 1), text.as_bytes()));
            said.retain(|line| !announces_seed(line));
            values(&expressions, &said)
        });
        for (version, theirs) in theirs {
            random.assert_same(version, &ours, &theirs);
        }
    }
}

/// Each client has its own expression, at which it ends.
#[test]
fn expressions_fail_with_the_same_messages() {
    for random in Random::all() {
        let seed = random.seed;
        let mut failing = sort(seed, EXPRESSIONS * random.times).failing;
        println!("seed {seed}: {} expressions fail", failing.len());
        failing.truncate(FAILING_MAX * random.times);
        let scripts: Vec<_> = failing.chunks(CLIENTS).map(|chunk| (chunk, by_client(chunk))).collect();
        let ours = scripts.iter().flat_map(|(expressions, text)| failures(expressions, text, seed));
        let ours: Vec<_> = ours.collect();
        let theirs = random.theirs(&RECORDED, "failures", |program| {
            let said_of = |(expressions, text): &(&[String], String)| {
                let said = run(pgbench(program, seed, expressions.len()), text.as_bytes());
                let aborts =
                    |line: &str| line.contains(" aborted in command ") || line.contains("Run was aborted");
                said.lines()
                    .filter(|line| !announces_seed(line) && !aborts(line))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            scripts.iter().flat_map(said_of).collect()
        });
        let lines: Vec<_> = ours.iter().map(|(line, _)| line.clone()).collect();
        for (version, theirs) in theirs {
            for ((our, expression), their) in ours.iter().zip(&theirs) {
                assert_eq!(our, their, "DYNO_SCRIPT_SEED={seed}, pgbench {version}: {expression}");
            }
            random.assert_same(version, &lines, &theirs);
        }
    }
}

/// A script in which each client has one of these expressions.
fn by_client(expressions: &[String]) -> String {
    let mut text = String::from("\\if false\n");
    for (client, expression) in expressions.iter().enumerate() {
        text += &format!("\\elif :client_id = {client}\n{}", set(expression));
    }
    text + "\\endif\n"
}

/// The lines that the clients of a run print, and the expressions that they are about.
fn failures(expressions: &[String], text: &str, seed: u64) -> Vec<(String, String)> {
    let mut names = Names::new();
    let script = parse("-", text.as_bytes(), Protocol::Simple, &mut names).unwrap();
    let mut seeds = Seeds::new(seed);
    let random: Vec<_> = expressions.iter().map(|_| seeds.client()).collect();
    let default_seed = seeds.default_seed();
    let mut lines = Vec::new();
    for (client, (expression, random)) in expressions.iter().zip(random).enumerate() {
        let built_in = built_in(seed, default_seed, client as i64);
        let mut said = Vec::new();
        let outcome = Client::new(&names, random, &built_in, DEFINED).run(&script, &mut said);
        said.extend(outcome.err().map(|error| format!("pgbench: error: {error}")));
        lines.extend(said.into_iter().map(|line| (line, expression.clone())));
    }
    lines
}

#[test]
fn expressions_are_refused_with_the_same_messages() {
    for random in Random::all() {
        let mut refused = sort(random.seed, EXPRESSIONS * random.times).refused;
        println!("seed {}: {} expressions are refused", random.seed, refused.len());
        refused.truncate(REFUSED_MAX * random.times);
        let ours = refused.iter().map(|expression| {
            let text = set(expression);
            let why = parse("-", text.as_bytes(), Protocol::Simple, &mut Names::new()).unwrap_err();
            told(expression, &lines_of(&format!("pgbench: error: {why}")))
        });
        let ours: Vec<_> = ours.collect();
        let theirs = random.theirs(&RECORDED, "refusals", |program| {
            let refusal = |expression: &String| {
                told(expression, &lines_of(&refusal(program, &[], set(expression).as_bytes())))
            };
            refused.iter().map(refusal).collect()
        });
        for (version, theirs) in theirs {
            random.assert_same(version, &ours, &theirs);
        }
    }
}
