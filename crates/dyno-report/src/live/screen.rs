//! What stands on the live display: the story so far, and under it the lines that move. A pure function of the
//! board, the time and the size; no line is wider than the terminal, and there are not more than it has rows.

mod line;
mod load;

use dyno_results::document::StageResult;
use dyno_results::event::Hook;

use self::line::{LinePart, ScreenLine};
use super::board::{Board, LiveSeries, Preparing};
use crate::ladder::{self, Curve, DrawnRung, Overflow, RungState};
use crate::subject::{self, TargetNames};
use crate::text::{DOT, Paint, Sheet, pad_start, visible};
use dyno_results::format;

/// Notices and hooks that are shown; the summary has them all.
const NOTICES_SHOWN: usize = 3;
const HOOKS_SHOWN: usize = 2;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_STEP_MS: u64 = 200;

/// The terminal's size in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Draws the display as it is at `now_ms`.
pub(super) fn draw(board: &Board, now_ms: u64, size: ScreenSize, paint: Paint) -> Vec<String> {
    // The last column stays free: a terminal that wraps eagerly would break a line that fills it.
    let columns = size.columns.saturating_sub(1).max(1);
    let labels = board.series.iter().map(|series| series.name.as_str());
    let mut sheet = Sheet::new(columns, paint, labels);
    let names = TargetNames::of(&board.told.targets);
    for (place, target) in board.told.targets.iter().enumerate() {
        let text = subject::target(target, &board.told.hosts);
        let label = if place == 0 { "target" } else { "" };
        names.about(&target.name, &mut sheet, |sheet| sheet.row(label, &text));
    }
    prepare(board, &names, now_ms, &mut sheet);
    for (index, series) in board.series.iter().enumerate() {
        // Drawn with the first target that has it.
        if !board.series[..index].iter().any(|before| before.name == series.name) {
            self::series(board, &names, &series.name, &mut sheet);
        }
    }
    remarks(board, &names, &mut sheet);
    underway(board, &names, now_ms, &mut sheet);
    let mut lines = sheet.into_lines();
    // The newest stands at the bottom; what is scrolled off is in the summary.
    let surplus = lines.len().saturating_sub(size.rows.saturating_sub(1).max(1));
    lines.drain(..surplus);
    lines
}

fn spinner(now_ms: u64) -> char {
    SPINNER[usize::try_from(now_ms / SPINNER_STEP_MS).unwrap_or(0) % SPINNER.len()]
}

/// The data once they are known, the steps until then, and the bars of the steps under way.
fn prepare(board: &Board, names: &TargetNames<'_>, now_ms: u64, sheet: &mut Sheet) {
    let mut label = "prepare";
    for data in &board.told.data {
        let steps =
            board.told.prepare.iter().filter(|s| s.target == data.target && s.workload == data.workload);
        let seconds: f64 = steps.map(|step| step.seconds).sum();
        let took =
            if seconds > 0.0 { format!("{DOT}{}", format::duration_s(seconds)) } else { String::new() };
        let text = format!("{}{took}", subject::data(data));
        names.about(&data.target, sheet, |sheet| sheet.row(label, &text));
        if board.has_several_targets() {
            label = "";
        }
    }
    for target in &board.told.targets {
        let open = board.told.prepare.iter().filter(|step| step.target == target.name);
        let open: Vec<String> = open
            .filter(|s| !board.told.data.iter().any(|d| d.target == s.target && d.workload == s.workload))
            .map(|step| format!("{} {}", visible(&step.step), format::duration_s(step.seconds)))
            .collect();
        if !open.is_empty() {
            let steps = sheet.paint.faint(&open.join(DOT));
            let label = std::mem::take(&mut label);
            names.about(&target.name, sheet, |sheet| sheet.row(label, &steps));
        }
    }
    for preparing in &board.preparing {
        let label = std::mem::take(&mut label);
        names.about(&preparing.target, sheet, |sheet| {
            let line = preparing_line(preparing, now_ms, sheet.room(), sheet.paint);
            sheet.row(label, &line);
        });
    }
}

fn preparing_line(preparing: &Preparing, now_ms: u64, room: usize, paint: Paint) -> String {
    let step = visible(&preparing.step);
    let time = preparing.time(now_ms);
    let counted = preparing.counted().unwrap_or_default();
    let Some(share) = preparing.share() else {
        let known = [counted, time].into_iter().filter(|text| !text.is_empty());
        return format!("{} {step}   {}", spinner(now_ms), known.collect::<Vec<_>>().join(DOT));
    };
    let percent = pad_start(&format::share(share), 4);
    let parts = vec![
        LinePart::must(&step),
        LinePart::must(&percent),
        LinePart::may(&counted, 1),
        LinePart::may(&time, 2),
    ];
    line::set(vec![ScreenLine { share, parts }], room, paint).join("")
}

/// A series of all targets that have it: the ladders side by side, then what was held.
fn series(board: &Board, names: &TargetNames<'_>, name: &str, sheet: &mut Sheet) {
    let mut all: Vec<&LiveSeries> = board.series.iter().filter(|series| series.name == name).collect();
    all.sort_by_key(|series| names.place(&series.target));
    let mut label = name;
    let curves: Vec<Curve<'_>> = all
        .iter()
        .map(|series| Curve { target: &series.target, rungs: with_highest(series) })
        .filter(|curve| !curve.rungs.is_empty())
        .collect();
    let table = match curves.as_slice() {
        [only] if !board.has_several_targets() => {
            ladder::table(&only.rungs, sheet.room(), Overflow::DropFirst, sheet.paint)
        }
        curves => ladder::side_by_side(curves, names, false, sheet.room(), Overflow::DropFirst, sheet.paint),
    };
    if let Some(series) = all.first().filter(|_| table.blocks.is_empty()) {
        let workload = sheet.paint.faint(&visible(&series.workload));
        sheet.row(std::mem::take(&mut label), &workload);
    }
    for row in table.blocks.into_iter().flatten() {
        sheet.row(std::mem::take(&mut label), &row);
    }
    let rounds = all.iter().map(|series| series.holds.len()).max().unwrap_or(0);
    for round in 0..rounds {
        let mut kind = None;
        for hold in all.iter().filter_map(|series| series.holds.get(round)) {
            // Said once for all targets that held the same.
            let said = kind.replace(hold.stage.kind) == Some(hold.stage.kind);
            let label = if said { "" } else { subject::kind(hold.stage.kind) };
            let text = ended(hold, sheet.paint);
            names.about(&hold.stage.key.system, sheet, |sheet| sheet.row(label, &text));
        }
    }
}

