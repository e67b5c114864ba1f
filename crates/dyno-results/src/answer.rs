//! Whether two answers to a query are the same: they have the same rows, numbers within a tolerance. Products print
//! decimals and floats with different digits, and order what ties as they like. Pure.

use serde::{Deserialize, Serialize};

use crate::event::{Answer, QueryAnswer};

/// Name and version of the form in which answers are recorded.
pub const SCHEMA: &str = "dyno.answers/1";

/// Answers that a run has recorded, with which those of later runs are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Of one target.
    pub answers: Vec<Answer>,
}

impl Recorded {
    /// The answers of a target that did not change while they were looked at.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answer>, target: &str) -> Self {
        let is_known = |answer: &&Answer| answer.target == target && answer.answer.changed == 0;
        let answers = answers.into_iter().filter(is_known).cloned().collect();
        Self { schema: SCHEMA.to_owned(), answers }
    }

    /// The answer to a query of a series; where several series have queries of its name and none is called so, the first.
    #[must_use]
    pub fn answer(&self, series: &str, query: &str) -> Option<&QueryAnswer> {
        let of_query = || self.answers.iter().filter(|answer| answer.answer.query == query);
        let found = of_query().find(|answer| answer.series == series).or_else(|| of_query().next());
        found.map(|answer| &answer.answer)
    }
}

/// What numbers with digits behind the point may differ by.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// As a part of the number.
    share: f64,
    least: f64,
    most: f64,
}

impl Tolerance {
    /// Of engines among each other: they round the last of two digits, and a sum of floats loses its last digits.
    pub const ROUNDING: Self = Self { share: 1e-9, least: 0.01, most: f64::MAX };
    /// What the TPC-H specification allows (clause 2.1.3.5): averages and ratios 1 %, sums 100.
    pub const TPCH: Self = Self { share: 0.01, least: 0.01, most: 100.0 };
}

/// In what the rows that were `found`, of `count` in all, differ from those that are `expected`; `None` where they do not.
/// Where only the first rows of an answer are known, only these are compared.
#[must_use]
pub fn difference(
    expected: (&[Vec<String>], u64),
    found: (&[Vec<String>], u64),
    tolerance: Tolerance,
) -> Option<String> {
    let ((expected, expected_count), (found, count)) = (expected, found);
    if expected_count != count {
        return Some(format!("it has {count} rows instead of {expected_count}"));
    }
    // The rows of the shorter list are looked for in the other, which may be known further.
    let found_is_short = found.len() <= expected.len();
    let (few, many) = if found_is_short { (found, expected) } else { (expected, found) };
    let of_few = first_without_counterpart(few, many, tolerance)?;
    // Rows may have any order, so the one at the same place may be there too.
    let of_many = first_without_counterpart(many, few, tolerance).unwrap_or(of_few);
    let (at, instead) = if found_is_short { (of_few, of_many) } else { (of_many, of_few) };
    let row = |rows: &[Vec<String>], at: usize| rows.get(at).map(|row| row.join(", ")).unwrap_or_default();
    Some(format!("row {} is ({}) instead of ({})", at + 1, row(found, at), row(expected, instead)))
}

/// The same of two stored answers.
#[must_use]
pub fn difference_of(expected: &QueryAnswer, found: &QueryAnswer) -> Option<String> {
    let differs =
        difference((&expected.rows, expected.count), (&found.rows, found.count), Tolerance::ROUNDING);
    let beyond = expected.count > expected.rows.len() as u64 && expected.digest != found.digest;
    differs.or_else(|| beyond.then(|| format!("rows beyond the first {} differ", expected.rows.len())))
}

