//! `noisy-host`: others than the server and dyno used the machine while a figure was measured. `noisy-host-unknown`: nobody knows
//! whether they did.

use super::evidence::{loads, stage_name};
use super::gathered::{InStage, gather, gather_alike};
use super::shared_host::is_loaded_beside;
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;
use crate::headline::{candidates, rungs};
use crate::others::{DISK_SHARE_FEW, Others};

/// A reading, the share from which on it is told, and what was waited for.
type Pressure = (&'static str, f64, &'static str);

/// Time in which something waited for a processor is told beside who had them.
const CPU: Pressure = ("pressure_cpu_share", 0.1, "a processor");
/// Time in which something waited for memory: whoever uses it, the server is slowed down as well.
const MEMORY: Pressure = ("pressure_memory_share", 0.05, "memory");
/// Time in which something waited for a disk, while others used it.
const IO: Pressure = ("pressure_io_share", 0.1, "a disk");

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = stages(report).into_iter().filter_map(|(series, result)| told(report, series, result));
    gather(report, Code::NoisyHost, found)
}

/// Stages in which nothing was read of a host that is read.
pub(super) fn judge_unknown(report: &Report) -> Vec<Finding> {
    let advice = "measure for longer: a host is read once a second (--repeat makes more passes or holds; more data make longer passes)";
    let rule = (Code::NoisyHostUnknown, Severity::Note, advice);
    gather_alike(report, rule, stages(report), |series, result, facts| {
        let source = report.target(&series.target)?.host_source.as_deref()?;
        let is_unknown = Others::on_server_host(result).is_none();
        is_unknown.then(|| {
            format!(
                "in {} too little was read of the server's host ({}): it is not known what others used of it",
                stage_name(result),
                facts.name("host_source", source)
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
    let mut facts = Facts::default();
    let mut evidence: Vec<String> =
        noisy.iter().map(|(name, others)| others.words(name, &mut facts)).collect();
    if !evidence.is_empty() {
        evidence.extend(waited(result, CPU, &mut facts));
    }
    evidence.extend(waited(result, MEMORY, &mut facts));
    // The loads of other targets are no others, but their traffic is.
    if !is_loaded_beside(report, &series.target) {
        evidence.extend(disk(result, &mut facts));
    }
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
        facts,
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
fn waited(result: &StageResult, (key, least, what): Pressure, facts: &mut Facts) -> Option<String> {
    let share = result.reading(key).filter(|share| *share >= least)?;
    Some(format!("for {} of the time something waited for {what}", facts.share(key, share)))
}

/// A server's own operations let it wait for its disk, too.
fn disk(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let own = result.server_disk_share().filter(|own| *own < DISK_SHARE_FEW)?;
    let waited = waited(result, IO, facts)?;
    Some(format!("{waited}, and {} of its traffic was the server's", facts.share("server_disk", own)))
}
