//! The tokens of expressions.

use crate::script::names::continues_name;
use crate::script::number;
use crate::script::source::Source;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    /// One more than the greatest integer, which only makes sense behind a minus.
    IntegerEnd,
    Double(f64),
    Variable(&'a [u8]),
    Function(&'a [u8]),
    Operator(Operator),
    Not,
    /// `~`
    Invert,
    Open,
    Close,
    Comma,
    Case,
    When,
    Then,
    Else,
    End,
    /// The end of the command: of the line or of the script.
    EndOfCommand,
}

/// What may follow an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Is,
    IsNull,
    NotNull,
    Less,
    Greater,
    Equal,
    LessOrEqual,
    GreaterOrEqual,
    NotEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// What is no token: what is wrong, and the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::script) struct LexicalError<'a> {
    pub(in crate::script) message: &'static str,
    pub(in crate::script) text: &'a [u8],
}

/// Takes tokens from a script, up to the end of the command.
#[derive(Debug)]
pub(in crate::script) struct Lexer<'s, 'a> {
    source: &'s mut Source<'a>,
    /// The last token was the end of a line.
    ended: bool,
}

impl<'s, 'a> Lexer<'s, 'a> {
    pub(in crate::script) fn new(source: &'s mut Source<'a>) -> Self {
        Self { source, ended: false }
    }

    /// Behind the last token.
    pub(super) fn offset(&self) -> usize {
        self.source.offset()
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, LexicalError<'a>> {
        while self.source.skip_blank() || self.source.skip_continuation() {}
        let Some(first) = self.source.peek() else { return Ok(Token::EndOfCommand) };
        match first {
            b'\n' => {
                self.source.advance(1);
                self.ended = true;
                Ok(Token::EndOfCommand)
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.source.peek_at(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            b':' if self.source.peek_at(1).is_some_and(continues_name) => {
                self.source.advance(1);
                Ok(Token::Variable(self.source.take_while(continues_name)))
            }
            _ if continues_name(first) => Ok(word(self.source.take_while(continues_name))),
            _ => self.symbol(),
        }
    }

    fn number(&mut self) -> Result<Token<'a>, LexicalError<'a>> {
        let start = self.source.offset();
        let digits = self.source.take_while(|byte| byte.is_ascii_digit());
        let point = self.source.peek() == Some(b'.');
        if point {
            self.source.advance(1);
            self.source.take_while(|byte| byte.is_ascii_digit());
        }
        if !self.exponent() && !point {
            // As the digits stand: with a zero before it, the end of the integers is too large.
            return match number::integer(digits) {
                Ok(value) => Ok(Token::Integer(value)),
                Err(_) if digits == b"9223372036854775808" => Ok(Token::IntegerEnd),
                Err(_) => Err(LexicalError { message: "bigint constant overflow", text: digits }),
            };
        }
        let text = self.source.since(start);
        let overflow = LexicalError { message: "double constant overflow", text };
        number::double(text).map(Token::Double).map_err(|_| overflow)
    }

    /// Takes an exponent, if there is a whole one.
    fn exponent(&mut self) -> bool {
        if !matches!(self.source.peek(), Some(b'e' | b'E')) {
            return false;
        }
        let sign = usize::from(matches!(self.source.peek_at(1), Some(b'+' | b'-')));
        let whole = self.source.peek_at(1 + sign).is_some_and(|byte| byte.is_ascii_digit());
        if whole {
            self.source.advance(1 + sign);
            self.source.take_while(|byte| byte.is_ascii_digit());
        }
        whole
    }

    fn symbol(&mut self) -> Result<Token<'a>, LexicalError<'a>> {
        let start = self.source.offset();
        let pair = (self.source.peek().unwrap_or(0), self.source.peek_at(1).unwrap_or(0));
        let (token, length) = match pair {
            (b'<', b'>') | (b'!', b'=') => (Token::Operator(Operator::NotEqual), 2),
            (b'<', b'=') => (Token::Operator(Operator::LessOrEqual), 2),
            (b'>', b'=') => (Token::Operator(Operator::GreaterOrEqual), 2),
            (b'<', b'<') => (Token::Operator(Operator::ShiftLeft), 2),
            (b'>', b'>') => (Token::Operator(Operator::ShiftRight), 2),
            (b'<', _) => (Token::Operator(Operator::Less), 1),
            (b'>', _) => (Token::Operator(Operator::Greater), 1),
            (b'=', _) => (Token::Operator(Operator::Equal), 1),
            (b'|', _) => (Token::Operator(Operator::BitOr), 1),
            (b'#', _) => (Token::Operator(Operator::BitXor), 1),
            (b'&', _) => (Token::Operator(Operator::BitAnd), 1),
            (b'+', _) => (Token::Operator(Operator::Add), 1),
            (b'-', _) => (Token::Operator(Operator::Subtract), 1),
            (b'*', _) => (Token::Operator(Operator::Multiply), 1),
            (b'/', _) => (Token::Operator(Operator::Divide), 1),
            (b'%', _) => (Token::Operator(Operator::Modulo), 1),
            (b'~', _) => (Token::Invert, 1),
            (b'(', _) => (Token::Open, 1),
            (b')', _) => (Token::Close, 1),
            (b',', _) => (Token::Comma, 1),
            _ => {
                self.source.advance(1);
                let text = self.source.since(start);
                return Err(LexicalError { message: "unexpected character", text });
            }
        };
        self.source.advance(length);
        Ok(token)
    }

    /// Takes the rest of the command. pgbench does so to show the whole of it with an error, and what is no token
    /// then becomes the error; the last such is returned, with the offset behind it.
    pub(super) fn finish(&mut self) -> Option<(LexicalError<'a>, usize)> {
        let mut last = None;
        while !self.ended {
            match self.next() {
                Ok(Token::EndOfCommand) => break,
                Ok(_) => {}
                Err(error) => last = Some((error, self.offset())),
            }
        }
        last
    }
}

/// A keyword, in whatever case, or else a function's name.
fn word(text: &[u8]) -> Token<'_> {
    const KEYWORDS: &[(&str, Token<'static>)] = &[
        ("and", Token::Operator(Operator::And)),
        ("or", Token::Operator(Operator::Or)),
        ("not", Token::Not),
        ("is", Token::Operator(Operator::Is)),
        ("isnull", Token::Operator(Operator::IsNull)),
        ("notnull", Token::Operator(Operator::NotNull)),
        ("case", Token::Case),
        ("when", Token::When),
        ("then", Token::Then),
        ("else", Token::Else),
        ("end", Token::End),
        ("null", Token::Null),
        ("true", Token::Boolean(true)),
        ("false", Token::Boolean(false)),
    ];
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.as_bytes().eq_ignore_ascii_case(text));
    keyword.map_or(Token::Function(text), |(_, token)| *token)
}
