import { expect, test } from "vitest";
import { panelsOf } from "../src/charts/panels";
import type { TimeCurve } from "../src/charts/parts";
import { readReport } from "../src/columns";
import type { WrittenReport } from "../src/document";
import { layoutOf } from "../src/layout";
import { sceneOf } from "../src/scene";
import { readView } from "../src/state";
import { duelReport } from "./duel";

/** Both targets on the driver's machine. */
function onOneHost(together: boolean): WrittenReport {
  const report = duelReport({ steps: 4, stepSeconds: 6, together });
  const [host] = report.hosts;
  if (host !== undefined) report.hosts = [{ ...host, roles: ["driver", "pg", "my"] }];
  for (const target of report.targets) Object.assign(target, { same_host: true, host_source: "this host" });
  return report;
}

function chartsOf(report: WrittenReport, query: string) {
  const view = readView(new URLSearchParams(query));
  const scene = sceneOf([readReport(report)]);
  const layout = layoutOf(scene, view);
  const { panels } = panelsOf(scene, layout, (chart) => SHOWN.includes(chart));
  // Whatever is drawn, no two curves of a chart look alike.
  for (const { title, curves } of panels) expectDistinct(title, curves);
  return panels.map(({ title, curves, unknown }) => ({
    title,
    labels: curves.map(({ label }) => label),
    unknown,
  }));
}

const SHOWN = ["cpu", "disk", "server-cpu", "driver-cpu", "throughput"];

/** Curves differ in label, in colour and in mark; areas, which have no marks, in tint. */
function expectDistinct(title: string, curves: TimeCurve[]): void {
  if (curves.length < 2) return;
  expect(new Set(curves.map(({ label }) => label)).size, title).toBe(curves.length);
  expect(new Set(curves.map(({ colour, tint }) => `${colour} ${tint}`)).size, title).toBe(curves.length);
  if (curves.some(({ tint }) => tint !== undefined)) return;
  expect(new Set(curves.map(({ mark }) => mark ?? null)).size, title).toBe(curves.length);
  for (const { mark } of curves) expect(mark, title).toBeDefined();
}

test("what is read of a machine is drawn once for all targets on it", () => {
  const charts = chartsOf(onOneHost(true), "axis=time");
  const cpu = charts.filter(({ title }) => title.startsWith("CPU, "));
  expect(cpu.map(({ title }) => title)).toEqual(["CPU, pg and my: the host shared with the driver"]);
  expect(charts.find(({ title }) => title === "Disk traffic, written")).toEqual({
    title: "Disk traffic, written",
    labels: ["pg and my"],
    unknown: [],
  });
  expect(charts.find(({ title }) => title === "CPU of the server")?.labels).toEqual(["pg", "my"]);
});

test("what is read of a shared machine is told as the host's, whichever target is shown", () => {
  const charts = chartsOf(onOneHost(true), "axis=time&hide=my");
  expect(charts.find(({ title }) => title === "Disk traffic, written")?.labels).toEqual(["host of pg"]);
  expect(charts.find(({ title }) => title === "CPU of the server")?.labels).toEqual(["pg"]);
});

test("on the steps of targets that took turns each has its own turns of the machine", () => {
  const charts = chartsOf(onOneHost(false), "axis=step");
  const labels = ["host of pg", "host of my"];
  expect(charts.find(({ title }) => title === "Disk traffic, written")?.labels).toEqual(labels);
  expect(charts.filter(({ title }) => title.startsWith("CPU, "))).toHaveLength(2);
  const inTime = chartsOf(onOneHost(false), "axis=time");
  expect(inTime.filter(({ title }) => title.startsWith("CPU, "))).toHaveLength(1);
});

test("machines beside each other have the looks of their first targets, and one alone has none of a target's", () => {
  const colours = (report: WrittenReport, query: string) => {
    const scene = sceneOf([readReport(report)]);
    const layout = layoutOf(scene, readView(new URLSearchParams(query)));
    const { panels } = panelsOf(scene, layout, (chart) => chart === "disk");
    return panels[0]?.curves.map(({ colour, mark }) => [colour, mark]);
  };
  expect(colours(onOneHost(false), "axis=step")).toEqual([
    ["series-1", "circle"],
    ["series-2", "square"],
  ]);
  expect(colours(onOneHost(true), "axis=time")).toEqual([["ink", undefined]]);
});

test("dyno is told apart on the machines of several runs", () => {
  const runs = ["one", "other"].map((name) => {
    const report = onOneHost(true);
    const [told] = report.timelines;
    const { t_s = [] } = told?.metrics[0] ?? {};
    const values = t_s.map(() => 0.5);
    const cpu = { source: "driver", key: "driver_cpu_cores", unit: "cores", t_s, values };
    told?.metrics.push(cpu);
    return readReport({ ...report, run: { ...report.run, name } });
  });
  const scene = sceneOf(runs);
  const layout = layoutOf(scene, readView(new URLSearchParams("axis=time")));
  const { panels } = panelsOf(scene, layout, (chart) => chart === "driver-cpu");
  expect(panels[0]?.curves.map(({ label }) => label)).toEqual(["dyno of one", "dyno of other"]);
  expectDistinct("driver", panels[0]?.curves ?? []);
});

test("machines of their own are drawn by themselves", () => {
  const charts = chartsOf(duelReport({ steps: 4, stepSeconds: 6, together: true }), "axis=time");
  expect(charts.filter(({ title }) => title.startsWith("CPU, "))).toHaveLength(2);
  expect(charts.find(({ title }) => title === "Disk traffic, written")?.labels).toEqual(["pg", "my"]);
});
