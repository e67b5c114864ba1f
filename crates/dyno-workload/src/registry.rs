//! The workloads that there are, and how a name that a user typed finds one. Names only; runs nothing.

use thiserror::Error;

use crate::events;
use crate::sysbench::{self, Test};
use crate::tpcb::{self, Script};

/// A workload as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// `tpcb/select-only`
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The protocols of the servers that it runs on.
    pub runs_on: &'static [&'static str],
}

/// Workloads of one family, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    TpcB(Vec<Script>),
    Sysbench(Vec<Test>),
    Events(Vec<events::Test>),
}

impl Selection {
    /// The workloads' names: `tpcb/select-only`.
    #[must_use]
    pub fn workloads(&self) -> Vec<&'static str> {
        match self {
            Self::TpcB(scripts) => scripts.iter().map(|script| script.workload()).collect(),
            Self::Sysbench(tests) => tests.iter().map(|test| test.workload()).collect(),
            Self::Events(tests) => tests.iter().map(|test| test.workload()).collect(),
        }
    }

    /// Both, one after the other, each workload once.
    ///
    /// # Errors
    /// They are of two families, whose data are not the same.
    pub fn and(self, more: Self) -> Result<Self, String> {
        match (self, more) {
            (Self::TpcB(all), Self::TpcB(more)) => Ok(Self::TpcB(united(all, more))),
            (Self::Sysbench(all), Self::Sysbench(more)) => Ok(Self::Sysbench(united(all, more))),
            (Self::Events(all), Self::Events(more)) => Ok(Self::Events(united(all, more))),
            (all, more) => Err(format!(
                "{} and {} are on different data: a run has the workloads of one family",
                all.workloads().join(", "),
                more.workloads().join(", ")
            )),
        }
    }
}

fn united<T: PartialEq>(mut all: Vec<T>, more: Vec<T>) -> Vec<T> {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

const POSTGRES: &[&str] = &["PostgreSQL"];
const BOTH: &[&str] = &["PostgreSQL", "MySQL"];

/// All workloads, each family before its own.
#[must_use]
pub fn workloads() -> Vec<Listed> {
    names().into_iter().map(|name| name.listed).collect()
}

/// The workloads that `typed` names: in full, or by the beginning of a name that no other name shares. A family's name
/// alone is one that reads and one that writes. The names that pgbench and sysbench have for them are taken too
/// (`select-only`, `oltp_read_write`), and sysbench's also without `oltp_`; dashes and underscores are the same.
///
/// # Errors
/// No workload or more than one begins so.
pub fn find(typed: &str) -> Result<Selection, UnknownWorkload> {
    let wanted = plain(typed.trim());
    let begins = |name: &Name| !wanted.is_empty() && name.calls.iter().any(|call| call.starts_with(&wanted));
    let is = |name: &Name| name.calls.contains(&wanted);
    let mut found: Vec<Name> = names().into_iter().filter(begins).collect();
    // What is named in full is meant, also where other names go on from it.
    if found.iter().filter(|name| is(name)).count() == 1 {
        found.retain(is);
    }
    // The beginning of a family's name begins those of its workloads too.
    if let Some(family) = found.iter().find(|name| name.is_family()).map(|name| name.family)
        && found.iter().all(|name| name.family == family)
    {
        found.retain(Name::is_family);
    }
    match found.as_slice() {
        [only] => Ok(only.selection.clone()),
        [] => Err(UnknownWorkload::NoSuch {
            typed: typed.to_owned(),
            nearest: nearest(&typed.to_ascii_lowercase()),
            known: list(workloads().iter().map(|listed| listed.name)),
        }),
        _ => Err(UnknownWorkload::Ambiguous {
            typed: typed.to_owned(),
            candidates: list(found.iter().map(|name| name.listed.name)),
        }),
    }
}

/// What a user may call a workload or a family.
struct Name {
    listed: Listed,
    /// That it is of, or that it is.
    family: &'static str,
    /// In the form of [`plain`].
    calls: Vec<String>,
    selection: Selection,
}

impl Name {
    /// `calls` are further names for it.
    fn new(
        name: &'static str,
        about: &'static str,
        runs_on: &'static [&'static str],
        calls: &[&str],
        selection: Selection,
    ) -> Self {
        let family = name.split('/').next().unwrap_or(name);
        let calls = [name].iter().chain(calls).map(|call| plain(call)).collect();
        Self { listed: Listed { name, about, runs_on }, family, calls, selection }
    }

    fn is_family(&self) -> bool {
        self.listed.name == self.family
    }
}

fn names() -> Vec<Name> {
    let two = Selection::TpcB(vec![Script::SelectOnly, Script::TpcbLike]);
    let about = "read, then write: tpcb/select-only and tpcb/tpcb-like in turn";
    let mut names = vec![Name::new(tpcb::NAME, about, POSTGRES, &[], two)];
    names.extend(Script::ALL.map(|script| {
        let selection = Selection::TpcB(vec![script]);
        Name::new(script.workload(), script.about(), POSTGRES, &[script.name()], selection)
    }));
    let two = Selection::Sysbench(vec![Test::PointSelect, Test::ReadWrite]);
    let about = "read, then write: sysbench/oltp_point_select and sysbench/oltp_read_write in turn";
    names.push(Name::new(sysbench::NAME, about, BOTH, &[], two));
    names.extend(Test::ALL.map(|test| {
        let short = test.name().strip_prefix("oltp_").unwrap_or(test.name());
        let calls = [test.name(), short, &format!("{}/{short}", sysbench::NAME)];
        Name::new(test.workload(), test.about(), BOTH, &calls, Selection::Sysbench(vec![test]))
    }));
    let about = "read, then write: events/join and events/ingest in turn";
    let two = Selection::Events(events::Test::ALL.to_vec());
    names.push(Name::new(events::NAME, about, BOTH, &[], two));
    names.extend(events::Test::ALL.map(|test| {
        let selection = Selection::Events(vec![test]);
        Name::new(test.workload(), test.about(), BOTH, &[test.name()], selection)
    }));
    names
}

