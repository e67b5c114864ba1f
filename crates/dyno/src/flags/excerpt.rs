//! The line of a scenario that an error is about, with a mark under the word.

use std::ops::Range;

use crate::secrets::hidden_in_lines;

/// Longest part of a line that is shown, and of it what stands before the mark.
const SHOWN_MAX: usize = 64;
const BEFORE_MAX: usize = 32;

/// Where an error is, ` at line 4, column 8`, and the line with a mark under what it is about. No mark where the line holds
/// a secret, which is not shown.
pub(super) fn excerpt(text: &str, span: Range<usize>) -> (String, String) {
    let start = text.floor_char_boundary(span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let number = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let place = format!(" at line {number}, column {column}");
    let margin = " ".repeat(number.to_string().len());
    let shown = hidden_in_lines(line);
    if shown != line {
        return (place, format!("\n{number} | {}", shown.chars().take(SHOWN_MAX).collect::<String>()));
    }
    // A tab is as wide as a space here, so that the mark stands where it should.
    let all: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let from = (column - 1).saturating_sub(BEFORE_MAX);
    let shown: String = all.iter().skip(from).take(SHOWN_MAX).collect();
    let end =
        text.floor_char_boundary(span.end).clamp(start, line_start + line.len().max(start - line_start));
    let marked = text[start..end].chars().count().clamp(1, SHOWN_MAX - BEFORE_MAX);
    let before: String = all.iter().skip(from).take(column - 1 - from).collect();
    let mark = format!("{}{}", " ".repeat(dyno_report::text_width(&before)), "^".repeat(marked));
    (place, format!("\n{number} | {}\n{margin} | {mark}", shown.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, word: &str) -> String {
        let at = text.find(word).unwrap();
        let (place, excerpt) = excerpt(text, at..at + word.len());
        format!("{place}{excerpt}")
    }

    #[test]
    fn the_mark_stands_under_the_word() {
        assert_eq!(
            marked("a = 1\n  data = 7\nb = 2", "7"),
            " at line 2, column 10\n2 |   data = 7\n  |          ^"
        );
        assert_eq!(
            marked("\tseed = 'ten'", "'ten'"),
            " at line 1, column 9\n1 |  seed = 'ten'\n  |         ^^^^^"
        );
        assert_eq!(
            marked("x = '東京' + 7", "7"),
            " at line 1, column 12\n1 | x = '東京' + 7\n  |              ^"
        );
        let long = format!("{} seed = 'ten'{}", "x".repeat(100), "y".repeat(100));
        let said = marked(&long, "'ten'");
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[1].find("'ten'"), lines[2].find('^'), "{said}");
        assert!(lines[1].len() < 80, "{said}");
        let secret = marked("url = 'postgres://u:gull@h/d' x", "x");
        assert!(!secret.contains("gull") && !secret.contains('^'), "{secret}");
        assert_eq!(excerpt("", 0..0).1, "\n1 | \n  | ^");
        assert_eq!(excerpt("a =", 3..3).1, "\n1 | a =\n  |    ^");
        assert_eq!(excerpt("a =\n", 4..4).0, " at line 2, column 1");
    }
}
