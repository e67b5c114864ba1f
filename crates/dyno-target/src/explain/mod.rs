//! How a product is asked for the plan of a query, and what it says read as steps. What is sent is a fact of the dialect; each
//! form of answer has a file here, whose reader is pure. What no reader understands stays the text that it is.

mod clickhouse;
mod duckdb;
mod mariadb;
mod mysql;
mod postgres;

use std::time::Duration;

use dyno_results::plan::{PlanNode, complete_times};
use serde_json::Value;

use crate::connection::{Connection, QueryError, TextRow, TextRows};

/// Steps of a plan; of more its text alone is kept.
const NODES_MAX: usize = 2_000;
/// Of a text that is kept.
const TEXT_BYTES_MAX: usize = 1 << 18;

/// How a product is asked for a plan: words that stand before a query, the best first. One that a server refuses is followed
/// by the next.
#[derive(Debug, Clone, Copy)]
pub struct Explain {
    /// Answers in rows of text, without running the query.
    pub plain: &'static str,
    /// The same in a form that is read.
    pub estimate: &'static [Form],
    /// Runs the query, and tells rows and times; empty where the product cannot.
    pub analyze: &'static [Form],
}

impl Explain {
    /// `EXPLAIN` alone, which answers in text.
    pub(crate) const TEXT: Self = Self { plain: "EXPLAIN", estimate: &[], analyze: &[] };
}

/// A way to ask.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub words: &'static str,
    pub answer: Answer,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Text,
    /// PostgreSQL's FORMAT JSON.
    PostgresJson,
    /// MySQL's FORMAT=TREE.
    MySqlTree,
    /// MariaDB's FORMAT=JSON.
    MariaDbJson,
    /// ClickHouse's `json = 1`.
    ClickHouseJson,
    /// DuckDB's FORMAT JSON.
    DuckDbJson,
    /// The columns `id`, `parent` and `detail`.
    SqliteRows,
}

/// What a product says of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The query was run for it.
    pub executed: bool,
    pub nodes: Vec<PlanNode>,
    pub text: String,
}

/// Has a query explained, by running it where `analyze` says so and the product can.
///
/// # Errors
/// That of the last way to ask; a query that takes longer than `limit` is cancelled on the server, and is no reason to ask in
/// another way.
pub fn explain(
    connection: &mut Connection,
    explain: &Explain,
    (sql, analyze): (&str, bool),
    limit: Duration,
) -> Result<Explained, QueryError> {
    let executed = analyze && !explain.analyze.is_empty();
    let forms = if executed { explain.analyze } else { explain.estimate };
    let plain = [Form { words: explain.plain, answer: Answer::Text }];
    let mut refused = None;
    for form in forms.iter().chain(plain.iter().filter(|_| !executed)) {
        match connection.query_within(&format!("{} {sql}", form.words), limit) {
            Ok(rows) => return Ok(read(form.answer, executed, &rows)),
            Err(error @ QueryError::Server { .. }) if !connection.is_broken() => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or(QueryError::Broken))
}

fn read(answer: Answer, executed: bool, rows: &TextRows) -> Explained {
    let lines: Vec<String> = rows.iter().map(|row| line(row.iter().map(|(_, value)| value))).collect();
    let text = lines.join("\n");
    // Of several columns the last has the plan.
    let whole = rows.iter().filter_map(|row| row.iter().last()?.1).collect::<Vec<_>>().join("\n");
    let json = || serde_json::from_str::<Value>(&whole).ok();
    let nodes = match answer {
        Answer::Text => None,
        Answer::PostgresJson => json().and_then(|plan| postgres::read(&plan)),
        Answer::MySqlTree => mysql::read(&whole),
        Answer::MariaDbJson => json().and_then(|plan| mariadb::read(&plan)),
        Answer::ClickHouseJson => json().and_then(|plan| clickhouse::read(&plan)),
        Answer::DuckDbJson => json().and_then(|plan| duckdb::read(&plan)),
        Answer::SqliteRows => sqlite(rows),
    };
    let nodes = nodes.filter(|nodes| nodes.len() <= NODES_MAX);
    let text = match answer {
        _ if nodes.is_none() => text,
        Answer::Text | Answer::SqliteRows => text,
        Answer::MySqlTree => whole,
        _ => compact(&whole),
    };
    let mut nodes = nodes.unwrap_or_default();
    complete_times(&mut nodes);
    Explained { executed, nodes, text: cut(text) }
}

/// As much of a text as is stored.
fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

fn line<'v>(values: impl Iterator<Item = Option<&'v str>>) -> String {
    values.map(Option::unwrap_or_default).collect::<Vec<_>>().join(" | ")
}

/// JSON without the blanks at the beginning of its lines, of which it has more than anything else. No text in it has a newline.
fn compact(json: &str) -> String {
    json.lines().map(str::trim_start).collect()
}

/// Rows each of which names the one that reads from it.
fn sqlite(rows: &[TextRow]) -> Option<Vec<PlanNode>> {
    let mut above: Vec<&str> = Vec::new();
    let mut nodes = Vec::new();
    for row in rows {
        let (id, parent, detail) = (row.get("id")?, row.get("parent")?, row.get("detail")?);
        let depth = above.iter().position(|known| *known == parent).map_or(0, |at| at + 1);
        above.truncate(depth);
        above.push(id);
        let (step, condition) = detail.split_at(detail.find(" (").unwrap_or(detail.len()));
        let reads = step.starts_with("SCAN ") || step.starts_with("SEARCH ");
        let (operation, object, index) =
            if reads { split(step, " ", " USING ") } else { (step.to_owned(), None, None) };
        let details = Some(condition.trim().to_owned()).filter(|condition| !condition.is_empty());
        let details = details.into_iter().collect();
        nodes.push(PlanNode {
            depth: depth as u32,
            operation,
            object,
            index,
            details,
            ..PlanNode::default()
        });
    }
    Some(nodes)
}

/// A step in words as its operation, what that is on and by which index: `Index scan on t using k`.
fn split(step: &str, on: &str, using: &str) -> (String, Option<String>, Option<String>) {
    let Some((operation, object)) = step.split_once(on) else { return (step.to_owned(), None, None) };
    match object.split_once(using) {
        Some((object, index)) => (operation.to_owned(), Some(object.to_owned()), Some(index.to_owned())),
        None => (operation.to_owned(), Some(object.to_owned()), None),
    }
}

/// A number that is written as one or as a text.
fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().replace(',', "").parse().ok())
        .filter(|number| number.is_finite())
}

/// A table without its database and schema, which are called otherwise wherever the same data is.
fn table(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// A value as a reader sees it.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(shown).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
