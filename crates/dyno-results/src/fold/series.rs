//! Groups the stages of a run into series: a ladder with its peak and where it was saturated, and holds.

use super::limits;
use crate::document::{Report, Saturation, Series, SpeedUp, StageResult};
use crate::event::{StageKey, StageKind};
use crate::statistics::peak;
use crate::statistics::saturation::{self, LoadStep};
use crate::{headline, passes};

/// The series in the order in which they began, those of a system's phase in that of its streams. Where they were saturated is
/// only told with what is `known` of the run.
pub(super) fn group(stages: &[StageResult], known: Option<&Report>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for result in stages {
        let stage = &result.stage;
        let position = all
            .iter()
            .position(|series| series.target == stage.key.system && series.name == stage.series)
            .unwrap_or_else(|| {
                let StageKey { ref system, phase, stream, .. } = stage.key;
                // The streams of a turn begin in any order.
                let is_later = |it: &Series| it.target == *system && it.phase == phase && it.stream > stream;
                let place = all.iter().position(is_later).unwrap_or(all.len());
                let series = Series {
                    target: system.clone(),
                    name: stage.series.clone(),
                    phase,
                    stream,
                    workload: stage.workload.clone(),
                    caveat: stage.caveat.clone(),
                    ladder: Vec::new(),
                    holds: Vec::new(),
                    headline: None,
                    peak: None,
                    saturation: None,
                    passes: None,
                    findings: Vec::new(),
                };
                all.insert(place, series);
                place
            });
        match stage.kind {
            StageKind::WarmUp => {}
            StageKind::Ladder => all[position].ladder.push(stage.id),
            StageKind::Hold | StageKind::Ramp => all[position].holds.push(stage.id),
        }
    }
    for series in &mut all {
        finish(series, stages, known);
    }
    speed_ups(&mut all);
    all
}

/// Sets the passes of each series beside those of the other targets.
fn speed_ups(all: &mut [Series]) {
    for at in 0..all.len() {
        let (own, others) = (&all[at], all.iter().enumerate().filter(|(other, _)| *other != at));
        let same = others.map(|(_, other)| other).filter(|other| other.name == own.name);
        let against = |base: &Series| {
            SpeedUp::of(own.passes.as_ref()?, (&base.target, base.passes.as_ref()?), |_| false)
        };
        let found = same.filter_map(against).collect();
        if let Some(passes) = &mut all[at].passes {
            passes.speed_ups = found;
        }
    }
}

fn finish(series: &mut Series, stages: &[StageResult], known: Option<&Report>) {
    let find = |id: u32| stages.iter().find(|result| result.stage.id == id);
    let rate = |result: &StageResult| result.stage.rate_per_s().unwrap_or(0.0);
    let mut ladder: Vec<&StageResult> = series.ladder.iter().filter_map(|id| find(*id)).collect();
    ladder.sort_by(|left, right| {
        let by_clients = left.stage.clients.cmp(&right.stage.clients);
        by_clients.then(rate(left).total_cmp(&rate(right))).then(left.stage.id.cmp(&right.stage.id))
    });
    series.ladder = ladder.iter().map(|result| result.stage.id).collect();
    // A rung that was cut short, or is under way, is no evidence for or against a peak.
    let steps: Vec<LoadStep> = ladder.iter().filter_map(|result| LoadStep::of(result)).collect();
    // The steps of a load that accompanied another's ladder are all the same, and say nothing of more load.
    let rises = steps.iter().any(|step| Some(step.load()) != steps.first().map(LoadStep::load));
    let accompanied = ladder.iter().any(|result| result.accompanies.is_some());
    series.peak = peak::peak(&steps).filter(|_| rises || steps.len() == 1 && !accompanied);
    series.saturation = known.filter(|_| rises).and_then(|known| saturation(&steps, &ladder, known));
    // Rungs of a rate have the same clients throughout: where it stops being met says whether there is more.
    let of_rates = !steps.is_empty() && steps.iter().all(|step| step.rate_per_s.is_some());
    if let Some(peak) = series.peak.as_mut().filter(|_| of_rates) {
        peak.passed = series.saturation.is_some();
        let is_met = find(peak.stage).is_some_and(StageResult::met_its_rate);
        peak.rate_met = !peak.passed && is_met && steps.last().is_some_and(|step| step.stage == peak.stage);
    }
    series.headline = headline::of(series, find);
    series.passes = known.and_then(|known| passes::of(series, stages, known));
}

fn saturation(steps: &[LoadStep], ladder: &[&StageResult], known: &Report) -> Option<Saturation> {
    let found = saturation::decide(steps)?;
    let (step, last_good) = (steps.get(found.at)?, found.last_good.and_then(|index| steps.get(index)));
    // Steps stand by load ascending, as the ladder does.
    let whole: Vec<&StageResult> = steps
        .iter()
        .filter_map(|step| ladder.iter().copied().find(|result| result.stage.id == step.stage))
        .collect();
    let (limits, taken_by_others) = limits::limits(&whole, (found.at, found.sign), known);
    Some(Saturation {
        stage: step.stage,
        last_good: last_good.map(|step| step.stage),
        clients: step.clients,
        rate_per_s: step.rate_per_s,
        sign: found.sign,
        throughput_per_s: step.throughput.mean,
        p99_us: step.p99_us,
        evidence: found.evidence,
        limits,
        taken_by_others,
    })
}
