//! Connection strings of the form `host=… port=… user='…'`, with libpq's quoting.

use std::ops::Range;

use super::error::TargetError;
use super::parameters::{POSTGRES, Parameters};

/// Reads a connection string. Errors give a position and never the text around it, which may be a password.
pub(super) fn parse(text: &str) -> Result<Parameters, TargetError> {
    let mut parameters = Parameters::new(&POSTGRES);
    let mut reader = Reader { text, at: 0 };
    loop {
        reader.skip_spaces();
        if reader.rest().is_empty() {
            return Ok(parameters);
        }
        let name = reader.name()?;
        let value = reader.value()?;
        parameters.set(name, value)?;
    }
}

/// Where the value is that begins at byte `at`, after spaces and without its quotes. Reaches to the end of the text
/// if it is not closed.
pub(super) fn value_at(text: &str, at: usize) -> Range<usize> {
    let mut reader = Reader { text, at };
    reader.skip_spaces();
    let quote = usize::from(reader.rest().starts_with('\''));
    let start = reader.at + quote;
    let end = if reader.value().is_ok() { reader.at - quote } else { text.len() };
    start..end
}

struct Reader<'a> {
    text: &'a str,
    /// Byte offset, always on a character's start.
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn error(&self, what: &'static str) -> TargetError {
        let at = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        TargetError::Conninfo { at, what }
    }

    fn name(&mut self) -> Result<&'a str, TargetError> {
        let rest = self.rest();
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        if name.is_empty() {
            return Err(self.error("a parameter's name is missing before `=`"));
        }
        let start = self.at;
        self.at += end;
        self.skip_spaces();
        if !self.rest().starts_with('=') {
            self.at = start;
            return Err(
                self.error("`=` is missing after a parameter's name (quote values that hold spaces: '…')")
            );
        }
        self.at += 1;
        self.skip_spaces();
        Ok(name)
    }

    fn value(&mut self) -> Result<String, TargetError> {
        let start = self.at;
        let quoted = self.rest().starts_with('\'');
        let body = self.rest().get(usize::from(quoted)..).unwrap_or_default();
        let mut value = String::new();
        let mut characters = body.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                '\'' if quoted => {
                    self.at = start + 1 + at + 1;
                    return Ok(value);
                }
                c if !quoted && c.is_whitespace() => {
                    self.at = start + at;
                    return Ok(value);
                }
                c => value.push(c),
            }
        }
        if quoted {
            return Err(self.error("the closing quote of a value is missing"));
        }
        self.at = self.text.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_escapes_and_spaces() {
        let p = parse(r"host = a  port=5433 user='it\'s me' password=a\ b\\c dbname='' options='-c x=1'")
            .unwrap();
        assert_eq!(p.get("host"), Some("a"));
        assert_eq!(p.get("port"), Some("5433"));
        assert_eq!(p.get("user"), Some("it's me"));
        assert_eq!(p.get("password"), Some(r"a b\c"));
        assert_eq!(p.get("dbname"), None);
        assert_eq!(p.get("options"), Some("-c x=1"));
        assert!(parse("").is_ok() && parse("  ").is_ok());
    }

    #[test]
    fn errors_give_the_place() {
        assert!(matches!(parse("host=a port"), Err(TargetError::Conninfo { at: 8, .. })));
        assert!(matches!(parse("host='a"), Err(TargetError::Conninfo { at: 6, .. })));
        assert!(matches!(parse("=a"), Err(TargetError::Conninfo { at: 1, .. })));
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"([a-z]{0,4}[ =' \\é]{0,3}){0,8}|.*"#) {
            let _ = parse(&text);
        }

        #[test]
        fn any_value_comes_back(value in ".+") {
            let quoted = value.replace('\\', r"\\").replace('\'', r"\'");
            let read = parse(&format!("user=u password='{quoted}' host=h")).unwrap();
            prop_assert_eq!(read.get("password"), Some(value.as_str()));
            prop_assert_eq!(read.get("host"), Some("h"));
        }
    }
}
