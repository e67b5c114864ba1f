//! A load that goes up in steps: `1..200` clients, `1..200+10`, `1..1024x2`, `1..` without a bound, or rates such as
//! `100/s..5000/s+500`.

use std::fmt;
use std::str::FromStr;

use super::{CLIENTS_MAX, RATE_MAX_PER_S, number};

/// Most steps that a ramp with a bound may have.
const STEPS_MAX: u32 = 10_000;

/// What goes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Clients,
    RatePerS,
}

/// How much it goes up by from one step to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Growth {
    By(f64),
    Times(f64),
}

/// The levels of a ramp in steps. Where neither `+` nor `x` is named, clients rise by one and a rate by its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    pub of: Quantity,
    pub start: f64,
    /// `None` where only saturation, or want of room, ends it.
    pub end: Option<f64>,
    growth: Growth,
}

impl Steps {
    /// The level behind this one; the bound itself is always the last. `None` at the bound.
    pub fn after(&self, level: f64) -> Option<f64> {
        let next = match self.growth {
            Growth::By(more) => level + more,
            Growth::Times(factor) => level * factor,
        };
        let (next, most) = match self.of {
            Quantity::Clients => (next.round().max(level + 1.0), f64::from(CLIENTS_MAX)),
            Quantity::RatePerS => (next, RATE_MAX_PER_S),
        };
        let end = self.end.unwrap_or(most);
        (level < end).then(|| next.min(end))
    }

    /// How many steps there are up to a level, both ends included.
    pub fn count_to(&self, end: f64) -> u32 {
        let levels = std::iter::successors(Some(self.start), |level| self.after(*level));
        let count = levels.take(STEPS_MAX as usize + 1).take_while(|level| *level < end).count();
        u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{text}` is no ramp: write it as 1..200, 1..200+10, 1..1024x2 or 1.. for clients, and as \
                 100/s..5000/s+100 for a rate"
            )
        };
        let (start, rest) = text.trim().split_once("..").ok_or_else(wrong)?;
        let (end, growth) = match rest.find(['+', 'x']) {
            Some(at) => (&rest[..at], Some((rest.as_bytes()[at], &rest[at + 1..]))),
            None => (rest, None),
        };
        let of_rate = |text: &str| text.trim().ends_with("/s");
        let of = match of_rate(start) || of_rate(end) || growth.is_some_and(|(_, by)| of_rate(by)) {
            true => Quantity::RatePerS,
            false => Quantity::Clients,
        };
        let level = |text: &str| number(text.trim().trim_end_matches("/s")).ok_or_else(wrong);
        let start = level(start)?;
        let end = if end.trim().is_empty() { None } else { Some(level(end)?) };
        let growth = match growth {
            Some((b'x', factor)) => Growth::Times(number(factor).ok_or_else(wrong)?),
            Some((_, more)) => Growth::By(level(more)?),
            None if of == Quantity::Clients => Growth::By(1.0),
            None => Growth::By(start),
        };
        let steps = Self { of, start, end, growth };
        steps.check(text)?;
        Ok(steps)
    }
}

impl Steps {
    fn check(&self, text: &str) -> Result<(), String> {
        let Self { of, start, end, growth } = *self;
        let (most, whole) = match of {
            Quantity::Clients => (f64::from(CLIENTS_MAX), true),
            Quantity::RatePerS => (RATE_MAX_PER_S, false),
        };
        let levels = [Some(start), end];
        if levels.into_iter().flatten().any(|level| level <= 0.0 || (whole && level.fract() != 0.0)) {
            return Err(format!("`{text}`: a ramp begins at 1 client, or at a rate above 0"));
        }
        if levels.into_iter().flatten().any(|level| level > most) {
            return Err(format!("`{text}` goes beyond {most}"));
        }
        if end.is_some_and(|end| end <= start) {
            return Err(format!("`{text}`: a ramp goes up, so its second number is the larger one"));
        }
        let grows = match growth {
            Growth::By(more) => more > 0.0 && (!whole || more.fract() == 0.0),
            Growth::Times(factor) => factor > 1.0 && factor.is_finite(),
        };
        if !grows {
            return Err(format!("`{text}` does not go up: write +10, or x2"));
        }
        match end.map(|end| self.count_to(end)) {
            Some(count) if count > STEPS_MAX => Err(format!(
                "`{text}` makes more than {STEPS_MAX} steps: write a larger + or a factor such as x2"
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.of == Quantity::RatePerS { "/s" } else { "" };
        write!(f, "{}{unit}..", self.start)?;
        if let Some(end) = self.end {
            write!(f, "{end}{unit}")?;
        }
        match self.growth {
            Growth::By(more) => write!(f, "+{more}{unit}"),
            Growth::Times(factor) => write!(f, "x{factor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str) -> Vec<f64> {
        let steps: Steps = text.parse().unwrap();
        std::iter::successors(Some(steps.start), |level| steps.after(*level)).take(12).collect()
    }

    #[test]
    fn clients_rise_by_one_by_more_or_by_a_factor_and_end_at_the_bound() {
        assert_eq!(levels("1..4"), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(levels("1..24+10"), [1.0, 11.0, 21.0, 24.0]);
        assert_eq!(levels("1..20x2"), [1.0, 2.0, 4.0, 8.0, 16.0, 20.0]);
        assert_eq!(levels("1..4x1.1"), [1.0, 2.0, 3.0, 4.0], "a step is at least a client");
        assert_eq!(levels("5..").len(), 12);
        assert_eq!("1..20x2".parse::<Steps>().unwrap().count_to(20.0), 6);
    }

    #[test]
    fn a_rate_rises_by_its_start_where_nothing_else_is_said() {
        assert_eq!(levels("100/s..350/s"), [100.0, 200.0, 300.0, 350.0]);
        assert_eq!(levels("1k..2k/s+500"), [1000.0, 1500.0, 2000.0]);
        assert_eq!(levels("100..400/s+200/s"), [100.0, 300.0, 400.0]);
        assert_eq!("100/s..400/s".parse::<Steps>().unwrap().to_string(), "100/s..400/s+100/s");
    }

    #[test]
    fn what_is_no_ramp_is_refused() {
        for wrong in [
            "",
            "5",
            "..",
            "..5",
            "0..5",
            "5..1",
            "5..5",
            "1..5+0",
            "1..5x1",
            "1..5x0.5",
            "1..5+-1",
            "1.5..4",
            "1..4+0.5",
            "a..b",
            "1..100001",
            "1..5x",
            "1..5+",
            "1..5xinf",
            "0/s..5/s",
            "1..99999",
            "1..2..3",
            "x",
        ] {
            assert!(wrong.parse::<Steps>().is_err(), "{wrong}");
        }
    }
}
