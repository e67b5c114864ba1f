//! What the live views know of a run: a running fold over its events, without a clock and without drawing.
//!
//! Its figures are for watching. The report's come from `dyno_results::fold`, which knows better how to cut a
//! series and how sure it can be.

use dyno_results::document::{Lost, Report, StageResult};
use dyno_results::event::{Arrival, Data, Event, Interval, Stage, StageKind, Stamped};

use dyno_results::format;

use super::Progressed;
use super::pace::Pace;
use super::processors::{Busy, BusyProcessors};
use super::stage::RunningStage;
use crate::ladder::{DrawnRung, RungState};

/// The run so far.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// What is told once, as the report has it.
    pub(super) told: Report,
    /// One for each target at most, in the order they began.
    pub(super) preparing: Vec<Preparing>,
    pub(super) series: Vec<LiveSeries>,
    /// Stages under way: one for each target and place of a stream at most, in the order of the latter.
    pub(super) running: Vec<RunningStage>,
    /// The last stage of each target and place of a stream that has none under way.
    pub(super) rested: Vec<StageResult>,
    pub(super) activity: Option<String>,
    pub(super) finished: bool,
    pub(super) pace: Pace,
    processors: BusyProcessors,
}

/// A step of a target's preparation under way.
#[derive(Debug)]
pub(super) struct Preparing {
    pub(super) target: String,
    pub(super) step: String,
    pub(super) progressed: Progressed,
    pub(super) since_ms: u64,
}

impl Preparing {
    /// How much of it is done, 0 to 1; `None` where that is not known.
    pub(super) fn share(&self) -> Option<f64> {
        match self.progressed {
            Progressed::Rows { done, total: Some(total) } if total > 0 => {
                Some((done as f64 / total as f64).min(1.0))
            }
            Progressed::Statements { share, .. } => share,
            _ => None,
        }
    }

    /// `2,500,000 / 5,000,000`, `3 of 16 statements`; `None` where nothing is counted.
    pub(super) fn counted(&self) -> Option<String> {
        match self.progressed {
            Progressed::Rows { done, total: Some(total) } if total > 0 => {
                Some(format!("{} / {}", format::count(done), format::count(total)))
            }
            Progressed::Rows { done, .. } if done > 0 => Some(format::count(done)),
            Progressed::Statements { done, total, .. } => Some(format!("{done} of {total} statements")),
            _ => None,
        }
    }

    /// Seconds that it has taken until now.
    pub(super) fn elapsed_s(&self, now_ms: u64) -> f64 {
        now_ms.saturating_sub(self.since_ms) as f64 / 1e3
    }

    /// Seconds until it is done if it goes on as it went; `None` where that cannot be said yet.
    pub(super) fn remaining_s(&self, now_ms: u64) -> Option<f64> {
        let share = self.share().filter(|share| *share > 0.0)?;
        let spent_s = self.elapsed_s(now_ms);
        (spent_s >= 1.0).then(|| spent_s * (1.0 - share) / share)
    }

    /// What is told of the time: an estimate is one, and where there can be none yet that is said. Rows come in a stream, and
    /// what is left of them tells enough.
    pub(super) fn time(&self, now_ms: u64) -> String {
        let remaining = self.remaining_s(now_ms);
        let elapsed = format::duration_s(self.elapsed_s(now_ms).round());
        match (self.progressed, remaining) {
            (Progressed::Rows { total: Some(_), .. }, None) => String::new(),
            (Progressed::Rows { .. }, Some(left)) => format!("{} left", format::duration_s(left)),
            (Progressed::Statements { .. }, Some(left)) => {
                format!("{elapsed}, about {} left", format::duration_s(left))
            }
            (Progressed::Statements { .. }, None) => format!("{elapsed}, time left unknown"),
            _ => elapsed,
        }
    }
}

/// The stages of one curve.
#[derive(Debug)]
pub(super) struct LiveSeries {
    pub(super) target: String,
    pub(super) name: String,
    pub(super) workload: String,
    /// By load ascending, each with its stage's id.
    pub(super) rungs: Vec<(u32, DrawnRung)>,
    /// Holds and ramps that have ended, in the order they ran.
    pub(super) holds: Vec<StageResult>,
}

impl Board {
    /// Takes an event in.
    pub(super) fn apply(&mut self, stamped: &Stamped) {
        self.told.note(stamped);
        match &stamped.event {
            Event::Data(data) => self.preparing.retain(|preparing| preparing.target != data.target),
            Event::Prepare(step) => {
                self.preparing.retain(|preparing| preparing.target != step.target);
                self.activity = None;
            }
            Event::StageStarted(stage) => self.stage_started(stage, stamped.at_ms),
            Event::Interval(interval) => self.interval(interval),
            Event::QueriesRunning(running) => {
                let stage = self.running.iter_mut().find(|stage| stage.stage.id == running.stage);
                if let Some(stage) = stage {
                    stage.queries.clone_from(&running.queries);
                    stage.queries_at_ms = stamped.at_ms;
                }
            }
            Event::Sample(sample) => self.processors.take(sample, stamped.at_ms),
            Event::StageFinished(finished) => {
                if let Some(running) =
                    self.running.iter_mut().find(|running| running.stage.id == finished.stage)
                {
                    running.fold.finish(finished);
                }
                self.stage_ended(finished.stage, stamped.at_ms);
            }
            Event::Hook(_) => self.activity = None,
            Event::TargetLost(lost) => self.target_lost(&lost.target, stamped.at_ms),
            Event::Finished(_) => {
                self.activity = None;
                self.preparing.clear();
                self.finished = true;
            }
            _ => {}
        }
    }

