//! Splits a command line into options and operands the way `getopt_long` does: short flags joined, values joined or
//! apart, long names shortened as far as they stay unique, operands anywhere, `--` ends the options. Knows nothing of
//! what an option means.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use thiserror::Error;

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    /// Only joined by `=`, as in `--option=value`.
    PerhapsValue,
}

/// An option that may be given. `O` is what the caller calls it.
#[derive(Debug)]
pub(super) struct OptionSpec<O> {
    pub(super) option: O,
    pub(super) long: &'static str,
    pub(super) short: Option<u8>,
    pub(super) takes: Takes,
    /// One that pgbench 18 does not have: it makes no prefix ambiguous that is unique there.
    pub(super) added: bool,
}

/// One thing that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word<O> {
    Option(O, Option<OsString>),
    Operand(OsString),
}

/// In the C library's words, which users have seen all their lives.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum GetoptError {
    #[error("unrecognized option '--{typed}'")]
    Unrecognized { typed: String },
    #[error("option '--{typed}' is ambiguous; possibilities:{}", list(.possibilities))]
    Ambiguous { typed: String, possibilities: Vec<&'static str> },
    #[error("option '--{name}' doesn't allow an argument")]
    NoValueAllowed { name: &'static str },
    #[error("option '--{name}' requires an argument")]
    ValueMissing { name: &'static str },
    #[error("invalid option -- '{letter}'")]
    UnknownLetter { letter: String },
    #[error("option requires an argument -- '{letter}'")]
    LetterWithoutValue { letter: char },
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!(" '--{name}'")).collect()
}

/// The words of a command line, one after the other.
pub(super) struct CommandLineWords<O: 'static> {
    known: &'static [OptionSpec<O>],
    arguments: std::vec::IntoIter<OsString>,
    /// What is left of a group of short options.
    letters: Vec<u8>,
    only_operands: bool,
}

impl<O: Copy> CommandLineWords<O> {
    pub(super) fn new(known: &'static [OptionSpec<O>], arguments: Vec<OsString>) -> Self {
        Self { known, arguments: arguments.into_iter(), letters: Vec::new(), only_operands: false }
    }

    /// The next option or operand; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Word<O>>, GetoptError> {
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

    fn short(&mut self) -> Result<Word<O>, GetoptError> {
        let letter = self.letters.remove(0);
        let Some(known) = self.known.iter().find(|known| known.short == Some(letter)) else {
            // The rest of a character that is more than one byte belongs to it.
            let rest = self.letters.iter().take_while(|byte| (0x80..0xC0).contains(*byte));
            let whole: Vec<u8> = std::iter::once(&letter).chain(rest).copied().collect();
            return Err(GetoptError::UnknownLetter { letter: String::from_utf8_lossy(&whole).into_owned() });
        };
        if known.takes != Takes::Value {
            return Ok(Word::Option(known.option, None));
        }
        let joined = std::mem::take(&mut self.letters);
        let value = if joined.is_empty() { self.arguments.next() } else { Some(OsString::from_vec(joined)) };
        match value {
            Some(value) => Ok(Word::Option(known.option, Some(value))),
            None => Err(GetoptError::LetterWithoutValue { letter: char::from(letter) }),
        }
    }

    fn long(&mut self, typed: &[u8]) -> Result<Word<O>, GetoptError> {
        let equals = typed.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (&typed[..at], Some(OsString::from_vec(typed[at + 1..].to_vec()))),
            None => (typed, None),
        };
        let known = self.find(name, typed)?;
        let value = match (known.takes, value) {
            (Takes::Nothing, Some(_)) => return Err(GetoptError::NoValueAllowed { name: known.long }),
            (Takes::Value, None) => {
                Some(self.arguments.next().ok_or(GetoptError::ValueMissing { name: known.long })?)
            }
            (_, value) => value,
        };
        Ok(Word::Option(known.option, value))
    }

    /// The option of this very name, or the only one that begins so.
    fn find(&self, name: &[u8], typed: &[u8]) -> Result<&'static OptionSpec<O>, GetoptError> {
        if let Some(known) = self.known.iter().find(|known| known.long.as_bytes() == name) {
            return Ok(known);
        }
        let typed = || String::from_utf8_lossy(typed).into_owned();
        let begin_so = |added: bool| {
            let known: &'static [OptionSpec<O>] = self.known;
            let fits = move |it: &&OptionSpec<O>| it.added == added && it.long.as_bytes().starts_with(name);
            known.iter().filter(fits).collect::<Vec<_>>()
        };
        let mut candidates = begin_so(false);
        if candidates.is_empty() {
            candidates = begin_so(true);
        }
        match candidates.as_slice() {
            [] => Err(GetoptError::Unrecognized { typed: typed() }),
            [known] => Ok(known),
            several => Err(GetoptError::Ambiguous {
                typed: typed(),
                possibilities: several.iter().map(|known| known.long).collect(),
            }),
        }
    }
}
