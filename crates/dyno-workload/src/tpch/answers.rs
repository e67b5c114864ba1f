//! Whether answers at scale 1 are what the specification says (clause 2.3).

use dyno_results::answer::{self, Digester, Rows, Tolerance};
use dyno_results::event::QueryAnswer;
use tpchgen::q_and_a::answers_sf1;

use super::{QUERIES, queries};

/// Says of an answer at scale 1 whether it is that of the specification.
pub(super) fn validate(answer: &mut QueryAnswer) {
    let number = (1..=QUERIES as u8).find(|number| queries::name(*number) == answer.query);
    answer.wrong = number.and_then(|number| wrong(number, answer));
    answer.validated = number.map(|_| answer.wrong.is_none());
}

/// In what an answer at scale 1 is not that of the specification.
fn wrong(number: u8, found: &QueryAnswer) -> Option<String> {
    let expected = of_specification(number);
    let digest = Some(Digester::begin(&expected, &found.kinds).digest().clone());
    let expected =
        Rows { first: &expected, kinds: &[], count: expected.len() as u64, digest, no_ties: false };
    if number != 11 {
        return answer::difference(&expected, &found.rows(), Tolerance::TPCH);
    }
    // The generator's copy of the answer has lost the last two digits of the keys.
    let mut rows = found.rows.clone();
    for key in rows.iter_mut().filter_map(|row| row.first_mut()) {
        let kept = key.char_indices().nth_back(1).map_or(0, |(at, _)| at);
        key.truncate(kept);
    }
    let found = Rows { first: &rows, kinds: &[], count: found.count, digest: None, no_ties: false };
    answer::difference(&expected, &found, Tolerance::TPCH)
}

/// The rows that a query returns at scale 1 with the values of the validation.
fn of_specification(number: u8) -> Vec<Vec<String>> {
    let text = answers_sf1::answer(number.into()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).skip(1);
    lines.map(|line| line.split('|').map(|value| answer::normal(value).to_owned()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_has_answers_to_all() {
        let counts: Vec<usize> = (1..=22).map(|number| of_specification(number).len()).collect();
        assert_eq!(
            counts,
            [4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18_314, 1, 57, 1, 186, 100, 7]
        );
    }
}
