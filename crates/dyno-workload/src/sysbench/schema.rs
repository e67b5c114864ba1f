//! The tables as sysbench makes them: what is said to make, fill, index and drop one, in either SQL. Text only.

use dyno_target::product::Dialect;

use super::options::Options;

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

/// Says what a server of one dialect is to do with tables of some options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema<'a> {
    pub options: &'a Options,
    pub dialect: &'a Dialect,
}

impl Schema<'_> {
    /// PostgreSQL builds the key of a full table faster than it fills one along with the rows. On MySQL the key is the
    /// table, and relatives of PostgreSQL want to know it beforehand, to place the rows.
    pub(super) fn key_after_load(&self) -> bool {
        !self.dialect.mysql && self.dialect.freeze
    }

    /// `CREATE TABLE`, with the key unless that comes after the load.
    pub(super) fn create(&self, table: u32) -> String {
        let id = match self.options.auto_inc {
            true => self.dialect.auto_increment.column_type(),
            false => "INTEGER NOT NULL",
        };
        let key = match (self.options.secondary, self.key_after_load()) {
            (_, true) => String::new(),
            (false, _) => format!(", PRIMARY KEY (id{})", self.dialect.key_order),
            (true, _) if self.dialect.mysql => ", KEY xid (id)".to_owned(),
            // Elsewhere an index is made by a statement of its own.
            (true, _) => String::new(),
        };
        let engine = match self.dialect.mysql {
            // Relatives that have no engines take it for a comment.
            true => format!(" /*! ENGINE = {} */", self.options.mysql_storage_engine),
            false => String::new(),
        };
        format!(
            "CREATE TABLE {}(id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL{key}){engine}{}",
            table_name(table),
            self.dialect.table_options
        )
    }

    /// The key, where it comes after the load or is no part of the table.
    pub(super) fn add_key(&self, table: u32) -> Option<String> {
        let name = table_name(table);
        match (self.options.secondary, self.key_after_load()) {
            (false, true) => Some(format!("ALTER TABLE {name} ADD PRIMARY KEY (id)")),
            // Names of indexes are unique in a whole schema.
            (true, _) if !self.dialect.mysql => Some(format!("CREATE INDEX xid_{table} ON {name}(id)")),
            _ => None,
        }
    }

    /// The secondary index, where one is wanted.
    pub(super) fn create_index(&self, table: u32) -> Option<String> {
        let create = || format!("CREATE INDEX {} ON {}(k)", index_name(table), table_name(table));
        self.options.create_secondary.then(create)
    }

    /// Rows as text, with a tab between the values.
    pub(super) fn copy(&self, table: u32) -> String {
        let freeze = if self.dialect.freeze { " WITH (FREEZE ON)" } else { "" };
        format!("COPY {} ({}) FROM STDIN{freeze}", table_name(table), COLUMNS.join(", "))
    }

    /// The same rows for MySQL, whose own form they have: a `sql_mode` may read what says so (`'\t'`) in another way. The
    /// file's name is any: nobody opens it.
    pub(super) fn load_local(&self, table: u32) -> String {
        format!("LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {} ({})", table_name(table), COLUMNS.join(", "))
    }

    /// What stands before the rows of an `INSERT`.
    pub(super) fn insert(&self, table: u32) -> String {
        format!("INSERT INTO {} ({}) VALUES ", table_name(table), COLUMNS.join(", "))
    }

    /// Rows with given numbers leave PostgreSQL's sequence where it was. Where `id` has no sequence, nothing happens.
    pub(super) fn set_sequence(&self, table: u32) -> Option<String> {
        let moves = !self.dialect.mysql && self.options.auto_inc && self.options.table_size > 0;
        moves.then(|| {
            let name = table_name(table);
            format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {})", self.options.table_size)
        })
    }

    /// What brings the statistics up to date, and makes PostgreSQL's index-only scans possible.
    pub(super) fn settle(&self, table: u32) -> Option<String> {
        let name = table_name(table);
        match self.dialect.vacuum {
            true => Some(format!("VACUUM (ANALYZE) {name}")),
            false => self.dialect.analyze(&name),
        }
    }

    pub(super) fn drop_table(table: u32) -> String {
        format!("DROP TABLE IF EXISTS {}", table_name(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_as_sysbench_makes_them() {
        let options = Options::default();
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let schema = Schema { options: &options, dialect: &mysql };
        assert_eq!(
            schema.create(3),
            "CREATE TABLE sbtest3(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             /*! ENGINE = innodb */"
        );
        assert_eq!((schema.add_key(3), schema.set_sequence(3)), (None, None));
        assert_eq!(schema.create_index(3).as_deref(), Some("CREATE INDEX k_3 ON sbtest3(k)"));
        let schema = Schema { options: &options, dialect: &postgres };
        assert!(schema.create(1).starts_with("CREATE TABLE sbtest1(id SERIAL, k INTEGER"));
        assert!(!schema.create(1).contains("ENGINE") && !schema.create(1).contains("KEY"));
        assert_eq!(schema.add_key(1).as_deref(), Some("ALTER TABLE sbtest1 ADD PRIMARY KEY (id)"));
        assert!(schema.set_sequence(1).unwrap().ends_with(", 10000)"));
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
        let schema = Schema { options: &options, dialect: &mysql };
        let create = schema.create(1);
        assert!(create.contains("(id INTEGER NOT NULL, ") && create.contains(", KEY xid (id))"), "{create}");
        assert!(create.ends_with(" /*! ENGINE = rocksdb */"), "{create}");
        assert_eq!(schema.create_index(1), None);
        let schema = Schema { options: &options, dialect: &postgres };
        assert_eq!(schema.add_key(2).as_deref(), Some("CREATE INDEX xid_2 ON sbtest2(id)"));
        assert_eq!(schema.set_sequence(2), None);
        let elsewhere = Dialect { freeze: false, key_order: " ASC", table_options: " SPLIT", ..postgres };
        let keyed = Options { secondary: false, ..options };
        let schema = Schema { options: &keyed, dialect: &elsewhere };
        assert!(schema.create(1).ends_with(", PRIMARY KEY (id ASC)) SPLIT"), "{}", schema.create(1));
        assert_eq!((schema.add_key(1), schema.copy(1).contains("FREEZE")), (None, false));
    }
}
