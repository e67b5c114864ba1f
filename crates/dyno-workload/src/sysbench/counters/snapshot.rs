//! The counts at one instant, and the difference of two.

use super::latencies::Latencies;

/// What all clients have counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Queries that returned rows, that changed at least one, and all others.
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    /// Events that ended well, and that an error ended for good.
    pub events: u64,
    pub failed_events: u64,
    /// Events that are under way.
    pub running: u64,
    /// Errors that restarted an event.
    pub ignored_errors: u64,
    pub reconnects: u64,
    pub latencies: Latencies,
    /// Events that ended well and the time they took, nanoseconds, by client.
    pub per_client: Vec<(u64, u64)>,
}

impl Snapshot {
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// What was counted since `earlier`, an earlier reading of the same counters. What is under way, and the extremes
    /// of the latencies, stay as they are.
    pub fn since(&self, earlier: &Self) -> Self {
        let none = (0, 0);
        let clients = self.per_client.iter().enumerate().map(|(client, now)| {
            let then = earlier.per_client.get(client).unwrap_or(&none);
            (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
        });
        Self {
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            other: self.other.saturating_sub(earlier.other),
            events: self.events.saturating_sub(earlier.events),
            failed_events: self.failed_events.saturating_sub(earlier.failed_events),
            running: self.running,
            ignored_errors: self.ignored_errors.saturating_sub(earlier.ignored_errors),
            reconnects: self.reconnects.saturating_sub(earlier.reconnects),
            latencies: self.latencies.since(&earlier.latencies),
            per_client: clients.collect(),
        }
    }

    /// Mean and standard deviation over the clients of their events, and of their time in seconds; zeros where there
    /// is no client.
    pub fn fairness(&self) -> [(f64, f64); 2] {
        let spread = |value: &dyn Fn(&(u64, u64)) -> f64| {
            let count = self.per_client.len().max(1) as f64;
            let mean = self.per_client.iter().map(value).sum::<f64>() / count;
            let variance =
                self.per_client.iter().map(|client| (value(client) - mean).powi(2)).sum::<f64>() / count;
            (mean, variance.sqrt())
        };
        [spread(&|client| client.0 as f64), spread(&|client| client.1 as f64 / 1e9)]
    }
}

#[cfg(test)]
mod tests {
    use dyno_engine::request::QueryKind;
    use dyno_engine::workload::ClientIdentity;

    use super::super::Counters;

    #[test]
    fn what_is_counted_is_read_and_subtracted() {
        let counters = Counters::new(2, 3);
        let clients =
            [(0, 0), (1, 1), (2, 0)].map(|(id, thread)| counters.client(ClientIdentity { id, thread }));
        for client in &clients {
            client.event_begun();
            client.query(QueryKind::Read);
            client.query(QueryKind::Write);
            client.query(QueryKind::Other);
        }
        clients[0].event_ended(2_000_000);
        clients[1].ignored_error();
        let earlier = counters.read();
        assert_eq!((earlier.reads, earlier.writes, earlier.other, earlier.queries()), (3, 3, 3, 9));
        assert_eq!((earlier.events, earlier.running, earlier.ignored_errors), (1, 2, 1));
        clients[1].event_ended(6_000_000);
        clients[2].event_failed();
        clients[2].reconnect();
        clients[0].query(QueryKind::Read);
        let now = counters.read();
        assert_eq!((now.events, now.failed_events, now.running), (2, 1, 0));
        assert_eq!(now.per_client, [(1, 2_000_000), (1, 6_000_000), (0, 0)]);
        assert_eq!(now.latencies.sum_ns, 8_000_000);
        assert_eq!(now.latencies.extremes_ns, Some((2_000_000, 6_000_000)));
        let since = now.since(&earlier);
        assert_eq!((since.events, since.reads, since.queries(), since.reconnects), (1, 1, 1, 1));
        assert_eq!((since.latencies.count(), since.latencies.sum_ns), (1, 6_000_000));
        assert_eq!(since.per_client, [(0, 0), (1, 6_000_000), (0, 0)]);
    }

    #[test]
    fn fairness_is_over_the_clients() {
        let counters = Counters::new(1, 2);
        for (id, events) in [(0, 2), (1, 4)] {
            let client = counters.client(ClientIdentity { id, thread: 0 });
            for _ in 0..events {
                client.event_ended(1_000_000_000);
            }
        }
        assert_eq!(counters.read().fairness(), [(3.0, 1.0), (3.0, 1.0)]);
        assert_eq!(Counters::new(1, 0).read().fairness(), [(0.0, 0.0); 2]);
    }

    #[test]
    fn who_was_not_announced_is_left_out() {
        let counters = Counters::new(1, 1);
        let stranger = counters.client(ClientIdentity { id: 9, thread: 9 });
        stranger.event_begun();
        stranger.event_ended(1);
        assert_eq!(counters.read().events, 0);
    }
}
