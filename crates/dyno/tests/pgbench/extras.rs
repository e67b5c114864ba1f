//! What dyno adds: beside pgbench's output, and only where it is in nobody's way.

use crate::case::{case, script};
use crate::program::Program;
use crate::server::{Database, database};

/// Runs `dyno pgbench` with a store, and says whether there is one then.
fn run(database: &Database, arguments: &str) -> (crate::program::Ran, bool) {
    let store = tempfile::tempdir().unwrap();
    let ran = case(&format!("-n -t 5 -f s {arguments}")).file("s", "select 1;\n").run_with_store(
        &Program::dyno(),
        database,
        store.path(),
    );
    (ran, std::fs::read_dir(store.path()).unwrap().next().is_some())
}

#[test]
fn nothing_but_a_stored_run_where_standard_error_is_no_terminal() {
    let Some(database) = database("piped") else { return };
    let (ran, stored) = run(&database, "");
    assert_eq!((ran.code, ran.stderr.as_str(), stored), (Some(0), "", true));
    assert!(!ran.stdout.contains("dyno"), "{}", ran.stdout);
}

#[test]
fn a_few_lines_on_a_terminal() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        println!("skipped: no `script` to make a terminal");
        return;
    }
    let Some(database) = database("on_terminal") else { return };
    let store = tempfile::tempdir().unwrap();
    let command = format!("'{}' pgbench -n -t 5 -f s", env!("CARGO_BIN_EXE_dyno"));
    let mut script = std::process::Command::new("script");
    script.args(["-q", "-e", "-c", &command, "/dev/null"]);
    script.env_clear().env("PATH", "/usr/bin:/bin").envs(database.environment());
    std::fs::write(store.path().join("s"), "select 1;\n").unwrap();
    let output = script.current_dir(store.path()).env("DYNO_STORE", "store.db").output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("\ndyno: stored as "), "{shown}");
}

#[test]
fn a_few_lines_on_standard_error() {
    let Some(database) = database("extra") else { return };
    let (ran, stored) = run(&database, "--dyno=brief");
    assert_eq!(ran.code, Some(0));
    assert!(!ran.stdout.contains("dyno"), "{}", ran.stdout);
    let ours: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("dyno: ")).collect();
    assert!(ours.iter().any(|line| line.starts_with("dyno: latency p50 ")), "{}", ran.stderr);
    assert!(ours.iter().any(|line| line.starts_with("dyno: stored as ")), "{}", ran.stderr);
    assert!(stored);
}

#[test]
fn nothing_when_told_so() {
    let Some(database) = database("no_extra") else { return };
    for arguments in ["--no-dyno", "--no-dyno -l", "--no-dyno -c 2 -j 2 -M prepared"] {
        let (ran, stored) = run(&database, arguments);
        assert_eq!((ran.code, ran.stderr.as_str(), stored), (Some(0), "", false), "{arguments}");
        assert!(!ran.stdout.contains("dyno"), "{}", ran.stdout);
    }
}

#[test]
fn the_stored_specification_has_the_target_and_the_script() {
    let Some(database) = database("specified") else { return };
    let store = tempfile::tempdir().unwrap();
    let text = "select 1;\n-- postgres://u:secret@h/d\n";
    let ran =
        case("-n -t 5 -f s@2").file("s", text).run_with_store(&Program::dyno(), &database, store.path());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut report = std::process::Command::new(env!("CARGO_BIN_EXE_dyno"));
    let report = report.args(["report", "--json"]).env("DYNO_STORE", store.path().join("store.db")).output();
    let document: serde_json::Value = serde_json::from_slice(&report.unwrap().stdout).unwrap();
    let spec = &document["run"]["spec"];
    let url = spec["targets"][0]["url"].as_str().unwrap();
    assert!(url.contains(&database.address().to_string()), "{url}");
    let script = &spec["front-end"]["options"]["scripts"][0];
    assert_eq!((&script["name"], &script["weight"]), (&"s".into(), &2.into()));
    assert_eq!(script["text"], "select 1;\n-- postgres://u:***@h/d");
    // As `sha256sum` has it of the file.
    let hash = "73e687a96b66e1109d319f63da9277a1a00f5e8ff6a47c3db045e9a8b6d17045";
    assert_eq!(script["sha256"], hash);
}

#[test]
fn the_whole_report_when_asked_for() {
    let Some(database) = database("full_extra") else { return };
    let (ran, stored) = run(&database, "--dyno=full");
    let (plain, _) = run(&database, "--no-dyno");
    assert!(stored && ran.code == Some(0));
    let begins = crate::shape::measured(&plain.stdout);
    let printed = crate::shape::measured(&ran.stdout);
    let more = printed.strip_prefix(&begins).unwrap_or_else(|| panic!("{printed}"));
    assert!(more.lines().count() > 3, "{more}");
    // Last, where a reader looks first.
    let (_, last) = ran.stdout.rsplit_once("\nquote: ").unwrap_or_else(|| panic!("{}", ran.stdout));
    assert!(last.lines().count() < 3 && last.contains("(pgbench"), "{last}");
}

#[test]
fn a_run_that_could_not_begin_is_not_stored() {
    let Some(database) = database("not_begun") else { return };
    let ran = script("nowhere", "select 1;\n").run(&Program::dyno(), &database);
    assert_eq!(ran.code, Some(1));
    assert!(!ran.stderr.contains("dyno: "), "{}", ran.stderr);
}