/// The rungs with the highest of those that ended set off. Whether it is the peak is for the report to say.
fn with_highest(series: &LiveSeries) -> Vec<DrawnRung> {
    let mut rungs: Vec<DrawnRung> = series.rungs.iter().map(|(_, rung)| rung.clone()).collect();
    let measured = rungs.iter_mut().filter(|rung| rung.state == RungState::Measured);
    if let Some(highest) = measured.max_by(|a, b| a.tps.unwrap_or(0.0).total_cmp(&b.tps.unwrap_or(0.0))) {
        highest.state = RungState::Peak;
    }
    rungs
}

fn ended(hold: &StageResult, paint: Paint) -> String {
    let tps = format::short_or_unknown(hold.throughput.map(|throughput| throughput.mean));
    let latency = hold.latency();
    let mut parts = vec![
        format!("{}{DOT}{}", subject::load(&hold.stage), format::duration_s(hold.seconds)),
        paint.strong(&format!("{tps} TPS")),
        format!("p50 {}", format::latency_us_or_unknown(latency.map(|of| of.p50_us))),
        format!("p99 {}", format::latency_us_or_unknown(latency.map(|of| of.p99_us))),
    ];
    let failed = hold.totals.bad_with_drain();
    if failed > 0 {
        parts.push(paint.bad(&format!("{} failed", format::count(failed))));
    }
    if !hold.complete {
        parts.push(paint.doubt("cut short"));
    }
    parts.join("   ")
}

/// Hooks, checks, notices and lost targets.
fn remarks(board: &Board, names: &TargetNames<'_>, sheet: &mut Sheet) {
    let paint = sheet.paint;
    for hook in board.told.hooks.iter().skip(board.told.hooks.len().saturating_sub(HOOKS_SHOWN)) {
        let text = hook_line(&hook.hook, paint);
        names.about(&hook.hook.target, sheet, |sheet| sheet.row("hook", &text));
    }
    for check in &board.told.checks {
        let (word, colour): (_, fn(Paint, &str) -> String) = match check.passed {
            Some(true) => ("", Paint::good),
            Some(false) => ("FAILED ", Paint::bad),
            None => ("not checked: ", Paint::doubt),
        };
        let text = colour(paint, &format!("{word}{}", visible(&check.detail)));
        names.about(&check.target, sheet, |sheet| sheet.row("verify", &text));
    }
    let failures = &board.told.query_failures;
    for failure in failures.iter().skip(failures.len().saturating_sub(NOTICES_SHOWN)) {
        let text = format!("{} failed: {}", visible(&failure.query), visible(&failure.said));
        names
            .about(&failure.target, sheet, |sheet| sheet.row(&visible(&failure.series), &paint.doubt(&text)));
    }
    for notice in board.told.notices.iter().skip(board.told.notices.len().saturating_sub(NOTICES_SHOWN)) {
        let text = paint.doubt(&visible(&notice.text));
        match &notice.target {
            Some(target) => names.about(target, sheet, |sheet| sheet.row("notice", &text)),
            None => sheet.row("notice", &text),
        }
    }
    if !shows_all_targets(board) {
        for lost in &board.told.lost {
            let text = load::lost_words(lost);
            names.about(&lost.lost.target, sheet, |sheet| sheet.paragraph("lost", &text, Paint::bad));
        }
    }
}

fn hook_line(hook: &Hook, paint: Paint) -> String {
    let words = subject::hook(hook);
    if hook.succeeded {
        return paint.faint(&words);
    }
    let said = hook.said.as_deref().and_then(|said| said.lines().last()).unwrap_or_default();
    paint.bad(&format!("{words}{DOT}{}", visible(said)))
}

/// What moves: the load, or else what dyno is busy with.
fn underway(board: &Board, names: &TargetNames<'_>, now_ms: u64, sheet: &mut Sheet) {
    let progress = board.pace.progress(&board.running, now_ms);
    if shows_all_targets(board) {
        load::of_several(board, names, progress, now_ms, sheet);
    } else {
        load::of_one(board, now_ms, sheet);
    }
    let idle = board.running.is_empty() && board.preparing.is_empty() && !board.finished;
    if let Some(activity) = &board.activity {
        sheet.row("", &format!("{} {}", spinner(now_ms), visible(activity)));
    } else if idle && !shows_all_targets(board) {
        sheet.row("", &spinner(now_ms).to_string());
    }
    if let Some(progress) = progress.filter(|_| !board.has_several_targets()) {
        let text = sheet.paint.faint(&progress.words());
        sheet.row("", &text);
    }
}

/// Whether the bottom has a line for each target: while load runs, and between two stages, so that nothing jumps.
fn shows_all_targets(board: &Board) -> bool {
    let between =
        !board.rested.is_empty() && board.activity.is_none() && board.preparing.is_empty() && !board.finished;
    board.has_several_targets() && (!board.running.is_empty() || between)
}

#[cfg(test)]
mod tests;
