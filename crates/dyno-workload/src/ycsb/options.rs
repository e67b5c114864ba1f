//! What the user says of the records and the requests, and with what a table was made.

use clap::{Args, ValueEnum};
use dyno_results::spec::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::requests::Requests;
use super::{Mix, OWN, Operation};
use crate::dataset::SizeError;

/// Fields of a record, at most.
pub(super) const FIELDS_MAX: usize = 64;
/// Bytes of all fields of a record, at most.
pub(super) const RECORD_BYTES_MAX: usize = 16 << 10;
/// What the sum of shares may differ from 1 by.
const SHARES_TOLERANCE: f64 = 1e-6;
/// Digits of a key that may be asked for; 64 bits have 20.
const DIGITS_MAX: u8 = 40;

/// Options of YCSB's workloads; what is `None` is as it is found, or YCSB's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "YCSB's workloads")]
pub struct YcsbOptions {
    /// Records of the table: 1000000, 70M [default: those that are there, else what suits the machine]
    #[arg(long, alias = "recordcount", value_name = "N")]
    #[serde(alias = "recordcount")]
    pub records: Option<Count>,

    /// Which records are asked for [default: latest for ycsb/d, else zipfian]
    #[arg(long, alias = "requestdistribution", value_name = "SHAPE")]
    #[serde(alias = "requestdistribution")]
    pub requests: Option<Requests>,

    /// Fields of a record [default: those that are there, else 10]
    #[arg(long, hide_short_help = true, alias = "fieldcount", value_name = "N")]
    #[serde(alias = "fieldcount")]
    pub fields: Option<u16>,

    /// Bytes of a field [default: those that are there, else 100]
    #[arg(long, hide_short_help = true, alias = "fieldlength", value_name = "N")]
    #[serde(alias = "fieldlength")]
    pub field_length: Option<u16>,

    /// Whether keys have hashes of the records' numbers, or the numbers [default: as those that are there, else hashed]
    #[arg(long, hide_short_help = true, alias = "insertorder", value_name = "ORDER")]
    #[serde(alias = "insertorder")]
    pub insert_order: Option<InsertOrder>,

    /// Digits of a key, at least: shorter numbers begin with zeros [default: as those that are there, else 1]
    #[arg(long, hide_short_help = true, alias = "zeropadding", value_name = "N")]
    #[serde(alias = "zeropadding")]
    pub zero_padding: Option<u8>,

    /// Share of reads among the operations of ycsb/mix; the shares sum up to 1 [default: 0]
    #[arg(long, hide_short_help = true, alias = "readproportion", value_name = "SHARE")]
    #[serde(alias = "readproportion")]
    pub read_proportion: Option<f64>,

    /// Share of updates of one field among the operations of ycsb/mix [default: 0]
    #[arg(long, hide_short_help = true, alias = "updateproportion", value_name = "SHARE")]
    #[serde(alias = "updateproportion")]
    pub update_proportion: Option<f64>,

    /// Share of inserts among the operations of ycsb/mix [default: 0]
    #[arg(long, hide_short_help = true, alias = "insertproportion", value_name = "SHARE")]
    #[serde(alias = "insertproportion")]
    pub insert_proportion: Option<f64>,

    /// Share of scans among the operations of ycsb/mix [default: 0]
    #[arg(long, hide_short_help = true, alias = "scanproportion", value_name = "SHARE")]
    #[serde(alias = "scanproportion")]
    pub scan_proportion: Option<f64>,

    /// Share of reads with an update among the operations of ycsb/mix [default: 0]
    #[arg(long, hide_short_help = true, alias = "readmodifywriteproportion", value_name = "SHARE")]
    #[serde(alias = "readmodifywriteproportion")]
    pub read_modify_write_proportion: Option<f64>,

    /// Records of a scan, at least [default: 1]
    #[arg(long, hide_short_help = true, alias = "minscanlength", value_name = "N")]
    #[serde(alias = "minscanlength")]
    pub min_scan_length: Option<u32>,

    /// Records of a scan, at most [default: 100]
    #[arg(long, hide_short_help = true, alias = "maxscanlength", value_name = "N")]
    #[serde(alias = "maxscanlength")]
    pub max_scan_length: Option<u32>,
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

