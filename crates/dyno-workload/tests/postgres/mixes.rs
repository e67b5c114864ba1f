//! Mixes of scripts of workload files: how often each is run, and what they say they have done to the numbers of rows, against what a
//! real PostgreSQL has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::workload::Workload;
use dyno_results::event::TypeInterval;
use dyno_results::spec::{End, StageOrder};
use dyno_target::connection::Connection;
use dyno_workload::pgbench::bound::BoundScripts;
use dyno_workload::pgbench::console::Console;
use dyno_workload::pgbench::effects::{Effect, EffectCount, Outcomes};
use dyno_workload::pgbench::load::{LoadOptions, PgbenchLoad, WeightedScript};
use dyno_workload::pgbench::mix::Pauses;
use dyno_workload::script::{Counters, Language, Names, Protocol, compile, parse_with_text};

use crate::server::Database;

const TABLE: &str = "create table made (client int, n int)";
/// Some of which are undone.
const ADD: &str = "\
\\set n random(1, 5)
BEGIN;
INSERT INTO made SELECT :client_id, :n FROM generate_series(1, :n);
\\if random(1, 4) = 1
\\rollback
\\endif
END;
SELECT 1;
";
/// Returns two rows, and is to return one.
const ASK: &str = "SELECT generate_series(1, 2);";
const LONG: Duration = Duration::from_secs(300);
const SHORT: Duration = Duration::from_millis(1);

fn load(protocol: Protocol, keying: Duration) -> PgbenchLoad {
    let mut names = Names::new();
    let mut script =
        |name, text| parse_with_text(name, text, protocol, &mut names, &BTreeMap::new()).unwrap();
    let (add, ask) = (script("add", ADD), script("ask", ASK));
    let rows = compile(":n", &mut names).unwrap();
    let scripts = vec![
        WeightedScript { effects: vec![Effect { count: 0, rows }], ..WeightedScript::new(add, 3) },
        WeightedScript {
            returns: Some(1),
            pauses: Pauses { keying, think: SHORT },
            ..WeightedScript::new(ask, 1)
        },
    ];
    let options = LoadOptions {
        language: Language::Workload,
        mode: protocol,
        clients: 4,
        threads: 2,
        continue_on_error: true,
        dealt: true,
        ..LoadOptions::default()
    };
    let silent = Console::new(|_| (), Box::new(|_| String::new()));
    let made = (names, BoundScripts::default(), Counters::default());
    PgbenchLoad::new(scripts, made, options, 1, Arc::default(), silent).unwrap()
}

/// Runs it, and returns what was measured of both scripts.
fn run(
    database: &Database,
    load: &PgbenchLoad,
    protocol: Protocol,
    stop: &AtomicBool,
    end: End,
) -> [TypeInterval; 2] {
    let workload: Arc<dyn Workload> = Arc::new(load.clone());
    let config =
        EngineConfig { protocol, reconnect_timeout: LONG, drain_timeout: LONG, ..EngineConfig::new(2) };
    let mut engine = Engine::start(&database.endpoint("postgres"), &workload, config).unwrap();
    let mut measured = [TypeInterval::default(), TypeInterval::default()];
    let mut observe = |observation| {
        if let Observation::Interval(interval) = observation {
            interval.types.iter().for_each(|it| measured[usize::from(it.type_index)].add(it));
        }
    };
    engine.run_stage(&StageOrder::closed(4, end), stop, &mut observe).unwrap();
    measured
}

#[test]
fn a_stage_does_not_wait_for_who_pauses() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    connection.execute(TABLE).unwrap();
    let load = load(Protocol::Prepared, 10 * LONG);
    let workload: Arc<dyn Workload> = Arc::new(load.clone());
    let config = EngineConfig { drain_timeout: LONG, ..EngineConfig::new(2) };
    let mut engine = Engine::start(&database.endpoint("postgres"), &workload, config).unwrap();
    let (mut errors, mut done) = (Vec::new(), 0);
    // What a client pauses before is none of its transactions, and in the next stage it has others.
    for _ in 0..2 {
        let order = StageOrder::closed(4, End::Duration(Duration::from_millis(300)));
        let mut observe = |observation| match observation {
            Observation::Error(error) => errors.push(error.to_string()),
            Observation::Interval(interval) => done += interval.types.iter().map(|it| it.done).sum::<u64>(),
            _ => {}
        };
        assert!(engine.run_stage(&order, &AtomicBool::new(false), &mut observe).unwrap().complete);
    }
    drop(engine);
    assert_eq!(errors, [""; 0]);
    let EffectCount { acknowledged, unknown } = load.effects()[0];
    assert_eq!((rows(&mut connection), unknown), (acknowledged, 0));
    let Outcomes { done: told, answers, .. } = load.outcomes();
    assert_eq!((told, answers), (done, 0));
    assert!(done > 0);
}

fn rows(connection: &mut Connection) -> i64 {
    connection.query_value("select count(*) from made").unwrap().unwrap()
}

#[test]
fn a_mix_is_dealt_and_says_what_it_has_done() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    connection.execute(TABLE).unwrap();
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        let load = load(protocol, SHORT);
        let before = rows(&mut connection);
        let [add, ask] =
            run(&database, &load, protocol, &AtomicBool::new(false), End::TransactionsPerClient(40));
        let made = rows(&mut connection) - before;
        assert_eq!(load.effects(), [EffectCount { acknowledged: made, unknown: 0 }], "{protocol:?}");
        let done: Vec<u64> = load.counts_by_script().iter().map(|counts| counts.done).collect();
        let Outcomes { answers, wrong_answers, .. } = load.outcomes();
        assert_eq!((done.as_slice(), answers, wrong_answers), ([120, 40].as_slice(), 40, 40));
        assert_eq!((add.done, ask.done, ask.rolled_back), (120, 40, 0));
        assert!((10..60).contains(&add.rolled_back), "{}", add.rolled_back);
    }
}

#[test]
fn what_is_lost_with_a_connection_may_have_been_done() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    connection.execute(TABLE).unwrap();
    let (load, over) = (load(Protocol::Prepared, SHORT), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut killer = database.open();
            let (begun, mut broken) = (Instant::now(), 0);
            while broken < 10 && begun.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(20));
                let victims = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                               where datname = current_database() and query like 'END%'";
                broken += killer.query_value::<u64>(victims).unwrap().unwrap_or(0);
            }
            over.store(true, Ordering::Relaxed);
        });
        run(&database, &load, Protocol::Prepared, &over, End::Duration(2 * LONG));
    });
    let [EffectCount { acknowledged, unknown }] = load.effects()[..] else { panic!("one count") };
    let made = rows(&mut connection);
    assert!((acknowledged..=acknowledged + unknown).contains(&made), "{made}: {acknowledged} + {unknown}");
    assert!(acknowledged > 0);
}
