//! Products and services that are told apart and of which no more is known than that: they get a file of their own once
//! somebody measures them. None was run against the real thing.

use super::{Analyze, Dialect, Mark, Product, Source, Views, mysql, postgresql};

/// PostgreSQL as somebody else runs it or builds it.
const fn postgresql_of(name: &'static str, mark: Mark, documents: &'static str) -> Product {
    Product {
        name,
        mark,
        dialect: Dialect::POSTGRESQL,
        durability: postgresql::DURABILITY,
        views: Views::NONE,
        source: Source { documents, ran: None },
    }
}

/// PostgreSQL's upper half over a log and storage of its own, which has no files to sync and no pages to write whole.
const fn over_storage_of_its_own(name: &'static str, mark: Mark, documents: &'static str) -> Product {
    Product { durability: &["synchronous_commit"], ..postgresql_of(name, mark, documents) }
}

/// PostgreSQL's protocol, and little else of it: rows go in by INSERT.
const fn protocol_alone(
    name: &'static str,
    says: &'static str,
    version_after: &'static str,
    documents: &'static str,
) -> Product {
    Product {
        name,
        mark: Mark::Version { says, version_after },
        dialect: Dialect {
            vacuum: false,
            freeze: false,
            copy: false,
            analyze: Analyze::Never,
            ..Dialect::POSTGRESQL
        },
        durability: &[],
        views: Views::NONE,
        source: Source { documents, ran: None },
    }
}

pub(super) static ON_POSTGRES: &[Product] = &[
    Product {
        // Its COPY reads from S3 only.
        dialect: Dialect { freeze: false, copy: false, ..Dialect::POSTGRESQL },
        ..protocol_alone(
            "Amazon Redshift",
            ", Redshift ",
            ", Redshift ",
            "Amazon Redshift Developer Guide: VERSION; COPY",
        )
    },
    postgresql_of(
        "EDB Postgres Advanced Server",
        Mark::Version {
            says: "(EnterpriseDB Advanced Server ",
            version_after: "(EnterpriseDB Advanced Server ",
        },
        "EDB Postgres Advanced Server documentation",
    ),
    protocol_alone("Materialize", "(Materialize v", "(Materialize v", "Materialize docs: version()"),
    protocol_alone("RisingWave", "-RisingWave-", "-RisingWave-", "RisingWave docs: version()"),
    protocol_alone("CrateDB", "CrateDB ", "CrateDB ", "CrateDB documentation: version()"),
    protocol_alone("QuestDB", "QuestDB", "QuestDB ", "QuestDB documentation: Postgres wire protocol"),
    postgresql_of(
        "openGauss",
        Mark::Version { says: "(openGauss ", version_after: "(openGauss " },
        "openGauss documentation: version()",
    ),
    postgresql_of(
        "Amazon RDS for PostgreSQL",
        Mark::SettingPrefix("rds"),
        "Amazon RDS User Guide: parameters",
    ),
    postgresql_of(
        "Google Cloud SQL for PostgreSQL",
        Mark::SettingPrefix("cloudsql"),
        "Cloud SQL for PostgreSQL documentation: Configure database flags",
    ),
    over_storage_of_its_own(
        "Google AlloyDB",
        Mark::SettingPrefix("alloydb"),
        "AlloyDB for PostgreSQL documentation: Supported database flags",
    ),
    postgresql_of(
        "Azure Database for PostgreSQL",
        Mark::SettingPrefix("azure"),
        "Azure Database for PostgreSQL documentation: Server parameters",
    ),
    over_storage_of_its_own(
        "Neon",
        Mark::SettingPrefix("neon"),
        "Neon docs: Architecture overview; Postgres parameters",
    ),
    postgresql_of("TimescaleDB", Mark::Extension("timescaledb"), "TimescaleDB documentation: Install"),
];

/// MySQL as somebody else runs it or builds it.
const fn mysql_of(name: &'static str, mark: Mark, documents: &'static str) -> Product {
    Product {
        name,
        mark,
        dialect: Dialect::MYSQL,
        durability: mysql::DURABILITY,
        views: mysql::VIEWS,
        source: Source { documents, ran: None },
    }
}

pub(super) static ON_MYSQL: &[Product] = &[
    mysql_of(
        "Percona XtraDB Cluster",
        Mark::Comment { says: "Percona XtraDB Cluster ", version_after: "" },
        "Percona XtraDB Cluster documentation: Quickstart",
    ),
    mysql_of(
        "Percona Server for MySQL",
        Mark::Comment { says: "Percona Server ", version_after: "" },
        "Percona Server for MySQL documentation: Quickstart",
    ),
    mysql_of(
        "Google Cloud SQL for MySQL",
        Mark::Version { says: "-google", version_after: "" },
        "Cloud SQL for MySQL documentation: Configure database flags",
    ),
    Product {
        durability: &[],
        views: Views::NONE,
        ..mysql_of(
            "Vitess",
            Mark::Version { says: "-Vitess", version_after: "" },
            "Vitess docs: MySQL Compatibility",
        )
    },
    Product {
        durability: &[],
        views: Views::NONE,
        ..mysql_of(
            "SingleStore",
            Mark::Variable("memsql_version"),
            "SingleStore documentation: System information functions",
        )
    },
];
