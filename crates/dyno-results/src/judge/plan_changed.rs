//! `plan-changed`: behind the passes over a query set a query is run in another way than before them.

use super::evidence::series_subject;
use crate::document::{Passes, QueryTimes, Report, Series};
use crate::event::{Code, Finding, HookTime, Severity};
use crate::finding::Facts;
use crate::format;
use crate::plan::{FirstDifference, Plan, first_difference, indexes_of_one};
use crate::words::{first_few, list};

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = |series: &Series| changed(report, series, series.passes.as_ref()?);
    report.series.iter().filter_map(found).collect()
}

fn changed(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let mut facts = Facts::default();
    let told = |query: &QueryTimes| {
        let plan = |when| report.plan(series, &query.query, (when, false));
        let (before, after) = (plan(HookTime::Before)?, plan(HookTime::After)?);
        let found = first_difference(before, after)?;
        let indexes = indexes(before, after);
        let time = |time: Option<&Option<f64>>| {
            time.copied()
                .flatten()
                .map_or_else(|| "not run".to_owned(), |time| format::latency_us(time * 1e6))
        };
        let times = match &query.times_s[..] {
            [only] => format!("pass: {}", time(Some(only))),
            times => format!("first pass {}, last pass {}", time(times.first()), time(times.last())),
        };
        let how = match found {
            FirstDifference::Steps([before, after]) => {
                format!("{before} before the passes, {after} after them")
            }
            FirstDifference::Order => {
                "after the passes the same steps in another order than before them".to_owned()
            }
        };
        Some(format!("{}: {how}{indexes} ({times})", facts.name("query", &query.query)))
    };
    let all: Vec<String> = passes.queries.iter().filter_map(told).collect();
    if all.is_empty() {
        return None;
    }
    let advice = "the times of these queries may belong to different plans: bring the statistics up to date (ANALYZE) and run \
                  again";
    let (rule, subject) = ((Code::PlanChanged, Severity::Doubt), series_subject(report, series));
    Some(Finding::new(rule, subject, first_few(&all), advice, facts))
}

/// `, index a no longer used, indexes b and c used now`
fn indexes(before: &Plan, after: &Plan) -> String {
    let told = |names: Vec<String>, what: &str| match names.len() {
        0 => String::new(),
        1 => format!(", index {} {what}", names[0]),
        _ => format!(", indexes {} {what}", list(&names)),
    };
    let [gone, new] = indexes_of_one(before, after);
    told(gone, "no longer used") + &told(new, "used now")
}
