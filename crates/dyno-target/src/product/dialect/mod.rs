//! What a workload has to know of a product's SQL: what it may not say, what it has to, and how it says what every
//! product says in its own way. Facts and texts only; whoever uses them branches on no product. One file for each of
//! the two protocols; a product changes what it differs in.

mod catalog;
mod mysql;
mod postgresql;
mod standard;

use std::time::Duration;

use dyno_engine::driver::BatchForm;

pub use catalog::{Catalog, Column, Describe, Names, Table};

use crate::explain::Explain;

/// The SQL that a product understands beyond what all do.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    pub bulk: Bulk,
    /// `VACUUM` has something to do.
    pub vacuum: bool,
    pub analyze: Analyze,
    pub auto_increment: AutoIncrement,
    /// Follows the type of a column that may be NULL, with a blank before it; empty where any column may.
    pub nullable: &'static str,
    /// The type of a time with its date, that has no time zone and holds years to come.
    pub timestamp: &'static str,
    /// Behind `CREATE TABLE`, with a blank before it: has its texts take all letters, whatever the database is set to; empty where
    /// that is not said of a table.
    pub all_letters: &'static str,
    /// Whether a table that queries scan is better made with its primary key, as nearly everywhere. Elsewhere it costs an index
    /// that no scan uses.
    pub key_for_scans: bool,
    /// Whether tables are kept by column and compressed.
    pub columnar: bool,
    /// What follows a column in a primary key so that neighbouring ids lie together: ` ASC`, or nothing.
    pub key_order: &'static str,
    /// Stands after the closing bracket of `CREATE TABLE`, with a blank before it: a distribution key, an access method.
    /// The storage engine is the workload's own choice and no part of it.
    pub table_options: &'static str,
    /// Stands behind it where the table has no primary key.
    pub keyless_options: &'static str,
    /// Names the storage engine `{engine}` behind `CREATE TABLE`; empty where there are none.
    pub engine: &'static str,
    /// What a user writes behind `CREATE TABLE` to have the table kept in the way `{name}`: an access method, an engine.
    pub stored_as: &'static str,
    /// Fills pages to `{percent}` behind `CREATE TABLE`; empty where that cannot be said.
    pub fill: &'static str,
    /// Spreads an empty table over the nodes, where `{table}` is its name and `id` its primary key.
    pub distribute: Option<&'static str>,
    /// Has the numbers of a table go on behind `{rows}` that were loaded with theirs; `None` where the server does that
    /// by itself.
    pub sequence: Option<&'static str>,
    /// Whether a value of `char(n)` takes n bytes however short it is.
    pub pads_char: bool,
    /// Whether there are indexes beside that of the primary key.
    pub secondary_indexes: bool,
    /// Whether a secondary index is better made after the load. Elsewhere that is slower than loading into it, or is
    /// not supported.
    pub index_after_load: bool,
    /// Whether a name of an index is of its table alone, and not of the whole schema.
    pub index_of_table: bool,
    /// Whether a foreign key comes with an index on its columns, as InnoDB's does.
    pub foreign_key_index: bool,
    pub foreign_keys: ForeignKeys,
    pub comments: Comments,

    /// Drops several tables in one statement.
    pub drops_many: bool,
    /// Empties `{table}`.
    pub empty: &'static str,

    /// How many may write at the same time; `None` where many can.
    pub writers_max: Option<u32>,
    /// Begins a transaction that reads, and one that may write; empty where there are none.
    pub begin: &'static str,
    pub begin_write: &'static str,
    /// What makes of the words that begin a transaction, `{begin}`, those that begin one of the isolation `{level}`, and the levels that
    /// there are.
    pub isolation: (&'static str, &'static [&'static str]),
    /// Begins one whose queries all see the same instant.
    pub begin_snapshot: &'static str,
    /// Whether these can be prepared.
    pub prepares_begin: bool,
    /// Whether parameters stand as `?` in the texts that the server is sent, and not as `$1`.
    pub question_marks: bool,
    /// Whether a backslash in a string begins an escape.
    pub backslashes: bool,

    /// Settings of a session that loads rows, each of which a server may refuse.
    pub load_session: &'static [&'static str],
    /// The same for one that is to run for as long as it takes.
    pub unlimited_session: &'static [&'static str],
    /// Limits how long a session waits for a lock to `{seconds}`, and lifts that again.
    pub lock_wait: [&'static str; 2],
    /// Gives the session's next index builds `{megabytes}`; `None` where that cannot be said.
    pub sort_memory: Option<&'static str>,
    /// Asks for the most bytes of a statement; `None` where more is taken than anybody sends.
    pub statement_bytes: Option<&'static str>,

    /// What stands behind a query in standard SQL, so that it means the same.
    pub query_end: &'static str,
    /// The version from which on a subquery may name a column of the query around it; `None` where this one can.
    pub correlates_since: Option<&'static str>,

    /// Statements that empty the server's own cache of data while it runs: none where each session has its own. `None` where
    /// only a restart empties it.
    pub empty_cache: Option<&'static [&'static str]>,

    pub explain: Explain,
    pub by_table: Access,
    pub by_index: Access,
    pub catalog: &'static Catalog,
}

