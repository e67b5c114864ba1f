//! One virtual client: goes through the groups of an event, draws what each statement needs and counts the answers.

use std::sync::Arc;

use dyno_engine::error::SessionError;
use dyno_engine::request::{QueryKind, Request, Value};
use dyno_engine::workload::{
    Answer, Client, EndedTransaction, Reaction, StatementFailure, StatementId, Step, TransactionType,
};

use dyno_target::product::AutoIncrement;

use crate::random::Random;

use super::counters::ClientCounters;
use super::distribution::Sampler;
use super::failure::{FatalError, OnError};
use super::load::SysbenchShared;
use super::plan::{StatementGroup, StatementKind};
use super::text::{self, C_BYTES, C_TEMPLATE, PAD_BYTES, PAD_TEMPLATE};
use super::unique::UniqueNumbers;

/// Room for the text of a new row.
const INSERT_BYTES: usize = 320;
/// Tries of an event that meets an ignored error that the engine does not know as one to try again.
const TRIES_MAX: u32 = 10;

#[derive(Debug)]
pub(super) struct SysbenchClient {
    shared: Arc<SysbenchShared>,
    random: Random,
    sampler: Sampler,
    unique: UniqueNumbers,
    counters: Option<ClientCounters>,
    /// The group that is sent from, how often its statement still is, and the table that was chosen for it, from 0.
    group: usize,
    left: u32,
    table: u16,
    /// The row that was just deleted and is put back next.
    deleted: Option<i64>,
    /// What was sent and not yet answered.
    sent: Option<Sent>,
    /// An event has begun and not ended.
    in_event: bool,
    was_lost: bool,
    /// The part of the table that `select_random_…` draws from.
    segment: (i64, i64),
    values: Vec<i64>,
    text: Vec<u8>,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

/// A statement that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    kind: QueryKind,
    /// `None` for one that is not prepared.
    statement: Option<u16>,
}

impl SysbenchClient {
    pub(super) fn new(
        shared: Arc<SysbenchShared>,
        id: u32,
        seed: u64,
        counters: Option<ClientCounters>,
    ) -> Self {
        let rows = shared.options.table_size as f64 / f64::from(shared.segments);
        let start = rows * f64::from(id % shared.segments);
        Self {
            random: Random::of_client(seed, id),
            sampler: shared.options.distribution.sampler(),
            unique: shared.unique.numbers(),
            counters,
            group: 0,
            left: 0,
            table: 0,
            deleted: None,
            sent: None,
            in_event: false,
            was_lost: false,
            segment: (start as i64, (start + rows) as i64),
            values: Vec::with_capacity(shared.plan.parameters_max()),
            text: Vec::with_capacity(INSERT_BYTES),
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
            shared,
        }
    }

    fn start(&mut self) {
        (self.group, self.left, self.deleted, self.sent) = (0, 0, None, None);
    }

    /// The event that was under way ends without success.
    fn event_failed(&mut self) {
        if std::mem::take(&mut self.in_event) {
            self.counted(ClientCounters::event_failed);
        }
    }

    #[inline]
    fn counted(&self, count: impl FnOnce(&ClientCounters)) {
        if let Some(counters) = &self.counters {
            count(counters);
        }
    }

    #[inline]
    fn count(&self, sent: Sent, answer: &Answer) {
        if let Some(counters) = &self.counters {
            counters.query(match sent.kind {
                QueryKind::Write if answer.affected == 0 => QueryKind::Other,
                kind => kind,
            });
        }
    }

    /// An id, or a value of `k`.
    #[inline]
    fn draw_id(&mut self) -> i64 {
        self.sampler.draw(&mut self.random, 1, self.shared.options.table_size as i64)
    }

    #[inline]
    fn draw_c(&mut self) {
        self.c.copy_from_slice(C_TEMPLATE.as_bytes());
        text::fill(&mut self.random, &mut self.c);
    }

    #[inline]
    fn draw_pad(&mut self) {
        self.pad.copy_from_slice(PAD_TEMPLATE.as_bytes());
        text::fill(&mut self.random, &mut self.pad);
    }

    /// Enters the group's next repetition: at its beginning the table is chosen. `false` once there were `count`.
    #[inline]
    fn repeats(&mut self, count: u32) -> bool {
        match self.left {
            // Before the first one.
            0 => {
                self.table = self.random.below(u64::from(self.shared.options.tables)) as u16;
                self.left = count;
                true
            }
            1 => {
                self.left = 0;
                self.group += 1;
                false
            }
            _ => {
                self.left -= 1;
                true
            }
        }
    }

