//! What a thread has measured in the current interval, and how it is handed over.
//!
//! Each thread fills a record of its own; at the interval's end the full record goes to the engine through a
//! channel and an emptied one comes back through another. The load path takes no lock and allocates nothing.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use dyno_results::event::{Interval, Queries, TypeInterval};
use dyno_results::latency::Latency;
use dyno_wire::pg::error::SqlState;
use dyno_wire::refusal::Refusal;

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

impl From<&Refusal> for ErrorCode {
    fn from(refusal: &Refusal) -> Self {
        refusal.number().map_or(Self::SqlState(refusal.state()), Self::Number)
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
pub(crate) struct Ended {
    pub(crate) type_index: usize,
    pub(crate) scheduled_ns: u64,
    pub(crate) sent_ns: u64,
    pub(crate) ended_ns: u64,
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
    /// Response time and schedule lag, in an open loop.
    open: Option<Box<(Latency, Latency)>>,
    failed_service: Latency,
}

impl TypeRecord {
    fn new(open: bool) -> Self {
        Self {
            done: 0,
            failed: 0,
            unknown: 0,
            retries: 0,
            statements: 0,
            queries: Queries::default(),
            service: Latency::new(),
            open: open.then(Box::default),
            failed_service: Latency::new(),
        }
    }

    fn clear(&mut self) {
        (self.done, self.failed, self.unknown, self.retries, self.statements) = (0, 0, 0, 0, 0);
        self.queries = Queries::default();
        self.service.clear();
        if let Some(open) = &mut self.open {
            open.0.clear();
            open.1.clear();
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
    types: Vec<TypeRecord>,
    errors: Vec<(ErrorCode, u64)>,
}

impl Record {
    fn new(types: usize, open: bool) -> Box<Self> {
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
            types: (0..types).map(|_| TypeRecord::new(open)).collect(),
            errors: Vec::with_capacity(ERROR_CODES_MAX + 1),
        })
    }

    fn clear(&mut self) {
        (self.drain, self.clients, self.cpu_ns, self.reconnects, self.lost_ns, self.backlog, self.skipped) =
            (false, 0, 0, 0, 0, 0, 0);
        self.types.iter_mut().for_each(TypeRecord::clear);
        self.errors.clear();
    }

    fn is_empty(&self) -> bool {
        self.errors.is_empty()
            && self.reconnects == 0
            && self.skipped == 0
            && self.types.iter().all(|t| t.done + t.failed + t.unknown + t.retries + t.statements == 0)
    }

    #[inline]
    pub(crate) fn done(&mut self, ended: Ended) {
        let record = &mut self.types[ended.type_index];
        record.done += 1;
        record.service.record(ended.ended_ns.saturating_sub(ended.sent_ns));
        if let Some(open) = &mut record.open {
            open.0.record(ended.ended_ns.saturating_sub(ended.scheduled_ns));
            open.1.record(ended.sent_ns.saturating_sub(ended.scheduled_ns));
        }
    }

    pub(crate) fn failed(&mut self, ended: Ended) {
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
    open: bool,
}

impl Recorder {
    pub(crate) fn new(types: usize) -> Self {
        let (give_back, returned) = channel();
        // Two more than the one in use: the engine may be late by an interval.
        for _ in 0..2 {
            let _ = give_back.send(Record::new(types, false));
        }
        Self { current: Record::new(types, false), returned, give_back, types, open: false }
    }

    /// Begins a stage: histograms of the open loop exist only when it is one.
    pub(crate) fn begin(&mut self, open: bool, start_ns: u64, end_ns: u64) {
        if self.open != open {
            self.open = open;
            while self.returned.try_recv().is_ok() {}
            for _ in 0..2 {
                let _ = self.give_back.send(Record::new(self.types, open));
            }
            self.current = Record::new(self.types, open);
        }
        self.current.clear();
        (self.current.index, self.current.start_ns, self.current.end_ns) = (0, start_ns, end_ns);
    }

    /// Takes the full record and begins the next, which ends at `end_ns`.
    pub(crate) fn rotate(&mut self, end_ns: u64) -> Box<Record> {
        let mut next = match self.returned.try_recv() {
            Ok(record) if record.types.iter().all(|t| t.open.is_some() == self.open) => record,
            _ => Record::new(self.types, self.open),
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
}

impl Merged {
    pub(crate) fn new(stage: u32, stage_start_ns: u64, threads: usize, record: &Record) -> Self {
        Self {
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            interval: Interval {
                stage,
                index: record.index,
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
        for (code, count) in &record.errors {
            *interval.errors.entry(code.name()).or_default() += count;
        }
        for (index, part) in (0..).zip(&record.types) {
            add_type(&mut interval.types, index, part);
        }
    }

    /// The interval; `None` for a drain in which nothing happened.
    pub(crate) fn finish(mut self) -> Option<Interval> {
        self.interval.duration_ms = self.end_ns.saturating_sub(self.start_ns) as f64 / 1e6;
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
    if let Some(open) = &part.open {
        sum.response.get_or_insert_default().merge(&open.0);
        sum.lag.get_or_insert_default().merge(&open.1);
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
