//! The store: one SQLite file that holds the events of every run, appended as they happen.
//!
//! A run killed at any moment is on disk up to its last event. Several processes may write different runs at once.
//! The schema is documented in `docs/store.md` so that people query it. Nothing here interprets an event beyond
//! the summary that lists show.

mod alive;
mod backlog;
mod blocks;
mod checksum;
mod earlier;
mod error;
mod long;
mod open;
mod percentiles;
mod tail;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use self::alive::Alive;
use self::backlog::Backlog;
pub use self::backlog::Gap;
use self::blocks::Written;
use self::checksum::of_run;
pub use self::error::StoreError;
use self::percentiles::body_of;
pub use self::tail::{RawEvent, RunState};
use crate::document::Report;
use crate::event::{Event, Outcome, Stamped};
use crate::fold::Fold;
pub use crate::summary::{Content, Doubts, PassesSummary, RunSummary, SeriesSummary, TargetSummary};

/// How long to wait for another process that holds a lock. A writer holds one for milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Names that an unknown name is answered with.
const NEAR_NAMES: usize = 3;

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    lock_timeout: Duration,
    connection: Connection,
}

impl Store {
    /// Opens the store at `path`; makes the file (readable by its owner only) and its directory where they are
    /// missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with_lock_timeout(path.as_ref(), LOCK_TIMEOUT)
    }

    /// Opens the store at `path`, and makes none where there is none.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        Self::open(path)
    }

    fn open_with_lock_timeout(path: &Path, lock_timeout: Duration) -> Result<Self, StoreError> {
        let connection = open::open(path, lock_timeout)?;
        Ok(Self { path: path.to_owned(), lock_timeout, connection })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run on the day `date` (`2026-11-20`) and gives it the day's next name (`2026-11-20-1`). The writer
    /// has a connection of its own and may move to another thread.
    pub fn begin_run(&self, date: &str) -> Result<RunWriter, StoreError> {
        let mut connection = open::open(&self.path, self.lock_timeout)?;
        let (run_id, name, alive) = allocate_name(&mut connection, date, &self.path)
            .map_err(|source| self.error("begin a run in", source))?;
        Ok(RunWriter {
            _alive: alive,
            path: self.path.clone(),
            lock_timeout: self.lock_timeout,
            connection,
            run_id,
            name,
            fold: Fold::new(),
            summary_changed: false,
            backlog: Backlog::default(),
            appended: 0,
            blocks: Written::default(),
        })
    }

    /// All runs, the newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunSummary>> {
            let mut runs = self.summaries("ORDER BY id DESC", params![])?;
            for run in runs.iter_mut().filter(|run| run.outcome.is_none()) {
                run.live = self.is_alive(&run.name);
                if !run.live {
                    // One that has ended since it was read has said so, and was not killed.
                    *run = self
                        .summaries("WHERE name = ?1", params![run.name])?
                        .pop()
                        .unwrap_or_else(|| run.clone());
                }
            }
            Ok(runs)
        };
        read().map_err(|source| self.error("list the runs of", source))
    }

    /// Runs as they are stored: whether one that has not ended is under way, its row does not say.
    fn summaries(&self, which: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<Vec<RunSummary>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT last.seq, last.at_ms, last.kind, last.body, last.checksum,
                    (SELECT max(seq) FROM event WHERE run_id = run.id AND seq < last.seq),
                    name, run.checksum, started_at, outcome, reason, summary
             FROM run LEFT JOIN event AS last
                 ON last.run_id = run.id AND last.seq = (SELECT max(seq) FROM event WHERE run_id = run.id)
             {which}"
        ))?;
        statement.query_map(parameters, run_summary)?.collect()
    }

    /// The full name of the run that is meant: `last`, `last~1` for the one before it, a full name, or the beginning of
    /// exactly one.
    pub fn find(&self, wanted: &str) -> Result<String, StoreError> {
        let mut names = self.names().map_err(|source| self.error("list the runs of", source))?;
        let Some(newest) = names.first() else {
            return Err(StoreError::NoRuns { path: self.path.clone() });
        };
        if wanted == "last" {
            return Ok(newest.clone());
        }
        if let Some(back) = wanted.strip_prefix("last~").and_then(|back| back.parse::<usize>().ok()) {
            let too_far = || StoreError::TooFarBack { wanted: wanted.to_owned(), stored: names.len() };
            return names.get(back).cloned().ok_or_else(too_far);
        }
        if let Some(exact) = names.iter().find(|name| *name == wanted) {
            return Ok(exact.clone());
        }
        let mut matching: Vec<String> =
            names.iter().filter(|name| name.starts_with(wanted)).cloned().collect();
        match matching.len() {
            1 => Ok(matching.remove(0)),
            0 => {
                // A stable sort: among equally near names the newest come first.
                names.sort_by_key(|name| std::cmp::Reverse(common_prefix(name, wanted)));
                names.truncate(NEAR_NAMES);
                Err(StoreError::NoSuchRun { wanted: wanted.to_owned(), near: names })
            }
            _ => Err(StoreError::Ambiguous { wanted: wanted.to_owned(), candidates: matching }),
        }
    }

    /// The events of a run, named as for [`Store::find`], in their order. A long run takes much memory this way,
    /// about a quarter of a megabyte for each histogram: see [`Store::read`].
    pub fn events(&self, name: &str) -> Result<Vec<Stamped>, StoreError> {
        let mut events = Vec::new();
        self.read(name, |stamped| events.push(stamped))?;
        Ok(events)
    }

    /// Hands the events of a run, named as for [`Store::find`], to `sink`, one after the other.
    pub fn read(&self, name: &str, sink: impl FnMut(Stamped)) -> Result<(), StoreError> {
        self.read_after(name, None, sink)
    }

    /// The report of a run, named as for [`Store::find`], as far as it got. Its findings are those that the run
    /// stored; [`crate::judge::judge`] judges again.
    pub fn report(&self, name: &str) -> Result<Report, StoreError> {
        let name = self.find(name)?;
        let (mut fold, last) = self.fold(&name)?;
        self.read_after(&name, last, |stamped| fold.add(&stamped))?;
        let mut report = fold.report();
        report.run.name = name;
        Ok(report)
    }

    /// Names of all runs, the newest first.
    fn names(&self) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare("SELECT name FROM run ORDER BY id DESC")?;
        statement.query_map([], |row| row.get(0))?.collect()
    }

    fn error(&self, doing: &'static str, source: rusqlite::Error) -> StoreError {
        StoreError::of(source, doing, &self.path, self.lock_timeout.as_secs_f64())
    }
}

