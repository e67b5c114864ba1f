//! Limits on a server that runs, as a container or a small instance would have them: a share of the processors, or so
//! many disk writes a second. A control group holds the server's processes; it is removed when the cap is dropped,
//! after they have gone back to where they were.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The period over which a share of the processors is counted.
const PERIOD_US: u32 = 100_000;

static MADE: AtomicU32 = AtomicU32::new(0);

/// A limit that holds a server's processes, those that they start included.
#[derive(Debug)]
pub struct Cap {
    group: PathBuf,
    parent: PathBuf,
}

impl Cap {
    /// So many processors' time (0.25: a quarter of one). `None`, and a line that says so, where this machine does not
    /// let the test make a control group.
    #[must_use]
    pub fn processors(cores: f64) -> Option<Self> {
        let quota_us = (cores * f64::from(PERIOD_US)) as u32;
        // With the greatest weight there is, so that the quota is what it comes to however busy the machine is.
        let one = [
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", quota_us.to_string()),
            ("cpu.shares", "262144".to_owned()),
        ];
        let two = [("cpu.max", format!("{quota_us} {PERIOD_US}")), ("cpu.weight", "10000".to_owned())];
        Self::make("cpu", &one, &two)
    }

    /// So many writes a second to the disk under `path`. `None` as [`Cap::processors`].
    #[must_use]
    pub fn disk_writes(per_s: u32, path: &Path) -> Option<Self> {
        let Some(device) = disk_of(path) else {
            println!("skipped: no disk is known under {}", path.display());
            return None;
        };
        let one = [("blkio.throttle.write_iops_device", format!("{device} {per_s}"))];
        let two = [("io.max", format!("{device} wiops={per_s}"))];
        Self::make("blkio", &one, &two)
    }

    /// `one` are the settings of the hierarchy's first version, where each controller has a tree of its own, and `two`
    /// those of the second.
    fn make(controller: &str, one: &[(&str, String)], two: &[(&str, String)]) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let name = format!("dyno-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let candidates = [(root.join(controller), one), (root.to_owned(), two)];
        for (parent, settings) in candidates {
            if !parent.join("cgroup.procs").is_file() {
                continue;
            }
            let cap = Self { group: parent.join(&name), parent };
            let made = fs::create_dir(&cap.group).is_ok()
                && settings.iter().all(|(file, value)| fs::write(cap.group.join(file), value).is_ok());
            if made {
                return Some(cap);
            }
        }
        println!("skipped: this machine lets no test limit processes by a control group ({controller})");
        None
    }

    /// Holds a server from now on: its main process and those that it has started.
    pub fn hold(&self, pid: u32) {
        // Twice, for those that are started in between.
        for _ in 0..2 {
            for pid in tree(pid) {
                let _ = fs::write(self.group.join("cgroup.procs"), pid.to_string());
            }
        }
        let held = fs::read_to_string(self.group.join("cgroup.procs")).unwrap();
        assert!(held.lines().any(|line| line == pid.to_string()), "the server is not held");
    }
}

impl Drop for Cap {
    fn drop(&mut self) {
        let held = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for pid in held.lines() {
            let _ = fs::write(self.parent.join("cgroup.procs"), pid);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

/// A process and all that descend from it.
fn tree(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let children = format!("/proc/{0}/task/{0}/children", all[at]);
        let children = fs::read_to_string(children).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    all
}

/// `major:minor` of the whole disk under a path, as limits name it.
fn disk_of(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let device = fs::metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let disk = if place.join("partition").is_file() { place.parent()?.to_owned() } else { place };
    Some(fs::read_to_string(disk.join("dev")).ok()?.trim().to_owned())
}
