//! The profiles of an embedded server and the settings that each one means on a given machine.
//!
//! A pure function of the machine and the major version, so that a profile can be read, tested and explained.
//! Each setting carries its reason, which is also written into the server's configuration file.

use std::fmt;
use std::str::FromStr;

use dyno_results::event::Host;

use super::spec::Version;

/// How an embedded server is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// What `initdb` writes: the defaults of the product, made for the smallest machine.
    Default,
    /// Durable, and sized to the machine.
    #[default]
    Production,
    /// Everything that protects data is off. A crash loses the database: for finding limits, never for keeping.
    Extreme,
}

/// A profile that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no profile `{name}`; did you mean `{nearest}`? There are `default`, `production` and `extreme`"
)]
pub struct ProfileError {
    pub name: String,
    pub nearest: Profile,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Default, Self::Production, Self::Extreme];

    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Production => "production",
            Self::Extreme => "extreme",
        }
    }

    /// True where a crash can lose or corrupt what was acknowledged.
    pub fn is_unsafe(self) -> bool {
        self == Self::Extreme
    }

    /// The argument of `initdb` for checksums of pages, which protect data as `fsync` does. The product's own
    /// choice is off before 18 and on since: `production` has them always, so that versions can be compared.
    pub(super) fn checksums_argument(self, version: Version) -> Option<&'static str> {
        match self {
            Self::Production => Some("--data-checksums"),
            Self::Extreme if version.major >= 18 => Some("--no-data-checksums"),
            Self::Default | Self::Extreme => None,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let distance = |profile: &Self| strsim::damerau_levenshtein(&text.to_lowercase(), profile.name());
        let nearest = Self::ALL.into_iter().min_by_key(distance).unwrap_or_default();
        if nearest.name() == text {
            Ok(nearest)
        } else {
            Err(ProfileError { name: text.to_owned(), nearest })
        }
    }
}

/// A line of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredSetting {
    pub name: &'static str,
    /// As the file has it: with its unit, without quotes.
    pub value: String,
    /// Why it is set so.
    pub reason: &'static str,
}

/// What the settings are sized by.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Memory that the server may use: the machine's or the cgroup's, whichever is less.
    pub memory_bytes: Option<u64>,
    /// Processors that the server may use, at least 1.
    pub cpus: u32,
    /// As [`Host::disk_kind`].
    pub disk_kind: Option<String>,
    pub disk_free_bytes: u64,
}

impl Machine {
    /// What `host` allows a process.
    pub fn of(host: &Host, disk_free_bytes: u64) -> Self {
        let memory = [host.memory_bytes, host.memory_limit_bytes].into_iter().flatten().min();
        let shown = host.cpus.unwrap_or(1);
        // Part of a processor is no processor to run a second process on.
        let allowed = host.cpus_limit.map_or(shown, |limit| limit.floor() as u32);
        Self {
            memory_bytes: memory,
            cpus: shown.min(allowed).max(1),
            disk_kind: host.disk_kind.clone(),
            disk_free_bytes,
        }
    }

    /// Flash, memory, or a volume of a cloud: a random read costs hardly more than a sequential one.
    fn reads_at_random(&self) -> bool {
        matches!(self.disk_kind.as_deref(), Some("nvme" | "ssd" | "virtual" | "tmpfs" | "memory"))
    }
}

/// Connections beyond those of the load: probes, preparation, and the server's own reserve.
const CONNECTIONS_SPARE: u32 = 20;
/// `max_connections` as `initdb` writes it.
const CONNECTIONS_DEFAULT: u32 = 100;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The settings of `profile` that differ from what `initdb` writes, or that the profile stands for.
///
/// `connections_max` is what the load needs at most.
pub fn settings(
    profile: Profile,
    machine: &Machine,
    connections_max: u32,
    version: Version,
) -> Vec<ConfiguredSetting> {
    let connections = connections_max.saturating_add(CONNECTIONS_SPARE).max(CONNECTIONS_DEFAULT);
    let mut list = List { settings: Vec::new(), major: version.major };
    if connections > CONNECTIONS_DEFAULT {
        list.set("max_connections", connections, "what the load opens at most, and some for probes");
    }
    match profile {
        Profile::Default => {}
        Profile::Production => {
            size(&mut list, machine, connections);
            keep_up(&mut list, machine);
            durable(&mut list);
        }
        Profile::Extreme => {
            size(&mut list, machine, connections);
            reckless(&mut list);
        }
    }
    list.settings
}

