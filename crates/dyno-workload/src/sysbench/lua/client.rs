//! A thread of a script as the engine's client: what its coroutine asks becomes requests, and answers go back.

use std::sync::Arc;

use dyno_engine::error::SessionError;
use dyno_engine::request::{QueryKind, Request, Value};
use dyno_engine::workload::{
    Answer, Client, EndedTransaction, Reaction, Reply as Part, StatementFailure, Step, TransactionStatus,
    TransactionType,
};
use dyno_wire::libpq_text;

use super::error::LuaError;
use super::kind::{of_text, outcome, outcome_of_prepared};
use super::load::{LuaShared, Placed};
use super::own_counts::{count_own, counted};
use super::question::{LuaReply, ParameterValues, Question, Refused};
use super::rows::AnswerRows;
use super::state::{LuaState, Seat, Task, text_of};
use crate::durable::Durable;
use crate::sysbench::counters::ClientCounters;

/// What MySQL's client library says of a lost connection.
const CR_SERVER_LOST: u16 = 2013;
/// SQLSTATE of the same on PostgreSQL.
const CONNECTION_FAILURE: &str = "08006";
/// MySQL's number for a statement that is not prepared on this connection.
const UNKNOWN_STATEMENT: u16 = 1243;

pub(super) struct LuaClient {
    shared: Arc<LuaShared>,
    /// `None` where the state could not be made, which was told.
    place: Option<Placed>,
    counters: ClientCounters,
    phase: Phase,
    /// What the coroutine waits for.
    waits: Option<Wait>,
    refused: Option<Refused>,
    /// What it asked while there was no connection.
    pending: Option<Question>,
    online: bool,
    /// The script waits for a connection that it asked for.
    connecting: bool,
    /// The number of the connection in use.
    connection: u16,
    /// The numbers of connections that were lost, of which the script has not heard.
    lost: Vec<u16>,
    /// A connection that the script did not ask for is opened.
    reconnecting: bool,
    rows: AnswerRows,
    /// What is prepared under the handles 1, 2, ….
    prepared: Vec<Sent>,
    /// The text that was last to be prepared.
    preparing: Vec<u8>,
    /// Handles to forget with the next request on their connection.
    forgotten: Vec<(u16, u32)>,
    /// The connections on which a transaction is open.
    within: Vec<u16>,
}

/// Where the coroutine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has run.
    New,
    /// In the transaction that is `thread_init`.
    Starting,
    /// Between two events.
    Ready,
    InEvent,
    /// The engine has given up the event, but the coroutine is still within it.
    Adrift,
    Ended,
}

/// A statement of the script, sent or prepared.
#[derive(Debug, Clone, Copy)]
struct Sent {
    kind: QueryKind,
    durable: Durable,
    /// The server has said that it returns rows.
    has_result: bool,
}

impl Sent {
    const NONE: Self = Self { kind: QueryKind::Other, durable: Durable::Nothing, has_result: false };

