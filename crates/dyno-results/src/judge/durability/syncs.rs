//! Whether the log was synced as often as the settings promise. All clients may share a sync, but no more than there are.

use crate::document::{Report, StageResult};
use crate::event::SettingFacts;
use crate::format;
use crate::judge::evidence::headlines;

/// Counters lag behind by a second or so, and a commit may just miss a sync: so many times fewer are let pass.
const SLACK: f64 = 2.0;

/// Fewer syncs than the commits of a stage could share. `None` where there were enough, or it cannot be told.
pub(super) fn missing(report: &Report, facts: &SettingFacts, target: &str) -> Option<String> {
    if facts.log_written_through {
        return None;
    }
    // None at all are counted by a server that counts none, unless it has counted some in another stage.
    let of_target = report.stages.iter().filter(|result| result.stage.key.system == target);
    let counts = of_target.filter_map(|result| result.reading("wal_fsyncs_per_s")).any(|syncs| syncs > 0.0);
    let stages = headlines(report).into_iter().filter(|(series, _)| series.target == target);
    stages.map(|(_, result)| result).find_map(|result| {
        let commits = commits_per_s(result)?;
        let syncs = result.reading("wal_fsyncs_per_s").filter(|syncs| *syncs > 0.0 || counts)?;
        let sharing = result.stage.connections.unwrap_or(result.stage.clients);
        (syncs * f64::from(sharing) * SLACK < commits).then(|| {
            format!(
                "{} of the log were seen each second for {} commits of {}, which can share no more than one sync",
                format::counted(syncs.round() as u64, "sync"),
                format::long(commits),
                format::clients(sharing)
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
