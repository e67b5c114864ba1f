//! The runs that are known here: read from the store when they are asked for, kept while there is room, and read on when
//! they are asked for again. Names mean what the store says they mean, and nothing else is ever opened.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use dyno_results::store::{Store, StoreError};

use super::book::{Book, View};
use super::kept;

/// Events of all runs that are kept folded, but for those that are watched and the one asked for last: some 1 kB each.
const EVENTS_KEPT: u64 = 1_500_000;

/// Why a run that was watched is watched no longer.
const GONE: &str = "the run is no longer in the store";

/// All runs of one store.
pub(super) struct Library {
    store: PathBuf,
    /// The one used last stands last.
    shelf: Mutex<Vec<Place>>,
    readers: AtomicUsize,
    /// When a reader last left.
    left: Mutex<Option<Instant>>,
}

/// A run's place on the shelf.
struct Place {
    name: String,
    /// The store's file, which another may have taken the place of since.
    file: FileIdentity,
    book: Arc<Mutex<Option<Book>>>,
}

/// Where the page of a run lies once it has ended: beside the store.
fn page_of(store: &Path, run: &str) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("runs").join(run).join("report.html")
}

/// Device, inode, and when the file was made: a file system gives the number of a removed file to the next one.
type FileIdentity = (u64, u64, Option<SystemTime>);

impl Library {
    pub(super) fn new(store: PathBuf) -> Self {
        Self { store, shelf: Mutex::new(Vec::new()), readers: AtomicUsize::new(0), left: Mutex::new(None) }
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
        with: impl FnOnce(&mut Book, &Store) -> T,
    ) -> Result<T, StoreError> {
        let store = self.store().inspect_err(|error| self.forget(wanted, error))?;
        let name = store.find(wanted).inspect_err(|error| self.forget(wanted, error))?;
        let place = self.place(&name);
        let mut place = locked(&place);
        // Under the lock: another reader must not have read further than this says.
        let state = store.state(&name)?;
        let book = match &mut *place {
            // A stream only ever grows.
            Some(book) if book.identity() == state.identity && book.last() <= state.last_seq => book,
            other => {
                if let Some(old) = other.take() {
                    super::live::leave(old, "another run has this name now");
                }
                other.insert(Book::new(state.clone(), page_of(&self.store, &name)))
            }
        };
        book.refresh(&store, state)?;
        let result = with(book, &store);
        drop(place);
        self.make_room();
        Ok(result)
    }

    /// The document of a run. Of a long one that has ended, what was kept will do as long as all of it has not been read.
    pub(super) fn document(&self, wanted: &str, view: View) -> Result<Document, StoreError> {
        if view.is_whole() {
            let state = self.store()?.state(wanted)?;
            let (begun, read) = {
                let shelf = locked(&self.shelf);
                let place = shelf.iter().find(|place| place.name == state.name);
                // Who reads it now holds it: another reader is not to wait for that.
                (
                    place.is_some(),
                    place.is_some_and(|place| place.book.try_lock().is_ok_and(|book| book.is_some())),
                )
            };
            if let Some(text) = (!read).then(|| kept::read(&self.store, &state)).flatten() {
                return Ok(Document::Kept { text, begun });
            }
        }
        self.read(wanted, |book, _| {
            Ok(match book.document(view) {
                Ok(document) => {
                    let text = document.to_string();
                    if view.is_whole() && !book.is_live() {
                        kept::write(&self.store, book.state(), &text);
                    }
                    Document::Made(text)
                }
                Err(error) => Document::Failed(error),
            })
        })?
    }

    fn place(&self, name: &str) -> Arc<Mutex<Option<Book>>> {
        let file = file_identity(&self.store);
        let mut shelf = locked(&self.shelf);
        let known = shelf.iter().position(|place| place.name == name);
        let place = match known.map(|at| shelf.remove(at)) {
            Some(place) if place.file == file => place,
            other => {
                other.inspect(|place| place.leave(GONE));
                Place { name: name.to_owned(), file, book: Arc::default() }
            }
        };
        let book = Arc::clone(&place.book);
        shelf.push(place);
        book
    }

    /// Takes a run off the shelf that is not there any more, and tells those who watch it.
    fn forget(&self, name: &str, error: &StoreError) {
        if matches!(
            error,
            StoreError::NoSuchRun { .. } | StoreError::NoRuns { .. } | StoreError::Missing { .. }
        ) {
            self.take_off(name, GONE);
        }
    }

    /// Takes a run off the shelf, and tells those who watch it why. Who asks again begins anew.
    pub(super) fn take_off(&self, name: &str, reason: &str) {
        let gone: Vec<Place> = {
            let mut shelf = locked(&self.shelf);
            shelf.extract_if(.., |place| place.name == name).collect()
        };
        gone.iter().for_each(|place| place.leave(reason));
    }

    /// Takes runs off the shelf that were not asked for the longest, until the others fit. One that is in use right now is
    /// not waited for.
    fn make_room(&self) {
        let mut shelf = locked(&self.shelf);
        let weigh = |place: &Place| match place.book.try_lock() {
            Ok(book) => {
                book.as_ref().filter(|book| book.watch.is_none()).map(|book| book.last().unwrap_or(0))
            }
            Err(_) => None,
        };
        let weights: Vec<Option<u64>> = shelf.iter().map(weigh).collect();
        let mut sum: u64 = weights.iter().flatten().sum();
        let newest = shelf.len().saturating_sub(1);
        let mut at = 0;
        shelf.retain(|_| {
            let goes = at < newest && sum > EVENTS_KEPT && weights[at].is_some();
            sum -= if goes { weights[at].unwrap_or(0) } else { 0 };
            at += 1;
            !goes
        });
    }

    /// Counts a reader of an event stream for as long as what is returned lives.
    pub(super) fn reader(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        Reader(Arc::clone(self))
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

/// A document, and where it is from.
pub(super) enum Document {
    Made(String),
    /// The run itself has not been read yet; whether somebody has begun to.
    Kept {
        text: String,
        begun: bool,
    },
    Failed(serde_json::Error),
}

impl Place {
    fn leave(&self, reason: &str) {
        if let Some(book) = locked(&self.book).take() {
            super::live::leave(book, reason);
        }
    }
}

/// A reader of an event stream.
pub(super) struct Reader(Arc<Library>);

impl Drop for Reader {
    fn drop(&mut self) {
        *locked(&self.0.left) = Some(Instant::now());
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn file_identity(path: &Path) -> FileIdentity {
    std::fs::metadata(path)
        .map_or((0, 0, None), |metadata| (metadata.dev(), metadata.ino(), metadata.created().ok()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked was reading; what it left is read on or thrown away.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
