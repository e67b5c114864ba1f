//! The options of a sysbench command line: what was typed (`command_line`), the options that are known by themselves
//! (`known`), and what the general ones mean (`settings`). A test adds options of its own, which are declared when it is
//! loaded; so values are kept as text and read as what they are asked for.

mod command_line;
pub(crate) mod known;
mod settings;

pub(crate) use command_line::{CommandLine, SysbenchUsageError};
use dyno_workload::sysbench::lua::options::{flag, words};
use dyno_workload::sysbench::lua::{DeclaredOption, OptionKind, OptionValue};
pub(crate) use settings::SysbenchSettings;

use dyno_workload::c_numbers::{leading_integer, leading_number};

/// Options as they were typed, with the defaults of those that are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    typed: Vec<Typed>,
    declared: Vec<DeclaredOption>,
}

#[derive(Debug, Clone)]
struct Typed {
    name: String,
    value: Option<String>,
    /// The whole word, for messages.
    word: String,
    /// It stands in a file of options, which may have some that nobody knows.
    in_file: bool,
}

impl Options {
    fn set(&mut self, name: &str, value: Option<&str>, word: &str, in_file: bool) {
        let (name, value) = (name.to_owned(), value.map(str::to_owned));
        self.typed.push(Typed { name, value, word: word.to_owned(), in_file });
    }

    /// Adds the options of a test; one that declares none takes all.
    ///
    /// # Errors
    /// The first option that neither it nor anything else knows, or whose value is none of its kind. What only the
    /// drivers read is looked at where there is one (`with_driver`): help has none.
    pub(crate) fn declare(
        &mut self,
        declared: Option<Vec<DeclaredOption>>,
        with_driver: bool,
    ) -> Result<(), SysbenchUsageError> {
        let takes_all = declared.is_none();
        self.declared = declared.unwrap_or_default();
        let mut typed = self.typed.iter().filter(|typed| !typed.in_file);
        typed.try_for_each(|typed| self.check(typed, takes_all, with_driver))
    }

    fn check(&self, typed: &Typed, takes_all: bool, with_driver: bool) -> Result<(), SysbenchUsageError> {
        let value = typed.value.as_deref();
        let right = match self.kind(&typed.name) {
            None => takes_all,
            Some(OptionKind::Bool) => flag(value).is_some(),
            Some(OptionKind::Integer) if with_driver && known::find(&typed.name).is_some() => {
                let value = value.unwrap_or_default();
                strict_integer(value).ok_or_else(|| SysbenchUsageError::InvalidValue {
                    name: typed.name.replace('-', "_"),
                    value: value.to_owned(),
                })?;
                true
            }
            Some(_) => true,
        };
        if right { Ok(()) } else { Err(SysbenchUsageError::Unknown { word: typed.word.clone() }) }
    }

    /// Names in files of options that nothing knows.
    pub(crate) fn unknown_in_files(&self) -> impl Iterator<Item = &str> {
        let unknown = |typed: &&Typed| typed.in_file && self.kind(&typed.name).is_none();
        self.typed.iter().filter(unknown).map(|typed| typed.name.as_str())
    }

    fn kind(&self, name: &str) -> Option<OptionKind> {
        let own = self.declared.iter().find(|it| known::same_name(&it.name, name)).map(|it| it.kind);
        own.or_else(|| known::find(name).map(|it| it.kind))
    }

    /// Whether it was typed.
    pub(crate) fn is_typed(&self, name: &str) -> bool {
        self.typed(name).is_some()
    }

    /// The last word on an option that counts: of a flag, one that is none is passed over.
    fn typed(&self, name: &str) -> Option<&Typed> {
        let of_its_kind = |typed: &&Typed| {
            self.kind(name) != Some(OptionKind::Bool) || flag(typed.value.as_deref()).is_some()
        };
        self.typed.iter().rev().filter(|typed| known::same_name(&typed.name, name)).find(of_its_kind)
    }

    /// As text; `None` where it has neither value nor default.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Some(typed) = self.typed(name) {
            return Some(typed.value.as_deref().unwrap_or_default());
        }
        let own = self.declared.iter().find(|it| known::same_name(&it.name, name));
        match own {
            Some(declared) => declared.default.as_deref(),
            None => known::find(name).and_then(|known| known.default),
        }
    }

    /// As a number that was looked at when it was read; what is none is zero.
    pub(crate) fn integer(&self, name: &str) -> i64 {
        self.text(name).and_then(strict_integer).unwrap_or(0)
    }

    /// As a whole number that may have anything behind it, as the options of tests.
    pub(crate) fn lenient_integer(&self, name: &str) -> i64 {
        // Saturates, and cuts what is behind the point.
        self.text(name).map_or(0, |text| leading_number(text) as i64)
    }

    pub(crate) fn double(&self, name: &str) -> f64 {
        self.text(name).map_or(0.0, leading_number)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name, OptionKind::Bool) == OptionValue::Bool(true)
    }

    /// What a script sees as an option's value.
    pub(crate) fn value(&self, name: &str, kind: OptionKind) -> OptionValue {
        let default = || Some(self.text(name).unwrap_or_default());
        kind.read(self.typed(name).map_or_else(default, |typed| typed.value.as_deref()))
    }

    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        words(self.text(name).unwrap_or_default()).collect()
    }

    /// Every option that was typed, by name and value, in order.
    pub(crate) fn all_typed(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.typed.iter().map(|typed| (typed.name.as_str(), typed.value.as_deref()))
    }

    pub(crate) fn declared(&self) -> &[DeclaredOption] {
        &self.declared
    }
}

/// A whole number, as `strtol` reads it where nothing may follow; nothing at all is zero.
fn strict_integer(text: &str) -> Option<i64> {
    let (value, rest) = leading_integer(text);
    if !rest.is_empty() {
        return None;
    }
    i32::try_from(value.unwrap_or(0)).ok().map(i64::from)
}

#[cfg(test)]
mod tests;
