// Which charts over time there are for the lanes that are shown, and with which curves. A page with one target has a
// few charts of several curves; with more targets every chart has one figure and a curve for each of them. What cannot
// be told of a lane is said by name, with the reason.

import { placed } from "../align";
import type { Metric } from "../document";
import { bytes, bytesPerSecond, cores, latency, long, share } from "../format";
import type { Lane, Scene } from "../scene";
import type { Colour } from "../theme";
import { failed, latencyPanel, pool, poolFigure, throughput, transactions } from "./load";
import { alone, lookOf, type Machine, machineOf, machinesOf, namesOf } from "./machines";
import {
  CPU_STATES,
  type Group,
  LABELLED_CHARTS,
  type LabelledChart,
  METRIC_CHARTS,
  type MetricChart,
  OWN_CHARTS,
  type Part,
} from "./metrics";
import {
  type CurveLook,
  curveOf,
  known,
  type Panel,
  type PlacedLane,
  panel,
  type TimeCurve,
  unknownOf,
  whyUnknown,
} from "./parts";
import { stacked } from "./scale";

export interface Drawn {
  panels: Panel[];
  /** Charts that were to be shown and of which nothing is known, with the reason. */
  missing: string[];
}

/** Classes of waits, or tables, that are drawn; the rest would only be noise. */
const LABELS_MAX = 6;
/** Each of them has another tint of one colour. */
const TINT_STEP = 0.15;

/** What is shown; what is read of a server is that of all its streams, and drawn once for its target. */
export interface Shown {
  lanes: PlacedLane[];
  targets: PlacedLane[];
}

/** The charts of a scene, of which some lanes may be hidden. */
export function panelsOf(
  scene: Pick<Scene, "lanes" | "streams">,
  { lanes: streams, targets: lanes }: Shown,
  shown: (chart: string) => boolean,
): Drawn {
  const several = scene.lanes.length > 1;
  const load = [streams, scene.streams.length > 1] as const;
  const panels: Panel[] = [];
  const missing: string[] = [];
  const add = (title: string, made: Panel[], why: string | null) => {
    const known = made.filter((panel) => panel.curves.length > 0);
    panels.push(...known);
    if (known.length === 0 && why !== null) missing.push(`${title} (${why})`);
  };
  const own: Record<string, () => Panel[]> = {
    throughput: () => [throughput(...load)],
    transactions: () => transactions(...load),
    latency: () => [latencyPanel(...load)],
    median: () =>
      load[1]
        ? [
            {
              ...latencyPanel(...load, "p50_us"),
              id: "median",
              chart: "median",
              wide: false,
              height: 104,
            },
          ]
        : [],
    failed: () => [failed(...load)],
    pool: () => pool(...load),
    waiting: () => [
      poolFigure(...load, "waiting", "Clients waiting for a connection", "clients", "waiting", long),
    ],
    wait: () => [poolFigure(...load, "wait", "Wait for a connection", "p99", "wait_p99_us", latency)],
    cpu: () =>
      [...machinesOf(lanes, "host"), ...machinesOf(lanes, "driver")].flatMap((machine) =>
        cpu(machine, several),
      ),
    tables: () => tables(lanes, several),
  };
  for (const chart of LABELLED_CHARTS) {
    own[chart.id] = () => lanes.map((lane) => byLabel(chart, lane, several));
  }
  for (const group of ["load", "host", "database", "driver"]) {
    for (const chart of OWN_CHARTS.filter((candidate) => candidate.group === group && shown(candidate.id))) {
      const quiet = ["transactions", "median", "failed", "pool", "waiting", "wait"].includes(chart.id);
      const why = quiet ? null : reasons(lanes, chart.group);
      add(chart.title, own[chart.id]?.() ?? [], why);
    }
    for (const chart of METRIC_CHARTS.filter(
      (candidate) => candidate.group === group && shown(candidate.id),
    )) {
      add(chart.title, metricPanels(chart, lanes, several), reasons(lanes, chart.group));
    }
  }
  return { panels, missing };
}

