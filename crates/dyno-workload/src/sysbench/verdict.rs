//! The invariants of the ten tests, decided from what was counted before and after. Pure.

use dyno_results::format::grouped;

use super::census::{Census, IndexCensus};
use super::options::Options;
use super::schema::{index_name, table_name};
use super::test::Test;
use crate::benchmark::Done;
use crate::dataset::{Verdict, range};

/// A table before and after a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub table: u32,
    pub before: Census,
    pub after: Census,
    /// `None` where the index is not there, or the server would not count by it.
    pub index: Option<IndexCensus>,
}

/// Every check that applies to `test`.
pub(super) fn judge(tables: &[Found], test: Test, options: &Options, done: Done) -> Vec<Verdict> {
    let change = Change { tables, test, options, done };
    let mut verdicts = Vec::new();
    if options.create_secondary {
        verdicts.push(change.index());
    }
    verdicts.push(change.ids());
    let more = change.rows_after() - change.rows_before();
    match test {
        Test::PointSelect | Test::ReadOnly | Test::SelectRandomPoints | Test::SelectRandomRanges => {
            verdicts.push(change.nothing());
        }
        Test::Insert => verdicts.push(change.durable("every-insert-is-there", "inserts", more)),
        Test::Delete => verdicts.push(change.durable("every-delete-is-done", "deletes", -more)),
        // Each update adds one to a `k`.
        Test::UpdateIndex => {
            let updates = change.sum(|found| found.after.k - found.before.k);
            let durable = change.durable("every-update-is-there", "updates", updates);
            verdicts.extend([change.row_count(), durable]);
        }
        Test::UpdateNonIndex => verdicts.extend([change.row_count(), change.k_unchanged()]),
        Test::ReadWrite | Test::WriteOnly => verdicts.push(change.row_count()),
    }
    verdicts
}

/// What a load changed.
struct Change<'a> {
    tables: &'a [Found],
    test: Test,
    options: &'a Options,
    done: Done,
}

