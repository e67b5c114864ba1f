//! What can be told of SQL without its grammar: where a statement ends, and what its first word does.

/// What a statement answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Rows,
    /// Rows, each of which it has changed.
    ChangedRows,
    /// No rows; how many it has changed, if that is known.
    Count,
}

/// What a statement does to the session's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Begins,
    /// Even if it fails: what cannot be committed is rolled back.
    Ends,
    None,
}

/// Words that begin statements without rows. All others may have some.
const WITHOUT_ROWS: [&str; 20] = [
    "insert", "update", "delete", "merge", "truncate", "copy", "create", "drop", "alter", "comment", "set",
    "reset", "begin", "start", "commit", "end", "rollback", "abort", "attach", "detach",
];

impl Answer {
    pub(super) fn of(sql: &str) -> Self {
        let first = first_word(sql);
        if !WITHOUT_ROWS.iter().any(|word| first.eq_ignore_ascii_case(word)) {
            return Self::Rows;
        }
        let returns = |word: &str| word.eq_ignore_ascii_case("returning");
        match sql.split(|c: char| !c.is_alphanumeric() && c != '_').any(returns) {
            true => Self::ChangedRows,
            false => Self::Count,
        }
    }
}

impl Effect {
    pub(super) fn of(sql: &str) -> Self {
        let first = first_word(sql);
        let is = |words: &[&str]| words.iter().any(|word| first.eq_ignore_ascii_case(word));
        match () {
            () if is(&["begin", "start"]) => Self::Begins,
            () if is(&["commit", "end", "rollback", "abort"]) => Self::Ends,
            () => Self::None,
        }
    }
}

fn first_word(sql: &str) -> &str {
    let sql = behind_blanks(sql).trim_start_matches('(');
    sql.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The text behind blanks and comments.
fn behind_blanks(mut sql: &str) -> &str {
    loop {
        sql = sql.trim_start();
        let comment = comment(sql.as_bytes());
        if comment == 0 {
            return sql;
        }
        sql = sql.get(comment..).unwrap_or_default();
    }
}

/// The statements of a text, without what is between them. Most libraries take one at a time.
pub(super) fn statements(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    let pieces = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(end(rest.as_bytes()));
        rest = behind.get(1..).unwrap_or_default();
        Some(piece)
    });
    pieces.filter(|piece| !behind_blanks(piece).is_empty())
}

/// The place of the first `;` that stands in neither quotes nor a comment.
fn end(sql: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = sql.get(at) {
        at += match byte {
            b';' => return at,
            b'\'' | b'"' => quoted(&sql[at..], byte),
            b'$' => dollars(&sql[at..]),
            _ => comment(&sql[at..]).max(1),
        };
    }
    sql.len()
}

/// How long a text in quotes is that begins here. A quote in it is doubled, which reads as two texts.
fn quoted(sql: &[u8], quote: u8) -> usize {
    sql.iter().skip(1).position(|byte| *byte == quote).map_or(sql.len(), |length| length + 2)
}

/// The same for `$tag$ … $tag$`; 1 where none begins.
fn dollars(sql: &[u8]) -> usize {
    let name = sql.iter().skip(1).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let is_tag = sql.get(name + 1) == Some(&b'$') && !sql.get(1).is_some_and(u8::is_ascii_digit);
    if !is_tag {
        return 1;
    }
    let (tag, text) = sql.split_at(name + 2);
    text.windows(tag.len()).position(|it| it == tag).map_or(sql.len(), |length| length + 2 * tag.len())
}

/// The same for a comment; 0 where none begins.
fn comment(sql: &[u8]) -> usize {
    match sql {
        [b'-', b'-', ..] => sql.iter().position(|byte| *byte == b'\n').unwrap_or(sql.len()),
        [b'/', b'*', text @ ..] => {
            text.windows(2).position(|it| it == b"*/").map_or(sql.len(), |length| length + 4)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_quotes_or_a_comment_ends_nothing() {
        let all = |sql| statements(sql).map(str::trim).collect::<Vec<_>>();
        assert_eq!(
            all("BEGIN; SELECT 'a;''b', \";\"; COMMIT;"),
            ["BEGIN", "SELECT 'a;''b', \";\"", "COMMIT"]
        );
        assert_eq!(
            all("SELECT 1 -- one; \n; /* ; */ ; SELECT $1, $$ ; $$, $a$;$$;$a$"),
            ["SELECT 1 -- one;", "SELECT $1, $$ ; $$, $a$;$$;$a$"]
        );
        assert_eq!(all(" ; ;-- nothing"), [""; 0]);
        assert_eq!(all("SELECT 'open; /* "), ["SELECT 'open; /*"]);
        assert_eq!(all("SELECT 'ü;'; x"), ["SELECT 'ü;'", "x"]);
    }

    #[test]
    fn the_first_word_says_what_a_statement_does() {
        for (sql, answer, effect) in [
            ("SELECT 1", Answer::Rows, Effect::None),
            ("-- c\n /* d */ (select 1) union select 2", Answer::Rows, Effect::None),
            ("Insert INTO t VALUES (1)", Answer::Count, Effect::None),
            ("DELETE FROM t RETURNING id", Answer::ChangedRows, Effect::None),
            ("begin", Answer::Count, Effect::Begins),
            ("START TRANSACTION", Answer::Count, Effect::Begins),
            ("ROLLBACK;", Answer::Count, Effect::Ends),
            ("EXPLAIN SELECT 1", Answer::Rows, Effect::None),
        ] {
            assert_eq!((Answer::of(sql), Effect::of(sql)), (answer, effect), "{sql}");
        }
    }
}
