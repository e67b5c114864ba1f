//! Finds the step of a ramp at which a target was saturated: more load brought no more throughput while latency rose,
//! transactions began to fail, or the rate asked for was no longer met.
//!
//! A pure function of the steps. A campaign asks it behind each step whether to end a ramp, and the report where it
//! ended. A sign must stand at a step and at [`BEYOND_MIN`] steps beyond it at least, and for [`BEYOND_S_MIN`] seconds: a
//! machine has neighbours, and one slow step is no limit. Where it is known that they took the processors from the server, a
//! step is no evidence of its limit at all. What it rests on, and why these figures, is told in `docs/saturation.md`.

mod flat;

use crate::document::{Estimate, SHORTFALL, SaturationSign, StageResult};
use crate::format;
use crate::others::IDLE_ENOUGH;

/// Steps beyond the one at which a target was saturated that must show the same.
pub const BEYOND_MIN: usize = 2;
/// Seconds of load beyond it that must show the same. What disturbs a machine lasts for seconds, however many steps are put
/// into them. Two steps of three seconds are the shortest of which is known how much throughput varied within them: where
/// it is not known, there must be as much to see.
pub const BEYOND_S_MIN: f64 = 6.0;
/// So much more of the host's processor time was taken by others than in the steps in which they took least, and so many
/// times as much for each transaction: then it was they who slowed the server down. What they take throughout is what the
/// machine is like, and what they take of each transaction is done for the server.
pub const TAKEN_MORE: f64 = 0.15;
pub const TAKEN_GROWTH: f64 = 3.0;
/// Failed transactions from this share on are a sign, as they are a doubt of the figures.
pub const FAILED_SHARE: f64 = 0.01;
/// Failures that were there from the beginning are none of the load's: they must have become so many times as many.
pub const FAILED_GROWTH: f64 = 3.0;
/// Arrivals vary by themselves: standard deviations of their number that are let pass.
pub const SHORTFALL_DEVIATIONS: f64 = 4.0;

/// One step of a ramp that ran to its end, as it is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStep {
    /// The stage's id.
    pub stage: u32,
    pub clients: u32,
    /// The rate asked for, of an open load.
    pub rate_per_s: Option<f64>,
    /// Transactions per second.
    pub throughput: Estimate,
    /// Of the response time in an open loop or over a pool, else of the service time.
    pub p99_us: Option<f64>,
    /// Transactions that ended well.
    pub done: u64,
    /// Those that failed for good, or of which the outcome is not known.
    pub failed: u64,
    /// Of the server's host; `None` where it is not known.
    pub processors: Option<Processors>,
}

/// Who had the processor time of a server's host in a step, as shares of all of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processors {
    /// Other programs, and other machines of its hypervisor.
    pub taken_share: f64,
    /// Nobody: while there is some, other programs keep nobody from it.
    pub idle_share: f64,
}

/// Where a ramp was saturated.
#[derive(Debug, Clone, PartialEq)]
pub struct SaturationPoint {
    /// Index of the first step from which on more load brought no more.
    pub at: usize,
    /// Index of the step before it, which was still good; `None` where the first was not.
    pub last_good: Option<usize>,
    pub sign: SaturationSign,
    /// One sentence with the figures that decided it.
    pub evidence: String,
}

/// Where a ramp was saturated; `None` where it was not, or has too few steps to say. The steps may stand in any order.
pub fn decide(steps: &[LoadStep]) -> Option<SaturationPoint> {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by(|left, right| steps[*left].load().total_cmp(&steps[*right].load()));
    let open = steps.iter().all(|step| step.rate_per_s.is_some());
    // Whoever took the processors made nothing fail that would not fail by itself.
    let failing = errors(&rising(steps, &order)).map(|sign| sign.placed(&order));
    let known = order.iter().copied().filter(|index| steps[*index].throughput.is_known_within_two());
    let (disturbed, undisturbed): (Vec<usize>, Vec<usize>) =
        known.partition(|index| disturbed(steps, *index));
    let left = rising(steps, &undisturbed);
    let slow = if open { rate_not_met(&left) } else { flat::find(&left) };
    let slow = slow.map(|sign| sign.without(disturbed.len()).placed(&undisturbed));
    // The earliest counts, and of two at one step the one that needs no comparison.
    let load = |found: &SaturationPoint| steps[found.at].load();
    [failing, slow]
        .into_iter()
        .flatten()
        .reduce(|first, other| if load(&other) < load(&first) { other } else { first })
}

fn rising<'a>(steps: &'a [LoadStep], order: &[usize]) -> Vec<&'a LoadStep> {
    order.iter().map(|index| &steps[*index]).collect()
}

/// Whether others took more of the processors than they did in the steps in which they took least. One of these may have been
/// read badly: the second lowest counts.
fn disturbed(steps: &[LoadStep], index: usize) -> bool {
    let least = |of: &dyn Fn(&LoadStep) -> Option<f64>| {
        let mut all: Vec<f64> = steps.iter().filter_map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(1).copied()
    };
    let taken = |step: &LoadStep| Some(step.processors?.taken_share);
    let for_each = |step: &LoadStep| Some(taken(step)? / step.throughput.mean);
    let more = taken(&steps[index]).zip(least(&taken));
    let growth = for_each(&steps[index]).zip(least(&for_each));
    steps[index].processors.is_some_and(|of_host| of_host.idle_share < IDLE_ENOUGH)
        && more.is_some_and(|(taken, least)| taken - least >= TAKEN_MORE)
        && growth.is_some_and(|(taken, least)| taken >= TAKEN_GROWTH * least)
}

