//! The figures of one series, set beside each other: the headline, a common load, the peaks.

use super::answers;
use super::basis;
use super::document::{BasisUnit, Better, FigureRow, Section, SectionKind, Verdict};
use super::estimate::{Contrast, Draft, SideFigure, decide};
use super::labels::Counted;
use super::metrics::{self, ComparedMetric};
use super::side::{Figure, Member, Picked, Resolution, Side, headlines, rungs};
use super::spread::Spread;
use crate::document::{Series, SpeedUp, StageResult};
use crate::event::Stage;
use crate::headline::{Demand, asked, is_best_of_several, strongest};
use crate::words::distinct;

/// A series of all sides: for each side its runs that have it.
pub(super) struct SharedParts<'a> {
    /// Of the base; another side's may be called otherwise where the user asked for it.
    pub(super) name: &'a str,
    pub(super) base: usize,
    pub(super) sides: Vec<Vec<(&'a Member, &'a Series)>>,
}

impl<'a> SharedParts<'a> {
    pub(super) fn new(sides: &'a [Side], base: usize, names: &[Option<&'a str>]) -> Self {
        let of_side = |(side, name): (&'a Side, &Option<&'a str>)| -> Vec<(&'a Member, &'a Series)> {
            let Some(name) = name else { return Vec::new() };
            side.members.iter().filter_map(|member| Some((member, member.series(name)?))).collect()
        };
        let name = names.get(base).copied().flatten().unwrap_or_default();
        Self { name, base, sides: sides.iter().zip(names).map(of_side).collect() }
    }

    /// Sides that have the series.
    fn present(&self) -> impl Iterator<Item = &Vec<(&'a Member, &'a Series)>> {
        self.sides.iter().filter(|side| !side.is_empty())
    }

    /// The stages of each side that `choose` takes of each of its runs.
    fn pick(&self, choose: impl Fn(&'a Member, &'a Series) -> Vec<&'a StageResult>) -> Vec<Picked<'a>> {
        let of_side = |side: &Vec<(&'a Member, &'a Series)>| {
            let all = side.iter().map(|(member, series)| (*member, choose(member, series)));
            Picked(all.filter(|(_, stages)| !stages.is_empty()).collect())
        };
        self.sides.iter().map(of_side).collect()
    }

    /// The stages that speak for each side: of each demand that all have in common, or else what is each one's own.
    pub(super) fn headline_picks(&self) -> Vec<Vec<Picked<'a>>> {
        let common = common_demands(self, headlines);
        if common.is_empty() {
            return vec![self.pick(|member, series| strongest(headlines(member, series)))];
        }
        common
            .into_iter()
            .map(|demand| self.pick(|member, series| asked(headlines(member, series), demand)))
            .collect()
    }

    /// The rungs at this demand.
    pub(super) fn rung_picks(&self, demand: Demand) -> Vec<Picked<'a>> {
        self.pick(|member, series| asked(rungs(member, series), demand))
    }

    pub(super) fn sections(&self, sides: &[Side]) -> Vec<Section> {
        let mut sections: Vec<(Section, Vec<Draft>)> = self
            .headline_picks()
            .iter()
            .map(|picks| self.section(SectionKind::Headline, picks, self.metrics()))
            .collect();
        if sections.iter().all(|(section, _)| !section.same_load)
            && let Some(demand) = self.common_rung()
        {
            let picks = self.rung_picks(demand);
            sections.push(self.section(SectionKind::CommonLoad, &picks, self.metrics()));
        }
        sections.extend(self.peaks(sides));
        let (sections, drafts): (Vec<Section>, Vec<Vec<Draft>>) = sections.into_iter().unzip();
        sections.into_iter().zip(decide(drafts)).map(|(section, rows)| Section { rows, ..section }).collect()
    }

    /// What the stages of a series tell.
    fn metrics(&self) -> &'static [ComparedMetric] {
        if self.are_passes() { metrics::OF_PASSES } else { metrics::OF_STAGES }
    }

    /// Whether all its stages are passes over a query set.
    pub(super) fn are_passes(&self) -> bool {
        self.present().flatten().all(|(_, series)| series.passes.is_some())
    }

    /// Each side against each other one. Of several runs the table has the ratio, which is tested.
    pub(super) fn speed_ups(&self, sides: &[Side]) -> Vec<Vec<SpeedUp>> {
        let passes = |at: usize| match self.sides[at].as_slice() {
            [(_, series)] => series.passes.as_ref(),
            _ => None,
        };
        let against = |own: usize, base: usize| {
            let differing = answers::differing(&self.sides[base], &self.sides[own]);
            SpeedUp::of(passes(own)?, (&sides[base].name, passes(base)?), |query| {
                differing.iter().any(|(name, _)| *name == query)
            })
        };
        let all = 0..self.sides.len();
        let of_side =
            |own| all.clone().filter(|base| *base != own).filter_map(|base| against(own, base)).collect();
        all.clone().map(of_side).collect()
    }

    /// The queries of each side's passes, sorted; none where its stages are none.
    pub(super) fn queries(&self) -> Vec<Vec<&'a str>> {
        let of_series = |(_, series): &(&'a Member, &'a Series)| {
            let passes = series.passes.iter();
            passes
                .flat_map(|passes| passes.queries.iter().map(|query| query.query.as_str()))
                .collect::<Vec<_>>()
        };
        let of_side = |side: &Vec<(&'a Member, &'a Series)>| {
            let mut names = distinct(side.iter().flat_map(of_series));
            names.sort_unstable();
            names
        };
        self.sides.iter().map(of_side).collect()
    }

    /// Whether all sides ran the same queries: a total over others is no multiple of theirs.
    pub(super) fn same_queries(&self) -> bool {
        let all: Vec<Vec<&str>> = self.queries().into_iter().filter(|names| !names.is_empty()).collect();
        all.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Whether all sides did the same work: figures of other work are no multiples of each other.
    pub(super) fn same_work(&self) -> bool {
        distinct(self.present().flatten().map(|(_, series)| series.workload.as_str())).len() <= 1
    }

    /// A section whose rows are still to be decided.
    fn section(
        &self,
        kind: SectionKind,
        picks: &[Picked<'a>],
        metrics: &[ComparedMetric],
    ) -> (Section, Vec<Draft>) {
        let mut demands = picks.iter().filter(|picked| !picked.0.is_empty()).map(Picked::demand);
        let first = demands.next().flatten();
        let same_load = first.is_some() && demands.all(|demand| demand == first);
        let told = picks.iter().flat_map(Picked::stages).next().map(|(_, result)| &result.stage);
        let unit = told.map_or("transaction", Stage::unit);
        let told_figure = told.and_then(|stage| stage.figure.as_ref());
        let row = |metric: &ComparedMetric| {
            let named = (metric.key, metric.unit, metric.better);
            let mut draft = self.of_picks(named, picks, (metric.figure, metric.resolution));
            if kind == SectionKind::Headline {
                self.without_intervals_of_the_best(picks, &mut draft.row);
            }
            draft.primary = kind == SectionKind::Headline && matches!(metric.key, "throughput" | "pass");
            let counted = counted(metric, picks);
            draft.row.name_cost(unit, counted);
            if let Some(figure) = told_figure.filter(|_| metric.key == "figure") {
                draft.row.name_figure(figure);
            }
            if metric.latency && !same_load {
                draft.contrasts.iter_mut().flatten().for_each(|ratio| ratio.set_aside(Verdict::OtherLoad));
            }
            if counted == Counted::Mixed || (metric.of_all_queries && !self.same_queries()) {
                draft.contrasts.iter_mut().for_each(|contrast| *contrast = None);
            }
            draft
        };
        let loads = picks.iter().map(Picked::load).collect();
        (
            Section { kind, loads, same_load, rows: Vec::new() },
            metrics.iter().map(row).filter(is_told).collect(),
        )
    }

    /// Of the best of several steps no interval is told: that of the step is of one that nobody chose.
    fn without_intervals_of_the_best(&self, picks: &[Picked<'a>], row: &mut FigureRow) {
        for ((cell, picked), side) in row.cells.iter_mut().zip(picks).zip(&self.sides) {
            let is_best = |result| side.iter().any(|(_, series)| is_best_of_several(series, result));
            if picked.repeats() == 1 && picked.stages().any(|(_, result)| is_best(result)) {
                cell.interval = None;
            }
        }
    }

    /// One figure of the stages that speak for each side.
    pub(super) fn of_picks(
        &self,
        named: NamedFigure,
        picks: &[Picked<'a>],
        (figure, resolution): (Figure, Resolution),
    ) -> Draft {
        let known = |picked: &Picked<'a>| {
            let resolution = picked.stages().map(|(_, stage)| resolution(stage)).fold(0.0, f64::max);
            Some(SideFigure { resolution, ..picked.known(figure)? })
        };
        let of_sides: Vec<Option<SideFigure>> = picks.iter().map(known).collect();
        let base = &picks[self.base];
        let mut draft = self.draft(named, &of_sides, |side| basis::unit(base, &picks[side]));
        // A stage without its counterpart is in the side's figure, and not in the ratio.
        for (contrast, picked) in draft.contrasts.iter_mut().zip(picks) {
            let pairs = basis::pairs(base, picked).filter(|[paired, _]| paired.repeats() > 1);
            if let (Some(contrast), Some([base, other])) = (contrast.as_mut(), pairs)
                && let Some(paired) = known(&base)
                    .zip(known(&other))
                    .and_then(|(base, other)| Contrast::of(&base, &other, BasisUnit::Pairs))
            {
                *contrast = paired;
            }
        }
        draft
    }

    /// Each side's figure, with its ratio to the base's where they did the same work.
    fn draft(
        &self,
        named: NamedFigure,
        known: &[Option<SideFigure>],
        repeated: impl Fn(usize) -> BasisUnit,
    ) -> Draft {
        let mut draft = draft(named, known, self.base, repeated);
        if !self.same_work() {
            draft.contrasts.iter_mut().for_each(|contrast| *contrast = None);
        }
        draft
    }

    /// The highest rung of all sides that is past nobody's peak; the lowest where each is past somebody's.
    fn common_rung(&self) -> Option<Demand> {
        let mut common = common_demands(self, rungs);
        common.sort_by(|left, right| left.height().total_cmp(&right.height()));
        let peaks = self.present().flatten().filter_map(|(member, series)| {
            let peak = member.evidence.stage(series.peak.as_ref()?.stage)?;
            Some(Demand::of(&peak.stage).height())
        });
        let lowest_peak = peaks.fold(f64::INFINITY, f64::min);
        common.iter().rfind(|demand| demand.height() <= lowest_peak).or(common.first()).copied()
    }

    /// Peaks and saturation, where any side has run a ladder.
    fn peaks(&self, sides: &[Side]) -> Option<(Section, Vec<Draft>)> {
        if !self.present().flatten().any(|(_, series)| series.ladder.len() > 1) {
            return None;
        }
        type OfSeries = fn(&Member, &Series) -> Option<(f64, Option<Spread>)>;
        let open = self.present().flatten().any(|(member, series)| {
            let first = series.ladder.first().and_then(|id| member.evidence.stage(*id));
            first.is_some_and(|rung| matches!(Demand::of(&rung.stage), Demand::Open { .. }))
        });
        let unit = if open { "1/s" } else { "clients" };
        let rows = [
            (("peak_throughput", "1/s", Better::Higher), metrics::peak_throughput as OfSeries),
            ((if open { "peak_rate" } else { "peak_clients" }, unit, Better::Neither), metrics::peak_height),
            (
                (if open { "saturation_rate" } else { "saturation_clients" }, unit, Better::Neither),
                metrics::saturation_height,
            ),
        ];
        let rows = rows.map(|(named, figure)| {
            let side = |side: &Vec<(&Member, &Series)>| {
                let figures = side.iter().map(|(member, series)| figure(member, series));
                SideFigure::of(&figures.collect::<Vec<_>>())
            };
            let known: Vec<Option<SideFigure>> = self.sides.iter().map(side).collect();
            self.draft(named, &known, |side| basis::unit_of_members(&sides[self.base], &sides[side]))
        });
        let loads = vec![None; self.sides.len()];
        let section = Section { kind: SectionKind::Peak, loads, same_load: false, rows: Vec::new() };
        Some((section, rows.into_iter().filter(is_told).collect()))
    }
}

/// Of what the sides' figures were counted. A device's bytes are no multiple of a process's.
fn counted(metric: &ComparedMetric, picks: &[Picked<'_>]) -> Counted {
    let Some(source) = metric.source else { return Counted::Own };
    let costs = picks.iter().flat_map(Picked::stages).filter_map(|(_, result)| result.costs.as_ref());
    let mut sources = costs.filter_map(source);
    let first = sources.next();
    match first {
        _ if !sources.all(|other| Some(other) == first) => Counted::Mixed,
        Some("disk") => Counted::Device,
        _ => Counted::Own,
    }
}

/// Key, unit and direction of a row.
pub(super) type NamedFigure = (&'static str, &'static str, Better);

/// Each side's figure, with its ratio to the base's.
pub(super) fn draft(
    (key, unit, better): NamedFigure,
    known: &[Option<SideFigure>],
    base: usize,
    repeated: impl Fn(usize) -> BasisUnit,
) -> Draft {
    let of_base = known.get(base).and_then(Option::as_ref);
    let contrast = |(side, known): (usize, &Option<SideFigure>)| {
        if side == base { None } else { Contrast::of(of_base?, known.as_ref()?, repeated(side)) }
    };
    let cell = |known: &Option<SideFigure>| known.as_ref().map(SideFigure::cell).unwrap_or_default();
    Draft {
        row: FigureRow::new(key, unit, better, known.iter().map(cell).collect()),
        contrasts: known.iter().enumerate().map(contrast).collect(),
        primary: false,
    }
}

/// A row of which no side knows anything tells nothing.
pub(super) fn is_told(draft: &Draft) -> bool {
    draft.row.cells.iter().any(|cell| cell.value.is_some())
}

/// What all sides that are present were asked for, in the order of the first.
fn common_demands<'a>(
    shared: &SharedParts<'a>,
    stages: impl Fn(&'a Member, &'a Series) -> Vec<&'a StageResult>,
) -> Vec<Demand> {
    let mut of_members = shared.present().flatten().map(|(member, series)| demands(&stages(member, series)));
    let first = of_members.next().unwrap_or_default();
    of_members
        .fold(first, |common, other| common.into_iter().filter(|demand| other.contains(demand)).collect())
}

pub(super) fn demands(stages: &[&StageResult]) -> Vec<Demand> {
    distinct(stages.iter().map(|result| Demand::of(&result.stage)))
}
