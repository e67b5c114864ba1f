//! The load of a transaction or a mix: scripts of pgbench's language with the options as variables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dyno_engine::workload::Workload;
use dyno_results::format::grouped;
use dyno_target::cause::Cause;
use dyno_target::connection::Connection;
use serde_json::Value;

use super::file::BeforeLoad;
use super::verify::Census;
use super::{Folder, Table};
use crate::benchmark::{
    Baseline, BenchmarkError, Contention, LOCK_WAIT, Sending, Series, SeriesLoad, read_acknowledged,
};
use crate::dataset::TableError;
use crate::pgbench::load::PgbenchLoad;
use crate::scripts::{SqlScript, load_of};

/// A transaction or a mix on data that is there.
pub(super) struct FolderLoad {
    pub folder: &'static Folder,
    /// Its place among the mixes.
    pub place: usize,
    pub dialect: &'static str,
    /// The variables that scripts begin with.
    pub defines: BTreeMap<String, String>,
    /// From how many clients on they wait for each other's rows.
    pub contention: Option<Contention>,
    /// By transaction and table.
    pub changes: Arc<Vec<Option<Vec<i64>>>>,
    /// What was made of it: an engine that is started again has its own.
    pub made: Mutex<Vec<PgbenchLoad>>,
}

impl FolderLoad {
    fn scripts(&self) -> Result<Vec<(SqlScript, u32)>, BenchmarkError> {
        scripts(self.folder, self.place, self.dialect, &self.defines)
    }
}

/// The scripts of a mix with their weights.
pub(super) fn scripts(
    folder: &Folder,
    place: usize,
    dialect: &str,
    defines: &BTreeMap<String, String>,
) -> Result<Vec<(SqlScript, u32)>, BenchmarkError> {
    let script = |(part, weight): &(usize, u32)| {
        let transaction = &folder.transactions[*part];
        let script = transaction.of_dialect(dialect, &folder.files, defines);
        let script = script.map_err(|error| BenchmarkError::Wrong(Box::new(error)))?;
        Ok((script.called(transaction.name), *weight))
    };
    folder.mixes[place].parts.iter().map(script).collect()
}

/// What is known of it without its data.
pub(super) fn series(
    folder: &'static Folder,
    place: usize,
    dialect: &str,
    defines: &BTreeMap<String, String>,
) -> Series {
    let scripts = scripts(folder, place, dialect, defines).unwrap_or_default();
    let writes = scripts.iter().any(|(script, _)| script.writes());
    Series {
        name: folder.series_name(place),
        workload: folder.workloads[place],
        writes,
        pass: None,
        fixed: None,
    }
}

impl SeriesLoad for FolderLoad {
    fn series(&self) -> Series {
        series(self.folder, self.place, self.dialect, &self.defines)
    }

    fn workload(&self, sending: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        let load = load_of(&self.scripts()?, sending)?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(load.clone());
        Ok(Arc::new(load))
    }

    fn contention(&self) -> Option<Contention> {
        self.contention
    }

    fn reset(
        &self,
        connection: &mut Connection,
        mut tell: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        let tables = self.folder.tables.iter().filter(|table| table.before_load.is_some());
        let tables: Vec<_> = tables.filter(|_| self.series().writes).collect();
        if tables.is_empty() {
            return Ok(());
        }
        // Emptying a table waits for whoever has it in use, which is for others to end.
        let [limit, lift] = connection.dialect().lock_wait(LOCK_WAIT);
        let limited = |source| BenchmarkError::Query { doing: "limit the wait for locks", source };
        connection.execute(&limit).map_err(limited)?;
        for table in tables {
            before_load(table, connection, &mut tell).map_err(locked)?;
        }
        connection.execute(&lift).map_err(limited)?;
        Ok(())
    }

    /// How many transactions of each part were acknowledged.
    fn acknowledged(&self) -> Value {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = vec![0_u64; self.folder.mixes[self.place].parts.len()];
        for load in made.iter() {
            for (sum, counts) in sums.iter_mut().zip(load.counts_by_script()) {
                *sum += counts.done;
            }
        }
        sums.into()
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let parts = &self.folder.mixes[self.place].parts;
        let is_unknown = parts.iter().any(|(part, _)| self.changes.get(*part).is_none_or(Option::is_none));
        if is_unknown && self.folder.checks_of(self.place).next().is_none() {
            return Ok(None);
        }
        let before = Census::take(self.folder, self.place, connection)?;
        let (folder, place, changes) = (self.folder, self.place, Arc::clone(&self.changes));
        Ok(Some(Baseline::new(move |connection, target, done, acknowledged| {
            let mut sums: Vec<u64> = Vec::new();
            for counts in read_acknowledged::<Vec<u64>>(acknowledged) {
                sums.resize(counts.len(), 0);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            folder.verify(connection, target, (place, &before, &changes), (done, &sums))
        })))
    }
}

/// Brings a table into the state in which a load begins.
fn before_load(
    table: &Table,
    connection: &mut Connection,
    tell: &mut Option<&mut dyn FnMut(String)>,
) -> Result<(), TableError> {
    let (name, dialect) = (&table.name, connection.dialect());
    let sql = match table.before_load {
        Some(BeforeLoad::Empty) => {
            if let Some(tell) = tell {
                let rows = connection.query_value(&format!("SELECT COUNT(*) FROM {name}"));
                let rows: u64 = rows.map_err(TableError::of(name))?.unwrap_or(0);
                let plural = if rows == 1 { "" } else { "s" };
                if rows > 0 {
                    tell(format!("{name} held {} row{plural} and is emptied before the load", grouped(rows)));
                }
            }
            dialect.empty(name)
        }
        Some(BeforeLoad::Vacuum) if dialect.vacuum => format!("VACUUM {name}"),
        _ => return Ok(()),
    };
    connection.execute(&sql).map_err(TableError::of(name)).map(drop)
}

fn locked(error: TableError) -> BenchmarkError {
    match error {
        TableError::Failed { table, source } if source.cause() == Some(Cause::Locked) => {
            BenchmarkError::Locked { table, seconds: LOCK_WAIT.as_secs(), source }
        }
        error => error.into(),
    }
}
