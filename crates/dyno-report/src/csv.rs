//! The series as CSV (RFC 4180): a row for each second and target, for spreadsheets and data frames.
//!
//! A row has what the timeline has for that second; behind that of a mix each of its transactions has one, with its name. What was not
//! read is empty, never zero.

use std::io::{self, Write};

use dyno_results::document::{CountLoad, LoadColumns, Metric, StageResult, Timeline, TypeLoad};
use dyno_results::measure::{COLUMNS, POOL_COLUMNS};
use jiff::{SignedDuration, Timestamp};

use crate::text::visible;

/// Columns before those of the load.
const PLACE: [&str; 3] = ["target", "second (s)", "clock (UTC)"];
/// Columns before those of what may be unknown of a second of load.
const LOAD: [&str; 9] = [
    "time (s)",
    "stage",
    "series",
    "kind",
    "workload",
    "transaction",
    "longest gap (s)",
    "recovery (s)",
    "clients",
];
/// Columns of a transaction of a mix alone: its part of the throughput, and what of its own was rolled back by design.
const OF_TYPE: [&str; 2] = ["share", "rolled back (1/s)"];

/// Writes the timelines with a header. Columns of telemetry are named by source and key and have their unit in brackets,
/// `host.cpu_user_share (share)`, `host.disk_write_bytes_per_s (bytes/s of the whole device)`; each is there once, whichever targets have it. `started_at` (RFC 3339) is when the run
/// began, from which all times count.
///
/// # Errors
/// Those of `out`.
pub fn write(
    started_at: &str,
    timelines: &[Timeline<'_>],
    stages: &[StageResult],
    out: &mut impl Write,
) -> io::Result<()> {
    let began: Option<Timestamp> = started_at.parse().ok();
    let metrics = metric_columns(timelines);
    let mut line = CsvLine::default();
    let counts = count_columns(timelines);
    PLACE.iter().chain(&LOAD).for_each(|name| line.text(name));
    COLUMNS.iter().chain(&POOL_COLUMNS).for_each(|measure| line.text(&measure.head()));
    counts.iter().for_each(|column| line.text(&column.name()));
    OF_TYPE.iter().for_each(|name| line.text(name));
    for column in &metrics {
        let whose = if is_of_whole_disk(column) { " of the whole device" } else { "" };
        line.text(&format!("{}.{} ({}{whose})", column.source, column.key, column.unit));
    }
    line.end(out)?;
    for timeline in timelines {
        target(timeline, (stages, began), (&counts, &metrics), &mut line, out)?;
    }
    Ok(())
}

/// Whether it is of whatever uses the disk, and not of the server or dyno alone.
fn is_of_whole_disk(column: &Metric<'_>) -> bool {
    column.source != "database" && column.key.starts_with("disk_")
}

/// What the workloads of all targets count, in the order of the first that has it.
fn count_columns<'a>(timelines: &'a [Timeline<'a>]) -> Vec<&'a CountLoad> {
    let mut columns: Vec<&'a CountLoad> = Vec::new();
    for count in timelines.iter().flat_map(|timeline| &timeline.load.counts) {
        if !columns.iter().any(|known| known.is_same(count)) {
            columns.push(count);
        }
    }
    columns
}

/// The telemetry of all targets, each source and key once, in the order of the first that has it.
fn metric_columns<'a>(timelines: &'a [Timeline<'a>]) -> Vec<&'a Metric<'a>> {
    let mut columns: Vec<&'a Metric<'a>> = Vec::new();
    for metric in timelines.iter().flat_map(|timeline| &timeline.metrics) {
        if !columns.iter().any(|known| known.source == metric.source && known.key == metric.key) {
            columns.push(metric);
        }
    }
    columns
}

fn target(
    timeline: &Timeline<'_>,
    (stages, began): (&[StageResult], Option<Timestamp>),
    (counts, columns): (&[&CountLoad], &[&Metric<'_>]),
    line: &mut CsvLine,
    out: &mut impl Write,
) -> io::Result<()> {
    let own = |column: &&Metric<'_>| {
        timeline.metrics.iter().find(|metric| metric.source == column.source && metric.key == column.key)
    };
    let mut metrics: Vec<Option<Cursor<'_>>> =
        columns.iter().map(|column| own(column).map(|metric| Cursor { metric, at: 0 })).collect();
    let mut row = 0;
    while let Some(second) = next_second(timeline.load.t_s.get(row), &metrics) {
        let first = row;
        while row < timeline.load.t_s.len() && second_of(timeline.load.t_s[row]) == second {
            row += 1;
        }
        // A stage's last interval and the next one's first may lie in one second: both are told, the telemetry once.
        for (index, load_row) in rows_or_none(first..row).enumerate() {
            line.text(&timeline.target);
            line.text(&second.to_string());
            line.text(&clock(began, second).unwrap_or_default());
            match load_row {
                Some(load_row) => load(&timeline.load, load_row, (stages, counts), line),
                None => {
                    line.skip(LOAD.len() + COLUMNS.len() + POOL_COLUMNS.len() + counts.len() + OF_TYPE.len());
                }
            }
            for metric in &mut metrics {
                match metric {
                    Some(cursor) if index == 0 => line.number(cursor.value(second)),
                    _ => line.skip(1),
                }
            }
            line.end(out)?;
            let types =
                load_row.into_iter().flat_map(|row| types_of(&timeline.load, row).map(move |it| (row, it)));
            for (row, of_type) in types {
                line.text(&timeline.target);
                line.text(&second.to_string());
                line.text(&clock(began, second).unwrap_or_default());
                transaction(&timeline.load, (row, of_type), (stages, counts), line);
                line.skip(metrics.len());
                line.end(out)?;
            }
        }
    }
    Ok(())
}

/// The transactions of which a row of the load is made.
fn types_of(load: &LoadColumns, row: usize) -> impl Iterator<Item = &TypeLoad> {
    load.by_type.iter().filter(move |it| it.tps[row].is_some())
}

/// The time of day at the beginning of a second, where it is known when the run began.
fn clock(began: Option<Timestamp>, second: u64) -> Option<String> {
    let at = began?.checked_add(SignedDuration::from_secs(i64::try_from(second).ok()?)).ok()?;
    // To the millisecond, as in the stream of events.
    Some(format!("{at:.3}"))
}

/// Each of the rows, or once `None` where there are none.
fn rows_or_none(rows: std::ops::Range<usize>) -> impl Iterator<Item = Option<usize>> {
    let none = rows.is_empty().then_some(None);
    rows.map(Some).chain(none)
}

fn load(
    load: &LoadColumns,
    row: usize,
    (stages, counts): (&[StageResult], &[&CountLoad]),
    line: &mut CsvLine,
) {
    let result = stage(load, row, stages, line);
    line.skip(1);
    line.number(result.and_then(|result| result.longest_gap_s));
    line.number(result.and_then(|result| result.recovery_s));
    line.text(&load.clients[row].to_string());
    load.measured().for_each(|column| line.number(column[row]));
    match &load.pool {
        Some(pool) => pool.columns().into_iter().for_each(|column| line.number(column[row])),
        None => line.skip(POOL_COLUMNS.len()),
    }
    for count in counts {
        let own = load.counts.iter().find(|own| own.is_same(count));
        line.number(own.and_then(|own| own.per_s[row]));
    }
    line.skip(OF_TYPE.len());
}

/// The columns up to the workload.
fn stage<'a>(
    load: &LoadColumns,
    row: usize,
    stages: &'a [StageResult],
    line: &mut CsvLine,
) -> Option<&'a StageResult> {
    let result = stages.iter().find(|result| result.stage.id == load.stage[row]);
    let stage = result.map(|result| &result.stage);
    line.number(Some(load.t_s[row]));
    line.text(&load.stage[row].to_string());
    line.text(stage.map_or("", |stage| &stage.series));
    line.text(stage.map_or("", |stage| stage.kind.name()));
    line.text(stage.map_or("", |stage| &stage.workload));
    result
}

fn transaction(
    load: &LoadColumns,
    (row, of_type): (usize, &TypeLoad),
    (stages, counts): (&[StageResult], &[&CountLoad]),
    line: &mut CsvLine,
) {
    stage(load, row, stages, line);
    line.text(&of_type.name);
    line.skip(2);
    line.text(&load.clients[row].to_string());
    let TypeLoad { tps, p50_us, p90_us, p99_us, .. } = of_type;
    let known = [("throughput", tps), ("p50", p50_us), ("p90", p90_us), ("p99", p99_us)];
    for measure in COLUMNS.iter().chain(&POOL_COLUMNS) {
        let own = known.iter().find(|(key, _)| *key == measure.key);
        line.number(own.and_then(|(_, column)| column[row]));
    }
    line.skip(counts.len());
    let all = load.tps[row].filter(|all| *all > 0.0);
    line.number(all.zip(of_type.tps[row]).map(|(all, own)| own / all));
    line.number(of_type.rolled_back_per_s[row]);
}

/// The next second in which anything was read of a target.
fn next_second(load_s: Option<&f64>, metrics: &[Option<Cursor<'_>>]) -> Option<u64> {
    let of_metrics = metrics.iter().flatten().filter_map(|cursor| cursor.metric.t_s.get(cursor.at));
    of_metrics.chain(load_s).copied().map(second_of).min()
}

/// The whole second that a time lies in.
fn second_of(t_s: f64) -> u64 {
    t_s.max(0.0) as u64
}

/// A place in a metric, that moves on with the seconds.
struct Cursor<'a> {
    metric: &'a Metric<'a>,
    at: usize,
}

impl Cursor<'_> {
    /// The last value of a second.
    fn value(&mut self, second: u64) -> Option<f64> {
        let mut value = None;
        while let Some(t_s) = self.metric.t_s.get(self.at).filter(|t_s| second_of(**t_s) <= second) {
            if second_of(*t_s) == second {
                value = self.metric.values[self.at];
            }
            self.at += 1;
        }
        value
    }
}

