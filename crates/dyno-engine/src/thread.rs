//! A load thread: one event loop over its share of the clients.
//!
//! It waits in one place, and there for everything: sockets, times and the engine's commands. What its clients do is in
//! [`Load`]; when a stage begins and ends is decided here.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use dyno_results::spec::StageOrder;
use dyno_wire::endpoint::SessionName;
use rustix::io::Errno;

use crate::cancel::StatementLimit;
use crate::clock::{nanoseconds, now_ns};
use crate::config::{EngineConfig, Share};
use crate::connector::Connector;
use crate::driver::Route;
use crate::eager::Eagerness;
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::load::Load;
use crate::message::{Report, StageStart, ThreadCommand};
use crate::poller::{Poller, READ_WAIT_MAX_NS};
use crate::pool::ConnectionPool;
use crate::record::{Outcome, Transaction};
use crate::recorder::Recorder;
use crate::schedule::{Arriving, Gaps, Schedule, seeded_gaps};
use crate::session::{Session, SessionState, Timers, are_lost};
use crate::stage::Stage;
use crate::statement::Statements;
use crate::transacting::{Next, Rules};
use crate::watched::Watched;
use crate::workload::Workload;

/// The token of the event that wakes a thread for a command; sessions have their index.
const WAKE: u64 = u64::MAX;
/// How long timers are looked after before sockets are again.
const TIMERS_TURN_NS: u64 = 1_000_000;
/// Replies read in one round at most without asking which are there, so that other sockets, times and commands get their
/// turn.
const READS_MAX: usize = 256;

/// What all threads of an engine are made of.
pub(crate) struct Shared {
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) route: Route,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) reports: Sender<(u32, Report)>,
    pub(crate) canceller: Option<Sender<SessionName>>,
}

/// A load thread.
pub(crate) struct LoadThread {
    shared: Arc<Shared>,
    wake: OwnedFd,
    commands: Receiver<ThreadCommand>,
    load: Load,
    limit: StatementLimit,
    eagerness: Eagerness,
    /// Its client's driver has answered when a request is sent: there is nothing to wait for.
    blocks: bool,
}

impl Shared {
    /// A random stream of the arrivals of a stage, for the share of one thread.
    pub(crate) fn gaps(&self, plan: &StageOrder, share: &Share) -> Gaps {
        // A seed of its own for each thread and stage, apart from those of the clients.
        let seed =
            self.config.seed ^ (u64::from(plan.stage) << 32 | u64::from(share.number())) ^ 0x5ced_u64 << 48;
        self.workload.gaps(share.thread, &plan.arrivals).unwrap_or_else(|| seeded_gaps(seed))
    }
}

