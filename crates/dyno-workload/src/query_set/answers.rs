//! What a query returned, as far as it is kept.

use dyno_engine::workload::{Field, Row};
use dyno_results::answer::{Digester, Kind};
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

    /// Counts a row, and keeps it.
    pub(super) fn row(&mut self, row: Row<'_>) {
        self.count += 1;
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

    /// As it is stored with the run. Nothing is said of whether it is right.
    pub(super) fn told(self, name: String, query: &Query) -> QueryAnswer {
        let Self { kinds, rows, count, digester, .. } = self;
        let digest = digester.unwrap_or_else(|| Digester::begin(&rows, &kinds)).digest().clone();
        QueryAnswer {
            query: name,
            sql: query.text(),
            parameters: Some(query.parameters.clone()),
            kinds,
            rows,
            count,
            digest: format!("{:016x}", digest.hash),
            digest_form: digest.form,
            columns: Some(digest.columns),
            late_decimals: Some(digest.late_decimals),
            plain: digest.plain,
            ..QueryAnswer::default()
        }
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

#[cfg(test)]
mod tests {
    use dyno_engine::request::QueryKind;
    use dyno_engine::workload::Fields;
    use dyno_results::answer::{self, Tolerance, VALUE_BYTES_MAX};

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
            (0..=ROWS_KEPT).for_each(|_| answer.row(Row::from(&Texts(row) as &dyn Fields)));
            let all = Digester::begin(&vec![answer.rows[0].clone(); ROWS_KEPT + 1], &[]);
            assert_eq!(answer.digester.as_ref().map(Digester::digest), Some(all.digest()), "{row:?}");
        }
    }

    fn told(answer: Answer) -> QueryAnswer {
        answer.told("Q".to_owned(), &Query::one(0, "a".to_owned(), QueryKind::Read))
    }

    /// Of so many rows with one value.
    fn rows_of(values: impl Iterator<Item = String>) -> Answer {
        let mut answer = Answer::default();
        values.for_each(|value| answer.row(Row::from(&Texts(&[&value]) as &dyn Fields)));
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
            let [answer, last] = [answer, last].map(told);
            let same = answer::difference(&answer.rows(), &answer.rows(), Tolerance::Engines);
            assert_eq!(same, None);
            let differs = answer::difference(&answer.rows(), &last.rows(), Tolerance::Engines);
            assert!(differs.unwrap().ends_with("rows differ"));
        }
        let mut wide = Answer::default();
        let values: Vec<String> = (0..1_000).map(value).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        for _ in 0..3 {
            wide.row(Row::from(&Texts(&values) as &dyn Fields));
        }
        assert_eq!((wide.rows.len(), wide.count, wide.digester.is_some()), (0, 3, true));
    }

    #[test]
    fn a_value_is_kept_by_the_kind_of_its_column() {
        let mut answer = Answer::default();
        answer.begin(3);
        [Kind::Text, Kind::Padded, Kind::Binary].into_iter().for_each(|kind| answer.kind(kind));
        answer.row(Row::from(&Texts(&["NULL", "a  ", "a"]) as &dyn Fields));
        assert_eq!(answer.rows, [["'NULL'", "a", "\\x61"]]);
        // Told anew.
        [Kind::Text, Kind::Padded, Kind::Json].into_iter().for_each(|kind| answer.kind(kind));
        assert_eq!(answer.kinds, [Kind::Text, Kind::Padded, Kind::Json]);
    }
}
