//! What passes over the queries of a workload came to: a time for each query, their total and their geometric mean.

use std::collections::{HashMap, HashSet};

use crate::answer::{self, Compared};
pub use crate::document::{AnswerCounts, Passes, QueryTimes};
use crate::document::{Report, Series, StageResult};
use crate::event::{Answer, QueryFailure, StageKind};
use crate::statistics::geometric_mean::GeometricMean;
use crate::statistics::repeats::{self, median};
use crate::words::list;

/// Fewer passes do not show how much their times differ.
pub const PASSES_MIN: usize = 3;

/// What passes have in common whose times are told beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct PassLoad {
    pub target: String,
    pub product: Option<String>,
    pub workload: String,
    pub scale: Option<f64>,
    pub clients: u32,
}

/// The passes of a series, not yet against those of others; `None` where its stages are none.
pub(crate) fn of(series: &Series, stages: &[StageResult], known: &Report) -> Option<Passes> {
    let is_pass = |result: &&StageResult| result.stage.pass && result.stage.kind != StageKind::WarmUp;
    let own = |result: &&StageResult| {
        result.stage.key.system == series.target && result.stage.series == series.name
    };
    let passes: Vec<&StageResult> = stages.iter().filter(own).filter(is_pass).collect();
    let passes = without_cut_short(passes);
    let first = passes.first()?;
    let said = Said::of(series, stages, known);
    let times: Vec<Times> = passes.iter().map(|pass| Times::of(pass)).collect();
    let queries: Vec<QueryTimes> = first
        .stage
        .types
        .iter()
        .map(|name| query(series, &passes, times.iter().map(|of| of.seconds(name)).collect(), (name, &said)))
        .collect();
    let seconds: Vec<Option<f64>> = passes.iter().map(|pass| total_s(pass)).collect();
    let total_s = median_of(&passes, &seconds);
    let medians = queries.iter().map(|query| query.median_s).collect::<Option<Vec<f64>>>();
    let clients = f64::from(first.stage.clients);
    let qph = |total_s: f64| {
        Some(
            3600.0 * clients / total_s * known.scale(&series.target, &series.workload)?
                / processors(series, known)?,
        )
    };
    let geometric_mean_s = medians.as_deref().and_then(geometric_mean);
    let geometric_means: Vec<Option<f64>> = passes.iter().map(|pass| self::geometric_mean_s(pass)).collect();
    let qph = total_s.filter(|_| !first.stage.fixed).and_then(qph);
    let within = |figure: Option<f64>, values: &[Option<f64>]| Some(figure? * half_width_share(values)?);
    let count = |is: fn(&QueryTimes) -> bool| queries.iter().filter(|query| is(query)).count();
    Some(Passes {
        stages: passes.iter().map(|pass| pass.stage.id).collect(),
        total_s,
        total_half_width_s: within(total_s, &seconds),
        geometric_mean_s,
        geometric_mean_half_width_s: within(geometric_mean_s, &geometric_means),
        qph,
        qph_half_width: within(qph, &seconds),
        seconds,
        answers: AnswerCounts {
            kept: count(|query| query.rows.is_some()),
            known: count(|query| query.validated.is_some()),
            valid: count(|query| query.validated == Some(true) && query.differs.is_none()),
            alike: count(|query| query.compared && query.differs.is_none()),
            differ: count(|query| query.differs.is_some()),
        },
        queries,
        clients: first.stage.clients,
        fixed: first.stage.fixed,
        speed_ups: Vec::new(),
    })
}

/// The queries of query sets that ended well in no stage of a run, by target: `q2 and q3 of queries never ended well on pg`. `None`
/// where all did, and where nothing did. One that was cancelled at the time limit has told what it takes, a load that a time ends
/// need not reach all, and fixed work tells what it did not do itself.
pub fn not_done(report: &Report) -> Option<String> {
    let has_done = report.stages.iter().any(|result| result.totals.done_with_drain > 0);
    let of_series = |series: &Series| {
        let missing = not_done_of(report, series);
        let (name, target) = (&series.name, &series.target);
        (!missing.is_empty()).then(|| format!("{} of {name} never ended well on {target}", named(&missing)))
    };
    let all: Vec<String> = report.series.iter().filter_map(of_series).collect();
    (has_done && !all.is_empty()).then(|| all.join("; "))
}

/// `a, b, c and 4 more`
fn named(queries: &[&str]) -> String {
    let (first, others) = queries.split_at(queries.len().min(3));
    let more = (!others.is_empty()).then(|| format!("{} more", others.len()));
    list(&first.iter().copied().chain(more.as_deref()).collect::<Vec<&str>>())
}

