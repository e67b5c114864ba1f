//! What a user says of a way to keep tables: `NAME`, or `NAME=CLAUSE; CLAUSE; …`, and what becomes of the tables of a folder that
//! are kept so. Each variant has tables of its own, whose names begin with its name. Text only, runs nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dyno_results::sql_text::{Piece, Syntax, readable_pieces};
use dyno_target::product::Dialect;
use thiserror::Error;

use super::file::WorkloadFile;
use super::{FILE, Folder};
use crate::benchmark::BenchmarkError;
use crate::dataset::{self, Index};
use crate::statements::statements;

/// Longest name; it is a part of the names of tables, and heads a column.
const NAME_LENGTH_MAX: usize = 24;
/// Stands for the table in a statement.
const TABLE: &str = "{table}";

/// Words of settings with which the same names would stand for other tables, or for those of another user.
const MOVES: [&str; 4] = ["search_path", "schema", "role", "authorization"];

/// A way to keep tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
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
pub(super) enum VariantError {
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

/// The name that a text gives a variant, and its clauses; without any, its name says how the table is kept.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once('=').map_or((text, text), |(name, clauses)| (name.trim(), clauses.trim()))
}

impl Folder {
    /// The folder on tables that are kept in a user's way.
    pub(super) fn kept_as(&'static self, text: &str) -> Result<&'static Self, BenchmarkError> {
        // A benchmark is made of the same text again and again.
        static KEPT: Mutex<Vec<(&'static Folder, Variant, &'static Folder)>> = Mutex::new(Vec::new());
        let variant = Variant::parse(text)?;
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(of, known, _)| std::ptr::eq(*of, self) && *known == variant);
        if let Some((_, _, kept)) = known {
            return Ok(kept);
        }
        let kept =
            self.kept(variant.clone()).map_err(|mistakes| BenchmarkError::Wrong(Box::new(mistakes)))?;
        let kept: &'static Self = Box::leak(Box::new(kept));
        all.push((self, variant, kept));
        Ok(kept)
    }
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
        let mut variant = Self {
            name: name.to_owned(),
            stored_as: None,
            options: String::new(),
            statements: Vec::new(),
            settings: Vec::new(),
            indexes: Vec::new(),
            keys: true,
        };
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
        format!("{}_", self.name.to_ascii_lowercase())
    }

    /// All that stands behind `CREATE TABLE (…)`, where `template` names a way that is one of the server's.
    fn options(&self, template: &str) -> String {
        let stored_as = self.stored_as.iter().map(|name| template.replace("{name}", name));
        let options = Some(self.options.clone()).filter(|options| !options.is_empty());
        stored_as.chain(options).collect::<Vec<_>>().join(" ")
    }

    /// A table as the variant has it; its clauses are about one that `varies`.
    pub(super) fn keep(&self, table: &mut dataset::Table, varies: bool, dialect: &Dialect) {
        if !self.keys {
            // What refers to a key goes with it.
            (table.key, table.foreign_keys) = (None, Vec::new());
        }
        if !varies {
            return;
        }
        let own = (1..).zip(&self.indexes).map(|(number, columns)| Index {
            name: format!("{}_index_{number}", table.name),
            columns: columns.clone().into(),
            unique: false,
        });
        table.indexes.extend(own);
        table.options = self.options(dialect.stored_as);
        table.statements = self.statements.iter().map(|sql| sql.replace(TABLE, &table.name)).collect();
        table.fill_percent = None;
        // As one, where a key comes behind the rows: how columns are packed depends on how many rows come together.
        if dialect.key_after_load() {
            table.part_rows = u64::MAX;
        }
    }

    /// Gives the tables of a folder the names that they have in this variant, wherever they are named.
    pub(super) fn rename(&self, file: &mut WorkloadFile, files: &mut BTreeMap<String, String>) {
        let tables: Vec<String> = file.tables.iter().map(|table| table.name.get_ref().clone()).collect();
        let beginning = self.beginning();
        let text = |text: &mut String| *text = renamed(text, &tables, &beginning);
        let name = |name: &mut String| *name = format!("{beginning}{name}");
        for table in &mut file.tables {
            table.written = Some(table.name.get_ref().clone());
            name(table.name.get_mut());
            table.parent.iter_mut().for_each(|parent| name(parent.get_mut()));
            table.foreign_keys.iter_mut().for_each(|key| name(key.table.get_mut()));
        }
        for transaction in &mut file.transactions {
            for rows in [&mut transaction.adds, &mut transaction.removes].into_iter().flatten() {
                *rows = std::mem::take(rows)
                    .into_iter()
                    .map(|(table, n)| (format!("{beginning}{table}"), n))
                    .collect();
            }
            transaction.trial.iter_mut().for_each(|trial| text(trial.get_mut()));
        }
        for option in file.options.values_mut() {
            option.get_mut().found.iter_mut().for_each(|found| text(found.get_mut()));
        }
        for check in &mut file.checks {
            check.none.iter_mut().chain(&mut check.unchanged).for_each(text);
            check.equal.iter_mut().flatten().for_each(text);
        }
        // Of a mistake in it the place is told.
        files.iter_mut().filter(|(name, _)| *name != FILE).for_each(|(_, file)| text(file));
    }
}

