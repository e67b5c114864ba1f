//! Under which name a workload of the user's is compared. Where its file lies says nothing, and on another machine it lies elsewhere:
//! what tells it is the file's name, and of a script the digest of its text. The texts of a folder's queries are compared one by one.

use std::path::Path;

use serde_json::Value;

use crate::document::Report;
use crate::fnv1a;
use crate::spec::{FrontEndSpec, StreamSpec};
use crate::words::list;

/// As many digits of a digest as a reader compares.
const DIGITS: usize = 8;

/// Gives the user's own workloads of a run these names.
pub(super) fn name(report: &mut Report) {
    let front_end = report.run.resolved.front_end.clone();
    let phases = report.run.resolved.phases.iter_mut();
    let mut renamed = Vec::new();
    for stream in phases.flat_map(|phase| &mut phase.streams) {
        if let Some(new) = name_of(stream, front_end.as_ref())
            && let Some(old) = stream.workload.replace(new.clone())
        {
            renamed.push((old, new));
        }
    }
    let places = report.series.iter_mut().map(|series| &mut series.workload);
    let places = places.chain(report.stages.iter_mut().map(|result| &mut result.stage.workload));
    let places = places.chain(report.data.iter_mut().map(|data| &mut data.workload));
    let places = places.chain(report.found.iter_mut().map(|data| &mut data.workload));
    let places = places.chain(report.sizes.iter_mut().map(|size| &mut size.workload));
    for workload in places.chain(report.checks.iter_mut().map(|check| &mut check.workload)) {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| old == workload) {
            workload.clone_from(new);
        }
    }
}

fn name_of(stream: &StreamSpec, front_end: Option<&FrontEndSpec>) -> Option<String> {
    let workload = stream.workload.as_deref()?;
    if let Some(text) = &stream.script {
        let digest = format!("{:016x}", fnv1a::mixed(fnv1a::START, text.bytes()));
        return Some(with_digest(workload, &digest));
    }
    if !stream.queries.is_empty() {
        return Some(file_name(workload).to_owned());
    }
    let options = &front_end?.options;
    let several = options.get("scripts").and_then(Value::as_array).into_iter().flatten();
    let scripts = several.chain(options.get("script")).filter_map(|script| {
        Some(with_digest(script.get("name")?.as_str()?, script.get("sha256")?.as_str()?))
    });
    let scripts: Vec<String> = scripts.collect();
    (!scripts.is_empty()).then(|| format!("{workload}: {}", list(&scripts)))
}

/// `report.sql (5f2c81aa)`
fn with_digest(path: &str, digest: &str) -> String {
    format!("{} ({})", file_name(path), digest.get(..DIGITS).unwrap_or(digest))
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
