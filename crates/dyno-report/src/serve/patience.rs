//! Connections with an end to patience: a client that takes nothing of what it was sent, or says nothing for long, is cut
//! off, and there are never more than so many. Beside a run, the files and the memory of the process are the load's.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// A connection on which nothing goes either way for this long is closed. An event stream says something more often, and a
/// long run is read in less, on a busy machine too.
const IDLE: Duration = Duration::from_secs(600);
/// Connections at a time; others wait until one is closed.
const CONNECTIONS_MAX: usize = 256;
/// After a failed `accept`, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// Listens, and gives out [`Patient`] connections.
pub(super) struct PatientListener {
    listener: TcpListener,
    patience: Duration,
    room: Arc<Semaphore>,
}

impl PatientListener {
    /// A client that takes not a byte for as long as `patience` is cut off.
    pub(super) fn new(listener: TcpListener, patience: Duration) -> Self {
        Self { listener, patience, room: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }
}

impl Listener for PatientListener {
    type Io = Patient;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Patient, SocketAddr) {
        loop {
            let Ok(place) = Arc::clone(&self.room).acquire_owned().await else {
                // The semaphore is never closed.
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Without it an event waits for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    return (Patient::new(stream, self.patience, place), address);
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with deadlines.
pub(super) struct Patient {
    stream: TcpStream,
    patience: Duration,
    idle: Pin<Box<Sleep>>,
    /// Set while the client's side is full.
    stalled: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration, place: OwnedSemaphorePermit) -> Self {
        Self { stream, patience, idle: Box::pin(sleep(IDLE)), stalled: None, _place: place }
    }

    fn went(&mut self) {
        self.idle.as_mut().reset(Instant::now() + IDLE);
    }

    /// What a write has come to, or the end of patience with it.
    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            self.went();
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            self.went();
            return read;
        }
        ready!(self.idle.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncWrite for Patient {
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
