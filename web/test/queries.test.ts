import { describe, expect, test } from "vitest";
import { linearAxis, logAxis } from "../src/charts/bars";
import { readReport } from "../src/columns";
import type { Passes } from "../src/document";
import {
  answersText,
  notRun,
  queryNames,
  speedUp,
  spreadOf,
  studentT,
  timesOf,
  withoutTime,
} from "../src/queries";
import { areQuerySets, caveatOf, isQuerySet } from "../src/reading";
import { syntheticReport } from "./fixture";
import { passesReport } from "./passes";

const report = readReport(passesReport());
const of = (target: string) => {
  const series = report.series.find((one) => one.target === target);
  if (series?.passes === undefined) throw new Error(`${target} has no passes`);
  return { series, passes: series.passes };
};

/** Passes of one query each, by median. */
function medians(times: Record<string, number | null>): Passes {
  const queries = Object.entries(times).map(([query, median_s]) => ({
    query,
    times_s: [median_s],
    median_s,
    failure: null,
    over_limit: false,
    rows: 1,
    validated: null,
    compared: false,
    differs: null,
  }));
  const answers = { kept: queries.length, known: 0, valid: 0, alike: 0, differ: 0 };
  return { stages: [1], seconds: [null], queries, total_s: null, geometric_mean_s: null, qph: null, answers };
}

test("a series is of a query set before a pass has ended, and no other series is", () => {
  const { passes: _, ...before } = of("pg").series;
  expect(isQuerySet(report, before)).toBe(true);
  expect(areQuerySets([report])).toBe(true);
  const others = readReport(syntheticReport());
  expect(areQuerySets([others])).toBe(false);
  expect(areQuerySets([report, others])).toBe(false);
  expect(areQuerySets([{ ...report, series: [] }])).toBe(false);
});

test("only what is derived from a published benchmark says so", () => {
  expect(caveatOf("tpch/queries")).toContain("not comparable to published TPC-H results");
  expect(caveatOf("own/queries")).toBeNull();
});

test("a query without a time was not run, or is over the limit", () => {
  expect(notRun(of("my").passes)).toEqual(["Q17"]);
  expect(withoutTime(timesOf(of("my").passes, "Q17"))).toBe("over the limit");
  expect(withoutTime(undefined)).toBe("not run");
});

test("a spread is of the passes that ended well", () => {
  const [own] = medians({ Q1: 2 }).queries;
  if (own === undefined) throw new Error("no query");
  expect(spreadOf({ ...own, times_s: [3, null, 2] })).toEqual([2, 3]);
  expect(spreadOf({ ...own, times_s: [null, null] })).toBeNull();
});

test("queries of several sides stand in the order of the first", () => {
  expect(queryNames([medians({ a: 1, c: 1 }), medians({ a: 1, b: 1 })])).toEqual(["a", "c", "b"]);
});

test("answers are valid, alike or only kept", () => {
  const { passes } = of("pg");
  expect(answersText(passes)).toBe("22 of 22 answers as on the other targets");
  expect(answersText(of("my").passes)).toBe("20 of 22 answers as on the other targets");
  const known = (answers: Partial<Passes["answers"]>) =>
    answersText({ ...passes, answers: { ...passes.answers, alike: 0, ...answers } });
  expect(known({})).toContain("compared with none");
  expect(known({ known: 22, valid: 21 })).toBe("21 of 22 answers valid");
  expect(known({ kept: 0 })).toBeNull();
});

describe("how many times as fast", () => {
  test("is the geometric mean of the ratios, with an interval over the queries", () => {
    const found = speedUp(medians({ a: 8, b: 2, c: 4 }), medians({ a: 1, b: 1, c: 1 }));
    expect([...found.ratios.values()]).toEqual([8, 2, 4]);
    expect(found.mean).toBeCloseTo(4, 9);
    // Logarithms scatter by ln 2: its third part under the root, times 4.303.
    const half = (4.303 * Math.log(2)) / Math.sqrt(3);
    expect(found.interval?.[0]).toBeCloseTo(4 * Math.exp(-half), 6);
    expect(found.interval?.[1]).toBeCloseTo(4 * Math.exp(half), 6);
  });

  test("is the same the other way round", () => {
    const [a, b] = [medians({ a: 8, b: 2 }), medians({ a: 1, b: 3 })];
    expect((speedUp(a, b).mean ?? 0) * (speedUp(b, a).mean ?? 0)).toBeCloseTo(1, 12);
  });

  test("leaves out what did not run on both, and answers that are not to be relied on", () => {
    const found = speedUp(of("pg").passes, of("my").passes);
    expect(found.without).toEqual(["Q4", "Q17"]);
    expect(found.ratios.size).toBe(20);
    expect(found.mean).toBeCloseTo(0.04 / 0.09, 9);
  });

  test("is unknown of nothing, and has no interval of one query", () => {
    expect(speedUp(medians({ a: 1 }), medians({ a: null }))).toMatchObject({ mean: null, without: ["a"] });
    expect(speedUp(medians({ a: 2 }), medians({ a: 2 }))).toMatchObject({ mean: 1, interval: null });
  });

  test("takes quantiles of Student's t", () => {
    for (const [freedom, exact] of [
      [1, 12.706],
      [4, 2.776],
      [5, 2.5706],
      [10, 2.2281],
      [21, 2.0796],
      [1000, 1.9623],
    ] as const)
      expect(Math.abs(studentT(freedom) - exact)).toBeLessThan(0.004);
  });
});

test("a linear axis begins at zero, a logarithmic one has none", () => {
  const linear = linearAxis([0.2, 0.9], String);
  expect([linear.place(0), linear.place(1), linear.ticks[0]]).toEqual([0, 1, 0]);
  const log = logAxis([0.002, 0.9], String);
  expect([log.place(0.002), log.place(1)].map((place) => Number(place.toFixed(9)))).toEqual([0, 1]);
  expect(Math.min(...log.ticks)).toBeGreaterThan(0);
  expect(linearAxis([], String).place(0)).toBe(0);
  expect(logAxis([], String).ticks.every((tick) => tick > 0)).toBe(true);
});
