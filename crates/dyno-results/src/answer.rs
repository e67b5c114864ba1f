//! Whether two answers to a query are the same: they have the same rows, numbers within a tolerance. Products print
//! decimals and floats with different digits, and order what ties as they like. Pure.

mod digest;
mod freedom;
mod kind;
mod number;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use digest::{Decimals, Digest, Digester};
pub use freedom::{Freedom, Ordered, SAID};
pub use kind::{Kind, write_element};
use number::Number;

use crate::fnv1a;

/// Name and version of the form in which answers are recorded.
pub const SCHEMA: &str = "dyno.answers/1";

/// The check that queries return what the specification of their workload says.
pub const OF_SPECIFICATION: &str = "answers-of-specification";
/// The check that queries return what an earlier run has recorded.
pub const AS_RECORDED: &str = "answers-as-recorded";

/// What a query returned, the first time that its first client ran it in a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub target: String,
    /// Of its stages.
    pub series: String,
    #[serde(flatten)]
    pub answer: QueryAnswer,
}

/// What a query returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryAnswer {
    /// `Q1`, as its type of transactions is called.
    pub query: String,
    /// Its text as it was sent.
    pub sql: String,
    /// The values in it of the set's parameters; `None` in runs of earlier versions. Answers for other values are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<String>>,
    /// Of what kind the values of each column are, by which they are kept; none in runs of earlier versions, and where it is not
    /// known of any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// The first 1,000 rows, as far as they have less than 1 MiB; of long values as [`Kind::keep`] keeps them.
    pub rows: Vec<Vec<String>>,
    /// How many there were.
    pub count: u64,
    /// Over all rows but the numbers of `columns`, whatever their order; in hexadecimal.
    pub digest: String,
    /// How `digest` and `columns` are computed: see [`Digest::form`].
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub digest_form: u32,
    /// Over the numbers of each column some of whose first rows have a point or an exponent; `None` for the others. `None` in
    /// runs of earlier versions: their digest is another, and numbers in their rows may have at most two digits behind the point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<Option<Decimals>>>,
    /// A number with a point or an exponent came in a column whose numbers before it had none: another digest does not tell that
    /// it is another answer. `None` in runs of earlier versions, of which that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_decimals: Option<bool>,
    /// Whether each column has only values that texts of all kinds keep alike. Empty in runs of earlier versions, of which that is
    /// not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plain: Vec<bool>,
    /// By the target's catalog no two rows have the same in the order of its LIMIT: a key of its table is among the keys of that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_ties: bool,
    /// Later answers to the same text that were others.
    pub changed: u64,
    /// Why a later answer, or a recorded one, is another and both may be right: what the text leaves open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varies: Option<String>,
    /// Whether it is the answer that is known to be right: that of the workload's specification, or one that was recorded;
    /// `None` where there is none for this text and data.
    pub validated: Option<bool>,
    /// The one that is known was recorded by an earlier run.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub recorded: bool,
    /// In what it differs from that.
    pub wrong: Option<String>,
}

/// Answers that a run has recorded, with which those of later runs are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Of one target.
    pub answers: Vec<Answer>,
}

impl Recorded {
    /// The answers of a target that did not change while they were looked at, and are not known to be wrong.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answer>, target: &str) -> Self {
        let is_known = |Answer { target: of, answer, .. }: &&Answer| {
            of == target && answer.changed == 0 && answer.wrong.is_none()
        };
        let answers = answers.into_iter().filter(is_known).cloned().collect();
        Self { schema: SCHEMA.to_owned(), answers }
    }

    /// The answer to a query of a series; where several series have queries of its name and none is called so, the first.
    pub fn answer(&self, series: &str, query: &str) -> Option<&QueryAnswer> {
        let of_query = || self.answers.iter().filter(|answer| answer.answer.query == query);
        let found = of_query().find(|answer| answer.series == series).or_else(|| of_query().next());
        found.map(|answer| &answer.answer)
    }
}

