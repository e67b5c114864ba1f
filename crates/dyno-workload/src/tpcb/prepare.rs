//! Makes the tables and their rows: drop, tables, data, vacuum, keys, as `pgbench -i` does, each step timed.
//!
//! One connection does it all. Two that each load half of the accounts are slower in sum: COPY with FREEZE is open
//! only to the transaction that truncated the table, and without it VACUUM has to rewrite every page afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dyno_results::event::PrepareStep;
use dyno_target::connection::{Connection, QueryError};

use super::rows::TpcbRows;
use super::scale::check_scale;
use super::schema::{ALL_TABLES, Table};
use super::state::state;
use super::transfer::{TransferError, transfer};
use super::{NAME, TERMS};
use crate::benchmark::Progress;
use crate::dataset::JobError;
use crate::dataset::{PrepareError, State};

/// Memory of an index build for each process that takes part; the server starts no process that has less.
const SORT_MB_PER_PROCESS: u64 = 32;
/// A build with more would start to matter to the server's other memory.
const SORT_MB_MAX: u64 = 1024;

/// What to prepare.
#[derive(Debug, Clone)]
pub struct PrepareOptions<'a> {
    /// The target's short name, for the steps that are reported.
    pub target: String,
    pub scale: u64,
    /// Processors of the server's host, where they are known.
    pub cpus: Option<u32>,
    /// Free space on the server's disk, where it is known.
    pub free_disk_bytes: Option<u64>,
    /// Once it is set, the preparation ends before the next statement, and a load before the next message.
    pub stop: Option<&'a AtomicBool>,
}

impl PrepareOptions<'_> {
    /// What `pgbench -i -s scale` makes.
    #[must_use]
    pub fn new(target: &str, scale: u64) -> Self {
        Self { target: target.to_owned(), scale, cpus: None, free_disk_bytes: None, stop: None }
    }
}

/// Drops the tables that are there and makes new ones. Sets the session's `statement_timeout` to 0.
///
/// # Errors
/// The scale is absurd or does not fit, a table of the same name is not pgbench's, the server refuses a step, or
/// [`PrepareOptions::stop`] was set; the data is then not usable, unless nothing was begun, and [`state`] says so.
/// The session stays usable unless the connection was lost.
pub fn prepare(
    connection: &mut Connection,
    options: &PrepareOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    if let State::NotOurs { table, whose } = state(connection)? {
        return Err(PrepareError::NotOurs { terms: &TERMS, table, whose });
    }
    let mut preparation = Preparation { connection, options, scale: 0, progress };
    preparation.scale = check_scale(options.scale, preparation.free_disk_bytes()?)?;
    preparation.step("drop", Preparation::drop_tables)?;
    preparation.step("tables", Preparation::create_tables)?;
    preparation.step("data", Preparation::load)?;
    preparation.step("vacuum", Preparation::vacuum)?;
    preparation.step("keys", Preparation::add_keys)
}

/// What a step made.
#[derive(Debug, Default)]
struct StepResult {
    rows: Option<u64>,
    bytes: Option<u64>,
}

impl From<TransferError> for JobError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Stopped => Self::Stopped,
            TransferError::Refused(source) | TransferError::Failed(source) => Self::Query(source),
        }
    }
}

struct Preparation<'a> {
    connection: &'a mut Connection,
    options: &'a PrepareOptions<'a>,
    scale: u32,
    progress: &'a mut dyn FnMut(Progress),
}

