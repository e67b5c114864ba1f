//! What a thread has measured in an interval: transactions and how they ended.

use dyno_results::event::{Queries, TypeInterval};
use dyno_wire::server_error::{ServerError, ServerErrorCode};

use crate::error::SessionError;
use crate::workload::{Answer, Client, EndedTransaction};

/// Different error codes counted apart in one interval of one thread; further ones count as `other`.
const ERROR_CODES_MAX: usize = 64;

/// What an error counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    Server(ServerErrorCode),
    /// The connection broke or the server's bytes made no sense.
    Connection,
    /// The server was asked to cancel what was still under way behind the load, and did not in time.
    NotEnded,
    /// A client could not go on, for a reason of its workload.
    Workload,
    /// One kind too many to be counted apart.
    Other,
}

impl From<&ServerError> for ErrorCode {
    fn from(error: &ServerError) -> Self {
        Self::Server(error.code())
    }
}

impl From<&SessionError> for ErrorCode {
    fn from(error: &SessionError) -> Self {
        match error {
            SessionError::NotDrained => Self::NotEnded,
            SessionError::GaveUp { said: None, .. } => Self::Workload,
            error => error.server_error().map_or(Self::Connection, Self::from),
        }
    }
}

impl ErrorCode {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Server(code) => code.to_string(),
            Self::Connection => "connection".to_owned(),
            Self::NotEnded => "not-ended".to_owned(),
            Self::Workload => "workload".to_owned(),
            Self::Other => "other".to_owned(),
        }
    }
}

/// The transaction under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transaction {
    pub(crate) type_index: usize,
    /// When it was due, monotonic nanoseconds.
    pub(crate) scheduled_ns: u64,
    /// How long its client waited for a connection of a pool.
    pub(crate) waited_ns: u64,
    /// When its first request was sent; a retry does not change it.
    pub(crate) sent_ns: u64,
    /// See [`EndedTransaction::first_row_ns`].
    pub(crate) first_row_ns: Option<u64>,
    pub(crate) tries: u32,
    /// A request whose effects may be durable is unanswered.
    pub(crate) commit_in_flight: bool,
    /// Anything was sent yet.
    pub(crate) sent: bool,
    /// The client has asked for another connection within it: its time runs on.
    pub(crate) reconnected: bool,
    /// What the statements of the request under way do.
    pub(crate) queries: Queries,
    /// A statement of it was cancelled because dyno asked for that.
    pub(crate) cancelled: bool,
}

/// What a transaction counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The same of one that undid what it did, by design.
    RolledBack,
    Failed,
    /// It may have been done: its connection broke before the answer came.
    Unknown,
    Cancelled,
    /// The user has stopped the stage, or nothing of it was done before that ended: nobody counts it.
    Dropped,
}

impl Transaction {
    /// What it counts as when nothing more comes of it.
    pub(crate) fn failure(&self) -> Outcome {
        match self {
            Self { commit_in_flight: true, .. } => Outcome::Unknown,
            Self { cancelled: true, .. } => Outcome::Cancelled,
            _ => Outcome::Failed,
        }
    }

    /// What the client hears of its end.
    #[inline]
    pub(crate) fn told(&self, well: bool, now: u64) -> EndedTransaction {
        EndedTransaction {
            well,
            due_ns: self.scheduled_ns,
            begun_ns: self.sent_ns,
            first_row_ns: self.first_row_ns,
            ended_ns: now,
            tries: self.tries,
        }
    }
}

/// Which times a stage's transactions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Service time alone.
    Closed,
    /// They are due at a time: response time and schedule lag too.
    Open,
    /// And their clients may have to wait for a connection.
    Pooled,
}

/// How connections of a pool were used. Nothing of it changes where there is no pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// There is a pool.
    pub(crate) is_pool: bool,
    /// Open at the interval's end.
    pub(crate) connections: u32,
    /// Connection-nanoseconds lent, and client-nanoseconds waited.
    pub(crate) in_use_ns: u64,
    pub(crate) waiting_ns: u64,
    pub(crate) in_use_max: u32,
    pub(crate) waiting_max: u32,
}

impl Usage {
    /// So many were lent and so many clients waited for so long.
    #[inline]
    pub(crate) fn add(&mut self, in_use: u32, waiting: u32, ns: u64) {
        self.in_use_ns += u64::from(in_use) * ns;
        self.waiting_ns += u64::from(waiting) * ns;
        if ns > 0 {
            self.in_use_max = self.in_use_max.max(in_use);
            self.waiting_max = self.waiting_max.max(waiting);
        }
    }
}

/// What one thread did in one interval.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) index: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) drain: bool,
    pub(crate) times: Times,
    pub(crate) clients: u32,
    pub(crate) cpu_ns: u64,
    pub(crate) reconnects: u64,
    pub(crate) lost_ns: u64,
    pub(crate) backlog: u64,
    pub(crate) skipped: u64,
    pub(crate) pool: Usage,
    pub(crate) types: Vec<TypeInterval>,
    pub(crate) errors: Vec<(ErrorCode, u64)>,
}

