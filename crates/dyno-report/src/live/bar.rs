//! The display in a terminal: indicatif keeps its place, its rate and its redrawing, [`super::screen`] says what
//! stands on it.

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::board::Board;
use super::{Clock, locked, screen};
use crate::terminal::Terminal;
use crate::text::Paint;

/// Redrawing at most this often.
const REDRAWS_PER_S: u8 = 15;
/// Time between redraws: often enough for a bar to move and a stalled server to be seen, seldom enough to take
/// no processor from the driver.
const TICK: Duration = Duration::from_millis(200);

/// A board that is drawn in place until it is closed.
#[derive(Debug)]
pub(super) struct Display {
    state: Arc<Mutex<DisplayState>>,
    bar: ProgressBar,
}

#[derive(Debug)]
struct DisplayState {
    board: Board,
    clock: Clock,
}

impl Display {
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        let state = Arc::new(Mutex::new(DisplayState { board: Board::default(), clock: Clock::new() }));
        let paint = Paint { color: writer.is_none() && Terminal::stderr().color };
        let target = match writer {
            None => ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S),
            Some(writer) => {
                ProgressDrawTarget::term_like_with_hz(Box::new(Canvas(Mutex::new(writer))), REDRAWS_PER_S)
            }
        };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(Arc::clone(&state), paint));
        bar.enable_steady_tick(TICK);
        Self { state, bar }
    }

    /// Changes the board. What is drawn follows with the next tick.
    pub(super) fn update(&self, change: impl FnOnce(&mut Board, &mut Clock)) {
        let mut state = locked(&self.state);
        let DisplayState { board, clock } = &mut *state;
        change(board, clock);
    }

    /// Stops drawing; what stands there stays or is wiped.
    pub(super) fn close(&self, leave: bool) {
        self.bar.disable_steady_tick();
        if leave {
            self.bar.abandon();
        } else {
            self.bar.finish_and_clear();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.close(false);
        }
    }
}

/// A style whose only part is the whole screen, drawn anew each time.
fn style(state: Arc<Mutex<DisplayState>>, paint: Paint) -> ProgressStyle {
    let plain = ProgressStyle::with_template("{screen}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    plain.with_key("screen", move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let (rows, columns) = Term::stderr().size();
        let state = locked(&state);
        let size = screen::ScreenSize { columns: usize::from(columns), rows: usize::from(rows) };
        let lines = screen::draw(&state.board, state.clock.now_ms(), size, paint);
        // Writing to indicatif's buffer in memory cannot fail.
        let _ = out.write_str(&lines.join("\n"));
    })
}

/// A writer that is taken for a terminal of standard error's size.
struct Canvas(Mutex<Box<dyn Write + Send>>);

impl Debug for Canvas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Canvas")
    }
}

impl Canvas {
    fn write(&self, text: &str) -> io::Result<()> {
        locked(&self.0).write_all(text.as_bytes())
    }

    /// Moves the cursor: `A` up, `B` down, `C` right, `D` left.
    fn go(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.write(&format!("\u{1b}[{n}{direction}")) }
    }
}

impl TermLike for Canvas {
    fn width(&self) -> u16 {
        Term::stderr().size().1
    }

    fn height(&self) -> u16 {
        Term::stderr().size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        locked(&self.0).flush()
    }
}
