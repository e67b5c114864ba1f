//! Whole comparisons of planted runs.

use std::sync::Arc;

use super::*;
use crate::event::{Event, Severity, StageKind};
use crate::fixture::{Fixture, FixtureStage, clean_fixture, mix_fixture, wobble};
use crate::spec::PhaseSpec;

fn side(name: &str, fixture: &Fixture) -> Side {
    of_runs(name, &[fixture])
}

fn of_runs(name: &str, fixtures: &[&Fixture]) -> Side {
    let member = |fixture: &&Fixture| Member {
        evidence: Arc::new(Evidence::of_events(&fixture.events)),
        target: "pg".to_owned(),
    };
    Side { name: name.to_owned(), members: fixtures.iter().map(member).collect(), series: None }
}

fn rename(fixture: &mut Fixture, name: &str) {
    if let Some(Event::Started(started)) = fixture.events.first_mut().map(|stamped| &mut stamped.event) {
        started.run = name.to_owned();
    }
}

/// A run of a ladder and a hold of reads.
fn run(name: &str, ladder: &[(u32, u64)], hold: (u32, u64), seconds: usize) -> Fixture {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| {
        !matches!(
            stamped.event,
            Event::StageStarted(_) | Event::Interval(_) | Event::StageFinished(_) | Event::Finished(_)
        )
    });
    rename(&mut fixture, name);
    for (clients, level) in ladder {
        fixture.play(&FixtureStage::read(StageKind::Ladder, *clients, &wobble(*level, 10)));
    }
    fixture.play(&FixtureStage::read(StageKind::Hold, hold.0, &wobble(hold.1, seconds)));
    fixture.finish();
    fixture
}

fn row<'a>(section: &'a Section, key: &str) -> &'a FigureRow {
    section.rows.iter().find(|row| row.key == key).unwrap()
}

#[test]
fn what_the_workload_counts_is_a_row_of_its_own_name_and_unit() {
    let (a, mut b) = (mix_fixture(1000.0, 3), mix_fixture(1000.0, 3));
    rename(&mut b, "2026-11-20-2");
    let comparison = compare(&[side("a", &a), side("b", &b)], 0).unwrap();
    let figure = row(&comparison.series[0].sections[0], "figure");
    assert_eq!((figure.label.as_str(), figure.unit), ("new orders, a minute", "1/min"));
    assert_eq!(figure.short_label, "new orders");
    assert_eq!(figure.cells.iter().map(|cell| cell.value).collect::<Vec<_>>(), [Some(1740.0); 2]);
}

#[test]
fn two_single_runs_are_told_and_not_tested() {
    let (a, mut b) = (clean_fixture(), clean_fixture());
    rename(&mut b, "2026-11-20-2");
    let comparison = compare(&[side("a", &a), side("b", &b)], 0).unwrap();
    let series = &comparison.series[0];
    assert_eq!((series.name.as_str(), series.basis.unit), ("write", BasisUnit::Untested));
    let headline = &series.sections[0];
    assert!(headline.same_load);
    for key in ["throughput", "p50", "p95", "p99"] {
        let ratio = row(headline, key).cells[1].ratio.unwrap();
        assert_eq!((ratio.value, ratio.interval, ratio.verdict), (1.0, None, Verdict::NotTested), "{key}");
    }
    let test = "not tested: one run each; to test it, for each side: dyno run --runs 5, and compare A,A,… with B,B,…";
    assert_eq!(series.basis.text, test);
    assert_eq!(series.ladder.len(), 5);
    assert_eq!(series.ladder[3].peak, [true, true]);
    assert!(comparison.absent.is_empty());
}

