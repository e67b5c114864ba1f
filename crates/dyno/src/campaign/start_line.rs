//! Where loads that run at the same time wait for each other, so that their stages begin together. Whoever has no stage
//! left, or fails, leaves, and is waited for no longer. Whoever has to end the run calls it off for all: stages that are
//! under way end where they stand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it is looked whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct StartLine {
    state: Mutex<State>,
    changed: Condvar,
    /// No stage is to begin any more, and none to go on. A flag, because the engine looks at one.
    called_off: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Who takes part and has not left.
    running: usize,
    /// Who stands at the line.
    waiting: usize,
    /// How often the line was opened.
    starts: u64,
}

impl StartLine {
    pub(super) fn new(running: usize) -> Self {
        let state = State { running, waiting: 0, starts: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), called_off: AtomicBool::new(false) }
    }

    /// Takes part until what it returns is dropped.
    pub(super) fn enter(&self) -> Entrant<'_> {
        Entrant(self)
    }

    /// No stage is to begin or to go on any more, for anybody.
    pub(super) fn call_off(&self) {
        // Under the lock, so that nobody misses it between looking and waiting.
        let _state = self.lock();
        self.called_off.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Relaxed)
    }

    /// Set once it was called off.
    pub(super) fn called_off(&self) -> &AtomicBool {
        &self.called_off
    }

    /// Waits until everybody has left; calls it off once `stop` is set.
    pub(super) fn attend(&self, stop: &AtomicBool) {
        let mut state = self.lock();
        while state.running > 0 {
            if stop.load(Ordering::Relaxed) && !self.called_off.swap(true, Ordering::Relaxed) {
                self.changed.notify_all();
            }
            let waited = self.changed.wait_timeout(state, STOP_LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
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
    /// Waits until everybody who takes part stands here too; false where it was called off.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.0.lock();
        let start = state.starts;
        state.waiting += 1;
        state.open_if_all_are_there();
        self.0.changed.notify_all();
        while state.starts == start && !self.0.is_called_off() {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let opened = state.starts != start;
        if !opened {
            state.waiting -= 1;
        }
        opened && !self.0.is_called_off()
    }
}

impl Drop for Entrant<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.call_off();
        }
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
        let ready: [AtomicU32; 5] = Default::default();
        thread::scope(|scope| {
            for count in stages {
                let (line, ready, stages) = (&line, &ready, &stages);
                scope.spawn(move || {
                    let entrant = line.enter();
                    for (stage, ready) in ready.iter().enumerate().take(count) {
                        ready.fetch_add(1, Ordering::SeqCst);
                        assert!(entrant.wait());
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
        let stop = AtomicBool::new(false);
        let second = line.enter();
        thread::scope(|scope| {
            let first = scope.spawn(|| line.enter().wait());
            scope.spawn(|| line.attend(&stop));
            stop.store(true, Ordering::Relaxed);
            assert!(!first.join().unwrap(), "nobody else came, and the user wants to stop");
            drop(second);
        });
        assert!(line.is_called_off() && line.called_off().load(Ordering::Relaxed));
    }

    #[test]
    fn who_breaks_calls_it_off_for_all() {
        let line = StartLine::new(2);
        thread::scope(|scope| {
            let broken = scope.spawn(|| {
                let _entrant = line.enter();
                panic!("as a defect in a load would");
            });
            assert!(broken.join().is_err());
        });
        assert!(!line.enter().wait());
    }
}
