//! What must hold after a load: as many events as were acknowledged, each of a customer who is there, and nothing else
//! changed. Reads the tables once before and once after; the load must stand still meanwhile.

use dyno_results::event::Check;
use dyno_target::connection::Connection;

use super::census::{Census, strange_actions};
use super::test::Test;
use super::verdict::{self, After, Verdict};
use crate::limits;

pub use super::census::CensusError;
pub use super::verdict::Told;

/// The tables before a load, against which [`verify`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Baseline {
    census: Census,
}

impl Baseline {
    /// Counts the tables as they are.
    ///
    /// # Errors
    /// A table is missing or may not be read, or the connection is lost.
    pub fn take(connection: &mut Connection) -> Result<Self, CensusError> {
        limits::lift(connection);
        Ok(Self { census: Census::take(connection)? })
    }
}

/// Compares what is there now with `before`, after a load of one test. `target` is the short name for the checks.
///
/// # Errors
/// The tables cannot be read. A check that fails is no error: it is among those returned.
pub fn verify(
    connection: &mut Connection,
    target: &str,
    before: &Baseline,
    test: Test,
    told: Told,
) -> Result<Vec<Check>, CensusError> {
    limits::lift(connection);
    let before = before.census;
    let census = Census::take(connection)?;
    let strange_actions = match test {
        Test::Ingest => strange_actions(connection, before.last_event)?,
        Test::Join => 0,
    };
    let check = |verdict: Verdict| Check {
        target: target.to_owned(),
        workload: test.workload().to_owned(),
        name: verdict.name.to_owned(),
        passed: Some(verdict.passed),
        expected: Some(verdict.expected),
        found: Some(verdict.found),
        detail: verdict.detail,
    };
    let verdicts = verdict::judge(test, before, After { census, strange_actions }, told);
    Ok(verdicts.into_iter().map(check).collect())
}
