//! The steps of a preparation that loads in bulk: each is timed, and told of.

use std::time::Instant;

use dyno_results::event::PrepareStep;
use dyno_target::connection::Connection;

use super::worker_pool::{JobContext, JobError, News, WorkerPool};
use super::{PrepareError, Terms};
use crate::benchmark::Progress;

/// Runs the steps on the connections of a pool.
pub(crate) struct Steps<'a> {
    pub(crate) pool: WorkerPool<'a>,
    pub(crate) terms: &'static Terms,
    /// The target's short name, for the steps that are reported.
    pub(crate) target: &'a str,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

impl Steps<'_> {
    /// Runs and times a step that brings about so many `rows`.
    pub(crate) fn run(
        &mut self,
        step: &'static str,
        rows: Option<u64>,
        run: impl FnOnce(&mut WorkerPool<'_>, &mut dyn FnMut(News)) -> Result<(), JobError>,
    ) -> Result<(), PrepareError> {
        (self.progress)(Progress::Begun { step });
        let started = Instant::now();
        let (progress, mut done, mut bytes) = (&mut *self.progress, 0, None);
        let mut hear = |news: News| match news {
            News::Table(table) => progress(Progress::Table { step, table }),
            News::Fallback(why) => progress(Progress::Remark(why)),
            News::Refused(said) => progress(Progress::NotDone { step, said }),
            News::Bytes(size) => bytes = Some(size),
            News::Rows(added) => {
                done += added;
                progress(Progress::Rows { done, total: rows.unwrap_or(done).max(done) });
            }
        };
        run(&mut self.pool, &mut hear).map_err(|error| PrepareError::of(self.terms, step, error))?;
        progress(Progress::Finished(PrepareStep {
            target: self.target.to_owned(),
            workload: self.terms.family.to_owned(),
            step: step.to_owned(),
            seconds: started.elapsed().as_secs_f64(),
            rows: rows.map(|_| done),
            bytes,
        }));
        Ok(())
    }
}

/// Statements, one after the other.
pub(crate) fn run_list(
    connection: &mut Connection,
    list: &[String],
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    list.iter().try_for_each(|sql| context.execute(connection, sql).map(drop))
}
