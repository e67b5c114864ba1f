//! What is known of all rows of an answer, whatever their order: a sum of hashes over the columns whose values all engines print
//! alike, and a weighted sum for each of the others. So two large answers can be compared that nobody keeps.

use serde::{Deserialize, Serialize};

use super::kind::{as_number, is_plain};
use super::number::{DECIMAL_DIGITS_MAX, Number, without_zeros};
use super::{DECIMAL_SHARE, FLOAT_SHARE, Kind, LEAST, cut_off};
use crate::fnv1a;

/// Stands for a decimal in the hash of its row.
const DECIMAL: u8 = 1;
/// Digits behind the point that a float can tell apart. More are counted as so many.
const DIGITS_MAX: u32 = 15;
/// Weights are less.
const WEIGHT_MAX: f64 = 2.0;
const NULL: &[u8] = b"NULL";

/// Of all rows of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Digest {
    /// How it was computed, [`Digest::FORM`] by this version: those of other forms are not compared.
    pub form: u32,
    /// The sum of the rows' hashes, over all values but those of `columns`.
    pub hash: u64,
    /// Those with decimals; the others are `None`.
    pub columns: Vec<Option<Decimals>>,
    /// Of all columns; those that are not there are not known.
    pub kinds: Vec<Kind>,
    /// Whether each column has only values that texts of all kinds keep alike; those that are not there are not known.
    pub plain: Vec<bool>,
    /// A number with a point or an exponent came in a column in which those before it had none. It is in the hash as this engine
    /// prints it, so another hash does not tell that the numbers are others.
    pub late_decimals: bool,
}

/// The numbers of a column some of which are not whole: engines print them with different digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Decimals {
    pub count: u64,
    /// Each by a weight of 1 to 2, which depends on the other values of its row.
    pub sum: f64,
    /// The same without signs.
    pub magnitude: f64,
    /// The most digits behind the point of any of them, as it is printed.
    pub digits: u32,
    /// How many have 0, 1, 2 … digits behind the point, of which zeros at the end do not count; the last have more, or an exponent.
    #[serde(default, with = "counts")]
    pub by_digits: [u64; DIGITS_MAX as usize + 1],
    /// Of `magnitude`, what the numbers make up that are taken for floats.
    #[serde(default)]
    pub floats: f64,
    /// The sum of hashes of the numbers without zeros at their end, each with the other values of its row; in hexadecimal. `None`
    /// of numbers that are not exact.
    #[serde(default, with = "hexadecimal", skip_serializing_if = "Option::is_none")]
    pub exact: Option<u64>,
}

/// What a reader of JSON need not hold as a number, whose digits it may not keep.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        hash.map(|hash| format!("{hash:016x}")).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.and_then(|text| u64::from_str_radix(&text, 16).ok()))
    }
}

