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

/// Places of the parts of a figure.
const VALUE: usize = 0;
const RATIO: usize = 1;
const INTERVAL: usize = 2;
const VERDICT: usize = 3;

/// A figure in its parts, before it is known how wide they are.
#[derive(Default)]
struct Parts {
    texts: [String; 4],
    paint: Option<fn(Paint, &str) -> String>,
}

fn parts(row: &FigureRow, cell: &Cell) -> Parts {
    let value = words::value(row, cell);
    // How many clients a peak takes is a fact with no better or worse: a ratio of it helps nobody.
    let Some(ratio) = cell.ratio.filter(|_| row.better != Better::Neither) else {
        return Parts { texts: [value, String::new(), String::new(), String::new()], paint: None };
    };
    let verdict = words::verdict(row, ratio.verdict).to_owned();
    let texts = [value, words::ratio(ratio.value), words::interval(&ratio), verdict];
    Parts { texts, paint: paint(&ratio) }
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
    let labels: Vec<&str> = rows.iter().map(|row| row.short_label.as_str()).collect();
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
struct Widths([usize; 4]);

impl Widths {
    fn of<'a>(name: &str, cells: impl Iterator<Item = &'a Parts>) -> Self {
        let mut widths = [width(name), 0, 0, 0];
        for parts in cells {
            for (widest, text) in widths.iter_mut().zip(&parts.texts) {
                *widest = width(text).max(*widest);
            }
        }
        // Over them stands what they are.
        if widths[RATIO] > 0 {
            widths[RATIO] = widths[RATIO].max("ratio".len());
            widths[INTERVAL] = widths[INTERVAL].max("95%".len());
        }
        Self(widths)
    }

    fn one_line(&self) -> usize {
        self.0[VALUE]
            + self.0[RATIO..].iter().filter(|width| **width > 0).map(|width| width + GAP).sum::<usize>()
    }

    fn stacked(&self) -> usize {
        let [value, ratio, interval, verdict] = self.0;
        value.max(verdict).max(ratio + usize::from(ratio > 0) + interval)
    }
}

fn one_line(names: &[&str], labels: &[&str], cells: &[Vec<Parts>], widths: &[Widths], sheet: &mut Sheet) {
    let gap = " ".repeat(GAP);
    let line = |column: &dyn Fn(usize) -> [String; 4]| {
        let mut line = String::new();
        for (index, Widths(widths)) in widths.iter().enumerate() {
            let texts = column(index);
            let shown = if widths[RATIO] > 0 { texts.len() } else { 1 };
            for (part, text) in texts.iter().enumerate().take(shown) {
                let to_the_right = matches!(part, VALUE | RATIO);
                line.push_str(&if to_the_right {
                    pad_start(text, widths[part])
                } else {
                    pad_end(text, widths[part])
                });
                line.push_str(&gap);
            }
        }
        line
    };
    let head = line(&|index| [names[index], "ratio", "95%", ""].map(str::to_owned));
    let head = sheet.paint.faint(head.trim_end());
    sheet.row("", &head);
    for (label, row) in labels.iter().zip(cells) {
        let line = line(&|index| {
            let mut texts = row[index].texts.clone();
            texts[VERDICT] = painted(sheet.paint, &row[index]);
            texts
        });
        sheet.row(label, line.trim_end());
    }
}

/// The verdict in its colour.
fn painted(paint: Paint, parts: &Parts) -> String {
    let text = &parts.texts[VERDICT];
    parts.paint.map_or_else(|| text.clone(), |role| role(paint, text))
}

/// Figure, ratio with its interval, and verdict under each other.
fn stacked(names: &[&str], labels: &[&str], cells: &[Vec<Parts>], widths: &[Widths], sheet: &mut Sheet) {
    let column = widths.iter().skip(1).map(Widths::stacked).max().unwrap_or(0) + GAP;
    let of_base = widths.first().map_or(0, |widths| widths.0[VALUE]) + GAP;
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
            sheet.row(label, &line(&row[0].texts[VALUE], &|index| row[index].texts[VALUE].clone()));
            if block.iter().all(|index| row[*index].texts[RATIO].is_empty()) {
                continue;
            }
            let ratio = line("", &|index| row[index].texts[RATIO..=INTERVAL].join(" ").trim().to_owned());
            sheet.row("", &ratio);
            if block.iter().any(|index| !row[*index].texts[VERDICT].is_empty()) {
                let verdict = line("", &|index| painted(sheet.paint, &row[index]));
                sheet.row("", &verdict);
            }
        }
    }
}
