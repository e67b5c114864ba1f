//! When an exchange must have ended: one time for the whole of it, whatever the number of waits and however few bytes come with
//! each. A limit for each wait alone never ends where a byte comes now and then.

use std::io;
use std::time::{Duration, Instant};

/// The time by which an exchange must have ended; by default there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Deadline {
    until: Option<Instant>,
    /// What there was of time, for messages.
    timeout: Option<Duration>,
}

impl Deadline {
    /// So long from now; `None` for as long as it takes.
    pub(crate) fn within(timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self { until, timeout: timeout.filter(|_| until.is_some()) }
    }

    /// The earlier one of both.
    pub(crate) fn or_earlier(self, other: Self) -> Self {
        match (self.until, other.until) {
            (Some(one), Some(another)) if another < one => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// What is left, for the next wait, never zero; `None` for as long as it takes.
    ///
    /// # Errors
    /// `TimedOut` where nothing is left.
    pub(crate) fn left(self) -> io::Result<Option<Duration>> {
        let Some(until) = self.until else { return Ok(None) };
        match until.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    pub(crate) fn timeout(self) -> Option<Duration> {
        self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_two_counts_and_what_is_over_has_nothing_left() {
        let (never, soon) = (Deadline::default(), Deadline::within(Duration::ZERO));
        let late = Deadline::within(Duration::from_secs(3600));
        assert_eq!((never.or_earlier(late), late.or_earlier(never)), (late, late));
        assert_eq!((soon.or_earlier(late), late.or_earlier(soon)), (soon, soon));
        assert!(soon.is_over() && !late.is_over() && !never.is_over());
        assert_eq!(soon.left().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(late.left().unwrap().is_some() && never.left().unwrap().is_none());
        // More than the clock can say is no limit.
        assert_eq!(Deadline::within(Duration::MAX), never);
    }
}
