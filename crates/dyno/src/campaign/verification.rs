//! Whether the database holds what it acknowledged: its data is read before a load and compared after it. A
//! check that is not made is told as well as one that fails. Never looks while the load moves.

use dyno_results::answer::{self, Compared};
use dyno_results::event::{Check, Event, QueryAnswer};
use dyno_results::format;
use dyno_results::judge::{DATA_AFTER_LOAD, DATA_UNKNOWN};
use dyno_workload::benchmark::{Baseline, Dataset, Done, SeriesLoad};
use serde_json::Value;

use super::Context;
use super::admin::{cancellable, telling};
use super::open_files::SAME_FILE;
use super::stages::StreamResults;
use super::system::System;
use crate::failure::Failure;
use crate::plan::StreamPlan;

/// Targets that are compared hold the same data.
const SAME_DATA: &str = "same-data";

/// The name of a check that stands for all of a load, and why it is not made.
type NotMade = (&'static str, &'static str);

/// The check of a phase, from before its loads to after them.
pub(super) struct Verification {
    /// The workload that is told of.
    workload: String,
    writes: bool,
    /// Where there is none, the name of the check that is not made, and why.
    baseline: Result<Baseline, NotMade>,
}

impl Verification {
    /// Reads the data before the loads, which are the workloads of a phase with what of each changes the data.
    pub(super) fn begin(
        context: &Context<'_>,
        system: &mut System<'_>,
        loads: &[(&StreamPlan, &dyn SeriesLoad)],
    ) -> Result<Self, Failure> {
        let writers = loads.iter().filter(|(_, load)| load.series().writes);
        let mut names: Vec<&str> = writers.map(|(stream, _)| stream.workload.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let first = names.first().copied();
        let judged = loads.iter().find(|(stream, _)| first.is_none_or(|name| stream.workload == name));
        let verification = |baseline| Self {
            workload: judged.map(|(stream, _)| stream.workload.clone()).unwrap_or_default(),
            writes: first.is_some(),
            baseline,
        };
        if context.plan.spec.no_verify {
            return Ok(verification(Err((DATA_AFTER_LOAD, "--no-verify says so"))));
        }
        if names.len() > 1 {
            let why = "several streams change the data, each in another way";
            return Ok(verification(Err((DATA_UNKNOWN, why))));
        }
        let unknown = Err((DATA_UNKNOWN, "dyno does not know what has to be in the tables that it changes"));
        let Some((_, load)) = judged else { return Ok(verification(unknown)) };
        let what = format!("reading the data of {} before the load", system.name());
        let connection = system.server.reconnect_if_broken()?;
        let read = || cancellable(context, connection, |connection| load.baseline(connection));
        let baseline = telling(context, &what, read)?;
        for text in baseline.iter().flat_map(|baseline| &baseline.told) {
            context.stream.notice(system.name(), None, text.clone());
        }
        Ok(verification(baseline.map_or(unknown, Ok)))
    }

    /// Compares, after the loads of these workloads that brought `results`; their clients must be gone.
    pub(super) fn end<'s>(
        self,
        context: &Context<'_>,
        system: &mut System<'_>,
        results: impl Iterator<Item = (&'s str, &'s StreamResults)>,
    ) -> Result<(), Failure> {
        // Whatever was to be compared: what was acknowledged is not where anybody looks for it.
        if let Some(moved) = system.server.files().moved().map(str::to_owned) {
            self.tell_moved(context, system.name(), moved);
            return Ok(());
        }
        let results: Vec<&StreamResults> =
            results.filter_map(|(workload, own)| (workload == self.workload).then_some(own)).collect();
        let mut sums = results.iter().flat_map(|own| &own.sums).peekable();
        if sums.peek().is_none() {
            // No transaction was ever begun.
            return Ok(());
        }
        let why_not = match &self.baseline {
            Err(why) => *why,
            // To compare means to read all the data, which is not what a user waits for who wants to stop.
            _ if context.is_stopped() => (DATA_AFTER_LOAD, "interrupted"),
            _ if !sums.all(|sum| sum.counted) => {
                (DATA_AFTER_LOAD, "the load failed before all acknowledged transactions were counted")
            }
            Ok(baseline) => {
                let checked = compare(context, system, baseline, &results);
                if let Err(failure) = &checked {
                    self.tell_not_made(context, system.name(), (DATA_AFTER_LOAD, &failure.to_string()));
                }
                return checked;
            }
        };
        self.tell_not_made(context, system.name(), why_not);
        Ok(())
    }

