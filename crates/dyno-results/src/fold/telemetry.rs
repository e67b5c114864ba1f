//! Telemetry in columns: gauges as read, counters as rates and shares. Keys and units are listed in `docs/json.md`.
//!
//! A key may end in a label, `waits_sessions[Lock]`: its unit is that of the part before it, and a counter's label stays
//! at its end. A counter that goes backwards belonged to a server or host that has restarted: that step has no value.
//! Nothing is carried over a gap.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::{Numbers, Unpacked};
use super::sums::ReadingSum;
use crate::document::Metric;
use crate::event::Sample;

/// Name under which the driver's own host is sampled.
const DRIVER: &str = "driver";
/// How the keys begin that are read of dyno itself.
const DRIVER_KEYS: &str = "driver_";
/// Counters of processor time by state; together they are all the time that there was.
const CPU_STATES: [(&str, &str); 5] = [
    ("cpu_user_seconds_total", "cpu_user_share"),
    ("cpu_system_seconds_total", "cpu_system_share"),
    ("cpu_iowait_seconds_total", "cpu_iowait_share"),
    ("cpu_steal_seconds_total", "cpu_steal_share"),
    ("cpu_idle_seconds_total", "cpu_idle_share"),
];
/// Counters of seconds whose rate has a name and a unit of its own.
const SECONDS: [(&str, &str, &str); 14] = [
    ("server_cpu_seconds_total", "server_cpu_cores", "cores"),
    ("server_cpu_user_seconds_total", "server_cpu_user_cores", "cores"),
    ("server_cpu_system_seconds_total", "server_cpu_system_cores", "cores"),
    ("server_cgroup_cpu_seconds_total", "server_cgroup_cpu_cores", "cores"),
    ("server_cgroup_throttled_seconds_total", "server_cgroup_throttled_cores", "cores"),
    ("driver_cpu_seconds_total", "driver_cpu_cores", "cores"),
    ("driver_cpu_user_seconds_total", "driver_cpu_user_cores", "cores"),
    ("cgroup_throttled_seconds_total", "cgroup_throttled_cores", "cores"),
    ("disk_busy_seconds_total", "disk_busy_share", "share"),
    ("disk_queue_seconds_total", "disk_queue_operations", "operations"),
    ("pressure_cpu_seconds_total", "pressure_cpu_share", "share"),
    ("pressure_io_seconds_total", "pressure_io_share", "share"),
    ("pressure_memory_seconds_total", "pressure_memory_share", "share"),
    ("row_lock_wait_seconds_total", "row_lock_waiting_mean_sessions", "sessions"),
];
/// Shares of one counter in another: part, all, and the share's name.
const SHARES: [(&str, &str, &str); 1] = [(
    "server_cgroup_throttled_periods_total",
    "server_cgroup_periods_total",
    "server_cgroup_throttled_share",
)];
/// Counters of seconds that operations took, and of these operations.
const DISK_SECONDS: [&str; 2] = ["disk_read_seconds_total", "disk_write_seconds_total"];
const DISK_OPERATIONS: [&str; 2] = ["disk_read_operations_total", "disk_write_operations_total"];
/// Counters that together count the checkpoints begun.
const CHECKPOINTS: [&str; 2] = ["checkpoints_timed_total", "checkpoints_requested_total"];

/// All telemetry of a run in the making.
#[derive(Debug, Default)]
pub(super) struct Telemetry {
    /// By target and source.
    streams: BTreeMap<(String, String), ReadingStream>,
}

