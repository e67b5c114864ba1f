//! How events is registered: its workloads' names and its options.

use clap::Args;
use dyno_results::spec::Count;
use dyno_target::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::size::Size;
use super::{EventsBenchmark, NAME, Test};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::dataset::SizeError;
use crate::family::{Family, Listed};

/// `events` in the registry.
#[derive(Debug)]
pub struct EventsFamily;

/// What a user says of the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Workload")]
pub struct EventsOptions {
    /// Rows of the table event, of the workload events: 1000000, 70M [default: what suits the machine, or those that are
    /// there]
    #[arg(long, value_name = "N")]
    pub rows: Option<Count>,

    /// Rows of the table customer, of the workload events
    #[arg(long, value_name = "N")]
    pub customers: Option<Count>,

    /// Of the workload events: an index on event.customer_id on every product, and not only where the foreign key brings
    /// one (MySQL, MariaDB), so that all targets have the same
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub customer_index: bool,
}

impl EventsOptions {
    /// The size that is said; where it is open, `suggested` rows of `event`.
    pub(super) fn size(&self, suggested: impl FnOnce() -> u64) -> Result<Size, SizeError> {
        let rows = self.rows.map_or_else(suggested, |rows| rows.0);
        Size::new(rows, self.customers.map(|customers| customers.0))
    }
}

impl Family for EventsFamily {
    type Workload = Test;
    type Options = EventsOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "read, then write: events/join and events/ingest in turn";
    const RUNS_ON: &'static [&'static str] = &["PostgreSQL", "MySQL", "SQLite"];
    const ALL: &'static [Test] = &Test::ALL;
    const USUAL: &'static [Test] = &Test::ALL;

    fn listed(test: Test) -> Listed {
        Listed { name: test.workload(), about: test.about(), runs_on: Self::RUNS_ON }
    }

    fn benchmark(
        tests: Vec<Test>,
        options: EventsOptions,
        _target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        Ok(Box::new(EventsBenchmark::new(tests, options)?))
    }
}
