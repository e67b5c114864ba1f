//! Where an SQL command ends: at a semicolon or a backslash that is not inside something.
//!
//! This is the lexer that psql and pgbench share, as far as it decides that. It must agree with them on every byte:
//! a quote taken otherwise would move all that follows.

use super::names::{continues_name, starts_name};
use super::source::Source;
use crate::c_numbers::is_space;

/// What ended a stretch of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Semicolon,
    Backslash,
    End,
}

/// A stretch of SQL.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Without the blanks and comments before it, with the semicolon, and with `;` for `\;`.
    pub(super) text: Vec<u8>,
    /// Where the text begins.
    pub(super) offset: usize,
    pub(super) stop: Stop,
}

/// What must be remembered between stretches: meta-commands may stand within parentheses.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    parentheses: u32,
    body: Body,
}

impl Scanner {
    /// Takes the next stretch.
    pub(super) fn next(&mut self, source: &mut Source<'_>) -> Stretch {
        let mut stretch = Stretch { text: Vec::new(), offset: source.offset(), stop: Stop::End };
        loop {
            let start = source.offset();
            let Some(stop) = self.token(source) else { return stretch };
            let text = source.since(start);
            match stop {
                Token::Blank if stretch.text.is_empty() => stretch.offset = source.offset(),
                Token::Blank | Token::Text => stretch.text.extend_from_slice(text),
                Token::Given(text) => stretch.text.extend_from_slice(text),
                Token::Semicolon => {
                    stretch.text.push(b';');
                    if self.parentheses == 0 && self.body.depth == 0 {
                        self.body.identifiers = 0;
                        stretch.stop = Stop::Semicolon;
                        return stretch;
                    }
                }
                Token::Backslash => {
                    stretch.stop = Stop::Backslash;
                    return stretch;
                }
            }
        }
    }

    /// Takes one token, which may be only a part of what SQL would call one; `None` at the end.
    fn token(&mut self, source: &mut Source<'_>) -> Option<Token> {
        let first = source.peek()?;
        let (length, token) = match (first, source.peek_at(1)) {
            (b';', _) => (1, Token::Semicolon),
            (b'\\', Some(b';')) => {
                self.body.identifiers = 0;
                (2, Token::Given(b";"))
            }
            (b'\\', Some(b':')) => (2, Token::Given(b":")),
            (b'\\', _) => (1, Token::Backslash),
            (b':', _) => (0, skip_colon(source)),
            (b'-', Some(b'-')) => {
                skip_line(source);
                (0, Token::Blank)
            }
            _ if is_space(first) => (1, Token::Blank),
            (_, second) => {
                self.skip_text(source, first, second);
                (0, Token::Text)
            }
        };
        source.advance(length);
        Some(token)
    }

    /// Goes over what means nothing here, of which these are the first bytes.
    fn skip_text(&mut self, source: &mut Source<'_>, first: u8, second: Option<u8>) {
        match (first, second) {
            (b'/', Some(b'*')) => skip_comment(source),
            (b'\'' | b'"', _) => skip_quoted(source, first),
            (b'e' | b'E', Some(b'\'')) => skip_escaped(source),
            // Their contents end as those of plain quotes do.
            (b'b' | b'B' | b'x' | b'X' | b'n' | b'N', Some(b'\'')) => source.advance(1),
            (b'u' | b'U', Some(b'&')) => source.advance(1),
            (b'$', _) => skip_dollar(source),
            (b'(', _) => {
                source.advance(1);
                self.parentheses = self.parentheses.saturating_add(1);
            }
            (b')', _) => {
                source.advance(1);
                self.parentheses = self.parentheses.saturating_sub(1);
            }
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => skip_number(source),
            _ if starts_name(first) => {
                let identifier = source.take_while(continues_identifier);
                self.body.see(identifier, self.parentheses);
            }
            _ => source.advance(1),
        }
    }
}