    fn of(sql: &[u8]) -> Self {
        let (kind, durable) = of_text(sql);
        Self { kind, durable, has_result: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Query,
    /// An execution of what is prepared, which returns rows or not.
    Execution {
        has_result: bool,
    },
    Prepare {
        handle: u32,
    },
    /// For what has no result: a connection, a sleep.
    Nothing,
}

impl LuaClient {
    pub(super) fn new(shared: Arc<LuaShared>, place: Option<Placed>, counters: ClientCounters) -> Self {
        Self {
            shared,
            place,
            counters,
            phase: Phase::New,
            waits: None,
            refused: None,
            pending: None,
            online: false,
            connecting: false,
            connection: 0,
            lost: Vec::new(),
            reconnecting: false,
            rows: AnswerRows::new(),
            prepared: Vec::new(),
            preparing: Vec::new(),
            forgotten: Vec::new(),
            within: Vec::new(),
        }
    }

    /// Answers what the coroutine waits for, and returns what it wants next.
    fn go_on(&mut self, answer: Option<&Answer>, state: &LuaState, seat: Seat) -> Question {
        if let Some(question) = self.pending.take() {
            return question;
        }
        let Some(wait) = self.waits.take() else {
            return match self.phase {
                Phase::New => {
                    self.phase = Phase::Starting;
                    state.start(seat, Task::Load)
                }
                _ => state.resume(seat, &LuaReply::Done),
            };
        };
        if let Some(refused) = self.refused.take() {
            return state.resume(seat, &LuaReply::Refused(&refused));
        }
        if let Some(answer) = answer {
            self.note_status(answer.status);
        }
        match (wait, answer) {
            (Wait::Prepare { handle }, Some(answer)) => {
                if let Some(prepared) = self.prepared.get_mut(handle as usize) {
                    prepared.has_result = answer.results > 0;
                }
                state.resume(seat, &LuaReply::Done)
            }
            (Wait::Query | Wait::Execution { .. }, Some(answer)) => {
                let outcome = match wait {
                    Wait::Execution { has_result } => {
                        outcome_of_prepared(has_result, answer.results, answer.affected)
                    }
                    _ => outcome(answer.results > 0, answer.affected),
                };
                self.counters.query(outcome);
                if outcome != QueryKind::Read {
                    return state.resume(seat, &LuaReply::Done);
                }
                let (rows_count, columns, rows) = (answer.rows, self.rows.columns, self.rows.bytes());
                state.resume(seat, &LuaReply::Result { rows_count, columns, rows })
            }
            _ => state.resume(seat, &LuaReply::Done),
        }
    }

    /// Asks the coroutine until it wants something of the engine.
    fn run(
        &mut self,
        answer: Option<&Answer>,
        request: &mut Request<'_>,
        state: &LuaState,
        seat: Seat,
    ) -> Step {
        let mut question = self.go_on(answer, state, seat);
        loop {
            if is_for_the_server(&question) && self.take_loss() {
                let refused = self.lost_connection("the connection was lost, and opened anew");
                question = state.resume(seat, &LuaReply::Refused(&refused));
                continue;
            }
            let reply = match question {
                Question::Query { sql, wanted } => {
                    let sql = &*sql.as_bytes();
                    self.forget(request);
                    request.query(sql);
                    let sent = Sent::of(sql);
                    return self.sends(Wait::Query, sent, wanted, request);
                }
                Question::Execute { handle, .. } if !request.is_prepared(handle) => {
                    question = state.resume(seat, &LuaReply::Refused(&self.unknown_statement()));
                    continue;
                }
                Question::Execute { handle, wanted, values } => {
                    let known = self.prepared.get(handle as usize).copied().unwrap_or(Sent::NONE);
                    self.forget(request);
                    execute(handle, &values, request);
                    let wait = Wait::Execution { has_result: known.has_result };
                    return self.sends(wait, known, wanted, request);
                }
                Question::Prepare { handle, sql } => {
                    let sql = &*sql.as_bytes();
                    let slot = handle as usize;
                    if self.prepared.len() <= slot {
                        self.prepared.resize(slot + 1, Sent::NONE);
                    }
                    self.prepared[slot] = Sent::of(sql);
                    // The handle may be one of those that were given up.
                    self.forget(request);
                    request.prepare(handle, sql);
                    self.preparing.clear();
                    self.preparing.extend_from_slice(sql);
                    self.waits = Some(Wait::Prepare { handle });
                    return Step::Send;
                }
                Question::Forget { connection, handle } => {
                    self.forgotten.push((connection, handle));
                    LuaReply::Done
                }
                Question::Connect { connection } | Question::Reconnect { connection } => {
                    if matches!(question, Question::Reconnect { .. }) {
                        self.counters.reconnect();
                    }
                    self.waits = Some(Wait::Nothing);
                    (self.connecting, self.connection) = (true, connection);
                    self.take_loss();
                    self.forget_all();
                    return Step::Connect(connection);
                }
                Question::Disconnect { connection } => {
                    (self.connection, self.waits) = (connection, Some(Wait::Nothing));
                    self.take_loss();
                    self.forget_all();
                    return Step::Disconnect(connection);
                }
                Question::Use { connection } => {
                    (self.connection, self.waits) = (connection, Some(Wait::Nothing));
                    return Step::Use(connection);
                }
                Question::Rollback => {
                    request.query(b"ROLLBACK");
                    self.waits = Some(Wait::Nothing);
                    return Step::Send;
                }
                Question::Sleep(time) => {
                    self.waits = Some(Wait::Nothing);
                    return Step::Sleep(time);
                }
                Question::Restart => {
                    self.waits = Some(Wait::Nothing);
                    return Step::Sleep(std::time::Duration::ZERO);
                }
                Question::Count { counter, by } => {
                    count_own(&self.counters, counter, by);
                    LuaReply::Done
                }
                Question::Counted { thread, counter } => {
                    LuaReply::number(counted(&self.counters, thread, counter))
                }
                Question::Ready => return Step::Done,
                Question::EventDone { stop: false } => return Step::Done,
                // An event that ends its thread counts nowhere, as with sysbench.
                Question::EventDone { stop: true } | Question::ThreadDone => {
                    self.event_failed();
                    return Step::DoneAndAbort;
                }
                Question::Ended { .. } => {
                    self.phase = Phase::Ended;
                    return Step::Abort;
                }
                Question::Failed(error) => {
                    self.phase = Phase::Ended;
                    self.shared.fail(error);
                    return Step::Abort;
                }
            };
            question = state.resume(seat, &reply);
        }
    }

    #[inline]
    fn sends(
        &mut self,
        wait: Wait,
        sent: Sent,
        wanted: super::question::RowsWanted,
        request: &mut Request<'_>,
    ) -> Step {
        request.counts_as(sent.kind);
        self.rows.start(wanted);
        if self.rows.bytes().is_some() {
            request.keep_rows();
        }
        self.waits = Some(wait);
        let is_within = self.within.contains(&self.connection);
        sent.durable.step(is_within)
    }

    fn forget(&mut self, request: &mut Request<'_>) {
        let used = self.connection;
        for (_, handle) in self.forgotten.extract_if(.., |(connection, _)| *connection == used) {
            request.forget(handle);
        }
    }

    /// Whether the connection in use was lost without the script having heard of it, which it now has.
    #[inline]
    fn take_loss(&mut self) -> bool {
        let at = self.lost.iter().position(|lost| *lost == self.connection);
        at.map(|at| self.lost.swap_remove(at)).is_some()
    }

    /// What is to be forgotten on the connection in use has gone with it.
    fn forget_all(&mut self) {
        let used = self.connection;
        self.forgotten.retain(|(connection, _)| *connection != used);
    }

    /// Whether a transaction is open on the connection in use.
    fn note_status(&mut self, status: TransactionStatus) {
        let used = self.connection;
        self.within.retain(|connection| *connection != used);
        if status != TransactionStatus::Idle {
            self.within.push(used);
        }
    }

    fn lost_connection(&self, message: &str) -> Refused {
        let mysql = self.shared.mysql;
        Refused {
            ignorable: self.shared.run.ignored.reconnects(),
            open: false,
            number: if mysql { CR_SERVER_LOST } else { 0 },
            state: if mysql { "HY000" } else { CONNECTION_FAILURE }.to_owned(),
            message: message.to_owned(),
        }
    }

    /// What MySQL would say of a statement that went with an earlier connection.
    fn unknown_statement(&self) -> Refused {
        self.counters.ignored_error();
        Refused {
            ignorable: self.shared.run.ignored.ignores_number(UNKNOWN_STATEMENT),
            open: false,
            number: UNKNOWN_STATEMENT,
            state: "HY000".to_owned(),
            message: "the statement was prepared on a connection that is closed, and not again on this one"
                .to_owned(),
        }
    }

    /// A lost connection that will not be opened again ends the run, whatever the script was about to do.
    fn fail_without_connection(&mut self, error: &SessionError) {
        self.phase = Phase::Ended;
        let Refused { number, state, message, .. } = self.lost_connection(&error.to_string());
        let text = format!("SQL error, errno = {number}, state = '{state}': {message}");
        self.shared.fail(LuaError::new(Some("event".to_owned()), text));
    }

    /// What the script waits for will not come.
    fn tell_lost(&mut self, refused: &Refused) {
        self.waits = None;
        let Some((state, seat)) = self.place.clone() else { return };
        match state.resume(seat, &LuaReply::Refused(refused)) {
            Question::Failed(error) => {
                self.phase = Phase::Ended;
                self.shared.fail(error);
            }
            question => self.pending = Some(question),
        }
    }

    fn event_failed(&mut self) {
        if self.phase == Phase::InEvent {
            self.phase = Phase::Adrift;
            self.counters.event_failed();
        }
    }
}

fn is_for_the_server(question: &Question) -> bool {
    matches!(question, Question::Query { .. } | Question::Prepare { .. } | Question::Execute { .. })
}

/// Values stand in an array where there are few, as nearly always.
#[inline]
fn execute(handle: u32, values: &ParameterValues, request: &mut Request<'_>) {
    const FEW: usize = 4;
    let text = |index| values.get(index).and_then(text_of);
    if values.len() <= FEW {
        let texts: [_; FEW] = std::array::from_fn(text);
        let few: [_; FEW] = std::array::from_fn(|index| bound(values.get(index), texts[index].as_deref()));
        request.execute_prepared(handle, &few[..values.len()]);
        return;
    }
    let texts: Vec<_> = (0..values.len()).map(text).collect();
    let all: Vec<_> =
        texts.iter().enumerate().map(|(index, text)| bound(values.get(index), text.as_deref())).collect();
    request.execute_prepared(handle, &all);
}

#[inline]
fn bound<'a>(value: Option<&mlua::Value>, text: Option<&'a [u8]>) -> Value<'a> {
    match (text, value) {
        (Some(text), _) => Value::Text(text),
        (None, Some(mlua::Value::Integer(value))) => Value::Integer(*value),
        // Integers are what the parameter's type makes them.
        (None, Some(mlua::Value::Number(value))) => Value::Integer(*value as i64),
        _ => Value::Null,
    }
}

