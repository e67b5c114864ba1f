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

/// The table of one target. No rungs give no block.
pub(crate) fn table(rungs: &[DrawnRung], room: usize, overflow: Overflow, paint: Paint) -> Drawn {
    let columns: Vec<Column<'_>> = rungs.iter().map(|rung| Column { cells: vec![Some(rung)] }).collect();
    let mut rows = vec![
        LadderRow { head: load_head(&columns).to_owned(), cell: Box::new(|column| plain(column.load())) },
        LadderRow { head: "TPS".to_owned(), cell: Box::new(|column| column.cell(0, tps_cell)) },
    ];
    // Of a load that is offered throughput is what was asked for: latency tells what became of it.
    if rungs.iter().all(|rung| rung.rate_per_s.is_some()) {
        for (name, time) in [("p50", p50 as fn(&DrawnRung) -> Option<f64>), ("p99", p99)] {
            let in_us = all_in_us(rungs.iter().filter_map(time));
            let cell = move |column: &Column<'_>| column.cell(0, |rung| time_cell(time(rung), in_us));
            rows.push(LadderRow { head: format!("{name} {}", unit(in_us)), cell: Box::new(cell) });
        }
    }
    if rungs.iter().any(|rung| rung.failed > 0) {
        rows.push(LadderRow {
            head: "failed".to_owned(),
            cell: Box::new(|column| column.cell(0, failed_cell)),
        });
    }
    set(&columns, &rows, room, overflow, paint)
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
    let columns = columns(curves);
    let names: Vec<String> = curves.iter().map(|curve| names.painted(curve.target, paint)).collect();
    let mut rows = vec![LadderRow {
        head: load_head(&columns).to_owned(),
        cell: Box::new(|column| plain(column.load())),
    }];
    let mut add = |figure: &str, cell: fn(&DrawnRung, bool) -> Cell, flag: bool| {
        for (index, name) in names.iter().enumerate() {
            rows.push(LadderRow {
                head: format!("{figure:<6} {name}"),
                cell: Box::new(move |column| column.cell(index, |rung| cell(rung, flag))),
            });
        }
    };
    add("TPS", |rung, _| tps_cell(rung), false);
    let rungs = || curves.iter().flat_map(|curve| &curve.rungs);
    if with_p99 && rungs().any(|rung| rung.p99_us.is_some()) {
        let in_us = all_in_us(rungs().filter_map(p99));
        add(&format!("p99 {}", unit(in_us)), |rung, in_us| time_cell(p99(rung), in_us), in_us);
    }
    if rungs().any(|rung| rung.failed > 0) {
        add("failed", |rung, _| failed_cell(rung), false);
    }
    set(&columns, &rows, room, overflow, paint)
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

/// A row's head and how its cells are made.
struct LadderRow<'a> {
    head: String,
    cell: Box<dyn Fn(&Column<'_>) -> Cell + 'a>,
}

fn set(
    columns: &[Column<'_>],
    rows: &[LadderRow<'_>],
    room: usize,
    overflow: Overflow,
    paint: Paint,
) -> Drawn {
    let head = rows.iter().map(|row| width(&row.head)).max().unwrap_or(0).max(HEAD_WIDTH);
    let widest = |column: &Column<'_>| rows.iter().map(|row| width(&(row.cell)(column).0)).max();
    let cell = columns.iter().filter_map(widest).max().unwrap_or(0);
    let cell = (cell + 2).max(RUNG_WIDTH_MIN);
    let fitting = (room.saturating_sub(head) / cell).max(1);
    let shown: Vec<&Column<'_>> = match overflow {
        Overflow::Fold { blocks_max } => condensed(columns, fitting * blocks_max.max(1)),
        Overflow::DropFirst => columns[columns.len().saturating_sub(fitting)..].iter().collect(),
    };
    let block = |columns: &[&Column<'_>]| {
        let line = |row: &LadderRow<'_>| {
            let cells = columns.iter().map(|column| painted((row.cell)(column), cell, paint));
            std::iter::once(pad_end(&row.head, head)).chain(cells).collect()
        };
        rows.iter().map(line).collect()
    };
    Drawn { blocks: shown.chunks(fitting).map(block).collect(), shown: shown.len(), all: columns.len() }
}

fn painted((text, state): Cell, columns: usize, paint: Paint) -> String {
    let padded = pad_start(&text, columns);
    match state {
        RungState::Measured => padded,
        RungState::Peak => paint.strong(&padded),
        RungState::Running => paint.faint(&padded),
        RungState::CutShort => paint.doubt(&padded),
    }
}

/// At most so many columns: the first, the last and the telling ones, and others evenly between.
fn condensed<'a, 'b>(columns: &'a [Column<'b>], columns_max: usize) -> Vec<&'a Column<'b>> {
    if columns.len() <= columns_max {
        return columns.iter().collect();
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
    columns.iter().zip(evenly).filter_map(|(column, kept)| kept.then_some(column)).collect()
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

fn p50(rung: &DrawnRung) -> Option<f64> {
    rung.p50_us
}

fn p99(rung: &DrawnRung) -> Option<f64> {
    rung.p99_us
}

/// One unit for a whole row, so that the eye can follow it.
fn all_in_us(mut times: impl Iterator<Item = f64>) -> bool {
    times.all(|us| us < 999.5)
}

fn unit(in_us: bool) -> &'static str {
    if in_us { "µs" } else { "ms" }
}

/// In microseconds, or else milliseconds.
fn time_cell(us: Option<f64>, in_us: bool) -> Cell {
    let scaled = us.map(|us| if in_us { us } else { us / 1e3 });
    plain(scaled.map_or_else(|| format::UNKNOWN.to_owned(), format::short))
}

fn failed_cell(rung: &DrawnRung) -> Cell {
    plain(format::short_count(rung.failed))
}

#[cfg(test)]
mod tests;
