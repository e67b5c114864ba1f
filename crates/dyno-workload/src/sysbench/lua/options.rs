//! Options that a script declares in `sysbench.cmdline.options`, and the values that it finds in `sysbench.opt`.

use mlua::{Lua, Table, Value};

/// The value of an option as a script sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Bool(bool),
    Integer(i64),
    Double(f64),
    Text(String),
    List(Vec<String>),
}

impl OptionValue {
    pub(super) fn to_lua(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Bool(value) => Value::Boolean(*value),
            Self::Integer(value) => Value::Number(*value as f64),
            Self::Double(value) => Value::Number(*value),
            Self::Text(value) => Value::String(lua.create_string(value)?),
            Self::List(values) => Value::Table(lua.create_sequence_from(values.iter().map(String::as_str))?),
        })
    }
}

/// What values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    Bool,
    Integer,
    /// An integer with k, m, g, t or p behind it for powers of 1,024.
    Size,
    Double,
    Text,
    /// Texts with commas between them.
    List,
    /// Of sysbench's own options alone: a script's are texts.
    File,
}

/// An option that a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredOption {
    /// As it stands in the script.
    pub name: String,
    pub help: String,
    pub kind: OptionKind,
    /// As the script gives it.
    pub default: Option<OptionValue>,
}

impl DeclaredOption {
    /// The name that `sysbench.opt` has it under: dashes and underscores are the same.
    #[must_use]
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// How it is written on the command line: `table_size=N`, `auto_inc[=on|off]`.
    #[must_use]
    pub fn syntax(&self) -> String {
        let value = match self.kind {
            OptionKind::Bool => "[=on|off]",
            OptionKind::Integer | OptionKind::Double => "=N",
            OptionKind::Size => "=SIZE",
            OptionKind::Text => "=STRING",
            OptionKind::List => "=[LIST,...]",
            OptionKind::File => "=FILENAME",
        };
        format!("{}{value}", self.name)
    }

    /// Its default, as the command line would have it.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        self.default.as_ref().map(|default| match default {
            OptionValue::Bool(value) => if *value { "on" } else { "off" }.to_owned(),
            OptionValue::Integer(value) => value.to_string(),
            OptionValue::Double(value) => value.to_string(),
            OptionValue::Text(value) => value.clone(),
            OptionValue::List(values) => values.join(","),
        })
    }

    /// The lines that help has of a script's options.
    #[must_use]
    pub fn list(options: &[Self]) -> String {
        let width = options.iter().map(|option| option.syntax().len()).max().unwrap_or(0);
        let line = |option: &Self| {
            let default = option.default_text().map(|default| format!(" [{default}]")).unwrap_or_default();
            format!("  --{:width$} {}{default}\n", option.syntax(), option.help)
        };
        options.iter().map(line).collect()
    }

    /// What the script finds where the command line does not name it.
    #[must_use]
    pub fn value_unset(&self) -> OptionValue {
        match (&self.default, self.kind) {
            (Some(OptionValue::Text(text)), OptionKind::Text) => OptionValue::Text(text.clone()),
            // A default may be written as the command line would have it: "3k", "a,b".
            (Some(OptionValue::Text(text)), _) => {
                self.parse(Some(text)).unwrap_or_else(|| OptionValue::Text(text.clone()))
            }
            (Some(value), _) => value.clone(),
            // As if it were named without a value.
            (None, OptionKind::Bool) => OptionValue::Bool(true),
            (None, OptionKind::Integer | OptionKind::Size) => OptionValue::Integer(0),
            (None, OptionKind::Double) => OptionValue::Double(0.0),
            (None, OptionKind::Text | OptionKind::File) => OptionValue::Text(String::new()),
            (None, OptionKind::List) => OptionValue::List(Vec::new()),
        }
    }

    /// Reads what stands behind `=`, or nothing; `None` where it is no value of this option.
    #[must_use]
    pub fn parse(&self, text: Option<&str>) -> Option<OptionValue> {
        Some(match (self.kind, text) {
            (OptionKind::Bool, None | Some("on" | "true" | "yes" | "1")) => OptionValue::Bool(true),
            (OptionKind::Bool, Some("off" | "false" | "no" | "0")) => OptionValue::Bool(false),
            (OptionKind::Bool, Some(_)) => return None,
            (OptionKind::Text | OptionKind::File, text) => {
                OptionValue::Text(text.unwrap_or_default().to_owned())
            }
            (OptionKind::List, text) => {
                let parts =
                    text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
                OptionValue::List(parts.map(str::to_owned).collect())
            }
            (OptionKind::Integer, text) => OptionValue::Integer(text?.trim().parse().ok()?),
            (OptionKind::Double, text) => OptionValue::Double(text?.trim().parse().ok()?),
            (OptionKind::Size, text) => OptionValue::Integer(parse_size(text?.trim())?),
        })
    }

    /// Reads `sysbench.cmdline.options`. An entry is a table of the help, the default and the type, where the last two
    /// may be missing.
    pub(super) fn read_all(options: &Table) -> Vec<Self> {
        let mut declared: Vec<_> = options
            .pairs::<String, Table>()
            .filter_map(Result::ok)
            .map(|(name, entry)| Self::read(name, &entry))
            .collect();
        declared.sort_by(|a, b| a.name.cmp(&b.name));
        declared
    }

    fn read(name: String, entry: &Table) -> Self {
        let help = entry.get::<Option<String>>(1).ok().flatten().unwrap_or_default();
        let default = match entry.get::<Value>(2).unwrap_or(Value::Nil) {
            Value::Boolean(value) => Some(OptionValue::Bool(value)),
            Value::Integer(value) => Some(OptionValue::Integer(value)),
            Value::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Some(OptionValue::Integer(value as i64))
            }
            Value::Number(value) => Some(OptionValue::Double(value)),
            Value::String(value) => Some(OptionValue::Text(value.to_string_lossy())),
            Value::Table(values) => {
                Some(OptionValue::List(values.sequence_values().filter_map(Result::ok).collect()))
            }
            _ => None,
        };
        let kind = match (entry.get::<Option<u32>>(3).ok().flatten(), &default) {
            (Some(1), _) => OptionKind::Bool,
            (Some(2), _) => OptionKind::Integer,
            (Some(3), _) => OptionKind::Size,
            (Some(4), _) => OptionKind::Double,
            (Some(6), _) => OptionKind::List,
            (Some(_), _) | (None, None | Some(OptionValue::Text(_))) => OptionKind::Text,
            (None, Some(OptionValue::Bool(_))) => OptionKind::Bool,
            (None, Some(OptionValue::Integer(_))) => OptionKind::Integer,
            (None, Some(OptionValue::Double(_))) => OptionKind::Double,
            (None, Some(OptionValue::List(_))) => OptionKind::List,
        };
        Self { name, help, kind, default }
    }
}

