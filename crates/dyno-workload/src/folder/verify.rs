//! What must hold behind a load: as many rows more or fewer as its acknowledged transactions have added and removed, and the checks of
//! the folder. Reads the tables once before and once after; the load must stand still meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use dyno_results::event::{Check, Figure};
use dyno_results::format::grouped;
use dyno_results::judge::DATA_UNKNOWN;
use dyno_target::connection::Connection;
use serde::{Deserialize, Serialize};

use super::Folder;
use super::checks::{Answer, FolderCheck};
use super::file::BeforeLoad;
use super::options::Values;
use super::tables::context;
use super::transactions::{Mix, Side, count};
use crate::benchmark::{Contention, Done, ExpectedRows};
use crate::dataset::{self, TableError, Verdict, checks, count_rows, range};
use crate::limits;
use crate::pgbench::effects::{EffectCount, Outcomes};

/// Of fewer answers than this for each that is wrong, too many measured nothing.
const ANSWERS_PER_MISS_MIN: u64 = 20;

/// What was found at one instant.
#[derive(Debug)]
pub(super) struct Census {
    rows: Vec<u64>,
    answers: Vec<Answer>,
}

impl Census {
    pub(super) fn take(
        folder: &Folder,
        place: usize,
        defines: &BTreeMap<String, String>,
        connection: &mut Connection,
    ) -> Result<Self, TableError> {
        limits::lift(connection);
        let begin = connection.dialect().begin_snapshot;
        if begin.is_empty() {
            return Self::read(folder, place, defines, connection);
        }
        connection.execute(begin).map_err(TableError::of("the tables"))?;
        let census = Self::read(folder, place, defines, connection);
        let ended = connection.execute(if census.is_ok() { "COMMIT" } else { "ROLLBACK" });
        let census = census?;
        ended.map_err(TableError::of("the tables"))?;
        Ok(census)
    }

    fn read(
        folder: &Folder,
        place: usize,
        defines: &BTreeMap<String, String>,
        connection: &mut Connection,
    ) -> Result<Self, TableError> {
        let mut parts = folder.mixes[place].parts.iter().map(|(part, _)| &folder.transactions[*part]);
        let is_asked = folder.not_compared(place).is_none() || parts.any(|it| it.returns.is_some());
        let rows = if is_asked { count_rows(connection, &folder.table_names())? } else { Vec::new() };
        let answer = |check: &FolderCheck| check.read(connection, defines);
        Ok(Self { rows, answers: folder.checks_of(place).map(answer).collect::<Result<_, _>>()? })
    }
}

impl Folder {
    /// The checks that are asked behind a load of a mix.
    pub(super) fn checks_of(&self, place: usize) -> impl Iterator<Item = &FolderCheck> {
        let mix = self.mixes.get(place);
        self.checks.iter().filter(move |check| mix.is_some_and(|mix| check.is_for(mix)))
    }

    /// Why no rows are compared behind a load of a mix, where none are.
    pub(super) fn not_compared(&self, place: usize) -> Option<String> {
        let parts = self.mixes[place].parts.iter().map(|(part, _)| &self.transactions[*part]);
        let names: Vec<_> = parts.filter(|it| it.effects.is_none()).map(|it| it.name).collect();
        (!names.is_empty()).then(|| {
            format!(
                "no rows are compared: of what {} writes neither `adds` nor `removes` is said (`adds = {{}}` says that it adds none)",
                names.join(" or ")
            )
        })
    }

    pub(super) fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Of each mix, from how many clients on they wait for each other's rows: those of the part with the fewest.
    pub(super) fn contentions(&self, values: &Values) -> Result<Vec<Option<Contention>>, String> {
        let mut context = context(&self.names, self.seed, &self.options, values);
        let each = self.transactions.iter().map(|it| it.contention(&mut context));
        let each: Vec<_> = each.collect::<Result<_, _>>()?;
        let of = |mix: &Mix| {
            mix.parts.iter().filter_map(|(part, _)| each[*part]).min_by_key(|contention| contention.clients)
        };
        Ok(self.mixes.iter().map(of).collect())
    }

    /// What a mix counts beside transactions with so many clients.
    pub(super) fn figure(
        &self,
        place: usize,
        values: &Values,
        clients: u32,
    ) -> Result<Option<Figure>, String> {
        let mut context = context(&self.names, self.seed, &self.options, values);
        self.mixes[place].figure(clients, &mut context)
    }

