// What of a curve is drawn: of the points that share a column of pixels the first, the lowest, the highest and the last.
// The picture is the same as that of all points, and a day of seconds costs no more than a screen of them. Pure.

import type { Column } from "../document";

/** Points to join in order; NaN in `y` ends a line. */
export interface Trace {
  x: number[];
  y: number[];
}

/** The first row whose x is not below `value`; `x` ascends. */
export function rowAt(x: Column, value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((x[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows that show between `from` and `to`: one more at either end, so that lines run on to the edge. */
export function rowsWithin(x: Column, [from, to]: [number, number]): [number, number] {
  return [Math.max(0, rowAt(x, from) - 1), Math.min(x.length, rowAt(x, to) + 1)];
}

/** The row nearest to `value` that is no further than `reach` from it. */
export function nearestRow(x: Column, value: number, reach: number): number | null {
  const after = rowAt(x, value);
  const best = [after - 1, after]
    .filter((row) => row >= 0 && row < x.length)
    .sort((a, b) => Math.abs((x[a] ?? 0) - value) - Math.abs((x[b] ?? 0) - value))[0];
  return best === undefined || Math.abs((x[best] ?? 0) - value) > reach ? null : best;
}

export function trace(x: Column, y: Column, span: [number, number], pixels: number): Trace {
  const [first, last] = rowsWithin(x, span);
  const out: Trace = { x: [], y: [] };
  const put = (row: number) => {
    out.x.push(x[row] ?? 0);
    out.y.push(y[row] ?? Number.NaN);
  };
  if (last - first <= pixels * 2) {
    for (let row = first; row < last; row += 1) put(row);
    return out;
  }
  const scale = pixels / (span[1] - span[0]);
  const columnOf = (row: number) => Math.floor(((x[row] ?? 0) - span[0]) * scale);
  for (let row = first; row < last; ) {
    const column = columnOf(row);
    let end = row + 1;
    while (end < last && columnOf(end) === column) end += 1;
    for (const kept of telling(y, row, end)) put(kept);
    row = end;
  }
  return out;
}

/** Of the rows from `from` to before `to`: first, lowest, highest and last that are known, and the first unknown one. */
function telling(y: Column, from: number, to: number): number[] {
  let [first, last, low, high, unknown] = [-1, -1, -1, -1, -1];
  for (let row = from; row < to; row += 1) {
    const value = y[row] ?? Number.NaN;
    if (Number.isNaN(value)) {
      if (unknown < 0) unknown = row;
      continue;
    }
    if (first < 0) [first, low, high] = [row, row, row];
    last = row;
    if (value < (y[low] ?? 0)) low = row;
    if (value > (y[high] ?? 0)) high = row;
  }
  return [...new Set([first, last, low, high, unknown].filter((row) => row >= 0))].sort((a, b) => a - b);
}

/**
 * The rows at which a curve has its mark: about `every` so many pixels, and one on each piece of it that is seen, unless there is
 * one close before. Curves of other `index` begin elsewhere.
 */
export function markedRows(
  lefts: number[],
  y: number[],
  [from, to]: [number, number],
  every: number,
  index: number,
): number[] {
  const rows: number[] = [];
  let next = from + every * (0.3 + (index % 4) * 0.22);
  for (const piece of piecesOf(lefts, y, [from, to])) {
    const before = rows.length;
    for (const row of piece) {
      const left = lefts[row] ?? 0;
      if (left < next) continue;
      rows.push(row);
      next = Math.max(next + every, left + every * 0.5);
    }
    const middle = piece[piece.length >> 1] ?? 0;
    const last = rows.length === 0 ? Number.NEGATIVE_INFINITY : (lefts[rows.at(-1) ?? 0] ?? 0);
    if (rows.length > before || (lefts[middle] ?? 0) - last < every * 0.5) continue;
    rows.push(middle);
    next = (lefts[middle] ?? 0) + every;
  }
  return rows;
}

/** Rows that hang together and are seen. */
function piecesOf(lefts: number[], y: number[], [from, to]: [number, number]): number[][] {
  const pieces: number[][] = [[]];
  for (const [row, left] of lefts.entries()) {
    if (Number.isNaN(y[row] ?? Number.NaN)) pieces.push([]);
    else if (left >= from && left <= to) pieces.at(-1)?.push(row);
  }
  return pieces.filter((piece) => piece.length > 0);
}

/** Least and greatest known value that shows in a span; null where there is none. */
export function extentOf(x: Column, y: Column, span: [number, number]): [number, number] | null {
  const [first, last] = rowsWithin(x, span);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = first; row < last; row += 1) {
    const at = x[row] ?? 0;
    const value = y[row] ?? Number.NaN;
    if (at < span[0] || at > span[1]) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high < low ? null : [low, high];
}

/** Whether two curves are at the same places, to what can be seen; `place` gives CSS pixels. */
export function liesOn(a: Trace, b: Trace, place: (value: number, axis: "x" | "y") => number): boolean {
  if (a.x.length === 0 || a.x.length !== b.x.length) return false;
  const near = (one = Number.NaN, other = Number.NaN, axis: "x" | "y") =>
    Number.isNaN(one) || Number.isNaN(other)
      ? Number.isNaN(one) === Number.isNaN(other)
      : Math.abs(place(one, axis) - place(other, axis)) < 1;
  return a.x.every((x, row) => near(a.y[row], b.y[row], "y") && near(x, b.x[row], "x"));
}
