//! One server for many tests.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::postgres::{Postgres, Setup};

/// A server that tests share which leave it as it is, or keep to objects of their own. Meant for a `static`: it is
/// started for the first test that asks, and ends with the last that holds it.
#[derive(Debug)]
pub struct Shared(Mutex<Weak<Postgres>>);

impl Shared {
    /// Nothing is started yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The server; `None`, and a line that says so, where this machine has no PostgreSQL.
    #[must_use]
    pub fn get(&self, setup: impl FnOnce() -> Setup) -> Option<Arc<Postgres>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Postgres::start(&setup())?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self::new()
    }
}
