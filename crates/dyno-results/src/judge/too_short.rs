//! `too-short`: no checkpoint began in a hold that writes, so that its figures lack a cost that returns for ever; or a stage is
//! hardly longer than its clients pause.

use super::evidence::{headlines, setting, setting_facts, stage_name, writes};
use super::gathered::{InStage, gather};
use super::settings_changed::with_unit;
use crate::document::{Report, Series, StageResult};
use crate::event::{Code, Finding, Severity, StageKind};
use crate::finding::Facts;

/// So many of their pauses fit into a stage of which they do not decide the figures.
const PAUSES_MIN: f64 = 10.0;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = headlines(report)
        .into_iter()
        // It ends where its work does.
        .filter(|(_, result)| !result.stage.is_fixed_work())
        .filter_map(|(series, result)| {
            let mut facts = Facts::default();
            let (evidence, advice) = between_pauses(report, series, result, &mut facts)
                .or_else(|| without_checkpoint(report, series, result, &mut facts))?;
            Some(InStage { series, result, severity: Severity::Doubt, facts, evidence, advice })
        });
    gather(report, Code::TooShort, found)
}

/// In a stage that is not much longer than the pauses of its clients, those that it begins and ends with decide the figures.
fn between_pauses(
    report: &Report,
    series: &Series,
    result: &StageResult,
    facts: &mut Facts,
) -> Option<(String, String)> {
    // What ends after a number of transactions is as long as they are.
    let pause_s = result.stage.pause_s.filter(|_| result.stage.planned_transactions.is_none())?;
    let ended_otherwise = result.totals.bad_with_drain() + result.totals.cancelled > 0;
    if result.seconds >= PAUSES_MIN * pause_s || (result.totals.done == 0 && ended_otherwise) {
        return None;
    }
    let pause = facts.s("pause", pause_s);
    let stage = stage_name(result);
    let what = match result.totals.done {
        0 => format!("no transaction ended in {stage}: the clients were still in their keying or think time"),
        _ => format!("those with which {stage} began and ended weigh on its figures"),
    };
    let least = facts.s("least", PAUSES_MIN * pause_s);
    let advice = format!("make it at least {least} long, with {}", option(report, series, result));
    Some((format!("clients pause {pause} from one transaction to the next on average, and {what}"), advice))
}

fn without_checkpoint(
    report: &Report,
    series: &Series,
    result: &StageResult,
    facts: &mut Facts,
) -> Option<(String, String)> {
    let is_without = result.stage.kind == StageKind::Hold
        && writes(result) == Some(true)
        && result.reading("checkpoints") == Some(0.0);
    is_without.then(|| {
        let (timeout, option) = (timeout(report, &series.target), option(report, series, result));
        (evidence(result, facts), format!("hold for longer{timeout}, with {option}"))
    })
}

/// Without a ladder there is one stage, whose length is the run's; pgbench and sysbench call it otherwise.
fn option(report: &Report, series: &Series, result: &StageResult) -> &'static str {
    match (report.run.spec.front_end.is_some(), series.ladder.is_empty(), result.stage.kind) {
        (true, ..) => "--time",
        (false, true, _) => "--duration",
        (false, false, StageKind::Ladder) => "--step",
        (false, false, _) => "--hold",
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
