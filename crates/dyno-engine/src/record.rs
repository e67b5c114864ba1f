//! What a thread has measured in an interval.

use dyno_results::event::Queries;
use dyno_results::latency::Latency;
use dyno_wire::pg::error::SqlState;
use dyno_wire::server_error::ServerError;

use crate::request::Kinds;

/// Different error codes counted apart in one interval of one thread; further ones count as `other`.
const ERROR_CODES_MAX: usize = 64;

/// What an error counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    SqlState(SqlState),
    /// MySQL's own.
    Number(u16),
    /// The connection broke or the server's bytes made no sense.
    Connection,
    /// One kind too many to be counted apart.
    Other,
}

impl From<&ServerError> for ErrorCode {
    fn from(error: &ServerError) -> Self {
        error.number().map_or(Self::SqlState(error.state()), Self::Number)
    }
}

impl ErrorCode {
    pub(crate) fn name(self) -> String {
        match self {
            Self::SqlState(code) => code.as_str().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Connection => "connection".to_owned(),
            Self::Other => "other".to_owned(),
        }
    }
}

/// How a transaction ended, with the times it had; all nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransactionRecord {
    pub(crate) type_index: usize,
    pub(crate) scheduled_ns: u64,
    pub(crate) sent_ns: u64,
    /// How long its client waited for a connection of a pool.
    pub(crate) waited_ns: u64,
    pub(crate) ended_ns: u64,
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

/// The times of transactions that are due.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) response: Latency,
    pub(crate) lag: Latency,
    pub(crate) wait: Option<Latency>,
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

/// One transaction type's part of a record.
#[derive(Debug)]
pub(crate) struct TypeRecord {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) unknown: u64,
    pub(crate) cancelled: u64,
    pub(crate) retries: u64,
    pub(crate) statements: u64,
    pub(crate) queries: Queries,
    pub(crate) service: Latency,
    pub(crate) due: Option<Box<Due>>,
    pub(crate) failed_service: Latency,
}

impl TypeRecord {
    fn new(times: Times) -> Self {
        let due = || Due {
            response: Latency::new(),
            lag: Latency::new(),
            wait: (times == Times::Pooled).then(Latency::new),
        };
        Self {
            done: 0,
            failed: 0,
            unknown: 0,
            cancelled: 0,
            retries: 0,
            statements: 0,
            queries: Queries::default(),
            service: Latency::new(),
            due: (times != Times::Closed).then(|| Box::new(due())),
            failed_service: Latency::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let Self { done, failed, unknown, cancelled, retries, statements, .. } = self;
        done + failed + unknown + cancelled + retries + statements == 0
    }

    fn clear(&mut self) {
        (self.done, self.failed, self.unknown, self.cancelled) = (0, 0, 0, 0);
        (self.retries, self.statements) = (0, 0);
        self.queries = Queries::default();
        self.service.clear();
        if let Some(due) = &mut self.due {
            due.response.clear();
            due.lag.clear();
            due.wait.iter_mut().for_each(Latency::clear);
        }
        self.failed_service.clear();
    }
}

/// What one thread did in one interval.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) index: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) drain: bool,
    pub(crate) clients: u32,
    pub(crate) cpu_ns: u64,
    pub(crate) reconnects: u64,
    pub(crate) lost_ns: u64,
    pub(crate) backlog: u64,
    pub(crate) skipped: u64,
    pub(crate) pool: Usage,
    pub(crate) types: Vec<TypeRecord>,
    pub(crate) errors: Vec<(ErrorCode, u64)>,
}

impl Record {
    pub(crate) fn new(types: usize, times: Times) -> Box<Self> {
        Box::new(Self {
            index: 0,
            start_ns: 0,
            end_ns: 0,
            drain: false,
            clients: 0,
            cpu_ns: 0,
            reconnects: 0,
            lost_ns: 0,
            backlog: 0,
            skipped: 0,
            pool: Usage::default(),
            types: (0..types).map(|_| TypeRecord::new(times)).collect(),
            errors: Vec::with_capacity(ERROR_CODES_MAX + 1),
        })
    }

    pub(crate) fn clear(&mut self) {
        (self.drain, self.clients, self.cpu_ns, self.reconnects, self.lost_ns, self.backlog, self.skipped) =
            (false, 0, 0, 0, 0, 0, 0);
        self.pool = Usage::default();
        self.types.iter_mut().for_each(TypeRecord::clear);
        self.errors.clear();
    }

    /// The times that its histograms are of; `None` where there are no types.
    pub(crate) fn times(&self) -> Option<Times> {
        self.types.first().map(|part| match &part.due {
            None => Times::Closed,
            Some(due) if due.wait.is_none() => Times::Open,
            Some(_) => Times::Pooled,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
            && self.reconnects == 0
            && self.skipped == 0
            && self.types.iter().all(TypeRecord::is_empty)
    }

    #[inline]
    pub(crate) fn done(&mut self, ended: TransactionRecord) {
        let record = &mut self.types[ended.type_index];
        record.done += 1;
        record.service.record(ended.ended_ns.saturating_sub(ended.sent_ns));
        if let Some(due) = &mut record.due {
            due.response.record(ended.ended_ns.saturating_sub(ended.scheduled_ns));
            due.lag.record(ended.sent_ns.saturating_sub(ended.scheduled_ns));
            if let Some(wait) = &mut due.wait {
                wait.record(ended.waited_ns);
            }
        }
    }

    pub(crate) fn failed(&mut self, ended: TransactionRecord) {
        let record = &mut self.types[ended.type_index];
        record.failed += 1;
        record.failed_service.record(ended.ended_ns.saturating_sub(ended.sent_ns));
    }

    pub(crate) fn unknown(&mut self, type_index: usize) {
        self.types[type_index].unknown += 1;
    }

    pub(crate) fn cancelled(&mut self, type_index: usize) {
        self.types[type_index].cancelled += 1;
    }

    pub(crate) fn retry(&mut self, type_index: usize) {
        self.types[type_index].retries += 1;
    }

    #[inline]
    pub(crate) fn statements(&mut self, type_index: usize, count: u32) {
        self.types[type_index].statements += u64::from(count);
    }

    /// Counts the statements of an answered request that affected so many rows.
    #[inline]
    pub(crate) fn queries(&mut self, type_index: usize, kinds: Kinds, affected: u64) {
        let queries = &mut self.types[type_index].queries;
        queries.reads += u64::from(kinds.reads);
        queries.other += u64::from(kinds.other);
        let writes = u64::from(kinds.writes);
        if affected > 0 {
            queries.writes += writes;
        } else {
            queries.other += writes;
            queries.writes_in_vain += writes;
        }
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
