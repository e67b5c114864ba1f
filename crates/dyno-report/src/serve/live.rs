//! Those who watch a run while it goes: one look a second at the store for all of them, and what is new is made once and
//! sent to each.
//!
//! A reader gets the whole document first and then what is added to it. One that does not keep up is let go: it comes back
//! and begins with the whole document again, and nobody has waited for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use dyno_results::store::StoreError;
use futures_util::stream;
use tokio::sync::broadcast::{self, Receiver};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::cached_run::{CachedRun, CurveView, RunWatch, frame};
use super::error::{ApiError, blocking};
use super::run_cache::{RunCache, StreamReader};

/// Between two looks at the store.
const TICK: Duration = Duration::from_secs(1);
/// Updates that are kept for a reader that is behind.
const BEHIND_MAX: usize = 8;
/// What says nothing for longer is taken for broken by what may stand between.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After which a browser comes back to a stream that broke off, milliseconds.
const COME_BACK_MS: u32 = 2000;

/// What becomes of the looks at a run.
enum Next {
    Again,
    Done,
}

/// The event stream of a run: the whole of it now, and what is added until it ends.
pub(super) async fn stream(
    run_cache: Arc<RunCache>,
    name: String,
    view: CurveView,
) -> Result<Body, ApiError> {
    let reader = run_cache.reader();
    let joined = {
        let run_cache = Arc::clone(&run_cache);
        blocking(move || run_cache.read(&name, |cached| join(&run_cache, cached, view))).await??
    };
    let Joined { name, first, frames, begun } = joined?;
    if begun {
        tokio::spawn(look_at(run_cache, name));
    }
    let listening = Listening { first, frames, _reader: reader };
    Ok(Body::from_stream(stream::unfold(listening, |mut listening| async {
        let frame = listening.next().await?;
        Some((Ok::<_, Infallible>(frame), listening))
    })))
}

/// A reader's beginning.
struct Joined {
    name: String,
    first: VecDeque<Bytes>,
    /// `None` where nothing more will come.
    frames: Option<Receiver<Bytes>>,
    /// True where nobody has watched the run before.
    begun: bool,
}

/// Under the cached run's lock: what others have not been sent yet is sent to them first, so that the newcomer begins exactly
/// where the next update goes on.
fn join(run_cache: &RunCache, cached: &mut CachedRun, view: CurveView) -> Result<Joined, serde_json::Error> {
    publish(cached)?;
    let document = run_cache.document(cached, view)?;
    let mut first = VecDeque::from([
        Bytes::from(format!("retry: {COME_BACK_MS}\n\n")),
        frame("report", cached.last(), &String::from_utf8_lossy(&document)),
    ]);
    let name = cached.name().to_owned();
    if !cached.is_live() {
        first.push_back(cached.end(None));
        return Ok(Joined { name, first, frames: None, begun: false });
    }
    let begun = cached.watch.is_none();
    let watch = match cached.watch.take() {
        Some(watch) => watch,
        None => {
            RunWatch { marks: cached.marks()?, seq: cached.last(), frames: broadcast::channel(BEHIND_MAX).0 }
        }
    };
    let frames = Some(watch.frames.subscribe());
    cached.watch = Some(watch);
    Ok(Joined { name, first, frames, begun })
}

/// Looks at a run once a second, until it has ended or nobody watches it any more.
async fn look_at(run_cache: Arc<RunCache>, name: String) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (from, run) = (Arc::clone(&run_cache), name.clone());
        match blocking(move || from.read(&run, look)).await {
            // A store that is locked for long will be free again.
            Ok(Ok(Next::Again) | Err(StoreError::Locked { .. })) => {}
            Ok(Ok(Next::Done)) | Err(_) => return,
            Ok(Err(error)) => {
                let reason = error.to_string();
                // Nothing is left to do where this does not run any more: the server ends.
                let _ = blocking(move || run_cache.evict(&name, &reason)).await;
                return;
            }
        }
    }
}

fn look(cached: &mut CachedRun) -> Next {
    let published = publish(cached);
    let Some(watch) = &cached.watch else { return Next::Done };
    if published.is_err() || watch.frames.receiver_count() == 0 {
        cached.watch = None;
        return Next::Done;
    }
    if cached.is_live() {
        return Next::Again;
    }
    let end = cached.end(None);
    if let Some(watch) = cached.watch.take() {
        // Without readers there is nobody to tell.
        let _ = watch.frames.send(end);
    }
    Next::Done
}

/// Sends those who watch what they have not been sent.
fn publish(cached: &mut CachedRun) -> Result<(), serde_json::Error> {
    let Some(mut watch) = cached.watch.take() else { return Ok(()) };
    if watch.seq != cached.last() {
        let update = cached.update(&mut watch.marks)?;
        watch.seq = cached.last();
        let _ = watch.frames.send(frame("update", watch.seq, &update));
    }
    cached.watch = Some(watch);
    Ok(())
}

/// A reader of the stream.
struct Listening {
    first: VecDeque<Bytes>,
    frames: Option<Receiver<Bytes>>,
    _reader: StreamReader,
}

impl Listening {
    /// What to send next; `None` at the end, and for a reader that is too far behind.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(frame) = self.first.pop_front() {
            return Some(frame);
        }
        match timeout(KEEP_ALIVE, self.frames.as_mut()?.recv()).await {
            Ok(frame) => frame.ok(),
            Err(_) => Some(Bytes::from_static(b": nothing new\n\n")),
        }
    }
}
