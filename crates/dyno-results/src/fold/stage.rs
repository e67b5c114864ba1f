//! One stage: its counts, its histograms and its throughput, from its intervals.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::seconds::{Second, Seconds};
use super::sums::{StageLevels, StageSums};
use crate::defaults::is_default;
use crate::document::{
    CountResult, Estimate, Percentiles, QueryResult, ResponseLimitResult, StageResult, Totals, TypeResult,
};
use crate::event::{
    Interval, OwnCount, Pool, Queries, ResponseLimit, RunningQuery, Stage, StageFinished, StageKind,
    TypeInterval,
};
use crate::latency::{self, Latency};
use crate::measure::add_own;
use crate::statistics::throughput::{self, Slice};

/// One of the times.
type Times = fn(&TypeInterval) -> &Latency;

/// A stage in the making.
#[derive(Debug)]
pub struct StageFold {
    stage: Stage,
    started_ms: u64,
    finished: Option<StageFinished>,
    sums: Sums,
    /// The intervals of the load, the drain left out.
    slices: Vec<Slice>,
    /// What the workload's figure counts in each of them; empty where it has none.
    figure_counts: Vec<u64>,
    /// Of all of them together.
    seconds: f64,
    open: Seconds,
    /// Counts whatever happened to the stage.
    revision: u64,
    /// As they were told of last.
    running: Vec<RunningQuery>,
}

/// What a stage's intervals come to when they are added up.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sums {
    totals: Totals,
    types: BTreeMap<u16, TypeFold>,
    /// The drain left out; `None` until an interval tells of some.
    queries: Option<Queries>,
    errors: BTreeMap<String, u64>,
    /// CPU of all driver threads, drain left out, milliseconds.
    driver_cpu_ms: f64,
    /// CPU of each driver thread, drain left out, milliseconds.
    thread_cpu_ms: Vec<f64>,
    /// Those of the drain included.
    skipped: u64,
    /// Seconds of which not all generators have told, and what ended well in them.
    #[serde(default, skip_serializing_if = "is_default")]
    incomplete_seconds: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    done_in_incomplete: u64,
    last: StageLevels,
    /// The drain left out; `None` until an interval tells of one.
    pool: Option<PoolFold>,
}

/// Shared connections, summed over time.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PoolFold {
    connections: u32,
    in_use_ms: f64,
    in_use_max: u32,
    waiting_ms: f64,
    waiting_max: u32,
    ms: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TypeFold {
    /// The drain left out.
    done: u64,
    rolled_back: u64,
    failed: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    own: Vec<u64>,
    all: TypeInterval,
}

impl StageFold {
    #[must_use]
    pub fn new(stage: Stage, started_ms: u64) -> Self {
        Self {
            stage,
            started_ms,
            finished: None,
            sums: Sums::default(),
            slices: Vec::new(),
            figure_counts: Vec::new(),
            seconds: 0.0,
            open: Seconds::default(),
            revision: 0,
            running: Vec::new(),
        }
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Since the run started, seconds.
    pub(super) fn start_s(&self) -> f64 {
        self.started_ms as f64 / 1000.0
    }

    /// Differs from what it was whenever anything of the stage does.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn sums(&self) -> &Sums {
        &self.sums
    }

    pub(super) fn slices(&self) -> &[Slice] {
        &self.slices
    }

    pub(super) fn figure_counts(&self) -> &[u64] {
        &self.figure_counts
    }

    /// Puts back what was kept of it: the sums as they were, and the intervals that have come since they last were.
    pub(super) fn restore(
        &mut self,
        sums: Sums,
        waiting: &[Interval],
        slices: Vec<Slice>,
        figure_counts: Vec<u64>,
    ) {
        self.sums = sums;
        self.figure_counts.extend(figure_counts);
        waiting.iter().for_each(|interval| drop(self.open.add(self.stage.generators, interval)));
        self.slices.extend(slices);
        self.seconds = self.slices.iter().fold(0.0, |seconds, slice| seconds + slice.seconds);
        self.revision += 1;
    }

