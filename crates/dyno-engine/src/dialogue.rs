//! One conversation with a server in whichever protocol it speaks: the login, and the scanning of answers.
//!
//! The machines are dyno-wire's; here is only what makes the engine see one kind of them.

use std::sync::Arc;

use dyno_wire::endpoint::{Address, Endpoint, SessionName, Wire};
use dyno_wire::link::Link;
use dyno_wire::my;
use dyno_wire::my::reply::Expect;
use dyno_wire::pg;
use dyno_wire::pg::backend::{CommandTag, CopyResponse, DataRow, NoticeFields, RowDescription};
use dyno_wire::server_error::ServerError;

use crate::column_kind;
use crate::error::SessionError;
use crate::prepared_statements::PreparedStatements;
use crate::workload::{Answer, Client, Reply, TransactionStatus};

/// Does the same with the machine of either protocol.
macro_rules! either {
    ($either:expr, $machine:ident => $does:expr) => {
        match $either {
            Self::Postgres($machine) => $does,
            Self::MySql($machine) => $does,
        }
    };
}

/// A login under way.
#[derive(Debug)]
pub(crate) enum LoginDialogue {
    Postgres(pg::handshake::Handshake),
    MySql(my::handshake::Handshake),
}

/// What a login ends in.
pub(crate) struct LoggedIn {
    pub(crate) link: Link,
    pub(crate) scanner: ProtocolScanner,
    /// `None` of a server that gives none.
    pub(crate) name: Option<SessionName>,
    /// Bytes that came behind the login.
    pub(crate) leftover: Vec<u8>,
}

impl LoginDialogue {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let login = Arc::clone(&endpoint.login);
        match endpoint.wire {
            Wire::Postgres => Self::Postgres(pg::handshake::Handshake::new(login)),
            Wire::MySql(options) => {
                let unix_socket = matches!(endpoint.address, Address::Unix(_));
                // A client of the load has no file to give.
                let options = my::handshake::Options { unix_socket, local_infile: false, ..options };
                Self::MySql(my::handshake::Handshake::new(login, options))
            }
        }
    }

    pub(crate) fn handle_input(&mut self, network: &[u8]) -> Result<(), SessionError> {
        either!(self, handshake => Ok(handshake.handle_input(network)?))
    }

    pub(crate) fn poll_output(&mut self, out: &mut Vec<u8>) {
        either!(self, handshake => handshake.poll_output(out));
    }

    pub(crate) fn is_done(&self) -> bool {
        either!(self, handshake => handshake.is_done())
    }

    pub(crate) fn into_session(self) -> LoggedIn {
        match self {
            Self::Postgres(handshake) => {
                let session = handshake.into_session();
                let scanner = ProtocolScanner::Postgres(pg::reply::ReplyScanner::default());
                let (process_id, secret_key) = (session.process_id, session.secret_key);
                let name = (process_id != 0).then_some(SessionName::Postgres { process_id, secret_key });
                LoggedIn { link: session.link, scanner, name, leftover: session.leftover }
            }
            Self::MySql(handshake) => {
                let session = handshake.into_session();
                let scanner =
                    ProtocolScanner::MySql(Box::new(my::reply::ReplyScanner::new(session.capabilities)));
                let name = Some(SessionName::MySql { connection_id: session.connection_id });
                LoggedIn { link: session.link, scanner, name, leftover: session.leftover }
            }
        }
    }
}

/// Follows the answer to a request.
#[derive(Debug)]
pub(crate) enum ProtocolScanner {
    Postgres(pg::reply::ReplyScanner),
    // Larger than the other, and not every client has it.
    MySql(Box<my::reply::ReplyScanner>),
}

impl Default for ProtocolScanner {
    fn default() -> Self {
        Self::Postgres(pg::reply::ReplyScanner::default())
    }
}

impl ProtocolScanner {
    /// Begins to follow the answer to a request: `syncs` ReadyForQuery, or one reply for each of `expects`.
    #[inline]
    pub(crate) fn start(&mut self, syncs: u32, expects: &[Expect]) {
        match self {
            Self::Postgres(scanner) => scanner.start(syncs),
            Self::MySql(scanner) => {
                let (first, others) = expects.split_first().unwrap_or((&Expect::Text, &[]));
                scanner.start(*first);
                others.iter().for_each(|expect| scanner.extend(*expect));
            }
        }
    }

