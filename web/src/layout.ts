// How the charts over time are laid out: which axis, which lanes and where their seconds stand on it, the bands of the
// stages, and the notes along it. Pure: scene and view in, layout out.

import { extentOfStages, fromStart, loadOf, onSteps, placeOf, secondsOf, stepsOf } from "./align";
import type { Abscissa } from "./charts/panel";
import type { PlacedLane } from "./charts/parts";
import { TIME_STEPS } from "./charts/scale";
import type { Band, Span } from "./charts/view";
import type { Finding, Report, StageResult } from "./document";
import { clock, counted, duration, long, tick } from "./format";
import { arrivalText, clientsText, kindText, stepOf } from "./reading";
import {
  isRung,
  type Lane,
  rungsOfLane,
  type Scene,
  seriesNames,
  stagesOfLane,
  stagesOn,
  streamsOf,
} from "./scene";
import type { AxisKind, View } from "./state";
import type { Colour } from "./theme";

export interface Layout {
  axis: AxisKind;
  /** Axes to choose from, with their names. */
  axes: { kind: AxisKind; label: string }[];
  /** The series that is shown; null where the axis holds all of them. */
  series: string | null;
  /** Series to choose from, on an axis that holds one. */
  choices: string[];
  /** Lanes that are shown. */
  lanes: PlacedLane[];
  /** Targets of which any lane is shown. */
  targets: PlacedLane[];
  whole: Span;
  /** Spans worth a button. */
  spans: { label: string; span: Span }[];
  bands: Band[];
  rows: { label: string; colour: Colour | null }[];
  abscissa: Abscissa;
  notes: NoteText[];
  /** What a place on the axis is called; `finely` for the cursor, which stands within a step. */
  where: (at: number, finely: boolean) => string;
}

/** Something that happened, as the list under the charts has it. */
export interface NoteText {
  at: number;
  grave: boolean;
  colour: Colour;
  title: string;
  text: string;
}

/** Telemetry outside the stages is offered where there is more of it than this, seconds. */
const OUTSIDE_MIN_S = 5;
/** Spans whose ends are no further apart are one, and have one button. */
const SPAN_APART_S = 0.1;

export function layoutOf(scene: Scene, view: View): Layout {
  const names = seriesNames(scene);
  const ladders = names.filter(
    (name) => stepsOf(scene.streams.flatMap((lane) => rungsOfLane(lane, name))).length > 1,
  );
  const overlaid = scene.reports.length > 1;
  const axes = axesOf(scene, ladders, overlaid);
  const axis =
    axes.some(({ kind }) => kind === view.axis) && view.axis !== null
      ? view.axis
      : usualAxis(scene, ladders, overlaid);
  const choices = axis === "step" ? ladders : axis === "start" ? names : [];
  const series =
    axis === "time" ? null : (choices.find((name) => name === view.series) ?? choices[0] ?? null);
  const steps = series === null ? [] : stepsOf(scene.streams.flatMap((lane) => rungsOfLane(lane, series)));
  const place = (lane: Lane): PlacedLane => {
    const stages = stagesOn(lane, series);
    const load = (stage: StageResult) => loadOf(stepOf(lane.report, stage));
    const placing =
      axis === "step"
        ? onSteps(stages.filter(isRung), steps, load)
        : axis === "start"
          ? fromStart(stages)
          : null;
    return { lane, placing };
  };
  const all = scene.streams.map(place);
  const lanes = all.filter(({ lane }) => !view.hidden.includes(lane.key));
  const targets = scene.lanes
    .filter((target) => lanes.some(({ lane }) => streamsOf(scene, target).includes(lane)))
    .map(place);
  const whole = wholeOf(axis, all, series, steps);
  const several = scene.streams.length > 1;
  const groups = groupsOf(scene, names);
  const open = scene.streams.some(
    (lane) => series !== null && rungsOfLane(lane, series).some((rung) => rung.arrival === "open"),
  );
  const onStep = axis === "step";
  return {
    axis,
    axes,
    series,
    choices,
    lanes,
    targets,
    whole,
    spans:
      axis === "time"
        ? spansOf(scene, groups, whole)
        : [{ label: onStep ? "all steps" : "all of it", span: whole }],
    bands: onStep
      ? stepBands(steps, series ?? "", open)
      : lanes.flatMap((lane, row) => stageBands(lane, several ? row : 0, series, groups)),
    rows: onStep
      ? [{ label: open ? "rate/s" : "clients", colour: null }]
      : several
        ? lanes.map(({ lane }) => ({ label: lane.label, colour: lane.colour }))
        : [{ label: "", colour: null }],
    abscissa: onStep ? stepAbscissa(steps) : { incrs: TIME_STEPS, splits: null, write: clock },
    notes: [...targets.flatMap(eventNotes), ...lanes.flatMap((lane) => seriesNotes(lane, series))].sort(
      (a, b) => a.at - b.at,
    ),
    where: (at, finely) => (onStep ? stepWords(steps, at, open, finely) : clock(at)),
  };
}