/// Counts are stored up to the last that is not zero.
mod counts {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer, const N: usize>(
        counts: &[u64; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let length = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        counts[..length].serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[u64; N], D::Error> {
        let stored = Vec::<u64>::deserialize(deserializer)?;
        let mut counts = [0; N];
        counts.iter_mut().zip(stored).for_each(|(count, stored)| *count = stored);
        Ok(counts)
    }
}

impl Digest {
    /// 0 of earlier versions, which hashed long values whole.
    pub const FORM: u32 = 1;

    /// Whether two answers of as many rows are the same, as far as this tells; `None` where it does not tell, because
    /// they are of different forms, because one has decimals in a column in which the other has none, or because of late decimals or
    /// texts that their kinds keep differently.
    pub fn is_like(&self, other: &Self) -> Option<bool> {
        let with_decimals = |digest: &Self| digest.columns.iter().map(Option::is_some).collect::<Vec<_>>();
        let mut are_plain = true;
        for at in 0..self.columns.len() {
            let (one_kind, other_kind) = (self.kind(at), other.kind(at));
            if !one_kind.is_hashed_like(other_kind) {
                if !one_kind.is_hashed_like_if_plain(other_kind) {
                    return None;
                }
                are_plain &= self.is_plain(at) && other.is_plain(at);
            }
        }
        if self.form != other.form || with_decimals(self) != with_decimals(other) {
            return None;
        }
        let mut pairs = self.columns.iter().flatten().zip(other.columns.iter().flatten());
        let is_like = self.hash == other.hash && pairs.all(|(one, other)| one.is_like(other));
        let is_sure = is_like || (are_plain && !self.late_decimals && !other.late_decimals);
        is_sure.then_some(is_like)
    }

    fn is_plain(&self, column: usize) -> bool {
        self.plain.get(column).copied().unwrap_or_default()
    }

    fn kind(&self, column: usize) -> Kind {
        self.kinds.get(column).copied().unwrap_or_default()
    }
}

impl Decimals {
    fn is_like(&self, other: &Self) -> bool {
        self.count == other.count
            && match (self.exact, other.exact) {
                (Some(exact), Some(other_exact)) if self.by_digits == other.by_digits => exact == other_exact,
                _ => (self.sum - other.sum).abs() <= self.allowed(other),
            }
    }

    /// What the sums may differ by: what the numbers may differ by where answers are compared row by row, and less if both
    /// products print the column alike.
    fn allowed(&self, other: &Self) -> f64 {
        let are_exact = self.exact.is_some() && other.exact.is_some();
        let share = self.magnitude.max(other.magnitude) * if are_exact { SUM_SHARE } else { DECIMAL_SHARE };
        if self.by_digits == other.by_digits {
            return share;
        }
        share + self.of_floats(other) + self.more_than(other) + other.more_than(self)
    }

    /// What floats may have lost. Those of one product need not be in the rows of the other's.
    fn of_floats(&self, other: &Self) -> f64 {
        let magnitude = (self.floats + other.floats).min(self.magnitude.max(other.magnitude));
        magnitude * FLOAT_SHARE + (self.count_of_floats() + other.count_of_floats()) * WEIGHT_MAX * LEAST
    }

    fn count_of_floats(&self) -> f64 {
        self.longer_than(DECIMAL_DIGITS_MAX) as f64
    }

    /// How many numbers have more digits behind the point.
    fn longer_than(&self, digits: u32) -> u64 {
        self.by_digits.iter().skip(digits as usize + 1).sum()
    }

    /// What the other product may have cut off or rounded of these numbers. All numbers of a column are cut off behind the same
    /// digit, so only those with more digits than the other product has in any number lack something there.
    fn more_than(&self, other: &Self) -> f64 {
        self.longer_than(other.digits) as f64 * WEIGHT_MAX * cut_off(other.digits, self.digits)
    }

    fn add(&mut self, Decimal { number, hash }: Decimal, weight: f64, row: u64) {
        let magnitude = number.value.abs() * weight;
        self.count += 1;
        self.sum += number.value * weight;
        self.magnitude += magnitude;
        self.digits = self.digits.max(number.printed.min(DIGITS_MAX));
        self.by_digits[number.significant.min(DIGITS_MAX) as usize] += 1;
        if number.is_float() {
            self.floats += magnitude;
        }
        if let Some(exact) = &mut self.exact {
            *exact = exact.wrapping_add(fnv1a::mixed(row, hash.to_le_bytes()));
        }
    }
}

/// What the sums themselves lose of exact numbers.
const SUM_SHARE: f64 = 1e-13;

/// A number of a row that has not ended.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    number: Number,
    /// Of its text without zeros at the end.
    hash: u64,
}

/// What the values of a column were so far, each more general than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Nulls,
    /// Numbers without point and exponent.
    Whole,
    /// Numbers any of which has one, or is infinite or none.
    Decimals,
    Texts,
}

impl Content {
    fn of(value: &[u8]) -> Self {
        match Number::parse(value) {
            Some(_) if Number::is_whole(value) => Self::Whole,
            Some(_) => Self::Decimals,
            None if value == NULL => Self::Nulls,
            None => Self::Texts,
        }
    }
}

/// Computes a digest, value by value.
#[derive(Debug)]
pub struct Digester {
    digest: Digest,
    /// Of the columns, as far as it was decided by the first rows, or by the first value that is not NULL.
    contents: Vec<Content>,
    /// The hash of the row so far, and the place of its next value.
    row: (u64, usize),
    /// Of that row, with their columns. Its memory serves all rows.
    decimals: Vec<(usize, Decimal)>,
}

