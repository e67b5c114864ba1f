//! Follows the server's reply to a command until its last result. The reply is scanned where it lies in the
//! receive buffer; nothing is allocated but for an error, and rows that nobody wants are counted and skipped.
//!
//! This is the load path: a reply to a small statement is five packets, and each must cost next to nothing.

mod prepared;
mod sink;

use std::collections::VecDeque;

pub use self::sink::ReplySink;
use super::backend::{Body, Column, OkPacket, Prepared, ResultRow, Text, ValueType, parse_error};
use super::capabilities::{Capabilities, StatusFlags};
use super::error::{MySqlError, ProtocolError};
use super::frontend::LocalInfile;
use super::packet::{Header, PAYLOAD_BYTES_MAX};
pub use crate::pg::reply::Scanned;

/// What a command is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Results with rows in text: what a query gives. Right for commands without rows too.
    Text,
    /// Results with rows in binary: what an execution gives.
    Binary,
    /// A statement's number and columns: what a prepare gives.
    Prepared,
}

/// What a request did, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Statements that ended well.
    pub statements: u32,
    /// Results with rows that were returned, also those with none in them; of a statement just prepared one that it will return.
    pub results: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows inserted, changed or deleted.
    pub affected: u64,
    /// Warnings of all statements together.
    pub warnings: u64,
    /// What AUTO_INCREMENT gave last, 0 if it gave nothing.
    pub last_insert_id: u64,
    /// As the server last said, which it does not with an error: one that ends the transaction, as a deadlock does,
    /// leaves `in_transaction` as it was.
    pub status: StatusFlags,
}

/// Follows one request's reply.
#[derive(Debug)]
pub struct ReplyScanner {
    agreed: Capabilities,
    phase: Phase,
    expect: Expect,
    /// What further commands of the request are answered with.
    queued: VecDeque<Expect>,
    /// The number of the next packet; `None` where any may come.
    sequence: Option<u8>,
    skipping: Skipping,
    /// The types of the columns at hand, kept only if rows are wanted.
    types: Vec<ValueType>,
    /// The first packets of a row that is longer than a packet.
    long_row: Vec<u8>,
    totals: Totals,
    prepared: Option<Prepared>,
    error: Option<Box<MySqlError>>,
}

/// What of a packet that nobody wants is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Skipping {
    bytes: usize,
    /// The payload goes on in the next packet.
    continued: bool,
}

/// What the next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is due.
    Done,
    /// The first of a result: OK, an error, a count of columns, a file's name.
    Result,
    /// This many descriptions of columns, then rows.
    Columns(u16),
    /// The EOF between columns and rows.
    ColumnsEnd,
    Rows,
    /// This many descriptions of a prepared statement's parameters, then those of its columns.
    Parameters(u16),
    ParametersEnd,
    PreparedColumns(u16),
    PreparedColumnsEnd,
    /// The server waits for a file.
    LocalInfile,
}

/// `max_allowed_packet` can be no greater.
const ROW_BYTES_MAX: usize = 1 << 30;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;

impl ReplyScanner {
    /// For a session with these capabilities.
    pub fn new(agreed: Capabilities) -> Self {
        Self {
            agreed,
            phase: Phase::Done,
            expect: Expect::Text,
            queued: VecDeque::new(),
            sequence: None,
            skipping: Skipping::default(),
            types: Vec::new(),
            long_row: Vec::new(),
            totals: Totals::default(),
            prepared: None,
            error: None,
        }
    }

    /// Begins a request of one command, with totals at zero.
    #[inline]
    pub fn start(&mut self, expect: Expect) {
        self.phase = Phase::Result;
        self.expect = expect;
        self.queued.clear();
        self.sequence = None;
        self.skipping = Skipping::default();
        self.long_row.clear();
        self.totals = Totals { status: self.totals.status, ..Totals::default() };
        self.prepared = None;
        self.error = None;
    }

    /// Adds to a request in flight: a further command was sent behind it.
    pub fn extend(&mut self, expect: Expect) {
        if self.phase == Phase::Done {
            self.phase = Phase::Result;
            self.expect = expect;
            self.sequence = None;
        } else {
            self.queued.push_back(expect);
        }
    }

