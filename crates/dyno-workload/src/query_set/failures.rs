//! What was said to queries that failed, to each once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::benchmark::FailedQuery;

/// The first failure of each query, by its place in the set; `None` once it was told.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<u16, Option<Failure>>>);

#[derive(Debug)]
struct Failure {
    said: String,
    over_limit: bool,
}

impl Failures {
    pub(super) fn keep(&self, place: u16, said: String, over_limit: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(place).or_insert(Some(Failure { said, over_limit }));
    }

    /// Those that were not told yet.
    pub(super) fn take(&self, names: &[String]) -> Vec<FailedQuery> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |(place, failure): (&u16, &mut Option<Failure>)| {
            let Failure { said, over_limit } = failure.take()?;
            Some(FailedQuery { query: names.get(usize::from(*place))?.clone(), said, over_limit })
        };
        known.iter_mut().filter_map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_fails_once_for_the_reader() {
        let (failures, names) = (Failures::default(), ["a", "b"].map(str::to_owned));
        let failed = |query: &str, said: &str, over_limit| {
            vec![FailedQuery { query: query.to_owned(), said: said.to_owned(), over_limit }]
        };
        failures.keep(1, "no such table".to_owned(), false);
        failures.keep(1, "out of memory".to_owned(), false);
        assert_eq!(failures.take(&names), failed("b", "no such table", false));
        failures.keep(1, "no such table".to_owned(), false);
        failures.keep(0, "cancelled".to_owned(), true);
        assert_eq!(failures.take(&names), failed("a", "cancelled", true));
    }
}
