//! What a server reported, as libpq words it at its default verbosity: the text that users of psql and pgbench know,
//! with the line of the query that is meant and a caret below the place.
//!
//! Pure text: which query was running is the caller's to know.

use std::fmt::Write as _;

use crate::pg::backend::NoticeFields;
use crate::pg::error::PostgresError;
use crate::server_error::ServerError;

/// What libpq says of a session that ended without a word.
pub const CLOSED: &str = "server closed the connection unexpectedly\n\
                          \tThis probably means the server terminated abnormally\n\
                          \tbefore or while processing the request.";

/// Widest excerpt of a query's line, in columns of the screen.
const COLUMNS_MAX: usize = 60;
/// A line that is too long keeps at least this much behind the place, unless its end is nearer.
const COLUMNS_BEHIND: usize = 10;

/// An error, each of its lines ended. `query` is the text that the client sent, where libpq would have it: not for
/// a statement that was prepared earlier.
pub fn error(error: &PostgresError, query: Option<&str>) -> String {
    write(&error.severity, error, error.context.as_deref(), query)
}

/// The same of an error in either protocol; libpq has no words for others, which come in their own.
pub fn server_error(server_error: &ServerError, query: Option<&str>) -> String {
    match server_error {
        ServerError::Postgres(server) => error(server, query),
        ServerError::MySql(_) | ServerError::Driver(_) => format!("{server_error}\n"),
    }
}

/// A notice or warning. Its context is left out, as libpq does.
pub fn notice(fields: NoticeFields<'_>, query: Option<&str>) -> String {
    // In the server's own language where it says so.
    let severity = fields.get(b'S').or_else(|| fields.get(b'V')).unwrap_or_default();
    write(&String::from_utf8_lossy(severity), &PostgresError::from(fields), None, query)
}

/// The system's own words for an error, as `strerror` has them and programs print them.
pub fn system(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default();
    text.rsplit_once("failed to lookup address information: ").map_or(text, |(_, text)| text).to_owned()
}

fn write(severity: &str, error: &PostgresError, context: Option<&str>, query: Option<&str>) -> String {
    let mut text = format!("{severity}:  {}", error.message);
    let (place, place_in) = match (error.position, error.internal_position) {
        (Some(position), _) => (Some(position), query),
        (None, internal) => (internal, error.internal_query.as_deref()),
    };
    match (place, place_in) {
        (Some(position), Some(query)) => {
            text.push('\n');
            write_excerpt(&mut text, query, position);
        }
        // Writing into a string cannot fail, here and below.
        (Some(position), None) => drop(writeln!(text, " at character {position}")),
        (None, _) => text.push('\n'),
    }
    let further = [
        ("DETAIL", error.detail.as_deref()),
        ("HINT", error.hint.as_deref()),
        ("QUERY", error.internal_query.as_deref()),
        ("CONTEXT", context),
    ];
    for (name, value) in further {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}:  {value}");
        }
    }
    text
}

