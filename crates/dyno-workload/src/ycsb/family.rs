//! How `ycsb` is registered: its workloads' names and its options.

use dyno_target::{Capabilities, Feature};

use super::benchmark::YcsbBenchmark;
use super::options::YcsbOptions;
use super::{MIXES, Mix, NAME, OWN};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Family, Listed, RunsOn};

/// `ycsb` in the registry.
#[derive(Debug)]
pub struct YcsbFamily;

impl Family for YcsbFamily {
    type Workload = Mix;
    type Options = YcsbOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "read, then read and write: ycsb/c and ycsb/a in turn";
    const REQUIRES: &'static [Feature] = &[Feature::Keys];
    const HAS_TABLE: bool = true;
    const ALL: &'static [Mix] = &MIXES;
    const USUAL: &'static [Mix] = &[MIXES[2], MIXES[0]];

    fn usual(options: &YcsbOptions) -> Vec<Mix> {
        if options.have_shares() {
            return MIXES.into_iter().filter(|mix| mix.workload == OWN).collect();
        }
        Self::USUAL.to_vec()
    }

    fn listed(mix: Mix) -> Listed {
        Listed { name: mix.workload, about: mix.about, runs_on: RunsOn::Having(Self::REQUIRES) }
    }

    /// A letter alone says too little.
    fn calls(_: Mix) -> Vec<String> {
        Vec::new()
    }

    fn benchmark(
        mixes: Vec<Mix>,
        options: YcsbOptions,
        _: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        options.check()?;
        let mixes = mixes.into_iter().map(|mix| options.apply(mix)).collect::<Result<_, _>>()?;
        Ok(Box::new(YcsbBenchmark { mixes, options }))
    }
}