/// Settings under way, for one major version.
struct List {
    settings: Vec<ConfiguredSetting>,
    major: u32,
}

impl List {
    fn set(&mut self, name: &'static str, value: impl fmt::Display, reason: &'static str) {
        self.settings.push(ConfiguredSetting { name, value: value.to_string(), reason });
    }

    /// Sets what only version `major` and later know.
    fn set_since(&mut self, major: u32, name: &'static str, value: impl fmt::Display, reason: &'static str) {
        if self.major >= major {
            self.set(name, value, reason);
        }
    }

    fn set_bytes(&mut self, name: &'static str, bytes: u64, reason: &'static str) {
        self.set(name, format_args!("{}MB", bytes / MIB), reason);
    }
}

/// Memory, log, disk and processors: the same for every profile that is sized to the machine.
fn size(list: &mut List, machine: &Machine, connections: u32) {
    if let Some(memory) = machine.memory_bytes {
        size_memory(list, memory, connections);
    }
    size_wal(list, machine);
    if machine.reads_at_random() {
        list.set(
            "random_page_cost",
            "1.1",
            "no head has to move: a random page costs about a sequential one",
        );
        list.set("effective_io_concurrency", 200, "such disks are fast only with many requests at once");
        list.set_since(13, "maintenance_io_concurrency", 200, "the same for vacuum and index builds");
    }
    size_parallel(list, machine.cpus);
}

fn size_memory(list: &mut List, memory: u64, connections: u32) {
    // A quarter for the server's cache and the rest for the kernel's has been the rule since 8.0; beyond
    // 64 GiB the gain is small and checkpoints have more to look through.
    let shared_buffers = (memory / 4).clamp(64 * MIB, 64 * GIB);
    list.set_bytes(
        "shared_buffers",
        shared_buffers,
        "a quarter of memory; the kernel's cache needs the rest",
    );
    list.set_bytes("effective_cache_size", memory / 4 * 3, "what both caches hold; the planner's guess only");
    let each = memory / 4 / u64::from(connections);
    list.set_bytes(
        "work_mem",
        each.clamp(4 * MIB, 256 * MIB),
        "a quarter of memory if every connection sorts at once, and never less than the default",
    );
    list.set_bytes(
        "maintenance_work_mem",
        (memory / 16).clamp(64 * MIB, 2 * GIB),
        "index builds and vacuum in one pass; few run at once",
    );
    list.set("huge_pages", "try", "fewer misses of the address cache, where the machine has set some aside");
}

fn size_wal(list: &mut List, machine: &Machine) {
    let by_memory = machine.memory_bytes.map_or(4 * GIB, |memory| memory / 2);
    // The log must never fill the disk that the data needs as well.
    let wal_max = by_memory.clamp(4 * GIB, 64 * GIB).min(machine.disk_free_bytes / 4).max(GIB);
    list.set_bytes(
        "max_wal_size",
        wal_max,
        "checkpoints by the clock and not by volume: each one makes whole pages be logged anew",
    );
    list.set_bytes(
        "min_wal_size",
        wal_max / 4,
        "keep files of the log for use again instead of making new ones",
    );
    list.set("checkpoint_timeout", "15min", "fewer checkpoints, fewer whole pages in the log");
    list.set(
        "checkpoint_completion_target",
        "0.9",
        "spread a checkpoint's writes; the default only since 14",
    );
    let wal_buffers = if machine.cpus >= 16 { 64 * MIB } else { 16 * MIB };
    list.set_bytes("wal_buffers", wal_buffers, "a segment of the log, and more where many processors commit");
}

fn size_parallel(list: &mut List, cpus: u32) {
    let per_query = (cpus / 2).min(4);
    list.set("max_worker_processes", cpus.max(8), "one per processor, and never fewer than the default");
    list.set("max_parallel_workers", cpus, "more than there are processors would only wait");
    list.set("max_parallel_workers_per_gather", per_query, "half the processors for one query, four at most");
    list.set("max_parallel_maintenance_workers", per_query, "the same for one index build");
    if cpus >= 16 {
        list.set_since(18, "io_workers", (cpus / 4).min(32), "three are too few for many processors");
    }
    if cpus < 8 {
        list.set("jit", "off", "with few processors compiling takes its time from the queries");
    }
}

