// Which lanes are on one machine. What is read of a machine is the same for all of its targets, and drawn once, named for
// all of them; but only where their seconds stand alike on the axis: of targets that took turns each step shows the
// machine in the turn of each.

import type { Placing } from "../align";
import type { Lane } from "../scene";
import { type CurveLook, look, type PlacedLane } from "./parts";

/** A machine, and the lanes that it is the server's (or the driver's) host of; `of` is null for a target by itself. */
export interface Machine {
  of: "host" | "driver" | null;
  /** The one that is drawn for all of them. */
  placedLane: PlacedLane;
  lanes: Lane[];
}

/** Keys of telemetry that are of a whole machine, and not of one server's processes or groups. */
const OF_MACHINE = /^(cpu|pressure|memory|swap|disk|network|loopback)_/;
const OF_DRIVER = /^driver_/;
/** Targets that ran together began within this, seconds. */
const TOGETHER_S = 1;

/** Whose machine a key is of; null where it is the target's own. */
export function machineOf(key: string): "host" | "driver" | null {
  if (OF_DRIVER.test(key)) return "driver";
  return OF_MACHINE.test(key) ? "host" : null;
}

/** The machines of these lanes, each once, in the order of the lanes. */
export function machinesOf(lanes: PlacedLane[], of: "host" | "driver"): Machine[] {
  const machines: Machine[] = [];
  for (const placedLane of lanes) {
    const known = machines.find(
      (machine) =>
        (of === "driver"
          ? machine.placedLane.lane.report === placedLane.lane.report
          : isSame(machine, placedLane)) && alike(machine.placedLane.placing, placedLane.placing),
    );
    if (known === undefined) machines.push({ ...alone(placedLane), of });
    else {
      known.lanes.push(placedLane.lane);
      // A target that was lost is not read any more, but its machine is.
      if (pointsOf(placedLane.lane) > pointsOf(known.placedLane.lane)) known.placedLane = placedLane;
    }
  }
  return machines;
}

/** A lane by itself. */
export function alone(placedLane: PlacedLane): Machine {
  return { of: null, placedLane, lanes: [placedLane.lane] };
}

/**
 * A machine of several targets, or of a target and something else, has none of their colours; but beside others it has the
 * look of its first target, which no other machine has.
 */
export function lookOf({ of, placedLane: { lane }, lanes }: Machine, isOnly: boolean): CurveLook {
  const own = look(lanes[0] ?? lane);
  if (lanes.length === 1 && !(of === "host" && isShared(lane))) return own;
  const dyno = isOnly ? "dyno" : `dyno of ${lane.report.run.name}`;
  const label = of === "driver" ? dyno : lanes.length > 1 ? namesOf(lanes) : `host of ${own.label}`;
  return isOnly ? { label, colour: "ink" } : { ...own, label };
}

/** `pg`, `pg and my`, `a, b and c`. */
export function namesOf(lanes: Lane[]): string {
  const names = lanes.map(({ label }) => label);
  const last = names.pop() ?? "";
  return names.length === 0 ? last : `${names.join(", ")} and ${last}`;
}

/** Whether others than a target run on its host: another target, or dyno. */
function isShared({ report, target }: Lane): boolean {
  return report.hosts.some(({ roles }) => roles.length > 1 && roles.includes(target.name));
}

function isSame({ placedLane: { lane } }: Machine, { lane: other }: PlacedLane): boolean {
  if (lane.report !== other.report) return false;
  const host = lane.report.hosts.find(({ roles }) => roles.includes(lane.target.name));
  if (host !== undefined) return host.roles.includes(other.target.name);
  return lane.target.host_source !== null && lane.target.host_source === other.target.host_source;
}

function alike(a: Placing, b: Placing): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.length === b.length &&
    a.every((stretch, index) => {
      const other = b[index];
      return (
        other !== undefined &&
        Math.abs(stretch.from - other.from) < TOGETHER_S &&
        Math.abs(stretch.to - other.to) < TOGETHER_S &&
        stretch.x === other.x
      );
    })
  );
}

function pointsOf({ timeline }: Lane): number {
  return Math.max(
    0,
    ...(timeline?.metrics ?? []).filter(({ source }) => source === "host").map(({ t_s }) => t_s.length),
  );
}
