//! What a report hook is handed: `sysbench.hooks.report_intermediate` and `report_cumulative`.

use mlua::{Lua, Table};

/// Counts of an interval, or of the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LuaReport {
    pub threads_running: u64,
    pub events: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: u64,
    pub reconnects: u64,
    /// Seconds since the run began.
    pub time_total_s: f64,
    /// Seconds that the counts are of.
    pub time_interval_s: f64,
    /// The percentile of the event latency that the run reports.
    pub latency_percentile_s: f64,
    /// Under `--rate`, in intermediate reports: events that wait, and events under way.
    pub queue: Option<(u64, u64)>,
    /// In cumulative reports.
    pub latency: Option<ReportLatency>,
}

/// Event latency, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReportLatency {
    pub min_s: f64,
    pub max_s: f64,
    pub average_s: f64,
    pub sum_s: f64,
}

impl LuaReport {
    pub(super) fn to_lua(self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table_from([
            ("threads_running", self.threads_running as f64),
            ("events", self.events as f64),
            ("reads", self.reads as f64),
            ("writes", self.writes as f64),
            ("other", self.other as f64),
            ("errors", self.errors as f64),
            ("reconnects", self.reconnects as f64),
            ("time_total", self.time_total_s),
            ("time_interval", self.time_interval_s),
            ("latency_pct", self.latency_percentile_s),
        ])?;
        if let Some((length, concurrency)) = self.queue {
            table.set("queue_length", length as f64)?;
            table.set("concurrency", concurrency as f64)?;
        }
        if let Some(latency) = self.latency {
            table.set("latency_min", latency.min_s)?;
            table.set("latency_max", latency.max_s)?;
            table.set("latency_avg", latency.average_s)?;
            table.set("latency_sum", latency.sum_s)?;
        }
        Ok(table)
    }
}
