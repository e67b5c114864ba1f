//! What the user says of the records and the requests, and with what a table was made.

use clap::{Args, ValueEnum};
use dyno_results::spec::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::requests::Requests;
use crate::dataset::SizeError;

/// Fields of a record, at most.
pub(super) const FIELDS_MAX: usize = 64;
/// Bytes of all fields of a record, at most.
pub(super) const RECORD_BYTES_MAX: usize = 16 << 10;
/// Digits of a key that may be asked for; 64 bits have 20.
const DIGITS_MAX: u8 = 40;

/// Options of YCSB's workloads; what is `None` is as it is found, or YCSB's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "YCSB's workloads")]
pub struct YcsbOptions {
    /// Records of the table: 1000000, 70M [default: those that are there, else what suits the machine]
    #[arg(long, alias = "recordcount", value_name = "N")]
    pub records: Option<Count>,

    /// Which records are asked for [default: latest for ycsb/d, else zipfian]
    #[arg(long, alias = "requestdistribution", value_name = "SHAPE")]
    pub requests: Option<Requests>,

    /// Fields of a record [default: those that are there, else 10]
    #[arg(long, hide_short_help = true, alias = "fieldcount", value_name = "N")]
    pub fields: Option<u16>,

    /// Bytes of a field [default: those that are there, else 100]
    #[arg(long, hide_short_help = true, alias = "fieldlength", value_name = "N")]
    pub field_length: Option<u16>,

    /// Whether keys have hashes of the records' numbers, or the numbers [default: as those that are there, else hashed]
    #[arg(long, hide_short_help = true, alias = "insertorder", value_name = "ORDER")]
    pub insert_order: Option<InsertOrder>,

    /// Digits of a key, at least: shorter numbers begin with zeros [default: as those that are there, else 1]
    #[arg(long, hide_short_help = true, alias = "zeropadding", value_name = "N")]
    pub zero_padding: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InsertOrder {
    Hashed,
    Ordered,
}

/// What decides over the loaded rows to the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Recipe {
    pub records: u64,
    pub fields: u16,
    pub field_length: u16,
    pub insert_order: InsertOrder,
    pub zero_padding: u8,
}

impl Recipe {
    /// YCSB's defaults.
    pub(super) const fn of(records: u64) -> Self {
        let insert_order = InsertOrder::Hashed;
        Self { records, fields: 10, field_length: 100, insert_order, zero_padding: 1 }
    }

    /// `field0` and on.
    pub(super) fn field_names(self) -> impl Iterator<Item = String> {
        (0..self.fields).map(|field| format!("field{field}"))
    }

    /// As the table's mark has it.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl YcsbOptions {
    /// What is wanted; what is open as in `usual`.
    pub(super) fn recipe(&self, usual: Recipe) -> Recipe {
        Recipe {
            records: self.records.map_or(usual.records, |records| records.0),
            fields: self.fields.unwrap_or(usual.fields),
            field_length: self.field_length.unwrap_or(usual.field_length),
            insert_order: self.insert_order.unwrap_or(usual.insert_order),
            zero_padding: self.zero_padding.unwrap_or(usual.zero_padding),
        }
    }

    /// # Errors
    /// Records that cannot be.
    pub(super) fn check(&self) -> Result<(), SizeError> {
        let recipe = self.recipe(Recipe::of(1));
        if (1..=u32::MAX.into()).contains(&recipe.records)
            && (1..=FIELDS_MAX).contains(&recipe.fields.into())
            && (1..=RECORD_BYTES_MAX).contains(&recipe.record_bytes())
            && recipe.zero_padding <= DIGITS_MAX
        {
            return Ok(());
        }
        Err(SizeError::OutOfRange(format!(
            "--records takes 1 to 4,294,967,295, --fields 1 to {FIELDS_MAX}, --zero-padding up to {DIGITS_MAX}, \
             and the fields of a record have 1 to {RECORD_BYTES_MAX} bytes together (--field-length)"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_cannot_be_are_refused() {
        let any = YcsbOptions::default();
        assert_eq!(any.check(), Ok(()));
        for options in [
            YcsbOptions { records: Some(Count(0)), ..any },
            YcsbOptions { fields: Some(65), ..any },
            YcsbOptions { field_length: Some(0), ..any },
            YcsbOptions { fields: Some(64), field_length: Some(257), ..any },
            YcsbOptions { zero_padding: Some(41), ..any },
        ] {
            assert!(options.check().is_err(), "{options:?}");
        }
    }
}
