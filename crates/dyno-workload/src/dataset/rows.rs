//! Rows as the databases take them: a family says which values a row has, this writes them in the form of what brings them,
//! into a buffer of the caller's. Text is written without an allocation.

use std::io::Write as _;

use dyno_engine::driver::{Batch, ColumnValues, Texts, TypedValues};

/// How rows are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For COPY and LOAD DATA: a tab between the values, a line for each row.
    Lines,
    /// For INSERT: in brackets, with commas between them. `backslashes`: within quotes they begin an escape.
    Tuples { backslashes: bool },
}

/// What the rows of a table are.
pub(crate) trait Rows {
    /// The longest text of one call of [`Self::write`], in either form.
    fn row_bytes_max(&self) -> usize;

    /// Gives the values of row `number`, from 1 on, and ends it; a number may also stand for several rows, or for none.
    fn write(&mut self, number: u64, row: &mut impl RowWriter);
}

/// Takes the values of a row, one after the other.
pub(crate) trait RowWriter {
    fn integer(&mut self, value: impl itoa::Integer + TryInto<i64>);

    /// In units of the last of so many places behind the point.
    fn decimal(&mut self, value: i64, places: u8);

    /// Days since 1970-01-01, and the same as `1970-01-01`.
    fn date(&mut self, days: i32, text: &str);

    fn double(&mut self, value: f64);

    /// A text that `append` appends, with neither quotes nor backslashes nor tabs nor line ends.
    fn text(&mut self, append: impl FnOnce(&mut Vec<u8>));

    /// Any text.
    fn any_text(&mut self, text: &[u8]);

    fn null(&mut self);

    /// The row is complete.
    fn end(&mut self);
}

/// Rows `next` to `last` of a table, which are still to be written.
#[derive(Debug)]
pub(crate) struct RowRange<R> {
    pub rows: R,
    pub next: u64,
    pub last: u64,
}

impl<R: Rows> RowRange<R> {
    /// Appends as many rows as there is room for in what was allocated; returns how many, 0 at the end.
    pub(crate) fn fill(&mut self, form: Form, buffer: &mut Vec<u8>) -> u64 {
        match form {
            Form::Lines => self.fill_as::<true>(buffer, false),
            Form::Tuples { backslashes } => self.fill_as::<false>(buffer, backslashes),
        }
    }

    fn fill_as<const LINES: bool>(&mut self, buffer: &mut Vec<u8>, backslashes: bool) -> u64 {
        let before = if LINES { "" } else { "(" };
        let mut writer = TextWriter::<LINES> { buffer, backslashes, before, rows: 0 };
        let row_bytes_max = self.rows.row_bytes_max();
        while self.next <= self.last && writer.buffer.capacity() - writer.buffer.len() >= row_bytes_max {
            self.rows.write(self.next, &mut writer);
            self.next += 1;
        }
        writer.rows
    }

    /// Fills an emptied batch with rows of at most so many bytes as text; returns how many, 0 at the end.
    pub(crate) fn fill_batch(&mut self, batch: &mut Batch, bytes: usize) -> u64 {
        let columns = match batch {
            Batch::Lines(text) => {
                text.reserve_exact(bytes.max(self.rows.row_bytes_max()));
                return self.fill(Form::Lines, text);
            }
            Batch::Columns(columns) => columns,
        };
        let mut writer = ColumnWriter { columns, column: 0, rows: 0 };
        let end =
            self.next.saturating_add((bytes / self.rows.row_bytes_max()).max(1) as u64).min(self.last + 1);
        // Numbers without rows are not the end.
        while self.next < end || (writer.rows == 0 && self.next <= self.last) {
            self.rows.write(self.next, &mut writer);
            self.next += 1;
        }
        writer.rows
    }
}

/// Writes text.
struct TextWriter<'a, const LINES: bool> {
    buffer: &'a mut Vec<u8>,
    /// See [`Form::Tuples`].
    backslashes: bool,
    /// What stands before the next value.
    before: &'static str,
    rows: u64,
}

