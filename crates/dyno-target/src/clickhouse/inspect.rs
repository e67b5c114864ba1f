//! What a server of ClickHouse says of itself, by its tables in the database `system`. Versions and rights differ in what is there.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use dyno_results::event;

use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::place::{is_of_this_machine, over_bridge};
use crate::inspect::{
    Identity, Inspector, Limit, Limits, ReadStatistics, ServerProcess, Sizes, Statistics, known, shown_value,
};
use crate::product::Recognised;

pub(super) static INSPECTOR: Inspector = Inspector {
    identity,
    limits,
    same_host,
    server_process,
    settings,
    weightiest: &["max_threads", "max_memory_usage", "max_server_memory_usage", "mark_cache_size"],
    facts: super::facts::facts,
    sizes,
    statistics: |_, tables| {
        let tables = tables.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        Ok(Statistics::of(ServerStatistics { tables, readings: 0 }, Vec::new()))
    },
    ..Inspector::UNKNOWN
};

/// Sizes are read this often.
const SIZES_EVERY: u64 = 10;

fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    let uuid: Option<String> =
        known(connection.query_value("SELECT nullIf(toString(serverUUID()), toString(toUUIDOrZero('')))"))?;
    let started = known(connection.query_value::<i64>("SELECT toUnixTimestamp(now()) - uptime()"))?;
    let questions = ["SELECT currentUser()", "SELECT currentDatabase()", "SELECT ''"];
    Identity::ask(connection, uuid.into_iter().collect(), started, questions)
}

/// Each session is a connection.
fn limits(connection: &mut Connection) -> Result<Limits, QueryError> {
    let most = "SELECT toUInt32(value) FROM system.server_settings WHERE name = 'max_connections'";
    let Some(most) = known(connection.query_value::<u32>(most))?.filter(|most| *most > 0) else {
        return Ok(Limits::default());
    };
    let used =
        "SELECT toUInt32(sum(value)) FROM system.metrics WHERE metric IN ('HTTPConnection', 'TCPConnection')";
    let used = known(connection.query_value::<u32>(used))?;
    let free = used.map(|used| most.saturating_sub(used));
    Ok(Limits { server: Some(Limit { most, free }), ..Limits::default() })
}

/// A port that is dialled here may lead elsewhere, by a tunnel or into a container: only a process that is seen is certain.
fn same_host(connection: &mut Connection, dialled: SocketAddr) -> Result<Option<bool>, QueryError> {
    if is_of_this_machine(dialled.ip()) {
        return Ok(server_process(connection)?.map(|_| true));
    }
    let mine = "SELECT toString(address) FROM system.processes WHERE query_id = queryID()";
    let seen: Option<String> = known(connection.query_value(mine))?;
    let seen = seen.and_then(|it| it.parse::<IpAddr>().ok()).map(|it| it.to_canonical());
    let ours = seen.is_some_and(|it| !it.is_loopback() && is_of_this_machine(it));
    Ok((ours && !over_bridge(dialled.ip())).then_some(false))
}

/// The server writes its number into a file in its directory, which few may read. Tables are in a directory below it.
fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    let data = "SELECT data_path FROM system.databases WHERE name = 'default'";
    let data = known(connection.query_value::<String>(data))?.map(PathBuf::from).unwrap_or_default();
    let process = data.ancestors().find_map(|directory| {
        let status = fs::read_to_string(directory.join("status")).ok()?;
        let pid = status.lines().find_map(|line| line.strip_prefix("PID: ")?.trim().parse().ok())?;
        is_server(pid).then(|| ServerProcess { pid: Some(pid), data_directory: Some(directory.to_owned()) })
    });
    Ok(process.filter(|_| data.is_absolute()))
}

fn is_server(pid: u32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains("clickhouse")
}

/// Those of the session, of its tables and of the server.
const SETTINGS: [&str; 3] = [
    "SELECT name, value, default, changed FROM system.settings \
     WHERE changed AND name != 'log_comment' OR name IN ({names})",
    "SELECT name, value, default, changed FROM system.merge_tree_settings WHERE changed OR name IN ({names})",
    "SELECT name, value, default, changed FROM system.server_settings WHERE changed",
];

fn settings(connection: &mut Connection, recognised: &Recognised) -> Result<Vec<event::Setting>, QueryError> {
    let names: Vec<String> = recognised.durability.iter().map(|name| format!("'{name}'")).collect();
    let mut settings = Vec::new();
    for sql in SETTINGS {
        let sql = sql.replace("{names}", &names.join(", "));
        let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
        settings.extend(rows.iter().filter_map(|row| setting(row, recognised)));
    }
    Ok(settings)
}

