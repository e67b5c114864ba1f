//! `events` as a benchmark: join and ingest on two tables of one size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_engine::workload::Workload;
use dyno_target::connection::Connection;
use serde_json::Value;

use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, Dataset, MeasuredSize, Progress, RowCounter, Sending, Series,
    SeriesLoad, Site, dialect, read_acknowledged,
};
use crate::dataset::{self, ExpectedRows, SizeError};

use super::family::EventsOptions;
use super::load::{Events, Ids};
use super::prepare::{append, prepare};
use super::recipe::Recipe;
use super::size::Size;
use super::state::{Found, Wanted, state};
use super::test::Test;
use super::verify::LastCensus;
use super::{NAME, Table};

/// Tests, and the data that is wanted.
#[derive(Debug)]
pub struct EventsBenchmark {
    tests: Vec<Test>,
    options: EventsOptions,
}

impl EventsBenchmark {
    /// # Errors
    /// Rows without customers, or more than there are ids. Whether they fit the disk shows when the server is known.
    pub fn new(tests: Vec<Test>, options: EventsOptions) -> Result<Self, BenchmarkError> {
        options.size(|| 0)?;
        Ok(Self { tests, options })
    }

    fn wanted(&self) -> Wanted {
        Wanted { options: self.options, events: self.tests.first() == Some(&Test::Join) }
    }

    /// The size that is made.
    fn size(&self, site: &Site<'_>) -> Result<Size, SizeError> {
        let suggested =
            || Size::suggested_rows(site.cpus, site.memory_bytes, site.free_disk_bytes, site.quick);
        self.options.size(suggested)
    }
}

impl Benchmark for EventsBenchmark {
    fn name(&self) -> &'static str {
        NAME
    }

    fn series(&self) -> Vec<Series> {
        self.tests.iter().copied().map(series).collect()
    }

    fn sizes_wanted(&self) -> Vec<MeasuredSize> {
        let said = self.options.rows.and_then(|_| self.options.size(|| 0).ok());
        said.map(|size| size.measured()).unwrap_or_default()
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let Some(found) = state(connection)?.found(self.wanted())? else { return Ok(None) };
        let tables = Table::ALL.map(|table| table.name().to_owned()).to_vec();
        let ids = Ids { customers: found.size.customers, last_event: found.last_event };
        let (recipe, counted) = (Some(found.recipe()), LastCensus::default());
        let counts: Option<Box<dyn RowCounter>> = Some(Box::new(counted.clone()));
        let expected =
            vec![ExpectedRows::Exactly(found.size.customers), ExpectedRows::AtLeast(found.size.rows)];
        let load = move |test| TestLoad { test, ids, unanswered: Arc::default(), counted: counted.clone() };
        Ok(Some(Dataset { recipe, counts, expected, ..Dataset::new(tables, &self.tests, load) }))
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
        let recipe = Recipe { size: self.size(site)?, customer_index: self.options.customer_index };
        Ok(prepare(site, &dialect, recipe, progress)?)
    }

    fn top_up(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        rows: &[u64],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let wanted = Wanted { events: false, ..self.wanted() };
        let Some(found) = state(connection)?.found(wanted)? else { return Err(self.missing()) };
        let there = LastCensus::default().count(connection)?;
        match (rows, there.as_slice()) {
            (&[_, wanted], &[_, there]) if wanted > there => {
                Ok(append(site, &dialect(connection)?, &found, wanted - there, progress)?)
            }
            _ => Ok(()),
        }
    }
}

fn series(test: Test) -> Series {
    Series { name: test.name(), workload: test.workload(), writes: test.writes(), pass: None, fixed: None }
}

/// A test on the tables.
struct TestLoad {
    test: Test,
    ids: Ids,
    /// Joins without exactly one row.
    unanswered: Arc<AtomicU64>,
    counted: LastCensus,
}

impl SeriesLoad for TestLoad {
    fn series(&self) -> Series {
        series(self.test)
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(Arc::new(Events::new(self.test, self.ids, Arc::clone(&self.unanswered))))
    }

    fn acknowledged(&self) -> Value {
        self.unanswered.load(Ordering::Relaxed).into()
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let (before, test) = (self.counted.baseline(connection)?, self.test);
        let counted = self.counted.clone();
        Ok(Some(Baseline::new(move |connection, target, done, acknowledged| {
            let unanswered = read_acknowledged::<u64>(acknowledged).sum();
            counted.verify(connection, target, before, test, done, unanswered)
        })))
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::spec::Count;

    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_refused_before_any_server_is_asked() {
        let of = |rows: Option<u64>, customers: Option<u64>| {
            let (rows, customers) = (rows.map(Count), customers.map(Count));
            EventsBenchmark::new(Test::ALL.to_vec(), EventsOptions { rows, customers, customer_index: false })
        };
        assert!(of(Some(u64::MAX), None).is_err() && of(None, Some(0)).is_err());
        let benchmark = of(Some(70_000_000), None).unwrap();
        assert!((5_000_000_000..7_000_000_000).contains(&benchmark.sizes_wanted()[0].bytes));
        assert_eq!(of(None, None).unwrap().sizes_wanted(), []);
    }

    #[test]
    fn only_a_join_at_the_beginning_needs_events() {
        let needs = |tests: &[Test]| {
            EventsBenchmark::new(tests.to_vec(), EventsOptions::default()).unwrap().wanted().events
        };
        assert!(needs(&[Test::Join]) && needs(&Test::ALL) && !needs(&[Test::Ingest]));
    }
}
