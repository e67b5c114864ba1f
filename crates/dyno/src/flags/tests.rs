//! What names and options stand for.

use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;
use crate::plan::Plan;
use crate::plan::tests::specification;

fn refused(line: &str) -> String {
    specification(line).unwrap_err().to_string()
}

#[test]
fn all_that_come_with_dyno_can_be_run() {
    for (name, text) in BUILT_IN {
        assert!(parse(name, text).unwrap().about.is_some(), "{name} says what it is for");
        assert!(Plan::resolve(specification(name).unwrap(), 1).is_ok(), "{name}");
    }
}

const DOCUMENT: &str = include_str!("../../../../docs/scenario.md");

#[test]
fn the_document_has_every_field_and_its_examples_can_be_run() {
    let examples: Vec<_> = DOCUMENT.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let spec = parse("example", example.split("```").next().unwrap()).unwrap();
        Flags::default().specification(None, Some(spec)).unwrap();
    }
    let schema = schemars::schema_for!(RunSpec).to_value();
    let definitions = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    let complete = crate::command::plan::schema();
    let text = complete.to_string();
    for name in text.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(complete["$defs"].get(name).is_some(), "{name} is in no $defs");
    }
    let fields = definitions.filter_map(|of| of["properties"].as_object()).flat_map(|of| of.keys());
    for field in fields {
        assert!(DOCUMENT.contains(&format!("`{field}`")), "{field} is not in docs/scenario.md");
    }
}

