use super::*;
use crate::front_end::Extras;

fn read(words: &str) -> Result<CommandLine, SysbenchUsageError> {
    let read_file = |path: &str| match path {
        "file" => Ok("# a comment\nthreads = 4\n\n[part]\n--time=7\nbogus=1\ndebug\n".to_owned()),
        "wrong" => Ok("threads=x".to_owned()),
        _ => Err("No such file or directory".to_owned()),
    };
    let mut said = String::new();
    let line =
        CommandLine::read(words.split(' ').map(str::to_owned), &read_file, &mut |text| said.push_str(text));
    assert_eq!(said.is_empty(), !words.contains("nope") && !words.contains("--test="), "{said}");
    line
}

fn settings(words: &str) -> (Result<SysbenchSettings, String>, String) {
    settings_in(None, words)
}

/// The same where the environment says this of what dyno adds.
fn settings_in(environment: Option<&str>, words: &str) -> (Result<SysbenchSettings, String>, String) {
    let line = read(words).unwrap();
    let mut said = String::new();
    let settings = SysbenchSettings::new(&line.options, &|_| environment.map(str::to_owned), &mut |text| {
        said.push_str(text);
        said.push('\n');
    });
    (settings.map_err(|error| error.to_string()), said)
}

fn declared(name: &str, kind: OptionKind) -> DeclaredOption {
    known::declared(name, kind, Some("3"), "")
}

#[test]
fn the_first_words_are_test_and_command_wherever_they_stand() {
    let line = read("--threads=2 test --time=5 run").unwrap();
    assert_eq!((line.test.as_deref(), line.command.as_deref()), (Some("test"), Some("run")));
    assert_eq!((line.options.integer("threads"), line.options.integer("time")), (2, 5));
    let line = read("prepare --test=first --test=second").unwrap();
    assert_eq!((line.test.as_deref(), line.command.as_deref()), (Some("second"), Some("prepare")));
    assert_eq!(read("--test= a b").unwrap().test.as_deref(), Some("a"));
    assert_eq!(read("--test=a b c").unwrap_err().to_string(), "Unrecognized command line argument: c");
    assert_eq!(read("a b c").unwrap_err().to_string(), "Unrecognized command line argument: c");
    assert_eq!(read("-x b").unwrap().test.as_deref(), Some("-x"));
}

#[test]
fn numbers_are_looked_at_where_they_stand() {
    let refused = |words| read(words).unwrap_err().to_string();
    assert_eq!(refused("--threads=4x a"), "Invalid value for the 'threads' option: '4x'");
    assert_eq!(refused("--report-interval=1.5"), "Invalid value for the 'report_interval' option: '1.5'");
    assert!(read("--pgsql-port=x --threads=").is_ok());
}

#[test]
fn the_last_word_counts_and_dashes_are_underscores() {
    let options = read("--rand_type=uniform --rand-type=pareto --debug=off --debug").unwrap().options;
    assert_eq!(options.text("rand-type"), Some("pareto"));
    assert!(options.flag("debug"));
    assert_eq!(options.text("mysql_user"), Some("sbtest"));
    assert_eq!(options.text("mysql_socket"), None);
}

#[test]
fn files_stand_where_they_are_named() {
    let options = read("--threads=2 --config-file=file --config-file=nope").unwrap().options;
    assert_eq!((options.integer("threads"), options.integer("time")), (4, 7));
    assert!(options.flag("debug"));
    assert_eq!(options.unknown_in_files().collect::<Vec<_>>(), ["bogus"]);
    assert_eq!(read("--config-file=file --threads=2").unwrap().options.integer("threads"), 2);
    assert!(read("--config-file=wrong").is_err());
}

#[test]
fn a_test_adds_its_own_options_and_others_are_refused() {
    let mut options = read("--range-size=5K --threads=2").unwrap().options;
    assert_eq!(options.declare(Some(vec![declared("range_size", OptionKind::Integer)]), true), Ok(()));
    assert_eq!(options.lenient_integer("range_size"), 5);
    let refused = |words: &str, declared: Option<Vec<DeclaredOption>>| {
        let checked = read(words).unwrap().options.declare(declared, true);
        checked.map_err(|error| error.to_string())
    };
    assert_eq!(refused("--x=1", Some(Vec::new())), Err("invalid option: --x=1".to_owned()));
    assert_eq!(refused("--x=1", None), Ok(()));
    assert_eq!(refused("--debug=x", None), Err("invalid option: --debug=x".to_owned()));
    let port = Err("Invalid value for the 'pgsql_port' option: 'x'".to_owned());
    assert_eq!(refused("--pgsql-port=x", Some(Vec::new())), port);
    assert_eq!(read("--pgsql-port=x").unwrap().options.declare(Some(Vec::new()), false), Ok(()));
    let mut untyped = read("run").unwrap().options;
    assert_eq!(untyped.declare(Some(vec![declared("list", OptionKind::List)]), true), Ok(()));
    assert_eq!(untyped.list("list"), ["3"]);
}