impl Change<'_> {
    fn sum(&self, value: impl Fn(&Found) -> i128) -> i128 {
        self.tables.iter().map(value).sum()
    }

    fn rows_before(&self) -> i128 {
        self.sum(|found| i128::from(found.before.rows))
    }

    fn rows_after(&self) -> i128 {
        self.sum(|found| i128::from(found.after.rows))
    }

    /// Every row is in the index, with the value that the table has.
    fn index(&self) -> Verdict {
        let (mut wrong, mut unread) = (Vec::new(), Vec::new());
        for found in self.tables {
            let (table, index) = (table_name(found.table), index_name(found.table));
            match found.index {
                None => unread.push(index),
                Some(by_index) if by_index.rows != found.after.rows => wrong.push(format!(
                    "{table} has {} rows and {index} has {}",
                    grouped(found.after.rows),
                    grouped(by_index.rows)
                )),
                Some(by_index) if by_index.k != found.after.k => wrong.push(format!(
                    "the values of k sum up to {} in {table} and to {} in {index}",
                    grouped(found.after.k),
                    grouped(by_index.k)
                )),
                Some(_) => {}
            }
        }
        let name = "index-agrees-with-table";
        if let (true, Some(first)) = (wrong.is_empty(), unread.first()) {
            let why = format!("the server does not count by {first}, so it was compared with nothing");
            return Verdict::undecided(name, why);
        }
        let good = format!("each index holds all rows of its table ({} rows)", grouped(self.rows_after()));
        listed(name, &wrong, good)
    }

    /// Ids lie where the test may put them.
    fn ids(&self) -> Verdict {
        let wrong: Vec<String> = self.tables.iter().filter_map(|found| self.strange_ids(found)).collect();
        listed("ids-in-range", &wrong, "every id is one that was there or that the test may give".to_owned())
    }

    fn strange_ids(&self, found: &Found) -> Option<String> {
        let (before, after, table) = (found.before, found.after, table_name(found.table));
        let inserts = self.test == Test::Insert;
        let outside = |census: Census| census.rows - census.inside;
        let size = i64::try_from(self.options.table_size).unwrap_or(i64::MAX);
        if !inserts && outside(after) != outside(before) {
            return Some(format!(
                "{table} has {} rows with ids beyond 1 to {}, and had {}",
                grouped(outside(after)),
                grouped(size),
                grouped(outside(before))
            ));
        }
        if inserts && self.options.auto_inc && after.inside > before.inside && before.last >= size {
            return Some(format!(
                "{table} has new rows with ids from 1 to {}, which were given before",
                grouped(size)
            ));
        }
        (after.inside > self.options.table_size && !self.options.secondary).then(|| {
            format!("{table} has {} rows with ids from 1 to {}", grouped(after.inside), grouped(size))
        })
    }

    /// The load only read.
    fn nothing(&self) -> Verdict {
        let differs = |found: &Found| found.before != found.after;
        let show = |of: fn(&Found) -> Census| {
            let (rows, k) = (self.sum(|found| of(found).rows.into()), self.sum(|found| of(found).k));
            format!("{} rows, sum of k {}", grouped(rows), grouped(k))
        };
        let changed = self.tables.iter().find(|found| differs(found));
        let detail = match changed {
            None => "reading changed no row, no id and no sum".to_owned(),
            Some(found) => format!("{} changed under a load that only reads", table_name(found.table)),
        };
        let (expected, found) = (show(|found| found.before), show(|found| found.after));
        Verdict::new("nothing-changed", changed.is_none(), expected, found, detail)
    }

    fn durable(&self, name: &'static str, changes: &str, found: i128) -> Verdict {
        let Done { writes, unknown, .. } = self.done;
        let verdict = Verdict::durable(name, changes, writes, unknown, found);
        let most = i128::from(writes) + i128::from(unknown);
        if found > most && self.options.secondary && self.test != Test::Insert {
            let why = "ids are not unique without a primary key, and one may have met several rows";
            return Verdict::undecided(name, format!("{}: {why}", verdict.detail));
        }
        verdict
    }

    fn k_unchanged(&self) -> Verdict {
        let (before, after) = (self.sum(|found| found.before.k), self.sum(|found| found.after.k));
        let (expected, found) = (grouped(before), grouped(after));
        let detail = match before == after {
            true => "no value of k changed under updates of c".to_owned(),
            false => format!(
                "the values of k summed up to {expected} and now to {found}, under updates of c alone"
            ),
        };
        Verdict::new("k-unchanged", before == after, expected, found, detail)
    }

    /// What is deleted is put back in the same transaction, so that only rows that were missing before can be added.
    fn row_count(&self) -> Verdict {
        let name = "row-count-unchanged";
        let swaps = matches!(self.test, Test::ReadWrite | Test::WriteOnly) && self.options.delete_inserts > 0;
        if swaps && self.options.secondary {
            let why = "ids are not unique without a primary key: two clients may put the same row back twice";
            return Verdict::undecided(name, why.to_owned());
        }
        let mut wrong = Vec::new();
        let (mut low_sum, mut high_sum) = (0, 0);
        for found in self.tables {
            let (before, after) = (i128::from(found.before.rows), i128::from(found.after.rows));
            let missing = i128::from(self.options.table_size.saturating_sub(found.before.inside));
            let (low, high) = match (swaps, self.options.skip_trx) {
                (false, _) => (before, before),
                (true, false) => (before, before + missing),
                // Without transactions an event may end between the two.
                (true, true) => (before - self.cut_short(), before + missing),
            };
            low_sum += low;
            high_sum += high;
            if !(low..=high).contains(&after) {
                let change = if after < low { low - after } else { after - high };
                let direction = if after < low { "too few" } else { "too many" };
                wrong.push(format!(
                    "{} had {} rows and has {}: {} {direction}",
                    table_name(found.table),
                    grouped(before),
                    grouped(after),
                    grouped(change)
                ));
            }
        }
        let rows = grouped(self.rows_after());
        let good = match self.rows_after() == self.rows_before() {
            true => format!("{rows} rows, as before"),
            false => format!("{rows} rows; there were {}, with some missing", grouped(self.rows_before())),
        };
        let passed = wrong.is_empty();
        let detail = if passed { good } else { wrong.join("; ") };
        Verdict::new(name, passed, range(low_sum, high_sum), rows, detail)
    }

    /// Events that may have deleted a row and not put it back.
    fn cut_short(&self) -> i128 {
        i128::from(self.done.unknown) + i128::from(self.done.failed) + i128::from(self.done.retries)
    }
}

