//! The report of a run and the lines while it lasts, as sysbench prints them. People parse them: every word, every digit
//! and the order are sysbench's.

use std::fmt::{self, Write as _};
use std::time::Duration;

use dyno_workload::sysbench::{Latencies, Snapshot};

use super::Context;
use super::options::SysbenchSettings;

/// Columns of a line on latency.
const LATENCY_WIDTH: usize = 53;
/// Columns of the longest bar of the histogram.
const BAR_WIDTH: usize = 40;

/// What the numbers of a report are printed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportForm {
    /// There are queries to be counted: a script may well have none.
    pub(super) sql: bool,
    /// 1 to 100; 0 for none.
    pub(super) percentile: u8,
    pub(super) histogram: bool,
}

/// What was counted over some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeriodCounts<'a> {
    pub(super) counts: &'a Snapshot,
    pub(super) over: Duration,
    /// Events that were cut off; `None` where none were to be.
    pub(super) unfinished: Option<u64>,
}

/// Events of an open load that wait, and that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) length: u64,
    pub(super) concurrency: u64,
}

impl Context {
    /// The report at the end, and at a checkpoint; `sql` where there are queries to be counted.
    pub(super) fn print_report(&self, counted: &PeriodCounts<'_>, sql: bool) {
        let text = ReportForm::new(&self.settings, sql).report(counted);
        // The console ends each message with an end of line.
        self.console.notice(text.strip_suffix('\n').unwrap_or(&text));
    }
}

impl ReportForm {
    pub(super) fn new(settings: &SysbenchSettings, sql: bool) -> Self {
        Self { sql, percentile: settings.percentile, histogram: settings.histogram }
    }

    /// The report at the end, and at a checkpoint.
    pub(super) fn report(self, counted: &PeriodCounts<'_>) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = self.write_report(&mut text, counted);
        text
    }

    fn write_report(self, out: &mut String, counted: &PeriodCounts<'_>) -> fmt::Result {
        let PeriodCounts { counts, over, unfinished } = *counted;
        if self.histogram {
            write_histogram(out, &counts.latencies)?;
        }
        if self.sql {
            write_queries(out, counts, over)?;
        }
        if let Some(unfinished) = unfinished {
            writeln!(out, "\nNumber of unfinished transactions on forced shutdown: {unfinished}")?;
        }
        writeln!(out, "\nGeneral statistics:")?;
        writeln!(out, "    total time:                          {:.4}s", over.as_secs_f64())?;
        writeln!(out, "    total number of events:              {}", counts.events)?;
        self.write_latency(out, counts)?;
        let [(events, events_deviation), (busy_s, busy_s_deviation)] = counts.fairness();
        writeln!(out, "\nThreads fairness:")?;
        writeln!(out, "    events (avg/stddev):           {events:.4}/{events_deviation:.2}")?;
        writeln!(out, "    execution time (avg/stddev):   {busy_s:.4}/{busy_s_deviation:.2}\n")
    }

    fn write_latency(self, out: &mut String, counts: &Snapshot) -> fmt::Result {
        let latencies = &counts.latencies;
        let sum_ms = latencies.sum_ns as f64 / 1e6;
        let avg_ms = if counts.events > 0 { sum_ms / counts.events as f64 } else { 0.0 };
        let (min_ns, max_ns) = latencies.extremes_ns.unwrap_or_default();
        writeln!(out, "\nLatency (ms):")?;
        let mut line = |label: &str, ms: f64| {
            // Label and figure together always take as much.
            let width = LATENCY_WIDTH.saturating_sub(label.len());
            writeln!(out, "{label}{ms:width$.2}")
        };
        line("         min:", min_ns as f64 / 1e6)?;
        line("         avg:", avg_ms)?;
        line("         max:", max_ns as f64 / 1e6)?;
        match self.percentile {
            0 => writeln!(out, "         percentile stats:               disabled")?,
            percentile => line(
                &format!("{percentile:>11}th percentile:"),
                latencies.percentile_ms(f64::from(percentile)),
            )?,
        }
        writeln!(out, "         sum:{sum_ms:40.2}")
    }

    /// A line of figures over an interval that ended `at_s` seconds after the start.
    pub(super) fn intermediate(self, at_s: u64, counted: &PeriodCounts<'_>, threads: u64) -> String {
        let PeriodCounts { counts, over, .. } = *counted;
        let per_s = |count: u64| count as f64 / over.as_secs_f64();
        let percentile = self.percentile;
        let latency_ms =
            if percentile > 0 { counts.latencies.percentile_ms(f64::from(percentile)) } else { 0.0 };
        if !self.sql {
            return format!(
                "[ {at_s}s ] thds: {threads} eps: {:.2} lat (ms,{percentile}%): {latency_ms:.2}",
                per_s(counts.events)
            );
        }
        format!(
            "[ {at_s}s ] thds: {threads} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) \
             lat (ms,{percentile}%): {latency_ms:.2} err/s: {:.2} reconn/s: {:.2}",
            per_s(counts.events),
            per_s(counts.queries()),
            per_s(counts.reads),
            per_s(counts.writes),
            per_s(counts.other),
            per_s(counts.ignored_errors),
            per_s(counts.reconnects)
        )
    }

    /// The line behind it, where the load is an open one.
    pub(super) fn queue(self, at_s: u64, queue: Queue) -> String {
        let comma = if self.sql { "," } else { "" };
        format!("[ {at_s}s ] queue length: {}{comma} concurrency: {}", queue.length, queue.concurrency)
    }
}

