//! `durability-off`, `durability-relaxed`, `durability-implausible`, `durability-unknown`, `durable`: what a crash would do to what was acknowledged.

mod syncs;
mod tables;

use super::data_check::is_of_data;
use super::evidence::{headlines, loads, setting_facts, writes};
use crate::document::Report;
use crate::event::{Code, Finding, Host, Severity, Subject, Target};
use crate::finding::Facts;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.targets.iter().filter_map(|target| judge_target(report, target)).collect()
}

fn judge_target(report: &Report, target: &Target) -> Option<Finding> {
    let settings = setting_facts(report, &target.name).cloned().unwrap_or_default();
    let mut facts = Facts::default();
    let (mut off, mut relaxed, mut advice) = (
        settings.crash_corrupts.clone(),
        settings.crash_loses_last.clone(),
        settings.durability_advice.clone(),
    );
    let set = tables::set(report, &target.name);
    let by_statements = |why: String| format!("{why} by the load's own statements");
    off.extend(set.crash_corrupts.into_iter().map(by_statements));
    relaxed.extend(set.crash_loses_last.into_iter().map(by_statements));
    let unlogged = tables::unlogged(report, &target.name);
    if !unlogged.is_empty() {
        off.push(format!("unlogged: {}", facts.names("unlogged", &unlogged)));
    }
    if in_memory(report, target) {
        off.push("its files lie in memory (tmpfs)".to_owned());
        advice = Some("put the data directory on a disk".to_owned());
    }
    if off.is_empty() && target.embedded.as_ref().is_some_and(|embedded| embedded.unsafe_profile) {
        off.push("the server has an unsafe profile".to_owned());
    }
    let advice = advice.map(|advice| format!("; for a durable figure, {advice}")).unwrap_or_default();
    let (code, severity, evidence, advice) = if !off.is_empty() {
        (
            Code::DurabilityOff,
            severity(report, target),
            format!("a crash may lose or corrupt acknowledged commits: {}", facts.names("corrupts", &off)),
            format!("compare only with results that are as unsafe{advice}"),
        )
    } else if !relaxed.is_empty() {
        (
            Code::DurabilityRelaxed,
            severity(report, target),
            format!(
                "a crash may lose the last acknowledged commits: {}",
                facts.names("loses_last", &relaxed)
            ),
            format!("compare only with results of the same durability{advice}"),
        )
    } else {
        let changed = report.server_changes.iter().filter(|changed| changed.target == target.name);
        if changed.flat_map(|changed| &changed.changes).any(|change| change.decides) {
            // What was read at the beginning does not hold for all of the load: `restarted` says so.
            return None;
        }
        if report
            .checks
            .iter()
            .any(|check| check.target == target.name && is_of_data(check) && check.passed == Some(false))
        {
            // Whatever was promised: it does not hold what it acknowledged.
            return None;
        }
        let promised = facts.name("durable_by", settings.durable_by.as_ref()?);
        if let Some(missing) = syncs::missing(report, &settings, &target.name, &mut facts) {
            return Some(Finding::new(
                (Code::DurabilityImplausible, severity(report, target)),
                Subject::of_system(&target.name),
                format!("settings promise durability ({promised}), and {missing}"),
                "find out what the commits waited for: a table without a log, a session that changes the settings, or a \
                         server that counts otherwise; until then compare with no durable result",
                facts,
            ));
        }
        let unknown = |facts: Facts, why: String, advice: &str| {
            Some(Finding::new(
                (Code::DurabilityUnknown, Severity::Note),
                Subject::of_system(&target.name),
                format!("settings promise durability ({promised}), but {why}"),
                advice,
                facts,
            ))
        };
        if makes_nothing_durable(report, &target.name) {
            return None;
        }
        if !set.unknown.is_empty() {
            let named = facts.names("set", &set.unknown);
            let why = format!("it is not known what the load's own statements set: {named}");
            return unknown(facts, why, "look what they set, and compare with care");
        }
        let tables = tables::unknown(report, &target.name);
        if !tables.is_empty() {
            let named = facts.names("changed", &tables);
            let why = format!("it is not known whether all that was changed has a log: {named}");
            return unknown(facts, why, "look whether these tables are logged, and compare with care");
        }
        let seen = if only_reads(report, &target.name) || settings.log_written_through {
            ""
        } else {
            match syncs::counted(report, &target.name) {
                Some(true) => "",
                Some(false) => {
                    facts.count("log_syncs", 0);
                    let why = "the server counted no sync of its log in this run".to_owned();
                    return unknown(facts, why, "find out whether it syncs its log, and compare with care");
                }
                None => {
                    facts.name("log_syncs", "unknown");
                    "; no counter shows whether the log was synced"
                }
            }
        };
        let advice = "nothing to do; compare with durable results only";
        let evidence = format!("settings promise durability: {promised}{seen}");
        (Code::Durable, Severity::Note, evidence, advice.to_owned())
    };
    facts.names("detail", &settings.durability_details);
    let details = settings.durability_details.join(", ");
    Some(Finding::new(
        (code, severity),
        Subject::of_system(&target.name),
        if details.is_empty() { evidence } else { format!("{evidence} ({details})") },
        advice,
        facts,
    ))
}

/// Reads pay nothing for durability, and their figures gain nothing from its absence.
fn severity(report: &Report, target: &Target) -> Severity {
    if only_reads(report, &target.name) { Severity::Note } else { Severity::Doubt }
}

/// Whether it is known of all that is measured on a system that it changes nothing.
pub fn only_reads(report: &Report, system: &str) -> bool {
    let headlines = headlines(report);
    let mut of_target = headlines.iter().filter(|(series, _)| series.target == system);
    // Counters say nothing of statements that are known to be able to write.
    of_target.all(|(_, result)| result.stage.only_reads.unwrap_or_else(|| writes(result) == Some(false)))
}

/// Whether all loads on a system are known to send nothing that changes data. Counters may lag behind what was sent.
fn makes_nothing_durable(report: &Report, system: &str) -> bool {
    let mut loads = loads(report).into_iter().filter(|(series, _)| series.target == system).peekable();
    loads.peek().is_some() && loads.all(|(_, result)| result.stage.only_reads == Some(true))
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
