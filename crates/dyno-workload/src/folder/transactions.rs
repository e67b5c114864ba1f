//! The transactions of a folder, each a script, and the mixes of them.

use std::collections::BTreeMap;

use toml::Spanned;

use super::file::{ContendedFile, MixFile, TransactionFile};
use super::mistake::{Mistake, Notes};
use super::options::{Options, text_of};
use super::tables::{Table, compile};
use super::{DIALECTS, STATEMENTS_MAX};
use crate::benchmark::Contention;
use crate::script::{Names, Program, RowContext, Undefined, Value};
use crate::scripts::{SqlScript, SqlScriptError};

/// A script that is one transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    pub name: &'static str,
    pub about: String,
    /// The file in the folder.
    pub script: String,
    /// By dialect, where it is another there: the name of the file.
    variants: BTreeMap<&'static str, String>,
    pub effect: Effect,
    /// The rows of which each transaction changes one, and why no more clients are of use.
    contended: Option<(Program, &'static str)>,
}

/// What a transaction does to the numbers of rows.
#[derive(Debug)]
pub(super) enum Effect {
    /// By table: the rows that are added, and those that are removed.
    Known(Vec<(usize, [Option<Program>; 2])>),
    Unknown,
}

/// Several transactions, or one, that are run as one load.
#[derive(Debug)]
pub(super) struct Mix {
    pub name: &'static str,
    pub about: String,
    /// Places of transactions, each with its weight.
    pub parts: Vec<(usize, u32)>,
}

impl Transaction {
    pub(super) fn compile(
        file: &TransactionFile,
        before: &[Self],
        texts: &BTreeMap<String, String>,
        (options, tables): (&Options, &[Table]),
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Self {
        let name = file.name.get_ref();
        check_name(&file.name, before.iter().map(|other| other.name), notes);
        let (script, span) = script_of(file);
        let variants = variants(&script, texts);
        let mut only_reads = true;
        let says_rows = file.adds.is_some() || file.removes.is_some();
        for file in [&script].into_iter().chain(variants.values()) {
            match texts.get(file) {
                Some(text) => only_reads &= check((file, text), says_rows, options, notes),
                None => notes.at(span.clone(), format!("there is no file `{file}` in the folder")),
            }
        }
        let effect = match (&file.adds, &file.removes) {
            (None, None) if !only_reads => Effect::Unknown,
            (adds, removes) => Effect::Known(effects([adds, removes], (options, tables), names, notes)),
        };
        let contended = file.contended.as_ref().and_then(|ContendedFile { rows, why }| {
            let is_option = |slot| options.place(slot).is_some();
            let program = compile(&text_of(rows), rows.span(), names, notes, is_option)?;
            Some((program, &*why.clone().leak()))
        });
        let about = match &file.about {
            Some(about) => about.clone(),
            None if only_reads => format!("read: {script}"),
            None => format!("write: {script}"),
        };
        Self { name: name.clone().leak(), about, script, variants, effect, contended }
    }

    /// From how many clients on they wait for each other's rows.
    pub(super) fn contention(&self, context: &mut RowContext) -> Result<Option<Contention>, String> {
        let Some((rows, why)) = &self.contended else { return Ok(None) };
        let wrong = |why: &str| format!("the contended rows of {}: {why}", self.name);
        match context.evaluate(rows, 0, 0).map_err(|error| wrong(&error.to_string()))? {
            Value::Integer(rows @ 1..) => {
                Ok(Some(Contention { clients: u32::try_from(rows).unwrap_or(u32::MAX), why }))
            }
            _ => Err(wrong("they are no whole number from 1 on")),
        }
    }

    /// The script for a dialect, with these values of the options.
    pub(super) fn of_dialect(
        &self,
        dialect: &str,
        texts: &BTreeMap<String, String>,
        values: &BTreeMap<String, String>,
    ) -> Result<SqlScript, SqlScriptError> {
        let file = self.variants.get(dialect).unwrap_or(&self.script);
        SqlScript::new(file, texts.get(file).map_or("", String::as_str), values)
    }
}

/// The file of a transaction, and where it is named.
pub(super) fn script_of(file: &TransactionFile) -> (String, std::ops::Range<usize>) {
    match &file.script {
        Some(script) => (script.get_ref().clone(), script.span()),
        None => (format!("{}.sql", file.name.get_ref()), file.name.span()),
    }
}

/// Names of files that stand for a script in one dialect.
pub(super) fn variant_names(script: &str) -> impl Iterator<Item = (&'static str, String)> {
    let stem = script.strip_suffix(".sql").unwrap_or(script).to_owned();
    DIALECTS.into_iter().map(move |dialect| (dialect, format!("{stem}.{dialect}.sql")))
}

fn variants(script: &str, texts: &BTreeMap<String, String>) -> BTreeMap<&'static str, String> {
    variant_names(script).filter(|(_, file)| texts.contains_key(file)).collect()
}

fn check_name(name: &Spanned<String>, mut before: impl Iterator<Item = &'static str>, notes: &mut Notes<'_>) {
    let text = name.get_ref().as_str();
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= 48
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
    if !is_name {
        let takes = "it takes small letters, digits, `-` and `_`, and begins with a letter";
        notes.at(name.span(), format!("`{text}` is no name for a transaction or a mix: {takes}"));
    }
    if before.any(|other| other == text) {
        notes.at(name.span(), format!("a second transaction or mix is called `{text}`"));
    }
}

