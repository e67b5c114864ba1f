//! The figures that are compared: what each is, in which unit, and which direction a reader wishes for.

use super::document::Better;
use super::evidence::Evidence;
use super::side::{Figure, Member, Resolution};
use super::spread::{LatencySpreads, Spread};
use crate::document::{Costs, Percentiles, Series, StageResult};
use crate::headline::Demand;
use crate::passes;

/// A row of the table.
pub(super) struct ComparedMetric {
    pub(super) key: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// Whether it says something only at the same load.
    pub(super) latency: bool,
    /// Whether it is of all queries of a pass together.
    pub(super) of_all_queries: bool,
    pub(super) figure: Figure,
    pub(super) resolution: Resolution,
    /// Of what it was counted, where that may be one thing or another.
    pub(super) source: Option<fn(&Costs) -> Option<&str>>,
}

const fn plain(key: &'static str, unit: &'static str, better: Better, figure: Figure) -> ComparedMetric {
    let resolution: Resolution = |_| 0.0;
    ComparedMetric {
        key,
        unit,
        better,
        latency: false,
        of_all_queries: false,
        figure,
        resolution,
        source: None,
    }
}

/// The kernel counts a process' time in ticks of a hundredth of a second, and its bytes in pages; the log has records of
/// whole words.
const TICK_US: f64 = 10_000.0;
const PAGE_BYTES: f64 = 4096.0;
const WORD_BYTES: f64 = 8.0;

/// One of what is counted, for each transaction.
fn each(stage: &StageResult, one: f64) -> f64 {
    one / stage.totals.done.max(1) as f64
}

const SERVER_CPU: ComparedMetric = ComparedMetric {
    resolution: |stage| each(stage, TICK_US),
    ..cost("server_cpu", "us", |_, stage| of_costs(stage, |costs| costs.server_cpu_us))
};

const ERRORS: ComparedMetric = ComparedMetric {
    resolution: |stage| 1.0 / stage.totals.ended_with_drain().max(1) as f64,
    ..plain("errors", "share", Better::Lower, errors)
};

const fn latency(key: &'static str, figure: Figure) -> ComparedMetric {
    ComparedMetric { latency: true, ..plain(key, "us", Better::Lower, figure) }
}

const fn of_pass(key: &'static str, figure: Figure) -> ComparedMetric {
    ComparedMetric { of_all_queries: true, ..latency(key, figure) }
}

const fn cost(key: &'static str, unit: &'static str, figure: Figure) -> ComparedMetric {
    plain(key, unit, Better::Lower, figure)
}

const fn disk_bytes(key: &'static str, figure: Figure) -> ComparedMetric {
    ComparedMetric {
        source: Some(|costs| costs.disk_source.as_deref()),
        resolution: |stage| each(stage, PAGE_BYTES),
        ..cost(key, "bytes", figure)
    }
}

const fn disk_operations(key: &'static str, figure: Figure) -> ComparedMetric {
    ComparedMetric {
        source: Some(|costs| costs.disk_operations_source.as_deref()),
        resolution: |stage| each(stage, 1.0),
        ..cost(key, "operations", figure)
    }
}

/// What a stage tells, in the order of the table. Costs are for each transaction.
pub(super) const OF_STAGES: &[ComparedMetric] = &[
    ComparedMetric { resolution: one_transaction, ..plain("throughput", "1/s", Better::Higher, throughput) },
    // Of what the workload counts, which names it and its unit.
    ComparedMetric { resolution: one_counted, ..plain("figure", "1/s", Better::Higher, figure) },
    latency("p50", |evidence, stage| percentile(evidence, stage, |all| all.p50_us, |spreads| spreads.p50)),
    latency("p95", |evidence, stage| percentile(evidence, stage, |all| all.p95_us, |spreads| spreads.p95)),
    latency("p99", p99),
    latency("p99.9", |evidence, stage| {
        percentile(evidence, stage, |all| all.p999_us, |spreads| spreads.p999)
    }),
    // One transaction, always: nothing says how well it is known.
    latency("max", |evidence, stage| percentile(evidence, stage, |all| all.max_us, |_| None)),
    ERRORS,
    SERVER_CPU,
    disk_bytes("disk_read_bytes", |_, stage| of_costs(stage, |costs| costs.disk_read_bytes)),
    disk_bytes("disk_write_bytes", |_, stage| of_costs(stage, |costs| costs.disk_write_bytes)),
    disk_operations("disk_read_operations", |_, stage| of_costs(stage, |costs| costs.disk_read_operations)),
    disk_operations("disk_write_operations", |_, stage| of_costs(stage, |costs| costs.disk_write_operations)),
    ComparedMetric {
        resolution: |stage| each(stage, WORD_BYTES),
        ..cost("wal_bytes", "bytes", |_, stage| of_costs(stage, |costs| costs.wal_bytes))
    },
];

