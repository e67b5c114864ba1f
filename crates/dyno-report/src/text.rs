//! Text for terminals: made harmless, measured, wrapped, cut and coloured.
//!
//! Whatever a server, a host or a file name says passes through [`visible`] before it is shown, so that no
//! control sequence of theirs ever reaches a terminal. Colour is put on last, when widths are settled.

use std::borrow::Cow;
use std::fmt::Write as _;

use console::measure_text_width;

use crate::terminal::Terminal;

/// Width of the column on the left that names what a line is about.
pub(crate) const LABEL_WIDTH: usize = 10;
/// Running text is not set wider than this, however wide the terminal is.
pub(crate) const TEXT_WIDTH_MAX: usize = 120;
/// Between the parts of a line.
pub(crate) const DOT: &str = " · ";

/// Makes characters that a terminal would obey, or that change how others are read, visible as escapes.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_treacherous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{1b}' => out.push_str("\\e"),
            other if is_treacherous(other) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// The same, but the breaks of lines stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|character| character != '\n' && is_treacherous(character)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Control characters (C0, DEL, C1), line separators, and what reorders or hides the text around it.
pub(crate) fn is_treacherous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns that a text takes, colour not counted.
pub fn width(text: &str) -> usize {
    measure_text_width(text)
}

/// Fills with spaces on the right.
pub(crate) fn pad_end(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Fills with spaces on the left.
pub(crate) fn pad_start(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Cuts to at most `columns`, an ellipsis in place of what is missing; colour survives.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    console::truncate_str(text, columns, "…")
}

/// Breaks a text without colour at spaces into lines of at most `columns`; a word that is longer is broken too.
/// A dot between two parts stays with the first.
///
/// What fits is measured on the line as it would be: characters that join or vary their neighbours have no width of
/// their own that could be added up.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut rest = text.trim_start_matches(' ');
    while !rest.is_empty() {
        let plain_end = rest.find(' ').unwrap_or(rest.len());
        let end = if rest[plain_end..].starts_with(" · ") { plain_end + " ·".len() } else { plain_end };
        let word = &rest[..end];
        rest = rest[end..].trim_start_matches(' ');
        let longer = format!("{line} {word}");
        if !line.is_empty() && width(&longer) <= columns {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            line.push(character);
            if width(&line) > columns && line.chars().nth(1).is_some() {
                line.pop();
                lines.push(std::mem::replace(&mut line, character.to_string()));
            }
        }
    }
    lines.push(line);
    lines
}

/// Colours of targets, in the order of the page's, in shades that can be read on light and on dark grounds.
const TARGETS: [&str; 6] = ["1;38;5;32", "1;38;5;166", "1;38;5;29", "1;38;5;169", "1;38;5;99", "1;38;5;136"];

/// The roles that colour plays; without colour every role is plain text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

impl Paint {
    /// What a line is about.
    pub(crate) fn label(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// The figure that a reader came for.
    pub(crate) fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What may be read second.
    pub(crate) fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// A target's name or figure in the target's colour; `place` is its place among all targets.
    pub(crate) fn target(self, place: usize, text: &str) -> String {
        self.wrap(TARGETS[place % TARGETS.len()], text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn doubt(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Lines with a column of labels on the left, none wider than the terminal.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) paint: Paint,
    width: usize,
    label_width: usize,
    lead: Option<Lead>,
    lines: Vec<String>,
}

/// That of its widest cell.
pub(crate) fn column_width(column: &[String]) -> usize {
    column.iter().map(|cell| width(cell)).max().unwrap_or(0)
}

/// What stands between the labels and the text of some rows, such as the name of the target that they are about.
#[derive(Debug)]
struct Lead {
    /// Painted; empty once a row has it.
    text: String,
    columns: usize,
}

impl Sheet {
    /// `labels` are those that will be used; the column is made as wide as they need, within reason.
    pub(crate) fn new<'a>(width: usize, paint: Paint, labels: impl IntoIterator<Item = &'a str>) -> Self {
        let longest = labels.into_iter().map(|label| self::width(&visible(label))).max().unwrap_or(0);
        let label_width = (longest + 2).clamp(LABEL_WIDTH, (width / 3).clamp(LABEL_WIDTH, 20));
        Self { paint, width: width.min(TEXT_WIDTH_MAX), label_width, lead: None, lines: Vec::new() }
    }

    /// Columns to the right of the labels, and of the lead where there is one.
    pub(crate) fn room(&self) -> usize {
        let lead = self.lead.as_ref().map_or(0, |lead| lead.columns);
        self.width.saturating_sub(self.label_width + lead).max(1)
    }

    /// The columns that have room beside each other behind so much, each `gap` from the one before it, and those that are left; at
    /// least one has.
    pub(crate) fn beside<'c>(
        &self,
        columns: &'c [Vec<String>],
        behind: usize,
        gap: usize,
    ) -> (&'c [Vec<String>], &'c [Vec<String>]) {
        let mut room = self.room().saturating_sub(behind);
        let fits = |column: &&Vec<String>| {
            let needed = gap + column_width(column);
            let fits = needed <= room;
            room = room.saturating_sub(needed);
            fits
        };
        columns.split_at(columns.iter().take_while(fits).count().max(1))
    }

    /// Puts `text` before the next row, and as much space before those that follow, until [`Sheet::end_lead`].
    pub(crate) fn begin_lead(&mut self, text: &str, columns: usize) {
        self.lead = Some(Lead { text: text.to_owned(), columns });
    }

    pub(crate) fn end_lead(&mut self) {
        self.lead = None;
    }

    /// One line, cut where it does not fit. `text` is visible already and may have colour.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        let label = visible(label);
        let label = pad_end(&cut(&label, self.label_width - 1), self.label_width);
        let label = self.paint.label(&label);
        self.push(&label, text);
    }

