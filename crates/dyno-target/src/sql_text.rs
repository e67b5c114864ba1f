//! SQL for servers that take one statement for each request, with its values as literals whose escapes begin with a backslash.

use std::borrow::Cow;
use std::fmt::Write as _;

use dyno_engine::driver::{Operation, Statement, Value, Values};
use dyno_results::sql_text::{Piece, Syntax, behind_comments, never_ends, pieces, statements};

/// The statements that an operation comes to, where those that a session was opened with are `known`.
pub(crate) fn of_operation<'a>(
    operation: Operation<'a>,
    known: &[Statement],
    syntax: Syntax,
) -> Vec<Cow<'a, str>> {
    match operation {
        Operation::Sql(sql) => statements(sql, syntax).into_iter().map(Cow::Borrowed).collect(),
        Operation::Statement { id, values } => {
            let statement = known.get(usize::from(id.0));
            statement.map(|statement| with_values(statement, values).into()).into_iter().collect()
        }
    }
}

/// The words of a statement.
#[derive(Debug, Default)]
pub(crate) struct Words<'a> {
    pub(crate) code: Vec<&'a str>,
    pub(crate) quoted: Vec<&'a str>,
}

/// The statements of a text of an unknown product. A backslash in quotes means something to some of them only: if the quotes end in
/// one reading only, it is that, and otherwise both count.
pub(crate) fn readings(sql: &str) -> impl Iterator<Item = Vec<Words<'_>>> {
    let all = [false, true].map(|backslashes| pieces(sql, Syntax::ANY.with_backslashes(backslashes)));
    let none_ends = all.iter().all(|pieces| never_ends(pieces));
    all.into_iter().filter(move |pieces| none_ends || !never_ends(pieces)).map(|pieces| words(&pieces))
}

/// The words of a text by pieces that a semicolon ends, without those of comments.
fn words<'a>(pieces: &[(Piece, &'a str)]) -> Vec<Words<'a>> {
    let mut found = vec![Words::default()];
    for (piece, text) in pieces {
        let Some(own) = found.last_mut() else { return found };
        match piece {
            Piece::Semicolon => found.push(Words::default()),
            Piece::Quoted => own.quoted.extend(split(text, '_')),
            Piece::Code => own.code.extend(split(text, '$')),
            Piece::Comment => {
                // MySQL reads it, from behind the number of a version on.
                let Some(code) = text.strip_prefix("/*!") else { continue };
                let inner = pieces_of_code(code.trim_start_matches(|c: char| c.is_ascii_digit()));
                let mut inner = words(&inner).into_iter();
                if let Some(first) = inner.next() {
                    own.code.extend(first.code);
                    own.quoted.extend(first.quoted);
                }
                found.extend(inner);
            }
        }
    }
    found
}

fn pieces_of_code(code: &str) -> Vec<(Piece, &str)> {
    pieces(code.trim_end_matches("*/"), Syntax::ANY)
}

/// The words of a piece, in which this sign may stand beside `_`.
fn split(text: &str, also: char) -> impl Iterator<Item = &str> {
    let words = text.split(move |c: char| !(c.is_alphanumeric() || c == '_' || c == also));
    words.filter(|word| !word.is_empty())
}

/// Whether a statement's answer is rows that are sent while it still runs.
pub(crate) fn returns_rows(sql: &str, syntax: Syntax) -> bool {
    const WORDS: [&str; 9] =
        ["select", "with", "show", "describe", "desc", "explain", "exists", "from", "values"];
    let sql = behind_comments(sql, syntax);
    let word: String = sql.chars().take_while(char::is_ascii_alphabetic).collect();
    sql.starts_with('(') || WORDS.iter().any(|it| it.eq_ignore_ascii_case(&word))
}

/// A statement with its values in the place of the parameters; one without a value is NULL.
pub(crate) fn with_values(statement: &Statement, values: Values<'_>) -> String {
    let values: Vec<Value<'_>> = values.iter().collect();
    statement.with_placeholders(|sql, index| literal(values.get(index).copied().unwrap_or(Value::Null), sql))
}

fn literal(value: Value<'_>, sql: &mut String) {
    // Writing into a string cannot fail.
    let _ = match value {
        Value::Null => write!(sql, "NULL"),
        Value::Integer(value) => write!(sql, "{value}"),
        Value::Double(value) => write!(sql, "{value:e}"),
        // A literal with a point may be a double.
        Value::Decimal(digits) => {
            let places = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
            write!(sql, "CAST('{digits}' AS DECIMAL(38, {places}))")
        }
        Value::Text(text) => {
            let text = String::from_utf8_lossy(text).replace('\\', r"\\").replace('\'', r"\'");
            write!(sql, "'{text}'")
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_effects() {
        for sql in [
            "SELECT 1",
            " with x as (select 1) select 2",
            "(SELECT 1) UNION ALL SELECT 2",
            "show tables",
            "-- why\n/* what */ SELECT 1",
        ] {
            assert!(returns_rows(sql, Syntax::ANY), "{sql}");
        }
        for sql in ["INSERT INTO t SELECT 1", "CREATE TABLE t (a Int8)", "", "selecting", "-- SELECT"] {
            assert!(!returns_rows(sql, Syntax::ANY), "{sql}");
        }
    }

    #[test]
    fn literals_read_back_as_the_value() {
        let written = |value| {
            let mut sql = String::new();
            literal(value, &mut sql);
            sql
        };
        assert_eq!(written(Value::Null), "NULL");
        assert_eq!(written(Value::Integer(-7)), "-7");
        assert_eq!(written(Value::Double(0.5)), "5e-1");
        let decimal = Value::Decimal("-12345678901234567.89");
        assert_eq!(written(decimal), "CAST('-12345678901234567.89' AS DECIMAL(38, 2))");
        assert_eq!(written(Value::Text(br"it's a\b")), r"'it\'s a\\b'");
    }
}
