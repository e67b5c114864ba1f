//! `workload.toml` as it is written. What it means is decided elsewhere.

use std::collections::BTreeMap;

use dyno_results::event::Per;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// A workload: its data, its transactions, and what must hold afterwards.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadFile {
    /// One line for lists and the help
    pub about: String,
    /// The transactions, passes and mixes that the folder's name alone stands for, in the order in which they run [default: the
    /// passes and mixes, or where there is no mix the transactions and passes]
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub usual: Vec<Spanned<String>>,
    /// Of postgresql, mysql, sqlite, duckdb, adbc, clickhouse and hive those that it runs on [default: all]
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub runs_on: Vec<Spanned<String>>,
    /// Tables that a load has written to are made anew for the next run [default: they are used again]
    #[serde(default)]
    pub fresh: bool,
    /// Seed of the generated rows [default: 0]
    #[serde(default)]
    pub seed: u32,
    /// What a user may choose, by its name on the command line
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, OptionFile>")]
    pub options: BTreeMap<String, Spanned<OptionFile>>,
    /// In the order in which they are made: a table stands behind those that it refers to
    #[serde(default)]
    pub tables: Vec<TableFile>,
    #[serde(default)]
    pub transactions: Vec<TransactionFile>,
    #[serde(default)]
    pub passes: Vec<PassFile>,
    #[serde(default)]
    pub mixes: Vec<MixFile>,
    #[serde(default)]
    pub checks: Vec<CheckFile>,
}

/// What a user may choose: a number, yes or no, or one of several names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OptionFile {
    /// One line for the help
    pub about: String,
    /// A number, an expression over other options, or `fit`: as much as suits the machine's memory. `false` of an option
    /// that is yes or no. One of the `choices`, where there are some
    #[schemars(with = "OptionDefault")]
    pub default: Spanned<toml::Value>,
    /// The names of which it takes one, each with one line for the help
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default)]
    pub choices: BTreeMap<String, Spanned<String>>,
    /// The least that it takes [default: 1]
    pub min: Option<i64>,
    /// The most that it takes: a number, or an expression over other options
    #[schemars(with = "Option<NumberOrText>")]
    pub max: Option<Spanned<toml::Value>>,
    /// Of `fit`, how much suits the machine: an expression over `:cpus` and `:quick` [default: 40 MB for each processor]
    #[schemars(with = "Option<String>")]
    pub suits: Option<Spanned<String>>,
    /// A query that returns the number of tables that are there, whoever made them: then they need no mark
    #[schemars(with = "Option<String>")]
    pub found: Option<Spanned<String>>,
}

