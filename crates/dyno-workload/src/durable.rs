//! What a statement may have made durable whose answer did not come, and whether it changes anything.

use dyno_engine::request::QueryKind;
use dyno_engine::workload::Step;

use crate::statements::{kind, statements};

/// Words with which statements begin that mark or leave a transaction, or are of the session.
const KEEPS_NOTHING: [&str; 12] = [
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
        let (mut is_within, mut durable) = (false, Self::Nothing);
        // What comes behind the end of a transaction is within none, also where one was open before.
        let mut own = Self::Own;
        for statement in statements(sql) {
            let [first, second] = words(&statement);
            match (first.as_str(), second.as_str()) {
                ("commit" | "end", _) | ("prepare", "transaction") | ("rollback", "prepared") => {
                    return Self::Transaction;
                }
                ("begin" | "start", second) if second != "not" => is_within = true,
                ("rollback" | "abort", second) if second != "to" => {
                    (is_within, own) = (false, Self::Transaction);
                }
                _ if is_within || keeps_nothing(&first, &second) => {}
                _ if kind(&statement) == QueryKind::Read => {}
                _ => durable = own,
            }
        }
        durable
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

/// MariaDB's `SET STATEMENT … FOR` has a statement of its own.
fn keeps_nothing(first: &str, second: &str) -> bool {
    KEEPS_NOTHING.contains(&first) && (first, second) != ("set", "statement")
}

/// Whether a text of one statement or several changes no data, as far as its words tell: what a function does that it calls is not
/// known.
pub(crate) fn only_reads(text: &str) -> bool {
    statements(text).iter().all(|statement| {
        let [first, second] = words(statement);
        matches!(first.as_str(), "begin" | "start" | "commit" | "end") && second != "not"
            || keeps_nothing(&first, &second)
            || kind(statement) == QueryKind::Read
    })
}

/// The first two words of a statement, in small letters.
fn words(statement: &str) -> [String; 2] {
    let mut statement = statement.trim_start();
    // A hint is no word of it.
    while let Some((_, behind)) = statement.strip_prefix("/*+").and_then(|hint| hint.split_once("*/")) {
        statement = behind.trim_start();
    }
    let mut words = statement.split(|char: char| !char.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    [(); 2].map(|()| words.next().unwrap_or_default().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Durable, only_reads};

    #[test]
    fn what_only_reads_follows_from_the_words() {
        for text in [
            "select count(*), sum(v) from lg where v >= 0",
            "begin; select 1; commit",
            "set synchronous_commit = off",
            "values (1)",
            "with a as (select 1) select * from a",
        ] {
            assert!(only_reads(text), "{text}");
        }
        for text in [
            "begin; update t set a = 1; rollback",
            "begin not atomic update t set a = 1; end",
            "set statement max_statement_time = 5 for insert into t values (1)",
            "select next value for s",
            "prepare p as update t set a = 1; explain analyze execute p",
            "explain analyze create table x as select 1",
            "pragma user_version = 7",
            "select nextval('s')",
            "select setval('s', 7)",
            "with gone as (delete from t returning *) select * from gone",
            "vacuum t",
            "execute p",
        ] {
            assert!(!only_reads(text), "{text}");
        }
    }

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
            // Nothing is kept before the transaction ends.
            ("begin; update t set a = 1", Durable::Nothing),
            ("begin; update t set a = 1; rollback", Durable::Nothing),
            ("begin; update t set a = 1; rollback to a; update t set a = 2", Durable::Nothing),
            // Whatever was open before.
            ("begin; select 1; rollback; update t set a = 1", Durable::Transaction),
            ("rollback; select 1", Durable::Nothing),
            ("/*+ Set(enable_seqscan off) */ UPDATE t SET a = 1", Durable::Own),
            ("/*+ a */ /*+ b */ commit", Durable::Transaction),
            ("PREPARE TRANSACTION 'x'", Durable::Transaction),
            ("commit prepared 'x'", Durable::Transaction),
            ("rollback prepared 'x'", Durable::Transaction),
            ("prepare p as update t set a = 1", Durable::Nothing),
            ("begin not atomic update t set a = 1; end", Durable::Own),
            ("set statement max_statement_time = 5 for update t set a = 1", Durable::Own),
            ("", Durable::Nothing),
        ] {
            assert_eq!(Durable::of(sql), expected, "{sql}");
        }
    }
}
