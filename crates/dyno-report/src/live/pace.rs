//! How far the ladders of a series are, and how long they can still take: the plan as it was told, and the pace
//! of the steps so far. A forecast for a person who waits, no measurement.

use dyno_results::event::{Stage, StageKind};

use super::Expected;
use super::stage::RunningStage;
use crate::text::DOT;
use dyno_results::format;

/// The ladders under way.
#[derive(Debug, Default)]
pub(super) struct Pace {
    expected: Vec<Expected>,
    /// The series whose ladders are under way.
    series: Option<String>,
    /// Steps begun in it, by target, in the order the targets began.
    begun: Vec<(String, u32)>,
    lost: Vec<String>,
    /// True once stages of two targets were under way at the same time.
    together: bool,
    /// When a step ended after which none was under way.
    idle_since_ms: Option<u64>,
    /// Time between steps: how many, and milliseconds in all.
    gaps: (u32, u64),
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LadderProgress {
    /// The step of the target that is furthest.
    pub(super) step: u32,
    /// Of all that there can be.
    pub(super) steps: u32,
    /// Until the last step has ended.
    pub(super) left_s: f64,
    /// True where it may end sooner.
    pub(super) at_most: bool,
}

impl LadderProgress {
    /// `step 17 of 200 · at most 3 h 3 min left`
    pub(super) fn words(&self) -> String {
        let left = format::duration_s(self.left_s.ceil());
        let at_most = if self.at_most { "at most " } else { "" };
        let (step, steps) = (u64::from(self.step), u64::from(self.steps));
        format!("step {} of {}{DOT}{at_most}{left} left", format::count(step), format::count(steps))
    }
}

impl Pace {
    pub(super) fn expect(&mut self, expected: Expected) {
        self.expected.retain(|known| known.target != expected.target || known.series != expected.series);
        self.expected.push(expected);
    }

    /// `others` is how many stages are under way already.
    pub(super) fn stage_started(&mut self, stage: &Stage, others: usize, at_ms: u64) {
        // Of streams that run at the same time the first that has steps of its own tells how far it is.
        let has_end = stage.planned_s.is_some() || stage.planned_transactions.is_some();
        if !has_end || (others > 0 && self.series.as_ref().is_some_and(|series| *series != stage.series)) {
            return;
        }
        let idle_since_ms = self.idle_since_ms.take();
        if stage.kind != StageKind::Ladder {
            self.begun.retain(|(target, _)| *target != stage.key.system);
            return;
        }
        if self.series.as_ref() != Some(&stage.series) {
            self.series = Some(stage.series.clone());
            self.begun.clear();
            self.gaps = (0, 0);
        } else if let Some(since_ms) = idle_since_ms {
            self.gaps = (self.gaps.0 + 1, self.gaps.1 + at_ms.saturating_sub(since_ms));
        }
        self.together |= others > 0;
        match self.begun.iter_mut().find(|(target, _)| *target == stage.key.system) {
            Some((_, begun)) => *begun += 1,
            None => self.begun.push((stage.key.system.clone(), 1)),
        }
    }

    pub(super) fn stage_ended(&mut self, at_ms: u64) {
        self.idle_since_ms = Some(at_ms);
    }

    pub(super) fn target_lost(&mut self, target: &str) {
        self.begun.retain(|(begun, _)| begun != target);
        self.lost.push(target.to_owned());
    }

