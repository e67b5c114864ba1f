//! The sockets of a load thread: waiting for many at once, and what is received and sent on them. Over epoll, or over io_uring
//! where that is asked for and allowed; nothing else in the engine knows which.

mod epoll;
mod ring;
mod slot;
mod uring;

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt;

use epoll::Epoll;
pub(crate) use epoll::READ_WAIT_MAX_NS;
pub(crate) use uring::Uring;

use crate::error::SessionError;

/// Where Linux says whether io_uring may be used.
const DISABLED_FILE: &str = "/proc/sys/kernel/io_uring_disabled";

/// A set of sockets, each known by a token.
pub(crate) enum Poller {
    Epoll(Epoll),
    Uring(Box<Uring>),
}

/// A socket that a poller has.
pub(crate) enum Socket {
    Epoll(epoll::Socket),
    /// Its slot.
    Uring(u32),
}

/// A socket that is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) writable: bool,
}

impl Poller {
    /// One over epoll, that receives at most `inbox_bytes` at once.
    pub(crate) fn new(inbox_bytes: usize) -> Result<Self, Errno> {
        Epoll::new(inbox_bytes).map(Self::Epoll)
    }

    /// Begins to be this thread's, and waits for a descriptor, too, which its owner reads.
    pub(crate) fn begin(&mut self, watched: impl AsFd, token: u64) -> Result<(), Errno> {
        match self {
            Self::Epoll(epoll) => epoll.watch(watched, token),
            Self::Uring(uring) => uring.begin(watched.as_fd(), token),
        }
    }

    /// Takes a socket that is connecting; it is ready once that has ended.
    pub(crate) fn add(&mut self, fd: OwnedFd, token: u64) -> Result<Socket, SessionError> {
        match self {
            Self::Epoll(epoll) => epoll.add(fd, token).map(Socket::Epoll),
            Self::Uring(uring) => Ok(Socket::Uring(uring.open(fd, token))),
        }
    }

    /// Takes a connected socket that is over epoll.
    pub(crate) fn take_over(&mut self, socket: Socket, token: u64) -> Result<Socket, SessionError> {
        match (self, socket) {
            (Self::Uring(uring), Socket::Epoll(socket)) => {
                Ok(Socket::Uring(uring.take_over(socket.into(), token)))
            }
            _ => Err(SessionError::Closed),
        }
    }