impl<const LINES: bool> TextWriter<'_, LINES> {
    #[inline]
    fn begin(&mut self) {
        self.buffer.extend_from_slice(self.before.as_bytes());
        self.before = if LINES { "\t" } else { ", " };
    }

    /// What stands for a byte behind the one that begins an escape.
    #[inline]
    fn escape(&self, byte: u8) -> Option<u8> {
        match byte {
            b'\t' if LINES => Some(b't'),
            b'\n' if LINES => Some(b'n'),
            b'\r' if LINES => Some(b'r'),
            b'\\' if LINES || self.backslashes => Some(b'\\'),
            b'\'' if !LINES => Some(b'\''),
            _ => None,
        }
    }

    fn escaped(&mut self, text: &[u8]) {
        for &byte in text {
            match self.escape(byte) {
                Some(escape) => self.buffer.extend_from_slice(&[if LINES { b'\\' } else { byte }, escape]),
                None => self.buffer.push(byte),
            }
        }
    }
}

impl<const LINES: bool> RowWriter for TextWriter<'_, LINES> {
    #[inline]
    fn integer(&mut self, value: impl itoa::Integer + TryInto<i64>) {
        self.begin();
        self.buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    #[inline]
    fn decimal(&mut self, value: i64, places: u8) {
        self.begin();
        if value < 0 {
            self.buffer.push(b'-');
        }
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value.unsigned_abs()).as_bytes();
        let places = usize::from(places);
        let whole = digits.len().saturating_sub(places);
        self.buffer.extend_from_slice(if whole == 0 { b"0" } else { &digits[..whole] });
        if places > 0 {
            self.buffer.push(b'.');
            (digits.len()..places).for_each(|_| self.buffer.push(b'0'));
            self.buffer.extend_from_slice(&digits[whole..]);
        }
    }

    fn double(&mut self, value: f64) {
        self.begin();
        // Writing to memory cannot fail.
        let _ = write!(self.buffer, "{value:e}");
    }

    #[inline]
    fn date(&mut self, _: i32, text: &str) {
        self.text(|buffer| buffer.extend_from_slice(text.as_bytes()));
    }

    #[inline]
    fn text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.begin();
        if LINES {
            append(self.buffer);
        } else {
            self.buffer.push(b'\'');
            append(self.buffer);
            self.buffer.push(b'\'');
        }
    }

    #[inline]
    fn any_text(&mut self, text: &[u8]) {
        self.begin();
        if !LINES {
            self.buffer.push(b'\'');
        }
        // Most texts have nothing to escape, which is seen of many bytes at a time.
        let may_escape = |byte: &u8| match LINES {
            true => (*byte == b'\\') | (*byte == b'\t') | (*byte == b'\n') | (*byte == b'\r'),
            false => (*byte == b'\\') | (*byte == b'\''),
        };
        let escapes = text.iter().fold(0, |any, byte| any | u8::from(may_escape(byte)));
        match escapes > 0 {
            false => self.buffer.extend_from_slice(text),
            true => self.escaped(text),
        }
        if !LINES {
            self.buffer.push(b'\'');
        }
    }

    #[inline]
    fn null(&mut self) {
        self.begin();
        self.buffer.extend_from_slice(if LINES { b"\\N" } else { b"NULL" });
    }

    #[inline]
    fn end(&mut self) {
        self.buffer.extend_from_slice(if LINES { b"\n" } else { b")" });
        self.before = if LINES { "" } else { ", (" };
        self.rows += 1;
    }
}

/// Writes the values of each column together.
struct ColumnWriter<'a> {
    columns: &'a mut Vec<ColumnValues>,
    /// That of the next value.
    column: usize,
    rows: u64,
}

impl ColumnWriter<'_> {
    /// The column of the next value; one that has had none yet is of the type of `first`, with a place for each row before.
    fn column(&mut self, first: impl FnOnce(usize) -> TypedValues) -> &mut ColumnValues {
        if self.columns.len() == self.column {
            self.columns.push(ColumnValues::default());
        }
        let column = &mut self.columns[self.column];
        self.column += 1;
        if matches!(column.values, TypedValues::None) {
            column.values = first(self.rows as usize);
        }
        column
    }
}

