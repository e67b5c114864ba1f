import { describe, expect, test } from "vitest";
import { onSteps, placed, placeOf, secondsOf, stepsOf } from "../src/align";
import { extentOf, liesOn, markedRows, nearestRow, trace } from "../src/charts/trace";
import { column, readReport } from "../src/columns";
import type { StageResult } from "../src/document";
import { layoutOf } from "../src/layout";
import { sceneOf } from "../src/scene";
import { readView } from "../src/state";
import { duelReport } from "./duel";

describe("the marks of a curve", () => {
  const unknown = Number.NaN;
  const marked = (y: number[], apart: number, index = 0) =>
    markedRows(
      y.map((_, row) => row * apart),
      y,
      [0, (y.length - 1) * apart],
      96,
      index,
    );

  test("stand on each piece of it, however short", () => {
    expect(marked([1, 1, 1], 5)).toEqual([1]);
    expect(marked([1], 5, 3)).toEqual([0]);
    expect(marked([1, 1, unknown, unknown, unknown, unknown, unknown, unknown, unknown, 1, 1], 10)).toEqual([
      1, 10,
    ]);
    const pieces = Array.from({ length: 8 }, () => [1, 1, 1, unknown, unknown, unknown]).flat();
    expect(marked(pieces, 20)).toHaveLength(8);
  });

  test("are not crowded on many short pieces", () => {
    const pieces = Array.from({ length: 100 }, () => [1, 1, unknown]).flat();
    const rows = marked(pieces, 4);
    expect(rows.length).toBeGreaterThan(9);
    expect(rows.length).toBeLessThan(27);
  });

  test("are on none of what is out of sight", () => {
    expect(markedRows([-50, -40, 10, 20], [1, 1, 1, 1], [0, 100], 96, 0)).toEqual([3]);
    expect(markedRows([-50, -40], [1, 1], [0, 100], 96, 0)).toEqual([]);
  });
});

describe("what is drawn of a curve", () => {
  const rows = 86_400;
  const x = Float64Array.from({ length: rows }, (_, row) => row);
  const y = x.map((at) => Math.sin(at / 900) * 100);
  y[40_000] = 5_000;
  y[40_001] = -5_000;

  test("are a few points for each column of pixels, the extremes among them", () => {
    const drawn = trace(x, y, [0, rows], 1_000);
    expect(drawn.x.length).toBeLessThanOrEqual(1_000 * 4 + 4);
    expect(drawn.y).toContain(5_000);
    expect(drawn.y).toContain(-5_000);
    expect(drawn.x).toEqual([...drawn.x].sort((a, b) => a - b));
    expect([drawn.x[0], drawn.x.at(-1)]).toEqual([0, rows - 1]);
  });

  test("are all points where there is room for them, and one more at either end", () => {
    expect(trace(x, y, [100.5, 109.5], 1_000).x).toEqual([
      100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
    ]);
  });

  test("stop where a value is unknown", () => {
    const holes = y.slice();
    holes.fill(Number.NaN, 50_000, 52_000);
    const drawn = trace(x, holes, [0, rows], 1_000);
    const within = drawn.x.flatMap((at, row) => (at > 50_100 && at < 51_900 ? [drawn.y[row]] : []));
    expect(within.length).toBeGreaterThan(0);
    expect(within.every(Number.isNaN)).toBe(true);
  });

  test("say nothing where there is nothing", () => {
    expect(trace(column([]), column([]), [0, 1], 100)).toEqual({ x: [], y: [] });
    expect(extentOf(x, y, [39_999, 40_002])).toEqual([-5_000, 5_000]);
    expect(extentOf(column([1]), column([null]), [0, 2])).toBeNull();
    expect(nearestRow(column([1, 2, 4]), 2.9, 2)).toBe(1);
    expect(nearestRow(column([1, 2, 4]), 9, 2)).toBeNull();
  });
});

describe("a lane on the steps of its ladder", () => {
  const report = readReport(duelReport({ steps: 3, stepSeconds: 10 }));
  const rungs = (target: string) => report.stages.filter((stage) => stage.target === target);
  const steps = stepsOf(report.stages);
  const view = readView(new URLSearchParams());

  test("stands over the other, though they took turns", () => {
    expect(layoutOf(sceneOf([report]), view).axis).toBe("step");
    const [pg, my] = [onSteps(rungs("pg"), steps), onSteps(rungs("my"), steps)];
    const middle = (target: string, step: number) => (rungs(target)[step]?.start_s ?? 0) + 5;
    for (const step of [0, 1, 2]) {
      expect(placeOf(middle("pg", step), pg)).toBeCloseTo(step + 0.5);
      expect(placeOf(middle("my", step), my)).toBeCloseTo(step + 0.5);
    }
    expect(placeOf(middle("my", 1), pg)).toBeNull();
  });

  test("is cut between steps, and leads back to its seconds", () => {
    const placing = onSteps(rungs("pg"), steps);
    const t = report.timelines[0]?.load.t_s ?? column([]);
    const { x, columns } = placed(t, [t], placing);
    expect([...x]).toEqual([...x].sort((a, b) => a - b));
    expect([...(columns[0] ?? [])].filter(Number.isNaN)).toHaveLength(3);
    expect([...placed(t, [t], placing, true).x]).toHaveLength(30);
    const second = rungs("pg")[1];
    expect(secondsOf([1, 2], placing)).toEqual([second?.start_s, (second?.start_s ?? 0) + 10]);
    expect(secondsOf([7, 9], placing)).toBeNull();
  });

  test("has of a stretch the seconds from its first to its last, both of them", () => {
    const t = column([0, 1, 2, 3, 4]);
    const stretch = (from: number, to: number) => [{ from, to, x: 0, scale: 1 }];
    const shown = (from: number, to: number) => [...placed(t, [t], stretch(from, to), true).x];
    expect(shown(1, 3)).toEqual([0, 1, 2]);
    expect(shown(0.5, 2.5)).toEqual([0.5, 1.5]);
    expect([shown(-9, -1), shown(1.2, 1.8), shown(9, 10)]).toEqual([[], [], []]);
    expect(shown(-1, 9)).toHaveLength(5);
  });

  test("shares a step where its load was repeated", () => {
    const [one] = rungs("pg");
    const again = { ...(one as StageResult), id: 99, start_s: 500 };
    const placing = onSteps([one as StageResult, again], [1]) ?? [];
    expect(placing.map(({ x, scale }) => [x, scale])).toEqual([
      [0, 0.05],
      [0.5, 0.05],
    ]);
  });

  test("takes no turn that ran beside the other", () => {
    const beside = readReport(duelReport({ steps: 3, together: true }));
    expect(layoutOf(sceneOf([beside]), view).axis).toBe("time");
  });
});

test("a curve lies on another where no eye could tell them apart", () => {
  const place = (value: number) => value * 10;
  const curve = { x: [1, 2, 3], y: [5, Number.NaN, 7] };
  const on = (x: number[], y: number[]) => liesOn({ x, y }, curve, place);
  expect(on([1.01, 2, 3], [5.05, Number.NaN, 7])).toBe(true);
  expect(on([1, 2, 3], [5.2, Number.NaN, 7])).toBe(false);
  expect(on([1, 2, 3], [5, 6, 7])).toBe(false);
  expect(on([1.2, 2, 3], [5, Number.NaN, 7])).toBe(false);
  expect(on([1, 2], [5, Number.NaN])).toBe(false);
  expect(liesOn({ x: [], y: [] }, { x: [], y: [] }, place)).toBe(false);
});
