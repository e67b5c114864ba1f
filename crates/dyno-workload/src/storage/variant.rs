//! What a user says of a way to keep the accounts: `NAME`, or `NAME=CLAUSE; CLAUSE; …`. Text only, runs nothing.

use crate::benchmark::BenchmarkError;
use thiserror::Error;

use crate::pgbench::tables::{BEGINNING, Table};
use crate::statements::statements;

/// Longest name; it is a part of the names of tables, and heads a column.
const NAME_LENGTH_MAX: usize = 24;
/// Stands for the accounts in a statement.
const TABLE: &str = "{table}";

/// Words of settings with which the same names would stand for other tables, or for those of another user.
const MOVES: [&str; 4] = ["search_path", "schema", "role", "authorization"];

/// A way to keep the accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// Empty where there is one way, that of the server.
    pub name: String,
    /// The access method or the engine of this name.
    pub stored_as: Option<String>,
    /// What stands behind `CREATE TABLE (…)`.
    pub options: String,
    /// Run when the table is made, before its rows come; `{table}` stands for it.
    pub statements: Vec<String>,
    /// With these each session begins.
    pub settings: Vec<String>,
    /// Columns of each index.
    pub indexes: Vec<String>,
    /// Whether the tables have their primary keys.
    pub keys: bool,
}

/// Why a text is no variant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariantError {
    #[error(
        "`{0}` is no name for a variant: it takes letters, digits and `_`, begins with a letter, and has at most \
         {NAME_LENGTH_MAX}"
    )]
    Name(String),
    #[error("the variant {0} has an index without columns: write index(abalance), or index(bid, abalance)")]
    Index(String),
    #[error(
        "the variant {0} may not `{1}`: dyno looks for its tables where the target's own session does; name another database \
         or user in the target"
    )]
    Elsewhere(String, String),
    #[error("the variant {0} names two access methods or engines: {1} and {2}")]
    Twice(String, String, String),
}

impl From<VariantError> for BenchmarkError {
    fn from(error: VariantError) -> Self {
        Self::Wrong(Box::new(error))
    }
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            name: String::new(),
            stored_as: None,
            options: String::new(),
            statements: Vec::new(),
            settings: Vec::new(),
            indexes: Vec::new(),
            keys: true,
        }
    }
}

/// The name that a text gives a variant, and its clauses; without any, its name says how the table is kept.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once('=').map_or((text, text), |(name, clauses)| (name.trim(), clauses.trim()))
}

