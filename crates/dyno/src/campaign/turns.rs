//! Whose turn it is. By default targets take turns, stage by stage, so that a noisy machine is fair to all of them, and
//! who begins changes from round to round (A B, B A, A B, …), so that none always follows the other. With `--together`
//! each runs by itself, at the same time, and stages begin at the same moment; what ends the run for one of them then
//! ends the stages of the others where they stand.

use dyno_results::event::HookTime;

use super::barrier::Barrier;
use super::series::SeriesRun;
use super::stages::Signals;
use super::system::System;
use super::{Context, hooks, neighbours};
use crate::failure::Failure;
use crate::plan::{HookStage, PhasePlan};

/// Runs a series on every target that is left.
pub(super) fn run(context: &Context<'_>, systems: &mut [System<'_>], series: usize) -> Result<(), Failure> {
    // A target that was given up has left its part to the others.
    neighbours::share(systems);
    let Some(phase) = context.plan.phases.get(series) else { return Ok(()) };
    let mut runs = Vec::new();
    for system in systems.iter_mut().filter(|system| system.is_live()) {
        runs.extend(SystemRun::begin(context, system, phase, series)?);
    }
    let mut failures = if phase.together && runs.len() > 1 {
        together(context, &mut runs)
    } else {
        in_turn(context, &mut runs).err().into_iter().collect()
    };
    // What was measured is checked also where the run ends here. A server that was lost may be waited for: it comes last.
    runs.sort_by_key(|run| run.failed);
    failures.extend(runs.into_iter().filter_map(|run| run.end(context).err()));
    Failure::of_all(failures)
}

/// A series under way on a system.
struct SystemRun<'l, 'a, 'c> {
    system: &'l mut System<'a>,
    run: SeriesRun<'c>,
    over: bool,
    /// The load has failed, which was told.
    failed: bool,
}

impl<'l, 'a, 'c> SystemRun<'l, 'a, 'c> {
    /// `None` where the target was given up.
    fn begin(
        context: &Context<'c>,
        system: &'l mut System<'a>,
        phase: &'c PhasePlan,
        series: usize,
    ) -> Result<Option<Self>, Failure> {
        let Some(load) = system.load(series) else { return Ok(None) };
        match SeriesRun::begin(context, system, phase, load.as_ref()) {
            Ok(run) => Ok(Some(Self { system, run, over: false, failed: false })),
            Err(failure) => system.fail(context, failure).map(|()| None),
        }
    }

    /// Runs the next stage. A failure that is the target's own ends its part, and is no error here.
    fn turn(&mut self, context: &Context<'_>, signals: Signals<'_>) -> Result<(), Failure> {
        if self.over {
            return Ok(());
        }
        match self.run.turn(context, self.system, signals) {
            Ok(more) => {
                self.over = !more;
                Ok(())
            }
            Err(Failure::Cancelled) => {
                // Nothing is wrong with this target: what it has done is kept and checked.
                self.over = true;
                let text = "the load ended early here: another target failed";
                context.stream.notice(self.system.name(), self.system.stages.last(), text.to_owned());
                Ok(())
            }
            Err(failure) => {
                (self.over, self.failed) = (true, true);
                self.run.disconnect();
                self.system.fail(context, failure)
            }
        }
    }

    /// Checks what the load has left, where it failed too: when no other target has to wait for a server that may come back.
    fn end(self, context: &Context<'_>) -> Result<(), Failure> {
        let Self { system, run, failed, .. } = self;
        let series = run.series();
        let checked = run.end(context, system);
        if failed {
            // A check that could not be made after a broken load is no news beside what broke it.
            return Ok(());
        }
        let ended = checked.and_then(|()| {
            context.check_stopped()?;
            system.describe_data_again(context, series.writes);
            hooks::run_for_system(context, system, HookTime::After, HookStage::Series(series.name))
        });
        ended.or_else(|failure| system.fail(context, failure))
    }
}

/// A stage of each target in turn, until no target has any left.
fn in_turn(context: &Context<'_>, runs: &mut [SystemRun<'_, '_, '_>]) -> Result<(), Failure> {
    for round in 0.. {
        for place in order(round, runs.len()) {
            if let Some(run) = runs.get_mut(place) {
                run.turn(context, Signals { ready: &mut || true, end: context.stop })?;
            }
        }
        if runs.iter().all(|run| run.over) {
            break;
        }
    }
    Ok(())
}

/// The order of a round: each begins one further than the one before.
fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (round + place) % count)
}

/// All targets at the same time, each on a thread of its own. What failed on each of them.
fn together(context: &Context<'_>, runs: &mut [SystemRun<'_, '_, '_>]) -> Vec<Failure> {
    let barrier = Barrier::new(runs.len());
    let run_all = |run: &mut SystemRun<'_, '_, '_>| {
        let participant = barrier.register();
        while !run.over && !barrier.is_cancelled() {
            let signals = Signals { ready: &mut || participant.wait(), end: barrier.cancelled() };
            let turned = run.turn(context, signals);
            if turned.is_err() {
                barrier.cancel();
                return turned;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let run_all = &run_all;
        let begin = |one| std::thread::Builder::new().spawn_scoped(scope, move || run_all(one));
        let threads: std::io::Result<Vec<_>> = runs.iter_mut().map(begin).collect();
        let threads = match threads {
            Ok(threads) => threads,
            Err(error) => {
                barrier.cancel();
                return vec![Failure::NoThread(error)];
            }
        };
        barrier.wait_until_all_left(context.stop);
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Failure::SystemBroken)));
        ended.filter_map(Result::err).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn no_target_is_always_first() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| order(round, 2).collect()).collect();
        assert_eq!(rounds, [[0, 1], [1, 0], [0, 1], [1, 0]]);
        let of_three: Vec<usize> = (0..3).filter_map(|round| order(round, 3).next()).collect();
        assert_eq!(of_three, [0, 1, 2]);
        assert_eq!(order(7, 0).count(), 0);
    }
}
