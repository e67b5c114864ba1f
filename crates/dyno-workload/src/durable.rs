//! What a statement may have made durable whose answer did not come.

use dyno_engine::request::QueryKind;
use dyno_engine::workload::Step;

use crate::query_set;

/// Words with which statements begin that open, mark or leave a transaction, or are of the session.
const KEEPS_NOTHING: [&str; 14] = [
    "begin",
    "start",
    "savepoint",
    "release",
    "rollback",
    "abort",
    "set",
    "reset",
    "prepare",
    "deallocate",
    "declare",
    "fetch",
    "close",
    "lock",
];

/// By the words of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durable {
    #[default]
    Nothing,
    /// What it changes, unless a transaction is open.
    Own,
    /// What the transaction has changed.
    Transaction,
}

impl Durable {
    /// Of one statement or several in one message.
    pub(crate) fn of(sql: &str) -> Self {
        query_set::statements(sql)
            .iter()
            .map(|statement| Self::of_statement(statement))
            .max()
            .unwrap_or_default()
    }

    fn of_statement(statement: &str) -> Self {
        let word: String = statement.chars().take_while(char::is_ascii_alphabetic).collect();
        let word = word.to_ascii_lowercase();
        match word.as_str() {
            "commit" | "end" => Self::Transaction,
            word if KEEPS_NOTHING.contains(&word) => Self::Nothing,
            _ if query_set::kind(statement) == QueryKind::Read => Self::Nothing,
            _ => Self::Own,
        }
    }

    /// How it is sent, where a transaction is open or not.
    pub(crate) fn step(self, is_within: bool) -> Step {
        match self {
            Self::Transaction => Step::SendCommit,
            Self::Own if !is_within => Step::SendCommit,
            Self::Own | Self::Nothing => Step::Send,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Durable;

    #[test]
    fn what_is_durable_follows_from_the_words() {
        for (sql, expected) in [
            ("SELECT 1", Durable::Nothing),
            ("BEGIN", Durable::Nothing),
            ("set synchronous_commit = off", Durable::Nothing),
            ("-- why\nUPDATE t SET a = 1;", Durable::Own),
            ("with a as (delete from t returning b) select * from a", Durable::Own),
            ("call p()", Durable::Own),
            ("END;", Durable::Transaction),
            ("begin; update t set a = 1; commit", Durable::Transaction),
            ("begin; update t set a = 1", Durable::Own),
            ("", Durable::Nothing),
        ] {
            assert_eq!(Durable::of(sql), expected, "{sql}");
        }
    }
}
