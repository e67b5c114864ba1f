// Bars of a few figures each, as elements: their names and values are text, and they need no room that is known before.
// On a linear axis a bar begins at zero; a logarithmic one has no zero, so there a mark stands at the value.

import { type Child, el } from "../dom";
import type { Lane } from "../scene";
import { markOf } from "./marks";
import { linearTicks, logRange, logTicks, niceMax } from "./scale";

export interface BarAxis {
  log: boolean;
  ticks: number[];
  write: (value: number) => string;
  /** From 0 at the lower end to 1 at the upper. */
  place: (value: number) => number;
}

/** One figure; unknown is said in words. */
export interface Bar {
  lane: Lane;
  value: number | null;
  /** What is marked around the value. */
  spread: [number, number] | null;
  text: Child;
  /** The spread in words, shown under the pointer. */
  more: string;
}

export interface BarGroup {
  name: string;
  bars: Bar[];
}

/** More groups than this stand in two columns where there is room. */
const COLUMN_MAX = 6;
const TICKS = 5;
/** Of the parts of a stack, each is so much fainter than the one before, but for the last ones. */
const TINT_STEP = 0.18;
const TINT_LEAST = 0.2;
/** Characters of a group's name that are always shown, and that are shown where they take no more than this share of the width. */
const NAME_MAX = 14;
const NAME_ROOM_MAX = 40;
const NAME_SHARE = "40%";

/** From zero to the largest value. */
export function linearAxis(values: number[], write: (value: number) => string): BarAxis {
  const most = niceMax(Math.max(0, ...values));
  return { log: false, ticks: linearTicks(most, TICKS - 1), write, place: (value) => value / most };
}

/** Around values above zero. */
export function logAxis(values: number[], write: (value: number) => string): BarAxis {
  const [low, high] = logRange(Math.min(...values), Math.max(...values));
  const whole = Math.log(high / low);
  const place = (value: number) => Math.min(1, Math.max(0, Math.log(value / low) / whole));
  return { log: true, ticks: logTicks(low, high, TICKS), write, place };
}

/** `signs` says whose a bar is by a mark; `origin` is a value that the others are read against. */
export function barChart(
  groups: BarGroup[],
  axis: BarAxis,
  { words, signs, origin }: { words: string; signs: boolean; origin?: number },
): HTMLElement {
  const rows = groups.map(({ name, bars }) => ({
    name,
    rows: bars.map((bar) => barOf(bar, axis, signs)),
  }));
  const chart = frame(rows, axis, words, origin);
  if (signs) chart.classList.add("signed");
  return chart;
}

/** Parts of a whole on top of each other, from zero. */
export interface Stack {
  lane: Lane;
  /** `index` is the part's place among all kinds of parts. */
  parts: { value: number; index: number; more: string }[];
  text: string;
}

export function stackChart(stacks: Stack[], axis: BarAxis, words: string): HTMLElement {
  const rows = stacks.map(({ lane, parts, text }) => {
    const row = rowOf(lane, text);
    let from = 0;
    for (const { value, index, more } of parts) {
      const part = at(
        axis.place(from),
        el("i", { class: "bar-length part", title: more }),
        axis.place(value),
      );
      part.style.opacity = String(Math.max(TINT_LEAST, 1 - index * TINT_STEP));
      row.append(part);
      from += value;
    }
    row.append(at(axis.place(from), el("span", { class: "bar-value" }, text)));
    return { name: lane.label, rows: [row] };
  });
  return frame(rows, axis, words);
}

function frame(
  groups: { name: string; rows: HTMLElement[] }[],
  axis: BarAxis,
  words: string,
  origin?: number,
): HTMLElement {
  const half = groups.length > COLUMN_MAX ? Math.ceil(groups.length / 2) : groups.length;
  const columns = [groups.slice(0, half), groups.slice(half)].filter((column) => column.length > 0);
  const groupOf = ({ name, rows }: (typeof groups)[number]) =>
    el("div", { class: "bar-group" }, el("b", { title: name }, name), el("div", {}, rows));
  const chart = el(
    "div",
    { class: "bar-chart", role: "img", "aria-label": words },
    columns.map((column) => el("div", { class: "bar-column" }, scale(axis, origin), column.map(groupOf))),
  );
  chart.style.setProperty("--name", nameWidth(groups.map(({ name }) => name)));
  return chart;
}

/** Of the column of names, for the style sheet: whole names where there is room, and not too little of them where there is none. */
export function nameWidth(names: string[]): string {
  const longest = Math.max(...names.map((name) => name.length));
  const ch = (most: number) => `${Math.min(most, longest) + 3}ch`;
  return `max(${ch(NAME_MAX)}, min(${ch(NAME_ROOM_MAX)}, ${NAME_SHARE}))`;
}

function scale(axis: BarAxis, origin: number | undefined): HTMLElement {
  const lines = axis.ticks.map((value) =>
    at(
      axis.place(value),
      el("i", { class: (value === origin || value === 0) && "origin" }, el("span", {}, axis.write(value))),
    ),
  );
  return el("div", { class: "bar-scale" }, lines);
}

function barOf({ lane, value, spread, text, more }: Bar, axis: BarAxis, signs: boolean): HTMLElement {
  const row = rowOf(lane, more);
  if (signs) row.append(markOf(lane));
  const end = value === null ? 0 : axis.place(value);
  const [low, high] = spread?.map(axis.place) ?? [end, end];
  if (value !== null && !axis.log) row.append(at(0, el("i", { class: "bar-length" }), end));
  if (low !== undefined && high !== undefined && high > low)
    row.append(at(low, el("i", { class: "bar-spread" }), high - low));
  // The value itself stands above its spread.
  if (value !== null && axis.log) row.append(at(end, el("i", { class: "bar-mark" }, markOf(lane))));
  const label = el("span", { class: value === null ? "bar-value unknown" : "bar-value" }, text);
  row.append(at(Math.max(end, high ?? end), label));
  return row;
}

function rowOf({ colour }: Lane, title: string): HTMLElement {
  const row = el("div", { class: "bar-row", title });
  row.style.setProperty("--own", `var(--${colour})`);
  return row;
}

/** Places an element along the axis. */
function at(left: number, element: HTMLElement, width?: number): HTMLElement {
  element.style.left = `${(left * 100).toFixed(2)}%`;
  if (width !== undefined) element.style.width = `${(width * 100).toFixed(2)}%`;
  return element;
}