/// What numbers with digits behind the point may differ by.
#[derive(Debug, Clone, Copy)]
pub enum Tolerance {
    /// Engines among each other: by how many digits they print, and what a sum of floats loses.
    Engines,
    /// A share of the number, within these bounds.
    Share { share: f64, least: f64, most: f64 },
}

impl Tolerance {
    /// Of answers that were stored with two digits behind the point.
    const TWO_DIGITS: Self = Self::Share { share: 1e-9, least: 0.01, most: f64::MAX };
    /// What the TPC-H specification allows (clause 2.1.3.5): averages and ratios 1 %, sums 100.
    pub const TPCH: Self = Self::Share { share: 0.01, least: 0.01, most: 100.0 };

    /// What these numbers may differ by.
    fn allowed(self, one: Number, other: Number) -> f64 {
        match self {
            Self::Share { share, least, most } => (one.value.abs() * share).clamp(least, most) + LEAST,
            Self::Engines => {
                let few = one.printed.min(other.printed);
                let many = one.printed.max(other.printed);
                let share = if one.is_float() || other.is_float() { FLOAT_SHARE } else { DECIMAL_SHARE };
                (one.value.abs() * share).max(cut_off(few, many)) + LEAST
            }
        }
    }
}

/// What a number may lack that one product prints with few digits behind the point, and another with many: some cut a quotient
/// off or round it behind four digits, and others behind those of its dividend. A number with fewer digits may be meant to have
/// no more, unless the other begins as it does.
fn cut_off(few: u32, many: u32) -> f64 {
    let unit = 0.1_f64.powi(few.min(15).cast_signed());
    match few {
        QUOTIENT_DIGITS.. => unit,
        2.. if few < many => unit * LAST_UNIT,
        _ => 0.0,
    }
}

/// What a sum of floats may lose, where it is printed as a float and where it is printed with the digits of a decimal.
const FLOAT_SHARE: f64 = 1e-6;
const DECIMAL_SHARE: f64 = 1e-9;
/// Digits behind the point that quotients of decimals have at least where they are cut off.
const QUOTIENT_DIGITS: u32 = 4;
/// What is cut off is less than a unit of the last digit.
const LAST_UNIT: f64 = 0.999;
/// A float with more digits is not exact, even where it is whole.
const EXACT_DIGITS_MAX: usize = 15;
/// Of the arithmetic of the comparison itself.
const LEAST: f64 = 1e-9;

/// What is known of an answer.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// The first rows, as they came.
    pub first: &'a [Vec<String>],
    /// Of the columns; none where they are not known.
    pub kinds: &'a [Kind],
    pub count: u64,
    /// Of all rows; `None` where it is not known.
    pub digest: Option<Digest>,
    /// By the catalog no two rows have the same in the order of the query's LIMIT.
    pub no_ties: bool,
}

impl Rows<'_> {
    fn are_all_known(&self) -> bool {
        self.first.len() as u64 == self.count
    }

    /// As far as the digests tell, where there are comparable ones.
    fn is_like(&self, other: &Self) -> Option<bool> {
        self.digest.as_ref()?.is_like(other.digest.as_ref()?)
    }
}

/// In what the rows that were `found` differ from those that are `expected`, whatever their order; `None` where they do not, or
/// where that cannot be told. Of answers of which only the first rows are known, the digests decide, or else those rows.
pub fn difference(expected: &Rows<'_>, found: &Rows<'_>, tolerance: Tolerance) -> Option<String> {
    if expected.count != found.count {
        return Some(format!("it has {} rows instead of {}", found.count, expected.count));
    }
    let rows_differ = || first_difference(expected, found, tolerance);
    let are_known = [expected, found].map(Rows::are_all_known);
    match expected.is_like(found) {
        Some(is_like) if are_known != [true; 2] => (!is_like).then(|| {
            let first = found.first.len();
            let seen = rows_differ().map(|seen| format!("; among the first {first}, {seen}"));
            format!("its {} rows differ{}", found.count, seen.unwrap_or_default())
        }),
        _ if are_known != [false; 2] => rows_differ(),
        _ => None,
    }
}

