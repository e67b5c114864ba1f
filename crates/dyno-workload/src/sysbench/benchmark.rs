//! `sysbench` as a benchmark: some of its ten tests on tables of one size.

use std::sync::Arc;

use dyno_engine::workload::Workload;
use dyno_target::connection::Connection;
use dyno_target::product::Dialect;

use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, DataSize, Dataset, Progress, Sending, Series, SeriesLoad, Site,
    dialect,
};
use crate::dataset::{self, ExpectedRows, disk};
use crate::sysbench::{
    self, Existing, Found, IgnoredErrors, Options, OptionsError, PrepareOptions, Sysbench, Test, Unique,
    Wanted, prepare, table_name,
};

/// Size of a row with its two keys, bytes, as measured: by protocol and product.
const MEASURED: [(&str, &str, u64); 3] =
    [("PostgreSQL", "PostgreSQL 15", 236), ("MySQL", "MySQL 9", 240), ("SQLite", "SQLite", 216)];
/// The largest of them with some room, for what has to fit.
const ROW_BYTES: u64 = 250;
/// Tables where none are named: enough that several clients seldom meet in one, and that loading them can be shared.
const TABLES: u32 = 4;

/// Tests, and what the user wants of them.
#[derive(Debug, Default)]
pub struct SysbenchBenchmark {
    pub tests: Vec<Test>,
    /// All but the size, which is that of the next two.
    pub options: Options,
    /// `None` where those that are there will do, or what suits the machine.
    pub tables: Option<u32>,
    pub table_size: Option<u64>,
    /// Errors that restart an event; `None` for those that sysbench ignores.
    pub ignored_errors: Option<IgnoredErrors>,
}

impl SysbenchBenchmark {
    /// # Errors
    /// Options that do not go together.
    pub fn check(&self) -> Result<(), OptionsError> {
        let size = self.table_size.unwrap_or(self.options.table_size);
        self.sized(self.tables.unwrap_or(self.options.tables), size).map(drop)
    }

    /// The options on tables of this size.
    fn sized(&self, tables: u32, table_size: u64) -> Result<Options, OptionsError> {
        let options = Options { tables, table_size, ..self.options.clone() };
        self.tests.iter().try_for_each(|test| options.check(*test))?;
        Ok(options)
    }

    /// The number of tables, where as many as `available` could be used and none are named.
    fn tables(&self, available: u32) -> u32 {
        let only_first = self.tests.iter().any(|test| test.uses_first_table_only());
        self.tables.unwrap_or(if only_first { 1 } else { available })
    }

    fn wanted(&self) -> Wanted {
        let options = &self.options;
        Wanted {
            tables: self.tables,
            // A load of inserts leaves more rows than there were made, and can go on from there.
            table_size: self.table_size.filter(|_| self.tests != [Test::Insert]),
            key: !options.secondary,
            index: options.create_secondary,
        }
    }
}

/// Rows of all tables that suit a machine: 250,000 for each processor, one to four million, or where a rough answer is
/// enough a fifth of that and 100,000 to 400,000. Preparing that should take seconds rather than minutes. Less where it
/// does not fit.
fn suggested_rows(site: &Site<'_>) -> u64 {
    let cpus = u64::from(site.cpus);
    let wanted = match site.quick {
        true => (cpus * 50_000).clamp(100_000, 400_000),
        false => (cpus * 250_000).clamp(1_000_000, 4_000_000),
    };
    disk::limited(wanted, ROW_BYTES, site.memory_bytes, site.free_disk_bytes)
}

