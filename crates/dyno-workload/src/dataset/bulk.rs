//! Brings rows into a table in the fastest way that the server takes: COPY, LOAD DATA LOCAL, or large INSERTs; over
//! several connections that share the work ([`worker_pool`](super::worker_pool)). Knows no table: a family says which
//! statements and which rows.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::Dialect;

use super::NewTable;
use super::rows::{Form, RowRange, Rows};
use super::worker_pool::{JobContext, JobError, News};

/// Rows are written and sent in pieces of this size.
const PIECE_BYTES: usize = 256 * 1024;
/// Most of an INSERT. More gains nothing, and the server holds all of it in memory several times.
const INSERT_BYTES_MAX: u64 = 512 * 1024;
/// Rows that travel in one transaction where the server need not have all of a table in one: its undo stays small, and
/// whoever stops the work waits for less.
pub(crate) const ROWS_PER_TRANSACTION: u64 = 100_000;

/// How rows travel to one server.
#[derive(Debug)]
pub(crate) struct Bulk<'a> {
    dialect: &'a Dialect,
    /// Set once the server has turned the bulk load down.
    inserts_only: AtomicBool,
}

impl<'a> Bulk<'a> {
    pub(crate) fn new(dialect: &'a Dialect) -> Self {
        let bulk = if dialect.mysql { dialect.load_local } else { dialect.copy };
        Self { dialect, inserts_only: AtomicBool::new(!bulk) }
    }

    /// Why all rows go by INSERT, where that is known beforehand.
    pub(crate) fn slower(&self) -> Option<String> {
        let why = match self.dialect.mysql {
            true => "the server does not take LOAD DATA LOCAL (SET GLOBAL local_infile = ON would allow it)",
            false => "the server does not take COPY",
        };
        self.inserts_only.load(Ordering::Relaxed).then(|| format!("{BY_INSERT} {why}"))
    }

    /// Whether a table's rows have to come in one transaction: only that which emptied the table may bring rows that
    /// are frozen from the start, which nobody has to visit again.
    pub(crate) fn whole_tables(&self) -> bool {
        !self.dialect.mysql && self.dialect.copy && self.dialect.freeze
    }

    /// Sends rows of a table, which may have to be written anew.
    pub(crate) fn send<R: Rows>(
        &self,
        connection: &mut Connection,
        table: &NewTable,
        rows: impl Fn() -> RowRange<R>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        if !self.inserts_only.load(Ordering::Relaxed) {
            match self.bulk(connection, table, rows(), context) {
                Err(JobError::Query(error)) if turned_down(&error) => {
                    if !self.inserts_only.swap(true, Ordering::Relaxed) {
                        context.tell(News::Fallback(why_inserts(self.dialect.mysql, &error)));
                    }
                }
                outcome => return outcome,
            }
        }
        self.inserts(connection, table, rows(), context)
    }

    fn bulk(
        &self,
        connection: &mut Connection,
        table: &NewTable,
        rows: RowRange<impl Rows>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        if self.dialect.mysql {
            load_local(connection, table, rows, context)
        } else if self.whole_tables() {
            in_transaction(connection, context, |connection| {
                context.execute(connection, &format!("TRUNCATE TABLE {}", table.name))?;
                copy(connection, &table.name, &table.copy_sql(self.dialect), rows, context)
            })
        } else {
            copy(connection, &table.name, &table.copy_sql(self.dialect), rows, context)
        }
    }

    fn inserts(
        &self,
        connection: &mut Connection,
        table: &NewTable,
        mut rows: RowRange<impl Rows>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        let room = usize::try_from(insert_bytes(connection, self.dialect.mysql)?).unwrap_or(PIECE_BYTES);
        let (sent, insert) = (rows.len(), format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns));
        in_transaction(connection, context, |connection| {
            let mut sql = Vec::with_capacity(room);
            let mut taken = 0;
            loop {
                sql.clear();
                sql.extend_from_slice(insert.as_bytes());
                let added = rows.fill(Form::Tuples, &mut sql);
                if added == 0 {
                    return complete(&table.name, sent, taken, Vec::new());
                }
                taken += context.execute(connection, &String::from_utf8_lossy(&sql))?;
                context.tell(News::Rows(added));
            }
        })
    }
}

