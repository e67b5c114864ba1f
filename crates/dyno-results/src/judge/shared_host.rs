//! `shared-host`: driver and server, or two servers, took processors from each other.

use super::evidence::{driver_cores, loads, shared_cpus};
use crate::document::{Report, StageResult};
use crate::event::{Finding, Severity, Subject, Target};
use crate::format;
use crate::words::list;

/// With less than this share of the processors, the driver takes little from the server.
const DRIVER_SHARE_SMALL: f64 = 0.05;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report
        .targets
        .iter()
        .filter_map(|target| {
            let neighbours = neighbours(report, target);
            // Of a library in dyno's process nothing is another's.
            if target.same_host == Some(true) && !target.in_process {
                return Some(with_driver(report, target, &neighbours));
            }
            (!neighbours.is_empty()).then(|| with_servers(report, target, &neighbours))
        })
        .collect()
}

/// Whether another server on a target's host ran under load while it did.
pub(super) fn is_loaded_beside(report: &Report, target: &str) -> bool {
    report.target(target).is_some_and(|target| together(report, target, &neighbours(report, target)))
}

/// Driver and server on one host, and maybe other servers with them.
fn with_driver(report: &Report, target: &Target, neighbours: &[&Target]) -> Finding {
    let cpus = shared_cpus(report, &target.name).filter(|cpus| *cpus > 0.0);
    let server = report.server_of(&target.name);
    // The stage in which the driver took most counts, of all systems that are on the server.
    let cores = loads(report)
        .into_iter()
        .filter(|(series, _)| report.server_of(&series.target) == server)
        .filter_map(|(_, result)| driver_cores(result))
        .reduce(f64::max);
    let share = cpus.zip(cores).map(|(cpus, cores)| cores / cpus);
    let is_other = |other: &Target| report.server_of(&other.name) != server;
    let who = match report.targets.iter().any(is_other) {
        true => format!("driver and {server}"),
        false => "driver and server".to_owned(),
    };
    let evidence = match (cpus, share) {
        (Some(cpus), Some(share)) => {
            format!("{who} share {}; the driver took {} of them", processors(cpus), format::share(share))
        }
        (Some(cpus), None) => {
            format!("{who} share {}; what the driver took is not known", processors(cpus))
        }
        (None, _) => format!("{who} share a host; how many processors it has is not known"),
    };
    let small = share.is_some_and(|share| share < DRIVER_SHARE_SMALL);
    let together = together(report, target, neighbours);
    Finding {
        code: "shared-host".to_owned(),
        severity: if small && !together { Severity::Note } else { Severity::Doubt },
        subject: Subject::of_target(&target.name),
        evidence: format!("{evidence}{}", beside(&servers(report, neighbours), together)),
        advice: "run dyno on another machine near the server to measure the server alone; compare only with \
                 results of the same arrangement"
            .to_owned(),
    }
}

/// Servers that share a host of which the driver is no part.
fn with_servers(report: &Report, target: &Target, neighbours: &[&Target]) -> Finding {
    let cpus = shared_cpus(report, &target.name).map_or_else(|| "a host".to_owned(), processors);
    let together = together(report, target, neighbours);
    let others = servers(report, neighbours);
    let names = [&[report.server_of(&target.name)], others.as_slice()].concat();
    Finding {
        code: "shared-host".to_owned(),
        severity: if together { Severity::Doubt } else { Severity::Note },
        subject: Subject::of_target(&target.name),
        evidence: format!("{} share {cpus}{}", list(&names), beside(&others, together)),
        advice: "give each server a machine of its own, or measure each in a run of its own with the others stopped, and compare the runs"
            .to_owned(),
    }
}

/// Systems on other servers of the same host.
fn neighbours<'a>(report: &'a Report, target: &Target) -> Vec<&'a Target> {
    let has_role = |roles: &[String], name: &str| roles.iter().any(|role| role == name);
    let one_host = |other: &Target| {
        let one = report
            .hosts
            .iter()
            .any(|host| has_role(&host.roles, &target.name) && has_role(&host.roles, &other.name));
        target.shares_host_with(other) || one
    };
    let is_other = |other: &&Target| report.server_of(&other.name) != report.server_of(&target.name);
    report.targets.iter().filter(is_other).filter(|other| one_host(other)).collect()
}

/// The servers of these systems, each once.
fn servers<'a>(report: &'a Report, systems: &[&'a Target]) -> Vec<&'a str> {
    let mut names: Vec<&str> = systems.iter().map(|target| report.server_of(&target.name)).collect();
    names.dedup();
    names
}

/// A server takes part in what is measured of its neighbour even while nobody asks it anything.
fn beside(names: &[&str], together: bool) -> String {
    match (names.is_empty(), together) {
        (true, _) => String::new(),
        (false, true) => format!("; {} ran there under load at the same time", list(names)),
        (false, false) => {
            format!("; {} also ran there, without load, with its memory and its background work", list(names))
        }
    }
}

/// Whether loads of the two ran at the same time.
fn together(report: &Report, target: &Target, neighbours: &[&Target]) -> bool {
    let overlap = |left: &StageResult, right: &StageResult| {
        left.start_s < right.start_s + right.seconds && right.start_s < left.start_s + left.seconds
    };
    let is_neighbour =
        |result: &&StageResult| neighbours.iter().any(|other| other.name == result.stage.target);
    let server = report.server_of(&target.name);
    let own = || report.stages.iter().filter(|result| report.server_of(&result.stage.target) == server);
    report.stages.iter().filter(is_neighbour).any(|other| own().any(|own| overlap(own, other)))
}

fn processors(cpus: f64) -> String {
    match cpus {
        _ if (cpus - 1.0).abs() < f64::EPSILON => "1 processor".to_owned(),
        _ if cpus.fract() == 0.0 => format!("{cpus:.0} processors"),
        _ => format!("{cpus:.1} processors"),
    }
}
