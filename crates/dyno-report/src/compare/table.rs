//! Rows of figures in columns, one for each side: on one line where the terminal has room for it, else the ratio under
//! the figure; more sides than fit in blocks under each other, the base in each.

use dyno_results::comparison::{Better, Cell, FigureRow, Ratio, Verdict};

use super::words;
use crate::text::{Paint, Sheet, pad_end, pad_start, width};

const GAP: usize = 2;

/// The columns of all tables of a comparison.
pub(super) struct TableColumns<'a> {
    pub(super) names: &'a [String],
    pub(super) base: usize,
}

impl TableColumns<'_> {
    /// The sides in the order of the table, the base first.
    pub(super) fn order(&self) -> Vec<usize> {
        let others = (0..self.names.len()).filter(|side| *side != self.base);
        std::iter::once(self.base).chain(others).collect()
    }
}

/// A figure in its parts, before it is known how wide they are.
#[derive(Default)]
struct Parts {
    value: String,
    ratio: String,
    interval: String,
    verdict: String,
    paint: Option<fn(Paint, &str) -> String>,
}

fn parts(row: &FigureRow, cell: &Cell) -> Parts {
    let value = words::value(row, cell);
    // How many clients a peak takes is a fact with no better or worse: a ratio of it helps nobody.
    let Some(ratio) = cell.ratio.filter(|_| row.better != Better::Neither) else {
        return Parts { value, ..Parts::default() };
    };
    Parts {
        value,
        ratio: words::ratio(ratio.value),
        interval: words::interval(&ratio),
        verdict: words::verdict(row, ratio.verdict).to_owned(),
        paint: paint(&ratio),
    }
}

fn paint(ratio: &Ratio) -> Option<fn(Paint, &str) -> String> {
    match ratio.verdict {
        Verdict::Better => Some(Paint::good),
        Verdict::Worse => Some(Paint::bad),
        Verdict::Higher | Verdict::Lower => None,
        Verdict::NoDifferenceShown | Verdict::NotTested | Verdict::NoInterval | Verdict::OtherLoad => {
            Some(Paint::faint)
        }
    }
}

/// Draws the rows under a line with the sides' names.
pub(super) fn rows(rows: &[FigureRow], columns: &TableColumns<'_>, sheet: &mut Sheet) {
    let order = columns.order();
    let rows: Vec<&FigureRow> = rows.iter().filter(|row| words::is_shown(row)).collect();
    let cells: Vec<Vec<Parts>> = rows
        .iter()
        .map(|row| {
            order
                .iter()
                .map(|side| row.cells.get(*side).map(|cell| parts(row, cell)).unwrap_or_default())
                .collect()
        })
        .collect();
    let names: Vec<&str> = order.iter().map(|side| columns.names[*side].as_str()).collect();
    let labels: Vec<&str> = rows.iter().map(|row| row.short_label).collect();
    let widths: Vec<Widths> = (0..names.len())
        .map(|column| Widths::of(names[column], cells.iter().map(|row| &row[column])))
        .collect();
    let total: usize = widths.iter().map(|widths| widths.one_line() + GAP).sum();
    if total <= sheet.room() + GAP {
        one_line(&names, &labels, &cells, &widths, sheet);
    } else {
        stacked(&names, &labels, &cells, &widths, sheet);
    }
}

/// How wide the parts of a column are.
struct Widths {
    value: usize,
    ratio: usize,
    interval: usize,
    verdict: usize,
}

