//! Tables as a family describes them, and the statements that follow from that and a dialect. Text only.

use std::borrow::Cow;

use dyno_target::catalog;
use dyno_target::product::{Dialect, ForeignKeys};

use super::bulk::ROWS_PER_TRANSACTION;
use super::columns_text;

/// A table that is made.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub name: String,
    /// In the order in which rows are sent. The first numbers the rows from 1 on.
    pub columns: Vec<Column>,
    pub key: Option<Key>,
    pub indexes: Vec<Index>,
    pub foreign_keys: Vec<ForeignKey>,
    /// Rows that are there after the load, and those of them that were there before. Where several rows have one number
    /// ([`Rows::write`](super::Rows::write)), their numbers.
    pub rows: u64,
    pub loaded: u64,
    /// Rows of each number, about.
    pub rows_each: u64,
    /// Rows that travel in one transaction, where not all of them have to.
    pub part_rows: u64,
    /// Where the product has several.
    pub engine: String,
    /// As much of a page is filled, in percent, where that is said.
    pub fill_percent: Option<u8>,
    /// Its texts take all letters, whatever the database is set to.
    pub all_letters: bool,
    /// What stands behind `CREATE TABLE` where the user says how the table is kept, in the place of all that dyno would write
    /// there; and statements that follow it.
    pub options: String,
    pub statements: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    /// Follows the type, with a blank before it.
    pub constraint: &'static str,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An integer that fills itself with the next number, and one of 64 bits.
    Number,
    BigNumber,
    Integer,
    BigInteger,
    Char(u16),
    Varchar(u16),
    Text,
    Timestamp,
    Date,
    Double,
    /// Of so many digits, and so many of them behind the point.
    Decimal(u8, u8),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// On the first column.
    Primary,
    /// On these columns: `l_orderkey, l_linenumber`.
    Of(Cow<'static, str>),
    /// On the first column, an index in its place, which need not be unique. Where names of indexes are unique in a whole schema, the table's
    /// number follows.
    Index(&'static str, u32),
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    pub name: String,
    /// `l_partkey, l_suppkey`
    pub columns: Cow<'static, str>,
    pub unique: bool,
}

/// The rows of another table that columns refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    /// `l_partkey, l_suppkey`
    pub columns: Cow<'static, str>,
    pub table: Cow<'static, str>,
    pub key: Cow<'static, str>,
    /// The key is one column whose values are 1 to this.
    pub rows: Option<u64>,
}

pub(crate) fn column(name: impl Into<Cow<'static, str>>, kind: Kind, constraint: &'static str) -> Column {
    Column { name: name.into(), kind, constraint }
}

impl Kind {
    fn sql(self, dialect: &Dialect) -> String {
        match self {
            Self::Number => dialect.auto_increment.column_type().to_owned(),
            Self::BigNumber => dialect.auto_increment.big_column_type().to_owned(),
            Self::Integer => "INTEGER".to_owned(),
            Self::BigInteger => "BIGINT".to_owned(),
            Self::Char(length) => format!("CHAR({length})"),
            Self::Varchar(length) => format!("VARCHAR({length})"),
            Self::Text => "TEXT".to_owned(),
            Self::Timestamp => dialect.timestamp.to_owned(),
            Self::Date => "DATE".to_owned(),
            Self::Double => "DOUBLE PRECISION".to_owned(),
            Self::Decimal(digits, places) => format!("DECIMAL({digits}, {places})"),
        }
    }

    /// Whether it fills itself.
    pub(crate) fn is_identity(self) -> bool {
        matches!(self, Self::Number | Self::BigNumber)
    }

    /// What the server's word for it has in it: integers and strings have as many names as there are products.
    fn word(self) -> &'static str {
        match self {
            Self::Number | Self::BigNumber | Self::Integer | Self::BigInteger => "int",
            Self::Char(_) | Self::Varchar(_) => "char",
            Self::Text => "text",
            // `timestamp` and `datetime`.
            Self::Timestamp => "time",
            Self::Date => "date",
            Self::Double | Self::Decimal(..) => "",
        }
    }
}