/// A table with generated rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// A number, or an expression over the options; not of a table with a `parent`
    #[schemars(with = "Option<NumberOrText>")]
    pub rows: Option<Spanned<toml::Value>>,
    /// The table whose rows have the rows of this one as children
    #[schemars(with = "Option<String>")]
    pub parent: Option<Spanned<String>>,
    /// How many children each row of the parent has: a number, or an expression over the options, its number `:row` and its columns
    #[schemars(with = "Option<NumberOrText>")]
    pub children: Option<Spanned<toml::Value>>,
    pub columns: Vec<ColumnFile>,
    /// The columns of the primary key [default: none]
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub key: Vec<Spanned<String>>,
    #[serde(default)]
    pub indexes: Vec<IndexFile>,
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKeyFile>,
    /// As much of a page is filled, in percent, where a product can say that
    #[schemars(with = "Option<u8>")]
    pub fill_percent: Option<Spanned<u8>>,
    /// What is done with it before each load that writes
    #[schemars(with = "Option<BeforeLoad>")]
    pub before_load: Option<Spanned<BeforeLoad>>,
    /// It is kept as `--variant` says: its clauses are about this table
    #[serde(default)]
    pub varies: bool,
    /// As it is written, where a variant has given it another name: all variants have the same rows.
    #[serde(skip)]
    pub written: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeforeLoad {
    /// All its rows are removed; it is made without rows
    Empty,
    /// It is vacuumed, where the product can do that
    Vacuum,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ColumnFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// integer, bigint, double, decimal(p,s), char(n), varchar(n), text, date or timestamp; or none: its value is for the columns behind
    /// it and is not stored
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// An expression over the options, `:row` (1, 2, …) and the columns before it; of children, `:child` (1, 2, …) and `:parent.COLUMN` in the
    /// place of `:row` [default of an identity: `:row`, of what may
    /// be NULL: NULL]
    #[schemars(with = "Option<String>")]
    pub value: Option<Spanned<String>>,
    /// The server numbers the rows that transactions insert; of the first column alone
    #[serde(default)]
    pub identity: bool,
    /// It may be NULL
    #[serde(default)]
    pub null: bool,
    /// An expression over the options: where it is true, a bigint is an integer
    #[schemars(with = "Option<String>")]
    pub integer_if: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IndexFile {
    #[schemars(with = "Vec<String>")]
    pub columns: Vec<Spanned<String>>,
    #[serde(default)]
    pub unique: bool,
    /// An expression over the options: the index is made where it is true [default: true]
    #[schemars(with = "Option<String>")]
    pub when: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForeignKeyFile {
    #[schemars(with = "Vec<String>")]
    pub columns: Vec<Spanned<String>>,
    /// The table whose primary key they refer to
    #[schemars(with = "String")]
    pub table: Spanned<String>,
}

/// A script in pgbench's language that is one transaction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TransactionFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// One line for lists [default: what it is]
    pub about: Option<String>,
    /// What reports call its stages, such as `read` [default: its name]
    pub series: Option<String>,
    /// The file in the folder [default: NAME.sql]
    #[schemars(with = "Option<String>")]
    pub script: Option<Spanned<String>>,
    /// Rows that each transaction adds to a table: numbers, or expressions over the variables of its script, as they are where the
    /// commit is sent. A transaction that writes and says neither this nor `removes` may change the numbers of rows in any way
    #[schemars(with = "Option<BTreeMap<String, NumberOrText>>")]
    pub adds: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// The same of rows that it removes
    #[schemars(with = "Option<BTreeMap<String, NumberOrText>>")]
    pub removes: Option<BTreeMap<String, Spanned<toml::Value>>>,
    /// What else is counted of those that end well and are not rolled back, by keys of small letters, digits and `_`
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, CountFile>")]
    pub counts: BTreeMap<Spanned<String>, CountFile>,
    /// read committed, repeatable read or serializable [default: what the server is set to]
    #[schemars(with = "Option<String>")]
    pub isolation: Option<Spanned<String>>,
    /// Rows that its statements return, together
    pub returns: Option<u64>,
    /// Seconds that a client waits before it: a number, or an expression over the options
    #[schemars(with = "Option<NumberOrText>")]
    pub keying: Option<Spanned<toml::Value>>,
    /// The same behind it: the mean of an exponential distribution, of which none is longer than ten times as much
    #[schemars(with = "Option<NumberOrText>")]
    pub think: Option<Spanned<toml::Value>>,
    /// How many clients run it where nobody says how many: a number, or an expression over the options [default: a ladder]
    #[schemars(with = "Option<NumberOrText>")]
    pub terminals: Option<Spanned<toml::Value>>,
    /// Where more clients than a number wait for each other's rows
    pub contended: Option<ContendedFile>,
    /// One client runs it so many times, whatever load is asked for: a number, or an expression over the options
    #[schemars(with = "Option<NumberOrText>")]
    pub times: Option<Spanned<toml::Value>>,
    /// A statement that changes nothing: what a variant refuses of it, it cannot do, and its load is not begun
    #[schemars(with = "Option<String>")]
    pub trial: Option<Spanned<String>>,
    /// How long percentiles of its response time may be
    #[serde(default)]
    pub within: WithinFile,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CountFile {
    /// What is counted, in words for reports: `districts skipped`
    pub about: String,
    /// How many there were in a transaction: a number, or an expression over the variables of its script, as they are at its end
    #[schemars(with = "NumberOrText")]
    pub value: Spanned<toml::Value>,
}

/// Seconds.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WithinFile {
    #[schemars(with = "Option<f64>")]
    pub p50: Option<Spanned<f64>>,
    #[schemars(with = "Option<f64>")]
    pub p90: Option<Spanned<f64>>,
    #[schemars(with = "Option<f64>")]
    pub p95: Option<Spanned<f64>>,
    #[schemars(with = "Option<f64>")]
    pub p99: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContendedFile {
    /// The rows of which each transaction changes one: a number, or an expression over the options
    #[schemars(with = "NumberOrText")]
    pub rows: Spanned<toml::Value>,
    /// What more clients would do, and how to go further
    pub why: String,
}

/// Queries that one client runs one after the other, each timed on its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PassFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// One line for lists [default: the queries]
    pub about: Option<String>,
    /// Files of the folder, of one query each
    #[schemars(with = "Vec<String>")]
    pub queries: Vec<Spanned<String>>,
    /// Each runs with 0, 1, 2, 4, … and so many parallel workers, where the product takes that: a number, or an expression over the options
    #[schemars(with = "Option<NumberOrText>")]
    pub workers: Option<Spanned<toml::Value>>,
}

/// Several transactions, of which each client draws one after the other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MixFile {
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    pub about: Option<String>,
    /// How often each transaction is drawn, beside the others
    #[schemars(with = "BTreeMap<String, u32>")]
    pub weights: BTreeMap<String, Spanned<u32>>,
    /// Each client has each transaction exactly as often as its weight says, in an order that is drawn anew each time, instead of drawing
    /// each transaction
    #[serde(default)]
    pub deal: bool,
    /// What reports show beside transactions per second
    pub figure: Option<FigureFile>,
    /// How many clients run it where nobody says how many: a number, or an expression over the options [default: a ladder]
    #[schemars(with = "Option<NumberOrText>")]
    pub terminals: Option<Spanned<toml::Value>>,
}

