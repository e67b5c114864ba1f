use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::document::NOT_FINISHED;
use crate::event::{
    Answer, Code, Event, Facts, Finding, Hook, HookTime, QueryAnswer, QueryFailure, Sample, Severity,
    StageKind, Subject,
};
use crate::fixture::{Fixture, FixtureStage, clean_fixture, interval};
use crate::fold::fold;
use crate::passes::PassLoad;

/// A directory of one test, removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dyno-store-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("runs.db")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn write(store: &Store, events: &[Stamped]) -> String {
    let mut writer = store.begin_run("2026-11-20").unwrap();
    for stamped in events {
        writer.append(stamped).unwrap();
    }
    writer.name().to_owned()
}

#[test]
fn what_is_appended_is_read_again() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let events = clean_fixture().events;
    let name = write(&store, &events);
    assert_eq!(name, "2026-11-20-1");
    assert_eq!(store.events(&name).unwrap(), events);

    let reopened = Store::open(scratch.file()).unwrap();
    let stored = serde_json::to_value(reopened.report("last").unwrap()).unwrap();
    assert_eq!(stored, serde_json::to_value(fold(&events)).unwrap());
}

#[test]
fn a_run_is_in_the_list_from_its_beginning() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let fixture = clean_fixture();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    assert_eq!(store.runs().unwrap()[0].started_at, None);

    let (last, all_but_last) = fixture.events.split_last().unwrap();
    for stamped in all_but_last {
        writer.append(stamped).unwrap();
    }
    let unfinished = &store.runs().unwrap()[0];
    assert_eq!((unfinished.outcome, unfinished.live), (None, true));
    assert_eq!((unfinished.seconds, &unfinished.content.findings), (45.0, &None));

    writer.append(last).unwrap();
    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.outcome, summary.live), (Some(Outcome::Complete), false));
    assert_eq!(summary.content.findings, Some(Doubts { series: 1, ..Doubts::default() }));
    assert_eq!(summary.content.targets[0].version.as_deref(), Some("15.18"));
    let series = &summary.content.series[0];
    assert_eq!((series.kind, series.clients), (StageKind::Hold, 8));
    assert!((series.tps - 990.0).abs() < 10.0, "{}", series.tps);
}

#[test]
fn what_no_list_shows_is_appended_without_writing_the_summary_again() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    let mut events = clean_fixture().events;
    let last = events.pop().unwrap();
    events.iter().for_each(|stamped| assert!(writer.append(stamped).unwrap()));
    let changes = |writer: &RunWriter| -> i64 {
        writer.connection.query_row("SELECT total_changes()", [], |row| row.get(0)).unwrap()
    };
    let failure = QueryFailure {
        target: "pg".to_owned(),
        series: "q".to_owned(),
        query: "q1".to_owned(),
        said: "no".to_owned(),
        over_limit: false,
    };
    let before = changes(&writer);
    let next = Stamped { seq: last.seq, at_ms: last.at_ms, event: Event::QueryFailure(failure) };
    writer.append(&next).unwrap();
    let inserted = changes(&writer) - before;
    writer.append(&Stamped { seq: last.seq + 1, ..last }).unwrap();
    assert_eq!((inserted, changes(&writer) - before - inserted), (1, 2));
}

#[test]
fn a_reading_that_is_no_number_is_left_out() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let values = [("cpus".to_owned(), 2.0), ("memory_bytes".to_owned(), f64::NAN)].into();
    let sample = Sample { source: "host".to_owned(), target: "driver".to_owned(), values };
    write(&store, &[Stamped { seq: 0, at_ms: 0, event: Event::Sample(sample) }]);
    let events = store.events("last").unwrap();
    let Event::Sample(read) = &events[0].event else { panic!("{events:?}") };
    assert_eq!(read.values.keys().collect::<Vec<_>>(), ["cpus"]);
}

