//! The server's control groups, as far as dyno is not in them: what they use, and what they allow.

use std::path::{Path, PathBuf};

use super::files::{Traffic, blkio, field, io_limit, io_stat, throttled_seconds};
use super::{Controller, Group, Groups};
use crate::host::source::{number, text};
use crate::host::values::{HostValues, put};

/// The groups of a server that are not dyno's own.
#[derive(Debug, Default)]
pub(in crate::host) struct ServerGroups {
    own: Vec<Group>,
    limits: Vec<(&'static str, f64)>,
    /// Numbers of the disks that count, `254:0`.
    disks: Vec<String>,
}

/// Key, version 2's name in `io.max`, and version 1's file of a limit on a disk.
const IO_LIMITS: [(&str, &str, &str); 4] = [
    ("server_cgroup_disk_read_limit_bytes", "rbps", "blkio.throttle.read_bps_device"),
    ("server_cgroup_disk_write_limit_bytes", "wbps", "blkio.throttle.write_bps_device"),
    ("server_cgroup_disk_read_limit_operations", "riops", "blkio.throttle.read_iops_device"),
    ("server_cgroup_disk_write_limit_operations", "wiops", "blkio.throttle.write_iops_device"),
];

impl ServerGroups {
    pub(in crate::host) fn of(pid: u32, disks: &[String]) -> Self {
        match (Groups::of(pid), Groups::of("self")) {
            (Some(server), Some(driver)) => Self::between(server, &driver, disks),
            _ => Self::default(),
        }
    }

    fn between(server: Groups, driver: &Groups, disks: &[String]) -> Self {
        let limits = server.limits();
        let mut groups = Self { own: apart(server, driver), limits: Vec::new(), disks: disks.to_owned() };
        let has = |controller| groups.own.iter().any(|group: &Group| group.controller == controller);
        let cpus = limits.cpus.filter(|_| has(Controller::Cpu));
        let memory = limits.memory_bytes.filter(|_| has(Controller::Memory)).map(|bytes| bytes as f64);
        let named = [("server_cgroup_cpus_limit", cpus), ("server_cgroup_memory_limit_bytes", memory)];
        let io = IO_LIMITS.map(|(key, v2, v1)| (key, groups.io_limit(v2, v1)));
        groups.limits = named.into_iter().chain(io).filter_map(|(key, limit)| Some((key, limit?))).collect();
        groups
    }

    pub(in crate::host) fn read(&self, values: &mut HostValues) {
        for (key, limit) in &self.limits {
            put(values, key, Some(*limit));
        }
        for group in &self.own {
            let Some(own) = group.levels.first() else { continue };
            match (group.controller, group.version) {
                (Controller::Cpu, version) => read_cpu(&group.levels, version, values),
                (Controller::CpuAccounting, _) => {
                    let used_s = number(own.join("cpuacct.usage")).map(|ns| ns as f64 / 1e9);
                    put(values, "server_cgroup_cpu_seconds_total", used_s);
                }
                (Controller::Memory, version) => {
                    let name = if version == 2 { "memory.current" } else { "memory.usage_in_bytes" };
                    let used = number(own.join(name)).map(|bytes| bytes as f64);
                    put(values, "server_cgroup_memory_bytes", used);
                }
                (Controller::Io, version) => self.read_io(own, version, values),
            }
        }
    }

    fn read_io(&self, own: &Path, version: u8, values: &mut HostValues) {
        let traffic = if version == 2 {
            text(own.join("io.stat")).map(|stat| io_stat(&stat, &self.disks))
        } else {
            let read = |name: &str| Some(blkio(&text(own.join(name))?, &self.disks));
            read("blkio.throttle.io_service_bytes_recursive")
                .zip(read("blkio.throttle.io_serviced_recursive"))
        };
        let Some((bytes, operations)) = traffic else { return };
        for (unit, Traffic { read, write }) in [("bytes", bytes), ("operations", operations)] {
            put(values, &format!("server_cgroup_disk_read_{unit}_total"), Some(read as f64));
            put(values, &format!("server_cgroup_disk_write_{unit}_total"), Some(write as f64));
        }
    }

