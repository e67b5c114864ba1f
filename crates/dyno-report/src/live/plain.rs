//! The live view as lines, for a log or a pipe: one for each step and stage that ended, and one now and then
//! for those that take long. No colour, no control characters, nothing drawn over.

use dyno_results::event::{Check, Event, Finished, Outcome, PrepareStep, Stamped};

use super::board::{Board, Preparing, Running};
use crate::format;
use crate::subject;
use crate::text::{DOT, LABEL_WIDTH, pad_end, visible};

/// Between two lines on a step or stage that is still going.
const PROGRESS_MS: u64 = 5_000;

/// What was printed, to know what is due.
#[derive(Debug, Default)]
pub(super) struct PlainLines {
    /// When the step or stage under way began or was last told of.
    told_ms: u64,
    targets_told: usize,
    preparing: Option<String>,
}

impl PlainLines {
    /// Puts the event on the board and gives the lines that it is worth.
    pub(super) fn event(&mut self, board: &mut Board, stamped: &Stamped) -> Vec<String> {
        let mut lines = Vec::new();
        if speaks_of_work(&stamped.event) {
            self.targets(board, &mut lines);
        }
        if let Event::StageFinished(finished) = &stamped.event {
            // Before the board forgets it.
            let ended = board.running.as_ref().filter(|running| running.stage.id == finished.stage);
            lines.extend(ended.map(|running| ended_line(running, finished.complete)));
        }
        board.apply(stamped);
        match &stamped.event {
            Event::Prepare(step) => {
                self.preparing = None;
                lines.push(step_line(step));
            }
            Event::Data(data) => lines.push(line("data", &subject::data(data))),
            Event::StageStarted(_) => self.told_ms = stamped.at_ms,
            Event::Interval(interval) if !interval.drain => {
                lines.extend(self.running(board, stamped.at_ms));
            }
            Event::Check(check) => lines.push(check_line(check)),
            Event::Notice(notice) => lines.push(line("notice", &visible(&notice.text))),
            Event::Finished(finished) => lines.push(finished_line(finished)),
            _ => {}
        }
        lines
    }

    /// A line on the step under way, when it is time for one.
    pub(super) fn preparing(&mut self, board: &Board, now_ms: u64) -> Option<String> {
        let preparing = board.preparing.as_ref()?;
        if self.preparing.as_ref() != Some(&preparing.step) {
            self.preparing = Some(preparing.step.clone());
            self.told_ms = now_ms;
        }
        self.due(now_ms).then(|| preparing_line(preparing, now_ms))
    }

    /// A line on what dyno is busy with.
    pub(super) fn activity(text: &str) -> String {
        line("dyno", &visible(text))
    }

    /// The targets that were not told of yet. They wait for the first work, so that their hosts are known.
    fn targets(&mut self, board: &Board, lines: &mut Vec<String>) {
        for target in board.targets.iter().skip(self.targets_told) {
            lines.push(line("target", &subject::target(target, &board.hosts)));
        }
        self.targets_told = board.targets.len();
    }

    fn running(&mut self, board: &Board, at_ms: u64) -> Option<String> {
        let running = board.running.as_ref()?;
        // Not just before the stage ends: its own line is about to come.
        let planned_ms = running.stage.planned_s.map_or(f64::INFINITY, |planned| planned * 1e3);
        let elapsed_ms = at_ms.saturating_sub(running.since_ms) as f64;
        if elapsed_ms + PROGRESS_MS as f64 / 2.0 >= planned_ms {
            return None;
        }
        self.due(at_ms).then(|| running_line(board, running, elapsed_ms / 1e3))
    }

    fn due(&mut self, now_ms: u64) -> bool {
        let due = now_ms.saturating_sub(self.told_ms) >= PROGRESS_MS;
        if due {
            self.told_ms = now_ms;
        }
        due
    }
}

/// Whether what a run is about has been said when this event comes.
fn speaks_of_work(event: &Event) -> bool {
    matches!(
        event,
        Event::Prepare(_) | Event::Data(_) | Event::StageStarted(_) | Event::Check(_) | Event::Finished(_)
    )
}

