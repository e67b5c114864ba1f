//! Parameters in the text of a query, written as for psql: `:name` stands for the value as it is, `:'name'` for a literal and
//! `:"name"` for a quoted name. Nothing is replaced in quotes, comments and dollar quotes; a colon behind a letter, a digit, a
//! bracket or another colon begins none, so casts (`::int`), slices (`a[1:n]`) and paths (`a:b`) stay. In square brackets one without a
//! value stays too (`a[:n]`), as by psql. Pure.

use std::collections::BTreeMap;

use dyno_results::sql_text::{Piece, Syntax, readable_pieces};

/// A text with the values of its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub sql: String,
    /// Those that occur, in the order of their names, as `name=value`.
    pub values: Vec<String>,
}

/// A parameter that cannot be replaced, and the place in the text where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotReplaced {
    pub name: String,
    pub at: usize,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    NoValue,
    /// Some servers read it in quotes as the beginning of an escape, and others as a letter.
    Backslash,
}

/// The statement with the values in the places of their parameters.
pub(crate) fn replace(
    sql: &str,
    values: &BTreeMap<String, String>,
    syntax: Syntax,
) -> Result<Replaced, NotReplaced> {
    let mut replaced = String::with_capacity(sql.len());
    let mut used = BTreeMap::new();
    let not_replaced = |name: &str, at, why| NotReplaced { name: name.to_owned(), at, why };
    let mut value_of = |name: &str, at: usize| -> Result<&String, NotReplaced> {
        let (name, value) = values.get_key_value(name).ok_or_else(|| not_replaced(name, at, Why::NoValue))?;
        used.insert(name.clone(), value.clone());
        Ok(value)
    };
    let (mut at, mut brackets) = (0, 0_usize);
    for (kind, piece) in readable_pieces(sql, syntax) {
        match kind {
            Piece::Code => {
                let mut rest = piece;
                while let Some(colon) = parameter(rest, &replaced) {
                    let (before, behind) = (&rest[..colon], &rest[colon + 1..]);
                    let name = &behind[..name_length(behind)];
                    replaced += before;
                    brackets = open_brackets(brackets, before);
                    if brackets > 0 && !values.contains_key(name) {
                        replaced.push(':');
                        replaced += name;
                    } else {
                        replaced += value_of(name, at + piece.len() - rest.len() + colon)?;
                    }
                    rest = &behind[name.len()..];
                }
                brackets = open_brackets(brackets, rest);
                replaced += rest;
            }
            Piece::Quoted if let Some((quote, name)) = quoted_name(&replaced, piece) => {
                let value = value_of(name, at - 1)?;
                if value.contains('\\') {
                    return Err(not_replaced(name, at - 1, Why::Backslash));
                }
                replaced.pop();
                replaced += quote;
                replaced += &value.replace(quote, &quote.repeat(2));
                replaced += quote;
            }
            _ => replaced += piece,
        }
        at += piece.len();
    }
    let values = used.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Replaced { sql: replaced, values })
}

/// Square brackets that are open behind a piece of code, of so many before it.
fn open_brackets(before: usize, code: &str) -> usize {
    code.chars().fold(before, |open, sign| match sign {
        '[' => open + 1,
        ']' => open.saturating_sub(1),
        _ => open,
    })
}

/// Where the first parameter of a piece of code begins, which follows `before`.
fn parameter(code: &str, before: &str) -> Option<usize> {
    let colons = code.match_indices(':').map(|(at, _)| at);
    let is_one = |at: &usize| {
        let last = code[..*at].chars().next_back().or_else(|| before.chars().next_back());
        may_begin_behind(last) && name_length(&code[at + 1..]) > 0
    };
    colons.into_iter().find(is_one)
}

/// Of a piece in quotes that follows `before` the quote and the name of the parameter in it, where it is one.
fn quoted_name<'p>(before: &str, piece: &'p str) -> Option<(&'p str, &'p str)> {
    (begins_parameter(before) && is_quoted_name(piece)).then(|| (&piece[..1], &piece[1..piece.len() - 1]))
}

