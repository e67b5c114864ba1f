// Where the seconds of a lane stand on the axis that is shown: as they were, from the start of its series, or on the
// steps of its ladder, so that loads of targets that ran in turn lie over each other. Pure.

import { rowAt } from "./charts/trace";
import type { Column, StageResult } from "./document";

/** A stretch of a run and where it stands: at `x` and on, `scale` units for each second. */
export interface Stretch {
  from: number;
  to: number;
  x: number;
  scale: number;
}

/** How a lane is placed; null where its seconds stand as they are. */
export type Placing = Stretch[] | null;

/** From the start of a series. */
export function fromStart(stages: StageResult[]): Placing {
  const [first, last] = extentOfStages(stages);
  return first === null || last === null ? [] : [{ from: first, to: last, x: 0, scale: 1 }];
}

/** Clients or, in an open loop, transactions per second: what a rung asks of a server. */
export function loadOf(stage: StageResult): number {
  return stage.arrival === "open" ? stage.rate_per_s : stage.clients;
}

/** All loads that any of these rungs asked for, ascending: the steps of the axis. */
export function stepsOf(rungs: StageResult[]): number[] {
  return [...new Set(rungs.map(loadOf))].sort((a, b) => a - b);
}

/** Each rung on the step of its load, one unit wide; rungs of the same load share it. */
export function onSteps(rungs: StageResult[], steps: number[], loadAt = loadOf): Placing {
  return steps.flatMap((load, index) => {
    const same = rungs
      .filter((rung) => loadAt(rung) === load && rung.seconds > 0)
      .sort((a, b) => a.start_s - b.start_s);
    return same.map((rung, turn) => ({
      from: rung.start_s,
      to: rung.start_s + rung.seconds,
      x: index + turn / same.length,
      scale: 1 / same.length / rung.seconds,
    }));
  });
}

/**
 * Columns on the axis. Between stretches a row of unknowns, so that no line is drawn across; `joined` for what goes on
 * between them and is read seldom, such as a size.
 */
export function placed(
  t: Column,
  columns: Column[],
  placing: Placing,
  joined = false,
): { x: Column; columns: Column[] } {
  if (placing === null) return { x: t, columns };
  const cuts = placing.map((stretch) => ({ ...stretch, rows: rowsOf(t, stretch) }));
  const length = cuts.reduce((sum, { rows: [first, last] }) => sum + (last - first) + (joined ? 0 : 1), 0);
  const x = new Float64Array(length);
  const out = columns.map(() => new Float64Array(length));
  let at = 0;
  for (const { rows, from, to, x: start, scale } of cuts) {
    for (let row = rows[0]; row < rows[1]; row += 1) {
      x[at] = start + ((t[row] ?? 0) - from) * scale;
      for (const [index, column] of columns.entries()) (out[index] as Column)[at] = column[row] ?? Number.NaN;
      at += 1;
    }
    if (joined) continue;
    x[at] = start + (to - from) * scale;
    for (const column of out) column[at] = Number.NaN;
    at += 1;
  }
  return { x, columns: out };
}

/** A time on the axis; null where it does not stand there. */
export function placeOf(time: number, placing: Placing): number | null {
  if (placing === null) return time;
  const stretch = placing.find(({ from, to }) => time >= from && time <= to);
  return stretch === undefined ? null : stretch.x + (time - stretch.from) * stretch.scale;
}

/** The seconds of the run that a span of the axis shows; null where it shows none. */
export function secondsOf([from, to]: [number, number], placing: Placing): [number, number] | null {
  if (placing === null) return [from, to];
  const shown = placing.flatMap((stretch) => {
    const start = Math.max(stretch.from, stretch.from + (from - stretch.x) / stretch.scale);
    const end = Math.min(stretch.to, stretch.from + (to - stretch.x) / stretch.scale);
    return end > start ? [[start, end]] : [];
  });
  if (shown.length === 0) return null;
  return [Math.min(...shown.map(([start]) => start ?? 0)), Math.max(...shown.map(([, end]) => end ?? 0))];
}

/** From the start of the first stage to the end of the last. */
export function extentOfStages(stages: StageResult[]): [number, number] | [null, null] {
  if (stages.length === 0) return [null, null];
  return [
    Math.min(...stages.map((stage) => stage.start_s)),
    Math.max(...stages.map((stage) => stage.start_s + stage.seconds)),
  ];
}

/** Rows of a stretch, both of its ends included. */
function rowsOf(t: Column, { from, to }: Stretch): [number, number] {
  const first = rowAt(t, from);
  let last = rowAt(t, to);
  while (t[last] === to) last += 1;
  return [first, Math.max(first, last)];
}
