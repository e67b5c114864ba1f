//! What the machine is.

use std::path::Path;

use dyno_results::event::Host;

use super::source::text;
use super::{Disk, cgroup, cpu};

/// Reads what can be told of this machine and of the disk under `data_directory`. `roles` is left empty: the
/// caller knows who takes part. Never fails; what cannot be read stays `None`.
pub fn facts(data_directory: Option<&Path>) -> Host {
    let limits = cgroup::limits();
    let cpus = cpu::count();
    let memory_bytes = memory_bytes(&text("/proc/meminfo").unwrap_or_default(), "MemTotal");
    let disk = data_directory.and_then(Disk::under).unwrap_or_default();
    Host {
        roles: Vec::new(),
        hostname: text("/proc/sys/kernel/hostname"),
        cpu_model: cpu::model(),
        cpus,
        cpus_limit: cpus_limit(cpus, limits.cpus, cpu::allowed()),
        memory_bytes,
        memory_limit_bytes: memory_limit(memory_bytes, limits.memory_bytes),
        disk_kind: disk.kind,
        disk_model: disk.model,
        filesystem: disk.filesystem,
        kernel: text("/proc/sys/kernel/osrelease"),
        os: os(),
        virtualization: cpu::virtualization(),
        cpu_governor: cpu::governor(),
        transparent_hugepages: cpu::transparent_hugepages(),
    }
}

/// The tighter of the cgroup's quota and the processors that the process may run on; `None` where neither is less
/// than what the machine has.
fn cpus_limit(cpus: Option<u32>, quota: Option<f64>, allowed: Option<u32>) -> Option<f64> {
    let tightest = quota.into_iter().chain(allowed.map(f64::from)).reduce(f64::min)?;
    cpus.is_none_or(|cpus| tightest < f64::from(cpus)).then_some(tightest)
}

/// A limit that is not below what the machine has limits nothing.
fn memory_limit(memory_bytes: Option<u64>, limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| memory_bytes.is_none_or(|bytes| *limit < bytes))
}

/// A line of `/proc/meminfo`, in bytes.
pub(super) fn memory_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

fn os() -> Option<String> {
    let release = text("/etc/os-release").or_else(|| text("/usr/lib/os-release"))?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let meminfo = "MemTotal:       24684096 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(memory_bytes(meminfo, "MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(memory_bytes(meminfo, "MemAvailable"), Some(20_000_000 * 1024));
        assert_eq!(memory_bytes(meminfo, "Mem"), None);
    }

    #[test]
    fn only_what_is_less_than_the_machine_has_is_a_limit() {
        assert_eq!(cpus_limit(Some(8), Some(2.5), Some(4)), Some(2.5));
        assert_eq!(cpus_limit(Some(8), Some(6.0), Some(4)), Some(4.0));
        assert_eq!(cpus_limit(Some(8), None, Some(8)), None);
        assert_eq!(cpus_limit(Some(8), Some(16.0), Some(8)), None);
        assert_eq!(cpus_limit(Some(8), None, None), None);
        assert_eq!(cpus_limit(None, Some(2.0), None), Some(2.0));
        assert_eq!(memory_limit(Some(100), Some(99)), Some(99));
        assert_eq!(memory_limit(Some(100), Some(100)), None);
        assert_eq!(memory_limit(None, Some(100)), Some(100));
    }

    #[test]
    fn allowed_processors_are_those_that_other_programs_see() {
        let all = cpu::allowed().unwrap();
        // `nproc` asks the kernel the same.
        let nproc = std::process::Command::new("nproc").env_remove("OMP_NUM_THREADS").output();
        let Ok(nproc) = nproc else { return println!("skipped: there is no nproc") };
        assert_eq!(String::from_utf8(nproc.stdout).unwrap().trim(), all.to_string());
    }

    #[test]
    fn this_machine_tells_of_itself() {
        let host = facts(Some(Path::new("/proc")));
        assert!(host.cpus.is_some_and(|cpus| cpus > 0));
        assert!(host.memory_bytes.is_some_and(|bytes| bytes > 64 << 20));
        assert_eq!(host.filesystem.as_deref(), Some("proc"));
        assert_eq!(host.disk_kind, None, "no disk lies under /proc");
        assert!(host.kernel.is_some() && host.os.is_some());
    }
}
