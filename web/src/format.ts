// Quantities as people read them; the same forms as the terminal's (`crates/dyno-report/src/format.rs`).
// What is unknown or no number is shown as UNKNOWN and never as 0.

import type { Estimate } from "./document";

export const UNKNOWN = "unknown";

type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A whole number with separators: `5,000,000`. */
export function count(value: Maybe): string {
  return known(value) ? grouped(value.toFixed(0)) : UNKNOWN;
}

/** `1 client`, `3,000 clients`. */
export function counted(value: Maybe, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** `1 query`, `22 queries`. */
export function countedQueries(value: number): string {
  return `${count(value)} ${value === 1 ? "query" : "queries"}`;
}

/** Three significant digits with an SI prefix: `4.21`, `850`, `85.3k`, `1.20M`. */
export function short(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const steps: [number, string][] = [
    [1, ""],
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
    [1e12, "T"],
  ];
  for (const [scale, suffix] of steps) {
    if (Math.abs(value) < 999.5 * scale) return significant(value / scale) + suffix;
  }
  return value.toExponential(2);
}

/** An axis label: as short as it can be without loss, `2.5k`, `80k`, `0`. */
export function tick(value: number): string {
  const steps: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [scale, suffix] of steps) {
    if (Math.abs(value) >= scale) return Number((value / scale).toPrecision(4)) + suffix;
  }
  return String(Number(value.toPrecision(4)));
}

/** `≈ 5,000,000` where the server estimates it. */
export function estimated(text: string, isCounted: boolean): string {
  return isCounted ? text : `≈ ${text}`;
}

/** A mean to the whole number, with decimals only where it is small: `84,912`, `42.5`, `4.21`. */
export function long(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) < 99.95 ? significant(value) : grouped(value.toFixed(0));
}

/** `±0.6%`; `± unknown` where too little was measured to say. */
export function relativeError({ mean, half_width }: Pick<Estimate, "mean" | "half_width">): string {
  if (!known(half_width) || !(Math.abs(mean) > 0)) return `± ${UNKNOWN}`;
  const percent = Math.abs((half_width / mean) * 100);
  if (percent > 50) return "not known to within a factor of two";
  if (percent < 0.05) return "±<0.1%";
  return `±${percent.toFixed(percent < 9.95 ? 1 : 0)}%`;
}

/** A latency given in microseconds: `90 µs`, `1.1 ms`, `2.5 s`. */
export function latency(us: Maybe): string {
  if (!known(us)) return UNKNOWN;
  const magnitude = Math.abs(us);
  if (magnitude < 999.5) return `${twoDigits(us)} µs`;
  if (magnitude < 999.5e3) return `${twoDigits(us / 1e3)} ms`;
  if (magnitude < 99.5e6) return `${twoDigits(us / 1e6)} s`;
  return duration(us / 1e6);
}

/** Seconds as a number of three digits: `0.00615`, `1.12`, `12.3`, `1,234`. */
export function seconds(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const digits = value > 0 ? 2 - Math.floor(Math.log10(value)) : 0;
  return grouped(value.toFixed(Math.min(9, Math.max(0, digits))));
}

/** How many times as fast: `0.25×`, `0.50×`, `4.5×`, `26×`. */
export function times(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return `${value < 0.995 ? value.toPrecision(2) : value < 9.95 ? value.toFixed(1) : grouped(value.toFixed(0))}×`;
}

/** A latency on an axis: `100 µs`, `50 ms`, `2 s`. */
export function latencyTick(us: number): string {
  if (us < 1e3) return `${Number(us.toPrecision(3))} µs`;
  if (us < 1e6) return `${Number((us / 1e3).toPrecision(3))} ms`;
  return `${Number((us / 1e6).toPrecision(3))} s`;
}

/** A duration given in seconds: `0.3 s`, `45 s`, `2 min 41 s`, `3 h 5 min`. */
export function duration(seconds: Maybe): string {
  if (!known(seconds)) return UNKNOWN;
  if (seconds > 0 && seconds < 0.05) return `${Math.ceil(seconds * 1e3)} ms`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const [h, min, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h > 0) return min > 0 ? `${h} h ${min} min` : `${h} h`;
  if (min > 0) return s > 0 ? `${min} min ${s} s` : `${min} min`;
  return `${s} s`;
}

