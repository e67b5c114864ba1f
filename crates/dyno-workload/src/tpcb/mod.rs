//! `tpcb`: the three built-in scripts of pgbench, with its very tables and statements.
//!
//! Data prepared here serves pgbench and data of `pgbench -i` serves here, so nothing in the schema, the contents
//! or the statements may differ from pgbench's. See `docs/workloads.md`.

mod digits;
mod load;
mod prepare;
mod rows;
mod scale;
mod schema;
mod state;
mod transfer;
mod verdict;
mod verify;

pub use crate::benchmark::Progress;
pub use crate::preparation::PrepareError;
pub use digits::grouped;
pub use load::{Script, TpcB};
pub use prepare::{PrepareOptions, prepare};
pub(crate) use rows::TpcbRows;
pub use scale::{SCALE_MAX, ScaleError, check_scale, data_bytes, suggest_scale};
pub use schema::Table;
pub(crate) use schema::{ACCOUNTS_PER_BRANCH, ALL_TABLES, BIGINT_SCALE, TELLERS_PER_BRANCH};
pub use state::{NotReady, State, StateError, state};
pub(crate) use transfer::{TransferError, transfer};
pub use verify::{Baseline, Commits, VerifyError, history_rows, reset, verify};

/// The workload's name in events and on the command line.
pub const NAME: &str = "tpcb";
