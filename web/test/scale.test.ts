import { describe, expect, test } from "vitest";
import {
  linearTicks,
  logRange,
  logTicks,
  niceMax,
  splitByStage,
  stacked,
  thinned,
} from "../src/charts/scale";
import { column } from "../src/columns";

describe("axes", () => {
  test("reach a round number at or above the data", () => {
    expect([85_300, 100, 101, 0.3, 4_230].map(niceMax)).toEqual([
      100_000,
      100,
      120,
      expect.closeTo(0.3),
      5000,
    ]);
    expect([0, -1, Number.NaN, Number.NEGATIVE_INFINITY].map(niceMax)).toEqual([1, 1, 1, 1]);
  });

  test("from zero have round ticks that end within the axis", () => {
    expect(linearTicks(100_000, 5)).toEqual([0, 20_000, 40_000, 60_000, 80_000, 100_000]);
    expect(linearTicks(1, 2)).toEqual([0, 0.5, 1]);
    for (const max of [1.2, 3, 7, 80, 12_345]) {
      const ticks = linearTicks(max, 5);
      expect(ticks[0]).toBe(0);
      expect(ticks.at(-1)).toBeLessThanOrEqual(max * 1.000001);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(ticks.length).toBeLessThanOrEqual(7);
    }
  });

  test("on a log scale enclose the data, whatever it is", () => {
    expect(logRange(65, 2600)).toEqual([50, 5000]);
    expect(logRange(100, 100)).toEqual([100, 1000]);
    expect(logRange(0, 10)).toEqual([1, 10]);
    expect(logRange(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)).toEqual([1, 10]);
    for (const [min, max] of [
      [0.3, 7],
      [999, 1001],
      [1, 1e9],
    ] as const) {
      const [low, high] = logRange(min, max);
      expect(low).toBeLessThanOrEqual(min);
      expect(high).toBeGreaterThanOrEqual(max);
    }
  });

  test("on a log scale have as many ticks as fit", () => {
    expect(logTicks(50, 5000, 8)).toEqual([50, 100, 200, 500, 1000, 2000, 5000]);
    expect(logTicks(1, 1e6, 7)).toEqual([1, 10, 100, 1000, 1e4, 1e5, 1e6]);
    expect(logTicks(1, 1e9, 5).length).toBeLessThanOrEqual(5);
  });

  test("of clients keep the ends and leave out what is too close", () => {
    expect(thinned([1, 2, 4, 8, 16], 400, 30)).toEqual([1, 2, 4, 8, 16]);
    const few = thinned([1, 2, 4, 8, 16, 32, 64, 128, 250, 256], 200, 40);
    expect(few[0]).toBe(1);
    expect(few.at(-1)).toBe(256);
    expect(few).not.toContain(250);
    expect(thinned([8], 200, 40)).toEqual([8]);
    expect(thinned([], 200, 40)).toEqual([]);
  });
});

describe("columns", () => {
  const list = (values: Float64Array) => [...values];

  test("are cut where a stage ends", () => {
    const cut = splitByStage(column([1, 2, 4, 5]), column([0, 0, 1, 1]), [column([10, 11, 20, null])]);
    expect(list(cut.t)).toEqual([1, 2, 3, 4, 5]);
    expect(cut.columns.map(list)).toEqual([[10, 11, Number.NaN, 20, Number.NaN]]);
  });

  test("stack, and an unknown part leaves the sum unknown", () => {
    expect(stacked([column([1, null, 3]), column([10, 20, null])]).map(list)).toEqual([
      [1, Number.NaN, 3],
      [11, Number.NaN, Number.NaN],
    ]);
  });
});
