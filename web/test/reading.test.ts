import { describe, expect, test } from "vitest";
import { panelsOf } from "../src/charts/panels";
import { readReport } from "../src/columns";
import type { Finding, Report, Series, Timeline } from "../src/document";
import { layoutOf } from "../src/layout";
import { arrivalText, clientsText, holdOf, ladderOf, peakAt, repeatsOf, runningText } from "../src/reading";
import { type Lane, sceneOf } from "../src/scene";
import { readView } from "../src/state";
import { duelReport } from "./duel";
import { subject, syntheticReport } from "./fixture";

const report = readReport(syntheticReport());
const [read, write] = report.series as [Series, Series];

test("the hold stands for a series, of several the median", () => {
  const hold = holdOf(report, read);
  if (hold?.throughput == null || hold.service === null) throw new Error("nothing is held");
  expect(hold.kind).toBe("hold");
  expect(holdOf(report, { ...read, headline: null })).toBe(hold);
  expect(holdOf(report, { ...read, holds: [] })).toBeNull();
  const [first, last] = [hold.id, write.holds[0] ?? 0];
  const throughput = { mean: 17_370, half_width: 14_700, samples: 2, effective_samples: 2 };
  const latency = { ...hold.service, p99_us: 4242 };
  const repeated = { ...read, holds: [first, last] };
  const headline = { stages: [first, last], stage: first, throughput, latency, cpu_taken_share: null };
  expect(holdOf(report, { ...repeated, headline })).toEqual({ ...hold, throughput, service: latency });
  expect(repeatsOf(report, { ...repeated, headline }).map(({ id }) => id)).toEqual([first, last]);
});

test("a query that goes on is told with what it took in the pass before", () => {
  const copy = readReport(syntheticReport());
  const [first, second] = copy.stages.filter(({ series }) => series === read.name);
  if (first === undefined || second === undefined) throw new Error("two stages are wanted");
  const service = { ...(first.service ?? {}), mean_us: 4_100_000 } as typeof first.service;
  first.by_type = [
    {
      name: "Q9",
      done: 1,
      rolled_back: 0,
      share: 1,
      per_s: 1,
      failed: 0,
      failed_with_drain: 0,
      retries: 0,
      service,
      response: null,
    },
  ];
  expect(runningText(copy, second)).toBeNull();
  second.running = [
    { query: "Q9", seconds: 12.7 },
    { query: "Q1", seconds: 4 },
  ];
  expect(runningText(copy, second)).toBe("Q9 12 s (last 4.1 s) and 1 more");
  first.running = [{ query: "Q9", seconds: 3.2, earlier: { seconds: 8.2, run: "2026-11-19-4" } }];
  expect(runningText(copy, first)).toBe("Q9 3 s (last 8.2 s in 2026-11-19-4)");
  first.running = [{ query: "Q9", seconds: 3.2, read_share: 0.4512 }];
  expect(runningText(copy, first)).toBe("Q9 3 s, 45% read");
  first.running = [{ query: "Q9", seconds: 3.2 }];
  expect(runningText(copy, first)).toBe("Q9 3 s");
});

test("a ladder is read by clients, whatever the order it ran in", () => {
  const mixed = { ...read, ladder: [...read.ladder].reverse() };
  expect(ladderOf(report, mixed).map((stage) => stage.clients)).toEqual([1, 2, 4, 8, 16, 32]);
  expect(ladderOf(report, { ...read, ladder: [999] })).toEqual([]);
});

test("a peak is where clients were as many, or the rate that was asked for", () => {
  const peak = {
    ...(read.peak as NonNullable<Series["peak"]>),
    clients: 8,
    clients_indistinguishable: [1, 2, 4, 8, 16],
    indistinguishable_from: "1–4, 16",
  };
  expect(peakAt(report, peak)).toEqual({ text: "8 clients", alike: "1–4, 16" });
  const open = structuredClone(report);
  const rung = open.stages.find(({ id }) => id === peak.stage);
  if (rung !== undefined)
    Object.assign(rung, { arrival: "open", rate_per_s: 5_000, distribution: "poisson" });
  expect(peakAt(open, peak)).toEqual({ text: "5,000/s", alike: "" });
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
  expect(clientsText({ ...stage, clients: 1, clients_end: 64 })).toBe("1 to 64 clients");
});

