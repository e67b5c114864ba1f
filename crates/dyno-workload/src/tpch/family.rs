//! How `tpch` is registered: its workloads' names and its options.

use clap::{Args, ValueEnum};
use dyno_target::{Capabilities, Feature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NAME;
use super::benchmark::TpchBenchmark;
use super::orders::Order;
use super::schema::Scale;
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::dataset::SizeError;
use crate::family::{Family, Listed, RunsOn, ScaleOption};

/// Smallest and largest scale. Beyond it keys of parts do not fit into 32 bits.
const SCALES: [f64; 2] = [0.01, 10_000.0];

/// `tpch` in the registry.
#[derive(Debug)]
pub struct TpchFamily;

/// What a user says of the data and the queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Workload")]
pub struct TpchOptions {
    /// Scale of the data of tpcb, storage or tpch; a unit is 100,000 accounts, about 16 MB, or of tpch 8.7 million rows, about 1 GB [default:
    /// that of the data that is there, else from the machine, of storage 10, of tpch 1]
    #[arg(long, short = 's', value_name = "N")]
    pub scale: Option<ScaleOption>,

    /// Keys and indexes of tpch: none, keys (primary keys) or keys+fk (with foreign keys and indexes for them)
    /// [default: as those that are there, else keys+fk]
    #[arg(long, value_name = "WHICH")]
    pub indexes: Option<Indexes>,

    /// Values in the queries of tpch: validation (of the specification, for the first client; those of others are drawn) or
    /// random (drawn by the seed of the run) [default: validation]
    #[arg(long, value_name = "WHICH")]
    pub parameters: Option<Parameters>,
}

/// What is made beside the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Indexes {
    None,
    Keys,
    #[value(name = "keys+fk")]
    #[serde(rename = "keys+fk")]
    KeysFk,
}

/// Which values the queries have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parameters {
    #[default]
    Validation,
    Random,
}

impl TpchOptions {
    fn check(&self) -> Result<(), SizeError> {
        let [least, most] = SCALES;
        match self.scale {
            Some(ScaleOption(scale)) if !(least..=most).contains(&scale) => {
                Err(SizeError::OutOfRange(format!(
                    "--scale={scale} is out of range: tpch takes {least} to {most} (a unit is about 1 GB)"
                )))
            }
            Some(ScaleOption(scale)) if Scale(scale).repeats_suppliers() => {
                let [smaller, larger] = Scale(scale).nearest_without_repeats();
                Err(SizeError::OutOfRange(format!(
                    "--scale={scale} cannot be had: with so few suppliers, TPC-H's formula gives some parts the same supplier \
                     twice, which the key of partsupp forbids; {smaller} and {larger} are near and can be had"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// One of the workloads.
#[derive(Debug, Clone, Copy)]
pub struct Queries {
    pub(super) workload: &'static str,
    about: &'static str,
    pub(super) order: Order,
}

const QUERIES: [Queries; 2] = [
    Queries {
        workload: "tpch/queries",
        about: "the 22 queries derived from TPC-H, 1 to 22; further clients have other orders",
        order: Order::Ascending,
    },
    Queries {
        workload: "tpch/power",
        about: "the same in the order of the power test, without its refresh functions",
        order: Order::Power,
    },
];

impl Family for TpchFamily {
    type Workload = Queries;
    type Options = TpchOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "22 queries on eight tables, derived from TPC-H: tpch/queries";
    const REQUIRES: &'static [Feature] = &[Feature::Dates];
    const FURTHER: &'static [&'static str] = &["answers", "record", "plans"];
    const HAS_TABLE: bool = true;
    const ALL: &'static [Queries] = &QUERIES;
    const USUAL: &'static [Queries] = &[QUERIES[0]];

    fn listed(queries: Queries) -> Listed {
        Listed { name: queries.workload, about: queries.about, runs_on: RunsOn::Having(Self::REQUIRES) }
    }

    fn benchmark(
        queries: Vec<Queries>,
        options: TpchOptions,
        _: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        options.check()?;
        Ok(Box::new(TpchBenchmark { queries, options }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_that_cannot_be_had_are_refused_with_those_that_can() {
        let check = |scale| TpchOptions { scale: Some(ScaleOption(scale)), ..TpchOptions::default() }.check();
        for (scale, near) in [(0.015, "0.0149 and 0.0151"), (0.012, "0.0119 and 0.0121")] {
            let said = check(scale).unwrap_err().to_string();
            assert!(said.starts_with(&format!("--scale={scale} ")) && said.contains(near), "{said}");
        }
        assert!(check(0.01).is_ok() && check(0.02).is_ok() && check(0.3).is_ok());
        assert!(check(0.009).unwrap_err().to_string().contains("out of range"));
    }
}
