use dyno_results::event::{EarlierTime, Event, QueriesRunning, RunningQuery, Stamped};

use super::*;
use crate::live::{Expected, Progressed};
use crate::stream::Plan;
use crate::text::{is_treacherous, width};

const PLAIN: Paint = Paint { color: false };

/// The board after all events up to a time, and the screen at that time.
fn screen_at(plan: &Plan, now_ms: u64, columns: usize, rows: usize) -> String {
    let mut board = Board::default();
    for stamped in plan.events().iter().filter(|stamped| stamped.at_ms <= now_ms) {
        board.apply(stamped);
    }
    draw(&board, now_ms, ScreenSize { columns, rows }, PLAIN).join("\n")
}

#[test]
fn a_rung_under_way_at_120_columns() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 21_700, 121, 30), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB · 4.1 s
    read      clients      1      2      4
              TPS      13.3k  25.4k  46.0k
    ladder    ━━━━━━━━━━━━━━─────  3/5 s  4 clients  46.1k TPS  p50  82 µs  p99 225 µs  no errors  CPU server 1.3 driver 0.6
    ");
}

#[test]
fn a_rung_under_way_at_80_columns() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 21_700, 81, 30), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe…
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB · 4.1 s
    read      clients      1      2      4
              TPS      13.3k  25.4k  46.0k
    ladder    ━━━━━━━━━━━━━────  3/5 s  4 clients  46.1k TPS  p50  82 µs  p99 225 µs
    ");
}

#[test]
fn errors_stay_on_a_narrow_terminal() {
    let plan = Plan { errors: true, ..Plan::default() };
    insta::assert_snapshot!(screen_at(&plan, 21_700, 51, 30), @"
    target    embedded PostgreSQL 18.1 · production p…
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tab…
    read      clients      1      2      4
              TPS      13.3k  25.4k  46.0k
              failed       4      4      2
    ladder    ━━━━━━━━━───  3/5 s  46.1k TPS  2 failed
    ");
}

#[test]
fn the_last_stage_of_a_run() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 93_000, 101, 30), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the …
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB · 4.1 s
    read      clients      1      2      4      8     16     32
              TPS      13.3k  25.4k  45.9k  72.1k  86.9k  74.6k
    hold      8 clients, closed loop · 12 s   72.1k TPS   p50 105 µs   p99 289 µs
    write     clients      1      2      4      8     16     32
              TPS        640  1.22k  2.21k  3.46k  4.19k  3.60k
    hold      ━━━━━━──   9/12 s  8 clients  3.45k TPS  p50 2.2 ms  p99 6.0 ms  CPU server 1.3 driver 0.6
    ");
}

#[test]
fn a_low_terminal_shows_the_newest_lines() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 93_000, 101, 5), @"
    hold      8 clients, closed loop · 12 s   72.1k TPS   p50 105 µs   p99 289 µs
    write     clients      1      2      4      8     16     32
              TPS        640  1.22k  2.21k  3.46k  4.19k  3.60k
    hold      ━━━━━━──   9/12 s  8 clients  3.45k TPS  p50 2.2 ms  p99 6.0 ms  CPU server 1.3 driver 0.6
    ");
}