#[test]
fn names_are_never_given_twice() {
    let scratch = Scratch::new();
    let names: Vec<String> = std::thread::scope(|scope| {
        let begin = || {
            // Each opens the file by itself, as processes do, the first of them making it.
            let store = Store::open(scratch.file()).unwrap();
            (0..10).map(|_| store.begin_run("2026-11-20").unwrap().name().to_owned()).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 40);
    let store = Store::open(scratch.file()).unwrap();
    assert_eq!(store.begin_run("2026-11-20").unwrap().name(), "2026-11-20-41");
    assert_eq!(store.begin_run("2026-11-21").unwrap().name(), "2026-11-21-1");
}

#[test]
fn a_store_is_made_by_whoever_comes_first() {
    for _ in 0..20 {
        let scratch = Scratch::new();
        let file = scratch.file();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Store::open(&file).unwrap());
            }
        });
    }
}

#[test]
fn several_runs_are_written_at_once() {
    let scratch = Scratch::new();
    let events = clean_fixture().events;
    let store = Store::open(scratch.file()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| write(&Store::open(scratch.file()).unwrap(), &events));
        }
    });
    for run in store.runs().unwrap() {
        assert_eq!(store.events(&run.name).unwrap().len(), events.len());
    }
    assert_eq!(store.runs().unwrap().len(), 3);
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_name() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    assert!(matches!(store.find("last"), Err(StoreError::NoRuns { .. })));
    for date in ["2026-11-19", "2026-11-20", "2026-11-20"] {
        store.begin_run(date).unwrap();
    }
    assert_eq!(store.find("last").unwrap(), "2026-11-20-2");
    assert_eq!(store.find("last~1").unwrap(), "2026-11-20-1");
    assert!(matches!(store.find("last~7"), Err(StoreError::TooFarBack { .. })));
    assert!(matches!(store.find("last~x"), Err(StoreError::NoSuchRun { .. })));
    assert_eq!(store.find("2026-11-19").unwrap(), "2026-11-19-1");
    assert_eq!(store.find("2026-11-20-1").unwrap(), "2026-11-20-1");
    let ambiguous = store.find("2026-11-20").unwrap_err().to_string();
    assert!(ambiguous.contains("2026-11-20-2, 2026-11-20-1"), "{ambiguous}");
    let unknown = store.find("2026-11-18-1").unwrap_err().to_string();
    assert!(unknown.contains("2026-11-19-1"), "{unknown}");
}

#[test]
fn a_full_name_is_found_beside_longer_ones() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    for _ in 0..11 {
        store.begin_run("2026-11-20").unwrap();
    }
    assert_eq!(store.find("2026-11-20-1").unwrap(), "2026-11-20-1");
}

