// Draws the panels over time on one axis: stages as bands, one cursor and one zoom for all.

import uPlot from "uplot";
import type { StageResult } from "../document";
import { bytesPerSecond, clock, latencyTick, long, share, tick } from "../format";
import type { Palette } from "../theme";
import { axis, type ChartSpec, Key, seriesOf, write } from "./chart";
import { linearTicks, logRange, logTicks, niceMax, TIME_STEPS } from "./scale";
import type { Panel, TimeCurve } from "./timeline";

/** Height of the strip above the first panel that names the stages, CSS pixels. */
const STRIP = 34;
const AXIS_WIDTH = 58;
/** Of the axis on the right, which only ever counts transactions. */
const RIGHT_AXIS_WIDTH = 40;

/** What the panels of one target share: the span of time that is shown, and who must know when it changes. */
export class TimeView {
  readonly group: string;
  readonly whole: [number, number];
  readonly stages: StageResult[];
  span: [number, number];
  readonly #plots = new Set<uPlot>();
  onSpan: (span: [number, number]) => void = () => {};
  onCursor: (time: number | null) => void = () => {};

  constructor(group: string, stages: StageResult[], whole: [number, number]) {
    this.group = group;
    this.stages = stages;
    this.whole = whole;
    this.span = whole;
  }

  show(span: [number, number]): void {
    this.span = span;
    for (const plot of this.#plots) {
      plot.batch(() => {
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        plot.setScale("x", { min: span[0], max: span[1] });
      });
    }
    this.onSpan(span);
  }

  join(plot: uPlot): void {
    this.#plots.add(plot);
  }

  leave(plot: uPlot): void {
    this.#plots.delete(plot);
  }

  stageAt(time: number): StageResult | undefined {
    return this.stages.find((stage) => time >= stage.start_s && time <= stage.start_s + stage.seconds);
  }
}

export interface Place {
  first: boolean;
  last: boolean;
  /** True where any panel of the group has an axis on the right: all then leave room for it. */
  right: boolean;
}

export function drawPanel(panel: Panel, view: TimeView, place: Place): { spec: ChartSpec; key: Key } {
  const key = new Key(panel.curves);
  const top = place.first ? STRIP : 8;
  const height = panel.height + (place.first ? STRIP : 0) + (place.last ? 22 : 4);
  // A stack is drawn from its top down, so that each area covers the one above it only where it is.
  const curves = panel.stacked ? [...panel.curves].reverse() : panel.curves;
  const own = panel.curves.some((curve) => curve.side === "right");

  const draw = (palette: Palette, width: number) => ({
    options: {
      padding: [top, own ? 0 : place.right ? RIGHT_AXIS_WIDTH : 14, 0, 0] as uPlot.Padding,
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        sync: { key: view.group, scales: ["x", null] as [string, null] },
      },
      scales: {
        x: { time: false, range: () => view.span },
        left: scaleOf(panel, "left", view),
        ...(own ? { right: scaleOf(panel, "right", view) } : {}),
      },
      axes: [
        axis(palette, {
          size: place.last ? 22 : 4,
          incrs: TIME_STEPS,
          space: width < 500 ? 48 : 64,
          values: (_plot: uPlot, splits: number[]) => splits.map((value) => (place.last ? clock(value) : "")),
        }),
        valueAxis(panel, palette, "left", own, view),
        ...(own ? [valueAxis(panel, palette, "right", own, view)] : []),
      ],
      series: [{}, ...curves.map((curve) => seriesOf(solid(curve, panel), palette, { scale: curve.side }))],
      hooks: {
        init: [(plot: uPlot) => view.join(plot)],
        destroy: [(plot: uPlot) => view.leave(plot)],
        drawClear: [(plot: uPlot) => drawStages(plot, view.stages, palette)],
        draw: [(plot: uPlot) => place.first && nameStages(plot, view.stages, palette, width)],
        setSelect: [(plot: uPlot) => zoom(plot, view)],
        setCursor: [(plot: uPlot) => readCursor(plot, panel, view, key, place)],
      },
    },
    data: [panel.t, ...curves.map((curve) => curve.drawn)] as uPlot.AlignedData,
  });
  return { spec: { height, draw }, key };
}

/** Areas of a stack cover each other and must not let each other through. */
function solid(curve: TimeCurve, panel: Panel): TimeCurve {
  return panel.stacked ? { ...curve, fill: 1 } : curve;
}

/** What the curves on one side show within the span of time that is shown. */
function seen(panel: Panel, side: string, view: TimeView): number[] {
  // The plot's own x scale is still the old one while uPlot works out the others.
  const inside = (row: number): boolean => {
    const time = panel.t[row];
    return time !== undefined && time >= view.span[0] && time <= view.span[1];
  };
  return panel.curves
    .filter((curve) => curve.side === side)
    .flatMap(({ drawn }) => drawn.filter((value, row): value is number => value !== null && inside(row)));
}

function scaleOf(panel: Panel, side: string, view: TimeView): uPlot.Scale {
  if (panel.axis === "share") return { range: [0, 1] };
  if (panel.axis === "log") {
    return {
      distr: 3,
      range: () => {
        const values = seen(panel, side, view);
        return logRange(least(values), most(values));
      },
    };
  }
  return { range: () => [0, Math.max(niceMax(most(seen(panel, side, view)) * 1.05), panel.reach ?? 0)] };
}

