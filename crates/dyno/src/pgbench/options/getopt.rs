//! Splits a command line into options and operands the way `getopt_long` does: short flags joined, values joined or
//! apart, long names shortened as far as they stay unique, operands anywhere, `--` ends the options. Knows nothing of
//! what an option means.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::table::{OPTIONS, OptionSpec, Takes};
use crate::pgbench::failed::PgbenchFailed;

/// One thing that was typed.
#[derive(Debug)]
pub(super) enum Word {
    Option(&'static OptionSpec, Option<OsString>),
    Operand(OsString),
}

/// The words of a command line, one after the other.
pub(super) struct CommandLineWords {
    arguments: std::vec::IntoIter<OsString>,
    /// What is left of a group of short options.
    letters: Vec<u8>,
    only_operands: bool,
}

impl CommandLineWords {
    pub(super) fn new(arguments: Vec<OsString>) -> Self {
        Self { arguments: arguments.into_iter(), letters: Vec::new(), only_operands: false }
    }

    /// The next option or operand; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Word>, PgbenchFailed> {
        if !self.letters.is_empty() {
            return self.short().map(Some);
        }
        let Some(argument) = self.arguments.next() else { return Ok(None) };
        let bytes = argument.as_bytes();
        if self.only_operands || bytes == b"-" || !bytes.starts_with(b"-") {
            return Ok(Some(Word::Operand(argument)));
        }
        if bytes == b"--" {
            self.only_operands = true;
            return self.next();
        }
        if let Some(typed) = bytes.strip_prefix(b"--") {
            return self.long(typed).map(Some);
        }
        self.letters = bytes[1..].to_vec();
        self.short().map(Some)
    }

    fn short(&mut self) -> Result<Word, PgbenchFailed> {
        let letter = self.letters.remove(0);
        let Some(known) = OPTIONS.iter().find(|known| known.short == Some(letter)) else {
            // The rest of a character that is more than one byte belongs to it.
            let rest = self.letters.iter().take_while(|byte| (0x80..0xC0).contains(*byte));
            let whole: Vec<u8> = std::iter::once(&letter).chain(rest).copied().collect();
            let whole = String::from_utf8_lossy(&whole);
            return Err(PgbenchFailed::of_getopt(format!("invalid option -- '{whole}'")));
        };
        if !matches!(known.takes, Takes::Value) {
            return Ok(Word::Option(known, None));
        }
        let joined = std::mem::take(&mut self.letters);
        let value = if joined.is_empty() { self.arguments.next() } else { Some(OsString::from_vec(joined)) };
        let missing = || format!("option requires an argument -- '{}'", char::from(letter));
        let value = value.ok_or_else(|| PgbenchFailed::of_getopt(missing()))?;
        Ok(Word::Option(known, Some(value)))
    }

    fn long(&mut self, typed: &[u8]) -> Result<Word, PgbenchFailed> {
        let equals = typed.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (&typed[..at], Some(OsString::from_vec(typed[at + 1..].to_vec()))),
            None => (typed, None),
        };
        let known = find(name, typed)?;
        let wrong = |what| PgbenchFailed::of_getopt(format!("option '--{}' {what}", known.long));
        let value = match (known.takes, value) {
            (Takes::Nothing(_), Some(_)) => return Err(wrong("doesn't allow an argument")),
            (Takes::Value, None) => Some(self.arguments.next().ok_or_else(|| wrong("requires an argument"))?),
            (_, value) => value,
        };
        Ok(Word::Option(known, value))
    }
}

/// The option of this very name, or the only one that begins so.
fn find(name: &[u8], typed: &[u8]) -> Result<&'static OptionSpec, PgbenchFailed> {
    if let Some(known) = OPTIONS.iter().find(|known| known.long.as_bytes() == name) {
        return Ok(known);
    }
    let begin_so = |added: bool| {
        let fits = |it: &&OptionSpec| it.added == added && it.long.as_bytes().starts_with(name);
        OPTIONS.iter().filter(fits).collect::<Vec<_>>()
    };
    let mut candidates = begin_so(false);
    if candidates.is_empty() {
        candidates = begin_so(true);
    }
    let typed = String::from_utf8_lossy(typed);
    match candidates.as_slice() {
        [] => Err(PgbenchFailed::of_getopt(format!("unrecognized option '--{typed}'"))),
        [known] => Ok(known),
        several => {
            let names: String = several.iter().map(|known| format!(" '--{}'", known.long)).collect();
            Err(PgbenchFailed::of_getopt(format!("option '--{typed}' is ambiguous; possibilities:{names}")))
        }
    }
}
