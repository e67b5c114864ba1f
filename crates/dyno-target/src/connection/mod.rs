//! A blocking session for administrative work: preparing data, settings, checks, probes. It is a server's, over a socket, or a
//! driver's; it never carries load itself.

mod advice;
mod cancel;
mod copy;
mod driver;
mod error;
mod load;
mod login;
mod noting;
mod rows;
mod session;
mod stream;
mod wire;

use std::io;
use std::str::FromStr;
use std::time::Duration;

use dyno_engine::driver::{Batch, Driver, Route};
use dyno_wire::endpoint::Endpoint;

pub use advice::TlsTerms;
pub use cancel::CancelHandle;
pub use copy::CopyIn;
pub use error::{ConnectError, QueryError};
pub use load::LoadLocal;
pub use rows::{TextRow, TextRows};
pub use stream::Closer;
pub(crate) use stream::accepts;
pub use wire::WireConnection;

use driver::DriverConnection;

/// An open session. Dropping it ends the session in good order.
///
/// When the user wants to stop ([`interruption`](crate::interruption)), the statement under way is cancelled, and no other is
/// begun.
#[derive(Debug)]
pub struct Connection(Session);

#[derive(Debug)]
enum Session {
    Wire(Box<WireConnection>),
    Driver(DriverConnection),
}

/// Does the same with a session of either kind.
macro_rules! either {
    ($either:expr, $session:ident => $does:expr) => {
        match $either {
            Session::Wire($session) => $does,
            Session::Driver($session) => $does,
        }
    };
}

