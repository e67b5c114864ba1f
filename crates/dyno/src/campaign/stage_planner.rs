//! Plans the stages of a series: the warm-up, the ladder or ramp, the hold. Pure: what was measured goes in, the next
//! load comes out. So targets can take turns in any order, and each has its own course.

use std::time::Duration;

use dyno_results::event::StageKind;
use dyno_results::spec::{Arrivals, Course, End, Quantity, Ramp, Rungs, StageOrder};
use dyno_results::statistics::peak::{passed, peak};
use dyno_results::statistics::saturation::{self, LoadStep, SaturationPoint};
use dyno_workload::benchmark::Contention;

use super::room::{self, Room, WARM_UP_CLIENTS_PER_CPU};
use super::stages::StageSum;

/// Clients for each processor up to which an automatic ladder goes on even where they wait for each other: a ladder
/// that ended lower would say little of the machine.
const CLIENTS_PER_CPU_MIN: u32 = 2;

/// What a ladder or ramp has before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Expected {
    /// Steps, all that there can be.
    pub(super) steps: u32,
    /// How long one lasts.
    pub(super) step: Duration,
    /// True where it ends before its last step if the target is saturated or its peak is passed.
    pub(super) may_end_early: bool,
}

/// Decides the stages of one series on one target, in their order.
#[derive(Debug)]
pub(super) struct StagePlanner<'a> {
    course: &'a Course,
    warm_up: Duration,
    /// Transactions of a pass, where the warm-up is one.
    pass: Option<u64>,
    /// How often the hold is run.
    repeat: u32,
    capacity: Capacity,
    phase: Phase,
    /// Why the ladder or ramp ended where it did, if the reader should know; until it is taken.
    remark: Option<String>,
}

/// How much load a target can take, as it says itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    /// Processors of the driver's host.
    pub(super) cpus: u32,
    pub(super) room: Room,
    pub(super) contention: Option<Contention>,
    /// The clients of a load that nobody chose, where the workload says how many it has.
    pub(super) terminals: Option<u32>,
    /// Connections that the clients share.
    pub(super) connections: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Steps,
    /// So many holds have been planned.
    Hold(u32),
}

impl<'a> StagePlanner<'a> {
    pub(super) fn new(course: &'a Course, warm_up: Duration, repeat: u32, capacity: Capacity) -> Self {
        Self { course, warm_up, pass: None, repeat, capacity, phase: Phase::WarmUp, remark: None }
    }

    /// Warms up with a pass of so many transactions of each client, where there is one.
    pub(super) fn with_pass(self, pass: Option<u64>) -> Self {
        Self { pass, ..self }
    }

    /// The next stage after those that were `measured`; `None` where the series is over.
    pub(super) fn next(&mut self, measured: &[StageSum]) -> Option<StageOrder> {
        if self.phase == Phase::WarmUp {
            self.phase = Phase::Steps;
            if !self.warm_up.is_zero() {
                return Some(self.warm_up());
            }
        }
        if self.phase == Phase::Steps {
            if let Some(rung) = self.rung(measured) {
                return Some(rung);
            }
            self.remark_idle_connections(measured);
            self.phase = Phase::Hold(0);
        }
        let Phase::Hold(planned) = self.phase else { return None };
        self.phase = Phase::Hold(planned.saturating_add(1));
        if planned < self.repeat || self.course.ends_with_others() { self.hold(measured) } else { None }
    }

    /// Why the ladder or ramp ended, once.
    pub(super) fn take_remark(&mut self) -> Option<String> {
        self.remark.take()
    }

    /// Where the ladder or ramp ended with fewer clients than the pool has connections, no client ever waited for one,
    /// though a pool is asked for to see them wait. Where the plan itself names fewer clients, that was told before.
    fn remark_idle_connections(&mut self, measured: &[StageSum]) {
        let most = rungs_of(measured).map(|sum| sum.order.clients).max();
        let (Some(connections), Some(most)) = (self.capacity.connections, most) else { return };
        if most >= connections || self.course.clients_named().is_some_and(|named| named < connections) {
            return;
        }
        let why = format!(
            "the load reached {most} clients, fewer than the {connections} connections that they share: no \
             client ever waited for a connection (--connections)"
        );
        self.remark = Some(match self.remark.take() {
            Some(remark) => format!("{remark}; {why}"),
            None => why,
        });
    }

    /// How far the ladder or ramp may go, for those who watch.
    pub(super) fn expected(&self) -> Option<Expected> {
        let (steps, step, may_end_early) = match self.course {
            Course::Ladder { rungs: Rungs::Listed(rungs), step, .. } => (rungs.len() as u32, step, false),
            Course::Ladder { rungs: Rungs::Automatic { factor, max }, step, .. } => {
                let top = self.top(*max);
                let rungs = std::iter::successors(Some(self.first(*max)), |clients| {
                    (*clients < top).then(|| clients.saturating_mul(*factor).min(top))
                });
                (rungs.count() as u32, step, true)
            }
            Course::Ramp(ramp) => (ramp.steps.count_to(ramp.steps.end?), &ramp.step, !ramp.to_the_end),
            Course::Fixed { .. } => return None,
        };
        Some(Expected { steps, step: *step, may_end_early })
    }

