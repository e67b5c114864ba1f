//! Reading a run while it is written: what came since the last look, and whether more will come.
//!
//! Each look is a short transaction of its own, so that a reader never keeps the writer's log from being folded in.

use rusqlite::{OptionalExtension as _, Params, Row, params};

use super::checksum::of_event;
use super::{Store, StoreError, alive};
use crate::event::Stamped;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    /// The full name.
    pub name: String,
    /// Differs where a name was given to another run since; so does `first`, where that got the number of the first one too.
    pub identity: i64,
    /// The first event's checksum; `None` before it.
    pub first: Option<i64>,
    /// `seq` of the last event; `None` before the first.
    pub last_seq: Option<u64>,
    /// True while the run goes on and its process lives. One that was killed never says that it has finished.
    pub live: bool,
}

/// An event as it is stored, not interpreted.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    pub seq: u64,
    pub at_ms: u64,
    /// `interval`
    pub kind: &'a str,
    /// A JSON object: `{"event":"interval",…}`.
    pub body: &'a str,
    pub(super) checksum: i64,
}

impl<'a> RawEvent<'a> {
    /// The event of a row of [`Store::read_rows`]; `None` where it is not as it was written.
    pub(super) fn of(run: &str, row: &'a Row<'_>, before: i64) -> rusqlite::Result<Option<Self>> {
        let (seq, at_ms, checksum): (i64, i64, _) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let [kind, body] = [row.get_ref(2)?, row.get_ref(3)?];
        let texts = [kind.as_bytes()?, body.as_bytes()?];
        if checksum != of_event(run, before, seq, at_ms, texts) {
            return Ok(None);
        }
        let (seq, at_ms) = (seq.unsigned_abs(), at_ms.unsigned_abs());
        Ok(Some(Self { seq, at_ms, kind: kind.as_str()?, body: body.as_str()?, checksum }))
    }

    pub(super) fn read(&self, run: &str) -> Result<Stamped, StoreError> {
        Stamped::read(self.seq, self.at_ms, self.kind, self.body).map_err(|source| StoreError::Event {
            run: run.to_owned(),
            seq: self.seq.cast_signed(),
            source,
        })
    }

    /// The event on one line, as [`Stamped`] is written: `{"seq":7,"at_ms":1003,"event":"interval",…}`. A field that is
    /// not known here stays.
    pub fn line(&self) -> String {
        let fields = self.body.trim_start().strip_prefix('{').unwrap_or(self.body);
        format!("{{\"seq\":{},\"at_ms\":{},{fields}\n", self.seq, self.at_ms)
    }
}

impl Store {
    /// Where a run stands, named as for [`Store::find`].
    pub fn state(&self, name: &str) -> Result<RunState, StoreError> {
        let name = self.find(name)?;
        // Before the outcome is read: a run that ends between the two has said so, and was not killed.
        let alive = alive::is_alive(&self.path, &name);
        let row: Option<(i64, bool, Option<i64>, Option<i64>)> = self
            .connection
            .query_row(
                "SELECT id, outcome IS NOT NULL, (SELECT max(seq) FROM event WHERE run_id = run.id),
                        (SELECT checksum FROM event WHERE run_id = run.id AND seq = 0)
                 FROM run WHERE name = ?1",
                [&name],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
            )
            .optional()
            .map_err(|source| self.error("read", source))?;
        let Some((identity, ended, last_seq, first)) = row else {
            return Err(StoreError::NoSuchRun { wanted: name, near: Vec::new() });
        };
        Ok(RunState {
            name,
            identity,
            first,
            last_seq: last_seq.map(i64::unsigned_abs),
            live: alive && !ended,
        })
    }

    /// True while a run of this full name, which has not said that it has ended, is being written.
    pub fn is_alive(&self, name: &str) -> bool {
        alive::is_alive(&self.path, name)
    }

    /// Hands the events of a run that come after `seq` (all of them where that is `None`) to `sink`, in their order.
    pub fn read_after(
        &self,
        name: &str,
        seq: Option<u64>,
        mut sink: impl FnMut(Stamped),
    ) -> Result<(), StoreError> {
        let name = self.find(name)?;
        self.read_events(&name, seq, i64::MAX, |raw| {
            sink(raw.read(&name)?);
            Ok(())
        })
    }

    /// Hands at most `count` events that come after `seq` to `sink` as they are stored; returns the last one's `seq`, or
    /// `None` where there was none.
    pub fn read_raw(
        &self,
        name: &str,
        seq: Option<u64>,
        count: u32,
        mut sink: impl FnMut(RawEvent<'_>),
    ) -> Result<Option<u64>, StoreError> {
        let name = self.find(name)?;
        let mut last = None;
        self.read_events(&name, seq, i64::from(count), |raw| {
            last = Some(raw.seq);
            sink(raw);
            Ok(())
        })?;
        Ok(last)
    }

    fn read_events(
        &self,
        name: &str,
        after: Option<u64>,
        count: i64,
        sink: impl FnMut(RawEvent<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let after = after.map_or(-1, u64::cast_signed);
        let events = "WITH one AS (SELECT id FROM run WHERE name = ?1)
            SELECT seq, at_ms, kind, body, checksum,
                (SELECT max(seq) FROM event WHERE run_id = (SELECT id FROM one) AND seq <= ?2)
            FROM event WHERE run_id = (SELECT id FROM one) AND seq > ?2 ORDER BY seq LIMIT ?3";
        self.read_rows(name, events, params![name, after, count], sink)
    }

    /// Hands over what a statement finds: `seq`, `at_ms`, `kind`, `body` and `checksum` of events of a run in their order, and
    /// `seq` of an event before each, the last one unless that is found too.
    pub(super) fn read_rows(
        &self,
        run: &str,
        statement: &str,
        parameters: impl Params,
        mut sink: impl FnMut(RawEvent<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |source| self.error("read", source);
        let mut statement = self.connection.prepare_cached(statement).map_err(failed)?;
        let mut rows = statement.query(parameters).map_err(failed)?;
        let mut last = -1;
        while let Some(row) = rows.next().map_err(failed)? {
            let before =
                row.get::<_, Option<i64>>(5).map_err(failed)?.map_or(last, |before| before.max(last));
            last = row.get(0).map_err(failed)?;
            let Some(raw) = RawEvent::of(run, row, before).map_err(failed)? else {
                return Err(StoreError::EventChanged {
                    path: self.path.clone(),
                    run: run.to_owned(),
                    seq: last,
                });
            };
            sink(raw)?;
        }
        Ok(())
    }
}
