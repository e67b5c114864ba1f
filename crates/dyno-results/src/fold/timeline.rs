//! The load over time, in columns, one timeline for each target and for each place of a stream in its phase.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::seconds::Second;
use super::telemetry::Telemetry;
use crate::document::{LoadColumns, Percentiles, PoolLoad, Timeline, TypeLoad};
use crate::event::{Interval, Stage, Target, TypeInterval};
use crate::latency::{self, Latency};
use crate::statistics::throughput::FULL_SHARE;

/// The timelines in the making, by target and place of the stream.
#[derive(Debug, Default)]
pub(super) struct Timelines(BTreeMap<(String, u32), LoadColumns>);

impl Timelines {
    pub(super) fn loads(&self) -> impl Iterator<Item = (&(String, u32), &LoadColumns)> {
        self.0.iter()
    }

    pub(super) fn load_mut(&mut self, target: &str, stream: u32) -> &mut LoadColumns {
        self.0.entry((target.to_owned(), stream)).or_default()
    }

    /// Adds an interval of a stage that started `start_s` seconds after the run.
    pub(super) fn add(&mut self, stage: &Stage, start_s: f64, second: &Second<'_>) {
        let interval = &*second.interval;
        // A drain is no load: its rate would show as a dip that the database did not cause.
        if interval.drain || interval.duration_ns == 0 {
            return;
        }
        let is_known = second.whole && is_full(interval);
        let load = self.load_mut(&stage.key.system, stage.key.stream);
        let per_s = |count: u64| is_known.then(|| count as f64 * 1e9 / interval.duration_ns as f64);
        load.t_s.push(start_s + (interval.start_ns as f64 + interval.duration_ns as f64 / 2.0) / 1e9);
        load.stage.push(stage.id);
        load.clients.push(interval.clients);
        load.tps.push(per_s(interval.types.iter().map(|of_type| of_type.done).sum()));
        load.failed_per_s.push(per_s(interval.types.iter().map(|of_type| of_type.failed).sum()));
        push_latency(load, interval.latency().as_deref());
        push_pool(load, interval);
        push_counts(load, (stage, interval), per_s);
        push_types(load, stage, interval, is_known);
    }

    /// p50, p90 and p99 of the last interval of a stage, microseconds.
    pub(super) fn last_percentiles(&self, stage: &Stage) -> Option<[f64; 3]> {
        let load = self.0.get(&(stage.key.system.clone(), stage.key.stream))?;
        load.stage.last().filter(|id| **id == stage.id)?;
        Some([load.p50_us.last().copied()??, load.p90_us.last().copied()??, load.p99_us.last().copied()??])
    }

    /// The targets of the run in their order, then those that were only named by their stages; of each the streams that
    /// ran at the same time, the first of them with the target's telemetry.
    pub(super) fn views<'a>(&'a self, targets: &'a [Target], telemetry: &'a Telemetry) -> Vec<Timeline<'a>> {
        let announced = targets.iter().map(|target| (target.name.as_str(), target.same_host));
        let is_unannounced = |(name, stream): &&(String, u32)| {
            *stream == 0 && !targets.iter().any(|target| target.name == *name)
        };
        let unannounced = self.0.keys().filter(is_unannounced).map(|(name, _)| (name.as_str(), None));
        let mut views = Vec::new();
        for (name, same_host) in announced.chain(unannounced) {
            let load = |stream: u32| self.0.get(&(name.to_owned(), stream)).map(Cow::Borrowed);
            views.push(Timeline {
                target: name.into(),
                stream: 0,
                load: load(0).unwrap_or_default(),
                metrics: telemetry.metrics(name, same_host == Some(true)),
            });
            let further = self.0.range((name.to_owned(), 1)..=(name.to_owned(), u32::MAX));
            views.extend(further.map(|((_, stream), load)| Timeline {
                target: name.into(),
                stream: *stream,
                load: Cow::Borrowed(load),
                metrics: Vec::new(),
            }));
        }
        views
    }
}

