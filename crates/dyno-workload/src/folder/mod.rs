//! A workload as a folder: `workload.toml` says which tables there are with which rows, which transactions, and what must hold
//! afterwards; each transaction is a script in pgbench's language. What stands in it may come from anybody: it names no file outside
//! of the folder and runs no program.

mod adopt;
mod benchmark;
mod built_in;
mod checks;
mod children;
mod commands;
mod family;
mod file;
mod load;
mod made;
mod mistake;
mod options;
mod passes;
mod read;
mod rows;
mod sample;
mod settings;
mod shown;
mod tables;
mod transactions;
mod variant;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use dyno_results::fnv1a;
use toml::Spanned;

pub use built_in::{ExportError, export};
pub(crate) use family::{built_in, registered};
pub use family::{meant, register};
pub use file::WorkloadFile;
pub use made::{MakeError, make_rows};
pub use mistake::{Mistake, Mistakes};
pub use read::{Named, named, read};
pub use shown::check;
pub(crate) use variant::split;

use self::checks::FolderCheck;
use self::children::Counted;
use self::mistake::{Notes, in_words};
use self::options::Options;
use self::passes::Pass;
use self::tables::{ROW, Table};
use self::transactions::{Mix, Transaction};
use self::variant::Variant;
use crate::dataset::{Marks, Terms};
use crate::family::RunsOn;
use crate::script::{Names, Slot};

/// The file that makes a folder a workload.
pub const FILE: &str = "workload.toml";
/// What files for one dialect have in their names: `ingest.mysql.sql`.
const DIALECTS: [&str; 7] = ["postgresql", "mysql", "sqlite", "duckdb", "adbc", "clickhouse", "hive"];
/// With what the marks of tables of users' folders begin.
const OWN: &str = "dyno folder/";
/// Of the mark: what stands in it, and how rows are made of their expressions.
const FORMAT: u32 = 2;
const FILE_BYTES_MAX: usize = 256 * 1024;
const TABLES_MAX: usize = 100;
const COLUMNS_MAX: usize = 200;
const TRANSACTIONS_MAX: usize = 100;
const STATEMENTS_MAX: usize = 1000;
const ROWS_MAX: u64 = 100_000_000_000;

/// A folder that was read and has no mistake. It is kept for as long as the process runs.
#[derive(Debug)]
pub(crate) struct Folder {
    /// `events`, `./shop`
    name: &'static str,
    /// Protocols of targets.
    runs_on: RunsOn,
    /// By their names.
    files: BTreeMap<String, String>,
    names: Arc<Names>,
    row: Slot,
    seed: u64,
    options: Options,
    tables: Vec<Table>,
    transactions: Vec<Transaction>,
    /// Tables that a load has written to are made anew.
    is_fresh: bool,
    /// How the tables are kept, where a user says that.
    variant: Option<Variant>,
    /// Each transaction alone, the passes, and the mixes.
    mixes: Vec<Mix>,
    /// `./shop/join`, of each of these.
    workloads: Vec<&'static str>,
    checks: Vec<FolderCheck>,
    terms: Terms,
    marks: Marks,
    /// Of what decides over the rows, beside the options.
    tables_hash: String,
    counted: Counted,
}

impl Folder {
    /// `name` is what a user calls it.
    fn new(name: &str, files: &BTreeMap<String, String>) -> Result<Self, Mistakes> {
        // Not the folder's name: it may be renamed.
        let instead = "name another database, made for this, or give the table another name in workload.toml";
        Self::compile(name, files, (OWN, instead), None)
    }

    /// The same on tables of a variant's own.
    fn kept(&self, variant: Variant) -> Result<Self, Mistakes> {
        let marks = (self.marks.beginning, "name another database, or give the variant another name");
        Self::compile(self.name, &self.files, marks, Some(variant))
    }

    fn is_built_in(&self) -> bool {
        self.marks.beginning != OWN
    }

