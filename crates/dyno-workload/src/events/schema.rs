//! The two tables: what is said to make, mark, fill and key them, in either SQL. Text only.
//!
//! `customer(id, name, address)` and `event(id, customer_id references customer, action)`, as plain as that: no index but
//! the two keys and what the product itself makes of a foreign key. Ids are the server's, by its own way of numbering.

use dyno_target::product::Dialect;

use crate::bulk::Batch;

use super::mark::{Mark, Recipe};

/// The index that a foreign key brings on MySQL, under the name that MySQL gives it.
const INDEX: &str = "customer_id";

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Customer,
    Event,
}

impl Table {
    /// In the order in which they are made.
    pub const ALL: [Self; 2] = [Self::Customer, Self::Event];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Event => "event",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The columns behind `id`, with their types.
    fn columns(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::Customer => [("name", "VARCHAR(100)"), ("address", "VARCHAR(200)")],
            Self::Event => [("customer_id", "INTEGER"), ("action", "VARCHAR(30)")],
        }
    }

    /// All columns, in the order in which rows are sent.
    fn column_names(self) -> String {
        let [(second, _), (third, _)] = self.columns();
        format!("id, {second}, {third}")
    }
}

/// Says what a server of one dialect is to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema<'a> {
    pub dialect: &'a Dialect,
    /// Of what is made.
    pub recipe: Recipe,
}

