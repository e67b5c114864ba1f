//! Comparisons that were computed for one request and answer others: of the same sides, whose runs stand where they stood. Who asks
//! for what another is computing waits for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use dyno_results::comparison;
use dyno_results::store::{RunState, Store, StoreError};

use super::error::ApiError;
use super::run_cache::{FileIdentity, locked};

/// Comparisons that are cached, each some hundred kilobytes at most.
const KEPT: usize = 16;

#[derive(Default)]
pub(super) struct ComparisonCache {
    /// The one asked for last stands last.
    entries: Mutex<Vec<Entry>>,
    computed: AtomicU64,
}

/// A comparison, or one that is being computed.
type Document = Arc<Mutex<Option<Bytes>>>;

struct Entry {
    key: ComparisonKey,
    document: Document,
}

/// What a comparison depends on.
#[derive(Clone, PartialEq)]
struct ComparisonKey {
    file: FileIdentity,
    sides: Vec<String>,
    base: Option<String>,
    runs: Vec<RunState>,
}

impl ComparisonCache {
    /// What these sides come to, as JSON.
    pub(super) fn get(
        &self,
        store: &Store,
        file: FileIdentity,
        sides: Vec<String>,
        base: Option<String>,
    ) -> Result<Bytes, ApiError> {
        let names = comparison::runs_of_store(store, &sides)?;
        let runs = names.iter().map(|name| store.state(name)).collect::<Result<_, StoreError>>()?;
        let key = ComparisonKey { file, sides, base, runs };
        let document = self.document(&key);
        let mut document = locked(&document);
        if let Some(known) = &*document {
            return Ok(known.clone());
        }
        let comparison = comparison::of_store(store, &key.sides, key.base.as_deref())?;
        let json = serde_json::to_vec(&comparison).map_err(ApiError::internal)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        Ok(document.insert(Bytes::from(json)).clone())
    }

    fn document(&self, key: &ComparisonKey) -> Document {
        let mut entries = locked(&self.entries);
        let entry = match entries.iter().position(|entry| entry.key == *key) {
            Some(at) => entries.remove(at),
            None => Entry { key: key.clone(), document: Arc::default() },
        };
        let document = Arc::clone(&entry.document);
        entries.push(entry);
        let beyond = entries.len().saturating_sub(KEPT);
        entries.drain(..beyond);
        document
    }

    /// Those that were computed so far.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }
}
