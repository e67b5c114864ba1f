// The document as the page keeps it: curves in typed arrays, NaN for unknown, and equal time columns kept once. A
// column of JSON numbers with nulls would take several times the memory, and a live run adds to it for a day.

import type {
  Column,
  Load,
  Metric,
  PoolLoad,
  Report,
  StageResult,
  Timeline,
  TypeLoad,
  Update,
  WrittenLoad,
  WrittenReport,
  WrittenTimeline,
} from "./document";

type Numbers = ArrayLike<number | null> | undefined;

const LOAD_COLUMNS = [
  "t_s",
  "stage",
  "clients",
  "tps",
  "failed_per_s",
  "p50_us",
  "p95_us",
  "p99_us",
  "max_us",
] as const satisfies (keyof Load)[];
const TYPE_COLUMNS = [
  "tps",
  "rolled_back_per_s",
  "p50_us",
  "p90_us",
  "p99_us",
] as const satisfies (keyof TypeLoad)[];
const POOL_COLUMNS = ["in_use", "idle", "waiting", "wait_p99_us"] as const satisfies (keyof PoolLoad)[];

/** Reads a document. */
export function readReport(written: WrittenReport): Report {
  return { ...written, timelines: written.timelines.map(readTimeline) };
}

/** A document with what an `update` brought. The document itself is left as it was, but for room behind its columns. */
export function withUpdate(report: Report, update: Update): Report {
  const timelines = [...report.timelines];
  for (const more of update.append) {
    const at = timelines.findIndex(
      ({ target, stream }) => target === more.target && stream === (more.stream ?? 0),
    );
    const before = timelines[at];
    if (before === undefined) timelines.push(readTimeline(more));
    else timelines[at] = appended(before, more);
  }
  return { ...report, ...update.report, stages: withStages(report.stages, update.stages), timelines };
}

function withStages(stages: StageResult[], more: StageResult[]): StageResult[] {
  if (more.length === 0) return stages;
  const all = new Map([...stages, ...more].map((stage) => [stage.id, stage]));
  return [...all.values()].sort((a, b) => a.id - b.id);
}

function readTimeline(written: WrittenTimeline): Timeline {
  const times: Column[] = [];
  return {
    target: written.target,
    stream: written.stream ?? 0,
    load: readLoad(written.load),
    metrics: written.metrics.map((metric) => ({
      source: metric.source,
      key: metric.key,
      unit: metric.unit,
      t_s: once(times, column(metric.t_s)),
      values: column(metric.values),
    })),
  };
}

function readLoad(written: WrittenLoad): Load {
  const rows = written.t_s?.length ?? 0;
  const load = Object.fromEntries(LOAD_COLUMNS.map((name) => [name, column(written[name], rows)]));
  const pool = written.pool;
  return {
    ...(load as Omit<Load, "pool" | "by_type">),
    by_type: (written.by_type ?? []).map((type) => typeLoad(type.name, (name) => column(type[name], rows))),
    pool:
      pool == null
        ? null
        : (Object.fromEntries(
            POOL_COLUMNS.map((name) => [name, column(pool[name], rows)]),
          ) as unknown as PoolLoad),
  };
}

function typeLoad(type: string, values: (name: (typeof TYPE_COLUMNS)[number]) => Column): TypeLoad {
  return {
    name: type,
    ...Object.fromEntries(TYPE_COLUMNS.map((name) => [name, values(name)])),
  } as unknown as TypeLoad;
}

/** A column of so many rows; what is not there is unknown. */
export function column(values: Numbers, rows = values?.length ?? 0): Column {
  const out = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) out[row] = values?.[row] ?? Number.NaN;
  return out;
}

/** The same column where one with the same values is there already. */
function once(known: Column[], candidate: Column): Column {
  const same = known.find((other) => equal(other, candidate));
  if (same !== undefined) return same;
  known.push(candidate);
  return candidate;
}

function equal(a: Column, b: Column): boolean {
  if (a.length !== b.length) return false;
  for (let row = 0; row < a.length; row += 1) if (a[row] !== b[row]) return false;
  return true;
}

