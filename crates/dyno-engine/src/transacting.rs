//! What a transaction passes through on a load thread: begun, sent, answered, tried again, ended.

use crate::cancel::{is_cancelled, was_asked};
use crate::clock::{nanoseconds, now_ns};
use crate::error::SessionError;
use crate::record::{ErrorCode, TransactionRecord};
use crate::request::{Kinds, Request};
use crate::session::{Received, SessionState, Transaction};
use crate::staging::{Running, takes_one};
use crate::thread::LoadThread;
use crate::workload::{Answer, EndedTransaction, Reaction, StatementFailure, Step, TransactionStatus};
use dyno_results::spec::Arrivals;
use dyno_wire::server_error::ServerError;

/// Serialization failure and deadlock: the server asks for another try.
const RETRIED: [&str; 2] = ["40001", "40P01"];
/// The same of MySQL: deadlock, a lock not had in time, a record that has changed since it was read.
const RETRIED_NUMBERS: [u16; 3] = [1213, 1205, 1020];

/// Whether another try may succeed.
fn is_retried(error: &ServerError) -> bool {
    match error.number() {
        Some(number) => RETRIED_NUMBERS.contains(&number),
        None => RETRIED.contains(&error.state().as_str()),
    }
}

impl LoadThread {
    /// Reads what there is of an answer, and goes on when it is whole. A broken connection counts as answered.
    #[inline]
    pub(crate) fn reply_ready(&mut self, index: u32) -> Received {
        let session = &mut self.sessions[index as usize];
        match session.receive(&mut self.inbox, &self.poller, u64::from(index)) {
            Ok(Received::Answered) => {
                self.read_ns = now_ns();
                self.answered(index, self.read_ns);
            }
            Ok(received) => return received,
            Err(error) => self.lost(index, error, now_ns()),
        }
        Received::Answered
    }

    #[inline]
    fn answered(&mut self, index: u32, now: u64) {
        self.rotate_until(now);
        let session = &mut self.sessions[index as usize];
        let error = session.scanner.take_error();
        match (&session.state, error) {
            (SessionState::Recovering(reaction), None) => {
                let reaction = *reaction;
                self.recovered(index, reaction, now);
            }
            // A transaction that cannot be ended leaves the connection of no use.
            (SessionState::Recovering(_), Some(error)) => self.lost(index, SessionError::Server(error), now),
            (_, Some(error)) => self.statement_failed(index, error, now),
            (_, None) => {
                let answer = session.scanner.answer();
                let Some(transaction) = &mut session.transaction else { return };
                transaction.commit_in_flight = false;
                let (record, kinds) = (&mut self.recorder.current, transaction.kinds);
                record.statements(transaction.type_index, answer.statements);
                if kinds != Kinds::default() {
                    record.queries(transaction.type_index, kinds, answer.affected);
                }
                self.step(index, Some(&answer), now);
            }
        }
    }

    /// Begins a transaction that was due at `scheduled_ns`.
    #[inline]
    pub(crate) fn begin(&mut self, index: u32, scheduled_ns: u64, now: u64) {
        let session = &mut self.sessions[index as usize];
        let type_index = usize::from(session.client.begin().0);
        session.transaction = Some(Transaction {
            type_index,
            scheduled_ns,
            waited_ns: session.waited_ns,
            sent_ns: now,
            tries: 1,
            ..Transaction::default()
        });
        if let Some(stage) = &mut self.stage {
            stage.in_flight += 1;
        }
        if session.is_open() || self.config.connect_when_asked {
            self.step(index, None, now);
        } else {
            self.connect_for_transaction(index, now);
        }
    }

    /// The connection that this transaction waited for is there. If it is its first, its time begins.
    pub(crate) fn begin_connected(&mut self, index: u32, now: u64) {
        let open_loop = self.is_open_loop();
        let Some(transaction) = &mut self.sessions[index as usize].transaction else { return };
        if !transaction.reconnected {
            transaction.sent_ns = now;
            if !open_loop {
                transaction.scheduled_ns = now;
            }
        }
        self.step(index, None, now);
    }

    /// The client wants a new connection within its transaction.
    fn connect(&mut self, index: u32, number: u16, now: u64) {
        let session = &mut self.sessions[index as usize];
        if let Err(error) = session.switch_to(number, &self.poller, u64::from(index)) {
            return self.lost(index, error, now);
        }
        session.hang_up(&self.poller, u64::from(index));
        if let Some(transaction) = &mut session.transaction {
            transaction.reconnected = true;
        }
        self.connect_for_transaction(index, now);
    }

