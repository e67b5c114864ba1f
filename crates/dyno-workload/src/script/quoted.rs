//! A colon and a name in quotes or a comment: `to_char(ts, 'HH24:MI:SS')`. pgbench takes it for a variable, in simple mode only
//! if one has that name; here it is text in every mode if none has.

use super::undefined::{SET_BY_PGBENCH, nearest, sets};
use super::{
    Command, Kind, Names, Operand, Protocol, Script, ScriptError, Slot, Sql, parse, parse::too_many,
};
use crate::query_set::quoted;

/// What gives a script's variables their values.
struct Given<'a> {
    /// By `-D` and the script's commands.
    names: Vec<&'a str>,
    /// The prefix of a `\gset` or `\aset`, and the text of its statement.
    results: Vec<(&'a str, String)>,
}

/// Parses a script, in which what stands in quotes or a comment is a variable only if `given` (`-D`) or the script give one of its
/// name a value. One whose name is like such a name stays a variable without a value, because it may be mistyped.
///
/// # Errors
/// As of [`parse`].
pub fn parse_with_text(
    name: &str,
    text: &str,
    mode: Protocol,
    names: &mut Names,
    given: &[&str],
) -> Result<Script, ScriptError> {
    let mut script = parse(name, text.as_bytes(), Protocol::Simple, names)?;
    let given = Given::of(&script, names, given);
    let as_text: Vec<Vec<bool>> =
        script.commands.iter().map(|command| given.are_text(command, names)).collect();
    for (command, as_text) in script.commands.iter_mut().zip(as_text) {
        if let Kind::Sql(sql) = &mut command.kind {
            let gset = sql.gset.take();
            let pieces = std::mem::take(&mut sql.pieces).into_vec();
            let pieces = pieces.into_iter().zip(as_text).map(|(piece, is_text)| match piece {
                Operand::Variable(slot) if is_text => Operand::Text(written(slot, names).into()),
                piece => piece,
            });
            let new = Sql::of_pieces(pieces.collect(), mode).ok_or_else(|| too_many(&command.first_line))?;
            *sql = Sql { gset, ..new };
        }
    }
    Ok(script)
}

impl<'a> Given<'a> {
    fn of(script: &'a Script, names: &'a Names, given: &[&'a str]) -> Self {
        let set = script.commands.iter().filter_map(|command| sets(&command.kind));
        let result = |command: &'a Command| match &command.kind {
            Kind::Sql(sql @ Sql { gset: Some(gset), .. }) => Some((gset.prefix.as_str(), sql.written(names))),
            _ => None,
        };
        Self {
            names: given.iter().copied().chain(set.map(|slot| names.name(slot))).collect(),
            results: script.commands.iter().filter_map(result).collect(),
        }
    }

    /// Of each piece of a command whether it is text.
    fn are_text(&self, command: &Command, names: &Names) -> Vec<bool> {
        let Kind::Sql(sql) = &command.kind else { return Vec::new() };
        let (text, places) = whole(sql, names);
        let quoted = str::from_utf8(&text).map(quoted).unwrap_or_default();
        let is_text = |(piece, at): (&Operand, usize)| match piece {
            Operand::Text(_) => true,
            Operand::Variable(slot) => {
                quoted.iter().any(|range| range.contains(&at)) && self.lacks(names.name(*slot))
            }
        };
        sql.pieces.iter().zip(places).map(is_text).collect()
    }

    /// Whether nothing gives a variable of this name a value, nor one with a name that is like it.
    fn lacks(&self, name: &str) -> bool {
        !SET_BY_PGBENCH.contains(&name)
            && !self.names.contains(&name)
            && nearest(name, self.names.iter().copied()).is_none()
            && !self.results.iter().any(|(prefix, sql)| may_return(sql, name.strip_prefix(prefix)))
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
            Operand::Variable(slot) => text.extend_from_slice(&written(*slot, names)),
        }
    }
    (text, places)
}

fn written(slot: Slot, names: &Names) -> Vec<u8> {
    [b":", names.bytes(slot)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Value, Variables};

    /// What is sent in the simple and the extended protocol, with 7 as the value of `x`.
    fn sent(text: &str) -> [String; 2] {
        let sql = |mode, names: &mut Names| {
            let script = parse_with_text("x.sql", text, mode, names, &["given"]).unwrap();
            let mut all = script.commands.into_iter().filter_map(|command| match command.kind {
                Kind::Sql(sql) => Some(sql),
                _ => None,
            });
            all.next_back().unwrap()
        };
        let mut names = Names::new();
        let simple = sql(Protocol::Simple, &mut names);
        let mut variables = Variables::new(&names);
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
}
