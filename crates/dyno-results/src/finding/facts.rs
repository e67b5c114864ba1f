//! The figures and names that decide a finding. They are noted where its sentence is written: each method notes a fact and
//! returns it as the sentence has it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format;
use crate::words::list;

/// A figure or a name that decided a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What it is, `driver_share` or `table`.
    pub measure: Cow<'static, str>,
    #[serde(flatten)]
    pub value: FactValue,
}

/// A finite figure with its unit, or a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FactValue {
    Figure {
        /// A finite number.
        value: f64,
        /// Of the number.
        unit: FactUnit,
    },
    Name {
        /// The name.
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FactUnit {
    #[serde(rename = "count")]
    Count,
    #[serde(rename = "1/s")]
    PerS,
    /// 0 to 1 of a whole.
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "us")]
    Us,
    #[serde(rename = "s")]
    S,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "bytes/s")]
    BytesPerS,
}

/// Facts in the order of their sentence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Facts(pub Vec<Fact>);

impl Facts {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn figure(&mut self, measure: &'static str, value: f64, unit: FactUnit) {
        // JSON has no other numbers.
        if value.is_finite() {
            self.0.push(Fact { measure: measure.into(), value: FactValue::Figure { value, unit } });
        }
    }

    pub(crate) fn share(&mut self, measure: &'static str, share: f64) -> String {
        self.figure(measure, share, FactUnit::Share);
        format::share(share)
    }

    pub(crate) fn us(&mut self, measure: &'static str, us: f64) -> String {
        self.figure(measure, us, FactUnit::Us);
        format::latency_us(us)
    }

    pub(crate) fn s(&mut self, measure: &'static str, seconds: f64) -> String {
        self.figure(measure, seconds, FactUnit::S);
        format::duration_s(seconds)
    }

    pub(crate) fn bytes(&mut self, measure: &'static str, bytes: u64) -> String {
        self.figure(measure, bytes as f64, FactUnit::Bytes);
        format::bytes(bytes)
    }

    /// A rate without its `/s`.
    pub(crate) fn bytes_per_s(&mut self, measure: &'static str, per_s: f64) -> String {
        self.figure(measure, per_s, FactUnit::BytesPerS);
        format::bytes(per_s as u64)
    }

    /// A mean of a count, rounded in the sentence.
    pub(crate) fn mean(&mut self, measure: &'static str, mean: f64) -> String {
        self.figure(measure, mean, FactUnit::Count);
        format::count(mean.round() as u64)
    }

    /// A rate without its `/s`.
    pub(crate) fn per_s(&mut self, measure: &'static str, per_s: f64) -> String {
        self.figure(measure, per_s, FactUnit::PerS);
        format::long(per_s)
    }

    pub(crate) fn cores(&mut self, measure: &'static str, cores: f64) -> String {
        self.figure(measure, cores, FactUnit::Count);
        format::cores(cores)
    }

    pub(crate) fn count(&mut self, measure: &'static str, count: u64) -> String {
        self.figure(measure, count as f64, FactUnit::Count);
        format::count(count)
    }

    pub(crate) fn counted(&mut self, measure: &'static str, count: u64, noun: &str) -> String {
        self.figure(measure, count as f64, FactUnit::Count);
        format::counted(count, noun)
    }

    pub(crate) fn name(&mut self, measure: &'static str, name: &str) -> String {
        self.0.push(Fact { measure: measure.into(), value: FactValue::Name { text: name.to_owned() } });
        name.to_owned()
    }

    pub(crate) fn names<T: AsRef<str>>(&mut self, measure: &'static str, names: &[T]) -> String {
        names.iter().for_each(|name| _ = self.name(measure, name.as_ref()));
        list(names)
    }
}