fn line(label: &str, text: &str) -> String {
    let label = visible(label);
    // A label that fills its column keeps a space between itself and the text.
    format!("{} {text}", pad_end(&label, LABEL_WIDTH - 1))
}

fn step_line(step: &PrepareStep) -> String {
    let rows = step.rows.map_or(String::new(), |rows| format!("{DOT}{}", format::counted(rows, "row")));
    line("prepare", &format!("{}{rows}{DOT}{}", visible(&step.step), format::duration_s(step.seconds)))
}

fn preparing_line(preparing: &Preparing, now_ms: u64) -> String {
    let step = visible(&preparing.step);
    let done = format::count(preparing.done);
    let text = match preparing.total.filter(|&total| total > 0) {
        Some(total) => {
            let share = format::share(preparing.done as f64 / total as f64);
            let left = preparing.remaining_s(now_ms).map(format::duration_s);
            let left = left.map_or(String::new(), |left| format!("{DOT}{left} left"));
            format!("{step}{DOT}{done} of {}{DOT}{share}{left}", format::count(total))
        }
        None if preparing.done > 0 => format!("{step}{DOT}{done}"),
        None => format!("{step}{DOT}under way"),
    };
    line("prepare", &text)
}

/// `ladder 8 clients, closed loop`: what stands first in every line on a stage.
fn stage_words(running: &Running) -> String {
    format!("{} {}", subject::kind(running.stage.kind), subject::load(&running.stage))
}

fn running_line(board: &Board, running: &Running, elapsed_s: f64) -> String {
    let elapsed = format::duration_s(elapsed_s.round());
    let time = match running.stage.planned_s {
        Some(planned) => format!("{elapsed} of {}", format::duration_s(planned)),
        None => elapsed,
    };
    let last = running.last;
    let tps = last.map_or_else(|| format::UNKNOWN.to_owned(), |moment| format::short(moment.tps));
    let latency = |pick: Option<f64>| format::latency_us_or_unknown(pick);
    let p50 = latency(last.and_then(|moment| moment.p50_us));
    let p99 = latency(last.and_then(|moment| moment.p99_us));
    let (server, driver) = board.cpu_cores();
    let cores = |value: Option<f64>| value.map_or_else(|| format::UNKNOWN.to_owned(), format::cores);
    let words = stage_words(running);
    let failures = failures(running);
    let text = format!(
        "{words}{DOT}{time}{DOT}{tps} TPS{DOT}p50 {p50}{DOT}p99 {p99}{DOT}{failures}{DOT}CPU server {} driver {}",
        cores(server),
        cores(driver)
    );
    line(&running.stage.series, &text)
}

fn ended_line(running: &Running, complete: bool) -> String {
    let tally = &running.tally;
    let tps = tally.tps().map_or_else(|| format::UNKNOWN.to_owned(), format::short);
    let p50 = format::latency_us_or_unknown(tally.percentile_us(50.0));
    let p99 = format::latency_us_or_unknown(tally.percentile_us(99.0));
    let seconds = format::duration_s(tally.seconds);
    let cut = if complete { String::new() } else { format!("{DOT}cut short") };
    let words = stage_words(running);
    let failures = failures(running);
    let text = format!("{words}{DOT}{tps} TPS{DOT}p50 {p50}{DOT}p99 {p99}{DOT}{failures}{DOT}{seconds}{cut}");
    line(&running.stage.series, &text)
}

fn failures(running: &Running) -> String {
    let tally = &running.tally;
    match (tally.failed, tally.retries) {
        (0, 0) => "no errors".to_owned(),
        (0, retries) => format!("{} retried", format::count(retries)),
        (failed, 0) => format!("{} failed", format::count(failed)),
        (failed, retries) => format!("{} failed, {} retried", format::count(failed), format::count(retries)),
    }
}

fn check_line(check: &Check) -> String {
    let word = match check.passed {
        Some(true) => "passed",
        Some(false) => "FAILED",
        None => "not checked",
    };
    line("verify", &format!("{word}: {}", visible(&check.detail)))
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
