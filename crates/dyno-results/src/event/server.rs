//! What a server is, how it is set, and what changes on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A system under test, and the server that it is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The name of the system, which is what is compared: `pg`, or `my` for a server that speaks MySQL's protocol, the name
    /// that the user gave, or that of a variant; unique in the run. `target` everywhere else is this name.
    pub name: String,
    /// The target's name in the specification, the same for all systems on it.
    pub server: String,
    /// The URL without any password.
    pub url: String,
    /// The product, `PostgreSQL`; `None` if it was not recognised.
    pub product: Option<String>,
    /// Its version, `15.18`.
    pub version: Option<String>,
    /// The server's own words, `PostgreSQL 15.18 (Debian …) on x86_64-pc-linux-gnu, …`.
    pub version_text: Option<String>,
    /// The version of TLS, `TLSv1.3`; `None` if the connection is not encrypted.
    pub tls: Option<String>,
    /// Whether server and driver share a host; `None` if that is unknown.
    pub same_host: Option<bool>,
    /// The server that dyno started for the run; `None` if it did not start this one.
    pub embedded: Option<Embedded>,
    /// How many connections the server allows this user in all.
    pub connections_max: Option<u32>,
    /// Where the readings of the server's host come from: `this host`, or a node_exporter's URL without any password. `None`
    /// if its host cannot be read: processors, memory and disks of it are then unknown.
    #[serde(default)]
    pub host_source: Option<String>,
    /// The isolation level with which sessions begin, `read committed`; `None` if the server does not say.
    #[serde(default)]
    pub isolation: Option<String>,
    /// The kind of disk under its data, as that of a host; `None` if it is unknown.
    #[serde(default)]
    pub disk_kind: Option<String>,
    /// Whether the database is a library in dyno's own process, as SQLite and DuckDB are: what the processors do for the one
    /// cannot be told from what they do for the other.
    #[serde(default)]
    pub in_process: bool,
}

impl Target {
    /// The kind of disk under its data; of runs of before, that of its host, which is the first target's there.
    pub fn disk_on<'a>(&'a self, host: &'a Host) -> Option<&'a str> {
        self.disk_kind.as_deref().or(host.disk_kind.as_deref())
    }

    /// `PostgreSQL 18.1`; `None` where the product was not recognised.
    #[must_use]
    pub fn product_with_version(&self) -> Option<String> {
        let version = self.version.iter().map(|version| format!(" {version}"));
        Some(self.product.iter().cloned().chain(version).collect()).filter(|_| self.product.is_some())
    }

    /// Whether both servers are known to be on one host: dyno's own, or that of one node_exporter.
    pub(crate) fn shares_host_with(&self, other: &Self) -> bool {
        let both_here = self.same_host == Some(true) && other.same_host == Some(true);
        both_here || (self.host_source.is_some() && self.host_source == other.host_source)
    }
}

/// A server that dyno started for the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Embedded {
    /// `default`, `production` or `extreme`.
    pub profile: String,
    /// Where the binaries came from: a directory, or the registry's artifact and version.
    pub source: String,
    /// Whether a crash can lose or corrupt what was acknowledged.
    pub unsafe_profile: bool,
}

/// A machine that takes part. What is unknown is `null`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// `driver`, and the names of the targets whose servers run on it.
    pub roles: Vec<String>,
    /// Its name.
    pub hostname: Option<String>,
    /// The model of its processors.
    pub cpu_model: Option<String>,
    /// Processors that the kernel shows.
    pub cpus: Option<u32>,
    /// Processors that this process may use, if that is fewer than the kernel shows: quota divided by period of the cgroup,
    /// or the affinity. `None` if there is no limit.
    pub cpus_limit: Option<f64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The limit of the cgroup, bytes; `None` if there is none.
    pub memory_limit_bytes: Option<u64>,
    /// The kind of disk under the data directory: `nvme`, `ssd`, `hdd`, `virtual`, `tmpfs`, ….
    pub disk_kind: Option<String>,
    /// The model of that disk.
    pub disk_model: Option<String>,
    /// The file system of the data directory, `ext4`.
    pub filesystem: Option<String>,
    /// The version of the kernel.
    pub kernel: Option<String>,
    /// The name and version of the operating system.
    pub os: Option<String>,
    /// `kvm`, `container`, …; `None` if it looks like bare metal or that is unknown.
    pub virtualization: Option<String>,
    /// The governor of the processors' frequency, `performance`.
    pub cpu_governor: Option<String>,
    /// The setting of transparent huge pages, `madvise`.
    pub transparent_hugepages: Option<String>,
}

/// The settings of a target: those that differ from the product's default, and all that affect durability, which come first.
/// Then come those that most often decide a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The name of the system.
    pub target: String,
    /// The settings.
    pub rows: Vec<Setting>,
    /// What the settings come to.
    #[serde(default)]
    pub facts: SettingFacts,
}

/// What the settings come to, in terms that hold for every product: findings judge by these and know no setting. Reasons are
/// in the product's own words, `fsync is off`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SettingFacts {
    /// Why a crash of the machine may corrupt the data, or lose any part of them.
    pub crash_corrupts: Vec<String>,
    /// Why a crash may lose the last acknowledged commits.
    pub crash_loses_last: Vec<String>,
    /// The settings by which neither happens; `None` if not all that decide are known.
    pub durable_by: Option<String>,
    /// What a reader wants beside that and what decides nothing: `wal_level replica`.
    pub durability_details: Vec<String>,
    /// What makes it durable: `set synchronous_commit = on`; `None` if it is, or nothing is known.
    pub durability_advice: Option<String>,
    /// Whether the log's file is opened to be written through, so that no sync of it is counted.
    pub log_written_through: bool,
    /// Whether what the server reads is not in the operating system's cache.
    pub bypasses_system_cache: bool,
    /// The setting that says after how long a checkpoint begins.
    pub checkpoint_setting: Option<String>,
}

/// One setting of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value as the server prints it, in `unit`.
    pub value: String,
    /// The unit of `value` and `default`; `None` if it has none.
    pub unit: Option<String>,
    /// The product's default; `None` if the server does not say.
    pub default: Option<String>,
    /// Where the value came from: `configuration file`, `command line`, `session`, ….
    pub source: Option<String>,
    /// Whether the value differs from the default.
    pub changed: bool,
    /// Whether the setting affects if an acknowledged commit survives a crash.
    pub durability: bool,
}

/// What had changed on a server after the load, or after a hook between two stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerChanged {
    /// The name of the system.
    pub target: String,
    /// Whether it has started since, though dyno did not have that done.
    pub restarted: bool,
    /// Whether the user had it changed between two stages.
    #[serde(default)]
    pub by_hook: bool,
    /// What has changed.
    pub changes: Vec<ServerChange>,
}

/// Something that a server says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerChange {
    /// `version`, or the name of a setting.
    pub what: String,
    /// Its value before; `None` if it was the default.
    pub before: Option<String>,
    /// Its value after; `None` if it is the default.
    pub after: Option<String>,
    /// Whether the figures before and after it are of different things: it is the version, or affects whether a crash may
    /// lose what was acknowledged.
    pub decides: bool,
}

/// How often a target's server has synced its log, where it counts that: before all that dyno did there, and behind the load
/// and a commit of dyno's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogSyncs {
    pub target: String,
    pub before: f64,
    pub after: f64,
}
