// What a transaction cost each server, and what a row takes on disk: the figures that explain a result.

import type { Costs, Size, StageResult } from "../document";
import { type Child, el, type Row, section, table } from "../dom";
import { bytes, counted, estimated, latency, long } from "../format";
import { kindText, standingFor, unitOf } from "../reading";
import { type Lane, type Scene, seriesNames, seriesOfLane } from "../scene";

type Source = "disk_source" | "disk_operations_source";
type Cost = Exclude<keyof Costs, Source>;

const COSTS: [Cost, string, (value: number) => string][] = [
  ["server_cpu_us", "server's CPU", latency],
  ["host_cpu_us", "CPU of its whole host", latency],
  ["disk_write_bytes", "written to disk", bytes],
  ["disk_read_bytes", "read from disk", bytes],
  ["disk_write_operations", "disk writes", figure],
  ["disk_read_operations", "disk reads", figure],
  ["wal_bytes", "WAL or redo log", bytes],
  ["network_receive_bytes", "received by network", bytes],
  ["network_transmit_bytes", "sent by network", bytes],
];

/** Whose figure it is. What was counted of other things is not to be divided by each other. */
const SOURCES: Partial<Record<Cost, Source>> = {
  disk_write_bytes: "disk_source",
  disk_read_bytes: "disk_source",
  disk_write_operations: "disk_operations_source",
  disk_read_operations: "disk_operations_source",
};

export function costsSection(scene: Scene): HTMLElement | null {
  const tables = seriesNames(scene).flatMap((name) => seriesTable(scene, name));
  const sizes = sizesTable(scene);
  if (tables.length === 0 && sizes === null) return null;
  return section(
    "costs",
    `What a ${unitOfScene(scene)} cost`,
    el("div", { class: "columns" }, tables, sizes),
  );
}

/** `query` where all stages are of query sets. */
function unitOfScene(scene: Scene): string {
  const stages = scene.reports.flatMap(({ stages }) => stages);
  return stages.length > 0 && stages.every((stage) => unitOf(stage) === "query") ? "query" : "transaction";
}

function seriesTable(scene: Scene, name: string): HTMLElement[] {
  const columns = scene.lanes.flatMap((lane) => {
    const series = seriesOfLane(lane, name);
    const stage = series === undefined ? null : standingFor(lane.report, series);
    return series === undefined ? [] : [{ lane, stage }];
  });
  if (columns.every(({ stage }) => stage?.costs == null)) return [];
  const rows: Row[] = [
    {
      class: "at",
      cells: [
        "measured in",
        ...columns.map(({ stage }) => (stage === null ? unknown("nothing was measured") : stageName(stage))),
        ...(columns.length === 2 ? [""] : []),
      ],
    },
    ...COSTS.flatMap(([key, label, format]) =>
      costRow(
        columns.map(({ stage }) => stage?.costs?.[key] ?? null),
        label,
        format,
        sourcesOf(
          key,
          columns.map(({ stage }) => stage?.costs ?? null),
        ),
      ),
    ),
    {
      class: "at",
      cells: [
        "disk traffic of",
        ...columns.map(({ stage }) => diskSource(stage?.costs ?? null)),
        ...(columns.length === 2 ? [""] : []),
      ],
    },
  ];
  const measured = columns.find(({ stage }) => stage !== null)?.stage;
  const unit = measured == null ? "transaction" : unitOf(measured);
  const head = [
    { label: `per ${unit}` },
    ...headings(
      columns.map(({ lane }) => lane),
      scene,
    ),
  ];
  return [el("div", {}, el("h3", {}, name), table(`Costs of a ${unit}, ${name}`, head, rows))];
}

/** A cost that is known of none says nothing. */
function costRow(
  values: (number | null)[],
  label: string,
  format: (value: number) => string,
  sources: (string | null)[],
): Row[] {
  if (values.every((value) => value === null)) return [];
  const comparable = new Set(sources).size === 1;
  const ratio = values.length === 2 ? [comparable ? ratioOf(values[0] ?? null, values[1] ?? null) : ""] : [];
  // What is a device's of some and a server's own of others stands in one row, and is not one thing.
  const whose = (at: number): string => (!comparable && sources[at] === "disk" ? " (device)" : "");
  return [
    {
      cells: [
        label,
        ...values.map((value, at) => (value === null ? unknown("not read") : `${format(value)}${whose(at)}`)),
        ...ratio,
      ],
    },
  ];
}