impl Telemetry {
    pub(super) fn add(&mut self, at_ms: u64, sample: &Sample) {
        let key = (sample.target.clone(), sample.source.clone());
        self.streams.entry(key).or_default().add(at_ms, &sample.values);
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = (&(String, String), &ReadingStream)> {
        self.streams.iter()
    }

    /// Every reading as it stands.
    pub(super) fn sums(&self) -> Vec<ReadingSum> {
        let mut sums = Vec::new();
        for ((target, source), stream) in &self.streams {
            for Reading { key, state, .. } in &stream.readings {
                let (target, source, key) = (target.clone(), source.clone(), key.clone());
                sums.extend(state.at_ms.map(|at_ms| ReadingSum {
                    target,
                    source,
                    key,
                    value: state.sum,
                    at_ms,
                }));
            }
        }
        sums
    }

    /// Puts back what was packed of one stream.
    pub(super) fn unpack(&mut self, packed: Packed, numbers: &mut Unpacked<'_>) -> Option<()> {
        let key = (packed.target.clone(), packed.source.clone());
        self.streams.entry(key).or_default().unpack(packed, numbers)
    }

    /// The metrics that belong to a target: its own, and those of the driver's host, which is the target's where they
    /// share it.
    pub(super) fn metrics(&self, target: &str, same_host: bool) -> Vec<Metric<'_>> {
        let mut metrics: Vec<Metric<'_>> = Vec::new();
        let of = |wanted: &'static str| self.streams.iter().filter(move |((name, _), _)| name == wanted);
        let own = self.streams.iter().filter(|((name, _), _)| name == target && name != DRIVER);
        for ((name, source), stream) in own.chain(of(DRIVER)) {
            // A host is read from within: who can read the driver's own processes runs beside the driver.
            let of_driver =
                name == DRIVER || stream.known_columns().any(|(key, _)| key.starts_with(DRIVER_KEYS));
            let source = if of_driver && source == "host" && !same_host { DRIVER } else { source };
            for (key, column) in stream.known_columns() {
                let source = if key.starts_with(DRIVER_KEYS) { DRIVER } else { source };
                // Who reads the driver's host a second time says nothing new.
                if metrics.iter().any(|known| known.source == source && known.key == key) {
                    continue;
                }
                metrics.push(Metric {
                    source: source.into(),
                    key: key.into(),
                    unit: column.unit.as_str().into(),
                    t_s: column.t_s.as_slice().into(),
                    values: column.values.as_slice().into(),
                });
            }
        }
        metrics
    }
}

/// What a stream's columns have grown by, and the readings that the next sample is compared with. The numbers stand apart,
/// in the order of what names them here.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Packed {
    target: String,
    source: String,
    last_s: Option<f64>,
    checkpoints: f64,
    /// All that were ever read.
    readings: Vec<(String, ReadingState)>,
    /// Lengths of the distinct columns of times.
    times: Vec<usize>,
    columns: Vec<PackedColumn>,
}

/// A column, and which of the columns of times is its own.
#[derive(Debug, Serialize, Deserialize)]
struct PackedColumn {
    key: String,
    times: usize,
}

/// Samples of one source of one target.
#[derive(Debug, Default)]
pub(super) struct ReadingStream {
    /// When the last sample was taken, seconds since the run started.
    last_s: Option<f64>,
    /// Checkpoints begun since the first sample.
    checkpoints: f64,
    /// Whatever was read in any sample, in the order in which it first was.
    readings: Vec<Reading>,
    /// Where each key stands among the readings.
    places: BTreeMap<String, usize>,
    groups: Groups,
    /// By the metric's key.
    columns: BTreeMap<String, usize>,
    filled: Vec<Column>,
}

