//! The words and signs of a query's text, without comments.

use crate::sql_text::{Piece, Syntax, readable_pieces};

/// A word, a number, a text in quotes or a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Brackets that are open around it; its own do not count.
    pub(super) depth: usize,
}

impl Token<'_> {
    /// Whether it is this word, in small letters, without quotes.
    pub(super) fn is_word(self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_one_of(self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(word))
    }

    /// Whether it begins with one of these.
    pub(super) fn is_word_that_begins(self, beginnings: &[&str]) -> bool {
        let word = self.text.to_ascii_lowercase();
        beginnings.iter().any(|beginning| word.starts_with(beginning))
    }

    /// A word, or a name in quotes.
    pub(super) fn is_name(self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '`'))
    }

    /// A number or a text.
    pub(super) fn is_value(self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '\'' | '$'))
    }

    /// Without its quotes.
    pub(super) fn bare(&self) -> &str {
        self.text.trim_matches(['"', '`'])
    }

    /// Whether it is the same name, whatever its quotes, or the same.
    pub(super) fn is_like(self, other: &Self) -> bool {
        self.text == other.text || (self.is_name() && self.bare().eq_ignore_ascii_case(other.bare()))
    }
}

/// Reads a text into its tokens.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut depth) = (Vec::new(), 0);
    for (piece, text) in readable_pieces(text, Syntax::ANY) {
        match piece {
            Piece::Code => read_code(text, &mut depth, &mut found),
            Piece::Quoted => found.push(Token { text, depth }),
            Piece::Comment | Piece::Semicolon => {}
        }
    }
    found
}

fn read_code<'a>(text: &'a str, depth: &mut usize, found: &mut Vec<Token<'a>>) {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if c.is_alphanumeric() || c == '_' => rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        if matches!(first, ')' | ']') {
            *depth = depth.saturating_sub(1);
        }
        found.push(Token { text: &rest[..length], depth: *depth });
        if matches!(first, '(' | '[') {
            *depth += 1;
        }
        rest = rest[length..].trim_start();
    }
}
