//! One run in the cache: folded as far as it was read, once for all who ask for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dyno_results::decimate::{self, Span};
use dyno_results::document::{LoadColumns, Report, StageResult, Timeline};
use dyno_results::event::{Event, Finding, Outcome};
use dyno_results::fold::{Fold, FoldProgress};
use dyno_results::judge::{judge, judge_so_far};
use dyno_results::store::{RunState, Store, StoreError};
use serde_json::{Map, Value, json};

use super::live::RunWatch;
use crate::openmetrics::Exposition;
use crate::{csv, page};

/// What a live run says in place of a reason why it is incomplete.
const GOING_ON: &str = "it is still going";
/// While nothing but seconds of load go by, a live run is judged again after so many milliseconds of it.
const JUDGED_EACH_MS: u64 = 10_000;

/// Which part of a run's curves is wanted, and how fine.
#[derive(Debug, Clone, Copy)]
pub(super) struct CurveView {
    pub(super) span: Span,
    /// Points of a curve within the span, at most.
    pub(super) points: usize,
}

impl CurveView {
    /// Points of a curve where nothing else is asked for.
    pub(super) const POINTS: usize = 2000;

    /// True for what the page asks for first.
    pub(super) fn is_whole(self) -> bool {
        self.span == Span::ALL && self.points == Self::POINTS
    }
}

/// A run, as far as it was read.
pub(super) struct CachedRun {
    state: RunState,
    /// Where its page lies once it has ended.
    page: PathBuf,
    fold: Fold,
    /// Without its timelines.
    report: Report,
    progress: FoldProgress,
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
    pub(super) watch: Option<RunWatch>,
}

impl CachedRun {
    pub(super) fn new(state: RunState, page: PathBuf) -> Self {
        Self {
            state,
            page,
            report: Fold::new().report(),
            fold: Fold::new(),
            progress: FoldProgress::default(),
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

    pub(super) fn page(&self) -> &Path {
        &self.page
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
        if last.is_none() {
            // What its writer has kept of a long run; the few events after it are read one by one.
            (*fold, *last) = store.cached_fold(&state.name)?;
            *at_ms = fold.last_ms();
            *finished = fold.is_finished();
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
    pub(super) fn document(&mut self, view: CurveView) -> Result<Value, serde_json::Error> {
        self.renew();
        let timelines = self.fold.timelines();
        let thin = |timeline| decimate::timeline(timeline, view.span, view.points);
        self.report.timelines = timelines.iter().map(thin).collect();
        let document = page::document(&self.report);
        self.report.timelines = Vec::new();
        let mut document = document?;
        document["live"] = Value::Bool(self.is_live());
        Ok(document)
    }

    /// What those who watch need to go on from where `marks` stand, which are moved on.
    pub(super) fn update(&mut self, marks: &mut SentMarks) -> Result<Value, serde_json::Error> {
        self.renew();
        let stages = std::mem::take(&mut self.report.stages);
        let parts = page::document(&self.report);
        self.report.stages = stages;
        let mut parts = parts?;
        parts["live"] = Value::Bool(self.is_live());
        let news = marks.advance_parts(parts);
        let stages = marks.advance_stages(&self.report.stages, &self.progress)?;
        Ok(
            json!({ "report": news, "stages": stages, "append": page::timelines(&marks.advance(&self.fold))? }),
        )
    }

    /// Where somebody stands who has been given this document.
    pub(super) fn marks(&self, document: &Value) -> SentMarks {
        let mut marks = SentMarks::default();
        marks.advance(&self.fold);
        marks.advance_parts(document.clone());
        let stages = self.report.stages.iter().map(|result| result.stage.id);
        marks.stages = stages.filter_map(|id| Some((id, self.progress.stamp(id)?))).collect();
        marks
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

    /// Brings the report up to date.
    fn renew(&mut self) {
        self.fold.bring_up_to_date(&mut self.report, &mut self.progress);
        let due = |judged_ms: u64| self.is_live() && self.at_ms >= judged_ms.saturating_add(JUDGED_EACH_MS);
        if self.judged_ms.is_none_or(due) {
            self.findings = self.judged();
            self.judged_ms = Some(self.at_ms);
        }
        self.report.run.name.clone_from(&self.state.name);
        self.report.findings.clone_from(&self.findings);
        if self.is_live() {
            self.report.run.reason = Some(GOING_ON.to_owned());
        }
    }

    /// No rule looks at timelines, of which a long run has hundreds of megabytes.
    fn judged(&mut self) -> Vec<Finding> {
        if !self.is_live() {
            return judge(&self.report);
        }
        // That it has not ended is no reason to doubt it yet. Both are set anew with the next event.
        self.report.run.outcome = Outcome::Complete;
        self.report.run.reason = None;
        let findings = judge_so_far(&self.report);
        self.report.run.outcome = Outcome::Incomplete;
        findings
    }
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
    /// Stamps of the stages.
    stages: HashMap<u32, u64>,
}

impl SentMarks {
    /// Those parts of a document that differ from what was sent. Stages and timelines are sent piece by piece.
    fn advance_parts(&mut self, document: Value) -> Map<String, Value> {
        let Value::Object(mut parts) = document else { return Map::new() };
        parts.remove("stages");
        parts.remove("timelines");
        let mut news = Map::new();
        for (name, part) in parts {
            if self.parts.get(&name) != Some(&part) {
                news.insert(name.clone(), part.clone());
                self.parts.insert(name, part);
            }
        }
        news
    }

    /// The stages that differ from what was sent.
    fn advance_stages(
        &mut self,
        stages: &[StageResult],
        progress: &FoldProgress,
    ) -> Result<Vec<Value>, serde_json::Error> {
        let mut changed = Vec::new();
        for result in stages {
            let stamp = progress.stamp(result.stage.id).unwrap_or_default();
            if self.stages.insert(result.stage.id, stamp) != Some(stamp) {
                changed.push(serde_json::to_value(result)?);
            }
        }
        Ok(changed)
    }

    /// Moves to the end; what lies between are the rows that have not been sent.
    fn advance(&mut self, fold: &Fold) -> Vec<Timeline> {
        let mut appended = Vec::new();
        for view in fold.timelines() {
            let rows = moved(
                self.loads.entry((view.target.to_owned(), view.stream)).or_default(),
                view.load.t_s.len(),
            );
            let load = if rows.is_empty() { LoadColumns::default() } else { view.load.rows(rows) };
            let mut metrics = Vec::new();
            for metric in &view.metrics {
                let key = (view.target.to_owned(), metric.source.to_owned(), metric.key.to_owned());
                let points = moved(self.metrics.entry(key).or_default(), metric.t_s.len());
                if !points.is_empty() {
                    metrics.push(metric.to_metric(points));
                }
            }
            if !load.t_s.is_empty() || !metrics.is_empty() {
                appended.push(Timeline {
                    target: view.target.to_owned(),
                    stream: view.stream,
                    load,
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
