//! Tables that carry no mark, because another program may have made them: they are known by their columns and keys, and the options
//! that their rows follow from are asked of them. Reads only, and little: it looks rows up and scans no large table.

use dyno_results::format::grouped;
use dyno_target::catalog::{self, Names};
use dyno_target::connection::{Connection, QueryError};
use serde_json::Map;

use super::Folder;
use super::benchmark::Recipe;
use crate::benchmark::BenchmarkError;
use crate::dataset::{self, PrepareError, State, numbers, standing};

impl Folder {
    /// Whether tables of others are used, and dyno's own carry no mark once they are whole.
    pub(super) fn adopts(&self) -> bool {
        self.options.iter().any(|option| option.found.is_some())
    }

    /// Refuses to replace tables that somebody else may have made: what stands in a folder of a user's is no proof that they are dyno's.
    /// `tpcb`, which comes with dyno, takes those that `pgbench -i` makes.
    pub(super) fn all_are_marked(&'static self, connection: &mut Connection) -> Result<(), BenchmarkError> {
        if !self.adopts() || self.is_built_in() {
            return Ok(());
        }
        let names = self.table_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let failed = |source| BenchmarkError::Query { doing: "look for the tables", source };
        let found = catalog::tables(connection, Names::These(&names)).map_err(failed)?;
        match found.into_iter().find(|table| self.marks.parse(&table.comment).is_none()) {
            Some(table) => {
                let whose = "is used as it is, because dyno has not made it".to_owned();
                Err(PrepareError::NotOurs { terms: &self.terms, table: table.name, whose }.into())
            }
            None => Ok(()),
        }
    }

    /// What stands of tables without marks. Their rows are not looked at.
    pub(super) fn adopted(&self, connection: &mut Connection) -> Result<State<Recipe>, QueryError> {
        let names = self.table_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let foreign = |found: &catalog::Table| {
            let table = self.tables.iter().find(|table| table.name == found.name)?;
            let own = dataset::Table::new(table.name.clone(), table.columns_made(""));
            own.foreign(found).map(|why| format!("is no table of {}: {why}", self.name))
        };
        let found = match standing(&self.marks, catalog::tables(connection, Names::These(&names))?, foreign) {
            Ok(found) => found,
            Err(state) => return Ok(state),
        };
        for table in &self.tables {
            let Some(found) = found.iter().find(|found| found.name == table.name) else {
                return Ok(State::damaged(format!("{} is missing", table.name)));
            };
            if !found.key().eq(table.key.iter().map(String::as_str)) {
                let key = if table.key.is_empty() { "any column".to_owned() } else { table.key.join(", ") };
                return Ok(State::damaged(format!("{} has no primary key on {key}", table.name)));
            }
        }
        let mut options = Map::new();
        for option in self.options.iter() {
            if let Some(query) = &option.found {
                let [value] = numbers::<i64, 1>(connection, query)?;
                options.insert(option.long.to_owned(), value.into());
            }
        }
        Ok(State::Ready(Recipe { tables: self.tables_hash.clone(), options, written: false }))
    }
}

/// Why the numbers of a table's rows do not go from 1 to the last.
pub(super) fn ends_differ(
    connection: &mut Connection,
    table: &str,
    number: &str,
    rows: u64,
) -> Result<Option<String>, QueryError> {
    let ends = format!(
        "SELECT COALESCE((SELECT MIN({number}) FROM {table}), 0), COALESCE((SELECT MAX({number}) FROM {table}), 0)"
    );
    let [first, last] = numbers::<i64, 2>(connection, &ends)?;
    Ok(match (first, last) {
        (0, 0) => Some(format!("{table} is empty")),
        (1, last) if last == rows.cast_signed() => None,
        _ => Some(format!(
            "{table} runs from {} to {}, not from 1 to {}",
            grouped(first),
            grouped(last),
            grouped(rows)
        )),
    })
}
