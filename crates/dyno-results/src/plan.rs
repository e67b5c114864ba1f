//! How a product runs a query, as it says itself: its steps in the order of their tree, or its own text. Two plans are compared
//! by their shape: which steps, on what, in which order; never by costs, rows or times. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fnv1a;
use crate::spec::HookTime;
use crate::words::distinct;

/// Real rows that are so many times more or fewer than planned are marked.
pub const ROWS_OFF_MIN: f64 = 10.0;
/// Lines of a plan that are compared.
const LINES_MAX: usize = 2_000;

/// The plan of a query, taken apart from the passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The name of the system.
    pub target: String,
    /// The series to which the times belong.
    pub series: String,
    /// The name of the query, `Q1`.
    pub query: String,
    /// The query, after the settings with which its session runs it.
    pub sql: String,
    /// Before the first pass or after the last.
    pub when: HookTime,
    /// Whether the query was executed for it, so that rows and times are real ones.
    pub executed: bool,
    /// Why it was not executed though that was asked for, or why there is no plan; `None` if neither is so.
    pub reason: Option<String>,
    /// The steps in the order of their tree, each before those that it reads from; empty if only the text is known.
    pub nodes: Vec<PlanNode>,
    /// The product's own words; in a report `None` if there are nodes.
    pub text: Option<String>,
}

/// A step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanNode {
    /// How many steps are above it; the last one at `depth - 1` reads from it.
    pub depth: u32,
    /// What it does, in the product's words: `Hash Join`, `Table scan`.
    pub operation: String,
    /// The table or the like that it reads.
    pub object: Option<String>,
    /// The index that it uses.
    pub index: Option<String>,
    /// Conditions, keys and what else the product says of it, a line each; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Rows of each execution, as planned.
    pub rows_planned: Option<f64>,
    /// Rows of each execution, on average.
    pub rows: Option<f64>,
    /// How often the step was executed; 0 if it never was.
    pub loops: Option<f64>,
    /// All its executions, with the steps that it reads from; milliseconds.
    pub time_ms: Option<f64>,
    /// All its executions, without the steps that it reads from; milliseconds.
    pub own_ms: Option<f64>,
    /// Pages that were found in the server's cache, those of the steps that it reads from included, as far as the product
    /// adds them up.
    pub pages_hit: Option<u64>,
    /// Pages that were not found in the server's cache; as `pages_hit`.
    pub pages_read: Option<u64>,
    /// Parallel workers that were launched for what is below it; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How many times as many rows there were as planned, if that is at least ten times more or fewer; fewer rows below a
    /// limit, which stops a step early, do not count. `None` otherwise, and in events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_off: Option<f64>,
}

impl PlanNode {
    /// `Index Scan on lineitem using lineitem_fk1`
    pub fn label(&self) -> String {
        let on = self.object.as_ref().map(|object| format!(" on {object}")).unwrap_or_default();
        let using = self.index.as_ref().map(|index| format!(" using {index}")).unwrap_or_default();
        format!("{}{on}{using}", self.operation)
    }

    /// How many times as many rows there were as planned, where that is at least [`ROWS_OFF_MIN`] times more or fewer. Less than
    /// one row counts as one.
    fn far_off(&self) -> Option<f64> {
        let ran = self.loops? > 0.0;
        let factor = self.rows?.max(1.0) / self.rows_planned?.max(1.0);
        (ran && factor.max(1.0 / factor) >= ROWS_OFF_MIN).then_some(factor)
    }

    /// `Limit`, `Limit/Offset`, `STREAMING_LIMIT`: it stops those that it reads from as soon as it has its rows.
    fn stops_early(&self) -> bool {
        self.operation.to_lowercase().contains("limit")
    }

    /// Whether it reads all rows before it gives away its first, so that no limit above it stops those that it reads from.
    fn reads_all(&self) -> bool {
        let operation = self.operation.to_lowercase();
        let is = |part: &&str| operation.contains(part);
        // Both go on group by group.
        let in_groups = ["incremental sort", "group aggregate"].iter().any(is);
        let all = ["sort", "order_by", "top_n", "aggregate", "group_by", "temporary table"];
        let builds_hash = matches!(operation.as_str(), "hash" | "parallel hash");
        let is_group = operation.ends_with("groupaggregate");
        builds_hash || !in_groups && !is_group && all.iter().any(is)
    }
}

