// What is looked at: one or more reports, and their targets as lanes. A lane has one colour, one dash and one mark
// wherever it is drawn, so that no colour says anything alone.

import type { Report, Series, StageResult, Target, Timeline } from "./document";
import type { Colour } from "./theme";

export type Mark = "circle" | "square" | "triangle" | "diamond" | "cross" | "ring";

/** A target of a run, or one of the streams that ran on it at the same time. */
export interface Lane {
  /** `pg`, or `2026-11-20-1/pg` where several runs are looked at. */
  key: string;
  label: string;
  report: Report;
  target: Target;
  /** The stream's place in its phase; null for all of the target. */
  stream: number | null;
  timeline: Timeline | undefined;
  colour: Colour;
  dash: number[];
  mark: Mark;
}

export interface Scene {
  reports: Report[];
  /** The targets. */
  lanes: Lane[];
  /** What is drawn over time: the targets, or each stream of those that ran several at the same time. */
  streams: Lane[];
}

const LOOKS: [Colour, number[], Mark][] = [
  ["series-1", [], "circle"],
  ["series-2", [7, 2], "square"],
  ["series-3", [2, 2], "triangle"],
  ["series-4", [9, 3, 2, 3], "diamond"],
  ["series-5", [12, 3], "cross"],
  ["series-6", [4, 2, 1, 2], "ring"],
];

type PlainLane = Omit<Lane, "colour" | "dash" | "mark">;

export function sceneOf(reports: Report[]): Scene {
  const overlaid = reports.length > 1;
  const looks = (lane: PlainLane, index: number): Lane => {
    const [colour, dash, mark] = LOOKS[index % LOOKS.length] ?? ["series-1", [], "circle"];
    return { ...lane, colour, dash, mark };
  };
  const own = reports.flatMap((report) =>
    report.targets.map((target): PlainLane => {
      const alone = report.targets.length === 1;
      return {
        key: overlaid ? `${report.run.name}/${target.name}` : target.name,
        label: overlaid ? (alone ? report.run.name : `${report.run.name} ${target.name}`) : target.name,
        report,
        target,
        stream: null,
        timeline: report.timelines.find((timeline) => timeline.target === target.name),
      };
    }),
  );
  const streams = own.flatMap((lane): PlainLane[] => {
    const timelines = lane.report.timelines.filter(({ target }) => target === lane.target.name);
    if (timelines.length < 2) return [lane];
    return timelines.map((timeline) => {
      const names = lane.report.stages
        .filter(({ target, stream }) => target === lane.target.name && (stream ?? 0) === timeline.stream)
        .map(({ series }) => series);
      const label = [...new Set(names)].join(", ");
      return {
        ...lane,
        key: `${lane.key}/${timeline.stream}`,
        label: own.length > 1 ? `${lane.label} ${label}` : label,
        stream: timeline.stream,
        timeline,
      };
    });
  });
  return { reports, lanes: own.map(looks), streams: streams.map(looks) };
}

/** Whether a lane stands for its target where that is to be drawn once. */
export function isFirst(lane: Lane): boolean {
  return (lane.stream ?? 0) === 0;
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
    .filter(
      (stage) =>
        stage.target === lane.target.name &&
        (lane.stream === null || (stage.stream ?? 0) === lane.stream) &&
        (name === null || stage.series === name),
    )
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