    /// Scans what has arrived; how many bytes are done with, and whether the whole request is answered. Rows go to the
    /// client only if it wants them.
    #[inline]
    pub(crate) fn scan(
        &mut self,
        keeps_rows: bool,
        client: &mut dyn Client,
        prepared_statements: &mut PreparedStatements,
        arrived: &[u8],
    ) -> Result<(usize, bool), SessionError> {
        let (consumed, done) = either!(self, scanner => {
            let scanned = if keeps_rows {
                scanner.scan(arrived, &mut Sink::<true> { client, prepared_statements })?
            } else {
                scanner.scan(arrived, &mut Sink::<false> { client, prepared_statements })?
            };
            (scanned.consumed, scanned.done)
        });
        // The scanner stops where the client is to send data, which none of ours has.
        let wants_data = match self {
            Self::Postgres(scanner) => !done && scanner.wants_copy_data(),
            Self::MySql(scanner) => scanner.wants_local_infile(),
        };
        if wants_data { Err(SessionError::CopyIn) } else { Ok((consumed, done)) }
    }

    /// Scans what nobody waits for.
    pub(crate) fn overhear(&mut self, arrived: &[u8]) {
        // Bytes that make no sense tell nothing.
        either!(self, scanner => drop(scanner.scan(arrived, &mut ())));
    }

    pub(crate) fn is_done(&self) -> bool {
        either!(self, scanner => scanner.is_done())
    }

    /// Whether there is an error after which the server closes the connection.
    pub(crate) fn was_dismissed(&self) -> bool {
        match self {
            Self::Postgres(scanner) => scanner.error().is_some_and(pg::error::PostgresError::ends_session),
            // A server that speaks unasked only ever says why it goes.
            Self::MySql(scanner) => scanner.error().is_some(),
        }
    }

    pub(crate) fn has_error(&self) -> bool {
        either!(self, scanner => scanner.error().is_some())
    }

    #[inline]
    pub(crate) fn take_error(&mut self) -> Option<ServerError> {
        either!(self, scanner => scanner.take_error().map(ServerError::from))
    }

    /// The answer that has come in, without its rows.
    #[inline]
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Self::Postgres(scanner) => {
                let totals = scanner.totals();
                Answer {
                    statements: totals.statements,
                    results: totals.results,
                    rows: totals.rows,
                    affected: totals.affected,
                    status: totals.status,
                }
            }
            Self::MySql(scanner) => {
                let totals = scanner.totals();
                let open = totals.status.in_transaction();
                let status = if open { TransactionStatus::InTransaction } else { TransactionStatus::Idle };
                Answer {
                    statements: totals.statements,
                    results: totals.results,
                    rows: totals.rows,
                    affected: totals.affected,
                    status,
                }
            }
        }
    }

    /// Appends what ends the session in good order.
    pub(crate) fn write_goodbye(&self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(_) => pg::frontend::terminate(out),
            Self::MySql(_) => my::frontend::quit(out),
        }
    }
}

/// Hands the client what nobody counts, and with `ROWS` everything else.
struct Sink<'a, const ROWS: bool> {
    client: &'a mut dyn Client,
    prepared_statements: &'a mut PreparedStatements,
}

impl<const ROWS: bool> Sink<'_, ROWS> {
    fn keep(&mut self, part: Reply<'_>) {
        if ROWS {
            self.client.reply(part);
        }
    }
}

impl<const ROWS: bool> pg::reply::ReplySink for Sink<'_, ROWS> {
    const WANTS_ROWS: bool = ROWS;
    const WANTS_COPY_DATA: bool = false;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        self.keep(Reply::Rows(columns.len()));
        if ROWS {
            columns.columns().for_each(|column| {
                self.keep(Reply::Column(column.name.0));
                self.keep(Reply::Kind(column_kind::of_postgres(column.type_oid)));
            });
        }
    }

    fn row(&mut self, row: DataRow<'_>) {
        self.keep(Reply::Row(row.into()));
    }

    fn command_complete(&mut self, _tag: CommandTag<'_>) {
        self.keep(Reply::Complete);
    }

    #[cold]
    fn notice(&mut self, notice: NoticeFields<'_>) {
        self.client.reply(Reply::Notice(notice));
    }

    #[cold]
    fn copy_out(&mut self, _response: CopyResponse<'_>) {
        self.client.reply(Reply::CopyOut);
    }
}

impl<const ROWS: bool> my::reply::ReplySink for Sink<'_, ROWS> {
    const WANTS_ROWS: bool = ROWS;

    fn result_set(&mut self, columns: usize) {
        self.keep(Reply::Rows(columns));
    }

    fn column(&mut self, column: my::backend::Column<'_>) {
        self.keep(Reply::Column(column.name.0));
        if ROWS {
            self.keep(Reply::Kind(column_kind::of_mysql(&column)));
        }
    }

    fn row(&mut self, row: my::backend::ResultRow<'_>) {
        self.keep(Reply::Row(row.into()));
    }

    fn ok(&mut self, _ok: my::backend::OkPacket<'_>) {
        self.keep(Reply::Complete);
    }

    fn prepared(&mut self, prepared: my::backend::Prepared) {
        self.prepared_statements.prepared(prepared);
    }

    #[cold]
    fn error(&mut self, _error: &my::error::MySqlError) {
        self.prepared_statements.refused();
    }
}