/// Brings rows by `sql`, a `COPY … FROM STDIN`.
pub(crate) fn copy(
    connection: &mut Connection,
    table: &str,
    sql: &str,
    rows: RowRange<impl Rows>,
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    context.go_on()?;
    let sent = rows.len();
    let mut copy = connection.copy_in(sql)?;
    pieces(rows, |piece, rows| {
        context.go_on()?;
        copy.send(piece)?;
        context.tell(News::Rows(rows));
        Ok(())
    })?;
    let taken = copy.finish()?;
    complete(table, sent, taken, Vec::new())
}

fn load_local(
    connection: &mut Connection,
    table: &NewTable,
    rows: RowRange<impl Rows>,
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    context.go_on()?;
    let sent = rows.len();
    // The file's name is any: nobody opens it. Its form is MySQL's own, which no `sql_mode` changes.
    let (name, columns) = (&table.name, table.columns);
    let sql = format!("LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {name} ({columns})");
    let mut load = connection.load_local(&sql)?;
    pieces(rows, |piece, rows| {
        context.go_on()?;
        load.send(piece)?;
        context.tell(News::Rows(rows));
        Ok(())
    })?;
    let taken = load.finish()?;
    // Rows that do not fit are left out with a warning.
    complete(&table.name, sent, taken, connection.take_notices())
}

/// Hands on rows piece by piece.
pub(crate) fn pieces(
    mut rows: RowRange<impl Rows>,
    mut send: impl FnMut(&[u8], u64) -> Result<(), JobError>,
) -> Result<(), JobError> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    loop {
        piece.clear();
        match rows.fill(Form::Lines, &mut piece) {
            0 => return Ok(()),
            added => send(&piece, added)?,
        }
    }
}

/// All rows must have come.
fn complete(table: &str, sent: u64, taken: u64, notices: Vec<String>) -> Result<(), JobError> {
    if taken == sent {
        return Ok(());
    }
    let why = notices.into_iter().next().map(|notice| notice.trim_end().to_owned());
    Err(JobError::RowsMissing { table: table.to_owned(), sent, taken, why })
}

/// How large an INSERT may be: what the server takes, less what its packet holds beside the text.
fn insert_bytes(connection: &mut Connection, mysql: bool) -> Result<u64, QueryError> {
    const BESIDE_TEXT: u64 = 1024;
    if !mysql {
        return Ok(INSERT_BYTES_MAX);
    }
    let allowed: Option<u64> = connection.query_value("SELECT @@max_allowed_packet")?;
    Ok(allowed.map_or(INSERT_BYTES_MAX, |bytes| bytes.saturating_sub(BESIDE_TEXT).min(INSERT_BYTES_MAX)))
}

pub(crate) fn in_transaction(
    connection: &mut Connection,
    context: &JobContext<'_>,
    run: impl FnOnce(&mut Connection) -> Result<(), JobError>,
) -> Result<(), JobError> {
    context.execute(connection, "START TRANSACTION")?;
    match run(connection) {
        Ok(()) => {
            connection.execute("COMMIT")?;
            Ok(())
        }
        Err(error) => {
            // The first error says what went wrong; a rollback that fails as well adds nothing to it.
            let _ = connection.execute("ROLLBACK");
            Err(error)
        }
    }
}

/// Whether the server knows no such bulk load, or does not allow it to this user or client.
fn turned_down(error: &QueryError) -> bool {
    match error.number() {
        // Not allowed by this version or setting, by the client's options, by the user's rights; not supported yet; syntax.
        Some(number) => matches!(number, 1148 | 3948 | 2068 | 4166 | 1227 | 1235 | 1064 | 1047),
        // Not supported, syntax, not allowed to read the client's data.
        None => {
            matches!(error, QueryError::FileRefused { .. } | QueryError::NotALoad { .. })
                || matches!(error.sqlstate(), Some("0A000" | "42601"))
        }
    }
}

const BY_INSERT: &str = "rows go by INSERT, which is slower, because";

fn why_inserts(mysql: bool, error: &QueryError) -> String {
    let bulk = if mysql { "LOAD DATA LOCAL" } else { "COPY" };
    format!("{BY_INSERT} {bulk} is not allowed here: {error}")
}
