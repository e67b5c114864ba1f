//! `shared-host`: driver and server, or two servers, took processors from each other.

use std::collections::{HashMap, HashSet};

use super::evidence::{driver_cores, loads, shared_cpus};
use crate::document::{Report, StageResult};
use crate::event::{Code, Finding, Severity, Subject, Target};
use crate::finding::Facts;
use crate::words::list;

/// With less than this share of the processors, the driver takes little from the server.
const DRIVER_SHARE_SMALL: f64 = 0.05;

/// Servers that are named; of more, how many there are.
const NAMES_SHOWN: usize = 8;

/// Places of the machines that a system's server is on, by the system's name: of hundreds of systems each is asked for beside
/// each other.
struct Machines<'a>(HashMap<&'a str, HashSet<usize>>);

impl<'a> Machines<'a> {
    fn new(report: &'a Report) -> Self {
        let mut hosts: HashMap<&str, HashSet<usize>> = HashMap::new();
        for (at, host) in report.hosts.iter().enumerate() {
            host.roles.iter().for_each(|role| _ = hosts.entry(role).or_default().insert(at));
        }
        Self(hosts)
    }

    /// Whether a machine is known that both systems' servers are on.
    fn on_one_host(&self, one: &str, other: &str) -> bool {
        let hosts = self.0.get(one).zip(self.0.get(other));
        hosts.is_some_and(|(one, other)| !one.is_disjoint(other))
    }
}

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let machines = Machines::new(report);
    report
        .targets
        .iter()
        .filter_map(|target| {
            let neighbours = neighbours(report, target, &machines);
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
    let machines = Machines::new(report);
    let is_loaded = |target| together(report, target, &neighbours(report, target, &machines));
    report.target(target).is_some_and(is_loaded)
}

/// Driver and server on one host, and maybe other servers with them.
fn with_driver<'a>(report: &'a Report, target: &'a Target, neighbours: &[&'a Target]) -> Finding {
    let cpus = shared_cpus(report, &target.name).filter(|cpus| *cpus > 0.0);
    let server = target.server.as_str();
    // The stage in which the driver took most counts, of all systems that are on the server.
    let cores = loads(report)
        .into_iter()
        .filter(|(series, _)| report.server(&series.target) == Some(server))
        .filter_map(|(_, result)| driver_cores(result))
        .reduce(f64::max);
    let share = cpus.zip(cores).map(|(cpus, cores)| cores / cpus);
    let is_other = |other: &Target| other.server != server;
    let who = match report.targets.iter().any(is_other) {
        true => format!("driver and {server}"),
        false => "driver and server".to_owned(),
    };
    let mut facts = Facts::default();
    let evidence = match (cpus, share) {
        (Some(cpus), Some(share)) => format!(
            "{who} share {}; the driver took {} of them",
            processors(cpus, &mut facts),
            facts.share("driver_share", share)
        ),
        (Some(cpus), None) => {
            format!("{who} share {}; what the driver took is not known", processors(cpus, &mut facts))
        }
        (None, _) => format!("{who} share a host; how many processors it has is not known"),
    };
    let small = share.is_some_and(|share| share < DRIVER_SHARE_SMALL);
    let together = together(report, target, neighbours);
    Finding::new(
        (Code::SharedHost, if small && !together { Severity::Note } else { Severity::Doubt }),
        Subject::of_system(&target.name),
        format!("{evidence}{}", beside(&names(neighbours), together, &mut facts)),
        "run dyno on another machine near the server to measure the server alone; compare only with \
                 results of the same arrangement",
        facts,
    )
}

/// Servers that share a host of which the driver is no part.
fn with_servers<'a>(report: &'a Report, target: &'a Target, neighbours: &[&'a Target]) -> Finding {
    let mut facts = Facts::default();
    let cpus = shared_cpus(report, &target.name);
    let cpus = cpus.map_or_else(|| "a host".to_owned(), |cpus| processors(cpus, &mut facts));
    let together = together(report, target, neighbours);
    let others = names(neighbours);
    let names = [&[target.server.as_str()], others.as_slice()].concat();
    Finding::new(
        (Code::SharedHost, if together { Severity::Doubt } else { Severity::Note }),
        Subject::of_system(&target.name),
        format!("{} share {cpus}{}", told(&names), beside(&others, together, &mut facts)),
        "give each server a machine of its own, or measure each in a run of its own with the others stopped, and compare the runs",
        facts,
    )
}

/// Systems on other servers of the same host.
fn neighbours<'a>(report: &'a Report, target: &'a Target, machines: &Machines<'a>) -> Vec<&'a Target> {
    let one_host =
        |other: &Target| target.shares_host_with(other) || machines.on_one_host(&target.name, &other.name);
    let is_other = |other: &&Target| other.server != target.server;
    report.targets.iter().filter(is_other).filter(|other| one_host(other)).collect()
}

/// The servers of these systems, each once.
fn names<'a>(systems: &[&'a Target]) -> Vec<&'a str> {
    let mut names: Vec<&str> = systems.iter().map(|target| target.server.as_str()).collect();
    names.dedup();
    names
}

/// The names in a sentence: of hundreds of servers each has hundreds of neighbours.
fn told(names: &[&str]) -> String {
    if names.len() <= NAMES_SHOWN {
        return list(names);
    }
    let rest = format!("{} others", names.len() - (NAMES_SHOWN - 1));
    list(&[&names[..NAMES_SHOWN - 1], &[rest.as_str()]].concat())
}

/// A server takes part in what is measured of its neighbour even while nobody asks it anything.
fn beside(names: &[&str], together: bool, facts: &mut Facts) -> String {
    facts.names(if together { "loaded_beside" } else { "beside" }, names);
    match (names.is_empty(), together) {
        (true, _) => String::new(),
        (false, true) => format!("; {} ran there under load at the same time", told(names)),
        (false, false) => {
            format!("; {} also ran there, without load, with its memory and its background work", told(names))
        }
    }
}

/// Whether loads of the two ran at the same time.
fn together<'a>(report: &'a Report, target: &'a Target, neighbours: &[&'a Target]) -> bool {
    let overlap = |left: &StageResult, right: &StageResult| {
        left.start_s < right.start_s + right.seconds && right.start_s < left.start_s + left.seconds
    };
    let neighbours: HashSet<&str> = neighbours.iter().map(|other| other.name.as_str()).collect();
    let is_neighbour = |result: &&StageResult| neighbours.contains(result.stage.key.system.as_str());
    let is_own = |result: &&StageResult| report.server(&result.stage.key.system) == Some(&target.server);
    let own: Vec<&StageResult> = report.stages.iter().filter(is_own).collect();
    report.stages.iter().filter(is_neighbour).any(|other| own.iter().any(|own| overlap(own, other)))
}

fn processors(cpus: f64, facts: &mut Facts) -> String {
    facts.cores("processors", cpus);
    match cpus {
        _ if (cpus - 1.0).abs() < f64::EPSILON => "1 processor".to_owned(),
        _ if cpus.fract() == 0.0 => format!("{cpus:.0} processors"),
        _ => format!("{cpus:.1} processors"),
    }
}
