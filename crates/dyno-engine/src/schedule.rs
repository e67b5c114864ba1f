//! Absolute times at which the transactions of an open load are due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_results::event::Distribution;
use dyno_results::spec::{Arrivals, StageOrder};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::clock::SECOND_NS;
use crate::config::Share;

/// Most arrivals that are counted by drawing each.
const SKIPPED_ONE_BY_ONE: f64 = 100_000.0;

/// Draws the time between two Poisson arrivals, as a multiple of its mean: where a workload's own random numbers are to
/// decide the schedule.
pub type Gaps = Box<dyn FnMut() -> f64 + Send>;

/// One thread's share of an open load: its due times, one after the other.
///
/// The times depend on nothing that the server does: late work keeps its place and is never dropped. Arrivals are
/// laid out evenly or by chance along the *expected count* of arrivals, and each is due when that count is
/// reached; so a ramp of the rate, even from zero, has exactly the arrivals that its line stands for.
pub(crate) struct Schedule {
    gaps: Gaps,
    distribution: Distribution,
    /// This thread's rate per nanosecond, at the start and at the end of the stage.
    rate_start: f64,
    rate_end: f64,
    start_ns: u64,
    /// Length of the ramp; the rate stays at its end behind it. Infinite where nothing changes.
    ramp_ns: f64,
    /// The expected count at which the next transaction is due.
    count: f64,
}

/// Gaps of a stream of the engine's own.
pub(crate) fn seeded_gaps(seed: u64) -> Gaps {
    let mut random = StdRng::seed_from_u64(seed);
    // 1 - [0, 1) is never zero, whose logarithm would be infinite.
    Box::new(move || -(1.0 - random.random::<f64>()).ln())
}

impl Schedule {
    /// A thread's share of the arrivals of an order; `None` for a closed load.
    ///
    /// Constant arrivals of several threads are set off against each other, so that together they are constant.
    pub(crate) fn new(order: &StageOrder, start_ns: u64, share: &Share, gaps: Gaps) -> Option<Self> {
        let Arrivals::Open { rate_per_s, rate_end_per_s, distribution } = order.arrivals else { return None };
        let threads = f64::from(share.of_threads());
        let per_thread_ns = |rate_per_s: f64| rate_per_s / threads / SECOND_NS as f64;
        let ramp_ns = order.duration_ns().filter(|ns| *ns > 0).map_or(f64::INFINITY, |ns| ns as f64);
        let mut schedule = Self {
            gaps,
            distribution,
            rate_start: per_thread_ns(rate_per_s),
            rate_end: per_thread_ns(rate_end_per_s),
            start_ns,
            ramp_ns,
            count: 0.0,
        };
        match distribution {
            Distribution::Poisson => schedule.advance(),
            Distribution::Constant => schedule.count = f64::from(share.number()) / threads,
        }
        Some(schedule)
    }

    /// When the next transaction is due.
    pub(crate) fn due_ns(&self) -> u64 {
        // A float to integer conversion saturates, which is what a rate of nothing wants.
        self.start_ns.saturating_add(self.time_of(self.count) as u64)
    }

    /// Goes on to the transaction after the next.
    pub(crate) fn advance(&mut self) {
        self.count += match self.distribution {
            Distribution::Poisson => (self.gaps)(),
            Distribution::Constant => 1.0,
        };
    }