impl Client for LuaClient {
    fn begin(&mut self) -> TransactionType {
        // Adrift, it goes on with the event that the engine gave up.
        if matches!(self.phase, Phase::Ready | Phase::Adrift) {
            self.phase = Phase::InEvent;
            self.counters.event_begun();
        }
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    #[inline]
    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if self.phase == Phase::Ended {
            return Step::Abort;
        }
        // Lent out, because the client changes while its state runs.
        let Some((state, seat)) = self.place.take() else { return Step::Abort };
        let step = self.run(answer, request, &state, seat);
        self.place = Some((state, seat));
        step
    }

    fn connected(&mut self, _took_ns: u64) {
        (self.online, self.connecting) = (true, false);
        self.note_status(TransactionStatus::Idle);
        if std::mem::take(&mut self.reconnecting) {
            self.counters.reconnect();
        }
    }

    fn reply(&mut self, part: Part<'_>) {
        self.rows.take(&part);
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        let error = failure.error;
        self.counters.ignored_error();
        // sysbench hands on libpq's words here, with the place in the statement, which the log has nowhere else.
        let message = match self.waits {
            Some(Wait::Prepare { .. }) if !self.shared.mysql => {
                let text = libpq_text::server_error(error, Some(&String::from_utf8_lossy(&self.preparing)));
                text.trim_start_matches("ERROR:  ").trim_end().to_owned()
            }
            _ => error.message().to_owned(),
        };
        self.note_status(failure.status);
        self.refused = Some(Refused {
            ignorable: self.shared.run.ignored.ignores(error),
            open: !self.shared.mysql && failure.status == TransactionStatus::Failed,
            number: error.number().unwrap_or(0),
            state: error.state().as_str().to_owned(),
            message,
        });
        // What comes of it is for the script to say.
        Reaction::GoOn
    }

