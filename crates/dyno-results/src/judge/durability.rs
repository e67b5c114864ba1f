//! `durability-off`, `durability-relaxed`, `durable`: what a crash would do to what was acknowledged.

use super::evidence::{headlines, setting, writes};
use super::words::list;
use crate::document::Report;
use crate::event::{Finding, Severity, Target};

/// Settings without which a crash of the machine may corrupt the data, or lose any part of them.
const AGAINST_CORRUPTION: [&str; 2] = ["fsync", "full_page_writes"];
/// Mentioned beside the verdict, and no part of it.
const DETAILS: [&str; 2] = ["wal_level", "data_checksums"];

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.targets.iter().filter_map(|target| judge_target(report, target)).collect()
}

fn judge_target(report: &Report, target: &Target) -> Option<Finding> {
    let value = |name| setting(report, &target.name, name).map(|row| row.value.as_str());
    let mut off: Vec<String> = AGAINST_CORRUPTION
        .iter()
        .filter(|name| value(name) == Some("off"))
        .map(|name| format!("{name} is off"))
        .collect();
    let unlogged = unlogged_tables(report, &target.name);
    if !unlogged.is_empty() {
        off.push(format!("unlogged: {}", list(&unlogged)));
    }
    if off.is_empty() && target.embedded.as_ref().is_some_and(|embedded| embedded.unsafe_profile) {
        off.push("the profile of this server is an unsafe one".to_owned());
    }
    let (code, verdict, advice) = if !off.is_empty() {
        let advice = "compare only with results taken as unsafe; for a durable figure turn these on. \
                      full_page_writes may be off where the file system writes pages whole (ZFS)";
        (
            "durability-off",
            format!("a crash may lose or corrupt what was acknowledged: {}", list(&off)),
            advice,
        )
    } else if value("synchronous_commit") == Some("off") {
        let evidence = "a crash may lose the last commits that were acknowledged: synchronous_commit is off";
        let advice = "compare only with results taken so; for a durable figure set synchronous_commit = on";
        ("durability-relaxed", evidence.to_owned(), advice)
    } else {
        return durable(report, &target.name);
    };
    let reads_only = headlines(report)
        .iter()
        .filter(|(series, _)| series.target == target.name)
        .all(|(_, result)| writes(report, result) == Some(false));
    Some(Finding {
        code: code.to_owned(),
        // Reads pay nothing for durability, and their figures gain nothing from its absence.
        severity: if reads_only { Severity::Note } else { Severity::Doubt },
        about: Some(target.name.clone()),
        evidence: with_details(report, &target.name, verdict),
        advice: advice.to_owned(),
    })
}

/// Said only where all three settings are known to be on.
fn durable(report: &Report, target: &str) -> Option<Finding> {
    for name in AGAINST_CORRUPTION {
        setting(report, target, name).filter(|row| row.value == "on")?;
    }
    let commit = &setting(report, target, "synchronous_commit")?.value;
    let verdict = if commit == "on" {
        "fsync, synchronous_commit and full_page_writes are on".to_owned()
    } else {
        format!("fsync and full_page_writes are on, synchronous_commit is {commit}")
    };
    Some(Finding {
        code: "durable".to_owned(),
        severity: Severity::Note,
        about: Some(target.to_owned()),
        evidence: with_details(report, target, verdict),
        advice: "nothing to do; compare with durable results only".to_owned(),
    })
}

fn with_details(report: &Report, target: &str, verdict: String) -> String {
    let details: Vec<String> = DETAILS
        .iter()
        .filter_map(|name| setting(report, target, name))
        .map(|row| format!("{} {}", row.name, row.value))
        .collect();
    if details.is_empty() { verdict } else { format!("{verdict} ({})", details.join(", ")) }
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
