//! What the queries of a pass took in an earlier run, for who watches the first pass of another one.

use super::{Store, StoreError};
use crate::event::EarlierTime;
use crate::passes::PassLoad;
use crate::summary::RunSummary;

/// Runs that are read at most: a store may have many of the same workload at other scales.
const RUNS_MAX: usize = 5;

impl Store {
    /// The median of each query in the latest run of such a load, with the query's name; none where there is no such run.
    pub fn earlier_times(&self, load: &PassLoad) -> Result<Vec<(String, EarlierTime)>, StoreError> {
        for run in self.runs()?.iter().filter(|run| may_be_of(run, load)).take(RUNS_MAX) {
            // One that is damaged has no times; an older one may.
            let Ok(report) = self.report(&run.name) else { continue };
            let mut series = report.series.iter();
            let same = series.find(|it| it.target == load.target && it.workload == load.workload);
            let Some(passes) = same.and_then(|series| series.passes.as_ref()) else { continue };
            let pass = passes.stages.first().and_then(|id| report.stage(*id));
            let has_clients = pass.is_some_and(|pass| pass.stage.clients == load.clients);
            if has_clients && report.scale(&load.target, &load.workload) == load.scale {
                let time = |seconds: f64| EarlierTime { seconds, run: run.name.clone() };
                let times =
                    passes.queries.iter().filter_map(|it| Some((it.query.clone(), time(it.median_s?))));
                return Ok(times.collect());
            }
        }
        Ok(Vec::new())
    }
}

/// Whether a run that has ended has passes of such a load, but for their scale.
fn may_be_of(run: &RunSummary, load: &PassLoad) -> bool {
    let target = run.content.targets.iter().find(|target| target.name == load.target);
    let mut series = run.content.series.iter();
    run.outcome.is_some()
        && target.is_some_and(|target| target.product == load.product)
        && series.any(|it| it.target == load.target && it.workload == load.workload && it.passes.is_some())
}
