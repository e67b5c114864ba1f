//! What sysbench says, where it says it: messages by level on standard output, and what is wrong with a command line on
//! standard error. A message that comes again and again is counted instead of repeated, as sysbench does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dyno_workload::sysbench::{Called, FatalError};

use crate::command;
use crate::front_end::{fit_to_print, say};

/// How important a message is; `--verbosity` is the highest that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Fatal = 0,
    Alert = 1,
    Warning = 2,
    Notice = 3,
    Info = 4,
    Debug = 5,
}

impl Level {
    fn prefix(self) -> &'static str {
        match self {
            Self::Fatal => "FATAL: ",
            Self::Alert => "ALERT: ",
            Self::Warning => "WARNING: ",
            Self::Notice | Self::Info => "",
            Self::Debug => "DEBUG: ",
        }
    }
}

/// Messages to standard output. Shared by all threads; each message is written whole.
#[derive(Debug)]
pub(super) struct SysbenchConsole {
    /// The highest level that is shown.
    pub(super) verbosity: u8,
    last: Mutex<Last>,
    /// Standard output takes no more: whoever read it has gone.
    broken: AtomicBool,
}

/// The message before, and how often it came again since.
#[derive(Debug, Default)]
struct Last {
    text: String,
    repeated: u32,
}

impl SysbenchConsole {
    pub(super) fn new(verbosity: u8) -> Self {
        Self { verbosity, last: Mutex::default(), broken: AtomicBool::new(false) }
    }

    /// A message of one line or several, without its line's end.
    pub(super) fn say(&self, level: Level, text: &str) {
        if level as u8 > self.verbosity {
            return;
        }
        let text = format!("{}{}\n", level.prefix(), fit_to_print(text));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.text == text && text != "\n" {
            last.repeated += 1;
            return;
        }
        let repeated = repetitions(&mut last);
        self.write(&format!("{repeated}{text}"));
        last.text = text;
    }

    pub(super) fn fatal(&self, text: &str) {
        self.say(Level::Fatal, text.trim_end());
    }

    pub(super) fn notice(&self, text: &str) {
        self.say(Level::Notice, text);
    }

    /// A statement that failed, in the words of sysbench's drivers; `function` is the script's in which it was run.
    pub(super) fn sql_error(&self, function: &str, prepared: bool, error: &FatalError) {
        error
            .driver_lines(if prepared { Called::Execute } else { Called::Query })
            .iter()
            .for_each(|line| self.fatal(line));
        let (number, FatalError { state, message, .. }) = (error.number.unwrap_or(0), error);
        self.fatal(&format!(
            "`{function}' function failed: SQL error, errno = {number}, state = '{state}': {message}"
        ));
    }

    /// Text as it is, whatever the verbosity: help, what `prepare` does.
    pub(super) fn print(&self, text: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = repetitions(&mut last);
        last.text.clear();
        self.write(&format!("{repeated}{text}"));
    }

    /// Tells what was kept back.
    pub(super) fn finish(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = repetitions(&mut last);
        self.write(&repeated);
    }

    /// Whether all that was to be written has been.
    pub(super) fn is_whole(&self) -> bool {
        !self.broken.load(Ordering::Relaxed)
    }

    fn write(&self, text: &str) {
        if command::write_out(text).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}

fn repetitions(last: &mut Last) -> String {
    match std::mem::take(&mut last.repeated) {
        0 => String::new(),
        times => format!("(last message repeated {times} times)\n"),
    }
}

/// A line on standard error.
pub(super) fn error(text: &str) {
    say(&format!("{text}\n"));
}
