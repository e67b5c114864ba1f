//! One run in the cache: folded as far as it was read, once for all who ask for it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;

use axum::body::Bytes;
use dyno_results::decimate::{self, Span};
use dyno_results::document::{LoadColumns, Report, Timeline};
use dyno_results::event::{Event, Finding, Outcome};
use dyno_results::fold::Fold;
use dyno_results::judge::{judge, judge_so_far};
use dyno_results::store::{RunState, Store, StoreError};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Sender;

use super::documents::RunVersion;
use crate::{csv, page};

/// What a live run says in place of a reason why it is incomplete.
const GOING_ON: &str = "it is still going";
/// While nothing but seconds of load go by, a live run is judged again after so many milliseconds of it.
const JUDGED_EACH_MS: u64 = 10_000;

/// Which part of a run's curves is wanted, and how fine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CurveView {
    pub(super) span: Span,
    /// Points of a curve within the span, at most.
    pub(super) points: usize,
}

impl CurveView {
    /// Points of a curve where nothing else is asked for.
    pub(super) const POINTS: usize = 2000;
}

/// A run, as far as it was read.
pub(super) struct CachedRun {
    /// Another for each that is cached.
    number: u64,
    state: RunState,
    /// Where its page lies once it has ended.
    page: PathBuf,
    fold: Fold,
    /// `seq` of the last event taken in.
    last: Option<u64>,
    findings: Vec<Finding>,
    /// When it was judged last; `None` where more than time has gone by since.
    judged_ms: Option<u64>,
    /// Those who watch it.
    pub(super) watch: Option<RunWatch>,
}

impl CachedRun {
    pub(super) fn new(number: u64, state: RunState, page: PathBuf) -> Self {
        Self {
            number,
            state,
            page,
            fold: Fold::new(),
            last: None,
            findings: Vec::new(),
            judged_ms: None,
            watch: None,
        }
    }

    /// Whether this is the same run: another may have its name, and its number in the store, since.
    pub(super) fn is_of(&self, state: &RunState) -> bool {
        let begins_alike = self.last.is_none() || self.state.first == state.first;
        self.state.identity == state.identity && begins_alike
    }

    pub(super) fn name(&self) -> &str {
        &self.state.name
    }

