// What the rows of a comparison are called, how their figures are written, and what a verdict on them is in a word: the
// terminal's (`crates/dyno-report/src/compare/words.rs`), with room for whole words.

import { bytes, count, duration, latency, long, relativeError, share } from "../format";
import type { Cell, FigureRow } from "./comparison";

/** Less than this, of bytes or operations of a transaction, is shown as less than this. */
const LEAST = 0.01;

const NAMES: Record<string, string> = {
  throughput: "throughput",
  p50: "latency, p50",
  p95: "latency, p95",
  p99: "latency, p99",
  "p99.9": "latency, p99.9",
  max: "latency, highest",
  errors: "failed or of unknown outcome",
  server_cpu: "CPU of the server, per transaction",
  disk_read_bytes: "read from disk, per transaction",
  disk_write_bytes: "written to disk, per transaction",
  disk_read_operations: "disk reads, per transaction",
  disk_write_operations: "disk writes, per transaction",
  wal_bytes: "WAL or redo log, per transaction",
  peak_throughput: "peak throughput",
  peak_clients: "peak at",
  peak_rate: "peak at",
  saturation_clients: "gives way at",
  saturation_rate: "gives way at",
  size: "data on disk",
  bytes_per_row: "on disk, per row",
  prepare: "time to prepare",
};

/** A key that is newer than the page is told as it is, but for its underscores. */
export function nameOf(key: string): string {
  return NAMES[key] ?? key.replaceAll("_", " ");
}

/** `84,912 TPS ±1.0%`, `90 µs`, `41.5 B`, `0.35 operations`, `8 clients`. */
export function figureText(
  { key, unit }: Pick<FigureRow, "key" | "unit">,
  { value, interval }: Cell,
): string {
  if (value === null) return "unknown";
  switch (unit) {
    case "1/s":
      return `${long(value)}${key.endsWith("_rate") ? "/s" : " TPS"}${relative(value, interval)}`;
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
export function verdictOf({ key, unit }: Pick<FigureRow, "key" | "unit">, verdict: string): string {
  const [better, worse] = directions(key, unit);
  const words: Record<string, string> = {
    better,
    worse,
    higher: "higher",
    lower: "lower",
    "no-difference-shown": "no difference shown",
    "not-tested": "not tested",
    "no-interval": "no interval",
    "other-load": "at another load",
  };
  return words[verdict] ?? verdict;
}

function directions(key: string, unit: string): [string, string] {
  if (key === "throughput" || key === "peak_throughput" || unit === "s") return ["faster", "slower"];
  if (key === "size" || key === "bytes_per_row") return ["smaller", "larger"];
  if (key === "errors") return ["fewer", "more"];
  if (key === "server_cpu") return ["less", "more"];
  return unit === "us" ? ["faster", "slower"] : ["less", "more"];
}
