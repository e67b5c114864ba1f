//! A blocking session for administrative work: preparing data, settings, checks, probes. It moves bytes between
//! a socket and the same protocol machines that the load uses; it never carries load itself.

mod cancel;
mod copy;
mod error;
mod login;
mod rows;
mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::str::FromStr;
use std::time::Duration;

use dyno_wire::endpoint::Endpoint;
use dyno_wire::link::Link;
use dyno_wire::pg::backend::{DataRow, NoticeFields, RowDescription};
use dyno_wire::pg::frontend;
use dyno_wire::pg::handshake::Session;
use dyno_wire::pg::libpq_text;
use dyno_wire::pg::reply::{ReplyScanner, ReplySink, Totals};

pub use cancel::CancelHandle;
pub use copy::CopyIn;
pub use error::{ConnectError, QueryError};
pub use rows::{Row, Rows};
pub use stream::Closer;

use rows::Collector;
use stream::Stream;

/// Network bytes are read in pieces of this size.
const READ_BYTES: usize = 64 * 1024;
/// How long connecting and logging in may take where the caller sets no limit of its own.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Notices that are kept for a caller who may never ask for them.
const NOTICES_MAX: usize = 1000;

/// An open session. Dropping it ends the session in good order.
pub struct Connection {
    endpoint: Endpoint,
    stream: Stream,
    link: Link,
    parameters: BTreeMap<String, String>,
    /// The first [`NOTICES_MAX`] since they were last taken.
    notices: Vec<String>,
    process_id: i32,
    secret_key: Vec<u8>,
    scanner: ReplyScanner,
    /// Decrypted bytes that were not scanned yet.
    received: Vec<u8>,
    /// Bytes for the network that were not sent yet.
    unsent: Vec<u8>,
    /// As they come from the network.
    chunk: Box<[u8]>,
    /// Set once the stream of messages can no longer be followed.
    broken: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.endpoint.address)
            .field("process_id", &self.process_id)
            .field("link", &self.link)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects and logs in, within ten seconds.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn open(endpoint: &Endpoint) -> Result<Self, ConnectError> {
        Self::open_within(endpoint, Some(CONNECT_TIMEOUT))
    }

    /// The same within `timeout`; `None` waits for as long as it takes.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(endpoint: &Endpoint, timeout: Option<Duration>) -> Result<Self, ConnectError> {
        let (stream, session) = login::open(endpoint, timeout)?;
        let Session { link, parameters, process_id, secret_key, leftover } = session;
        Ok(Self {
            endpoint: endpoint.clone(),
            stream,
            link,
            parameters,
            notices: Vec::new(),
            process_id,
            secret_key,
            scanner: ReplyScanner::new(),
            received: leftover,
            unsent: Vec::new(),
            chunk: vec![0; READ_BYTES].into_boxed_slice(),
            broken: false,
        })
    }

    /// Runs one or more statements and returns all their rows, values as text.
    ///
    /// # Errors
    /// What the server said, or that the session was lost.
    pub fn query(&mut self, sql: &str) -> Result<Rows, QueryError> {
        let mut collector = Collector::default();
        self.run(sql, &mut collector)?;
        Ok(collector.into_rows())
    }

    /// Runs one or more statements for their effect; returns the rows they inserted, updated or deleted.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, QueryError> {
        Ok(self.run(sql, &mut ())?.affected)
    }

    /// The first column of the first row; `None` for no row and for NULL.
    ///
    /// # Errors
    /// As [`Connection::query`], and where the value does not read as a `T`.
    pub fn query_value<T: FromStr>(&mut self, sql: &str) -> Result<Option<T>, QueryError> {
        let rows = self.query(sql)?;
        let Some(text) = rows.first().and_then(|row| row.text(0)) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(QueryError::Value {
                value: text.to_owned(),
                wanted: std::any::type_name::<T>(),
                statement: error::shorten(sql),
            }),
        }
    }

    /// What the server last reported of itself: `server_version`, `TimeZone`, ….
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Notices and warnings since they were last taken, as libpq prints them, each with its newline. Those that come
    /// while rows are copied are not among them.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// The server process that serves this session; 0 if the server did not say.
    #[must_use]
    pub fn process_id(&self) -> i32 {
        self.process_id
    }

    /// `TLSv1.3`; `None` where the session is not encrypted.
    #[must_use]
    pub fn tls_version(&self) -> Option<&'static str> {
        self.link.tls_version()
    }

    /// Where the session was opened.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// A way to stop what this session is doing, from another thread.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(self.endpoint.clone(), self.process_id, self.secret_key.clone())
    }

    /// A way to end this session at once from another thread, without a word to the server.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn closer(&self) -> io::Result<Closer> {
        self.stream.closer()
    }

    /// How long the server may stay silent within an answer; `None`, as at the start, for as long as it takes.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn set_answer_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_timeout(timeout)
    }

    /// Whether the session can no longer be used.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Sends a request and follows the answer to its end.
    fn run(&mut self, sql: &str, sink: &mut impl ReplySink) -> Result<Totals, QueryError> {
        self.begin(sql)?;
        let mut sink = Noting { inner: sink, sql, parameters: Vec::new(), notices: Vec::new() };
        let outcome = self.follow(sql, &mut sink);
        self.parameters.extend(sink.parameters);
        self.notices.extend(sink.notices);
        self.notices.truncate(NOTICES_MAX);
        outcome
    }

    fn begin(&mut self, sql: &str) -> Result<(), QueryError> {
        if self.broken {
            return Err(QueryError::Broken);
        }
        self.scanner.start(1);
        self.append(|out| frontend::query(out, sql))?;
        self.flush(sql)
    }

    /// Scans and receives until the answer is complete.
    fn follow(&mut self, sql: &str, sink: &mut impl ReplySink) -> Result<Totals, QueryError> {
        let mut copy_refused = false;
        while !self.scan(sink)? {
            if self.scanner.wants_copy_data() && !copy_refused {
                copy_refused = true;
                // Nobody has data for it; the server answers with an error, which is returned.
                self.append(|out| frontend::copy_fail(out, "no data was offered"))?;
                self.flush(sql)?;
            } else {
                self.receive(sql)?;
            }
        }
        self.finish(sql)
    }

    fn finish(&mut self, sql: &str) -> Result<Totals, QueryError> {
        match self.scanner.take_error() {
            Some(error) => Err(QueryError::Server { error, statement: error::shorten(sql) }),
            None => Ok(self.scanner.totals()),
        }
    }

    /// Scans what was received; true once the answer is complete.
    fn scan(&mut self, sink: &mut impl ReplySink) -> Result<bool, QueryError> {
        match self.scanner.scan(&self.received, sink) {
            Ok(scanned) => {
                self.received.drain(..scanned.consumed);
                Ok(scanned.done)
            }
            Err(error) => {
                self.broken = true;
                Err(error.into())
            }
        }
    }

    /// Waits for bytes and adds them to `received`.
    fn receive(&mut self, sql: &str) -> Result<(), QueryError> {
        let count = match self.stream.read(&mut self.chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(self.lost(error, sql)),
        };
        if count == 0 {
            return Err(self.lost(io::ErrorKind::UnexpectedEof.into(), sql));
        }
        self.take_in(count)
    }

    fn take_in(&mut self, count: usize) -> Result<(), QueryError> {
        let network = self.chunk.get(..count).unwrap_or_default();
        let opened = self.link.open(network, &mut self.received);
        let opened = opened.and_then(|()| self.link.poll_output(&mut self.unsent));
        opened.map_err(|error| {
            self.broken = true;
            error.into()
        })
    }

    /// Appends messages to what is to be sent, encrypted where the session is.
    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), QueryError> {
        if self.link.is_plain() {
            write(&mut self.unsent);
            return Ok(());
        }
        let mut plain = Vec::new();
        write(&mut plain);
        self.link.seal(&plain, &mut self.unsent).map_err(|error| {
            self.broken = true;
            error.into()
        })
    }

    fn flush(&mut self, sql: &str) -> Result<(), QueryError> {
        let sent = self.stream.write_all(&self.unsent);
        self.unsent.clear();
        sent.map_err(|error| self.lost(error, sql))
    }

    /// The session is over. Where the server said why (it was stopped, the session was terminated) that is told,
    /// else what the operating system said.
    fn lost(&mut self, source: io::Error, sql: &str) -> QueryError {
        self.broken = true;
        let statement = error::shorten(sql);
        if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            return QueryError::TimedOut { statement };
        }
        self.receive_parting_words();
        match self.scanner.take_error() {
            Some(error) => QueryError::Server { error, statement },
            None => QueryError::Lost { source, statement },
        }
    }

    /// What the server sent before it went lies unread where it was our sending that failed.
    fn receive_parting_words(&mut self) {
        let patience = Duration::from_millis(200);
        if self.stream.set_timeout(Some(patience)).is_err() {
            return;
        }
        while let Ok(count @ 1..) = self.stream.read(&mut self.chunk) {
            if self.take_in(count).is_err() {
                break;
            }
        }
        let _ = self.scanner.scan(&self.received, &mut ());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.broken && self.append(frontend::terminate).is_ok() {
            // A server that is gone already needs no farewell.
            let _ = self.stream.write_all(&self.unsent);
        }
    }
}

/// Passes everything on and notes notices, and parameters that change on the way.
struct Noting<'s, S> {
    inner: &'s mut S,
    sql: &'s str,
    parameters: Vec<(String, String)>,
    notices: Vec<String>,
}

impl<S: ReplySink> ReplySink for Noting<'_, S> {
    const WANTS_ROWS: bool = S::WANTS_ROWS;
    const WANTS_COPY_DATA: bool = S::WANTS_COPY_DATA;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        self.inner.row_description(columns);
    }

    fn row(&mut self, row: DataRow<'_>) {
        self.inner.row(row);
    }

    fn copy_data(&mut self, data: &[u8]) {
        self.inner.copy_data(data);
    }

    fn notice(&mut self, notice: NoticeFields<'_>) {
        if self.notices.len() < NOTICES_MAX {
            self.notices.push(libpq_text::notice(notice, Some(self.sql)));
        }
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.parameters.push((name.to_owned(), value.to_owned()));
    }
}