fn setting(row: &TextRow, recognised: &Recognised) -> Option<event::Setting> {
    let name = row.text(0)?.to_owned();
    let shown = |at| row.text(at).map(|value| shown_value(&name, value));
    Some(event::Setting {
        value: shown(1)?,
        default: shown(2),
        changed: row.text(3) == Some("1"),
        durability: recognised.durability.contains(&name.as_str()),
        name,
        ..event::Setting::default()
    })
}

fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let all = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()";
    let database_bytes = known(connection.query_value(all))?;
    let mut found = Vec::new();
    for &name in tables {
        let (database, table) = match name.split_once('.') {
            Some((database, table)) => (format!("'{database}'"), table),
            None => ("currentDatabase()".to_owned(), name),
        };
        let one = format!(
            "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts \
             WHERE active AND database = {database} AND table = '{table}'"
        );
        let rows = known(connection.query(&one).map(Some))?.unwrap_or_default();
        let engine =
            format!("SELECT engine FROM system.tables WHERE database = {database} AND name = '{table}'");
        let engine: Option<String> = known(connection.query_value(&engine))?;
        let number = |at| rows.first().and_then(|row| row.text(at)?.parse::<u64>().ok());
        let table_bytes = number(1);
        found.push(event::Table {
            name: name.to_owned(),
            rows: number(0),
            table_bytes,
            // The index of the primary key is part of the table.
            index_bytes: table_bytes.map(|_| 0),
            logged: engine.as_deref().and_then(is_kept),
            indexed: table_bytes.map(|_| Vec::new()),
            ..event::Table::default()
        });
    }
    let caches = "SELECT name, value FROM system.server_settings \
                  WHERE name IN ('mark_cache_size', 'uncompressed_cache_size')";
    let caches = known(connection.query(caches).map(Some))?.unwrap_or_default();
    let cache = |row: &TextRow| Some((row.text(0)?.to_owned(), row.text(1)?.parse().ok()?));
    let caches = caches.iter().filter_map(cache).collect();
    // What is uncompressed is not cached by default, but for the system's cache.
    Ok(Sizes { database_bytes, caches, tables: found, ..Sizes::default() })
}

/// Whether a crash leaves the rows of a table of this engine; `None` where they are another table's or server's.
fn is_kept(engine: &str) -> Option<bool> {
    match engine {
        "Memory" | "Null" | "Buffer" => Some(false),
        engine => engine.ends_with("MergeTree").then_some(true),
    }
}

/// Counters of the whole server, by their keys. One that is still 0 is not in the table.
const COUNTERS: &str = "SELECT multiIf(event = 'Query', 'queries_total', event = 'SelectedRows', 'tuples_returned_total', \
            event = 'InsertedRows', 'tuples_inserted_total', event = 'ReadCompressedBytes', 'io_read_bytes_total', \
            event = 'MergedRows', 'merged_rows_total', event = 'FileSync', 'fsyncs_total', 'files_opened_total'), \
            toFloat64(value) FROM system.events \
     WHERE event IN ('Query', 'SelectedRows', 'InsertedRows', 'ReadCompressedBytes', 'MergedRows', 'FileSync', 'FileOpen')";
/// Levels; the query of this session is not counted.
const LEVELS: &str = "SELECT multiIf(metric = 'Query', 'connections_active', metric = 'Merge', 'background_merges', \
            'memory_tracked_bytes'), toFloat64(value) - if(metric = 'Query', 1, 0) FROM system.metrics \
     WHERE metric IN ('Query', 'Merge', 'MemoryTracking')";
/// Sizes of tables, and how many parts they are in.
const TABLES: &str = "SELECT concat('table_bytes[', table, ']'), toFloat64(sum(bytes_on_disk)) FROM system.parts \
     WHERE active AND database = currentDatabase() AND table IN ({tables}) GROUP BY table \
     UNION ALL SELECT concat('table_parts[', table, ']'), toFloat64(count()) FROM system.parts \
     WHERE active AND database = currentDatabase() AND table IN ({tables}) GROUP BY table";

#[derive(Debug)]
struct ServerStatistics {
    /// Names in quotes, with commas.
    tables: String,
    readings: u64,
}

impl ReadStatistics for ServerStatistics {
    fn read(&mut self, connection: &mut Connection) -> Result<BTreeMap<String, f64>, QueryError> {
        let mut rows = connection.query(&format!("{COUNTERS} UNION ALL {LEVELS}"))?;
        if self.readings.is_multiple_of(SIZES_EVERY) && !self.tables.is_empty() {
            rows.extend(connection.query(&TABLES.replace("{tables}", &self.tables))?);
        }
        self.readings += 1;
        let reading = |row: &TextRow| Some((row.text(0)?.to_owned(), row.text(1)?.parse().ok()?));
        Ok(rows.iter().filter_map(reading).collect())
    }
}
