//! What a side's figure is taken to be, and ratios with what may be said of them.
//!
//! Everything is done on logarithms, where a ratio is a difference and an interval of it never reaches below nothing. Only
//! what was repeated is tested: pairs by the ratio of each, separate runs by the medians of both sides. The seconds within
//! one run say how well its own figure is known, and nothing of how another run would differ.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::document::{BasisUnit, Better, Cell, FigureRow, Ratio, Verdict};
use super::spread::Spread;
use crate::statistics::geometric_mean::GeometricMean;
use crate::statistics::repeats::{error_of_median, median};

/// Share of comparisons of a thing with itself in which a difference may be shown.
const ALPHA: f64 = 0.05;
/// A smaller difference is of no account, however little the figures scatter.
const LEAST_RELEVANT: f64 = 0.005;

/// A figure of one side, with what can be said of how well it is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SideFigure {
    pub(super) value: f64,
    /// Of each repeat, in their order; `None` where one does not know it.
    pub(super) each: Option<Vec<f64>>,
    pub(super) repeats: usize,
    pub(super) spread: Option<Spread>,
    /// What the figure is measured by, in its own unit: a tick of the processor's clock, a block.
    pub(super) resolution: f64,
}

impl SideFigure {
    /// From the figure of each repeat. `None` where none knows it.
    pub(super) fn of(repeats: &[Option<(f64, Option<Spread>)>]) -> Option<Self> {
        let values: Vec<f64> = repeats.iter().flatten().map(|(value, _)| *value).collect();
        let value = median(values.clone())?;
        let spread = match repeats {
            [only] => only.and_then(|(_, spread)| spread),
            _ => (values.len() > 1).then(|| Spread::of_repeats(&values)),
        };
        Some(Self {
            value,
            repeats: values.len(),
            spread: spread.filter(|_| values.iter().all(|value| *value > 0.0)),
            each: (values.len() == repeats.len()).then_some(values),
            resolution: 0.0,
        })
    }

    /// The 95 % interval of the figure itself.
    fn interval(&self) -> Option<[f64; 2]> {
        let spread = self.spread?;
        let t = student(ALPHA, spread.degrees)?;
        Some([self.value * (-t * spread.down).exp(), self.value * (t * spread.up).exp()])
    }

    pub(super) fn cell(&self) -> Cell {
        Cell {
            value: Some(self.value),
            interval: self.interval(),
            repeats: u32::try_from(self.repeats).unwrap_or(u32::MAX),
            ratio: None,
        }
    }
}

/// What a figure is to the base's, before it is decided what that says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contrast {
    ratio: f64,
    /// Standard error of its logarithm, and the degrees of freedom that it rests on.
    error: Option<(f64, f64)>,
    /// What it says where it is not to be tested.
    untested: Option<Verdict>,
    /// Logarithm of the least ratio that is a difference: the least that is relevant, or that the measure can tell.
    margin: f64,
}

impl Contrast {
    /// `None` where one of the two is nothing.
    pub(super) fn of(base: &SideFigure, other: &SideFigure, unit: BasisUnit) -> Option<Self> {
        if base.value <= 0.0 || other.value <= 0.0 {
            return None;
        }
        let ratio = other.value / base.value;
        let resolution = base.resolution / base.value + other.resolution / other.value;
        let margin = LEAST_RELEVANT.max(resolution).ln_1p();
        let each = base.each.as_deref().zip(other.each.as_deref());
        let contrast = match unit {
            BasisUnit::Untested => Self { untested: Some(Verdict::NotTested), ..Self::unknown(ratio) },
            BasisUnit::Pairs => {
                each.and_then(|(base, other)| Self::of_pairs(base, other)).unwrap_or(Self::unknown(ratio))
            }
            BasisUnit::Runs => {
                let error = each.and_then(|(base, other)| welch(base, other));
                Self { error, ..Self::unknown(ratio) }
            }
        };
        Some(Self { margin, ..contrast })
    }

    fn unknown(ratio: f64) -> Self {
        Self { ratio, error: None, untested: None, margin: LEAST_RELEVANT.ln_1p() }
    }

    /// What both met in a round is in both figures, and not in their ratio.
    fn of_pairs(base: &[f64], other: &[f64]) -> Option<Self> {
        if base.len() != other.len() || base.iter().chain(other).any(|value| *value <= 0.0) {
            return None;
        }
        let ratios: Vec<f64> = base.iter().zip(other).map(|(base, other)| other / base).collect();
        let GeometricMean { mean, error } = GeometricMean::of(&ratios)?;
        Some(Self { error: Some(error?), ..Self::unknown(mean) })
    }

