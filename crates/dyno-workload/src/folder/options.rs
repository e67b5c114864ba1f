//! What a user may choose, numbers, yes or no, and one of several names, and what those are that nobody chose.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dyno_results::format::grouped;
use dyno_results::spec::Count;
use serde_json::{Map, Number};
use toml::Spanned;

use super::checks::is_query;
use super::file::OptionFile;
use super::mistake::{Notes, instead_of};
use super::tables::{ROW, compile, is_name};
use crate::script::{Names, Program, RowContext, Slot, Value, spells_a_value};

/// `fit` is made of so many units where it is looked how many bytes a unit has: of the first by which no table has too many rows.
pub(super) const FIT_SAMPLES: [i64; 4] = [1_000_000, 10_000, 100, 1];

/// What is known of a machine where it is asked how much suits it.
const CPUS: &str = "cpus";
const QUICK: &str = "quick";

/// In the order of their names.
#[derive(Debug)]
pub(super) struct Options {
    list: Vec<FolderOption>,
    /// Each behind those that its default and its largest value read.
    order: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct FolderOption {
    /// Its variable in expressions and scripts.
    pub name: &'static str,
    /// On the command line and in a scenario, with dashes.
    pub long: &'static str,
    pub about: &'static str,
    /// As it is written.
    pub default: String,
    pub kind: OptionKind,
    /// `None` where it is what suits the machine.
    program: Option<Program>,
    /// Of such a one, how much that is.
    suits: Option<Program>,
    /// The query that returns it of tables that are there.
    pub found: Option<String>,
    min: i64,
    max: Option<Program>,
    slot: Slot,
}

/// What an option takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OptionKind {
    Number,
    /// Yes or no.
    Flag,
    /// One of these, each with what it means.
    Choice(Vec<(&'static str, &'static str)>),
}

/// A value for each option. Of a choice it is the place among all that there are.
pub(super) type Values = Vec<Value>;

