//! A run while it happens, on standard error: a display that is redrawn in a terminal, plain lines anywhere
//! else, or nothing. It watches the events and never changes them; that it cannot write stops no run.

mod bar;
mod board;
mod pace;
mod plain;
mod processors;
mod screen;
mod stage;

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dyno_results::event::Stamped;

use self::bar::Display;
use self::board::Board;
use self::plain::PlainLines;
use crate::terminal::Terminal;

/// How a run is shown while it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Redrawn in place. Needs a terminal.
    Interactive,
    /// Line by line, without control characters.
    Plain,
    /// Not at all: for `--quiet`, and where standard output is for a machine.
    Quiet,
}

impl Mode {
    /// What suits this place.
    #[must_use]
    pub fn suited_to(terminal: Terminal) -> Self {
        if terminal.interactive { Self::Interactive } else { Self::Plain }
    }
}

/// What a ladder or ramp of a target has before it. No event tells that, because it is a plan and not a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    pub target: String,
    pub series: String,
    /// Steps, all that there can be.
    pub steps: u32,
    /// Of one step.
    pub step_s: f64,
    /// True where it ends before its last step if the target is saturated or its peak is passed.
    pub may_end_early: bool,
}

/// Shows a run while it happens. It can be fed from several threads.
#[derive(Debug)]
pub struct Live {
    view: View,
}

#[derive(Debug)]
enum View {
    Interactive(Display),
    Plain(Box<Mutex<PlainView>>),
    Quiet,
}

impl Live {
    /// A view on `writer`, by default standard error. A writer of one's own is taken to be a terminal of the
    /// width and height that standard error has, without colour.
    #[must_use]
    pub fn new(mode: Mode, writer: Option<Box<dyn Write + Send>>) -> Self {
        let view = match mode {
            Mode::Interactive => View::Interactive(Display::new(writer)),
            Mode::Plain => View::Plain(Box::new(Mutex::new(PlainView::new(writer)))),
            Mode::Quiet => View::Quiet,
        };
        Self { view }
    }

    /// Takes the next event of the run.
    pub fn event(&self, stamped: &Stamped) {
        match &self.view {
            View::Interactive(display) => display.update(|board, clock| {
                clock.set(stamped.at_ms);
                board.apply(stamped);
            }),
            View::Plain(view) => locked(view).event(stamped),
            View::Quiet => {}
        }
    }

    /// Tells how far a step of a target's preparation is: `done` of `total` rows (or whatever it counts in), `None`
    /// where the total is not known. The step ends with its `Prepare` event.
    pub fn prepare_progress(&self, target: &str, step: &str, done: u64, total: Option<u64>) {
        match &self.view {
            View::Interactive(display) => {
                display.update(|board, clock| {
                    board.prepare_progress(target, step, done, total, clock.now_ms());
                });
            }
            View::Plain(view) => locked(view).prepare_progress(target, step, done, total),
            View::Quiet => {}
        }
    }

    /// Tells what a ladder or ramp that is about to begin has before it.
    pub fn expect(&self, expected: Expected) {
        match &self.view {
            View::Interactive(display) => display.update(|board, _| board.expect(expected)),
            View::Plain(view) => locked(view).board.expect(expected),
            View::Quiet => {}
        }
    }

    /// Tells what dyno is busy with outside of steps and stages: starting a server, verifying. The next event
    /// that begins something else ends it.
    pub fn activity(&self, text: &str) {
        match &self.view {
            View::Interactive(display) => display.update(|board, _| board.activity(text)),
            View::Plain(view) => locked(view).activity(text),
            View::Quiet => {}
        }
    }

    /// Ends the view. The display of a terminal is wiped where `leave` is false, because the final table takes
    /// its place; lines that were printed stay.
    pub fn close(self, leave: bool) {
        if let View::Interactive(display) = &self.view {
            display.close(leave);
        }
    }
}

/// The plain view with its place and its clock.
struct PlainView {
    board: Board,
    lines: PlainLines,
    clock: Clock,
    writer: Box<dyn Write + Send>,
}

impl std::fmt::Debug for PlainView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainView").field("board", &self.board).finish_non_exhaustive()
    }
}

impl PlainView {
    fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        Self {
            board: Board::default(),
            lines: PlainLines::default(),
            clock: Clock::new(),
            writer: writer.unwrap_or_else(|| Box::new(std::io::stderr())),
        }
    }

    fn event(&mut self, stamped: &Stamped) {
        self.clock.set(stamped.at_ms);
        let lines = self.lines.event(&mut self.board, stamped);
        self.print(&lines);
    }

    fn prepare_progress(&mut self, target: &str, step: &str, done: u64, total: Option<u64>) {
        let now_ms = self.clock.now_ms();
        self.board.prepare_progress(target, step, done, total, now_ms);
        let line = self.lines.preparing(&self.board, target, now_ms);
        self.print(line.as_slice());
    }

    fn activity(&mut self, text: &str) {
        self.board.activity(text);
        self.print(&[PlainLines::activity(text)]);
    }

    /// Nobody to tell that standard error is closed, and the run goes on without it.
    fn print(&mut self, lines: &[String]) {
        for line in lines {
            let _ = writeln!(self.writer, "{line}");
        }
        let _ = self.writer.flush();
    }
}

/// Where the run's own time stands between two events.
#[derive(Debug)]
struct Clock {
    at_ms: u64,
    since: Instant,
}

impl Clock {
    fn new() -> Self {
        Self { at_ms: 0, since: Instant::now() }
    }

    fn set(&mut self, at_ms: u64) {
        // Events of several threads may come a little out of order.
        if at_ms > self.at_ms {
            *self = Self { at_ms, since: Instant::now() };
        }
    }

    fn now_ms(&self) -> u64 {
        self.at_ms.saturating_add(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// A view that was left in the middle of a change by a panic elsewhere is still good enough to show.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
