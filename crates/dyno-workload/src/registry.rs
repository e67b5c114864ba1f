//! The workloads that there are, and how a name that a user typed finds one. Names only; runs nothing.

use thiserror::Error;

use crate::tpcb::{self, Script};

/// A workload as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// `tpcb/select-only`
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
}

/// Workloads of one family, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    TpcB(Vec<Script>),
}

/// All workloads, families first.
#[must_use]
pub fn workloads() -> Vec<Listed> {
    let family =
        Listed { name: tpcb::NAME, about: "read, then write: tpcb/select-only and tpcb/tpcb-like in turn" };
    let scripts = Script::ALL.iter().map(|script| Listed { name: script.workload(), about: script.about() });
    std::iter::once(family).chain(scripts).collect()
}

/// The workloads that `typed` names: in full, or by the beginning of a name that no other name shares. `tpcb` alone is
/// one that reads and one that writes; pgbench's names (`select-only`) are taken too.
///
/// # Errors
/// No workload or more than one begins so.
pub fn find(typed: &str) -> Result<Selection, UnknownWorkload> {
    let typed_lower = typed.trim().to_ascii_lowercase();
    if !typed_lower.is_empty() && tpcb::NAME.starts_with(&typed_lower) {
        return Ok(Selection::TpcB(vec![Script::SelectOnly, Script::TpcbLike]));
    }
    let begins = |script: &Script| {
        !typed_lower.is_empty()
            && (script.workload().starts_with(&typed_lower) || script.name().starts_with(&typed_lower))
    };
    let found: Vec<Script> = Script::ALL.into_iter().filter(begins).collect();
    match found[..] {
        [script] => Ok(Selection::TpcB(vec![script])),
        [] => Err(UnknownWorkload::NoSuch {
            typed: typed.to_owned(),
            nearest: nearest(&typed_lower),
            known: names(workloads().into_iter().map(|listed| listed.name)),
        }),
        _ => Err(UnknownWorkload::Ambiguous {
            typed: typed.to_owned(),
            candidates: names(found.into_iter().map(Script::workload)),
        }),
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The name that `typed` was most likely meant to be; `None` where none is near.
fn nearest(typed: &str) -> Option<&'static str> {
    let near = |listed: &Listed| {
        let last = listed.name.rsplit('/').next().unwrap_or(listed.name);
        strsim::jaro_winkler(typed, listed.name).max(strsim::jaro_winkler(typed, last))
    };
    let scored = workloads().into_iter().map(|listed| (near(&listed), listed.name));
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
        let Selection::TpcB(scripts) = find(typed).unwrap();
        scripts
    }

    #[test]
    fn names_are_found_by_their_beginning() {
        assert_eq!(scripts("tpcb"), [Script::SelectOnly, Script::TpcbLike]);
        assert_eq!(scripts("tp"), [Script::SelectOnly, Script::TpcbLike]);
        assert_eq!(scripts("tpcb/sel"), [Script::SelectOnly]);
        assert_eq!(scripts("TPCB/T"), [Script::TpcbLike]);
        assert_eq!(scripts("tpcb-like"), [Script::TpcbLike]);
        assert_eq!(scripts("simple"), [Script::SimpleUpdate]);
        for listed in workloads() {
            assert!(find(listed.name).is_ok(), "{}", listed.name);
        }
    }

    #[test]
    fn what_is_not_unique_or_not_known_is_said() {
        let ambiguous = find("tpcb/s").unwrap_err().to_string();
        assert!(ambiguous.contains("tpcb/simple-update, tpcb/select-only"), "{ambiguous}");
        let mistyped = find("tpcb/selct-only").unwrap_err().to_string();
        assert!(mistyped.contains("did you mean tpcb/select-only?"), "{mistyped}");
        let unknown = find("xyzzy").unwrap_err().to_string();
        assert!(!unknown.contains("did you mean") && unknown.contains("there are tpcb, "), "{unknown}");
        assert!(find("").is_err());
    }
}