/** Of what a cost was counted on each side; nothing where it is always one thing. */
function sourcesOf(key: Cost, all: (Costs | null)[]): (string | null)[] {
  const source = SOURCES[key];
  return all.map((costs) => (source === undefined ? null : (costs?.[source] ?? null)));
}

function stageName(stage: StageResult): string {
  const load = stage.arrival === "open" ? `${long(stage.rate_per_s)}/s` : counted(stage.clients, "client");
  return `${stage.kind === "ladder" ? "rung" : kindText(stage)}, ${load}`;
}

function diskSource(costs: Costs | null): Child {
  const sources: Record<string, string> = {
    server: "its own processes",
    cgroup: "its cgroup",
    disk: "the whole device",
  };
  const names = [costs?.disk_source, costs?.disk_operations_source].filter((source) => source != null);
  const [bytesOf, ...operationsOf] = [...new Set(names)].map((source) => sources[source] ?? source);
  if (bytesOf === undefined) return unknown("its disks were not read");
  return [bytesOf, ...operationsOf.map((whose) => `operations: ${whose}`)].join("; ");
}

function sizesTable(scene: Scene): HTMLElement | null {
  const workloads = [
    ...new Set(scene.reports.flatMap((report) => report.sizes.map(({ workload }) => workload))),
  ];
  if (workloads.length === 0) return null;
  const rows = workloads.flatMap((workload) => {
    const sizes = scene.lanes.map(
      (lane) =>
        lane.report.sizes.find((size) => size.target === lane.target.name && size.workload === workload) ??
        null,
    );
    const row = (
      label: string,
      of: (size: Size) => number,
      format: (value: number) => string,
      isCounted: (size: Size) => boolean = (size) => size.rows_counted,
    ): Row => {
      const values = sizes.map((size) => (size === null ? null : of(size)));
      const ratio = values.length === 2 ? [ratioOf(values[0] ?? null, values[1] ?? null)] : [];
      return {
        cells: [
          `${workload}: ${label}`,
          ...sizes.map((size) =>
            size === null
              ? unknown("its rows or tables were not counted")
              : estimated(format(of(size)), isCounted(size)),
          ),
          ...ratio,
        ],
      };
    };
    return [
      row("rows of all tables", ({ rows: count }) => count, long),
      row(
        "tables and indexes",
        (size) => size.bytes,
        bytes,
        () => true,
      ),
      row("bytes per row", (size) => size.bytes_per_row, figure),
    ];
  });
  const head = [{ label: "on disk" }, ...headings(scene.lanes, scene)];
  return el("div", {}, el("h3", {}, "Data"), table("What the data take on disk", head, rows));
}

function headings(lanes: Lane[], scene: Scene): { label: string; figures: boolean; title?: string }[] {
  const names = lanes.map((lane) => ({ label: scene.lanes.length > 1 ? lane.label : "", figures: true }));
  const [first, second] = lanes;
  if (lanes.length !== 2 || first === undefined || second === undefined) return names;
  return [
    ...names,
    {
      label: `${second.label} / ${first.label}`,
      figures: true,
      title: "the second divided by the first; no interval is known",
    },
  ];
}

function ratioOf(first: number | null, second: number | null): Child {
  if (first === null || second === null || !(first > 0)) return "";
  const ratio = second / first;
  return `${ratio >= 9.95 ? ratio.toFixed(0) : ratio.toFixed(ratio >= 0.995 ? 1 : 2)}×`;
}

function unknown(why: string): Child {
  return el("span", { class: "unknown", title: why }, "unknown");
}

/** Small figures keep their digits: half a disk write is a figure too. */
function figure(value: number): string {
  return value < 0.01 && value > 0 ? value.toPrecision(2) : long(value);
}