impl Digester {
    /// Begins with the first rows of an answer, which tell the columns that have decimals.
    pub fn begin(rows: &[Vec<String>], kinds: &[Kind]) -> Self {
        let columns = rows.first().map_or(kinds.len(), Vec::len);
        let values = |column: usize| rows.iter().filter_map(move |row| row.get(column));
        let content = |column: usize| match kinds.get(column).copied().unwrap_or_default() {
            Kind::Integer => Content::Whole,
            kind if kind.is_number() || kind == Kind::Unknown => {
                let all = values(column).map(|value| Content::of(value.as_bytes()));
                all.max().unwrap_or(Content::Nulls)
            }
            _ => Content::Texts,
        };
        let contents: Vec<Content> = (0..columns).map(content).collect();
        let mut digest = Digest { form: Digest::FORM, kinds: kinds.to_vec(), ..Digest::default() };
        let decimals = |(column, content): (usize, &Content)| {
            (*content == Content::Decimals).then(|| decimals_of(digest.kind(column)))
        };
        digest.columns = contents.iter().enumerate().map(decimals).collect();
        digest.plain = (0..columns).map(|column| digest.kind(column).keeps_plain_texts()).collect();
        let mut digester = Self { digest, contents, row: (fnv1a::START, 0), decimals: Vec::new() };
        for row in rows {
            row.iter().for_each(|value| digester.value(value.as_bytes()));
            digester.end_row();
        }
        digester
    }

    /// The next value of the row, as [`Kind::keep`] leaves it.
    pub fn value(&mut self, value: &[u8]) {
        let (hash, place) = self.row;
        let value = if self.digest.kind(place) == Kind::Boolean { as_number(value) } else { value };
        self.settle(place, value);
        if let Some(plain) = self.digest.plain.get_mut(place).filter(|plain| **plain) {
            *plain = is_plain(value);
        }
        let has_decimals = self.contents.get(place) == Some(&Content::Decimals);
        let hash = match has_decimals.then(|| Number::parse(value)).flatten() {
            None => with(hash, value),
            Some(number) if number.value.is_finite() => {
                let exact = fnv1a::mixed(fnv1a::START, without_zeros(value).iter().copied());
                self.decimals.push((place, Decimal { number, hash: exact }));
                with(hash, &[DECIMAL])
            }
            // Infinity has several names.
            Some(number) => with(hash, number.value.to_string().as_bytes()),
        };
        self.row = (hash, place + 1);
    }

    /// Decides whether a column has decimals whose values so far did not tell, or notes that they were decided about too early.
    fn settle(&mut self, place: usize, value: &[u8]) {
        match self.contents.get_mut(place) {
            Some(content @ Content::Nulls) => {
                *content = Content::of(value);
                if *content == Content::Decimals {
                    self.digest.columns[place] = Some(decimals_of(self.digest.kind(place)));
                }
            }
            Some(Content::Whole) if !Number::is_whole(value) => {
                self.digest.late_decimals |= Content::of(value) == Content::Decimals;
            }
            _ => {}
        }
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        let (mut hash, _) = std::mem::replace(&mut self.row, (fnv1a::START, 0));
        let row = hash;
        self.digest.hash = self.digest.hash.wrapping_add(hash);
        for (column, number) in self.decimals.drain(..) {
            // The upper bits of a product are the well mixed ones.
            hash = hash.wrapping_mul(fnv1a::PRIME).rotate_left(29).wrapping_mul(fnv1a::PRIME);
            let weight = 1.0 + (hash >> 11) as f64 / (1_u64 << 53) as f64;
            if let Some(column) = self.digest.columns.get_mut(column).and_then(Option::as_mut) {
                column.add(number, weight, row);
            }
        }
    }

    /// Of the rows that have ended.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// None yet, of a column of this kind.
fn decimals_of(kind: Kind) -> Decimals {
    Decimals { exact: kind.is_exact_number().then_some(0), ..Decimals::default() }
}

/// A row's hash, and a further value of it with its end.
fn with(hash: u64, value: &[u8]) -> u64 {
    fnv1a::mixed(hash, value.iter().chain(&[0]).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[&str]]) -> Digest {
        let texts = |row: &&[&str]| row.iter().map(|value| (*value).to_owned()).collect();
        Digester::begin(&rows.iter().map(texts).collect::<Vec<Vec<String>>>(), &[]).digest().clone()
    }

