//! A session: one connection of the library to its database. The library blocks, and so does this.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::constants::{
    ADBC_INGEST_OPTION_MODE_APPEND, ADBC_INGEST_OPTION_MODE_REPLACE, ADBC_OPTION_VALUE_ENABLED,
};
use adbc_core::error::Error;
use adbc_core::options::OptionStatement;
use adbc_core::{CancelHandle, Connection as _, Optionable as _, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_array::{RecordBatch, RecordBatchReader as _};
use dyno_engine::driver::{
    self, Batch, CancelSession, ColumnValues, DriverSession, Executed, Operation, RowSink, Values,
};
use dyno_results::sql_text::statements;
use dyno_wire::server_error::{DriverError, DriverErrorKind};

use super::columns;
use super::database::SharedDatabase;
use super::error::of_library;
use super::rows;
use super::settings::AdbcSettings;
use super::sql::{self, Answer, Effect};

/// The table in between, and how rows go into it and into another.
const STAGE: &str = "dyno_staging";
const TEMPORARY: (OptionStatement, &str) = (OptionStatement::Temporary, ADBC_OPTION_VALUE_ENABLED);
const REPLACE: (OptionStatement, &str) = (OptionStatement::IngestMode, ADBC_INGEST_OPTION_MODE_REPLACE);
const APPEND: (OptionStatement, &str) = (OptionStatement::IngestMode, ADBC_INGEST_OPTION_MODE_APPEND);

pub(super) struct AdbcSession {
    /// Those that the session was opened with, by their numbers.
    statements: Vec<Prepared>,
    connection: ManagedConnection,
    canceller: Arc<Canceller>,
    /// Told by the statements: ADBC itself has no question for it.
    in_transaction: bool,
    /// Whether rows can be appended to a table as they come.
    appends: bool,
    /// What no error may repeat.
    settings: AdbcSettings,
    /// Last, so that the database outlives the connection.
    _database: SharedDatabase,
}

struct Prepared {
    statement: ManagedStatement,
    answer: Answer,
    effect: Effect,
    parameters: usize,
}

/// Stops what a session is doing. DuckDB looks for that between the pieces of its work, in every statement and in a load; what
/// was asked before a statement began is lost, so the engine asks again.
struct Canceller {
    handle: Box<dyn CancelHandle>,
    asked: AtomicBool,
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canceller")
    }
}

impl CancelSession for Canceller {
    fn cancel(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // A library that cannot stop lets the statement end.
        let _ = self.handle.try_cancel();
    }
}

impl AdbcSession {
    /// Prepares the statements, so that what is wrong with one shows before the load.
    pub(super) fn new(
        database: SharedDatabase,
        settings: &AdbcSettings,
        statements: &[driver::Statement],
    ) -> Result<Self, DriverError> {
        let mut connection = database.connect()?;
        let canceller = Canceller { handle: connection.get_cancel_handle(), asked: AtomicBool::new(false) };
        let prepare = |statement: &driver::Statement| {
            let mut prepare = || {
                let mut prepared = connection.new_statement()?;
                prepared.set_sql_query(statement.sql())?;
                prepared.prepare()?;
                Ok(prepared)
            };
            let failed = |error: Error| of_library(&error).at(statement.place());
            Ok(Prepared {
                statement: prepare().map_err(failed)?,
                answer: Answer::of(statement.sql()),
                effect: Effect::of(statement.sql()),
                parameters: statement.parameters(),
            })
        };
        let statements: Result<Vec<_>, DriverError> = statements.iter().map(prepare).collect();
        Ok(Self {
            statements: statements?,
            connection,
            canceller: Arc::new(canceller),
            in_transaction: false,
            settings: settings.clone(),
            appends: database.reports_appends(),
            _database: database,
        })
    }

