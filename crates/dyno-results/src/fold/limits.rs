//! What was at its limit while a ramp brought no more: processors, a quota, the disk, the log, locks, connections, memory,
//! or dyno itself.
//!
//! Each is decided by a mean over the steps from the one on at which the target was saturated, with thresholds that
//! `docs/saturation.md` lists. Where nothing was read of a resource nothing is said of it. Where others than the server and dyno
//! took what was missing of the machine, it is no cause that says anything of the server.

mod database;
mod driver;
mod host;

use crate::document::{Limit, Report, SaturationSign, StageResult};
use crate::event::{Host, Target};
use crate::format;
use crate::statistics::saturation::LoadStep;

/// A resource from this share on is at its limit.
pub(super) const FULL: f64 = 0.9;
/// Sessions at work of which this share waits for one thing are held up by it.
pub(super) const WAITING: f64 = 0.5;

/// A rule: what it finds at its limit.
type Rule = fn(&Scene<'_>) -> Option<Limit>;

/// Bounds of a machine that others may have filled: they count less where the lowest step found them full already.
const OF_MACHINE: [Rule; 3] = [host::processors, host::disk, host::memory];
const OF_SERVER: [Rule; 4] = [database::log, database::locks, database::connections, driver::driver];

/// What was at its limit in the stages of a ladder from one on, the fullest first. Behind them stand a pool's connections,
/// which fill up behind everything that is slow, and last what was as full at the ladder's lowest step.
///
/// Behind these limits those that others took. What is slow for want of processors or of the disk waits for locks, the log and
/// connections as well: then nothing else is named, unless transactions failed, which they do by themselves.
pub(super) fn limits(
    ladder: &[&StageResult],
    (from, sign): (usize, SaturationSign),
    known: &Report,
) -> (Vec<Limit>, Vec<Limit>) {
    let (good, given_way) = ladder.split_at(from.min(ladder.len()));
    let Some(name) = given_way.first().map(|result| result.stage.key.system.as_str()) else {
        return (Vec::new(), Vec::new());
    };
    let scene = Scene {
        given_way,
        last_good: good.last().copied(),
        target: known.target(name),
        host: known.server_host(name),
    };
    let of_others = host::taken_by_others(&scene);
    if !of_others.is_empty() && sign != SaturationSign::Errors {
        return (Vec::new(), of_others);
    }
    let lowest = good.first().map(|lowest| Scene {
        given_way: std::slice::from_ref(lowest),
        last_good: None,
        ..scene
    });
    let (mut from_the_start, mut limits) = (Vec::new(), Vec::new());
    for rule in OF_MACHINE {
        let Some(limit) = rule(&scene) else { continue };
        match lowest.as_ref().filter(|lowest| rule(lowest).is_some()) {
            Some(lowest) => from_the_start.push(already_at(limit, lowest)),
            None => limits.push(limit),
        }
    }
    limits.extend(OF_SERVER.iter().filter_map(|rule| rule(&scene)));
    for limits in [&mut limits, &mut from_the_start] {
        limits.sort_by(|left, right| right.share.total_cmp(&left.share));
    }
    limits.extend(database::pool(&scene));
    limits.extend(from_the_start);
    limits.retain(|limit| of_others.iter().all(|other| other.resource != limit.resource));
    (limits, of_others)
}

/// A limit that more load has not brought about.
fn already_at(limit: Limit, lowest: &Scene<'_>) -> Limit {
    let step = lowest.given_way.first().and_then(|result| LoadStep::of(result));
    let at = step.map_or_else(|| "the lowest step".to_owned(), |step| step.words());
    Limit { evidence: format!("{}; it was so at {at} already", limit.evidence), ..limit }
}

/// The steps at which a target had given way, and what is known about it.
#[derive(Clone, Copy)]
struct Scene<'a> {
    given_way: &'a [&'a StageResult],
    last_good: Option<&'a StageResult>,
    target: Option<&'a Target>,
    host: Option<&'a Host>,
}

impl Scene<'_> {
    /// Mean of a figure over the stages that have it.
    fn mean(&self, figure: impl Fn(&StageResult) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.given_way.iter().filter_map(|result| figure(result)).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }

    /// Mean of a reading, by its key.
    fn read(&self, key: &str) -> Option<f64> {
        self.mean(|result| result.reading(key))
    }

    /// ` (62% at 30 clients)`: what a share was at the last step that was good.
    fn before(&self, share: impl Fn(&StageResult) -> Option<f64>) -> String {
        self.before_as(share, format::share)
    }

    fn before_as(
        &self,
        figure: impl Fn(&StageResult) -> Option<f64>,
        words: impl Fn(f64) -> String,
    ) -> String {
        let Some(good) = self.last_good else { return String::new() };
        match (figure(good), LoadStep::of(good)) {
            (Some(figure), Some(step)) => format!(" ({} at {})", words(figure), step.words()),
            _ => String::new(),
        }
    }
}

fn limit(resource: &str, share: f64, evidence: String) -> Limit {
    Limit { resource: resource.to_owned(), share: share.clamp(0.0, 1.0), evidence }
}

/// `3.1`, `0.42`: processors, sessions, operations.
fn amount(amount: f64) -> String {
    match amount {
        _ if amount >= 100.0 => format!("{amount:.0}"),
        _ if amount >= 1.0 => {
            let text = format!("{amount:.1}");
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        _ if amount < 0.005 => "0".to_owned(),
        _ => format!("{amount:.2}"),
    }
}

#[cfg(test)]
mod tests;
