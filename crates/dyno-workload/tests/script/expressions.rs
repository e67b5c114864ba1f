//! Thousands of random expressions, evaluated by both.

use std::process::Command;

use dyno_test_servers::Postgres;
use dyno_workload::script::random::Prng;
use dyno_workload::script::seeds::Seeds;
use dyno_workload::script::{Names, QueryMode, parse};

use crate::generator::{DEFINED, Generator};
use crate::reference::{programs, refusal, run, seed, server};
use crate::runner::Client;

/// How many expressions a run makes, at least.
const EXPRESSIONS: usize = 8000;
/// How many of those that are refused are tried with pgbench.
const REFUSED_MAX: usize = 300;
/// How many of those that fail.
const FAILING_MAX: usize = 400;
/// How many clients one pgbench runs for those that fail; each ends with its error.
const CLIENTS: usize = 40;

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
fn sort(seed: u64) -> Expressions {
    let mut generator = Generator::new(seed);
    let mut sorted = Expressions { fine: Vec::new(), failing: Vec::new(), refused: Vec::new() };
    let (mut random, built_in) = first_client(seed);
    for _ in 0..EXPRESSIONS {
        let expression = generator.expression();
        let mut names = Names::new();
        let Ok(script) = parse("-", set(&expression).as_bytes(), QueryMode::Simple, &mut names) else {
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

fn pgbench(server: &Postgres, program: &str, seed: u64, clients: usize) -> Command {
    let mut command = server.command(program, "postgres");
    command.args(["-n", "-t", "1", &format!("-c{clients}"), &format!("--random-seed={seed}")]);
    for (name, text) in DEFINED {
        command.arg("-D").arg(format!("{name}={text}"));
    }
    command
}

fn announces_seed(line: &str) -> bool {
    line.starts_with("pgbench: setting random seed to ")
}

#[test]
fn expressions_have_the_same_values() {
    let Some(server) = server() else { return };
    let seed = seed();
    let expressions = sort(seed).fine;
    println!("seed {seed}: {} expressions have values", expressions.len());
    let text: String = expressions.iter().map(|expression| set(expression)).collect();
    let mut names = Names::new();
    let script = parse("-", text.as_bytes(), QueryMode::Simple, &mut names).unwrap();
    let (random, built_in) = first_client(seed);
    let mut ours = Vec::new();
    Client::new(&names, random, &built_in, DEFINED).run(&script, &mut ours).unwrap();
    for program in programs() {
        let said = run(pgbench(&server, program.to_str().unwrap(), seed, 1), text.as_bytes());
        let theirs: Vec<_> = said.lines().filter(|line| !announces_seed(line)).collect();
        for (our, their) in ours.iter().zip(&theirs) {
            let command = our.split(['=', ')']).nth(2).and_then(|number| number.parse::<usize>().ok());
            let expression = command.and_then(|number| expressions.get(number - 1));
            assert_eq!(our, their, "DYNO_SCRIPT_SEED={seed} {}: {expression:?}", program.display());
        }
        assert_eq!(ours.len(), theirs.len(), "DYNO_SCRIPT_SEED={seed} {}: {said}", program.display());
    }
}

/// Each client has its own expression, at which it ends.
#[test]
fn expressions_fail_with_the_same_messages() {
    let Some(server) = server() else { return };
    let seed = seed();
    let failing = sort(seed).failing;
    println!("seed {seed}: {} expressions fail", failing.len());
    for expressions in failing[..failing.len().min(FAILING_MAX)].chunks(CLIENTS) {
        let mut text = String::from("\\if false\n");
        for (client, expression) in expressions.iter().enumerate() {
            text += &format!("\\elif :client_id = {client}\n{}", set(expression));
        }
        text += "\\endif\n";
        let ours = failures(&text, seed, expressions.len());
        for program in programs() {
            let said =
                run(pgbench(&server, program.to_str().unwrap(), seed, expressions.len()), text.as_bytes());
            let aborts =
                |line: &str| line.contains(" aborted in command ") || line.contains("Run was aborted");
            let theirs: Vec<_> = said.lines().filter(|line| !announces_seed(line) && !aborts(line)).collect();
            for (our, their) in ours.iter().zip(&theirs) {
                let what = format!("DYNO_SCRIPT_SEED={seed} {}: {}", program.display(), our.1);
                assert_eq!(our.0, *their, "{what}: {:?}", expressions[our.1]);
            }
            assert_eq!(ours.len(), theirs.len(), "DYNO_SCRIPT_SEED={seed} {}: {said}", program.display());
        }
    }
}

/// The lines that the clients of a run print, and which client prints them.
fn failures(text: &str, seed: u64, clients: usize) -> Vec<(String, usize)> {
    let mut names = Names::new();
    let script = parse("-", text.as_bytes(), QueryMode::Simple, &mut names).unwrap();
    let mut seeds = Seeds::new(seed);
    let random: Vec<_> = (0..clients).map(|_| seeds.client()).collect();
    let default_seed = seeds.default_seed();
    let mut lines = Vec::new();
    for (client, random) in random.into_iter().enumerate() {
        let built_in = built_in(seed, default_seed, client as i64);
        let mut said = Vec::new();
        let outcome = Client::new(&names, random, &built_in, DEFINED).run(&script, &mut said);
        said.extend(outcome.err().map(|error| format!("pgbench: error: {error}")));
        lines.extend(said.into_iter().map(|line| (line, client)));
    }
    lines
}

#[test]
fn expressions_are_refused_with_the_same_messages() {
    let seed = seed();
    let refused = sort(seed).refused;
    println!("seed {seed}: {} expressions are refused", refused.len());
    for expression in refused.iter().take(REFUSED_MAX) {
        let text = set(expression);
        let ours = parse("-", text.as_bytes(), QueryMode::Simple, &mut Names::new()).unwrap_err();
        for program in programs() {
            let theirs = refusal(&program, &[], text.as_bytes());
            let what = format!("DYNO_SCRIPT_SEED={seed} {}: {expression:?}", program.display());
            assert_eq!(format!("pgbench: error: {ours}\n"), theirs, "{what}");
        }
    }
}
