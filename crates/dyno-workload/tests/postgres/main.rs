//! `tpcb` against a real PostgreSQL and its real pgbench. Each test has a database of its own, on a server that they
//! share; where the machine has none, it says `skipped:` and returns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

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
use dyno_target::{Environment, Target};
use dyno_workload::benchmark::{Benchmark, BenchmarkError, Progress, SeriesLoad, Site};
use dyno_workload::dataset::{NotReady, PrepareError};
use dyno_workload::registry::{self, DataOptions};
use serde_json::json;

use crate::server::Database;

/// A workload of tpcb as a user asks for it.
fn benchmark(workload: &str, scale: Option<u64>) -> Result<Box<dyn Benchmark>, String> {
    let options = scale.map_or(json!({}), |scale| json!({ "scale": scale }));
    let options = DataOptions::read(options.as_object().unwrap()).unwrap();
    let target = Target::parse("postgres://u@h/d", &Environment::empty()).unwrap();
    let benchmark = registry::find(workload).unwrap().benchmark(&options, &target.capabilities());
    benchmark.map_err(|error| error.to_string())
}

/// The scale of the data that is there, where it can be used for this one.
fn find(connection: &mut Connection, wanted: Option<u64>) -> Result<Option<f64>, BenchmarkError> {
    let found = benchmark("tpcb", wanted).unwrap().find(connection)?;
    Ok(found.map(|data| data.scale.unwrap()))
}

/// What is wrong with the data that is there.
fn damage(connection: &mut Connection) -> String {
    match find(connection, None) {
        Err(BenchmarkError::NotReady(NotReady::Damaged { why, .. })) => why,
        other => panic!("not damaged: {other:?}"),
    }
}

/// The load of a workload on the data that is there.
fn load(connection: &mut Connection, workload: &str) -> Box<dyn SeriesLoad> {
    benchmark(workload, None).unwrap().find(connection).unwrap().unwrap().loads().remove(0)
}

/// Where data is made that is to be of a scale.
struct Place<'a> {
    database: &'a Database,
    user: &'a str,
    scale: u64,
    free_disk_bytes: Option<u64>,
    stop: &'a AtomicBool,
}

impl Place<'_> {
    fn prepare(
        &self,
        connection: &mut Connection,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let endpoint = self.database.endpoint(self.user);
        let site = Site {
            target: "pg",
            open: &|| Connection::open(&endpoint),
            cpus: 1,
            memory_bytes: None,
            same_host: false,
            free_disk_bytes: self.free_disk_bytes,
            quick: false,
            seed: 1,
            stop: self.stop,
        };
        benchmark("tpcb", Some(self.scale)).unwrap().prepare(connection, &site, progress)
    }
}

/// Prepares `scale` as it is by default; returns what was reported on the way.
fn prepared(
    database: &Database,
    connection: &mut Connection,
    scale: u64,
) -> Result<Vec<Progress>, BenchmarkError> {
    let mut seen = Vec::new();
    let stop = AtomicBool::new(false);
    let place = Place { database, user: "postgres", scale, free_disk_bytes: None, stop: &stop };
    place.prepare(connection, &mut |progress| seen.push(progress))?;
    Ok(seen)
}

/// Why a preparation has failed.
fn refusal(error: BenchmarkError) -> PrepareError {
    match error {
        BenchmarkError::Preparation(error) => *error,
        other => panic!("no preparation has failed: {other}"),
    }
}