fn listed(name: &'static str, wrong: &[String], good: String) -> Verdict {
    let detail = match wrong {
        [] => good,
        [first] => first.clone(),
        [first, others @ ..] => format!("{first}, and {} more tables are wrong", others.len()),
    };
    let found = format!("{} wrong", wrong.len());
    Verdict::new(name, wrong.is_empty(), "0 wrong".to_owned(), found, detail)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// A table of 100 rows, whole and with its index.
    fn whole() -> Found {
        let census = Census { rows: 100, inside: 100, first: 1, last: 100, k: 5_000 };
        Found { table: 1, before: census, after: census, index: Some(IndexCensus { rows: 100, k: 5_000 }) }
    }

    /// The same after so many rows and so much of `k` were added.
    fn changed(rows: i64, inside: i64, k: i128) -> Found {
        let mut found = whole();
        found.after.rows = (100 + rows) as u64;
        found.after.inside = (100 + inside) as u64;
        found.after.last += rows.max(0);
        found.after.k += k;
        found.index = Some(IndexCensus { rows: found.after.rows, k: found.after.k });
        found
    }

    fn options() -> Options {
        Options { table_size: 100, ..Options::default() }
    }

    /// Names of the checks that failed.
    fn failed(found: Found, test: Test, options: &Options, done: Done) -> Vec<Cow<'static, str>> {
        let verdicts = judge(&[found], test, options, done);
        verdicts
            .into_iter()
            .filter(|verdict| verdict.passed == Some(false))
            .map(|verdict| verdict.name)
            .collect()
    }

    fn writes(writes: u64) -> Done {
        Done { writes, ..Done::default() }
    }

    #[test]
    fn what_did_as_done_passes() {
        let options = options();
        for test in Test::ALL {
            assert!(failed(whole(), test, &options, Done::default()).is_empty(), "{}", test.name());
        }
        assert!(failed(changed(7, 0, 350), Test::Insert, &options, writes(7)).is_empty());
        assert!(failed(changed(-7, -7, -350), Test::Delete, &options, writes(7)).is_empty());
        assert!(failed(changed(0, 0, 7), Test::UpdateIndex, &options, writes(7)).is_empty());
        assert!(failed(changed(0, 0, -99), Test::ReadWrite, &options, writes(40)).is_empty());
        let unknown = Done { unknown: 1, ..writes(6) };
        for rows in [6, 7] {
            assert!(failed(changed(rows, 0, 0), Test::Insert, &options, unknown).is_empty());
        }
    }

    #[test]
    fn planted_damage_is_found() {
        let options = options();
        assert_eq!(failed(changed(0, 0, 1), Test::PointSelect, &options, writes(0)), ["nothing-changed"]);
        assert_eq!(failed(changed(6, 0, 0), Test::Insert, &options, writes(7)), ["every-insert-is-there"]);
        assert_eq!(failed(changed(8, 0, 0), Test::Insert, &options, writes(7)), ["every-insert-is-there"]);
        assert_eq!(failed(changed(-6, -6, 0), Test::Delete, &options, writes(7)), ["every-delete-is-done"]);
        assert_eq!(
            failed(changed(0, 0, 6), Test::UpdateIndex, &options, writes(7)),
            ["every-update-is-there"]
        );
        let twins = Options { secondary: true, ..options.clone() };
        assert!(failed(changed(-8, -8, 0), Test::Delete, &twins, writes(7)).is_empty());
        assert_eq!(failed(changed(-6, -6, 0), Test::Delete, &twins, writes(7)), ["every-delete-is-done"]);
        assert_eq!(failed(changed(0, 0, 1), Test::UpdateNonIndex, &options, writes(7)), ["k-unchanged"]);
        assert_eq!(failed(changed(-1, -1, 0), Test::WriteOnly, &options, writes(8)), ["row-count-unchanged"]);
        let beyond = ["ids-in-range", "row-count-unchanged"];
        assert_eq!(failed(changed(1, 0, 0), Test::ReadWrite, &options, writes(8)), beyond);
        let mut torn = whole();
        torn.index = Some(IndexCensus { rows: 99, k: 5_000 });
        assert_eq!(failed(torn, Test::ReadWrite, &options, writes(8)), ["index-agrees-with-table"]);
        torn.index = Some(IndexCensus { rows: 100, k: 5_001 });
        assert_eq!(failed(torn, Test::ReadWrite, &options, writes(8)), ["index-agrees-with-table"]);
        // A number given twice by the server's counter.
        let mut again = changed(1, 1, 0);
        again.before.inside = 99;
        again.before.rows = 99;
        again.after = Census { rows: 100, inside: 100, ..again.after };
        again.index = Some(IndexCensus { rows: 100, k: again.after.k });
        assert_eq!(failed(again, Test::Insert, &options, writes(1)), ["ids-in-range"]);
    }

    #[test]
    fn rows_that_were_missing_may_come_back() {
        let mut found = changed(5, 5, 0);
        found.before = Census { rows: 90, inside: 90, ..found.before };
        found.after = Census { rows: 95, inside: 95, ..found.after };
        found.index = Some(IndexCensus { rows: 95, k: found.after.k });
        assert!(failed(found, Test::ReadWrite, &options(), writes(8)).is_empty());
        found.after.rows = 89;
        found.after.inside = 89;
        found.index = None;
        assert_eq!(failed(found, Test::ReadWrite, &options(), writes(8)), ["row-count-unchanged"]);
    }

    #[test]
    fn without_transactions_an_event_may_end_in_the_middle() {
        let options = Options { skip_trx: true, ..options() };
        let done = Done { failed: 1, retries: 1, unknown: 1, ..writes(50) };
        assert!(failed(changed(-3, -3, 0), Test::WriteOnly, &options, done).is_empty());
        assert_eq!(failed(changed(-4, -4, 0), Test::WriteOnly, &options, done), ["row-count-unchanged"]);
    }

    #[test]
    fn what_cannot_be_decided_is_said() {
        let undecided = |found, options: &Options| {
            let verdicts = judge(&[found], Test::ReadWrite, options, Done::default());
            verdicts
                .into_iter()
                .filter(|verdict| verdict.passed.is_none())
                .map(|verdict| verdict.name)
                .collect::<Vec<_>>()
        };
        let unread = Found { index: None, ..whole() };
        assert_eq!(undecided(unread, &options()), ["index-agrees-with-table"]);
        let secondary = Options { secondary: true, ..options() };
        assert_eq!(undecided(whole(), &secondary), ["row-count-unchanged"]);
        let none = Options { create_secondary: false, ..options() };
        assert_eq!(undecided(unread, &none), [""; 0]);
    }
}