    /// Asks the client what comes next, and does it.
    #[inline]
    fn step(&mut self, index: u32, mut answer: Option<&Answer>, now: u64) {
        let session = &mut self.sessions[index as usize];
        let (step, sent) = loop {
            let mut request =
                Request::new(&mut self.outbox, &self.statements, &mut session.prepared_statements);
            let step = session.client.next(answer, &mut request);
            let sent = request.sent();
            let (Step::Use(number) | Step::Disconnect(number)) = step else { break (step, sent) };
            if let Err(error) = session.switch_to(number, &self.poller, u64::from(index)) {
                return self.lost(index, error, now);
            }
            if step == Step::Disconnect(number) {
                session.hang_up(&self.poller, u64::from(index));
            } else if !session.is_open() {
                break (step, sent);
            }
            answer = None;
        };
        let Some(transaction) = &mut session.transaction else { return };
        session.keeps_rows = sent.keeps_rows;
        transaction.kinds = sent.kinds;
        // Where the client's own time counts it may have taken some. Behind a request the answer brings the next reading.
        let sends = matches!(step, Step::Send | Step::SendCommit);
        let now = if sends || !self.timed_from_begin { now } else { now_ns() };
        match step {
            Step::Send | Step::SendCommit if sent.syncs > 0 => {
                if !transaction.sent {
                    transaction.sent = true;
                    if !self.timed_from_begin {
                        transaction.sent_ns = now;
                    }
                }
                transaction.commit_in_flight = step == Step::SendCommit;
                session.request_ns = now;
                session.state = SessionState::Waiting;
                session.scanner.start(sent.syncs, &self.outbox.expects);
                match session.send(&self.outbox.bytes, &self.poller, u64::from(index)) {
                    Ok(()) => self.just_sent.push(index),
                    Err(error) => self.lost(index, error, now),
                }
            }
            Step::Send | Step::SendCommit => {
                self.tell_error(SessionError::EmptyRequest);
                self.fail(index, now);
            }
            Step::Connect(number) | Step::Use(number) => self.connect(index, number, now),
            // Done above, and asked further.
            Step::Disconnect(_) => {}
            Step::Sleep(time) => {
                session.state = SessionState::Sleeping;
                self.set_timer(index, now + nanoseconds(time));
            }
            Step::Done => self.done(index, now),
            Step::DoneAndAbort => {
                self.count_done(index, now);
                self.give_up(index);
            }
            Step::Abort => {
                self.fail_transaction(index, now);
                self.give_up(index);
            }
        }
    }

    /// A sleep is over: the client's own, or its think time.
    pub(crate) fn woken(&mut self, index: u32, now: u64) {
        self.rotate_until(now);
        let begins = self.stage.as_ref().is_some_and(|stage| stage.begins(now));
        let session = &mut self.sessions[index as usize];
        if session.transaction.is_some() {
            self.step(index, None, now);
            return;
        }
        session.state = SessionState::Idle;
        if !session.active || !begins {
            return;
        }
        let left = self.stage.as_ref().and_then(|stage| stage.left.as_deref());
        if takes_one(left) { self.begin(index, now, now) } else { self.has_done_all(index) }
    }

    #[inline]
    fn done(&mut self, index: u32, now: u64) {
        let Some(sent) = self.count_done(index, now) else { return };
        if sent {
            self.next_transaction(index, now);
        } else {
            // It needed no server: give the others their turn before the next one.
            self.sessions[index as usize].state = SessionState::Yielding;
            self.set_timer(index, now);
        }
    }

    /// Counts the transaction under way as done; whether it sent anything.
    #[inline]
    fn count_done(&mut self, index: u32, now: u64) -> Option<bool> {
        let session = &mut self.sessions[index as usize];
        let transaction = session.transaction.take()?;
        (session.failures_in_a_row, session.attempts) = (0, 0);
        session.client.ended(&told(&transaction, now, true));
        self.recorder.current.done(ended(&transaction, now));
        self.transaction_ended(index);
        Some(transaction.sent)
    }

    fn transaction_ended(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        session.ended += 1;
        if self.config.connect_per_transaction && session.is_open() {
            session.hang_up(&self.poller, u64::from(index));
            session.state = SessionState::Idle;
        }
        if let Some(stage) = &mut self.stage {
            stage.in_flight -= 1;
        }
    }

