//! Which stages stand for a series, and what they come to: one answer for reports, lists and comparisons.

use crate::document::{Estimate, Headline, HeadlineFigure, Percentiles, Series, StageResult};
use crate::event::{Arrival, Stage, StageKind};
use crate::statistics::repeats;

/// What was asked of a stage; stages of equal demand repeat each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Demand {
    Closed { clients: u32, clients_end: Option<u32> },
    Open { rate_per_s: f64, rate_end_per_s: Option<f64> },
}

impl Demand {
    pub(crate) fn of(stage: &Stage) -> Self {
        match stage.arrival {
            Arrival::Closed { .. } => Self::Closed { clients: stage.clients, clients_end: stage.clients_end },
            Arrival::Open { rate_per_s, .. } => {
                Self::Open { rate_per_s, rate_end_per_s: stage.rate_end_per_s }
            }
        }
    }

    /// What a ladder ascends by.
    pub(crate) fn height(self) -> f64 {
        match self {
            Self::Closed { clients, .. } => f64::from(clients),
            Self::Open { rate_per_s, .. } => rate_per_s,
        }
    }
}

/// What stands for a series: of stages that repeat each other the median of each figure.
pub(crate) fn of<'a>(series: &Series, find: impl Fn(u32) -> Option<&'a StageResult>) -> Option<Headline> {
    let stages: Vec<&StageResult> = strongest(candidates(series, find))
        .into_iter()
        .filter(|result| result.throughput.is_some())
        .collect();
    let throughput = median(series, &stages, |result| result.throughput, 1.0)?;
    let off = |result: &StageResult| (result.throughput.map_or(0.0, |own| own.mean) - throughput.mean).abs();
    let middle = stages.iter().min_by(|left, right| off(left).total_cmp(&off(right)))?;
    let latencies: Vec<Percentiles> = stages.iter().filter_map(|result| result.latency().copied()).collect();
    Some(Headline {
        stage: middle.stage.id,
        stages: stages.iter().map(|result| result.stage.id).collect(),
        throughput,
        figure: middle.stage.figure.as_ref().and_then(|figure| {
            let value = median(series, &stages, |result| result.figure_value, figure.per.seconds())?;
            let possible_share = figure.at_most.map(|most| value.mean / most);
            Some(HeadlineFigure { figure: figure.clone(), value, possible_share })
        }),
        latency: median_of_each(&latencies),
        cpu_taken_share: stages.iter().filter_map(|result| result.cpu_taken_share).reduce(f64::max),
    })
}

/// A rate of these stages: of the only one its own, of several the median with the interval over them, which is no narrower than one
/// transaction in the longest. `unit_s` is the unit of time of the rate, seconds.
fn median(
    series: &Series,
    stages: &[&StageResult],
    rate: impl Fn(&StageResult) -> Option<Estimate>,
    unit_s: f64,
) -> Option<Estimate> {
    let estimate = match stages {
        [only] => rate(only)?,
        _ => {
            let means: Vec<f64> = stages.iter().filter_map(|result| Some(rate(result)?.mean)).collect();
            let of_repeats = repeats::estimate(&means)?;
            let longest_s = stages.iter().map(|result| result.seconds).fold(0.0, f64::max);
            let half_width = of_repeats.half_width.map(|half_width| half_width.max(unit_s / longest_s));
            Estimate { half_width, ..of_repeats }
        }
    };
    let best = stages.iter().any(|result| is_best_of_several(series, result));
    Some(if best { estimate.without_interval() } else { estimate })
}

/// Whether a stage stands for its series because it was the highest of several.
pub(crate) fn is_best_of_several(series: &Series, result: &StageResult) -> bool {
    result.stage.kind == StageKind::Ladder && series.ladder.len() > 1
}

fn median_of_each(repeats: &[Percentiles]) -> Option<Percentiles> {
    let median = |pick: fn(&Percentiles) -> f64| repeats::median(repeats.iter().map(pick).collect());
    Some(Percentiles {
        count: repeats.iter().map(|all| all.count).sum(),
        mean_us: median(|all| all.mean_us)?,
        p50_us: median(|all| all.p50_us)?,
        p90_us: median(|all| all.p90_us)?,
        p95_us: median(|all| all.p95_us)?,
        p99_us: median(|all| all.p99_us)?,
        p999_us: median(|all| all.p999_us)?,
        max_us: median(|all| all.max_us)?,
    })
}

/// The stages from which a series' headline may come: its holds, else its ramps, else its peak's rung.
pub(crate) fn candidates<'a>(
    series: &Series,
    find: impl Fn(u32) -> Option<&'a StageResult>,
) -> Vec<&'a StageResult> {
    let holds: Vec<&StageResult> = series.holds.iter().filter_map(|id| find(*id)).collect();
    for kind in [StageKind::Hold, StageKind::Ramp] {
        let of_kind = || holds.iter().copied().filter(|result| result.stage.kind == kind);
        let complete: Vec<&StageResult> = of_kind().filter(|result| result.complete).collect();
        if !complete.is_empty() {
            return complete;
        }
        // Better than nothing; a finding says that the run is incomplete.
        let cut: Vec<&StageResult> = of_kind().filter(|result| result.throughput.is_some()).collect();
        if !cut.is_empty() {
            return cut;
        }
    }
    match series.peak.as_ref().and_then(|peak| find(peak.stage)) {
        Some(peak) => asked(rungs(series, find), Demand::of(&peak.stage)),
        // No rung ran to its end: what is known of the first is better than nothing, as of a hold.
        None => {
            series.ladder.iter().filter_map(|id| find(*id)).filter(|rung| rung.throughput.is_some()).collect()
        }
    }
}

/// The rungs of a series that ran to their end.
pub(crate) fn rungs<'a>(
    series: &Series,
    find: impl Fn(u32) -> Option<&'a StageResult>,
) -> Vec<&'a StageResult> {
    let rungs = series.ladder.iter().filter_map(|id| find(*id));
    rungs.filter(|result| result.complete && result.throughput.is_some()).collect()
}

pub(crate) fn asked(stages: Vec<&StageResult>, demand: Demand) -> Vec<&StageResult> {
    stages.into_iter().filter(|result| Demand::of(&result.stage) == demand).collect()
}

/// Of several holds that ask for different things, the one of the highest throughput, with its repeats.
pub(crate) fn strongest(stages: Vec<&StageResult>) -> Vec<&StageResult> {
    let mean = |result: &StageResult| result.throughput.map_or(0.0, |throughput| throughput.mean);
    let best = stages.iter().max_by(|left, right| mean(left).total_cmp(&mean(right)));
    match best.map(|result| Demand::of(&result.stage)) {
        Some(demand) => asked(stages, demand),
        None => stages,
    }
}

#[cfg(test)]
mod tests;