impl Widths {
    fn of<'a>(name: &str, cells: impl Iterator<Item = &'a Parts>) -> Self {
        let mut widths = Self { value: width(name), ratio: 0, interval: 0, verdict: 0 };
        for parts in cells {
            widths.value = widths.value.max(width(&parts.value));
            widths.ratio = widths.ratio.max(width(&parts.ratio));
            widths.interval = widths.interval.max(width(&parts.interval));
            widths.verdict = widths.verdict.max(width(&parts.verdict));
        }
        // Over them stands what they are.
        if widths.ratio > 0 {
            widths.ratio = widths.ratio.max("ratio".len());
            widths.interval = widths.interval.max("95%".len());
        }
        widths
    }

    fn one_line(&self) -> usize {
        let further = [self.ratio, self.interval, self.verdict].into_iter().filter(|width| *width > 0);
        self.value + further.map(|width| width + GAP).sum::<usize>()
    }

    fn stacked(&self) -> usize {
        self.value.max(self.verdict).max(self.ratio + usize::from(self.ratio > 0) + self.interval)
    }
}

fn one_line(names: &[&str], labels: &[&str], cells: &[Vec<Parts>], widths: &[Widths], sheet: &mut Sheet) {
    let gap = " ".repeat(GAP);
    let line = |column: &dyn Fn(usize) -> [String; 4]| {
        let mut line = String::new();
        for (index, widths) in widths.iter().enumerate() {
            let [value, ratio, interval, verdict] = column(index);
            line.push_str(&pad_start(&value, widths.value));
            if widths.ratio > 0 {
                line.push_str(&format!("{gap}{}", pad_start(&ratio, widths.ratio)));
                line.push_str(&format!("{gap}{}", pad_end(&interval, widths.interval)));
                line.push_str(&format!("{gap}{}", pad_end(&verdict, widths.verdict)));
            }
            line.push_str(&gap);
        }
        line
    };
    let has_ratio = |index: usize| widths[index].ratio > 0;
    let over = |index: usize, text: &str| if has_ratio(index) { text.to_owned() } else { String::new() };
    let head =
        line(&|index| [names[index].to_owned(), over(index, "ratio"), over(index, "95%"), String::new()]);
    let head = sheet.paint.faint(head.trim_end());
    sheet.row("", &head);
    for (label, row) in labels.iter().zip(cells) {
        let line = line(&|index| {
            let parts = &row[index];
            let verdict = painted(sheet.paint, parts, &parts.verdict);
            [parts.value.clone(), parts.ratio.clone(), parts.interval.clone(), verdict]
        });
        sheet.row(label, line.trim_end());
    }
}

fn painted(paint: Paint, parts: &Parts, text: &str) -> String {
    parts.paint.map_or_else(|| text.to_owned(), |role| role(paint, text))
}

/// Figure, ratio with its interval, and verdict under each other.
fn stacked(names: &[&str], labels: &[&str], cells: &[Vec<Parts>], widths: &[Widths], sheet: &mut Sheet) {
    let column = widths.iter().skip(1).map(Widths::stacked).max().unwrap_or(0) + GAP;
    let of_base = widths.first().map_or(0, |widths| widths.value) + GAP;
    let fitting = (sheet.room().saturating_sub(of_base) / column.max(1)).max(1);
    let others: Vec<usize> = (1..names.len()).collect();
    for block in others.chunks(fitting) {
        let line = |base: &str, text: &dyn Fn(usize) -> String| {
            let mut line = pad_start(base, of_base - GAP);
            for index in block {
                line.push_str(&pad_start(&text(*index), column));
            }
            line.trim_end().to_owned()
        };
        let head = sheet.paint.faint(&line(names[0], &|index| names[index].to_owned()));
        sheet.row("", &head);
        for (label, row) in labels.iter().zip(cells) {
            sheet.row(label, &line(&row[0].value, &|index| row[index].value.clone()));
            if block.iter().all(|index| row[*index].ratio.is_empty()) {
                continue;
            }
            let ratio =
                line("", &|index| format!("{} {}", row[index].ratio, row[index].interval).trim().to_owned());
            sheet.row("", &ratio);
            if block.iter().any(|index| !row[*index].verdict.is_empty()) {
                let verdict = line("", &|index| painted(sheet.paint, &row[index], &row[index].verdict));
                sheet.row("", &verdict);
            }
        }
    }
}
