//! `tpcb` as a benchmark: its three scripts on the data of one scale.

use std::sync::Arc;

use dyno_engine::workload::Workload;
use dyno_results::format::grouped;
use dyno_target::cause::Cause;
use dyno_target::connection::Connection;
use dyno_target::product::Dialect;

use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, Contention, DataSize, Dataset, LOCK_WAIT, Progress, Sending, Series,
    SeriesLoad, Site, dialect,
};
use crate::dataset::{self, ExpectedRows, SizeError, TableError};
use crate::tpcb::{self, Found, Script, Table, TpcB, check_scale};

/// Scripts of pgbench, and the scale that is wanted.
#[derive(Debug)]
pub struct TpcbBenchmark {
    scripts: Vec<Script>,
    /// `None` where that of the data that is there will do, or one that suits the machine.
    scale: Option<u32>,
}

impl TpcbBenchmark {
    /// # Errors
    /// The scale is out of range. Whether it fits the disk shows when the server is known.
    pub fn new(scripts: Vec<Script>, scale: Option<u64>) -> Result<Self, SizeError> {
        let scale = scale.map(|scale| check_scale(scale, None)).transpose()?;
        Ok(Self { scripts, scale })
    }
}

impl Benchmark for TpcbBenchmark {
    fn name(&self) -> &'static str {
        tpcb::NAME
    }

    fn series(&self) -> Vec<Series> {
        self.scripts.iter().map(|script| Series::of(script.workload(), script.writes())).collect()
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        self.scale.map(tpcb::measured_sizes).unwrap_or_default()
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let found = tpcb::state(connection)?.found(self.scale)?;
        let Some(Found { scale }) = found else { return Ok(None) };
        let tables = Table::ALL.map(|table| table.name().to_owned()).to_vec();
        let dialect = connection.dialect();
        let load = move |script| ScriptLoad { script, scale, dialect };
        let expected = Table::ALL.map(|table| match table {
            // Each transaction adds one; it is emptied before a load.
            Table::History => ExpectedRows::Any,
            table => ExpectedRows::Exactly(table.rows(scale)),
        });
        let expected = expected.into();
        Ok(Some(Dataset { scale: Some(scale.into()), expected, ..Dataset::new(tables, &self.scripts, load) }))
    }

    fn missing(&self) -> BenchmarkError {
        <Found as dataset::Found>::missing(self.scale).into()
    }

    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let suggested =
            || tpcb::suggest_scale(site.memory_bytes, Some(site.cpus), site.free_disk_bytes, site.quick);
        let scale = self.scale.unwrap_or_else(suggested);
        let dialect = dialect(connection)?;
        Ok(tpcb::prepare(connection, site, &dialect, scale.into(), progress)?)
    }
}

/// A script on the data of a scale.
struct ScriptLoad {
    script: Script,
    scale: u32,
    dialect: Dialect,
}

impl SeriesLoad for ScriptLoad {
    fn series(&self) -> Series {
        Series::of(self.script.workload(), self.script.writes())
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(Arc::new(TpcB::new(self.script, self.scale, &self.dialect)))
    }

    fn contention(&self) -> Option<Contention> {
        // Each transaction updates the row of a branch.
        (self.script == Script::TpcbLike).then_some(Contention {
            clients: self.scale,
            why: "more would wait for each other's branch rows. A larger --scale or a named --clients goes further",
        })
    }

    fn reset(
        &self,
        connection: &mut Connection,
        tell: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        if !self.script.writes() {
            return Ok(());
        }
        // Emptying a table waits for whoever has it in use, which is for others to end.
        let seconds = LOCK_WAIT.as_secs();
        let [limit, lift] = connection.dialect().lock_wait(LOCK_WAIT);
        let limited = |source| BenchmarkError::Query { doing: "limit the wait for locks", source };
        connection.execute(&limit).map_err(limited)?;
        let locked = |error| match error {
            TableError::Failed { table, source } if source.cause() == Some(Cause::Locked) => {
                BenchmarkError::Locked { table, seconds, source }
            }
            error => error.into(),
        };
        if let Some(tell) = tell {
            let rows = tpcb::history_rows(connection).map_err(locked)?;
            if rows > 0 {
                tell(emptied(rows));
            }
        }
        tpcb::reset(connection).map_err(locked)?;
        connection.execute(&lift).map_err(limited)?;
        Ok(())
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let (before, script) = (tpcb::Baseline::take(connection)?, self.script);
        Ok(Some(Baseline::new(move |connection, target, done, _| {
            tpcb::verify(connection, target, &before, script, done)
        })))
    }
}

fn emptied(rows: u64) -> String {
    let plural = if rows == 1 { "" } else { "s" };
    format!(
        "pgbench_history held {} row{plural} and is emptied before the load, as pgbench does",
        grouped(rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_named_by_what_they_do() {
        let benchmark = TpcbBenchmark::new(vec![Script::SelectOnly, Script::TpcbLike], None).unwrap();
        let named: Vec<_> = benchmark.series().iter().map(|series| (series.name, series.workload)).collect();
        assert_eq!(named, [("read", "tpcb/select-only"), ("write", "tpcb/tpcb-like")]);
    }
}