#[test]
fn passes_over_a_query_set_are_compared_by_their_seconds() {
    let passes = |name: &str| {
        let mut fixture = run(name, &[], (1, 1000), 10);
        fixture.events.iter_mut().for_each(|stamped| {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.pass = true;
            }
        });
        fixture
    };
    let comparison = compare(&[side("a", &passes("a")), side("b", &passes("b"))], 0).unwrap();
    let headline = &comparison.series[0].sections[0];
    let keys: Vec<&str> = headline.rows.iter().map(|row| row.key).collect();
    assert_eq!(keys[..3], ["pass", "geometric_mean", "errors"]);
    assert!(["throughput", "p50", "p99"].iter().all(|key| !keys.contains(key)), "{keys:?}");
    let cpu = headline.rows.iter().find(|row| row.key == "server_cpu").unwrap();
    assert_eq!((&*cpu.label, &*cpu.short_label), ("CPU of the server, per query", "CPU/query"));
    let pass = row(headline, "pass");
    assert_eq!(
        (pass.unit, pass.verdicts, pass.cells[1].ratio.unwrap().value),
        ("us", ["faster", "slower"], 1.0)
    );
    let [of_a, of_b] = comparison.series[0].speed_ups.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((of_a[0].base.as_str(), of_b[0].base.as_str(), of_b[0].mean), ("b", "a", Some(1.0)));
    // Runs that repeat each other have as many passes as each of them.
    let repeated = of_runs("a", &[&passes("a"), &passes("c")]);
    let comparison = compare(&[repeated, side("b", &passes("b"))], 0).unwrap();
    assert!(comparison.differences.iter().all(|difference| difference.aspect != "passes"));
    assert!(comparison.series[0].speed_ups.iter().all(Vec::is_empty));
}

#[test]
fn passes_over_other_queries_have_no_ratio() {
    let passes = |name: &str, query: &str| {
        let mut fixture = run(name, &[], (1, 1000), 10);
        fixture.events.iter_mut().for_each(|stamped| {
            if let Event::StageStarted(stage) = &mut stamped.event {
                (stage.pass, stage.types) = (true, vec![query.to_owned()]);
            }
        });
        fixture
    };
    let comparison = compare(&[side("a", &passes("a", "Q1")), side("b", &passes("b", "Q2"))], 0).unwrap();
    let headline = &comparison.series[0].sections[0];
    assert_eq!(headline.loads[0].as_ref().unwrap().queries, Some(1));
    for key in ["pass", "geometric_mean"] {
        let cells = &row(headline, key).cells;
        assert!(cells[1].value.is_some() && cells[1].ratio.is_none(), "{key}: {cells:?}");
    }
}

#[test]
fn disk_traffic_of_other_things_has_no_ratio() {
    let counting = |keys: &[&str]| {
        let mut fixture = clean_fixture();
        for stamped in &mut fixture.events {
            if let Event::Sample(sample) = &mut stamped.event
                && sample.source == "host"
            {
                let counted = stamped.at_ms as f64 * 1e3;
                sample.values.extend(keys.iter().map(|key| ((*key).to_owned(), counted)));
            }
        }
        fixture
    };
    let device = counting(&["disk_write_bytes_total"]);
    let server = counting(&["disk_write_bytes_total", "server_disk_write_bytes_total"]);
    let written = |one: &Fixture, other: &Fixture| {
        let comparison = compare(&[side("a", one), side("b", other)], 0).unwrap();
        let row = row(&comparison.series[0].sections[0], "disk_write_bytes").clone();
        (row.label, row.short_label, row.cells[1])
    };
    let (label, short, cell) = written(&device, &device);
    let expected = ("written to disk, per transaction (all of the device)", "written/tx (device)");
    assert_eq!((&*label, &*short, cell.ratio.is_some()), (expected.0, expected.1, true));
    let (label, _, cell) = written(&server, &server);
    assert_eq!((&*label, cell.ratio.is_some()), ("written to disk, per transaction", true));
    let (label, short, cell) = written(&device, &server);
    let expected = ("written to disk, per transaction (of unequal sources: no ratio)", "written/tx (mixed)");
    assert_eq!((&*label, &*short), expected);
    assert!(cell.value.is_some() && cell.ratio.is_none(), "{cell:?}");
}

