//! What stands on the live display: the story so far, and under it one line that moves. A pure function of the
//! board, the time and the size; no line is wider than the terminal, and there are not more than it has rows.

use super::board::{Board, Held, LiveSeries, Preparing, Running};
use crate::format;
use crate::ladder::{self, Overflow, Rung, RungState};
use crate::subject;
use crate::text::{DOT, Paint, Sheet, pad_end, pad_start, visible, width};

/// Widest and narrowest bar.
const BAR_WIDTH_MAX: usize = 24;
const BAR_WIDTH_MIN: usize = 6;
/// Between the parts of the moving line.
const GAP: usize = 2;
/// Notices that are shown; the summary has them all.
const NOTICES_SHOWN: usize = 3;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_STEP_MS: u64 = 200;

/// The terminal's size in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Draws the display as it is at `now_ms`.
pub(super) fn draw(board: &Board, now_ms: u64, size: Size, paint: Paint) -> Vec<String> {
    // The last column stays free: a terminal that wraps eagerly would break a line that fills it.
    let columns = size.columns.saturating_sub(1).max(1);
    let labels = board.series.iter().map(|series| series.name.as_str());
    let mut sheet = Sheet::new(columns, paint, labels);
    for target in &board.targets {
        sheet.row("target", &subject::target(target, &board.hosts));
    }
    prepare(board, now_ms, &mut sheet);
    for series in &board.series {
        self::series(series, board.targets.len() > 1, &mut sheet);
    }
    for check in &board.checks {
        let (word, colour): (_, fn(Paint, &str) -> String) = match check.passed {
            Some(true) => ("", Paint::good),
            Some(false) => ("FAILED ", Paint::bad),
            None => ("not checked: ", Paint::doubt),
        };
        sheet.row("verify", &colour(paint, &format!("{word}{}", visible(&check.detail))));
    }
    for notice in board.notices.iter().skip(board.notices.len().saturating_sub(NOTICES_SHOWN)) {
        sheet.row("notice", &paint.doubt(&visible(&notice.text)));
    }
    if let Some(running) = &board.running {
        self::running(board, running, now_ms, &mut sheet);
    }
    if let Some(activity) = &board.activity {
        sheet.row("", &format!("{} {}", spinner(now_ms), visible(activity)));
    } else if board.finished.is_none() && board.running.is_none() && board.preparing.is_none() {
        sheet.row("", &spinner(now_ms).to_string());
    }
    let mut lines = sheet.into_lines();
    // The newest stands at the bottom; what is scrolled off is in the summary.
    let surplus = lines.len().saturating_sub(size.rows.saturating_sub(1).max(1));
    lines.drain(..surplus);
    lines
}

fn spinner(now_ms: u64) -> char {
    SPINNER[usize::try_from(now_ms / SPINNER_STEP_MS).unwrap_or(0) % SPINNER.len()]
}

/// The data once they are known, the steps until then, and the bar of the step under way.
fn prepare(board: &Board, now_ms: u64, sheet: &mut Sheet) {
    for data in &board.data {
        let steps = board.prepared.iter().filter(|s| s.target == data.target && s.workload == data.workload);
        let seconds: f64 = steps.map(|step| step.seconds).sum();
        let took =
            if seconds > 0.0 { format!("{DOT}{}", format::duration_s(seconds)) } else { String::new() };
        sheet.row("prepare", &format!("{}{took}", subject::data(data)));
    }
    let open: Vec<String> = board
        .prepared
        .iter()
        .filter(|step| !board.data.iter().any(|d| d.target == step.target && d.workload == step.workload))
        .map(|step| format!("{} {}", visible(&step.step), format::duration_s(step.seconds)))
        .collect();
    let mut label = "prepare";
    if !open.is_empty() {
        let steps = sheet.paint.faint(&open.join(DOT));
        sheet.row(label, &steps);
        label = "";
    }
    if let Some(preparing) = &board.preparing {
        let line = preparing_line(preparing, now_ms, sheet.room(), sheet.paint);
        sheet.row(label, &line);
    }
}