impl SaturationPoint {
    /// At the step with this index.
    fn new(at: usize, sign: SaturationSign, evidence: String) -> Self {
        Self { at, last_good: at.checked_sub(1), sign, evidence }
    }

    /// Steps that were not looked at are told.
    fn without(mut self, left_out: usize) -> Self {
        if left_out > 0 {
            let were = if left_out == 1 { "was" } else { "were" };
            self.evidence.push_str(&format!(
                "; {} in which others took the processors {were} left out",
                format::counted(left_out as u64, "step")
            ));
        }
        self
    }

    /// The same among all steps, of which `order` are those that were looked at.
    fn placed(self, order: &[usize]) -> Self {
        Self { at: order[self.at], last_good: self.last_good.map(|before| order[before]), ..self }
    }
}

impl Processors {
    pub fn of(result: &StageResult) -> Option<Self> {
        let idle_share = result.busy_share().map_or(0.0, |busy| 1.0 - busy);
        Some(Self { taken_share: result.cpu_taken_share?, idle_share })
    }
}

impl LoadStep {
    /// A stage as a step. `None` where it was cut short or is under way, which is no evidence for or against anything.
    pub fn of(result: &StageResult) -> Option<Self> {
        Some(Self {
            stage: result.stage.id,
            clients: result.stage.clients,
            rate_per_s: result.stage.rate_per_s(),
            throughput: result.throughput.filter(|_| result.complete)?,
            p99_us: result.latency().map(|latency| latency.p99_us),
            done: result.totals.done,
            failed: result.totals.failed + result.totals.unknown,
            processors: Processors::of(result),
        })
    }

    /// What was raised: clients, or the rate asked for.
    pub(crate) fn load(&self) -> f64 {
        self.rate_per_s.unwrap_or_else(|| f64::from(self.clients))
    }

    /// `40 clients`, `9,000/s`
    pub(crate) fn words(&self) -> String {
        self.rate_per_s
            .map_or_else(|| format::clients(self.clients), |per_s| format!("{}/s", format::long(per_s)))
    }

    /// How long its load lasted.
    fn seconds(&self) -> f64 {
        match self.done {
            // Its slices are of a second each.
            0 => f64::from(self.throughput.samples),
            done => done as f64 / self.throughput.mean,
        }
    }

    fn failed_share(&self) -> f64 {
        let ended = self.done + self.failed;
        if ended == 0 { 0.0 } else { self.failed as f64 / ended as f64 }
    }

    /// Transactions that ended in any way, each second. One that failed was begun in time all the same.
    fn ended_per_s(&self) -> f64 {
        match self.done {
            0 => 0.0,
            done => self.throughput.mean * (1.0 + self.failed as f64 / done as f64),
        }
    }

    /// Share of the arrivals that did not end, where it is more than chance.
    fn shortfall(&self) -> Option<f64> {
        let due_per_s = self.rate_per_s.filter(|due_per_s| *due_per_s > 0.0)?;
        if self.done == 0 {
            return (self.failed == 0).then_some(1.0);
        }
        let due = due_per_s * self.done as f64 / self.throughput.mean;
        let missing = 1.0 - self.ended_per_s() / due_per_s;
        (missing > SHORTFALL.max(SHORTFALL_DEVIATIONS / due.sqrt())).then_some(missing)
    }
}

/// The first step from which on every one is as `is_so` says, where enough of them are.
fn from_which_on(steps: &[&LoadStep], is_so: impl Fn(&LoadStep) -> bool) -> Option<usize> {
    let at = steps.iter().rposition(|step| !is_so(step)).map_or(0, |last| last + 1);
    (steps.len().saturating_sub(at) > BEYOND_MIN).then_some(at)
}

/// A step of two seconds is a little shorter where it is measured.
fn lasted(seconds: f64, least_s: f64) -> bool {
    seconds >= 0.95 * least_s
}

fn errors(steps: &[&LoadStep]) -> Option<SaturationPoint> {
    // The least of the first steps: one of them may have met something that was none of the load's.
    let usual = steps.iter().take(BEYOND_MIN + 1).map(|step| step.failed_share()).reduce(f64::min)?;
    let from = FAILED_SHARE.max(FAILED_GROWTH * usual);
    let at = from_which_on(steps, |step| step.failed_share() >= from)?;
    let (first, last) = (steps[at], steps.last()?);
    let before = at
        .checked_sub(1)
        .map(|before| {
            format!(", against {} at {}", format::share(steps[before].failed_share()), steps[before].words())
        })
        .unwrap_or_default();
    let evidence = format!(
        "from {} on transactions failed: {} of them there and {} at {}{before}",
        first.words(),
        format::share(first.failed_share()),
        format::share(last.failed_share()),
        last.words()
    );
    Some(SaturationPoint::new(at, SaturationSign::Errors, evidence))
}

fn rate_not_met(steps: &[&LoadStep]) -> Option<SaturationPoint> {
    let at = from_which_on(steps, |step| step.shortfall().is_some())
        .filter(|at| lasted(steps[at + 1..].iter().map(|step| step.seconds()).sum(), BEYOND_S_MIN))?;
    let (first, last) = (steps[at], steps.last()?);
    let before = at
        .checked_sub(1)
        .map(|before| format!("; {} was still met", steps[before].words()))
        .unwrap_or_default();
    let evidence = format!(
        "of {} asked for {}/s ended ({} are missing), and of {} {}/s{before}",
        first.words(),
        format::long(first.ended_per_s()),
        format::share(first.shortfall()?),
        last.words(),
        format::long(last.ended_per_s())
    );
    Some(SaturationPoint::new(at, SaturationSign::RateNotMet, evidence))
}

#[cfg(test)]
mod tests;
