//! Statements that outlast their limit or their stage: the server is asked, over another connection, to stop them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use dyno_wire::endpoint::SessionName;

use crate::clock::{SECOND_NS, nanoseconds};
use crate::config::{Canceller, EngineConfig};
use crate::connection::Connection;
use crate::error::SessionError;
use crate::message::Report;
use crate::session::{Session, SessionState};

/// How long after a request to cancel a server may still obey it.
pub(crate) const CANCEL_WAIT_NS: u64 = 2 * SECOND_NS;
/// How exactly a limit is kept.
const LOOK_NS: u64 = SECOND_NS / 50;
/// Threads that cancel: each waits for the server, and at a stage's end all sessions may have to be cancelled at once.
const THREADS: usize = 8;

/// Starts threads that cancel sessions, until all who could name one are gone. What fails is reported.
pub(crate) fn start(
    canceller: &Arc<dyn Canceller>,
    reports: &Sender<(u32, Report)>,
) -> std::io::Result<Sender<SessionName>> {
    let (sender, sessions) = channel();
    let sessions = Arc::new(Mutex::new(sessions));
    for _ in 0..THREADS {
        let (canceller, sessions, reports) = (Arc::clone(canceller), Arc::clone(&sessions), reports.clone());
        std::thread::Builder::new().name("dyno-cancel".to_owned()).spawn(move || {
            while let Some(session) = next(&sessions) {
                if let Err(source) = canceller.cancel(&session) {
                    let _ = reports.send((0, Report::Error(SessionError::NotCancelled(source))));
                }
            }
        })?;
    }
    Ok(sender)
}

fn next(sessions: &Mutex<Receiver<SessionName>>) -> Option<SessionName> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// For which statement dyno asked to cancel, where a server says that it has cancelled one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    ForThis,
    /// PostgreSQL signals a session twice for one request, so that the second signal may hit the statement behind the one that
    /// was meant.
    ForOneBefore,
}

/// `None` where dyno did not ask.
pub(crate) fn asked(connection: &Connection, now: u64) -> Option<Asked> {
    let Connection { cancel_ns, request_ns, .. } = *connection;
    asked_at(cancel_ns, request_ns, now)
}

fn asked_at(cancel_ns: u64, request_ns: u64, now: u64) -> Option<Asked> {
    match cancel_ns {
        0 => None,
        _ if cancel_ns >= request_ns => Some(Asked::ForThis),
        _ => (now.saturating_sub(cancel_ns) <= CANCEL_WAIT_NS).then_some(Asked::ForOneBefore),
    }
}

/// The server was asked to cancel a request's statement, and has not done it in time.
fn asked_in_vain(cancel_ns: u64, request_ns: u64, now: u64) -> bool {
    cancel_ns > 0 && cancel_ns >= request_ns && now.saturating_sub(cancel_ns) > CANCEL_WAIT_NS
}

/// Whether a session waits for the answer to a statement, be it the one that ends a failed transaction.
fn is_under_way(session: &Session) -> bool {
    matches!(session.state, SessionState::Waiting | SessionState::Recovering(_))
        && session.transaction.is_some()
}

/// Has a thread's statements cancelled.
#[derive(Debug)]
pub(crate) struct StatementLimit {
    canceller: Option<Sender<SessionName>>,
    limit_ns: Option<u64>,
    /// When it is looked next for statements that outlast the limit.
    look_ns: u64,
}

impl StatementLimit {
    pub(crate) fn new(config: &EngineConfig, canceller: Option<Sender<SessionName>>) -> Self {
        Self { canceller, limit_ns: config.statement_limit.map(nanoseconds), look_ns: 0 }
    }

    /// When it is looked next whether a statement has outlasted the limit; `None` where there is no limit.
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        self.limit_ns.map(|_| self.look_ns)
    }

    /// Has statements cancelled that take longer than the limit. Returns the sessions whose statement goes on although it should have
    /// been cancelled: whether the server does not obey or could not be asked, nothing more is waited for.
    pub(crate) fn cancel_late(&mut self, sessions: &mut [Session], now: u64) -> Vec<u32> {
        let Some(limit_ns) = self.limit_ns.filter(|_| now >= self.look_ns) else { return Vec::new() };
        self.look_ns = now + LOOK_NS;
        self.cancel_sent_before(sessions, now.saturating_sub(limit_ns), now);
        let goes_on = |session: &&Session| {
            let Connection { cancel_ns, request_ns, .. } = session.connection;
            is_under_way(session) && asked_in_vain(cancel_ns, request_ns, now)
        };
        sessions.iter().filter(goes_on).map(|session| session.index).collect()
    }

    /// Has all statements under way cancelled that were sent before then; whether there is any of which an answer may come.
    pub(crate) fn cancel_sent_before(&self, sessions: &mut [Session], then_ns: u64, now: u64) -> bool {
        let Some(canceller) = &self.canceller else { return false };
        let mut any = false;
        for session in sessions {
            if !is_under_way(session) || session.connection.request_ns > then_ns {
                continue;
            }
            let connection = &mut session.connection;
            // If the threads are gone nobody cancels, and the statement is waited for as before.
            let is_new = connection.cancel_ns < connection.request_ns;
            if is_new && connection.name().is_some_and(|name| canceller.send(name).is_ok()) {
                connection.cancel_ns = now;
            }
            any |= connection.cancel_ns >= connection.request_ns;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancellation_shortly_behind_the_one_that_was_asked_for_is_of_the_statement_before() {
        assert_eq!(asked_at(0, 5, 6), None);
        assert_eq!(asked_at(7, 5, 8), Some(Asked::ForThis));
        assert_eq!(asked_at(7, 9, 10), Some(Asked::ForOneBefore));
        assert_eq!(asked_at(7, 9, 8 + CANCEL_WAIT_NS), None);
    }

    #[test]
    fn a_server_that_does_not_obey_has_two_seconds_and_no_more() {
        // Not asked; asked for a statement before this one; asked just now; and long ago.
        assert!(!asked_in_vain(0, 0, u64::MAX));
        assert!(!asked_in_vain(7, 9, u64::MAX));
        assert!(!asked_in_vain(7, 5, 7 + CANCEL_WAIT_NS));
        assert!(asked_in_vain(7, 5, 8 + CANCEL_WAIT_NS));
    }
}
