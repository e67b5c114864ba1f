//! What the machine, the server on it and dyno itself are doing: one reading of counters and levels.
//!
//! Read about once a second while the load runs, so it must stay cheap: no process is started, nothing is
//! walked but the server's own children. The keys are those of `docs/telemetry.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cgroup::Throttling;
use super::disk::Disk;
use super::facts::memory_bytes;
use super::process::{Reader, Resident, run_ns};
use super::source::text;

/// One reading.
type Values = BTreeMap<String, f64>;

/// `/sys` counts in sectors of this size whatever the disk's own is.
const SECTOR_BYTES: f64 = 512.0;

/// Reads the host's counters.
#[derive(Debug)]
pub struct Sampler {
    server: Option<Server>,
    /// `stat` files of the disks to add up.
    disks: Vec<PathBuf>,
    interfaces: Interfaces,
    throttling: Throttling,
    reader: Reader,
    tick_s: f64,
    page_bytes: f64,
}

impl Sampler {
    /// `server_pid` is the server's main process if it runs on this host; `disk` a path on the disk that
    /// matters, without which (or if no device lies under it) all disks are added up.
    #[must_use]
    pub fn new(server_pid: Option<u32>, disk: Option<&Path>) -> Self {
        let mut reader = Reader::default();
        let pid_text = server_pid.map(|pid| pid.to_string());
        let pids: Vec<&str> = std::iter::once("self").chain(pid_text.as_deref()).collect();
        let device = disk.and_then(Disk::under).and_then(|disk| disk.device);
        Self {
            server: server_pid.and_then(|pid| Server::find(pid, &mut reader)),
            disks: device.map_or_else(all_disks, |device| vec![device.join("stat")]),
            interfaces: Interfaces::find(),
            throttling: Throttling::of(&pids),
            reader,
            tick_s: 1.0 / rustix::param::clock_ticks_per_second() as f64,
            page_bytes: rustix::param::page_size() as f64,
        }
    }

    /// Reads everything once. What cannot be read is left out.
    pub fn sample(&mut self) -> Values {
        let mut values = Values::new();
        self.read_cpus(&mut values);
        let available = memory_bytes(&text("/proc/meminfo").unwrap_or_default(), "MemAvailable");
        put(&mut values, "memory_available_bytes", available.map(|bytes| bytes as f64));
        read_disks(&self.disks, &mut values);
        self.interfaces.read(&mut values);
        put(&mut values, "cgroup_throttled_seconds_total", self.throttling.seconds_total());
        self.read_driver(&mut values);
        self.read_server(&mut values);
        values
    }

    fn read_cpus(&self, values: &mut Values) {
        let Some(stat) = text("/proc/stat") else { return };
        let mut lines = stat.lines();
        let Some(times) = lines.next().and_then(CpuTicks::parse) else { return };
        for (name, ticks) in times.named() {
            put(values, &format!("cpu_{name}_seconds_total"), Some(ticks as f64 * self.tick_s));
        }
        put(values, "cpus", Some(lines.take_while(|line| line.starts_with("cpu")).count() as f64));
    }

    fn read_driver(&mut self, values: &mut Values) {
        if let Some(stat) = self.reader.stat("self") {
            let own_ticks = stat.user_ticks + stat.system_ticks;
            put(values, "driver_cpu_seconds_total", Some(own_ticks as f64 * self.tick_s));
            put(values, "driver_cpu_user_seconds_total", Some(stat.user_ticks as f64 * self.tick_s));
        }
        if let Some(resident) = self.reader.resident("self") {
            let pages = resident.private_pages + resident.shared_pages;
            put(values, "driver_memory_bytes", Some(pages as f64 * self.page_bytes));
        }
    }

    fn read_server(&mut self, values: &mut Values) {
        let Some(server) = &mut self.server else { return };
        let Some((cpu_ns, pages)) = server.read(&mut self.reader) else { return };
        put(values, "server_cpu_seconds_total", Some(cpu_ns as f64 * 1e-9));
        put(values, "server_memory_bytes", Some(pages * self.page_bytes));
    }
}

/// A server's main process and its children.
#[derive(Debug)]
struct Server {
    pid: u32,
    started_ticks: u64,
    tick_ns: u64,
    cpu_ns_max: u64,
    /// Memory of the processes as last read.
    resident: BTreeMap<u32, Resident>,
    /// The last process whose memory was read.
    resident_cursor: u32,
}

/// Processes whose memory one reading looks at. It changes slowly, and looking costs more than the CPU time does.
const RESIDENT_READS: usize = 50;

impl Server {
    fn find(pid: u32, reader: &mut Reader) -> Option<Self> {
        let started_ticks = reader.stat(pid)?.started_ticks;
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let resident = BTreeMap::new();
        Some(Self { pid, started_ticks, tick_ns, cpu_ns_max: 0, resident, resident_cursor: 0 })
    }

    /// CPU nanoseconds used so far and pages resident, by all processes together; `None` once the server has
    /// ended.
    fn read(&mut self, reader: &mut Reader) -> Option<(u64, f64)> {
        let main = reader.stat(self.pid).filter(|stat| stat.started_ticks == self.started_ticks)?;
        let mut processes = reader.children(self.pid);
        // The time of a child that ends passes to its parent. The parent was read first, so a child that ends
        // between the two readings is missed once, and never counted twice; the maximum keeps the counter from
        // stepping back until it is there again.
        let children_ns = processes.iter().filter_map(|pid| run_ns(*pid)).sum::<u64>();
        self.cpu_ns_max = self.cpu_ns_max.max(main.ticks() * self.tick_ns + children_ns);
        processes.push(self.pid);
        processes.sort_unstable();
        Some((self.cpu_ns_max, self.pages(&processes, reader)))
    }