impl Schema<'_> {
    /// PostgreSQL builds the key of a full table faster than it fills one along with the rows. On MySQL the key is the
    /// table, and relatives of PostgreSQL want to know it beforehand, to place the rows.
    fn key_after_load(&self) -> bool {
        !self.dialect.mysql && self.dialect.freeze
    }

    /// Makes an empty table with its mark, the key unless that comes after the load.
    pub(super) fn create(&self, table: Table) -> String {
        let name = table.name();
        let [(second, second_type), (third, third_type)] = table.columns();
        let id = self.dialect.auto_increment.column_type();
        let key = match self.key_after_load() {
            true => String::new(),
            false => format!(", PRIMARY KEY (id{})", self.dialect.key_order),
        };
        let columns = format!("id {id}, {second} {second_type} NOT NULL, {third} {third_type} NOT NULL{key}");
        let options = self.dialect.table_options;
        let mark = Mark::unfinished();
        match self.dialect.mysql {
            // Relatives that have no engines take theirs for a comment.
            true => {
                format!("CREATE TABLE {name} ({columns}) /*! ENGINE = InnoDB */ COMMENT = '{mark}'{options}")
            }
            // Statements that are sent together are done together or not at all.
            false => {
                format!("CREATE TABLE {name} ({columns}){options}; COMMENT ON TABLE {name} IS '{mark}'")
            }
        }
    }

    /// What is made before any row comes.
    pub(super) fn before_load(&self) -> Vec<String> {
        let index = self.create_index().filter(|_| !self.dialect.index_after_load);
        Table::ALL.map(|table| self.create(table)).into_iter().chain(index).collect()
    }

    /// What is made of the rows: the keys, and where the numbering goes on. Statements for each table, which need not
    /// wait for each other.
    pub(super) fn keys(&self) -> Vec<Vec<String>> {
        let of = |table: Table, rows: u64| {
            let name = table.name();
            let key = self.key_after_load().then(|| format!("ALTER TABLE {name} ADD PRIMARY KEY (id)"));
            // Rows with given numbers leave PostgreSQL's sequence where it was. Where `id` has none, nothing happens.
            let moves = !self.dialect.mysql && rows > 0;
            let sequence =
                moves.then(|| format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {rows})"));
            key.into_iter().chain(sequence).collect()
        };
        let size = self.recipe.size;
        vec![of(Table::Customer, size.customers), of(Table::Event, size.rows)]
    }

    /// What is made of the keys: the index first, so that MySQL takes it for the foreign key.
    pub(super) fn foreign_key(&self) -> Vec<String> {
        let index = self.create_index().filter(|_| self.dialect.index_after_load);
        let key = "ALTER TABLE event ADD FOREIGN KEY (customer_id) REFERENCES customer (id)".to_owned();
        let statements = index.into_iter();
        if !self.dialect.mysql {
            return statements.chain([key]).collect();
        }
        // With its checks on, InnoDB would copy the whole table row by row to add the key. It is not taken on trust:
        // the rows are checked afterwards, by the keys.
        let [off, on] = ["SET SESSION foreign_key_checks = 0", "SET SESSION foreign_key_checks = 1"];
        statements.chain([off.to_owned(), key, on.to_owned()]).collect()
    }

    /// The index on `event.customer_id`, where it was asked for or comes with the foreign key anyway: made on its own it
    /// is sorted, and so small and soon done.
    fn create_index(&self) -> Option<String> {
        let wanted = self.recipe.customer_index || self.dialect.foreign_key_index;
        // Elsewhere names of indexes are unique in a whole schema, and are better left to the server.
        wanted.then(|| match self.dialect.mysql {
            true => format!("CREATE INDEX {INDEX} ON event (customer_id)"),
            false => "CREATE INDEX ON event (customer_id)".to_owned(),
        })
    }

    /// What brings the statistics up to date, and makes PostgreSQL's index-only scans possible.
    pub(super) fn settle(&self, table: Table) -> Option<String> {
        match self.dialect.vacuum {
            true => Some(format!("VACUUM (ANALYZE) {}", table.name())),
            false => self.dialect.analyze(table.name()),
        }
    }

    /// Marks both tables as whole.
    pub(super) fn finish(&self) -> Vec<String> {
        let mark = self.recipe.text();
        match self.dialect.mysql {
            true => {
                Table::ALL.map(|table| format!("ALTER TABLE {} COMMENT = '{mark}'", table.name())).to_vec()
            }
            false => {
                let of = |table: Table| format!("COMMENT ON TABLE {} IS '{mark}'", table.name());
                vec![Table::ALL.map(of).join("; ")]
            }
        }
    }

    /// What brings so many rows.
    pub(super) fn batch(&self, table: Table, rows: u64) -> Batch {
        let (name, columns) = (table.name(), table.column_names());
        let freeze = if self.dialect.freeze { " WITH (FREEZE ON)" } else { "" };
        Batch {
            table: name.to_owned(),
            rows,
            copy: format!("COPY {name} ({columns}) FROM STDIN{freeze}"),
            // The file's name is any: nobody opens it. Its form is MySQL's own, which no `sql_mode` changes.
            load_local: format!("LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {name} ({columns})"),
            insert: format!("INSERT INTO {name} ({columns}) VALUES "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::size::Size;
    use super::*;

    fn schema(dialect: &Dialect, customer_index: bool) -> Schema<'_> {
        Schema { dialect, recipe: Recipe { size: Size { rows: 900, customers: 30 }, customer_index } }
    }

    #[test]
    fn tables_are_plain_and_marked_from_the_start() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(
            schema(&postgres, false).create(Table::Event),
            "CREATE TABLE event (id SERIAL, customer_id INTEGER NOT NULL, action VARCHAR(30) NOT NULL); \
             COMMENT ON TABLE event IS 'dyno events/1 unfinished'"
        );
        assert_eq!(
            schema(&mysql, false).create(Table::Customer),
            "CREATE TABLE customer (id INTEGER NOT NULL AUTO_INCREMENT, name VARCHAR(100) NOT NULL, \
             address VARCHAR(200) NOT NULL, PRIMARY KEY (id)) /*! ENGINE = InnoDB */ \
             COMMENT = 'dyno events/1 unfinished'"
        );
    }

    #[test]
    fn an_index_comes_where_the_product_makes_one_or_the_user_wants_one() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        let elsewhere = Dialect { foreign_key_index: false, ..mysql };
        let index =
            |dialect, wanted| schema(dialect, wanted).foreign_key().join("; ").contains("CREATE INDEX");
        assert_eq!(
            [&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, false)),
            [false, true, false]
        );
        assert_eq!([&postgres, &mysql, &elsewhere].map(|dialect| index(dialect, true)), [true, true, true]);
        let before = Dialect { index_after_load: false, ..mysql };
        assert_eq!((schema(&before, false).before_load().len(), index(&before, false)), (3, false));
    }

    #[test]
    fn numbering_goes_on_behind_the_rows() {
        let (postgres, mysql) = (Dialect::of_wire(false), Dialect::of_wire(true));
        assert_eq!(
            schema(&postgres, false).keys()[1],
            [
                "ALTER TABLE event ADD PRIMARY KEY (id)",
                "SELECT setval(pg_get_serial_sequence('event', 'id'), 900)"
            ]
        );
        assert_eq!(schema(&mysql, false).keys(), [Vec::<String>::new(), Vec::new()]);
    }
}
