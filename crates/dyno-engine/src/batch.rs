//! Rows on their way into a database in bulk, in the form that its driver takes. Buffers are kept from batch to batch.

/// The form of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchForm {
    Lines,
    Columns,
}

/// Some rows of one table.
#[derive(Debug)]
pub enum Batch {
    /// Text: a tab between the values, a line for each row, `\N` for NULL. No value has a tab, a line's end or a backslash.
    Lines(Vec<u8>),
    /// The values of each column together.
    Columns(Vec<ColumnValues>),
}

/// The values of a column; that of a row that has none is any.
#[derive(Debug, Default)]
pub struct ColumnValues {
    pub values: TypedValues,
    /// The rows that have no value, from 0 on.
    pub nulls: Vec<usize>,
}

/// Values of one type, which the first of them decides.
#[derive(Debug, Default)]
pub enum TypedValues {
    /// No row has had a value yet.
    #[default]
    None,
    Integers(Vec<i64>),
    Doubles(Vec<f64>),
    /// In units of the last of so many places behind the point.
    Decimals {
        values: Vec<i64>,
        places: u8,
    },
    /// Days since 1970-01-01.
    Dates(Vec<i32>),
    Texts(Texts),
}

/// Texts in UTF-8, one behind the other.
#[derive(Debug, Default)]
pub struct Texts {
    pub bytes: Vec<u8>,
    /// Where each of them ends.
    pub ends: Vec<usize>,
}

impl Batch {
    /// An empty one.
    #[must_use]
    pub fn new(form: BatchForm) -> Self {
        match form {
            BatchForm::Lines => Self::Lines(Vec::new()),
            BatchForm::Columns => Self::Columns(Vec::new()),
        }
    }

    /// Takes the rows out; the memory stays.
    pub fn clear(&mut self) {
        match self {
            Self::Lines(text) => text.clear(),
            Self::Columns(columns) => columns.iter_mut().for_each(ColumnValues::clear),
        }
    }
}

impl ColumnValues {
    fn clear(&mut self) {
        self.nulls.clear();
        match &mut self.values {
            TypedValues::None => {}
            TypedValues::Integers(values) | TypedValues::Decimals { values, .. } => values.clear(),
            TypedValues::Doubles(values) => values.clear(),
            TypedValues::Dates(values) => values.clear(),
            TypedValues::Texts(texts) => {
                texts.bytes.clear();
                texts.ends.clear();
            }
        }
    }

    pub fn len(&self) -> usize {
        match &self.values {
            TypedValues::None => self.nulls.len(),
            TypedValues::Integers(values) | TypedValues::Decimals { values, .. } => values.len(),
            TypedValues::Doubles(values) => values.len(),
            TypedValues::Dates(values) => values.len(),
            TypedValues::Texts(texts) => texts.ends.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