    fn lost(&mut self, error: &SessionError) {
        self.event_failed();
        self.forget_all();
        if matches!(error, SessionError::NotDrained) {
            self.phase = Phase::Ended;
            return;
        }
        if self.connecting {
            self.not_connected(error);
            return;
        }
        // Of further attempts to connect that fail the script hears nothing.
        if !std::mem::take(&mut self.online) {
            return;
        }
        self.reconnecting = true;
        let waited = matches!(self.waits, Some(Wait::Query | Wait::Execution { .. } | Wait::Prepare { .. }));
        if waited {
            self.tell_lost(&self.lost_connection(&error.to_string()));
        } else if self.shared.run.ignored.reconnects() {
            // It may be lost, opened and lost again before the script uses it.
            if !self.lost.contains(&self.connection) {
                self.lost.push(self.connection);
            }
        } else {
            self.fail_without_connection(error);
        }
    }

    /// What comes of it is for the script to say, where it asked for the connection.
    fn not_connected(&mut self, error: &SessionError) -> bool {
        if !std::mem::take(&mut self.connecting) {
            self.lost(error);
            return false;
        }
        (self.shared.run.on_connect_error)(error);
        self.tell_lost(&self.lost_connection(&error.to_string()));
        true
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        match self.phase {
            Phase::InEvent if ended.well => {
                self.phase = Phase::Ready;
                self.counters.event_ended(ended.ended_ns.saturating_sub(ended.due_ns));
            }
            Phase::Starting if ended.well => self.phase = Phase::Ready,
            _ => self.event_failed(),
        }
    }
}
