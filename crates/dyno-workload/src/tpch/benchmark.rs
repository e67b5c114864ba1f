//! `tpch` as a benchmark: its queries on eight tables, which carry a mark by which dyno knows them.

use std::sync::Arc;
use std::time::Duration;

use dyno_engine::workload::Workload;
use dyno_target::catalog::Names;
use dyno_target::connection::{Connection, QueryError};
use serde::{Deserialize, Serialize};

use super::family::{Indexes, Parameters, Queries, TpchOptions};
use super::rows::TpchRows;
use super::schema::{DUCKDB_BYTES, Scale, Table};
use super::{NAME, QUERIES, TERMS, answers, load};
use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, DataSize, Dataset, NamedQuery, Progress, Sending, Series,
    SeriesLoad, Site, dialect,
};
use crate::dataset::{
    ExpectedRows, Found, Marks, NotReady, Preparation, SizeError, State, StateError, Terms, disk,
    state_of_recipes, together,
};
use crate::family::ScaleOption;
use crate::query_set::QueryLoad;

/// The scale where the user does not say.
const SCALE: f64 = 1.0;
const SCALE_QUICK: f64 = 0.1;

/// Workloads, and the data that is wanted.
#[derive(Debug)]
pub(super) struct TpchBenchmark {
    pub queries: Vec<Queries>,
    pub options: TpchOptions,
}

/// With what tables were made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Recipe {
    scale: ScaleOption,
    indexes: Indexes,
}

impl TpchOptions {
    /// What is wanted; what is open as in `usual`.
    fn recipe(self, usual: Recipe) -> Recipe {
        Recipe { scale: self.scale.unwrap_or(usual.scale), indexes: self.indexes.unwrap_or(usual.indexes) }
    }
}

impl Recipe {
    fn of(scale: f64) -> Self {
        Self { scale: ScaleOption(scale), indexes: Indexes::KeysFk }
    }

    fn scale(self) -> Scale {
        Scale(self.scale.0)
    }

    fn measured_sizes(self) -> Vec<DataSize> {
        let rows = self.scale().bytes(self.indexes, false);
        let columns = (self.scale.0 * DUCKDB_BYTES) as u64;
        vec![
            DataSize { bytes: rows, protocol: "PostgreSQL", product: Some("PostgreSQL 15") },
            DataSize { bytes: columns, protocol: "DuckDB", product: Some("DuckDB 1.5") },
        ]
    }

    fn check(self, columnar: bool, free_bytes: Option<u64>) -> Result<(), SizeError> {
        let unit = Scale(1.0).bytes(self.indexes, columnar) as f64;
        let wanted = self.scale().bytes(self.indexes, columnar);
        Ok(disk::check(format!("scale {}", self.scale.0), wanted, free_bytes, |bytes| {
            let fits = (bytes as f64 / unit * 100.0).floor() / 100.0;
            (fits > 0.0).then(|| format!("scale {fits}"))
        })?)
    }
}