    /// Puts the next statement into the request; `None` at the event's end.
    #[inline]
    fn put_next(&mut self, request: &mut Request<'_>) -> Option<Sent> {
        loop {
            let group = *self.shared.plan.groups().get(self.group)?;
            let sent = match group {
                StatementGroup::Begin => self.put_begin(request),
                StatementGroup::Commit => self.put_commit(request),
                StatementGroup::NewRow => self.put_new_row(request),
                StatementGroup::DeleteInsert { insert, .. } if let Some(id) = self.deleted.take() => {
                    self.put_insert(insert + self.table, id, request)
                }
                StatementGroup::DeleteInsert { delete, count, .. } if self.repeats(count) => {
                    let id = self.draw_id();
                    self.deleted = Some(id);
                    self.put_integers(delete + self.table, &[id], QueryKind::Write, request)
                }
                StatementGroup::Repeat { kind, first, count } if self.repeats(count) => {
                    self.put_one(kind, first + self.table, request)
                }
                StatementGroup::DeleteInsert { .. } | StatementGroup::Repeat { .. } => continue,
            };
            request.counts_as(sent.kind);
            return Some(sent);
        }
    }

    fn put_begin(&mut self, request: &mut Request<'_>) -> Sent {
        self.group += 1;
        let statement = self.shared.plan.begin();
        match statement {
            Some(begin) => request.execute(StatementId(begin), &[]),
            None => request.query(self.shared.begin.as_bytes()),
        }
        Sent { kind: QueryKind::Other, statement }
    }

    fn put_commit(&mut self, request: &mut Request<'_>) -> Sent {
        self.group += 1;
        let commit = self.shared.plan.commit();
        self.put_integers(commit, &[], QueryKind::Other, request)
    }

    #[inline]
    fn put_integers(
        &mut self,
        statement: u16,
        values: &[i64],
        kind: QueryKind,
        request: &mut Request<'_>,
    ) -> Sent {
        request.execute(StatementId(statement), values);
        Sent { kind, statement: Some(statement) }
    }

    #[inline]
    fn put_one(&mut self, kind: StatementKind, statement: u16, request: &mut Request<'_>) -> Sent {
        match kind {
            StatementKind::Point => {
                let id = self.draw_id();
                self.put_integers(statement, &[id], QueryKind::Read, request)
            }
            StatementKind::IndexUpdate | StatementKind::Delete => {
                let id = self.draw_id();
                self.put_integers(statement, &[id], QueryKind::Write, request)
            }
            StatementKind::SimpleRange
            | StatementKind::SumRange
            | StatementKind::OrderRange
            | StatementKind::DistinctRange => {
                let id = self.draw_id();
                let last = id + i64::from(self.shared.options.range_size) - 1;
                self.put_integers(statement, &[id, last], QueryKind::Read, request)
            }
            StatementKind::NonIndexUpdate => {
                self.draw_c();
                let id = self.draw_id();
                let values = [Value::Text(&self.c), Value::Integer(id)];
                request.execute_values(StatementId(statement), &values);
                Sent { kind: QueryKind::Write, statement: Some(statement) }
            }
            StatementKind::Insert => {
                let id = self.draw_id();
                self.put_insert(statement, id, request)
            }
            StatementKind::RandomPoints | StatementKind::RandomRanges => {
                self.put_list(kind, statement, request)
            }
        }
    }

    fn put_insert(&mut self, statement: u16, id: i64, request: &mut Request<'_>) -> Sent {
        let k = self.draw_id();
        self.draw_c();
        self.draw_pad();
        let values = [Value::Integer(id), Value::Integer(k), Value::Text(&self.c), Value::Text(&self.pad)];
        request.execute_values(StatementId(statement), &values);
        Sent { kind: QueryKind::Write, statement: Some(statement) }
    }

    /// Points or ranges from the client's own part of the table.
    fn put_list(&mut self, kind: StatementKind, statement: u16, request: &mut Request<'_>) -> Sent {
        let (low, high) = self.segment;
        let options = &self.shared.options;
        self.values.clear();
        if kind == StatementKind::RandomPoints {
            for _ in 0..options.random_points {
                self.values.push(self.sampler.draw(&mut self.random, low, high));
            }
        } else {
            for _ in 0..options.number_of_ranges {
                let first = self.sampler.draw(&mut self.random, low, high);
                self.values.extend([first, first + i64::from(options.delta)]);
            }
        }
        request.execute(StatementId(statement), &self.values);
        Sent { kind: QueryKind::Read, statement: Some(statement) }
    }

