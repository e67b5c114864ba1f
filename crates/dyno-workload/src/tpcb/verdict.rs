//! The invariants of `tpcb`, decided from two snapshots and the count of commits. Pure.

use std::collections::BTreeMap;

use super::Script;
use super::verify::Baseline;
use crate::benchmark::Done;
use crate::dataset::Verdict;
use dyno_results::format::grouped;

/// Every check that applies to `script`.
pub(crate) fn judge(before: &Baseline, after: &Baseline, script: Script, done: Done) -> Vec<Verdict> {
    let change = Change { before, after };
    match script {
        Script::TpcbLike => vec![change.history(done), change.four_sums(), change.each_row(), change.rows()],
        Script::SimpleUpdate => {
            vec![change.history(done), change.two_sums(), change.bystanders(), change.rows()]
        }
        Script::SelectOnly => vec![change.nothing()],
    }
}

/// What a load changed.
struct Change<'a> {
    before: &'a Baseline,
    after: &'a Baseline,
}

impl Change<'_> {
    fn history(&self, done: Done) -> Verdict {
        let found = i128::from(self.after.history.rows) - i128::from(self.before.history.rows);
        Verdict::durable("history-holds-every-commit", "commits", done.acknowledged, done.unknown, found)
    }

    fn accounts_sum(&self) -> i64 {
        self.after.accounts.sum - self.before.accounts.sum
    }

    fn history_sum(&self) -> i64 {
        self.after.history.sum - self.before.history.sum
    }

    /// TPC-B asks that branches, tellers and history agree; accounts are summed as well.
    fn four_sums(&self) -> Verdict {
        let sum = |table: &BTreeMap<i64, i64>| table.values().sum::<i64>();
        let history = self.history_sum();
        let sums = [
            ("accounts", self.accounts_sum()),
            ("tellers", sum(&self.after.tellers) - sum(&self.before.tellers)),
            ("branches", sum(&self.after.branches) - sum(&self.before.branches)),
        ];
        sums_agree("four-sums-agree", "four sums agree", history, &sums)
    }

    /// The script leaves tellers and branches alone, so two sums remain.
    fn two_sums(&self) -> Verdict {
        let sums = [("accounts", self.accounts_sum())];
        sums_agree("accounts-agree-with-history", "accounts and history agree", self.history_sum(), &sums)
    }

    /// The sums again, for every teller and branch by itself: two errors cannot cancel out.
    fn each_row(&self) -> Verdict {
        let (before, after) = (self.before, self.after);
        let wrong = self.disagreeing([
            [&before.history_tellers, &after.history_tellers],
            [&before.history_branches, &after.history_branches],
        ]);
        let good = "every teller and branch agrees with the history";
        self.listed("each-teller-and-branch-agrees", good, &wrong)
    }

    /// Tellers and branches of a script that does not touch them.
    fn bystanders(&self) -> Verdict {
        let nothing = [&BTreeMap::new(), &BTreeMap::new()];
        let wrong = self.disagreeing([nothing, nothing]);
        self.listed("tellers-and-branches-untouched", "no teller or branch changed", &wrong)
    }

    /// The tellers and branches whose balance changed by another amount than the `history` of each has for them.
    fn disagreeing(&self, history: [[&BTreeMap<i64, i64>; 2]; 2]) -> Vec<String> {
        let (before, after) = (self.before, self.after);
        let [tellers, branches] = history;
        let mut wrong = disagreeing("teller", [&before.tellers, &after.tellers], tellers);
        wrong.extend(disagreeing("branch", [&before.branches, &after.branches], branches));
        wrong
    }

    fn listed(&self, name: &'static str, good: &str, wrong: &[String]) -> Verdict {
        let all = self.after.tellers.len() + self.after.branches.len();
        let detail = match wrong {
            [] => format!("{good} ({} compared)", grouped(all)),
            [first, ..] => format!(
                "{} of {} tellers and branches are wrong, first {first}",
                grouped(wrong.len()),
                grouped(all)
            ),
        };
        let found = format!("{} wrong", grouped(wrong.len()));
        Verdict::new(name, wrong.is_empty(), "0 wrong".to_owned(), found, detail)
    }

    /// The load only updates these tables.
    fn rows(&self) -> Verdict {
        let counts = |of: &Baseline| {
            format!(
                "{} accounts, {} tellers, {} branches",
                grouped(of.accounts.rows),
                grouped(of.tellers.len()),
                grouped(of.branches.len())
            )
        };
        let (expected, found) = (counts(self.before), counts(self.after));
        let passed = expected == found;
        let detail = match passed {
            true => format!("{found}, as before"),
            false => format!("there were {expected}, there are {found}"),
        };
        Verdict::new("rows-unchanged", passed, expected, found, detail)
    }

    fn nothing(&self) -> Verdict {
        let show = |of: &Baseline| {
            let sum = |balances: &BTreeMap<i64, i64>| grouped(balances.values().sum::<i64>());
            format!(
                "{} accounts with {}, {} tellers with {}, {} branches with {}, {} rows of history with {}",
                grouped(of.accounts.rows),
                grouped(of.accounts.sum),
                grouped(of.tellers.len()),
                sum(&of.tellers),
                grouped(of.branches.len()),
                sum(&of.branches),
                grouped(of.history.rows),
                grouped(of.history.sum)
            )
        };
        let passed = self.before == self.after;
        let detail = match passed {
            true => "reading changed no row and no sum",
            false => "rows or sums changed under a load that only reads",
        };
        Verdict::new("nothing-changed", passed, show(self.before), show(self.after), detail.to_owned())
    }
}

