//! `plan-changed`: behind the passes over a query set a query is run in another way than before them.

use super::evidence::series_subject;
use crate::document::{Passes, QueryTimes, Report, Series};
use crate::event::{Finding, HookTime, Severity};
use crate::format;
use crate::plan::{FirstDifference, first_difference};
use crate::words::first_few;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = |series: &Series| changed(report, series, series.passes.as_ref()?);
    report.series.iter().filter_map(found).collect()
}

fn changed(report: &Report, series: &Series, passes: &Passes) -> Option<Finding> {
    let told = |query: &QueryTimes| {
        let plan = |when| report.plan(series, &query.query, (when, false));
        let found = first_difference(plan(HookTime::Before)?, plan(HookTime::After)?)?;
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
        Some(format!("{}: {how} ({times})", query.query))
    };
    let all: Vec<String> = passes.queries.iter().filter_map(told).collect();
    (!all.is_empty()).then(|| Finding {
        code: "plan-changed".to_owned(),
        severity: Severity::Doubt,
        subject: series_subject(report, series),
        evidence: first_few(&all),
        advice: "the times of these queries may belong to different plans: bring the statistics up to date (ANALYZE) and run again"
            .to_owned(),
    })
}