/// The first row that has no counterpart.
fn first_difference(expected: &Rows<'_>, found: &Rows<'_>, tolerance: Tolerance) -> Option<String> {
    // The rows of the shorter list are looked for in the other, which may be known further.
    let found_is_short = found.first.len() <= expected.first.len();
    let (short, long) = if found_is_short { (found, expected) } else { (expected, found) };
    let without_counterpart = |rows: &Rows<'_>, others: &Rows<'_>| {
        let columns = Columns { kinds: [rows.kinds, others.kinds], tolerance };
        first_without_counterpart(rows.first, others.first, columns)
    };
    let of_short = without_counterpart(short, long)?;
    // Rows may have any order, so the one at the same place may be there too.
    let of_long = without_counterpart(long, short).unwrap_or(of_short);
    let (expected, found) = (expected.first, found.first);
    let (at, instead) = if found_is_short { (of_short, of_long) } else { (of_long, of_short) };
    let row = |rows: &[Vec<String>], at: usize| rows.get(at).map(|row| shown(row)).unwrap_or_default();
    Some(format!("row {} is ({}) instead of ({})", at + 1, row(found, at), row(expected, instead)))
}

/// A row in a message.
fn shown(row: &[String]) -> String {
    let text = row.join(", ");
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// Of a row in a message.
const SHOWN_CHARS_MAX: usize = 500;

/// What two answers to a query come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    Alike,
    /// They differ in what the query's text leaves open, and in nothing else: why.
    Varies(String),
    /// In what they differ.
    Other(String),
}

/// Compares two answers to one text.
pub fn compare_stored(expected: &QueryAnswer, found: &QueryAnswer) -> Compared {
    let as_printed = |answer: &QueryAnswer| answer.columns.is_some();
    let tolerance = match as_printed(expected) && as_printed(found) {
        true => Tolerance::Engines,
        false => Tolerance::TWO_DIGITS,
    };
    let rows = [&expected.rows(), &found.rows()];
    let Some(differs) = difference(rows[0], rows[1], tolerance) else { return Compared::Alike };
    Freedom::of(&found.sql).explains(rows[0], rows[1]).map_or(Compared::Other(differs), Compared::Varies)
}

impl QueryAnswer {
    /// What is known of its rows.
    pub fn rows(&self) -> Rows<'_> {
        let hash = u64::from_str_radix(&self.digest, 16).ok();
        // Earlier versions did not look for them.
        let late_decimals = self.late_decimals.unwrap_or(true);
        let digest = hash.zip(self.columns.clone()).map(|(hash, columns)| {
            let (form, kinds, plain) = (self.digest_form, self.kinds.clone(), self.plain.clone());
            Digest { form, hash, columns, kinds, plain, late_decimals }
        });
        Rows { first: &self.rows, kinds: &self.kinds, count: self.count, digest, no_ties: self.no_ties }
    }
}

/// Whether two answers can be compared: they are to the same question, as far as the values of their parameters tell, and what
/// is known of their rows was computed alike.
pub fn are_comparable(one: &QueryAnswer, other: &QueryAnswer) -> bool {
    let same_parameters =
        one.parameters.is_none() || other.parameters.is_none() || one.parameters == other.parameters;
    let (one, other) = (one.rows(), other.rows());
    let are_known = one.are_all_known() || other.are_all_known() || one.is_like(&other).is_some();
    same_parameters && (one.count != other.count || are_known)
}

/// A value as it is compared and stored: without blanks around it, a time of day without zeros behind its seconds, a date without
/// a time of zero.
pub fn normal(value: &str) -> &str {
    let value = value.trim();
    let value = match has_fraction_of_second(value.as_bytes()) {
        true => value.trim_end_matches('0').trim_end_matches('.'),
        false => value,
    };
    value.strip_suffix(" 00:00:00").unwrap_or(value)
}