    /// What every document of the run depends on.
    pub(super) fn version(&self) -> RunVersion {
        RunVersion { number: self.number, last: self.last, live: self.state.live }
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// True while more is to come.
    pub(super) fn is_live(&self) -> bool {
        self.state.live && !self.fold.is_finished()
    }

    /// True where no more will come and the run has not said so.
    pub(super) fn was_killed(&self) -> bool {
        !self.state.live && !self.fold.is_finished()
    }

    /// Takes in what has come since.
    pub(super) fn refresh(&mut self, store: &Store, state: RunState) -> Result<(), StoreError> {
        if self.state.live != state.live {
            self.judged_ms = None;
        }
        self.state = state;
        let Self { state, fold, last, judged_ms, .. } = self;
        if state.last_seq == *last {
            return Ok(());
        }
        if last.is_none() {
            // What its writer has kept of a long run; the few events after it are read one by one.
            (*fold, *last) = store.fold(&state.name)?;
        }
        store.read_after(&state.name, *last, |stamped| {
            if !matches!(stamped.event, Event::Interval(_) | Event::Sample(_)) {
                *judged_ms = None;
            }
            *last = Some(stamped.seq);
            fold.add(&stamped);
        })
    }

    /// The report document with thinned timelines.
    pub(super) fn document(&mut self, view: CurveView) -> Result<Value, serde_json::Error> {
        let report = self.report();
        let thin = |timeline| decimate::timeline(timeline, view.span, view.points);
        let timelines = self.fold.timelines().iter().map(thin).collect();
        self.document_of(&Report { timelines, ..report })
    }

    fn document_of(&self, report: &Report) -> Result<Value, serde_json::Error> {
        let mut document = page::document(report)?;
        document["live"] = Value::Bool(self.is_live());
        Ok(document)
    }

    /// What those who watch need to go on from where `marks` stand, which are moved on.
    pub(super) fn update(&mut self, marks: &mut SentMarks) -> Result<Value, serde_json::Error> {
        let report = self.report();
        let document = self.document_of(&report)?;
        let append = page::timelines(&marks.advance(&self.fold))?;
        let (report, stages) = marks.advance_document(document);
        Ok(json!({ "report": report, "stages": stages, "append": append }))
    }

    /// Where somebody stands who has been given the whole document.
    pub(super) fn marks(&mut self) -> Result<SentMarks, serde_json::Error> {
        let mut marks = SentMarks::default();
        marks.advance(&self.fold);
        let report = self.report();
        marks.advance_document(self.document_of(&report)?);
        Ok(marks)
    }

    /// Tells those who watch the run why they are left alone.
    pub(super) fn leave(mut self, reason: &str) {
        if let Some(watch) = self.watch.take() {
            let _ = watch.frames.send(self.end(Some(reason)));
        }
    }

    pub(super) fn end(&self, reason: Option<&str>) -> Bytes {
        let reason = match (reason, self.was_killed()) {
            (None, true) => Some("its process is gone, and it has not said that it has finished"),
            (reason, _) => reason,
        };
        frame("end", self.last, &json!({ "reason": reason, "report": self.page }))
    }

    pub(super) fn fold(&self) -> &Fold {
        &self.fold
    }

    /// The series as CSV, with every point.
    pub(super) fn csv(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let report = self.fold.report_without_timelines();
        // Memory takes everything.
        let _ = csv::write(&report.run.started_at, &self.fold.timelines(), &report.stages, &mut out);
        out
    }

    /// The report without its timelines, of which a long run has hundreds of megabytes: no rule looks at them.
    fn report(&mut self) -> Report {
        let mut report = self.fold.report_without_timelines();
        report.run.name.clone_from(&self.state.name);
        let (now_ms, live) = (self.fold.last_ms(), self.is_live());
        let due = |judged_ms: u64| live && now_ms >= judged_ms.saturating_add(JUDGED_EACH_MS);
        if self.judged_ms.is_none_or(due) {
            let outcome = report.run.outcome;
            if live {
                // That it has not ended is no reason to doubt it yet.
                report.run.outcome = Outcome::Complete;
            }
            self.findings = if live { judge_so_far(&report) } else { judge(&report) };
            report.run.outcome = outcome;
            self.judged_ms = Some(now_ms);
        }
        if live {
            report.run.reason = Some(GOING_ON.to_owned());
        }
        report.judged(self.findings.clone())
    }
}

/// A run that is watched.
pub(super) struct RunWatch {
    pub(super) marks: SentMarks,
    /// Where the marks stand.
    pub(super) seq: Option<u64>,
    pub(super) frames: Sender<Bytes>,
}

/// An event of an event stream. JSON on one line holds no line break.
pub(super) fn frame(event: &str, seq: Option<u64>, data: &impl Display) -> Bytes {
    let id = seq.map(|seq| format!("id: {seq}\n")).unwrap_or_default();
    Bytes::from(format!("event: {event}\n{id}data: {data}\n\n"))
}

/// What those who watch have been sent.
#[derive(Debug, Default)]
pub(super) struct SentMarks {
    /// Rows, by target.
    loads: HashMap<(String, u32), usize>,
    /// Points, by target, source and key.
    metrics: HashMap<(String, String, String), usize>,
    /// The document's parts but for stages and timelines.
    parts: Map<String, Value>,
    /// By id.
    stages: HashMap<u64, Value>,
}

impl SentMarks {
    /// Those parts of a document, and those stages, that differ from what was sent. Timelines are sent piece by piece.
    fn advance_document(&mut self, mut document: Value) -> (Map<String, Value>, Vec<Value>) {
        let stages = document["stages"].take();
        let mut changed = Vec::new();
        for stage in stages.as_array().into_iter().flatten() {
            let id = stage["id"].as_u64().unwrap_or_default();
            if self.stages.get(&id) != Some(stage) {
                self.stages.insert(id, stage.clone());
                changed.push(stage.clone());
            }
        }
        let Value::Object(mut parts) = document else { return (Map::new(), changed) };
        parts.retain(|name, part| {
            !matches!(name.as_str(), "stages" | "timelines") && self.parts.get(name) != Some(part)
        });
        self.parts.extend(parts.clone());
        (parts, changed)
    }

    /// Moves to the end; what lies between are the rows that have not been sent.
    fn advance(&mut self, fold: &Fold) -> Vec<Timeline<'static>> {
        let mut appended = Vec::new();
        for view in fold.timelines() {
            let rows = moved(
                self.loads.entry((view.target.to_string(), view.stream)).or_default(),
                view.load.t_s.len(),
            );
            let load = if rows.is_empty() { LoadColumns::default() } else { view.load.rows(rows) };
            let mut metrics = Vec::new();
            for metric in &view.metrics {
                let key = (view.target.to_string(), metric.source.to_string(), metric.key.to_string());
                let points = moved(self.metrics.entry(key).or_default(), metric.t_s.len());
                if !points.is_empty() {
                    metrics.push(metric.rows(points));
                }
            }
            if !load.t_s.is_empty() || !metrics.is_empty() {
                appended.push(Timeline {
                    target: view.target.to_string().into(),
                    stream: view.stream,
                    load: Cow::Owned(load),
                    metrics,
                });
            }
        }
        appended
    }
}

fn moved(mark: &mut usize, end: usize) -> std::ops::Range<usize> {
    std::mem::replace(mark, end).min(end)..end
}
