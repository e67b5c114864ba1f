//! Whose turn it is. By default targets take turns, stage by stage, so that a noisy machine is fair to all of them, and
//! who begins changes from round to round (A B, B A, A B, …), so that none always follows the other. With `--together`
//! each runs by itself, at the same time, and stages begin at the same moment; what ends the run for one of them then
//! ends the stages of the others where they stand.

use dyno_results::event::HookTime;

use super::lane::Lane;
use super::series::SeriesRun;
use super::stages::Signals;
use super::start_line::StartLine;
use super::{Context, hooks, neighbours};
use crate::failure::Failure;
use crate::plan::{HookStage, PhasePlan};

/// Runs a series on every target that is left.
pub(super) fn run(context: &Context<'_>, lanes: &mut [Lane<'_>], series: usize) -> Result<(), Failure> {
    // A target that was given up has left its part to the others.
    neighbours::share(lanes);
    let Some(phase) = context.plan.phases.get(series) else { return Ok(()) };
    let mut drives = Vec::new();
    for lane in lanes.iter_mut().filter(|lane| lane.is_live()) {
        drives.extend(Drive::begin(context, lane, phase, series)?);
    }
    let mut failures = if phase.together && drives.len() > 1 {
        together(context, &mut drives)
    } else {
        in_turn(context, &mut drives).err().into_iter().collect()
    };
    // What was measured is checked also where the run ends here. A server that was lost may be waited for: it comes last.
    drives.sort_by_key(|drive| drive.failed);
    failures.extend(drives.into_iter().filter_map(|drive| drive.end(context).err()));
    Failure::of_all(failures)
}

/// A target with the series that it runs.
struct Drive<'l, 'a, 'c> {
    lane: &'l mut Lane<'a>,
    run: SeriesRun<'c>,
    over: bool,
    /// The load has failed, which was told.
    failed: bool,
}

impl<'l, 'a, 'c> Drive<'l, 'a, 'c> {
    /// `None` where the target was given up.
    fn begin(
        context: &Context<'c>,
        lane: &'l mut Lane<'a>,
        phase: &'c PhasePlan,
        series: usize,
    ) -> Result<Option<Self>, Failure> {
        let Some(load) = lane.load(series) else { return Ok(None) };
        match SeriesRun::begin(context, lane, phase, load.as_ref()) {
            Ok(run) => Ok(Some(Self { lane, run, over: false, failed: false })),
            Err(failure) => lane.fail(context, failure).map(|()| None),
        }
    }

    /// Runs the next stage. A failure that is the target's own ends its part, and is no error here.
    fn turn(&mut self, context: &Context<'_>, signals: Signals<'_>) -> Result<(), Failure> {
        if self.over {
            return Ok(());
        }
        match self.run.turn(context, self.lane, signals) {
            Ok(more) => {
                self.over = !more;
                Ok(())
            }
            Err(Failure::CalledOff) => {
                // Nothing is wrong with this target: what it has done is kept and checked.
                self.over = true;
                let text =
                    "the load ended here before its time: the run ends with a failure on another target";
                context.stream.notice(self.lane.name(), self.lane.stages.last(), text.to_owned());
                Ok(())
            }
            Err(failure) => {
                (self.over, self.failed) = (true, true);
                self.run.disconnect();
                self.lane.fail(context, failure)
            }
        }
    }

    /// Checks what the load has left, where it failed too: when no other target has to wait for a server that may come back.
    fn end(self, context: &Context<'_>) -> Result<(), Failure> {
        let Self { lane, run, failed, .. } = self;
        let series = run.series();
        let checked = run.end(context, lane);
        if failed {
            // A check that could not be made after a broken load is no news beside what broke it.
            return Ok(());
        }
        let ended = checked.and_then(|()| {
            context.check_stopped()?;
            lane.describe_data_again(context, series.writes);
            hooks::run_lane(context, lane, HookTime::After, HookStage::Series(series.name))
        });
        ended.or_else(|failure| lane.fail(context, failure))
    }
}

/// A stage of each target in turn, until no target has any left.
fn in_turn(context: &Context<'_>, drives: &mut [Drive<'_, '_, '_>]) -> Result<(), Failure> {
    for round in 0.. {
        for place in order(round, drives.len()) {
            if let Some(drive) = drives.get_mut(place) {
                drive.turn(context, Signals { ready: &mut || true, end: context.stop })?;
            }
        }
        if drives.iter().all(|drive| drive.over) {
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
fn together(context: &Context<'_>, drives: &mut [Drive<'_, '_, '_>]) -> Vec<Failure> {
    let line = StartLine::new(drives.len());
    let drive = |drive: &mut Drive<'_, '_, '_>| {
        let entrant = line.enter();
        while !drive.over && !line.is_called_off() {
            let signals = Signals { ready: &mut || entrant.wait(), end: line.called_off() };
            let turned = drive.turn(context, signals);
            if turned.is_err() {
                line.call_off();
                return turned;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let drive = &drive;
        let begin = |one| std::thread::Builder::new().spawn_scoped(scope, move || drive(one));
        let threads: std::io::Result<Vec<_>> = drives.iter_mut().map(begin).collect();
        let threads = match threads {
            Ok(threads) => threads,
            Err(error) => {
                line.call_off();
                return vec![Failure::NoThread(error)];
            }
        };
        line.attend(context.stop);
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Failure::LaneBroken)));
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
