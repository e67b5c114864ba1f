//! The lines that tell how far the rows of a table are.

use std::time::Duration;

/// Without `-q` there is a line for each so many rows …
const ROWS_PER_LINE: u64 = 100_000;
/// … and with it one for each so many seconds, and one at the end.
const SECONDS_PER_LINE: f64 = 5.0;
/// With `-q` pgbench looks at its clock, and for the end, each so many rows only.
const ROWS_PER_LOOK: u64 = 100;

/// Makes the lines of one table.
#[derive(Debug)]
pub(super) struct ProgressLines {
    table: &'static str,
    total: u64,
    quiet: bool,
    /// On a terminal each line is written over the one before.
    terminal: bool,
    /// Rows that lines, or looks at the clock, have been made for.
    seen: u64,
    /// Lines are due, in units of [`SECONDS_PER_LINE`], from here.
    due: f64,
    /// Of the line before.
    characters: usize,
}

impl ProgressLines {
    pub(super) fn new(table: &'static str, total: u64, quiet: bool, terminal: bool) -> Self {
        Self { table, total, quiet, terminal, seen: 0, due: 1.0, characters: 0 }
    }

    /// The lines that are due once `done` rows are sent, `elapsed` after the first.
    pub(super) fn advance(&mut self, done: u64, elapsed: Duration, say: &mut dyn FnMut(&str)) {
        let elapsed_s = elapsed.as_secs_f64();
        if !self.quiet {
            while done / ROWS_PER_LINE > self.seen / ROWS_PER_LINE {
                self.seen = (self.seen / ROWS_PER_LINE + 1) * ROWS_PER_LINE;
                self.line(elapsed_s, say);
            }
            return;
        }
        let done = done - done % ROWS_PER_LOOK;
        if done > self.seen {
            self.seen = done;
            if done == self.total || elapsed_s >= self.due * SECONDS_PER_LINE {
                self.line(elapsed_s, say);
                self.due = (elapsed_s / SECONDS_PER_LINE).ceil();
            }
        }
    }

    fn line(&mut self, elapsed_s: f64, say: &mut dyn FnMut(&str)) {
        let (done, total) = (self.seen, self.total);
        let remaining_s = (total - done) as f64 * elapsed_s / done as f64;
        let percent = u128::from(done) * 100 / u128::from(total);
        let mut line = format!(
            "{done} of {total} tuples ({percent}%) of {} done (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)",
            self.table
        );
        // The rest of a longer line before must not stay on the terminal.
        let characters = line.len();
        line.extend(std::iter::repeat_n(' ', self.characters.saturating_sub(characters)));
        self.characters = characters;
        line.push(if self.terminal { '\r' } else { '\n' });
        say(&line);
    }

    /// Clears the line on a terminal.
    pub(super) fn end(&self, say: &mut dyn FnMut(&str)) {
        if self.characters > 0 && self.terminal {
            say(&format!("{:width$}\r", "", width = self.characters));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut progress: ProgressLines, sent: &[(u64, f64)]) -> String {
        let mut said = String::new();
        for (done, elapsed_s) in sent {
            progress.advance(*done, Duration::from_secs_f64(*elapsed_s), &mut |text| said.push_str(text));
        }
        progress.end(&mut |text| said.push_str(text));
        said
    }

    #[test]
    fn each_hundred_thousand_rows_have_a_line() {
        let progress = ProgressLines::new("t", 300_000, false, false);
        assert_eq!(
            lines(progress, &[(99_999, 0.5), (100_001, 1.0), (299_999, 2.0), (300_000, 3.0)]),
            "100000 of 300000 tuples (33%) of t done (elapsed 1.00 s, remaining 2.00 s)\n\
             200000 of 300000 tuples (66%) of t done (elapsed 2.00 s, remaining 1.00 s)\n\
             300000 of 300000 tuples (100%) of t done (elapsed 3.00 s, remaining 0.00 s)\n"
        );
        assert_eq!(lines(ProgressLines::new("t", 10, false, true), &[(10, 0.1)]), "");
    }

    #[test]
    fn quiet_is_a_line_each_five_seconds_and_one_at_the_end() {
        let sent =
            [(4_250, 4.99), (8_510, 5.0), (9_000, 6.0), (12_000, 12.0), (14_000, 14.0), (20_000, 14.5)];
        assert_eq!(
            lines(ProgressLines::new("t", 20_000, true, false), &sent),
            "8500 of 20000 tuples (42%) of t done (elapsed 5.00 s, remaining 6.76 s)\n\
             9000 of 20000 tuples (45%) of t done (elapsed 6.00 s, remaining 7.33 s)\n\
             12000 of 20000 tuples (60%) of t done (elapsed 12.00 s, remaining 8.00 s)\n\
             20000 of 20000 tuples (100%) of t done (elapsed 14.50 s, remaining 0.00 s)\n"
        );
        // pgbench does not look at the end of a number of rows that is no whole hundred.
        assert_eq!(lines(ProgressLines::new("t", 30, true, false), &[(30, 9.0)]), "");
    }

    #[test]
    fn on_a_terminal_a_line_covers_the_one_before() {
        let progress = ProgressLines::new("t", 200_000, false, true);
        let said = lines(progress, &[(100_000, 10.0), (200_000, 10.0)]);
        let shown: Vec<&str> = said.split('\r').collect();
        assert_eq!(shown[0], "100000 of 200000 tuples (50%) of t done (elapsed 10.00 s, remaining 10.00 s)");
        assert_eq!(shown[1], "200000 of 200000 tuples (100%) of t done (elapsed 10.00 s, remaining 0.00 s)");
        assert_eq!(shown[2], " ".repeat(shown[1].len()));
        assert_eq!(shown[3], "");
    }
}
