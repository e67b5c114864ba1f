//! Groups the stages of a run into series: a ladder with its peak, and holds.

use crate::document::{Series, StageResult};
use crate::event::StageKind;
use crate::statistics::peak::{self, Rung};

/// The series in the order in which they began.
pub(super) fn group(stages: &[StageResult]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for result in stages {
        let stage = &result.stage;
        let position = all
            .iter()
            .position(|series| series.target == stage.target && series.name == stage.series)
            .unwrap_or_else(|| {
                all.push(Series {
                    target: stage.target.clone(),
                    name: stage.series.clone(),
                    workload: stage.workload.clone(),
                    ladder: Vec::new(),
                    holds: Vec::new(),
                    peak: None,
                });
                all.len() - 1
            });
        match stage.kind {
            StageKind::WarmUp => {}
            StageKind::Ladder => all[position].ladder.push(stage.id),
            StageKind::Hold | StageKind::Ramp => all[position].holds.push(stage.id),
        }
    }
    for series in &mut all {
        finish(series, stages);
    }
    all
}

fn finish(series: &mut Series, stages: &[StageResult]) {
    let find = |id: u32| stages.iter().find(|result| result.stage.id == id);
    series.ladder.sort_by_key(|id| (find(*id).map(|result| result.stage.clients), *id));
    // A rung that was cut short, or is under way, is no evidence for or against a peak.
    let rungs: Vec<Rung> = series
        .ladder
        .iter()
        .filter_map(|id| find(*id))
        .filter(|result| result.complete)
        .filter_map(|result| {
            let throughput = result.throughput?;
            Some(Rung { stage: result.stage.id, clients: result.stage.clients, throughput })
        })
        .collect();
    series.peak = peak::peak(&rungs);
}
