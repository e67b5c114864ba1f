//! A figure with its interval.

use schemars::JsonSchema;
use serde::Serialize;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half-width of the 95 % interval, in the unit of `mean`; `None` if there are too few values, and for a ramp.
    pub half_width: Option<f64>,
    /// How many values it is computed from.
    pub samples: u32,
    /// How many of the values are independent, after autocorrelation; `None` if that is unknown.
    pub effective_samples: Option<f64>,
}

/// Above this half-width, as a share of the mean, a figure is not known to within a factor of two.
const HALF_WIDTH_KNOWN_MAX: f64 = 0.5;

impl Estimate {
    /// In a unit so many times as large.
    #[must_use]
    pub(crate) fn times(self, factor: f64) -> Self {
        let half_width = self.half_width.map(|half_width| half_width * factor);
        Self { mean: self.mean * factor, half_width, ..self }
    }

    /// Without an interval: of the best of several, which is a little too high, and the interval of one says nothing of that.
    pub(crate) fn without_interval(self) -> Self {
        Self { half_width: None, effective_samples: None, ..self }
    }

    /// False where its interval says that it may be half as much, or less. Without an interval nothing says so.
    pub(crate) fn is_known_within_two(&self) -> bool {
        self.half_width.is_none_or(|half_width| is_known_within_two(self.mean, half_width))
    }
}

/// False where a figure's interval says that it may be half as much, or less. Nothing at all is known to be nothing.
pub(crate) fn is_known_within_two(figure: f64, half_width: f64) -> bool {
    figure == 0.0 || half_width <= HALF_WIDTH_KNOWN_MAX * figure
}
