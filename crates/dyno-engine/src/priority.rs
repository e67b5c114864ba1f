//! Real-time priority for load threads that keep a schedule: one that waits for a processor sends late, and what it
//! measures is its own waiting. On a host that it shares with the server it takes the processor from the server, which
//! is why it has to be asked for.

/// The lowest of the real-time priorities: above everything ordinary, below whatever else is real-time.
const PRIORITY: libc::c_int = 1;

/// Asks for real-time priority for this thread, or gives it back. False where the kernel refuses, as it does without
/// `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`: then the thread goes on as it is.
pub(crate) fn set_realtime(realtime: bool) -> bool {
    // In turns with others of the same priority, so that no load thread can keep another off a processor.
    let (policy, sched_priority) = if realtime { (libc::SCHED_RR, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the pointer is to a parameter block that outlives the call, which only reads it; 0 is this thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
