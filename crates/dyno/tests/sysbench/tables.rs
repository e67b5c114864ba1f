//! The tables that most tests need.

use crate::program::Program;
use crate::server::Database;

/// Makes one with a thousand rows.
#[track_caller]
pub(crate) fn made(database: &Database) {
    let prepare = database.with("--table-size=1000 oltp_insert prepare");
    Program::Dyno.run(&[], &prepare).well(&database.product());
}
