//! How queries were run, for a terminal: a line for each step with its figures, and below it what the product says of it. Where
//! two plans are shown, what one has and the other has not is marked by a sign.

use dyno_results::comparison::SidePlan;
use dyno_results::document::{Report, Series};
use dyno_results::event::{HookTime, Target};
use dyno_results::format;
use dyno_results::plan::{Plan, PlanDifference, PlanNode, difference};

use crate::terminal::Terminal;
use crate::text::{DOT, Paint, cut, pad_end, pad_start, visible, wrap};

/// Before a step that the other plan has not.
const DIFFERS: &str = "≠ ";
const ALIKE: &str = "  ";
/// Columns of the figures, and most of the indentation.
const FIGURE: usize = 8;
const INDENT_MAX: usize = 20;
/// A step has at least this many columns.
const STEP_MIN: usize = 20;

/// A figure of a step, and what it is called.
type Figure = (&'static str, fn(&PlanNode) -> Option<String>);

const FIGURES: [Figure; 6] = [
    ("time", |node| ms(node.time_ms)),
    ("own", |node| ms(node.own_ms)),
    ("rows", |node| rows(node.rows, node.loops)),
    ("planned", |node| rows(node.rows_planned, node.loops.filter(|loops| *loops > 0.0))),
    ("cached", |node| node.pages_hit.map(format::short_count)),
    ("read", |node| node.pages_read.map(format::short_count)),
];

/// How each target of a run ran a query, and where its plan changed while the passes went on, both; `None` where no plan of it is
/// known.
pub fn of_run(report: &Report, query: &str, terminal: Terminal) -> Option<String> {
    let paint = Paint { color: terminal.color };
    let is_meant = |plan: &Plan| plan.query.eq_ignore_ascii_case(query);
    let mut text = String::new();
    for series in &report.series {
        let own = |plan: &&Plan| plan.target == series.target && plan.series == series.name && is_meant(plan);
        let all: Vec<&Plan> = report.plans.iter().map(|shown| &shown.plan).filter(own).collect();
        let planned = |when| all.iter().copied().find(|plan| plan.when == when && !plan.executed);
        let (before, after) = (planned(HookTime::Before), planned(HookTime::After));
        let run = all.iter().copied().find(|plan| plan.executed);
        let Some(plan) = run.or(after).or(before) else { continue };
        let product = report.target(&series.target).and_then(Target::product_with_version);
        text +=
            &one(&title(plan, &where_run(report, series), product.as_deref()), plan, None, paint, terminal);
        let changed =
            before.zip(after).and_then(|(before, after)| Some((before, after, difference(before, after)?)));
        if let Some((before, after, PlanDifference { marks: [of_before, of_after], .. })) = changed {
            text += &one("The plan changed. Before the passes:", before, Some(&of_before), paint, terminal);
            text += &one("After the passes:", after, Some(&of_after), paint, terminal);
        }
    }
    (!text.is_empty()).then_some(text)
}

fn where_run(report: &Report, series: &Series) -> String {
    let several = report.series.iter().filter(|other| other.target == series.target).count() > 1;
    if several { format!("{}/{}", series.target, series.name) } else { series.target.clone() }
}

/// How the sides of a comparison ran a query, each with what the base has not.
pub fn compared(base: &SidePlan, others: &[SidePlan], terminal: Terminal) -> String {
    let paint = Paint { color: terminal.color };
    let marks =
        |other: &SidePlan| difference(&base.plan, &other.plan).filter(|_| base.product == other.product);
    let shown = |side: &SidePlan, marks: Option<&[bool]>| {
        one(
            &title(&side.plan, &side.side, side.product_with_version.as_deref()),
            &side.plan,
            marks,
            paint,
            terminal,
        )
    };
    // Of several others the base is marked against the first.
    let of_first = others.first().and_then(marks);
    let mut text = shown(base, of_first.as_ref().map(|found| found.marks[0].as_slice()));
    for other in others {
        let found = marks(other);
        text += &shown(other, found.as_ref().map(|found| found.marks[1].as_slice()));
        text += &match (found, base.product == other.product) {
            (Some(PlanDifference { is_order: true, .. }), _) => format!(
                "{} and {} have the same steps in another order; {DIFFERS}marks those at another place.\n\n",
                base.side, other.side
            ),
            (Some(_), _) => {
                format!("{DIFFERS}marks what only one of {} and {} has.\n\n", base.side, other.side)
            }
            (None, true) if base.plan.shape() == other.plan.shape() => {
                format!("{} and {} have the same steps.\n\n", base.side, other.side)
            }
            _ => "Plans of different products, or of different form, are not compared.\n\n".to_owned(),
        };
    }
    text
}

/// `Q9 on pg · PostgreSQL 15.18 · run for it after the passes: 812 ms`
fn title(plan: &Plan, place: &str, product: Option<&str>) -> String {
    let run = match (plan.nodes.first().and_then(|root| ms(root.time_ms)), plan.executed) {
        (Some(time), true) => format!("run for its plan apart from the passes, {time}"),
        (None, true) => "run for its plan apart from the passes".to_owned(),
        (_, false) => "as planned, not run for it".to_owned(),
    };
    let parts =
        [format!("{} on {place}", plan.query)].into_iter().chain(product.map(str::to_owned)).chain([run]);
    parts.collect::<Vec<_>>().join(DOT)
}

fn one(title: &str, plan: &Plan, marks: Option<&[bool]>, paint: Paint, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut lines: Vec<String> = wrap(&visible(title), width).iter().map(|line| paint.strong(line)).collect();
    if let Some(reason) = &plan.reason {
        lines.extend(wrap(&visible(reason), width).iter().map(|line| paint.doubt(line)));
    }
    let mark = |at: usize| match marks.and_then(|marks| marks.get(at)) {
        Some(true) => paint.bad(DIFFERS),
        _ => ALIKE.to_owned(),
    };
    if plan.nodes.is_empty() {
        for (at, line) in plan.text.iter().flat_map(|text| text.lines()).enumerate() {
            lines.extend(
                pieces(&visible(line), width.saturating_sub(2)).map(|piece| format!("{}{piece}", mark(at))),
            );
        }
    } else {
        steps(&plan.nodes, mark, paint, width, &mut lines);
    }
    lines.join("\n") + "\n\n"
}

/// The steps below each other, and left of them those figures of which any is known.
fn steps(
    nodes: &[PlanNode],
    mark: impl Fn(usize) -> String,
    paint: Paint,
    width: usize,
    lines: &mut Vec<String>,
) {
    let known: Vec<&Figure> =
        FIGURES.iter().filter(|(_, of)| nodes.iter().any(|node| of(node).is_some())).collect();
    // Narrow terminals have room for the first of them.
    let fits = (width.saturating_sub(STEP_MIN + 4) / FIGURE).min(known.len());
    let known = &known[..fits];
    let head: String = known.iter().map(|(name, _)| pad_start(name, FIGURE)).collect();
    lines.push(paint.faint(&format!("{ALIKE}{head}  step")));
    let left = ALIKE.len() + head.chars().count() + 2;
    for (at, node) in nodes.iter().enumerate() {
        let indent = (node.depth as usize).min(INDENT_MAX).min(width.saturating_sub(left + STEP_MIN));
        let room = width.saturating_sub(left + indent).max(STEP_MIN);
        let pad = " ".repeat(indent);
        let figures: String = known
            .iter()
            .map(|(_, of)| pad_start(&of(node).unwrap_or_else(|| format::UNKNOWN.to_owned()), FIGURE))
            .collect();
        let blank = pad_end("", left);
        let label = visible(&node.label()).into_owned();
        for (line, text) in wrap(&label, room).into_iter().enumerate() {
            let before = if line == 0 { format!("{}{figures}  ", mark(at)) } else { blank.clone() };
            lines.push(format!("{before}{pad}{text}"));
        }
        if let Some(factor) = node.rows_off {
            let told = if factor >= 1.0 {
                format!("! {} times as many rows as planned", format::short(factor))
            } else {
                format!("! {} times fewer rows than planned", format::short(1.0 / factor))
            };
            lines.extend(wrap(&told, room).iter().map(|line| format!("{blank}{pad}{}", paint.doubt(line))));
        }
        let never = (node.loops == Some(0.0)).then_some("never executed");
        for detail in never.into_iter().chain(node.details.iter().map(String::as_str)) {
            let detail = cut(&visible(detail), room.saturating_sub(1)).into_owned();
            lines.push(format!("{blank}{pad} {}", paint.faint(&detail)));
        }
    }
}

/// A line in pieces that fit; blanks stay.
fn pieces(line: &str, width: usize) -> impl Iterator<Item = String> {
    let letters: Vec<char> = line.chars().collect();
    let pieces: Vec<String> = letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect();
    if pieces.is_empty() { vec![String::new()].into_iter() } else { pieces.into_iter() }
}

fn ms(time_ms: Option<f64>) -> Option<String> {
    time_ms.map(|ms| format::latency_us(ms * 1e3))
}

/// Of all executions.
fn rows(each: Option<f64>, loops: Option<f64>) -> Option<String> {
    each.map(|rows| format::short_count((rows * loops.unwrap_or(1.0)).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(depth: u32, operation: &str, object: Option<&str>) -> PlanNode {
        PlanNode {
            depth,
            operation: operation.to_owned(),
            object: object.map(str::to_owned),
            rows_planned: Some(100.0),
            rows: Some(100.0),
            loops: Some(2.0),
            time_ms: Some(12.0),
            own_ms: Some(4.0),
            ..PlanNode::default()
        }
    }

    fn side(name: &str, product: &str, nodes: Vec<PlanNode>, text: Option<&str>) -> SidePlan {
        SidePlan {
            side: name.to_owned(),
            product: Some(product.to_owned()),
            product_with_version: Some(format!("{product} 1")),
            plan: Plan {
                target: name.to_owned(),
                series: "queries".to_owned(),
                query: "Q9".to_owned(),
                sql: "select 1".to_owned(),
                when: HookTime::After,
                executed: text.is_none(),
                reason: None,
                nodes,
                text: text.map(str::to_owned),
            },
        }
    }

    #[test]
    fn steps_have_figures_and_what_differs_has_a_sign() {
        let mut far = node(1, "Seq Scan", Some("orders"));
        (far.rows, far.rows_off) = (Some(5000.0), Some(50.0));
        far.details = vec!["Filter: (a \u{1b}[31m> 1)".to_owned(); 2];
        let one = side("a", "PostgreSQL", vec![node(0, "Sort", None), far], None);
        let mut index = node(1, "Index Scan", Some("orders"));
        (index.index, index.loops, index.rows) = (Some("orders_fk1".to_owned()), Some(0.0), Some(0.0));
        let other = side("b", "PostgreSQL", vec![node(0, "Sort", None), index], None);
        let text = compared(&one, &[other], Terminal::plain(80));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Q9 on a · PostgreSQL 1 · run for its plan apart from the passes, 12 ms");
        assert_eq!(lines[1], "      time     own    rows planned  step");
        assert_eq!(lines[2], "     12 ms  4.0 ms     200     200  Sort");
        assert_eq!(lines[3], "≠    12 ms  4.0 ms   10.0k     200   Seq Scan on orders");
        assert_eq!(lines[4].trim(), "! 50.0 times as many rows as planned");
        assert_eq!(lines[5].trim(), r"Filter: (a \e[31m> 1)");
        let marked: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with('≠')).collect();
        assert_eq!(marked.len(), 3, "{text}");
        assert!(marked[1].ends_with("Index Scan on orders using orders_fk1"), "{text}");
        assert!(text.contains("never executed") && marked[2].contains("only one of a and b has"), "{text}");
        for width in [24, 40, 80, 200] {
            let text = compared(
                &one,
                &[side("c", "PostgreSQL", vec![node(70, "Sort", None)], None)],
                Terminal::plain(width),
            );
            let longest = text.lines().map(crate::text::width).max().unwrap();
            assert!(longest <= width.max(60), "{width}: {longest}\n{text}");
        }
    }

    #[test]
    fn plans_that_are_alike_or_of_other_products_have_no_sign() {
        let steps = || vec![node(0, "Sort", None)];
        let (one, same) = (side("a", "PostgreSQL", steps(), None), side("b", "PostgreSQL", steps(), None));
        let text = compared(&one, &[same], Terminal::plain(80));
        assert!(text.contains("a and b have the same steps.") && !text.contains('≠'), "{text}");
        let scans = |tables: [&str; 2]| tables.iter().map(|table| node(1, "Scan", Some(table))).collect();
        let [left, right] =
            [["x", "y"], ["y", "x"]].map(|tables| side("d", "PostgreSQL", scans(tables), None));
        let text = compared(&left, &[right], Terminal::plain(80));
        assert!(text.contains("d and d have the same steps in another order; ≠ marks"), "{text}");
        let other = side("c", "MySQL", vec![node(0, "Filter", None)], None);
        let text = compared(&one, &[other], Terminal::plain(80));
        assert!(text.contains("Plans of different products") && !text.contains('≠'), "{text}");
    }

    #[test]
    fn texts_keep_their_blanks_and_are_cut_into_pieces() {
        let plan = side(
            "a",
            "OceanBase",
            Vec::new(),
            Some("scan\n  |orders 1|\n\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        );
        let text = compared(&plan, &[], Terminal::plain(30));
        assert!(
            text.contains("\n  scan\n    |orders 1|\n  \n  xxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  xxxxxxxx\n"),
            "{text}"
        );
        assert!(text.contains("as\nplanned, not run for it"), "{text}");
    }
}
