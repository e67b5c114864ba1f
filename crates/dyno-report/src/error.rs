//! An error as a person reads it: what failed, why, and what to do. What to do is for the caller to know.

use std::error::Error;

use crate::terminal::Terminal;
use crate::text::{Paint, TEXT_WIDTH_MAX, visible, wrap};

/// Sets out an error with its causes, one below the other, and the advice if there is any. Ends with a newline.
///
/// A cause that the message above it already contains is not said twice.
pub fn render(error: &dyn Error, help: Option<&str>, terminal: Terminal) -> String {
    let paint = Paint { color: terminal.color };
    let mut out = String::new();
    let mut said = error.to_string();
    block(&mut out, "error: ", &paint.bad("error: "), &said, terminal.width);
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.contains(&text) {
            block(&mut out, "  because: ", &paint.faint("  because: "), &text, terminal.width);
            said = text;
        }
        next = cause.source();
    }
    if let Some(help) = help {
        block(&mut out, "help: ", &paint.good("help: "), help, terminal.width);
    }
    out
}

/// A heading and its text, indented under it. The text's own lines are kept, and those that do not fit are wrapped.
fn block(out: &mut String, heading: &str, painted: &str, text: &str, width: usize) {
    let indent = heading.len();
    let room = width.min(TEXT_WIDTH_MAX).saturating_sub(indent).max(1);
    let lines = text.trim_end().lines().map(visible).flat_map(|line| {
        // Spaces may have a meaning, as those before a mark that stands under a word.
        if crate::text::width(&line) <= room { vec![line.into_owned()] } else { wrap(&line, room) }
    });
    for (index, line) in lines.enumerate() {
        let lead = if index == 0 { painted.to_owned() } else { " ".repeat(indent) };
        out.push_str(&format!("{lead}{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect to postgres://me@db.example/bank")]
    struct Outer {
        source: Inner,
    }

    #[derive(Debug, thiserror::Error)]
    #[error(
        "the server refused the login: FATAL: password authentication failed for user \"me\u{1b}[31m\" (SQLSTATE 28P01)"
    )]
    struct Inner;

    #[test]
    fn causes_stand_under_the_error_and_are_harmless() {
        let text = render(
            &Outer { source: Inner },
            Some("set PGPASSWORD or add a line to ~/.pgpass"),
            Terminal::plain(60),
        );
        insta::assert_snapshot!(text, @r#"
        error: cannot connect to postgres://me@db.example/bank
          because: the server refused the login: FATAL: password
                   authentication failed for user "me\e[31m"
                   (SQLSTATE 28P01)
        help: set PGPASSWORD or add a line to ~/.pgpass
        "#);
    }

    #[test]
    fn a_mark_stays_under_its_word() {
        #[derive(Debug, thiserror::Error)]
        #[error("wrong:\n1 | data = 7\n  |        ^\na number is no table")]
        struct Marked;
        let text = render(&Marked, None, Terminal::plain(40));
        insta::assert_snapshot!(text, @r"
        error: wrong:
               1 | data = 7
                 |        ^
               a number is no table
        ");
    }

    #[test]
    fn a_cause_already_said_is_not_repeated() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading settings: {source}")]
        struct Wrapping {
            source: std::fmt::Error,
        }
        let text = render(&Wrapping { source: std::fmt::Error }, None, Terminal::plain(80));
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
