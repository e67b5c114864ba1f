//! A row of an answer as a client reads it, whichever protocol brought it.

use std::fmt::{self, Display};

use crate::my::backend::ResultRow;
use crate::my::value;
use crate::pg::backend::DataRow;

/// A row of an answer. It is decoded while it is read: one that nobody reads costs nothing.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a>(Encoded<'a>);

#[derive(Debug, Clone, Copy)]
enum Encoded<'a> {
    Postgres(DataRow<'a>),
    MySql(ResultRow<'a>),
    Decoded(&'a dyn Fields),
}

/// The values of a row that no protocol brought.
pub trait Fields: fmt::Debug {
    /// The number of columns.
    fn columns(&self) -> usize;

    /// Hands over the values from left to right.
    fn for_each(&self, take: &mut dyn FnMut(Field<'_>));
}

/// A value of a row.
#[derive(Clone, Copy)]
pub enum Field<'a> {
    Null,
    /// Text, or bytes, as the server sent them.
    Text(&'a [u8]),
    /// A number or a time that came in binary, which shows itself as text.
    Other(&'a dyn Display),
}

impl Row<'_> {
    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        match self.0 {
            Encoded::Postgres(row) => row.len(),
            Encoded::MySql(row) => row.len(),
            Encoded::Decoded(row) => row.columns(),
        }
    }

    /// Hands over the values from left to right.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(Field<'_>)) {
        match self.0 {
            Encoded::Postgres(row) => {
                row.columns().for_each(|value| take(value.map_or(Field::Null, Field::Text)));
            }
            Encoded::MySql(row) => row.columns().for_each(|value| match value {
                value::Value::Null => take(Field::Null),
                value::Value::Bytes(bytes) => take(Field::Text(bytes)),
                value => take(Field::Other(&value)),
            }),
            Encoded::Decoded(row) => row.for_each(&mut take),
        }
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// NULL is the word.
impl Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Other(value) => Display::fmt(value, f),
        }
    }
}

impl<'a> From<&'a dyn Fields> for Row<'a> {
    fn from(row: &'a dyn Fields) -> Self {
        Self(Encoded::Decoded(row))
    }
}

impl<'a> From<DataRow<'a>> for Row<'a> {
    #[inline]
    fn from(row: DataRow<'a>) -> Self {
        Self(Encoded::Postgres(row))
    }
}

impl<'a> From<ResultRow<'a>> for Row<'a> {
    #[inline]
    fn from(row: ResultRow<'a>) -> Self {
        Self(Encoded::MySql(row))
    }
}
