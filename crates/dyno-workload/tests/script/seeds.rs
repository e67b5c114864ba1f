//! The random numbers of a whole run: of each client, and which script comes next.

use std::collections::BTreeMap;
use std::fs;

use dyno_test_servers::Postgres;
use dyno_workload::script::random::Prng;
use dyno_workload::script::seeds::{Seeds, choose};
use dyno_workload::script::{Names, QueryMode, parse};

use crate::reference::{programs, said, server};
use crate::runner::Client;

const SEED: u64 = 5;
const CLIENTS: usize = 3;
/// As pgbench deals them to two threads.
const THREADS: [&[usize]; 2] = [&[0, 1], &[2]];
const TRANSACTIONS: usize = 40;
const WEIGHTS: [i64; 2] = [3, 2];
/// Says which client it is, because pgbench does not.
const SCRIPTS: [&str; 2] = [
    "\\set x debug(:client_id * 1000000 + random(1, 1000))\n",
    "\\set x debug(:client_id * 1000000 + random_gaussian(1, 1000, 3.5))\n\
     \\set y debug(:client_id * 1000000 + permute(:x % 1000, 1000))\n",
];

/// What each client prints, in its order.
type Printed = BTreeMap<usize, Vec<(usize, i64)>>;

fn ours(default_seed_given: Option<i64>) -> (Printed, i64) {
    let mut names = Names::new();
    let scripts =
        SCRIPTS.map(|text| parse("-", text.as_bytes(), QueryMode::Simple, &mut names).unwrap());
    let mut seeds = Seeds::new(SEED);
    let random: Vec<Prng> = (0..CLIENTS).map(|_| seeds.client()).collect();
    let default_seed = default_seed_given.unwrap_or_else(|| seeds.default_seed());
    let mut clients: Vec<_> = random
        .into_iter()
        .enumerate()
        .map(|(client, random)| {
            let built_in = [("client_id", client as i64), ("default_seed", default_seed)];
            Client::new(&names, random, &built_in, &[])
        })
        .collect();
    let mut printed = Printed::new();
    for of_thread in THREADS {
        let mut stream = seeds.thread().script;
        // The clients of a thread take turns.
        for client in (0..TRANSACTIONS).flat_map(|_| of_thread) {
            let script = choose(&WEIGHTS, &mut stream);
            let mut lines = Vec::new();
            clients[*client].run(&scripts[script], &mut lines).unwrap();
            let values = lines.iter().map(|line| (script, line.rsplit(' ').next().unwrap().parse().unwrap()));
            printed.entry(*client).or_default().extend(values);
        }
    }
    (printed, default_seed)
}

fn theirs(server: &Postgres, program: &str, define: &[&str]) -> Printed {
    let mut command = server.command(program, "postgres");
    let seed = format!("--random-seed={SEED}");
    command.args(["-n", "-c3", "-j2", &format!("-t{TRANSACTIONS}"), &seed]).args(define);
    for (index, (script, weight)) in SCRIPTS.into_iter().zip(WEIGHTS).enumerate() {
        let path = server.directory().join(format!("seeds-{index}.sql"));
        fs::write(&path, script).unwrap();
        command.arg("-f").arg(format!("{}@{weight}", path.display()));
    }
    let mut printed = Printed::new();
    for line in said(&mut command).lines() {
        // `debug(script=0,command=1): int 5`
        let Some(rest) = line.strip_prefix("debug(script=") else { continue };
        let script = rest.split(',').next().unwrap().parse().unwrap();
        let value: i64 = rest.rsplit(' ').next().unwrap().parse().unwrap();
        printed.entry((value / 1_000_000) as usize).or_default().push((script, value));
    }
    printed
}

#[test]
fn runs_have_the_same_random_numbers() {
    let Some(server) = server() else { return };
    let (ours, _) = ours(None);
    assert!(ours[&0].iter().any(|(script, _)| *script == 0) && ours[&0].iter().any(|(script, _)| *script == 1));
    for program in programs() {
        assert_eq!(ours, theirs(&server, program.to_str().unwrap(), &[]), "{}", program.display());
    }
}

/// A default seed that is given is not drawn, which moves the threads' numbers.
#[test]
fn a_given_default_seed_takes_no_random_number() {
    let Some(server) = server() else { return };
    let (given, seed) = ours(Some(42));
    assert_eq!(seed, 42);
    assert_ne!(given, ours(None).0);
    for program in programs() {
        let theirs = theirs(&server, program.to_str().unwrap(), &["-Ddefault_seed=42"]);
        assert_eq!(given, theirs, "{}", program.display());
    }
}
