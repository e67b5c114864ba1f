//! Plans of ClickHouse, `EXPLAIN json = 1`: steps without figures. What only computes columns is left out.

use dyno_results::plan::PlanNode;
use serde_json::{Map, Value};

use super::{shown, table};

/// A step that computes columns.
const COMPUTES: &str = "Expression";
/// What is told by the step itself.
const NO_DETAILS: [&str; 4] = ["Node Type", "Node Id", "Description", "Plans"];

pub(super) fn read(answer: &Value) -> Option<Vec<PlanNode>> {
    let mut nodes = Vec::new();
    add(answer.get(0)?.get("Plan")?.as_object()?, 0, &mut nodes);
    (!nodes.is_empty()).then_some(nodes)
}

fn add(plan: &Map<String, Value>, depth: u32, nodes: &mut Vec<PlanNode>) {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).map(str::to_owned);
    let operation = text("Node Type").unwrap_or_default();
    let below = depth + u32::from(operation != COMPUTES);
    if operation != COMPUTES {
        // What reads a table is described by its name.
        let (object, told) = match text("Description") {
            Some(name) if operation.starts_with("ReadFrom") => (Some(table(&name)), None),
            description => (None, description),
        };
        let others = plan.iter().filter(|(key, _)| !NO_DETAILS.contains(&key.as_str()));
        let others = others.filter_map(|(key, value)| Some(format!("{key}: {}", shown(value)?)));
        let details = told.into_iter().chain(others).chain(indexes(plan)).collect();
        nodes.push(PlanNode { depth, operation, object, details, ..PlanNode::default() });
    }
    let plans = plan.get("Plans").and_then(Value::as_array).into_iter().flatten();
    plans.filter_map(Value::as_object).for_each(|plan| add(plan, below, nodes));
}

/// `PrimaryKey: granules 7 of 8`
fn indexes(plan: &Map<String, Value>) -> impl Iterator<Item = String> {
    let all = plan.get("Indexes").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|index| {
        let of = |key: &str| index.get(key).and_then(shown);
        let selected = of("Selected Granules").zip(of("Initial Granules"));
        let selected = selected.map(|(selected, all)| format!(": granules {selected} of {all}"));
        Some(format!("{}{}", of("Type")?, selected?))
    })
}