    /// How far the ladders are; `None` where none is under way, or nobody told what is before it.
    pub(super) fn progress(&self, running: &[RunningStage], now_ms: u64) -> Option<LadderProgress> {
        let series = self.series.as_ref()?;
        let rung_of = |target: &str| {
            running.iter().find(|r| r.stage.key.system == target && r.stage.kind == StageKind::Ladder)
        };
        let step = self.begun.iter().map(|(_, begun)| *begun).max()?;
        let gap_s = if self.gaps.0 > 0 { self.gaps.1 as f64 / 1e3 / f64::from(self.gaps.0) } else { 0.0 };
        let (mut steps, mut at_most) = (0, false);
        let (mut sum_s, mut longest_s) = (0.0, 0.0_f64);
        let of_series = self.expected.iter().filter(|expected| expected.series == *series);
        for expected in of_series.filter(|expected| !self.lost.contains(&expected.target)) {
            let begun = self.begun.iter().find(|(target, _)| *target == expected.target);
            let begun = begun.map_or(0, |(_, begun)| *begun);
            let now = rung_of(&expected.target);
            // Who is more than a step behind has ended before the others.
            if now.is_none() && begun + 1 < step {
                continue;
            }
            let before = f64::from(expected.steps.saturating_sub(begun));
            let left_s =
                before * (expected.step_s + gap_s) + now.and_then(|now| now.left_s(now_ms)).unwrap_or(0.0);
            steps = steps.max(expected.steps);
            at_most |= expected.may_end_early;
            sum_s += left_s;
            longest_s = longest_s.max(left_s);
        }
        (steps > 1).then_some(LadderProgress {
            step,
            steps,
            left_s: if self.together { longest_s } else { sum_s },
            at_most,
        })
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::event::StageKey;

    use super::*;

    fn step(target: &str, clients: u32) -> Stage {
        Stage {
            id: clients,
            key: StageKey { system: target.to_owned(), ..StageKey::default() },
            series: "ingest".to_owned(),
            kind: StageKind::Ladder,
            workload: "events/ingest".to_owned(),
            clients,
            planned_s: Some(60.0),
            ..Stage::default()
        }
    }

    fn ramp(targets: &[&str]) -> Pace {
        let mut pace = Pace::default();
        for target in targets {
            pace.expect(Expected {
                target: (*target).to_owned(),
                series: "ingest".to_owned(),
                steps: 200,
                step_s: 60.0,
                may_end_early: true,
            });
        }
        pace
    }

    #[test]
    fn in_turn_the_steps_of_all_targets_add_up() {
        let mut pace = ramp(&["pg", "my"]);
        assert_eq!(pace.progress(&[], 0), None);
        pace.stage_started(&step("pg", 1), 0, 0);
        let running = [RunningStage::new(&step("pg", 1), 0)];
        let progress = pace.progress(&running, 30_000).unwrap();
        assert_eq!((progress.step, progress.steps, progress.at_most), (1, 200, true));
        assert_eq!(progress.left_s, 30.0 + 199.0 * 60.0 + 200.0 * 60.0);
        // The second step began a second after the first had ended.
        pace.stage_ended(60_000);
        pace.stage_started(&step("my", 1), 0, 61_000);
        let running = [RunningStage::new(&step("my", 1), 61_000)];
        assert_eq!(pace.progress(&running, 61_000).unwrap().left_s, 60.0 + 2.0 * 199.0 * 61.0);
    }

    #[test]
    fn together_the_longest_counts() {
        let mut pace = ramp(&["pg", "my"]);
        pace.stage_started(&step("pg", 1), 0, 0);
        pace.stage_started(&step("my", 1), 1, 0);
        let running = [RunningStage::new(&step("pg", 1), 0), RunningStage::new(&step("my", 1), 0)];
        assert_eq!(pace.progress(&running, 0).unwrap().left_s, 200.0 * 60.0);
    }

    #[test]
    fn a_stream_beside_the_ladder_changes_nothing() {
        let mut pace = ramp(&["pg"]);
        for clients in 1..=3 {
            pace.stage_started(&step("pg", clients), 0, 0);
            let beside = Stage {
                key: StageKey { stream: 1, ..step("pg", 1).key },
                series: "report".to_owned(),
                ..step("pg", 1)
            };
            pace.stage_started(&beside, 1, 0);
            pace.stage_started(&Stage { planned_s: None, ..beside }, 0, 0);
        }
        let running = [RunningStage::new(&step("pg", 3), 0)];
        assert_eq!(pace.progress(&running, 0).map(|progress| progress.step), Some(3));
    }

    #[test]
    fn who_is_lost_or_has_ended_is_waited_for_no_longer() {
        let mut pace = ramp(&["pg", "my", "ob"]);
        for (target, steps) in [("my", 1), ("ob", 3), ("pg", 3)] {
            for clients in 1..=steps {
                pace.stage_started(&step(target, clients), 0, 0);
            }
        }
        pace.target_lost("ob");
        let running = [RunningStage::new(&step("pg", 3), 0)];
        assert_eq!(pace.progress(&running, 60_000).unwrap().left_s, 197.0 * 60.0);
        let mut hold = step("pg", 2);
        hold.kind = StageKind::Hold;
        pace.stage_started(&hold, 0, 0);
        pace.stage_started(&Stage { key: step("my", 1).key, ..hold }, 0, 0);
        assert_eq!(pace.progress(&[], 0), None);
    }
}
