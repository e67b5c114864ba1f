//! The rows of a table, by its expressions. A value follows from the seed of the file, the table, the column and the row, so that
//! every server holds the same, however a load was cut into parts.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use jiff::civil::{Date, DateTime};

use super::Folder;
use super::children::{Children, Wrong};
use super::options::Values;
use super::tables::{Column, Table, context};
use crate::dataset::{Kind, RowWriter, Rows};
use crate::script::{Program, RowContext, Slot, Value};

/// Why a value could not be had, of the first that could not, with the place of its expression.
pub(super) type Failed = Arc<OnceLock<Wrong>>;

/// Makes the rows of a table.
#[derive(Debug)]
pub(super) struct FolderRows {
    pub table: &'static Table,
    pub context: RowContext,
    /// The expressions of the columns, with what follows from the options computed.
    pub programs: Vec<Program>,
    /// The variable `row`.
    pub row: Slot,
    pub failed: Failed,
    /// The product pads a `char` to its length.
    pub pads_char: bool,
    /// A text while it is looked at.
    pub text: Vec<u8>,
    /// Of the columns that have the same value in each row, this value; filled with the first row.
    pub constants: Vec<Option<Constant>>,
}

/// A value that is written as it is.
#[derive(Debug)]
pub(super) enum Constant {
    Integer(i64),
    Text(Vec<u8>),
    Null,
}

impl Rows for FolderRows {
    fn row_bytes_max(&self) -> usize {
        self.table.row_bytes_max
    }

    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        let Some(children) = self.table.children() else {
            self.context.set(self.row, Value::Integer(number.cast_signed()));
            return self.write_one(number, row);
        };
        match children.begin(&mut self.context, number) {
            Ok(count) => (1..=count).for_each(|child| {
                self.context.set(children.child, Value::Integer(child.cast_signed()));
                self.write_one(Children::number(number, child), row);
            }),
            Err(wrong) => _ = self.failed.set(wrong),
        }
    }
}

impl FolderRows {
    fn write_one(&mut self, number: u64, row: &mut impl RowWriter) {
        if self.constants.is_empty() {
            let columns = self.table.columns.iter().enumerate();
            self.constants = columns.map(|(place, column)| self.constant(place, column)).collect();
        }
        for (place, column) in self.table.columns.iter().enumerate() {
            match &self.constants[place] {
                Some(Constant::Integer(value)) => row.integer(*value),
                Some(Constant::Text(text)) => row.any_text(text),
                Some(Constant::Null) => row.null(),
                None => {
                    if let Err(why) = self.put(place, column, number, row) {
                        self.tell(&why, column, number, row);
                    }
                }
            }
        }
        row.end();
    }

    /// The value of a column, where it is the same in each row and nobody else reads it. One that does not fit is told with its row.
    fn constant(&mut self, place: usize, column: &Column) -> Option<Constant> {
        if !self.programs[place].is_constant() || column.slot.is_some() {
            return None;
        }
        let value = self.context.evaluate(&self.programs[place], column.seed, 0).ok()?;
        match column.kind? {
            _ if value == Value::Null => column.null.then_some(Constant::Null),
            Kind::Integer => {
                let value = self.integer(value).filter(|value| i32::try_from(*value).is_ok())?;
                Some(Constant::Integer(value))
            }
            Kind::BigInteger => self.integer(value).map(Constant::Integer),
            kind @ (Kind::Text | Kind::Char(_) | Kind::Varchar(_)) => {
                self.fitting(kind, value).ok().map(|text| Constant::Text(text.to_vec()))
            }
            _ => None,
        }
    }

    /// A value that does not fit: the row has a place for it all the same, and what is wrong is told when the step has ended.
    #[cold]
    fn tell(&self, why: &str, column: &Column, number: u64, row: &mut impl RowWriter) {
        let of = self.table.called(number);
        let why = format!("a value of {}.{} of {of}: {why}", self.table.name, column.name);
        let _ = self.failed.set((column.at, why));
        if column.kind.is_some() {
            row.null();
        }
    }

    #[inline]
    fn put(
        &mut self,
        place: usize,
        column: &Column,
        number: u64,
        row: &mut impl RowWriter,
    ) -> Result<(), String> {
        let value = self.context.evaluate(&self.programs[place], column.seed, number);
        let value = value.map_err(|error| error.to_string())?;
        if let Some(slot) = column.slot {
            self.context.set(slot, value);
        }
        match (column.kind, value) {
            (None, _) => {}
            (Some(Kind::BigNumber | Kind::BigInteger), Value::Integer(value)) => row.integer(value),
            (Some(Kind::Number | Kind::Integer), Value::Integer(value)) if i32::try_from(value).is_ok() => {
                row.integer(value);
            }
            (Some(kind), value) => return self.put_any(kind, value, column, row),
        }
        Ok(())
    }

