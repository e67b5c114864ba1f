//! A folder as a benchmark: what stands of its tables on a server, and how they are made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dyno_results::format::grouped;
use dyno_results::sql_text::Syntax;
use dyno_target::Capabilities;
use dyno_target::catalog::{self, Names};
use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::{AutoIncrement, Dialect, ForeignKeys};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::adopt::ends_differ;
use super::load::{FolderLoad, Work, nothing_to_draw, series};
use super::options::{FIT_SAMPLES, Values};
use super::rows::{Failed, FolderRows};
use super::tables::{TableIndex, context};
use super::transactions::last_of;
use super::{Folder, Mistake};
use crate::benchmark::{
    Benchmark, BenchmarkError, DataSize, Dataset, Progress, Sending, Series, SeriesLoad as _, Site, dialect,
};
use crate::dataset::rows::{Form, RowRange};
use crate::dataset::{
    self, NotReady, PROBES, Part, Preparation, PrepareError, SizeError, State, StateError, count_rows, disk,
    numbers, rows_missing, state_of_recipes, together,
};
use crate::limits;
use crate::script::Numbers;
use crate::scripts::{self, SqlScript};

/// What is said of how the tables are kept, beside the options.
pub(super) const VARIANT: &str = "variant";
/// Bytes that a server needs for a row beside its values, with its key.
const ROW_OVERHEAD_BYTES: u64 = 48;
/// Rows from which it is reckoned how long they are.
const SAMPLE_ROWS: u64 = 64;
/// What suits a processor, and how much that is at least and at most: to prepare it takes seconds rather than minutes.
const BYTES_PER_CPU: u64 = 40 << 20;
const BYTES: [u64; 2] = [80 << 20, 640 << 20];
const SORT_MEGABYTES: u64 = 128;

/// Workloads of a folder, and the data that is wanted.
#[derive(Debug)]
pub(super) struct FolderBenchmark {
    folder: &'static Folder,
    /// Places of mixes.
    workloads: Vec<usize>,
    said: Map<String, Value>,
    protocol: &'static str,
    /// That of the target, as files are called for it.
    dialect: &'static str,
    /// How its own client reads quotes and comments.
    syntax: Syntax,
    /// How a session is told how many parallel workers a query may use.
    workers: Option<&'static str>,
}

/// With what tables were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recipe {
    /// Of what is said of the tables.
    pub tables: String,
    /// The options that decide over their rows.
    pub options: Map<String, Value>,
    /// A load has changed them since, of a folder whose tables are made anew then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub written: bool,
}

impl FolderBenchmark {
    pub(super) fn new(
        folder: &'static Folder,
        workloads: Vec<usize>,
        mut said: Map<String, Value>,
        target: &Capabilities,
    ) -> Result<Self, BenchmarkError> {
        let folder = match said.remove(VARIANT) {
            Some(variant) => folder.kept_as(variant.as_str().unwrap_or_default())?,
            None => folder,
        };
        let protocol = target.protocol.to_ascii_lowercase();
        let dialect = super::DIALECTS.into_iter().find(|name| *name == protocol).unwrap_or_default();
        let Capabilities { syntax, parallel_workers: workers, .. } = *target;
        let this = Self { folder, workloads, said, protocol: target.protocol, dialect, syntax, workers };
        let (_, values) = this.fit_sample()?;
        folder.contentions(&values).map_err(wrong)?;
        for place in &this.workloads {
            folder.figure(*place, &values, 1).map_err(wrong)?;
        }
        this.indexes(&values)?;
        this.works(&values, workers)?;
        Ok(this)
    }

    /// Refuses a target that has no such isolation level as a transaction asks for.
    fn check_isolation(&self, sql: &Dialect) -> Result<(), BenchmarkError> {
        let parts = self.workloads.iter().flat_map(|place| &self.folder.mixes[*place].parts);
        for transaction in parts.map(|(part, _)| &self.folder.transactions[*part]) {
            if let Some(level) =
                transaction.isolation.filter(|level| sql.begin_isolated(true, level).is_none())
            {
                let asked = format!(
                    "{}/{} asks for the isolation level `{level}`",
                    self.folder.name, transaction.name
                );
                return Err(wrong(format!("{asked}, and this target does not have it")));
            }
        }
        Ok(())
    }

