//! The live view as lines, for a log or a pipe: one for each step and stage that ended, and one now and then
//! for those that take long. No colour, no control characters, nothing drawn over.

use std::collections::HashMap;

use dyno_results::event::{
    Check, Event, Finished, Interval, Outcome, PrepareStep, QueryFailure, Stage, StageKind, Stamped,
    TargetLost,
};
use indicatif::TermLike;

use super::board::{Board, Preparing};
use super::processors::Busy;
use super::stage::RunningStage;
use crate::subject;
use crate::text::{DOT, LABEL_WIDTH, pad_end, visible};
use dyno_results::format;

/// Least and most between two lines on a step or stage that is still going.
const PROGRESS_MS: u64 = 5_000;
const PROGRESS_MS_MAX: u64 = 60_000;
/// Lines on a stage while it goes, at most: a log of many hours must still be read.
const LINES_PER_STAGE: f64 = 6.0;

/// What was printed, to know what is due.
#[derive(Debug)]
pub(super) struct PlainLines {
    place: Box<dyn TermLike>,
    /// When the step or stage under way of a target or of a stream on it began or was last told of.
    told_ms: HashMap<String, u64>,
    targets_told: usize,
    /// The step under way, by target.
    preparing: HashMap<String, String>,
}

impl PlainLines {
    pub(super) fn new(place: Box<dyn TermLike>) -> Self {
        Self { place, told_ms: HashMap::new(), targets_told: 0, preparing: HashMap::new() }
    }

    /// Nobody to tell that standard error is closed, and the run goes on without it.
    fn print(&self, lines: &[String]) {
        for line in lines {
            let _ = self.place.write_line(line);
        }
        let _ = self.place.flush();
    }

    /// Puts the event on the board and prints the lines that it is worth.
    pub(super) fn event(&mut self, board: &mut Board, stamped: &Stamped) {
        let mut lines = Vec::new();
        if speaks_of_work(&stamped.event) {
            self.targets(board, &mut lines);
        }
        // Before the board forgets what ran.
        let ended = match &stamped.event {
            Event::StageFinished(finished) => {
                let running = board.running.iter().filter(|running| running.stage.id == finished.stage);
                running.map(|running| (running, finished.complete)).collect()
            }
            Event::TargetLost(lost) => {
                board.running_on(&lost.target).map(|running| (running, false)).collect()
            }
            _ => Vec::new(),
        };
        let ended = ended.into_iter();
        lines.extend(ended.map(|(running, complete)| ended_line(board, running, complete, stamped.at_ms)));
        let data_told = matches!(&stamped.event, Event::Data(data) if board.knows_data(data));
        board.apply(stamped);
        match &stamped.event {
            Event::Prepare(step) => {
                self.preparing.remove(&step.target);
                lines.push(step_line(board, step));
            }
            Event::Data(data) if !data_told => {
                lines.push(about(board, "data", &data.target, &subject::data(data)));
            }
            Event::StageStarted(stage) => {
                self.told_ms.insert(place_of(stage), stamped.at_ms);
            }
            Event::Interval(interval) if !interval.drain => {
                lines.extend(self.running(board, interval, stamped.at_ms));
            }
            Event::QueriesRunning(of) => {
                if let Some(running) = board.running.iter().find(|running| running.stage.id == of.stage)
                    && let Some(words) = board.query_words(running, stamped.at_ms)
                    && self.due(&place_of(&running.stage), PROGRESS_MS, stamped.at_ms)
                {
                    lines.push(about(board, &running.stage.series, &running.stage.key.system, &words));
                }
            }
            Event::Check(check) => lines.push(check_line(board, check)),
            Event::Hook(hook) => {
                lines.push(about(board, "hook", &hook.target, &subject::hook(hook)));
                let said = hook.said.as_deref().filter(|_| !hook.succeeded).unwrap_or_default();
                lines.extend(said.lines().map(|said| line("", &visible(said))));
            }
            Event::TargetLost(lost) => lines.push(lost_line(board, lost)),
            Event::NotDone(not_done) => {
                let text = format!("{}: {}", visible(&not_done.what), visible(&not_done.said));
                lines.push(about(board, "not done", &not_done.target, &text));
            }
            Event::QueryFailure(QueryFailure { target, series, query, said, .. }) => {
                let text = format!("{} failed: {}", visible(query), visible(said));
                lines.push(about(board, series, target, &text));
            }
            Event::Notice(notice) => {
                let target = notice.target.as_deref().unwrap_or_default();
                lines.push(about(board, "notice", target, &visible(&notice.text)));
            }
            Event::Finished(finished) => lines.push(finished_line(finished)),
            _ => {}
        }
        self.print(&lines);
    }

