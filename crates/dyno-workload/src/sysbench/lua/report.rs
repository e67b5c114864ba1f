//! What a report hook is handed: `sysbench.hooks.report_intermediate` and `report_cumulative`.

use std::time::Duration;

use mlua::{Lua, Table};

use crate::sysbench::counters::Snapshot;

/// A report on an interval, or on the whole run.
#[derive(Debug, Clone, Copy)]
pub struct LuaReport<'a> {
    pub counts: &'a Snapshot,
    /// Since the run began.
    pub total: Duration,
    /// That the counts are of.
    pub interval: Duration,
    pub threads_running: u32,
    /// The percentile of the event latency that the run reports.
    pub percentile: f64,
    /// Under `--rate`, in intermediate reports: events that wait, and events under way.
    pub queue: Option<(u64, u64)>,
    /// For the hook of whole reports, with the extremes of the latencies.
    pub is_cumulative: bool,
}

impl LuaReport<'_> {
    pub(super) fn hook(&self) -> &'static str {
        if self.is_cumulative { "report_cumulative" } else { "report_intermediate" }
    }

    pub(super) fn to_lua(self, lua: &Lua) -> mlua::Result<Table> {
        let Snapshot { events, reads, writes, other, ignored_errors, reconnects, latencies, .. } =
            self.counts;
        let table = lua.create_table_from([
            ("threads_running", f64::from(self.threads_running)),
            ("events", *events as f64),
            ("reads", *reads as f64),
            ("writes", *writes as f64),
            ("other", *other as f64),
            ("errors", *ignored_errors as f64),
            ("reconnects", *reconnects as f64),
            ("time_total", self.total.as_secs_f64()),
            ("time_interval", self.interval.as_secs_f64()),
            ("latency_pct", latencies.percentile_ms(self.percentile) / 1e3),
        ])?;
        if let Some((length, concurrency)) = self.queue {
            table.set("queue_length", length as f64)?;
            table.set("concurrency", concurrency as f64)?;
        }
        if self.is_cumulative {
            let (min_ns, max_ns) = latencies.extremes_ns.unwrap_or_default();
            let sum_s = latencies.sum_ns as f64 / 1e9;
            table.set("latency_min", min_ns as f64 / 1e9)?;
            table.set("latency_max", max_ns as f64 / 1e9)?;
            table.set("latency_avg", sum_s / (*events).max(1) as f64)?;
            table.set("latency_sum", sum_s)?;
        }
        Ok(table)
    }
}
