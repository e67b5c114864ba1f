//! Products and services that are told apart and that nobody has run dyno against: what names them, what of their
//! protocol's SQL is documented not to work there, and which settings they heed. `docs/products.md` says from where that
//! is known. One that is measured gets a file of its own.

use super::{Analyze, AutoIncrement, Bulk, Dialect, Mark, Product, Views, mysql, postgresql};

/// Words in `version()` that the version follows.
const fn words(says: &'static str) -> Mark {
    Mark::Version { says, version_after: says }
}

/// PostgreSQL as somebody else runs it or builds it.
const fn postgresql_of(name: &'static str, mark: Mark) -> Product {
    let (dialect, durability) = (Dialect::POSTGRESQL, postgresql::DURABILITY);
    Product { name, mark, dialect, durability, views: Views::NONE, ran: None }
}

/// PostgreSQL's upper half over a log and storage of its own, which has no files to sync and no pages to write whole.
const fn over_storage_of_its_own(name: &'static str, mark: Mark) -> Product {
    Product { durability: &["synchronous_commit"], ..postgresql_of(name, mark) }
}

/// PostgreSQL's protocol over another database, whose settings decide nothing there.
const fn protocol_of(name: &'static str, mark: Mark, dialect: Dialect) -> Product {
    Product { dialect, durability: &[], ..postgresql_of(name, mark) }
}

const WITHOUT_FREEZE: Dialect = Dialect { bulk: Bulk::Copy { freeze: false }, ..Dialect::POSTGRESQL };
const WITHOUT_VACUUM: Dialect = Dialect { vacuum: false, ..WITHOUT_FREEZE };
const WITHOUT_COPY: Dialect = Dialect { bulk: Bulk::WITHOUT_COPY, ..Dialect::POSTGRESQL };
/// Rows go in by INSERT, and little else of PostgreSQL is there.
const ROWS_ALONE: Dialect = Dialect { bulk: Bulk::WITHOUT_COPY, analyze: Analyze::Never, ..WITHOUT_VACUUM };

/// Those with words of their own stand before services and extensions.
pub(super) static ON_POSTGRES: &[Product] = &[
    protocol_of(
        "CockroachDB",
        Mark::Version { says: "CockroachDB ", version_after: " v" },
        // SERIAL is unique_rowid(): large numbers that leave gaps.
        Dialect { auto_increment: AutoIncrement::Identity, ..WITHOUT_VACUUM },
    ),
    // The first column of a primary key is hashed unless it says otherwise, and ranges would ask every tablet.
    protocol_of("YugabyteDB", words("-YB-"), Dialect { key_order: " ASC", ..WITHOUT_VACUUM }),
    Product {
        dialect: Dialect { table_options: " DISTRIBUTED BY (id)", ..WITHOUT_FREEZE },
        ..postgresql_of("Greenplum", words("Greenplum Database "))
    },
    // Over shared storage it may do without whole pages in the log.
    Product {
        durability: &["fsync", "synchronous_commit"],
        ..postgresql_of("PolarDB for PostgreSQL", words(" (PolarDB "))
    },
    protocol_of("Amazon Redshift", words(", Redshift "), WITHOUT_COPY),
    postgresql_of("EDB Postgres Advanced Server", words("(EnterpriseDB Advanced Server ")),
    protocol_of("Materialize", words("(Materialize v"), ROWS_ALONE),
    protocol_of("RisingWave", words("-RisingWave-"), ROWS_ALONE),
    protocol_of("CrateDB", words("CrateDB "), ROWS_ALONE),
    protocol_of("QuestDB", Mark::Version { says: "QuestDB", version_after: "QuestDB " }, ROWS_ALONE),
    postgresql_of("openGauss", words("(openGauss ")),
    over_storage_of_its_own("Amazon Aurora PostgreSQL", Mark::Function("aurora_version")),
    postgresql_of("Amazon RDS for PostgreSQL", Mark::SettingPrefix("rds")),
    postgresql_of("Google Cloud SQL for PostgreSQL", Mark::SettingPrefix("cloudsql")),
    over_storage_of_its_own("Google AlloyDB", Mark::SettingPrefix("alloydb")),
    postgresql_of("Azure Database for PostgreSQL", Mark::SettingPrefix("azure")),
    over_storage_of_its_own("Neon", Mark::SettingPrefix("neon")),
    Product {
        // A COPY into shards is one for each of them, which did not make its table in the same transaction.
        dialect: Dialect {
            distribute: Some("SELECT create_distributed_table('{table}', 'id')"),
            ..WITHOUT_FREEZE
        },
        ..postgresql_of("Citus", Mark::Extension("citus"))
    },
    Product {
        // Columnar tables are for rows that stay as they are; transactions want the heap.
        dialect: Dialect { table_options: " USING heap", ..Dialect::POSTGRESQL },
        ..postgresql_of("Hydra", Mark::Extension("columnar"))
    },
    postgresql_of("TimescaleDB", Mark::Extension("timescaledb")),
];

/// MySQL as somebody else runs it or builds it.
const fn mysql_of(name: &'static str, mark: Mark) -> Product {
    let (dialect, durability) = (Dialect::MYSQL, mysql::DURABILITY);
    Product { name, mark, dialect, durability, views: mysql::VIEWS, ran: None }
}

/// MySQL's protocol over another database, which shows InnoDB's variables and heeds none.
const fn my_protocol_of(name: &'static str, mark: Mark) -> Product {
    Product { durability: &[], views: Views::NONE, ..mysql_of(name, mark) }
}

/// Adding an index reads the whole table over again, or is not supported.
const INDEX_WITH_TABLE: Dialect = Dialect { index_after_load: false, ..Dialect::MYSQL };

pub(super) static ON_MYSQL: &[Product] = &[
    Product {
        dialect: INDEX_WITH_TABLE,
        ..my_protocol_of("TiDB", Mark::Version { says: "-TiDB-", version_after: "-TiDB-v" })
    },
    Product { dialect: INDEX_WITH_TABLE, ..my_protocol_of("PolarDB-X", words("-TDDL-")) },
    mysql_of("PolarDB-X Standard Edition", words("-X-Cluster-")),
    // It is of MySQL 5.6 and 5.7, which do not tell what was changed.
    Product {
        views: Views { cache: Some(mysql::CACHE), ..Views::NONE },
        ..mysql_of("StoneDB", Mark::Version { says: "-StoneDB-", version_after: "-StoneDB-v" })
    },
    // Its log is kept by storage nodes: there is no doublewrite buffer and no file to flush.
    Product {
        durability: &["innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"],
        views: Views { counters: &[], ..mysql::VIEWS },
        ..mysql_of("Amazon Aurora MySQL", Mark::Variable("aurora_version"))
    },
    mysql_of("Percona XtraDB Cluster", Mark::Comment { says: "Percona XtraDB Cluster ", version_after: "" }),
    mysql_of("Percona Server for MySQL", Mark::Comment { says: "Percona Server ", version_after: "" }),
    mysql_of("Google Cloud SQL for MySQL", Mark::Version { says: "-google", version_after: "" }),
    my_protocol_of("Vitess", Mark::Version { says: "-Vitess", version_after: "" }),
    my_protocol_of("SingleStore", Mark::Variable("memsql_version")),
];
