//! The random numbers of a whole run: of each client, and which script comes next.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use dyno_test_servers::{Pgbench, Recorded};
use dyno_workload::script::random::Prng;
use dyno_workload::script::seeds::{Seeds, choose};
use dyno_workload::script::{Names, Protocol, parse};

use crate::pgbench::{lines, recordings};
use crate::reference::{on_server, said};
use crate::runner::Client;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "seeds"));

const SEED: u64 = 5;
const CLIENTS: usize = 3;
/// As pgbench deals the clients to one thread and to two.
const ONE_THREAD: &[&[usize]] = &[&[0, 1, 2]];
const TWO_THREADS: &[&[usize]] = &[&[0, 1], &[2]];
const TRANSACTIONS: usize = 40;
const WEIGHTS: [i64; 2] = [3, 2];
const SCRIPTS: [&str; 2] = [
    "\\set x debug(:client_id * 1000000 + random(1, 1000))\n",
    "\\set x debug(:client_id * 1000000 + random_gaussian(1, 1000, 3.5))\n\
     \\set y debug(permute(:x % 1000, 1000))\n",
];

/// Of a whole run: the lines that the clients print, and the scripts that each of them is given.
struct Run {
    printed: Vec<String>,
    scripts: BTreeMap<usize, Vec<usize>>,
}

/// Runs the scripts as pgbench's threads would; the clients of a thread take turns.
fn ours(threads: &[&[usize]], default_seed: Option<i64>) -> Run {
    let mut names = Names::new();
    let scripts = SCRIPTS.map(|text| parse("-", text.as_bytes(), Protocol::Simple, &mut names).unwrap());
    let mut seeds = Seeds::new(SEED);
    let random: Vec<Prng> = (0..CLIENTS).map(|_| seeds.client()).collect();
    let default_seed = default_seed.unwrap_or_else(|| seeds.default_seed());
    let client = |(client, random)| {
        Client::new(&names, random, &[("client_id", client as i64), ("default_seed", default_seed)], &[])
    };
    let mut clients: Vec<_> = random.into_iter().enumerate().map(client).collect();
    let mut run = Run { printed: Vec::new(), scripts: BTreeMap::new() };
    for clients_of_thread in threads {
        let mut stream = seeds.thread().script;
        for client in (0..TRANSACTIONS).flat_map(|_| *clients_of_thread) {
            let script = choose(&WEIGHTS, &mut stream);
            let mut lines = Vec::new();
            clients[*client].run(&scripts[script], &mut lines).unwrap();
            let named = format!("debug(script={script},");
            run.printed.extend(lines.iter().map(|line| line.replace("debug(script=0,", &named)));
            run.scripts.entry(*client).or_default().push(script);
        }
    }
    run
}

/// A run whose scripts are in this directory.
fn pgbench(pgbench: &Pgbench, threads: &[&[usize]], directory: &Path) -> Command {
    let mut command = on_server(pgbench);
    command.args([&format!("-c{CLIENTS}"), &format!("-j{}", threads.len()), &format!("-t{TRANSACTIONS}")]);
    command.arg(format!("--random-seed={SEED}"));
    for (index, (script, weight)) in SCRIPTS.into_iter().zip(WEIGHTS).enumerate() {
        let path = directory.join(format!("seeds-{index}.sql"));
        fs::write(&path, script).unwrap();
        command.arg("-f").arg(format!("{}@{weight}", path.display()));
    }
    command
}

/// Lines that the clients print, as they are recorded: a few in each.
fn shortened(printed: &[String]) -> Vec<String> {
    let short =
        |line: &String| line.replace("debug(script=", "").replace(",command=", "/").replace("): int", ":");
    printed.chunks(8).map(|chunk| chunk.iter().map(short).collect::<Vec<_>>().join(", ")).collect()
}

fn compare_printed(key: &str, default_seed: Option<i64>) {
    let ours = shortened(&ours(ONE_THREAD, default_seed).printed);
    let theirs = lines(&RECORDED, key, |program| {
        let directory = tempfile::tempdir().unwrap();
        let mut command = pgbench(program, ONE_THREAD, directory.path());
        command.args(default_seed.map(|seed| format!("-Ddefault_seed={seed}")));
        let said = said(&mut command);
        let printed: Vec<_> =
            said.lines().filter(|line| line.starts_with("debug(")).map(str::to_owned).collect();
        shortened(&printed)
    });
    for (version, theirs) in theirs {
        assert_eq!(ours, theirs, "pgbench {version}");
    }
}

#[test]
fn clients_have_the_same_random_numbers() {
    compare_printed("random numbers", None);
}

/// It is not drawn, which moves the threads' numbers.
#[test]
fn a_given_default_seed_takes_no_random_number() {
    assert_ne!(ours(ONE_THREAD, Some(42)).scripts, ours(ONE_THREAD, None).scripts);
    compare_printed("random numbers with -Ddefault_seed=42", Some(42));
}

/// With several threads what they print is mixed up, but each has its own log.
#[test]
fn threads_choose_the_same_scripts() {
    let ours = chosen(&ours(TWO_THREADS, None).scripts);
    let theirs = lines(&RECORDED, "scripts chosen by two threads", |program| {
        let directory = tempfile::tempdir().unwrap();
        let mut command = pgbench(program, TWO_THREADS, directory.path());
        let prefix = directory.path().join("log");
        let said = said(command.arg("-l").arg(format!("--log-prefix={}", prefix.display())));
        let mut theirs = BTreeMap::<usize, Vec<usize>>::new();
        for file in fs::read_dir(directory.path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sql") {
                continue;
            }
            for line in fs::read_to_string(path).unwrap().lines() {
                // `client transaction latency script seconds microseconds`
                let words: Vec<_> = line.split(' ').collect();
                theirs.entry(words[0].parse().unwrap()).or_default().push(words[3].parse().unwrap());
            }
        }
        assert!(!theirs.is_empty(), "{said}");
        chosen(&theirs)
    });
    for (version, theirs) in theirs {
        assert_eq!(ours, theirs, "pgbench {version}");
    }
}

/// A line for each client: the numbers of its scripts.
fn chosen(scripts: &BTreeMap<usize, Vec<usize>>) -> Vec<String> {
    let line = |(client, scripts): (&usize, &Vec<usize>)| {
        format!("client {client}: {}", scripts.iter().map(usize::to_string).collect::<String>())
    };
    scripts.iter().map(line).collect()
}