/// Vacuum that keeps up with a load that changes every row, as on a server that is looked after.
fn keep_up(list: &mut List, machine: &Machine) {
    list.set(
        "autovacuum_vacuum_scale_factor",
        "0.05",
        "a fifth of a large table is too much to leave behind",
    );
    list.set("autovacuum_analyze_scale_factor", "0.02", "statistics that follow the data");
    list.set_since(13, "autovacuum_vacuum_insert_scale_factor", "0.05", "the same for tables that only grow");
    list.set("autovacuum_naptime", "15s", "look for work often enough for a busy database");
    if machine.reads_at_random() {
        list.set("vacuum_cost_limit", 2000, "the default's pace is that of one old disk");
    }
}

/// The defaults, written down because the profile stands for them.
fn durable(list: &mut List) {
    list.set("fsync", "on", "a commit is on the disk before it is acknowledged");
    list.set("synchronous_commit", "on", "a commit waits for the disk");
    list.set("full_page_writes", "on", "a page that a crash tore can be put together again");
    list.set("wal_level", "replica", "a real server is replicated and backed up");
    // The cheap kinds came with 15; the old one costs more processor time than it saves on any but a slow disk.
    list.set_since(15, WAL_COMPRESSION, "lz4", "whole pages shrink for little processor time");
}

/// The one setting that also depends on how the server was built; `server` takes it out where it is refused.
pub(super) const WAL_COMPRESSION: &str = "wal_compression";

