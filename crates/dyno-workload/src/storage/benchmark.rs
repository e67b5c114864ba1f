//! `storage` as a benchmark: the four tables of TPC-B in one variant, which carry a mark by which dyno knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use dyno_engine::workload::Workload;
use dyno_results::event::Check;
use dyno_results::fnv1a;
use dyno_results::format::grouped;
use dyno_target::catalog::Names;
use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::family::Test;
use super::load::{self, BALANCE_EVERY, Workers};
use super::settings::WithSettings;
use super::variant::Variant;
use super::{NAME, TERMS};
use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, Contention, DataSize, Dataset, Done, NamedQuery, Progress, Sending,
    Series, SeriesLoad, Site, dialect,
};
use crate::dataset::{
    self, ExpectedRows, Found, Index, Key, Marks, NotReady, Part, Preparation, SizeError, State, StateError,
    TableError, Terms, Verdict, checks, disk, numbers, state_of_recipes,
};
use crate::folder::{FolderLoad, loads_on};
use crate::pgbench::tables::{BEGINNING, Table, TpcbRows};
use crate::query_set::QueryLoad;

/// The scale where the user does not say.
const SCALE: u32 = 10;
const SCALE_QUICK: u32 = 1;
/// Size of a unit of scale, tables and keys: 163,935 pages of accounts and 27,422 of its key at scale 100
/// (PostgreSQL 15, 8 KiB pages), rounded up.
const BYTES_PER_SCALE: u64 = 15_750_000;

/// Workloads, and the data that is wanted.
#[derive(Debug, Clone)]
pub(super) struct StorageBenchmark {
    pub tests: Vec<Test>,
    pub variant: Variant,
    pub scale: Option<u32>,
    pub updates: u64,
    pub workers: Workers,
}

/// With what tables were made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Recipe {
    scale: u32,
    /// Of the variant's clauses: a comment takes not all of them.
    variant: u64,
    /// A load has changed them since.
    written: bool,
}

impl StorageBenchmark {
    fn recipe(&self, scale: u32) -> Recipe {
        let hash = fnv1a::mixed(fnv1a::START, format!("{:?}", self.variant).bytes());
        // In the 53 bits that every reader of JSON knows.
        Recipe { scale, variant: hash >> 11, written: false }
    }

    fn names(&self) -> [String; 4] {
        Table::ALL.map(|table| self.variant.table(table))
    }

    fn describe(&self, table: Table, scale: u32, dialect: &Dialect) -> dataset::Table {
        let plain =
            dataset::Table { name: self.variant.table(table), fill_percent: None, ..table.describe(scale) };
        let key = if self.variant.keys { plain.key } else { None::<Key> };
        if table != Table::Accounts {
            return dataset::Table { key, ..plain };
        }
        let beginning = self.variant.beginning();
        let index = |(number, columns): (usize, &String)| Index {
            name: format!("{beginning}index_{number}"),
            columns: columns.clone().into(),
            unique: false,
        };
        dataset::Table {
            key,
            options: self.variant.options(dialect.stored_as),
            statements: self.variant.statements(),
            indexes: (1..).zip(&self.variant.indexes).map(index).collect(),
            // As one, where a key comes behind the rows: how columns are packed depends on how many rows come together.
            part_rows: if dialect.key_after_load() { u64::MAX } else { plain.part_rows },
            ..plain
        }
    }

    fn load(&self, test: Test, scale: u32, dialect: Dialect, transactions: &Transactions) -> StorageLoad {
        let queries = match test {
            Test::Queries | Test::QueriesAfter => Some(load::queries(&self.variant, self.workers)),
            Test::Updates => Some(load::updates(&self.variant, scale, self.updates)),
            _ => None,
        };
        let transaction = match test {
            Test::PointRead | Test::PointReadAfter => transactions.get("select-only"),
            Test::TpcB => transactions.get("tpcb-like"),
            _ => None,
        };
        StorageLoad {
            series: self.series_of(test),
            test,
            variant: self.variant.clone(),
            recipe: self.recipe(scale),
            updates: self.updates,
            dialect,
            queries,
            transaction: transaction.cloned(),
        }
    }

    fn series_of(&self, test: Test) -> Series {
        let pass = load::pass(self.workers);
        let (pass, fixed) = match test {
            Test::Queries | Test::QueriesAfter => (Some(pass), Some(pass)),
            Test::Updates => (None, Some(load::update_statements(self.updates))),
            _ => (None, None),
        };
        let writes = matches!(test, Test::Updates | Test::TpcB);
        Series { name: test.name(), workload: test.workload(), writes, pass, fixed }
    }
}

