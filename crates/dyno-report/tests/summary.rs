//! The final table of made-up runs.

mod stream;

use std::path::Path;

use console::measure_text_width;
use dyno_report::summary::{render, render_findings};
use dyno_report::terminal::Terminal;
use dyno_results::document::{
    Costs, Estimate, Limit, Percentiles, QueryResult, Report, Saturation, SaturationSign,
};
use dyno_results::event::{Code, Event, Facts, Finding, Outcome, Pool, Severity, Subject};
use dyno_results::fold::fold;
use proptest::prelude::*;

use self::stream::Plan;

fn shown(plan: &Plan, width: usize) -> String {
    let path = Path::new("/var/lib/dyno/runs/2026-11-20-1/report.html");
    render(&fold(&plan.events()), Some(path), Terminal::plain(width))
}

#[test]
fn a_whole_run_at_120_columns() {
    insta::assert_snapshot!(shown(&Plan::default(), 120), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB                       4.1 s
    read      clients      1      2      4      8     16     32   tpcb/select-only
              TPS      13.3k  25.4k  45.9k  72.1k  86.9k  74.6k   peak 86.9k at 16
    hold      8 clients, closed loop · 12 s   72,087 TPS ±0.4%   p50 105 µs   p90 187 µs   p99 289 µs   p99.9 1.3 ms
              each transaction: 17 µs server CPU
    write     clients      1      2      4      8     16     32   tpcb/tpcb-like
              TPS        640  1.22k  2.21k  3.46k  4.19k  3.60k   peak 4.19k at 16
    hold      8 clients, closed loop · 12 s   3,470 TPS ±0.4%    p50 2.2 ms   p90 3.9 ms   p99 6.0 ms   p99.9 28 ms
              each transaction: 357 µs server CPU
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    126,304 commits acknowledged, 126,304 found · four sums agree
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 37 s
    quote: 72,087 TPS ±0.4% (select-only, 8 clients, hold)
    quote: 3,470 TPS ±0.4% (tpcb-like, 8 clients, hold)
    ");
}

#[test]
fn a_load_that_stays_the_same_has_the_steps_of_the_ladder_that_it_accompanies() {
    for (two_targets, leader, follower) in [(false, "read", "write"), (true, "ingest", "join")] {
        let mut events = Plan { two_targets, ..Plan::default() }.events();
        for stamped in &mut events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.key.phase = 0;
                if stage.series == follower {
                    (stage.key.stream, stage.clients) = (1, 1);
                }
            }
        }
        let report = fold(&events);
        let text = render(&report, None, Terminal::plain(120));
        assert!(text.contains(&format!("its load stayed the same beside the ladder of {leader}")), "{text}");
        let own = text.lines().skip_while(|line| !line.starts_with(follower));
        let clients = own.into_iter().find(|line| line.contains("clients ")).unwrap();
        let loads: Vec<&str> =
            clients.split_whitespace().skip_while(|word| *word != "clients").skip(1).take(6).collect();
        assert_eq!(loads, ["1", "2", "4", "8", "16", "32"], "{text}");
    }
}

#[test]
fn queries_are_told_where_the_workload_tells_them() {
    let mut report = fold(&Plan { ladder: vec![], hold_s: 1, ..Plan::default() }.events());
    let hold = report.stages.last_mut().unwrap();
    let queries = QueryResult {
        reads: 14_000,
        writes: 3_880,
        other: 2_120,
        writes_in_vain: 120,
        per_s: 20_000.0,
        reads_per_s: 14_000.0,
        writes_per_s: 3_900.0,
        other_per_s: 2_100.0,
        in_vain_share: Some(0.03),
    };
    hold.queries = Some(queries);
    let text = render(&report, None, Terminal::plain(100));
    let told = "20.0k queries/s · 14.0k reads · 3.90k writes · 2.10k other · 3% of writes touched no row";
    assert_eq!(text.matches("queries/s").count(), 1, "{text}");
    assert!(text.lines().any(|line| line.trim() == told), "{text}");
}