    /// The result of the connect that was under way.
    pub(crate) fn finish_connect(&self, socket: &Socket) -> Result<(), SessionError> {
        let fd = match (self, socket) {
            (_, Socket::Epoll(socket)) => Some(socket.as_fd()),
            (Self::Uring(uring), Socket::Uring(slot)) => uring.fd(*slot),
            _ => None,
        };
        match sockopt::socket_error(fd.ok_or(SessionError::Closed)?) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(source)) | Err(source) => Err(SessionError::Io { doing: "connect", source }),
        }
    }

    /// Closes a socket, of which nothing more is heard. What was sent on it before still leaves.
    pub(crate) fn close(&mut self, socket: Socket) {
        match (self, socket) {
            (Self::Uring(uring), Socket::Uring(slot)) => uring.close(slot),
            // Its descriptor is closed with it.
            (_, socket) => drop(socket),
        }
    }

    /// Of this socket nothing is to be heard until it is used again.
    pub(crate) fn set_aside(&mut self, socket: &Socket) -> Result<(), SessionError> {
        match (self, socket) {
            (Self::Epoll(epoll), Socket::Epoll(socket)) => epoll.set_aside(socket)?,
            (Self::Uring(uring), Socket::Uring(slot)) => uring.set_aside(*slot),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn use_again(&mut self, socket: &Socket) -> Result<(), SessionError> {
        match (self, socket) {
            (Self::Epoll(epoll), Socket::Epoll(socket)) => epoll.use_again(socket)?,
            (Self::Uring(uring), Socket::Uring(slot)) => uring.use_again(*slot),
            _ => {}
        }
        Ok(())
    }

    /// Whether the socket is to be ready, too, when it can take bytes.
    pub(crate) fn wait_until_writable(
        &mut self,
        socket: &mut Socket,
        wait: bool,
    ) -> Result<(), SessionError> {
        match (self, socket) {
            (Self::Epoll(epoll), Socket::Epoll(socket)) => epoll.wait_until_writable(socket, wait)?,
            // It takes all bytes at once, and sends them when it can.
            (Self::Uring(uring), Socket::Uring(slot)) => uring.receive_always(*slot),
            _ => {}
        }
        Ok(())
    }

    /// Sends as many of the bytes as the socket takes.
    #[inline]
    pub(crate) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> Result<usize, SessionError> {
        match (self, socket) {
            (Self::Epoll(epoll), Socket::Epoll(socket)) => epoll.send(socket, bytes),
            (Self::Uring(uring), Socket::Uring(slot)) => uring.send(*slot, bytes).map(|()| bytes.len()),
            _ => Err(SessionError::Closed),
        }
    }

    /// Whether what is sent waits until it leaves together with other sends.
    pub(crate) fn sends_together(&self) -> bool {
        matches!(self, Self::Uring(_))
    }

    /// Whether as many sends wait as may leave together.
    #[inline]
    pub(crate) fn has_full_batch(&self) -> bool {
        matches!(self, Self::Uring(uring) if uring.has_full_batch())
    }

    /// Lets the sends leave that wait. An error shows itself at the next wait.
    pub(crate) fn submit(&mut self) {
        if let Self::Uring(uring) = self {
            uring.submit();
        }
    }

    /// Where sends leave together: when any did first since it was asked last. `None` if none did.
    #[inline]
    pub(crate) fn take_submitted_ns(&mut self) -> Option<u64> {
        match self {
            Self::Epoll(_) => None,
            Self::Uring(uring) => uring.take_submitted_ns(),
        }
    }

    /// The next [`receive`](Self::receive) waits a little for something to come: whoever waits for nothing else is spared the
    /// question which sockets are ready.
    pub(crate) fn let_next_read_wait(&mut self) {
        if let Self::Epoll(epoll) = self {
            epoll.let_next_read_wait();
        }
    }

    /// Receives what is there, to be read by [`received`](Self::received). `None` where there is nothing yet, 0 where nothing
    /// more will come.
    #[inline]
    pub(crate) fn receive(&mut self, socket: &mut Socket) -> Result<Option<usize>, SessionError> {
        match (self, socket) {
            (Self::Epoll(epoll), Socket::Epoll(socket)) => epoll.receive(socket),
            (Self::Uring(uring), Socket::Uring(slot)) => uring.receive(*slot),
            _ => Err(SessionError::Closed),
        }
    }

    /// What was received last.
    #[inline]
    pub(crate) fn received(&self) -> &[u8] {
        match self {
            Self::Epoll(epoll) => epoll.received(),
            Self::Uring(uring) => uring.received(),
        }
    }

    /// Waits until a socket is ready or `timeout_ns` has passed (`None`: for ever), to the nanosecond.
    ///
    /// The sockets are then taken with [`next_ready`](Self::next_ready).
    pub(crate) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        match self {
            Self::Epoll(epoll) => epoll.wait(timeout_ns),
            Self::Uring(uring) => uring.wait(timeout_ns),
        }
    }

    /// The next of the sockets that the last wait found ready. What it has is received before the next is asked for.
    #[inline]
    pub(crate) fn next_ready(&mut self) -> Option<Ready> {
        match self {
            Self::Epoll(epoll) => epoll.next_ready(),
            Self::Uring(uring) => uring.next_ready(),
        }
    }
}

/// Why the kernel gives no ring.
pub(crate) fn refusal(error: Errno) -> String {
    let disabled = std::fs::read_to_string(DISABLED_FILE).unwrap_or_default();
    match error {
        Errno::PERM if matches!(disabled.trim(), "1" | "2") => {
            format!("the system forbids it (kernel.io_uring_disabled is {})", disabled.trim())
        }
        Errno::PERM | Errno::ACCESS => {
            "it is forbidden here, as by the default seccomp filter of containers".to_owned()
        }
        Errno::NOSYS => "the kernel has none, or a seccomp filter hides it".to_owned(),
        Errno::INVAL => "it needs Linux 6.15 or newer".to_owned(),
        Errno::NOMEM => "the limit of locked memory is too low (`ulimit -l`)".to_owned(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
