//! The load of one stage of a made-up run: throughput by the Universal Scalability Law, with a little weather.

use std::collections::BTreeMap;

use dyno_results::event::{Arrival, Interval, Pool, Stage, TypeInterval};
use dyno_results::latency::Latency;

pub(super) struct Load {
    pub(super) stage: Stage,
    /// Transactions per second of one client.
    pub(super) one: f64,
    pub(super) errors: bool,
}

impl Load {
    /// Transactions of an interval.
    pub(super) fn done(&self, index: u32) -> u64 {
        let capacity = self.capacity(index);
        match self.stage.arrival {
            Arrival::Open { rate_per_s, .. } => rate_per_s.min(capacity).round() as u64,
            Arrival::Closed { .. } => capacity.round() as u64,
        }
    }

    /// Clients that have a connection.
    fn served(&self) -> f64 {
        f64::from(self.stage.connections.unwrap_or(u32::MAX).min(self.stage.clients))
    }

    fn capacity(&self, index: u32) -> f64 {
        let n = self.served();
        let weather = 1.0 + 0.02 * f64::from((self.stage.id * 7 + index * 5) % 11) / 10.0 - 0.01;
        self.one * n / (1.0 + 0.04 * (n - 1.0) + 0.0035 * n * (n - 1.0)) * weather
    }

    pub(super) fn interval(&self, index: u32, intruder: &str) -> Interval {
        let done = self.done(index);
        let (n, clients) = (self.served(), f64::from(self.stage.clients));
        let mean_ns = 1e9 * n / self.capacity(index);
        let open = matches!(self.stage.arrival, Arrival::Open { .. });
        let pool = self.stage.connections.map(|connections| Pool {
            connections,
            in_use_mean: n,
            in_use_max: n as u32,
            waiting_mean: clients - n,
            waiting_max: (clients - n) as u32,
        });
        // What a client waits for a connection, and what it is late by otherwise.
        let wait_ns = mean_ns * (clients - n) / n;
        let late_ns = if open { mean_ns * 0.1 } else { 0.0 };
        let scheduled = open || pool.is_some();
        let failed = if self.errors && index % 3 == 1 { 2 } else { 0 };
        let retries = if self.errors { 3 } else { 0 };
        let mut errors = BTreeMap::new();
        if failed > 0 {
            errors.insert(format!("23505{intruder}"), failed);
        }
        if retries > 0 {
            errors.insert("40001".to_owned(), retries);
        }
        Interval {
            stage: self.stage.id,
            index,
            start_ns: u64::from(index) * 1_000_000_000,
            duration_ns: 1_000_000_000,
            clients: self.stage.clients,
            types: vec![TypeInterval {
                done,
                failed,
                retries,
                statements: done,
                service: spread(mean_ns, done),
                response: if scheduled { spread(mean_ns + wait_ns + late_ns, done) } else { Latency::new() },
                lag: if scheduled { spread(wait_ns + late_ns, done) } else { Latency::new() },
                wait: if pool.is_some() { spread(wait_ns, done) } else { Latency::new() },
                ..TypeInterval::default()
            }],
            driver_cpu_ns: vec![310_000_000, 290_000_000],
            reconnects: 0,
            lost_ns: 0,
            backlog: 0,
            generator: 0,
            skipped: 0,
            errors,
            pool,
            drain: false,
        }
    }
}

/// `count` times around a mean, with a tail.
fn spread(mean_ns: f64, count: u64) -> Latency {
    const SHAPE: [(f64, f64); 6] =
        [(0.30, 0.7), (0.40, 0.95), (0.20, 1.2), (0.08, 1.7), (0.018, 2.6), (0.002, 12.0)];
    let mut latency = Latency::new();
    for (share, times) in SHAPE {
        latency.record_n((mean_ns * times) as u64, (count as f64 * share).round() as u64);
    }
    latency
}