fn parse_size(text: &str) -> Option<i64> {
    let powers = ['k', 'm', 'g', 't', 'p'];
    let last = text.chars().last()?.to_ascii_lowercase();
    match (1..).zip(powers).find(|(_, letter)| *letter == last) {
        Some((power, _)) => {
            let number: i64 = text[..text.len() - 1].parse().ok()?;
            number.checked_mul(1024_i64.pow(power))
        }
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(kind: OptionKind) -> DeclaredOption {
        DeclaredOption { name: "da-sh".to_owned(), help: String::new(), kind, default: None }
    }

    #[test]
    fn values_are_read_by_their_kind() {
        let parse = |kind, text| option(kind).parse(text);
        assert_eq!(parse(OptionKind::Bool, None), Some(OptionValue::Bool(true)));
        assert_eq!(parse(OptionKind::Bool, Some("off")), Some(OptionValue::Bool(false)));
        assert_eq!(parse(OptionKind::Bool, Some("x")), None);
        assert_eq!(parse(OptionKind::Integer, Some("12")), Some(OptionValue::Integer(12)));
        assert_eq!(parse(OptionKind::Integer, Some("12x")), None);
        assert_eq!(parse(OptionKind::Integer, None), None);
        assert_eq!(parse(OptionKind::Size, Some("3k")), Some(OptionValue::Integer(3072)));
        assert_eq!(parse(OptionKind::Size, Some("9223372036854775807p")), None);
        assert_eq!(parse(OptionKind::Size, Some("")), None);
        assert_eq!(parse(OptionKind::Size, Some("ä")), None);
        let list = OptionValue::List(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(parse(OptionKind::List, Some("a, b,")), Some(list));
    }

    #[test]
    fn names_and_syntax() {
        assert_eq!(option(OptionKind::Size).key(), "da_sh");
        assert_eq!(option(OptionKind::Bool).syntax(), "da-sh[=on|off]");
        assert_eq!(option(OptionKind::Integer).value_unset(), OptionValue::Integer(0));
    }
}
