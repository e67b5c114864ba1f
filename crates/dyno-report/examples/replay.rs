//! Plays a made-up run into the live view, then prints its final table: for looking at both.
//!
//! `cargo run -p dyno-report --example replay -- [speed] [live|plain|errors|open|stop]`

#[path = "../tests/stream/mod.rs"]
mod stream;

use std::time::Duration;

use dyno_report::live::{Live, Mode};
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::event::Event;
use dyno_results::fold::fold;

use self::stream::Plan;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let speed: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let what = arguments.next().unwrap_or_default();
    let plan = match what.as_str() {
        "errors" => Plan { errors: true, ..Plan::default() },
        "open" => Plan { ladder: Vec::new(), rate_per_s: Some(500.0), ..Plan::default() },
        "stop" => Plan { stop_after_s: Some(30), ..Plan::default() },
        _ => Plan::default(),
    };
    let mode = if what == "plain" { Mode::Plain } else { Mode::suited_to(Terminal::stderr()) };
    let live = Live::new(mode, None);
    let pause = |ms: u64| std::thread::sleep(Duration::from_secs_f64(ms as f64 / 1e3 / speed));
    let events = plan.events();
    live.activity("starting PostgreSQL 18.1");
    let mut at_ms = 0;
    for stamped in &events {
        if let Event::Prepare(step) = &stamped.event
            && let Some(rows) = step.rows
        {
            for percent in 0..100 {
                live.prepare_progress(&step.step, rows * percent / 100, Some(rows));
                pause((stamped.at_ms - at_ms) / 100);
            }
        } else {
            pause(stamped.at_ms - at_ms);
        }
        at_ms = stamped.at_ms;
        live.event(stamped);
    }
    live.close(false);
    print!("{}", summary::render(&fold(&events), None, Terminal::stdout()));
}