    /// How many rows each table must have before a load: those of its recipe, and what loads of before may have changed.
    pub(super) fn expected(&self, made: &[u64]) -> Vec<ExpectedRows> {
        let known: Option<Vec<_>> = self.transactions.iter().map(|it| it.effects.as_ref()).collect();
        let of = |(table, rows): (usize, &u64)| {
            let says = |effects: &[&Vec<(usize, String)>], side| {
                effects.iter().copied().flatten().any(|(of, _)| *of == count(table, side))
            };
            let is_emptied = self.tables[table].before_load == Some(BeforeLoad::Empty);
            match &known {
                Some(effects) if !is_emptied && !says(effects, Side::Removed) => {
                    match says(effects, Side::Added) {
                        true => ExpectedRows::AtLeast(*rows),
                        false => ExpectedRows::Exactly(*rows),
                    }
                }
                _ => ExpectedRows::Any,
            }
        };
        made.iter().enumerate().map(of).collect()
    }

    /// Compares what is there with what was `before` a load of a mix that did so much.
    pub(super) fn verify(
        &self,
        connection: &mut Connection,
        target: &str,
        (place, before): (usize, &Before),
        (done, counted): (Done, &Counted),
    ) -> Result<Vec<Check>, TableError> {
        let after = Census::take(self, place, &before.defines, connection)?;
        let mut verdicts = Vec::new();
        let parts = || self.mixes[place].parts.iter().map(|(part, _)| &self.transactions[*part]);
        let not_compared = self.not_compared(place);
        let is_known = not_compared.is_none();
        verdicts.extend(not_compared.map(|why| Verdict::undecided(DATA_UNKNOWN, why)));
        let says_answers = parts().any(|transaction| transaction.returns.is_some());
        if counted.outcomes.done == done.acknowledged {
            let mut unchanged = Vec::new();
            for (table, name) in self.table_names().into_iter().enumerate().filter(|_| is_known) {
                let found = i128::from(after.rows[table]) - i128::from(before.census.rows[table]);
                match counted.range(table) {
                    (0, 0) if found == 0 => unchanged.push(name),
                    range => verdicts.push(rows_verdict(&name, range, found, done)),
                }
            }
            verdicts.extend(unchanged_verdict(&unchanged));
            if says_answers {
                verdicts.push(answers_verdict(&counted.outcomes, before.gaps));
            }
        } else if is_known || says_answers {
            let why = "not all load generators said what their clients were told".to_owned();
            verdicts.push(Verdict::undecided("rows-as-acknowledged", why));
        }
        let before_times = before.times;
        let answers = before.census.answers.iter().zip(&after.answers);
        for (check, (before, after)) in self.checks_of(place).zip(answers) {
            // What is to be there then, holds if all was done.
            let part = before_times.filter(|times| check.is_for_some() && *times != done.acknowledged);
            verdicts.push(match part {
                Some(times) => check.undecided(done.acknowledged, times),
                None => check.judge(before, after),
            });
        }
        Ok(checks(target, self.workloads[place], verdicts))
    }
}

/// What the clients of a load were told.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counted {
    pub outcomes: Outcomes,
    /// By [`count`].
    pub rows: Vec<EffectCount>,
}

impl Counted {
    /// Other clients of the same load were told this.
    pub(super) fn add(&mut self, other: &Self) {
        self.outcomes.add(&other.outcomes);
        self.rows.resize(self.rows.len().max(other.rows.len()), EffectCount::default());
        self.rows.iter_mut().zip(&other.rows).for_each(|(sum, rows)| sum.add(rows));
    }

    /// How many rows more a table may have, at least and at most.
    fn range(&self, table: usize) -> (i128, i128) {
        let of = |side| self.rows.get(count(table, side)).copied().unwrap_or_default();
        let (added, removed) = (of(Side::Added), of(Side::Removed));
        let sum = i128::from(added.acknowledged) - i128::from(removed.acknowledged);
        (sum - i128::from(removed.unknown), sum + i128::from(added.unknown))
    }
}

/// What is there before a load.
#[derive(Debug)]
pub(super) struct Before {
    census: Census,
    gaps: Gaps,
    /// The values of the options.
    defines: BTreeMap<String, String>,
    /// How often a client is to run the transaction, where that is said.
    times: Option<u64>,
}

/// Numbers that a server gave to no row, in the table that has the largest share of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Gaps {
    numbers: u64,
    gaps: u64,
}

impl Before {
    pub(super) fn take(
        folder: &Folder,
        place: usize,
        (defines, times): (&BTreeMap<String, String>, Option<u64>),
        connection: &mut Connection,
    ) -> Result<Self, TableError> {
        let census = Census::take(folder, place, defines, connection)?;
        let mut gaps = Gaps::default();
        let parts = folder.mixes[place].parts.iter().map(|(part, _)| &folder.transactions[*part]);
        // The tables from which those draw that say what they return.
        let drawn = parts.filter(|it| it.returns.is_some()).flat_map(|it| &it.numbered);
        let drawn: BTreeSet<usize> = drawn.copied().collect();
        for place in drawn {
            let (table, rows) = (&folder.tables[place], census.rows[place]);
            let Some(number) = table.number().filter(|number| number.is_identity()) else { continue };
            let sql = format!("SELECT COALESCE(MAX({}), 0) FROM {}", number.name, table.name);
            let [numbers] = dataset::numbers(connection, &sql).map_err(TableError::of(&table.name))?;
            let found = Gaps { numbers, gaps: numbers.saturating_sub(rows) };
            if found.share() > gaps.share() {
                gaps = found;
            }
        }
        Ok(Self { census, gaps, defines: defines.clone(), times })
    }