/// Transactions of one kind that ended well, without those that `\rollback` ended, such as new orders per minute.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureFile {
    /// What is counted, `new orders`
    pub about: String,
    /// The transaction
    #[schemars(with = "String")]
    pub of: Spanned<String>,
    pub per: Per,
    /// The most that is possible in this time, because clients wait: a number, or an expression over the options and `:clients`, how many
    /// run, which is NULL where nothing limits it
    #[schemars(with = "Option<NumberOrText>")]
    pub at_most: Option<Spanned<toml::Value>>,
    /// What stands beside it in reports: an expression over the same that yields a text, or NULL where nothing does
    #[schemars(with = "Option<String>")]
    pub note: Option<Spanned<String>>,
}

/// What must hold behind a load: one of `none`, `equal` and `unchanged`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckFile {
    /// What holds, in one line
    #[schemars(with = "String")]
    pub about: Spanned<String>,
    /// The transactions behind which it is asked, alone or in mixes of these [default: all]
    #[serde(default, rename = "for")]
    #[schemars(with = "Vec<String>")]
    pub transactions: Vec<Spanned<String>>,
    /// A query that returns no row
    pub none: Option<String>,
    /// Two queries that return the same rows
    pub equal: Option<[String; 2]>,
    /// Of `equal`: what each has more than before the load is compared. The last column is a number, those before it are its key
    #[serde(default)]
    pub growth: bool,
    /// A query that returns the same rows before the load and behind it
    pub unchanged: Option<String>,
}

/// For the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum NumberOrText {
    Number(i64),
    Text(String),
}

/// For the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum OptionDefault {
    No(bool),
    Number(i64),
    Text(String),
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use super::WorkloadFile;

    #[test]
    fn the_schema_in_the_documents_is_that_of_the_types() {
        let schema = schemars::schema_for!(WorkloadFile);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workload.schema.json");
        if env::var_os("DYNO_TEST_WRITE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let is_there = fs::read_to_string(&path).unwrap_or_default() == text;
        assert!(
            is_there,
            "docs/workload.schema.json: DYNO_TEST_WRITE=1 cargo test -p dyno-workload --lib schema"
        );
    }
}
