//! The text of a file as one statement. It is read as far as is needed for that: comments, quotes and semicolons. Products
//! differ in whether a backslash in quotes takes away the meaning of the letter behind it; what holds for one reading does.
//! Pure.

use std::ops::Range;

use dyno_engine::request::QueryKind;
use dyno_results::sql_text::{Piece, Syntax, behind_comments, is_hint, never_ends, pieces, readable_pieces};

/// Words with which statements begin that read.
const READ: [&str; 12] = [
    "select",
    "with",
    "values",
    "table",
    "from",
    "show",
    "describe",
    "desc",
    "explain",
    "exists",
    "pragma",
    "summarize",
];
/// Words with which those begin that tell how many rows they changed.
const WRITE: [&str; 5] = ["insert", "update", "delete", "merge", "replace"];
/// Words of a statement that may write though it begins as if it only read.
const WRITE_WITHIN: [&str; 16] = [
    "insert",
    "update",
    "delete",
    "merge",
    "into",
    "nextval",
    "setval",
    "lo_from_bytea",
    "lo_put",
    "lo_create",
    "lo_creat",
    "lo_unlink",
    "lo_import",
    "lo_truncate",
    "lowrite",
    "pg_logical_emit_message",
];
/// Words of statements that `EXPLAIN ANALYZE` runs, and that read or write.
const RUN_BY_EXPLAIN: [&str; 4] = ["execute", "create", "declare", "call"];

/// Where a text has quotes and comments.
pub(crate) fn quoted(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let places = readable_pieces(text, Syntax::ANY).into_iter().map(|(piece, text)| {
        at += text.len();
        (piece, at - text.len()..at)
    });
    let is_one = |piece| matches!(piece, Piece::Quoted | Piece::Comment);
    places.filter_map(|(piece, place)| is_one(piece).then_some(place)).collect()
}

/// Where something begins that does not end however quotes are read, and what it is.
pub(crate) fn unclosed(text: &str) -> Option<(usize, &'static str)> {
    let last = |syntax| {
        let pieces = readable_pieces(text, syntax);
        let (piece, last) = *pieces.last()?;
        let is_open_comment = piece == Piece::Comment && last.starts_with("/*") && !last.ends_with("*/");
        let what = match never_ends(&pieces) {
            true => Some("a text in quotes"),
            false => is_open_comment.then_some("a comment"),
        };
        Some((text.len() - last.len(), what?))
    };
    last(Syntax::MYSQL)?;
    last(Syntax::POSTGRESQL)?;
    last(Syntax::ANY)
}

/// The statements of a text, each without the comments before it.
pub(super) fn bare_statements(text: &str, syntax: Syntax) -> Vec<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let all = dyno_results::sql_text::statements(text, syntax).into_iter();
    all.map(|statement| behind_comments(statement, syntax)).collect()
}

/// The statements of a text without comments, which would hide what follows in the same line.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let without = |statement: &str| {
        let pieces = pieces(statement, Syntax::ANY).into_iter();
        let bare = |(piece, text)| if piece == Piece::Comment && !is_hint(text) { " " } else { text };
        pieces.map(bare).collect::<String>().trim().to_owned()
    };
    bare_statements(text, Syntax::ANY).into_iter().map(without).collect()
}

/// What a statement does, as far as its words tell: what a function does that it calls is not known.
pub(crate) fn kind(statement: &str) -> QueryKind {
    // Whether a backslash escapes a quote is known to the server alone: what writes by one reading may write.
    match [false, true].map(|it| kind_of(&pieces(statement, Syntax::ANY.with_backslashes(it)))) {
        [QueryKind::Read, other] => other,
        [kind, _] => kind,
    }
}

fn kind_of(pieces: &[(Piece, &str)]) -> QueryKind {
    let bare: Vec<&str> =
        pieces.iter().filter(|(piece, _)| *piece == Piece::Code).map(|(_, text)| *text).collect();
    let bare = bare.join(" ").to_ascii_lowercase();
    let words = bare.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let first = words.first().copied().unwrap_or_default();
    let writes_within = || {
        words.iter().any(|word| WRITE_WITHIN.contains(word))
            || words.windows(3).any(|words| words == ["next", "value", "for"])
            || first == "explain" && words.iter().any(|word| RUN_BY_EXPLAIN.contains(word))
            || first == "pragma" && bare.contains('=')
    };
    match first {
        _ if WRITE.contains(&first) => QueryKind::Write,
        _ if READ.contains(&first) && !writes_within() => QueryKind::Read,
        _ => QueryKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_by_one_reading_of_a_backslash_does_not_only_read() {
        let hidden =
            r"with a as (select E'it\'s'), b as (delete from t where c = 'x' returning 1) select * from b";
        assert_eq!(kind(hidden), QueryKind::Other);
        assert_eq!(kind(r"select 'C:\'"), QueryKind::Read);
    }

    #[test]
    fn one_statement_is_what_is_left_of_comments_and_a_semicolon() {
        for (text, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("\u{feff}-- who\n# what\n/* and\nwhy; */\n\nSELECT 1;\n", "SELECT 1"),
            ("SELECT 1; -- that's all\n;", "SELECT 1"),
            ("SELECT a -- b;\nFROM c;", "SELECT a -- b;\nFROM c"),
            ("SELECT ';', \"a;b\", `c;d`, 'it''s;';", "SELECT ';', \"a;b\", `c;d`, 'it''s;'"),
            (r"SELECT 'it\'s; ' ;", r"SELECT 'it\'s; '"),
            (r"SELECT 'C:\', ';' ;", r"SELECT 'C:\', ';'"),
            ("SELECT $$;$$, $t$ $$; $t$, a$1;", "SELECT $$;$$, $t$ $$; $t$, a$1"),
            ("/* x */ /*+ SeqScan(a) */ SELECT 1", "/*+ SeqScan(a) */ SELECT 1"),
            ("SELECT a #> '{b}' FROM c", "SELECT a #> '{b}' FROM c"),
            ("'é' ; ", "'é'"),
            ("SELECT 'never ends;", "SELECT 'never ends;"),
        ] {
            assert_eq!(bare_statements(text, Syntax::ANY), [expected], "{text}");
        }
        for empty in ["", " \n", "-- nothing", "/* nothing */;", ";;", "# nothing\n"] {
            assert!(bare_statements(empty, Syntax::ANY).is_empty(), "{empty}");
        }
        assert_eq!(
            bare_statements("BEGIN;\n-- why\nSELECT ';';\nEND;", Syntax::ANY),
            ["BEGIN", "SELECT ';'", "END"]
        );
    }

    #[test]
    fn a_statement_says_by_its_words_whether_it_writes() {
        for text in [
            "select a, 'insert' as \"update\" from t -- delete\n",
            "(SELECT 1) UNION (SELECT 2)",
            "with a as (select 1) select call, copy from a",
            "FROM t SELECT a",
            "explain select 1",
        ] {
            assert_eq!(kind(text), QueryKind::Read, "{text}");
        }
        for text in ["INSERT INTO t VALUES (1)", "update t set a = 1", "Delete from t"] {
            assert_eq!(kind(text), QueryKind::Write, "{text}");
        }
        for text in [
            "with a as (delete from t returning b) select * from a",
            "select 1 into t",
            "create table t (a int)",
            "vacuum",
        ] {
            assert_eq!(kind(text), QueryKind::Other, "{text}");
        }
    }
}
