// Throughput and latency against what was asked of the server: clients, or the rate of an open load. All targets on
// one axis; the rung at which one was saturated is marked and named.

import uPlot from "uplot";
import { loadOf } from "../align";
import type { Estimate, Peak, Percentiles, Saturation, StageResult } from "../document";
import { count, counted, latency, latencyTick, long, relativeError, short, tick } from "../format";
import { latencyOf } from "../reading";
import type { Look } from "../scene";
import type { Palette } from "../theme";
import { axis, axisFont, type ChartSpec, type Curve, faded, Key, PERCENTILES, write } from "./chart";
import { drawMark } from "./marks";
import { linearTicks, logRange, logTicks, niceMax, thinned } from "./scale";

export interface ClientsChart {
  spec: ChartSpec;
  key: Key;
}

/** A ladder of one lane. */
export interface Ladder extends Look {
  /** Empty where there is only one. */
  label: string;
  rungs: StageResult[];
  hold: StageResult | null;
  /** Whose load a rung or the hold stands at: its own, or that of the stage which it accompanied. */
  stepOf: (stage: StageResult) => StageResult;
  peak: Peak | null;
  saturation: Saturation | null;
}

/** A rung's interval; the best of several has none, since it was chosen for being the highest. */
export function intervalOf({ peak }: Pick<Ladder, "peak">, { id, throughput }: StageResult): Estimate | null {
  if (throughput?.half_width == null) return null;
  return peak?.stage === id && peak.throughput.half_width === null ? null : throughput;
}

/** The least and the most clients of those that cannot be told from the peak, which are shaded. Of a rate, clients say nothing. */
export function shadedOf({ peak, rungs }: Pick<Ladder, "peak" | "rungs">): [number, number] | null {
  const alike = peak?.clients_indistinguishable ?? [];
  const isOfRate = rungs.find(({ id }) => id === peak?.stage)?.arrival === "open";
  return alike.length < 2 || isOfRate ? null : [Math.min(...alike), Math.max(...alike)];
}

function loadAt({ stepOf }: Ladder, stage: StageResult): number {
  return loadOf(stepOf(stage));
}

/** Intervals of more rungs than this are drawn as a band. */
const BARS_MAX = 24;
/** Marks closer than this would hide the line, CSS pixels. */
const MARKS_APART = 22;
const HEIGHT = 270;

type Values = (number | null)[];

/** A line of a chart: a value for each rung of a ladder. */
interface Line extends Curve {
  ladder: Ladder;
  values: Values;
}

/** TPS from zero with 95 % intervals; peaks and saturations marked, holds as diamonds. */
export function throughputAgainstLoad(ladders: Ladder[]): ClientsChart {
  const alone = ladders.length === 1;
  const lines = ladders.map(
    (ladder): Line => ({
      ...lookOf(ladder, alone),
      ladder,
      values: ladder.rungs.map((rung) => rung.throughput?.mean ?? null),
      width: 2,
      format: long,
    }),
  );
  const stages = ladders.flatMap(({ rungs, hold }) => [...rungs, ...(hold === null ? [] : [hold])]);
  // What is not known to within a factor of two does not stretch the axis.
  const tops = stages.map(({ throughput: own }) => {
    const mean = own?.mean ?? 0;
    return mean + Math.min(own?.half_width ?? 0, mean);
  });
  const top = niceMax(Math.max(...tops) * 1.06);
  const key = new Key(lines.map((line) => ({ ...line, label: alone ? "" : line.label })));
  const drawn = {
    lines,
    y: { range: [0, top] as [number, number] },
    ticks: () => linearTicks(top, 5),
    write: tick,
    intervals: true,
    read: ({ ladder }: Line, load: number, index: number) => {
      const parts = [readRung(ladder, ladder.rungs[index]), readHold(ladder, load)];
      return parts.filter((part) => part !== null).join(", ") || null;
    },
  };
  return { spec: againstLoad(ladders, drawn, key), key };
}

