// What is drawn over time for a target: which panels there are, and with which curves. Panels share the time
// axis, the cursor and the zoom; `TimeView` holds what they share and `panel.ts` draws them.

import type { Metric, Report, Series, StageResult, Timeline } from "../document";
import { bytesPerSecond, cores, latency, long, share } from "../format";
import { seriesColour, seriesTitle } from "../reading";
import type { Curve } from "./chart";
import { splitByStage, stacked } from "./scale";

export type Column = (number | null)[];

/** A curve with its points. */
export interface TimeCurve extends Curve {
  /** As drawn: in a stack, on top of those before it. */
  drawn: Column;
  /** As measured. */
  values: Column;
  /** The axis it stands on: right only where series are of very different height. */
  side: "left" | "right";
}

/** One strip of the chart over time. */
export interface Panel {
  id: string;
  title: string;
  unit: string;
  height: number;
  axis: "zero" | "log" | "share";
  /** Least upper end of an axis from zero, such as all cores of the host. */
  reach?: number;
  stacked: boolean;
  t: number[];
  curves: TimeCurve[];
}

/** Series whose throughput differs by more than this stand on axes of their own. */
const OWN_AXIS_RATIO = 4;

export function panelsOf(report: Report, timeline: Timeline): Panel[] {
  const panels: (Panel | null)[] = [throughputPanel(report, timeline), latencyPanel(timeline)];
  const sources = new Set(timeline.metrics.map((metric) => metric.source));
  for (const source of ["host", "driver"].filter((name) => sources.has(name))) {
    panels.push(cpuPanel(report, timeline, source));
  }
  panels.push(
    coresPanel(report, timeline),
    metricPanel(timeline, "disk", "Disk and WAL", "bytes per second", 110, [
      ["disk_write_bytes_per_s", "written", "series-2", undefined],
      ["disk_read_bytes_per_s", "read", "series-1", undefined],
      ["wal_bytes_per_s", "WAL", "series-3", [5, 3]],
    ]),
    metricPanel(timeline, "operations", "Disk operations", "per second", 96, [
      ["disk_write_operations_per_s", "writes", "series-2", undefined],
      ["disk_read_operations_per_s", "reads", "series-1", undefined],
    ]),
    cachePanel(timeline),
  );
  return panels.filter((panel): panel is Panel => panel !== null && panel.curves.length > 0);
}

/** Metrics that the page would draw and the run does not have, by name. */
export function missingOf(timeline: Timeline): string[] {
  const wanted: [string, string][] = [
    ["cpu_user_share", "CPU of the host"],
    ["server_cpu_cores", "CPU of the server"],
    ["driver_cpu_cores", "CPU of the driver"],
    ["disk_write_bytes_per_s", "disk bytes"],
    ["disk_write_operations_per_s", "disk operations"],
    ["wal_bytes_per_s", "WAL"],
  ];
  return wanted.filter(([key]) => find(timeline, key) === undefined).map(([, name]) => name);
}

function throughputPanel(report: Report, timeline: Timeline): Panel {
  const { load } = timeline;
  const stages = new Map(report.stages.map((stage) => [stage.id, stage]));
  const series = report.series.filter((candidate) => candidate.target === timeline.target);
  const columns = series.map((one) =>
    load.tps.map((tps, row) => (belongs(stages.get(load.stage[row] ?? -1), one) ? tps : null)),
  );
  const anyFailed = load.failed_per_s.some((rate) => rate > 0);
  if (anyFailed) columns.push([...load.failed_per_s]);
  const split = splitByStage(load.t_s, load.stage, columns);
  const tallest = Math.max(...split.columns.map(greatest));
  const curves = split.columns.map((values, index): TimeCurve => {
    const one = series[index];
    if (one === undefined) {
      return { ...plain(values), label: "failed", colour: "bad", width: 1.5, dash: [2, 2], format: long };
    }
    const small = greatest(values) * OWN_AXIS_RATIO < tallest;
    return {
      ...plain(values),
      label: seriesTitle(report, one),
      colour: seriesColour(report, one),
      width: 1.75,
      fill: 0.1,
      format: long,
      side: small ? "right" : "left",
    };
  });
  return { ...shape("throughput", "Throughput", "TPS", 190), t: split.t, curves };
}

function belongs(stage: StageResult | undefined, series: Series): boolean {
  return stage?.target === series.target && stage.series === series.name;
}

function latencyPanel(timeline: Timeline): Panel {
  const { load } = timeline;
  const curves: [string, Column, Partial<Curve>][] = [
    ["p50", load.p50_us, { colour: "latency-1", width: 2 }],
    ["p95", load.p95_us, { colour: "latency-2", width: 1.5 }],
    ["p99", load.p99_us, { colour: "latency-2", width: 1.5, dash: [6, 3] }],
    ["max", load.max_us, { colour: "latency-3", width: 1.25, dash: [2, 3] }],
  ];
  const split = splitByStage(
    load.t_s,
    load.stage,
    curves.map(([, column]) => column.map((value) => (value !== null && value > 0 ? value : null))),
  );
  return {
    ...shape("latency", "Latency", "log scale", 170),
    axis: "log",
    t: split.t,
    curves: curves.map(([label, , look], index) => ({
      ...plain(split.columns[index] ?? []),
      label,
      colour: "series-1",
      format: latency,
      ...look,
    })),
  };
}

