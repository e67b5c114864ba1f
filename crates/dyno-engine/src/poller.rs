//! Waiting for many sockets at once. The one place that knows epoll; kqueue or io_uring would stand beside it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::clock::SECOND_NS;

/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 512;

/// A set of sockets, each known by a token.
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

/// What a socket is waited for.
pub(crate) type Interest = EventFlags;
pub(crate) const READ: Interest = EventFlags::IN;
pub(crate) const READ_WRITE: Interest = EventFlags::IN.union(EventFlags::OUT);

/// A socket that is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) writable: bool,
}

impl Poller {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(EVENTS_MAX) })
    }

    pub(crate) fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(token), interest)
    }

    /// Of this socket nothing is to be heard until it is added again.
    pub(crate) fn remove(&self, socket: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.epoll, socket)
    }

    pub(crate) fn change(&self, socket: impl AsFd, token: u64, interest: Interest) -> Result<(), Errno> {
        epoll::modify(&self.epoll, socket, EventData::new_u64(token), interest)
    }

    /// Waits until a socket is ready or `timeout_ns` has passed (`None`: for ever), to the nanosecond.
    ///
    /// The sockets are then read with [`ready`](Self::ready).
    pub(crate) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        let timeout = timeout_ns.map(|ns| Timespec {
            tv_sec: (ns / SECOND_NS).cast_signed(),
            tv_nsec: (ns % SECOND_NS).cast_signed(),
        });
        self.events.clear();
        // A signal is no event: the caller looks at its clock and flags and comes again.
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The sockets that the last wait found ready.
    pub(crate) fn ready(&self, index: usize) -> Option<Ready> {
        let event = self.events.get(index)?;
        let (flags, data) = (event.flags, event.data);
        Some(Ready { token: data.u64(), writable: flags.contains(EventFlags::OUT) })
    }
}