/// Looks whether a script can be run, of a transaction that may say how many rows it adds and removes; whether it only reads.
fn check((file, text): (&str, &str), says_rows: bool, options: &Options, notes: &mut Notes<'_>) -> bool {
    // Whatever the values are, the script is the same.
    let values = options.iter().map(|option| (option.name.to_owned(), "1".to_owned())).collect();
    let script = match SqlScript::new(file, text, &values) {
        Ok(script) => script,
        Err(SqlScriptError::Undefined { undefined: Undefined { name, line, nearest, .. }, .. }) => {
            let meant = nearest.map(|nearest| format!(" (did you mean :{nearest}?)")).unwrap_or_default();
            let what = format!(
                "the variable :{name} has no value here{meant}: \\set it above, or make it an option"
            );
            notes.found.push(Mistake { file: file.to_owned(), place: Some((line as usize, 1)), what });
            return true;
        }
        Err(error) => {
            notes.found.push(in_script(file, &error.to_string()));
            return true;
        }
    };
    // A variable is a value wherever the script is run.
    if let Err(error) = script.check(crate::script::Protocol::Prepared, false) {
        notes.found.push(in_script(file, &error.to_string()));
    }
    if let Some((command, line)) = script.shell_command() {
        let what = format!("\\{command} runs a program, which a workload of a folder cannot");
        notes.found.push(Mistake { file: file.to_owned(), place: Some((line as usize, 1)), what });
    }
    if says_rows && script.rolls_back() {
        let what = "a script that may roll back has no one number of rows: leave out `adds` and `removes`";
        notes.found.push(Mistake::of_file(file, what));
    }
    if says_rows && script.writes_in_steps() {
        let what = "without BEGIN each statement is a transaction of its own, and where one fails, the rows of those before stay: begin \
                    the script with BEGIN and end it with COMMIT, or leave out `adds` and `removes`";
        notes.found.push(Mistake::of_file(file, what));
    }
    if script.undivided().is_some() {
        let what = "next(NAME) begins anew with each start of the clients, whatever rows are there: in a workload of a folder number rows \
                    by an identity, and read the number with RETURNING and \\gset";
        notes.found.push(Mistake::of_file(file, what));
    }
    if script.commands().len() > STATEMENTS_MAX {
        notes.found.push(Mistake::of_file(file, format!("a script has at most {STATEMENTS_MAX} commands")));
    }
    !script.writes()
}

/// A message about a script, which begins with its file and maybe a line.
fn in_script(file: &str, message: &str) -> Mistake {
    let message = message.strip_prefix(&format!("{file} is no script: ")).unwrap_or(message);
    let behind = message.strip_prefix(&format!("{file}:"));
    let line = behind
        .and_then(|rest| rest.split_once(':'))
        .and_then(|(line, what)| Some((line.parse().ok()?, what)));
    match line {
        Some((line, what)) => {
            Mistake { file: file.to_owned(), place: Some((line, 1)), what: what.trim().to_owned() }
        }
        None => Mistake::of_file(file, message),
    }
}

type Numbers = Option<BTreeMap<String, Spanned<toml::Value>>>;

/// What `adds` and `removes` say, by table.
fn effects(
    said: [&Numbers; 2],
    (options, tables): (&Options, &[Table]),
    names: &mut Names,
    notes: &mut Notes<'_>,
) -> Vec<(usize, [Option<Program>; 2])> {
    let mut effects: Vec<(usize, [Option<Program>; 2])> = Vec::new();
    for (side, numbers) in said.into_iter().enumerate() {
        for (table, number) in numbers.iter().flatten() {
            let Some(place) = tables.iter().position(|known| known.name == *table) else {
                let known = tables.iter().map(|table| table.name.as_str());
                notes.unknown(number.span(), "table", table, known);
                continue;
            };
            let is_option = |slot| options.place(slot).is_some();
            let program = compile(&text_of(number), number.span(), names, notes, is_option);
            let at = effects.iter().position(|(of, _)| *of == place).unwrap_or_else(|| {
                effects.push((place, [None, None]));
                effects.len() - 1
            });
            effects[at].1[side] = program;
        }
    }
    effects
}

impl Mix {
    /// A transaction alone.
    pub(super) fn of(place: usize, transaction: &Transaction) -> Self {
        Self { name: transaction.name, about: transaction.about.clone(), parts: vec![(place, 1)] }
    }

    pub(super) fn compile(
        file: &MixFile,
        before: &[Self],
        transactions: &[Transaction],
        notes: &mut Notes<'_>,
    ) -> Self {
        check_name(&file.name, before.iter().map(|other| other.name), notes);
        let mut parts = Vec::new();
        for (name, weight) in &file.weights {
            match transactions.iter().position(|transaction| transaction.name == name) {
                Some(place) if *weight.get_ref() > 0 => parts.push((place, *weight.get_ref())),
                Some(_) => notes.at(weight.span(), "a weight is at least 1: leave the transaction out"),
                None => {
                    let known = transactions.iter().map(|transaction| transaction.name);
                    notes.unknown(weight.span(), "transaction", name, known);
                }
            }
        }
        if parts.is_empty() {
            notes.at(file.name.span(), "a mix has at least one transaction");
        }
        let shares: Vec<String> =
            file.weights.iter().map(|(name, weight)| format!("{name} {}", weight.get_ref())).collect();
        let about = file.about.clone().unwrap_or_else(|| format!("mix: {}", shares.join(", ")));
        Self { name: file.name.get_ref().clone().leak(), about, parts }
    }
}
