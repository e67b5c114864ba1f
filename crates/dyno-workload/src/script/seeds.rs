//! The order in which pgbench gives out seeds, so that the same `--random-seed` gives the same run.
//!
//! One generator, seeded with the number, seeds all others. A run takes from it, in this order: [`Seeds::client`] once
//! for each client; [`Seeds::default_seed`], unless `-D default_seed` was given; [`Seeds::thread`] once for each thread.

use super::random::Prng;

/// Gives out the seeds of a run.
#[derive(Debug, Clone)]
pub struct Seeds {
    base: Prng,
}

/// The random numbers of one thread. They are apart so that using one does not change the others.
#[derive(Debug, Clone, Copy)]
pub struct ThreadStreams {
    /// Which script comes next: see [`choose`].
    pub script: Prng,
    /// The schedule of `-R`.
    pub throttle: Prng,
    /// What `--sampling-rate` logs.
    pub sampling: Prng,
}

impl Seeds {
    pub fn new(base_seed: u64) -> Self {
        Self { base: Prng::seed(base_seed) }
    }

    /// The random numbers of the next client's expressions.
    pub fn client(&mut self) -> Prng {
        Prng::seed(self.base.next_u64())
    }

    /// The variable `default_seed`.
    pub fn default_seed(&mut self) -> i64 {
        self.base.next_u64() as i64
    }

    /// The random numbers of the next thread.
    pub fn thread(&mut self) -> ThreadStreams {
        let (script, throttle, sampling) = (self.client(), self.client(), self.client());
        ThreadStreams { script, throttle, sampling }
    }
}

/// Which of the scripts with these weights comes next. With one script no random number is drawn.
pub fn choose(weights: &[i64], random: &mut Prng) -> usize {
    if weights.len() <= 1 {
        return 0;
    }
    let mut left = random.uniform(0, weights.iter().sum::<i64>() - 1);
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0 {
            return index;
        }
    }
    weights.len() - 1
}
