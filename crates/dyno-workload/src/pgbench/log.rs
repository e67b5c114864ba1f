//! The transaction log, `-l`: a file for each thread, a line for each transaction or, with `--aggregate-interval`, for
//! each interval. The lines are pgbench's to the letter, because people have parsers for them.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use dyno_engine::clock;
use dyno_wire::libpq_text;

use super::load::LoadOptions;
use super::tally::{Counts, FailureKind, LatencySpread};
use crate::script::random::Prng;

/// What is held back at most, as C's streams do: a process that is killed loses no more.
const BUFFER_BYTES: usize = 4096;

/// What is logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogOptions {
    /// What the files' names begin with, `pgbench_log`.
    pub prefix: PathBuf,
    /// Share of the transactions that is logged; `None`: all.
    pub sampling_rate: Option<f64>,
    /// Seconds that a line stands for; `None`: a line for each transaction.
    pub aggregate_s: Option<u32>,
}

/// How a logged transaction ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Logged {
    Done { latency_us: f64, lag_us: f64 },
    Skipped,
    Failed(FailureKind),
}

/// A transaction as the log has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogEntry {
    pub(super) client: u32,
    /// Transactions of this client so far, this one included.
    pub(super) transaction: u64,
    pub(super) script: usize,
    pub(super) tries: u32,
    pub(super) ended_ns: u64,
    pub(super) what: Logged,
}

/// A log that cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("could not open logfile \"{}\": {}", path.display(), libpq_text::system(source))]
    Open { path: PathBuf, source: std::io::Error },
    #[error("could not write logfile \"{}\": {}", path.display(), libpq_text::system(source))]
    Write { path: PathBuf, source: std::io::Error },
}

/// One thread's log.
#[derive(Debug)]
pub(super) struct TransactionLog {
    path: PathBuf,
    file: BufWriter<File>,
    /// They decide the columns.
    load: LoadOptions,
    sampling_rate: Option<f64>,
    sampling: Prng,
    aggregate: Option<Aggregate>,
    /// Microseconds since 1970 when the monotonic clock stood at zero.
    epoch_us: i64,
    /// The first failure to write; nothing is written behind it.
    failure: Option<std::io::Error>,
}

impl TransactionLog {
    /// Opens `prefix.PID` for the first thread and `prefix.PID.THREAD` for the others, if a log is wanted.
    pub(super) fn open(load: &LoadOptions, thread: u32, sampling: Prng) -> Result<Option<Self>, LogError> {
        let Some(options) = &load.log else { return Ok(None) };
        let process = std::process::id();
        let mut name = options.prefix.as_os_str().to_owned();
        name.push(if thread == 0 { format!(".{process}") } else { format!(".{process}.{thread}") });
        let path = PathBuf::from(name);
        let file = File::create(&path).map_err(|source| LogError::Open { path: path.clone(), source })?;
        Ok(Some(Self {
            path,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            load: load.clone(),
            sampling_rate: options.sampling_rate,
            sampling,
            aggregate: options
                .aggregate_s
                .map(|seconds| Aggregate { seconds: seconds.into(), ..Aggregate::default() }),
            epoch_us: epoch_us(),
            failure: None,
        }))
    }

    /// The load begins: aggregation counts from here.
    pub(super) fn start(&mut self, now_ns: u64) {
        let now_us = self.wall_us(now_ns);
        if let Some(aggregate) = &mut self.aggregate {
            aggregate.start_s = now_us.div_euclid(1_000_000);
        }
    }

    fn wall_us(&self, ns: u64) -> i64 {
        self.epoch_us + (ns / 1000).cast_signed()
    }

    pub(super) fn write(&mut self, entry: &LogEntry) {
        let ended_us = self.wall_us(entry.ended_ns);
        if self.aggregate.is_some() {
            self.write_intervals(ended_us);
            if let Some(aggregate) = &mut self.aggregate {
                aggregate.add(entry);
            }
            return;
        }
        if self.sampling_rate.is_some_and(|rate| self.sampling.double() > rate) {
            return;
        }
        let written = write_line(&mut self.file, &self.load, entry, ended_us);
        keep_first(&mut self.failure, written);
    }

