//! Columns of Arrow as rows of values. Integers and floating-point numbers of 64 bits stay what they are; everything else is its
//! text, as SQL writes it.

use std::fmt::Write as _;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use dyno_engine::driver::{RowSink, Value};
use dyno_results::answer::{Kind, write_element};
use dyno_wire::server_error::DriverError;

use super::error::of_stream;

/// Reads an answer to its end; how many rows there were.
pub(super) fn take(reader: impl RecordBatchReader, rows: &mut dyn RowSink) -> Result<u64, DriverError> {
    let wants_rows = rows.wants_rows();
    if wants_rows {
        let schema = reader.schema();
        rows.columns(&schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>());
        rows.kinds(&schema.fields().iter().map(|field| kind(field)).collect::<Vec<_>>());
    }
    let mut count = 0;
    for batch in reader {
        let batch = batch.map_err(|error| of_stream(&error))?;
        if batch.num_rows() > 0 {
            rows.arrived();
        }
        count += batch.num_rows() as u64;
        if wants_rows {
            pass(&batch, rows);
        }
    }
    Ok(count)
}

fn kind(field: &Field) -> Kind {
    use DataType as Type;
    match field.data_type() {
        _ if field.extension_type_name() == Some("arrow.json") => Kind::Json,
        _ if let Some(opaque) = Opaque::of(field) => opaque.kind(),
        kind if kind.is_integer() => Kind::Integer,
        kind if kind.is_floating() => Kind::Float,
        Type::Decimal32(..) | Type::Decimal64(..) | Type::Decimal128(..) | Type::Decimal256(..) => {
            Kind::Decimal
        }
        Type::Boolean => Kind::Boolean,
        Type::Utf8 | Type::LargeUtf8 | Type::Utf8View | Type::Dictionary(..) | Type::Interval(_) => {
            Kind::Text
        }
        Type::Binary | Type::LargeBinary | Type::BinaryView | Type::FixedSizeBinary(_) => Kind::Binary,
        Type::Date32 | Type::Date64 | Type::Timestamp(..) => Kind::Timestamp,
        Type::Time32(_) | Type::Time64(_) => Kind::Time,
        Type::List(element) | Type::LargeList(element) | Type::FixedSizeList(element, _) => {
            match kind(element) {
                element if element.is_number() || element == Kind::NumberArray => Kind::NumberArray,
                _ => Kind::Array,
            }
        }
        _ => Kind::Unknown,
    }
}

fn pass(batch: &RecordBatch, rows: &mut dyn RowSink) {
    let schema = batch.schema();
    let opaque: Vec<Option<Opaque>> = schema.fields().iter().map(|field| Opaque::of(field)).collect();
    for row in 0..batch.num_rows() {
        let columns = batch.columns().iter().zip(&opaque);
        let cells: Vec<Cell<'_>> = columns.map(|(column, opaque)| cell_of(*opaque, column, row)).collect();
        let values: Vec<Value<'_>> = cells.iter().map(Cell::value).collect();
        rows.row(&values);
    }
}

/// A type that Arrow does not have, as DuckDB passes it on where it is to lose nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opaque {
    Bits,
    Boolean,
    Hugeint,
    TimeWithZone,
    UnsignedHugeint,
    Uuid,
}

impl Opaque {
    fn of(field: &Field) -> Option<Self> {
        match field.extension_type_name()? {
            "arrow.bool8" => return Some(Self::Boolean),
            "arrow.uuid" => return Some(Self::Uuid),
            "arrow.opaque" => {}
            _ => return None,
        }
        let described: serde_json::Value = serde_json::from_str(field.extension_type_metadata()?).ok()?;
        Some(match described["type_name"].as_str()? {
            "bit" => Self::Bits,
            "hugeint" => Self::Hugeint,
            "time_tz" => Self::TimeWithZone,
            "uhugeint" => Self::UnsignedHugeint,
            _ => return None,
        })
    }

    fn kind(self) -> Kind {
        match self {
            Self::Bits | Self::Uuid => Kind::Text,
            Self::Boolean => Kind::Boolean,
            Self::Hugeint | Self::UnsignedHugeint => Kind::Decimal,
            Self::TimeWithZone => Kind::Time,
        }
    }

