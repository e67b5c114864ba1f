//! MySQL itself, with InnoDB.

use super::{Dialect, Mark, Product, Views};

/// What decides for InnoDB and the binary log, and what a reader wants beside it.
pub(super) const DURABILITY: &[&str] = &[
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "innodb_flush_method",
    // A status variable: ALTER INSTANCE DISABLE INNODB REDO_LOG, since 8.0.21.
    "innodb_redo_log_enabled",
    "innodb_checksum_algorithm",
    "log_bin",
    "sync_binlog",
];

pub(super) const CACHE: &str = "SELECT @@global.innodb_buffer_pool_size";

pub(super) const VIEWS: Views = Views {
    // Since 8.0; open to every user. What the server sets by itself while it starts has no user.
    settings: Some(
        "SELECT variable_name AS name, variable_value AS value, NULL AS default_value, variable_source AS source,
                NOT (variable_source = 'COMPILED' OR variable_source = 'DYNAMIC' AND set_user IS NULL) AS changed
         FROM performance_schema.global_variables JOIN performance_schema.variables_info USING (variable_name)",
    ),
    cache: Some(CACHE),
    counters: &["SELECT MAX(CASE WHEN name = 'lock_deadlocks' THEN `count` END) AS deadlocks_total,
                        MAX(CASE WHEN name = 'trx_rseg_history_len' THEN `count` END) AS undo_history_transactions
                 FROM information_schema.innodb_metrics
                 WHERE name IN ('lock_deadlocks', 'trx_rseg_history_len') AND status = 'enabled'"],
};

pub(crate) static MYSQL: Product = Product {
    name: "MySQL",
    mark: Mark::Plain,
    dialect: Dialect::MYSQL,
    durability: DURABILITY,
    views: VIEWS,
    ran: Some("9.7"),
};
