use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dyno_workload::pgbench::initialize::{PartitionMethod, Step};
use dyno_workload::pgbench::log::LogOptions;
use dyno_workload::script::Protocol;

use super::*;

#[path = "../../../tests/pgbench_options/cases.rs"]
mod cases;
#[path = "../../../tests/pgbench_options/recorded.rs"]
pub(crate) mod recorded;

/// What we make of a command line, and what was said meanwhile.
fn read(arguments: &[&str], environment: &[(&str, &str)]) -> (Result<Parsed, PgbenchFailed>, String) {
    let variables: BTreeMap<_, _> = environment.iter().copied().collect();
    let mut said = String::new();
    let parsed = parse(
        arguments.iter().map(OsString::from).collect(),
        &|name| variables.get(name).map(|value| (*value).to_owned()),
        &mut |text| said.push_str(text),
    );
    (parsed, said)
}

fn run(arguments: &[&str]) -> RunOptions {
    match read(arguments, &[]).0 {
        Ok(Parsed::Run(options)) => *options,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn initialize(arguments: &[&str]) -> (ConnectionOptions, Initialization) {
    match read(arguments, &[]).0 {
        Ok(Parsed::Initialize(connection, tables)) => (connection, *tables),
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn script(name: &str, weight: u32) -> ScriptChoice {
    ScriptChoice { source: ScriptSource::Builtin(builtin::find(name).unwrap()), weight }
}

fn defaults() -> RunOptions {
    RunOptions {
        connection: ConnectionOptions::default(),
        scripts: vec![script("tpcb-like", 1)],
        load: LoadOptions::default(),
        end: End::TransactionsPerClient(10),
        vacuum: Vacuum::Usual,
        scale: None,
        progress: None,
        extras: Extras::Usual,
    }
}

fn log(prefix: &str, sampling_rate: Option<f64>, aggregate_s: Option<u32>) -> Option<LogOptions> {
    Some(LogOptions { prefix: prefix.into(), sampling_rate, aggregate_s })
}

#[test]
fn runs_mean_what_was_typed() {
    type Change = fn(&mut RunOptions);
    let cases: &[(&[&str], Change)] = &[
        (&[], |_| {}),
        (&["-c10", "-j", "4"], |it| (it.load.clients, it.load.threads) = (10, 4)),
        (&["--client=3", "--jobs", "8"], |it| (it.load.clients, it.load.threads) = (3, 3)),
        (&["--cl= 3 "], |it| it.load.clients = 3),
        (&["-nSc2", "bank"], |it| {
            it.vacuum = Vacuum::Nothing;
            it.scripts = vec![script("select-only", 1)];
            it.load.clients = 2;
            it.connection.database = Some("bank".into());
        }),
        (&["bank", "-v", "-T60"], |it| {
            it.connection.database = Some("bank".into());
            it.vacuum = Vacuum::All;
            it.end = End::Duration(Duration::from_secs(60));
        }),
        (&["-nv"], |it| it.vacuum = Vacuum::Nothing),
        (&["--", "-S"], |it| it.connection.database = Some("-S".into())),
        (&["-"], |it| it.connection.database = Some("-".into())),
        (&["-h", "h", "-p5", "-U", "u", "-d", "postgres://x"], |it| {
            it.connection = ConnectionOptions {
                host: Some("h".into()),
                port: Some("5".into()),
                user: Some("u".into()),
                database: Some("postgres://x".into()),
            };
        }),
        (&["-b", "tpcb@3", "-b", "si@0", "-f-@2", "-f", "a@b@7", "-N"], |it| {
            it.scripts = vec![
                script("tpcb-like", 3),
                script("simple-update", 0),
                ScriptChoice { source: ScriptSource::StandardInput, weight: 2 },
                ScriptChoice { source: ScriptSource::File("a@b".into()), weight: 7 },
                script("simple-update", 1),
            ];
        }),
        (&["-D", "a=1", "-Da=b=c", "-D", "é=2"], |it| {
            it.load.defines =
                [("a", "1"), ("a", "b=c"), ("é", "2")].map(|(a, b)| (a.into(), b.into())).to_vec();
        }),
        (&["-M", "prepared", "-C", "-r"], |it| {
            it.load.mode = Protocol::Prepared;
            (it.load.connects_each, it.load.time_commands) = (true, true);
        }),
        (&["-R", "1.5e2/s", "-L", " 20.5ms"], |it| {
            it.load.rate = Some(150.0);
            it.load.latency_limit = Some(Duration::from_micros(20_500));
        }),
        (&["-L", "0.0004"], |_| {}),
        (&["-R", "1e999"], |_| {}),
        (&["-L", "1e999"], |it| it.load.latency_limit = Some(Duration::from_micros(i64::MAX.unsigned_abs()))),
        (&["--max-tries=0", "-T", "3"], |it| {
            it.load.tries_max = None;
            it.end = End::Duration(Duration::from_secs(3));
        }),
        (&["--max-tries", "5x"], |it| it.load.tries_max = Some(5)),
        (&["-l"], |it| it.load.log = log("pgbench_log", None, None)),
        (&["-l", "--sampling-rate=.25", "--log-prefix=x"], |it| it.load.log = log("x", Some(0.25), None)),
        (&["-l", "--agg=2", "-T", "6"], |it| {
            it.load.log = log("pgbench_log", None, Some(2));
            it.end = End::Duration(Duration::from_secs(6));
        }),
        (&["-P", "5", "--progress-t"], |it| {
            it.progress = Some(ProgressOptions { every: Duration::from_secs(5), timestamps: true });
        }),
        (
            &["--failures-detailed", "--verbose-errors", "--exit-on-abort", "--debug", "--continue-on-error"],
            |it| {
                let load = &mut it.load;
                (load.failures_detailed, load.verbose_errors, load.exit_on_abort) = (true, true, true);
                (load.debug, load.continue_on_error) = (true, true);
            },
        ),
        (&["-s", "50"], |it| it.scale = Some(50)),
        (&["--con"], |it| it.load.connects_each = true),
        (&["--cont"], |it| it.load.continue_on_error = true),
        (&["--no"], |it| it.vacuum = Vacuum::Nothing),
        (&["--dyno=full"], |it| it.extras = Extras::Full),
        (&["--dyno=full", "--dyno"], |it| it.extras = Extras::Full),
        (&["--dyno", "full"], |it| {
            (it.connection.database, it.extras) = (Some("full".into()), Extras::Brief);
        }),
        (&["--no-dyno"], |it| it.extras = Extras::Off),
        (&["--no-d", "--dy"], |it| it.extras = Extras::Brief),
    ];
    for (arguments, change) in cases {
        let mut wanted = defaults();
        change(&mut wanted);
        // The seed is the clock's.
        let mut made = run(arguments);
        made.load.random_seed = 0;
        assert_eq!(made, wanted, "{arguments:?}");
    }
}

#[test]
fn initialising_means_what_was_typed() {
    let usual = Initialization::default();
    let made = |arguments: &[&str]| initialize(arguments).1;
    let steps = |letters: &str| Initialization { steps: Step::parse_all(letters).unwrap(), ..usual.clone() };
    assert_eq!(made(&["-i"]), usual);
    assert_eq!(made(&["-in"]), steps("dtgp"));
    assert_eq!(made(&["-i", "--foreign-keys"]), steps("dtgvpf"));
    assert_eq!(made(&["-i", "-IdtGf vp", "--foreign-keys", "-n"]), steps("dtGfp"));
    let all = ["-iq", "-s5", "-F", "10", "--unlogged", "--tablespace=t", "--index=i", "db", "--debug"];
    let wanted = Initialization {
        scale: 5,
        fillfactor: 10,
        quiet: true,
        unlogged: true,
        tablespace: Some("t".into()),
        index_tablespace: Some("i".into()),
        ..usual.clone()
    };
    assert_eq!(made(&all), wanted);
    assert_eq!(initialize(&all).0.database.as_deref(), Some("db"));
    let partitioned =
        |partition_method, partitions| Initialization { partition_method, partitions, ..usual.clone() };
    assert_eq!(made(&["-i", "--partitions=3"]), partitioned(PartitionMethod::Range, 3));
    let hash = partitioned(PartitionMethod::Hash, 3);
    assert_eq!(made(&["-i", "--partitions=3", "--partition-method=HASH"]), hash);
    assert_eq!(made(&["-i", "--partitions=0"]), usual);
}

#[test]
fn the_environment_is_heeded() {
    let (parsed, said) = read(&[], &[("PGBENCH_RANDOM_SEED", "7"), ("DYNO_PGBENCH", "off")]);
    let Ok(Parsed::Run(options)) = parsed else { panic!("{parsed:?}") };
    assert_eq!((options.load.random_seed, options.extras), (7, Extras::Off));
    assert_eq!(said, "pgbench: setting random seed to 7\n");
    let (parsed, said) = read(&["--random-seed=rand"], &[("PGBENCH_RANDOM_SEED", "time")]);
    let Ok(Parsed::Run(options)) = parsed else { panic!("{parsed:?}") };
    assert_eq!(
        said.lines().last().unwrap(),
        format!("pgbench: setting random seed to {}", options.load.random_seed)
    );
    let (parsed, _) = read(&["--dyno"], &[("DYNO_PGBENCH", "full")]);
    assert!(matches!(parsed, Ok(Parsed::Run(options)) if options.extras == Extras::Full));
    for (arguments, variable) in [(&[][..], "loud"), (&["--dyno=loud"], "off")] {
        let error = read(arguments, &[("DYNO_PGBENCH", variable)]).0.unwrap_err();
        let error = error.stderr();
        assert!(error.starts_with("pgbench: error: ") && error.contains("\"loud\""), "{error}");
    }
}

#[test]
fn help_and_version_come_first_or_not_at_all() {
    for (argument, other) in [("--help", "-?"), ("--version", "-V")] {
        for argument in [argument, other] {
            assert!(matches!(read(&[argument, "-x"], &[]).0, Ok(Parsed::Help | Parsed::Version)));
            assert!(read(&["-S", argument], &[]).0.is_err());
        }
    }
}

#[test]
fn at_most_128_scripts() {
    assert_eq!(run(&["-S"; 128]).scripts.len(), 128);
    let error = read(&["-S"; 129], &[]).0.unwrap_err();
    assert_eq!(error.stderr(), "pgbench: error: at most 128 SQL scripts are allowed\n");
}

#[test]
fn names_of_files_may_be_any_bytes() {
    use std::os::unix::ffi::OsStringExt as _;
    let name = OsString::from_vec(b"\xFFa@4".to_vec());
    let parsed = parse(vec!["-f".into(), name], &|_| None, &mut |_| ()).unwrap();
    let Parsed::Run(options) = parsed else { panic!() };
    let file = PathBuf::from(OsString::from_vec(b"\xFFa".to_vec()));
    assert_eq!(options.scripts, [ScriptChoice { source: ScriptSource::File(file), weight: 4 }]);
}

/// A sequence of numbers below a limit, the same every time.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut below = numbers(7);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..50_000 {
        let argument = |below: &mut dyn FnMut(usize) -> usize| -> OsString {
            let letters = b"-==@@.+e019 bcDfFIjLMPRstT\xC3\xA9\xFF";
            OsString::from_vec((0..below(7)).map(|_| letters[below(letters.len())]).collect())
        };
        let arguments = (0..=below(3)).map(|_| argument(&mut below)).collect();
        match parse(arguments, &|_| None, &mut |_| ()) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(error.stderr().starts_with("pgbench: "));
                refused += 1;
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} {refused}");
}

/// What we say to what is not accepted, as recordings have it.
fn ours(arguments: &[&str], environment: &[(&str, &str)]) -> Option<String> {
    let (parsed, said) = read(arguments, environment);
    let (text, status) = match parsed {
        Ok(Parsed::ListBuiltins) => (builtins(), 0),
        Ok(Parsed::ShowScript(script)) => (script_text(script), 0),
        Ok(_) => return None,
        Err(error) => (error.stderr().to_owned(), 1),
    };
    Some(recorded::told(Some(status), "", &(said + &text)))
}

/// What a program says.
fn theirs(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    recorded::read(&recorded::finish(&mut Command::new(program), arguments, environment))
}

#[test]
fn refusals_read_as_pgbench_prints_them() {
    let file = recorded::open("refusals");
    for (arguments, since) in cases::all() {
        let run = |program: &Path| Some(theirs(program, arguments, &[]));
        if let Some(expected) = recorded::get(&file, &format!("{arguments:?}"), since, run) {
            assert_eq!(ours(arguments, &[]), Some(expected), "{arguments:?}");
        }
    }
    for seed in ["", "x", "1 "] {
        let environment = [("PGBENCH_RANDOM_SEED", seed)];
        let run = |program: &Path| Some(theirs(program, &[], &environment));
        if let Some(expected) = recorded::get(&file, &format!("PGBENCH_RANDOM_SEED={seed:?}"), 15, run) {
            assert_eq!(ours(&[], &environment), Some(expected), "{seed:?}");
        }
    }
}

/// Words that every pgbench since 15 understands, or does not, in the same way.
const WORDS: &[&str] = &[
    "-S",
    "-N",
    "-n",
    "-i",
    "-l",
    "-C",
    "-r",
    "-v",
    "-q",
    "-c",
    "-j",
    "-t",
    "-T",
    "-P",
    "-R",
    "-L",
    "-M",
    "-s",
    "-F",
    "-I",
    "-b",
    "-D",
    "-h",
    "-p",
    "-U",
    "-nS",
    "-nSc",
    "-c2",
    "-T4",
    "-lT",
    "-il",
    "-z",
    "--",
    "-",
    "db",
    "1",
    "2",
    "4",
    "10",
    "0",
    "-1",
    " 3",
    "x",
    "",
    "1.5",
    "a=1",
    "se",
    "si@2",
    "tpcb@0",
    "simple",
    "prepared",
    "dtgvp",
    "50",
    "hash",
    "--log",
    "--client",
    "--client=3",
    "--cli",
    "--time=4",
    "--tim",
    "--builtin=se",
    "--partitions",
    "--partitions=3",
    "--partition-method=hash",
    "--sampling-rate=0.5",
    "--aggregate-interval=2",
    "--max-tries=0",
    "--progress-timestamp",
    "--foreign-keys",
    "--random-seed=3",
    "--log-prefix=p",
    "--no-v",
    "--initialize",
    "--unl",
    "--scale",
    "--latency-limit=3",
    "--zzz",
    "--quiet=1",
    "--host",
];

#[test]
fn any_words_are_taken_as_pgbench_takes_them() {
    const ACCEPTED: &str = "accepted";
    let file = recorded::open("words");
    let mut below = numbers(42);
    let mut accepted = 0;
    for _ in 0..600 {
        let count = 1 + below(5);
        let arguments: Vec<&str> = (0..count).map(|_| WORDS[below(WORDS.len())]).collect();
        let ours = ours(&arguments, &[]).unwrap_or_else(|| ACCEPTED.to_owned());
        accepted += u32::from(ours == ACCEPTED);
        let run = |program: &Path| {
            let said = theirs(program, &arguments, &[]);
            // It got so far as to look for the server.
            Some(if said.contains("could not create connection for ") { ACCEPTED.to_owned() } else { said })
        };
        if let Some(theirs) = recorded::get(&file, &format!("{arguments:?}"), 15, run) {
            assert_eq!(ours, theirs, "{arguments:?}");
        }
    }
    assert!(accepted > 30, "{accepted}");
}
