//! Rows of an answer, which come as columns: each a list of values of one type, and a bit for each row that is NULL there.

use dyno_engine::driver::{RowSink, Value};
use dyno_results::answer::Kind;
use dyno_wire::server_error::DriverError;

use super::error::NOT_HIVE;
use super::thrift::Item;

/// A column of some rows.
struct Column<'a> {
    values: &'a [Item],
    /// The lowest bit of a byte is the first row of eight; bytes at the end that are 0 may be missing.
    nulls: &'a [u8],
}

impl Column<'_> {
    fn value(&self, row: usize) -> Value<'_> {
        if self.nulls.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1) {
            return Value::Null;
        }
        match self.values.get(row) {
            Some(Item::Bool(value)) => Value::boolean(*value),
            Some(Item::Byte(value)) => Value::Integer((*value).into()),
            Some(Item::I16(value)) => Value::Integer((*value).into()),
            Some(Item::I32(value)) => Value::Integer((*value).into()),
            Some(Item::I64(value)) => Value::Integer(*value),
            Some(Item::Double(value)) => Value::Double(*value),
            Some(Item::Bytes(text)) => Value::Text(text),
            _ => Value::Null,
        }
    }
}

/// The names of an answer's columns, of what `GetResultSetMetadata` returned.
pub(super) fn hand_on_names(metadata: &Item, rows: &mut dyn RowSink) {
    let columns = metadata.list(&[2, 1]).iter();
    let names: Vec<String> = columns.clone().map(|column| column.string(&[1]).unwrap_or_default()).collect();
    rows.columns(&names.iter().map(String::as_str).collect::<Vec<_>>());
    rows.kinds(&columns.map(kind).collect::<Vec<_>>());
}

/// By the number of a type in `TTypeId`, which stands in the only entry of a column's description.
fn kind(column: &Item) -> Kind {
    let entries = column.list(&[2, 1]);
    match entries.first().and_then(|entry| entry.at(&[1, 1])) {
        Some(Item::I32(0)) => Kind::Boolean,
        // All strings but CHAR.
        Some(Item::I32(7 | 18)) => Kind::Text,
        Some(Item::I32(1..=4)) => Kind::Integer,
        Some(Item::I32(5 | 6)) => Kind::Float,
        Some(Item::I32(8 | 17)) => Kind::Timestamp,
        Some(Item::I32(9)) => Kind::Binary,
        Some(Item::I32(15)) => Kind::Decimal,
        Some(Item::I32(19)) => Kind::Padded,
        _ => Kind::Unknown,
    }
}

/// Hands on what `FetchResults` returned; how many rows there were.
///
/// # Errors
/// The columns do not fit together.
pub(super) fn hand_on(fetched: &Item, rows: &mut dyn RowSink) -> Result<usize, DriverError> {
    let columns: Option<Vec<Column<'_>>> = fetched.list(&[3, 3]).iter().map(column).collect();
    let columns = columns.ok_or_else(|| DriverError::new(NOT_HIVE, "a column of an answer has no values"))?;
    let count = columns.first().map_or(0, |column| column.values.len());
    if columns.iter().any(|column| column.values.len() != count) {
        return Err(DriverError::new(NOT_HIVE, "the columns of an answer differ in how many rows they have"));
    }
    if count > 0 {
        rows.arrived();
    }
    if rows.wants_rows() {
        for row in 0..count {
            let values: Vec<Value<'_>> = columns.iter().map(|column| column.value(row)).collect();
            rows.row(&values);
        }
    }
    Ok(count)
}

/// A column has one field, whose number is that of its type.
fn column(item: &Item) -> Option<Column<'_>> {
    let Item::Struct(fields) = item else { return None };
    let [(_, typed)] = &fields[..] else { return None };
    let nulls = match typed.at(&[2]) {
        Some(Item::Bytes(bits)) => bits,
        _ => &[][..],
    };
    let Some(Item::List(values)) = typed.at(&[1]) else { return None };
    Some(Column { values, nulls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<String>);

    impl RowSink for Seen {
        fn wants_rows(&self) -> bool {
            true
        }

        fn columns(&mut self, names: &[&str]) {
            self.0.push(format!("{names:?}"));
        }

        fn row(&mut self, values: &[Value<'_>]) {
            self.0.push(format!("{values:?}"));
        }
    }

    #[test]
    fn a_bit_says_which_rows_are_null() {
        let numbers = column(5, (0..10).map(Item::I64).collect(), &[0b1000_0001, 0b10]);
        let flags = column(1, vec![Item::Bool(true); 10], &[]);
        let mut seen = Seen::default();
        assert_eq!(hand_on(&fetched(vec![numbers, flags]), &mut seen).unwrap(), 10);
        for (row, is_null) in [(0, true), (1, false), (7, true), (8, false), (9, true)] {
            assert_eq!(seen.0[row].starts_with("[Null"), is_null, "{row}: {}", seen.0[row]);
        }
        assert_eq!(hand_on(&Item::Struct(Vec::new()), &mut seen).unwrap(), 0);
    }

    #[test]
    fn columns_that_do_not_fit_together_are_no_rows() {
        let numbers = |count| column(5, vec![Item::I64(7); count], &[]);
        for columns in [
            vec![numbers(1), numbers(2)],
            vec![numbers(2), numbers(1)],
            vec![numbers(0), numbers(1)],
            vec![numbers(1), Item::I64(7)],
            vec![Item::Struct(Vec::new()), numbers(1)],
            vec![Item::Struct(vec![(5, Item::Struct(Vec::new()))])],
            vec![Item::Struct(vec![(5, Item::I64(1)), (6, Item::I64(1))])],
        ] {
            let mut seen = Seen::default();
            let refused = hand_on(&fetched(columns.clone()), &mut seen).unwrap_err();
            assert_eq!((refused.code, seen.0.len()), (NOT_HIVE, 0), "{columns:?}");
        }
    }

    /// What the server returns for some columns.
    fn fetched(columns: Vec<Item>) -> Item {
        Item::Struct(vec![(3, Item::Struct(vec![(1, Item::I64(0)), (3, Item::List(columns))]))])
    }

    fn column(kind: i16, values: Vec<Item>, nulls: &[u8]) -> Item {
        let typed = vec![(1, Item::List(values)), (2, Item::Bytes(nulls.to_vec()))];
        Item::Struct(vec![(kind, Item::Struct(typed))])
    }
}