impl RowWriter for ColumnWriter<'_> {
    fn integer(&mut self, value: impl itoa::Integer + TryInto<i64>) {
        let column = self.column(|rows| TypedValues::Integers(vec![0; rows]));
        if let TypedValues::Integers(values) = &mut column.values {
            values.push(value.try_into().unwrap_or(i64::MAX));
        }
    }

    fn decimal(&mut self, value: i64, places: u8) {
        let column = self.column(|rows| TypedValues::Decimals { values: vec![0; rows], places });
        if let TypedValues::Decimals { values, .. } = &mut column.values {
            values.push(value);
        }
    }

    fn double(&mut self, value: f64) {
        let column = self.column(|rows| TypedValues::Doubles(vec![0.0; rows]));
        if let TypedValues::Doubles(values) = &mut column.values {
            values.push(value);
        }
    }

    fn date(&mut self, days: i32, _: &str) {
        let column = self.column(|rows| TypedValues::Dates(vec![0; rows]));
        if let TypedValues::Dates(values) = &mut column.values {
            values.push(days);
        }
    }

    fn text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        let column = self.column(|rows| TypedValues::Texts(Texts { bytes: Vec::new(), ends: vec![0; rows] }));
        if let TypedValues::Texts(Texts { bytes, ends }) = &mut column.values {
            append(bytes);
            ends.push(bytes.len());
        }
    }

    fn any_text(&mut self, text: &[u8]) {
        self.text(|bytes| bytes.extend_from_slice(text));
    }

    fn null(&mut self) {
        let row = self.rows as usize;
        let column = self.column(|_| TypedValues::None);
        column.nulls.push(row);
        match &mut column.values {
            TypedValues::None => {}
            TypedValues::Integers(values) | TypedValues::Decimals { values, .. } => values.push(0),
            TypedValues::Doubles(values) => values.push(0.0),
            TypedValues::Dates(values) => values.push(0),
            TypedValues::Texts(Texts { bytes, ends }) => ends.push(bytes.len()),
        }
    }

    fn end(&mut self) {
        self.column = 0;
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use dyno_engine::driver::BatchForm;

    use super::*;

    /// Two rows for each odd number: one with all values, and one with none.
    struct Pairs;

    impl Rows for Pairs {
        fn row_bytes_max(&self) -> usize {
            100
        }

        fn write(&mut self, number: u64, row: &mut impl RowWriter) {
            if number.is_multiple_of(2) {
                return;
            }
            row.integer(number);
            row.decimal(-5, 2);
            row.date(1, "1970-01-02");
            row.text(|text| text.extend_from_slice(b"ab"));
            row.null();
            row.end();
            (0..5).for_each(|_| row.null());
            row.end();
        }
    }

    fn pairs() -> RowRange<Pairs> {
        RowRange { rows: Pairs, next: 1, last: 6 }
    }

    #[test]
    fn a_number_may_stand_for_several_rows_or_none() {
        let mut text = Vec::with_capacity(100);
        assert_eq!(pairs().fill(Form::Lines, &mut text), 2);
        assert_eq!(text, b"1\t-0.05\t1970-01-02\tab\t\\N\n\\N\t\\N\t\\N\t\\N\t\\N\n");
        text.clear();
        assert_eq!(pairs().fill(Form::Tuples { backslashes: true }, &mut text), 2);
        assert_eq!(text, b"(1, -0.05, '1970-01-02', 'ab', NULL), (NULL, NULL, NULL, NULL, NULL)");
    }

    #[test]
    fn a_batch_has_a_place_in_each_column_for_each_row() {
        let (mut batch, mut range) = (Batch::new(BatchForm::Columns), pairs());
        for (bytes, rows) in [(300, 4), (100, 2), (100, 0)] {
            batch.clear();
            assert_eq!(range.fill_batch(&mut batch, bytes), rows);
            let Batch::Columns(columns) = &batch else { panic!() };
            assert!(columns.iter().all(|column| column.len() as u64 == rows), "{columns:?}");
            let nulls = columns.iter().map(|column| column.nulls.len() as u64).collect::<Vec<_>>();
            assert_eq!(nulls, [rows / 2, rows / 2, rows / 2, rows / 2, rows]);
        }
        let (mut batch, mut range) = (Batch::new(BatchForm::Lines), pairs());
        assert_eq!(range.fill_batch(&mut batch, 1), 2);
        assert!(matches!(&batch, Batch::Lines(text) if text.ends_with(b"\\N\n")));
    }
}
