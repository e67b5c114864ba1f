//! What is not among the status variables: waits, files and transactions, as statements of one row each.

use crate::connection::{Connection, QueryError};
use crate::inspect::{known, recognise};

/// A statement of one row, and what is missing without it.
#[derive(Debug, Clone)]
pub(super) struct StatisticsView {
    pub(super) sql: String,
    /// What it is about, for a reader.
    pub(super) about: &'static str,
    pub(super) right: Right,
}

/// The right that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Process,
    PerformanceSchema,
}

impl Right {
    /// The statement that grants it to `user`, `'me'@'%'`.
    pub(super) fn grant(self, user: &str) -> String {
        match self {
            Self::Process => format!("GRANT PROCESS ON *.* TO {user}"),
            Self::PerformanceSchema => format!("GRANT SELECT ON performance_schema.* TO {user}"),
        }
    }
}

/// Commands of a thread that runs no statement of a client's.
const IDLE_COMMANDS: &str = "'Sleep', 'Daemon', 'Connect', 'Binlog Dump', 'Binlog Dump GTID', 'Killed'";

/// States of a thread by what it is at. What waits for a row's lock is in none of them: the server counts those apart.
const STATES: &str = "CASE
    WHEN state LIKE 'Waiting for%lock%' OR state LIKE 'Waiting for table%' OR state LIKE '%lock'
         AND state NOT LIKE '%commit lock' THEN 'Lock'
    WHEN state IN ('waiting for handler commit', 'query end', 'Commit', 'starting commit', 'Writing to binlog',
                   'Waiting for commit lock') OR state LIKE 'Waiting for semi-sync%' THEN 'Commit'
    WHEN state IN ('Sending to client', 'Writing to net', 'Reading from net', 'Receiving from client') THEN 'Client'
    ELSE 'Other' END";
const STATE_CLASSES: [&str; 4] = ["Lock", "Commit", "Client", "Other"];

/// The files that explain what is written, by their kinds. They are asked for by name, which the server has an index
/// for: to look at all that it knows takes it five times as long.
const FILES: &[(&str, &[&str])] = &[
    ("data", &["innodb/innodb_data_file"]),
    ("redo", &["innodb/innodb_log_file"]),
    ("doublewrite", &["innodb/innodb_dblwr_file"]),
    ("temp", &["innodb/innodb_temp_file", "sql/io_cache"]),
    ("binlog", &["sql/binlog", "sql/binlog_index", "sql/binlog_cache"]),
];

/// What is told of a server that could count more, unless that is how its product comes.
const NO_PERFORMANCE_SCHEMA: &str = "the server counts no waits for files, as its performance_schema is off: it is turned \
     on by performance_schema=ON in its configuration and a new start";

/// All of them that this server may have.
pub(super) fn candidates(
    connection: &mut Connection,
    missing: &mut Vec<String>,
) -> Result<Vec<StatisticsView>, QueryError> {
    let product = recognise(connection)?.product;
    let mut views: Vec<StatisticsView> = product
        .map_or(&[][..], |product| product.views.counters)
        .iter()
        .map(|sql| StatisticsView {
            sql: (*sql).to_owned(),
            about: "deadlocks and kept versions of rows",
            right: Right::Process,
        })
        .collect();
    let schema = performance_schema(connection)?;
    if schema == Some(true) {
        views.extend([threads(), files(), transactions()]);
    } else {
        if schema == Some(false) && product.is_some_and(|product| product.name == "MySQL") {
            missing.push(NO_PERFORMANCE_SCHEMA.to_owned());
        }
        // In this order: who may not read the first is shown his own sessions alone by the second.
        views.extend([innodb_transactions(), process_list()]);
    }
    Ok(views)
}

/// `None` where there is none, and nothing to switch on.
fn performance_schema(connection: &mut Connection) -> Result<Option<bool>, QueryError> {
    let on: Option<String> = known(connection.query_value("SELECT @@global.performance_schema"))?;
    Ok(on.map(|on| on == "1"))
}

fn threads() -> StatisticsView {
    let from = "SELECT processlist_command AS command, COALESCE(processlist_state, '') AS state
                FROM performance_schema.threads
                WHERE type = 'FOREGROUND' AND processlist_id <> connection_id()";
    StatisticsView { sql: sessions(from), about: "waits of sessions", right: Right::PerformanceSchema }
}

