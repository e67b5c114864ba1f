-- What report hooks may call to print their figures: as lines, as CSV, as JSON.
local core = ...

local format = string.format
local sysbench = core.sysbench

-- Rates over the interval that the figures are of.
local function rates(stat)
   local seconds = stat.time_interval
   local function rate(count)
      return seconds > 0 and count / seconds or 0
   end
   return {
      events = rate(stat.events),
      queries = rate(stat.reads + stat.writes + stat.other),
      reads = rate(stat.reads),
      writes = rate(stat.writes),
      other = rate(stat.other),
      errors = rate(stat.errors),
      reconnects = rate(stat.reconnects),
      latency_ms = stat.latency_pct * 1000,
   }
end

local function print_out(text)
   io.stdout:write(text)
end

function sysbench.report_csv(stat)
   local per_s = rates(stat)
   print_out(format("%.0f,%u,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n", stat.time_total, stat.threads_running,
      per_s.events, per_s.queries, per_s.reads, per_s.writes, per_s.other, per_s.latency_ms, per_s.errors,
      per_s.reconnects))
end

local json = [[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

local in_json = false

-- One array of all reports; its end is printed with the end of the run.
function sysbench.report_json(stat)
   local per_s = rates(stat)
   print_out(in_json and ",\n" or "[\n")
   in_json = true
   print_out(format(json, stat.time_total, stat.threads_running, per_s.events, per_s.queries, per_s.reads,
      per_s.writes, per_s.other, per_s.latency_ms, per_s.errors, per_s.reconnects))
end

function core.end_reports()
   if in_json then
      print_out("\n]\n")
   end
   in_json = false
end

function sysbench.report_default(stat)
   local per_s = rates(stat)
   print_out(format("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f "
      .. "err/s %4.2f reconn/s: %4.2f\n", stat.time_total, stat.threads_running, per_s.events, per_s.queries,
      per_s.reads, per_s.writes, per_s.other, core.setup.percentile or 95, per_s.latency_ms, per_s.errors,
      per_s.reconnects))
end
