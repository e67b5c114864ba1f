//! What can be told of SQL without its grammar: what its first word does.

use dyno_results::sql_text::{Commands, Syntax, behind_comments};

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
    let sql = behind_comments(sql, SYNTAX).trim_start_matches('(');
    sql.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// DuckDB's, which has PostgreSQL's grammar, and the backticks of others.
pub(super) const SYNTAX: Syntax =
    Syntax { backticks: true, commands: &Commands::POINT, ..Syntax::POSTGRESQL };

#[cfg(test)]
mod tests {
    use super::*;

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
