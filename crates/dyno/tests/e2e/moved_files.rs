//! Databases in dyno's own process whose files are renamed, replaced or removed under a load.

use std::fs;
use std::path::Path;

use dyno_test_servers::duckdb_library;
use rustix::process::Signal;

use crate::home::{Home, wait_until};
use crate::report::Report;

/// What may become of a file under a load.
type Mishap = fn(&Path);

fn rename(path: &Path) {
    fs::rename(path, path.with_extension("away")).unwrap();
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

fn replace(path: &Path) {
    let other = path.with_extension("other");
    fs::copy(path, &other).unwrap();
    fs::rename(other, path).unwrap();
}

/// Runs a load on `target`, of which a file meets with a mishap in the middle; it `ends` by itself, or is interrupted.
#[track_caller]
fn run_with_mishap(
    home: &Home,
    target: &str,
    load: &str,
    (file, mishap): (&Path, Mishap),
    ends: bool,
) -> Report {
    let load: Vec<&str> = load.split_whitespace().collect();
    let words = ["run", "--clients", "2", "--duration", "1h", "--warm-up", "0s", "--think-time", "5ms"];
    let mut running = home.start(&[&words[..], &["--target", target, "--json"], &load].concat());
    running.wait_for("some transactions", |report| report.intervals().len() > 1);
    mishap(file);
    if ends {
        // Each client stops after a hundred failures.
        wait_until("no client goes on", || running.has_ended());
    } else {
        running.signal(Signal::INT);
    }
    running.end().report()
}

/// The run says that this file was moved, that it is not to be used, and that nothing is durable.
#[track_caller]
fn assert_moved(report: &Report, file: &Path) {
    let findings = report.findings();
    assert!(findings.contains(&"data-check-failed") && !findings.contains(&"durable"), "{findings:?}");
    let [check] = report.checks() else { panic!("{:?}", report.checks()) };
    assert_eq!((&check["name"], &check["passed"]), (&"same-file".into(), &false.into()));
    let detail = check["detail"].as_str().unwrap();
    assert!(detail.starts_with(&format!("{} ", file.display())), "{detail}");
}

#[test]
fn a_file_that_is_no_longer_in_its_place_holds_nothing_that_was_acknowledged() {
    let (wal, full) = ("?journal_mode=wal", "");
    let mishaps: [(&str, &str, &str, Mishap); 6] = [
        (wal, "tpcb/simple-update", "", rename),
        (wal, "tpcb/simple-update", "", replace),
        (wal, "tpcb/simple-update", "", remove),
        (wal, "tpcb/simple-update", "-wal", remove),
        (wal, "tpcb/select-only", "", replace),
        (full, "tpcb/simple-update", "", rename),
    ];
    for (parameters, load, ending, mishap) in mishaps {
        let home = Home::new();
        let file = fs::canonicalize(home.path(".")).unwrap().join(format!("bank.db{ending}"));
        let target = format!("sqlite:{}{parameters}", home.path("bank.db").display());
        let report = run_with_mishap(
            &home,
            &target,
            &format!("{load} --scale 1"),
            (&file, mishap),
            parameters == full,
        );
        assert_moved(&report, &file);
        if parameters == full {
            // Without a log SQLite itself sees that it writes to a file that nobody finds.
            let errors = report.stage()["errors"].to_string();
            assert!(errors.contains("SQLITE_READONLY_DBMOVED"), "{errors}");
        }
    }
}

/// The library has the file open once for all sessions, and goes on with it wherever it is.
#[test]
fn a_file_of_duckdb_that_is_no_longer_in_its_place_holds_nothing_that_was_acknowledged() {
    let Some(library) = duckdb_library() else { return };
    let mishaps: [(&str, Mishap); 4] = [("", rename), ("", replace), ("", remove), (".wal", remove)];
    for (ending, mishap) in mishaps {
        let home = Home::new();
        let file = fs::canonicalize(home.path(".")).unwrap().join(format!("keys.duckdb{ending}"));
        let target = format!("duckdb:{}?driver={}", home.path("keys.duckdb").display(), library.display());
        let report = run_with_mishap(&home, &target, "ycsb/a --records 300", (&file, mishap), false);
        assert_moved(&report, &file);
    }
}
