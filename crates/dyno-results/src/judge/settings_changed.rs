//! `settings-changed`: what differs from the product's defaults, so that nobody takes the figures for those of an
//! untouched server.

use crate::document::Report;
use crate::event::{Finding, Setting, Settings, Severity, Subject};
use crate::format;

/// Settings that are named.
const SHOWN: usize = 6;
/// Those that most often decide a benchmark of PostgreSQL or of InnoDB, the weightiest first.
const WEIGHTY: [&str; 48] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
    "autovacuum",
    "checkpoint_timeout",
    "wal_level",
    "wal_compression",
    "wal_buffers",
    "commit_delay",
    "checkpoint_completion_target",
    "effective_io_concurrency",
    "io_method",
    "huge_pages",
    "work_mem",
    "maintenance_work_mem",
    "effective_cache_size",
    "random_page_cost",
    "jit",
    "max_parallel_workers_per_gather",
    "max_worker_processes",
    "default_statistics_target",
    "max_connections",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "log_bin",
    "sync_binlog",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_buffer_size",
    "innodb_buffer_pool_instances",
    "innodb_page_size",
    "innodb_adaptive_hash_index",
    "innodb_thread_concurrency",
    "innodb_dedicated_server",
    "innodb_use_native_aio",
    "thread_handling",
    "thread_pool_size",
    "transaction_isolation",
    "performance_schema",
    "table_open_cache",
    "query_cache_type",
    "query_cache_size",
];
/// Places, names, languages and logs: they do not make a server faster or slower by themselves.
const WEIGHTLESS_BEGINNINGS: [&str; 17] = [
    "application_name",
    "client_encoding",
    "cluster_name",
    "config_file",
    "data_directory",
    "datestyle",
    "default_text_search_config",
    "dynamic_library_path",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "lc_",
    "listen_addresses",
    "log_timezone",
    "port",
    "timezone",
    "unix_socket_",
];

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.settings.iter().filter_map(judge_target).collect()
}

fn judge_target(settings: &Settings) -> Option<Finding> {
    let mut changed: Vec<&Setting> =
        settings.rows.iter().filter(|row| row.changed && bears_weight(row)).collect();
    if changed.is_empty() {
        return None;
    }
    changed.sort_by_key(|row| (weight(row), row.name.clone()));
    let mut shown: Vec<String> = changed.iter().take(SHOWN).map(|row| describe(row)).collect();
    if changed.len() > SHOWN {
        shown.push(format!("and {} more", changed.len() - SHOWN));
    }
    let differ = if changed.len() == 1 { "setting differs" } else { "settings differ" };
    Some(Finding {
        code: "settings-changed".to_owned(),
        severity: Severity::Note,
        subject: Subject::of_target(&settings.target),
        evidence: format!(
            "{} {differ} from the defaults: {}",
            format::count(changed.len() as u64),
            shown.join(", ")
        ),
        advice: "publish the settings with the figures; the report lists them all".to_owned(),
    })
}

pub(crate) fn bears_weight(row: &Setting) -> bool {
    let name = row.name.to_ascii_lowercase();
    !WEIGHTLESS_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn weight(row: &Setting) -> usize {
    WEIGHTY.iter().position(|name| *name == row.name).unwrap_or(WEIGHTY.len())
}

/// `shared_buffers 6GB`
fn describe(row: &Setting) -> String {
    format!("{} {}", row.name, with_unit(row))
}

/// A setting as one would write it in a configuration file: `6GB` where the server says 786432 of 8kB.
pub(crate) fn with_unit(row: &Setting) -> String {
    let Some(unit) = row.unit.as_deref().filter(|unit| !unit.is_empty()) else { return row.value.clone() };
    let split = unit.find(|character: char| !character.is_ascii_digit()).unwrap_or(0);
    let (multiple, base) = (unit[..split].parse().unwrap_or(1), &unit[split..]);
    let ladder: &[(&str, i64)] = match base {
        "B" | "kB" | "MB" | "GB" | "TB" => {
            &[("B", 1024), ("kB", 1024), ("MB", 1024), ("GB", 1024), ("TB", 1)]
        }
        "us" | "ms" | "s" | "min" | "h" => &[("us", 1000), ("ms", 1000), ("s", 60), ("min", 60), ("h", 1)],
        _ => return format!("{} {unit}", row.value),
    };
    let Some(mut value) = row.value.parse::<i64>().ok().and_then(|value| value.checked_mul(multiple)) else {
        return row.value.clone();
    };
    // Zero and negative values mean something else than a size: off, or chosen by the server.
    if value <= 0 {
        return row.value.clone();
    }
    let mut rungs = ladder.iter().skip_while(|(name, _)| *name != base);
    let mut name = base;
    let mut factor = rungs.next().map_or(1, |(_, factor)| *factor);
    for (larger, next_factor) in rungs {
        if value % factor != 0 {
            break;
        }
        (value, name, factor) = (value / factor, larger, *next_factor);
    }
    format!("{value}{name}")
}
