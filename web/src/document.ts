// The report document as the page has it. Its types are generated from those of Rust (`npm run types`) and described in
// `docs/json.md`. Here is only what is otherwise in the page: curves are typed arrays, in which what is unknown is NaN.

import type * as json from "../generated/documents";

export type * from "../generated/documents";

/** The schema this page draws. */
export const SCHEMA = "dyno.report/1";

/** Values over time; NaN where unknown. */
export type Column = Float64Array;

type Columns<T> = { [K in keyof T]: T[K] extends (number | null)[] ? Column : T[K] };

export type PoolLoad = Columns<json.PoolLoad>;
export type TypeLoad = Columns<json.TypeLoad>;
export type Metric = Columns<json.Metric>;

export interface Load extends Columns<Omit<json.LoadColumns, "pool" | "counts" | "by_type">> {
  /** Null where no stage's clients shared connections. */
  pool: PoolLoad | null;
  /** The transactions of mixes. */
  by_type: TypeLoad[];
}

export interface Timeline {
  target: string;
  stream: number;
  load: Load;
  metrics: Metric[];
}

export interface Run extends Omit<json.Run, "seed" | "resolved"> {
  /** Of the specification what the page reads. */
  resolved?: Record<string, unknown> & { phases?: { together?: boolean }[] };
  /** Text in the page, where a 64-bit number would lose digits. */
  seed: string | number;
}

/** A report as JSON has it. */
export interface WrittenReport extends Omit<json.Report, "run" | "timelines"> {
  run: Run;
  timelines: WrittenTimeline[];
  /** What `dyno serve` adds: whether more is to come. */
  live?: boolean;
}
export interface WrittenTimeline extends Omit<json.Timeline, "load"> {
  load: WrittenLoad;
}
export type WrittenLoad = Partial<Omit<json.LoadColumns, "counts">>;
export type WrittenMetric = json.Metric;

export interface Report extends Omit<WrittenReport, "timelines"> {
  timelines: Timeline[];
}

/** What a live run sends about once a second, and only what is new: parts of the document, stages, and points of curves. */
export interface Update {
  /** Parts that have changed; those that are left out are as they were. */
  report: Partial<Omit<WrittenReport, "timelines" | "stages">>;
  /** Stages that have changed or begun, each of them whole. */
  stages: WrittenReport["stages"];
  append: WrittenTimeline[];
}
