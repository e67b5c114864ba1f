//! Whether the log was synced as often as the settings promise. All clients may share a sync, but no more than there are.

use crate::document::{Report, StageResult};
use crate::event::SettingFacts;
use crate::finding::Facts;
use crate::format;
use crate::judge::evidence::headlines;

const SYNCS: &str = "wal_fsyncs_per_s";
/// A commit may just miss a sync: so many times fewer are let pass.
const SLACK: f64 = 2.0;
/// Counters lag behind by so much: what was committed in this time may be counted later.
const LAG_S: f64 = 2.0;

/// Whether the server's counter of syncs moved in this run; `None` where it has none.
pub(super) fn counted(report: &Report, target: &str) -> Option<bool> {
    let of_target = report.stages.iter().filter(|result| result.stage.key.system == target);
    let read = of_target.filter_map(|result| result.reading(SYNCS)).map(|syncs| syncs > 0.0);
    let of_run = report.log_syncs.iter().filter(|syncs| syncs.target == target);
    // One that was set back has counted, too.
    read.chain(of_run.map(|syncs| syncs.before != syncs.after)).reduce(|any, moved| any || moved)
}

/// Fewer syncs than the commits of a stage could share. `None` where there were enough, or it cannot be told: a server that
/// counts none in the whole run has no counter that says anything.
pub(super) fn missing(
    report: &Report,
    settings: &SettingFacts,
    target: &str,
    facts: &mut Facts,
) -> Option<String> {
    if settings.log_written_through || counted(report, target) != Some(true) {
        return None;
    }
    let stages = headlines(report).into_iter().filter(|(series, _)| series.target == target);
    stages.map(|(_, result)| result).find_map(|result| {
        let commits = commits_per_s(result)?;
        let syncs = result.reading(SYNCS)?;
        let sharing = result.stage.connections.unwrap_or(result.stage.clients);
        let surely_counted = commits * (1.0 - LAG_S / result.seconds).max(0.0);
        (syncs * f64::from(sharing) * SLACK < surely_counted).then(|| {
            facts.per_s(SYNCS, syncs);
            format!(
                "{} of the log were seen each second for {} commits of {}, which can share no more than one sync",
                format::counted(syncs.round() as u64, "sync"),
                facts.per_s("commits", commits),
                facts.counted("clients", sharing.into(), "client")
            )
        })
    })
}

/// Commits that must be synced, where every transaction is known to write: there is one type of them, and rows change in
/// each.
fn commits_per_s(result: &StageResult) -> Option<f64> {
    let tps = result.throughput?.mean;
    let changed = ["tuples_inserted_per_s", "tuples_updated_per_s", "tuples_deleted_per_s"];
    let changed: f64 = changed.iter().filter_map(|key| result.reading(key)).sum();
    (result.by_type.len() == 1 && changed >= tps).then_some(tps)
}
