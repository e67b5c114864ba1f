//! A report that is kept up with its fold: what has not changed since is not made again. A ramp has hundreds of stages, of
//! which one or two change in a second.

use std::collections::BTreeMap;

use super::{Fold, limits, resources, series, sizes};
use crate::document::{Report, StageResult};

/// What a report was made of when it was brought up to date last.
#[derive(Debug, Default)]
pub struct FoldProgress {
    /// By stage.
    made: BTreeMap<u32, StageRevision>,
    /// When each stream of telemetry was read last, seconds since the run started.
    read_up_to: BTreeMap<(String, String), Option<f64>>,
    /// The last event that was there, seconds since the run started.
    looked_s: f64,
    /// Metrics that were there: a new one may give others another name.
    metrics: usize,
    times: u64,
}

#[derive(Debug, Clone, Copy)]
struct StageRevision {
    revision: u64,
    stamp: u64,
}

impl FoldProgress {
    /// Differs from what it was where the stage's result may.
    #[must_use]
    pub fn stamp(&self, stage: u32) -> Option<u64> {
        self.made.get(&stage).map(|made| made.stamp)
    }
}

impl Fold {
    /// Brings a report of this fold up to date, but for its timelines, which are left as they are: it is then what
    /// [`Fold::report_without_timelines`] gives. `progress` is of this report and of no other; for a new report, a new one.
    pub fn bring_up_to_date(&self, report: &mut Report, progress: &mut FoldProgress) {
        let metrics = self.telemetry.metrics_known();
        let everything = report.targets != self.targets
            || report.stages.len() > self.stages.len()
            || std::mem::replace(&mut progress.metrics, metrics) != metrics;
        self.renew_stages(report, progress, everything);
        report.run = self.run();
        report.targets.clone_from(&self.targets);
        report.hosts.clone_from(&self.hosts);
        report.settings.clone_from(&self.settings);
        report.data.clone_from(&self.data);
        report.found.clone_from(&self.found);
        report.prepare.clone_from(&self.prepare);
        let known = limits::RunFacts { targets: &self.targets, hosts: &self.hosts, settings: &self.settings };
        report.series = series::group(&report.stages, Some(&known));
        report.sizes = sizes::sizes(&self.data);
        report.checks.clone_from(&self.checks);
        report.hooks.clone_from(&self.hooks);
        report.lost.clone_from(&self.lost);
        report.findings.clone_from(&self.findings);
        report.notices.clone_from(&self.notices);
    }

    fn renew_stages(&self, report: &mut Report, progress: &mut FoldProgress, everything: bool) {
        progress.times += 1;
        let from_s = self.read_since(progress);
        let stages = &mut report.stages;
        if everything {
            stages.clear();
        }
        let mut renewed = vec![false; self.stages.len()];
        for (place, (id, stage)) in self.stages.iter().enumerate() {
            let known = stages.get(place).is_some_and(|result| result.stage.id == *id);
            let changed = !known
                || progress.made.get(id).is_none_or(|made| made.revision != stage.revision())
                || stage.end_s() >= from_s;
            if !changed {
                continue;
            }
            renewed[place] = true;
            if !known {
                stages.truncate(place);
            }
            match stages.get_mut(place) {
                Some(result) => *result = stage.result(),
                None => stages.push(stage.result()),
            }
            let made = StageRevision { revision: stage.revision(), stamp: progress.times };
            progress.made.insert(*id, made);
        }
        let beside = overlapping(stages, &renewed);
        beside.iter().for_each(|place| {
            if let Some(made) = progress.made.get_mut(&stages[*place].stage.id) {
                made.stamp = progress.times;
            }
        });
        let is_wanted = |place: usize| renewed[place] || beside.contains(&place);
        resources::fill(stages, &self.timelines(), &self.targets, is_wanted);
    }

    /// From when on telemetry has come since the report was made, seconds; notes how far it is read now.
    fn read_since(&self, progress: &mut FoldProgress) -> f64 {
        let now: BTreeMap<_, _> =
            self.telemetry.read_up_to().map(|(key, last_s)| (key.clone(), last_s)).collect();
        let news = now.iter().filter(|(key, last_s)| progress.read_up_to.get(*key) != Some(*last_s));
        // A stream that was not there has begun since the last look.
        let from_s = news.map(|(key, _)| progress.read_up_to.get(key).copied().flatten());
        let from_s = from_s.map(|from_s| from_s.unwrap_or(progress.looked_s)).reduce(f64::min);
        progress.read_up_to = now;
        progress.looked_s = self.last_ms as f64 / 1000.0;
        from_s.unwrap_or(f64::INFINITY)
    }
}

