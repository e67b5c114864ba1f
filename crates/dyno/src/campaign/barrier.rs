//! A barrier: loads that run at the same time wait here for each other, so that their stages begin together. A
//! participant without a further stage, or with a failure, leaves, and is no longer waited for. One that has to end the
//! run cancels the barrier for all: stages under way end where they stand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::generator::Signals;

/// How often it is looked whether the user wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct Barrier {
    state: Mutex<BarrierState>,
    changed: Condvar,
    /// No stage is to begin any more, and none to go on. A flag, because the engine looks at one.
    cancelled: AtomicBool,
    /// All who have an end of their own have come to it.
    finished: AtomicBool,
}

#[derive(Debug, Default)]
struct BarrierState {
    /// Who takes part and has not left.
    running: usize,
    /// Those of them who have an end of their own.
    leading: usize,
    /// Who waits at the barrier.
    waiting: usize,
    /// How often the barrier was released.
    releases: u64,
    /// Set for all when the barrier is cancelled.
    cuts: Vec<Arc<AtomicBool>>,
}

impl Barrier {
    /// Those who end where they stand when one of them fails: the streams of a target.
    pub(super) fn group(&self) -> Arc<AtomicBool> {
        let cut = Arc::new(AtomicBool::new(false));
        self.lock().cuts.push(Arc::clone(&cut));
        cut
    }

    /// Takes part until what it returns is dropped. All take part before any waits.
    pub(super) fn register(&self, group: &Arc<AtomicBool>, ends_with_others: bool) -> Participant<'_> {
        let mut state = self.lock();
        state.running += 1;
        state.leading += usize::from(!ends_with_others);
        Participant { barrier: self, cut: Arc::clone(group), ends_with_others }
    }

    /// No stage is to begin or to go on any more, for anybody.
    pub(super) fn cancel(&self) {
        // Under the lock, so that nobody misses it between looking and waiting.
        self.cancel_under(&self.lock());
    }

    fn cancel_under(&self, state: &BarrierState) {
        self.cancelled.store(true, Ordering::Relaxed);
        state.cuts.iter().for_each(|cut| cut.store(true, Ordering::Relaxed));
        self.changed.notify_all();
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Waits until everybody has left; cancels once `stop` is set.
    pub(super) fn wait_until_all_left(&self, stop: &AtomicBool) {
        let mut state = self.lock();
        while state.running > 0 {
            if stop.load(Ordering::Relaxed) && !self.is_cancelled() {
                self.cancel_under(&state);
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
pub(super) struct Participant<'a> {
    barrier: &'a Barrier,
    /// Of its group.
    cut: Arc<AtomicBool>,
    ends_with_others: bool,
}

impl Participant<'_> {
    /// Waits until every participant waits here too; false where the barrier was cancelled.
    pub(super) fn wait(&self) -> bool {
        let barrier = self.barrier;
        let mut state = barrier.lock();
        let release = state.releases;
        state.waiting += 1;
        state.release_if_all_wait();
        barrier.changed.notify_all();
        while state.releases == release && !barrier.is_cancelled() {
            state = barrier.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let released = state.releases != release;
        if !released {
            state.waiting -= 1;
        }
        released && !self.cut.load(Ordering::Relaxed)
    }

    /// What ends its stages before their plans do.
    pub(super) fn signals(&self) -> Signals<'_> {
        Signals { stop: &self.cut, over: Some(&self.barrier.finished) }
    }

    /// Set once the barrier was cancelled, or another of the group has failed.
    pub(super) fn cancelled(&self) -> &AtomicBool {
        &self.cut
    }

    /// This one has failed: the others of its group end where they stand.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.barrier.cancel();
        }
        let mut state = self.barrier.lock();
        state.running = state.running.saturating_sub(1);
        state.leading = state.leading.saturating_sub(usize::from(!self.ends_with_others));
        if state.leading == 0 {
            self.barrier.finished.store(true, Ordering::Relaxed);
        }
        state.release_if_all_wait();
        self.barrier.changed.notify_all();
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
        let barrier = Barrier::default();
        let group = barrier.group();
        let participants = stages.map(|count| (count, barrier.register(&group, false)));
        let ready: [AtomicU32; 5] = Default::default();
        thread::scope(|scope| {
            for (count, participant) in participants {
                let (ready, stages) = (&ready, &stages);
                scope.spawn(move || {
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
        let barrier = Barrier::default();
        let group = barrier.group();
        let stop = AtomicBool::new(false);
        let (waiting, second) = (barrier.register(&group, false), barrier.register(&group, false));
        thread::scope(|scope| {
            let first = scope.spawn(move || waiting.wait());
            scope.spawn(|| barrier.wait_until_all_left(&stop));
            stop.store(true, Ordering::Relaxed);
            assert!(!first.join().unwrap(), "nobody else came, and the user wants to stop");
            drop(second);
        });
        assert!(barrier.is_cancelled());
    }

    #[test]
    fn who_breaks_cancels_it_for_all() {
        let barrier = Barrier::default();
        let group = barrier.group();
        let (breaking, other) = (barrier.register(&group, false), barrier.register(&group, false));
        thread::scope(|scope| {
            let broken = scope.spawn(move || {
                let _participant = breaking;
                panic!("as a defect in a load would");
            });
            assert!(broken.join().is_err());
        });
        assert!(!other.wait());
    }

    #[test]
    fn what_has_no_end_of_its_own_lasts_as_long_as_the_others() {
        let barrier = Barrier::default();
        let group = barrier.group();
        let (first, second, accompanying) = (
            barrier.register(&group, false),
            barrier.register(&group, false),
            barrier.register(&group, true),
        );
        let is_over = || accompanying.signals().over.unwrap().load(Ordering::Relaxed);
        drop(first);
        assert!(!is_over());
        drop(second);
        assert!(is_over() && !barrier.is_cancelled());
    }
}
