//! OceanBase, and its single-node edition seekdb. Both show InnoDB's variables, which do nothing: a commit is on the disks of a
//! majority when it is acknowledged, and no setting changes that. Its own are parameters, in views of their own.
//!
//! seekdb's `port`, `socket` and `pid_file` can be those of an earlier start, so nothing here relies on them.

use super::{Dialect, Mark, Product, Views};
use crate::explain::Explain;

const VIEWS: Views = Views {
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
};

pub(super) static SEEKDB: Product = Product {
    name: "OceanBase seekdb",
    mark: Mark::Version { says: "-OceanBase seekdb-v", version_after: "-OceanBase seekdb-v" },
    // A foreign key is checked by the key that it refers to, and brings no index of its own.
    dialect: Dialect { foreign_key_index: false, explain: Explain::TEXT, ..Dialect::MYSQL },
    durability: &[],
    views: VIEWS,
    ran: Some("1.4"),
};

pub(super) static OCEANBASE: Product = Product {
    name: "OceanBase",
    mark: Mark::Version { says: "-OceanBase", version_after: "-v" },
    dialect: Dialect { foreign_key_index: false, explain: Explain::TEXT, ..Dialect::MYSQL },
    durability: &[],
    // Of several nodes each has its own log and sessions, which are not to be added up.
    views: Views { counters: &[], ..VIEWS },
    ran: None,
};
