//! What the clients count, as pgbench counts it: one [`Tally`] for each thread and script, written by that thread alone
//! and read by whoever shows progress or the report.

use crate::single_writer::Count;

/// The failure of a transaction, as pgbench tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    Serialization,
    Deadlock,
    /// Under `--continue-on-error`.
    Other,
}

/// A [`Count`] for numbers with a fraction.
#[derive(Debug, Default)]
struct Sum(Count);

impl Sum {
    #[inline]
    fn set(&self, value: f64) {
        self.0.set(value.to_bits());
    }

    #[inline]
    fn get(&self) -> f64 {
        f64::from_bits(self.0.get())
    }

    #[inline]
    fn add(&self, value: f64) {
        self.set(self.get() + value);
    }
}

/// Count, sum, sum of squares and extremes of some times.
#[derive(Debug, Default)]
struct Times {
    count: Count,
    sum_us: Sum,
    sum2_us2: Sum,
    min_us: Sum,
    max_us: Sum,
}

impl Times {
    #[inline]
    fn add(&self, us: f64) {
        let first = self.count.get() == 0;
        if first || us < self.min_us.get() {
            self.min_us.set(us);
        }
        if first || us > self.max_us.get() {
            self.max_us.set(us);
        }
        self.count.add(1);
        self.sum_us.add(us);
        self.sum2_us2.add(us * us);
    }

    fn read(&self) -> LatencySpread {
        LatencySpread {
            count: self.count.get(),
            sum_us: self.sum_us.get(),
            sum2_us2: self.sum2_us2.get(),
            min_us: self.min_us.get(),
            max_us: self.max_us.get(),
        }
    }
}

/// What one thread counts of one script. It shares no cache line with what other threads write.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Tally {
    done: Count,
    skipped: Count,
    retried: Count,
    retries: Count,
    serialization: Count,
    deadlock: Count,
    other: Count,
    late: Count,
    latency: Times,
    lag: Times,
    connections: Times,
    commands: Box<[CommandTally]>,
}

/// What one thread counts of one command: `-r`.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CommandTally {
    count: Count,
    sum_us: Sum,
    failures: Count,
    retries: Count,
}

impl Tally {
    pub(super) fn new(commands: usize) -> Self {
        let commands = (0..commands).map(|_| CommandTally::default()).collect();
        Self { commands, ..Self::default() }
    }

    /// A transaction that ended well. `lag_us` under `-R`; `late` where it took longer than `-L` allows.
    #[inline]
    pub(super) fn done(&self, latency_us: f64, lag_us: Option<f64>, late: bool, tries: u32) {
        self.done.add(1);
        self.tried(tries);
        self.latency.add(latency_us);
        if let Some(lag_us) = lag_us {
            self.lag.add(lag_us);
        }
        self.late.add(u64::from(late));
    }

    /// The same where nobody asks for the times.
    #[inline]
    pub(super) fn done_untimed(&self, tries: u32) {
        self.done.add(1);
        self.tried(tries);
    }

    #[inline]
    fn tried(&self, tries: u32) {
        if tries > 1 {
            self.retried.add(1);
            self.retries.add(u64::from(tries - 1));
        }
    }

    pub(super) fn failed(&self, kind: FailureKind, tries: u32) {
        self.tried(tries);
        match kind {
            FailureKind::Serialization => self.serialization.add(1),
            FailureKind::Deadlock => self.deadlock.add(1),
            FailureKind::Other => self.other.add(1),
        }
    }

    pub(super) fn skipped(&self) {
        self.skipped.add(1);
    }

    pub(super) fn connected(&self, took_us: f64) {
        self.connections.add(took_us);
    }

    pub(super) fn command_ran(&self, command: usize, took_us: f64) {
        if let Some(command) = self.commands.get(command) {
            command.count.add(1);
            command.sum_us.add(took_us);
        }
    }

    pub(super) fn command_failed(&self, command: usize, retried: bool) {
        if let Some(command) = self.commands.get(command) {
            if retried { command.retries.add(1) } else { command.failures.add(1) }
        }
    }

    pub(super) fn read(&self) -> Counts {
        let command = |command: &CommandTally| CommandCounts {
            count: command.count.get(),
            sum_us: command.sum_us.get(),
            failures: command.failures.get(),
            retries: command.retries.get(),
        };
        Counts {
            done: self.done.get(),
            skipped: self.skipped.get(),
            retried: self.retried.get(),
            retries: self.retries.get(),
            serialization: self.serialization.get(),
            deadlock: self.deadlock.get(),
            other: self.other.get(),
            late: self.late.get(),
            latency: self.latency.read(),
            lag: self.lag.read(),
            connections: self.connections.read(),
            commands: self.commands.iter().map(command).collect(),
        }
    }
}

/// Count, sum, sum of squares and extremes of some times, in microseconds; all zero where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LatencySpread {
    pub count: u64,
    pub sum_us: f64,
    pub sum2_us2: f64,
    pub min_us: f64,
    pub max_us: f64,
}

