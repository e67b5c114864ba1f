//! A session's connection, whichever way leads to the database: a socket of the event loop's, or a driver that blocks.

use std::fmt;

use dyno_results::answer::Kind;
use dyno_wire::endpoint::SessionName;
use dyno_wire::row::{Field, Fields};
use dyno_wire::server_error::{DriverError, ServerError};

use crate::clock::now_ns;
use crate::driver::{DriverSession, Route, RowSink, Value};
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::poller::Poller;
use crate::prepared_statements::PreparedStatements;
use crate::request::{Outbox, Request, SentRequest};
use crate::wire_connection::WireConnection;
use crate::workload::{Answer, Client, Reply, TransactionStatus};

/// A connection, which need not be open.
pub(crate) struct Connection {
    line: Line,
    prepared_statements: PreparedStatements,
    /// When the request was sent that is waited for.
    pub(crate) request_ns: u64,
    /// When the first row of its answer came, where that was asked for.
    pub(crate) first_row_ns: Option<u64>,
    times_first_row: bool,
    /// When the server was last asked to cancel what was under way; 0 for never.
    pub(crate) cancel_ns: u64,
}

enum Line {
    Wire(WireConnection),
    Driver(DriverConnection),
}

/// A driver's session, and what came of the last request.
struct DriverConnection {
    /// See [`WireConnection::token`].
    token: u64,
    session: Box<dyn DriverSession>,
    /// What the outbox holds was not executed yet; and whether its rows are for the client.
    request: Option<SentRequest>,
    answer: Answer,
    error: Option<ServerError>,
}

/// How far opening a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// A socket is connecting.
    Connecting,
    /// The session is there, and everything is prepared on it.
    Ready,
}

impl Connection {
    pub(crate) fn new(token: u64) -> Self {
        Self {
            line: Line::Wire(WireConnection::new(token)),
            prepared_statements: PreparedStatements::default(),
            request_ns: 0,
            first_row_ns: None,
            times_first_row: false,
            cancel_ns: 0,
        }
    }

    /// Begins to open it; a driver's session is there at once.
    pub(crate) fn open(&mut self, route: &Route, io: &mut Io) -> Result<Opened, SessionError> {
        match (route, &mut self.line) {
            (Route::Wire(endpoint), Line::Wire(wire)) => {
                wire.open(&endpoint.address, &mut io.poller).map(|()| Opened::Connecting)
            }
            (Route::Driver(driver), _) => {
                let session = io.watched.open(driver, io.outbox.statements.to_prepare())?;
                io.watched.set_session(session.canceller(), session.progress());
                let (token, answer) = (self.token(), Answer::default());
                let (request, error) = (None, None);
                self.line = Line::Driver(DriverConnection { token, session, request, answer, error });
                Ok(Opened::Ready)
            }
            (Route::Wire(_), Line::Driver(_)) => Err(SessionError::Closed),
        }
    }

    /// Has a socket, be it not yet connected, or a driver's session.
    pub(crate) fn is_open(&self) -> bool {
        match &self.line {
            Line::Wire(wire) => wire.is_open(),
            Line::Driver(_) => true,
        }
    }

    /// The socket and its protocol, where it has one.
    pub(crate) fn wire(&mut self) -> Result<&mut WireConnection, SessionError> {
        match &mut self.line {
            Line::Wire(wire) => Ok(wire),
            Line::Driver(_) => Err(SessionError::Closed),
        }
    }

    /// How the server knows it, for cancelling over another connection.
    pub(crate) fn name(&self) -> Option<SessionName> {
        match &self.line {
            Line::Wire(wire) => wire.name.clone(),
            Line::Driver(_) => None,
        }
    }

    /// Closes it and forgets all that belonged to it.
    pub(crate) fn close(&mut self, poller: &mut Poller) {
        if let Line::Wire(wire) = &mut self.line {
            wire.close(poller);
        }
        *self = Self::new(self.token());
    }

    fn token(&self) -> u64 {
        match &self.line {
            Line::Wire(wire) => wire.token(),
            Line::Driver(driver) => driver.token,
        }
    }

    /// Ends it in good order, so that the server need not find out by itself.
    pub(crate) fn say_goodbye(&mut self, poller: &mut Poller) {
        if let Line::Wire(wire) = &mut self.line {
            wire.say_goodbye(poller);
        }
    }

