//! What was said to queries that failed, to each once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dyno_target::cause::Cause;
use dyno_wire::server_error::ServerError;

use crate::benchmark::FailedQuery;

/// What helps a query that ran out of memory.
const MORE_MEMORY: &str = "raise what the server or a query may take of the memory (its memory limit), \
                           let it use temporary files, or run fewer clients";

/// The first failure of each query, by its place in the set; `None` once it was told.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<u16, Option<Failure>>>);

#[derive(Debug)]
struct Failure {
    said: String,
    over_limit: bool,
}

impl Failures {
    /// Keeps what the server said, and what is behind it.
    pub(super) fn keep_answer(&self, place: u16, error: &ServerError) {
        match Cause::of(error) {
            Some(Cause::OutOfMemory) => {
                self.keep(place, format!("out of memory: {error}; {MORE_MEMORY}"), false);
            }
            _ => self.keep(place, error.to_string(), false),
        }
    }

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
