//! The lines that `-P` prints while the load runs, as pgbench words them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dyno_workload::pgbench::load::LoadOptions;
use dyno_workload::pgbench::tally::Counts;

use super::options::ProgressOptions;
use crate::front_end::Intervals;

/// Prints a line each interval from `start` on, until the other end of `end` says when the load has ended, or hangs up. A line that is due by then is
/// printed all the same: a run of ten seconds has its tenth line, unless its schedule had nothing more for its last moments.
pub(crate) fn print_until(
    end: &Receiver<Duration>,
    start: Instant,
    counts: &dyn Fn() -> Counts,
    progress: ProgressOptions,
    load: &LoadOptions,
    say: &dyn Fn(&str),
) {
    let mut intervals = Intervals::new(progress.every, Counts::default());
    loop {
        let told = end.recv_timeout(intervals.next.saturating_sub(start.elapsed()));
        let (ended, at) = match told {
            Ok(at) => (true, at),
            Err(why) => (why == RecvTimeoutError::Disconnected, start.elapsed()),
        };
        if at >= intervals.next {
            let counts = counts();
            let time = if progress.timestamps {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                format!("{:.3} s", now.as_secs_f64())
            } else {
                format!("{:.1} s", at.as_secs_f64())
            };
            let took = at.saturating_sub(intervals.since_at);
            say(&line(&time, &counts.since(&intervals.since), took, load));
            intervals.passed(counts, at);
        }
        if ended {
            return;
        }
    }
}

fn line(time: &str, counts: &Counts, took: Duration, load: &LoadOptions) -> String {
    let tps = counts.done as f64 / took.as_secs_f64();
    let (mean_ms, deviation_ms) = counts.latency.mean_and_deviation_ms().unwrap_or_default();
    let mut text = format!(
        "progress: {time}, {tps:.1} tps, lat {mean_ms:.3} ms stddev {deviation_ms:.3}, {} failed",
        counts.failures()
    );
    if load.rate.is_some() {
        let (lag_ms, _) = counts.lag.mean_and_deviation_ms().unwrap_or_default();
        text.push_str(&format!(", lag {lag_ms:.3} ms"));
        if load.latency_limit.is_some() {
            text.push_str(&format!(", {} skipped", counts.skipped));
        }
    }
    if load.tries_max != Some(1) {
        text.push_str(&format!(", {} retried, {} retries", counts.retried, counts.retries));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_due_when_the_load_ends_is_printed_once() {
        let lines_behind = |(seconds, told): (u64, Option<u64>)| {
            let (running, end) = std::sync::mpsc::channel();
            told.into_iter().for_each(|told| running.send(Duration::from_secs(told)).unwrap());
            drop(running);
            let start = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
            let lines = std::cell::Cell::new(0);
            let progress = ProgressOptions { every: Duration::from_secs(10), timestamps: false };
            let none = LoadOptions::default();
            print_until(&end, start, &Counts::default, progress, &none, &|_| lines.set(lines.get() + 1));
            lines.get()
        };
        assert_eq!([5, 10, 12, 25].map(|seconds| lines_behind((seconds, None))), [0, 1, 1, 1]);
        // When it ended counts, and not when that is heard.
        assert_eq!([(12, Some(9)), (12, Some(10)), (9, Some(10))].map(lines_behind), [0, 1, 1]);
    }

    #[test]
    fn a_line_has_the_parts_that_the_options_ask_for() {
        let mut counts = Counts { done: 10, skipped: 3, retried: 2, retries: 5, ..Counts::default() };
        counts.latency.add(1000.0);
        counts.latency.add(3000.0);
        let second = Duration::from_secs(1);
        let none = LoadOptions::default();
        assert_eq!(
            line("1.0 s", &counts, second, &none),
            "progress: 1.0 s, 10.0 tps, lat 2.000 ms stddev 1.000, 0 failed\n"
        );
        let all = LoadOptions {
            rate: Some(1.0),
            latency_limit: Some(second),
            tries_max: None,
            ..LoadOptions::default()
        };
        assert_eq!(
            line("1.0 s", &Counts::default(), second, &all),
            "progress: 1.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed, lag 0.000 ms, 0 skipped, 0 retried, \
             0 retries\n"
        );
    }
}