/// How rows are loaded fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// `COPY … FROM STDIN`, and whether `WITH (FREEZE on)`, which wants all of a table in one transaction.
    Copy { freeze: bool },
    /// `LOAD DATA LOCAL INFILE`; of a recognised server also that it is allowed there.
    LoadLocal,
    /// By the driver, in batches of rows that are about so many bytes as text.
    Batches { form: BatchForm, bytes: usize },
    /// By large INSERTs; why, where another way would be faster.
    Inserts { because: Option<&'static str> },
}

/// When a foreign key is made, and who checks the rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignKeys {
    /// There are none.
    Never,
    /// It is part of `CREATE TABLE` and cannot be added.
    WithTable,
    /// It is added to the loaded rows, which the server checks.
    AfterLoad,
    /// The same, with the check turned off and on again, because it is much slower than a query that does the same.
    Unchecked { off: &'static str, on: &'static str },
}

/// How a table says `{text}` of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comments {
    /// Does the `CREATE TABLE` that is `{create}` with the `{options}` behind it, so that the table is never there without its
    /// comment.
    pub create: &'static str,
    pub change: &'static str,
    /// Drops the comment of a table that was dropped, where it does not go with the table.
    pub drop: Option<&'static str>,
}

/// How a query is made to read a table in one way and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Follows the table's name; `{index}` is that of the index that is read.
    pub hint: &'static str,
    /// Settings of the planner that are off meanwhile. Servers that do not know them plan as they please.
    pub off: &'static [&'static str],
}

/// How the planner's statistics are brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Analyze {
    /// Not at all, or by the server itself alone.
    Never,
    /// `ANALYZE t`
    Plain,
    /// `ANALYZE TABLE t`
    Table,
    /// `ANALYZE TABLE t COMPUTE STATISTICS`
    Compute,
}

/// A column that fills itself with 1, 2, 3, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoIncrement {
    Serial,
    /// Where `SERIAL` is something else: large numbers that are unique and no sequence.
    Identity,
    /// It takes 0 as a wish for the next number.
    AutoIncrement,
    /// The number of the row itself.
    RowId,
    /// There is none: rows come with their numbers.
    Never,
}

/// The isolation levels of the standard that say what every product means by them.
pub const ISOLATION_LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

impl Dialect {
    /// Begins a transaction of an isolation level, which may write; `None` where there is no such level.
    pub fn begin_isolated(&self, writes: bool, level: &str) -> Option<String> {
        let (form, levels) = self.isolation;
        let begin = if writes { self.begin_write } else { self.begin };
        let said = || form.replace("{begin}", begin).replace("{level}", &level.to_ascii_uppercase());
        levels.contains(&level).then(said)
    }

    /// What a server of this protocol understands as far as one can tell before it was asked.
    pub const fn of_wire(mysql: bool) -> Self {
        if mysql { Self::MYSQL } else { Self::POSTGRESQL }
    }

    /// Whether the primary key is better made of the loaded rows. PostgreSQL builds the key of a full table faster than
    /// it fills one along with the rows. On MySQL the key is the table, and relatives of PostgreSQL want to know it
    /// beforehand, to place the rows.
    pub fn key_after_load(&self) -> bool {
        self.bulk == Bulk::Copy { freeze: true }
    }

    /// The statement that brings the planner's statistics on a table up to date.
    pub fn analyze(&self, table: &str) -> Option<String> {
        match self.analyze {
            Analyze::Never => None,
            Analyze::Plain => Some(format!("ANALYZE {table}")),
            Analyze::Table => Some(format!("ANALYZE TABLE {table}")),
            Analyze::Compute => Some(format!("ANALYZE TABLE {table} COMPUTE STATISTICS")),
        }
    }

    /// The statement that spreads a table over the nodes, between its creation and its load.
    pub fn distribute(&self, table: &str) -> Option<String> {
        Some(self.distribute?.replace("{table}", table))
    }

    /// The statement that has the numbers in `column` go on behind those of so many rows.
    pub fn sequence(&self, table: &str, column: &str, rows: u64) -> Option<String> {
        let sql = self.sequence?.replace("{table}", table).replace("{column}", column);
        Some(sql.replace("{rows}", &rows.to_string()))
    }

