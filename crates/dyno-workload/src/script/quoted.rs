//! A colon and a name in quotes or a comment: `to_char(ts, 'HH24:MI:SS')`. pgbench takes it for a variable, in simple mode only
//! if one has that name; here it is text in every mode if none has. A colon before a name in quotes, `:'name'` or `:"name"`, is
//! psql's, and pgbench sends it as it is; here it is the variable's value in these quotes.

use std::collections::BTreeMap;

use dyno_results::sql_text::Syntax;

use super::parse::{parse_in, too_many};
use super::sql::write_quoted;
use super::undefined::{SET_BY_PGBENCH, in_operands, nearest, sets};
use super::{Command, Kind, Language, Names, Operand, Protocol, Quote, Script, ScriptError, Sql, Variables};
use crate::query_set::quoted_names;
use crate::statements::quoted;

/// What gives a script's variables their values.
struct Given<'a> {
    /// By `-D`.
    values: &'a BTreeMap<String, String>,
    /// By the script's commands.
    names: Vec<&'a str>,
    /// The prefix of a `\gset` or `\aset`, and the text of its statement.
    results: Vec<(&'a str, String)>,
}

/// Parses a script of a workload file, in which what stands in quotes or a comment is a variable only if `given` (`-D`) or the script give one of its
/// name a value. One whose name is like such a name stays a variable without a value, because it may be mistyped.
///
/// # Errors
/// As of [`parse`].
pub fn parse_with_text(
    name: &str,
    text: &str,
    mode: Protocol,
    names: &mut Names,
    given: &BTreeMap<String, String>,
) -> Result<Script, ScriptError> {
    let mut script = parse_in(Language::Workload, name, text.as_bytes(), Protocol::Simple, names)?;
    for command in &mut script.commands {
        if let Kind::Sql(sql) = &mut command.kind {
            sql.pieces = with_quoted_names(sql, names).into();
        }
    }
    let given = Given::of(&script, names, given);
    let read: Vec<Option<Vec<Operand>>> =
        script.commands.iter().map(|command| given.pieces(command, names)).collect();
    for (command, pieces) in script.commands.iter_mut().zip(read) {
        if let (Kind::Sql(sql), Some(pieces)) = (&mut command.kind, pieces) {
            let gset = sql.gset.take();
            let new = Sql::of_pieces(pieces, mode).ok_or_else(|| too_many(&command.first_line))?;
            *sql = Sql { gset, ..new };
        }
    }
    Ok(script)
}

/// The first name of a script, read for the simple protocol, that each transaction may have otherwise, `:"name"`, and its line.
pub fn changing_name<'n>(script: &Script, names: &'n Names) -> Option<(&'n str, u32)> {
    script.commands.iter().find_map(|command| {
        let Kind::Sql(sql) = &command.kind else { return None };
        let at = sql.pieces.iter().position(|piece| matches!(piece, Operand::Quoted(_, Quote::Double)))?;
        let (slot, further) = in_operands(&sql.pieces[..=at]).pop()?;
        Some((names.name(slot), command.line.saturating_add(further)))
    })
}

/// The first variable of a script, read for the simple protocol, that stands in quotes or a comment, and its line.
pub fn quoted_variable<'n>(script: &Script, names: &'n Names) -> Option<(&'n str, u32)> {
    script.commands.iter().find_map(|command| {
        let Kind::Sql(sql) = &command.kind else { return None };
        let (text, places) = whole(sql, names);
        let quoted = quoted(str::from_utf8(&text).ok()?);
        let at = sql.pieces.iter().zip(places).position(|(piece, place)| {
            matches!(piece, Operand::Variable(_)) && quoted.iter().any(|range| range.contains(&place))
        })?;
        let (slot, further) = in_operands(&sql.pieces[..=at]).pop()?;
        Some((names.name(slot), command.line.saturating_add(further)))
    })
}

/// The pieces of a command, cut also at its names in quotes.
fn with_quoted_names(sql: &Sql, names: &mut Names) -> Vec<Operand> {
    let (text, places) = whole(sql, names);
    let Ok(text) = str::from_utf8(&text) else { return sql.pieces.to_vec() };
    let found = quoted_names(text, Syntax::POSTGRESQL);
    let piece_of = |from: usize, to: usize| Operand::Text(text.as_bytes()[from..to].into());
    let mut cut = Vec::new();
    for (piece, begin) in sql.pieces.iter().zip(places) {
        let Operand::Text(bytes) = piece else {
            cut.push(piece.clone());
            continue;
        };
        let (mut done, end) = (begin, begin + bytes.len());
        for (at, quote, name) in found.iter().filter(|(at, ..)| (begin..end).contains(at)) {
            if *at > done {
                cut.push(piece_of(done, *at));
            }
            let quote = if *quote == "'" { Quote::Single } else { Quote::Double };
            cut.push(Operand::Quoted(names.slot(name), quote));
            done = at + 1 + name.len() + 2;
        }
        if end > done {
            cut.push(piece_of(done, end));
        }
    }
    cut
}

