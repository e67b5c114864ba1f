//! A ladder in the summary: its table, the peak, and where a target was saturated; of several targets over the same loads.

use dyno_results::document::{Limit, Report, Saturation, SaturationSign, Series, StageResult};

use super::costs;
use super::series::{pool, stages};
use crate::ladder::{self, Curve, Drawn, DrawnRung, Overflow, RungState};
use crate::subject::TargetNames;
use crate::text::{Paint, Sheet, visible, width};
use dyno_results::format;

/// Between a table and what stands beside it.
const GAP: &str = "   ";
/// A ladder is folded into so many blocks; what does not fit into them is left out.
const BLOCKS_MAX_OF_ONE: usize = 4;
/// Blocks of several targets are higher.
const BLOCKS_MAX_OF_SEVERAL: usize = 3;

/// The ladder of an only target; `label` is used up by the first line.
pub(super) fn of_one(report: &Report, series: &Series, heading: &str, label: &mut &str, sheet: &mut Sheet) {
    let rungs = rungs(report, series);
    let overflow = Overflow::Fold { blocks_max: BLOCKS_MAX_OF_ONE };
    let drawn = ladder::table(&rungs, sheet.room(), overflow, sheet.paint);
    let Some(rows_width) = drawn.blocks.first().and_then(|rows| rows.first()).map(|row| width(row)) else {
        return;
    };
    let peak_text = peak_text(report, series, rungs.len());
    let beside = drawn.blocks.len() == 1
        && rows_width + GAP.len() + width(&peak_text).max(width(heading)) <= sheet.room();
    if !beside {
        let heading = sheet.paint.faint(heading);
        sheet.row(std::mem::take(label), &heading);
    }
    for block in &drawn.blocks {
        for (index, row) in block.iter().enumerate() {
            let side = match index {
                0 if beside => sheet.paint.faint(heading),
                1 if beside => sheet.paint.strong(&peak_text),
                _ => String::new(),
            };
            let line = if side.is_empty() { row.clone() } else { format!("{row}{GAP}{side}") };
            sheet.row(std::mem::take(label), &line);
        }
    }
    left_out(&drawn, sheet);
    if !beside {
        sheet.paragraph("", &peak_text, Paint::strong);
    }
    saturation(series, sheet);
    // Where a hold follows, it says the same of itself.
    if let Some(stage) = costs::telling_stage(report, series).filter(|_| series.holds.is_empty()) {
        pool(stage, sheet);
        costs::line(stage, sheet);
        costs::others(stage.cpu_taken_share, sheet);
    }
    cut_short(&rungs, sheet);
}

/// The ladders of several targets over the same loads, then what each came to.
pub(super) fn of_several(
    report: &Report,
    names: &TargetNames<'_>,
    all: &[&Series],
    heading: &str,
    label: &mut &str,
    sheet: &mut Sheet,
) {
    let curves: Vec<Curve<'_>> = all
        .iter()
        .map(|series| Curve { target: &series.target, rungs: rungs(report, series) })
        .filter(|curve| !curve.rungs.is_empty())
        .collect();
    let overflow = Overflow::Fold { blocks_max: BLOCKS_MAX_OF_SEVERAL };
    let drawn = ladder::side_by_side(&curves, names, true, sheet.room(), overflow, sheet.paint);
    if drawn.blocks.is_empty() {
        return;
    }
    let heading = sheet.paint.faint(heading);
    sheet.row(std::mem::take(label), &heading);
    for row in drawn.blocks.iter().flatten() {
        sheet.row("", row);
    }
    left_out(&drawn, sheet);
    for series in all {
        names.about(&series.target, sheet, |sheet| match series.ladder.len() {
            0 => sheet.row("", "no step was measured"),
            steps => {
                sheet.paragraph("", &peak_text(report, series, steps), Paint::strong);
                saturation(series, sheet);
            }
        });
    }
    let rungs: Vec<DrawnRung> = curves.into_iter().flat_map(|curve| curve.rungs).collect();
    cut_short(&rungs, sheet);
}

fn rungs(report: &Report, series: &Series) -> Vec<DrawnRung> {
    stages(report, &series.ladder).into_iter().map(|stage| rung(report, stage, series)).collect()
}

/// The stage whose load is that of the step: its own, or the one that it accompanied.
fn step_of<'a>(report: &'a Report, stage: &'a StageResult) -> &'a StageResult {
    stage.accompanies.and_then(|id| report.stage(id)).unwrap_or(stage)
}

/// The series whose ladder it accompanied; `None` where it has a course of its own.
fn led_by<'a>(report: &'a Report, series: &Series) -> Option<&'a str> {
    let first = series.ladder.first().and_then(|id| report.stage(*id))?;
    Some(&*report.stage(first.accompanies?)?.stage.series)
}

