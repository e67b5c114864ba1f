//! How `storage` is registered: its workloads' names and its options.

use clap::Args;
use dyno_target::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NAME;
use super::benchmark::StorageBenchmark;
use super::variant::Variant;
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::dataset::SizeError;
use crate::family::{Family, Listed, ScaleOption};
use crate::pgbench::tables::ACCOUNTS_PER_BRANCH;

/// Largest scale: beyond it a balance would not fit into 32 bits.
const SCALE_MAX: u32 = 7_000;
/// Where the user does not say.
const UPDATES: u64 = 10_000;
const WORKERS: u32 = 2;
const WORKERS_MAX: u32 = 1024;

/// `storage` in the registry.
#[derive(Debug)]
pub struct StorageFamily;

/// What a user says of the data and the queries.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Workload")]
pub struct StorageOptions {
    /// Scale of the data; a unit is 100,000 accounts, about 16 MB [default: that of the data that is there, else 10]
    #[arg(long, short = 's', value_name = "N")]
    pub scale: Option<ScaleOption>,

    /// Accounts that storage/updates changes before the queries are run again [default: 10000]
    #[arg(long, value_name = "N")]
    pub updates: Option<u64>,

    /// Parallel workers of the queries of storage, up to N: 0, 1, 2, 4, …; PostgreSQL [default: 2]
    #[arg(long, value_name = "N")]
    pub workers: Option<u32>,

    /// How the accounts are kept, `NAME` or `NAME=CLAUSE; …` as with --variant
    #[arg(skip)]
    pub variant: Option<String>,
}

/// One of the workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    Queries,
    PointRead,
    Updates,
    QueriesAfter,
    PointReadAfter,
    TpcB,
}

impl Test {
    pub(super) fn workload(self) -> &'static str {
        match self {
            Self::Queries => "storage/queries",
            Self::PointRead => "storage/point-read",
            Self::Updates => "storage/updates",
            Self::QueriesAfter => "storage/queries-after",
            Self::PointReadAfter => "storage/point-read-after",
            Self::TpcB => "storage/tpcb",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Queries => {
                "the first 100 by balance, 3 with a balance, their number by branch; with parallel workers"
            }
            Self::PointRead => "read: one account by its number",
            Self::Updates => "write: changes a stated number of accounts, once",
            Self::QueriesAfter => "the queries again, behind the updates",
            Self::PointReadAfter => "the reads again, behind the updates",
            Self::TpcB => "write: the transaction of tpcb/tpcb-like",
        }
    }

    /// The workload's name without its family.
    pub(super) fn name(self) -> &'static str {
        self.workload().split_at(NAME.len() + 1).1
    }
}

impl Family for StorageFamily {
    type Workload = Test;
    type Options = StorageOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str =
        "one table kept in several ways (--variant): how it is made, how large it is, reads and writes";
    const RUNS_ON: &'static [&'static str] = &["PostgreSQL", "MySQL"];
    const FURTHER: &'static [&'static str] = &["variant", "plans"];
    const HAS_TABLE: bool = true;
    const ALL: &'static [Test] = Self::USUAL;
    const USUAL: &'static [Test] = &[
        Test::Queries,
        Test::PointRead,
        Test::Updates,
        Test::QueriesAfter,
        Test::PointReadAfter,
        Test::TpcB,
    ];

    fn listed(test: Test) -> Listed {
        Listed { name: test.workload(), about: test.about(), runs_on: Self::RUNS_ON }
    }

    /// None: other families have a `queries` and a `tpcb` too.
    fn calls(_: Test) -> Vec<String> {
        Vec::new()
    }

    fn benchmark(
        tests: Vec<Test>,
        options: StorageOptions,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let variant = options.variant.as_deref().map(Variant::parse).transpose()?;
        let out_of_range = |what: String| Err(SizeError::OutOfRange(what).into());
        let scale = match options.scale {
            None => None,
            Some(ScaleOption(scale)) => match scale as u32 {
                whole @ 1..=SCALE_MAX if f64::from(whole).to_bits() == scale.to_bits() => Some(whole),
                _ => {
                    let what =
                        format!("--scale={scale}: the scale of storage is a whole number up to {SCALE_MAX}");
                    return out_of_range(what);
                }
            },
        };
        let updates = options.updates.unwrap_or(UPDATES);
        let accounts = u64::from(scale.unwrap_or(1)) * ACCOUNTS_PER_BRANCH;
        if !(1..=accounts).contains(&updates) {
            return out_of_range(format!(
                "--updates={updates} is out of range: it takes 1 to the number of accounts, 100,000 for each unit of --scale"
            ));
        }
        let workers = options.workers.unwrap_or(WORKERS);
        if workers > WORKERS_MAX {
            return out_of_range(format!("--workers={workers} is out of range: it takes 0 to {WORKERS_MAX}"));
        }
        let workers = target.parallel_workers.map(|sql| (sql, workers));
        Ok(Box::new(StorageBenchmark {
            tests,
            variant: variant.unwrap_or_default(),
            scale,
            updates,
            workers,
        }))
    }
}
