//! Which records are asked for. The zipfian draw is that of Gray et al. ("Quickly Generating Billion-Record Synthetic
//! Databases", SIGMOD 1994), with YCSB's constants: an exact zipfian draw would ask for other records.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::hash;
use crate::random::Random;

/// YCSB's exponent, Riemann's zeta of it, and the sum of its first two terms.
const THETA: f64 = 0.99;
const ZETA_OF_THETA: f64 = -99.423_512_977_728_2;
const ZETA_OF_TWO: f64 = 1.503_477_775_028_359_4;
/// What YCSB draws from before it scrambles, whatever the size of the table.
const SCRAMBLED_ITEMS: u64 = 10_000_000_001;
/// Twice the inserts of as many operations as records are foreseen, as by YCSB.
const FORESEEN: f64 = 2.0;

/// How the records of requests are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requests {
    /// A few records often, spread over the table
    Zipfian,
    /// The records that were inserted last, more often than those before them
    Latest,
    /// All loaded records alike
    Uniform,
}

/// The draws of one client.
#[derive(Debug, Clone)]
pub(super) struct Records {
    requests: Requests,
    loaded: u64,
    /// Numbers that a scrambled draw can come to. YCSB's largest one is the first that is not loaded or foreseen.
    space: u64,
    /// Of the zipfian draw.
    items: u64,
    zeta: f64,
    eta: f64,
}

impl Records {
    /// Over so many loaded records, at least 1; such a share of the operations are inserts.
    pub(super) fn new(requests: Requests, loaded: u64, inserts: f64) -> Self {
        let foreseen = (loaded as f64 * FORESEEN * inserts) as u64;
        let mut records =
            Self { requests, loaded, space: loaded + foreseen + 1, items: 0, zeta: 0.0, eta: 0.0 };
        records.set_items(SCRAMBLED_ITEMS);
        records
    }

    /// The number of a record below `count`, those that are there.
    pub(super) fn draw(&mut self, count: u64, random: &mut Random) -> u64 {
        match self.requests {
            Requests::Uniform => random.below(self.loaded),
            Requests::Latest => {
                let newest = count - 1;
                if newest != self.items {
                    self.set_items(newest);
                }
                newest - self.zipfian(random.unit())
            }
            // What is not there yet is drawn again: so the popular records stay the same while others are inserted.
            Requests::Zipfian => loop {
                let record = hash(self.zipfian(random.unit())) % self.space;
                if record < count {
                    return record;
                }
            },
        }
    }

    fn set_items(&mut self, items: u64) {
        self.items = items;
        self.zeta = zeta(items);
        self.eta = (1.0 - (2.0 / items as f64).powf(1.0 - THETA)) / (1.0 - ZETA_OF_TWO / self.zeta);
    }

    /// A zipfian draw from 0, the most frequent, to just below the number of items; 0 where there are none.
    fn zipfian(&self, unit: f64) -> u64 {
        match unit * self.zeta {
            ..1.0 => 0,
            ..ZETA_OF_TWO => 1,
            _ => (self.items as f64 * (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - THETA))) as u64,
        }
    }
}

/// The sum of `i^-theta` for `i` from 1 to `items`, by the formula of Euler and Maclaurin: from a hundred items on exact to
/// ten digits. "Latest" needs it anew after each insert.
fn zeta(items: u64) -> f64 {
    let n = items as f64;
    let term = n.powf(-THETA);
    ZETA_OF_THETA + n * term / (1.0 - THETA) + term / 2.0 - THETA * term / n / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YCSB's own figure for the items of a scrambled draw.
    const YCSB_ZETA: f64 = 26.469_028_201_783_02;

    #[test]
    fn zeta_is_the_sum_that_ycsb_adds_up() {
        for items in [100, 1_000, 100_000] {
            let sum: f64 = (1..=items).map(|item| (item as f64).powf(-THETA)).sum();
            assert!((zeta(items) / sum - 1.0).abs() < 1e-10, "{items}");
        }
        assert!((zeta(10_000_000_000) / YCSB_ZETA - 1.0).abs() < 1e-11);
        assert_eq!(1.0 + 0.5_f64.powf(THETA), ZETA_OF_TWO);
    }

    fn counts(requests: Requests, loaded: u64, count: u64, draws: u32) -> Vec<u32> {
        let mut records = Records::new(requests, loaded, if count > loaded { 0.05 } else { 0.0 });
        let mut random = Random::of_client(7, 0);
        let mut counts = vec![0; count as usize];
        (0..draws).for_each(|_| counts[records.draw(count, &mut random) as usize] += 1);
        counts
    }

    /// The most frequent draw has the share 1 / zeta, the next one that by 2^-theta.
    #[test]
    fn the_hottest_records_come_as_often_as_the_closed_form_says() {
        let draws = 400_000;
        let within = |count: u32, share: f64| {
            let expected = f64::from(draws) * share;
            let deviation = 6.0 * expected.sqrt();
            assert!((f64::from(count) - expected).abs() < deviation, "{count} and not {expected}");
        };
        let scrambled = counts(Requests::Zipfian, 1_000_000, 1_000_000, draws);
        within(scrambled[(hash(0) % 1_000_001) as usize], 1.0 / YCSB_ZETA);
        within(scrambled[(hash(1) % 1_000_001) as usize], 0.5_f64.powf(THETA) / YCSB_ZETA);
        let latest = counts(Requests::Latest, 1_000, 1_201, draws);
        within(latest[1_200], 1.0 / zeta(1_200));
        within(latest[1_199], 0.5_f64.powf(THETA) / zeta(1_200));
        let uniform = counts(Requests::Uniform, 100, 110, draws);
        uniform[..100].iter().for_each(|count| within(*count, 0.01));
    }

    #[test]
    fn only_records_that_are_there_are_drawn() {
        for requests in [Requests::Zipfian, Requests::Latest, Requests::Uniform] {
            let drawn = counts(requests, 100, 105, 20_000);
            assert!(drawn.iter().filter(|count| **count > 0).count() > 80, "{requests:?}");
            assert_eq!(counts(requests, 1, 1, 10), [10], "{requests:?}");
        }
    }
}
