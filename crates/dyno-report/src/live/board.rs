//! What the live views know of a run: a running fold over its events, without a clock and without drawing.
//!
//! Its figures are for watching. The report's come from `dyno_results::fold`, which knows better how to cut a
//! series and how sure it can be.

use std::collections::HashMap;

use dyno_results::event::{Check, Data, Event, Finished, Host, Interval, Notice, PrepareStep, Sample, Stage};
use dyno_results::event::{StageKind, Stamped, Target};
use dyno_results::latency::Latency;

use crate::ladder::{Rung, RungState};

/// Counters of [`Sample`]s that are watched; see `docs/telemetry.md`.
const SERVER_CPU: &str = "server_cpu_seconds_total";
const DRIVER_CPU: &str = "driver_cpu_seconds_total";

/// The run so far.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) targets: Vec<Target>,
    pub(super) hosts: Vec<Host>,
    pub(super) data: Vec<Data>,
    pub(super) prepared: Vec<PrepareStep>,
    pub(super) preparing: Option<Preparing>,
    pub(super) series: Vec<LiveSeries>,
    pub(super) running: Option<Running>,
    pub(super) checks: Vec<Check>,
    pub(super) notices: Vec<Notice>,
    pub(super) activity: Option<String>,
    pub(super) finished: Option<Finished>,
    cpu: CpuMeter,
}

/// A step of the preparation under way.
#[derive(Debug)]
pub(super) struct Preparing {
    pub(super) step: String,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    pub(super) since_ms: u64,
}

impl Preparing {
    /// Seconds until it is done if it goes on as it went; `None` where that cannot be said yet.
    pub(super) fn remaining_s(&self, now_ms: u64) -> Option<f64> {
        let left = self.total?.checked_sub(self.done)?;
        let spent_s = now_ms.saturating_sub(self.since_ms) as f64 / 1e3;
        (self.done > 0 && spent_s >= 1.0).then(|| spent_s * left as f64 / self.done as f64)
    }
}

/// The stages of one curve.
#[derive(Debug)]
pub(super) struct LiveSeries {
    pub(super) target: String,
    pub(super) name: String,
    pub(super) workload: String,
    /// By clients ascending, each with its stage's id.
    pub(super) rungs: Vec<(u32, Rung)>,
    /// Holds and ramps that have ended, in the order they ran.
    pub(super) holds: Vec<Held>,
}

/// A stage with what came of it so far.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) stage: Stage,
    pub(super) since_ms: u64,
    /// The last whole interval.
    pub(super) last: Option<Moment>,
    pub(super) tally: Tally,
}

/// A hold or a ramp that has ended, in figures, so that drawing it again costs nothing.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) stage: Stage,
    pub(super) seconds: f64,
    pub(super) tps: Option<f64>,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) failed: u64,
    /// False where it was cut short.
    pub(super) complete: bool,
}

/// One interval's figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) tps: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) clients: u32,
    /// Arrivals that are due and not yet begun.
    pub(super) backlog: u64,
}

/// A stage's sums. As in the report, latency and troubles include the drain, and throughput does not.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Ended well within the load.
    pub(super) done: u64,
    /// Failed for good, or of unknown outcome.
    pub(super) failed: u64,
    pub(super) retries: u64,
    /// Of load.
    pub(super) seconds: f64,
    latency: Option<Latency>,
}

impl Tally {
    /// Transactions per second; `None` before the first interval.
    pub(super) fn tps(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.done as f64 / self.seconds)
    }

    /// A percentile (0 to 100) of the stage's latency so far, microseconds.
    pub(super) fn percentile_us(&self, percentile: f64) -> Option<f64> {
        percentile_us(self.latency.as_ref(), percentile)
    }
}

impl Board {
    /// Takes an event in.
    pub(super) fn apply(&mut self, stamped: &Stamped) {
        match &stamped.event {
            Event::Target(target) => self.targets.push(target.clone()),
            Event::Host(host) => self.hosts.push(host.clone()),
            Event::Data(data) => {
                self.preparing = None;
                self.data.push(data.clone());
            }
            Event::Prepare(step) => {
                self.preparing = None;
                self.activity = None;
                self.prepared.push(step.clone());
            }
            Event::StageStarted(stage) => self.stage_started(stage, stamped.at_ms),
            Event::Interval(interval) => self.interval(interval),
            Event::Sample(sample) => self.cpu.take(sample, stamped.at_ms),
            Event::StageFinished(finished) => self.stage_finished(finished.stage, finished.complete),
            Event::Check(check) => self.checks.push(check.clone()),
            Event::Notice(notice) => self.notices.push(notice.clone()),
            Event::Finished(finished) => {
                self.activity = None;
                self.preparing = None;
                self.finished = Some(finished.clone());
            }
            Event::Started(_) | Event::Settings(_) | Event::Finding(_) => {}
        }
    }

    /// Takes the progress of a step of the preparation in.
    pub(super) fn prepare_progress(&mut self, step: &str, done: u64, total: Option<u64>, now_ms: u64) {
        let since_ms = match &self.preparing {
            Some(preparing) if preparing.step == step => preparing.since_ms,
            _ => now_ms,
        };
        self.activity = None;
        self.preparing = Some(Preparing { step: step.to_owned(), done, total, since_ms });
    }

    /// Takes in what dyno is busy with otherwise.
    pub(super) fn activity(&mut self, text: &str) {
        self.activity = Some(text.to_owned());
    }