impl Connection {
    /// Connects and logs in, within the endpoint's time for that.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn open(route: impl Into<Route>) -> Result<Self, ConnectError> {
        match route.into() {
            Route::Wire(endpoint) => WireConnection::open(&endpoint).map(Self::of_wire),
            Route::Driver(driver) => DriverConnection::open(driver, None).map(Self::of_driver),
        }
    }

    /// The same within `timeout`; `None` waits for as long as it takes.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(route: impl Into<Route>, timeout: Option<Duration>) -> Result<Self, ConnectError> {
        match route.into() {
            Route::Wire(endpoint) => WireConnection::open_within(&endpoint, timeout).map(Self::of_wire),
            Route::Driver(driver) => DriverConnection::open(driver, timeout).map(Self::of_driver),
        }
    }

    /// The same for what is asked after a load, also where the user wants to stop: then there is as much time for all of it,
    /// from its own beginning, as for a statement that is being cancelled. What has not answered all of it after `timeout` is
    /// given up.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_after_load(route: impl Into<Route>, timeout: Duration) -> Result<Self, ConnectError> {
        match route.into() {
            Route::Wire(endpoint) => WireConnection::open_after_load(&endpoint, timeout).map(Self::of_wire),
            Route::Driver(driver) => DriverConnection::open_after_load(driver, timeout).map(Self::of_driver),
        }
    }

    fn of_wire(wire: WireConnection) -> Self {
        Self(Session::Wire(Box::new(wire)))
    }

    fn of_driver(session: DriverConnection) -> Self {
        Self(Session::Driver(session))
    }

    /// The session with a server, where it is one.
    pub fn wire(&self) -> Option<&WireConnection> {
        match &self.0 {
            Session::Wire(wire) => Some(wire),
            Session::Driver(_) => None,
        }
    }

    /// The same, for what only a server's protocol has.
    pub fn wire_mut(&mut self) -> Option<&mut WireConnection> {
        match &mut self.0 {
            Session::Wire(wire) => Some(wire),
            Session::Driver(_) => None,
        }
    }

    /// The server; `None` where there is none.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.wire().map(WireConnection::endpoint)
    }

    /// How further sessions like it are opened.
    pub fn route(&self) -> Route {
        either!(&self.0, session => session.route())
    }

    /// The driver; `None` where there is a server.
    pub fn driver(&self) -> Option<&dyn Driver> {
        match &self.0 {
            Session::Wire(_) => None,
            Session::Driver(session) => Some(session.driver()),
        }
    }

    /// Where it was opened, as messages name it.
    pub fn place(&self) -> String {
        either!(&self.0, session => session.place())
    }

    /// Runs one or more statements and returns all their rows, values as text.
    ///
    /// # Errors
    /// What the server said, or that the session was lost.
    pub fn query(&mut self, sql: &str) -> Result<TextRows, QueryError> {
        either!(&mut self.0, session => session.query(sql))
    }

    /// As [`Connection::query`] of one statement that may take so long, and is then cancelled.
    ///
    /// # Errors
    /// As [`Connection::query`]; `TimedOut` where it was cancelled, after which the session goes on if the server does.
    pub fn query_within(&mut self, sql: &str, limit: Duration) -> Result<TextRows, QueryError> {
        match &mut self.0 {
            Session::Wire(wire) => wire.query_within(sql, limit),
            Session::Driver(_) => self.within(limit, |it| it.query(sql)),
        }
    }

    /// Runs one or more statements for their effect; returns the rows they inserted, updated or deleted.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, QueryError> {
        either!(&mut self.0, session => session.execute(sql))
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

    /// Notices and warnings since they were last taken, each with its newline. See [`WireConnection::take_notices`].
    pub fn take_notices(&mut self) -> Vec<String> {
        self.wire_mut().map(WireConnection::take_notices).unwrap_or_default()
    }

    /// From now on a server that stays silent for as long within an answer is given up.
    pub fn set_answer_timeout(&mut self, timeout: Duration) {
        either!(&mut self.0, session => session.set_answer_timeout(timeout));
    }

    /// Asks what no server takes long to answer: the session is given up after some times the time for connecting.
    pub fn briefly<T>(&mut self, ask: impl FnOnce(&mut Self) -> T) -> T {
        let before = either!(&mut self.0, session => session.limit_briefly());
        let answered = ask(self);
        either!(&mut self.0, session => session.set_limits(before));
        answered
    }

    /// The same within `time`, whatever the time for connecting is, and without asking a server that is silent again.
    pub fn within<T>(&mut self, time: Duration, ask: impl FnOnce(&mut Self) -> T) -> T {
        let before = either!(&mut self.0, session => session.limit(time));
        let answered = ask(self);
        either!(&mut self.0, session => session.set_limits(before));
        answered
    }

    /// Whether the session can no longer be used.
    pub fn is_broken(&self) -> bool {
        either!(&self.0, session => session.is_broken())
    }

    /// A way to end this session at once from another thread.
    ///
    /// # Errors
    /// What the operating system said.
    pub fn closer(&self) -> io::Result<Closer> {
        either!(&self.0, session => session.closer())
    }

    /// Whether the session is of MySQL's protocol.
    pub fn is_mysql(&self) -> bool {
        self.wire().is_some_and(WireConnection::is_mysql)
    }

    /// `TLSv1.3`; `None` where the session is not encrypted.
    pub fn tls_version(&self) -> Option<&'static str> {
        self.wire().and_then(WireConnection::tls_version)
    }

    /// The version as the server said it at login.
    pub fn server_version(&self) -> Option<&str> {
        self.wire().and_then(WireConnection::server_version)
    }

    /// Begins a `COPY … FROM STDIN`. See [`WireConnection::copy_in`].
    ///
    /// # Errors
    /// As there, and where there is no server.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, QueryError> {
        match &mut self.0 {
            Session::Wire(wire) => wire.copy_in(sql),
            Session::Driver(_) => Err(QueryError::NotACopy { statement: error::shorten(sql) }),
        }
    }

    /// Adds a batch of rows to the columns of a table; returns how many were taken.
    ///
    /// # Errors
    /// As [`Connection::query`], and where there is a server: its rows come in another way.
    pub fn load_batch(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, QueryError> {
        match &mut self.0 {
            Session::Wire(_) => Err(QueryError::NotALoad { statement: table.to_owned() }),
            Session::Driver(session) => session.load(table, columns, rows),
        }
    }

    /// Begins a `LOAD DATA LOCAL INFILE`. See [`WireConnection::load_local`].
    ///
    /// # Errors
    /// As there, and where there is no server.
    pub fn load_local(&mut self, sql: &str) -> Result<LoadLocal<'_>, QueryError> {
        match &mut self.0 {
            Session::Wire(wire) => wire.load_local(sql),
            Session::Driver(_) => Err(QueryError::NotALoad { statement: error::shorten(sql) }),
        }
    }
}
