//! What was said to queries that failed, to each once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use dyno_target::cause::Cause;
use dyno_wire::server_error::ServerError;

/// What helps a query that ran out of memory.
const MORE_MEMORY: &str = "raise what the server or a query may take of the memory (its memory limit), \
                           let it use temporary files, or run fewer clients";

/// The first failure of each query, by its place in the set; `None` once it was told.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<u16, Option<String>>>);

impl Failures {
    /// Keeps what the server said, and what is behind it.
    pub(super) fn keep_answer(&self, place: u16, error: &ServerError) {
        match Cause::of(error) {
            Some(Cause::OutOfMemory) => self.keep(place, &format!("out of memory: {error}; {MORE_MEMORY}")),
            _ => self.keep(place, error),
        }
    }

    pub(super) fn keep(&self, place: u16, error: &impl Display) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(place).or_insert_with(|| Some(error.to_string()));
    }

    /// Those that were not told yet.
    pub(super) fn take(&self, names: &[String]) -> Vec<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |(place, error): (&u16, &mut Option<String>)| {
            Some(format!("{} failed: {}", names.get(usize::from(*place))?, error.take()?))
        };
        known.iter_mut().filter_map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Failures;

    #[test]
    fn each_query_fails_once_for_the_reader() {
        let (failures, names) = (Failures::default(), ["a", "b"].map(str::to_owned));
        failures.keep(1, &"no such table");
        failures.keep(1, &"out of memory");
        assert_eq!(failures.take(&names), ["b failed: no such table"]);
        failures.keep(1, &"no such table");
        failures.keep(0, &"syntax error");
        assert_eq!(failures.take(&names), ["a failed: syntax error"]);
    }
}
