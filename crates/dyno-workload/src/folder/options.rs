//! The numbers that a user may choose, and what those are that nobody chose.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dyno_results::spec::Count;
use serde_json::{Map, Number};
use toml::Spanned;

use super::file::OptionFile;
use super::mistake::Notes;
use super::tables::{ROW, compile, is_name};
use crate::script::{Names, Program, RowContext, Slot, Value};

/// `fit` is made of so many units where it is looked how many bytes a unit has.
pub(super) const FIT_SAMPLE: i64 = 1_000_000;

/// In the order of their names.
#[derive(Debug)]
pub(super) struct Options {
    list: Vec<FolderOption>,
    /// Each behind those that its default reads.
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
    /// `None` where it is what suits the machine.
    program: Option<Program>,
    min: i64,
    slot: Slot,
}

/// A value for each option.
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
            if !is_name(name) || name == ROW {
                let takes = "it takes small letters, digits and `_`, begins with a letter, and is not `row`";
                notes.at(span.clone(), format!("`{name}` is no name for an option: {takes}"));
            }
            if matches!(name.as_str(), "returned" | "affected" | "clients" | "client_id") {
                notes.at(
                    span.clone(),
                    format!(
                        "`{name}` is a variable that scripts have of themselves: call the option otherwise"
                    ),
                );
            }
            let default = text_of(&option.default);
            let program = (default != "fit").then(|| {
                compile(&default, option.default.span(), names, notes, |slot| slots.contains(&slot))
            });
            fits += u32::from(program.is_none());
            if fits > 1 && program.is_none() {
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
                program: program.flatten(),
                min: option.min.unwrap_or(1),
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
                (Some(said), _) => value_of(said),
                (None, None) => Value::Integer(fit),
                (None, Some(program)) => context
                    .evaluate(program, 0, 0)
                    .map_err(|error| format!("the default of {} cannot be computed: {error}", option.name))?,
            };
            let is_enough = match value {
                Value::Integer(value) => value >= option.min,
                Value::Double(value) => value >= option.min as f64,
                _ => return Err(format!("the default of {} is no number", option.name)),
            };
            if !is_enough {
                return Err(format!(
                    "--{} {} is too little: it takes {} and more",
                    option.long,
                    shown(value),
                    option.min
                ));
            }
            context.set(option.slot, value);
            values[*place] = value;
        }
        Ok(values)
    }

    /// Sets the variables of the options.
    pub(super) fn set(&self, values: &Values, context: &mut RowContext) {
        for (option, value) in self.list.iter().zip(values) {
            context.set(option.slot, *value);
        }
    }
}

fn order(list: &[FolderOption]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let ready = |order: &[usize], option: &FolderOption| {
        let reads = option.program.iter().flat_map(Program::reads);
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
    match said.as_i64() {
        Some(value) => Value::Integer(value),
        None => said.as_f64().map_or(Value::Null, Value::Double),
    }
}

/// As a variable of a script has it.
pub(super) fn shown(value: Value) -> String {
    let mut text = Vec::new();
    value.write_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// For a mark.
pub(super) fn as_json(value: Value) -> serde_json::Value {
    match value {
        Value::Integer(value) => value.into(),
        Value::Double(value) => value.into(),
        _ => serde_json::Value::Null,
    }
}