    /// Shared memory is in every process's count, as far as that process touched it: of the shared pages the
    /// largest count is taken, and the private ones are added up. A process that was not looked at yet counts
    /// as much as the others do on average. `processes` is sorted.
    fn pages(&mut self, processes: &[u32], reader: &mut Reader) -> f64 {
        self.resident.retain(|pid, _| processes.binary_search(pid).is_ok());
        let after_cursor = processes.partition_point(|pid| *pid <= self.resident_cursor);
        let in_turn = processes[after_cursor..].iter().chain(&processes[..after_cursor]);
        for &pid in in_turn.take(RESIDENT_READS) {
            self.resident.extend(reader.resident(pid).map(|resident| (pid, resident)));
            self.resident_cursor = pid;
        }
        let private = self.resident.values().map(|resident| resident.private_pages).sum::<u64>();
        let shared = self.resident.values().map(|resident| resident.shared_pages).max().unwrap_or(0);
        let unseen_factor = processes.len() as f64 / self.resident.len().max(1) as f64;
        private as f64 * unseen_factor + shared as f64
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

/// Real disks: those with a device behind them. Mapped and loop devices would count the same work twice.
fn all_disks() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.join("device").exists()).map(|path| path.join("stat")).collect()
}

fn read_disks(disks: &[PathBuf], values: &mut Values) {
    const NAMES: [(&str, usize, f64); 5] = [
        ("disk_read_operations_total", 0, 1.0),
        ("disk_read_bytes_total", 2, SECTOR_BYTES),
        ("disk_write_operations_total", 4, 1.0),
        ("disk_write_bytes_total", 6, SECTOR_BYTES),
        ("disk_busy_seconds_total", 9, 1e-3),
    ];
    let readings = disks.iter().filter_map(text);
    let readings: Vec<Vec<u64>> = readings
        .map(|line| line.split_whitespace().filter_map(|field| field.parse().ok()).collect())
        .collect();
    for (name, index, unit) in NAMES {
        let sum = readings.iter().filter_map(|fields| fields.get(index)).copied().reduce(|a, b| a + b);
        put(values, name, sum.map(|count| count as f64 * unit));
    }
}

/// The network interfaces to add up.
#[derive(Debug)]
struct Interfaces {
    /// Those with hardware behind them. Empty in a container, where all but the loopback are taken instead; on
    /// a host bridges and pairs would count the same bytes twice.
    physical: Vec<String>,
}

impl Interfaces {
    fn find() -> Self {
        let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
        let physical = entries.filter(|entry| entry.path().join("device").exists());
        Self { physical: physical.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect() }
    }

    fn read(&self, values: &mut Values) {
        let Some(table) = text("/proc/net/dev") else { return };
        let Some((received, transmitted)) = self.sum(&table) else { return };
        put(values, "network_receive_bytes_total", Some(received as f64));
        put(values, "network_transmit_bytes_total", Some(transmitted as f64));
    }

    fn sum(&self, table: &str) -> Option<(u64, u64)> {
        let lines = table.lines().filter_map(|line| line.split_once(':'));
        let wanted = lines.filter(|(name, _)| {
            let name = name.trim();
            if self.physical.is_empty() { name != "lo" } else { self.physical.iter().any(|own| own == name) }
        });
        let bytes = wanted.filter_map(|(_, counters)| {
            let mut counters = counters.split_whitespace();
            Some((counters.next()?.parse::<u64>().ok()?, counters.nth(7)?.parse::<u64>().ok()?))
        });
        bytes.reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }
}

fn put(values: &mut Values, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        values.insert(name.to_owned(), value);
    }
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
    fn networks_are_added_without_the_loopback() {
        let table = "Inter-|   Receive\n face |bytes\n    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\ndocker0:   7 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0";
        assert_eq!(Interfaces { physical: vec![] }.sum(table), Some((107, 33)));
        assert_eq!(Interfaces { physical: vec!["eth0".into()] }.sum(table), Some((100, 30)));
    }

    /// The time of a child that has ended must stay in the sum: a child burns CPU and ends between two samples.
    #[test]
    fn time_of_ended_children_is_kept() {
        let mut shell = std::process::Command::new("sh")
            .args([
                "-c",
                "while read line; do (i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done; done",
            ])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut sampler = Sampler::new(Some(shell.id()), None);
        let before = sampler.sample()["server_cpu_seconds_total"];
        {
            use std::io::{BufRead, Write};
            let input = shell.stdin.as_mut().unwrap();
            let mut output = std::io::BufReader::new(shell.stdout.as_mut().unwrap());
            let mut line = String::new();
            for _ in 0..2 {
                writeln!(input, "go").unwrap();
                output.read_line(&mut line).unwrap();
            }
        }
        let after = sampler.sample();
        assert!(after["server_cpu_seconds_total"] > before, "{before} {after:?}");
        assert!(after["server_memory_bytes"] > 0.0);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!sampler.sample().contains_key("server_cpu_seconds_total"));
    }

    #[test]
    fn every_key_of_a_linux_host_is_there() {
        let values = Sampler::new(None, Some(Path::new("/var/tmp"))).sample();
        for key in [
            "cpu_user_seconds_total",
            "cpu_system_seconds_total",
            "cpu_idle_seconds_total",
            "cpus",
            "memory_available_bytes",
            "driver_cpu_seconds_total",
            "driver_cpu_user_seconds_total",
            "driver_memory_bytes",
        ] {
            assert!(values.get(key).is_some_and(|value| *value >= 0.0), "{key} in {values:?}");
        }
        assert!(values["cpus"] >= 1.0 && values["driver_memory_bytes"] > 0.0);
        assert!(!values.contains_key("server_cpu_seconds_total"));
    }
}
