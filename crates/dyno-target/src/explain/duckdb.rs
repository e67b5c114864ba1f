//! Plans of DuckDB, `EXPLAIN (FORMAT JSON)`. Times are of the steps themselves, added up over the threads that worked on them.

use dyno_results::plan::PlanNode;
use serde_json::Value;

use super::{number, shown, table};

/// What runs a query to explain it, and is no step of it.
const WRAPPERS: [&str; 2] = ["EXPLAIN_ANALYZE", "RESULT_COLLECTOR"];

pub(super) fn read(answer: &Value) -> Option<Vec<PlanNode>> {
    let mut nodes = Vec::new();
    match answer {
        Value::Array(plans) => plans.iter().for_each(|plan| add(plan, 0, &mut nodes)),
        // The whole of the query, whose only name is its text.
        query => children(query).for_each(|plan| add(plan, 0, &mut nodes)),
    }
    (!nodes.is_empty()).then_some(nodes)
}

fn children(step: &Value) -> impl Iterator<Item = &Value> {
    step.get("children").and_then(Value::as_array).into_iter().flatten()
}

fn add(step: &Value, depth: u32, nodes: &mut Vec<PlanNode>) {
    let text = |key: &str| step.get(key).and_then(Value::as_str).map(|text| text.trim().to_owned());
    let operation = text("operator_name").or_else(|| text("name")).unwrap_or_default();
    if WRAPPERS.contains(&operation.as_str()) {
        return children(step).for_each(|child| add(child, depth, nodes));
    }
    let figure = |key: &str| step.get(key).and_then(number);
    let extra = step.get("extra_info").and_then(Value::as_object);
    let told = |key: &str| extra.and_then(|extra| extra.get(key));
    let is_detail = |key: &&String| !matches!(key.as_str(), "Table" | "Estimated Cardinality");
    let details = extra.into_iter().flatten().filter(|(key, _)| is_detail(key));
    let rows = figure("operator_cardinality");
    nodes.push(PlanNode {
        depth,
        operation,
        object: told("Table").and_then(shown).map(|name| table(&name)),
        details: details.filter_map(|(key, value)| Some(format!("{key}: {}", shown(value)?))).collect(),
        // 0 where nothing was planned.
        rows_planned: told("Estimated Cardinality").and_then(number).filter(|rows| *rows > 0.0),
        rows,
        loops: rows.map(|_| 1.0),
        own_ms: figure("operator_timing").map(|seconds| seconds * 1e3),
        ..PlanNode::default()
    });
    children(step).for_each(|child| add(child, depth + 1, nodes));
}
