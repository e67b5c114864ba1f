//! `durability-off`, `durability-relaxed`, `durable`: what a crash would do to what was acknowledged.

mod innodb;
mod postgresql;
mod sqlite;
mod syncs;

use super::evidence::{headlines, writes};
use crate::document::Report;
use crate::event::{Finding, Host, Setting, Severity, Subject, Target};
use crate::words::list;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.targets.iter().filter_map(|target| judge_target(report, target)).collect()
}

/// What a server's settings come to.
struct DurabilityFacts {
    /// A crash of the machine may corrupt the data, or lose any part of them.
    off: Vec<String>,
    /// A crash may lose the last commits.
    relaxed: Vec<String>,
    /// The settings that make it durable, where all of them are known; nothing else stands against it then.
    durable: Option<String>,
    /// Mentioned beside the verdict, and no part of it.
    details: Vec<String>,
    advice_off: &'static str,
    advice_relaxed: &'static str,
}

/// The settings of a target that bear on durability there: what another product merely shows is not among them.
struct Settings<'a>(Vec<&'a Setting>);

impl<'a> Settings<'a> {
    fn of(report: &'a Report, target: &str) -> Self {
        let of_target = report.settings.iter().filter(|settings| settings.target == target);
        Self(of_target.flat_map(|settings| &settings.rows).filter(|row| row.durability).collect())
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|row| row.name == name).map(|row| row.value.as_str())
    }

    /// Those that are known, `wal_level replica`.
    fn listed(&self, names: &[&str]) -> Vec<String> {
        names.iter().filter_map(|name| Some(format!("{name} {}", self.value(name)?))).collect()
    }
}

fn judge_target(report: &Report, target: &Target) -> Option<Finding> {
    let settings = Settings::of(report, &target.name);
    let has = |name| settings.value(name).is_some();
    let mut verdict = match () {
        () if has(innodb::COMMIT) => innodb::judge(&settings),
        () if has(sqlite::JOURNAL) => sqlite::judge(&settings),
        () => postgresql::judge(&settings),
    };
    let unlogged = unlogged_tables(report, &target.name);
    if !unlogged.is_empty() {
        verdict.off.push(format!("unlogged: {}", list(&unlogged)));
    }
    if in_memory(report, target) {
        verdict.off.push("its files lie in memory (tmpfs)".to_owned());
        verdict.advice_off = "for a durable figure, put the data directory on a disk";
    }
    if verdict.off.is_empty() && verdict.relaxed.is_empty() && verdict.durable.is_some() {
        verdict.relaxed.extend(syncs::missing(report, &settings, &target.name));
    }
    if verdict.off.is_empty() && target.embedded.as_ref().is_some_and(|embedded| embedded.unsafe_profile) {
        verdict.off.push("the server has an unsafe profile".to_owned());
    }
    let (code, severity, evidence, advice) = if !verdict.off.is_empty() {
        (
            "durability-off",
            severity(report, target),
            format!("a crash may lose or corrupt acknowledged commits: {}", list(&verdict.off)),
            format!("compare only with results that are as unsafe; {}", verdict.advice_off),
        )
    } else if !verdict.relaxed.is_empty() {
        (
            "durability-relaxed",
            severity(report, target),
            format!("a crash may lose the last acknowledged commits: {}", list(&verdict.relaxed)),
            format!("compare only with results of the same durability; {}", verdict.advice_relaxed),
        )
    } else {
        let changed = report.server_changes.iter().filter(|changed| changed.target == target.name);
        if changed.flat_map(|changed| &changed.changes).any(|change| change.decides) {
            // What was read at the beginning does not hold for all of the load: `restarted` says so.
            return None;
        }
        let advice = "nothing to do; compare with durable results only";
        let evidence = format!("settings promise durability: {}", verdict.durable.clone()?);
        ("durable", Severity::Note, evidence, advice.to_owned())
    };
    Some(Finding {
        code: code.to_owned(),
        severity,
        subject: Subject::of_target(&target.name),
        evidence: verdict.with_details(evidence),
        advice,
    })
}

/// Reads pay nothing for durability, and their figures gain nothing from its absence.
fn severity(report: &Report, target: &Target) -> Severity {
    let reads_only = headlines(report)
        .iter()
        .filter(|(series, _)| series.target == target.name)
        .all(|(_, result)| writes(result) == Some(false));
    if reads_only { Severity::Note } else { Severity::Doubt }
}

impl DurabilityFacts {
    fn with_details(&self, evidence: String) -> String {
        if self.details.is_empty() { evidence } else { format!("{evidence} ({})", self.details.join(", ")) }
    }
}

/// What is in memory is gone with the machine, whatever is synced. In runs of before the disk is known of the host alone, and
/// is that of the first of several targets there: it says nothing of the others.
fn in_memory(report: &Report, target: &Target) -> bool {
    const IN_MEMORY: Option<&str> = Some("tmpfs");
    if target.disk_kind.is_some() {
        return target.disk_kind.as_deref() == IN_MEMORY;
    }
    let holds = |host: &Host, name: &str| host.roles.iter().any(|role| role == name);
    report.hosts.iter().any(|host| {
        let on_it = report.targets.iter().filter(|other| holds(host, &other.name)).count();
        holds(host, &target.name) && on_it == 1 && host.disk_kind.as_deref() == IN_MEMORY
    })
}

fn unlogged_tables(report: &Report, target: &str) -> Vec<String> {
    report
        .data
        .iter()
        .filter(|data| data.target == target)
        .flat_map(|data| &data.tables)
        .filter(|table| table.logged == Some(false))
        .map(|table| table.name.clone())
        .collect()
}
