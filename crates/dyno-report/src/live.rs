//! A run while it happens, on standard error: a display that is redrawn in a terminal, plain lines anywhere
//! else, or nothing. It watches the events and never changes them; that it cannot write stops no run.

mod bar;
mod board;
mod pace;
mod plain;
mod processors;
mod screen;
mod stage;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use console::Term;
use dyno_results::event::Stamped;
use indicatif::TermLike;

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

/// How far a step of a preparation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progressed {
    /// It says nothing of that.
    Begun,
    /// `None` where it is not known how many there will be.
    Rows { done: u64, total: Option<u64> },
    /// Statements that have ended, and their share of the step's work; `None` where that is not known.
    Statements { done: u32, total: u32, share: Option<f64> },
}

/// Shows a run while it happens. It can be fed from several threads.
#[derive(Debug)]
pub struct Live {
    /// `None` where nothing is shown.
    state: Option<Arc<Mutex<LiveState>>>,
    display: Option<Display>,
}

/// What is known of the run, and what was told of it in lines.
#[derive(Debug)]
struct LiveState {
    board: Board,
    clock: Clock,
    plain: Option<PlainLines>,
}

impl Live {
    /// A view on `place`, by default standard error.
    pub fn new(mode: Mode, place: Option<Box<dyn TermLike>>) -> Self {
        if mode == Mode::Quiet {
            return Self { state: None, display: None };
        }
        let state = LiveState { board: Board::default(), clock: Clock::new(), plain: None };
        let state = Arc::new(Mutex::new(state));
        let display = if mode == Mode::Interactive {
            Some(Display::new(Arc::clone(&state), place))
        } else {
            let place = place.unwrap_or_else(|| Box::new(Term::stderr()));
            locked(&state).plain = Some(PlainLines::new(place));
            None
        };
        Self { state: Some(state), display }
    }

    fn update(&self, change: impl FnOnce(&mut LiveState)) {
        if let Some(state) = &self.state {
            change(&mut locked(state));
        }
    }

    /// Takes the next event of the run.
    pub fn event(&self, stamped: &Stamped) {
        self.update(|LiveState { board, clock, plain }| {
            clock.set(stamped.at_ms);
            match plain {
                Some(plain) => plain.event(board, stamped),
                None => board.apply(stamped),
            }
        });
    }

    /// Tells how far a step of a target's preparation is. The step ends with its `Prepare` event.
    pub fn prepare_progress(&self, target: &str, step: &str, progressed: Progressed) {
        self.update(|LiveState { board, clock, plain }| {
            let now_ms = clock.now_ms();
            board.prepare_progress(target, step, progressed, now_ms);
            if let Some(plain) = plain {
                plain.preparing(board, target, now_ms);
            }
        });
    }

    /// Tells what a ladder or ramp that is about to begin has before it.
    pub fn expect(&self, expected: Expected) {
        self.update(|state| state.board.pace.expect(expected));
    }

    /// Tells what dyno is busy with outside of steps and stages: starting a server, verifying. The next event
    /// that begins something else ends it.
    pub fn activity(&self, text: &str) {
        self.update(|LiveState { board, plain, .. }| {
            board.activity = Some(text.to_owned());
            if let Some(plain) = plain {
                plain.activity(text);
            }
        });
    }

    /// Ends the view. The display of a terminal is wiped where `leave` is false, because the final table takes
    /// its place; lines that were printed stay.
    pub fn close(self, leave: bool) {
        if let Some(display) = &self.display {
            display.close(leave);
        }
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
