//! The ladder over clients, or over rates, as a table that grows to the right; the same while it runs and
//! afterwards. Several targets have a row each over the same columns.

use std::cmp::Ordering;

use crate::subject::TargetNames;
use crate::text::{Paint, pad_end, pad_start, width};
use dyno_results::format;

/// Columns of the row heads, `clients`.
const HEAD_WIDTH: usize = 7;
/// Narrowest column of a rung.
const RUNG_WIDTH_MIN: usize = 7;

/// One step of a ladder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DrawnRung {
    pub(crate) clients: u32,
    /// Arrivals per second that were asked for, of an open load.
    pub(crate) rate_per_s: Option<f64>,
    /// Transactions per second; `None` where nothing is known of it yet.
    pub(crate) tps: Option<f64>,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    /// Transactions that failed.
    pub(crate) failed: u64,
    pub(crate) state: RungState,
    /// True where it must be seen even if others are left out: a peak, a point of saturation.
    pub(crate) telling: bool,
}

impl DrawnRung {
    /// Whether less was asked of it than of another.
    pub(crate) fn cmp_load(&self, other: &Self) -> Ordering {
        let rate = |rung: &Self| rung.rate_per_s.unwrap_or(0.0);
        rate(self).total_cmp(&rate(other)).then(self.clients.cmp(&other.clients))
    }
}

/// What distinguishes a rung from its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RungState {
    Measured,
    Peak,
    /// Still running: the figure may change.
    Running,
    /// Stopped before its time was up.
    CutShort,
}

/// The rungs of one target, by load ascending.
#[derive(Debug, Clone)]
pub(crate) struct Curve<'a> {
    pub(crate) target: &'a str,
    pub(crate) rungs: Vec<DrawnRung>,
}

/// What to do with more rungs than fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// Set the table in several blocks, one under the other, and leave out what goes beyond so many.
    Fold { blocks_max: usize },
    /// Leave out the first ones, keeping the newest.
    DropFirst,
}

/// Rows that belong together: `clients`, `TPS` and, where transactions failed, `failed`.
pub(crate) type Block = Vec<String>;

/// A table set for a width.
#[derive(Debug, PartialEq)]
pub(crate) struct Drawn {
    pub(crate) blocks: Vec<Block>,
    /// Columns that are shown.
    pub(crate) shown: usize,
    /// Columns that there are.
    pub(crate) all: usize,
}

/// A time of a rung, microseconds.
type RungTime = fn(&DrawnRung) -> Option<f64>;
const P50: (&str, RungTime) = ("p50", |rung| rung.p50_us);
const P99: (&str, RungTime) = ("p99", |rung| rung.p99_us);

/// The table of one target. No rungs give no block.
pub(crate) fn table(rungs: &[DrawnRung], room: usize, overflow: Overflow, paint: Paint) -> Drawn {
    // Of a load that is offered throughput is what was asked for: latency tells what became of it.
    let offered = rungs.iter().all(|rung| rung.rate_per_s.is_some());
    let times: &[_] = if offered { &[P50, P99] } else { &[] };
    let curve = Curve { target: "", rungs: rungs.to_vec() };
    set(&[curve], &[], times, room, overflow, paint)
}

