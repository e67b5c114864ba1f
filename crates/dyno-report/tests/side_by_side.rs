//! The final table of made-up runs over two targets.

mod stream;

use std::path::Path;

use dyno_report::summary::{render, render_findings};
use dyno_report::terminal::Terminal;
use dyno_results::document::{Cell, Report, Row, Unit, Variants};
use dyno_results::event::{Event, Finding, NotDone, Outcome, Subject};
use dyno_results::fold::fold;

use self::stream::Plan;

fn shown(plan: &Plan, width: usize) -> String {
    let path = Path::new("/var/lib/dyno/runs/2026-11-20-1/report.html");
    render(&fold(&plan.events()), Some(path), Terminal::plain(width))
}

/// A plan over two targets.
fn two() -> Plan {
    Plan { two_targets: true, ..Plan::default() }
}

#[test]
fn queries_stand_side_by_side_by_their_names() {
    let mut events = Plan { ladder: vec![], ..two() }.events();
    for stamped in &mut events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    let mut report = fold(&events);
    // The lines of the first series, without what is around the values.
    let lines = |report: &Report| -> Vec<String> {
        let text = render(report, None, Terminal::plain(120));
        let lines = text
            .lines()
            .skip_while(|line| !line.ends_with("my"))
            .take_while(|line| !line.contains("answers"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let name = &report.series[0].name.clone();
    let other = report.series.iter_mut().rfind(|series| series.name == *name).unwrap();
    let passes = other.passes.as_mut().unwrap();
    passes.queries[0].query = "other-query".to_owned();
    // Totals over other queries are not shown beside each other.
    let expected = ["pg my", "events/ingest 728 µs –", "other-query – 1.3 ms", "total – –", "geo. mean – –"];
    assert_eq!(lines(&report), expected);
    // A target that is lost before its first pass has none.
    report.series.iter_mut().rfind(|series| series.name == *name).unwrap().passes = None;
    let text = render(&report, None, Terminal::plain(120));
    assert!(text.contains("geo. mean") && !text.contains("other-query"), "{text}");
}

#[test]
fn a_device_is_told_from_a_server_in_one_row() {
    let mut report = fold(&two().events());
    for (place, source) in ["server", "disk"].into_iter().enumerate() {
        let held = report.series.iter().filter(|series| series.name == "ingest").nth(place).unwrap().holds[0];
        let result = report.stages.iter_mut().find(|result| result.stage.id == held).unwrap();
        result.stage.query_set = true;
        result.costs.as_mut().unwrap().disk_source = Some(source.to_owned());
    }
    let text = render(&report, None, Terminal::plain(120));
    let row = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("disk written"), "disk written 8.1 KiB 14.8 KiB (device)");
    // Operations are of one kind of thing.
    assert_eq!(row("disk writes"), "disk writes 1.19 2.16");
    assert_eq!(row("disk traffic"), "disk traffic server's own / whole disk's whole disk's");
    assert!(row("per query").starts_with("per query hold"), "{text}");
}

#[test]
fn two_targets_stand_side_by_side() {
    insta::assert_snapshot!(shown(&two(), 120), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same host as the driver
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's host
    driver    2 cores, 24 GiB, NVMe
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB                               3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB                              5.1 s
    hooks     my  before join: ssh db systemctl restart mysql · 3.2 s
    ingest    events/ingest
              clients        1      2      4      8     16     32
              TPS    pg  2.11k  4.01k  7.25k  11.4k  13.8k  11.7k
              TPS    my  1.15k  2.20k  3.98k  6.26k  7.58k  6.46k
              p99 ms pg   1.23   1.30   1.44   1.83   3.02   7.07
              p99 ms my   2.26   2.37   2.61   3.32   5.51   12.9
              pg  peak 13.8k at 16
              my  peak 7.58k at 16
    hold      pg  8 clients, closed loop · 12 s   11,384 TPS ±0.4%   p50 667 µs   p90 1.2 ms   p99 1.8 ms   p99.9 8.4 ms
              my  8 clients, closed loop · 12 s   6,266 TPS ±0.4%    p50 1.2 ms   p90 2.2 ms   p99 3.3 ms   p99.9 15 ms
    costs                                   pg               my
              per transaction   hold 8 clients   hold 8 clients
              server CPU                165 µs      303 µs host
              disk written             8.1 KiB         14.8 KiB
              disk writes                 1.19             2.16
              disk traffic        whole disk's     whole disk's
              WAL or redo              1.1 KiB          unknown
    server    CPU               1.9 of 2 cores          unknown
              host CPU busy                95%              95%
              memory                   2.9 GiB          unknown
              disk busy                    58%              58%
              disk writes/s              13.5k            13.5k
    join      events/join
              clients        1      2      4      8     16     32
              TPS    pg  9.39k  17.9k  32.3k  50.9k  61.4k  52.7k
              TPS    my  5.18k  9.88k  17.8k  28.1k  33.9k  29.0k
              p99 ms pg   0.28   0.29   0.32   0.41   0.68   1.57
              p99 ms my   0.50   0.53   0.58   0.74   1.23   2.87
              pg  peak 61.4k at 16
              my  peak 33.9k at 16
    hold      pg  8 clients, closed loop · 12 s   50,974 TPS ±0.4%   p50 149 µs   p90 190 µs   p99 408 µs   p99.9 1.9 ms
              my  8 clients, closed loop · 12 s   28,003 TPS ±0.4%   p50 271 µs   p90 346 µs   p99 744 µs   p99.9 3.4 ms
    costs                                   pg               my
              per transaction   hold 8 clients   hold 8 clients
              server CPU                 37 µs       68 µs host
              disk written             8.1 KiB         14.8 KiB
              disk writes                 1.19             2.16
              disk traffic        whole disk's     whole disk's
              WAL or redo              1.1 KiB          unknown
    server    CPU               1.9 of 2 cores          unknown
              host CPU busy                95%              95%
              memory                   2.9 GiB          unknown
              disk busy                    58%              58%
              disk writes/s              60.5k            60.4k
    size      pg  events: 1,010,000 rows · 93 MiB · 97 B on disk for each row
              my  events: 1,010,000 rows · 122 MiB · 127 B on disk for each row
    verify    pg  as many rows as were acknowledged · every foreign key resolves
              my  as many rows as were acknowledged · every foreign key resolves
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 3 min 14 s
    quote: 11,384 TPS ±0.4% (pg: ingest, 8 clients, hold)
    quote: 6,266 TPS ±0.4% (my: ingest, 8 clients, hold)
    quote: 50,974 TPS ±0.4% (pg: join, 8 clients, hold)
    quote: 28,003 TPS ±0.4% (my: join, 8 clients, hold)
    ");
}

#[test]
fn two_targets_together_over_a_pool_at_60_columns() {
    let plan = Plan { together: true, connections: Some(12), ladder: vec![4, 16], errors: true, ..two() };
    insta::assert_snapshot!(shown(&plan, 60), @"
    target    pg  PostgreSQL 18.1 ·
                  postgres://me@127.0.0.1:5432/shop · 2 cores,
                  24 GiB, NVMe · same host as the driver
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2
                  cores, 24 GiB, NVMe · not on the driver's host
    driver    2 cores, 24 GiB, NVMe
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB ·
                  3.1 s
              my  events · 1,010,000 rows in 2 tables · 122
                  MiB · 5.1 s
    hooks     my  before join: ssh db systemctl restart mysql ·
                  3.2 s
    ingest    events/ingest
              clients        4     16
              TPS    pg  7.22k  13.2k
              TPS    my  3.99k  7.26k
              p99 ms pg   1.44   3.14
              p99 ms my   2.60   5.75
              failed pg      4      4
              failed my      4      4
              pg  highest 13.2k at 16, the peak may lie beyond
              my  highest 7.26k at 16, the peak may lie beyond
    hold      pg  8 clients over 12 connections, closed loop ·
                  12 s
                  11,390 TPS ±0.4%
                  response p50 667 µs p90 1.2 ms p99 1.8 ms
                  p99.9 8.4 ms
                  service p50 667 µs p90 1.2 ms p99 1.8 ms p99.9
                  8.4 ms
                  lag p50 0 µs p90 0 µs p99 0 µs p99.9 0 µs
                  errors: 8 failed · 36 retried · 40001 ×36,
                  23505 ×8
              my  8 clients over 12 connections, closed loop ·
                  12 s
                  6,260 TPS ±0.4%
                  response p50 1.2 ms p90 2.2 ms p99 3.3 ms
                  p99.9 15 ms
                  service p50 1.2 ms p90 2.2 ms p99 3.3 ms p99.9
                  15 ms
                  lag p50 0 µs p90 0 µs p99 0 µs p99.9 0 µs
                  errors: 8 failed · 36 retried · 40001 ×36,
                  23505 ×8
    costs                                   pg               my
              per transaction   hold 8 clients   hold 8 clients
              server CPU                165 µs      304 µs host
              disk written             8.1 KiB         14.8 KiB
              disk writes                 1.19             2.16
              disk traffic        whole disk's     whole disk's
              WAL or redo              1.1 KiB          unknown
    server    CPU               1.9 of 2 cores          unknown
              host CPU busy                95%              95%
              memory                   2.9 GiB          unknown
              disk busy                    58%              58%
              disk writes/s              13.5k            13.5k
              connections           8.00 of 12       8.00 of 12
              clients waiting                0                0
              wait p99                    0 µs             0 µs
    join      events/join
              clients        4     16
              TPS    pg  32.4k  59.2k
              TPS    my  17.8k  32.6k
              p99 ms pg   0.32   0.70
              p99 ms my   0.58   1.28
              failed pg      4      4
              failed my      4      4
              pg  highest 59.2k at 16, the peak may lie beyond
              my  highest 32.6k at 16, the peak may lie beyond
    hold      pg  8 clients over 12 connections, closed loop ·
                  12 s
                  50,991 TPS ±0.4%
                  response p50 149 µs p90 190 µs p99 408 µs
                  p99.9 1.9 ms
                  service p50 149 µs p90 190 µs p99 408 µs p99.9
                  1.9 ms
                  lag p50 0 µs p90 0 µs p99 0 µs p99.9 0 µs
                  errors: 8 failed · 36 retried · 40001 ×36,
                  23505 ×8
              my  8 clients over 12 connections, closed loop ·
                  12 s
                  28,027 TPS ±0.4%
                  response p50 271 µs p90 346 µs p99 742 µs
                  p99.9 3.4 ms
                  service p50 271 µs p90 346 µs p99 742 µs p99.9
                  3.4 ms
                  lag p50 0 µs p90 0 µs p99 0 µs p99.9 0 µs
                  errors: 8 failed · 36 retried · 40001 ×36,
                  23505 ×8
    costs                                   pg               my
              per transaction   hold 8 clients   hold 8 clients
              server CPU                 37 µs       68 µs host
              disk written             8.1 KiB         14.8 KiB
              disk writes                 1.19             2.16
              disk traffic        whole disk's     whole disk's
              WAL or redo              1.1 KiB          unknown
    server    CPU               1.9 of 2 cores          unknown
              host CPU busy                95%              95%
              memory                   2.9 GiB          unknown
              disk busy                    58%              58%
              disk writes/s              60.5k            60.5k
              connections           8.00 of 12       8.00 of 12
              clients waiting                0                0
              wait p99                    0 µs             0 µs
    size      pg  events: 1,010,000 rows · 93 MiB · 97 B on disk
                  for each row
              my  events: 1,010,000 rows · 122 MiB · 127 B on
                  disk for each row
    verify    pg  as many rows as were acknowledged · every
                  foreign key resolves
              my  as many rows as were acknowledged · every
                  foreign key resolves
    notice    pg  ERROR: duplicate key value violates unique
                  constraint (SQLSTATE 23505)
    findings  doubt  shared-host  driver and server share 2 cor…
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 3 s
    quote: 11,390 TPS ±0.4% (pg: ingest, 8 clients, hold)
    quote: 6,260 TPS ±0.4% (my: ingest, 8 clients, hold)
    quote: 50,991 TPS ±0.4% (pg: join, 8 clients, hold)
    quote: 28,027 TPS ±0.4% (my: join, 8 clients, hold)
    ");
}

#[test]
fn a_lost_target_is_told_first_and_the_other_goes_on() {
    let plan = Plan { together: true, lost_after_s: Some(27), ladder: vec![4, 8], hold_s: 4, ..two() };
    insta::assert_snapshot!(shown(&plan, 100), @"
    lost      my  given up at 30 s in join (warm-up, 4 clients, closed loop): the connection was closed,
                  and a new one is refused: Connection refused
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same
                  host as the driver
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's
                  host
    driver    2 cores, 24 GiB, NVMe
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB                               3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB                              5.1 s
    hooks     my  before join: ssh db systemctl restart mysql · 3.2 s
    ingest    events/ingest
              clients        4      8
              TPS    pg  7.22k  11.4k
              TPS    my  3.99k  6.24k
              p99 ms pg   1.44   1.83
              p99 ms my   2.60   3.34
              pg  highest 11.4k at 8, the peak may lie beyond
              my  highest 6.24k at 8, the peak may lie beyond
    hold      pg  8 clients, closed loop · 4 s   11,394 TPS ±1.1%
                  p50 664 µs   p90 1.2 ms   p99 1.8 ms   p99.9 8.5 ms
              my  8 clients, closed loop · 4 s   6,285 TPS ±0.9%
                  p50 1.2 ms   p90 2.2 ms   p99 3.3 ms   p99.9 15 ms
    costs                                   pg               my
              per transaction   hold 8 clients   hold 8 clients
              server CPU                161 µs      302 µs host
              disk written             7.9 KiB         14.4 KiB
              disk writes                 1.16             2.11
              disk traffic        whole disk's     whole disk's
              WAL or redo              1.1 KiB          unknown
    server    CPU               1.8 of 2 cores          unknown
              host CPU busy                95%              95%
              memory                   2.9 GiB          unknown
              disk busy                    57%              57%
              disk writes/s              13.2k            13.3k
    join      events/join
              clients        4      8
              TPS    pg  32.4k  51.0k
              p99 µs pg    322    408
              pg  highest 51.0k at 8, the peak may lie beyond
              my  no step was measured
    hold      pg  8 clients, closed loop · 4 s   50,796 TPS ±1.1%
                  p50 149 µs   p90 190 µs   p99 412 µs   p99.9 1.9 ms
    costs                                   pg
              per transaction   hold 8 clients
              server CPU                 36 µs
              disk written             7.9 KiB
              disk writes                 1.16
              disk traffic        whole disk's
              WAL or redo              1.1 KiB
    server    CPU               1.8 of 2 cores
              host CPU busy                95%
              memory                   2.9 GiB
              disk busy                    57%
              disk writes/s              59.0k
    size      pg  events: 1,010,000 rows · 93 MiB · 97 B on disk for each row
              my  events: 1,010,000 rows · 122 MiB · 127 B on disk for each row
    verify    pg  as many rows as were acknowledged · every foreign key resolves
              my  nothing was checked
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 47 s
    quote: 11,394 TPS ±1.1% (pg: ingest, 8 clients, hold)
    quote: 6,285 TPS ±0.9% (my: ingest, 8 clients, hold)
    quote: 50,796 TPS ±1.1% (pg: join, 8 clients, hold)
    quote: nothing (my: join): nothing was measured
    ");
    let mut report = fold(&plan.events());
    report.run.outcome = Outcome::Incomplete;
    report.run.reason = Some(format!("my was given up: {}", report.lost[0].lost.reason));
    report.run.targets_lost = true;
    let text = render(&report, None, Terminal::plain(120));
    assert_eq!(text.matches("Connection refused").count(), 1, "the reason is said once: {text}");
    assert!(text.contains("my  given up at 30 s in join (warm-up, 4 clients, closed loop)\n"), "{text}");
}

#[test]
fn a_ramp_of_two_targets_is_condensed_and_says_where_each_gave_way() {
    let ladder = (1..=60).collect();
    let plan = Plan { ladder, rung_s: 2, hold_s: 0, connections: Some(24), stop_after_s: Some(273), ..two() };
    let report = fold(&plan.events());
    let [pg, my] = &report.series[..2] else { panic!("two series") };
    let text = render(&report, None, Terminal::plain(100));
    assert!(text.contains(" of 60 steps shown"), "{text}");
    let columns: Vec<u32> = text
        .lines()
        .filter_map(|line| line.split_once("clients  ").map(|(_, row)| row))
        .take(3)
        .flat_map(|row| row.split_whitespace().filter_map(|cell| cell.parse().ok()))
        .collect();
    for series in [pg, my] {
        let (peak, saturation) = (series.peak.as_ref().unwrap(), series.saturation.as_ref().unwrap());
        let words = format!("saturated at {} clients (", saturation.clients);
        assert!(text.contains(&words), "{words}: {text}");
        for kept in [1, 60, peak.clients, saturation.clients] {
            assert!(columns.contains(&kept), "{kept} of {columns:?}");
        }
    }
}

#[test]
fn hooks_say_what_was_done_and_what_could_not_be() {
    let mut report = fold(&two().events());
    report.hooks[0].hook.succeeded = false;
    report.hooks[0].hook.said = Some("Failed to restart mysql.service\nAccess denied\u{1b}[2J".to_owned());
    let text = render(&report, None, Terminal::plain(100));
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("hooks")).take(3).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    hooks     my  FAILED before join: ssh db systemctl restart mysql · 3.2 s
                  Failed to restart mysql.service
                  Access denied\e[2J
    ");
}

#[test]
fn what_is_found_of_both_targets_has_its_advice_once() {
    let mut report = fold(&Plan { rung_s: 1, ladder: vec![4], hold_s: 1, ..two() }.events());
    let finding = report.findings.remove(0);
    for about in ["pg", "my"] {
        report.findings.push(Finding { subject: Subject::of_system(about), ..finding.clone() });
    }
    insta::assert_snapshot!(render_findings(&report.findings, Terminal::plain(90)), @"
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
                                  → run the driver on another host to see what the server can
                                    do alone
              note   durable      pg: fsync, synchronous_commit and full_page_writes are on
                                  my: fsync, synchronous_commit and full_page_writes are on
                                  → nothing to do
    ");
    let narrow = render_findings(&report.findings, Terminal::plain(50));
    assert_eq!(narrow.matches("→ nothing to do").count(), 1, "{narrow}");
}

#[test]
fn rows_stand_in_the_order_of_the_targets_whoever_began() {
    let report = fold(&Plan { rung_s: 1, hold_s: 0, ..two() }.events());
    assert_eq!(report.series[2].target, "my", "who begins changes from round to round");
    let text = render(&report, None, Terminal::plain(100));
    let rows = text.lines().filter_map(|line| line.trim_start().strip_prefix("TPS"));
    let names: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    assert_eq!(names, ["pg", "my", "pg", "my"], "{text}");
}

/// A table of so many systems.
fn of_variants(count: usize) -> Report {
    let systems: Vec<String> = (1..=count).map(|at| format!("variant_{at}")).collect();
    let row = |group: &str, name: &str, unit, value: f64| {
        let cell = |at: usize| match at {
            1 => Cell { not_done: Some("no".to_owned()), ..Cell::default() },
            at => Cell {
                value: Some(value * (at + 1) as f64),
                ratio: (at > 0).then_some(at as f64 + 1.0),
                not_done: None,
            },
        };
        Row { group: group.to_owned(), name: name.to_owned(), unit, cells: (0..count).map(cell).collect() }
    };
    let rows = vec![
        row("build", "data", Unit::S, 1.5),
        row("size", "table bytes", Unit::Bytes, 1_048_576.0),
        row("tpcb", "throughput", Unit::PerS, 1_000.0),
    ];
    let (target, what) = ("variant_2".to_owned(), "tables".to_owned());
    let not_done = vec![NotDone { target, what, series: false, said: "it is not there".to_owned() }];
    Report { variants: Some(Variants { systems, rows }), not_done, ..fold(&two().events()) }
}

#[test]
fn variants_are_a_table_with_a_row_for_each_figure() {
    let shown = |count, width| {
        let shown = render(&of_variants(count), None, Terminal::plain(width));
        let lines = shown.lines().skip_while(|line| !line.starts_with("variants"));
        lines.take_while(|line| !line.starts_with("quote")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown(3, 100), @"
    variants                 variant_1  variant_2        variant_3
              build
                data             1.5 s   not done    4.5 s   ×3.00
              size
                table bytes      1 MiB   not done    3 MiB   ×3.00
              tpcb
                throughput     1.00k/s   not done  3.00k/s   ×3.00
    not done  variant_2: tables: it is not there
    ");
    let parts = shown(5, 70);
    assert!(parts.lines().all(|line| line.chars().count() <= 70), "{parts}");
    for at in 1..=5 {
        assert_eq!(parts.matches(&format!(" variant_{at}")).count(), if at == 2 { 2 } else { 1 }, "{parts}");
    }
    assert!(parts.contains("7.5 s   ×5.00") && !parts.contains('…'), "{parts}");
}
