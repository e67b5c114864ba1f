// All stages in figures.

import type { Percentiles, QueryResult, StageResult, TypeResult } from "../document";
import { type Child, type Column, el, orUnknown, type Row, section, table } from "../dom";
import { clock, count, duration, latency, long, relativeError, share } from "../format";
import { arrivalText, clientsText, kindText, latencyOf } from "../reading";
import type { Lane, Scene } from "../scene";

/** Which columns there are beside those that every report has. */
interface Shows {
  late: boolean;
  wait: boolean;
  queries: boolean;
  gaps: boolean;
}

const QUERY_COLUMNS: Column[] = [
  { label: "Reads/s", figures: true, title: "statements that returned rows" },
  { label: "Writes/s", figures: true, title: "statements that changed at least one row" },
  { label: "Other/s", figures: true, title: "all other statements, writes that touched no row among them" },
  { label: "In vain", figures: true, title: "share of the writes that touched no row" },
];

const GAP_COLUMNS: Column[] = [
  { label: "Longest gap", figures: true, title: "the longest time in which no transaction ended well" },
  {
    label: "Recovery",
    figures: true,
    title: "from the end of that gap to 90% of the throughput before it",
  },
];

/** More rows than this scroll in their own frame. */
const ROWS_MAX = 24;

export function stagesSection(scene: Scene): HTMLElement | null {
  const stages = scene.reports.flatMap((report) =>
    report.stages
      .toSorted((a, b) => a.start_s - b.start_s)
      .map((stage) => ({ stage, lane: laneOf(scene, report, stage) })),
  );
  if (stages.length === 0) return null;
  const all = stages.map(({ stage }) => stage);
  const several = scene.lanes.length > 1;
  const shows: Shows = {
    late: all.some((stage) => stage.lag !== null),
    wait: all.some((stage) => stage.wait !== null),
    queries: all.some((stage) => stage.queries !== null),
    gaps: all.some((stage) => (stage.longest_gap_s ?? 0) > 0),
  };
  const columns: Column[] = [
    { label: several ? "Target, stage" : "Stage" },
    { label: "Clients", figures: true },
    { label: "Start", figures: true },
    { label: "Time", figures: true },
    { label: "TPS", figures: true },
    { label: "±", figures: true, title: "half-width of the 95% interval, in percent" },
    { label: "p50", figures: true },
    { label: "p90", figures: true },
    { label: "p95", figures: true },
    { label: "p99", figures: true },
    { label: "p99.9", figures: true },
    { label: "Max", figures: true },
    ...(shows.late ? [{ label: "Lag p99", figures: true, title: "scheduled to sent" }] : []),
    ...(shows.wait
      ? [{ label: "Wait p99", figures: true, title: "for a connection of the pool; a part of the lag" }]
      : []),
    { label: "Done", figures: true, title: "ended well before the time was up" },
    { label: "Failed", figures: true, title: "all that began in the stage" },
    { label: "Retries", figures: true },
    ...(shows.queries ? QUERY_COLUMNS : []),
    ...(shows.gaps ? GAP_COLUMNS : []),
    { label: "Driver CPU", figures: true, title: "of the driver's threads, per transaction or query" },
    { label: "Busiest thread", figures: true, title: "share of its time that the busiest driver thread ran" },
    { label: "Remarks" },
  ];
  const rows = stages.flatMap(({ stage, lane }) => [
    stageRow(stage, several ? (lane?.label ?? stage.target) : null, shows),
    ...typeRows(stage, shows),
  ]);
  const modes = [...new Set(all.map(modeOf))];
  const frame = table("All stages as they ran; warm-ups are left out of every figure", columns, rows);
  if (rows.length > ROWS_MAX) frame.classList.add("tall");
  return section(
    "stages",
    "All stages",
    el(
      "p",
      { class: "lead" },
      `${summaryOf(modes)}. Latency is ${shows.late ? "response time from the intended start in an open loop and over a pool, " : ""}service time${shows.late ? " else" : ""}.`,
    ),
    frame,
  );
}

/** What a stage's clients did, and how: `closed loop, prepared protocol`. */
function modeOf(stage: StageResult): string {
  const over = stage.poller === "uring" ? ", io_uring" : "";
  return `${arrivalText(stage)}, ${stage.protocol} protocol${over}`;
}

function laneOf(scene: Scene, report: Lane["report"], stage: StageResult): Lane | undefined {
  return scene.lanes.find((lane) => lane.report === report && lane.target.name === stage.target);
}

