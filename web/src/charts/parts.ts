// What a chart over time is made of, and what all of them need.

import { type Placing, placed } from "../align";
import type { Column } from "../document";
import type { Lane } from "../scene";
import type { Curve } from "./chart";
import type { Group } from "./metrics";
import { splitByStage } from "./scale";

/** A lane and where its seconds stand on the axis. */
export interface PlacedLane {
  lane: Lane;
  placing: Placing;
}

/** A curve with its points; x ascends. */
export interface TimeCurve extends Curve {
  x: Column;
  /** As drawn: in a stack, on top of those before it. */
  drawn: Column;
  /** As measured. */
  values: Column;
  /** The axis it stands on: right only where series are of very different height. */
  side: "left" | "right";
}

/** One chart. */
export interface Panel {
  id: string;
  /** What the reader turns on or off. */
  chart: string;
  title: string;
  unit: string;
  group: Group;
  wide: boolean;
  height: number;
  axis: "zero" | "log" | "share";
  /** Least upper end of an axis from zero, such as all cores of the host. */
  reach?: number;
  stacked: boolean;
  curves: TimeCurve[];
  /** Lanes that have no such curve, and why. */
  unknown: string[];
}

export function panel(
  id: string,
  title: string,
  unit: string,
  group: Group,
  rest: Partial<Panel> = {},
): Panel {
  const wide = rest.wide ?? false;
  return {
    id,
    chart: id,
    title,
    unit,
    group,
    wide,
    height: wide ? 180 : 104,
    axis: "zero",
    stacked: false,
    curves: [],
    unknown: [],
    ...rest,
  };
}

/** What a curve is called and how it is told from the others of its chart. */
export type CurveLook = Pick<Curve, "label" | "colour" | "dash" | "mark">;

/** Seconds are too many for a dash to be seen as one: marks tell lanes apart here. */
export function look(lane: Lane): CurveLook {
  return { label: lane.label, colour: lane.colour, mark: lane.mark };
}

export function curveOf(x: Column, values: Column, curve: Curve): TimeCurve {
  return { ...curve, x, drawn: values, values, side: "left" };
}

/** Columns of the load of a lane, where they stand on the axis, broken between stages. */
export function loadColumns(
  { lane, placing }: PlacedLane,
  pick: (load: NonNullable<Lane["timeline"]>["load"]) => Column[],
): { x: Column; columns: Column[] } | null {
  const load = lane.timeline?.load;
  if (load === undefined || load.t_s.length === 0) return null;
  const split = splitByStage(load.t_s, load.stage, pick(load));
  return placed(split.t, split.columns, placing);
}

export function known(column: Column): boolean {
  return column.some((value) => !Number.isNaN(value));
}

/** Why a lane's figures of a group are not there. */
export function whyUnknown(lane: Lane, group: Group): string {
  const source = lane.target.host_source;
  if (group === "load") return "nothing was measured";
  if (group === "database") return "not told by this server, or not to this user";
  if (group === "driver") return "not read";
  if (source === null) return "this server's host is not read";
  return source === "this host" ? "not read on this host" : `not offered by ${source}`;
}

/** What is said of lanes of which nothing is known, where something is of others. */
export function unknownOf(
  lanes: PlacedLane[],
  known: PlacedLane[],
  group: Group,
  several: boolean,
): string[] {
  if (!several || known.length === 0) return [];
  return lanes
    .filter((placedLane) => !known.includes(placedLane))
    .map(({ lane }) => `${lane.label}: unknown, ${whyUnknown(lane, group)}`);
}
