//! The report of a run as pgbench prints it. People parse it: every word, every digit and the order are pgbench's.

use std::fmt::Write as _;
use std::time::Duration;

use dyno_results::spec::End;
use dyno_workload::pgbench::initialize::PartitionMethod;
use dyno_workload::pgbench::load::WeightedScript;
use dyno_workload::pgbench::tally::{CommandCounts, Counts, LatencySpread};

use super::options::RunOptions;

/// What the report is made of.
pub(crate) struct Results<'a> {
    pub(crate) options: &'a RunOptions,
    /// By script, with their commands.
    pub(crate) counts: &'a [Counts],
    pub(crate) scripts: &'a [WeightedScript],
    pub(crate) scale: i64,
    pub(crate) partition: Option<(PartitionMethod, u32)>,
    /// How long the load took.
    pub(crate) took: Duration,
    pub(crate) connecting: Duration,
}

/// The report, behind the banner.
pub(crate) fn render(results: &Results<'_>) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = results.write(&mut text);
    text
}

impl Results<'_> {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let mut total = Counts::default();
        self.counts.iter().for_each(|script| total.merge_script(script));
        self.write_setup(out)?;
        let load = &self.options.load;
        match self.options.end {
            End::TransactionsPerClient(transactions) => {
                writeln!(out, "number of transactions per client: {transactions}")?;
                let wanted = transactions * u64::from(load.clients);
                writeln!(out, "number of transactions actually processed: {}/{wanted}", total.done)?;
            }
            End::Duration(duration) => {
                writeln!(out, "duration: {} s", duration.as_secs())?;
                writeln!(out, "number of transactions actually processed: {}", total.done)?;
            }
            End::WithOthers => {}
        }
        // What follows would divide by nothing.
        if total.total() == 0 {
            return Ok(());
        }
        self.write_failures(out, "", &total, total.total())?;
        if let Some(limit) = load.latency_limit {
            let limit_ms = limit.as_secs_f64() * 1e3;
            let (late, done) = (total.late, total.done);
            let share = percent(late, done);
            writeln!(
                out,
                "number of transactions above the {limit_ms:.1} ms latency limit: {late}/{done} ({share:.3}%)"
            )?;
        }
        self.write_latency(out, &total)?;
        self.write_rate(out, &total)?;
        self.write_scripts(out, &total)
    }

    fn write_setup(&self, out: &mut String) -> std::fmt::Result {
        let name = match self.scripts {
            [only] => &only.script.name,
            _ => "multiple scripts",
        };
        writeln!(out, "transaction type: {name}")?;
        writeln!(out, "scaling factor: {}", self.scale)?;
        if let Some((method, partitions)) = self.partition {
            writeln!(out, "partition method: {}\npartitions: {partitions}", method.name())?;
        }
        let load = &self.options.load;
        writeln!(out, "query mode: {}", load.mode.name())?;
        writeln!(out, "number of clients: {}", load.clients)?;
        writeln!(out, "number of threads: {}", load.threads)?;
        match load.tries_max {
            Some(tries) => writeln!(out, "maximum number of tries: {tries}"),
            None => Ok(()),
        }
    }

    /// Failures, retries and what was skipped, of all scripts or of one.
    fn write_failures(
        &self,
        out: &mut String,
        indent: &str,
        counts: &Counts,
        total: u64,
    ) -> std::fmt::Result {
        let load = &self.options.load;
        let mut line = |what: &str, count: u64| {
            writeln!(out, "{indent}number of {what}: {count} ({:.3}%)", percent(count, total))
        };
        line("failed transactions", counts.failures())?;
        if load.failures_detailed {
            line("serialization failures", counts.serialization)?;
            line("deadlock failures", counts.deadlock)?;
            if load.continue_on_error {
                line("other failures", counts.other)?;
            }
        }
        if load.tries_max != Some(1) {
            line("transactions retried", counts.retried)?;
            writeln!(out, "{indent}total number of retries: {}", counts.retries)?;
        }
        if load.rate.is_some() && load.latency_limit.is_some() {
            let (skipped, share) = (counts.skipped, percent(counts.skipped, total));
            writeln!(out, "{indent}number of transactions skipped: {skipped} ({share:.3}%)")?;
        }
        Ok(())
    }

    fn write_latency(&self, out: &mut String, total: &Counts) -> std::fmt::Result {
        let load = &self.options.load;
        // Every transaction's latency was looked at.
        if load.rate.is_some() || self.options.progress.is_some() || load.latency_limit.is_some() {
            write_spread(out, "", &total.latency)?;
        } else {
            // No latency was looked at: it follows from the time that the clients took.
            let mean_ms = self.took.as_secs_f64() * 1e3 * f64::from(load.clients) / total.total() as f64;
            let failed = if total.failures() > 0 { " (including failures)" } else { "" };
            writeln!(out, "latency average = {mean_ms:.3} ms{failed}")?;
        }
        if load.rate.is_some() {
            let mean_ms = total.lag.sum_us / 1e3 / total.done as f64;
            let max_ms = total.lag.max_us / 1e3;
            writeln!(out, "rate limit schedule lag: avg {mean_ms:.3} (max {max_ms:.3}) ms")?;
        }
        Ok(())
    }

    fn write_rate(&self, out: &mut String, total: &Counts) -> std::fmt::Result {
        let tps = total.done as f64 / self.took.as_secs_f64();
        if self.options.load.connects_each {
            let ended = (total.done + total.failures()) as f64;
            writeln!(out, "average connection time = {:.3} ms", total.connections.sum_us / 1e3 / ended)?;
            writeln!(out, "tps = {tps:.6} (including reconnection times)")
        } else {
            let connecting_ms = self.connecting.as_secs_f64() * 1e3;
            writeln!(out, "initial connection time = {connecting_ms:.3} ms")?;
            writeln!(out, "tps = {tps:.6} (without initial connection time)")
        }
    }

    fn write_scripts(&self, out: &mut String, total: &Counts) -> std::fmt::Result {
        let several = self.scripts.len() > 1;
        let weights: f64 = self.scripts.iter().map(|script| f64::from(script.weight)).sum();
        for ((number, script), counts) in (1..).zip(self.scripts).zip(self.counts) {
            if several {
                let share = 100.0 * f64::from(script.weight) / weights;
                writeln!(out, "SQL script {number}: {}", script.script.name)?;
                writeln!(out, " - weight: {} (targets {share:.1}% of total)", script.weight)?;
                self.write_script(out, counts, total)?;
            }
            if self.options.load.time_commands {
                self.write_commands(out, script, counts, if several { " - " } else { "" })?;
            }
        }
        Ok(())
    }

    fn write_script(&self, out: &mut String, counts: &Counts, total: &Counts) -> std::fmt::Result {
        let ended = counts.total();
        writeln!(out, " - {ended} transactions ({:.1}% of total)", percent(ended, total.total()))?;
        if ended > 0 {
            let tps = counts.done as f64 / self.took.as_secs_f64();
            let done = counts.done;
            writeln!(out, " - number of transactions actually processed: {done} (tps = {tps:.6})")?;
            self.write_failures(out, " - ", counts, ended)?;
        }
        write_spread(out, " - ", &counts.latency)
    }

    fn write_commands(
        &self,
        out: &mut String,
        script: &WeightedScript,
        counts: &Counts,
        indent: &str,
    ) -> std::fmt::Result {
        let retries = self.options.load.tries_max != Some(1);
        let beside = if retries { ", failures and retries" } else { " and failures" };
        writeln!(out, "{indent}statement latencies in milliseconds{beside}:")?;
        let nothing = CommandCounts::default();
        for (index, command) in script.script.commands.iter().enumerate() {
            let CommandCounts { count, sum_us, failures, retries: again } =
                counts.commands.get(index).unwrap_or(&nothing);
            let mean_ms = if *count > 0 { sum_us / 1e3 / *count as f64 } else { 0.0 };
            write!(out, "   {mean_ms:11.3}  {failures:10} ")?;
            if retries {
                write!(out, "{again:10} ")?;
            }
            writeln!(out, "{}", command.first_line)?;
        }
        Ok(())
    }
}

/// As `-M` has it.
fn write_spread(out: &mut String, indent: &str, times: &LatencySpread) -> std::fmt::Result {
    match times.mean_and_deviation_ms() {
        Some((mean_ms, deviation_ms)) => {
            writeln!(out, "{indent}latency average = {mean_ms:.3} ms")?;
            writeln!(out, "{indent}latency stddev = {deviation_ms:.3} ms")
        }
        None => Ok(()),
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