describe("panels over time", () => {
  const everything = (one: Report, change = (lane: Lane) => lane) => {
    const scene = sceneOf([one]);
    const placed = (lanes: Lane[]) => lanes.map((lane) => ({ lane: change(lane), placing: null }));
    const shown = { lanes: placed(scene.streams), targets: placed(scene.lanes) };
    return panelsOf(scene, shown, () => true);
  };
  const panels = (one = report) => everything(one);
  const named = (id: string, one = report) => panels(one).panels.find((panel) => panel.id === id);
  /** The report with other timelines; a clone would lose that columns are shared. */
  const having = (change: (timeline: Timeline) => Timeline) => ({
    ...report,
    timelines: report.timelines.map(change),
  });

  test("give series of very different height an axis each", () => {
    const sides = (one = report) => named("throughput", one)?.curves.map(({ label, side }) => [label, side]);
    expect(sides()).toEqual([
      ["read", "left"],
      ["write", "right"],
    ]);
    const equal = having((timeline) => ({
      ...timeline,
      load: { ...timeline.load, tps: timeline.load.tps.map(() => 100) },
    }));
    expect(sides(equal)?.map(([, side]) => side)).toEqual(["left", "left"]);
  });

  test("read values as measured where they are drawn stacked", () => {
    const cpu = named("cpu-host-pg");
    const system = cpu?.curves[1];
    const user = cpu?.curves[0]?.values[20] ?? 0;
    expect(system?.drawn[20]).toBeCloseTo((system?.values[20] ?? 0) + user);
    expect(cpu?.axis).toBe("share");
  });

  test("leave out what was not measured, and say so with the reason", () => {
    const little = having((timeline) => ({
      ...timeline,
      metrics: timeline.metrics.filter(({ key }) => key === "cpu_user_share"),
    }));
    const drawn = panels(little);
    expect(drawn.panels.map(({ id }) => id)).toEqual(["throughput", "latency", "cpu-host-pg"]);
    expect(drawn.missing.join()).toContain("WAL or redo log (not told by this server, or not to this user)");
    expect(drawn.missing.join()).not.toContain("CPU by state");
  });

  test("show failures only where there were any", () => {
    expect(named("failed")).toBeUndefined();
    const failing = having((timeline) => ({
      ...timeline,
      load: { ...timeline.load, failed_per_s: timeline.load.tps.map((_, row) => (row === 3 ? 2 : 0)) },
    }));
    expect(named("failed", failing)?.curves.map(({ label }) => label)).toEqual(["failed"]);
  });

  test("of two targets have a curve for each, and say which is unknown and why", () => {
    const duel = readReport(duelReport({ steps: 3 }));
    const { panels } = everything(duel);
    const labels = (id: string) => panels.find((panel) => panel.id === id)?.curves.map(({ label }) => label);
    expect(labels("throughput")).toEqual(["pg", "my"]);
    expect(labels("table-event-indexes")).toEqual(["pg", "my"]);
    expect(labels("waits-pg")).toContain("LWLock");
    expect(labels("io-written-pg")).toEqual(["writer", "client"]);
    expect(labels("cache")).toEqual(["pg"]);
    expect(panels.find(({ id }) => id === "cache")?.unknown).toEqual([
      "my: unknown, not told by this server, or not to this user",
    ]);
    const unread = everything(duel, (lane) => ({
      ...lane,
      target: { ...lane.target, host_source: null },
      timeline:
        lane.label === "my" ? ({ ...lane.timeline, metrics: [] } as unknown as Timeline) : lane.timeline,
    }));
    const cores = unread.panels.find(({ id }) => id === "server-cpu");
    expect(cores?.unknown).toEqual(["my: unknown, this server's host is not read"]);
  });
});

test("a turn-about ramp is laid over its steps, with its saturations noted", () => {
  const scene = sceneOf([readReport(duelReport({ steps: 30 }))]);
  const view = readView(new URLSearchParams());
  const layout = layoutOf(scene, view);
  expect(layout.axis).toBe("step");
  expect(layout.whole).toEqual([0, 30]);
  expect(layout.bands.map(({ labels }) => labels[0]).slice(0, 3)).toEqual(["1", "2", "3"]);
  expect(layout.notes.map(({ title, at }) => [title, at])).toContainEqual([
    "my: ingest saturated at 23 clients",
    22,
  ]);
  const inTime = layoutOf(scene, { ...view, axis: "time", hidden: ["my"] });
  expect(inTime.lanes.map(({ lane }) => lane.key)).toEqual(["pg"]);
  expect(inTime.notes.map(({ title }) => title)).not.toContain("my: before ingest");
  // The restart came before the first stage: it is noted on the axis of time, and stands on no step.
  expect(layoutOf(scene, { ...view, axis: "time" }).notes[0]?.title).toBe("my: before ingest");
  expect(layout.notes.map(({ title }) => title)).not.toContain("my: before ingest");
});

test("doubts about a series are one note, where it begins", () => {
  const report = readReport(duelReport({ steps: 3 }));
  const about = (code: Finding["code"], severity: Finding["severity"]): Finding => ({
    code,
    severity,
    ...subject("pg", "ingest"),
    evidence: "",
    advice: "",
  });
  report.findings = [
    about("noisy", "doubt"),
    about("closed-loop-latency", "note"),
    about("errors", "invalid"),
  ];
  const { notes } = layoutOf(sceneOf([report]), readView(new URLSearchParams()));
  expect(notes).toEqual([
    {
      at: 0,
      grave: true,
      colour: "series-1",
      title: "pg: findings about ingest",
      text: "doubt noisy, invalid errors",
    },
  ]);
});

test("targets that ran together are laid over time, and runs from the start of their series", () => {
  const together = readReport(duelReport({ steps: 4, together: true }));
  const view = readView(new URLSearchParams());
  expect(layoutOf(sceneOf([together]), view).axis).toBe("time");
  const overlaid = layoutOf(sceneOf([together, readReport(duelReport({ steps: 3, name: "other" }))]), view);
  expect(overlaid.axis).toBe("start");
  expect(overlaid.whole[0]).toBe(0);
  expect(overlaid.lanes.map(({ lane }) => lane.label)).toEqual([
    "synthetic-duel-1 pg",
    "synthetic-duel-1 my",
    "other pg",
    "other my",
  ]);
});