    fn execute_text(&mut self, text: &str, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        let was_in_transaction = self.in_transaction;
        let mut all = Executed::default();
        for sql in statements(text, sql::SYNTAX) {
            match self.execute_one(sql, rows) {
                Ok(one) => all.add(one),
                Err(error) => {
                    // What the text itself began is undone with it; the first error says what went wrong.
                    if self.in_transaction && !was_in_transaction {
                        let _ = self.execute_one("ROLLBACK", &mut ());
                    }
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    fn execute_one(&mut self, sql: &str, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        let outcome = self.statement(sql).and_then(|mut it| run(&mut it, Answer::of(sql), rows));
        note(&mut self.in_transaction, Effect::of(sql), outcome.is_ok());
        outcome
    }

    fn statement(&mut self, sql: &str) -> Result<ManagedStatement, DriverError> {
        let mut statement = self.connection.new_statement().map_err(|error| of_library(&error))?;
        statement.set_sql_query(sql).map_err(|error| of_library(&error))?;
        Ok(statement)
    }

    fn execute_prepared(
        &mut self,
        place: usize,
        values: Values<'_>,
        rows: &mut dyn RowSink,
    ) -> Result<Executed, DriverError> {
        let Some(prepared) = self.statements.get_mut(place) else { return Ok(Executed::default()) };
        if prepared.parameters > 0 {
            let values = columns::parameters(values, prepared.parameters)?;
            prepared.statement.bind(values).map_err(|error| of_library(&error))?;
        }
        let outcome = run(&mut prepared.statement, prepared.answer, rows);
        note(&mut self.in_transaction, prepared.effect, outcome.is_ok());
        outcome
    }

    /// Adds rows to a table, in its order of columns.
    fn append(&mut self, table: &str, columns: &[&str], values: &[ColumnValues]) -> Result<u64, DriverError> {
        let mut described = self.statement(&format!("SELECT * FROM {table} WHERE 1 = 0"))?;
        let schema = described.execute().map_err(|error| of_library(&error))?.schema();
        let batch = columns::in_order_of(&schema, columns, values)?;
        let sent = batch.num_rows() as u64;
        let taken = self.ingest(&[(OptionStatement::TargetTable, table), APPEND], batch)?;
        Ok(taken.unwrap_or(sent))
    }

    /// The same by a table in between. DuckDB appends to a table in pieces, and does not say what was wrong with the last: it is
    /// lost without a word. So rows are appended to a table of the session, where nothing can be wrong, and then inserted.
    fn append_and_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        values: &[ColumnValues],
    ) -> Result<u64, DriverError> {
        let batch = columns::named(columns, values)?;
        self.ingest(&[(OptionStatement::TargetTable, STAGE), TEMPORARY, REPLACE], batch)?;
        let columns = columns.join(", ");
        let insert = format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM temp.{STAGE}");
        let inserted = self.execute_one(&insert, &mut ());
        let dropped = self.execute_one(&format!("DROP TABLE temp.{STAGE}"), &mut ());
        // Where the rows did not fit, that is what is wrong: a transaction takes nothing more after it.
        let Executed { affected, .. } = inserted?;
        dropped?;
        Ok(affected)
    }

    fn ingest(
        &mut self,
        options: &[(OptionStatement, &str)],
        batch: RecordBatch,
    ) -> Result<Option<u64>, DriverError> {
        let connection = &mut self.connection;
        let ingest = || {
            let mut statement = connection.new_statement()?;
            for (option, value) in options {
                statement.set_option(option.clone(), (*value).into())?;
            }
            statement.bind_stream(Box::new(columns::in_pieces(batch)))?;
            statement.execute_update()
        };
        let taken = ingest().map_err(|error| of_library(&error))?;
        Ok(taken.and_then(|rows| u64::try_from(rows).ok()))
    }

    /// As the one who asked for it wants to hear of it.
    fn told(&self, mut error: DriverError) -> DriverError {
        let is_interrupted = error.message.contains("nterrupt") || error.message.contains("ancel");
        if self.canceller.asked.load(Ordering::Relaxed) && is_interrupted {
            error.kind = DriverErrorKind::Cancelled;
        }
        self.settings.without_secrets(error)
    }
}

/// Runs a statement whose parameters are bound.
fn run(
    statement: &mut ManagedStatement,
    answer: Answer,
    rows: &mut dyn RowSink,
) -> Result<Executed, DriverError> {
    if answer == Answer::Count {
        let affected = statement.execute_update().map_err(|error| of_library(&error))?;
        let affected = affected.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
        return Ok(Executed { statements: 1, rows: 0, affected });
    }
    let reader = statement.execute().map_err(|error| of_library(&error))?;
    let returned = rows::take(reader, rows)?;
    let affected = if answer == Answer::ChangedRows { returned } else { 0 };
    Ok(Executed { statements: 1, rows: returned, affected })
}

fn note(in_transaction: &mut bool, effect: Effect, succeeded: bool) {
    match effect {
        Effect::Begins => *in_transaction |= succeeded,
        Effect::Ends => *in_transaction = false,
        Effect::None => {}
    }
}

impl DriverSession for AdbcSession {
    fn execute(&mut self, operation: Operation<'_>, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        self.canceller.asked.store(false, Ordering::Relaxed);
        let executed = match operation {
            Operation::Sql(sql) => self.execute_text(sql, rows),
            Operation::Statement { id, values } => self.execute_prepared(usize::from(id.0), values, rows),
        };
        executed.map_err(|error| self.told(error))
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn canceller(&self) -> Arc<dyn CancelSession> {
        Arc::clone(&self.canceller) as Arc<dyn CancelSession>
    }

    fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, DriverError> {
        self.canceller.asked.store(false, Ordering::Relaxed);
        let Batch::Columns(values) = rows else {
            return Err(DriverError::new("wrong form", "rows come in columns here"));
        };
        let taken = match self.appends {
            true => self.append(table, columns, values),
            false => self.append_and_insert(table, columns, values),
        };
        taken.map_err(|error| self.told(error))
    }
}
