// Throughput and latency of a series against its clients: the ladder's rungs, its peak, and the hold.

import type uPlot from "uplot";
import type { Peak, StageResult } from "../document";
import { count, latency, latencyTick, long, relativeError, short, tick } from "../format";
import { latencyOf } from "../reading";
import type { Colour, Palette } from "../theme";
import { axis, axisFont, type ChartSpec, type Curve, Key, seriesOf, write } from "./chart";
import { linearTicks, logRange, logTicks, niceMax, thinned } from "./scale";

export interface ClientsChart {
  spec: ChartSpec;
  key: Key;
}

interface Rungs {
  rungs: StageResult[];
  hold: StageResult | null;
  peak: Peak | null;
  colour: Colour;
}

/** TPS from zero with 95 % intervals; the peak marked, the hold as a diamond. */
export function throughputAgainstClients({ rungs, hold, peak, colour }: Rungs): ClientsChart {
  const curve: Curve = { label: "TPS", colour, width: 2, format: long };
  const key = new Key([{ ...curve, label: "" }]);
  const held = hold?.throughput == null ? null : { clients: hold.clients, mean: hold.throughput.mean };
  const tops = rungs.map((rung) => (rung.throughput?.mean ?? 0) + (rung.throughput?.half_width ?? 0));
  const top = niceMax(Math.max(...tops, held?.mean ?? 0) * 1.06);

  const draw = (palette: Palette) => ({
    options: {
      ...frame(),
      scales: { x: clientsScale(rungs, held?.clients), y: { range: [0, top] as [number, number] } },
      axes: [
        clientsAxis(palette, rungs),
        axis(palette, {
          size: 52,
          splits: () => linearTicks(top, 5),
          values: (_plot: uPlot, splits: number[]) => splits.map(tick),
        }),
      ],
      series: [{}, seriesOf(curve, palette, { points: { show: true, size: 6, fill: palette(colour) } })],
      hooks: {
        drawClear: [(plot: uPlot) => peak !== null && markPeak(plot, peak, palette)],
        draw: [
          (plot: uPlot) => drawIntervals(plot, rungs, palette(colour)),
          (plot: uPlot) => held !== null && drawDiamond(plot, held.clients, held.mean, palette, colour),
          (plot: uPlot) => peak !== null && labelPeak(plot, peak, palette),
        ],
        setCursor: [(plot: uPlot) => key.show([readThroughput(rungs, plot.cursor.idx)])],
      },
    },
    data: [
      rungs.map((rung) => rung.clients),
      rungs.map((rung) => rung.throughput?.mean ?? null),
    ] as uPlot.AlignedData,
  });
  return { spec: { height: 260, draw }, key };
}

/** Percentiles on a logarithmic axis. */
export function latencyAgainstClients({ rungs, peak }: Rungs): ClientsChart {
  const curves: (Curve & { of: "p50_us" | "p99_us" | "p999_us" })[] = [
    { of: "p50_us", label: "p50", colour: "latency-1", width: 2, format: latency },
    { of: "p99_us", label: "p99", colour: "latency-2", width: 1.75, dash: [7, 3], format: latency },
    { of: "p999_us", label: "p99.9", colour: "latency-3", width: 1.5, dash: [2, 3], format: latency },
  ];
  const key = new Key(curves);
  const columns = curves.map((curve) => rungs.map((rung) => positive(latencyOf(rung)?.[curve.of])));
  const values = columns.flat().filter((value) => value !== null);
  const [low, high] = logRange(Math.min(...values), Math.max(...values));

  const draw = (palette: Palette) => ({
    options: {
      ...frame(),
      scales: {
        x: clientsScale(rungs),
        y: { distr: 3 as const, range: [low, high] as [number, number] },
      },
      axes: [
        clientsAxis(palette, rungs),
        axis(palette, {
          size: 52,
          splits: () => logTicks(low, high, 8),
          filter: (_plot: uPlot, splits: number[]) => splits,
          values: (_plot: uPlot, splits: number[]) => splits.map(latencyTick),
        }),
      ],
      series: [
        {},
        ...curves.map((curve) =>
          seriesOf(curve, palette, { points: { show: true, size: 5, fill: palette(curve.colour) } }),
        ),
      ],
      hooks: {
        drawClear: [(plot: uPlot) => peak !== null && markPeak(plot, peak, palette)],
        setCursor: [
          (plot: uPlot) => {
            const rung = rungs[plot.cursor.idx ?? -1];
            const found = rung && latencyOf(rung);
            key.show(curves.map((curve) => (found ? latency(found[curve.of]) : null)));
          },
        ],
      },
    },
    data: [rungs.map((rung) => rung.clients), ...columns] as uPlot.AlignedData,
  });
  return { spec: { height: 260, draw }, key };
}