/** The seconds of each run that a span of the axis shows. */
export function secondsShown(layout: Layout, span: Span): Map<Lane["report"], Span> {
  const shown = new Map<Lane["report"], Span>();
  for (const { lane, placing } of layout.lanes) {
    const seconds = secondsOf(span, placing);
    if (seconds === null) continue;
    const before = shown.get(lane.report);
    shown.set(
      lane.report,
      before === undefined ? seconds : [Math.min(before[0], seconds[0]), Math.max(before[1], seconds[1])],
    );
  }
  return shown;
}

function axesOf(scene: Scene, ladders: string[], overlaid: boolean): Layout["axes"] {
  const rates = ladders.some((name) =>
    scene.streams.some((lane) => rungsOfLane(lane, name).some((rung) => rung.arrival === "open")),
  );
  return [
    { kind: "time" as const, label: overlaid ? "from each run's start" : "time" },
    ...(scene.lanes.length > 1 ? [{ kind: "start" as const, label: "from each series' start" }] : []),
    ...(ladders.length > 0
      ? [{ kind: "step" as const, label: rates ? "steps of the rate" : "steps of clients" }]
      : []),
  ];
}

/** Turns lie over each other only on the steps; runs only from their series' start. */
function usualAxis(scene: Scene, ladders: string[], overlaid: boolean): AxisKind {
  if (overlaid) return "start";
  const turns = ladders.length > 0 && scene.streams.length > 1 && scene.reports.some(tookTurns);
  return turns ? "step" : "time";
}

/** Whether systems climbed the steps of a ladder in turn: then their times tell nothing of how they compare. */
function tookTurns({ run, series }: Report): boolean {
  const laddersOf = (phase: number) => series.filter((one) => one.phase === phase && one.ladder.length > 1);
  return series.some(({ phase }) => {
    const systems = new Set(laddersOf(phase).map(({ target }) => target));
    return systems.size > 1 && run.resolved?.phases?.[phase]?.together !== true;
  });
}

function wholeOf(axis: AxisKind, lanes: PlacedLane[], series: string | null, steps: number[]): Span {
  if (axis === "step") return [0, Math.max(1, steps.length)];
  const extents = lanes.flatMap(({ lane }) => {
    const [from, to] = extentOfStages(stagesOn(lane, series));
    if (from !== null && to !== null)
      return [[from, Math.max(to, lane.timeline?.load.t_s.at(-1) ?? to)] as Span];
    const times = lane.timeline?.load.t_s ?? new Float64Array(0);
    return times.length === 0 ? [] : [[times[0] ?? 0, times.at(-1) ?? 0] as Span];
  });
  if (extents.length === 0) return [0, 1];
  if (axis === "start") return [0, Math.max(1, ...extents.map(([from, to]) => to - from))];
  // What was done before a load, and a target that was lost behind its last stage, belong on the axis.
  const marks = lanes.flatMap(({ lane }) => marksOf(lane));
  const from = Math.min(...extents.map(([start]) => start), ...marks);
  return [from, Math.max(from + 1, ...extents.map(([, end]) => end), ...marks)];
}

function marksOf({ report, target }: Lane): number[] {
  const own = <T extends { target: string }>(list: T[]) => list.filter((one) => one.target === target.name);
  return [
    ...own(report.hooks).flatMap(({ at_s, seconds }) => [at_s - seconds, at_s]),
    ...own(report.lost).map(({ at_s }) => at_s),
  ];
}

