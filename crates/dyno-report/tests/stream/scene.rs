//! The targets of made-up runs: what they are, where they run, what they hold, and what is read of them.

use dyno_results::event::{Data, Embedded, Host, Table, Target};

/// A target.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) workload: &'static str,
    /// Against the first target.
    pub(super) speed: f64,
    product: &'static str,
    version: &'static str,
    url: &'static str,
    embedded: bool,
    /// Whether its host is the driver's.
    here: bool,
    /// Rows, and bytes on disk with the indexes.
    rows: u64,
    bytes: Option<u64>,
    cpu_s: f64,
    transactions: f64,
    /// Seconds that were read.
    seconds: f64,
}

/// The readings of a second: source, target, values.
type Reading = (&'static str, &'static str, Vec<(&'static str, f64)>);

/// PostgreSQL, embedded, on the driver's host.
pub(super) fn one() -> Scene {
    Scene {
        name: "pg",
        workload: "tpcb",
        speed: 1.0,
        product: "PostgreSQL",
        version: "18.1",
        url: "postgres://dyno@127.0.0.1:5432/dyno",
        embedded: true,
        here: true,
        rows: 5_000_000,
        bytes: None,
        cpu_s: 0.0,
        transactions: 0.0,
        seconds: 0.0,
    }
}

/// PostgreSQL here, and MySQL on a host of its own that a node_exporter tells of.
pub(super) fn two() -> Vec<Scene> {
    let postgres = Scene {
        workload: "events",
        embedded: false,
        url: "postgres://me@127.0.0.1:5432/shop",
        rows: 1_000_000,
        bytes: Some(92 << 20),
        ..one()
    };
    let mysql = Scene {
        name: "my",
        speed: 0.55,
        product: "MySQL",
        version: "9.4.0",
        url: "mysql://me@db2:3306/shop",
        here: false,
        bytes: Some(121 << 20),
        ..postgres.clone()
    };
    vec![postgres, mysql]
}

/// The driver's host and those of the targets.
pub(super) fn hosts(scenes: &[Scene], intruder: &str) -> Vec<Host> {
    let here = scenes.iter().filter(|scene| scene.here).map(|scene| scene.name);
    let here = std::iter::once("driver").chain(here).map(str::to_owned).collect();
    let elsewhere = scenes.iter().filter(|scene| !scene.here).map(|scene| vec![scene.name.to_owned()]);
    let host = |roles| Host {
        roles,
        cpus: Some(2),
        memory_bytes: Some(24 << 30),
        disk_kind: Some(format!("nvme{intruder}")),
        ..Host::default()
    };
    std::iter::once(here).chain(elsewhere).map(host).collect()
}

impl Scene {
    pub(super) fn target(&self, intruder: &str) -> Target {
        Target {
            name: self.name.to_owned(),
            server: self.name.to_owned(),
            url: format!("{}{intruder}", self.url),
            product: Some(format!("{}{intruder}", self.product)),
            version: Some(self.version.to_owned()),
            version_text: Some(format!("{} {} on a made-up machine{intruder}", self.product, self.version)),
            tls: None,
            same_host: Some(self.here),
            embedded: self.embedded.then(|| Embedded {
                profile: "production".to_owned(),
                source: "made up".to_owned(),
                unsafe_profile: false,
            }),
            connections_max: Some(200),
            host_source: match (self.embedded, self.here) {
                (true, _) => None,
                (false, true) => Some("this host".to_owned()),
                (false, false) => Some("http://db2:9100/metrics".to_owned()),
            },
            isolation: None,
            disk_kind: None,
            in_process: false,
        }
    }

    /// Steps of the preparation: name, milliseconds, rows.
    pub(super) fn steps(&self) -> Vec<(&'static str, u64, Option<u64>)> {
        if self.workload == "tpcb" {
            let steps = [("drop", 100, None), ("tables", 100, None), ("data", 2900, Some(5_000_550))];
            return steps.into_iter().chain([("vacuum", 300, None), ("keys", 700, None)]).collect();
        }
        let rows = self.rows + 10_000;
        vec![("tables", 100, None), ("data", (2_400.0 / self.speed) as u64, Some(rows)), ("keys", 600, None)]
    }

    pub(super) fn data(&self, intruder: &str) -> Data {
        let table = |name: &str, rows: u64, bytes: Option<u64>| Table {
            name: format!("{name}{intruder}"),
            rows: Some(rows),
            rows_counted: true,
            table_bytes: bytes.map(|bytes| bytes / 4 * 3),
            index_bytes: bytes.map(|bytes| bytes / 4),
            logged: Some(true),
            indexed: None,
            analyzed: None,
        };
        let tpcb = self.workload == "tpcb";
        Data {
            target: self.name.to_owned(),
            workload: self.workload.to_owned(),
            scale: tpcb.then_some(50.0),
            database_bytes: Some(self.bytes.unwrap_or(760 << 20)),
            cache_bytes: Some(6 << 30),
            memory_bytes: Some(24 << 30),
            caches: std::collections::BTreeMap::new(),
            indirect: None,
            missing_indexes: Vec::new(),
            settings_set: None,
            after: None,
            phase: None,
            tables: if tpcb {
                vec![
                    table("pgbench_accounts", self.rows, Some(760 << 20)),
                    table("pgbench_branches", 50, Some(0)),
                ]
            } else {
                vec![table("event", self.rows, self.bytes), table("customer", 10_000, Some(1 << 20))]
            },
        }
    }

    pub(super) fn checks(&self) -> Vec<(&'static str, &'static str)> {
        if self.workload == "tpcb" {
            return vec![
                ("history-holds-every-commit", "126,304 commits acknowledged, 126,304 found"),
                ("sums-agree", "four sums agree"),
            ];
        }
        vec![
            ("rows-as-acknowledged", "as many rows as were acknowledged"),
            ("references-resolve", "every foreign key resolves"),
        ]
    }

    /// What is read after a second of load.
    pub(super) fn samples(&mut self, clients: u32, tps: f64, driver_cpu_s: f64) -> Vec<Reading> {
        self.cpu_s +=
            1.9_f64.min(f64::from(clients) * 0.6) * if self.workload == "tpcb" { 0.66 } else { 1.0 };
        self.transactions += tps;
        self.seconds += 1.0;
        if self.workload == "tpcb" {
            let values =
                vec![("server_cpu_seconds_total", self.cpu_s), ("driver_cpu_seconds_total", driver_cpu_s)];
            return vec![("host", "driver", values)];
        }
        let mut host = vec![
            ("cpus", 2.0),
            ("cpu_user_seconds_total", self.cpu_s * 0.75),
            ("cpu_system_seconds_total", self.cpu_s * 0.25),
            ("cpu_idle_seconds_total", self.seconds * 2.0 - self.cpu_s),
            ("memory_available_bytes", 19e9),
            ("disk_write_bytes_total", self.transactions * 8_400.0 / self.speed),
            ("disk_write_operations_total", self.transactions * 1.2 / self.speed),
            ("disk_busy_seconds_total", self.cpu_s * 0.31),
        ];
        if !self.here {
            return vec![("host", self.name, host)];
        }
        host.extend([
            ("server_cpu_seconds_total", self.cpu_s),
            ("server_memory_bytes", 3.1e9),
            ("driver_cpu_seconds_total", driver_cpu_s),
        ]);
        let database = vec![("wal_bytes_total", self.transactions * 1_130.0)];
        vec![("host", self.name, host), ("database", self.name, database)]
    }
}
