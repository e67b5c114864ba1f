//! What a ring's poller knows of a socket, what happens to one, and what is to be ordered.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::ring::Buffer;
use crate::error::SessionError;

/// A socket's place.
#[derive(Default)]
pub(super) struct Slot {
    /// `None` once it is closed.
    pub(super) fd: Option<OwnedFd>,
    pub(super) token: u64,
    pub(super) kind: Kind,
    /// Changes with each socket that has the slot.
    pub(super) generation: u32,
    /// Orders that have not ended, and wanted ones; sends end with their submission.
    pub(super) orders: u32,
    pub(super) is_free: bool,
    /// Nothing is to be heard of it for now.
    pub(super) aside: bool,
    /// What came meanwhile, and how it broke.
    pub(super) kept: Vec<u8>,
    pub(super) failed: Option<Failed>,
    pub(super) ended: bool,
    /// With which submission its last send leaves.
    pub(super) batch: u64,
    /// What the socket did not take.
    pub(super) unsent: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Connecting,
    /// What comes is received.
    Open,
    /// A descriptor that its owner reads.
    Watched,
}

/// Something to be ordered.
pub(super) enum Wanted {
    Poll {
        slot: u32,
        writable: bool,
    },
    /// The end of all that stands for a socket, which is then closed.
    Cancel(u32, OwnedFd),
}

/// Something that happened to a socket.
pub(super) struct Event {
    pub(super) slot: u32,
    pub(super) generation: u32,
    pub(super) came: Came,
}

/// What came.
pub(super) enum Came {
    Bytes(Buffer),
    End,
    Failed(Failed),
    /// It is connected, or could not be; or its owner has something to read.
    Ready,
    /// What came while it was set aside.
    Kept,
}

/// An error, and what was done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed {
    pub(super) doing: &'static str,
    pub(super) source: Errno,
}

/// Where the bytes lie that were received last.
pub(super) enum Bytes {
    Buffer(Buffer),
    Own(Vec<u8>),
}

impl From<Failed> for SessionError {
    fn from(Failed { doing, source }: Failed) -> Self {
        Self::Io { doing, source }
    }
}

impl Slot {
    /// Whether something came while it was set aside.
    pub(super) fn has_kept(&self) -> bool {
        !self.kept.is_empty() || self.failed.is_some() || self.ended
    }
}