impl<'a> Given<'a> {
    fn of(script: &'a Script, names: &'a Names, values: &'a BTreeMap<String, String>) -> Self {
        let set = script.commands.iter().filter_map(|command| sets(&command.kind));
        let result = |command: &'a Command| match &command.kind {
            Kind::Sql(sql @ Sql { gset: Some(gset), .. }) => {
                Some((gset.prefix.as_str(), sql.written(names, &Variables::default())))
            }
            _ => None,
        };
        Self {
            values,
            names: set.map(|slot| names.name(slot)).collect(),
            results: script.commands.iter().filter_map(result).collect(),
        }
    }

    /// The pieces of an SQL command, in which no variable is what stands in quotes, and none is in quotes that nothing changes.
    fn pieces(&self, command: &Command, names: &Names) -> Option<Vec<Operand>> {
        let Kind::Sql(sql) = &command.kind else { return None };
        let (text, places) = whole(sql, names);
        let quoted = str::from_utf8(&text).map(quoted).unwrap_or_default();
        let is_quoted = |at: usize| quoted.iter().any(|range| range.contains(&at));
        let read = |(piece, at): (&Operand, usize)| match piece {
            Operand::Variable(slot) if is_quoted(at) && self.lacks(names.name(*slot)) => {
                Operand::Text([b":", names.bytes(*slot)].concat().into())
            }
            // How a text with a backslash is written is not the same everywhere.
            Operand::Quoted(slot, quote)
                if let Some(value) = self.constant(names.name(*slot))
                    && (*quote == Quote::Double || !value.contains('\\')) =>
            {
                let mut text = Vec::new();
                write_quoted(value.as_bytes(), *quote, &mut text);
                Operand::Text(text.into())
            }
            piece => piece.clone(),
        };
        Some(sql.pieces.iter().zip(places).map(read).collect())
    }

    /// The value of `-D`, unless a command may give another.
    fn constant(&self, name: &str) -> Option<&String> {
        self.values.get(name).filter(|_| !self.is_set(name))
    }

    /// Whether a command may give it a value.
    fn is_set(&self, name: &str) -> bool {
        self.names.contains(&name)
            || self.results.iter().any(|(prefix, sql)| may_return(sql, name.strip_prefix(prefix)))
    }

    /// Whether nothing gives a variable of this name a value, nor one with a name that is like it.
    fn lacks(&self, name: &str) -> bool {
        let mut known = self.values.keys().map(String::as_str).chain(self.names.iter().copied());
        !SET_BY_PGBENCH.contains(&name)
            && !self.values.contains_key(name)
            && !self.is_set(name)
            && nearest(name, &mut known).is_none()
    }
}

/// Whether a statement may return a column, as far as its words tell: the columns of `*` are not known.
fn may_return(sql: &str, column: Option<&str>) -> bool {
    let Some(column) = column else { return false };
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    sql.replace("(*)", "").contains('*') || words.any(|word| word.eq_ignore_ascii_case(column))
}

