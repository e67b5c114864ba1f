//! What clients' sessions are at, from one look at `pg_stat_activity`.
//!
//! What another user's session does may be hidden. Then whatever would have to know it is null, since any number would be
//! wrong.

/// Classes of waits in which a session can be while it runs a statement. `Activity` is for idle workers of the server.
const WAIT_CLASSES: [&str; 9] =
    ["Client", "IO", "IPC", "Lock", "Log", "LWLock", "BufferPin", "Timeout", "Extension"];
/// The server's own class, but that who writes or syncs the log, or waits until another has, stands in one of their own:
/// the server has them as I/O and as a latch.
const CLASS: &str = "CASE WHEN wait_event_type IN ('IO', 'LWLock') AND wait_event ILIKE 'wal%' THEN 'Log'
                     ELSE wait_event_type END";

const AGE: &str = "greatest(0, coalesce(max(age_s) FILTER (WHERE client), 0))";
const WORKERS: &str = "count(*) FILTER (WHERE backend_type = 'autovacuum worker')";

/// The statement, of one row. The session that asks is not counted.
pub(super) fn sql() -> String {
    let active = |wait: &str| format!("state = 'active' AND wait_class {wait}");
    let mut keys = vec![
        ("connections_active".to_owned(), "state IN ('active', 'fastpath function call')".to_owned()),
        ("connections_idle".to_owned(), "state = 'idle'".to_owned()),
        (
            "connections_in_transaction".to_owned(),
            "state IN ('idle in transaction', 'idle in transaction (aborted)')".to_owned(),
        ),
        ("lock_waiting_sessions".to_owned(), active("= 'Lock'")),
        ("waits_sessions[CPU]".to_owned(), active("IS NULL")),
    ];
    keys.extend(
        WAIT_CLASSES.map(|class| (format!("waits_sessions[{class}]"), active(&format!("= '{class}'")))),
    );
    let count = |(key, condition): &(String, String)| {
        format!("count(*) FILTER (WHERE client AND {condition}) AS \"{key}\"")
    };
    let shown = |(key, _): &(String, String)| format!("CASE WHEN NOT hidden THEN \"{key}\" END AS \"{key}\"");
    format!(
        "SELECT {},
                CASE WHEN NOT hidden THEN age_max_s END AS transaction_age_max_seconds,
                CASE WHEN NOT workers_hidden THEN workers END AS autovacuum_workers
         FROM (
            SELECT {}, {AGE} AS age_max_s, {WORKERS} AS workers,
                   coalesce(bool_or(client AND backend_type IS NULL), false) AS hidden,
                   coalesce(bool_or(usesysid IS NULL AND backend_type IS NULL), false) AS workers_hidden
            FROM (
                SELECT state, backend_type, {CLASS} AS wait_class, usesysid,
                       datid = (SELECT oid FROM pg_database WHERE datname = current_database())
                           AND usesysid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
                           AS client,
                       extract(epoch FROM clock_timestamp() - xact_start) AS age_s
                FROM pg_stat_activity WHERE pid <> pg_backend_pid()
            ) seen
         ) counted",
        keys.iter().map(shown).collect::<Vec<_>>().join(", "),
        keys.iter().map(count).collect::<Vec<_>>().join(", "),
    )
}
