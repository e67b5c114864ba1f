//! Drivers: how a database is spoken to whose library blocks. The event loop speaks PostgreSQL's and MySQL's protocols itself;
//! clients of a driver have a load thread each, which calls it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dyno_wire::endpoint::Endpoint;
use dyno_wire::server_error::{DriverError, DriverErrorKind};

pub use crate::batch::{Batch, BatchForm, ColumnValues, Texts, TypedValues};
pub use crate::calls::Values;
use crate::clock::{SECOND_NS, now_ns};
pub use crate::statement::{Statement, StatementId};
pub use crate::value::Value;

/// One kind of database, at one place.
pub trait Driver: Debug + Send + Sync {
    /// The kind, `sqlite`: what knows drivers tells them apart by it.
    fn kind(&self) -> &'static str;

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

    /// Whether a backslash begins an escape in a string of its SQL.
    fn escapes_by_backslash(&self) -> bool {
        false
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

    /// Adds rows to the columns of a table, all of them in the order of their numbers; returns how many it took.
    ///
    /// # Errors
    /// What the database said, or that rows come by INSERT only.
    fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, DriverError> {
        let _ = (columns, rows);
        let message = format!("rows of {table} come by INSERT only");
        Err(DriverError { code: "no bulk load", message, kind: DriverErrorKind::Other })
    }
}

/// Stops what a session is doing. The operation then fails with an error that says so, unless it had ended already.
pub trait CancelSession: Debug + Send + Sync {
    fn cancel(&self);
}

/// What a session is to do.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// Text of one statement or several.
    Sql(&'a str),
    /// A statement that the session was opened with, and its values by the numbers of its parameters.
    Statement { id: StatementId, values: Values<'a> },
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
    fn wants_rows(&self) -> bool;

    /// The names of the columns of the rows that follow.
    fn columns(&mut self, names: &[&str]);

    fn row(&mut self, values: &[Value<'_>]);
}

/// Wants no rows.
impl RowSink for () {
    fn wants_rows(&self) -> bool {
        false
    }

    fn columns(&mut self, _: &[&str]) {}

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
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Wire(endpoint) => endpoint.address.to_string(),
            Self::Driver(driver) => driver.place(),
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

/// What a load thread's session is doing, for the engine to watch: the thread itself cannot while the driver blocks.
#[derive(Default)]
pub(crate) struct Watched {
    /// When the operation under way began; 0 for none.
    began_ns: AtomicU64,
    /// When it was last asked to stop; 0 for never.
    cancelled_ns: AtomicU64,
    canceller: Mutex<Option<Arc<dyn CancelSession>>>,
    /// The engine has told the thread something that it has not heard yet.
    is_told: AtomicBool,
}

/// How long it takes until an operation is asked again to stop: it may have begun as it was asked, and not have heard it.
const CANCEL_AGAIN_NS: u64 = SECOND_NS / 10;

impl Watched {
    /// The thread is to hear the engine before it goes on.
    pub(crate) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
    }

    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
    }

    pub(crate) fn hears(&self) {
        self.is_told.store(false, Ordering::Release);
    }

    /// The thread has another session from now on, or none.
    pub(crate) fn set_session(&self, canceller: Option<Arc<dyn CancelSession>>) {
        *self.canceller.lock().unwrap_or_else(PoisonError::into_inner) = canceller;
    }

    /// An operation begins.
    pub(crate) fn begin(&self, now: u64) {
        self.began_ns.store(now, Ordering::Release);
    }

    /// It has ended; when it was asked to stop, 0 for never.
    pub(crate) fn end(&self) -> u64 {
        self.began_ns.store(0, Ordering::Release);
        self.cancelled_ns.load(Ordering::Acquire)
    }

    /// Asks an operation to stop that began before then, now and then until it does.
    pub(crate) fn cancel_begun_before(&self, then_ns: u64) {
        let (began_ns, now) = (self.began_ns.load(Ordering::Acquire), now_ns());
        let is_due = began_ns > 0 && began_ns < then_ns;
        let cancelled_ns = self.cancelled_ns.load(Ordering::Relaxed);
        if !is_due || cancelled_ns >= began_ns && now < cancelled_ns + CANCEL_AGAIN_NS {
            return;
        }
        if let Some(canceller) = &*self.canceller.lock().unwrap_or_else(PoisonError::into_inner) {
            self.cancelled_ns.store(now, Ordering::Release);
            canceller.cancel();
        }
    }
}