#[test]
fn costs_of_queries_are_of_queries_in_passes_or_not() {
    let mut fixture = clean_fixture();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.query_set = true;
        }
    }
    let comparison = compare(&[side("a", &fixture), side("b", &fixture)], 0).unwrap();
    let log = row(&comparison.series[0].sections[0], "wal_bytes");
    assert_eq!((&*log.label, &*log.short_label), ("WAL or redo log, per query", "log/query"));
}

#[test]
fn what_is_proposed_can_be_typed_without_the_password_that_is_not_stored() {
    let proposed = |words: &[&str]| {
        let (mut a, mut b) = (clean_fixture(), clean_fixture());
        rename(&mut b, "2026-11-20-2");
        for fixture in [&mut a, &mut b] {
            for stamped in &mut fixture.events {
                if let Event::Started(started) = &mut stamped.event {
                    started.command =
                        ["dyno", "run"].iter().chain(words).map(|&word| word.to_owned()).collect();
                }
            }
        }
        compare(&[side("a", &a), side("b", &b)], 0).unwrap().series[0].basis.text.clone()
    };
    let text = proposed(&["--target", "pg=postgres://u:***@h/d"]);
    let command = "dyno run --target pg=postgres://u@h/d --runs 5 (its password in PGPASSWORD, MYSQL_PWD or a password file), and";
    assert!(text.contains(command), "{text}");
    for words in [["--target", "host=h password=***"], ["--before", "mysql -p*** -e 'x'"]] {
        let text = proposed(&words);
        assert!(text.contains("type what was run again with --runs 5") && !text.contains("***"), "{text}");
    }
}

/// So many runs of a hold, a little different from each other.
fn several(name: &str, levels: &[u64], hold: u32) -> Vec<Fixture> {
    levels.iter().map(|level| run(&format!("{name}-{level}"), &[], (hold, *level), 30)).collect()
}

#[test]
fn a_faster_side_is_shown_with_an_interval_that_holds_how_much() {
    let (a, b) = (several("a", &[2000, 2020, 1990], 2), several("b", &[3000, 3040, 2980], 2));
    let sides = [("a", &a), ("b", &b)].map(|(name, runs)| of_runs(name, &runs.iter().collect::<Vec<_>>()));
    let ratio = |base: usize| {
        let comparison = compare(&sides, base).unwrap();
        assert_eq!(comparison.series[0].basis.unit, BasisUnit::Runs);
        row(&comparison.series[0].sections[0], "throughput").cells.iter().find_map(|cell| cell.ratio).unwrap()
    };
    let faster = ratio(0);
    assert_eq!(faster.verdict, Verdict::Better);
    let [lowest, highest] = faster.interval.unwrap();
    assert!(lowest > 1.4 && lowest < 1.5 && highest > 1.5 && highest < 1.6, "{faster:?}");
    // The other way round it is slower.
    assert_eq!(ratio(1).verdict, Verdict::Worse);
    // A run of several repeats is one run.
    let repeated = two_targets(&["pg", "pg", "pg"]);
    let single = run("c", &[], (4, 1000), 10);
    let comparison = compare(&[repeated[0].clone(), side("c", &single)], 0).unwrap();
    let basis = &comparison.series[0].basis;
    assert_eq!(basis.unit, BasisUnit::Untested);
    assert!(
        basis.text.starts_with("not tested: pg 1 run of 3 repeats and c 1 run; to test it"),
        "{}",
        basis.text
    );
}

