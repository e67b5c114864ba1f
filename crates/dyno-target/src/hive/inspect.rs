//! What Spark's Thrift server says of itself. It is one process that starts others or none; of its own sizes and counters it tells
//! nothing by SQL.

use dyno_results::event;

use super::place;
use super::tables::Described;
use crate::connection::{Connection, QueryError};
use crate::inspect::{Identity, Inspector, Sizes, known, shown_value};
use crate::product::Recognised;

pub(super) static INSPECTOR: Inspector = Inspector {
    identity,
    same_host: place::same_host,
    server_process: place::server_process,
    settings,
    weightiest: &WEIGHTIEST,
    sizes,
    ..Inspector::UNKNOWN
};

/// Shown even where they were not set.
const WEIGHTIEST: [&str; 6] = [
    "spark.master",
    "spark.driver.memory",
    "spark.executor.memory",
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.sql.autoBroadcastJoinThreshold",
];
/// Differ from start to start, say nothing of how the server works, or open the storage: Hadoop's settings name the keys of its
/// storage services in a way of each service's own, and so may the environment of other processes.
const LEFT_OUT: [&str; 12] = [
    "hive.server2.thrift.",
    "spark.app.",
    "spark.driver.host",
    "spark.driver.port",
    "spark.driver.bindAddress",
    "spark.driver.extraJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.executor.id",
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.yarn.appMasterEnv.",
    "spark.submit.",
];
const UNDEFINED: &str = "<undefined>";

/// What `SET` answers for a setting; `None` where there is none of this name.
pub(super) fn setting_value(connection: &mut Connection, name: &str) -> Result<Option<String>, QueryError> {
    let rows = known(connection.query(&format!("SET {name}")).map(Some))?.unwrap_or_default();
    let value = rows.first().and_then(|row| row.text(1)).filter(|value| *value != UNDEFINED);
    Ok(value.map(str::to_owned))
}

fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    let application = setting_value(connection, "spark.app.id")?;
    let started = setting_value(connection, "spark.app.startTime")?;
    let started_s = started.and_then(|ms| ms.parse::<i64>().ok()).map(|ms| ms / 1000);
    let questions = ["SELECT current_user()", "SELECT current_database()", "SELECT ''"];
    Identity::ask(connection, application.into_iter().collect(), started_s, questions)
}

fn settings(connection: &mut Connection, _: &Recognised) -> Result<Vec<event::Setting>, QueryError> {
    let set = connection.query("SET")?;
    let mut settings: Vec<event::Setting> =
        set.iter().filter_map(|row| was_set(row.text(0)?, row.text(1)?)).collect();
    for name in WEIGHTIEST {
        if settings.iter().all(|it| it.name != name)
            && let Some(value) = setting_value(connection, name)?
        {
            settings.push(setting(name, &value, false));
        }
    }
    Ok(settings)
}

fn was_set(name: &str, value: &str) -> Option<event::Setting> {
    let is_shown = !value.is_empty() && !LEFT_OUT.iter().any(|left_out| name.starts_with(left_out));
    is_shown.then(|| setting(name, value, true))
}

fn setting(name: &str, value: &str, changed: bool) -> event::Setting {
    event::Setting {
        name: name.to_owned(),
        value: shown_value(name, value),
        changed,
        ..event::Setting::default()
    }
}

/// What ANALYZE has counted.
fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let mut found = Vec::new();
    for &name in tables {
        let described = known(Described::ask(connection, name).map(Some))?;
        let said = described.as_ref().and_then(|it| it.detail("Statistics")).unwrap_or_default();
        let table_bytes = counted(said, "bytes");
        found.push(event::Table {
            name: name.to_owned(),
            rows: counted(said, "rows"),
            table_bytes,
            index_bytes: table_bytes.map(|_| 0),
            indexed: table_bytes.map(|_| Vec::new()),
            // Rows are told behind ANALYZE; of what else the planner uses nothing is.
            analyzed: counted(said, "rows").map(|_| true),
            ..event::Table::default()
        });
    }
    Ok(Sizes { tables: found, ..Sizes::default() })
}

/// `1843 bytes, 25 rows`
fn counted(said: &str, unit: &str) -> Option<u64> {
    said.split(", ").find_map(|part| part.strip_suffix(unit)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::NOT_SHOWN;

    #[test]
    fn keys_of_the_storage_are_not_stored() {
        for name in [
            "spark.hadoop.fs.azure.account.key.mine.dfs.core.windows.net",
            "spark.hadoop.fs.s3a.access.key",
            "spark.hadoop.anything",
            "spark.executorEnv.AWS",
            "spark.sql.catalog.mine.s3.access-key-id",
            "fs.azure.account.key.mine.dfs.core.windows.net",
            "spark.sql.catalog.mine.credential",
            "spark.sql.catalog.mine.header.Authorization",
            "spark.sql.catalog.mine.jdbc.private.pem",
            "spark.ssl.keyPassword",
        ] {
            let shown = was_set(name, "hidden").map(|setting| setting.value);
            assert!(shown.as_deref().is_none_or(|value| value == NOT_SHOWN), "{name}: {shown:?}");
        }
        let uri = was_set("spark.sql.catalog.mine.uri", "jdbc:x://me:hidden@h/d?password=hidden").unwrap();
        assert_eq!(uri.value, "jdbc:x://me:***@h/d?password=***");
        let plain = was_set("spark.sql.shuffle.partitions", "3").unwrap();
        assert_eq!((plain.value.as_str(), plain.changed), ("3", true));
    }

    #[test]
    fn sizes_are_in_words() {
        assert_eq!(counted("1843 bytes, 25 rows", "bytes"), Some(1843));
        assert_eq!(counted("1843 bytes, 25 rows", "rows"), Some(25));
        assert_eq!((counted("1843 bytes", "rows"), counted("", "bytes")), (None, None));
    }
}
