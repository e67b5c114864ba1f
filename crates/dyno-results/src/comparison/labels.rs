//! How the rows of a comparison are called, for every output.

use super::document::{Better, Cell, FigureRow};
use crate::event::Figure;

/// Of what a row's figures were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Of the server alone, or of something that is always one thing.
    Own,
    /// Of all that uses the device.
    Device,
    /// Of different things on the sides.
    Mixed,
}

impl FigureRow {
    /// A row under the names of its key.
    pub fn new(key: &'static str, unit: &'static str, better: Better, cells: Vec<Cell>) -> Self {
        let (label, short_label) = labels(key);
        let (label, short_label) = (label.to_owned(), short_label.to_owned());
        let mut row = Self { key, label, short_label, unit, better, verdicts: verdicts(key, unit), cells };
        row.name_cost("transaction", Counted::Own);
        row
    }

    /// Names what a workload counts.
    pub(super) fn name_figure(&mut self, figure: &Figure) {
        self.label = format!("{}, {}", figure.about, figure.per.words());
        (self.short_label, self.unit) = (figure.about.clone(), figure.per.rate());
    }

    /// Names a cost by what it is for, a `transaction` or a `query`, and by what it was counted of.
    pub(super) fn name_cost(&mut self, unit: &str, counted: Counted) {
        let Some((label, short_label)) = cost(self.key) else { return };
        let (whose, short_whose) = match counted {
            Counted::Own => ("", ""),
            Counted::Device => (" (all of the device)", " (device)"),
            Counted::Mixed => (" (of unequal sources: no ratio)", " (mixed)"),
        };
        let short_unit = if unit == "transaction" { "tx" } else { unit };
        self.label = format!("{label}, per {unit}{whose}");
        self.short_label = format!("{short_label}/{short_unit}{short_whose}");
    }
}

/// What a cost is called without its unit.
fn cost(key: &str) -> Option<(&'static str, &'static str)> {
    Some(match key {
        "server_cpu" => ("CPU of the server", "CPU"),
        "disk_read_bytes" => ("read from disk", "read"),
        "disk_write_bytes" => ("written to disk", "written"),
        "disk_read_operations" => ("disk reads", "read ops"),
        "disk_write_operations" => ("disk writes", "write ops"),
        "wal_bytes" => ("WAL or redo log", "log"),
        _ => return None,
    })
}

/// A row's name, and the one where there is little room.
fn labels(key: &'static str) -> (&'static str, &'static str) {
    match key {
        "p50" => ("latency, p50", key),
        "p95" => ("latency, p95", key),
        "p99" => ("latency, p99", key),
        "p99.9" => ("latency, p99.9", key),
        "max" => ("latency, highest", key),
        "pass" => ("a pass over all queries", key),
        "geometric_mean" => ("geometric mean of the queries", "geo. mean"),
        "errors" => ("failed or of unknown outcome", key),
        "peak_throughput" => ("peak throughput", "peak"),
        "peak_clients" | "peak_rate" => ("peak at", "peak at"),
        "saturation_clients" | "saturation_rate" => ("saturated at", "saturated"),
        "size" => ("data on disk", key),
        "bytes_per_row" => ("on disk, per row", "bytes/row"),
        "prepare" => ("time to prepare", key),
        _ => (key, key),
    }
}

/// What a better figure is, and what a worse one is.
fn verdicts(key: &str, unit: &str) -> [&'static str; 2] {
    match (key, unit) {
        ("size" | "bytes_per_row", _) => ["smaller", "larger"],
        ("errors", _) => ["fewer", "more"],
        ("server_cpu", _) => ["less", "more"],
        ("throughput" | "peak_throughput" | "figure", _) | (_, "s" | "us") => ["faster", "slower"],
        _ => ["less", "more"],
    }
}