    fn warm_up(&self) -> StageOrder {
        let usual = self.capacity.cpus.saturating_mul(WARM_UP_CLIENTS_PER_CPU);
        let within = |most: u32| usual.min(most).min(self.capacity.room.most()).max(1);
        let (clients, arrivals) = match self.course {
            Course::Ladder { rungs, think_time, .. } => {
                let most = match rungs {
                    Rungs::Listed(rungs) => rungs.last().copied().unwrap_or(1),
                    Rungs::Automatic { max, .. } => *max,
                };
                (within(most), Arrivals::Closed { think_time: *think_time })
            }
            // A ramp is about how a target fares as the load rises: it begins where it begins.
            Course::Ramp(ramp) => {
                let first = self.step_of(ramp, ramp.steps.start);
                (first.clients, first.arrivals)
            }
            Course::Fixed { clients, arrivals, .. } => {
                (clients.unwrap_or_else(|| self.default_clients(*arrivals)), start_of(*arrivals))
            }
        };
        let end = self.pass.map_or(End::Duration(self.warm_up), End::TransactionsPerClient);
        StageOrder::new(StageKind::WarmUp, clients, arrivals, end)
    }

    fn rung(&mut self, measured: &[StageSum]) -> Option<StageOrder> {
        let steps_done: Vec<&StageSum> = rungs_of(measured).collect();
        let last = steps_done.last().map(|sum| sum.order);
        match self.course {
            Course::Ladder { rungs, step, think_time, .. } => {
                let clients = match rungs {
                    Rungs::Listed(rungs) => rungs.get(steps_done.len()).copied(),
                    Rungs::Automatic { factor, max } => self.automatic(*factor, *max, last, measured),
                }?;
                let arrivals = Arrivals::Closed { think_time: *think_time };
                Some(timed(StageKind::Ladder, clients, arrivals, *step))
            }
            Course::Ramp(ramp) => {
                let level = match last {
                    None => ramp.steps.start,
                    Some(last) => self.further(ramp, level_of(ramp, &last), measured)?,
                };
                Some(self.step_of(ramp, level))
            }
            Course::Fixed { .. } => None,
        }
    }

    /// The clients of the next rung of a ladder that ends where throughput has passed its peak.
    fn automatic(
        &mut self,
        factor: u32,
        max: u32,
        last: Option<StageOrder>,
        measured: &[StageSum],
    ) -> Option<u32> {
        let Some(last) = last else { return Some(self.first(max)) };
        if passed(&steps(measured)).is_some() {
            return None;
        }
        let top = self.top(max);
        if last.clients < top {
            return Some(last.clients.saturating_mul(factor).min(top));
        }
        if let Some(terminals) = self.capacity.terminals.filter(|terminals| top >= *terminals) {
            self.remark = Some(format!("the workload has {terminals} terminals, and each is a client"));
            return None;
        }
        let why = match self.capacity.contention {
            Some(contention) if top < self.within_room(max) => contention.why,
            _ => self.capacity.room.why,
        };
        self.remark = Some(format!("the ladder ends at {} clients: {why}", last.clients));
        None
    }

    fn within_room(&self, max: u32) -> u32 {
        self.capacity.room.most().min(max).max(1)
    }

    /// The first clients of an automatic ladder.
    fn first(&self, max: u32) -> u32 {
        self.capacity.terminals.map_or(1, |terminals| self.within_room(max.max(terminals)).min(terminals))
    }

    /// The most clients of an automatic ladder.
    fn top(&self, max: u32) -> u32 {
        if self.capacity.terminals.is_some() {
            return self.first(max);
        }
        let least = self.capacity.cpus.saturating_mul(CLIENTS_PER_CPU_MIN);
        let uncontended =
            self.capacity.contention.map_or(u32::MAX, |contention| contention.clients.max(least));
        self.within_room(max).min(uncontended)
    }

    /// The level of a ramp after `level`, unless the target is saturated or has room for no more.
    fn further(&mut self, ramp: &Ramp, level: f64, measured: &[StageSum]) -> Option<f64> {
        let next = ramp.steps.after(level)?;
        let shown = match ramp.steps.of {
            Quantity::Clients => format!("{level} clients"),
            Quantity::RatePerS => format!("{level:.0}/s"),
        };
        if !ramp.to_the_end
            && let Some(found) = saturation::decide(&steps(measured))
        {
            self.remark =
                Some(format!("the ramp ends at {shown}, since the target is saturated: {}", found.evidence));
            return None;
        }
        if ramp.steps.of == Quantity::Clients && next > f64::from(self.capacity.room.most()) {
            self.remark = Some(format!("the ramp ends at {shown}: {}", self.capacity.room.why));
            return None;
        }
        Some(next)
    }

