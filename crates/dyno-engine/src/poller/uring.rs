//! Sockets over io_uring: what comes is received without asking, into buffers of the ring, and what is sent leaves with the next
//! wait, many sends at a time.
//!
//! A socket has a slot. The slot is free again when every order for it has ended, so that no completion is ever taken for
//! another socket's.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Ready;
use super::ring::{Buffer, Completion, Order, Ring};
use crate::clock::now_ns;
use crate::error::SessionError;

/// Sends that are submitted together, at most: the last leaves as much later as the others take.
const BATCH_MAX: usize = 16;
/// A send of more leaves at once.
const QUEUED_BYTES_MAX: usize = 16 * 1024;
/// Bytes read at once of a socket that is about to be closed.
const LAST_BYTES: usize = 4096;
/// Waits at the end of a thread until all orders have ended.
const ENDING_WAITS: usize = 10;
const ENDING_WAIT_NS: u64 = 10_000_000;

/// Sockets over a ring.
pub(crate) struct Uring {
    ring: Ring,
    slots: Vec<Slot>,
    /// Slots without a socket, and those that are without one since the last wait: of these something may still be in `events`.
    free: Vec<u32>,
    freed: Vec<u32>,
    /// Closed sockets whose orders were not all submitted.
    closing: Vec<OwnedFd>,
    /// What happened, and which of it is looked at next.
    events: Vec<Event>,
    next: usize,
    /// What the socket has that was found ready last.
    current: Option<(u32, Came)>,
    received: Bytes,
    /// The number of the next submission.
    batch: u64,
    /// When sends were submitted first of which nobody has asked yet.
    submitted_ns: Option<u64>,
    /// Why a submission failed that nobody waited for.
    broken: Option<Errno>,
}

/// A socket's place.
#[derive(Default)]
struct Slot {
    /// `None` once it is closed.
    fd: Option<OwnedFd>,
    token: u64,
    kind: Kind,
    /// Orders that have not ended; sends end with their submission.
    orders: u32,
    is_free: bool,
    /// Nothing is to be heard of it for now.
    aside: bool,
    /// What came meanwhile, and how it broke.
    kept: Vec<u8>,
    failed: Option<Failed>,
    ended: bool,
    /// With which submission its last send leaves.
    batch: u64,
    /// What the socket did not take.
    unsent: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Connecting,
    /// What comes is received.
    Open,
    /// A descriptor that its owner reads.
    Watched,
}

/// Something that happened to a socket.
struct Event {
    slot: u32,
    came: Came,
}

