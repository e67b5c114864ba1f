//! Options that a script declares in `sysbench.cmdline.options`, and the values that it finds in `sysbench.opt`.

use mlua::{Lua, Table, Value};

use crate::c_numbers::{leading_integer, leading_number};

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

impl OptionKind {
    /// What stands behind `=`, or nothing, as sysbench reads it: as far as it makes sense.
    pub fn read(self, text: Option<&str>) -> OptionValue {
        let flag = flag(text).unwrap_or(false);
        let text = text.unwrap_or_default();
        match self {
            Self::Bool => OptionValue::Bool(flag),
            // Saturates, and cuts what is behind the point.
            Self::Integer => OptionValue::Integer(leading_number(text) as i64),
            Self::Double => OptionValue::Double(leading_number(text)),
            Self::Size => OptionValue::Integer(size(text)),
            Self::Text | Self::File => OptionValue::Text(text.to_owned()),
            Self::List => OptionValue::List(words(text).map(str::to_owned).collect()),
        }
    }
}

/// `on`, `true` and `1`; `off`, `false` and `0`; no value is `on`.
pub fn flag(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("on" | "true" | "1") => Some(true),
        Some("off" | "false" | "0") => Some(false),
        Some(_) => None,
    }
}

/// The words of a list; empty ones are none.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// Bytes: a number, and a letter for its unit.
pub fn size(text: &str) -> i64 {
    let (value, rest) = leading_integer(text);
    let unit = rest.bytes().next().map(|letter| letter.to_ascii_uppercase());
    let power = unit.and_then(|unit| b"KMGTP".iter().position(|known| *known == unit)).map_or(0, |at| at + 1);
    value.unwrap_or(0).max(0).saturating_mul(1 << (10 * power))
}

/// An option that a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredOption {
    /// As it stands in the script.
    pub name: String,
    pub help: String,
    pub kind: OptionKind,
    /// As the command line would have it: `on`, `3k`, `a,b`.
    pub default: Option<String>,
}

impl DeclaredOption {
    /// The name that `sysbench.opt` has it under: dashes and underscores are the same.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// How it is written on the command line: `table_size=N`, `auto_inc[=on|off]`.
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

    /// The lines that help has of a script's options.
    pub fn list(options: &[Self]) -> String {
        let width = options.iter().map(|option| option.syntax().len()).max().unwrap_or(0);
        let line = |option: &Self| {
            let default = option.default.as_ref().map(|default| format!(" [{default}]")).unwrap_or_default();
            format!("  --{:width$} {}{default}\n", option.syntax(), option.help)
        };
        options.iter().map(line).collect()
    }

    /// What the script finds where the command line does not name it; without a default, as if it were named without a
    /// value.
    pub fn value_unset(&self) -> OptionValue {
        self.kind.read(self.default.as_deref())
    }

    /// Reads `sysbench.cmdline.options`. An entry is a table of the help, the default and the type, where the last two
    /// may be missing; what is malformed is said in sysbench's words.
    pub(super) fn read_all(options: &Value) -> Result<Vec<Self>, String> {
        let options = match options {
            Value::Nil => return Ok(Vec::new()),
            Value::Table(options) => options,
            other => return Err(format!("wrong type for sysbench.cmdline.options: {}", other.type_name())),
        };
        let mut declared = Vec::new();
        for pair in options.pairs::<Value, Value>() {
            let wrong =
                |name: &str| format!("wrong table structure in sysbench.cmdline.options, at '{name}'");
            let (name, entry) = pair.map_err(|_| wrong("?"))?;
            let is_name = name.is_string();
            let name = name.to_string().unwrap_or_default();
            let (true, Value::Table(entry)) = (is_name, entry) else { return Err(wrong(&name)) };
            if entry.get::<Value>(1).is_ok_and(|help| help.is_nil()) {
                return Err(format!("nil description for option {name}"));
            }
            declared.push(Self::read(name, &entry));
        }
        declared.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(declared)
    }

    fn read(name: String, entry: &Table) -> Self {
        let help = entry.get::<Option<String>>(1).ok().flatten().unwrap_or_default();
        let (default, kind_of_default) = match entry.get::<Value>(2).unwrap_or(Value::Nil) {
            Value::Boolean(true) => (Some("on".to_owned()), OptionKind::Bool),
            Value::Boolean(false) => (Some("off".to_owned()), OptionKind::Bool),
            Value::Integer(value) => (Some(value.to_string()), OptionKind::Integer),
            Value::Number(value) if value.fract() == 0.0 => (Some(value.to_string()), OptionKind::Integer),
            Value::Number(value) => (Some(value.to_string()), OptionKind::Double),
            Value::String(value) => (Some(value.to_string_lossy()), OptionKind::Text),
            Value::Table(values) => {
                let words: Vec<String> = values.sequence_values().filter_map(Result::ok).collect();
                (Some(words.join(",")), OptionKind::List)
            }
            _ => (None, OptionKind::Text),
        };
        let kind = match entry.get::<Option<u32>>(3).ok().flatten() {
            None => kind_of_default,
            Some(1) => OptionKind::Bool,
            Some(2) => OptionKind::Integer,
            Some(3) => OptionKind::Size,
            Some(4) => OptionKind::Double,
            Some(6) => OptionKind::List,
            Some(_) => OptionKind::Text,
        };
        Self { name, help, kind, default }
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
        assert_eq!(OptionKind::Bool.read(None), OptionValue::Bool(true));
        assert_eq!(OptionKind::Bool.read(Some("off")), OptionValue::Bool(false));
        assert_eq!(OptionKind::Bool.read(Some("x")), OptionValue::Bool(false));
        assert_eq!(OptionKind::Integer.read(Some("12")), OptionValue::Integer(12));
        assert_eq!(OptionKind::Integer.read(Some("12x")), OptionValue::Integer(12));
        assert_eq!(OptionKind::Integer.read(None), OptionValue::Integer(0));
        assert_eq!(OptionKind::Size.read(Some("3k")), OptionValue::Integer(3072));
        assert_eq!(OptionKind::Size.read(Some("9223372036854775807p")), OptionValue::Integer(i64::MAX));
        assert_eq!(OptionKind::Size.read(Some("ä")), OptionValue::Integer(0));
        let list = OptionValue::List(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(OptionKind::List.read(Some("a, b,")), list);
    }

    #[test]
    fn names_and_syntax() {
        assert_eq!(option(OptionKind::Size).key(), "da_sh");
        assert_eq!(option(OptionKind::Bool).syntax(), "da-sh[=on|off]");
        assert_eq!(option(OptionKind::Integer).value_unset(), OptionValue::Integer(0));
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("64K", 65536), ("1m", 1 << 20), ("2G", 2 << 30), ("1T", 1 << 40), ("7", 7), ("x", 0)]
        {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn flags_are_written_in_small_letters() {
        assert_eq!([None, Some("on"), Some("1"), Some("true")].map(flag), [Some(true); 4]);
        assert_eq!(["off", "0", "false"].map(|text| flag(Some(text))), [Some(false); 3]);
        assert_eq!(["ON", "", "yes", "x"].map(|text| flag(Some(text))), [None; 4]);
    }

    #[test]
    fn lists_leave_nothing_out_but_nothing() {
        assert_eq!(words("1,,2, 3").collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!(words("").next(), None);
    }
}