#[test]
fn defaults_are_those_of_sysbench() {
    let (settings, said) = settings("run");
    let settings = settings.unwrap();
    assert_eq!((settings.threads.get(), settings.events, settings.rate), (1, None, None));
    assert_eq!(settings.time, Some(std::time::Duration::from_secs(10)));
    assert_eq!((settings.percentile, settings.verbosity, settings.seed), (95, 3, None));
    assert_eq!(settings.extras, Extras::Usual);
    assert_eq!(said, "");
}

#[test]
fn former_names_are_understood_with_a_warning() {
    let (read, said) = settings("--num-threads=3 --max-time=4 --max-requests=5 --tx-rate=6");
    let read = read.unwrap();
    assert_eq!((read.threads.get(), read.events, read.rate), (3, Some(5), Some(6)));
    assert!(said.starts_with("--num-threads is deprecated, use --threads instead\n"), "{said}");
    assert!(said.contains("--tx-rate is deprecated, use --rate instead\n"), "{said}");
    assert_eq!(settings("--num-threads=0 --max-time=0").1, "");
}

#[test]
fn what_cannot_be_run_is_refused_in_the_order_of_sysbench() {
    for (words, error) in [
        ("--threads=0 --verbosity=9", "FATAL: Invalid value for --threads: 0.\n"),
        ("--forced-shutdown=5x --thread-stack-size=x", "FATAL: Invalid value for --forced-shutdown: '5x'"),
        ("--thread-stack-size=x", "FATAL: Invalid value for thread-stack-size: 0.\n"),
        ("--report-checkpoints=x --rand-type=x", "FATAL: Invalid random numbers distribution: x."),
        ("--report-checkpoints=1,x --percentile=101", "FATAL: Invalid value for --report-checkpoints: 'x'"),
        ("--verbosity=-1 --percentile=101", "Invalid value for verbosity: 255"),
        ("--percentile=101", "FATAL: Invalid value for --percentile: 101"),
        ("--dyno=x", "FATAL: invalid value \"x\" of --dyno: expecting \"off\", \"brief\" or \"full\""),
    ] {
        assert_eq!(settings(words).0.unwrap_err(), error, "{words}");
    }
}

#[test]
fn without_any_limit_there_is_a_warning() {
    let (read, said) = settings("--events=0 --time=0 --forced-shutdown=x");
    assert_eq!(read.unwrap().time, None);
    assert!(said.contains("running an endless test"), "{said}");
}

#[test]
fn checkpoints_are_put_in_order() {
    let seconds = |words| {
        let checkpoints = settings(words).0.unwrap().checkpoints;
        checkpoints.iter().map(std::time::Duration::as_secs).collect::<Vec<_>>()
    };
    assert_eq!(seconds("--report-checkpoints=3,1,,2"), [1, 2, 3]);
    assert!(seconds("--report-checkpoints=").is_empty());
}

#[test]
fn dyno_says_as_much_as_it_is_asked_for() {
    let extras = |words| settings(words).0.unwrap().extras;
    assert_eq!(extras("--dyno"), Extras::Full);
    assert_eq!(extras("--dyno=off"), Extras::Off);
    assert_eq!(extras("--dyno=full --no-dyno"), Extras::Off);
    let by_environment = |text, words| settings_in(Some(text), words).0.map(|settings| settings.extras);
    assert_eq!(by_environment("full", "run"), Ok(Extras::Full));
    assert_eq!(by_environment("", "run"), Ok(Extras::Usual));
    assert_eq!(by_environment("x", "--dyno=off"), Ok(Extras::Off));
    assert!(by_environment("x", "run").unwrap_err().contains("\"x\" of DYNO_SYSBENCH"));
}

#[test]
fn integers_are_whole_or_refused() {
    for (text, value) in [("4", 4), ("", 0), ("-1", -1), (" +7", 7)] {
        assert_eq!(strict_integer(text), Some(value), "{text}");
    }
    for text in ["4x", "x", "1.5", "1K", "99999999999", "99999999999999999999", "4 "] {
        assert_eq!(strict_integer(text), None, "{text}");
    }
}