fn sums_agree(name: &'static str, good: &str, history: i64, sums: &[(&str, i64)]) -> Verdict {
    let list: Vec<String> = sums.iter().map(|(table, sum)| format!("{table} {}", grouped(*sum))).collect();
    let found = list.join(", ");
    let passed = sums.iter().all(|&(_, sum)| sum == history);
    let history = grouped(history);
    let detail = match passed {
        true => format!("{good}: {history}"),
        false => format!("balances grew by {found}, the history by {history}"),
    };
    Verdict::new(name, passed, history, found, detail)
}

/// The rows whose balance changed by another amount than the history has for them.
fn disagreeing(
    what: &str,
    balances: [&BTreeMap<i64, i64>; 2],
    history: [&BTreeMap<i64, i64>; 2],
) -> Vec<String> {
    let growth = |of: [&BTreeMap<i64, i64>; 2], number: &i64| {
        of[1].get(number).copied().unwrap_or(0) - of[0].get(number).copied().unwrap_or(0)
    };
    let mut numbers: Vec<&i64> = balances.iter().chain(&history).flat_map(|map| map.keys()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .filter_map(|number| {
            let (balance, history) = (growth(balances, number), growth(history, number));
            let (grew, noted) = (grouped(balance), grouped(history));
            (balance != history)
                .then(|| format!("{what} {number}: its balance grew by {grew}, its history by {noted}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcb::verify::Total;

    /// One transaction of 7 on teller 12, branch 2, beside 5 of before.
    fn after() -> Baseline {
        Baseline {
            accounts: Total { rows: 200_000, sum: 12 },
            history: Total { rows: 2, sum: 12 },
            branches: BTreeMap::from([(1, 5), (2, 7)]),
            tellers: BTreeMap::from([(1, 5), (12, 7)]),
            history_branches: BTreeMap::from([(1, 5), (2, 7)]),
            history_tellers: BTreeMap::from([(1, 5), (12, 7)]),
        }
    }

    fn before() -> Baseline {
        Baseline {
            accounts: Total { rows: 200_000, sum: 5 },
            history: Total { rows: 1, sum: 5 },
            branches: BTreeMap::from([(1, 5), (2, 0)]),
            tellers: BTreeMap::from([(1, 5), (12, 0)]),
            history_branches: BTreeMap::from([(1, 5)]),
            history_tellers: BTreeMap::from([(1, 5)]),
        }
    }

    const ONE: Done = Done { acknowledged: 1, unknown: 0, failed: 0, retries: 0, writes: 0 };

    /// Names of the checks that fail.
    fn failing(after: &Baseline, script: Script, commits: Done) -> Vec<String> {
        let checks = judge(&before(), after, script, commits);
        checks
            .into_iter()
            .filter(|check| check.passed == Some(false))
            .map(|check| check.name.to_string())
            .collect()
    }

    fn planted(fault: impl FnOnce(&mut Baseline)) -> Vec<String> {
        let mut after = after();
        fault(&mut after);
        failing(&after, Script::TpcbLike, ONE)
    }

    #[test]
    fn a_clean_load_passes_on_data_that_was_not_fresh() {
        assert_eq!(failing(&after(), Script::TpcbLike, ONE), [""; 0]);
        assert_eq!(judge(&before(), &after(), Script::TpcbLike, ONE).len(), 4);
    }

    #[test]
    fn each_planted_fault_is_caught() {
        assert_eq!(planted(|after| after.history.rows -= 1), ["history-holds-every-commit"]);
        assert_eq!(planted(|after| after.history.rows += 1), ["history-holds-every-commit"]);
        assert_eq!(planted(|after| after.accounts.sum += 1), ["four-sums-agree"]);
        assert_eq!(planted(|after| after.history.sum += 1), ["four-sums-agree"]);
        assert_eq!(planted(|after| after.accounts.rows -= 1), ["rows-unchanged"]);
        // Two errors that cancel out in the sum.
        let swapped = |after: &mut Baseline| {
            after.tellers = BTreeMap::from([(1, 6), (12, 6)]);
        };
        assert_eq!(planted(swapped), ["each-teller-and-branch-agrees"]);
        let lost = |after: &mut Baseline| after.branches.retain(|branch, _| *branch != 2);
        assert_eq!(planted(lost), ["four-sums-agree", "each-teller-and-branch-agrees", "rows-unchanged"]);
    }

    #[test]
    fn an_unknown_outcome_may_have_happened_or_not() {
        let verdict = |acknowledged, unknown| {
            failing(&after(), Script::TpcbLike, Done { acknowledged, unknown, ..Done::default() }).is_empty()
        };
        assert!(verdict(1, 1) && verdict(0, 1));
        assert!(!verdict(2, 1) && !verdict(0, 0));
    }

    #[test]
    fn simple_update_leaves_tellers_and_branches_alone() {
        let untouched = Baseline { branches: before().branches, tellers: before().tellers, ..after() };
        assert_eq!(failing(&untouched, Script::SimpleUpdate, ONE), [""; 0]);
        assert_eq!(failing(&after(), Script::SimpleUpdate, ONE), ["tellers-and-branches-untouched"]);
        let lost = Baseline { accounts: before().accounts, ..untouched };
        assert_eq!(failing(&lost, Script::SimpleUpdate, ONE), ["accounts-agree-with-history"]);
    }

    #[test]
    fn reading_changes_nothing() {
        let commits = Done { acknowledged: 1_000_000, unknown: 3, ..Done::default() };
        assert_eq!(failing(&before(), Script::SelectOnly, commits), [""; 0]);
        assert_eq!(failing(&after(), Script::SelectOnly, commits), ["nothing-changed"]);
    }

    #[test]
    fn a_failed_check_says_what_is_wrong() {
        let commits = Done { acknowledged: 3, unknown: 1, ..Done::default() };
        let checks = judge(&before(), &after(), Script::TpcbLike, commits);
        assert_eq!(
            checks[0].detail,
            "3 commits acknowledged (1 more of unknown outcome), 1 found: 2 are lost"
        );
        assert_eq!((checks[0].expected.as_deref(), checks[0].found.as_deref()), (Some("3 to 4"), Some("1")));

        let commits = Done { acknowledged: 21_747, unknown: 0, ..Done::default() };
        let checks = judge(&before(), &after(), Script::TpcbLike, commits);
        assert_eq!(checks[0].detail, "21,747 commits acknowledged, 1 found: 21,746 are lost");
        assert_eq!(checks[0].expected.as_deref(), Some("21,747"));
        assert_eq!(checks[3].found.as_deref(), Some("200,000 accounts, 2 tellers, 2 branches"));
    }
}
