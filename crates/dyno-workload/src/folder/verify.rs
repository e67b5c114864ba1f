//! What must hold behind a load: as many rows more or fewer as its acknowledged transactions have added and removed, and the checks of
//! the folder. Reads the tables once before and once after; the load must stand still meanwhile.

use dyno_results::event::Check;
use dyno_results::format::grouped;
use dyno_target::connection::Connection;

use super::Folder;
use super::checks::{Answer, FolderCheck};
use super::file::BeforeLoad;
use super::options::Values;
use super::tables::context;
use super::transactions::{Effect, Mix};
use crate::benchmark::{Contention, Done, ExpectedRows};
use crate::dataset::{TableCounter, TableError, Verdict, checks, range};
use crate::limits;
use crate::script::Value;

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
        connection: &mut Connection,
    ) -> Result<Self, TableError> {
        limits::lift(connection);
        let rows = TableCounter(folder.table_names()).rows(connection)?;
        let answer = |check: &FolderCheck| check.read(connection).map_err(TableError::of("the tables"));
        Ok(Self { rows, answers: folder.checks_of(place).map(answer).collect::<Result<_, _>>()? })
    }
}

impl Folder {
    /// The checks that are asked behind a load of a mix.
    pub(super) fn checks_of(&self, place: usize) -> impl Iterator<Item = &FolderCheck> {
        let mix = self.mixes.get(place);
        self.checks.iter().filter(move |check| mix.is_some_and(|mix| check.is_for(mix)))
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

    /// By how many rows each transaction changes each table; `None` where that is not known.
    pub(super) fn changes(&self, values: &Values) -> Result<Vec<Option<Vec<i64>>>, String> {
        let mut context = context(&self.names, self.seed, &self.options, values);
        let mut changes = Vec::new();
        for transaction in &self.transactions {
            let Effect::Known(effects) = &transaction.effect else {
                changes.push(None);
                continue;
            };
            let mut rows = vec![0; self.tables.len()];
            for (table, [adds, removes]) in effects {
                for (program, sign) in [(adds, 1), (removes, -1)] {
                    let Some(program) = program else { continue };
                    match context.evaluate(program, 0, 0) {
                        Ok(Value::Integer(number)) => rows[*table] += sign * number,
                        Ok(_) => {
                            return Err(format!(
                                "what {} adds or removes is no whole number",
                                transaction.name
                            ));
                        }
                        Err(error) => {
                            return Err(format!("what {} adds or removes: {error}", transaction.name));
                        }
                    }
                }
            }
            changes.push(Some(rows));
        }
        Ok(changes)
    }

    /// How many rows each table must have before a load: those of its recipe, and what loads of before may have changed.
    pub(super) fn expected(&self, made: &[u64], changes: &[Option<Vec<i64>>]) -> Vec<ExpectedRows> {
        let of = |(table, rows): (usize, &u64)| {
            let own = changes.iter().map(|changes| changes.as_ref().map(|rows| rows[table]));
            let own: Option<Vec<i64>> = own.collect();
            let is_emptied = self.tables[table].before_load == Some(BeforeLoad::Empty);
            match own.filter(|_| !is_emptied && !self.removes_from(table)) {
                Some(own) if own.iter().all(|rows| *rows == 0) => ExpectedRows::Exactly(*rows),
                Some(own) if own.iter().all(|rows| *rows >= 0) => ExpectedRows::AtLeast(*rows),
                _ => ExpectedRows::Any,
            }
        };
        made.iter().enumerate().map(of).collect()
    }

    /// Whether a transaction removes rows of a table, which then may be any.
    fn removes_from(&self, table: usize) -> bool {
        let removes = |transaction: &super::transactions::Transaction| match &transaction.effect {
            Effect::Known(effects) => {
                effects.iter().any(|(of, [_, removes])| *of == table && removes.is_some())
            }
            Effect::Unknown => false,
        };
        self.transactions.iter().any(removes)
    }

    /// Compares what is there with `before`, behind a load of which each part of the mix has so many acknowledged transactions.
    pub(super) fn verify(
        &self,
        connection: &mut Connection,
        target: &str,
        (place, before, changes): (usize, &Census, &[Option<Vec<i64>>]),
        (done, acknowledged): (Done, &[u64]),
    ) -> Result<Vec<Check>, TableError> {
        let after = Census::take(self, place, connection)?;
        let mut verdicts = Vec::new();
        let parts = self.mixes.get(place).map(|mix| mix.parts.as_slice()).unwrap_or_default();
        let own: Option<Vec<&Vec<i64>>> =
            parts.iter().map(|(part, _)| changes.get(*part)?.as_ref()).collect();
        // Of one transaction alone the load itself has counted.
        let acknowledged = if parts.len() == 1 { &[done.acknowledged] } else { acknowledged };
        let is_counted = own.is_some() && acknowledged.iter().sum::<u64>() == done.acknowledged;
        for (table, name) in self.table_names().iter().enumerate().filter(|_| is_counted) {
            let each = own.iter().flatten().map(|rows| i128::from(rows[table]));
            let each: Vec<i128> = each.collect();
            let counted =
                each.iter().zip(acknowledged).map(|(rows, count)| rows * i128::from(*count)).sum::<i128>();
            let unknown = i128::from(done.unknown);
            let low = counted + unknown * each.iter().copied().min().unwrap_or(0).min(0);
            let high = counted + unknown * each.iter().copied().max().unwrap_or(0).max(0);
            let found = i128::from(after.rows[table]) - i128::from(before.rows[table]);
            verdicts.push(rows_verdict(name, (low, high), found, unknown));
        }
        if own.is_some() && !is_counted {
            let why = "its clients did not count all transactions by their kind".to_owned();
            verdicts.push(Verdict::undecided("rows-as-acknowledged", why));
        }
        for ((check, before), after) in self.checks_of(place).zip(&before.answers).zip(&after.answers) {
            verdicts.push(check.judge(before, after));
        }
        Ok(checks(target, self.workloads[place], verdicts))
    }
}

fn rows_verdict(table: &str, (low, high): (i128, i128), found: i128, unknown: i128) -> Verdict {
    let of_unknown = match unknown {
        0 => String::new(),
        unknown => format!(", with {} transactions of unknown outcome", grouped(unknown)),
    };
    let told =
        format!("{table} should have {} more rows{of_unknown}, and has {}", range(low, high), grouped(found));
    let detail = if found < low {
        format!("{told}: {} are lost", grouped(low - found))
    } else if found > high {
        format!("{told}: {} too many", grouped(found - high))
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
