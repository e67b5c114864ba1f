//! Plans of MariaDB, `ANALYZE FORMAT=JSON`. What a step reads from stands in it as an object, or as a list of objects, by the name of
//! its kind; what it says of itself stands in it as values.

use dyno_results::plan::PlanNode;
use serde_json::{Map, Value};

use super::{number, shown};

/// Objects that are no steps.
const FIGURES: [&str; 2] = ["r_engine_stats", "r_icp_filtered"];
/// Values that are figures, or are told by the step's name.
const NO_DETAILS: [&str; 12] = [
    "table_name",
    "access_type",
    "key",
    "rows",
    "filtered",
    "select_id",
    "cost",
    "loops",
    "used_key_parts",
    "key_length",
    "possible_keys",
    "query_time_in_progress_ms",
];

pub(super) fn read(answer: &Value) -> Option<Vec<PlanNode>> {
    let mut nodes = Vec::new();
    add("query_block", answer.get("query_block")?.as_object()?, 0, &mut nodes);
    Some(nodes)
}

fn add(kind: &str, step: &Map<String, Value>, depth: u32, nodes: &mut Vec<PlanNode>) {
    let text = |key: &str| step.get(key).and_then(Value::as_str).map(str::to_owned);
    let figure = |key: &str| step.get(key).and_then(number);
    let share = |key: &str| figure(key).map_or(1.0, |percent| percent / 100.0);
    let engine = |key: &str| step.get("r_engine_stats").and_then(|stats| stats.get(key)?.as_u64());
    // Only that of a block has the steps in it.
    let is_block = kind == "query_block";
    let times = ["r_table_time_ms", "r_other_time_ms", "r_total_time_ms"].map(figure);
    let own_ms = times.into_iter().flatten().reduce(|one, other| one + other).filter(|_| !is_block);
    let pages_read = engine("pages_read_count").or(engine("pages_accessed").map(|_| 0));
    nodes.push(PlanNode {
        depth,
        operation: operation(kind, text("access_type").as_deref()),
        object: text("table_name"),
        index: text("key"),
        details: step.iter().filter_map(|(key, value)| detail(key, value)).collect(),
        rows_planned: figure("rows").map(|rows| rows * share("filtered")),
        rows: figure("r_rows").map(|rows| rows * share("r_filtered")),
        loops: figure("r_loops"),
        time_ms: figure("r_total_time_ms").filter(|_| is_block),
        own_ms,
        pages_hit: engine("pages_accessed").map(|all| all.saturating_sub(pages_read.unwrap_or(0))),
        pages_read,
        workers: None,
        rows_off: None,
    });
    below(step, depth + 1, nodes);
}

/// Adds the steps that stand in one.
fn below(step: &Map<String, Value>, depth: u32, nodes: &mut Vec<PlanNode>) {
    for (kind, value) in step.iter().filter(|(kind, _)| !FIGURES.contains(&kind.as_str())) {
        match value {
            Value::Object(step) => add(kind, step, depth, nodes),
            Value::Array(all) if all.iter().any(Value::is_object) => {
                // A list of what is done together; each of it has its kind as its only name.
                nodes.push(PlanNode { depth, operation: operation(kind, None), ..PlanNode::default() });
                all.iter().filter_map(Value::as_object).for_each(|step| below(step, depth + 1, nodes));
            }
            _ => {}
        }
    }
}

/// In words, as the documents of the product have them.
fn operation(kind: &str, access: Option<&str>) -> String {
    let words = match (kind, access) {
        ("table", Some("ALL")) => "Table scan",
        ("table", Some("index")) => "Index scan",
        ("table", Some("range")) => "Index range scan",
        ("table", Some("ref")) => "Index lookup",
        ("table", Some("eq_ref")) => "Single-row index lookup",
        ("table", Some(access)) => return format!("Table access {access}"),
        _ => kind,
    };
    let words = words.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// `attached_condition: a > 1`
fn detail(key: &str, value: &Value) -> Option<String> {
    let is_figure = key.starts_with("r_") || NO_DETAILS.contains(&key);
    let value = shown(value).filter(|_| !is_figure)?;
    Some(format!("{}: {value}", key.replace('_', " ")))
}
