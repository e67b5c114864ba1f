//! What a thread's clients do: it owns their sessions, the stage, the connector and the pool, none of which calls another,
//! and passes on what happens between them.

use std::sync::Arc;

use crate::clock::now_ns;
use crate::config::OnLoss;
use crate::connector::{Connector, backoff_ns};
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::message::Report;
use crate::poller::{Poller, Ready};
use crate::pool::{ConnectionPool, nobody};
use crate::record::{ErrorCode, Transaction};
use crate::recorder::Recorder;
use crate::session::{Session, SessionState, Timers, VirtualClient};
use crate::stage::{Assignment, Stage};
use crate::transacting::{Next, Rules, Turn};
use crate::workload::{ClientIdentity, Workload};

/// A thread's clients and what they work with.
pub(crate) struct Load {
    pub(crate) rules: Rules,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) io: Io,
    pub(crate) recorder: Recorder,
    pub(crate) sessions: Vec<Session>,
    pub(crate) timers: Timers,
    pub(crate) connector: Connector,
    /// The clients, where they share the connections.
    pub(crate) pool: Option<ConnectionPool>,
    pub(crate) stage: Option<Stage>,
    /// Sessions that a request was sent on since the last wait, in that order.
    pub(crate) just_sent: Vec<u32>,
    /// When an answer was last read.
    pub(crate) read_ns: u64,
    /// An interval has ended since the thread looked whether all connections are lost.
    pub(crate) interval_closed: bool,
}

impl Load {
    /// Sees to it that this thread's share of `clients` clients is connected, those that were lost included.
    /// From now on all sockets are this poller's. Between two stages: only connections may be under way, and these are opened anew.
    pub(crate) fn move_to(&mut self, mut poller: Poller) {
        for session in &mut self.sessions {
            if session.is_opening() || session.move_to(&mut poller).is_err() {
                self.connector.forget(session);
                session.close(&mut self.io.poller);
                self.connector.enqueue(session);
            }
        }
        self.io.poller = poller;
        self.just_sent.clear();
    }

    pub(crate) fn connect_clients(&mut self, clients: u32) {
        let (config, share) = (&self.rules.config, self.connector.share);
        let client = |index| {
            let identity = ClientIdentity { id: share.client_id(index), thread: share.thread };
            VirtualClient::new(self.workload.client(identity, config.seed))
        };
        let wanted = share.of(config.connections.map_or(clients, |connections| connections.min(clients)));
        for index in self.sessions.len() as u32..wanted {
            let client = if self.pool.is_some() { nobody() } else { client(index) };
            self.sessions.push(Session::new(index, client));
        }
        if let Some(pool) = &mut self.pool {
            pool.fill(share.of(clients), self.sessions.len(), client);
        }
        // Nothing is to grow while the load runs.
        self.timers.reserve(self.sessions.len());
        self.just_sent.reserve(self.sessions.len());
        let later = config.connect_per_transaction || config.connect_when_asked;
        self.connector.want(&mut self.sessions, wanted, later);
        self.open_more(now_ns());
        self.connector.tell_if_fulfilled(&self.sessions, &self.recorder);
    }

    #[inline]
    pub(crate) fn load_goes_on(&self) -> bool {
        self.stage.as_ref().is_some_and(Stage::load_goes_on)
    }

    pub(crate) fn open_more(&mut self, now: u64) {
        while let Some((index, opened)) =
            self.connector.open_next(&mut self.sessions, &mut self.io, &mut self.timers, now)
        {
            match opened {
                Ok(()) => self.connected(index, now_ns()),
                Err(error) => self.connect_failed(index, error, now),
            }
        }
    }

