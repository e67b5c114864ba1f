//! What the queries returned, and whether that is what the specification says (its answers at scale 1, clause 2.3).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dyno_engine::workload::Row;
use dyno_results::answer::{self, Tolerance};
use dyno_results::event::QueryAnswer;
use tpchgen::q_and_a::answers_sf1;

use super::queries;

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
        row.for_each(|field| values.push(answer::normal(&field.to_string())));
        self.digest = self.digest.wrapping_add(hash(&values));
        self.count += 1;
        if self.rows.len() < ROWS_KEPT {
            self.rows.push(values);
        }
    }
}

/// The first answers of a load to each of its queries.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<BTreeMap<u8, Kept>>);

#[derive(Debug)]
struct Kept {
    sql: String,
    answer: Answer,
    /// Further answers to the same text that were others.
    changed: u64,
}

impl Answers {
    /// Keeps the first answer to a query, and compares further ones to the same text with it.
    pub(super) fn keep(&self, query: &queries::Query, found: &mut Answer) {
        let found = std::mem::take(found);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get_mut(&query.number) {
            None => {
                kept.insert(query.number, Kept { sql: query.sql.clone(), answer: found, changed: 0 });
            }
            Some(first) if first.sql == query.sql => {
                let first_rows = (&first.answer.rows[..], first.answer.count);
                first.changed += u64::from(
                    answer::difference(first_rows, (&found.rows, found.count), Tolerance::ROUNDING).is_some(),
                );
            }
            Some(_) => {}
        }
    }

    /// As they are stored with the run, and forgotten.
    pub(super) fn take(&self, at_scale_1: bool) -> Vec<QueryAnswer> {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let stored = |(number, kept): (u8, Kept)| {
            let wrong = if at_scale_1 { wrong(number, &kept.answer) } else { None };
            let Kept { sql, answer: Answer { rows, count, digest, .. }, changed } = kept;
            let validated = at_scale_1.then_some(wrong.is_none());
            let digest = format!("{digest:016x}");
            QueryAnswer { query: queries::name(number), sql, rows, count, digest, changed, validated, wrong }
        };
        kept.into_iter().map(stored).collect()
    }
}

fn hash(values: &[String]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.bytes().chain([0]));
    bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// In what an answer at scale 1 is not that of the specification.
fn wrong(number: u8, found: &Answer) -> Option<String> {
    let expected = of_specification(number);
    let mut rows = found.rows.clone();
    if number == 11 {
        // The generator's copy of the answer has lost the last two digits of the keys.
        for key in rows.iter_mut().filter_map(|row| row.first_mut()) {
            key.truncate(key.len().saturating_sub(2));
        }
    }
    answer::difference((&expected, expected.len() as u64), (&rows, found.count), Tolerance::TPCH)
}

/// The rows that a query returns at scale 1 with the values of the validation.
fn of_specification(number: u8) -> Vec<Vec<String>> {
    let text = answers_sf1::answer(number.into()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).skip(1);
    lines.map(|line| line.split('|').map(answer::normal).collect()).collect()
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
    fn the_specification_has_answers_to_all() {
        let counts: Vec<usize> = (1..=22).map(|number| of_specification(number).len()).collect();
        assert_eq!(
            counts,
            [4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18_314, 1, 57, 1, 186, 100, 7]
        );
    }
}
