//! Absolute times at which the transactions of an open load are due.

use dyno_results::event::Distribution;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::clock::SECOND_NS;
use crate::plan::Arrivals;

/// One thread's share of an open load: its due times, one after the other.
///
/// The times depend on nothing that the server does: late work keeps its place and is never dropped.
#[derive(Debug)]
pub(crate) struct Schedule {
    random: StdRng,
    distribution: Distribution,
    /// This thread's rate per nanosecond, at the start and at the end of the stage.
    rate_start: f64,
    rate_end: f64,
    start_ns: u64,
    duration_ns: Option<u64>,
    /// When the next transaction is due, with its fraction so that rounding never adds up.
    due_ns: f64,
}

impl Schedule {
    /// The share of thread `thread` of `threads`; `None` for a closed load.
    ///
    /// Constant arrivals of several threads are set off against each other, so that together they are constant.
    pub(crate) fn new(
        arrivals: &Arrivals,
        start_ns: u64,
        duration_ns: Option<u64>,
        thread: u32,
        threads: u32,
        seed: u64,
    ) -> Option<Self> {
        let Arrivals::Open { rate_per_s, rate_end_per_s, distribution } = *arrivals else { return None };
        let per_thread_ns = |rate_per_s: f64| rate_per_s / f64::from(threads) / SECOND_NS as f64;
        let mut schedule = Self {
            random: StdRng::seed_from_u64(seed),
            distribution,
            rate_start: per_thread_ns(rate_per_s),
            rate_end: per_thread_ns(rate_end_per_s),
            start_ns,
            duration_ns,
            due_ns: 0.0,
        };
        match distribution {
            Distribution::Poisson => schedule.advance(),
            Distribution::Constant => {
                schedule.due_ns = f64::from(thread) / f64::from(threads) / schedule.rate_at(0.0);
            }
        }
        Some(schedule)
    }

    /// When the next transaction is due.
    pub(crate) fn due_ns(&self) -> u64 {
        // A float to integer conversion saturates, which is what a rate of nearly nothing wants.
        self.start_ns.saturating_add(self.due_ns as u64)
    }

    /// Goes on to the transaction after the next.
    pub(crate) fn advance(&mut self) {
        let gap = match self.distribution {
            // 1 - [0, 1) is never zero, whose logarithm would be infinite.
            Distribution::Poisson => -(1.0 - self.random.random::<f64>()).ln(),
            Distribution::Constant => 1.0,
        };
        self.due_ns += gap / self.rate_at(self.due_ns);
    }

    /// How many transactions are due before `until_ns`; the schedule goes on to the first that is not.
    pub(crate) fn skip_until(&mut self, until_ns: u64) -> u64 {
        let mut skipped = 0;
        while self.due_ns() < until_ns {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// About how many transactions are due and not begun at `now_ns`.
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        let late_ns = now_ns.saturating_sub(self.due_ns()) as f64;
        if late_ns > 0.0 { 1 + (late_ns * self.rate_at(self.due_ns)) as u64 } else { 0 }
    }

    /// Rate `elapsed_ns` after the start, per nanosecond.
    fn rate_at(&self, elapsed_ns: f64) -> f64 {
        let Some(duration_ns) = self.duration_ns.filter(|ns| *ns > 0) else { return self.rate_start };
        let part = (elapsed_ns / duration_ns as f64).clamp(0.0, 1.0);
        // A ramp that starts at zero would never have a first arrival.
        (self.rate_start + (self.rate_end - self.rate_start) * part).max(1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate_per_s: f64, rate_end_per_s: f64, distribution: Distribution) -> Arrivals {
        Arrivals::Open { rate_per_s, rate_end_per_s, distribution }
    }

    fn arrivals_in(arrivals: &Arrivals, seconds: u64, thread: u32, threads: u32) -> Vec<u64> {
        let end = 7 + seconds * SECOND_NS;
        let mut schedule =
            Schedule::new(arrivals, 7, Some(seconds * SECOND_NS), thread, threads, u64::from(thread))
                .unwrap();
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
        let count = arrivals_in(&open(0.0, 2000.0, Distribution::Constant), 10, 0, 1).len();
        assert!(count.abs_diff(10_000) < 400, "{count}");
    }

    #[test]
    fn late_work_is_counted() {
        let mut schedule =
            Schedule::new(&open(100.0, 100.0, Distribution::Constant), 0, None, 0, 1, 0).unwrap();
        assert_eq!(schedule.backlog(0), 0);
        let half = SECOND_NS / 2;
        assert!(schedule.backlog(half).abs_diff(50) <= 1);
        assert!(schedule.skip_until(half).abs_diff(50) <= 1);
        assert_eq!(schedule.backlog(half), 0);
    }
}