/** A point in time on an axis, seconds since the start: `45 s`, `2:30`, `1:05:00`. */
export function clock(seconds: number): string {
  if (Math.abs(seconds) < 60) return `${Number(seconds.toPrecision(3))} s`;
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const [h, min, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(min)}:${two(s)}` : `${min}:${two(s)}`;
}

/** A size in powers of 1024, as servers and kernels count: `760 MiB`, `23.5 GiB`. */
export function bytes(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  if (Math.abs(value) < 1024) return `${value.toFixed(0)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let scaled = value / 1024;
  let unit = 0;
  while (Math.abs(scaled) >= 999.5 && unit + 1 < units.length) {
    scaled /= 1024;
    unit += 1;
  }
  return `${scaled.toFixed(scaled < 99.95 ? 1 : 0).replace(/\.0$/, "")} ${units[unit]}`;
}

/** A rate in powers of 1024, as sizes are: `4.1 MiB/s`. */
export function bytesPerSecond(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) < 1024 ? `${long(value)} B/s` : `${bytes(value)}/s`;
}

/** A share from 0 to 1 in percent: `34%`, `4.5%`, `0.37%`, `<0.01%`. */
export function share(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const percent = value * 100;
  if (percent > 0 && percent < 0.005) return "<0.01%";
  return `${Number(percent.toFixed(Math.abs(percent) >= 9.95 ? 0 : Math.abs(percent) >= 0.995 ? 1 : 2))}%`;
}

/** A number of processors: `2`, `0.5`, `1.4`. */
export function cores(value: Maybe): string {
  return known(value) ? value.toFixed(1).replace(/\.0$/, "") : UNKNOWN;
}

/** A scale or rate as the user typed it: `50`, `0.1`, `5,000`. */
export function plain(value: Maybe): string {
  return known(value) ? grouped(String(Number(value.toFixed(3)))) : UNKNOWN;
}

/** A PostgreSQL setting as `SHOW` prints it: 16384 × 8kB as `128MB`, 300 s as `5min`; others unchanged. */
export function setting(value: string, unit: string | null): string {
  if (unit === null) return value === "" ? "(empty)" : value;
  const parts = /^(\d*)([a-zA-Z]+)$/.exec(unit);
  const number = Number(value);
  if (parts === null || value.trim() === "" || !(number > 0)) return value;
  const factor = parts[1] === "" ? 1 : Number(parts[1]);
  const ladders: [string, number][][] = [
    [
      ["B", 1],
      ["kB", 1024],
      ["MB", 1024 ** 2],
      ["GB", 1024 ** 3],
      ["TB", 1024 ** 4],
    ],
    [
      ["us", 1],
      ["ms", 1e3],
      ["s", 1e6],
      ["min", 6e7],
      ["h", 3.6e9],
      ["d", 8.64e10],
    ],
  ];
  for (const ladder of ladders) {
    const base = ladder.find(([name]) => name === parts[2]);
    if (base === undefined) continue;
    const total = number * factor * base[1];
    const best = ladder.findLast(([, size]) => total >= size && total % size === 0);
    if (best !== undefined) return `${total / best[1]}${best[0]}`;
  }
  return `${value} ${unit}`;
}

/** `20 Nov 2026, 09:49 CET`: in the reader's time zone. */
export function moment(rfc3339: string): string {
  const time = Date.parse(rfc3339);
  if (Number.isNaN(time)) return rfc3339;
  const day = { day: "numeric", month: "short", year: "numeric" } as const;
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  return new Intl.DateTimeFormat("en-GB", { ...day, ...clock }).format(time);
}

/** Three significant digits of a number under a thousand. */
function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  return value.toFixed(magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

/** One decimal below ten, none above: what a latency is good for. */
function twoDigits(value: number): string {
  if (value === 0) return "0";
  return value.toFixed(Math.abs(value) < 9.95 ? 1 : 0);
}

function grouped(number: string): string {
  const [whole = "", fraction] = number.split(".");
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? separated : `${separated}.${fraction}`;
}

/** A text of the document is the end of a line in a terminal; here it is a sentence. */
export function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
