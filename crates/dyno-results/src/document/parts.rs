//! What is computed of the series of a report, as the document has it: data only. Who computes it is in the module of its name.

use schemars::JsonSchema;
use serde::Serialize;

/// The passes over a query set.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Passes {
    /// Ids of the passes, in the order in which they ran; the warm-up is none of them, nor is a pass that was cut short,
    /// unless all were.
    pub stages: Vec<u32>,
    /// Seconds of each pass: for one client the sum over its queries, for several the time until the last was done. `null`
    /// unless all queries ended well.
    pub seconds: Vec<Option<f64>>,
    /// The queries, in the order of their names in the workload.
    pub queries: Vec<QueryTimes>,
    /// The median of `seconds`, where a complete pass without a time counts as longer than all others; `None` if the median
    /// is such a pass.
    pub total_s: Option<f64>,
    /// Half-width of the 95 % interval of `total_s` over the passes, seconds; `None` with fewer than three passes, and if one
    /// has no time.
    pub total_half_width_s: Option<f64>,
    /// The geometric mean of the medians of all queries, seconds; `None` if one has none.
    pub geometric_mean_s: Option<f64>,
    /// Half-width of the 95 % interval of `geometric_mean_s`, by the geometric means of the passes, seconds; `None` as
    /// `total_half_width_s`.
    pub geometric_mean_half_width_s: Option<f64>,
    /// Normalised queries per hour: 3,600 / `total_s` × clients × scale / processors of the server's host; `None` if one of
    /// these is unknown, and for passes whose load cannot be chosen (`storage`).
    pub qph: Option<f64>,
    /// Half-width of the 95 % interval of `qph`; `None` as `total_half_width_s`.
    pub qph_half_width: Option<f64>,
    /// Numbers of queries by what is known of their answers.
    pub answers: AnswerCounts,
    /// How many clients made each pass.
    pub clients: u32,
    /// Whatever load is asked for, the work is the same: of a table that is kept in several ways.
    #[serde(skip)]
    pub fixed: bool,
    /// How many times as fast the queries are as on each other target of the run with as many clients; left out if there is
    /// none, and for `storage`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub speed_ups: Vec<SpeedUp>,
}

/// Numbers of queries by what is known of their answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnswerCounts {
    /// There is an answer.
    pub kept: usize,
    /// The answer was compared with one that is known to be right.
    pub known: usize,
    /// The answer is the one that is known to be right.
    pub valid: usize,
    /// More than half of the targets with an answer have it.
    pub alike: usize,
    /// The answer is not what it should be.
    pub differ: usize,
}

/// A query in the passes of a series.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueryTimes {
    /// Its name, `Q1`.
    pub query: String,
    /// Seconds in each pass, for several clients their mean; `null` if it did not end well for all of them.
    pub times_s: Vec<Option<f64>>,
    /// The median of `times_s`, where a complete pass in which it did not end well counts as longer than all others; `None`
    /// if the median is such a pass.
    pub median_s: Option<f64>,
    /// Seconds until the first row of its answer: for several clients their mean, and of several passes the median. `None` if it
    /// returned none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_row_s: Option<f64>,
    /// Why it did not end well in a pass; `None` if it did, or nobody said.
    pub failure: Option<String>,
    /// Whether it was cancelled at the time limit.
    pub over_limit: bool,
    /// Rows of its answer; `None` if no answer was kept.
    pub rows: Option<u64>,
    /// Whether the answer is that of the workload's specification, or the recorded one; `None` if that was not compared.
    pub validated: Option<bool>,
    /// Whether the answer was compared with that of another target.
    pub compared: bool,
    /// In what the answer is wrong, differs from those of other targets, or changed from pass to pass; `None` if nothing is
    /// known of that.
    pub differs: Option<String>,
    /// What the query's text leaves open, in which its answer is another than a later one, a recorded one or that of another
    /// target; `None` if there is no such difference.
    pub varies: Option<String>,
}

/// How many times as fast the queries of a workload are as on a base.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpeedUp {
    /// The other target, or in a comparison the other side.
    pub base: String,
    /// The geometric mean of `ratios`; `None` if there are none.
    pub mean: Option<f64>,
    /// The 95 % interval of `mean` over the queries (t-distribution of the logarithms): how much it depends on which queries
    /// there are, not how much passes scatter. `None` if there are fewer than two.
    pub interval: Option<[f64; 2]>,
    /// The queries that count, in the order of the base.
    pub ratios: Vec<QueryRatio>,
    /// Names of the queries that do not count: they did not run on both, or an answer differs.
    pub without: Vec<String>,
}

/// A query on two targets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QueryRatio {
    /// Its name, `Q1`.
    pub query: String,
    /// The median of the base divided by the own one.
    pub ratio: f64,
}

/// What to quote of a series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Quote {
    /// The name of the system.
    pub target: String,
    /// The name of the series.
    pub series: String,
    /// `3,340 TPS ±36% (tpcb-like, 8 clients, hold)`, or `nothing` and the reason.
    pub text: String,
    /// Ids of the stages that the figure is of; empty if nothing is to be quoted.
    pub stages: Vec<u32>,
}

/// A run with several systems on one target.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Variants {
    /// The names of the systems; the first is the base of the ratios.
    pub systems: Vec<String>,
    /// The figures.
    pub rows: Vec<Row>,
}

/// A figure of each system.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "VariantRow")]
pub struct Row {
    /// `build`, `size`, or a series; sizes after a series are in its group.
    pub group: String,
    /// A step of the preparation; `table bytes`, `index bytes`, `bytes per row`; a query; `throughput`, `p99`; `time` of a
    /// series with a given number of transactions.
    pub name: String,
    /// The unit of the values.
    pub unit: Unit,
    /// One for each system, in their order.
    pub cells: Vec<Cell>,
}

/// What the values of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "VariantUnit")]
pub enum Unit {
    /// Seconds.
    S,
    Bytes,
    /// Transactions per second.
    PerS,
    /// A number of things.
    Count,
}

/// A figure of one system.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "VariantCell")]
pub struct Cell {
    /// The figure, of queries the median; `None` if it is unknown or could not be done.
    pub value: Option<f64>,
    /// The figure divided by that of the first system; `None` for the first, and if one of the two is unknown.
    pub ratio: Option<f64>,
    /// What the server said to what the system could not do; `None` if it could.
    pub not_done: Option<String>,
}
