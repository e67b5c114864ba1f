//! Whose turn it is. By default targets take turns, stage by stage, so that a noisy machine is fair to all of them, and
//! who begins changes from round to round (A B, B A, A B, …), so that none always follows the other. With `--together`
//! each runs by itself, at the same time, and stages begin at the same moment; what ends the run for one of them then
//! ends the stages of the others where they stand.

use dyno_results::event::{HookTime, StageKind};
use dyno_results::spec::{End, StageOrder};

use super::barrier::{Barrier, Participant};
use super::phase::PhaseRun;
use super::system::System;
use super::{Context, hooks, neighbours, open_files};
use crate::failure::Failure;
use crate::plan::{HookStage, PhasePlan};

/// Runs a phase on every target that is left.
pub(super) fn run<'c>(
    context: &Context<'c>,
    systems: &mut [System<'_>],
    phase: &'c PhasePlan,
) -> Result<(), Failure> {
    // A target that was given up has left its part to the others.
    neighbours::share(systems);
    open_files::compare(
        systems.iter_mut().filter(|system| system.is_live()).map(|system| system.server.files()),
    );
    let mut runs = Vec::new();
    for system in systems.iter_mut().filter(|system| system.is_live()) {
        runs.extend(SystemRun::begin(context, system, phase)?);
    }
    let mut failures = rounds(context, phase, &mut runs);
    // What was measured is checked also where the run ends here. A server that was lost may be waited for: it comes last.
    runs.sort_by_key(|run| run.failed);
    runs.iter_mut().for_each(|run| run.run.disconnect());
    open_files::compare(runs.iter_mut().map(|run| run.system.server.files()));
    failures.extend(runs.into_iter().filter_map(|run| run.end(context, phase).err()));
    Failure::of_all(failures)
}

/// A phase under way on a system.
struct SystemRun<'l, 'a, 'c> {
    system: &'l mut System<'a>,
    run: PhaseRun<'c>,
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
    ) -> Result<Option<Self>, Failure> {
        match PhaseRun::begin(context, system, phase) {
            Ok(run) => Ok(Some(Self { system, run, over: false, failed: false })),
            Err(failure) => match system.not_done(context, Some(phase), failure) {
                Ok(_) => Ok(None),
                Err(failure) => system.fail(context, failure).map(|()| None),
            },
        }
    }

    /// Runs the stages of a turn. A failure that is the target's own ends its part, and is no error here.
    fn turn(&mut self, context: &Context<'_>, participants: Vec<Participant<'_>>) -> Result<(), Failure> {
        match self.run.turn(context, self.system, participants) {
            Ok(()) => Ok(()),
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
    fn end(self, context: &Context<'_>, phase: &PhasePlan) -> Result<(), Failure> {
        let Self { system, run, failed, .. } = self;
        let checked = run.end(context, system, failed);
        if failed {
            // A check that could not be made after a broken load is no news beside what broke it.
            return Ok(());
        }
        let ended = checked.and_then(|()| {
            context.check_stopped()?;
            let series = system.plan.benchmark.series();
            let writes = phase.streams.iter().any(|stream| stream.writes(&series));
            system.describe_data_again(context, phase, writes);
            phase.streams.iter().try_for_each(|stream| {
                let stage = HookStage::Series(stream.name.clone());
                hooks::run_for_system(context, system, HookTime::After, (&stage, Some(phase.place)))
            })
        });
        ended.or_else(|failure| system.fail(context, failure))
    }
}

/// Turn by turn, until no target has a stage left. What failed.
fn rounds(context: &Context<'_>, phase: &PhasePlan, runs: &mut [SystemRun<'_, '_, '_>]) -> Vec<Failure> {
    for number in 0.. {
        for run in runs.iter_mut().filter(|run| !run.over) {
            run.run.decide(context, run.system.name());
        }
        // Who has come to the end of its ladder waits for the others: rounds are compared with each other.
        let round = runs.iter().filter(|run| !run.over).filter_map(|run| run.run.round()).min();
        let mut failures = Vec::new();
        if phase.together {
            failures = turn(context, &mut runs.iter_mut().collect::<Vec<_>>());
        } else {
            for place in order(number, runs.len()) {
                let run = &mut runs[place];
                if failures.is_empty() && run.run.round().is_none_or(|own| Some(own) == round) {
                    failures = turn(context, &mut [run]);
                }
            }
        }
        if !failures.is_empty() || runs.iter().all(|run| run.over) {
            return failures;
        }
    }
    Vec::new()
}

/// The order of a round: each begins one further than the one before.
fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (round + place) % count)
}

/// The stages that were decided of these targets, all at the same time; those that have no end of their own last as long as the
/// others. What failed on each target.
fn turn(context: &Context<'_>, runs: &mut [&mut SystemRun<'_, '_, '_>]) -> Vec<Failure> {
    let deciding = runs.iter().filter(|run| !run.over);
    let kind: Option<StageKind> = deciding.flat_map(|run| run.run.orders()).map(|order| order.kind).next();
    let Some(kind) = kind else {
        runs.iter_mut().for_each(|run| run.over = true);
        return Vec::new();
    };
    let barrier = Barrier::default();
    let mut taking_part = Vec::new();
    for run in runs.iter_mut().filter(|run| !run.over) {
        run.run.accompany(kind);
        let group = barrier.group();
        let register = |order: &StageOrder| barrier.register(&group, order.end == End::WithOthers);
        let participants: Vec<Participant<'_>> = run.run.orders().map(register).collect();
        if participants.is_empty() {
            run.over = true;
        } else {
            taking_part.push((run, participants));
        }
    }
    let run_one = |run: &mut SystemRun<'_, '_, '_>, participants: Vec<Participant<'_>>| {
        let turned = run.turn(context, participants);
        if turned.is_err() {
            barrier.cancel();
        }
        turned
    };
    std::thread::scope(|scope| {
        let run_one = &run_one;
        let threads: Vec<_> = taking_part
            .into_iter()
            .map(|(run, participants)| {
                std::thread::Builder::new().spawn_scoped(scope, move || run_one(run, participants))
            })
            .collect();
        if threads.iter().any(Result::is_err) {
            barrier.cancel();
        }
        barrier.wait_until_all_left(context.stop);
        let ended = threads.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or(Err(Failure::SystemBroken)),
            Err(error) => Err(Failure::NoThread(error)),
        });
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
