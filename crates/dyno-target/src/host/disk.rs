//! The disk under a path: its kind, its model, its filesystem, and how much room is left.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::source::{number, text};

/// What lies under a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disk {
    /// `nvme`, `ssd`, `hdd`, `virtual` (a disk that a hypervisor or a cloud shows: what is behind it cannot be
    /// told), `tmpfs`, `overlay`, `network`, ….
    pub kind: Option<String>,
    pub model: Option<String>,
    /// `ext4`, `xfs`, ….
    pub filesystem: Option<String>,
    /// The whole disk's (or the mapped volume's) directory in `/sys`, whose `stat` counts its work.
    pub(super) device: Option<PathBuf>,
}

impl Disk {
    /// The disk under `path`, or under its nearest parent that exists; `None` if no mount can be found.
    pub fn under(path: &Path) -> Option<Self> {
        let existing = path.ancestors().find_map(|part| part.canonicalize().ok())?;
        let mountinfo = text("/proc/self/mountinfo")?;
        let mount = Mount::under(&mountinfo, &existing)?;
        let mut disk = Self { filesystem: Some(mount.filesystem.to_owned()), ..Self::default() };
        if let Some(kind) = kind_without_device(mount.filesystem) {
            disk.kind = Some(kind.to_owned());
        } else if let Some(device) = mount.device() {
            let device = whole_disk(&device);
            (disk.kind, disk.model) = kind_and_model(&device, 0);
            disk.device = Some(device);
        }
        Some(disk)
    }
}

/// Bytes that an unprivileged user can still write under `path`.
///
/// # Errors
/// The system's, if the filesystem cannot be asked.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let room = rustix::fs::statvfs(path)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// A line of `mountinfo`.
#[derive(Debug, PartialEq)]
struct Mount<'a> {
    point: PathBuf,
    filesystem: &'a str,
    source: &'a str,
    /// `254:0`; the major number is 0 where the filesystem has no device of its own, as btrfs.
    number: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let mut kind = kind.split(' ');
        Some(Self {
            number: place.next()?,
            point: PathBuf::from(unescape(place.nth(1)?)),
            filesystem: kind.next()?,
            source: kind.next()?,
        })
    }

    /// The mount whose point is the longest part of `path`; of two on one point the later hides the earlier.
    fn under(mountinfo: &'a str, path: &Path) -> Option<Self> {
        mountinfo
            .lines()
            .filter_map(Mount::parse)
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count())
    }

    /// The device's directory in `/sys`, links resolved.
    fn device(&self) -> Option<PathBuf> {
        let number = if self.number.starts_with("0:") {
            let device = Path::new(self.source).metadata().ok()?.rdev();
            format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
        } else {
            self.number.to_owned()
        };
        Path::new("/sys/dev/block").join(number).canonicalize().ok()
    }
}

/// The kind of filesystems that lie on no disk of this machine, or do not say on which.
fn kind_without_device(filesystem: &str) -> Option<&'static str> {
    match filesystem {
        "tmpfs" | "ramfs" => Some("tmpfs"),
        "overlay" => Some("overlay"),
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "glusterfs" | "lustre" | "9p" | "virtiofs" => {
            Some("network")
        }
        _ => None,
    }
}

/// The disk that a partition is part of.
fn whole_disk(device: &Path) -> PathBuf {
    match device.parent() {
        Some(parent) if device.join("partition").exists() => parent.to_path_buf(),
        _ => device.to_path_buf(),
    }
}

/// Volumes are made of volumes; deeper than this nobody stacks them.
const STACK_MAX: u32 = 4;

fn kind_and_model(device: &Path, depth: u32) -> (Option<String>, Option<String>) {
    let parts: Vec<PathBuf> = std::fs::read_dir(device.join("slaves"))
        .map(|entries| entries.filter_map(|entry| entry.ok()?.path().canonicalize().ok()).collect())
        .unwrap_or_default();
    if parts.is_empty() || depth >= STACK_MAX {
        return single_kind_and_model(device);
    }
    // A mapped volume is what all its parts are; if they differ nothing is said.
    let mut kinds = parts.iter().map(|part| kind_and_model(&whole_disk(part), depth + 1));
    let first = kinds.next().unwrap_or_default();
    let rest: Vec<_> = kinds.collect();
    let same_kind = rest.iter().all(|(kind, _)| *kind == first.0);
    let same_model = rest.iter().all(|(_, model)| *model == first.1);
    (first.0.filter(|_| same_kind), first.1.filter(|_| same_model))
}

