import { expect, test } from "vitest";
import { panelsOf } from "../src/charts/panels";
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
  return panelsOf(layout.lanes, true, (chart) => ["cpu", "disk", "server-cpu"].includes(chart)).panels.map(
    ({ title, curves, unknown }) => ({ title, labels: curves.map(({ label }) => label), unknown }),
  );
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

test("machines of their own are drawn by themselves", () => {
  const charts = chartsOf(duelReport({ steps: 4, stepSeconds: 6, together: true }), "axis=time");
  expect(charts.filter(({ title }) => title.startsWith("CPU, "))).toHaveLength(2);
  expect(charts.find(({ title }) => title === "Disk traffic, written")?.labels).toEqual(["pg", "my"]);
});
