//! Sockets over io_uring: what comes is received without asking, into buffers of the ring, and what is sent leaves with the next
//! wait, many sends at a time.
//!
//! A socket has a slot. The slot is free again when every order for it has ended, so that no completion is ever taken for
//! another socket's. What happens is only noted when completions are taken; what has to be ordered because of it is ordered in one
//! place, before the next wait. Sends alone are ordered when they are made.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Ready;
use super::ring::{Completion, Order, Ring};
use super::slot::{Bytes, Came, Event, Failed, Kind, Slot, Wanted};
use crate::clock::now_ns;
use crate::error::SessionError;

/// Sends that are submitted together, at most: the last leaves as much later as the others take.
const BATCH_MAX: usize = 16;
/// A send of more leaves by itself, behind the others of the next submission, which is due at once.
const QUEUED_BYTES_MAX: usize = 16 * 1024;
/// Bytes read at once of a socket that is about to be closed.
const LAST_BYTES: usize = 4096;
/// How long the end of a thread waits until all orders have ended.
const ENDING_NS: u64 = 1_000_000_000;
/// Attempts to submit orders that the kernel has no memory for, and the time between two.
const SUBMISSIONS_MAX: usize = 1000;
const SUBMISSION_PAUSE: Duration = Duration::from_millis(1);

/// Sockets over a ring.
pub(crate) struct Uring {
    ring: Ring,
    slots: Vec<Slot>,
    /// Slots without a socket, and those that are without one since the last wait: of these a send may still wait for its submission.
    free: Vec<u32>,
    freed: Vec<u32>,
    /// Closed sockets whose sends were not all submitted.
    closing: Vec<OwnedFd>,
    /// What is ordered before the next wait, but for receives, which wait for free buffers, too.
    wanted: VecDeque<Wanted>,
    receives: VecDeque<u32>,
    /// Slots of which something large is sent with the next submission.
    large: Vec<u32>,
    /// What happened, which of it is looked at next, and what of it waits for the next wait.
    events: Vec<Event>,
    next: usize,
    later: usize,
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

impl Uring {
    /// What a load thread will use that [begins](Self::begin) with it.
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            ring: Ring::new()?,
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            closing: Vec::new(),
            wanted: VecDeque::new(),
            receives: VecDeque::new(),
            large: Vec::new(),
            events: Vec::new(),
            next: 0,
            later: 0,
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

    /// Takes a connected one.
    pub(super) fn take_over(&mut self, fd: OwnedFd, token: u64) -> u32 {
        self.add(fd, token, Kind::Open)
    }