function reasons(lanes: PlacedLane[], group: Group): string {
  return [...new Set(lanes.map(({ lane }) => whyUnknown(lane, group)))].join("; ");
}

/** Shares of all processors, stacked, to the whole of a machine: one chart for each. */
function cpu({ of, placedLane, lanes }: Machine, several: boolean): Panel[] {
  const { lane } = placedLane;
  const parts = CPU_STATES.flatMap((part) => {
    const metric = find(lane, part.key, of ?? undefined);
    return metric === undefined ? [] : [{ metric, part }];
  });
  const curves = stack(placedLane, parts, several ? (lanes.length > 1 ? "muted" : lane.colour) : null, share);
  const shared = lane.target.same_host === true;
  const whose =
    of === "driver" ? "the driver's host" : shared ? "the host shared with the driver" : "the server's host";
  const title = several ? `CPU, ${namesOf(lanes)}: ${whose}` : `CPU, ${whose}`;
  // One machine has one chart, whichever of its targets are shown.
  const id = `cpu-${of}-${lanes.map(({ key }) => key).join("+")}`;
  const group = of === "driver" ? "driver" : "host";
  const made = panel(id, title, "share of all processors", group, {
    chart: "cpu",
    axis: "share",
    stacked: true,
    curves,
  });
  return curves.length === 0 ? [] : [made];
}

/** What is told of each of several kinds, the largest first. */
function byLabel(chart: LabelledChart, placedLane: PlacedLane, several: boolean): Panel {
  const { lane } = placedLane;
  const sum = (metric: Metric) => metric.values.reduce((total, value) => total + (value > 0 ? value : 0), 0);
  const found = labelled(lane, chart.base)
    .filter(({ metric }) => sum(metric) > 0)
    .sort((a, b) => sum(b.metric) - sum(a.metric));
  const parts = found.slice(0, LABELS_MAX).map(({ label, metric }): { metric: Metric; part: Part } => ({
    metric,
    part: { key: metric.key, label, colour: "series-1" },
  }));
  const left = found.length > LABELS_MAX ? [`and ${found.length - LABELS_MAX} ${chart.rest}`] : [];
  const format = found[0] === undefined ? long : formatOf(found[0].metric.unit);
  return panel(
    `${chart.id}-${lane.key}`,
    several ? `${chart.title}, ${lane.label}` : chart.title,
    chart.unit,
    "database",
    { chart: chart.id, stacked: true, curves: stack(placedLane, parts, lane.colour, format), unknown: left },
  );
}

/** Areas on top of each other: in tints of a colour, or in the colours of their parts. */
function stack(
  { placing }: PlacedLane,
  parts: { metric: Metric; part: Part }[],
  tinted: Colour | null,
  format: (value: number) => string,
): TimeCurve[] {
  const first = parts[0];
  if (first === undefined) return [];
  const alike = parts.filter(({ metric }) => metric.t_s.length === first.metric.t_s.length);
  const { x, columns } = placed(
    first.metric.t_s,
    alike.map(({ metric }) => metric.values),
    placing,
  );
  const sums = stacked(columns);
  return alike.map(({ part }, index) => ({
    label: part.label,
    colour: tinted ?? part.colour,
    tint: tinted !== null ? 0.88 - index * TINT_STEP : 0.75,
    width: 0.75,
    format,
    x,
    drawn: sums[index] ?? new Float64Array(0),
    values: columns[index] ?? new Float64Array(0),
    side: "left",
  }));
}

function tables(lanes: PlacedLane[], several: boolean): Panel[] {
  const names = new Map<string, number>();
  for (const { lane } of lanes) {
    for (const { label, metric } of labelled(lane, "table_bytes")) {
      names.set(
        label,
        Math.max(names.get(label) ?? 0, metric.values.findLast((value) => !Number.isNaN(value)) ?? 0),
      );
    }
  }
  const largest = [...names]
    .sort((a, b) => b[1] - a[1])
    .slice(0, LABELS_MAX)
    .map(([name]) => name);
  const parts = (name: string): Part[] => [
    { key: `table_bytes[${name}]`, label: "table", colour: "series-1" },
    { key: `index_bytes[${name}]`, label: "indexes", colour: "series-3", dash: [6, 3] },
  ];
  return largest.flatMap((name) =>
    metricPanels(
      {
        id: `table-${name}`,
        title: name,
        unit: "bytes on disk",
        group: "database",
        usual: true,
        axis: "zero",
        parts: parts(name),
      },
      lanes,
      several,
    )
      .filter((one) => one.curves.length > 0)
      .map((one) => ({ ...one, chart: "tables" })),
  );
}

