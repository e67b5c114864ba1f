//! What a load cost the server: as lines for an only target, as a table for several. What was not read is unknown
//! there, and not left out, so that a gap is not taken for a small number.

use dyno_results::document::{Costs, Report, Series, Size, StageResult};
use dyno_results::event::Host;

use crate::subject::{self, ESTIMATED, TargetNames};
use crate::text::{DOT, Paint, Sheet, pad_end, pad_start, uncoloured, visible, width};
use dyno_results::format;

/// How the table says that nothing is known.
const UNKNOWN: &str = "unknown";
/// Between the columns of the table.
const GAP: usize = 3;

/// The stage by whose costs a series is told: the one that stands for it, else its last step.
pub(super) fn telling_stage<'a>(report: &'a Report, series: &Series) -> Option<&'a StageResult> {
    let headline = series.headline.as_ref().map(|headline| headline.stage);
    report.stage(headline.or_else(|| series.ladder.last().copied())?)
}

/// `each transaction: 412 µs server CPU · 8.2 KiB written · 1.2 disk writes of the whole device · 1.1 KiB log`, as far as it is known.
pub(super) fn line(stage: &StageResult, sheet: &mut Sheet) {
    let Some(costs) = &stage.costs else { return };
    let mut parts = Vec::new();
    match (costs.server_cpu_us, costs.host_cpu_us) {
        (Some(us), _) => parts.push(format!("{} server CPU", format::latency_us(us))),
        (None, Some(us)) => parts.push(format!("{} CPU of its host", format::latency_us(us))),
        (None, None) => {}
    }
    let (whose, whose_operations) = (of_whom(&costs.disk_source), of_whom(&costs.disk_operations_source));
    for (bytes, operations, word, noun) in [
        (costs.disk_write_bytes, costs.disk_write_operations, "written", "disk writes"),
        (costs.disk_read_bytes, costs.disk_read_operations, "read", "disk reads"),
    ] {
        let bytes = bytes.map(|bytes| format!("{} {word}", format::bytes_mean(bytes)));
        let operations = operations.map(|count| format!("{} {noun}", format::short(count)));
        match (bytes, operations) {
            // What was counted of one thing is told as one.
            (Some(bytes), Some(operations)) if costs.disk_source == costs.disk_operations_source => {
                parts.push(format!("{bytes} in {operations}{whose}"));
            }
            (bytes, operations) => {
                parts.extend(bytes.map(|bytes| bytes + whose));
                parts.extend(operations.map(|operations| operations + whose_operations));
            }
        }
    }
    if let Some(bytes) = costs.wal_bytes {
        parts.push(format!("{} log", format::bytes_mean(bytes)));
    }
    if !parts.is_empty() {
        let text = format!("each {}: {}", stage.stage.unit(), parts.join(DOT));
        sheet.paragraph("", &text, Paint::faint);
    }
}

/// Said where figures of the disk are not the server's own.
fn of_whom(source: &Option<String>) -> &'static str {
    if source.as_deref() == Some("disk") { " of the whole device" } else { "" }
}

/// What others had of the processors meanwhile, where that is seen at all.
pub(super) fn others(share: Option<f64>, sheet: &mut Sheet) {
    if let Some(share) = share.filter(|share| *share >= format::SHARE_TOLD) {
        let text = format!("others took {} of the host's processors", format::share(share));
        sheet.paragraph("", &text, Paint::faint);
    }
}

/// What the data takes on disk, a line for each workload; of several targets also that it is not known of one.
pub(super) fn sizes(report: &Report, names: &TargetNames<'_>, sheet: &mut Sheet) {
    if report.sizes.is_empty() {
        return;
    }
    let mut label = "size";
    for name in names.iter() {
        let own: Vec<&Size> = report.sizes.iter().filter(|size| size.target == name).collect();
        names.about(name, sheet, |sheet| {
            for size in &own {
                sheet.paragraph(std::mem::take(&mut label), &size_words(size), uncoloured);
            }
            if own.is_empty() && names.are_several() {
                let unknown = sheet.paint.faint(UNKNOWN);
                sheet.row(std::mem::take(&mut label), &unknown);
            }
        });
    }
}

/// `events: 1,010,000 rows · 93 MiB · 97 B on disk for each row`
fn size_words(size: &Size) -> String {
    format!(
        "{}: {}{}{DOT}{}{DOT}{} on disk for each row",
        visible(&size.workload),
        if size.rows_counted { "" } else { ESTIMATED },
        format::counted(size.rows, "row"),
        format::bytes(size.bytes),
        format::bytes_mean(size.bytes_per_row)
    )
}