impl Table {
    /// Without rows, index and foreign key.
    pub(crate) fn new(name: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            name: name.into(),
            columns,
            key: Some(Key::Primary),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            rows: 0,
            loaded: 0,
            rows_each: 1,
            part_rows: ROWS_PER_TRANSACTION,
            engine: "InnoDB".to_owned(),
            fill_percent: None,
            all_letters: false,
            options: String::new(),
            statements: Vec::new(),
        }
    }

    /// `id, k, c, pad`
    pub(crate) fn column_list(&self) -> String {
        self.columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", ")
    }

    fn first_column(&self) -> &str {
        self.columns.first().map_or("", |column| &column.name)
    }

    /// `CREATE TABLE`; `comment` is what the table says of itself from the start.
    pub(crate) fn create(&self, dialect: &Dialect, comment: &str) -> String {
        let column =
            |column: &Column| format!("{} {}{}", column.name, column.kind.sql(dialect), column.constraint);
        let mut parts: Vec<String> = self.columns.iter().map(column).collect();
        let (name, first, order) = (&self.name, self.first_column(), dialect.key_order);
        match &self.key {
            Some(Key::Primary) if !dialect.key_after_load() => {
                parts.push(format!("PRIMARY KEY ({first}{order})"));
            }
            Some(Key::Of(columns)) if !dialect.key_after_load() => {
                parts.push(format!("PRIMARY KEY ({columns})"));
            }
            Some(Key::Index(index, _)) if dialect.index_of_table => {
                parts.push(format!("KEY {index} ({first})"));
            }
            _ => {}
        }
        if dialect.foreign_keys == ForeignKeys::WithTable {
            parts.extend(self.foreign_keys.iter().map(ForeignKey::sql));
        }
        let engine = dialect.engine(&self.engine);
        let fill = self.fill_percent.map_or_else(String::new, |percent| dialect.fill(percent));
        let letters = if self.all_letters { dialect.all_letters } else { "" };
        let has_key = matches!(self.key, Some(Key::Primary | Key::Of(_)));
        let keyless = if has_key { "" } else { dialect.keyless_options };
        let options = match self.options.as_str() {
            "" => format!("{engine}{letters}{fill}{}{keyless}", dialect.table_options),
            said => format!(" {said}"),
        };
        let create = format!("CREATE TABLE {name} ({})", parts.join(", "));
        dialect.comments.create([&create, &options], name, comment)
    }

    /// Statements before the rows.
    pub(crate) fn before_load(&self, dialect: &Dialect, comment: &str) -> Vec<String> {
        let indexes = self.index_sql(dialect.secondary_indexes && !dialect.index_after_load);
        let distributed = dialect.distribute(&self.name);
        let statements = self.statements.iter().cloned();
        [self.create(dialect, comment)]
            .into_iter()
            .chain(statements)
            .chain(distributed)
            .chain(indexes)
            .collect()
    }

    /// Statements after the rows: where the numbering goes on, and the key.
    pub(crate) fn keys(&self, dialect: &Dialect) -> Vec<String> {
        let (name, first) = (&self.name, self.first_column());
        let key = match &self.key {
            Some(Key::Primary) if dialect.key_after_load() => {
                Some(format!("ALTER TABLE {name} ADD PRIMARY KEY ({first})"))
            }
            Some(Key::Of(columns)) if dialect.key_after_load() => {
                Some(format!("ALTER TABLE {name} ADD PRIMARY KEY ({columns})"))
            }
            // An index is made by a statement of its own.
            Some(Key::Index(index, number)) if !dialect.index_of_table && dialect.secondary_indexes => {
                Some(format!("CREATE INDEX {index}_{number} ON {name}({first})"))
            }
            _ => None,
        };
        self.sequence(dialect).into_iter().chain(key).collect()
    }

    /// Statements after these: the secondary indexes.
    pub(crate) fn indexes(&self, dialect: &Dialect) -> Vec<String> {
        self.index_sql(dialect.secondary_indexes && dialect.index_after_load).collect()
    }

    /// Rows that were loaded with their numbers leave a sequence where it was.
    pub(crate) fn sequence(&self, dialect: &Dialect) -> Option<String> {
        let first = self.columns.first().filter(|column| column.kind.is_identity() && self.rows > 0)?;
        dialect.sequence(&self.name, &first.name, self.rows)
    }

    /// Where indexes are made at this time, the statements.
    fn index_sql(&self, now: bool) -> impl Iterator<Item = String> {
        let indexes = self.indexes.iter().filter(move |_| now);
        indexes.map(|Index { name, columns, unique }| {
            let unique = if *unique { "UNIQUE " } else { "" };
            format!("CREATE {unique}INDEX {name} ON {}({columns})", self.name)
        })
    }

    /// Statements that make the foreign keys of the loaded rows.
    pub(crate) fn references(&self, dialect: &Dialect) -> Vec<String> {
        let add = |key: &ForeignKey| {
            let add = format!("ALTER TABLE {} ADD {}", self.name, key.sql());
            match dialect.foreign_keys {
                ForeignKeys::Never | ForeignKeys::WithTable => Vec::new(),
                ForeignKeys::AfterLoad => vec![add],
                // It is not taken on trust: the rows are checked afterwards, by the keys.
                ForeignKeys::Unchecked { off, on } => vec![off.to_owned(), add, on.to_owned()],
            }
        };
        self.foreign_keys.iter().flat_map(add).collect()
    }

    /// Queries that count the rows that break a foreign key, where the server has one and has not looked.
    pub(crate) fn unresolved(&self, dialect: &Dialect) -> Vec<String> {
        let looks = matches!(dialect.foreign_keys, ForeignKeys::Unchecked { .. } | ForeignKeys::WithTable);
        let keys = self.foreign_keys.iter().filter(|_| looks);
        keys.map(|key| key.unresolved(&self.name)).collect()
    }

    /// Why what stands under this name is another table; `None` where it is this one.
    pub(crate) fn foreign(&self, found: &catalog::Table) -> Option<String> {
        if !found.is_table {
            return Some("it is not a table".to_owned());
        }
        let like = |(found, ours): (&catalog::Column, &Column)| {
            found.name.eq_ignore_ascii_case(&ours.name)
                && found.kind.to_ascii_lowercase().contains(ours.kind.word())
        };
        let ours =
            found.columns.len() == self.columns.len() && found.columns.iter().zip(&self.columns).all(like);
        (!ours).then(|| format!("its columns are ({})", columns_text(&found.columns)))
    }
}