    fn io_limit(&self, v2: &str, v1: &str) -> Option<f64> {
        let groups = self.own.iter().filter(|group| group.controller == Controller::Io);
        let limits = groups.flat_map(|group| {
            let file = if group.version == 2 { "io.max" } else { v1 };
            group.levels.iter().filter_map(move |level| io_limit(&text(level.join(file))?, v2, &self.disks))
        });
        limits.min().map(|limit| limit as f64)
    }
}

/// The server's groups without the levels that dyno is in as well. One that dyno is in, or has a group below of, is no
/// group of the server's own.
fn apart(server: Groups, driver: &Groups) -> Vec<Group> {
    let own = server.0.into_iter().filter_map(|mut group| {
        let shared: Vec<&PathBuf> = driver
            .0
            .iter()
            .filter(|other| other.controller == group.controller && other.version == group.version)
            .flat_map(|other| &other.levels)
            .collect();
        group.levels.retain(|level| !shared.contains(&level));
        (!group.levels.is_empty()).then_some(group)
    });
    own.collect()
}

/// Time used by the group itself, and what quotas of it and of those above held back.
fn read_cpu(levels: &[PathBuf], version: u8, values: &mut HostValues) {
    let stats: Vec<String> = levels.iter().filter_map(|level| text(level.join("cpu.stat"))).collect();
    if version == 2 {
        let used_s = stats.first().and_then(|stat| field(stat, "usage_usec")).map(|us| us as f64 / 1e6);
        put(values, "server_cgroup_cpu_seconds_total", used_s);
    }
    let sum =
        |of: &dyn Fn(&str) -> Option<f64>| stats.iter().filter_map(|stat| of(stat)).reduce(|a, b| a + b);
    let count = |name: &'static str| move |stat: &str| field(stat, name).map(|count| count as f64);
    for (key, total) in [
        ("server_cgroup_throttled_seconds_total", sum(&throttled_seconds)),
        ("server_cgroup_periods_total", sum(&count("nr_periods"))),
        ("server_cgroup_throttled_periods_total", sum(&count("nr_throttled"))),
    ] {
        put(values, key, total);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Child, Command};

    use super::*;

    fn read(server: &str, driver: &str, mounts: &str) -> HostValues {
        let (server, driver) = (Groups::resolve(server, mounts), Groups::resolve(driver, mounts));
        let mut values = HostValues::new();
        ServerGroups::between(server, &driver, &["254:0".to_owned()]).read(&mut values);
        values
    }

    fn assert_values(values: &HostValues, expected: &[(&str, f64)]) {
        let expected: HostValues = expected.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        assert_eq!(*values, expected);
    }

    /// Files as systemd's groups have them, those of the server below a slice with a quota of its own.
    #[test]
    fn groups_of_version_2_are_read_as_far_as_they_are_apart() {
        let root = tempfile::tempdir().unwrap();
        let mounts = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw", root.path().display());
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = |used: u32, periods: u32, throttled: u32| {
            format!(
                "usage_usec {used}\nuser_usec 1\nsystem_usec 1\nnr_periods {periods}\n\
                 nr_throttled {throttled}\nthrottled_usec {throttled}000000\n"
            )
        };
        write("cpu.stat", &stat(900_000_000, 0, 0));
        write("db.slice/cpu.stat", &stat(80_000_000, 0, 0));
        write("db.slice/cpu.max", "200000 100000\n");
        write("db.slice/pg.service/cpu.stat", &stat(70_000_000, 50, 5));
        write("db.slice/pg.service/cpu.max", "50000 100000\n");
        write("db.slice/pg.service/memory.current", "1048576\n");
        write("db.slice/pg.service/memory.max", "max\n");
        write(
            "db.slice/pg.service/io.stat",
            "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n7:0 rbytes=9",
        );
        write("db.slice/pg.service/io.max", "254:0 rbps=max wbps=1000 riops=max wiops=max\n");
        let values = read("0::/db.slice/pg.service", "0::/user.slice/shell", &mounts);
        assert_values(
            &values,
            &[
                ("server_cgroup_cpu_seconds_total", 70.0),
                ("server_cgroup_cpus_limit", 0.5),
                ("server_cgroup_disk_read_bytes_total", 1.0),
                ("server_cgroup_disk_read_operations_total", 3.0),
                ("server_cgroup_disk_write_bytes_total", 2.0),
                ("server_cgroup_disk_write_limit_bytes", 1000.0),
                ("server_cgroup_disk_write_operations_total", 4.0),
                ("server_cgroup_memory_bytes", 1_048_576.0),
                ("server_cgroup_periods_total", 50.0),
                ("server_cgroup_throttled_periods_total", 5.0),
                ("server_cgroup_throttled_seconds_total", 5.0),
            ],
        );
        for driver in ["0::/db.slice/pg.service", "0::/db.slice/pg.service/dyno"] {
            assert_values(&read("0::/db.slice/pg.service", driver, &mounts), &[]);
        }
    }

    #[test]
    fn a_group_that_one_controller_shares_is_read_of_the_others() {
        let root = tempfile::tempdir().unwrap();
        let mount = |name: &str| {
            format!("32 31 0:29 / {} rw - cgroup cgroup rw,{name}\n", root.path().join(name).display())
        };
        let mounts: String = ["cpu", "cpuacct", "memory", "blkio"].map(mount).concat();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cpu/db/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n");
        write("cpu/db/cpu.cfs_quota_us", "25000\n");
        write("cpu/db/cpu.cfs_period_us", "100000\n");
        write("cpuacct/cpuacct.usage", "1\n");
        write("memory/db/memory.usage_in_bytes", "4096\n");
        write("memory/db/memory.limit_in_bytes", "9223372036854771712\n");
        write(
            "blkio/db/blkio.throttle.io_service_bytes_recursive",
            "254:0 Read 0\n254:0 Write 8192\nTotal 8192\n",
        );
        write("blkio/db/blkio.throttle.io_serviced_recursive", "254:0 Read 0\n254:0 Write 2\nTotal 2\n");
        write("blkio/db/blkio.throttle.write_bps_device", "254:0 1048576\n");
        let server = "4:memory:/db\n3:blkio:/db\n2:cpuacct:/\n1:cpu:/db\n0::/";
        let driver = "4:memory:/\n3:blkio:/\n2:cpuacct:/\n1:cpu:/\n0::/";
        assert_values(
            &read(server, driver, &mounts),
            &[
                ("server_cgroup_cpus_limit", 0.25),
                ("server_cgroup_disk_read_bytes_total", 0.0),
                ("server_cgroup_disk_read_operations_total", 0.0),
                ("server_cgroup_disk_write_bytes_total", 8192.0),
                ("server_cgroup_disk_write_limit_bytes", 1_048_576.0),
                ("server_cgroup_disk_write_operations_total", 2.0),
                ("server_cgroup_memory_bytes", 4096.0),
                ("server_cgroup_periods_total", 10.0),
                ("server_cgroup_throttled_periods_total", 4.0),
                ("server_cgroup_throttled_seconds_total", 0.25),
            ],
        );
    }

    /// A group of this machine's own, removed again.
    struct TestGroup(PathBuf, Child);

    impl Drop for TestGroup {
        fn drop(&mut self) {
            let _ = self.1.kill();
            let _ = self.1.wait();
            let _ = fs::remove_dir(&self.0);
        }
    }

    /// A process that is capped by the machine's real groups, of whichever version.
    #[test]
    fn a_capped_process_is_seen_to_be_held_back() {
        let groups = Groups::of("self").unwrap_or_default();
        let Some(own) = groups.levels(Controller::Cpu).next() else {
            return println!("skipped: no control groups");
        };
        let directory = own.join(format!("dyno-test-{}", std::process::id()));
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        if fs::create_dir(&directory).is_err() {
            return println!("skipped: no right to make control groups");
        }
        let made = TestGroup(directory.clone(), busy());
        let v2 = directory.join("cpu.max");
        let capped = if v2.exists() {
            fs::write(v2, "10000 100000")
        } else {
            fs::write(directory.join("cpu.cfs_period_us"), "100000")
                .and_then(|()| fs::write(directory.join("cpu.cfs_quota_us"), "10000"))
        };
        let moved = capped.and_then(|()| fs::write(directory.join("cgroup.procs"), made.1.id().to_string()));
        if moved.is_err() {
            return println!("skipped: no right to cap a control group");
        }
        let groups = ServerGroups::of(made.1.id(), &[]);
        let mut values = HostValues::new();
        // The kernel counts a period when the group is stopped, and the time when it goes on.
        let held_back = ["server_cgroup_throttled_periods_total", "server_cgroup_throttled_seconds_total"];
        for _ in 0..600 {
            groups.read(&mut values);
            if held_back.iter().all(|name| values.get(*name).is_some_and(|value| *value > 0.0)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(values["server_cgroup_cpus_limit"], 0.1);
        assert!(held_back.iter().all(|name| values[*name] > 0.0), "{values:?}");
        assert!(values["server_cgroup_periods_total"] >= values["server_cgroup_throttled_periods_total"]);
    }
}
