//! One run as it is known here: folded as far as it was read, once for all who ask for it.

use std::collections::HashMap;

use dyno_results::decimate::{self, Span};
use dyno_results::document::{Load, Report, Timeline};
use dyno_results::event::{Event, Finding, Outcome};
use dyno_results::fold::Fold;
use dyno_results::judge::judge;
use dyno_results::store::{RunState, Store, StoreError};
use serde_json::{Value, json};

use super::live::Watch;
use crate::openmetrics::Exposition;
use crate::{csv, page};

/// What a live run says in place of a reason why it is incomplete.
const GOING_ON: &str = "it is still going";
/// While nothing but seconds of load go by, a live run is judged again after so many milliseconds of it.
const JUDGED_EACH_MS: u64 = 10_000;

/// Which part of a run's curves is wanted, and how fine.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) span: Span,
    /// Points of a curve within the span, at most.
    pub(super) points: usize,
}

impl View {
    /// Points of a curve where nothing else is asked for.
    pub(super) const POINTS: usize = 2000;

    /// True for what the page asks for first.
    pub(super) fn is_whole(self) -> bool {
        self.span == Span::ALL && self.points == Self::POINTS
    }
}

/// A run, as far as it was read.
pub(super) struct Book {
    state: RunState,
    fold: Fold,
    /// `seq` of the last event taken in.
    last: Option<u64>,
    /// When it happened.
    at_ms: u64,
    finished: bool,
    findings: Vec<Finding>,
    /// When it was judged last; `None` where more than time has gone by since.
    judged_ms: Option<u64>,
    /// For Prometheus, once it was asked for.
    exposition: Option<Exposition>,
    /// Those who watch it.
    pub(super) watch: Option<Watch>,
}

impl Book {
    pub(super) fn new(state: RunState) -> Self {
        Self {
            state,
            fold: Fold::new(),
            last: None,
            at_ms: 0,
            finished: false,
            findings: Vec::new(),
            judged_ms: None,
            exposition: None,
            watch: None,
        }
    }

    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    pub(super) fn identity(&self) -> i64 {
        self.state.identity
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// True while more is to come.
    pub(super) fn is_live(&self) -> bool {
        self.state.live && !self.finished
    }

    /// True where no more will come and the run has not said so.
    pub(super) fn was_killed(&self) -> bool {
        !self.state.live && !self.finished
    }

    /// Takes in what has come since.
    pub(super) fn refresh(&mut self, store: &Store, state: RunState) -> Result<(), StoreError> {
        if self.state.live != state.live {
            self.judged_ms = None;
        }
        self.state = state;
        let Self { state, fold, last, at_ms, finished, judged_ms, exposition, .. } = self;
        if state.last_seq == *last {
            return Ok(());
        }
        store.read_after(&state.name, *last, |stamped| {
            if !matches!(stamped.event, Event::Interval(_) | Event::Sample(_)) {
                *judged_ms = None;
            }
            *finished |= matches!(stamped.event, Event::Finished(_));
            *last = Some(stamped.seq);
            *at_ms = (*at_ms).max(stamped.at_ms);
            fold.add(&stamped);
            if let Some(exposition) = exposition {
                exposition.add(&stamped);
            }
        })
    }

    /// The report document with thinned timelines.
    pub(super) fn document(&mut self, view: View) -> Result<Value, serde_json::Error> {
        let mut report = self.head();
        report.timelines = self.timelines(view);
        let mut document = page::document(&report)?;
        document["live"] = Value::Bool(self.is_live());
        Ok(document)
    }

    /// What those who watch need to go on from where `marks` stand, which are moved on.
    pub(super) fn update(&mut self, marks: &mut Marks) -> Result<Value, serde_json::Error> {
        let mut head = page::document(&self.head())?;
        head["live"] = Value::Bool(self.is_live());
        if let Some(head) = head.as_object_mut() {
            head.remove("timelines");
        }
        Ok(json!({ "report": head, "append": page::timelines(&marks.advance(&self.fold))? }))
    }

    /// The figures for Prometheus. Who asks once asks again: from then on they are kept up with the run.
    pub(super) fn exposition(&mut self, store: &Store) -> Result<&Exposition, StoreError> {
        let last = self.last;
        match &mut self.exposition {
            Some(exposition) => Ok(exposition),
            none => {
                let mut exposition = Exposition::new();
                store.read_after(&self.state.name, None, |stamped| {
                    // What has come in the meantime comes with the next look.
                    if Some(stamped.seq) <= last {
                        exposition.add(&stamped);
                    }
                })?;
                Ok(none.insert(exposition))
            }
        }
    }

    /// The series as CSV, with every point.
    pub(super) fn csv(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let report = self.fold.report_without_timelines();
        // Memory takes everything.
        let _ = csv::write(&report.run.started_at, &self.fold.timelines(), &report.stages, &mut out);
        out
    }

    pub(super) fn fold(&self) -> &Fold {
        &self.fold
    }

    fn timelines(&self, view: View) -> Vec<Timeline> {
        let timelines = self.fold.timelines();
        timelines.iter().map(|timeline| decimate::timeline(timeline, view.span, view.points)).collect()
    }

    /// The report without its timelines.
    fn head(&mut self) -> Report {
        let mut report = self.fold.report_without_timelines();
        let due = |judged_ms: u64| self.is_live() && self.at_ms >= judged_ms.saturating_add(JUDGED_EACH_MS);
        if self.judged_ms.is_none_or(due) {
            self.findings = self.judged(&report);
            self.judged_ms = Some(self.at_ms);
        }
        report.run.name.clone_from(&self.state.name);
        report.findings.clone_from(&self.findings);
        if self.is_live() {
            report.run.reason = Some(GOING_ON.to_owned());
        }
        report
    }

    /// No rule looks at timelines, of which a long run has hundreds of megabytes.
    fn judged(&self, report: &Report) -> Vec<Finding> {
        if !self.is_live() {
            return judge(report);
        }
        let mut report = report.clone();
        // That it has not ended is no reason to doubt it yet.
        report.run.outcome = Outcome::Complete;
        report.run.reason = None;
        judge(&report)
    }
}

/// How much of each column those who watch have been sent.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Rows, by target.
    loads: HashMap<String, usize>,
    /// Points, by target, source and key.
    metrics: HashMap<(String, String, String), usize>,
}

impl Marks {
    /// At the end of everything that there is.
    pub(super) fn at_the_end_of(fold: &Fold) -> Self {
        let mut marks = Self::default();
        marks.advance(fold);
        marks
    }

    /// Moves to the end; what lies between are the rows that have not been sent.
    fn advance(&mut self, fold: &Fold) -> Vec<Timeline> {
        let mut appended = Vec::new();
        for view in fold.timelines() {
            let rows = moved(self.loads.entry(view.target.to_owned()).or_default(), view.load.t_s.len());
            let load = if rows.is_empty() { Load::default() } else { view.load.rows(rows) };
            let mut metrics = Vec::new();
            for metric in &view.metrics {
                let key = (view.target.to_owned(), metric.source.to_owned(), metric.key.to_owned());
                let points = moved(self.metrics.entry(key).or_default(), metric.t_s.len());
                if !points.is_empty() {
                    metrics.push(metric.to_metric(points));
                }
            }
            if !load.t_s.is_empty() || !metrics.is_empty() {
                appended.push(Timeline { target: view.target.to_owned(), load, metrics });
            }
        }
        appended
    }
}

fn moved(mark: &mut usize, end: usize) -> std::ops::Range<usize> {
    std::mem::replace(mark, end).min(end)..end
}