/// What is read under a key. What becomes of it the key alone decides, so that it is looked at once and not each second.
#[derive(Debug)]
struct Reading {
    key: String,
    state: ReadingState,
    made: ReadingUse,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ReadingState {
    now: Option<f64>,
    before: Option<f64>,
    /// When it was read last, and what it was then.
    at_ms: Option<u64>,
    last: f64,
    /// As [`ReadingSum::value`].
    sum: f64,
}

/// What becomes of a reading, and in which column.
#[derive(Debug, Clone, Copy)]
enum ReadingUse {
    Gauge(usize),
    /// Of a counter, what it grew by in a second.
    Rate(usize),
    /// The same; a device is read at another instant than the clock, which can show it busier than always.
    RateUpToOne(usize),
    /// Of all processor time.
    CpuShare(usize),
}

#[derive(Debug, Default)]
struct Column {
    unit: String,
    t_s: Vec<f64>,
    values: Vec<Option<f64>>,
}

/// Metrics that are derived from several counters, by where these stand among the readings.
#[derive(Debug, Default)]
struct Groups {
    cpu: Vec<usize>,
    /// Blocks that the cache had, and those that it had not, with the column.
    cache: Option<(usize, Option<usize>, usize)>,
    /// Part, all, and the column.
    shares: Vec<(usize, usize, usize)>,
    /// Seconds, operations, and the column.
    disk: Option<([usize; 2], [usize; 2], usize)>,
    checkpoints: Vec<usize>,
    checkpoints_column: usize,
}

impl ReadingStream {
    fn add(&mut self, at_ms: u64, values: &BTreeMap<String, f64>) {
        let now_s = at_ms as f64 / 1000.0;
        for reading in &mut self.readings {
            reading.state.before = reading.state.now.take();
        }
        let mut next = 0;
        for (key, value) in values {
            // Samples have the same keys for the most part, and in the same order.
            let at = match self.readings.get(next) {
                Some(reading) if reading.key == *key => next,
                _ => self.place(key),
            };
            self.readings[at].take(at_ms, *value);
            next = at + 1;
        }
        for at in 0..self.readings.len() {
            let Reading { made, state: ReadingState { now, .. }, .. } = &self.readings[at];
            if let (ReadingUse::Gauge(column), Some(value)) = (*made, *now) {
                self.filled[column].push(now_s, Some(value));
            }
        }
        if let Some(before_s) = self.last_s.filter(|before_s| now_s > *before_s) {
            let seconds = now_s - before_s;
            self.derive(before_s + seconds / 2.0, seconds);
            self.checkpoints +=
                self.groups.checkpoints.iter().filter_map(|at| self.increase(*at)).sum::<f64>();
        }
        if self.groups.checkpoints.iter().any(|at| self.readings[*at].state.now.is_some()) {
            self.filled[self.groups.checkpoints_column].push(now_s, Some(self.checkpoints));
        }
        self.last_s = Some(now_s);
    }

    /// Where a key stands; what is made of it is settled when it is first read.
    fn place(&mut self, key: &str) -> usize {
        if let Some(at) = self.places.get(key) {
            return *at;
        }
        let at = self.readings.len();
        let made = self.made(key);
        self.readings.push(Reading { key: key.to_owned(), state: ReadingState::default(), made });
        self.places.insert(key.to_owned(), at);
        self.group();
        at
    }

    fn made(&mut self, key: &str) -> ReadingUse {
        let Some((base, label)) = counter(key) else {
            return ReadingUse::Gauge(self.column(key, gauge_unit(key)));
        };
        if let Some((_, share)) = CPU_STATES.iter().find(|(state, _)| *state == key) {
            return ReadingUse::CpuShare(self.column(share, "share"));
        }
        match SECONDS.iter().find(|(seconds, ..)| *seconds == key) {
            Some((_, key, "share")) => ReadingUse::RateUpToOne(self.column(key, "share")),
            Some((_, key, unit)) => ReadingUse::Rate(self.column(key, unit)),
            None => ReadingUse::Rate(self.column(&format!("{base}_per_s{label}"), rate_unit(base))),
        }
    }

    fn column(&mut self, key: &str, unit: &str) -> usize {
        if let Some(at) = self.columns.get(key) {
            return *at;
        }
        self.columns.insert(key.to_owned(), self.filled.len());
        self.filled.push(Column { unit: unit.to_owned(), ..Column::default() });
        self.filled.len() - 1
    }