/// What a target is compared by.
struct Entry<'a> {
    stage: &'a StageResult,
    host: Option<&'a Host>,
    /// Said behind bytes and operations of its disk, where another's are not of the same kind of thing.
    whose: [&'static str; 2],
}

impl Entry<'_> {
    fn cost(&self, pick: impl Fn(&Costs) -> Option<f64>) -> Option<f64> {
        self.stage.costs.as_ref().and_then(pick)
    }

    fn disk_bytes(&self, pick: impl Fn(&Costs) -> Option<f64>) -> Option<String> {
        Some(bytes(self.cost(pick))? + self.whose[0])
    }

    fn disk_operations(&self, pick: impl Fn(&Costs) -> Option<f64>) -> Option<String> {
        Some(number(self.cost(pick))? + self.whose[1])
    }

    fn resource(&self, key: &str) -> Option<f64> {
        self.stage.reading(key)
    }
}

/// A row of the table.
struct CostRow {
    head: &'static str,
    /// False where the row is left out unless a target knows something.
    always: bool,
    cell: fn(&Entry<'_>) -> Option<String>,
}

/// The rows: what a transaction cost, then how full the server was.
const ROWS: [(&str, &[CostRow]); 2] = [
    (
        "costs",
        &[
            CostRow { head: "server CPU", always: true, cell: cpu_cost },
            CostRow { head: "disk written", always: true, cell: |e| e.disk_bytes(|c| c.disk_write_bytes) },
            CostRow {
                head: "disk writes",
                always: true,
                cell: |e| e.disk_operations(|c| c.disk_write_operations),
            },
            CostRow { head: "disk read", always: false, cell: |e| e.disk_bytes(|c| c.disk_read_bytes) },
            CostRow {
                head: "disk reads",
                always: false,
                cell: |e| e.disk_operations(|c| c.disk_read_operations),
            },
            CostRow { head: "disk traffic", always: false, cell: disk_source },
            CostRow { head: "WAL or redo", always: true, cell: |e| bytes(e.cost(|c| c.wal_bytes)) },
            CostRow {
                head: "network in",
                always: false,
                cell: |e| bytes(e.cost(|c| c.network_receive_bytes)),
            },
            CostRow {
                head: "network out",
                always: false,
                cell: |e| bytes(e.cost(|c| c.network_transmit_bytes)),
            },
        ],
    ),
    (
        "server",
        &[
            CostRow { head: "CPU", always: true, cell: cpu_busy },
            CostRow { head: "host CPU busy", always: false, cell: host_busy },
            CostRow {
                head: "others' CPU",
                always: false,
                cell: |e| e.stage.cpu_taken_share.map(format::share),
            },
            CostRow { head: "memory", always: true, cell: |e| bytes(e.resource("server_memory_bytes")) },
            CostRow {
                head: "disk busy",
                always: true,
                cell: |e| e.resource("disk_busy_share").map(format::share),
            },
            CostRow {
                head: "disk writes/s",
                always: false,
                cell: |e| number(e.resource("disk_write_operations_per_s")),
            },
            CostRow { head: "connections", always: false, cell: connections },
            CostRow { head: "clients waiting", always: false, cell: waiting },
            CostRow { head: "wait p99", always: false, cell: wait },
        ],
    ),
];

/// Targets side by side, at the stages that tell most of them.
pub(super) fn table(report: &Report, names: &TargetNames<'_>, all: &[&Series], sheet: &mut Sheet) {
    let mut entries: Vec<Entry<'_>> = all.iter().filter_map(|series| entry(report, series)).collect();
    mark_devices(&mut entries);
    let rows = || ROWS.iter().flat_map(|(_, rows)| *rows);
    let head = rows().map(|row| width(row.head)).max().unwrap_or(0);
    let widest = |entry: &Entry<'_>| {
        let cells = rows().map(|row| width(&cell(row, entry)));
        cells.chain([width(&at(entry)), names.columns()]).max().unwrap_or(0)
    };
    let column = entries.iter().map(widest).max().unwrap_or(0) + GAP;
    let fitting = (sheet.room().saturating_sub(head) / column).max(1);
    for entries in entries.chunks(fitting) {
        draw(entries, names, (head, column), sheet);
    }
}

fn entry<'a>(report: &'a Report, series: &Series) -> Option<Entry<'a>> {
    let stage = telling_stage(report, series)?;
    Some(Entry { stage, host: report.host(&series.target), whose: [""; 2] })
}

