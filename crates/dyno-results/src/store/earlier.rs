//! Earlier runs, which tell what another one like them takes: its queries, for who watches its first pass, and the rest for who
//! plans it.

use super::{Store, StoreError};
use crate::document::Report;
use crate::event::EarlierTime;
use crate::passes::PassLoad;
use crate::summary::RunSummary;

/// Runs that are read at most: a store may have many of the same workload at other scales.
const RUNS_MAX: usize = 5;

impl Store {
    /// The median of each query in the latest run of such a load, with the query's name; none where there is no such run.
    pub fn earlier_times(&self, load: &PassLoad) -> Result<Vec<(String, EarlierTime)>, StoreError> {
        let times = |report: Report| {
            let mut series = report.series.iter();
            let same = series.find(|it| it.target == load.target && it.workload == load.workload)?;
            let passes = same.passes.as_ref()?;
            let pass = passes.stages.first().and_then(|id| report.stage(*id))?;
            if pass.stage.clients != load.clients || report.scale(&load.target, &load.workload) != load.scale
            {
                return None;
            }
            let time = |seconds: f64| EarlierTime { seconds, run: report.run.name.clone() };
            let queries = passes.queries.iter();
            Some(queries.filter_map(|it| Some((it.query.clone(), time(it.median_s?)))).collect())
        };
        Ok(self.latest(|run| may_be_of(run, load), times)?.unwrap_or_default())
    }

    /// What is wanted of the latest run that has it, of those that have ended and that may have it by what a list says of them.
    pub fn latest<T>(
        &self,
        may: impl Fn(&RunSummary) -> bool,
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let runs = self.runs()?;
        let may = runs.iter().filter(|run| run.outcome.is_some() && may(run));
        // One that is damaged has nothing; an older one may.
        Ok(may.take(RUNS_MAX).filter_map(|run| self.report(&run.name).ok()).find_map(wanted))
    }
}

/// Whether a run has passes of such a load, but for their scale.
fn may_be_of(run: &RunSummary, load: &PassLoad) -> bool {
    let target = run.content.targets.iter().find(|target| target.name == load.target);
    let mut series = run.content.series.iter();
    target.is_some_and(|target| target.product == load.product)
        && series.any(|it| it.target == load.target && it.workload == load.workload && it.passes.is_some())
}