fn preparing_line(preparing: &Preparing, now_ms: u64, room: usize, paint: Paint) -> String {
    let step = visible(&preparing.step);
    let Some(total) = preparing.total.filter(|&total| total > 0) else {
        let done =
            if preparing.done > 0 { format!("   {}", format::count(preparing.done)) } else { String::new() };
        return format!("{} {step}{done}", spinner(now_ms));
    };
    let share = preparing.done as f64 / total as f64;
    let done = format!("{} / {}", format::count(preparing.done), format::count(total));
    let percent = pad_start(&format::share(share.min(1.0)), 4);
    let left = match preparing.remaining_s(now_ms) {
        Some(seconds) => format!("{} left", format::duration_s(seconds)),
        None => String::new(),
    };
    let parts = vec![Part::must(&step), Part::must(&percent), Part::may(&done, 1), Part::may(&left, 2)];
    moving_line(share, parts, room, paint)
}

fn series(series: &LiveSeries, several_targets: bool, sheet: &mut Sheet) {
    let mut label = series.name.as_str();
    if several_targets {
        let target = visible(&series.target);
        let target = sheet.paint.faint(&target);
        sheet.row(std::mem::take(&mut label), &target);
    }
    let rungs = with_highest(series);
    if rungs.is_empty() {
        let workload = sheet.paint.faint(&visible(&series.workload));
        sheet.row(std::mem::take(&mut label), &workload);
    }
    for row in ladder::table(&rungs, sheet.room(), Overflow::DropFirst, sheet.paint).into_iter().flatten() {
        sheet.row(std::mem::take(&mut label), &row);
    }
    for hold in &series.holds {
        let row = ended(hold, sheet.paint);
        sheet.row(subject::kind(hold.stage.kind), &row);
    }
}

/// The rungs with the highest of those that ended set off. Whether it is the peak is for the report to say.
fn with_highest(series: &LiveSeries) -> Vec<Rung> {
    let mut rungs: Vec<Rung> = series.rungs.iter().map(|(_, rung)| rung.clone()).collect();
    let measured = rungs.iter_mut().filter(|rung| rung.state == RungState::Measured);
    if let Some(highest) = measured.max_by(|a, b| a.tps.unwrap_or(0.0).total_cmp(&b.tps.unwrap_or(0.0))) {
        highest.state = RungState::Peak;
    }
    rungs
}

fn ended(hold: &Held, paint: Paint) -> String {
    let tps = hold.tps.map_or_else(|| format::UNKNOWN.to_owned(), format::short);
    let mut parts = vec![
        format!("{}{DOT}{}", subject::load(&hold.stage), format::duration_s(hold.seconds)),
        paint.strong(&format!("{tps} TPS")),
        format!("p50 {}", format::latency_us_or_unknown(hold.p50_us)),
        format!("p99 {}", format::latency_us_or_unknown(hold.p99_us)),
    ];
    if hold.failed > 0 {
        parts.push(paint.bad(&format!("{} failed", format::count(hold.failed))));
    }
    if !hold.complete {
        parts.push(paint.doubt("cut short"));
    }
    parts.join("   ")
}

/// The stage under way: bar, clients, TPS, latency, errors, processors.
fn running(board: &Board, running: &Running, now_ms: u64, sheet: &mut Sheet) {
    let elapsed_s = now_ms.saturating_sub(running.since_ms) as f64 / 1e3;
    let (share, progress) = progress(running, elapsed_s);
    let last = running.last;
    let clients = u64::from(last.map_or(running.stage.clients, |moment| moment.clients));
    let latency = |pick: Option<f64>| pad_start(&format::latency_us_or_unknown(pick), 6);
    let tps = last.map_or_else(|| format::UNKNOWN.to_owned(), |moment| format::short(moment.tps));
    let p50 = format!("p50 {}", latency(last.and_then(|moment| moment.p50_us)));
    let p99 = format!("p99 {}", latency(last.and_then(|moment| moment.p99_us)));
    let tally = &running.tally;
    let errors = if tally.failed > 0 {
        Part::must(&format!("{} failed", format::count(tally.failed))).coloured(Paint::bad)
    } else if tally.retries > 0 {
        Part::may(&format!("{} retried", format::count(tally.retries)), 1).coloured(Paint::doubt)
    } else {
        Part::may("no errors", 5)
    };
    let backlog = match last.map_or(0, |moment| moment.backlog) {
        0 => Part::may("", 0),
        waiting => Part::may(&format!("{} waiting", format::count(waiting)), 0).coloured(Paint::doubt),
    };
    let (server, driver) = board.cpu_cores();
    let cores = |value: Option<f64>| value.map_or_else(|| format::UNKNOWN.to_owned(), |v| format!("{v:.1}"));
    let cpu = format!("CPU server {} driver {}", cores(server), cores(driver));
    let parts = vec![
        Part::must(&progress),
        Part::may(&format::counted(clients, "client"), 2),
        Part::must(&format!("{} TPS", pad_start(&tps, 5))).coloured(Paint::strong),
        Part::may(&p50, 3),
        Part::may(&p99, 1),
        backlog,
        errors,
        Part::may(&cpu, 4).shorter(&format!("CPU srv {} drv {}", cores(server), cores(driver))),
    ];
    let line = moving_line(share, parts, sheet.room(), sheet.paint);
    sheet.row(subject::kind(running.stage.kind), &line);
}

