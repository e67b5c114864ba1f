//! A ring of io_uring: two queues that are shared with the kernel, and the system calls on them. All unsafe code of a poller
//! is here: what is outside hands over descriptors and bytes, and gets completions.

use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::io_uring::{IORING_OFF_SQ_RING, IORING_OFF_SQES};
use rustix::io_uring::{
    IoringAsyncCancelFlags, IoringCqeFlags, IoringEnterFlags, IoringOp, IoringRecvFlags, IoringRegisterOp,
    IoringSetupFlags, IoringSqFlags, IoringSqeFlags, RecvFlags, SendFlags, io_uring_buf, io_uring_buf_reg,
    io_uring_cqe, io_uring_enter_arg, io_uring_getevents_arg, io_uring_params, io_uring_ptr,
    io_uring_register, io_uring_setup, io_uring_sqe, io_uring_user_data,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::time::Timespec;

use crate::clock::SECOND_NS;

/// Orders that wait for their submission, at most.
const ORDERS: u32 = 256;
/// Completions that the kernel can leave at once; it keeps further ones for the next wait.
const COMPLETIONS: u32 = 2048;
/// Bytes of the sends that wait for their submission, at most.
const OUTGOING_BYTES: usize = 256 * 1024;
/// Buffers for what is received. What lies in all of them together is one wait's, and given back before the next.
const BUFFERS: u16 = 256;
/// Size of a buffer. One more cache line than a power of two: else the beginnings of all would share a few lines of the cache.
const BUFFER_BYTES: usize = 16 * 1024 + 64;
/// The one group of buffers.
const GROUP: u16 = 0;
/// `IORING_ENTER_NO_IOWAIT`: the thread is idle while it waits. Else the kernel counts it as waiting for a disk, as what is read of the
/// host would say then.
const NO_IOWAIT: IoringEnterFlags = IoringEnterFlags::from_bits_retain(1 << 7);
/// `IORING_FEAT_NO_IOWAIT`: the kernel, Linux 6.15 or newer, knows it.
const HAS_NO_IOWAIT: u32 = 1 << 17;

/// What was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Receive,
    /// Which of the sends that were submitted together.
    Send(u16),
    /// Waits until a descriptor is readable or writable.
    Poll,
    Cancel,
}

/// An order that was carried out, or a part of one.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) slot: u32,
    pub(super) order: Order,
    pub(super) result: Result<u32, Errno>,
    /// What was received lies there.
    pub(super) buffer: Option<Buffer>,
    /// The order stands, and more completions follow.
    pub(super) more: bool,
}

/// A buffer that the kernel has filled. It is the holder's until it is given back.
#[derive(Debug)]
pub(super) struct Buffer {
    id: u16,
    bytes: u32,
}

/// A ring and the buffers that the kernel receives into.
pub(super) struct Ring {
    // Closed before the memory that it knows is unmapped.
    fd: OwnedFd,
    queues: Mapping,
    entries: Mapping,
    offsets: io_uring_params,
    /// Where the next order is written, and where the next completion is read.
    orders_tail: u32,
    completions_head: u32,
    /// The bytes of the sends that wait for their submission. Never grows, for the orders point into it.
    outgoing: Vec<u8>,
    sends: Vec<Range<usize>>,
    /// The kernel's list of free buffers, and the buffers.
    free: Mapping,
    free_tail: u16,
    /// How many of them somebody holds.
    held: u16,
    buffers: Mapping,
}