    /// Hands its socket over to another poller.
    pub(crate) fn move_to(&mut self, poller: &mut Poller) -> Result<(), SessionError> {
        match &mut self.line {
            Line::Wire(wire) => wire.move_to(poller),
            Line::Driver(_) => Ok(()),
        }
    }

    /// Of what comes on it nothing is to be heard until it is used again.
    pub(crate) fn set_aside(&self, poller: &mut Poller) -> Result<(), SessionError> {
        match &self.line {
            Line::Wire(wire) => wire.set_aside(poller),
            Line::Driver(_) => Ok(()),
        }
    }

    pub(crate) fn use_again(&self, poller: &mut Poller) -> Result<(), SessionError> {
        match &self.line {
            Line::Wire(wire) => wire.use_again(poller),
            Line::Driver(_) => Ok(()),
        }
    }

    /// An empty request to be filled for it.
    #[inline]
    pub(crate) fn new_request<'a>(&'a mut self, outbox: &'a mut Outbox) -> Request<'a> {
        Request::new(outbox, &mut self.prepared_statements)
    }

    /// Sends what the outbox holds; a driver does it when its answer is received.
    #[inline]
    pub(crate) fn request(&mut self, sent: SentRequest, io: &mut Io) -> Result<(), SessionError> {
        (self.first_row_ns, self.times_first_row) = (None, sent.times_first_row);
        match &mut self.line {
            Line::Wire(wire) => wire.request(sent, io),
            Line::Driver(driver) => {
                driver.request = Some(sent);
                Ok(())
            }
        }
    }

    /// Reads what is there and scans it as the answer to the last request.
    #[inline]
    pub(crate) fn receive(&mut self, client: &mut dyn Client, io: &mut Io) -> Result<Received, SessionError> {
        match &mut self.line {
            Line::Wire(wire) => {
                let received = wire.receive(&mut self.prepared_statements, client, io)?;
                if self.times_first_row && self.first_row_ns.is_none() && wire.scanner.answer().rows > 0 {
                    self.first_row_ns = Some(now_ns());
                }
                Ok(received)
            }
            Line::Driver(driver) => {
                if let Some(sent) = driver.request.take() {
                    let mut rows = ClientRows {
                        client,
                        is_wanted: sent.keeps_rows,
                        times_first_row: sent.times_first_row,
                        first_row_ns: None,
                    };
                    self.cancel_ns = driver.run(self.request_ns, &mut rows, io);
                    self.first_row_ns = rows.first_row_ns;
                }
                match driver.error.take_if(|error| error.ends_session()) {
                    Some(error) => Err(SessionError::Server(error)),
                    None => Ok(Received::Answered),
                }
            }
        }
    }

    /// The error in the answer that has come in, if there is one.
    #[inline]
    pub(crate) fn take_error(&mut self) -> Option<ServerError> {
        match &mut self.line {
            Line::Wire(wire) => wire.scanner.take_error(),
            Line::Driver(driver) => driver.error.take(),
        }
    }

    /// How many of the workload's statements were prepared before the first that the server refused.
    pub(crate) fn refused_behind(&self) -> Option<usize> {
        self.prepared_statements.refused_behind()
    }

    /// The answer that has come in, without its rows.
    #[inline]
    pub(crate) fn answer(&self) -> Answer {
        match &self.line {
            Line::Wire(wire) => wire.scanner.answer(),
            Line::Driver(driver) => driver.answer,
        }
    }

    /// Whether a transaction block is open after this error.
    pub(crate) fn status_after(&self, error: &ServerError) -> TransactionStatus {
        if error.rolls_back() { TransactionStatus::Idle } else { self.answer().status }
    }

    /// Reads what nothing was asked for: a notice, why the server ends the connection, its end.
    pub(crate) fn overhear(&mut self, client: &mut dyn Client, io: &mut Io) -> Result<(), SessionError> {
        let Line::Wire(wire) = &mut self.line else { return Ok(()) };
        wire.listen();
        wire.receive(&mut self.prepared_statements, client, io)?;
        // What the server says before it closes would be forgotten with the next request.
        if wire.scanner.was_dismissed() {
            return Err(wire.scanner.take_error().map_or(SessionError::Closed, SessionError::Server));
        }
        Ok(())
    }

