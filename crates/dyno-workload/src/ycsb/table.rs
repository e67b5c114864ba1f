//! The loaded records: their keys and their fields, each of which follows from the record's number.

use std::io::Write as _;

use dyno_results::fnv1a;

use super::options::{InsertOrder, RECORD_BYTES_MAX, Recipe};
use crate::dataset::{RowWriter, Rows};
use crate::random::Random;

/// Of the random stream of each row: changing it, or what is drawn, changes the data.
const ROWS: u64 = 0x0005_c5b0;
/// Letters of a field: those that need no escape in any protocol.
pub(super) const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Bytes of a record with its key and the server's own, beside its fields: 211 on PostgreSQL 15 with 10 fields of 100 bytes, of which
/// a part is the space that is left on a page; rounded up.
const OVERHEAD_BYTES: u64 = 215;

/// FNV-1a over a number's bytes, the lowest first, without its sign, as Java's `Math.abs` takes it.
pub(super) fn hash(number: u64) -> u64 {
    fnv1a::mixed(fnv1a::START, number.to_le_bytes()).cast_signed().unsigned_abs()
}

/// Draws the letters of fields.
pub(super) fn fill(text: &mut [u8], random: &mut Random) {
    for part in text.chunks_mut(10) {
        let mut bits = random.bits();
        for letter in part {
            *letter = LETTERS[(bits % 64) as usize];
            bits /= 64;
        }
    }
}

impl Recipe {
    /// Appends the key of a record, as YCSB makes it: by default of the hash of the record's number, which spreads
    /// neighbours over the table.
    pub(super) fn key(self, record: u64, text: &mut Vec<u8>) {
        let number = if self.insert_order == InsertOrder::Ordered { record } else { hash(record) };
        // Writing to memory cannot fail.
        let _ = write!(text, "user{number:0>0$}", usize::from(self.zero_padding));
    }

    /// Bytes of a record's fields.
    pub(super) fn record_bytes(self) -> usize {
        usize::from(self.fields) * usize::from(self.field_length)
    }

    /// Bytes of the table with its key.
    pub(super) fn bytes(self) -> u64 {
        self.records.saturating_mul(self.record_bytes() as u64 + OVERHEAD_BYTES)
    }
}

/// The loaded records; a row follows from its number alone.
impl Recipe {
    /// With the key and the signs of either form, four for each field.
    const ROW_BYTES_MAX: usize = RECORD_BYTES_MAX + 512;
}

impl Rows for Recipe {
    fn row_bytes_max(&self) -> usize {
        Self::ROW_BYTES_MAX
    }

    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        let record = number - 1;
        let mut random = Random::of_client(ROWS, record as u32);
        row.text(|text| self.key(record, text));
        for _ in 0..self.fields {
            row.text(|text| {
                let begin = text.len();
                text.resize(begin + usize::from(self.field_length), 0);
                fill(&mut text[begin..], &mut random);
            });
        }
        row.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::rows::{Form, RowRange};

    fn rows(recipe: Recipe, form: Form, last: u64) -> String {
        let mut rows = RowRange { rows: recipe, next: 1, last };
        let mut buffer = Vec::with_capacity(Recipe::ROW_BYTES_MAX + 512);
        assert_eq!(rows.fill(form, &mut buffer), last);
        String::from_utf8(buffer).unwrap()
    }

    /// The keys that YCSB 0.17 makes of the first numbers.
    #[test]
    fn keys_are_those_of_ycsb() {
        let key = |record, insert_order, zero_padding| {
            let mut text = Vec::new();
            Recipe { insert_order, zero_padding, ..Recipe::of(1) }.key(record, &mut text);
            String::from_utf8(text).unwrap()
        };
        use InsertOrder::{Hashed, Ordered};
        assert_eq!(key(0, Hashed, 1), "user6284781860667377211");
        assert_eq!(key(1, Hashed, 1), "user8517097267634966620");
        assert_eq!(key(2, Hashed, 20), "user01820151046732198393");
        assert_eq!([key(12, Ordered, 1), key(12, Ordered, 8)], ["user12", "user00000012"]);
    }

    #[test]
    fn the_rows_are_fixed_for_good() {
        let recipe = Recipe { fields: 2, field_length: 4, ..Recipe::of(2) };
        let lines = "user6284781860667377211\tTRX0\tXgxB\nuser8517097267634966620\tWoHt\t8EYo\n";
        assert_eq!(rows(recipe, Form::Lines, 2), lines);
    }

    #[test]
    fn the_longest_row_fits() {
        let recipe = Recipe { fields: 64, field_length: 256, zero_padding: 40, ..Recipe::of(1) };
        assert!(rows(recipe, Form::Tuples { backslashes: false }, 1).len() <= Recipe::ROW_BYTES_MAX);
    }

    #[test]
    fn fields_are_of_letters_that_need_no_escape() {
        let mut text = [0; 10_000];
        fill(&mut text, &mut Random::of_client(1, 1));
        assert!(LETTERS.iter().all(|letter| text.contains(letter)));
        assert!(LETTERS.iter().all(|letter| letter.is_ascii_alphanumeric() || b"-_".contains(letter)));
    }
}