fn single_kind_and_model(device: &Path) -> (Option<String>, Option<String>) {
    let name = device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let model = text(device.join("device/model"));
    let vendor = text(device.join("device/vendor"));
    let rotational = number(device.join("queue/rotational")).map(|flag| flag == 1);
    let on_virtio = device.components().any(|part| part.as_os_str().to_string_lossy().starts_with("virtio"));
    let maker = format!("{} {}", vendor.unwrap_or_default(), model.as_deref().unwrap_or_default());
    (kind(&name, &maker, on_virtio, rotational).map(str::to_owned), model)
}

pub(super) fn kind(
    name: &str,
    maker: &str,
    on_virtio: bool,
    rotational: Option<bool>,
) -> Option<&'static str> {
    // Disks of hypervisors and clouds, some of which show themselves as NVMe; their `rotational` flag means nothing.
    const VIRTUAL: [&str; 9] = [
        "QEMU",
        "VMware",
        "VBOX",
        "Msft",
        "Elastic Block Store",
        "nvme_card-pd",
        "PersistentDisk",
        "MSFT NVMe Accelerator",
        "Virtual",
    ];
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if on_virtio || starts(&["vd", "xvd"]) || VIRTUAL.iter().any(|mark| maker.contains(mark)) {
        return Some("virtual");
    }
    if name.starts_with("nvme") {
        return Some("nvme");
    }
    if starts(&["zram", "ram"]) {
        return Some("memory");
    }
    if name.starts_with("loop") {
        return Some("loop");
    }
    rotational.map(|rotational| if rotational { "hdd" } else { "ssd" })
}

/// `mountinfo` writes white space and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 259:1 / /var rw,relatime shared:2 - xfs /dev/nvme0n1p1 rw
29 28 0:40 / /var/lib rw - tmpfs tmpfs rw
30 28 0:41 /@data /var/lib rw - btrfs /dev/sdb1 rw
31 27 8:1 / /my\\040disk rw - ext4 /dev/sda1 rw";

    #[test]
    fn the_longest_and_latest_mount_counts() {
        let under = |path| Mount::under(MOUNTS, Path::new(path)).unwrap();
        assert_eq!((under("/etc").filesystem, under("/etc").number), ("ext4", "254:0"));
        assert_eq!(under("/variety").number, "254:0");
        assert_eq!((under("/var/tmp/x").filesystem, under("/var/tmp/x").source), ("xfs", "/dev/nvme0n1p1"));
        assert_eq!(under("/var/lib/x").filesystem, "btrfs");
        assert_eq!(under("/my disk/x").number, "8:1");
    }

    #[test]
    fn kinds_are_told_by_name_maker_and_flag() {
        assert_eq!(kind("nvme0n1", "Samsung SSD 990 PRO", false, Some(false)), Some("nvme"));
        assert_eq!(kind("nvme1n1", "Amazon Elastic Block Store", false, Some(false)), Some("virtual"));
        assert_eq!(kind("vda", "0x1af4 ", true, Some(true)), Some("virtual"));
        assert_eq!(kind("sda", "ATA INTEL SSDSC2KB96", false, Some(false)), Some("ssd"));
        assert_eq!(kind("sda", "SEAGATE ST4000", false, Some(true)), Some("hdd"));
        assert_eq!(kind("sda", "QEMU QEMU HARDDISK", false, Some(true)), Some("virtual"));
        assert_eq!(kind("sda", " ", false, None), None);
    }

    #[test]
    fn the_disk_of_this_machine_is_found() {
        let disk = Disk::under(Path::new("/var/tmp/not/there/yet")).unwrap();
        assert!(disk.filesystem.is_some());
        if let Some(device) = disk.device {
            assert!(device.join("stat").exists(), "{}", device.display());
        }
        assert!(free_bytes(Path::new("/var/tmp")).unwrap() > 0);
    }
}
