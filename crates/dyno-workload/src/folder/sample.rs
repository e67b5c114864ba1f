//! Some rows of each table, looked at before any is sent: whether their values fit, their keys differ, and their foreign keys lead to
//! rows. What shows in these holds on every product; what is wrong with other rows only the server finds.

use std::collections::{BTreeSet, HashMap, HashSet};

use dyno_results::format::grouped;

use super::mistake::{Mistake, place_of};
use super::options::Values;
use super::rows::Failed;
use super::tables::{Reference, Table};
use super::{FILE, Folder};
use crate::dataset::Kind;
use crate::dataset::rows::{Form, RowRange};

/// So many rows from the first on, and so many more up to the last.
const ROWS: u64 = 500;
/// Of a table whose key is no number of the row, all keys are made where it has at most so many rows.
const PARENT_ROWS_MAX: u64 = 100_000;
/// How a NULL is written.
const NULL: &str = "\\N";

/// The values of a row, as they are sent.
pub(super) type Row = Vec<String>;

impl Folder {
    /// # Errors
    /// The first mistake that the rows show. `rows` are the numbers of rows of all tables.
    pub(super) fn check_rows(&'static self, values: &Values, rows: &[u64]) -> Result<(), Mistake> {
        for (table, count) in self.tables.iter().zip(rows) {
            let each = self.rows_each(table, values, *count);
            let sample = self.rows(table, values, sample(*count, (ROWS / each).max(1)))?;
            for columns in table.unique() {
                self.check_unique(table, columns, &sample)?;
            }
            for key in &table.foreign_keys {
                self.check_reference((table, key), &sample, (values, rows))?;
            }
        }
        Ok(())
    }

    /// Rows of a table by their numbers.
    pub(super) fn rows(
        &'static self,
        table: &'static Table,
        values: &Values,
        numbers: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<(u64, Row)>, Mistake> {
        let failed = Failed::default();
        let mut made = Vec::new();
        let mut text = Vec::with_capacity(table.row_bytes_max);
        for number in numbers {
            text.clear();
            let rows = self.rows_of(table, values, &failed);
            RowRange { rows, next: number, last: number }.fill(Form::Lines, &mut text);
            if let Some((at, why)) = failed.get() {
                return Err(self.at(*at, why.clone()));
            }
            let lines = String::from_utf8_lossy(&text);
            let row = |(line, nth): (&str, u64)| {
                (table.number_of(number, nth), line.split('\t').map(str::to_owned).collect())
            };
            made.extend(lines.lines().zip(1..).map(row));
        }
        Ok(made)
    }

    fn check_unique(&self, table: &Table, own: &[String], rows: &[(u64, Row)]) -> Result<(), Mistake> {
        let mut seen: HashMap<Vec<&str>, u64> = HashMap::new();
        for (number, row) in rows {
            let value = of_columns(table, own, row);
            if value.contains(&NULL) {
                continue;
            }
            if let Some(other) = seen.insert(value.clone(), *number) {
                let rows = [other, *number].map(|number| table.called(number)).join(" and ");
                let (of, columns) = (table.numbered(), own.join(", "));
                let same = format!("{rows} of {of} have the same ({columns})");
                let what = format!("{same}, which is a key: {}", value.join(", "));
                return Err(self.mistake(table, &own[0], what));
            }
        }
        Ok(())
    }

    /// Looks whether the rows lead to rows of the table that a foreign key names.
    fn check_reference(
        &'static self,
        (table, key): (&Table, &Reference),
        sample: &[(u64, Row)],
        (values, rows): (&Values, &[u64]),
    ) -> Result<(), Mistake> {
        let (parent, count) = (&self.tables[key.table], rows[key.table]);
        let keys: Option<HashSet<Row>> = if parent.is_key_its_number() {
            None
        } else if count <= PARENT_ROWS_MAX && are_alike((parent, &parent.key), (table, &key.columns)) {
            let made = self.rows(parent, values, 1..=count)?;
            Some(made.iter().map(|(_, row)| owned(&of_columns(parent, &parent.key, row))).collect())
        } else {
            return Ok(());
        };
        let is_there = |value: &[&str]| match &keys {
            Some(keys) => keys.contains(&owned(value)),
            None => value[0].parse().is_ok_and(|id: u64| (1..=count).contains(&id)),
        };
        for (number, row) in sample {
            let value = of_columns(table, &key.columns, row);
            if value.contains(&NULL) || is_there(&value) {
                continue;
            }
            let (row, of) = (table.called(*number), table.numbered());
            let (columns, value) = (key.columns.join(", "), value.join(", "));
            let there = keys.as_ref().map_or(count, |keys| keys.len() as u64);
            let there = format!(
                "{} has {} rows and none with this {}",
                parent.name,
                grouped(there),
                parent.key.join(", ")
            );
            let what = format!("{row} of {of} has the {columns} {value}, and {there}");
            return Err(self.mistake(table, &key.columns[0], what));
        }
        Ok(())
    }

    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// A mistake in the expression of a column.
    pub(super) fn mistake(&self, table: &Table, column: &str, what: String) -> Mistake {
        self.at(table.column(column).map_or(0, |column| column.at), what)
    }

    /// A mistake at this place of `workload.toml`.
    pub(super) fn at(&self, at: usize, what: String) -> Mistake {
        let text = self.files.get(FILE).map_or("", String::as_str);
        Mistake { file: FILE.to_owned(), place: Some(place_of(text, at)), what }
    }
}

/// The first rows, and as many up to the last.
fn sample(rows: u64, count: u64) -> BTreeSet<u64> {
    let spread = (1..=count).map(|part| (u128::from(rows) * u128::from(part) / u128::from(count)) as u64);
    (1..=count.min(rows)).chain(spread).filter(|number| *number > 0).collect()
}

/// The values of some of its columns.
fn of_columns<'r>(table: &Table, columns: &[String], row: &'r Row) -> Vec<&'r str> {
    let place = |name: &String| table.stored().position(|(column, _)| column.name == *name);
    columns.iter().filter_map(|name| row.get(place(name)?)).map(String::as_str).collect()
}

fn owned(values: &[&str]) -> Row {
    values.iter().map(|value| (*value).to_owned()).collect()
}

/// Whether values of these columns are written alike.
fn are_alike((one, own): (&Table, &[String]), (other, others): (&Table, &[String])) -> bool {
    let form = |table: &Table, column: &String| match table.column(column)?.kind? {
        Kind::Number | Kind::BigNumber | Kind::Integer | Kind::BigInteger => Some(Kind::Integer),
        Kind::Char(_) | Kind::Varchar(_) | Kind::Text => Some(Kind::Text),
        Kind::Decimal(_, places) => Some(Kind::Decimal(0, places)),
        kind => Some(kind),
    };
    own.iter().zip(others).all(|(column, its)| form(one, column) == form(other, its))
}
