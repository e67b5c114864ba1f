//! Under which name a workload of the user's is compared. Where its file lies says nothing, and on another machine it lies elsewhere:
//! what tells it is the file's name, and of a script or a folder with a `workload.toml` the digest of its text. The texts of a folder's
//! queries are compared one by one.

use std::path::Path;

use serde_json::Value;

use crate::document::Report;
use crate::fnv1a;
use crate::spec::{FolderSpec, FrontEndSpec, StreamSpec};
use crate::words::list;

/// As many digits of a digest as a reader compares.
const DIGITS: usize = 8;

/// Gives the user's own workloads of a run these names.
pub(super) fn name(report: &mut Report) {
    let front_end = report.run.resolved.front_end.clone();
    let phases = report.run.resolved.phases.iter_mut();
    let mut renamed = Vec::new();
    for stream in phases.flat_map(|phase| &mut phase.streams) {
        if let Some(FolderSpec { name, .. }) = &stream.folder {
            // Of its data, which are compared by themselves.
            renamed.push((name.clone(), file_name(name).to_owned()));
        }
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
        return Some(with_digest(file_name(workload), &digest));
    }
    if let Some(folder) = &stream.folder {
        let texts = folder.files.iter().flat_map(|(name, text)| [name, "\0", text, "\0"].map(str::bytes));
        let digest = format!("{:016x}", fnv1a::mixed(fnv1a::START, texts.flatten()));
        let transaction = workload.strip_prefix(folder.name.as_str()).unwrap_or_default();
        return Some(with_digest(&format!("{}{transaction}", file_name(&folder.name)), &digest));
    }
    if !stream.queries.is_empty() {
        return Some(file_name(workload).to_owned());
    }
    let options = &front_end?.options;
    let scripts = options.get("scripts").and_then(Value::as_array).map(Vec::as_slice);
    let scripts = scripts.unwrap_or_else(|| options.get("script").map_or(&[], std::slice::from_ref));
    let is_several = scripts.len() > 1;
    let weight = |script: &Value| script.get("weight").and_then(Value::as_u64).unwrap_or(1);
    let divisor = scripts.iter().map(weight).fold(0, greatest_common_divisor).max(1);
    let weights = scripts.iter().map(|script| is_several.then(|| weight(script) / divisor));
    let mut names: Vec<String> =
        scripts.iter().zip(weights).filter_map(|(script, weight)| script_name(script, weight)).collect();
    // Which one is first says nothing: they are drawn by chance.
    names.sort_unstable();
    // A builtin script that runs alone is a workload with a name of its own.
    let is_own = is_several || scripts.iter().any(|script| script.get("sha256").is_some());
    is_own.then(|| format!("{workload}: {}", list(&names)))
}

/// `a.sql (5f2c81aa)@9`: the name of a builtin script says its text.
fn script_name(script: &Value, weight: Option<u64>) -> Option<String> {
    let name = script.get("name")?.as_str()?;
    let digest = script.get("sha256").and_then(Value::as_str);
    let name = digest.map_or_else(|| name.to_owned(), |digest| with_digest(file_name(name), digest));
    Some(weight.map_or_else(|| name.clone(), |weight| format!("{name}@{weight}")))
}

/// Weights are shares: 2 and 4 are 1 and 2.
fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// `report.sql (5f2c81aa)`
fn with_digest(name: &str, digest: &str) -> String {
    format!("{name} ({})", digest.get(..DIGITS).unwrap_or(digest))
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