impl Options {
    pub(super) fn compile(
        file: &BTreeMap<String, Spanned<OptionFile>>,
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Self {
        let mut list = Vec::new();
        let slots: Vec<Slot> = file.keys().map(|name| names.slot(name)).collect();
        let mut fits = 0;
        for ((name, option), slot) in file.iter().zip(&slots) {
            let (span, option) = (option.span(), option.get_ref());
            check_variable(name, &span, "an option", notes);
            let kind = kind_of(option, notes);
            let default = text_of(&option.default);
            let computed = match &kind {
                OptionKind::Choice(choices) => chosen(choices, &default, option, notes).to_string(),
                _ => default.clone(),
            };
            let program = (computed != "fit").then(|| {
                compile(&computed, option.default.span(), names, notes, |slot| slots.contains(&slot))
            });
            let is_fit = program.is_none();
            let suits = option.suits.as_ref().and_then(|suits| {
                if !is_fit {
                    notes.at(suits.span(), "`suits` is for an option whose default is `fit`");
                }
                let site = [CPUS, QUICK].map(|name| names.slot(name));
                compile(suits.get_ref(), suits.span(), names, notes, |slot| site.contains(&slot))
            });
            if let Some(found) = option.found.as_ref().filter(|found| !is_query(found.get_ref())) {
                let query = found.get_ref();
                notes
                    .at(found.span(), format!("an option is found by one SELECT, and this is none: {query}"));
            }
            let max = option.max.as_ref().and_then(|max| {
                let is_other = |read| slots.contains(&read) && read != *slot;
                compile(&text_of(max), max.span(), names, notes, is_other)
            });
            fits += u32::from(is_fit);
            if fits > 1 && is_fit {
                notes.at(
                    option.default.span(),
                    "a second option is `fit`: only one can be made as large as suits the machine",
                );
            }
            list.push(FolderOption {
                name: name.clone().leak(),
                long: name.replace('_', "-").leak(),
                about: option.about.clone().leak(),
                default,
                kind,
                program: program.flatten(),
                suits: suits.filter(|_| is_fit),
                found: option.found.as_ref().map(|found| found.get_ref().clone()),
                min: option.min.unwrap_or(1),
                max,
                slot: *slot,
            });
        }
        let order = order(&list);
        if order.len() < list.len()
            && let Some(place) = (0..list.len()).find(|place| !order.contains(place))
            && let Some(option) = file.values().nth(place)
        {
            notes.at(option.get_ref().default.span(), "the default needs itself, through other options");
        }
        Self { list, order }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FolderOption> {
        self.list.iter()
    }

    /// The names of those that stand for themselves in a query: a choice would be a text without quotes.
    pub(super) fn in_queries(&self) -> impl Iterator<Item = &'static str> {
        let takes = |option: &&FolderOption| !matches!(option.kind, OptionKind::Choice(_));
        self.list.iter().filter(takes).map(|option| option.name)
    }

    /// The place of the option that has this variable.
    pub(super) fn place(&self, slot: Slot) -> Option<usize> {
        self.list.iter().position(|option| option.slot == slot)
    }

    /// The places of the options among these variables, and of those that their defaults read.
    pub(super) fn behind(&self, slots: impl Iterator<Item = Slot>) -> Vec<usize> {
        let mut places: Vec<usize> = slots.filter_map(|slot| self.place(slot)).collect();
        let mut next = 0;
        while let Some(option) = places.get(next).and_then(|place| self.list.get(*place)) {
            let further = option.program.iter().flat_map(Program::reads).filter_map(|slot| self.place(slot));
            let further: Vec<usize> = further.filter(|place| !places.contains(place)).collect();
            places.extend(further);
            next += 1;
        }
        places
    }

    /// The option whose default is what suits the machine, if nobody has `said` how much it is.
    pub(super) fn fits(&self, said: &Map<String, serde_json::Value>) -> bool {
        self.list.iter().any(|option| option.program.is_none() && !said.contains_key(option.long))
    }

    /// How much suits a machine, where the option whose default that is says so.
    pub(super) fn suits(&self, names: &Arc<Names>, cpus: u32, quick: bool) -> Result<Option<u64>, String> {
        let Some((option, suits)) =
            self.list.iter().find_map(|option| Some((option, option.suits.as_ref()?)))
        else {
            return Ok(None);
        };
        let mut context = RowContext::new(Arc::clone(names), 0);
        for (name, value) in [(CPUS, i64::from(cpus)), (QUICK, i64::from(quick))] {
            names.find(name).into_iter().for_each(|slot| context.set(slot, Value::Integer(value)));
        }
        match context.evaluate(suits, 0, 0) {
            Ok(Value::Integer(value @ 1..)) => Ok(Some(value.cast_unsigned())),
            Ok(_) => Err(format!("what suits of {} is no whole number from 1 on", option.name)),
            Err(error) => Err(format!("what suits of {} cannot be computed: {error}", option.name)),
        }
    }

    /// All values; `fit` is that of the option whose default it is.
    pub(super) fn values(
        &self,
        names: &Arc<Names>,
        said: &Map<String, serde_json::Value>,
        fit: i64,
    ) -> Result<Values, String> {
        let mut context = RowContext::new(Arc::clone(names), 0);
        let mut values = vec![Value::Null; self.list.len()];
        for place in &self.order {
            let option = &self.list[*place];
            let value = match (said.get(option.long), &option.program) {
                (Some(said), _) => option.read(said)?,
                (None, None) => Value::Integer(fit),
                (None, Some(program)) => context
                    .evaluate(program, 0, 0)
                    .map_err(|error| format!("the default of {} cannot be computed: {error}", option.name))?,
            };
            if option.found.is_some() && !matches!(value, Value::Integer(_)) {
                return Err(format!("--{} {} is no whole number", option.long, option.shown(value)));
            }
            let number = match value {
                Value::Integer(_) if matches!(option.kind, OptionKind::Choice(_)) => None,
                Value::Integer(value) => Some(value as f64),
                Value::Double(value) => Some(value),
                Value::Boolean(_) if option.kind == OptionKind::Flag => None,
                _ => return Err(format!("the default of {} is no number", option.name)),
            };
            let said = || format!("--{} {}", option.long, option.shown(value));
            if number.is_some_and(|number| number < option.min as f64) {
                return Err(format!("{} is too little: it takes {} and more", said(), grouped(option.min)));
            }
            if let Some((number, max)) = number.zip(option.max.as_ref()) {
                let wrong =
                    |why: String| format!("the most that --{} takes cannot be computed: {why}", option.long);
                let max = match context.evaluate(max, 0, 0).map_err(|error| wrong(error.to_string()))? {
                    Value::Integer(max) => max,
                    Value::Double(max) => max as i64,
                    other => return Err(wrong(format!("{} is no number", shown(other)))),
                };
                if number > max as f64 {
                    return Err(format!("{} is too much: it takes at most {}", said(), grouped(max)));
                }
            }
            option.set(value, &mut context);
            values[*place] = value;
        }
        Ok(values)
    }

    /// The scale that reports show: the option of this name.
    pub(super) fn scale(&self, values: &Values) -> Option<f64> {
        let place = self
            .list
            .iter()
            .position(|option| option.name == "scale" && option.kind == OptionKind::Number)?;
        match values.get(place)? {
            Value::Integer(scale) => Some(*scale as f64),
            Value::Double(scale) => Some(*scale),
            _ => None,
        }
    }

    /// The value of an option whose variable is a whole number; the variable of a choice is its name.
    pub(super) fn whole(&self, slot: Slot, values: &Values) -> Option<Value> {
        let place = self.place(slot)?;
        let is_choice = matches!(self.list[place].kind, OptionKind::Choice(_));
        values.get(place).copied().filter(|value| !is_choice && matches!(value, Value::Integer(_)))
    }

    /// Sets the variables of the options.
    pub(super) fn set(&self, values: &Values, context: &mut RowContext) {
        for (option, value) in self.list.iter().zip(values) {
            option.set(*value, context);
        }
    }
}

impl FolderOption {
    /// What was said of it.
    fn read(&self, said: &serde_json::Value) -> Result<Value, String> {
        if !matches!(self.kind, OptionKind::Choice(_)) {
            return Ok(value_of(said));
        }
        let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        self.place(&said)
            .map(|place| Value::Integer(place as i64))
            .map_err(|why| format!("--{}: {why}", self.long))
    }

