//! What the control groups, version 1 or 2, allow a process, and how long they have held it back.
//!
//! A limit can sit at any level above the process, so every level is looked at and the tightest counts. Inside
//! a container the paths of `/proc/PID/cgroup` may be those of the host; the mount's root says what to take off.

mod files;
mod server;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::source::{number, text};
pub(super) use server::ServerGroups;

/// What the groups of a process allow; `None` where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Limits {
    /// Processors' worth of time: quota / period.
    pub(super) cpus: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
}

/// A v1 limit of memory that is this large is the kernel's way to say "none".
const V1_UNLIMITED_BYTES: u64 = 1 << 62;

/// The limits of this process.
pub(super) fn limits() -> Limits {
    Groups::of("self").map(|groups| groups.limits()).unwrap_or_default()
}

/// The groups whose throttling holds back any of the processes; each counted once.
#[derive(Debug)]
pub(super) struct Throttling {
    stat_files: BTreeSet<PathBuf>,
}

impl Throttling {
    pub(super) fn of(pids: &[&str]) -> Self {
        let groups: Vec<Groups> = pids.iter().filter_map(Groups::of).collect();
        let levels = groups.iter().flat_map(|groups| groups.levels(Controller::Cpu));
        let stat_files = levels.map(|level| level.join("cpu.stat"));
        Self { stat_files: stat_files.filter(|path| path.exists()).collect() }
    }

    /// Seconds for which the groups were not let run since they exist; `None` if no group says.
    pub(super) fn seconds_total(&self) -> Option<f64> {
        let read = |path: &PathBuf| files::throttled_seconds(&text(path)?);
        self.stat_files.iter().filter_map(read).reduce(|sum, seconds| sum + seconds)
    }
}

/// What a hierarchy of groups counts and limits. In version 2 there is one hierarchy of them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Cpu,
    /// Version 1 alone: there processor time may be counted apart from where it is limited.
    CpuAccounting,
    Memory,
    Io,
}

impl Controller {
    const ALL: [Self; 4] = [Self::Cpu, Self::CpuAccounting, Self::Memory, Self::Io];

    /// Its name in version 1.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuAccounting => "cpuacct",
            Self::Memory => "memory",
            Self::Io => "blkio",
        }
    }
}

/// The directories of one group that a process is in, from its own up to the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    controller: Controller,
    version: u8,
    levels: Vec<PathBuf>,
}

/// All groups that a process is in. Both versions may be mounted at once.
#[derive(Debug, PartialEq, Eq, Default)]
struct Groups(Vec<Group>);

impl Groups {
    /// `pid` is a number or `self`.
    fn of(pid: impl std::fmt::Display) -> Option<Self> {
        let memberships = text(format!("/proc/{pid}/cgroup"))?;
        Some(Self::resolve(&memberships, &text("/proc/self/mountinfo")?))
    }

    /// Joins the lines of `/proc/PID/cgroup` with those of `mountinfo`.
    fn resolve(memberships: &str, mountinfo: &str) -> Self {
        let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(Mount::parse).collect();
        let mut groups = Self::default();
        for line in memberships.lines() {
            // `4:memory:/path` for version 1, `0::/path` for version 2.
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            for mount in &mounts {
                let has = |controller: &Controller| match mount.version {
                    2 => controllers.is_empty() && *controller != Controller::CpuAccounting,
                    _ => {
                        let name = controller.name();
                        controllers.split(',').any(|listed| listed == name) && mount.has_controller(name)
                    }
                };
                groups.0.extend(Controller::ALL.into_iter().filter(has).map(|controller| Group {
                    controller,
                    version: mount.version,
                    levels: mount.levels(path),
                }));
            }
        }
        groups
    }

    fn levels(&self, controller: Controller) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().filter(move |group| group.controller == controller).flat_map(|group| &group.levels)
    }

    fn limits(&self) -> Limits {
        let cpus = self.levels(Controller::Cpu).filter_map(|level| cpus_at(level)).reduce(f64::min);
        let memory_bytes = self.levels(Controller::Memory).filter_map(|level| memory_at(level)).min();
        Limits { cpus, memory_bytes }
    }
}

