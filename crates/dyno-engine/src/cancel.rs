//! Statements that outlast their limit or their stage: the server is asked, over another connection, to stop them.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use dyno_wire::endpoint::SessionName;
use dyno_wire::server_error::ServerError;

use crate::clock::{SECOND_NS, nanoseconds};
use crate::session::{Session, SessionState};
use crate::thread::LoadThread;

/// `query_canceled`
const CANCELLED: &str = "57014";
/// The same of MySQL and MariaDB: the statement was interrupted.
const CANCELLED_NUMBER: u16 = 1317;
/// How long a server may take to cancel a statement.
pub(crate) const CANCEL_WAIT_NS: u64 = 2 * SECOND_NS;
/// How exactly a limit is kept.
const LOOK_NS: u64 = SECOND_NS / 50;

/// Stops what a session is doing.
pub trait Canceller: Debug + Send + Sync {
    /// Asks the server to stop the session's statement. It may take a while, and what comes of it shows in the answer.
    fn cancel(&self, session: &SessionName);
}

/// Starts a thread that cancels one session after the other, until all who could name one are gone.
pub(crate) fn start(canceller: Arc<dyn Canceller>) -> std::io::Result<Sender<SessionName>> {
    let (sender, sessions) = channel::<SessionName>();
    std::thread::Builder::new()
        .name("dyno-cancel".to_owned())
        .spawn(move || sessions.iter().for_each(|session| canceller.cancel(&session)))?;
    Ok(sender)
}

/// Whether a server says that it was asked to stop a statement.
pub(crate) fn is_cancelled(error: &ServerError) -> bool {
    match error.number() {
        Some(number) => number == CANCELLED_NUMBER,
        None => error.state().as_str() == CANCELLED,
    }
}

/// Whether the statement of a session that a server says it has cancelled was cancelled because dyno asked for that.
/// PostgreSQL signals a session twice for one request, so that the second signal may hit the statement behind the one that
/// was meant.
pub(crate) fn was_asked(session: &Session, now: u64) -> bool {
    let lately = now.saturating_sub(session.cancel_ns) <= CANCEL_WAIT_NS;
    session.cancel_ns > 0 && (session.cancel_ns >= session.request_ns || lately)
}

impl LoadThread {
    /// When it is looked next whether a statement has outlasted the limit; `None` where there is no limit.
    pub(crate) fn next_limit_ns(&self) -> Option<u64> {
        self.config.statement_limit?;
        self.stage.as_ref().map(|_| self.limit_look_ns)
    }

    /// Has statements cancelled that take longer than the limit.
    pub(crate) fn cancel_late(&mut self, now: u64) {
        let Some(limit) = self.config.statement_limit else { return };
        if now < self.limit_look_ns {
            return;
        }
        self.limit_look_ns = now + LOOK_NS;
        let since_ns = now.saturating_sub(nanoseconds(limit));
        self.cancel_sent_before(since_ns, now);
    }

    /// Has all statements under way cancelled that were sent before then; whether there is any of which an answer may come.
    pub(crate) fn cancel_sent_before(&mut self, then_ns: u64, now: u64) -> bool {
        let Some(canceller) = &self.canceller else { return false };
        let mut any = false;
        for session in &mut self.sessions {
            let waits = matches!(session.state, SessionState::Waiting) && session.request_ns <= then_ns;
            if !waits || session.transaction.is_none() {
                continue;
            }
            // If the thread is gone nobody cancels, and the statement is waited for as before.
            let is_new = session.cancel_ns < session.request_ns;
            if is_new && session.name.clone().is_some_and(|name| canceller.send(name).is_ok()) {
                session.cancel_ns = now;
            }
            any |= session.cancel_ns >= session.request_ns;
        }
        any
    }
}
