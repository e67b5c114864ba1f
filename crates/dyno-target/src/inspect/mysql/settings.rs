//! The settings that say how this server was set up.

use std::collections::BTreeMap;

use dyno_results::event;

use super::{known, named_values};
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::NOT_SHOWN;
use crate::product::Recognised;

/// Where the server lives, how it names things and in which language it speaks, by how the names begin.
const LEFT_OUT: &[&str] = &[
    "admin_address",
    "admin_port",
    "basedir",
    "bind_address",
    "caching_sha2_password_private_key_path",
    "caching_sha2_password_public_key_path",
    "character_set",
    "collation_",
    "datadir",
    "devname",
    "extra_port",
    "general_log_file",
    "hostname",
    "init_file",
    "innodb_buffer_pool_filename",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_temp_tablespaces_dir",
    "innodb_undo_directory",
    "lc_",
    "local_ip",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "mysql_port",
    "mysqlx_bind_address",
    "mysqlx_port",
    "mysqlx_socket",
    "obconfig_url",
    "pid_file",
    "plugin_dir",
    "port",
    "redo_dir",
    "data_dir",
    "relay_log",
    "report_",
    "rpc_port",
    "secure_file_priv",
    "server_create_time",
    "server_id",
    "server_role_info",
    "server_uuid",
    "slave_load_tmpdir",
    "replica_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "ssl_",
    "system_time_zone",
    "time_zone",
    "tls_",
    "tmpdir",
    "version",
    "wsrep_cluster_address",
    "wsrep_cluster_name",
    "wsrep_node_",
];
/// Names in which these stand hold what nobody else should know, or SQL in which it may stand.
const SECRET_WORDS: &[&str] = &[
    "secret",
    "token",
    "keyring",
    "sst_auth",
    "provider_options",
    "ldap",
    "init_connect",
    "report_password",
];
/// Settings that are a number of bytes.
const BYTES: &[&str] = &[
    "binlog_cache_size",
    "innodb_buffer_pool_size",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_sort_buffer_size",
    "join_buffer_size",
    "key_buffer_size",
    "max_allowed_packet",
    "max_binlog_size",
    "max_heap_table_size",
    "query_cache_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "temptable_max_ram",
    "tmp_table_size",
];

