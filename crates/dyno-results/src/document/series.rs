//! What a report says of a series.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Passes, Percentiles, StageResult};
use crate::estimate::Estimate;
use crate::event::Figure;
use crate::format;

/// The stages of one workload on one target that belong together: a ladder with its peak, and holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Series {
    /// The name of the system.
    pub target: String,
    /// The name of the stream: `read`, `write`, ….
    pub name: String,
    /// The phase, as its stages have it.
    pub phase: u32,
    /// The place of the stream in its phase, as its stages have it.
    pub stream: u32,
    /// The workload, `tpcb/tpcb-like`.
    pub workload: String,
    /// What must stand beside its figures; `None` if nothing must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Ids of the rungs, sorted by clients and then by rate.
    pub ladder: Vec<u32>,
    /// Ids of holds and ramps, in the order in which they ran.
    pub holds: Vec<u32>,
    /// The main result; `None` if nothing was measured.
    pub headline: Option<Headline>,
    /// The rung with the highest throughput; `None` if no rung ran to its end, or none is known to within a factor of two.
    pub peak: Option<Peak>,
    /// Where more load added no throughput; `None` if there is no such rung, or there are too few rungs to say.
    pub saturation: Option<Saturation>,
    /// The passes over a query set; `None` for other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    /// Which of the report's findings weigh on it, by their places from 0, the gravest first: its own, and those of its target
    /// or of the run.
    pub findings: Vec<usize>,
}

/// The main result of a series: its hold, or the median of several repeated holds, or the rung of the peak, or the first rung
/// if the run was killed in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Headline {
    /// Ids of its stages, in the order in which they ran.
    pub stages: Vec<u32>,
    /// The one of `stages` whose throughput is nearest to the headline's.
    pub stage: u32,
    /// Transactions per second. For repeats the median, with the interval over them (`samples` is their number); for the best
    /// of several rungs without an interval.
    pub throughput: Estimate,
    /// What the workload counts beside transactions; `None` if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<HeadlineFigure>,
    /// Response time in an open loop or over a pool, otherwise service time; for repeats the median of each percentile.
    /// `None` if nothing ended well.
    pub latency: Option<Percentiles>,
    /// As that of a stage, 0 to 1; of several stages the highest.
    pub cpu_taken_share: Option<f64>,
}

/// What a workload counts beside transactions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeadlineFigure {
    #[serde(flatten)]
    pub figure: Figure,
    /// How many in its unit of time; of several stages as `throughput`.
    pub value: Estimate,
    /// The value divided by `at_most`; `None` without it.
    pub possible_share: Option<f64>,
}

impl HeadlineFigure {
    /// `1,080 new orders a minute ±3.1%`
    pub fn text(&self) -> String {
        let Figure { about, per, .. } = &self.figure;
        let mean = format::long(self.value.mean);
        format!("{mean} {about} {} {}", per.words(), format::relative_error(&self.value))
    }

    /// What stands beside it: `84% of the possible 1,286`, and its note.
    pub fn beside(&self) -> impl Iterator<Item = String> {
        self.possible_text().into_iter().chain(self.figure.note.clone())
    }

    /// `84% of the possible 1,286`; `None` where nothing limits it.
    pub fn possible_text(&self) -> Option<String> {
        let (share, most) = self.possible_share.zip(self.figure.at_most)?;
        Some(format!("{} of the possible {}", format::share(share), format::long(most)))
    }
}

/// The rung from which on more load added no throughput, and what was at its limit there.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Saturation {
    /// Id of the first rung from which on more load added no throughput.
    pub stage: u32,
    /// Id of the rung before it; `None` if the first was not good.
    pub last_good: Option<u32>,
    /// Clients at that rung.
    pub clients: u32,
    /// The rate asked for at that rung, transactions per second; `None` in a closed loop.
    pub rate_per_s: Option<f64>,
    /// What showed it.
    pub sign: SaturationSign,
    /// Transactions per second at that rung.
    pub throughput_per_s: f64,
    /// 99th percentile at that rung, microseconds: of the response time in an open loop or over a pool, otherwise of the
    /// service time.
    pub p99_us: Option<f64>,
    /// One sentence with the figures that decided it.
    pub evidence: String,
    /// Resources at their limit from that rung on, the fullest first; then the connections of a pool, because they fill up
    /// behind whatever is slow; last those that were at their limit at the lowest rung already. Empty if there are none, and
    /// if others took what was missing.
    pub limits: Vec<Limit>,
    /// Resources of the machine that were at their limit because others than the server and dyno took them; left out if there
    /// are none. Unless transactions failed, `limits` is then empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_by_others: Vec<Limit>,
}

/// By what a saturation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SaturationSign {
    /// Throughput no longer rises while latency does.
    ThroughputFlat,
    /// Transactions begin to fail.
    Errors,
    /// Arrivals of an open load are no longer kept up with.
    RateNotMet,
}

/// A resource at or near its limit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Limit {
    /// `cpu`, `cpu-quota`, `disk`, `memory`, `log`, `locks`, `connections`, `driver`.
    pub resource: String,
    /// How full it was, 0 to 1.
    pub share: f64,
    /// One sentence with figures.
    pub evidence: String,
}

/// The highest throughput of a ladder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Peak {
    /// Id of the rung where throughput was highest.
    pub stage: u32,
    /// Clients at that rung.
    pub clients: u32,
    /// Transactions per second; of several rungs without an interval, because the best of several is too high by chance. The
    /// rung's own estimate is in `stages`.
    pub throughput: Estimate,
    /// Client counts whose intervals overlap that of the peak, ascending, the peak itself included.
    pub clients_indistinguishable: Vec<u32>,
    /// The same without the peak, as text: `1–4, 16`, with a range for neighbours on the ladder; `None` if there are none.
    pub indistinguishable_from: Option<String>,
    /// Whether the ladder went past the peak: a higher step was clearly slower, or throughput had stopped rising. If false,
    /// the peak may lie beyond the ladder, or at a step whose throughput is not known to within a factor of two. For a ladder
    /// of rates: whether one was no longer met.
    pub passed: bool,
    /// Whether it is the highest rate of a ladder of rates, and was met: then no peak was looked for.
    pub rate_met: bool,
}

impl Peak {
    /// Of the steps of its ladder those at which the peak may be as well: their mean is higher, and not known to within a factor of
    /// two.
    pub fn maybe_higher<'a>(
        &self,
        steps: impl Iterator<Item = &'a StageResult>,
    ) -> impl Iterator<Item = &'a StageResult> {
        let peak = self.throughput.mean;
        steps.filter(move |step| {
            step.throughput.is_some_and(|own| own.mean > peak && !own.is_known_within_two())
        })
    }
}