    pub(crate) fn session_ready(&mut self, ready: Ready) {
        // Tokens are indexes of sessions, which are u32.
        let index = ready.token as u32;
        let session = &mut self.sessions[index as usize];
        let handled = match session.state {
            SessionState::Waiting | SessionState::Recovering(_) if !ready.writable => {
                self.reply_ready(index);
                return;
            }
            SessionState::Connecting | SessionState::LoggingIn(_) | SessionState::Preparing => {
                return self.login_ready(index, ready);
            }
            SessionState::Disconnected => return,
            // What there is to read shows itself at the next wait.
            _ if ready.writable => session.connection.wire().and_then(|wire| wire.flush(&mut self.io.poller)),
            _ => session.overhear(&mut self.io),
        };
        if let Err(error) = handled {
            self.follow(Some((index, Next::lost(error))), now_ns());
        }
    }

    /// Moves a session on that is connecting, logging in or preparing.
    fn login_ready(&mut self, index: u32, ready: Ready) {
        match self.connector.advance(&mut self.sessions[index as usize], &mut self.io, ready) {
            Ok(false) => {}
            Ok(true) => self.connected(index, now_ns()),
            Err(error) => self.connect_failed(index, error, now_ns()),
        }
        self.open_more(now_ns());
    }

    /// The session is there and prepared.
    fn connected(&mut self, index: u32, now: u64) {
        let session = &mut self.sessions[index as usize];
        session.client.logic.connected(now.saturating_sub(session.opened_ns));
        if session.transaction.is_some() {
            let open_loop = self.stage.as_ref().is_some_and(Stage::is_open_loop);
            let next = self.turn(index, now).connected(open_loop);
            self.follow(Some((index, next)), now);
        } else if let Some(lost_ns) = session.lost_ns.take() {
            let record = &mut self.recorder.current;
            record.reconnects += 1;
            // What passed before this interval is in those before it.
            record.lost_ns += now.saturating_sub(lost_ns.max(record.start_ns));
            self.go_on(index, false, now);
        } else {
            self.recorder.report(Report::ClientConnected);
        }
        self.connector.tell_if_fulfilled(&self.sessions, &self.recorder);
    }

    /// An attempt to connect failed. The caller then opens more.
    fn connect_failed(&mut self, index: u32, error: SessionError, now: u64) {
        let session = &mut self.sessions[index as usize];
        session.close(&mut self.io.poller);
        if session.transaction.is_some() {
            return self.transaction_without_connection(index, error, now);
        }
        let patience = self.rules.config.reconnect_timeout;
        if self.connector.failed(session, &mut self.timers, patience, now) {
            self.recorder.report(Report::ConnectFailed(error));
        } else {
            self.recorder.tell(error);
        }
    }

    /// A transaction's own connection could not be opened. Unless the client goes on without it is tried again where clients
    /// are to reconnect, else the client gives up.
    fn transaction_without_connection(&mut self, index: u32, error: SessionError, now: u64) {
        let session = &mut self.sessions[index as usize];
        self.recorder.current.error(ErrorCode::from(&error));
        let goes_on = session.client.logic.not_connected(&error);
        self.recorder.tell(error);
        if !goes_on {
            self.turn(index, now).end(Transaction::failure);
            if self.rules.config.on_loss == OnLoss::Abort {
                return self.give_up(index, true, now);
            }
        }
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Sleeping;
        // Not from here: one that tries again at once, and fails at once, would never return.
        self.timers.set(session, now + if goes_on { 0 } else { backoff_ns(session) });
    }

    /// A connection broke. What was under way on it has failed, or nobody knows.
    fn lost(&mut self, index: u32, error: SessionError, now: u64) {
        let aborts = self.rules.config.on_loss == OnLoss::Abort && self.pool.is_none();
        let session = &mut self.sessions[index as usize];
        self.connector.forget(session);
        let error = session.connection.last_words(error, session.client.logic.as_mut(), &mut self.io);
        session.close(&mut self.io.poller);
        session.lost_ns = Some(now);
        // One that has done its part and will not come back has lost nothing.
        if session.client.active || session.transaction.is_some() || !aborts {
            session.client.logic.lost(&error);
        }
        if let Some(stage) = &mut self.stage {
            stage.withdraw(index);
            self.recorder.current.error(ErrorCode::from(&error));
        }
        self.recorder.tell(error);
        self.turn(index, now).end(Transaction::failure);
        if aborts {
            return self.give_up(index, true, now);
        }
        self.give_back(index, now);
        self.connector.open_again(&mut self.sessions[index as usize], &mut self.timers, now);
        self.open_more(now);
    }

