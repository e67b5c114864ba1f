import { expect, test } from "vitest";
import { linearAxis, logAxis } from "../src/charts/bars";
import { readReport } from "../src/columns";
import type { Basis, Passes } from "../src/document";
import { answersText, notRun, queryNames, spreadOf, timesOf, withoutTime } from "../src/queries";
import { areQuerySets, isQuerySet } from "../src/reading";
import { sceneOf } from "../src/scene";
import { speedUpInRun } from "../src/sections/queries";
import { speedUpAmong } from "../src/served/comparison";
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
    varies: null,
  }));
  const answers = { kept: queries.length, known: 0, valid: 0, alike: 0, differ: 0 };
  const half_widths = { total_half_width_s: null, geometric_mean_half_width_s: null, qph_half_width: null };
  const figures = { total_s: null, geometric_mean_s: null, qph: null, ...half_widths };
  return { stages: [1], seconds: [null], queries, ...figures, answers, clients: 1 };
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
  const queries = passes.queries.map((query, at) =>
    at < 2 ? { ...query, varies: "LIMIT without ORDER BY" } : query,
  );
  expect(answersText({ ...passes, queries })).toBe("22 of 22 answers as on the other targets (2 in part)");
  const known = (answers: Partial<Passes["answers"]>) =>
    answersText({ ...passes, answers: { ...passes.answers, alike: 0, ...answers } });
  expect(known({})).toContain("compared with none");
  expect(known({ known: 22, valid: 21 })).toBe("21 of 22 answers valid");
  expect(known({ kept: 0 })).toBeNull();
});

test("how many times as fast is told by the report of both targets, and across runs by the comparison", () => {
  const other = { ...report, run: { ...report.run, name: "other" } };
  const { lanes } = sceneOf([report, other]);
  const lane = (run: string, target: string) => {
    const found = lanes.find((one) => one.report.run.name === run && one.target.name === target);
    if (found === undefined) throw new Error(`no ${target} in ${run}`);
    return found;
  };
  const [pg, my, duck] = [lane(report.run.name, "pg"), lane(report.run.name, "my"), lane("other", "duck")];
  const found = speedUpInRun("queries", pg, my);
  expect(found).toMatchObject({ base: "pg", without: ["Q4", "Q17"] });
  expect(found?.mean).toBeCloseTo(0.04 / 0.09, 9);
  expect(speedUpInRun("queries", pg, duck)).toBeUndefined();
  expect(speedUpInRun("queries", pg, pg)).toBeUndefined();
  const side = (name: string, { report, target }: typeof pg) => ({
    name,
    runs: [report.run.name],
    target: target.name,
    series: null,
    product: null,
    embedded_profile: null,
    started_at: report.run.started_at,
  });
  const across = { base: "a", mean: 6, interval: null, ratios: [], without: [] };
  const basis: Basis = { unit: "untested", repeats: [1, 1], in_turn: false, text: "" };
  const nothing = { workloads: [], basis, sections: [], ladder: [] };
  const comparison = {
    sides: [side("a", pg), side("b", duck)],
    series: [{ name: "queries", ...nothing, speed_ups: [[], [across]] }],
  };
  expect(speedUpAmong(comparison, "queries", pg, duck)).toBe(across);
  expect(speedUpAmong(comparison, "queries", duck, pg)).toBeUndefined();
  expect(speedUpAmong(comparison, "queries", my, duck)).toBeUndefined();
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