    /// Takes in what has arrived. An incomplete packet stays unconsumed and must be offered again with what
    /// follows it, except that one that nobody wants is consumed in parts. When the server asks for a file the
    /// scan pauses, see [`local_infile`](Self::local_infile). After an error the scanner is of no more use until
    /// the next [`start`](Self::start), nor is the connection.
    #[inline]
    pub fn scan<S: ReplySink>(&mut self, buffer: &[u8], sink: &mut S) -> Result<Scanned, ProtocolError> {
        let mut at = self.skipping.bytes.min(buffer.len());
        self.skipping.bytes -= at;
        while self.phase != Phase::Done {
            let Some(header) = Header::read(&buffer[at..]) else { break };
            let (start, end) = (at + Header::BYTES, at + Header::BYTES + header.payload_bytes);
            let Some(payload) = buffer.get(start..end) else {
                if self.begin_skip::<S>(header, &buffer[start..])? {
                    self.skipping.bytes = end - buffer.len();
                    at = buffer.len();
                }
                break;
            };
            self.number(header)?;
            at = end;
            if self.skip::<S>(header, payload) {
                continue;
            }
            if header.payload_bytes == PAYLOAD_BYTES_MAX || !self.long_row.is_empty() {
                self.long_packet(payload, sink)?;
            } else {
                self.packet(payload, sink)?;
            }
            if self.phase == Phase::LocalInfile {
                break;
            }
        }
        Ok(Scanned { consumed: at, done: self.is_done() })
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether every command of the request is answered.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// How to answer if the server waits for a file's contents; then the scan goes on with what it answers. The
    /// name of the file went to the sink. A server may ask for any file at any time, so the driver sends only
    /// what its own statement was about.
    pub fn local_infile(&mut self) -> Option<LocalInfile> {
        if self.phase != Phase::LocalInfile {
            return None;
        }
        self.phase = Phase::Result;
        // Nobody here counts the packets that will be sent, so that of the answer may have any number.
        Some(LocalInfile::new(self.sequence.take().unwrap_or_default()))
    }

    /// Whether the server waits for a file's contents.
    pub fn wants_local_infile(&self) -> bool {
        self.phase == Phase::LocalInfile
    }

    /// The statement that the request has prepared; the last, if it were several.
    pub fn prepared(&self) -> Option<Prepared> {
        self.prepared
    }

    /// The first error of the request.
    pub fn error(&self) -> Option<&MySqlError> {
        self.error.as_deref()
    }

    /// Takes the first error of the request.
    pub fn take_error(&mut self) -> Option<Box<MySqlError>> {
        self.error.take()
    }

    /// Checks a packet's number, which counts from the first of a reply.
    #[inline]
    fn number(&mut self, header: Header) -> Result<(), ProtocolError> {
        let got = header.sequence;
        if let Some(expected) = self.sequence
            && got != expected
        {
            return Err(ProtocolError::Sequence { expected, got });
        }
        self.sequence = Some(got.wrapping_add(1));
        Ok(())
    }

    /// Whether this packet is of interest to nobody; if so it is counted. `payload` may be only its beginning.
    #[inline]
    fn skip<S: ReplySink>(&mut self, header: Header, payload: &[u8]) -> bool {
        if S::WANTS_ROWS {
            return false;
        }
        let full = header.payload_bytes == PAYLOAD_BYTES_MAX;
        if self.skipping.continued {
            self.skipping.continued = full;
            return true;
        }
        let Some(&first) = payload.first() else { return false };
        match self.phase {
            Phase::Rows if self.is_row(first, header.payload_bytes) => {
                self.totals.rows = self.totals.rows.saturating_add(1);
                self.skipping.continued = full;
                true
            }
            Phase::Columns(left) if first != ERROR && !full => {
                self.phase = self.after_columns(left);
                true
            }
            _ => false,
        }
    }

    /// Whether the rest of this incomplete packet may be skipped as it comes; then it is already counted.
    fn begin_skip<S: ReplySink>(&mut self, header: Header, beginning: &[u8]) -> Result<bool, ProtocolError> {
        let sequence = self.sequence;
        self.number(header)?;
        let skip = self.skip::<S>(header, beginning);
        if !skip {
            self.sequence = sequence;
        }
        Ok(skip)
    }

    /// Whether a packet among rows is one, by its first byte and its length. A row cannot begin with 0xff, and
    /// with 0xfe only if its first value is of 16 MiB or more.
    #[inline]
    fn is_row(&self, first: u8, payload_bytes: usize) -> bool {
        match first {
            ERROR => false,
            EOF => payload_bytes >= self.end_bytes(),
            _ => true,
        }
    }

    /// What begins with 0xfe and is shorter than this ends a result.
    fn end_bytes(&self) -> usize {
        if self.agreed.contains(Capabilities::DEPRECATE_EOF) { PAYLOAD_BYTES_MAX } else { 9 }
    }

    fn after_columns(&self, left: u16) -> Phase {
        match left {
            2.. => Phase::Columns(left - 1),
            _ if self.agreed.contains(Capabilities::DEPRECATE_EOF) => Phase::Rows,
            _ => Phase::ColumnsEnd,
        }
    }

    /// Part of a row that takes several packets.
    #[cold]
    fn long_packet<S: ReplySink>(&mut self, payload: &[u8], sink: &mut S) -> Result<(), ProtocolError> {
        if self.phase != Phase::Rows {
            return Err(unexpected(payload, "what precedes rows"));
        }
        let bytes = self.long_row.len() + payload.len();
        if bytes > ROW_BYTES_MAX {
            return Err(ProtocolError::TooLarge { bytes, bytes_max: ROW_BYTES_MAX, during: "a row" });
        }
        self.long_row.extend_from_slice(payload);
        if payload.len() < PAYLOAD_BYTES_MAX {
            // Not kept: the next row is likely to be short.
            let row = std::mem::take(&mut self.long_row);
            self.row(&row, sink)?;
        }
        Ok(())
    }

    #[inline]
    fn packet<S: ReplySink>(&mut self, payload: &[u8], sink: &mut S) -> Result<(), ProtocolError> {
        let Some(&first) = payload.first() else { return Err(unexpected(payload, "a reply")) };
        if first == ERROR {
            self.fail(parse_error(payload)?, sink);
            return Ok(());
        }
        match self.phase {
            Phase::Rows if self.is_row(first, payload.len()) => self.row(payload, sink)?,
            Phase::Rows => {
                let end = self.end_of_rows(payload)?;
                self.complete(end, true, sink);
            }
            Phase::Columns(left) => {
                self.phase = self.after_columns(left);
                let column = Column::parse(payload)?;
                self.types.push(column.value_type);
                sink.column(column);
            }
            Phase::ColumnsEnd => {
                expect_eof(payload)?;
                self.phase = Phase::Rows;
            }
            Phase::Result => self.result(first, payload, sink)?,
            _ => self.prepared_packet(payload, sink)?,
        }
        Ok(())
    }

    #[inline]
    fn row<S: ReplySink>(&mut self, payload: &[u8], sink: &mut S) -> Result<(), ProtocolError> {
        self.totals.rows = self.totals.rows.saturating_add(1);
        sink.row(match self.expect {
            Expect::Binary => ResultRow::binary(payload, &self.types)?,
            Expect::Text | Expect::Prepared => ResultRow::text(payload, &self.types)?,
        });
        Ok(())
    }

    #[inline]
    fn end_of_rows<'p>(&self, payload: &'p [u8]) -> Result<OkPacket<'p>, ProtocolError> {
        if self.agreed.contains(Capabilities::DEPRECATE_EOF) {
            OkPacket::parse(payload)
        } else {
            OkPacket::parse_eof(payload)
        }
    }

    #[inline]
    fn result<S: ReplySink>(&mut self, first: u8, payload: &[u8], sink: &mut S) -> Result<(), ProtocolError> {
        match first {
            OK if self.expect == Expect::Prepared => return self.begin_prepared(payload, sink),
            _ if self.expect == Expect::Prepared => return Err(unexpected(payload, "a prepare")),
            OK => {
                let ok = OkPacket::parse(payload)?;
                self.complete(ok, false, sink);
            }
            // Some old commands are answered so.
            EOF => {
                let end = self.end_of_rows(payload)?;
                self.complete(end, false, sink);
            }
            LOCAL_INFILE => {
                self.phase = Phase::LocalInfile;
                sink.local_infile(Text(&payload[1..]));
            }
            _ => self.begin_rows(payload, sink)?,
        }
        Ok(())
    }

    #[inline]
    fn begin_rows<S: ReplySink>(&mut self, payload: &[u8], sink: &mut S) -> Result<(), ProtocolError> {
        let mut body = Body::new("a count of columns", payload);
        let count = body.lenenc_int()?;
        body.end()?;
        let columns = match u16::try_from(count) {
            Ok(columns) if columns > 0 => columns,
            _ => return Err(body.malformed("no result has so many columns")),
        };
        self.types.clear();
        self.totals.results = self.totals.results.saturating_add(1);
        self.phase = Phase::Columns(columns);
        if S::WANTS_ROWS {
            sink.result_set(columns.into());
        }
        Ok(())
    }

    /// A statement has ended well, with rows or without.
    #[inline]
    fn complete<S: ReplySink>(&mut self, ok: OkPacket<'_>, after_rows: bool, sink: &mut S) {
        let totals = &mut self.totals;
        totals.statements = totals.statements.saturating_add(1);
        totals.warnings = totals.warnings.saturating_add(ok.warnings.into());
        totals.status = ok.status;
        // What ends rows is an OK packet only in form.
        if !after_rows {
            totals.affected = totals.affected.saturating_add(ok.affected);
        }
        if ok.last_insert_id != 0 {
            totals.last_insert_id = ok.last_insert_id;
        }
        if ok.status.more_results() {
            self.phase = Phase::Result;
        } else {
            self.end_command();
        }
        sink.ok(ok);
    }

    #[inline]
    fn end_command(&mut self) {
        self.phase = Phase::Done;
        if let Some(expect) = self.queued.pop_front() {
            self.phase = Phase::Result;
            self.expect = expect;
            self.sequence = None;
        }
    }

    #[cold]
    fn fail<S: ReplySink>(&mut self, error: MySqlError, sink: &mut S) {
        self.end_command();
        sink.error(&error);
        self.error.get_or_insert_with(|| Box::new(error));
    }
}

fn expect_eof(payload: &[u8]) -> Result<(), ProtocolError> {
    if payload.first() != Some(&EOF) {
        return Err(unexpected(payload, "the end of the columns"));
    }
    OkPacket::parse_eof(payload).map(drop)
}

#[cold]
fn unexpected(payload: &[u8], during: &'static str) -> ProtocolError {
    ProtocolError::Unexpected {
        first: payload.first().copied().unwrap_or_default(),
        bytes: payload.len(),
        during,
    }
}