    /// Processors that the server under load keeps busy, and those of the driver; `None` where unknown.
    pub(super) fn cpu_cores(&self) -> (Option<f64>, Option<f64>) {
        let target = self.running.as_ref().map_or("", |running| running.stage.target.as_str());
        (self.cpu.cores(SERVER_CPU, target), self.cpu.cores(DRIVER_CPU, "driver"))
    }

    fn stage_started(&mut self, stage: &Stage, at_ms: u64) {
        self.activity = None;
        self.preparing = None;
        let series = self.series_of(stage);
        if stage.kind == StageKind::Ladder {
            let rung = Rung { clients: stage.clients, tps: None, failed: 0, state: RungState::Running };
            let place = series.rungs.partition_point(|(_, other)| other.clients <= stage.clients);
            series.rungs.insert(place, (stage.id, rung));
        }
        self.running =
            Some(Running { stage: stage.clone(), since_ms: at_ms, last: None, tally: Tally::default() });
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(running) = self.running.as_mut().filter(|running| running.stage.id == interval.stage) else {
            return;
        };
        let mut latency: Option<Latency> = None;
        for kind in &interval.types {
            running.tally.failed += kind.failed + kind.unknown;
            running.tally.retries += kind.retries;
            merge(&mut latency, kind.response.as_ref().unwrap_or(&kind.service));
        }
        if let Some(latency) = &latency {
            merge(&mut running.tally.latency, latency);
        }
        if !interval.drain {
            let done: u64 = interval.types.iter().map(|kind| kind.done).sum();
            let seconds = interval.duration_ms / 1e3;
            running.tally.done += done;
            running.tally.seconds += seconds;
            running.last = Some(Moment {
                tps: if seconds > 0.0 { done as f64 / seconds } else { 0.0 },
                p50_us: percentile_us(latency.as_ref(), 50.0),
                p99_us: percentile_us(latency.as_ref(), 99.0),
                clients: interval.clients,
                backlog: interval.backlog,
            });
        }
        let (tps, failed) = (running.tally.tps(), running.tally.failed);
        if let Some(rung) = self.rung(interval.stage) {
            rung.tps = tps;
            rung.failed = failed;
        }
    }

    fn stage_finished(&mut self, stage: u32, complete: bool) {
        if let Some(rung) = self.rung(stage) {
            rung.state = if complete { RungState::Measured } else { RungState::CutShort };
        }
        if self.running.as_ref().is_none_or(|running| running.stage.id != stage) {
            return;
        }
        let Some(Running { stage, tally, .. }) = self.running.take() else { return };
        if matches!(stage.kind, StageKind::Hold | StageKind::Ramp) {
            let held = Held {
                seconds: tally.seconds,
                tps: tally.tps(),
                p50_us: tally.percentile_us(50.0),
                p99_us: tally.percentile_us(99.0),
                failed: tally.failed,
                complete,
                stage,
            };
            self.series_of(&held.stage).holds.push(held);
        }
    }

    fn rung(&mut self, stage: u32) -> Option<&mut Rung> {
        let mut rungs = self.series.iter_mut().flat_map(|series| series.rungs.iter_mut());
        rungs.find(|(id, _)| *id == stage).map(|(_, rung)| rung)
    }

    fn series_of(&mut self, stage: &Stage) -> &mut LiveSeries {
        let known = self
            .series
            .iter()
            .position(|series| series.target == stage.target && series.name == stage.series);
        let place = known.unwrap_or_else(|| {
            self.series.push(LiveSeries {
                target: stage.target.clone(),
                name: stage.series.clone(),
                workload: stage.workload.clone(),
                rungs: Vec::new(),
                holds: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }
}

/// Processors kept busy, from the counters of samples.
#[derive(Debug, Default)]
struct CpuMeter {
    /// By counter and target.
    readings: HashMap<(&'static str, String), Reading>,
}

#[derive(Debug)]
struct Reading {
    at_ms: u64,
    seconds: f64,
    cores: Option<f64>,
}

impl CpuMeter {
    fn take(&mut self, sample: &Sample, at_ms: u64) {
        for key in [SERVER_CPU, DRIVER_CPU] {
            let Some(&seconds) = sample.values.get(key) else { continue };
            let place = (key, sample.target.clone());
            let cores = self.readings.get(&place).and_then(|before| {
                let passed_s = at_ms.checked_sub(before.at_ms)? as f64 / 1e3;
                let used_s = seconds - before.seconds;
                // A counter that fell was set to zero by a restart: nothing is known until the next reading.
                (passed_s > 0.0 && used_s >= 0.0).then_some(used_s / passed_s)
            });
            self.readings.insert(place, Reading { at_ms, seconds, cores });
        }
    }

    /// The reading of this target; else the only one there is, which a host that holds server and driver may
    /// have given under either name.
    fn cores(&self, key: &'static str, target: &str) -> Option<f64> {
        if let Some(own) = self.readings.get(&(key, target.to_owned())) {
            return own.cores;
        }
        let mut others = self.readings.iter().filter(|((other, _), _)| *other == key);
        match (others.next(), others.next()) {
            (Some((_, only)), None) => only.cores,
            _ => None,
        }
    }
}

fn merge(into: &mut Option<Latency>, from: &Latency) {
    if from.is_empty() {
        return;
    }
    match into {
        Some(into) => into.merge(from),
        None => *into = Some(from.clone()),
    }
}

fn percentile_us(latency: Option<&Latency>, percentile: f64) -> Option<f64> {
    latency?.percentile_ns(percentile).map(|ns| ns as f64 / 1e3)
}