    /// A value that is not NULL; one that is kept in another way than this is shown as it is.
    fn cell(self, array: &dyn Array, row: usize) -> Cell<'_> {
        if self == Self::Boolean {
            let value = array.as_primitive_opt::<Int8Type>().map(|array| array.value(row) != 0);
            return value.map_or_else(|| cell(array, row), |value| Cell::Value(Value::boolean(value)));
        }
        let kept = cell(array, row);
        let Cell::Value(Value::Text(bytes)) = kept else { return kept };
        let written = match self {
            Self::Bits => bits(bytes),
            Self::Hugeint => bytes.try_into().ok().map(|bytes| i128::from_le_bytes(bytes).to_string()),
            Self::UnsignedHugeint => {
                bytes.try_into().ok().map(|bytes| u128::from_le_bytes(bytes).to_string())
            }
            Self::TimeWithZone => {
                bytes.try_into().ok().map(|bytes| time_with_zone(u64::from_le_bytes(bytes)))
            }
            Self::Uuid => Some(uuid(bytes)),
            Self::Boolean => None,
        };
        match written {
            Some(number) if matches!(self, Self::Hugeint | Self::UnsignedHugeint) => whole(number),
            Some(text) => Cell::Written(text),
            None => kept,
        }
    }
}

/// The first byte says how many bits of the second are not of the value.
fn bits(bytes: &[u8]) -> Option<String> {
    let (padding, bytes) = bytes.split_first()?;
    let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    all.get(usize::from(*padding)..).map(str::to_owned)
}

