//! A cache of runs: read from the store when they are asked for, cached while there is room, and read on when they are
//! asked for again. Who asks for what another is computing waits for it, and is answered with the same. Names mean what the store says they mean, and nothing else is ever opened.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use axum::body::Bytes;
use dyno_results::store::{Store, StoreError};

use super::cached_run::{CachedRun, CurveView};
use super::comparisons::ComparisonCache;
use super::documents::{DocumentCache, DocumentKey, DocumentPart};
use super::error::ApiError;

/// Events of all runs that are cached, but for those that are watched and the one asked for last: some 1 kB each.
const EVENTS_KEPT: u64 = 1_500_000;

/// Why a run that was watched is watched no longer.
const GONE: &str = "the run is no longer in the store";

/// The cached runs of one store.
pub(super) struct RunCache {
    store: PathBuf,
    /// The one used last stands last.
    entries: Mutex<Vec<CacheEntry>>,
    /// Runs that were ever cached.
    count: AtomicU64,
    documents: Mutex<DocumentCache>,
    comparisons: ComparisonCache,
    readers: AtomicUsize,
    /// When a reader last left.
    left: Mutex<Option<Instant>>,
}

/// A run in the cache, or about to be read into it.
struct CacheEntry {
    name: String,
    /// The store's file, which another may have taken the place of since.
    file: FileIdentity,
    cached: Arc<Mutex<Option<CachedRun>>>,
}

/// Where the page of a run lies once it has ended: beside the store.
fn page_of(store: &Path, run: &str) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("runs").join(run).join("report.html")
}

/// Device, inode, and when the file was made: a file system gives the number of a removed file to the next one.
pub(super) type FileIdentity = (u64, u64, Option<SystemTime>);

impl RunCache {
    pub(super) fn new(store: PathBuf) -> Self {
        Self {
            store,
            entries: Mutex::default(),
            count: AtomicU64::new(0),
            documents: Mutex::default(),
            comparisons: ComparisonCache::default(),
            readers: AtomicUsize::new(0),
            left: Mutex::default(),
        }
    }

    /// The store, opened: each question opens it anew, so that one that was replaced is seen. It takes a third of a
    /// millisecond.
    pub(super) fn store(&self) -> Result<Store, StoreError> {
        Store::open_existing(&self.store)
    }

    /// Hands over the run that is meant, read as far as it is stored.
    pub(super) fn read<T>(
        &self,
        wanted: &str,
        with: impl FnOnce(&mut CachedRun) -> T,
    ) -> Result<T, StoreError> {
        let store = self.store().inspect_err(|error| self.forget(wanted, error))?;
        let name = store.find(wanted).inspect_err(|error| self.forget(wanted, error))?;
        let entry = self.entry(&name);
        let mut entry = locked(&entry);
        // Under the lock: another reader must not have read further than this says.
        let state = store.state(&name)?;
        let cached = match &mut *entry {
            // A stream only ever grows.
            Some(cached) if cached.is_of(&state) && cached.last() <= state.last_seq => cached,
            other => {
                if let Some(old) = other.take() {
                    old.leave("another run has this name now");
                }
                let number = self.count.fetch_add(1, Ordering::Relaxed);
                other.insert(CachedRun::new(number, state.clone(), page_of(&self.store, &name)))
            }
        };
        cached.refresh(&store, state)?;
        let result = with(cached);
        drop(entry);
        self.make_room();
        Ok(result)
    }

    /// The report document of a run that is being read. Only its first reader computes it: it is under the run's lock.
    pub(super) fn document(
        &self,
        cached: &mut CachedRun,
        view: CurveView,
    ) -> Result<Bytes, serde_json::Error> {
        self.part(cached, DocumentPart::Report(view), |cached| {
            Ok(Bytes::from(cached.document(view)?.to_string()))
        })
    }

    /// The same of its series as CSV.
    pub(super) fn csv(&self, cached: &mut CachedRun) -> Result<Bytes, serde_json::Error> {
        self.part(cached, DocumentPart::Csv, |cached| Ok(Bytes::from(cached.csv())))
    }