impl LoadThread {
    /// Runs thread `number` until the engine hangs up.
    pub(crate) fn run(
        number: u32,
        shared: &Arc<Shared>,
        recorder: Recorder,
        watched: Arc<Watched>,
        (wake, commands): (OwnedFd, Receiver<ThreadCommand>),
    ) {
        // Sleeps are to end when they should: without this the kernel may add 50 µs. If it is refused, the
        // schedule lag will show it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let io = match Io::new(&shared.statements, watched) {
            Ok(io) => io,
            Err(error) => return recorder.report(Report::Broken(error)),
        };
        let (config, workload) = (&shared.config, &shared.workload);
        let load = Load {
            rules: Rules::new(config, &**workload),
            workload: Arc::clone(workload),
            io,
            recorder,
            sessions: Vec::new(),
            timers: Timers::default(),
            connector: Connector::new(&shared.route, Share::new(number, config), config),
            pool: config.connections.map(|_| ConnectionPool::default()),
            stage: None,
            just_sent: Vec::new(),
            read_ns: 0,
            interval_closed: false,
        };
        let limit = StatementLimit::new(config, shared.canceller.clone());
        let blocks = matches!(shared.route, Route::Driver(_));
        let eagerness = Eagerness::default();
        let mut thread = Self { shared: Arc::clone(shared), wake, commands, load, limit, eagerness, blocks };
        if let Err(error) = thread.event_loop() {
            thread.load.recorder.report(Report::Broken(error));
        }
        for session in thread.load.sessions.iter_mut().filter(|session| session.is_connected()) {
            session.hang_up_all(&mut thread.load.io.poller);
        }
    }

    fn event_loop(&mut self) -> Result<(), Errno> {
        self.load.io.poller.begin(&self.wake, WAKE)?;
        let mut goes_on = true;
        // The clock is read for each answer. What else is to be known of the time in a round can do with that reading.
        let mut now = now_ns();
        while goes_on {
            let read_before_ns = self.load.read_ns;
            if self.wait_in_read(now) {
                now = self.time_after(read_before_ns);
                self.times_passed(now);
                continue;
            }
            let timeout_ns = match self.blocks && !self.load.just_sent.is_empty() {
                false => self.next_time_ns().map(|at| at.saturating_sub(now_ns())),
                // A driver's, which the last round had no time for.
                true => Some(0),
            };
            self.load.io.poller.wait(timeout_ns)?;
            self.load.note_submission();
            while let Some(ready) = self.load.io.poller.next_ready() {
                if ready.token == WAKE {
                    goes_on = self.take_commands()?;
                } else {
                    self.load.session_ready(ready);
                }
            }
            self.read_eagerly();
            now = self.time_after(read_before_ns);
            self.times_passed(now);
        }
        Ok(())
    }

    /// The time after a round: that of its last answer, or where it brought none that of the clock. An open load has arrivals that are
    /// due after an answer, too.
    fn time_after(&self, read_before_ns: u64) -> u64 {
        match self.load.read_ns {
            read_ns if read_ns > read_before_ns && !self.is_open_loop() => read_ns,
            _ => now_ns(),
        }
    }

    /// Whether a stage runs whose schedule says when transactions begin.
    fn is_open_loop(&self) -> bool {
        self.load.stage.as_ref().is_some_and(Stage::is_open_loop)
    }

    /// The next time at which something is to be done without any socket being ready.
    fn next_time_ns(&mut self) -> Option<u64> {
        let timer = self.load.timers.next(&self.load.sessions).map(|(at_ns, _)| at_ns);
        let Some(stage) = &self.load.stage else { return timer };
        let thought =
            self.load.pool.as_ref().filter(|_| stage.load_goes_on()).and_then(ConnectionPool::next_time_ns);
        let stage = stage.next_time_ns(self.load.recorder.current.end_ns);
        [timer, stage, thought, self.limit.next_time_ns()].into_iter().flatten().min()
    }

    /// Does what was due until now. Clients whose transactions need no server set their timers anew as they fire:
    /// after a while the sockets and the engine get their turn all the same.
    fn times_passed(&mut self, mut now: u64) {
        let turn_ends_ns = now + TIMERS_TURN_NS;
        while let Some((at_ns, index)) = self.load.timers.next(&self.load.sessions) {
            // One that is set again while it fires is due at the same time: only the clock ends that.
            if at_ns >= now {
                now = now_ns();
            }
            if at_ns > now || now > turn_ends_ns {
                break;
            }
            self.load.sessions[index as usize].timer_ns = None;
            self.load.timer_fired(index, now);
        }
        if self.load.stage.is_some() {
            self.stage_times_passed(now);
        }
    }

    /// Waits for an answer in the read itself where that is all that can come: on the only connection, while no time is near
    /// and the engine has said nothing. False if the thread has to wait for more, or no answer came for a while, in which the
    /// engine may have said something.
    fn wait_in_read(&mut self, now: u64) -> bool {
        if self.load.io.poller.sends_together() {
            return false;
        }
        let [session] = self.load.sessions.as_mut_slice() else { return false };
        let waits = matches!(session.state, SessionState::Waiting | SessionState::Recovering(_))
            && session.connection.wire().is_ok_and(|wire| wire.has_sent_all())
            && !self.load.io.watched.has_command()
            && self.next_time_ns().is_none_or(|at_ns| at_ns > now + READ_WAIT_MAX_NS);
        if !waits {
            return false;
        }
        self.load.just_sent.clear();
        self.load.io.poller.let_next_read_wait();
        self.load.reply_ready(0) != Received::Nothing
    }

    /// Reads the sessions that were just sent on, in that order, until one has nothing yet.
    fn read_eagerly(&mut self) {
        // What leaves with the next wait has no answer yet.
        if self.load.io.poller.sends_together() {
            return;
        }
        // An open load waits for times as much as for sockets: its schedule comes first.
        let closed = self.load.stage.is_some() && !self.is_open_loop();
        let reads = self.blocks || closed && self.eagerness.is_worth_a_try();
        let mut at = 0;
        if reads && !self.load.just_sent.is_empty() {
            let until_ns = self.next_time_ns().unwrap_or(u64::MAX);
            while at < READS_MAX
                && at < self.load.just_sent.len()
                && (self.load.read_ns < until_ns || self.blocks && at == 0)
            {
                // What the engine said while the driver blocked comes before the answer: the load may have ended.
                if self.blocks && at > 0 && self.load.io.watched.has_command() {
                    break;
                }
                let index = self.load.just_sent[at];
                at += 1;
                let state = &self.load.sessions[index as usize].state;
                if matches!(state, SessionState::Waiting | SessionState::Recovering(_)) {
                    let received = self.load.reply_ready(index);
                    self.eagerness.tried(received != Received::Nothing);
                    if received == Received::Nothing {
                        break;
                    }
                }
            }
        }
        // What a driver has answered shows itself nowhere else.
        let rest = if self.blocks { at } else { self.load.just_sent.len() };
        self.load.just_sent.drain(..rest);
    }

    /// False when the engine has hung up.
    fn take_commands(&mut self) -> Result<bool, Errno> {
        let mut count = [0; 8];
        // Only to make it unready again; what it counts is of no interest.
        let _ = rustix::io::read(&self.wake, &mut count);
        loop {
            let command = match self.commands.try_recv() {
                Ok(command) => command,
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            };
            self.load.io.watched.take_command();
            match command {
                ThreadCommand::Connect { clients, ring } => {
                    if let Some(ring) = ring {
                        let mut poller = Poller::Uring(ring);
                        poller.begin(&self.wake, WAKE)?;
                        self.load.move_to(poller);
                    }
                    self.load.connect_clients(clients);
                }
                ThreadCommand::Run(start) => self.begin_stage(start),
                ThreadCommand::End { stopped, at_ns } => self.end_stage(stopped, at_ns),
            }
        }
    }

    fn begin_stage(&mut self, start: StageStart) {
        let StageStart { plan, start_ns, left, arrivals } = start;
        let (config, share) = (&self.load.rules.config, self.load.connector.share);
        let schedule = match arrivals {
            Some(queue) => Some(Arriving::Shared { queue, taken: None, counts_backlog: share.thread == 0 }),
            None => {
                let gaps = self.shared.gaps(&plan, &share);
                Schedule::new(&plan, start_ns, &share, gaps).map(Arriving::Own)
            }
        };
        let stage = Stage::new(plan, start_ns, left, schedule, self.load.sessions.len(), config.realtime);
        let times = stage.times(self.load.pool.is_some());
        self.load.recorder.begin(times, start_ns, stage.interval_end_ns(start_ns));
        self.load.stage = Some(stage);
        self.load.sessions.iter_mut().for_each(|session| session.client.reset());
        if let Some(pool) = &mut self.load.pool {
            pool.open(&mut self.load.sessions, start_ns);
        }
    }

    /// Does what the times of the pool, of the statements and of the stage ask for.
    fn stage_times_passed(&mut self, now: u64) {
        self.load.rotate_until(now);
        let goes_on = self.load.load_goes_on();
        if let Some(pool) = self.load.pool.as_mut().filter(|_| goes_on) {
            pool.wake(&mut self.load.recorder.current, now);
            self.load.follow(None, now);
        }
        // A thread that has had no connection for long does not wait for the plan's end.
        let since_ns = now.saturating_sub(nanoseconds(self.load.rules.config.reconnect_timeout));
        let closed = std::mem::take(&mut self.load.interval_closed);
        if closed && self.load.load_goes_on() && are_lost(&self.load.sessions, since_ns) {
            return self.end_stage(true, now);
        }
        for index in self.limit.cancel_late(&mut self.load.sessions, now) {
            self.load.follow(Some((index, Next::lost(SessionError::NotStopped))), now);
        }
        let Some(stage) = &mut self.load.stage else { return };
        if let Some((before, clients)) = stage.new_clients(&self.load.connector.share, now) {
            self.activate(before, clients);
        }
        if self.is_open_loop() {
            self.dispatch_arrivals();
        }
        // Clients that cannot even begin have given up by now, and nothing else would wake this thread. What the engine says comes
        // first: a driver that it has stopped has ended its transaction, but the plan is not fulfilled.
        let leaves = self.load.rules.config.hang_up_when_done;
        if !self.load.io.watched.has_command()
            && self
                .load
                .stage
                .as_mut()
                .is_some_and(|stage| stage.has_nothing_left(&self.load.sessions, leaves))
        {
            self.end_load(false, now_ns());
        }
        self.finish_if_over(now);
    }

    /// Makes the first `clients` of this thread's clients active, and no other.
    fn activate(&mut self, before: u32, clients: u32) {
        let Some(stage) = &mut self.load.stage else { return };
        if let Some(pool) = &mut self.load.pool {
            let (share, record, now) =
                (&self.load.connector.share, &mut self.load.recorder.current, now_ns());
            pool.activate((before, clients), share, stage, &mut self.load.sessions, record, now);
            return self.load.follow(None, now);
        }
        if before == 0 {
            // Those that were given up take part again, also one whose connection broke just before the start.
            for session in &mut self.load.sessions {
                if matches!(session.state, SessionState::Aborted) {
                    session.state = SessionState::Idle;
                }
            }
        }
        for index in clients..before {
            stage.retire(&mut self.load.sessions[index as usize].client);
            stage.withdraw(index);
        }
        for index in before..clients {
            let session = &mut self.load.sessions[index as usize];
            if let Some(stage) = &mut self.load.stage {
                stage.enlist(&mut session.client);
            }
            if matches!(session.state, SessionState::Idle) && session.transaction.is_none() {
                self.load.go_on(index, false, now_ns());
            }
        }
    }

    /// Gives due transactions of an open load to idle clients.
    fn dispatch_arrivals(&mut self) {
        loop {
            let now = now_ns();
            let Some(index) = self.load.stage.as_mut().and_then(|stage| stage.next_arrival(now)) else {
                return;
            };
            self.load.go_on(index, false, now);
        }
    }

    /// Ends the load, or what is left of the stage, at a time that a thread hears late whose driver blocks; `stopped` before its
    /// plan is fulfilled.
    fn end_stage(&mut self, stopped: bool, at_ns: u64) {
        let Some(stage) = &mut self.load.stage else { return };
        let hurries = stopped || !stage.load_goes_on();
        let now = now_ns();
        self.end_load(stopped, if self.blocks { at_ns } else { now });
        let drain = self.load.rules.config.stopped_drain_timeout;
        if let Some(stage) = self.load.stage.as_mut().filter(|_| hurries) {
            stage.hurry(drain, now);
        }
        self.finish_if_over(now);
    }

    fn end_load(&mut self, stopped: bool, now: u64) {
        if let Some(stage) = &mut self.load.stage {
            stage.end_load(&mut self.load.recorder.current, stopped, now);
            self.load.rotate(self.load.recorder.current.end_ns);
        }
    }

    fn finish_if_over(&mut self, now: u64) {
        let Some(stage) = &mut self.load.stage else { return };
        if !stage.is_over(&self.load.sessions, now) {
            return;
        }
        if self.load.sessions.iter().any(Session::is_under_way) {
            // What the engine has asked a driver to stop has ended, and is counted before the stage is over.
            let answered = self.blocks && !self.load.just_sent.is_empty();
            let cancel = || answered || self.limit.cancel_sent_before(&mut self.load.sessions, now, now);
            if stage.waits_for_cancel(cancel, now) {
                return;
            }
            let stopped = stage.was_stopped();
            self.abandon(stopped, now);
        }
        self.drop_pausing(now);
        let Some(stage) = self.load.stage.take() else { return };
        if !self.load.recorder.current.is_empty() {
            self.load.recorder.current.end_ns = now;
            self.load.recorder.rotate(u64::MAX);
        }
        if let Some(pool) = &mut self.load.pool {
            pool.close(&mut self.load.sessions);
        }
        for session in &mut self.load.sessions {
            session.client.active = false;
            if matches!(session.state, SessionState::Sleeping | SessionState::Yielding) {
                session.timer_ns = None;
                session.state = SessionState::Idle;
            }
        }
        self.load.recorder.report(Report::StageFinished(stage.finish(now)));
    }

    /// Of a transaction before which its client pauses nothing was done.
    fn drop_pausing(&mut self, now: u64) {
        for index in 0..self.load.sessions.len() as u32 {
            let session = &mut self.load.sessions[index as usize];
            if matches!(session.state, SessionState::Pausing) {
                session.timer_ns = None;
                session.state = SessionState::Idle;
                self.load.turn(index, now).end(|_| Outcome::Dropped);
            }
        }
    }

    /// Breaks the connections on which something is still under way. Where the user stops the stage, that is nobody's
    /// failure: it counts nowhere, unless it may have been done.
    fn abandon(&mut self, stopped: bool, now: u64) {
        for index in 0..self.load.sessions.len() as u32 {
            let session = &mut self.load.sessions[index as usize];
            if !session.is_under_way() {
                continue;
            }
            if stopped {
                self.load.connector.forget(session);
                session.close(&mut self.load.io.poller);
                let unknown =
                    |it: &Transaction| if it.commit_in_flight { Outcome::Unknown } else { Outcome::Dropped };
                self.load.turn(index, now).end(unknown);
            } else {
                self.load.follow(Some((index, Next::lost(SessionError::NotDrained))), now);
            }
        }
    }
}