impl LatencySpread {
    pub fn add(&mut self, us: f64) {
        let first = self.count == 0;
        self.min_us = if first { us } else { self.min_us.min(us) };
        self.max_us = if first { us } else { self.max_us.max(us) };
        self.count += 1;
        self.sum_us += us;
        self.sum2_us2 += us * us;
    }

    /// Mean and standard deviation in milliseconds; `None` where there are no times.
    pub fn mean_and_deviation_ms(&self) -> Option<(f64, f64)> {
        let count = self.count as f64;
        let mean_us = self.sum_us / count;
        // Rounding may bring equal times a hair below zero.
        let variance_us2 = (self.sum2_us2 / count - mean_us * mean_us).max(0.0);
        (self.count > 0).then(|| (mean_us / 1e3, variance_us2.sqrt() / 1e3))
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let first = self.count == 0;
        self.min_us = if first { other.min_us } else { self.min_us.min(other.min_us) };
        self.max_us = if first { other.max_us } else { self.max_us.max(other.max_us) };
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.sum2_us2 += other.sum2_us2;
    }

    /// What came since `earlier`; the extremes are those of all.
    fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count - earlier.count,
            sum_us: self.sum_us - earlier.sum_us,
            sum2_us2: self.sum2_us2 - earlier.sum2_us2,
            ..*self
        }
    }
}

/// What was counted, of one script or of all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Transactions that ended well.
    pub done: u64,
    /// Transactions that were too late to be begun.
    pub skipped: u64,
    /// Transactions that took more than one try, and the further tries they took.
    pub retried: u64,
    pub retries: u64,
    pub serialization: u64,
    pub deadlock: u64,
    pub other: u64,
    /// Transactions done that took longer than `-L` allows.
    pub late: u64,
    pub latency: LatencySpread,
    pub lag: LatencySpread,
    /// Connections opened for a transaction each (`-C`).
    pub connections: LatencySpread,
    /// By the command's index in its script; empty where scripts are mixed.
    pub commands: Vec<CommandCounts>,
}

/// What was counted of one command.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CommandCounts {
    pub count: u64,
    pub sum_us: f64,
    pub failures: u64,
    pub retries: u64,
}

impl Counts {
    /// Transactions that failed for good.
    pub fn failures(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }

    /// Transactions that ended in any way.
    pub fn total(&self) -> u64 {
        self.done + self.skipped + self.failures()
    }

    /// Adds what another thread counted of the same script.
    pub fn merge(&mut self, other: &Self) {
        self.merge_script(other);
        self.commands.resize(self.commands.len().max(other.commands.len()), CommandCounts::default());
        for (sum, part) in self.commands.iter_mut().zip(&other.commands) {
            sum.count += part.count;
            sum.sum_us += part.sum_us;
            sum.failures += part.failures;
            sum.retries += part.retries;
        }
    }

    /// Adds what was counted of another script: its commands are left out.
    pub fn merge_script(&mut self, other: &Self) {
        self.change(other, |sum, part| sum + part, LatencySpread::merge);
    }

    /// What was counted since `earlier`, an earlier reading of the same; without commands.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = Self { commands: Vec::new(), ..self.clone() };
        since.change(earlier, |now, then| now - then, |now, then| *now = now.since(then));
        since
    }

    fn change(
        &mut self,
        other: &Self,
        count: fn(u64, u64) -> u64,
        times: fn(&mut LatencySpread, &LatencySpread),
    ) {
        self.done = count(self.done, other.done);
        self.skipped = count(self.skipped, other.skipped);
        self.retried = count(self.retried, other.retried);
        self.retries = count(self.retries, other.retries);
        self.serialization = count(self.serialization, other.serialization);
        self.deadlock = count(self.deadlock, other.deadlock);
        self.other = count(self.other, other.other);
        self.late = count(self.late, other.late);
        times(&mut self.latency, &other.latency);
        times(&mut self.lag, &other.lag);
        times(&mut self.connections, &other.connections);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_read_and_merged() {
        let (one, other) = (Tally::new(2), Tally::new(2));
        one.done(100.0, Some(5.0), false, 1);
        one.done(300.0, Some(7.0), true, 3);
        one.command_ran(1, 40.0);
        other.failed(FailureKind::Deadlock, 2);
        other.command_failed(1, true);
        other.skipped();
        let mut sum = one.read();
        sum.merge(&other.read());
        assert_eq!((sum.done, sum.failures(), sum.skipped, sum.total()), (2, 1, 1, 4));
        assert_eq!((sum.retried, sum.retries, sum.late), (2, 3, 1));
        assert_eq!(sum.latency.mean_and_deviation_ms(), Some((0.2, 0.1)));
        assert_eq!((sum.latency.min_us, sum.latency.max_us, sum.lag.max_us), (100.0, 300.0, 7.0));
        assert_eq!((sum.commands[1].count, sum.commands[1].retries), (1, 1));
        assert_eq!(Counts::default().latency.mean_and_deviation_ms(), None);
        assert_eq!(sum.since(&one.read()).deadlock, 1);
    }
}
