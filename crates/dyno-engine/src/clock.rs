//! The engine's one clock: monotonic nanoseconds, read through the vDSO without a system call.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds per second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

// Both clocks count up from zero, so neither part is negative.
#[inline]
fn to_ns(time: rustix::time::Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * SECOND_NS + time.tv_nsec.cast_unsigned()
}