/** One ladder: percentiles. Several: p99 of each. On a logarithmic axis. */
export function latencyAgainstLoad(ladders: Ladder[]): ClientsChart {
  const [only] = ladders;
  const alone = ladders.length === 1 && only !== undefined;
  const of = (ladder: Ladder, name: "p50_us" | "p99_us" | "p999_us"): Values =>
    ladder.rungs.map((rung) => positive(latencyOf(rung)?.[name]));
  const line = (
    ladder: Ladder,
    name: keyof Percentiles & ("p50_us" | "p99_us" | "p999_us"),
    look: Pick<Curve, "label" | "colour"> & Partial<Curve>,
  ): Line => ({ width: 1.75, format: latency, ...look, ladder, values: of(ladder, name) });
  const lines = alone
    ? [
        line(only, "p50_us", { label: "p50", ...PERCENTILES.p50 }),
        line(only, "p99_us", { label: "p99", ...PERCENTILES.p99 }),
        line(only, "p999_us", { label: "p99.9", ...PERCENTILES["p99.9"] }),
      ]
    : ladders.map((ladder) => line(ladder, "p99_us", lookOf(ladder, false)));
  const values = lines.flatMap((one) => one.values.filter((value) => value !== null));
  const [low, high] = logRange(Math.min(...values), Math.max(...values));
  const key = new Key(lines);
  const drawn = {
    lines,
    y: { distr: 3 as const, range: [low, high] as [number, number] },
    ticks: () => logTicks(low, high, 8),
    write: latencyTick,
    intervals: false,
    read: (one: Line, _load: number, index: number) => {
      const value = one.values[index];
      return value == null ? null : latency(value);
    },
  };
  return { spec: againstLoad(ladders, drawn, key), key };
}

interface LoadChart {
  lines: Line[];
  y: uPlot.Scale;
  ticks: () => number[];
  write: (value: number) => string;
  intervals: boolean;
  /** What a line has at a load, and the place of its rung there. */
  read: (line: Line, load: number, index: number) => string | null;
}

/** What the axis of load counts. */
interface LoadUnit {
  isRate: boolean;
  /** The series whose clients or rate it is, where that is another one. */
  of: string | null;
}

function unitOf(ladders: Ladder[]): LoadUnit {
  const steps = ladders.flatMap(({ rungs, stepOf }) => rungs.map((rung) => ({ rung, step: stepOf(rung) })));
  return {
    isRate: steps.some(({ step }) => step.arrival === "open"),
    of: steps.find(({ rung, step }) => rung !== step)?.step.series ?? null,
  };
}

function againstLoad(ladders: Ladder[], chart: LoadChart, key: Key): ChartSpec {
  const ascending = (all: number[]) => [...new Set(all)].sort((a, b) => a - b);
  const rungLoads = ascending(ladders.flatMap((ladder) => ladder.rungs.map((rung) => loadAt(ladder, rung))));
  const holds = ladders.flatMap((ladder) =>
    isHeld(ladder.hold) && chart.intervals ? loadAt(ladder, ladder.hold) : [],
  );
  const loads = ascending([...rungLoads, ...holds]);
  const unit = unitOf(ladders);
  const rows = chart.lines.map(({ ladder }) => {
    const at = new Map(ladder.rungs.map((rung, index) => [loadAt(ladder, rung), index]));
    return loads.map((load) => at.get(load) ?? -1);
  });
  const [only] = ladders;
  const shaded = ladders.length === 1 && only !== undefined ? shadedOf(only) : null;
  const saturated = ladders.filter((ladder) => ladder.saturation !== null);
  const alonePeak = ladders.length === 1 && saturated.length === 0 ? (only?.peak ?? null) : null;
  const heads = Math.max(alonePeak === null ? 0 : 1, saturated.length);
  const draw = (palette: Palette) => ({
    options: {
      padding: [8 + heads * 14, 18, 0, 0] as uPlot.Padding,
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
      scales: { x: loadScale(loads), y: chart.y },
      axes: [
        loadAxis(palette, rungLoads, unit),
        axis(palette, {
          size: 56,
          splits: chart.ticks,
          filter: (_plot: uPlot, splits: number[]) => splits,
          values: (_plot: uPlot, splits: number[]) => splits.map(chart.write),
        }),
      ],
      series: [{}, ...chart.lines.map(() => ({ paths: () => null, points: { show: false } }))],
      hooks: {
        drawClear: [
          (plot: uPlot) => {
            if (shaded !== null) shade(plot, shaded, palette);
            if (alonePeak !== null) markPeak(plot, alonePeak, rungOf(only, alonePeak), palette);
            for (const ladder of saturated) markSaturation(plot, ladder, palette);
          },
        ],
        draw: [
          (plot: uPlot) => {
            for (const line of chart.lines) drawLine(plot, line, chart.intervals, palette);
            if (chart.intervals) for (const ladder of ladders) drawHold(plot, ladder, palette);
            if (alonePeak !== null) labelPeak(plot, alonePeak, rungOf(only, alonePeak), palette);
            for (const [index, ladder] of saturated.entries())
              labelSaturation(plot, ladder, index, heads, palette);
          },
        ],
        setCursor: [
          (plot: uPlot) => {
            const at = plot.cursor.idx;
            const inside = (plot.cursor.left ?? -1) >= 0 && at != null;
            const here = inside ? (loads[at] ?? 0) : 0;
            const texts = chart.lines.map((line, index) =>
              inside ? chart.read(line, here, rows[index]?.[at] ?? -1) : null,
            );
            const first = texts.findIndex((text) => text !== null);
            const load = inside ? `${loadWords(here, unit)}: ` : "";
            key.show(texts.map((text, index) => (index === first && text !== null ? load + text : text)));
          },
        ],
      },
    },
    data: [
      loads,
      ...chart.lines.map((line, index) =>
        loads.map((_load, row) => line.values[rows[index]?.[row] ?? -1] ?? null),
      ),
    ] as uPlot.AlignedData,
  });
  return { height: HEIGHT, draw };
}

