//! The load over time, in columns, one timeline for each target.

use std::collections::BTreeMap;

use super::telemetry::Telemetry;
use crate::document::{Load, Timeline};
use crate::event::{Arrival, Interval, Stage, Target};
use crate::latency::Latency;

/// The timelines in the making, by target.
#[derive(Debug, Default)]
pub(super) struct Timelines(BTreeMap<String, Load>);

impl Timelines {
    /// Adds an interval of a stage that started `start_s` seconds after the run.
    pub(super) fn add(&mut self, stage: &Stage, start_s: f64, interval: &Interval) {
        // A drain is no load: its rate would show as a dip that the database did not cause.
        if interval.drain || interval.duration_ms <= 0.0 {
            return;
        }
        let load = self.0.entry(stage.target.clone()).or_default();
        let per_s = |count: u64| count as f64 * 1000.0 / interval.duration_ms;
        load.t_s.push(start_s + (interval.start_ms + interval.duration_ms / 2.0) / 1000.0);
        load.stage.push(stage.id);
        load.clients.push(interval.clients);
        load.tps.push(per_s(interval.types.iter().map(|of_type| of_type.done).sum()));
        load.failed_per_s.push(per_s(interval.types.iter().map(|of_type| of_type.failed).sum()));
        push_latency(load, merged(stage, interval).as_ref());
    }

    /// The targets of the run in their order, then those that were only named by their stages.
    pub(super) fn report(&self, targets: &[Target], telemetry: &Telemetry) -> Vec<Timeline> {
        let unannounced = self.0.keys().filter(|name| !targets.iter().any(|target| target.name == **name));
        let announced = targets.iter().map(|target| (target.name.as_str(), target.same_host));
        announced
            .chain(unannounced.map(|name| (name.as_str(), None)))
            .map(|(name, same_host)| Timeline {
                target: name.to_owned(),
                load: self.0.get(name).cloned().unwrap_or_default(),
                metrics: telemetry.metrics(name, same_host == Some(true)),
            })
            .collect()
    }
}

fn push_latency(load: &mut Load, latency: Option<&Latency>) {
    let us = |percentile| Some(latency?.percentile_ns(percentile)? as f64 / 1000.0);
    load.p50_us.push(us(50.0));
    load.p95_us.push(us(95.0));
    load.p99_us.push(us(99.0));
    load.max_us.push(latency.and_then(Latency::max_ns).map(|ns| ns as f64 / 1000.0));
}

/// Response time in an open loop, service time in a closed one, of all types.
fn merged(stage: &Stage, interval: &Interval) -> Option<Latency> {
    let open = matches!(stage.arrival, Arrival::Open { .. });
    let mut latencies = interval
        .types
        .iter()
        .filter_map(|of_type| if open { of_type.response.as_ref() } else { Some(&of_type.service) });
    let mut merged = latencies.next()?.clone();
    latencies.for_each(|latency| merged.merge(latency));
    Some(merged)
}