function spansOf(scene: Scene, groups: Map<string, string>, whole: Span): Layout["spans"] {
  const spans: Layout["spans"] = [{ label: "all stages", span: whole }];
  const add = (label: string, span: Span) => {
    if (!spans.some((other) => isAbout(other.span, span, SPAN_APART_S))) spans.push({ label, span });
  };
  const labels = new Set(groups.values());
  for (const label of labels.size > 1 ? labels : []) {
    const own = [...groups.keys()].filter((name) => groups.get(name) === label);
    const stages = scene.lanes.flatMap((lane) => own.flatMap((name) => stagesOfLane(lane, name)));
    const [from, to] = extentOfStages(stages);
    if (from !== null && to !== null) add(label, [from, to]);
  }
  const outer = outerOf(scene, whole);
  if (whole[0] - outer[0] + (outer[1] - whole[1]) > OUTSIDE_MIN_S) add("whole run", outer);
  return spans;
}

/** Whether both ends of two spans are no further apart than so much. */
export function isAbout(one: Span, other: Span, apart: number): boolean {
  return Math.abs(one[0] - other[0]) < apart && Math.abs(one[1] - other[1]) < apart;
}

/** Each series with the names of all that are other streams of its phase: `oltp, reports`. */
function groupsOf(scene: Scene, names: string[]): Map<string, string> {
  const areTogether = (one: string, other: string) =>
    scene.reports.some(({ series }) => {
      const named = (name: string) => series.filter((it) => it.name === name);
      return named(one).some((own) =>
        named(other).some(({ phase, stream }) => phase === own.phase && stream !== own.stream),
      );
    });
  return new Map(
    names.map((name) => [
      name,
      names.filter((other) => other === name || areTogether(name, other)).join(", "),
    ]),
  );
}

/** What telemetry covers, and the run itself. */
export function outerOf(scene: Scene, whole: Span): Span {
  let [from, to] = whole;
  for (const report of scene.reports) {
    from = Math.min(from, 0);
    to = Math.max(to, report.run.seconds);
    for (const { metrics } of report.timelines) {
      for (const { t_s } of metrics) {
        from = Math.min(from, t_s[0] ?? from);
        to = Math.max(to, t_s.at(-1) ?? to);
      }
    }
  }
  return [from, to];
}

function stageBands(
  { lane, placing }: PlacedLane,
  row: number,
  series: string | null,
  groups: Map<string, string>,
): Band[] {
  return stagesOn(lane, series).flatMap((stage) => {
    const from = placeOf(stage.start_s, placing);
    const to = placeOf(stage.start_s + stage.seconds, placing);
    if (from === null || to === null || stage.seconds <= 0) return [];
    return [
      {
        from,
        to,
        kind: stage.kind,
        row,
        labels: stageLabels(stage),
        group: groups.get(stage.series) ?? stage.series,
        words: stageWords(lane, stage),
      },
    ];
  });
}

function stageWords(lane: Lane, stage: StageResult): string {
  const whose = lane.report.targets.length > 1 || lane.of !== lane.target.name ? `${lane.of} · ` : "";
  return `${whose}${stage.series} · ${kindText(stage)} · ${clientsText(stage)} · ${arrivalText(stage)}`;
}

function stageLabels(stage: StageResult): string[] {
  const load = stage.arrival === "open" ? `${tick(stage.rate_per_s)}/s` : String(stage.clients);
  switch (stage.kind) {
    case "warm-up":
      return ["warm-up", "warm"];
    case "hold":
      if (stage.pass === true) return ["pass"];
      return stage.arrival === "open"
        ? [`hold ${load}`, "hold"]
        : [`hold, ${counted(stage.clients, "client")}`, `hold ${load}`, "hold"];
    case "ramp":
      return stage.arrival === "open" && stage.rate_end_per_s !== null
        ? [`ramp ${long(stage.rate_per_s)} → ${long(stage.rate_end_per_s)}/s`, "ramp"]
        : [`ramp ${stage.clients} → ${stage.clients_end ?? stage.clients}`, "ramp"];
    case "ladder":
      return [load];
  }
}

function stepBands(steps: number[], series: string, open: boolean): Band[] {
  return steps.map((load, index) => ({
    from: index,
    to: index + 1,
    kind: "ladder",
    row: 0,
    labels: [tick(load)],
    group: series,
    words: `${series} · ${stepWords(steps, index + 0.5, open, false)}`,
  }));
}