    pub(crate) fn timer_fired(&mut self, index: u32, now: u64) {
        let session = &mut self.sessions[index as usize];
        match session.state {
            SessionState::Disconnected => self.connector.enqueue(session),
            SessionState::Connecting | SessionState::LoggingIn(_) | SessionState::Preparing => {
                let error = self.connector.timed_out(session);
                self.connect_failed(index, error, now);
            }
            SessionState::Sleeping | SessionState::Pausing if session.transaction.is_some() => {
                self.rotate_until(now);
                let next = self.turn(index, now).step(None);
                self.follow(Some((index, next)), now);
            }
            SessionState::Sleeping | SessionState::Pausing => self.go_on(index, true, now),
            SessionState::Yielding => self.go_on(index, false, now),
            SessionState::Idle
            | SessionState::Waiting
            | SessionState::Recovering(_)
            | SessionState::Aborted => {}
        }
        self.open_more(now);
    }

    /// Reads what there is of an answer, and goes on when it is whole. A broken connection counts as answered.
    #[inline]
    pub(crate) fn reply_ready(&mut self, index: u32) -> Received {
        let next = match self.sessions[index as usize].receive(&mut self.io) {
            Ok(Received::Answered) => {
                self.read_ns = now_ns();
                self.rotate_until(self.read_ns);
                // A thread that blocks has not heard yet that the load has ended, which is why it has its answer.
                let load_goes_on = self.load_goes_on() && !self.io.watched.has_command();
                self.turn(index, self.read_ns).answered(load_goes_on)
            }
            Ok(received) => return received,
            Err(error) => {
                self.read_ns = now_ns();
                Next::lost(error)
            }
        };
        self.follow(Some((index, next)), self.read_ns);
        Received::Answered
    }

    /// Where requests leave together, notes when those left that were sent since the last time.
    #[inline]
    pub(crate) fn note_submission(&mut self) {
        let Some(at_ns) = self.io.poller.take_submitted_ns() else { return };
        for index in self.just_sent.drain(..) {
            let session = &mut self.sessions[index as usize];
            if matches!(session.state, SessionState::Waiting | SessionState::Recovering(_)) {
                session.has_left(at_ns, self.rules.timed_from_begin);
            }
        }
    }