function lookOf(ladder: Ladder, alone: boolean): Pick<Line, "label" | "colour" | "dash" | "mark"> {
  return { label: ladder.label, colour: ladder.colour, dash: alone ? [] : ladder.dash, mark: ladder.mark };
}

function loadWords(load: number, { isRate, of }: LoadUnit): string {
  return `${isRate ? `${long(load)}/s` : counted(load, "client")}${of === null ? "" : ` of ${of}`}`;
}

function positive(value: number | undefined): number | null {
  return value !== undefined && value > 0 ? value : null;
}

function readRung(ladder: Ladder, rung: StageResult | undefined): string | null {
  if (rung === undefined) return null;
  if (rung.throughput === null) return "unknown";
  const figure = `${long(rung.throughput.mean)} TPS`;
  if (rung.throughput.half_width === null) return `${figure} ${relativeError(rung.throughput)}`;
  const known = intervalOf(ladder, rung);
  return known === null
    ? `${figure}, the best of ${ladder.rungs.length}`
    : `${figure} ${relativeError(known)}`;
}

function readHold(ladder: Ladder, load: number): string | null {
  const { hold } = ladder;
  if (!isHeld(hold) || loadAt(ladder, hold) !== load) return null;
  return `held ${long(hold.throughput.mean)} TPS ${relativeError(hold.throughput)}`;
}

/** A hold that is drawn: its load does not change, and its throughput is known. */
export function isHeld(hold: StageResult | null): hold is StageResult & { throughput: Estimate } {
  return hold?.kind === "hold" && hold.throughput !== null;
}

/** Steps of one size stand on a linear axis, factors on a logarithmic one. */
function loadScale(loads: number[]): uPlot.Scale {
  const [low, high] = [Math.min(...loads), Math.max(...loads)];
  if (inSteps(loads)) {
    const room = Math.max((high - low) * 0.03, 0.5);
    return { time: false, range: [Math.max(0, low - room), high + room] };
  }
  const room = 2 ** 0.25;
  return { time: false, distr: 3, log: 2, range: [low / room, high * room] };
}

export function inSteps(loads: number[]): boolean {
  const sorted = [...new Set(loads)].sort((a, b) => a - b);
  if (sorted.length < 4) return false;
  const gaps = sorted.slice(1).map((load, index) => load - (sorted[index] ?? 0));
  return Math.max(...gaps) <= Math.min(...gaps) * 3 || gaps.length > 12;
}

