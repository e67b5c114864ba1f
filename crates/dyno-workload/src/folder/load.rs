//! The load of a transaction or a mix: scripts of pgbench's language with the options as variables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dyno_engine::workload::Workload;
use dyno_results::event::{Figure, OwnCount, ResponseLimit};
use dyno_results::format::grouped;
use dyno_target::cause::Cause;
use dyno_target::connection::Connection;
use dyno_target::product::Dialect;
use serde_json::Value;

use super::checks::FolderCheck;
use super::file::BeforeLoad;
use super::options::Values;
use super::passes::PassLoad;
use super::settings::WithSettings;
use super::transactions::last_of;
use super::variant::Variant;
use super::verify::{Before, Counted};
use super::{Folder, Table};
use crate::benchmark::{
    Baseline, BenchmarkError, Contention, LOCK_WAIT, NamedQuery, Sending, Series, SeriesLoad,
    read_acknowledged,
};
use crate::dataset::{NotReady, TableError, numbers};
use crate::limits;
use crate::pgbench::load::PgbenchLoad;
use crate::pgbench::mix::Pauses;
use crate::script::Numbers;
use crate::scripts::{Part, load_of};

/// A transaction or a mix on data that is there.
pub(super) struct FolderLoad {
    pub folder: &'static Folder,
    /// Its place among the mixes.
    pub place: usize,
    /// The places of all that the same run has.
    pub beside: Arc<[usize]>,
    pub dialect: &'static str,
    /// The same, as SQL, where it is known.
    pub sql: Option<Dialect>,
    /// The variables that scripts begin with.
    pub defines: BTreeMap<String, String>,
    /// From how many clients on they wait for each other's rows.
    pub contention: Option<Contention>,
    /// The values of the options.
    pub values: Values,
    /// The largest keys, by table, of all loads on the data.
    pub numbers: Numbers,
    pub work: Work,
    /// The marks of tables that a load has written to, where that is noted.
    pub written: Option<String>,
    /// What was made of it: an engine that is started again has its own.
    pub made: Mutex<Vec<PgbenchLoad>>,
}

/// What follows from the options of how it is run.
#[derive(Clone, Default)]
pub(super) struct Work {
    pub pass: Option<PassLoad>,
    /// How often it runs its transaction.
    pub times: Option<u64>,
    /// How many clients run it where nobody says how many.
    pub terminals: Option<u32>,
    /// Of each part.
    pub pauses: Vec<Pauses>,
}

impl FolderLoad {
    /// Asks the server for what it may refuse of a variant before a thousand clients do.
    fn attempt(&self, connection: &mut Connection) -> Result<(), BenchmarkError> {
        if self.folder.variant.is_none() {
            return Ok(());
        }
        let parts = self.folder.mixes[self.place].parts.iter();
        let trials = parts.filter_map(|(part, _)| self.folder.transactions[*part].trial.as_ref());
        for sql in self.folder.settings().iter().chain(trials) {
            match connection.query(sql) {
                Ok(_) => {}
                Err(error) if error.is_refusal() => {
                    return Err(BenchmarkError::Refused { said: error.to_string() });
                }
                Err(source) => {
                    return Err(BenchmarkError::Query { doing: "try what the variant can do", source });
                }
            }
        }
        Ok(())
    }

    pub(super) fn parts(&self) -> Result<Vec<Part>, BenchmarkError> {
        let mut defines = self.defines.clone();
        for table in &self.folder.tables {
            defines.insert(last_of(&table.name), self.numbers.last(&table.name).to_string());
        }
        parts(self.folder, self.place, (self.dialect, self.sql.as_ref()), &defines, &self.work.pauses)
    }
}

