//! Values as columns of Arrow: those of a statement's parameters, and those of rows that are loaded. What is loaded is copied once,
//! since the buffers that hold it are filled again: copying a million values takes a few milliseconds, adding them to a table
//! some hundred.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions, RecordBatchReader, StringArray, new_null_array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use dyno_engine::driver::{ColumnValues, Texts, TypedValues, Value, Values};
use dyno_wire::server_error::DriverError;

use super::error::of_stream;

/// Digits of a decimal.
const DIGITS: u8 = 18;
const PIECE_ROWS: usize = 2048;
const NOT_TEXT: &str = "not text";
const NOT_NUMBER: &str = "not a number";

/// One row of values, for the parameters that a statement has.
pub(super) fn parameters(values: Values<'_>, count: usize) -> Result<RecordBatch, DriverError> {
    let array = |value: Value<'_>| -> Result<ArrayRef, DriverError> {
        Ok(match value {
            Value::Null => new_null_array(&DataType::Null, 1),
            Value::Integer(value) => Arc::new(Int64Array::from(vec![value])),
            Value::Double(value) => Arc::new(Float64Array::from(vec![value])),
            Value::Decimal(digits) => decimal(digits)?,
            Value::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|error| {
                    DriverError::new(NOT_TEXT, format!("a value is no text in UTF-8: {error}"))
                })?;
                Arc::new(StringArray::from(vec![text]))
            }
        })
    };
    let arrays = values.iter().take(count).map(array).collect::<Result<Vec<_>, _>>()?;
    let names = (1..=arrays.len()).map(|number| number.to_string());
    together(names, arrays, 1)
}

/// A number as it is written.
fn decimal(digits: &str) -> Result<ArrayRef, DriverError> {
    let places = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    let units = digits.replace('.', "").parse::<i128>();
    let too_long = |error: &dyn std::fmt::Display| DriverError::new(NOT_NUMBER, format!("{digits}: {error}"));
    let array = Decimal128Array::from(vec![units.map_err(|error| too_long(&error))?]);
    let array = array.with_precision_and_scale(DECIMAL128_MAX_PRECISION, places as i8);
    Ok(Arc::new(array.map_err(|error| too_long(&error))?))
}

/// Rows under the names of their columns.
pub(super) fn named(columns: &[&str], values: &[ColumnValues]) -> Result<RecordBatch, DriverError> {
    // A text can be made a value of any type, and so can that of none.
    let arrays = values.iter().map(|values| array(values, &DataType::Utf8)).collect::<Result<Vec<_>, _>>();
    let count = values.first().map_or(0, ColumnValues::len);
    together(columns.iter().map(|&name| name.to_owned()), arrays.map_err(|error| of_stream(&error))?, count)
}

/// Rows as a table wants them: all of its columns, in its order.
pub(super) fn in_order_of(
    table: &Schema,
    columns: &[&str],
    values: &[ColumnValues],
) -> Result<RecordBatch, DriverError> {
    let count = values.first().map_or(0, ColumnValues::len);
    let mut arrays = Vec::with_capacity(table.fields().len());
    for field in table.fields() {
        let place = columns.iter().position(|name| name.eq_ignore_ascii_case(field.name()));
        let values = place.and_then(|place| values.get(place)).ok_or_else(|| {
            DriverError::new(
                "other columns",
                format!("the table has a column {} that the rows do not have", field.name()),
            )
        })?;
        arrays.push(array(values, field.data_type()).map_err(|error| of_stream(&error))?);
    }
    together(table.fields().iter().map(|field| field.name().clone()), arrays, count)
}

/// The same rows, a few at a time. Where types differ, DuckDB 1.5 writes past its memory with more than these at once.
pub(super) fn in_pieces(batch: RecordBatch) -> impl RecordBatchReader + Send {
    let schema = batch.schema();
    let pieces = (0..batch.num_rows()).step_by(PIECE_ROWS);
    let piece = move |from| Ok(batch.slice(from, PIECE_ROWS.min(batch.num_rows() - from)));
    RecordBatchIterator::new(pieces.map(piece), schema)
}

fn together(
    names: impl Iterator<Item = String>,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, DriverError> {
    let fields: Vec<Field> =
        names.zip(&arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| of_stream(&error))
}

/// A column; `wanted` is the table's type, for one without any value.
fn array(column: &ColumnValues, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    let nulls = nulls(column);
    Ok(match &column.values {
        TypedValues::None => new_null_array(wanted, column.len()),
        TypedValues::Integers(values) => Arc::new(Int64Array::try_new(copy(values), nulls)?),
        TypedValues::Doubles(values) => Arc::new(Float64Array::try_new(copy(values), nulls)?),
        TypedValues::Decimals { values, places } => {
            let values: ScalarBuffer<i128> = values.iter().copied().map(i128::from).collect();
            let places = i8::try_from(*places).unwrap_or(i8::MAX);
            Arc::new(Decimal128Array::try_new(values, nulls)?.with_precision_and_scale(DIGITS, places)?)
        }
        TypedValues::Dates(values) => Arc::new(Date32Array::try_new(copy(values), nulls)?),
        TypedValues::Texts(Texts { bytes, ends }) => {
            let offsets: ScalarBuffer<i64> =
                std::iter::once(0).chain(ends.iter().map(|end| *end as i64)).collect();
            let bytes = Buffer::from_slice_ref(bytes);
            Arc::new(LargeStringArray::try_new(OffsetBuffer::new(offsets), bytes, nulls)?)
        }
    })
}

fn copy<T: arrow_buffer::ArrowNativeType>(values: &[T]) -> ScalarBuffer<T> {
    Buffer::from_slice_ref(values).into()
}

fn nulls(column: &ColumnValues) -> Option<NullBuffer> {
    if column.nulls.is_empty() {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(column.len());
    valid.append_n(column.len(), true);
    column.nulls.iter().filter(|row| **row < column.len()).for_each(|row| valid.set_bit(*row, false));
    Some(NullBuffer::new(valid.finish()))
}