impl Record {
    /// Of types with so many counts of the workload's own each.
    pub(crate) fn new(types: impl Iterator<Item = usize>) -> Box<Self> {
        let of_type =
            |(type_index, own)| TypeInterval { type_index, own: vec![0; own], ..TypeInterval::default() };
        Box::new(Self {
            index: 0,
            start_ns: 0,
            end_ns: 0,
            drain: false,
            times: Times::Closed,
            clients: 0,
            cpu_ns: 0,
            reconnects: 0,
            lost_ns: 0,
            backlog: 0,
            skipped: 0,
            pool: Usage::default(),
            types: (0..).zip(types).map(of_type).collect(),
            errors: Vec::with_capacity(ERROR_CODES_MAX + 1),
        })
    }

    /// Begins an interval, of which nothing is known yet.
    pub(crate) fn begin(&mut self, index: u32, times: Times, (start_ns, end_ns): (u64, u64)) {
        (self.index, self.start_ns, self.end_ns, self.drain) = (index, start_ns, end_ns, false);
        self.times = times;
        (self.clients, self.cpu_ns, self.reconnects) = (0, 0, 0);
        (self.lost_ns, self.backlog, self.skipped) = (0, 0, 0);
        self.pool = Usage::default();
        self.types.iter_mut().for_each(TypeInterval::clear);
        self.errors.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        let did_nothing = self.types.iter().all(TypeInterval::is_empty);
        self.errors.is_empty() && self.reconnects == 0 && self.skipped == 0 && did_nothing
    }

    /// Counts a transaction that has ended.
    #[inline]
    pub(crate) fn ended(&mut self, transaction: &Transaction, outcome: Outcome, now: u64) {
        let record = &mut self.types[transaction.type_index];
        let service_ns = now.saturating_sub(transaction.sent_ns);
        match outcome {
            Outcome::Done | Outcome::RolledBack => {
                record.done += 1;
                record.rolled_back += u64::from(outcome == Outcome::RolledBack);
                record.service.record(service_ns);
                if let Some(first_row_ns) = transaction.first_row_ns {
                    record.first_row.record(first_row_ns.saturating_sub(transaction.sent_ns));
                }
                if self.times != Times::Closed {
                    record.response.record(now.saturating_sub(transaction.scheduled_ns));
                    record.lag.record(transaction.sent_ns.saturating_sub(transaction.scheduled_ns));
                }
                if self.times == Times::Pooled {
                    record.wait.record(transaction.waited_ns);
                }
            }
            Outcome::Failed => {
                record.failed += 1;
                record.failed_service.record(service_ns);
            }
            Outcome::Unknown => record.unknown += 1,
            Outcome::Cancelled => record.cancelled += 1,
            Outcome::Dropped => {}
        }
    }

    /// Has its client count what the workload counts within a transaction that has ended well.
    #[inline]
    pub(crate) fn counted(&mut self, type_index: usize, client: &mut dyn Client) {
        let own = &mut self.types[type_index].own;
        if !own.is_empty() {
            client.add_counts(own);
        }
    }

    pub(crate) fn retry(&mut self, type_index: usize) {
        self.types[type_index].retries += 1;
    }

    /// Counts the statements of a request that was answered.
    #[inline]
    pub(crate) fn answered(&mut self, type_index: usize, mut queries: Queries, answer: &Answer) {
        let record = &mut self.types[type_index];
        record.statements += u64::from(answer.statements);
        if queries == Queries::default() {
            return;
        }
        if answer.affected == 0 {
            queries.writes_in_vain = std::mem::take(&mut queries.writes);
            queries.other += queries.writes_in_vain;
        }
        record.queries.get_or_insert_default().add(&queries);
    }

    pub(crate) fn error(&mut self, code: ErrorCode) {
        if let Some((_, count)) = self.errors.iter_mut().find(|(known, _)| *known == code) {
            *count += 1;
        } else if self.errors.len() < ERROR_CODES_MAX || code == ErrorCode::Other {
            self.errors.push((code, 1));
        } else {
            self.error(ErrorCode::Other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_returned_a_row_has_a_time_to_the_first() {
        let mut record = Record::new(std::iter::once(0));
        record.begin(0, Times::Closed, (0, 1_000_000_000));
        let transaction =
            |first_row_ns| Transaction { sent_ns: 1_000, first_row_ns, ..Transaction::default() };
        record.ended(&transaction(Some(3_000)), Outcome::Done, 9_000);
        record.ended(&transaction(None), Outcome::Done, 9_000);
        record.ended(&transaction(Some(3_000)), Outcome::Failed, 9_000);
        let [of_type] = &record.types[..] else { panic!("{record:?}") };
        assert_eq!((of_type.service.count(), of_type.first_row.count()), (2, 1));
        assert_eq!(of_type.first_row.max_ns().map(|ns| ns.abs_diff(2_000) < 16), Some(true));
    }
}