#[test]
fn file_and_directory_are_made_for_their_owner_only() {
    let scratch = Scratch::new();
    let path = scratch.0.join("new/directory/runs.db");
    let store = Store::open(&path).unwrap();
    write(&store, &clean_fixture().events[..1]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_file_name("runs.db-wal")), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn what_is_no_store_is_left_as_it_is() {
    let scratch = Scratch::new();
    let text = "this is a letter, and long enough to be taken for the header of a database file. ".repeat(20);
    fs::write(scratch.file(), &text).unwrap();
    assert!(matches!(Store::open(scratch.file()), Err(StoreError::NotADatabase { .. })));
    assert_eq!(fs::read_to_string(scratch.file()).unwrap(), text);

    let other = scratch.0.join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    let before = fs::read(&other).unwrap();
    assert!(matches!(Store::open(&other), Err(StoreError::NotAStore { .. })));
    assert_eq!(fs::read(&other).unwrap(), before);

    assert!(matches!(Store::open(&scratch.0), Err(StoreError::Unreadable { .. })), "a directory");
    assert!(matches!(Store::open(scratch.file().join("below")), Err(StoreError::Directory { .. })));
}

#[test]
fn a_store_of_another_version_is_refused() {
    let scratch = Scratch::new();
    drop(Store::open(scratch.file()).unwrap());
    let refused = |version: i64| {
        Connection::open(scratch.file()).unwrap().pragma_update(None, "user_version", version).unwrap();
        Store::open(scratch.file()).unwrap_err()
    };
    let (newer, older) = (open::VERSION + 1, open::VERSION - 1);
    let error = refused(newer);
    assert!(matches!(error, StoreError::Newer { found, .. } if found == newer), "{error}");
    let error = refused(older);
    assert!(matches!(error, StoreError::Older { found, .. } if found == older), "{error}");
}

#[test]
fn a_lock_that_stays_is_said() {
    let scratch = Scratch::new();
    let lock_timeout = Duration::from_millis(50);
    let store = Store::open_with_lock_timeout(&scratch.file(), lock_timeout).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    let holder = Connection::open(scratch.file()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let event = &clean_fixture().events[0];
    assert!(matches!(writer.append(event), Err(StoreError::Locked { .. })));
    assert!(matches!(store.begin_run("2026-11-20"), Err(StoreError::Locked { .. })));
    assert_eq!(store.runs().unwrap().len(), 1, "reading needs no lock");

    holder.execute_batch("ROLLBACK").unwrap();
    writer.flush().unwrap();
    assert_eq!(store.events("last").unwrap(), std::slice::from_ref(event));
}

#[test]
fn a_full_disk_keeps_what_was_stored() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    // A limit on the file's size gives the error of a disk that is full.
    writer.connection.pragma_update(None, "max_page_count", 20).unwrap();
    let events = clean_fixture().events;
    let stored = events.iter().take_while(|stamped| writer.append(stamped).is_ok()).count();
    let error = writer.flush().unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(stored > 1);
    assert_eq!(store.events("last").unwrap(), events[..stored]);

    // What came meanwhile is not tried at every event, and written once there is room.
    let (soon, rest) = events[stored + 1..].split_first().unwrap();
    assert!(!writer.append(&Stamped { at_ms: events[stored].at_ms, ..soon.clone() }).unwrap());
    writer.connection.pragma_update(None, "max_page_count", 1 << 20).unwrap();
    for stamped in rest {
        writer.append(stamped).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!(store.events("last").unwrap().len(), events.len());
    assert_eq!(writer.take_gap(), None, "nothing is lost");
}

#[test]
fn a_disk_that_stays_full_leaves_a_gap_of_known_length() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    writer.backlog.bytes_max = 4 << 10;
    let events = clean_fixture().events;
    let is_second = |stamped: &Stamped| matches!(stamped.event, Event::Interval(_) | Event::Sample(_));
    let from = events.iter().position(is_second).unwrap();
    assert!(events[..from].iter().all(|stamped| writer.append(stamped).unwrap()));
    writer.connection.pragma_update(None, "max_page_count", 1).unwrap();
    events[from..].iter().for_each(|stamped| drop(writer.append(stamped)));
    assert_eq!(writer.take_gap(), None, "it goes on");
    writer.connection.pragma_update(None, "max_page_count", 1 << 20).unwrap();
    writer.flush().unwrap();

    let stored = store.events("last").unwrap();
    let gap = writer.take_gap().unwrap();
    assert_eq!(stored.len() as u64 + gap.events, events.len() as u64);
    let missing: Vec<_> = events.iter().filter(|stamped| !stored.contains(stamped)).collect();
    assert!(!missing.is_empty() && missing.iter().all(|stamped| is_second(stamped)), "stages are whole");
    assert_eq!(gap.at_ms, missing[0].at_ms..=missing[missing.len() - 1].at_ms);
    assert_eq!(store.report("last").unwrap().run.outcome, Outcome::Complete);
}

#[test]
fn a_store_on_a_full_disk_says_so_and_whose_another_is() {
    let file = Path::new("/etc/passwd/store");
    let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let error = StoreError::Unreadable { path: file.to_owned(), source }.to_string();
    assert!(error.contains("(/etc/passwd belongs to root, mode 644)"), "{error}");

    let scratch = Scratch::new();
    let mount = |program: &str, words: &[&str]| {
        Command::new(program).args(words).arg(&scratch.0).stderr(Stdio::null()).status().unwrap().success()
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"]) {
        println!("skipped: nothing can be mounted here");
        return;
    }
    let refused = || match Store::open(scratch.file()) {
        Err(error) => error.to_string(),
        Ok(store) => store.begin_run("2026-11-20").map(drop).unwrap_err().to_string(),
    };
    // A new store, one that is there, and one whose directory is to be made.
    let fill = || drop(fs::write(scratch.0.join("full"), vec![0; 1 << 20]));
    fill();
    let new = refused();
    fs::remove_file(scratch.0.join("full")).unwrap();
    drop(fs::remove_file(scratch.file()));
    drop(Store::open(scratch.file()).unwrap());
    fill();
    let known = refused();
    assert!(mount("umount", &[]));
    for error in [new, known] {
        assert!(error.starts_with("no room on the disk for the store"), "{error}");
    }
}

#[test]
fn a_store_that_may_not_be_written_says_so() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    writer.connection.pragma_update(None, "query_only", true).unwrap();
    let error = writer.append(&clean_fixture().events[0]).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

/// Changes an event of the only run, and its checksum with it.
fn change_event(store: &Store, seq: i64, change: &str) {
    let of_event = (seq,);
    store.connection.execute(&format!("UPDATE event SET {change} WHERE seq = ?1"), of_event).unwrap();
    let row = "SELECT at_ms, kind, body FROM event WHERE seq = ?1";
    let (at_ms, kind, body): (i64, String, String) =
        store.connection.query_row(row, of_event, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let texts = [kind.as_bytes(), body.as_bytes()];
    let checksum = checksum::of_event("2026-11-20-1", seq - 1, seq, at_ms, texts);
    store.connection.execute("UPDATE event SET checksum = ?1 WHERE seq = ?2", [checksum, seq]).unwrap();
}

#[test]
fn a_row_has_a_checksum() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    write(&store, &clean_fixture().events);
    for sql in [
        "UPDATE run SET checksum = NULL",
        "UPDATE event SET checksum = NULL WHERE seq = 2",
        "INSERT INTO block (run_id, seq, format, content) VALUES (1, 2, 0, x'')",
    ] {
        let error = store.connection.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("NOT NULL"), "{sql}: {error}");
    }
}

