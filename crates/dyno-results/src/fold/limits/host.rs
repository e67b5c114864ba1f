//! Bounds of the server's host: its processors, a quota of them, its disk and its memory.

use super::{FULL, Scene, amount, limit};
use crate::document::{Limit, StageResult};
use crate::format;
use crate::others::{DISK_SHARE_FEW, Others};

/// Periods of a quota in which it was used up, from this share on, while most of it was used on average: a load that
/// comes in bursts meets its quota before the mean does.
const THROTTLED_OFTEN: f64 = 0.25;
const THROTTLED_USED: f64 = 0.7;
/// Processor time that a hypervisor gave to others, from this share on, is told.
const STEAL_TOLD: f64 = 0.02;
/// Processors of other programs, from so many on, are told.
const OTHERS_TOLD: f64 = 0.1;
/// Memory that is left, as a share of all, from which down on there is none.
const MEMORY_LEFT: f64 = 0.05;
/// Time in which something waited for memory, from this share on, shows that a group's limit hurts: the page cache fills
/// it by itself.
const MEMORY_PRESSURE: f64 = 0.05;

/// What was at its limit because others than the server and dyno took it.
pub(super) fn taken_by_others(scene: &Scene<'_>) -> Vec<Limit> {
    let others: Vec<Others> =
        scene.given_way.iter().filter_map(|result| Others::on_server_host(result)).collect();
    let in_the_way = others.iter().filter(|others| others.were_in_the_way()).count();
    let processors = cpu(scene).filter(|_| cpu_quota(scene).is_none() && 2 * in_the_way > others.len());
    let of_server = scene.mean(StageResult::server_disk_share);
    let disk = device(scene).filter(|_| disk_caps(scene).is_none());
    let disk = disk.zip(of_server.filter(|share| *share < DISK_SHARE_FEW)).map(|(limit, share)| Limit {
        evidence: format!("{}; {} of its traffic was the server's", limit.evidence, format::share(share)),
        ..limit
    });
    processors.into_iter().chain(disk).collect()
}

/// A quota that is used up is the bound, whatever else runs on the machine.
pub(super) fn processors(scene: &Scene<'_>) -> Option<Limit> {
    cpu_quota(scene).or_else(|| cpu(scene))
}

/// The machine's processors: all that runs on it counts.
fn cpu(scene: &Scene<'_>) -> Option<Limit> {
    let busy = scene.mean(StageResult::busy_share).or_else(|| {
        let cpus = scene.read("cpus").or_else(|| scene.host?.cpus.map(f64::from))?;
        Some(scene.read("server_cpu_cores")? / cpus)
    });
    let busy = busy.filter(|busy| *busy >= FULL)?;
    let processors = scene.read("cpus").or_else(|| scene.host?.cpus.map(f64::from));
    let whose = processors.map_or_else(
        || "the host's processors".to_owned(),
        |cpus| format!("the host's {cpus:.0} processors"),
    );
    let parts: Vec<String> = [
        scene.read("server_cpu_cores").map(|cores| format!("the server took {} of them", amount(cores))),
        scene
            .read("driver_cpu_cores")
            .filter(|_| scene.target.is_some_and(|target| target.same_host == Some(true)))
            .map(|cores| format!("dyno {}", amount(cores))),
        others(scene, busy)
            .filter(|cores| *cores >= OTHERS_TOLD)
            .map(|cores| format!("other programs {}", amount(cores))),
        scene
            .read("cpu_steal_share")
            .filter(|share| *share >= STEAL_TOLD)
            .map(|share| format!("other machines {} of their time (steal)", format::share(share))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let parts = if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) };
    Some(limit(
        "cpu",
        busy,
        format!("{whose} were {} busy{}{parts}", format::share(busy), scene.before(StageResult::busy_share)),
    ))
}

/// Processors that neither the server nor dyno took, where both are known, nor other machines.
fn others(scene: &Scene<'_>, busy: f64) -> Option<f64> {
    let driver = match scene.target?.same_host? {
        true => scene.read("driver_cpu_cores")?,
        false => 0.0,
    };
    let stolen = scene.read("cpu_steal_share").unwrap_or(0.0);
    Some((busy - stolen) * scene.read("cpus")? - scene.read("server_cpu_cores")? - driver)
}

/// A cap on processors, which is nobody's end but its own: the server's control group, or the one that it shares with
/// dyno.
fn cpu_quota(scene: &Scene<'_>) -> Option<Limit> {
    of_its_own(scene).or_else(|| shared_with_dyno(scene))
}

fn of_its_own(scene: &Scene<'_>) -> Option<Limit> {
    let quota = scene.read("server_cgroup_cpus_limit").filter(|quota| *quota > 0.0)?;
    let used = |result: &StageResult| {
        result.reading("server_cgroup_cpu_cores").or_else(|| result.reading("server_cpu_cores"))
    };
    let share = scene.mean(used)? / quota;
    let throttled = scene.read("server_cgroup_throttled_share");
    let often = throttled.is_some_and(|throttled| throttled >= THROTTLED_OFTEN) && share >= THROTTLED_USED;
    (share >= FULL || often).then(|| {
        let held_back = throttled
            .filter(|throttled| *throttled > 0.0)
            .map(|throttled| format!("; it was held back in {} of the periods", format::share(throttled)))
            .unwrap_or_default();
        let cores = share * quota;
        let before = scene.before_as(used, amount);
        limit(
            "cpu-quota",
            share,
            format!(
                "the server's control group may use {} processors and used {}{before}{held_back}",
                amount(quota),
                amount(cores)
            ),
        )
    })
}

