//! What went through disks and network interfaces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::source::text;
use super::values::{HostValues, put};

/// `/sys` counts in sectors of this size whatever the disk's own is.
const SECTOR_BYTES: f64 = 512.0;

/// Time with at least one operation under way.
pub(super) const DISK_BUSY: &str = "disk_busy_seconds_total";

/// The disks to add up.
#[derive(Debug)]
pub(super) struct Disks {
    /// Their directories in `/sys`.
    devices: Vec<PathBuf>,
    busiest: Busiest,
}

/// Seconds for which the busiest of several disks had something to do, from step to step. Their sum would say of two that
/// are busy for half of the time that there is no rest.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    before: BTreeMap<String, f64>,
    seconds: f64,
}

impl Busiest {
    /// From the seconds of each disk by its name, at this reading. `None` without any, and where a count stepped back.
    pub(super) fn total(&mut self, now: BTreeMap<String, f64>) -> Option<f64> {
        let before = std::mem::replace(&mut self.before, now);
        let steps: Vec<f64> =
            self.before.iter().filter_map(|(disk, seconds)| Some(seconds - before.get(disk)?)).collect();
        if self.before.is_empty() || steps.iter().any(|step| *step < 0.0) {
            return None;
        }
        self.seconds += steps.into_iter().fold(0.0, f64::max);
        Some(self.seconds)
    }
}

impl Disks {
    /// The one under `path`, else all.
    pub(super) fn under(path: Option<&Path>) -> Self {
        let device = path.and_then(Disk::under).and_then(|disk| disk.device);
        Self { devices: device.map_or_else(all_disks, |device| vec![device]), busiest: Busiest::default() }
    }

    /// As the kernel numbers them, `254:0`.
    pub(super) fn numbers(&self) -> Vec<String> {
        self.devices.iter().filter_map(|device| text(device.join("dev"))).collect()
    }

    pub(super) fn read(&mut self, values: &mut HostValues) {
        let readings: Vec<(String, Vec<u64>)> = self
            .devices
            .iter()
            .filter_map(|device| {
                Some((device.to_string_lossy().into_owned(), fields(&text(device.join("stat"))?)))
            })
            .collect();
        let busy = |fields: &[u64]| Some(*fields.get(BUSY_INDEX)? as f64 * MILLISECOND);
        let by_disk = readings.iter().filter_map(|(disk, fields)| Some((disk.clone(), busy(fields)?)));
        put(values, DISK_BUSY, self.busiest.total(by_disk.collect()));
        add_up(readings.into_iter().map(|(_, fields)| fields), values);
    }
}

/// Real disks: those with a device behind them. Mapped and loop devices would count the same work twice.
fn all_disks() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.join("device").exists()).collect()
}

/// Where `/sys/block/*/stat` has the time with something to do, and what its times are in.
const BUSY_INDEX: usize = 9;
const MILLISECOND: f64 = 1e-3;

fn fields(line: &str) -> Vec<u64> {
    line.split_whitespace().filter_map(|field| field.parse().ok()).collect()
}

/// Numbers of `/sys/block/*/stat`, a list for each disk.
fn add_up(readings: impl Iterator<Item = Vec<u64>>, values: &mut HostValues) {
    const NAMES: [(&str, usize, f64); 7] = [
        ("disk_read_operations_total", 0, 1.0),
        ("disk_read_bytes_total", 2, SECTOR_BYTES),
        ("disk_read_seconds_total", 3, MILLISECOND),
        ("disk_write_operations_total", 4, 1.0),
        ("disk_write_bytes_total", 6, SECTOR_BYTES),
        ("disk_write_seconds_total", 7, MILLISECOND),
        ("disk_queue_seconds_total", 10, MILLISECOND),
    ];
    let readings: Vec<Vec<u64>> = readings.collect();
    for (name, index, unit) in NAMES {
        let sum = readings.iter().filter_map(|fields| fields.get(index)).copied().reduce(|a, b| a + b);
        put(values, name, sum.map(|count| count as f64 * unit));
    }
}

