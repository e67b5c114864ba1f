//! Two or more runs, or targets of runs, set beside each other: each figure with its ratio to the base's, how well that
//! ratio is known, and what differs between the sides so that it must not be taken for a difference of the databases.
//!
//! [`compare`] is a pure function of what the runs left behind; [`of_store`] finds them first. How its intervals come
//! about, and when not to believe them, is told in `docs/compare.md`.

mod answers;
mod basis;
mod data;
mod differences;
mod document;
mod error;
mod estimate;
mod evidence;
mod labels;
mod ladder;
mod metrics;
mod names;
mod sections;
mod side;
mod spread;
mod work;

pub use self::document::{
    Absent, Basis, BasisUnit, Better, Cell, Comparison, DataComparison, Difference, FigureRow, Ratio,
    RungComparison, SCHEMA, Section, SectionKind, SeriesComparison, SideInfo, SideLoad, StageReference,
    Verdict,
};
pub use self::error::CompareError;
pub use self::evidence::{Evidence, Gathering};
use self::sections::SharedParts;
pub use self::side::{Member, Side};
use crate::event::HookTime;
use crate::plan::Plan;
use crate::store::Store;
use crate::words::distinct;

/// Compares what the words name (`last`, `RUN:TARGET`, `pg`, …) in a store. The first is the base unless another is
/// named as it.
pub fn of_store(store: &Store, sides: &[String], base: Option<&str>) -> Result<Comparison, CompareError> {
    let (sides, base) = names::resolve(store, sides, base)?;
    compare(&sides, base)
}

/// The full names of the runs that the words name, without reading these.
pub fn runs_of_store(store: &Store, sides: &[String]) -> Result<Vec<String>, CompareError> {
    names::runs(store, sides)
}

/// The plan of a query on a side of a comparison.
#[derive(Debug, Clone)]
pub struct SidePlan {
    /// The side's name.
    pub side: String,
    /// Plans of different ones are not compared.
    pub product: Option<String>,
    pub product_with_version: Option<String>,
    pub plan: Plan,
}

/// How each of the sides runs a query: the base first, each by its first run that says it. Where one did not run it for its plan,
/// all are as planned.
pub fn plans(
    store: &Store,
    sides: &[String],
    base: Option<&str>,
    query: &str,
) -> Result<Vec<SidePlan>, CompareError> {
    let (mut sides, base) = names::resolve(store, sides, base)?;
    if let Some(first) = sides.get_mut(..=base) {
        first.rotate_right(1);
    }
    let find = |side: &Side, executed: bool| {
        let is_meant = |plan: &&Plan| {
            side.series.as_ref().is_none_or(|only| *only == plan.series)
                && plan.query.eq_ignore_ascii_case(query)
                && (plan.when, plan.executed) == (HookTime::After, executed)
        };
        let of_member = |member: &Member| {
            let own = member.report().plans.iter().map(|shown| &shown.plan);
            own.filter(|plan| plan.target == member.target).find(is_meant).cloned()
        };
        side.members.iter().find_map(of_member)
    };
    let executed = sides.iter().all(|side| find(side, true).is_some());
    let of_side = |side: &Side| {
        let SideInfo { name, product: product_with_version, .. } = side.info();
        let product = side.members.first()?.described()?.product.clone();
        Some(SidePlan { side: name, product, product_with_version, plan: find(side, executed)? })
    };
    Ok(sides.iter().filter_map(of_side).collect())
}

/// Compares the sides with the one at `base`. Fails where they have nothing in common.
pub fn compare(sides: &[Side], base: usize) -> Result<Comparison, CompareError> {
    let pairs = pair(sides, base);
    let shared: Vec<SharedParts<'_>> =
        pairs.iter().map(|names| SharedParts::new(sides, base, names)).collect();
    if shared.is_empty() {
        let inventory =
            |side: &Side| (side.name.clone(), side.series_names().into_iter().map(str::to_owned).collect());
        return Err(CompareError::NothingInCommon { sides: sides.iter().map(inventory).collect() });
    }
    let differences = differences::differences(sides, &shared);
    Ok(Comparison {
        schema: SCHEMA,
        base,
        sides: sides.iter().map(Side::info).collect(),
        series: shared.iter().map(|shared| series(sides, shared)).collect(),
        data: data::compare(sides, base),
        absent: absent(sides, &pairs),
        findings: differences.iter().map(differences::finding).collect(),
        differences,
    })
}

/// For each series of the base that another side has too: its name on each side. Series that were named one for each
/// side belong together whatever they are called.
fn pair(sides: &[Side], base: usize) -> Vec<Vec<Option<&str>>> {
    if sides.iter().all(|side| side.series.is_some()) {
        return vec![sides.iter().map(|side| side.series.as_deref()).collect()];
    }
    let of_base = sides.get(base).map(Side::series_names).unwrap_or_default();
    let names = |name: &str| -> Vec<Option<&str>> {
        sides.iter().map(|side| side.series_names().into_iter().find(|other| *other == name)).collect()
    };
    let shared = |names: &Vec<Option<&str>>| names.iter().flatten().count() > 1;
    of_base.into_iter().map(names).filter(shared).collect()
}

fn series(sides: &[Side], shared: &SharedParts<'_>) -> SeriesComparison {
    let picks = shared.headline_picks();
    let workload = |side: &Vec<(&Member, &crate::document::Series)>| {
        side.first().map(|(_, series)| series.workload.clone())
    };
    SeriesComparison {
        name: shared.name.to_owned(),
        workloads: shared.sides.iter().map(workload).collect(),
        basis: basis::basis(sides, shared.base, picks.first().map_or(&[], Vec::as_slice)),
        sections: shared.sections(sides),
        ladder: ladder::compare(shared),
        speed_ups: shared.speed_ups(sides),
    }
}

/// Series that not all sides have.
fn absent(sides: &[Side], pairs: &[Vec<Option<&str>>]) -> Vec<Absent> {
    if sides.iter().all(|side| side.series.is_some()) {
        return Vec::new();
    }
    let names = distinct(sides.iter().flat_map(Side::series_names));
    let of_series = |name: &str| {
        let (present, lacking): (Vec<&Side>, Vec<&Side>) =
            sides.iter().partition(|side| side.series_names().contains(&name));
        let called = |sides: Vec<&Side>| sides.into_iter().map(|side| side.name.clone()).collect::<Vec<_>>();
        Absent {
            series: name.to_owned(),
            present: called(present),
            lacking: called(lacking),
            compared: pairs.iter().any(|names| names.contains(&Some(name))),
        }
    };
    names.into_iter().map(of_series).filter(|absent| !absent.lacking.is_empty()).collect()
}

#[cfg(test)]
#[path = "comparison/tests/comparison.rs"]
mod tests;
