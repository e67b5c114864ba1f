//! `cold-not-cold`: caches were to be dropped before a load, and some were not, or the disks had next to nothing to read.

use super::evidence::{series_subject, stage_name};
use crate::document::{Report, Series, StageResult};
use crate::event::{Cold, Finding, Severity, StageKind};
use crate::format;
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
    let not_dropped = (!kept.is_empty()).then(|| format!("not dropped before the load: {}", kept.join("; ")));
    let evidence: Vec<String> = not_dropped.into_iter().chain(hardly_read(report, series)).collect();
    (!evidence.is_empty()).then(|| Finding {
        code: "cold-not-cold".to_owned(),
        severity: Severity::Doubt,
        subject: series_subject(report, series),
        evidence: evidence.join("; "),
        advice: "call these figures warm; for cold ones restart the server and drop the caches of its host before the \
                 load (--before SERIES 'COMMAND', or before each pass --before hold 'COMMAND'), or use more data \
                 than its memory holds"
            .to_owned(),
    })
}

/// What was dropped and kept each time before a load of the series.
fn of_series<'a>(report: &'a Report, series: &'a Series) -> impl Iterator<Item = &'a Cold> {
    let hooks = report.hooks.iter().map(|run| &run.hook).filter(|hook| hook.target == series.target);
    hooks.filter(|hook| hook.phase == Some(series.phase)).filter_map(|hook| hook.cold.as_ref())
}

/// That the first pass over a query set read next to nothing from disks, against the size of its data.
fn hardly_read(report: &Report, series: &Series) -> Option<String> {
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
            format::bytes(read as u64),
            format::bytes(bytes)
        )
    })
}