    /// Leaves the ratio untested, for this reason.
    pub(super) fn set_aside(&mut self, verdict: Verdict) {
        self.untested = Some(verdict);
    }

    /// Probability of a ratio as far from the nearest that is no difference by chance alone; `None` where it is not tested.
    fn p(&self) -> Option<f64> {
        let (error, degrees) = self.error.filter(|_| self.untested.is_none())?;
        let off = (self.ratio.ln().abs() - self.margin).max(0.0);
        if error <= 0.0 {
            return Some(if off > 0.0 { 0.0 } else { 1.0 });
        }
        let t = StudentsT::new(0.0, 1.0, degrees).ok()?;
        Some(2.0 * (1.0 - t.cdf(off / error)))
    }

    /// The ratio with the interval that leaves out a share of `alpha`.
    fn said(&self, alpha: f64, better: Better) -> Ratio {
        let margin = self.error.and_then(|(error, degrees)| Some(student(alpha, degrees)? * error));
        let interval = margin.map(|margin| [self.ratio * (-margin).exp(), self.ratio * margin.exp()]);
        let verdict = self.untested.unwrap_or_else(|| verdict(self.ratio, interval, self.margin, better));
        Ratio { value: self.ratio, interval, verdict }
    }
}

/// A row before it is decided what its ratios say.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) row: FigureRow,
    /// Of each side.
    pub(super) contrasts: Vec<Option<Contrast>>,
    /// Whether it is what the comparison is about, and is tested alone.
    pub(super) primary: bool,
}

impl Draft {
    fn p(&self, side: usize) -> Option<f64> {
        self.contrasts[side].as_ref()?.p()
    }

    fn is_one_of_several(&self, side: usize) -> bool {
        !self.primary && self.p(side).is_some()
    }
}

/// Decides what the rows of these tables say: the primary ones each alone, the others of a side adjusted among themselves
/// (Holm). An interval is as wide as the row was tested: where no difference is shown it holds 1, or a ratio that is as good as 1.
pub(super) fn decide(tables: Vec<Vec<Draft>>) -> Vec<Vec<FigureRow>> {
    let mut tables = tables;
    let sides = tables.iter().flatten().map(|draft| draft.contrasts.len()).max().unwrap_or(0);
    for side in 0..sides {
        let mut tested: Vec<&mut Draft> =
            tables.iter_mut().flatten().filter(|draft| draft.contrasts[side].is_some()).collect();
        tested.sort_by(|left, right| left.p(side).unwrap_or(2.0).total_cmp(&right.p(side).unwrap_or(2.0)));
        let mut left = tested.iter().filter(|draft| draft.is_one_of_several(side)).count();
        for draft in tested {
            let several = draft.is_one_of_several(side);
            let alpha = if several { ALPHA / left as f64 } else { ALPHA };
            // Holm: from the first that is not shown on none is.
            left -= usize::from(several && draft.p(side).is_some_and(|p| p <= alpha));
            let Some(contrast) = &draft.contrasts[side] else { continue };
            draft.row.cells[side].ratio = Some(contrast.said(alpha, draft.row.better));
        }
    }
    tables.into_iter().map(|drafts| drafts.into_iter().map(|draft| draft.row).collect()).collect()
}

fn verdict(value: f64, interval: Option<[f64; 2]>, margin: f64, better: Better) -> Verdict {
    let Some([lowest, highest]) = interval else { return Verdict::NoInterval };
    if lowest <= margin.exp() && highest >= (-margin).exp() {
        return Verdict::NoDifferenceShown;
    }
    match (better, value > 1.0) {
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
        (Better::Neither, true) => Verdict::Higher,
        (Better::Neither, false) => Verdict::Lower,
    }
}

/// Standard error of the difference of two medians' logarithms, with its degrees of freedom (Welch and Satterthwaite).
fn welch(base: &[f64], other: &[f64]) -> Option<(f64, f64)> {
    if [base, other].iter().any(|side| side.len() < 2 || side.iter().any(|value| *value <= 0.0)) {
        return None;
    }
    let of_side = |side: &[f64]| (error_of_median(side).powi(2), side.len() as f64 - 1.0);
    let ((left, left_degrees), (right, right_degrees)) = (of_side(base), of_side(other));
    let sum = left + right;
    let degrees = sum * sum / (left * left / left_degrees + right * right / right_degrees);
    Some((sum.sqrt(), if degrees.is_finite() { degrees } else { left_degrees }))
}

/// Student's t of an interval that leaves out a share of `alpha`.
fn student(alpha: f64, degrees: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(1.0 - alpha / 2.0))
}

#[cfg(test)]
#[path = "tests/estimate.rs"]
mod tests;
