//! What a transaction passes through on its session: begun, sent, answered, tried again, ended.

use std::sync::Arc;

use dyno_wire::server_error::ServerError;

use crate::calls::StatementId;
use crate::cancel::{self, Asked};
use crate::clock::{nanoseconds, now_ns};
use crate::config::EngineConfig;
use crate::error::SessionError;
use crate::io::Io;
use crate::record::{ErrorCode, Outcome, Transaction};
use crate::recorder::Recorder;
use crate::session::{Session, SessionState};
use crate::workload::{Answer, Reaction, StatementFailure, Step, TransactionStatus, Workload};

/// What holds for all transactions of a run.
pub(crate) struct Rules {
    pub(crate) config: Arc<EngineConfig>,
    /// See [`Workload::recovery`] and [`Workload::timed_from_begin`].
    recovery: Option<StatementId>,
    pub(crate) timed_from_begin: bool,
}

impl Rules {
    pub(crate) fn new(config: &Arc<EngineConfig>, workload: &dyn Workload) -> Self {
        let (recovery, timed_from_begin) = (workload.recovery(), workload.timed_from_begin());
        Self { config: Arc::clone(config), recovery, timed_from_begin }
    }
}

/// What a session's transaction waits for, or how it left its session.
#[derive(Debug)]
pub(crate) enum Next {
    /// A request was sent. Its answer comes next.
    Answer,
    /// A time.
    Time(u64),
    /// A new connection, since then.
    Connection(u64),
    /// It has ended, at that time; whether it had sent anything.
    Ended { sent: bool, now: u64 },
    /// It has ended, and its client gives up; its connections are closed unless they can serve others.
    GivenUp { hangs_up: bool },
    /// Its connection broke. In a box, because every transaction passes a value of this type on.
    Lost(Box<SessionError>),
}

impl Next {
    #[cold]
    pub(crate) fn lost(error: SessionError) -> Self {
        Self::Lost(Box::new(error))
    }
}

/// A session whose transaction is moved on at a time.
pub(crate) struct Turn<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) session: &'a mut Session,
    pub(crate) io: &'a mut Io,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) now: u64,
}

