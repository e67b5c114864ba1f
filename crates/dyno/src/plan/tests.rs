//! What scenarios resolve to. Nothing is connected to.

use dyno_results::event::{HookTime, StageKind};

use super::*;

fn plan(text: &str) -> Result<Plan, Failure> {
    let targets = "target = ['pg=postgres://me:secret@h/d', 'my=mysql://me:secret@i/d']\n";
    let text = if text.contains("target =") { text.to_owned() } else { format!("{targets}{text}") };
    Plan::resolve(&toml::from_str(&text).unwrap(), 1)
}

fn refusal(text: &str) -> String {
    plan(text).unwrap_err().to_string()
}

#[test]
fn each_target_has_its_name_and_a_benchmark_of_its_dialect() {
    let resolved = plan("rows = '2k'\nworkload = 'events'").unwrap();
    let names: Vec<_> =
        resolved.targets.iter().map(|target| (target.name.as_str(), target.is_mysql())).collect();
    assert_eq!(names, [("pg", false), ("my", true)]);
    let families = |text: &str| {
        let targets = plan(text).unwrap().targets;
        targets.iter().map(|target| target.benchmark.name()).collect::<Vec<_>>()
    };
    assert_eq!(families(""), ["sysbench", "sysbench"], "tpcb does not run on both");
    assert_eq!(families("target = ['postgres://h/d', 'a=embedded']"), ["tpcb", "tpcb"]);
    assert_eq!(families("target = ['postgres://h/d', 'mysql://h/d']").len(), 2);
    assert!(refusal("workload = 'tpcb'").contains("PostgreSQL"));
    assert!(refusal("customer-index = true").contains("--customer-index are for events"));
    assert_eq!(plan("workload = 'events'\ncustomer-index = true").unwrap().as_json()["customer_index"], true);
    assert!(refusal("target = ['postgres://h/d', 'postgres://i/d']").contains("two targets are called pg"));
}

#[test]
fn hosts_are_read_where_it_is_said_of_whom() {
    let resolved = plan("host-metrics = ['my=http://me:secret@i:9100/metrics']").unwrap();
    let read: Vec<bool> = resolved.targets.iter().map(|target| target.host_metrics.is_some()).collect();
    assert_eq!(read, [false, true]);
    assert!(plan("target = 'mysql://i/d'\nhost-metrics = 'http://i:9100/metrics'").is_ok());
    assert!(refusal("host-metrics = 'http://i:9100/metrics'").contains("of which target"));
    let twice = "host-metrics = ['my=http://i:9100/', 'my=http://i:9101/']";
    assert!(refusal(twice).contains("twice"));
}

#[test]
fn hooks_are_of_a_series_a_kind_of_stage_or_the_run() {
    let text = "workload = 'events'\nafter = [['run', 'sql: CHECKPOINT']]\n\
                before = [['my:join', 'ssh db mysql -psecret'], ['ramp', 'sync'], ['warm-up', 'sync']]";
    let hooks = plan(text).unwrap().hooks;
    let [join, ramp, warm_up, run] = hooks.as_slice() else { panic!("{hooks:?}") };
    assert!(join.is_for("my") && !join.is_for("pg") && ramp.is_for("pg"));
    assert_eq!((join.stage, join.when), (HookStage::Series("join"), HookTime::Before));
    assert_eq!(join.shown(), "ssh db mysql -p***");
    for (kind, meant) in [(StageKind::Ladder, true), (StageKind::Ramp, true), (StageKind::Hold, false)] {
        assert_eq!(ramp.stage.is_kind(kind), meant, "{kind:?}");
    }
    assert_eq!(warm_up.stage.name(), "warm-up");
    assert_eq!((run.when, &run.action), (HookTime::After, &Action::Sql("CHECKPOINT".to_owned())));
}

#[test]
fn a_hook_that_would_never_be_done_is_refused() {
    let hooked = |stage: &str, load: &str| format!("before = [['{stage}', 'true']]\n{load}");
    for (stage, load, why) in [
        ("hold", "ramp = '1..3'", "only if its --hold is named"),
        ("warm-up", "warm-up = 0", "no warm-up"),
        ("ladder", "duration = 5", "a single stage"),
        ("ramp", "duration = 5", "does not change"),
        ("hold", "clients = '1..5'", "a ramp, and no hold"),
    ] {
        let refused = refusal(&hooked(stage, load));
        assert!(refused.contains("would never be done") && refused.contains(why), "{refused}");
    }
    for (stage, load) in
        [("hold", "ramp = '1..3'\nhold = 5"), ("ramp", "clients = '1..5'"), ("hold", "duration = 5")]
    {
        assert!(plan(&hooked(stage, load)).is_ok(), "{stage} {load}");
    }
    assert!(refusal("target = ['pg=']").contains("names no database"));
}

#[test]
fn connections_are_counted_where_clients_share_them() {
    let shared = plan("connections = 40\nramp = '1..200'").unwrap();
    assert_eq!(
        (shared.clients_named(), shared.connections_of(200), shared.connections_of(8)),
        (Some(200), 40, 8)
    );
    let own = plan("ramp = '1..'").unwrap();
    assert_eq!((own.clients_named(), own.connections_of(200)), (None, 200));
}

#[test]
fn what_is_stored_holds_no_password() {
    let text = "workload = 'events/join'\nhost-metrics = ['my=http://me:secret@i:9100/metrics']\n\
                before = [['join', 'mysql -psecret']]\nramp = '1..8x2'";
    let stored = plan(text).unwrap().as_json();
    assert!(!stored.to_string().contains("secret"), "{stored}");
    assert_eq!(stored["load"]["ramp"], "1..8x2");
    assert_eq!(stored["targets"][1]["name"], "my");
}
