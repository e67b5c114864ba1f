//! `tpcb` against a real PostgreSQL and its real pgbench. Each test has a database of its own, on a server that they
//! share; where the machine has none, it says `skipped:` and returns.

#[cfg(test)]
mod contents;
#[cfg(test)]
mod disk_full;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod load;
#[cfg(test)]
mod server;

use dyno_target::connection::Connection;
use dyno_workload::tpcb::{PrepareError, PrepareOptions, Progress, prepare};

/// Prepares `scale` as it is by default; returns what was reported on the way.
fn prepared(connection: &mut Connection, scale: u64) -> Result<Vec<Progress>, PrepareError> {
    let mut seen = Vec::new();
    prepare(connection, &PrepareOptions::new("pg", scale), &mut |progress| seen.push(progress))?;
    Ok(seen)
}
