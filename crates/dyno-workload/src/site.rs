//! Where data is made, and how far that is.

use std::fmt::{self, Debug};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_results::event::PrepareStep;
use dyno_target::catalog::{self, Names};
use dyno_target::connection::{ConnectError, Connection, QueryError};

/// How long is waited for a table that somebody else has locked.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Where data is made.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The target's short name, for the steps that are reported.
    pub target: &'a str,
    /// Opens a further connection to it.
    pub open: &'a (dyn Fn() -> Result<Connection, ConnectError> + Sync),
    /// Processors of the driver's host that it may use.
    pub cpus: u32,
    /// Memory of the driver's host that it may use.
    pub memory_bytes: Option<u64>,
    /// Whether the server runs there too; `false` where that cannot be told.
    pub same_host: bool,
    /// Free space on the server's disk, where it is known.
    pub free_disk_bytes: Option<u64>,
    /// A rough answer is enough: little data.
    pub quick: bool,
    /// Of the random contents, where there are any.
    pub seed: u64,
    /// Once it is set, the preparation ends before its next statement.
    pub stop: &'a AtomicBool,
}

impl Site<'_> {
    /// Connections that prepare at the same time. More than one even where there is one processor: while one waits for
    /// the disk, another makes rows.
    pub(crate) fn prepare_threads(&self) -> u32 {
        self.cpus.clamp(2, 16)
    }

    /// Free space once the tables of before are gone; how large these are is asked only where it matters.
    pub(crate) fn free_disk_bytes_without(
        &self,
        connection: &mut Connection,
        tables: Names<'_>,
    ) -> Result<Option<u64>, QueryError> {
        let Some(free) = self.free_disk_bytes else { return Ok(None) };
        let old = catalog::bytes(connection, tables)?.map_or(0, |old| old.tables + old.indexes);
        Ok(Some(free.saturating_add(old)))
    }
}

impl Debug for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("target", &self.target).finish_non_exhaustive()
    }
}

/// How far a preparation is.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A step begins: `drop`, `tables`, `data`, ….
    Begun { step: &'static str },
    /// The step begins with the table of this number. Several tables may be under way.
    Table { step: &'static str, table: u32 },
    /// Rows sent, of all that the step `data` sends.
    Rows { done: u64, total: u64 },
    /// Statements of a step that have ended, of all that it has, and their `share` of its work by the rows of their tables;
    /// `None` where these have none. Told also while one of them goes on.
    Statements { step: &'static str, done: u32, total: u32, share: Option<f64> },
    /// Something that the reader should know, such as that it is done in a slower way than was meant, and why.
    Remark(String),
    /// The server has refused a part of the step, which is left out, and has said so.
    NotDone { step: &'static str, said: String },
    /// A step has ended.
    Finished(PrepareStep),
}
