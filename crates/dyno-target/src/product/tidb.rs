//! TiDB: MySQL's protocol over TiKV. InnoDB's variables are shown and do nothing (`IS_NOOP`); a commit is in the log of a
//! majority of replicas, which since 5.0 is always synced.

use super::{Dialect, Mark, Product, Source, Views};

pub(super) static TIDB: Product = Product {
    name: "TiDB",
    mark: Mark::Version { says: "-TiDB-", version_after: "-TiDB-v" },
    dialect: Dialect {
        // Adding an index reads the whole table over again, in jobs that the cluster does one after the other.
        index_after_load: false,
        ..Dialect::MYSQL
    },
    durability: &[],
    views: Views {
        settings: Some(
            "SELECT variable_name AS name, current_value AS value, default_value, NULL AS source,
                    NOT (current_value <=> default_value) AS changed
             FROM information_schema.variables_info WHERE is_noop = 'NO'",
        ),
        cache: None,
        counters: &[],
    },
    source: Source {
        documents: "TiDB docs: System Variables; VARIABLES_INFO; MySQL Compatibility; TiKV configuration (raftstore.sync-log)",
        ran: None,
    },
};