/** Shares of all processors, stacked, to the whole of the host. */
function cpuPanel(report: Report, timeline: Timeline, source: string): Panel | null {
  const parts: [string, string, Curve["colour"]][] = [
    ["cpu_user_share", "user", "cpu-user"],
    ["cpu_system_share", "system", "cpu-system"],
    ["cpu_iowait_share", "iowait", "series-2"],
    ["cpu_steal_share", "steal", "series-4"],
  ];
  const found = parts.flatMap(([key, label, colour]) => {
    const metric = find(timeline, key, source);
    return metric === undefined ? [] : [{ metric, label, colour }];
  });
  const first = found[0];
  if (first === undefined) return null;
  const alike = found.filter(({ metric }) => metric.values.length === first.metric.values.length);
  const sums = stacked(alike.map(({ metric }) => metric.values));
  const shared = report.targets.find((target) => target.name === timeline.target)?.same_host === true;
  const whose = source === "driver" ? "driver's host" : shared ? "the shared host" : "server's host";
  return {
    ...shape(`cpu-${source}`, `CPU, ${whose}`, "share of all processors", 120),
    axis: "share",
    stacked: true,
    t: first.metric.t_s,
    curves: alike.map(({ metric, label, colour }, index) => ({
      label,
      colour,
      width: 0.75,
      fill: 0.75,
      format: share,
      drawn: sums[index] ?? [],
      values: metric.values,
      side: "left",
    })),
  };
}

function coresPanel(report: Report, timeline: Timeline): Panel | null {
  const panel = metricPanel(timeline, "cores", "CPU, processes", "cores", 110, [
    ["server_cpu_cores", "server", "series-1", undefined],
    ["driver_cpu_cores", "driver", "series-2", [6, 3]],
  ]);
  const host = report.hosts.find((candidate) => candidate.roles.includes(timeline.target));
  const reach = host?.cpus_limit ?? host?.cpus;
  if (panel === null || reach == null) return panel;
  return { ...panel, reach };
}

function cachePanel(timeline: Timeline): Panel | null {
  const panel = metricPanel(timeline, "cache", "Cache hits", "share of block reads", 80, [
    ["cache_hit_share", "found in the server's cache", "series-3", undefined],
  ]);
  return panel === null ? null : { ...panel, axis: "share" };
}

function metricPanel(
  timeline: Timeline,
  id: string,
  title: string,
  unit: string,
  height: number,
  wanted: [string, string, Curve["colour"], number[] | undefined][],
): Panel | null {
  const found = wanted.flatMap(([key, label, colour, dash]) => {
    const metric = find(timeline, key);
    return metric === undefined ? [] : [{ metric, label, colour, dash }];
  });
  if (found.length === 0) return null;
  const { t, columns } = joined(found.map(({ metric }) => metric));
  return {
    ...shape(id, title, unit, height),
    t,
    curves: found.map(({ metric, label, colour, dash }, index) => ({
      ...plain(columns[index] ?? []),
      label,
      colour,
      format: formatOf(metric.unit),
      ...(dash === undefined ? {} : { dash }),
    })),
  };
}

/** Columns of metrics read at different times, on the union of their times. */
function joined(metrics: Metric[]): { t: number[]; columns: Column[] } {
  const first = metrics[0];
  const same = metrics.every((metric) => sameTimes(metric.t_s, first?.t_s ?? []));
  if (first !== undefined && same) return { t: first.t_s, columns: metrics.map((metric) => metric.values) };
  const t = [...new Set(metrics.flatMap((metric) => metric.t_s))].sort((a, b) => a - b);
  const columns = metrics.map((metric) => {
    const at = new Map(metric.t_s.map((time, row) => [time, metric.values[row] ?? null]));
    // Between its own readings a metric goes on; where it was read as unknown it does not.
    let last: number | null = null;
    return t.map((time) => {
      const value = at.get(time);
      if (value !== undefined) last = value;
      return last;
    });
  });
  return { t, columns };
}

function sameTimes(a: number[], b: number[]): boolean {
  return a.length === b.length && a.every((time, row) => time === b[row]);
}

function find(timeline: Timeline, key: string, source?: string): Metric | undefined {
  const readings = timeline.metrics.filter(
    (metric) => metric.key === key && metric.values.some((value) => value !== null),
  );
  if (source !== undefined) return readings.find((metric) => metric.source === source);
  return readings.find((metric) => metric.source !== "driver") ?? readings[0];
}

function formatOf(unit: string): (value: number) => string {
  if (unit === "share") return share;
  if (unit === "cores") return cores;
  if (unit === "bytes/s") return bytesPerSecond;
  return (value) => `${long(value)}/s`;
}

function plain(values: Column): Pick<TimeCurve, "drawn" | "values" | "side"> {
  return { drawn: values, values, side: "left" };
}

function shape(
  id: string,
  title: string,
  unit: string,
  height: number,
): Pick<Panel, "id" | "title" | "unit" | "height" | "axis" | "stacked"> {
  return { id, title, unit, height, axis: "zero", stacked: false };
}

function greatest(column: Column): number {
  return column.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}