    fn tell_moved(&self, context: &Context<'_>, target: &str, moved: String) {
        let lost = if self.writes {
            ": what was acknowledged since is in a file that nobody finds"
        } else {
            ": what was read since was not in the file that is there now"
        };
        context.stream.emit(Event::Check(Check {
            target: target.to_owned(),
            workload: self.workload.clone(),
            series: None,
            name: SAME_FILE.to_owned(),
            passed: Some(false),
            expected: None,
            found: None,
            detail: moved + lost,
        }));
    }

    /// Of a load that only reads there is nothing to miss.
    fn tell_not_made(&self, context: &Context<'_>, target: &str, (name, why): (&str, &str)) {
        if self.writes {
            context.stream.emit(Event::Check(Check {
                target: target.to_owned(),
                workload: self.workload.clone(),
                series: None,
                name: name.to_owned(),
                passed: None,
                expected: None,
                found: None,
                detail: why.to_owned(),
            }));
        }
    }
}

/// Compares answers with those that were recorded, and tells of those that were compared with any that are known to be right.
/// A query that `failed` returned none, unless it has an answer of another pass or client. One with neither was never sent, or not
/// to its end: nothing is known of it.
pub(super) fn answers(
    context: &Context<'_>,
    target: &str,
    stream: &StreamPlan,
    answers: &mut [QueryAnswer],
    failed: &[String],
) {
    let tell = |name: &str, valid: usize, known: usize, detail: String| {
        let is_compared = known > 0;
        context.stream.emit(Event::Check(Check {
            target: target.to_owned(),
            workload: stream.workload.clone(),
            series: Some(stream.name.clone()),
            name: name.to_owned(),
            passed: is_compared.then_some(valid == known),
            expected: is_compared.then(|| known.to_string()),
            found: is_compared.then(|| valid.to_string()),
            detail,
        }));
    };
    let known: Vec<bool> = answers.iter().filter_map(|answer| answer.validated).collect();
    let valid = known.iter().filter(|valid| **valid).count();
    if !known.is_empty() {
        let detail = format!("{valid} of {} answers are those of the specification", known.len());
        tell(answer::OF_SPECIFICATION, valid, known.len(), detail);
    }
    let Some(recorded) = &stream.answers else { return };
    let is_missing = |query: &&String| {
        recorded.answer(&stream.name, query).is_some() && !answers.iter().any(|it| it.query == **query)
    };
    let none_ended = answers.is_empty() && failed.is_empty();
    let missing = failed.iter().filter(is_missing).count();
    let (mut known, mut valid) = (missing, 0);
    for answer in answers {
        let expected = recorded.answer(&stream.name, &answer.query);
        // With other values it is another question.
        let Some(expected) = expected.filter(|it| answer::are_comparable(it, answer)) else { continue };
        let differs = match answer::compare_stored(expected, answer) {
            Compared::Alike => None,
            // As far as its text determines it, it is the recorded one.
            Compared::Varies(why) => {
                (known, valid) = (known + 1, valid + 1);
                answer.varies = Some(why);
                continue;
            }
            Compared::Other(differs) => Some(differs),
        };
        known += 1;
        valid += usize::from(differs.is_none());
        if answer.wrong.is_none() {
            (answer.validated, answer.recorded, answer.wrong) = (Some(differs.is_none()), true, differs);
        }
    }
    let none = if missing == 0 { String::new() } else { format!("; {missing} of the queries returned none") };
    match known {
        0 if none_ended => {}
        0 => {
            let detail =
                "none of the recorded answers is to a query that was answered here, with the same values";
            tell(answer::AS_RECORDED, 0, 0, detail.to_owned());
        }
        _ => {
            tell(
                answer::AS_RECORDED,
                valid,
                known,
                format!("{valid} of {known} answers are as recorded{none}"),
            );
        }
    }
}

