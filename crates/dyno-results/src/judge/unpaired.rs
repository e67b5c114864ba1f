//! `unpaired`: a stream ran without another of its phase for a part of a stage.

use super::evidence::{series_subject, stage_name};
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity, StageKind, Subject};
use crate::finding::Facts;
use crate::spec::{PhaseSpec, StreamSpec};

/// Share of a stage, and seconds, that another stream may be missing: stages begin and end some milliseconds apart.
const MISSING_SHARE: f64 = 0.05;
const MISSING_S: f64 = 0.1;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let phases = &report.run.resolved.phases;
    let of_series = |series: &Series| of_series(report, phases.get(series.phase as usize)?, series);
    report.series.iter().filter_map(of_series).collect()
}

/// A stage and the stream that it had beside it for the shortest time.
struct Unpaired<'a> {
    result: &'a StageResult,
    other: &'a str,
    together_s: f64,
}

fn of_series(report: &Report, phase: &PhaseSpec, series: &Series) -> Option<Finding> {
    let stream = phase.streams.get(series.stream as usize)?;
    if accompanies(stream, &series.target) {
        // It runs on while the others wait for their last answers.
        return None;
    }
    let others = || (0..).zip(&phase.streams).filter(|(place, _)| *place != series.stream);
    let stages: Vec<&StageResult> = report
        .stages
        .iter()
        .filter(|it| it.stage.key.system == series.target && it.stage.series == series.name)
        // What was cut short is told of already.
        .filter(|it| it.complete && it.stage.kind != StageKind::WarmUp)
        .collect();
    let shortest = |result| {
        let beside = others().map(|(place, other)| {
            let together_s = together_s(report, result, place);
            Unpaired { result, other: other.name.as_deref().unwrap_or_default(), together_s }
        });
        beside.min_by(|a, b| a.together_s.total_cmp(&b.together_s))
    };
    let is_unpaired = |it: &Unpaired<'_>| {
        let missing_s = it.result.seconds - it.together_s;
        missing_s > MISSING_S && missing_s > MISSING_SHARE * it.result.seconds
    };
    let found: Vec<Unpaired<'_>> = stages.iter().copied().filter_map(shortest).filter(is_unpaired).collect();
    // The last one where a hold, if there is any, comes last.
    let told = found.last()?;
    let mut facts = Facts::default();
    let evidence = format!(
        "in {} of {} of {}, another stream did not run for the whole time: {} ran for {} of {}",
        facts.count("found_in", found.len() as u64),
        facts.counted("stages", stages.len() as u64, "stage"),
        series.name,
        facts.name("other", told.other),
        facts.s("together", told.together_s),
        stage_name(told.result)
    );
    let advice = "the figures are not those of the streams together: give only one stream a course of its own, and the others \
                  last as long (`dyno plan` shows the course of each), or give all the same stages";
    Some(Finding::new(
        (Code::Unpaired, Severity::Doubt),
        Subject { stage: Some(told.result.stage.id), ..series_subject(report, series) },
        evidence,
        advice,
        facts,
    ))
}

/// Whether its load lasts as long as others.
fn accompanies(stream: &StreamSpec, target: &str) -> bool {
    let load = stream.systems.get(target).unwrap_or(&stream.load);
    load.course(false, true).is_ok_and(|course| course.ends_with_others())
}

/// For how long another stream ran on the same target during a stage, seconds.
fn together_s(report: &Report, result: &StageResult, other: u32) -> f64 {
    let own = &result.stage.key;
    let (begin, end) = (result.start_s, result.start_s + result.seconds);
    let beside = report
        .stages
        .iter()
        .filter(|it| (&it.stage.key.system, it.stage.key.phase) == (&own.system, own.phase))
        .filter(|it| it.stage.key.stream == other)
        .map(|it| (it.start_s + it.seconds).min(end) - it.start_s.max(begin));
    // The sum of none is -0.
    beside.fold(0.0, |sum, seconds| sum + seconds.max(0.0))
}