#[test]
fn options_of_a_course_over_a_file_are_for_the_streams_that_have_one() {
    let streams = |first: &str| {
        let text = format!(
            "version = 1\n[[phases]]\n[[phases.streams]]\nworkload = \"tpcb/tpcb-like\"\nload = {{ {first} }}\n\
             [[phases.streams]]\nworkload = \"tpcb/select-only\"\nload = {{ clients = \"1\" }}\n"
        );
        let (step, hold) = (Some("3s".parse().unwrap()), Some("4s".parse().unwrap()));
        let typed = LoadSpec { step, hold, ..LoadSpec::default() };
        let load = StreamSpec { load: typed, ..StreamSpec::default() };
        let spec = Flags { load, ..Flags::default() }.specification(None, Some(parse("x", &text).unwrap()));
        let streams = spec.unwrap().phases.remove(0).streams;
        streams
            .into_iter()
            .map(|stream| stream.load.step.is_some() && stream.load.hold.is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(streams("clients = \"1,2,4\""), [true, false]);
    assert_eq!(streams("ramp = \"1..9\""), [true, false]);
    // None of them has one.
    assert_eq!(streams("clients = \"4\""), [true, true]);
}

#[test]
fn every_option_of_a_run_says_what_it_is_for() {
    let cli = Cli::command();
    let run = cli.find_subcommand("run").unwrap();
    for argument in run.get_arguments() {
        assert!(argument.get_help().is_some(), "{argument:?}");
    }
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest() {
    let error = |text: &str| parse("x.toml", &format!("version = 1\n{text}")).unwrap_err().to_string();
    assert!(error("qiuck = true").contains("did you mean `quick`?"), "{}", error("qiuck = true"));
    assert!(
        error("[[phases]]\n[[phases.streams]]\nload = { duratoin = 5 }").contains("did you mean `duration`?")
    );
    assert!(error("seed = \"ten\"").contains("wrong"));
    assert!(parse("x.toml", "\u{0}").is_err());
    let version = parse("x.toml", "version = 9").unwrap_err();
    assert!(version.to_string().contains("version 9") && version.help().is_some());
    let old = parse("x.toml", "scale = 4\n[sysbench]\ntables = 2").unwrap_err();
    assert!(old.help().unwrap().contains("dyno plan"), "{old}");
    let spec = parse("x", "version = 1\n[[systems]]\ndata = { sclae = 3 }").unwrap();
    let wrong = Flags::default().specification(None, Some(spec)).unwrap_err().to_string();
    assert!(wrong.contains("did you mean `scale`?"), "{wrong}");
}

#[test]
fn quantities_are_text_numbers_or_lists() {
    let text = "version = 1\n[[phases]]\nwarm-up = 5\n[[phases.streams]]\n\
                load = { clients = [4, 1], hold = \"3m\", step = 5 }";
    let spec = parse("x", text).unwrap();
    let load = &spec.phases[0].streams[0].load;
    assert_eq!(load.clients, Some("1,4".parse().unwrap()));
    assert_eq!((load.hold.unwrap().0.as_secs(), load.step.unwrap().0.as_secs()), (180, 5));
}

#[test]
fn a_name_is_a_scenario_or_a_workload() {
    let workload = |named: &str| first_workload(&find(named).unwrap()).unwrap().to_owned();
    assert_eq!(workload("sysbench/oltp_read_write"), "sysbench/oltp_read_write");
    assert_eq!(workload("oltp_point_select"), "oltp_point_select");
    assert_eq!((workload("tpcb"), workload("sys")), ("tpcb".to_owned(), "sysbench".to_owned()));
    assert!(find("quick").unwrap().quick && find("la").is_ok());
    assert!(refused("select").contains("tpcb/select-only"));
    // A scenario is named tpcb, and none tpch or tpcc; the workloads of all begin so.
    assert!(refused("tpc").contains("could be tpcb, tpch, tpcc;"), "{}", refused("tpc"));
    assert!(refused("s").contains("sysbench, tpcc/stock_level, storage"), "{}", refused("s"));
    assert!(refused("quikc").contains("neither a scenario nor a workload"));
    assert!(refused("oltp_raed_only").contains("did you mean sysbench/oltp_read_only?"));
    assert!(refused("oltp_read_only -w tpcb").contains("each name a workload"));
}

#[test]
fn options_stand_for_the_places_that_they_are_about() {
    let spec = specification("latency --rate 5/s --tables 3 --scale 4 -t a=embedded -t b=embedded --seed 7")
        .unwrap();
    let load = &spec.phases[0].streams[0].load;
    assert_eq!((load.rate, load.duration), (Some("5/s".parse().unwrap()), Some("30s".parse().unwrap())));
    assert_eq!(spec.systems.len(), 2);
    for system in &spec.systems {
        assert_eq!((&system.data["scale"], &system.data["sysbench"]["tables"]), (&4.into(), &3.into()));
    }
    assert_eq!((spec.seed, spec.about), (Some(7), None));
    let targets: Vec<&str> = spec.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(targets, ["a", "b"]);
}

#[test]
fn the_command_line_goes_before_the_file() {
    let file = "version = 1\nseed = 1\n[[targets]]\nurl = \"postgres://h/d\"\n[[systems]]\ndata = { scale = 5 }\n\
                [[phases]]\ntogether = true\nwarm-up = \"9s\"\n[[phases.streams]]\nconnections = 4\n\
                load = { think-time = \"1s\" }";
    let both = |line: &str| {
        let spec = specification(line).unwrap();
        let flags = Flags {
            target: spec.targets.iter().filter_map(|target| target.url.clone()).collect(),
            embedded: spec.targets[0].embedded.clone().unwrap_or_default(),
            data: data_of(&spec.systems[0]).unwrap(),
            load: spec.phases[0].streams[0].clone(),
            phase: PhaseSpec { streams: Vec::new(), ..spec.phases[0].clone() },
            ..Flags::default()
        };
        flags.specification(None, Some(parse("x", file).unwrap())).unwrap()
    };
    let named = both("-t mysql://i/d --scale 3 --rate 5/s");
    let (phase, stream) = (&named.phases[0], &named.phases[0].streams[0]);
    assert_eq!((named.targets[0].name.as_str(), &named.systems[0].data["scale"]), ("my", &3.into()));
    assert_eq!((phase.together, phase.warm_up, named.seed), (false, Some("9s".parse().unwrap()), Some(1)));
    assert_eq!((stream.connections, stream.load.think_time), (None, None), "a rate sets them aside");
    let other = both("-t postgres://j/d");
    assert_eq!((other.systems[0].target.as_str(), &other.systems[0].data["scale"]), ("pg", &5.into()));
    let embedded = both("--profile extreme");
    assert!(embedded.targets[0].url.is_none() && embedded.targets[0].embedded.is_some());
}

#[test]
fn what_a_file_says_is_checked_as_what_is_typed() {
    let refused = |text: &str| {
        let spec = parse("x", &format!("version = 1\n{text}")).unwrap();
        let planned =
            Flags::default().specification(None, Some(spec)).and_then(|spec| Plan::resolve(spec, 1));
        planned.map(|_| ()).expect_err(text).to_string()
    };
    let target = |name: &str| format!("[[targets]]\nname = \"{name}\"\nurl = \"postgres://h/d\"");
    let storage = |one: &str, two: &str| {
        let system =
            |name: &str, data: &str| format!("[[systems]]\nname = \"{name}\"\ndata.storage = {{ {data} }}");
        let phase = "[[phases]]\nstreams = [{ workload = \"storage/updates\" }]";
        [target("a"), system("one", one), system("two", two), phase.to_owned()].join("\n")
    };
    for (text, why) in [
        (target("driver"), "cannot be called driver"),
        (target("a:b"), "is no name"),
        (format!("{}\n[[systems]]\n[[systems]]", target("a")), "two systems have the name a"),
        (format!("{}\n[[systems]]\n[[systems]]\nname = \"b\"", target("a")), "are the same database"),
        (format!("{}\n[[systems]]\nname = \"x y\"", target("a")), "is no name"),
        (storage("variant = \"one\"", "variant = \"two\", updates = 500"), "storage/updates is another amount of work on two than on one"),
        ("[[phases]]\nstreams = [{}, {}]".to_owned(), "a stream runs one workload"),
        ("[[phases]]\nstreams = [{ workload = \"join\" }]\n[[phases]]\nstreams = [{ workload = \"join\" }]".to_owned(), "two loads are called join"),
        ("[[phases]]\nstreams = [{ workload = \"join\" }]\n[[phases]]\nstreams = [{ workload = \"tpcb\" }]".to_owned(), "one family"),
    ] {
        assert!(refused(&text).contains(why), "{text}: {}", refused(&text));
    }
    let warm_up = parse("x", "version = 1\n[[phases]]\nwarm-up = 1").unwrap();
    let spec = Flags::default().specification(None, Some(warm_up)).unwrap();
    assert_eq!(Plan::resolve(spec, 1).unwrap().phases.len(), 2, "what is left out is decided as usual");
}