impl Benchmark for StorageBenchmark {
    fn name(&self) -> &'static str {
        NAME
    }

    fn series(&self) -> Vec<Series> {
        self.tests.iter().map(|test| self.series_of(*test)).collect()
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        // Of the table as the server makes it.
        let of = |scale| DataSize {
            bytes: data_bytes(scale),
            protocol: "PostgreSQL",
            product: Some("PostgreSQL 15 as a heap"),
        };
        self.scale.map(of).into_iter().collect()
    }

    fn variant(&self) -> Option<&str> {
        Some(&self.variant.name)
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let names = self.names();
        let found = state(connection, &names).map_err(StateError::of(&TERMS))?.found(self.scale)?;
        // What was made in another way, or has been written to, is made anew: it would not be what is measured.
        let Some(recipe) = found.filter(|found| *found == self.recipe(found.scale)) else { return Ok(None) };
        let (scale, dialect) = (recipe.scale, dialect(connection)?);
        let mut this = self.clone();
        // Relatives of a product may not know the setting; then each query is run as it is.
        this.workers = this.workers.filter(|(sql, most)| {
            let sql = sql.replace("{workers}", &most.to_string());
            connection.execute(&sql).is_ok()
        });
        let said = Map::from_iter([("scale".to_owned(), scale.into())]);
        let transactions: Transactions = loads_on("tpcb", [BEGINNING, &this.variant.beginning()], &said)?;
        let load = move |test| this.load(test, scale, dialect, &transactions);
        // What a load has written to is made anew.
        let expected = Table::ALL.map(|table| ExpectedRows::Exactly(table.rows(scale))).into();
        Ok(Some(Dataset {
            scale: Some(scale.into()),
            counts: true,
            expected,
            ..Dataset::new(names.into(), &self.tests, load)
        }))
    }

    fn missing(&self) -> BenchmarkError {
        <Recipe as Found>::missing(self.scale).into()
    }

    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let names = self.names();
        state(connection, &names).map_err(StateError::of(&TERMS))?.ours(&TERMS)?;
        let scale = self.scale.unwrap_or(if site.quick { SCALE_QUICK } else { SCALE });
        let failed = |source| BenchmarkError::Query { doing: "ask how large the tables are", source };
        let together = names.each_ref().map(String::as_str);
        check(scale, site.free_disk_bytes_without(connection, Names::These(&together)).map_err(failed)?)?;
        let dialect = dialect(connection)?;
        let tables = Table::ALL.map(|table| self.describe(table, scale, &dialect));
        let preparation = Preparation {
            // So that a vacuum has to do what it has in a table that was not copied into by its maker.
            frozen: false,
            settings: self.variant.settings.clone(),
            refusable: true,
            ..Preparation::new::<Recipe>(site, &dialect, tables.into(), self.recipe(scale).text())
        };
        let rows = |part: &Part| TpcbRows::with_balances(Table::ALL[part.table], &dialect, BALANCE_EVERY);
        Ok(preparation.run(connection, site.open, rows, progress)?)
    }
}

fn data_bytes(scale: u32) -> u64 {
    u64::from(scale) * BYTES_PER_SCALE
}

fn check(scale: u32, free_bytes: Option<u64>) -> Result<(), SizeError> {
    Ok(disk::check(format!("scale {scale}"), data_bytes(scale), free_bytes, |bytes| {
        let fits = bytes / BYTES_PER_SCALE;
        (fits > 0).then(|| format!("scale {fits}"))
    })?)
}

impl Recipe {
    /// What the tables say of themselves.
    fn text(self) -> String {
        Self::MARKS.whole(&serde_json::to_string(&self).unwrap_or_default())
    }
}

impl Found for Recipe {
    /// A scale, where one is asked for.
    type Wanted = Option<u32>;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = Marks { beginning: "dyno storage/", format: 1 };

    fn suits(&self, wanted: Option<u32>) -> Result<(), NotReady> {
        match wanted.filter(|wanted| *wanted != self.scale) {
            None => Ok(()),
            Some(wanted) => {
                let (found, flag) = (format!("scale {}", self.scale), format!("--scale {}", self.scale));
                Err(NotReady::Other { terms: &TERMS, found, wanted: wanted.to_string(), flag })
            }
        }
    }

    fn missing(_: Option<u32>) -> NotReady {
        let or_else = " (tables that an earlier run has written to are made anew)".to_owned();
        NotReady::Missing { terms: &TERMS, or_else }
    }
}

/// Looks at what the tables' names stand for.
fn state(connection: &mut Connection, names: &[String; 4]) -> Result<State<Recipe>, QueryError> {
    state_of_recipes::<Recipe>(
        &Recipe::MARKS,
        connection,
        &names.each_ref().map(String::as_str),
        |_, recipes| {
            let first = recipes.first().copied().flatten().filter(|_| recipes.len() == names.len());
            let same = first.filter(|first| recipes.iter().all(|recipe| *recipe == Some(*first)));
            // Some were marked as written to, or dropped: nobody misses what is made anew.
            Ok(same.map_or(State::Unfinished, State::Ready))
        },
    )
}

/// Those of tpcb on a variant's tables, by their names.
type Transactions = BTreeMap<&'static str, Arc<FolderLoad>>;

/// One of the workloads on data that is there.
#[derive(Clone)]
struct StorageLoad {
    series: Series,
    test: Test,
    variant: Variant,
    recipe: Recipe,
    updates: u64,
    dialect: Dialect,
    /// Those of passes and of the updates.
    queries: Option<QueryLoad>,
    /// Of tpcb, where it is one.
    transaction: Option<Arc<FolderLoad>>,
}

