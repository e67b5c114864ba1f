//! `no-work`: writes that touched no row. A delete that finds nothing costs a server little, so that a test of deletes
//! seems the faster the emptier its tables are.

use super::evidence::{loads, stage_name};
use super::gathered::{InStage, gather};
use crate::document::{QueryResult, Report, StageResult};
use crate::event::{Code, Finding, Severity};
use crate::finding::Facts;

/// From this share of the writes on, the rate says more than was done.
const SHARE_DOUBT: f64 = 0.01;
/// From here on it is mostly that of doing nothing.
const SHARE_INVALID: f64 = 0.5;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    let found = loads(report).into_iter().filter_map(|(series, result)| {
        let queries = result.queries.filter(|queries| queries.writes_in_vain > 0)?;
        let share = queries.in_vain_share?;
        let mut facts = Facts::default();
        let evidence = format!(
            "in {} {} of {} touched no row: {}",
            stage_name(result),
            facts.share("writes_in_vain", share),
            facts.counted("writes", queries.writes + queries.writes_in_vain, "write"),
            rates(result, &queries, share, &mut facts)
        );
        Some(InStage {
            series,
            result,
            severity: match share {
                _ if share >= SHARE_INVALID => Severity::Invalid,
                _ if share >= SHARE_DOUBT => Severity::Doubt,
                _ => Severity::Note,
            },
            facts,
            evidence,
            advice: if report.has_statements_of_the_user(series) {
                "compare the rates without them. A row can be deleted only once: bring the tables back to what they were before each run"
            } else {
                "compare the rates without them. A row can be deleted only once: prepare the data again for each run (--prepare), \
                 use larger tables, or use a test that inserts again what it deletes"
            }
            .to_owned(),
        })
    });
    gather(report, Code::NoWork, found)
}

/// The rate with and without them: of transactions where each is one write, else of writes.
fn rates(result: &StageResult, queries: &QueryResult, share: f64, facts: &mut Facts) -> String {
    let writes_alone = queries.reads == 0 && queries.other == queries.writes_in_vain;
    let one_write_each = writes_alone && queries.writes + queries.writes_in_vain <= result.totals.done;
    match result.throughput {
        Some(throughput) if one_write_each => format!(
            "{} transactions/s, {}/s without those",
            facts.per_s("transactions", throughput.mean),
            facts.per_s("transactions_with_work", throughput.mean * (1.0 - share))
        ),
        _ => {
            let in_vain_per_s = queries.other_per_s * queries.writes_in_vain as f64 / queries.other as f64;
            format!(
                "{} writes/s, {}/s without those",
                facts.per_s("writes_per_s", queries.writes_per_s + in_vain_per_s),
                facts.per_s("writes_with_work", queries.writes_per_s)
            )
        }
    }
}
