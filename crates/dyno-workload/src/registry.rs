//! The families of workloads that there are, and how a name that a user typed finds one. Runs nothing.

mod options;

use std::path::Path;
use std::sync::LazyLock;

use dyno_target::Capabilities;
use serde_json::Map;
use thiserror::Error;

use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Registered, enumerated};
use crate::folder;
use crate::sysbench::SysbenchFamily;
use crate::tpch::TpchFamily;
use crate::ycsb::YcsbFamily;

pub use self::options::DataOptions;
pub use crate::family::{Listed, RunsOn};

/// All families. Where nobody names a workload, the first is run that the targets can run.
static FAMILIES: LazyLock<Vec<&dyn Registered>> = LazyLock::new(|| {
    let own: [&dyn Registered; 3] = [&SysbenchFamily, &YcsbFamily, &TpchFamily];
    // The first of the folders is tpcb.
    let mut folders = folder::built_in();
    folders.next().into_iter().chain(own).chain(folders).collect()
});

/// All families, and behind them the folders of users that were read.
fn families() -> Vec<&'static dyn Registered> {
    FAMILIES.iter().copied().chain(folder::registered()).collect()
}

/// Workloads of one family, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    family: &'static dyn Registered,
    workloads: Vec<&'static str>,
}

impl Selection {
    /// The workloads' names: `tpcb/select-only`.
    pub fn workloads(&self) -> &[&'static str] {
        &self.workloads
    }

    /// With such options a family's name alone may stand for others.
    #[must_use]
    pub fn with(mut self, options: &DataOptions) -> Self {
        if self.workloads == self.family.usual(Map::new()) {
            self.workloads = self.family.usual(options.of(self.family.name()));
        }
        self
    }

    /// Both, one after the other, each workload once.
    ///
    /// # Errors
    /// They are of two families, whose data are not the same.
    pub fn and(mut self, more: &Self) -> Result<Self, CannotRun> {
        if self.family != more.family {
            let [one, other] = [&self, more].map(|of| list(of.workloads.iter().copied()));
            return Err(CannotRun::TwoFamilies { one, other });
        }
        for workload in &more.workloads {
            if !self.workloads.contains(workload) {
                self.workloads.push(workload);
            }
        }
        Ok(self)
    }

    /// The family itself, as a list shows it.
    pub fn family(&self) -> Listed {
        self.family.listed()
    }

    /// The document that says what the options do.
    pub fn document(&self) -> &'static str {
        self.family.document()
    }

    /// The options of the workloads' family.
    pub fn options(&self) -> Vec<clap::Arg> {
        self.family.options()
    }

    /// Options of a run that are for such workloads.
    pub fn further(&self) -> &'static [&'static str] {
        self.family.further()
    }

    /// Of these options those of the workloads' family.
    pub fn own(&self, options: DataOptions) -> DataOptions {
        options.only(self.family.name())
    }

    /// The workloads on such a target, with what is said of their data.
    ///
    /// # Errors
    /// They do not run there, or the options are another family's or do not go together.
    pub fn benchmark(
        &self,
        options: &DataOptions,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, CannotRun> {
        let family = self.family;
        if let Some(lack) = family.listed().runs_on.lack(target) {
            let workloads = list(self.workloads.iter().copied());
            return Err(CannotRun::Elsewhere { workloads, lack, target: Box::new(*target) });
        }
        if let Some((others, said)) = options.foreign(family) {
            let own = options::names(family).filter(|(_, is_usual)| *is_usual);
            let own = own.map(|(name, _)| format!("--{name}")).collect();
            let mut others: Vec<String> = others.into_iter().map(str::to_owned).collect();
            if said == ["--variant"] {
                others.push("folders with a table that varies (`varies = true`)".to_owned());
            }
            return Err(CannotRun::Foreign {
                others: enumerated(others),
                said: enumerated(said),
                family: family.name(),
                own: enumerated(own),
            });
        }
        Ok(family.benchmark(&self.workloads, options.of(family.name()), target)?)
    }
}

/// All workloads, each family before its own.
pub fn workloads() -> Vec<Listed> {
    names().into_iter().map(|name| name.listed).collect()
}

/// The family that is run on these targets where none is named.
pub fn usual(targets: &[Capabilities]) -> &'static str {
    let runs = |family: &&&dyn Registered| targets.iter().all(|target| family.runs_on(target));
    FAMILIES.iter().find(runs).or(FAMILIES.first()).map_or("", |family| family.name())
}