impl ForeignKey {
    fn sql(&self) -> String {
        format!("FOREIGN KEY ({}) REFERENCES {} ({})", self.columns, self.table, self.key)
    }

    /// Counts the rows of a table that refer to none: of numbers from 1 on none, if every row to the last is there and no
    /// other number is.
    pub(crate) fn unresolved(&self, name: &str) -> String {
        let Self { columns, table, key, rows } = self;
        match rows {
            Some(rows) => format!(
                "SELECT ({rows} - (SELECT COUNT(*) FROM {table} WHERE {key} BETWEEN 1 AND {rows})) \
                      + (SELECT COUNT(*) FROM {name} WHERE {columns} < 1 OR {columns} > {rows})"
            ),
            None => {
                format!("SELECT COUNT(*) FROM {name} WHERE ({columns}) NOT IN (SELECT {key} FROM {table})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_target::product::Bulk;

    use super::*;

    fn parent() -> Table {
        let columns = vec![column("id", Kind::Number, ""), column("name", Kind::Varchar(9), " NOT NULL")];
        Table { rows: 900, fill_percent: Some(100), ..Table::new("parent", columns) }
    }

    fn child() -> Table {
        let columns = vec![column("id", Kind::Integer, " NOT NULL"), column("of", Kind::Integer, "")];
        let refers =
            ForeignKey { columns: "of".into(), table: "parent".into(), key: "id".into(), rows: Some(900) };
        let indexes = vec![Index { name: "child_of".to_owned(), columns: "of".into(), unique: false }];
        Table { foreign_keys: vec![refers], indexes, ..Table::new("child", columns) }
    }

    #[test]
    fn a_table_says_the_same_of_itself_in_each_dialect() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(
            parent().create(&postgres, "mine"),
            "CREATE TABLE parent (id SERIAL, name VARCHAR(9) NOT NULL) WITH (fillfactor=100); \
             COMMENT ON TABLE parent IS 'mine'"
        );
        assert_eq!(
            parent().create(&mysql, "mine"),
            "CREATE TABLE parent (id INTEGER NOT NULL AUTO_INCREMENT, name VARCHAR(9) NOT NULL, \
             PRIMARY KEY (id)) COMMENT = 'mine' /*! ENGINE = InnoDB */"
        );
        let embedded = Dialect { foreign_keys: ForeignKeys::WithTable, engine: "", ..mysql };
        let create = child().create(&embedded, "");
        assert!(create.ends_with("PRIMARY KEY (id), FOREIGN KEY (of) REFERENCES parent (id))"), "{create}");
        assert_eq!(child().references(&embedded), [""; 0]);
    }

    #[test]
    fn keys_and_indexes_come_when_the_dialect_wants_them() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let [sequence, key] = &parent().keys(&postgres)[..] else { panic!() };
        assert_eq!(sequence, "SELECT setval(pg_get_serial_sequence('parent', 'id'), 900)");
        assert_eq!(key, "ALTER TABLE parent ADD PRIMARY KEY (id)");
        assert_eq!(parent().keys(&mysql), [""; 0]);
        assert_eq!(child().indexes(&mysql), ["CREATE INDEX child_of ON child(of)"]);
        let before = Dialect { index_after_load: false, ..mysql };
        assert_eq!(child().before_load(&before, "")[1], "CREATE INDEX child_of ON child(of)");
        let elsewhere = Dialect {
            bulk: Bulk::Copy { freeze: false },
            key_order: " ASC",
            table_options: " SPLIT",
            ..postgres
        };
        let create = child().create(&elsewhere, "");
        assert!(create.ends_with(", PRIMARY KEY (id ASC)) SPLIT"), "{create}");
        assert_eq!((child().keys(&elsewhere).len(), child().indexes(&elsewhere).len()), (0, 1));
    }

    #[test]
    fn what_a_dialect_lacks_is_left_out() {
        let dialect = Dialect {
            bulk: Bulk::Inserts { because: None },
            table_options: " ENGINE = MergeTree",
            keyless_options: " ORDER BY tuple()",
            secondary_indexes: false,
            foreign_keys: ForeignKeys::Never,
            ..Dialect::of_wire(false)
        };
        let create = child().create(&dialect, "");
        assert!(create.ends_with(", PRIMARY KEY (id)) ENGINE = MergeTree"), "{create}");
        let keyless = Table { key: None, ..child() };
        assert!(keyless.create(&dialect, "").ends_with(") ENGINE = MergeTree ORDER BY tuple()"));
        let beside = Table { key: Some(Key::Index("by_id", 1)), ..child() };
        for table in [child(), keyless, beside] {
            assert_eq!([table.keys(&dialect), table.indexes(&dialect)], [const { Vec::<String>::new() }; 2]);
            assert_eq!(table.references(&dialect), [""; 0]);
        }
    }

    #[test]
    fn who_has_not_checked_a_foreign_key_is_not_trusted() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(child().unresolved(&postgres), [""; 0]);
        assert!(child().unresolved(&mysql)[0].contains("of < 1 OR of > 900"));
        let [_, add, _] = &child().references(&mysql)[..] else { panic!() };
        assert_eq!(*add, "ALTER TABLE child ADD FOREIGN KEY (of) REFERENCES parent (id)");
    }

    #[test]
    fn a_table_is_known_by_its_columns() {
        let found = |columns: &[(&str, &str)], is_table| {
            let column = |(name, kind): &(&str, &str)| catalog::Column {
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
                is_key: false,
            };
            let columns = columns.iter().map(column).collect();
            catalog::Table { name: "parent".to_owned(), is_table, comment: String::new(), columns }
        };
        let ours = [("id", "integer"), ("name", "character varying(9)")];
        assert_eq!(parent().foreign(&found(&ours, true)), None);
        assert_eq!(parent().foreign(&found(&[("ID", "BIGINT"), ("name", "char")], true)), None);
        assert_eq!(parent().foreign(&found(&ours, false)).unwrap(), "it is not a table");
        let why = parent().foreign(&found(&ours[..1], true)).unwrap();
        assert_eq!(why, "its columns are (id integer)");
        assert!(parent().foreign(&found(&[("name", "char"), ("id", "int")], true)).is_some());
    }
}