    /// The statements that limit how long a session waits for a lock, and that lift the limit again.
    pub fn lock_wait(&self, limit: Duration) -> [String; 2] {
        self.lock_wait.map(|sql| sql.replace("{seconds}", &limit.as_secs().to_string()))
    }

    /// What follows `CREATE TABLE` so that pages are filled this far.
    pub fn fill(&self, percent: u8) -> String {
        self.fill.replace("{percent}", &percent.to_string())
    }

    /// The statement that empties a table.
    pub fn empty(&self, table: &str) -> String {
        self.empty.replace("{table}", table)
    }

    /// What follows `CREATE TABLE` to name a storage engine.
    pub fn engine(&self, engine: &str) -> String {
        self.engine.replace("{engine}", engine)
    }
}

impl Bulk {
    /// The statement's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy { .. } => "COPY",
            Self::LoadLocal => "LOAD DATA LOCAL",
            Self::Batches { .. } => "a bulk load",
            Self::Inserts { .. } => "INSERT",
        }
    }
}

impl Comments {
    /// Makes a table with this comment, if it has one, by `create` with what stands behind it.
    pub fn create(&self, [create, options]: [&str; 2], table: &str, text: &str) -> String {
        if text.is_empty() {
            return format!("{create}{options}");
        }
        let commented = self.create.replace("{table}", table).replace("{text}", text);
        commented.replace("{create}", create).replace("{options}", options)
    }

    /// The statement that drops the comment of a table that was dropped.
    pub fn drop(&self, table: &str) -> Option<String> {
        Some(self.drop?.replace("{table}", table))
    }

    /// The statement that changes the comment.
    pub fn change(&self, table: &str, text: &str) -> String {
        self.change.replace("{table}", table).replace("{text}", text)
    }
}

impl Access {
    /// `table` with the hint that has this index read.
    pub fn of(&self, table: &str, index: &str) -> String {
        format!("{table}{}", self.hint.replace("{index}", index))
    }
}

impl AutoIncrement {
    /// The type of such a column, `SERIAL`.
    pub const fn column_type(self) -> &'static str {
        match self {
            Self::Serial => "SERIAL",
            Self::Identity => "INTEGER GENERATED BY DEFAULT AS IDENTITY",
            Self::AutoIncrement => "INTEGER NOT NULL AUTO_INCREMENT",
            Self::RowId | Self::Never => "INTEGER",
        }
    }

    /// The same of 64 bits.
    pub const fn big_column_type(self) -> &'static str {
        match self {
            Self::Serial => "BIGSERIAL",
            Self::Identity => "BIGINT GENERATED BY DEFAULT AS IDENTITY",
            Self::AutoIncrement => "BIGINT NOT NULL AUTO_INCREMENT",
            // By this word alone it is the number of the row.
            Self::RowId => "INTEGER",
            Self::Never => "BIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_their_table() {
        assert_eq!(Dialect::POSTGRESQL.analyze("sbtest1").as_deref(), Some("ANALYZE sbtest1"));
        assert_eq!(Dialect::MYSQL.analyze("sbtest1").as_deref(), Some("ANALYZE TABLE sbtest1"));
        let citus = Dialect { distribute: Some("SELECT spread('{table}')"), ..Dialect::POSTGRESQL };
        assert_eq!(citus.distribute("sbtest1").as_deref(), Some("SELECT spread('sbtest1')"));
        assert_eq!(Dialect::MYSQL.distribute("sbtest1"), None);
        let set = "SELECT setval(pg_get_serial_sequence('event', 'id'), 70)";
        assert_eq!(Dialect::POSTGRESQL.sequence("event", "id", 70).as_deref(), Some(set));
        assert_eq!(Dialect::MYSQL.sequence("event", "id", 70), None);
    }

    #[test]
    fn a_lock_is_waited_for_as_long_as_is_said() {
        let statements = |dialect: Dialect| dialect.lock_wait(Duration::from_secs(10));
        assert_eq!(statements(Dialect::POSTGRESQL), ["SET lock_timeout = '10s'", "RESET lock_timeout"]);
        let [set, lift] = statements(Dialect::MYSQL);
        assert_eq!(set, "SET SESSION lock_wait_timeout = 10");
        assert_eq!(lift, "SET SESSION lock_wait_timeout = DEFAULT");
    }

    #[test]
    fn a_hint_names_its_index() {
        let [mysql, postgresql] = [Dialect::MYSQL, Dialect::POSTGRESQL].map(|it| it.by_index.of("t", "k_1"));
        assert_eq!([mysql.as_str(), &postgresql], ["t FORCE INDEX (k_1)", "t"]);
    }
}