function metricPanels(chart: MetricChart, lanes: PlacedLane[], several: boolean): Panel[] {
  const of = (part: Part, placedLane: PlacedLane, own: CurveLook): TimeCurve[] => {
    const metric = find(placedLane.lane, part.key);
    if (metric === undefined) return [];
    const { x, columns } = placed(metric.t_s, [metric.values], placedLane.placing, metric.unit === "bytes");
    return columns.map((values) => curveOf(x, values, { ...own, width: 1.5, format: formatOf(metric.unit) }));
  };
  const make = (id: string, title: string, curves: TimeCurve[], told: PlacedLane[]): Panel => {
    const reach = chart.unit === "cores" ? reachOf(lanes) : undefined;
    const rest = {
      chart: chart.id,
      axis: chart.axis,
      curves,
      unknown: unknownOf(lanes, told, chart.group, several),
    };
    return panel(id, title, chart.unit, chart.group, reach === undefined ? rest : { ...rest, reach });
  };
  if (!several) {
    const curves = chart.parts.flatMap((part) => lanes.flatMap((lane) => of(part, lane, part)));
    return [make(chart.id, chart.title, curves, lanes)];
  }
  return chart.parts.map((part) => {
    const title = part.label === "" ? chart.title : `${chart.title}, ${part.label}`;
    const id = part.label === "" ? chart.id : `${chart.id}-${part.label}`;
    const whose = machineOf(part.key);
    const machines = whose === null ? lanes.map(alone) : machinesOf(lanes, whose);
    const drawn = machines.flatMap((machine) =>
      of(part, machine.placedLane, lookOf(machine, machines.length === 1)).map((curve) => ({
        curve,
        machine,
      })),
    );
    const told = lanes.filter(({ lane }) => drawn.some(({ machine }) => machine.lanes.includes(lane)));
    return make(
      id,
      title,
      drawn.map(({ curve }) => curve),
      told,
    );
  });
}

/** All processors that any of the servers may use. */
function reachOf(lanes: PlacedLane[]): number | undefined {
  const known = lanes.flatMap(({ lane }) => {
    const host = lane.report.hosts.find((candidate) => candidate.roles.includes(lane.target.name));
    return host?.cpus_limit ?? host?.cpus ?? [];
  });
  return known.length === 0 ? undefined : Math.max(...known);
}

function find(lane: Lane, key: string, source?: string): Metric | undefined {
  const readings = (lane.timeline?.metrics ?? []).filter(
    (metric) => metric.key === key && known(metric.values),
  );
  if (source !== undefined) return readings.find((metric) => metric.source === source);
  return readings.find((metric) => metric.source !== "driver") ?? readings[0];
}

/** Metrics of a key that ends in a label: `waits_sessions[Lock]`. */
function labelled(lane: Lane, base: string): { label: string; metric: Metric }[] {
  return (lane.timeline?.metrics ?? []).flatMap((metric) => {
    const label =
      metric.key.startsWith(`${base}[`) && metric.key.endsWith("]")
        ? metric.key.slice(base.length + 1, -1)
        : null;
    return label === null || !known(metric.values) ? [] : [{ label, metric }];
  });
}

function formatOf(unit: string): (value: number) => string {
  const formats: Record<string, (value: number) => string> = {
    share,
    cores,
    bytes,
    "bytes/s": bytesPerSecond,
    connections: long,
    sessions: long,
    checkpoints: long,
    operations: long,
    seconds: (value) => latency(value * 1e6),
    "s/s": long,
  };
  return formats[unit] ?? ((value) => `${long(value)}/s`);
}