/// Only where the server has no group of its own.
fn shared_with_dyno(scene: &Scene<'_>) -> Option<Limit> {
    if scene.read("server_cgroup_cpu_cores").is_some() || scene.target?.same_host != Some(true) {
        return None;
    }
    let host = scene.host?;
    let quota = host.cpus_limit.filter(|limit| host.cpus.is_none_or(|cpus| *limit < f64::from(cpus)))?;
    let used = |result: &StageResult| {
        Some(result.reading("server_cpu_cores")? + result.reading("driver_cpu_cores").unwrap_or(0.0))
    };
    let cores = scene.mean(used)?;
    (cores / quota >= FULL).then(|| {
        let server = scene.read("server_cpu_cores").unwrap_or(cores);
        limit(
            "cpu-quota",
            cores / quota,
            format!(
                "server and dyno may use {} processors here and used {}{}; the server took {} of them",
                amount(quota),
                amount(cores),
                scene.before_as(used, amount),
                amount(server)
            ),
        )
    })
}

/// The device, or what the server's control group may ask of it.
pub(super) fn disk(scene: &Scene<'_>) -> Option<Limit> {
    disk_caps(scene).or_else(|| device(scene))
}

fn disk_caps(scene: &Scene<'_>) -> Option<Limit> {
    let moves = [("write", "bytes"), ("read", "bytes"), ("write", "operations"), ("read", "operations")];
    let caps = moves.into_iter().filter_map(|(way, unit)| disk_cap(scene, way, unit));
    caps.reduce(|fuller, other| if other.share > fuller.share { other } else { fuller })
}

fn disk_cap(scene: &Scene<'_>, way: &str, unit: &str) -> Option<Limit> {
    let key = format!("server_cgroup_disk_{way}_{unit}_per_s");
    let cap = scene.read(&format!("server_cgroup_disk_{way}_limit_{unit}")).filter(|cap| *cap > 0.0)?;
    let moved = scene.read(&key)?;
    let words = |per_s: f64| match unit {
        "bytes" => format::bytes(per_s as u64),
        _ => format!("{} operations", format::long(per_s)),
    };
    (moved / cap >= FULL).then(|| {
        let before = scene.before_as(|result| result.reading(&key), words);
        let evidence = format!(
            "the server's control group may {way} {} each second and came to {}{before}",
            words(cap),
            words(moved)
        );
        limit("disk", moved / cap, evidence)
    })
}

fn device(scene: &Scene<'_>) -> Option<Limit> {
    let busy = scene.read("disk_busy_share").filter(|busy| *busy >= FULL)?;
    let before = scene.before(|result| result.reading("disk_busy_share"));
    let queue = scene
        .read("disk_queue_operations")
        .map(|queue| format!("; {} operations were under way on average", amount(queue)))
        .unwrap_or_default();
    let time = scene.read("disk_await_seconds").map_or_else(String::new, |seconds| {
        let before = scene.before_as(
            |result| result.reading("disk_await_seconds"),
            |seconds| format::latency_us(seconds * 1e6),
        );
        format!("; one took {}{before}", format::latency_us(seconds * 1e6))
    });
    Some(limit(
        "disk",
        busy,
        format!("the disk was busy for {} of the time{before}{queue}{time}", format::share(busy)),
    ))
}

pub(super) fn memory(scene: &Scene<'_>) -> Option<Limit> {
    of_machine(scene).or_else(|| of_group(scene))
}

fn of_machine(scene: &Scene<'_>) -> Option<Limit> {
    let left = |result: &StageResult| {
        let total = result.reading("memory_total_bytes").filter(|total| *total > 0.0)?;
        Some(result.reading("memory_available_bytes")? / total)
    };
    let share = scene.mean(left).filter(|left| *left <= MEMORY_LEFT)?;
    let swap = scene
        .read("swap_used_bytes")
        .filter(|used| *used > 0.0)
        .map(|used| format!("; {} were swapped out", format::bytes(used as u64)))
        .unwrap_or_default();
    let evidence =
        format!("{} of the host's memory were left{}{swap}", format::share(share), scene.before(left));
    Some(limit("memory", 1.0 - share, evidence))
}

fn of_group(scene: &Scene<'_>) -> Option<Limit> {
    let cap = scene.read("server_cgroup_memory_limit_bytes").filter(|cap| *cap > 0.0)?;
    let used = scene.read("server_cgroup_memory_bytes")?;
    let waited = scene.read("pressure_memory_share").filter(|waited| *waited >= MEMORY_PRESSURE)?;
    (used / cap >= 1.0 - MEMORY_LEFT).then(|| {
        limit(
            "memory",
            used / cap,
            format!(
                "the server's control group used {} of the {} that it may; for {} of the time something waited for memory",
                format::bytes(used as u64),
                format::bytes(cap as u64),
                format::share(waited)
            ),
        )
    })
}
