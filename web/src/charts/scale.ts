// Ranges, ticks and columns for the charts. Pure; knows nothing of canvases.

import type { Column } from "../document";

/** The least round number not below `value` (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 × 10ⁿ); 1 where there is none. */
export function niceMax(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) {
    // A hair of tolerance: 0.1 + 0.2 must not cost a step.
    if (value <= step * unit * (1 + 1e-9)) return step * unit;
  }
  return 10 * unit;
}

/** Round ticks from 0 to `max`, about `wanted` of them. */
export function linearTicks(max: number, wanted: number): number[] {
  const rough = max / Math.max(1, wanted);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9)) ?? 10) * unit;
  const ticks: number[] = [];
  for (let index = 0; index * step <= max * (1 + 1e-9); index += 1) {
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return ticks;
}

/** Bounds for a logarithmic axis at 1, 2 or 5 × 10ⁿ around the data. */
export function logRange(min: number, max: number): [number, number] {
  if (!(min > 0) || !(max > 0) || !Number.isFinite(max)) return [1, 10];
  const lowUnit = 10 ** Math.floor(Math.log10(min));
  const low = ([5, 2, 1].find((step) => step * lowUnit <= min * (1 + 1e-9)) ?? 1) * lowUnit;
  const highUnit = 10 ** Math.floor(Math.log10(max));
  const high = ([1, 2, 5].find((step) => step * highUnit >= max * (1 - 1e-9)) ?? 10) * highUnit;
  return high > low ? [low, high] : [low, low * 10];
}

/** Ticks for a logarithmic axis: 1, 2, 5 × 10ⁿ where they fit into `wanted`, else every or every nth power of ten. */
export function logTicks(min: number, max: number, wanted: number): number[] {
  const from = Math.floor(Math.log10(min));
  const to = Math.ceil(Math.log10(max));
  const within = (steps: number[], stride: number): number[] => {
    const ticks: number[] = [];
    for (let power = from; power <= to; power += 1) {
      if (power % stride !== 0) continue;
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(12));
        if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9)) ticks.push(tick);
      }
    }
    return ticks;
  };
  const candidates = [
    within([1, 2, 5], 1),
    within([1, 3], 1),
    within([1], 1),
    within([1], 2),
    within([1], 3),
  ];
  return candidates.find((ticks) => ticks.length <= wanted && ticks.length >= 2) ?? [min, max];
}

/** Leaves out client counts that would stand closer than `apart` on a log axis `width` wide; the last stays. */
export function thinned(clients: number[], width: number, apart: number): number[] {
  const [first, last] = [clients[0], clients.at(-1)];
  if (first === undefined || last === undefined || first === last) return clients.slice(0, 1);
  const place = (value: number) => (Math.log2(value / first) / Math.log2(last / first)) * width;
  const kept: number[] = [];
  for (const value of clients) {
    const before = kept.at(-1);
    const clear = before === undefined || place(value) - place(before) >= apart;
    if (value === last) {
      if (!clear && kept.length > 1) kept.pop();
      kept.push(value);
    } else if (clear) {
      kept.push(value);
    }
  }
  return kept;
}

/** Steps of a time axis, seconds: round for people. */
export const TIME_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400,
];

/** Columns with a row of unknowns between rows of different stages, so that no line is drawn across a pause. */
export function splitByStage(t: Column, stage: Column, columns: Column[]): { t: Column; columns: Column[] } {
  let cuts = 0;
  for (let row = 1; row < t.length; row += 1) if (stage[row] !== stage[row - 1]) cuts += 1;
  const outT = new Float64Array(t.length + cuts);
  const out = columns.map(() => new Float64Array(t.length + cuts));
  let at = 0;
  for (let row = 0; row < t.length; row += 1) {
    if (row > 0 && stage[row] !== stage[row - 1]) {
      outT[at] = ((t[row - 1] ?? 0) + (t[row] ?? 0)) / 2;
      for (const column of out) column[at] = Number.NaN;
      at += 1;
    }
    outT[at] = t[row] ?? 0;
    for (const [index, column] of columns.entries()) (out[index] as Column)[at] = column[row] ?? Number.NaN;
    at += 1;
  }
  return { t: outT, columns: out };
}

/** Each column on top of those before it; unknown where any part is unknown. */
export function stacked(columns: Column[]): Column[] {
  const sums: Column[] = [];
  for (const [index, column] of columns.entries()) {
    const below = sums[index - 1];
    sums.push(below === undefined ? column : column.map((value, row) => value + (below[row] ?? Number.NaN)));
  }
  return sums;
}
