//! `spilling`: sorts and joins did not fit into the memory that a query may take, and went to temporary files.

use super::evidence::{loads, stage_name};
use super::gathered::gather_alike;
use crate::document::{Report, StageResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let advice =
        "let a query have more memory for sorts and joins, or compare only with results that have as little";
    gather_alike(report, (Code::Spilling, Severity::Note, advice), loads(report), |_, result, facts| {
        evidence(result, facts)
    })
}

fn evidence(result: &StageResult, facts: &mut Facts) -> Option<String> {
    let written =
        |key: &str| result.reading(key).filter(|per_s| *per_s > 0.0).map(|per_s| per_s * result.seconds);
    let what = match (written("temp_bytes_per_s"), written("temp_disk_tables_per_s")) {
        (Some(bytes), _) => {
            format!("{} were written to temporary files", facts.bytes("temporary_files", bytes as u64))
        }
        (None, Some(tables)) => {
            let tables = tables.round().max(1.0) as u64;
            format!("{} went to disk", facts.counted("temporary_tables", tables, "temporary table"))
        }
        (None, None) => return None,
    };
    Some(format!("in {} {what}", stage_name(result)))
}
