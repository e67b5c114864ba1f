//! Every output names the same stage and the same figure for a series: terminal, JSON, page, CSV, list of runs, comparison.

use dyno_results::comparison;
use dyno_results::document::{Report, Series};
use dyno_results::event::{Event, Stamped};
use dyno_results::fold::fold;
use dyno_results::format;
use dyno_results::store::Store;
use serde_json::Value;

use crate::stream::Plan;
use crate::terminal::Terminal;
use crate::{csv, json, page, runs, summary};

fn plans() -> Vec<(&'static str, Vec<Stamped>)> {
    let plan = Plan { ladder: vec![1, 2, 4, 8, 16], rung_s: 4, hold_s: 6, ..Plan::default() };
    vec![
        ("ladder and hold", plan.events()),
        ("ladder alone", Plan { hold_s: 0, ..plan.clone() }.events()),
        ("rate", Plan { rate_per_s: Some(400.0), ..plan.clone() }.events()),
        ("stopped in mid-ladder", Plan { stop_after_s: Some(26), ..plan.clone() }.events()),
        ("repeats", repeated(plan.events())),
        ("two targets", Plan { two_targets: true, ..plan }.events()),
    ]
}

/// The last stage once more, half as fast: its hold has a repeat.
fn repeated(mut events: Vec<Stamped>) -> Vec<Stamped> {
    let last = events.iter().rev().find_map(|stamped| match &stamped.event {
        Event::StageStarted(stage) => Some(stage.id),
        _ => None,
    });
    let of_last = |event: &Event| match event {
        Event::StageStarted(stage) => Some(stage.id) == last,
        Event::Interval(interval) => Some(interval.stage) == last,
        Event::StageFinished(finished) => Some(finished.stage) == last,
        _ => false,
    };
    let mut again: Vec<Stamped> = events.iter().filter(|stamped| of_last(&stamped.event)).cloned().collect();
    for stamped in &mut again {
        match &mut stamped.event {
            Event::StageStarted(stage) => stage.id += 1,
            Event::Interval(interval) => {
                interval.stage += 1;
                interval.types.iter_mut().for_each(|of_type| of_type.done /= 2);
            }
            Event::StageFinished(finished) => finished.stage += 1,
            _ => {}
        }
    }
    events.extend(again);
    for (seq, stamped) in (0..).zip(&mut events) {
        stamped.seq = seq;
    }
    events
}

/// What the curve of a series' headline has on average, in the CSV's own columns.
fn mean_of_csv(report: &Report, stages: &[u32]) -> Vec<f64> {
    let mut out = Vec::new();
    csv::write(&report.run.started_at, &report.timelines, &report.stages, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.split("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let at = |name: &str| head.iter().position(|column| column.starts_with(name)).unwrap();
    let (stage_at, tps_at) = (at("stage"), at("throughput"));
    let rows: Vec<Vec<&str>> = lines.filter(|row| row.len() == head.len()).collect();
    let mean = |id: &u32| {
        let tps: Vec<f64> = rows
            .iter()
            .filter(|row| row[stage_at] == id.to_string())
            .filter_map(|row| row[tps_at].parse().ok())
            .collect();
        tps.iter().sum::<f64>() / tps.len() as f64
    };
    stages.iter().map(mean).collect()
}

/// The stages and the throughput that a document in JSON gives as the headline.
fn in_document(document: &Value, series: usize) -> (Vec<u64>, f64) {
    let headline = &document["series"][series]["headline"];
    let stages = headline["stages"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap());
    (stages.collect(), headline["throughput"]["mean"].as_f64().unwrap())
}

fn compared(store: &Store, series: &Series) -> f64 {
    let sides = ["last~1", "last"].map(|run| format!("{run}:{}", series.target));
    let comparison = comparison::of_store(store, &sides, None).unwrap();
    let of_series = comparison.series.iter().find(|other| other.name == series.name).unwrap();
    let row = of_series.sections[0].rows.iter().find(|row| row.key == "throughput").unwrap();
    row.cells[0].value.unwrap()
}

#[test]
fn every_output_names_the_same_stage() {
    for (what, events) in plans() {
        let directory = tempfile::TempDir::new().unwrap();
        let store = Store::open(directory.path().join("dyno.sqlite")).unwrap();
        for _ in 0..2 {
            let mut writer = store.begin_run("2026-11-20").unwrap();
            for stamped in &events {
                let mut stamped = stamped.clone();
                if let Event::Started(started) = &mut stamped.event {
                    writer.name().clone_into(&mut started.run);
                }
                writer.append(&stamped).unwrap();
            }
        }
        let report = fold(&events);
        let terminal = summary::render(&report, None, Terminal::plain(160));
        let mut written = Vec::new();
        json::write(&report, json::Layout::Compact, &mut written).unwrap();
        let written: Value = serde_json::from_slice(&written).unwrap();
        let drawn = page::document(&report).unwrap();
        let listed = store.runs().unwrap();
        let list = runs::render(&listed, Terminal::plain(400));
        assert!(!report.series.is_empty(), "{what}");
        for (index, series) in report.series.iter().enumerate() {
            let headline = series.headline.as_ref().unwrap();
            let stages: Vec<u64> = headline.stages.iter().copied().map(u64::from).collect();
            let expected = (stages, headline.throughput.mean);
            assert_eq!(in_document(&written, index), expected, "{what}: JSON");
            assert_eq!(in_document(&drawn, index), expected, "{what}: page");
            let held = series.holds.contains(&headline.stage);
            let mean = headline.throughput.mean;
            let figure = if held { format::long(mean) } else { format::short(mean) };
            assert!(terminal.contains(&figure), "{what}: {figure} in the terminal\n{terminal}");
            assert_eq!(listed[0].content.series[index].tps, mean, "{what}: list");
            assert!(list.contains(&format::short(mean)), "{what}: {list}");
            assert_eq!(compared(&store, series), mean, "{what}: comparison");
            let means = mean_of_csv(&report, &headline.stages);
            let (least, most) =
                means.iter().fold((f64::MAX, 0.0_f64), |(a, b), mean| (a.min(*mean), b.max(*mean)));
            assert!(least * 0.99 <= mean && mean <= most * 1.01, "{what}: {means:?} in CSV, not {mean}");
        }
    }
}