/// The table of several targets: a row for each under the loads that any of them had, throughput first, then with
/// `p99` latency, then failures where there are any.
pub(crate) fn side_by_side(
    curves: &[Curve<'_>],
    names: &TargetNames<'_>,
    with_p99: bool,
    room: usize,
    overflow: Overflow,
    paint: Paint,
) -> Drawn {
    let names: Vec<String> = curves.iter().map(|curve| names.painted(curve.target, paint)).collect();
    let known = curves.iter().flat_map(|curve| &curve.rungs).any(|rung| rung.p99_us.is_some());
    let times: &[_] = if with_p99 && known { &[P99] } else { &[] };
    set(curves, &names, times, room, overflow, paint)
}

/// The rows of the table: their heads, and a cell for each column. A row is named by its target where that has a name.
fn rows(
    curves: &[Curve<'_>],
    columns: &[Column<'_>],
    names: &[String],
    times: &[(&str, RungTime)],
) -> Vec<(String, Vec<Cell>)> {
    let loads = columns.iter().map(|column| plain(column.load())).collect();
    let mut rows = vec![(load_head(columns).to_owned(), loads)];
    let mut add = |figure: &str, cell: &dyn Fn(&DrawnRung) -> Cell| {
        for curve in 0..curves.len() {
            let named = names.get(curve).map(|name| format!("{figure:<6} {name}"));
            let cells = columns.iter().map(|column| column.cell(curve, cell)).collect();
            rows.push((named.unwrap_or_else(|| figure.to_owned()), cells));
        }
    };
    let rungs = || curves.iter().flat_map(|curve| &curve.rungs);
    add("TPS", &tps_cell);
    for (name, time) in times {
        // One unit for a whole row, so that the eye can follow it.
        let in_us = rungs().filter_map(time).all(|us| us < 999.5);
        let unit = if in_us { "µs" } else { "ms" };
        add(&format!("{name} {unit}"), &|rung| time_cell(time(rung), in_us));
    }
    if rungs().any(|rung| rung.failed > 0) {
        add("failed", &|rung| plain(format::short_count(rung.failed)));
    }
    rows
}

/// One load with what each target made of it.
struct Column<'a> {
    /// One for each curve, `None` where it had no such rung.
    cells: Vec<Option<&'a DrawnRung>>,
}

impl<'a> Column<'a> {
    fn rungs(&self) -> impl Iterator<Item = &'a DrawnRung> {
        self.cells.iter().copied().flatten()
    }

    fn load(&self) -> String {
        self.rungs().next().map_or_else(String::new, |rung| match rung.rate_per_s {
            Some(rate) => short_load(rate),
            None => rung.clients.to_string(),
        })
    }

    fn cell(&self, curve: usize, cell: impl Fn(&DrawnRung) -> Cell) -> Cell {
        self.cells[curve].map_or_else(|| plain(String::new()), cell)
    }
}

/// The loads of all curves, ascending. Where a target had the same load twice, it has two columns.
fn columns<'a>(curves: &'a [Curve<'a>]) -> Vec<Column<'a>> {
    let mut rest: Vec<&[DrawnRung]> = curves.iter().map(|curve| curve.rungs.as_slice()).collect();
    let mut columns = Vec::new();
    while let Some(least) = rest.iter().filter_map(|rungs| rungs.first()).min_by(|a, b| a.cmp_load(b)) {
        let take = |rungs: &mut &'a [DrawnRung]| {
            let (first, after) = rungs.split_first()?;
            first.cmp_load(least).is_eq().then(|| {
                *rungs = after;
                first
            })
        };
        columns.push(Column { cells: rest.iter_mut().map(take).collect() });
    }
    columns
}

/// A figure, and what it is painted by.
type Cell = (String, RungState);

fn set(
    curves: &[Curve<'_>],
    names: &[String],
    times: &[(&str, RungTime)],
    room: usize,
    overflow: Overflow,
    paint: Paint,
) -> Drawn {
    let columns = columns(curves);
    let rows = rows(curves, &columns, names, times);
    let head = rows.iter().map(|(head, _)| width(head)).max().unwrap_or(0).max(HEAD_WIDTH);
    let cell = rows.iter().flat_map(|(_, cells)| cells).map(|(text, _)| width(text)).max().unwrap_or(0);
    let cell = (cell + 2).max(RUNG_WIDTH_MIN);
    let fitting = (room.saturating_sub(head) / cell).max(1);
    let shown: Vec<usize> = match overflow {
        Overflow::Fold { blocks_max } => condensed(&columns, fitting * blocks_max.max(1)),
        Overflow::DropFirst => (columns.len().saturating_sub(fitting)..columns.len()).collect(),
    };
    let block = |shown: &[usize]| {
        let line = |(text, cells): &(String, Vec<Cell>)| {
            let cells = shown.iter().map(|column| painted(&cells[*column], cell, paint));
            std::iter::once(pad_end(text, head)).chain(cells).collect()
        };
        rows.iter().map(line).collect()
    };
    Drawn { blocks: shown.chunks(fitting).map(block).collect(), shown: shown.len(), all: columns.len() }
}

fn painted((text, state): &Cell, columns: usize, paint: Paint) -> String {
    let padded = pad_start(text, columns);
    match state {
        RungState::Measured => padded,
        RungState::Peak => paint.strong(&padded),
        RungState::Running => paint.faint(&padded),
        RungState::CutShort => paint.doubt(&padded),
    }
}

/// At most so many columns: the first, the last and the telling ones, and others evenly between.
fn condensed(columns: &[Column<'_>], columns_max: usize) -> Vec<usize> {
    if columns.len() <= columns_max {
        return (0..columns.len()).collect();
    }
    let last = columns.len() - 1;
    let telling = |column: &Column<'_>| column.rungs().any(|rung| rung.telling);
    let mut kept: Vec<bool> = columns.iter().map(telling).collect();
    (kept[0], kept[last]) = (true, true);
    let mut evenly = kept.clone();
    // As many evenly between them as there is room for; some of those may be telling ones.
    for steps in 1..last {
        let mut more = kept.clone();
        for step in 1..steps {
            more[step * last / steps] = true;
        }
        if more.iter().filter(|kept| **kept).count() > columns_max {
            break;
        }
        evenly = more;
    }
    (0..columns.len()).filter(|column| evenly[*column]).collect()
}

fn load_head(columns: &[Column<'_>]) -> &'static str {
    let open = columns.iter().flat_map(Column::rungs).any(|rung| rung.rate_per_s.is_some());
    if open { "rate/s" } else { "clients" }
}

/// A rate in few characters, exact where it can be: 5,050 and 5,100 are two steps of a ramp.
fn short_load(rate: f64) -> String {
    let plain = format::plain(rate);
    if width(&plain) <= RUNG_WIDTH_MIN { plain } else { format::short(rate) }
}

fn plain(text: String) -> Cell {
    (text, RungState::Measured)
}

/// A cut rung carries an asterisk, which must be read without colour too.
fn tps_cell(rung: &DrawnRung) -> Cell {
    let figure = match (rung.tps, rung.state) {
        (None, RungState::Running) => "…".to_owned(),
        (None, _) => format::UNKNOWN.to_owned(),
        (Some(tps), _) => format::short(tps),
    };
    (if rung.state == RungState::CutShort { figure + "*" } else { figure }, rung.state)
}

/// In microseconds, or else milliseconds.
fn time_cell(us: Option<f64>, in_us: bool) -> Cell {
    let scaled = us.map(|us| if in_us { us } else { us / 1e3 });
    plain(scaled.map_or_else(|| format::UNKNOWN.to_owned(), format::short))
}

#[cfg(test)]
mod tests;
