//! The tables as sysbench makes them.

use super::options::Options;
use crate::dataset::{Index, Key, Kind, Table, column};

/// `sbtest1`, `sbtest2`, …
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// The secondary index of a table, `k_1`.
pub fn index_name(table: u32) -> String {
    format!("k_{table}")
}

/// A table of these options.
pub(super) fn table(table: u32, options: &Options) -> Table {
    let (id, not_null) = match options.auto_inc {
        true => (Kind::Number, ""),
        false => (Kind::Integer, " NOT NULL"),
    };
    let columns = vec![
        column("id", id, not_null),
        column("k", Kind::Integer, " DEFAULT '0' NOT NULL"),
        column("c", Kind::Char(120), " DEFAULT '' NOT NULL"),
        column("pad", Kind::Char(60), " DEFAULT '' NOT NULL"),
    ];
    Table {
        rows: options.table_size,
        key: Some(if options.secondary { Key::Index("xid", table) } else { Key::Primary }),
        indexes: options
            .create_secondary
            .then(|| Index { name: index_name(table), columns: "k".into(), unique: false })
            .into_iter()
            .collect(),
        engine: options.mysql_storage_engine.clone(),
        ..Table::new(table_name(table), columns)
    }
}

pub(super) fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}

#[cfg(test)]
mod tests {
    use dyno_target::product::Dialect;

    use super::*;

    #[test]
    fn tables_are_as_sysbench_makes_them() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let third = table(3, &Options::default());
        assert_eq!(
            third.create(&mysql, ""),
            "CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             /*! ENGINE = innodb */"
        );
        assert_eq!(third.indexes(&mysql), ["CREATE INDEX k_3 ON sbtest3(k)"]);
        let create = third.create(&postgres, "");
        assert!(create.starts_with("CREATE TABLE sbtest3 (id SERIAL, k INTEGER"), "{create}");
        assert!(!create.contains("ENGINE") && !create.contains("KEY"), "{create}");
        let [sequence, key] = &third.keys(&postgres)[..] else { panic!("{third:?}") };
        assert!(sequence.ends_with(", 10000)"), "{sequence}");
        assert_eq!(key, "ALTER TABLE sbtest3 ADD PRIMARY KEY (id)");
    }

    #[test]
    fn options_change_them() {
        let options = Options {
            auto_inc: false,
            secondary: true,
            create_secondary: false,
            mysql_storage_engine: "rocksdb".to_owned(),
            ..Options::default()
        };
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let second = table(2, &options);
        let create = second.create(&mysql, "");
        assert!(create.contains("(id INTEGER NOT NULL, ") && create.contains(", KEY xid (id))"), "{create}");
        assert!(create.ends_with(" /*! ENGINE = rocksdb */"), "{create}");
        assert_eq!(second.keys(&mysql), [""; 0]);
        assert_eq!(second.keys(&postgres), ["CREATE INDEX xid_2 ON sbtest2(id)"]);
    }
}
