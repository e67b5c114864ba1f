//! What the workloads send: the three queries with so many workers, and the updates. Text and arithmetic only.

use std::collections::BTreeSet;

use dyno_engine::request::QueryKind;

use super::variant::Variant;
use crate::pgbench::tables::{ACCOUNTS_PER_BRANCH, Table};
use crate::query_set::{Query, QueryLoad};

/// Of so many accounts one has a balance before any load, which is its number: the queries have something to find, and the
/// first hundred are the same in each variant.
pub(super) const BALANCE_EVERY: u64 = 1_000;
/// Accounts that one statement changes.
const PER_UPDATE: u64 = 100;
/// Of the accounts, by which the next one that is changed lies further on: they are spread, and none comes twice.
const STRIDE: f64 = 0.381_966;

/// The queries: names, texts, and whether it is the server's choice which rows it returns.
const QUERIES: [(&str, &str, bool); 3] = [
    ("top-100", "SELECT * FROM pgbench_accounts ORDER BY abalance DESC LIMIT 100", false),
    ("first-3", "SELECT * FROM pgbench_accounts WHERE abalance <> 0 LIMIT 3", true),
    (
        "count-by-branch",
        "SELECT bid, COUNT(*) AS cnt FROM pgbench_accounts WHERE abalance <> 0 \
         GROUP BY bid ORDER BY cnt DESC, bid LIMIT 10",
        false,
    ),
];

/// How a session is told to use so many workers, and the most.
pub(super) type Workers = Option<(&'static str, u32)>;

/// 0, 1, 2, 4, … and the most; one `None` where nothing can be said of them.
fn steps(workers: Workers) -> Vec<Option<u32>> {
    let Some((_, most)) = workers else { return vec![None] };
    let doubled =
        std::iter::successors(Some(1_u32), |step| step.checked_mul(2)).take_while(|step| *step < most);
    let steps: BTreeSet<u32> = doubled.chain([0, most]).collect();
    steps.into_iter().map(Some).collect()
}

/// Queries of a pass.
pub(super) fn pass(workers: Workers) -> u64 {
    (steps(workers).len() * QUERIES.len()) as u64
}

/// `top-100`, `top-100 (2 workers)`
fn name(query: &str, workers: Option<u32>) -> String {
    match workers {
        None | Some(0) => query.to_owned(),
        Some(1) => format!("{query} (1 worker)"),
        Some(workers) => format!("{query} ({workers} workers)"),
    }
}

/// Each query with each number of workers.
pub(super) fn queries(variant: &Variant, workers: Workers) -> QueryLoad {
    let mut names = Vec::new();
    let mut pass = Vec::new();
    for (query, text, any_rows) in QUERIES {
        for step in steps(workers) {
            let setting =
                |((template, _), step): ((&str, u32), u32)| template.replace("{workers}", &step.to_string());
            let setting = workers.zip(step).map(setting);
            let one = Query::one(names.len() as u16, variant.on_tables(text), QueryKind::Read);
            pass.push(Query { setting, any_rows, ..one });
            names.push(name(query, step));
        }
    }
    QueryLoad::new(names, move |_, _| pass.clone())
}

/// Statements that make so many updates.
pub(super) fn update_statements(updates: u64) -> u64 {
    updates.div_ceil(PER_UPDATE)
}

/// The accounts that are changed, one after the other, each at most once: the same in each run.
fn changed(scale: u32, updates: u64) -> impl Iterator<Item = u64> {
    let accounts = u64::from(scale) * ACCOUNTS_PER_BRANCH;
    let mut stride = (accounts as f64 * STRIDE) as u64;
    while common_divisor(stride, accounts) > 1 {
        stride += 1;
    }
    (0..updates).map(move |at| (u128::from(at) * u128::from(stride) % u128::from(accounts)) as u64 + 1)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// By how much an account is changed: by more than any has before, and no two by the same, so that those with the most are
/// the same in each variant.
fn change(scale: u32, account: u64) -> u64 {
    account + u64::from(scale) * ACCOUNTS_PER_BRANCH
}

/// What all changes come to.
pub(super) fn sum_of_changes(scale: u32, updates: u64) -> u64 {
    changed(scale, updates).map(|account| change(scale, account)).sum()
}

/// The updates, so many accounts in a statement.
pub(super) fn updates(variant: &Variant, scale: u32, updates: u64) -> QueryLoad {
    let table = variant.table(Table::Accounts);
    let more = change(scale, 0);
    let update = move |accounts: &[u64]| {
        let accounts: Vec<String> = accounts.iter().map(u64::to_string).collect();
        let sql = format!(
            "UPDATE {table} SET abalance = abalance + aid + {more} WHERE aid IN ({})",
            accounts.join(", ")
        );
        Query::one(0, sql, QueryKind::Write)
    };
    // Made when a client begins: they may be millions, and a load is described more often than it is run.
    let load = QueryLoad::new(["update".to_owned()], move |_, _| {
        let accounts: Vec<u64> = changed(scale, updates).collect();
        accounts.chunks(PER_UPDATE as usize).map(&update).collect()
    });
    load.without_answers()
}

#[cfg(test)]
mod tests {
    use dyno_engine::workload::Workload as _;

    use super::*;

    #[test]
    fn workers_go_up_to_the_most() {
        let to = |most| steps(Some(("", most))).into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(
            [to(0), to(1), to(2), to(6), to(8)].concat(),
            [0, 0, 1, 0, 1, 2, 0, 1, 2, 4, 6, 0, 1, 2, 4, 8]
        );
        assert_eq!((pass(None), pass(Some(("", 2)))), (3, 9));
        let names = queries(&Variant::default(), Some(("SET w = {workers}", 2)));
        assert_eq!(names.types()[..4], ["top-100", "top-100 (1 worker)", "top-100 (2 workers)", "first-3"]);
    }

    #[test]
    fn each_account_is_changed_at_most_once_and_they_are_spread() {
        for scale in [1, 7, 10] {
            let accounts = u64::from(scale) * ACCOUNTS_PER_BRANCH;
            let all: BTreeSet<u64> = changed(scale, accounts).collect();
            assert_eq!((all.len() as u64, all.first(), all.last()), (accounts, Some(&1), Some(&accounts)));
            let near = changed(scale, 1_000).filter(|account| *account <= accounts / 10).count();
            assert!((50..200).contains(&near), "{near}");
        }
        assert_eq!([1, 100, 101, 10_000].map(update_statements), [1, 1, 2, 100]);
        let sum: u64 = changed(2, 300).map(|account| account + 200_000).sum();
        assert_eq!(sum_of_changes(2, 300), sum);
    }
}