    /// How many transactions are due before `until_ns`; the schedule goes on to the first that is not. Beyond
    /// [`SKIPPED_ONE_BY_ONE`] it is the expected number, because to draw them all would take too long.
    pub(crate) fn skip_until(&mut self, until_ns: u64) -> u64 {
        let expected = self.count_at(until_ns.saturating_sub(self.start_ns) as f64);
        if expected - self.count > SKIPPED_ONE_BY_ONE {
            let skipped = (expected - self.count).ceil();
            self.count += skipped;
            return skipped as u64;
        }
        let mut skipped = 0;
        while self.due_ns() < until_ns {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// About how many transactions are due and not begun at `now_ns`.
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        let late = self.count_at(now_ns.saturating_sub(self.start_ns) as f64) - self.count;
        if late > 0.0 { 1 + late as u64 } else { 0 }
    }

    /// Half of what the rate gains per nanosecond of the ramp.
    fn half_slope(&self) -> f64 {
        (self.rate_end - self.rate_start) / self.ramp_ns / 2.0
    }

    /// Arrivals expected within the first `elapsed_ns`.
    fn count_at(&self, elapsed_ns: f64) -> f64 {
        let ramped_ns = elapsed_ns.min(self.ramp_ns);
        let ramped = (self.rate_start + self.half_slope() * ramped_ns) * ramped_ns;
        ramped + self.rate_end * (elapsed_ns - ramped_ns)
    }

    /// The time since the start at which `count` arrivals are expected: the inverse of [`Self::count_at`].
    fn time_of(&self, count: f64) -> f64 {
        let in_ramp = if self.ramp_ns.is_finite() { self.count_at(self.ramp_ns) } else { f64::INFINITY };
        if count > in_ramp {
            return self.ramp_ns + (count - in_ramp) / self.rate_end;
        }
        if count == 0.0 {
            return 0.0;
        }
        // The root of half_slope t² + rate_start t = count in the form that is exact for a slope of zero too.
        let root = (self.rate_start * self.rate_start + 4.0 * self.half_slope() * count).max(0.0).sqrt();
        2.0 * count / (self.rate_start + root)
    }
}

/// The arrivals that a load thread serves.
pub(crate) enum Arriving {
    /// Its own share.
    Own(Schedule),
    /// Those of all threads: a thread with nothing to do takes the next one, and waits until it is due.
    Shared { queue: Arc<Mutex<SharedArrivals>>, taken: Option<u64>, counts_backlog: bool },
}

/// The arrivals of threads that each have one client. A client that waits in its driver leaves them to the others.
pub(crate) struct SharedArrivals {
    schedule: Schedule,
    /// Taken by a thread that could not serve them any more.
    returned: Vec<u64>,
}

impl SharedArrivals {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self { schedule, returned: Vec::new() }
    }

    fn due_ns(&self) -> u64 {
        self.returned.last().copied().unwrap_or_else(|| self.schedule.due_ns())
    }

    fn take(&mut self) -> u64 {
        self.returned.pop().unwrap_or_else(|| {
            let due_ns = self.schedule.due_ns();
            self.schedule.advance();
            due_ns
        })
    }

    /// See [`Schedule::skip_until`].
    pub(crate) fn skip_until(&mut self, until_ns: u64) -> u64 {
        let returned = self.returned.drain(..).filter(|due_ns| *due_ns < until_ns).count() as u64;
        returned + self.schedule.skip_until(until_ns)
    }
}

