// How the figures of a comparison are written, and what a verdict on them is in a word.

import type { Cell, FigureRow } from "../document";
import { bytes, count, duration, latency, long, relativeError, share } from "../format";

/** Less than this, of bytes or operations of a transaction, is shown as less than this. */
const LEAST = 0.01;

/** `84,912 TPS ±1.0%`, `1,740 ±3.1%` of what is named with its unit of time, `90 µs`, `41.5 B`, `0.35 operations`, `8 clients`. */
export function figureText(
  { key, unit }: Pick<FigureRow, "key" | "unit">,
  { value, interval }: Pick<Cell, "value" | "interval">,
): string {
  if (value === null) return "unknown";
  switch (unit) {
    case "1/s":
      return `${long(value)}${key.endsWith("_rate") ? "/s" : " TPS"}${relative(value, interval)}`;
    case "1/min":
    case "1/h":
      return `${long(value)}${relative(value, interval)}`;
    case "us":
      return latency(value);
    case "share":
      return share(value);
    case "bytes":
      return value > 0 && value < LEAST
        ? `<${LEAST} B`
        : Math.abs(value) < 1024
          ? `${long(value)} B`
          : bytes(value);
    case "s":
      return duration(value);
    case "clients":
      return `${count(value)} client${value === 1 ? "" : "s"}`;
    default:
      return `${value > 0 && value < LEAST ? `<${LEAST}` : long(value)} ${unit}`;
  }
}

function relative(value: number, interval: [number, number] | null | undefined): string {
  if (interval == null || !(value > 0)) return "";
  return ` ${relativeError({ mean: value, half_width: (interval[1] - interval[0]) / 2 })}`;
}

/** Whether a row is worth a line: not where all of it rounds to nothing, as what a read writes. */
export function isShown({ unit, cells }: Pick<FigureRow, "unit" | "cells">): boolean {
  const isCost = unit === "operations" || unit === "bytes";
  return !isCost || cells.some(({ value }) => value !== null && value >= LEAST);
}

/** What a ratio says, in the words that fit the figure: `faster`, `more`, `no difference shown`. */
export function verdictOf({ verdicts }: Pick<FigureRow, "verdicts">, verdict: string): string {
  if (verdict === "better") return verdicts[0];
  if (verdict === "worse") return verdicts[1];
  return verdict === "other-load" ? "at another load" : verdict.replaceAll("-", " ");
}