/// The line of `query` that holds the character `position`, counted from 1, and the caret below it. Nothing for a
/// position outside.
fn write_excerpt(text: &mut String, query: &str, position: u32) {
    let characters: Vec<char> = query.chars().collect();
    let place = match usize::try_from(position) {
        Ok(position @ 1..) if position <= characters.len() + 1 => position - 1,
        _ => return,
    };
    let (before, after) = characters.split_at(place);
    let line_start = before.iter().rposition(|c| is_line_end(*c)).map_or(0, |at| at + 1);
    let line_end = after.iter().position(|c| is_line_end(*c)).map_or(characters.len(), |at| place + at);
    let columns = |from: usize, to: usize| characters[from..to].iter().map(|c| width(*c)).sum::<usize>();

    let (mut start, mut end) = (line_start, line_end);
    if columns(start, end) > COLUMNS_MAX {
        let keeps_place = columns(start, place) + COLUMNS_BEHIND <= COLUMNS_MAX;
        if keeps_place {
            while columns(start, end) > COLUMNS_MAX {
                end -= 1;
            }
        } else {
            while columns(place, end) > COLUMNS_BEHIND {
                end -= 1;
            }
            while columns(start, end) > COLUMNS_MAX {
                start += 1;
            }
        }
    }
    let dots = |cut: bool| if cut { "..." } else { "" };
    let front = format!("LINE {}: {}", line_number(before), dots(start > line_start));
    let shown: String = characters[start..end].iter().map(|c| if *c == '\t' { ' ' } else { *c }).collect();
    let caret = front.len() + columns(start, place);
    let _ = writeln!(text, "{front}{shown}{}\n{:caret$}^", dots(end < line_end), "");
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

/// From 1; a carriage return with its line feed ends one line.
fn line_number(before: &[char]) -> usize {
    let ends = before.iter().filter(|c| is_line_end(**c)).count();
    1 + ends - before.windows(2).filter(|pair| pair == &['\r', '\n']).count()
}

/// Columns of the screen: two for the blocks of East Asian scripts and of emoji. As in libpq, a combining mark counts as
/// one.
fn width(character: char) -> usize {
    match u32::from(character) {
        0x1100..=0x115F | 0x2E80..=0x303E | 0x3041..=0xA4C6 | 0xA960..=0xA97C | 0xAC00..=0xD7A3 => 2,
        0xF900..=0xFAFF | 0xFE30..=0xFE6B | 0xFF01..=0xFF60 | 0xFFE0..=0xFFE6 => 2,
        0x1F300..=0x1FAF6 | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pg::error::SqlState;

    fn syntax_error(position: Option<u32>) -> PostgresError {
        PostgresError {
            severity: "ERROR".into(),
            code: SqlState::from_bytes(b"42601"),
            message: "m".into(),
            detail: None,
            hint: None,
            position,
            internal_position: None,
            internal_query: None,
            context: None,
            routine: None,
        }
    }

    #[test]
    fn every_part_in_its_order() {
        let full = PostgresError {
            detail: Some("d".into()),
            hint: Some("h".into()),
            internal_position: Some(2),
            internal_query: Some("ab".into()),
            context: Some("c1\nc2".into()),
            ..syntax_error(None)
        };
        let text = "ERROR:  m\nLINE 1: ab\n         ^\nDETAIL:  d\nHINT:  h\nQUERY:  ab\nCONTEXT:  c1\nc2\n";
        assert_eq!(error(&full, Some("x")), text);
    }

    #[test]
    fn a_position_without_its_query_is_said_in_words() {
        assert_eq!(error(&syntax_error(Some(7)), None), "ERROR:  m at character 7\n");
        assert_eq!(error(&syntax_error(Some(7)), Some("short")), "ERROR:  m\n");
        assert_eq!(
            error(&syntax_error(Some(6)), Some("short")),
            "ERROR:  m\nLINE 1: short\n             ^\n"
        );
        assert_eq!(error(&syntax_error(Some(0)), Some("short")), "ERROR:  m\n");
    }

    #[test]
    fn lines_tabs_and_wide_characters() {
        let text = error(&syntax_error(Some(8)), Some("a\r\n\t東b\nc x\r"));
        assert_eq!(text, "ERROR:  m\nLINE 3: c x\n        ^\n");
        let text = error(&syntax_error(Some(6)), Some("a\r\n\t東b\nc"));
        assert_eq!(text, "ERROR:  m\nLINE 2:  東b\n           ^\n");
    }

    proptest! {
        #[test]
        fn the_caret_stands_within_the_excerpt(query in "[ab東\t\r\n ]{0,200}", position in 0_u32..220) {
            let text = error(&syntax_error(Some(position)), Some(&query));
            let lines: Vec<&str> = text.split('\n').collect();
            if let [_, excerpt, caret, ..] = lines.as_slice() && excerpt.starts_with("LINE ") {
                let columns: usize = excerpt.chars().map(width).sum();
                prop_assert!(caret.len() <= columns + 1);
                prop_assert!(columns <= COLUMNS_MAX + "LINE 000: ".len() + 6);
                let meant = query.chars().nth(position as usize - 1).filter(|c| !is_line_end(*c));
                let mut column = 0;
                let shown = excerpt.chars().find(|c| { column += width(*c); column >= caret.len() });
                if let Some(meant) = meant {
                    prop_assert_eq!(shown, Some(if meant == '\t' { ' ' } else { meant }));
                }
            }
        }
    }
}
