//! Throughput that no longer rises while latency does, of a load that is raised by clients.
//!
//! What counts is the elasticity: by which power of the load throughput grows; 1 where every client brings as much as
//! the first, 0 where further ones bring nothing. It is fitted to all steps from a candidate on, since between steps that
//! differ by one client every rise is within the noise. The noise is what the steps themselves show.

use super::{BEYOND_MIN, BEYOND_S_MIN, LoadStep, SaturationPoint, lasted};
use crate::document::SaturationSign;
use crate::format;
use crate::statistics::peak::{UNCERTAINTY_MIN, UNCERTAINTY_UNKNOWN};
use crate::statistics::repeats::median;

/// Below this elasticity throughput does not rise: twice the load brings less than 6 % more.
pub(super) const ELASTICITY_FLAT: f64 = 0.08;
/// Above this one it does, and it must be possible to tell: twice the load brings 19 % more.
pub(super) const ELASTICITY_RISES: f64 = 0.25;
/// Standard errors that are allowed for, with all steps and with any one of them left out.
const DEVIATIONS: f64 = 2.0;
const DEVIATIONS_WITHOUT_ONE: f64 = 1.0;
/// How near to what is reached beyond it a step counts as there, share.
const WITHIN: f64 = 0.05;
/// p99 has risen where it is so many times what it was.
const LATENCY_RISE: f64 = 1.1;
/// The least fall, as a share, that needs no fit.
const FALL_MIN: f64 = 0.1;
/// Seconds for which throughput must be lower by that much where it is so for most of the time.
const LOW_S_MIN: f64 = 10.0;
/// With less growth of the load than this, one more step beyond is asked for.
const GROWTH_FEW: f64 = 2.0;
/// Half-width of a 95 % interval, in standard deviations.
const HALF_WIDTH_DEVIATIONS: f64 = 1.96;
/// A median deviation times this is the standard deviation of normal noise.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;
/// Fewer residuals than this say nothing about noise.
const RESIDUALS_MIN: usize = 5;
/// A throughput of nothing has no logarithm: it is taken for this share of the level.
const NOTHING: f64 = 0.01;

/// The first step from which on more load brought no more throughput.
pub(super) fn find(steps: &[&LoadStep]) -> Option<SaturationPoint> {
    let scatter = scatter(steps);
    let mut candidates =
        (0..steps.len().checked_sub(BEYOND_MIN)?).filter(|at| gives_way(steps, *at, scatter)).peekable();
    let mut at = candidates.next()?;
    // The one step that is higher than all others may have been lucky, or the last one before a cliff.
    let higher = |at: usize, next: usize| {
        next == at + 1
            && steps[next].throughput.mean > steps[at].throughput.mean * (1.0 + WITHIN.max(3.0 * scatter))
    };
    while let Some(next) = candidates.next_if(|next| higher(at, *next)) {
        at = next;
    }
    Some(SaturationPoint::new(at, SaturationSign::ThroughputFlat, evidence(steps, at)))
}

fn gives_way(steps: &[&LoadStep], at: usize, scatter: f64) -> bool {
    let tail = &steps[at..];
    let growth = tail[tail.len() - 1].load() / tail[0].load();
    let enough = tail.len() > BEYOND_MIN + 1 || growth >= GROWTH_FEW;
    let level = second_highest(tail);
    let noise = tail.iter().map(|step| noise(step)).sum::<f64>() / tail.len() as f64;
    let noise = noise.max(scatter).max(UNCERTAINTY_MIN);
    enough
        && !refuted(tail, noise)
        && outlasts(tail, level, noise)
        && tail[0].throughput.mean >= (1.0 - WITHIN) * level
        && latency(steps, at).is_some_and(|(before, after)| after >= LATENCY_RISE * before)
        && (fell(steps, at, noise) || is_flat(tail, level, noise))
}

