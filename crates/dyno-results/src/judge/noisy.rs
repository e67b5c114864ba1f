//! `noisy`: a headline figure that rests on too little, scatters too much, or contradicts the series' own ladder.

use super::evidence::{headlines, stage_name};
use super::gathered::gather_alike;
use crate::document::{Peak, Report, Series, StageResult};
use crate::event::{Arrival, Finding, Severity};
use crate::format;
use crate::words::list;

/// Above this half-width, as a share of the mean, a figure says little more than its order of magnitude.
const HALF_WIDTH_SHARE_MAX: f64 = 0.15;
/// By this share a hold may stay below what its ladder's peak was at least: a peak is the best of several rungs, and
/// a little too high on average.
const BELOW_PEAK_SHARE_MAX: f64 = 0.10;
/// Fewer transactions than this make no rate.
const TRANSACTIONS_MIN: u64 = 100;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice = "measure for longer on a machine on which nothing else runs, and repeat the run before you rely on \
                  the figure";
    let loads = headlines(report).into_iter().filter(|(_, result)| !result.stage.is_fixed_work());
    gather_alike(report, ("noisy", Severity::Doubt, advice), loads, told)
}

/// Everything that makes one stage's figure noisy.
fn told(series: &Series, result: &StageResult) -> Option<String> {
    let reasons: Vec<String> =
        [few(result), scattered(result), below_peak(series, result)].into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| format!("in {} {}", stage_name(result), list(&reasons)))
}

fn few(result: &StageResult) -> Option<String> {
    let done = result.totals.done;
    result.throughput?;
    (done < TRANSACTIONS_MIN).then(|| format!("only {} ended well", format::counted(done, "transaction")))
}

fn scattered(result: &StageResult) -> Option<String> {
    let throughput = result.throughput.filter(|throughput| throughput.mean > 0.0)?;
    let Some(half_width) = throughput.half_width else {
        return Some(
            "throughput was not measured for long enough to say how far it can be trusted".to_owned(),
        );
    };
    let share = half_width / throughput.mean;
    (share > HALF_WIDTH_SHARE_MAX).then(|| {
        format!("throughput was {} TPS, give or take {}", format::long(throughput.mean), format::share(share))
    })
}

/// Only a hold with the clients of the peak, or of a rung that cannot be told from it, is expected to be as fast.
fn below_peak(series: &Series, result: &StageResult) -> Option<String> {
    let peak = series.peak.as_ref().filter(|peak| as_loaded(peak, result))?;
    let mean = result.throughput?.mean;
    let at_least = peak.throughput.mean - peak.throughput.half_width?;
    (mean < at_least * (1.0 - BELOW_PEAK_SHARE_MAX)).then(|| {
        format!(
            "throughput was {} below the {} TPS of its own ladder at {}",
            format::share(1.0 - mean / peak.throughput.mean),
            format::long(peak.throughput.mean),
            format::clients(peak.clients)
        )
    })
}

fn as_loaded(peak: &Peak, result: &StageResult) -> bool {
    matches!(result.stage.arrival, Arrival::Closed { .. })
        && result.stage.id != peak.stage
        && (result.stage.clients == peak.clients
            || peak.clients_indistinguishable.contains(&result.stage.clients))
}
