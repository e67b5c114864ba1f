//! Rows as the servers take them: a family says which values a row has, this writes them in the form of the statement that
//! brings them, into a buffer of the caller's. Allocates nothing.

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For COPY and LOAD DATA: a tab between the values, a line for each row.
    Lines,
    /// For INSERT: in brackets, with commas between them.
    Tuples,
}

/// What the rows of a table are.
pub(crate) trait Rows {
    /// The longest row that there can be, in either form.
    const ROW_BYTES_MAX: usize;

    /// Gives the values of row `number`, from 1 on. Texts have neither quotes nor backslashes nor tabs.
    fn write<const LINES: bool>(&mut self, number: u64, row: &mut RowWriter<'_, LINES>);
}

/// Rows `next` to `last` of a table, which are still to be written.
#[derive(Debug)]
pub(crate) struct RowRange<R> {
    pub rows: R,
    pub next: u64,
    pub last: u64,
}

impl<R: Rows> RowRange<R> {
    pub(crate) fn len(&self) -> u64 {
        (self.last + 1).saturating_sub(self.next)
    }

    /// Appends as many rows as there is room for in what was allocated; returns how many, 0 at the end.
    pub(crate) fn fill(&mut self, form: Form, buffer: &mut Vec<u8>) -> u64 {
        match form {
            Form::Lines => self.fill_as::<true>(buffer),
            Form::Tuples => self.fill_as::<false>(buffer),
        }
    }

    fn fill_as<const LINES: bool>(&mut self, buffer: &mut Vec<u8>) -> u64 {
        let first = self.next;
        while self.next <= self.last && buffer.capacity() - buffer.len() >= R::ROW_BYTES_MAX {
            let before = if self.next == first { "(" } else { ", (" };
            let mut row = RowWriter::<LINES> { buffer, before: if LINES { "" } else { before } };
            self.rows.write(self.next, &mut row);
            buffer.extend_from_slice(if LINES { b"\n" } else { b")" });
            self.next += 1;
        }
        self.next - first
    }
}

/// Takes the values of a row, one after the other.
pub(crate) struct RowWriter<'a, const LINES: bool> {
    buffer: &'a mut Vec<u8>,
    /// What stands before the next value.
    before: &'static str,
}

impl<const LINES: bool> RowWriter<'_, LINES> {
    #[inline]
    fn begin(&mut self) {
        self.buffer.extend_from_slice(self.before.as_bytes());
        self.before = if LINES { "\t" } else { ", " };
    }

    #[inline]
    pub(crate) fn integer(&mut self, value: impl itoa::Integer) {
        self.begin();
        self.buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A text that `append` appends.
    #[inline]
    pub(crate) fn text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
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
    pub(crate) fn null(&mut self) {
        self.begin();
        self.buffer.extend_from_slice(if LINES { b"\\N" } else { b"NULL" });
    }
}
