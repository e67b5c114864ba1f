//! What queries returned: the first answers of a load, and how often later ones to the same text were others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use dyno_engine::workload::{Field, Row};
use dyno_results::answer::{self, Compared, Digester, Kind, Rows};
use dyno_results::event::QueryAnswer;

use super::Query;

/// Rows of an answer that are kept.
const ROWS_KEPT: usize = 1_000;
/// What the values of these rows may have together. Rows behind are in the digest only.
const BYTES_KEPT: usize = 1 << 20;

/// The answer to a query that is under way.
#[derive(Debug, Default)]
pub(super) struct Answer {
    columns: usize,
    /// Of the columns.
    kinds: Vec<Kind>,
    /// At most [`ROWS_KEPT`], with at most [`BYTES_KEPT`].
    rows: Vec<Vec<String>>,
    bytes: usize,
    count: u64,
    /// Of all rows, where not all are kept.
    digester: Option<Digester>,
}

impl Answer {
    pub(super) fn begin(&mut self, columns: usize) {
        *self = Self { columns, ..Self::default() };
    }

    /// The kind of the next column. Behind the last comes the first again, of which only NULL was seen so far; the digest, once it
    /// has begun, keeps what was known before.
    pub(super) fn kind(&mut self, kind: Kind) {
        if self.digester.is_some() {
            return;
        }
        if self.kinds.len() == self.columns {
            self.kinds.clear();
        }
        self.kinds.push(kind);
    }

    /// Counts a row, and keeps it unless it could as well be another.
    pub(super) fn row(&mut self, row: Row<'_>, is_any: bool) {
        self.count += 1;
        if is_any {
            return;
        }
        let mut kinds = self.kinds.iter().copied();
        let mut kind = || kinds.next().unwrap_or_default();
        if self.digester.is_none() && self.rows.len() < ROWS_KEPT {
            let mut values = Vec::with_capacity(self.columns);
            row.for_each(|field| kept(field, kind(), |value| values.push(value.to_owned())));
            self.bytes += values.iter().map(String::len).sum::<usize>();
            if self.bytes <= BYTES_KEPT {
                self.rows.push(values);
                return;
            }
        }
        let digester = self.digester.get_or_insert_with(|| Digester::begin(&self.rows, &self.kinds));
        let mut kinds = self.kinds.iter().copied();
        let mut kind = || kinds.next().unwrap_or_default();
        row.for_each(|field| kept(field, kind(), |value| digester.value(value.as_bytes())));
        digester.end_row();
    }

    fn known(&self, no_ties: bool) -> Rows<'_> {
        let digest = self.digester.as_ref().map(|digester| digester.digest().clone());
        Rows { first: &self.rows, kinds: &self.kinds, count: self.count, digest, no_ties }
    }
}

/// Hands on a value as it is kept, and as it is in the digest.
fn kept(field: Field<'_>, kind: Kind, take: impl FnOnce(&str)) {
    match field {
        Field::Null => take("NULL"),
        // Millions of values may pass through here: most need no copy.
        Field::Text(text) => take(&kind.keep(text)),
        Field::Other(value) => take(&kind.keep(value.to_string().as_bytes())),
    }
}

/// The first answers of a load to each of its queries, by their places in the set.
#[derive(Debug, Default)]
pub(super) struct Answers {
    kept: Mutex<BTreeMap<u16, Kept>>,
    /// The queries of which no two rows tie in the order of their LIMIT.
    without_ties: Mutex<BTreeSet<u16>>,
}

#[derive(Debug)]
struct Kept {
    sql: String,
    parameters: Vec<String>,
    answer: Answer,
    /// Further answers to the same text that were others.
    changed: u64,
    /// Why one was another, and both may be right.
    varies: Option<String>,
}

impl Answers {
    pub(super) fn set_without_ties(&self, places: BTreeSet<u16>) {
        *self.without_ties.lock().unwrap_or_else(PoisonError::into_inner) = places;
    }