// SAFETY: what its pointers lead to is its own and the kernel's, which is told the thread by `enable`.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring that the thread will use that [enables](Self::enable) it.
    pub(super) fn new() -> Result<Self, Errno> {
        let mut parameters = io_uring_params::default();
        parameters.cq_entries = COMPLETIONS;
        parameters.flags = IoringSetupFlags::CQSIZE
            | IoringSetupFlags::SUBMIT_ALL
            | IoringSetupFlags::R_DISABLED
            | IoringSetupFlags::SINGLE_ISSUER
            | IoringSetupFlags::DEFER_TASKRUN;
        // SAFETY: no flag makes the kernel use a descriptor of the parameters.
        let fd = unsafe { io_uring_setup(ORDERS, &mut parameters)? };
        if parameters.features.bits() & HAS_NO_IOWAIT == 0 {
            return Err(Errno::INVAL);
        }
        let completions_end =
            parameters.cq_off.cqes as usize + parameters.cq_entries as usize * size_of::<io_uring_cqe>();
        let orders_end = parameters.sq_off.array as usize + parameters.sq_entries as usize * size_of::<u32>();
        let queues = Mapping::of_ring(&fd, completions_end.max(orders_end), IORING_OFF_SQ_RING)?;
        let entries_bytes = parameters.sq_entries as usize * size_of::<io_uring_sqe>();
        let entries = Mapping::of_ring(&fd, entries_bytes, IORING_OFF_SQES)?;
        let mut ring = Self {
            fd,
            queues,
            entries,
            offsets: parameters,
            orders_tail: 0,
            completions_head: 0,
            outgoing: Vec::with_capacity(OUTGOING_BYTES),
            sends: Vec::with_capacity(ORDERS as usize),
            free: Mapping::anonymous(usize::from(BUFFERS) * size_of::<io_uring_buf>())?,
            free_tail: 0,
            held: BUFFERS,
            buffers: Mapping::anonymous(usize::from(BUFFERS) * BUFFER_BYTES)?,
        };
        for index in 0..ring.offsets.sq_entries {
            let at = ring.offsets.sq_off.array as usize + index as usize * size_of::<u32>();
            ring.queues.atomic(at).store(index, Ordering::Relaxed);
        }
        ring.register_buffers()?;
        // A filter may allow the other calls and not this one.
        match ring.enter(0, None) {
            Ok(()) | Err(Errno::BADFD) => Ok(ring),
            Err(error) => Err(error),
        }
    }

    fn register_buffers(&mut self) -> Result<(), Errno> {
        let mut registration = io_uring_buf_reg::default();
        registration.ring_addr = io_uring_ptr::new(self.free.start.cast());
        registration.ring_entries = u32::from(BUFFERS);
        registration.bgid = GROUP;
        // SAFETY: the list is mapped as long as the ring is open, and large enough for its entries.
        unsafe { self.register(IoringRegisterOp::RegisterPbufRing, (&raw const registration).cast(), 1)? };
        (0..BUFFERS).for_each(|id| self.give_back(Buffer { id, bytes: 0 }));
        Ok(())
    }

    /// From now on this thread and no other uses the ring.
    pub(super) fn enable(&self) -> Result<(), Errno> {
        // SAFETY: it takes no argument.
        unsafe { self.register(IoringRegisterOp::RegisterEnableRings, std::ptr::null(), 0) }
    }

    unsafe fn register(
        &self,
        what: IoringRegisterOp,
        argument: *const c_void,
        count: u32,
    ) -> Result<(), Errno> {
        // SAFETY: the caller's.
        unsafe { io_uring_register(&self.fd, what, argument, count).map(drop) }
    }

    /// How many sends wait for their submission.
    pub(super) fn sends(&self) -> usize {
        self.sends.len()
    }

    /// The bytes of a send that was submitted last.
    pub(super) fn sent(&self, number: u16) -> &[u8] {
        self.sends.get(usize::from(number)).map_or(&[], |range| &self.outgoing[range.clone()])
    }

    /// How many buffers the kernel has to receive into, but for those that it has filled meanwhile.
    pub(super) fn free_buffers(&self) -> usize {
        usize::from(BUFFERS - self.held)
    }

    /// Whether there is room for another order.
    fn has_room(&self) -> bool {
        self.orders() < self.offsets.sq_entries
    }

    /// Whether there is room for another order, and for so many bytes if it is a send.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.has_room() && self.outgoing.len() + bytes <= OUTGOING_BYTES
    }

    /// How many orders wait for their submission.
    fn orders(&self) -> u32 {
        let head = self.queues.atomic(self.offsets.sq_off.head as usize).load(Ordering::Acquire);
        self.orders_tail.wrapping_sub(head)
    }

    /// Orders to send these bytes. Only what does not leave at once, with the submission, shows itself in a completion: it says
    /// how much did. There has to be [room](Self::has_room_for).
    pub(super) fn send(&mut self, fd: BorrowedFd<'_>, slot: u32, bytes: &[u8]) {
        debug_assert!(self.has_room_for(bytes.len()));
        let start = self.outgoing.len();
        self.outgoing.extend_from_slice(bytes);
        let order = Order::Send(self.sends.len() as u16);
        self.sends.push(start..self.outgoing.len());
        let mut entry = entry(IoringOp::Send, fd, slot, order);
        entry.flags = IoringSqeFlags::CQE_SKIP_SUCCESS;
        entry.addr_or_splice_off_in.addr = io_uring_ptr::new(self.outgoing[start..].as_mut_ptr().cast());
        entry.len.len = bytes.len() as u32;
        // The first makes a part that was sent no success, the second has the kernel read the bytes while they are submitted and
        // never later.
        entry.op_flags.send_flags =
            SendFlags::from_bits_retain(WAITALL) | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        self.push(entry);
    }

    /// Orders to receive what comes, again and again. There has to be [room](Self::has_room_for).
    pub(super) fn receive(&mut self, fd: BorrowedFd<'_>, slot: u32) {
        let mut entry = entry(IoringOp::Recv, fd, slot, Order::Receive);
        entry.flags = IoringSqeFlags::BUFFER_SELECT;
        entry.ioprio.recv_flags = IoringRecvFlags::MULTISHOT;
        entry.op_flags.recv_flags = RecvFlags::empty();
        entry.buf.buf_group = GROUP;
        self.push(entry);
    }

    /// Orders to tell when the descriptor is readable or writable. There has to be [room](Self::has_room_for).
    pub(super) fn poll(&mut self, fd: BorrowedFd<'_>, slot: u32, writable: bool) {
        let mut entry = entry(IoringOp::PollAdd, fd, slot, Order::Poll);
        let events = if writable { EventFlags::OUT } else { EventFlags::IN };
        entry.op_flags.poll32_events = events.bits();
        self.push(entry);
    }

    /// Orders to end all that stands for a descriptor. There has to be [room](Self::has_room_for).
    pub(super) fn cancel(&mut self, fd: BorrowedFd<'_>, slot: u32) {
        let mut entry = entry(IoringOp::AsyncCancel, fd, slot, Order::Cancel);
        entry.flags = IoringSqeFlags::CQE_SKIP_SUCCESS;
        entry.op_flags.cancel_flags = IoringAsyncCancelFlags::FD | IoringAsyncCancelFlags::ALL;
        self.push(entry);
    }

    fn push(&mut self, entry: io_uring_sqe) {
        assert!(self.has_room(), "an order would overwrite one that was not submitted");
        let index = self.orders_tail & (self.offsets.sq_entries - 1);
        // SAFETY: the index lies within the mapped entries, and the kernel does not read this one before the tail says so.
        unsafe { self.entries.start.cast::<io_uring_sqe>().add(index as usize).write(entry) };
        self.orders_tail = self.orders_tail.wrapping_add(1);
        self.queues.atomic(self.offsets.sq_off.tail as usize).store(self.orders_tail, Ordering::Release);
    }

    /// Submits all orders. If the kernel cannot take them now (`AGAIN`, `BUSY`), those that are left wait further.
    pub(super) fn submit(&mut self) -> Result<(), Errno> {
        while self.orders() > 0 {
            self.enter(0, None)?;
        }
        Ok(())
    }

    /// Submits orders, nearly always all, and waits until there is a completion or the time has passed (`None`: for ever).
    pub(super) fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), Errno> {
        let least = u32::from(timeout_ns != Some(0));
        self.enter(least, timeout_ns)
    }

    /// Whether the kernel keeps completions for which there was no room.
    pub(super) fn has_overflowed(&self) -> bool {
        let flags = self.queues.atomic(self.offsets.sq_off.flags as usize).load(Ordering::Acquire);
        IoringSqFlags::from_bits_retain(flags).contains(IoringSqFlags::CQ_OVERFLOW)
    }

    /// Has the kernel hand over as many of those as there is room for.
    pub(super) fn fetch_overflowed(&mut self) -> Result<(), Errno> {
        self.enter(0, None)
    }

    fn enter(&self, least: u32, timeout_ns: Option<u64>) -> Result<(), Errno> {
        let mut time = timeout_ns.filter(|_| least > 0).map(|ns| Timespec {
            tv_sec: (ns / SECOND_NS).cast_signed(),
            tv_nsec: (ns % SECOND_NS).cast_signed(),
        });
        let mut argument = io_uring_getevents_arg::default();
        if let Some(time) = &mut time {
            argument.ts = io_uring_ptr::new((&raw mut *time).cast());
        }
        let flags = IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG | NO_IOWAIT;
        // SAFETY: the argument and the time live until the call returns. Orders point at `outgoing` alone, which is not changed
        // before they are submitted, and are done with it when they are, because they do not wait.
        match unsafe { io_uring_enter_arg(&self.fd, self.orders(), least, flags, Some(&argument)) } {
            // A signal is no event, nor is the end of the time: the caller looks at its clock and flags and comes again.
            Ok(_) | Err(Errno::TIME | Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The bytes of sends are not needed any more. All were submitted.
    pub(super) fn forget_sent(&mut self) {
        self.outgoing.clear();
        self.sends.clear();
    }

    /// The next completion that is there.
    #[inline]
    pub(super) fn completion(&mut self) -> Option<Completion> {
        let (head, tail) = (self.completions_head, self.queues.atomic(self.offsets.cq_off.tail as usize));
        if tail.load(Ordering::Acquire) == head {
            return None;
        }
        let index = (head & (self.offsets.cq_entries - 1)) as usize;
        let at = self.offsets.cq_off.cqes as usize + index * size_of::<io_uring_cqe>();
        // SAFETY: it lies within the mapped queue, and the kernel does not write it before the head says so.
        let entry = unsafe { &*self.queues.start.add(at).cast::<io_uring_cqe>() };
        let (data, result, flags) = (entry.user_data.u64_(), entry.res, entry.flags);
        let (slot, order) = order_of(data);
        let result = u32::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
        let bytes = result.unwrap_or(0);
        let id = (flags.bits() >> 16) as u16;
        let buffer = flags.contains(IoringCqeFlags::BUFFER).then_some(Buffer { id, bytes });
        self.held += u16::from(buffer.is_some());
        self.completions_head = head.wrapping_add(1);
        self.queues.atomic(self.offsets.cq_off.head as usize).store(self.completions_head, Ordering::Release);
        Some(Completion { slot, order, result, buffer, more: flags.contains(IoringCqeFlags::MORE) })
    }

    /// What lies in a buffer.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, buffer: &'a Buffer) -> &'a [u8] {
        let at = usize::from(buffer.id) * BUFFER_BYTES;
        // SAFETY: it lies within the mapped buffers, the kernel has filled so many bytes of it, and does not write it again before
        // it is given back, for which the holder has to let go of it.
        unsafe { std::slice::from_raw_parts(self.buffers.start.add(at), buffer.bytes as usize) }
    }

    /// The kernel may fill the buffer again.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "nobody is to have it afterwards")]
    pub(super) fn give_back(&mut self, buffer: Buffer) {
        let index = usize::from(self.free_tail & (BUFFERS - 1));
        self.free_tail = self.free_tail.wrapping_add(1);
        self.held -= 1;
        // SAFETY: buffer and entry lie within what is mapped for them, and the kernel does not read the entry before the tail says
        // so. Where the first entry has its reserved part the list has its tail, so that each part is written alone.
        unsafe {
            let entry = self.free.start.cast::<io_uring_buf>().add(index);
            let start = self.buffers.start.add(usize::from(buffer.id) * BUFFER_BYTES);
            (*entry).addr = io_uring_ptr::new(start.cast());
            (*entry).len = BUFFER_BYTES as u32;
            (*entry).bid = buffer.id;
            (*self.free.start.add(FREE_TAIL_AT).cast::<AtomicU16>()).store(self.free_tail, Ordering::Release);
        }
    }
}

/// `MSG_WAITALL`, which rustix has for receiving alone.
const WAITALL: u32 = RecvFlags::WAITALL.bits();
/// Where the list of free buffers has its tail: in the reserved part of its first entry.
const FREE_TAIL_AT: usize = std::mem::offset_of!(io_uring_buf, resv);

fn entry(operation: IoringOp, fd: BorrowedFd<'_>, slot: u32, order: Order) -> io_uring_sqe {
    let (kind, number) = match order {
        Order::Receive => (0, 0),
        Order::Send(number) => (1, number),
        Order::Poll => (2, 0),
        Order::Cancel => (3, 0),
    };
    let data = u64::from(slot) | u64::from(number) << 32 | kind << 48;
    io_uring_sqe {
        opcode: operation,
        fd: fd.as_raw_fd(),
        user_data: io_uring_user_data::from_u64(data),
        ..io_uring_sqe::default()
    }
}

/// The slot and the order that the data of an entry name.
fn order_of(data: u64) -> (u32, Order) {
    let order = match data >> 48 {
        0 => Order::Receive,
        1 => Order::Send((data >> 32) as u16),
        2 => Order::Poll,
        _ => Order::Cancel,
    };
    (data as u32, order)
}

/// Memory that is shared with the kernel.
struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    fn of_ring(fd: &OwnedFd, bytes: usize, offset: u64) -> Result<Self, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: the kernel chooses where, and nothing was there.
        let start = unsafe { mmap(null_mut(), bytes, protection, flags, fd, offset)? };
        Ok(Self { start: start.cast(), bytes })
    }

    fn anonymous(bytes: usize) -> Result<Self, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: as above.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, protection, flags)? };
        Ok(Self { start: start.cast(), bytes })
    }

    /// A number at an offset that the kernel gave.
    #[inline]
    fn atomic(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset + size_of::<u32>() <= self.bytes);
        // SAFETY: it lies within the mapping, aligned, and is used as an atomic by both sides.
        unsafe { &*self.start.add(offset).cast::<AtomicU32>() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference into it, and the kernel has let go of it or holds its pages.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
