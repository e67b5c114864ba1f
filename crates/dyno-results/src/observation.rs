//! What a load generator tells of a stage while it runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::{Interval, QueryAnswer, RunningQuery};

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
    /// A load thread, counted from 0, had nothing more to do in the stage `after` its start.
    ThreadFinished { thread: u32, after: Duration },
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
