//! A password is asked for on the terminal and not shown there.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use dyno_test_servers::Postgres;

use crate::passwords;

/// What the terminal shows when `typed` is the answer to the first question on it, and the status.
fn on_a_terminal(server: &Postgres, typed: &str) -> (String, Option<i32>) {
    let program = env!("CARGO_BIN_EXE_dyno");
    let command = format!("'{program}' pgbench -i -I d -U secret postgres");
    // Makes a terminal, runs the command on it and ends with its status.
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &command, "/dev/null"]).env_clear().env("PATH", "/usr/bin:/bin");
    script.env("PGHOST", "127.0.0.1").env("PGPORT", server.address.port().to_string());
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = Vec::new();
    let mut out = script.stdout.take().unwrap();
    let mut byte = [0];
    // What is typed before the question is not taken for an answer.
    while !shown.ends_with(b"Password: ") && out.read(&mut byte).unwrap() > 0 {
        shown.push(byte[0]);
    }
    let mut keyboard = script.stdin.take().unwrap();
    writeln!(keyboard, "{typed}").unwrap();
    out.read_to_end(&mut shown).unwrap();
    let status = script.wait().unwrap();
    (String::from_utf8_lossy(&shown).into_owned(), status.code())
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: no `script` to make a terminal");
        return;
    }
    let Some(server) = Postgres::shared(&passwords::setup()) else { return };
    let (shown, status) = on_a_terminal(&server, "right");
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.starts_with("Password: \r\n") && shown.contains("done in "), "{shown}");
    assert!(!shown.contains("right"), "{shown}");
    let (shown, status) = on_a_terminal(&server, "wrong");
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("FATAL:  password authentication failed for user \"secret\""), "{shown}");
    assert!(!shown.contains("wrong"), "{shown}");
}
