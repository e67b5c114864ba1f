//! What the list of runs shows of each: a pure function of the report, kept in the run's row by its
//! writer, so that a list reads no histogram.

use serde::{Deserialize, Serialize};

use crate::document::{Passes, Report, Series};
use crate::event::{Outcome, Severity, StageKind, Target};
use crate::words::distinct;

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
    /// True where what is stored for the list is not as it was written: then nothing else but the name counts.
    pub damaged: bool,
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
    /// How many series are invalid, of how many; both zero of runs that an earlier dyno stored.
    #[serde(default)]
    pub series_invalid: usize,
    #[serde(default)]
    pub series: usize,
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

/// A series' headline, as the report has it ([`Series::headline`]).
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
    /// Left out where the load is no query set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassesSummary>,
}

/// What the passes over a query set came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassesSummary {
    /// Seconds of a pass; `None` where in none all queries ended well.
    pub total_s: Option<f64>,
    pub queries: usize,
    /// Queries that ended well in a pass at least.
    pub ran: usize,
}

impl RunSummary {
    pub(crate) fn damaged(name: String) -> Self {
        let content = Content::default();
        Self {
            name,
            started_at: None,
            outcome: None,
            reason: None,
            live: false,
            damaged: true,
            seconds: 0.0,
            content,
        }
    }
}

impl Content {
    /// What a report comes to in a line; whether its findings are known already is not for the report to say.
    pub(crate) fn of(report: &Report) -> Self {
        Self {
            command: report.run.command.clone(),
            targets: report.targets.iter().map(TargetSummary::of).collect(),
            series: report.series.iter().filter_map(|series| SeriesSummary::of(report, series)).collect(),
            findings: None,
        }
    }
}

impl Doubts {
    pub(crate) fn of(report: &Report) -> Self {
        let codes = |severity: Severity| {
            let of_severity = report.findings.iter().filter(|finding| finding.severity == severity);
            distinct(of_severity.map(|finding| finding.code.as_str().to_owned()))
        };
        Self {
            invalid: codes(Severity::Invalid),
            doubt: codes(Severity::Doubt),
            series_invalid: report.invalid_series().count(),
            series: report.series.len(),
        }
    }

    /// `1 of 10 series`; `None` where all are invalid, or none is.
    pub fn invalid_in_part(&self) -> Option<String> {
        let in_part = (1..self.series).contains(&self.series_invalid);
        in_part.then(|| format!("{} of {} series", self.series_invalid, self.series))
    }
}

impl TargetSummary {
    fn of(target: &Target) -> Self {
        Self {
            name: target.name.clone(),
            product: target.product.clone(),
            version: target.version.clone(),
            embedded_profile: target.embedded.as_ref().map(|embedded| embedded.profile.clone()),
        }
    }
}

impl PassesSummary {
    fn of(passes: &Passes) -> Self {
        let ran = passes.queries.iter().filter(|query| query.median_s.is_some()).count();
        Self { total_s: passes.total_s, queries: passes.queries.len(), ran }
    }
}

impl SeriesSummary {
    /// `None` where nothing was measured.
    fn of(report: &Report, series: &Series) -> Option<Self> {
        let headline = series.headline.as_ref()?;
        let result = report.stage(headline.stage)?;
        let stage = &result.stage;
        let held = stage.kind != StageKind::Ladder && result.complete;
        let means = headline.stages.iter().filter_map(|id| Some(report.stage(*id)?.throughput?.mean));
        Some(Self {
            target: stage.key.system.clone(),
            series: stage.series.clone(),
            workload: stage.workload.clone(),
            kind: stage.kind,
            clients: stage.clients,
            clients_end: stage.clients_end,
            rate_per_s: stage.rate_per_s(),
            rate_end_per_s: stage.rate_end_per_s,
            tps: headline.throughput.mean,
            repeats: if held { means.collect() } else { Vec::new() },
            passes: series.passes.as_ref().map(PassesSummary::of),
        })
    }
}
