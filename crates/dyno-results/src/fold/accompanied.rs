//! Which stage of another stream a stage accompanied: of a load that stays the same beside a ladder, the ladder's clients or
//! rate are what changed from stage to stage.

use std::collections::BTreeMap;

use crate::document::StageResult;
use crate::event::StageKind;

type Name = (String, String);

/// Fills in [`StageResult::accompanies`].
pub(super) fn fill(stages: &mut [StageResult]) {
    if stages.iter().all(|result| result.stage.key.stream == 0) {
        return;
    }
    let rising = rising(stages);
    let rises = |result: &StageResult| rising.get(&name(result)).is_some_and(|rises| *rises);
    let beside = |own: &StageResult| {
        let mut others = stages.iter().filter(|other| other.stage.key.is_beside(&own.stage.key));
        others.find(|other| rises(other)).map(|other| other.stage.id)
    };
    let follows = |own: &StageResult| own.stage.kind != StageKind::WarmUp && !rises(own);
    let found: Vec<Option<u32>> =
        stages.iter().map(|own| follows(own).then(|| beside(own)).flatten()).collect();
    for (result, accompanies) in stages.iter_mut().zip(found) {
        result.accompanies = accompanies;
    }
}

/// Whether the rungs of each series differ in their load.
fn rising(stages: &[StageResult]) -> BTreeMap<Name, bool> {
    let mut first: BTreeMap<Name, (u32, Option<f64>)> = BTreeMap::new();
    let mut rising = BTreeMap::new();
    for result in stages.iter().filter(|result| result.stage.kind == StageKind::Ladder) {
        let load = (result.stage.clients, result.stage.rate_per_s());
        let differs = *first.entry(name(result)).or_insert(load) != load;
        *rising.entry(name(result)).or_default() |= differs;
    }
    rising
}

fn name(result: &StageResult) -> Name {
    (result.stage.key.system.clone(), result.stage.series.clone())
}