/// What a spreadsheet takes for the beginning of a formula, quoted or not: behind an apostrophe it is a text.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A line in the making.
#[derive(Default)]
struct CsvLine {
    text: String,
    begun: bool,
}

impl CsvLine {
    fn field(&mut self) -> &mut String {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        &mut self.text
    }

    fn text(&mut self, text: &str) {
        let is_formula = text.starts_with(FORMULA);
        let text = &*visible(text);
        let field = self.field();
        if is_formula {
            field.push_str(&format!("\"'{}\"", text.replace('"', "\"\"")));
        } else if text.contains([',', '"', '\r', '\n']) {
            field.push_str(&format!("\"{}\"", text.replace('"', "\"\"")));
        } else {
            field.push_str(text);
        }
    }

    fn number(&mut self, value: Option<f64>) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.field().push_str(&value.to_string()),
            None => self.skip(1),
        }
    }

    /// Fields of which nothing is known.
    fn skip(&mut self, fields: usize) {
        for _ in 0..fields {
            self.field();
        }
    }

    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.text.push_str("\r\n");
        let written = out.write_all(self.text.as_bytes());
        self.text.clear();
        self.begun = false;
        written
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::fold::Fold;

    use super::*;
    use crate::stream::Plan;

    fn metric<'a>(source: &'a str, key: &'a str, t_s: &'a [f64], values: &'a [Option<f64>]) -> Metric<'a> {
        let unit = "share".into();
        Metric { source: source.into(), key: key.into(), unit, t_s: t_s.into(), values: values.into() }
    }

    fn written(timelines: &[Timeline<'_>], stages: &[StageResult]) -> String {
        let mut out = Vec::new();
        write("2026-11-20T08:50:12+01:00", timelines, stages, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_second_of_load_has_a_row_and_every_metric_a_column() {
        let mut fold = Fold::new();
        let plan = Plan { ladder: vec![1, 2], rung_s: 3, hold_s: 3, ..Plan::default() };
        plan.events().iter().for_each(|stamped| fold.add(stamped));
        let report = fold.report();
        let text = written(&fold.timelines(), &report.stages);
        let mut lines = text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let timeline = &report.timelines[0];
        let fixed = PLACE.len() + LOAD.len() + COLUMNS.len() + POOL_COLUMNS.len() + OF_TYPE.len();
        assert_eq!(header.len(), fixed + timeline.metrics.len());
        assert!(header.contains(&"host.server_cpu_cores (cores)"), "{header:?}");
        let lines: Vec<_> = lines.collect();
        assert!(lines.iter().all(|line| line.len() == header.len()));
        let column = |name: &str| header.iter().position(|known| *known == name).unwrap();
        let filled = |name: &str| lines.iter().filter(|line| !line[column(name)].is_empty()).count();
        let tps: Vec<f64> =
            lines.iter().filter_map(|line| line[column("throughput (1/s)")].parse().ok()).collect();
        assert_eq!(tps, timeline.load.tps.iter().flatten().copied().collect::<Vec<f64>>());
        assert_eq!(filled("throughput (1/s)"), tps.len());
        let share = timeline.metrics.iter().find(|metric| metric.key == "server_cpu_cores").unwrap();
        assert_eq!(filled("host.server_cpu_cores (cores)"), share.values.iter().flatten().count());
        assert_eq!(filled("connections in use"), 0, "unknown is empty");
    }

    #[test]
    fn two_intervals_of_one_second_are_both_told_and_texts_are_quoted() {
        let load = LoadColumns {
            t_s: vec![0.2, 0.7, 5.0],
            stage: vec![1, 2, 2],
            clients: vec![1, 2, 2],
            tps: vec![Some(10.0), Some(20.0), Some(0.5)],
            failed_per_s: vec![Some(0.0); 3],
            p50_us: vec![Some(1.5), None, None],
            p90_us: vec![None; 3],
            p95_us: vec![None; 3],
            p99_us: vec![None; 3],
            p999_us: vec![None; 3],
            max_us: vec![None; 3],
            pool: None,
            counts: vec![CountLoad {
                of: "buy".to_owned(),
                key: "far".to_owned(),
                per_s: vec![Some(5.0), None, Some(1.0)],
            }],
            by_type: vec![TypeLoad {
                name: "buy".to_owned(),
                tps: vec![None, Some(5.0), None],
                rolled_back_per_s: vec![None, Some(1.0), None],
                p50_us: vec![None, Some(7.5), None],
                p90_us: vec![None; 3],
                p99_us: vec![None, Some(9.0), None],
            }],
        };
        let (t_s, values) = ([0.5, 3.0], [Some(0.25), Some(1e9)]);
        let metric = metric("host", "a,b", &t_s, &values);
        let view = Timeline {
            target: "the \"pg\"".into(),
            stream: 0,
            load: std::borrow::Cow::Owned(load),
            metrics: vec![metric],
        };
        let text = written(&[view], &[]);
        let lines: Vec<_> = text.split_terminator("\r\n").collect();
        assert!(
            lines[0].ends_with(",wait p99 (us),buy.far (1/s),share,rolled back (1/s),\"host.a,b (share)\""),
            "{}",
            lines[0]
        );
        assert_eq!(
            lines[1..],
            [
                "\"the \"\"pg\"\"\",0,2026-11-20T07:50:12.000Z,0.2,1,,,,,,,1,10,0,1.5,,,,,,,,,,5,,,0.25",
                "\"the \"\"pg\"\"\",0,2026-11-20T07:50:12.000Z,0.7,2,,,,,,,2,20,0,,,,,,,,,,,,,,",
                "\"the \"\"pg\"\"\",0,2026-11-20T07:50:12.000Z,0.7,2,,,,buy,,,2,5,,7.5,,,9,,,,,,,,0.25,1,",
                "\"the \"\"pg\"\"\",3,2026-11-20T07:50:15.000Z,,,,,,,,,,,,,,,,,,,,,,,,,1000000000",
                "\"the \"\"pg\"\"\",5,2026-11-20T07:50:17.000Z,5,2,,,,,,,2,0.5,0,,,,,,,,,,,1,,,",
            ]
        );
    }

    #[test]
    fn no_text_is_a_formula_and_a_number_stays_one() {
        let (t_s, values) = ([0.5], [Some(-2.5)]);
        let metric = metric("@host", "k", &t_s, &values);
        for (target, cell) in [
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@a", "\"'@a\""),
            // What a terminal would obey, or that reorders what is beside it.
            ("a\u{1b}[2J\u{9b}2J\u{202e}b", "a\\e[2J\\u{9b}2J\\u{202e}b"),
        ] {
            let load = std::borrow::Cow::Owned(LoadColumns::default());
            let text = written(
                &[Timeline { target: target.into(), stream: 0, load, metrics: vec![metric.clone()] }],
                &[],
            );
            assert!(text.contains(",\"'@host.k (share)\"\r\n"), "{text}");
            assert!(text.contains(&format!("\r\n{cell},0,")) && text.ends_with(",-2.5\r\n"), "{text}");
        }
    }

    #[test]
    fn an_absurd_time_takes_no_memory() {
        let (t_s, values) = ([0.5, 1e12], [Some(1.0), Some(2.0)]);
        let metric = metric("host", "k", &t_s, &values);
        let load = std::borrow::Cow::Owned(LoadColumns::default());
        let text = written(&[Timeline { target: "pg".into(), stream: 0, load, metrics: vec![metric] }], &[]);
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
