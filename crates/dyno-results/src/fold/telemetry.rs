//! Telemetry in columns: gauges as read, counters as rates and shares. Keys and units are listed in `docs/json.md`.
//!
//! A key may end in a label, `waits_sessions[Lock]`: its unit is that of the part before it, and a counter's label stays
//! at its end. A counter that goes backwards belonged to a server or host that has restarted: that step has no value.
//! Nothing is carried over a gap.

use std::collections::BTreeMap;

use crate::event::Sample;
use crate::timeline_view::MetricView;

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
    streams: BTreeMap<(String, String), Stream>,
}

impl Telemetry {
    pub(super) fn add(&mut self, at_ms: u64, sample: &Sample) {
        let key = (sample.target.clone(), sample.source.clone());
        self.streams.entry(key).or_default().add(at_ms, &sample.values);
    }

    /// The metrics that belong to a target: its own, and those of the driver's host, which is the target's where they
    /// share it.
    pub(super) fn metrics(&self, target: &str, same_host: bool) -> Vec<MetricView<'_>> {
        let mut metrics: Vec<MetricView<'_>> = Vec::new();
        let of = |wanted: &'static str| self.streams.iter().filter(move |((name, _), _)| name == wanted);
        let own = self.streams.iter().filter(|((name, _), _)| name == target && name != DRIVER);
        for ((name, source), stream) in own.chain(of(DRIVER)) {
            // A host is read from within: who can read the driver's own processes runs beside the driver.
            let of_driver = name == DRIVER || stream.columns.keys().any(|key| key.starts_with(DRIVER_KEYS));
            let source = if of_driver && source == "host" && !same_host { DRIVER } else { source };
            for (key, column) in &stream.columns {
                let source = if key.starts_with(DRIVER_KEYS) { DRIVER } else { source };
                // Who reads the driver's host a second time says nothing new.
                if metrics.iter().any(|known| known.source == source && known.key == *key) {
                    continue;
                }
                metrics.push(MetricView {
                    source,
                    key,
                    unit: &column.unit,
                    t_s: &column.t_s,
                    values: &column.values,
                });
            }
        }
        metrics
    }
}

/// Samples of one source of one target.
#[derive(Debug, Default)]
struct Stream {
    last: Option<(f64, BTreeMap<String, f64>)>,
    /// Checkpoints begun since the first sample.
    checkpoints: f64,
    /// By the metric's key.
    columns: BTreeMap<String, Column>,
}

#[derive(Debug, Default)]
struct Column {
    unit: String,
    t_s: Vec<f64>,
    values: Vec<Option<f64>>,
}

impl Stream {
    fn add(&mut self, at_ms: u64, values: &BTreeMap<String, f64>) {
        let now_s = at_ms as f64 / 1000.0;
        for (key, value) in values.iter().filter(|(key, _)| counter(key).is_none()) {
            self.push(key, gauge_unit(key), now_s, Some(*value));
        }
        if let Some((before_s, before)) = self.last.take().filter(|(before_s, _)| now_s > *before_s) {
            let step = Step { before: &before, now: values, seconds: now_s - before_s };
            for (key, unit, value) in step.derived() {
                self.push(&key, unit, before_s + step.seconds / 2.0, value);
            }
            self.checkpoints += CHECKPOINTS.iter().filter_map(|key| step.increase(key)).sum::<f64>();
        }
        if CHECKPOINTS.iter().any(|key| values.contains_key(*key)) {
            self.push("checkpoints", "checkpoints", now_s, Some(self.checkpoints));
        }
        self.last = Some((now_s, values.clone()));
    }

    fn push(&mut self, key: &str, unit: &str, t_s: f64, value: Option<f64>) {
        let column = self.columns.entry(key.to_owned()).or_default();
        if column.unit.is_empty() {
            unit.clone_into(&mut column.unit);
        }
        column.t_s.push(t_s);
        column.values.push(value);
    }
}

/// Two readings, one after the other.
struct Step<'a> {
    before: &'a BTreeMap<String, f64>,
    now: &'a BTreeMap<String, f64>,
    seconds: f64,
}

