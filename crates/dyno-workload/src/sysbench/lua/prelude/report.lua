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

local print_out = core.print_out

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

-- One array of the reports while the load runs, and one of the report at its end.
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

-- Histograms of a script's own: `size` values from `low` to `high`, each so many times the one before.
local histogram = {}
sysbench.histogram = {}

function sysbench.histogram.new(size, low, high)
   size, low, high = tonumber(size), tonumber(low), tonumber(high)
   if not (size and low and high and size >= 2 and size <= 1e6 and low > 0 and high > low) then
      error("histogram.new(size, low, high): size is 2 to 1000000, and 0 < low < high", 2)
   end
   return setmetatable({ low = low, step = math.log(high / low) / (size - 1), last = size - 1, counts = {}, recent = {} },
      { __index = histogram, __tostring = function() return "<sb_histogram>" end })
end

-- Values beyond the ends count as the ends.
function histogram:update(value)
   local at = math.floor(math.log(tonumber(value) / self.low) / self.step + 0.5)
   at = at > 0 and math.min(at, self.last) or 0
   self.counts[at] = (self.counts[at] or 0) + 1
   self.recent[at] = (self.recent[at] or 0) + 1
end

-- The value below which so many percent of the counted values are: the middle of its bucket, and the lowest of none at all.
local function percentile(self, counts, percent)
   local total, seen = 0, 0
   for _, count in pairs(counts) do
      total = total + count
   end
   local wanted = math.floor(total * percent / 100 + 0.5)
   for at = 0, self.last do
      seen = seen + (counts[at] or 0)
      if seen >= wanted then
         return self.low * math.exp(at * self.step)
      end
   end
end

-- As C functions of sysbench: of the values since one of these functions was last called; of all; of all, which are then
-- forgotten.
core.histogram_percentiles = {
   intermediate = function(self, percent)
      local recent = self.recent
      self.recent = {}
      return percentile(self, recent, percent)
   end,
   cumulative = function(self, percent)
      self.recent = {}
      return percentile(self, self.counts, percent)
   end,
   checkpoint = function(self, percent)
      local counts = self.counts
      self.counts, self.recent = {}, {}
      return percentile(self, counts, percent)
   end,
}

function histogram:print()
   local most = 0
   for _, count in pairs(self.counts) do
      most = math.max(most, count)
   end
   print_out("       value  ------------- distribution ------------- count\n")
   for at = 0, self.last do
      local count = self.counts[at]
      if count then
         local bar = string.rep("*", math.floor(count / most * 40 + 0.5))
         print_out(format("%12.3f |%-40s %d\n", self.low * math.exp(at * self.step), bar, count))
      end
   end
end
