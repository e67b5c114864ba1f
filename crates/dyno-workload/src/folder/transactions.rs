//! The transactions of a folder, each a script, and the mixes of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dyno_results::event::{Figure, OwnCount, ResponseLimit};
use dyno_target::product::{Dialect, ISOLATION_LEVELS};
use toml::Spanned;

use super::file::{ContendedFile, CountFile, FigureFile, MixFile, TransactionFile, WithinFile};
use super::mistake::{Mistake, Notes};
use super::options::{Options, inside, text_of};
use super::passes::Pass;
use super::tables::{self, Table};
use super::{DIALECTS, STATEMENTS_MAX, commands};
use crate::benchmark::Contention;
use crate::pgbench::mix::Pauses;
use crate::script::{Names, Program, RowContext, Slot, Undefined, Value, compile};
use crate::scripts::{Place, SqlScript, SqlScriptError};
use crate::statements::statements;

/// How many transactions can be dealt to a client at a time.
const CARDS_MAX: u64 = 1_000;
const PAUSE_S_MAX: f64 = 86_400.0;
/// How many clients run: a variable of what follows from it.
const CLIENTS: &str = "clients";

/// A script that is one transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    pub name: &'static str,
    /// What reports call its stages.
    series: &'static str,
    pub about: String,
    /// The file in the folder.
    pub script: String,
    /// By dialect, where it is another there: the name of the file.
    variants: BTreeMap<&'static str, String>,
    /// What it does to the numbers of rows, over the variables of its script, each with its place among the counts (see [`count`]);
    /// `None` where that is not known.
    pub effects: Option<Vec<(usize, String)>>,
    /// What else is counted, and the expression over the variables of its script.
    pub counts: Vec<(OwnCount, String)>,
    pub returns: Option<u64>,
    /// Its isolation level, where that is not left to the server.
    pub isolation: Option<&'static str>,
    /// The seconds before it, and behind it.
    pauses: [Option<Program>; 2],
    /// Places of the tables by whose largest key it numbers or draws rows.
    pub numbered: Vec<usize>,
    /// The rows of which each transaction changes one, and why no more clients are of use.
    contended: Option<(Program, &'static str)>,
    /// How many clients run it where nobody says how many.
    terminals: Option<Program>,
    /// How often one client runs it, where that is not left to the load.
    times: Option<Program>,
    /// What a variant is asked before its load begins.
    pub trial: Option<String>,
    /// The limits of its response time.
    pub response_limits: Vec<ResponseLimit>,
}

/// What rows of a table are counted for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Added,
    Removed,
}

/// The place of a table's rows among all that is counted.
pub(super) fn count(table: usize, side: Side) -> usize {
    2 * table + side as usize
}

/// Several transactions, or one, that are run as one load.
#[derive(Debug)]
pub(super) struct Mix {
    pub name: &'static str,
    pub series: &'static str,
    pub about: String,
    /// Places of transactions, each with its weight.
    pub parts: Vec<(usize, u32)>,
    /// They are dealt, and not drawn.
    pub is_dealt: bool,
    /// What it is made of in place of transactions.
    pub pass: Option<Pass>,
    /// What it counts beside transactions.
    figure: Option<Counted>,
    /// How many clients run it where nobody says how many.
    terminals: Option<Program>,
}

