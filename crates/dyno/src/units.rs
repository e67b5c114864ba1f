//! Quantities as people type them: `30s`, `5000/s`, `1,2,4` or `1..200`. In a scenario they are the same text, or
//! a plain number where that is clear.

mod steps;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};

pub(crate) use self::steps::{Quantity, Steps};

/// Most clients that a stage may have.
const CLIENTS_MAX: u32 = 100_000;

/// Highest rate of an open loop.
const RATE_MAX_PER_S: f64 = 1e7;

/// A time: `500ms`, `30s`, `2m`, `1h`, `1m30s`, or seconds as a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no time: write it as 500ms, 30s, 2m or 1h");
        let mut seconds = 0.0;
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = &rest[digits..];
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            seconds += number
                * match &rest[..letters] {
                    "ms" => 1e-3,
                    "" | "s" => 1.0,
                    "m" | "min" => 60.0,
                    "h" => 3600.0,
                    _ => return Err(wrong()),
                };
            rest = &rest[letters..];
        }
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|time| time.as_secs() <= 366 * 24 * 3600)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is longer than a year"))
    }
}

/// A rate per second: `5000/s`, `5000`, `5k/s`, or a ramp `100..5000/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) start_per_s: f64,
    pub(crate) end_per_s: f64,
}

impl Rate {
    pub(crate) fn is_ramp(self) -> bool {
        self.start_per_s.to_bits() != self.end_per_s.to_bits()
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no rate: write it as 5000/s, or 100..5000/s for a ramp");
        let numbers = text.trim().trim_end_matches("/s").trim_end_matches("tps").trim();
        let (start, end) = numbers.split_once("..").unwrap_or((numbers, numbers));
        let (start_per_s, end_per_s) = (number(start).ok_or_else(wrong)?, number(end).ok_or_else(wrong)?);
        if start_per_s < 0.0 || end_per_s < 0.0 || start_per_s + end_per_s <= 0.0 {
            return Err(format!("`{text}`: a rate must be above 0"));
        }
        if start_per_s.max(end_per_s) > RATE_MAX_PER_S {
            return Err(format!("`{text}`: no load comes to more than 10,000,000/s"));
        }
        Ok(Self { start_per_s, end_per_s })
    }
}

/// A number with a magnitude behind it: `5000`, `2k`, `70M`, `1.5G`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        (at, 'g' | 'G') => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    // `inf` and `nan` are numbers to Rust.
    let plain = digits.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    digits.parse::<f64>().ok().filter(|_| plain).map(|value| value * factor).filter(|value| value.is_finite())
}

/// How many rows: `1000000`, `70M`, `2k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(count) = text.trim().parse() {
            return Ok(Self(count));
        }
        let whole = |value: &f64| *value >= 0.0 && value.fract() == 0.0 && *value < 1e15;
        match number(text).filter(whole) {
            Some(count) => Ok(Self(count as u64)),
            None => Err(format!("`{text}` is no number of rows: write it as 1000000, 2k or 70M")),
        }
    }
}

/// How many clients: one number, a ladder `1,2,4`, or a ramp `1..200`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clients {
    /// The rungs, ascending, without repeats; one number is a ladder of one rung.
    Ladder(Vec<u32>),
    Ramp {
        start: u32,
        end: u32,
    },
}

impl FromStr for Clients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let clients =
                text.trim().parse::<u32>().ok().filter(|clients| (1..=CLIENTS_MAX).contains(clients));
            clients.ok_or_else(|| {
                format!("`{text}` is no number of clients: write 1 to {CLIENTS_MAX}, a ladder 1,2,4 or a ramp 1..200")
            })
        };
        if let Some((start, end)) = text.split_once("..") {
            return Ok(Self::Ramp { start: number(start)?, end: number(end)? });
        }
        let mut rungs = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        rungs.sort_unstable();
        rungs.dedup();
        Ok(Self::Ladder(rungs))
    }
}

/// Reads a quantity from a scenario: its text, a number, or (for clients) a list of numbers.
pub(crate) fn from_scenario<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct Quantity;

    impl<'de> Visitor<'de> for Quantity {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text such as \"30s\", a number, or a list of numbers")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
            let mut numbers: Vec<String> = Vec::new();
            while let Some(number) = list.next_element::<u32>()? {
                numbers.push(number.to_string());
            }
            Ok(numbers.join(","))
        }
    }

    deserializer.deserialize_any(Quantity)?.parse().map_err(de::Error::custom)
}

/// Has types that are parsed from text read from a scenario by [`from_scenario`].
macro_rules! deserialized_from_text {
    ($($quantity:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $quantity {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::units::from_scenario(deserializer)
            }
        }
    )*};
}
pub(crate) use deserialized_from_text;

deserialized_from_text!(Time, Rate, Clients, Count, Steps);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = |text: &str| text.parse::<Time>().unwrap().0.as_millis();
        assert_eq!(ms("500ms"), 500);
        assert_eq!(ms("30"), 30_000);
        assert_eq!(ms("1m30s"), 90_000);
        assert_eq!(ms("1.5h"), 5_400_000);
        for wrong in ["", "s", "5x", "-1s", "1e400", "999999h", "5 s", "..", "\u{1f40c}"] {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!("5000/s".parse(), Ok(Rate { start_per_s: 5000.0, end_per_s: 5000.0 }));
        assert_eq!("1k..2.5k/s".parse(), Ok(Rate { start_per_s: 1000.0, end_per_s: 2500.0 }));
        for wrong in ["0", "-5/s", "x", "", "nan", "inf/s", "1..", "1e300"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts() {
        assert_eq!("70M".parse(), Ok(Count(70_000_000)));
        assert_eq!(" 2k".parse(), Ok(Count(2000)));
        assert_eq!("1.5k".parse(), Ok(Count(1500)));
        for wrong in ["", "-1", "x", "1.2", "inf", "1e300", "70MM", "M", "\u{1f40c}"] {
            assert!(wrong.parse::<Count>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn clients() {
        assert_eq!("8,1,2,2".parse(), Ok(Clients::Ladder(vec![1, 2, 8])));
        assert_eq!("1..200".parse(), Ok(Clients::Ramp { start: 1, end: 200 }));
        for wrong in ["0", "", "1,,2", "100001", "a", "1..", "-1"] {
            assert!(wrong.parse::<Clients>().is_err(), "{wrong}");
        }
    }
}