/// Whether a workload's name is that of a folder of queries: it is a path, or there is a folder of this name and no workload.
pub fn is_folder(workload: &str) -> bool {
    let begins = ["/", "./", "../"].iter().any(|start| workload.starts_with(start));
    let is_workload = || !matches!(find(workload), Err(UnknownWorkload::NoSuch { .. }));
    begins
        || workload.ends_with('/')
        || matches!(workload, "." | "..")
        || (Path::new(workload).is_dir() && !is_workload())
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
    if let Some(family) = found.iter().find(|name| name.is_family()).map(|name| name.selection.family)
        && found.iter().all(|name| name.selection.family == family)
    {
        found.retain(Name::is_family);
    }
    // Of several families the names are enough, without those of their workloads.
    let families: Vec<_> =
        found.iter().filter(|name| name.is_family()).map(|name| name.selection.family).collect();
    found.retain(|name| name.is_family() || !families.contains(&name.selection.family));
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
    /// In the form of [`plain`].
    calls: Vec<String>,
    selection: Selection,
}

impl Name {
    fn is_family(&self) -> bool {
        self.listed.name == self.selection.family.name()
    }
}

fn names() -> Vec<Name> {
    let of_family = |family: &&'static dyn Registered| {
        let family = *family;
        let name = move |listed: Listed, calls: Vec<String>, workloads| {
            let calls = calls.iter().map(String::as_str).chain([listed.name]).map(plain).collect();
            Name { listed, calls, selection: Selection { family, workloads } }
        };
        let whole = name(family.listed(), Vec::new(), family.usual(Map::new()));
        let each = family.workloads().into_iter();
        [whole].into_iter().chain(each.map(move |(listed, calls)| name(listed, calls, vec![listed.name])))
    };
    families().iter().flat_map(of_family).collect()
}

/// A name as names are compared.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// How like a name is to what was typed, 0 to 1: the whole of it, or its last part where only that was typed. A single letter is like
/// whatever has it.
pub fn likeness(typed: &str, name: &str) -> f64 {
    let whole = strsim::jaro_winkler(typed, name);
    match name.rsplit_once('/') {
        Some((_, last)) if !typed.contains('/') && last.len() > 1 => {
            whole.max(strsim::jaro_winkler(typed, last))
        }
        _ => whole,
    }
}

/// The name that `typed` was most likely meant to be, of names that are as near the shortest; `None` where none is near.
fn nearest(typed: &str) -> Option<&'static str> {
    let scored = names().into_iter().map(|name| (likeness(typed, name.listed.name), name.listed.name));
    let order = |a: &(f64, &str), b: &(f64, &str)| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len()));
    scored.max_by(order).filter(|(score, _)| *score > 0.7).map(|(_, name)| name)
}

/// Why a name finds no workload.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownWorkload {
    #[error("no workload {typed:?}{}; there are {known}", nearest.map(|name| format!(", did you mean {name}?")).unwrap_or_default())]
    NoSuch { typed: String, nearest: Option<&'static str>, known: String },
    #[error("workload {typed:?} could be {candidates}; type more of its name")]
    Ambiguous { typed: String, candidates: String },
}

