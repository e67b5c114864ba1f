//! What a thread has measured in the current interval, and how it is handed over.
//!
//! Each thread fills a record of its own; at the interval's end the full record goes to the engine through a
//! channel and an emptied one comes back through another. The load path takes no lock and allocates nothing.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use dyno_results::event::{Interval, Pool, Queries, TypeInterval};
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
    fn name(self) -> String {
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
struct Due {
    response: Latency,
    lag: Latency,
    wait: Option<Latency>,
}

/// How connections of a pool were used. Nothing of it changes where there is no pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// There is a pool.
    pub(crate) is_pool: bool,
    /// Open at the interval's end.
    pub(crate) connections: u32,
    /// Connection-nanoseconds lent, and client-nanoseconds waited.
    in_use_ns: u64,
    waiting_ns: u64,
    in_use_max: u32,
    waiting_max: u32,
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
struct TypeRecord {
    done: u64,
    failed: u64,
    unknown: u64,
    retries: u64,
    statements: u64,
    queries: Queries,
    service: Latency,
    due: Option<Box<Due>>,
    failed_service: Latency,
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
            retries: 0,
            statements: 0,
            queries: Queries::default(),
            service: Latency::new(),
            due: (times != Times::Closed).then(|| Box::new(due())),
            failed_service: Latency::new(),
        }
    }

    fn clear(&mut self) {
        (self.done, self.failed, self.unknown, self.retries, self.statements) = (0, 0, 0, 0, 0);
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
    types: Vec<TypeRecord>,
    errors: Vec<(ErrorCode, u64)>,
}

