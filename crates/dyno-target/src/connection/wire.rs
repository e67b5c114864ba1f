//! A session with a server: bytes between a socket and the same protocol machines that the load uses, PostgreSQL's or MySQL's
//! as the endpoint says.

use std::fmt;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use dyno_engine::driver::Route;
use dyno_wire::endpoint::{Endpoint, SessionName, Wire};
use dyno_wire::link::Link;

use super::cancel::CancelHandle;
use super::error::{self, ConnectError, QueryError};
use super::noting::Noting;
use super::rows::{Collector, TextRows};
use super::session::{AnswerTotals, MySqlSession, PostgresSession, ProtocolSession, Sink};
use super::stream::{Closer, Lingers, SocketStream, WaitLimit};
use super::{advice, login};
use crate::deadline::Deadline;
use crate::interruption;

/// Network bytes are read in pieces of this size.
const READ_BYTES: usize = 64 * 1024;
/// A server that stays silent for so many times as it may take to let somebody in is asked whether it is still there.
const SILENCE: u32 = 3;
/// A short question must be answered after so many times as it may take to let somebody in.
const BRIEF: u32 = 6;
/// A request to cancel that came between two statements is lost: so it is made again.
const CANCEL_AGAIN: Duration = Duration::from_millis(300);
/// How long a statement over its limit may still take to end.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);
/// How long what a lost server said before it went is waited for.
const PARTING_WORDS: Duration = Duration::from_millis(200);
/// Notices that are kept for a caller who may never ask for them, and parameters that one answer changes.
pub(super) const NOTICES_MAX: usize = 1000;
/// Most of an answer whose rows are kept, and of a single message: dyno's own questions have short answers.
pub(super) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How long answers are waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AnswerLimits {
    /// When what is asked must be answered in full.
    pub(super) deadline: Deadline,
    /// How long a server may stay silent.
    pub(super) timeout: Option<Duration>,
    /// See [`WireConnection::gives_up`].
    pub(super) gives_up: bool,
}

/// An open session with a server. Dropping it ends the session in good order.
///
/// A statement may take hours, so what is limited is how long the server stays silent: then another session is opened
/// within the time for connecting, and a server that does not answer there either is given up. When the user wants to
/// stop ([`interruption`]), the statement under way is cancelled, and no other is begun.
pub struct WireConnection {
    endpoint: Endpoint,
    pub(super) stream: SocketStream,
    link: Link,
    pub(super) session: ProtocolSession,
    /// The first [`NOTICES_MAX`] since they were last taken.
    notices: Vec<String>,
    /// Decrypted bytes that were not scanned yet.
    received: Vec<u8>,
    /// Bytes for the network that were not sent yet.
    pub(super) unsent: Vec<u8>,
    /// As they come from the network.
    pub(super) chunk: Box<[u8]>,
    /// Set once the stream of messages can no longer be followed.
    pub(super) broken: bool,
    /// Most of an answer whose rows are kept, and of a single message.
    answer_bytes_max: usize,
    /// Bytes that may still come of an answer whose rows are kept.
    answer_left: Option<usize>,
    /// A server that has been silent for too long is given up without being asked again.
    gives_up: bool,
    /// Whether it was opened for what is to be done although the user wants to stop.
    lingers: Lingers,
    /// When what is asked must be answered in full.
    deadline: Deadline,
}

