//! The live view as lines, fed with a made-up run.

mod stream;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_report::live::{Expected, Live, Mode, Progressed};
use dyno_results::event::{Event, Stamped};
use indicatif::TermLike;

use self::stream::Plan;

/// Keeps what is written.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Kept {
    fn write(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())
    }

    /// Moves the cursor: `A` up, `B` down, `C` right, `D` left.
    fn go(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.write(&format!("\u{1b}[{n}{direction}")) }
    }
}

/// Taken for a terminal.
impl TermLike for Kept {
    fn width(&self) -> u16 {
        80
    }

    fn height(&self) -> u16 {
        24
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// What a run leaves on standard error. `Prepare` events are preceded by a progress report, as in a real run.
fn shown(mode: Mode, plan: &Plan) -> String {
    shown_events(mode, plan.events())
}

fn shown_events(mode: Mode, events: Vec<Stamped>) -> String {
    let kept = Kept::default();
    let live = Live::new(mode, Some(Box::new(kept.clone())));
    live.activity("starting PostgreSQL 18.1");
    for stamped in events {
        if let Event::Prepare(step) = &stamped.event {
            live.prepare_progress(&step.target, &step.step, Progressed::Rows { done: 0, total: step.rows });
        }
        live.event(&stamped);
    }
    live.close(false);
    kept.text()
}

#[test]
fn plain_lines_of_a_whole_run() {
    let plan = Plan { ladder: vec![1, 8], hold_s: 12, errors: true, ..Plan::default() };
    insta::assert_snapshot!(shown(Mode::Plain, &plan), @"
    dyno      starting PostgreSQL 18.1
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the driver
    prepare   drop · 0.1 s
    prepare   tables · 0.1 s
    prepare   data · 5,000,550 rows · 2.9 s
    prepare   vacuum · 0.3 s
    prepare   keys · 0.7 s
    data      tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB
    read      warm-up 4 clients, closed loop · 45.6k TPS · p50 83 µs · p99 230 µs · 2 failed, 6 retried · 2 s
    read      ladder 1 client, closed loop · 13.3k TPS · p50 71 µs · p99 196 µs · 4 failed, 15 retried · 5 s
    read      ladder 8 clients, closed loop · 72.0k TPS · p50 106 µs · p99 290 µs · 4 failed, 15 retried · 5 s
    read      hold 8 clients, closed loop · 5 s of 12 s · 72.5k TPS · p50 105 µs · p99 287 µs · 4 failed, 15 retried · CPU server 1.3 driver 0.6
    read      hold 8 clients, closed loop · 72.1k TPS · p50 105 µs · p99 289 µs · 8 failed, 36 retried · 12 s
    write     warm-up 4 clients, closed loop · 2.19k TPS · p50 1.7 ms · p99 4.8 ms · 2 failed, 6 retried · 2 s
    write     ladder 1 client, closed loop · 638 TPS · p50 1.5 ms · p99 4.1 ms · 4 failed, 15 retried · 5 s
    write     ladder 8 clients, closed loop · 3.47k TPS · p50 2.2 ms · p99 6.0 ms · 4 failed, 15 retried · 5 s
    write     hold 8 clients, closed loop · 5 s of 12 s · 3.46k TPS · p50 2.2 ms · p99 6.0 ms · 4 failed, 15 retried · CPU server 1.3 driver 0.6
    write     hold 8 clients, closed loop · 3.47k TPS · p50 2.2 ms · p99 6.0 ms · 8 failed, 36 retried · 12 s
    verify    passed: 126,304 commits acknowledged, 126,304 found
    verify    passed: four sums agree
    notice    ERROR: duplicate key value violates unique constraint (SQLSTATE 23505)
    finished  complete in 55 s
    ");
}

#[test]
fn plain_lines_of_a_stopped_open_loop() {
    let plan = Plan { ladder: vec![], rate_per_s: Some(500.0), stop_after_s: Some(13), ..Plan::default() };
    insta::assert_snapshot!(shown(Mode::Plain, &plan), @"
    dyno      starting PostgreSQL 18.1
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the driver
    prepare   drop · 0.1 s
    prepare   tables · 0.1 s
    prepare   data · 5,000,550 rows · 2.9 s
    prepare   vacuum · 0.3 s
    prepare   keys · 0.7 s
    data      tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB
    read      warm-up 4 clients, closed loop · 45.6k TPS · p50 83 µs · p99 230 µs · no errors · 2 s
    read      hold 500/s Poisson, 8 clients · 5 s of 12 s · 500 TPS · p50 116 µs · p99 317 µs · no errors · CPU server 1.3 driver 0.6
    finished  incomplete after 13 s: stopped by Ctrl-C
    ");
}

#[test]
fn plain_lines_of_two_targets_of_which_one_is_lost() {
    let plan = Plan {
        two_targets: true,
        together: true,
        connections: Some(12),
        ladder: vec![8, 16],
        hold_s: 12,
        lost_after_s: Some(28),
        ..Plan::default()
    };
    insta::assert_snapshot!(shown(Mode::Plain, &plan), @"
    dyno      starting PostgreSQL 18.1
    target    pg: PostgreSQL 18.1 · postgres://me@127.0.0.1:5432/shop · 2 cores, 24 GiB, NVMe · same host as the driver
    target    my: MySQL 9.4.0 · mysql://me@db2:3306/shop · 2 cores, 24 GiB, NVMe · not on the driver's host
    prepare   pg: tables · 0.1 s
    prepare   pg: data · 1,010,000 rows · 2.4 s
    prepare   pg: keys · 0.6 s
    data      pg: events · 1,010,000 rows in 2 tables · 93 MiB
    prepare   my: tables · 0.1 s
    prepare   my: data · 1,010,000 rows · 4.4 s
    prepare   my: keys · 0.6 s
    data      my: events · 1,010,000 rows in 2 tables · 122 MiB
    ingest    pg: warm-up 4 clients over 12 connections, closed loop · 7.19k TPS · p50 526 µs · p99 1.5 ms · no errors · 2 s
    ingest    my: warm-up 4 clients over 12 connections, closed loop · 3.97k TPS · p50 952 µs · p99 2.6 ms · no errors · 2 s
    ingest    pg: ladder 8 clients over 12 connections, closed loop · 11.4k TPS · p50 671 µs · p99 1.8 ms · no errors · 5 s
    ingest    my: ladder 8 clients over 12 connections, closed loop · 6.28k TPS · p50 1.2 ms · p99 3.3 ms · no errors · 5 s
    ingest    pg: ladder 16 clients over 12 connections, closed loop · 13.2k TPS · p50 1.1 ms · p99 3.1 ms · no errors · 5 s
    ingest    my: ladder 16 clients over 12 connections, closed loop · 7.26k TPS · p50 2.1 ms · p99 5.7 ms · no errors · 5 s
    ingest    pg: hold 8 clients over 12 connections, closed loop · 5 s of 12 s · 11.4k TPS · p50 665 µs · p99 1.8 ms · no errors · 8/12 connections, 0 waiting · CPU server 1.9 driver 1.3
    ingest    my: hold 8 clients over 12 connections, closed loop · 5 s of 12 s · 6.24k TPS · p50 1.2 ms · p99 3.3 ms · no errors · 8/12 connections, 0 waiting · CPU host 1.9 driver 1.3
    ingest    my: hold 8 clients over 12 connections, closed loop · 6.28k TPS · p50 1.2 ms · p99 3.3 ms · no errors · 6 s · cut short
    lost      my: the connection was closed, and a new one is refused: Connection refused
    ingest    pg: hold 8 clients over 12 connections, closed loop · 11.4k TPS · p50 667 µs · p99 1.8 ms · no errors · 12 s
    join      pg: warm-up 4 clients over 12 connections, closed loop · 32.3k TPS · p50 117 µs · p99 324 µs · no errors · 2 s
    join      pg: ladder 8 clients over 12 connections, closed loop · 50.9k TPS · p50 149 µs · p99 408 µs · no errors · 5 s
    join      pg: ladder 16 clients over 12 connections, closed loop · 59.3k TPS · p50 257 µs · p99 703 µs · no errors · 5 s
    join      pg: hold 8 clients over 12 connections, closed loop · 5 s of 12 s · 51.4k TPS · p50 148 µs · p99 405 µs · no errors · 8/12 connections, 0 waiting · CPU server 1.9 driver 0.6
    join      pg: hold 8 clients over 12 connections, closed loop · 50.9k TPS · p50 149 µs · p99 409 µs · no errors · 12 s
    verify    pg: passed: as many rows as were acknowledged
    verify    pg: passed: every foreign key resolves
    finished  complete in 59 s
    ");
}

#[test]
fn plain_lines_tell_how_far_a_ladder_is() {
    let kept = Kept::default();
    let live = Live::new(Mode::Plain, Some(Box::new(kept.clone())));
    live.expect(Expected {
        target: "pg".to_owned(),
        series: "read".to_owned(),
        steps: 6,
        step_s: 5.0,
        may_end_early: false,
    });
    for stamped in Plan::default().events() {
        live.event(&stamped);
    }
    live.close(false);
    let text = kept.text();
    let steps: Vec<&str> = text.lines().filter_map(|line| line.split_once(" · step ")).map(|l| l.1).collect();
    assert_eq!(steps[..2], ["1 of 6 · 25 s left", "2 of 6 · 21 s left"], "{text}");
    assert_eq!(steps.len(), 6, "{text}");
}

#[test]
fn a_stage_that_ended_is_told_with_its_drain() {
    let mut events = Plan { ladder: vec![], hold_s: 4, ..Plan::default() }.events();
    for stamped in &mut events {
        if let Event::Interval(interval) = &mut stamped.event
            && interval.index == 3
        {
            // The last quarter of the hold stalled until its time was up.
            interval.drain = true;
            interval.types[0].failed = 5;
            interval.types[0].service.clear();
            interval.types[0].service.record_n(900_000_000, 20_000);
        }
    }
    let text = shown_events(Mode::Plain, events);
    let holds: Vec<&str> = text.lines().filter(|line| line.contains(" hold ")).collect();
    assert_eq!(holds.len(), 2, "{text}");
    for hold in holds {
        assert!(hold.contains("p99 900 ms") && hold.contains("5 failed") && hold.ends_with("3 s"), "{hold}");
    }
}

#[test]
fn plain_lines_have_no_control_characters() {
    let plan = Plan {
        errors: true,
        rung_s: 1,
        intruder: "\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{9b}31m".to_owned(),
        ..Plan::default()
    };
    let text = shown(Mode::Plain, &plan);
    assert!(text.contains("\\e]0;owned"), "{text}");
    assert!(!text.replace('\n', "").chars().any(char::is_control), "{text:?}");
    assert!(text.lines().all(|line| line.len() > 10), "{text}");
}

#[test]
fn quiet_is_silent() {
    assert_eq!(shown(Mode::Quiet, &Plan::default()), "");
}

#[test]
fn an_interactive_view_wipes_itself() {
    let kept = Kept::default();
    let live = Live::new(Mode::Interactive, Some(Box::new(kept.clone())));
    for stamped in (Plan { rung_s: 1, hold_s: 1, ..Plan::default() }).events() {
        live.event(&stamped);
    }
    // It is drawn by a thread of its own, whenever that gets to it.
    let begun = Instant::now();
    while kept.text().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is drawn");
        thread::sleep(Duration::from_millis(5));
    }
    live.close(false);
    let text = kept.text();
    let last_clear = text.rfind("\u{1b}[2K").unwrap();
    let after = text[last_clear..].trim_start_matches("\u{1b}[2K").trim_matches(['\r', ' ']);
    // Nothing is written any more: where several lines stood, the cursor goes back up to the first of them.
    let rows_up = after.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('A'));
    assert!(after.is_empty() || rows_up.is_some_and(|rows| rows.parse::<u16>().is_ok()), "{after:?}");
}

#[test]
fn a_closed_standard_error_stops_nothing() {
    #[derive(Debug)]
    struct Broken;
    fn broken() -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::BrokenPipe))
    }
    impl TermLike for Broken {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            broken()
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            broken()
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            broken()
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            broken()
        }
        fn write_line(&self, _: &str) -> io::Result<()> {
            broken()
        }
        fn write_str(&self, _: &str) -> io::Result<()> {
            broken()
        }
        fn clear_line(&self) -> io::Result<()> {
            broken()
        }
        fn flush(&self) -> io::Result<()> {
            broken()
        }
    }
    for mode in [Mode::Plain, Mode::Interactive] {
        let live = Live::new(mode, Some(Box::new(Broken)));
        for stamped in (Plan { rung_s: 1, hold_s: 1, ..Plan::default() }).events() {
            live.event(&stamped);
        }
        live.close(true);
    }
}