/// The scripts of a mix.
fn parts(
    folder: &Folder,
    place: usize,
    dialect: (&str, Option<&Dialect>),
    defines: &BTreeMap<String, String>,
    pauses: &[Pauses],
) -> Result<Vec<Part>, BenchmarkError> {
    let part = |(place, (part, weight)): (usize, &(usize, u32))| {
        let transaction = &folder.transactions[*part];
        let script = transaction.of_dialect(dialect, &folder.files, defines);
        let script = script.map_err(|error| BenchmarkError::Wrong(Box::new(error)))?;
        Ok(Part {
            script: script.called(transaction.name),
            weight: *weight,
            effects: transaction.effects.clone().unwrap_or_default(),
            counts: transaction.counts.iter().map(|(_, value)| value.clone()).collect(),
            returns: transaction.returns,
            pauses: pauses.get(place).copied().unwrap_or_default(),
        })
    };
    folder.mixes[place].parts.iter().enumerate().map(part).collect()
}

/// Why a load cannot begin: it draws from a table that has no row.
pub(super) fn nothing_to_draw(
    folder: &Folder,
    place: usize,
    dialect: &str,
    defines: &BTreeMap<String, String>,
    numbers: &Numbers,
) -> Option<NotReady> {
    let parts = parts(folder, place, (dialect, None), defines, &[]).unwrap_or_default();
    let draws = |table: &&Table| {
        let last = last_of(&table.name);
        numbers.last(&table.name) == 0 && parts.iter().any(|part| !part.script.unused().contains(&last))
    };
    let table = &folder.tables.iter().find(draws)?.name;
    let workload = folder.workloads[place];
    let why = format!(
        "{workload} draws from {table}, which has no row; run with --prepare and more rows, or first a workload that adds some"
    );
    Some(NotReady::Lacking { why })
}

/// What is known of it without its data.
pub(super) fn series(
    folder: &'static Folder,
    place: usize,
    dialect: &str,
    defines: &BTreeMap<String, String>,
    work: &Work,
) -> Series {
    let pass = work.pass.as_ref().map(|pass| pass.queries);
    let parts = parts(folder, place, (dialect, None), defines, &[]).unwrap_or_default();
    let writes = parts.iter().any(|part| part.script.writes());
    Series {
        name: folder.mixes[place].series,
        workload: folder.workloads[place],
        writes,
        pass,
        fixed: pass.or(work.times),
        pauses: work.pauses.iter().map(|Pauses { keying, think }| *keying + *think).max().unwrap_or_default(),
    }
}

impl Folder {
    /// With what each session begins.
    fn settings(&self) -> &[String] {
        self.variant.as_ref().map_or(&[], |variant| &variant.settings)
    }

    /// Looks for the largest keys by which scripts number or draw rows.
    pub(super) fn look_for_numbers(
        &self,
        connection: &mut Connection,
        found: &Numbers,
    ) -> Result<(), BenchmarkError> {
        for (place, table) in self.tables.iter().enumerate() {
            let is_asked = self.transactions.iter().any(|it| it.numbered.contains(&place));
            if let Some(key) = table.number().filter(|_| is_asked) {
                let sql = format!("SELECT COALESCE(MAX({}), 0) FROM {}", key.name, table.name);
                let failed = |source| BenchmarkError::Query { doing: "look for the largest key", source };
                let [largest] = numbers(connection, &sql).map_err(failed)?;
                found.set(&table.name, largest);
            }
        }
        Ok(())
    }
}

impl SeriesLoad for FolderLoad {
    fn series(&self) -> Series {
        series(self.folder, self.place, self.dialect, &self.defines, &self.work)
    }

