//! What a client sends next, put into the messages of the server's protocol.

use std::sync::Arc;

use dyno_results::event::Queries;
use dyno_wire::my::reply::Expect;
use dyno_wire::pg::frontend;

pub use dyno_wire::pg::execution::Execution;

pub use crate::statement::{PARAMETERS_MAX, Statement};
pub use crate::value::Value;

use crate::calls::{Calls, StatementId};
use crate::prepared_statements::PreparedStatements;
use crate::statement::Statements;

/// What a statement does, for the count of a run's queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    Read,
    /// One that touches no row counts as [`Other`](Self::Other).
    Write,
    Other,
}

/// Where requests are put together, one after the other; kept so that nothing is allocated anew.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// What is sent.
    pub(crate) bytes: Vec<u8>,
    /// How MySQL answers its commands, in their order.
    pub(crate) expects: Vec<Expect>,
    /// What a driver is to do; then the rest is empty.
    pub(crate) calls: Calls,
    /// A statement's text before its length is known.
    text: Vec<u8>,
    /// What the workload may have executed by its number.
    pub(crate) statements: Arc<Statements>,
}

impl Outbox {
    pub(crate) fn new(bytes: usize, statements: Arc<Statements>) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            expects: Vec::with_capacity(16),
            calls: Calls::default(),
            text: Vec::new(),
            statements,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.expects.clear();
        self.calls.clear();
    }
}

/// What a client sends next: filled by `Client::next`, and sent in one go.
#[derive(Debug)]
pub struct Request<'a> {
    outbox: &'a mut Outbox,
    prepared_statements: &'a mut PreparedStatements,
    pub(crate) sent: SentRequest,
}

impl<'a> Request<'a> {
    pub(crate) fn new(outbox: &'a mut Outbox, prepared_statements: &'a mut PreparedStatements) -> Self {
        outbox.clear();
        Self { outbox, prepared_statements, sent: SentRequest::default() }
    }

    /// Adds `sql` as it is, of one statement or several, in a simple query.
    pub fn query(&mut self, sql: &[u8]) {
        let Outbox { bytes, statements, calls, .. } = &mut *self.outbox;
        match statements.is_for_driver() {
            true => calls.sql(|text| text.extend_from_slice(sql)),
            false => statements.write_query(bytes, sql),
        }
        self.answered_by(Expect::Text);
    }

    /// Adds one execution of `statement` with `values` in the run's protocol mode.
    ///
    /// To PostgreSQL values travel as text with undeclared types, as libpq's and pgbench's do. A statement that the
    /// workload did not list is left out, and the client will be told so by the empty request it sent.
    #[inline]
    pub fn execute(&mut self, statement: StatementId, values: &[i64]) {
        self.add(statement, Some(values), |index| values.get(index).copied().map(Value::Integer));
    }

    /// The same with values of any type.
    pub fn execute_values(&mut self, statement: StatementId, values: &[Value<'_>]) {
        self.add(statement, None, |index| values.get(index).copied());
    }

    /// The same with a value for each index of a parameter.
    pub fn execute_with<'v>(&mut self, statement: StatementId, value: impl Fn(usize) -> Option<Value<'v>>) {
        self.add(statement, None, value);
    }

