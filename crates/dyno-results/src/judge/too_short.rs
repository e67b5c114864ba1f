//! `too-short`: no checkpoint began in a hold that writes, so that its figures lack a cost that returns for ever.

use super::evidence::{headlines, setting, setting_facts, stage_name, writes};
use super::gathered::{InStage, gather};
use super::settings_changed::with_unit;
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity, StageKind};
use crate::finding::Facts;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = headlines(report)
        .into_iter()
        .filter(|(_, result)| result.stage.kind == StageKind::Hold && writes(result) == Some(true))
        // It ends where its work does.
        .filter(|(_, result)| !result.stage.is_fixed_work())
        .filter(|(_, result)| result.reading("checkpoints") == Some(0.0))
        .map(|(series, result)| {
            let mut facts = Facts::default();
            let evidence = evidence(result, &mut facts);
            let advice = format!(
                "hold for longer{}, with {}",
                timeout(report, &series.target),
                option(report, series)
            );
            InStage { series, result, severity: Severity::Doubt, facts, evidence, advice }
        });
    gather(report, Code::TooShort, found)
}

/// Without a ladder there is one stage, whose length is the run's; pgbench and sysbench call it otherwise.
fn option(report: &Report, series: &Series) -> &'static str {
    match (report.run.spec.front_end.is_some(), series.ladder.is_empty()) {
        (true, _) => "--time",
        (false, true) => "--duration",
        (false, false) => "--hold",
    }
}

fn evidence(result: &StageResult, facts: &mut Facts) -> String {
    facts.count("checkpoints", 0);
    let wal = result
        .reading("wal_bytes_per_s")
        .map(|per_s| {
            format!(" while {} of WAL were written each second", facts.bytes_per_s("wal_bytes_per_s", per_s))
        })
        .unwrap_or_default();
    format!("no checkpoint began in {}{wal}: its cost is not in the figures", stage_name(result))
}

/// ` than checkpoint_timeout (5min)`
fn timeout(report: &Report, target: &str) -> String {
    let Some(name) = setting_facts(report, target).and_then(|facts| facts.checkpoint_setting.as_deref())
    else {
        return String::new();
    };
    match setting(report, target, name) {
        Some(row) => format!(" than {name} ({})", with_unit(row)),
        None => format!(" than the server's {name}"),
    }
}