/// The text of a command, and where in it each of its pieces begins.
fn whole(sql: &Sql, names: &Names) -> (Vec<u8>, Vec<usize>) {
    let (mut text, mut places) = (Vec::new(), Vec::new());
    for piece in &sql.pieces {
        places.push(text.len());
        match piece {
            Operand::Text(piece) => text.extend_from_slice(piece),
            Operand::Variable(slot) => {
                text.push(b':');
                text.extend_from_slice(names.bytes(*slot));
            }
            Operand::Quoted(..) => text.extend_from_slice(piece.written(names).as_bytes()),
        }
    }
    (text, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Value, Variables};

    /// What is sent in the simple and the extended protocol, with 7 as the value of `x`.
    fn sent(text: &str) -> [String; 2] {
        let given = [("given", "O'Neil \"x\""), ("path", "C:\\x"), ("x", "1")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let sql = |mode, names: &mut Names| {
            let script = parse_with_text("x.sql", text, mode, names, &given).unwrap();
            let mut all = script.commands.into_iter().filter_map(|command| match command.kind {
                Kind::Sql(sql) => Some(sql),
                _ => None,
            });
            all.next_back().unwrap()
        };
        let mut names = Names::new();
        let simple = sql(Protocol::Simple, &mut names);
        let mut variables = Variables::new(&names);
        for (name, value) in &given {
            if let Some(slot) = names.find(name) {
                variables.set_spelling(slot, value);
            }
        }
        if let Some(x) = names.find("x") {
            variables.set(x, Value::Integer(7));
        }
        let mut out = Vec::new();
        simple.write_simple(&variables, &names, &mut out);
        for mode in [Protocol::Extended, Protocol::Prepared] {
            let bound = sql(mode, &mut names);
            let marks = bound.text.iter().filter(|byte| **byte == b'$').count();
            assert!(bound.parameters.len() <= marks, "{text}");
        }
        let bound = sql(Protocol::Extended, &mut names);
        [out, bound.text.into_vec()].map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_colon_in_quotes_is_text_in_every_mode() {
        for text in [
            "SELECT to_char(ts, 'HH24:MI:SS') FROM kv;",
            "SELECT '{\"a\":true}'::json, \"a:b\", $$ :c $$, $t$:d$t$;",
            "SELECT 1 -- as:it\n, 2 /* is:it */;",
            "INSERT INTO `a:b` VALUES ('it''s:me');",
        ] {
            assert_eq!(sent(text), [text, text]);
        }
        assert_eq!(
            sent("\\set x 1\nSELECT ':nothing', :x, '}:zero';"),
            ["SELECT ':nothing', 7, '}:zero';", "SELECT ':nothing', $1, '}:zero';"]
        );
    }

    #[test]
    fn a_name_in_quotes_that_has_a_value_or_is_like_one_is_a_variable() {
        for (text, expected) in [
            ("\\set x 1\nSELECT ':x';", "SELECT '$1';"),
            ("SELECT ':given', ':gven', ':scale';", "SELECT '$1', '$2', '$3';"),
            ("SELECT 1 AS total \\gset\nSELECT ':total', ':totally';", "SELECT '$1', ':totally';"),
            (
                "SELECT count(*) AS n \\gset of_\nSELECT ':of_n', ':n', ':of_b';",
                "SELECT '$1', ':n', ':of_b';",
            ),
            ("SELECT * FROM t \\gset\nSELECT ':any';", "SELECT '$1';"),
        ] {
            assert_eq!(sent(text)[1], expected);
        }
    }

    #[test]
    fn a_name_in_quotes_behind_a_colon_is_its_value_in_these_quotes() {
        for (text, expected) in [
            // Nothing changes these.
            ("SELECT :'given';", ["SELECT 'O''Neil \"x\"';"; 2]),
            ("SELECT :\"given\";", ["SELECT \"O'Neil \"\"x\"\"\";"; 2]),
            ("SELECT date :'given'::date;", ["SELECT date 'O''Neil \"x\"'::date;"; 2]),
            ("SELECT :'path', :\"path\";", ["SELECT E'C:\\\\x', \"C:\\x\";", "SELECT $1, \"C:\\x\";"]),
            ("\\set x 1\nSELECT :'x', :x;", ["SELECT '7', 7;", "SELECT $1, $2;"]),
            ("SELECT 1 AS x \\gset\nSELECT :'x'\n, :\"x\";", ["SELECT '7'\n, \"7\";", "SELECT $1\n, $2;"]),
            // No parameters.
            (
                "SELECT a:'given', a::\"given\" -- :'given'\n;",
                ["SELECT a:'given', a::\"given\" -- :'given'\n;"; 2],
            ),
            ("SELECT $$ :'given' $$, ':' 'given';", ["SELECT $$ :'given' $$, ':' 'given';"; 2]),
        ] {
            assert_eq!(sent(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_may_change_is_found() {
        let found = |text: &str| {
            let (mut names, given) = (Names::new(), [("t".to_owned(), "a".to_owned())].into());
            let script = parse_with_text("x.sql", text, Protocol::Simple, &mut names, &given).unwrap();
            changing_name(&script, &names).map(|(name, line)| format!("{name} {line}"))
        };
        assert_eq!(found("SELECT :'u'\n FROM :\"t\";"), None);
        assert_eq!(found("\\set t 1\nSELECT 1,\n 2 FROM :\"t\";").as_deref(), Some("t 3"));
    }
}