fn reckless(list: &mut List) {
    list.set("fsync", "off", "UNSAFE: nothing waits for the disk; a crash of the machine loses the database");
    list.set("synchronous_commit", "off", "UNSAFE: a commit is acknowledged before it is written");
    list.set("full_page_writes", "off", "UNSAFE: a page that a crash tears stays torn");
    list.set("wal_level", "minimal", "UNSAFE: no replica and no backup could follow");
    list.set("max_wal_senders", 0, "the least log allows no replicas");
    list.set("autovacuum", "off", "UNSAFE for more than a short run: nothing cleans up");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(memory_gib: u64, cpus: u32, disk: &str) -> Machine {
        Machine {
            memory_bytes: Some(memory_gib * GIB),
            cpus,
            disk_kind: Some(disk.to_owned()),
            disk_free_bytes: 1000 * GIB,
        }
    }

    fn value(
        profile: Profile,
        machine: &Machine,
        connections: u32,
        major: u32,
        name: &str,
    ) -> Option<String> {
        let list = settings(profile, machine, connections, Version { major, minor: Some(0) });
        assert!(list.iter().filter(|setting| setting.name == name).count() <= 1, "{name} is set twice");
        list.into_iter().find(|setting| setting.name == name).map(|setting| setting.value)
    }

    fn production(machine: &Machine, name: &str) -> Option<String> {
        value(Profile::Production, machine, 64, 18, name)
    }

    #[test]
    fn memory_is_shared_out_by_the_rules() {
        let usual = machine(24, 2, "nvme");
        assert_eq!(production(&usual, "shared_buffers").as_deref(), Some("6144MB"));
        assert_eq!(production(&usual, "effective_cache_size").as_deref(), Some("18432MB"));
        assert_eq!(production(&usual, "maintenance_work_mem").as_deref(), Some("1536MB"));
        assert_eq!(production(&usual, "work_mem").as_deref(), Some("61MB"));
        let large = machine(1024, 96, "nvme");
        assert_eq!(production(&large, "shared_buffers").as_deref(), Some("65536MB"));
        assert_eq!(production(&large, "maintenance_work_mem").as_deref(), Some("2048MB"));
        assert_eq!(
            value(Profile::Production, &machine(4, 2, "ssd"), 5000, 18, "work_mem").as_deref(),
            Some("4MB")
        );
    }

    #[test]
    fn unknown_memory_sets_nothing_that_depends_on_it() {
        let unknown = Machine { memory_bytes: None, ..machine(1, 2, "nvme") };
        for name in ["shared_buffers", "effective_cache_size", "work_mem", "maintenance_work_mem"] {
            assert_eq!(production(&unknown, name), None, "{name}");
        }
        assert_eq!(production(&unknown, "max_wal_size").as_deref(), Some("4096MB"));
    }

    #[test]
    fn the_log_leaves_room_for_the_data() {
        assert_eq!(production(&machine(24, 2, "nvme"), "max_wal_size").as_deref(), Some("12288MB"));
        let full = Machine { disk_free_bytes: 8 * GIB, ..machine(64, 2, "nvme") };
        assert_eq!(production(&full, "max_wal_size").as_deref(), Some("2048MB"));
        assert_eq!(production(&full, "min_wal_size").as_deref(), Some("512MB"));
    }

    #[test]
    fn a_spinning_or_unknown_disk_keeps_the_planners_defaults() {
        assert_eq!(production(&machine(8, 4, "nvme"), "random_page_cost").as_deref(), Some("1.1"));
        assert_eq!(production(&machine(8, 4, "virtual"), "effective_io_concurrency").as_deref(), Some("200"));
        assert_eq!(production(&machine(8, 4, "hdd"), "random_page_cost"), None);
        let unknown = Machine { disk_kind: None, ..machine(8, 4, "nvme") };
        assert_eq!(production(&unknown, "random_page_cost"), None);
    }

    #[test]
    fn processors_bound_the_workers() {
        let one = machine(2, 1, "ssd");
        assert_eq!(production(&one, "max_parallel_workers_per_gather").as_deref(), Some("0"));
        assert_eq!(production(&one, "max_worker_processes").as_deref(), Some("8"));
        assert_eq!(production(&one, "jit").as_deref(), Some("off"));
        let many = machine(256, 64, "nvme");
        assert_eq!(production(&many, "max_parallel_workers_per_gather").as_deref(), Some("4"));
        assert_eq!(production(&many, "max_parallel_workers").as_deref(), Some("64"));
        assert_eq!(production(&many, "io_workers").as_deref(), Some("16"));
        assert_eq!(production(&many, "jit"), None);
    }

    #[test]
    fn a_cgroup_bounds_the_machine() {
        let host = Host {
            cpus: Some(32),
            cpus_limit: Some(2.5),
            memory_bytes: Some(128 * GIB),
            memory_limit_bytes: Some(4 * GIB),
            ..Host::default()
        };
        let allowed = Machine::of(&host, 0);
        assert_eq!((allowed.cpus, allowed.memory_bytes), (2, Some(4 * GIB)));
        let half = Host { cpus_limit: Some(0.5), ..host };
        assert_eq!(Machine::of(&half, 0).cpus, 1);
    }

    #[test]
    fn versions_get_only_what_they_know() {
        let many = machine(256, 64, "nvme");
        let at = |major, name| value(Profile::Production, &many, 64, major, name);
        assert_eq!(at(17, "io_workers"), None);
        assert_eq!(at(14, "wal_compression"), None);
        assert_eq!(at(15, "wal_compression").as_deref(), Some("lz4"));
        assert_eq!(at(12, "maintenance_io_concurrency"), None);
    }

    #[test]
    fn connections_are_those_of_the_load_and_some_more() {
        let usual = machine(24, 2, "nvme");
        assert_eq!(value(Profile::Default, &usual, 64, 18, "max_connections"), None);
        assert_eq!(value(Profile::Default, &usual, 512, 18, "max_connections").as_deref(), Some("532"));
        assert_eq!(settings(Profile::Default, &usual, 64, Version { major: 18, minor: None }), []);
    }

    #[test]
    fn only_extreme_is_unsafe_and_says_so() {
        let usual = machine(24, 2, "nvme");
        let of = |profile, name| value(profile, &usual, 64, 18, name);
        for name in ["fsync", "synchronous_commit", "full_page_writes"] {
            assert_eq!(of(Profile::Production, name).as_deref(), Some("on"), "{name}");
            assert_eq!(of(Profile::Extreme, name).as_deref(), Some("off"), "{name}");
        }
        assert_eq!(of(Profile::Extreme, "wal_level").as_deref(), Some("minimal"));
        assert_eq!(of(Profile::Extreme, "max_wal_senders").as_deref(), Some("0"));
        assert_eq!(of(Profile::Extreme, "autovacuum").as_deref(), Some("off"));
        assert_eq!(Profile::ALL.map(Profile::is_unsafe), [false, false, true]);
    }

    #[test]
    fn profiles_are_read_with_help() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        let error = "producton".parse::<Profile>().unwrap_err().to_string();
        assert!(error.contains("did you mean `production`?"), "{error}");
    }
}