#[test]
fn stages_of_different_loads_are_no_repeats() {
    let one = |name: &str, clients: u32| run(name, &[], (clients, 1000 * u64::from(clients)), 30);
    let (a, again, b) = (one("a", 2), one("again", 2), one("b", 4));
    let found = |sides: &[Side]| {
        let comparison = compare(sides, 0).unwrap();
        let repeats =
            comparison.differences.iter().find(|difference| difference.aspect == "repeats").cloned();
        let throughput = row(&comparison.series[0].sections[0], "throughput").cells[1].ratio.unwrap();
        (repeats, throughput)
    };
    // Both sides are mixed alike, which no comparison of the two would show.
    let (mixed, ratio) = found(&[of_runs("a", &[&a, &b]), of_runs("b", &[&a, &b])]);
    let mixed = mixed.unwrap();
    assert_eq!(mixed.severity, Severity::Invalid);
    assert_eq!(mixed.text, "repeats: those of a are of 2 and 4 clients, those of b are of 2 and 4 clients");
    assert_eq!((ratio.interval, ratio.verdict), (None, Verdict::NoInterval));
    assert_eq!(found(&[of_runs("a", &[&a, &again]), of_runs("b", &[&a, &again])]).0, None);
    // Of the same load in another protocol there is a median, with a doubt.
    let mut simple = one("c", 2);
    for stamped in &mut simple.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.protocol = "simple".to_owned();
        }
    }
    let (mixed, ratio) = found(&[of_runs("a", &[&a, &again]), of_runs("b", &[&a, &simple])]);
    assert_eq!(mixed.as_ref().unwrap().severity, Severity::Doubt);
    assert!(mixed.unwrap().text.contains("those of b are of prepared and simple protocol"));
    assert!(ratio.interval.is_some());
}

#[test]
fn holds_at_different_loads_are_compared_at_a_common_one_too() {
    let a = run("a", &[(1, 1000), (2, 2000), (4, 1500)], (2, 2000), 30);
    let b = run("b", &[(1, 900), (2, 1700), (4, 2600)], (4, 2600), 30);
    let comparison = compare(&[side("a", &a), side("b", &b)], 0).unwrap();
    let sections = &comparison.series[0].sections;
    let kinds: Vec<SectionKind> = sections.iter().map(|section| section.kind).collect();
    assert_eq!(kinds, [SectionKind::Headline, SectionKind::CommonLoad, SectionKind::Peak]);
    assert!(!sections[0].same_load && sections[1].same_load);
    assert_eq!(row(&sections[0], "p99").cells[1].ratio.unwrap().verdict, Verdict::OtherLoad);
    assert_eq!(row(&sections[0], "throughput").cells[1].ratio.unwrap().verdict, Verdict::NotTested);
    // Two clients: the highest rung of both that is past nobody's peak.
    assert_eq!(sections[1].loads[0].as_ref().unwrap().clients, 2);
    let clients = |side: usize| row(&sections[2], "peak_clients").cells[side].value;
    assert_eq!((clients(0), clients(1)), (Some(2.0), Some(4.0)));
}

#[test]
fn repeated_runs_are_their_medians_and_say_so() {
    let runs = |factor: u64| {
        [1000, 1010, 990].map(|level| run(&format!("{factor}-{level}"), &[], (4, level * factor), 10))
    };
    let (a, b) = (runs(1), runs(2));
    let sides = [of_runs("a", &a.each_ref()), of_runs("b", &b.each_ref())];
    let series = &compare(&sides, 0).unwrap().series[0];
    assert_eq!((series.basis.unit, &series.basis.repeats[..]), (BasisUnit::Runs, &[3, 3][..]));
    assert!(series.basis.text.contains("3 runs each"), "{}", series.basis.text);
    let cells = &row(&series.sections[0], "throughput").cells;
    assert_eq!(cells[1].repeats, 3);
    assert_eq!(cells[1].ratio.unwrap().verdict, Verdict::Better);
    // One run against three: told as what it is.
    let sides = [of_runs("a", &a.each_ref()), side("b", &b[0])];
    let series = &compare(&sides, 0).unwrap().series[0];
    assert_eq!(series.basis.unit, BasisUnit::Untested);
    assert!(series.basis.text.contains("not tested: a 3 runs and b 1 run"), "{}", series.basis.text);
}