    /// What a session that has nothing under way does next.
    #[inline]
    pub(crate) fn next_transaction(&mut self, index: u32, now: u64) {
        if self.pool.is_some() {
            return self.next_borrower(index, now);
        }
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Idle;
        self.skip_late(index, now);
        let session = &mut self.sessions[index as usize];
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.begins(now)) else { return };
        if !session.active {
            return;
        }
        if stage.quota.is_some_and(|quota| session.ended >= quota) {
            self.has_done_all(index);
            return;
        }
        let begins_now = match (&stage.schedule, stage.plan.arrivals) {
            (Some(schedule), _) => schedule.due_ns() <= now,
            (None, Arrivals::Closed { think_time }) => think_time.is_zero(),
            (None, Arrivals::Open { .. }) => true,
        };
        if begins_now && !takes_one(stage.left.as_deref()) {
            self.has_done_all(index);
            return;
        }
        match (&mut stage.schedule, stage.plan.arrivals) {
            (Some(schedule), _) => {
                let due_ns = schedule.due_ns();
                if due_ns <= now {
                    schedule.advance();
                    self.begin(index, due_ns, now);
                } else {
                    session.queued = true;
                    self.idle.push_back(index);
                }
            }
            (None, Arrivals::Closed { think_time }) if !think_time.is_zero() => {
                session.state = SessionState::Sleeping;
                self.set_timer(index, now + nanoseconds(think_time));
            }
            _ => self.begin(index, now, now),
        }
    }

    /// A client takes no further part in the stage: what it was to do is done.
    #[cold]
    pub(crate) fn has_done_all(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        session.active = false;
        if let Some(stage) = &mut self.stage {
            stage.unfinished -= 1;
        }
        if self.config.hang_up_when_done && session.is_open() {
            session.hang_up(&self.poller, u64::from(index));
            session.state = SessionState::Aborted;
        }
    }

    /// The server refused a statement.
    fn statement_failed(&mut self, index: u32, error: ServerError, now: u64) {
        let session = &mut self.sessions[index as usize];
        let asked = was_asked(session, now);
        let status = session.scanner.status_after(&error);
        let Some(transaction) = &mut session.transaction else { return };
        transaction.commit_in_flight = false;
        let load_goes_on = self.stage.as_ref().is_some_and(Running::load_goes_on);
        let cancelled = is_cancelled(&error) && asked;
        transaction.cancelled = cancelled;
        let may_retry = is_retried(&error) && transaction.tries < self.config.tries_max && load_goes_on;
        let reaction = session.client.failed(&StatementFailure {
            error: &error,
            statements: session.scanner.answer().statements,
            status,
            tries: transaction.tries,
            may_retry,
            load_goes_on,
            due_ns: transaction.scheduled_ns,
            now_ns: now,
        });
        let reaction = if cancelled && reaction == Reaction::Abort { Reaction::Fail } else { reaction };
        if !cancelled {
            self.recorder.current.error(ErrorCode::from(&error));
            self.tell_error(SessionError::Server(error));
        }
        let ends_transaction = matches!(reaction, Reaction::Retry | Reaction::Fail);
        match self.workload.recovery() {
            Some(recovery) if status != TransactionStatus::Idle && ends_transaction => {
                let session = &mut self.sessions[index as usize];
                let mut request =
                    Request::new(&mut self.outbox, &self.statements, &mut session.prepared_statements);
                request.execute(recovery, &[]);
                let sent = request.sent();
                session.state = SessionState::Recovering(reaction);
                session.keeps_rows = false;
                session.scanner.start(sent.syncs, &self.outbox.expects);
                if let Err(error) = session.send(&self.outbox.bytes, &self.poller, u64::from(index)) {
                    self.lost(index, error, now);
                }
            }
            _ => self.recovered(index, reaction, now),
        }
    }

    /// The failed transaction is out of the way, or was never in it.
    fn recovered(&mut self, index: u32, reaction: Reaction, now: u64) {
        let session = &mut self.sessions[index as usize];
        match (&mut session.transaction, reaction) {
            (Some(transaction), Reaction::Retry) => {
                transaction.tries += 1;
                self.recorder.current.retry(transaction.type_index);
                session.client.begin_again();
                self.step(index, None, now);
            }
            (_, Reaction::Abort) => {
                self.fail_transaction(index, now);
                self.give_up(index);
            }
            (_, Reaction::GoOn) => {
                let answer = session.scanner.answer();
                self.step(index, Some(&answer), now);
            }
            _ => self.fail(index, now),
        }
    }

    /// The transaction has failed for good.
    fn fail(&mut self, index: u32, now: u64) {
        let session = &mut self.sessions[index as usize];
        let Some(transaction) = &session.transaction else { return };
        session.client.ended(&told(transaction, now, false));
        session.failures_in_a_row += u32::from(!transaction.cancelled);
        let gives_up = session.failures_in_a_row >= self.config.failures_in_a_row_max;
        self.fail_transaction(index, now);
        if gives_up { self.abort(index) } else { self.next_transaction(index, now) }
    }

    /// Counts the transaction under way as failed.
    pub(crate) fn fail_transaction(&mut self, index: u32, now: u64) {
        let Some(transaction) = self.sessions[index as usize].transaction.take() else { return };
        if transaction.cancelled {
            self.recorder.current.cancelled(transaction.type_index);
        } else {
            self.recorder.current.failed(ended(&transaction, now));
        }
        self.transaction_ended(index);
    }

    /// The client takes no further part, and its connections are closed.
    pub(crate) fn give_up(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        session.hang_up(&self.poller, u64::from(index));
        session.hang_up_others(&self.poller, u64::from(index));
        self.abort(index);
    }

    fn abort(&mut self, index: u32) {
        if self.pool.is_some() {
            return self.member_gave_up(index, now_ns());
        }
        let session = &mut self.sessions[index as usize];
        session.state = SessionState::Aborted;
        session.lost_ns = None;
        if let Some(stage) = self.stage.as_mut().filter(|_| session.active) {
            session.active = false;
            stage.unfinished -= 1;
            stage.finished.clients_aborted += 1;
        }
    }

    /// Skips what was due too long ago, if the plan wants that. What a client skips counts to its quota.
    fn skip_late(&mut self, index: u32, now: u64) {
        let Some(late) = self.config.skip_later_than else { return };
        let session = &mut self.sessions[index as usize];
        let Some(stage) = self.stage.as_mut().filter(|stage| session.active && stage.begins(now)) else {
            return;
        };
        let quota = stage.quota.unwrap_or(u64::MAX);
        let Some(schedule) = &mut stage.schedule else { return };
        let too_late_ns = now.saturating_sub(nanoseconds(late));
        while schedule.due_ns() < too_late_ns && session.ended < quota {
            session.client.skipped(schedule.due_ns(), now);
            schedule.advance();
            session.ended += 1;
            self.recorder.current.skipped += 1;
        }
    }

    /// The connection broke: the transaction has failed, or nobody knows.
    pub(crate) fn end_lost_transaction(&mut self, index: u32, now: u64) {
        let session = &mut self.sessions[index as usize];
        session.queued = false;
        let Some(transaction) = session.transaction.take() else { return };
        if transaction.commit_in_flight {
            self.recorder.current.unknown(transaction.type_index);
        } else if transaction.cancelled {
            self.recorder.current.cancelled(transaction.type_index);
        } else {
            self.recorder.current.failed(ended(&transaction, now));
        }
        self.transaction_ended(index);
    }
}

/// What the client hears of its transaction's end.
#[inline]
fn told(transaction: &Transaction, now: u64, well: bool) -> EndedTransaction {
    EndedTransaction {
        well,
        due_ns: transaction.scheduled_ns,
        begun_ns: transaction.sent_ns,
        ended_ns: now,
        tries: transaction.tries,
    }
}

impl LoadThread {
    /// Gives up a transaction because the stage is stopped, and with it the connection. It counts nowhere, unless it may
    /// have been done.
    pub(crate) fn drop_transaction(&mut self, index: u32) {
        let session = &mut self.sessions[index as usize];
        session.close();
        session.queued = false;
        let Some(transaction) = session.transaction.take() else { return };
        if transaction.commit_in_flight {
            self.recorder.current.unknown(transaction.type_index);
        }
        self.transaction_ended(index);
    }
}

#[inline]
fn ended(transaction: &Transaction, now: u64) -> TransactionRecord {
    TransactionRecord {
        type_index: transaction.type_index,
        scheduled_ns: transaction.scheduled_ns,
        sent_ns: transaction.sent_ns,
        waited_ns: transaction.waited_ns,
        ended_ns: now,
    }
}