    fn put_any(
        &mut self,
        kind: Kind,
        value: Value,
        column: &Column,
        row: &mut impl RowWriter,
    ) -> Result<(), String> {
        let is_no = |what: &dyn Display| format!("{what} is no {}", shown(kind));
        match (kind, value) {
            (_, Value::Null) if column.null => row.null(),
            (_, Value::Null) => return Err("NULL, where null = true is not said".to_owned()),
            (Kind::Number | Kind::Integer, value) => {
                let small = self.integer(value).and_then(|value| i32::try_from(value).ok());
                row.integer(small.ok_or_else(|| is_no(&self.said(value)))?);
            }
            (Kind::BigNumber | Kind::BigInteger, value) => {
                row.integer(self.integer(value).ok_or_else(|| is_no(&self.said(value)))?);
            }
            (Kind::Double, Value::Integer(value)) => row.double(value as f64),
            (Kind::Double, Value::Double(value)) if value.is_finite() => row.double(value),
            (Kind::Double, Value::Decimal(_)) => {
                let said = self.said(value);
                row.double(said.parse().map_err(|_| is_no(&said))?);
            }
            (Kind::Decimal(digits, places), value) => {
                let units = self
                    .units(value, places)
                    .filter(|units| units.unsigned_abs() < 10_u64.pow(u32::from(digits)));
                row.decimal(units.ok_or_else(|| is_no(&self.said(value)))?, places);
            }
            (Kind::Date, Value::Text(range)) => {
                let text = String::from_utf8_lossy(self.context.text(range));
                let date: Date = text.parse().map_err(|_| is_no(&text))?;
                row.date(days(date), &text);
            }
            (Kind::Timestamp, Value::Text(range)) => {
                let text = String::from_utf8_lossy(self.context.text(range));
                let _: DateTime = text.parse().map_err(|_| is_no(&text))?;
                row.any_text(text.as_bytes());
            }
            (Kind::Double | Kind::Date | Kind::Timestamp, value) => return Err(is_no(&self.said(value))),
            (kind @ (Kind::Text | Kind::Char(_) | Kind::Varchar(_)), value) => {
                row.any_text(self.fitting(kind, value)?);
            }
        }
        Ok(())
    }

    /// The text of a value, without blanks that the product adds, where it is not too long.
    fn fitting(&mut self, kind: Kind, value: Value) -> Result<&[u8], String> {
        let pads = self.pads_char && matches!(kind, Kind::Char(_));
        let mut text = self.text_of(value);
        while let Some((b' ', rest)) = text.split_last().filter(|_| pads) {
            text = rest;
        }
        let (Kind::Char(length) | Kind::Varchar(length)) = kind else { return Ok(text) };
        let length = usize::from(length);
        if text.len() > length && text.iter().filter(|byte| **byte & 0xC0 != 0x80).count() > length {
            return Err(format!("`{}` is longer than {length} letters", String::from_utf8_lossy(text)));
        }
        Ok(text)
    }

    fn text_of(&mut self, value: Value) -> &[u8] {
        self.text.clear();
        match value {
            Value::Text(range) | Value::Decimal(range) => return self.context.text(range),
            value => value.write_text(&mut self.text),
        }
        &self.text
    }

    fn said(&self, value: Value) -> String {
        self.context.shown(value)
    }

    /// A number in units of the last of so many places.
    fn units(&self, value: Value, places: u8) -> Option<i64> {
        let unit = 10_i64.pow(u32::from(places));
        match value {
            Value::Integer(value) => value.checked_mul(unit),
            Value::Double(value) => Some((value * unit as f64).round())
                .filter(|value| value.abs() < 1e18)
                .map(|value| value as i64),
            Value::Decimal(range) => self.context.decimal(range)?.units(places),
            Value::Text(range) => units_of(str::from_utf8(self.context.text(range)).ok()?, places),
            Value::Null | Value::Boolean(_) => None,
        }
    }

    fn integer(&self, value: Value) -> Option<i64> {
        match value {
            Value::Integer(value) => Some(value),
            Value::Boolean(value) => Some(value.into()),
            Value::Double(value) => {
                let rounded = value.round_ties_even();
                (rounded.abs() < 9e18).then_some(rounded as i64)
            }
            Value::Decimal(range) => self.context.decimal(range)?.integer(),
            Value::Null | Value::Text(_) => None,
        }
    }
}

impl Folder {
    /// Makes the rows of a table.
    pub(super) fn rows_of(
        &'static self,
        table: &'static Table,
        values: &Values,
        failed: &Failed,
    ) -> FolderRows {
        let known = |slot: Slot| self.options.whole(slot, values).filter(|_| !table.sets(slot));
        FolderRows {
            table,
            programs: table.columns.iter().map(|column| column.program.folded(known)).collect(),
            context: context(&self.names, self.seed, &self.options, values),
            row: self.row,
            failed: Arc::clone(failed),
            pads_char: false,
            text: Vec::new(),
            constants: Vec::new(),
        }
    }
}

