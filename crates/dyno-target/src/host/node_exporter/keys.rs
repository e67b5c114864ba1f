//! A node_exporter's names, brought to the keys of `docs/telemetry.md` that `/proc` is read under, and what it says of
//! the machine itself.

use std::collections::{BTreeMap, BTreeSet};

use dyno_results::event::Host;

use super::exposition::{ExposedSample, samples};
use crate::host::values::{HostValues, put};
use crate::host::{cpu, disk};

/// The collectors that are read.
pub(super) const COLLECTORS: &[&str] =
    &["cpu", "meminfo", "diskstats", "netdev", "stat", "pressure", "uname", "os", "dmi"];

const CPU: &str = "node_cpu_seconds_total";

/// Names that are a key as they stand.
const PLAIN: &[(&str, &str)] = &[
    ("node_procs_running", "running_processes"),
    ("node_procs_blocked", "blocked_processes"),
    ("node_pressure_cpu_waiting_seconds_total", "pressure_cpu_seconds_total"),
    ("node_pressure_io_waiting_seconds_total", "pressure_io_seconds_total"),
    ("node_pressure_memory_waiting_seconds_total", "pressure_memory_seconds_total"),
    ("node_memory_MemTotal_bytes", "memory_total_bytes"),
    ("node_memory_MemAvailable_bytes", "memory_available_bytes"),
    ("node_memory_Cached_bytes", "memory_cached_bytes"),
    ("node_memory_Buffers_bytes", "memory_cached_bytes"),
    ("node_memory_Dirty_bytes", "memory_dirty_bytes"),
    ("node_memory_Writeback_bytes", "memory_dirty_bytes"),
    ("node_memory_SwapTotal_bytes", "swap_used_bytes"),
];
/// What is taken off again.
const SWAP_FREE: (&str, &str) = ("node_memory_SwapFree_bytes", "swap_used_bytes");

/// Added up over disks.
const DISK: &[(&str, &str)] = &[
    ("node_disk_read_bytes_total", "disk_read_bytes_total"),
    ("node_disk_written_bytes_total", "disk_write_bytes_total"),
    ("node_disk_reads_completed_total", "disk_read_operations_total"),
    ("node_disk_writes_completed_total", "disk_write_operations_total"),
    ("node_disk_read_time_seconds_total", "disk_read_seconds_total"),
    ("node_disk_write_time_seconds_total", "disk_write_seconds_total"),
    ("node_disk_io_time_weighted_seconds_total", "disk_queue_seconds_total"),
];
const DISK_READS: &str = "node_disk_reads_completed_total";
/// Not added up, but that of the busiest.
const DISK_BUSY: &str = "node_disk_io_time_seconds_total";

const NETWORK: &[(&str, &str)] = &[
    ("node_network_receive_bytes_total", "network_receive_bytes_total"),
    ("node_network_transmit_bytes_total", "network_transmit_bytes_total"),
];

/// Mapped and stacked devices, those in memory and drives for discs: their work is counted elsewhere, or is none.
const UNREAL_DISKS: &[&str] = &["dm-", "md", "loop", "ram", "zram", "sr", "fd", "nbd", "drbd", "bcache"];
/// Bridges, tunnels, pairs and bonds: their bytes are counted at the interfaces below them, or stay on the machine.
const UNREAL_INTERFACES: &[&str] = &[
    "lo",
    "docker",
    "veth",
    "br-",
    "br0",
    "virbr",
    "vnet",
    "cni",
    "flannel",
    "cali",
    "cilium",
    "lxc",
    "kube",
    "ovs",
    "bond",
    "team",
    "tun",
    "tap",
    "wg",
    "dummy",
    "ifb",
    "podman",
    "nodelocaldns",
    "tailscale",
];

/// A page of a node_exporter.
#[derive(Debug)]
pub(super) struct Page<'a>(Vec<ExposedSample<'a>>);