/// One run of two targets whose holds were repeated in this order.
fn two_targets(order: &[&'static str]) -> [Side; 2] {
    two_targets_with(order, |_| ())
}

/// The same, with a change to its events.
fn two_targets_with(order: &[&'static str], change: impl Fn(&mut Event)) -> [Side; 2] {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| !matches!(stamped.event, Event::Finished(_)));
    let described = fixture.events.iter().find_map(|stamped| match &stamped.event {
        Event::Target(target) => Some(target.clone()),
        _ => None,
    });
    let mut other = described.unwrap();
    other.name = "my".to_owned();
    fixture.push(Event::Target(other));
    for (index, target) in order.iter().enumerate() {
        let level = if *target == "pg" { 1000 } else { 700 } + 10 * index as u64;
        fixture.target = target;
        fixture.play(&FixtureStage::read(StageKind::Hold, 4, &wobble(level, 10)));
    }
    fixture.finish();
    fixture.events.iter_mut().for_each(|stamped| change(&mut stamped.event));
    let evidence = Arc::new(Evidence::of_events(&fixture.events));
    ["pg", "my"].map(|target| Side {
        name: target.to_owned(),
        members: vec![Member { evidence: Arc::clone(&evidence), target: target.to_owned() }],
        series: Some("read".to_owned()),
    })
}

#[test]
fn the_headline_of_repeats_is_the_same_in_report_and_comparison() {
    let repeats = ["pg", "pg", "pg", "my", "my", "my"];
    let sides = two_targets(&repeats);
    let comparison = compare(&sides, 0).unwrap();
    let cell = &row(&comparison.series[0].sections[0], "throughput").cells[0];
    let member = &sides[0].members[0];
    let headline = member.series("read").unwrap().headline.as_ref().unwrap();
    assert_eq!((headline.stages.len(), headline.stage), (3, headline.stages[1]));
    assert_eq!(cell.value, Some(headline.throughput.mean));
    let [lowest, highest] = cell.interval.unwrap();
    let half_width = (highest - lowest) / 2.0;
    assert!((half_width - headline.throughput.half_width.unwrap()).abs() < 1e-6 * half_width);
    let p99 = row(&comparison.series[0].sections[0], "p99").cells[0].value;
    assert_eq!(p99, headline.latency.map(|latency| latency.p99_us));
}

/// Has the systems loaded at the same time in each phase.
fn loaded_together(event: &mut Event) {
    if let Event::Started(started) = event {
        let phase = PhaseSpec { together: true, ..PhaseSpec::default() };
        started.resolved.phases = vec![phase; 2];
    }
}

#[test]
fn a_stage_without_its_counterpart_is_in_no_pair() {
    let order = ["pg", "my", "my", "pg", "pg", "my", "my", "pg"];
    let lost_in = |round: u32| {
        let id = std::cell::Cell::new(None);
        two_targets_with(&order, move |event| match event {
            Event::StageStarted(stage) if stage.key.system == "my" && stage.key.round == round => {
                id.set(Some(stage.id));
            }
            Event::StageFinished(finished) => {
                finished.complete &= id.get().is_none_or(|lost| finished.stage < lost);
            }
            _ => {}
        })
    };
    // Only the second round and those behind it are without a counterpart.
    let of = |round| {
        let series = compare(&lost_in(round), 0).unwrap().series.remove(0);
        let ratio = row(&series.sections[0], "throughput").cells[1].ratio.unwrap();
        (series.basis.unit, series.basis.text.split(':').next().unwrap().to_owned(), ratio)
    };
    let (unit, _, ratio) = of(2);
    assert_eq!((unit, ratio.verdict), (BasisUnit::Untested, Verdict::NotTested));
    let (unit, text, ratio) = of(3);
    assert_eq!((unit, text.as_str()), (BasisUnit::Pairs, "2 rounds in turn"));
    // The figures of the first two rounds alone.
    let means = |first: f64, second: f64| (first * second).sqrt();
    let expected = means(709.0 / 999.0, 719.0 / 1029.0);
    assert!((ratio.value - expected).abs() < 0.01, "{} {expected}", ratio.value);
    assert!(ratio.interval.is_some());
}

#[test]
fn holds_at_each_ones_own_peak_are_pairs_whose_latencies_are_set_aside() {
    let sides = two_targets_with(&["pg", "my", "my", "pg"], |event| {
        if let Event::StageStarted(stage) = event
            && stage.key.system == "my"
            && stage.kind == StageKind::Hold
        {
            stage.clients = 16;
        }
    });
    let series = compare(&sides, 0).unwrap().series.remove(0);
    assert_eq!((series.basis.unit, series.basis.in_turn), (BasisUnit::Pairs, true), "{}", series.basis.text);
    assert!(!series.sections[0].same_load);
    let ratio = |key| row(&series.sections[0], key).cells[1].ratio.unwrap();
    assert!(ratio("throughput").interval.is_some());
    assert_eq!(ratio("p99").verdict, Verdict::OtherLoad);
}

#[test]
fn rungs_of_other_loads_are_no_pairs_whatever_their_place() {
    let mut fixture = clean_fixture();
    fixture.events.retain(|stamped| !matches!(stamped.event, Event::Finished(_)));
    fixture.push(Event::Target(crate::fixture::target("my")));
    // The ladder of each goes on where its own peak seems to be.
    for (pg, my) in [(1, 1), (4, 4), (2, 8), (3, 2), (8, 3)] {
        for (target, clients) in [("pg", pg), ("my", my)] {
            fixture.target = target;
            fixture.play(&FixtureStage::read(StageKind::Ladder, clients, &wobble(100, 10)));
        }
    }
    fixture.finish();
    let evidence = Arc::new(Evidence::of_events(&fixture.events));
    let picked = |target: &str| {
        let stages = evidence.report().stages.iter();
        stages.filter(|it| it.stage.key.system == target && it.stage.series == "read").collect::<Vec<_>>()
    };
    let members =
        ["pg", "my"].map(|target| Member { evidence: Arc::clone(&evidence), target: target.to_owned() });
    let sides =
        [side::Picked(vec![(&members[0], picked("pg"))]), side::Picked(vec![(&members[1], picked("my"))])];
    let [of_pg, of_my] = basis::pairs(&sides[0], &sides[1]).unwrap();
    let clients = |picked: &side::Picked<'_>| -> Vec<u32> {
        picked.stages().map(|(_, result)| result.stage.clients).collect()
    };
    assert_eq!((clients(&of_pg), clients(&of_my)), (vec![1, 4], vec![1, 4]));
}

#[test]
fn repeats_of_one_run_that_took_turns_are_told_as_such() {
    for order in [["pg", "my", "pg", "my"], ["pg", "my", "my", "pg"]] {
        let series = &compare(&two_targets(&order), 0).unwrap().series[0];
        assert_eq!((series.basis.unit, series.basis.in_turn), (BasisUnit::Pairs, true), "{order:?}");
        assert!(series.basis.text.contains("2 rounds in turn"), "{}", series.basis.text);
    }
    let order = ["pg", "my", "pg", "my"];
    let series = &compare(&two_targets_with(&order, loaded_together), 0).unwrap().series[0];
    assert_eq!((series.basis.unit, series.basis.in_turn), (BasisUnit::Untested, false));
    let text = "not tested: 2 stages each that did not take turns; to test it: dyno run --runs 5, and compare \
                A:pg/read,B:pg/read,… with A:my/read,B:my/read,…";
    assert_eq!(series.basis.text, text);
    let series = &compare(&two_targets(&["pg", "my"]), 0).unwrap().series[0];
    assert_eq!(series.basis.text, "not tested: one stage each; to test it: dyno run --repeat 5");
}

#[test]
fn what_one_side_lacks_is_named_and_nothing_in_common_is_an_error() {
    let write = clean_fixture();
    let read = run("b", &[(1, 1000), (2, 2000)], (2, 2000), 10);
    let error = compare(&[side("a", &write), side("b", &read)], 0).unwrap_err().to_string();
    assert!(error.contains("a has write") && error.contains("b has read"), "{error}");

    let mut both = clean_fixture();
    both.play(&FixtureStage::read(StageKind::Hold, 2, &wobble(2000, 10)));
    let comparison = compare(&[side("a", &both), side("b", &read)], 0).unwrap();
    assert_eq!(comparison.series.len(), 1);
    let absent = &comparison.absent[0];
    assert_eq!(
        (absent.series.as_str(), &absent.lacking[..], absent.compared),
        ("write", &["b".to_owned()][..], false)
    );
    // Three sides, of which two have it: compared, and the third's lack is named.
    let comparison = compare(&[side("a", &both), side("b", &read), side("c", &write)], 0).unwrap();
    assert_eq!(comparison.series.len(), 2);
    assert!(comparison.absent.iter().all(|absent| absent.compared));
    let unknown = row(&comparison.series[0].sections[0], "throughput").cells[1];
    assert_eq!((unknown.value, unknown.ratio), (None, None));
}

#[test]
fn series_that_were_named_belong_together_whatever_they_are_called() {
    let (write, read) = (clean_fixture(), run("b", &[], (8, 2000), 20));
    let mut sides = [side("a", &write), side("b", &read)];
    sides[0].series = Some("write".to_owned());
    sides[1].series = Some("read".to_owned());
    let comparison = compare(&sides, 0).unwrap();
    assert_eq!(comparison.series.len(), 1);
    assert!(comparison.findings.iter().any(|finding| {
        finding.severity == Severity::Invalid && finding.evidence.starts_with("workload:")
    }));
    // Different work has no ratio.
    let series = &comparison.series[0];
    let rows = series.sections.iter().flat_map(|section| &section.rows);
    let ladder = series.ladder.iter().flat_map(|rung| rung.throughput.iter().chain(&rung.p99_us));
    let mut cells = rows.flat_map(|row| &row.cells).chain(ladder);
    assert!(cells.all(|cell| cell.ratio.is_none()), "{comparison:#?}");
    let shown = row(&series.sections[0], "throughput");
    assert!(shown.cells.iter().all(|cell| cell.value.is_some()));
}

#[test]
fn the_document_is_json_without_any_number_that_is_none() {
    let (a, b) = (clean_fixture(), clean_fixture());
    let comparison = compare(&[side("a", &a), side("b", &b)], 0).unwrap();
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["schema"], "dyno.comparison/1");
    let cell = &json["series"][0]["sections"][0]["rows"][0]["cells"][1];
    assert_eq!(cell["ratio"]["verdict"], "not-tested");
    assert!(cell["interval"][0].is_number());
}