/// A value as it is compared and stored: without blanks around it, a date without a time of zero, a number with at most
/// two digits behind the point and no zeros at its end.
#[must_use]
pub fn normal(value: &str) -> String {
    let value = value.trim();
    let value = value.strip_suffix(" 00:00:00").unwrap_or(value);
    let number = if value.contains('.') { value.parse::<f64>().ok() } else { None };
    let Some(number) = number else { return value.to_owned() };
    let rounded = format!("{number:.2}");
    match rounded.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// Whether [`normal`] surely leaves a value as it is.
#[must_use]
pub fn is_normal(value: &[u8]) -> bool {
    let has_no_blanks_around = [value.first(), value.last()].into_iter().flatten().all(u8::is_ascii_graphic);
    has_no_blanks_around && value.is_ascii() && !value.contains(&b'.') && !value.ends_with(b" 00:00:00")
}

fn same_value(one: &str, other: &str, tolerance: Tolerance) -> bool {
    if one == other {
        return true;
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => {
            let whole = one.fract() == 0.0 && other.fract() == 0.0;
            let allowed = (one.abs() * tolerance.share).clamp(tolerance.least, tolerance.most);
            (one - other).abs() <= if whole { 0.0 } else { allowed + 1e-9 }
        }
        _ => false,
    }
}

fn same_row(one: &[String], other: &[String], tolerance: Tolerance) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_value(one, other, tolerance))
}

/// The place of the first of `rows` that has no counterpart among `others`, each of which is one's only.
fn first_without_counterpart(
    rows: &[Vec<String>],
    others: &[Vec<String>],
    tolerance: Tolerance,
) -> Option<usize> {
    let mut taken = vec![false; others.len()];
    rows.iter().enumerate().find_map(|(at, row)| {
        // Most stand at the same place.
        let mut places = (at..others.len()).chain(0..at.min(others.len()));
        match places.find(|place| !taken[*place] && same_row(row, &others[*place], tolerance)) {
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

    fn rows(text: &str) -> Vec<Vec<String>> {
        text.split(';').map(|row| row.split(',').map(normal).collect()).collect()
    }

    #[test]
    fn answers_are_compared_by_what_they_say() {
        let expected = rows("A,1.5000;B,20;C,2020-01-02");
        let differs = |text: &str| {
            let found = rows(text);
            difference((&expected, 3), (&found, found.len() as u64), Tolerance::ROUNDING)
        };
        assert_eq!(differs("A  ,1.5;B,20;C,2020-01-02 00:00:00"), None);
        assert_eq!(differs("B,20;A,1.509;C,2020-01-02"), None);
        assert_eq!(differs("A,1.5;B,20.00;C,2020-01-02"), None);
        assert_eq!(differs("A,1.5;B,20").unwrap(), "it has 2 rows instead of 3");
        assert_eq!(differs("A,1.5;B,21;C,2020-01-02").unwrap(), "row 2 is (B, 21) instead of (B, 20)");
        assert_eq!(differs("B,20;C,2020-01-02;D,1").unwrap(), "row 3 is (D, 1) instead of (A, 1.5)");
        assert!(
            differs("A,1.52;B,20;C,2020-01-02").is_some() && differs("a,1.5;B,20;C,2020-01-02").is_some()
        );
        // Each row has a counterpart of its own.
        assert!(differs("A,1.5;A,1.5;C,2020-01-02").is_some());
    }

    #[test]
    fn a_recorded_answer_is_found_by_its_query() {
        let answer = |target: &str, series: &str, query: &str, changed| Answer {
            target: target.to_owned(),
            series: series.to_owned(),
            answer: QueryAnswer {
                query: query.to_owned(),
                sql: series.to_owned(),
                rows: Vec::new(),
                count: 0,
                digest: String::new(),
                changed,
                validated: None,
                recorded: false,
                wrong: None,
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
    fn large_sums_of_floats_are_the_same() {
        let same = |one, other| same_value(one, other, Tolerance::ROUNDING);
        assert!(same("109418418.41", "109418418.48") && !same("418.41", "418.48"));
        assert!(same("-0", "0") && !same("20", "21"));
        let allowed = |one, other| same_value(one, other, Tolerance::TPCH);
        assert!(allowed("348406.02", "348496.05") && !allowed("348406.02", "348516.05"));
        assert!(allowed("16.38", "16.4") && !allowed("16.38", "16.8") && !allowed("16", "17"));
        assert_eq!(["-0.001", "7.100", "x.y", "12"].map(normal), ["0", "7.1", "x.y", "12"]);
    }
}
