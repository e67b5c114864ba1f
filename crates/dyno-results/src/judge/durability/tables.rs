//! Whether the tables that the load changed have a log, and what its statements set.

use crate::document::Report;
use crate::event::{Data, SettingsSet};
use crate::judge::evidence::{headlines, writes};

/// Tables of the target that a crash empties.
pub(super) fn unlogged(report: &Report, target: &str) -> Vec<String> {
    let data = report.data.iter().filter(|data| data.target == target);
    let unlogged = data.flat_map(|data| &data.tables).filter(|table| table.logged == Some(false));
    unlogged.map(|table| table.name.clone()).collect()
}

/// What may have been changed without anybody knowing whether that has a log. A workload knows its own tables; those of a
/// user's statements are known by their names.
pub(super) fn unknown(report: &Report, target: &str) -> Vec<String> {
    let mut unknown: Vec<String> = Vec::new();
    for (series, result) in headlines(report) {
        // Counters lag behind: they say nothing of statements that are known to be able to write.
        let changes_nothing = result.stage.only_reads.unwrap_or_else(|| writes(result) == Some(false));
        if series.target != target || changes_nothing {
            continue;
        }
        let workload = result.stage.workload.as_str();
        let is_own = |data: &&Data| {
            data.target == target && (data.workload == workload || data.workload == family(workload))
        };
        let told = report.data.iter().find(is_own);
        if told.is_some_and(|data| data.indirect.is_none()) {
            continue;
        }
        let (tables, indirect) =
            told.map_or((&[][..], None), |data| (&data.tables[..], data.indirect.as_ref()));
        let before = unknown.len();
        let of_unknown_log = tables.iter().filter(|table| table.logged.is_none());
        unknown.extend(of_unknown_log.map(|table| table.name.clone()));
        unknown.extend(indirect.into_iter().flatten().cloned());
        if tables.is_empty() && unknown.len() == before {
            unknown.push(format!("the tables of {workload}"));
        }
    }
    unknown.sort_unstable();
    unknown.dedup();
    unknown
}

/// `tpcb` of `tpcb/tpcb-like`
fn family(workload: &str) -> &str {
    workload.split('/').next().unwrap_or_default()
}

/// What users' statements set on a target, in one.
pub(super) fn set(report: &Report, target: &str) -> SettingsSet {
    let mut all = SettingsSet::default();
    let data = report.data.iter().filter(|data| data.target == target);
    for set in data.filter_map(|data| data.settings_set.clone()) {
        let said = [set.crash_corrupts, set.crash_loses_last, set.unknown];
        let into = [&mut all.crash_corrupts, &mut all.crash_loses_last, &mut all.unknown];
        for (said, into) in said.into_iter().zip(into) {
            into.extend(said);
            into.sort_unstable();
            into.dedup();
        }
    }
    all
}
