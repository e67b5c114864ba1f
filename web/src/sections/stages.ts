// All stages in figures.

import type { Percentiles, QueryResult, Report, StageResult, TypeResult } from "../document";
import { type Child, type Column, el, orUnknown, type Row, section, table } from "../dom";
import { clock, count, duration, latency, long, relativeError, share } from "../format";
import { arrivalText, clientsText, latencyOf } from "../reading";

/** Which columns there are beside those that every report has. */
interface Shows {
  open: boolean;
  queries: boolean;
}

const QUERY_COLUMNS: Column[] = [
  { label: "Reads/s", figures: true, title: "statements that returned rows" },
  { label: "Writes/s", figures: true, title: "statements that changed at least one row" },
  { label: "Other/s", figures: true, title: "all other statements, writes that touched no row among them" },
  { label: "In vain", figures: true, title: "share of the writes that touched no row" },
];

export function stagesSection(report: Report): HTMLElement | null {
  if (report.stages.length === 0) return null;
  const open = report.stages.some((stage) => stage.arrival === "open");
  const several = report.targets.length > 1;
  const shows: Shows = { open, queries: report.stages.some((stage) => stage.queries !== null) };
  const columns: Column[] = [
    { label: several ? "Target, stage" : "Stage" },
    { label: "Clients", figures: true },
    { label: "Start", figures: true },
    { label: "Time", figures: true },
    { label: "TPS", figures: true },
    { label: "±", figures: true, title: "half-width of the 95% interval, in percent" },
    { label: "p50", figures: true },
    { label: "p95", figures: true },
    { label: "p99", figures: true },
    { label: "p99.9", figures: true },
    { label: "Max", figures: true },
    ...(open ? [{ label: "Lag p99", figures: true, title: "scheduled to sent" }] : []),
    { label: "Done", figures: true, title: "ended well before the time was up" },
    { label: "Failed", figures: true, title: "all that began in the stage" },
    { label: "Retries", figures: true },
    ...(shows.queries ? QUERY_COLUMNS : []),
    { label: "Driver CPU", figures: true, title: "of the driver's threads, per transaction" },
    { label: "Busiest thread", figures: true, title: "share of its time that the busiest driver thread ran" },
    { label: "Remarks" },
  ];
  const rows = [...report.stages]
    .sort((a, b) => a.start_s - b.start_s)
    .flatMap((stage) => [stageRow(stage, several, shows), ...typeRows(stage, shows)]);
  const modes = [
    ...new Set(report.stages.map((stage) => `${arrivalText(stage)}, ${stage.protocol} protocol`)),
  ];
  return section(
    "stages",
    "All stages",
    el(
      "p",
      { class: "lead" },
      `${modes.join("; ")}. Latency is ${open ? "response time from the intended start in an open loop, " : ""}service time${open ? " in a closed one" : ""}.`,
    ),
    table("All stages as they ran; warm-ups are left out of every figure", columns, rows),
  );
}

function stageRow(stage: StageResult, several: boolean, shows: Shows): Row {
  const name = `${several ? `${stage.target} · ` : ""}${stage.series} · ${stage.kind}`;
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
      ...(shows.open ? [stage.lag === null ? "" : latency(stage.lag.p99_us)] : []),
      count(stage.totals.done),
      count(stage.totals.failed_with_drain),
      count(stage.totals.retries),
      ...(shows.queries ? queryCells(stage.queries) : []),
      orUnknown(cpu === null ? null : latency(cpu)),
      orUnknown(busy === null ? null : share(busy)),
      remarks(stage),
    ],
  };
}

function percentileCells(found: Percentiles | null): Child[] {
  const keys = ["p50_us", "p95_us", "p99_us", "p999_us", "max_us"] as const;
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

function remarks(stage: StageResult): string {
  const { totals } = stage;
  const errors = Object.entries(stage.errors).map(([code, times]) => `${code}: ${count(times)}`);
  return [
    ...(stage.complete ? [] : ["cut short"]),
    ...errors,
    ...(totals.unknown_with_drain > 0 ? [`${count(totals.unknown_with_drain)} of unknown outcome`] : []),
    ...(totals.reconnects > 0 ? [`${count(totals.reconnects)} reconnects`] : []),
    ...(totals.lost_s > 0 ? [`${latency(totals.lost_s * 1e6)} of clients' time lost`] : []),
    ...(stage.clients_aborted > 0 ? [`${count(stage.clients_aborted)} clients gave up`] : []),
    ...(stage.not_begun > 0 ? [`${count(stage.not_begun)} due and never begun`] : []),
    ...(stage.skipped > 0 ? [`${count(stage.skipped)} skipped for being too late`] : []),
  ].join(" · ");
}

/** Types of a mix, under their stage; a single type would only say the same again. */
function typeRows(stage: StageResult, shows: Shows): Row[] {
  if (stage.by_type.length < 2) return [];
  return stage.by_type.map((type: TypeResult) => ({
    class: "type",
    cells: [
      type.name,
      "",
      "",
      "",
      orUnknown(stage.seconds > 0 ? long(type.done / stage.seconds) : null),
      "",
      ...percentileCells(stage.arrival === "open" ? type.response : type.service),
      ...(shows.open ? [""] : []),
      count(type.done),
      count(type.failed_with_drain),
      count(type.retries),
      ...(shows.queries ? queryCells(null) : []),
      "",
      "",
      "",
    ],
  }));
}