fn compare(
    context: &Context<'_>,
    system: &mut System<'_>,
    baseline: &Baseline,
    results: &[&StreamResults],
) -> Result<(), Failure> {
    let mut done = Done::default();
    results.iter().flat_map(|own| &own.sums).for_each(|sum| done.add(&sum.told));
    let acknowledged: Vec<Value> = results.iter().flat_map(|own| own.acknowledged.iter().cloned()).collect();
    let name = system.name();
    let connection = system.server.reconnect_behind_load(context)?;
    let verify = || {
        cancellable(context, connection, |connection| baseline.verify(connection, name, done, &acknowledged))
    };
    let checks = telling(context, &format!("verifying {name}"), verify)?;
    for check in checks {
        context.stream.emit(Event::Check(check));
    }
    Ok(())
}

/// What a target holds before any load, as far as it can be compared with another's.
#[derive(Debug, PartialEq)]
struct Contents {
    /// Rows of each table, where they were counted.
    rows: Option<Vec<u64>>,
    /// What decides over the rows to the byte, where that is known.
    recipe: Option<String>,
    tables: Vec<String>,
}

/// Brings the data of all targets to as many rows of each table as the largest has. A family whose rows cannot be added to
/// says so.
pub(super) fn top_up(context: &Context<'_>, systems: &mut [System<'_>]) -> Result<(), Failure> {
    let counts = systems.iter_mut().map(|system| system.count(context)).collect::<Result<Vec<_>, _>>()?;
    let larger = |one: Vec<u64>, other: Vec<u64>| one.into_iter().zip(other).map(|(a, b)| a.max(b)).collect();
    let most: Vec<u64> = counts.iter().flatten().cloned().reduce(larger).unwrap_or_default();
    for (system, rows) in systems.iter_mut().zip(counts) {
        if rows.as_ref() == Some(&most) {
            continue;
        }
        system.top_up(context, &most)?;
        let added = most.iter().sum::<u64>() - rows.iter().flatten().sum::<u64>();
        let text = format!("{} added to its data", format::counted(added, "row"));
        context.stream.notice(system.name(), None, text);
    }
    Ok(())
}

/// Checks that all targets hold the same data before they are compared. Where a family of workloads counts no rows,
/// nothing is said.
pub(super) fn same_data(context: &Context<'_>, systems: &mut [System<'_>]) -> Result<(), Failure> {
    if systems.len() < 2 || context.plan.spec.no_verify {
        return Ok(());
    }
    context.stream.activity("comparing the data of the targets");
    let mut systems: Vec<&mut System<'_>> = systems.iter_mut().filter(|system| system.is_live()).collect();
    let contents =
        systems.iter_mut().map(|system| contents(context, system)).collect::<Result<Vec<_>, _>>()?;
    let ((first, expected), others) = match systems.iter().zip(&contents).collect::<Vec<_>>().split_first() {
        Some((first, others)) => (*first, others.to_vec()),
        None => return Ok(()),
    };
    for (system, found) in others {
        if let (Some(expected_rows), Some(found_rows)) = (&expected.rows, &found.rows) {
            // What loads of before have added matters to none that only adds.
            let only_writes = context.plan.only_writes(&system.plan.benchmark.series());
            let (same, verdict) = expected.compare(found, only_writes);
            let detail = format!("before the load {} and {} {verdict}", first.name(), system.name());
            let (expected, found) =
                (named(&expected.tables, expected_rows), named(&found.tables, found_rows));
            if !same {
                // What a load on them would bring could not be compared: that is known now, and not only behind it.
                return Err(Failure::advised(
                    format!("{detail}: {expected} against {found}"),
                    "run with --top-up to add what is missing where the workload can, with --prepare to create the data of all targets again, \
                     or with --no-verify to use them as they are",
                ));
            }
            context.stream.emit(Event::Check(Check {
                target: system.name().to_owned(),
                workload: system.plan.benchmark.name().to_owned(),
                series: None,
                name: SAME_DATA.to_owned(),
                passed: Some(same),
                expected: Some(expected),
                found: Some(found),
                detail,
            }));
        }
    }
    Ok(())
}

