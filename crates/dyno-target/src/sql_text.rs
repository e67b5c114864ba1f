//! SQL for servers that take one statement for each request, with its values as literals whose escapes begin with a backslash.

use std::borrow::Cow;
use std::fmt::Write as _;

use dyno_engine::driver::{Operation, Statement, Value, Values};

/// What of a product's SQL is no statement's end, beside `'…'`, `"…"`, `-- …` and `/* … */`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quotes {
    /// In quotes a character behind a backslash ends nothing.
    pub(crate) backslashes: bool,
    /// Names in backticks.
    pub(crate) backticks: bool,
    /// `$$ … $$` and `$tag$ … $tag$`.
    pub(crate) dollars: bool,
    /// Comments that begin with `# ` or `#!`.
    pub(crate) hashes: bool,
}

/// The statements that an operation comes to, where those that a session was opened with are `known`.
pub(crate) fn of_operation<'a>(
    operation: Operation<'a>,
    known: &[Statement],
    quotes: Quotes,
) -> Vec<Cow<'a, str>> {
    match operation {
        Operation::Sql(sql) => statements(sql, quotes).map(Cow::Borrowed).collect(),
        Operation::Statement { id, values } => {
            let statement = known.get(usize::from(id.0));
            statement.map(|statement| with_values(statement, values).into()).into_iter().collect()
        }
    }
}

/// The statements of a text, without what is between them.
pub(crate) fn statements(sql: &str, quotes: Quotes) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    let pieces = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at_checked(end(rest.as_bytes(), quotes)).unwrap_or((rest, ""));
        rest = behind.get(1..).unwrap_or_default();
        Some(piece.trim())
    });
    pieces.filter(move |piece| !behind_blanks(piece, quotes).is_empty())
}

/// A text behind the blanks and comments that it begins with.
pub(crate) fn behind_blanks(mut sql: &str, quotes: Quotes) -> &str {
    loop {
        sql = sql.trim_start();
        let comment = comment(sql.as_bytes(), quotes);
        if comment == 0 {
            return sql;
        }
        sql = sql.get(comment..).unwrap_or_default();
    }
}

/// The place of the first `;` that stands in neither quotes nor a comment.
fn end(sql: &[u8], quotes: Quotes) -> usize {
    let mut at = 0;
    while let Some(rest @ [byte, ..]) = sql.get(at..) {
        at += match byte {
            b';' => return at,
            b'\'' | b'"' => quoted(rest, quotes),
            b'`' if quotes.backticks => quoted(rest, quotes),
            b'$' if quotes.dollars => dollars(rest),
            byte if is_of_word(*byte) => word(rest, quotes),
            _ => comment(rest, quotes).max(1),
        };
    }
    sql.len()
}

/// The words of a statement.
#[derive(Debug, Default)]
pub(crate) struct Words<'a> {
    pub(crate) code: Vec<&'a str>,
    pub(crate) quoted: Vec<&'a str>,
}

/// The statements of a text of an unknown product. A backslash in quotes means something to some of them only: if the quotes end in
/// one reading only, it is that, and otherwise both count.
pub(crate) fn readings(sql: &str) -> impl Iterator<Item = Vec<Words<'_>>> {
    let quotes = Quotes { backslashes: false, backticks: true, dollars: true, hashes: false };
    let all = [quotes, Quotes { backslashes: true, ..quotes }].map(|quotes| words(sql, quotes));
    let ends = all.each_ref().map(|(_, ends)| *ends);
    let counts = move |own: bool| own || ends == [false; 2];
    all.into_iter().filter_map(move |(words, ends)| counts(ends).then_some(words))
}

