//! Waiting for a server to come or to go.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Only a broken server takes longer than this, however slow and busy the machine is.
const LIMIT: Duration = Duration::from_secs(300);

/// Pauses between looks, until it is lost.
#[derive(Debug)]
pub(crate) struct Patience {
    begun: Instant,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(pause: Duration) -> Self {
        Self { begun: Instant::now(), pause }
    }

    /// Pauses; false where to look again is no use.
    pub(crate) fn pause(&mut self) -> bool {
        sleep(self.pause);
        self.begun.elapsed() < LIMIT
    }
}
