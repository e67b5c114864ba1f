//! The tables as sysbench makes them: what is said to make, fill, index and drop one, in either SQL. Text only.

use dyno_target::product::Dialect;

use super::options::Options;
use crate::dataset::{NewTable, primary_key};

/// The columns, in the order in which rows are sent.
pub(super) const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// `sbtest1`, `sbtest2`, …
#[must_use]
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// The secondary index of a table, `k_1`.
#[must_use]
pub fn index_name(table: u32) -> String {
    format!("k_{table}")
}

/// What is said to make a table of these options.
pub(super) fn new_table(table: u32, options: &Options, dialect: &Dialect) -> NewTable {
    let name = table_name(table);
    let id = match options.auto_inc {
        true => dialect.auto_increment.column_type(),
        false => "INTEGER NOT NULL",
    };
    let (key, key_after) = match (options.secondary, dialect.index_of_table) {
        (false, _) => primary_key(&name, dialect),
        (true, true) => (", KEY xid (id)".to_owned(), None),
        // Elsewhere an index is made by a statement of its own.
        (true, false) => (String::new(), Some(format!("CREATE INDEX xid_{table} ON {name}(id)"))),
    };
    let engine = dialect.engine(&options.mysql_storage_engine);
    let create = format!(
        "CREATE TABLE {name}(id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL{key}){engine}{}",
        dialect.table_options
    );
    NewTable {
        columns: "id, k, c, pad",
        rows: options.table_size,
        create: std::iter::once(create).chain(dialect.distribute(&name)).collect(),
        numbered: options.auto_inc,
        key: key_after,
        index: options.create_secondary.then(|| format!("CREATE INDEX {} ON {name}(k)", index_name(table))),
        name,
    }
}

pub(super) fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}

#[cfg(test)]
mod tests {
    use dyno_target::product::Bulk;

    use super::*;

    #[test]
    fn tables_are_as_sysbench_makes_them() {
        let options = Options::default();
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let table = new_table(3, &options, &mysql);
        assert_eq!(
            table.create,
            ["CREATE TABLE sbtest3(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             /*! ENGINE = innodb */"]
        );
        assert_eq!(table.after_load(&mysql), ["CREATE INDEX k_3 ON sbtest3(k)"]);
        let table = new_table(1, &options, &postgres);
        assert!(table.create[0].starts_with("CREATE TABLE sbtest1(id SERIAL, k INTEGER"));
        assert!(!table.create[0].contains("ENGINE") && !table.create[0].contains("KEY"));
        let [sequence, key, _] = &table.after_load(&postgres)[..] else { panic!("{table:?}") };
        assert!(sequence.ends_with(", 10000)"), "{sequence}");
        assert_eq!(key, "ALTER TABLE sbtest1 ADD PRIMARY KEY (id)");
    }

    #[test]
    fn options_and_dialects_change_them() {
        let options = Options {
            auto_inc: false,
            secondary: true,
            create_secondary: false,
            mysql_storage_engine: "rocksdb".to_owned(),
            ..Options::default()
        };
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let table = new_table(1, &options, &mysql);
        let create = &table.create[0];
        assert!(create.contains("(id INTEGER NOT NULL, ") && create.contains(", KEY xid (id))"), "{create}");
        assert!(create.ends_with(" /*! ENGINE = rocksdb */"), "{create}");
        assert_eq!(table.after_load(&mysql), [""; 0]);
        let table = new_table(2, &options, &postgres);
        assert_eq!(table.after_load(&postgres), ["CREATE INDEX xid_2 ON sbtest2(id)"]);
        let elsewhere = Dialect {
            bulk: Bulk::Copy { freeze: false },
            key_order: " ASC",
            table_options: " SPLIT",
            ..postgres
        };
        let keyed = Options { secondary: false, ..options };
        let table = new_table(1, &keyed, &elsewhere);
        assert!(table.create[0].ends_with(", PRIMARY KEY (id ASC)) SPLIT"), "{}", table.create[0]);
        assert_eq!(table.after_load(&elsewhere), [""; 0]);
    }
}