    fn is_like(one: &[&[&str]], other: &[&[&str]]) -> Option<bool> {
        digest(one).is_like(&digest(other))
    }

    #[test]
    fn rows_have_any_order_and_numbers_the_digits_of_their_engine() {
        let rows: [&[&str]; 4] =
            [&["A", "1.25", "7"], &["B", "-2.5", "8"], &["C", "3", "9"], &["D", "NULL", "9"]];
        let same: [&[&str]; 4] = [
            &["C", "3.000", "9"],
            &["D", "NULL", "9"],
            &["A", "1.25000000000003", "7"],
            &["B", "-2.50", "8"],
        ];
        assert_eq!(is_like(&rows, &same), Some(true));
        assert_eq!(is_like(&[&["1500000.50"]], &[&["1500000.4999999998"]]), Some(true));
        // Cut off, also where nothing is left behind the point.
        assert_eq!(is_like(&[&["A", "0.333333333333"]], &[&["A", "0.3333"]]), Some(true));
        assert_eq!(
            is_like(&[&["A", "3.0043"], &["B", "0.5"]], &[&["A", "3.00"], &["B", "0.50"]]),
            Some(true)
        );
        assert_eq!(
            is_like(&[&["0.5"], &["inf"], &["-inf"]], &[&["0.5"], &["Infinity"], &["-Infinity"]]),
            Some(true)
        );
        assert_eq!(digest(&[]), Digest { form: Digest::FORM, ..Digest::default() });
    }

    #[test]
    fn other_values_and_values_of_other_rows_are_found() {
        let rows: [&[&str]; 2] = [&["A", "1.25", "7"], &["B", "2.5", "8"]];
        let others: [[&[&str]; 2]; 5] = [
            [&["A", "1.26", "7"], &["B", "2.5", "8"]],
            // The sum is the same.
            [&["A", "1.26", "7"], &["B", "2.49", "8"]],
            [&["A", "2.5", "7"], &["B", "1.25", "8"]],
            [&["A", "1.25", "8"], &["B", "2.5", "7"]],
            [&["a", "1.25", "7"], &["B", "2.5", "8"]],
        ];
        for other in others {
            assert_eq!(is_like(&rows, &other), Some(false), "{other:?}");
        }
        assert_eq!(is_like(&[&["AB", ""]], &[&["A", "B"]]), Some(false));
        assert_eq!(is_like(&[&["0.001"]], &[&["0.003"]]), Some(false));
        assert_eq!(is_like(&[&["0.5"], &["inf"]], &[&["0.5"], &["-inf"]]), Some(false));
        // Whole numbers and texts that look like numbers are not taken for each other.
        assert_eq!(is_like(&[&["9007199254740993"]], &[&["9007199254740992"]]), Some(false));
        assert_eq!(is_like(&[&["007"]], &[&["7"]]), Some(false));
        assert_eq!(is_like(&[&["1.50"], &["a"]], &[&["1.5"], &["a"]]), Some(false));
    }

    #[test]
    fn a_column_that_is_cut_off_loosens_no_other() {
        let rows = |price: &'static str, ratio: &'static str| vec![["A", price, ratio]; 2_000];
        let like = |one: Vec<[&'static str; 3]>, other: Vec<[&'static str; 3]>| {
            let [one, other] =
                [&one, &other].map(|rows| rows.iter().map(<[_; 3]>::as_slice).collect::<Vec<_>>());
            is_like(&one, &other)
        };
        assert_eq!(like(rows("12.50", "0.66"), rows("12.50", "0.66666")), Some(true));
        assert_eq!(like(rows("12.50", "0.66"), rows("12.51", "0.66666")), Some(false));
    }

    /// Of a column, of whose values only some are known when the digest is begun.
    fn of_column(first: &[&str], later: &[&str]) -> Digest {
        let first: Vec<Vec<String>> = first.iter().map(|value| vec![(*value).to_owned()]).collect();
        let mut digester = Digester::begin(&first, &[]);
        for value in later {
            digester.value(value.as_bytes());
            digester.end_row();
        }
        digester.digest().clone()
    }

