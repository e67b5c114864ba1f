//! The settings that say how this server was set up.

use dyno_results::event;

use super::literal;
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::NOT_SHOWN;
use crate::product::Recognised;

/// Where the server lives, how it names things and in which language it speaks: never a matter of performance,
/// and different on every machine. The first two are set by dyno's own session.
const LEFT_OUT: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "cluster_name",
    "config_file",
    "data_directory",
    "default_text_search_config",
    "dynamic_library_path",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "listen_addresses",
    "log_directory",
    "log_filename",
    "log_line_prefix",
    "log_timezone",
    "port",
    "ssl_ca_file",
    "ssl_cert_file",
    "ssl_crl_dir",
    "ssl_crl_file",
    "ssl_key_file",
    "stats_temp_directory",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
];

/// Connection strings and shell commands, in which passwords stand now and then.
const SECRET: &[&str] = &[
    "archive_cleanup_command",
    "archive_command",
    "primary_conninfo",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
];
/// Words by which extensions call what nobody else should know.
const SECRET_WORDS: &[&str] = &["conninfo", "password", "secret", "token", "key", "salt"];

pub(super) fn settings(
    connection: &mut Connection,
    recognised: &Recognised,
) -> Result<Vec<event::Setting>, QueryError> {
    // SQL knows no empty list.
    let list = |names: &[&str]| {
        let names: Vec<String> = names.iter().copied().chain([""]).map(literal).collect();
        names.join(", ")
    };
    // `override` and `environment variable` are the server's own doing: computed sizes, the stack's depth.
    let sql = format!(
        "SELECT * FROM (
            SELECT name, unit, boot_val,
                   CASE WHEN source = 'session' THEN reset_val ELSE setting END AS value,
                   CASE WHEN source <> 'session' THEN source END AS source,
                   CASE WHEN source = 'session' THEN reset_val ELSE setting END IS DISTINCT FROM boot_val
                       AND source NOT IN ('default', 'override', 'environment variable')
                       AND context <> 'internal' AS changed,
                   name IN ({durability}) AS durability
            FROM pg_settings WHERE name NOT IN ({left_out})
        ) AS described
        WHERE changed OR durability",
        durability = list(recognised.durability),
        left_out = list(LEFT_OUT),
    );
    Ok(connection.query(&sql)?.iter().map(setting).collect())
}

fn setting(row: &TextRow) -> event::Setting {
    let text = |column| row.get(column).map(str::to_owned);
    let name = text("name").unwrap_or_default();
    let secret = SECRET.contains(&name.as_str())
        || name.contains('.') && SECRET_WORDS.iter().any(|word| name.contains(word));
    let shown = |value: Option<String>| match value {
        Some(value) if secret && !value.is_empty() => Some(NOT_SHOWN.to_owned()),
        value => value,
    };
    event::Setting {
        value: shown(text("value")).unwrap_or_default(),
        default: text("boot_val"),
        unit: text("unit"),
        source: text("source"),
        changed: row.get("changed") == Some("t"),
        durability: row.get("durability") == Some("t"),
        name,
    }
}
