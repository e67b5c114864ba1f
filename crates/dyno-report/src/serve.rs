//! The page and the API over HTTP: a server that reads the store, and nothing but the store.
//!
//! It runs on a thread of its own, or beside a run in `dyno run --live`. A run's writer knows nothing of it and waits for
//! nobody: what a slow reader does not take is dropped here. It answers GET and HEAD, and changes nothing.

mod address;
mod api;
mod cached_run;
mod comparisons;
mod connection_limits;
mod documents;
mod error;
mod gate;
mod live;
mod run_cache;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_results::store::{Store, StoreError};
use tokio::runtime;
use tokio::sync::oneshot;

use self::connection_limits::{Activity, LimitedListener, Timeouts};
pub use self::error::{DEFAULT_LISTEN, ServeError};
use self::gate::{AccessToken, Gate};
use self::run_cache::RunCache;

/// Threads that read the store. The server itself has one, which never waits for a disk.
const READING_THREADS: usize = 8;
/// How long a reader may take nothing, unless told otherwise.
const STALLED: Duration = Duration::from_secs(8);
/// How long a first request may take to come, and how long a connection is kept for the next one.
const REQUEST: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(30);
/// Between two looks whether readers have seen the end.
const LOOK: Duration = Duration::from_millis(50);
/// Who was told of a run's end asks for it once more, as finely as can be.
const LAST_QUESTION: Duration = Duration::from_secs(2);

/// What to serve, and to whom.
pub struct ServeOptions {
    /// File of the store.
    pub store: PathBuf,
    /// `127.0.0.1:7878`, `localhost:0`, `[::]:7878`.
    pub listen: String,
    /// What a reader must know. Needed wherever other machines can reach the address.
    pub token: Option<String>,
    /// A reader that takes not a byte for this long is dropped.
    pub stalled: Duration,
    /// A client whose first request has not come whole after this long is dropped.
    pub request: Duration,
    /// One that has been answered, and does not ask again for this long, is dropped too.
    pub idle: Duration,
}

impl ServeOptions {
    pub fn new(store: PathBuf, listen: &str) -> Self {
        let listen = listen.to_owned();
        Self { store, listen, token: None, stalled: STALLED, request: REQUEST, idle: IDLE }
    }
}

// By hand: the token is nobody's business.
impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeOptions")
            .field("store", &self.store)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// A server that runs. Dropped, it ends at once.
pub struct Server {
    address: SocketAddr,
    run_cache: Arc<RunCache>,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server.
///
/// # Errors
/// See [`ServeError`]; nothing runs then.
pub fn spawn(options: ServeOptions) -> Result<Server, ServeError> {
    let ServeOptions { store, listen, token, stalled, request, idle } = options;
    let timeouts = Timeouts { request, idle, stalled };
    let token = token.map(AccessToken::new).transpose()?;
    let addresses = address::resolve(&listen)?;
    if let Some(open) = addresses.iter().find(|address| !address.ip().is_loopback() && token.is_none()) {
        return Err(ServeError::Open { address: *open });
    }
    let listener = address::bind(&addresses)?;
    let address = listener.local_addr().map_err(ServeError::Start)?;
    // What is no store is refused now, and not to each reader.
    match Store::open_existing(&store) {
        Ok(_) | Err(StoreError::Missing { .. }) => {}
        Err(refused) => return Err(refused.into()),
    }
    let gate = Gate::new(address, token);
    let run_cache = Arc::new(RunCache::new(store));
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(READING_THREADS)
        .build()
        .map_err(ServeError::Start)?;
    let (stop, stopped) = oneshot::channel();
    let known = Arc::clone(&run_cache);
    let thread = thread::Builder::new()
        .name("dyno-serve".to_owned())
        .spawn(move || {
            // An error is one of registering the socket, for which spawning has tried all that can fail.
            let _ = runtime.block_on(serve((listener, timeouts), gate, run_cache, stopped));
            // A thread that reads a long run is not waited for: it changes nothing.
            runtime.shutdown_background();
        })
        .map_err(ServeError::Start)?;
    Ok(Server { address, run_cache: known, stop: Some(stop), thread: Some(thread) })
}

async fn serve(
    (listener, timeouts): (TcpListener, Timeouts),
    gate: Gate,
    run_cache: Arc<RunCache>,
    stopped: oneshot::Receiver<Duration>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = LimitedListener::new(tokio::net::TcpListener::from_std(listener)?, timeouts);
    let router = api::router(Arc::clone(&run_cache), gate).into_make_service_with_connect_info::<Activity>();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let farewell = stopped.await.unwrap_or_default();
    let enough = tokio::time::Instant::now() + farewell;
    while run_cache.readers() > 0 && tokio::time::Instant::now() < enough {
        tokio::time::sleep(LOOK).await;
    }
    // Who only now begins to ask is not waited for.
    let enough = tokio::time::Instant::now() + LAST_QUESTION;
    let asks = || run_cache.left().is_some_and(|left| left.elapsed() < LAST_QUESTION);
    while !farewell.is_zero() && asks() && tokio::time::Instant::now() < enough {
        tokio::time::sleep(LOOK).await;
    }
    serving.abort();
    Ok(())
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:7878/`, without any token.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The page of one run.
    pub fn run_url(&self, run: &str) -> String {
        format!("{}?run={run}", self.url())
    }

    /// Readers that watch a run at this moment.
    pub fn readers(&self) -> usize {
        self.run_cache.readers()
    }

    /// Documents and comparisons that were computed so far; other requests were answered from these.
    pub fn documents_computed(&self) -> u64 {
        self.run_cache.documents_computed()
    }

    /// Ends the server, after at most `farewell` in which those who watch a run are told of its end, and as long as they may
    /// ask for it then. At once where it is zero.
    pub fn close(mut self, farewell: Duration) {
        self.end(farewell);
    }

    fn end(&mut self, farewell: Duration) {
        if let Some(stop) = self.stop.take() {
            // Without a receiver it has ended already.
            let _ = stop.send(farewell);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
