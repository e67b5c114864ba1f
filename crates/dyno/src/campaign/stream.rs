//! The run's one stream of events: stamped, stored, shown and folded as they happen. Campaign and probes write
//! to it; a store that fails is tried again, and the run goes on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dyno_report::live::{Expected, Live, Mode, Progressed};
use dyno_report::terminal::Terminal;
use dyno_results::document::Report;
use dyno_results::event::{EarlierTime, Event, Finished, Interval, Notice, Stage, Stamped};
use dyno_results::statistics::saturation::LoadStep;
use dyno_results::store::{RunWriter, Store, StoreError};

use crate::secrets;

/// A handle on the stream; cheap to clone, for any thread. It is no part of the load path: the engine hands over
/// an interval a second.
#[derive(Clone)]
pub(crate) struct EventStream(Arc<Mutex<Inner>>);

/// What lies under the stream's lock knows nothing of the stream, so no call in there can come back to wait for it;
/// and no lock is taken around it: the probe's threads, which emit, are joined by who holds none.
struct Inner {
    started: Instant,
    seq: u64,
    /// The number of the next stage.
    next_stage: u32,
    writer: RunWriter,
    /// Why the store is behind, if it is.
    store_failure: Option<StoreError>,
    live: Live,
    measured: bool,
}

impl EventStream {
    pub(crate) fn new(writer: RunWriter, live: Live) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            started: Instant::now(),
            seq: 0,
            next_stage: 0,
            writer,
            store_failure: None,
            live,
            measured: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What a panicking thread left is still a stream of whole events.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an event.
    pub(crate) fn emit(&self, event: Event) {
        self.lock().append(event);
    }

    /// Appends the beginning of a stage, whose number it gives and returns: stages of one stream ascend, also where
    /// several begin at once.
    pub(crate) fn begin_stage(&self, stage: Stage) -> u32 {
        let mut inner = self.lock();
        let id = inner.next_stage;
        inner.next_stage += 1;
        inner.append(Event::StageStarted(Stage { id, ..stage }));
        id
    }

    /// True once a stage has begun.
    pub(crate) fn has_begun_load(&self) -> bool {
        self.lock().next_stage > 0
    }

    /// Appends a remark for the reader.
    pub(crate) fn notice(&self, target: &str, stage: Option<u32>, text: String) {
        self.emit(Event::Notice(Notice { target: Some(target.to_owned()), stage, text }));
    }

    pub(crate) fn prepare_progress(&self, target: &str, step: &str, progressed: Progressed) {
        self.lock().live.prepare_progress(target, step, progressed);
    }

    /// Says what a ladder or ramp that is about to begin has before it.
    pub(crate) fn expect(&self, expected: Expected) {
        self.lock().live.expect(expected);
    }

    /// Says what takes a while and is no step or stage.
    pub(crate) fn activity(&self, text: &str) {
        self.lock().live.activity(&secrets::hidden_in_words(text));
    }

    /// Everything so far as a report that ends as `finished` says.
    pub(crate) fn report_ending(&self, finished: &Finished) -> Report {
        self.lock().writer.fold().report_ending(finished)
    }

    /// Everything so far as a report, without findings of this moment.
    pub(crate) fn report(&self) -> Report {
        self.lock().writer.fold().report()
    }

    /// A stage as the report will judge it, with what was read of its host until now.
    pub(crate) fn step(&self, stage: u32) -> Option<LoadStep> {
        LoadStep::of(&self.lock().writer.fold().stage(stage)?)
    }

    /// What queries took in an earlier run, where the stage is the first of its series. Only shown: a store that cannot be read
    /// tells nothing.
    pub(crate) fn earlier_times(&self, stage: u32) -> Vec<(String, EarlierTime)> {
        let (store, load) = {
            let inner = self.lock();
            (inner.writer.path().to_owned(), inner.writer.fold().first_of_series(stage))
        };
        let times = load.and_then(|load| Store::open_existing(store).ok()?.earlier_times(&load).ok());
        times.unwrap_or_default()
    }

    /// Seconds since the run started.
    pub(crate) fn seconds(&self) -> f64 {
        self.lock().started.elapsed().as_secs_f64()
    }

    /// True once any transaction was measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.lock().measured
    }

    /// Why the store does not have all of the run, if it has not after a last try.
    pub(crate) fn take_store_failure(&self) -> Option<StoreError> {
        let mut inner = self.lock();
        let failure = inner.store_failure.take()?;
        let written = inner.writer.flush().map(|()| inner.tell_gap());
        written.is_err().then_some(failure)
    }

    /// Takes the run out of the store again: it could not start, and holds nothing that was measured.
    pub(crate) fn discard(&self) -> Result<(), StoreError> {
        self.lock().writer.discard()
    }

    /// Ends the live view, to make room for the final table.
    pub(crate) fn close_live(&self) {
        let live = std::mem::replace(&mut self.lock().live, Live::new(Mode::Quiet, None));
        // The table replaces the display where both go to one terminal.
        live.close(!Terminal::stdout().interactive);
    }
}

impl Inner {
    fn append(&mut self, event: Event) {
        let event = secrets::hidden_in_event(event);
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let stamped = Stamped { seq: self.seq, at_ms, event };
        self.seq += 1;
        self.measured |=
            matches!(&stamped.event, Event::Interval(Interval { types, .. }) if !types.is_empty());
        match self.writer.append(&stamped) {
            Err(error) => self.store_failure = Some(error),
            Ok(true) => self.store_failure = None,
            Ok(false) => {}
        }
        self.live.event(&stamped);
        self.tell_gap();
    }

    /// Marks what the store has missed, once it is written again.
    fn tell_gap(&mut self) {
        let Some(gap) = self.writer.take_gap() else { return };
        let (from_s, to_s) = (gap.at_ms.start() / 1000, gap.at_ms.end().div_ceil(1000));
        let text = format!(
            "the store could not be written from {from_s} s to {to_s} s of the run: {} seconds of load and readings of that \
             time are not in it",
            gap.events
        );
        self.append(Event::Notice(Notice { target: None, stage: None, text }));
    }
}