    /// Takes an interval in. The seconds that it closes.
    pub(super) fn add<'a>(&mut self, interval: &'a Interval) -> Vec<Second<'a>> {
        self.revision += 1;
        let closed = self.open.add(self.stage.generators, interval);
        closed.iter().for_each(|second| self.close(second));
        closed
    }

    fn close(&mut self, second: &Second<'_>) {
        let interval = &*second.interval;
        self.sums.add(interval);
        // A drain has fewer and fewer clients at work: its rate is not that of the load.
        if interval.drain {
            return;
        }
        if second.whole {
            let count = interval.types.iter().map(|of_type| of_type.done).sum();
            let seconds = interval.duration_ns as f64 / 1e9;
            self.slices.push(Slice { count, seconds });
            self.seconds += seconds;
            if let Some(figure) = &self.stage.figure {
                let is_counted = |of_type: &&TypeInterval| self.type_name(of_type.type_index) == figure.of;
                let counts = interval.types.iter().filter(is_counted);
                self.figure_counts
                    .push(counts.map(|of_type| of_type.done.saturating_sub(of_type.rolled_back)).sum());
            }
        } else {
            self.sums.incomplete_seconds += 1;
            self.sums.done_in_incomplete += interval.types.iter().map(|of_type| of_type.done).sum::<u64>();
        }
    }

    /// Adds an interval, for those who watch: what the last second came to that it closes.
    pub fn watch(&mut self, interval: &Interval) -> Option<Interval> {
        self.add(interval).pop().map(|second| second.interval.into_owned())
    }

    /// Intervals of seconds of which others are still to come.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Interval> {
        self.open.waiting()
    }

    /// Takes in which queries go on.
    pub fn running(&mut self, queries: &[RunningQuery]) {
        self.running = queries.to_vec();
        self.revision += 1;
    }

    /// Takes its end in.
    pub fn finish(&mut self, finished: &StageFinished) {
        drop(self.end(finished));
    }

    /// The same: the seconds that were left open.
    pub(super) fn end(&mut self, finished: &StageFinished) -> Vec<Second<'static>> {
        let rest: Vec<Second<'_>> = self.open.rest(self.stage.generators).collect();
        rest.iter().for_each(|second| self.close(second));
        self.running.clear();
        self.finished = Some(finished.clone());
        self.revision += 1;
        // A ramp has hundreds of stages, and each some histograms of a quarter of a megabyte.
        let types = self.sums.types.values_mut();
        types.flat_map(|of_type| of_type.all.times_mut()).for_each(Latency::shrink);
        rest
    }

    pub fn result(&self) -> StageResult {
        let times = |of: Times| Percentiles::of(self.merged(of)?.as_ref());
        let throughput = self.estimate(&self.slices);
        // A transaction of a mix that never ended has none of it; a query that was not reached is not told of.
        let is_mix = self.stage.types.len() > 1 && !self.stage.query_set && !self.stage.pass;
        let named = if is_mix { self.stage.types.len() as u16 } else { 0 };
        let nothing = TypeFold::default();
        let never = (0..named).filter(|index| !self.sums.types.contains_key(index));
        let never = never.map(|index| (index, &nothing));
        let types: BTreeMap<u16, &TypeFold> =
            self.sums.types.iter().map(|(index, of_type)| (*index, of_type)).chain(never).collect();
        let of_types = types.iter().map(|(index, of_type)| self.type_result(*index, of_type, throughput));
        let gap = if self.stage.pass { None } else { throughput::longest_gap(&self.slices) };
        StageResult {
            throughput,
            figure_value: self.figure_value(),
            longest_gap_s: gap.map(|gap| gap.seconds),
            recovery_s: gap.and_then(|gap| gap.recovery_s),
            service: times(|all| &all.service),
            response: times(|all| &all.response),
            lag: times(|all| &all.lag),
            wait: times(|all| &all.wait),
            by_type: of_types.collect(),
            ..self.outline()
        }
    }

    /// The result without what takes time to work out: latencies, types, and how well the throughput is known.
    pub(super) fn outline(&self) -> StageResult {
        let sums = &self.sums;
        let (seconds, done) = (self.seconds, sums.totals.done);
        let mean = Estimate {
            mean: self.done_in_whole_seconds() as f64 / seconds,
            half_width: None,
            samples: 0,
            effective_samples: None,
        };
        StageResult {
            accompanies: None,
            start_s: self.start_s(),
            seconds: self.finished.as_ref().map_or(seconds, |finished| finished.seconds),
            complete: self.finished.as_ref().is_some_and(|finished| finished.complete),
            throughput: (seconds > 0.0).then_some(mean),
            figure_value: None,
            longest_gap_s: None,
            recovery_s: None,
            totals: sums.totals,
            service: None,
            response: None,
            lag: None,
            wait: None,
            pool: sums.pool.as_ref().and_then(PoolFold::result),
            resources: BTreeMap::new(),
            cpu_taken_share: None,
            processors_by_repeats: false,
            costs: None,
            by_type: Vec::new(),
            queries: sums.queries.filter(|_| seconds > 0.0).map(|queries| query_result(queries, seconds)),
            errors: sums.errors.clone(),
            driver_cpu_us_per_transaction: (done > 0 && !sums.thread_cpu_ms.is_empty())
                .then(|| sums.driver_cpu_ms * 1000.0 / done as f64),
            driver_thread_busy_max: sums
                .thread_cpu_ms
                .iter()
                .copied()
                .reduce(f64::max)
                .filter(|_| seconds > 0.0)
                .map(|ms| (ms / 1000.0 / seconds).min(1.0)),
            clients_aborted: self.finished.as_ref().map_or(0, |finished| finished.clients_aborted),
            not_begun: self.finished.as_ref().map_or(0, |finished| finished.not_begun),
            skipped: sums.skipped,
            incomplete_seconds: sums.incomplete_seconds,
            running: self.running.clone(),
            stage: self.stage.clone(),
        }
    }

    /// A rate, with its interval where one number can stand for the whole stage.
    fn estimate(&self, slices: &[Slice]) -> Option<Estimate> {
        let estimate = throughput::estimate(slices)?;
        // The load of a ramp changes: the mean is a fact, but nothing that an interval could hold.
        Some(if self.stage.kind == StageKind::Ramp { estimate.without_interval() } else { estimate })
    }

    fn figure_value(&self) -> Option<Estimate> {
        let figure = self.stage.figure.as_ref()?;
        let counts = self.figure_counts.iter().zip(&self.slices);
        let slices: Vec<Slice> = counts.map(|(count, slice)| Slice { count: *count, ..*slice }).collect();
        Some(self.estimate(&slices)?.times(figure.per.seconds()))
    }

    fn type_result(&self, index: u16, of_type: &TypeFold, throughput: Option<Estimate>) -> TypeResult {
        let name = self.type_name(index);
        let all = self.sums.totals.done;
        let share = (all > 0).then(|| of_type.done as f64 / all as f64);
        let own = self.stage.response_limits.iter().filter(|limit| limit.of == name);
        let response_limits = own.map(|limit| of_type.limited(limit)).collect();
        let own = self.stage.counted(|_| Some(&of_type.own)).filter(|(count, _)| count.of == name);
        let counts = own.map(|(of, count)| of_type.counted(of, count)).collect();
        TypeResult {
            share,
            per_s: throughput.map(|throughput| throughput.mean * share.unwrap_or(0.0)),
            response_limits,
            counts,
            ..of_type.result(name.into_owned())
        }
    }

    fn type_name(&self, index: u16) -> Cow<'_, str> {
        let known = self.stage.types.get(usize::from(index));
        known.map_or_else(|| format!("type {index}").into(), |name| name.as_str().into())
    }

    fn done_in_whole_seconds(&self) -> u64 {
        self.sums.totals.done - self.sums.done_in_incomplete
    }

    pub fn totals(&self) -> &Totals {
        &self.sums.totals
    }

    /// Seconds of load, the drain left out.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Transactions per second; `None` before the first interval.
    pub fn tps(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.done_in_whole_seconds() as f64 / self.seconds)
    }

    /// A percentile (0 to 100) of the response time, or of the service time where they are the same; microseconds.
    pub fn percentile_us(&self, percentile: f64) -> Option<f64> {
        self.merged(TypeInterval::latency)?.percentile_us(percentile)
    }

    /// The sums as they stand.
    pub(super) fn exposed(&self) -> StageSums<'_> {
        let types = self.sums.types.values().map(|of_type| Cow::Borrowed(&of_type.all));
        let all = types.reduce(|mut sum, of_type| {
            sum.to_mut().add(&of_type);
            sum
        });
        StageSums {
            stage: &self.stage,
            all: all.unwrap_or_default(),
            reconnects: self.sums.totals.reconnects,
            skipped: self.sums.skipped,
            errors: &self.sums.errors,
            counts: self.stage.counted(|place| Some(&self.type_at(place)?.all.own)).collect(),
            now: self.finished.is_none().then_some(&self.sums.last),
        }
    }

    fn type_at(&self, place: usize) -> Option<&TypeFold> {
        self.sums.types.get(&u16::try_from(place).ok()?)
    }

    fn merged(&self, of: Times) -> Option<Cow<'_, Latency>> {
        latency::sum(self.sums.types.values().map(|of_type| of(&of_type.all)))
    }
}