/// A name as names are compared.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// How like a name is to what was typed, 0 to 1: the whole of it, or its last part where only that was typed.
#[must_use]
pub fn likeness(typed: &str, name: &str) -> f64 {
    let whole = strsim::jaro_winkler(typed, name);
    match name.rsplit_once('/') {
        Some((_, last)) if !typed.contains('/') => whole.max(strsim::jaro_winkler(typed, last)),
        _ => whole,
    }
}

/// The name that `typed` was most likely meant to be; `None` where none is near.
fn nearest(typed: &str) -> Option<&'static str> {
    let scored = workloads().into_iter().map(|listed| (likeness(typed, listed.name), listed.name));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.7).map(|(_, name)| name)
}

/// Why a name finds no workload.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownWorkload {
    #[error("no workload {typed:?}{}; there are {known}", nearest.map(|name| format!(", did you mean {name}?")).unwrap_or_default())]
    NoSuch { typed: String, nearest: Option<&'static str>, known: String },
    #[error("workload {typed:?} could be {candidates}; type more of its name")]
    Ambiguous { typed: String, candidates: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(typed: &str) -> Vec<Script> {
        match find(typed) {
            Ok(Selection::TpcB(scripts)) => scripts,
            other => panic!("{typed}: {other:?}"),
        }
    }

    fn tests(typed: &str) -> Vec<Test> {
        match find(typed) {
            Ok(Selection::Sysbench(tests)) => tests,
            other => panic!("{typed}: {other:?}"),
        }
    }

    #[test]
    fn names_are_found_by_their_beginning() {
        assert_eq!(scripts("tpcb"), [Script::SelectOnly, Script::TpcbLike]);
        assert_eq!(scripts("tp"), [Script::SelectOnly, Script::TpcbLike]);
        assert_eq!(scripts("tpcb/sel"), [Script::SelectOnly]);
        assert_eq!(scripts("TPCB/T"), [Script::TpcbLike]);
        assert_eq!(scripts("tpcb-like"), [Script::TpcbLike]);
        assert_eq!(scripts("simple"), [Script::SimpleUpdate]);
        assert_eq!(scripts("select_only"), [Script::SelectOnly]);
        for listed in workloads() {
            assert!(find(listed.name).is_ok(), "{}", listed.name);
        }
    }

    #[test]
    fn sysbenchs_tests_are_found_by_sysbenchs_names_and_without_their_prefix() {
        assert_eq!(tests("sysbench"), [Test::PointSelect, Test::ReadWrite]);
        assert_eq!(tests("sys"), [Test::PointSelect, Test::ReadWrite]);
        for test in Test::ALL {
            assert_eq!(tests(test.workload()), [test]);
            assert_eq!(tests(test.name()), [test]);
            assert_eq!(tests(test.name().strip_prefix("oltp_").unwrap_or(test.name())), [test]);
            assert_eq!(tests(&test.name().replace('_', "-")), [test]);
        }
        assert_eq!(tests("sysbench/read-write"), [Test::ReadWrite]);
        assert_eq!(tests("point"), [Test::PointSelect]);
    }

    #[test]
    fn events_are_found_by_their_family_and_alone() {
        let found = |typed: &str| match find(typed) {
            Ok(Selection::Events(tests)) => tests,
            other => panic!("{typed}: {other:?}"),
        };
        assert_eq!((found("events"), found("ev")), (events::Test::ALL.to_vec(), events::Test::ALL.to_vec()));
        assert_eq!(
            (found("events/i"), found("ingest")),
            (vec![events::Test::Ingest], vec![events::Test::Ingest])
        );
        assert_eq!(
            (found("Events/Join"), found("join")),
            (vec![events::Test::Join], vec![events::Test::Join])
        );
    }

    #[test]
    fn what_is_not_unique_or_not_known_is_said() {
        let ambiguous = find("tpcb/s").unwrap_err().to_string();
        assert!(ambiguous.contains("tpcb/simple-update, tpcb/select-only"), "{ambiguous}");
        let of_two = find("select").unwrap_err().to_string();
        assert!(of_two.contains("tpcb/select-only") && of_two.contains("select_random_points"), "{of_two}");
        assert!(find("update").is_err() && find("s").is_err() && find("sysbench/").is_err());
        let mistyped = find("tpcb/selct-only").unwrap_err().to_string();
        assert!(mistyped.contains("did you mean tpcb/select-only?"), "{mistyped}");
        let mistyped = find("oltp_raed_write").unwrap_err().to_string();
        assert!(mistyped.contains("did you mean sysbench/oltp_read_write?"), "{mistyped}");
        let unknown = find("xyzzy").unwrap_err().to_string();
        assert!(!unknown.contains("did you mean") && unknown.contains("there are tpcb, "), "{unknown}");
        assert!(find("").is_err());
    }
}
