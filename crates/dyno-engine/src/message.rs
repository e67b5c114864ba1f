//! What the engine and its threads tell each other.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use dyno_results::spec::StageOrder;
use rustix::io::Errno;

use crate::error::SessionError;
use crate::poller::Uring;
use crate::record::Record;
use crate::schedule::SharedArrivals;

/// What the engine tells a thread.
pub(crate) enum ThreadCommand {
    /// Have this many clients in all threads together connected and prepared; from now on over the ring, if there is one.
    Connect {
        clients: u32,
        ring: Option<Box<Uring>>,
    },
    Run(StageStart),
    /// The stage has lasted as long as it was to; or, if `stopped`, ends before its plan is fulfilled. It ends at `at_ns`, which
    /// a thread may hear later whose driver blocks.
    End {
        stopped: bool,
        at_ns: u64,
    },
}

/// A stage that is to be run.
#[derive(Clone)]
pub(crate) struct StageStart {
    pub(crate) plan: StageOrder,
    pub(crate) start_ns: u64,
    /// Transactions that all threads share, where their number ends the stage.
    pub(crate) left: Option<Arc<AtomicU64>>,
    /// The arrivals of an open load that all threads share; `None` where each has its own.
    pub(crate) arrivals: Option<Arc<Mutex<SharedArrivals>>>,
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