    fn step_of(&self, ramp: &Ramp, level: f64) -> StageOrder {
        let (clients, arrivals) = match ramp.steps.of {
            // Steps of clients are whole and within the bound.
            Quantity::Clients => (level as u32, Arrivals::Closed { think_time: ramp.think_time }),
            Quantity::RatePerS => {
                let distribution = ramp.distribution;
                let arrivals = Arrivals::Open { rate_per_s: level, rate_end_per_s: level, distribution };
                (ramp.clients.unwrap_or_else(|| self.default_clients(arrivals)), arrivals)
            }
        };
        timed(StageKind::Ladder, clients, arrivals, ramp.step)
    }

    fn hold(&self, measured: &[StageSum]) -> Option<StageOrder> {
        match self.course {
            Course::Ladder { hold, think_time, .. } => {
                let arrivals = Arrivals::Closed { think_time: *think_time };
                Some(timed(StageKind::Hold, clients_at_peak(measured), arrivals, *hold))
            }
            Course::Ramp(ramp) => {
                let best = best_of_ramp(measured)?;
                Some(timed(StageKind::Hold, best.clients, best.arrivals, ramp.hold?))
            }
            Course::Fixed { clients, clients_end, arrivals, end } => {
                let clients = clients.unwrap_or_else(|| self.default_clients(*arrivals));
                let clients_end = clients_end.unwrap_or(clients);
                let ramps = clients_end != clients || arrivals.is_ramp();
                let kind = if ramps { StageKind::Ramp } else { StageKind::Hold };
                Some(StageOrder { clients_end, ..StageOrder::new(kind, clients, *arrivals, *end) })
            }
        }
    }

    fn default_clients(&self, arrivals: Arrivals) -> u32 {
        let Capacity { cpus, connections, terminals, .. } = self.capacity;
        let clients = terminals.unwrap_or_else(|| room::clients_default(arrivals, cpus, connections));
        clients.min(self.capacity.room.most()).max(1)
    }
}

fn rungs_of(measured: &[StageSum]) -> impl Iterator<Item = &StageSum> {
    measured.iter().filter(|sum| sum.order.kind == StageKind::Ladder)
}

/// The steps of a ladder or a ramp that ran to their ends.
fn steps(measured: &[StageSum]) -> Vec<LoadStep> {
    rungs_of(measured).filter_map(|sum| sum.step).collect()
}

fn rate_of(arrivals: Arrivals) -> Option<f64> {
    match arrivals {
        Arrivals::Open { rate_per_s, .. } => Some(rate_per_s),
        Arrivals::Closed { .. } => None,
    }
}

/// Where a load stands on a ramp.
fn level_of(ramp: &Ramp, order: &StageOrder) -> f64 {
    match ramp.steps.of {
        Quantity::Clients => f64::from(order.clients),
        Quantity::RatePerS => rate_of(order.arrivals).unwrap_or(ramp.steps.start),
    }
}

/// The load to hold after a ramp: that of the last step that was good, where the target is saturated; else that of the
/// step with the most throughput.
fn best_of_ramp(measured: &[StageSum]) -> Option<StageOrder> {
    let steps = steps(measured);
    let good = match saturation::decide(&steps) {
        Some(SaturationPoint { last_good: Some(at), .. }) => steps.get(at),
        _ => peak(&steps)
            .and_then(|peak| steps.iter().find(|step| step.stage == peak.stage))
            .or(highest(&steps)),
    };
    let stage = good.map(|step| step.stage);
    let best = rungs_of(measured).find(|sum| Some(sum.id) == stage).or_else(|| rungs_of(measured).last())?;
    Some(best.order)
}

/// The clients of the best rung, be it that none is well known; where none could be measured, of the last one tried.
fn clients_at_peak(measured: &[StageSum]) -> u32 {
    let steps = steps(measured);
    let best = peak(&steps).map(|peak| peak.clients).or(highest(&steps).map(|step| step.clients));
    let tried = rungs_of(measured).last().map(|sum| sum.order.clients);
    best.or(tried).unwrap_or(1)
}

/// The step of the highest mean, however well that is known.
fn highest(steps: &[LoadStep]) -> Option<&LoadStep> {
    steps.iter().max_by(|left, right| left.throughput.mean.total_cmp(&right.throughput.mean))
}

/// A warm-up before a ramp of the rate runs at its start.
fn start_of(arrivals: Arrivals) -> Arrivals {
    match arrivals {
        Arrivals::Open { rate_per_s, distribution, .. } => {
            Arrivals::Open { rate_per_s, rate_end_per_s: rate_per_s, distribution }
        }
        closed @ Arrivals::Closed { .. } => closed,
    }
}

fn timed(kind: StageKind, clients: u32, arrivals: Arrivals, duration: Duration) -> StageOrder {
    StageOrder::new(kind, clients, arrivals, End::Duration(duration))
}

#[cfg(test)]
mod tests;