/// A value as it is kept: the beginning of one that is longer than [`VALUE_BYTES_MAX`], how long it is and a hash of all of it.
pub fn shortened(value: &str) -> Cow<'_, str> {
    if value.len() <= VALUE_BYTES_MAX {
        return value.into();
    }
    let hash = fnv1a::mixed(fnv1a::START, value.bytes());
    let begin = &value[..value.floor_char_boundary(VALUE_BYTES_SHOWN)];
    format!("{begin}… ({} bytes, hash {hash:016x})", value.len()).into()
}

/// Longer values are not kept whole.
pub const VALUE_BYTES_MAX: usize = 4 << 10;
/// What is kept of their beginning.
const VALUE_BYTES_SHOWN: usize = 1 << 10;

/// `2020-01-02 03:04:05.6`
fn has_fraction_of_second(value: &[u8]) -> bool {
    let form = b"0000-00-00 00:00:00.";
    let is_of_form =
        |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    value.split_at_checked(form.len()).is_some_and(|(time, fraction)| {
        time.iter().zip(form).all(is_of_form) && fraction.iter().all(u8::is_ascii_digit)
    })
}

/// Stands for no value.
const NULL: &str = "NULL";

/// How the columns of two answers are compared.
#[derive(Debug, Clone, Copy)]
struct Columns<'a> {
    kinds: [&'a [Kind]; 2],
    tolerance: Tolerance,
}

impl Columns<'_> {
    fn same_row(self, one: &[String], other: &[String]) -> bool {
        one.len() == other.len()
            && one.iter().zip(other).enumerate().all(|(at, (one, other))| self.same_at(at, one, other))
    }

    /// Whether the values of this column are the same.
    fn same_at(self, at: usize, one: &str, other: &str) -> bool {
        self.same(self.kinds.map(|kinds| kinds.get(at).copied().unwrap_or_default()), one, other)
    }

    /// Exact numbers are compared exactly, and texts as texts. What the specification of a workload tolerates holds for all
    /// numbers.
    fn same(self, kinds: [Kind; 2], one: &str, other: &str) -> bool {
        let is_exact =
            matches!(self.tolerance, Tolerance::Engines) && kinds.iter().all(|it| it.is_exact_number());
        match kinds {
            _ if one == other => true,
            _ if is_exact => same_decimal(one, other),
            [Kind::Unknown, _] | [_, Kind::Unknown] => same_value(normal(one), normal(other), self.tolerance),
            [one_kind, other_kind] if one_kind.is_number() && other_kind.is_number() => {
                same_value(one, other, self.tolerance)
            }
            [Kind::Boolean, kind] if kind.is_number() => kind::as_number(one.as_bytes()) == other.as_bytes(),
            [kind, Kind::Boolean] if kind.is_number() => one.as_bytes() == kind::as_number(other.as_bytes()),
            [one_kind, other_kind] if one_kind == other_kind => false,
            _ if [one, other].contains(&NULL) => false,
            // Of a product that has no such type, or whose elements are not known.
            [Kind::Text, kind] | [Kind::Array, kind @ Kind::NumberArray] => {
                kind.keep(one.as_bytes()) == other
            }
            [kind, Kind::Text] | [kind @ Kind::NumberArray, Kind::Array] => {
                kind.keep(other.as_bytes()) == one
            }
            _ => false,
        }
    }
}

/// Whether two exact numbers are the same. Products give a quotient different numbers of digits: where one has fewer it may lack
/// what is behind them.
fn same_decimal(one: &str, other: &str) -> bool {
    if number::without_zeros(one.as_bytes()) == number::without_zeros(other.as_bytes()) {
        return true;
    }
    let [Some(number), Some(other_number)] = [one, other].map(|text| Number::parse(text.as_bytes())) else {
        return false;
    };
    let few = number.printed.min(other_number.printed);
    let many = number.printed.max(other_number.printed);
    let allowed = if few < many { cut_off(few, many) } else { 0.0 };
    let magnitude = number.value.abs().max(other_number.value.abs());
    allowed > 0.0 && (number.value - other_number.value).abs() <= allowed + magnitude * f64::EPSILON
}

