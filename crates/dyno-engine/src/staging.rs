//! A stage on a load thread: its beginning, its intervals, its arrivals and ramps, and its end.

use dyno_results::spec::{End, StageOrder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cancel::CANCEL_WAIT_NS;
use crate::clock::{SECOND_NS, nanoseconds, now_ns, thread_cpu_ns};
use crate::error::SessionError;
use crate::message::{ReportKind, ThreadFinished};
use crate::priority;
use crate::record::Times;
use crate::recorder::Recorder;
use crate::schedule::{Schedule, seeded_gaps};
use crate::session::SessionState;
use crate::thread::LoadThread;

/// How long a server may take to cancel what is under way at a stage's end where the user waits for it.
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

/// A stage that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) plan: StageOrder,
    pub(crate) schedule: Option<Schedule>,
    /// Transactions that each client does, where a count ends the stage.
    pub(crate) quota: Option<u64>,
    /// Transactions that all threads together may still begin, where their number ends the stage.
    pub(crate) left: Option<Arc<AtomicU64>>,
    /// Transactions under way.
    pub(crate) in_flight: u32,
    /// Active clients that have neither reached their quota nor given up.
    pub(crate) unfinished: u32,
    pub(crate) finished: ThreadFinished,
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
}

impl Running {
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
        self.schedule.as_ref().is_some_and(|schedule| schedule.due_ns() < self.finished.load_end_ns)
    }

    pub(crate) fn next_time_ns(&self, recorder: &Recorder, has_idle: bool) -> Option<u64> {
        match self.phase {
            Phase::Pending => Some(self.start_ns),
            Phase::Drain { begin_until_ns, .. } if self.has_late_work() => Some(begin_until_ns),
            Phase::Drain { deadline_ns, .. } => Some(deadline_ns),
            Phase::Load => {
                let due = self.schedule.as_ref().filter(|_| has_idle).map(Schedule::due_ns);
                let times = [Some(recorder.current.end_ns), due, self.ramp_ns];
                times.into_iter().flatten().min()
            }
        }
    }

    /// The interval after one that ended at `from_ns` ends a second later, or with the stage.
    fn interval_end_ns(&self, from_ns: u64) -> u64 {
        (from_ns + SECOND_NS).min(self.end_ns.unwrap_or(u64::MAX))
    }

    fn ramp_step_ns(&self) -> Option<u64> {
        let change = u64::from(self.plan.clients.abs_diff(self.plan.clients_end));
        self.plan.duration_ns()?.checked_div(2 * change).map(|step| step.max(RAMP_STEP_MIN_NS))
    }
}

/// Takes one of the transactions that are left to be begun; false where there is none.
#[inline]
pub(crate) fn takes_one(left: Option<&AtomicU64>) -> bool {
    left.is_none_or(|left| {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
    })
}

impl LoadThread {
    pub(crate) fn begin_stage(&mut self, plan: StageOrder, start_ns: u64, left: Option<Arc<AtomicU64>>) {
        let duration_ns = plan.duration_ns();
        // A seed of its own for each thread and stage, apart from those of the clients.
        let seed =
            self.config.seed ^ (u64::from(plan.stage) << 32 | u64::from(self.number)) ^ 0x5ced_u64 << 48;
        let gaps = self.workload.gaps(self.number, &plan.arrivals).unwrap_or_else(|| seeded_gaps(seed));
        let schedule =
            Schedule::new(&plan.arrivals, start_ns, duration_ns, self.number, self.config.threads, gaps);
        let quota = match plan.end {
            End::Duration(_) | End::WithOthers => None,
            End::TransactionsPerClient(count) => Some(count),
        };
        self.told.clear();
        self.idle.clear();
        let mut stage = Running {
            plan,
            schedule,
            quota,
            left,
            in_flight: 0,
            unfinished: 0,
            finished: ThreadFinished::default(),
            phase: Phase::Pending,
            start_ns,
            end_ns: duration_ns.map(|duration_ns| start_ns.saturating_add(duration_ns)),
            ramp_ns: None,
            clients: 0,
            cpu_ns: 0,
            stopped: false,
            cancelling: false,
        };
        stage.ramp_ns = stage.ramp_step_ns().map(|step| start_ns + step);
        stage.finished.realtime = self.config.realtime && stage.schedule.is_some() && priority::raise();
        let times = match (&stage.schedule, &self.pool) {
            (Some(_), _) => Times::Open,
            (None, Some(_)) => Times::Pooled,
            (None, None) => Times::Closed,
        };
        self.recorder.begin(times, start_ns, stage.interval_end_ns(start_ns));
        self.stage = Some(stage);
    }

