//! The systems of one target side by side: a row for each figure, a column for each system.

use dyno_results::document::{Cell, Report, Row, Unit};
use dyno_results::format;

use crate::text::{Paint, Sheet, column_width, pad_end, pad_start, visible, width};

/// Between the columns.
const GAP: &str = "  ";
const NOT_DONE: &str = "not done";

/// The table, in as many parts beside each other as the lines have no room for, and under it what could not be done.
pub(super) fn table(report: &Report, sheet: &mut Sheet) {
    let Some(variants) = &report.variants else { return };
    let name_width = variants.rows.iter().map(|row| width(&named(row))).max().unwrap_or(0);
    let columns: Vec<Vec<String>> = (0..variants.systems.len())
        .map(|at| {
            let cells = variants
                .rows
                .iter()
                .map(|row| row.cells.get(at).map_or(String::new(), |it| text(it, row.unit)));
            [visible(&variants.systems[at]).into_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    let mut label = "variants";
    let mut left = columns.as_slice();
    while !left.is_empty() {
        let (part, rest) = sheet.beside(left, name_width, GAP.len());
        lines(&variants.rows, part, (label, name_width), sheet);
        (label, left) = ("", rest);
    }
    let mut label = "not done";
    for not_done in &report.not_done {
        let said = format!("{}: {}: {}", not_done.target, not_done.what, not_done.said);
        sheet.paragraph(label, &visible(&said), Paint::doubt);
        label = "";
    }
}

/// Some of the columns.
fn lines(rows: &[Row], columns: &[Vec<String>], (label, name_width): (&str, usize), sheet: &mut Sheet) {
    let widths: Vec<usize> = columns.iter().map(|column| column_width(column)).collect();
    let line = |name: &str, at: usize| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| pad_start(&column[at], *width));
        let line = format!("{}{GAP}{}", pad_end(name, name_width), cells.collect::<Vec<_>>().join(GAP));
        line.trim_end().to_owned()
    };
    let head = sheet.paint.faint(&line("", 0));
    sheet.row(label, &head);
    let mut group = "";
    for (at, row) in (1..).zip(rows) {
        if row.group != group {
            group = &row.group;
            let heading = sheet.paint.strong(&visible(group));
            sheet.row("", &heading);
        }
        sheet.row("", &line(&named(row), at));
    }
}

/// A row's name, under that of its group.
fn named(row: &Row) -> String {
    format!("  {}", visible(&row.name))
}

/// `12.3s ×0.66`
fn text(cell: &Cell, unit: Unit) -> String {
    let Some(value) = cell.value else {
        return if cell.not_done.is_some() { NOT_DONE.to_owned() } else { "–".to_owned() };
    };
    let value = match unit {
        Unit::S => format::latency_us(value * 1e6),
        Unit::Bytes => format::bytes_mean(value),
        Unit::PerS => format!("{}/s", format::short(value)),
        Unit::Count => return format::count(value as u64),
    };
    match cell.ratio {
        Some(ratio) => format!("{value} {:>7}", format!("×{}", two_digits(ratio))),
        None => value,
    }
}

/// `1.06`, `0.13`, `0.0049`
fn two_digits(ratio: f64) -> String {
    if ratio <= 0.0 || ratio >= 0.0995 {
        return format::short(ratio);
    }
    let digits = 1 - ratio.log10().floor() as i32;
    format!("{ratio:.*}", usize::try_from(digits).unwrap_or(2).min(9))
}
