//! A cache of documents on disk, beside the store: to read all of a day's run takes seconds, to read its document does
//! not.
//!
//! Only the whole of a run that has ended is cached, as the page first asks for it. It counts for the very events and the
//! very program that it was made of, since rules improve; anything else is made anew. Without it all works, only later.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dyno_results::decimate::{self, Span};
use dyno_results::document::Report;
use dyno_results::store::{RunState, Store, StoreError};
use dyno_results::timeline_view::TimelineView;

use super::cached_run::CurveView;
use crate::page;

/// A run of fewer events is read in less than a second.
const EVENTS_MIN: u64 = 20_000;

/// Caches the document of a run that has just ended, from its report with every point: whoever opens it first need not
/// wait until all of it was read again.
pub(super) fn insert(store: &Store, report: &Report) -> Result<(), StoreError> {
    // Its writer may still hold it, but the last event is there.
    let state = RunState { live: false, ..store.state(&report.run.name)? };
    if path(store.path(), &state).is_some() {
        let thin = |timeline| decimate::timeline(&TimelineView::of(timeline), Span::ALL, CurveView::POINTS);
        let timelines = report.timelines.iter().map(thin).collect();
        if let Ok(mut document) = page::document(&Report { timelines, ..page::without_timelines(report) }) {
            document["live"] = false.into();
            write(store.path(), &state, &document.to_string());
        }
    }
    Ok(())
}

/// The document, where it is cached for exactly this state.
pub(super) fn read(store: &Path, state: &RunState) -> Option<String> {
    let text = fs::read_to_string(path(store, state)?).ok()?;
    let (made_of, document) = text.split_once('\n')?;
    (made_of == made_of_now(state)?).then(|| document.to_owned())
}

/// Caches the document, where it is worth it. Where it cannot be written it is made again each time.
pub(super) fn write(store: &Path, state: &RunState, document: &str) {
    if let (Some(path), Some(made_of)) = (path(store, state), made_of_now(state)) {
        let _ = write_whole(&path, &made_of, document);
    }
}

/// Under another name first: nobody ever reads half of it.
fn write_whole(path: &Path, made_of: &str, document: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let half = path.with_extension(format!("json-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
    let written =
        file.write_all(format!("{made_of}\n{document}").as_bytes()).and_then(|()| fs::rename(&half, path));
    if written.is_err() {
        // What is left of it would be in the way of nobody but the disk.
        let _ = fs::remove_file(&half);
    }
    written
}

/// Beside the run's page. `None` for what is not worth caching, and for a name that is none of dyno's.
fn path(store: &Path, state: &RunState) -> Option<PathBuf> {
    let long = state.last_seq.is_some_and(|last| last >= EVENTS_MIN);
    let plain = state.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let directory = store.parent().filter(|directory| !directory.as_os_str().is_empty());
    (long && plain && !state.live)
        .then(|| directory.unwrap_or(Path::new(".")).join("runs").join(&state.name).join("served.json"))
}

/// The events, and the program: its version, and when and how large it was built.
fn made_of_now(state: &RunState) -> Option<String> {
    let program = fs::metadata(std::env::current_exe().ok()?).ok()?;
    Some(format!(
        "{} {} {} by {} {} {}",
        state.name,
        state.identity,
        state.last_seq?,
        env!("CARGO_PKG_VERSION"),
        program.len(),
        program.mtime()
    ))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn state(last_seq: u64) -> RunState {
        RunState { name: "2026-11-20-1".to_owned(), identity: 1, last_seq: Some(last_seq), live: false }
    }

    #[test]
    fn it_counts_for_what_it_was_made_of_and_for_nothing_else() {
        let directory = TempDir::new().unwrap();
        let store = directory.path().join("dyno.sqlite");
        let run = state(EVENTS_MIN);
        assert_eq!(read(&store, &run), None);
        write(&store, &run, "{\"a\":\n1}");
        assert_eq!(read(&store, &run).as_deref(), Some("{\"a\":\n1}"));
        assert_eq!(read(&store, &state(EVENTS_MIN + 1)), None, "more has come");
        assert_eq!(read(&store, &RunState { identity: 2, ..run.clone() }), None, "another run of that name");
        assert_eq!(read(&store, &RunState { live: true, ..run }), None, "it goes on");
        let left = fs::read_dir(directory.path().join("runs/2026-11-20-1")).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn what_is_short_or_strangely_named_is_not_kept() {
        let directory = TempDir::new().unwrap();
        let store = directory.path().join("dyno.sqlite");
        write(&store, &state(10), "{}");
        write(&store, &RunState { name: "../../x".to_owned(), ..state(EVENTS_MIN) }, "{}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
