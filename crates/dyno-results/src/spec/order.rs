//! What the load generator gets for a stage.

use std::time::Duration;

use super::load::{Arrivals, End};
use crate::event::StageKind;

/// One stage of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageOrder {
    /// The id that its intervals carry; 0 until it is announced.
    pub stage: u32,
    pub kind: StageKind,
    /// Clients at the start; at most as many as are connected.
    pub clients: u32,
    /// Clients at the end: they come and go one by one, evenly over the duration.
    pub clients_end: u32,
    pub arrivals: Arrivals,
    pub end: End,
}

impl StageOrder {
    /// As many clients from the beginning to the end.
    #[must_use]
    pub fn new(kind: StageKind, clients: u32, arrivals: Arrivals, end: End) -> Self {
        Self { stage: 0, kind, clients, clients_end: clients, arrivals, end }
    }

    /// A hold of a closed loop whose clients do not pause.
    #[must_use]
    pub fn closed(clients: u32, end: End) -> Self {
        Self::new(StageKind::Hold, clients, Arrivals::Closed { think_time: Duration::ZERO }, end)
    }

    /// The most clients active at any time.
    #[must_use]
    pub fn clients_max(&self) -> u32 {
        self.clients.max(self.clients_end)
    }

    /// `None` where a count ends it, or what runs beside it.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        match self.end {
            End::Duration(duration) => Some(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
            End::TransactionsPerClient(_) | End::WithOthers => None,
        }
    }

    /// How many clients are to be active `elapsed_ns` after the start.
    #[must_use]
    pub fn clients_at(&self, elapsed_ns: u64) -> u32 {
        let Some(duration_ns) = self.duration_ns().filter(|ns| *ns > 0) else { return self.clients };
        let (from, to) = (f64::from(self.clients), f64::from(self.clients_end));
        let part = (elapsed_ns as f64 / duration_ns as f64).min(1.0);
        // Both ends are u32 and `part` lies within 0..=1.
        (from + (to - from) * part).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_goes_from_its_first_to_its_last_count() {
        let end = End::Duration(Duration::from_secs(10));
        let order = StageOrder { clients_end: 11, ..StageOrder::closed(1, end) };
        assert_eq!(order.clients_at(0), 1);
        assert_eq!(order.clients_at(5_000_000_000), 6);
        assert_eq!(order.clients_at(10_000_000_000), 11);
        assert_eq!(order.clients_at(u64::MAX), 11);
        assert_eq!(order.clients_max(), 11);
    }
}
