//! Meta-commands: what stands behind a backslash, up to the end of the line.

use super::expression::{self, Lexer};
use super::source::Source;
use super::{
    Command, ExpressionError, Kind, Language, Names, Operand, Program, ScriptError, SleepUnit, names,
};
use crate::c_numbers::is_space;

/// A meta-command.
#[derive(Debug)]
pub(super) enum Meta {
    Command(Command),
    /// `\gset` and `\aset`, which belong to the command before them.
    Gset {
        prefix: Vec<u8>,
        every: bool,
        line: u32,
    },
}

/// How a part of a command is read.
type Parse = fn(Lexer<'_, '_>, &mut Names) -> Result<Program, ExpressionError>;

/// How many words a command may have, with its name.
const WORDS_MAX: usize = 256;

/// A word of a command and where it begins.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a [u8],
    offset: usize,
}

/// Reads one command.
pub(super) struct Reader<'r, 'a> {
    file: &'r str,
    source: &'r mut Source<'a>,
    names: &'r mut Names,
    language: Language,
    line: u32,
    /// Of the backslash.
    start: usize,
}

impl<'r, 'a> Reader<'r, 'a> {
    /// The source is behind the backslash.
    pub(super) fn new(
        file: &'r str,
        source: &'r mut Source<'a>,
        names: &'r mut Names,
        language: Language,
    ) -> Self {
        let start = source.offset() - 1;
        let line = source.line(start);
        Self { file, source, names, language, line, start }
    }

    /// Takes the command with its line; `None` if there is nothing behind the backslash.
    pub(super) fn read(mut self) -> Result<Option<Meta>, ScriptError> {
        let Some(name) = self.word() else { return Ok(None) };
        let lower = name.text.to_ascii_lowercase();
        let kind = match lower.as_slice() {
            b"set" => self.set(name.text)?,
            b"once" if self.is_of_workload() => self.once(name.text)?,
            b"if" => Kind::If { condition: self.condition(name.text)?, otherwise: 0 },
            b"elif" => Kind::Elif { condition: self.condition(name.text)?, otherwise: 0, end: 0 },
            known => return self.of_words(known, name),
        };
        Ok(Some(self.command(kind)))
    }

    fn command(&self, kind: Kind) -> Meta {
        Meta::Command(Command { first_line: lossy(self.shown()), line: self.line, kind })
    }