    /// A line on a target's step under way, when it is time for one.
    pub(super) fn preparing(&mut self, board: &Board, target: &str, now_ms: u64) {
        let preparing = board.preparing.iter().find(|preparing| preparing.target == target);
        let Some(preparing) = preparing else { return };
        if self.preparing.get(target) != Some(&preparing.step) {
            self.preparing.insert(target.to_owned(), preparing.step.clone());
            self.told_ms.insert(target.to_owned(), now_ms);
        }
        if self.due(target, PROGRESS_MS, now_ms) {
            self.print(&[preparing_line(board, preparing, now_ms)]);
        }
    }

    /// A line on what dyno is busy with.
    pub(super) fn activity(&self, text: &str) {
        self.print(&[line("dyno", &visible(text))]);
    }

    /// The targets that were not told of yet. They wait for the first work, so that their hosts are known.
    fn targets(&mut self, board: &Board, lines: &mut Vec<String>) {
        for target in board.told.targets.iter().skip(self.targets_told) {
            lines.push(about(board, "target", &target.name, &subject::target(target, &board.told.hosts)));
        }
        self.targets_told = board.told.targets.len();
    }

    fn running(&mut self, board: &Board, interval: &Interval, at_ms: u64) -> Option<String> {
        let running = board.running.iter().find(|running| running.stage.id == interval.stage)?;
        let planned_ms = running.stage.planned_s.map_or(f64::INFINITY, |planned| planned * 1e3);
        let every_ms = ((planned_ms / LINES_PER_STAGE) as u64).clamp(PROGRESS_MS, PROGRESS_MS_MAX);
        // Not just before the stage ends: its own line is about to come.
        let elapsed_ms = at_ms.saturating_sub(running.since_ms) as f64;
        if elapsed_ms + every_ms as f64 / 2.0 >= planned_ms {
            return None;
        }
        self.due(&place_of(&running.stage), every_ms, at_ms)
            .then(|| running_line(board, running, elapsed_ms / 1e3))
    }

    fn due(&mut self, target: &str, every_ms: u64, now_ms: u64) -> bool {
        let told_ms = self.told_ms.entry(target.to_owned()).or_default();
        let due = now_ms.saturating_sub(*told_ms) >= every_ms;
        if due {
            *told_ms = now_ms;
        }
        due
    }
}

/// What one stage at a time runs on: a target, and a stream there.
fn place_of(stage: &Stage) -> String {
    format!("{} {}", stage.key.system, stage.key.stream)
}

/// Whether what a run is about has been said when this event comes.
fn speaks_of_work(event: &Event) -> bool {
    matches!(
        event,
        Event::Prepare(_)
            | Event::Data(_)
            | Event::StageStarted(_)
            | Event::Check(_)
            | Event::Hook(_)
            | Event::TargetLost(_)
            | Event::Finished(_)
    )
}

fn line(label: &str, text: &str) -> String {
    let label = visible(label);
    // A label that fills its column keeps a space between itself and the text.
    format!("{} {text}", pad_end(&label, LABEL_WIDTH - 1))
}

/// A line about a target, which is named where there are several.
fn about(board: &Board, label: &str, target: &str, text: &str) -> String {
    if board.has_several_targets() && !target.is_empty() {
        line(label, &format!("{}: {text}", visible(target)))
    } else {
        line(label, text)
    }
}

fn step_line(board: &Board, step: &PrepareStep) -> String {
    let rows = step.rows.map_or(String::new(), |rows| format!("{DOT}{}", format::counted(rows, "row")));
    let text = format!("{}{rows}{DOT}{}", visible(&step.step), format::duration_s(step.seconds));
    about(board, "prepare", &step.target, &text)
}

fn preparing_line(board: &Board, preparing: &Preparing, now_ms: u64) -> String {
    let step = visible(&preparing.step);
    let time = Some(preparing.time(now_ms)).filter(|time| !time.is_empty());
    let known = [Some(step.into_owned()), preparing.counted(), preparing.share().map(format::share), time];
    let text = known.into_iter().flatten().collect::<Vec<_>>().join(DOT);
    about(board, "prepare", &preparing.target, &text)
}