    /// The shares that are said, with the options' names.
    fn shares(&self) -> [(Operation, &'static str, Option<f64>); 5] {
        [
            (Operation::Read, "--read-proportion", self.read_proportion),
            (Operation::Update, "--update-proportion", self.update_proportion),
            (Operation::Insert, "--insert-proportion", self.insert_proportion),
            (Operation::Scan, "--scan-proportion", self.scan_proportion),
            (Operation::ReadModifyWrite, "--read-modify-write-proportion", self.read_modify_write_proportion),
        ]
    }

    /// Whether they are of a mix of the user's own.
    pub(super) fn have_shares(&self) -> bool {
        self.shares().iter().any(|(.., share)| share.is_some())
    }

    /// A workload as the options have it.
    ///
    /// # Errors
    /// They do not go together, or not with this workload.
    pub(super) fn apply(&self, mix: Mix) -> Result<Mix, SizeError> {
        let wrong = |said: String| Err(SizeError::OutOfRange(said));
        let is_own = mix.workload == OWN;
        let said: Vec<(&str, f64)> =
            self.shares().into_iter().filter_map(|(_, name, share)| Some((name, share?))).collect();
        match said.first() {
            Some((name, _)) if !is_own => {
                return wrong(format!("{name} is for {OWN}, and the shares of {} are fixed", mix.workload));
            }
            None if is_own => {
                let names = self.shares().map(|(_, name, _)| name).join(", ");
                return wrong(format!("{OWN} needs the shares of its operations: {names}"));
            }
            _ => {}
        }
        if let Some((name, share)) = said.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return wrong(format!("{name} takes a share from 0 to 1, and is {share}"));
        }
        let sum: f64 = said.iter().map(|(_, share)| share).sum();
        if is_own && (sum - 1.0).abs() > SHARES_TOLERANCE {
            let sum = plain(sum);
            let each: Vec<String> = said.iter().map(|(name, share)| format!("{name} {share}")).collect();
            return wrong(format!(
                "the shares of the operations sum up to {sum}, and must to 1: {}",
                each.join(", ")
            ));
        }
        let shares =
            if is_own { self.shares().map(|(it, _, share)| (it, share.unwrap_or(0.0))) } else { mix.shares };
        let requests = self.requests.unwrap_or(mix.requests);
        let [least, most] = mix.scan_length;
        let most = self.max_scan_length.unwrap_or(most);
        let least = self.min_scan_length.unwrap_or(least.min(most));
        if !(1..=most).contains(&least) {
            return wrong(format!(
                "a scan has at least 1 record and no more than --max-scan-length {most}, and --min-scan-length is {least}"
            ));
        }
        Ok(Mix { shares, requests, scan_length: [least, most], ..mix })
    }

    /// What the name of a mix of the user's own leaves open: `80% read, 20% update, zipfian`.
    pub(super) fn detail(&self, mix: Mix) -> String {
        let share =
            |(operation, share): (Operation, f64)| format!("{}% {}", plain(share * 100.0), operation.name());
        let mut parts: Vec<String> = mix.operations().map(share).collect();
        parts.extend(mix.requests.to_possible_value().map(|name| name.get_name().to_owned()));
        if mix.share(Operation::Scan) > 0.0 {
            let [least, most] = mix.scan_length;
            parts.push(format!("scans of {least} to {most} records"));
        }
        parts.extend(self.fields.map(|fields| format!("{fields} fields")));
        parts.extend(self.field_length.map(|length| format!("{length} bytes each field")));
        parts.join(", ")
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

/// Without what is lost in a sum of floats.
fn plain(number: f64) -> String {
    ((number * 1e6).round() / 1e6).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::MIXES;
    use super::*;

    #[test]
    fn shares_make_a_mix_of_ones_own() {
        let own = MIXES[6];
        let any = YcsbOptions::default();
        let said = |read: f64, update: f64| YcsbOptions {
            read_proportion: Some(read),
            update_proportion: Some(update),
            ..any
        };
        let mix = said(0.805, 0.195).apply(own).unwrap();
        assert_eq!(mix.types()[..], ["read", "update"]);
        assert_eq!(said(0.805, 0.195).detail(mix), "80.5% read, 19.5% update, zipfian");
        assert!(mix.series().writes && mix.updates());
        let only_reads = said(1.0, 0.0).apply(own).unwrap();
        assert_eq!((only_reads.types().len(), only_reads.series().writes), (1, false));
        let all = YcsbOptions {
            insert_proportion: Some(0.1),
            scan_proportion: Some(0.2),
            max_scan_length: Some(5),
            requests: Some(Requests::Uniform),
            fields: Some(2),
            field_length: Some(9),
            ..said(0.3, 0.4)
        };
        assert_eq!(
            all.detail(all.apply(own).unwrap()),
            "30% read, 40% update, 10% insert, 20% scan, uniform, scans of 1 to 5 records, 2 fields, 9 bytes each field"
        );
        let refused = |options: YcsbOptions, mix| options.apply(mix).unwrap_err().to_string();
        let sum = refused(said(0.8, 0.15), own);
        assert!(
            sum.contains("sum up to 0.95, and must to 1: --read-proportion 0.8, --update-proportion 0.15"),
            "{sum}"
        );
        assert!(refused(said(1.5, -0.5), own).contains("--read-proportion takes a share from 0 to 1"));
        assert!(refused(said(f64::NAN, 1.0), own).contains("--read-proportion takes"));
        assert!(
            refused(said(0.8, 0.2), MIXES[0]).contains("is for ycsb/mix, and the shares of ycsb/a are fixed")
        );
        assert!(refused(any, own).contains("needs the shares of its operations: --read-proportion, "));
        let scans = YcsbOptions { min_scan_length: Some(7), max_scan_length: Some(5), ..any };
        assert!(refused(scans, MIXES[4]).contains("--min-scan-length is 7"));
    }

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