impl Record {
    fn new(types: usize, times: Times) -> Box<Self> {
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

    fn clear(&mut self) {
        (self.drain, self.clients, self.cpu_ns, self.reconnects, self.lost_ns, self.backlog, self.skipped) =
            (false, 0, 0, 0, 0, 0, 0);
        self.pool = Usage::default();
        self.types.iter_mut().for_each(TypeRecord::clear);
        self.errors.clear();
    }

    /// The times that its histograms are of; `None` where there are no types.
    fn times(&self) -> Option<Times> {
        self.types.first().map(|part| match &part.due {
            None => Times::Closed,
            Some(due) if due.wait.is_none() => Times::Open,
            Some(_) => Times::Pooled,
        })
    }

    fn is_empty(&self) -> bool {
        self.errors.is_empty()
            && self.reconnects == 0
            && self.skipped == 0
            && self.types.iter().all(|t| t.done + t.failed + t.unknown + t.retries + t.statements == 0)
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

/// A thread's end of the hand-over.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) current: Box<Record>,
    returned: Receiver<Box<Record>>,
    give_back: Sender<Box<Record>>,
    types: usize,
    times: Times,
}

impl Recorder {
    pub(crate) fn new(types: usize) -> Self {
        let (give_back, returned) = channel();
        // Two more than the one in use: the engine may be late by an interval.
        for _ in 0..2 {
            let _ = give_back.send(Record::new(types, Times::Closed));
        }
        let current = Record::new(types, Times::Closed);
        Self { current, returned, give_back, types, times: Times::Closed }
    }

    /// Begins a stage: there are histograms only of the times that it has.
    pub(crate) fn begin(&mut self, times: Times, start_ns: u64, end_ns: u64) {
        if self.times != times {
            self.times = times;
            while self.returned.try_recv().is_ok() {}
            for _ in 0..2 {
                let _ = self.give_back.send(Record::new(self.types, times));
            }
            self.current = Record::new(self.types, times);
        }
        self.current.clear();
        (self.current.index, self.current.start_ns, self.current.end_ns) = (0, start_ns, end_ns);
    }

    /// Takes the full record and begins the next, which ends at `end_ns`.
    pub(crate) fn rotate(&mut self, end_ns: u64) -> Box<Record> {
        let mut next = match self.returned.try_recv() {
            Ok(record) if record.times() == Some(self.times) => record,
            _ => Record::new(self.types, self.times),
        };
        next.clear();
        (next.index, next.start_ns, next.end_ns) = (self.current.index + 1, self.current.end_ns, end_ns);
        std::mem::replace(&mut self.current, next)
    }

    /// Where the engine puts records that it has read.
    pub(crate) fn give_back(&self) -> Sender<Box<Record>> {
        self.give_back.clone()
    }
}

/// Records of all threads for one interval, put together.
#[derive(Debug)]
pub(crate) struct Merged {
    start_ns: u64,
    end_ns: u64,
    interval: Interval,
    usage: Usage,
}

impl Merged {
    pub(crate) fn new(stage: u32, stage_start_ns: u64, threads: usize, record: &Record) -> Self {
        Self {
            usage: Usage::default(),
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            interval: Interval {
                stage,
                index: record.index,
                generator: 0,
                start_ms: record.start_ns.saturating_sub(stage_start_ns) as f64 / 1e6,
                duration_ms: 0.0,
                clients: 0,
                types: Vec::new(),
                driver_cpu_ms: vec![0.0; threads],
                reconnects: 0,
                lost_ms: 0.0,
                backlog: 0,
                skipped: 0,
                errors: BTreeMap::new(),
                pool: None,
                drain: record.drain,
            },
        }
    }

    pub(crate) fn add(&mut self, thread: usize, record: &Record) {
        // Threads end the last interval of a counted stage each in its own time.
        self.end_ns = self.end_ns.max(record.end_ns);
        let interval = &mut self.interval;
        interval.clients += record.clients;
        if let Some(cpu_ms) = interval.driver_cpu_ms.get_mut(thread) {
            *cpu_ms = record.cpu_ns as f64 / 1e6;
        }
        interval.reconnects += record.reconnects;
        interval.lost_ms += record.lost_ns as f64 / 1e6;
        interval.backlog += record.backlog;
        interval.skipped += record.skipped;
        self.usage.is_pool |= record.pool.is_pool;
        self.usage.connections += record.pool.connections;
        self.usage.in_use_ns += record.pool.in_use_ns;
        self.usage.waiting_ns += record.pool.waiting_ns;
        // Each thread's own maximum: together at most this many, if in the same moment.
        self.usage.in_use_max += record.pool.in_use_max;
        self.usage.waiting_max += record.pool.waiting_max;
        for (code, count) in &record.errors {
            *interval.errors.entry(code.name()).or_default() += count;
        }
        for (index, part) in (0..).zip(&record.types) {
            add_type(&mut interval.types, index, part);
        }
    }

    /// The interval; `None` for a drain in which nothing happened.
    pub(crate) fn finish(mut self) -> Option<Interval> {
        let ns = self.end_ns.saturating_sub(self.start_ns);
        self.interval.duration_ms = ns as f64 / 1e6;
        let usage = self.usage;
        self.interval.pool = (usage.is_pool && ns > 0).then(|| Pool {
            connections: usage.connections,
            in_use_mean: usage.in_use_ns as f64 / ns as f64,
            in_use_max: usage.in_use_max,
            waiting_mean: usage.waiting_ns as f64 / ns as f64,
            waiting_max: usage.waiting_max,
        });
        let empty = self.interval.types.is_empty() && self.interval.errors.is_empty();
        (!(self.interval.drain && empty)).then_some(self.interval)
    }
}

/// Adds one thread's part of type `index`; a type that did nothing is left out.
fn add_type(types: &mut Vec<TypeInterval>, index: u16, part: &TypeRecord) {
    if part.done + part.failed + part.unknown + part.retries + part.statements == 0 {
        return;
    }
    let position = types.partition_point(|known| known.type_index < index);
    if types.get(position).is_none_or(|known| known.type_index != index) {
        types.insert(position, TypeInterval { type_index: index, ..TypeInterval::default() });
    }
    let sum = &mut types[position];
    sum.done += part.done;
    sum.failed += part.failed;
    sum.unknown += part.unknown;
    sum.retries += part.retries;
    sum.statements += part.statements;
    if part.queries != Queries::default() {
        sum.queries.get_or_insert_default().add(&part.queries);
    }
    sum.service.merge(&part.service);
    if let Some(due) = &part.due {
        sum.response.get_or_insert_default().merge(&due.response);
        sum.lag.get_or_insert_default().merge(&due.lag);
        if let Some(wait) = &due.wait {
            sum.wait.get_or_insert_default().merge(wait);
        }
    }
    if !part.failed_service.is_empty() {
        sum.failed_service.get_or_insert_default().merge(&part.failed_service);
    }
}

impl Recorder {
    /// True if the current record holds nothing worth handing over.
    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }
}