    /// A row with a number of its own, in the words that sysbench sends.
    fn put_new_row(&mut self, request: &mut Request<'_>) -> Sent {
        self.group += 1;
        let table = self.random.below(u64::from(self.shared.options.tables)) + 1;
        let k = self.draw_id();
        let mut digits = itoa::Buffer::new();
        self.text.clear();
        self.text.extend_from_slice(b"INSERT INTO sbtest");
        self.text.extend_from_slice(digits.format(table).as_bytes());
        match (self.shared.options.auto_inc, self.shared.auto_increment) {
            // What sysbench says to MySQL.
            (true, AutoIncrement::AutoIncrement) => {
                self.text.extend_from_slice(b" (id, k, c, pad) VALUES (0, ");
            }
            (true, _) => self.text.extend_from_slice(b" (k, c, pad) VALUES ("),
            (false, _) => {
                let id = i64::from(self.unique.draw()) + i64::from(i32::MIN);
                self.text.extend_from_slice(b" (id, k, c, pad) VALUES (");
                self.text.extend_from_slice(digits.format(id).as_bytes());
                self.text.extend_from_slice(b", ");
            }
        }
        self.text.extend_from_slice(digits.format(k).as_bytes());
        self.text.extend_from_slice(b", '");
        text::append(C_TEMPLATE, &mut self.random, &mut self.text);
        self.text.extend_from_slice(b"', '");
        text::append(PAD_TEMPLATE, &mut self.random, &mut self.text);
        self.text.extend_from_slice(b"')");
        request.query(&self.text);
        Sent { kind: QueryKind::Write, statement: None }
    }

    /// Whether the answer to `sent` may make something durable.
    #[inline]
    fn commits(&self, sent: Sent) -> bool {
        let plan = &self.shared.plan;
        match plan.is_transactional() {
            true => self.shared.test.writes() && sent.statement == Some(plan.commit()),
            false => sent.kind == QueryKind::Write,
        }
    }

    /// The text of what was sent last.
    fn last_query(&self) -> String {
        match self.sent.map(|sent| sent.statement) {
            Some(Some(statement)) => {
                self.shared.texts.get(usize::from(statement)).cloned().unwrap_or_default()
            }
            Some(None) if self.shared.test == super::Test::Insert => {
                String::from_utf8_lossy(&self.text).into_owned()
            }
            Some(None) => self.shared.begin.to_owned(),
            None => String::new(),
        }
    }
}

impl Client for SysbenchClient {
    #[inline]
    fn begin(&mut self) -> TransactionType {
        // An event that was given up when its stage was stopped.
        self.event_failed();
        self.start();
        self.in_event = true;
        self.counted(ClientCounters::event_begun);
        TransactionType(0)
    }

    /// sysbench begins an event anew with new draws.
    fn begin_again(&mut self) {
        self.start();
    }

    #[inline]
    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if let (Some(sent), Some(answer)) = (self.sent.take(), answer) {
            self.count(sent, answer);
        }
        self.sent = self.put_next(request);
        match self.sent {
            None => Step::Done,
            Some(sent) if self.commits(sent) => Step::SendCommit,
            Some(_) => Step::Send,
        }
    }

    fn connected(&mut self, _took_ns: u64) {
        if std::mem::take(&mut self.was_lost) {
            self.counted(ClientCounters::reconnect);
        }
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        let ignored = self.shared.ignored.ignores(failure.error);
        if ignored {
            self.counted(ClientCounters::ignored_error);
        }
        match &self.shared.on_error {
            OnError::Fail => {
                let again = ignored && failure.load_goes_on && failure.tries < TRIES_MAX;
                if failure.may_retry || again { Reaction::Retry } else { Reaction::Fail }
            }
            OnError::EndRun(_) if ignored && failure.load_goes_on => Reaction::Retry,
            OnError::EndRun(_) if ignored => Reaction::Fail,
            OnError::EndRun(fatal) => {
                fatal.note(FatalError::of_server(self.last_query(), failure.error));
                self.event_failed();
                Reaction::Abort
            }
        }
    }

    fn lost(&mut self, error: &SessionError) {
        self.was_lost = true;
        self.event_failed();
        if let OnError::EndRun(fatal) = &self.shared.on_error
            && !self.shared.ignored.reconnects()
        {
            fatal.note(FatalError {
                query: self.last_query(),
                number: None,
                state: String::new(),
                message: error.to_string(),
            });
        }
    }

    #[inline]
    fn ended(&mut self, ended: &EndedTransaction) {
        if !ended.well {
            self.event_failed();
        } else if std::mem::take(&mut self.in_event) {
            self.counted(|counters| counters.event_ended(ended.ended_ns.saturating_sub(ended.due_ns)));
        }
    }
}
