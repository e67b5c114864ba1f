//! One server for many tests.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server that tests share which leave it as it is, or keep to objects of their own. Meant for a `static`: it is
/// started for the first test that asks, and ends with the last that holds it.
#[derive(Debug)]
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    /// Nothing is started yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The server; `None` where `start` could start none.
    #[must_use]
    pub fn get(&self, start: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(start()?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}