/// Checks that each table has the rows that its generator makes: a load of fewer would be measured as if it had them.
pub(super) fn rows_as_expected(
    target: &str,
    family: &str,
    data: &Dataset,
    found: &[u64],
) -> Result<(), Failure> {
    let each = data.tables.iter().zip(&data.expected).zip(found);
    let other = each.filter(|((_, expected), found)| !expected.allows(**found));
    let said = other.map(|((table, expected), found)| {
        format!("{table} has {}, not {expected}", format::counted(*found, "row"))
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() {
        return Ok(());
    }
    Err(Failure::advised(
        format!("the data of {family} on {target} are not as they were made: {}", said.join("; ")),
        "these are the rows that were made and what the transactions of the workload, as it is now, may have added: others have added or \
         removed some, or its transactions once did; run with --prepare to load them again, or with --no-verify to use them as they are",
    ))
}

impl Contents {
    /// Whether both are the same for a load, and how that is said.
    fn compare(&self, other: &Self, only_writes: bool) -> (bool, &'static str) {
        let recipes = self.recipe.as_ref().zip(other.recipe.as_ref());
        let (alike, unlike) = (recipes.is_some_and(|(a, b)| a == b), recipes.is_some_and(|(a, b)| a != b));
        match self.rows == other.rows {
            true if unlike => (false, "have the same number of rows, but not the same rows"),
            true => (true, "have the same number of rows"),
            false if alike && only_writes => {
                (true, "were created the same, but earlier loads have added different rows")
            }
            false if alike => (false, "were created the same, but earlier loads have added different rows"),
            false => (false, "do not have the same number of rows"),
        }
    }
}

fn contents(context: &Context<'_>, system: &mut System<'_>) -> Result<Contents, Failure> {
    let counted = system.count(context)?;
    let Some(data) = system.data() else {
        return Ok(Contents { rows: None, recipe: None, tables: Vec::new() });
    };
    let uniform = data.table_rows.map(|rows| vec![rows; data.tables.len()]);
    Ok(Contents { rows: counted.or(uniform), recipe: data.recipe.clone(), tables: data.tables.clone() })
}

/// `customer 10000, event 1000000`
fn named(tables: &[String], rows: &[u64]) -> String {
    let each = tables.iter().zip(rows).map(|(table, rows)| format!("{table} {rows}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::Contents;

    #[test]
    fn what_was_made_the_same_may_have_grown_where_a_load_only_adds() {
        let held = |rows: u64, recipe: Option<&str>| Contents {
            rows: Some(vec![rows]),
            recipe: recipe.map(str::to_owned),
            tables: Vec::new(),
        };
        let same = |a: (u64, Option<&str>), b: (u64, Option<&str>), only_writes| {
            held(a.0, a.1).compare(&held(b.0, b.1), only_writes).0
        };
        let made = Some("made");
        assert!(same((5, made), (5, made), false) && same((5, None), (5, None), false));
        assert!(same((5, made), (7, made), true) && !same((5, made), (7, made), false));
        assert!(!same((5, made), (5, Some("otherwise")), true));
        assert!(!same((5, None), (7, None), true), "nobody knows how they were made");
    }
}
