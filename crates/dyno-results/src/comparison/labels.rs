//! How the rows of a comparison are called, for every output.

use super::document::{Better, Cell, FigureRow};

impl FigureRow {
    /// A row under the names of its key.
    #[must_use]
    pub fn new(key: &'static str, unit: &'static str, better: Better, cells: Vec<Cell>) -> Self {
        let (label, short_label) = labels(key);
        Self { key, label, short_label, unit, better, verdicts: verdicts(key, unit), cells }
    }

    /// Names the costs of passes, whose transactions are queries.
    pub(super) fn name_per_query(&mut self) {
        (self.label, self.short_label) = match self.key {
            "server_cpu" => ("CPU of the server, per query", "CPU/query"),
            "disk_read_bytes" => ("read from disk, per query", "read/query"),
            "disk_write_bytes" => ("written to disk, per query", "write/query"),
            _ => (self.label, self.short_label),
        };
    }
}

/// A row's name, and the one where there is little room. Costs are for each transaction.
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
        "server_cpu" => ("CPU of the server, per transaction", "CPU/tx"),
        "disk_read_bytes" => ("read from disk, per transaction", "read/tx"),
        "disk_write_bytes" => ("written to disk, per transaction", "written/tx"),
        "disk_read_operations" => ("disk reads, per transaction", "read ops/tx"),
        "disk_write_operations" => ("disk writes, per transaction", "write ops/tx"),
        "wal_bytes" => ("WAL or redo log, per transaction", "log/tx"),
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
        ("throughput" | "peak_throughput", _) | (_, "s" | "us") => ["faster", "slower"],
        _ => ["less", "more"],
    }
}
