//! A barrier: loads that run at the same time wait here for each other, so that their stages begin together. A
//! participant without a further stage, or with a failure, leaves, and is no longer waited for. One that has to end the
//! run cancels the barrier for all: stages under way end where they stand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it is looked whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Barrier {
    state: Mutex<BarrierState>,
    changed: Condvar,
    /// No stage is to begin any more, and none to go on. A flag, because the engine looks at one.
    cancelled: AtomicBool,
}

#[derive(Debug)]
struct BarrierState {
    /// Who takes part and has not left.
    running: usize,
    /// Who waits at the barrier.
    waiting: usize,
    /// How often the barrier was released.
    releases: u64,
}

impl Barrier {
    pub(super) fn new(running: usize) -> Self {
        let state = BarrierState { running, waiting: 0, releases: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), cancelled: AtomicBool::new(false) }
    }

    /// Takes part until what it returns is dropped.
    pub(super) fn register(&self) -> Participant<'_> {
        Participant(self)
    }

    /// No stage is to begin or to go on any more, for anybody.
    pub(super) fn cancel(&self) {
        // Under the lock, so that nobody misses it between looking and waiting.
        let _state = self.lock();
        self.cancelled.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Set once it was cancelled.
    pub(super) fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Waits until everybody has left; cancels once `stop` is set.
    pub(super) fn wait_until_all_left(&self, stop: &AtomicBool) {
        let mut state = self.lock();
        while state.running > 0 {
            if stop.load(Ordering::Relaxed) && !self.cancelled.swap(true, Ordering::Relaxed) {
                self.changed.notify_all();
            }
            let waited = self.changed.wait_timeout(state, STOP_LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BarrierState> {
        // Counts are whole whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A load that takes part.
#[derive(Debug)]
pub(super) struct Participant<'a>(&'a Barrier);

impl Participant<'_> {
    /// Waits until every participant waits here too; false where the barrier was cancelled.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.0.lock();
        let release = state.releases;
        state.waiting += 1;
        state.release_if_all_wait();
        self.0.changed.notify_all();
        while state.releases == release && !self.0.is_cancelled() {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let released = state.releases != release;
        if !released {
            state.waiting -= 1;
        }
        released && !self.0.is_cancelled()
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
        let mut state = self.0.lock();
        state.running = state.running.saturating_sub(1);
        state.release_if_all_wait();
        self.0.changed.notify_all();
    }
}

impl BarrierState {
    fn release_if_all_wait(&mut self) {
        if self.waiting > 0 && self.waiting >= self.running {
            self.waiting = 0;
            self.releases += 1;
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
        // The second participant has fewer stages, and leaves.
        let stages = [5, 2, 5];
        let barrier = Barrier::new(stages.len());
        let ready: [AtomicU32; 5] = Default::default();
        thread::scope(|scope| {
            for count in stages {
                let (barrier, ready, stages) = (&barrier, &ready, &stages);
                scope.spawn(move || {
                    let participant = barrier.register();
                    for (stage, ready) in ready.iter().enumerate().take(count) {
                        ready.fetch_add(1, Ordering::SeqCst);
                        assert!(participant.wait());
                        let expected = stages.iter().filter(|count| **count > stage).count();
                        assert_eq!(ready.load(Ordering::SeqCst) as usize, expected);
                    }
                });
            }
        });
    }

    #[test]
    fn who_waits_is_let_go_when_the_run_ends() {
        let barrier = Barrier::new(2);
        let stop = AtomicBool::new(false);
        let second = barrier.register();
        thread::scope(|scope| {
            let first = scope.spawn(|| barrier.register().wait());
            scope.spawn(|| barrier.wait_until_all_left(&stop));
            stop.store(true, Ordering::Relaxed);
            assert!(!first.join().unwrap(), "nobody else came, and the user wants to stop");
            drop(second);
        });
        assert!(barrier.is_cancelled() && barrier.cancelled().load(Ordering::Relaxed));
    }

    #[test]
    fn who_breaks_cancels_it_for_all() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let broken = scope.spawn(|| {
                let _participant = barrier.register();
                panic!("as a defect in a load would");
            });
            assert!(broken.join().is_err());
        });
        assert!(!barrier.register().wait());
    }
}
