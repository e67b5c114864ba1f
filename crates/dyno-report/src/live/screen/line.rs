//! Lines that move: a bar and what stands behind it. Lines under each other have their parts under each other.

use crate::text::{Paint, pad_end, uncoloured, width};

/// Widest and narrowest bar.
const BAR_WIDTH_MAX: usize = 24;
const BAR_WIDTH_MIN: usize = 6;
/// Between the parts of a line.
const GAP: usize = 2;

/// A line in the making. Lines that are set together have the same parts, some of them empty.
pub(super) struct ScreenLine {
    /// How much of the bar is filled, 0 to 1.
    pub(super) share: f64,
    pub(super) parts: Vec<LinePart>,
}

/// A part of a line.
#[derive(Clone)]
pub(super) struct LinePart {
    text: String,
    /// A form for narrow terminals.
    short: Option<String>,
    /// `None` where it must stay; else the highest is left out first.
    expendable: Option<u8>,
    colour: fn(Paint, &str) -> String,
}

impl LinePart {
    pub(super) fn must(text: &str) -> Self {
        Self { text: text.to_owned(), short: None, expendable: None, colour: uncoloured }
    }

    pub(super) fn may(text: &str, expendable: u8) -> Self {
        Self { expendable: Some(expendable), ..Self::must(text) }
    }

    pub(super) fn shorter(self, text: &str) -> Self {
        Self { short: Some(text.to_owned()), ..self }
    }

    pub(super) fn coloured(self, colour: fn(Paint, &str) -> String) -> Self {
        Self { colour, ..self }
    }
}

/// Sets lines under each other. Where they do not fit, the bars shrink first; then the most expendable parts take
/// their short form, and then they go, in all lines alike.
pub(super) fn set(mut lines: Vec<ScreenLine>, room: usize, paint: Paint) -> Vec<String> {
    let count = lines.iter().map(|line| line.parts.len()).max().unwrap_or(0);
    let mut shown: Vec<bool> =
        (0..count).map(|index| column(&lines, index).any(|part| !part.text.is_empty())).collect();
    while taken(&lines, &shown) + BAR_WIDTH_MIN > room {
        let given_up = (0..count).filter(|&index| shown[index]);
        let given_up = given_up.filter_map(|index| Some((expendable(&lines, index)?, index)));
        let Some((_, index)) = given_up.max() else { break };
        let mut shortened = false;
        for part in lines.iter_mut().filter_map(|line| line.parts.get_mut(index)) {
            if let Some(short) = part.short.take() {
                part.text = short;
                shortened = true;
            }
        }
        shown[index] = shortened;
    }
    let bar_width = room.saturating_sub(taken(&lines, &shown)).clamp(BAR_WIDTH_MIN, BAR_WIDTH_MAX);
    let widths: Vec<usize> = (0..count).map(|index| column_width(&lines, index)).collect();
    let text = |line: &ScreenLine| {
        let mut text = bar(line.share, bar_width, paint);
        for (index, part) in line.parts.iter().enumerate().filter(|(index, _)| shown[*index]) {
            text.push_str(&" ".repeat(GAP));
            text.push_str(&pad_end(&(part.colour)(paint, &part.text), widths[index]));
        }
        text
    };
    lines.iter().map(text).collect()
}

fn column(lines: &[ScreenLine], index: usize) -> impl Iterator<Item = &LinePart> {
    lines.iter().filter_map(move |line| line.parts.get(index))
}

fn column_width(lines: &[ScreenLine], index: usize) -> usize {
    column(lines, index).map(|part| width(&part.text)).max().unwrap_or(0)
}

/// A part that must stay in one line stays in all.
fn expendable(lines: &[ScreenLine], index: usize) -> Option<u8> {
    column(lines, index).map(|part| part.expendable).min().flatten()
}

fn taken(lines: &[ScreenLine], shown: &[bool]) -> usize {
    let columns = shown.iter().enumerate().filter(|(_, shown)| **shown);
    columns.map(|(index, _)| column_width(lines, index) + GAP).sum()
}

fn bar(share: f64, columns: usize, paint: Paint) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = ((share * columns as f64).round() as usize).min(columns);
    format!("{}{}", paint.good(&"━".repeat(filled)), paint.faint(&"─".repeat(columns - filled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { color: false };

    #[test]
    fn a_bar_takes_any_share() {
        for share in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 1.0, 7.0] {
            assert_eq!(width(&bar(share, 10, PLAIN)), 10);
        }
    }

    #[test]
    fn what_one_line_must_show_stays_in_all() {
        let line =
            |text: &str, part: LinePart| ScreenLine { share: 0.5, parts: vec![LinePart::must(text), part] };
        let lines = || vec![line("one", LinePart::may("fine", 9)), line("three", LinePart::must("2 failed"))];
        assert_eq!(set(lines(), 23, PLAIN), ["━━━───  one    fine    ", "━━━───  three  2 failed"]);
        let fine = || vec![line("one", LinePart::may("fine", 9)), line("three", LinePart::may("fine", 9))];
        assert_eq!(set(fine(), 14, PLAIN), ["━━━━───  one  ", "━━━━───  three"]);
    }
}