    /// Finds the counters that belong together, among those that are known by now.
    fn group(&mut self) {
        let at = |key: &str| self.places.get(key).copied();
        let both = |keys: [&str; 2]| Some([at(keys[0])?, at(keys[1])?]);
        let cpu = CPU_STATES.iter().filter_map(|(counter, _)| at(counter)).collect();
        let cache = at("blocks_hit_total").map(|hit| (hit, at("blocks_read_total")));
        let shares: Vec<_> =
            SHARES.iter().filter_map(|(part, all, key)| Some((at(part)?, at(all)?, *key))).collect();
        let disk = both(DISK_SECONDS).zip(both(DISK_OPERATIONS));
        let checkpoints: Vec<_> = CHECKPOINTS.iter().filter_map(|key| at(key)).collect();
        self.groups = Groups {
            cpu,
            cache: cache.map(|(hit, read)| (hit, read, self.column("cache_hit_share", "share"))),
            shares: shares
                .into_iter()
                .map(|(part, all, key)| (part, all, self.column(key, "share")))
                .collect(),
            disk: disk.map(|(seconds, operations)| {
                (seconds, operations, self.column("disk_await_seconds", "seconds"))
            }),
            checkpoints_column: if checkpoints.is_empty() {
                0
            } else {
                self.column("checkpoints", "checkpoints")
            },
            checkpoints,
        };
    }

    /// The columns that have a point, by key.
    fn known_columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        let columns = self.columns.iter().map(|(key, at)| (key.as_str(), &self.filled[*at]));
        columns.filter(|(_, column)| !column.t_s.is_empty())
    }

    /// What counters say of the time between two samples, in its middle.
    fn derive(&mut self, t_s: f64, seconds: f64) {
        let all_s: f64 = self.groups.cpu.iter().filter_map(|at| self.increase(*at)).sum();
        for reading in self.readings.iter().filter(|reading| is_known(reading)) {
            let increase = increase(reading);
            let rate = increase.map(|increase| increase / seconds);
            let (column, value) = match reading.made {
                ReadingUse::Gauge(_) => continue,
                ReadingUse::Rate(column) => (column, rate),
                ReadingUse::RateUpToOne(column) => (column, rate.map(|rate| rate.min(1.0))),
                // The kernel lets iowait go backwards now and then: that state has no value then.
                ReadingUse::CpuShare(column) => {
                    (column, increase.filter(|_| all_s > 0.0).map(|increase| increase / all_s))
                }
            };
            self.filled[column].push(t_s, value);
        }
        self.derive_from_several(t_s);
    }

    fn derive_from_several(&mut self, t_s: f64) {
        let known = |all: &[usize]| all.iter().all(|at| self.known(*at));
        let sum = |all: [usize; 2]| all.iter().map(|at| self.increase(*at)).sum::<Option<f64>>();
        let mut derived = Vec::new();
        // Share of the blocks asked for that the server's own cache had; no value where none was asked for.
        if let Some((hit, read, column)) = self.groups.cache.filter(|(hit, ..)| self.known(*hit)) {
            let asked = self.increase(hit).zip(read.and_then(|read| self.increase(read)));
            let asked = asked.filter(|(hit, read)| hit + read > 0.0);
            derived.push((column, asked.map(|(hit, read)| hit / (hit + read))));
        }
        // No value where nothing was counted.
        for (part, all, column) in self.groups.shares.iter().filter(|(part, all, _)| known(&[*part, *all])) {
            let all = self.increase(*all).filter(|all| *all > 0.0);
            derived.push((*column, self.increase(*part).zip(all).map(|(part, all)| (part / all).min(1.0))));
        }
        // How long an operation of the disk took, waiting included; no value where there was none.
        if let Some((seconds, operations, column)) =
            self.groups.disk.filter(|(seconds, operations, _)| known(seconds) && known(operations))
        {
            let operations = sum(operations).filter(|operations| *operations > 0.0);
            derived.push((
                column,
                sum(seconds).zip(operations).map(|(seconds, operations)| seconds / operations),
            ));
        }
        for (column, value) in derived {
            self.filled[column].push(t_s, value);
        }
    }

