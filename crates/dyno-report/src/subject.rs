//! What a run is about, in words: the target, its host, its data, and the load of a stage. Shared by the live
//! view and the summary, so that both say the same.

use dyno_results::event::{Arrival, Data, Distribution, Hook, HookTime, Host, Stage, StageKind, Target};

use crate::text::{DOT, Paint, Sheet, cut, visible, width};
use dyno_results::format;

/// Before a number that is an estimate.
pub(crate) const ESTIMATED: &str = "≈ ";
/// A target's name is cut to this where it leads a row.
const NAME_WIDTH_MAX: usize = 10;

/// The names of a run's targets. Each leads the rows that are about it, in its colour; an only one needs no name.
#[derive(Debug)]
pub(crate) struct TargetNames<'a>(Vec<&'a str>);

impl<'a> TargetNames<'a> {
    pub(crate) fn of(targets: &'a [Target]) -> Self {
        Self(targets.iter().map(|target| target.name.as_str()).collect())
    }

    pub(crate) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().copied()
    }

    /// A target's place among all of them. Stages begin in any order, and rows stand in this one.
    pub(crate) fn place(&self, target: &str) -> usize {
        self.iter().position(|name| name == target).unwrap_or(self.0.len())
    }

    pub(crate) fn painted(&self, target: &str, paint: Paint) -> String {
        paint.target(self.place(target), &cut(&visible(target), NAME_WIDTH_MAX))
    }

    /// Columns that the names take before a text; none for an only target.
    pub(crate) fn columns(&self) -> usize {
        if !self.are_several() {
            return 0;
        }
        self.iter().map(|name| width(&visible(name)).min(NAME_WIDTH_MAX)).max().unwrap_or(0) + 2
    }

    /// Draws rows about a target.
    pub(crate) fn about(&self, target: &str, sheet: &mut Sheet, draw: impl FnOnce(&mut Sheet)) {
        if self.are_several() {
            let name = self.painted(target, sheet.paint);
            sheet.begin_lead(&name, self.columns());
        }
        draw(sheet);
        sheet.end_lead();
    }
}

/// A target in one sentence: what it is, what it runs on, and where that is.
pub(crate) fn target(target: &Target, hosts: &[Host]) -> String {
    let product = match (&target.product, &target.version) {
        (Some(product), Some(version)) => format!("{} {}", visible(product), visible(version)),
        (Some(product), None) => format!("{}, version unknown", visible(product)),
        (None, _) => {
            let says =
                target.version_text.as_deref().map_or(String::new(), |text| format!(" ({})", visible(text)));
            format!("unrecognised product{says}")
        }
    };
    let mut parts = Vec::new();
    if let Some(embedded) = &target.embedded {
        parts.push(format!("embedded {product}"));
        let caution = if embedded.unsafe_profile { ", UNSAFE" } else { "" };
        parts.push(format!("{} profile{caution}", visible(&embedded.profile)));
    } else {
        parts.push(product);
        parts.push(visible(&target.url).into_owned());
        if let Some(tls) = &target.tls {
            parts.push(visible(tls).into_owned());
        }
    }
    let host = hosts.iter().find(|host| host.roles.contains(&target.name));
    let on = |host: &Host| hardware(host, target.disk_on(host));
    parts.push(host.map_or_else(|| "hardware unknown".to_owned(), on));
    parts.push(
        match target.same_host {
            Some(true) => "same host as the driver",
            Some(false) => "not on the driver's host",
            None => "unknown whether on the driver's host",
        }
        .to_owned(),
    );
    parts.join(DOT)
}

/// The driver's machine, where it is another one than the target's.
pub(crate) fn driver(targets: &[Target], hosts: &[Host]) -> Option<String> {
    let elsewhere = targets.iter().any(|target| target.same_host != Some(true));
    let host = hosts.iter().find(|host| host.roles.iter().any(|role| role == "driver"))?;
    elsewhere.then(|| hardware(host, host.disk_kind.as_deref()))
}

/// `2 cores, 24 GiB, NVMe`, as far as it is known.
fn hardware(host: &Host, disk: Option<&str>) -> String {
    let cores = match (host.cpus, host.cpus_limit) {
        (Some(cpus), Some(limit)) if limit < f64::from(cpus) => {
            format!("{} of {}", format::cores(limit), format::counted(u64::from(cpus), "core"))
        }
        (Some(cpus), _) => format::counted(u64::from(cpus), "core"),
        (None, _) => "cores unknown".to_owned(),
    };
    let memory = match (host.memory_bytes, host.memory_limit_bytes) {
        (Some(bytes), Some(limit)) if limit < bytes => {
            format!("{} of {}", format::bytes(limit), format::bytes(bytes))
        }
        (Some(bytes), _) => format::bytes(bytes),
        (None, Some(limit)) => format::bytes(limit),
        (None, None) => "memory unknown".to_owned(),
    };
    let disk = match disk {
        Some("nvme") => "NVMe".to_owned(),
        Some("ssd") => "SSD".to_owned(),
        Some("hdd") => "HDD".to_owned(),
        Some("virtual") => "virtual disk".to_owned(),
        Some(other) => visible(other).into_owned(),
        None => "disk unknown".to_owned(),
    };
    format!("{cores}, {memory}, {disk}")
}

