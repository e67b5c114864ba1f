//! Writes the rows of a table as a load takes them. Rows are numbered one after the other; everything else of them is
//! random.

use super::distribution::Sampler;
use super::text::{self, C_BYTES, C_TEMPLATE, PAD_BYTES, PAD_TEMPLATE};
use crate::dataset::{RowWriter, Rows};
use crate::random::Random;

/// The rows of a part of a table.
#[derive(Debug)]
pub(super) struct SysbenchRows {
    /// `k` is drawn from 1 to this.
    pub table_size: i64,
    pub sampler: Sampler,
    pub random: Random,
}

impl SysbenchRows {
    /// Two integers of at most 10 digits, the texts, and what stands between and around them in either form.
    const ROW_BYTES_MAX: usize = C_BYTES + PAD_BYTES + 2 * 10 + 16;
}

impl Rows for SysbenchRows {
    fn row_bytes_max(&self) -> usize {
        Self::ROW_BYTES_MAX
    }

    #[inline]
    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        row.integer(number);
        row.integer(self.sampler.draw(&mut self.random, 1, self.table_size));
        row.text(|text| text::append(C_TEMPLATE, &mut self.random, text));
        row.text(|text| text::append(PAD_TEMPLATE, &mut self.random, text));
        row.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::rows::{Form, RowRange};
    use crate::sysbench::Distribution;

    const ROW_BYTES_MAX: usize = SysbenchRows::ROW_BYTES_MAX;

    fn rows(table_size: i64, sampler: Sampler) -> SysbenchRows {
        SysbenchRows { table_size, sampler, random: Random::of_client(1, 0) }
    }

    fn all(form: Form, first: u64, last: u64, capacity: usize) -> Vec<String> {
        let mut rows = RowRange { rows: rows(1_000, Distribution::Uniform.sampler()), next: first, last };
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
        let pieces = all(Form::Tuples { backslashes: false }, 1, 20, 4 * ROW_BYTES_MAX);
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
        let rows = rows(huge as i64, Distribution::Pareto { h: 0.999 }.sampler());
        let mut rows = RowRange { rows, next: huge, last: huge + 1 };
        let mut buffer = Vec::with_capacity(2 * ROW_BYTES_MAX);
        assert_eq!(rows.fill(Form::Tuples { backslashes: false }, &mut buffer), 2);
        assert!(
            buffer.len() <= 2 * ROW_BYTES_MAX && buffer.len() > 2 * (ROW_BYTES_MAX - 16),
            "{}",
            buffer.len()
        );
    }
}
