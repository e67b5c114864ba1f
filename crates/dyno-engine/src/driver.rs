//! Drivers: how a database is spoken to whose library blocks. The event loop speaks PostgreSQL's and MySQL's protocols itself;
//! clients of a driver have a load thread each, which calls it.

use std::any::Any;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use dyno_results::answer::Kind;
use dyno_wire::endpoint::Endpoint;
use dyno_wire::server_error::DriverError;

pub use crate::batch::{Batch, BatchForm, ColumnValues, Texts, TypedValues};
pub use crate::calls::{Operation, StatementId, Values};
use crate::statement::Recipient;
pub use crate::statement::Statement;
pub use crate::value::Value;

/// One kind of database, at one place.
pub trait Driver: Debug + Send + Sync {
    /// What is known of databases of its kind, above the engine: whoever knows the type finds it there.
    fn kind(&self) -> &'static (dyn Any + Sync);

    /// Where it is, as messages name it: a file, a URL without a password.
    fn place(&self) -> String;

    /// Opens a session on which `statements` can be executed by their [`StatementId`].
    ///
    /// # Errors
    /// What the database or its library said.
    fn open(&self, statements: &[Statement]) -> Result<Box<dyn DriverSession>, DriverError>;

    /// Host and port of its server; `None` where the database is in this process.
    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    /// The library that opening the first session loads into this process, as messages name it; `None` where there is none to load.
    fn library(&self) -> Option<String> {
        None
    }

    /// Whether a backslash begins an escape in a string of its SQL.
    fn escapes_by_backslash(&self) -> bool {
        false
    }

    /// Files of a database that this process opens itself: the database, and then those beside it without which it lacks commits,
    /// whether they are there now or not. Paths of links are resolved for those beside it.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What a client that uses a session of it needs of the process's open files.
    fn files_per_session(&self) -> u32 {
        1
    }
}

/// A session with a database. Used by one thread at a time; dropping it ends it.
pub trait DriverSession: Send {
    /// Runs one operation to its end. Its rows, if it returns any, go to `rows`.
    ///
    /// # Errors
    /// What the database said. The session can be used further, unless the error says that it is over.
    fn execute(&mut self, operation: Operation<'_>, rows: &mut dyn RowSink) -> Result<Executed, DriverError>;

    /// Whether a transaction is open.
    fn in_transaction(&self) -> bool;

    /// Who stops what the session is doing, from another thread.
    fn canceller(&self) -> Arc<dyn CancelSession>;

    /// Who says how far the session's operation has come, from another thread; `None` where nobody can.
    fn progress(&self) -> Option<Arc<dyn SessionProgress>> {
        None
    }

    /// Adds rows to the columns of a table, all of them in the order of their numbers; returns how many it took.
    ///
    /// # Errors
    /// What the database said, or that rows come by INSERT only.
    fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, DriverError> {
        let _ = (columns, rows);
        Err(DriverError::new("no bulk load", format!("rows of {table} come by INSERT only")))
    }
}

/// Stops what a session is doing. The operation then fails with an error that says so, unless it had ended already.
pub trait CancelSession: Debug + Send + Sync {
    fn cancel(&self);
}

/// Says how far a session's operation has come.
pub trait SessionProgress: Debug + Send + Sync {
    /// What the operation under way has read of the rows that it is to read, from 0 to 1; `None` where nothing is under way or that
    /// is not known. It may fall, when the database learns of more rows. Must come back within seconds.
    fn read_share(&self) -> Option<f64>;
}

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Executed {
    pub statements: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows inserted, updated or deleted.
    pub affected: u64,
}

impl Executed {
    pub fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.rows += other.rows;
        self.affected += other.affected;
    }
}

/// Takes the rows of an operation.
pub trait RowSink {
    /// Whether it does anything with the rows; if not they need not be decoded.
    fn wants_rows(&self) -> bool {
        true
    }

    /// The names of the columns of the rows that follow.
    fn columns(&mut self, names: &[&str]) {
        let _ = names;
    }

    /// Of what kind the values of these columns are, before the first row; not called where that is not known. Called again where
    /// columns that had only NULL tell their kind later.
    fn kinds(&mut self, kinds: &[Kind]) {
        let _ = kinds;
    }

    fn row(&mut self, values: &[Value<'_>]);

    /// Rows have come, whether they are wanted or not: called before the first of them is decoded, and maybe again for further ones.
    fn arrived(&mut self) {}
}

/// Wants no rows.
impl RowSink for () {
    fn wants_rows(&self) -> bool {
        false
    }

    fn row(&mut self, _: &[Value<'_>]) {}
}

/// How the sessions of a target are opened.
#[derive(Debug, Clone)]
pub enum Route {
    /// By a protocol that the event loop speaks.
    Wire(Endpoint),
    Driver(Arc<dyn Driver>),
}

impl Route {
    /// Where it leads, as messages name it.
    pub fn place(&self) -> String {
        match self {
            Self::Wire(endpoint) => endpoint.address.to_string(),
            Self::Driver(driver) => driver.place(),
        }
    }

    /// For whom requests are written.
    pub(crate) fn recipient(&self) -> Recipient {
        match self {
            Self::Wire(endpoint) if endpoint.wire.is_mysql() => Recipient::MySql,
            Self::Wire(_) => Recipient::Postgres,
            Self::Driver(driver) => Recipient::Driver { backslashes: driver.escapes_by_backslash() },
        }
    }

    /// See [`Driver::library`].
    pub fn library(&self) -> Option<String> {
        match self {
            Self::Wire(_) => None,
            Self::Driver(driver) => driver.library(),
        }
    }
}

impl From<&Endpoint> for Route {
    fn from(endpoint: &Endpoint) -> Self {
        Self::Wire(endpoint.clone())
    }
}

impl From<&Self> for Route {
    fn from(route: &Self) -> Self {
        route.clone()
    }
}
