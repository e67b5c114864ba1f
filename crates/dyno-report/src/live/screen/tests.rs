use super::*;
use crate::stream::Plan;
use crate::text::is_treacherous;

const PLAIN: Paint = Paint { color: false };

/// The board after all events up to a time, and the screen at that time.
fn screen_at(plan: &Plan, now_ms: u64, columns: usize, rows: usize) -> String {
    let mut board = Board::default();
    for stamped in plan.events().iter().filter(|stamped| stamped.at_ms <= now_ms) {
        board.apply(stamped);
    }
    draw(&board, now_ms, Size { columns, rows }, PLAIN).join("\n")
}

#[test]
fn a_rung_under_way_at_120_columns() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 21_700, 121, 30), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the driver
    prepare   tpcb scale 50 · 5,000,000 rows in pgbench_accounts · 760 MiB · 4.1 s
    read      clients      1      2      4
              TPS      13.3k  25.4k  46.0k
    ladder    ━━━━━━━━━━━━━━─────  3/5 s  4 clients  46.1k TPS  p50  82 µs  p99 225 µs  no errors  CPU server 1.3 driver 0.6
    ");
}

#[test]
fn a_rung_under_way_at_80_columns() {
    insta::assert_snapshot!(screen_at(&Plan::default(), 21_700, 81, 30), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe…
    prepare   tpcb scale 50 · 5,000,000 rows in pgbench_accounts · 760 MiB · 4.1 s
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
    prepare   tpcb scale 50 · 5,000,000 rows in pgben…
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
    prepare   tpcb scale 50 · 5,000,000 rows in pgbench_accounts · 760 MiB · 4.1 s
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
    board.prepare_progress("data", 0, Some(5_000_000), 1_600);
    board.prepare_progress("data", 2_500_000, Some(5_000_000), 4_600);
    let size = Size { columns: 91, rows: 30 };
    insta::assert_snapshot!(draw(&board, 4_600, size, PLAIN).join("\n"), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same ho…
    prepare   drop 0.1 s · tables 0.1 s
              ━━━━━━━━━━━━────────────  data   50%  2,500,000 / 5,000,000  3 s left
    ");
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
    for (columns, rows) in [(24, 4), (40, 10), (80, 24), (133, 50)] {
        let mut board = Board::default();
        for stamped in plan.events() {
            board.apply(&stamped);
            let lines = draw(&board, stamped.at_ms + 300, Size { columns, rows }, PLAIN);
            assert!(lines.len() < rows, "{lines:?}");
            for line in lines {
                assert!(width(&line) < columns, "{columns}: {line}");
                assert!(!line.chars().any(is_treacherous), "{line:?}");
            }
        }
    }
}

#[test]
fn a_bar_takes_any_share() {
    for share in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 1.0, 7.0] {
        assert_eq!(width(&bar(share, 10, PLAIN)), 10);
    }
}
