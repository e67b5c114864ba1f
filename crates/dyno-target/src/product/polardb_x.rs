//! PolarDB-X: the Enterprise Edition is a layer that splits tables over data nodes (its version says `TDDL`), the
//! Standard Edition is MySQL with three nodes that agree on the binary log (`X-Cluster`).

use super::{Dialect, Mark, Product, Source, Views, mysql};

const DOCUMENTS: &str =
    "PolarDB-X documentation: Instance types by SELECT VERSION(); CREATE TABLE (AUTO mode); LOAD DATA";

pub(super) static POLARDB_X: Product = Product {
    name: "PolarDB-X",
    mark: Mark::Version { says: "-TDDL-", version_after: "-TDDL-" },
    // A table without a rule is split by its primary key, in a database of mode AUTO; in one of mode DRDS it is not split.
    dialect: Dialect { index_after_load: false, ..Dialect::MYSQL },
    // The data nodes have them, and the layer above does not say what all of theirs are.
    durability: &[],
    views: Views::NONE,
    source: Source { documents: DOCUMENTS, ran: None },
};

pub(super) static POLARDB_X_STANDARD: Product = Product {
    name: "PolarDB-X Standard Edition",
    mark: Mark::Version { says: "-X-Cluster-", version_after: "-X-Cluster-" },
    dialect: Dialect::MYSQL,
    durability: mysql::DURABILITY,
    views: mysql::VIEWS,
    source: Source { documents: DOCUMENTS, ran: None },
};
