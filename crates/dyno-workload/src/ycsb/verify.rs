//! What of the records is there, and what must hold after a load: as many as were acknowledged, none twice, each found by
//! its key. The load must stand still meanwhile.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dyno_results::format::grouped;
use dyno_target::connection::{Connection, QueryError, TextRow};

use super::inserts::InsertCounts;
use super::options::Recipe;
use super::updates::{Cell, LastUpdates, STAMP_LETTERS};
use super::{KEY, TABLE};
use crate::dataset::{PROBES, TableError, Verdict, numbers};
use crate::limits;

/// Keys that are looked up at once for the end of the inserted ones: more inserts than these in a row do not fail.
const INSERTS_AT_ONCE: u64 = 64;

/// Fields that are looked up behind updates, at most, and of how many records at once.
const UPDATES_MAX: usize = 1_000;
const RECORDS_AT_ONCE: usize = 100;

/// Records that are there.
pub(super) fn count(connection: &mut Connection) -> Result<u64, TableError> {
    limits::lift(connection);
    let [records] =
        numbers(connection, &format!("SELECT COUNT(*) FROM {TABLE}")).map_err(TableError::of(TABLE))?;
    Ok(records)
}

impl Recipe {
    /// How many of some records are there.
    fn there(
        self,
        connection: &mut Connection,
        records: impl Iterator<Item = u64>,
    ) -> Result<u64, QueryError> {
        let mut sql = format!("SELECT COUNT(*) FROM {TABLE} WHERE {KEY} IN (''").into_bytes();
        for record in records {
            sql.extend_from_slice(b", '");
            self.key(record, &mut sql);
            sql.push(b'\'');
        }
        sql.push(b')');
        let [there] = numbers(connection, &String::from_utf8_lossy(&sql))?;
        Ok(there)
    }

    /// What is in some fields, by their places among those that are asked for; a record that is missing has none.
    fn values(
        self,
        connection: &mut Connection,
        cells: &[(Cell, u64)],
    ) -> Result<BTreeMap<usize, String>, QueryError> {
        let mut sql = String::new();
        for (at, (cell, _)) in cells.iter().enumerate() {
            let mut key = Vec::new();
            self.key(cell.record, &mut key);
            let (key, field) = (String::from_utf8_lossy(&key), cell.field);
            let union = if at == 0 { "" } else { " UNION ALL " };
            // Writing to memory cannot fail.
            let _ = write!(sql, "{union}SELECT {at}, field{field} FROM {TABLE} WHERE {KEY} = '{key}'");
        }
        let rows = connection.query(&sql)?;
        let value = |row: &TextRow| Some((row.text(0)?.parse().ok()?, row.text(1)?.to_owned()));
        Ok(rows.iter().filter_map(value).collect())
    }

    /// Looks some of the records from `first` to just below `end` up by their keys, the first and the last among them:
    /// how many are missing, of how many.
    pub(super) fn missing(
        self,
        connection: &mut Connection,
        first: u64,
        end: u64,
    ) -> Result<[u64; 2], QueryError> {
        let probes = PROBES.min(end - first);
        let sample = (0..probes).map(|probe| first + probe * (end - first - 1) / (probes - 1).max(1));
        Ok([probes - self.there(connection, sample)?, probes])
    }

    /// The number behind the last record: inserts follow the loaded records and those of earlier runs. It is looked for in
    /// steps that double, and then halve.
    pub(super) fn next_record(self, connection: &mut Connection) -> Result<u64, TableError> {
        let mut goes_on = |from: u64| {
            let there = self.there(connection, from..from + INSERTS_AT_ONCE);
            there.map(|there| there > 0).map_err(TableError::of(TABLE))
        };
        let (mut next, mut step) = (self.records, 1);
        while goes_on(next + step - 1)? {
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if goes_on(next + step - 1)? {
                next += step;
            }
        }
        Ok(next)
    }
}

/// Looks up what the clients updated last, and counts what was lost of it.
pub(super) fn updates_there(
    connection: &mut Connection,
    recipe: Recipe,
    updates: &LastUpdates,
) -> Result<Verdict, TableError> {
    const NAME: &str = "updates-are-there";
    if usize::from(recipe.field_length) < STAMP_LETTERS {
        let detail = format!("fields of less than {STAMP_LETTERS} bytes do not say who wrote them");
        return Ok(Verdict::undecided(NAME, detail));
    }
    let sample: Vec<(Cell, u64)> = updates.sample(UPDATES_MAX).into_iter().collect();
    let mut lost = 0;
    for some in sample.chunks(RECORDS_AT_ONCE) {
        let values = recipe.values(connection, some).map_err(TableError::of(TABLE))?;
        let is_lost = |(at, (cell, begun)): (usize, &(Cell, u64))| {
            values.get(&at).is_none_or(|value| updates.is_lost(*cell, *begun, value.as_bytes()))
        };
        lost += some.iter().enumerate().filter(|it| is_lost(*it)).count() as u64;
    }
    let detail = match lost {
        0 => format!("of {} fields that were updated last none has an older value", grouped(sample.len())),
        lost => format!(
            "of {} fields that were updated last {} have lost an acknowledged update",
            grouped(sample.len()),
            grouped(lost)
        ),
    };
    Ok(Verdict::none(NAME, lost, detail))
}

