//! Comparisons drawn at the widths of terminals.

use dyno_results::comparison::{
    Basis, BasisUnit, Better, Cell, DataComparison, FigureRow, Ratio, RungComparison, SCHEMA, StageReference,
    Verdict,
};
use dyno_results::document::SpeedUp;
use dyno_results::event::{Code, StageKind};

use super::*;

fn side(name: &str, run: &str, product: &str) -> SideInfo {
    SideInfo {
        name: name.to_owned(),
        runs: vec![run.to_owned()],
        target: name.to_owned(),
        series: None,
        product: Some(product.to_owned()),
        embedded_profile: None,
        started_at: "2026-11-20T08:00:00Z".to_owned(),
    }
}

fn known(value: f64, percent: f64) -> Cell {
    let interval =
        (percent > 0.0).then(|| [value * (1.0 - percent / 100.0), value * (1.0 + percent / 100.0)]);
    Cell { value: Some(value), interval, repeats: 1, ratio: None }
}

/// A figure that is so many times the base's.
fn times(cell: Cell, value: f64, percent: f64, verdict: Verdict) -> Cell {
    let interval =
        (percent > 0.0).then(|| [value * (1.0 - percent / 100.0), value * (1.0 + percent / 100.0)]);
    Cell { ratio: Some(Ratio { value, interval, verdict }), ..cell }
}

fn row(key: &'static str, unit: &'static str, better: Better, cells: Vec<Cell>) -> FigureRow {
    FigureRow::new(key, unit, better, cells)
}

fn load(clients: u32) -> Option<SideLoad> {
    Some(SideLoad {
        kind: StageKind::Hold,
        clients,
        clients_end: None,
        connections: None,
        rate_per_s: None,
        queries: None,
        seconds: 30.02,
        stages: vec![StageReference { run: "2026-11-20-1".to_owned(), stage: 7 }],
    })
}

fn rung(clients: u32, peak: bool) -> RungComparison {
    let tps = 10_000.0 * f64::from(clients);
    RungComparison {
        clients,
        rate_per_s: None,
        throughput: vec![known(tps, 1.0), times(known(tps * 0.5, 1.0), 0.5, 2.0, Verdict::Worse)],
        p99_us: vec![known(240.0, 1.0), times(known(250.0, 1.0), 1.04, 9.0, Verdict::NoDifferenceShown)],
        peak: vec![peak, false],
        saturated: vec![false, peak],
    }
}

fn two() -> Comparison {
    let rows = vec![
        row(
            "throughput",
            "1/s",
            Better::Higher,
            vec![known(84_912.0, 1.0), times(known(43_995.0, 1.1), 0.5181, 1.2, Verdict::Worse)],
        ),
        row(
            "p50",
            "us",
            Better::Lower,
            vec![known(90.0, 1.0), times(known(91.0, 1.0), 1.011, 2.0, Verdict::NoDifferenceShown)],
        ),
        row(
            "max",
            "us",
            Better::Lower,
            vec![known(12_000.0, 0.0), times(known(9_000.0, 0.0), 0.75, 0.0, Verdict::NoInterval)],
        ),
        row("errors", "share", Better::Lower, vec![known(0.0, 0.0), known(0.004, 0.0)]),
        row("server_cpu", "us", Better::Lower, vec![known(21.0, 0.0), Cell::default()]),
        row("disk_write_bytes", "bytes", Better::Lower, vec![known(0.001, 0.0), known(0.0, 0.0)]),
    ];
    let peaks = vec![row(
        "peak_clients",
        "clients",
        Better::Neither,
        vec![known(8.0, 0.0), times(known(16.0, 0.0), 2.0, 0.0, Verdict::NoInterval)],
    )];
    Comparison {
        schema: SCHEMA,
        base: 0,
        sides: vec![side("pg", "2026-11-20-1", "PostgreSQL 18.1"), side("my", "2026-11-20-1", "MySQL 9.1.0")],
        series: vec![SeriesComparison {
            name: "read".to_owned(),
            workloads: vec![Some("tpcb/select-only".to_owned()); 2],
            basis: Basis {
                unit: BasisUnit::Pairs,
                repeats: vec![3, 3],
                in_turn: true,
                text: "3 rounds in turn: ratios are the means of the rounds' ratios".to_owned(),
            },
            sections: vec![
                Section { kind: SectionKind::Headline, loads: vec![load(8), load(8)], same_load: true, rows },
                Section { kind: SectionKind::Peak, loads: vec![None, None], same_load: false, rows: peaks },
            ],
            ladder: vec![rung(1, false), rung(8, true)],
            speed_ups: vec![Vec::new(), Vec::new()],
        }],
        data: vec![DataComparison {
            workload: "tpcb".to_owned(),
            rows: vec![row(
                "size",
                "bytes",
                Better::Lower,
                vec![known(797e6, 0.0), times(known(1.2e9, 0.0), 1.51, 0.0, Verdict::NoInterval)],
            )],
        }],
        absent: vec![Absent {
            series: "write".to_owned(),
            present: vec!["pg".to_owned()],
            lacking: vec!["my".to_owned()],
            compared: false,
        }],
        differences: vec![
            difference(
                "durability",
                Severity::Invalid,
                "durability: durable (pg); relaxed, sync_binlog is 0 (my)",
            ),
            difference("product", Severity::Note, "product: PostgreSQL 18.1 (pg), MySQL 9.1.0 (my)"),
        ],
        findings: Vec::new(),
    }
}