function appended(timeline: Timeline, more: WrittenTimeline): Timeline {
  const grow = new Growth();
  const known = new Set(timeline.metrics.map(nameOf));
  const metrics = timeline.metrics.map((metric) => {
    const added = more.metrics.find((candidate) => nameOf(candidate) === nameOf(metric));
    if (added === undefined) return metric;
    const from = firstAfter(metric.t_s, added.t_s);
    return {
      ...metric,
      t_s: grow.times(metric.t_s, added.t_s.slice(from)),
      values: grown(metric.values, added.values.slice(from)),
    };
  });
  const added = readTimeline({
    ...more,
    metrics: more.metrics.filter((metric) => !known.has(nameOf(metric))),
  }).metrics;
  return {
    target: timeline.target,
    stream: timeline.stream,
    load: appendedLoad(timeline.load, more.load),
    metrics: [...metrics, ...added],
  };
}

function nameOf(metric: Pick<Metric, "source" | "key">): string {
  return `${metric.source} ${metric.key}`;
}

function appendedLoad(load: Load, more: WrittenLoad): Load {
  const from = firstAfter(load.t_s, more.t_s ?? []);
  const rows = (more.t_s?.length ?? 0) - from;
  if (rows <= 0) return load;
  const add = (before: Column, values: Numbers) => grown(before, column(values, rows + from).subarray(from));
  const columns = Object.fromEntries(LOAD_COLUMNS.map((name) => [name, add(load[name], more[name])]));
  const pool = load.pool ?? (more.pool == null ? null : unknownPool(load.t_s.length));
  const types = [...load.by_type, ...(more.by_type ?? [])].map(({ name }) => name);
  return {
    ...(columns as Omit<Load, "pool" | "by_type">),
    by_type: [...new Set(types)].map((type) => {
      const before = load.by_type.find(({ name }) => name === type);
      const behind = more.by_type?.find(({ name }) => name === type);
      return typeLoad(type, (name) =>
        add(before?.[name] ?? column(undefined, load.t_s.length), behind?.[name]),
      );
    }),
    pool:
      pool === null
        ? null
        : (Object.fromEntries(
            POOL_COLUMNS.map((name) => [name, add(pool[name], more.pool?.[name])]),
          ) as unknown as PoolLoad),
  };
}

function unknownPool(rows: number): PoolLoad {
  return Object.fromEntries(
    POOL_COLUMNS.map((name) => [name, column(undefined, rows)]),
  ) as unknown as PoolLoad;
}

/** The first row of `more` that is later than all there is: a point that comes twice is taken once. */
function firstAfter(times: Column, more: (number | null)[]): number {
  const last = times.at(-1) ?? Number.NEGATIVE_INFINITY;
  const found = more.findIndex((time) => time !== null && time > last);
  return found < 0 ? more.length : found;
}

/** A column with more values behind it, in the same memory where there is room. */
export function grown(before: Column, more: ArrayLike<number | null>): Column {
  const length = before.length + more.length;
  let buffer = before.buffer;
  if (before.byteOffset !== 0 || length * 8 > buffer.byteLength) {
    const roomier = new Float64Array(Math.max(256, Math.ceil(length * 1.4)));
    roomier.set(before);
    buffer = roomier.buffer;
  }
  const out = new Float64Array(buffer, 0, length);
  for (let row = 0; row < more.length; row += 1) out[before.length + row] = more[row] ?? Number.NaN;
  return out;
}

/** Times that metrics share grow once; a metric that goes its own way gets memory of its own. */
class Growth {
  readonly #done = new Map<Column, { more: (number | null)[]; grown: Column }>();

  times(before: Column, more: (number | null)[]): Column {
    const done = this.#done.get(before);
    if (done === undefined) {
      const fresh = grown(before, more);
      this.#done.set(before, { more, grown: fresh });
      return fresh;
    }
    const same = done.more.length === more.length && done.more.every((time, row) => time === more[row]);
    return same ? done.grown : grown(before.slice(), more);
  }
}
