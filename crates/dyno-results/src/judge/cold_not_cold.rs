//! `cold-not-cold`: caches were to be dropped before a load, and some were not, or the disks had next to nothing to read.

use super::evidence::{series_subject, stage_name};
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Cold, Finding, Severity, StageKind};
use crate::finding::Facts;
use crate::words::clause;

/// Share of the data that a pass over a query set reads from disks at least, where nothing is cached. Stores by columns leave
/// much of it alone.
const READ_SHARE_MIN: f64 = 0.1;
/// What was read from disks, the narrowest first.
const DISK_READS: [&str; 3] =
    ["server_disk_read_bytes_per_s", "server_cgroup_disk_read_bytes_per_s", "disk_read_bytes_per_s"];

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.series.iter().filter_map(|series| judge_series(report, series)).collect()
}

fn judge_series(report: &Report, series: &Series) -> Option<Finding> {
    let before: Vec<&Cold> = of_series(report, series).collect();
    if before.is_empty() {
        return None;
    }
    let mut kept: Vec<String> = Vec::new();
    for why in before.iter().flat_map(|cold| &cold.kept) {
        let why = clause(why).to_owned();
        if !kept.contains(&why) {
            kept.push(why);
        }
    }
    let mut facts = Facts::default();
    facts.names("not_dropped", &kept);
    let not_dropped = (!kept.is_empty()).then(|| format!("not dropped before the load: {}", kept.join("; ")));
    let evidence: Vec<String> =
        not_dropped.into_iter().chain(hardly_read(report, series, &mut facts)).collect();
    if evidence.is_empty() {
        return None;
    }
    let advice = "call these figures warm; for cold ones restart the server and drop the caches of its host before the \
         load (--before SERIES 'COMMAND', or before each pass --before hold 'COMMAND'), or use more data \
         than its memory holds";
    let (rule, subject) = ((Code::ColdNotCold, Severity::Doubt), series_subject(report, series));
    Some(Finding::new(rule, subject, evidence.join("; "), advice, facts))
}

/// What was dropped and kept each time before a load of the series.
fn of_series<'a>(report: &'a Report, series: &'a Series) -> impl Iterator<Item = &'a Cold> {
    let hooks = report.hooks.iter().map(|run| &run.hook).filter(|hook| hook.target == series.target);
    hooks.filter(|hook| hook.phase == Some(series.phase)).filter_map(|hook| hook.cold.as_ref())
}

/// That the first pass over a query set read next to nothing from disks, against the size of its data.
fn hardly_read(report: &Report, series: &Series, facts: &mut Facts) -> Option<String> {
    let is_first = |result: &&StageResult| {
        result.stage.pass
            && result.stage.kind != StageKind::WarmUp
            && (&result.stage.key.system, &result.stage.series) == (&series.target, &series.name)
    };
    let result = report.stages.iter().find(is_first)?;
    let family = series.workload.split('/').next()?;
    let data = report.data.iter().find(|data| data.target == series.target && data.workload == family)?;
    let sizes = data.tables.iter().map(|table| table.table_bytes);
    let bytes = sizes.sum::<Option<u64>>().filter(|bytes| *bytes > 0)?;
    let per_s = DISK_READS.iter().find_map(|key| result.reading(key))?;
    let read = per_s * result.seconds;
    (read < READ_SHARE_MIN * bytes as f64).then(|| {
        format!(
            "in {} {} were read from disks, of tables of {}",
            stage_name(result),
            facts.bytes("disk_read", read as u64),
            facts.bytes("data", bytes)
        )
    })
}
