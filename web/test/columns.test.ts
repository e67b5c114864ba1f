import { describe, expect, test } from "vitest";
import { grown, readReport, withUpdate } from "../src/columns";
import type { Timeline, Update, WrittenMetric, WrittenReport, WrittenTimeline } from "../src/document";
import { isCoarse, spliced } from "../src/served/detail";
import { duelReport } from "./duel";
import { syntheticReport } from "./fixture";

const list = (values: Float64Array | undefined) => [...(values ?? [])];

/** The document up to a time, and what came after it as an update. */
function halves(report: WrittenReport, at: number): { before: WrittenReport; update: Update } {
  const part = (timeline: WrittenTimeline, later: boolean): WrittenTimeline => {
    const keep = (t: (number | null)[]) =>
      t.flatMap((time, row) => ((time ?? 0) > at === later ? [row] : []));
    const rows = keep(timeline.load.t_s ?? []);
    const of = (columns: object): object =>
      Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [
          name,
          Array.isArray(column) ? rows.map((row) => column[row]) : of(column as object),
        ]),
      );
    const metrics = timeline.metrics.map((metric): WrittenMetric => {
      const kept = keep(metric.t_s);
      return {
        ...metric,
        t_s: kept.map((row) => metric.t_s[row] ?? Number.NaN),
        values: kept.map((row) => metric.values[row] ?? null),
      };
    });
    return { target: timeline.target, load: of(timeline.load) as WrittenTimeline["load"], metrics };
  };
  const { timelines, stages, run, series, findings } = report;
  // Of the stages one has not begun yet, and one is as far as it got; all else but these parts stays as it is.
  const [last, ...earlier] = [...stages].reverse();
  const running = last === undefined ? [] : [{ ...last, seconds: 1, complete: false }];
  return {
    before: {
      ...report,
      run: { ...run, outcome: "incomplete" },
      series: [],
      findings: [],
      stages: [...earlier.slice(1).reverse(), ...running],
      timelines: timelines.map((timeline) => part(timeline, false)),
    },
    update: {
      report: { run, series, findings },
      stages: stages.slice(-2),
      append: timelines.map((timeline) => part(timeline, true)),
    },
  };
}

describe("a live report", () => {
  const report = duelReport({ steps: 4 });

  test("with its updates is the report that was written at the end", () => {
    const { before, update } = halves(report, 60);
    const merged = withUpdate(readReport(before), update);
    expect(merged).toEqual(readReport(report));
  });

  test("takes a point that comes twice once", () => {
    const { before, update } = halves(report, 60);
    const merged = withUpdate(withUpdate(readReport(before), update), update);
    expect(merged).toEqual(readReport(report));
  });

  test("takes up targets, metrics and pools that were not there before", () => {
    const { before, update } = halves(report, 60);
    const late: WrittenReport = {
      ...before,
      timelines: before.timelines.slice(0, 1).map(({ target, load: { pool: _, ...load }, metrics }) => ({
        target,
        load,
        metrics: metrics.slice(1),
      })),
    };
    const merged = withUpdate(readReport(late), update);
    expect(merged.timelines.map(({ target }) => target)).toEqual(["pg", "my"]);
    const [pg] = merged.timelines as [Timeline];
    const rows = before.timelines[0]?.load.t_s?.length ?? 0;
    expect(list(pg.load.pool?.in_use).slice(0, rows).every(Number.isNaN)).toBe(true);
    expect(Number.isFinite(pg.load.pool?.in_use[rows])).toBe(true);
    expect(pg.metrics).toHaveLength(report.timelines[0]?.metrics.length ?? -1);
  });

  test("leaves what was shown before as it was", () => {
    const { before, update } = halves(report, 60);
    const first = readReport(before);
    withUpdate(first, update);
    expect(first).toEqual(readReport(before));
  });
});

test("columns grow within their memory, and a metric of other times does not write into it", () => {
  const first = grown(new Float64Array(0), [1, 2]);
  const second = grown(first, [3]);
  expect(second.buffer).toBe(first.buffer);
  expect(list(second)).toEqual([1, 2, 3]);

  const metric = (key: string, t_s: number[]): WrittenMetric => ({
    source: "host",
    key,
    unit: "1/s",
    t_s,
    values: t_s,
  });
  const append = (...metrics: WrittenMetric[]) => ({
    report: {},
    stages: [],
    append: [{ target: "pg", load: {}, metrics }],
  });
  let report = readReport({
    ...syntheticReport(),
    timelines: [{ target: "pg", load: {}, metrics: [metric("a", [1, 2]), metric("b", [1, 2])] }],
  });
  report = withUpdate(report, append(metric("a", [3]), metric("b", [3])));
  const [a, b] = report.timelines[0]?.metrics ?? [];
  expect(a?.t_s).toBe(b?.t_s);
  report = withUpdate(report, append(metric("a", [4]), metric("b", [4.5])));
  expect(report.timelines[0]?.metrics.map(({ t_s }) => list(t_s))).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3, 4.5],
  ]);
});

describe("finer points", () => {
  const whole = readReport(duelReport({ steps: 3, stepSeconds: 60 }));
  const coarse = { ...whole, timelines: whole.timelines.map((timeline) => thin(timeline, 10)) };

  test("are wanted where a second of load has none of its own", () => {
    expect(isCoarse(coarse, [20, 60])).toBe(true);
    expect(isCoarse(whole, [20, 60])).toBe(false);
    expect(isCoarse(coarse, [0, 5])).toBe(false);
  });

  test("stand in the span, and the others around it", () => {
    const joined = spliced(coarse, whole, [20, 60]);
    expect(isCoarse(joined, [20, 60])).toBe(false);
    expect(isCoarse(joined, [80, 200])).toBe(true);
    const [load] = joined.timelines.map((timeline) => timeline.load);
    const t = list(load?.t_s);
    expect(t).toEqual([...t].sort((a, b) => a - b));
    expect(load?.tps.length).toBe(t.length);
    expect(load?.pool?.in_use.length).toBe(t.length);
    expect(t.filter((time) => time >= 20 && time < 60)).toEqual(
      list(whole.timelines[0]?.load.t_s).filter((time) => time >= 20 && time < 60),
    );
  });
});

function thin(timeline: Timeline, stride: number): Timeline {
  const of = (column: Float64Array) => column.filter((_value, row) => row % stride === 0);
  const { pool, by_type, ...columns } = timeline.load;
  const load = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, of(column)]));
  return {
    target: timeline.target,
    stream: timeline.stream,
    load: {
      ...load,
      by_type,
      pool:
        pool === null
          ? null
          : Object.fromEntries(Object.entries(pool).map(([name, column]) => [name, of(column)])),
    } as unknown as Timeline["load"],
    metrics: timeline.metrics.map((metric) => ({
      ...metric,
      t_s: of(metric.t_s),
      values: of(metric.values),
    })),
  };
}
