//! Texts and variables side by side: the words of `\sleep`, `\shell` and `\setshell`.

use super::{EvaluateError, Names, Slot, Variables};
use crate::c_numbers::leading_int;

/// A word of a meta-command, or a stretch of an SQL command: as it stands, or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    Text(Box<[u8]>),
    Variable(Slot),
    /// The value in these quotes; of an SQL command that [`super::parse_with_text`] has read.
    Quoted(Slot, Quote),
}

/// The quotes of psql's `:'name'` and `:"name"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// Of a text.
    Single,
    /// Of a name.
    Double,
}

impl Quote {
    pub(super) fn sign(self) -> u8 {
        match self {
            Self::Single => b'\'',
            Self::Double => b'"',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepUnit {
    Microseconds,
    Milliseconds,
    Seconds,
}

/// The longest command line that `\shell` and `\setshell` take, bytes.
const SHELL_COMMAND_BYTES_MAX: usize = 254;

/// How long `\sleep` is to last, microseconds; not above 0 is no time at all.
///
/// # Errors
/// When the amount is a variable that is unset or no number.
pub fn sleep_us(
    amount: &Operand,
    unit: SleepUnit,
    variables: &Variables,
    names: &Names,
) -> Result<i64, EvaluateError> {
    let number = match amount {
        Operand::Text(text) => leading_int(text),
        Operand::Variable(slot) | Operand::Quoted(slot, _) => sleep_variable(*slot, variables, names)?,
    };
    Ok(i64::from(number)
        * match unit {
            SleepUnit::Microseconds => 1,
            SleepUnit::Milliseconds => 1_000,
            SleepUnit::Seconds => 1_000_000,
        })
}

fn sleep_variable(slot: Slot, variables: &Variables, names: &Names) -> Result<i32, EvaluateError> {
    let mut text = Vec::new();
    if !variables.write_text(slot, &mut text) {
        return Err(EvaluateError::UndefinedOperand {
            command: "sleep".into(),
            name: names.name(slot).into(),
        });
    }
    match leading_int(&text) {
        0 if !text.first().is_some_and(u8::is_ascii_digit) => Err(EvaluateError::SleepTime {
            value: String::from_utf8_lossy(&text).into(),
            name: names.name(slot).into(),
        }),
        number => Ok(number),
    }
}

/// Appends the command line that `\shell` or `\setshell` hands to the shell: the words with a space between them.
///
/// # Errors
/// When a word is a variable that is unset, or the line is too long.
pub fn shell_command(
    words: &[Operand],
    variables: &Variables,
    names: &Names,
    out: &mut Vec<u8>,
) -> Result<(), EvaluateError> {
    let start = out.len();
    let command = || words.first().map_or_else(Box::default, |word| word.written(names));
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        match word {
            Operand::Text(text) => out.extend_from_slice(text),
            Operand::Variable(slot) | Operand::Quoted(slot, _) => {
                if !variables.write_text(*slot, out) {
                    return Err(EvaluateError::UndefinedOperand {
                        command: command(),
                        name: word.written(names),
                    });
                }
            }
        }
        if out.len() - start > SHELL_COMMAND_BYTES_MAX {
            return Err(EvaluateError::LongCommand(command()));
        }
    }
    Ok(())
}

impl Operand {
    /// A word of a shell command: behind one colon is a variable's name, two colons stand for one.
    pub(super) fn of_shell(word: &[u8], names: &mut Names) -> Self {
        match word {
            [b':', rest @ ..] if rest.first() == Some(&b':') => Operand::Text(rest.into()),
            [b':', name @ ..] => Operand::Variable(names.slot_of_bytes(name)),
            _ => Operand::Text(word.into()),
        }
    }

    /// A word of a shell command as the script has it.
    pub fn written(&self, names: &Names) -> Box<str> {
        match self {
            Operand::Text(text) if text.first() == Some(&b':') => {
                format!(":{}", String::from_utf8_lossy(text)).into()
            }
            Operand::Text(text) => String::from_utf8_lossy(text).into(),
            Operand::Variable(slot) => format!(":{}", names.name(*slot)).into(),
            Operand::Quoted(slot, quote) => {
                let quote = char::from(quote.sign());
                format!(":{quote}{}{quote}", names.name(*slot)).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Value;

    #[test]
    fn words_are_joined() {
        let mut names = Names::new();
        let words = [b"echo".as_slice(), b":x", b"::y"].map(|word| Operand::of_shell(word, &mut names));
        let mut variables = Variables::new(&names);
        let unset = shell_command(&words, &variables, &names, &mut Vec::new());
        assert_eq!(unset.unwrap_err().to_string(), "echo: undefined variable \":x\"");
        variables.set(names.slot("x"), Value::Integer(5));
        let mut out = Vec::new();
        shell_command(&words, &variables, &names, &mut out).unwrap();
        assert_eq!(out, b"echo 5 :y");
    }

    #[test]
    fn a_sleep_has_a_number() {
        let mut names = Names::new();
        let x = names.slot("x");
        let mut variables = Variables::new(&names);
        let mut sleep = |text: Option<&str>| {
            if let Some(text) = text {
                variables.set_spelling(x, text);
            }
            sleep_us(&Operand::Variable(x), SleepUnit::Milliseconds, &variables, &names)
                .map_err(|error| error.to_string())
        };
        assert_eq!(sleep(None), Err("sleep: undefined variable \"x\"".to_owned()));
        assert_eq!(sleep(Some("12.9")), Ok(12_000));
        let refused = "sleep: invalid sleep time \"NULL\" for variable \"x\"".to_owned();
        assert_eq!(sleep(Some("NULL")), Err(refused));
        let fixed = Operand::Text(b"3s".as_slice().into());
        assert_eq!(sleep_us(&fixed, SleepUnit::Seconds, &variables, &names), Ok(3_000_000));
    }
}