/// A workload's data: `tpcb scale 50 · 5,000,550 rows in 4 tables · 760 MiB`. Rows and size are those of all its
/// tables; where not all rows are known, those of the largest.
pub(crate) fn data(data: &Data) -> String {
    let mut parts = vec![match data.scale {
        Some(scale) => format!("{} scale {}", visible(&data.workload), format::plain(scale)),
        None => visible(&data.workload).into_owned(),
    }];
    let largest = data.tables.iter().filter_map(|table| Some((table.rows?, &table.name))).max();
    let all = data.tables.iter().try_fold(0_u64, |sum, table| sum.checked_add(table.rows?));
    if let Some((rows, table)) = largest {
        let (rows, place) = match (all, data.tables.len()) {
            (Some(all), tables @ 2..) => (all, format!("{} tables", format::count(tables as u64))),
            _ => (rows, visible(table).into_owned()),
        };
        let about = if data.tables.iter().all(|table| table.rows_counted) { "" } else { ESTIMATED };
        parts.push(format!("{about}{} in {place}", format::counted(rows, "row")));
    }
    parts.push(data.bytes().map_or_else(|| "size unknown".to_owned(), format::bytes));
    parts.join(DOT)
}

/// A stage's load: `8 clients, closed loop`, `5,000/s Poisson, 16 clients`.
pub(crate) fn load(stage: &Stage) -> String {
    let clients = match stage.clients_end {
        Some(end) if end != stage.clients => {
            format!(
                "{} to {}",
                format::count(u64::from(stage.clients)),
                format::counted(u64::from(end), "client")
            )
        }
        _ => format::counted(u64::from(stage.clients), "client"),
    };
    let clients = match stage.connections {
        Some(connections) => {
            format!("{clients} over {}", format::counted(u64::from(connections), "connection"))
        }
        None => clients,
    };
    match &stage.arrival {
        Arrival::Closed { think_time_ms } if *think_time_ms > 0.0 => {
            format!("{clients}, think time {}", format::latency_us(think_time_ms * 1e3))
        }
        Arrival::Closed { .. } => format!("{clients}, closed loop"),
        Arrival::Open { rate_per_s, distribution } => {
            let rate = match stage.rate_end_per_s {
                Some(end) => format!("{} to {}/s", format::plain(*rate_per_s), format::plain(end)),
                None => format!("{}/s", format::plain(*rate_per_s)),
            };
            let shape = match distribution {
                Distribution::Poisson => "Poisson",
                Distribution::Constant => "evenly spaced",
            };
            format!("{rate} {shape}, {clients}")
        }
    }
}

/// Something done before or after a load: `before join: systemctl restart mysql · 3.2 s`.
pub(crate) fn hook(hook: &Hook) -> String {
    let when = match hook.when {
        HookTime::Before => "before",
        HookTime::After => "after",
    };
    let failed = if hook.succeeded { "" } else { "FAILED " };
    let (about, action) = (visible(&hook.about), visible(&hook.action));
    format!("{failed}{when} {about}: {action}{DOT}{}", format::duration_s(hook.seconds))
}

/// Label of a stage of this kind.
pub(crate) fn kind(kind: StageKind) -> &'static str {
    kind.name()
}

#[cfg(test)]
mod tests {
    use dyno_results::event::Table;

    use super::*;

    fn table(rows: u64, bytes: Option<u64>) -> Table {
        Table {
            name: format!("t{rows}"),
            rows: Some(rows),
            rows_counted: true,
            table_bytes: bytes,
            index_bytes: Some(1 << 20),
            logged: None,
            indexed: None,
            analyzed: None,
        }
    }

    fn said(tables: Vec<Table>) -> String {
        data(&Data {
            target: "pg".to_owned(),
            workload: "sysbench".to_owned(),
            scale: None,
            database_bytes: Some(164 << 20),
            cache_bytes: None,
            memory_bytes: None,
            tables,
            caches: std::collections::BTreeMap::new(),
            indirect: None,
            missing_indexes: Vec::new(),
            settings_set: None,
            after: None,
            phase: None,
        })
    }

    #[test]
    fn rows_and_size_are_those_of_the_workloads_own_tables() {
        assert_eq!(said(vec![table(20_000, Some(4 << 20))]), "sysbench · 20,000 rows in t20000 · 5 MiB");
        let two = || vec![table(20_000, Some(4 << 20)), table(5, Some(1 << 20))];
        assert_eq!(said(two()), "sysbench · 20,005 rows in 2 tables · 7 MiB");
        let [first, second]: [Table; 2] = two().try_into().unwrap();
        let estimated = Table { rows_counted: false, ..first };
        assert_eq!(said(vec![estimated, second]), "sysbench · ≈ 20,005 rows in 2 tables · 7 MiB");
        assert_eq!(said(vec![table(3, None)]), "sysbench · 3 rows in t3 · size unknown");
    }
}
