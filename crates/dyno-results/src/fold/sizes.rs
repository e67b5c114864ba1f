//! What a workload's tables take on disk, for each of their rows.

use crate::document::Size;
use crate::event::Data;

/// One for each target and workload of which every table is known, from what was last told of it.
pub(super) fn sizes(data: &[Data]) -> Vec<Size> {
    data.iter().filter_map(size).collect()
}

fn size(data: &Data) -> Option<Size> {
    let rows: u64 = data.tables.iter().map(|table| table.rows).sum::<Option<u64>>()?;
    let bytes = data.bytes()?;
    (rows > 0).then(|| Size {
        target: data.target.clone(),
        workload: data.workload.clone(),
        rows,
        rows_counted: data.tables.iter().all(|table| table.rows_counted),
        bytes,
        bytes_per_row: bytes as f64 / rows as f64,
    })
}
