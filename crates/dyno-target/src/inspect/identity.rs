//! Which server a session is on, by what the server says of itself: two URLs may lead to one.

use super::known;
use crate::connection::{Connection, QueryError};

/// Between two readings of when a MySQL server started, which it knows in whole seconds, seconds.
const STARTED_APART_S: i64 = 2;

/// A server, and what of it a session uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    server: Server,
    /// The account.
    user: String,
    database: String,
    /// Where tables are made that are named without one; PostgreSQL's.
    schema: String,
}

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Server {
    /// What no other server says of itself at the same time; its address where it says nothing of the kind.
    names: Vec<String>,
    /// Seconds since 1970. A copy of a server's files calls itself as the server does.
    started_s: Option<i64>,
}

impl Identity {
    /// Of a server of these names, the session's address where there are none. `questions` are for the account, the
    /// database and the schema.
    pub(crate) fn ask(
        connection: &mut Connection,
        mut names: Vec<String>,
        started_s: Option<i64>,
        questions: [&str; 3],
    ) -> Result<Self, QueryError> {
        if names.is_empty() {
            names.push(connection.place());
        }
        let mut answer = |sql| Ok::<_, QueryError>(text(connection, sql)?.unwrap_or_default());
        let [user, database, schema] = questions;
        let (user, database, schema) = (answer(user)?, answer(database)?, answer(schema)?);
        Ok(Self { server: Server { names, started_s }, user, database, schema })
    }

    /// Whether both are on one server that runs, whatever their URLs call it.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let apart = self.server.started_s.zip(other.server.started_s).map(|(one, two)| one.abs_diff(two));
        self.server.names == other.server.names
            && apart.is_none_or(|seconds| seconds <= STARTED_APART_S.unsigned_abs())
    }

    /// Whether limits of the account hold for both together.
    pub fn is_same_account(&self, other: &Self) -> bool {
        self.is_same_server(other) && self.user == other.user
    }

    pub fn is_same_database(&self, other: &Self) -> bool {
        self.is_same_server(other) && self.database == other.database
    }

    /// Whether a table's name means the same table for both.
    pub fn has_same_tables(&self, other: &Self) -> bool {
        self.is_same_database(other) && self.schema == other.schema
    }
}

/// `None` for what the server does not say.
pub(super) fn text(connection: &mut Connection, sql: &str) -> Result<Option<String>, QueryError> {
    Ok(known(connection.query_value::<String>(sql))?.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(names: &[&str], started_s: Option<i64>, user: &str, database: &str) -> Identity {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let [user, database] = [user, database].map(str::to_owned);
        Identity { server: Server { names, started_s }, user, database, schema: String::new() }
    }

    #[test]
    fn a_server_is_known_by_what_it_says_and_since_when_it_runs() {
        let one = on(&["uuid"], Some(100), "a", "d");
        assert!(one.is_same_server(&on(&["uuid"], Some(102), "b", "e")));
        assert!(one.is_same_server(&on(&["uuid"], None, "b", "e")));
        for other in [on(&["uuid"], Some(160), "a", "d"), on(&["other"], Some(100), "a", "d")] {
            assert!(
                !one.is_same_server(&other) && !one.has_same_tables(&other) && !one.is_same_account(&other)
            );
        }
        let other_user = on(&["uuid"], Some(100), "b", "d");
        assert!(one.has_same_tables(&other_user) && !one.is_same_account(&other_user));
        let other_schema = Identity { schema: "s".to_owned(), ..one.clone() };
        assert!(one.is_same_database(&other_schema) && !one.has_same_tables(&other_schema));
    }
}