    #[inline]
    fn add<'v>(
        &mut self,
        statement: StatementId,
        integers: Option<&[i64]>,
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) {
        let Outbox { bytes, text, statements, calls, .. } = &mut *self.outbox;
        if statements.is_for_driver() {
            self.sent.syncs += u32::from(statements.call(calls, statement, value));
            return;
        }
        let numbers = self.prepared_statements.fixed();
        if let Some(expect) = statements.write(bytes, text, statement, numbers, integers, value) {
            self.answered_by(expect);
        }
    }

    /// Says what the statement that was just added does, for the count of the run's queries.
    #[inline]
    pub fn counts_as(&mut self, kind: QueryKind) {
        match kind {
            QueryKind::Read => self.sent.queries.reads += 1,
            QueryKind::Write => self.sent.queries.writes += 1,
            QueryKind::Other => self.sent.queries.other += 1,
        }
    }

    /// Has the server prepare `sql`, with parameters as its protocol has them (`$1` or `?`), under a number of the
    /// client's choice. It lasts as long as the connection. A request that prepares does nothing else.
    pub fn prepare(&mut self, handle: u32, sql: &[u8]) {
        let Outbox { bytes, statements, .. } = &mut *self.outbox;
        statements.write_own_preparation(bytes, self.prepared_statements, handle, sql);
        self.answered_by(Expect::Prepared);
    }

    /// Whether something is prepared under `handle` on this connection. PostgreSQL is not asked: it says so itself, and
    /// here it is always taken for granted.
    pub fn is_prepared(&self, handle: u32) -> bool {
        self.outbox.statements.is_prepared(self.prepared_statements, handle)
    }

    /// Executes what was prepared under `handle`. On MySQL a statement that was not is left out.
    pub fn execute_prepared(&mut self, handle: u32, values: &[Value<'_>]) {
        let Outbox { bytes, statements, .. } = &mut *self.outbox;
        if statements.write_own(bytes, self.prepared_statements, handle, values) {
            self.answered_by(Expect::Binary);
        }
    }

    /// Has the server forget what was prepared under `handle`. MySQL does not answer that, so something else must be
    /// in the same request; PostgreSQL answers it with that.
    pub fn forget(&mut self, handle: u32) {
        let Outbox { bytes, statements, .. } = &mut *self.outbox;
        statements.write_own_end(bytes, self.prepared_statements, handle);
    }

    /// Has the server make statement `name` from `sql`, its parameters' types undeclared. PostgreSQL only, as are
    /// [`run`](Self::run) and [`sync`](Self::sync), which closes them and has the server answer.
    pub fn parse(&mut self, name: &str, sql: &[u8]) {
        frontend::parse(&mut self.outbox.bytes, name, sql, &[]);
    }

    /// Runs a statement with as many parameters as `value` appends the texts of; NULL where it returns false. `syncs`: and closes it.
    #[inline]
    pub fn run(
        &mut self,
        execution: &Execution,
        parameters: usize,
        syncs: bool,
        value: impl FnMut(usize, &mut Vec<u8>) -> bool,
    ) {
        execution.write_with(&mut self.outbox.bytes, parameters, syncs, value);
        self.sent.syncs += u32::from(syncs);
    }

    /// Closes what was added since the last sync: the server answers it, and after an error goes on behind it.
    pub fn sync(&mut self) {
        frontend::sync(&mut self.outbox.bytes);
        self.sent.syncs += 1;
    }

    /// Hands the rows of the answer, their columns and the statements' ends to `Client::reply`.
    pub fn keep_rows(&mut self) {
        self.sent.keeps_rows = true;
    }

    /// Asks for the time of the answer's first row: see [`crate::workload::EndedTransaction::first_row_ns`].
    pub fn time_first_row(&mut self) {
        self.sent.times_first_row = true;
    }

    /// The client has done nothing since the answer that could have taken time: a transaction that has ended well ended when it came.
    #[inline]
    pub fn took_no_time(&mut self) {
        self.sent.took_no_time = true;
    }

    /// Takes out what was added and is not to be sent yet.
    #[must_use]
    pub fn withdraw(&mut self) -> Withdrawn {
        let withdrawn = Withdrawn {
            bytes: self.outbox.bytes.clone(),
            expects: self.outbox.expects.clone(),
            syncs: std::mem::take(&mut self.sent.syncs),
            keeps_rows: std::mem::take(&mut self.sent.keeps_rows),
        };
        self.outbox.clear();
        withdrawn
    }

    /// Adds what was withdrawn earlier.
    pub fn resume(&mut self, withdrawn: &Withdrawn) {
        self.outbox.bytes.extend_from_slice(&withdrawn.bytes);
        self.outbox.expects.extend_from_slice(&withdrawn.expects);
        self.sent.syncs += withdrawn.syncs;
        self.sent.keeps_rows |= withdrawn.keeps_rows;
    }

    #[inline]
    fn answered_by(&mut self, expect: Expect) {
        self.sent.syncs += 1;
        let Outbox { statements, expects, .. } = &mut *self.outbox;
        statements.expect(expects, expect, 1);
    }
}

/// What is to be known of a request once it is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SentRequest {
    /// How many ReadyForQuery will answer it; on MySQL, how many replies.
    pub(crate) syncs: u32,
    /// Whether rows were asked for.
    pub(crate) keeps_rows: bool,
    /// Whether the time of the first row was asked for.
    pub(crate) times_first_row: bool,
    /// See [`Request::took_no_time`].
    pub(crate) took_no_time: bool,
    /// What its statements do, as if all writes found rows.
    pub(crate) queries: Queries,
}

/// Messages that a client holds back, to send them with later ones.
#[derive(Debug, Default)]
pub struct Withdrawn {
    bytes: Vec<u8>,
    expects: Vec<Expect>,
    syncs: u32,
    keeps_rows: bool,
}