/// Whether a step beyond is higher: by more than both their intervals, or at all where only two speak for the candidate.
/// Nothing makes a machine faster for a moment.
fn refuted(tail: &[&LoadStep], noise: f64) -> bool {
    let interval = if tail.len() > BEYOND_MIN + 1 { HALF_WIDTH_DEVIATIONS * noise } else { 0.0 };
    let upper = tail[0].throughput.mean * (1.0 + interval);
    tail[1..].iter().any(|step| step.throughput.mean * (1.0 - interval) > upper)
}

/// Whether the steps beyond lasted for longer than what disturbs a machine for a moment. That makes it slow, and does not
/// hold it at one level: what lies clearly below the level counts only where there is as much of the other, or where it lasts.
fn outlasts(tail: &[&LoadStep], level: f64, noise: f64) -> bool {
    let part = 1.0 - FALL_MIN.max(3.0 * noise);
    let (low, beyond) = (level * part, &tail[1..]);
    let (low_s, level_s) = beyond.iter().fold((0.0, 0.0), |(low_s, level_s), step| {
        let seconds = step.seconds();
        if step.throughput.mean < low { (low_s + seconds, level_s) } else { (low_s, level_s + seconds) }
    });
    lasted(low_s + level_s, BEYOND_S_MIN) && (low_s <= level_s || lasted(low_s, LOW_S_MIN))
}

/// Whether every step beyond is clearly lower. That needs no fit, and a cliff shows after few steps.
fn fell(steps: &[&LoadStep], at: usize, noise: f64) -> bool {
    let before = median(steps[at.saturating_sub(2)..=at].iter().map(|step| step.throughput.mean).collect());
    let low = before.unwrap_or(0.0) * (1.0 - FALL_MIN.max(3.0 * noise));
    steps[at + 1..].iter().all(|step| step.throughput.mean < low)
}

/// Whether the fitted elasticity is flat, and known well enough to say that it does not rise: also without any one of the
/// steps, which may have met a neighbour.
fn is_flat(tail: &[&LoadStep], level: f64, noise: f64) -> bool {
    let points = points(tail, level, noise);
    let Some(fit) = Fit::of(&points) else { return false };
    let deviation = noise.max(fit.deviation(&points));
    let cannot_rise = |fit: Fit, deviations: f64| {
        // Falling is no better than being flat: it must not make up for what is not known.
        fit.slope.max(0.0) + deviations * deviation / fit.spread < ELASTICITY_RISES
    };
    // Two points say nothing about their error, but a rise between them would show.
    let without_one = if points.len() > 3 { DEVIATIONS_WITHOUT_ONE } else { 0.0 };
    fit.slope < ELASTICITY_FLAT
        && cannot_rise(fit, DEVIATIONS)
        && (0..points.len())
            .all(|left_out| Fit::without(&points, left_out).is_some_and(|fit| cannot_rise(fit, without_one)))
}

/// Logarithms of load and throughput. A step far below what fewer clients reached is lifted to it: it is no rise either
/// way, and a dip must not tilt the fit.
fn points(tail: &[&LoadStep], level: f64, noise: f64) -> Vec<(f64, f64)> {
    let (mut highest, mut second) = (0.0, 0.0);
    tail.iter()
        .map(|step| {
            let mean = step.throughput.mean;
            if mean > highest {
                (highest, second) = (mean, highest);
            } else if mean > second {
                second = mean;
            }
            let lifted = mean.max(second * (1.0 - 2.0 * noise)).max(NOTHING * level);
            (step.load().ln(), lifted.ln())
        })
        .collect()
}

/// A straight line by least squares.
#[derive(Clone, Copy)]
struct Fit {
    slope: f64,
    intercept: f64,
    /// Square root of the sum of squares of the abscissas about their mean.
    spread: f64,
}

impl Fit {
    fn of(points: &[(f64, f64)]) -> Option<Self> {
        Self::over(points.iter().copied())
    }

    fn without(points: &[(f64, f64)], left_out: usize) -> Option<Self> {
        Self::over(points[..left_out].iter().chain(&points[left_out + 1..]).copied())
    }

