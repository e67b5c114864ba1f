// What is looked at: one or more reports, and their targets as lanes. A lane has one colour, one dash and one mark
// wherever it is drawn, so that no colour says anything alone.

import type { Report, Series, StageResult, Target, Timeline } from "./document";
import type { Colour } from "./theme";

export type Mark = "circle" | "square" | "triangle" | "diamond" | "cross" | "ring";

/** A target of a run. */
export interface Lane {
  /** `pg`, or `2026-11-20-1/pg` where several runs are looked at. */
  key: string;
  label: string;
  report: Report;
  target: Target;
  timeline: Timeline | undefined;
  colour: Colour;
  dash: number[];
  mark: Mark;
}

export interface Scene {
  reports: Report[];
  lanes: Lane[];
}

const LOOKS: [Colour, number[], Mark][] = [
  ["series-1", [], "circle"],
  ["series-2", [7, 2], "square"],
  ["series-3", [2, 2], "triangle"],
  ["series-4", [9, 3, 2, 3], "diamond"],
  ["series-5", [12, 3], "cross"],
  ["series-6", [4, 2, 1, 2], "ring"],
];

export function sceneOf(reports: Report[]): Scene {
  const overlaid = reports.length > 1;
  const pairs = reports.flatMap((report) => report.targets.map((target) => ({ report, target })));
  const lanes = pairs.map(({ report, target }, index): Lane => {
    const [colour, dash, mark] = LOOKS[index % LOOKS.length] ?? ["series-1", [], "circle"];
    const alone = report.targets.length === 1;
    return {
      key: overlaid ? `${report.run.name}/${target.name}` : target.name,
      label: overlaid ? (alone ? report.run.name : `${report.run.name} ${target.name}`) : target.name,
      report,
      target,
      timeline: report.timelines.find((timeline) => timeline.target === target.name),
      colour,
      dash,
      mark,
    };
  });
  return { reports, lanes };
}

/** Names of the series of all lanes, in the order they began. */
export function seriesNames(scene: Scene): string[] {
  return [...new Set(scene.reports.flatMap((report) => report.series.map((series) => series.name)))];
}

export function seriesOfLane(lane: Lane, name: string): Series | undefined {
  return lane.report.series.find((series) => series.target === lane.target.name && series.name === name);
}

/** Stages of a lane as they ran, of one series or of all. */
export function stagesOfLane(lane: Lane, name: string | null = null): StageResult[] {
  return lane.report.stages
    .filter((stage) => stage.target === lane.target.name && (name === null || stage.series === name))
    .sort((a, b) => a.start_s - b.start_s);
}

/** Rungs of a lane's ladder. */
export function rungsOfLane(lane: Lane, name: string): StageResult[] {
  return stagesOfLane(lane, name).filter((stage) => stage.kind === "ladder");
}

/** `PostgreSQL 18.1` */
export function productOf(target: Target): string {
  return `${target.product ?? "Unrecognised product"} ${target.version ?? "(version unknown)"}`;
}