    fn workload(&self, sending: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        let load: Arc<dyn Workload> = match &self.work.pass {
            Some(pass) => pass.load.workload(),
            None => {
                let parts = self.parts()?;
                let load = load_of(&parts, self.folder.mixes[self.place].is_dealt, &self.numbers, sending)?;
                self.made.lock().unwrap_or_else(PoisonError::into_inner).push(load.clone());
                Arc::new(load)
            }
        };
        Ok(WithSettings::of(load, self.folder.settings()))
    }

    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        let pass = self.work.pass.as_ref().map(|pass| pass.load.of_first_client(seed)).unwrap_or_default();
        let told = |query: NamedQuery| NamedQuery {
            settings: [self.folder.settings(), &query.settings].concat(),
            table_prefix: self.folder.variant.as_ref().map(Variant::beginning),
            ..query
        };
        pass.into_iter().map(told).collect()
    }

    fn contention(&self) -> Option<Contention> {
        self.contention
    }

    fn terminals(&self) -> Option<u32> {
        self.work.terminals
    }

    fn figure(&self, clients: u32) -> Result<Option<Figure>, BenchmarkError> {
        let figure = self.folder.figure(self.place, &self.values, clients);
        figure.map_err(|why| BenchmarkError::Wrong(why.into()))
    }

    fn response_limits(&self) -> Vec<ResponseLimit> {
        let parts = self.folder.mixes[self.place].parts.iter();
        parts.flat_map(|(part, _)| self.folder.transactions[*part].response_limits.clone()).collect()
    }

    fn counts(&self) -> Vec<OwnCount> {
        let parts = self.folder.mixes[self.place].parts.iter();
        let counts = parts.flat_map(|(part, _)| &self.folder.transactions[*part].counts);
        counts.map(|(count, _)| count.clone()).collect()
    }

    fn reset(
        &self,
        connection: &mut Connection,
        mut tell: Option<&mut dyn FnMut(String)>,
    ) -> Result<(), BenchmarkError> {
        self.attempt(connection)?;
        if let Some(mark) = self.written.as_ref().filter(|_| self.series().writes) {
            for table in self.folder.table_names() {
                let sql = connection.dialect().comments.change(&table, mark);
                connection.execute(&sql).map_err(TableError::of(&table))?;
            }
        }
        let tables = self.folder.tables.iter().filter(|table| table.before_load.is_some());
        let tables: Vec<_> = tables.filter(|_| self.series().writes).collect();
        if !tables.is_empty() {
            // Emptying a table waits for whoever has it in use, which is for others to end.
            let [limit, lift] = connection.dialect().lock_wait(LOCK_WAIT);
            let limited = |source| BenchmarkError::Query { doing: "limit the wait for locks", source };
            connection.execute(&limit).map_err(limited)?;
            for table in tables {
                before_load(table, connection, &mut tell).map_err(locked)?;
            }
            connection.execute(&lift).map_err(limited)?;
        }
        self.folder.look_for_numbers(connection, &self.numbers)
    }

    /// A [`Counted`].
    fn acknowledged(&self) -> Value {
        let mut counted = Counted::default();
        for load in self.made.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            counted.add(&Counted { outcomes: load.outcomes(), rows: load.effects() });
        }
        serde_json::to_value(counted).unwrap_or_default()
    }

    fn baseline(&self, connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        let (folder, place) = (self.folder, self.place);
        if self.work.pass.is_some() {
            return Ok(None);
        }
        // A mistake in a query that is asked behind a later load is to show before the first.
        let is_asked =
            |check: &&FolderCheck| self.beside.iter().any(|place| check.is_for(&folder.mixes[*place]));
        limits::lift(connection);
        let mut asked = folder.checks.iter().filter(is_asked);
        if let Err(mistake) = asked.try_for_each(|check| check.look(connection, &self.defines)) {
            // Where a table of the folder cannot be read, the check is not what is wrong.
            for table in folder.table_names() {
                let sql = format!("SELECT COUNT(*) FROM {table} WHERE 1 = 0");
                connection.query(&sql).map_err(TableError::of(&table))?;
            }
            return Err(mistake.into());
        }
        let before = Before::take(folder, place, (&self.defines, self.work.times), connection)?;
        let told = before.contradictions(folder, place);
        let verify = move |connection: &mut Connection, target: &str, done, acknowledged: &[Value]| {
            let mut counted = Counted::default();
            read_acknowledged(acknowledged).for_each(|told| counted.add(&told));
            folder.verify(connection, target, (place, &before), (done, &counted))
        };
        Ok(Some(Baseline::new(verify).telling(told)))
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
