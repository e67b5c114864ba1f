//! The sockets of a load thread: waiting for many at once, and what is received and sent on them. The one place that knows
//! epoll; io_uring would stand beside it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::time::Timespec;

use crate::clock::SECOND_NS;
use crate::error::SessionError;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;
/// How long a read waits that does. The kernel rounds it up to its ticks, of which the longest is 10 ms.
const READ_WAIT: Duration = Duration::from_millis(10);
/// A read that waits comes back within this time.
pub(crate) const READ_WAIT_MAX_NS: u64 = 25_000_000;

/// A set of sockets, each known by a token.
pub(crate) struct Poller {
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

/// A socket that a poller has.
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

/// A socket that is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) writable: bool,
}

impl Poller {
    /// A poller that receives at most `inbox_bytes` at once.
    pub(crate) fn new(inbox_bytes: usize) -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
            next: 0,
            inbox: vec![0; inbox_bytes].into_boxed_slice(),
            received: 0,
            next_read_waits: false,
        })
    }

    /// Waits for this descriptor, too, which its owner reads.
    pub(crate) fn watch(&mut self, fd: impl AsFd, token: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), READ)
    }

    /// Takes a socket that is connecting; it is ready once that has ended.
    pub(crate) fn add(&mut self, fd: OwnedFd, token: u64) -> Result<Socket, SessionError> {
        let socket = Socket { fd, token, interest: READ_WRITE, waits: false };
        self.use_again(&socket)?;
        Ok(socket)
    }

    /// The result of the connect that was under way.
    pub(crate) fn finish_connect(&self, socket: &Socket) -> Result<(), SessionError> {
        match sockopt::socket_error(&socket.fd) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(source)) | Err(source) => Err(SessionError::Io { doing: "connect", source }),
        }
    }

    /// Closes a socket, of which nothing more is heard.
    pub(crate) fn close(&mut self, socket: Socket) {
        drop(socket);
    }

    /// Of this socket nothing is to be heard until it is used again.
    pub(crate) fn set_aside(&mut self, socket: &Socket) -> Result<(), SessionError> {
        epoll::delete(&self.epoll, &socket.fd).map_err(SessionError::io("epoll"))
    }

    pub(crate) fn use_again(&mut self, socket: &Socket) -> Result<(), SessionError> {
        epoll::add(&self.epoll, &socket.fd, EventData::new_u64(socket.token), socket.interest)
            .map_err(SessionError::io("epoll"))
    }

    /// Whether the socket is to be ready, too, when it can take bytes.
    pub(crate) fn wait_until_writable(
        &mut self,
        socket: &mut Socket,
        wait: bool,
    ) -> Result<(), SessionError> {
        let interest = if wait { READ_WRITE } else { READ };
        if std::mem::replace(&mut socket.interest, interest) != interest {
            epoll::modify(&self.epoll, &socket.fd, EventData::new_u64(socket.token), interest)
                .map_err(SessionError::io("epoll"))?;
        }
        Ok(())
    }

    /// Sends as many of the bytes as the socket takes.
    #[inline]
    pub(crate) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> Result<usize, SessionError> {
        match send(&socket.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(source) => Err(SessionError::Io { doing: "send", source }),
        }
    }

    /// The next [`receive`](Self::receive) waits a little for something to come: whoever waits for nothing else is spared the
    /// question which sockets are ready.
    pub(crate) fn let_next_read_wait(&mut self) {
        self.next_read_waits = true;
    }

    /// Receives what is there, to be read by [`received`](Self::received). `None` where there is nothing yet, 0 where nothing
    /// more will come.
    #[inline]
    pub(crate) fn receive(&mut self, socket: &mut Socket) -> Result<Option<usize>, SessionError> {
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

    /// What was received last.
    #[inline]
    pub(crate) fn received(&self) -> &[u8] {
        &self.inbox[..self.received]
    }

    /// Waits until a socket is ready or `timeout_ns` has passed (`None`: for ever), to the nanosecond.
    ///
    /// The sockets are then taken with [`next_ready`](Self::next_ready).
    pub(crate) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        let timeout = timeout_ns.map(|ns| Timespec {
            tv_sec: (ns / SECOND_NS).cast_signed(),
            tv_nsec: (ns % SECOND_NS).cast_signed(),
        });
        self.events.clear();
        self.next = 0;
        // A signal is no event: the caller looks at its clock and flags and comes again.
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The next of the sockets that the last wait found ready.
    pub(crate) fn next_ready(&mut self) -> Option<Ready> {
        let event = self.events.get(self.next)?;
        self.next += 1;
        let (flags, data) = (event.flags, event.data);
        Some(Ready { token: data.u64(), writable: flags.contains(EventFlags::OUT) })
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
