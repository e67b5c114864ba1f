// Finer points for a span that was zoomed into. The server thins a long run; the page asks for what is shown and puts
// it in place of the thinned points. Pure.

import { rowAt } from "../charts/trace";
import type { Column, Report, Timeline } from "../document";

export type Span = [number, number];

/** More points than this in a span fill a screen. */
const ENOUGH = 1500;
/** Of the seconds of load in a span, the share that must have a point of their own. */
const FINE_SHARE = 0.8;

/** Whether the server may have more points of a span than are here: an interval of load is a second. */
export function isCoarse(report: Report, [from, to]: Span): boolean {
  return report.timelines.some(({ target, stream, load }) => {
    const rows = rowAt(load.t_s, to) - rowAt(load.t_s, from);
    const seconds = report.stages
      .filter((stage) => stage.target === target && (stage.stream ?? 0) === stream)
      .reduce(
        (sum, stage) =>
          sum + Math.max(0, Math.min(to, stage.start_s + stage.seconds) - Math.max(from, stage.start_s)),
        0,
      );
    return rows < ENOUGH && rows < seconds * FINE_SHARE;
  });
}

/** A report with the points of `finer` within a span. */
export function spliced(report: Report, finer: Report, span: Span): Report {
  const timelines = report.timelines.map((timeline) => {
    const other = finer.timelines.find(
      ({ target, stream }) => target === timeline.target && stream === timeline.stream,
    );
    return other === undefined ? timeline : splicedTimeline(timeline, other, span);
  });
  return { ...report, timelines };
}

function splicedTimeline(timeline: Timeline, finer: Timeline, span: Span): Timeline {
  const joint = jointOf(timeline.load.t_s, finer.load.t_s, span);
  const { pool, by_type, ...columns } = timeline.load;
  const load = joined(columns, finer.load, joint);
  const finerPool = finer.load.pool;
  const metrics = timeline.metrics.map((metric) => {
    const other = finer.metrics.find(({ source, key }) => source === metric.source && key === metric.key);
    if (other === undefined) return metric;
    const rows = jointOf(metric.t_s, other.t_s, span);
    return {
      ...metric,
      t_s: join(metric.t_s, other.t_s, rows),
      values: join(metric.values, other.values, rows),
    };
  });
  return {
    target: timeline.target,
    stream: timeline.stream,
    load: {
      ...load,
      pool: pool === null || finerPool === null ? pool : joined(pool, finerPool, joint),
      by_type: by_type.map((type) => {
        const other = finer.load.by_type.find(({ name }) => name === type.name);
        if (other === undefined) return type;
        const { name, ...columns } = type;
        return { name, ...joined(columns, other, joint) };
      }),
    },
    metrics,
  };
}

/** Every column of the one with the rows of the other. */
function joined<T extends { [K in keyof T]: Column }>(columns: T, finer: T, joint: Joint): T {
  const names = Object.keys(columns) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, join(columns[name], finer[name], joint)])) as T;
}

/** Rows of the one before and behind the span, and of the other within it. */
interface Joint {
  before: number;
  behind: number;
  from: number;
  to: number;
}

function jointOf(t: Column, finer: Column, [from, to]: Span): Joint {
  return { before: rowAt(t, from), behind: rowAt(t, to), from: rowAt(finer, from), to: rowAt(finer, to) };
}

function join(column: Column, finer: Column, { before, behind, from, to }: Joint): Column {
  const out = new Float64Array(before + (to - from) + (column.length - behind));
  out.set(column.subarray(0, before));
  out.set(finer.subarray(from, to), before);
  out.set(column.subarray(behind), before + (to - from));
  return out;
}