/// The parameters in quotes of a text, `:'name'` and `:"name"`: where each begins with its colon, its quote and its name.
pub(crate) fn quoted_names(sql: &str, syntax: Syntax) -> Vec<(usize, &str, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (kind, piece) in readable_pieces(sql, syntax) {
        if kind == Piece::Quoted
            && let Some((quote, name)) = quoted_name(&sql[..at], piece)
        {
            found.push((at - 1, quote, name));
        }
        at += piece.len();
    }
    found
}

/// Whether the text ends with the colon of a parameter.
fn begins_parameter(text: &str) -> bool {
    text.strip_suffix(':').is_some_and(|before| may_begin_behind(before.chars().next_back()))
}

fn may_begin_behind(letter: Option<char>) -> bool {
    letter.is_none_or(|letter| !(letter.is_alphanumeric() || "_:])\"'`".contains(letter)))
}

/// How long the name is with which a text begins.
fn name_length(text: &str) -> usize {
    if text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return 0;
    }
    text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(text.len())
}

/// `'name'` or `"name"`
fn is_quoted_name(quoted: &str) -> bool {
    let inner = ['\'', '"'].iter().find_map(|quote| quoted.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.is_some_and(|name| !name.is_empty() && name_length(name) == name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(sql: &str) -> Result<Replaced, NotReplaced> {
        let values =
            [("day", "1998-09-02"), ("n", "5"), ("who", "O'Neil \"x\""), ("col", "a"), ("path", "C:\\")];
        replace(sql, &values.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), Syntax::ANY)
    }

    #[test]
    fn a_value_stands_as_it_is_as_a_literal_and_as_a_name() {
        for (text, expected) in [
            ("limit :n", "limit 5"),
            (":n+:n,(:n)", "5+5,(5)"),
            ("d = :'day' and :\"col\" > 1", "d = '1998-09-02' and \"a\" > 1"),
            ("= :'who'", "= 'O''Neil \"x\"'"),
            ("date :'day'::date", "date '1998-09-02'::date"),
            ("a between :n and :n", "a between 5 and 5"),
            ("x[:n], x[1] + :n", "x[5], x[1] + 5"),
        ] {
            assert_eq!(with(text).unwrap().sql, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_parameter_stays() {
        for text in [
            "select '12:n', \":n\", `:n`",
            "select a::n, b :: int, a[1:n], f(x):n",
            "select v:n.b, v:\"n\" from t",
            "select 1 -- :nothing\n/* :nothing */",
            "select $$ :nothing $$, $t$ :'nothing' $t$",
            "select @a := 1, ':' , 'x':'n'",
            "select a #>> '{b}', 1:2",
            "select x[:2], x[ :other], y[x[:other]:other]",
        ] {
            assert_eq!(with(text), Ok(Replaced { sql: text.to_owned(), values: Vec::new() }));
        }
    }

    #[test]
    fn the_values_that_were_used_are_known_and_one_that_is_missing_is_named() {
        assert_eq!(with("select :n, :'day', :n").unwrap().values, ["day=1998-09-02", "n=5"]);
        let other = || Err(NotReplaced { name: "other".to_owned(), at: 11, why: Why::NoValue });
        assert_eq!([with("select 1,\n :other"), with("select é, :'other'")], [other(), other()]);
        assert!(with("select x[1], :other").is_err());
    }

    #[test]
    fn a_backslash_is_in_no_quotes_that_servers_read_in_two_ways() {
        assert_eq!(with("select $$:path$$, :path").unwrap().sql, "select $$:path$$, C:\\");
        let refused = NotReplaced { name: "path".to_owned(), at: 7, why: Why::Backslash };
        assert_eq!(with("select :'path'"), Err(refused));
    }
}
