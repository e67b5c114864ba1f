//! What server and host did while a stage's load ran, and what that comes to for each transaction.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{Costs, Metric, StageResult, Timeline};
use crate::event::{StageKind, Target};
use crate::headline::Demand;

/// Digits of a mean: a reading of a second is not known to more, and a ramp has hundreds of stages.
const DIGITS: i32 = 5;
/// A running count: what it grew by while the load ran is shown, not its mean.
const RUNNING_COUNT: &str = "checkpoints";
/// Sizes of single tables and indexes, of which there are many and which hardly change within a stage.
const SIZES: [&str; 2] = ["table_bytes[", "index_bytes["];
/// Where disk traffic may be read, the best first: how the keys begin, and what it is called. A control group's is counted
/// at the disk; that of processes where they change the cache's pages.
const DISKS: [(&str, &str); 3] = [("server_cgroup_", "cgroup"), (OF_PROCESSES, "server"), ("", "disk")];
const OF_PROCESSES: &str = "server_";
/// The one of them that is anybody's.
const OF_DISK: usize = 2;

/// Processors that a server and its driver may seem to have used beyond all that were busy, as a share of the host's.
const READ_APART: f64 = 0.03;
/// A host is read once a second: a stage that is shorter may have no reading of its own.
const SHORT_S: f64 = 2.0;
/// Repeats that fill at least this share of the time from the first to the last are read together.
const FILLED_MIN: f64 = 0.8;

/// Who else used a server's host while a stage's load ran.
#[derive(Clone, Copy)]
struct Company {
    /// dyno; `None` where it cannot be told.
    driver: Option<bool>,
    /// The database is a library in dyno's process: what dyno used was used by both.
    in_process: bool,
    /// Another target, under a load of its own.
    loaded: bool,
    /// Another stream, on the target itself: what was used is nobody's alone.
    shared: bool,
}

