//! Makes sysbench's tables and their rows.

use std::sync::atomic::AtomicBool;

use dyno_target::product::Dialect;

use super::options::Options;
use super::rows::SysbenchRows;
use super::schema::table;
use super::state::state;
use super::{MARKS, TERMS};
use crate::dataset::{OpenConnection, Part, Preparation, PrepareError};
use crate::random::Random;

pub use crate::benchmark::Progress;

/// What to prepare, and how.
#[derive(Debug, Clone)]
pub struct PrepareOptions<'a> {
    /// The target's short name, for the steps that are reported.
    pub target: String,
    pub options: &'a Options,
    pub dialect: Dialect,
    /// Connections that work at the same time; at least 1.
    pub threads: u32,
    pub seed: u64,
    pub existing: Existing,
    /// Once it is set, the preparation ends before the next statement, and a load before the next piece.
    pub stop: Option<&'a AtomicBool>,
}

/// What becomes of tables of these names that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and the preparation fails, as sysbench's does.
    Keep,
    /// They are dropped, if they are sysbench's.
    Replace,
}

/// Makes the tables and fills them.
///
/// # Errors
/// No connection can be opened, a table of the same name is there and is to stay, the server refuses a step, or
/// [`PrepareOptions::stop`] was set; the tables are then not usable, unless nothing was begun, and [`state`] says so.
pub fn prepare(
    open: OpenConnection<'_>,
    how: &PrepareOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let PrepareOptions { options, dialect, .. } = how;
    let connect = |source| PrepareError::Connect { terms: &TERMS, source };
    let mut first = open().map_err(connect)?;
    let replace = how.existing == Existing::Replace;
    if replace {
        state(&mut first, options)?.ours(&TERMS)?;
    }
    let preparation = Preparation {
        terms: &TERMS,
        target: &how.target,
        dialect,
        threads: how.threads,
        stop: how.stop,
        sort_megabytes: None,
        replace,
        tables: (1..=options.tables).map(|number| table(number, options)).collect(),
        // Once they are whole they are as sysbench leaves them.
        comments: [MARKS.unfinished(), String::new()],
        frozen: true,
        settings: Vec::new(),
        refusable: false,
    };
    let rows = |part: &Part| SysbenchRows {
        table_size: options.table_size as i64,
        sampler: options.distribution.sampler(),
        random: Random::of_client(how.seed, part.stream),
    };
    preparation.run(&mut first, open, rows, progress)
}