/// What came.
enum Came {
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
struct Failed {
    doing: &'static str,
    source: Errno,
}

/// Where the bytes lie that were received last.
enum Bytes {
    Buffer(Buffer),
    Own(Vec<u8>),
}

impl From<Failed> for SessionError {
    fn from(Failed { doing, source }: Failed) -> Self {
        Self::Io { doing, source }
    }
}

impl Uring {
    /// What a load thread will use that [begins](Self::begin) with it.
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            ring: Ring::new()?,
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            closing: Vec::new(),
            events: Vec::new(),
            next: 0,
            current: None,
            received: Bytes::Own(Vec::new()),
            batch: 1,
            submitted_ns: None,
            broken: None,
        })
    }

    /// From now on this thread uses it. Waits for a descriptor, too, which its owner reads.
    pub(super) fn begin(&mut self, watched: BorrowedFd<'_>, token: u64) -> Result<(), Errno> {
        self.ring.enable()?;
        let fd = rustix::io::fcntl_dupfd_cloexec(watched, 0)?;
        self.add(fd, token, Kind::Watched);
        Ok(())
    }

    /// Takes a socket that is connecting, and says which slot is its.
    pub(super) fn open(&mut self, fd: OwnedFd, token: u64) -> u32 {
        self.add(fd, token, Kind::Connecting)
    }

    fn add(&mut self, fd: OwnedFd, token: u64, kind: Kind) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Slot { fd: Some(fd), token, kind, ..Slot::default() };
        self.poll(slot, kind == Kind::Connecting);
        slot
    }

    /// A slot's socket.
    pub(super) fn fd(&self, slot: u32) -> Option<BorrowedFd<'_>> {
        self.slots[slot as usize].fd.as_ref().map(OwnedFd::as_fd)
    }

    /// From now on what comes is received.
    pub(super) fn receive_always(&mut self, slot: u32) {
        let at = &mut self.slots[slot as usize];
        if at.kind == Kind::Connecting {
            at.kind = Kind::Open;
            self.order_receive(slot);
        }
    }

    pub(super) fn close(&mut self, slot: u32) {
        self.make_room();
        let at = &mut self.slots[slot as usize];
        let Some(fd) = at.fd.take() else { return };
        if at.orders > 0 {
            self.ring.cancel(fd.as_fd(), slot);
        }
        // Sends that wait for their submission know it by its number.
        self.closing.push(fd);
        self.free_if_done(slot);
    }

    pub(super) fn set_aside(&mut self, slot: u32) {
        self.slots[slot as usize].aside = true;
    }

    pub(super) fn use_again(&mut self, slot: u32) {
        let at = &mut self.slots[slot as usize];
        at.aside = false;
        if at.has_kept() {
            self.events.push(Event { slot, came: Came::Kept });
        }
    }

    /// Sends with the next submission, unless it is much or other bytes wait.
    #[inline]
    pub(super) fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<(), SessionError> {
        let queued = bytes.len() <= QUEUED_BYTES_MAX;
        // Two of one socket do not wait together: if the first fell short, the second would leave before its rest.
        let waits = self.slots[slot as usize].batch == self.batch;
        if !queued || waits || !self.ring.has_room_for(bytes.len()) {
            self.submit();
        }
        let at = &mut self.slots[slot as usize];
        match &at.fd {
            None => return Err(SessionError::Closed),
            // These go behind what waits until the socket takes it.
            Some(_) if !at.unsent.is_empty() => at.unsent.extend_from_slice(bytes),
            Some(fd) if queued => {
                self.ring.send(fd.as_fd(), slot, bytes);
                at.batch = self.batch;
            }
            Some(_) => {
                at.unsent.extend_from_slice(bytes);
                self.submitted_ns.get_or_insert_with(now_ns);
                self.send_rest(slot)?;
            }
        }
        Ok(())
    }

    /// Sends what the socket did not take, as far as it takes it now.
    fn send_rest(&mut self, slot: u32) -> Result<(), Failed> {
        let at = &mut self.slots[slot as usize];
        let Some(fd) = &at.fd else { return Ok(()) };
        let mut sent = 0;
        while sent < at.unsent.len() {
            match send(fd, &at.unsent[sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(source) => return Err(Failed { doing: "send", source }),
            }
        }
        at.unsent.drain(..sent);
        if !at.unsent.is_empty() {
            self.poll(slot, true);
        }
        Ok(())
    }

    /// Whether as many sends wait for their submission as may leave together.
    #[inline]
    pub(super) fn has_full_batch(&self) -> bool {
        self.ring.sends() >= BATCH_MAX
    }

    /// Submits what waits for it.
    pub(super) fn submit(&mut self) {
        self.note_submission();
        if let Err(error) = self.ring.submit() {
            self.broken = Some(error);
        }
        self.take_completions();
    }

    /// When sends were submitted first since it was asked last.
    #[inline]
    pub(super) fn take_submitted_ns(&mut self) -> Option<u64> {
        self.submitted_ns.take()
    }

    fn note_submission(&mut self) {
        if self.submitted_ns.is_none() && self.ring.sends() > 0 {
            self.submitted_ns = Some(now_ns());
        }
    }

    pub(super) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        self.let_go();
        let at_once = self.next < self.events.len();
        self.events.drain(..self.next);
        self.next = 0;
        self.note_submission();
        self.ring.wait(if at_once { Some(0) } else { timeout_ns })?;
        self.take_completions();
        self.free.append(&mut self.freed);
        self.broken.take().map_or(Ok(()), Err)
    }

    fn take_completions(&mut self) {
        self.batch += 1;
        while let Some(completion) = self.ring.completion() {
            self.completed(completion);
        }
        self.ring.forget_sent();
        self.closing.clear();
    }

    /// Notes what happened to a socket, and orders what has to follow.
    fn completed(&mut self, completion: Completion) {
        let Completion { slot, order, result, buffer, more } = completion;
        let at = &mut self.slots[slot as usize];
        if !more && matches!(order, Order::Receive | Order::Poll) {
            at.orders -= 1;
        }
        if at.fd.is_none() {
            if let Some(buffer) = buffer {
                self.ring.give_back(buffer);
            }
            return self.free_if_done(slot);
        }
        let came = match (order, result) {
            (Order::Cancel, _) => None,
            (Order::Send(number), result) => return self.send_fell_short(slot, number, result),
            (Order::Poll, _) => self.polled(slot),
            (Order::Receive, Ok(0)) => Some(Came::End),
            (Order::Receive, Ok(_)) => buffer.map(Came::Bytes),
            // All buffers are full: it goes on when some were given back.
            (Order::Receive, Err(Errno::NOBUFS)) => None,
            (Order::Receive, Err(source)) => Some(Came::Failed(Failed { doing: "receive", source })),
        };
        let goes_on = matches!(came, None | Some(Came::Bytes(_)));
        if order == Order::Receive && !more && goes_on {
            self.order_receive(slot);
        }
        if let Some(came) = came {
            self.events.push(Event { slot, came });
        }
    }

    /// A descriptor is readable or writable.
    fn polled(&mut self, slot: u32) -> Option<Came> {
        match self.slots[slot as usize].kind {
            Kind::Connecting => Some(Came::Ready),
            Kind::Watched => {
                self.poll(slot, false);
                Some(Came::Ready)
            }
            Kind::Open => self.send_rest(slot).err().map(Came::Failed),
        }
    }

    /// A send has failed, or the socket did not take all of it.
    fn send_fell_short(&mut self, slot: u32, number: u16, result: Result<u32, Errno>) {
        let sent = match result {
            Ok(sent) => sent as usize,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(source) => {
                let came = Came::Failed(Failed { doing: "send", source });
                return self.events.push(Event { slot, came });
            }
        };
        let rest = self.ring.sent(number).get(sent..).unwrap_or(&[]);
        let at = &mut self.slots[slot as usize];
        let polled = !at.unsent.is_empty();
        at.unsent.extend_from_slice(rest);
        if !polled && !at.unsent.is_empty() {
            self.poll(slot, true);
        }
    }

    /// The next socket that is ready.
    pub(super) fn next_ready(&mut self) -> Option<Ready> {
        self.let_go();
        loop {
            let event = self.events.get_mut(self.next)?;
            self.next += 1;
            let (slot, came) = (event.slot, std::mem::replace(&mut event.came, Came::Kept));
            let at = &mut self.slots[slot as usize];
            let writable = at.kind == Kind::Connecting;
            let is_stale = matches!(came, Came::Kept) && !at.has_kept();
            if at.fd.is_none() || is_stale {
                self.drop_came(came);
            } else if at.aside {
                self.keep(slot, came);
            } else {
                let token = at.token;
                self.current = Some((slot, came));
                return Some(Ready { token, writable });
            }
        }
    }

    /// Keeps what came for a socket that is set aside, or is about to be closed.
    fn keep(&mut self, slot: u32, came: Came) {
        let at = &mut self.slots[slot as usize];
        match came {
            Came::Bytes(buffer) => {
                at.kept.extend_from_slice(self.ring.bytes(&buffer));
                self.ring.give_back(buffer);
            }
            Came::End => at.ended = true,
            Came::Failed(failed) => at.failed = at.failed.or(Some(failed)),
            Came::Ready | Came::Kept => {}
        }
    }

    fn drop_came(&mut self, came: Came) {
        if let Came::Bytes(buffer) = came {
            self.ring.give_back(buffer);
        }
    }

    /// What was received last is not looked at any more.
    fn let_go(&mut self) {
        if let Bytes::Buffer(buffer) = std::mem::replace(&mut self.received, Bytes::Own(Vec::new())) {
            self.ring.give_back(buffer);
        }
        if let Some((_, came)) = self.current.take() {
            self.drop_came(came);
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, slot: u32) -> Result<Option<usize>, SessionError> {
        let current = self.current.take_if(|(of, came)| *of == slot && !matches!(came, Came::Kept));
        self.let_go();
        match current {
            Some((_, Came::Bytes(buffer))) => {
                let count = self.ring.bytes(&buffer).len();
                self.received = Bytes::Buffer(buffer);
                Ok(Some(count))
            }
            Some((_, Came::End)) => Ok(Some(0)),
            Some((_, Came::Failed(failed))) => Err(failed.into()),
            Some((_, Came::Ready | Came::Kept)) => Ok(None),
            None => self.receive_rest(slot),
        }
    }

    /// What the socket has beside what it was found ready with: kept bytes, later events, and what the ring has not received.
    #[cold]
    fn receive_rest(&mut self, slot: u32) -> Result<Option<usize>, SessionError> {
        for at in self.next..self.events.len() {
            if self.events[at].slot == slot {
                let came = std::mem::replace(&mut self.events[at].came, Came::Kept);
                self.keep(slot, came);
            }
        }
        let at = &mut self.slots[slot as usize];
        let mut bytes = std::mem::take(&mut at.kept);
        if !bytes.is_empty() {
            let count = bytes.len();
            self.received = Bytes::Own(bytes);
            return Ok(Some(count));
        }
        if let Some(failed) = at.failed.take() {
            return Err(failed.into());
        }
        if std::mem::take(&mut at.ended) {
            return Ok(Some(0));
        }
        let Some(fd) = &at.fd else { return Err(SessionError::Closed) };
        bytes.resize(LAST_BYTES, 0);
        match recv(fd, &mut *bytes, RecvFlags::DONTWAIT) {
            Ok((count, _)) => {
                bytes.truncate(count);
                self.received = Bytes::Own(bytes);
                Ok(Some(count))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(source) => Err(Failed { doing: "receive", source }.into()),
        }
    }

    #[inline]
    pub(super) fn received(&self) -> &[u8] {
        match &self.received {
            Bytes::Buffer(buffer) => self.ring.bytes(buffer),
            Bytes::Own(bytes) => bytes,
        }
    }

    /// Waits until everything that was closed is: a ring that is closed would do it when it comes to it.
    pub(super) fn end(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            self.close(slot);
        }
        for _ in 0..ENDING_WAITS {
            let ended = self.slots.iter().all(|slot| slot.orders == 0) && self.closing.is_empty();
            if ended || self.wait(Some(ENDING_WAIT_NS)).is_err() {
                return;
            }
            self.next = self.events.len();
        }
    }

    fn order_receive(&mut self, slot: u32) {
        self.make_room();
        let at = &mut self.slots[slot as usize];
        if let Some(fd) = &at.fd {
            at.orders += 1;
            self.ring.receive(fd.as_fd(), slot);
        }
    }

    fn poll(&mut self, slot: u32, writable: bool) {
        self.make_room();
        let at = &mut self.slots[slot as usize];
        if let Some(fd) = &at.fd {
            at.orders += 1;
            self.ring.poll(fd.as_fd(), slot, writable);
        }
    }

    /// Sees to it that there is room for another order.
    fn make_room(&mut self) {
        if !self.ring.has_room() {
            self.submit();
        }
    }

    fn free_if_done(&mut self, slot: u32) {
        let at = &mut self.slots[slot as usize];
        if at.orders == 0 && at.fd.is_none() && !std::mem::replace(&mut at.is_free, true) {
            self.freed.push(slot);
        }
    }
}

impl Slot {
    fn has_kept(&self) -> bool {
        !self.kept.is_empty() || self.failed.is_some() || self.ended
    }
}
