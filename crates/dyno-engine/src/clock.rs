//! The engine's one clock: monotonic nanoseconds, read through the vDSO without a system call.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds per second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
#[inline]
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

/// A duration in whole nanoseconds; beyond 292 years it is for ever.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 2).min(u64::MAX / 2)
}
