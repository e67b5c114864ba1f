//! Whoever names the stage that stands for a series names the same one, with the same figure.

use std::sync::Arc;

use super::*;
use crate::comparison::{Cell, Evidence, Member, SectionKind, Side, compare};
use crate::document::Report;
use crate::event::Stamped;
use crate::fixture::{Fixture, FixtureStage, clean_fixture, interval, wobble};
use crate::fold::{Fold, fold};
use crate::judge::evidence::headlines;
use crate::summary::Content;

fn started() -> Fixture {
    Fixture::started("2026-11-20-1")
}

fn ladder(fixture: &mut Fixture) {
    for (clients, level) in [(1, 250), (2, 480), (4, 900), (8, 850), (16, 800)] {
        fixture.play(&FixtureStage::write(StageKind::Ladder, clients, &wobble(level, 5)));
    }
}

/// Two seconds of a stage that never ends.
fn cut(fixture: &mut Fixture, load: &FixtureStage<'_>) {
    let id = fixture.start_stage(load);
    for (index, done) in load.tps.iter().enumerate() {
        fixture.push(crate::event::Event::Interval(interval(load, id, index, *done)));
    }
}

/// Runs of every shape, with the stages that stand for their series.
fn runs() -> Vec<(&'static str, Vec<Stamped>, Vec<u32>)> {
    let of = |play: &dyn Fn(&mut Fixture)| {
        let mut fixture = started();
        play(&mut fixture);
        fixture.events
    };
    let rate = |kind, clients, tps: &'static [u64], rate_per_s| FixtureStage {
        open: Some((rate_per_s, 20)),
        ..FixtureStage::write(kind, clients, tps)
    };
    vec![
        ("ladder and hold", clean_fixture().events, vec![5]),
        ("ramp without hold", of(&ladder), vec![2]),
        (
            "clients that rise while it runs",
            of(&|fixture| {
                fixture.play(&FixtureStage::write(StageKind::Ramp, 1, &[100, 400, 800]));
            }),
            vec![0],
        ),
        (
            "repeats",
            of(&|fixture| {
                for level in [1000, 3000, 2000] {
                    fixture.play(&FixtureStage::write(StageKind::Hold, 8, &wobble(level, 5)));
                }
                cut(fixture, &FixtureStage::write(StageKind::Hold, 8, &[9000]));
            }),
            vec![0, 1, 2],
        ),
        (
            "killed in mid-ladder, in its best step",
            of(&|fixture| {
                fixture.play(&FixtureStage::write(StageKind::Ladder, 1, &wobble(250, 5)));
                cut(fixture, &FixtureStage::write(StageKind::Ladder, 2, &[480, 490]));
            }),
            vec![0],
        ),
        (
            "killed in the first step",
            of(&|fixture| cut(fixture, &FixtureStage::write(StageKind::Ladder, 1, &[250, 260]))),
            vec![0],
        ),
        (
            "killed in the hold",
            of(&|fixture| {
                ladder(fixture);
                cut(fixture, &FixtureStage::write(StageKind::Hold, 4, &[880, 890]));
            }),
            vec![5],
        ),
        (
            "rates that rise",
            of(&|fixture| {
                for (tps, rate_per_s) in [(&[500; 5], 500.0), (&[1000; 5], 1000.0), (&[900; 5], 1500.0)] {
                    fixture.play(&rate(StageKind::Ladder, 64, tps, rate_per_s));
                }
            }),
            vec![1],
        ),
        (
            "a rate that is held",
            of(&|fixture| {
                fixture.play(&rate(StageKind::WarmUp, 64, &[700; 3], 500.0));
                fixture.play(&rate(StageKind::Hold, 64, &[500; 5], 500.0));
            }),
            vec![1],
        ),
    ]
}

/// What a comparison of the run with itself shows of each side: the stages, and the throughput.
fn compared(report: &Report) -> (Vec<u32>, f64) {
    let (stages, cell) = compared_cell(report);
    (stages, cell.value.unwrap())
}

fn compared_cell(report: &Report) -> (Vec<u32>, Cell) {
    let member = Member { evidence: Arc::new(Evidence::of_report(report.clone())), target: "pg".to_owned() };
    let side = Side { name: "pg".to_owned(), members: vec![member], series: None };
    let comparison = compare(&[side.clone(), side], 0).unwrap();
    let section = &comparison.series[0].sections[0];
    assert_eq!(section.kind, SectionKind::Headline);
    let stages = section.loads[1].as_ref().unwrap().stages.iter().map(|reference| reference.stage);
    let throughput = section.rows.iter().find(|row| row.key == "throughput").unwrap();
    (stages.collect(), throughput.cells[1])
}

#[test]
fn the_list_has_the_seconds_of_passes() {
    let mut fixture = started();
    for level in [1000, 3000, 2000] {
        fixture.play(&FixtureStage::write(StageKind::Hold, 1, &wobble(level, 5)));
    }
    let mut folded = Fold::new();
    for stamped in &mut fixture.events {
        if let crate::event::Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
        folded.add(stamped);
    }
    let listed = Content::of(&folded.outline());
    assert_eq!(listed, Content::of(&fold(&fixture.events)));
    let passes = listed.series[0].passes.as_ref().unwrap();
    assert_eq!((passes.total_s.is_some(), passes.queries, passes.ran), (true, 1, 1));
}

#[test]
fn report_list_findings_and_comparison_name_the_same_stages() {
    for (what, events, expected) in runs() {
        let report = fold(&events);
        let headline = report.series[0].headline.as_ref().unwrap();
        assert_eq!(headline.stages, expected, "{what}");
        assert!(expected.contains(&headline.stage), "{what}");

        let stage = &report.stages.iter().find(|result| result.stage.id == headline.stage).unwrap().stage;
        let mut folded = Fold::new();
        events.iter().for_each(|stamped| folded.add(stamped));
        let listed = Content::of(&folded.outline());
        assert_eq!(listed, Content::of(&report), "{what}: the outline is of the report");
        assert_eq!(
            (listed.series[0].tps, listed.series[0].kind, listed.series[0].clients),
            (headline.throughput.mean, stage.kind, stage.clients),
            "{what}: the list of runs"
        );

        assert_eq!(compared(&report), (expected.clone(), headline.throughput.mean), "{what}: comparison");

        let judged: Vec<u32> = headlines(&report).iter().map(|(_, result)| result.stage.id).collect();
        if stage.kind != StageKind::Ramp {
            assert_eq!(judged, expected, "{what}: what findings are of");
        }
    }
}

#[test]
fn a_comparison_has_no_interval_of_the_best_of_several() {
    let mut fixture = started();
    ladder(&mut fixture);
    assert_eq!(compared_cell(&fold(&fixture.events)).1.interval, None);
    assert!(compared_cell(&fold(&clean_fixture().events)).1.interval.is_some());
}