    fn has_no_ties(&self, place: u16) -> bool {
        self.without_ties.lock().unwrap_or_else(PoisonError::into_inner).contains(&place)
    }

    /// Keeps the first answer to a query, and compares further ones to the same text with it.
    pub(super) fn keep(&self, query: &Query, found: Answer) {
        let Query { place, parameters, .. } = query;
        let sql = query.text();
        let no_ties = self.has_no_ties(*place);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get_mut(place) {
            None => {
                let parameters = parameters.clone();
                kept.insert(*place, Kept { sql, parameters, answer: found, changed: 0, varies: None });
            }
            Some(first) if first.sql == sql => {
                match answer::compare(&first.sql, &first.answer.known(no_ties), &found.known(no_ties)) {
                    Compared::Alike => {}
                    Compared::Varies(why) => first.varies = Some(why),
                    Compared::Other(_) => first.changed += 1,
                }
            }
            Some(_) => {}
        }
    }

    /// As they are stored with the run, and forgotten. Nothing is said of whether they are right.
    pub(super) fn take(&self, names: &[String]) -> Vec<QueryAnswer> {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        let stored = |(place, kept): (u16, Kept)| {
            let Kept {
                sql,
                parameters,
                answer: Answer { kinds, rows, count, digester, .. },
                changed,
                varies,
            } = kept;
            let digest = digester.unwrap_or_else(|| Digester::begin(&rows, &kinds)).digest().clone();
            Some(QueryAnswer {
                query: names.get(usize::from(place))?.clone(),
                sql,
                parameters: Some(parameters),
                kinds,
                rows,
                count,
                digest: format!("{:016x}", digest.hash),
                digest_form: digest.form,
                columns: Some(digest.columns),
                late_decimals: Some(digest.late_decimals),
                plain: digest.plain,
                no_ties: self.has_no_ties(place),
                changed,
                varies,
                ..QueryAnswer::default()
            })
        };
        kept.into_iter().filter_map(stored).collect()
    }
}

#[cfg(test)]
mod tests {
    use dyno_engine::request::QueryKind;
    use dyno_engine::workload::Fields;
    use dyno_results::answer::{Tolerance, VALUE_BYTES_MAX};

    use super::*;