/// Those of one series.
fn not_done_of<'a>(report: &'a Report, Series { target, name, .. }: &Series) -> Vec<&'a str> {
    let is_own = |result: &&StageResult| {
        let stage = &result.stage;
        (&stage.key.system, &stage.series) == (target, name)
            && stage.unit() == "query"
            && !stage.fixed
            && stage.kind != StageKind::WarmUp
    };
    let own: Vec<&StageResult> = report.stages.iter().filter(is_own).collect();
    let types = own.iter().flat_map(|result| &result.by_type);
    let ended_well: HashSet<&str> =
        types.filter(|it| it.done > 0 || it.service.is_some()).map(|it| it.name.as_str()).collect();
    let is_missing = |query: &&str| {
        let is_its = |it: &&QueryFailure| it.query == *query && (&it.target, &it.series) == (target, name);
        match report.query_failures.iter().find(is_its) {
            Some(failure) => !failure.over_limit,
            None => own.iter().any(|result| result.stage.pass),
        }
    };
    let all = own.first().map_or(&[][..], |result| result.stage.types.as_slice());
    all.iter().map(String::as_str).filter(|query| !ended_well.contains(query)).filter(is_missing).collect()
}

/// The end of a run, or a target that is lost, says nothing of the queries that a pass did not reach: such a pass counts as not begun.
/// Where no pass is complete, its times are all that is known.
fn without_cut_short(passes: Vec<&StageResult>) -> Vec<&StageResult> {
    let complete: Vec<&StageResult> = passes.iter().copied().filter(|pass| pass.complete).collect();
    if complete.is_empty() { passes } else { complete }
}

/// Half-width of the interval over passes, as a share of their median.
fn half_width_share(values: &[Option<f64>]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.iter().copied().collect();
    let estimate = repeats::estimate(&all.filter(|all| all.len() >= PASSES_MIN)?)?;
    Some(estimate.half_width? / estimate.mean)
}

/// What was told of the queries of a series, by query: a search of all of it for each query would take their square.
#[derive(Default)]
struct Said<'a> {
    /// Of all targets that have the same data.
    answers: HashMap<&'a str, Vec<&'a Answer>>,
    failures: HashMap<&'a str, &'a QueryFailure>,
}

impl<'a> Said<'a> {
    fn of(series: &Series, stages: &[StageResult], known: &'a Report) -> Self {
        let mut said = Self::default();
        let mut same_data: HashMap<&str, bool> = HashMap::new();
        for it in known.answers.iter().filter(|it| it.series == series.name) {
            let has_same = same_data.entry(&it.target);
            if *has_same.or_insert_with_key(|target| other_data(stages, series, target).is_none()) {
                said.answers.entry(&it.answer.query).or_default().push(it);
            }
        }
        let own =
            known.query_failures.iter().filter(|it| it.target == series.target && it.series == series.name);
        own.for_each(|it| {
            said.failures.entry(&it.query).or_insert(it);
        });
        said
    }
}

fn query(
    series: &Series,
    passes: &[&StageResult],
    times_s: Vec<Option<f64>>,
    (name, said): (&str, &Said<'_>),
) -> QueryTimes {
    let answers = said.answers.get(name).map_or(&[][..], Vec::as_slice);
    let answer = answers.iter().copied().find(|it| it.target == series.target);
    let is_counterpart = |it: &&Answer| {
        let is_trusted = it.answer.wrong.is_none() && it.answer.changed == 0;
        let same = |own: &Answer| answer::are_comparable(&own.answer, &it.answer);
        it.target != series.target && is_trusted && answer.is_some_and(same)
    };
    let counterparts: Vec<&Answer> = answers.iter().copied().filter(is_counterpart).collect();
    let failed = times_s.iter().any(Option::is_none);
    let failure = said.failures.get(name).filter(|_| failed);
    QueryTimes {
        query: name.to_owned(),
        median_s: median_of(passes, &times_s),
        first_row_s: median(passes.iter().filter_map(|pass| first_row_s(pass, name)).collect()),
        times_s,
        failure: failure.map(|failure| failure.said.clone()),
        over_limit: failure.is_some_and(|failure| failure.over_limit),
        rows: answer.map(|answer| answer.answer.count),
        validated: answer.and_then(|answer| answer.answer.validated),
        compared: !counterparts.is_empty(),
        differs: answer.and_then(|answer| differs(answer, &counterparts)),
        varies: answer.and_then(|answer| varies(answer, &counterparts)),
    }
}

/// Why the right answers of a series are others on another target: the data are no longer the same. A load that writes does not do the
/// same on any two, and fixed work may be done on one alone, or in part.
pub(crate) fn other_data(stages: &[StageResult], series: &Series, other: &str) -> Option<&'static str> {
    if other == series.target {
        return None;
    }
    let is_other = |it: &&StageResult| it.stage.series != series.name;
    let own = |target: &str| {
        let own = stages.iter().filter(|it| it.stage.key.system == target);
        own.collect::<Vec<&StageResult>>()
    };
    let [own, of_other] = [own(&series.target), own(other)];
    let writes = |stages: &[&StageResult]| {
        let before = stages.iter().copied().take_while(is_other);
        let beside = stages.iter().copied().filter(is_other).filter(|it| it.stage.key.phase == series.phase);
        before.chain(beside).any(|it| !it.stage.is_fixed_work() && has_written(it))
    };
    if writes(&own) || writes(&of_other) {
        return Some("a load that writes ran before or beside, and leaves no two with the same data");
    }
    let work = |stages: &[&StageResult]| -> Vec<(String, u64)> {
        let before = stages.iter().copied().take_while(is_other);
        let fixed = before.filter(|it| it.stage.fixed && !it.stage.pass);
        fixed.map(|it| (it.stage.series.clone(), it.totals.done_with_drain)).collect()
    };
    (work(&own) != work(&of_other)).then_some("the data differ, because other work was done on them before")
}