#[test]
fn a_damaged_event_is_named() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    write(&store, &clean_fixture().events[..3]);
    change_event(&store, 2, "body = '{}'");
    let error = store.events("last").unwrap_err().to_string();
    assert!(error.starts_with("event 2 of run 2026-11-20-1 cannot be read"), "{error}");
}

#[test]
fn a_time_that_no_run_has_is_refused() {
    let events = clean_fixture().events;
    let interval = events.iter().position(|stamped| stamped.event.kind() == "interval").unwrap();
    for change in ["body = json_set(body, '$.start_ns', 9000000000000000000)", "at_ms = 1000000000000000"] {
        let scratch = Scratch::new();
        let store = Store::open(scratch.file()).unwrap();
        write(&store, &events);
        change_event(&store, interval as i64, change);
        let error = store.report("last").unwrap_err().to_string();
        assert!(error.contains("years, longer than any run"), "{change}: {error}");
    }
}

#[test]
fn rows_and_values_without_end_are_refused() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    write(&store, &clean_fixture().events[..3]);
    let large = "UPDATE event SET body = printf('%.*c', 1 << 27, 'x') WHERE seq = 2";
    let error = store.connection.execute(large, []).unwrap_err();
    assert!(error.to_string().contains("too big"), "{error}");
    store
        .connection
        .execute_batch(
            "ALTER TABLE event RENAME TO old;
             CREATE VIEW event AS WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r)
                 SELECT run_id, n AS seq, at_ms, kind, body FROM old, r;",
        )
        .unwrap();
    assert!(matches!(Store::open(scratch.file()), Err(StoreError::NotAStore { .. })));
}

#[test]
fn what_is_said_at_length_is_cut_and_destroys_no_run() {
    let long = format!("{}é\n", "x".repeat(70 << 20));
    let failure = QueryFailure {
        target: "pg".to_owned(),
        series: "queries".to_owned(),
        query: "Q1".to_owned(),
        said: long.clone(),
        over_limit: false,
    };
    let hook = Hook {
        target: "pg".to_owned(),
        about: "join".to_owned(),
        phase: Some(0),
        when: HookTime::Before,
        action: "cat log".to_owned(),
        seconds: 1.0,
        succeeded: true,
        said: Some(long.clone()),
        cold: None,
    };
    let rows = vec![vec!["a".repeat(20_000)]; 1_000];
    let answer = QueryAnswer { sql: long, rows, count: 1_000, ..QueryAnswer::default() };
    let answer = Answer { target: "pg".to_owned(), series: "queries".to_owned(), answer };
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut events = clean_fixture().events[..3].to_vec();
    for event in [Event::QueryFailure(failure), Event::Hook(hook), Event::Answer(answer)] {
        let seq = events.len() as u64;
        events.push(Stamped { seq, at_ms: events[2].at_ms, event });
    }
    write(&store, &events);
    let report = store.report("last").unwrap();
    let said = &report.query_failures[0].said;
    assert!(said.starts_with("xxx") && said.ends_with(" bytes left out)"), "{}", said.len());
    assert_eq!(report.hooks[0].hook.said.as_deref(), Some(said.as_str()));
    assert_eq!((report.answers[0].answer.count, report.answers[0].answer.rows.len()), (1_000, 1_000));
}