/// The table behind a load.
pub(super) struct Census {
    records: u64,
    /// Keys that more than one record has.
    twice: u64,
    /// Of records that were looked up by their keys so many are missing; and how many were looked up.
    missing: [u64; 2],
}

impl Census {
    pub(super) fn read(connection: &mut Connection, recipe: Recipe, next: u64) -> Result<Self, TableError> {
        let records = count(connection)?;
        let mut read = || -> Result<Self, QueryError> {
            let keys = format!("SELECT {KEY} FROM {TABLE} GROUP BY {KEY} HAVING COUNT(*) > 1");
            let [twice] = numbers(connection, &format!("SELECT COUNT(*) FROM ({keys}) AS twice"))?;
            // Of inserted records where there are some: those that were loaded have been looked up before.
            let first = if next > recipe.records { recipe.records } else { 0 };
            let missing = recipe.missing(connection, first, next)?;
            Ok(Self { records, twice, missing })
        };
        read().map_err(TableError::of(TABLE))
    }

    /// Compares with the `before` records of before the load.
    pub(super) fn judge(&self, inserts: InsertCounts, before: u64) -> Vec<Verdict> {
        let InsertCounts { next, acknowledged, unsure, missed } = inserts;
        let grown = i128::from(self.records) - i128::from(before);
        // Numbers of inserts that failed, in this run or an earlier one: as with YCSB, their records are asked for.
        let gaps = next.saturating_sub(self.records);
        let none =
            |name, found: u64, what: &str| Verdict::none(name, found, format!("{} {what}", grouped(found)));
        let [missing, probes] = self.missing;
        let mut verdicts = vec![
            Verdict::durable("every-insert-is-there", "inserts", acknowledged, unsure, grown),
            none("no-key-twice", self.twice, "keys have more than one record"),
        ];
        verdicts.extend(match gaps {
            0 => [
                none("records-have-their-keys", missing, &format!("of {probes} records are missing")),
                none("every-read-finds-its-record", missed, "reads found no record"),
            ],
            _ => ["records-have-their-keys", "every-read-finds-its-record"]
                .map(|name| Verdict::undecided(name, format!("{} inserts have failed", grouped(gaps)))),
        });
        verdicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the checks that fail, and of those that are not decided, behind a hundred records.
    fn judged(found: &Census, inserts: InsertCounts) -> [String; 2] {
        let verdicts = found.judge(inserts, 100);
        [Some(false), None].map(|passed| {
            let names =
                verdicts.iter().filter(|verdict| verdict.passed == passed).map(|verdict| &*verdict.name);
            names.collect::<Vec<_>>().join(" ")
        })
    }

    const WELL: InsertCounts = InsertCounts { next: 102, acknowledged: 2, unsure: 0, missed: 0 };
    const GOOD: Census = Census { records: 102, twice: 0, missing: [0, 100] };

    #[test]
    fn each_planted_fault_is_caught() {
        let failed = |found| judged(&found, WELL)[0].clone();
        assert_eq!(failed(GOOD), "");
        assert_eq!(failed(Census { records: 103, ..GOOD }), "every-insert-is-there");
        assert_eq!(failed(Census { records: 101, ..GOOD }), "every-insert-is-there");
        assert_eq!(failed(Census { twice: 1, ..GOOD }), "no-key-twice");
        assert_eq!(failed(Census { missing: [1, 100], ..GOOD }), "records-have-their-keys");
        assert_eq!(judged(&GOOD, InsertCounts { missed: 1, ..WELL })[0], "every-read-finds-its-record");
    }

    #[test]
    fn an_insert_that_failed_may_be_there_and_its_record_may_not_be_found() {
        let inserts = InsertCounts { acknowledged: 1, unsure: 1, ..WELL };
        assert_eq!(judged(&GOOD, inserts), ["", ""]);
        let inserts = InsertCounts { missed: 3, ..inserts };
        let undecided = ["", "records-have-their-keys every-read-finds-its-record"];
        assert_eq!(judged(&Census { records: 101, missing: [1, 100], ..GOOD }, inserts), undecided);
    }
}
