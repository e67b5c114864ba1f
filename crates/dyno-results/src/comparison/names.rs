//! Sides as a user names them, found in the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::CompareError;
use super::evidence::{Evidence, Gathering};
use super::side::{Member, Side};
use crate::store::{RunSummary, Store, StoreError};
use crate::words::distinct;

/// The sides that these words name, with their evidence, and the index of the base.
pub(super) fn resolve(
    store: &Store,
    words: &[String],
    base: Option<&str>,
) -> Result<(Vec<Side>, usize), CompareError> {
    let (mut finder, wanted) = find(store, words)?;
    let mut sides: Vec<Side> = Vec::new();
    // As typed, for `--base`.
    let mut typed: Vec<String> = Vec::new();
    for (word, references) in words.iter().zip(&wanted) {
        for side in finder.sides(word, references, words.len() == 1)? {
            typed.push(if words.len() == 1 { side.name.clone() } else { word.clone() });
            sides.push(side);
        }
    }
    check(&sides)?;
    shorten(&mut sides);
    let base = match base {
        None => 0,
        Some(wanted) => index_of(&sides, &typed, wanted)?,
    };
    Ok((sides, base))
}

/// The full names of the runs that these words name.
pub(super) fn runs(store: &Store, words: &[String]) -> Result<Vec<String>, CompareError> {
    let (finder, wanted) = find(store, words)?;
    let named = wanted.into_iter().flatten().map(|reference| reference.run);
    Ok(distinct(named.filter_map(|run| run.or_else(|| finder.together.clone()))))
}

fn find<'a>(
    store: &'a Store,
    words: &[String],
) -> Result<(Finder<'a>, Vec<Vec<SideReference>>), CompareError> {
    let runs = store.runs()?;
    if runs.is_empty() {
        return Err(StoreError::NoRuns { path: store.path().to_owned() }.into());
    }
    let mut finder = Finder { store, together: None, runs, loaded: BTreeMap::new() };
    let wanted: Vec<Vec<SideReference>> =
        words.iter().map(|word| finder.references(word)).collect::<Result<_, _>>()?;
    finder.find_together(&wanted)?;
    Ok((finder, wanted))
}

/// Where a side is to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SideReference {
    /// The run's full name; `None` for the newest that has all targets named so.
    run: Option<String>,
    target: Option<String>,
    series: Option<String>,
}

struct Finder<'a> {
    store: &'a Store,
    /// The newest first.
    runs: Vec<RunSummary>,
    /// The newest run that has all targets which are named without one.
    together: Option<String>,
    loaded: BTreeMap<String, Arc<Evidence>>,
}

impl Finder<'_> {
    /// The places of one word, several where they repeat each other.
    fn references(&self, word: &str) -> Result<Vec<SideReference>, CompareError> {
        word.split(',').map(|part| self.reference(part, word)).collect()
    }

    fn reference(&self, part: &str, word: &str) -> Result<SideReference, CompareError> {
        let part = part.trim();
        let (before, series) = match part.split_once('/') {
            Some((before, series)) => (before, Some(series)),
            None => (part, None),
        };
        let (run, target) = match before.split_once(':') {
            Some((run, target)) => (run, Some(target)),
            None => (before, None),
        };
        if run.is_empty() || target.is_some_and(str::is_empty) || series.is_some_and(str::is_empty) {
            return Err(CompareError::Empty { wanted: word.to_owned() });
        }
        let series = series.map(str::to_owned);
        if let Some(target) = target {
            return Ok(SideReference { run: Some(self.run(run)?), target: Some(target.to_owned()), series });
        }
        let is_target = self.runs.iter().any(|summary| has_target(summary, run));
        match self.run(run) {
            Ok(found) if is_target && found != run => {
                Err(CompareError::RunOrTarget { wanted: run.to_owned(), run: found })
            }
            Ok(found) => Ok(SideReference { run: Some(found), target: None, series }),
            Err(_) if is_target => Ok(SideReference { run: None, target: Some(run.to_owned()), series }),
            Err(CompareError::Store(StoreError::NoSuchRun { wanted, near })) => {
                Err(CompareError::NoSuchSide { wanted, near })
            }
            Err(error) => Err(error),
        }
    }

    /// The full name of a run.
    fn run(&self, wanted: &str) -> Result<String, CompareError> {
        Ok(self.store.find(wanted)?)
    }

    /// Finds the newest run that has measured all targets which are named without a run.
    fn find_together(&mut self, wanted: &[Vec<SideReference>]) -> Result<(), CompareError> {
        let unplaced = wanted.iter().flatten().filter(|reference| reference.run.is_none());
        let targets = distinct(unplaced.filter_map(|reference| reference.target.clone()));
        if targets.is_empty() {
            return Ok(());
        }
        let has_all = |run: &&RunSummary| targets.iter().all(|target| has_target(run, target));
        // One that ended before anything was measured there is not what anybody means.
        let measured = |run: &&RunSummary| targets.iter().all(|target| has_measured(run, target));
        let found =
            self.runs.iter().filter(has_all).find(measured).or_else(|| self.runs.iter().find(has_all));
        self.together = found.map(|run| run.name.clone());
        if self.together.is_some() {
            return Ok(());
        }
        let newest = |target: &String| {
            let run = self.runs.iter().find(|run| has_target(run, target))?;
            Some((target.clone(), run.name.clone()))
        };
        let found = targets.iter().filter_map(newest).collect();
        Err(CompareError::NotTogether { targets, found })
    }

    /// The side of a word; each target of the run where that is the only word and says no more.
    fn sides(
        &mut self,
        word: &str,
        references: &[SideReference],
        alone: bool,
    ) -> Result<Vec<Side>, CompareError> {
        let mut members: Vec<(Member, Option<String>)> = Vec::new();
        for reference in references {
            let Some(run) = reference.run.clone().or_else(|| self.together.clone()) else { continue };
            let evidence = self.evidence(&run)?;
            let targets: Vec<String> =
                evidence.report().targets.iter().map(|target| target.name.clone()).collect();
            if let (true, [_], None, [_, _, ..]) = (alone, references, &reference.target, targets.as_slice())
            {
                let side = |target: String| {
                    named(vec![(
                        Member { evidence: Arc::clone(&evidence), target },
                        reference.series.clone(),
                    )])
                };
                return Ok(targets.into_iter().map(side).collect());
            }
            let target = match (&reference.target, targets.as_slice()) {
                (Some(wanted), targets) if targets.contains(wanted) => wanted.clone(),
                (Some(wanted), _) => {
                    return Err(CompareError::NoSuchTarget { run, wanted: wanted.clone(), targets });
                }
                (None, [only]) => only.clone(),
                // A run that ended before its target was described has nothing else to say either.
                (None, []) => String::new(),
                (None, _) => return Err(CompareError::SeveralTargets { run, targets }),
            };
            members.push((Member { evidence, target }, reference.series.clone()));
        }
        check_series(word, &members)?;
        Ok(if members.is_empty() { Vec::new() } else { vec![named(members)] })
    }

    fn evidence(&mut self, run: &str) -> Result<Arc<Evidence>, CompareError> {
        if let Some(evidence) = self.loaded.get(run) {
            return Ok(Arc::clone(evidence));
        }
        let mut gathering = Gathering::new();
        self.store.read(run, |stamped| gathering.add(&stamped))?;
        let evidence = Arc::new(gathering.finish());
        self.loaded.insert(run.to_owned(), Arc::clone(&evidence));
        Ok(evidence)
    }
}