    #[test]
    fn the_first_value_after_nulls_tells_whether_a_column_has_decimals() {
        let of = |later: &[&str]| of_column(&["NULL", "NULL"], later);
        let expected = of(&["NULL", "1000.5", "7.25", "3.0"]);
        assert_eq!(expected.is_like(&of(&["NULL", "1000.5000", "7.2500", "3"])), Some(true));
        assert_eq!(expected.is_like(&of(&["NULL", "1000.6000", "7.2500", "3"])), Some(false));
        let in_other_order = of_column(&["7.25", "3"], &["1000.5", "NULL", "NULL", "NULL"]);
        assert_eq!(expected.is_like(&in_other_order), Some(true));
        assert_eq!(of(&["7"]).is_like(&of(&["8"])), Some(false));
        assert_eq!(of(&["abc", "1.5"]).is_like(&of(&["abc", "1.50"])), Some(false));
    }

    #[test]
    fn decimals_behind_whole_numbers_cannot_be_compared_unless_they_are_printed_alike() {
        let of = |later: &[&str]| of_column(&["1", "NULL"], later);
        let later: [&[&str]; 5] = [&["1000.5"], &["1000.5000"], &["10005e-1"], &["inf"], &["NaN"]];
        for (at, one) in later.iter().enumerate() {
            for (other_at, other) in later.iter().enumerate() {
                let expected = (at == other_at).then_some(true);
                assert_eq!(of(one).is_like(&of(other)), expected, "{one:?}, {other:?}");
            }
        }
        // One side never has a point.
        assert_eq!(of(&["1000"]).is_like(&of(&["1000.0"])), None);
        assert_eq!(of(&["NULL", "1000.0"]).is_like(&of_column(&["NULL", "NULL"], &["1000", "1"])), None);
        // Texts are no decimals.
        assert_eq!(of(&["1.5.0"]).is_like(&of(&["1.5.1"])), Some(false));
    }

    #[test]
    fn a_column_with_infinity_has_decimals() {
        let like = is_like(&[&["NULL"], &["3"], &["inf"]], &[&["NULL"], &["3.0"], &["Infinity"]]);
        assert_eq!(like, Some(true));
    }

    #[test]
    fn decimals_are_stored_compactly_and_those_of_earlier_versions_are_read() {
        let mut decimals = Decimals { count: 3, sum: 7.5, magnitude: 7.5, digits: 2, ..Decimals::default() };
        decimals.by_digits[..3].copy_from_slice(&[0, 1, 2]);
        let text = serde_json::to_string(&decimals).unwrap();
        assert_eq!(
            text,
            r#"{"count":3,"sum":7.5,"magnitude":7.5,"digits":2,"by_digits":[0,1,2],"floats":0.0}"#
        );
        assert_eq!(serde_json::from_str::<Decimals>(&text).unwrap(), decimals);
        let earlier = r#"{"count":3,"sum":7.5,"magnitude":7.5,"digits":2}"#;
        let earlier: Decimals = serde_json::from_str(earlier).unwrap();
        assert_eq!(earlier, Decimals { by_digits: Default::default(), ..decimals });
    }

    /// Whether two columns are alike, each of which has these values so many times.
    fn columns_are_like(one: &[(&str, usize)], other: &[(&str, usize)]) -> Option<bool> {
        let digest = |column: &[(&str, usize)]| {
            let values = column.iter().flat_map(|(value, times)| vec![*value; *times]);
            of_column(&values.collect::<Vec<_>>(), &[])
        };
        let is_like = digest(one).is_like(&digest(other));
        assert_eq!(is_like, digest(other).is_like(&digest(one)));
        is_like
    }

    #[test]
    fn a_value_with_many_digits_loosens_no_other() {
        let decimals = [("12.25", 1_001)];
        let float = ("12.2500000001", 1);
        assert_eq!(columns_are_like(&decimals, &[("12.25", 1_000), float]), Some(true));
        assert_eq!(columns_are_like(&decimals, &[("12.25", 999), float, ("21.25", 1)]), Some(false));
        let quotients = [("0.6666", 1_000), ("0.25", 1_000)];
        assert_eq!(columns_are_like(&quotients, &[("0.66666667", 1_000), ("0.25", 1_000)]), Some(true));
        let other = [("0.66666667", 1_000), ("0.25", 998), ("0.50", 2)];
        assert_eq!(columns_are_like(&quotients, &other), Some(false));
    }

