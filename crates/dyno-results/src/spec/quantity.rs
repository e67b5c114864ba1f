//! Quantities as people type them: `30s`, `5000/s`, `1,2,4` or `1..200`. In a specification they are the same text, or a
//! plain number where that is clear.

mod steps;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serializer};

pub use self::steps::{Quantity, Steps};

/// Most clients that a stage may have.
const CLIENTS_MAX: u32 = 100_000;

/// Highest rate of an open loop.
const RATE_MAX_PER_S: f64 = 1e7;

/// A time: `500ms`, `30s`, `2m`, `1h`, `1m30s`, `3 min`, or seconds as a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// Seconds of a unit, as it is written behind a number.
    pub fn unit_s(unit: &str) -> Option<f64> {
        Some(match unit {
            "ms" => 1e-3,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return None,
        })
    }
}

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
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            seconds += number
                * match &rest[..letters] {
                    "" if rest.is_empty() => 1.0,
                    unit => Self::unit_s(unit).ok_or_else(wrong)?,
                };
            rest = rest[letters..].trim_start();
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
pub struct Rate {
    pub start_per_s: f64,
    pub end_per_s: f64,
}

impl Rate {
    pub fn is_ramp(self) -> bool {
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
pub struct Count(pub u64);

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

/// How many clients: one number, a ladder `1,2,4`, a ramp `1..200`, or `auto`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clients {
    /// A ladder that ends where throughput has passed its peak.
    Auto,
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
                format!("`{text}` is no number of clients: write 1 to {CLIENTS_MAX}, a ladder 1,2,4, a ramp 1..200 or auto")
            })
        };
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        if let Some((start, end)) = text.split_once("..") {
            return Ok(Self::Ramp { start: number(start)?, end: number(end)? });
        }
        let mut rungs = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        rungs.sort_unstable();
        rungs.dedup();
        Ok(Self::Ladder(rungs))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_nanos() {
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_secs_f64() * 1e3),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_ramp() { format!("..{}", self.end_per_s) } else { String::new() };
        write!(f, "{}{end}/s", self.start_per_s)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Ladder(rungs) => {
                f.write_str(&rungs.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
            }
            Self::Ramp { start, end } => write!(f, "{start}..{end}"),
        }
    }
}

/// Reads a quantity from a specification: its text, a number, or (for clients) a list of numbers.
///
/// # Errors
/// The text is no such quantity.
pub fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text such as \"30s\", a number, or a list of numbers")]
    enum Written {
        Text(String),
        Whole(i64),
        Number(f64),
        List(Vec<u32>),
    }

    let text = match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Whole(number) => number.to_string(),
        Written::Number(number) => number.to_string(),
        Written::List(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    text.parse().map_err(de::Error::custom)
}

/// Quantities are written and read as their text.
macro_rules! as_text {
    ($($quantity:ident: $example:literal),*) => {$(
        impl<'de> serde::Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        }

        impl serde::Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $quantity {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($quantity).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": ["string", "number", "array"], "examples": [$example] })
            }
        }
    )*};
}

as_text!(Time: "30s", Rate: "5000/s", Clients: "1,2,4", Count: "70M", Steps: "1..200+10");
