//! What passes over the queries of a workload came to: a time for each query, their total and their geometric mean.

use serde::Serialize;

use crate::answer;
use crate::document::{Report, Series, StageResult};
use crate::event::{Answer, StageKind};
use crate::statistics::repeats::median;

/// The passes of a series, one stage each; the warm-up is none of them.
#[derive(Debug, Clone, Serialize)]
pub struct Passes {
    /// Ids of the stages, in the order they ran.
    pub stages: Vec<u32>,
    /// In the order of their names in the workload.
    pub queries: Vec<QueryTimes>,
    /// Seconds of a pass: of one client the sum over its queries, of several the time until the last was done. The median
    /// of the passes in which all queries ended well; `None` where there is none.
    pub total_s: Option<f64>,
    /// Of the medians of all queries; `None` where one never ended well.
    pub geometric_mean_s: Option<f64>,
    /// Queries per hour, normalised: 3,600 by `total_s`, times the scale, by the processors of the server's host. `None`
    /// where one of these is unknown.
    pub qph: Option<f64>,
}

/// A query in the passes of a series.
#[derive(Debug, Clone, Serialize)]
pub struct QueryTimes {
    /// `Q1`
    pub query: String,
    /// Seconds in each of the passes, of several clients their mean; `None` where it did not end well.
    pub times_s: Vec<Option<f64>>,
    /// `None` where it never ended well.
    pub median_s: Option<f64>,
    /// Rows of its answer; `None` where no answer was kept.
    pub rows: Option<u64>,
    /// Whether the answer is that of the workload's specification, or the recorded one; `None` where that was not looked at.
    pub validated: Option<bool>,
    /// In what the answer is wrong, differs from that of another target, or changed from pass to pass; `None` where nothing
    /// is known of that.
    pub differs: Option<String>,
}

/// The passes of a series; `None` where its stages are none.
pub(crate) fn of(series: &Series, stages: &[StageResult], known: &Report) -> Option<Passes> {
    let is_pass = |result: &&StageResult| result.stage.pass && result.stage.kind != StageKind::WarmUp;
    let own =
        |result: &&StageResult| result.stage.target == series.target && result.stage.series == series.name;
    let passes: Vec<&StageResult> = stages.iter().filter(own).filter(is_pass).collect();
    let names = &passes.first()?.stage.types;
    let answers = |target: Option<&str>, query: &str| {
        let mut all = known.answers.iter().filter(|it| it.series == series.name && it.answer.query == query);
        let found: Option<&Answer> = all.find(|it| target.is_none_or(|target| it.target == target));
        found
    };
    let query = |name: &String| {
        let times_s: Vec<Option<f64>> = passes.iter().map(|pass| time_s(pass, name)).collect();
        let answer = answers(Some(&series.target), name);
        let differs = answer.and_then(|answer| differs(answer, answers(None, name)));
        QueryTimes {
            query: name.clone(),
            median_s: median(times_s.iter().flatten().copied().collect()),
            times_s,
            rows: answer.map(|answer| answer.answer.count),
            validated: answer.and_then(|answer| answer.answer.validated),
            differs,
        }
    };
    let queries: Vec<QueryTimes> = names.iter().map(query).collect();
    let total_s = median(passes.iter().filter_map(|pass| total_s(pass)).collect());
    let medians = queries.iter().map(|query| query.median_s).collect::<Option<Vec<f64>>>();
    Some(Passes {
        stages: passes.iter().map(|pass| pass.stage.id).collect(),
        total_s,
        geometric_mean_s: medians.as_deref().map(geometric_mean),
        qph: total_s
            .and_then(|total_s| Some(3600.0 / total_s * scale(series, known)? / processors(series, known)?)),
        queries,
    })
}

/// Seconds of a query in a pass, of several clients their mean; `None` where it did not end well.
fn time_s(pass: &StageResult, query: &str) -> Option<f64> {
    let found = pass.by_type.iter().find(|of_type| of_type.name == query)?;
    Some(found.service.as_ref()?.mean_us / 1e6)
}

/// Seconds of each query of a pass; `None` unless all of them ended well.
fn times_s(pass: &StageResult) -> Option<Vec<f64>> {
    let whole = pass.complete && pass.totals.bad_with_drain() + pass.totals.cancelled == 0;
    let times: Option<Vec<f64>> = pass.stage.types.iter().map(|query| time_s(pass, query)).collect();
    times.filter(|_| whole)
}

/// Seconds of a pass; `None` unless all its queries ended well.
pub(crate) fn total_s(pass: &StageResult) -> Option<f64> {
    let times = times_s(pass)?;
    Some(if pass.stage.clients == 1 { times.iter().sum() } else { pass.seconds })
}

/// The geometric mean of the queries of a pass, in seconds; `None` unless all ended well.
pub(crate) fn geometric_mean_s(pass: &StageResult) -> Option<f64> {
    times_s(pass).as_deref().map(geometric_mean)
}

fn geometric_mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len().max(1) as f64).exp()
}

/// In what an answer differs from what it should be, or from the `first` that was had.
fn differs(found: &Answer, first: Option<&Answer>) -> Option<String> {
    if let Some(wrong) = &found.answer.wrong {
        let known = if found.answer.recorded { "the recorded one" } else { "that of the specification" };
        return Some(format!("the answer is not {known}: {wrong}"));
    }
    if found.answer.changed > 0 {
        return Some(format!("{} later answers to the same text were others", found.answer.changed));
    }
    let first = first.filter(|first| first.target != found.target)?;
    if !answer::same_parameters(&first.answer, &found.answer) {
        return None;
    }
    let differs = answer::difference_of(&first.answer, &found.answer)?;
    Some(format!("the answer is not that of {}: {differs}", first.target))
}

fn scale(series: &Series, known: &Report) -> Option<f64> {
    let family = series.workload.split('/').next()?;
    known.data.iter().find(|data| data.target == series.target && data.workload == family)?.scale
}

fn processors(series: &Series, known: &Report) -> Option<f64> {
    let host = known.server_host(&series.target)?;
    host.cpus_limit.or(host.cpus.map(f64::from))
}
