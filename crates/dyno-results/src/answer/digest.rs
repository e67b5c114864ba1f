//! What is known of all rows of an answer, whatever their order: a sum of hashes over the values that engines print alike, and
//! a weighted sum over the others. So two large answers can be compared that nobody keeps.

use serde::{Deserialize, Serialize};

use super::digits;

/// FNV-1a, 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
/// Stands for a decimal in the hash of its row.
const DECIMAL: u8 = 1;
/// A number that is no farther from a whole one, as a share of it, is taken for that.
const WHOLE_SHARE: f64 = 1e-6;
const WHOLE_MOST: f64 = 1e-3;
/// What a sum of decimals may lose.
const SUM_SHARE: f64 = 1e-9;
/// Digits behind the point that a sum of 64 bits can tell apart.
const DIGITS_MAX: u32 = 15;

/// Of all rows of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Digest {
    /// The sum of the rows' hashes, over texts and whole numbers.
    pub hash: u64,
    pub decimals: Decimals,
}

/// Numbers that are not whole: engines print them with different digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Decimals {
    pub count: u64,
    /// Each by a weight of 1 to 2, which depends on the other values of its row.
    pub sum: f64,
    /// The same without signs.
    pub magnitude: f64,
    /// The most digits behind the point of any of them.
    pub digits: u32,
}

impl Digest {
    /// Whether two answers of as many rows are the same, as far as this tells.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.decimals, &other.decimals);
        // What one has cut off or rounded that the other prints.
        let unit = if one.digits == two.digits {
            0.0
        } else {
            0.1_f64.powi(one.digits.min(two.digits).cast_signed())
        };
        let allowed = one.magnitude.max(two.magnitude) * SUM_SHARE + one.count as f64 * unit;
        self.hash == other.hash && one.count == two.count && (one.sum - two.sum).abs() <= allowed
    }
}

/// Computes a digest, value by value.
#[derive(Debug, Default)]
pub struct Digester {
    digest: Digest,
    /// Of the row that has begun; `None` before its first value.
    row: Option<u64>,
    /// Of that row. Its memory serves all rows.
    decimals: Vec<f64>,
}

impl Digester {
    /// The next value of the row, as [`super::normal`] leaves it.
    pub fn value(&mut self, value: &[u8]) {
        let row = self.row.get_or_insert(FNV_OFFSET);
        match decimal(value) {
            None => *row = with(*row, value),
            Some((number, _)) if is_whole(number) => {
                // Not -0.
                *row = with(*row, format!("{:.0}", number.round() + 0.0).as_bytes());
            }
            Some((number, digits)) => {
                *row = with(*row, &[DECIMAL]);
                self.decimals.push(number);
                self.digest.decimals.digits = self.digest.decimals.digits.max(digits.min(DIGITS_MAX));
            }
        }
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        let mut hash = self.row.take().unwrap_or(FNV_OFFSET);
        self.digest.hash = self.digest.hash.wrapping_add(hash);
        let decimals = &mut self.digest.decimals;
        for number in self.decimals.drain(..) {
            // The upper bits of a product are the well mixed ones.
            hash = hash.wrapping_mul(FNV_PRIME).rotate_left(29).wrapping_mul(FNV_PRIME);
            let weight = 1.0 + (hash >> 11) as f64 / (1_u64 << 53) as f64;
            decimals.count += 1;
            decimals.sum += number * weight;
            decimals.magnitude += number.abs() * weight;
        }
    }

    /// Of the rows that have ended.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// A number with a point or an exponent, and its digits behind the point.
fn decimal(value: &[u8]) -> Option<(f64, u32)> {
    let begins_as_number = matches!(value.first(), Some(b'0'..=b'9' | b'-' | b'.'));
    if !begins_as_number || !value.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    let number: f64 = text.parse().ok()?;
    number.is_finite().then(|| (number, digits(text)))
}

fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() <= (WHOLE_SHARE * number.abs().max(1.0)).min(WHOLE_MOST)
}

/// A row's hash, and a further value of it with its end.
fn with(hash: u64, value: &[u8]) -> u64 {
    value.iter().chain(&[0]).fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[&str]]) -> Digest {
        let mut digester = Digester::default();
        for row in rows {
            row.iter().for_each(|value| digester.value(value.as_bytes()));
            digester.end_row();
        }
        digester.digest()
    }

    #[test]
    fn rows_have_any_order_and_numbers_the_digits_of_their_engine() {
        let rows: [&[&str]; 3] = [&["A", "1.25", "7"], &["B", "-2.5", "8"], &["C", "3", "9"]];
        let same: [&[&str]; 3] =
            [&["C", "3.000", "9.0"], &["A", "1.25000000000003", "7"], &["B", "-2.50", "8"]];
        assert!(digest(&rows).is_like(&digest(&same)));
        assert!(digest(&[&["1500000.50"]]).is_like(&digest(&[&["1500000.4999999998"]])));
        let cut: [[&[&str]; 1]; 2] = [[&["A", "0.333333333333"]], [&["A", "0.3333"]]];
        assert!(digest(&cut[0]).is_like(&digest(&cut[1])));
        assert_eq!(digest(&[]), Digest::default());
    }

    #[test]
    fn other_values_and_values_of_other_rows_are_found() {
        let rows: [&[&str]; 2] = [&["A", "1.25", "7"], &["B", "2.5", "8"]];
        let others: [[&[&str]; 2]; 6] = [
            [&["A", "1.26", "7"], &["B", "2.5", "8"]],
            // The sum is the same.
            [&["A", "1.26", "7"], &["B", "2.49", "8"]],
            [&["A", "2.5", "7"], &["B", "1.25", "8"]],
            [&["A", "1.25", "8"], &["B", "2.5", "7"]],
            [&["A", "7", "1.25"], &["B", "2.5", "8"]],
            [&["a", "1.25", "7"], &["B", "2.5", "8"]],
        ];
        for other in others {
            assert!(!digest(&rows).is_like(&digest(&other)), "{other:?}");
        }
        assert!(!digest(&[&["AB", ""]]).is_like(&digest(&[&["A", "B"]])));
        assert!(!digest(&[&["0.001"]]).is_like(&digest(&[&["0.003"]])));
        // Small whole numbers and texts that look like numbers are not taken for each other.
        assert!(!digest(&[&["9007199254740993"]]).is_like(&digest(&[&["9007199254740992"]])));
        assert!(!digest(&[&["007"]]).is_like(&digest(&[&["7"]])));
    }
}