    fn add(&mut self, fd: OwnedFd, token: u64, kind: Kind) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let at = &mut self.slots[slot as usize];
        *at =
            Slot { fd: Some(fd), token, kind, generation: at.generation.wrapping_add(1), ..Slot::default() };
        match kind {
            Kind::Open => self.want_receive(slot),
            Kind::Connecting | Kind::Watched => self.want_poll(slot, kind == Kind::Connecting),
        }
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
            self.want_receive(slot);
        }
    }

    pub(super) fn close(&mut self, slot: u32) {
        if self.large.contains(&slot) {
            self.submit();
        }
        let at = &mut self.slots[slot as usize];
        let Some(fd) = at.fd.take() else { return };
        if at.orders > 0 {
            self.wanted.push_back(Wanted::Cancel(slot, fd));
        } else {
            // Sends that wait for their submission know it by its number.
            self.closing.push(fd);
        }
        self.free_if_done(slot);
    }

    pub(super) fn set_aside(&mut self, slot: u32) {
        self.slots[slot as usize].aside = true;
    }

    pub(super) fn use_again(&mut self, slot: u32) {
        let at = &mut self.slots[slot as usize];
        at.aside = false;
        if at.has_kept() {
            self.happened(slot, Came::Kept);
        }
    }

    /// Sends with the next submission, unless the socket has not taken what was sent before.
    #[inline]
    pub(super) fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<(), SessionError> {
        // Two of one socket do not wait together: if the first fell short, the second would leave before its rest.
        if self.slots[slot as usize].batch == self.batch {
            self.submit();
        }
        let at = &mut self.slots[slot as usize];
        if at.fd.is_none() {
            return Err(SessionError::Closed);
        }
        let large = bytes.len() > QUEUED_BYTES_MAX;
        if large || !at.unsent.is_empty() {
            // Behind what waits until the socket takes it these need no submission of their own.
            if at.unsent.is_empty() {
                self.large.push(slot);
            }
            at.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        self.make_room(bytes.len()).map_err(SessionError::io("send"))?;
        let at = &mut self.slots[slot as usize];
        if let Some(fd) = &at.fd {
            self.ring.send(fd.as_fd(), slot, bytes);
            at.batch = self.batch;
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
            self.want_poll(slot, true);
        }
        Ok(())
    }

    /// Whether as many sends wait for their submission as may leave together, or a large one.
    #[inline]
    pub(super) fn has_full_batch(&self) -> bool {
        self.ring.sends() >= BATCH_MAX || !self.large.is_empty()
    }

    /// Submits what waits for it, and takes what was completed. An error shows itself at the next wait.
    pub(super) fn submit(&mut self) {
        self.note_submission();
        for _ in 0..SUBMISSIONS_MAX {
            if self.broken.is_some() {
                return;
            }
            match self.ring.submit() {
                Ok(()) => return self.submitted(),
                Err(Errno::BUSY) => self.take_completions(),
                Err(Errno::AGAIN) => {
                    self.take_completions();
                    thread::sleep(SUBMISSION_PAUSE);
                }
                Err(error) => self.broken = Some(error),
            }
        }
        self.broken = self.broken.or(Some(Errno::AGAIN));
    }

    /// All orders were submitted, and with them all sends have been tried.
    fn submitted(&mut self) {
        self.take_completions();
        self.batch += 1;
        self.ring.forget_sent();
        self.closing.clear();
        while let Some(slot) = self.large.pop() {
            if let Err(failed) = self.send_rest(slot) {
                self.happened(slot, Came::Failed(failed));
            }
        }
    }

    /// When sends were submitted first since it was asked last.
    #[inline]
    pub(super) fn take_submitted_ns(&mut self) -> Option<u64> {
        self.submitted_ns.take()
    }

    fn note_submission(&mut self) {
        if self.submitted_ns.is_none() && (self.ring.sends() > 0 || !self.large.is_empty()) {
            self.submitted_ns = Some(now_ns());
        }
    }

    pub(super) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        self.let_go();
        // These do not leave with the wait, and may have to wait for their socket.
        if !self.large.is_empty() {
            self.submit();
        }
        self.order();
        self.note_submission();
        if let Some(error) = self.broken {
            return Err(error);
        }
        let at_once = self.next < self.events.len() || !self.wanted.is_empty() || !self.receives.is_empty();
        self.events.drain(..self.next);
        self.next = 0;
        match self.ring.wait(if at_once { Some(0) } else { timeout_ns }) {
            // What is left is submitted below.
            Ok(()) | Err(Errno::AGAIN | Errno::BUSY) => {}
            Err(error) => {
                self.broken = Some(error);
                return Err(error);
            }
        }
        self.submit();
        self.free.append(&mut self.freed);
        // What happens from now on has to wait, so that the caller gets round to its times.
        self.later = self.events.len();
        self.broken.map_or(Ok(()), Err)
    }

    /// Orders what is wanted. Of the receives only as many as there are buffers: one without would end at once.
    fn order(&mut self) {
        for _ in 0..self.wanted.len() {
            if self.make_room(0).is_err() {
                return;
            }
            match self.wanted.pop_front() {
                Some(Wanted::Poll { slot, writable }) => match &self.slots[slot as usize].fd {
                    Some(fd) => self.ring.poll(fd.as_fd(), slot, writable),
                    None => self.order_ended(slot),
                },
                Some(Wanted::Cancel(slot, fd)) => {
                    self.ring.cancel(fd.as_fd(), slot);
                    self.closing.push(fd);
                }
                None => {}
            }
        }
        for _ in 0..self.receives.len().min(self.ring.free_buffers()) {
            if self.make_room(0).is_err() {
                return;
            }
            let Some(slot) = self.receives.pop_front() else { return };
            match &self.slots[slot as usize].fd {
                Some(fd) => self.ring.receive(fd.as_fd(), slot),
                None => self.order_ended(slot),
            }
        }
    }

    /// Takes all completions. Afterwards there is none of a send that was submitted.
    fn take_completions(&mut self) {
        loop {
            while let Some(completion) = self.ring.completion() {
                self.completed(completion);
            }
            if !self.ring.has_overflowed() {
                return;
            }
            match self.ring.fetch_overflowed() {
                Ok(()) | Err(Errno::AGAIN | Errno::BUSY) => {}
                Err(error) => {
                    self.broken = Some(error);
                    return;
                }
            }
        }
    }

    /// Notes what happened to a socket, and what has to be ordered.
    fn completed(&mut self, completion: Completion) {
        let Completion { slot, order, result, buffer, more } = completion;
        if !more && matches!(order, Order::Receive | Order::Poll) {
            self.order_ended(slot);
        }
        if self.slots[slot as usize].fd.is_none() {
            if let Some(buffer) = buffer {
                self.ring.give_back(buffer);
            }
            return;
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
            self.want_receive(slot);
        }
        if let Some(came) = came {
            self.happened(slot, came);
        }
    }

    fn happened(&mut self, slot: u32, came: Came) {
        let generation = self.slots[slot as usize].generation;
        self.events.push(Event { slot, generation, came });
    }

    /// A descriptor is readable or writable.
    fn polled(&mut self, slot: u32) -> Option<Came> {
        match self.slots[slot as usize].kind {
            Kind::Connecting => Some(Came::Ready),
            Kind::Watched => {
                self.want_poll(slot, false);
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
                return self.happened(slot, Came::Failed(Failed { doing: "send", source }));
            }
        };
        let rest = self.ring.sent(number).get(sent..).unwrap_or(&[]);
        let at = &mut self.slots[slot as usize];
        let polled = !at.unsent.is_empty();
        at.unsent.extend_from_slice(rest);
        if !polled && !at.unsent.is_empty() {
            self.want_poll(slot, true);
        }
    }

    /// The next socket that is ready.
    pub(super) fn next_ready(&mut self) -> Option<Ready> {
        self.let_go();
        while self.next < self.later {
            let event = &mut self.events[self.next];
            self.next += 1;
            let (slot, generation) = (event.slot, event.generation);
            let came = std::mem::replace(&mut event.came, Came::Kept);
            let at = &mut self.slots[slot as usize];
            let writable = at.kind == Kind::Connecting;
            let is_stale = at.fd.is_none()
                || at.generation != generation
                || matches!(came, Came::Kept) && !at.has_kept();
            if is_stale {
                self.drop_came(came);
            } else if at.aside {
                self.keep(slot, came);
            } else {
                let token = at.token;
                self.current = Some((slot, came));
                return Some(Ready { token, writable });
            }
        }
        None
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
        let current = self.current.take_if(|(of, _)| *of == slot);
        self.let_go();
        match current {
            // What was kept came before.
            Some((_, came)) if self.slots[slot as usize].has_kept() => {
                self.keep(slot, came);
                self.receive_rest(slot)
            }
            Some((_, Came::Bytes(buffer))) => {
                let count = self.ring.bytes(&buffer).len();
                self.received = Bytes::Buffer(buffer);
                Ok(Some(count))
            }
            Some((_, Came::End)) => Ok(Some(0)),
            Some((_, Came::Failed(failed))) => Err(failed.into()),
            Some((_, Came::Ready)) => Ok(None),
            Some((_, Came::Kept)) | None => self.receive_rest(slot),
        }
    }

    /// What the socket has beside what it was found ready with: kept bytes, later events, and what the ring has not received.
    #[cold]
    fn receive_rest(&mut self, slot: u32) -> Result<Option<usize>, SessionError> {
        let generation = self.slots[slot as usize].generation;
        for at in self.next..self.events.len() {
            let event = &mut self.events[at];
            if event.slot == slot && event.generation == generation {
                let came = std::mem::replace(&mut event.came, Came::Kept);
                self.keep(slot, came);
            }
        }
        let at = &mut self.slots[slot as usize];
        let mut bytes = std::mem::take(&mut at.kept);
        let came = if !bytes.is_empty() {
            Some(Ok(bytes.len()))
        } else if let Some(failed) = at.failed.take() {
            Some(Err(failed.into()))
        } else {
            std::mem::take(&mut at.ended).then_some(Ok(0))
        };
        if at.has_kept() {
            self.happened(slot, Came::Kept);
        }
        if let Some(came) = came {
            self.received = Bytes::Own(bytes);
            return came.map(Some);
        }
        let Some(fd) = &self.slots[slot as usize].fd else { return Err(SessionError::Closed) };
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
    fn end(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            self.close(slot);
        }
        let until_ns = now_ns() + ENDING_NS;
        loop {
            let closed = self.closing.is_empty() && self.wanted.is_empty();
            let ended = closed && self.slots.iter().all(|slot| slot.orders == 0);
            let left_ns = until_ns.saturating_sub(now_ns());
            if ended || left_ns == 0 || self.wait(Some(left_ns)).is_err() {
                return;
            }
            // What came is dropped, and its buffers are given back.
            while self.next_ready().is_some() {}
        }
    }

    fn want_receive(&mut self, slot: u32) {
        self.slots[slot as usize].orders += 1;
        self.receives.push_back(slot);
    }

    fn want_poll(&mut self, slot: u32, writable: bool) {
        self.slots[slot as usize].orders += 1;
        self.wanted.push_back(Wanted::Poll { slot, writable });
    }

    /// Sees to it that there is room for another order, and for so many bytes if it is a send.
    fn make_room(&mut self, bytes: usize) -> Result<(), Errno> {
        while !self.ring.has_room_for(bytes) {
            self.submit();
            if let Some(error) = self.broken {
                return Err(error);
            }
        }
        Ok(())
    }

    fn order_ended(&mut self, slot: u32) {
        self.slots[slot as usize].orders -= 1;
        self.free_if_done(slot);
    }

    fn free_if_done(&mut self, slot: u32) {
        let at = &mut self.slots[slot as usize];
        if at.orders == 0 && at.fd.is_none() && !std::mem::replace(&mut at.is_free, true) {
            self.freed.push(slot);
        }
    }
}

/// Also where a thread panics.
impl Drop for Uring {
    fn drop(&mut self) {
        self.end();
    }
}
