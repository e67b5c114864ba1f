//! What the user has done before and after a load: on which target, at which stage, and what.

use std::time::Duration;

use dyno_results::event::{HookTime, StageKind};

use dyno_results::spec::{Course, HookSpec, RunSpec};

use super::{PhasePlan, StreamPlan, SystemPlan};
use crate::failure::Failure;

/// Begins an action that is SQL and no command.
const SQL: &str = "sql:";

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookPlan {
    pub(crate) when: HookTime,
    /// `None` for every system, one after the other.
    pub(crate) target: Option<String>,
    pub(crate) stage: HookStage,
    pub(crate) action: Action,
}

/// What it is done before or after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookStage {
    /// All the load of the run.
    Run,
    /// All stages of a series.
    Series(String),
    /// Each stage of a kind.
    Kind(StageKind),
    /// Each step of a ramp, and a stage in which the load changes while it runs.
    Ramp,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// By `sh -c`.
    Command(String),
    /// On the target.
    Sql(String),
}

impl HookStage {
    /// As the user names it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Run => "run",
            Self::Series(name) => name,
            Self::Kind(kind) => kind.name(),
            Self::Ramp => StageKind::Ramp.name(),
        }
    }

    /// Whether a stage of this kind is meant.
    pub(crate) fn is_kind(&self, kind: StageKind) -> bool {
        match self {
            Self::Run | Self::Series(_) => false,
            Self::Kind(meant) => *meant == kind,
            Self::Ramp => matches!(kind, StageKind::Ladder | StageKind::Ramp),
        }
    }
}

impl HookPlan {
    pub(crate) fn is_for(&self, target: &str) -> bool {
        self.target.as_deref().is_none_or(|name| name == target)
    }

    /// What is done, as it may be shown.
    pub(crate) fn shown(&self) -> String {
        match &self.action {
            Action::Command(command) => crate::secrets::hidden_in_command(command),
            Action::Sql(sql) => crate::secrets::hidden_in_command(&format!("{SQL}{sql}")),
        }
    }
}

/// The hooks in the order in which they are named, those before a stage first. One at a kind of stage that no phase has
/// would never be done. What is to be stored of their actions hides secrets.
pub(super) fn resolve(
    spec: &mut RunSpec,
    systems: &[SystemPlan],
    phases: &[PhasePlan],
) -> Result<Vec<HookPlan>, Failure> {
    spec.hooks.sort_by_key(|hook| hook.when == HookTime::After);
    let mut hooks = Vec::new();
    for HookSpec { when, stage: named, action } in &mut spec.hooks {
        let hook = hook(*when, named, action, (systems, phases))?;
        let loads = phases.iter().flat_map(|phase| {
            let streams = phase.streams.iter();
            // The stages of one that lasts as long as others are those of the others.
            let courses = streams.flat_map(StreamPlan::courses).filter(|course| !course.ends_with_others());
            courses.map(|course| (course, phase.warm_up))
        });
        let never = loads.map(|(course, warm_up)| never_done(&hook.stage, course, warm_up));
        if let Some(why) = never.reduce(Option::and).flatten() {
            let option = option(*when);
            return Err(Failure::wrong(format!("{option} {named} would never be done: {why}")));
        }
        *action = crate::secrets::without_secrets(action);
        hooks.push(hook);
    }
    Ok(hooks)
}

/// Why a hook would never be done in a phase; `None` where it would.
fn never_done(stage: &HookStage, course: &Course, warm_up: Duration) -> Option<&'static str> {
    let fixed = matches!(course, Course::Fixed { .. });
    match stage {
        HookStage::Kind(StageKind::WarmUp) if warm_up.is_zero() => Some("there is no warm-up"),
        HookStage::Kind(StageKind::Hold) if !course.has_hold() => {
            Some("behind a ramp there is a hold only if its --hold is named")
        }
        HookStage::Kind(StageKind::Hold) if course.changes_in_its_stage() => {
            Some("this load is a ramp, and no hold")
        }
        HookStage::Kind(StageKind::Ladder) if fixed => {
            Some("this load is a single stage (hold, or ramp where it changes), and no ladder")
        }
        HookStage::Ramp if fixed && !course.changes_in_its_stage() => {
            Some("this load is a single stage that does not change (hold)")
        }
        _ => None,
    }
}

fn option(when: HookTime) -> &'static str {
    if when == HookTime::Before { "--before" } else { "--after" }
}

fn hook(
    when: HookTime,
    named: &str,
    action: &str,
    (systems, phases): (&[SystemPlan], &[PhasePlan]),
) -> Result<HookPlan, Failure> {
    let option = option(when);
    let (target, stage) = match named.split_once(':') {
        Some((name, stage)) if systems.iter().any(|system| system.name == name) => (Some(name), stage),
        Some((name, _)) => {
            let known = systems.iter().map(|system| system.name.as_str());
            return Err(Failure::no_target(option, name, known));
        }
        None => (None, named),
    };
    let series = || phases.iter().flat_map(|phase| &phase.streams).map(|stream| stream.name.as_str());
    let of_series = series().find(|name| *name == stage);
    let stage = match (stage, of_series) {
        ("run", _) => HookStage::Run,
        (_, Some(name)) => HookStage::Series(name.to_owned()),
        ("warm-up" | "warmup", _) => HookStage::Kind(StageKind::WarmUp),
        ("ladder" | "rung" | "step", _) => HookStage::Kind(StageKind::Ladder),
        ("hold", _) => HookStage::Kind(StageKind::Hold),
        ("ramp", _) => HookStage::Ramp,
        (unknown, None) => {
            let mut known: Vec<&str> = series().collect();
            known.extend(["warm-up", "ladder", "ramp", "hold", "run"]);
            return Err(Failure::advised(
                format!("{option}: there is no stage or series `{unknown}`"),
                format!("there are {}", known.join(", ")),
            ));
        }
    };
    let action = match action.trim().strip_prefix(SQL) {
        Some(sql) => Action::Sql(sql.trim().to_owned()),
        None => Action::Command(action.trim().to_owned()),
    };
    if matches!(&action, Action::Command(text) | Action::Sql(text) if text.is_empty()) {
        return Err(Failure::wrong(format!("{option} {named} names nothing that is to be done")));
    }
    Ok(HookPlan { when, target: target.map(str::to_owned), stage, action })
}
