//! Which test a command line names: one of the ten or `bulk_insert`, a script of the user's, or one of sysbench's tests
//! that need no database, which dyno does not have.

use std::path::PathBuf;

use dyno_workload::sysbench::Test;
use dyno_workload::sysbench::lua::{DeclaredOption, OptionKind};

use super::options::known;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestSubject {
    /// One of the ten, which dyno has by itself.
    Builtin(Test),
    Script(LuaSource),
}

/// Where a script's text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LuaSource {
    /// The one that comes with dyno.
    BulkInsert,
    File(PathBuf),
    StandardInput,
}

/// Why a name is no test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoTest {
    #[error("Cannot find benchmark '{name}': no such built-in test, file or module")]
    Unknown { name: String },
    #[error(
        "The '{name}' test needs no database, and dyno has none of these tests: use sysbench itself. \
         Tests of dyno: {}, bulk_insert, and any Lua script",
        Test::ALL.map(Test::name).join(", ")
    )]
    NoDatabase { name: String },
}

/// sysbench's tests that need no database.
const WITHOUT_DATABASE: [&str; 5] = ["fileio", "cpu", "memory", "threads", "mutex"];
/// The script that comes with dyno.
pub(super) const BULK_INSERT: &str = "bulk_insert";

impl TestSubject {
    /// The test of that name, the script in that file, or what `module` finds: the file of a module of Lua.
    pub(super) fn find(name: &str, module: impl FnOnce(&str) -> Option<PathBuf>) -> Result<Self, NoTest> {
        if WITHOUT_DATABASE.contains(&name) {
            return Err(NoTest::NoDatabase { name: name.to_owned() });
        }
        if let Some(test) = Test::from_name(name) {
            return Ok(Self::Builtin(test));
        }
        if name == "-" || name == "/dev/stdin" {
            return Ok(Self::Script(LuaSource::StandardInput));
        }
        if name == BULK_INSERT {
            return Ok(Self::Script(LuaSource::BulkInsert));
        }
        let as_typed = PathBuf::from(name);
        let file = if as_typed.is_file() { Some(as_typed) } else { module(name) };
        file.map(|path| Self::Script(LuaSource::File(path)))
            .ok_or_else(|| NoTest::Unknown { name: name.to_owned() })
    }
}

impl LuaSource {
    /// As help and messages call it: a file's name where `typed` is its path, else the module's.
    pub(super) fn shown_name(&self, typed: &str) -> String {
        match self {
            Self::File(path) if path.as_os_str() == typed => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            _ => typed.to_owned(),
        }
    }
}

/// The options of one of the ten, by name.
pub(super) fn options_of(test: Test) -> Vec<DeclaredOption> {
    let mut options: Vec<_> = OPTIONS.iter().map(declared).collect();
    match test {
        Test::SelectRandomPoints => options.push(declared(&RANDOM_POINTS)),
        Test::SelectRandomRanges => options.extend([&DELTA, &NUMBER_OF_RANGES].map(declared)),
        _ => {}
    }
    options.sort_by(|one, other| one.name.cmp(&other.name));
    options
}

/// Name, kind, default and what it is.
type OptionDeclaration = (&'static str, OptionKind, Option<&'static str>, &'static str);

fn declared(&(name, kind, default, about): &OptionDeclaration) -> DeclaredOption {
    known::declared(name, kind, default, about)
}

#[rustfmt::skip]
const OPTIONS: [OptionDeclaration; 18] = [
    ("auto_inc", OptionKind::Bool, Some("on"), "Whether the database gives the ids of rows that are inserted; off: they are drawn"),
    ("create_secondary", OptionKind::Bool, Some("on"), "Whether prepare makes the index on k"),
    ("delete_inserts", OptionKind::Integer, Some("1"), "DELETE and INSERT of a row, so often in a transaction"),
    ("distinct_ranges", OptionKind::Integer, Some("1"), "SELECT DISTINCT of a range, so often in a transaction"),
    ("index_updates", OptionKind::Integer, Some("1"), "UPDATE of the column with the index, so often in a transaction"),
    ("mysql_storage_engine", OptionKind::Text, Some("innodb"), "MySQL's storage engine of the tables"),
    ("non_index_updates", OptionKind::Integer, Some("1"), "UPDATE of a column without index, so often in a transaction"),
    ("order_ranges", OptionKind::Integer, Some("1"), "SELECT of a range with ORDER BY, so often in a transaction"),
    ("pgsql_variant", OptionKind::Text, None, "'redshift': no index on k, and no DELETE and INSERT"),
    ("point_selects", OptionKind::Integer, Some("10"), "SELECT of a row, so often in a transaction"),
    ("range_selects", OptionKind::Bool, Some("on"), "Whether there are SELECTs of ranges at all"),
    ("range_size", OptionKind::Integer, Some("100"), "Rows of a range"),
    ("secondary", OptionKind::Bool, Some("off"), "A plain index on id in place of the primary key"),
    ("simple_ranges", OptionKind::Integer, Some("1"), "SELECT of a range, so often in a transaction"),
    ("skip_trx", OptionKind::Bool, Some("off"), "No BEGIN and no COMMIT: each statement is a transaction"),
    ("sum_ranges", OptionKind::Integer, Some("1"), "SELECT SUM() of a range, so often in a transaction"),
    ("table_size", OptionKind::Integer, Some("10000"), "Rows of a table"),
    ("tables", OptionKind::Integer, Some("1"), "Tables"),
];
const RANDOM_POINTS: OptionDeclaration =
    ("random_points", OptionKind::Integer, Some("10"), "Values of k in a SELECT");
const DELTA: OptionDeclaration = ("delta", OptionKind::Integer, Some("5"), "How far a range of k goes");
const NUMBER_OF_RANGES: OptionDeclaration =
    ("number_of_ranges", OptionKind::Integer, Some("10"), "Ranges of k in a SELECT");

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> Result<TestSubject, NoTest> {
        TestSubject::find(name, |_| None)
    }

    #[test]
    fn the_ten_are_found_by_name_and_files_by_path() {
        assert_eq!(find("oltp_read_write"), Ok(TestSubject::Builtin(Test::ReadWrite)));
        assert_eq!(find("bulk_insert"), Ok(TestSubject::Script(LuaSource::BulkInsert)));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.lua");
        std::fs::write(&file, "").unwrap();
        let Ok(TestSubject::Script(found)) = find(file.to_str().unwrap()) else { panic!("no script") };
        assert_eq!(found.shown_name(file.to_str().unwrap()), "mine.lua");
        let without = directory.path().join("mine");
        assert!(matches!(find(without.to_str().unwrap()), Err(NoTest::Unknown { .. })));
    }

    #[test]
    fn tests_without_a_database_are_told_apart_from_nonsense() {
        assert!(matches!(find("cpu"), Err(NoTest::NoDatabase { .. })));
        assert!(matches!(find("cpus"), Err(NoTest::Unknown { .. })));
    }

    #[test]
    fn options_are_sorted_and_each_test_has_its_own() {
        let names = |test| options_of(test).into_iter().map(|it| it.name).collect::<Vec<_>>();
        assert_eq!(names(Test::Delete).len(), 18);
        assert!(names(Test::SelectRandomPoints).contains(&"random_points".to_owned()));
        let ranges = names(Test::SelectRandomRanges);
        assert!(ranges.is_sorted() && ranges.contains(&"delta".to_owned()));
    }
}