    fn part(
        &self,
        cached: &mut CachedRun,
        part: DocumentPart,
        compute: impl FnOnce(&mut CachedRun) -> Result<Bytes, serde_json::Error>,
    ) -> Result<Bytes, serde_json::Error> {
        let key = DocumentKey { run: cached.version(), part };
        if let Some(known) = locked(&self.documents).get(&key) {
            return Ok(known);
        }
        let document = compute(cached)?;
        locked(&self.documents).insert(key, document.clone());
        Ok(document)
    }

    /// Comparisons in the store as it is now.
    pub(super) fn comparison(&self, sides: Vec<String>, base: Option<String>) -> Result<Bytes, ApiError> {
        self.comparisons.get(&self.store()?, file_identity(&self.store), sides, base)
    }

    pub(super) fn documents_computed(&self) -> u64 {
        locked(&self.documents).computed() + self.comparisons.computed()
    }

    fn entry(&self, name: &str) -> Arc<Mutex<Option<CachedRun>>> {
        let file = file_identity(&self.store);
        let mut entries = locked(&self.entries);
        let known = entries.iter().position(|entry| entry.name == name);
        let entry = match known.map(|at| entries.remove(at)) {
            Some(entry) if entry.file == file => entry,
            other => {
                other.inspect(|entry| entry.leave(GONE));
                CacheEntry { name: name.to_owned(), file, cached: Arc::default() }
            }
        };
        let cached = Arc::clone(&entry.cached);
        entries.push(entry);
        cached
    }

    /// Evicts a run that is no longer in the store, and tells those who watch it.
    fn forget(&self, name: &str, error: &StoreError) {
        if matches!(
            error,
            StoreError::NoSuchRun { .. } | StoreError::NoRuns { .. } | StoreError::Missing { .. }
        ) {
            self.evict(name, GONE);
        }
    }

    /// Evicts a run, and tells those who watch it why. Who asks again begins anew.
    pub(super) fn evict(&self, name: &str, reason: &str) {
        let gone: Vec<CacheEntry> = {
            let mut entries = locked(&self.entries);
            entries.extract_if(.., |entry| entry.name == name).collect()
        };
        gone.iter().for_each(|entry| entry.leave(reason));
    }

    /// Evicts the runs that were not asked for the longest, until the others fit. One that is in use right now is
    /// not waited for.
    fn make_room(&self) {
        let mut entries = locked(&self.entries);
        let weigh = |entry: &CacheEntry| match entry.cached.try_lock() {
            Ok(cached) => cached
                .as_ref()
                .filter(|cached| cached.watch.is_none())
                .map(|cached| cached.last().unwrap_or(0)),
            Err(_) => None,
        };
        let weights: Vec<Option<u64>> = entries.iter().map(weigh).collect();
        let mut sum: u64 = weights.iter().flatten().sum();
        let newest = entries.len().saturating_sub(1);
        let mut at = 0;
        entries.retain(|_| {
            let goes = at < newest && sum > EVENTS_KEPT && weights[at].is_some();
            sum -= if goes { weights[at].unwrap_or(0) } else { 0 };
            at += 1;
            !goes
        });
    }

    /// Counts a reader of an event stream for as long as what is returned lives.
    pub(super) fn reader(self: &Arc<Self>) -> StreamReader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        StreamReader(Arc::clone(self))
    }

    /// Readers of event streams.
    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    /// When one of them last left.
    pub(super) fn left(&self) -> Option<Instant> {
        *locked(&self.left)
    }
}

impl CacheEntry {
    fn leave(&self, reason: &str) {
        if let Some(cached) = locked(&self.cached).take() {
            cached.leave(reason);
        }
    }
}

/// A reader of an event stream.
pub(super) struct StreamReader(Arc<RunCache>);

impl Drop for StreamReader {
    fn drop(&mut self) {
        *locked(&self.0.left) = Some(Instant::now());
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn file_identity(path: &Path) -> FileIdentity {
    std::fs::metadata(path)
        .map_or((0, 0, None), |metadata| (metadata.dev(), metadata.ino(), metadata.created().ok()))
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked was reading; what it left is read on or thrown away.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
