//! The text of a statement in pieces: code, quotes, comments and semicolons. Products differ in whether a backslash in quotes takes
//! away the meaning of the letter behind it. Pure.

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Code,
    Quoted,
    Comment,
    Semicolon,
}

/// The comments of a text that say how answers to it are compared, without what precedes `dyno:`.
pub fn directives<'t>(text: &'t str) -> impl Iterator<Item = &'t str> {
    let said = |(piece, text): (Piece, &'t str)| {
        let bare = text.trim_start_matches(['-', '#', '/', '*', ' ', '\t']).trim_end_matches("*/").trim();
        (piece == Piece::Comment && bare.starts_with("dyno:")).then_some(bare)
    };
    readable_pieces(text).into_iter().filter_map(said)
}

/// The pieces of a text, read so that its quotes end if there is such a reading.
#[must_use]
pub fn readable_pieces(text: &str) -> Vec<(Piece, &str)> {
    let plain = pieces(text, false);
    if never_ends(&plain) { pieces(text, true) } else { plain }
}

/// Whether the last quotes do not end.
#[must_use]
pub fn never_ends(pieces: &[(Piece, &str)]) -> bool {
    pieces.last().is_some_and(|(piece, text)| *piece == Piece::Quoted && !is_closed(text))
}

/// Cuts a text into its pieces.
#[must_use]
pub fn pieces(text: &str, escapes: bool) -> Vec<(Piece, &str)> {
    let mut found: Vec<(Piece, &str)> = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        // On a line of its own or before a statement; elsewhere it may be an operator.
        let begins_line = || {
            let before = text[..at].trim_end_matches([' ', '\t']);
            before.is_empty() || before.ends_with('\n')
        };
        let piece = match letter {
            ';' => Some((Piece::Semicolon, 1)),
            '\'' | '"' | '`' => {
                let escapes = escapes || (letter == '\'' && begins_escapes(&text[..at]));
                Some((Piece::Quoted, quoted(rest, letter, escapes)))
            }
            '$' if !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                dollar_quoted(rest).map(|length| (Piece::Quoted, length))
            }
            '-' if rest.starts_with("--") => Some((Piece::Comment, behind(rest, 2, "\n"))),
            '#' if begins_line() => Some((Piece::Comment, behind(rest, 1, "\n"))),
            '/' if rest.starts_with("/*") => Some((Piece::Comment, behind(rest, 2, "*/"))),
            _ => None,
        };
        let Some((piece, length)) = piece else {
            at += letter.len_utf8();
            continue;
        };
        if begun < at {
            found.push((Piece::Code, &text[begun..at]));
        }
        found.push((piece, &rest[..length]));
        at += length;
        begun = at;
    }
    if begun < at {
        found.push((Piece::Code, &text[begun..at]));
    }
    found
}

/// Whether quotes behind this are those of `E'…'`.
fn begins_escapes(before: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    before.strip_suffix(['e', 'E']).is_some_and(|before| !before.ends_with(is_part))
}

/// How long a text is up to the end of what `end` closes, which is looked for from `from` on.
fn behind(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |found| from + found + end.len())
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
    let is_tag = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| behind(text, quote.len(), quote))
}

fn is_closed(quoted: &str) -> bool {
    let quote = quoted.chars().next().unwrap_or_default();
    quoted.len() > 1 && quoted.ends_with(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_escapes_in_quotes_behind_an_e() {
        let quoted = |text| {
            let pieces = readable_pieces(text).into_iter();
            pieces.filter(|(piece, _)| *piece == Piece::Quoted).map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(quoted(r"SELECT E'a\'b', e'c\'d'"), [r"'a\'b'", r"'c\'d'"]);
        assert_eq!(quoted(r"SELECT 'C:\', like'\'"), [r"'C:\'", r"'\'"]);
    }

    #[test]
    fn only_comments_are_directives() {
        let text = "# dyno: a\n/* dyno: b */ SELECT 'dyno: c', '-- dyno: d' -- dyno: e";
        assert_eq!(directives(text).collect::<Vec<_>>(), ["dyno: a", "dyno: b", "dyno: e"]);
    }
}