function stepWords(steps: number[], at: number, open: boolean, finely: boolean): string {
  const load = steps[Math.min(steps.length - 1, Math.max(0, Math.floor(at)))];
  if (load === undefined) return "";
  const share = Math.round((at - Math.floor(at)) * 100);
  const asked = open ? `${long(load)}/s asked for` : counted(load, "client");
  return finely ? `${asked}, ${share}% of the step` : asked;
}

/** Labels at the middle of steps, as many as there is room for. */
function stepAbscissa(steps: number[]): Abscissa {
  return {
    incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    splits: ([from, to], width) => {
      const stride =
        [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => size >= (to - from) / Math.max(2, width / 40)) ??
        1000;
      const gap = (steps[1] ?? 0) - (steps[0] ?? 0);
      const even = steps.every((load, index) => Math.abs(load - (steps[0] ?? 0) - index * gap) < gap * 1e-6);
      // Round loads where the steps are of one size, else every so many of them.
      const round = (load: number, index: number) =>
        even ? Math.abs(load % (stride * gap)) < gap * 1e-6 : index % stride === 0;
      return steps.flatMap((load, index) =>
        round(load, index) && index + 0.5 >= from && index + 0.5 <= to ? [index + 0.5] : [],
      );
    },
    write: (value) => tick(steps[Math.floor(value)] ?? 0),
  };
}

/** What happened to a target, whatever ran there. */
function eventNotes(placed: PlacedLane): NoteText[] {
  const { report, target, of } = placed.lane;
  const put = putOn(placed);
  const hooks = report.hooks
    .filter((hook) => hook.target === target.name)
    .flatMap((hook) =>
      put(hook.at_s, {
        grave: !hook.succeeded,
        title: `${of}: ${hook.when} ${hook.about}`,
        text: `${hook.action}, ${duration(hook.seconds)}${hook.succeeded ? "" : ", FAILED"}${hook.said === null ? "" : `: ${hook.said}`}`,
      }),
    );
  const lost = report.lost
    .filter((one) => one.target === target.name)
    .flatMap((one) => put(one.at_s, { grave: true, title: `${of}: lost`, text: one.reason }));
  return [...hooks, ...lost];
}

function seriesNotes(placed: PlacedLane, series: string | null): NoteText[] {
  const put = putOn(placed);
  return [...saturationNotes(placed.lane, series, put), ...findingNotes(placed.lane, series, put)];
}

function putOn({ lane, placing }: PlacedLane): Put {
  return (seconds, note) => {
    const at = placeOf(seconds, placing);
    return at === null ? [] : [{ ...note, at, colour: lane.colour }];
  };
}

type Put = (seconds: number, note: Omit<NoteText, "at" | "colour">) => NoteText[];

function saturationNotes(lane: Lane, series: string | null, put: Put): NoteText[] {
  const own = lane.report.series.filter(
    (one) => one.target === lane.target.name && (series === null || one.name === series),
  );
  return own.flatMap((one) => {
    const found = one.saturation;
    const stage = stagesOfLane(lane).find((candidate) => candidate.id === found?.stage);
    if (found === null || stage === undefined) return [];
    const load = stage.arrival === "open" ? `${long(loadOf(stage))}/s` : counted(stage.clients, "client");
    return put(stage.start_s, {
      grave: false,
      title: `${lane.of}: ${one.name} saturated at ${load}`,
      text: found.evidence,
    });
  });
}

/**
 * Doubts stand together at the stage that they are about, or where their series begins; what is about a target or the whole
 * run stands in the list alone.
 */
function findingNotes(lane: Lane, series: string | null, put: Put): NoteText[] {
  const stages = stagesOfLane(lane, series);
  const doubts = lane.report.findings.filter(
    (finding) =>
      finding.severity !== "note" && finding.system === lane.target.name && finding.series !== null,
  );
  const placeOf = ({ stage, series }: Finding) => stage ?? series;
  return [...new Set(doubts.map(placeOf))].flatMap((place) => {
    const found = doubts.filter((finding) => placeOf(finding) === place);
    const grave = found.some(({ severity }) => severity === "invalid");
    const text = found.map(({ severity, code }) => `${severity} ${code}`).join(", ");
    const note = { grave, title: `${lane.of}: findings about ${found[0]?.series}`, text };
    // A series' first stage may be a warm-up, which stands on no step.
    return stages
      .filter((stage) => stage.id === place || stage.series === place)
      .flatMap((stage) => put(stage.start_s, note))
      .slice(0, 1);
  });
}