    /// Takes the progress of a step of the preparation in.
    pub(super) fn prepare_progress(&mut self, target: &str, step: &str, progressed: Progressed, now_ms: u64) {
        self.activity = None;
        let known = self.preparing.iter().position(|preparing| preparing.target == target);
        let before = known.map(|place| self.preparing.remove(place));
        let since_ms = before.filter(|before| before.step == step).map_or(now_ms, |before| before.since_ms);
        let preparing = Preparing { target: target.to_owned(), step: step.to_owned(), progressed, since_ms };
        self.preparing.insert(known.unwrap_or(self.preparing.len()), preparing);
    }

    /// Whether the same data were told of before.
    pub(super) fn knows_data(&self, data: &Data) -> bool {
        self.told.data.iter().any(|known| known.is_of_same(data))
    }

    pub(super) fn has_several_targets(&self) -> bool {
        self.told.targets.len() > 1
    }

    pub(super) fn running_on(&self, target: &str) -> impl Iterator<Item = &RunningStage> {
        self.running.iter().filter(move |running| running.stage.key.system == target)
    }

    /// What goes on for some time in a pass, in words.
    pub(super) fn query_words(&self, running: &RunningStage, now_ms: u64) -> Option<String> {
        let before = self.rested.iter().find(|rested| is_same_place(&rested.stage, &running.stage));
        running.query_words(before, now_ms)
    }

    pub(super) fn lost(&self, target: &str) -> Option<&Lost> {
        self.told.lost.iter().find(|lost| lost.lost.target == target)
    }

    /// Processors that a target keeps busy; `None` where unknown.
    pub(super) fn busy(&self, target: &str) -> Option<Busy> {
        self.processors.of_target(target, !self.has_several_targets())
    }

    /// Processors that dyno keeps busy; `None` where unknown.
    pub(super) fn driver_cores(&self) -> Option<f64> {
        self.processors.of_driver()
    }

    fn stage_started(&mut self, stage: &Stage, at_ms: u64) {
        self.activity = None;
        self.preparing.clear();
        self.pace.stage_started(stage, self.running.len(), at_ms);
        let series = self.series_of(stage);
        if stage.kind == StageKind::Ladder {
            let rung = new_rung(stage);
            let place = series.rungs.partition_point(|(_, other)| other.cmp_load(&rung).is_le());
            series.rungs.insert(place, (stage.id, rung));
        }
        // One that never ended was given up.
        self.running.retain(|running| !is_same_place(&running.stage, stage));
        let place = self.running.partition_point(|running| running.stage.key.stream <= stage.key.stream);
        self.running.insert(place, RunningStage::new(stage, at_ms));
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(running) = self.running.iter_mut().find(|running| running.stage.id == interval.stage) else {
            return;
        };
        running.add(interval);
        let (tps, failed) = (running.fold.tps(), running.fold.totals().bad_with_drain());
        if let Some(rung) = self.rung(interval.stage) {
            rung.tps = tps;
            rung.failed = failed;
        }
    }

    /// One that was not finished was cut short.
    fn stage_ended(&mut self, stage: u32, at_ms: u64) {
        let Some(place) = self.running.iter().position(|running| running.stage.id == stage) else { return };
        let ended = self.running.remove(place).fold.result();
        if let Some(rung) = self.rung(stage) {
            rung.state = if ended.complete { RungState::Measured } else { RungState::CutShort };
            let latency = ended.latency();
            (rung.p50_us, rung.p99_us) = (latency.map(|of| of.p50_us), latency.map(|of| of.p99_us));
        }
        self.pace.stage_ended(at_ms);
        self.rested.retain(|rested| !is_same_place(&rested.stage, &ended.stage));
        self.rested.push(ended.clone());
        if matches!(ended.stage.kind, StageKind::Hold | StageKind::Ramp) {
            self.series_of(&ended.stage).holds.push(ended);
        }
    }

    /// What ran on the target ends here, whether or not its end is told too.
    fn target_lost(&mut self, target: &str, at_ms: u64) {
        self.preparing.retain(|preparing| preparing.target != target);
        let stages: Vec<u32> = self.running_on(target).map(|running| running.stage.id).collect();
        stages.into_iter().for_each(|stage| self.stage_ended(stage, at_ms));
        self.pace.target_lost(target);
    }

    fn rung(&mut self, stage: u32) -> Option<&mut DrawnRung> {
        let mut rungs = self.series.iter_mut().flat_map(|series| series.rungs.iter_mut());
        rungs.find(|(id, _)| *id == stage).map(|(_, rung)| rung)
    }

    fn series_of(&mut self, stage: &Stage) -> &mut LiveSeries {
        let known = self
            .series
            .iter()
            .position(|series| series.target == stage.key.system && series.name == stage.series);
        let place = known.unwrap_or_else(|| {
            self.series.push(LiveSeries {
                target: stage.key.system.clone(),
                name: stage.series.clone(),
                workload: stage.workload.clone(),
                rungs: Vec::new(),
                holds: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }
}

/// Whether one of these stages follows the other: on one target, and at one place of a phase.
fn is_same_place(one: &Stage, other: &Stage) -> bool {
    one.key.system == other.key.system && one.key.stream == other.key.stream
}

fn new_rung(stage: &Stage) -> DrawnRung {
    DrawnRung {
        clients: stage.clients,
        rate_per_s: match stage.arrival {
            Arrival::Open { rate_per_s, .. } => Some(rate_per_s),
            Arrival::Closed { .. } => None,
        },
        tps: None,
        p50_us: None,
        p99_us: None,
        failed: 0,
        state: RungState::Running,
        telling: false,
    }
}