enum Token {
    /// Blanks and comments to the line's end, which are left out before a command.
    Blank,
    Text,
    /// What stands for the text.
    Given(&'static [u8]),
    Semicolon,
    Backslash,
}

/// Whether the statement is in the body of `CREATE FUNCTION … BEGIN ATOMIC … END`, in which semicolons end nothing.
#[derive(Debug, Default)]
struct Body {
    depth: u32,
    /// How many identifiers the statement has had.
    identifiers: usize,
    /// The first letters of the first identifiers, as far as they may begin such a statement.
    first: [u8; 4],
}

impl Body {
    fn see(&mut self, identifier: &[u8], parentheses: u32) {
        let is = |word: &str| identifier.eq_ignore_ascii_case(word.as_bytes());
        if self.identifiers == 0 {
            self.first = [0; 4];
        }
        if ["create", "function", "procedure", "or", "replace"].into_iter().any(is)
            && let Some(first) = self.first.get_mut(self.identifiers)
        {
            *first = identifier[0].to_ascii_lowercase();
        }
        self.identifiers += 1;
        let creates = matches!(self.first, [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']);
        if !creates || parentheses > 0 {
            return;
        }
        // A CASE ends with END as well.
        if is("begin") || (is("case") && self.depth > 0) {
            self.depth = self.depth.saturating_add(1);
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }
}

fn continues_identifier(byte: u8) -> bool {
    continues_name(byte) || byte == b'$'
}

fn skip_line(source: &mut Source<'_>) {
    source.take_while(|byte| byte != b'\n' && byte != b'\r');
}

/// A comment may have comments in it.
fn skip_comment(source: &mut Source<'_>) {
    let mut depth = 0_u32;
    loop {
        match source.rest() {
            [b'/', b'*', ..] => {
                source.advance(2);
                depth = depth.saturating_add(1);
            }
            [b'*', b'/', ..] => {
                source.advance(2);
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
            [] => return,
            _ => source.advance(1),
        }
    }
}

/// A doubled quote ends and begins, which comes to the same.
fn skip_quoted(source: &mut Source<'_>, quote: u8) {
    source.advance(1);
    source.take_while(|byte| byte != quote);
    source.advance(1);
}

/// A string in which a backslash takes away the meaning of what follows. It goes on behind a doubled quote, and behind
/// a line's end and another quote.
fn skip_escaped(source: &mut Source<'_>) {
    source.advance(2);
    loop {
        source.take_while(|byte| byte != b'\'' && byte != b'\\');
        match source.peek() {
            None => return,
            Some(b'\\') => source.advance(2),
            _ => {
                source.advance(1);
                match continuation(source.rest()) {
                    Some(length) => source.advance(length),
                    None => return,
                }
            }
        }
    }
}

/// How far it is, behind a closed quote, to behind the quote that goes on with the same string.
fn continuation(rest: &[u8]) -> Option<usize> {
    if rest.first() == Some(&b'\'') {
        return Some(1);
    }
    let mut ahead = Source::new(rest);
    let mut line_ended = false;
    loop {
        match ahead.rest() {
            [b'\'', ..] if line_ended => return Some(ahead.offset() + 1),
            [b'-', b'-', ..] => skip_line(&mut ahead),
            [byte, ..] if is_space(*byte) => {
                line_ended |= matches!(byte, b'\n' | b'\r');
                ahead.advance(1);
            }
            _ => return None,
        }
    }
}

/// `$tag$ … $tag$`, a parameter, or a dollar sign.
fn skip_dollar(source: &mut Source<'_>) {
    let Some(delimiter) = delimiter(source.rest()) else {
        source.advance(1);
        if source.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            source.take_while(|byte| byte.is_ascii_digit());
            if source.peek().is_some_and(starts_name) {
                source.take_while(continues_identifier);
            }
        }
        return;
    };
    source.advance(delimiter.len());
    while let Some(byte) = source.peek() {
        if byte == b'$' && source.rest().starts_with(delimiter) {
            source.advance(delimiter.len());
            return;
        }
        source.advance(1);
    }
}

/// The `$tag$` that the text begins with.
fn delimiter(text: &[u8]) -> Option<&[u8]> {
    let tag = text.get(1..)?;
    let length = tag.iter().take_while(|byte| continues_name(**byte)).count();
    let valid = length == 0 || starts_name(tag[0]);
    (valid && tag.get(length) == Some(&b'$')).then(|| &text[..length + 2])
}

/// A colon, with the other character of `::` and `:=`, or with a variable's name. psql would test a variable with
/// `:{?name}`; here there is none to be found.
fn skip_colon(source: &mut Source<'_>) -> Token {
    source.advance(1);
    match source.rest() {
        [b':' | b'=', ..] => source.advance(1),
        [b'{', b'?', name @ ..] => {
            let length = name.iter().take_while(|byte| continues_name(**byte)).count();
            if length > 0 && name.get(length) == Some(&b'}') {
                source.advance(length + 3);
                return Token::Given(b"FALSE");
            }
        }
        _ => {
            source.take_while(continues_name);
        }
    }
    Token::Text
}

/// A number with the letters that stick to it, so that these begin nothing of their own. In `1e-` the sign belongs to
/// it, and is not the beginning of a comment.
fn skip_number(source: &mut Source<'_>) {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    source.take_while(is_digit);
    if source.peek() == Some(b'.') && source.peek_at(1) != Some(b'.') {
        source.advance(1);
        source.take_while(is_digit);
    }
    if let [b'e' | b'E', b'+' | b'-', ..] = source.rest() {
        source.advance(2);
        if source.take_while(is_digit).is_empty() {
            return;
        }
    }
    if source.peek().is_some_and(starts_name) {
        source.take_while(continues_identifier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(script: &str) -> Vec<String> {
        let mut source = Source::new(script.as_bytes());
        let mut scanner = Scanner::default();
        let mut found = Vec::new();
        loop {
            let stretch = scanner.next(&mut source);
            if !stretch.text.is_empty() {
                found.push(String::from_utf8(stretch.text).unwrap());
            }
            match stretch.stop {
                Stop::End => return found,
                Stop::Backslash => found.push("\\".to_owned()),
                Stop::Semicolon => {}
            }
        }
    }

    #[test]
    fn semicolons_end_commands_outside_of_anything() {
        assert_eq!(stretches("select 1; -- one;\nselect 2"), ["select 1;", "select 2"]);
        for whole in [
            "select ';';",
            "select ';'';';",
            "select e'\\';';",
            "select e'a'\n  '\\';' ;",
            "select e'a' -- ;\n -- ;\n '\\';' ;",
            "select \";\";",
            "select $$;$$;",
            "select $a$;$b$;$a$;",
            "select /* ; /* ; */ ; */ 1;",
            "select (1;2);",
            "select U&'\\;' ;",
            "create function f() begin atomic select 1; select case when a then b end; end;",
            "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC ; END;",
            "select 1e--;",
        ] {
            assert_eq!(stretches(whole), [whole]);
        }
        assert_eq!(stretches("create table f (begin int); end;").len(), 2);
        assert_eq!(
            stretches("select a$$;$$;"),
            ["select a$$;", "$$;"],
            "a dollar sign goes on with an identifier"
        );
        assert_eq!(stretches("select '\\';';").len(), 2);
        assert_eq!(stretches("select 1e'\\';';").len(), 2);
    }

    #[test]
    fn backslashes_end_commands_and_escape() {
        assert_eq!(stretches("select 1 \\; select 2;"), ["select 1 ; select 2;"]);
        assert_eq!(stretches("select \\:x \\gset"), ["select :x ", "\\", "gset"]);
        assert_eq!(stretches("select :{?x};"), ["select FALSE;"]);
    }
}
