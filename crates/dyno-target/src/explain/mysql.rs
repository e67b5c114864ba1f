//! Plans of MySQL, `EXPLAIN FORMAT=TREE`, which all versions since 8.0.18 have in the same form: a line for each step, indented by
//! its depth, with figures of each execution in brackets at its end.

use dyno_results::plan::PlanNode;

use super::split;

pub(super) fn read(answer: &str) -> Option<Vec<PlanNode>> {
    let mut steps: Vec<(usize, String)> = Vec::new();
    for line in answer.lines() {
        match line.trim_start().strip_prefix("-> ") {
            Some(step) => steps.push((line.len() - line.trim_start().len(), step.to_owned())),
            // A text in a condition has a newline.
            None => steps.last_mut()?.1.extend(["\n", line]),
        }
    }
    let mut indents: Vec<usize> = Vec::new();
    let depth = |indent: usize| {
        indents.retain(|above| *above < indent);
        indents.push(indent);
        indents.len() as u32 - 1
    };
    let depths: Vec<u32> = steps.iter().map(|(indent, _)| *indent).map(depth).collect();
    let nodes: Vec<PlanNode> =
        depths.into_iter().zip(&steps).map(|(depth, (_, step))| node(depth, step)).collect();
    (!nodes.is_empty()).then_some(nodes)
}

fn node(depth: u32, step: &str) -> PlanNode {
    let end = ["  (cost=", "  (rows=", " (actual time=", " (actual rows=", " (never executed)"];
    let from = end.iter().filter_map(|end| step.find(end)).min().unwrap_or(step.len());
    let (said, figures) = step.split_at(from);
    let (planned, actual) = match figures.split_once("(actual ") {
        Some((planned, actual)) => (planned, Some(actual)),
        None => (figures, None),
    };
    let never = figures.contains("(never executed)");
    let loops = actual.and_then(|actual| figure(actual, "loops=")).or(never.then_some(0.0));
    // From the first row to the last, on average.
    let last_ms = actual.and_then(|actual| actual.strip_prefix("time="));
    let last_ms = last_ms.and_then(|time| figure(time.split_once("..")?.1, ""));
    let cut = [": ", " ("].iter().filter_map(|begin| said.find(begin)).min().unwrap_or(said.len());
    let (head, rest) = said.split_at(cut);
    let rest = rest.trim_start_matches(": ").trim();
    let (operation, object, index) =
        split(head.strip_suffix(" over").unwrap_or(head).trim(), " on ", " using ");
    PlanNode {
        depth,
        operation,
        object,
        index,
        details: (!rest.is_empty()).then(|| rest.to_owned()).into_iter().collect(),
        rows_planned: figure(planned, "rows="),
        rows: actual.and_then(|actual| figure(actual, "rows=")),
        loops,
        time_ms: loops.zip(last_ms).map(|(loops, ms)| loops * ms),
        ..PlanNode::default()
    }
}

/// The number behind a name: `1.5e+6` of `rows=1.5e+6 loops=1)`.
fn figure(figures: &str, name: &str) -> Option<f64> {
    let (_, behind) = figures.split_once(name)?;
    let end = behind.find([' ', ')']).unwrap_or(behind.len());
    behind[..end].parse().ok().filter(|figure: &f64| figure.is_finite())
}
