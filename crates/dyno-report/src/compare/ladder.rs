//! Ladders side by side: a line for each load that the base and another have, throughput on the left and p99 on the
//! right, or below where there is no room.

use dyno_results::comparison::{Cell, RungComparison, Verdict};

use super::table::TableColumns;
use super::words;
use crate::text::{Paint, Sheet, pad_end, pad_start, width};
use dyno_results::format;

/// Rungs that are shown of a longer ladder; the document has all.
const RUNGS_MAX: usize = 14;
const GAP: usize = 2;

pub(super) fn rows(rungs: &[RungComparison], columns: &TableColumns<'_>, sheet: &mut Sheet) {
    if rungs.is_empty() {
        return;
    }
    let shown = chosen(rungs);
    let order = columns.order();
    let throughput = block("TPS", &shown, columns, &order, sheet.paint, &|rung| &rung.throughput, &|value| {
        format::short(value)
    });
    let p99 = block("p99", &shown, columns, &order, sheet.paint, &|rung| &rung.p99_us, &format::latency_us);
    let loads = loads(&shown);
    let beside = width(&loads[0]) + GAP + width(&throughput[0]) + 2 * GAP + width(&p99[0]) <= sheet.room();
    let gap = " ".repeat(GAP);
    let tables: Vec<Vec<String>> = if beside {
        vec![throughput.iter().zip(&p99).map(|(left, right)| format!("{left}{gap}{gap}{right}")).collect()]
    } else {
        vec![throughput, p99]
    };
    let mut label = "ladder";
    for table in tables {
        for (line, (load, cells)) in loads.iter().zip(&table).enumerate() {
            let text = format!("{load}{gap}{cells}");
            let text = text.trim_end();
            let text = if line == 0 { sheet.paint.faint(text) } else { text.to_owned() };
            sheet.row(label, &text);
            label = "";
        }
    }
    legend(rungs, &shown, sheet);
}

/// All of a short ladder; of a long one its ends, the peaks, where it is saturated, and others evenly between them.
fn chosen(rungs: &[RungComparison]) -> Vec<&RungComparison> {
    if rungs.len() <= RUNGS_MAX {
        return rungs.iter().collect();
    }
    let told = |rung: &RungComparison| rung.peak.iter().chain(&rung.saturated).any(|here| *here);
    let last = rungs.len() - 1;
    let mut wanted: Vec<usize> = (0..rungs.len()).filter(|index| told(&rungs[*index])).collect();
    let room = RUNGS_MAX.saturating_sub(wanted.len()).max(2);
    wanted.extend((0..room).map(|step| step * last / (room - 1)));
    wanted.sort_unstable();
    wanted.dedup();
    wanted.into_iter().map(|index| &rungs[index]).collect()
}

/// The column of loads, its head first.
fn loads(rungs: &[&RungComparison]) -> Vec<String> {
    let open = rungs.iter().any(|rung| rung.rate_per_s.is_some());
    let text = |rung: &&RungComparison| match rung.rate_per_s {
        Some(rate) => format!("{}/s", format::plain(rate)),
        None => rung.clients.to_string(),
    };
    let head = if open { "rate" } else { "clients" }.to_owned();
    let texts: Vec<String> = std::iter::once(head).chain(rungs.iter().map(text)).collect();
    let column = texts.iter().map(|text| width(text)).max().unwrap_or(0);
    texts.iter().map(|text| pad_start(text, column)).collect()
}

/// A table of one figure: the sides' values, and the others' ratios behind them.
fn block(
    what: &str,
    rungs: &[&RungComparison],
    columns: &TableColumns<'_>,
    order: &[usize],
    paint: Paint,
    cells: &dyn Fn(&RungComparison) -> &[Cell],
    value: &dyn Fn(f64) -> String,
) -> Vec<String> {
    let mut lines = vec![String::new(); rungs.len() + 1];
    let unknown = Cell::default();
    for side in order {
        let cell = |rung: &&RungComparison| *cells(rung).get(*side).unwrap_or(&unknown);
        let mark = |rung: &RungComparison| {
            let has = |sides: &[bool]| sides.get(*side).copied().unwrap_or(false);
            match (has(&rung.saturated), has(&rung.peak)) {
                (true, _) => "!",
                (false, true) => "^",
                (false, false) => " ",
            }
        };
        let figure = |rung: &&RungComparison| {
            let text = cell(rung).value.map_or_else(|| format::UNKNOWN.to_owned(), value);
            format!("{text}{}", if what == "TPS" { mark(rung) } else { "" })
        };
        let head = format!("{what} {}", columns.names[*side]) + if what == "TPS" { " " } else { "" };
        append(&mut lines, std::iter::once(head).chain(rungs.iter().map(figure)).collect(), true);
        if *side != columns.base {
            let ratio = |rung: &&RungComparison| {
                cell(rung).ratio.map_or_else(String::new, |ratio| ratio_cell(&ratio, paint))
            };
            append(
                &mut lines,
                std::iter::once("ratio".to_owned()).chain(rungs.iter().map(ratio)).collect(),
                false,
            );
        }
    }
    lines
}

/// A ratio; a tilde stands where no difference is shown, and a question mark where there is no interval.
fn ratio_cell(ratio: &dyno_results::comparison::Ratio, paint: Paint) -> String {
    let text = words::ratio(ratio.value);
    match ratio.verdict {
        Verdict::NoDifferenceShown => paint.faint(&format!("{text} ~")),
        Verdict::NoInterval | Verdict::OtherLoad => paint.faint(&format!("{text} ?")),
        // Said once, under the figures.
        Verdict::NotTested => text,
        Verdict::Better => paint.good(&text),
        Verdict::Worse => paint.bad(&text),
        Verdict::Higher | Verdict::Lower => text,
    }
}

fn append(lines: &mut [String], cells: Vec<String>, to_the_right: bool) {
    let column = cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    for (line, cell) in lines.iter_mut().zip(cells) {
        if !line.is_empty() {
            line.push_str(&" ".repeat(GAP));
        }
        line.push_str(&if to_the_right { pad_start(&cell, column) } else { pad_end(&cell, column) });
    }
}

/// What the marks mean, of those that stand there.
fn legend(rungs: &[RungComparison], shown: &[&RungComparison], sheet: &mut Sheet) {
    let verdicts = || {
        shown.iter().flat_map(|rung| rung.throughput.iter().chain(&rung.p99_us)).filter_map(|cell| cell.ratio)
    };
    let says = |verdict: Verdict| verdicts().any(|ratio| ratio.verdict == verdict);
    let mut parts = Vec::new();
    if shown.iter().any(|rung| rung.peak.contains(&true)) {
        parts.push("^ peak".to_owned());
    }
    if shown.iter().any(|rung| rung.saturated.contains(&true)) {
        parts.push("! saturated".to_owned());
    }
    if says(Verdict::NoDifferenceShown) {
        parts.push("~ no difference shown".to_owned());
    }
    if says(Verdict::NoInterval) {
        parts.push("? no interval".to_owned());
    }
    if shown.len() < rungs.len() {
        parts.push(format!("{} of {} rungs; --json has all", shown.len(), rungs.len()));
    }
    if !parts.is_empty() {
        sheet.paragraph("", &parts.join("   "), Paint::faint);
    }
}
