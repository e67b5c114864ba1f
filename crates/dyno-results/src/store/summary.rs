//! What the list of runs shows of each: kept in the run's row by its writer, so that a list reads no histogram.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Arrival, Event, Finding, Interval, Outcome, Severity, Stage, StageKind};
use crate::statistics::repeats;

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    pub name: String,
    /// RFC 3339; `None` where the run ended before its first event.
    pub started_at: Option<String>,
    /// `None` where the run is still going, or was killed.
    pub outcome: Option<Outcome>,
    /// Why it is incomplete.
    pub reason: Option<String>,
    /// True while it goes on. A run without an outcome that is not live was killed.
    pub live: bool,
    /// From the start to the last event stored, seconds.
    pub seconds: f64,
    #[serde(flatten)]
    pub content: Content,
}

/// What a run was about and what came out, as far as it got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The command line, passwords removed.
    pub command: Vec<String>,
    pub targets: Vec<TargetSummary>,
    /// One for each series of each target, in the order they began.
    pub series: Vec<SeriesSummary>,
    /// What its figures must be doubted for. `None` until the run has ended, and of runs that an earlier dyno stored.
    #[serde(default)]
    pub findings: Option<Doubts>,
}

/// Codes of a run's findings, each once, as they were judged when it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    pub invalid: Vec<String>,
    pub doubt: Vec<String>,
}

/// A target in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    pub name: String,
    pub product: Option<String>,
    pub version: Option<String>,
    /// Profile of the server, where dyno started it.
    pub embedded_profile: Option<String>,
}

/// The headline of a series: the median of its holds, or the highest rung of its ladder where nothing was held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesSummary {
    pub target: String,
    pub series: String,
    pub workload: String,
    pub kind: StageKind,
    pub clients: u32,
    /// Clients at the end, where they were ramped.
    #[serde(default)]
    pub clients_end: Option<u32>,
    /// Transactions per second that were asked for, of an open load.
    #[serde(default)]
    pub rate_per_s: Option<f64>,
    /// That rate at the end, where it was ramped.
    #[serde(default)]
    pub rate_end_per_s: Option<f64>,
    /// Transactions per second.
    pub tps: f64,
    /// Of each hold that it is the median of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<f64>,
}

impl Doubts {
    fn add(&mut self, finding: &Finding) {
        let codes = match finding.severity {
            Severity::Invalid => &mut self.invalid,
            Severity::Doubt => &mut self.doubt,
            Severity::Note => return,
        };
        if !codes.contains(&finding.code) {
            codes.push(finding.code.clone());
        }
    }
}

/// Keeps a run's summary current while its events go by.
#[derive(Debug, Default)]
pub(super) struct Summarizer {
    pub(super) started_at: Option<String>,
    pub(super) outcome: Option<Outcome>,
    pub(super) reason: Option<String>,
    pub(super) content: Content,
    /// Headlines of the stages that have ended.
    ended: Vec<SeriesSummary>,
    /// Findings so far; the list has them once the run has ended.
    doubts: Doubts,
    /// Stages under way, with transactions done and milliseconds.
    stages: BTreeMap<u32, (Stage, u64, f64)>,
}

impl Summarizer {
    /// Takes one event in; true where the summary is now a different one.
    pub(super) fn add(&mut self, event: &Event) -> bool {
        match event {
            Event::Started(started) => {
                self.started_at = Some(started.started_at.clone());
                self.content.command.clone_from(&started.command);
            }
            Event::Target(target) => self.content.targets.push(TargetSummary {
                name: target.name.clone(),
                product: target.product.clone(),
                version: target.version.clone(),
                embedded_profile: target.embedded.as_ref().map(|embedded| embedded.profile.clone()),
            }),
            Event::StageStarted(stage) => {
                self.stages.insert(stage.id, (stage.clone(), 0, 0.0));
                return false;
            }
            Event::Interval(interval) => return self.count(interval),
            Event::StageFinished(finished) => match self.stages.remove(&finished.stage) {
                Some((stage, done, ms)) if stage.kind != StageKind::WarmUp && ms > 0.0 => {
                    show(&mut self.ended, &stage, done as f64 * 1000.0 / ms, finished.complete);
                    self.content.series = self.so_far();
                }
                _ => return false,
            },
            Event::Finding(finding) => {
                self.doubts.add(finding);
                return false;
            }
            Event::Finished(finished) => {
                self.content.findings = Some(std::mem::take(&mut self.doubts));
                self.outcome = Some(finished.outcome);
                self.reason.clone_from(&finished.reason);
            }
            _ => return false,
        }
        true
    }

    /// Counts an interval; true where the stage is one that the list shows.
    fn count(&mut self, interval: &Interval) -> bool {
        let Some((stage, done, ms)) = self.stages.get_mut(&interval.stage).filter(|_| !interval.drain) else {
            return false;
        };
        *done += interval.types.iter().map(|of_type| of_type.done).sum::<u64>();
        *ms += interval.duration_ms;
        if stage.kind == StageKind::WarmUp {
            return false;
        }
        self.content.series = self.so_far();
        true
    }

    /// The headlines with those stages that are under way: if the run is killed now, they are all that is known.
    fn so_far(&self) -> Vec<SeriesSummary> {
        let mut series = self.ended.clone();
        for (stage, done, ms) in self.stages.values() {
            if stage.kind != StageKind::WarmUp && *ms > 0.0 {
                show(&mut series, stage, *done as f64 * 1000.0 / ms, false);
            }
        }
        series
    }
}

/// Sets a stage's figure as its series' headline, where it is one.
fn show(series: &mut Vec<SeriesSummary>, stage: &Stage, tps: f64, complete: bool) {
    let rate_per_s = match stage.arrival {
        Arrival::Open { rate_per_s, .. } => Some(rate_per_s),
        Arrival::Closed { .. } => None,
    };
    let headline = SeriesSummary {
        target: stage.target.clone(),
        series: stage.series.clone(),
        workload: stage.workload.clone(),
        kind: stage.kind,
        clients: stage.clients,
        clients_end: stage.clients_end,
        rate_per_s,
        rate_end_per_s: stage.rate_end_per_s,
        tps,
        repeats: if complete && stage.kind != StageKind::Ladder { vec![tps] } else { Vec::new() },
    };
    match series.iter_mut().find(|shown| shown.target == stage.target && shown.series == stage.series) {
        None => series.push(headline),
        Some(shown) => {
            let is_rung = stage.kind == StageKind::Ladder;
            if shown.kind == StageKind::Ladder {
                if !is_rung || tps > shown.tps {
                    *shown = headline;
                }
            } else if !is_rung && shown.repeats.is_empty() {
                *shown = headline;
            } else if !is_rung && complete {
                // What was cut short, or is under way, is none of the repeats.
                shown.repeats.push(tps);
                shown.tps = repeats::median(shown.repeats.clone()).unwrap_or(tps);
            }
        }
    }
}
