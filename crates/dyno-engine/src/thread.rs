//! A load thread: one event loop over its share of the clients.
//!
//! It waits in one place, and there for everything: sockets, times and the engine's commands. How connections
//! are opened stands in `connecting`, what a transaction passes through in `transacting`, what a stage asks in
//! `staging`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use dyno_wire::endpoint::{Endpoint, SessionName};
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::config::EngineConfig;
use crate::connecting::connect_timeout;
use crate::eager::Eagerness;
use crate::error::SessionError;
use crate::message::{ReportKind, ThreadCommand, ThreadReport};
use crate::poller::{Interest, Poller, Ready};
use crate::pool::ConnectionPool;
use crate::record::ErrorCode;
use crate::recorder::Recorder;
use crate::request::Outbox;
use crate::session::{Session, SessionState};
use crate::staging::Running;
use crate::statement::Statements;
use crate::workload::Workload;

/// The token of the event that wakes a thread for a command; sessions have their index.
const WAKE: u64 = u64::MAX;
/// Bytes read from a socket at once. Replies of more are read in parts.
const INBOX_BYTES: usize = 64 * 1024;
/// How long timers are looked after before sockets are again.
const TIMERS_TURN_NS: u64 = 1_000_000;

/// What a thread is made of when it starts.
pub(crate) struct ThreadSetup {
    pub(crate) number: u32,
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) endpoint: Endpoint,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) wake: OwnedFd,
    pub(crate) commands: Receiver<ThreadCommand>,
    pub(crate) reports: Sender<ThreadReport>,
    pub(crate) recorder: Recorder,
    pub(crate) canceller: Option<Sender<SessionName>>,
}

/// Errors that the engine was already told of.
#[derive(Debug, Default)]
pub(crate) struct ReportedErrors {
    codes: Vec<ErrorCode>,
    texts: Vec<String>,
}

impl ReportedErrors {
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.texts.clear();
    }

    /// True if it is new.
    pub(crate) fn insert_code(&mut self, code: ErrorCode) -> bool {
        let new = !self.codes.contains(&code);
        if new {
            self.codes.push(code);
        }
        new
    }

    /// True if it is new.
    pub(crate) fn insert_text(&mut self, text: String) -> bool {
        let new = !self.texts.contains(&text);
        if new {
            self.texts.push(text);
        }
        new
    }
}

/// A running load thread.
pub(crate) struct LoadThread {
    pub(crate) number: u32,
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) endpoint: Endpoint,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) statements: Arc<Statements>,
    /// See [`Workload::timed_from_begin`].
    pub(crate) timed_from_begin: bool,
    pub(crate) poller: Poller,
    wake: OwnedFd,
    commands: Receiver<ThreadCommand>,
    reports: Sender<ThreadReport>,
    pub(crate) recorder: Recorder,
    pub(crate) canceller: Option<Sender<SessionName>>,
    /// When it is looked next for statements that outlast the limit.
    pub(crate) limit_look_ns: u64,
    pub(crate) sessions: Vec<Session>,
    /// Sessions that wait for their turn to connect.
    pub(crate) to_open: VecDeque<u32>,
    /// Sessions between socket and prepared.
    pub(crate) opening: u32,
    /// This thread's share of the clients of a `Connect` command that is not yet fulfilled.
    pub(crate) connecting: Option<u32>,
    /// The clients, where they share the connections.
    pub(crate) pool: Option<ConnectionPool>,
    /// Clients of an open load with nothing to do, longest idle first.
    pub(crate) idle: VecDeque<u32>,
    pub(crate) timers: BinaryHeap<Reverse<(u64, u32)>>,
    pub(crate) stage: Option<Running>,
    /// What was already reported in this stage.
    pub(crate) told: ReportedErrors,
    /// Sessions that a request was sent on since the last wait, in that order.
    pub(crate) just_sent: Vec<u32>,
    pub(crate) eagerness: Eagerness,
    /// When an answer was last read.
    pub(crate) read_ns: u64,
    pub(crate) inbox: Box<[u8]>,
    pub(crate) outbox: Outbox,
}

