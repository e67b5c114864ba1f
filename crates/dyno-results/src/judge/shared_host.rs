//! `shared-host`: driver and server took processors from each other.

use super::evidence::{driver_cores, loads, shared_cpus};
use super::words::percent;
use crate::document::Report;
use crate::event::{Finding, Severity, Target};

/// With less than this share of the processors, the driver takes little from the server.
const DRIVER_SHARE_SMALL: f64 = 0.05;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report
        .targets
        .iter()
        .filter(|target| target.same_host == Some(true))
        .map(|target| judge_target(report, target))
        .collect()
}

fn judge_target(report: &Report, target: &Target) -> Finding {
    let cpus = shared_cpus(report, &target.name).filter(|cpus| *cpus > 0.0);
    // The stage in which the driver took most counts.
    let cores = loads(report)
        .into_iter()
        .filter(|(series, _)| series.target == target.name)
        .filter_map(|(_, result)| driver_cores(report, result))
        .reduce(f64::max);
    let share = cpus.zip(cores).map(|(cpus, cores)| cores / cpus);
    let evidence = match (cpus, share) {
        (Some(cpus), Some(share)) => {
            format!(
                "driver and server share {}; the driver took {} of them",
                processors(cpus),
                percent(share)
            )
        }
        (Some(cpus), None) => {
            format!("driver and server share {}; what the driver took is not known", processors(cpus))
        }
        (None, _) => "driver and server share a host; how many processors it has is not known".to_owned(),
    };
    let small = share.is_some_and(|share| share < DRIVER_SHARE_SMALL);
    Finding {
        code: "shared-host".to_owned(),
        severity: if small { Severity::Note } else { Severity::Doubt },
        about: Some(target.name.clone()),
        evidence,
        advice: "run dyno on another machine near the server to see what the server does alone; compare only with \
                 results taken in the same arrangement"
            .to_owned(),
    }
}

fn processors(cpus: f64) -> String {
    match cpus {
        _ if (cpus - 1.0).abs() < f64::EPSILON => "1 processor".to_owned(),
        _ if cpus.fract() == 0.0 => format!("{cpus:.0} processors"),
        _ => format!("{cpus:.1} processors"),
    }
}
