//! Reads a command line, and the files of options that it names, in order: the last word on an option counts. What a
//! test's own options mean is not known yet; they are kept as they were typed.

use dyno_workload::sysbench::lua::OptionKind;
use thiserror::Error;

use super::{Options, known, strict_integer};

/// As sysbench says it.
const TEST_IS_DEPRECATED: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the \
                                  command line without any options.";

/// Test and command.
const OPERANDS_MAX: usize = 2;

/// What was typed.
#[derive(Debug, Default)]
pub(crate) struct CommandLine {
    pub(crate) options: Options,
    pub(crate) test: Option<String>,
    pub(crate) command: Option<String>,
}

/// A command line that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SysbenchUsageError {
    #[error("Invalid value for the '{name}' option: '{value}'")]
    InvalidValue { name: String, value: String },
    #[error("invalid option: {word}")]
    Unknown { word: String },
    #[error("Unrecognized command line argument: {word}")]
    Unrecognized { word: String },
}

/// Reads a file of options as text; the error is in the system's words.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl CommandLine {
    /// From the words behind the program's name. `say` hears of files that could not be read, which ends nothing.
    pub(crate) fn read(
        words: impl IntoIterator<Item = String>,
        read_file: ReadFile<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, SysbenchUsageError> {
        let mut line = Self::default();
        let mut operands = Vec::new();
        for word in words {
            match word.strip_prefix("--") {
                Some(option) => line.option(option, &word, read_file, say)?,
                None if operands.len() == OPERANDS_MAX => {
                    return Err(SysbenchUsageError::Unrecognized { word });
                }
                None => operands.push(word),
            }
        }
        let mut operands = operands.into_iter();
        line.test = line.test.filter(|test| !test.is_empty()).or_else(|| operands.next());
        line.command = operands.next();
        match operands.next() {
            Some(word) => Err(SysbenchUsageError::Unrecognized { word }),
            None => Ok(line),
        }
    }

    fn option(
        &mut self,
        option: &str,
        word: &str,
        read_file: ReadFile<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), SysbenchUsageError> {
        let (name, value) = split(option);
        self.set(name, value, word, false)?;
        // How the test was named before it had a place of its own.
        if name == "test"
            && let Some(test) = value
        {
            say(TEST_IS_DEPRECATED);
            self.test = Some(test.to_owned());
        }
        if known::same_name(name, "config-file")
            && let Some(path) = value
        {
            match read_file(path) {
                Ok(text) => self.file(&text)?,
                Err(error) => say(&format!("{path}: {error}")),
            }
        }
        Ok(())
    }

    fn file(&mut self, text: &str) -> Result<(), SysbenchUsageError> {
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';', '['])) {
            let (name, value) = split(line.strip_prefix("--").unwrap_or(line));
            self.set(name.trim_end(), value.map(str::trim), &format!("--{line}"), true)?;
        }
        Ok(())
    }

    /// Numbers of the general options are looked at at once; sysbench's drivers look at theirs later.
    fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        word: &str,
        in_file: bool,
    ) -> Result<(), SysbenchUsageError> {
        let known = known::find(name);
        if let Some(known) =
            known.filter(|it| it.kind == OptionKind::Integer && !it.name.starts_with("pgsql-"))
        {
            let text = value.unwrap_or_default();
            if strict_integer(text).is_none() {
                let name = known.name.replace('-', "_");
                return Err(SysbenchUsageError::InvalidValue { name, value: text.to_owned() });
            }
        }
        self.options.set(name, value, word, in_file);
        Ok(())
    }
}

fn split(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    }
}
