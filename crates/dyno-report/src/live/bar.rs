//! The display in a terminal: indicatif keeps its place, its rate and its redrawing, [`super::screen`] says what
//! stands on it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::{LiveState, locked, screen};
use crate::terminal::Terminal;
use crate::text::Paint;

/// Redrawing at most this often.
const REDRAWS_PER_S: u8 = 15;
/// Time between redraws: often enough for a bar to move and a stalled server to be seen, seldom enough to take
/// no processor from the driver.
const TICK: Duration = Duration::from_millis(200);

/// The board, drawn in place until it is closed.
#[derive(Debug)]
pub(super) struct Display(ProgressBar);

impl Display {
    pub(super) fn new(state: Arc<Mutex<LiveState>>, place: Option<Box<dyn TermLike>>) -> Self {
        let paint = Paint { color: place.is_none() && Terminal::stderr().color };
        let target = match place {
            None => ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S),
            Some(place) => ProgressDrawTarget::term_like_with_hz(place, REDRAWS_PER_S),
        };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(state, paint));
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Stops drawing; what stands there stays or is wiped.
    pub(super) fn close(&self, leave: bool) {
        self.0.disable_steady_tick();
        if leave {
            self.0.abandon();
        } else {
            self.0.finish_and_clear();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if !self.0.is_finished() {
            self.close(false);
        }
    }
}

/// A style whose only part is the whole screen, drawn anew each time.
fn style(state: Arc<Mutex<LiveState>>, paint: Paint) -> ProgressStyle {
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