fn same_value(one: &str, other: &str, tolerance: Tolerance) -> bool {
    // Earlier versions kept long values whole.
    if one == other || shortened(one) == shortened(other) {
        return true;
    }
    // Without point and exponent they are integers, which are exact however large they are.
    if let [Ok(whole), Ok(other_whole)] = [one, other].map(str::parse::<i128>) {
        let length = |number: &str| number.trim_start_matches('-').len();
        return whole == other_whole && length(one) == length(other);
    }
    let [Some(number), Some(other_number)] = [one, other].map(|text| Number::parse(text.as_bytes())) else {
        return false;
    };
    let is_whole = is_exact(one, number) && is_exact(other, other_number);
    let allowed = if is_whole { 0.0 } else { tolerance.allowed(number, other_number) };
    let [value, other_value] = [number.value, other_number.value];
    let is_near = value.is_finite() && (value - other_value).abs() <= allowed;
    is_near || value == other_value || (value.is_nan() && other_value.is_nan())
}

/// Whether a number is whole, and also exact if it is a float.
fn is_exact(text: &str, number: Number) -> bool {
    number.value.fract() == 0.0
        && number.printed != u32::MAX
        && text.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS_MAX
}

/// Digits of a number behind the point; one with an exponent is a float, which has as many as it needs.
fn digits(number: &str) -> u32 {
    if number.contains(['e', 'E']) {
        return u32::MAX;
    }
    number.split_once('.').map_or(0, |(_, digits)| digits.len() as u32)
}