/// What a mix counts beside transactions.
#[derive(Debug)]
struct Counted {
    figure: Figure,
    /// How many are possible, and what stands beside it, over the options and the number of clients.
    at_most: Option<Program>,
    note: Option<Program>,
    clients: Slot,
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
        let mut scripts = Vec::new();
        // Whatever the values are, the script is the same.
        let last = tables.iter().filter(|table| table.number().is_some()).map(|table| last_of(&table.name));
        let values = options.iter().map(|option| option.name.to_owned()).chain(last);
        let values: BTreeMap<String, String> = values.map(|name| (name, "1".to_owned())).collect();
        for file in [&script].into_iter().chain(variants.values()) {
            match texts.get(file) {
                Some(text) => scripts.extend(check((file, text), &values, tables, notes)),
                None => notes.at(span.clone(), format!("there is no file `{file}` in the folder")),
            }
        }
        let only_reads = !scripts.iter().any(SqlScript::writes);
        let says = [(Side::Added, &file.adds), (Side::Removed, &file.removes)];
        let effects = (only_reads || says.iter().any(|(_, rows)| rows.is_some()))
            .then(|| effects(says, &scripts, tables, notes));
        if effects.as_ref().is_some_and(|effects| !effects.is_empty()) {
            scripts.iter().for_each(|script| check_commit(script, notes));
        }
        let counts = counts(name, &file.counts, &scripts, notes);
        let isolation = file.isolation.as_ref().and_then(|level| isolation(level, &scripts, notes));
        let numbers = |script: &SqlScript, table: &Table| {
            script.counters().iter().any(|it| **it == *table.name) || script.names(&last_of(&table.name))
        };
        let is_numbered = |place: &usize| scripts.iter().any(|script| numbers(script, &tables[*place]));
        let numbered = (0..tables.len()).filter(is_numbered).collect();
        let pauses = [&file.keying, &file.think].map(|seconds| {
            let is_option = |slot| options.place(slot).is_some();
            let seconds = seconds.as_ref()?;
            let number = constant(&text_of(seconds)).and_then(|value| match value {
                Value::Integer(seconds) => Some(seconds as f64),
                Value::Double(seconds) => Some(seconds),
                _ => None,
            });
            if number.is_some_and(|seconds| !(0.0..=PAUSE_S_MAX).contains(&seconds)) {
                notes.at(seconds.span(), format!("a pause is of 0 to {PAUSE_S_MAX} seconds"));
            }
            tables::compile(&text_of(seconds), seconds.span(), names, notes, is_option)
        });
        let contended = file.contended.as_ref().and_then(|ContendedFile { rows, why }| {
            let is_option = |slot| options.place(slot).is_some();
            let program = tables::compile(&text_of(rows), rows.span(), names, notes, is_option)?;
            Some((program, &*why.clone().leak()))
        });
        let mut number = |number: &Option<Spanned<toml::Value>>| {
            let is_option = |slot| options.place(slot).is_some();
            let number = number.as_ref()?;
            tables::compile(&text_of(number), number.span(), names, notes, is_option)
        };
        let (terminals, times) = (number(&file.terminals), number(&file.times));
        if let Some(trial) = file.trial.as_ref().filter(|trial| statements(trial.get_ref()).len() != 1) {
            notes.at(trial.span(), "a trial is one statement");
        }
        let trial = file.trial.as_ref().map(|trial| trial.get_ref().clone());
        let about = match &file.about {
            Some(about) => about.clone(),
            None if only_reads => format!("read: {script}"),
            None => format!("write: {script}"),
        };
        let returns = file.returns;
        let name: &'static str = name.clone().leak();
        let series = file.series.as_ref().map_or(name, |series| series.clone().leak());
        Self {
            name,
            series,
            about,
            script,
            variants,
            effects,
            counts,
            returns,
            isolation,
            pauses,
            numbered,
            contended,
            terminals,
            times,
            trial,
            response_limits: response_limits(name, &file.within, notes),
        }
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

    /// How long a client waits before it and behind it.
    pub(super) fn pauses(&self, context: &mut RowContext) -> Result<Pauses, String> {
        let mut seconds = |program: &Option<Program>| -> Result<Duration, String> {
            let Some(program) = program else { return Ok(Duration::ZERO) };
            let value = context.evaluate(program, 0, 0);
            let seconds = match value.map_err(|error| format!("a pause of {}: {error}", self.name))? {
                Value::Integer(seconds) => Some(seconds as f64),
                Value::Double(seconds) => Some(seconds),
                Value::Null => Some(0.0),
                value => context.shown(value).parse().ok(),
            };
            let seconds = seconds.filter(|seconds| (0.0..=PAUSE_S_MAX).contains(seconds));
            let wrong = || format!("a pause of {} is of 0 to {PAUSE_S_MAX} seconds", self.name);
            seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
        };
        let [keying, think] = &self.pauses;
        Ok(Pauses { keying: seconds(keying)?, think: seconds(think)? })
    }

    /// How often one client runs it, where that is not left to the load.
    pub(super) fn times(&self, context: &mut RowContext) -> Result<Option<u64>, String> {
        let Some(times) = &self.times else { return Ok(None) };
        let wrong = |why: &str| format!("the times of {}: {why}", self.name);
        match context.evaluate(times, 0, 0).map_err(|error| wrong(&error.to_string()))? {
            Value::Integer(times @ 1..) => Ok(Some(times.cast_unsigned())),
            _ => Err(wrong("they are no whole number from 1 on")),
        }
    }