/// Writes the events of one run.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    lock_timeout: Duration,
    connection: Connection,
    run_id: i64,
    name: String,
    /// Of all events, those that are not in the store yet included.
    fold: Fold,
    /// The store's summary is not that of the fold.
    summary_changed: bool,
    backlog: Backlog,
    /// Events that are in the store.
    appended: u64,
    blocks: Written,
    /// `None` where the lock could not be had: then the run is not shown as live.
    _alive: Option<Alive>,
}

impl RunWriter {
    /// The run's name, unique in the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The store that it is written to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What all its events come to.
    pub fn fold(&self) -> &Fold {
        &self.fold
    }

    /// Appends an event. When this returns true, it and all before it survive the end of this process. What cannot be
    /// written is kept, and written before the next one that can be; the error says why, and false that it was not tried
    /// again yet.
    pub fn append(&mut self, stamped: &Stamped) -> Result<bool, StoreError> {
        self.fold.add(stamped);
        self.summary_changed |= changes_summary(&stamped.event);
        let body = body_of(&stamped.event, self.fold.percentiles_of(&stamped.event))
            .and_then(long::bounded)
            .map_err(|source| StoreError::Unwritable { run: self.name.clone(), seq: stamped.seq, source })?;
        self.backlog.add(&self.name, stamped, body);
        self.blocks.given_up |= self.backlog.has_gap();
        if !self.backlog.is_due(stamped.at_ms) {
            return Ok(false);
        }
        let waited_ms = self.lock_timeout.as_millis() as u64;
        self.flush().map(|()| true).inspect_err(|error| {
            let waited_ms = if matches!(error, StoreError::Locked { .. }) { waited_ms } else { 0 };
            self.backlog.failed(stamped.at_ms, waited_ms);
        })
    }

