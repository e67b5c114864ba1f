//! Follows the server's reply to a request until its last `ReadyForQuery`. The reply is scanned where it lies in
//! the receive buffer; nothing is allocated but for an error, and rows that nobody wants are counted and skipped.
//!
//! This is the load path: a reply to a small statement is four messages and must stay a few dozen nanoseconds.

use super::backend::{
    Command, CommandTag, CopyResponse, DataRow, Frame, Header, Message, NoticeFields, RowDescription,
    TransactionStatus,
};
use super::error::{PostgresError, ProtocolError, Tag};

/// Takes what a reply brings. All methods may be left out; without them a reply is only counted.
pub trait ReplySink {
    /// Whether rows and their descriptions are handed over; otherwise rows are counted and their bytes skipped.
    const WANTS_ROWS: bool = false;
    /// Whether the data of a `COPY … TO STDOUT` is handed over.
    const WANTS_COPY_DATA: bool = Self::WANTS_ROWS;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        let _ = columns;
    }
    fn row(&mut self, row: DataRow<'_>) {
        let _ = row;
    }
    /// A statement has ended well.
    fn command_complete(&mut self, tag: CommandTag<'_>) {
        let _ = tag;
    }
    /// A statement has failed; with several failures in a pipeline each comes here.
    fn error(&mut self, error: &PostgresError) {
        let _ = error;
    }
    fn notice(&mut self, notice: NoticeFields<'_>) {
        let _ = notice;
    }
    fn parameter_status(&mut self, name: &str, value: &str) {
        let _ = (name, value);
    }
    fn notification(&mut self, process_id: i32, channel: &str, payload: &str) {
        let _ = (process_id, channel, payload);
    }
    fn copy_in(&mut self, response: CopyResponse<'_>) {
        let _ = response;
    }
    fn copy_out(&mut self, response: CopyResponse<'_>) {
        let _ = response;
    }
    fn copy_data(&mut self, data: &[u8]) {
        let _ = data;
    }
}

/// Counts and nothing else.
impl ReplySink for () {}

/// What one call of a scanner's `scan` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Scanned {
    /// Bytes of the buffer that are done with.
    pub consumed: usize,
    /// Whether the whole request is answered.
    pub done: bool,
}

/// What a request did, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Statements that ended well.
    pub statements: u32,
    /// Results with rows that were returned, also those with none in them; of a statement just described one that it will return.
    pub results: u32,
    /// Rows returned, by `COPY … TO STDOUT` too.
    pub rows: u64,
    /// Rows inserted, updated, deleted, merged or copied in.
    pub affected: u64,
    pub status: TransactionStatus,
}

/// Follows one request's reply.
#[derive(Debug, Default)]
pub struct ReplyScanner {
    /// `ReadyForQuery` messages still to come.
    syncs_left: u32,
    /// Bytes still to come of a row's body that nobody wants.
    skip_bytes: usize,
    totals: Totals,
    /// `totals.rows` when the current statement began.
    rows_before: u64,
    copy: CopyState,
    error: Option<Box<PostgresError>>,
}

/// Whether the current statement copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CopyState {
    #[default]
    None,
    In,
    Out,
}

/// Whether the scan goes on after a message.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Pause,
}

impl ReplyScanner {
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a request that will be answered by `syncs` `ReadyForQuery` messages, with totals at zero.
    pub fn start(&mut self, syncs: u32) {
        *self = Self {
            syncs_left: syncs,
            totals: Totals { status: self.totals.status, ..Totals::default() },
            ..Self::default()
        };
    }

    /// Adds to a request in flight: more was sent that will be answered by `syncs` further `ReadyForQuery`.
    pub fn extend(&mut self, syncs: u32) {
        self.syncs_left = self.syncs_left.saturating_add(syncs);
    }

