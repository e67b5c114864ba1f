// What is looked at: one or more reports, and their targets as lanes. A lane has one colour, one dash and one mark
// wherever it is drawn, so that no colour says anything alone.

import type { Report, Series, StageResult, Target, Timeline } from "./document";
import { stepOf } from "./reading";
import type { Colour } from "./theme";

export type Mark = "circle" | "square" | "triangle" | "diamond" | "cross" | "ring";

/** How a curve is told from others: no two of 36 have the same colour and mark. */
export interface Look {
  colour: Colour;
  dash: number[];
  mark: Mark;
}

/** A target of a run, or one of the streams that ran on it at the same time. */
export interface Lane extends Look {
  /** `pg`, or `2026-11-20-1/pg` where several runs are looked at. */
  key: string;
  label: string;
  /** The label of its target. */
  of: string;
  report: Report;
  target: Target;
  /** The stream's place in its phase; null for all of the target. */
  stream: number | null;
  timeline: Timeline | undefined;
}

export interface Scene {
  reports: Report[];
  /** The targets. */
  lanes: Lane[];
  /** What is drawn over time: the targets, or each stream of those that ran several at the same time. */
  streams: Lane[];
}

const COLOURS: Colour[] = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];
const SHAPES: [number[], Mark][] = [
  [[], "circle"],
  [[7, 2], "square"],
  [[2, 2], "triangle"],
  [[9, 3, 2, 3], "diamond"],
  [[12, 3], "cross"],
  [[4, 2, 1, 2], "ring"],
];

/** The look of the first, second, … of what is drawn. */
export function lookAt(index: number): Look {
  const colour = COLOURS[index % COLOURS.length] ?? "series-1";
  // Where the colours begin again, each has another shape.
  const [dash, mark] = SHAPES[(index + Math.floor(index / COLOURS.length)) % SHAPES.length] ?? [[], "circle"];
  return { colour, dash, mark };
}

export function sceneOf(reports: Report[]): Scene {
  const overlaid = reports.length > 1;
  const lanes = reports
    .flatMap((report) => report.targets.map((target) => ({ report, target })))
    .map(({ report, target }, index): Lane => {
      const alone = report.targets.length === 1;
      const label = overlaid ? (alone ? report.run.name : `${report.run.name} ${target.name}`) : target.name;
      return {
        key: overlaid ? `${report.run.name}/${target.name}` : target.name,
        label,
        of: label,
        report,
        target,
        stream: null,
        timeline: report.timelines.find((timeline) => timeline.target === target.name),
        ...lookAt(index),
      };
    });
  // A target's first stream has its look, so that what is read of the server has a colour that the legend shows.
  let looks = lanes.length;
  const streams = lanes.flatMap((lane): Lane[] => {
    const timelines = lane.report.timelines.filter(({ target }) => target === lane.target.name);
    if (timelines.length < 2) return [lane];
    return timelines.map((timeline, index) => {
      const names = lane.report.stages
        .filter(({ target, stream }) => target === lane.target.name && (stream ?? 0) === timeline.stream)
        .map(({ series }) => series);
      const label = [...new Set(names)].join(", ");
      return {
        ...lane,
        key: `${lane.key}/${timeline.stream}`,
        label: lanes.length > 1 ? `${lane.label} ${label}` : label,
        stream: timeline.stream,
        timeline,
        ...(index === 0 ? {} : lookAt(looks++)),
      };
    });
  });
  return { reports, lanes, streams };
}

/** The streams of a target that ran at the same time, or the target itself. */
export function streamsOf({ streams }: Scene, { report, target }: Lane): Lane[] {
  return streams.filter((stream) => stream.report === report && stream.target === target);
}

/** What a series is drawn as wherever it is: as its stream or its target; of one target without streams each has its own look. */
export function drawnAs(scene: Scene, lane: Lane, series: Series): Lane {
  const streams = streamsOf(scene, lane);
  if (streams.length > 1)
    return streams.find((stream) => stagesOfLane(stream, series.name).length > 0) ?? lane;
  return scene.lanes.length > 1 ? lane : { ...lane, ...lookAt(lane.report.series.indexOf(series)) };
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

/** Stages of a lane where the axis is that of a series: its own, or those of the stream that accompanied it. */
export function stagesOn(lane: Lane, name: string | null): StageResult[] {
  const own = stagesOfLane(lane, name);
  if (own.length > 0) return own;
  return stagesOfLane(lane).filter(
    (stage) => stage.accompanies !== undefined && stepOf(lane.report, stage).series === name,
  );
}

export function isRung({ kind }: StageResult): boolean {
  return kind === "ladder";
}

/** Rungs of a lane's ladder. */
export function rungsOfLane(lane: Lane, name: string): StageResult[] {
  return stagesOfLane(lane, name).filter(isRung);
}

/** `PostgreSQL 18.1` */
export function productOf(target: Target): string {
  return `${target.product ?? "Unrecognised product"} ${target.version ?? "(version unknown)"}`;
}
