//! A stage on a load thread: when it begins and ends, its intervals, and what its clients do next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dyno_results::spec::{Arrivals, End, StageOrder};

use crate::cancel::CANCEL_WAIT_NS;
use crate::clock::{SECOND_NS, nanoseconds, thread_cpu_ns};
use crate::config::{EngineConfig, Share};
use crate::message::ThreadFinished;
use crate::priority::set_realtime;
use crate::record::{Record, Times};
use crate::recorder::Recorder;
use crate::schedule::Arriving;
use crate::session::{Session, VirtualClient, is_busy};

/// How long a server may take to cancel what is under way at a stage's end, and where the user waits for it.
const CANCEL_WAIT_STOPPED_NS: u64 = SECOND_NS / 2;
/// How often a ramp of clients is looked at, at most.
const RAMP_STEP_MIN_NS: u64 = 1_000_000;

/// Where a stage stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the start that all threads share.
    Pending,
    Load,
    /// The load is over. What was due before its end may still begin until the one time, and end until the other.
    Drain {
        begin_until_ns: u64,
        deadline_ns: u64,
    },
}

/// What a client does next that has nothing under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assignment {
    /// Begin a transaction that was due then.
    Begin(u64),
    /// Think until then.
    Think(u64),
    /// Nothing, or wait for an arrival.
    Rest,
    /// Nothing more in this stage.
    Finished,
}

/// A stage that runs.
pub(crate) struct Stage {
    plan: StageOrder,
    schedule: Option<Arriving>,
    /// Transactions that all threads together may still begin, where their number ends the stage.
    left: Option<Arc<AtomicU64>>,
    /// Clients of an open load with nothing to do, longest idle first.
    idle: VecDeque<u32>,
    /// Active clients that have neither done all nor given up.
    unfinished: u32,
    finished: ThreadFinished,
    phase: Phase,
    start_ns: u64,
    /// When the load ends, where time ends it.
    end_ns: Option<u64>,
    /// When a ramp of clients is looked at next.
    ramp_ns: Option<u64>,
    /// Clients of this thread that are active.
    clients: u32,
    /// CPU time of the thread at the last interval's end.
    cpu_ns: u64,
    /// The user has stopped it.
    stopped: bool,
    /// What was under way at the drain's end is being cancelled.
    cancelling: bool,
    /// Nothing that is late is begun any more, whoever else may have it.
    late_given_up: bool,
    /// Where something was under way when that was looked for last.
    busy_at: usize,
}

impl Stage {
    /// A stage for so many sessions that waits for its start. An open load may ask for real-time priority.
    pub(crate) fn new(
        plan: StageOrder,
        start_ns: u64,
        left: Option<Arc<AtomicU64>>,
        schedule: Option<Arriving>,
        sessions: usize,
        realtime: bool,
    ) -> Self {
        let realtime = realtime && schedule.is_some() && set_realtime(true);
        Self {
            plan,
            schedule,
            left,
            // Nothing is to grow while the load runs.
            idle: VecDeque::with_capacity(sessions),
            unfinished: 0,
            finished: ThreadFinished { complete: true, realtime, ..ThreadFinished::default() },
            phase: Phase::Pending,
            start_ns,
            end_ns: plan.duration_ns().map(|duration_ns| start_ns.saturating_add(duration_ns)),
            ramp_ns: ramp_step_ns(&plan).map(|step| start_ns + step),
            clients: 0,
            cpu_ns: 0,
            stopped: false,
            cancelling: false,
            late_given_up: false,
            busy_at: 0,
        }
    }

    /// Which times its transactions have, over a pool or not.
    pub(crate) fn times(&self, over_pool: bool) -> Times {
        match (&self.schedule, over_pool) {
            (Some(_), _) => Times::Open,
            (None, true) => Times::Pooled,
            (None, false) => Times::Closed,
        }
    }

    pub(crate) fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    #[inline]
    pub(crate) fn load_goes_on(&self) -> bool {
        self.phase == Phase::Load
    }

