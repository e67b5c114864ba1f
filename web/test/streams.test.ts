// Streams that ran at the same time: each has one look, accompanies another's ladder at its steps, and has one button.

import { describe, expect, test } from "vitest";
import { panelsOf } from "../src/charts/panels";
import { readReport } from "../src/columns";
import type { WrittenReport } from "../src/document";
import { layoutOf } from "../src/layout";
import { ladderOf, ledBy, stepOf } from "../src/reading";
import { drawnAs, lookAt, sceneOf, seriesNames } from "../src/scene";
import { readView } from "../src/state";
import { syntheticReport } from "./fixture";
import { streamsReport } from "./streams";

const laidOut = (report: WrittenReport, query = "") => {
  const scene = sceneOf([readReport(report)]);
  return { scene, layout: layoutOf(scene, readView(new URLSearchParams(query))) };
};

test("a series has the look of its stream in the legend, whichever began first", () => {
  for (const targets of [["pg"], ["pg", "my"]]) {
    const { scene } = laidOut(streamsReport(targets));
    const legend = new Map(scene.streams.map((lane) => [lane.key, [lane.colour, lane.mark]]));
    expect(new Set([...legend.values()].map(String)).size).toBe(targets.length * 2);
    for (const lane of scene.lanes) {
      const looks = lane.report.series
        .filter(({ target }) => target === lane.target.name)
        .map((series) => drawnAs(scene, lane, series));
      expect(looks.map(({ key }) => key)).toEqual([`${lane.key}/1`, `${lane.key}/0`]);
      for (const { key, colour, mark } of looks) expect([colour, mark]).toEqual(legend.get(key));
    }
    // What is read of a server has the look of its first stream, and its own name.
    const { layout } = laidOut(streamsReport(targets));
    expect(layout.targets.map(({ lane }) => [lane.label, lane.colour])).toEqual(
      targets.map((name) => [name, legend.get(`${name}/0`)?.[0]]),
    );
  }
});

test("no two of three dozen series look alike", () => {
  const looks = Array.from({ length: 36 }, (_, index) => lookAt(index));
  expect(new Set(looks.map(({ colour, mark }) => `${colour} ${mark}`)).size).toBe(36);
  expect(new Set(looks.map(({ colour, dash }) => `${colour} ${dash}`)).size).toBe(36);
});

test("what is read of a server stays while any of its streams is shown", () => {
  const charts = (query: string) => {
    const { scene, layout } = laidOut(streamsReport(["pg", "my"]), query);
    const { panels } = panelsOf(scene, layout, (chart) => chart === "server-cpu" || chart === "throughput");
    return panels.map(({ id, curves }) => [id, curves.map(({ label }) => label)]);
  };
  expect(charts("hide=pg/0&axis=time")).toEqual([
    ["throughput", ["pg reports", "my oltp", "my reports"]],
    ["server-cpu", ["pg", "my"]],
  ]);
  expect(charts("hide=pg/0&hide=pg/1&axis=time")[1]).toEqual(["server-cpu", ["my"]]);
});

describe("a stream whose load stays the same beside a ladder", () => {
  const { scene, layout } = laidOut(streamsReport(), "axis=step");
  const { report } = scene.lanes[0] ?? {};
  if (report === undefined) throw new Error("the fixture has no target");
  const [reports, oltp] = report.series;
  if (reports === undefined || oltp === undefined) throw new Error("the fixture has no series");

  test("stands at the steps of that ladder", () => {
    const loads = (series: typeof oltp) =>
      ladderOf(report, series).map((rung) => stepOf(report, rung).clients);
    expect(loads(oltp)).toEqual([1, 2, 4, 8]);
    expect(loads(reports)).toEqual([1, 2, 4, 8]);
    expect([ledBy(report, reports), ledBy(report, oltp)]).toEqual(["oltp", null]);
  });

  test("is drawn over the steps in time, too", () => {
    expect(layout.series).toBe("oltp");
    const { panels } = panelsOf(scene, layout, (chart) => chart === "throughput");
    const extents = panels[0]?.curves.map(({ label, x, values }) => {
      const known = [...x].filter((_, row) => !Number.isNaN(values[row]));
      return [label, Math.floor(Math.min(...known)), Math.ceil(Math.max(...known))];
    });
    expect(extents).toEqual([
      ["oltp", 0, 4],
      ["reports", 0, 4],
    ]);
  });

  test("has an axis of its own where it does much less than the other", () => {
    const { panels } = panelsOf(scene, layout, (chart) => chart === "throughput");
    expect(panels[0]?.curves.map(({ side }) => side)).toEqual(["left", "right"]);
  });
});

test("notes of a target are told of the target, and its stages are headed by all streams", () => {
  const { layout } = laidOut(streamsReport(["pg", "my"]));
  expect(layout.notes.map(({ title }) => title)).toEqual(["pg: before oltp", "my: before oltp"]);
  expect(new Set(layout.bands.map(({ group }) => group))).toEqual(new Set(["reports, oltp"]));
});

test("spans that are the same have one button", () => {
  const spans = (report: WrittenReport) => laidOut(report).layout.spans.map(({ label }) => label);
  expect(spans(streamsReport())).toEqual(["all stages", "whole run"]);
  expect(spans(syntheticReport())).toEqual(["all stages", "read", "write", "whole run"]);
  const alone = syntheticReport();
  alone.series = alone.series.slice(0, 1);
  expect(seriesNames(laidOut(alone).scene)).toEqual(["read"]);
  expect(spans(alone)).toEqual(["all stages", "whole run"]);
});
