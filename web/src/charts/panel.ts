// Draws a chart over time: its curves from the columns themselves, as much of them as a screen can show, with the
// stages behind and one cursor and zoom for all.

import uPlot from "uplot";
import type { Column } from "../document";
import { bytes, bytesPerSecond, latency, latencyTick, share, tick } from "../format";
import type { Palette } from "../theme";
import { axis, type ChartSpec, faded, Key, tinted } from "./chart";
import { drawMark } from "./marks";
import type { Panel, TimeCurve } from "./parts";
import { linearTicks, logRange, logTicks, niceMax } from "./scale";
import { drawBands } from "./stages";
import { extentOf, liesOn, markedRows, nearestRow, type Trace, trace } from "./trace";
import { AXIS_WIDTH, pointTo, type TimeView, zoomTo } from "./view";

/** Of the axis on the right, which only ever counts transactions. */
const RIGHT_AXIS_WIDTH = 40;
const TIME_AXIS = 22;
/** Marks of a curve stand this far apart, CSS pixels. */
const MARK_EVERY = 96;

/** Of a curve that lies on another, so that both are seen. */
const ALTERNATING = [9, 9];

/** uPlot draws nothing of a series itself. */
const NOTHING = { paths: () => null, points: { show: false } };

/** How the axis of time or steps is labelled. */
export interface Abscissa {
  incrs: number[];
  /** Where there must be ticks; else uPlot chooses among `incrs`. */
  splits: ((span: [number, number], width: number) => number[]) | null;
  write: (value: number) => string;
}

/** What a chart draws; it may be exchanged while the chart stands. */
export interface Held {
  panel: Panel;
  abscissa: Abscissa;
}

export function drawPanel(held: Held, view: TimeView): ChartSpec {
  const { panel } = held;
  const own = panel.curves.some((curve) => curve.side === "right");
  const draw = (palette: Palette, width: number) => ({
    options: {
      padding: [8, own ? 0 : panel.wide ? RIGHT_AXIS_WIDTH : 14, 0, 0] as uPlot.Padding,
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
      },
      scales: {
        x: { time: false, range: () => view.span },
        left: scaleOf(held, "left", view),
        ...(own ? { right: scaleOf(held, "right", view) } : {}),
      },
      axes: [
        timeAxis(held, palette, width, view),
        valueAxis(held, palette, "left", own, view),
        ...(own ? [valueAxis(held, palette, "right", own, view)] : []),
      ],
      // uPlot scales and frames; the curves are drawn from their own columns.
      series: [{}, { scale: "left", ...NOTHING }, ...(own ? [{ scale: "right", ...NOTHING }] : [])],
      hooks: {
        init: [(plot: uPlot) => view.join(plot)],
        destroy: [(plot: uPlot) => view.leave(plot)],
        drawClear: [(plot: uPlot) => drawBands(plot, view.bands, palette)],
        draw: [(plot: uPlot) => drawCurves(plot, held.panel, view, palette)],
        setSelect: [(plot: uPlot) => zoomTo(plot, view)],
        setCursor: [(plot: uPlot) => pointTo(plot, view)],
      },
    },
    data: [view.whole, [1, 1], ...(own ? [[1, 1]] : [])] as uPlot.AlignedData,
  });
  return { height: panel.height + 8 + TIME_AXIS, draw };
}

/** The values of a chart's curves at the cursor, as text. */
export function valuesAt(panel: Panel, at: number | null, view: TimeView): (string | null)[] {
  return panel.curves.map((curve) => {
    const value = at === null ? undefined : valueAt(curve, at, view);
    return value === undefined ? null : Number.isNaN(value) ? "–" : curve.format(value);
  });
}

/** The value of the nearest point, where one is near: between two turns of a target it has none. */
function valueAt(curve: TimeCurve, at: number, view: TimeView): number | undefined {
  const { x, values } = curve;
  const row = nearestRow(x, at, Number.POSITIVE_INFINITY);
  if (row === null) return undefined;
  const here = x[row] ?? 0;
  const steps = [
    here - (x[row - 1] ?? Number.NEGATIVE_INFINITY),
    (x[row + 1] ?? Number.POSITIVE_INFINITY) - here,
  ];
  const reach = Math.max(Math.min(...steps) * 1.5, (view.span[1] - view.span[0]) / 400);
  return Math.abs(here - at) > reach ? undefined : knownNear(values, row);
}

