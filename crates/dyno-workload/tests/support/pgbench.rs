//! What the real pgbench of each version did, as it is recorded. What several versions did alike is recorded once.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use dyno_test_servers::{Pgbench, Recorded};

/// By aspect (messages, statements, …), the lines.
pub(crate) type Did = BTreeMap<&'static str, Vec<String>>;

/// By versions (`15, 18`), what they did.
type ByVersions = BTreeMap<String, Vec<String>>;

/// The recordings in `tests/<suite>/recorded/<name>.json`.
pub(crate) fn recordings(suite: &str, name: &str) -> Recorded {
    Recorded::open(&Path::new("tests").join(suite).join("recorded").join(format!("{name}.json")))
}

/// The programs to record and to compare with, oldest first.
pub(crate) fn programs() -> &'static [Pgbench] {
    static PROGRAMS: OnceLock<Vec<Pgbench>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let mut programs = Pgbench::all();
        programs.sort_by_key(|pgbench| pgbench.version);
        assert!(programs.len() > 1, "pgbench 18 and that of the installed PostgreSQL are to be there");
        programs
    })
}

/// What each version did in the case `key`, from the recordings; `run` has the real program do it.
pub(crate) fn lines(
    recorded: &Recorded,
    key: &str,
    mut run: impl FnMut(&Pgbench) -> Vec<String>,
) -> Vec<(u32, Vec<String>)> {
    let by_versions = recorded.get(key, || {
        let runs: Vec<_> = programs().iter().map(|pgbench| (pgbench.version, run(pgbench))).collect();
        alike(runs)
    });
    each(&by_versions).collect()
}

/// The same of several aspects of one run, and of no version before `since`.
pub(crate) fn aspects(
    recorded: &Recorded,
    key: &str,
    since: u32,
    mut run: impl FnMut(&Pgbench) -> Did,
) -> Vec<(u32, BTreeMap<String, Vec<String>>)> {
    let by_aspect: BTreeMap<String, ByVersions> = recorded.get(key, || {
        let mut runs = BTreeMap::<_, Vec<_>>::new();
        for pgbench in programs().iter().filter(|pgbench| pgbench.version >= since) {
            for (aspect, lines) in run(pgbench) {
                runs.entry(aspect.to_owned()).or_default().push((pgbench.version, lines));
            }
        }
        runs.into_iter().map(|(aspect, runs)| (aspect, alike(runs))).collect()
    });
    let mut versions = BTreeMap::<u32, BTreeMap<_, _>>::new();
    for (aspect, by_versions) in &by_aspect {
        for (version, lines) in each(by_versions) {
            versions.entry(version).or_default().insert(aspect.clone(), lines);
        }
    }
    assert!(!versions.is_empty(), "{key}: there is nothing to compare with");
    versions.into_iter().collect()
}

fn alike(runs: Vec<(u32, Vec<String>)>) -> ByVersions {
    let mut alike = Vec::<(String, Vec<String>)>::new();
    for (version, lines) in runs {
        match alike.iter_mut().find(|(_, same)| *same == lines) {
            Some((versions, _)) => *versions += &format!(", {version}"),
            None => alike.push((version.to_string(), lines)),
        }
    }
    alike.into_iter().collect()
}

fn each(by_versions: &ByVersions) -> impl Iterator<Item = (u32, Vec<String>)> {
    by_versions.iter().flat_map(|(versions, lines)| {
        versions.split(", ").map(|version| (version.parse().unwrap(), lines.clone()))
    })
}
