import { describe, expect, test } from "vitest";
import { missingOf, panelsOf } from "../src/charts/timeline";
import type { Finding, Series, Timeline } from "../src/document";
import { arrivalText, bySeverity, clientsText, concerns, holdOf, ladderOf } from "../src/reading";
import { syntheticReport } from "./fixture";

const report = syntheticReport();
const [read, write] = report.series as [Series, Series];

test("the last hold that measured anything stands for a series", () => {
  expect(holdOf(report, read)?.kind).toBe("hold");
  const cut = structuredClone(report);
  const hold = holdOf(cut, cut.series[0] as Series);
  if (hold !== null) hold.throughput = null;
  expect(holdOf(cut, cut.series[0] as Series)).toBe(hold);
  expect(holdOf(report, { ...read, holds: [] })).toBeNull();
});

test("a ladder is read by clients, whatever the order it ran in", () => {
  const mixed = { ...read, ladder: [...read.ladder].reverse() };
  expect(ladderOf(report, mixed).map((stage) => stage.clients)).toEqual([1, 2, 4, 8, 16, 32]);
  expect(ladderOf(report, { ...read, ladder: [999] })).toEqual([]);
});

describe("findings", () => {
  const finding = (about: string | null, severity: Finding["severity"] = "note"): Finding => ({
    code: "x",
    severity,
    about,
    evidence: "",
    advice: "",
  });

  test("concern what they are about", () => {
    expect(concerns(finding(null), report, read)).toBe(true);
    expect(concerns(finding("pg"), report, read)).toBe(true);
    expect(concerns(finding("read"), report, read)).toBe(true);
    expect(concerns(finding("pg/read"), report, read)).toBe(true);
    expect(concerns(finding("read"), report, write)).toBe(false);
    expect(concerns(finding("my"), report, read)).toBe(false);
  });

  test("stand with the gravest first", () => {
    const order = bySeverity([finding("a"), finding("b", "invalid"), finding("c", "doubt"), finding("d")]);
    expect(order.map(({ about }) => about)).toEqual(["b", "c", "a", "d"]);
  });
});

test("stages are named as they were run", () => {
  const stage = report.stages[0];
  if (stage === undefined || stage.arrival !== "closed") throw new Error("the fixture has changed");
  expect(arrivalText(stage)).toBe("closed loop");
  expect(arrivalText({ ...stage, think_time_ms: 5 })).toBe("closed loop, 5 ms think time");
  expect(arrivalText({ ...stage, arrival: "open", rate_per_s: 5000, distribution: "poisson" })).toBe(
    "open loop, 5,000/s poisson",
  );
  expect(clientsText({ ...stage, clients: 1 })).toBe("1 client");
  expect(clientsText({ ...stage, clients: 1, clients_end: 64 })).toBe("1 → 64 clients");
});

describe("panels over time", () => {
  const timeline = report.timelines[0] as Timeline;
  const panels = panelsOf(report, timeline);
  const named = (id: string) => panels.find((panel) => panel.id === id);

  test("give series of very different height an axis each", () => {
    const sides = named("throughput")?.curves.map(({ label, side }) => [label, side]);
    expect(sides).toEqual([
      ["read", "left"],
      ["write", "right"],
    ]);
    const equal = structuredClone(timeline);
    equal.load.tps = equal.load.tps.map(() => 100);
    expect(panelsOf(report, equal)[0]?.curves.map(({ side }) => side)).toEqual(["left", "left"]);
  });

  test("read values as measured where they are drawn stacked", () => {
    const cpu = named("cpu-host");
    const system = cpu?.curves[1];
    const user = cpu?.curves[0]?.values[20] ?? 0;
    expect(system?.drawn[20]).toBeCloseTo((system?.values[20] ?? 0) + user);
    expect(cpu?.axis).toBe("share");
  });

  test("leave out what was not measured, and say so", () => {
    const little = { ...timeline, metrics: timeline.metrics.filter(({ key }) => key === "cpu_user_share") };
    expect(panelsOf(report, little).map(({ id }) => id)).toEqual(["throughput", "latency", "cpu-host"]);
    expect(missingOf(little)).toContain("WAL");
    expect(missingOf(little)).not.toContain("CPU of the host");
    expect(missingOf(timeline)).toEqual([]);
  });

  test("show failures only where there were any", () => {
    const failing = structuredClone(timeline);
    failing.load.failed_per_s[3] = 2;
    expect(panelsOf(report, failing)[0]?.curves.map(({ label }) => label)).toEqual([
      "read",
      "write",
      "failed",
    ]);
  });
});
