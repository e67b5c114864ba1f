//! Ctrl-C, SIGTERM, a terminal that is closed (SIGHUP) and SIGQUIT: the first asks the run to end in good order, the
//! second ends the process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// A set of signals, the first in the lowest bit.
type SignalSet = u64;

/// The exit status of a process that a second signal ended, as shells have it for SIGINT.
const KILLED: i32 = 130;

/// A flag that the first signal sets. At the second one the process ends at once; an embedded server is then
/// ended by its guard, and its directory removed at the next start.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let ignored = ignored_signals();
    let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(heeded) {
        // In this order: the flag is looked at before it is set. Without the handlers signals end dyno at once,
        // which leaves nothing behind but what the next start removes.
        let _ = flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&stop));
        let _ = flag::register(signal, Arc::clone(&stop));
    }
    stop
}

/// The signals that whoever started dyno wants ignored: `nohup`, a shell for what it starts in the background.
fn ignored_signals() -> SignalSet {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| SignalSet::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