fn has_target(run: &RunSummary, wanted: &str) -> bool {
    run.content.targets.iter().any(|target| target.name == wanted)
}

fn has_measured(run: &RunSummary, wanted: &str) -> bool {
    run.content.series.iter().any(|series| series.target == wanted)
}

fn check_series(word: &str, members: &[(Member, Option<String>)]) -> Result<(), CompareError> {
    for (member, series) in members {
        let Some(wanted) = series else { continue };
        if member.series(wanted).is_none() {
            let of_target = member.report().series.iter().filter(|series| series.target == member.target);
            return Err(CompareError::NoSuchSeries {
                run: member.report().run.name.clone(),
                target: member.target.clone(),
                wanted: wanted.clone(),
                series: of_target.map(|series| series.name.clone()).collect(),
            });
        }
    }
    let mut series: Vec<String> =
        members.iter().map(|(_, series)| series.clone().unwrap_or_else(|| "all".to_owned())).collect();
    series.dedup();
    if series.len() > 1 {
        return Err(CompareError::DifferentSeries { wanted: word.to_owned(), series });
    }
    Ok(())
}

/// A side of these runs, with its full name.
fn named(members: Vec<(Member, Option<String>)>) -> Side {
    let series = members.first().and_then(|(_, series)| series.clone());
    let members: Vec<Member> = members.into_iter().map(|(member, _)| member).collect();
    let mut name = members.first().map(full_name).unwrap_or_default();
    if members.len() > 1 {
        name.push_str(&format!(" +{}", members.len() - 1));
    }
    if let Some(series) = &series {
        name.push_str(&format!("/{series}"));
    }
    Side { name, members, series }
}

fn full_name(member: &Member) -> String {
    let report = member.report();
    if report.targets.len() > 1 {
        format!("{}:{}", report.run.name, member.target)
    } else {
        report.run.name.clone()
    }
}

fn check(sides: &[Side]) -> Result<(), CompareError> {
    let mut seen: Vec<(&str, &str, Option<&str>)> = Vec::new();
    for side in sides {
        for member in &side.members {
            let key = (member.report().run.name.as_str(), member.target.as_str(), side.series.as_deref());
            if seen.contains(&key) {
                return Err(CompareError::Twice { name: full_name(member) });
            }
            seen.push(key);
        }
    }
    match sides {
        [] => Err(CompareError::Empty { wanted: String::new() }),
        [only] => Err(CompareError::Alone { name: only.name.clone() }),
        _ => Ok(()),
    }
}

/// Where all sides are of one run, their targets tell them apart.
fn shorten(sides: &mut [Side]) {
    let mut runs = sides.iter().flat_map(|side| &side.members).map(|member| member.report().run.name.clone());
    let first = runs.next();
    if !runs.all(|run| Some(&run) == first.as_ref()) {
        return;
    }
    for side in sides {
        let target = side.members.first().map(|member| member.target.clone()).unwrap_or_default();
        side.name = match &side.series {
            Some(series) => format!("{target}/{series}"),
            None => target,
        };
    }
}

/// A base is named as it was typed among the sides, or as it is shown.
fn index_of(sides: &[Side], typed: &[String], wanted: &str) -> Result<usize, CompareError> {
    let shown = sides.iter().position(|side| side.name == wanted);
    let found = typed.iter().position(|word| word == wanted).or(shown).or_else(|| {
        let mut of_target = sides.iter().enumerate().filter(|(_, side)| {
            side.members.iter().any(|member| member.target == wanted || member.report().run.name == wanted)
        });
        let first = of_target.next()?;
        of_target.next().is_none().then_some(first.0)
    });
    found.ok_or_else(|| CompareError::NoSuchBase {
        wanted: wanted.to_owned(),
        sides: sides.iter().map(|side| side.name.clone()).collect(),
    })
}

#[cfg(test)]
#[path = "tests/names.rs"]
mod tests;
