//! A session: a client, its connections and the transaction that it has under way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::connection::Connection;
use crate::dialogue::LoginDialogue;
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::poller::Poller;
use crate::record::Transaction;
use crate::workload::{Client, Reaction};

/// What a session waits for. It moves downwards to `Idle`, turns between `Idle`, `Waiting`, `Recovering` and
/// `Sleeping` while a stage runs, and falls back to `Disconnected` when its connection breaks.
#[derive(Debug)]
pub(crate) enum SessionState {
    /// Has no socket. Waits for its turn to connect, or for the end of its back-off after a loss.
    Disconnected,
    /// The socket is connecting. Waits until it is writable; then logs in.
    Connecting,
    /// TLS, startup and authentication. Waits for the server's part; then prepares.
    LoggingIn(Box<LoginDialogue>),
    /// All statements were sent for parsing in one go. Waits for the answer; then is idle.
    Preparing,
    /// Connected and prepared, nothing under way. Waits for a stage, or for an arrival of an open load.
    Idle,
    /// Waits for a time: think time before a transaction, or a client's own sleep within one.
    Sleeping,
    /// The same with a transaction of which nothing is done yet.
    Pausing,
    /// Ended a transaction that needed no server. Waits for the others to have had their turn; then goes on.
    Yielding,
    /// A request was sent. Waits for all of its answer.
    Waiting,
    /// The statement that ends a failed transaction was sent. Waits for its answer; then what was decided follows.
    Recovering(Reaction),
    /// Gave up: after too many failures in a row, or by its own decision. Waits for nothing; the next stage starts it
    /// afresh.
    Aborted,
}

/// A client of the workload, and its part in the stage that runs.
pub(crate) struct VirtualClient {
    pub(crate) logic: Box<dyn Client>,
    /// Takes part in the stage.
    pub(crate) active: bool,
    /// Transactions ended in the stage.
    pub(crate) ended: u64,
    pub(crate) failures_in_a_row: u32,
}

impl VirtualClient {
    pub(crate) fn new(logic: Box<dyn Client>) -> Self {
        Self { logic, active: false, ended: 0, failures_in_a_row: 0 }
    }

    /// A stage begins, in which it does not take part yet.
    pub(crate) fn reset(&mut self) {
        (self.active, self.ended, self.failures_in_a_row) = (false, 0, 0);
    }
}

/// A client and its connection.
pub(crate) struct Session {
    /// Its place among the thread's.
    pub(crate) index: u32,
    pub(crate) state: SessionState,
    pub(crate) client: VirtualClient,
    /// Of a pool: the number of the client that has it.
    pub(crate) borrower: Option<u32>,
    /// `Some` from a transaction's beginning to its end.
    pub(crate) transaction: Option<Transaction>,
    /// The one time this session waits for; timers with another time are stale.
    pub(crate) timer_ns: Option<u64>,
    /// When the connection was lost, until it is there again.
    pub(crate) lost_ns: Option<u64>,
    /// Attempts to connect since a transaction last ended well.
    pub(crate) attempts: u32,
    /// When the connection was begun to be opened.
    pub(crate) opened_ns: u64,
    /// The connection in use, and its number among those of the client.
    pub(crate) connection: Connection,
    number: u16,
    /// The others by their numbers; without memory where there is but one. Nothing is under way on them, and nobody
    /// listens to them.
    others: Vec<Connection>,
}

impl Session {
    pub(crate) fn new(index: u32, client: VirtualClient) -> Self {
        Self {
            index,
            state: SessionState::Disconnected,
            client,
            borrower: None,
            transaction: None,
            timer_ns: None,
            lost_ns: None,
            attempts: 0,
            opened_ns: 0,
            connection: Connection::new(u64::from(index)),
            number: 0,
            others: Vec::new(),
        }
    }

    /// Reads what there is of an answer.
    #[inline]
    pub(crate) fn receive(&mut self, io: &mut Io) -> Result<Received, SessionError> {
        self.connection.receive(self.client.logic.as_mut(), io)
    }

    /// Reads what nothing was asked for: a notice, why the server ends the connection, its end.
    pub(crate) fn overhear(&mut self, io: &mut Io) -> Result<(), SessionError> {
        self.connection.overhear(self.client.logic.as_mut(), io)
    }