/** A row between stages stands for none: the value beside it is meant. */
function knownNear(values: Column, row: number): number | undefined {
  const here = values[row];
  return here === undefined || !Number.isNaN(here) ? here : (values[row - 1] ?? here);
}

export function keyOf(panel: Panel): Key {
  return new Key(panel.curves);
}

/** What the curves on one side show within the span, or null. */
function seen(panel: Panel, side: string, view: TimeView): [number, number] | null {
  const extents = panel.curves
    .filter((curve) => curve.side === side)
    .flatMap((curve) => {
      const extent = extentOf(curve.x, curve.drawn, view.span);
      return extent === null ? [] : [extent];
    });
  if (extents.length === 0) return null;
  return [Math.min(...extents.map(([low]) => low)), Math.max(...extents.map(([, high]) => high))];
}

function scaleOf(held: Held, side: string, view: TimeView): uPlot.Scale {
  if (held.panel.axis === "share") return { range: [0, 1] };
  if (held.panel.axis === "log") {
    return {
      distr: 3,
      range: () => {
        const extent = seen(held.panel, side, view);
        return extent === null ? [1, 10] : logRange(extent[0], extent[1]);
      },
    };
  }
  return {
    range: () => {
      const most = seen(held.panel, side, view)?.[1] ?? 0;
      const unit = unitOf(held.panel, most);
      return [0, Math.max(niceMax((most * 1.05) / unit) * unit, held.panel.reach ?? 0)];
    },
  };
}

export function timeAxis(
  held: { abscissa: Abscissa },
  palette: Palette,
  width: number,
  view: TimeView,
): uPlot.Axis {
  const { abscissa } = held;
  return axis(palette, {
    size: TIME_AXIS,
    incrs: abscissa.incrs,
    space: width < 500 ? 52 : 64,
    ...(abscissa.splits === null
      ? {}
      : {
          splits: () => held.abscissa.splits?.(view.span, width - AXIS_WIDTH) ?? [],
          filter: (_plot: uPlot, splits: number[]) => splits,
          grid: { show: false },
        }),
    values: (_plot: uPlot, splits: number[]) => splits.map((value) => held.abscissa.write(value)),
  });
}

function valueAxis(
  held: Held,
  palette: Palette,
  side: "left" | "right",
  own: boolean,
  view: TimeView,
): uPlot.Axis {
  const { panel } = held;
  const wanted = Math.max(2, Math.round(panel.height / 36));
  const owner = panel.curves.find((curve) => curve.side === side);
  const unit = panel.curves[0]?.format;
  const write = (value: number): string => {
    if (panel.axis === "log") return latencyTick(value);
    if (unit === share) return `${Math.round(value * 100)}%`;
    if (unit === latency) return value === 0 ? "0" : latencyTick(value);
    if (unit === bytes) return value === 0 ? "0" : bytes(value);
    if (unit === bytesPerSecond) return value === 0 ? "0" : bytesPerSecond(value);
    return tick(value);
  };
  return axis(palette, {
    scale: side,
    side: side === "left" ? 3 : 1,
    size: side === "left" ? AXIS_WIDTH : RIGHT_AXIS_WIDTH,
    ...(own && owner !== undefined ? { stroke: palette(owner.colour) } : {}),
    grid: side === "left" ? { stroke: palette("grid"), width: 1 } : { show: false },
    splits: (_plot, _index, min, max) =>
      panel.axis === "log" ? logTicks(min, max, wanted + 2) : ticksOf(panel, max, wanted),
    filter: (_plot, splits) => splits,
    // An axis whose curves are out of sight has nothing to measure.
    values: (_plot, splits) =>
      seen(held.panel, side, view) === null ? splits.map(() => "") : splits.map(write),
  });
}

/** Sizes are counted in powers of 1024, so that their round figures are others. */
function unitOf(panel: Panel, most: number): number {
  const format = panel.curves[0]?.format;
  if ((format !== bytes && format !== bytesPerSecond) || !(most > 0)) return 1;
  return 1024 ** Math.floor(Math.log2(most) / 10);
}

function ticksOf(panel: Panel, max: number, wanted: number): number[] {
  const unit = unitOf(panel, max);
  return linearTicks(max / unit, wanted).map((value) => value * unit);
}

