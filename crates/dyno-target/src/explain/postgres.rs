//! Plans of PostgreSQL, `EXPLAIN (FORMAT JSON)`. Times of a step are its average over its executions; those that several processes
//! share took as long as one of them.

use dyno_results::plan::PlanNode;
use serde_json::Value;

use super::{number, shown};

/// What is told of a step beside what it is.
const DETAILS: [&str; 23] = [
    "Subplan Name",
    "Index Cond",
    "Recheck Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Filter",
    "One-Time Filter",
    "Order By",
    "Sort Key",
    "Presorted Key",
    "Group Key",
    "Cache Key",
    "Sort Method",
    "Sort Space Used",
    "Sort Space Type",
    "Hash Batches",
    "HashAgg Batches",
    "Disk Usage",
    "Rows Removed by Filter",
    "Rows Removed by Join Filter",
    "Heap Fetches",
    "Workers Planned",
];

/// Steps of extensions, which say of themselves what no list of names can know.
const OF_EXTENSIONS: [&str; 2] = ["Custom Scan", "Foreign Scan"];
/// What every step says: figures, and what [`add`] reads.
const OF_EVERY_STEP: [&str; 19] = [
    "Node Type",
    "Custom Plan Provider",
    "Operation",
    "Parent Relationship",
    "Parallel Aware",
    "Async Capable",
    "Disabled",
    "Relation Name",
    "Schema",
    "Alias",
    "Index Name",
    "Startup Cost",
    "Total Cost",
    "Plan Rows",
    "Plan Width",
    "Output",
    "Plans",
    "Workers",
    "Workers Launched",
];
/// With what the names of figures begin.
const FIGURES: [&str; 6] = ["Actual ", "Shared ", "Local ", "Temp ", "I/O ", "WAL "];

pub(super) fn read(answer: &Value) -> Option<Vec<PlanNode>> {
    let mut nodes = Vec::new();
    add(answer.get(0)?.get("Plan")?, 0, 1.0, &mut nodes);
    Some(nodes)
}

/// Adds a step and those that it reads from, which `processes` execute together.
fn add(plan: &Value, depth: u32, processes: f64, nodes: &mut Vec<PlanNode>) {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).map(str::to_owned);
    let figure = |key: &str| plan.get(key).and_then(number);
    let pages = |key: &str| plan.get(key).and_then(Value::as_u64);
    let loops = figure("Actual Loops");
    // Where one process was fast, the others found nothing to do.
    let took_part = loops.unwrap_or(1.0).min(processes).max(1.0);
    let time_ms = loops.zip(figure("Actual Total Time")).map(|(loops, time)| time * loops / took_part);
    let relation = text("Relation Name").or_else(|| text("CTE Name")).or_else(|| text("Function Name"));
    let alias = text("Alias").filter(|alias| Some(alias) != relation.as_ref());
    let object = match (relation, alias) {
        (Some(relation), Some(alias)) => Some(format!("{relation} {alias}")),
        (relation, alias) => relation.or(alias),
    };
    let workers = figure("Workers Launched");
    let launched = workers.map(|workers| format!("Workers Launched: {workers}"));
    nodes.push(PlanNode {
        depth,
        operation: operation(plan),
        object,
        index: text("Index Name"),
        details: DETAILS
            .iter()
            .filter_map(|key| detail(plan, key))
            .chain(of_extension(plan))
            .chain(launched)
            .collect(),
        rows_planned: figure("Plan Rows"),
        rows: figure("Actual Rows"),
        loops,
        time_ms,
        own_ms: None,
        pages_hit: pages("Shared Hit Blocks"),
        pages_read: pages("Shared Read Blocks"),
        workers: workers.map(|workers| workers as u32),
        rows_off: None,
    });
    let below = workers.map_or(processes, |workers| workers + 1.0);
    for child in plan.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        // What is computed once beforehand is no work of the others.
        let is_apart = child.get("Parent Relationship").is_some_and(|relation| relation == "InitPlan");
        add(child, depth + 1, if is_apart { 1.0 } else { below }, nodes);
    }
}

/// What an extension says of its step: `Columnar Projected Columns: aid, abalance`.
fn of_extension(plan: &Value) -> impl Iterator<Item = String> {
    let is_one = plan.get("Node Type").and_then(Value::as_str).is_some_and(|it| OF_EXTENSIONS.contains(&it));
    let fields = plan.as_object().into_iter().flatten().filter(move |_| is_one);
    let is_told = |key: &str| DETAILS.contains(&key) || OF_EVERY_STEP.contains(&key);
    let own = fields.filter(move |(key, _)| !is_told(key) && !FIGURES.iter().any(|of| key.starts_with(of)));
    own.filter_map(|(key, value)| Some(format!("{key}: {}", shown(value)?)))
}

/// As the text form of a plan has it: `Parallel Hash Left Join`, `Partial HashAggregate`.
fn operation(plan: &Value) -> String {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("Node Type");
    let mut name = match (kind, text("Strategy")) {
        ("Aggregate", "Hashed") => "HashAggregate".to_owned(),
        ("Aggregate", "Sorted") => "GroupAggregate".to_owned(),
        ("Aggregate", "Mixed") => "MixedAggregate".to_owned(),
        ("ModifyTable", _) => text("Operation").to_owned(),
        ("Custom Scan", _) => format!("{kind} ({})", text("Custom Plan Provider")),
        ("SetOp", strategy) => format!("{strategy} SetOp {}", text("Command")).trim().to_owned(),
        _ => kind.to_owned(),
    };
    match text("Join Type") {
        "" | "Inner" => {}
        join if kind == "Nested Loop" => name = format!("{kind} {join} Join"),
        join => name = name.replace(" Join", &format!(" {join} Join")),
    }
    if text("Scan Direction") == "Backward" {
        name.push_str(" Backward");
    }
    match text("Partial Mode") {
        "Partial" => name = format!("Partial {name}"),
        "Finalize" => name = format!("Finalize {name}"),
        _ => {}
    }
    let is_parallel = plan.get("Parallel Aware").and_then(Value::as_bool) == Some(true);
    if is_parallel { format!("Parallel {name}") } else { name }
}

/// `Filter: (a > 1)`; nothing where it says nothing.
fn detail(plan: &Value, key: &str) -> Option<String> {
    let value = plan.get(key).filter(|value| value.as_f64() != Some(0.0))?;
    let is_one_batch = key.ends_with("Batches") && value.as_f64() == Some(1.0);
    let unit = if matches!(key, "Sort Space Used" | "Disk Usage") { " kB" } else { "" };
    Some(format!("{key}: {}{unit}", shown(value).filter(|_| !is_one_batch)?))
}
