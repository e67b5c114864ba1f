//! Two ladders side by side: throughput and p99 at each load that both have.

use super::document::{Better, RungComparison};
use super::metrics;
use super::sections::{Shared, cells, demands};
use super::side::{Member, Picked, rungs};
use crate::document::Series;
use crate::headline::Demand;

/// The rungs that the base and at least one other side have, ascending.
pub(super) fn compare(shared: &Shared<'_>) -> Vec<RungComparison> {
    let of_side = |side: usize| -> Vec<Demand> {
        let members = shared.sides.get(side).into_iter().flatten();
        demands(&members.flat_map(|(member, series)| rungs(member, series)).collect::<Vec<_>>())
    };
    let others: Vec<Demand> =
        (0..shared.sides.len()).filter(|side| *side != shared.base).flat_map(of_side).collect();
    let mut common: Vec<Demand> =
        of_side(shared.base).into_iter().filter(|demand| others.contains(demand)).collect();
    common.sort_by(|left, right| left.height().total_cmp(&right.height()));
    // A single rung is no ladder.
    if common.len() < 2 {
        return Vec::new();
    }
    common.into_iter().map(|demand| rung(shared, demand)).collect()
}

fn rung(shared: &Shared<'_>, demand: Demand) -> RungComparison {
    let picks = shared.rung_picks(demand);
    let at = |stage_of: fn(&Series) -> Option<u32>| -> Vec<bool> {
        let is_here = |(member, series): &(&Member, &Series)| {
            let stage = stage_of(series).and_then(|id| member.evidence.stage(id));
            stage.is_some_and(|result| Demand::of(&result.stage) == demand)
        };
        shared.sides.iter().map(|side| side.iter().any(is_here)).collect()
    };
    let clients = picks.get(shared.base).and_then(Picked::load).map_or(0, |load| load.clients);
    RungComparison {
        clients,
        rate_per_s: match demand {
            Demand::Open { rate_per_s, .. } => Some(rate_per_s),
            Demand::Closed { .. } => None,
        },
        throughput: cells(&picks, shared.base, Better::Higher, metrics::throughput),
        p99_us: cells(&picks, shared.base, Better::Lower, metrics::p99),
        peak: at(|series| series.peak.as_ref().map(|peak| peak.stage)),
        saturated: at(|series| series.saturation.as_ref().map(|saturation| saturation.stage)),
    }
}