impl fmt::Debug for WireConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireConnection")
            .field("address", &self.endpoint.address)
            .field("process_id", &self.process_id())
            .field("link", &self.link)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl WireConnection {
    /// Connects and logs in, within the endpoint's time for that.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn open(endpoint: &Endpoint) -> Result<Self, ConnectError> {
        Self::open_within(endpoint, endpoint.connect_timeout)
    }

    /// The same within `timeout`; `None` waits for as long as it takes.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(endpoint: &Endpoint, timeout: Option<Duration>) -> Result<Self, ConnectError> {
        Self::open_with(endpoint, WaitLimit::of(timeout))
    }

    /// The same for what is asked after a load, also where the user wants to stop: then there is as much time for all of it,
    /// from its own beginning, as for a statement that is being cancelled. A server that has not answered all of it after
    /// `timeout` is given up.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_after_load(endpoint: &Endpoint, timeout: Duration) -> Result<Self, ConnectError> {
        let mut connection =
            Self::open_with(endpoint, WaitLimit { timeout: Some(timeout), lingers: Lingers::Behind })?;
        connection.set_answer_timeout(timeout);
        connection.deadline = Deadline::within(timeout);
        Ok(connection)
    }

    pub(super) fn open_with(endpoint: &Endpoint, wait_limit: WaitLimit) -> Result<Self, ConnectError> {
        let (mut stream, session, link, received) = match endpoint.wire {
            Wire::Postgres => {
                let (stream, session) = login::open_postgres(endpoint, wait_limit)?;
                let (session, link, leftover) = PostgresSession::new(session);
                (stream, ProtocolSession::Postgres(session), link, leftover)
            }
            Wire::MySql(options) => {
                let (stream, session) = login::open_mysql(endpoint, options, wait_limit)?;
                let (session, link, leftover) = MySqlSession::new(session);
                (stream, ProtocolSession::MySql(session), link, leftover)
            }
        };
        stream.set_timeout(endpoint.connect_timeout.map(|timeout| timeout.saturating_mul(SILENCE)));
        Ok(Self {
            endpoint: endpoint.clone(),
            stream,
            link,
            session,
            notices: Vec::new(),
            received,
            unsent: Vec::new(),
            chunk: vec![0; READ_BYTES].into_boxed_slice(),
            broken: false,
            answer_bytes_max: ANSWER_BYTES_MAX,
            answer_left: None,
            gives_up: false,
            lingers: wait_limit.lingers,
            deadline: Deadline::default(),
        })
    }

    /// Runs one or more statements and returns all their rows, values as text.
    ///
    /// # Errors
    /// What the server said, or that the session was lost.
    pub fn query(&mut self, sql: &str) -> Result<TextRows, QueryError> {
        let bytes = self.answer_bytes_max;
        let mut collector = Collector::within(bytes);
        self.answer_left = Some(bytes);
        let ran = self.run(sql, &mut collector);
        self.answer_left = None;
        ran?;
        collector.into_rows().ok_or_else(|| QueryError::TooLarge { bytes, statement: error::shorten(sql) })
    }

    /// The same of one statement, which is cancelled on the server once it has taken so long.
    ///
    /// # Errors
    /// As [`WireConnection::query`]; `TimedOut` where it was cancelled.
    pub fn query_within(&mut self, sql: &str, limit: Duration) -> Result<TextRows, QueryError> {
        let (began, canceller) = (Instant::now(), self.cancel_handle());
        // A server that does not cancel either is given up.
        let before = self.limit(limit.saturating_add(CANCELLED_WITHIN));
        let answered = std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let mut wait = limit;
            let cancel = move || {
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    // What comes of it shows in the answer.
                    let _ = canceller.cancel();
                    wait = CANCEL_AGAIN;
                }
            };
            let cancelling = std::thread::Builder::new().spawn_scoped(scope, cancel);
            let answered = self.query(sql);
            drop((done, cancelling));
            answered
        });
        self.set_limits(before);
        answered.map_err(|error| match error {
            QueryError::Server { error, statement }
                if error.is_cancellation() && began.elapsed() >= limit =>
            {
                QueryError::TimedOut { statement }
            }
            error => error,
        })
    }

    /// Runs one or more statements for their effect; returns the rows they inserted, updated or deleted.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, QueryError> {
        Ok(self.run(sql, &mut ())?.affected)
    }

    /// Whether the last answer had a result with rows, be there none in it, and how many rows its statements changed.
    pub fn last_answer(&self) -> (bool, u64) {
        let totals = self.session.totals();
        (totals.results > 0, totals.affected)
    }

    /// What a PostgreSQL server last reported of itself: `server_version`, `TimeZone`, ….
    pub fn parameter(&self, name: &str) -> Option<&str> {
        match &self.session {
            ProtocolSession::Postgres(session) => session.parameters.get(name).map(String::as_str),
            ProtocolSession::MySql(_) => None,
        }
    }

    /// The version as the server said it at login; MariaDB may put `5.5.5-` before its own, for old clients.
    pub fn server_version(&self) -> Option<&str> {
        match &self.session {
            ProtocolSession::Postgres(_) => self.parameter("server_version"),
            ProtocolSession::MySql(session) => Some(&session.server_version),
        }
    }

    /// Whether the session is of MySQL's protocol.
    pub fn is_mysql(&self) -> bool {
        matches!(self.session, ProtocolSession::MySql(_))
    }

    /// Notices and warnings since they were last taken, each with its newline: PostgreSQL's as libpq prints them, but
    /// for those that come while rows are copied; of MySQL's the warnings of the last statement, which are asked for
    /// only now.
    pub fn take_notices(&mut self) -> Vec<String> {
        if self.session.warnings() > 0 && !self.broken {
            // A failure tells nothing about what was asked.
            for row in self.query("SHOW WARNINGS").unwrap_or_default() {
                let text = |index| row.text(index).unwrap_or_default();
                self.notices.push(format!("{} {}: {}\n", text(0), text(1), text(2)));
            }
        }
        std::mem::take(&mut self.notices)
    }

    /// How the server knows the session: PostgreSQL's process, 0 if it did not say, or MySQL's connection.
    pub fn process_id(&self) -> i64 {
        match &self.session {
            ProtocolSession::Postgres(session) => session.process_id.into(),
            ProtocolSession::MySql(session) => session.connection_id.into(),
        }
    }

    /// The process at the other end of a local socket, as the system knows it; `None` for TCP.
    pub fn peer_process_id(&self) -> Option<u32> {
        self.stream.peer_process_id()
    }

    /// `TLSv1.3`; `None` where the session is not encrypted.
    pub fn tls_version(&self) -> Option<&'static str> {
        self.link.tls_version()
    }

    /// Where the session was opened.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// A way to stop what this session is doing, from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        let name = match &self.session {
            ProtocolSession::Postgres(PostgresSession { process_id, secret_key, .. }) => {
                SessionName::Postgres { process_id: *process_id, secret_key: secret_key.clone() }
            }
            ProtocolSession::MySql(session) => SessionName::MySql { connection_id: session.connection_id },
        };
        CancelHandle::new(self.endpoint.clone(), name)
    }

    /// A way to end this session at once from another thread, without a word to the server.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn closer(&self) -> io::Result<Closer> {
        self.stream.closer()
    }

    /// From now on a server that stays silent for as long within an answer is given up.
    pub fn set_answer_timeout(&mut self, timeout: Duration) {
        self.stream.set_timeout(Some(timeout));
        self.gives_up = true;
    }

    /// From now on answers may be as large as they come: the statements are the user's own.
    pub fn take_answers_of_any_size(&mut self) {
        self.answer_bytes_max = usize::MAX;
    }

    /// Asks what no server takes long to answer: the session is given up after [`BRIEF`] times the time for connecting,
    /// also where bytes come now and then.
    pub(super) fn limit_briefly(&mut self) -> AnswerLimits {
        let before = self.limits();
        let limit = self.endpoint.connect_timeout.and_then(|timeout| timeout.checked_mul(BRIEF));
        self.deadline = before.deadline.or_earlier(Deadline::within(limit));
        before
    }

    /// The same within `time`, whatever the time for connecting is, and without asking a server that is silent again.
    pub(super) fn limit(&mut self, time: Duration) -> AnswerLimits {
        let before = self.limits();
        self.deadline = before.deadline.or_earlier(Deadline::within(time));
        self.set_answer_timeout(time);
        before
    }

    fn limits(&self) -> AnswerLimits {
        let timeout = self.stream.wait_limit().timeout;
        AnswerLimits { deadline: self.deadline, timeout, gives_up: self.gives_up }
    }

    /// Ends what [`limit`](Self::limit) began.
    pub(super) fn set_limits(&mut self, limits: AnswerLimits) {
        self.deadline = limits.deadline;
        self.stream.set_timeout(limits.timeout);
        self.gives_up = limits.gives_up;
    }

    pub(super) fn route(&self) -> Route {
        Route::Wire(self.endpoint.clone())
    }

    /// As messages name it.
    pub(super) fn place(&self) -> String {
        self.endpoint.address.to_string()
    }

    /// Whether the session can no longer be used.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Sends a request and follows the answer to its end.
    pub(super) fn run(&mut self, sql: &str, sink: &mut impl Sink) -> Result<AnswerTotals, QueryError> {
        self.begin(sql)?;
        let mut sink = Noting::new(sink, sql);
        let outcome = self.follow(sql, &mut sink);
        let Noting { parameters, notices, file, .. } = sink;
        if let ProtocolSession::Postgres(session) = &mut self.session {
            session.parameters.extend(parameters);
        }
        self.notices.extend(notices);
        self.notices.truncate(NOTICES_MAX);
        match file {
            Some(file) if outcome.is_ok() => {
                Err(QueryError::FileRefused { file, statement: error::shorten(sql) })
            }
            _ => outcome,
        }
    }

    pub(super) fn begin(&mut self, sql: &str) -> Result<(), QueryError> {
        if self.broken {
            return Err(QueryError::Broken);
        }
        if interruption::is_requested() && self.lingers == Lingers::No {
            return Err(QueryError::Interrupted);
        }
        let mut request = Vec::new();
        self.session.query(&mut request, sql);
        self.append(|out| out.append(&mut request))?;
        self.flush(sql)
    }

    /// Scans and receives until the answer is complete.
    pub(super) fn follow(&mut self, sql: &str, sink: &mut impl Sink) -> Result<AnswerTotals, QueryError> {
        while !self.scan(sink)? {
            if !self.refuse_data(sql)? {
                self.receive(sql)?;
            }
        }
        self.finish(sql)
    }

    /// Tells a server that waits for data that nobody has any; false if it does not wait.
    pub(super) fn refuse_data(&mut self, sql: &str) -> Result<bool, QueryError> {
        let mut refusal = Vec::new();
        if !self.session.refuse_data(&mut refusal) {
            return Ok(false);
        }
        self.append(|out| out.append(&mut refusal))?;
        self.flush(sql)?;
        Ok(true)
    }

    pub(super) fn finish(&mut self, sql: &str) -> Result<AnswerTotals, QueryError> {
        let Some(error) = self.session.take_error() else { return Ok(self.session.totals()) };
        self.broken |= error.ends_session();
        if interruption::is_requested() && self.lingers == Lingers::No {
            // What the server says of a statement that was cancelled is no news.
            return Err(QueryError::Interrupted);
        }
        Err(QueryError::Server { error, statement: error::shorten(sql) })
    }

    /// Scans what was received; true once the answer is complete.
    pub(super) fn scan(&mut self, sink: &mut impl Sink) -> Result<bool, QueryError> {
        match self.session.scan(&self.received, sink) {
            Ok(scanned) => {
                self.received.drain(..scanned.consumed);
                Ok(scanned.done)
            }
            Err(error) => {
                self.broken = true;
                Err(error)
            }
        }
    }

    /// Waits for bytes and adds them to `received`.
    pub(super) fn receive(&mut self, sql: &str) -> Result<(), QueryError> {
        loop {
            if self.deadline.is_over() {
                return Err(self.lost(io::ErrorKind::TimedOut.into(), sql));
            }
            match self.stream.read(&mut self.chunk) {
                Ok(0) => return Err(self.lost(io::ErrorKind::UnexpectedEof.into(), sql)),
                Ok(count) => return self.take_in(count).and_then(|()| self.check_size(count, sql)),
                Err(error) => self.go_on_waiting(error, sql)?,
            }
        }
    }

    /// After a wait that brought nothing: whether another may.
    fn go_on_waiting(&mut self, error: io::Error, sql: &str) -> Result<(), QueryError> {
        let lingers = self.stream.wait_limit().lingers != Lingers::No;
        match error.kind() {
            io::ErrorKind::Interrupted if !lingers => self.cancel(),
            io::ErrorKind::TimedOut if interruption::is_requested() && !self.cancels() => self.cancel(),
            io::ErrorKind::TimedOut if !self.gives_up && self.answers_others() => {}
            _ => return Err(self.lost(error, sql)),
        }
        Ok(())
    }

    /// Whether it was opened to cancel what another session does: nobody cancels that.
    fn cancels(&self) -> bool {
        matches!(self.lingers, Lingers::Cancelling(_))
    }

    /// Has the server stop the statement, since the user wants to; what it answers is waited for as long as there is time.
    fn cancel(&mut self) {
        self.stream.set_wait_limit(WaitLimit { timeout: Some(CANCEL_AGAIN), lingers: Lingers::UnderWay });
        // Where it cannot be asked the session ends soon.
        let _ = self.cancel_handle().cancel();
    }

    /// Whether the server lets somebody in and answers, or says why not.
    fn answers_others(&self) -> bool {
        let asked = Self::open(&self.endpoint).map(|mut other| {
            other.set_answer_timeout(self.endpoint.connect_timeout.unwrap_or(Duration::MAX));
            // A refusal is an answer, too.
            matches!(
                {
                    other.limit_briefly();
                    other.execute("SELECT 1")
                },
                Ok(_) | Err(QueryError::Server { .. })
            )
        });
        // An interruption is seen at the next wait.
        asked.unwrap_or_else(|error| error.server_error().is_some()) || interruption::is_requested()
    }

    /// Of a server that sends without an end the session is ended.
    fn check_size(&mut self, count: usize, sql: &str) -> Result<(), QueryError> {
        let is_over = match &mut self.answer_left {
            Some(left) => count > std::mem::replace(left, left.saturating_sub(count)),
            None => self.received.len() > self.answer_bytes_max,
        };
        self.broken |= is_over;
        let bytes = self.answer_bytes_max;
        if is_over { Err(QueryError::TooLarge { bytes, statement: error::shorten(sql) }) } else { Ok(()) }
    }

    pub(super) fn take_in(&mut self, count: usize) -> Result<(), QueryError> {
        let network = self.chunk.get(..count).unwrap_or_default();
        let opened = self.link.open(network, &mut self.received);
        let opened = opened.and_then(|()| self.link.poll_output(&mut self.unsent));
        opened.map_err(|error| {
            self.broken = true;
            error.into()
        })
    }

    /// Appends messages to what is to be sent, encrypted where the session is.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), QueryError> {
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

    pub(super) fn flush(&mut self, sql: &str) -> Result<(), QueryError> {
        loop {
            match self.stream.write_until_told(&mut self.unsent) {
                Ok(true) => return Ok(()),
                Ok(false) => self.receive(sql)?,
                Err(error) => self.go_on_waiting(error, sql)?,
            }
        }
    }

    /// The session is over. Where the server said why (it was stopped, the session was terminated) that is told,
    /// else what the operating system said.
    pub(super) fn lost(&mut self, source: io::Error, sql: &str) -> QueryError {
        self.broken = true;
        let statement = error::shorten(sql);
        match source.kind() {
            io::ErrorKind::Interrupted => return QueryError::Interrupted,
            io::ErrorKind::TimedOut => return QueryError::TimedOut { statement },
            _ => {}
        }
        self.receive_parting_words();
        match self.session.take_error() {
            Some(error) => QueryError::Server { error, statement },
            None => QueryError::Lost { advice: advice::lost(self.is_mysql(), sql), source, statement },
        }
    }

    /// What the server sent before it went lies unread where it was our sending that failed.
    fn receive_parting_words(&mut self) {
        self.stream.set_wait_limit(WaitLimit { timeout: Some(PARTING_WORDS), lingers: Lingers::UnderWay });
        while let Ok(count @ 1..) = self.stream.read(&mut self.chunk) {
            if self.take_in(count).is_err() {
                break;
            }
        }
        let _ = self.session.scan(&self.received, &mut ());
    }
}

impl Drop for WireConnection {
    fn drop(&mut self) {
        let mut farewell = Vec::new();
        self.session.farewell(&mut farewell);
        if !self.broken && self.append(|out| out.append(&mut farewell)).is_ok() {
            // A server that is gone already needs no farewell.
            let _ = self.stream.write_available(&self.unsent);
        }
    }
}
