//! MariaDB. It has no `variables_info`, and counts deadlocks among its status variables.

use super::{Dialect, Mark, Product, Views, mysql};
use crate::explain::{Answer, Explain, Form};

pub(super) static MARIADB: Product = Product {
    name: "MariaDB",
    mark: Mark::Version { says: "-MariaDB", version_after: "" },
    dialect: Dialect {
        explain: Explain {
            plain: "EXPLAIN",
            estimate: &[Form { words: "EXPLAIN FORMAT=JSON", answer: Answer::MariaDbJson }],
            analyze: &[Form { words: "ANALYZE FORMAT=JSON", answer: Answer::MariaDbJson }],
        },
        ..Dialect::MYSQL
    },
    durability: &[
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_log_at_timeout",
        "innodb_doublewrite",
        "innodb_flush_method",
        "innodb_checksum_algorithm",
        "log_bin",
        "sync_binlog",
    ],
    views: Views {
        // What the server sizes by itself is `AUTO`.
        settings: Some(
            "SELECT LOWER(variable_name) AS name, global_value AS value, default_value,
                    global_value_origin AS source,
                    global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') AND NOT (global_value <=> default_value)
                        AS changed
             FROM information_schema.system_variables WHERE global_value IS NOT NULL",
        ),
        cache: Some(mysql::CACHE),
        counters: &[],
    },
    ran: Some("10.11"),
};