/// The microseconds of the day stand above 24 bits with the distance of the zone from the most eastern one, seconds.
fn time_with_zone(kept: u64) -> String {
    const EASTERNMOST: i64 = 16 * 3600 - 1;
    let (micros, zone) = (kept >> 24, EASTERNMOST - (kept & 0xff_ffff).cast_signed());
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let time = format!("{:02}:{:02}:{:02}.{fraction:06}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let (sign, east) = (if zone < 0 { '-' } else { '+' }, zone.abs());
    let minutes = match (east / 60 % 60, east % 60) {
        (0, 0) => String::new(),
        (minutes, 0) => format!(":{minutes:02}"),
        (minutes, seconds) => format!(":{minutes:02}:{seconds:02}"),
    };
    format!("{}{sign}{:02}{minutes}", time.trim_end_matches('0').trim_end_matches('.'), east / 3600)
}

fn uuid(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let cuts = [0, 8, 12, 16, 20, digits.len()];
    let parts: Vec<&str> = cuts.windows(2).filter_map(|ends| digits.get(ends[0]..ends[1])).collect();
    parts.join("-")
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
            Value::Decimal(digits) => digits.to_owned(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }
}

fn cell_of(opaque: Option<Opaque>, array: &dyn Array, row: usize) -> Cell<'_> {
    match opaque {
        Some(opaque) if !array.is_null(row) => opaque.cell(array, row),
        _ => cell(array, row),
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
    macro_rules! primitive {
        ($kind:ty) => {
            array.as_primitive::<$kind>()
        };
    }
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
    if let Some(infinite) = infinite(array, row) {
        return infinite.to_owned();
    }
    let known = match array.data_type() {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = primitive!(IntervalMonthDayNanoType).value(row);
            Some(interval(value.months, value.days, value.nanoseconds))
        }
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
        DataType::List(element) => Some(list(element, &*array.as_list::<i32>().value(row))),
        DataType::LargeList(element) => Some(list(element, &*array.as_list::<i64>().value(row))),
        DataType::FixedSizeList(element, _) => Some(list(element, &*array.as_fixed_size_list().value(row))),
        DataType::Map(entry, _) => Some(list(entry, &array.as_map().value(row))),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let parts = columns.map(|(field, column)| {
                format!("{}: {}", field.name(), cell_of(Opaque::of(field), column, row).text())
            });
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

/// A date or time before or behind all others.
fn infinite(array: &dyn Array, row: usize) -> Option<&'static str> {
    let (value, largest) = match array.data_type() {
        DataType::Date32 => (array.as_primitive::<Date32Type>().value(row).into(), i32::MAX.into()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (array.as_primitive::<TimestampMicrosecondType>().value(row), i64::MAX)
        }
        _ => return None,
    };
    match value {
        _ if value == largest => Some("infinity"),
        _ if value == -largest => Some("-infinity"),
        _ => None,
    }
}

/// As PostgreSQL writes it: `1 year 2 mons 3 days 04:05:06.7`.
fn interval(months: i32, days: i32, nanoseconds: i64) -> String {
    let mut parts = Vec::new();
    let (years, months) = (months / 12, months % 12);
    for (count, unit) in [(years, "year"), (months, "mon"), (days, "day")] {
        let has_sign = count > 0 && parts.last().is_some_and(|part: &String| part.starts_with('-'));
        let sign = if has_sign { "+" } else { "" };
        match count {
            0 => {}
            1 => parts.push(format!("{sign}1 {unit}")),
            count => parts.push(format!("{sign}{count} {unit}s")),
        }
    }
    if nanoseconds != 0 || parts.is_empty() {
        let has_sign = parts.last().is_some_and(|part| part.starts_with('-'));
        let sign = if nanoseconds < 0 {
            "-"
        } else if has_sign {
            "+"
        } else {
            ""
        };
        let all = nanoseconds.unsigned_abs();
        let (seconds, fraction) = (all / 1_000_000_000, all % 1_000_000_000);
        let time =
            format!("{sign}{:02}:{:02}:{:02}.{fraction:09}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        parts.push(time.trim_end_matches('0').trim_end_matches('.').to_owned());
    }
    parts.join(" ")
}

/// As PostgreSQL writes an array.
fn list(element: &Field, values: &dyn Array) -> String {
    let opaque = Opaque::of(element);
    let mut text = String::from("{");
    for row in 0..values.len() {
        text.push_str(if row == 0 { "" } else { "," });
        match values.data_type() {
            _ if values.is_null(row) => text.push_str("NULL"),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
                text.push_str(&cell(values, row).text());
            }
            _ => write_element(&cell_of(opaque, values, row).text(), &mut text),
        }
    }
    text + "}"
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Float64Array, StringArray, TimestampMicrosecondArray};

    use super::*;

    #[test]
    fn floats_have_the_digits_that_give_them_back() {
        let floats = [0.1, -2.5, 3.0, 9_999_999.0, 1e7, 123_456_789.0, 1e-7, f32::INFINITY];
        let array = Float32Array::from(floats.to_vec());
        let texts: Vec<String> = (0..floats.len()).map(|row| cell(&array, row).text()).collect();
        assert_eq!(texts, ["0.1", "-2.5", "3", "9999999", "1e7", "1.2345679e8", "0.0000001", "inf"]);
        assert_eq!(cell(&Float64Array::from(vec![0.1]), 0).text(), "0.1");
    }

    #[test]
    fn intervals_arrays_and_infinity_are_written_as_by_postgresql() {
        let second = 1_000_000_000;
        for ((months, days, nanoseconds), text) in [
            ((14, 3, 4 * 3600 * second + 5 * 60 * second + 6_700_000_000), "1 year 2 mons 3 days 04:05:06.7"),
            ((0, 0, 0), "00:00:00"),
            ((1, 1, 0), "1 mon 1 day"),
            ((-1, 2, 3 * second), "-1 mons +2 days 00:00:03"),
            ((0, -1, -second), "-1 days -00:00:01"),
            ((0, 0, 100 * 3600 * second), "100:00:00"),
        ] {
            assert_eq!(interval(months, days, nanoseconds), text);
        }
        let times = TimestampMicrosecondArray::from(vec![i64::MAX, -i64::MAX, 0]);
        let texts: Vec<String> = (0..3).map(|row| cell(&times, row).text()).collect();
        assert_eq!(texts, ["infinity", "-infinity", "1970-01-01 00:00:00"]);
        let names = StringArray::from(vec![Some("a"), None, Some("b c"), Some("NULL"), Some("")]);
        let element = |kind| Field::new("l", kind, true);
        assert_eq!(list(&element(DataType::Utf8), &names), r#"{a,NULL,"b c","NULL",""}"#);
        let floats = Float64Array::from(vec![0.5, 2.0]);
        assert_eq!(list(&element(DataType::Float64), &floats), "{0.5,2}");
    }
}
