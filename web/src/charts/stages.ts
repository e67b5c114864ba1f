// The stages behind the curves, and the strip above them that names them: a row for each lane, and numbered notes where
// something happened (a hook, a lost target, a finding, a saturation).

import uPlot from "uplot";
import type { Colour, Palette } from "../theme";
import { type ChartSpec, write } from "./chart";
import { AXIS_WIDTH, type Band, pointTo, type TimeView, zoomTo } from "./view";

/** Something on the axis that has a number and a text below the charts. */
export interface Note {
  at: number;
  number: number;
  grave: boolean;
  colour: Colour;
}

/** What the strip shows; it may be exchanged while the strip stands. */
export interface StripHeld {
  /** One for each row of bands, from the top: a lane's colour, or null for bands of all. */
  rows: { label: string; colour: Colour | null }[];
  notes: Note[];
}

const NOTES_HEIGHT = 20;
const GROUP_HEIGHT = 18;
const ROW_HEIGHT = 15;
/** Letters of a row's label that fit on its left; a longer one stands on a line above the row. */
const LEFT_LETTERS = 9;
/** Bands narrower than this have no lines between them, CSS pixels: they would be a pattern of their own. */
const LINE_APART = 26;
/** Circles of notes stand at least this far apart, CSS pixels. */
const NOTE_APART = 18;

/** Warm-ups hatched, holds tinted, rungs faint; with several lanes only a line where a stage begins. */
export function drawBands(plot: uPlot, bands: Band[], palette: Palette): void {
  const { ctx, bbox } = plot;
  const several = bands.some((band) => band.row > 0);
  ctx.save();
  for (const band of bands) {
    const [from, to] = extent(plot, band);
    if (to <= from) continue;
    if (!several) {
      const steady = band.kind === "hold" || band.kind === "ramp";
      ctx.fillStyle = palette(steady ? "band-hold" : "band");
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
      if (band.kind === "warm-up") hatch(plot, [from, to], [bbox.top, bbox.height], palette("band-warm-up"));
    }
    if (to - from < LINE_APART * uPlot.pxRatio) continue;
    ctx.fillStyle = palette(several || band.kind === "ladder" ? "grid" : "line");
    ctx.fillRect(Math.round(from), bbox.top, Math.max(1, uPlot.pxRatio / 2), bbox.height);
  }
  ctx.restore();
}

/** Where each row of bars begins, and below them where the strip ends; CSS pixels. */
function topsOf(rows: StripHeld["rows"]): number[] {
  let below = NOTES_HEIGHT + GROUP_HEIGHT;
  const tops = rows.map(({ label }) => {
    const top = below + (label.length > LEFT_LETTERS ? ROW_HEIGHT : 0);
    below = top + ROW_HEIGHT;
    return top;
  });
  return [...tops, below];
}

export function heightOf({ rows }: StripHeld): number {
  return (topsOf(rows).at(-1) ?? 0) + 2;
}

export function drawStrip(held: StripHeld, view: TimeView): ChartSpec {
  const height = heightOf(held);
  const draw = (palette: Palette, width: number) => ({
    options: {
      padding: [0, 40, 0, AXIS_WIDTH] as uPlot.Padding,
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
      scales: { x: { time: false, range: () => view.span }, y: { range: [0, 1] as [number, number] } },
      axes: [{ show: false }, { show: false }],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        init: [(plot: uPlot) => view.join(plot)],
        destroy: [(plot: uPlot) => view.leave(plot)],
        setSelect: [(plot: uPlot) => zoomTo(plot, view)],
        setCursor: [(plot: uPlot) => pointTo(plot, view)],
        draw: [
          (plot: uPlot) => {
            drawRows(plot, held, view, palette, width);
            nameGroups(plot, view.bands, palette, width);
            drawNotes(plot, held.notes, palette);
            nameRows(plot, held.rows, palette, width);
          },
        ],
      },
    },
    data: [view.whole, [1, 1]] as uPlot.AlignedData,
  });
  return { height, draw };
}

function extent(plot: uPlot, band: { from: number; to: number }): [number, number] {
  const { left, width } = plot.bbox;
  const place = (at: number) => Math.min(left + width, Math.max(left, plot.valToPos(at, "x", true)));
  return [place(band.from), place(band.to)];
}

function hatch(
  plot: uPlot,
  [from, to]: [number, number],
  [top, height]: [number, number],
  colour: string,
): void {
  const { ctx } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, top, to - from, height);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.beginPath();
  for (let x = from - height; x < to; x += 6 * uPlot.pxRatio) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

