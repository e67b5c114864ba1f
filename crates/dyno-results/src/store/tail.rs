//! Reading a run while it is written: what came since the last look, and whether more will come.
//!
//! Each look is a short transaction of its own, so that a reader never keeps the writer's log from being folded in.

use rusqlite::{OptionalExtension as _, Params, Statement, params};

use super::{Store, StoreError, alive};
use crate::event::Stamped;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    /// The full name.
    pub name: String,
    /// Differs where a name was given to another run since.
    pub identity: i64,
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
}

impl RawEvent<'_> {
    pub(super) fn read(&self) -> serde_json::Result<Stamped> {
        Stamped::read(self.seq, self.at_ms, self.kind, self.body)
    }

    /// The event on one line, as [`Stamped`] is written: `{"seq":7,"at_ms":1003,"event":"interval",…}`. A field that is
    /// not known here stays.
    #[must_use]
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
        let row: Option<(i64, bool, Option<i64>)> = self
            .connection
            .query_row(
                "SELECT id, outcome IS NOT NULL, (SELECT max(seq) FROM event WHERE run_id = run.id)
                 FROM run WHERE name = ?1",
                [&name],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()
            .map_err(|source| self.error("read", source))?;
        let Some((identity, ended, last_seq)) = row else {
            return Err(StoreError::NoSuchRun { wanted: name, near: Vec::new() });
        };
        Ok(RunState { name, identity, last_seq: last_seq.map(i64::unsigned_abs), live: alive && !ended })
    }

    /// True while a run of this full name, which has not said that it has ended, is being written.
    #[must_use]
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
        let mut broken = None;
        self.read_events(&name, seq, i64::MAX, |raw| {
            if broken.is_some() {
                return;
            }
            match raw.read() {
                Ok(stamped) => sink(stamped),
                Err(source) => {
                    broken =
                        Some(StoreError::Event { run: name.clone(), seq: raw.seq.cast_signed(), source });
                }
            }
        })?;
        broken.map_or(Ok(()), Err)
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
        })?;
        Ok(last)
    }

    fn read_events(
        &self,
        name: &str,
        after: Option<u64>,
        count: i64,
        sink: impl FnMut(RawEvent<'_>),
    ) -> Result<(), StoreError> {
        let after = after.map_or(-1, u64::cast_signed);
        let statement = self.connection.prepare(
            "SELECT seq, at_ms, kind, body FROM event
             WHERE run_id = (SELECT id FROM run WHERE name = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
        );
        let read =
            statement.and_then(|mut statement| read_rows(&mut statement, params![name, after, count], sink));
        read.map_err(|source| self.error("read", source))
    }
}

/// Hands over what a statement finds: `seq`, `at_ms`, `kind` and `body` of events.
pub(super) fn read_rows(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    mut sink: impl FnMut(RawEvent<'_>),
) -> rusqlite::Result<()> {
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let (seq, at_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        sink(RawEvent {
            seq: seq.unsigned_abs(),
            at_ms: at_ms.unsigned_abs(),
            kind: row.get_ref(2)?.as_str()?,
            body: row.get_ref(3)?.as_str()?,
        });
    }
    Ok(())
}
