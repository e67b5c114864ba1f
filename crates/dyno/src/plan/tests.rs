//! What command lines resolve to. Nothing is connected to.

use clap::Parser;
use dyno_results::event::{HookTime, StageKind};
use dyno_results::spec::Plans;

use super::*;
use crate::flags::Flags;

#[derive(Debug, Parser)]
struct TestArguments {
    named: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

/// What `dyno run` with these words is to do; `''` keeps words together.
pub(crate) fn specification(line: &str) -> Result<RunSpec, Failure> {
    let mut words = vec!["dyno", "run"];
    for (at, part) in line.split('\'').enumerate() {
        let quoted = at % 2 == 1;
        words.extend(if quoted { vec![part] } else { part.split_whitespace().collect() });
    }
    let words = crate::flags::words(words.into_iter().map(Into::into));
    let TestArguments { named, flags } = TestArguments::try_parse_from(words.into_iter().skip(1)).unwrap();
    flags.specification(named.as_deref(), None)
}

fn plan(line: &str) -> Result<Plan, Failure> {
    let targets = "-t pg=postgres://me:secret@h/d -t my=mysql://me:secret@i/d";
    let line = if line.contains("-t ") { line.to_owned() } else { format!("{line} {targets}") };
    Plan::resolve(specification(&line)?, 1)
}

fn refusal(line: &str) -> String {
    plan(line).unwrap_err().to_string()
}

#[cfg(feature = "adbc")]
#[test]
fn a_drivers_secrets_are_not_stored() {
    let line = "ycsb -t adbc:x.so?adbc.flight.sql.authorization_header=Bearer%20hidden-one&username=me";
    let spec = plan(line).unwrap().spec;
    assert!(!format!("{spec:?}").contains("hidden"), "{spec:?}");
}

#[test]
fn each_target_has_its_name_and_a_benchmark_of_its_dialect() {
    let resolved = plan("events --rows 2k").unwrap();
    let names: Vec<_> = resolved
        .systems
        .iter()
        .map(|system| (system.name.as_str(), system.capabilities().protocol))
        .collect();
    assert_eq!(names, [("pg", "PostgreSQL"), ("my", "MySQL")]);
    let families = |text: &str| {
        let systems = plan(text).unwrap().systems;
        systems.iter().map(|system| system.benchmark.name()).collect::<Vec<_>>()
    };
    assert_eq!(families(""), ["sysbench", "sysbench"], "tpcb does not run on both");
    assert_eq!(families("-t postgres://h/d -t a=embedded"), ["tpcb", "tpcb"]);
    assert_eq!(families("-t postgres://h/d -t mysql://h/d").len(), 2);
    assert!(refusal("tpcb").contains("PostgreSQL"));
    assert!(refusal("--customer-index").contains("--customer-index is for events"));
    assert_eq!(plan("events --customer-index").unwrap().spec.systems[1].data["customer-index"], true);
    assert!(refusal("-t postgres://h/d -t postgres://i/d").contains("two targets have the name pg"));
}

#[test]
fn hosts_are_read_where_it_is_said_of_whom() {
    let resolved = plan("--host-metrics my=http://me:secret@i:9100/metrics").unwrap();
    let read: Vec<bool> = resolved.systems.iter().map(|system| system.host_metrics.is_some()).collect();
    assert_eq!(read, [false, true]);
    assert!(plan("-t mysql://i/d --host-metrics http://i:9100/metrics").is_ok());
    assert!(refusal("--host-metrics http://i:9100/metrics").contains("does not name its target"));
    let twice = "--host-metrics my=http://i:9100/ --host-metrics my=http://i:9101/";
    assert!(refusal(twice).contains("twice"));
}

#[test]
fn hooks_are_of_a_series_a_kind_of_stage_or_the_run() {
    let line = "events --after run 'sql: CHECKPOINT' --before my:join 'ssh db mysql -psecret' --before ramp sync \
                --before warm-up sync";
    let planned = plan(line).unwrap();
    assert!(!format!("{:?}", planned.spec).contains("secret"), "{:?}", planned.spec);
    let hooks = planned.hooks;
    let [join, ramp, warm_up, run] = hooks.as_slice() else { panic!("{hooks:?}") };
    assert!(join.is_for("my") && !join.is_for("pg") && ramp.is_for("pg"));
    assert_eq!((join.stage.clone(), join.when), (HookStage::Series("join".to_owned()), HookTime::Before));
    assert_eq!(join.shown(), "ssh db mysql -p***");
    for (kind, meant) in [(StageKind::Ladder, true), (StageKind::Ramp, true), (StageKind::Hold, false)] {
        assert_eq!(ramp.stage.is_kind(kind), meant, "{kind:?}");
    }
    assert_eq!(warm_up.stage.name(), "warm-up");
    assert_eq!((run.when, &run.action), (HookTime::After, &Action::Sql("CHECKPOINT".to_owned())));
}

#[test]
fn a_hook_that_would_never_be_done_is_refused() {
    let hooked = |stage: &str, load: &str| format!("{load} --before {stage} true");
    for (stage, load, why) in [
        ("hold", "--ramp 1..3", "only if its --hold is named"),
        ("warm-up", "--warm-up 0", "no warm-up"),
        ("ladder", "--duration 5", "a single stage"),
        ("ramp", "--duration 5", "does not change"),
        ("hold", "--clients 1..5", "a ramp, and no hold"),
    ] {
        let refused = refusal(&hooked(stage, load));
        assert!(refused.contains("would never be done") && refused.contains(why), "{refused}");
    }
    for (stage, load) in
        [("hold", "--ramp 1..3 --hold 5"), ("ramp", "--clients 1..5"), ("hold", "--duration 5")]
    {
        assert!(plan(&hooked(stage, load)).is_ok(), "{stage} {load}");
    }
    assert!(refusal("-t pg=").contains("names no database"));
}

#[test]
fn connections_are_counted_where_clients_share_them() {
    let shared = plan("--connections 40 --ramp 1..200").unwrap().phases.remove(0).streams.remove(0);
    assert_eq!(
        (shared.clients_named("pg"), shared.connections_of(200), shared.connections_of(8)),
        (Some(200), 40, 8)
    );
    let own = plan("--ramp 1..").unwrap().phases.remove(0).streams.remove(0);
    assert_eq!((own.clients_named("pg"), own.connections_of(200)), (None, 200));
}

#[test]
fn what_is_stored_holds_no_password_and_is_the_same_when_it_is_read_again() {
    let line = "events/join --host-metrics my=http://me:secret@i:9100/metrics --ramp 1..8x2 \
                --before join 'cd /x\n# a   comment\nmake'";
    let planned = plan(line).unwrap();
    for spec in [&planned.spec, &planned.resolved] {
        assert!(!serde_json::to_string(spec).unwrap().contains("secret"), "{spec:?}");
        assert_eq!(spec.phases[0].streams[0].load.ramp, Some("1..8x2".parse().unwrap()));
        assert_eq!(spec.hooks[0].action, "cd /x\n# a   comment\nmake");
        for text in [serde_json::to_string(spec).unwrap(), toml::to_string(spec).unwrap()] {
            let read: RunSpec = serde_json::from_str(&text).or_else(|_| toml::from_str(&text)).unwrap();
            let again = Plan::resolve(read, 2).unwrap();
            assert_eq!((&again.spec, &again.resolved), (spec, &planned.resolved), "{text}");
        }
    }
    let hidden = plan("tpcb -t pg=postgres://h/d --before run 'mysql -psecret'").unwrap().spec;
    let error = Flags::default().specification(None, Some(hidden)).unwrap_err();
    assert!(error.to_string().contains("mysql -p***") && error.help().is_some(), "{error}");
    let service = plan("tpcb -t service=staging").unwrap_err().to_string();
    assert!(service.contains("staging"), "{service}");
    let with_file = plan("tpcb -t postgres://me:pw@h/d?sslrootcert=/ca.pem").unwrap().spec;
    assert_eq!(with_file.targets[0].url.as_deref(), Some("postgres://me@h/d?sslrootcert=/ca.pem"));
}

#[test]
fn streams_of_a_phase_have_names_and_at_least_one_has_an_end() {
    let mixed =
        "--stream oltp=tpcb/tpcb-like,clients=8 --stream look=tpcb/select-only,clients=1 -t postgres://h/d";
    let ends = |line: &str| {
        let streams = plan(line).unwrap().phases.remove(0).streams;
        let end = |stream: &StreamPlan| (stream.name.clone(), stream.courses().all(Course::ends_with_others));
        streams.iter().map(end).collect::<Vec<_>>()
    };
    let named = |oltp, look| vec![("oltp".to_owned(), oltp), ("look".to_owned(), look)];
    assert_eq!(ends(mixed), named(false, false), "somebody must have an end");
    assert_eq!(ends(&mixed.replace("clients=8", "clients=1,2,4")), named(false, true));
    assert_eq!(ends(&format!("{mixed} --duration 5s")), named(false, false));
    let ladder = mixed.replace("clients=8", "clients=1,2,4,8");
    let alike = [
        format!("{ladder} --step 3s --hold 3s"),
        mixed.replace("clients=8", "ramp=1..9") + " --step 3s --hold 3s --to-the-end",
        mixed.replace("clients=8", "duration=9s"),
        mixed.replace(",clients=8", "") + " --ramp 1..9 --step 3s",
        mixed.replace(",clients=8", "") + " --clients 1,2,4 --think-time 1ms",
        mixed.replace(",clients=8", "") + " --transactions 5",
    ];
    for line in alike {
        assert_eq!(ends(&line), named(false, true), "{line}");
    }
    let held = plan("events/ingest --together --ramp pg=1..200 --clients my=40").unwrap();
    let stream = &held.phases[0].streams[0];
    assert!(matches!(stream.course("pg"), Course::Ramp(_)) && stream.course("my").ends_with_others());
    assert_eq!(stream.clients_named("my"), Some(40));
    for planned in [held, plan(mixed).unwrap()] {
        let again = Plan::resolve(planned.spec.clone(), 2).unwrap();
        assert_eq!((again.spec, again.resolved), (planned.spec, planned.resolved));
    }
    for (line, why) in [
        ("events/join --ramp x=1..9", "there is no target x"),
        ("events/join --ramp pg=1..9x", "the load of pg"),
        ("events --stream a=tpcb/select-only", "leave out events"),
        ("--stream a=tpcb -t postgres://h/d", "tpcb/select-only and tpcb/tpcb-like"),
        ("--stream a=join --stream a=ingest", "two loads are called"),
        ("--stream a=join --stream b=./missing.sql", "cannot read the workload ./missing.sql"),
        ("--stream a=join --stream b=tpcb/select-only", "one family"),
    ] {
        assert!(refusal(line).contains(why), "{line}: {}", refusal(line));
    }
}

#[test]
fn what_is_said_of_queries_is_for_the_series_with_passes() {
    let planned = plan("storage --plans estimate -t postgres://h/d").unwrap();
    let plans: Vec<_> = planned.phases.iter().map(|phase| phase.streams[0].plans).collect();
    let (asked, none) = (Plans::Estimate, Plans::None);
    assert_eq!(plans, [asked, none, none, asked, none, none]);
    let why = "--plans is for queries that are run in passes, and storage/point-read is none";
    assert_eq!(refusal("storage/point-read --plans estimate -t postgres://h/d"), why);
}

/// What an option means does not depend on whether what it is laid over was stored.
#[test]
fn options_over_what_was_stored_are_options_over_what_was_typed() {
    let bases = [
        "tpcb",
        "tpcb --clients 1,2,4 --step 30s",
        "latency",
        "events/ingest --ramp 1..9",
        "tpcb/select-only --ramp 100/s..900/s",
        "tpcb -t a=embedded -t b=embedded:postgres@17",
        "events --repeat 3 --cold",
    ];
    let options = [
        "--duration 60s",
        "--rate 5/s",
        "--transactions 9",
        "--ramp 1..200",
        "--clients 128",
        "--clients 1,2",
        "--quick",
        "--hold 5m",
        "--warm-up 0",
        "--repeat 2",
        "--profile extreme",
        "--scale 5 --no-verify",
        "--protocol simple --max-tries 1",
    ];
    for base in bases {
        let stored = Plan::resolve(specification(base).unwrap(), 1).unwrap().spec;
        let json = serde_json::to_string(&stored).unwrap();
        for option in options {
            let over = |base: RunSpec| {
                let TestArguments { flags, .. } =
                    TestArguments::try_parse_from(["dyno"].into_iter().chain(option.split(' '))).unwrap();
                let planned = flags.specification(None, Some(base)).and_then(|spec| Plan::resolve(spec, 1));
                planned.map(|plan| plan.resolved).map_err(|failure| failure.to_string())
            };
            let typed = over(specification(base).unwrap());
            assert_eq!(over(serde_json::from_str(&json).unwrap()), typed, "{base} with {option}");
        }
    }
    // Both servers of dyno's own are kept, each with the other profile.
    let two = specification("tpcb -t a=embedded -t b=embedded:postgres@17 --profile extreme").unwrap();
    assert_eq!(two.targets.len(), 2);
    assert!(
        two.targets
            .iter()
            .all(|target| target.embedded.as_ref().unwrap().profile.as_deref() == Some("extreme"))
    );
}

#[test]
fn a_system_may_have_the_name_of_another_target() {
    let resolve = |name: &str| {
        let text = format!(
            "version = 1\n[[targets]]\nname = 'a'\nurl = 'postgres://h/d'\n[[targets]]\nname = 'b'\nurl = 'postgres://h/e'\n\
             [[systems]]\ntarget = 'a'\nname = 'x'\n[[systems]]\ntarget = 'b'\nname = '{name}'\n\
             [[phases]]\n[[phases.streams]]\nworkload = 'tpcb/select-only'"
        );
        Plan::resolve(toml::from_str(&text).unwrap(), 1)
    };
    for name in ["a", "b"] {
        let systems = resolve(name).unwrap().systems;
        assert_eq!((systems[1].name.as_str(), systems[1].target.as_str()), (name, "b"));
    }
}

#[test]
fn each_variant_is_a_system_of_each_target() {
    let names = |line: &str| {
        let systems = plan(line).unwrap().systems;
        systems.iter().map(|system| format!("{} on {}", system.name, system.target)).collect::<Vec<_>>()
    };
    let both = "storage --variant heap --variant 'fast=using columnar'";
    assert_eq!(names(&format!("{both} -t postgres://h/d")), ["heap on pg", "fast on pg"]);
    assert_eq!(names(both), ["pg-heap on pg", "pg-fast on pg", "my-heap on my", "my-fast on my"]);
    assert_eq!(names("storage"), ["pg on pg", "my on my"]);
    assert!(refusal(&format!("{both} --variant fast=")).contains("two systems have the name pg-fast"));
    assert!(refusal("--variant heap -w sysbench").contains("--variant is for storage"));

    // Of two products the one with fewer queries goes through them more often.
    let planned = plan(&format!("{both} --clients 8 --duration 5s --repeat 2")).unwrap();
    let [queries, _, updates, ..] = &planned.phases[..] else { panic!("{:?}", planned.phases) };
    assert_eq!((queries.streams[0].pass, queries.repeat), (Some(9), 2));
    assert_eq!(queries.streams[0].clients_named("my-heap"), Some(1), "the load is for the others");
    assert_eq!((updates.warm_up, updates.repeat), (Duration::ZERO, 1));
    assert_eq!(planned.phases[5].streams[0].clients_named("my-heap"), Some(8));

    // What was stored is the same once more, and what is said of a variant is kept for another target.
    let again = Flags::default().specification(None, Some(planned.spec.clone())).unwrap();
    assert_eq!(Plan::resolve(again, 1).unwrap().resolved, planned.resolved);
    let one = plan(&format!("{both} --scale 3 -t postgres://h/d")).unwrap().spec;
    let elsewhere = Flags { target: vec!["embedded".to_owned()], ..Flags::default() };
    let moved = Plan::resolve(elsewhere.specification(None, Some(one)).unwrap(), 1).unwrap();
    let data: Vec<_> =
        moved.spec.systems.iter().map(|it| (it.name.as_str(), it.data["storage"].to_string())).collect();
    assert_eq!(data[0], ("heap", r#"{"scale":3,"variant":"heap"}"#.to_owned()));
    assert_eq!(data[1], ("fast", r#"{"scale":3,"variant":"fast=using columnar"}"#.to_owned()));
}

#[test]
fn what_is_resolved_with_repeats_takes_them_and_what_is_not_refuses_them() {
    let is_resolved_with = |line: &str| {
        let phases = plan(line).unwrap().resolved.phases;
        phases.iter().all(|phase| phase.repeat.is_some())
    };
    let two = "--stream a=events/join,clients=2 --stream b=events/ingest,clients=1 --duration 5s";
    let of_ramps = "--stream a=events/join --stream b=events/ingest --ramp 1..8";
    for (line, takes) in [
        ("events", true),
        ("events --clients 1..8 --duration 9s", true),
        ("events --rate 50/s --duration 9s", true),
        ("events --transactions 50", true),
        ("events --ramp 1..8", false),
        ("events --ramp 10/s..90/s+10", false),
        ("events --ramp 1..8 --hold 9s", true),
        ("tpch", true),
        ("tpch --plans analyze", true),
        ("tpch --duration 9s", true),
        (two, true),
        (of_ramps, false),
    ] {
        assert_eq!(is_resolved_with(line), takes, "{line}");
        assert_eq!(plan(&format!("{line} --repeat 5")).is_ok(), takes, "{line}");
    }
}

/// What is said of time, disk and memory where no run is stored.
fn estimated(line: &str) -> String {
    let plan = plan(line).unwrap();
    let known = plan.systems.iter().map(|system| estimate::Known { system, earlier: None });
    let lines = estimate::lines(&plan, &known.collect::<Vec<_>>());
    lines.iter().map(|(label, text)| format!("{label:<9} {text}\n")).collect()
}

#[test]
fn what_a_run_takes_is_estimated_as_far_as_its_plan_tells() {
    for (line, words) in [
        (
            "tpcb --scale 100 -t postgres://h/d --clients 1,2,4 --hold 1m --repeat 3",
            &[
                "read: 3 min 20 s: warm-up of 5 s, 3 steps of 5 s, 3 holds of 1 min",
                "together 6 min 40 s",
                "≈ 1.4 GiB (reckoned",
            ][..],
        ),
        (
            "sysbench -t postgres://h/d",
            &["read: at most 1 min 20 s", "11 steps of 5 s", "pg: not known: ", "1,024 clients"],
        ),
        (
            "events/join --rows 70M --ramp 1..200+10 --step 30s",
            &[
                "join: at most 21 min 10 s: ",
                "21 steps of 30 s, on 2 systems in turn",
                "400 clients",
                "my: ≈ 4.9 GiB",
            ],
        ),
        (
            "tpch --scale 10 -t pg=postgres://h/d -t ch=clickhouse://h/d",
            &[
                "queries: not known: ",
                "3 passes of a time that is not known",
                "pg: ≈ 18.8 GiB",
                "ch: not known for ClickHouse; ≈ 18.8",
            ],
        ),
        (
            "ycsb/a -t sqlite:a.db --rate 500/s --duration 90s --warm-up 0",
            &["a: 1 min 30 s: stage of 1 min 30 s", "64 clients"],
        ),
        (
            "tpcb/select-only -t postgres://h/d --transactions 50 -c 9",
            &["read: 5 s and what is not known", "50 transactions of each"],
        ),
        (
            "tpcb/select-only -t postgres://h/d --ramp 1.. --to-the-end",
            &["and what is not known: ", "without a limit"],
        ),
        (
            "-t postgres://h/d --stream a=tpcb/tpcb-like,clients=8 --stream b=tpcb/select-only,duration=2m,clients=40 --connections 4",
            &["a and b: 2 min 5 s: ", "with up to 8 clients"],
        ),
    ] {
        let said = estimated(line);
        assert!(words.iter().all(|word| said.contains(word)), "{line}\n{words:#?}\n{said}");
        assert!(said.contains("not known: making the data, connecting"), "{said}");
    }
}

#[test]
fn a_scale_is_of_the_family_that_is_run() {
    let data = |line: &str| {
        let plan = plan(line).unwrap();
        let [asked, resolved] = [&plan.spec, &plan.resolved].map(|spec| spec.systems[0].data.clone());
        assert_eq!(asked, resolved, "{line}");
        serde_json::to_string(&asked).unwrap()
    };
    assert_eq!(data("--scale 5 -t postgres://h/d"), r#"{"scale":5}"#);
    assert_eq!(data("tpch --scale 5"), r#"{"tpch":{"scale":5}}"#);
    assert_eq!(data("storage --scale 5 --variant heap"), r#"{"storage":{"scale":5,"variant":"heap"}}"#);
    assert_eq!(data("tpcb/select-only -t postgres://h/d"), "{}");
    assert!(refusal("ycsb --scale 5").contains("--scale is for tpcb, tpch and storage"));
}
