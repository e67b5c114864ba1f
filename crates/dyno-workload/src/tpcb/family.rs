//! How tpcb is registered: its workloads' names and its options.

use clap::Args;
use dyno_target::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NAME, Script, TpcbBenchmark};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::dataset::SizeError;
use crate::family::{Family, Listed, ScaleOption};

/// `tpcb` in the registry.
#[derive(Debug)]
pub struct TpcbFamily;

/// What a user says of the data.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "Workload")]
pub struct TpcbOptions {
    /// Scale of the data of tpcb, storage or tpch; a unit is 100,000 accounts, about 16 MB, or of tpch about 1 GB [default: that
    /// of the data that is there, else from the machine, of storage 10, of tpch 1]
    #[arg(long, short = 's', value_name = "N")]
    pub scale: Option<ScaleOption>,
}

impl Family for TpcbFamily {
    type Workload = Script;
    type Options = TpcbOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "read, then write: tpcb/select-only and tpcb/tpcb-like in turn";
    const RUNS_ON: &'static [&'static str] = &["PostgreSQL", "SQLite"];
    const ALL: &'static [Script] = &Script::ALL;
    const USUAL: &'static [Script] = &[Script::SelectOnly, Script::TpcbLike];

    fn listed(script: Script) -> Listed {
        Listed { name: script.workload(), about: script.about(), runs_on: Self::RUNS_ON }
    }

    fn benchmark(
        scripts: Vec<Script>,
        options: TpcbOptions,
        _target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let whole = |ScaleOption(scale)| match scale as u64 {
            whole if (whole as f64).to_bits() == scale.to_bits() => Ok(whole),
            _ => Err(SizeError::OutOfRange(format!("--scale={scale}: the scale of tpcb is a whole number"))),
        };
        let scale = options.scale.map(whole).transpose()?;
        Ok(Box::new(TpcbBenchmark::new(scripts, scale)?))
    }
}