/// The words of a text by statements, without those of comments, and whether its quotes end.
fn words(sql: &str, quotes: Quotes) -> (Vec<Words<'_>>, bool) {
    let (mut found, mut at, mut ends) = (vec![Words::default()], 0, true);
    while let Some(rest @ [byte, ..]) = sql.as_bytes().get(at..) {
        let mut length = 1;
        let own = found.last_mut();
        match byte {
            b';' => found.push(Words::default()),
            b'\'' | b'"' | b'`' | b'$' => {
                length = if *byte == b'$' { dollars(rest) } else { self::quoted(rest, quotes) };
                let text = sql.get(at..at + length).unwrap_or_default();
                ends &= *byte == b'$' || length > 1 && rest.get(length - 1) == Some(byte);
                let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                own.into_iter()
                    .for_each(|own| own.quoted.extend(words.clone().filter(|word| !word.is_empty())));
            }
            byte if is_of_word(*byte) => {
                length = word(rest, quotes);
                own.into_iter().for_each(|own| own.code.extend(sql.get(at..at + length)));
            }
            // MySQL reads it, from behind the number of a version on.
            _ if rest.starts_with(b"/*!") => {
                length = 3 + rest.iter().skip(3).take_while(|byte| byte.is_ascii_digit()).count();
            }
            // On a line of its own; elsewhere it may be an operator.
            b'#' if sql.get(..at).is_some_and(|before| before.is_empty() || before.ends_with('\n')) => {
                length = line(rest);
            }
            _ => length = comment(rest, quotes).max(1),
        }
        at += length;
    }
    (found, ends)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// How long a name or number is that begins here. A `$` in it begins nothing.
fn word(sql: &[u8], quotes: Quotes) -> usize {
    let goes_on = |byte: &&u8| is_of_word(**byte) || **byte == b'$' && quotes.dollars;
    sql.iter().take_while(goes_on).count()
}

/// The same of a text in quotes. A quote in it is doubled, which reads as two texts.
fn quoted(sql: &[u8], quotes: Quotes) -> usize {
    let mut at = 1;
    while let Some(&byte) = sql.get(at) {
        at += match byte {
            b'\\' if quotes.backslashes => 2,
            byte if Some(&byte) == sql.first() => return at + 1,
            _ => 1,
        };
    }
    sql.len()
}

/// The same of `$tag$ … $tag$`; 1 where none begins.
fn dollars(sql: &[u8]) -> usize {
    let name = sql.iter().skip(1).take_while(|byte| is_of_word(**byte)).count();
    let is_tag = sql.get(name + 1) == Some(&b'$') && !sql.get(1).is_some_and(u8::is_ascii_digit);
    if !is_tag {
        return 1;
    }
    let (tag, text) = sql.split_at(name + 2);
    text.windows(tag.len()).position(|it| it == tag).map_or(sql.len(), |length| length + 2 * tag.len())
}

/// The same of a comment; 0 where none begins.
fn comment(sql: &[u8], quotes: Quotes) -> usize {
    match sql {
        [b'-', b'-', ..] => line(sql),
        [b'#', b' ' | b'!', ..] if quotes.hashes => line(sql),
        [b'/', b'*', text @ ..] => {
            text.windows(2).position(|it| it == b"*/").map_or(sql.len(), |length| length + 4)
        }
        _ => 0,
    }
}

fn line(sql: &[u8]) -> usize {
    sql.iter().position(|byte| *byte == b'\n').unwrap_or(sql.len())
}

/// Whether a statement's answer is rows that are sent while it still runs.
pub(crate) fn returns_rows(sql: &str, quotes: Quotes) -> bool {
    const WORDS: [&str; 9] =
        ["select", "with", "show", "describe", "desc", "explain", "exists", "from", "values"];
    let sql = behind_blanks(sql, quotes);
    let word: String = sql.chars().take_while(char::is_ascii_alphabetic).collect();
    sql.starts_with('(') || WORDS.iter().any(|it| it.eq_ignore_ascii_case(&word))
}

/// A statement with its values in the place of the parameters; one without a value is NULL.
pub(crate) fn with_values(statement: &Statement, values: Values<'_>) -> String {
    let values: Vec<Value<'_>> = values.iter().collect();
    statement.with_placeholders(|sql, index| literal(values.get(index).copied().unwrap_or(Value::Null), sql))
}

fn literal(value: Value<'_>, sql: &mut String) {
    // Writing into a string cannot fail.
    let _ = match value {
        Value::Null => write!(sql, "NULL"),
        Value::Integer(value) => write!(sql, "{value}"),
        Value::Double(value) => write!(sql, "{value:e}"),
        Value::Text(text) => {
            let text = String::from_utf8_lossy(text).replace('\\', r"\\").replace('\'', r"\'");
            write!(sql, "'{text}'")
        }
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Quotes = Quotes { backslashes: false, backticks: false, dollars: false, hashes: false };
    const ALL: Quotes = Quotes { backslashes: true, backticks: true, dollars: true, hashes: true };

    #[test]
    fn a_semicolon_ends_a_statement_only_where_it_is_one() {
        let escapes = Quotes { backslashes: true, backticks: true, ..NONE };
        let dollars = Quotes { dollars: true, ..NONE };
        for (quotes, sql, expected) in [
            (NONE, "SELECT 1", &["SELECT 1"][..]),
            (NONE, "SELECT 1; SELECT 2 ;", &["SELECT 1", "SELECT 2"]),
            (NONE, "BEGIN; SELECT 'a;''b', \";\"; COMMIT;", &["BEGIN", "SELECT 'a;''b', \";\"", "COMMIT"]),
            (NONE, "a /* ; */ b; c", &["a /* ; */ b", "c"]),
            (NONE, " ; ;-- nothing", &[]),
            (NONE, "SELECT 1; /* nothing */ -- more", &["SELECT 1"]),
            (NONE, "'é;'; é", &["'é;'", "é"]),
            (NONE, " ;; ", &[]),
            (NONE, "'never ends; /* ", &["'never ends; /*"]),
            (NONE, "/* never ends; ", &[]),
            (NONE, r"SELECT '\'; x", &[r"SELECT '\'", "x"]),
            (NONE, "SELECT $$; $$", &["SELECT $$", "$$"]),
            (escapes, r"SELECT ';', 'it\';s', 'a''b;' ; x", &[r"SELECT ';', 'it\';s', 'a''b;'", "x"]),
            (escapes, "SELECT `a;b`, \"c;d\" -- e;f\n; g", &["SELECT `a;b`, \"c;d\" -- e;f", "g"]),
            (escapes, r"'ends so\", &[r"'ends so\"]),
            (
                dollars,
                "SELECT 1 -- one; \n; /* ; */ ; SELECT $1, $$ ; $$, $a$;$$;$a$",
                &["SELECT 1 -- one;", "SELECT $1, $$ ; $$, $a$;$$;$a$"],
            ),
            (dollars, "SELECT a$b$; c$b$", &["SELECT a$b$", "c$b$"]),
            (
                ALL,
                "SELECT $$a;b$$; SELECT 1 # one; \n, 2 #! two;\n",
                &["SELECT $$a;b$$", "SELECT 1 # one; \n, 2 #! two;"],
            ),
            (ALL, "SELECT $$a;é", &["SELECT $$a;é"]),
        ] {
            assert_eq!(statements(sql, quotes).collect::<Vec<_>>(), expected, "{sql}");
        }
    }

    proptest! {
        /// Nothing is lost but what is between statements, and nothing panics.
        #[test]
        fn any_text_is_taken_apart(sql in r"([a-z;'\x60$#\\/* \n-]|é|--|/\*|\*/|\$\$){0,30}", all in any::<bool>()) {
            let quotes = if all { ALL } else { NONE };
            let found: Vec<&str> = statements(&sql, quotes).collect();
            let mut rest = sql.as_str();
            for one in found {
                rest = rest.split_once(one).unwrap().1;
            }
            let _ = returns_rows(&sql, quotes);
        }
    }

    #[test]
    fn rows_are_told_from_effects() {
        for sql in [
            "SELECT 1",
            " with x as (select 1) select 2",
            "(SELECT 1) UNION ALL SELECT 2",
            "show tables",
            "-- why\n/* what */ SELECT 1",
        ] {
            assert!(returns_rows(sql, ALL), "{sql}");
        }
        for sql in ["INSERT INTO t SELECT 1", "CREATE TABLE t (a Int8)", "", "selecting", "-- SELECT"] {
            assert!(!returns_rows(sql, ALL), "{sql}");
        }
    }

    #[test]
    fn literals_read_back_as_the_value() {
        let written = |value| {
            let mut sql = String::new();
            literal(value, &mut sql);
            sql
        };
        assert_eq!(written(Value::Null), "NULL");
        assert_eq!(written(Value::Integer(-7)), "-7");
        assert_eq!(written(Value::Double(0.5)), "5e-1");
        assert_eq!(written(Value::Text(br"it's a\b")), r"'it\'s a\\b'");
    }
}
