//! `noisy`: a headline figure that rests on too little, scatters too much, differs from repeat to repeat, or contradicts the
//! series' own ladder.

use super::evidence::{headlines, load_words, stage_name};
use super::gathered::{InStage, gather};
use crate::document::{Estimate, Report, Series, StageResult};
use crate::estimate::is_known_within_two;
use crate::event::{Code, Finding, Severity, StageKind};
use crate::finding::Facts;
use crate::format;
use crate::headline::{Demand, asked, rungs};
use crate::statistics::{peak, repeats};
use crate::words::list;

/// Above this half-width, as a share of the mean, a figure says little more than its order of magnitude.
const HALF_WIDTH_SHARE_MAX: f64 = 0.15;
/// Up to this share of difference between a hold and its ladder's step, the intervals are only somewhat too narrow.
const UNLIKE_SHARE_NOTE: f64 = 0.10;
/// Repeats whose figures are named.
const REPEATS_SHOWN: usize = 8;
/// Fewer transactions than this make no rate.
const TRANSACTIONS_MIN: u64 = 100;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let unlike: Vec<InStage<'_>> =
        report.series.iter().filter_map(|series| unlike_repeats(report, series)).collect();
    // Repeats that differ say more than what each shows by itself.
    let is_told = |series: &Series| unlike.iter().any(|told| std::ptr::eq(told.series, series));
    let loads = headlines(report).into_iter().filter(|(_, result)| !result.stage.is_fixed_work());
    let alone: Vec<InStage<'_>> = loads
        .filter(|(series, _)| !is_told(series))
        .filter_map(|(series, result)| told(report, series, result))
        .collect();
    gather(report, Code::Noisy, unlike.into_iter().chain(alone))
}

/// Holds that repeat each other, or passes, whose median is known no better than a stage that scatters too much.
fn unlike_repeats<'a>(report: &'a Report, series: &'a Series) -> Option<InStage<'a>> {
    let headline = series.headline.as_ref()?;
    let (what, values, shown) = match &series.passes {
        Some(passes) => {
            let seconds: Vec<f64> = passes.seconds.iter().copied().collect::<Option<_>>()?;
            let shown = seconds.iter().map(|seconds| format::latency_us(seconds * 1e6)).collect();
            ("passes took", seconds, shown)
        }
        None => {
            let holds: Vec<&StageResult> =
                headline.stages.iter().filter_map(|id| report.stage(*id)).collect();
            let are_held = holds.iter().all(|result| result.stage.kind == StageKind::Hold);
            let tps: Vec<f64> = holds.iter().filter_map(|result| Some(result.throughput?.mean)).collect();
            let shown: Vec<String> = tps.iter().map(|tps| format::long(*tps)).collect();
            ("holds of the same load came to", are_held.then_some(tps)?, shown)
        }
    };
    let share = repeats::spread_share(&values).filter(|share| *share > HALF_WIDTH_SHARE_MAX)?;
    let mut facts = Facts::default();
    let repeats = facts.count("repeats", values.len() as u64);
    let spread = facts.share("spread", if values.len() == 2 { 2.0 * share } else { share });
    let known = match share {
        // Of two an interval says nothing.
        _ if values.len() == 2 => format!("they are {spread} of their mean apart"),
        _ if !is_known_within_two(1.0, share) => format!("their median is {}", format::NOT_KNOWN),
        _ => format!("their median is known to {}", format::relative(1.0, share)),
    };
    Some(InStage {
        series,
        result: report.stage(headline.stage)?,
        severity: Severity::Doubt,
        facts,
        evidence: format!(
            "{repeats} {what} {}{}: {known}",
            named(shown),
            if series.passes.is_some() { "" } else { " TPS" }
        ),
        advice: "find out what changed from one to the next, and repeat on a machine on which nothing else runs; a median of \
                 more repeats is known better"
            .to_owned(),
    })
}

/// Of many the first ones.
fn named(mut shown: Vec<String>) -> String {
    let more = shown.len().saturating_sub(REPEATS_SHOWN);
    shown.truncate(REPEATS_SHOWN);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    list(&shown)
}

/// Everything that makes one stage's figure noisy.
fn told<'a>(report: &Report, series: &'a Series, result: &'a StageResult) -> Option<InStage<'a>> {
    let mut facts = Facts::default();
    let grave = [few(result, &mut facts), scattered(result, &mut facts)];
    let grave = grave.into_iter().flatten().map(|told| (Severity::Doubt, told));
    let unlike = unlike_its_rung(report, series, result, &mut facts);
    let all: Vec<(Severity, String)> = grave.chain(unlike).collect();
    let severity = all.iter().map(|(severity, _)| *severity).max()?;
    let reasons: Vec<String> = all.into_iter().map(|(_, told)| told).collect();
    Some(InStage {
        series,
        result,
        severity,
        facts,
        evidence: format!("in {} {}", stage_name(result), list(&reasons)),
        advice: "measure for longer on a machine on which nothing else runs, and repeat the run before you rely on \
                 the figure"
            .to_owned(),
    })
}

fn few(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let done = result.totals.done;
    result.throughput?;
    (done < TRANSACTIONS_MIN)
        .then(|| format!("only {} ended well", facts.counted("done", done, "transaction")))
}

fn scattered(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let throughput = result.throughput.filter(|throughput| throughput.mean > 0.0)?;
    let Some(half_width) = throughput.half_width else {
        return Some(
            "throughput was not measured for long enough to say how far it can be trusted".to_owned(),
        );
    };
    let share = half_width / throughput.mean;
    (share > HALF_WIDTH_SHARE_MAX).then(|| {
        format!(
            "throughput was {} TPS, give or take {}",
            facts.per_s("throughput", throughput.mean),
            facts.share("half_width", share)
        )
    })
}

/// Where a hold and the steps of its own ladder with the same load differ by more than the intervals of both allow.
fn unlike_its_rung(
    report: &Report,
    series: &Series,
    result: &StageResult,
    facts: &mut Facts,
) -> Option<(Severity, String)> {
    if result.stage.kind != StageKind::Hold {
        return None;
    }
    let own = result.throughput.filter(is_known)?;
    let alike = asked(rungs(series, |id| report.stage(id)), Demand::of(&result.stage));
    let beyond =
        |rung: &Estimate| (own.mean - rung.mean).abs() - peak::uncertainty(&own) - peak::uncertainty(rung);
    let known = alike.into_iter().filter_map(|rung| Some((rung, rung.throughput.filter(is_known)?)));
    let (rung, other) = known
        .filter(|(_, rung)| beyond(rung) > 0.0)
        .max_by(|(_, left), (_, right)| beyond(left).total_cmp(&beyond(right)))?;
    let share = own.mean / other.mean - 1.0;
    let severity = if share.abs() > UNLIKE_SHARE_NOTE { Severity::Doubt } else { Severity::Note };
    let direction = if share < 0.0 { "below" } else { "above" };
    let told = format!(
        "throughput was {} {direction} the {} TPS {} of its own ladder at {}, and the intervals do not meet",
        facts.share("apart", share.abs()),
        facts.per_s("throughput_of_ladder", other.mean),
        format::relative_error(&other),
        load_words(rung)
    );
    Some((severity, told))
}

fn is_known(estimate: &Estimate) -> bool {
    estimate.mean > 0.0 && estimate.half_width.is_some() && estimate.is_known_within_two()
}