/// Marks the steps whose rows were far from those planned. Below a limit a step is stopped as soon as there are enough rows: that
/// there are fewer than planned says nothing there.
pub fn mark_rows_off(nodes: &mut [PlanNode]) {
    // Of the steps above the next one: whether what they read may be stopped early.
    let mut may_stop: Vec<bool> = Vec::new();
    for node in nodes {
        may_stop.truncate(node.depth as usize);
        let is_stopped = may_stop.last().copied().unwrap_or(false);
        node.rows_off = node.far_off().filter(|factor| *factor >= 1.0 || !is_stopped);
        let below = node.stops_early() || is_stopped && !node.reads_all();
        may_stop.resize(node.depth as usize, is_stopped);
        may_stop.push(below);
    }
}

impl Plan {
    /// What is compared of it: a line for each step, or of a text its words without numbers. With the depth of each.
    pub fn lines(&self) -> Vec<(u32, String)> {
        if !self.nodes.is_empty() {
            return self.nodes.iter().take(LINES_MAX).map(|node| (node.depth, node.label())).collect();
        }
        let text = self.text.iter().flat_map(|text| text.lines()).take(LINES_MAX);
        text.map(|line| (0, words(line))).collect()
    }

    /// Parallel workers that its execution launched; `None` where it was not executed, or where its product does not tell steps.
    pub fn workers(&self) -> Option<u32> {
        let launched = self.nodes.iter().filter_map(|node| node.workers).fold(0, u32::saturating_add);
        (self.executed && !self.nodes.is_empty()).then_some(launched)
    }

    /// A digest of its shape; `None` where there is no plan.
    pub fn shape(&self) -> Option<String> {
        let lines = self.lines();
        let bytes =
            lines.iter().flat_map(|(depth, line)| depth.to_le_bytes().into_iter().chain(line.bytes()));
        let digest = fnv1a::mixed(fnv1a::START, bytes);
        (!lines.is_empty()).then(|| format!("{digest:016x}"))
    }

    /// Whether the two can be compared: products describe a query that was executed in other words, and with other steps.
    fn is_like(&self, other: &Self) -> bool {
        let has_text = self.text.is_some() && other.text.is_some();
        let are_alike = match (self.nodes.is_empty(), other.nodes.is_empty()) {
            (true, true) => has_text,
            (ours, theirs) => ours == theirs,
        };
        are_alike && self.executed == other.executed
    }
}

/// In what two plans differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDifference {
    /// Lines of each that the other has not; where both have the same lines, those that stand at another place.
    pub marks: [Vec<bool>; 2],
    /// Both have the same lines, in another order or below others.
    pub is_order: bool,
}

/// In what two plans differ; `None` where their shapes are the same or cannot be compared.
pub fn difference(one: &Plan, other: &Plan) -> Option<PlanDifference> {
    let (ours, theirs) = (one.lines(), other.lines());
    if !one.is_like(other) || ours == theirs {
        return None;
    }
    let by_label = differing(&ours, &theirs, |(_, one), (_, other)| one == other);
    let is_told = |marks: &[Vec<bool>; 2]| marks.iter().flatten().any(|differs| *differs);
    let only_one_has = without_moved(&ours, &theirs, by_label.clone());
    if is_told(&only_one_has) {
        return Some(PlanDifference { marks: only_one_has, is_order: false });
    }
    // The same steps, which read from each other in another way.
    let by_depth = || differing(&ours, &theirs, |one, other| one == other);
    Some(PlanDifference { marks: if is_told(&by_label) { by_label } else { by_depth() }, is_order: true })
}

/// Takes the marks from lines that the other side has too, at another place.
fn without_moved(
    ours: &[(u32, String)],
    theirs: &[(u32, String)],
    [mut of_ours, mut of_theirs]: [Vec<bool>; 2],
) -> [Vec<bool>; 2] {
    for (at, (_, line)) in ours.iter().enumerate() {
        let is_moved = |place: &usize| of_theirs[*place] && theirs[*place].1 == *line;
        let counterpart = (0..theirs.len()).find(is_moved).filter(|_| of_ours[at]);
        if let Some(place) = counterpart {
            (of_ours[at], of_theirs[place]) = (false, false);
        }
    }
    [of_ours, of_theirs]
}

