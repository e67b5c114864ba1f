//! What pgbench does before a run: it looks at the tables that are there, and vacuums them.

use dyno_target::connection::{Connection, QueryError};
use thiserror::Error;

use super::failure_text::failure_text;
use super::initialize::PartitionMethod;

const COUNT_SQL: &str = "select count(*) from pgbench_branches";
/// The `pgbench_accounts` that comes first in the search path, how it is divided, and into how many.
const PARTITIONS_SQL: &str = "select o.n, p.partstrat, pg_catalog.count(i.inhparent) \
    from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on (n.oid = c.relnamespace) \
    cross join lateral (select pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) as o(n) \
    left join pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) \
    left join pg_catalog.pg_inherits as i on (c.oid = i.inhparent) \
    where c.relname = 'pgbench_accounts' and o.n is not null group by 1, 2 order by 1 asc limit 1";

/// What the tables say of themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFacts {
    /// Rows of `pgbench_branches`, which is the scale.
    pub branches: i64,
    /// How the accounts are divided and into how many; `None` for a plain table.
    pub partition: Option<(PartitionMethod, u32)>,
}

/// Looks up what a run of built-in scripts has to know. Says that a scale which was given is ignored.
///
/// # Errors
/// The tables are missing or not those of pgbench, or the connection is lost.
pub fn table_facts(
    connection: &mut Connection,
    scale_given: bool,
    say: &mut dyn FnMut(&str),
) -> Result<TableFacts, BeforeError> {
    let branches = count_branches(connection)?;
    if scale_given {
        say(&format!(
            "pgbench: warning: scale option ignored, using count from pgbench_branches table ({branches})\n"
        ));
    }
    Ok(TableFacts { branches, partition: partition(connection)? })
}

fn count_branches(connection: &mut Connection) -> Result<i64, BeforeError> {
    let rows = connection.query(COUNT_SQL).map_err(|source| BeforeError::Count {
        text: failure_text(&source, COUNT_SQL),
        database: database(connection),
        source,
    })?;
    let count = rows.first().and_then(|row| row.text(0)).unwrap_or_default();
    count.parse().map_err(|_| BeforeError::InvalidCount { count: count.to_owned() })
}

fn partition(connection: &mut Connection) -> Result<Option<(PartitionMethod, u32)>, BeforeError> {
    let rows = match connection.query(PARTITIONS_SQL) {
        Ok(rows) => rows,
        // A server that knows no partitions has none.
        Err(QueryError::Server { error, .. }) if !error.ends_session() => return Ok(None),
        Err(source) => {
            return Err(BeforeError::Partitions { text: failure_text(&source, PARTITIONS_SQL), source });
        }
    };
    let Some(row) = rows.first() else {
        return Err(BeforeError::NoAccounts { database: database(connection) });
    };
    let method = match row.text(1) {
        None => return Ok(None),
        Some("r") => PartitionMethod::Range,
        Some("h") => PartitionMethod::Hash,
        Some(other) => return Err(BeforeError::UnexpectedMethod { method: other.to_owned() }),
    };
    Ok(Some((method, row.text(2).and_then(|count| count.parse().ok()).unwrap_or(0))))
}

fn database(connection: &Connection) -> String {
    connection.wire().map(|wire| wire.endpoint().login.database.clone()).unwrap_or_default()
}

/// Vacuums the two small tables and empties the history; with `all`, as `-v` has it, the accounts too. What fails is
/// said, and the rest done nevertheless: a run of scripts of one's own needs none of these tables.
pub fn vacuum_before(connection: &mut Connection, all: bool, say: &mut dyn FnMut(&str)) {
    say("starting vacuum...");
    for sql in ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"] {
        attempt(connection, sql, say);
    }
    say("end.\n");
    if all {
        say("starting vacuum pgbench_accounts...");
        attempt(connection, "vacuum analyze pgbench_accounts", say);
        say("end.\n");
    }
}

fn attempt(connection: &mut Connection, sql: &str, say: &mut dyn FnMut(&str)) {
    let outcome = connection.execute(sql);
    connection.take_notices().iter().for_each(|notice| say(notice));
    if let Err(error) = outcome {
        let text = failure_text(&error, sql);
        say(&format!(
            "pgbench: error: {text}\npgbench: detail: (ignoring this error and continuing anyway)\n"
        ));
    }
}

/// Why a run of built-in scripts cannot begin. Shows itself as pgbench does behind `pgbench: error: `.
#[derive(Debug, Error)]
pub enum BeforeError {
    #[error("could not count number of branches: {text}")]
    Count { text: String, database: String, source: QueryError },
    #[error("invalid count(*) from pgbench_branches: \"{count}\"")]
    InvalidCount { count: String },
    #[error("no pgbench_accounts table found in \"search_path\"")]
    NoAccounts { database: String },
    #[error("could not determine how pgbench_accounts is partitioned: {text}")]
    Partitions { text: String, source: QueryError },
    #[error("unexpected partition method: \"{method}\"")]
    UnexpectedMethod { method: String },
}

impl BeforeError {
    /// What pgbench prints behind `pgbench: hint: `.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Count { database, .. } | Self::NoAccounts { database } => Some(format!(
                "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
            )),
            _ => None,
        }
    }
}
