//! Amazon Aurora MySQL: InnoDB over a log that storage nodes keep; there is no doublewrite buffer and no file to flush.

use super::{Dialect, Mark, Product, Source, Views, mysql};

pub(super) static AURORA: Product = Product {
    name: "Amazon Aurora MySQL",
    mark: Mark::Variable("aurora_version"),
    dialect: Dialect::MYSQL,
    durability: &["innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"],
    views: Views { counters: &[], ..mysql::VIEWS },
    source: Source {
        documents: "Amazon Aurora User Guide: Aurora MySQL configuration parameters; Aurora MySQL global status variables",
        ran: None,
    },
};