/// The last interval of a stage ends when the stage does: a transaction in a few milliseconds would be drawn as hundreds a
/// second. Those before it, which have one length, began with the stage.
fn is_full(interval: &Interval) -> bool {
    let full_ns = interval.start_ns as f64 / f64::from(interval.index.max(1));
    interval.index == 0 || interval.duration_ns as f64 >= FULL_SHARE * full_ns
}

fn push_latency(load: &mut LoadColumns, latency: Option<&Latency>) {
    let known = latency.and_then(Percentiles::of);
    load.p50_us.push(known.map(|of| of.p50_us));
    load.p90_us.push(known.map(|of| of.p90_us));
    load.p95_us.push(known.map(|of| of.p95_us));
    load.p99_us.push(known.map(|of| of.p99_us));
    load.p999_us.push(known.map(|of| of.p999_us));
    load.max_us.push(known.map(|of| of.max_us));
}

/// Columns of a transaction begin with the first stage of several, and are empty before.
fn push_types(load: &mut LoadColumns, stage: &Stage, interval: &Interval, is_known: bool) {
    let rows = load.t_s.len();
    if stage.types.len() > 1 && !stage.query_set && !stage.pass {
        for (name, index) in stage.types.iter().zip(0..) {
            let found = interval.types.iter().find(|of_type| of_type.type_index == index);
            let per_s = |count: fn(&TypeInterval) -> u64| {
                is_known.then(|| found.map_or(0, count) as f64 * 1e9 / interval.duration_ns as f64)
            };
            let latency = found.and_then(|of_type| Percentiles::of(of_type.latency()));
            let of_type = load.type_mut(name, rows - 1);
            of_type.tps.push(per_s(|of_type| of_type.done));
            of_type.rolled_back_per_s.push(per_s(|of_type| of_type.rolled_back));
            of_type.p50_us.push(latency.map(|of| of.p50_us));
            of_type.p90_us.push(latency.map(|of| of.p90_us));
            of_type.p99_us.push(latency.map(|of| of.p99_us));
        }
    }
    let columns = load.by_type.iter_mut().flat_map(TypeLoad::columns_mut);
    columns.for_each(|column| column.resize(rows, None));
}

/// A column of the pool begins with the first stage whose clients share connections, and is empty before.
fn push_pool(load: &mut LoadColumns, interval: &Interval) {
    if load.pool.is_none() && interval.pool.is_none() {
        return;
    }
    let before = load.t_s.len() - 1;
    let columns = load.pool.get_or_insert_with(|| PoolLoad::unknown(before));
    let pool = interval.pool.as_ref();
    let wait = latency::sum(interval.types.iter().map(|of_type| &of_type.wait));
    columns.in_use.push(pool.map(|pool| pool.in_use_mean));
    columns.idle.push(pool.map(|pool| (f64::from(pool.connections) - pool.in_use_mean).max(0.0)));
    columns.waiting.push(pool.map(|pool| pool.waiting_mean));
    columns.wait_p99_us.push(wait.and_then(|wait| wait.percentile_us(99.0)));
}

/// A column of a count begins with the first stage of its workload, and is empty in those of others.
fn push_counts(
    load: &mut LoadColumns,
    (stage, interval): (&Stage, &Interval),
    per_s: impl Fn(u64) -> Option<f64>,
) {
    let before = load.t_s.len() - 1;
    let slots_of = |place: usize| {
        let of_type = interval.types.iter().find(|of_type| usize::from(of_type.type_index) == place)?;
        Some(of_type.own.as_slice())
    };
    for (of, count) in stage.counted(slots_of) {
        load.count_mut(&of.of, &of.key, before).per_s.push(per_s(count));
    }
    load.counts.iter_mut().for_each(|column| column.per_s.resize(before + 1, None));
}
