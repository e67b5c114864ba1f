//! What the threads measured in a stage, put together.

use std::collections::BTreeMap;

use dyno_results::event::{Interval, Pool, StageFinished};

use crate::message::ThreadFinished;
use crate::record::{Record, Usage};

/// The place of the drain behind all intervals.
const DRAIN: u32 = u32::MAX;

/// Puts the threads' records together, interval by interval.
pub(crate) struct Collector {
    stage: u32,
    generator: u32,
    start_ns: u64,
    intervals: BTreeMap<u32, Merged>,
    threads: Vec<ThreadProgress>,
    reads_cpu: bool,
}

#[derive(Default)]
struct ThreadProgress {
    /// Intervals handed over.
    records: u32,
    finished: Option<ThreadFinished>,
}

impl Collector {
    /// `reads_cpu`: whether what the threads take of the processors is the engine's own.
    pub(crate) fn new(
        (stage, generator): (u32, u32),
        start_ns: u64,
        (threads, reads_cpu): (usize, bool),
    ) -> Self {
        let threads = (0..threads).map(|_| ThreadProgress::default()).collect();
        Self { stage, generator, start_ns, intervals: BTreeMap::new(), threads, reads_cpu }
    }

    pub(crate) fn add(&mut self, thread: u32, record: &Record) {
        if !record.drain {
            self.threads[thread as usize].records = record.index + 1;
        }
        let place = if record.drain { DRAIN } else { record.index };
        let threads = if self.reads_cpu { self.threads.len() } else { 0 };
        let fresh = || Merged::new((self.stage, self.generator), self.start_ns, threads, record);
        self.intervals.entry(place).or_insert_with(fresh).add(thread as usize, record);
    }

    pub(crate) fn finish(&mut self, thread: u32, finished: ThreadFinished) {
        self.threads[thread as usize] = ThreadProgress { records: DRAIN, finished: Some(finished) };
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.finished.is_some())
    }

    /// Intervals to which no thread will add any more, in order; with the drain at the very end.
    pub(crate) fn flush(&mut self, last: bool) -> Vec<Interval> {
        let ready = self.threads.iter().map(|thread| thread.records).min().unwrap_or(DRAIN);
        let rest = if last { BTreeMap::new() } else { self.intervals.split_off(&ready) };
        let flushed = std::mem::replace(&mut self.intervals, rest);
        flushed.into_values().filter_map(Merged::finish).collect()
    }

    pub(crate) fn outcome(&self) -> StageFinished {
        let finished = || self.threads.iter().filter_map(|thread| thread.finished);
        let load_end_ns = finished().map(|f| f.load_end_ns).max().unwrap_or(self.start_ns);
        let drained_ns = finished().map(|f| f.drained_ns).max().unwrap_or(load_end_ns);
        StageFinished {
            stage: self.stage,
            seconds: load_end_ns.saturating_sub(self.start_ns) as f64 / 1e9,
            drain_s: drained_ns.saturating_sub(load_end_ns) as f64 / 1e9,
            complete: finished().all(|f| f.complete),
            clients_aborted: finished().map(|f| f.clients_aborted).sum(),
            not_begun: finished().map(|f| f.not_begun).sum(),
            realtime: Some(finished().all(|f| f.realtime)),
        }
    }
}

/// Records of all threads for one interval, put together.
#[derive(Debug)]
struct Merged {
    start_ns: u64,
    end_ns: u64,
    interval: Interval,
    usage: Usage,
}

impl Merged {
    fn new((stage, generator): (u32, u32), stage_start_ns: u64, threads: usize, record: &Record) -> Self {
        Self {
            usage: Usage::default(),
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            interval: Interval {
                stage,
                generator,
                index: record.index,
                start_ns: record.start_ns.saturating_sub(stage_start_ns),
                driver_cpu_ns: vec![0; threads],
                drain: record.drain,
                ..Interval::default()
            },
        }
    }

    pub(crate) fn add(&mut self, thread: usize, record: &Record) {
        // Threads end the last interval of a counted stage each in its own time.
        self.end_ns = self.end_ns.max(record.end_ns);
        let interval = &mut self.interval;
        interval.clients += record.clients;
        if let Some(cpu_ns) = interval.driver_cpu_ns.get_mut(thread) {
            *cpu_ns = record.cpu_ns;
        }
        interval.reconnects += record.reconnects;
        interval.lost_ns += record.lost_ns;
        interval.backlog += record.backlog;
        interval.skipped += record.skipped;
        self.usage.is_pool |= record.pool.is_pool;
        self.usage.connections += record.pool.connections;
        self.usage.in_use_ns += record.pool.in_use_ns;
        self.usage.waiting_ns += record.pool.waiting_ns;
        // Each thread's own maximum: together at most this many, if in the same moment.
        self.usage.in_use_max += record.pool.in_use_max;
        self.usage.waiting_max += record.pool.waiting_max;
        for (code, count) in &record.errors {
            *interval.errors.entry(code.name()).or_default() += count;
        }
        // A type that did nothing is left out.
        record.types.iter().filter(|part| !part.is_empty()).for_each(|part| interval.add_type(part));
    }

    /// The interval; `None` for a drain in which nothing happened.
    pub(crate) fn finish(mut self) -> Option<Interval> {
        let ns = self.end_ns.saturating_sub(self.start_ns);
        self.interval.duration_ns = ns;
        let usage = self.usage;
        self.interval.pool = (usage.is_pool && ns > 0).then(|| Pool {
            connections: usage.connections,
            in_use_mean: usage.in_use_ns as f64 / ns as f64,
            in_use_max: usage.in_use_max,
            waiting_mean: usage.waiting_ns as f64 / ns as f64,
            waiting_max: usage.waiting_max,
        });
        let empty = self.interval.types.is_empty() && self.interval.errors.is_empty();
        (!(self.interval.drain && empty)).then_some(self.interval)
    }
}
