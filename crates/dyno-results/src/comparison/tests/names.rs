//! Sides as users name them, found in a real store.

use std::path::PathBuf;

use super::*;
use crate::comparison::{Comparison, of_store};
use crate::event::{Event, StageKind};
use crate::fixture::{Fixture, FixtureStage, target, wobble};

/// A store in a directory of its own that goes with it.
struct StoredRuns {
    store: Store,
    directory: PathBuf,
}

impl Drop for StoredRuns {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A run of each of these lists of targets, the oldest first; each target has a hold of reads and one of writes.
fn stored_runs(name: &str, runs: &[&[&str]]) -> StoredRuns {
    let directory = std::env::temp_dir().join(format!("dynotest-compare-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let store = Store::open(directory.join("dyno.sqlite")).unwrap();
    for targets in runs {
        let mut writer = store.begin_run("2026-11-20").unwrap();
        for stamped in run(writer.name(), targets) {
            writer.append(&stamped).unwrap();
        }
    }
    StoredRuns { store, directory }
}

fn run(name: &str, targets: &[&str]) -> Vec<crate::event::Stamped> {
    let mut fixture = Fixture::started(name);
    for name in targets {
        fixture.push(Event::Target(target(name)));
    }
    for name in targets {
        for load in [
            FixtureStage::read(StageKind::Hold, 2, &wobble(100, 3)),
            FixtureStage::write(StageKind::Hold, 2, &wobble(50, 3)),
        ] {
            let before = fixture.events.len();
            fixture.play(&load);
            for stamped in &mut fixture.events[before..] {
                if let Event::StageStarted(stage) = &mut stamped.event {
                    stage.key.system = (*name).to_owned();
                }
            }
        }
    }
    fixture.finish();
    fixture.events
}

impl StoredRuns {
    fn compare(&self, words: &[&str], base: Option<&str>) -> Result<Comparison, CompareError> {
        of_store(&self.store, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), base)
    }

    /// Names of the sides that the words come to.
    #[track_caller]
    fn names(&self, words: &[&str]) -> Vec<String> {
        let comparison = self.compare(words, None).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        comparison.sides.into_iter().map(|side| side.name).collect()
    }

    #[track_caller]
    fn refused(&self, words: &[&str], says: &[&str]) {
        let error = self.compare(words, None).expect_err("it is refused").to_string();
        for word in says {
            assert!(error.contains(word), "`{word}` in {error}");
        }
    }
}

#[test]
fn runs_are_named_by_name_beginning_and_age() {
    let stored_runs = stored_runs("runs", &[&["pg"], &["pg"], &["pg"]]);
    let names = ["2026-11-20-1", "2026-11-20-3"];
    assert_eq!(stored_runs.names(&["2026-11-20-1", "last"]), names);
    assert_eq!(stored_runs.names(&["last~2", "last~0"]), names);
    assert_eq!(stored_runs.names(&["2026-11-20-1:pg", "2026-11-20-3"]), names);
    stored_runs.refused(&["2026-11-20", "last"], &["beginning of several", "2026-11-20-1"]);
    stored_runs.refused(&["last~3", "last"], &["last~3", "3 runs"]);
    stored_runs.refused(&["last~x", "last"], &["last~x"]);
    stored_runs.refused(&["nosuch", "last"], &["neither a run nor a target", "2026-11-20-3"]);
    stored_runs.refused(&["last:my", "last~1"], &["2026-11-20-3 has no target \"my\"", "it has pg"]);
    stored_runs.refused(&["last", "2026-11-20-3"], &["named twice"]);
    stored_runs.refused(&["last"], &["2026-11-20-3", "one target"]);
    stored_runs.refused(&["last:", "last~1"], &["empty"]);
    stored_runs.refused(&["last,", "last~1"], &["empty"]);
}

#[test]
fn targets_are_looked_for_in_the_newest_run_that_has_them_all() {
    let stored_runs = stored_runs("targets", &[&["pg", "my"], &["pg", "my"], &["pg"]]);
    let comparison = stored_runs.compare(&["pg", "my"], None).unwrap();
    assert_eq!(comparison.sides[0].runs, ["2026-11-20-2"]);
    assert_eq!(stored_runs.names(&["my", "pg"]), ["my", "pg"]);
    // A run that has several has to be asked for one, unless it is all there is to compare.
    assert_eq!(stored_runs.names(&["last~1"]), ["pg", "my"]);
    assert_eq!(stored_runs.names(&["last~1:my", "last"]), ["2026-11-20-2:my", "2026-11-20-3"]);
    assert_eq!(stored_runs.names(&["last", "last~1:my/read"]), ["2026-11-20-3", "2026-11-20-2:my/read"]);
    stored_runs.refused(&["last", "last~1"], &["several targets, pg and my", "2026-11-20-2:pg"]);
    stored_runs.refused(&["my", "last~2:my/nope"], &["no series \"nope\"", "read and write"]);
}

#[test]
fn targets_that_never_ran_together_are_named_by_their_runs() {
    let stored_runs = stored_runs("apart", &[&["pg"], &["my"]]);
    stored_runs.refused(&["pg", "my"], &["no run has all", "2026-11-20-1:pg 2026-11-20-2:my"]);
    assert_eq!(stored_runs.names(&["pg", "last"]), ["2026-11-20-1", "2026-11-20-2"]);
}

#[test]
fn a_name_that_could_be_both_is_refused() {
    let stored_runs = stored_runs("both", &[&["2026"]]);
    stored_runs.refused(&["2026", "last"], &["could be the run 2026-11-20-1 or a target"]);
    assert_eq!(
        self::stored_runs("both-two", &[&["2026", "pg"], &["2026", "pg"]]).names(&["2026", "pg"]),
        ["2026", "pg"]
    );
}

#[test]
fn series_and_repeats_are_named() {
    let stored_runs = stored_runs("series", &[&["pg"], &["pg"], &["pg"], &["pg"]]);
    let comparison = stored_runs.compare(&["last/read", "last~1/read"], None).unwrap();
    assert_eq!(comparison.series.len(), 1);
    assert_eq!(comparison.series[0].name, "read");
    let comparison = stored_runs.compare(&["last~3,last~2", "last~1,last"], None).unwrap();
    assert_eq!(comparison.sides[0].runs, ["2026-11-20-1", "2026-11-20-2"]);
    assert_eq!(comparison.sides[0].name, "2026-11-20-1 +1");
    assert_eq!(comparison.series[0].basis.repeats, [2, 2]);
    stored_runs.refused(&["last,last", "last~1"], &["named twice"]);
    stored_runs.refused(&["last/read,last~1/write", "last~2"], &["different series, read and write"]);
}

#[test]
fn the_base_is_one_of_the_sides() {
    let stored_runs = stored_runs("base", &[&["pg", "my"], &["pg"]]);
    let base =
        |words: &[&str], base: &str| stored_runs.compare(words, Some(base)).map(|comparison| comparison.base);
    assert_eq!(base(&["pg", "my"], "my").unwrap(), 1);
    assert_eq!(base(&["last~1"], "my").unwrap(), 1);
    assert_eq!(base(&["last", "last~1:pg"], "last~1:pg").unwrap(), 1);
    assert_eq!(base(&["last", "last~1:pg"], "2026-11-20-1").unwrap(), 1);
    let error = base(&["pg", "my"], "ora").unwrap_err().to_string();
    assert!(error.contains("\"ora\" is none of the sides, which are pg and my"), "{error}");
}

#[test]
fn an_empty_store_says_so() {
    let stored_runs = stored_runs("empty", &[]);
    stored_runs.refused(&["pg", "my"], &["holds no run yet"]);
}