    /// The place of a choice by its name.
    fn place(&self, name: &str) -> Result<usize, String> {
        let place = self.choices().position(|known| known == name);
        place.ok_or_else(|| format!("there is no choice `{name}`{}", instead_of(name, self.choices())))
    }

    /// The names of which it takes one.
    pub(super) fn choices(&self) -> impl Iterator<Item = &'static str> {
        let choices = match &self.kind {
            OptionKind::Choice(choices) => choices.as_slice(),
            _ => &[],
        };
        choices.iter().map(|(name, _)| *name)
    }

    /// What was typed of it.
    pub(super) fn typed(&self, text: &str) -> Result<serde_json::Value, String> {
        match self.kind {
            OptionKind::Choice(_) => self.place(text).map(|_| text.into()),
            _ => number(text).map(Into::into),
        }
    }

    /// What a scenario says of it.
    pub(super) fn written(&self, value: serde_json::Value) -> Result<serde_json::Value, String> {
        match (&self.kind, &value) {
            (OptionKind::Flag, serde_json::Value::Bool(_)) => Ok(value),
            (OptionKind::Flag, other) => Err(format!("{other} is neither true nor false")),
            (OptionKind::Number, serde_json::Value::Number(_)) => Ok(value),
            (_, serde_json::Value::String(text)) => self.typed(text),
            (OptionKind::Number, other) => Err(format!("{other} is no number")),
            (OptionKind::Choice(_), other) => self.place(&other.to_string()).map(|_| value),
        }
    }

    /// The name of a choice.
    fn choice(&self, value: Value) -> Option<&'static str> {
        let Value::Integer(place) = value else { return None };
        self.choices().nth(usize::try_from(place).ok()?)
    }

    fn set(&self, value: Value, context: &mut RowContext) {
        match self.choice(value) {
            Some(name) => context.set_text(self.slot, name.as_bytes()),
            None => context.set(self.slot, value),
        }
    }

    /// As a variable of a script has it.
    pub(super) fn shown(&self, value: Value) -> String {
        self.choice(value).map_or_else(|| shown(value), str::to_owned)
    }

    /// For a mark.
    pub(super) fn as_json(&self, value: Value) -> serde_json::Value {
        match (self.choice(value), value) {
            (Some(name), _) => name.into(),
            (None, Value::Integer(value)) => value.into(),
            (None, Value::Double(value)) => value.into(),
            (None, Value::Boolean(value)) => value.into(),
            (None, _) => serde_json::Value::Null,
        }
    }
}

