//! A time in which a source cannot be read: told when it begins and when it is over, and not again and again where a
//! source comes and goes.

use std::time::{Duration, Instant};

/// Outages that are told.
const TOLD_MAX: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Outage {
    since: Option<Instant>,
    told: u32,
}

impl Outage {
    /// A reading failed; whether that is to be told.
    pub(super) fn goes_on(&mut self) -> bool {
        if self.since.is_some() {
            return false;
        }
        self.since = Some(Instant::now());
        self.told = self.told.saturating_add(1);
        self.told <= TOLD_MAX
    }

    /// A reading succeeded; how long there was none, where that is to be told.
    pub(super) fn is_over(&mut self) -> Option<Duration> {
        let since = self.since.take()?;
        (self.told <= TOLD_MAX).then(|| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_when_it_begins_and_ends_and_some_times_only() {
        let mut outage = Outage::default();
        assert_eq!(outage.is_over(), None);
        for round in 0..5 {
            let told = round < 3;
            assert_eq!(outage.goes_on(), told, "{round}");
            assert!(!outage.goes_on(), "it goes on");
            assert_eq!(outage.is_over().is_some(), told, "{round}");
            assert_eq!(outage.is_over(), None);
        }
    }
}