    /// `None` where all abscissas are one.
    fn over(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Self> {
        let (count, sum_x, sum_y) = points
            .clone()
            .fold((0.0, 0.0, 0.0), |(count, sum_x, sum_y), (x, y)| (count + 1.0, sum_x + x, sum_y + y));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (squares, products) = points.fold((0.0, 0.0), |(squares, products), (x, y)| {
            (squares + (x - mean_x).powi(2), products + (x - mean_x) * (y - mean_y))
        });
        let slope = products / squares;
        (squares > f64::EPSILON).then(|| Self {
            slope,
            intercept: mean_y - slope * mean_x,
            spread: squares.sqrt(),
        })
    }

    /// Standard deviation of the points about the line, as their median says; 0 where they are too few.
    fn deviation(&self, points: &[(f64, f64)]) -> f64 {
        let about = |(x, y): &(f64, f64)| (y - self.intercept - self.slope * x).abs();
        robust_deviation(points.iter().map(about).collect())
    }
}

/// How much throughput varies from step to step, as a share: by how far steps lie off the line between their neighbours.
/// 0 where there are too few to say.
fn scatter(steps: &[&LoadStep]) -> f64 {
    let off = |three: &[&LoadStep]| {
        let [before, step, after] = three else { return None };
        let span = (after.load() / before.load()).ln();
        let part = (step.load() / before.load()).ln() / span;
        let y = |step: &LoadStep| step.throughput.mean.ln();
        let off = y(step) - (1.0 - part) * y(before) - part * y(after);
        let off = off.abs() / (1.0 + part.powi(2) + (1.0 - part).powi(2)).sqrt();
        (span > 0.0 && off.is_finite()).then_some(off)
    };
    robust_deviation(steps.windows(3).filter_map(off).collect())
}

fn robust_deviation(residuals: Vec<f64>) -> f64 {
    if residuals.len() < RESIDUALS_MIN {
        return 0.0;
    }
    median(residuals).map_or(0.0, |median| MEDIAN_TO_DEVIATION * median)
}

/// Standard deviation of one step's mean, as a share of it.
fn noise(step: &LoadStep) -> f64 {
    let share = match step.throughput.half_width {
        Some(half_width) if step.throughput.mean > 0.0 => half_width / step.throughput.mean,
        _ => UNCERTAINTY_UNKNOWN,
    };
    share / HALF_WIDTH_DEVIATIONS
}

/// One step may have been lucky.
fn second_highest(steps: &[&LoadStep]) -> f64 {
    let mut means: Vec<f64> = steps.iter().map(|step| step.throughput.mean).collect();
    means.sort_by(|left, right| right.total_cmp(left));
    means.get(1).or(means.first()).copied().unwrap_or(0.0)
}

/// p99 about a step, and in the later half of those beyond it; medians, microseconds. Where nothing ended it is without
/// end.
fn latency(steps: &[&LoadStep], at: usize) -> Option<(f64, f64)> {
    let p99 = |steps: &[&LoadStep]| {
        let known = |step: &&LoadStep| if step.done == 0 { Some(f64::INFINITY) } else { step.p99_us };
        median(steps.iter().filter_map(known).collect())
    };
    let beyond = &steps[at + 1..];
    Some((p99(&steps[at.saturating_sub(2)..=at])?, p99(&beyond[beyond.len() / 2..])?))
}

fn evidence(steps: &[&LoadStep], at: usize) -> String {
    let beyond = &steps[at + 1..];
    let mean = beyond.iter().map(|step| step.throughput.mean).sum::<f64>() / beyond.len() as f64;
    let latency = match latency(steps, at) {
        Some((before, after)) if after.is_finite() => {
            format!("while p99 rose from {} to {}", format::latency_us(before), format::latency_us(after))
        }
        _ => "until nothing ended any more".to_owned(),
    };
    format!(
        "from {} on more load brought no more throughput: {}/s there and {}/s on average of the {} steps up to {}, {latency}",
        steps[at].words(),
        format::long(steps[at].throughput.mean),
        format::long(mean),
        beyond.len(),
        beyond.last().map(|step| step.words()).unwrap_or_default()
    )
}