/// `ladder 8 clients, closed loop`: what stands first in every line on a stage.
fn stage_words(stage: &Stage) -> String {
    format!("{} {}", subject::kind(stage.kind), subject::load(stage))
}

fn running_line(board: &Board, running: &RunningStage, elapsed_s: f64) -> String {
    let elapsed = format::duration_s(elapsed_s.round());
    let time = match running.stage.planned_s {
        Some(planned) => format!("{elapsed} of {}", format::duration_s(planned)),
        None => elapsed,
    };
    let last = running.last;
    let tps = format::short_or_unknown(last.map(|moment| moment.tps));
    let p50 = format::latency_us_or_unknown(last.and_then(|moment| moment.p50_us));
    let p99 = format::latency_us_or_unknown(last.and_then(|moment| moment.p99_us));
    let pool = last.and_then(|moment| moment.pool).map_or(String::new(), |pool| {
        let (in_use, waiting) = (pool.in_use_mean, pool.waiting_mean);
        format!("{DOT}{in_use:.0}/{} connections, {waiting:.0} waiting", pool.connections)
    });
    let cores = |value: Option<f64>| value.map_or_else(|| format::UNKNOWN.to_owned(), format::cores);
    let (whose, busy) = match board.busy(&running.stage.key.system) {
        Some(Busy::Host(busy)) => ("host", Some(busy)),
        Some(Busy::Server(busy)) => ("server", Some(busy)),
        None => ("server", None),
    };
    let words = stage_words(&running.stage);
    let failures = failures(running);
    let text = format!(
        "{words}{DOT}{time}{DOT}{tps} TPS{DOT}p50 {p50}{DOT}p99 {p99}{DOT}{failures}{pool}{DOT}\
         CPU {whose} {} driver {}",
        cores(busy),
        cores(board.driver_cores())
    );
    about(board, &running.stage.series, &running.stage.key.system, &text)
}

fn ended_line(board: &Board, running: &RunningStage, complete: bool, at_ms: u64) -> String {
    let fold = &running.fold;
    let tps = format::short_or_unknown(fold.tps());
    let p50 = format::latency_us_or_unknown(fold.percentile_us(50.0));
    let p99 = format::latency_us_or_unknown(fold.percentile_us(99.0));
    let seconds = format::duration_s(fold.seconds());
    let cut = if complete { String::new() } else { format!("{DOT}cut short") };
    let words = stage_words(&running.stage);
    let failures = failures(running);
    let progress = board.pace.progress(&board.running, at_ms);
    let progress = progress.filter(|_| running.stage.kind == StageKind::Ladder);
    let progress = progress.map_or(String::new(), |progress| format!("{DOT}{}", progress.words()));
    let text = format!(
        "{words}{DOT}{tps} TPS{DOT}p50 {p50}{DOT}p99 {p99}{DOT}{failures}{DOT}{seconds}{cut}{progress}"
    );
    about(board, &running.stage.series, &running.stage.key.system, &text)
}

fn failures(running: &RunningStage) -> String {
    match (running.fold.totals().bad_with_drain(), running.fold.totals().retries) {
        (0, 0) => "no errors".to_owned(),
        (0, retries) => format!("{} retried", format::count(retries)),
        (failed, 0) => format!("{} failed", format::count(failed)),
        (failed, retries) => format!("{} failed, {} retried", format::count(failed), format::count(retries)),
    }
}

fn check_line(board: &Board, check: &Check) -> String {
    let word = match check.passed {
        Some(true) => "passed",
        Some(false) => "FAILED",
        None => "not checked",
    };
    about(board, "verify", &check.target, &format!("{word}: {}", visible(&check.detail)))
}

fn lost_line(board: &Board, lost: &TargetLost) -> String {
    about(board, "lost", &lost.target, &visible(&lost.reason))
}

fn finished_line(finished: &Finished) -> String {
    let took = format::duration_s(finished.seconds);
    let text = match finished.outcome {
        Outcome::Complete => format!("complete in {took}"),
        Outcome::Incomplete => {
            let reason = finished.reason.as_deref().map_or("the reason is unknown".into(), visible);
            format!("incomplete after {took}: {reason}")
        }
    };
    line("finished", &text)
}