/// How much of the stage has gone by, 0 to 1, and in words.
fn progress(running: &Running, elapsed_s: f64) -> (f64, String) {
    let stage = &running.stage;
    match (stage.planned_s, stage.planned_transactions) {
        (Some(planned), _) if planned > 0.0 => {
            let text = format::duration_s(planned);
            let elapsed = elapsed_s.min(planned).floor();
            // Under two minutes the unit is said once: `3/10 s`.
            match text.strip_suffix(" s").filter(|number| !number.contains(' ')) {
                Some(number) => (
                    elapsed_s / planned,
                    format!("{}/{text}", pad_start(&format!("{elapsed:.0}"), number.len())),
                ),
                None => (elapsed_s / planned, format!("{} of {text}", format::duration_s(elapsed))),
            }
        }
        (_, Some(planned)) if planned > 0 => {
            let done = running.tally.done;
            (done as f64 / planned as f64, format!("{} of {}", format::count(done), format::count(planned)))
        }
        _ => (0.0, format::duration_s(elapsed_s.floor())),
    }
}

/// A part of the moving line.
struct Part {
    text: String,
    /// A form for narrow terminals.
    short: Option<String>,
    /// `None` where it must stay; else the highest gives way first.
    expendable: Option<u8>,
    colour: fn(Paint, &str) -> String,
}

impl Part {
    fn must(text: &str) -> Self {
        Self { text: text.to_owned(), short: None, expendable: None, colour: crate::text::uncoloured }
    }

    fn may(text: &str, expendable: u8) -> Self {
        Self { expendable: Some(expendable), ..Self::must(text) }
    }

    fn shorter(self, text: &str) -> Self {
        Self { short: Some(text.to_owned()), ..self }
    }

    fn coloured(self, colour: fn(Paint, &str) -> String) -> Self {
        Self { colour, ..self }
    }
}

/// A bar and what stands behind it. Where it does not fit, the bar shrinks first; then the most expendable parts
/// take their short form, and then they go.
fn moving_line(share: f64, mut parts: Vec<Part>, room: usize, paint: Paint) -> String {
    parts.retain(|part| !part.text.is_empty());
    let taken = |parts: &[Part]| parts.iter().map(|part| width(&part.text) + GAP).sum::<usize>();
    while taken(&parts) + BAR_WIDTH_MIN > room {
        let expendable = parts.iter().enumerate().filter_map(|(index, part)| Some((part.expendable?, index)));
        let Some((_, index)) = expendable.max() else { break };
        match parts[index].short.take() {
            Some(short) => parts[index].text = short,
            None => drop(parts.remove(index)),
        }
    }
    let bar_width = room.saturating_sub(taken(&parts)).clamp(BAR_WIDTH_MIN, BAR_WIDTH_MAX);
    let mut line = bar(share, bar_width, paint);
    for part in &parts {
        line.push_str(&pad_end("", GAP));
        line.push_str(&(part.colour)(paint, &part.text));
    }
    line
}

fn bar(share: f64, columns: usize, paint: Paint) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = ((share * columns as f64).round() as usize).min(columns);
    format!("{}{}", paint.good(&"━".repeat(filled)), paint.faint(&"─".repeat(columns - filled)))
}

#[cfg(test)]
mod tests;
