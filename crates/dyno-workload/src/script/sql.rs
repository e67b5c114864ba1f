//! An SQL command: its text cut at the variables, as a query is sent in each of the modes.

use super::names::{continues_name, starts_name};
use super::{Names, Operand, Protocol, Quote, Slot, Variables};
use crate::durable::Durable;
use crate::statements::{kind, statements};
use dyno_engine::request::QueryKind;

/// One SQL command: what is sent in one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Sql {
    /// The text and the variables in it, for the simple protocol. Empty in the other modes.
    pub pieces: Box<[Operand]>,
    /// The text with `$1`, `$2`… in place of the variables, for the extended protocol. Empty in simple mode.
    pub text: Box<[u8]>,
    /// The variables that `$1`, `$2`… stand for; each use has its own. Empty in simple mode.
    pub parameters: Box<[Slot]>,
    /// `\gset` or `\aset` after it.
    pub gset: Option<Gset>,
    /// What it may have made durable where its answer does not come.
    pub(crate) durable: Durable,
    /// For the count of the run's queries.
    pub(crate) kind: QueryKind,
}

/// What `\gset` and `\aset` do with the columns of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gset {
    /// Stands before each column's name in the variable's name.
    pub prefix: String,
    /// `\aset`: of every statement's result. `\gset`: of the last one only, which must have one row.
    pub every: bool,
}

/// How many parameters a command may have.
pub(super) const PARAMETERS_MAX: usize = 255;

/// What stands before the last word of a statement, where it is this one.
fn before_word<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
    let (before, last) = text.split_at(text.len().checked_sub(word.len())?);
    let is_word = last.eq_ignore_ascii_case(word) && before.last().is_none_or(u8::is_ascii_whitespace);
    is_word.then_some(before.trim_ascii_end())
}

impl Sql {
    /// With the variables that stand for elements of arrays; `None` if there are too many variables for parameters.
    pub(super) fn new(text: &[u8], mode: Protocol, names: &mut Names) -> Option<(Self, Vec<Slot>)> {
        let (pieces, elements) = cut(text, names);
        Some((Self::of_pieces(pieces, mode)?, elements))
    }

    /// Leaves out FOR UPDATE at the end.
    pub(crate) fn lock_no_rows(&mut self) {
        let last = match self.pieces.last_mut() {
            Some(Operand::Text(last)) => last,
            Some(_) => return,
            None => &mut self.text,
        };
        let shorter = before_word(last, b"update").and_then(|text| before_word(text, b"for")).map(Box::from);
        if let Some(shorter) = shorter {
            *last = shorter;
        }
    }

    /// Of a text without variables.
    pub(crate) fn plain(text: &str, mode: Protocol) -> Self {
        let pieces = vec![Operand::Text(text.as_bytes().into())];
        Self::of_pieces(pieces, mode).unwrap_or_else(|| unreachable!("it has no parameters"))
    }

    /// The same of texts and variables side by side.
    pub(super) fn of_pieces(pieces: Vec<Operand>, mode: Protocol) -> Option<Self> {
        let words = pieces.iter().map(|piece| match piece {
            Operand::Text(text) => String::from_utf8_lossy(text),
            Operand::Variable(_) | Operand::Quoted(..) => "0".into(),
        });
        let words = words.collect::<String>();
        let kind = match statements(&words).as_slice() {
            [only] => kind(only),
            _ => QueryKind::Other,
        };
        let nothing = Self {
            pieces: Box::default(),
            text: Box::default(),
            parameters: Box::default(),
            gset: None,
            durable: Durable::of(&words),
            kind,
        };
        if mode == Protocol::Simple {
            return Some(Self { pieces: pieces.into(), ..nothing });
        }
        let (mut text, mut parameters) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Operand::Text(piece) => text.extend_from_slice(&piece),
                // A parameter is a literal already; a name cannot be one.
                Operand::Variable(slot) | Operand::Quoted(slot, _) => {
                    parameters.push(slot);
                    text.extend_from_slice(format!("${}", parameters.len()).as_bytes());
                }
            }
        }
        (parameters.len() <= PARAMETERS_MAX).then(|| Self {
            text: text.into(),
            parameters: parameters.into(),
            ..nothing
        })
    }

    /// The first variable in it that has no value.
    pub(crate) fn first_unset(&self, variables: &Variables) -> Option<Slot> {
        let in_pieces = self.pieces.iter().filter_map(|piece| match piece {
            Operand::Variable(slot) | Operand::Quoted(slot, _) => Some(slot),
            Operand::Text(_) => None,
        });
        in_pieces.chain(&self.parameters).find(|slot| !variables.is_set(**slot)).copied()
    }

    /// The text as the script has it with the values of these variables, or with the parameters in place of all.
    pub(crate) fn written(&self, names: &Names, known: &Variables) -> String {
        let mut text = self.text.to_vec();
        self.write_simple(known, names, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Appends the text with the variables' values in it. An unset variable stays as it is written: `:x`.
    pub fn write_simple(&self, variables: &Variables, names: &Names, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Operand::Text(text) => out.extend_from_slice(text),
                Operand::Variable(slot) => {
                    if !variables.write_text(*slot, out) {
                        out.push(b':');
                        out.extend_from_slice(names.bytes(*slot));
                    }
                }
                Operand::Quoted(slot, quote) => {
                    let begin = out.len();
                    if variables.write_text(*slot, out) {
                        let value = out.split_off(begin);
                        write_quoted(&value, *quote, out);
                    } else {
                        out.extend_from_slice(piece.written(names).as_bytes());
                    }
                }
            }
        }
    }
}

