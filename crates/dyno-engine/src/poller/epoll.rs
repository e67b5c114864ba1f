//! Sockets over epoll: the kernel says which are ready, and then they are read and written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::time::Timespec;

use super::Ready;
use crate::clock::SECOND_NS;
use crate::error::SessionError;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;
/// How long a read waits that does. The kernel rounds it up to its ticks, of which the longest is 10 ms.
const READ_WAIT: Duration = Duration::from_millis(10);
/// A read that waits comes back within this time.
pub(crate) const READ_WAIT_MAX_NS: u64 = 25_000_000;

/// A set of sockets, each known by a token.
pub(crate) struct Epoll {
    epoll: OwnedFd,
    events: Vec<Event>,
    /// The event of the last wait that is taken next.
    next: usize,
    /// Where bytes are received, and how many the last [`receive`](Self::receive) brought.
    inbox: Box<[u8]>,
    received: usize,
    /// See [`let_next_read_wait`](Self::let_next_read_wait).
    next_read_waits: bool,
}

/// A socket of it.
pub(crate) struct Socket {
    fd: OwnedFd,
    token: u64,
    interest: Interest,
    /// A read may wait on it.
    waits: bool,
}

/// What a socket is waited for.
type Interest = EventFlags;
const READ: Interest = EventFlags::IN;
const READ_WRITE: Interest = EventFlags::IN.union(EventFlags::OUT);

impl Epoll {
    /// One that receives at most `inbox_bytes` at once.
    pub(super) fn new(inbox_bytes: usize) -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
            next: 0,
            inbox: vec![0; inbox_bytes].into_boxed_slice(),
            received: 0,
            next_read_waits: false,
        })
    }

    pub(super) fn watch(&self, fd: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), READ)
    }

    pub(super) fn add(&self, fd: OwnedFd, token: u64) -> Result<Socket, SessionError> {
        let socket = Socket { fd, token, interest: READ_WRITE, waits: false };
        self.use_again(&socket)?;
        Ok(socket)
    }

    pub(super) fn set_aside(&self, socket: &Socket) -> Result<(), SessionError> {
        epoll::delete(&self.epoll, &socket.fd).map_err(SessionError::io("epoll"))
    }

    pub(super) fn use_again(&self, socket: &Socket) -> Result<(), SessionError> {
        epoll::add(&self.epoll, &socket.fd, EventData::new_u64(socket.token), socket.interest)
            .map_err(SessionError::io("epoll"))
    }

    pub(super) fn wait_until_writable(&self, socket: &mut Socket, wait: bool) -> Result<(), SessionError> {
        let interest = if wait { READ_WRITE } else { READ };
        if std::mem::replace(&mut socket.interest, interest) != interest {
            epoll::modify(&self.epoll, &socket.fd, EventData::new_u64(socket.token), interest)
                .map_err(SessionError::io("epoll"))?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn send(&self, socket: &Socket, bytes: &[u8]) -> Result<usize, SessionError> {
        match send(&socket.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(source) => Err(SessionError::Io { doing: "send", source }),
        }
    }

    pub(super) fn let_next_read_wait(&mut self) {
        self.next_read_waits = true;
    }

    #[inline]
    pub(super) fn receive(&mut self, socket: &mut Socket) -> Result<Option<usize>, SessionError> {
        self.received = 0;
        let waits = std::mem::take(&mut self.next_read_waits) && socket.let_reads_wait();
        let flags = if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        match recv(&socket.fd, &mut *self.inbox, flags) {
            Ok((count, _)) => {
                self.received = count;
                Ok(Some(count))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(source) => Err(SessionError::Io { doing: "receive", source }),
        }
    }

    #[inline]
    pub(super) fn received(&self) -> &[u8] {
        &self.inbox[..self.received]
    }

    pub(super) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        let timeout = timeout_ns.map(|ns| Timespec {
            tv_sec: (ns / SECOND_NS).cast_signed(),
            tv_nsec: (ns % SECOND_NS).cast_signed(),
        });
        self.events.clear();
        self.next = 0;
        let waited = match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Err(Errno::NOSYS) => self.wait_twice(timeout.as_ref()),
            waited => waited,
        };
        // A signal is no event: the caller looks at its clock and flags and comes again.
        match waited {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// For Linux before 5.11, whose epoll counts in milliseconds.
    #[cold]
    fn wait_twice(&mut self, timeout: Option<&Timespec>) -> Result<usize, Errno> {
        poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], timeout)?;
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&Timespec::default()))
    }

    pub(super) fn next_ready(&mut self) -> Option<Ready> {
        let event = self.events.get(self.next)?;
        self.next += 1;
        let (flags, data) = (event.flags, event.data);
        Some(Ready { token: data.u64(), writable: flags.contains(EventFlags::OUT) })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.fd
    }
}

impl Socket {
    /// Sees to it that a read can wait on it; whether it can.
    fn let_reads_wait(&mut self) -> bool {
        self.waits = self.waits
            || sockopt::set_socket_timeout(&self.fd, sockopt::Timeout::Recv, Some(READ_WAIT)).is_ok()
                && ioctl_fionbio(&self.fd, false).is_ok();
        self.waits
    }
}
