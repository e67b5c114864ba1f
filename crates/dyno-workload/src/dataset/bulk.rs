//! Brings rows into a table in the fastest way that the server takes: COPY, LOAD DATA LOCAL, or large INSERTs; over
//! several connections that share the work ([`worker_pool`](super::worker_pool)). Knows no table: a family says which
//! statements and which rows.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_engine::driver::{Batch, BatchForm};
use dyno_target::cause;
use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::{self, Dialect};

use super::Table;
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
        let inserts_only = matches!(dialect.bulk, product::Bulk::Inserts { .. });
        Self { dialect, inserts_only: AtomicBool::new(inserts_only) }
    }

    /// Why all rows go by INSERT, where that is known beforehand.
    pub(crate) fn slower(&self) -> Option<String> {
        match self.dialect.bulk {
            product::Bulk::Inserts { because } => because.map(|why| format!("{BY_INSERT} {why}")),
            _ => None,
        }
    }

    /// Whether a table's rows have to come in one transaction: only that which emptied the table may bring rows that
    /// are frozen from the start, which nobody has to visit again.
    pub(crate) fn whole_tables(&self) -> bool {
        self.dialect.bulk == product::Bulk::Copy { freeze: true }
    }

    /// Sends rows of a table, which may have to be written anew.
    pub(crate) fn send<R: Rows>(
        &self,
        connection: &mut Connection,
        table: &Table,
        rows: impl Fn() -> RowRange<R>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        if !self.inserts_only.load(Ordering::Relaxed) {
            match self.bulk(connection, table, rows(), context) {
                Err(JobError::Query(error)) if turned_down(&error) => {
                    if !self.inserts_only.swap(true, Ordering::Relaxed) {
                        context.tell(News::Fallback(why_inserts(self.dialect.bulk, &error)));
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
        table: &Table,
        rows: RowRange<impl Rows>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        let (name, columns) = (&table.name, table.column_list());
        match self.dialect.bulk {
            product::Bulk::LoadLocal => load_local(connection, table, rows, context),
            product::Bulk::Copy { freeze: false } => {
                copy(connection, name, &format!("COPY {name} ({columns}) FROM STDIN"), rows, context)
            }
            product::Bulk::Copy { freeze: true } => in_transaction(connection, context, |connection| {
                context.execute(connection, &format!("TRUNCATE TABLE {name}"))?;
                let sql = format!("COPY {name} ({columns}) FROM STDIN WITH (FREEZE ON)");
                copy(connection, name, &sql, rows, context)
            }),
            product::Bulk::Batches { form, bytes } => {
                load_batches(connection, table, rows, (form, bytes), context)
            }
            product::Bulk::Inserts { .. } => self.inserts(connection, table, rows, context),
        }
    }

    fn inserts(
        &self,
        connection: &mut Connection,
        table: &Table,
        mut rows: RowRange<impl Rows>,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        let room = usize::try_from(insert_bytes(connection, self.dialect)?).unwrap_or(PIECE_BYTES);
        let insert = format!("INSERT INTO {} ({}) VALUES ", table.name, table.column_list());
        // One row at least, which the server may turn down: none would pass as the end.
        let room = room.max(insert.len() + rows.rows.row_bytes_max());
        in_transaction(connection, context, |connection| {
            let mut sql = Vec::with_capacity(room);
            let (mut sent, mut taken) = (0, 0);
            loop {
                sql.clear();
                // A row that is longer than was said makes more room, which is for no others.
                sql.shrink_to(room);
                sql.extend_from_slice(insert.as_bytes());
                let added = rows.fill(Form::Tuples { backslashes: self.dialect.backslashes }, &mut sql);
                if added == 0 {
                    return complete(&table.name, sent, taken, Vec::new());
                }
                sent += added;
                taken += context.execute(connection, &String::from_utf8_lossy(&sql))?;
                as_sent(&table.name, &connection.take_notices())?;
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
    let mut copy = connection.copy_in(sql)?;
    let sent = pieces(rows, |piece, rows| {
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
    table: &Table,
    rows: RowRange<impl Rows>,
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    context.go_on()?;
    // The file's name is any: nobody opens it. Its form is MySQL's own, which no `sql_mode` changes.
    let (name, columns) = (&table.name, table.column_list());
    let sql = format!("LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {name} CHARACTER SET utf8mb4 ({columns})");
    let mut load = connection.load_local(&sql)?;
    let sent = pieces(rows, |piece, rows| {
        context.go_on()?;
        load.send(piece)?;
        context.tell(News::Rows(rows));
        Ok(())
    })?;
    let taken = load.finish()?;
    // Rows that do not fit are left out with a warning, whatever its `sql_mode` is.
    let notices = connection.take_notices();
    let changed = as_sent(&table.name, &notices);
    complete(&table.name, sent, taken, notices)?;
    changed
}

/// Brings rows by a driver.
fn load_batches(
    connection: &mut Connection,
    table: &Table,
    mut rows: RowRange<impl Rows>,
    (form, bytes): (BatchForm, usize),
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    let columns: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let (mut batch, mut sent, mut taken) = (Batch::new(form), 0, 0);
    loop {
        batch.clear();
        let added = rows.fill_batch(&mut batch, bytes);
        if added == 0 {
            return complete(&table.name, sent, taken, Vec::new());
        }
        context.go_on()?;
        sent += added;
        taken += connection.load_batch(&table.name, &columns, &batch)?;
        context.tell(News::Rows(added));
    }
}

/// Hands on rows piece by piece; returns how many there were.
pub(crate) fn pieces(
    mut rows: RowRange<impl Rows>,
    mut send: impl FnMut(&[u8], u64) -> Result<(), JobError>,
) -> Result<u64, JobError> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut sent = 0;
    loop {
        piece.clear();
        match rows.fill(Form::Lines, &mut piece) {
            0 => return Ok(sent),
            added => {
                send(&piece, added)?;
                sent += added;
            }
        }
    }
}

/// A server of MySQL's protocol tells of values that it has changed by a warning alone.
fn as_sent(table: &str, notices: &[String]) -> Result<(), JobError> {
    let is_change = |notice: &&String| notice.starts_with("Warning ") || notice.starts_with("Error ");
    match notices.iter().find(is_change) {
        Some(why) => Err(JobError::RowsChanged { table: table.to_owned(), why: why.trim_end().to_owned() }),
        None => Ok(()),
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
fn insert_bytes(connection: &mut Connection, dialect: &Dialect) -> Result<u64, QueryError> {
    const BESIDE_TEXT: u64 = 1024;
    let allowed: Option<u64> = match dialect.statement_bytes {
        Some(sql) => connection.query_value(sql)?,
        None => None,
    };
    Ok(allowed.map_or(INSERT_BYTES_MAX, |bytes| bytes.saturating_sub(BESIDE_TEXT).min(INSERT_BYTES_MAX)))
}

pub(crate) fn in_transaction(
    connection: &mut Connection,
    context: &JobContext<'_>,
    run: impl FnOnce(&mut Connection) -> Result<(), JobError>,
) -> Result<(), JobError> {
    let begin = connection.dialect().begin_write;
    context.execute(connection, begin)?;
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
    match error {
        QueryError::Server { error, .. } => cause::refuses_bulk_load(error),
        error => matches!(error, QueryError::FileRefused { .. } | QueryError::NotALoad { .. }),
    }
}

const BY_INSERT: &str = "rows go by INSERT, which is slower, because";

fn why_inserts(bulk: product::Bulk, error: &QueryError) -> String {
    format!("{BY_INSERT} {} is not allowed here: {error}", bulk.name())
}
