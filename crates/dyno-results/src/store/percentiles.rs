//! Percentiles that are stored with the seconds of load and with the end of a stage, for the views: SQL cannot read a
//! histogram. Only the views use them; a fold reads the histograms.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::{Event, Interval};
use crate::latency::Latency;

/// The latency of each stage that has not ended, so far.
#[derive(Debug, Default)]
pub(super) struct StageLatencies(BTreeMap<u32, Latency>);

/// An event as it is stored.
#[derive(Serialize)]
struct Stored<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(flatten)]
    percentiles: Option<Percentiles>,
}

#[derive(Serialize)]
struct Percentiles {
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
}

impl StageLatencies {
    /// The event as JSON, with percentiles where it ends a second of load or a stage.
    pub(super) fn body_of(&mut self, event: &Event) -> serde_json::Result<String> {
        let percentiles = match event {
            Event::Interval(interval) => {
                let latency = latency_of(interval);
                self.0.entry(interval.stage).or_default().merge(&latency);
                percentiles(&latency)
            }
            Event::StageFinished(finished) => {
                self.0.remove(&finished.stage).and_then(|latency| percentiles(&latency))
            }
            _ => None,
        };
        serde_json::to_string(&Stored { event, percentiles })
    }
}

/// Of all transaction types: response time, or service time where they are the same.
fn latency_of(interval: &Interval) -> Latency {
    let mut all = Latency::new();
    for of_type in &interval.types {
        all.merge(of_type.response.as_ref().unwrap_or(&of_type.service));
    }
    all
}

fn percentiles(latency: &Latency) -> Option<Percentiles> {
    let us = |percentile| Some(latency.percentile_ns(percentile)? as f64 / 1000.0);
    Some(Percentiles { p50_us: us(50.0)?, p90_us: us(90.0)?, p99_us: us(99.0)? })
}