    #[test]
    fn zeros_at_the_end_loosen_nothing() {
        for padded in ["12.2500", "12.2500000000"] {
            assert_eq!(columns_are_like(&[("12.25", 2_000)], &[(padded, 2_000)]), Some(true));
            let other = [(padded, 1_999), ("12.26", 1)];
            assert_eq!(columns_are_like(&[("12.25", 2_000)], &other), Some(false), "{padded}");
        }
    }

    #[test]
    fn columns_that_are_printed_alike_may_hardly_differ() {
        for (value, other) in [("12.3456", "12.3457"), ("12.34567891", "12.34667891")] {
            let column = [(value, 2_000), ("0.5", 100)];
            let near = [(value, 1_999), (other, 1), ("0.5", 100)];
            assert_eq!(columns_are_like(&column, &near), Some(false), "{value}");
            assert_eq!(columns_are_like(&column, &column), Some(true), "{value}");
        }
    }

    #[test]
    fn floats_are_like_decimals_and_quotients_like_those_of_other_products() {
        for (one, other) in [
            // Decimals, and floats some of which have lost a little.
            ([("12.25", 900), ("7.50", 200)], [("12.250000000000001", 900), ("7.5", 200)]),
            ([("0.30", 900), ("7.00", 200)], [("0.30000000000000004", 900), ("7", 200)]),
            ([("0.30", 900), ("7.50", 200)], [("0.3", 900), ("7.499999999999999", 200)]),
            // Cut off, rounded, and with more digits.
            (
                [("0.6666", 900), ("0.5000", 200)],
                [("0.66666666666666666667", 900), ("0.50000000000000000000", 200)],
            ),
            ([("0.6667", 900), ("0.5000", 200)], [("0.6666666667", 900), ("0.5000000000", 200)]),
            ([("0.6667", 900), ("3.0000", 200)], [("0.6666666666666666", 900), ("3.0000333333333334", 200)]),
            ([("0.666666", 900), ("0.500000", 200)], [("0.6666666667", 900), ("0.5", 200)]),
        ] {
            assert_eq!(columns_are_like(&one, &other), Some(true), "{one:?}, {other:?}");
        }
    }

    #[test]
    fn floats_may_differ_as_they_may_row_by_row() {
        let widened = ["0.10000000149011612", "0.20000000298023224", "0.30000001192092896"];
        let [one, other] = [["0.1", "0.2", "0.3"], widened].map(|values| values.map(|value| (value, 500)));
        assert_eq!(columns_are_like(&one, &other), Some(true));
        // Only as many as are floats.
        let mixed = [("0.10000000149011612", 500), ("0.2", 500), ("0.3", 500)];
        assert_eq!(columns_are_like(&one, &mixed), Some(true));
        let wrong = [("0.10000000149011612", 500), ("0.2", 500), ("0.3", 499), ("0.302", 1)];
        assert_eq!(columns_are_like(&one, &wrong), Some(false));
        // What is left of two sums.
        let left = [("0.0", 1_000), ("-0.0", 1)];
        assert_eq!(columns_are_like(&left, &[("1.4551915228366852e-11", 1_001)]), Some(true));
        assert_eq!(columns_are_like(&left, &[("1.4551915228366852e-8", 1_001)]), Some(false));
        let one = [("1e-7", 1_001)];
        assert_eq!(columns_are_like(&one, &[("0.0000001", 1_001)]), Some(true));
        assert_eq!(columns_are_like(&[("1e20", 1_001)], &[("100000200000000000000.0", 1_001)]), Some(false));
        let near = [("100000010000000000000.0", 1_001)];
        assert_eq!(columns_are_like(&[("1e20", 1_001)], &near), Some(true));
    }

    #[test]
    fn decimals_in_other_columns_cannot_be_compared() {
        assert_eq!(is_like(&[&["3"]], &[&["3.0"]]), None);
        assert_eq!(is_like(&[&["1.5", "2"]], &[&["1", "2.5"]]), None);
    }