/// As far as that is known of its statements.
fn has_written(result: &StageResult) -> bool {
    let no_writes = result.queries.as_ref().is_some_and(|queries| queries.writes == 0);
    result.stage.only_reads != Some(true) && result.totals.done_with_drain > 0 && !no_writes
}

/// The median over the passes. What has no value in a pass that is complete took longer than all that have one.
fn median_of(passes: &[&StageResult], values: &[Option<f64>]) -> Option<f64> {
    let of_pass = |(pass, value): (&&StageResult, &Option<f64>)| match value {
        None if !pass.complete => None,
        value => Some(value.unwrap_or(f64::INFINITY)),
    };
    median(passes.iter().zip(values).filter_map(of_pass).collect()).filter(|median| median.is_finite())
}

/// Seconds of the queries of a pass, of several clients their mean; of those that ended well for all of them.
struct Times<'a>(HashMap<&'a str, f64>);

impl<'a> Times<'a> {
    fn of(pass: &'a StageResult) -> Self {
        let clients = u64::from(pass.stage.clients);
        let well = pass.by_type.iter().filter(|of_type| of_type.done >= clients);
        Self(well.filter_map(|it| Some((it.name.as_str(), it.service.as_ref()?.mean_us / 1e6))).collect())
    }

    fn seconds(&self, query: &str) -> Option<f64> {
        self.0.get(query).copied()
    }
}

/// Seconds to the first row of a query of a pass, of several clients their mean.
fn first_row_s(pass: &StageResult, query: &str) -> Option<f64> {
    let of_type = pass.by_type.iter().find(|of_type| of_type.name == query)?;
    Some(of_type.first_row?.mean_us / 1e6)
}

/// Seconds of each query of a pass; `None` unless all of them ended well.
fn times_s(pass: &StageResult) -> Option<Vec<f64>> {
    let whole = pass.complete && pass.totals.bad_with_drain() + pass.totals.cancelled == 0;
    let times = Times::of(pass);
    let all: Option<Vec<f64>> = pass.stage.types.iter().map(|query| times.seconds(query)).collect();
    all.filter(|_| whole)
}

/// Seconds of a pass; `None` unless all its queries ended well.
pub(crate) fn total_s(pass: &StageResult) -> Option<f64> {
    let times = times_s(pass)?;
    Some(if pass.stage.clients == 1 { times.iter().sum() } else { pass.seconds })
}

/// The geometric mean of the queries of a pass, in seconds; `None` unless all ended well.
pub(crate) fn geometric_mean_s(pass: &StageResult) -> Option<f64> {
    times_s(pass).as_deref().and_then(geometric_mean)
}

fn geometric_mean(times: &[f64]) -> Option<f64> {
    Some(GeometricMean::of(times)?.mean)
}

/// In what an answer differs from what it should be: from the one that is known to be right, from later ones, or from those of
/// other targets. With one that is known to be right the others are compared. Where none is, nobody knows which of two is right, so
/// both differ; of several, the one that more than half have is taken for right.
fn differs(found: &Answer, counterparts: &[&Answer]) -> Option<String> {
    if let Some(wrong) = &found.answer.wrong {
        let known = if found.answer.recorded { "the recorded one" } else { "that of the specification" };
        return Some(format!("the answer is not {known}: {wrong}"));
    }
    if found.answer.changed > 0 {
        return Some(format!("{} later answers to the same text were others", found.answer.changed));
    }
    let is_right = |answer: &Answer| answer.answer.validated == Some(true);
    if is_right(found) {
        return None;
    }
    let difference = |other: &&Answer| {
        let Compared::Other(differs) = answer::compare_stored(&other.answer, &found.answer) else {
            return None;
        };
        Some(format!("the answer is not that of {}: {differs}", other.target))
    };
    let right: Vec<&Answer> = counterparts.iter().copied().filter(|it| is_right(it)).collect();
    let others = if right.is_empty() { counterparts } else { &right };
    let differences: Vec<String> = others.iter().filter_map(difference).collect();
    let like = others.len() - differences.len();
    let is_accepted = if right.is_empty() { 2 * (1 + like) > 1 + others.len() } else { like > 0 };
    differences.into_iter().next().filter(|_| !is_accepted)
}

/// Why an answer need not be that of another target, or the one to the same text before or after it.
fn varies(found: &Answer, counterparts: &[&Answer]) -> Option<String> {
    let why = |other: &&Answer| match answer::compare_stored(&other.answer, &found.answer) {
        Compared::Varies(why) => Some(why),
        Compared::Alike | Compared::Other(_) => None,
    };
    found.answer.varies.clone().or_else(|| counterparts.iter().find_map(why))
}

fn processors(series: &Series, known: &Report) -> Option<f64> {
    let host = known.server_host(&series.target)?;
    host.cpus_limit.or(host.cpus.map(f64::from))
}
