//! What the place that is written to can do: its width, whether it takes colour, whether it can be redrawn.
//!
//! Decided once from the file descriptor and the environment and then passed along, so that drawing itself
//! reads no environment and can be tested.

use std::ffi::OsString;

use console::Term;

/// Width of what is written to a file or a pipe.
const WIDTH_UNATTENDED: usize = 100;
/// Narrower than this nothing readable can be drawn, so it is drawn as if it were this wide.
const WIDTH_MIN: usize = 24;

/// A place for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Whether colour may be used.
    pub color: bool,
    /// Whether lines can be drawn over: a terminal, and not a dumb one.
    pub interactive: bool,
}

impl Terminal {
    /// Standard output as it is now.
    pub fn stdout() -> Self {
        Self::detect(&Term::stdout(), |name| std::env::var_os(name))
    }

    /// Standard error as it is now.
    pub fn stderr() -> Self {
        Self::detect(&Term::stderr(), |name| std::env::var_os(name))
    }

    /// Text of a given width without colour, as for a file.
    pub fn plain(width: usize) -> Self {
        Self { width: width.max(WIDTH_MIN), color: false, interactive: false }
    }

    fn detect(term: &Term, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let size = term.is_term().then(|| term.size_checked()).flatten();
        Self::decide(term.is_term(), size.map(|(_rows, columns)| usize::from(columns)), variable)
    }

    /// `NO_COLOR` counts when it is set and not empty (no-color.org), `COLUMNS` where there is no terminal to ask.
    fn decide(
        is_terminal: bool,
        columns: Option<usize>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let dumb = variable("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let named = || variable("COLUMNS")?.to_str()?.parse().ok().filter(|&width| width > 0);
        Self {
            width: columns.or_else(named).unwrap_or(WIDTH_UNATTENDED).max(WIDTH_MIN),
            color: is_terminal && !dumb && !no_color,
            interactive: is_terminal && !dumb,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(is_terminal: bool, columns: Option<usize>, variables: &[(&str, &str)]) -> Terminal {
        Terminal::decide(is_terminal, columns, |name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn a_terminal_has_colour_unless_told_otherwise() {
        let xterm = ("TERM", "xterm-256color");
        assert_eq!(decide(true, Some(90), &[xterm]), Terminal { width: 90, color: true, interactive: true });
        assert!(!decide(true, Some(90), &[xterm, ("NO_COLOR", "1")]).color);
        assert!(decide(true, Some(90), &[xterm, ("NO_COLOR", "1")]).interactive);
        assert!(decide(true, Some(90), &[xterm, ("NO_COLOR", "")]).color);
        assert!(!decide(true, Some(90), &[("TERM", "dumb")]).interactive);
        assert!(!decide(true, Some(90), &[]).interactive);
    }

    #[test]
    fn a_file_has_a_width_too() {
        let xterm = ("TERM", "xterm");
        assert_eq!(decide(false, None, &[xterm]), Terminal { width: 100, color: false, interactive: false });
        assert_eq!(decide(false, None, &[xterm, ("COLUMNS", "72")]).width, 72);
        assert_eq!(decide(false, None, &[xterm, ("COLUMNS", "wide")]).width, 100);
        assert_eq!(decide(true, Some(3), &[xterm]).width, 24);
    }
}