    /// The command as far as it has been read, without the end of the line.
    fn shown(&self) -> &'a [u8] {
        let mut text = self.source.since(self.start);
        while let [start @ .., b'\n' | b'\r'] = text {
            text = start;
        }
        text
    }

    /// Takes a word; `None`, and the line's end is taken, if there is no more.
    fn word(&mut self) -> Option<Word<'a>> {
        while self.source.skip_blank() || self.source.skip_continuation() {}
        let text = self.source.take_while(|byte| !is_space(byte));
        if text.is_empty() {
            self.source.advance(1);
            return None;
        }
        let mut word = Word { text, offset: self.source.offset() - text.len() };
        // A backslash at the line's end is no part of the word before it.
        if text.len() > 1 && text.ends_with(b"\\") {
            let end = match self.source.rest() {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => 0,
            };
            if end > 0 {
                self.source.advance(end);
                word.text = &text[..text.len() - 1];
                // Where pgbench believes it to be.
                word.offset = self.source.offset() - word.text.len();
            }
        }
        Some(word)
    }

    fn is_of_workload(&self) -> bool {
        self.language == Language::Workload
    }

    fn once(&mut self, name: &[u8]) -> Result<Kind, ScriptError> {
        match self.set(name)? {
            Kind::Set { slot, expression } => Ok(Kind::Once { slot, expression }),
            _ => Err(self.error(name, "no element can be set once", None, None, true)),
        }
    }

    fn set(&mut self, name: &[u8]) -> Result<Kind, ScriptError> {
        let Some(variable) = self.word() else {
            return Err(self.error(name, "missing argument", None, None, false));
        };
        if self.is_of_workload()
            && let Some(open) = variable.text.iter().position(|byte| *byte == b'[')
        {
            return self.set_element(name, variable, open);
        }
        let slot = self.names.slot_of_bytes(variable.text);
        let expression = self.expression(name)?;
        let valid = names::is_valid_name(variable.text);
        Ok(Kind::Set {
            slot,
            expression: if valid { expression } else { expression.for_invalid_variable(slot) },
        })
    }

    /// `\set item[:i] …`: without blanks between the brackets.
    fn set_element(&mut self, name: &[u8], word: Word<'a>, open: usize) -> Result<Kind, ScriptError> {
        let (array, index) = word.text.split_at(open);
        let (Some(index), true) = (index[1..].strip_suffix(b"]"), names::is_valid_name(array)) else {
            let column = Some(word.offset - self.start);
            return Err(self.error(
                name,
                "an element is written NAME[NUMBER], without blanks",
                None,
                column,
                true,
            ));
        };
        let index =
            self.part(name, Word { text: index, offset: word.offset + open + 1 }, expression::parse_index)?;
        let array = self.names.slot_of_bytes(array);
        self.names.add_array(array);
        Ok(Kind::SetElement { array, index, expression: self.expression(name)? })
    }

    /// An expression within a word.
    fn part(&mut self, name: &[u8], word: Word<'a>, parse: Parse) -> Result<Program, ScriptError> {
        let mut source = Source::new(word.text);
        let parsed = parse(Lexer::new(&mut source, self.language), self.names);
        parsed.map_err(|error| {
            let column = (word.offset + error.offset).saturating_sub(1 + self.start);
            self.error(name, error.message, error.more.as_deref(), Some(column), true)
        })
    }

    /// `\for NAME FROM TO`: the ends are expressions without blanks.
    fn for_each(&mut self, name: &[u8], words: &[Word<'a>]) -> Result<Kind, ScriptError> {
        match words {
            [variable, from, to] if names::is_valid_name(variable.text) => Ok(Kind::For {
                slot: self.names.slot_of_bytes(variable.text),
                from: self.part(name, *from, expression::parse)?,
                to: self.part(name, *to, expression::parse)?,
                end: 0,
            }),
            _ => Err(self.error(
                name,
                "\\for is written \\for NAME FROM TO, each without blanks",
                None,
                None,
                true,
            )),
        }
    }

    fn condition(&mut self, name: &[u8]) -> Result<Program, ScriptError> {
        let condition = self.expression(name)?;
        Ok(if self.is_of_workload() { condition.for_condition() } else { condition })
    }

    fn expression(&mut self, name: &[u8]) -> Result<Program, ScriptError> {
        expression::parse(Lexer::new(self.source, self.language), self.names).map_err(|error| {
            let column = error.offset.saturating_sub(1 + self.start);
            self.error(name, error.message, error.more.as_deref(), Some(column), true)
        })
    }

    /// A command that has words behind it.
    fn of_words(mut self, known: &[u8], name: Word<'a>) -> Result<Option<Meta>, ScriptError> {
        let mut words = Vec::new();
        while let Some(word) = self.word() {
            if words.len() + 1 >= WORDS_MAX {
                return Err(self.error(name.text, "too many arguments", None, None, false));
            }
            words.push(word);
        }
        let refuse = |message| Err(self.error(name.text, message, None, None, true));
        let kind = match known {
            b"sleep" => self.sleep(name.text, &words)?,
            b"setshell" => match words.as_slice() {
                [variable, command @ ..] if !command.is_empty() => Kind::SetShell {
                    slot: self.names.slot_of_bytes(variable.text),
                    words: self.operands(command),
                },
                _ => return refuse("missing argument"),
            },
            b"shell" if words.is_empty() => return refuse("missing command"),
            b"shell" => Kind::Shell { words: self.operands(&words) },
            b"else" | b"endif" | b"startpipeline" | b"syncpipeline" | b"endpipeline" if !words.is_empty() => {
                return refuse("unexpected argument");
            }
            b"for" if self.is_of_workload() => self.for_each(name.text, &words)?,
            b"endfor" | b"rollback" if self.is_of_workload() && !words.is_empty() => {
                return refuse("unexpected argument");
            }
            b"endfor" if self.is_of_workload() => Kind::EndFor { slot: self.names.slot(""), begin: 0 },
            b"rollback" if self.is_of_workload() => Kind::Rollback,
            b"else" => Kind::Else { end: 0 },
            b"endif" => Kind::Endif,
            b"startpipeline" => Kind::StartPipeline,
            b"syncpipeline" => Kind::SyncPipeline,
            b"endpipeline" => Kind::EndPipeline,
            b"gset" | b"aset" if words.len() > 1 => return refuse("too many arguments"),
            b"gset" | b"aset" => {
                let prefix = words.first().map_or_else(Vec::new, |word| word.text.to_vec());
                return Ok(Some(Meta::Gset { prefix, every: known == b"aset", line: self.line }));
            }
            _ => return refuse("invalid command"),
        };
        Ok(Some(self.command(kind)))
    }

    fn operands(&mut self, words: &[Word<'_>]) -> Vec<Operand> {
        words.iter().map(|word| Operand::of_shell(word.text, self.names)).collect()
    }

    /// `\sleep 10 ms`, `\sleep 10ms`, `\sleep :x`, `\sleep :x ms`.
    fn sleep(&mut self, name: &[u8], words: &[Word<'_>]) -> Result<Kind, ScriptError> {
        let at = |word: &Word<'_>| Some(word.offset - self.start);
        let (amount, unit) = match words {
            [] => return Err(self.error(name, "missing argument", None, None, true)),
            [amount] => (amount, None),
            [amount, unit] => (amount, Some((unit.text, at(unit)))),
            [_, _, third, ..] => return Err(self.error(name, "too many arguments", None, at(third), true)),
        };
        if let Some(variable) = amount.text.strip_prefix(b":") {
            let unit = self.sleep_unit(name, unit)?;
            return Ok(Kind::Sleep { amount: Operand::Variable(self.names.slot_of_bytes(variable)), unit });
        }
        let sign = usize::from(matches!(amount.text.first(), Some(b'+' | b'-')));
        let digits = amount.text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = amount.text.split_at(sign + digits);
        let unit = match (rest.is_empty(), unit) {
            (true, unit) => unit,
            (false, None) if digits > 0 => Some((rest, Some(amount.offset + number.len() - self.start))),
            _ => {
                let message = "invalid sleep time, must be an integer";
                return Err(self.error(name, message, Some(&lossy(amount.text)), at(amount), true));
            }
        };
        Ok(Kind::Sleep { amount: Operand::Text(number.into()), unit: self.sleep_unit(name, unit)? })
    }

    fn sleep_unit(
        &self,
        name: &[u8],
        unit: Option<(&[u8], Option<usize>)>,
    ) -> Result<SleepUnit, ScriptError> {
        let Some((text, column)) = unit else { return Ok(SleepUnit::Seconds) };
        match text.to_ascii_lowercase().as_slice() {
            b"us" => Ok(SleepUnit::Microseconds),
            b"ms" => Ok(SleepUnit::Milliseconds),
            b"s" => Ok(SleepUnit::Seconds),
            _ => {
                let message = "unrecognized time unit, must be us, ms or s";
                Err(self.error(name, message, Some(&lossy(text)), column, true))
            }
        }
    }

    /// An error in this command: what is wrong, what about, in which column (from 0), and whether to show the command.
    fn error(
        &self,
        name: &[u8],
        what: &str,
        about: Option<&str>,
        column: Option<usize>,
        shown: bool,
    ) -> ScriptError {
        let mut message = format!("{}:{}: {what}", self.file, self.line);
        if let Some(about) = about {
            message += &format!(" ({about})");
        }
        message += &format!(" in command \"{}\"", lossy(name));
        if shown {
            message += &format!("\n{}", lossy(self.shown()));
            if let Some(column) = column {
                message += &format!("\n{:>width$} error found here", '^', width = column + 1);
            }
        }
        ScriptError(message)
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