impl Step<'_> {
    /// Key, unit and value of every metric that is derived from counters.
    fn derived(&self) -> Vec<(String, &'static str, Option<f64>)> {
        let mut derived = Vec::new();
        for (key, base, label) in
            self.now.keys().filter_map(|key| counter(key).map(|(base, label)| (key, base, label)))
        {
            if !self.before.contains_key(key) || CPU_STATES.iter().any(|(state, _)| state == key) {
                continue;
            }
            let rate = self.increase(key).map(|increase| increase / self.seconds);
            match SECONDS.iter().find(|(seconds, ..)| seconds == key) {
                // A device is read at another instant than the clock, which can show it busier than always.
                Some((_, key, "share")) => {
                    derived.push(((*key).to_owned(), "share", rate.map(|rate| rate.min(1.0))));
                }
                Some((_, key, unit)) => derived.push(((*key).to_owned(), *unit, rate)),
                None => derived.push((format!("{base}_per_s{label}"), rate_unit(base), rate)),
            }
        }
        self.cpu_shares(&mut derived);
        self.cache_hit_share(&mut derived);
        derived.extend(self.shares());
        derived.extend(self.disk_await());
        derived
    }

    /// Shares of all processor time. The kernel lets iowait go backwards now and then: that state has no value then.
    fn cpu_shares(&self, derived: &mut Vec<(String, &'static str, Option<f64>)>) {
        let all_s: f64 = CPU_STATES.iter().filter_map(|(counter, _)| self.increase(counter)).sum();
        for (counter, key) in CPU_STATES {
            if self.now.contains_key(counter) && self.before.contains_key(counter) {
                let share = self.increase(counter).filter(|_| all_s > 0.0).map(|increase| increase / all_s);
                derived.push((key.to_owned(), "share", share));
            }
        }
    }

    /// Share of the blocks asked for that the server's own cache had; no value where none was asked for.
    fn cache_hit_share(&self, derived: &mut Vec<(String, &'static str, Option<f64>)>) {
        if !self.now.contains_key("blocks_hit_total") || !self.before.contains_key("blocks_hit_total") {
            return;
        }
        let share = match (self.increase("blocks_hit_total"), self.increase("blocks_read_total")) {
            (Some(hit), Some(read)) if hit + read > 0.0 => Some(hit / (hit + read)),
            _ => None,
        };
        derived.push(("cache_hit_share".to_owned(), "share", share));
    }

    /// No value where nothing was counted.
    fn shares(&self) -> impl Iterator<Item = (String, &'static str, Option<f64>)> {
        let known = |key: &str| self.now.contains_key(key) && self.before.contains_key(key);
        SHARES.into_iter().filter(move |(part, all, _)| known(part) && known(all)).map(|(part, all, key)| {
            let all = self.increase(all).filter(|all| *all > 0.0);
            let share = self.increase(part).zip(all).map(|(part, all)| (part / all).min(1.0));
            (key.to_owned(), "share", share)
        })
    }

    /// How long an operation of the disk took, waiting included; no value where there was none.
    fn disk_await(&self) -> Option<(String, &'static str, Option<f64>)> {
        let known = |key: &&str| self.now.contains_key(*key) && self.before.contains_key(*key);
        if !DISK_SECONDS.iter().chain(&DISK_OPERATIONS).all(known) {
            return None;
        }
        let sum = |keys: [&str; 2]| keys.iter().map(|key| self.increase(key)).sum::<Option<f64>>();
        let operations = sum(DISK_OPERATIONS).filter(|operations| *operations > 0.0);
        let each = sum(DISK_SECONDS).zip(operations).map(|(seconds, operations)| seconds / operations);
        Some(("disk_await_seconds".to_owned(), "seconds", each))
    }

    /// What a counter grew by; `None` where a reading is missing, and where it went backwards.
    fn increase(&self, counter: &str) -> Option<f64> {
        let increase = self.now.get(counter)? - self.before.get(counter)?;
        (increase >= 0.0).then_some(increase)
    }
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
