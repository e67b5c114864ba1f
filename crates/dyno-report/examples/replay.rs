//! Plays a made-up run into the live view, then prints its final table: for looking at both.
//!
//! `cargo run -p dyno-report --example replay -- [speed] [run] [plain]`, where the run is one of `one`, `errors`,
//! `open`, `stop`, `two`, `together`, `ramp`, `long-ramp` and `lost`.

#[path = "../tests/stream/mod.rs"]
mod stream;

use std::time::Duration;

use dyno_report::live::{Expected, Live, Mode, Progressed};
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::event::Event;
use dyno_results::fold::fold;

use self::stream::Plan;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let speed: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let plan = plan(&arguments.next().unwrap_or_default());
    let plain = arguments.next().is_some_and(|word| word == "plain");
    let mode = if plain { Mode::Plain } else { Mode::suited_to(Terminal::stderr()) };
    let live = Live::new(mode, None);
    let pause = |ms: u64| std::thread::sleep(Duration::from_secs_f64(ms as f64 / 1e3 / speed));
    let events = plan.events();
    live.activity("starting PostgreSQL 18.1");
    let mut at_ms = 0;
    for stamped in &events {
        if let Event::Target(target) = &stamped.event {
            expect(&live, &plan, &target.name);
        }
        if let Event::Prepare(step) = &stamped.event
            && let Some(rows) = step.rows
        {
            for percent in 0..100 {
                let done = rows * percent / 100;
                live.prepare_progress(&step.target, &step.step, Progressed::Rows { done, total: Some(rows) });
                pause((stamped.at_ms - at_ms) / 100);
            }
        } else {
            if let Event::Hook(hook) = &stamped.event {
                live.activity(&format!("{}: {}", hook.target, hook.action));
            }
            pause(stamped.at_ms - at_ms);
        }
        at_ms = stamped.at_ms;
        live.event(stamped);
    }
    live.close(false);
    print!("{}", summary::render(&fold(&events), None, Terminal::stdout()));
}

fn plan(name: &str) -> Plan {
    let two = Plan { two_targets: true, ..Plan::default() };
    match name {
        "errors" => Plan { errors: true, ..Plan::default() },
        "open" => Plan { ladder: Vec::new(), rate_per_s: Some(500.0), ..Plan::default() },
        "stop" => Plan { stop_after_s: Some(30), ..Plan::default() },
        "two" => two,
        "together" => Plan { together: true, connections: Some(12), errors: true, ..two },
        "ramp" => Plan { ladder: (1..=40).collect(), rung_s: 2, hold_s: 0, connections: Some(12), ..two },
        "long-ramp" => {
            Plan { ladder: (1..=200).collect(), rung_s: 4, hold_s: 0, connections: Some(40), ..two }
        }
        "lost" => Plan { lost_after_s: Some(60), together: true, ..two },
        _ => Plan::default(),
    }
}

/// Tells what the ladders have before them, as a campaign does.
fn expect(live: &Live, plan: &Plan, target: &str) {
    for series in ["read", "write", "ingest", "join"] {
        live.expect(Expected {
            target: target.to_owned(),
            series: series.to_owned(),
            steps: u32::try_from(plan.ladder.len()).unwrap_or(u32::MAX),
            step_s: f64::from(plan.rung_s),
            may_end_early: true,
        });
    }
}
