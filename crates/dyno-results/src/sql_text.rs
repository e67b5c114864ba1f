//! The text of statements in pieces (code, quotes, comments and semicolons), and in statements, as a product's own client reads it.
//! Pure.

mod block;
mod commands;
mod variables;

use block::Block;
pub use commands::{Commands, client_command};
pub use variables::names_by_variables;

/// What a product takes for quotes and comments, beside `'…'`, `"…"`, `E'…'` and `/* … */`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syntax {
    /// In `'…'` and `"…"` a character behind a backslash ends nothing.
    pub backslashes: bool,
    /// Names in backticks.
    pub backticks: bool,
    /// `$$ … $$` and `$tag$ … $tag$`.
    pub dollars: bool,
    pub hashes: Hashes,
    /// `--` begins a comment only with a blank behind it.
    pub dashes_need_blank: bool,
    /// Comments `/* … */` stand in each other.
    pub nests: bool,
    /// What its client carries out itself.
    pub commands: &'static Commands,
}

/// Where `#` begins a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashes {
    Nowhere,
    /// With a blank or `!` behind it.
    BeforeBlank,
    /// Where nothing but blanks stands before it in its line: elsewhere it may be an operator.
    OnOwnLine,
    Anywhere,
}

impl Syntax {
    /// Of a product that is not known.
    pub const ANY: Self = Self {
        backticks: true,
        hashes: Hashes::OnOwnLine,
        nests: false,
        commands: &Commands::NONE,
        ..Self::POSTGRESQL
    };
    pub const POSTGRESQL: Self = Self {
        backslashes: false,
        backticks: false,
        dollars: true,
        hashes: Hashes::Nowhere,
        dashes_need_blank: false,
        nests: true,
        commands: &Commands::BACKSLASH,
    };
    pub const MYSQL: Self = Self {
        backslashes: true,
        backticks: true,
        dollars: false,
        hashes: Hashes::Anywhere,
        dashes_need_blank: true,
        nests: false,
        commands: &Commands::MYSQL,
    };
    pub const SQLITE: Self = Self { dollars: false, commands: &Commands::POINT, ..Self::ANY };

    /// A setting of the server may decide over backslashes.
    #[must_use]
    pub fn with_backslashes(self, backslashes: bool) -> Self {
        Self { backslashes, ..self }
    }
}

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Code,
    Quoted,
    Comment,
    Semicolon,
}

/// The comments of a text that say how answers to it are compared, without what precedes `dyno:`.
pub fn directives<'t>(text: &'t str, syntax: Syntax) -> impl Iterator<Item = &'t str> {
    let said = |(piece, text): (Piece, &'t str)| {
        let bare = text.trim_start_matches(['-', '#', '/', '*', ' ', '\t']).trim_end_matches("*/").trim();
        (piece == Piece::Comment && bare.starts_with("dyno:")).then_some(bare)
    };
    readable_pieces(text, syntax).into_iter().filter_map(said)
}

/// The statements of a text with their comments, without the semicolons between them. What has nothing but comments is none. A
/// semicolon in brackets or in the body of a function, a trigger or a `BEGIN NOT ATOMIC` ends nothing.
pub fn statements(text: &str, syntax: Syntax) -> Vec<&str> {
    let (mut found, mut block, mut says) = (Vec::new(), Block::default(), false);
    let (mut from, mut at) = (0, 0);
    for (piece, part) in readable_pieces(text, syntax) {
        match piece {
            Piece::Semicolon if !block.is_open() => {
                if std::mem::take(&mut says) {
                    found.push(text[from..at].trim());
                }
                (from, block) = (at + part.len(), Block::default());
            }
            Piece::Semicolon => block.word(""),
            Piece::Code => {
                says |= !part.trim().is_empty();
                block.read(part);
            }
            Piece::Quoted => {
                says = true;
                block.word("");
            }
            Piece::Comment => says |= is_hint(part),
        }
        at += part.len();
    }
    if says {
        found.push(text[from..].trim());
    }
    found
}

/// A text without the blanks and comments that it begins with.
pub fn behind_comments(text: &str, syntax: Syntax) -> &str {
    let mut at = 0;
    for (piece, part) in pieces(text, syntax) {
        let is_blank = match piece {
            Piece::Comment => !is_hint(part),
            _ => part.trim().is_empty(),
        };
        if !is_blank {
            break;
        }
        at += part.len();
    }
    text[at..].trim_start()
}

/// A comment that the server reads.
pub fn is_hint(comment: &str) -> bool {
    comment.starts_with("/*+") || comment.starts_with("/*!")
}

