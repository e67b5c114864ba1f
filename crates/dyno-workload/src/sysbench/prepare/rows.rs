//! Writes the rows of a table as a load takes them. Rows are numbered one after the other; everything else of them is
//! random.

use crate::bulk::{self, Form};
use crate::random::Random;
use crate::sysbench::distribution::{Distribution, Sampler};
use crate::sysbench::text::{self, C_BYTES, C_TEMPLATE, PAD_BYTES, PAD_TEMPLATE};

/// Two integers of at most 10 digits, the texts, and what stands between and around them in either form.
const ROW_BYTES_MAX: usize = C_BYTES + PAD_BYTES + 2 * 10 + 16;

/// Some rows of a table that are still to be written.
#[derive(Debug)]
pub(super) struct SysbenchRows {
    next: u64,
    last: u64,
    /// `k` is drawn from 1 to this.
    table_size: i64,
    sampler: Sampler,
    random: Random,
}

impl SysbenchRows {
    /// Rows `first` to `last` of a table of `table_size` rows.
    pub(super) fn new(
        first: u64,
        last: u64,
        table_size: u64,
        distribution: &Distribution,
        random: Random,
    ) -> Self {
        Self { next: first, last, table_size: table_size as i64, sampler: distribution.sampler(), random }
    }

    /// Writes a row with `signs` before, between and behind its values.
    #[inline]
    fn write(&mut self, signs: [&[u8]; 5], buffer: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let k = self.sampler.draw(&mut self.random, 1, self.table_size);
        buffer.extend_from_slice(signs[0]);
        buffer.extend_from_slice(digits.format(self.next).as_bytes());
        buffer.extend_from_slice(signs[1]);
        buffer.extend_from_slice(digits.format(k).as_bytes());
        buffer.extend_from_slice(signs[2]);
        text::append(C_TEMPLATE, &mut self.random, buffer);
        buffer.extend_from_slice(signs[3]);
        text::append(PAD_TEMPLATE, &mut self.random, buffer);
        buffer.extend_from_slice(signs[4]);
    }
}

impl bulk::RowSource for SysbenchRows {
    fn fill(&mut self, form: Form, buffer: &mut Vec<u8>) -> u64 {
        let first = self.next;
        while self.next <= self.last && buffer.capacity() - buffer.len() >= ROW_BYTES_MAX {
            let signs: [&[u8]; 5] = match form {
                Form::Lines => [b"", b"\t", b"\t", b"\t", b"\n"],
                Form::Tuples if self.next == first => [b"(", b", ", b", '", b"', '", b"')"],
                Form::Tuples => [b", (", b", ", b", '", b"', '", b"')"],
            };
            self.write(signs, buffer);
            self.next += 1;
        }
        self.next - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::RowSource as _;

    fn all(form: Form, first: u64, last: u64, capacity: usize) -> Vec<String> {
        let mut rows = SysbenchRows::new(first, last, 1_000, &Distribution::Uniform, Random::of_client(1, 0));
        let (mut pieces, mut count) = (Vec::new(), 0);
        loop {
            let mut buffer = Vec::with_capacity(capacity);
            match rows.fill(form, &mut buffer) {
                0 => break,
                added => count += added,
            }
            assert!(buffer.len() <= capacity, "the buffer must not grow");
            pieces.push(String::from_utf8(buffer).unwrap());
        }
        assert_eq!(count, last + 1 - first);
        pieces
    }

    #[test]
    fn lines_are_numbered_and_whole() {
        let text = all(Form::Lines, 7, 1_006, 4_096).concat();
        for (line, id) in text.lines().zip(7..) {
            let values: Vec<&str> = line.split('\t').collect();
            assert_eq!(values[0], id.to_string());
            assert!((1..=1_000).contains(&values[1].parse::<u32>().unwrap()));
            assert_eq!((values.len(), values[2].len(), values[3].len()), (4, C_BYTES, PAD_BYTES));
        }
        assert_eq!((text.lines().count(), text.ends_with('\n')), (1_000, true));
    }

    #[test]
    fn tuples_make_a_statement_of_each_piece() {
        let pieces = all(Form::Tuples, 1, 20, 4 * ROW_BYTES_MAX);
        assert_eq!(pieces.len(), 5);
        for (piece, first) in pieces.iter().zip([1, 5, 9, 13, 17]) {
            assert!(piece.starts_with(&format!("({first}, ")) && piece.ends_with("')"), "{piece}");
            assert_eq!(piece.matches("'), (").count(), 3);
        }
    }

    #[test]
    fn the_buffer_size_does_not_change_the_rows() {
        assert_eq!(
            all(Form::Lines, 1, 500, ROW_BYTES_MAX).concat(),
            all(Form::Lines, 1, 500, 65_536).concat()
        );
    }

    /// The longest row that there can be fits.
    #[test]
    fn a_row_is_at_most_as_long_as_was_reckoned() {
        let huge = i32::MAX as u64;
        let highest = Distribution::Special { iterations: 1, percent: 100, result_percent: 100 };
        let mut rows = SysbenchRows::new(huge, huge + 1, huge, &highest, Random::of_client(1, 0));
        rows.sampler = Distribution::Pareto { h: 0.999 }.sampler();
        let mut buffer = Vec::with_capacity(2 * ROW_BYTES_MAX);
        assert_eq!(rows.fill(Form::Tuples, &mut buffer), 2);
        assert!(
            buffer.len() <= 2 * ROW_BYTES_MAX && buffer.len() > 2 * (ROW_BYTES_MAX - 16),
            "{}",
            buffer.len()
        );
    }
}
