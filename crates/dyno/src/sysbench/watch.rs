//! What is told while a load runs: lines of figures at intervals, whole reports at checkpoints, and the word that ends a
//! run which does not end by itself. It reads the clients' counters and never stands in their way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use dyno_workload::sysbench::Snapshot;

use super::Context;
use super::report::{PeriodCounts, Queue, ReportForm};
use super::run::SysbenchRun;
use super::script::ScriptLoad;
use crate::front_end::Intervals;

/// How often it is looked whether a client has met an error that ends the run.
const LOOK: Duration = Duration::from_millis(50);
/// How long a line waits for what the engine knows of the queue.
const BACKLOG_WAIT: Duration = Duration::from_millis(200);
const BACKLOG_LOOK: Duration = Duration::from_millis(5);
/// Events of an open load that may wait; with more of them the run ends.
const BACKLOG_MAX: u64 = 100_000;

/// What the engine says of an open load's queue, second by second.
#[derive(Debug, Default)]
pub(super) struct EventBacklog {
    length: AtomicU64,
    /// Until when that is known, milliseconds from the start.
    until_ms: AtomicU64,
}

impl EventBacklog {
    pub(super) fn set(&self, length: u64, until_ms: u64) {
        self.length.store(length, Ordering::Relaxed);
        self.until_ms.store(until_ms, Ordering::Release);
    }

    pub(super) fn is_full(&self) -> bool {
        self.length.load(Ordering::Relaxed) > BACKLOG_MAX
    }

    /// As it was `at` after the start; if that does not come in time, as it was before.
    fn length_at(&self, at: Duration) -> u64 {
        let wanted_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        let asked = Instant::now();
        while self.until_ms.load(Ordering::Acquire) < wanted_ms && asked.elapsed() < BACKLOG_WAIT {
            std::thread::sleep(BACKLOG_LOOK);
        }
        self.length.load(Ordering::Relaxed)
    }
}

/// What is left to be reported at the end.
#[derive(Debug)]
pub(super) struct Watched {
    /// The counts at the last checkpoint, or at the start.
    pub(super) since: Snapshot,
    pub(super) since_at: Duration,
    /// The load was cut off with so many events under way.
    pub(super) unfinished: Option<u64>,
}

impl SysbenchRun<'_> {
    /// Watches until the other end of `end` hangs up. `base` are the counts at the start.
    pub(super) fn watch(&self, end: &Receiver<Duration>, start: Instant, base: Snapshot) -> Watched {
        let Context { settings, console, .. } = self.context;
        let mut watched = Watched { since: base.clone(), since_at: Duration::ZERO, unfinished: None };
        let mut interval = settings.report_interval.map(|every| Intervals::new(every, base));
        let mut checkpoints = settings.checkpoints.iter().copied().peekable();
        let mut forced_at = settings.forced_shutdown.zip(settings.time).map(|(wait, time)| time + wait);
        loop {
            let next = [interval.as_ref().map(|it| it.next), checkpoints.peek().copied(), forced_at];
            let until_next = next.into_iter().flatten().min().map(|at| at.saturating_sub(start.elapsed()));
            let ended = end.recv_timeout(until_next.map_or(LOOK, |wait| wait.min(LOOK)));
            let now = start.elapsed();
            if let Some(at) = checkpoints.next_if(|at| *at <= now) {
                self.checkpoint(at, now, &mut watched);
            }
            if let Some(interval) = interval.as_mut().filter(|interval| interval.next <= now) {
                self.line(interval, now);
            }
            if ended != Err(RecvTimeoutError::Timeout) {
                return watched;
            }
            if forced_at.is_some_and(|at| at <= now) {
                forced_at = None;
                watched.unfinished = Some(self.counters.read().running);
                console.fatal("The --max-time limit has expired, forcing shutdown...");
            }
            let script_failed = self.script.as_ref().is_some_and(|script| script.failure().is_some());
            if script_failed || self.fatal.first().is_some() {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn checkpoint(&self, at: Duration, now: Duration, watched: &mut Watched) {
        let counts = self.counters.read();
        self.counters.restart_extremes();
        let since = counts.since(&watched.since);
        let over = now.saturating_sub(watched.since_at);
        self.context.console.notice(&format!("[ {}s ] Checkpoint report:", at.as_secs()));
        let counted = PeriodCounts { counts: &since, over, unfinished: None };
        match &self.script {
            Some(script) => script.report(&counted, now, false),
            None => self.context.print_report(&counted, true),
        }
        (watched.since, watched.since_at) = (counts, now);
    }

    fn line(&self, interval: &mut Intervals<Snapshot>, now: Duration) {
        let Context { settings, console, .. } = self.context;
        let counts = self.counters.read();
        let since = counts.since(&interval.since);
        let over = now.saturating_sub(interval.since_at);
        let (at, threads) = (interval.next, u64::from(settings.threads.get()));
        let counted = PeriodCounts { counts: &since, over, unfinished: None };
        let open = settings.rate.is_some();
        let queue = open.then(|| Queue { length: self.backlog.length_at(at), concurrency: counts.running });
        let told_by_script =
            self.script.as_ref().is_some_and(|script| script.report_interval(&counted, now, queue));
        if !told_by_script {
            // A script has queries once it has asked for the driver.
            let sql = self.script.as_ref().is_none_or(ScriptLoad::uses_driver);
            let form = ReportForm::new(settings, sql);
            console.notice(&form.intermediate(at.as_secs(), &counted, threads));
            if let Some(queue) = queue {
                console.notice(&form.queue(at.as_secs(), queue));
            }
        }
        interval.passed(counts, now);
    }
}