pub(crate) fn lock(queue: &Mutex<SharedArrivals>) -> MutexGuard<'_, SharedArrivals> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arriving {
    /// When the next transaction is due.
    pub(crate) fn due_ns(&self) -> u64 {
        match self {
            Self::Own(schedule) => schedule.due_ns(),
            Self::Shared { queue, taken, .. } => taken.unwrap_or_else(|| lock(queue).due_ns()),
        }
    }

    /// The same; and the arrival is this thread's.
    pub(crate) fn take(&mut self) -> u64 {
        match self {
            Self::Own(schedule) => schedule.due_ns(),
            Self::Shared { queue, taken, .. } => *taken.get_or_insert_with(|| lock(queue).take()),
        }
    }

    /// What was taken is served.
    pub(crate) fn advance(&mut self) {
        match self {
            Self::Own(schedule) => schedule.advance(),
            Self::Shared { taken, .. } => *taken = None,
        }
    }

    /// What was taken is left to others.
    pub(crate) fn give_back(&mut self) {
        if let Self::Shared { queue, taken, .. } = self
            && let Some(due_ns) = taken.take()
        {
            lock(queue).returned.push(due_ns);
        }
    }

    /// See [`Schedule::skip_until`]. Of those that all threads share only what this one has taken: the others may serve the
    /// rest.
    pub(crate) fn skip_until(&mut self, until_ns: u64) -> u64 {
        match self {
            Self::Own(schedule) => schedule.skip_until(until_ns),
            Self::Shared { taken, .. } => u64::from(taken.take_if(|due_ns| *due_ns < until_ns).is_some()),
        }
    }

    /// See [`Schedule::backlog`]. One thread counts for all.
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        match self {
            Self::Own(schedule) => schedule.backlog(now_ns),
            Self::Shared { queue, counts_backlog: true, .. } => lock(queue).schedule.backlog(now_ns),
            Self::Shared { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dyno_results::event::StageKind;
    use dyno_results::spec::{End, Segment};

    use super::*;
    use crate::config::EngineConfig;

    fn open(rate_per_s: f64, rate_end_per_s: f64, distribution: Distribution) -> Arrivals {
        Arrivals::Open { rate_per_s, rate_end_per_s, distribution }
    }

    fn arrivals_in(arrivals: &Arrivals, seconds: u64, thread: u32, threads: u32) -> Vec<u64> {
        arrivals_of(arrivals, seconds, &Share::new(thread, &EngineConfig::new(threads)))
    }

    fn arrivals_of(arrivals: &Arrivals, seconds: u64, share: &Share) -> Vec<u64> {
        let end = 7 + seconds * SECOND_NS;
        let order =
            StageOrder::new(StageKind::Hold, 1, *arrivals, End::Duration(Duration::from_secs(seconds)));
        let gaps = seeded_gaps(u64::from(share.number()));
        let mut schedule = Schedule::new(&order, 7, share, gaps).unwrap();
        let mut due = Vec::new();
        while schedule.due_ns() < end {
            due.push(schedule.due_ns());
            schedule.advance();
        }
        due
    }

    #[test]
    fn constant_arrivals_of_two_threads_alternate() {
        let arrivals = open(10.0, 10.0, Distribution::Constant);
        let mut all = arrivals_in(&arrivals, 1, 0, 2);
        all.extend(arrivals_in(&arrivals, 1, 1, 2));
        all.sort_unstable();
        assert_eq!(all.len(), 10);
        assert!(all.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(100_000_000) <= 1), "{all:?}");
    }

    #[test]
    fn constant_arrivals_of_two_generators_with_two_threads_are_constant_together() {
        let arrivals = open(10.0, 10.0, Distribution::Constant);
        let mut all = Vec::new();
        for generator in 0..2 {
            let segment = Segment::new(generator, 2).unwrap();
            let config = EngineConfig { segment, ..EngineConfig::new(2) };
            (0..2).for_each(|thread| all.extend(arrivals_of(&arrivals, 2, &Share::new(thread, &config))));
        }
        all.sort_unstable();
        assert_eq!(all.len(), 20);
        assert!(all.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(100_000_000) <= 1), "{all:?}");
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_poisson() {
        let due = arrivals_in(&open(1000.0, 1000.0, Distribution::Poisson), 100, 0, 1);
        let count = due.len() as f64;
        // 100,000 expected, with a standard deviation of 316.
        assert!((count - 100_000.0).abs() < 5.0 * 316.0, "{count}");
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // An exponential's standard deviation equals its mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{mean} {}", variance.sqrt());
    }

    #[test]
    fn a_ramp_has_the_mean_of_its_ends() {
        for (start, end) in [(0.0, 2000.0), (2000.0, 0.0), (500.0, 1500.0)] {
            let due = arrivals_in(&open(start, end, Distribution::Constant), 10, 0, 1);
            assert!(due.len().abs_diff(10_000) <= 1, "{start}..{end}: {}", due.len());
            // A quarter of the way in, the rate is that much of the way from its start to its end.
            let within = due.iter().filter(|at| (2_000_000_007..3_000_000_007).contains(*at)).count() as f64;
            let expected = start + (end - start) * 0.25;
            assert!((within - expected).abs() <= 2.0, "{start}..{end}: {within} in the third second");
        }
        let poisson = arrivals_in(&open(0.0, 2000.0, Distribution::Poisson), 10, 0, 1).len();
        assert!(poisson.abs_diff(10_000) < 500, "{poisson}");
    }

    #[test]
    fn late_work_is_counted() {
        let arrivals = open(100.0, 100.0, Distribution::Constant);
        let order = StageOrder::new(StageKind::Hold, 1, arrivals, End::WithOthers);
        let share = Share::new(0, &EngineConfig::new(1));
        let mut schedule = Schedule::new(&order, 0, &share, seeded_gaps(0)).unwrap();
        assert_eq!(schedule.backlog(0), 0);
        let half = SECOND_NS / 2;
        assert!(schedule.backlog(half).abs_diff(50) <= 1);
        assert!(schedule.skip_until(half).abs_diff(50) <= 1);
        assert_eq!(schedule.backlog(half), 0);
    }
}