/// The pieces of a text, read so that its quotes end if there is such a reading.
pub fn readable_pieces(text: &str, syntax: Syntax) -> Vec<(Piece, &str)> {
    let own = pieces(text, syntax);
    if !never_ends(&own) {
        return own;
    }
    let other = pieces(text, syntax.with_backslashes(!syntax.backslashes));
    if never_ends(&other) { own } else { other }
}

/// Whether the last quotes do not end.
pub fn never_ends(pieces: &[(Piece, &str)]) -> bool {
    pieces.last().is_some_and(|(piece, text)| *piece == Piece::Quoted && !is_closed(text))
}

/// Cuts a text into its pieces.
pub fn pieces(text: &str, syntax: Syntax) -> Vec<(Piece, &str)> {
    let mut found: Vec<(Piece, &str)> = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while let Some(next) = text[at..].find(OTHER_THAN_CODE) {
        at += next;
        let Some((piece, length)) = other_than_code(text, at, syntax) else {
            at += 1;
            continue;
        };
        if begun < at {
            found.push((Piece::Code, &text[begun..at]));
        }
        found.push((piece, &text[at..at + length]));
        at += length;
        begun = at;
    }
    if begun < text.len() {
        found.push((Piece::Code, &text[begun..]));
    }
    found
}

/// With what something may begin that is no code.
const OTHER_THAN_CODE: [char; 8] = [';', '\'', '"', '`', '$', '-', '#', '/'];

/// What begins at a place that is no code, and how long it is.
fn other_than_code(text: &str, at: usize, syntax: Syntax) -> Option<(Piece, usize)> {
    let (before, rest) = text.split_at(at);
    let next = || rest.chars().nth(1);
    match rest.chars().next()? {
        ';' => Some((Piece::Semicolon, 1)),
        '\'' => Some((Piece::Quoted, quoted(rest, '\'', syntax.backslashes || begins_escapes(before)))),
        '"' => Some((Piece::Quoted, quoted(rest, '"', syntax.backslashes))),
        '`' if syntax.backticks => Some((Piece::Quoted, quoted(rest, '`', false))),
        '$' if syntax.dollars && !before.ends_with(is_of_word) => {
            dollar_quoted(rest).map(|length| (Piece::Quoted, length))
        }
        '-' if rest.starts_with("--") => {
            let begins =
                !syntax.dashes_need_blank || rest[2..].chars().next().is_none_or(char::is_whitespace);
            begins.then(|| (Piece::Comment, behind(rest, 2, "\n")))
        }
        '#' => {
            let begins_line = || {
                let before = before.trim_end_matches([' ', '\t']);
                before.is_empty() || before.ends_with('\n')
            };
            let begins = match syntax.hashes {
                Hashes::Nowhere => false,
                Hashes::BeforeBlank => matches!(next(), Some(' ' | '!')),
                Hashes::OnOwnLine => begins_line(),
                Hashes::Anywhere => true,
            };
            begins.then(|| (Piece::Comment, behind(rest, 1, "\n")))
        }
        '/' if rest.starts_with("/*") => {
            Some((Piece::Comment, if syntax.nests { nested(rest) } else { behind(rest, 2, "*/") }))
        }
        _ => None,
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether quotes behind this are those of `E'…'`.
fn begins_escapes(before: &str) -> bool {
    before.strip_suffix(['e', 'E']).is_some_and(|before| !before.ends_with(is_of_word))
}

/// How long a text is up to the end of what `end` closes, which is looked for from `from` on.
fn behind(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |found| from + found + end.len())
}

/// The same of a comment that may have others in it.
fn nested(text: &str) -> usize {
    let (mut open, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['*', '/']) {
        at += found;
        let sign = text.get(at..at + 2);
        match sign {
            Some("/*") => open += 1,
            Some("*/") => open -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if open == 0 {
            return at;
        }
    }
    text.len()
}

/// How long the quotes are with which a text begins. A doubled quote ends quotes and begins others, which comes to the same.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && escapes {
            letters.next();
        } else if letter == quote {
            return at + 1;
        }
    }
    text.len()
}

/// The same of `$$…$$` and `$tag$…$tag$`.
fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = text[1..].find('$')?;
    let (quote, name) = (&text[..tag + 2], &text[1..=tag]);
    let is_tag = name.chars().all(is_of_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| behind(text, quote.len(), quote))
}

fn is_closed(quoted: &str) -> bool {
    let quote = quoted.chars().next().unwrap_or_default();
    quoted.len() > 1 && quoted.ends_with(quote)
}

#[cfg(test)]
mod tests;