fn difference(aspect: &'static str, severity: Severity, text: &str) -> Difference {
    Difference {
        code: Code::NotComparable,
        aspect,
        severity,
        series: None,
        values: vec![None, None],
        text: text.to_owned(),
        advice: "what was acknowledged must survive a crash on every side or on none",
    }
}

/// Three runs whose names are too long for a column.
fn three() -> Comparison {
    let mut comparison = two();
    comparison.sides = (1..=3)
        .map(|number| {
            let name = format!("2026-11-20-{number}");
            side(&name, &name, "PostgreSQL 18.1")
        })
        .collect();
    let series = &mut comparison.series[0];
    series.workloads.push(series.workloads[0].clone());
    series.ladder.clear();
    series.sections.truncate(1);
    series.sections[0].rows.truncate(2);
    series.sections[0].loads.push(load(16));
    for row in &mut series.sections[0].rows {
        row.cells.push(times(known(120_000.0, 2.0), 1.413, 3.0, Verdict::Better));
    }
    comparison.data.clear();
    comparison.absent.clear();
    comparison.differences.clear();
    comparison
}

#[test]
fn two_sides_at_80_columns() {
    insta::assert_snapshot!(render(&two(), Terminal::plain(80)), @r"
    compare     pg PostgreSQL 18.1 · run 2026-11-20-1 · base
                my MySQL 9.1.0 · run 2026-11-20-1
                NOT COMPARABLE: durability (see the findings below)

    read        tpcb/select-only · hold of 30 s, 8 clients
                         pg           my   ratio  95%
    throughput  84.9k ±1.0%  44.0k ±1.1%  0.518x  0.512–0.524  slower
    p50               90 µs        91 µs  1.011x  0.991–1.031  no difference shown
    max               12 ms       9.0 ms  0.750x  –
    errors               0%         0.4%
    CPU/tx            21 µs            –
                the ladder's peak
                       pg          my
    peak at     8 clients  16 clients
                3 rounds in turn: ratios are the means of the rounds' ratios
    ladder      clients  TPS pg   TPS my   ratio     p99 pg  p99 my  ratio
                      1   10.0k    5.00k   0.500x    240 µs  250 µs  1.040x ~
                      8   80.0k^   40.0k!  0.500x    240 µs  250 µs  1.040x ~
                ^ peak ! saturated ~ no difference shown

    data        tpcb
                     pg       my  ratio  95%
    size        760 MiB  1.1 GiB  1.51x  –

    missing     my has no series write, which pg has: not compared

    findings    not-comparable
    invalid     durability: durable (pg); relaxed, sync_binlog is 0 (my)
                → what was acknowledged must survive a crash on every side or on
                none
    note        product: PostgreSQL 18.1 (pg), MySQL 9.1.0 (my)
                → what was acknowledged must survive a crash on every side or on
                none
    ");
}

#[test]
fn three_sides_stack_at_80_columns_and_stand_beside_each_other_at_120() {
    insta::assert_snapshot!(render(&three(), Terminal::plain(80)), @r"
    compare     A 2026-11-20-1 · PostgreSQL 18.1 · base
                B 2026-11-20-2 · PostgreSQL 18.1
                C 2026-11-20-3 · PostgreSQL 18.1

    read        tpcb/select-only · A: hold of 30 s, 8 clients · B: hold of 30 s, 8
                clients · C: hold of 30 s, 16 clients
                          A                    B                    C
    throughput  84.9k ±1.0%          44.0k ±1.1%           120k ±2.0%
                              0.518x 0.512–0.524      1.41x 1.37–1.46
                                          slower               faster
    p50               90 µs                91 µs               120 ms
                              1.011x 0.991–1.031      1.41x 1.37–1.46
                             no difference shown               faster
                3 rounds in turn: ratios are the means of the rounds' ratios

    findings    none: the sides differ in nothing that dyno knows of
    ");
    insta::assert_snapshot!(render(&three(), Terminal::plain(120)), @r"
    compare     A 2026-11-20-1 · PostgreSQL 18.1 · base
                B 2026-11-20-2 · PostgreSQL 18.1
                C 2026-11-20-3 · PostgreSQL 18.1

    read        tpcb/select-only · A: hold of 30 s, 8 clients · B: hold of 30 s, 8 clients · C: hold of 30 s, 16 clients
                          A            B   ratio  95%                                        C  ratio  95%
    throughput  84.9k ±1.0%  44.0k ±1.1%  0.518x  0.512–0.524  slower               120k ±2.0%  1.41x  1.37–1.46  faster
    p50               90 µs        91 µs  1.011x  0.991–1.031  no difference shown      120 ms  1.41x  1.37–1.46  faster
                3 rounds in turn: ratios are the means of the rounds' ratios

    findings    none: the sides differ in nothing that dyno knows of
    ");
}

#[test]
fn the_base_stands_first_whichever_it_is() {
    let mut comparison = three();
    comparison.base = 2;
    let text = render(&comparison, Terminal::plain(120));
    let head = text.lines().find(|line| line.contains("ratio")).unwrap();
    assert_eq!(head.split_whitespace().next(), Some("C"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_colour_adds_no_words() {
    for comparison in [two(), three()] {
        for width in 24..140 {
            let plain = render(&comparison, Terminal::plain(width));
            assert!(plain.lines().all(|line| self::width(line) <= width), "{width}:\n{plain}");
            let coloured = render(&comparison, Terminal { color: true, ..Terminal::plain(width) });
            let stripped = console::strip_ansi_codes(&coloured);
            let words = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
            assert_eq!(words(&stripped), words(&plain), "no colour means anything alone");
        }
    }
}

#[test]
fn a_long_ladder_shows_its_ends_and_what_happened_on_it() {
    let mut comparison = two();
    comparison.series[0].ladder = (1..=200).map(|clients| rung(clients, clients == 77)).collect();
    let text = render(&comparison, Terminal::plain(120));
    for clients in ["1  ", "77  ", "200  "] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(clients)), "{clients}: {text}");
    }
    assert!(text.contains("of 200 rungs; --json has all"), "{text}");
    assert!(text.lines().count() < 60, "{text}");
}

#[test]
fn what_a_server_says_of_itself_cannot_steer_the_terminal() {
    let mut comparison = two();
    comparison.sides[0].product = Some("Postgre\u{1b}[2JSQL".to_owned());
    comparison.differences[0].text.push_str("\u{1b}[31m");
    comparison.series[0].workloads[0] = Some("\u{202e}tpcb".to_owned());
    comparison.series[0].name = "\u{7}read".to_owned();
    let text = render(&comparison, Terminal::plain(100));
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text}");
}

#[test]
fn passes_are_counted_and_not_timed() {
    let words = |queries, stages: usize| {
        let mut load = load(1).unwrap();
        load.queries = Some(queries);
        load.stages = vec![load.stages[0].clone(); stages];
        load_words(&load)
    };
    assert_eq!(words(22, 3), "3 passes over 22 queries, 1 client");
    assert_eq!(words(1, 1), "1 pass over 1 query, 1 client");
}

#[test]
fn sides_are_told_how_many_times_as_fast_they_are_as_the_base() {
    let mut comparison = two();
    let against = |base: &str, mean: f64| SpeedUp {
        base: base.to_owned(),
        mean: Some(mean),
        interval: None,
        ratios: Vec::new(),
        without: Vec::new(),
    };
    comparison.series[0].speed_ups = vec![vec![against("my", 0.5)], vec![against("pg", 2.0)]];
    let text = render(&comparison, Terminal::plain(100));
    let told: Vec<&str> = text.lines().filter(|line| line.contains('×')).collect();
    assert!(
        matches!(told[..], [only] if only.starts_with("speed-up") && only.ends_with("my to pg: 2.0×, 0 queries")),
        "{text}"
    );
}

#[test]
fn what_makes_one_series_not_comparable_is_not_said_of_all() {
    let text = |grave: &[Option<&str>]| {
        let mut comparison = two();
        let mut write = comparison.series[0].clone();
        "write".clone_into(&mut write.name);
        comparison.series.push(write);
        let of = |series: &Option<&str>| Difference {
            series: series.map(str::to_owned),
            ..difference("workload", Severity::Invalid, "workload: a (pg), b (my)")
        };
        comparison.differences = grave.iter().map(of).collect();
        render(&comparison, Terminal::plain(100))
    };
    let in_part = text(&[Some("write")]);
    assert!(in_part.contains("1 of 2 series NOT COMPARABLE: write"), "{in_part}");
    // It stands with the figures of that series alone.
    let (read, write) = in_part.split_once("\nwrite").unwrap();
    assert_eq!(read.matches("NOT COMPARABLE").count(), 1, "{in_part}");
    assert_eq!(write.matches("NOT COMPARABLE: workload").count(), 1, "{in_part}");
    for all in [text(&[Some("read"), Some("write")]), text(&[Some("write"), None])] {
        assert!(all.contains("NOT COMPARABLE: workload (see the findings below)"), "{all}");
        assert!(!all.contains("of 2 series"), "{all}");
    }
    assert!(!text(&[]).contains("NOT COMPARABLE"));
}
