//! What must hold after a load: as many events as were acknowledged, each of a customer who is there, and nothing else
//! changed. Reads the tables once before and once after; the load must stand still meanwhile. What was counted after one
//! load is what is there before the next, and is not counted again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_results::event::Check;
use dyno_target::connection::Connection;

use super::census::{Census, highest_id, strange_actions};
use super::test::Test;
use super::verdict::{After, judge};
use crate::benchmark::{BenchmarkError, Done, RowCounter};
use crate::dataset::{TableError, checks};
use crate::limits;

/// The tables as they were counted last, for as long as nothing may have written to them since. To count many rows takes
/// minutes.
#[derive(Debug, Clone, Default)]
pub struct LastCensus(Arc<Mutex<Option<Census>>>);

impl LastCensus {
    /// What a load is compared with that begins now: it is not what is there for long.
    ///
    /// # Errors
    /// A table is missing or may not be read, or the connection is lost.
    pub fn baseline(&self, connection: &mut Connection) -> Result<Census, TableError> {
        let census = self.current(connection)?;
        self.forget();
        Ok(census)
    }

    /// Compares what is there now with `before`, after a load of one test, of whose joins so many are `unanswered`.
    /// `target` is the short name for the checks.
    ///
    /// # Errors
    /// The tables cannot be read. A check that fails is no error: it is among those returned.
    pub fn verify(
        &self,
        connection: &mut Connection,
        target: &str,
        before: Census,
        test: Test,
        done: Done,
        unanswered: u64,
    ) -> Result<Vec<Check>, TableError> {
        limits::lift(connection);
        let census = Census::take(connection)?;
        *self.lock() = Some(census);
        let strange_actions = match test {
            Test::Ingest => {
                strange_actions(connection, before.last_event).map_err(TableError::of("event"))?
            }
            Test::Join => 0,
        };
        let after = After { census, strange_actions, unanswered };
        Ok(checks(target, test.workload(), judge(test, before, after, done)))
    }

    /// An event that somebody else has inserted meanwhile shows by its id.
    fn current(&self, connection: &mut Connection) -> Result<Census, TableError> {
        limits::lift(connection);
        let known = *self.lock();
        if let Some(known) = known
            && known.last_event == highest_id(connection).map_err(TableError::of("event"))?
        {
            return Ok(known);
        }
        let census = Census::take(connection)?;
        *self.lock() = Some(census);
        Ok(census)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Census>> {
        // It is whole whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowCounter for LastCensus {
    fn count(&self, connection: &mut Connection) -> Result<Vec<u64>, BenchmarkError> {
        let census = self.current(connection)?;
        Ok(vec![census.customers, census.events])
    }

    fn forget(&self) {
        *self.lock() = None;
    }
}