    /// One that comes with dyno.
    fn built_in(name: &str, files: &BTreeMap<String, String>) -> Result<Self, Mistakes> {
        let beginning = format!("dyno {name}/").leak();
        Self::compile(name, files, (beginning, "name another database, made for this"), None)
    }

    /// Its tables carry marks that have this `beginning`; who has others of these names is told what to do `instead`.
    fn compile(
        name: &str,
        files: &BTreeMap<String, String>,
        (beginning, instead): (&'static str, &'static str),
        variant: Option<Variant>,
    ) -> Result<Self, Mistakes> {
        let text = files.get(FILE).map_or("", String::as_str);
        let mut file = parse(text)?;
        let mut files = files.clone();
        if let Some(variant) = &variant {
            variant.rename(&mut file, &mut files);
        }
        let files = files;
        let mut notes = Notes { file: FILE, text, found: Vec::new() };
        let mut names = Names::new();
        let row = names.slot(ROW);
        names.slot("default_seed");
        let seed = u64::from(file.seed);
        let options = Options::compile(&file.options, &mut names, &mut notes);
        let mut tables: Vec<Table> = Vec::new();
        let mut faulty: Vec<&str> = Vec::new();
        for table in &file.tables {
            match Table::compile(table, (&tables, &faulty), (&options, seed), &mut names, &mut notes) {
                Some(table) => tables.push(table),
                None => faulty.push(table.name.get_ref()),
            }
        }
        let is_whole = faulty.is_empty();
        let mut transactions: Vec<Transaction> = Vec::new();
        for transaction in file.transactions.iter().filter(|_| is_whole) {
            let known = (&options, tables.as_slice());
            let compiled =
                Transaction::compile(transaction, &transactions, &files, known, &mut names, &mut notes);
            transactions.push(compiled);
        }
        let mut mixes: Vec<Mix> =
            transactions.iter().enumerate().map(|(place, it)| Mix::of(place, it)).collect();
        for pass in &file.passes {
            mixes.push(Pass::compile(pass, &mixes, &files, &options, &mut names, &mut notes));
        }
        for mix in file.mixes.iter().filter(|_| is_whole) {
            let known = (&options, &mut names);
            mixes.push(Mix::compile(mix, &mixes, &transactions, known, &mut notes));
        }
        check_usual(file.usual.iter().filter(|_| is_whole), &mixes, &mut notes);
        let mut checks: Vec<FolderCheck> = Vec::new();
        for check in file.checks.iter().filter(|_| is_whole) {
            checks.extend(FolderCheck::compile(check, &checks, (&options, &transactions), &mut notes));
        }
        let runs_on = runs_on(&file, &mut notes);
        check_adoption(&options, &tables, &file, &mut notes);
        limits(&file, &mut notes);
        if !notes.found.is_empty() {
            return Err(Mistakes(notes.found));
        }
        let name: &'static str = name.to_owned().leak();
        let workloads = mixes.iter().map(|mix| &*format!("{name}/{}", mix.name).leak()).collect();
        Ok(Self {
            name,
            runs_on,
            files,
            names: Arc::new(names),
            row,
            seed,
            options,
            tables,
            transactions,
            is_fresh: file.fresh,
            mixes,
            workloads,
            checks,
            terms: Terms {
                family: name,
                grants: "the rights to read and write them",
                instead,
                locked: Some("one of its tables"),
                exists: None,
                room: "make room or take fewer rows",
                rights: "connect as a user who may make, fill, alter and drop tables in this database, and refer to them",
            },
            marks: Marks { beginning, format: FORMAT },
            tables_hash: hash_of_tables(text, variant.as_ref()),
            variant,
            counted: Counted::default(),
        })
    }
}

/// What is written in `workload.toml`.
pub(super) fn parse(text: &str) -> Result<WorkloadFile, Mistakes> {
    toml::from_str(text).map_err(|error| {
        let mut notes = Notes { file: FILE, text, found: Vec::new() };
        notes.at(error.span().unwrap_or_default(), in_words(error.message()));
        Mistakes(notes.found)
    })
}

