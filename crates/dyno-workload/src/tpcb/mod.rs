//! `tpcb`: the three built-in scripts of pgbench, with its very tables and statements.
//!
//! Data prepared here serves pgbench and data of `pgbench -i` serves here, so nothing in the schema, the contents
//! or the statements may differ from pgbench's. See `docs/workloads.md`.

mod benchmark;
mod family;
mod load;
mod prepare;
mod rows;
mod scale;
mod schema;
mod state;
mod verdict;
mod verify;

use dyno_target::catalog::Names;

pub use crate::benchmark::Progress;
pub use crate::dataset::PrepareError;
use crate::dataset::{Marks, Terms};
pub use benchmark::TpcbBenchmark;
pub use family::TpcbFamily;
pub use load::{Script, TpcB};
pub use prepare::prepare;
pub(crate) use rows::TpcbRows;
use scale::measured_sizes;
pub use scale::{SCALE_MAX, check_scale, data_bytes, suggest_scale};
pub use schema::Table;
pub(crate) use schema::{ACCOUNTS_PER_BRANCH, ALL_TABLES, BEGINNING, BIGINT_SCALE, TELLERS_PER_BRANCH};
pub use state::{Found, state};
pub(crate) use verdict::judge;
pub use verify::{Baseline, history_rows, reset, verify};

/// The workload's name in events and on the command line.
pub const NAME: &str = "tpcb";

/// Of tables that are being made.
pub(crate) const MARKS: Marks = Marks { beginning: "dyno tpcb/", format: 1 };

/// All tables, as the catalog is asked about them.
pub(crate) const NAMES: Names<'static> =
    Names::These(&["pgbench_history", "pgbench_tellers", "pgbench_accounts", "pgbench_branches"]);

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT, INSERT, UPDATE and TRUNCATE on the pgbench tables",
    instead: "name another database, or rename the table",
    locked: None,
    exists: None,
    room: "make room or take a smaller scale (a unit is about 16 MB)",
    rights: "connect as the owner of the pgbench tables, or grant CREATE on the schema (PostgreSQL 15 and later give it \
             to the database's owner alone)",
};
