// The charts of the load over time: throughput, latency, failures, and the connections that clients share.

import type { Column, Series } from "../document";
import { latency, long } from "../format";
import { lookAt } from "../scene";
import { type Curve, PERCENTILES } from "./chart";
import {
  curveOf,
  known,
  loadColumns,
  look,
  type Panel,
  type PlacedLane,
  panel,
  type TimeCurve,
  unknownOf,
} from "./parts";

/** Series of a target whose throughput differs by more than this stand on axes of their own. */
const OWN_AXIS_RATIO = 4;
const WIDE = { wide: true };

export function throughput(lanes: PlacedLane[], several: boolean): Panel {
  const curves = lanes.flatMap((lane) => {
    if (!several) return bySeries(lane);
    const found = loadColumns(lane, (load) => [load.tps]);
    const values = found?.columns[0];
    if (found === null || values === undefined) return [];
    return [curveOf(found.x, values, { ...look(lane.lane), width: 1.75, format: long })];
  });
  const ofOneTarget = new Set(lanes.map(({ lane }) => lane.of)).size === 1;
  return panel("throughput", "Throughput", "TPS", "load", {
    ...WIDE,
    curves: ofOneTarget ? onOwnAxes(curves) : curves,
    unknown: unknownOf(
      lanes,
      lanes.filter(({ lane }) => curves.some(({ label }) => label === lane.label)),
      "load",
      several,
    ),
  });
}

/** The transactions of mixes, a chart for each target, on one axis: their heights are compared. */
export function transactions(lanes: PlacedLane[], several: boolean): Panel[] {
  return lanes.map((lane) => {
    const types = lane.lane.timeline?.load.by_type ?? [];
    const found = loadColumns(lane, (load) => load.by_type.map(({ tps }) => tps));
    const curves = types.flatMap(({ name }, index): TimeCurve[] => {
      const values = found?.columns[index];
      if (found === null || values === undefined || !known(values)) return [];
      const { colour, mark } = lookAt(index);
      return [curveOf(found.x, values, { label: name, colour, mark, width: 1.5, format: long })];
    });
    const title = `Throughput of each transaction${several ? `, ${lane.lane.label}` : ""}`;
    const id = several ? `transactions-${lane.lane.key}` : "transactions";
    return panel(id, title, "TPS", "load", { ...WIDE, chart: "transactions", curves });
  });
}

/** Those that are much lower than the highest stand on the axis on the right. */
function onOwnAxes(curves: TimeCurve[]): TimeCurve[] {
  const greatest = (column: Column) => column.reduce((most, value) => (value > most ? value : most), 0);
  const tallest = Math.max(...curves.map(({ values }) => greatest(values)));
  return curves.map((curve) =>
    greatest(curve.values) * OWN_AXIS_RATIO < tallest ? { ...curve, side: "right" } : curve,
  );
}

/** A target alone: its series have the looks. */
function bySeries({ lane, placing }: PlacedLane): TimeCurve[] {
  const stages = new Map(lane.report.stages.map((stage) => [stage.id, stage]));
  const series = lane.report.series.filter((candidate) => candidate.target === lane.target.name);
  const belongs = (id: number, one: Series) =>
    stages.get(id)?.series === one.name && stages.get(id)?.target === one.target;
  const found = loadColumns({ lane, placing }, (load) =>
    series.map((one) => load.tps.map((tps, row) => (belongs(load.stage[row] ?? -1, one) ? tps : Number.NaN))),
  );
  return series.flatMap((one, index): TimeCurve[] => {
    const values = found?.columns[index];
    if (found === null || values === undefined || !known(values)) return [];
    const { colour, mark } = lookAt(index);
    return [
      curveOf(found.x, values, { label: one.name, colour, mark, width: 1.75, fill: 0.1, format: long }),
    ];
  });
}

/** Percentiles of a target alone; one percentile of each of several. */
export function latencyPanel(
  lanes: PlacedLane[],
  several: boolean,
  of: "p50_us" | "p99_us" = "p99_us",
): Panel {
  const positive = (column: Column) => column.map((value) => (value > 0 ? value : Number.NaN));
  const curves = lanes.flatMap((lane) => {
    const found = loadColumns(lane, (load) =>
      (several ? [load[of]] : [load.p50_us, load.p95_us, load.p99_us, load.max_us]).map(positive),
    );
    if (found === null) return [];
    if (several) {
      return found.columns.map((values) =>
        curveOf(found.x, values, { ...look(lane.lane), width: 1.75, format: latency }),
      );
    }
    return found.columns.map((values, index): TimeCurve => {
      const label = (["p50", "p95", "p99", "max"] as const)[index] ?? "max";
      return curveOf(found.x, values, { label, width: 1.5, format: latency, ...PERCENTILES[label] });
    });
  });
  const title = several ? `Latency, ${of === "p99_us" ? "p99" : "p50"}` : "Latency";
  return panel("latency", title, "log scale", "load", {
    ...WIDE,
    height: 160,
    axis: "log",
    curves: curves.filter(({ values }) => known(values)),
  });
}

export function failed(lanes: PlacedLane[], several: boolean): Panel {
  const curves = lanes.flatMap((lane) => {
    const found = loadColumns(lane, (load) => [load.failed_per_s]);
    const values = found?.columns[0];
    if (found === null || values === undefined || !values.some((rate) => rate > 0)) return [];
    const own = several ? look(lane.lane) : { label: "failed", colour: "bad" as const };
    return [curveOf(found.x, values, { ...own, width: 1.5, format: (value) => `${long(value)}/s` })];
  });
  return panel("failed", "Failed transactions", "per second", "load", { curves });
}

/** Connections in use and idle: one chart of a target alone, one for each figure of several. */
export function pool(lanes: PlacedLane[], several: boolean): Panel[] {
  const inUse = poolFigure(lanes, several, "pool", "Connections in use", "connections", "in_use", long);
  const idle = poolFigure(lanes, several, "pool-idle", "Connections idle", "connections", "idle", long);
  if (several) return [inUse, { ...idle, chart: "pool" }];
  const name = (one: Panel, label: string, rest: Partial<Curve> = {}) =>
    one.curves.map((curve) => ({ ...curve, label, ...rest }));
  const curves = [...name(inUse, "in use"), ...name(idle, "idle", { colour: "series-3", dash: [6, 3] })];
  return [{ ...inUse, title: "Connections of the pool", curves }];
}

export function poolFigure(
  lanes: PlacedLane[],
  several: boolean,
  id: string,
  title: string,
  unit: string,
  name: "in_use" | "idle" | "waiting" | "wait_p99_us",
  format: (value: number) => string,
): Panel {
  const curves = lanes.flatMap((lane) => {
    const found = loadColumns(lane, (load) => (load.pool === null ? [] : [load.pool[name]]));
    const values = found?.columns[0];
    if (found === null || values === undefined || !known(values)) return [];
    const own = several ? look(lane.lane) : { label: "", colour: "series-1" as const };
    return [curveOf(found.x, values, { ...own, width: 1.5, format })];
  });
  const shared =
    curves.length === 0
      ? []
      : lanes.filter(({ lane }) => !curves.some((curve) => curve.label === lane.label));
  const unknown = several
    ? shared.map(({ lane }) => `${lane.label}: each client has a connection of its own`)
    : [];
  return panel(id, title, unit, "load", { curves, unknown });
}
