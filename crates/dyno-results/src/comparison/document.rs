//! A comparison as a document: what `dyno compare --json` prints and what the terminal tabulates.
//!
//! Versioned by [`SCHEMA`] and described in `docs/compare.md`; within a version fields are only added. Lists called
//! `cells` or `loads` have one entry for each side, in the order of the sides. Unknown is `null`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::SpeedUp;
use crate::event::{Code, Finding, Severity, StageKind};

/// Name and version of the document's JSON form.
pub const SCHEMA: &str = "dyno.comparison/1";

/// Two or more runs, or targets of runs, set beside each other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// `dyno.comparison/1`: name and version of this form.
    pub schema: &'static str,
    /// Index of the side to which the others are compared.
    pub base: usize,
    /// The sides, in the order of the command line.
    pub sides: Vec<SideInfo>,
    /// Series that the base and at least one other side have.
    pub series: Vec<SeriesComparison>,
    /// Size and preparation of the data, one for each family of workloads.
    pub data: Vec<DataComparison>,
    /// Series that cannot be compared because the base or all others lack them, and sides that lack others.
    pub absent: Vec<Absent>,
    /// What differs between the sides and matters, the gravest first; behind it what differs in plans.
    pub differences: Vec<Difference>,
    /// The differences as findings.
    pub findings: Vec<Finding>,
}

/// A side: one target in one run, or in several runs that repeat each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SideInfo {
    /// `2026-11-20-1`, `2026-11-20-1:pg`, or `pg` where all sides are of one run.
    pub name: String,
    /// Names of the runs, more than one where it was repeated.
    pub runs: Vec<String>,
    /// The name of the system.
    pub target: String,
    /// The one series that was asked for.
    pub series: Option<String>,
    /// `PostgreSQL 18.1`; `None` where the product was not recognised.
    pub product: Option<String>,
    /// Profile of the server, where dyno started it.
    pub embedded_profile: Option<String>,
    /// When the first of its runs began, RFC 3339.
    pub started_at: String,
}

/// One series that the base and at least one other side have.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SeriesComparison {
    /// The name of the series.
    pub name: String,
    /// Of each side; `None` where the side has no such series.
    pub workloads: Vec<Option<String>>,
    /// What the ratios rest on.
    pub basis: Basis,
    /// The figures, by the stages that they are of.
    pub sections: Vec<Section>,
    /// The rungs that the base and another side have at the same load, ascending.
    pub ladder: Vec<RungComparison>,
    /// Of each side, against each other side by its name: empty where its load is no query set, and where it is several runs.
    pub speed_ups: Vec<Vec<SpeedUp>>,
}

/// What the ratios of a series rest on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Basis {
    /// What was repeated, and so is tested.
    pub unit: BasisUnit,
    /// Of the headline: runs, or stages of one run, for each side.
    pub repeats: Vec<u32>,
    /// They are rounds of one run.
    pub in_turn: bool,
    /// One sentence for a reader; where nothing is tested, with the command that would.
    pub text: String,
}

/// What was repeated, and so is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BasisUnit {
    /// Nothing, on one side at least: ratios are told and not tested.
    Untested,
    /// Separate runs of every side.
    Runs,
    /// Rounds of one run in which the sides took turns, or runs that measured all of them.
    Pairs,
}

/// Figures that belong together, of the same stages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Section {
    /// Which stages the figures are of.
    pub kind: SectionKind,
    /// Load of the stages that the figures are of; `None` where a side has none.
    pub loads: Vec<Option<SideLoad>>,
    /// False where the sides' loads differ: their latencies then say nothing about the servers.
    pub same_load: bool,
    /// The figures.
    pub rows: Vec<FigureRow>,
}

/// Which stages a section is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SectionKind {
    /// What was held; the peak's rung where nothing was.
    Headline,
    /// The highest rung that all have in common and none is past its peak, where the headlines' loads differ.
    CommonLoad,
    /// The peaks of the ladders, and where they were saturated.
    Peak,
}