function positive(value: number | undefined): number | null {
  return value !== undefined && value > 0 ? value : null;
}

function readThroughput(rungs: StageResult[], row: number | null | undefined): string | null {
  const rung = rungs[row ?? -1];
  if (rung === undefined) return null;
  const clients = `${count(rung.clients)} client${rung.clients === 1 ? "" : "s"}`;
  return rung.throughput === null
    ? `${clients}: unknown`
    : `${clients}: ${long(rung.throughput.mean)} TPS ${relativeError(rung.throughput)}`;
}

function frame(): Pick<uPlot.Options, "padding" | "cursor"> {
  return {
    padding: [22, 18, 0, 0],
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 8 } },
  };
}

/** Doublings stand equally far apart; half a doubling of room at either end. */
function clientsScale(rungs: StageResult[], other?: number): uPlot.Scale {
  const clients = rungs.map((rung) => rung.clients).concat(other ?? []);
  const room = 2 ** 0.25;
  const range: [number, number] = [Math.min(...clients) / room, Math.max(...clients) * room];
  return { time: false, distr: 3, log: 2, range };
}

function clientsAxis(palette: Palette, rungs: StageResult[]): uPlot.Axis {
  return axis(palette, {
    label: "clients",
    labelFont: "11px sans-serif",
    labelSize: 18,
    labelGap: 0,
    size: 24,
    grid: { show: false },
    ticks: { show: true, stroke: palette("line"), size: 4, width: 1 },
    border: { show: true, stroke: palette("line"), width: 1 },
    splits: (plot: uPlot) =>
      thinned(
        rungs.map((rung) => rung.clients),
        plot.over.clientWidth || plot.width - 80,
        30,
      ),
    filter: (_plot: uPlot, splits: number[]) => splits,
    values: (_plot: uPlot, splits: number[]) => splits.map((value) => tick(value)),
  });
}

function drawIntervals(plot: uPlot, rungs: StageResult[], colour: string): void {
  const { ctx } = plot;
  const unit = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.25 * unit;
  ctx.beginPath();
  for (const { clients, throughput } of rungs) {
    if (throughput?.half_width == null) continue;
    const x = plot.valToPos(clients, "x", true);
    const low = plot.valToPos(Math.max(0, throughput.mean - throughput.half_width), "y", true);
    const high = plot.valToPos(throughput.mean + throughput.half_width, "y", true);
    for (const y of [low, high]) {
      ctx.moveTo(x - 4 * unit, y);
      ctx.lineTo(x + 4 * unit, y);
    }
    ctx.moveTo(x, low);
    ctx.lineTo(x, high);
  }
  ctx.stroke();
  ctx.restore();
}

/** A line at the peak, and a band over the clients whose throughput cannot be told from it. */
function markPeak(plot: uPlot, peak: Peak, palette: Palette): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(peak.clients, "x", true);
  ctx.save();
  const alike = peak.clients_indistinguishable;
  if (alike.length > 1) {
    const from = plot.valToPos(Math.min(...alike), "x", true);
    const to = plot.valToPos(Math.max(...alike), "x", true);
    ctx.fillStyle = palette("band-hold");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.strokeStyle = palette("muted");
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** Above the plot, where no curve can run through it. */
function labelPeak(plot: uPlot, peak: Peak, palette: Palette): void {
  const { ctx, bbox } = plot;
  const text = `peak ${short(peak.throughput.mean)} at ${count(peak.clients)}`;
  ctx.save();
  ctx.font = `600 ${axisFont(11 * devicePixelRatio)}`;
  const half = ctx.measureText(text).width / 2;
  ctx.restore();
  const x = plot.valToPos(peak.clients, "x", true);
  const within = Math.min(bbox.left + bbox.width - half, Math.max(bbox.left + half, x));
  const y = bbox.top - 10 * devicePixelRatio;
  write(plot, text, within, y, { colour: palette("ink"), align: "center", bold: true });
}

function drawDiamond(plot: uPlot, clients: number, mean: number, palette: Palette, colour: Colour): void {
  const { ctx } = plot;
  const x = plot.valToPos(clients, "x", true);
  const y = plot.valToPos(mean, "y", true);
  const r = 6 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.moveTo(x, y - r);
  ctx.lineTo(x + r, y);
  ctx.lineTo(x, y + r);
  ctx.lineTo(x - r, y);
  ctx.closePath();
  ctx.fillStyle = palette("ground");
  ctx.fill();
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.strokeStyle = palette(colour);
  ctx.stroke();
  ctx.restore();
}
