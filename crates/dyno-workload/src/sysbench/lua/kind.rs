//! What a statement of a script does, by its words; what it did is told by its answer.

use dyno_engine::request::QueryKind;

use crate::durable::Durable;

/// Words that statements which return rows begin with.
const READS: [&str; 8] = ["select", "show", "with", "values", "table", "explain", "describe", "desc"];
const WRITES: [&str; 5] = ["insert", "update", "delete", "replace", "merge"];

/// What `sql` is about to do, and what it makes durable. One plain statement is told by its first word, without reading it as a
/// whole: scripts send many. Of a SELECT it is not looked for what it writes.
pub(super) fn of_text(sql: &[u8]) -> (QueryKind, Durable) {
    let word = first_word(sql);
    let is = |known: &&str| word.eq_ignore_ascii_case(known.as_bytes());
    let kind = if READS.iter().any(&is) {
        QueryKind::Read
    } else if WRITES.iter().any(&is) {
        QueryKind::Write
    } else {
        QueryKind::Other
    };
    let statement = sql.trim_ascii_end();
    let statement = statement.strip_suffix(b";").unwrap_or(statement);
    let durable = match kind {
        _ if statement.contains(&b';') => None,
        QueryKind::Write => Some(Durable::Own),
        QueryKind::Read if is(&"select") => Some(Durable::Nothing),
        _ => None,
    };
    (kind, durable.unwrap_or_else(|| Durable::of(&String::from_utf8_lossy(sql))))
}

/// What sysbench counts a statement as once it is answered: one that has a result is a read, one that changed rows a write.
pub(super) fn outcome(has_result: bool, affected: u64) -> QueryKind {
    match affected {
        _ if has_result => QueryKind::Read,
        0 => QueryKind::Other,
        _ => QueryKind::Write,
    }
}

/// The same of a prepared statement, whose result sysbench expects if the server has described one when it was prepared. One that
/// comes unexpected (`CALL`, `INSERT … RETURNING` on MariaDB) it does not take, and counts as rows changed.
pub(super) fn outcome_of_prepared(is_described: bool, results: u32, affected: u64) -> QueryKind {
    match outcome(is_described, affected) {
        QueryKind::Other if results > 0 => QueryKind::Write,
        outcome => outcome,
    }
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
            ("DELETE FROM t WHERE id = 7 RETURNING id", QueryKind::Write),
            ("BEGIN", QueryKind::Other),
            ("selection", QueryKind::Other),
            ("", QueryKind::Other),
            ("/* never ended", QueryKind::Other),
            ("--", QueryKind::Other),
        ] {
            assert_eq!(of_text(sql.as_bytes()).0, kind, "{sql}");
        }
        for (sql, expected) in [
            ("COMMIT", Durable::Transaction),
            (" commit and chain", Durable::Transaction),
            ("BEGIN", Durable::Nothing),
            ("SELECT ';' FROM t;", Durable::Nothing),
            ("UPDATE t SET a = 1; ", Durable::Own),
            ("/*!50000 replace*/ into t values (1)", Durable::Own),
            ("CALL new_order(1)", Durable::Own),
            ("CREATE TABLE t (a int)", Durable::Own),
            ("WITH a AS (DELETE FROM t RETURNING b) SELECT * FROM a", Durable::Own),
            ("BEGIN; INSERT INTO t VALUES (1)", Durable::Nothing),
            ("select 1; insert into t values (1)", Durable::Own),
        ] {
            assert_eq!(of_text(sql.as_bytes()).1, expected, "{sql}");
        }
    }

    #[test]
    fn what_was_done_decides_what_is_counted() {
        let outcomes =
            [(true, 0), (true, 3), (false, 0), (false, 3)].map(|(result, rows)| outcome(result, rows));
        assert_eq!(outcomes, [QueryKind::Read, QueryKind::Read, QueryKind::Other, QueryKind::Write]);
        assert_eq!(outcome_of_prepared(true, 1, 0), QueryKind::Read);
        assert_eq!(outcome_of_prepared(false, 1, 0), QueryKind::Write);
        assert_eq!(outcome_of_prepared(false, 0, 0), QueryKind::Other);
        assert_eq!(outcome_of_prepared(false, 0, 2), QueryKind::Write);
    }
}