impl Sums {
    fn add(&mut self, interval: &Interval) {
        for of_type in &interval.types {
            add_totals(&mut self.totals, of_type, interval.drain);
            self.types.entry(of_type.type_index).or_default().add(of_type, interval.drain);
        }
        self.totals.reconnects += interval.reconnects;
        self.skipped += interval.skipped;
        self.last = StageLevels { clients: interval.clients, backlog: interval.backlog, pool: interval.pool };
        self.totals.lost_s += interval.lost_ns as f64 / 1e9;
        for (code, count) in &interval.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
        // What ended in a drain began in the stage all the same, and to leave out its latencies would hide a stall that
        // lasts to the end. All else is of the load alone.
        if interval.drain {
            return;
        }
        for queries in interval.types.iter().filter_map(|of_type| of_type.queries.as_ref()) {
            self.queries.get_or_insert_default().add(queries);
        }
        self.add_driver_cpu(&interval.driver_cpu_ns);
        if let Some(pool) = &interval.pool {
            self.pool.get_or_insert_default().add(pool, interval.duration_ns as f64 / 1e6);
        }
    }

    fn add_driver_cpu(&mut self, threads_ns: &[u64]) {
        if self.thread_cpu_ms.len() < threads_ns.len() {
            self.thread_cpu_ms.resize(threads_ns.len(), 0.0);
        }
        for (sum, ns) in self.thread_cpu_ms.iter_mut().zip(threads_ns) {
            let ms = *ns as f64 / 1e6;
            *sum += ms;
            self.driver_cpu_ms += ms;
        }
    }
}