/// Why workloads cannot be run as is asked.
#[derive(Debug, Error)]
pub enum CannotRun {
    #[error("{one} and {other} are on different data: a run has the workloads of one family")]
    TwoFamilies { one: String, other: String },
    #[error("{workloads} {lack}")]
    Elsewhere { workloads: String, lack: String, target: Box<Capabilities> },
    #[error("{said} {} for {others}; {family} takes {own}", if said.contains(' ') { "are" } else { "is" })]
    Foreign { others: String, said: String, family: &'static str, own: String },
    #[error(transparent)]
    Benchmark(#[from] BenchmarkError),
}

impl CannotRun {
    /// What to do instead, where the message does not say so.
    pub fn help(&self) -> Option<String> {
        let Self::Elsewhere { target, .. } = self else { return None };
        let mut families = FAMILIES.iter().filter(|family| family.runs_on(target));
        let of = |family: &&dyn Registered| family.usual(Map::new()).last().copied();
        let such = families.find_map(of)?;
        Some(format!("others run there, such as {such} (`dyno workloads` lists them)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::Test;

    fn found(typed: &str) -> Vec<&'static str> {
        find(typed).unwrap_or_else(|error| panic!("{typed}: {error}")).workloads
    }

    #[test]
    fn a_family_runs_where_there_is_what_it_requires() {
        let kinds: Vec<Capabilities> = dyno_target::kinds().collect();
        let runs_on = |name: &str, expected: &[&str]| {
            let there = expected.iter().filter(|it| kinds.iter().any(|kind| kind.protocol == **it));
            assert_eq!(find(name).unwrap().family().runs_on.protocols(), there.copied().collect::<Vec<_>>());
        };
        runs_on("sysbench", &["PostgreSQL", "MySQL", "SQLite"]);
        runs_on("ycsb", &["PostgreSQL", "MySQL", "SQLite", "DuckDB", "ADBC"]);
        runs_on("tpch", &["PostgreSQL", "MySQL", "ClickHouse", "Hive", "DuckDB", "ADBC"]);
        runs_on("tpcb", &["PostgreSQL", "SQLite"]);
        let refused = |name: &str, protocol: &str| {
            let kind = kinds.iter().find(|kind| kind.protocol == protocol).unwrap();
            let refused = find(name).unwrap().benchmark(&DataOptions::default(), kind).unwrap_err();
            format!("{refused}; {}", refused.help().unwrap_or_default())
        };
        assert_eq!(
            refused("sysbench/oltp_insert", "Hive"),
            "sysbench/oltp_insert needs transactions, unique keys by which single rows are changed and columns \
             that number rows, which Hive does not have; others run there, such as tpch/queries (`dyno \
             workloads` lists them)"
        );
        let dates = "tpch/queries needs arithmetic with dates, which SQLite does not have; others";
        assert!(refused("tpch", "SQLite").starts_with(dates), "{}", refused("tpch", "SQLite"));
        assert!(
            refused("tpcb/tpcb-like", "MySQL")
                .starts_with("tpcb/tpcb-like runs on PostgreSQL and SQLite only; ")
        );
    }

    #[test]
    fn names_are_found_by_their_beginning() {
        let both = ["tpcb/select-only", "tpcb/tpcb-like"];
        assert_eq!([found("tpcb"), found("TPCB")], [both, both]);
        for (typed, name) in [
            ("tpcb/sel", "tpcb/select-only"),
            ("TPCB/T", "tpcb/tpcb-like"),
            ("tpcb-like", "tpcb/tpcb-like"),
            ("simple", "tpcb/simple-update"),
            ("select_only", "tpcb/select-only"),
        ] {
            assert_eq!(found(typed), [name], "{typed}");
        }
        for listed in workloads() {
            assert!(find(listed.name).is_ok(), "{}", listed.name);
        }
    }

    #[test]
    fn sysbenchs_tests_are_found_by_sysbenchs_names_and_without_their_prefix() {
        let both = ["sysbench/oltp_point_select", "sysbench/oltp_read_write"];
        assert_eq!([found("sysbench"), found("sys")], [both, both]);
        for test in Test::ALL {
            assert_eq!(found(test.workload()), [test.workload()]);
            assert_eq!(found(test.name()), [test.workload()]);
            assert_eq!(found(test.name().strip_prefix("oltp_").unwrap_or(test.name())), [test.workload()]);
            assert_eq!(found(&test.name().replace('_', "-")), [test.workload()]);
        }
        assert_eq!(found("sysbench/read-write"), ["sysbench/oltp_read_write"]);
        assert_eq!(found("point"), ["sysbench/oltp_point_select"]);
    }

    #[test]
    fn events_are_found_by_their_family_and_alone() {
        let both = ["events/join", "events/ingest"];
        assert_eq!([found("events"), found("ev")], [both, both]);
        assert_eq!([found("events/i"), found("ingest")], [["events/ingest"]; 2]);
        assert_eq!([found("Events/Join"), found("join")], [["events/join"]; 2]);
    }

    #[test]
    fn each_family_says_the_same_of_itself_everywhere() {
        for family in FAMILIES.iter() {
            let workloads = family.workloads();
            let is_own =
                |name: &str| name.strip_prefix(family.name()).is_some_and(|rest| rest.starts_with('/'));
            assert!(
                !workloads.is_empty() && workloads.iter().all(|(listed, _)| is_own(listed.name)),
                "{family:?}"
            );
            for (name, _) in options::names(*family) {
                // An option of a scenario has the name of that of the command line.
                let wrong = family.read(serde_json::json!({ name.as_str(): { "no": "value" } })).unwrap_err();
                assert!(!wrong.to_string().contains("unknown field"), "{family:?}: {wrong}");
            }
        }
    }

    #[test]
    fn options_are_read_as_they_are_written_and_only_known_ones() {
        let read = |text: &str| DataOptions::read(&serde_json::from_str(text).unwrap());
        let written = |text: &str| serde_json::to_string(&read(text).unwrap().written()).unwrap();
        assert_eq!(written(r#"{"customer-index":true,"scale":3}"#), r#"{"customer-index":true,"scale":3}"#);
        assert_eq!(
            written(r#"{"sysbench":{"table_size":9},"customer_index":false}"#),
            r#"{"sysbench":{"table-size":9}}"#
        );
        assert!(read("{}").unwrap().is_empty() && read(r#"{"sysbench":{}}"#).unwrap().is_empty());
        let both = read(r#"{"scale":1,"rows":2}"#).unwrap().or(read(r#"{"scale":7,"customers":8}"#).unwrap());
        assert_eq!(both, read(r#"{"scale":1,"rows":2,"customers":8}"#).unwrap());
        for (text, why) in [
            (r#"{"sclae":3}"#, "unknown field `sclae`, expected one of `scale`, `sysbench`, `ycsb`"),
            (r#"{"sysbench":{"tabels":3}}"#, "unknown field `tabels`"),
            (r#"{"sysbench":3}"#, "invalid type"),
            (r#"{"scale":"many"}"#, "scale: `many` is no number"),
            (r#"{"ycsb":{"fields":5,"insert-order":"up"}}"#, "insert-order: unknown variant"),
            (
                r#"{"rows":5,"customer-index":"perhaps"}"#,
                "customer-index: \"perhaps\" is neither true nor false",
            ),
        ] {
            let wrong = read(text).unwrap_err().to_string();
            assert!(wrong.contains(why), "{text}: {wrong}");
        }
    }

    #[test]
    fn options_of_other_families_are_refused_by_name() {
        let [postgres, mysql] = ["postgres://u@h/d", "mysql://u@h/d"].map(|url| {
            dyno_target::Target::parse(url, &dyno_target::Environment::empty()).unwrap().capabilities()
        });
        let refused = |typed: &str, said: &str, on: &Capabilities| {
            let options = DataOptions::read(&serde_json::from_str(said).unwrap()).unwrap();
            find(typed).unwrap().benchmark(&options, on).unwrap_err()
        };
        let said = |typed: &str, said: &str| refused(typed, said, &postgres).to_string();
        assert_eq!(
            said("sysbench", r#"{"scale":3}"#),
            "--scale is for tpcb, tpch and storage; sysbench takes --tables, --table-size, --distribution and --ignore-errors"
        );
        assert_eq!(
            said("tpcb", r#"{"rows":3,"customer-index":true}"#),
            "--customer-index and --rows are for events; tpcb takes --scale"
        );
        assert!(said("sysbench", r#"{"sysbench":{"ignore-errors":"1213"}}"#).contains("SQLSTATEs"));
        let elsewhere = refused("tpcb", "{}", &mysql);
        assert!(elsewhere.help().unwrap().contains("sysbench/oltp_read_write"));
        assert_eq!(usual(&[postgres]), "tpcb");
        assert_eq!(usual(&[postgres, mysql]), "sysbench");
    }

    #[test]
    fn what_is_not_unique_or_not_known_is_said() {
        let ambiguous = find("tpcb/s").unwrap_err().to_string();
        assert!(ambiguous.contains("tpcb/simple-update, tpcb/select-only"), "{ambiguous}");
        let of_two = find("select").unwrap_err().to_string();
        assert!(of_two.contains("tpcb/select-only") && of_two.contains("select_random_points"), "{of_two}");
        let of_families = find("tpc").unwrap_err().to_string();
        assert!(of_families.contains("could be tpcb, tpch, tpcc;"), "{of_families}");
        assert!(find("update").is_err() && find("s").is_err() && find("sysbench/").is_err());
        let mistyped = find("tpcb/selct-only").unwrap_err().to_string();
        assert!(mistyped.contains("did you mean tpcb/select-only?"), "{mistyped}");
        assert_eq!(["tcpb", "ycbs", "evnets"].map(nearest), [Some("tpcb"), Some("ycsb"), Some("events")]);
        assert_eq!(["fortnights", "abc", "hello"].map(nearest), [None; 3]);
        let mistyped = find("oltp_raed_write").unwrap_err().to_string();
        assert!(mistyped.contains("did you mean sysbench/oltp_read_write?"), "{mistyped}");
        let unknown = find("xyzzy").unwrap_err().to_string();
        assert!(!unknown.contains("did you mean") && unknown.contains("there are tpcb, "), "{unknown}");
        assert!(find("").is_err());
    }

    #[test]
    fn a_path_is_a_folder_and_a_workloads_name_is_none() {
        for path in ["./queries", "queries/", "/srv/queries", "../queries", "."] {
            assert!(is_folder(path), "{path}");
        }
        for other in ["tpch", "queries", "tpcb/select-only", "", "no-such-thing"] {
            assert!(!is_folder(other), "{other}");
        }
        // The tests of a crate run in its folder.
        assert!(is_folder("src"));
    }
}