    /// What has come since `marks`, which are moved on; `None` where nothing has.
    pub(super) fn pack(
        &self,
        (target, source): &(String, String),
        marks: &mut Vec<usize>,
        numbers: &mut Numbers,
    ) -> Option<Packed> {
        marks.resize(self.filled.len(), 0);
        let mut times: Vec<&[f64]> = Vec::new();
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (key, at) in &self.columns {
            let column = &self.filled[*at];
            let from = std::mem::replace(&mut marks[*at], column.t_s.len());
            let t_s = &column.t_s[from..];
            if t_s.is_empty() {
                continue;
            }
            // Most columns have the times of another.
            let known = times.iter().position(|known| *known == t_s).unwrap_or_else(|| {
                times.push(t_s);
                times.len() - 1
            });
            columns.push(PackedColumn { key: key.clone(), times: known });
            values.push(&column.values[from..]);
        }
        times.iter().for_each(|t_s| numbers.extend(t_s.iter().copied()));
        values.iter().for_each(|values| numbers.extend_known(values));
        (!columns.is_empty()).then(|| Packed {
            target: target.clone(),
            source: source.clone(),
            last_s: self.last_s,
            checkpoints: self.checkpoints,
            readings: self
                .readings
                .iter()
                .map(|reading| (reading.key.clone(), reading.state.clone()))
                .collect(),
            times: times.iter().map(|t_s| t_s.len()).collect(),
            columns,
        })
    }

    fn unpack(&mut self, packed: Packed, numbers: &mut Unpacked<'_>) -> Option<()> {
        self.last_s = packed.last_s;
        self.checkpoints = packed.checkpoints;
        for (key, state) in packed.readings {
            let at = self.place(&key);
            self.readings[at].state = state;
        }
        let times: Vec<Vec<f64>> = packed
            .times
            .iter()
            .map(|length| Some(numbers.take(*length)?.collect()))
            .collect::<Option<_>>()?;
        for PackedColumn { key, times: of_column } in packed.columns {
            let (at, times) = (*self.columns.get(&key)?, times.get(of_column)?);
            self.filled[at].t_s.extend_from_slice(times);
            self.filled[at].values.extend(numbers.take_known(times.len())?);
        }
        Some(())
    }

    /// Whether it stands in both samples.
    fn known(&self, at: usize) -> bool {
        is_known(&self.readings[at])
    }

    fn increase(&self, at: usize) -> Option<f64> {
        increase(&self.readings[at])
    }
}

impl Reading {
    fn take(&mut self, at_ms: u64, value: f64) {
        let state = &mut self.state;
        let is_counter = !matches!(self.made, ReadingUse::Gauge(_)) && state.at_ms.is_some();
        // A counter that goes back has begun anew, or the kernel has changed its mind: nothing is known to have been added.
        state.sum = if is_counter { state.sum + (value - state.last).max(0.0) } else { value };
        (state.now, state.last, state.at_ms) = (Some(value), value, Some(at_ms));
    }
}

impl Column {
    fn push(&mut self, t_s: f64, value: Option<f64>) {
        self.t_s.push(t_s);
        self.values.push(value);
    }
}

fn is_known(reading: &Reading) -> bool {
    reading.state.before.is_some() && reading.state.now.is_some()
}

/// What a counter grew by; `None` where a reading is missing, and where it went backwards.
fn increase(reading: &Reading) -> Option<f64> {
    let increase = reading.state.now? - reading.state.before?;
    (increase >= 0.0).then_some(increase)
}

fn rate_unit(base: &str) -> &'static str {
    match base.rsplit('_').next() {
        Some("bytes") => "bytes/s",
        Some("operations") => "operations/s",
        Some("seconds") => "s/s",
        _ => "1/s",
    }
}

/// What a counter counts, and its label where it has one: `waits_seconds` and `[Lock]` of `waits_seconds_total[Lock]`.
/// `None` for a gauge.
fn counter(key: &str) -> Option<(&str, &str)> {
    let (name, label) = key.split_at(key.find('[').unwrap_or(key.len()));
    Some((name.strip_suffix("_total")?, label))
}

/// A gauge's unit: the last word of its key before any label, but for the keys that name what they count first.
fn gauge_unit(key: &str) -> &str {
    let key = key.split('[').next().unwrap_or(key);
    match key.rsplit('_').next() {
        _ if key.starts_with("connections_") => "connections",
        _ if key.ends_with("cpus_limit") => "cpus",
        last => last.unwrap_or(key),
    }
}