/// Set in the process that the next test kills.
const VICTIM: &str = "DYNO_TEST_STORE_TO_WRITE_UNTIL_KILLED";

#[test]
fn a_killed_run_is_stored_up_to_its_last_event() {
    if let Ok(path) = std::env::var(VICTIM) {
        write_until_killed(Path::new(&path));
    }
    let scratch = Scratch::new();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::a_killed_run_is_stored_up_to_its_last_event", "--nocapture"])
        .env(VICTIM, scratch.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It says each number after the append has returned.
    let said = BufReader::new(victim.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("appended ")?.parse::<u64>().ok())
        .find(|seq| *seq >= 20)
        .unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();

    let store = Store::open(scratch.file()).unwrap();
    let events = store.events("last").unwrap();
    assert!(events.last().unwrap().seq >= said);
    let report = store.report("last").unwrap();
    assert_eq!(report.run.outcome, Outcome::Incomplete);
    assert_eq!(report.run.reason.as_deref(), Some(NOT_FINISHED));
    assert!(report.stages[0].totals.done > 0);
    let run = &store.runs().unwrap()[0];
    assert_eq!((run.outcome, run.live), (None, false), "it was killed");
}

fn write_until_killed(path: &Path) -> ! {
    let mut writer = Store::open(path).unwrap().begin_run("2026-11-20").unwrap();
    let mut fixture = Fixture::started(writer.name());
    let load = FixtureStage::read(StageKind::Hold, 4, &[100]);
    let stage = fixture.start_stage(&load);
    for second in 0.. {
        for stamped in fixture.events.drain(..) {
            writer.append(&stamped).unwrap();
            println!("appended {}", stamped.seq);
        }
        let event = Event::Interval(crate::fixture::interval(&load, stage, second, 100));
        fixture.events.push(Stamped { seq: 2 + second as u64, at_ms: second as u64 * 1000, event });
    }
    unreachable!("it counts up to the end of the integers")
}

/// A run that is killed in its first stage leaves intervals and no end of a stage.
#[test]
fn a_killed_run_is_listed_with_what_its_intervals_say() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut fixture = crate::fixture::Fixture::started("2026-11-20-1");
    let load = FixtureStage::write(StageKind::Hold, 8, &[900, 1100]);
    let id = fixture.start_stage(&load);
    for (index, done) in load.tps.iter().enumerate() {
        fixture.push(Event::Interval(crate::fixture::interval(&load, id, index, *done)));
    }
    write(&store, &fixture.events);
    let run = store.runs().unwrap().remove(0);
    assert_eq!(run.outcome, None);
    let [only] = run.content.series.as_slice() else { panic!("{:?}", run.content.series) };
    assert!((only.tps - 1000.0).abs() < 1e-9 && only.clients == 8, "{only:?}");
}

/// What a reader must know before the figure: findings, and the rate where that is what was asked for.
#[test]
fn the_list_shows_the_median_of_repeats() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut fixture = Fixture::started("2026-11-20-1");
    for tps in [1000, 3000, 2000] {
        fixture.play(&FixtureStage::read(StageKind::Hold, 8, &[tps; 3]));
    }
    let under_way = fixture.start_stage(&FixtureStage::read(StageKind::Hold, 8, &[9000]));
    fixture.push(Event::Interval(interval(
        &FixtureStage::read(StageKind::Hold, 8, &[9000]),
        under_way,
        0,
        9000,
    )));
    write(&store, &fixture.events);
    let series = &store.runs().unwrap()[0].content.series[0];
    assert_eq!((series.tps, &series.repeats[..]), (2000.0, &[1000.0, 3000.0, 2000.0][..]));
}