    /// Writes the intervals that are over.
    fn write_intervals(&mut self, now_us: i64) {
        let Some(aggregate) = &mut self.aggregate else { return };
        while aggregate.start_s + aggregate.seconds <= now_us.div_euclid(1_000_000) {
            let written = aggregate.write_line(&mut self.file, &self.load);
            // Who follows the file sees each interval as it ends.
            keep_first(&mut self.failure, written.and_then(|()| self.file.flush()));
            aggregate.next();
        }
    }

    /// Writes what is still to be written. An interval that is not over is left out, as pgbench does.
    pub(super) fn finish(&mut self) -> Result<(), LogError> {
        self.write_intervals(self.wall_us(clock::now_ns()));
        let flushed = self.file.flush();
        keep_first(&mut self.failure, flushed);
        match self.failure.take() {
            Some(source) => Err(LogError::Write { path: self.path.clone(), source }),
            None => Ok(()),
        }
    }
}

fn keep_first(failure: &mut Option<std::io::Error>, written: std::io::Result<()>) {
    if let (None, Err(error)) = (&failure, written) {
        *failure = Some(error);
    }
}

/// What the wall clock showed when the monotonic clock stood at zero, microseconds since 1970.
fn epoch_us() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(wall.as_micros()).unwrap_or(i64::MAX) - (clock::now_ns() / 1000).cast_signed()
}

fn write_line(
    file: &mut BufWriter<File>,
    load: &LoadOptions,
    entry: &LogEntry,
    ended_us: i64,
) -> std::io::Result<()> {
    write!(file, "{} {} ", entry.client, entry.transaction)?;
    let lag_us = match entry.what {
        Logged::Done { latency_us, lag_us } => {
            write!(file, "{latency_us:.0}")?;
            lag_us
        }
        Logged::Skipped => {
            file.write_all(b"skipped")?;
            0.0
        }
        Logged::Failed(kind) => {
            let name = match kind {
                _ if !load.failures_detailed => "failed",
                FailureKind::Serialization => "serialization",
                FailureKind::Deadlock => "deadlock",
                FailureKind::Other => "other",
            };
            file.write_all(name.as_bytes())?;
            0.0
        }
    };
    let (seconds, us) = (ended_us.div_euclid(1_000_000), ended_us.rem_euclid(1_000_000));
    write!(file, " {} {seconds} {us}", entry.script)?;
    if load.rate.is_some() {
        write!(file, " {lag_us:.0}")?;
    }
    if load.tries_max != Some(1) {
        write!(file, " {}", entry.tries - 1)?;
    }
    file.write_all(b"\n")
}

/// What came within an interval.
#[derive(Debug, Default)]
struct Aggregate {
    seconds: i64,
    /// Whole seconds since 1970.
    start_s: i64,
    counts: Counts,
}

impl Aggregate {
    fn next(&mut self) {
        self.start_s += self.seconds;
        self.counts = Counts::default();
    }

    fn add(&mut self, entry: &LogEntry) {
        let counts = &mut self.counts;
        if entry.tries > 1 {
            counts.retried += 1;
            counts.retries += u64::from(entry.tries - 1);
        }
        match entry.what {
            Logged::Done { latency_us, lag_us } => {
                counts.done += 1;
                counts.latency.add(latency_us);
                counts.lag.add(lag_us);
            }
            Logged::Skipped => counts.skipped += 1,
            Logged::Failed(FailureKind::Serialization) => counts.serialization += 1,
            Logged::Failed(FailureKind::Deadlock) => counts.deadlock += 1,
            Logged::Failed(FailureKind::Other) => counts.other += 1,
        }
    }

    fn write_line(&self, file: &mut BufWriter<File>, load: &LoadOptions) -> std::io::Result<()> {
        let Counts { done, skipped, retried, retries, serialization, deadlock, other, .. } = self.counts;
        // Columns that the options do not ask for are there and zero.
        let lag = if load.rate.is_some() { self.counts.lag } else { LatencySpread::default() };
        write!(file, "{} {done}", self.start_s)?;
        for times in [self.counts.latency, lag] {
            let LatencySpread { sum_us, sum2_us2, min_us, max_us, .. } = times;
            write!(file, " {sum_us:.0} {sum2_us2:.0} {min_us:.0} {max_us:.0}")?;
        }
        write!(file, " {skipped} {retried} {retries} {serialization} {deadlock}")?;
        if load.continue_on_error {
            write!(file, " {other}")?;
        }
        file.write_all(b"\n")
    }
}
