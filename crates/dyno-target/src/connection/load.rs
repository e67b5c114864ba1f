//! LOAD DATA LOCAL INFILE: data in, from memory. No file is ever opened here, whatever a server asks for.

use dyno_wire::my::frontend::LocalInfile;

use super::error::{QueryError, shorten};
use super::noting::Noting;
use super::session::ProtocolSession;
use super::wire::WireConnection;

/// Sent once this much has gathered.
const FLUSH_BYTES: usize = 128 * 1024;

impl WireConnection {
    /// Begins a `LOAD DATA LOCAL INFILE 'name' …`, whose rows are then given piece by piece; the name may be any.
    ///
    /// # Errors
    /// As [`Connection::query`], and where the statement is no such LOAD, or the server asks for another file.
    pub fn load_local(&mut self, sql: &str) -> Result<LoadLocal<'_>, QueryError> {
        self.begin(sql)?;
        let mut ignored = ();
        let mut sink = Noting::new(&mut ignored, sql);
        while !self.scan(&mut sink)? {
            if let Some(file) = self.wanted_file() {
                let name = sink.file.take().unwrap_or_default();
                let statement = shorten(sql);
                if !sql.contains(&name) {
                    self.append(|out| file.finish(out))?;
                    self.flush(sql)?;
                    self.follow(sql, &mut ())?;
                    return Err(QueryError::FileRefused { file: name, statement });
                }
                return Ok(LoadLocal { connection: self, file: Some(file), statement });
            }
            if self.refuse_data(sql)? {
                continue;
            }
            self.receive(sql)?;
        }
        self.finish(sql)?;
        Err(QueryError::NotALoad { statement: shorten(sql) })
    }

    fn wanted_file(&mut self) -> Option<LocalInfile> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.scanner.local_infile(),
            ProtocolSession::Postgres(_) => None,
        }
    }
}

/// A `LOAD DATA LOCAL INFILE` under way. Dropped unfinished it is given up, which ends the session: the protocol knows
/// no other way to leave no rows.
#[derive(Debug)]
#[must_use = "the rows are there only after finish()"]
pub struct LoadLocal<'c> {
    connection: &'c mut WireConnection,
    /// `None` once its end was sent.
    file: Option<LocalInfile>,
    statement: String,
}

impl LoadLocal<'_> {
    /// Sends data; pieces need not fall on rows.
    ///
    /// # Errors
    /// That the session was lost. What the server objects to, it says at the end.
    pub fn send(&mut self, data: &[u8]) -> Result<(), QueryError> {
        let Some(file) = &mut self.file else { return Err(QueryError::Broken) };
        self.connection.append(|out| file.data(out, data))?;
        if self.connection.unsent.len() >= FLUSH_BYTES {
            self.connection.flush(&self.statement)?;
        }
        Ok(())
    }

    /// Ends the file; returns the rows that it brought. Rows that the server left out are told by
    /// [`Connection::take_notices`].
    ///
    /// # Errors
    /// What the server said.
    pub fn finish(mut self) -> Result<u64, QueryError> {
        let Some(file) = self.file.take() else { return Err(QueryError::Broken) };
        self.connection.append(|out| file.finish(out))?;
        self.connection.flush(&self.statement)?;
        Ok(self.connection.follow(&self.statement, &mut ())?.affected)
    }

    /// Gives it up: no rows come of it, and the session ends.
    pub fn abort(self) {
        drop(self);
    }
}

impl Drop for LoadLocal<'_> {
    fn drop(&mut self) {
        if self.file.is_some() && !self.connection.broken {
            self.connection.broken = true;
            if let Ok(closer) = self.connection.closer() {
                closer.close();
            }
        }
    }
}
