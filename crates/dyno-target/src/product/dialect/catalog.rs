//! What a dialect asks its server's catalog, and what that has of a table.

use crate::connection::{Connection, QueryError};

/// A dialect's questions, each about the tables whose names `{names}` describes.
#[derive(Debug)]
pub struct Catalog {
    /// Name, whether it is a plain table (1 or 0), comment.
    pub tables: &'static str,
    /// Table, name, type, whether it is of the primary key (1 or 0); in order.
    pub columns: &'static str,
    /// Answers both where no SELECT does.
    pub described: Option<Describe>,
    /// Table, name, first column.
    pub indexes: &'static str,
    /// Table, index, column: of the keys that no two rows share in any form, and all of whose columns have a value in each row. None
    /// with texts, which another collation orders otherwise, so that other rows come first. `None` where keys are no promise.
    pub unique_keys: Option<&'static str>,
    /// Table, column, the table referred to; those that the server trusts.
    pub foreign_keys: &'static str,
    /// What a user's statement may name, in every schema but the product's own: its name as the sizes of tables are asked for, whether
    /// it is a plain table (1 or 0), and, where it is found with its schema alone, schema and name. `None` where `tables` says it.
    pub found: Option<&'static str>,
    /// Routines of users that may change tables, in one column. `None` where there are none that do.
    pub routines: Option<&'static str>,
    /// What else changes tables with one of these names, in one column. `None` where nothing does.
    pub triggers: Option<&'static str>,
    /// Bytes of the tables and of their indexes; `None` where the server does not know that well.
    pub bytes: Option<&'static str>,
}

impl Catalog {
    /// Of a server that says nothing of its tables.
    pub(crate) const NONE: Self = Self {
        tables: "",
        columns: "",
        described: None,
        indexes: "",
        unique_keys: None,
        foreign_keys: "",
        found: None,
        routines: None,
        triggers: None,
        bytes: None,
    };
}

/// Reads the tables, with their columns.
pub type Describe = fn(&mut Connection, Names<'_>) -> Result<Vec<Table>, QueryError>;

/// Which tables are meant, of those that a statement would meet.
#[derive(Debug, Clone, Copy)]
pub enum Names<'a> {
    These(&'a [&'a str]),
    BeginWith(&'a str),
}

/// A table, or what else stands under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    /// A plain table, and no view.
    pub is_table: bool,
    pub comment: String,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Its type in the server's words.
    pub kind: String,
    /// It is of the primary key.
    pub is_key: bool,
}

impl Names<'_> {
    pub(crate) fn condition(self) -> String {
        match self {
            Self::These(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                format!("IN ({})", names.join(", "))
            }
            Self::BeginWith(beginning) => format!("LIKE '{beginning}%'"),
        }
    }
}

impl Table {
    /// The columns of the primary key.
    pub fn key(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.is_key).map(|column| column.name.as_str())
    }
}