/// Whether a line ends with the beginning of `next(TABLE)`.
fn counts(line: &str) -> bool {
    let name = line.strip_suffix('(').unwrap_or_default().trim_end();
    name.get(name.len().saturating_sub(4)..).is_some_and(|name| name.eq_ignore_ascii_case("next"))
}

/// A text of SQL with other names of tables: words, but for columns behind a point, variables behind a colon that are no
/// `:TABLE.last`, and what stands in quotes and comments.
fn renamed(text: &str, tables: &[String], beginning: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut renamed = String::with_capacity(text.len() + 64);
    // Of a command of the script, such as `\set`, what it names are variables.
    let mut in_command = false;
    for (piece, mut rest) in readable_pieces(text, Syntax::ANY) {
        while let Some(at) = rest.find(is_word).filter(|_| piece == Piece::Code) {
            let (between, from) = rest.split_at(at);
            renamed += between;
            in_command = between.ends_with('\\') || in_command && !between.contains('\n');
            let length = from.find(|letter| !is_word(letter)).unwrap_or(from.len());
            let (word, behind) = from.split_at(length);
            let line = renamed.rsplit('\n').next().unwrap_or_default().trim_end();
            let is_other = match renamed.chars().next_back() {
                Some('.') => true,
                Some(':') => !behind.starts_with(".last"),
                _ => in_command && !counts(line),
            };
            if !is_other && tables.iter().any(|table| table.eq_ignore_ascii_case(word)) {
                renamed += beginning;
            }
            renamed += word;
            rest = behind;
        }
        in_command &= !rest.contains('\n');
        renamed += rest;
    }
    renamed
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
        assert_eq!(variant("MyISAM").beginning(), "myisam_");
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
        let mut accounts = dataset::Table::new("all_accounts", Vec::new());
        all.keep(&mut accounts, true, &Dialect::of_wire(false));
        assert_eq!(accounts.statements, ["create table all_accounts_1 partition of all_accounts default"]);
        assert!(accounts.key.is_none() && accounts.indexes[1].name == "all_accounts_index_2");
        let both = variant("a=columnar; with (x=1)");
        assert_eq!(both.options("USING {name}"), "USING columnar with (x=1)");
        assert!(variant("a=partition by hash (aid) partitions 8").keys);
    }

    #[test]
    fn tables_are_renamed_and_what_is_called_like_them_is_not() {
        let tables = ["customer".to_owned(), "purchase".to_owned()];
        for (text, expected) in [
            ("SELECT c.customer FROM Customer c", "SELECT c.customer FROM a_Customer c"),
            ("customer.id, 'a customer' -- customer", "a_customer.id, 'a customer' -- customer"),
            ("\\set id next(purchase) + :purchase.last", "\\set id next(a_purchase) + :a_purchase.last"),
            (":customer customer_id customers", ":customer customer_id customers"),
            (
                r"SELECT 'a\b' || name FROM customer \; SELECT 1 FROM purchase",
                r"SELECT 'a\b' || name FROM a_customer \; SELECT 1 FROM a_purchase",
            ),
            (r"\set id NEXT( purchase )", r"\set id NEXT( a_purchase )"),
            (
                "\\set customer 1\nSELECT 1 FROM customer \\gset customer",
                "\\set customer 1\nSELECT 1 FROM a_customer \\gset customer",
            ),
        ] {
            assert_eq!(renamed(text, &tables, "a_"), expected);
        }
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
