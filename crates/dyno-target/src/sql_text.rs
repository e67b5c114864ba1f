//! SQL for servers that take one statement for each request, with its values as literals whose escapes begin with a backslash.

use std::borrow::Cow;
use std::fmt::Write as _;

use dyno_engine::driver::{Operation, Statement, Value, Values};

/// The statements that an operation comes to, where those that a session was opened with are `known`.
pub(crate) fn of_operation<'a>(operation: Operation<'a>, known: &[Statement]) -> Vec<Cow<'a, str>> {
    match operation {
        Operation::Sql(sql) => statements(sql).into_iter().map(Cow::Borrowed).collect(),
        Operation::Statement { id, values } => {
            let statement = known.get(usize::from(id.0));
            statement.map(|statement| with_values(statement, values).into()).into_iter().collect()
        }
    }
}

/// The statements of a text: a `;` ends one where it stands in no quotes and in no comment.
pub(crate) fn statements(sql: &str) -> Vec<&str> {
    let bytes = sql.as_bytes();
    let (mut found, mut begun, mut at) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b';' => {
                found.push(sql.get(begun..at).unwrap_or_default());
                begun = at + 1;
                begun
            }
            b'\'' | b'"' | b'`' => behind_quotes(bytes, at),
            b'-' if bytes.get(at + 1) == Some(&b'-') => behind(sql, at, "\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => behind(sql, at + 2, "*/"),
            _ => at + 1,
        };
    }
    found.push(sql.get(begun..).unwrap_or_default());
    found.iter().map(|one| one.trim()).filter(|one| !one.is_empty()).collect()
}

fn behind(sql: &str, from: usize, end: &str) -> usize {
    let rest = sql.get(from..).unwrap_or_default();
    rest.find(end).map_or(sql.len(), |found| from + found + end.len())
}

/// A doubled quote ends quotes and begins others, which comes to the same.
fn behind_quotes(bytes: &[u8], opened: usize) -> usize {
    let mut at = opened + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if Some(&byte) == bytes.get(opened) => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Whether a statement's answer is rows that are sent while it still runs.
pub(crate) fn returns_rows(sql: &str) -> bool {
    const WORDS: [&str; 9] =
        ["select", "with", "show", "describe", "desc", "explain", "exists", "from", "values"];
    let word: String = sql.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    sql.trim_start().starts_with('(') || WORDS.iter().any(|it| it.eq_ignore_ascii_case(&word))
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
    fn a_semicolon_ends_a_statement_only_where_it_is_one() {
        for (sql, expected) in [
            ("SELECT 1", &["SELECT 1"][..]),
            ("SELECT 1; SELECT 2 ;", &["SELECT 1", "SELECT 2"]),
            (r"SELECT ';', 'it\';s', 'a''b;' ; x", &[r"SELECT ';', 'it\';s', 'a''b;'", "x"]),
            ("SELECT `a;b`, \"c;d\" -- e;f\n; g", &["SELECT `a;b`, \"c;d\" -- e;f", "g"]),
            ("a /* ; */ b; c", &["a /* ; */ b", "c"]),
            ("'é;'; é", &["'é;'", "é"]),
            (" ;; ", &[]),
            ("'never ends; ", &["'never ends;"]),
            (r"'ends so\", &[r"'ends so\"]),
            ("/* never ends; ", &["/* never ends;"]),
        ] {
            assert_eq!(statements(sql), expected, "{sql}");
        }
    }

    #[test]
    fn rows_are_told_from_effects() {
        for sql in
            ["SELECT 1", " with x as (select 1) select 2", "(SELECT 1) UNION ALL SELECT 2", "show tables"]
        {
            assert!(returns_rows(sql), "{sql}");
        }
        for sql in ["INSERT INTO t SELECT 1", "CREATE TABLE t (a Int8)", "", "selecting"] {
            assert!(!returns_rows(sql), "{sql}");
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
        assert_eq!(written(Value::Text(br"it's a\b")), r"'it\'s a\\b'");
    }
}
