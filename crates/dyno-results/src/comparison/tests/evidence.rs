//! Evidence for the tests of comparisons, which have no store.

use super::*;

impl Evidence {
    /// A report alone, with the findings that it holds: its percentiles then have no interval.
    pub(crate) fn of_report(report: Report) -> Self {
        Self { report, spreads: BTreeMap::new() }
    }

    /// The run of these events.
    pub(crate) fn of_events(events: &[Stamped]) -> Self {
        let mut gathering = Gathering::new();
        events.iter().for_each(|stamped| gathering.add(stamped));
        gathering.finish()
    }
}