#[test]
fn times_of_queries_are_those_of_the_latest_run_of_the_same_load() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let passes = |scale: f64| {
        let mut events = clean_fixture().events;
        for stamped in &mut events {
            match &mut stamped.event {
                Event::StageStarted(stage) => stage.pass = true,
                Event::Data(data) => data.scale = Some(scale),
                _ => {}
            }
        }
        events
    };
    let events = passes(50.0);
    let run = write(&store, &events);
    write(&store, &passes(7.0));
    write(&store, &clean_fixture().events);
    write(&store, &events[..events.len() - 1]);
    let mut fold = Fold::new();
    events.iter().for_each(|stamped| fold.add(stamped));
    let ids: Vec<u32> = fold.report().stages.iter().map(|result| result.stage.id).collect();
    assert_eq!(ids.iter().filter(|id| fold.first_of_series(**id).is_some()).count(), 1);
    let load = fold.first_of_series(ids[0]).unwrap();
    let found = store.earlier_times(&load).unwrap();
    let [(query, time)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((query.as_str(), &time.run), ("only", &run));
    let others = [
        PassLoad { scale: None, ..load.clone() },
        PassLoad { product: None, ..load.clone() },
        PassLoad { clients: load.clients + 1, ..load },
    ];
    for other in others {
        assert_eq!(store.earlier_times(&other).unwrap(), []);
    }
}

#[test]
fn a_list_tells_findings_and_rates() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.play(&FixtureStage {
        open: Some((500.0, 10)),
        ..FixtureStage::read(StageKind::Hold, 64, &[500, 500])
    });
    for (code, severity) in [
        (Code::SharedHost, Severity::Doubt),
        (Code::SharedHost, Severity::Doubt),
        (Code::Durable, Severity::Note),
        (Code::DataCheckFailed, Severity::Invalid),
    ] {
        let subject = Subject::default();
        let finding = Finding::new((code, severity), subject, String::new(), "", Facts::default());
        fixture.push(Event::Finding(finding));
    }
    fixture.finish();
    write(&store, &fixture.events);
    let content = store.runs().unwrap().remove(0).content;
    let codes = |code: &str| vec![code.to_owned()];
    let expected = Doubts {
        invalid: codes("data-check-failed"),
        doubt: codes("shared-host"),
        series_invalid: 1,
        series: 1,
    };
    assert_eq!(content.findings, Some(expected));
    let [only] = content.series.as_slice() else { panic!("{:?}", content.series) };
    assert_eq!((only.rate_per_s, only.rate_end_per_s, only.clients_end), (Some(500.0), None, None));
}

/// A summary that an earlier dyno wrote has neither.
#[test]
fn a_list_of_an_earlier_dyno_is_read() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    write(&store, &clean_fixture().events);
    let old = r#"{"command":[],"targets":[],"series":[{"target":"pg","series":"read","workload":"tpcb/select-only",
        "kind":"hold","clients":8,"tps":990.0}]}"#;
    let columns = "SELECT started_at, outcome, reason FROM run";
    let of_others: [Option<String>; 3] =
        store.connection.query_row(columns, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap();
    let [started_at, outcome, reason] = of_others.each_ref().map(|text| text.as_ref().map(String::as_bytes));
    let checksum = checksum::of_run("2026-11-20-1", [started_at, outcome, reason, Some(old.as_bytes())]);
    store.connection.execute("UPDATE run SET summary = ?1, checksum = ?2", params![old, checksum]).unwrap();
    let content = store.runs().unwrap().remove(0).content;
    assert_eq!((content.series[0].rate_per_s, content.findings), (None, None));
}

/// Every query that the documentation shows is one that works.
#[test]
fn the_documented_queries_find_something() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let mut fixture = clean_fixture();
    let end = fixture.events.pop().unwrap();
    fixture.play(&FixtureStage::read(StageKind::Hold, 8, &[5000, 5100, 4900]));
    for event in crate::fixture::one_of_each_remark() {
        fixture.push(event);
    }
    fixture.push(end.event);
    write(&store, &fixture.events);

    let document = include_str!("../../../../docs/store.md");
    let queries: Vec<&str> =
        document.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(queries.len() >= 8, "{} queries", queries.len());
    for query in queries {
        let mut statement = store.connection.prepare(query).unwrap();
        let rows = statement.query_map([], |_| Ok(())).unwrap().count();
        assert!(rows > 0, "no row from: {query}");
    }
}

