//! The distributions of random numbers, of the shapes that sysbench 1.0.20 gives them, and zipfian of its unreleased
//! line. Each is stretched over whatever range a draw asks for.

use crate::random::Random;

/// What random numbers are drawn from. The default is sysbench's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Each value as likely as any other.
    Uniform,
    /// A bell over the whole range: the mean of `iterations` uniform numbers.
    Gaussian { iterations: u32 },
    /// `result_percent` of the draws fall evenly on the middle `percent` of the range, the others as with `Gaussian`.
    Special { iterations: u32, percent: u32, result_percent: u32 },
    /// The lower the likelier: 1 - `h` of the draws fall on the lowest part `h` of the range, and so on within it.
    Pareto { h: f64 },
    /// Value number i as likely as i^-`exponent`; the first is the likeliest.
    Zipfian { exponent: f64 },
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Special { iterations: 12, percent: 1, result_percent: 75 }
    }
}

impl Distribution {
    /// sysbench's name for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian { .. } => "gaussian",
            Self::Special { .. } => "special",
            Self::Pareto { .. } => "pareto",
            Self::Zipfian { .. } => "zipfian",
        }
    }

    /// Why nothing can be drawn with these parameters; `None` where they are right.
    pub fn unusable(&self) -> Option<String> {
        let wrong = |option: &str, value: &dyn std::fmt::Display, takes: &str| {
            Some(format!(
                "--rand-{option}={value} cannot shape a {} distribution: it takes {takes}",
                self.name()
            ))
        };
        match *self {
            Self::Gaussian { iterations: 0 } | Self::Special { iterations: 0, .. } => {
                wrong("spec-iter", &0, "1 or more")
            }
            Self::Special { percent, .. } if percent > 100 => wrong("spec-pct", &percent, "0 to 100"),
            Self::Special { result_percent, .. } if result_percent > 100 => {
                wrong("spec-res", &result_percent, "0 to 100")
            }
            Self::Pareto { h } if !(h > 0.0 && h < 1.0) => wrong("pareto-h", &h, "a number between 0 and 1"),
            Self::Zipfian { exponent } if !(exponent >= 0.0 && exponent.is_finite()) => {
                wrong("zipfian-exp", &exponent, "0 or a greater number")
            }
            _ => None,
        }
    }

    /// Works out once what each draw needs.
    pub fn sampler(&self) -> Sampler {
        Sampler(match *self {
            Self::Uniform => Shape::Uniform,
            Self::Gaussian { iterations } => Shape::Bell(Bell::new(iterations)),
            Self::Special { iterations, percent, result_percent } => Shape::Special {
                bell: Bell::new(iterations),
                part: f64::from(percent) / 100.0,
                from: 1.0 - f64::from(result_percent) / 100.0,
            },
            Self::Pareto { h } => Shape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Self::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(exponent, 1.0)),
        })
    }
}

/// A distribution that is ready to be drawn from.
#[derive(Debug, Clone)]
pub struct Sampler(Shape);

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Bell(Bell),
    Special { bell: Bell, part: f64, from: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian),
}

impl Sampler {
    /// An integer from `low` to `high`, both included; `low` where `high` is below it.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let span = high.wrapping_sub(low) as u64;
        let width = span as f64;
        let offset = match &mut self.0 {
            Shape::Uniform => return random.between(low, high),
            Shape::Bell(bell) => bell.draw(random) * (width + 1.0),
            Shape::Special { bell, part, from } => {
                // sysbench 1.0.20 takes the number that chose between the two as the place in the middle as well: the
                // middle's lowest values are never drawn. And its width is one less than that of the other shapes.
                let place = random.unit();
                if place < *from {
                    bell.draw(random) * width
                } else {
                    width * (0.5 - *part / 2.0) + place * (width * *part + 1.0)
                }
            }
            Shape::Pareto { power } => random.unit().powf(*power) * (width + 1.0),
            Shape::Zipfian(zipfian) => zipfian.draw(random, width + 1.0) - 1.0,
        };
        // Rounding may lift a place that is just below the end.
        low.wrapping_add((offset as u64).min(span) as i64)
    }
}

/// The mean of some uniform numbers.
#[derive(Debug, Clone, Copy)]
struct Bell {
    iterations: u32,
    scale: f64,
}

impl Bell {
    fn new(iterations: u32) -> Self {
        Self { iterations, scale: 1.0 / f64::from(iterations.max(1)) }
    }

    /// From 0 to just below 1.
    #[inline]
    fn draw(self, random: &mut Random) -> f64 {
        let mut sum = 0.0;
        for _ in 0..self.iterations {
            sum += random.unit();
        }
        sum * self.scale
    }
}

/// Ranks from 1 to `count` with probability in proportion to rank^-exponent, by rejection inversion: the area under a
/// smooth hat is inverted, and the little that the hat is too large is drawn again (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", 1996).
#[derive(Debug, Clone, Copy)]
struct Zipfian {
    exponent: f64,
    count: f64,
    /// The hat's integral at its two ends.
    area_first: f64,
    area_last: f64,
    /// Ranks at most this far below the point drawn need no second look.
    sure: f64,
}

impl Zipfian {
    fn new(exponent: f64, count: f64) -> Self {
        let mut zipfian = Self { exponent, count, area_first: 0.0, area_last: 0.0, sure: 0.0 };
        zipfian.area_first = zipfian.area(1.5) - 1.0;
        zipfian.area_last = zipfian.area(count + 0.5);
        zipfian.sure = 2.0 - zipfian.inverse_area(zipfian.area(2.5) - zipfian.density(2.0));
        zipfian
    }

    #[inline]
    fn draw(&mut self, random: &mut Random, count: f64) -> f64 {
        if self.count != count {
            *self = Self::new(self.exponent, count);
        }
        loop {
            let area = self.area_last + random.unit() * (self.area_first - self.area_last);
            let point = self.inverse_area(area);
            let rank = point.round().clamp(1.0, self.count);
            if rank - point <= self.sure || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The density's integral from 1 to `x`. Written so that it passes smoothly into the logarithm at exponent 1.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        if power.abs() < 1e-12 { log } else { power.exp_m1() / power * log }
    }

    fn inverse_area(&self, area: f64) -> f64 {
        // Rounding may lead just below -1, where there is no logarithm.
        let power = ((1.0 - self.exponent) * area).max(-1.0);
        let log = if power.abs() < 1e-12 { area } else { power.ln_1p() / power * area };
        log.exp()
    }
}