/** A ramp of the rate has a mode for each rung: its ends say enough. */
function summaryOf(modes: string[]): string {
  const [first, last] = [modes[0] ?? "", modes.at(-1) ?? ""];
  return modes.length <= 4 ? modes.join("; ") : `${first}; … ${last}`;
}

function stageRow(stage: StageResult, whose: string | null, shows: Shows): Row {
  const name = `${whose === null ? "" : `${whose} · `}${stage.series} · ${kindText(stage)}`;
  const busy = stage.driver_thread_busy_max;
  const cpu = stage.driver_cpu_us_per_transaction;
  return {
    class: stage.kind,
    cells: [
      name,
      clientsText(stage).replace(/ clients?$/, ""),
      clock(stage.start_s),
      duration(stage.seconds),
      orUnknown(stage.throughput === null ? null : long(stage.throughput.mean)),
      stage.throughput === null ? "" : orUnknown(relativeError(stage.throughput).replace("±", "").trim()),
      ...percentileCells(latencyOf(stage)),
      ...(shows.late ? [stage.lag === null ? "" : latency(stage.lag.p99_us)] : []),
      ...(shows.wait ? [stage.wait === null ? "" : latency(stage.wait.p99_us)] : []),
      count(stage.totals.done),
      count(stage.totals.failed_with_drain),
      count(stage.totals.retries),
      ...(shows.queries ? queryCells(stage.queries) : []),
      ...(shows.gaps ? gapCells(stage) : []),
      orUnknown(cpu === null ? null : latency(cpu)),
      orUnknown(busy === null ? null : share(busy)),
      remarks(stage),
    ],
  };
}

function percentileCells(found: Percentiles | null): Child[] {
  const keys = ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"] as const;
  return keys.map((key) => orUnknown(found === null ? null : latency(found[key])));
}

function queryCells(queries: QueryResult | null): Child[] {
  if (queries === null) return QUERY_COLUMNS.map(() => "");
  const { reads_per_s, writes_per_s, other_per_s, in_vain_share } = queries;
  return [
    ...[reads_per_s, writes_per_s, other_per_s].map((rate) => long(rate)),
    in_vain_share === null ? "" : share(in_vain_share),
  ];
}

function gapCells({ longest_gap_s, recovery_s }: StageResult): Child[] {
  if (longest_gap_s === undefined) return ["", ""];
  const recovery = recovery_s === undefined ? "not recovered" : duration(recovery_s);
  return [duration(longest_gap_s), longest_gap_s > 0 ? recovery : ""];
}

function remarks(stage: StageResult): string {
  const { totals, pool } = stage;
  const errors = Object.entries(stage.errors).map(([code, times]) => `${code}: ${count(times)}`);
  return [
    ...(stage.complete ? [] : ["cut short"]),
    ...(pool === null
      ? []
      : [
          `${long(pool.in_use_mean)} of ${count(pool.connections)} connections in use, ${long(pool.waiting_mean)} clients waiting`,
        ]),
    ...errors,
    ...(totals.unknown_with_drain > 0 ? [`${count(totals.unknown_with_drain)} of unknown outcome`] : []),
    ...(totals.reconnects > 0 ? [`${count(totals.reconnects)} reconnects`] : []),
    ...(totals.lost_s > 0 ? [`${latency(totals.lost_s * 1e6)} of clients' time lost`] : []),
    ...(stage.clients_aborted > 0 ? [`${count(stage.clients_aborted)} clients gave up`] : []),
    ...(stage.not_begun > 0 ? [`${count(stage.not_begun)} due and never begun`] : []),
    ...(stage.skipped > 0 ? [`${count(stage.skipped)} skipped for being too late`] : []),
  ].join(" · ");
}

/** Types of a mix, under their stage; a single type would only say the same again, and queries have their own section. */
function typeRows(stage: StageResult, shows: Shows): Row[] {
  if (stage.by_type.length < 2 || stage.pass === true) return [];
  return stage.by_type.map((type: TypeResult) => ({
    class: "type",
    cells: [
      type.name,
      "",
      "",
      "",
      orUnknown(type.per_s === null ? null : long(type.per_s)),
      "",
      ...percentileCells(
        stage.arrival === "open" || stage.connections !== null ? type.response : type.service,
      ),
      ...(shows.late ? [""] : []),
      ...(shows.wait ? [""] : []),
      count(type.done),
      count(type.failed_with_drain),
      count(type.retries),
      ...(shows.queries ? queryCells(null) : []),
      ...(shows.gaps ? GAP_COLUMNS.map(() => "") : []),
      "",
      "",
      "",
    ],
  }));
}
