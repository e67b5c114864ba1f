//! Idle timeouts and connection limits: a client that takes nothing of what it was sent, or asks for nothing, is cut off;
//! there are never more than so many connections, and not all of them from one address. Beside a run, the files and the
//! memory of the process are the load's.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections at a time; others wait until one is closed.
const CONNECTIONS_MAX: usize = 256;
/// Of these, from one address; more are closed at once.
const ADDRESS_MAX: usize = 128;
/// After a failed `accept`, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// How long clients are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// For the whole of the first request.
    pub(super) request: Duration,
    /// For the whole of the next one, from the last byte of an answer on. An event stream says something more often.
    pub(super) idle: Duration,
    /// For a byte to be taken of what is sent.
    pub(super) stalled: Duration,
}

/// Listens, and gives out connections with limits.
pub(super) struct LimitedListener {
    listener: TcpListener,
    timeouts: Timeouts,
    room: Arc<Semaphore>,
    counts: Arc<AddressCounts>,
}

impl LimitedListener {
    pub(super) fn new(listener: TcpListener, timeouts: Timeouts) -> Self {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { listener, timeouts, room, counts: Arc::default() }
    }
}

impl Listener for LimitedListener {
    type Io = LimitedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LimitedConnection, SocketAddr) {
        loop {
            let Ok(room) = Arc::clone(&self.room).acquire_owned().await else {
                // The semaphore is never closed.
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let Some(permit) = AddressPermit::take(&self.counts, address.ip().to_canonical()) else {
                        continue;
                    };
                    // Without it an event waits for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    return (LimitedConnection::new(stream, self.timeouts, (room, permit)), address);
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Connections by address.
#[derive(Default)]
struct AddressCounts(Mutex<HashMap<IpAddr, usize>>);

/// The permit for one connection of an address, given back when it is dropped.
struct AddressPermit {
    counts: Arc<AddressCounts>,
    address: IpAddr,
}

impl AddressPermit {
    /// `None` where the address has as many as it may have.
    fn take(counts: &Arc<AddressCounts>, address: IpAddr) -> Option<Self> {
        let mut permits = locked(&counts.0);
        let taken = permits.entry(address).or_default();
        if *taken >= ADDRESS_MAX {
            return None;
        }
        *taken += 1;
        Some(Self { counts: Arc::clone(counts), address })
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut permits = locked(&self.counts.0);
        match permits.get_mut(&self.address) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => drop(permits.remove(&self.address)),
        }
    }
}

/// What goes on on a connection, as those who answer know it: from its bytes alone nobody can tell a client that waits for
/// a long run to be read from one that has nothing to ask.
#[derive(Clone)]
pub(super) struct Activity {
    state: Arc<Mutex<RequestState>>,
    idle: Duration,
}

struct RequestState {
    /// Requests that are being answered.
    under_way: usize,
    /// When there must be another one.
    until: Instant,
}

impl Activity {
    fn new(timeouts: Timeouts) -> Self {
        let state = RequestState { under_way: 0, until: Instant::now() + timeouts.request };
        Self { state: Arc::new(Mutex::new(state)), idle: timeouts.idle }
    }

    /// When to look again; `None` where nothing has been asked for too long.
    fn next_look(&self) -> Option<Instant> {
        let (state, now) = (locked(&self.state), Instant::now());
        let soon = now + self.idle;
        if state.under_way > 0 {
            Some(soon)
        } else {
            // Where an answer is there at once, nobody reads between it and the question, nor looks at the deadline that it sets.
            (state.until > now).then(|| soon.min(state.until))
        }
    }

    fn answered(&self) {
        locked(&self.state).until = Instant::now() + self.idle;
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for Activity {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        stream.io().activity.clone()
    }
}

/// A request that is being answered, for as long as it lives.
struct UnderWay(Activity);

impl UnderWay {
    fn begin(activity: Activity) -> Self {
        locked(&activity.state).under_way += 1;
        Self(activity)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // What it has come to is still to be written.
        self.0.answered();
        locked(&self.0.state).under_way -= 1;
    }
}

/// Tells the connection that a whole request has come and is being answered.
pub(super) async fn noted(
    ConnectInfo(activity): ConnectInfo<Activity>,
    request: Request,
    next: Next,
) -> Response {
    let _under_way = UnderWay::begin(activity);
    next.run(request).await
}

/// A connection with deadlines.
pub(super) struct LimitedConnection {
    stream: TcpStream,
    stalls_for: Duration,
    activity: Activity,
    alarm: Pin<Box<Sleep>>,
    /// Set while the client's side is full.
    stalled: Option<Pin<Box<Sleep>>>,
    _permits: (OwnedSemaphorePermit, AddressPermit),
}

impl LimitedConnection {
    fn new(stream: TcpStream, timeouts: Timeouts, permits: (OwnedSemaphorePermit, AddressPermit)) -> Self {
        Self {
            stream,
            stalls_for: timeouts.stalled,
            activity: Activity::new(timeouts),
            alarm: Box::pin(sleep(timeouts.request)),
            stalled: None,
            _permits: permits,
        }
    }

    /// What a write has come to, or that it has timed out.
    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            self.activity.answered();
            return written;
        }
        let stalls_for = self.stalls_for;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(stalls_for)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncRead for LimitedConnection {
    /// What comes in buys no time: a request that comes byte by byte must be whole by its deadline like any other.
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            return read;
        }
        loop {
            let Some(next) = self.activity.next_look() else {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)));
            };
            // An answer moves the deadline, to a later time or, from the first request's, to an earlier one.
            self.alarm.as_mut().reset(next);
            ready!(self.alarm.as_mut().poll(cx));
        }
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Numbers and times only: there is no half of them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_places_and_others_theirs() {
        let counts = Arc::default();
        let [one, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut permits: Vec<_> =
            (0..ADDRESS_MAX).map(|_| AddressPermit::take(&counts, one).unwrap()).collect();
        assert!(AddressPermit::take(&counts, one).is_none());
        permits.push(AddressPermit::take(&counts, other).unwrap());
        drop(permits.remove(0));
        permits.push(AddressPermit::take(&counts, one).unwrap());
        assert!(AddressPermit::take(&counts, one).is_none());
        drop(permits);
        assert!(locked(&counts.0).is_empty(), "who has none is forgotten");
    }

    #[test]
    fn whoever_waits_for_an_answer_is_not_silent() {
        let nothing = Duration::ZERO;
        let activity = Activity::new(Timeouts { request: nothing, idle: nothing, stalled: nothing });
        assert!(activity.next_look().is_none(), "nothing was asked in time");
        let answering = [UnderWay::begin(activity.clone()), UnderWay::begin(activity.clone())];
        assert!(activity.next_look().is_some());
        drop(answering);
        assert!(
            activity.next_look().is_none(),
            "it was answered, and there was no time for another question"
        );
        let active = Activity { idle: Duration::from_secs(3600), ..activity };
        drop(UnderWay::begin(active.clone()));
        assert!(active.next_look().is_some(), "the next question may come");
    }
}