/// `-12.5` in units of the last of so many places; `None` where it has more.
fn units_of(text: &str, places: u8) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let zeros = usize::from(places).checked_sub(part.len())?;
    format!("{whole}{part}{}", "0".repeat(zeros)).parse().ok()
}

fn days(date: Date) -> i32 {
    const EPOCH: Date = jiff::civil::date(1970, 1, 1);
    date.since(EPOCH).map_or(0, |span| span.get_days())
}

fn shown(kind: Kind) -> String {
    match kind {
        Kind::Number | Kind::Integer => "integer of 32 bits",
        Kind::BigNumber | Kind::BigInteger => "integer of 64 bits",
        Kind::Double => "number",
        Kind::Decimal(digits, places) => {
            return format!(
                "decimal({digits},{places}), which has at most {} digits before the point",
                digits - places
            );
        }
        Kind::Date => "date such as 2024-02-29",
        Kind::Timestamp => "timestamp such as 2024-02-29 12:00:00",
        Kind::Text | Kind::Char(_) | Kind::Varchar(_) => "text",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Map;

    use super::*;
    use crate::dataset::rows::{Form, RowRange};
    use crate::folder::FILE;

    /// A row of a column that is written so, or why there is none.
    fn row(column: &str) -> Result<String, String> {
        row_with("", column)
    }

    /// The same, with options.
    fn row_with(options: &str, column: &str) -> Result<String, String> {
        let text = format!(
            "about = \"x\"\n{options}[[tables]]\nname = \"t\"\nrows = 1\ncolumns = [{{ name = \"c\", {column} }}]\n\
             [[transactions]]\nname = \"read\"\n"
        );
        let files = [(FILE, text.as_str()), ("read.sql", "SELECT c FROM t;\n")];
        let files: BTreeMap<String, String> =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let folder: &'static Folder = Box::leak(Box::new(Folder::new("./t", &files).unwrap()));
        let values = folder.options.values(&folder.names, &Map::new(), 1).unwrap();
        let failed = Failed::default();
        let rows = folder.rows_of(&folder.tables[0], &values, &failed);
        let mut out = Vec::with_capacity(100_000);
        RowRange { rows, next: 1, last: 1 }.fill(Form::Lines, &mut out);
        match failed.get() {
            Some((_, why)) => Err(why.clone()),
            None => Ok(String::from_utf8(out).unwrap()),
        }
    }

    #[test]
    fn options_are_the_same_in_expressions_that_are_computed_beforehand() {
        let options = "[options.how]\nabout = \"y\"\ndefault = \"two\"\nchoices = { one = \"a\", two = \"b\" }\n\
                       [options.count]\nabout = \"z\"\ndefault = 7\n";
        let text =
            |value: &str| row_with(options, &format!(r#"type = "varchar(20)", value = "{value}""#)).unwrap();
        assert_eq!(text(":how"), "two\n");
        assert_eq!(text(":how || '-' || :count"), "two-7\n");
        assert_eq!(text("case when :how = 'two' then :count * 2 else 0 end"), "14\n");
    }

    #[test]
    fn a_decimal_is_exact_in_a_column() {
        let cents = |value: &str| row(&format!(r#"type = "decimal(18,2)", value = "{value}""#));
        assert_eq!(
            cents("decimal(99999999999999999, 2) * 10 + decimal(9, 2)").unwrap(),
            "9999999999999999.99\n"
        );
        assert_eq!(cents("decimal(1005, 3)").unwrap(), "1.01\n");
        let why = cents("decimal(99999999999999999, 2) * 100").unwrap_err();
        assert!(
            why.ends_with(
                "99999999999999999.00 is no decimal(18,2), which has at most 16 digits before the point"
            ),
            "{why}"
        );
        let other = |kind: &str| row(&format!(r#"type = "{kind}", value = "decimal(250, 2)""#)).unwrap();
        assert_eq!([other("double"), other("integer"), other("text")], ["2.5e0\n", "2\n", "2.50\n"]);
    }

    #[test]
    fn what_a_column_does_not_take_is_told() {
        let null = r#"type = "integer", value = "null""#;
        assert_eq!(row(null).unwrap_err(), "a value of t.c of row 1: NULL, where null = true is not said");
        assert_eq!(row(&format!("{null}, null = true")).unwrap(), "\\N\n");
        let time = |text: &str| row(&format!(r#"type = "timestamp", value = "{text}""#));
        assert_eq!(time("'2024-02-29 12:00:00'").unwrap(), "2024-02-29 12:00:00\n");
        for wrong in ["'2024-02-30 12:00:00'", "'soon'", "5"] {
            let why = time(wrong).unwrap_err();
            assert!(why.ends_with(" is no timestamp such as 2024-02-29 12:00:00"), "{why}");
        }
    }
}