impl<'a> Page<'a> {
    /// `None` for a page that is no node_exporter's.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let samples: Vec<ExposedSample<'a>> = samples(text, "node_").collect();
        samples.iter().any(|sample| sample.name == CPU).then_some(Self(samples))
    }

    /// The disks that it has, in order.
    pub(super) fn disks(&self) -> BTreeSet<&str> {
        self.named(DISK_READS).filter_map(|sample| sample.label("device")).collect()
    }

    /// One reading; `devices` are the disks that count, all real ones where none is named.
    pub(super) fn values(&self, devices: &[String]) -> HostValues {
        let mut values = HostValues::new();
        self.read_cpus(&mut values);
        for sample in &self.0 {
            self.read_sample(sample, devices, &mut values);
        }
        values.retain(|_, value| value.is_finite());
        values
    }

    /// For how long each of the disks that count had something to do.
    pub(super) fn busy_by_disk(&self, devices: &[String]) -> BTreeMap<String, f64> {
        let of_disk = |sample: &ExposedSample<'_>| Some((sample.label("device")?.to_owned(), sample.value));
        let disks = self.named(DISK_BUSY).filter_map(of_disk);
        disks.filter(|(disk, seconds)| seconds.is_finite() && self.counts(disk, devices)).collect()
    }

    fn read_cpus(&self, values: &mut HostValues) {
        let mut cpus = BTreeSet::new();
        for sample in self.named(CPU) {
            let state = match sample.label("mode") {
                Some("user" | "nice") => "user",
                Some("system" | "irq" | "softirq") => "system",
                Some(state @ ("iowait" | "steal" | "idle")) => state,
                _ => continue,
            };
            add(values, &format!("cpu_{state}_seconds_total"), sample.value);
            cpus.extend(sample.label("cpu"));
        }
        put(values, "cpus", Some(cpus.len() as f64).filter(|count| *count > 0.0));
    }

    fn read_sample(&self, sample: &ExposedSample<'_>, devices: &[String], values: &mut HostValues) {
        let key_of = |keys: &[(&str, &'static str)]| {
            keys.iter().find(|(name, _)| *name == sample.name).map(|(_, key)| *key)
        };
        if let Some(key) = key_of(PLAIN) {
            add(values, key, sample.value);
        } else if sample.name == SWAP_FREE.0 {
            add(values, SWAP_FREE.1, -sample.value);
        } else if let (Some(key), Some(disk)) = (key_of(DISK), sample.label("device")) {
            if self.counts(disk, devices) {
                add(values, key, sample.value);
            }
        } else if let (Some(key), Some(interface)) = (key_of(NETWORK), sample.label("device")) {
            if interface == "lo" {
                // What is sent over it is received over it.
                values.insert("loopback_bytes_total".to_owned(), sample.value);
            } else if !is_unreal_interface(interface) {
                add(values, key, sample.value);
            }
        }
    }

    fn counts(&self, disk: &str, devices: &[String]) -> bool {
        if devices.is_empty() { self.is_real_disk(disk) } else { devices.iter().any(|device| device == disk) }
    }

    /// A partition is counted with its disk.
    fn is_real_disk(&self, name: &str) -> bool {
        let whole = name.trim_end_matches(|it: char| it.is_ascii_digit());
        let of = |disk: &str| {
            whole.len() < name.len() && self.named(DISK_READS).any(|it| it.label("device") == Some(disk))
        };
        let is_partition = of(whole) || whole.strip_suffix('p').is_some_and(of);
        !is_partition && !UNREAL_DISKS.iter().any(|prefix| name.starts_with(prefix))
    }

    /// What it says of its machine.
    pub(super) fn host(&self, devices: &[String]) -> Host {
        let text = |name: &str, label: &str| {
            let value = self.named(name).find_map(|sample| sample.label(label))?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        let values = self.values(devices);
        let maker = ["system_vendor", "product_name"].map(|it| text("node_dmi_info", it).unwrap_or_default());
        let disks: Vec<&str> = self.disks().into_iter().filter(|disk| self.counts(disk, devices)).collect();
        let (disk_kind, disk_model) = match disks.as_slice() {
            [disk] => self.disk(disk),
            _ => (None, None),
        };
        Host {
            hostname: text("node_uname_info", "nodename"),
            cpus: values.get("cpus").map(|cpus| *cpus as u32),
            memory_bytes: values.get("memory_total_bytes").map(|bytes| *bytes as u64),
            disk_kind,
            disk_model,
            kernel: text("node_uname_info", "release"),
            os: text("node_os_info", "pretty_name"),
            virtualization: cpu::hypervisor_from(&maker.join(" "), "", "").map(str::to_owned),
            ..Host::default()
        }
    }

    fn disk(&self, name: &str) -> (Option<String>, Option<String>) {
        let info = self.named("node_disk_info").find(|sample| sample.label("device") == Some(name));
        let model = info.and_then(|info| info.label("model")).filter(|model| !model.is_empty());
        (
            disk::kind(name, model.unwrap_or_default(), false, None).map(str::to_owned),
            model.map(str::to_owned),
        )
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &ExposedSample<'a>> {
        self.0.iter().filter(move |sample| sample.name == name)
    }
}

/// A VLAN's name has a dot in it, and its bytes are those of the interface that it is on.
fn is_unreal_interface(name: &str) -> bool {
    name.contains('.') || UNREAL_INTERFACES.iter().any(|prefix| name.starts_with(prefix))
}

fn add(values: &mut HostValues, key: &str, value: f64) {
    *values.entry(key.to_owned()).or_insert(0.0) += value;
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 9000.5
node_cpu_seconds_total{cpu=\"0\",mode=\"irq\"} 1
node_cpu_seconds_total{cpu=\"0\",mode=\"nice\"} 2
node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 3
node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 40
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 500
node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 100
node_cpu_guest_seconds_total{cpu=\"0\",mode=\"user\"} 499
node_disk_read_bytes_total{device=\"nvme0n1\"} 1e+09
node_disk_read_bytes_total{device=\"nvme0n1p1\"} 5e+08
node_disk_read_bytes_total{device=\"dm-0\"} 1e+09
node_disk_reads_completed_total{device=\"nvme0n1\"} 10
node_disk_reads_completed_total{device=\"nvme0n1p1\"} 5
node_disk_reads_completed_total{device=\"dm-0\"} 10
node_disk_info{device=\"nvme0n1\",major=\"259\",minor=\"0\",model=\"Amazon Elastic Block Store\"} 1
node_memory_MemTotal_bytes 2.5276502016e+10
node_memory_MemAvailable_bytes NaN
node_memory_SwapTotal_bytes 1000
node_memory_SwapFree_bytes 400
node_network_receive_bytes_total{device=\"lo\"} 7
node_network_receive_bytes_total{device=\"eth0\"} 100
node_network_receive_bytes_total{device=\"eth0.12\"} 50
node_network_receive_bytes_total{device=\"docker0\"} 50
node_network_receive_bytes_total{device=\"ens5\"} 11
node_procs_blocked 3
node_uname_info{domainname=\"(none)\",machine=\"x86_64\",nodename=\"db1\",release=\"6.1.0\",sysname=\"Linux\"} 1
node_os_info{id=\"debian\",pretty_name=\"Debian GNU/Linux 12 (bookworm)\"} 1
node_dmi_info{bios_vendor=\"Amazon EC2\",product_name=\"m7i.large\",system_vendor=\"Amazon EC2\"} 1
";

    #[test]
    fn names_become_the_keys_of_proc() {
        let page = Page::read(PAGE).unwrap();
        let expected = [
            ("blocked_processes", 3.0),
            ("cpu_idle_seconds_total", 9100.5),
            ("cpu_system_seconds_total", 44.0),
            ("cpu_user_seconds_total", 502.0),
            ("cpus", 2.0),
            ("disk_read_bytes_total", 1e9),
            ("disk_read_operations_total", 10.0),
            ("loopback_bytes_total", 7.0),
            ("memory_total_bytes", 25_276_502_016.0),
            ("network_receive_bytes_total", 111.0),
            ("swap_used_bytes", 600.0),
        ];
        assert_eq!(page.values(&[]), expected.map(|(key, value)| (key.to_owned(), value)).into());
        assert_eq!(page.values(&["nvme0n1p1".to_owned()])["disk_read_bytes_total"], 5e8);
    }

    #[test]
    fn the_machine_is_told() {
        let host = Page::read(PAGE).unwrap().host(&[]);
        let expected = Host {
            hostname: Some("db1".to_owned()),
            cpus: Some(2),
            memory_bytes: Some(25_276_502_016),
            disk_kind: Some("virtual".to_owned()),
            disk_model: Some("Amazon Elastic Block Store".to_owned()),
            kernel: Some("6.1.0".to_owned()),
            os: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            ..Host::default()
        };
        assert_eq!(host, expected);
    }

    #[test]
    fn what_is_no_node_exporters_page_is_refused() {
        for text in
            ["", "<html>node_cpu_seconds_total</html>", "# TYPE node_cpu_seconds_total counter", "up 1"]
        {
            assert!(Page::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn partitions_and_mapped_devices_are_no_disks() {
        let page: String =
            ["sda", "sda1", "xvdf", "nvme1n1", "md127", "zram0", "sr0", "vda", "mmcblk0", "mmcblk0p2"]
                .map(|name| format!("node_disk_reads_completed_total{{device=\"{name}\"}} 1\n"))
                .concat();
        let page = format!("{page}node_cpu_seconds_total 1");
        let page = Page::read(&page).unwrap();
        let real: Vec<&str> = page.disks().into_iter().filter(|disk| page.is_real_disk(disk)).collect();
        assert_eq!(real, ["mmcblk0", "nvme1n1", "sda", "vda", "xvdf"]);
    }
}