    /// The script for a dialect, with these values of the options; `sql` is the dialect, where it is known how it begins transactions.
    pub(super) fn of_dialect(
        &self,
        (dialect, sql): (&str, Option<&Dialect>),
        texts: &BTreeMap<String, String>,
        values: &BTreeMap<String, String>,
    ) -> Result<SqlScript, SqlScriptError> {
        let file = self.variants.get(dialect).unwrap_or(&self.script);
        let script = SqlScript::new(file, texts.get(file).map_or("", String::as_str), values)?;
        let begin =
            sql.zip(self.isolation).and_then(|(sql, level)| sql.begin_isolated(script.writes(), level));
        // Where one transaction writes at a time, it locks more than rows, from its BEGIN on.
        let locks_rows = sql.is_none_or(|sql| sql.writers_max != Some(1));
        Ok(script.changed(begin, locks_rows))
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

pub(super) fn check_name(
    name: &Spanned<String>,
    mut before: impl Iterator<Item = &'static str>,
    notes: &mut Notes<'_>,
) {
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

/// The variable of scripts that has the largest key of a table.
pub(super) fn last_of(table: &str) -> String {
    format!("{table}.last")
}

/// The isolation level of a transaction.
fn isolation(level: &Spanned<String>, scripts: &[SqlScript], notes: &mut Notes<'_>) -> Option<&'static str> {
    let found = ISOLATION_LEVELS.into_iter().find(|known| known == level.get_ref());
    if found.is_none() {
        notes.unknown(level.span(), "isolation level", level.get_ref(), ISOLATION_LEVELS.into_iter());
    }
    for script in scripts.iter().filter(|script| !script.begins()) {
        let what = "an isolation level is that of what BEGIN begins: begin the script with BEGIN and end it with COMMIT";
        notes.found.push(Mistake::of_file(script.name(), what));
    }
    found
}

fn response_limits(name: &str, within: &WithinFile, notes: &mut Notes<'_>) -> Vec<ResponseLimit> {
    let WithinFile { p50, p90, p95, p99 } = within;
    let each = [(50.0, p50), (90.0, p90), (95.0, p95), (99.0, p99)];
    let each = each.into_iter().filter_map(|(percentile, limit)| Some((percentile, limit.as_ref()?)));
    each.map(|(percentile, limit)| {
        let seconds = *limit.get_ref();
        if !(seconds > 0.0 && seconds <= PAUSE_S_MAX) {
            notes.at(
                limit.span(),
                format!("a response time is limited to more than 0 and at most {PAUSE_S_MAX} seconds"),
            );
        }
        ResponseLimit { of: name.to_owned(), percentile, limit_us: seconds * 1e6 }
    })
    .collect()
}

/// The script, if it can be run.
fn check(
    (file, text): (&str, &str),
    values: &BTreeMap<String, String>,
    tables: &[Table],
    notes: &mut Notes<'_>,
) -> Option<SqlScript> {
    let script = match SqlScript::new(file, text, values) {
        Ok(script) => script,
        Err(SqlScriptError::Undefined { undefined: Undefined { name, line, nearest, .. }, .. }) => {
            let meant = nearest.map(|nearest| format!(" (did you mean :{nearest}?)")).unwrap_or_default();
            let what = format!(
                "the variable :{name} has no value here{meant}: \\set it above, or make it an option"
            );
            notes.found.push(Mistake { file: file.to_owned(), place: Some((line as usize, 1)), what });
            return None;
        }
        Err(error) => {
            notes.found.push(in_script(file, &error.to_string()));
            return None;
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
    for counter in script.counters() {
        let mut counted = tables.iter().filter(|table| *table.name == **counter).filter_map(Table::number);
        if counted.all(tables::Column::is_identity) {
            let what = format!(
                "next({counter}) counts behind the largest key of the table `{counter}`, which there has to be, with a whole number as its \
                 key and no identity"
            );
            notes.found.push(Mistake::of_file(file, what));
        }
    }
    commands::check(&script, notes);
    if script.commands().len() > STATEMENTS_MAX {
        notes.found.push(Mistake::of_file(file, format!("a script has at most {STATEMENTS_MAX} commands")));
    }
    Some(script)
}

/// Looks whether a script of which the rows are counted does not leave a part of them where it fails.
fn check_commit(script: &SqlScript, notes: &mut Notes<'_>) {
    let why = if script.rolls_back() {
        "a script that has rows to count rolls back with \\rollback, which ends it"
    } else if script.writes_in_steps() {
        "without BEGIN each statement is a transaction of its own, and where one fails, the rows of those before stay: begin the script \
         with BEGIN and end it with COMMIT, or leave out `adds` and `removes`"
    } else if script.never_commits() {
        "no statement changes rows, as far as its words tell: begin the script with BEGIN and end it with COMMIT, or leave out `adds` and \
         `removes`"
    } else {
        return;
    };
    notes.found.push(Mistake::of_file(script.name(), why));
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

type RowNumbers = Option<BTreeMap<String, Spanned<toml::Value>>>;

/// What `adds` and `removes` say.
fn effects(
    says: [(Side, &RowNumbers); 2],
    scripts: &[SqlScript],
    tables: &[Table],
    notes: &mut Notes<'_>,
) -> Vec<(usize, String)> {
    let mut effects = Vec::new();
    for (side, numbers) in says {
        for (table, number) in numbers.iter().flatten() {
            let text = text_of(number);
            match tables.iter().position(|known| known.name == *table) {
                Some(place) => effects.push((count(place, side), text.clone())),
                None => {
                    let known = tables.iter().map(|table| table.name.as_str());
                    notes.unknown(number.span(), "table", table, known);
                }
            }
            check_number((number, "number of rows"), Place::Commit, scripts, notes);
        }
    }
    effects
}

/// What `counts` says.
fn counts(
    of: &str,
    says: &BTreeMap<Spanned<String>, CountFile>,
    scripts: &[SqlScript],
    notes: &mut Notes<'_>,
) -> Vec<(OwnCount, String)> {
    let counted = says.iter().map(|(key, CountFile { about, value })| {
        let text = key.get_ref().as_str();
        let is_key = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.len() <= 48
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_key {
            let takes = "it takes small letters, digits and `_`, and begins with a letter";
            notes.at(key.span(), format!("`{text}` is no key of a count: {takes}"));
        }
        if about.trim().is_empty() {
            notes.at(key.span(), format!("`about` says nothing of what `{text}` counts"));
        }
        check_number((value, "count"), Place::End, scripts, notes);
        let (of, key, about) = (of.to_owned(), text.to_owned(), about.clone());
        (OwnCount { of, key, about }, text_of(value))
    });
    counted.collect()
}

/// Looks at an expression over the variables of a script, of which a number comes.
fn check_number(
    (number, what): (&Spanned<toml::Value>, &str),
    place: Place,
    scripts: &[SqlScript],
    notes: &mut Notes<'_>,
) {
    let text = text_of(number);
    for script in scripts {
        match script.undefined_at(place, &text) {
            Ok(None) => {}
            Ok(Some(Undefined { name, nearest, .. })) => {
                let file = script.name();
                let meant = nearest.map(|nearest| format!("; did you mean :{nearest}?")).unwrap_or_default();
                notes.at(
                    number.span(),
                    format!("the variable :{name} has no value where {file} {place}{meant}"),
                );
            }
            Err(error) => {
                notes.at(
                    inside(&number.span(), error.offset),
                    format!("{} in the expression `{text}`", error.in_words(&text)),
                );
                break;
            }
        }
    }
    if let Some(value) = constant(&text)
        && !matches!(value, Value::Integer(0..))
    {
        notes.at(number.span(), format!("`{text}` is no {what}"));
    }
}

/// The value of an expression that is the same for each transaction; `None` where it is not known.
fn constant(text: &str) -> Option<Value> {
    let mut names = Names::new();
    let program = compile(text, &mut names).ok()?;
    if program.reads().next().is_some() || !names.counters().is_empty() {
        return None;
    }
    RowContext::new(Arc::new(names), 0).evaluate(&program, 0, 0).ok()
}

impl Mix {
    /// A transaction alone.
    pub(super) fn of(place: usize, transaction: &Transaction) -> Self {
        let Transaction { name, series, about, .. } = transaction;
        Self { about: about.clone(), parts: vec![(place, 1)], ..Self::new(name, series) }
    }

    pub(super) fn new(name: &'static str, series: &'static str) -> Self {
        Self {
            name,
            series,
            about: String::new(),
            parts: Vec::new(),
            is_dealt: false,
            pass: None,
            figure: None,
            terminals: None,
        }
    }

    pub(super) fn compile(
        file: &MixFile,
        before: &[Self],
        transactions: &[Transaction],
        (options, names): (&Options, &mut Names),
        notes: &mut Notes<'_>,
    ) -> Self {
        check_name(&file.name, before.iter().map(|other| other.name), notes);
        let mut parts = Vec::new();
        for (name, weight) in &file.weights {
            match transactions.iter().position(|transaction| transaction.name == name) {
                Some(place) if transactions[place].times.is_some() => {
                    notes.at(weight.span(), format!("`{name}` has `times`, and is run alone"));
                }
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
        let cards: u64 = parts.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if file.deal && cards > CARDS_MAX {
            notes.at(file.name.span(), format!("{cards} transactions are dealt at a time, and can be {CARDS_MAX}: give them smaller weights"));
        }
        let shares: Vec<String> =
            file.weights.iter().map(|(name, weight)| format!("{name} {}", weight.get_ref())).collect();
        let about = file.about.clone().unwrap_or_else(|| format!("mix: {}", shares.join(", ")));
        let name = file.name.get_ref().clone().leak();
        let figure = file.figure.as_ref().map(|figure| {
            let FigureFile { about, of, per, at_most, note } = figure;
            if !file.weights.contains_key(of.get_ref()) {
                let known = file.weights.keys().map(String::as_str);
                notes.unknown(of.span(), "transaction of the mix", of.get_ref(), known);
            }
            let clients = names.slot(CLIENTS);
            let knows = |slot| slot == clients || options.place(slot).is_some();
            let at_most = at_most
                .as_ref()
                .and_then(|most| tables::compile(&text_of(most), most.span(), names, notes, knows));
            let note = note
                .as_ref()
                .and_then(|note| tables::compile(note.get_ref(), note.span(), names, notes, knows));
            let (about, of) = (about.clone(), of.get_ref().clone());
            let figure = Figure { about, of, per: *per, at_most: None, note: None };
            Counted { figure, at_most, note, clients }
        });
        let terminals = file.terminals.as_ref().and_then(|terminals| {
            let is_option = |slot| options.place(slot).is_some();
            tables::compile(&text_of(terminals), terminals.span(), names, notes, is_option)
        });
        Self { about, parts, is_dealt: file.deal, figure, terminals, ..Self::new(name, name) }
    }

    /// How many clients run it where nobody says how many.
    pub(super) fn terminals(
        &self,
        transactions: &[Transaction],
        context: &mut RowContext,
    ) -> Result<Option<u32>, String> {
        let of_transaction = match self.parts.as_slice() {
            [(only, _)] => transactions[*only].terminals.as_ref(),
            _ => None,
        };
        let Some(program) = self.terminals.as_ref().or(of_transaction) else { return Ok(None) };
        let wrong = |why: &str| format!("the terminals of {}: {why}", self.name);
        match context.evaluate(program, 0, 0).map_err(|error| wrong(&error.to_string()))? {
            Value::Null => Ok(None),
            Value::Integer(terminals @ 1..) => Ok(Some(u32::try_from(terminals).unwrap_or(u32::MAX))),
            _ => Err(wrong("they are no whole number from 1 on")),
        }
    }

    /// What so many clients count that run it, with these values of the options.
    pub(super) fn figure(&self, clients: u32, context: &mut RowContext) -> Result<Option<Figure>, String> {
        let Some(Counted { figure, at_most, note, clients: slot }) = &self.figure else { return Ok(None) };
        let wrong = |what: &str, why: &str| format!("{what} of the figure of {}: {why}", self.name);
        context.set(*slot, Value::Integer(clients.into()));
        let mut value = |what: &str, program: &Option<Program>| -> Result<(Value, String), String> {
            let Some(program) = program else { return Ok((Value::Null, String::new())) };
            let value = context.evaluate(program, 0, 0).map_err(|error| wrong(what, &error.to_string()))?;
            Ok((value, context.shown(value)))
        };
        let at_most = match value("the most", at_most)? {
            (Value::Null, _) => None,
            (Value::Integer(most @ 1..), _) => Some(most as f64),
            (Value::Double(most), _) if most > 0.0 && most.is_finite() => Some(most),
            _ => return Err(wrong("the most", "it is no number above 0")),
        };
        let note = match value("the note", note)? {
            (Value::Null, _) => None,
            (Value::Text(_), note) => Some(note),
            (_, other) => return Err(wrong("the note", &format!("it is no text but {other}"))),
        };
        Ok(Some(Figure { at_most, note, ..figure.clone() }))
    }
}
