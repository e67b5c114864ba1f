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
mod mixes;
#[cfg(test)]
mod server;

use std::sync::atomic::AtomicBool;

use dyno_target::connection::Connection;
use dyno_target::product::Dialect;
use dyno_workload::benchmark::Site;
use dyno_workload::tpcb::{PrepareError, Progress, prepare};

/// A site of which nothing is known.
fn site(stop: &AtomicBool) -> Site<'_> {
    Site {
        target: "pg",
        open: &|| unreachable!("one connection does it all"),
        cpus: 1,
        memory_bytes: None,
        same_host: false,
        free_disk_bytes: None,
        quick: false,
        seed: 1,
        stop,
    }
}

/// Prepares `scale` as it is by default; returns what was reported on the way.
fn prepared(connection: &mut Connection, scale: u64) -> Result<Vec<Progress>, PrepareError> {
    let mut seen = Vec::new();
    let stop = AtomicBool::new(false);
    prepare(connection, &site(&stop), &Dialect::of_wire(false), scale, &mut |progress| seen.push(progress))?;
    Ok(seen)
}