/// The load of a side's stages.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SideLoad {
    /// What the stages are for.
    pub kind: StageKind,
    /// Clients; at the beginning, if they are ramped.
    pub clients: u32,
    /// Clients at the end, where they are ramped.
    pub clients_end: Option<u32>,
    /// Connections that the clients share; `None` if each has its own.
    pub connections: Option<u32>,
    /// Of an open load.
    pub rate_per_s: Option<f64>,
    /// Queries of a pass, where the stages are passes over a query set.
    pub queries: Option<usize>,
    /// Of each stage, on average.
    pub seconds: f64,
    /// Run and stage of each repeat.
    pub stages: Vec<StageReference>,
}

/// A stage of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StageReference {
    /// The name of the run.
    pub run: String,
    /// Id of the stage in its run.
    pub stage: u32,
}

/// One figure of all sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureRow {
    /// `throughput`, `figure` (what the workload counts), `p99`, `wal_bytes`, …
    pub key: &'static str,
    /// `latency, p99`.
    pub label: String,
    /// `p99`, where there is little room.
    pub short_label: String,
    /// `1/s`, `1/min`, `1/h`, `us`, `share`, `bytes`, `operations`, `clients`, `s`; costs are for each transaction, or query.
    pub unit: &'static str,
    /// Which direction a reader wishes for.
    pub better: Better,
    /// What a better figure is, and what a worse one is: `faster` and `slower`.
    pub verdicts: [&'static str; 2],
    /// One for each side, in their order.
    pub cells: Vec<Cell>,
}

/// Which direction a reader wishes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

/// A figure of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// The median where it was repeated.
    pub value: Option<f64>,
    /// 95 % interval of the value.
    pub interval: Option<[f64; 2]>,
    /// How many repeats the value is computed from.
    pub repeats: u32,
    /// To the base; `None` for the base itself, and where one of the two is unknown or nothing.
    pub ratio: Option<Ratio>,
}

/// A figure as a multiple of the base's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The figure divided by that of the base.
    pub value: f64,
    /// 95 % interval, wider where the row is one of several; `None` where it is not tested.
    pub interval: Option<[f64; 2]>,
    /// What the ratio says.
    pub verdict: Verdict,
}

/// What a ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Better,
    Worse,
    /// Where neither direction is better.
    Higher,
    Lower,
    /// The interval holds 1, or a ratio too near to 1 to be relevant or to be told from it by the measure.
    NoDifferenceShown,
    /// A side was not repeated: what two runs differ by through chance is not known.
    NotTested,
    /// There is no interval: whether it is chance cannot be said.
    NoInterval,
    /// The figures were taken at different loads: the ratio is of the loads as much as of the servers.
    OtherLoad,
}

/// One load of two ladders.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RungComparison {
    /// Clients of the rung; of an open load those of the base.
    pub clients: u32,
    /// Of an open load; clients may then differ between the sides.
    pub rate_per_s: Option<f64>,
    /// Transactions per second of each side.
    pub throughput: Vec<Cell>,
    /// 99th percentile of the latency of each side, microseconds.
    pub p99_us: Vec<Cell>,
    /// True for the sides whose peak this is.
    pub peak: Vec<bool>,
    /// True for the sides that were saturated here.
    pub saturated: Vec<bool>,
}

/// Size on disk and preparation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DataComparison {
    /// `tpcb`
    pub workload: String,
    /// Size, bytes for each row, and time of the preparation.
    pub rows: Vec<FigureRow>,
}

/// A series that some sides lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Absent {
    /// The name of the series.
    pub series: String,
    /// Names of the sides that have it.
    pub present: Vec<String>,
    /// Names of the sides that lack it.
    pub lacking: Vec<String>,
    /// Whether it is compared among the others.
    pub compared: bool,
}

/// Something that differs between the sides and matters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Of its finding: `not-comparable`, or `plan-changed`.
    pub code: Code,
    /// `durability`, `scale`, `processors`, …
    pub aspect: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Where it concerns one series only.
    pub series: Option<String>,
    /// Of each side; `None` where it is not known, or does not concern the side.
    pub values: Vec<Option<String>>,
    /// One sentence with both values.
    pub text: String,
    /// What to do about it.
    pub advice: &'static str,
}