fn write_histogram(out: &mut String, latencies: &Latencies) -> fmt::Result {
    writeln!(out, "Latency histogram (values are in milliseconds)")?;
    writeln!(out, "       value  ------------- distribution ------------- count")?;
    let most = latencies.buckets().iter().max().copied().unwrap_or(0);
    for (bucket, &count) in latencies.buckets().iter().enumerate().filter(|(_, count)| **count > 0) {
        let width = (count as f64 / most as f64 * BAR_WIDTH as f64 + 0.5) as usize;
        let (ms, bar) = (Latencies::bucket_ms(bucket), "*".repeat(width));
        writeln!(out, "{ms:12.3} |{bar:BAR_WIDTH$} {count}")?;
    }
    writeln!(out, " ")
}

fn write_queries(out: &mut String, counts: &Snapshot, over: Duration) -> fmt::Result {
    let per_s = |count: u64| if over.is_zero() { 0.0 } else { count as f64 / over.as_secs_f64() };
    writeln!(out, "SQL statistics:\n    queries performed:")?;
    writeln!(out, "        read:                            {}", counts.reads)?;
    writeln!(out, "        write:                           {}", counts.writes)?;
    writeln!(out, "        other:                           {}", counts.other)?;
    writeln!(out, "        total:                           {}", counts.queries())?;
    let mut rate =
        |label: &str, count: u64| writeln!(out, "    {label:37}{count:<6} ({:.2} per sec.)", per_s(count));
    rate("transactions:", counts.events)?;
    rate("queries:", counts.queries())?;
    rate("ignored errors:", counts.ignored_errors)?;
    rate("reconnects:", counts.reconnects)
}

#[cfg(test)]
mod tests {
    use dyno_engine::request::QueryKind;
    use dyno_engine::workload::ClientIdentity;
    use dyno_workload::sysbench::Counters;

    use super::*;

    /// Two clients with an event each, of one read, a write and two other queries.
    fn counts() -> Snapshot {
        let counters = Counters::new(1, 2);
        for (id, ms) in [(0, 2), (1, 4)] {
            let client = counters.client(ClientIdentity { id, thread: 0 });
            client.event_begun();
            client.query(QueryKind::Read);
            client.query(QueryKind::Write);
            client.query(QueryKind::Other);
            client.query(QueryKind::Other);
            client.event_ended(ms * 1_000_000);
        }
        counters.read()
    }

    const FORM: ReportForm = ReportForm { sql: true, percentile: 95, histogram: false };

    #[test]
    fn the_report_is_that_of_sysbench() {
        let counts = counts();
        let counted = PeriodCounts { counts: &counts, over: Duration::from_secs(2), unfinished: None };
        assert_eq!(
            FORM.report(&counted),
            "SQL statistics:
    queries performed:
        read:                            2
        write:                           2
        other:                           4
        total:                           8
    transactions:                        2      (1.00 per sec.)
    queries:                             8      (4.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0000s
    total number of events:              2

Latency (ms):
         min:                                    2.00
         avg:                                    3.00
         max:                                    4.00
         95th percentile:                        4.03
         sum:                                    6.00

Threads fairness:
    events (avg/stddev):           1.0000/0.00
    execution time (avg/stddev):   0.0030/0.00

"
        );
    }

    #[test]
    fn what_was_not_asked_for_is_left_out_and_what_was_is_there() {
        let counts = counts();
        let counted = PeriodCounts { counts: &counts, over: Duration::from_secs(2), unfinished: Some(3) };
        let form = ReportForm { sql: false, percentile: 0, histogram: true };
        let text = form.report(&counted);
        assert!(
            text.starts_with("Latency histogram (values are in milliseconds)\n       value  ---"),
            "{text}"
        );
        assert!(text.contains(&format!(" |{} 1\n \n\nNumber of unfinished", "*".repeat(40))), "{text}");
        assert!(text.contains("forced shutdown: 3\n\nGeneral statistics"), "{text}");
        assert!(text.contains("         percentile stats:               disabled\n"), "{text}");
        assert!(!text.contains("SQL"), "{text}");
        for (percentile, line) in [
            (5, "          5th percentile:                        2.00\n"),
            (100, "        100th percentile:                        4.03\n"),
        ] {
            let text = ReportForm { percentile, ..form }.report(&counted);
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn lines_while_it_lasts() {
        let counts = counts();
        let counted = PeriodCounts { counts: &counts, over: Duration::from_secs(2), unfinished: None };
        assert_eq!(
            FORM.intermediate(2, &counted, 2),
            "[ 2s ] thds: 2 tps: 1.00 qps: 4.00 (r/w/o: 1.00/1.00/2.00) lat (ms,95%): 4.03 err/s: 0.00 \
             reconn/s: 0.00"
        );
        let queue = Queue { length: 3, concurrency: 2 };
        assert_eq!(FORM.queue(2, queue), "[ 2s ] queue length: 3, concurrency: 2");
        let plain = ReportForm { sql: false, ..FORM };
        assert_eq!(plain.intermediate(2, &counted, 2), "[ 2s ] thds: 2 eps: 1.00 lat (ms,95%): 4.03");
        assert_eq!(plain.queue(2, queue), "[ 2s ] queue length: 3 concurrency: 2");
    }
}