impl Preparation<'_> {
    fn step(
        &mut self,
        step: &'static str,
        run: impl FnOnce(&mut Self) -> Result<StepResult, JobError>,
    ) -> Result<(), PrepareError> {
        self.go_on().map_err(|error| PrepareError::of(&TERMS, step, error))?;
        (self.progress)(Progress::Begun { step });
        let started = Instant::now();
        let made = run(self).map_err(|error| PrepareError::of(&TERMS, step, error))?;
        (self.progress)(Progress::Finished(PrepareStep {
            target: self.options.target.clone(),
            workload: NAME.to_owned(),
            step: step.to_owned(),
            seconds: started.elapsed().as_secs_f64(),
            rows: made.rows,
            bytes: made.bytes,
        }));
        Ok(())
    }

    /// An error if the preparation is to end.
    fn go_on(&self) -> Result<(), JobError> {
        let stopped = self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped { Err(JobError::Stopped) } else { Ok(()) }
    }

    /// Runs a statement that may take long, or that is one of many; returns the rows it touched.
    fn execute(&mut self, sql: &str) -> Result<u64, JobError> {
        self.go_on()?;
        Ok(self.connection.execute(sql)?)
    }

    /// Free space once the old tables are gone.
    fn free_disk_bytes(&mut self) -> Result<Option<u64>, PrepareError> {
        let Some(free) = self.options.free_disk_bytes else { return Ok(None) };
        let old = self
            .size("pg_total_relation_size")
            .map_err(|error| PrepareError::of(&TERMS, "drop", error.into()))?;
        Ok(Some(free.saturating_add(old.unwrap_or(0))))
    }

    /// Sum of a size function over the tables that are there, bytes.
    fn size(&mut self, function: &str) -> Result<Option<u64>, QueryError> {
        let sql = format!(
            "select coalesce(sum({function}(to_regclass(trim(name)))), 0)::bigint \
             from unnest(string_to_array('{ALL_TABLES}', ',')) as name"
        );
        self.connection.query_value(&sql)
    }

    fn drop_tables(&mut self) -> Result<StepResult, JobError> {
        // A role's time limit is meant for its queries; a large load would run into it.
        self.execute("set statement_timeout = 0")?;
        for table in Table::ALL {
            self.execute(&format!("drop table if exists {}", table.name()))?;
        }
        Ok(StepResult::default())
    }

    fn create_tables(&mut self) -> Result<StepResult, JobError> {
        for table in Table::ALL {
            self.execute(&table.create_sql(self.scale))?;
        }
        Ok(StepResult::default())
    }

    /// Loads all tables in one transaction that truncates them first, for only that lets COPY write rows as already
    /// frozen: nothing needs to be visited again.
    fn load(&mut self) -> Result<StepResult, JobError> {
        self.in_transaction(|this| {
            this.execute(&format!("truncate table {ALL_TABLES}"))?;
            let total = Table::ALL.iter().map(|table| table.rows(this.scale)).sum();
            let mut done = 0;
            for table in [Table::Branches, Table::Tellers, Table::Accounts] {
                this.copy(table, &mut done, total)?;
            }
            Ok(StepResult { rows: Some(done), bytes: this.size("pg_table_size")? })
        })
    }

    fn copy(&mut self, table: Table, done: &mut u64, total: u64) -> Result<(), JobError> {
        self.go_on()?;
        let sql = format!("copy {} from stdin with (freeze on)", table.name());
        let rows = TpcbRows::of(table, self.scale);
        transfer(self.connection, &sql, rows, self.options.stop, &mut |added| {
            *done += added;
            (self.progress)(Progress::Rows { done: *done, total });
        })?;
        Ok(())
    }

    /// After a load of frozen rows this visits hardly a page: it is there for the statistics.
    fn vacuum(&mut self) -> Result<StepResult, JobError> {
        for table in Table::ALL {
            self.execute(&format!("vacuum analyze {}", table.name()))?;
        }
        Ok(StepResult::default())
    }

    fn add_keys(&mut self) -> Result<StepResult, JobError> {
        self.in_transaction(|this| {
            this.set_sort_memory()?;
            for sql in Table::ALL.into_iter().filter_map(Table::key_sql) {
                this.execute(&sql)?;
            }
            Ok(StepResult { rows: None, bytes: this.size("pg_indexes_size")? })
        })
    }

    /// Gives index builds just what lets a process run on each processor, as far as the server's
    /// `max_parallel_maintenance_workers` goes. The accounts come sorted, so more memory gains nothing and costs page
    /// faults, and more processes than processors wait for each other.
    fn set_sort_memory(&mut self) -> Result<(), JobError> {
        let workers: u64 = self
            .connection
            .query_value("select current_setting('max_parallel_maintenance_workers', true)")?
            .unwrap_or(0);
        let processes = (workers + 1).min(self.options.cpus.map_or(2, u64::from)).max(2);
        let megabytes = (processes * SORT_MB_PER_PROCESS).min(SORT_MB_MAX);
        self.execute(&format!("set local maintenance_work_mem = '{megabytes}MB'"))?;
        Ok(())
    }

    fn in_transaction(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<StepResult, JobError>,
    ) -> Result<StepResult, JobError> {
        self.execute("begin")?;
        match run(self) {
            Ok(made) => {
                self.connection.execute("commit")?;
                Ok(made)
            }
            Err(error) => {
                // The first error says what went wrong; a rollback that fails as well adds nothing to it.
                let _ = self.connection.execute("rollback");
                Err(error)
            }
        }
    }
}
