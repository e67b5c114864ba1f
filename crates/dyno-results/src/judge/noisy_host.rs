//! `noisy-host`: others than the server and dyno used the machine while a figure was measured. `noisy-host-unknown`: nobody knows
//! whether they did.

use super::evidence::{loads, stage_name};
use super::gathered::{InStage, gather, gather_alike};
use super::shared_host::is_loaded_beside;
use crate::document::{Report, Series, StageResult};
use crate::event::{Finding, Severity};
use crate::format;
use crate::headline::{candidates, rungs};
use crate::others::{DISK_SHARE_FEW, Others};

pub(crate) const CODE: &str = "noisy-host";
const CODE_UNKNOWN: &str = "noisy-host-unknown";
/// Time in which something waited for a processor, from this share on, is told beside who had them.
const CPU_PRESSURE_TOLD: f64 = 0.1;
/// Time in which something waited for memory, from this share on: whoever uses it, the server is slowed down as well.
const MEMORY_PRESSURE_MIN: f64 = 0.05;
/// Time in which something waited for a disk, from this share on, while others used it.
const IO_PRESSURE_MIN: f64 = 0.1;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = stages(report).into_iter().filter_map(|(series, result)| told(report, series, result));
    gather(report, CODE, found)
}

/// Stages in which nothing was read of a host that is read.
pub(super) fn judge_unknown(report: &Report) -> Vec<Finding> {
    let advice = "measure for longer: a host is read once a second (--repeat makes more passes or holds; more data make longer passes)";
    gather_alike(report, (CODE_UNKNOWN, Severity::Note, advice), stages(report), |series, result| {
        let source = report.target(&series.target)?.host_source.as_deref()?;
        Others::on_server_host(result).is_none().then(|| {
            format!(
                "in {} too little was read of the server's host ({source}): it is not known what others used of it",
                stage_name(result)
            )
        })
    })
}

/// Every stage that a figure is of. Where a ladder is all there is, each of its steps decides where the peak is.
fn stages(report: &Report) -> Vec<(&Series, &StageResult)> {
    let is_ladder = |series: &Series| series.holds.is_empty();
    let held = loads(report).into_iter().filter(|(series, _)| !is_ladder(series));
    let ladders = report.series.iter().filter(|series| is_ladder(series));
    let steps = ladders.flat_map(|series| {
        let find = |id| report.stage(id);
        // Of a ladder that was cut short in its first step, that step is what is shown.
        let whole = Some(rungs(series, find)).filter(|whole| !whole.is_empty());
        whole.unwrap_or_else(|| candidates(series, find)).into_iter().map(move |result| (series, result))
    });
    held.chain(steps).collect()
}

fn told<'a>(report: &Report, series: &'a Series, result: &'a StageResult) -> Option<InStage<'a>> {
    // Where a server is on dyno's machine, what is beside dyno there may be that server.
    let apart = report.targets.iter().all(|target| target.same_host == Some(false));
    let machines = [
        ("the server's host", Others::on_server_host(result)),
        ("dyno's machine", Others::on_driver_host(result).filter(|_| apart)),
    ];
    let noisy = machines.into_iter().filter_map(|(name, others)| Some((name, others?)));
    let noisy: Vec<(&str, Others)> = noisy.filter(|(_, others)| others.are_many()).collect();
    let mut evidence: Vec<String> = noisy.iter().map(|(name, others)| others.words(name)).collect();
    if !evidence.is_empty() {
        evidence.extend(waited(result, "cpu", CPU_PRESSURE_TOLD, "a processor"));
    }
    evidence.extend(waited(result, "memory", MEMORY_PRESSURE_MIN, "memory"));
    // The loads of other targets are no others, but their traffic is.
    evidence.extend(disk(result).filter(|_| !is_loaded_beside(report, &series.target)));
    let in_the_way = noisy.iter().any(|(_, others)| others.were_in_the_way());
    let advice = if in_the_way {
        "the figure is of what others left of the machine: stop what else runs there, or measure on another machine, and repeat \
         the run"
    } else {
        "find out what else uses the machine; compare only with results of a machine that was used as much"
    };
    (!evidence.is_empty()).then(|| InStage {
        series,
        result,
        severity: if in_the_way { Severity::Doubt } else { Severity::Note },
        evidence: format!("in {}{} {}", stage_name(result), by_repeats(result), evidence.join("; ")),
        advice: advice.to_owned(),
    })
}

/// Where the stage is too short for readings of its own.
fn by_repeats(result: &StageResult) -> &'static str {
    match (result.processors_by_repeats, result.stage.pass) {
        (false, _) => "",
        (true, true) => " (read over all passes together)",
        (true, false) => " (read over all holds together)",
    }
}

/// `for 88% of the time something waited for a processor`
fn waited(result: &StageResult, key: &str, least: f64, what: &str) -> Option<String> {
    let share = result.reading(&format!("pressure_{key}_share")).filter(|share| *share >= least)?;
    Some(format!("for {} of the time something waited for {what}", format::share(share)))
}

/// A server's own operations let it wait for its disk, too.
fn disk(result: &StageResult) -> Option<String> {
    let own = result.server_disk_share().filter(|own| *own < DISK_SHARE_FEW)?;
    let waited = waited(result, "io", IO_PRESSURE_MIN, "a disk")?;
    Some(format!("{waited}, and {} of its traffic was the server's", format::share(own)))
}