#[test]
fn what_is_proposed_of_one_run_is_what_it_accepts() {
    let proposed = |command: &str, repeat: Option<u32>, together: bool, once: bool| {
        let sides = two_targets_with(&["pg", "my"], |event| match event {
            Event::Started(started) => {
                started.command = command.split(' ').map(str::to_owned).collect();
                started.resolved.phases = vec![PhaseSpec { repeat, together, ..PhaseSpec::default() }];
            }
            Event::StageStarted(stage) => stage.fixed |= once,
            _ => {}
        });
        let text = compare(&sides, 0).unwrap().series[0].basis.text.clone();
        text.split_once("to test it: ").map(|(_, command)| command.to_owned()).unwrap()
    };
    let whole_runs = "A:pg/read,B:pg/read,… with A:my/read,B:my/read,…";
    assert_eq!(proposed("dyno run events", Some(1), false, false), "dyno run events --repeat 5");
    // A ramp without a hold refuses --repeat.
    let of_ramp = format!("dyno run events --ramp 1..9 --runs 5, and compare {whole_runs}");
    assert_eq!(proposed("dyno run events --ramp 1..9", None, false, false), of_ramp);
    // Together they take no turns however often they are repeated, and what is done once is done once.
    let together = format!("dyno run mine.toml --runs 5, and compare {whole_runs}");
    assert_eq!(proposed("dyno run mine.toml", Some(3), true, false), together);
    let once = format!("dyno run storage --runs 5, and compare {whole_runs}");
    assert_eq!(proposed("dyno run storage", Some(1), false, true), once);
    // What was the last run is another one by now.
    let again = "dyno run --rerun 2026-11-20-1 --repeat 5";
    assert_eq!(proposed("dyno run --rerun last --repeat 3", Some(3), false, false), again);
    assert_eq!(
        proposed("dyno run --rerun=last~1", Some(3), false, false),
        again.replace("--rerun ", "--rerun=")
    );
}
