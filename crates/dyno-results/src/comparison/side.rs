//! The sides of a comparison, and which of their stages speak for them.

use std::sync::Arc;

use super::document::{SideInfo, SideLoad, StageReference};
use super::estimate::SideFigure;
use super::evidence::Evidence;
use super::spread::Spread;
use crate::document::{Report, Series, StageResult};
use crate::event::{StageKind, Target};
use crate::headline::{self, Demand};
use crate::words::distinct;

/// One target in one run, or in several that repeat each other.
#[derive(Debug, Clone)]
pub struct Side {
    /// As readers see it.
    pub name: String,
    /// At least one.
    pub members: Vec<Member>,
    /// The one series that is meant; `None` for all.
    pub series: Option<String>,
}

/// A target in a run.
#[derive(Debug, Clone)]
pub struct Member {
    pub evidence: Arc<Evidence>,
    pub target: String,
}

impl Member {
    pub(super) fn report(&self) -> &Report {
        self.evidence.report()
    }

    pub(super) fn described(&self) -> Option<&Target> {
        self.report().target(&self.target)
    }

    pub(super) fn series(&self, name: &str) -> Option<&Series> {
        self.report().series.iter().find(|series| series.target == self.target && series.name == name)
    }
}

impl Side {
    /// Names of the series that this side offers: those that any of its runs has, in their order.
    pub(super) fn series_names(&self) -> Vec<&str> {
        let is_meant = |series: &Series| self.series.as_ref().is_none_or(|only| *only == series.name);
        let names = self.members.iter().flat_map(|member| {
            let of_target = member.report().series.iter().filter(|series| series.target == member.target);
            of_target.filter(|series| is_meant(series)).map(|series| series.name.as_str())
        });
        distinct(names)
    }

    pub(super) fn info(&self) -> SideInfo {
        let described = self.members.first().and_then(Member::described);
        let product = described.and_then(Target::product_with_version);
        let first = self.members.first().map(Member::report);
        SideInfo {
            name: self.name.clone(),
            runs: self.members.iter().map(|member| member.report().run.name.clone()).collect(),
            target: self.members.first().map(|member| member.target.clone()).unwrap_or_default(),
            series: self.series.clone(),
            product,
            embedded_profile: described
                .and_then(|target| target.embedded.as_ref())
                .map(|embedded| embedded.profile.clone()),
            started_at: first.map(|report| report.run.started_at.clone()).unwrap_or_default(),
        }
    }
}

/// The stages of one side that speak for it, for each of its runs that has any.
#[derive(Debug, Clone, Default)]
pub(super) struct Picked<'a>(pub(super) Vec<(&'a Member, Vec<&'a StageResult>)>);

/// What a figure of a stage is measured by, in the figure's unit: where it is counted in ticks or blocks, two stages that
/// differ by one of them do not differ.
pub(super) type Resolution = fn(&StageResult) -> f64;

/// A figure of a stage with what its seconds say of how well it is known.
pub(super) type Figure = fn(&Evidence, &StageResult) -> Option<(f64, Option<Spread>)>;

impl<'a> Picked<'a> {
    pub(super) fn stages(&self) -> impl Iterator<Item = (&'a Member, &'a StageResult)> + '_ {
        self.0.iter().flat_map(|(member, stages)| stages.iter().map(move |stage| (*member, *stage)))
    }

    /// Runs where there are several, else stages of the one run.
    pub(super) fn repeats(&self) -> usize {
        match self.0.as_slice() {
            [(_, stages)] => stages.len(),
            several => several.len(),
        }
    }

    pub(super) fn known(&self, figure: Figure) -> Option<SideFigure> {
        let of_stages =
            |(member, stages): &(&Member, Vec<&StageResult>)| -> Vec<Option<(f64, Option<Spread>)>> {
                stages.iter().map(|stage| steady(figure(&member.evidence, stage)?, stage)).collect()
            };
        if self.demand().is_none() {
            // What different loads brought is no scatter of one figure.
            let alone = SideFigure::of(&self.0.iter().flat_map(of_stages).collect::<Vec<_>>())?;
            return Some(SideFigure { spread: None, each: None, ..alone });
        }
        match self.0.as_slice() {
            [only] => SideFigure::of(&of_stages(only)),
            several => {
                // The run is what was repeated: each counts once, however many stages it has.
                let of_run = |run| {
                    let known = SideFigure::of(&of_stages(run))?;
                    Some((known.value, known.spread.filter(|_| run.1.len() == 1)))
                };
                SideFigure::of(&several.iter().map(of_run).collect::<Vec<_>>())
            }
        }
    }

    pub(super) fn load(&self) -> Option<SideLoad> {
        let (_, first) = self.stages().next()?;
        let stage = &first.stage;
        let seconds: f64 = self.stages().map(|(_, result)| result.seconds).sum();
        Some(SideLoad {
            kind: stage.kind,
            clients: stage.clients,
            clients_end: stage.clients_end,
            connections: stage.connections,
            rate_per_s: stage.rate_per_s(),
            queries: stage.pass.then_some(stage.types.len()),
            seconds: seconds / self.stages().count() as f64,
            stages: self
                .stages()
                .map(|(member, result)| StageReference {
                    run: member.report().run.name.clone(),
                    stage: result.stage.id,
                })
                .collect(),
        })
    }

    /// What was asked of all its stages; `None` where they differ.
    pub(super) fn demand(&self) -> Option<Demand> {
        let mut demands = self.stages().map(|(_, result)| Demand::of(&result.stage));
        let first = demands.next()?;
        demands.all(|demand| demand == first).then_some(first)
    }
}

/// A ramp has no level of which its seconds could tell how well it is known.
fn steady(figure: (f64, Option<Spread>), stage: &StageResult) -> Option<(f64, Option<Spread>)> {
    let (value, spread) = figure;
    value.is_finite().then_some((value, spread.filter(|_| stage.stage.kind != StageKind::Ramp)))
}

/// The stages of a series from which its headline may come.
pub(super) fn headlines<'a>(member: &'a Member, series: &Series) -> Vec<&'a StageResult> {
    headline::candidates(series, |id| member.evidence.stage(id))
}

/// The rungs of a series that ran to their end.
pub(super) fn rungs<'a>(member: &'a Member, series: &Series) -> Vec<&'a StageResult> {
    headline::rungs(series, |id| member.evidence.stage(id))
}