function drawCurves(plot: uPlot, panel: Panel, view: TimeView, palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  // A line along the edge keeps its whole width.
  ctx.rect(bbox.left, bbox.top - 3 * uPlot.pxRatio, bbox.width, bbox.height + 4 * uPlot.pxRatio);
  ctx.clip();
  // A stack is drawn from its top down, so that each area covers the one above it only where it is.
  const curves = panel.stacked ? [...panel.curves].reverse() : panel.curves;
  const drawn: Trace[] = [];
  for (const [index, curve] of curves.entries()) {
    const place = (value: number, axis: "x" | "y") =>
      plot.valToPos(value, axis === "x" ? "x" : curve.side, true) / uPlot.pxRatio;
    const points = trace(curve.x, curve.drawn, view.span, Math.ceil(bbox.width));
    // One that lies on another lets it be seen through its gaps.
    const hides = !panel.stacked && drawn.some((other) => liesOn(points, other, place));
    drawCurve(plot, hides ? { ...curve, dash: ALTERNATING } : curve, points, index, palette);
    drawn.push(points);
  }
  ctx.restore();
}

function drawCurve(plot: uPlot, curve: TimeCurve, points: Trace, index: number, palette: Palette): void {
  const { ctx } = plot;
  const colour = palette(curve.colour);
  const fill =
    curve.tint !== undefined
      ? tinted(colour, palette("ground"), curve.tint)
      : curve.fill
        ? faded(colour, curve.fill)
        : null;
  const { line, area, dots } = pathsOf(plot, points, curve.side);
  if (fill !== null) {
    ctx.fillStyle = fill;
    ctx.fill(area);
  }
  ctx.strokeStyle = colour;
  ctx.lineWidth = (curve.width ?? 1.5) * uPlot.pxRatio;
  ctx.lineJoin = "round";
  ctx.setLineDash((curve.dash ?? []).map((part) => part * uPlot.pxRatio));
  ctx.stroke(line);
  ctx.setLineDash([]);
  ctx.fillStyle = colour;
  for (const [x, y] of dots)
    ctx.fillRect(x - 2 * uPlot.pxRatio, y - 2 * uPlot.pxRatio, 4 * uPlot.pxRatio, 4 * uPlot.pxRatio);
  if (curve.mark !== undefined) drawMarks(plot, points, curve, index, palette);
}

/** Lines from point to point that end where a value is unknown, the area under them, and points that stand alone. */
function pathsOf(
  plot: uPlot,
  { x, y }: Trace,
  scale: string,
): { line: Path2D; area: Path2D; dots: [number, number][] } {
  const [line, area] = [new Path2D(), new Path2D()];
  const dots: [number, number][] = [];
  const floor = plot.valToPos(plot.scales[scale]?.min ?? 0, scale, true);
  let begun: { left: number; top: number; points: number } | null = null;
  let last = 0;
  const end = () => {
    if (begun === null) return;
    area.lineTo(last, floor);
    area.closePath();
    if (begun.points === 1) dots.push([begun.left, begun.top]);
    begun = null;
  };
  for (let row = 0; row < x.length; row += 1) {
    const value = y[row] ?? Number.NaN;
    if (Number.isNaN(value)) {
      end();
      continue;
    }
    const left = plot.valToPos(x[row] ?? 0, "x", true);
    const top = plot.valToPos(value, scale, true);
    if (begun === null) {
      begun = { left, top, points: 0 };
      line.moveTo(left, top);
      area.moveTo(left, floor);
    }
    begun.points += 1;
    line.lineTo(left, top);
    area.lineTo(left, top);
    last = left;
  }
  end();
  return { line, area, dots };
}

/** The curve's mark now and then, at other places than those of the curves beside it. */
function drawMarks(plot: uPlot, points: Trace, curve: TimeCurve, index: number, palette: Palette): void {
  const colours = { fill: palette(curve.colour), edge: palette("ground") };
  const { left, width } = plot.bbox;
  const lefts = points.x.map((at) => plot.valToPos(at, "x", true));
  for (const row of markedRows(lefts, points.y, [left, left + width], MARK_EVERY * uPlot.pxRatio, index)) {
    const top = plot.valToPos(points.y[row] ?? 0, curve.side, true);
    const at = { x: lefts[row] ?? 0, y: top, radius: 3.6 * uPlot.pxRatio };
    if (curve.mark !== undefined) drawMark(plot.ctx, curve.mark, at, colours);
  }
}
