//! The commands. Each returns the exit status, or why it could not start.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod findings;
pub(crate) mod lists;
mod live;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod serve;

use std::io::Write as _;

use dyno_report::json::{self, Layout};
use dyno_report::terminal::Terminal;
use serde::Serialize;

use crate::failure::Failure;
use crate::secrets::{hidden_in_words, without_known};

/// Tells why something failed, and what to do.
pub(crate) fn tell(failure: &Failure) {
    // Advice has the form of what is to be typed: `-D api_key=VALUE`.
    let help = failure.help().map(|help| without_known(&help));
    write_err(&dyno_report::error::render(&Told::of(failure), help.as_deref(), Terminal::stderr()));
}

/// An error and its causes in words, without secrets.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Told {
    text: String,
    source: Option<Box<Self>>,
}

impl Told {
    fn of(error: &dyn std::error::Error) -> Self {
        let source = error.source().map(|cause| Box::new(Self::of(cause)));
        Self { text: hidden_in_words(&error.to_string()), source }
    }
}

/// Prints text.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_out(text).map_err(Failure::Output)
}

/// Writes to standard output; a reader that hung up early (`| head`) is no error.
pub(crate) fn write_out(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes whole lines to standard error at once, so that threads do not mix theirs.
pub(crate) fn write_err(text: &str) {
    // If the terminal is gone there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints a document for machines.
pub(crate) fn print_json<T: Serialize>(document: &T) -> Result<(), Failure> {
    let mut text = Vec::new();
    json::write(document, Layout::Pretty, &mut text)?;
    print(&String::from_utf8_lossy(&text))
}
