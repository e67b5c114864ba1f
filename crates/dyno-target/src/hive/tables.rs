//! The catalog by the statements that show it: no SELECT reads it.

use crate::connection::{Connection, QueryError, TextRow};
use crate::product::{Column, Names, Table};

/// A table as `DESCRIBE TABLE EXTENDED` shows it: columns first, and behind an empty line what else there is.
pub(super) struct Described {
    rows: Vec<TextRow>,
}

impl Described {
    pub(super) fn ask(connection: &mut Connection, name: &str) -> Result<Self, QueryError> {
        Ok(Self { rows: connection.query(&format!("DESCRIBE TABLE EXTENDED {name}"))? })
    }

    fn columns(&self) -> impl Iterator<Item = Column> {
        let is_column =
            |row: &&TextRow| row.text(0).is_some_and(|name| !name.is_empty() && !name.starts_with('#'));
        let column = |row: &TextRow| Column {
            name: row.text(0).unwrap_or_default().to_owned(),
            kind: row.text(1).unwrap_or_default().to_owned(),
            is_key: false,
        };
        self.rows.iter().take_while(is_column).map(column)
    }

    /// What it says of the whole table under a name.
    pub(super) fn detail(&self, name: &str) -> Option<&str> {
        let details = self.rows.iter().skip_while(|row| row.text(0) != Some("# Detailed Table Information"));
        details.into_iter().find(|row| row.text(0) == Some(name))?.text(1)
    }
}

/// The tables that are there, and views. Names are in lower case, as everywhere in the catalog.
pub(super) fn described(connection: &mut Connection, names: Names<'_>) -> Result<Vec<Table>, QueryError> {
    let pattern = match names {
        Names::These(names) => names.join("|"),
        Names::BeginWith(beginning) => format!("{beginning}*"),
    };
    let shown = connection.query(&format!("SHOW TABLES LIKE '{pattern}'"))?;
    let names: Vec<String> = shown.iter().filter_map(|row| row.get("tableName").map(str::to_owned)).collect();
    let table = |name: String| {
        let described = Described::ask(connection, &name)?;
        Ok(Table {
            is_table: described.detail("Type").is_some_and(|kind| kind != "VIEW"),
            comment: described.detail("Comment").unwrap_or_default().to_owned(),
            columns: described.columns().collect(),
            name,
        })
    };
    names.into_iter().map(table).collect()
}