#[test]
fn preparation_shows_rows_share_and_time_left() {
    let mut board = Board::default();
    for stamped in Plan::default().events().iter().filter(|stamped| stamped.at_ms <= 1_600) {
        board.apply(stamped);
    }
    board.prepare_progress("pg", "data", Progressed::Rows { done: 0, total: Some(5_000_000) }, 1_600);
    board.prepare_progress("pg", "data", Progressed::Rows { done: 2_500_000, total: Some(5_000_000) }, 4_600);
    let size = ScreenSize { columns: 91, rows: 30 };
    insta::assert_snapshot!(draw(&board, 4_600, size, PLAIN).join("\n"), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same ho…
    prepare   drop 0.1 s · tables 0.1 s
              ━━━━━━━━━━━━────────────  data   50%  2,500,000 / 5,000,000  3 s left
    ");
}

#[test]
fn statements_show_their_share_the_time_and_an_estimate_once_there_is_one() {
    let mut board = Board::default();
    let line = |board: &Board, now_ms| {
        let size = ScreenSize { columns: 91, rows: 30 };
        draw(board, now_ms, size, PLAIN).pop().unwrap()
    };
    let keys = |done, share| Progressed::Statements { done, total: 16, share: Some(share) };
    board.prepare_progress("pg", "keys", keys(0, 0.0), 1_000);
    insta::assert_snapshot!(line(&board, 9_000), @"prepare   ────────────────────────  keys    0%  0 of 16 statements  8 s, time left unknown");
    board.prepare_progress("pg", "keys", keys(3, 0.25), 9_000);
    insta::assert_snapshot!(line(&board, 11_000), @"prepare   ━━━━━━──────────────────  keys   25%  3 of 16 statements  10 s, about 30 s left");
}

#[test]
fn a_query_that_goes_on_is_shown_with_what_it_took_in_the_pass_before() {
    let plan = Plan { ladder: vec![8], ..Plan::default() };
    let mut events = plan.events();
    for stamped in &mut events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            (stage.pass, stage.types) = (true, vec!["Q9".to_owned()]);
        }
    }
    let mut board = Board::default();
    let mut stages = 0;
    let mut seen = Vec::new();
    for stamped in &events {
        board.apply(stamped);
        let Event::StageStarted(stage) = &stamped.event else { continue };
        let earlier = Some(EarlierTime { seconds: 8.2, run: "2026-11-19-4".to_owned() });
        let queries = ["Q9", "Q1"].map(|query| RunningQuery {
            query: query.to_owned(),
            seconds: 12.4,
            read_share: (stages == 0).then_some(0.4512),
            earlier: earlier.clone(),
        });
        let event = Event::QueriesRunning(QueriesRunning { stage: stage.id, queries: queries.into() });
        board.apply(&Stamped { event, ..stamped.clone() });
        let words = board.query_words(board.running.first().unwrap(), stamped.at_ms + 1_000).unwrap();
        seen.push(words);
        stages += 1;
        if stages == 2 {
            break;
        }
    }
    assert_eq!(seen[0], "Q9 13 s, 45% read (last 8.2 s in 2026-11-19-4) and 1 more");
    assert!(seen[1].starts_with("Q9 13 s (last ") && seen[1].ends_with(") and 1 more"), "{}", seen[1]);
    assert!(!seen[1].contains(" in 2026"), "{}", seen[1]);
    let size = ScreenSize { columns: 100, rows: 30 };
    let drawn = draw(&board, events.last().unwrap().at_ms.min(60_000), size, PLAIN).join("\n");
    assert!(drawn.contains("(last ") && !drawn.contains("TPS  p50"), "{drawn}");
}

/// A plan over two targets.
fn two() -> Plan {
    Plan { two_targets: true, ..Plan::default() }
}

