//! Processors and memory of the whole machine.

use super::facts::memory_bytes;
use super::source::text;
use super::values::{HostValues, put};

pub(super) fn read_cpus(tick_s: f64, values: &mut HostValues) {
    let Some(stat) = text("/proc/stat") else { return };
    let Some(times) = stat.lines().next().and_then(CpuTicks::parse) else { return };
    for (name, ticks) in times.named() {
        put(values, &format!("cpu_{name}_seconds_total"), Some(ticks as f64 * tick_s));
    }
    let cpus = stat.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
    put(values, "cpus", Some(cpus as f64));
    for (key, name) in [("running_processes", "procs_running "), ("blocked_processes", "procs_blocked ")] {
        let line = stat.lines().rev().find_map(|line| line.strip_prefix(name));
        put(values, key, line.and_then(|count| count.parse().ok()));
    }
}

/// The first line of `/proc/stat`. Time of guests is part of `user` already.
#[derive(Debug, PartialEq)]
struct CpuTicks {
    user: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

impl CpuTicks {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.strip_prefix("cpu ")?.split_whitespace().map(|ticks| ticks.parse::<u64>().ok());
        let mut next = || fields.next().flatten();
        let (user, nice, system, idle, iowait) = (next()?, next()?, next()?, next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next()?);
        Some(Self { user: user + nice, system: system + irq + softirq, idle, iowait, steal })
    }

    fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("user", self.user),
            ("system", self.system),
            ("idle", self.idle),
            ("iowait", self.iowait),
            ("steal", self.steal),
        ]
    }
}

/// For how long tasks have waited for want of something. Not every kernel counts it.
pub(super) fn read_pressure(values: &mut HostValues) {
    for of in ["cpu", "io", "memory"] {
        let some_s = text(format!("/proc/pressure/{of}")).as_deref().and_then(some_seconds);
        put(values, &format!("pressure_{of}_seconds_total"), some_s);
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=16511506988`, the total in microseconds.
fn some_seconds(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total_us = some.split(' ').find_map(|field| field.strip_prefix("total="))?;
    Some(total_us.parse::<u64>().ok()? as f64 / 1e6)
}

pub(super) fn read_memory(values: &mut HostValues) {
    read_meminfo(&text("/proc/meminfo").unwrap_or_default(), values);
}

fn read_meminfo(meminfo: &str, values: &mut HostValues) {
    let bytes = |name| memory_bytes(meminfo, name).map(|bytes| bytes as f64);
    let sum = |one, other| Some(bytes(one)? + bytes(other)?);
    let swap_used = || Some(bytes("SwapTotal")? - bytes("SwapFree")?);
    put(values, "memory_total_bytes", bytes("MemTotal"));
    put(values, "memory_available_bytes", bytes("MemAvailable"));
    put(values, "memory_cached_bytes", sum("Cached", "Buffers"));
    put(values, "memory_dirty_bytes", sum("Dirty", "Writeback"));
    put(values, "swap_used_bytes", swap_used());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_grouped() {
        let line = "cpu  100 20 30 4000 50 6 7 8 9 1";
        let expected = CpuTicks { user: 120, system: 43, idle: 4000, iowait: 50, steal: 8 };
        assert_eq!(CpuTicks::parse(line), Some(expected));
        assert_eq!(CpuTicks::parse("cpu0 100 20 30 4000 50 6 7 8 9 1"), None);
    }

    #[test]
    fn pressure_is_what_any_task_felt() {
        let io = "some avg10=2.51 avg60=1.87 avg300=0.89 total=761978850\nfull avg10=0.79 total=198210951";
        assert_eq!(some_seconds(io), Some(761.97885));
        assert_eq!(some_seconds("full avg10=0.79 total=198210951"), None);
    }

    #[test]
    fn memory_is_told_by_what_it_is_used_for() {
        let mut values = HostValues::new();
        let meminfo = "MemTotal: 100 kB\nMemFree: 7 kB\nMemAvailable: 60 kB\nBuffers: 2 kB\nCached: 30 kB\n\
                       SwapTotal: 50 kB\nSwapFree: 40 kB\nDirty: 3 kB\nWriteback: 1 kB\n";
        read_meminfo(meminfo, &mut values);
        let expected = [
            ("memory_available_bytes", 60.0),
            ("memory_cached_bytes", 32.0),
            ("memory_dirty_bytes", 4.0),
            ("memory_total_bytes", 100.0),
            ("swap_used_bytes", 10.0),
        ];
        assert_eq!(values, expected.map(|(key, kib)| (key.to_owned(), kib * 1024.0)).into());
    }
}
