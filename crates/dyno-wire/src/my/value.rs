//! Values of the binary protocol, and how each looks as text.

use std::fmt;

use super::backend::{Body, ColumnType, Text, ValueType};
use super::error::ProtocolError;

/// A value as the server sent it.
#[derive(Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    /// A string, a blob, a decimal, …; in the text protocol every value.
    Bytes(&'a [u8]),
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Date(Date),
    DateTime(Date, TimeOfDay),
    Time(ElapsedTime),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeOfDay {
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// A `TIME`, which may be negative and longer than a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElapsedTime {
    pub negative: bool,
    pub days: u32,
    pub rest: TimeOfDay,
}

/// Reads a value that is not NULL.
pub(super) fn read_binary<'a>(
    body: &mut Body<'a>,
    value_type: ValueType,
) -> Result<Value<'a>, ProtocolError> {
    let unsigned = value_type.unsigned;
    Ok(match value_type.column_type {
        ColumnType::NULL => Value::Null,
        ColumnType::TINY if unsigned => Value::UInt(body.u8()?.into()),
        ColumnType::TINY => Value::Int(body.array().map(i8::from_le_bytes)?.into()),
        ColumnType::SHORT | ColumnType::YEAR if unsigned => Value::UInt(body.u16()?.into()),
        ColumnType::SHORT | ColumnType::YEAR => Value::Int(body.array().map(i16::from_le_bytes)?.into()),
        ColumnType::LONG | ColumnType::INT24 if unsigned => Value::UInt(body.u32()?.into()),
        ColumnType::LONG | ColumnType::INT24 => Value::Int(body.array().map(i32::from_le_bytes)?.into()),
        ColumnType::LONGLONG if unsigned => Value::UInt(body.array().map(u64::from_le_bytes)?),
        ColumnType::LONGLONG => Value::Int(body.array().map(i64::from_le_bytes)?),
        ColumnType::FLOAT => Value::Float(body.array().map(f32::from_le_bytes)?),
        ColumnType::DOUBLE => Value::Double(body.array().map(f64::from_le_bytes)?),
        ColumnType::DATE => Value::Date(date_time(body)?.0),
        ColumnType::DATETIME | ColumnType::TIMESTAMP => {
            let (date, time) = date_time(body)?;
            Value::DateTime(date, time)
        }
        ColumnType::TIME => Value::Time(elapsed_time(body)?),
        // All others come as text or bytes, also those that are still to be invented.
        _ => Value::Bytes(body.lenenc_bytes()?),
    })
}

/// As many fields as are not zero: none, a date, with a time, with microseconds.
fn date_time(body: &mut Body<'_>) -> Result<(Date, TimeOfDay), ProtocolError> {
    let length = body.u8()?;
    let (mut date, mut time) = (Date::default(), TimeOfDay::default());
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(body.malformed("a date has a length that dates do not have"));
    }
    if length >= 4 {
        date = Date { year: body.u16()?, month: body.u8()?, day: body.u8()? };
    }
    if length >= 7 {
        time = time_of_day(body, length == 11)?;
    }
    Ok((date, time))
}

fn elapsed_time(body: &mut Body<'_>) -> Result<ElapsedTime, ProtocolError> {
    match body.u8()? {
        0 => Ok(ElapsedTime::default()),
        length @ (8 | 12) => Ok(ElapsedTime {
            negative: body.u8()? != 0,
            days: body.u32()?,
            rest: time_of_day(body, length == 12)?,
        }),
        _ => Err(body.malformed("a time has a length that times do not have")),
    }
}

fn time_of_day(body: &mut Body<'_>, with_microseconds: bool) -> Result<TimeOfDay, ProtocolError> {
    let (hour, minute, second) = (body.u8()?, body.u8()?, body.u8()?);
    let microsecond = if with_microseconds { body.u32()? } else { 0 };
    Ok(TimeOfDay { hour, minute, second, microsecond })
}

/// As the text protocol would send it, but for `DECIMAL`-like zeroes: fractions of a second only where there are
/// any, and floating-point numbers in their shortest form.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bytes(bytes) => fmt::Display::fmt(&Text(bytes), f),
            Self::Int(number) => fmt::Display::fmt(number, f),
            Self::UInt(number) => fmt::Display::fmt(number, f),
            Self::Float(number) => fmt::Display::fmt(number, f),
            Self::Double(number) => fmt::Display::fmt(number, f),
            Self::Date(date) => fmt::Display::fmt(date, f),
            Self::DateTime(date, time) => write!(f, "{date} {time}"),
            Self::Time(time) => fmt::Display::fmt(time, f),
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => fmt::Debug::fmt(&Text(bytes), f),
            other => fmt::Display::fmt(other, f),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_time(f, self.hour.into(), *self)
    }
}

impl fmt::Display for ElapsedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        write_time(f, u64::from(self.days) * 24 + u64::from(self.rest.hour), self.rest)
    }
}

fn write_time(f: &mut fmt::Formatter<'_>, hours: u64, time: TimeOfDay) -> fmt::Result {
    write!(f, "{hours:02}:{:02}:{:02}", time.minute, time.second)?;
    if time.microsecond != 0 { write!(f, ".{:06}", time.microsecond) } else { Ok(()) }
}
