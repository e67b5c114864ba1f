//! What a load generator tells: of a stage while it runs, and of a load behind it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Interval, QueryAnswer, RunningQuery, StageFinished};

/// Something that a load generator has seen. An error is an `E`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation<E> {
    /// An interval is over; they come in order, the drain last.
    Interval(Interval),
    /// The first error of its kind in a thread.
    Error(E),
    /// What a query of a query set returned to the first client, each time it did. Nothing is said of whether others were the same.
    Answer(QueryAnswer),
    /// A query of a query set did not end well; each client tells the first time of each query.
    Failure(FailedQuery),
    /// The queries that have gone on for some seconds, the longest first, about once a second; empty once there are none any more.
    Running(Vec<RunningQuery>),
    /// What the clients were told since the data were looked at, beyond what intervals count: as the workload's family writes it, for its
    /// verification.
    Acknowledged(Value),
    /// A load thread, counted from 0, had nothing more to do in the stage `after` its start.
    ThreadFinished { thread: u32, after: Duration },
    /// The stage is over, which is observed last; `broken` says why where the generator could not go on.
    End { finished: StageFinished, broken: Option<String> },
}

impl<E> Observation<E> {
    /// With an error as others know it.
    pub fn map_error<F>(self, map: impl FnOnce(E) -> F) -> Observation<F> {
        match self {
            Self::Interval(interval) => Observation::Interval(interval),
            Self::Error(error) => Observation::Error(map(error)),
            Self::Answer(answer) => Observation::Answer(answer),
            Self::Failure(failure) => Observation::Failure(failure),
            Self::Running(queries) => Observation::Running(queries),
            Self::Acknowledged(told) => Observation::Acknowledged(told),
            Self::ThreadFinished { thread, after } => Observation::ThreadFinished { thread, after },
            Self::End { finished, broken } => Observation::End { finished, broken },
        }
    }
}

/// A query of a query set that did not end well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedQuery {
    /// `Q1`
    pub query: String,
    /// What the server said, or after how long it was cancelled.
    pub said: String,
    /// It was cancelled at the time limit.
    pub over_limit: bool,
}
