//! Waits until a server answers: a real login on its socket, as little of one as shows that it accepts sessions.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::postmaster::Postmaster;
use crate::interruption;

/// A start from fresh data takes well under a second; a slow disk or a large `shared_buffers` some more.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
const REPORT_EVERY: Duration = Duration::from_secs(5);
/// Wait for the server's first words: short, so that it is soon looked again whether the user wants to stop.
const ANSWER_WAIT: Duration = Duration::from_secs(1);

/// Returns when the server has accepted a session of `user`. The error is a reason for a reader.
pub(super) fn wait(
    postmaster: &Postmaster,
    socket: &Path,
    user: &str,
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
        let why = match accepts(socket, user) {
            Ok(true) => return Ok(()),
            Ok(false) => "it accepts no sessions yet".to_owned(),
            Err(error) => error.to_string(),
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

/// Whether the server lets `user` in. Sends a startup message and looks at the first message that comes back.
fn accepts(socket: &Path, user: &str) -> io::Result<bool> {
    const PROTOCOL_3_0: u32 = 3 << 16;
    /// `R`, length 8, code 0.
    const AUTHENTICATION_OK: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 0];
    const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];

    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    let mut body = PROTOCOL_3_0.to_be_bytes().to_vec();
    for text in ["user", user, "database", "postgres", ""] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    let length = u32::try_from(body.len() + 4).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], &body].concat())?;
    let mut answer = [0; AUTHENTICATION_OK.len()];
    stream.read_exact(&mut answer)?;
    if answer != AUTHENTICATION_OK {
        // Most likely an error: "the database system is starting up".
        return Ok(false);
    }
    // The rest of the greeting is read, so that the server has nothing to complain about in its log.
    stream.write_all(&TERMINATE)?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(true)
}
