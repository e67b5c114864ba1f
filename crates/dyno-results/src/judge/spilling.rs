//! `spilling`: sorts and joins did not fit into the memory that a query may take, and went to temporary files.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult};
use crate::event::{Finding, Severity};
use crate::format;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice =
        "let a query have more memory for sorts and joins, or compare only with results that have as little";
    gather_alike(report, ("spilling", Severity::Note, advice), loads(report), |_, result| evidence(result))
}

fn evidence(result: &StageResult) -> Option<String> {
    let written =
        |key: &str| result.reading(key).filter(|per_s| *per_s > 0.0).map(|per_s| per_s * result.seconds);
    let what = match (written("temp_bytes_per_s"), written("temp_disk_tables_per_s")) {
        (Some(bytes), _) => format!("{} were written to temporary files", format::bytes(bytes as u64)),
        (None, Some(tables)) => {
            format!("{} went to disk", format::counted(tables.round().max(1.0) as u64, "temporary table"))
        }
        (None, None) => return None,
    };
    Some(format!("in {} {what}", stage_name(result)))
}