/// A mounted hierarchy.
#[derive(Debug)]
struct Mount<'a> {
    version: u8,
    /// The group that is seen as the mount's top.
    root: &'a str,
    point: &'a Path,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// Reads `36 31 0:33 ROOT POINT rw - cgroup SOURCE rw,memory`; `None` for other filesystems.
    fn parse(line: &'a str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup" => 1,
            "cgroup2" => 2,
            _ => return None,
        };
        let options = kind.nth(1)?;
        let mut place = place.split(' ').skip(3);
        Some(Self { version, root: place.next()?, point: Path::new(place.next()?), options })
    }

    fn has_controller(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }

    /// The directory of group `path` and all above it, up to the mount.
    fn levels(&self, path: &str) -> Vec<PathBuf> {
        let below = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(""));
        let own = below.strip_prefix("/").unwrap_or(below);
        let ancestors = own.ancestors().map(|level| self.point.join(level));
        ancestors.filter(|level| level.starts_with(self.point)).collect()
    }
}

fn cpus_at(level: &Path) -> Option<f64> {
    let (quota, period) = match text(level.join("cpu.max")) {
        Some(max) => {
            let (quota, period) = max.split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        None => {
            let quota: i64 = text(level.join("cpu.cfs_quota_us"))?.parse().ok()?;
            (u64::try_from(quota).ok()?, number(level.join("cpu.cfs_period_us"))?)
        }
    };
    (period > 0).then(|| quota as f64 / period as f64)
}

fn memory_at(level: &Path) -> Option<u64> {
    // `max` in version 2 is no number and so no limit.
    let v1 = || number(level.join("memory.limit_in_bytes")).filter(|bytes| *bytes < V1_UNLIMITED_BYTES);
    number(level.join("memory.max")).or_else(v1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const V1_MOUNTS: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard";

    fn paths(groups: &Groups, controller: Controller) -> Vec<&str> {
        groups.levels(controller).map(|level| level.to_str().unwrap()).collect()
    }

    #[test]
    fn version_1_groups_are_found_at_every_level() {
        let groups = Groups::resolve("4:memory:/docker/abc/x\n1:cpu,cpuacct:/a/b\n0::/", V1_MOUNTS);
        assert_eq!(
            paths(&groups, Controller::Cpu),
            ["/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu/"]
        );
        assert_eq!(
            paths(&groups, Controller::CpuAccounting),
            paths(&groups, Controller::Cpu),
            "one hierarchy"
        );
        assert_eq!(paths(&groups, Controller::Memory), ["/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory/"]);
        assert!(paths(&groups, Controller::Io).is_empty());
    }

    #[test]
    fn a_hosts_path_in_a_container_falls_back_to_the_mount() {
        let groups = Groups::resolve("4:memory:/kubepods/pod1", V1_MOUNTS);
        assert_eq!(paths(&groups, Controller::Memory), ["/sys/fs/cgroup/memory/"]);
    }

    #[test]
    fn the_tightest_level_counts() {
        let root = std::env::temp_dir().join(format!("dyno-cgroup-{}", std::process::id()));
        let mount = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw", root.display());
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/cpu.max"), "150000 100000\n").unwrap();
        fs::write(root.join("a/b/cpu.max"), "max 100000\n").unwrap();
        fs::write(root.join("a/memory.max"), "max\n").unwrap();
        fs::write(root.join("a/b/memory.max"), "2147483648\n").unwrap();
        let limits = Groups::resolve("0::/a/b", &mount).limits();
        assert_eq!(limits, Limits { cpus: Some(1.5), memory_bytes: Some(2 << 30) });

        fs::write(root.join("cpu.cfs_quota_us"), "-1\n").unwrap();
        fs::write(root.join("cpu.cfs_period_us"), "100000\n").unwrap();
        fs::write(root.join("memory.limit_in_bytes"), "9223372036854771712\n").unwrap();
        assert_eq!(Groups::resolve("0::/", &mount).limits(), Limits::default());
        fs::remove_dir_all(root).unwrap();
    }
}
