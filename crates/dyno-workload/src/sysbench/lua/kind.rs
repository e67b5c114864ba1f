//! What a statement of a script does, by its words; what it did is told by its answer.

use dyno_engine::request::QueryKind;

/// Words that statements which return rows begin with.
const READS: [&str; 8] = ["select", "show", "with", "values", "table", "explain", "describe", "desc"];
const WRITES: [&str; 5] = ["insert", "update", "delete", "replace", "merge"];

/// What `sql` is about to do. What changes rows and returns them is a read, as in sysbench.
pub(super) fn kind_of(sql: &[u8]) -> QueryKind {
    let word = first_word(sql);
    let is = |known: &&str| word.eq_ignore_ascii_case(known.as_bytes());
    if READS.iter().any(&is) {
        QueryKind::Read
    } else if WRITES.iter().any(is) {
        if has_returning(sql) { QueryKind::Read } else { QueryKind::Write }
    } else {
        QueryKind::Other
    }
}

/// Whether `sql` makes what came before it durable.
pub(super) fn commits(sql: &[u8]) -> bool {
    let word = first_word(sql);
    word.eq_ignore_ascii_case(b"commit") || word.eq_ignore_ascii_case(b"end")
}

/// What sysbench counts a statement as once it is answered: rows returned make a read, rows changed a write. Only a read
/// has a result.
pub(super) fn outcome(kind: QueryKind, rows: u64, affected: u64) -> QueryKind {
    match kind {
        _ if rows > 0 => QueryKind::Read,
        // Also of what begins as a read: `WITH … INSERT`, `SELECT … INTO`.
        _ if affected > 0 => QueryKind::Write,
        // A query that found nothing has read all the same.
        QueryKind::Read => QueryKind::Read,
        _ => QueryKind::Other,
    }
}

/// Whether the word RETURNING is in it.
fn has_returning(sql: &[u8]) -> bool {
    const WORD: &[u8] = b"returning";
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    sql.windows(WORD.len()).enumerate().any(|(at, word)| {
        word.eq_ignore_ascii_case(WORD)
            && !is_part(at.checked_sub(1).and_then(|before| sql.get(before)))
            && !is_part(sql.get(at + WORD.len()))
    })
}

/// Behind spaces, comments and opening parentheses.
fn first_word(sql: &[u8]) -> &[u8] {
    let mut rest = sql;
    loop {
        let skipped = rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'(').count();
        rest = &rest[skipped..];
        let end: &[u8] = match rest {
            // A comment of this kind is a hint to MySQL, and read.
            [b'/', b'*', b'!', ..] => {
                let digits = rest[3..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                rest = &rest[3 + digits..];
                continue;
            }
            [b'/', b'*', ..] => b"*/",
            [b'-', b'-', ..] => b"\n",
            _ => break,
        };
        match rest.windows(end.len()).position(|window| window == end) {
            Some(at) => rest = &rest[at + end.len()..],
            None => return &[],
        }
    }
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    &rest[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_first_word() {
        for (sql, kind) in [
            ("select 1", QueryKind::Read),
            ("  (SELECT 1) union all (select 2)", QueryKind::Read),
            ("/* a */ -- b\n WITH x AS (select 1) SELECT 1", QueryKind::Read),
            ("INSERT INTO t VALUES (1)", QueryKind::Write),
            ("/*!50000 replace*/ into t values (1)", QueryKind::Write),
            ("DELETE FROM t WHERE id = 7 RETURNING id", QueryKind::Read),
            ("delete from t returning(id)", QueryKind::Read),
            ("UPDATE t SET not_returning = 1, returnings = 2", QueryKind::Write),
            ("BEGIN", QueryKind::Other),
            ("selection", QueryKind::Other),
            ("", QueryKind::Other),
            ("/* never ended", QueryKind::Other),
            ("--", QueryKind::Other),
        ] {
            assert_eq!(kind_of(sql.as_bytes()), kind, "{sql}");
        }
        assert!(commits(b"COMMIT") && commits(b" commit and chain") && !commits(b"BEGIN"));
    }

    #[test]
    fn what_was_done_decides_what_is_counted() {
        assert_eq!(outcome(QueryKind::Read, 0, 0), QueryKind::Read);
        assert_eq!(outcome(QueryKind::Read, 0, 1), QueryKind::Write);
        assert_eq!(outcome(QueryKind::Write, 0, 0), QueryKind::Other);
        assert_eq!(outcome(QueryKind::Write, 0, 3), QueryKind::Write);
        assert_eq!(outcome(QueryKind::Other, 2, 0), QueryKind::Read);
        assert_eq!(outcome(QueryKind::Other, 0, 0), QueryKind::Other);
    }
}