fn process_list() -> StatisticsView {
    let from = "SELECT command, COALESCE(state, '') AS state
                FROM information_schema.processlist WHERE id <> connection_id()";
    StatisticsView { sql: sessions(from), about: "waits of sessions", right: Right::Process }
}

fn sessions(from: &str) -> String {
    let sums = STATE_CLASSES
        .map(|class| format!("COALESCE(SUM(class = '{class}'), 0) AS `waits_sessions[{class}]`"))
        .join(", ");
    format!(
        "SELECT {sums} FROM (SELECT {STATES} AS class FROM ({from}) seen WHERE command NOT IN ({IDLE_COMMANDS})) told"
    )
}

fn files() -> StatisticsView {
    const PICOSECONDS: &str = "1e12";
    let events = |names: &[&str]| {
        names.iter().map(|name| format!("'wait/io/file/{name}'")).collect::<Vec<_>>().join(", ")
    };
    let sums: Vec<String> = FILES
        .iter()
        .map(|(kind, names)| {
            let sum =
                |column: &str| format!("SUM(CASE WHEN event_name IN ({}) THEN {column} END)", events(names));
            format!(
                "{} / {PICOSECONDS} AS `file_wait_seconds_total[{kind}]`,
                 {} AS `file_read_bytes_total[{kind}]`, {} AS `file_write_bytes_total[{kind}]`",
                sum("sum_timer_wait"),
                sum("sum_number_of_bytes_read"),
                sum("sum_number_of_bytes_write"),
            )
        })
        .collect();
    let all: Vec<&str> = FILES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let sql = format!(
        "SELECT {} FROM performance_schema.file_summary_by_event_name
         WHERE event_name IN ({}) AND count_star > 0",
        sums.join(", "),
        events(&all)
    );
    StatisticsView {
        sql,
        about: "waits for files and what is written to them",
        right: Right::PerformanceSchema,
    }
}

fn transactions() -> StatisticsView {
    let sql = "SELECT COALESCE(MAX(timer_wait), 0) / 1e12 AS transaction_age_max_seconds
               FROM performance_schema.events_transactions_current
               WHERE state = 'ACTIVE' AND thread_id <> (
                   SELECT thread_id FROM performance_schema.threads WHERE processlist_id = connection_id())";
    StatisticsView { sql: sql.to_owned(), about: "the age of transactions", right: Right::PerformanceSchema }
}

/// To a second.
fn innodb_transactions() -> StatisticsView {
    let sql = "SELECT COALESCE(GREATEST(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0), 0)
                   AS transaction_age_max_seconds
               FROM information_schema.innodb_trx";
    StatisticsView { sql: sql.to_owned(), about: "the age of transactions", right: Right::Process }
}

/// Who waits for a row's lock is in a state that tells nothing of it: the server's count of them is taken from those.
pub(super) fn with_row_locks(values: &mut std::collections::BTreeMap<String, f64>) {
    let Some(waiting) = values.get("lock_waiting_sessions").copied() else { return };
    let Some(other) = values.get_mut("waits_sessions[Other]") else { return };
    let moved = waiting.min(*other);
    *other -= moved;
    *values.entry("waits_sessions[Lock]".to_owned()).or_insert(0.0) += moved;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_wait_for_rows_wait_for_locks() {
        let mut values: std::collections::BTreeMap<String, f64> =
            [("lock_waiting_sessions", 3.0), ("waits_sessions[Lock]", 1.0), ("waits_sessions[Other]", 5.0)]
                .map(|(key, value)| (key.to_owned(), value))
                .into();
        with_row_locks(&mut values);
        assert_eq!((values["waits_sessions[Lock]"], values["waits_sessions[Other]"]), (4.0, 2.0));
        // They are counted at another instant than the sessions.
        values.insert("lock_waiting_sessions".to_owned(), 9.0);
        with_row_locks(&mut values);
        assert_eq!((values["waits_sessions[Lock]"], values["waits_sessions[Other]"]), (6.0, 0.0));
        values.remove("waits_sessions[Other]");
        let before = values.clone();
        with_row_locks(&mut values);
        assert_eq!(values, before);
    }

    #[test]
    fn a_right_is_granted_to_the_user_who_wants_it() {
        assert_eq!(Right::Process.grant("'me'@'%'"), "GRANT PROCESS ON *.* TO 'me'@'%'");
        assert!(
            Right::PerformanceSchema
                .grant("'me'@'%'")
                .starts_with("GRANT SELECT ON performance_schema.* TO ")
        );
    }
}