    /// Whether a transaction may begin: within the load, and one of an open load that was due within it.
    #[inline]
    pub(crate) fn begins(&self, now: u64) -> bool {
        match self.phase {
            Phase::Pending => false,
            Phase::Load => true,
            Phase::Drain { begin_until_ns, .. } => now < begin_until_ns && self.has_late_work(),
        }
    }

    /// Whether arrivals that were due before the load's end have not begun.
    fn has_late_work(&self) -> bool {
        !self.late_given_up
            && self.schedule.as_ref().is_some_and(|schedule| schedule.due_ns() < self.finished.load_end_ns)
    }

    /// When something of it is to be done, whose current interval ends at `interval_end_ns`.
    pub(crate) fn next_time_ns(&self, interval_end_ns: u64) -> Option<u64> {
        match self.phase {
            Phase::Pending => Some(self.start_ns),
            Phase::Drain { begin_until_ns, .. } if self.has_late_work() => Some(begin_until_ns),
            Phase::Drain { deadline_ns, .. } => Some(deadline_ns),
            Phase::Load => {
                let due = self.schedule.as_ref().filter(|_| !self.idle.is_empty()).map(Arriving::due_ns);
                [Some(interval_end_ns), due, self.ramp_ns].into_iter().flatten().min()
            }
        }
    }

    /// The interval after one that ended at `from_ns` ends a second later, or with the stage.
    pub(crate) fn interval_end_ns(&self, from_ns: u64) -> u64 {
        (from_ns + SECOND_NS).min(self.end_ns.unwrap_or(u64::MAX))
    }

    /// The pause of a client between two transactions; `None` for none.
    pub(crate) fn think_ns(&self) -> Option<u64> {
        match self.plan.arrivals {
            Arrivals::Closed { think_time } if !think_time.is_zero() => Some(nanoseconds(think_time)),
            _ => None,
        }
    }

    /// How many of the thread's clients were active, and are to be from now on, if that changes: at the start, and along a
    /// ramp.
    pub(crate) fn new_clients(&mut self, share: &Share, now: u64) -> Option<(u32, u32)> {
        let all = match self.phase {
            Phase::Pending if now >= self.start_ns => {
                self.phase = Phase::Load;
                self.cpu_ns = thread_cpu_ns();
                self.plan.clients
            }
            Phase::Load if self.ramp_ns.is_some_and(|at| now >= at) => {
                self.ramp_ns = ramp_step_ns(&self.plan).map(|step| now + step);
                self.plan.clients_at(now - self.start_ns)
            }
            _ => return None,
        };
        let clients = share.of(all);
        Some((std::mem::replace(&mut self.clients, clients), clients))
    }

    /// A client takes part from now on.
    pub(crate) fn enlist(&mut self, client: &mut VirtualClient) {
        client.active = true;
        self.unfinished += 1;
    }

    /// A client takes no further part. True if it did until now.
    pub(crate) fn retire(&mut self, client: &mut VirtualClient) -> bool {
        let was_active = std::mem::take(&mut client.active);
        self.unfinished -= u32::from(was_active);
        was_active
    }

    /// A client gives up.
    pub(crate) fn abort(&mut self, client: &mut VirtualClient) {
        self.finished.clients_aborted += u32::from(self.retire(client));
    }

    /// Retires a client that has done its count of transactions.
    pub(crate) fn has_done_all(&mut self, client: &mut VirtualClient) -> bool {
        matches!(self.plan.end, End::TransactionsPerClient(count) if client.ended >= count)
            && self.retire(client)
    }

