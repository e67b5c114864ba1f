//! What queries returned: the first answers of a load, and how often later ones to the same text were others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dyno_engine::workload::Row;
use dyno_results::answer::{self, Tolerance};
use dyno_results::event::QueryAnswer;

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

    /// Counts a row, and keeps it unless it could as well be another.
    pub(super) fn row(&mut self, row: Row<'_>, is_any: bool) {
        if is_any {
            self.count += 1;
            return;
        }
        let mut values = Vec::with_capacity(self.columns);
        row.for_each(|field| values.push(answer::normal(&field.to_string())));
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
    answer: Answer,
    /// Further answers to the same text that were others.
    changed: u64,
}

impl Answers {
    /// Keeps the first answer to a query, and compares further ones to the same text with it.
    pub(super) fn keep(&self, place: u16, sql: &str, found: Answer) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get_mut(&place) {
            None => {
                kept.insert(place, Kept { sql: sql.to_owned(), answer: found, changed: 0 });
            }
            Some(first) if first.sql == sql => {
                let first_rows = (&first.answer.rows[..], first.answer.count);
                first.changed += u64::from(
                    answer::difference(first_rows, (&found.rows, found.count), Tolerance::ROUNDING).is_some(),
                );
            }
            Some(_) => {}
        }
    }

    /// As they are stored with the run, and forgotten. Nothing is said of whether they are right.
    pub(super) fn take(&self, names: &[String]) -> Vec<QueryAnswer> {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let stored = |(place, kept): (u16, Kept)| {
            let Kept { sql, answer: Answer { rows, count, digest, .. }, changed } = kept;
            Some(QueryAnswer {
                query: names.get(usize::from(place))?.clone(),
                sql,
                rows,
                count,
                digest: format!("{digest:016x}"),
                changed,
                validated: None,
                recorded: false,
                wrong: None,
            })
        };
        kept.into_iter().filter_map(stored).collect()
    }
}

fn hash(values: &[String]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.bytes().chain([0]));
    bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_of_the_rows_in_any_order() {
        let digest = |rows: [[&str; 2]; 2]| {
            let hashes = rows.map(|row| hash(&row.map(answer::normal)));
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
            answers.keep(0, sql, answer(value));
        }
        let kept = answers.take(&["Q".to_owned()]);
        let [only] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((only.sql.as_str(), only.rows[0][0].as_str(), only.changed), ("a", "1", 1));
        assert!(answers.take(&["Q".to_owned()]).is_empty());
    }
}
