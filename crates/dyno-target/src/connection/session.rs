//! What each protocol knows of its session, behind one interface: a statement goes out, its answer is followed to its
//! end. The bytes between are the connection's business.

use std::collections::BTreeMap;

use dyno_wire::server_error::ServerError;
use dyno_wire::{my, pg};

use super::error::QueryError;

/// A session of either protocol.
pub(super) enum ProtocolSession {
    Postgres(PostgresSession),
    MySql(MySqlSession),
}

#[derive(Default)]
pub(super) struct PostgresSession {
    /// What the server last reported of itself.
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) process_id: i32,
    pub(super) secret_key: Vec<u8>,
    pub(super) scanner: pg::reply::ReplyScanner,
    /// The server was told that there is no data for its COPY.
    copy_refused: bool,
}

pub(super) struct MySqlSession {
    pub(super) server_version: String,
    pub(super) connection_id: u32,
    pub(super) scanner: my::reply::ReplyScanner,
}

/// Takes what an answer brings, whatever the protocol.
pub(super) trait Sink: pg::reply::ReplySink + my::reply::ReplySink {}

impl<S: pg::reply::ReplySink + my::reply::ReplySink> Sink for S {}

/// What the statements of an answer did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AnswerTotals {
    /// Results with rows, also those with none in them.
    pub(super) results: u32,
    /// Rows returned.
    pub(super) rows: u64,
    /// Rows inserted, changed or deleted.
    pub(super) affected: u64,
}

/// What one scan did.
pub(super) struct ScannedAnswer {
    pub(super) consumed: usize,
    /// The answer is complete.
    pub(super) done: bool,
}

impl PostgresSession {
    /// Of a login that is done; and the bytes that came behind it.
    pub(super) fn new(session: pg::handshake::Session) -> (Self, dyno_wire::link::Link, Vec<u8>) {
        let pg::handshake::Session { link, parameters, process_id, secret_key, leftover } = session;
        (Self { parameters, process_id, secret_key, ..Self::default() }, link, leftover)
    }
}

impl MySqlSession {
    /// Of a login that is done; and the bytes that came behind it.
    pub(super) fn new(session: my::handshake::Session) -> (Self, dyno_wire::link::Link, Vec<u8>) {
        let my::handshake::Session { link, server_version, connection_id, capabilities, leftover, .. } =
            session;
        let scanner = my::reply::ReplyScanner::new(capabilities);
        (Self { server_version, connection_id, scanner }, link, leftover)
    }
}

impl ProtocolSession {
    /// Writes a query and expects its answer.
    pub(super) fn query(&mut self, out: &mut Vec<u8>, sql: &str) {
        match self {
            Self::Postgres(session) => {
                session.scanner.start(1);
                session.copy_refused = false;
                pg::frontend::query(out, sql);
            }
            Self::MySql(session) => {
                session.scanner.start(my::reply::Expect::Text);
                my::frontend::query(out, sql);
            }
        }
    }

    pub(super) fn scan(
        &mut self,
        received: &[u8],
        sink: &mut impl Sink,
    ) -> Result<ScannedAnswer, QueryError> {
        match self {
            Self::Postgres(session) => {
                let pg::reply::Scanned { consumed, done } = session.scanner.scan(received, sink)?;
                Ok(ScannedAnswer { consumed, done })
            }
            Self::MySql(session) => {
                let my::reply::Scanned { consumed, done } = session.scanner.scan(received, sink)?;
                Ok(ScannedAnswer { consumed, done })
            }
        }
    }

    /// Whether the server waits for data that nobody has; if so it is told that there is none. PostgreSQL answers with
    /// an error; MySQL takes it for an empty file.
    pub(super) fn refuse_data(&mut self, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Postgres(session) => {
                let refuses = session.scanner.wants_copy_data() && !session.copy_refused;
                if refuses {
                    session.copy_refused = true;
                    pg::frontend::copy_fail(out, "no data was offered");
                }
                refuses
            }
            Self::MySql(session) => {
                let file = session.scanner.local_infile();
                file.map(|file| file.finish(out)).is_some()
            }
        }
    }

    /// Takes the first error of the answer.
    pub(super) fn take_error(&mut self) -> Option<ServerError> {
        match self {
            Self::Postgres(session) => session.scanner.take_error().map(ServerError::from),
            Self::MySql(session) => session.scanner.take_error().map(ServerError::from),
        }
    }

    /// Whether the server has objected.
    pub(super) fn has_error(&self) -> bool {
        match self {
            Self::Postgres(session) => session.scanner.error().is_some(),
            Self::MySql(session) => session.scanner.error().is_some(),
        }
    }

    pub(super) fn totals(&self) -> AnswerTotals {
        match self {
            Self::Postgres(session) => {
                let pg::reply::Totals { results, rows, affected, .. } = session.scanner.totals();
                AnswerTotals { results, rows, affected }
            }
            Self::MySql(session) => {
                let my::reply::Totals { results, rows, affected, .. } = session.scanner.totals();
                AnswerTotals { results, rows, affected }
            }
        }
    }

    /// How many warnings the last statements left with the server, which only MySQL keeps.
    pub(super) fn warnings(&self) -> u64 {
        match self {
            Self::Postgres(_) => 0,
            Self::MySql(session) => session.scanner.totals().warnings,
        }
    }

    /// Ends the session in good order.
    pub(super) fn farewell(&self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(_) => pg::frontend::terminate(out),
            Self::MySql(_) => my::frontend::quit(out),
        }
    }
}