/// What a pass over a query set tells. Its queries have little in common: neither their rate nor their percentiles say much.
pub(super) const OF_PASSES: &[ComparedMetric] = &[
    of_pass("pass", |_, pass| Some((passes::total_s(pass)? * 1e6, None))),
    of_pass("geometric_mean", |_, pass| Some((passes::geometric_mean_s(pass)? * 1e6, None))),
    ERRORS,
    SERVER_CPU,
    disk_bytes("disk_read_bytes", |_, stage| of_costs(stage, |costs| costs.disk_read_bytes)),
    disk_bytes("disk_write_bytes", |_, stage| of_costs(stage, |costs| costs.disk_write_bytes)),
];

/// Each second.
pub(super) fn one_transaction(stage: &StageResult) -> f64 {
    if stage.seconds > 0.0 { 1.0 / stage.seconds } else { 0.0 }
}

fn one_counted(stage: &StageResult) -> f64 {
    one_transaction(stage) * stage.stage.figure.as_ref().map_or(1.0, |figure| figure.per.seconds())
}

fn figure(_: &Evidence, stage: &StageResult) -> Option<(f64, Option<Spread>)> {
    let estimate = stage.figure_value?;
    Some((estimate.mean, Spread::of_estimate(&estimate)))
}

pub(super) fn throughput(_: &Evidence, stage: &StageResult) -> Option<(f64, Option<Spread>)> {
    let estimate = stage.throughput?;
    Some((estimate.mean, Spread::of_estimate(&estimate)))
}

pub(super) fn p99(evidence: &Evidence, stage: &StageResult) -> Option<(f64, Option<Spread>)> {
    percentile(evidence, stage, |all| all.p99_us, |spreads| spreads.p99)
}

fn percentile(
    evidence: &Evidence,
    stage: &StageResult,
    value: fn(&Percentiles) -> f64,
    spread: fn(&LatencySpreads) -> Option<Spread>,
) -> Option<(f64, Option<Spread>)> {
    let percentiles = stage.latency()?;
    Some((value(percentiles), spread(&evidence.spreads(stage.stage.id))))
}

/// Of all that the stage began, the share that failed or whose outcome is unknown.
fn errors(_: &Evidence, stage: &StageResult) -> Option<(f64, Option<Spread>)> {
    let (bad, all) = (stage.totals.bad_with_drain(), stage.totals.ended_with_drain());
    (all > 0).then(|| (bad as f64 / all as f64, None))
}

fn of_costs(stage: &StageResult, pick: fn(&Costs) -> Option<f64>) -> Option<(f64, Option<Spread>)> {
    Some((pick(stage.costs.as_ref()?)?, None))
}

pub(super) fn peak_throughput(_: &Member, series: &Series) -> Option<(f64, Option<Spread>)> {
    let peak = series.peak.as_ref()?;
    Some((peak.throughput.mean, Spread::of_estimate(&peak.throughput)))
}

/// Clients, or the rate of an open load, at the peak.
pub(super) fn peak_height(member: &Member, series: &Series) -> Option<(f64, Option<Spread>)> {
    height(member, series.peak.as_ref()?.stage)
}

/// Clients, or the rate of an open load, at which the ladder was saturated.
pub(super) fn saturation_height(member: &Member, series: &Series) -> Option<(f64, Option<Spread>)> {
    height(member, series.saturation.as_ref()?.stage)
}

fn height(member: &Member, stage: u32) -> Option<(f64, Option<Spread>)> {
    Some((Demand::of(&member.evidence.stage(stage)?.stage).height(), None))
}
