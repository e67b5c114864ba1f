//! The tokens of expressions.

use super::ExpressionError;
use super::function::{Binary, Integer, Number};
use crate::c_numbers;
use crate::script::names::{continues_name, starts_name};
use crate::script::source::Source;
use crate::script::{Language, Value};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Constant(Value),
    /// One more than the greatest integer, which only makes sense behind a minus.
    IntegerEnd,
    Variable(&'a [u8]),
    /// What stands between its quotes.
    Text(&'a [u8]),
    Function(&'a [u8]),
    Operator(Operator),
    Not,
    /// `~`
    Invert,
    Open,
    Close,
    Comma,
    /// Around the number of an element.
    OpenElement,
    CloseElement,
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
    Infix(Binary, Precedence),
    /// A comparison with its sides exchanged: `>` and `>=`.
    Reversed(Number),
    /// `||`
    Concatenate,
}

/// How tightly operators bind, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bits,
    Sum,
    Product,
    Sign,
}

impl Operator {
    pub(super) const ADD: Self = Self::Infix(Binary::Number(Number::Add), Precedence::Sum);
    pub(super) const SUBTRACT: Self = Self::Infix(Binary::Number(Number::Subtract), Precedence::Sum);

    pub(super) fn precedence(self) -> Precedence {
        match self {
            Self::Or => Precedence::Or,
            Self::And => Precedence::And,
            Self::Is | Self::IsNull | Self::NotNull => Precedence::Is,
            Self::Infix(_, precedence) => precedence,
            Self::Reversed(_) => Precedence::Comparison,
            Self::Concatenate => Precedence::Bits,
        }
    }
}

impl Precedence {
    /// All infix operators associate to the left, but for those that do not at all.
    pub(super) fn associates(self) -> bool {
        !matches!(self, Precedence::Is | Precedence::Comparison)
    }
}

/// Takes tokens from a script, up to the end of the command.
#[derive(Debug)]
pub(in crate::script) struct Lexer<'s, 'a> {
    source: &'s mut Source<'a>,
    pub(super) language: Language,
    /// The last token was the end of a line.
    ended: bool,
}

impl<'s, 'a> Lexer<'s, 'a> {
    pub(in crate::script) fn new(source: &'s mut Source<'a>, language: Language) -> Self {
        Self { source, language, ended: false }
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, ExpressionError> {
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
                Ok(Token::Variable(self.name()))
            }
            b'\'' if self.language == Language::Workload => self.text(),
            b'|' if self.language == Language::Workload && self.source.peek_at(1) == Some(b'|') => {
                self.source.advance(2);
                Ok(Token::Operator(Operator::Concatenate))
            }
            _ if continues_name(first) => Ok(word(self.source.take_while(continues_name))),
            _ => self.symbol(),
        }
    }

    /// A variable's name; in workload files it may have a point in it: `:parent.id`.
    fn name(&mut self) -> &'a [u8] {
        let start = self.source.offset();
        self.source.take_while(continues_name);
        while self.language == Language::Workload
            && self.source.peek() == Some(b'.')
            && self.source.peek_at(1).is_some_and(starts_name)
        {
            self.source.advance(1);
            self.source.take_while(continues_name);
        }
        self.source.since(start)
    }

    /// Up to the quote that is not doubled, within the line.
    fn text(&mut self) -> Result<Token<'a>, ExpressionError> {
        self.source.advance(1);
        let start = self.source.offset();
        loop {
            self.source.take_while(|byte| byte != b'\'' && byte != b'\n');
            let text = self.source.since(start);
            match (self.source.peek(), self.source.peek_at(1)) {
                (Some(b'\''), Some(b'\'')) => self.source.advance(2),
                (Some(b'\''), _) => {
                    self.source.advance(1);
                    return Ok(Token::Text(text));
                }
                _ => return Err(self.error("a text without its closing quote", Some(text))),
            }
        }
    }

    fn number(&mut self) -> Result<Token<'a>, ExpressionError> {
        let start = self.source.offset();
        let digits = self.source.take_while(|byte| byte.is_ascii_digit());
        let point = self.source.peek() == Some(b'.');
        if point {
            self.source.advance(1);
            self.source.take_while(|byte| byte.is_ascii_digit());
        }
        if !self.exponent() && !point {
            // As the digits stand: with a zero before it, the end of the integers is too large.
            return match c_numbers::integer(str::from_utf8(digits).unwrap_or_default()) {
                Ok(value) => Ok(Token::Constant(Value::Integer(value))),
                Err(_) if digits == b"9223372036854775808" => Ok(Token::IntegerEnd),
                Err(_) => Err(self.error("bigint constant overflow", Some(digits))),
            };
        }
        let text = self.source.since(start);
        let value = c_numbers::double(str::from_utf8(text).unwrap_or_default())
            .map(|value| Token::Constant(Value::Double(value)));
        value.map_err(|_| self.error("double constant overflow", Some(text)))
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

    fn symbol(&mut self) -> Result<Token<'a>, ExpressionError> {
        let comparison = |function| Operator::Infix(Binary::Number(function), Precedence::Comparison);
        let product = |function| Operator::Infix(function, Precedence::Product);
        let bits = |function| Operator::Infix(Binary::Integer(function), Precedence::Bits);
        let start = self.source.offset();
        let pair = (self.source.peek().unwrap_or(0), self.source.peek_at(1).unwrap_or(0));
        let (token, length) = match pair {
            (b'<', b'>') | (b'!', b'=') => (Token::Operator(comparison(Number::NotEqual)), 2),
            (b'<', b'=') => (Token::Operator(comparison(Number::LessOrEqual)), 2),
            (b'>', b'=') => (Token::Operator(Operator::Reversed(Number::LessOrEqual)), 2),
            (b'<', b'<') => (Token::Operator(bits(Integer::ShiftLeft)), 2),
            (b'>', b'>') => (Token::Operator(bits(Integer::ShiftRight)), 2),
            (b'<', _) => (Token::Operator(comparison(Number::Less)), 1),
            (b'>', _) => (Token::Operator(Operator::Reversed(Number::Less)), 1),
            (b'=', _) => (Token::Operator(comparison(Number::Equal)), 1),
            (b'|', _) => (Token::Operator(bits(Integer::BitOr)), 1),
            (b'#', _) => (Token::Operator(bits(Integer::BitXor)), 1),
            (b'&', _) => (Token::Operator(bits(Integer::BitAnd)), 1),
            (b'+', _) => (Token::Operator(Operator::ADD), 1),
            (b'-', _) => (Token::Operator(Operator::SUBTRACT), 1),
            (b'*', _) => (Token::Operator(product(Binary::Number(Number::Multiply))), 1),
            (b'/', _) => (Token::Operator(product(Binary::Number(Number::Divide))), 1),
            (b'%', _) => (Token::Operator(product(Binary::Integer(Integer::Modulo))), 1),
            (b'~', _) => (Token::Invert, 1),
            (b'(', _) => (Token::Open, 1),
            (b')', _) => (Token::Close, 1),
            (b',', _) => (Token::Comma, 1),
            (b'[', _) if self.language == Language::Workload => (Token::OpenElement, 1),
            (b']', _) if self.language == Language::Workload => (Token::CloseElement, 1),
            _ => {
                self.source.advance(1);
                return Err(self.error("unexpected character", Some(self.source.since(start))));
            }
        };
        self.source.advance(length);
        Ok(token)
    }

    /// Whether an element is what comes next.
    pub(super) fn is_at_element(&self) -> bool {
        self.language == Language::Workload && self.source.peek() == Some(b'[')
    }

    /// Takes the rest of the command. pgbench does so to show the whole of it with an error, and what is no token
    /// then becomes the error: the last such.
    pub(super) fn finish(&mut self) -> Option<ExpressionError> {
        let mut last = None;
        while !self.ended {
            match self.next() {
                Ok(Token::EndOfCommand) => break,
                Ok(_) => {}
                Err(error) => last = Some(error),
            }
        }
        last
    }

    /// An error that shows behind the last token.
    pub(super) fn error(&self, message: &'static str, about: Option<&[u8]>) -> ExpressionError {
        let more = about.map(|text| String::from_utf8_lossy(text).into_owned());
        ExpressionError { message, more, offset: self.source.offset() }
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
        ("null", Token::Constant(Value::Null)),
        ("true", Token::Constant(Value::Boolean(true))),
        ("false", Token::Constant(Value::Boolean(false))),
    ];
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.as_bytes().eq_ignore_ascii_case(text));
    keyword.map_or(Token::Function(text), |(_, token)| *token)
}