    fn push(&mut self, label: &str, text: &str) {
        let text = cut(text, self.room()).into_owned();
        let lead = self.lead.as_mut().map_or_else(String::new, |lead| {
            let columns = lead.columns;
            pad_end(&cut(&std::mem::take(&mut lead.text), columns), columns)
        });
        self.lines.push(format!("{label}{lead}{text}").trim_end().to_owned());
    }

    /// Running text, wrapped; `paint` colours each line of it.
    pub(crate) fn paragraph(&mut self, label: &str, text: &str, paint: impl Fn(Paint, &str) -> String) {
        for (index, line) in wrap(text, self.room()).into_iter().enumerate() {
            let painted = paint(self.paint, &line);
            self.row(if index == 0 { label } else { "" }, &painted);
        }
    }

    /// One line that must stay whole to be of use, such as a path: never cut.
    pub(crate) fn whole(&mut self, label: &str, text: &str) {
        let label = pad_end(label, self.label_width);
        self.lines.push(format!("{}{text}", self.paint.label(&label)));
    }

    /// Running text from the left edge on, beneath no label.
    pub(crate) fn wide(&mut self, text: &str, paint: impl Fn(Paint, &str) -> String) {
        let lines = wrap(text, self.width);
        self.lines.extend(lines.iter().map(|line| paint(self.paint, line)));
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }
}

/// Texts with a label each, wrapped, a newline at the end.
pub fn labelled(texts: &[(&str, String)], terminal: Terminal) -> String {
    let labels = texts.iter().map(|(label, _)| *label);
    let mut sheet = Sheet::new(terminal.width, Paint { color: terminal.color }, labels);
    for (label, text) in texts {
        sheet.paragraph(label, &visible(text), uncoloured);
    }
    sheet.into_lines().join("\n") + "\n"
}

/// No colour on the text of a paragraph.
pub(crate) fn uncoloured(_: Paint, text: &str) -> String {
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(visible("\u{1b}[2Jgone\u{7}\r\n"), "\\e[2Jgone\\u{7}\\r\\n");
        assert_eq!(visible("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(visible("abc\u{202e}fed"), "abc\\u{202e}fed");
        assert!(matches!(visible("größe 東京 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn text_is_wrapped_at_words_and_long_words_are_broken() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("東京都", 4), ["東京", "都"]);
        assert_eq!(wrap("one · two", 5), ["one ·", "two"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn without_colour_nothing_is_added() {
        assert_eq!(Paint { color: false }.bad("x"), "x");
        assert_eq!(Paint { color: true }.bad("x"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(width(&Paint { color: true }.bad("x")), 1);
    }

    #[test]
    fn a_character_that_widens_its_neighbour_is_measured_with_it() {
        assert!(wrap("*\u{fe0f}00", 2).iter().all(|line| width(line) <= 2));
    }

    proptest! {
        #[test]
        fn nothing_treacherous_stays(text in any::<String>()) {
            prop_assert!(!visible(&text).chars().any(is_treacherous));
        }

        #[test]
        fn wrapped_lines_fit(text in any::<String>(), columns in 2_usize..60) {
            let text = visible(&text).into_owned();
            let lines = wrap(&text, columns);
            for line in &lines {
                prop_assert!(width(line) <= columns, "{line:?}");
            }
            let squeeze = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeeze(&lines.concat()), squeeze(&text));
        }

        #[test]
        fn a_cut_text_fits(text in any::<String>(), columns in 1_usize..60) {
            let text = visible(&text).into_owned();
            let painted = Paint { color: true }.good(&text);
            prop_assert!(width(&cut(&painted, columns)) <= columns);
        }
    }
}
