//! What the engine and its threads tell each other.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;

use dyno_results::spec::StageOrder;
use rustix::io::Errno;

use crate::error::SessionError;
use crate::record::Record;

/// What the engine tells a thread.
#[derive(Debug, Clone)]
pub(crate) enum ThreadCommand {
    /// Have this many clients in all threads together connected and prepared.
    Connect { clients: u32 },
    /// Run a stage that starts at this time, of so many transactions that all threads share.
    Run { plan: StageOrder, start_ns: u64, left: Option<Arc<AtomicU64>> },
    /// The stage has lasted as long as it was to; or, if `stopped`, ends before its plan is fulfilled.
    End { stopped: bool },
}

/// What a thread tells the engine.
#[derive(Debug)]
pub(crate) enum Report {
    /// As many clients as asked for are there.
    Connected,
    /// One more client is there.
    ClientConnected,
    ConnectFailed(SessionError),
    /// A full record, and where it is put when it is read.
    Record(Box<Record>, Sender<Box<Record>>),
    /// The first error of its kind in this thread and stage.
    Error(SessionError),
    StageFinished(ThreadFinished),
    /// The thread cannot go on.
    Broken(Errno),
}

/// How a thread's part of a stage ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadFinished {
    /// When the load ended, and when the last transaction had.
    pub(crate) load_end_ns: u64,
    pub(crate) drained_ns: u64,
    /// False where it ended before its plan was fulfilled.
    pub(crate) complete: bool,
    pub(crate) clients_aborted: u32,
    pub(crate) not_begun: u64,
    /// It had real-time priority.
    pub(crate) realtime: bool,
}