    #[derive(Debug)]
    struct Texts<'a>(&'a [&'a str]);

    impl Fields for Texts<'_> {
        fn columns(&self) -> usize {
            self.0.len()
        }

        fn for_each(&self, take: &mut dyn FnMut(Field<'_>)) {
            self.0.iter().for_each(|text| take(Field::Text(text.as_bytes())));
        }
    }

    #[test]
    fn a_row_has_the_same_digest_whether_it_is_kept_or_not() {
        let long = format!("ü{}", "a".repeat(VALUE_BYTES_MAX));
        let rows: [&[&str]; 5] = [
            &["1", "-20", "", "   "],
            &["A  ", " B", "2020-01-02 00:00:00", "0.10"],
            &["a.b", ".", "-0.001", "1e5"],
            &["ü ", "\u{b}x", " 00:00:00", "NULL"],
            &[&long, "b"],
        ];
        for row in rows {
            let mut answer = Answer::default();
            (0..=ROWS_KEPT).for_each(|_| answer.row(Row::from(&Texts(row) as &dyn Fields), false));
            let all = Digester::begin(&vec![answer.rows[0].clone(); ROWS_KEPT + 1], &[]);
            assert_eq!(answer.known(false).digest.as_ref(), Some(all.digest()), "{row:?}");
        }
    }

    /// Of so many rows with one value.
    fn rows_of(values: impl Iterator<Item = String>) -> Answer {
        let mut answer = Answer::default();
        values.for_each(|value| answer.row(Row::from(&Texts(&[&value]) as &dyn Fields), false));
        answer
    }

    #[test]
    fn rows_are_kept_up_to_a_size_and_a_digest_beyond() {
        // Long rows, rows of long values, and one row that is too long by itself.
        let value = |number: usize| format!("{number}{}", "x".repeat(VALUE_BYTES_MAX - 10));
        let long = |number: usize| format!("{number}{}", "x".repeat(100_000));
        for (answer, last) in [
            (rows_of((0..900).map(value)), rows_of((0..899).map(value).chain([value(7)]))),
            (rows_of((0..2_000).map(long)), rows_of((0..1_999).map(long).chain([long(7)]))),
        ] {
            let stored: usize = answer.rows.iter().flatten().map(String::len).sum();
            assert!((1..=BYTES_KEPT).contains(&stored) && (answer.rows.len() as u64) < answer.count);
            let same = answer::difference(&answer.known(false), &answer.known(false), Tolerance::Engines);
            assert_eq!(same, None);
            let differs = answer::difference(&answer.known(false), &last.known(false), Tolerance::Engines);
            assert!(differs.unwrap().ends_with("rows differ"));
        }
        let mut wide = Answer::default();
        let values: Vec<String> = (0..1_000).map(value).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        for _ in 0..3 {
            wide.row(Row::from(&Texts(&values) as &dyn Fields), false);
        }
        assert_eq!((wide.rows.len(), wide.count, wide.known(false).digest.is_some()), (0, 3, true));
    }

    #[test]
    fn the_first_answer_is_kept_and_others_to_its_text_are_counted() {
        let answer = |value: &str| {
            let mut answer = Answer::default();
            answer.row(Row::from(&Texts(&[value]) as &dyn Fields), false);
            answer
        };
        let answers = Answers::default();
        for (sql, value) in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")] {
            let parameters = vec![value.to_owned()];
            let query = Query { parameters, ..Query::one(0, sql.to_owned(), QueryKind::Read) };
            answers.keep(&query, answer(value));
        }
        let kept = answers.take(&["Q".to_owned()]);
        let [only] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((only.sql.as_str(), only.rows[0][0].as_str(), only.changed), ("a", "1", 1));
        assert_eq!(only.count, 1);
        assert_eq!(only.parameters.as_deref(), Some(&["1".to_owned()][..]));
        assert!(answers.take(&["Q".to_owned()]).is_empty());
    }

    #[test]
    fn what_the_text_leaves_open_is_no_other_answer() {
        let kept_of = |answers: Answers, sql: &str, values: [&str; 2]| {
            for value in values {
                let query = Query::one(0, sql.to_owned(), QueryKind::Read);
                answers.keep(&query, rows_of([value.to_owned()].into_iter()));
            }
            let kept = answers.take(&["Q".to_owned()]);
            (kept[0].changed, kept[0].varies.clone())
        };
        let kept = |sql: &str, values| kept_of(Answers::default(), sql, values);
        let why = "its LIMIT has no ORDER BY".to_owned();
        assert_eq!(kept("SELECT a FROM t LIMIT 1", ["1", "2"]), (0, Some(why)));
        assert_eq!(kept("SELECT a FROM t LIMIT 1", ["1", "1"]), (0, None));
        assert_eq!(kept("SELECT a FROM t ORDER BY a LIMIT 1", ["1", "2"]), (1, None));
        let by_key = "SELECT a FROM t ORDER BY id LIMIT 1";
        assert!(kept(by_key, ["1", "2"]).1.is_some());
        let without_ties = Answers::default();
        without_ties.set_without_ties([0].into());
        assert_eq!(kept_of(without_ties, by_key, ["1", "2"]), (1, None));
    }

    #[test]
    fn a_value_is_kept_by_the_kind_of_its_column() {
        let mut answer = Answer::default();
        answer.begin(3);
        [Kind::Text, Kind::Padded, Kind::Binary].into_iter().for_each(|kind| answer.kind(kind));
        answer.row(Row::from(&Texts(&["NULL", "a  ", "a"]) as &dyn Fields), false);
        assert_eq!(answer.rows, [["'NULL'", "a", "\\x61"]]);
        // Told anew.
        [Kind::Text, Kind::Padded, Kind::Json].into_iter().for_each(|kind| answer.kind(kind));
        assert_eq!(answer.kinds, [Kind::Text, Kind::Padded, Kind::Json]);
    }
}
