//! Waits until a server answers: a real login on its socket.

use std::time::{Duration, Instant};

use dyno_wire::endpoint::Endpoint;

use super::postmaster::Postmaster;
use crate::connection::Connection;
use crate::interruption;

/// A start from fresh data takes well under a second; a slow disk or a large `shared_buffers` some more.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// Wait for the server's first words: short, so that it is soon looked again whether the user wants to stop.
const ANSWER_WAIT: Duration = Duration::from_secs(1);

/// Returns when the server has accepted a session. The error is a reason for a reader.
pub(super) fn wait(
    postmaster: &Postmaster,
    endpoint: &Endpoint,
    progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let started = Instant::now();
    let mut reported = started;
    loop {
        if let Some(end) = postmaster.ended() {
            return Err(format!("it ended at once ({end})"));
        }
        if interruption::is_requested() {
            return Err("interrupted".to_owned());
        }
        let why = match Connection::open_within(endpoint, Some(ANSWER_WAIT)) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if started.elapsed() > TIMEOUT {
            return Err(format!("it did not accept a session within {} s: {why}", TIMEOUT.as_secs()));
        }
        if reported.elapsed() > REPORT_EVERY {
            reported = Instant::now();
            progress(&format!("waiting for PostgreSQL: {} s so far", started.elapsed().as_secs()));
        }
        std::thread::sleep(POLL);
    }
}
