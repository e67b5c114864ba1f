//! How a target runs the queries of a query set: asked before the first pass that counts and behind the last, where each is also
//! run once more. Never while a pass goes on. What fails here fails no measurement: the plan says why there is none.

use std::time::Duration;

use dyno_results::event::{Event, HookTime};
use dyno_results::plan::{Plan, PlanNode};
use dyno_results::spec::Plans;
use dyno_target::connection::{Connection, QueryError};
use dyno_target::explain::{Explain, Explained, explain};
use dyno_target::inspect;
use dyno_workload::benchmark::NamedQuery;

use super::Context;
use super::admin::telling;
use super::system::System;
use crate::failure::Failure;
use crate::plan::StreamPlan;

/// Limit of a query where the passes have none.
const LIMIT: Duration = Duration::from_secs(300);

/// Takes the plans of a stream's queries before its first pass that counts.
pub(super) fn before(
    context: &Context<'_>,
    system: &System<'_>,
    stream: &StreamPlan,
    queries: &[NamedQuery],
) -> Result<(), Failure> {
    take(context, system, (stream, HookTime::Before), queries, |_| Run::NotAsked)
}

/// The same behind them; only those queries are run again that `ended_well`.
pub(super) fn after(
    context: &Context<'_>,
    system: &System<'_>,
    stream: &StreamPlan,
    queries: &[NamedQuery],
    ended_well: &[String],
) -> Result<(), Failure> {
    take(context, system, (stream, HookTime::After), queries, |query| match stream.plans {
        Plans::Estimate | Plans::None => Run::NotAsked,
        Plans::Analyze if !query.only_reads => Run::No("it may write, and is not run again for its plan"),
        Plans::Analyze if !ended_well.contains(&query.name) => {
            Run::No("it did not end well in any pass, and is not run again for its plan")
        }
        Plans::Analyze => Run::Yes,
    })
}

/// Whether a query is run for its plan.
#[derive(Clone, Copy)]
enum Run {
    Yes,
    NotAsked,
    No(&'static str),
}

fn take(
    context: &Context<'_>,
    system: &System<'_>,
    (stream, when): (&StreamPlan, HookTime),
    queries: &[NamedQuery],
    run: impl Fn(&NamedQuery) -> Run,
) -> Result<(), Failure> {
    if stream.plans == Plans::None || queries.is_empty() {
        return Ok(());
    }
    let limit = stream.time_limit.unwrap_or(LIMIT);
    telling(context, &format!("taking the plans of {}", system.name()), || {
        let mut session = Session::open(system);
        queries.iter().try_for_each(|query| {
            let all = session.plans(query, run(query), limit);
            context.check_stopped()?;
            for (explained, reason) in all {
                let about = (system.name(), stream.name.as_str(), query);
                context.stream.emit(Event::Plan(plan(about, when, explained, reason)));
            }
            Ok(())
        })
    })
}

fn plan(
    (target, series, query): (&str, &str, &NamedQuery),
    when: HookTime,
    explained: Option<Explained>,
    reason: Option<String>,
) -> Plan {
    let (executed, nodes, text) = match explained {
        Some(Explained { executed, nodes, text }) => (executed, nodes, Some(text)),
        None => (false, Vec::new(), None),
    };
    Plan {
        target: target.to_owned(),
        series: series.to_owned(),
        query: query.name.clone(),
        sql: query.settings.iter().chain([&query.sql]).map(String::as_str).collect::<Vec<_>>().join("; "),
        when,
        executed,
        reason,
        nodes,
        text,
    }
}

/// A session of its own, on which nothing else was set.
struct Session<'s, 'p> {
    system: &'s System<'p>,
    /// Why there is none, where there is none.
    opened: Result<(Connection, Explain), String>,
}

impl<'s, 'p> Session<'s, 'p> {
    fn open(system: &'s System<'p>) -> Self {
        let connect = || {
            let mut connection = Connection::open(&system.server.route).map_err(|error| error.to_string())?;
            let known = inspect::recognise(&mut connection).map_err(|error| error.to_string())?;
            Ok((connection, known.dialect.explain))
        };
        Self { system, opened: connect() }
    }

    /// The plan of a query that is run, and as planned: only what was asked in the same way can be compared. Each with why it was
    /// not run, or why there is none.
    fn plans(
        &mut self,
        query: &NamedQuery,
        run: Run,
        limit: Duration,
    ) -> Vec<(Option<Explained>, Option<String>)> {
        if query.several {
            let why = "it has several statements, and a plan is of one that needs nothing of another";
            return vec![(None, Some(why.to_owned()))];
        }
        let mut plans = Vec::new();
        let can_run = self.opened.as_ref().is_ok_and(|(_, explain)| !explain.analyze.is_empty());
        let mut reason = None;
        match run {
            Run::Yes if can_run => match self.ask((query, true), limit) {
                Ok(explained) => plans.push((Some(explained), None)),
                Err(why) => reason = Some(format!("it was not run for its plan: {why}")),
            },
            Run::Yes | Run::NotAsked => {}
            Run::No(why) => reason = Some(why.to_owned()),
        }
        plans.push(match self.ask((query, false), limit) {
            Ok(explained) => (Some(explained), reason),
            Err(why) => (None, Some(why)),
        });
        plans
    }

    fn ask(&mut self, (query, run): (&NamedQuery, bool), limit: Duration) -> Result<Explained, String> {
        let (connection, words) = self.opened.as_mut().map_err(|why| why.clone())?;
        let told = query.settings.iter().try_for_each(|setting| connection.execute(setting).map(drop));
        let mut explained = told.and_then(|()| explain(connection, words, (&query.sql, run), limit));
        if let (Ok(explained), Some(prefix)) = (&mut explained, &query.table_prefix) {
            remove_prefix(prefix, explained);
        }
        // The cancellation may come late, and would be that of the next query.
        if connection.is_broken() || matches!(explained, Err(QueryError::TimedOut { .. })) {
            *self = Self::open(self.system);
        }
        explained.map_err(|error| match error {
            QueryError::TimedOut { .. } => format!("it took longer than {} s", limit.as_secs_f64()),
            error => error.to_string(),
        })
    }
}

/// Removes what the names of a variant's tables begin with: plans of two variants are compared, and are on the same tables.
fn remove_prefix(prefix: &str, plan: &mut Explained) {
    let is_text = plan.nodes.is_empty();
    let of_steps = plan.nodes.iter_mut().flat_map(|node| {
        let PlanNode { operation, object, index, details, .. } = node;
        [operation].into_iter().chain(object).chain(index).chain(details)
    });
    // A plan without steps is shown, and compared, as its text.
    let whole = Some(&mut plan.text).filter(|_| is_text);
    for text in of_steps.chain(whole) {
        *text = text.replace(prefix, "");
    }
}
