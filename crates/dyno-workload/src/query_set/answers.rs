//! What queries returned: the first answers of a load, and how often later ones to the same text were others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dyno_engine::workload::Row;
use dyno_results::answer::{self, Tolerance};
use dyno_results::event::QueryAnswer;

use super::Query;

/// Rows of an answer that are kept.
const ROWS_KEPT: usize = 1_000;
/// Of the digest (FNV-1a, 64 bits).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The answer to a query that is under way.
#[derive(Debug, Default)]
pub(super) struct Answer {
    columns: usize,
    /// At most [`ROWS_KEPT`].
    rows: Vec<Vec<String>>,
    count: u64,
    /// Of all rows, whatever their order.
    digest: u64,
}

impl Answer {
    pub(super) fn begin(&mut self, columns: usize) {
        *self = Self { columns, ..Self::default() };
    }

    pub(super) fn row(&mut self, row: Row<'_>) {
        let mut values = Vec::with_capacity(self.columns);
        row.for_each(|field| values.push(answer::normal(&field.to_string()).to_owned()));
        self.digest = self.digest.wrapping_add(hash(&values));
        self.count += 1;
        if self.rows.len() < ROWS_KEPT {
            self.rows.push(values);
        }
    }
}

/// The first answers of a load to each of its queries, by their places in the set.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<BTreeMap<u16, Kept>>);

#[derive(Debug)]
struct Kept {
    sql: String,
    parameters: Vec<String>,
    answer: Answer,
    /// Further answers to the same text that were others.
    changed: u64,
}

impl Answers {
    /// Keeps the first answer to a query, and compares further ones to the same text with it.
    pub(super) fn keep(&self, query: &Query, found: Answer) {
        let Query { place, sql, parameters, .. } = query;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get_mut(place) {
            None => {
                let (sql, parameters) = (sql.clone(), parameters.clone());
                kept.insert(*place, Kept { sql, parameters, answer: found, changed: 0 });
            }
            Some(first) if first.sql == *sql => {
                let first_rows = (&first.answer.rows[..], first.answer.count);
                first.changed += u64::from(
                    answer::difference(first_rows, (&found.rows, found.count), Tolerance::Engines).is_some(),
                );
            }
            Some(_) => {}
        }
    }

    /// As they are stored with the run, and forgotten. Nothing is said of whether they are right.
    pub(super) fn take(&self, names: &[String]) -> Vec<QueryAnswer> {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let stored = |(place, kept): (u16, Kept)| {
            let Kept { sql, parameters, answer: Answer { rows, count, digest, .. }, changed } = kept;
            Some(QueryAnswer {
                query: names.get(usize::from(place))?.clone(),
                sql,
                parameters: Some(parameters),
                rows,
                as_printed: true,
                count,
                digest: format!("{digest:016x}"),
                changed,
                ..QueryAnswer::default()
            })
        };
        kept.into_iter().filter_map(stored).collect()
    }
}

fn hash(values: &[String]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    values.iter().fold(FNV_OFFSET, |hash, value| answer::rounded(value).bytes().chain([0]).fold(hash, step))
}

#[cfg(test)]
mod tests {
    use dyno_engine::request::QueryKind;

    use super::*;

    #[test]
    fn a_digest_is_of_the_rows_in_any_order() {
        let digest = |rows: [[&str; 2]; 2]| {
            let hashes = rows.map(|row| hash(&row.map(str::to_owned)));
            hashes[0].wrapping_add(hashes[1])
        };
        assert_eq!(digest([["A", "1.50"], ["B", "2"]]), digest([["B", "2"], ["A", "1.5"]]));
        assert_ne!(digest([["A", "1.50"], ["B", "2"]]), digest([["A", "2"], ["B", "1.5"]]));
    }

    #[test]
    fn the_first_answer_is_kept_and_others_to_its_text_are_counted() {
        let answer = |value: &str| Answer {
            columns: 1,
            rows: vec![vec![value.to_owned()]],
            count: 1,
            ..Answer::default()
        };
        let answers = Answers::default();
        for (sql, value) in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")] {
            let (sql, parameters) = (sql.to_owned(), vec![value.to_owned()]);
            let query = Query { place: 0, sql, parameters, kind: QueryKind::Read };
            answers.keep(&query, answer(value));
        }
        let kept = answers.take(&["Q".to_owned()]);
        let [only] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((only.sql.as_str(), only.rows[0][0].as_str(), only.changed), ("a", "1", 1));
        assert_eq!(only.parameters.as_deref(), Some(&["1".to_owned()][..]));
        assert!(answers.take(&["Q".to_owned()]).is_empty());
    }
}
