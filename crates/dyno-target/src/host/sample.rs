//! What the machine, the server on it and dyno itself are doing: one reading of counters and levels.
//!
//! Read about once a second while the load runs, so it must stay cheap: no process is started, nothing is
//! walked but the server's own children. The keys are those of `docs/telemetry.md`.

use std::path::Path;

use super::cgroup::{ServerGroups, Throttling};
use super::machine;
use super::process::ProcessReader;
use super::server::LocalServer;
use super::traffic::{Disks, Interfaces};
use super::values::{HostValues, put};

/// After so many readings it is looked again which control groups the server is in, and what they allow.
const GROUPS_EVERY: u64 = 10;

/// Reads the host's counters.
#[derive(Debug)]
pub struct Sampler {
    server_pid: Option<u32>,
    server: Option<LocalServer>,
    groups: ServerGroups,
    disks: Disks,
    interfaces: Interfaces,
    throttling: Throttling,
    reader: ProcessReader,
    readings: u64,
    tick_s: f64,
    page_bytes: f64,
}

impl Sampler {
    /// `server_pid` is the server's main process if it runs on this host; `disk` a path on the disk that
    /// matters, without which (or if no device lies under it) all disks are added up.
    pub fn new(server_pid: Option<u32>, disk: Option<&Path>) -> Self {
        let mut reader = ProcessReader::default();
        Self {
            server_pid,
            server: server_pid.and_then(|pid| LocalServer::find(pid, &mut reader)),
            groups: ServerGroups::default(),
            disks: Disks::under(disk),
            interfaces: Interfaces::find(),
            throttling: Throttling::of(&[]),
            reader,
            readings: 0,
            tick_s: 1.0 / rustix::param::clock_ticks_per_second() as f64,
            page_bytes: rustix::param::page_size() as f64,
        }
    }

    /// Reads everything once. What cannot be read is left out.
    pub fn sample(&mut self) -> HostValues {
        if self.readings.is_multiple_of(GROUPS_EVERY) {
            self.find_groups();
        }
        self.readings += 1;
        let mut values = HostValues::new();
        machine::read_cpus(self.tick_s, &mut values);
        machine::read_memory(&mut values);
        machine::read_pressure(&mut values);
        self.disks.read(&mut values);
        self.interfaces.read(&mut values);
        put(&mut values, "cgroup_throttled_seconds_total", self.throttling.seconds_total());
        self.read_driver(&mut values);
        if let Some(server) = &mut self.server
            && server.read(&mut self.reader, &mut values)
        {
            self.groups.read(&mut values);
        }
        values
    }

    /// What this user may not read, and what helps.
    pub fn missing(&mut self) -> Option<String> {
        let hidden = self.server.as_ref()?.hides_io(&mut self.reader);
        hidden.then(|| {
            "what the server's processes read from disks and write to them is hidden from this user: run dyno as root, or \
             as the user that the server runs as"
                .to_owned()
        })
    }

    fn find_groups(&mut self) {
        let pid_text = self.server_pid.map(|pid| pid.to_string());
        let pids: Vec<&str> = std::iter::once("self").chain(pid_text.as_deref()).collect();
        self.throttling = Throttling::of(&pids);
        let numbers = self.disks.numbers();
        self.groups = self.server_pid.map(|pid| ServerGroups::of(pid, &numbers)).unwrap_or_default();
    }

    fn read_driver(&mut self, values: &mut HostValues) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_linux_host_is_there() {
        let values = Sampler::new(None, Some(Path::new("/var/tmp"))).sample();
        for key in [
            "cpu_user_seconds_total",
            "cpu_system_seconds_total",
            "cpu_idle_seconds_total",
            "cpus",
            "running_processes",
            "blocked_processes",
            "memory_total_bytes",
            "memory_available_bytes",
            "memory_cached_bytes",
            "memory_dirty_bytes",
            "swap_used_bytes",
            "loopback_bytes_total",
            "driver_cpu_seconds_total",
            "driver_cpu_user_seconds_total",
            "driver_memory_bytes",
        ] {
            assert!(values.get(key).is_some_and(|value| *value >= 0.0), "{key} in {values:?}");
        }
        assert!(values["cpus"] >= 1.0 && values["driver_memory_bytes"] > 0.0);
        assert!(values["memory_available_bytes"] <= values["memory_total_bytes"]);
        assert!(!values.keys().any(|key| key.starts_with("server_")), "{values:?}");
    }

    /// Names the process to look at for the part of the test below that runs as another user.
    const HIDDEN: &str = "DYNO_TEST_HIDDEN_PROCESS";

    #[test]
    fn what_another_users_processes_hide_is_told() {
        use std::os::unix::process::CommandExt as _;
        const NOBODY: u32 = 65534;
        if let Ok(pid) = std::env::var(HIDDEN) {
            let mut sampler = Sampler::new(pid.parse().ok(), None);
            assert!(sampler.missing().is_some_and(|text| text.contains("run dyno as root")));
            let values = sampler.sample();
            assert!(values.contains_key("server_cpu_user_seconds_total"), "{values:?}");
            assert!(!values.keys().any(|key| key.starts_with("server_disk")), "{values:?}");
            return;
        }
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: only root can become another user");
        }
        assert_eq!(Sampler::new(Some(std::process::id()), None).missing(), None);
        // What was built in root's home can be run by nobody else: a copy can, where everybody may look.
        let copy = std::env::temp_dir().join(format!("dyno-test-hidden-{}", std::process::id()));
        dyno_test_servers::copy_program(&std::env::current_exe().unwrap(), &copy);
        let mut other = std::process::Command::new(&copy);
        other.args(["--exact", "host::sample::tests::what_another_users_processes_hide_is_told"]);
        other.env(HIDDEN, std::process::id().to_string()).uid(NOBODY).gid(NOBODY).current_dir("/");
        let ended = other.output();
        std::fs::remove_file(&copy).unwrap();
        match ended {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
                assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
            }
            Err(error) => println!("skipped: another user cannot run this test: {error}"),
        }
    }
}