    /// What contradicts the checks already.
    pub(super) fn contradictions(&self, folder: &Folder, place: usize) -> Vec<String> {
        let answers = folder.checks_of(place).zip(&self.census.answers);
        // What is to be there when fixed work is done, need not be there before.
        let is_to_hold = |check: &FolderCheck| self.times.is_none() || !check.is_for_some();
        let answers = answers.filter(|(check, _)| is_to_hold(check));
        answers.filter_map(|(check, answer)| check.contradicted(answer)).collect()
    }
}

impl Gaps {
    fn share(self) -> f64 {
        self.gaps as f64 / self.numbers.max(1) as f64
    }
}

/// Each transaction that says how many rows it returns has returned them, but for numbers that the server gave to no row: an insert that
/// fails takes its number with it.
fn answers_verdict(outcomes: &Outcomes, gaps: Gaps) -> Verdict {
    let Outcomes { answers, wrong_answers: wrong, .. } = *outcomes;
    let expected = answers as f64 * gaps.share();
    // Misses are draws of a rare event: five deviations beyond the mean come once in millions of loads. And where
    // many are to be expected, looking for nothing is what was measured.
    let by_chance = if gaps.gaps == 0 { 0 } else { (expected + 5.0 * expected.sqrt() + 5.0) as u64 };
    let most = by_chance.min(answers / ANSWERS_PER_MISS_MIN);
    let mut detail =
        format!("{} of {} transactions returned another number of rows", grouped(wrong), grouped(answers));
    if gaps.gaps > 0 {
        detail += &format!(
            "; {} of {} numbers have no row, so about {} were to be expected",
            grouped(gaps.gaps),
            grouped(gaps.numbers),
            grouped(expected.round() as u64)
        );
    }
    let allowed = if most == 0 { "0".to_owned() } else { format!("at most {}", grouped(most)) };
    Verdict::new("no-wrong-answer", wrong <= most, allowed, grouped(wrong), detail)
}

/// Of the tables that have as many rows as before, which is right.
fn unchanged_verdict(tables: &[String]) -> Option<Verdict> {
    let (last, others) = tables.split_last()?;
    let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    let have = if others.is_empty() { "has" } else { "have" };
    let told = format!("{names} {have} as many rows as before");
    Some(Verdict::new("rows-unchanged", true, "0".to_owned(), "0".to_owned(), told))
}

fn rows_verdict(table: &str, (low, high): (i128, i128), found: i128, done: Done) -> Verdict {
    let mut of_unknown = match done.unknown {
        0 => String::new(),
        unknown => format!(", with {} transactions of unknown outcome", grouped(unknown)),
    };
    if done.rolled_back > 0 {
        of_unknown += &format!(", with {} rolled back", grouped(done.rolled_back));
    }
    let told =
        format!("{table} should have {}{of_unknown}, and has {}", changed(low, high), changed(found, found));
    let detail = if found < low {
        format!("{told}: {} are lost", grouped(low - found))
    } else if found > high {
        format!("{told}: {} too many", grouped(found - high))
    } else if low == high {
        format!("{table} has {}, as acknowledged{of_unknown}", changed(found, found))
    } else {
        told
    };
    Verdict::new(
        format!("rows-of-{table}"),
        (low..=high).contains(&found),
        range(low, high),
        grouped(found),
        detail,
    )
}

/// How many rows there are more, or fewer: `14 more rows`, `14 rows fewer`, `from 2 rows fewer to 3 more`
fn changed(low: i128, high: i128) -> String {
    let rows =
        |count: i128| format!("{} {}", grouped(count.abs()), if count.abs() == 1 { "row" } else { "rows" });
    match (low, high) {
        (low, high) if low == high && low < 0 => format!("{} fewer", rows(low)),
        (low, high) if low < 0 && high <= 0 => format!("{} to {} fewer", grouped(high.abs()), rows(low)),
        (low, high) if low < 0 => format!("from {} fewer to {} more", rows(low), grouped(high)),
        (low, high) => format!("{} more rows", range(low, high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_come_and_go_are_told_as_more_and_fewer() {
        for (low, high, told) in [
            (14, 14, "14 more rows"),
            (0, 0, "0 more rows"),
            (2, 1_200, "2 to 1,200 more rows"),
            (-14, -14, "14 rows fewer"),
            (-1, -1, "1 row fewer"),
            (-14, -12, "12 to 14 rows fewer"),
            (-2, 0, "0 to 2 rows fewer"),
            (-2, 3, "from 2 rows fewer to 3 more"),
        ] {
            assert_eq!(changed(low, high), told);
        }
    }
}
