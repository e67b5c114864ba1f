//! The user's wish to stop, for all that waits on a server. There is one for the process, as the signals are that bring
//! it: nothing waits on a socket without looking at it, and after [`GRACE`] nothing waits on one at all.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a statement that is being cancelled, and whatever else is under way then, may still take.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

static REQUESTED: OnceLock<Instant> = OnceLock::new();

/// The user wants to stop: connections cancel what they are doing, and begin nothing new.
pub fn request() {
    REQUESTED.get_or_init(Instant::now);
}

/// Whether the user wants to stop.
#[must_use]
pub fn is_requested() -> bool {
    REQUESTED.get().is_some()
}

/// When waiting ends altogether; `None` as long as the user does not want to stop.
pub(crate) fn deadline() -> Option<Instant> {
    REQUESTED.get().map(|requested| *requested + GRACE)
}