/// A single word.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Variant {
    pub(super) fn parse(text: &str) -> Result<Self, VariantError> {
        let (name, clauses) = split(text);
        if !is_word(name) || name.len() > NAME_LENGTH_MAX {
            return Err(VariantError::Name(name.to_owned()));
        }
        let mut variant = Self { name: name.to_owned(), ..Self::default() };
        for clause in statements(clauses) {
            variant.take(clause)?;
        }
        Ok(variant)
    }

    /// Takes in one clause: what it is shows by its first word, by `{table}`, or by that it is a single word.
    fn take(&mut self, clause: String) -> Result<(), VariantError> {
        let lower = clause.to_ascii_lowercase();
        let word = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
        let columns = lower.strip_prefix("index").map(str::trim_start).filter(|rest| rest.starts_with('('));
        if clause.contains(TABLE) {
            self.statements.push(clause);
        } else if word == "set" {
            if lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|it| MOVES.contains(&it)) {
                return Err(VariantError::Elsewhere(self.name.clone(), clause));
            }
            self.settings.push(clause);
        } else if matches!(lower.as_str(), "no keys" | "no key") {
            self.keys = false;
        } else if columns.is_some() || lower == "index" {
            let start = clause.find('(').map_or(clause.len(), |at| at + 1);
            let columns = clause[start..].strip_suffix(')').unwrap_or_default().trim().to_owned();
            if columns.is_empty() {
                return Err(VariantError::Index(self.name.clone()));
            }
            self.indexes.push(columns);
        } else if is_word(&clause) {
            if let Some(other) = self.stored_as.replace(clause.clone()) {
                return Err(VariantError::Twice(self.name.clone(), other, clause));
            }
        } else {
            let blank = if self.options.is_empty() { "" } else { " " };
            self.options = format!("{}{blank}{clause}", self.options);
        }
        Ok(())
    }

    /// With what the names of its tables begin.
    pub(super) fn beginning(&self) -> String {
        match self.name.as_str() {
            "" => "storage_".to_owned(),
            name => format!("storage_{}_", name.to_ascii_lowercase()),
        }
    }

    /// A text with the names of pgbench's tables, on its own.
    pub(super) fn on_tables(&self, text: &str) -> String {
        text.replace(BEGINNING, &self.beginning())
    }

    pub(super) fn table(&self, table: Table) -> String {
        self.on_tables(table.name())
    }

    /// All that stands behind `CREATE TABLE (…)`, where `template` names a way that is one of the server's.
    pub(super) fn options(&self, template: &str) -> String {
        let stored_as = self.stored_as.iter().map(|name| template.replace("{name}", name));
        let options = Some(self.options.clone()).filter(|options| !options.is_empty());
        stored_as.chain(options).collect::<Vec<_>>().join(" ")
    }

    /// Its statements on the accounts.
    pub(super) fn statements(&self) -> Vec<String> {
        let accounts = self.table(Table::Accounts);
        self.statements.iter().map(|statement| statement.replace(TABLE, &accounts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(text: &str) -> Variant {
        Variant::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_name_alone_is_that_of_an_access_method_or_an_engine() {
        assert_eq!(variant("heap").options("USING {name}"), "USING heap");
        assert_eq!(variant("MyISAM").options("ENGINE = {name}"), "ENGINE = MyISAM");
        assert_eq!(variant("MyISAM").beginning(), "storage_myisam_");
        assert_eq!(variant("plain=").options("USING {name}"), "");
        assert_eq!(variant("fast=columnar").options("USING {name}"), "USING columnar");
    }

    #[test]
    fn clauses_say_what_they_are_by_their_words() {
        let all = variant(
            "all = using columnar with (a = 'x;y'); index(bid, abalance) ; no keys; SET work_mem = '64MB';\
             create table {table}_1 partition of {table} default; index (abalance);",
        );
        assert_eq!(all.options("USING {name}"), "using columnar with (a = 'x;y')");
        assert_eq!(all.indexes, ["bid, abalance", "abalance"]);
        let elsewhere = Variant::parse("a=set search_path = other").unwrap_err();
        assert_eq!(elsewhere, VariantError::Elsewhere("a".to_owned(), "set search_path = other".to_owned()));
        let commented = Variant::parse("a=using heap -- as ever\n").unwrap();
        assert_eq!(commented.options, "using heap");
        assert_eq!((all.keys, &all.settings[..]), (false, &["SET work_mem = '64MB'".to_owned()][..]));
        let partition =
            "create table storage_all_accounts_1 partition of storage_all_accounts default".to_owned();
        assert_eq!(all.statements(), [partition]);
        let both = variant("a=columnar; with (x=1)");
        assert_eq!(both.options("USING {name}"), "USING columnar with (x=1)");
        assert!(variant("a=partition by hash (aid) partitions 8").keys);
    }

    #[test]
    fn what_is_no_variant_is_said() {
        let refused = |text: &str| Variant::parse(text).unwrap_err().to_string();
        for name in ["", "=using heap", "1a", "a-b=", "a.b", "a b", &"x".repeat(25)] {
            assert!(refused(name).contains("is no name for a variant"), "{name}");
        }
        assert!(refused("a=index()").contains("index without columns"));
        assert!(refused("a=index").contains("index without columns"));
        assert!(refused("a=heap; columnar").contains("heap and columnar"));
    }
}