impl Turn<'_> {
    /// Begins a transaction that was due at `scheduled_ns`.
    #[inline]
    pub(crate) fn begin(self, scheduled_ns: u64, waited_ns: u64) -> Next {
        self.session.transaction = Some(Transaction {
            type_index: usize::from(self.session.client.logic.begin().0),
            scheduled_ns,
            waited_ns,
            sent_ns: self.now,
            tries: 1,
            ..Transaction::default()
        });
        if self.session.connection.is_open() || self.rules.config.connect_when_asked {
            self.step(None)
        } else {
            Next::Connection(self.now)
        }
    }

    /// The connection that the transaction waited for is there. If it is its first, its time begins.
    pub(crate) fn connected(self, open_loop: bool) -> Next {
        if let Some(transaction) = self.session.transaction.as_mut().filter(|it| !it.reconnected) {
            transaction.sent_ns = self.now;
            if !open_loop {
                transaction.scheduled_ns = self.now;
            }
        }
        self.step(None)
    }

    /// Its request is answered in full.
    #[inline]
    pub(crate) fn answered(self, load_goes_on: bool) -> Next {
        let error = self.session.connection.take_error();
        match (&self.session.state, error) {
            (SessionState::Recovering(reaction), None) => {
                let reaction = *reaction;
                self.recovered(reaction)
            }
            // A transaction that cannot be ended leaves the connection of no use.
            (SessionState::Recovering(_), Some(error)) => Next::lost(SessionError::Server(error)),
            (_, Some(error)) => self.statement_failed(error, load_goes_on),
            (_, None) => {
                let answer = self.session.connection.answer();
                if let Some(transaction) = &mut self.session.transaction {
                    transaction.commit_in_flight = false;
                    transaction.first_row_ns =
                        self.session.connection.first_row_ns.or(transaction.first_row_ns);
                    self.recorder.current.answered(transaction.type_index, transaction.queries, &answer);
                }
                self.step(Some(&answer))
            }
        }
    }

    /// Asks the client what comes next, and does it.
    #[inline]
    pub(crate) fn step(mut self, mut answer: Option<&Answer>) -> Next {
        let Self { rules, session, io, recorder, now } = &mut self;
        let (step, sent) = loop {
            let mut request = session.connection.new_request(&mut io.outbox);
            let step = session.client.logic.next(answer, &mut request);
            let sent = request.sent;
            let (Step::Use(number) | Step::Disconnect(number)) = step else { break (step, sent) };
            if let Err(error) = session.switch_to(number, &mut io.poller) {
                return Next::lost(error);
            }
            if step == Step::Disconnect(number) {
                session.hang_up(&mut io.poller);
            } else if !session.connection.is_open() {
                break (step, sent);
            }
            answer = None;
        };
        let Some(transaction) = &mut session.transaction else { return Next::Answer };
        transaction.queries = sent.queries;
        // Where the client's own time counts it may have taken some. Behind a request the answer brings the next reading.
        let needs_time = match step {
            Step::Send | Step::SendCommit => false,
            Step::Done | Step::RolledBack => !sent.took_no_time,
            _ => true,
        };
        if rules.timed_from_begin && needs_time {
            *now = now_ns();
        }
        match step {
            Step::Send | Step::SendCommit if sent.syncs > 0 => {
                if !std::mem::replace(&mut transaction.sent, true) && !rules.timed_from_begin {
                    transaction.sent_ns = *now;
                }
                transaction.commit_in_flight = step == Step::SendCommit;
                session.state = SessionState::Waiting;
                session.connection.request_ns = *now;
                session.connection.request(sent, io).map_or_else(Next::lost, |()| Next::Answer)
            }
            Step::Send | Step::SendCommit => {
                recorder.tell(SessionError::EmptyRequest);
                self.fail()
            }
            Step::Connect(number) | Step::Use(number) => {
                transaction.reconnected = true;
                if let Err(error) = session.switch_to(number, &mut io.poller) {
                    return Next::lost(error);
                }
                session.hang_up(&mut io.poller);
                Next::Connection(*now)
            }
            // Done above, and asked further.
            Step::Disconnect(_) => Next::Answer,
            Step::Sleep(time) | Step::Pause(time) => {
                let pauses = matches!(step, Step::Pause(_));
                session.state = if pauses { SessionState::Pausing } else { SessionState::Sleeping };
                Next::Time(*now + nanoseconds(time))
            }
            Step::Done | Step::RolledBack => {
                let sent = transaction.sent;
                self.done(if step == Step::Done { Outcome::Done } else { Outcome::RolledBack });
                Next::Ended { sent, now: self.now }
            }
            Step::DoneAndAbort => {
                self.tell_given_up();
                self.done(Outcome::Done);
                Next::GivenUp { hangs_up: true }
            }
            Step::Abort => {
                self.tell_given_up();
                self.end(Transaction::failure);
                Next::GivenUp { hangs_up: true }
            }
        }
    }

    /// Its client cannot go on.
    #[cold]
    fn tell_given_up(&mut self) {
        if let Some(why) = self.session.client.logic.gave_up() {
            let error = SessionError::GaveUp { why, said: None };
            self.recorder.current.error(ErrorCode::from(&error));
            self.recorder.tell(error);
        }
    }

    /// The transaction has ended well.
    #[inline]
    fn done(&mut self, outcome: Outcome) {
        let Some(transaction) = &self.session.transaction else { return };
        self.session.attempts = 0;
        self.session.client.failures_in_a_row = 0;
        let client = &mut *self.session.client.logic;
        client.ended(&transaction.told(true, self.now));
        if outcome == Outcome::Done {
            self.recorder.current.counted(transaction.type_index, client);
        }
        self.end(|_| outcome);
    }

    /// The transaction has failed for good.
    fn fail(mut self) -> Next {
        let client = &mut self.session.client;
        if let Some(transaction) = &self.session.transaction {
            client.logic.ended(&transaction.told(false, self.now));
            client.failures_in_a_row += u32::from(!transaction.cancelled);
        }
        let gives_up = client.failures_in_a_row >= self.rules.config.failures_in_a_row_max;
        self.end(Transaction::failure);
        if gives_up { Next::GivenUp { hangs_up: false } } else { Next::Ended { sent: true, now: self.now } }
    }

    /// Counts the transaction, which is over.
    #[inline]
    pub(crate) fn end(&mut self, outcome: impl FnOnce(&Transaction) -> Outcome) {
        let Some(transaction) = &self.session.transaction else { return };
        self.recorder.current.ended(transaction, outcome(transaction), self.now);
        self.session.transaction = None;
        self.session.client.ended += 1;
        if self.rules.config.connect_per_transaction && self.session.connection.is_open() {
            self.session.hang_up(&mut self.io.poller);
            self.session.state = SessionState::Idle;
        }
    }

    /// The server refused a statement.
    fn statement_failed(self, error: ServerError, load_goes_on: bool) -> Next {
        let Self { rules, session, io, recorder, now } = self;
        let status = session.connection.status_after(&error);
        let Some(transaction) = &mut session.transaction else { return Next::Answer };
        transaction.commit_in_flight &= error.leaves_commit_unknown();
        let asked = cancel::asked(&session.connection, now).filter(|_| error.is_cancellation());
        let may_retry = load_goes_on
            && match asked {
                // Nothing is wrong with it: it was not the one that took too long.
                Some(Asked::ForOneBefore) => true,
                Some(Asked::ForThis) => false,
                None => error.asks_for_retry() && transaction.tries < rules.config.tries_max,
            };
        let reaction = session.client.logic.failed(&StatementFailure {
            error: &error,
            statements: session.connection.answer().statements,
            status,
            tries: transaction.tries,
            may_retry,
            load_goes_on,
            cancelled: asked.is_some(),
            due_ns: transaction.scheduled_ns,
            now_ns: now,
        });
        let cancelled = asked.is_some();
        transaction.cancelled = cancelled && reaction != Reaction::Retry;
        let reaction = if cancelled && reaction == Reaction::Abort { Reaction::Fail } else { reaction };
        if !cancelled {
            recorder.current.error(ErrorCode::from(&error));
            let gave_up = (reaction == Reaction::Abort).then(|| session.client.logic.gave_up()).flatten();
            recorder.tell(match gave_up {
                Some(why) => SessionError::GaveUp { why, said: Some(error) },
                None => match session.client.logic.place() {
                    Some(place) => SessionError::At { place, said: error },
                    None => SessionError::Server(error),
                },
            });
        }
        let ends_transaction = matches!(reaction, Reaction::Retry | Reaction::Fail);
        match rules.recovery {
            Some(recovery) if status != TransactionStatus::Idle && ends_transaction => {
                let mut request = session.connection.new_request(&mut io.outbox);
                request.execute(recovery, &[]);
                let sent = request.sent;
                session.state = SessionState::Recovering(reaction);
                // It has the time of a statement for itself.
                session.connection.request_ns = now;
                session.connection.request(sent, io).map_or_else(Next::lost, |()| Next::Answer)
            }
            _ => Turn { rules, session, io, recorder, now }.recovered(reaction),
        }
    }

    /// The failed transaction is out of the way, or was never in it.
    fn recovered(mut self, reaction: Reaction) -> Next {
        match (&mut self.session.transaction, reaction) {
            (Some(transaction), Reaction::Retry) => {
                transaction.tries += 1;
                self.recorder.current.retry(transaction.type_index);
                self.session.client.logic.begin_again();
                self.step(None)
            }
            (_, Reaction::Abort) => {
                self.end(Transaction::failure);
                Next::GivenUp { hangs_up: true }
            }
            (_, Reaction::GoOn) => {
                let answer = self.session.connection.answer();
                self.step(Some(&answer))
            }
            _ => self.fail(),
        }
    }
}