impl Benchmark for TpchBenchmark {
    fn name(&self) -> &'static str {
        NAME
    }

    fn series(&self) -> Vec<Series> {
        self.queries.iter().map(|queries| queries.series()).collect()
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        let Some(scale) = self.options.scale else { return Vec::new() };
        self.options.recipe(Recipe::of(scale.0)).measured_sizes()
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let Some(recipe) = state(connection).map_err(StateError::of(&TERMS))?.found(self.options)? else {
            return Ok(None);
        };
        let (parameters, dialect) = (self.options.parameters.unwrap_or_default(), dialect(connection)?);
        let (scale, is_validation) = (recipe.scale(), parameters == Parameters::Validation);
        let has_answers = is_validation && scale.factor().to_bits() == 1.0_f64.to_bits();
        let load = move |queries: Queries| TpchLoad {
            queries,
            load: load::load(queries.order, parameters, scale, dialect)
                .validated(has_answers.then_some(answers::validate)),
        };
        let tables: Vec<String> = Table::ALL.map(|table| table.name().to_owned()).into();
        let expected = Table::ALL.map(|table| ExpectedRows::Exactly(table.rows(scale))).into();
        let scale = Some(recipe.scale.0);
        // Rows are the same whatever indexes there are.
        let recipe = Some(format!("scale {}", recipe.scale.0));
        Ok(Some(Dataset {
            scale,
            recipe,
            counts: true,
            expected,
            ..Dataset::new(tables, &self.queries, load)
        }))
    }

    fn missing(&self) -> BenchmarkError {
        <Recipe as Found>::missing(self.options).into()
    }

    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        state(connection).map_err(StateError::of(&TERMS))?.ours(&TERMS)?;
        let recipe = self.options.recipe(Recipe::of(if site.quick { SCALE_QUICK } else { SCALE }));
        let names = Table::ALL.map(Table::name);
        let failed = |source| BenchmarkError::Query { doing: "ask how large the tables are", source };
        let dialect = dialect(connection)?;
        let free_bytes = site.free_disk_bytes_without(connection, Names::These(&names)).map_err(failed)?;
        recipe.check(dialect.columnar, free_bytes)?;
        if let Some(version) = dialect.correlates_since {
            let remark =
                format!("this version is too old for all queries of tpch: they need {version} or newer");
            progress(Progress::Remark(remark));
        }
        let tables = Table::ALL.map(|table| table.describe(recipe.scale(), recipe.indexes, &dialect));
        let comment = Recipe::MARKS.whole(&serde_json::to_string(&recipe).unwrap_or_default());
        let preparation = Preparation::new::<Recipe>(site, &dialect, tables.into(), comment);
        let rows = |part: &crate::dataset::Part| TpchRows::of(Table::ALL[part.table], recipe.scale(), part);
        Ok(preparation.run(connection, site.open, rows, progress)?)
    }
}

impl Queries {
    fn series(self) -> Series {
        // The workload's name without its family.
        let name = self.workload.split_at(NAME.len() + 1).1;
        Series {
            name,
            workload: self.workload,
            writes: false,
            pass: Some(QUERIES as u64),
            fixed: None,
            pauses: Duration::ZERO,
        }
    }
}

/// One of the workloads on data that is there.
struct TpchLoad {
    queries: Queries,
    load: QueryLoad,
}

impl SeriesLoad for TpchLoad {
    fn series(&self) -> Series {
        self.queries.series()
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(self.load.workload())
    }

    /// TPC's rules for work that is derived from its benchmarks.
    fn caveat(&self) -> Option<&'static str> {
        Some("derived from TPC-H, not comparable to published TPC-H results")
    }

    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        self.load.of_first_client(seed)
    }

    fn baseline(&self, _: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        Ok(None)
    }
}

impl Found for Recipe {
    type Wanted = TpchOptions;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = Marks { beginning: "dyno tpch/", format: 1 };

    fn suits(&self, options: TpchOptions) -> Result<(), NotReady> {
        let wanted = options.recipe(*self);
        let other = |found: String, wanted: String| {
            let flag = format!("--{found}");
            Err(NotReady::Other { terms: &TERMS, found, wanted, flag })
        };
        let index = |recipe: &Self| {
            let name = serde_json::to_value(recipe.indexes).unwrap_or_default();
            format!("indexes {}", name.as_str().unwrap_or_default())
        };
        if wanted.scale != self.scale {
            return other(format!("scale {}", self.scale.0), format!("scale {}", wanted.scale.0));
        }
        if wanted.indexes == self.indexes { Ok(()) } else { other(index(self), index(&wanted)) }
    }
}

/// Looks at what the tables' names stand for.
fn state(connection: &mut Connection) -> Result<State<Recipe>, QueryError> {
    let names = Table::ALL.map(Table::name);
    state_of_recipes::<Recipe>(&Recipe::MARKS, connection, &names, |_, recipes| {
        Ok(match together(&names, recipes, |_| true) {
            // Without keys a server takes them, but they are not the data that the queries are for.
            Ok(recipe) if recipe.scale().repeats_suppliers() => {
                State::damaged(format!("at scale {} some parts have the same supplier twice", recipe.scale.0))
            }
            Ok(recipe) => State::Ready(*recipe),
            Err(why) => State::damaged(why),
        })
    })
}