/// The names of those that the folder's name alone stands for.
fn usual_names(file: &WorkloadFile) -> Vec<&Spanned<String>> {
    if !file.usual.is_empty() {
        return file.usual.iter().collect();
    }
    let transactions = file.transactions.iter().filter(|_| file.mixes.is_empty()).map(|it| &it.name);
    let passes = file.passes.iter().map(|it| &it.name);
    transactions.chain(passes).chain(file.mixes.iter().map(|it| &it.name)).collect()
}

fn check_usual<'f>(usual: impl Iterator<Item = &'f Spanned<String>>, mixes: &[Mix], notes: &mut Notes<'_>) {
    let known = || mixes.iter().map(|mix| mix.name);
    for name in usual.filter(|name| !known().any(|known| known == name.get_ref())) {
        notes.unknown(name.span(), "transaction or mix", name.get_ref(), known());
    }
}

/// On which targets it runs: on all where it names none, and what a script requires is looked for there.
fn runs_on(file: &WorkloadFile, notes: &mut Notes<'_>) -> RunsOn {
    if file.runs_on.is_empty() {
        return RunsOn::Having(&[]);
    }
    let mut protocols = Vec::new();
    for name in &file.runs_on {
        match DIALECTS.into_iter().find(|dialect| dialect == name.get_ref()) {
            Some(dialect) => {
                let kind = dyno_target::kinds().find(|kind| kind.protocol.eq_ignore_ascii_case(dialect));
                protocols.push(kind.map_or(dialect, |kind| kind.protocol));
            }
            None => notes.unknown(name.span(), "kind of target", name.get_ref(), DIALECTS.into_iter()),
        }
    }
    RunsOn::Protocols(protocols.leak())
}

/// Looks whether the rows of tables without marks follow from what is found alone.
fn check_adoption(options: &Options, tables: &[Table], file: &WorkloadFile, notes: &mut Notes<'_>) {
    if options.iter().all(|option| option.found.is_none()) {
        return;
    }
    let behind = options.behind(tables.iter().flat_map(Table::reads));
    let others = options.iter().enumerate().filter(|(place, _)| behind.contains(place));
    for (_, option) in others.filter(|(_, option)| option.found.is_none()) {
        let span = file.options.get(option.name).map(Spanned::span).unwrap_or_default();
        notes.at(span, format!("the rows follow from `{}` too, which has no `found`", option.name));
    }
}

fn limits(file: &WorkloadFile, notes: &mut Notes<'_>) {
    let counts = [
        ("tables", file.tables.len(), TABLES_MAX),
        (
            "transactions, passes and mixes",
            file.transactions.len() + file.passes.len() + file.mixes.len(),
            TRANSACTIONS_MAX,
        ),
        ("checks", file.checks.len(), TRANSACTIONS_MAX),
    ];
    for (what, count, most) in counts {
        if count > most {
            notes.found.push(Mistake::of_file(
                FILE,
                format!("there are {count} {what}, and a workload has at most {most}"),
            ));
        }
    }
    if file.transactions.is_empty() && file.passes.is_empty() {
        notes.found.push(Mistake::of_file(
            FILE,
            "there is no transaction: write [[transactions]] with a name, and its script NAME.sql",
        ));
    }
}

/// What is said of the tables and of how many rows they have, however it is written.
fn hash_of_tables(text: &str, variant: Option<&Variant>) -> String {
    let said: toml::Table = text.parse().unwrap_or_default();
    let part = |name: &str| said.get(name).map(ToString::to_string).unwrap_or_default();
    let options = said.get("options").and_then(toml::Value::as_table);
    let default =
        |(name, option): (&String, &toml::Value)| Some(format!("{name} {}", option.get("default")?));
    let defaults: Vec<String> = options.into_iter().flatten().filter_map(default).collect();
    let variant = variant.map(|variant| format!("\n{variant:?}")).unwrap_or_default();
    let bytes = ([part("tables"), part("seed"), defaults.join("\n")].join("\n") + &variant).into_bytes();
    format!("{:016x}", fnv1a::mixed(fnv1a::START, bytes))
}