    pub(crate) fn turn(&mut self, index: u32, now: u64) -> Turn<'_> {
        let Self { rules, sessions, io, recorder, .. } = self;
        Turn { rules, session: &mut sessions[index as usize], io, recorder, now }
    }

    /// Does what a transaction needs next, and what follows from that for its session, and from a pool for others.
    #[inline]
    pub(crate) fn follow(&mut self, mut next: Option<(u32, Next)>, mut now: u64) {
        while let Some((index, what)) = next.take().or_else(|| self.lend(now)) {
            let session = &mut self.sessions[index as usize];
            match what {
                Next::Answer => {
                    // What had to leave before this could be sent left before it.
                    self.note_submission();
                    self.just_sent.push(index);
                    if self.io.poller.has_full_batch() {
                        self.io.poller.submit();
                        self.note_submission();
                    }
                }
                Next::Time(at_ns) => self.timers.set(session, at_ns),
                Next::Connection(now) => {
                    self.connector.enqueue(session);
                    self.open_more(now);
                }
                Next::Ended { sent: true, now: ended_ns } => {
                    now = ended_ns;
                    next = self.next_transaction(index, false, now);
                }
                // It needed no server: give the others their turn before the next one.
                Next::Ended { sent: false, now: ended_ns } => {
                    session.state = SessionState::Yielding;
                    self.timers.set(session, ended_ns);
                }
                Next::GivenUp { hangs_up } => self.give_up(index, hangs_up, now),
                Next::Lost(error) => self.lost(index, *error, now),
            }
        }
    }

    /// A session with nothing under way goes on; `rested`: its client's think time is over.
    pub(crate) fn go_on(&mut self, index: u32, rested: bool, now: u64) {
        let next = self.next_transaction(index, rested, now);
        self.follow(next, now);
    }

    /// What ended before may have taken the client's own time, in which nobody saw that the load is over.
    #[inline]
    fn next_transaction(&mut self, index: u32, rested: bool, now: u64) -> Option<(u32, Next)> {
        self.rotate_until(now);
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Idle;
        if self.pool.is_some() {
            self.give_back(index, now);
            return None;
        }
        let stage = self.stage.as_mut()?;
        if let Some(late) = self.rules.config.skip_later_than {
            self.recorder.current.skipped += stage.skip_late(&mut session.client, late, now);
        }
        match stage.assign(index, &mut session.client, rested, now) {
            Assignment::Begin(due_ns) => return Some((index, self.turn(index, now).begin(due_ns, 0))),
            Assignment::Think(until_ns) => {
                session.state = SessionState::Sleeping;
                self.timers.set(session, until_ns);
            }
            Assignment::Finished if self.rules.config.hang_up_when_done && session.connection.is_open() => {
                session.hang_up(&mut self.io.poller);
                session.state = SessionState::Aborted;
            }
            Assignment::Finished | Assignment::Rest => {}
        }
        None
    }

    /// Lends a connection of the pool to a client that waits for one, and begins its transaction.
    fn lend(&mut self, now: u64) -> Option<(u32, Next)> {
        let (pool, stage) = self.pool.as_mut().zip(self.stage.as_mut())?;
        let loan = pool.lend(stage, &mut self.sessions, &mut self.recorder.current, now)?;
        Some((loan.session, self.turn(loan.session, now).begin(loan.wants_ns, loan.waited_ns)))
    }

    /// The client that has a session of the pool goes home.
    fn give_back(&mut self, index: u32, now: u64) {
        if let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) {
            pool.give_back(&mut self.sessions[index as usize], stage, &mut self.recorder.current, now);
        }
    }

    /// A client takes no further part. Its connections are closed if it `hangs_up`; else one of a pool serves others.
    fn give_up(&mut self, index: u32, hangs_up: bool, now: u64) {
        let session = &mut self.sessions[index as usize];
        if hangs_up {
            session.hang_up_all(&mut self.io.poller);
        }
        if let Some(stage) = &mut self.stage {
            stage.abort(&mut session.client);
        }
        if self.pool.is_none() {
            session.state = SessionState::Aborted;
            session.lost_ns = None;
            return;
        }
        if session.connection.is_open() {
            session.state = SessionState::Idle;
        } else {
            session.lost_ns = Some(now);
            self.connector.enqueue(session);
        }
        self.give_back(index, now);
        self.open_more(now);
    }

    /// Hands over every interval that has ended; at the last one the drain begins.
    #[inline]
    pub(crate) fn rotate_until(&mut self, now: u64) {
        if now >= self.recorder.current.end_ns {
            self.rotate(now);
        }
    }

    #[cold]
    pub(crate) fn rotate(&mut self, now: u64) {
        self.interval_closed = true;
        while let Some(stage) = self.stage.as_mut().filter(|stage| stage.load_goes_on())
            && now >= self.recorder.current.end_ns
        {
            if let Some(pool) = &mut self.pool {
                pool.close_interval(&mut self.recorder.current, &self.sessions);
            }
            stage.close_interval(&mut self.recorder, &self.sessions, &self.rules.config, now);
        }
    }
}
