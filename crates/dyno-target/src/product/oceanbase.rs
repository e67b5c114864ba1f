//! OceanBase, and its single-node edition seekdb. Both show InnoDB's variables, which do nothing: a commit is on the disks of a
//! majority when it is acknowledged, and no setting changes that. Its own are parameters, in views of their own.
//!
//! seekdb's `port`, `socket` and `pid_file` can be those of an earlier start, so nothing here relies on them.

use super::{Dialect, Mark, Product, Source, Views};

/// A foreign key is checked by the key that it refers to, and brings no index of its own.
const DIALECT: Dialect = Dialect { foreign_key_index: false, ..Dialect::MYSQL };

pub(super) static OCEANBASE: Product = Product {
    name: "OceanBase",
    mark: Mark::Version { says: "-OceanBase", version_after: "-v" },
    dialect: DIALECT,
    durability: &[],
    views: Views {
        settings: Some(
            "SELECT DISTINCT name, value, default_value, NULL AS source, isdefault = 'NO' AS changed
             FROM oceanbase.GV$OB_PARAMETERS",
        ),
        cache: None,
        counters: &[
            "SELECT SUM(CASE WHEN role = 'LEADER' THEN end_lsn END) AS wal_bytes_total FROM oceanbase.GV$OB_LOG_STAT",
        ],
    },
    source: Source {
        documents: "OceanBase Database documentation: GV$OB_PARAMETERS; GV$OB_LOG_STAT; LOAD DATA",
        ran: None,
    },
};

pub(super) static SEEKDB: Product = Product {
    name: "OceanBase seekdb",
    mark: Mark::Version { says: "-OceanBase seekdb-v", version_after: "-OceanBase seekdb-v" },
    dialect: DIALECT,
    durability: &[],
    views: Views {
        settings: Some(
            "SELECT name, value, default_value, NULL AS source, isdefault = 'NO' AS changed
             FROM oceanbase.V$OB_PARAMETERS",
        ),
        cache: None,
        counters: &[
            "SELECT SUM(end_lsn) AS wal_bytes_total FROM oceanbase.V$OB_LOG_STAT",
            // The session that asks is one of them.
            "SELECT GREATEST(COUNT(*) - 1, 0) AS connections_active FROM information_schema.processlist
             WHERE command <> 'Sleep'",
        ],
    },
    source: Source { documents: "OceanBase seekdb documentation; the server's own views", ran: Some("1.4") },
};