/// What is told first of the difference of two plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstDifference {
    /// The first step of each that the other has not.
    Steps([String; 2]),
    /// Both have the same steps.
    Order,
}

/// The first step of each of two plans that the other has not; `None` as in [`difference`].
pub fn first_difference(one: &Plan, other: &Plan) -> Option<FirstDifference> {
    let PlanDifference { marks: [ours, theirs], is_order } = difference(one, other)?;
    let first = |plan: &Plan, differs: &[bool]| {
        let at = differs.iter().position(|differs| *differs);
        let line = at.and_then(|at| plan.lines().into_iter().nth(at));
        line.map_or_else(|| "no such step".to_owned(), |(_, line)| line)
    };
    Some(if is_order {
        FirstDifference::Order
    } else {
        FirstDifference::Steps([first(one, &ours), first(other, &theirs)])
    })
}

/// Indexes that each of two plans uses and the other does not, by their names, in the order of their steps.
pub fn indexes_of_one(one: &Plan, other: &Plan) -> [Vec<String>; 2] {
    let used = |plan: &Plan| {
        distinct(plan.nodes.iter().filter_map(|node| Some(index_name(node.index.as_ref()?).to_owned())))
    };
    let (ours, theirs) = (used(one), used(other));
    let without = |all: &[String], other: &[String]| -> Vec<String> {
        all.iter().filter(|index| !other.contains(index)).cloned().collect()
    };
    [without(&ours, &theirs), without(&theirs, &ours)]
}

/// `k` of SQLite's `COVERING INDEX k`.
fn index_name(index: &str) -> &str {
    index.rsplit_once("INDEX ").map_or(index, |(_, name)| name)
}

/// What is on neither side of the longest common subsequence.
fn differing<T>(ours: &[T], theirs: &[T], same: impl Fn(&T, &T) -> bool) -> [Vec<bool>; 2] {
    let columns = theirs.len() + 1;
    // Of what is behind each pair of places.
    let mut longest = vec![0_u32; (ours.len() + 1) * columns];
    for at in (0..ours.len()).rev() {
        for place in (0..theirs.len()).rev() {
            longest[at * columns + place] = if same(&ours[at], &theirs[place]) {
                longest[(at + 1) * columns + place + 1] + 1
            } else {
                longest[(at + 1) * columns + place].max(longest[at * columns + place + 1])
            };
        }
    }
    let mut marks = [vec![true; ours.len()], vec![true; theirs.len()]];
    let (mut at, mut place) = (0, 0);
    while at < ours.len() && place < theirs.len() {
        if same(&ours[at], &theirs[place]) {
            (marks[0][at], marks[1][place]) = (false, false);
            (at, place) = (at + 1, place + 1);
        } else if longest[(at + 1) * columns + place] >= longest[at * columns + place + 1] {
            at += 1;
        } else {
            place += 1;
        }
    }
    marks
}

/// The words of a line that do not begin with a digit: numbers and ids are drawn anew for each plan.
fn words(line: &str) -> String {
    let words = line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let words = words.filter(|word| word.chars().next().is_some_and(|first| !first.is_numeric()));
    words.collect::<Vec<_>>().join(" ")
}

