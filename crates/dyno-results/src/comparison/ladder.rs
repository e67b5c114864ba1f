//! Two ladders side by side: throughput and p99 at each load that both have.

use super::document::{Better, FigureRow, RungComparison};
use super::estimate::decide;
use super::metrics;
use super::sections::{SharedParts, demands};
use super::side::{Member, Picked, rungs};
use crate::document::Series;
use crate::headline::Demand;

/// The rungs that the base and at least one other side have, ascending.
pub(super) fn compare(shared: &SharedParts<'_>) -> Vec<RungComparison> {
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
    let picks: Vec<Vec<Picked<'_>>> = common.iter().map(|demand| shared.rung_picks(*demand)).collect();
    let drafts = |picks: &Vec<Picked<'_>>| {
        let throughput = ("throughput", "1/s", Better::Higher);
        vec![
            shared.of_picks(throughput, picks, (metrics::throughput, metrics::one_transaction)),
            shared.of_picks(("p99", "us", Better::Lower), picks, (metrics::p99, |_| 0.0)),
        ]
    };
    let rows = decide(picks.iter().map(drafts).collect());
    let rungs = common.into_iter().zip(&picks).zip(rows);
    rungs.map(|((demand, picks), rows)| rung(shared, demand, picks, rows)).collect()
}

fn rung(
    shared: &SharedParts<'_>,
    demand: Demand,
    picks: &[Picked<'_>],
    rows: Vec<FigureRow>,
) -> RungComparison {
    let mut cells = rows.into_iter().map(|row| row.cells);
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
        throughput: cells.next().unwrap_or_default(),
        p99_us: cells.next().unwrap_or_default(),
        peak: at(|series| series.peak.as_ref().map(|peak| peak.stage)),
        saturated: at(|series| series.saturation.as_ref().map(|saturation| saturation.stage)),
    }
}
