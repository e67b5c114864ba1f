//! Rows in bulk: one INSERT whose rows are lines of one string, which the server takes apart. It reads a string of megabytes at once,
//! and needs seconds for some thousand rows of VALUES.
//!
//! Spark keeps the texts of its last statements and their plans in memory, for its page: megabytes for each batch would fill it. The
//! string is the one row of a table of VALUES, because a plan shows literals, but not the rows of such a table; and the session has
//! it left out of the statement's text.

use std::borrow::Cow;
use std::fmt::Write as _;

use dyno_engine::driver::{Batch, RowSink, Value};
use dyno_wire::server_error::DriverError;

use super::session::HiveSession;

const REFUSED: &str = "no bulk load";
/// Has the server leave long strings out of what it keeps and shows of the session's statements.
const LEAVE_OUT: &str = r"SET spark.sql.redaction.string.regex=(?s)VALUES \('.{1000,}'\)";

/// Escapes in lines, and what they stand for, both as they are written in SQL. The last one makes backslashes.
const UNDONE: [(&str, &str); 4] = [(r"\\t", r"\t"), (r"\\n", r"\n"), (r"\\r", r"\r"), (r"\\s", r"\\")];

/// Adds rows; returns how many. A statement adds all of its rows or fails.
pub(super) fn load(
    session: &mut HiveSession,
    table: &str,
    columns: &[&str],
    rows: &Batch,
) -> Result<u64, DriverError> {
    let Batch::Lines(lines) = rows else { return Err(DriverError::new(REFUSED, "rows come as lines")) };
    let lines = std::str::from_utf8(lines).map_err(|error| DriverError::new(REFUSED, error.to_string()))?;
    session.run(LEAVE_OUT, &mut ())?;
    let mut types = Types::default();
    session.run(&format!("DESCRIBE TABLE {table}"), &mut types)?;
    let types = columns.iter().map(|column| match types.of(column) {
        Some(kind) => Ok((*column, kind)),
        None => Err(DriverError::new(REFUSED, format!("table {table} has no column {column}"))),
    });
    let sql = insert(table, &types.collect::<Result<Vec<_>, _>>()?, lines);
    session.run(&sql, &mut ())?;
    Ok(lines.lines().count() as u64)
}

/// Types of a table's columns, by their names.
#[derive(Default)]
struct Types(Vec<(String, String)>);

impl Types {
    fn of(&self, column: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, kind)| kind.as_str())
    }
}

impl RowSink for Types {
    fn row(&mut self, values: &[Value<'_>]) {
        if let [Value::Text(name), Value::Text(kind), ..] = values {
            let [name, kind] = [name, kind].map(|it| String::from_utf8_lossy(it).into_owned());
            self.0.push((name, kind));
        }
    }
}

fn insert(table: &str, columns: &[(&str, &str)], lines: &str) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let (lines, has_escapes) = one_by_one(lines.strip_suffix('\n').unwrap_or(lines));
    let mut sql = format!("INSERT INTO {table} ({}) SELECT ", names.join(", "));
    for (at, (_, kind)) in columns.iter().enumerate() {
        let before = if at == 0 { "" } else { ", " };
        let mut value = format!(r"NULLIF(v[{at}], '\\N')");
        for (escape, meant) in UNDONE.iter().filter(|_| has_escapes) {
            value = format!("replace({value}, '{escape}', '{meant}')");
        }
        // Writing into a string cannot fail.
        let _ = write!(sql, "{before}CAST({value} AS {kind})");
    }
    sql.reserve(lines.len() + lines.len() / 16);
    sql += r" FROM (SELECT split(line, '\t') AS v FROM (SELECT explode(split(lines, '\n')) AS line FROM VALUES ('";
    // A value's tab, line's end or backslash is an escape.
    for c in lines.chars() {
        match c {
            '\\' => sql += r"\\",
            '\'' => sql += r"\'",
            other => sql.push(other),
        }
    }
    sql + "') AS batch (lines)) AS lines) AS fields"
}

/// Lines whose escapes can be undone one kind after the other: a backslash, `\\`, is `\s`, so that behind each one stands what it
/// escapes. And whether there are any but `\N`.
fn one_by_one(lines: &str) -> (Cow<'_, str>, bool) {
    let mut pairs = lines.split('\\').skip(1);
    if pairs.all(|behind| behind.starts_with('N')) {
        return (Cow::Borrowed(lines), false);
    }
    let mut changed = String::with_capacity(lines.len());
    let mut is_escaped = false;
    for c in lines.chars() {
        changed.push(if is_escaped && c == '\\' { 's' } else { c });
        is_escaped = !is_escaped && c == '\\';
    }
    (Cow::Owned(changed), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines_of_one_string() {
        assert_eq!(
            insert("t", &[("a", "int"), ("b", "char(5)")], "1\tit's\n2\t\\N\n"),
            "INSERT INTO t (a, b) SELECT CAST(NULLIF(v[0], '\\\\N') AS int), CAST(NULLIF(v[1], '\\\\N') AS char(5)) \
             FROM (SELECT split(line, '\\t') AS v FROM (SELECT explode(split(lines, '\\n')) AS line \
             FROM VALUES ('1\tit\\'s\n2\t\\\\N') AS batch (lines)) AS lines) AS fields"
        );
    }

    #[test]
    fn escapes_are_undone_one_kind_after_the_other() {
        assert_eq!(one_by_one("1\t\\N\n"), (Cow::Borrowed("1\t\\N\n"), false));
        let (lines, has_escapes) = one_by_one(r"a\\\nb\tc\\t\N\\N");
        assert_eq!((&*lines, has_escapes), (r"a\s\nb\tc\st\N\sN", true));
        let undone = [(r"\t", "\t"), (r"\n", "\n"), (r"\r", "\r"), (r"\s", r"\")];
        let undo =
            |text: &str| undone.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        assert_eq!(undo(&one_by_one(r"a\\nb\n\\N\r").0), "a\\nb\n\\N\r");
        let sql = insert("t", &[("a", "string")], "x\\\\y\n\n");
        assert_eq!(
            sql,
            "INSERT INTO t (a) SELECT CAST(replace(replace(replace(replace(NULLIF(v[0], '\\\\N'), '\\\\t', '\\t'), '\\\\n', '\\n'), \
             '\\\\r', '\\r'), '\\\\s', '\\\\') AS string) FROM (SELECT split(line, '\\t') AS v FROM (SELECT explode(split(lines, '\\n')) \
             AS line FROM VALUES ('x\\\\sy\n') AS batch (lines)) AS lines) AS fields"
        );
    }
}
