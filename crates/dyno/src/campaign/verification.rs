//! Whether the database holds what it acknowledged: its data is read before a load and compared after it. A
//! check that is not made is told as well as one that fails. Never looks while the load moves.

use dyno_results::event::{Check, Event};
use dyno_workload::benchmark::{Baseline, Done, Load, Series};

use super::Context;
use super::admin::cancellable;
use super::rollers::Rollers;
use super::stages::StageSum;
use crate::failure::Failure;

/// Stands for all checks of a load where none could be made.
const NOT_MADE: &str = "data-after-load";

/// The check of one series, from before its load to after it.
pub(super) struct Verification {
    series: Series,
    /// `None` where the user wants no check.
    baseline: Option<Box<dyn Baseline>>,
}

impl Verification {
    /// Reads the data before the load.
    pub(super) fn begin(
        context: &Context<'_>,
        rollers: &mut Rollers,
        load: &dyn Load,
    ) -> Result<Self, Failure> {
        let series = load.series();
        if !context.plan.verify {
            return Ok(Self { series, baseline: None });
        }
        context.stream.activity("reading the data before the load");
        let baseline =
            cancellable(context, rollers.reconnect_if_broken()?, |connection| load.baseline(connection))?;
        Ok(Self { series, baseline: Some(baseline) })
    }

    /// Compares, after a load that brought `sums`; its clients must be gone.
    pub(super) fn end(
        self,
        context: &Context<'_>,
        rollers: &mut Rollers,
        sums: &[StageSum],
    ) -> Result<(), Failure> {
        if sums.is_empty() {
            // No transaction was ever begun.
            return Ok(());
        }
        let why_not = match &self.baseline {
            None => "--no-verify says so",
            // To compare means to read all the data, which is not what a user waits for who wants to stop.
            _ if context.is_stopped() => "interrupted",
            _ if !sums.iter().all(|sum| sum.counted) => {
                "the load broke off before all that was acknowledged was counted"
            }
            Some(baseline) => {
                let checked = compare(context, rollers, baseline.as_ref(), sums);
                if let Err(failure) = &checked {
                    self.tell_not_made(context, &failure.to_string());
                }
                return checked;
            }
        };
        self.tell_not_made(context, why_not);
        Ok(())
    }

    /// Of a load that only reads there is nothing to miss.
    fn tell_not_made(&self, context: &Context<'_>, why: &str) {
        if self.series.writes {
            context.stream.emit(Event::Check(Check {
                target: context.target().to_owned(),
                workload: self.series.workload.to_owned(),
                name: NOT_MADE.to_owned(),
                passed: None,
                expected: None,
                found: None,
                detail: format!("what the load left behind was not checked: {why}"),
            }));
        }
    }
}

fn compare(
    context: &Context<'_>,
    rollers: &mut Rollers,
    baseline: &dyn Baseline,
    sums: &[StageSum],
) -> Result<(), Failure> {
    context.stream.activity("verifying");
    let mut done = Done::default();
    sums.iter().for_each(|sum| done.add(&sum.told));
    let checks = cancellable(context, rollers.reconnect_if_broken()?, |connection| {
        baseline.verify(connection, context.target(), done)
    })?;
    for check in checks {
        context.stream.emit(Event::Check(check));
    }
    Ok(())
}
