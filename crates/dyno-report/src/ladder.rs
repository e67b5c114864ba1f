//! The ladder over clients as a table that grows to the right; the same while it runs and afterwards.

use crate::format;
use crate::text::{Paint, pad_start, width};

/// Columns of the row heads, `clients`.
const HEAD_WIDTH: usize = 7;
/// Narrowest column of a rung.
const RUNG_WIDTH_MIN: usize = 7;

/// One client count of a ladder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rung {
    pub(crate) clients: u32,
    /// Transactions per second; `None` where nothing is known of it yet.
    pub(crate) tps: Option<f64>,
    /// Transactions that failed.
    pub(crate) failed: u64,
    pub(crate) state: RungState,
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

/// What to do with more rungs than fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// Set the table in several blocks, one under the other.
    Fold,
    /// Leave out the first ones, keeping the newest.
    DropFirst,
}

/// Rows that belong together: `clients`, `TPS` and, where transactions failed, `failed`.
pub(crate) type Block = Vec<String>;

/// Draws the table at most `room` columns wide. No rungs give no block.
pub(crate) fn table(rungs: &[Rung], room: usize, overflow: Overflow, paint: Paint) -> Vec<Block> {
    let with_failed = rungs.iter().any(|rung| rung.failed > 0);
    let column = rungs.iter().map(|rung| column_width(rung, with_failed)).max().unwrap_or(RUNG_WIDTH_MIN);
    let fitting = (room.saturating_sub(HEAD_WIDTH) / column).max(1);
    match overflow {
        Overflow::Fold => {
            rungs.chunks(fitting).map(|rungs| block(rungs, column, with_failed, paint)).collect()
        }
        Overflow::DropFirst if rungs.is_empty() => Vec::new(),
        Overflow::DropFirst => {
            let first = rungs.len().saturating_sub(fitting);
            vec![block(&rungs[first..], column, with_failed, paint)]
        }
    }
}

fn block(rungs: &[Rung], column: usize, with_failed: bool, paint: Paint) -> Block {
    let row = |head: &str, cell: &dyn Fn(&Rung) -> (String, RungState)| {
        let mut line = crate::text::pad_end(head, HEAD_WIDTH);
        for rung in rungs {
            let (text, state) = cell(rung);
            let padded = pad_start(&text, column);
            line.push_str(&match state {
                RungState::Measured => padded,
                RungState::Peak => paint.strong(&padded),
                RungState::Running => paint.faint(&padded),
                RungState::CutShort => paint.doubt(&padded),
            });
        }
        line
    };
    let mut rows = vec![
        row("clients", &|rung| (clients_cell(rung), RungState::Measured)),
        row("TPS", &|rung| (tps_cell(rung), rung.state)),
    ];
    if with_failed {
        rows.push(row("failed", &|rung| (format::short_count(rung.failed), RungState::Measured)));
    }
    rows
}

fn clients_cell(rung: &Rung) -> String {
    rung.clients.to_string()
}

/// A cut rung carries an asterisk, which must be read without colour too.
fn tps_cell(rung: &Rung) -> String {
    let figure = match (rung.tps, rung.state) {
        (None, RungState::Running) => "…".to_owned(),
        (None, _) => format::UNKNOWN.to_owned(),
        (Some(tps), _) => format::short(tps),
    };
    if rung.state == RungState::CutShort { figure + "*" } else { figure }
}

fn column_width(rung: &Rung, with_failed: bool) -> usize {
    let failed = if with_failed { width(&format::short_count(rung.failed)) } else { 0 };
    (width(&clients_cell(rung)).max(width(&tps_cell(rung))).max(failed) + 2).max(RUNG_WIDTH_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(count: u32) -> Vec<Rung> {
        (0..count)
            .map(|step| Rung {
                clients: 1 << step,
                tps: Some(13_300.0 * f64::from(step + 1)),
                failed: 0,
                state: RungState::Measured,
            })
            .collect()
    }

    const PLAIN: Paint = Paint { color: false };

    #[test]
    fn a_ladder_that_fits_is_one_block() {
        assert_eq!(
            table(&rungs(4), 70, Overflow::Fold, PLAIN),
            [["clients      1      2      4      8", "TPS      13.3k  26.6k  39.9k  53.2k"]]
        );
    }

    #[test]
    fn a_long_ladder_folds_or_drops_its_first_rungs() {
        let folded = table(&rungs(7), 40, Overflow::Fold, PLAIN);
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[1][0], "clients     16     32     64");
        let dropped = table(&rungs(7), 40, Overflow::DropFirst, PLAIN);
        assert_eq!(dropped, [["clients      8     16     32     64", "TPS      53.2k  66.5k  79.8k  93.1k"]]);
    }

    #[test]
    fn failures_running_and_cut_rungs_are_told() {
        let mut rungs = rungs(3);
        rungs[0].failed = 12;
        rungs[1].state = RungState::CutShort;
        rungs[2].state = RungState::Running;
        rungs[2].tps = None;
        let rows = table(&rungs, 70, Overflow::Fold, PLAIN);
        assert_eq!(
            rows,
            [[
                "clients       1       2       4",
                "TPS       13.3k  26.6k*       …",
                "failed       12       0       0"
            ]]
        );
    }

    #[test]
    fn no_rungs_no_table() {
        assert!(table(&[], 70, Overflow::Fold, PLAIN).is_empty());
        assert!(table(&[], 70, Overflow::DropFirst, PLAIN).is_empty());
    }
}