/// A check that could not be made is no check that passed.
#[test]
fn the_documented_query_for_whole_data_leaves_out_what_was_not_checked() {
    let document = include_str!("../../../../docs/store.md");
    let query = document
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .find(|query| query.contains("FROM data_check"))
        .unwrap();
    for (unmade, runs) in [(false, 1), (true, 0)] {
        let scratch = Scratch::new();
        let store = Store::open(scratch.file()).unwrap();
        let mut fixture = clean_fixture();
        if unmade {
            fixture.push(Event::Check(crate::fixture::check("data-after-load", None)));
        }
        write(&store, &fixture.events);
        let mut statement = store.connection.prepare(query).unwrap();
        assert_eq!(statement.query_map([], |_| Ok(())).unwrap().count(), runs);
    }
}

#[test]
fn the_views_agree_with_the_report() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let fixture = clean_fixture();
    let name = write(&store, &fixture.events);
    for result in fold(&fixture.events).stages {
        let (tps, done): (f64, u32) = store
            .connection
            .query_row(
                "SELECT tps, done FROM throughput WHERE run = ?1 AND stage = ?2",
                params![name, result.stage.id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let percentiles: [f64; 3] = store
            .connection
            .query_row(
                "SELECT p50_us, p90_us, p99_us FROM stage WHERE run = ?1 AND stage = ?2",
                params![name, result.stage.id],
                |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]),
            )
            .unwrap();
        let latency = result.response.or(result.service).unwrap();
        assert_eq!(percentiles, [latency.p50_us, latency.p90_us, latency.p99_us]);
        assert!((tps - result.throughput.unwrap().mean).abs() < 1e-6);
        assert_eq!(u64::from(done), result.totals.done);
    }
}

#[test]
fn a_run_is_read_from_where_it_was_left() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let events = clean_fixture().events;
    let mut writer = store.begin_run("2026-11-20").unwrap();
    let (early, late) = events.split_at(events.len() / 2);
    for stamped in early {
        writer.append(stamped).unwrap();
    }
    let reader = Store::open_existing(scratch.file()).unwrap();
    let mut seen = Vec::new();
    reader.read_after("last", None, |stamped| seen.push(stamped)).unwrap();
    assert_eq!(seen, early);
    let state = reader.state("last").unwrap();
    assert_eq!((state.last_seq, state.live), (early.last().map(|stamped| stamped.seq), true));
    for stamped in late {
        writer.append(stamped).unwrap();
    }
    reader.read_after("last", state.last_seq, |stamped| seen.push(stamped)).unwrap();
    assert_eq!(seen, events);
    let mut lines = String::new();
    let last = reader.read_raw("last", Some(0), 3, |raw| lines.push_str(&raw.line())).unwrap();
    assert_eq!(last, Some(3));
    let read: Vec<Stamped> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, events[1..4]);
}

#[test]
fn a_run_is_live_until_it_ends_or_its_writer_is_gone() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let events = clean_fixture().events;
    let mut writer = store.begin_run("2026-11-20").unwrap();
    let live = |name| store.state(name).unwrap().live;
    assert!(live("2026-11-20-1"), "before its first event");
    for stamped in &events {
        writer.append(stamped).unwrap();
    }
    assert!(!live("2026-11-20-1"), "it has said that it has ended");
    let mut killed = store.begin_run("2026-11-20").unwrap();
    killed.append(&events[0]).unwrap();
    assert!(live("2026-11-20-2"));
    drop((killed, writer));
    assert!(!live("2026-11-20-2"));
    let beside = std::fs::read_dir(&scratch.0).unwrap();
    assert!(
        !beside
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .any(|name| name.contains("-live-"))
    );
}

#[test]
fn what_a_killed_writer_left_is_removed_by_the_next() {
    let scratch = Scratch::new();
    let store = Store::open(scratch.file()).unwrap();
    let left = scratch.0.join(format!("{}-live-2026-11-19-1", scratch.file().file_name().unwrap().display()));
    std::fs::write(&left, "").unwrap();
    let _writer = store.begin_run("2026-11-20").unwrap();
    assert!(!left.exists());
    assert!(store.is_alive("2026-11-20-1"));
}

