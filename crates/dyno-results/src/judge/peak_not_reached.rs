//! `peak-not-reached`: the highest throughput lies at an end of the ladder, and a higher one may lie beyond.

use super::evidence::{load_words, series_subject};
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;
use crate::headline::Demand;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let peak = series.peak.as_ref()?;
    let tried: Vec<&StageResult> =
        series.ladder.iter().filter_map(|id| report.stage(*id)).filter(|result| result.complete).collect();
    let (lowest, highest) = (*tried.first()?, *tried.last()?);
    let at_peak = report.stage(peak.stage)?;
    // One rung is a choice of the user's and no search.
    if Demand::of(&lowest.stage) == Demand::of(&highest.stage) {
        return None;
    }
    let of_rates = highest.stage.rate_per_s().is_some();
    // Where it was saturated there is no more to be had, whatever the peak's own rule says.
    let passed = peak.passed || series.saturation.is_some();
    if !passed && highest.met_its_rate() {
        // No peak was looked for.
        return None;
    }
    let mut facts = Facts::default();
    let unknown: Vec<String> = peak.maybe_higher(tried.iter().copied()).map(load_words).collect();
    let (evidence, advice) = if !passed && !unknown.is_empty() {
        let evidence = format!(
            "the peak may be at {}, where throughput is not known to within a factor of two; of the other steps {} \
             TPS at {} was highest",
            unknown.iter().map(|step| facts.name("unknown_at", step)).collect::<Vec<_>>().join(", "),
            facts.per_s("highest", peak.throughput.mean),
            facts.name("highest_at", &load_words(at_peak))
        );
        (evidence, "take longer steps, with --step, on a machine with less other work")
    } else if !passed {
        let evidence = format!(
            "throughput had not clearly stopped rising when the ladder ended at {}; highest was {} TPS at {}",
            facts.name("ended_at", &load_words(highest)),
            facts.per_s("highest", peak.throughput.mean),
            facts.name("highest_at", &load_words(at_peak))
        );
        let advice = if of_rates {
            "extend the ramp to a higher rate, with --ramp"
        } else {
            "extend the ladder to more clients, with --clients or --ramp"
        };
        (evidence, advice)
    } else if !of_rates && peak.clients == lowest.stage.clients && peak.clients > 1 {
        let evidence = format!(
            "throughput was highest ({} TPS) at the ladder's lowest count, {}",
            facts.per_s("highest", peak.throughput.mean),
            facts.name("highest_at", &load_words(lowest))
        );
        (evidence, "start the ladder with fewer clients, with --clients or --ramp")
    } else {
        return None;
    };
    Some(Finding::new(
        (Code::PeakNotReached, Severity::Doubt),
        series_subject(report, series),
        evidence,
        advice,
        facts,
    ))
}