    /// Takes one of the transactions that are left to be begun; else the client is retired.
    #[inline]
    pub(crate) fn takes_one(&mut self, client: &mut VirtualClient) -> bool {
        let takes = self.left.as_ref().is_none_or(|left| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
        });
        if !takes {
            self.retire(client);
        }
        takes
    }

    /// What a client does next that has nothing under way; `rested`: its think time is over.
    #[inline]
    pub(crate) fn assign(
        &mut self,
        index: u32,
        client: &mut VirtualClient,
        rested: bool,
        now: u64,
    ) -> Assignment {
        if !client.active || !self.begins(now) {
            return Assignment::Rest;
        }
        if self.has_done_all(client) {
            return Assignment::Finished;
        }
        let think_ns = self.think_ns();
        let due_ns = match (&mut self.schedule, think_ns) {
            (Some(schedule), _) => schedule.take(),
            (None, Some(think_ns)) if !rested => return Assignment::Think(now + think_ns),
            (None, _) => now,
        };
        // Meanwhile another thread may have taken what was due within the load.
        if due_ns > now || !(self.load_goes_on() || due_ns < self.finished.load_end_ns) {
            self.idle.push_back(index);
            return Assignment::Rest;
        }
        if !self.takes_one(client) {
            return Assignment::Finished;
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.advance();
        }
        Assignment::Begin(due_ns)
    }

    /// Skips for a client what was due longer ago than `late`; how many. They count to what it is to do.
    pub(crate) fn skip_late(&mut self, client: &mut VirtualClient, late: Duration, now: u64) -> u64 {
        let quota = match self.plan.end {
            End::TransactionsPerClient(count) => count,
            End::Duration(_) | End::WithOthers => u64::MAX,
        };
        let begins = client.active && self.begins(now);
        let Some(schedule) = self.schedule.as_mut().filter(|_| begins) else { return 0 };
        let too_late_ns = now.saturating_sub(nanoseconds(late));
        let mut skipped = 0;
        while client.ended < quota && schedule.take() < too_late_ns {
            client.logic.skipped(schedule.due_ns(), now);
            schedule.advance();
            client.ended += 1;
            skipped += 1;
        }
        skipped
    }

    /// The session of a client that waits for an arrival, if one is due.
    pub(crate) fn next_arrival(&mut self, now: u64) -> Option<u32> {
        let is_due = self.schedule.as_ref().is_some_and(|schedule| schedule.due_ns() <= now);
        if is_due && self.begins(now) { self.idle.pop_front() } else { None }
    }

    /// A session cannot serve an arrival.
    pub(crate) fn withdraw(&mut self, index: u32) {
        self.idle.retain(|idle| *idle != index);
        if let Some(schedule) = self.schedule.as_mut().filter(|_| self.idle.is_empty()) {
            schedule.give_back();
        }
    }

    /// Hands over the interval that has ended; at the last one the drain begins.
    pub(crate) fn close_interval(
        &mut self,
        recorder: &mut Recorder,
        sessions: &[Session],
        config: &EngineConfig,
        now: u64,
    ) {
        let cpu_ns = thread_cpu_ns();
        let record = &mut recorder.current;
        let (start_ns, end_ns) = (record.start_ns, record.end_ns);
        record.cpu_ns = cpu_ns - std::mem::replace(&mut self.cpu_ns, cpu_ns);
        record.clients = self.clients;
        let lost =
            sessions.iter().filter(|session| session.client.active).filter_map(|session| session.lost_ns);
        record.lost_ns += lost.map(|lost_ns| end_ns.saturating_sub(lost_ns.max(start_ns))).sum::<u64>();
        record.backlog = self.schedule.as_ref().map_or(0, |schedule| schedule.backlog(end_ns));
        if self.end_ns != Some(end_ns) {
            return recorder.rotate(self.interval_end_ns(end_ns));
        }
        recorder.rotate(u64::MAX);
        recorder.current.drain = true;
        let drain_ns = nanoseconds(config.drain_timeout);
        // Half of the drain is for beginning what is late, so that the other half is left to end it.
        let late_ns = if config.finish_late { drain_ns / 2 } else { 0 };
        self.phase =
            Phase::Drain { begin_until_ns: now + late_ns, deadline_ns: now.saturating_add(drain_ns) };
        self.finished.load_end_ns = end_ns;
    }

    /// Whether the load has nothing more to do: its count was reached by all, or all have given up, or where that ends it,
    /// nothing more is due.
    pub(crate) fn has_nothing_left(&mut self, sessions: &[Session], ends_when_nothing_is_due: bool) -> bool {
        let nothing_due = ends_when_nothing_is_due && self.has_nothing_due();
        let goes_on = self.unfinished > 0 && !nothing_due;
        if !self.load_goes_on() || goes_on || self.ramp_ns.is_some() || is_busy(sessions) {
            return false;
        }
        let counted = matches!(self.plan.end, End::TransactionsPerClient(_)) || self.left.is_some();
        let aborted = self.finished.clients_aborted > 0;
        self.finished.complete &= !aborted || self.unfinished > 0;
        counted || aborted || nothing_due
    }

    /// Whether the next arrival lies beyond the end.
    fn has_nothing_due(&self) -> bool {
        self.schedule.as_ref().zip(self.end_ns).is_some_and(|(schedule, end_ns)| schedule.due_ns() >= end_ns)
    }

    /// Lets the load end now: the current interval is cut, and if `stopped` the plan is not fulfilled.
    pub(crate) fn end_load(&mut self, record: &mut Record, stopped: bool, now: u64) {
        match self.phase {
            Phase::Pending => {
                self.phase = Phase::Drain { begin_until_ns: now, deadline_ns: now };
                self.finished.load_end_ns = self.start_ns;
                record.drain = true;
            }
            Phase::Load => {
                record.end_ns = now.max(record.start_ns);
                self.end_ns = Some(record.end_ns);
            }
            Phase::Drain { .. } => return,
        }
        self.finished.complete &= !stopped;
    }

    /// Whoever stops does not wait for what is late, and no longer than `drain` for what is under way.
    pub(crate) fn hurry(&mut self, drain: Duration, now: u64) {
        self.stopped = true;
        if let Phase::Drain { begin_until_ns, deadline_ns } = &mut self.phase {
            *begin_until_ns = now;
            *deadline_ns = now.saturating_add(nanoseconds(drain)).min(*deadline_ns);
        }
    }

    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether nothing more is waited for, be it because it took too long.
    pub(crate) fn is_over(&mut self, sessions: &[Session], now: u64) -> bool {
        let Phase::Drain { begin_until_ns, deadline_ns } = self.phase else { return false };
        if now >= begin_until_ns {
            self.give_up_late_work();
        }
        // What is late is waited for only while there is somebody to begin it.
        let late = self.unfinished > 0 && self.begins(now);
        now >= deadline_ns || !(late || self.finds_busy(sessions))
    }

    /// Whether anything is under way. In the drain nothing begins any more, so it is looked first where something was.
    fn finds_busy(&mut self, sessions: &[Session]) -> bool {
        let (before, from) = sessions.split_at(self.busy_at.min(sessions.len()));
        let found = from.iter().chain(before).find(|session| session.is_under_way());
        self.busy_at = found.map_or(0, |session| session.index as usize);
        found.is_some()
    }

    /// At the drain's end what is under way is cancelled once by `cancel`, and if there is any the server's answer waited
    /// for a little.
    pub(crate) fn waits_for_cancel(&mut self, cancel: impl FnOnce() -> bool, now: u64) -> bool {
        let waits = !std::mem::replace(&mut self.cancelling, true) && cancel();
        if let Phase::Drain { deadline_ns, .. } = &mut self.phase
            && waits
        {
            *deadline_ns = now + if self.stopped { CANCEL_WAIT_STOPPED_NS } else { CANCEL_WAIT_NS };
        }
        waits
    }

    /// Counts what was due and never begun; nothing is late afterwards.
    fn give_up_late_work(&mut self) {
        self.late_given_up = true;
        let load_end_ns = self.finished.load_end_ns;
        self.finished.not_begun += self.schedule.as_mut().map_or(0, |it| it.skip_until(load_end_ns));
    }

    /// How it ended, now.
    pub(crate) fn finish(mut self, now: u64) -> ThreadFinished {
        if self.finished.realtime {
            // Nobody is refused less.
            set_realtime(false);
        }
        self.give_up_late_work();
        ThreadFinished { drained_ns: now, ..self.finished }
    }
}

fn ramp_step_ns(plan: &StageOrder) -> Option<u64> {
    let change = u64::from(plan.clients.abs_diff(plan.clients_end));
    plan.duration_ns()?.checked_div(2 * change).map(|step| step.max(RAMP_STEP_MIN_NS))
}
