//! COPY: data in, data out.

use dyno_wire::pg::frontend;
use dyno_wire::{my, pg};

use super::error::{QueryError, shorten};
use super::session::{AnswerTotals, ProtocolSession};
use super::wire::WireConnection;

/// Sent once this much has gathered.
const FLUSH_BYTES: usize = 128 * 1024;
/// How much may be sent before looking whether the server has objected.
const LOOK_BYTES: usize = 4 * 1024 * 1024;

impl WireConnection {
    /// Begins a `COPY … FROM STDIN`, which only PostgreSQL knows.
    ///
    /// # Errors
    /// As [`Connection::query`], and where the statement is no such COPY.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, QueryError> {
        self.begin(sql)?;
        while !self.wants_copy_data() {
            if self.scan(&mut ())? {
                self.finish(sql)?;
                return Err(QueryError::NotACopy { statement: shorten(sql) });
            }
            if !self.wants_copy_data() {
                self.receive(sql)?;
            }
        }
        Ok(CopyIn { connection: self, statement: shorten(sql), since_look: 0, over: false })
    }

    /// Runs a `COPY … TO STDOUT` and hands each piece to `sink`; returns the number of rows.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn copy_out(&mut self, sql: &str, sink: impl FnMut(&[u8])) -> Result<u64, QueryError> {
        Ok(self.run(sql, &mut Pieces(sink))?.rows)
    }

    fn wants_copy_data(&self) -> bool {
        matches!(&self.session, ProtocolSession::Postgres(session) if session.scanner.wants_copy_data())
    }
}

struct Pieces<F>(F);

impl<F: FnMut(&[u8])> pg::reply::ReplySink for Pieces<F> {
    const WANTS_ROWS: bool = false;
    const WANTS_COPY_DATA: bool = true;

    fn copy_data(&mut self, data: &[u8]) {
        (self.0)(data);
    }
}

/// MySQL copies nothing out.
impl<F> my::reply::ReplySink for Pieces<F> {}

/// A `COPY … FROM STDIN` under way. Dropped unfinished, it is given up and leaves no rows.
#[derive(Debug)]
#[must_use = "the rows are there only after finish()"]
pub struct CopyIn<'c> {
    connection: &'c mut WireConnection,
    statement: String,
    /// Bytes sent since the server was last heard.
    since_look: usize,
    over: bool,
}

impl CopyIn<'_> {
    /// Sends data; pieces need not fall on rows.
    ///
    /// # Errors
    /// What the server objected to (a bad row, a full disk), at the latest some megabytes after it did.
    pub fn send(&mut self, data: &[u8]) -> Result<(), QueryError> {
        self.connection.append(|out| frontend::copy_data(out, data))?;
        if self.connection.unsent.len() >= FLUSH_BYTES {
            self.since_look += self.connection.unsent.len();
            self.connection.flush(&self.statement)?;
            // Whatever it had to say before it read on.
            self.heed()?;
        }
        if self.since_look >= LOOK_BYTES {
            self.since_look = 0;
            self.look()?;
        }
        Ok(())
    }

    /// Ends the copy; returns the rows that it brought.
    ///
    /// # Errors
    /// What the server said.
    pub fn finish(mut self) -> Result<u64, QueryError> {
        self.over = true;
        self.connection.append(frontend::copy_done)?;
        self.connection.flush(&self.statement)?;
        Ok(self.drain()?.affected)
    }

    /// Reads an objection that has come already, so that gigabytes are not sent for nothing.
    fn look(&mut self) -> Result<(), QueryError> {
        let connection = &mut *self.connection;
        match connection.stream.read_available(&mut connection.chunk) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => {
                return Err(connection.lost(std::io::ErrorKind::UnexpectedEof.into(), &self.statement));
            }
            Ok(Some(count)) => connection.take_in(count)?,
            Err(error) => return Err(connection.lost(error, &self.statement)),
        }
        self.heed()
    }

    /// Takes out notices, and ends the copy where the server has objected.
    fn heed(&mut self) -> Result<(), QueryError> {
        self.connection.scan(&mut ())?;
        if self.connection.session.has_error() {
            self.over = true;
            self.drain()?;
        }
        Ok(())
    }

    /// Follows the answer to its end.
    fn drain(&mut self) -> Result<AnswerTotals, QueryError> {
        while !self.connection.scan(&mut ())? {
            self.connection.receive(&self.statement)?;
        }
        self.connection.finish(&self.statement)
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if self.over || self.connection.broken {
            return;
        }
        let given_up = self
            .connection
            .append(|out| frontend::copy_fail(out, "given up by the client"))
            .and_then(|()| self.connection.flush(&self.statement));
        if given_up.is_ok() {
            // The error that answers it is what was asked for.
            let _ = self.drain();
        }
    }
}