function loadAxis(palette: Palette, loads: number[], { isRate, of }: LoadUnit): uPlot.Axis {
  const whose = of === null ? "" : ` of ${of}`;
  return axis(palette, {
    label: `${isRate ? "transactions per second that were asked for" : "clients"}${whose}`,
    labelFont: axisFont(11),
    labelSize: 18,
    labelGap: 0,
    size: 24,
    grid: { show: false },
    ticks: { show: true, stroke: palette("line"), size: 4, width: 1 },
    border: { show: true, stroke: palette("line"), width: 1 },
    splits: (plot: uPlot) => {
      const width = plot.over.clientWidth || plot.width - 80;
      if (!inSteps(loads)) return thinned(loads, width, 30);
      const [low, high] = [Math.min(...loads), Math.max(...loads)];
      const round = linearTicks(high, Math.max(2, width / 56)).filter(
        (load) => load > low && Number.isInteger(load),
      );
      return [low, ...round.filter((load) => load - low > (high - low) / (width / 40))];
    },
    filter: (_plot: uPlot, splits: number[]) => splits,
    values: (_plot: uPlot, splits: number[]) => splits.map((value) => tick(value)),
  });
}

function drawLine(plot: uPlot, line: Line, intervals: boolean, palette: Palette): void {
  const { ctx } = plot;
  const unit = uPlot.pxRatio;
  const colour = palette(line.colour);
  const points = line.ladder.rungs.flatMap((rung, index) => {
    const value = line.values[index];
    return value == null
      ? []
      : [{ x: plot.valToPos(loadAt(line.ladder, rung), "x", true), y: plot.valToPos(value, "y", true) }];
  });
  ctx.save();
  if (intervals) drawIntervals(plot, line.ladder, colour);
  ctx.strokeStyle = colour;
  ctx.lineJoin = "round";
  ctx.lineWidth = (line.width ?? 1.5) * unit;
  ctx.setLineDash((line.dash ?? []).map((part) => part * unit));
  ctx.beginPath();
  for (const [index, { x, y }] of points.entries()) {
    if (index === 0) ctx.moveTo(x, y);
    else ctx.lineTo(x, y);
  }
  ctx.stroke();
  ctx.restore();
  let next = Number.NEGATIVE_INFINITY;
  for (const { x, y } of points) {
    if (points.length > BARS_MAX && x < next) continue;
    const at = { x, y, radius: 3.8 * unit };
    drawMark(ctx, line.mark ?? "circle", at, { fill: colour, edge: palette("ground") });
    next = x + MARKS_APART * unit;
  }
}

/** Where an interval stands on a canvas. */
interface Bar {
  x: number;
  low: number;
  high: number;
}

function barOf(plot: uPlot, load: number, known: Estimate | null): Bar[] {
  if (known?.half_width == null) return [];
  return [
    {
      x: plot.valToPos(load, "x", true),
      low: plot.valToPos(Math.max(0, known.mean - known.half_width), "y", true),
      high: plot.valToPos(known.mean + known.half_width, "y", true),
    },
  ];
}

/** Bars for few rungs, a band for many. */
function drawIntervals(plot: uPlot, ladder: Ladder, colour: string): void {
  const { ctx } = plot;
  const bars = ladder.rungs.flatMap((rung) => barOf(plot, loadAt(ladder, rung), intervalOf(ladder, rung)));
  if (bars.length <= BARS_MAX) {
    drawBars(plot, bars, 4, colour);
    return;
  }
  ctx.beginPath();
  for (const { x, high } of bars) ctx.lineTo(x, high);
  for (const { x, low } of bars.toReversed()) ctx.lineTo(x, low);
  ctx.fillStyle = faded(colour, 0.18);
  ctx.fill();
}

/** Bars with ends so many CSS pixels wide to each side. */
function drawBars(plot: uPlot, bars: Bar[], half: number, colour: string): void {
  const { ctx } = plot;
  const unit = uPlot.pxRatio;
  ctx.beginPath();
  for (const { x, low, high } of bars) {
    for (const y of [low, high]) {
      ctx.moveTo(x - half * unit, y);
      ctx.lineTo(x + half * unit, y);
    }
    ctx.moveTo(x, low);
    ctx.lineTo(x, high);
  }
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.25 * unit;
  ctx.stroke();
}

