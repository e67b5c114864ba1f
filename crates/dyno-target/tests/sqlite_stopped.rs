//! What is asked of a driver behind a load that the user stopped. A process of its own: the wish cannot be taken back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use dyno_target::connection::QueryError;
use dyno_target::{Connection, Environment, Target, interruption};

/// Only a broken program waits for it.
const LONG: Duration = Duration::from_secs(3600);
/// Never ends by itself.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[test]
fn a_statement_behind_a_load_that_the_user_stopped_is_stopped_too() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("some.db").display());
    let target = Target::parse(&url, &Environment::empty()).unwrap();
    interruption::request();
    let mut connection = Connection::open_after_load(target.route().unwrap(), LONG).unwrap();
    // There is time for what is brief.
    connection.query("SELECT 1").unwrap();
    let error = connection.query(ENDLESS).unwrap_err();
    assert!(matches!(error, QueryError::Server { .. }), "{error}");
}