    /// Writes what could not be written before.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.write().map_err(|source| {
            StoreError::of(source, "write to", &self.path, self.lock_timeout.as_secs_f64())
        })?;
        self.appended = self.backlog.rows.last().map_or(self.appended, |row| row.seq + 1);
        self.summary_changed = false;
        self.note_rare();
        self.backlog.clear();
        self.write_block();
        Ok(())
    }

    /// What of the run is not in the store, once what could be kept of it is.
    pub fn take_gap(&mut self) -> Option<Gap> {
        self.backlog.take_gap()
    }

    /// Removes the run and all its events: for one that ended before anything was measured.
    pub fn discard(&mut self) -> Result<(), StoreError> {
        let removed = self.connection.execute("DELETE FROM run WHERE id = ?1", [self.run_id]);
        removed
            .map(drop)
            .map_err(|source| StoreError::of(source, "write to", &self.path, self.lock_timeout.as_secs_f64()))
    }

    fn write(&mut self) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let insert =
            "INSERT INTO event (run_id, seq, at_ms, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        for row in &self.backlog.rows {
            let (seq, at_ms) = (row.seq.cast_signed(), row.at_ms.cast_signed());
            let values = params![self.run_id, seq, at_ms, row.kind, row.body, row.checksum];
            transaction.prepare_cached(insert)?.execute(values)?;
        }
        if self.summary_changed {
            let (report, ended) = (self.fold.outline(), self.fold.is_finished());
            let findings = ended.then(|| Doubts::of(&report));
            let content = serde_json::to_string(&Content { findings, ..Content::of(&report) })
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            let started_at = Some(report.run.started_at).filter(|started_at| !started_at.is_empty());
            let outcome = ended.then(|| outcome_text(report.run.outcome));
            let reason = report.run.reason.filter(|_| ended);
            let columns = [started_at.as_deref(), outcome, reason.as_deref(), Some(&content)];
            let checksum = of_run(&self.name, columns.map(|text| text.map(str::as_bytes)));
            transaction
                .prepare_cached(
                    "UPDATE run SET started_at = ?2, outcome = ?3, reason = ?4, summary = ?5, checksum = ?6
                     WHERE id = ?1",
                )?
                .execute(params![self.run_id, started_at, outcome, reason, content, checksum])?;
        }
        transaction.commit()
    }
}

/// Whether a list shows anything that this event tells. To fold a summary takes time for all that the run has told, and a run has
/// thousands of answers and plans.
fn changes_summary(event: &Event) -> bool {
    matches!(
        event,
        Event::Started(_)
            | Event::Target(_)
            | Event::StageStarted(_)
            | Event::Interval(_)
            | Event::StageFinished(_)
            | Event::Finished(_)
    )
}

/// Takes the day's next number under the write lock, so that two processes never get the same name, and with it the lock
/// that says that the run is under way.
fn allocate_name(
    connection: &mut Connection,
    date: &str,
    store: &Path,
) -> rusqlite::Result<(i64, String, Option<Alive>)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let number: i64 = transaction.query_row(
        "SELECT coalesce(max(number), 0) + 1 FROM run WHERE day = ?1",
        [date],
        |row| row.get(0),
    )?;
    let name = format!("{date}-{number}");
    let content = r#"{"command":[],"targets":[],"series":[]}"#;
    let checksum = of_run(&name, [None, None, None, Some(content.as_bytes())]);
    transaction.execute(
        "INSERT INTO run (name, day, number, summary, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![name, date, number, content, checksum],
    )?;
    let run_id = transaction.last_insert_rowid();
    let alive = Alive::begin(store, &name).ok();
    transaction.commit()?;
    Ok((run_id, name, alive))
}

/// A row of the list. One that is not as it was written says nothing but that, and the others what they have to say.
fn run_summary(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunSummary> {
    let name: String = row.get(6)?;
    let before = row.get::<_, Option<i64>>(5)?.unwrap_or(-1);
    let last_ms = match row.get::<_, Option<i64>>(0)? {
        Some(_) => RawEvent::of(&name, row, before).ok().flatten().map(|last| last.at_ms),
        None => Some(0),
    };
    let mut columns = [None; 4];
    for (index, column) in (8..).zip(&mut columns) {
        *column = row.get_ref(index)?.as_bytes_or_null()?;
    }
    let as_written = row.get(7) == Ok(of_run(&name, columns));
    let text = |column: Option<&[u8]>| column.map(|text| String::from_utf8_lossy(text).into_owned());
    let [started_at, outcome, reason, content] = columns.map(text);
    let content = content.and_then(|text| serde_json::from_str(&text).ok());
    let (Some(last_ms), Some(content), true) = (last_ms, content, as_written) else {
        return Ok(RunSummary::damaged(name));
    };
    Ok(RunSummary {
        name,
        started_at,
        outcome: outcome.as_deref().map(|text| {
            if text == outcome_text(Outcome::Complete) { Outcome::Complete } else { Outcome::Incomplete }
        }),
        reason,
        live: false,
        damaged: false,
        seconds: last_ms as f64 / 1000.0,
        content,
    })
}

fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete",
    }
}

/// Characters that two names begin with alike.
fn common_prefix(name: &str, wanted: &str) -> usize {
    name.chars().zip(wanted.chars()).take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests;
