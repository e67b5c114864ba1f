//! The socket under a session, TCP or local. Everything that waits for a server waits here: within a limit, and with an
//! eye on whether the user wants to stop.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_engine::driver::CancelSession;
use dyno_wire::endpoint::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, shutdown, socket_with, sockopt,
};

use crate::interruption::{self, LOOK};

/// How long a connection is silent before the system asks whether it is still there, and between two such questions.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Pause while a local server's queue of new connections is full.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct SocketStream {
    socket: OwnedFd,
    /// Whether the server is a process of this machine, which the system knows.
    local: bool,
    wait_limit: WaitLimit,
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitLimit {
    /// Of every single wait, for bytes to read or for room to write; `None` for as long as it takes.
    pub(super) timeout: Option<Duration>,
    pub(super) lingers: Lingers,
}

/// Whether it is waited although the user wants to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lingers {
    No,
    /// To bring to its end what is under way, as far as there is time.
    UnderWay,
    /// For what is asked behind the load, as far as there is time for that.
    Behind,
    /// To cancel a statement, which began then: what the user has stopped before is no reason to let it go on.
    Cancelling(Instant),
}

impl WaitLimit {
    pub(super) fn of(timeout: Option<Duration>) -> Self {
        Self { timeout, lingers: Lingers::No }
    }
}

/// Ends a session's socket; whoever waits on it wakes up with the connection lost.
#[derive(Debug)]
pub enum Closer {
    Socket(OwnedFd),
    /// Of a driver: what is under way is stopped.
    Driver(Arc<dyn CancelSession>),
}

impl Closer {
    /// Ends the socket. Harmless where it has ended already.
    pub fn close(&self) {
        match self {
            Self::Socket(socket) => drop(shutdown(socket, Shutdown::Both)),
            Self::Driver(canceller) => canceller.cancel(),
        }
    }
}

/// Whether somebody takes connections there.
pub(crate) fn accepts(address: &Address, timeout: Duration) -> bool {
    SocketStream::connect(address, WaitLimit::of(Some(timeout))).is_ok()
}

impl SocketStream {
    pub(super) fn closer(&self) -> io::Result<Closer> {
        self.socket.try_clone().map(Closer::Socket)
    }

    pub(super) fn connect(address: &Address, wait_limit: WaitLimit) -> io::Result<Self> {
        let family = match address {
            Address::Tcp(address) if address.is_ipv6() => AddressFamily::INET6,
            Address::Tcp(_) => AddressFamily::INET,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let stream = Self { socket, local: family == AddressFamily::UNIX, wait_limit };
        let began = Instant::now();
        loop {
            stream.check()?;
            let connecting = match address {
                Address::Tcp(address) => {
                    sockopt::set_tcp_nodelay(&stream.socket, true)?;
                    // What lies in between may forget a connection on which nothing is said for long.
                    sockopt::set_socket_keepalive(&stream.socket, true)?;
                    sockopt::set_tcp_keepidle(&stream.socket, KEEPALIVE_IDLE)?;
                    sockopt::set_tcp_keepintvl(&stream.socket, KEEPALIVE_INTERVAL)?;
                    connect(&stream.socket, address)
                }
                Address::Unix(path) => connect(&stream.socket, &SocketAddrUnix::new(path)?),
            };
            match connecting {
                Ok(()) => return Ok(stream),
                Err(Errno::INPROGRESS) => break,
                Err(Errno::AGAIN) if wait_limit.timeout.is_some_and(|timeout| began.elapsed() >= timeout) => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(Errno::AGAIN) => std::thread::sleep(QUEUE_FULL_PAUSE),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        stream.wait(PollFlags::OUT)?;
        sockopt::socket_error(&stream.socket)??;
        Ok(stream)
    }

    pub(super) fn peer_process_id(&self) -> Option<u32> {
        let peer = self.local.then(|| sockopt::socket_peercred(&self.socket).ok()).flatten()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }

    pub(super) fn wait_limit(&self) -> WaitLimit {
        self.wait_limit
    }

    pub(super) fn set_wait_limit(&mut self, wait_limit: WaitLimit) {
        self.wait_limit = wait_limit;
    }

    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.wait_limit.timeout = timeout;
    }

    /// Waits for bytes and reads them; 0 at the end.
    ///
    /// # Errors
    /// `TimedOut` where none came in time, `Interrupted` where the user wants to stop, else what the system said.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.check()?;
            match self.read_available(buffer)? {
                Some(count) => return Ok(count),
                None => drop(self.wait(PollFlags::IN)?),
            }
        }
    }

    /// Reads what is there already; `None` where nothing is.
    pub(super) fn read_available(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes all of `bytes`, and takes out of it what was written.
    ///
    /// # Errors
    /// As [`SocketStream::read`]; what is left in `bytes` was not written.
    pub(super) fn write_all(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.write(bytes, PollFlags::OUT).map(|_| ())
    }

    /// The same until there is something to read where the system takes no more: a server that nobody listens to may stop
    /// reading. True once all was written.
    ///
    /// # Errors
    /// As [`SocketStream::write_all`].
    pub(super) fn write_until_told(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        self.write(bytes, PollFlags::OUT | PollFlags::IN)
    }

    fn write(&mut self, bytes: &mut Vec<u8>, wanted: PollFlags) -> io::Result<bool> {
        let mut written = 0;
        let outcome = loop {
            let rest = bytes.get(written..).unwrap_or_default();
            if rest.is_empty() {
                break Ok(true);
            }
            match self.check().and_then(|()| self.write_available(rest)) {
                Ok(Some(count)) => written += count,
                Ok(None) => match self.wait(wanted) {
                    Ok(ready) if ready.contains(PollFlags::IN) => break Ok(false),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        bytes.drain(..written);
        outcome
    }

    /// Writes what the system takes at once; `None` where it takes nothing.
    pub(super) fn write_available(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// An error if the user wants to stop.
    fn check(&self) -> io::Result<()> {
        if !interruption::is_requested() {
            return Ok(());
        }
        let deadline = match self.wait_limit.lingers {
            Lingers::No => None,
            Lingers::UnderWay => interruption::deadline(),
            Lingers::Behind => interruption::deadline_behind(),
            Lingers::Cancelling(since) => interruption::deadline_since(since),
        };
        match deadline {
            Some(deadline) if Instant::now() < deadline => Ok(()),
            _ => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// Waits for any of what is wanted; what it is.
    fn wait(&self, wanted: PollFlags) -> io::Result<PollFlags> {
        let began = Instant::now();
        loop {
            self.check()?;
            let left = match self.wait_limit.timeout {
                None => LOOK,
                Some(timeout) => match timeout.checked_sub(began.elapsed()) {
                    Some(left) if !left.is_zero() => left.min(LOOK),
                    _ => return Err(io::ErrorKind::TimedOut.into()),
                },
            };
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut socket = [PollFd::new(&self.socket, wanted)];
            match poll(&mut socket, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(socket[0].revents()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
