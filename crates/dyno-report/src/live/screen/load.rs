//! The bottom of the display while load runs: a line for each target, whether or not it is its turn, so that the
//! lines keep their places.

use dyno_results::document::{Lost, StageResult};
use dyno_results::event::{Pool, Stage};

use super::line::{self, LinePart, ScreenLine};
use crate::live::board::Board;
use crate::live::pace::LadderProgress;
use crate::live::processors::Busy;
use crate::live::stage::{Moment, RunningStage};
use crate::subject::{self, TargetNames};
use crate::text::{DOT, Paint, Sheet, pad_start, visible, width};
use dyno_results::format;

/// Draws the stages under way of the only target, a line for each stream.
pub(super) fn of_one(board: &Board, now_ms: u64, sheet: &mut Sheet) {
    let Some(first) = board.running.first() else { return };
    let (server, driver) = (board.busy(&first.stage.key.system), board.driver_cores());
    let (word, server) = busy_words(server);
    let cpu = format!("CPU {word} {server} driver {}", cores(driver));
    let short = format!("CPU {} {server} drv {}", if word == "server" { "srv" } else { word }, cores(driver));
    let mut cpu = Some(LinePart::may(&cpu, 4).shorter(&short));
    let several = board.running.len() > 1;
    let lines = board.running.iter().map(|running| {
        under_way(board, running, several, now_ms, cpu.take().unwrap_or_else(|| LinePart::may("", 4)))
    });
    let mut label = subject::kind(first.stage.kind);
    for text in line::set(lines.collect(), sheet.room(), sheet.paint) {
        sheet.row(std::mem::take(&mut label), &text);
    }
}

/// Draws what all targets do.
pub(super) fn of_several(
    board: &Board,
    names: &TargetNames<'_>,
    progress: Option<LadderProgress>,
    now_ms: u64,
    sheet: &mut Sheet,
) {
    let newest = board.running.iter().map(|running| &running.stage).max_by_key(|stage| stage.id);
    let newest = newest.or_else(|| board.rested.last().map(|rested| &rested.stage));
    let Some(newest) = newest else { return };
    let head = head(board, newest, progress, sheet);
    sheet.row(subject::kind(newest.kind), &head);
    // A lost target has a reason in place of a line.
    let lines = board.told.targets.iter().map(|target| of_target(board, &target.name, now_ms));
    let (counts, lines): (Vec<usize>, Vec<Vec<ScreenLine>>) = lines.map(|lines| (lines.len(), lines)).unzip();
    let room = sheet.room().saturating_sub(names.columns());
    let mut lines = line::set(lines.into_iter().flatten().collect(), room, sheet.paint).into_iter();
    for (name, count) in names.iter().zip(counts) {
        names.about(name, sheet, |sheet| match board.lost(name) {
            Some(lost) => sheet.paragraph("", &lost_words(lost), Paint::bad),
            None => lines.by_ref().take(count).for_each(|line| sheet.row("", &line)),
        });
    }
}

/// `ingest · step 17 of 200 · at most 3 h 3 min left · driver CPU 0.6`, as much of it as fits.
fn head(board: &Board, newest: &Stage, progress: Option<LadderProgress>, sheet: &Sheet) -> String {
    let mut parts = vec![visible(&newest.series).into_owned()];
    parts.extend(progress.map(|progress| progress.words()));
    parts.extend(board.driver_cores().map(|cores| format!("driver CPU {cores:.1}")));
    while parts.len() > 1 && width(&parts.join(DOT)) > sheet.room() {
        parts.pop();
    }
    sheet.paint.faint(&parts.join(DOT))
}

/// What the streams of a target do, or that it waits; nothing where it was lost.
fn of_target(board: &Board, name: &str, now_ms: u64) -> Vec<ScreenLine> {
    if board.lost(name).is_some() {
        return Vec::new();
    }
    let (word, cores) = busy_words(board.busy(name));
    let cpu = if word == "server" { format!("CPU {cores}") } else { format!("CPU {word} {cores}") };
    let cpu = LinePart::may(&cpu, 4);
    let running: Vec<&RunningStage> = board.running_on(name).collect();
    let several = running.len() > 1;
    if running.is_empty() {
        return vec![waiting(board.rested.iter().find(|rested| rested.stage.key.system == name), cpu)];
    }
    running.into_iter().map(|running| under_way(board, running, several, now_ms, cpu.clone())).collect()
}

/// `lost at 1 min 3 s: connection refused`
pub(super) fn lost_words(lost: &Lost) -> String {
    format!("lost at {}: {}", format::duration_s(lost.at_s), visible(&lost.lost.reason))
}