#[test]
fn two_targets_in_turn_at_120_columns() {
    insta::assert_snapshot!(screen_at(&two(), 47_300, 121, 30), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same host as the driver
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's host
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB · 3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB · 5.1 s
    ingest    clients        1      2      4      8
              TPS    pg  2.11k  4.01k  7.25k  11.3k
              TPS    my  1.15k  2.20k  3.98k
    ladder    ingest · driver CPU 0.6
              pg  ━━━━━━━━━━━━────────────  2/5 s  8 clients  11.4k TPS  p50 667 µs  p99 1.8 ms  no errors  CPU 1.9
              my  ────────────────────────  waits  4 clients  3.98k TPS  p50 952 µs  p99 2.6 ms  no errors  CPU host 0.0
    ");
}

#[test]
fn two_targets_in_turn_at_60_columns() {
    insta::assert_snapshot!(screen_at(&two(), 47_300, 61, 30), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:543…
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 co…
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB …
              my  events · 1,010,000 rows in 2 tables · 122 MiB…
    ingest    clients        1      2      4      8
              TPS    pg  2.11k  4.01k  7.25k  11.3k
              TPS    my  1.15k  2.20k  3.98k
    ladder    ingest · driver CPU 0.6
              pg  ━━━━━━━━────────  2/5 s  11.4k TPS  p99 1.8 ms
              my  ────────────────  waits  3.98k TPS  p99 2.6 ms
    ");
}

#[test]
fn two_targets_together_over_a_pool() {
    let plan = Plan { together: true, connections: Some(12), errors: true, ..two() };
    insta::assert_snapshot!(screen_at(&plan, 37_300, 133, 30), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same host as the driver
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's host
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB · 3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB · 5.1 s
    ingest    clients        1      2      4      8     16
              TPS    pg  2.10k  4.01k  7.24k  11.4k  13.3k
              TPS    my  1.16k  2.20k  3.99k  6.26k  7.28k
              failed pg      4      4      4      4      2
              failed my      4      4      4      4      2
    ladder    ingest · driver CPU 1.3
              pg  ━━━━━━━━━━━━━━━━━  4/5 s  16 clients  13.3k TPS  p50 1.1 ms  p99 3.1 ms  2 failed  12/12 conn,   4 waiting
              my  ━━━━━━━━━━━━━━━━━  4/5 s  16 clients  7.27k TPS  p50 2.1 ms  p99 5.7 ms  2 failed  12/12 conn,   4 waiting
    ");
    insta::assert_snapshot!(screen_at(&plan, 37_300, 81, 30), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24…
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · …
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB · 3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB · 5.1 s
    ingest    clients        1      2      4      8     16
              TPS    pg  2.10k  4.01k  7.24k  11.4k  13.3k
              TPS    my  1.16k  2.20k  3.99k  6.26k  7.28k
              failed pg      4      4      4      4      2
              failed my      4      4      4      4      2
    ladder    ingest · driver CPU 1.3
              pg  ━━━━━━━━━━━━━━  4/5 s  13.3k TPS  p99 3.1 ms  2 failed  12/12 conn
              my  ━━━━━━━━━━━━━━  4/5 s  7.27k TPS  p99 5.7 ms  2 failed  12/12 conn
    ");
}

#[test]
fn a_lost_target_stays_with_its_reason() {
    let plan = Plan { together: true, lost_after_s: Some(30), ..two() };
    insta::assert_snapshot!(screen_at(&plan, 37_300, 101, 30), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same ho…
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's …
    prepare   pg  events · 1,010,000 rows in 2 tables · 93 MiB · 3.1 s
              my  events · 1,010,000 rows in 2 tables · 122 MiB · 5.1 s
    ingest    clients         1       2       4       8      16
              TPS    pg   2.10k   4.01k   7.24k   11.4k   13.8k
              TPS    my   1.16k   2.20k   3.99k  6.27k*
    ladder    ingest · driver CPU 0.6
              pg  ━━━━━━━━━━━━  4/5 s  16 clients  13.9k TPS  p50 1.1 ms  p99 3.0 ms  no errors  CPU 1.9
              my  lost at 30 s: the connection was closed, and a new one is refused: Connection refused
    ");
}

#[test]
fn two_preparations_at_a_time() {
    let mut board = Board::default();
    for stamped in two().events().iter().filter(|stamped| stamped.at_ms <= 1_500) {
        board.apply(stamped);
    }
    board.prepare_progress("my", "data", Progressed::Rows { done: 0, total: Some(1_010_000) }, 1_500);
    board.prepare_progress("pg", "tables", Progressed::Begun, 1_500);
    board.prepare_progress("my", "data", Progressed::Rows { done: 300_000, total: Some(1_010_000) }, 4_500);
    let size = ScreenSize { columns: 91, rows: 30 };
    insta::assert_snapshot!(draw(&board, 4_600, size, PLAIN).join("\n"), @"
    target    pg  PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe…
              my  MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the…
    prepare   pg  tables 0.1 s
              my  ━━━━━━━─────────────────  data   30%  300,000 / 1,010,000  7.3 s left
              pg  ⠸ tables   3 s
    ");
}

#[test]
fn a_ramp_says_how_long_it_can_take() {
    let plan = Plan {
        ladder: (1..=40).collect(),
        rung_s: 10,
        hold_s: 0,
        stop_after_s: Some(180),
        ..Plan::default()
    };
    let mut board = Board::default();
    board.pace.expect(Expected {
        target: "pg".to_owned(),
        series: "read".to_owned(),
        steps: 40,
        step_s: 10.0,
        may_end_early: true,
    });
    for stamped in plan.events().iter().filter(|stamped| stamped.at_ms <= 180_000) {
        board.apply(stamped);
    }
    let lines = draw(&board, 180_000, ScreenSize { columns: 81, rows: 30 }, PLAIN);
    assert_eq!(lines.last().unwrap().trim(), "step 17 of 40 · at most 3 min 54 s left");
}

#[test]
fn every_moment_fits_every_size() {
    let plan = Plan {
        errors: true,
        rung_s: 1,
        hold_s: 2,
        ladder: vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
        intruder: "\u{1b}[31m\u{9b}2J\r\n東京".to_owned(),
        ..Plan::default()
    };
    let two = Plan { two_targets: true, connections: Some(40), lost_after_s: Some(40), ..plan.clone() };
    let together = Plan { together: true, ..two.clone() };
    for events in [plan, two, together].map(|plan| plan.events()) {
        for (columns, rows) in [(24, 4), (40, 10), (80, 24), (133, 50)] {
            let mut board = Board::default();
            for stamped in &events {
                board.apply(stamped);
                let lines = draw(&board, stamped.at_ms + 300, ScreenSize { columns, rows }, PLAIN);
                assert!(lines.len() < rows, "{lines:?}");
                for line in lines {
                    assert!(width(&line) < columns, "{columns}: {line}");
                    assert!(!line.chars().any(is_treacherous), "{line:?}");
                }
            }
        }
    }
}

#[test]
fn nothing_jumps_while_targets_take_turns() {
    let plan = Plan { connections: Some(12), ..two() };
    let mut board = Board::default();
    let mut heights = Vec::new();
    for stamped in plan.events() {
        board.apply(&stamped);
        // The ladder of the first series, after its first step.
        if (22_000..70_000).contains(&stamped.at_ms) {
            let lines = draw(&board, stamped.at_ms, ScreenSize { columns: 121, rows: 40 }, PLAIN);
            let place = |line: &String| Some(line[..line.find(" TPS  p50")?].chars().count());
            let bars: Vec<usize> = lines.iter().filter_map(place).collect();
            assert!(matches!(bars[..], [one, other] if one == other), "{lines:#?}");
            heights.push(lines.len());
        }
    }
    heights.dedup();
    assert_eq!(heights.len(), 1, "{heights:?}");
}