/// Fills in the times of the steps themselves: what is left of a step's time without those that it reads from, or what all
/// of them come to where a product tells only the former.
pub fn complete_times(nodes: &mut [PlanNode]) {
    for at in (0..nodes.len()).rev() {
        let depth = nodes[at].depth;
        let below = nodes[at + 1..].iter().take_while(|node| node.depth > depth);
        let children = below.filter(|node| node.depth == depth + 1);
        let known: Vec<f64> = children.filter_map(|node| node.time_ms).collect();
        let sum: f64 = known.iter().sum();
        let node = &mut nodes[at];
        match (node.time_ms, node.own_ms) {
            // A step that reads another's rows again, such as those of a common table expression, is said to take the time twice.
            (Some(time), None) => node.own_ms = Some((time - sum).max(0.0)),
            (None, Some(own)) => node.time_ms = Some(own + sum),
            (None, None) if !known.is_empty() => node.time_ms = Some(sum),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of steps, each on a line and indented by its depth: `operation`, or `operation object`.
    pub(crate) fn plan(steps: &str) -> Plan {
        let node = |line: &str| {
            let step = line.trim_start();
            let (operation, object) = step.split_once(' ').map_or((step, None), |(a, b)| (a, Some(b)));
            PlanNode {
                depth: (line.len() - step.len()) as u32,
                operation: operation.to_owned(),
                object: object.map(str::to_owned),
                ..PlanNode::default()
            }
        };
        Plan { nodes: steps.lines().map(node).collect(), ..text("") }
    }

    fn text(text: &str) -> Plan {
        Plan {
            target: "pg".to_owned(),
            series: "queries".to_owned(),
            query: "Q1".to_owned(),
            sql: "select 1".to_owned(),
            when: HookTime::After,
            executed: false,
            reason: None,
            nodes: Vec::new(),
            text: (!text.is_empty()).then(|| text.to_owned()),
        }
    }

    #[test]
    fn a_shape_has_steps_objects_and_order_and_no_figures() {
        let base = plan("Sort\n Join\n  Scan a\n  Scan b");
        let mut costs = base.clone();
        costs.nodes[1].rows_planned = Some(7.0);
        costs.nodes[2].details = vec!["Filter: x < 3".to_owned()];
        assert_eq!((costs.shape(), difference(&base, &costs)), (base.shape(), None));
        for other in [
            "Sort\n Join\n  Scan b\n  Scan a",
            "Sort\n Hash\n  Scan a\n  Scan b",
            "Sort\n Join\n  Scan a\n  Scan c",
            "Join\n Scan a\n Scan b",
            "Sort\n Join\n  Scan a\n Scan b",
        ] {
            let other = plan(other);
            assert_ne!(other.shape(), base.shape(), "{other:?}");
            let [ours, theirs] = difference(&base, &other).unwrap().marks;
            assert!(ours.iter().chain(&theirs).any(|differs| *differs), "{other:?}");
        }
        assert_eq!(text("").shape(), None);
    }

    #[test]
    fn what_differs_is_marked_and_what_moved_is_not() {
        let [one, other] = [plan("Sort\n Join\n  Scan a\n  Scan b"), plan("Join\n Index a\n Scan b")];
        let told = |one: &Plan, other: &Plan| first_difference(one, other).unwrap();
        let steps = |[one, other]: [&str; 2]| FirstDifference::Steps([one.to_owned(), other.to_owned()]);
        let found = difference(&one, &other).unwrap();
        assert_eq!(found.marks, [vec![true, false, true, false], vec![false, true, false]]);
        assert_eq!(told(&one, &other), steps(["Sort", "Index on a"]));
        let longer = plan("Sort\n Join\n  Scan a\n  Scan b\n  Scan c");
        assert_eq!(told(&one, &longer), steps(["no such step", "Scan on c"]));
        // The join has another order, and one of the tables is read in another way.
        let [left, right] = [
            plan("Join\n Scan a\n Hash\n  Scan b\n Scan c"),
            plan("Join\n Index c\n Hash\n  Scan b\n Scan a"),
        ];
        let found = difference(&left, &right).unwrap();
        let expected = [vec![false, false, false, false, true], vec![false, true, false, false, false]];
        assert_eq!((found.marks, found.is_order), (expected, false));
        assert_eq!(told(&left, &right), steps(["Scan on c", "Index on c"]));
        // Only the order, or only the nesting.
        let base = plan("Join\n Scan a\n Scan b");
        for other in ["Join\n Scan b\n Scan a", "Join\n Scan a\n  Scan b"] {
            assert_eq!(told(&base, &plan(other)), FirstDifference::Order, "{other}");
        }
    }

    #[test]
    fn fewer_rows_than_planned_are_not_marked_where_a_limit_stops_a_step() {
        let marked = |steps: &str, planned: f64, rows: f64| {
            let mut nodes = plan(steps).nodes;
            for node in &mut nodes {
                (node.rows_planned, node.rows, node.loops) = (Some(planned), Some(rows), Some(1.0));
            }
            mark_rows_off(&mut nodes);
            nodes.iter().map(|node| if node.rows_off.is_some() { '!' } else { '-' }).collect::<String>()
        };
        assert_eq!(marked("Join\n Scan a\n Scan b", 1000.0, 10.0), "!!!");
        assert_eq!(marked("Limit\n Join\n  Scan a\n  Scan b", 1000.0, 10.0), "!---");
        assert_eq!(marked("Limit\n Join\n  Scan a\n  Scan b", 10.0, 1000.0), "!!!!");
        assert_eq!(marked("STREAMING_LIMIT\n SEQ_SCAN a", 1000.0, 10.0), "!-");
        // What is sorted or hashed is read to its end.
        assert_eq!(marked("Limit\n Sort\n  Join\n   Scan a", 1000.0, 10.0), "!-!!");
        assert_eq!(marked("Limit\n Join\n  Scan a\n  Hash\n   Scan b", 1000.0, 10.0), "!---!");
        assert_eq!(marked("Limit\n GroupAggregate\n  Scan a", 1000.0, 10.0), "!--");
        assert_eq!(marked("TOP_N\n SEQ_SCAN a", 1000.0, 10.0), "!!");
        // Beside the limit, not below it.
        assert_eq!(marked("Join\n Limit\n  Scan a\n Scan b", 1000.0, 10.0), "!!-!");
    }

    #[test]
    fn texts_are_compared_by_their_words() {
        let one = text("ReadFromMergeTree (tpch.orders)\nFilter (id#12 > 7, 0.52 s)");
        let same = text("ReadFromMergeTree (tpch.orders)\n Filter (id#9 > 42, 1.3 s)");
        assert_eq!((one.shape(), difference(&one, &same)), (same.shape(), None));
        let other = text("ReadFromMergeTree (tpch.lineitem)\nFilter (id#12 > 7, 2 s)");
        assert_eq!(difference(&one, &other).unwrap().marks, [vec![true, false], vec![true, false]]);
        // Of a query that was executed.
        let executed = Plan { executed: true, ..other.clone() };
        assert_eq!(difference(&one, &executed), None);
        assert_eq!(difference(&one, &plan("Scan a")), None);
        assert_eq!(difference(&one, &text("")), None);
    }

    #[test]
    fn times_are_completed_in_both_directions() {
        let times = |steps: &str, of: fn(&mut PlanNode) -> &mut Option<f64>, ms: &[f64]| {
            let mut nodes = plan(steps).nodes;
            nodes
                .iter_mut()
                .zip(ms)
                .filter(|(_, ms)| **ms >= 0.0)
                .for_each(|(node, ms)| *of(node) = Some(*ms));
            complete_times(&mut nodes);
            nodes.iter().map(|node| (node.time_ms, node.own_ms)).collect::<Vec<_>>()
        };
        let steps = "Sort\n Join\n  Scan a\n  Scan b";
        let total = times(steps, |node| &mut node.time_ms, &[10.0, 9.0, 4.0, 8.0]);
        assert_eq!(total.iter().map(|(_, own)| own.unwrap()).collect::<Vec<_>>(), [1.0, 0.0, 4.0, 8.0]);
        let own = times(steps, |node| &mut node.own_ms, &[-1.0, -1.0, 4.0, 8.0]);
        assert_eq!(own.iter().map(|(time, _)| time.unwrap()).collect::<Vec<_>>(), [12.0, 12.0, 4.0, 8.0]);
        assert_eq!(times(steps, |node| &mut node.own_ms, &[]), [(None, None); 4]);
    }

    #[test]
    fn rows_far_from_those_planned_are_told() {
        let node = |planned, rows, loops| PlanNode {
            rows_planned: Some(planned),
            rows: Some(rows),
            loops: Some(loops),
            ..PlanNode::default()
        };
        assert_eq!(node(10.0, 100.0, 1.0).far_off(), Some(10.0));
        assert_eq!(node(500.0, 5.0, 1.0).far_off(), Some(0.01));
        for near in [node(10.0, 90.0, 1.0), node(3.0, 0.0, 1.0), node(500.0, 0.0, 0.0), PlanNode::default()] {
            assert_eq!(near.far_off(), None, "{near:?}");
        }
    }
}