/// A stage under way: bar, its stream where there are several, clients, TPS, latency, errors, shared connections,
/// processors.
fn under_way(board: &Board, running: &RunningStage, several: bool, now_ms: u64, cpu: LinePart) -> ScreenLine {
    let (share, progress) = progress(running, running.elapsed_s(now_ms));
    let last = running.last;
    let totals = running.fold.totals();
    let (failed, retries) = (totals.bad_with_drain(), totals.retries);
    let errors = if failed > 0 {
        LinePart::must(&format!("{} failed", format::count(failed))).coloured(Paint::bad)
    } else if retries > 0 {
        LinePart::may(&format!("{} retried", format::count(retries)), 1).coloured(Paint::doubt)
    } else {
        LinePart::may("no errors", 5)
    };
    let stream = if several { visible(&running.stage.series) } else { "".into() };
    let clients = last.map_or(running.stage.clients, |moment| moment.clients);
    let times = last.map_or([None; 2], |moment| [moment.p50_us, moment.p99_us]);
    let [clients, tps, p50, p99] = figures(&running.stage, clients, last.map(|moment| moment.tps), times);
    let pool = pool(running.stage.connections, last.and_then(|moment| moment.pool));
    let tps = tps.coloured(Paint::strong);
    let (stream, progress) = (LinePart::must(&stream), LinePart::must(&progress));
    if let Some(query) = board.query_words(running, now_ms) {
        // Rates and percentiles of queries that have little in common say less.
        let query = LinePart::must(&query).coloured(Paint::strong);
        return ScreenLine { share, parts: vec![stream, progress, query, clients, errors, cpu] };
    }
    ScreenLine {
        share,
        parts: vec![stream, progress, clients, tps, p50, p99, backlog(last), errors, pool, cpu],
    }
}

/// Clients, throughput and latency.
fn figures(stage: &Stage, clients: u32, tps: Option<f64>, times_us: [Option<f64>; 2]) -> [LinePart; 4] {
    let [p50, p99] = times_us.map(|us| pad_start(&format::latency_us_or_unknown(us), 6));
    [
        // Where connections are shared, they say more than the clients, whom the ladder shows as well.
        LinePart::may(&format::clients(clients), if stage.connections.is_some() { 3 } else { 2 }),
        LinePart::must(&format!("{} TPS", pad_start(&format::short_or_unknown(tps), 5))),
        LinePart::may(&format!("p50 {p50}"), 3),
        LinePart::may(&format!("p99 {p99}"), 1),
    ]
}

fn backlog(last: Option<Moment>) -> LinePart {
    let Some(moment) = last.filter(|moment| moment.backlog > 0) else { return LinePart::may("", 0) };
    // Where clients wait for connections too, it must be said who waits.
    let word = if moment.pool.is_some() { "due" } else { "waiting" };
    LinePart::may(&format!("{} {word}", format::count(moment.backlog)), 0).coloured(Paint::doubt)
}

/// `40/40 conn,  12 waiting`: as wide before the first interval as after it.
fn pool(connections: Option<u32>, pool: Option<Pool>) -> LinePart {
    let Some(connections) = connections else { return LinePart::may("", 2) };
    let digits = connections.to_string().len();
    let figure = |mean: Option<f64>, columns: usize| {
        pad_start(&mean.map_or_else(|| format::UNKNOWN.to_owned(), |mean| format!("{mean:.0}")), columns)
    };
    let in_use = format!("{}/{connections}", figure(pool.map(|pool| pool.in_use_mean), digits));
    let waiting = figure(pool.map(|pool| pool.waiting_mean), 3);
    let short = format!("{in_use} conn");
    LinePart::may(&format!("{short}, {waiting} waiting"), 2).shorter(&short)
}

/// A target whose turn it is not, with its last figures where it has some. Its parts are those of [`under_way`].
fn waiting(rested: Option<&StageResult>, cpu: LinePart) -> ScreenLine {
    let (none, waits) = (LinePart::must(""), LinePart::must("waits"));
    let parts = match rested {
        None => vec![none, waits],
        Some(rested) => {
            let failed = match rested.totals.bad_with_drain() {
                0 => "no errors".to_owned(),
                failed => format!("{} failed", format::count(failed)),
            };
            let times = rested.latency().map_or([None; 2], |of| [Some(of.p50_us), Some(of.p99_us)]);
            let tps = rested.throughput.map(|throughput| throughput.mean);
            let [clients, tps, p50, p99] = figures(&rested.stage, rested.stage.clients, tps, times);
            let pool = pool(rested.stage.connections, rested.pool);
            let failed = LinePart::may(&failed, 5);
            vec![none, waits, clients, tps, p50, p99, LinePart::may("", 0), failed, pool, cpu]
        }
    };
    ScreenLine { share: 0.0, parts: parts.into_iter().map(|part| part.coloured(Paint::faint)).collect() }
}

fn cores(value: Option<f64>) -> String {
    value.map_or_else(|| format::UNKNOWN.to_owned(), |cores| format!("{cores:.1}"))
}

/// Whose processors are known, and how many of them are busy.
fn busy_words(busy: Option<Busy>) -> (&'static str, String) {
    match busy {
        Some(Busy::Host(host)) => ("host", cores(Some(host))),
        Some(Busy::Server(server)) => ("server", cores(Some(server))),
        None => ("server", cores(None)),
    }
}

/// How much of the stage has gone by, 0 to 1, and in words.
fn progress(running: &RunningStage, elapsed_s: f64) -> (f64, String) {
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
            let done = running.fold.totals().done;
            (done as f64 / planned as f64, format!("{} of {}", format::count(done), format::count(planned)))
        }
        _ => (0.0, format::duration_s(elapsed_s.floor())),
    }
}