/// Fills in `resources` and `costs` of those stages that are `wanted`, by their place among all.
pub(super) fn fill(
    stages: &mut [StageResult],
    timelines: &[Timeline<'_>],
    targets: &[Target],
    wanted: impl Fn(usize) -> bool,
) {
    for timeline in timelines.iter().filter(|timeline| timeline.stream == 0) {
        let is_wanted =
            |place: usize, result: &StageResult| result.stage.key.system == timeline.target && wanted(place);
        if !stages.iter().enumerate().any(|(place, result)| is_wanted(place, result)) {
            continue;
        }
        let shown = shown(&timeline.metrics);
        let target = targets.iter().find(|target| target.name == timeline.target);
        let driver = target.and_then(|target| target.same_host);
        let in_process = target.is_some_and(|target| target.in_process);
        let beside = spans_beside(stages, target, targets);
        let own: Vec<(u32, f64, f64)> = stages
            .iter()
            .filter(|result| result.stage.key.system == timeline.target)
            .map(|result| (result.stage.key.stream, result.start_s, result.start_s + result.seconds))
            .collect();
        let company = |stream: u32, from_s: f64, to_s: f64| {
            let meets = |(from, to): (f64, f64)| from < to_s && from_s < to;
            let loaded = beside.iter().any(|span| meets(*span));
            let shared = own.iter().any(|(other, from, to)| *other != stream && meets((*from, *to)));
            Company { driver, in_process, loaded, shared }
        };
        let read = |result: &StageResult| {
            let (stream, from_s, to_s) =
                (result.stage.key.stream, result.start_s, result.start_s + result.seconds);
            let means = means(&shown, from_s, to_s);
            let alone = company(stream, from_s, to_s);
            let costs = costs(result, &means, alone);
            let of_repeats = of_processors_of_repeats(stages, result, &shown, &means);
            let by_repeats = of_repeats.is_some();
            let (means, company) = match of_repeats {
                Some(((from_s, to_s), of_repeats)) => {
                    let others = means.into_iter().filter(|(key, _)| !is_of_processors(key));
                    (others.chain(of_repeats).collect(), company(stream, from_s, to_s))
                }
                None => (means, alone),
            };
            let taken_share = taken_share(&means, company).map(rounded);
            let resources = means.into_iter().map(|(key, mean)| (key, rounded(mean))).collect();
            (costs, taken_share, resources, by_repeats)
        };
        let places = stages.iter().enumerate().filter(|(place, result)| is_wanted(*place, result));
        let all: Vec<_> = places.map(|(place, result)| (place, read(result))).collect();
        for (place, (costs, taken_share, resources, by_repeats)) in all {
            let result = &mut stages[place];
            (result.costs, result.cpu_taken_share, result.resources) = (costs, taken_share, resources);
            result.processors_by_repeats = by_repeats;
        }
    }
}

/// What was read of processors over all the holds or passes that repeat each other, where a stage of them is too short to have a
/// reading of its own. `None` also where they do not fill the time from the first to the last: then it is not of them.
fn of_processors_of_repeats(
    stages: &[StageResult],
    result: &StageResult,
    shown: &[(String, &Metric<'_>)],
    own: &BTreeMap<String, f64>,
) -> Option<((f64, f64), BTreeMap<String, f64>)> {
    let wanted: Vec<(String, &Metric<'_>)> =
        shown.iter().filter(|(key, _)| is_of_processors(key)).cloned().collect();
    // Each is read at an instant, or between two.
    let needed = |key: &str| key.ends_with("cpu_idle_share") || key.ends_with("cpus");
    let is_read = wanted.iter().filter(|(key, _)| needed(key)).all(|(key, _)| own.contains_key(key));
    if is_read || result.stage.kind != StageKind::Hold || result.seconds >= SHORT_S {
        return None;
    }
    let same = |other: &&StageResult| {
        let (own, other) = (&result.stage, &other.stage);
        own.kind == other.kind
            && (&own.key.system, &own.series) == (&other.key.system, &other.series)
            && Demand::of(own) == Demand::of(other)
    };
    let repeats = || stages.iter().filter(same);
    let from_s = repeats().map(|repeat| repeat.start_s).reduce(f64::min)?;
    let to_s = repeats().map(|repeat| repeat.start_s + repeat.seconds).reduce(f64::max)?;
    let seconds: f64 = repeats().map(|repeat| repeat.seconds).sum();
    if repeats().nth(1).is_none() || seconds < FILLED_MIN * (to_s - from_s) {
        return None;
    }
    let means = means(&wanted, from_s, to_s);
    (!means.is_empty()).then_some(((from_s, to_s), means))
}

/// What is read of processors and their time.
fn is_of_processors(key: &str) -> bool {
    let key = key.strip_prefix("driver.").unwrap_or(key);
    ["cpu", "server_cpu", "driver_cpu", "pressure_cpu"].iter().any(|beginning| key.starts_with(beginning))
}

/// When the loads of other targets on a target's host began and ended.
fn spans_beside(stages: &[StageResult], target: Option<&Target>, targets: &[Target]) -> Vec<(f64, f64)> {
    let Some(target) = target else { return Vec::new() };
    let is_beside =
        |name: &str| targets.iter().any(|other| other.name == name && other.shares_host_with(target));
    let of_others = stages.iter().filter(|result| result.stage.key.system != target.name);
    of_others
        .filter(|result| is_beside(&result.stage.key.system))
        .map(|result| (result.start_s, result.start_s + result.seconds))
        .collect()
}

/// The metrics that stages show, by the key under which they do.
fn shown<'a>(metrics: &'a [Metric<'a>]) -> Vec<(String, &'a Metric<'a>)> {
    let of_stages = metrics.iter().filter(|metric| !is_size(&metric.key));
    of_stages.map(|metric| (key(metrics, metric), metric)).collect()
}

/// What each metric came to over a span of time.
fn means(shown: &[(String, &Metric<'_>)], from_s: f64, to_s: f64) -> BTreeMap<String, f64> {
    let value = |metric: &Metric<'_>| {
        let read = if metric.key == RUNNING_COUNT { grown } else { mean };
        read(metric, from_s, to_s)
    };
    shown.iter().filter_map(|(key, metric)| Some((key.clone(), value(metric)?))).collect()
}

fn is_size(key: &str) -> bool {
    SIZES.iter().any(|beginning| key.starts_with(beginning))
}

/// `cpu_idle_share` of the server's host, `driver.cpu_idle_share` of the driver's where that is another.
fn key(metrics: &[Metric<'_>], metric: &Metric<'_>) -> String {
    let key = &*metric.key;
    match &*metric.source {
        "driver" if !key.starts_with("driver_") => format!("driver.{key}"),
        "database" if metrics.iter().any(|other| other.source == "host" && other.key == key) => {
            format!("database.{key}")
        }
        _ => key.to_owned(),
    }
}

fn mean(metric: &Metric<'_>, from_s: f64, to_s: f64) -> Option<f64> {
    let values = metric.values.get(span(metric, from_s, to_s))?.iter().flatten();
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// What a running count grew by, from the last reading before the span, or the first within it.
fn grown(metric: &Metric<'_>, from_s: f64, to_s: f64) -> Option<f64> {
    let span = span(metric, from_s, to_s);
    let before = metric.values.get(..span.start)?.iter().flatten().last();
    let within = metric.values.get(span)?;
    let last = within.iter().flatten().last()?;
    Some(last - before.or_else(|| within.iter().flatten().next())?)
}

/// What was read in the instant in which a load began is not of the load.
fn span(metric: &Metric<'_>, from_s: f64, to_s: f64) -> Range<usize> {
    metric.t_s.partition_point(|t_s| *t_s <= from_s)..metric.t_s.partition_point(|t_s| *t_s <= to_s)
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let last_digit = value.abs().log10().floor() as i32 - DIGITS + 1;
    let unit = 10_f64.powi(last_digit.abs());
    // A power of ten below one is not exact: divide rather than multiply by it.
    let rounded = if last_digit >= 0 { (value / unit).round() * unit } else { (value * unit).round() / unit };
    if rounded.is_finite() { rounded } else { value }
}

/// For each transaction that ended well: what was used in a second, divided by how many ended in one. `None` where several
/// streams used it at the same time.
fn costs(result: &StageResult, means: &BTreeMap<String, f64>, company: Company) -> Option<Costs> {
    let tps = result.throughput?.mean;
    if tps <= 0.0 || company.shared {
        return None;
    }
    let each = |key: &str| Some(means.get(key)? / tps);
    // What others' loads have written to the device is no transaction's here.
    let disks = if company.loaded { &DISKS[..OF_DISK] } else { &DISKS };
    // A kernel that caches files in large pieces takes all of a piece for changed where a little of it is: then processes
    // seem to write more than the device does.
    let written = |beginning: &str| means.get(&format!("{beginning}disk_write_bytes_per_s"));
    let overstated = matches!((written(OF_PROCESSES), written("")), (Some(of), Some(all)) if of > all);
    let disk = |key: &str| {
        let counts = |beginning: &str| beginning != OF_PROCESSES || !overstated;
        let mut disks = disks.iter().filter(|(beginning, _)| counts(beginning));
        disks.find(|(beginning, _)| means.contains_key(&format!("{beginning}{key}")))
    };
    let of_disk = |source: Option<&(&str, &str)>, key: &str| each(&format!("{}{key}", source?.0));
    let bytes = disk("disk_write_bytes_per_s");
    let operations = disk("disk_write_operations_per_s");
    // Only of a host that is known to work for this load alone.
    let apart = company.driver == Some(false) && !company.loaded;
    let costs = Costs {
        server_cpu_us: each("server_cpu_cores").map(|seconds| seconds * 1e6),
        host_cpu_us: busy_cores(means).filter(|_| apart).map(|cores| cores / tps * 1e6),
        disk_read_bytes: of_disk(bytes, "disk_read_bytes_per_s"),
        disk_write_bytes: of_disk(bytes, "disk_write_bytes_per_s"),
        disk_read_operations: of_disk(operations, "disk_read_operations_per_s"),
        disk_write_operations: of_disk(operations, "disk_write_operations_per_s"),
        disk_source: bytes.map(|(_, source)| (*source).to_owned()),
        disk_operations_source: operations.map(|(_, source)| (*source).to_owned()),
        wal_bytes: each("wal_bytes_per_s"),
        network_receive_bytes: each("network_receive_bytes_per_s").filter(|_| apart),
        network_transmit_bytes: each("network_transmit_bytes_per_s").filter(|_| apart),
    };
    (costs != Costs::default()).then_some(costs)
}

/// Share of the host's processor time that neither the server nor dyno used, though somebody did: other programs where the
/// server's own time is known, and other machines.
fn taken_share(means: &BTreeMap<String, f64>, company: Company) -> Option<f64> {
    if company.loaded {
        return None;
    }
    let stolen = means.get("cpu_steal_share").copied();
    let server = if company.in_process { Some(&0.0) } else { means.get("server_cpu_cores") };
    let Some((server, driver)) = server.zip(company.driver) else { return stolen };
    let of_driver = if driver { *means.get("driver_cpu_cores")? } else { 0.0 };
    // Busy is all that is not idle, what was stolen included.
    let share = (busy_cores(means)? - server - of_driver) / means.get("cpus")?;
    // Readings of a short stage may be of different moments: then they do not go together.
    (share >= -READ_APART).then(|| share.max(stolen.unwrap_or(0.0)))
}

/// Processors of the server's host that had something to do.
fn busy_cores(means: &BTreeMap<String, f64>) -> Option<f64> {
    let idle = means.get("cpu_idle_share")? + means.get("cpu_iowait_share").copied().unwrap_or(0.0);
    Some(means.get("cpus")? * (1.0 - idle).max(0.0))
}