/// What is a device's of some targets and a server's own of others stands in one row, and is not one thing.
fn mark_devices(entries: &mut [Entry<'_>]) {
    let sources: [fn(&Costs) -> Option<&str>; 2] =
        [|costs| costs.disk_source.as_deref(), |costs| costs.disk_operations_source.as_deref()];
    for (at, source) in sources.into_iter().enumerate() {
        let of =
            |entry: &Entry<'_>| entry.stage.costs.as_ref().and_then(source).map(|source| source == "disk");
        let known: Vec<bool> = entries.iter().filter_map(of).collect();
        let are_mixed = known.windows(2).any(|pair| pair[0] != pair[1]);
        for entry in entries.iter_mut().filter(|entry| are_mixed && of(entry) == Some(true)) {
            entry.whose[at] = " (device)";
        }
    }
}

/// One block of the table, `head` and `column` wide.
fn draw(entries: &[Entry<'_>], names: &TargetNames<'_>, (head, column): (usize, usize), sheet: &mut Sheet) {
    let paint = sheet.paint;
    let mut line = |label: &str, text: &str, cell: &dyn Fn(&Entry<'_>) -> String| {
        let cells: String = entries.iter().map(|entry| pad_start(&cell(entry), column)).collect();
        sheet.row(label, &format!("{}{cells}", pad_end(text, head)));
    };
    line("costs", "", &|entry| names.painted(&entry.stage.stage.key.system, paint));
    let unit = entries.first().map_or("transaction", |entry| entry.stage.stage.unit());
    line("", &paint.faint(&format!("per {unit}")), &|entry| paint.faint(&at(entry)));
    for (index, (label, rows)) in ROWS.into_iter().enumerate() {
        let known = |row: &&CostRow| row.always || entries.iter().any(|entry| (row.cell)(entry).is_some());
        for (place, row) in rows.iter().filter(known).enumerate() {
            let label = if index > 0 && place == 0 { label } else { "" };
            line(label, row.head, &|entry| {
                let text = cell(row, entry);
                if text == UNKNOWN { paint.faint(&text) } else { text }
            });
        }
    }
}

fn cell(row: &CostRow, entry: &Entry<'_>) -> String {
    (row.cell)(entry).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `hold 8 clients`, `ladder 5,050/s`
fn at(entry: &Entry<'_>) -> String {
    let stage = &entry.stage.stage;
    let load = match stage.rate_per_s() {
        Some(rate_per_s) => format!("{}/s", format::plain(rate_per_s)),
        None => format::counted(u64::from(stage.clients), "client"),
    };
    format!("{} {load}", subject::kind(stage.kind))
}

fn bytes(value: Option<f64>) -> Option<String> {
    value.map(format::bytes_mean)
}

fn number(value: Option<f64>) -> Option<String> {
    value.map(format::short)
}

fn cpu_cost(entry: &Entry<'_>) -> Option<String> {
    let server = entry.cost(|costs| costs.server_cpu_us).map(format::latency_us);
    let host = || entry.cost(|costs| costs.host_cpu_us).map(|us| format!("{} host", format::latency_us(us)));
    server.or_else(host)
}

/// Whose traffic the disk's figures are: of the bytes, and where that differs of the operations.
fn disk_source(entry: &Entry<'_>) -> Option<String> {
    let costs = entry.stage.costs.as_ref()?;
    let words = |source: &Option<String>| match source.as_deref()? {
        "server" => Some("server's own".to_owned()),
        "cgroup" => Some("its cgroup's".to_owned()),
        "disk" => Some("whole disk's".to_owned()),
        other => Some(visible(other).into_owned()),
    };
    match (words(&costs.disk_source), words(&costs.disk_operations_source)) {
        (Some(bytes), Some(operations)) if bytes != operations => Some(format!("{bytes} / {operations}")),
        (bytes, operations) => bytes.or(operations),
    }
}

/// `1.9 of 2 cores`
fn cpu_busy(entry: &Entry<'_>) -> Option<String> {
    let busy = format::cores(entry.resource("server_cpu_cores")?);
    let host = entry.host.and_then(|host| host.cpus_limit.or(host.cpus.map(f64::from)));
    let cores = entry.resource("server_cgroup_cpus_limit").or(host);
    Some(
        cores.map_or_else(
            || format!("{busy} cores"),
            |cores| format!("{busy} of {} cores", format::cores(cores)),
        ),
    )
}

fn host_busy(entry: &Entry<'_>) -> Option<String> {
    Some(format::share(entry.stage.busy_share()?.max(0.0)))
}

/// `39.8 of 40`
fn connections(entry: &Entry<'_>) -> Option<String> {
    let pool = entry.stage.pool.as_ref()?;
    Some(format!("{} of {}", format::short(pool.in_use_mean), pool.connections))
}

fn waiting(entry: &Entry<'_>) -> Option<String> {
    number(entry.stage.pool.as_ref().map(|pool| pool.waiting_mean))
}

fn wait(entry: &Entry<'_>) -> Option<String> {
    entry.stage.wait.as_ref().map(|wait| format::latency_us(wait.p99_us))
}