/// Appends a value in quotes, as psql does: with a backslash in it a text has a form of its own, which servers read alike whatever
/// their settings.
pub(super) fn write_quoted(value: &[u8], quote: Quote, out: &mut Vec<u8>) {
    let sign = quote.sign();
    let has_escapes = quote == Quote::Single && value.contains(&b'\\');
    if has_escapes {
        out.push(b'E');
    }
    out.push(sign);
    for byte in value {
        if *byte == sign || (has_escapes && *byte == b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(sign);
}

/// Cuts a text at its variables: a single colon, and a name, wherever they stand, also between quotes. Behind the name of an array
/// of the script there may be the number of an element.
fn cut(text: &[u8], names: &mut Names) -> (Vec<Operand>, Vec<Slot>) {
    let (mut pieces, mut elements) = (Vec::new(), Vec::new());
    // Up to here the text is in pieces, and up to there it has been looked at.
    let (mut done, mut at) = (0, 0);
    while let Some(colon) = text[at..].iter().position(|byte| *byte == b':').map(|found| at + found) {
        let behind = &text[colon + 1..];
        if behind.first().is_some_and(|byte| starts_name(*byte)) {
            let length = behind.iter().take_while(|byte| continues_name(**byte)).count();
            let element = element_length(&behind[length..]).filter(|_| names.is_array(&behind[..length]));
            let length = length + element.unwrap_or(0);
            if colon > done {
                pieces.push(Operand::Text(text[done..colon].into()));
            }
            let slot = names.slot_of_bytes(&behind[..length]);
            pieces.push(Operand::Variable(slot));
            if element.is_some() && !elements.contains(&slot) {
                elements.push(slot);
            }
            at = colon + 1 + length;
            done = at;
        } else {
            // A name behind more than one colon is none.
            at = colon + 1 + behind.iter().take_while(|byte| **byte == b':').count();
        }
    }
    if done < text.len() {
        pieces.push(Operand::Text(text[done..].into()));
    }
    (pieces, elements)
}

/// How long `[5]` or `[:i]` is at the beginning of a text.
fn element_length(text: &[u8]) -> Option<usize> {
    let number = text.strip_prefix(b"[")?;
    let colon = usize::from(number.first() == Some(&b':'));
    let length = number[colon..].iter().take_while(|byte| continues_name(**byte)).count();
    let end = colon + length;
    (length > 0 && number.get(end) == Some(&b']')).then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Value;

    fn extended(text: &str) -> (String, Vec<String>) {
        let mut names = Names::new();
        let sql = Sql::new(text.as_bytes(), Protocol::Extended, &mut names).unwrap().0;
        let parameters = sql.parameters.iter().map(|slot| names.name(*slot).to_owned());
        (String::from_utf8(sql.text.to_vec()).unwrap(), parameters.collect())
    }

    #[test]
    fn variables_have_one_colon_and_a_name() {
        let (text, parameters) = extended("select :a, x::int, '12:30', ':b', :a:c, :1d, :é_1;");
        assert_eq!(text, "select $1, x::int, '12:30', '$2', $3$4, :1d, $5;");
        assert_eq!(parameters, ["a", "b", "a", "c", "é_1"]);
    }

    #[test]
    fn values_are_put_into_the_text() {
        let mut names = Names::new();
        let sql = Sql::new(b"select :x, :y, ':x';", Protocol::Simple, &mut names).unwrap().0;
        let mut variables = Variables::new(&names);
        variables.set(names.slot("x"), Value::Double(0.25));
        let mut out = Vec::new();
        sql.write_simple(&variables, &names, &mut out);
        assert_eq!(out, b"select 0.25, :y, '0.25';");
    }

    #[test]
    fn parameters_are_limited() {
        let text = ":x ".repeat(PARAMETERS_MAX);
        let mut names = Names::new();
        assert!(Sql::new(text.as_bytes(), Protocol::Prepared, &mut names).is_some());
        let more = format!("{text}:x");
        assert!(Sql::new(more.as_bytes(), Protocol::Prepared, &mut names).is_none());
        assert!(Sql::new(more.as_bytes(), Protocol::Simple, &mut names).is_some());
    }
}