impl Benchmark for SysbenchBenchmark {
    fn name(&self) -> &'static str {
        sysbench::NAME
    }

    fn series(&self) -> Vec<Series> {
        self.tests.iter().map(|test| Series::of(test.workload(), test.writes())).collect()
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        let rows = self.table_size.map(|size| size * u64::from(self.tables(TABLES)));
        let of = |rows: u64| {
            MEASURED.map(|(protocol, product, row)| DataSize {
                bytes: rows * row,
                protocol,
                product: Some(product),
            })
        };
        rows.map(|rows| of(rows).to_vec()).unwrap_or_default()
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let most = Options { tables: self.tables(u32::MAX), ..self.options.clone() };
        let state = sysbench::state(connection, &most)?;
        let Some(found) = state.found(self.wanted())? else { return Ok(None) };
        let table_size = self.table_size.unwrap_or(found.table_size);
        let options = self.sized(self.tables(found.tables), table_size)?;
        let ignored = self.ignored_errors.clone();
        let dialect = connection.dialect();
        let tables = (1..=options.tables).map(table_name).collect();
        let table_rows = Some(options.table_size);
        // Inserts go on from whatever is there.
        let rows =
            if self.tests == [Test::Insert] { ExpectedRows::Any } else { ExpectedRows::AtLeast(table_size) };
        let expected = vec![rows; options.tables as usize];
        let unique = Unique::new(0);
        let load = move |test| TestLoad {
            test,
            options: options.clone(),
            ignored: ignored.clone(),
            dialect,
            unique: Arc::clone(&unique),
        };
        Ok(Some(Dataset { table_rows, expected, ..Dataset::new(tables, &self.tests, load) }))
    }

    fn missing(&self) -> BenchmarkError {
        <Found as dataset::Found>::missing(self.wanted()).into()
    }

    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let dialect = dialect(connection)?;
        let tables = self.tables(TABLES);
        let suggested = || (suggested_rows(site) / u64::from(tables.max(1))).max(1);
        let options = self.sized(tables, self.table_size.unwrap_or_else(suggested))?;
        let how = PrepareOptions {
            target: site.target.to_owned(),
            options: &options,
            dialect,
            threads: site.prepare_threads(),
            seed: site.seed,
            existing: Existing::Replace,
            stop: Some(site.stop),
        };
        Ok(prepare(site.open, &how, progress)?)
    }
}

/// A test on tables of one size.
struct TestLoad {
    test: Test,
    options: Options,
    ignored: Option<IgnoredErrors>,
    dialect: Dialect,
    /// The ids that clients of all engines and streams draw.
    unique: Arc<Unique>,
}

impl SeriesLoad for TestLoad {
    fn series(&self) -> Series {
        Series::of(self.test.workload(), self.test.writes())
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        let load = Sysbench::new(self.test, self.options.clone(), &self.dialect)
            .with_unique(Arc::clone(&self.unique));
        Ok(Arc::new(match &self.ignored {
            Some(ignored) => load.with_ignored_errors(ignored.clone()),
            None => load,
        }))
    }

    fn undivided(&self) -> Option<&'static str> {
        let draws_ids = self.test == Test::Insert && !self.options.auto_inc;
        draws_ids.then_some(
            "oltp_insert without auto_inc runs on one generator: no two of its clients draw the same id",
        )
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let before = sysbench::Baseline::take(connection, &self.options)?;
        let (test, options) = (self.test, self.options.clone());
        Ok(Some(Baseline::new(move |connection, target, done, _| {
            sysbench::verify(connection, target, &before, test, &options, done)
        })))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use dyno_target::connection::ConnectError;

    use super::*;

    fn benchmark(tests: &[Test], tables: Option<u32>, table_size: Option<u64>) -> SysbenchBenchmark {
        SysbenchBenchmark { tests: tests.to_vec(), tables, table_size, ..SysbenchBenchmark::default() }
    }

    fn rows(cpus: u32, memory_bytes: Option<u64>, quick: bool) -> u64 {
        let open = || -> Result<Connection, ConnectError> { unreachable!("nothing is prepared") };
        let stop = AtomicBool::new(false);
        suggested_rows(&Site {
            target: "pg",
            open: &open,
            cpus,
            memory_bytes,
            same_host: true,
            free_disk_bytes: None,
            quick,
            seed: 1,
            stop: &stop,
        })
    }

    #[test]
    fn the_size_suits_the_machine() {
        assert_eq!(
            [rows(1, None, false), rows(8, None, false), rows(64, None, false)],
            [1_000_000, 2_000_000, 4_000_000]
        );
        assert_eq!([rows(2, None, true), rows(64, None, true)], [100_000, 400_000]);
        assert_eq!(rows(8, Some(100_000_000), false), 200_000);
    }

    #[test]
    fn a_test_of_one_table_asks_for_one() {
        assert_eq!(benchmark(&[Test::SelectRandomPoints], None, None).tables(7), 1);
        assert_eq!(benchmark(&[Test::ReadWrite], None, None).tables(7), 7);
        assert_eq!(benchmark(&[Test::ReadWrite], Some(2), None).tables(7), 2);
    }

    #[test]
    fn inserts_take_tables_that_have_grown() {
        assert_eq!(benchmark(&[Test::Insert], None, Some(10)).wanted().table_size, None);
        assert_eq!(benchmark(&[Test::ReadWrite], None, Some(10)).wanted().table_size, Some(10));
    }

    #[test]
    fn what_cannot_be_run_is_refused_before_any_server_is_asked() {
        assert!(benchmark(&[Test::ReadOnly], Some(0), None).check().is_err());
        assert_eq!(benchmark(&[Test::ReadOnly], Some(1), None).check(), Ok(()));
    }
}