/** The stages of each lane as bars in its colour, with their load where there is room. */
function drawRows(plot: uPlot, held: StripHeld, view: TimeView, palette: Palette, width: number): void {
  const { ctx } = plot;
  const unit = uPlot.pxRatio;
  const size = width < 500 ? 9.5 : 10.5;
  const tops = topsOf(held.rows).map((top) => plot.bbox.top + top * unit);
  for (const band of view.bands) {
    const [from, to] = extent(plot, band);
    const top = tops[band.row];
    const colour = held.rows[band.row]?.colour;
    if (to <= from || top === undefined) continue;
    const height = (ROW_HEIGHT - 3) * unit;
    ctx.save();
    ctx.globalAlpha = band.kind === "warm-up" ? 0.12 : band.kind === "ladder" ? 0.2 : 0.4;
    ctx.fillStyle = palette(colour ?? "muted");
    ctx.fillRect(from + unit / 2, top, Math.max(unit, to - from - unit), height);
    ctx.restore();
    if (band.kind === "warm-up") hatch(plot, [from, to], [top, height], palette("band-warm-up"));
    const room = (to - from) / unit - 4;
    const label = band.labels.find((text) => text.length * size * 0.56 <= room);
    if (label !== undefined) {
      write(plot, label, (from + to) / 2, top + height / 2 + unit / 2, {
        colour: palette("ink"),
        align: "center",
        size,
      });
    }
  }
}

/** Over the lines of the notes, which would run through a long name. */
function nameRows(plot: uPlot, rows: StripHeld["rows"], palette: Palette, width: number): void {
  const { ctx, bbox } = plot;
  const unit = uPlot.pxRatio;
  const size = width < 500 ? 9.5 : 10.5;
  for (const [index, top] of topsOf(rows).entries()) {
    const { label, colour } = rows[index] ?? { label: "", colour: null };
    const long = label.length > LEFT_LETTERS;
    const middle = bbox.top + (top + (long ? -0.5 : 0.5) * ROW_HEIGHT) * unit;
    if (long) {
      ctx.fillStyle = palette("ground");
      ctx.fillRect(bbox.left, middle - 6 * unit, label.length * size * 0.6 * unit, 12 * unit);
    }
    const x = bbox.left - (long ? 0 : 6 * unit);
    const style = {
      colour: palette(colour ?? "muted"),
      align: long ? "left" : "right",
      size,
      bold: true,
    } as const;
    write(plot, label, x, middle, style);
  }
}

/** Where a series begins, its name; it says more than each of its stages. */
function nameGroups(plot: uPlot, bands: Band[], palette: Palette, width: number): void {
  const unit = uPlot.pxRatio;
  const size = width < 500 ? 11 : 12;
  const y = plot.bbox.top + (NOTES_HEIGHT + GROUP_HEIGHT / 2 - 1) * unit;
  let reached = plot.bbox.left;
  let before: string | null = null;
  for (const band of [...bands].sort((a, b) => a.from - b.from)) {
    const [from, to] = extent(plot, band);
    if (to <= from || band.group === before) continue;
    before = band.group;
    if (from < reached) continue;
    // Beside the line of a note that may stand there.
    write(plot, band.group, from + 4 * unit, y, { colour: palette("ink"), size, bold: true });
    reached = from + band.group.length * size * unit * 0.62;
  }
}

/** Each note on a line at its place; circles that would cover each other move to the side. */
function drawNotes(plot: uPlot, notes: Note[], palette: Palette): void {
  const { ctx, bbox } = plot;
  const unit = uPlot.pxRatio;
  const y = bbox.top + (NOTES_HEIGHT / 2) * unit;
  let before = Number.NEGATIVE_INFINITY;
  for (const note of notes) {
    const x = plot.valToPos(note.at, "x", true);
    if (x < bbox.left - unit || x > bbox.left + bbox.width + unit) continue;
    const circle = Math.max(x, before + NOTE_APART * unit);
    before = circle;
    ctx.save();
    ctx.fillStyle = palette(note.grave ? "bad" : note.colour);
    ctx.strokeStyle = ctx.fillStyle;
    ctx.lineWidth = unit;
    ctx.beginPath();
    ctx.moveTo(circle, y);
    ctx.lineTo(x, y + 9 * unit);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(circle, y, 8 * unit, 0, Math.PI * 2);
    ctx.fill();
    ctx.restore();
    const style = { colour: palette("ground"), align: "center" as const, size: 10.5, bold: true };
    write(plot, String(note.number), circle, y + unit * 0.5, style);
  }
}
