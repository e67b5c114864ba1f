//! What came of a stream's queries, of those that it makes passes over: the first answer to each and how often later ones to the same
//! text were others, and which failed.

use dyno_results::answer::{self, Compared};
use dyno_results::event::QueryAnswer;
use dyno_results::observation::FailedQuery;

#[derive(Debug, Default)]
pub(super) struct Queried {
    /// Of these queries no two rows tie in the order of their LIMIT.
    pub(super) without_ties: Vec<String>,
    /// Nothing is said of whether they are as recorded.
    answers: Vec<QueryAnswer>,
    /// Their names.
    pub(super) failed: Vec<String>,
}

impl Queried {
    /// Keeps the first answer to a query, and compares further ones to the same text with it.
    pub(super) fn answered(&mut self, mut found: QueryAnswer) {
        found.no_ties = self.without_ties.contains(&found.query);
        match self.answers.iter_mut().find(|first| first.query == found.query) {
            None => self.answers.push(found),
            Some(first) if first.sql == found.sql => match answer::compare_stored(first, &found) {
                Compared::Alike => {}
                Compared::Varies(why) => first.varies = Some(why),
                Compared::Other(_) => first.changed += 1,
            },
            Some(_) => {}
        }
    }

    /// Whether a failure is the first of its query.
    pub(super) fn failed_first(&mut self, FailedQuery { query, .. }: &FailedQuery) -> bool {
        let is_first = !self.failed.contains(query);
        if is_first {
            self.failed.push(query.clone());
        }
        is_first
    }

    /// The first answers, by the places of the queries.
    pub(super) fn take_answers(&mut self, names: &[String]) -> Vec<QueryAnswer> {
        let mut answers = std::mem::take(&mut self.answers);
        answers.sort_by_key(|answer| names.iter().position(|name| *name == answer.query));
        answers
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::answer::Digester;

    use super::*;

    /// With one value.
    fn answer(query: &str, sql: &str, value: &str) -> QueryAnswer {
        let rows = vec![vec![value.to_owned()]];
        let digest = Digester::begin(&rows, &[]).digest().clone();
        QueryAnswer {
            query: query.to_owned(),
            sql: sql.to_owned(),
            rows,
            count: 1,
            digest: format!("{:016x}", digest.hash),
            digest_form: digest.form,
            columns: Some(digest.columns),
            late_decimals: Some(digest.late_decimals),
            plain: digest.plain,
            ..QueryAnswer::default()
        }
    }

    #[test]
    fn the_first_answer_is_kept_and_others_to_its_text_are_counted() {
        let mut queried = Queried::default();
        for (query, sql, value) in
            [("R", "c", "4"), ("Q", "a", "1"), ("Q", "a", "1"), ("Q", "a", "2"), ("Q", "b", "3")]
        {
            queried.answered(answer(query, sql, value));
        }
        let names = ["Q", "R"].map(str::to_owned);
        let kept = queried.take_answers(&names);
        let told: Vec<_> =
            kept.iter().map(|it| (it.sql.as_str(), it.rows[0][0].as_str(), it.changed)).collect();
        assert_eq!(told, [("a", "1", 1), ("c", "4", 0)]);
        assert!(queried.take_answers(&names).is_empty());
    }

    #[test]
    fn what_the_text_leaves_open_is_no_other_answer() {
        let kept_of = |mut queried: Queried, sql: &str, values: [&str; 2]| {
            values.iter().for_each(|value| queried.answered(answer("Q", sql, value)));
            let kept = queried.take_answers(&[]);
            (kept[0].changed, kept[0].varies.clone())
        };
        let kept = |sql: &str, values| kept_of(Queried::default(), sql, values);
        let why = "its LIMIT has no ORDER BY".to_owned();
        assert_eq!(kept("SELECT a FROM t LIMIT 1", ["1", "2"]), (0, Some(why)));
        assert_eq!(kept("SELECT a FROM t LIMIT 1", ["1", "1"]), (0, None));
        assert_eq!(kept("SELECT a FROM t ORDER BY a LIMIT 1", ["1", "2"]), (1, None));
        let by_key = "SELECT a FROM t ORDER BY id LIMIT 1";
        assert!(kept(by_key, ["1", "2"]).1.is_some());
        let queried = Queried { without_ties: vec!["Q".to_owned()], ..Queried::default() };
        assert_eq!(kept_of(queried, by_key, ["1", "2"]), (1, None));
    }

    #[test]
    fn each_query_fails_once_for_the_reader() {
        let mut queried = Queried::default();
        let mut fails = |query: &str| {
            let (query, said) = (query.to_owned(), "no such table".to_owned());
            queried.failed_first(&FailedQuery { query, said, over_limit: false })
        };
        assert_eq!(["b", "b", "a", "b"].map(&mut fails), [true, false, true, false]);
        assert_eq!(queried.failed, ["b", "a"]);
    }
}
