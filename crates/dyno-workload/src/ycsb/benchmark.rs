//! `ycsb` as a benchmark: some of its workloads on one table, which carries a mark by which dyno knows it.

use std::sync::Arc;

use dyno_engine::workload::Workload;
use dyno_target::connection::{Connection, QueryError};
use serde_json::Value;

use super::inserts::{InsertCounts, Inserts};
use super::load::Load;
use super::options::{Recipe, YcsbOptions};
use super::updates::LastUpdates;
use super::verify::{Census, count, updates_there};
use super::{KEY, Mix, NAME, OWN, TABLE, TERMS};
use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, DataSize, Dataset, Progress, Sending, Series, SeriesLoad, Site,
    dialect, read_acknowledged,
};
use crate::dataset::{
    ExpectedRows, Found, Kind, Marks, NotReady, Preparation, State, StateError, Table, TableError, Terms,
    checks, column, disk, state_of_recipes, together,
};

/// Workloads, and the data that is wanted.
#[derive(Debug)]
pub(super) struct YcsbBenchmark {
    pub mixes: Vec<Mix>,
    pub options: YcsbOptions,
}

impl YcsbBenchmark {
    /// Records that suit a machine: a quarter of a million for each processor, half to two million, or where a rough
    /// answer is enough a fifth of that.
    fn suggested(&self, site: &Site<'_>) -> u64 {
        let wanted = (u64::from(site.cpus) * 250_000).clamp(500_000, 2_000_000);
        let wanted = if site.quick { wanted / 5 } else { wanted };
        let one = YcsbOptions { records: None, ..self.options }.recipe(Recipe::of(1)).bytes();
        disk::limited(wanted, one, site.memory_bytes, site.free_disk_bytes)
    }
}

impl Benchmark for YcsbBenchmark {
    fn name(&self) -> &'static str {
        NAME
    }

    fn series(&self) -> Vec<Series> {
        self.mixes.iter().map(|mix| mix.series()).collect()
    }

    fn detail(&self, workload: &str) -> Option<String> {
        let own = self.mixes.iter().find(|mix| mix.workload == workload && workload == OWN)?;
        Some(self.options.detail(*own))
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        let bytes = self.options.recipe(Recipe::of(0)).bytes();
        let said = DataSize { bytes, protocol: "PostgreSQL", product: Some("PostgreSQL 15") };
        self.options.records.map(|_| said).into_iter().collect()
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let Some(recipe) = state(connection).map_err(StateError::of(&TERMS))?.found(self.options)? else {
            return Ok(None);
        };
        let next = recipe.next_record(connection).map_err(BenchmarkError::from)?;
        let inserts = Arc::new(Inserts::behind(next));
        let load = move |mix: Mix| Load::new(mix, recipe, Arc::clone(&inserts));
        let tables = vec![TABLE.to_owned()];
        let expected = vec![ExpectedRows::AtLeast(recipe.records)];
        let recipe = Some(recipe.text());
        Ok(Some(Dataset { recipe, counts: true, expected, ..Dataset::new(tables, &self.mixes, load) }))
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
        let recipe = self.options.recipe(Recipe::of(self.suggested(site)));
        let dialect = dialect(connection)?;
        let (tables, comment) = (vec![described(recipe)], Recipe::MARKS.whole(&recipe.text()));
        let preparation = Preparation::new::<Recipe>(site, &dialect, tables, comment);
        Ok(preparation.run(connection, site.open, |_| recipe, progress)?)
    }
}

impl SeriesLoad for Load {
    fn series(&self) -> Series {
        self.mix.series()
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(Arc::new(self.clone()))
    }

    fn undivided(&self) -> Option<&'static str> {
        self.series().writes.then_some(
            "a workload of ycsb that writes runs on one generator: it numbers the records that it inserts, asks for the latest of \
             all, and knows the order of all updates",
        )
    }

    fn reset(
        &self,
        connection: &mut Connection,
        _: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        self.inserts.go_on_behind(self.recipe.next_record(connection)?);
        Ok(())
    }

    fn acknowledged(&self) -> Value {
        serde_json::to_value((self.inserts.counts(), self.updates.last())).unwrap_or_default()
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let (load, before) = (self.clone(), count(connection)?);
        Ok(Some(Baseline::new(move |connection, target, _, acknowledged| {
            let mut verdicts = Vec::new();
            for (inserts, updates) in read_acknowledged::<(InsertCounts, LastUpdates)>(acknowledged) {
                let found = Census::read(connection, load.recipe, inserts.next)?;
                verdicts.extend(found.judge(inserts, before));
                if load.mix.updates() {
                    verdicts.push(updates_there(connection, load.recipe, &updates)?);
                }
            }
            Ok::<_, TableError>(checks(target, load.mix.workload, verdicts))
        })))
    }
}

impl Found for Recipe {
    type Wanted = YcsbOptions;

    const TERMS: &'static Terms = &TERMS;
    const MARKS: Marks = Marks { beginning: "dyno ycsb/", format: 1 };

    fn suits(&self, wanted: YcsbOptions) -> Result<(), NotReady> {
        let json = |recipe: Recipe| serde_json::to_value(recipe).unwrap_or_default();
        let (found, wanted) = (json(*self), json(wanted.recipe(*self)));
        let mut options = found.as_object().into_iter().flatten();
        match options.find(|(option, value)| wanted[option] != **value) {
            Some((option, value)) => {
                let text = |value: &Value| format!("{option} {value}").replace('"', "");
                let (found, wanted) = (text(value), text(&wanted[option]));
                let flag = format!("--{found}");
                Err(NotReady::Other { terms: &TERMS, found, wanted, flag })
            }
            None => Ok(()),
        }
    }
}

/// Looks at what the table's name stands for.
fn state(connection: &mut Connection) -> Result<State<Recipe>, QueryError> {
    state_of_recipes::<Recipe>(&Recipe::MARKS, connection, &[TABLE], |connection, recipes| {
        let recipe = match together(&[TABLE], recipes, |_| true) {
            Ok(recipe) => recipe,
            Err(why) => return Ok(State::damaged(why)),
        };
        Ok(match recipe.missing(connection, 0, recipe.records)? {
            [0, _] => State::Ready(*recipe),
            [missing, probes] => State::damaged(format!("of {probes} records {missing} are missing")),
        })
    })
}

fn described(recipe: Recipe) -> Table {
    let fields = recipe.field_names().map(|field| column(field, Kind::Text, ""));
    let columns = [column(KEY, Kind::Varchar(255), " NOT NULL")].into_iter().chain(fields).collect();
    Table { rows: recipe.records, ..Table::new(TABLE, columns) }
}