function upright(plot: uPlot, load: number, style: { colour: string; dash: number[]; width: number }): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(load, "x", true);
  ctx.save();
  ctx.strokeStyle = style.colour;
  ctx.setLineDash(style.dash.map((part) => part * uPlot.pxRatio));
  ctx.lineWidth = style.width * uPlot.pxRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function rungOf(ladder: Ladder | undefined, peak: Peak): StageResult | undefined {
  return ladder?.rungs.find(({ id }) => id === peak.stage);
}

/** A band over the clients whose throughput cannot be told from the peak. */
function shade(plot: uPlot, shaded: [number, number], palette: Palette): void {
  const { ctx, bbox } = plot;
  const [from = 0, to = 0] = shaded.map((load) => plot.valToPos(load, "x", true));
  ctx.save();
  ctx.fillStyle = palette("band-hold");
  ctx.fillRect(from, bbox.top, to - from, bbox.height);
  ctx.restore();
}

/** A line at the peak. */
function markPeak(plot: uPlot, peak: Peak, rung: StageResult | undefined, palette: Palette): void {
  const load = rung === undefined ? peak.clients : loadOf(rung);
  upright(plot, load, { colour: palette("muted"), dash: [3, 3], width: 1 });
}

function markSaturation(plot: uPlot, { saturation, colour }: Ladder, palette: Palette): void {
  if (saturation === null) return;
  upright(plot, saturation.rate_per_s ?? saturation.clients, {
    colour: palette(colour),
    dash: [4, 3],
    width: 1.25,
  });
}

function labelPeak(plot: uPlot, peak: Peak, rung: StageResult | undefined, palette: Palette): void {
  const load = rung === undefined ? peak.clients : loadOf(rung);
  const at = rung?.arrival === "open" ? `${tick(load)}/s` : count(load);
  label(plot, `peak ${short(peak.throughput.mean)} at ${at}`, load, 10, palette("ink"));
}

function labelSaturation(plot: uPlot, ladder: Ladder, index: number, of: number, palette: Palette): void {
  const { saturation } = ladder;
  if (saturation === null) return;
  const load = saturation.rate_per_s ?? saturation.clients;
  const whose = ladder.label === "" ? "saturated" : `${ladder.label} saturated`;
  const text = `${whose} at ${saturation.rate_per_s === null ? count(load) : `${tick(load)}/s`}`;
  label(plot, text, load, 10 + (of - 1 - index) * 14, palette(ladder.colour));
}

/** Above the plot, where no curve can run through it. */
function label(plot: uPlot, text: string, load: number, above: number, colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `600 ${axisFont(11 * uPlot.pxRatio)}`;
  const half = ctx.measureText(text).width / 2;
  ctx.restore();
  const x = plot.valToPos(load, "x", true);
  // A long name may reach over the axis on the left.
  const within = Math.min(bbox.left + bbox.width - half, Math.max(half, x));
  write(plot, text, within, bbox.top - above * uPlot.pxRatio, { colour, align: "center", bold: true });
}

/** A diamond, and its interval with ends that are wider than those of a rung at the same load. */
function drawHold(plot: uPlot, ladder: Ladder, palette: Palette): void {
  const { hold, colour } = ladder;
  if (!isHeld(hold)) return;
  const { ctx } = plot;
  const load = loadAt(ladder, hold);
  drawBars(plot, barOf(plot, load, hold.throughput), 7, palette(colour));
  const x = plot.valToPos(load, "x", true);
  const y = plot.valToPos(hold.throughput.mean, "y", true);
  const r = 6 * uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  for (const [dx, dy] of [
    [0, -r],
    [r, 0],
    [0, r],
    [-r, 0],
  ] as const)
    ctx.lineTo(x + dx, y + dy);
  ctx.closePath();
  ctx.fillStyle = palette("ground");
  ctx.fill();
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.strokeStyle = palette(colour);
  ctx.stroke();
  ctx.restore();
}
