//! Percentiles that are stored with the seconds of load and with the end of a stage, for the views: SQL cannot read a
//! histogram. Only the views use them; a fold reads the histograms.

use serde::Serialize;

use crate::event::Event;

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

/// The event as JSON, with these percentiles, microseconds, where it ends a second of load or a stage.
pub(super) fn body_of(event: &Event, percentiles: Option<[f64; 3]>) -> serde_json::Result<String> {
    let percentiles = percentiles.map(|[p50_us, p90_us, p99_us]| Percentiles { p50_us, p90_us, p99_us });
    serde_json::to_string(&Stored { event, percentiles })
}
