//! dyno's own bound: then the server may be capable of more.

use super::{FULL, Scene, limit};
use crate::document::{Limit, StageResult};
use crate::format;

pub(super) fn driver(scene: &Scene<'_>) -> Option<Limit> {
    let thread = |result: &StageResult| result.driver_thread_busy_max;
    let machine = |result: &StageResult| {
        let idle = result.reading("driver.cpu_idle_share")?;
        Some(1.0 - idle - result.reading("driver.cpu_iowait_share").unwrap_or(0.0))
    };
    if let Some(busy) = scene.mean(thread).filter(|busy| *busy >= FULL) {
        let evidence = format!(
            "dyno's busiest thread was on a processor for {} of the time{}",
            format::share(busy),
            scene.before(thread)
        );
        return Some(limit("driver", busy, evidence));
    }
    let busy = scene.mean(machine).filter(|busy| *busy >= FULL)?;
    let evidence = format!(
        "the processors of dyno's own machine were {} busy{}",
        format::share(busy),
        scene.before(machine)
    );
    Some(limit("driver", busy, evidence))
}