    fn values(&self, fit: i64) -> Result<Values, BenchmarkError> {
        self.folder.options.values(&self.folder.names, &self.said, fit).map_err(wrong)
    }

    /// A value of what suits the machine by which sizes are reckoned, the largest of which no table has too many rows, and the options
    /// with it.
    fn fit_sample(&self) -> Result<(u64, Values), BenchmarkError> {
        let of = |sample: i64| -> Result<(u64, Values), BenchmarkError> {
            let values = self.values(sample)?;
            self.rows(&values)?;
            Ok((sample.unsigned_abs(), values))
        };
        FIT_SAMPLES.into_iter().find_map(|sample| of(sample).ok()).map_or_else(|| of(FIT_SAMPLES[0]), Ok)
    }

    /// The numbers of the rows, see [`numbers_of`].
    fn rows(&self, values: &Values) -> Result<Vec<u64>, BenchmarkError> {
        numbers_of(self.folder, values).map_err(wrong)
    }

    /// By table, the indexes that are made with these options.
    fn indexes(&self, values: &Values) -> Result<Vec<Vec<&'static TableIndex>>, BenchmarkError> {
        let folder = self.folder;
        let mut context = context(&folder.names, folder.seed, &folder.options, values);
        folder.tables.iter().map(|table| table.indexes(&mut context).map_err(wrong)).collect()
    }

    /// Of each workload of the folder, what one client does of it, with such options.
    fn works(&self, values: &Values, told: Option<&'static str>) -> Result<Vec<Work>, BenchmarkError> {
        let folder = self.folder;
        let defines = defines(folder, values);
        let mut context = context(&folder.names, folder.seed, &folder.options, values);
        let work = |mix: &super::Mix| -> Result<Work, String> {
            let pass = mix.pass.as_ref();
            let pass = pass.map(|pass| pass.load(&defines, &mut context, self.syntax, told)).transpose()?;
            let times = match mix.parts.as_slice() {
                [(part, _)] => folder.transactions[*part].times(&mut context)?,
                _ => None,
            };
            let parts = mix.parts.iter().map(|(part, _)| folder.transactions[*part].pauses(&mut context));
            let pauses = parts.collect::<Result<_, _>>()?;
            Ok(Work { pass, times, terminals: mix.terminals(&folder.transactions, &mut context)?, pauses })
        };
        folder.mixes.iter().map(work).collect::<Result<_, _>>().map_err(wrong)
    }

    /// Bytes of all tables.
    fn bytes(&self, values: &Values) -> Result<u64, BenchmarkError> {
        let rows = self.rows(values)?;
        let each = self.folder.tables.iter().zip(rows).map(|(table, rows)| {
            let sample = SAMPLE_ROWS.min(rows);
            let mut text = Vec::with_capacity(table.row_bytes_max * (sample as usize + 1));
            let rows_of = self.folder.rows_of(table, values, &Failed::default());
            // The last have the longest numbers.
            let first = rows - sample + 1;
            let mut range = RowRange { rows: rows_of, next: first, last: rows };
            let written = range.fill(Form::Lines, &mut text);
            rows * ((text.len() as u64 + written * ROW_OVERHEAD_BYTES) / (range.next - first).max(1))
        });
        Ok(each.sum())
    }

    /// The values of the options at a site.
    fn suited(&self, site: &Site<'_>) -> Result<Values, BenchmarkError> {
        if !self.folder.options.fits(&self.said) {
            return self.values(0);
        }
        let (wanted, unit) = self.wanted(site.cpus, site.quick)?;
        let fit = disk::limited(wanted, unit, site.memory_bytes, site.free_disk_bytes);
        self.values(fit.cast_signed())
    }

    /// How much suits so many processors, and bytes of one of it.
    fn wanted(&self, cpus: u32, quick: bool) -> Result<(u64, u64), BenchmarkError> {
        let (sample, values) = self.fit_sample()?;
        let unit = (self.bytes(&values)? / sample).max(1);
        let bytes = (u64::from(cpus) * BYTES_PER_CPU).clamp(BYTES[0], BYTES[1]);
        let bytes = if quick { bytes / 5 } else { bytes };
        let suits = self.folder.options.suits(&self.folder.names, cpus, quick).map_err(wrong)?;
        Ok((suits.unwrap_or(bytes / unit), unit))
    }

    /// The values of the options on a machine of so many processors, where nobody says any.
    pub(super) fn usual_values(folder: &'static Folder, cpus: u32) -> Result<Values, BenchmarkError> {
        let this = Self {
            folder,
            workloads: Vec::new(),
            said: Map::new(),
            protocol: "",
            dialect: "",
            syntax: Syntax::ANY,
            workers: None,
        };
        let fit = if folder.options.fits(&this.said) { this.wanted(cpus, false)?.0 } else { 0 };
        this.values(fit.cast_signed())
    }

    fn recipe(&self, values: &Values) -> Recipe {
        let folder = self.folder;
        let all: Vec<_> = folder.options.iter().zip(values).collect();
        let reads = folder.options.behind(folder.tables.iter().flat_map(super::Table::reads));
        let options = reads
            .into_iter()
            .map(|place| (all[place].0.long.to_owned(), all[place].0.as_json(*all[place].1)));
        Recipe { tables: folder.tables_hash.clone(), options: options.collect(), written: false }
    }

    fn look(&self, connection: &mut Connection) -> Result<State<Recipe>, QueryError> {
        let folder = self.folder;
        let names = folder.table_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() {
            let (tables, options) = (folder.tables_hash.clone(), Map::new());
            return Ok(State::Ready(Recipe { tables, options, written: false }));
        }
        if folder.adopts() {
            return Ok(match folder.adopted(connection)? {
                State::Ready(recipe) => match self.rows_missing(connection, &recipe)? {
                    Some(why) => State::Damaged { why },
                    None => State::Ready(recipe),
                },
                state => state,
            });
        }
        // Nobody misses what is made anew.
        let other = |why: String| if folder.is_fresh { State::Unfinished } else { State::Damaged { why } };
        state_of_recipes::<Recipe>(&folder.marks, connection, &names, |connection, recipes| {
            let is_own = |recipe: &Recipe| recipe.tables == folder.tables_hash;
            let recipe = match together(&names, recipes, is_own) {
                Ok(recipe) => recipe,
                Err(why) => return Ok(other(why)),
            };
            if recipe.tables != folder.tables_hash {
                return Ok(other(
                    "they were made when the folder said something else of its tables".to_owned(),
                ));
            }
            if recipe.written {
                return Ok(State::Unfinished);
            }
            if let Some(why) = self.foreign_key_missing(connection, &names)? {
                return Ok(State::Damaged { why });
            }
            Ok(match self.rows_missing(connection, recipe)? {
                Some(why) => State::Damaged { why },
                None => State::Ready(recipe.clone()),
            })
        })
    }

    /// The first foreign key that is not there any more, as far as the server says.
    fn foreign_key_missing(
        &self,
        connection: &mut Connection,
        names: &[&str],
    ) -> Result<Option<String>, QueryError> {
        let has_keys = self.folder.variant.as_ref().is_none_or(|variant| variant.keys);
        if !has_keys || connection.dialect().foreign_keys == ForeignKeys::Never {
            return Ok(None);
        }
        let Some(found) = catalog::foreign_keys(connection, Names::These(names))? else { return Ok(None) };
        let tables = &self.folder.tables;
        let all = tables.iter().flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
        let missing = all.filter(|(table, key)| {
            let is_there = |column: &String| {
                found.iter().any(|it| {
                    it.table == table.name && it.column == *column && it.refers_to == tables[key.table].name
                })
            };
            !key.columns.iter().all(is_there)
        });
        let told = missing
            .map(|(table, key)| format!("{} has no foreign key to {}", table.name, tables[key.table].name));
        Ok(told.take(1).next())
    }

    /// An index that is made only with some options, is asked for and is not there.
    fn index_missing(
        &self,
        connection: &mut Connection,
        values: &Values,
    ) -> Result<Option<NotReady>, BenchmarkError> {
        let wanted = self.indexes(values)?;
        let wanted = self.folder.tables.iter().zip(&wanted).flat_map(|(table, indexes)| {
            indexes.iter().filter(|index| index.when.is_some()).map(move |index| (table, &index.columns))
        });
        let wanted: Vec<_> = wanted.collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = wanted.iter().map(|(table, _)| table.name.as_str()).collect();
        let failed = |source| BenchmarkError::Query { doing: "look for the indexes", source };
        let Some(found) = catalog::indexes(connection, Names::These(&names)).map_err(failed)? else {
            return Ok(None);
        };
        let missing = wanted.iter().find(|(table, columns)| {
            !found.iter().any(|it| it.table == table.name && it.first_column == columns[0])
        });
        Ok(missing.map(|(table, columns)| NotReady::Lacking {
            why: format!(
                "{} has no index on {}; run again with --prepare to replace the tables, or without the option that asks for it",
                table.name,
                columns.join(", ")
            ),
        }))
    }

    /// What is wrong with the rows that must be there: a sample of each table.
    fn rows_missing(
        &self,
        connection: &mut Connection,
        recipe: &Recipe,
    ) -> Result<Option<String>, QueryError> {
        let folder = self.folder;
        let made = match self.made(recipe) {
            Ok((_, made)) => made,
            // Of those that carry no mark it is their rows that tell the options.
            Err(error) => return Ok(folder.adopts().then(|| error.to_string())),
        };
        let expected = folder.expected(&made);
        for ((table, rows), expected) in folder.tables.iter().zip(made).zip(expected) {
            let Some(first) = table.columns.first().filter(|_| table.is_numbered) else { continue };
            if expected.allows(0) && rows > 0 {
                continue;
            }
            if folder.adopts()
                && !expected.allows(rows + 1)
                && let Some(why) = ends_differ(connection, &table.name, &first.name, rows)?
            {
                return Ok(Some(why));
            }
            let probes = PROBES.min(rows);
            // The first and the last are always among them.
            let ids = (0..probes).map(|probe| 1 + probe * (rows - 1) / (probes - 1).max(1));
            if let Some(why) = rows_missing(connection, &table.name, &first.name, ids)? {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }

    /// All options as the data was made with them, and the numbers of the rows.
    fn made(&self, recipe: &Recipe) -> Result<(Values, Vec<u64>), BenchmarkError> {
        let said = self.said.clone().into_iter().chain(recipe.options.clone()).collect();
        let values = self.folder.options.values(&self.folder.names, &said, 1).map_err(wrong)?;
        let rows = self.rows(&values)?;
        Ok((values, rows))
    }

    /// The tables as they were made are those that are asked for.
    fn suits(&self, recipe: &Recipe) -> Result<(), NotReady> {
        let other = self.said.iter().find_map(|(option, wanted)| {
            let found = recipe.options.get(option).filter(|found| *found != wanted)?;
            Some((option, found, wanted))
        });
        let Some((option, found, wanted)) = other else { return Ok(()) };
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let number = |value: &Value| value.as_u64().map_or_else(|| plain(value), grouped);
        Err(NotReady::Other {
            terms: &self.folder.terms,
            found: format!("--{option} {}", number(found)),
            wanted: number(wanted),
            flag: format!("--{option} {}", plain(found)),
        })
    }

    /// Makes tables and their rows, or adds rows to them.
    fn make(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        (values, sizes): (&Values, Vec<(u64, u64)>),
        is_new: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let folder = self.folder;
        let dialect = dialect(connection)?;
        let indexes = self.indexes(values)?;
        let all: Vec<u64> = sizes.iter().map(|(rows, _)| *rows).collect();
        let each = folder.tables.iter().zip(&sizes).enumerate();
        let described =
            each.filter(|(_, (_, (rows, loaded)))| is_new || rows > loaded).map(|(place, (table, size))| {
                let known = (folder.tables.as_slice(), indexes[place].as_slice());
                (place, table.describe(&dialect, known, &all, *size))
            });
        let (places, mut tables): (Vec<usize>, Vec<_>) = described.unzip();
        let mut options = context(&folder.names, folder.seed, &folder.options, values);
        for (place, made) in places.iter().zip(&mut tables) {
            let table = &folder.tables[*place];
            table.narrow(made, &mut options).map_err(wrong)?;
            if let Some(variant) = &folder.variant {
                variant.keep(made, table.varies, &dialect);
            }
            made.rows_each = folder.rows_each(table, values, all[*place]);
            made.part_rows = (made.part_rows / made.rows_each).max(1);
        }
        let recipe = serde_json::to_string(&self.recipe(values)).unwrap_or_default();
        let whole =
            if folder.is_built_in() && folder.adopts() { String::new() } else { folder.marks.whole(&recipe) };
        let comments = [folder.marks.unfinished(), whole];
        let variant = folder.variant.as_ref();
        let preparation = Preparation {
            sort_megabytes: Some(SORT_MEGABYTES),
            // So that a vacuum has to do what it has in a table that was not copied into by its maker.
            frozen: variant.is_none(),
            settings: variant.map(|variant| variant.settings.clone()).unwrap_or_default(),
            refusable: variant.is_some(),
            ..Preparation::of(site, &dialect, tables, &folder.terms, comments)
        };
        let failed = Failed::default();
        let rows = |part: &Part| FolderRows {
            pads_char: dialect.pads_char,
            ..folder.rows_of(&folder.tables[places[part.table]], values, &failed)
        };
        let made = match is_new {
            true => preparation.run(connection, site.open, rows, progress),
            false => preparation.append(connection, site.open, rows, progress),
        };
        match failed.get() {
            Some((_, why)) => Err(wrong(format!("{why}; the tables are not complete"))),
            None => Ok(made.map_err(|error| {
                let counts = if is_new { folder.counts(values, &all).unwrap_or_default() } else { all };
                match self.unresolved(connection, (&preparation.tables, &counts), &error) {
                    Some(mistake) => wrong(format!("{}/{mistake}; the tables are not complete", folder.name)),
                    None => error.into(),
                }
            })?),
        }
    }

    /// A mistake in the file, which its rows show.
    fn mistake(&self, mistake: &Mistake) -> BenchmarkError {
        wrong(format!("{}/{mistake}", self.folder.name))
    }

    /// The mistake of a file whose rows are all there and lead to no row of another table, where that is the error.
    fn unresolved(
        &self,
        connection: &mut Connection,
        (tables, counts): (&[dataset::Table], &[u64]),
        error: &PrepareError,
    ) -> Option<Mistake> {
        let is_indexes = error.refusal().is_some_and(|(step, _)| step == "indexes");
        if !is_indexes && !matches!(error, PrepareError::Unresolved { .. }) {
            return None;
        }
        let mut count = |sql: &str| numbers::<u64, 1>(connection, sql).ok().map(|[number]| number);
        let all = |table: &dataset::Table| format!("SELECT COUNT(*) FROM {}", table.name);
        let made = |table: &dataset::Table| {
            counts.get(self.folder.tables.iter().position(|own| own.name == table.name)?).copied()
        };
        for table in tables {
            for (key, own) in table.foreign_keys.iter().zip(&self.folder.table(&table.name)?.foreign_keys) {
                let broken = count(&key.unresolved(&table.name))?;
                let parent = tables.iter().find(|parent| parent.name == key.table)?;
                if broken > 0 && count(&all(table))? == made(table)? && count(&all(parent))? == made(parent)?
                {
                    let broken =
                        if broken == 1 { "a row".to_owned() } else { format!("{} rows", grouped(broken)) };
                    let of_columns = format!("{broken} whose {} no row of {} has", key.columns, parent.name);
                    let what = format!("{} has {of_columns}", table.name);
                    return Some(self.folder.mistake(self.folder.table(&table.name)?, &own.columns[0], what));
                }
            }
        }
        None
    }
}

/// How many rows each table has; of children, how many their parent has.
pub(super) fn numbers_of(folder: &Folder, values: &Values) -> Result<Vec<u64>, String> {
    let mut context = context(&folder.names, folder.seed, &folder.options, values);
    let mut numbers = Vec::new();
    for table in &folder.tables {
        numbers.push(table.numbers(&numbers, &mut context)?);
    }
    Ok(numbers)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn wrong(why: String) -> BenchmarkError {
    BenchmarkError::Wrong(why.into())
}

impl Benchmark for FolderBenchmark {
    fn name(&self) -> &'static str {
        self.folder.name
    }

    fn series(&self) -> Vec<Series> {
        let Ok((_, values)) = self.fit_sample() else { return Vec::new() };
        let defines = defines(self.folder, &values);
        let works = self.works(&values, self.workers).unwrap_or_default();
        let of =
            |place: &usize| series(self.folder, *place, self.dialect, &defines, works.get(*place)?).into();
        self.workloads.iter().filter_map(of).collect()
    }

    fn variant(&self) -> Option<&str> {
        self.folder.variant.as_ref().map(|variant| variant.name.as_str())
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        if self.folder.options.fits(&self.said) {
            return Vec::new();
        }
        let bytes = self.values(0).and_then(|values| self.bytes(&values)).ok();
        bytes.map(|bytes| DataSize { bytes, protocol: self.protocol, product: None }).into_iter().collect()
    }

    fn check(&self, series: usize, sending: &Sending) -> Result<(), BenchmarkError> {
        let values = self.fit_sample()?.1;
        let load = FolderLoad {
            folder: self.folder,
            place: self.workloads[series],
            beside: Arc::from([]),
            dialect: self.dialect,
            sql: sending.dialect,
            defines: defines(self.folder, &values),
            contention: None,
            values,
            numbers: Numbers::default(),
            work: Work::default(),
            written: None,
            made: Mutex::default(),
        };
        if sending.dialect.is_some_and(|dialect| dialect.auto_increment == AutoIncrement::Never) {
            let wants = |part: &scripts::Part| wants_number(&part.script, &self.folder.tables);
            if let Some(why) = load.parts()?.iter().find_map(wants) {
                return Err(wrong(why));
            }
        }
        load.workload(sending).map(drop)
    }

    fn find(&self, connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        let folder = self.folder;
        let sql = connection.dialect();
        self.check_isolation(&sql)?;
        let found = self.look(connection).map_err(StateError::of(&folder.terms))?.whole(&folder.terms)?;
        let Some(recipe) = found else { return Ok(None) };
        self.suits(&recipe)?;
        let (values, made) = self.made(&recipe)?;
        if let Some(missing) = self.index_missing(connection, &values)? {
            return Err(missing.into());
        }
        let numbers = Numbers::default();
        folder.look_for_numbers(connection, &numbers)?;
        let tables = folder.table_names();
        let counts = folder.counts(&values, &made).map_err(|mistake| self.mistake(&mistake))?;
        let expected = folder.expected(&counts);
        let contentions = folder.contentions(&values).map_err(wrong)?;
        // Relatives of a product may not know the setting; then each query is run as it is.
        let told = self.workers.filter(|sql| connection.execute(&sql.replace("{workers}", "0")).is_ok());
        let works = self.works(&values, told)?;
        let written = serde_json::to_string(&Recipe { written: true, ..recipe.clone() }).unwrap_or_default();
        let written = folder.is_fresh.then(|| folder.marks.whole(&written));
        let (dialect, defines) = (self.dialect, defines(folder, &values));
        // Later ones draw from what the first may have added.
        let first = self.workloads.first();
        if let Some(lacking) =
            first.and_then(|place| nothing_to_draw(folder, *place, dialect, &defines, &numbers))
        {
            return Err(lacking.into());
        }
        let beside: Arc<[usize]> = Arc::from(self.workloads.as_slice());
        let scale = folder.options.scale(&values);
        let load = move |place: usize| FolderLoad {
            folder,
            place,
            beside: Arc::clone(&beside),
            dialect,
            defines: defines.clone(),
            contention: contentions[place],
            values: values.clone(),
            sql: Some(sql),
            numbers: numbers.clone(),
            work: works[place].clone(),
            written: written.clone(),
            made: Mutex::default(),
        };
        // Who made tables without marks may have made them of other values.
        let text = (!folder.adopts() && folder.variant.is_none())
            .then(|| serde_json::to_string(&recipe).unwrap_or_default());
        Ok(Some(Dataset {
            scale,
            recipe: text,
            counts: true,
            expected,
            ..Dataset::new(tables, &self.workloads, load)
        }))
    }

    fn missing(&self) -> BenchmarkError {
        NotReady::Missing { terms: &self.folder.terms, or_else: String::new() }.into()
    }

    fn prepare(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        self.check_isolation(&connection.dialect())?;
        let folder = self.folder;
        self.look(connection).map_err(StateError::of(&folder.terms))?.ours(&folder.terms)?;
        folder.all_are_marked(connection)?;
        let values = self.suited(site)?;
        let names = folder.table_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let free =
            site.free_disk_bytes_without(connection, Names::These(&names)).unwrap_or(site.free_disk_bytes);
        disk::check(format!("the data of {}", folder.name), self.bytes(&values)?, free, |_| None)
            .map_err(SizeError::from)?;
        let rows = self.rows(&values)?;
        folder.check_rows(&values, &rows).map_err(|mistake| self.mistake(&mistake))?;
        folder.counts(&values, &rows).map_err(|mistake| self.mistake(&mistake))?;
        let sizes = rows.into_iter().map(|rows| (rows, 0)).collect();
        self.make(connection, site, (&values, sizes), true, progress)
    }

    fn top_up(
        &self,
        connection: &mut Connection,
        site: &Site<'_>,
        rows: &[u64],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        let folder = self.folder;
        let found = self.look(connection).map_err(StateError::of(&folder.terms))?.whole(&folder.terms)?;
        let Some(recipe) = found else { return Err(self.missing()) };
        let (values, _) = self.made(&recipe)?;
        limits::lift(connection);
        let there = count_rows(connection, &folder.table_names())?;
        let mut sizes = Vec::new();
        for ((table, wanted), there) in folder.tables.iter().zip(rows).zip(there) {
            let missing = wanted.saturating_sub(there);
            let first = table.columns.first().filter(|_| table.is_numbered);
            let last = match first.filter(|_| missing > 0) {
                Some(first) => {
                    let sql = format!("SELECT COALESCE(MAX({}), 0) FROM {}", first.name, table.name);
                    let failed = |source| BenchmarkError::Query { doing: "look for the last row", source };
                    let [last] = numbers::<u64, 1>(connection, &sql).map_err(failed)?;
                    last
                }
                None if missing > 0 => return Err(BenchmarkError::NoTopUp { family: folder.name }),
                None => there,
            };
            sizes.push((last + missing, last));
        }
        self.make(connection, site, (&values, sizes), false, progress)
    }
}

/// Why a script needs a server that numbers the rows of a table, where it does.
fn wants_number(script: &SqlScript, tables: &[super::Table]) -> Option<String> {
    script.sent().iter().find_map(|sql| {
        let (name, columns) = inserted(sql)?;
        let table = tables.iter().find(|table| table.name == name)?;
        let first = table.columns.first().filter(|first| first.is_identity())?;
        (!columns.contains(&first.name)).then(|| {
            format!(
                "{}: nothing on this target numbers the rows of {name}: give each its {} in the INSERT",
                script.name(),
                first.name
            )
        })
    })
}

/// The table of an INSERT that names its columns, and these.
fn inserted(sql: &str) -> Option<(String, Vec<String>)> {
    let (head, rest) = sql.split_once('(')?;
    let words: Vec<String> = head.split_whitespace().map(str::to_ascii_lowercase).collect();
    let [insert, into, name] = words.as_slice() else { return None };
    let (columns, _) = rest.split_once(')')?;
    let columns = columns.split(',').map(|column| column.trim().to_ascii_lowercase()).collect();
    (insert == "insert" && into == "into").then(|| (name.clone(), columns))
}

/// The options as variables of scripts.
pub(super) fn defines(folder: &Folder, values: &Values) -> BTreeMap<String, String> {
    let define = |(option, value): (&super::options::FolderOption, &crate::script::Value)| {
        (option.name.to_owned(), option.shown(*value))
    };
    // Which keys are there is known where a load begins.
    let last = folder.tables.iter().map(|table| (last_of(&table.name), "1".to_owned()));
    folder.options.iter().zip(values).map(define).chain(last).collect()
}