impl StorageLoad {
    /// Its queries, where they are passes.
    fn passes(&self) -> impl Iterator<Item = &QueryLoad> {
        self.queries.iter().filter(|_| self.series.pass.is_some())
    }

    /// What it does to the accounts, once, so that it changes nothing.
    fn trial(&self) -> Option<String> {
        let accounts = self.variant.table(Table::Accounts);
        match self.test {
            Test::Queries | Test::QueriesAfter => None,
            Test::PointRead | Test::PointReadAfter => {
                Some(format!("SELECT abalance FROM {accounts} WHERE aid = 1"))
            }
            Test::Updates | Test::TpcB => {
                Some(format!("UPDATE {accounts} SET abalance = abalance + 0 WHERE aid = 1"))
            }
        }
    }

    /// Asks the server for what it may refuse before a thousand clients do.
    fn attempt(&self, connection: &mut Connection) -> Result<(), BenchmarkError> {
        for sql in self.variant.settings.iter().cloned().chain(self.trial()) {
            match connection.query(&sql) {
                Ok(_) => {}
                Err(error) if error.is_refusal() => {
                    return Err(BenchmarkError::Refused { said: error.to_string() });
                }
                Err(error) => return Err(TableError::of(&self.variant.table(Table::Accounts))(error).into()),
            }
        }
        Ok(())
    }

    /// Marks the tables as written to.
    fn mark(&self, connection: &mut Connection) -> Result<(), TableError> {
        let text = Recipe { written: true, ..self.recipe }.text();
        for table in Table::ALL.map(|table| self.variant.table(table)) {
            let sql = self.dialect.comments.change(&table, &text);
            connection.execute(&sql).map_err(TableError::of(&table))?;
        }
        Ok(())
    }

    fn sum(&self, connection: &mut Connection) -> Result<[i64; 2], TableError> {
        let accounts = self.variant.table(Table::Accounts);
        let sql = format!("SELECT COUNT(*), COALESCE(SUM(abalance), 0) FROM {accounts}");
        numbers(connection, &sql).map_err(TableError::of(&accounts))
    }
}

impl SeriesLoad for StorageLoad {
    fn series(&self) -> Series {
        self.series
    }

    fn workload(&self, sending: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        let load = match (&self.queries, &self.transaction) {
            (Some(queries), _) => queries.workload(),
            (None, Some(transaction)) => transaction.workload(sending)?,
            (None, None) => {
                return Err(BenchmarkError::Wrong("the workload tpcb has no such transaction".into()));
            }
        };
        Ok(WithSettings::of(load, &self.variant.settings))
    }

    fn contention(&self) -> Option<Contention> {
        self.transaction.as_ref()?.contention()
    }

    fn acknowledged(&self) -> Value {
        self.transaction.as_ref().map(|load| load.acknowledged()).unwrap_or_default()
    }

    fn reset(
        &self,
        connection: &mut Connection,
        _: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        self.attempt(connection)?;
        if self.series.writes { Ok(self.mark(connection)?) } else { Ok(()) }
    }

    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        let of_session = &self.variant.settings;
        let told = |query: NamedQuery| NamedQuery {
            settings: [of_session.clone(), query.settings].concat(),
            table_prefix: Some(self.variant.beginning()),
            ..query
        };
        self.passes().flat_map(|load| load.of_first_client(seed)).map(told).collect()
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let load = self.clone();
        let workload = load.series.workload;
        Ok(match load.test {
            Test::Updates => {
                let before = load.sum(connection)?;
                Some(Baseline::new(move |connection, target, done, _| {
                    let verdict = updated(before, load.sum(connection)?, &load, done);
                    Ok::<_, TableError>(checks(target, workload, vec![verdict]))
                }))
            }
            Test::TpcB => {
                let before = load.transaction.map(|load| load.baseline(connection)).transpose()?.flatten();
                before.map(|before| {
                    Baseline::new(move |connection, target, done, acknowledged| {
                        let checks = before.verify(connection, target, done, acknowledged)?;
                        let own = |check| Check { workload: workload.to_owned(), ..check };
                        Ok::<_, BenchmarkError>(checks.into_iter().map(own).collect())
                    })
                })
            }
            _ => None,
        })
    }
}

/// Whether all updates are there, and nothing else.
fn updated(before: [i64; 2], after: [i64; 2], load: &StorageLoad, done: Done) -> Verdict {
    const NAME: &str = "every-update-is-there";
    let wanted = load::update_statements(load.updates);
    if done.acknowledged != wanted {
        let detail =
            format!("{} of {} statements were acknowledged", grouped(done.acknowledged), grouped(wanted));
        return Verdict::undecided(NAME, detail);
    }
    let sum = load::sum_of_changes(load.recipe.scale, load.updates) as i64;
    let expected = [before[0], before[1] + sum];
    let said = |[rows, sum]: [i64; 2]| format!("{} accounts with {}", grouped(rows), grouped(sum));
    let detail = match expected == after {
        true => format!("{} accounts changed, and no other", grouped(load.updates)),
        false => format!("there should be {}, there are {}", said(expected), said(after)),
    };
    Verdict::new(NAME, expected == after, said(expected), said(after), detail)
}
