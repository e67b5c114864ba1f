//! The peak of a ladder over clients: where it is, how sure that is, and whether the ladder has gone past it.
//!
//! The interval of a rung says how throughput varied within it, and nothing of what differs from one rung to the
//! next (a checkpoint, another tenant). No rung is therefore taken to be known better than [`UNCERTAINTY_MIN`].

use crate::document::{Estimate, Peak};

/// Least half-width of a rung when rungs are compared, share of its mean.
pub const UNCERTAINTY_MIN: f64 = 0.01;
/// Half-width where a rung was too short to have one, share of its mean.
pub const UNCERTAINTY_UNKNOWN: f64 = 0.05;
/// A mean this much higher is taken for a rise even where wide intervals overlap: one rung too many costs seconds,
/// one too few costs the peak.
pub const RISE_MIN: f64 = 0.05;
/// Rungs without a rise after which throughput is taken to rise no more.
pub const FLAT_RUNGS: usize = 2;

/// One rung of a ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rung {
    /// The stage's id.
    pub stage: u32,
    pub clients: u32,
    pub throughput: Estimate,
}

/// Whether a ladder under way should go on to more clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Throughput may still rise.
    Continue,
    /// The peak has been passed, for this reason.
    Stop(Passed),
}

/// Why a peak counts as passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// A higher client count was slower, and the intervals do not overlap.
    ClearlySlower,
    /// Two further rungs brought no rise.
    NoFurtherRise,
}

/// Says whether a ladder should go on, from its rungs so far. The order does not matter; rungs that were cut short
/// are to be left out.
#[must_use]
pub fn decide(rungs: &[Rung]) -> Decision {
    match passed(&ascending(rungs)) {
        Some(passed) => Decision::Stop(passed),
        None => Decision::Continue,
    }
}

/// The peak of a ladder: the rung with the highest mean. `None` without rungs.
///
/// Being the highest of several noisy means, the peak's own is a little too high on average; a hold at the same
/// client count says what is sustained.
#[must_use]
pub fn peak(rungs: &[Rung]) -> Option<Peak> {
    let rungs = ascending(rungs);
    let best = highest(&rungs)?;
    let mut clients_indistinguishable: Vec<u32> =
        rungs.iter().filter(|rung| upper(rung) >= lower(best)).map(|rung| rung.clients).collect();
    clients_indistinguishable.dedup();
    Some(Peak {
        stage: best.stage,
        clients: best.clients,
        throughput: best.throughput,
        clients_indistinguishable,
        passed: passed(&rungs).is_some(),
    })
}

fn ascending(rungs: &[Rung]) -> Vec<Rung> {
    let mut rungs = rungs.to_vec();
    rungs.sort_by_key(|rung| (rung.clients, rung.stage));
    rungs
}

/// The first of the rungs with the highest mean.
fn highest(rungs: &[Rung]) -> Option<&Rung> {
    rungs.iter().reduce(|best, rung| if rung.throughput.mean > best.throughput.mean { rung } else { best })
}

fn passed(rungs: &[Rung]) -> Option<Passed> {
    let best = highest(rungs)?;
    if rungs.iter().any(|rung| rung.clients > best.clients && upper(rung) < lower(best)) {
        return Some(Passed::ClearlySlower);
    }
    let flat_from = |rung: &Rung| {
        let mut further = rungs.iter().filter(|other| other.clients > rung.clients).peekable();
        let enough = further.clone().count() >= FLAT_RUNGS;
        enough && further.all(|other| !rises(rung, other))
    };
    rungs.iter().any(flat_from).then_some(Passed::NoFurtherRise)
}

/// Whether `after` is higher than `before`: clearly, or by so much that it would be rash to say it is not.
fn rises(before: &Rung, after: &Rung) -> bool {
    lower(after) > upper(before) || after.throughput.mean > before.throughput.mean * (1.0 + RISE_MIN)
}

fn lower(rung: &Rung) -> f64 {
    rung.throughput.mean - uncertainty(&rung.throughput)
}

fn upper(rung: &Rung) -> f64 {
    rung.throughput.mean + uncertainty(&rung.throughput)
}

fn uncertainty(estimate: &Estimate) -> f64 {
    match estimate.half_width {
        Some(half_width) => half_width.max(UNCERTAINTY_MIN * estimate.mean),
        None => UNCERTAINTY_UNKNOWN * estimate.mean,
    }
}