function least(values: number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function most(values: number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function valueAxis(
  panel: Panel,
  palette: Palette,
  side: "left" | "right",
  own: boolean,
  view: TimeView,
): uPlot.Axis {
  const wanted = Math.max(2, Math.round(panel.height / 36));
  const owner = panel.curves.find((curve) => curve.side === side && curve.label !== "failed");
  const unit = panel.curves[0]?.format;
  const write = (value: number): string => {
    if (panel.axis === "log") return latencyTick(value);
    if (unit === share) return `${Math.round(value * 100)}%`;
    if (unit === bytesPerSecond) return value === 0 ? "0" : compactBytes(value);
    return tick(value);
  };
  return axis(palette, {
    scale: side,
    side: side === "left" ? 3 : 1,
    size: side === "left" ? AXIS_WIDTH : RIGHT_AXIS_WIDTH,
    ...(own && owner !== undefined ? { stroke: palette(owner.colour) } : {}),
    grid: side === "left" ? { stroke: palette("grid"), width: 1 } : { show: false },
    splits: (_plot, _index, min, max) =>
      panel.axis === "log" ? logTicks(min, max, wanted + 2) : linearTicks(max, wanted),
    filter: (_plot, splits) => splits,
    // An axis whose series is out of sight has nothing to measure.
    values: (_plot, splits) =>
      own && seen(panel, side, view).length === 0 ? splits.map(() => "") : splits.map(write),
  });
}

function compactBytes(value: number): string {
  const text = tick(value);
  const prefix = /[kMG]$/.exec(text)?.[0] ?? "";
  return `${prefix === "" ? text : text.slice(0, -1)} ${prefix}B/s`;
}

function extent(plot: uPlot, stage: StageResult): [number, number] {
  const { left, width } = plot.bbox;
  const place = (time: number) => Math.min(left + width, Math.max(left, plot.valToPos(time, "x", true)));
  return [place(stage.start_s), place(stage.start_s + stage.seconds)];
}

/** Warm-ups hatched, holds tinted, rungs of a ladder faint, each with a line where it begins. */
function drawStages(plot: uPlot, stages: StageResult[], palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const stage of stages) {
    const [from, to] = extent(plot, stage);
    if (to <= from) continue;
    const inner = stage.kind === "hold" || stage.kind === "ramp";
    ctx.fillStyle = palette(inner ? "band-hold" : "band");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    if (stage.kind === "warm-up") hatch(plot, from, to, palette("band-warm-up"));
    ctx.fillStyle = palette("line");
    ctx.fillRect(Math.round(from), bbox.top, Math.max(1, devicePixelRatio / 2), bbox.height);
  }
  ctx.restore();
}

function hatch(plot: uPlot, from: number, to: number, colour: string): void {
  const { ctx, bbox } = plot;
  const step = 6 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, bbox.top, to - from, bbox.height);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  for (let x = from - bbox.height; x < to; x += step) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}

/** Above the first panel: the series, and under it each stage by its clients, as far as there is room. */
function nameStages(plot: uPlot, stages: StageResult[], palette: Palette, width: number): void {
  const unit = devicePixelRatio;
  const { top, left } = plot.bbox;
  const upper = top - 25 * unit;
  const lower = top - 9 * unit;
  const size = width < 500 ? 10 : 11;
  let reached = left;
  for (const [index, stage] of stages.entries()) {
    const [from, to] = extent(plot, stage);
    if (to <= from) continue;
    const room = (to - from) / unit - 4;
    const label = stageLabels(stage).find((text) => text.length * size * 0.56 <= room);
    if (label !== undefined) {
      write(plot, label, (from + to) / 2, lower, { colour: palette("muted"), align: "center", size });
    }
    const before = stages[index - 1];
    if (before?.series !== stage.series && from >= reached) {
      write(plot, stage.series, from + 2 * unit, upper, {
        colour: palette("ink"),
        size: size + 1,
        bold: true,
      });
      reached = from + stage.series.length * size * unit * 0.7;
    }
  }
}

function stageLabels(stage: StageResult): string[] {
  const clients = String(stage.clients);
  switch (stage.kind) {
    case "warm-up":
      return ["warm-up", "warm"];
    case "hold":
      return [`hold, ${clients} clients`, `hold ${clients}`, "hold"];
    case "ramp":
      return stage.arrival === "open" && stage.rate_end_per_s !== null
        ? [`ramp ${long(stage.rate_per_s)} → ${long(stage.rate_end_per_s)}/s`, "ramp"]
        : [`ramp ${clients} → ${stage.clients_end ?? clients}`, "ramp"];
    case "ladder":
      return [clients];
  }
}

function zoom(plot: uPlot, view: TimeView): void {
  const { left, width } = plot.select;
  if (width < 6) return;
  view.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
}

function readCursor(plot: uPlot, panel: Panel, view: TimeView, key: Key, place: Place): void {
  const row = (plot.cursor.left ?? -1) < 0 ? null : plot.cursor.idx;
  if (place.first) view.onCursor(row == null ? null : (panel.t[row] ?? null));
  key.show(
    panel.curves.map((curve) => {
      const value = row == null ? undefined : curve.values[row];
      return value == null ? null : curve.format(value);
    }),
  );
}

// A double click shows everything again; uPlot's own handling would only reset the panel under the pointer.
export function resetOnDoubleClick(place: HTMLElement, view: TimeView): void {
  place.addEventListener("dblclick", () => view.show(view.whole));
}

/** Forgets the group of synchronised cursors, so that a page drawn anew does not talk to the old one. */
export function releaseGroup(view: TimeView): void {
  const group = uPlot.sync(view.group);
  for (const plot of [...group.plots]) group.unsub(plot);
}