/// The network interfaces to add up.
#[derive(Debug)]
pub(super) struct Interfaces {
    /// Those with hardware behind them. Empty in a container, where all but the loopback are taken instead; on
    /// a host bridges and pairs would count the same bytes twice.
    physical: Vec<String>,
}

impl Interfaces {
    pub(super) fn find() -> Self {
        let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
        let physical = entries.filter(|entry| entry.path().join("device").exists());
        Self { physical: physical.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect() }
    }

    pub(super) fn read(&self, values: &mut HostValues) {
        let Some(table) = text("/proc/net/dev") else { return };
        if let Some((received, transmitted)) = self.sum(&table) {
            put(values, "network_receive_bytes_total", Some(received as f64));
            put(values, "network_transmit_bytes_total", Some(transmitted as f64));
        }
        // What is sent over it is received over it.
        let loopback = counted(&table).find(|(name, ..)| *name == "lo");
        put(values, "loopback_bytes_total", loopback.map(|(_, received, _)| received as f64));
    }

    fn sum(&self, table: &str) -> Option<(u64, u64)> {
        let wanted = counted(table).filter(|(name, ..)| {
            if self.physical.is_empty() { *name != "lo" } else { self.physical.iter().any(|own| own == name) }
        });
        wanted.map(|(_, received, transmitted)| (received, transmitted)).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }
}

/// Name and bytes each way of every interface.
fn counted(table: &str) -> impl Iterator<Item = (&str, u64, u64)> {
    table.lines().filter_map(|line| {
        let (name, counters) = line.split_once(':')?;
        let mut counters = counters.split_whitespace();
        Some((name.trim(), counters.next()?.parse().ok()?, counters.nth(7)?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Inter-|   Receive\n face |bytes\n    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\ndocker0:   7 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0";

    #[test]
    fn networks_are_added_without_the_loopback() {
        assert_eq!(Interfaces { physical: vec![] }.sum(TABLE), Some((107, 33)));
        assert_eq!(Interfaces { physical: vec!["eth0".into()] }.sum(TABLE), Some((100, 30)));
        assert_eq!(counted(TABLE).next(), Some(("lo", 5, 5)));
    }

    #[test]
    fn disks_are_added() {
        let mut values = HostValues::new();
        // Reads, merged, sectors, ms; the same of writes; under way, ms busy, ms times operations.
        let lines = ["10 1 80 40 20 2 160 90 0 50 130", "1 0 2 3 4 0 8 5 1 6 7 0 0 0 0 9 9"];
        add_up(lines.into_iter().map(fields), &mut values);
        assert_eq!(fields(lines[0])[BUSY_INDEX], 50);
        let expected = [
            ("disk_read_operations_total", 11.0),
            ("disk_read_bytes_total", 82.0 * 512.0),
            ("disk_read_seconds_total", 0.043),
            ("disk_write_operations_total", 24.0),
            ("disk_write_bytes_total", 168.0 * 512.0),
            ("disk_write_seconds_total", 0.095),
            ("disk_queue_seconds_total", 0.137),
        ];
        for (key, value) in expected {
            assert!((values[key] - value).abs() < 1e-9, "{key}: {values:?}");
        }
        assert_eq!(values.len(), expected.len());
    }

    #[test]
    fn two_disks_that_rest_half_of_the_time_are_not_one_that_never_does() {
        let mut busiest = Busiest::default();
        let mut at = |sda: f64, sdb: f64| busiest.total([("sda".into(), sda), ("sdb".into(), sdb)].into());
        assert_eq!(at(100.0, 7.0), Some(0.0));
        assert_eq!(at(100.5, 7.5), Some(0.5));
        assert_eq!(at(100.5, 8.5), Some(1.5));
        assert_eq!(at(0.5, 0.1), None, "the machine was started anew");
        assert_eq!(at(0.75, 0.1), Some(1.75));
        assert_eq!(busiest.total(BTreeMap::new()), None);
    }
}