    /// The request that was sent last has left only then, and the transaction has begun then if that was its first.
    pub(crate) fn has_left(&mut self, at_ns: u64, timed_from_begin: bool) {
        let sent_ns = std::mem::replace(&mut self.connection.request_ns, at_ns);
        if let Some(transaction) = &mut self.transaction
            && transaction.sent_ns == sent_ns
            && !timed_from_begin
        {
            transaction.sent_ns = at_ns;
        }
    }

    /// Closes the connection in use.
    pub(crate) fn close(&mut self, poller: &mut Poller) {
        self.connection.close(poller);
        self.timer_ns = None;
        self.state = SessionState::Disconnected;
    }

    /// Takes another of the client's connections into use, which need not be open.
    pub(crate) fn switch_to(&mut self, number: u16, poller: &mut Poller) -> Result<(), SessionError> {
        if number == self.number {
            return Ok(());
        }
        self.connection.set_aside(poller)?;
        let least = usize::from(number.max(self.number)) + 1;
        if self.others.len() < least {
            self.others.resize_with(least, || Connection::new(u64::from(self.index)));
        }
        for at in [std::mem::replace(&mut self.number, number), number] {
            std::mem::swap(&mut self.connection, &mut self.others[usize::from(at)]);
        }
        self.connection.use_again(poller)
    }

    /// Ends the connection in use in good order, if it is open.
    pub(crate) fn hang_up(&mut self, poller: &mut Poller) {
        if self.connection.is_open() {
            self.connection.say_goodbye(poller);
            self.close(poller);
        }
    }

    /// Ends all of the client's connections.
    pub(crate) fn hang_up_all(&mut self, poller: &mut Poller) {
        let used = self.number;
        self.hang_up(poller);
        for number in 0..self.others.len() {
            // One that cannot be taken into use any more needs no goodbye.
            if self.switch_to(number as u16, poller).is_ok() {
                self.hang_up(poller);
            }
        }
        let _ = self.switch_to(used, poller);
    }

    /// Hands the sockets of all its connections over to another poller.
    pub(crate) fn move_to(&mut self, poller: &mut Poller) -> Result<(), SessionError> {
        self.connection.move_to(poller)?;
        for other in &mut self.others {
            other.move_to(poller)?;
            other.set_aside(poller)?;
        }
        Ok(())
    }

    /// Between socket and prepared.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.state, SessionState::Connecting | SessionState::LoggingIn(_) | SessionState::Preparing)
    }

    /// Connected, logged in and prepared.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(self.state, SessionState::Disconnected) && !self.is_opening()
    }
}

/// Times and the sessions that wait for them. A session waits for one time at most; what it waited for before is stale.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(u64, u32)>>);

impl Timers {
    pub(crate) fn reserve(&mut self, sessions: usize) {
        self.0.reserve(2 * sessions);
    }

    /// Wakes a session at a time.
    pub(crate) fn set(&mut self, session: &mut Session, at_ns: u64) {
        session.timer_ns = Some(at_ns);
        self.0.push(Reverse((at_ns, session.index)));
    }

    /// The next time that a session still waits for, and which it is.
    pub(crate) fn next(&mut self, sessions: &[Session]) -> Option<(u64, u32)> {
        while let Some(Reverse((at_ns, index))) = self.0.peek().copied() {
            if sessions[index as usize].timer_ns == Some(at_ns) {
                return Some((at_ns, index));
            }
            self.0.pop();
        }
        None
    }
}

impl Session {
    /// Whether the end of a stage waits for it.
    pub(crate) fn is_under_way(&self) -> bool {
        self.transaction.is_some() && !matches!(self.state, SessionState::Pausing)
    }
}

/// Whether anything is under way.
pub(crate) fn is_busy(sessions: &[Session]) -> bool {
    sessions.iter().any(|session| session.transaction.is_some())
}

/// Whether all that take part have been without a connection since that time.
pub(crate) fn are_lost(sessions: &[Session], since_ns: u64) -> bool {
    let mut active = sessions.iter().filter(|session| session.client.active).peekable();
    active.peek().is_some() && active.all(|session| session.lost_ns.is_some_and(|at_ns| at_ns <= since_ns))
}
