//! Brings rows into a table in the fastest way that the server takes: COPY, LOAD DATA LOCAL, or large INSERTs.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_target::connection::{Connection, QueryError};

use crate::random::Random;
use crate::sysbench::schema::{Schema, table_name};

use super::crew::{JobError, News, Surroundings};
use super::rows::{Form, Rows};

/// Rows are written and sent in pieces of this size.
const PIECE_BYTES: usize = 256 * 1024;
/// Most of an INSERT. More gains nothing, and the server holds all of it in memory several times.
const INSERT_BYTES_MAX: u64 = 512 * 1024;
/// Rows that travel in one transaction where the server need not have all of a table in one: its undo stays small, and
/// whoever stops the work waits for less.
const ROWS_PER_TRANSACTION: u64 = 100_000;

/// Some rows of one table, `first` to `last`; none where `last` is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub table: u32,
    pub first: u64,
    pub last: u64,
    /// Its random stream.
    pub stream: u32,
}

/// How rows travel, for all tables.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub schema: Schema<'a>,
    pub seed: u64,
    /// Set once the server has turned the bulk load down.
    inserts_only: AtomicBool,
}

impl<'a> Load<'a> {
    pub(super) fn new(schema: Schema<'a>, seed: u64) -> Self {
        let bulk = if schema.dialect.mysql { schema.dialect.load_local } else { schema.dialect.copy };
        Self { schema, seed, inserts_only: AtomicBool::new(!bulk) }
    }

    /// Why all rows go by INSERT, where that is known beforehand.
    pub(super) fn slower(&self) -> Option<String> {
        let why = match self.schema.dialect.mysql {
            true => "the server does not take LOAD DATA LOCAL (SET GLOBAL local_infile = ON would allow it)",
            false => "the server does not take COPY",
        };
        let inserts = self.inserts_only.load(Ordering::Relaxed) && self.schema.options.table_size > 0;
        inserts.then(|| format!("{BY_INSERT} {why}"))
    }

    /// Whether a table's rows have to come in one transaction: only that which emptied the table may bring rows that
    /// are frozen from the start, which nobody has to visit again.
    fn whole_tables(&self) -> bool {
        !self.schema.dialect.mysql && self.schema.dialect.copy && self.schema.dialect.freeze
    }

    /// The parts that are sent, neighbours of different tables.
    pub(super) fn parts(&self) -> Vec<Part> {
        let options = self.schema.options;
        let rows = if self.whole_tables() { options.table_size } else { ROWS_PER_TRANSACTION };
        let firsts = (0..options.table_size).step_by(usize::try_from(rows.max(1)).unwrap_or(usize::MAX));
        let parts = firsts.flat_map(|before| {
            let last = (before + rows).min(options.table_size);
            (1..=options.tables).map(move |table| (table, before + 1, last))
        });
        parts.zip(0..).map(|((table, first, last), stream)| Part { table, first, last, stream }).collect()
    }

    /// Sends a part.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        part: &Part,
        around: &Surroundings<'_>,
    ) -> Result<(), JobError> {
        if part.first == 1 {
            around.tell(News::Table(part.table));
        }
        if !self.inserts_only.load(Ordering::Relaxed) {
            match self.bulk(connection, part, around) {
                Err(JobError::Query(error)) if turned_down(&error) && part.first <= part.last => {
                    if !self.inserts_only.swap(true, Ordering::Relaxed) {
                        around.tell(News::Fallback(why_inserts(self.schema.dialect.mysql, &error)));
                    }
                }
                outcome => return outcome,
            }
        }
        self.inserts(connection, part, around)
    }

    fn bulk(
        &self,
        connection: &mut Connection,
        part: &Part,
        around: &Surroundings<'_>,
    ) -> Result<(), JobError> {
        if self.schema.dialect.mysql {
            self.load_local(connection, part, around)
        } else if self.whole_tables() {
            in_transaction(connection, around, |connection| {
                around.execute(connection, &format!("TRUNCATE TABLE {}", table_name(part.table)))?;
                self.copy(connection, part, around)
            })
        } else {
            self.copy(connection, part, around)
        }
    }

    fn copy(
        &self,
        connection: &mut Connection,
        part: &Part,
        around: &Surroundings<'_>,
    ) -> Result<(), JobError> {
        let mut copy = connection.copy_in(&self.schema.copy(part.table))?;
        self.pieces(part, |piece, rows| {
            around.go_on()?;
            copy.send(piece)?;
            around.tell(News::Rows(rows));
            Ok(())
        })?;
        let taken = copy.finish()?;
        complete(part, taken, Vec::new())
    }

    fn load_local(
        &self,
        connection: &mut Connection,
        part: &Part,
        around: &Surroundings<'_>,
    ) -> Result<(), JobError> {
        around.go_on()?;
        let mut load = connection.load_local(&self.schema.load_local(part.table))?;
        self.pieces(part, |piece, rows| {
            around.go_on()?;
            load.send(piece)?;
            around.tell(News::Rows(rows));
            Ok(())
        })?;
        let taken = load.finish()?;
        // Rows that do not fit are left out with a warning.
        complete(part, taken, connection.take_notices())
    }

    /// Hands on a part's rows piece by piece.
    fn pieces(
        &self,
        part: &Part,
        mut send: impl FnMut(&[u8], u64) -> Result<(), JobError>,
    ) -> Result<(), JobError> {
        let mut rows = self.rows(part);
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        loop {
            piece.clear();
            match rows.fill(Form::Lines, &mut piece) {
                0 => return Ok(()),
                added => send(&piece, added)?,
            }
        }
    }

    fn inserts(
        &self,
        connection: &mut Connection,
        part: &Part,
        around: &Surroundings<'_>,
    ) -> Result<(), JobError> {
        let head = self.schema.insert(part.table);
        let room =
            usize::try_from(insert_bytes(connection, self.schema.dialect.mysql)?).unwrap_or(PIECE_BYTES);
        in_transaction(connection, around, |connection| {
            let mut rows = self.rows(part);
            let mut sql = Vec::with_capacity(room);
            let mut taken = 0;
            loop {
                sql.clear();
                sql.extend_from_slice(head.as_bytes());
                let added = rows.fill(Form::Tuples, &mut sql);
                if added == 0 {
                    return complete(part, taken, Vec::new());
                }
                taken += around.execute(connection, &String::from_utf8_lossy(&sql))?;
                around.tell(News::Rows(added));
            }
        })
    }

    fn rows(&self, part: &Part) -> Rows {
        let options = self.schema.options;
        let random = Random::of_client(self.seed, part.stream);
        Rows::new(part.first, part.last, options.table_size, &options.distribution, random)
    }
}

/// All rows must have come.
fn complete(part: &Part, taken: u64, notices: Vec<String>) -> Result<(), JobError> {
    let sent = (part.last + 1).saturating_sub(part.first);
    if taken == sent {
        return Ok(());
    }
    let why = notices.into_iter().next().map(|notice| notice.trim_end().to_owned());
    Err(JobError::RowsMissing { table: table_name(part.table), sent, taken, why })
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

fn in_transaction(
    connection: &mut Connection,
    around: &Surroundings<'_>,
    run: impl FnOnce(&mut Connection) -> Result<(), JobError>,
) -> Result<(), JobError> {
    around.execute(connection, "BEGIN")?;
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