/// Stages that are as they were, and that ran while one that has changed did: whose costs are whose is told by that.
fn overlapping(stages: &[StageResult], renewed: &[bool]) -> Vec<usize> {
    let span = |result: &StageResult| (result.start_s, result.start_s + result.seconds);
    let changed: Vec<(f64, f64)> =
        stages.iter().zip(renewed).filter(|(_, renewed)| **renewed).map(|(result, _)| span(result)).collect();
    let overlaps = |result: &StageResult| {
        let (start_s, end_s) = span(result);
        changed.iter().any(|(from_s, to_s)| *from_s < end_s && start_s < *to_s)
    };
    let left = stages.iter().zip(renewed).enumerate().filter(|(_, (_, renewed))| !**renewed);
    left.filter(|(_, (result, _))| overlaps(result)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, StageKind, Stamped};
    use crate::fixture::{Fixture, FixtureStage, clean_fixture, saturated_ladder};

    /// A ramp whose host is read, with all its counters.
    fn ramp() -> Fixture {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.read("host", "cpus", 4.0);
        for (key, per_second) in [
            ("cpu_user_seconds_total", 2.5),
            ("cpu_idle_seconds_total", 1.5),
            ("disk_read_seconds_total", 0.1),
            ("disk_write_seconds_total", 0.2),
            ("disk_read_operations_total", 10.0),
            ("disk_write_operations_total", 20.0),
        ] {
            fixture.grow("host", key, per_second);
        }
        saturated_ladder(&mut fixture, |fixture, busy| fixture.read("host", "made_up_gauge_bytes", busy));
        fixture
    }

    /// Whatever came between two looks, the report is that of all at once.
    fn kept_up(events: &[Stamped], each: usize) {
        let (mut fold, mut progress) = (Fold::new(), FoldProgress::default());
        let mut report = Fold::new().report_without_timelines();
        for (index, stamped) in events.iter().enumerate() {
            fold.add(stamped);
            if index % each == 0 || index + 1 == events.len() {
                fold.bring_up_to_date(&mut report, &mut progress);
                let whole = fold.report_without_timelines();
                assert_eq!(
                    serde_json::to_value(&report).unwrap(),
                    serde_json::to_value(&whole).unwrap(),
                    "behind event {index}"
                );
            }
        }
    }

    #[test]
    fn a_report_that_is_kept_up_is_the_report() {
        for each in [1, 2, 7] {
            kept_up(&clean_fixture().events, each);
            kept_up(&ramp().events, each);
        }
    }

    #[test]
    fn a_stage_that_is_over_is_made_anew_only_where_something_came_of_its_time() {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.read("host", "cpus", 4.0);
        fixture.grow("host", "cpu_user_seconds_total", 2.0);
        let stages: Vec<u32> = (0..4)
            .map(|_| fixture.play(&FixtureStage::write(StageKind::Ladder, 4, &[100, 110, 90])))
            .collect();
        let (mut fold, mut progress) = (Fold::new(), FoldProgress::default());
        let mut report = Fold::new().report_without_timelines();
        let mut stamps = Vec::new();
        for stamped in &fixture.events {
            fold.add(stamped);
            fold.bring_up_to_date(&mut report, &mut progress);
            stamps.push(stages.iter().map(|id| progress.stamp(*id)).collect::<Vec<_>>());
        }
        let begun = |id: u32| {
            let is_begin = |event: &Event| matches!(event, Event::StageStarted(stage) if stage.id == id);
            fixture.events.iter().position(|stamped| is_begin(&stamped.event)).unwrap()
        };
        let (third, end) = (begun(stages[2]), stamps.len() - 1);
        assert!(stamps[third][0].is_some());
        assert_eq!(stamps[third][0], stamps[end][0], "the first was over long before the third began");
        assert_ne!(stamps[third][2], stamps[end][2]);
    }
}
