//! Which figure of a series is to be quoted, or why none: one answer for terminal, page and document.
//!
//! A figure is quoted that was not chosen for its height, is known to within a factor of two, and is not invalid. The best
//! step of a ladder is no such figure.

use crate::document::{Estimate, Passes, Quote, Report, Series, StageResult};
use crate::estimate::is_known_within_two;
use crate::event::{Code, Severity, StageKind};
use crate::format;
use crate::headline::is_best_of_several;
use crate::judge::evidence::load_words;
use crate::words::{distinct, list};

impl Report {
    /// The report with these findings, and with what is then to be quoted.
    #[must_use]
    pub fn judged(self, findings: Vec<crate::event::Finding>) -> Self {
        let mut report = Self { findings, ..self };
        let places = |series: &Series| {
            let all = report.findings.iter().enumerate();
            all.filter(|(_, finding)| report.weighs_on(finding, series)).map(|(place, _)| place).collect()
        };
        let places: Vec<Vec<usize>> = report.series.iter().map(places).collect();
        report.series.iter_mut().zip(places).for_each(|(series, places)| series.findings = places);
        Self { quotes: of(&report), ..report }
    }
}

/// One for each series, in their order.
fn of(report: &Report) -> Vec<Quote> {
    report.series.iter().map(|series| of_series(report, series)).collect()
}

fn of_series(report: &Report, series: &Series) -> Quote {
    let name = name(report, series);
    let (text, stages) = match figure(report, series) {
        Ok(Figure { value, how, stages }) => (format!("{value} ({name}, {how})"), stages),
        Err(why) => (format!("nothing ({name}): {why}"), Vec::new()),
    };
    Quote { target: series.target.clone(), series: series.name.clone(), text, stages }
}

struct Figure {
    /// `3,340 TPS ±36%`
    value: String,
    /// `8 clients, hold`
    how: String,
    stages: Vec<u32>,
}

/// The figure, or why there is none.
fn figure(report: &Report, series: &Series) -> Result<Figure, String> {
    let invalid = report.findings_of(series).filter(|finding| finding.severity == Severity::Invalid);
    let codes = distinct(invalid.map(|finding| finding.code.as_str()));
    if !codes.is_empty() {
        return Err(format!("invalid, see {}", list(&codes)));
    }
    if let Some(passes) = &series.passes {
        return of_passes(report, series, passes);
    }
    let nothing = || "nothing was measured".to_owned();
    let headline = series.headline.as_ref().ok_or_else(nothing)?;
    let results: Vec<&StageResult> = headline.stages.iter().filter_map(|id| report.stage(*id)).collect();
    let first = *results.first().ok_or_else(nothing)?;
    no_level(series, first)?;
    known(&headline.throughput)?;
    let throughput = format::throughput(&headline.throughput);
    Ok(Figure {
        value: match &headline.figure {
            Some(figure) => {
                let note = figure.figure.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
                format!("{}{note}, {throughput}", figure.text())
            }
            None => throughput,
        },
        how: format!(
            "{}, {}{}{}",
            load_words(first),
            repeated(&results),
            over_limits(report, series),
            beside_others(report, series)
        ),
        stages: headline.stages.clone(),
    })
}

/// Why stages have no level that could be quoted, where that is so.
fn no_level(series: &Series, first: &StageResult) -> Result<(), String> {
    if is_best_of_several(series, first) {
        let steps = series.ladder.len();
        return Err(format!(
            "the best of {steps} steps is too high by chance, and no load was held (--hold)"
        ));
    }
    match first.stage.kind {
        StageKind::Ladder if !first.complete => {
            Err("the ladder was cut short in its first step, and no load was held".to_owned())
        }
        StageKind::Ramp => Err("a ramp has no level; one number of --clients, or one --rate, has".to_owned()),
        _ => Ok(()),
    }
}

fn known(throughput: &Estimate) -> Result<(), String> {
    if throughput.mean <= 0.0 {
        return Err("no transaction ended well".to_owned());
    }
    // Without its interval, which says the same again.
    let figure = format!("{} TPS", format::long(throughput.mean));
    match throughput.half_width {
        None => Err(format!("{figure}: too short to say how far it can be trusted")),
        Some(_) if !throughput.is_known_within_two() => Err(format!("{figure} is {}", format::NOT_KNOWN)),
        Some(_) => Ok(()),
    }
}

/// `hold`, `median of 3 holds`, `hold that was cut short`
fn repeated(results: &[&StageResult]) -> String {
    let noun = results.first().map_or("stage", |first| match first.stage.kind {
        StageKind::Ladder => "step",
        _ => first.stage.noun(),
    });
    let cut = results.iter().any(|result| !result.complete);
    let cut = if cut { " cut short" } else { "" };
    match results {
        [_] => format!("{noun}{cut}"),
        several => format!("median of {} {noun}s{cut}", several.len()),
    }
}

/// `, while others took 64% of the processors`, where they were missing.
fn beside_others(report: &Report, series: &Series) -> String {
    let mut doubts = report.findings_of(series).filter(|finding| finding.severity == Severity::Doubt);
    let share = series.headline.as_ref().and_then(|headline| headline.cpu_taken_share);
    match share.filter(|_| doubts.any(|finding| finding.code == Code::NoisyHost)) {
        Some(share) => format!(", while others took {} of the processors", format::share(share)),
        None => String::new(),
    }
}

/// `, with response times over their limits`, where they were.
fn over_limits(report: &Report, series: &Series) -> &'static str {
    let is_over = report.findings_of(series).any(|finding| finding.code == Code::ResponseLimit);
    if is_over { ", with response times over their limits" } else { "" }
}

/// Of a query set the seconds of a pass.
fn of_passes(report: &Report, series: &Series, passes: &Passes) -> Result<Figure, String> {
    let total_s = passes.total_s.ok_or_else(|| {
        let ran = passes.queries.iter().filter(|query| query.median_s.is_some()).count();
        format!("{ran} of {} ended well", format::queries(passes.queries.len()))
    })?;
    let made = match passes.stages.len() {
        1 => "one pass".to_owned(),
        several => format!("median of {several} passes"),
    };
    let error = match passes.total_half_width_s {
        Some(half_width) if !is_known_within_two(total_s, half_width) => {
            let total = format::latency_us(total_s * 1e6);
            return Err(format!("{total} a pass, {made}, is {}", format::NOT_KNOWN));
        }
        Some(half_width) => format!(" {}", format::relative(total_s, half_width)),
        None => String::new(),
    };
    let cut = passes.stages.iter().filter_map(|id| report.stage(*id)).any(|pass| !pass.complete);
    let cut = if cut { " cut short" } else { "" };
    Ok(Figure {
        value: format!("{} a pass{error}", format::latency_us(total_s * 1e6)),
        how: format!(
            "{}, {}, {made}{cut}{}",
            format::queries(passes.queries.len()),
            format::clients(passes.clients),
            beside_others(report, series)
        ),
        stages: passes.stages.clone(),
    })
}

/// `tpcb-like`, `pg: tpcb-like`; the series' own name where several have the workload.
fn name(report: &Report, series: &Series) -> String {
    let same = |other: &&Series| (&other.target, &other.workload) == (&series.target, &series.workload);
    let workload = series.workload.rsplit('/').next().filter(|name| !name.is_empty());
    let only = report.series.iter().filter(same).count() == 1;
    let name = workload.filter(|_| only).unwrap_or(&series.name);
    if report.targets.len() > 1 { format!("{}: {name}", series.target) } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