    /// Takes in what has arrived. An incomplete message stays unconsumed and must be offered again with what
    /// follows it, except that the body of a row nobody wants is consumed in parts. After a `CopyInResponse`
    /// the scan pauses, see [`wants_copy_data`](Self::wants_copy_data). After an error the scanner is of no more
    /// use until the next [`start`](Self::start), nor is the connection.
    #[inline]
    pub fn scan<S: ReplySink>(&mut self, buffer: &[u8], sink: &mut S) -> Result<Scanned, ProtocolError> {
        let mut at = self.skip_bytes.min(buffer.len());
        self.skip_bytes -= at;
        while self.syncs_left > 0 {
            let Some(header) = Header::read(&buffer[at..])? else { break };
            let end = at + header.frame_bytes;
            let Some(body) = buffer.get(at + Header::BYTES..end) else {
                if self.begin_skip::<S>(header.tag, end - buffer.len()) {
                    at = buffer.len();
                }
                break;
            };
            let frame = Frame { tag: header.tag, body };
            at = end;
            match frame.tag {
                b'2' | b'1' => {}
                b'D' => {
                    self.totals.rows = self.totals.rows.saturating_add(1);
                    if S::WANTS_ROWS {
                        sink.row(DataRow::parse(frame)?);
                    }
                }
                b'C' => self.complete(CommandTag::parse(frame)?, sink),
                b'Z' => {
                    self.totals.status = TransactionStatus::parse(frame)?;
                    self.syncs_left -= 1;
                    self.copy = CopyState::None;
                }
                b'T' if !S::WANTS_ROWS => self.totals.results = self.totals.results.saturating_add(1),
                b'd' if !S::WANTS_COPY_DATA => {}
                _ => {
                    if self.uncommon(frame, sink)? == Flow::Pause {
                        break;
                    }
                }
            }
        }
        Ok(Scanned { consumed: at, done: self.syncs_left == 0 })
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether every `ReadyForQuery` asked for has come.
    pub fn is_done(&self) -> bool {
        self.syncs_left == 0
    }

    /// Whether the server waits for the data of a `COPY … FROM STDIN`. True from its `CopyInResponse` until the
    /// statement ends, be it by an error while data is still being sent.
    pub fn wants_copy_data(&self) -> bool {
        self.copy == CopyState::In
    }

    /// The first error of the request.
    pub fn error(&self) -> Option<&PostgresError> {
        self.error.as_deref()
    }

    /// Takes the first error of the request.
    pub fn take_error(&mut self) -> Option<Box<PostgresError>> {
        self.error.take()
    }

    /// Whether the rest of this incomplete message may be skipped as it comes; then it is already counted.
    fn begin_skip<S: ReplySink>(&mut self, tag: u8, missing_bytes: usize) -> bool {
        let skip = match tag {
            b'D' if !S::WANTS_ROWS => {
                self.totals.rows = self.totals.rows.saturating_add(1);
                true
            }
            b'd' => !S::WANTS_COPY_DATA,
            _ => false,
        };
        if skip {
            self.skip_bytes = missing_bytes;
        }
        skip
    }

    #[inline]
    fn complete<S: ReplySink>(&mut self, tag: CommandTag<'_>, sink: &mut S) {
        self.totals.statements = self.totals.statements.saturating_add(1);
        // CREATE TABLE AS says SELECT too, but its rows went into the table and none came here.
        let returned = self.totals.rows != self.rows_before;
        let (rows, affected) = match (tag.command(), self.copy) {
            (Command::Copy, CopyState::Out) => (tag.rows(), 0),
            (Command::Write | Command::Copy, _) => (0, tag.rows()),
            (Command::Select, _) if !returned => (0, tag.rows()),
            (Command::Select | Command::Other, _) => (0, 0),
        };
        self.totals.rows = self.totals.rows.saturating_add(rows);
        self.totals.affected = self.totals.affected.saturating_add(affected);
        self.end_statement();
        sink.command_complete(tag);
    }

    #[inline]
    fn end_statement(&mut self) {
        self.rows_before = self.totals.rows;
        self.copy = CopyState::None;
    }

    #[cold]
    fn uncommon<S: ReplySink>(&mut self, frame: Frame<'_>, sink: &mut S) -> Result<Flow, ProtocolError> {
        match Message::parse(frame)? {
            Message::RowDescription(columns) if S::WANTS_ROWS => {
                self.totals.results = self.totals.results.saturating_add(1);
                sink.row_description(columns);
            }
            Message::Error(fields) => self.fail(PostgresError::from(fields), sink),
            Message::EmptyQueryResponse | Message::PortalSuspended => {
                self.totals.statements = self.totals.statements.saturating_add(1);
                self.end_statement();
            }
            Message::Notice(fields) => sink.notice(fields),
            Message::ParameterStatus { name, value } => sink.parameter_status(&name.lossy(), &value.lossy()),
            Message::Notification { process_id, channel, payload } => {
                sink.notification(process_id, &channel.lossy(), &payload.lossy());
            }
            Message::CopyInResponse(response) => {
                self.copy = CopyState::In;
                sink.copy_in(response);
                return Ok(Flow::Pause);
            }
            Message::CopyOutResponse(response) => {
                self.copy = CopyState::Out;
                sink.copy_out(response);
            }
            Message::CopyData(data) => sink.copy_data(data),
            Message::Authentication(_)
            | Message::BackendKeyData { .. }
            | Message::NegotiateProtocolVersion { .. } => return Err(unexpected(frame)),
            _ => {}
        }
        Ok(Flow::On)
    }

    fn fail<S: ReplySink>(&mut self, error: PostgresError, sink: &mut S) {
        self.end_statement();
        sink.error(&error);
        self.error.get_or_insert_with(|| Box::new(error));
    }
}

fn unexpected(frame: Frame<'_>) -> ProtocolError {
    let length = u32::try_from(frame.body.len() + 4).unwrap_or(u32::MAX);
    ProtocolError::Unexpected { tag: Tag(frame.tag), length, during: "the reply to a request" }
}