#[test]
fn a_store_that_is_gone_is_not_made_again_by_a_reader() {
    let scratch = Scratch::new();
    assert!(matches!(Store::open_existing(scratch.file()), Err(StoreError::Missing { .. })));
    assert!(!scratch.file().exists());
}

#[test]
fn an_event_that_was_changed_is_told_and_other_runs_are_read() {
    let events = clean_fixture().events;
    let at = |kind: &str| events.iter().position(|stamped| stamped.event.kind() == kind).unwrap();
    let interval = at("interval");
    for (change, named) in [
        ("UPDATE event SET body = replace(body, '\"done\":', '\"done\":1') WHERE seq = ?2", interval),
        ("UPDATE event SET at_ms = at_ms + 1 WHERE seq = ?2", interval),
        ("UPDATE event SET kind = 'sample' WHERE seq = ?2", interval),
        // What is no text any more.
        ("UPDATE event SET body = CAST(x'ff' || substr(body, 2) AS TEXT) WHERE seq = ?2", interval),
        ("DELETE FROM event WHERE seq = ?2", interval + 1),
        ("DELETE FROM event WHERE seq = 0 * ?2", 1),
        ("UPDATE event SET checksum = checksum + 1 WHERE seq = ?2", interval),
        // An event of the same kind in its place, or of the other run.
        (
            "UPDATE event SET (body, checksum) = (SELECT body, checksum FROM event WHERE run_id = ?1 AND seq = ?2 + 2)
             WHERE seq = ?2",
            interval,
        ),
        (
            "UPDATE event SET (body, checksum) = (SELECT body || ' ', checksum FROM event WHERE run_id = 2 AND seq = ?2)
             WHERE seq = ?2",
            interval,
        ),
    ] {
        let scratch = Scratch::new();
        let store = Store::open(scratch.file()).unwrap();
        let (name, other) = (write(&store, &events), write(&store, &events));
        let changed = store.connection.execute(&format!("{change} AND run_id = ?1"), params![1, interval as i64]).unwrap();
        assert_eq!(changed, 1, "{change}");
        let path = scratch.file();
        let is_it = |error: StoreError| {
            let told = error.to_string();
            assert!(matches!(error, StoreError::EventChanged { .. }), "{change}: {told}");
            let says = [&format!("event {named} of run {name} "), path.to_str().unwrap(), "copy of the store"];
            assert!(says.iter().all(|words| told.contains(words)), "{change}: {told}");
        };
        is_it(store.report(&name).unwrap_err());
        is_it(store.read_raw(&name, None, 10_000, |_| ()).unwrap_err());
        is_it(store.read_raw(&name, Some(named as u64 - 1), 1, |_| ()).unwrap_err());
        let sides = [name.clone(), other.clone()];
        assert!(crate::comparison::of_store(&store, &sides, None).unwrap_err().to_string().contains(&name));
        assert_eq!(store.events(&other).unwrap(), events, "{change}");
        assert_eq!(store.runs().unwrap().len(), 2, "{change}");
    }
}

#[test]
fn a_list_tells_a_summary_that_was_changed_and_shows_the_other_runs() {
    let events = clean_fixture().events;
    for change in [
        "UPDATE run SET summary = replace(summary, '\"tps\":9', '\"tps\":8')",
        "UPDATE run SET summary = replace(summary, '{', '[')",
        "UPDATE run SET summary = CAST(x'ff' || substr(summary, 2) AS TEXT)",
        "UPDATE run SET outcome = 'incomplete'",
        "UPDATE run SET (started_at, summary, checksum)
             = (SELECT started_at, summary || ' ', checksum FROM run WHERE id = 2)",
        "UPDATE event SET at_ms = at_ms * 2",
    ] {
        let scratch = Scratch::new();
        let store = Store::open(scratch.file()).unwrap();
        let (name, _) = (write(&store, &events), write(&store, &events));
        let whole = store.runs().unwrap();
        let of_first = if change.contains("at_ms") { "run_id = 1 AND kind = 'finished'" } else { "id = 1" };
        store.connection.execute(&format!("{change} WHERE {of_first}"), []).unwrap();
        let listed = store.runs().unwrap();
        assert_eq!(listed, [whole[0].clone(), RunSummary::damaged(name)], "{change}");
    }
}
