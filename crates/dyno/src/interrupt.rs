//! Ctrl-C, SIGTERM, a terminal that is closed (SIGHUP) and SIGQUIT: the first asks the run to end in good order, the
//! second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use dyno_target::interruption;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit status of a process that a second signal ended, as shells have it for SIGINT.
const KILLED: i32 = 130;
/// Signals that come closer together are one: `timeout` signals its child and then the child's group, and a terminal that
/// goes away sends more than one.
const ONE_WISH: Duration = Duration::from_millis(500);

/// A set of signals, the first in the lowest bit.
type SignalSet = u64;

/// A flag that the first signal sets, which also interrupts all that waits on a server. At the second one the process ends at once; an embedded server is then
/// ended by its guard, and its directory removed at the next start.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let ignored = ignored_signals();
    let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let heeding = Arc::clone(&stop);
    let (hand_over, handlers) = channel();
    let heed = move || handlers.recv().map_or((), |signals| heed(signals, &heeding));
    // Without the thread there are no handlers, and without those signals end dyno at once, which leaves nothing behind but
    // what the next start removes.
    if std::thread::Builder::new().spawn(heed).is_ok()
        && let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(heeded))
    {
        let _ = hand_over.send(signals);
    }
    stop
}

/// Waits for signals as long as the process lives.
fn heed(mut signals: Signals, stop: &AtomicBool) {
    let mut first: Option<Instant> = None;
    for _ in signals.forever() {
        stop.store(true, Ordering::Relaxed);
        interruption::request();
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_WISH {
            std::process::exit(KILLED);
        }
    }
}

/// The signals that whoever started dyno wants ignored: `nohup`, a shell for what it starts in the background.
fn ignored_signals() -> SignalSet {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| SignalSet::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