/// How the names of settings begin that hold for all sessions alike.
const OF_ALL_SESSIONS: &[&str] = &[
    "binlog_cache_size",
    "binlog_group_commit",
    "binlog_order_commits",
    "event_scheduler",
    "general_log",
    "host_cache_size",
    "innodb_",
    "key_buffer_size",
    "local_infile",
    "log_",
    "max_connections",
    "max_prepared_stmt_count",
    "offline_mode",
    "performance_schema",
    "read_only",
    "replica_",
    "require_secure_transport",
    "slow_query_log",
    "super_read_only",
    "sync_",
    "table_",
    "temptable_",
    "thread_",
];
/// And of those among them that a session may have for itself.
const OF_ONE_SESSION: &[&str] = &[
    "innodb_ddl_",
    "innodb_ft_",
    "innodb_parallel_read_threads",
    "innodb_strict_mode",
    "innodb_table_locks",
    "innodb_tmpdir",
];
/// Settings that a session may have for itself and that bear on figures, with MySQL's default since 8.0.
const SESSION_DEFAULTS: &[(&str, &str)] = &[
    ("autocommit", "ON"),
    ("binlog_format", "ROW"),
    ("binlog_row_image", "FULL"),
    ("eq_range_index_dive_limit", "200"),
    ("innodb_lock_wait_timeout", "50"),
    ("join_buffer_size", "262144"),
    ("max_allowed_packet", "67108864"),
    ("max_heap_table_size", "16777216"),
    ("read_buffer_size", "131072"),
    ("read_rnd_buffer_size", "262144"),
    ("sort_buffer_size", "262144"),
    ("tmp_table_size", "16777216"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("unique_checks", "ON"),
];

/// The settings that differ from the default, where the server tells them apart, and those that bear on durability in
/// any case. Global values count: those are what the load's sessions begin with.
pub(super) fn settings(
    connection: &mut Connection,
    recognised: &Recognised,
) -> Result<Vec<event::Setting>, QueryError> {
    let durability = recognised.durability;
    let told = match recognised.product.and_then(|product| product.views.settings) {
        Some(sql) => known(connection.query(sql).map(Some))?.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut rows: BTreeMap<String, event::Setting> = told
        .iter()
        .filter_map(|row| described(row, durability))
        .filter(|setting| setting.durability || setting.changed && bears_weight(&setting.name))
        .map(|setting| (setting.name.clone(), setting))
        .collect();
    for (name, value) in missing(connection, durability, &rows)? {
        rows.insert(name.clone(), plain(name, value));
    }
    Ok(rows.into_values().collect())
}

/// Values of the durability settings that the product's own view did not hold, among variables and status.
fn missing(
    connection: &mut Connection,
    durability: &[&str],
    found: &BTreeMap<String, event::Setting>,
) -> Result<Vec<(String, String)>, QueryError> {
    let mut values = Vec::new();
    for show in ["SHOW GLOBAL VARIABLES", "SHOW GLOBAL STATUS"] {
        let lacking: Vec<&str> = durability
            .iter()
            .copied()
            .filter(|name| !found.contains_key(*name) && !values.iter().any(|(known, _)| known == name))
            .collect();
        if lacking.is_empty() {
            break;
        }
        values.extend(known(named_values(connection, show, &lacking).map(Some))?.unwrap_or_default());
    }
    Ok(values)
}

/// A durability setting of which only the value is known.
fn plain(name: String, value: String) -> event::Setting {
    event::Setting { name, value, durability: true, ..event::Setting::default() }
}

fn described(row: &TextRow, durability: &[&str]) -> Option<event::Setting> {
    let name = row.get("name")?.to_owned();
    let value = row.get("value")?;
    let origin = row.get("source");
    let changed =
        row.get("changed") == Some("1") && (origin != Some("DYNAMIC") || is_set_for_all(&name, value));
    let secret = SECRET_WORDS.iter().any(|word| name.contains(word)) && !value.is_empty();
    Some(event::Setting {
        value: if secret { NOT_SHOWN } else { value }.to_owned(),
        unit: BYTES.contains(&name.as_str()).then(|| "B".to_owned()),
        default: row.get("default_value").filter(|_| !secret).map(str::to_owned),
        source: origin.and_then(source).map(str::to_owned),
        changed,
        durability: durability.contains(&name.as_str()),
        name,
    })
}

/// MySQL notes that a variable was set, and not whether for all or by some client for its own session. So a setting that
/// a session may have for itself counts where its global value is known to be another than the default.
fn is_set_for_all(name: &str, value: &str) -> bool {
    if let Some((_, default)) = SESSION_DEFAULTS.iter().find(|(known, _)| *known == name) {
        return value != *default;
    }
    let begins = |with: &[&str]| with.iter().any(|beginning| name.starts_with(beginning));
    begins(OF_ALL_SESSIONS) && !begins(OF_ONE_SESSION)
}

/// Where a value came from, in the words that are used for all products.
fn source(origin: &str) -> Option<&'static str> {
    Some(match origin {
        "COMMAND_LINE" | "COMMAND-LINE" => "command line",
        // Which of the option files it was is a matter of this machine.
        "GLOBAL" | "SERVER" | "EXPLICIT" | "EXTRA" | "USER" | "LOGIN" | "CONFIG" => "configuration file",
        "PERSISTED" => "persisted",
        "DYNAMIC" | "SQL" => "SET GLOBAL",
        "ENV" => "environment variable",
        "COMPILED" | "COMPILE-TIME" | "AUTO" => "default",
        _ => return None,
    })
}

fn bears_weight(name: &str) -> bool {
    !LEFT_OUT.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_set_for_its_own_session_is_no_setting_of_the_server() {
        for (name, value, changed) in [
            ("innodb_io_capacity", "500", true),
            ("sync_binlog", "0", true),
            ("autocommit", "ON", false),
            ("sort_buffer_size", "262144", false),
            ("sort_buffer_size", "400000", true),
            ("sql_mode", "ANSI", false),
            ("innodb_strict_mode", "OFF", false),
            ("information_schema_stats_expiry", "86400", false),
        ] {
            assert_eq!(is_set_for_all(name, value), changed, "{name} {value}");
        }
    }
}
