//! Columns of Arrow as rows of values. Integers and floating-point numbers of 64 bits stay what they are; everything else is its
//! text, as SQL writes it.

use std::fmt::Write as _;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use dyno_engine::driver::{RowSink, Value};
use dyno_wire::server_error::DriverError;

use super::error::of_stream;

/// Reads an answer to its end; how many rows there were.
pub(super) fn take(reader: impl RecordBatchReader, rows: &mut dyn RowSink) -> Result<u64, DriverError> {
    let wants_rows = rows.wants_rows();
    if wants_rows {
        let schema = reader.schema();
        rows.columns(&schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>());
    }
    let mut count = 0;
    for batch in reader {
        let batch = batch.map_err(|error| of_stream(&error))?;
        count += batch.num_rows() as u64;
        if wants_rows {
            pass(&batch, rows);
        }
    }
    Ok(count)
}

fn pass(batch: &RecordBatch, rows: &mut dyn RowSink) {
    for row in 0..batch.num_rows() {
        let cells: Vec<Cell<'_>> = batch.columns().iter().map(|column| cell(column, row)).collect();
        let values: Vec<Value<'_>> = cells.iter().map(Cell::value).collect();
        rows.row(&values);
    }
}

/// A value, or a text that was written for it.
enum Cell<'a> {
    Value(Value<'a>),
    Written(String),
}

impl Cell<'_> {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Value(value) => *value,
            Self::Written(text) => Value::Text(text.as_bytes()),
        }
    }

    /// As it stands within a list or a record.
    fn text(&self) -> String {
        match self.value() {
            Value::Null => "NULL".to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }
}

fn cell(array: &dyn Array, row: usize) -> Cell<'_> {
    macro_rules! primitive {
        ($kind:ty) => {
            array.as_primitive::<$kind>()
        };
    }
    macro_rules! integer {
        ($kind:ty) => {
            Cell::Value(Value::Integer(primitive!($kind).value(row).into()))
        };
    }
    if array.is_null(row) {
        return Cell::Value(Value::Null);
    }
    match array.data_type() {
        DataType::Null => Cell::Value(Value::Null),
        DataType::Boolean => Cell::Value(Value::boolean(array.as_boolean().value(row))),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => whole(primitive!(UInt64Type).value(row).to_string()),
        DataType::Float16 => Cell::Value(Value::Double(primitive!(Float16Type).value(row).into())),
        DataType::Float32 => float(primitive!(Float32Type).value(row)),
        DataType::Float64 => Cell::Value(Value::Double(primitive!(Float64Type).value(row))),
        DataType::Utf8 => text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => text(array.as_string_view().value(row)),
        DataType::Binary => Cell::Value(Value::Text(array.as_binary::<i32>().value(row))),
        DataType::LargeBinary => Cell::Value(Value::Text(array.as_binary::<i64>().value(row))),
        DataType::BinaryView => Cell::Value(Value::Text(array.as_binary_view().value(row))),
        DataType::FixedSizeBinary(_) => Cell::Value(Value::Text(array.as_fixed_size_binary().value(row))),
        DataType::Decimal32(_, _) => whole(primitive!(Decimal32Type).value_as_string(row)),
        DataType::Decimal64(_, _) => whole(primitive!(Decimal64Type).value_as_string(row)),
        DataType::Decimal128(_, _) => whole(primitive!(Decimal128Type).value_as_string(row)),
        DataType::Decimal256(_, _) => whole(primitive!(Decimal256Type).value_as_string(row)),
        _ => Cell::Written(written(array, row)),
    }
}

fn text(text: &str) -> Cell<'_> {
    Cell::Value(Value::Text(text.as_bytes()))
}

/// A number that may be whole and small enough: sums of integers come as decimals.
fn whole(text: String) -> Cell<'static> {
    match text.parse() {
        Ok(value) => Cell::Value(Value::Integer(value)),
        Err(_) => Cell::Written(text),
    }
}

/// The fewest digits that give a float of 32 bits back, as other products print it: as one of 64 bits, 0.1 would be
/// 0.10000000149011612. It has an exponent where it need not be an exact integer.
fn float(value: f32) -> Cell<'static> {
    let is_inexact = value.is_finite() && value.abs() >= FLOAT_EXACT_MAX;
    Cell::Written(if is_inexact { format!("{value:e}") } else { value.to_string() })
}

/// A float of 32 bits has about seven digits: all integers below this are exact.
const FLOAT_EXACT_MAX: f32 = 1e7;

/// What has no value of its own: times, and what is put together of others.
fn written(array: &dyn Array, row: usize) -> String {
    macro_rules! date {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value_as_date(row).map(|date| date.to_string())
        };
    }
    macro_rules! time {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value_as_time(row).map(|time| time.to_string())
        };
    }
    macro_rules! timestamp {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value_as_datetime(row).map(|time| time.to_string())
        };
    }
    let known = match array.data_type() {
        DataType::Date32 => date!(Date32Type),
        DataType::Date64 => date!(Date64Type),
        DataType::Time32(TimeUnit::Second) => time!(Time32SecondType),
        DataType::Time32(_) => time!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => time!(Time64MicrosecondType),
        DataType::Time64(_) => time!(Time64NanosecondType),
        DataType::Timestamp(unit, zone) => {
            let timestamp = match unit {
                TimeUnit::Second => timestamp!(TimestampSecondType),
                TimeUnit::Millisecond => timestamp!(TimestampMillisecondType),
                TimeUnit::Microsecond => timestamp!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => timestamp!(TimestampNanosecondType),
            };
            // With a zone the instant is in UTC, and the zone is how it would be shown.
            timestamp.map(|text| if zone.is_some() { text + "+00" } else { text })
        }
        DataType::List(_) => Some(list(&*array.as_list::<i32>().value(row))),
        DataType::LargeList(_) => Some(list(&*array.as_list::<i64>().value(row))),
        DataType::FixedSizeList(_, _) => Some(list(&*array.as_fixed_size_list().value(row))),
        DataType::Map(_, _) => Some(list(&array.as_map().value(row))),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let parts =
                columns.map(|(field, column)| format!("{}: {}", field.name(), cell(column, row).text()));
            Some(format!("{{{}}}", parts.collect::<Vec<_>>().join(", ")))
        }
        DataType::Dictionary(_, _) => {
            let slice = array.slice(row, 1);
            let dictionary = slice.as_any_dictionary();
            dictionary.normalized_keys().first().map(|key| cell(dictionary.values(), *key).text())
        }
        _ => None,
    };
    known.unwrap_or_else(|| {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = write!(text, "{:?}", array.slice(row, 1));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

fn list(values: &dyn Array) -> String {
    let parts = (0..values.len()).map(|row| cell(values, row).text());
    format!("[{}]", parts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Float64Array};

    use super::*;

    #[test]
    fn floats_have_the_digits_that_give_them_back() {
        let floats = [0.1, -2.5, 3.0, 9_999_999.0, 1e7, 123_456_789.0, 1e-7, f32::INFINITY];
        let array = Float32Array::from(floats.to_vec());
        let texts: Vec<String> = (0..floats.len()).map(|row| cell(&array, row).text()).collect();
        assert_eq!(texts, ["0.1", "-2.5", "3", "9999999", "1e7", "1.2345679e8", "0.0000001", "inf"]);
        assert_eq!(cell(&Float64Array::from(vec![0.1]), 0).text(), "0.1");
    }
}