/// Looks whether a name can be that of a variable of scripts and expressions, which is an option or the like.
pub(super) fn check_variable(name: &str, span: &Range<usize>, what: &str, notes: &mut Notes<'_>) {
    if !is_name(name) || name == ROW {
        let takes = "it takes small letters, digits and `_`, begins with a letter, and is not `row`";
        notes.at(span.clone(), format!("`{name}` is no name for {what}: {takes}"));
    }
    if matches!(name, "returned" | "affected" | "clients" | "client_id") {
        let own = format!("`{name}` is a variable that scripts have of themselves");
        notes.at(span.clone(), format!("{own}: call it otherwise"));
    }
}

fn kind_of(option: &OptionFile, notes: &mut Notes<'_>) -> OptionKind {
    let choices = &option.choices;
    if let Some(first) = choices.values().next() {
        for (name, about) in choices.iter().filter(|(name, _)| !is_name(name) || spells_a_value(name)) {
            let takes = "it takes small letters, digits and `_`, begins with a letter, and is no word for true, false or NULL";
            notes.at(about.span(), format!("`{name}` is no name for a choice: {takes}"));
        }
        if choices.len() == 1 {
            notes.at(first.span(), "one choice is none: an option has at least two, or is a number");
        }
        if option.min.is_some() || option.max.is_some() || option.found.is_some() {
            notes.at(option.default.span(), "an option with `choices` has no `min`, `max` or `found`");
        }
        let leaked = |(name, about): (&String, &Spanned<String>)| -> (&'static str, &'static str) {
            (name.clone().leak(), about.get_ref().clone().leak())
        };
        return OptionKind::Choice(choices.iter().map(leaked).collect());
    }
    // The command line can only turn it on.
    let Some(default) = option.default.get_ref().as_bool() else { return OptionKind::Number };
    if default {
        notes.at(
            option.default.span(),
            "an option that is yes or no is `false` by default: name it by what it turns on",
        );
    }
    if option.min.is_some() || option.max.is_some() {
        notes.at(option.default.span(), "an option that is yes or no has no `min` or `max`");
    }
    OptionKind::Flag
}

/// The place of the choice that is the default.
fn chosen(choices: &[(&str, &str)], default: &str, option: &OptionFile, notes: &mut Notes<'_>) -> usize {
    let names = || choices.iter().map(|(name, _)| *name);
    names().position(|name| name == default).unwrap_or_else(|| {
        notes.unknown(option.default.span(), "choice", default, names());
        0
    })
}

fn order(list: &[FolderOption]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let ready = |order: &[usize], option: &FolderOption| {
        let reads = option.program.iter().chain(&option.max).flat_map(Program::reads);
        let mut places = reads.filter_map(|slot| list.iter().position(|other| other.slot == slot));
        places.all(|place| order.contains(&place))
    };
    while let Some(next) =
        (0..list.len()).find(|place| !order.contains(place) && ready(&order, &list[*place]))
    {
        order.push(next);
    }
    order
}

/// A number or an expression as an expression.
pub(super) fn text_of(value: &Spanned<toml::Value>) -> String {
    match value.get_ref() {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The place of an expression within quotes.
pub(super) fn inside(span: &Range<usize>, offset: usize) -> Range<usize> {
    let at = (span.start + 1 + offset).min(span.end.saturating_sub(1));
    at..at
}

/// A number that was typed: `1000000`, `10M`, `0.5`.
pub(super) fn number(typed: &str) -> Result<Number, String> {
    let count = typed.parse::<i64>().ok().or_else(|| i64::try_from(typed.parse::<Count>().ok()?.0).ok());
    if let Some(count) = count {
        return Ok(count.into());
    }
    let number = typed.parse::<f64>().ok().and_then(Number::from_f64);
    number.ok_or_else(|| format!("`{typed}` is no number: write it as 1000000, 10M or 0.5"))
}

fn value_of(said: &serde_json::Value) -> Value {
    match (said.as_bool(), said.as_i64()) {
        (Some(value), _) => Value::Boolean(value),
        (_, Some(value)) => Value::Integer(value),
        _ => said.as_f64().map_or(Value::Null, Value::Double),
    }
}

fn shown(value: Value) -> String {
    let mut text = Vec::new();
    value.write_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