    /// Of 2,000 rows with a text and a number, and one more.
    fn of_kind(kind: Kind, number: &str, last: &str) -> Digest {
        let row = |number: &str| vec!["A".to_owned(), number.to_owned()];
        let mut rows = vec![row(number); 2_000];
        rows.push(row(last));
        Digester::begin(&rows, &[Kind::Text, kind]).digest().clone()
    }

    #[test]
    fn exact_numbers_are_the_same_exactly_and_floats_nearly() {
        let of = |kind, last| of_kind(kind, "21615929300.24", last);
        let decimals = of(Kind::Decimal, "100.25");
        assert_eq!(decimals.is_like(&of(Kind::Decimal, "100.2500")), Some(true));
        assert_eq!(decimals.is_like(&of(Kind::Decimal, "0.25")), Some(false));
        assert_eq!(decimals.is_like(&of(Kind::Decimal, "100.26")), Some(false));
        assert_eq!(decimals.is_like(&of(Kind::Float, "100.25")), Some(true));
        assert_eq!(of(Kind::Float, "100.25").is_like(&of(Kind::Float, "100.24999999999999")), Some(true));
        // A quotient with other digits.
        let quotient = of_kind(Kind::Decimal, "0.6667", "0.5000");
        assert_eq!(quotient.is_like(&of_kind(Kind::Decimal, "0.66666666666666666667", "0.5")), Some(true));
        let stored = serde_json::to_string(&decimals.columns[1].unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Decimals>(&stored).unwrap(), decimals.columns[1].unwrap());
    }

    #[test]
    fn texts_that_look_like_numbers_are_texts() {
        let of = |kind, last| of_kind(kind, "1.5", last);
        assert_eq!(of(Kind::Text, "1.10").is_like(&of(Kind::Text, "1.1")), Some(false));
        assert_eq!(of(Kind::Text, "1e5").is_like(&of(Kind::Text, "100000")), Some(false));
        assert_eq!(of(Kind::Text, "1.10").is_like(&of(Kind::Text, "1.10")), Some(true));
    }

    #[test]
    fn booleans_are_numbers_where_there_are_none() {
        let of = |kind, number, last| of_kind(kind, number, last);
        let booleans = of(Kind::Boolean, "t", "f");
        for kind in [Kind::Integer, Kind::Float] {
            assert_eq!(booleans.is_like(&of(kind, "1", "0")), Some(true));
            assert_eq!(booleans.is_like(&of(kind, "1", "1")), Some(false));
            assert_eq!(booleans.is_like(&of(kind, "1", "NULL")), Some(false));
        }
        assert_eq!(booleans.is_like(&of(Kind::Boolean, "t", "t")), Some(false));
        assert_eq!(booleans.is_like(&of(Kind::Text, "t", "f")), None);
    }

    #[test]
    fn texts_of_other_kinds_are_compared_where_all_keep_them_alike() {
        let of = |kind, last| of_kind(kind, "A", last);
        for kind in [Kind::Padded, Kind::Unknown, Kind::Timestamp] {
            for (last, other) in [("B", "C"), ("1.10", "1.1"), ("NULL", "'NULL'"), ("B", "B ")] {
                let expected = of(kind, last);
                assert_eq!(of(Kind::Text, last).is_like(&expected), Some(true), "{kind:?}");
                let is_plain = is_plain(other.as_bytes());
                let is_like = expected.is_like(&of(Kind::Text, other));
                assert_eq!(is_like, is_plain.then_some(false), "{kind:?}: {last}, {other}");
            }
        }
        // Those of one kind are compared whatever they are.
        assert_eq!(of(Kind::Text, "B").is_like(&of(Kind::Text, "B ")), Some(false));
        assert_eq!(of(Kind::Text, "1").is_like(&of(Kind::Binary, "1")), None);
        // Of an earlier version it is not known.
        let earlier = Digest { plain: Vec::new(), ..of(Kind::Padded, "B") };
        assert_eq!(earlier.is_like(&of(Kind::Text, "B")), Some(true));
        assert_eq!(earlier.is_like(&of(Kind::Text, "C")), None);
    }
}