impl PoolFold {
    fn add(&mut self, pool: &Pool, ms: f64) {
        self.connections = self.connections.max(pool.connections);
        self.in_use_ms += pool.in_use_mean * ms;
        self.in_use_max = self.in_use_max.max(pool.in_use_max);
        self.waiting_ms += pool.waiting_mean * ms;
        self.waiting_max = self.waiting_max.max(pool.waiting_max);
        self.ms += ms;
    }

    /// `None` where no time passed.
    fn result(&self) -> Option<Pool> {
        (self.ms > 0.0).then(|| Pool {
            connections: self.connections,
            in_use_mean: self.in_use_ms / self.ms,
            in_use_max: self.in_use_max,
            waiting_mean: self.waiting_ms / self.ms,
            waiting_max: self.waiting_max,
        })
    }
}

impl TypeFold {
    fn add(&mut self, interval: &TypeInterval, drain: bool) {
        if !drain {
            self.done += interval.done;
            self.rolled_back += interval.rolled_back;
            self.failed += interval.failed;
            add_own(&mut self.own, &interval.own);
        }
        self.all.add(interval);
    }

    fn limited(&self, limit: &ResponseLimit) -> ResponseLimitResult {
        let found_us = self.all.latency().percentile_us(limit.percentile);
        ResponseLimitResult {
            percentile: limit.percentile,
            limit_us: limit.limit_us,
            found_us,
            kept: found_us.map(|found_us| found_us <= limit.limit_us),
        }
    }

    fn counted(&self, OwnCount { key, about, .. }: &OwnCount, count: u64) -> CountResult {
        let transactions = self.done.saturating_sub(self.rolled_back);
        CountResult {
            key: key.clone(),
            about: about.clone(),
            count,
            per_transaction: (transactions > 0).then(|| count as f64 / transactions as f64),
        }
    }

    fn result(&self, name: String) -> TypeResult {
        TypeResult {
            name,
            done: self.done,
            rolled_back: self.rolled_back,
            share: None,
            per_s: None,
            failed: self.failed,
            failed_with_drain: self.all.failed,
            retries: self.all.retries,
            service: Percentiles::of(&self.all.service),
            response: Percentiles::of(&self.all.response),
            first_row: Percentiles::of(&self.all.first_row),
            response_limits: Vec::new(),
            counts: Vec::new(),
        }
    }
}

fn add_totals(totals: &mut Totals, interval: &TypeInterval, drain: bool) {
    if !drain {
        totals.done += interval.done;
        totals.failed += interval.failed;
        totals.unknown += interval.unknown;
    }
    totals.done_with_drain += interval.done;
    totals.failed_with_drain += interval.failed;
    totals.unknown_with_drain += interval.unknown;
    totals.cancelled += interval.cancelled;
    totals.retries += interval.retries;
    totals.statements += interval.statements;
}

fn query_result(queries: Queries, seconds: f64) -> QueryResult {
    let Queries { reads, writes, other, writes_in_vain } = queries;
    let per_s = |count: u64| count as f64 / seconds;
    let attempted = writes + writes_in_vain;
    QueryResult {
        reads,
        writes,
        other,
        writes_in_vain,
        per_s: per_s(queries.total()),
        reads_per_s: per_s(reads),
        writes_per_s: per_s(writes),
        other_per_s: per_s(other),
        in_vain_share: (attempted > 0).then(|| writes_in_vain as f64 / attempted as f64),
    }
}