impl LoadThread {
    /// Runs until the engine hangs up.
    pub(crate) fn run(setup: ThreadSetup) {
        // Sleeps are to end when they should: without this the kernel may add 50 µs. If it is refused, the
        // schedule lag will show it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let poller = match Poller::new() {
            Ok(poller) => poller,
            Err(error) => {
                let _ = setup
                    .reports
                    .send(ThreadReport { thread: setup.number, what: ReportKind::Broken(error) });
                return;
            }
        };
        let pool = setup.config.connections.is_some().then(ConnectionPool::default);
        let mut thread = Self {
            number: setup.number,
            config: setup.config,
            endpoint: setup.endpoint,
            timed_from_begin: setup.workload.timed_from_begin(),
            workload: setup.workload,
            statements: setup.statements,
            poller,
            wake: setup.wake,
            commands: setup.commands,
            reports: setup.reports,
            recorder: setup.recorder,
            canceller: setup.canceller,
            limit_look_ns: 0,
            sessions: Vec::new(),
            to_open: VecDeque::new(),
            opening: 0,
            connecting: None,
            pool,
            idle: VecDeque::new(),
            timers: BinaryHeap::new(),
            stage: None,
            told: ReportedErrors::default(),
            just_sent: Vec::with_capacity(1024),
            eagerness: Eagerness::default(),
            read_ns: 0,
            inbox: vec![0; INBOX_BYTES].into_boxed_slice(),
            outbox: Outbox::with_capacity(INBOX_BYTES),
        };
        if let Err(error) = thread.event_loop() {
            thread.report(ReportKind::Broken(error));
        }
    }

    fn event_loop(&mut self) -> Result<(), Errno> {
        self.poller.add(&self.wake, WAKE, Interest::Read)?;
        let mut goes_on = true;
        while goes_on {
            let timeout_ns = self.next_time_ns().map(|at| at.saturating_sub(now_ns()));
            self.poller.wait(timeout_ns)?;
            let mut index = 0;
            while let Some(ready) = self.poller.ready(index) {
                index += 1;
                if ready.token == WAKE {
                    goes_on = self.take_commands();
                } else {
                    self.session_ready(ready);
                }
            }
            self.read_eagerly();
            self.times_passed(now_ns());
        }
        self.say_goodbye();
        Ok(())
    }

    fn say_goodbye(&mut self) {
        for (session, token) in self.sessions.iter_mut().zip(0..) {
            if session.is_connected() {
                session.say_goodbye(&self.poller, token);
            }
            session.hang_up_others(&self.poller, token);
        }
    }

    /// The next time at which something is to be done without any socket being ready.
    pub(crate) fn next_time_ns(&mut self) -> Option<u64> {
        self.drop_stale_timers();
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let stage =
            self.stage.as_ref().and_then(|stage| stage.next_time_ns(&self.recorder, !self.idle.is_empty()));
        let thought =
            self.pool.as_ref().filter(|_| self.load_goes_on()).and_then(ConnectionPool::next_time_ns);
        [timer, stage, thought, self.next_limit_ns()].into_iter().flatten().min()
    }

    /// Does what was due until now. Clients whose transactions need no server set their timers anew as they fire:
    /// after a while the sockets and the engine get their turn all the same.
    fn times_passed(&mut self, mut now: u64) {
        let turn_ends_ns = now + TIMERS_TURN_NS;
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            if at > now {
                now = now_ns();
            }
            if at > now || now > turn_ends_ns {
                break;
            }
            self.timers.pop();
            if self.sessions[index as usize].timer_ns == Some(at) {
                self.sessions[index as usize].timer_ns = None;
                self.timer_fired(index, now);
            }
        }
        self.wake_members(now);
        self.cancel_late(now);
        self.stage_times_passed(now);
    }

    fn drop_stale_timers(&mut self) {
        while let Some(Reverse((at, index))) = self.timers.peek() {
            if self.sessions[*index as usize].timer_ns == Some(*at) {
                break;
            }
            self.timers.pop();
        }
    }

    /// Wakes session `index` at a time; a session has one timer at most.
    pub(crate) fn set_timer(&mut self, index: u32, at_ns: u64) {
        self.sessions[index as usize].timer_ns = Some(at_ns);
        self.timers.push(Reverse((at_ns, index)));
    }

    fn timer_fired(&mut self, index: u32, now: u64) {
        match self.sessions[index as usize].state {
            SessionState::Disconnected => self.to_open.push_back(index),
            SessionState::Connecting | SessionState::LoggingIn(_) | SessionState::Preparing => {
                let limit = connect_timeout(&self.endpoint_of(index));
                self.connect_failed(index, SessionError::TimedOut(limit), now);
            }
            SessionState::Sleeping => self.woken(index, now),
            SessionState::Yielding => self.next_transaction(index, now),
            SessionState::Idle
            | SessionState::Waiting
            | SessionState::Recovering(_)
            | SessionState::Aborted => {}
        }
        self.open_more(now);
    }

    fn session_ready(&mut self, ready: Ready) {
        // Tokens are indexes of sessions, which are u32.
        let index = ready.token as u32;
        match self.sessions[index as usize].state {
            SessionState::Waiting | SessionState::Recovering(_) if !ready.writable => {
                self.reply_ready(index);
            }
            SessionState::Connecting | SessionState::LoggingIn(_) | SessionState::Preparing => {
                self.login_ready(index, ready);
            }
            SessionState::Disconnected => {}
            _ if ready.writable => self.flush(index),
            _ => self.unasked(index),
        }
    }

    /// A socket takes bytes again. What there is to read shows itself at the next wait.
    fn flush(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        if let Err(error) = session.flush(&self.poller, u64::from(index)) {
            self.lost(index, error, now_ns());
        }
    }

    /// Something came that nothing was asked for: a notice, why the server ends the connection, its end.
    fn unasked(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        session.listen();
        let received = session.receive(&mut self.inbox, &self.poller, u64::from(index));
        let error = match received {
            Err(error) => error,
            // What the server says before it closes would be forgotten with the next request.
            Ok(_) if session.scanner.was_dismissed() => {
                session.scanner.take_error().map_or(SessionError::Closed, SessionError::Server)
            }
            Ok(_) => return,
        };
        self.lost(index, error, now_ns());
    }

    /// False when the engine has hung up.
    fn take_commands(&mut self) -> bool {
        let mut count = [0; 8];
        // Only to make it unready again; what it counts is of no interest.
        let _ = rustix::io::read(&self.wake, &mut count);
        loop {
            match self.commands.try_recv() {
                Ok(ThreadCommand::Connect { clients }) => self.connect_clients(clients),
                Ok(ThreadCommand::Run { plan, start_ns, left }) => self.begin_stage(plan, start_ns, left),
                Ok(ThreadCommand::End) => self.end_stage(now_ns()),
                Ok(ThreadCommand::Stop) => self.stop_stage(now_ns()),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    pub(crate) fn report(&self, what: ReportKind) {
        // If the engine is gone, so will this thread be, at its next command.
        let _ = self.reports.send(ThreadReport { thread: self.number, what });
    }
}