    pub(crate) fn is_open_loop(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.schedule.is_some())
    }

    pub(crate) fn load_goes_on(&self) -> bool {
        self.stage.as_ref().is_some_and(Running::load_goes_on)
    }

    /// Does what the stage's times ask for.
    pub(crate) fn stage_times_passed(&mut self, now: u64) {
        let Some(stage) = &self.stage else { return };
        match stage.phase {
            Phase::Pending if now >= stage.start_ns => {
                self.start_load();
                // Clients that cannot even begin have given up by now, and nothing else would wake this thread.
                self.end_if_nothing_is_left();
            }
            Phase::Pending => {}
            Phase::Load => {
                self.rotate_until(now);
                self.follow_ramp(now);
                self.dispatch_arrivals();
                self.end_if_nothing_is_left();
            }
            Phase::Drain { begin_until_ns, .. } => {
                self.dispatch_arrivals();
                if now >= begin_until_ns {
                    self.give_up_late_work();
                }
            }
        }
        self.finish_if_drained(now);
    }

    /// The moment that all threads share: every active client begins.
    fn start_load(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        stage.phase = Phase::Load;
        stage.cpu_ns = thread_cpu_ns();
        for session in &mut self.sessions {
            (session.ended, session.failures_in_a_row, session.active, session.queued) = (0, 0, false, false);
            if matches!(session.state, SessionState::Aborted) {
                session.state = SessionState::Idle;
            }
        }
        self.open_pool();
        self.activate(self.stage.as_ref().map_or(0, |stage| stage.plan.clients));
    }

    /// Makes this thread's share of `clients` clients active, and no other.
    fn activate(&mut self, clients: u32) {
        let share = self.share_of(clients);
        let share = if self.pool.is_some() { share } else { share.min(self.sessions.len() as u32) };
        let Some(stage) = &mut self.stage else { return };
        let before = std::mem::replace(&mut stage.clients, share);
        if self.pool.is_some() {
            return self.activate_members(before, share);
        }
        if share < before {
            for session in &mut self.sessions[share as usize..before as usize] {
                stage.unfinished -= u32::from(session.active);
                session.active = false;
            }
        }
        for index in before..share {
            let session = &mut self.sessions[index as usize];
            session.active = true;
            if let Some(stage) = &mut self.stage {
                stage.unfinished += 1;
            }
            if matches!(session.state, SessionState::Idle) && session.transaction.is_none() {
                self.next_transaction(index, now_ns());
            }
        }
    }

    fn follow_ramp(&mut self, now: u64) {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.load_goes_on()) else { return };
        if stage.ramp_ns.is_none_or(|at| now < at) {
            return;
        }
        stage.ramp_ns = stage.ramp_step_ns().map(|step| now + step);
        let clients = stage.plan.clients_at(now - stage.start_ns);
        self.activate(clients);
    }

    /// Gives due transactions of an open load to idle clients.
    fn dispatch_arrivals(&mut self) {
        loop {
            let now = now_ns();
            let Some(stage) = self.stage.as_mut().filter(|stage| stage.begins(now)) else { return };
            let Some(schedule) = &mut stage.schedule else { return };
            let due_ns = schedule.due_ns();
            if due_ns > now {
                return;
            }
            let Some(index) = self.idle.pop_front() else { return };
            let session = &mut self.sessions[index as usize];
            let free = session.queued && session.active && matches!(session.state, SessionState::Idle);
            session.queued = false;
            if free && !takes_one(stage.left.as_deref()) {
                self.has_done_all(index);
            } else if free {
                schedule.advance();
                self.begin(index, due_ns, now);
            }
        }
    }

    /// Hands over every interval that has ended; at the last one the drain begins.
    #[inline]
    pub(crate) fn rotate_until(&mut self, now: u64) {
        if now >= self.recorder.current.end_ns {
            self.rotate(now);
        }
    }

    #[cold]
    fn rotate(&mut self, now: u64) {
        while self.load_goes_on() {
            let end_ns = self.recorder.current.end_ns;
            if now < end_ns {
                break;
            }
            let cpu_ns = thread_cpu_ns();
            self.record_pool(end_ns);
            let Some(stage) = &mut self.stage else { return };
            let current = &mut self.recorder.current;
            current.cpu_ns = cpu_ns - std::mem::replace(&mut stage.cpu_ns, cpu_ns);
            current.clients = stage.clients;
            let start_ns = current.start_ns;
            let lost =
                self.sessions.iter().filter(|session| session.active).filter_map(|session| session.lost_ns);
            current.lost_ns += lost.map(|lost_ns| end_ns.saturating_sub(lost_ns.max(start_ns))).sum::<u64>();
            current.backlog = stage.schedule.as_ref().map_or(0, |schedule| schedule.backlog(end_ns));
            let ends = stage.end_ns == Some(end_ns);
            let next_end_ns = if ends { u64::MAX } else { stage.interval_end_ns(end_ns) };
            let record = self.recorder.rotate(next_end_ns);
            if ends {
                self.recorder.current.drain = true;
                let drain_ns = nanoseconds(self.config.drain_timeout);
                // Half of the drain is for beginning what is late, so that the other half is left to end it.
                let late_ns = if self.config.finish_late { drain_ns / 2 } else { 0 };
                stage.phase =
                    Phase::Drain { begin_until_ns: now + late_ns, deadline_ns: now.saturating_add(drain_ns) };
                stage.finished.load_end_ns = end_ns;
                stage.finished.complete = stage.finished.complete || stage.plan.duration_ns().is_some();
            }
            self.report(ReportKind::Record(record));
            self.stop_if_server_is_gone(now);
        }
    }

    /// Ends the load where a count was reached by all, or all have given up.
    fn end_if_nothing_is_left(&mut self) {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.load_goes_on()) else { return };
        let more_will_come = stage.ramp_ns.is_some();
        if stage.unfinished > 0 || stage.in_flight > 0 || more_will_come {
            return;
        }
        let aborted = stage.finished.clients_aborted > 0;
        if stage.quota.is_some() || stage.left.is_some() {
            stage.finished.complete = !aborted;
            self.end_load(now_ns());
        } else if aborted {
            self.stop_stage(now_ns());
        }
    }

    /// A thread that has had no connection for long does not wait for the plan's end.
    fn stop_if_server_is_gone(&mut self, now: u64) {
        if !self.load_goes_on() {
            return;
        }
        let timeout_ns = nanoseconds(self.config.reconnect_timeout);
        let gone = |session: &crate::session::Session| {
            session.lost_ns.is_some_and(|lost_ns| now.saturating_sub(lost_ns) >= timeout_ns)
        };
        let mut active = self.sessions.iter().filter(|session| session.active).peekable();
        if active.peek().is_some() && active.all(gone) {
            self.stop_stage(now);
        }
    }

    /// Ends the load of a stage that was to last until now.
    pub(crate) fn end_stage(&mut self, now: u64) {
        let Some(stage) = &mut self.stage else { return };
        stage.finished.complete = true;
        if self.load_goes_on() {
            self.end_load(now);
            self.finish_if_drained(now);
        } else {
            self.stop_stage(now);
        }
    }

    /// Ends the stage before its plan is fulfilled.
    pub(crate) fn stop_stage(&mut self, now: u64) {
        let Some(stage) = &mut self.stage else { return };
        match stage.phase {
            Phase::Pending => {
                stage.phase = Phase::Drain { begin_until_ns: now, deadline_ns: now };
                stage.finished.load_end_ns = stage.start_ns;
                self.recorder.current.drain = true;
            }
            Phase::Load => {
                self.end_load(now);
                if let Some(stage) = &mut self.stage {
                    stage.finished.complete = false;
                }
                self.hurry(now);
            }
            // Its plan is fulfilled, and only the last transactions are waited for.
            Phase::Drain { .. } => self.hurry(now),
        }
        self.finish_if_drained(now);
    }

    /// Whoever stops does not wait for what is late, and not long for what is under way.
    fn hurry(&mut self, now: u64) {
        let limit_ns = now.saturating_add(nanoseconds(self.config.stopped_drain_timeout));
        let Some(stage) = &mut self.stage else { return };
        stage.stopped = true;
        if let Phase::Drain { begin_until_ns, deadline_ns } = &mut stage.phase {
            *begin_until_ns = now;
            *deadline_ns = limit_ns.min(*deadline_ns);
        }
    }

    /// Lets the load end now: the current interval is cut.
    fn end_load(&mut self, now: u64) {
        let end_ns = now.max(self.recorder.current.start_ns);
        if let Some(stage) = &mut self.stage {
            stage.end_ns = Some(end_ns);
        }
        self.recorder.current.end_ns = end_ns;
        self.rotate(end_ns);
    }

    fn finish_if_drained(&mut self, now: u64) {
        let Some(stage) = &self.stage else { return };
        let Phase::Drain { deadline_ns, .. } = stage.phase else { return };
        let in_flight = stage.in_flight;
        // What is late is waited for only while there is somebody to begin it.
        let late = stage.begins(now) && stage.unfinished > 0;
        if (in_flight > 0 || late) && now < deadline_ns {
            return;
        }
        if in_flight > 0 && !self.is_being_cancelled(now) {
            self.abandon(now);
        } else if in_flight > 0 {
            return;
        }
        self.give_up_late_work();
        if let Some(mut stage) = self.stage.take() {
            if stage.finished.realtime {
                priority::lower();
            }
            if !self.recorder.current.is_empty() {
                self.recorder.current.end_ns = now;
                let record = self.recorder.rotate(u64::MAX);
                self.report(ReportKind::Record(record));
            }
            self.close_pool();
            for session in &mut self.sessions {
                session.active = false;
                if matches!(session.state, SessionState::Sleeping | SessionState::Yielding) {
                    session.timer_ns = None;
                    session.state = SessionState::Idle;
                }
            }
            stage.finished.drained_ns = now;
            self.report(ReportKind::StageFinished(stage.finished));
        }
    }

    /// At a drain's end what is under way is cancelled, once, and the server's answer waited for a little.
    fn is_being_cancelled(&mut self, now: u64) -> bool {
        let Some(stage) = &mut self.stage else { return false };
        if std::mem::replace(&mut stage.cancelling, true) || !self.cancel_sent_before(now, now) {
            return false;
        }
        if let Some(Running { phase: Phase::Drain { deadline_ns, .. }, stopped, .. }) = &mut self.stage {
            *deadline_ns = now + if *stopped { CANCEL_WAIT_STOPPED_NS } else { CANCEL_WAIT_NS };
        }
        true
    }

    /// Counts what was due and never begun; nothing is late afterwards.
    fn give_up_late_work(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        let load_end_ns = stage.finished.load_end_ns;
        let given_up = stage.schedule.as_mut().map_or(0, |schedule| schedule.skip_until(load_end_ns));
        stage.finished.not_begun += given_up;
    }

    /// Breaks the connections on which something is still under way. Where the user stops the stage, that is nobody's
    /// failure.
    fn abandon(&mut self, now: u64) {
        let stopped = self.stage.as_ref().is_some_and(|stage| stage.stopped);
        for index in 0..self.sessions.len() as u32 {
            if self.sessions[index as usize].transaction.is_none() {
                continue;
            }
            if stopped {
                self.drop_transaction(index);
            } else {
                self.lost(index, SessionError::NotDrained, now);
            }
        }
    }
}
