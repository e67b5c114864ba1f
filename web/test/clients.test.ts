// What the charts against clients draw of a ladder.

import { expect, test } from "vitest";
import { intervalOf, shadedOf } from "../src/charts/clients";
import { readReport } from "../src/columns";
import type { Peak } from "../src/document";
import { ladderOf } from "../src/reading";
import { syntheticReport } from "./fixture";

const report = readReport(syntheticReport());
const [series] = report.series;
if (series?.peak == null) throw new Error("the fixture has no peak");
const peak: Peak = series.peak;
const rungs = ladderOf(report, series);

test("the rung that was chosen for being the highest has no interval, and the others have theirs", () => {
  const known = rungs.filter((rung) => intervalOf({ peak }, rung) !== null).map(({ id }) => id);
  expect(known).toEqual(rungs.filter(({ id }) => id !== peak.stage).map(({ id }) => id));
});

test("a single rung was not chosen, and has its interval", () => {
  const [rung] = rungs.filter(({ id }) => id === peak.stage);
  if (rung?.throughput == null) throw new Error("the peak has no rung");
  expect(intervalOf({ peak: { ...peak, throughput: rung.throughput } }, rung)).toBe(rung.throughput);
});

test("a rung too short for an interval has none", () => {
  const [rung] = rungs;
  if (rung?.throughput == null) throw new Error("the fixture has no rung");
  const short = { ...rung, throughput: { ...rung.throughput, half_width: null } };
  expect(intervalOf({ peak }, short)).toBeNull();
});

test("what cannot be told from the peak is shaded where there is anything, and is a number of clients", () => {
  expect(shadedOf({ peak, rungs })).toEqual([8, 16]);
  expect(shadedOf({ peak: null, rungs })).toBeNull();
  expect(shadedOf({ peak: { ...peak, clients_indistinguishable: [8] }, rungs })).toBeNull();
  const open = { arrival: "open", rate_per_s: 100, distribution: "poisson" } as const;
  expect(shadedOf({ peak, rungs: rungs.map((rung) => ({ ...rung, ...open })) })).toBeNull();
});