#[test]
fn repeats_end_in_their_median() {
    let mut report = fold(&Plan { ladder: vec![], ..Plan::default() }.events());
    let series = &mut report.series[0];
    let headline = series.headline.as_mut().unwrap();
    headline.stages = vec![series.holds[0]; 3];
    headline.throughput =
        Estimate { mean: 17_370.0, half_width: Some(6_080.0), samples: 3, effective_samples: Some(3.0) };
    let text = render(&report, None, Terminal::plain(120));
    let row = text.lines().find(|line| line.starts_with("median")).unwrap();
    assert!(
        row.contains("of 3 repeats") && row.contains("17,370 TPS ±35%") && row.contains("p99 289 µs"),
        "{text}"
    );
    assert_eq!(text.matches("median").count(), 1, "{text}");
}

#[test]
fn what_others_took_stands_below_the_figure_and_in_place_of_a_cause() {
    let plan = Plan { ladder: vec![1, 2, 4, 8, 16, 32, 64, 128], ..Plan::default() };
    let mut report = fold(&plan.events());
    let held = report.series[0].holds[0];
    report.stages.iter_mut().find(|result| result.stage.id == held).unwrap().cpu_taken_share = Some(0.64);
    let saturation = report.series[0].saturation.as_mut().unwrap();
    let evidence = "the server took 0.55 of them, other programs 1.4".to_owned();
    saturation.taken_by_others = vec![Limit { resource: "cpu".to_owned(), share: 1.0, evidence }];
    let text = render(&report, None, Terminal::plain(200));
    let words = "others took what was missing, so the cause is not known: the server took 0.55 of them";
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains(words) && whole.contains("others took 64% of the host's processors"), "{text}");
    assert_eq!(whole.matches("of the host's processors").count(), 1, "{text}");
}

#[test]
fn figures_of_a_disk_say_whose_they_are_and_costs_what_they_are_of() {
    let mut report = fold(&Plan { ladder: vec![], ..Plan::default() }.events());
    let mut line = |sources: [&str; 2], query_set: bool| {
        let held = report.series[0].holds[0];
        let result = report.stages.iter_mut().find(|result| result.stage.id == held).unwrap();
        result.stage.query_set = query_set;
        result.costs = Some(Costs {
            disk_write_bytes: Some(2150.0),
            disk_write_operations: Some(1.25),
            disk_source: Some(sources[0].to_owned()),
            disk_operations_source: Some(sources[1].to_owned()),
            ..Costs::default()
        });
        let text = render(&report, None, Terminal::plain(200));
        text.lines().find(|line| line.contains("KiB written")).unwrap().trim().to_owned()
    };
    let of_device = "each transaction: 2.1 KiB written in 1.25 disk writes of the whole device";
    assert_eq!(line(["disk", "disk"], false), of_device);
    let of_both = "each query: 2.1 KiB written · 1.25 disk writes of the whole device";
    assert_eq!(line(["server", "disk"], true), of_both);
    assert_eq!(line(["cgroup", "cgroup"], false), "each transaction: 2.1 KiB written in 1.25 disk writes");
}