/// The place of the first of `rows` that has no counterpart among `others`, each of which is one's only.
fn first_without_counterpart(
    rows: &[Vec<String>],
    others: &[Vec<String>],
    columns: Columns<'_>,
) -> Option<usize> {
    let mut taken = vec![false; others.len()];
    rows.iter().enumerate().find_map(|(at, row)| {
        // Most stand at the same place.
        let mut places = (at..others.len()).chain(0..at.min(others.len()));
        match places.find(|place| !taken[*place] && columns.same_row(row, &others[*place])) {
            Some(place) => {
                taken[place] = true;
                None
            }
            None => Some(at),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference_of(expected: &QueryAnswer, found: &QueryAnswer) -> Option<String> {
        match compare_stored(expected, found) {
            Compared::Alike => None,
            Compared::Varies(why) => panic!("{why}"),
            Compared::Other(differs) => Some(differs),
        }
    }

    fn rows(text: &str) -> Vec<Vec<String>> {
        text.split(';').map(|row| row.split(',').map(|value| normal(value).to_owned()).collect()).collect()
    }

    #[test]
    fn answers_are_compared_by_what_they_say() {
        let expected = rows("A,1.5000;B,20;C,2020-01-02");
        let differs = |text: &str| {
            let found = rows(text);
            let known = |rows| Rows {
                first: rows,
                kinds: &[],
                count: rows.len() as u64,
                digest: None,
                no_ties: false,
            };
            difference(&known(&expected), &known(&found), Tolerance::Engines)
        };
        assert_eq!(differs("A  ,1.5;B,20;C,2020-01-02 00:00:00"), None);
        assert_eq!(differs("A,1.5;B,20;C,2020-01-02 00:00:00.000"), None);
        assert_eq!(differs("B,20;A,1.50004;C,2020-01-02"), None);
        assert_eq!(differs("A,1.5;B,20.00;C,2020-01-02"), None);
        assert_eq!(differs("A,1.5;B,20").unwrap(), "it has 2 rows instead of 3");
        assert_eq!(differs("A,1.5;B,21;C,2020-01-02").unwrap(), "row 2 is (B, 21) instead of (B, 20)");
        assert_eq!(differs("B,20;C,2020-01-02;D,1").unwrap(), "row 3 is (D, 1) instead of (A, 1.5000)");
        assert!(
            differs("A,1.51;B,20;C,2020-01-02").is_some() && differs("a,1.5;B,20;C,2020-01-02").is_some()
        );
        // Each row has a counterpart of its own.
        assert!(differs("A,1.5;A,1.5;C,2020-01-02").is_some());
    }

    #[test]
    fn times_have_no_zeros_behind_their_seconds() {
        for (value, expected) in [
            ("2020-01-02 03:04:05.100000", "2020-01-02 03:04:05.1"),
            ("2020-01-02 03:04:05.000", "2020-01-02 03:04:05"),
            ("2020-01-02 03:04:50", "2020-01-02 03:04:50"),
            ("0000-00-00 00:00:00.000+00", "0000-00-00 00:00:00.000+00"),
            ("1.500", "1.500"),
        ] {
            assert_eq!(normal(value), expected);
        }
    }

    #[test]
    fn a_recorded_answer_is_found_by_its_query() {
        let answer = |target: &str, series: &str, query: &str, changed| Answer {
            target: target.to_owned(),
            series: series.to_owned(),
            answer: QueryAnswer {
                query: query.to_owned(),
                sql: series.to_owned(),
                changed,
                ..QueryAnswer::default()
            },
        };
        let all = [
            answer("a", "x", "1", 0),
            answer("a", "y", "1", 0),
            answer("b", "x", "2", 0),
            answer("a", "x", "3", 1),
        ];
        let recorded = Recorded::of(&all, "a");
        let text = serde_json::to_string(&recorded).unwrap();
        assert_eq!(serde_json::from_str::<Recorded>(&text).unwrap(), recorded);
        let of = |series: &str, query: &str| recorded.answer(series, query).map(|answer| answer.sql.as_str());
        assert_eq!([of("y", "1"), of("z", "1")], [Some("y"), Some("x")]);
        // Of another target, or it changed.
        assert_eq!([of("x", "2"), of("x", "3")], [None, None]);
    }

    #[test]
    fn a_long_value_is_kept_by_its_beginning_its_length_and_a_hash() {
        let long = |last: &str| format!("{}ü{last}", "a".repeat(VALUE_BYTES_MAX));
        let kept = shortened(&long("x")).into_owned();
        assert!(kept.starts_with("aaa") && kept.len() < 2 * VALUE_BYTES_SHOWN, "{kept}");
        assert!(kept.contains("… (4099 bytes, hash "), "{kept}");
        assert_ne!(kept, shortened(&long("y")));
        assert_eq!(shortened(&kept), kept);
        assert_eq!(shortened("short"), "short");
        // As kept whole by an earlier version.
        assert!(same_value(&kept, &long("x"), Tolerance::Engines));
        assert!(!same_value(&kept, &long("y"), Tolerance::Engines));
        let rows = [vec![vec![long("x")]], vec![vec![long("y")]]];
        let [one, other] =
            rows.each_ref().map(|first| Rows { first, kinds: &[], count: 1, digest: None, no_ties: false });
        let differs = first_difference(&one, &other, Tolerance::Engines).unwrap();
        assert!(differs.len() < 3 * SHOWN_CHARS_MAX, "{differs}");
    }

    #[test]
    fn numbers_are_the_same_as_far_as_engines_print_them() {
        let same = |one, other| same_value(one, other, Tolerance::Engines);
        for (one, other) in [
            // Sums of floats.
            ("109418418.41", "109418418.48"),
            ("109418418.41", "109418418.41000001"),
            ("0.1", "0.10000000149"),
            ("1.5e-7", "0.00000015"),
            ("-0", "0"),
            // Floats, though they are whole.
            ("2.3000000000000003e17", "2.3e+17"),
            ("230000000000000030.0", "2.3e17"),
            ("inf", "Infinity"),
            ("-inf", "-Infinity"),
            ("nan", "NaN"),
            ("12.50", "12.5"),
            // Quotients: cut off, rounded, and with the digits of the dividend.
            ("0.3333", "0.33333333333333"),
            ("0.0344", "0.0345"),
            ("25.522006", "25.5220058532573370"),
            ("6.58", "6.5833333"),
        ] {
            assert!(same(one, other) && same(other, one), "{one}, {other}");
        }
        for (one, other) in [
            ("20", "21"),
            ("20.0", "2.01e1"),
            ("20.00", "21.00"),
            ("230000000000000001", "230000000000000002"),
            ("inf", "-inf"),
            ("inf", "1.5"),
            ("418.41", "418.48"),
            ("12.50", "12.51"),
            ("1.5", "1.51"),
            // Ratios that two digits would not tell apart.
            ("0.0001", "0.0003"),
            ("0.001234567", "0.001244567"),
            ("0", "0.003"),
            // Zeros at the end make no float.
            ("100.5", "100.50001000"),
            ("5.0000000000", "5.000004"),
        ] {
            assert!(!same(one, other) && !same(other, one), "{one}, {other}");
        }
    }

    #[test]
    fn values_are_compared_by_the_kinds_of_their_columns() {
        use Kind::{
            Array, Binary, Boolean, Decimal, Float, Integer, Json, NumberArray, Padded, Text, Timestamp,
            Unknown,
        };
        let same = |kinds: [Kind; 2], one, other| {
            let columns = Columns { kinds: [&[], &[]], tolerance: Tolerance::Engines };
            let is_same = columns.same(kinds, one, other);
            assert_eq!(is_same, columns.same([kinds[1], kinds[0]], other, one), "{kinds:?}: {one}, {other}");
            is_same
        };
        for (kinds, one, other) in [
            ([Decimal, Decimal], "12.50", "12.5"),
            ([Decimal, Decimal], "3.000", "3"),
            ([Decimal, Integer], "3.000", "3"),
            // A quotient that one product cuts off or rounds.
            ([Decimal, Decimal], "0.6667", "0.66666666666666666667"),
            ([Decimal, Decimal], "6.58", "6.5833333"),
            ([Decimal, Float], "0.30", "0.30000000000000004"),
            ([Decimal, Float], "21615929300.24", "21615929300.240002"),
            ([Float, Float], "109418418.41", "109418418.41000001"),
            ([Integer, Float], "3", "3.0"),
            ([Boolean, Integer], "f", "0"),
            ([Boolean, Float], "t", "1"),
            ([Boolean, Text], "t", "t"),
            ([Array, NumberArray], "{1.50}", "{1.5}"),
            ([Text, Padded], "A  ", "A"),
            ([Text, Timestamp], "2020-01-02 00:00:00", "2020-01-02"),
            ([Text, Binary], "ab", "\\x6162"),
            ([Text, Unknown], "A ", "A"),
            ([Text, Json], "{\"b\": 1, \"a\": 2}", "{\"a\":2,\"b\":1}"),
        ] {
            assert!(same(kinds, one, other), "{kinds:?}: {one}, {other}");
        }
        for (kinds, one, other) in [
            ([Decimal, Decimal], "21615929300.24", "21615929280.24"),
            ([Decimal, Decimal], "12345678901234567890.12", "12345678901234567890.13"),
            ([Decimal, Decimal], "0.0344", "0.0345"),
            ([Decimal, Decimal], "12.5", "12.51"),
            ([Decimal, Decimal], "NULL", "0"),
            ([Decimal, Integer], "3.001", "3"),
            ([Decimal, Float], "1.5", "1.51"),
            ([Boolean, Integer], "f", "1"),
            ([Boolean, Integer], "t", "2"),
            ([Boolean, Integer], "NULL", "0"),
            ([Boolean, Boolean], "t", "f"),
            ([Boolean, Text], "t", "1"),
            ([Array, Array], "{1.50}", "{1.5}"),
            ([Text, Text], "1.10", "1.1"),
            ([Text, Text], "1e5", "100000"),
            ([Text, Text], " a", "a"),
            ([Text, Text], "'NULL'", "NULL"),
            ([Text, Padded], " A", "A"),
            ([Text, Integer], "1.0", "1"),
            ([Binary, Binary], "\\xff", "\\xfe"),
            ([Text, Binary], "NULL", "\\x4e554c4c"),
            ([Text, Json], "[1,2]", "[2,1]"),
        ] {
            assert!(!same(kinds, one, other), "{kinds:?}: {one}, {other}");
        }
        // Each side by its own kinds, whichever has fewer rows.
        let json = |first, kinds| Rows { first, kinds, count: 1, digest: None, no_ties: false };
        let [one, other] = [[["{\"b\": 1}".to_owned()].to_vec()], [["{\"b\":1}".to_owned()].to_vec()]];
        let (text, json) = (json(&one, &[Text]), json(&other, &[Json]));
        assert_eq!(difference(&text, &json, Tolerance::Engines), None);
        assert_eq!(difference(&json, &text, Tolerance::Engines), None);
        // The specification of a workload allows what it says, whatever the kinds.
        let columns = Columns { kinds: [&[], &[]], tolerance: Tolerance::TPCH };
        assert!(columns.same([Decimal, Unknown], "348406.02", "348496.05"));
    }

    #[test]
    fn answers_of_earlier_versions_have_two_digits() {
        let answer = |value: &str, as_printed: bool| QueryAnswer {
            rows: vec![vec![value.to_owned()]],
            count: 1,
            columns: as_printed.then(Vec::new),
            ..QueryAnswer::default()
        };
        assert_eq!(difference_of(&answer("1.5", false), &answer("1.5049", true)), None);
        assert!(difference_of(&answer("1.5", true), &answer("1.5049", true)).is_some());
    }

    #[test]
    fn the_specification_allows_a_hundredth() {
        let allowed = |one, other| same_value(one, other, Tolerance::TPCH);
        assert!(allowed("348406.02", "348496.05") && !allowed("348406.02", "348516.05"));
        assert!(allowed("16.38", "16.4") && !allowed("16.38", "16.8") && !allowed("16", "17"));
    }

    #[test]
    fn large_answers_are_compared_by_their_digests() {
        let answer = |first: &[&str], hash: u64| QueryAnswer {
            rows: first.iter().map(|value| vec![(*value).to_owned()]).collect(),
            count: 3,
            digest: format!("{hash:016x}"),
            columns: Some(vec![None]),
            digest_form: Digest::FORM,
            late_decimals: Some(false),
            ..QueryAnswer::default()
        };
        let expected = answer(&["1", "2"], 7);
        // They came in another order.
        assert_eq!(difference_of(&expected, &answer(&["3", "1"], 7)), None);
        assert_eq!(difference_of(&expected, &answer(&["2", "1"], 8)).unwrap(), "its 3 rows differ");
        let seen = "its 3 rows differ; among the first 2, row 2 is (4) instead of (2)";
        assert_eq!(difference_of(&expected, &answer(&["1", "4"], 8)).unwrap(), seen);
        // The digest of an earlier version is another, and so is one of other columns.
        let earlier = QueryAnswer { columns: None, ..answer(&["1", "4"], 9) };
        let decimals = QueryAnswer { columns: Some(vec![Some(Decimals::default())]), ..earlier.clone() };
        let form = QueryAnswer { digest_form: 0, ..answer(&["1", "4"], 9) };
        for other in [earlier, decimals, form] {
            assert!(!are_comparable(&expected, &other));
            assert_eq!(difference_of(&expected, &other), None);
        }
        assert!(are_comparable(&expected, &answer(&["1", "2"], 9)));
        // Others may only be printed in another way, and of an earlier version that is not known.
        for late_decimals in [Some(true), None] {
            let late = |hash| QueryAnswer { late_decimals, ..answer(&["1", "2"], hash) };
            assert!(are_comparable(&expected, &late(7)) && !are_comparable(&expected, &late(8)));
            assert_eq!(difference_of(&expected, &late(8)), None);
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        let same = |one, other| same_value(one, other, Tolerance::Engines);
        assert!(!same("9007199254740993", "9007199254740992") && !same("007", "7"));
        assert!(same("7.0", "7") && same("-0", "0") && !same("7", "-7"));
    }
}
