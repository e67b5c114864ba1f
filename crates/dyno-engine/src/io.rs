//! What the connections of a load thread share.

use std::sync::Arc;

use rustix::io::Errno;

use crate::poller::Poller;
use crate::request::Outbox;
use crate::statement::Statements;
use crate::watched::Watched;

/// Bytes read from a socket at once. Replies of more are read in parts.
const INBOX_BYTES: usize = 64 * 1024;

/// What the connections of a thread share: their sockets, and what is sent at the moment.
pub(crate) struct Io {
    pub(crate) poller: Poller,
    pub(crate) outbox: Outbox,
    /// Where the engine sees what the thread's session is doing, if that is a driver's.
    pub(crate) watched: Arc<Watched>,
}

impl Io {
    pub(crate) fn new(statements: &Arc<Statements>, watched: Arc<Watched>) -> Result<Self, Errno> {
        // A driver has no socket of dyno's, and a thread for each client.
        let bytes = if statements.is_for_driver() { 0 } else { INBOX_BYTES };
        let outbox = Outbox::new(bytes, Arc::clone(statements));
        Ok(Self { poller: Poller::new(bytes)?, outbox, watched })
    }
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// The request is answered in full.
    Answered,
    /// More must come.
    Partly,
    /// Nothing was there.
    Nothing,
}
