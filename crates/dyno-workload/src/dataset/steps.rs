//! The steps of a preparation that loads in bulk: each is timed, and told of.

use std::time::Instant;

use dyno_results::event::PrepareStep;
use dyno_target::connection::Connection;

use super::worker_pool::{JobContext, JobError, News, WorkerPool};
use super::{PrepareError, Terms};
use crate::site::Progress;

/// Runs the steps on the connections of a pool.
pub(crate) struct Steps<'a> {
    pub(crate) pool: WorkerPool<'a>,
    pub(crate) terms: &'static Terms,
    /// The target's short name, for the steps that are reported.
    pub(crate) target: &'a str,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

/// What a step has before it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Planned {
    Unknown,
    Rows(u64),
    Statements(Work),
}

/// Statements, of which nobody says how far they are, and the rows of the tables that they go through.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    statements: u32,
    rows: u64,
}

/// A statement of a step, with the rows of the table that it goes through.
#[derive(Debug)]
pub(crate) struct StepStatement {
    pub(crate) sql: String,
    pub(crate) rows: u64,
}

impl Work {
    pub(crate) fn of<'a>(statements: impl IntoIterator<Item = &'a StepStatement>) -> Self {
        statements.into_iter().fold(Self::default(), |work, statement| work.and(statement.rows))
    }

    /// One more statement.
    fn and(self, rows: u64) -> Self {
        Self { statements: self.statements + 1, rows: self.rows + rows }
    }
}

impl Steps<'_> {
    /// Runs and times a step.
    pub(crate) fn run(
        &mut self,
        step: &'static str,
        planned: Planned,
        run: impl FnOnce(&mut WorkerPool<'_>, &mut dyn FnMut(News)) -> Result<(), JobError>,
    ) -> Result<(), PrepareError> {
        (self.progress)(Progress::Begun { step });
        let started = Instant::now();
        let (progress, mut done, mut bytes) = (&mut *self.progress, 0, None);
        let mut worked = Work::default();
        let rows = match planned {
            Planned::Rows(rows) => Some(rows),
            _ => None,
        };
        let mut hear = |news: News| match news {
            News::Table(table) => progress(Progress::Table { step, table }),
            News::Fallback(why) => progress(Progress::Remark(why)),
            News::Refused(said) => progress(Progress::NotDone { step, said }),
            News::Bytes(size) => bytes = Some(size),
            News::Rows(added) => {
                done += added;
                progress(Progress::Rows { done, total: rows.unwrap_or(done).max(done) });
            }
            News::Statement(rows) => {
                worked = worked.and(rows);
                tell_work(step, worked, planned, progress);
            }
            News::Waiting => tell_work(step, worked, planned, progress),
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

fn tell_work(step: &'static str, worked: Work, planned: Planned, progress: &mut dyn FnMut(Progress)) {
    let Planned::Statements(work) = planned else { return };
    // By the rows gone through: a key of a large table takes longer than one of a small.
    let share = (work.rows > 0).then(|| (worked.rows as f64 / work.rows as f64).min(1.0));
    progress(Progress::Statements { step, done: worked.statements, total: work.statements, share });
}

/// Statements, one after the other.
pub(crate) fn run_list(
    connection: &mut Connection,
    list: &[StepStatement],
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    list.iter().try_for_each(|statement| {
        context.execute(connection, &statement.sql)?;
        context.tell(News::Statement(statement.rows));
        Ok(())
    })
}