#[test]
fn a_query_set_has_the_interval_over_its_passes() {
    let mut events = Plan { ladder: vec![], ..Plan::default() }.events();
    for stamped in &mut events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    let mut report = fold(&events);
    let line = |report: &Report, name: &str| {
        let text = render(report, None, Terminal::plain(120));
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // One pass says nothing of how much passes differ.
    assert!(render(&report, None, Terminal::plain(120)).contains("· one pass"));
    assert!(!line(&report, "total").contains('±'));
    let series = &mut report.series[0];
    series.headline.as_mut().unwrap().cpu_taken_share = Some(0.47);
    let passes = series.passes.as_mut().unwrap();
    (passes.total_s, passes.total_half_width_s) = (Some(4.8), Some(0.48));
    (passes.geometric_mean_s, passes.geometric_mean_half_width_s) = (Some(0.2), Some(0.5));
    (passes.qph, passes.qph_half_width) = (Some(1200.0), Some(120.0));
    assert_eq!(line(&report, "total"), "total 4.8 s ±10%");
    assert_eq!(line(&report, "geo."), "geo. mean 200 ms ±>50%");
    assert_eq!(line(&report, "QPH"), "QPH 1.20k ±10%");
    assert_eq!(line(&report, "others'"), "others' CPU 47%");
    report.checks.clear();
    assert_eq!(line(&report, "verify"), "verify nothing was checked");
    // Answers that agree were checked.
    report.series[0].passes.as_mut().unwrap().answers.alike = 22;
    assert!(!render(&report, None, Terminal::plain(120)).contains("nothing was checked"));
    let passes = report.series[0].passes.as_mut().unwrap();
    passes.answers.kept = 22;
    for query in &mut passes.queries {
        (query.compared, query.varies) = (true, Some("LIMIT without ORDER BY".to_owned()));
    }
    assert!(line(&report, "answers").ends_with("alike (1 in part)"), "{}", line(&report, "answers"));
}

#[test]
fn a_whole_run_at_80_columns() {
    insta::assert_snapshot!(shown(&Plan::default(), 80), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB,
              NVMe · same host as the driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB             4.1 s
    read      clients      1      2      4      8     16     32   tpcb/select-only
              TPS      13.3k  25.4k  45.9k  72.1k  86.9k  74.6k   peak 86.9k at 16
    hold      8 clients, closed loop · 12 s   72,087 TPS ±0.4%
              p50 105 µs   p90 187 µs   p99 289 µs   p99.9 1.3 ms
              each transaction: 17 µs server CPU
    write     clients      1      2      4      8     16     32   tpcb/tpcb-like
              TPS        640  1.22k  2.21k  3.46k  4.19k  3.60k   peak 4.19k at 16
    hold      8 clients, closed loop · 12 s   3,470 TPS ±0.4%
              p50 2.2 ms   p90 3.9 ms   p99 6.0 ms   p99.9 28 ms
              each transaction: 357 µs server CPU
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    126,304 commits acknowledged, 126,304 found · four sums agree
    findings  doubt  shared-host  driver and server share 2 cores; the driver took …
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 37 s
    quote: 72,087 TPS ±0.4% (select-only, 8 clients, hold)
    quote: 3,470 TPS ±0.4% (tpcb-like, 8 clients, hold)
    ");
}

#[test]
fn a_narrow_terminal_folds_the_ladder() {
    let plan = Plan { ladder: vec![1, 2, 4, 8, 16, 32, 64, 128], ..Plan::default() };
    insta::assert_snapshot!(shown(&plan, 50), @"
    target    embedded PostgreSQL 18.1 · production
              profile · 2 cores, 24 GiB, NVMe · same
              host as the driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2
              tables · 760 MiB · 4.1 s
    read      tpcb/select-only
              clients      1      2      4      8
              TPS      13.3k  25.4k  45.9k  72.1k
              clients     16     32     64    128
              TPS      86.9k  74.6k  48.4k  27.0k
              peak 86.9k at 16
              saturated at 8 clients (72,087 TPS, p99
              289 µs), throughput no longer rises and
              latency does: nothing that was read was
              at its limit
    hold      8 clients, closed loop · 12 s
              72,123 TPS ±0.4%
              p50 105 µs p90 187 µs p99 289 µs p99.9
              1.3 ms
              each transaction: 17 µs server CPU
    write     tpcb/tpcb-like
              clients      1      2      4      8
              TPS        641  1.22k  2.20k  3.48k
              clients     16     32     64    128
              TPS      4.20k  3.57k  2.33k  1.30k
              peak 4.20k at 16
              saturated at 8 clients (3,482 TPS, p99
              6.0 ms), throughput no longer rises and
              latency does: nothing that was read was
              at its limit
    hold      8 clients, closed loop · 12 s
              3,467 TPS ±0.4%
              p50 2.2 ms p90 3.9 ms p99 6.0 ms p99.9
              28 ms
              each transaction: 358 µs server CPU
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B
              on disk for each row
    verify    126,304 commits acknowledged, 126,304
              found · four sums agree
    findings  doubt  shared-host  driver and server s…
              notes  durable
              evidence and advice: dyno findings
              2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 57 s
    quote: 72,123 TPS ±0.4% (select-only, 8 clients,
    hold)
    quote: 3,467 TPS ±0.4% (tpcb-like, 8 clients,
    hold)
    ");
}

#[test]
fn one_rung_is_no_search_for_a_peak() {
    let text = shown(&Plan { ladder: vec![8], ..Plan::default() }, 100);
    assert!(text.contains(" at 8\n"), "{text}");
    assert!(!text.contains("peak") && !text.contains("highest"), "{text}");
}

#[test]
fn a_stopped_run_says_so_first() {
    insta::assert_snapshot!(shown(&Plan { stop_after_s: Some(30), ..Plan::default() }, 100), @"
    run       INCOMPLETE: stopped by Ctrl-C; what was measured in 30 s is shown
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the
              driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB                       4.1 s
    read      tpcb/select-only
              clients       1       2       4       8      16
              TPS       13.3k   25.4k   45.9k   72.1k  86.7k*
              highest 72.1k at 8, the peak may lie beyond
              each transaction: 17 µs server CPU
              * stopped before its time was up
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    nothing was checked
    findings  none
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 30 s
    quote: nothing (select-only): the best of 5 steps is too high by chance, and no load was held
    (--hold)
    ");
}

#[test]
fn a_run_that_measured_nothing() {
    insta::assert_snapshot!(shown(&Plan { stop_after_s: Some(2), ..Plan::default() }, 100), @"
    run       INCOMPLETE: stopped by Ctrl-C; what was measured in 2 s is shown
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the
              driver
    prepare   tpcb on pg · size unknown                                                  0.2 s
    load      nothing was measured
    verify    nothing was checked
    findings  none
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 2 s
    ");
}

#[test]
fn a_killed_run_has_no_reason() {
    let mut report = fold(&Plan::default().events());
    report.run.outcome = Outcome::Incomplete;
    report.run.reason = None;
    let text = render(&report, None, Terminal::plain(100));
    assert!(text.starts_with("run       INCOMPLETE: the reason is unknown"), "{text}");
}

#[test]
fn a_ladder_without_a_hold() {
    insta::assert_snapshot!(shown(&Plan { hold_s: 0, ..Plan::default() }, 100), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the
              driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB                       4.1 s
    read      clients      1      2      4      8     16     32   tpcb/select-only
              TPS      13.3k  25.4k  45.9k  72.1k  86.9k  74.6k   peak 86.9k at 16
              each transaction: 14 µs server CPU
    write     clients      1      2      4      8     16     32   tpcb/tpcb-like
              TPS        639  1.22k  2.20k  3.47k  4.19k  3.58k   peak 4.19k at 16
              each transaction: 292 µs server CPU
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    126,304 commits acknowledged, 126,304 found · four sums agree
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 12 s
    quote: nothing (select-only): the best of 6 steps is too high by chance, and no load was held
    (--hold)
    quote: nothing (tpcb-like): the best of 6 steps is too high by chance, and no load was held (--hold)
    ");
}

#[test]
fn an_open_loop_shows_its_three_times() {
    let plan = Plan { ladder: vec![], rate_per_s: Some(500.0), ..Plan::default() };
    insta::assert_snapshot!(shown(&plan, 100), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the
              driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB                       4.1 s
    read      tpcb/select-only
    hold      500/s Poisson, 8 clients · 12 s   500 TPS ±<0.1%
              response   p50 116 µs   p90 148 µs   p99 317 µs   p99.9 1.5 ms
              service    p50 105 µs   p90 135 µs   p99 289 µs   p99.9 1.3 ms
              lag        p50 11 µs    p90 13 µs    p99 29 µs    p99.9 133 µs
              each transaction: 2.5 ms server CPU
    write     tpcb/tpcb-like
    hold      500/s Poisson, 8 clients · 12 s   500 TPS ±<0.1%
              response   p50 2.4 ms   p90 3.1 ms   p99 6.6 ms   p99.9 30 ms
              service    p50 2.2 ms   p90 2.8 ms   p99 6.0 ms   p99.9 28 ms
              lag        p50 219 µs   p90 280 µs   p99 600 µs   p99.9 2.8 ms
              each transaction: 2.5 ms server CPU
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    126,304 commits acknowledged, 126,304 found · four sums agree
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 35 s
    quote: 500 TPS ±<0.1% (select-only, 500/s, hold)
    quote: 500 TPS ±<0.1% (tpcb-like, 500/s, hold)
    ");
}

#[test]
fn errors_are_counted_by_code() {
    insta::assert_snapshot!(shown(&Plan { errors: true, ..Plan::default() }, 100), @"
    target    embedded PostgreSQL 18.1 · production profile · 2 cores, 24 GiB, NVMe · same host as the
              driver
    prepare   tpcb scale 50 · 5,000,050 rows in 2 tables · 760 MiB                       4.1 s
    read      clients      1      2      4      8     16     32   tpcb/select-only
              TPS      13.3k  25.4k  45.9k  72.1k  86.9k  74.6k   peak 86.9k at 16
              failed       4      4      4      4      4      4
    hold      8 clients, closed loop · 12 s   72,087 TPS ±0.4%
              p50 105 µs   p90 187 µs   p99 289 µs   p99.9 1.3 ms
              each transaction: 17 µs server CPU
              errors: 8 failed · 36 retried · 40001 ×36, 23505 ×8
    write     clients      1      2      4      8     16     32   tpcb/tpcb-like
              TPS        640  1.22k  2.21k  3.46k  4.19k  3.60k   peak 4.19k at 16
              failed       4      4      4      4      4      4
    hold      8 clients, closed loop · 12 s   3,470 TPS ±0.4%
              p50 2.2 ms   p90 3.9 ms   p99 6.0 ms   p99.9 28 ms
              each transaction: 357 µs server CPU
              errors: 8 failed · 36 retried · 40001 ×36, 23505 ×8
    size      tpcb: 5,000,050 rows · 760 MiB · 159 B on disk for each row
    verify    126,304 commits acknowledged, 126,304 found · four sums agree
    notice    ERROR: duplicate key value violates unique constraint (SQLSTATE 23505)
    findings  doubt  shared-host  driver and server share 2 cores; the driver took 34% of them
              notes  durable
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    /var/lib/dyno/runs/2026-11-20-1/report.html
              run 2026-11-20-1 · 1 min 37 s
    quote: 72,087 TPS ±0.4% (select-only, 8 clients, hold)
    quote: 3,470 TPS ±0.4% (tpcb-like, 8 clients, hold)
    ");
}

#[test]
fn troubles_of_a_drain_and_lost_time_are_told() {
    let mut events = Plan { ladder: vec![8], hold_s: 1, ..Plan::default() }.events();
    for stamped in &mut events {
        if let Event::Interval(interval) = &mut stamped.event {
            // All that ended did so in the drain, and three connections were lost meanwhile.
            interval.types[0].failed = 3;
            interval.drain = true;
            interval.reconnects = 3;
            interval.lost_ns = 1_400_000_000;
        }
    }
    let text = render(&fold(&events), None, Terminal::plain(100));
    assert!(text.contains("errors: 3 failed · 3 reconnected · 1.4 s of clients' time lost"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("failed")), "{text}");
}

#[test]
fn checks_that_failed_or_were_not_made() {
    let mut report = fold(&Plan { ladder: vec![], hold_s: 1, ..Plan::default() }.events());
    report.checks[0].passed = Some(false);
    report.checks[0].expected = Some("126304".to_owned());
    report.checks[0].found = Some("126301".to_owned());
    report.checks[1].passed = None;
    let text = render(&report, None, Terminal::plain(100));
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("verify")).take(3).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    verify    FAILED history-holds-every-commit: 126,304 commits acknowledged, 126,304 found (expected
              126304, found 126301)
              not checked: sums-agree: four sums agree
    ");
}

#[test]
fn colour_changes_no_text() {
    for two_targets in [false, true] {
        let plan = Plan { two_targets, lost_after_s: Some(90), errors: true, ..Plan::default() };
        let report = fold(&plan.events());
        let plain = Terminal::plain(100);
        let coloured = render(&report, None, Terminal { color: true, ..plain });
        assert!(coloured.contains('\u{1b}'));
        let stripped = console::strip_ansi_codes(&coloured);
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&stripped), trimmed(&render(&report, None, plain)));
    }
}

#[test]
fn an_only_target_over_a_pool_tells_waits_and_where_it_gave_way() {
    let ladder = vec![1, 2, 4, 8, 16, 24, 32];
    let mut report = fold(&Plan { ladder, hold_s: 0, connections: Some(8), ..Plan::default() }.events());
    report.series[0].saturation.as_mut().unwrap().limits[0].evidence = "8 of 8 connections".to_owned();
    let text = render(&report, None, Terminal::plain(100));
    let series = text.lines().skip_while(|line| !line.starts_with("read"));
    let lines: Vec<&str> = series.take_while(|line| !line.starts_with("write")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    read      tpcb/select-only
              clients      1      2      4      8     16     24     32
              TPS      13.3k  25.4k  45.9k  72.1k  71.8k  72.2k  72.3k
              peak 72.3k at 32, indistinguishable from 8–24
              saturated at 8 clients (72,087 TPS, p99 289 µs), throughput no longer rises and latency
              does: 8 of 8 connections
              wait       p50 316 µs   p90 561 µs   p99 866 µs   p99.9 4.0 ms
              8 connections · 8.00 in use, 8 at most · 24.0 clients waiting, 24 at most
              each transaction: 17 µs server CPU
    ");
}

#[test]
fn findings_alone() {
    let report = fold(&Plan::default().events());
    insta::assert_snapshot!(render_findings(&report.findings, Terminal::plain(80)), @"
    findings  doubt  shared-host  driver and server share 2 cores; the driver took
                                  34% of them
                                  → run the driver on another host to see what the
                                    server can do alone
              note   durable      fsync, synchronous_commit and full_page_writes are
                                  on
                                  → nothing to do
    ");
    assert_eq!(render_findings(&[], Terminal::plain(80)), "findings  none\n");
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        prop::num::f64::ANY,
        -1e9..1e9_f64,
    ]
}

/// Puts numbers and texts that no run should have into every place that the table reads.
fn spoil(report: &mut Report, numbers: &[f64], count: u64) {
    let mut next = numbers.iter().copied().cycle();
    let mut number = || next.next().unwrap_or(f64::NAN);
    let estimate = |number: &mut dyn FnMut() -> f64| Estimate {
        mean: number(),
        half_width: Some(number()),
        samples: 0,
        effective_samples: None,
    };
    report.run.seconds = number();
    for step in &mut report.prepare {
        step.seconds = number();
    }
    for data in &mut report.data {
        data.scale = Some(number());
        data.database_bytes = Some(count);
    }
    for host in &mut report.hosts {
        host.cpus_limit = Some(number());
        host.memory_bytes = Some(count);
    }
    for series in &mut report.series {
        if let Some(peak) = &mut series.peak {
            peak.throughput = estimate(&mut number);
        }
        series.saturation = Some(Saturation {
            taken_by_others: Vec::new(),
            stage: *series.ladder.first().unwrap_or(&0),
            last_good: None,
            clients: count as u32,
            rate_per_s: Some(number()),
            sign: SaturationSign::RateNotMet,
            throughput_per_s: number(),
            p99_us: Some(number()),
            evidence: String::new(),
            limits: vec![Limit {
                resource: "cpu".to_owned(),
                share: number(),
                evidence: "\u{1b}[2J".to_owned(),
            }],
        });
    }
    for size in &mut report.sizes {
        (size.bytes, size.bytes_per_row) = (count, number());
    }
    for stage in &mut report.stages {
        stage.seconds = number();
        stage.cpu_taken_share = Some(number());
        stage.stage.planned_s = Some(number());
        stage.throughput = Some(estimate(&mut number));
        stage.costs = Some(Costs {
            server_cpu_us: Some(number()),
            disk_write_bytes: Some(number()),
            disk_source: Some("\u{9b}disk".to_owned()),
            ..Costs::default()
        });
        for key in ["server_cpu_cores", "cpu_idle_share", "server_memory_bytes", "disk_busy_share"] {
            stage.resources.insert(key.to_owned(), number());
        }
        stage.pool = Some(Pool {
            connections: count as u32,
            in_use_mean: number(),
            in_use_max: 1,
            waiting_mean: number(),
            waiting_max: 0,
        });
        stage.totals.failed_with_drain = count / 4;
        stage.totals.unknown_with_drain = count / 4;
        stage.totals.lost_s = number();
        stage.service = Some(Percentiles {
            count,
            mean_us: number(),
            p50_us: number(),
            p90_us: number(),
            p95_us: number(),
            p99_us: number(),
            p999_us: number(),
            max_us: number(),
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_report_fits_and_is_harmless(
        numbers in prop::collection::vec(any_number(), 1..20),
        count in any::<u64>(),
        intruder in "[\u{1b}\u{9b}\u{7}\r\n\t\u{202e}\\[a-z0-9 東]{0,12}",
        two_targets in any::<bool>(),
        width in 24_usize..140,
    ) {
        let plan = Plan {
            rung_s: 1,
            hold_s: 1,
            ladder: vec![1, 8],
            errors: true,
            two_targets,
            lost_after_s: Some(17),
            intruder,
            ..Plan::default()
        };
        let mut report = fold(&plan.events());
        spoil(&mut report, &numbers, count);
        let text = render(&report, None, Terminal::plain(width));
        for line in text.lines() {
            prop_assert!(measure_text_width(line) <= width, "{line}");
            prop_assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
            prop_assert!(!line.contains("NaN"), "{line}");
        }
    }
}

fn finding(severity: Severity, code: Code, about: Option<&str>, evidence: &str) -> Finding {
    let subject = Subject { about: about.map(str::to_owned), ..Subject::default() };
    Finding::new((code, severity), subject, evidence.to_owned(), "repeat the run", Facts::default())
}

#[test]
fn a_summary_has_a_line_for_each_doubt_and_the_names_of_the_notes() {
    let long =
        "the host was busy with other programs for most of the hold, which took away what the server needed";
    let mut report = fold(&Plan { ladder: vec![8], hold_s: 1, ..Plan::default() }.events());
    report.findings = vec![
        finding(Severity::Note, Code::Durable, None, "fsync is on"),
        finding(Severity::Doubt, Code::NoisyHost, Some("pg"), long),
        finding(Severity::Note, Code::Cached, None, "the data fit into the cache"),
        finding(Severity::Doubt, Code::TooShort, None, "the hold took 1 s"),
        finding(Severity::Doubt, Code::NoisyHost, Some("my"), long),
        finding(Severity::Invalid, Code::DataCheckFailed, None, long),
        finding(Severity::Note, Code::Durable, Some("my"), "innodb_flush_log_at_trx_commit is 1"),
    ];
    let text = render(&report, None, Terminal::plain(80));
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("findings")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    findings  invalid  data-check-failed  the host was busy with other programs for
                                          most of the hold, which took away what the
                                          server needed
                                          → repeat the run
              doubt    noisy-host         pg: the host was busy with o… (and 1 more)
              doubt    too-short          the hold took 1 s
              notes    durable, cached
              evidence and advice: dyno findings 2026-11-20-1
    command   dyno run
    report    run 2026-11-20-1 · 23 s
    quote: nothing (select-only): 71,798 TPS: too short to say how far it can be
    trusted
    quote: nothing (tpcb-like): 3,448 TPS: too short to say how far it can be
    trusted
    ");
    let full = render_findings(&report.findings, Terminal::plain(80));
    assert_eq!(full.matches("→ repeat the run").count(), 5, "{full}");
    assert!(full.contains("innodb_flush_log_at_trx_commit is 1"), "{full}");
}

#[test]
fn what_a_reader_came_for_stands_last() {
    let doubts = [
        Code::TooFewRepeats,
        Code::PlanChanged,
        Code::Incomplete,
        Code::DurabilityOff,
        Code::DriverBound,
        Code::SharedHost,
        Code::NoisyHost,
        Code::PeakNotReached,
        Code::PoolBound,
        Code::TooShort,
    ];
    for findings in [0, 1, doubts.len()] {
        let mut report = fold(&Plan::default().events());
        let codes = doubts.into_iter().take(findings);
        report.findings = codes.map(|code| finding(Severity::Doubt, code, None, "so it is")).collect();
        let text = render(&report, None, Terminal::plain(80));
        let last: Vec<&str> = text.lines().rev().take(2).collect();
        assert!(last.iter().all(|line| line.starts_with("quote: ")), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("so it is")).count(), findings, "{text}");
    }
}