    /// Why the connection broke, in the server's words where it left any.
    pub(crate) fn last_words(
        &mut self,
        error: SessionError,
        client: &mut dyn Client,
        io: &mut Io,
    ) -> SessionError {
        match &mut self.line {
            Line::Wire(wire) => wire.last_words(error, &mut self.prepared_statements, client, io),
            Line::Driver(_) => error,
        }
    }
}

impl DriverConnection {
    /// Does what the outbox holds, up to the first error. When the session was last asked to stop; 0 for never.
    fn run(&mut self, now: u64, rows: &mut ClientRows<'_>, io: &Io) -> u64 {
        self.answer = Answer::default();
        self.error = io.outbox.calls.is_empty().then(|| no_driver_has_it().into());
        io.watched.begin(now);
        for operation in io.outbox.calls.iter() {
            match self.session.execute(operation, rows) {
                Ok(executed) => {
                    self.answer.statements += executed.statements;
                    self.answer.rows += executed.rows;
                    self.answer.affected += executed.affected;
                    if rows.is_wanted {
                        rows.client.reply(Reply::Complete);
                    }
                }
                Err(error) => {
                    self.error = Some(error.into());
                    break;
                }
            }
        }
        let in_transaction = self.session.in_transaction();
        self.answer.status =
            if in_transaction { TransactionStatus::InTransaction } else { TransactionStatus::Idle };
        io.watched.end()
    }
}

/// Hands a client its rows if it wants them, and notes when the first came.
struct ClientRows<'a> {
    client: &'a mut dyn Client,
    is_wanted: bool,
    times_first_row: bool,
    first_row_ns: Option<u64>,
}

impl RowSink for ClientRows<'_> {
    fn wants_rows(&self) -> bool {
        self.is_wanted
    }

    fn columns(&mut self, names: &[&str]) {
        self.client.reply(Reply::Rows(names.len()));
        names.iter().for_each(|name| self.client.reply(Reply::Column(name.as_bytes())));
    }

    fn kinds(&mut self, kinds: &[Kind]) {
        kinds.iter().for_each(|kind| self.client.reply(Reply::Kind(*kind)));
    }

    fn row(&mut self, values: &[Value<'_>]) {
        let fields: &dyn Fields = &Decoded(values);
        self.client.reply(Reply::Row(fields.into()));
    }

    fn arrived(&mut self) {
        if self.times_first_row && self.first_row_ns.is_none() {
            self.first_row_ns = Some(now_ns());
        }
    }
}

/// A row that a driver has decoded.
#[derive(Debug)]
struct Decoded<'a>(&'a [Value<'a>]);

impl Fields for Decoded<'_> {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn for_each(&self, take: &mut dyn FnMut(Field<'_>)) {
        self.0.iter().for_each(|value| match value {
            Value::Null => take(Field::Null),
            Value::Integer(value) => take(Field::Other(value)),
            Value::Double(value) => take(Field::Other(&Double(*value))),
            Value::Decimal(digits) => take(Field::Text(digits.as_bytes())),
            Value::Text(text) => take(Field::Text(text)),
        });
    }
}

/// Shown with an exponent where it is large, as PostgreSQL and MySQL do: all digits would look like those of an exact integer.
struct Double(f64);

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() >= 1e15 && self.0.is_finite() {
            true => write!(f, "{:e}", self.0),
            false => write!(f, "{}", self.0),
        }
    }
}

/// A script's own prepared statements and pipelines are a matter of the protocols.
#[cold]
fn no_driver_has_it() -> DriverError {
    DriverError::new(
        "unsupported",
        "the workload uses a part of a server's protocol that this database does not have",
    )
}

#[cfg(test)]
mod tests {
    use super::Double;

    #[test]
    fn large_floats_are_no_integers() {
        let shown =
            [1e15, -2.5e17, 999_999_999_999_999.0, 3.0, 0.25, f64::INFINITY].map(|it| Double(it).to_string());
        assert_eq!(shown, ["1e15", "-2.5e17", "999999999999999", "3", "0.25", "inf"]);
    }
}
