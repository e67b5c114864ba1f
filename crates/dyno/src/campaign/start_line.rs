//! Where loads that run at the same time wait for each other, so that their stages begin together. Whoever has no stage
//! left, or fails, leaves, and is waited for no longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often somebody who waits looks whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct StartLine {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Who takes part and has not left.
    running: usize,
    /// Who stands at the line.
    waiting: usize,
    /// How often the line was opened.
    starts: u64,
    /// Somebody ended the race for all.
    called_off: bool,
}

impl StartLine {
    pub(super) fn new(running: usize) -> Self {
        let state = State { running, waiting: 0, starts: 0, called_off: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Takes part until what it returns is dropped.
    pub(super) fn enter(&self) -> Entrant<'_> {
        Entrant(self)
    }

    /// No further stage is to begin, for anybody.
    pub(super) fn call_off(&self) {
        self.lock().called_off = true;
        self.changed.notify_all();
    }

    pub(super) fn is_called_off(&self) -> bool {
        self.lock().called_off
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counts are whole whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who takes part.
#[derive(Debug)]
pub(super) struct Entrant<'a>(&'a StartLine);

impl Entrant<'_> {
    /// Waits until everybody who takes part stands here too; false where the race was called off, or `stop` is set.
    pub(super) fn wait(&self, stop: &AtomicBool) -> bool {
        let mut state = self.0.lock();
        let start = state.starts;
        state.waiting += 1;
        state.open_if_all_are_there();
        self.0.changed.notify_all();
        while state.starts == start && !state.called_off && !stop.load(Ordering::Relaxed) {
            let waited = self.0.changed.wait_timeout(state, STOP_LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let opened = state.starts != start;
        if !opened {
            state.waiting -= 1;
        }
        opened
    }
}

impl Drop for Entrant<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running = state.running.saturating_sub(1);
        state.open_if_all_are_there();
        self.0.changed.notify_all();
    }
}

impl State {
    fn open_if_all_are_there(&mut self) {
        if self.waiting > 0 && self.waiting >= self.running {
            self.waiting = 0;
            self.starts += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;

    #[test]
    fn nobody_begins_a_stage_before_all_who_are_left_can() {
        // The second entrant has fewer stages, and leaves.
        let stages = [5, 2, 5];
        let line = StartLine::new(stages.len());
        let stop = AtomicBool::new(false);
        let ready: [AtomicU32; 5] = Default::default();
        thread::scope(|scope| {
            for count in stages {
                let (line, stop, ready, stages) = (&line, &stop, &ready, &stages);
                scope.spawn(move || {
                    let entrant = line.enter();
                    for (stage, ready) in ready.iter().enumerate().take(count) {
                        ready.fetch_add(1, Ordering::SeqCst);
                        assert!(entrant.wait(stop));
                        let expected = stages.iter().filter(|count| **count > stage).count();
                        assert_eq!(ready.load(Ordering::SeqCst) as usize, expected);
                    }
                });
            }
        });
    }

    #[test]
    fn who_waits_is_let_go_when_the_run_ends() {
        let line = StartLine::new(2);
        let (first, _second) = (line.enter(), line.enter());
        assert!(!first.wait(&AtomicBool::new(true)));
        line.call_off();
        assert!(!first.wait(&AtomicBool::new(false)));
        assert!(line.is_called_off());
    }
}
