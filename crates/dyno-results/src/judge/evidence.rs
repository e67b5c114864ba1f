//! What several rules look up in a report. `None` always means that the report does not say.

use crate::document::{Report, Series, StageResult};
use crate::event::{Arrival, Setting, SettingFacts, StageKind, Subject};
use crate::{format, headline};

/// A transaction counts as one that writes where at least this many rows change for each.
const ROWS_CHANGED_MIN: f64 = 0.1;

/// The stages from which the headline figures come, with their series. A ramp has no level to be judged by.
pub(crate) fn headlines(report: &Report) -> Vec<(&Series, &StageResult)> {
    let of_series = |series: &Series| headline::candidates(series, |id| report.stage(id));
    let all = report
        .series
        .iter()
        .flat_map(|series| of_series(series).into_iter().map(move |result| (series, result)));
    all.filter(|(_, result)| result.stage.kind != StageKind::Ramp).collect()
}

/// The headline stages and the ramps: every stage of which it matters whether the load was the one asked for.
pub(super) fn loads(report: &Report) -> Vec<(&Series, &StageResult)> {
    let ramps = report.series.iter().flat_map(|series| {
        let holds = series.holds.iter().filter_map(|id| report.stage(*id));
        holds.filter(|result| result.stage.kind == StageKind::Ramp).map(move |result| (series, result))
    });
    headlines(report).into_iter().chain(ramps).collect()
}

/// A series as what a finding is about.
pub(super) fn series_subject(report: &Report, series: &Series) -> Subject {
    let several = report.targets.len() > 1;
    let about = if several { format!("{}/{}", series.target, series.name) } else { series.name.clone() };
    Subject { about: Some(about), series: Some(series.name.clone()), ..Subject::of_system(&series.target) }
}

/// A stage in a sentence: `the hold of 30 s at 8 clients`, `the ramp of 60 s from 1 to 64 clients`, `the pass of 4 s at 1 client`.
pub(super) fn stage_name(result: &StageResult) -> String {
    let kind = result.stage.noun();
    let clients = format::clients(result.stage.clients_end.unwrap_or(result.stage.clients));
    let seconds = format::duration_s(result.seconds);
    match (&result.stage.arrival, result.stage.rate_end_per_s, result.stage.clients_end) {
        (Arrival::Open { rate_per_s, .. }, Some(end), _) => {
            let rate = format::long;
            format!("the {kind} of {seconds} from {}/s to {}/s with {clients}", rate(*rate_per_s), rate(end))
        }
        (_, _, Some(end)) if end != result.stage.clients => {
            format!(
                "the {kind} of {seconds} from {} to {clients}",
                format::count(result.stage.clients.into())
            )
        }
        (Arrival::Open { rate_per_s, .. }, ..) if result.stage.kind == StageKind::Ladder => {
            format!("the {kind} of {seconds} at {}/s with {clients}", format::long(*rate_per_s))
        }
        _ => format!("the {kind} of {seconds} at {clients}"),
    }
}

/// What was asked of a stage: `8 clients`, `1,000/s`.
pub(crate) fn load_words(result: &StageResult) -> String {
    let of_rate = |rate_per_s| format!("{}/s", format::long(rate_per_s));
    result.stage.rate_per_s().map_or_else(|| format::clients(result.stage.clients), of_rate)
}

/// What a target's settings come to; `None` where they were not read.
pub(super) fn setting_facts<'a>(report: &'a Report, target: &str) -> Option<&'a SettingFacts> {
    report.settings.iter().find(|settings| settings.target == target).map(|settings| &settings.facts)
}

pub(super) fn setting<'a>(report: &'a Report, target: &str, name: &str) -> Option<&'a Setting> {
    report
        .settings
        .iter()
        .filter(|settings| settings.target == target)
        .flat_map(|settings| &settings.rows)
        .find(|row| row.name == name)
}

/// Processors of the host that driver and target share: what the cgroup allows, or what the kernel shows.
pub(super) fn shared_cpus(report: &Report, target: &str) -> Option<f64> {
    let host = report.host(target).or_else(|| report.host("driver"))?;
    host.cpus_limit.or_else(|| host.cpus.map(f64::from))
}

/// The name of a stage's target before it, where there are several: `my: the hold of 30 s at 8 clients`.
pub(super) fn stage_name_in_run(report: &Report, result: &StageResult) -> String {
    let name = stage_name(result);
    if report.targets.len() > 1 { format!("{}: {name}", result.stage.key.system) } else { name }
}

/// Whether a stage's transactions write: by their statements and what these did where that is known, else by the database's own
/// counters, which are of all that runs on it.
pub(super) fn writes(result: &StageResult) -> Option<bool> {
    if result.stage.only_reads == Some(true) {
        return Some(false);
    }
    match &result.queries {
        Some(queries) if queries.writes > 0 => return Some(true),
        // What they call or make is in no count.
        Some(_) if result.stage.only_reads.is_none() => return Some(false),
        _ => {}
    }
    let changed: Vec<f64> = ["tuples_inserted_per_s", "tuples_updated_per_s", "tuples_deleted_per_s"]
        .iter()
        .filter_map(|key| result.reading(key))
        .collect();
    let tps = result.throughput.map(|throughput| throughput.mean).filter(|tps| *tps > 0.0)?;
    (!changed.is_empty()).then(|| changed.iter().sum::<f64>() / tps >= ROWS_CHANGED_MIN)
}

/// Processors that the driver took while a stage's load ran.
pub(super) fn driver_cores(result: &StageResult) -> Option<f64> {
    result.reading("driver_cpu_cores").or_else(|| {
        let us_per_transaction = result.driver_cpu_us_per_transaction?;
        Some(us_per_transaction * result.throughput?.mean / 1e6)
    })
}