fn rung(report: &Report, stage: &StageResult, series: &Series) -> DrawnRung {
    let id = stage.stage.id;
    let is_peak = series.peak.as_ref().is_some_and(|peak| peak.stage == id && !peak.rate_met);
    let state = match (stage.complete, is_peak) {
        (false, _) => RungState::CutShort,
        (true, true) => RungState::Peak,
        (true, false) => RungState::Measured,
    };
    let saturation = series.saturation.as_ref();
    let latency = stage.latency();
    let step = &step_of(report, stage).stage;
    DrawnRung {
        clients: step.clients,
        rate_per_s: step.rate_per_s(),
        tps: stage.throughput.map(|throughput| throughput.mean),
        p50_us: latency.map(|latency| latency.p50_us),
        p99_us: latency.map(|latency| latency.p99_us),
        failed: stage.totals.bad_with_drain(),
        state,
        telling: is_peak || saturation.is_some_and(|s| s.stage == id || s.last_good == Some(id)),
    }
}

fn left_out(drawn: &Drawn, sheet: &mut Sheet) {
    if drawn.shown < drawn.all {
        let text = format!("{} of {} steps shown", drawn.shown, drawn.all);
        sheet.paragraph("", &text, Paint::faint);
    }
}

fn cut_short(rungs: &[DrawnRung], sheet: &mut Sheet) {
    if rungs.iter().any(|rung| rung.state == RungState::CutShort) {
        sheet.paragraph("", "* stopped before its time was up", Paint::doubt);
    }
}

fn peak_text(report: &Report, series: &Series, rungs: usize) -> String {
    if let Some(leader) = led_by(report, series) {
        return format!("its load stayed the same beside the ladder of {}", visible(leader));
    }
    let demand = |stage: &StageResult| match stage.stage.rate_per_s() {
        Some(rate) => format!("{}/s", format::plain(rate)),
        None => stage.stage.clients.to_string(),
    };
    let Some(peak) = &series.peak else { return "peak unknown".to_owned() };
    let mut higher: Vec<String> =
        peak.maybe_higher(stages(report, &series.ladder).into_iter()).map(demand).collect();
    higher.dedup();
    // The best of several has no interval.
    let error = peak.throughput.half_width.map(|_| format!(" {}", format::relative_error(&peak.throughput)));
    let figure = format::short(peak.throughput.mean) + &error.unwrap_or_default();
    let at_peak = stages(report, &[peak.stage]);
    let rate = at_peak.first().and_then(|stage| stage.stage.rate_per_s());
    let at = at_peak.first().map_or_else(|| peak.clients.to_string(), |stage| demand(stage));
    match (rungs, peak.passed) {
        // One client count is a choice and no search for a peak.
        (1, _) => format!("{figure} at {at}"),
        (_, false) if peak.rate_met => format!("{figure} at {at}, the highest rate, which was met"),
        (_, false) if !higher.is_empty() => {
            format!(
                "{figure} at {at}, or the peak at {}, not known to within a factor of two",
                higher.join(", ")
            )
        }
        (_, false) => format!("highest {figure} at {at}, the peak may lie beyond"),
        (_, true) if rate.is_some() => format!("peak {figure} at {at}"),
        (_, true) => match &peak.indistinguishable_from {
            Some(others) => format!("peak {figure} at {at}, indistinguishable from {others}"),
            None => format!("peak {figure} at {at}"),
        },
    }
}

/// Where the target was saturated and what was at its limit there.
fn saturation(series: &Series, sheet: &mut Sheet) {
    if let Some(saturation) = &series.saturation {
        sheet.paragraph("", &saturation_words(saturation), Paint::doubt);
    }
}

/// `saturated at 58 clients (5,310 TPS, p99 12 ms), throughput no longer rises: server CPU 98% of 2 cores`
fn saturation_words(saturation: &Saturation) -> String {
    let clients = format::counted(u64::from(saturation.clients), "client");
    let load = match saturation.rate_per_s {
        Some(rate) => format!("{}/s asked of {clients}", format::plain(rate)),
        None => clients,
    };
    let sign = match saturation.sign {
        SaturationSign::ThroughputFlat => "throughput no longer rises and latency does",
        SaturationSign::Errors => "transactions begin to fail",
        SaturationSign::RateNotMet => "the rate is no longer met",
    };
    let words = |limits: &[Limit]| {
        let each: Vec<_> = limits.iter().map(|limit| visible(&limit.evidence)).collect();
        (!each.is_empty()).then(|| each.join("; "))
    };
    let of_others = words(&saturation.taken_by_others)
        .map(|words| format!("others took what was missing, so the cause is not known: {words}"));
    let known: Vec<String> = words(&saturation.limits).into_iter().chain(of_others).collect();
    let limits =
        if known.is_empty() { "nothing that was read was at its limit".to_owned() } else { known.join("; ") };
    format!(
        "saturated at {load} ({} TPS, p99 {}), {sign}: {limits}",
        format::long(saturation.throughput_per_s),
        format::latency_us_or_unknown(saturation.p99_us)
    )
}
