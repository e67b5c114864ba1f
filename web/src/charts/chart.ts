// What all charts share: their place in the page, size, colours and keyboard. A chart is described by a
// function of the palette, so that it can be drawn again in another theme or width.

import uPlot from "uplot";
import { el } from "../dom";
import { type Colour, type Palette, readPalette } from "../theme";
import { isolated } from "./scale";

/** What uPlot needs for a chart, but for its size. */
export interface Drawing {
  options: Omit<uPlot.Options, "width" | "height">;
  data: uPlot.AlignedData;
}

export interface ChartSpec {
  height: number;
  draw: (palette: Palette, width: number) => Drawing;
}

interface Mounted {
  place: HTMLElement;
  spec: ChartSpec;
  plot: uPlot | null;
}

/** The charts of a page: mounted once they stand in the document, redrawn together. */
export class Charts {
  readonly #charts: Mounted[] = [];
  readonly #observer = new ResizeObserver((entries) => {
    for (const entry of entries) this.#resize(entry.target);
  });

  /** A place for a chart; it is drawn by `mount`. `label` says in words what it shows. */
  place(label: string, spec: ChartSpec): HTMLElement {
    const place = el("div", { class: "plot", role: "img", "aria-label": label, tabindex: 0 });
    place.style.height = `${spec.height}px`;
    const chart: Mounted = { place, spec, plot: null };
    place.addEventListener("keydown", (event) => moveCursor(chart.plot, event));
    place.addEventListener("blur", () => chart.plot?.setCursor({ left: -10, top: -10 }));
    this.#charts.push(chart);
    return place;
  }

  mount(): void {
    this.redraw();
    for (const chart of this.#charts) this.#observer.observe(chart.place);
  }

  /** Draws everything anew: colours or width may have changed. */
  redraw(): void {
    const palette = readPalette(document.body);
    for (const chart of this.#charts) drawChart(chart, palette);
  }

  destroy(): void {
    this.#observer.disconnect();
    for (const chart of this.#charts) chart.plot?.destroy();
    this.#charts.length = 0;
  }

  #resize(place: Element): void {
    const chart = this.#charts.find((candidate) => candidate.place === place);
    if (chart === undefined || chart.plot?.width === widthOf(chart.place)) return;
    drawChart(chart, readPalette(document.body));
  }
}

function widthOf(place: HTMLElement): number {
  return Math.max(120, Math.floor(place.clientWidth));
}

function drawChart(chart: Mounted, palette: Palette): void {
  chart.plot?.destroy();
  const width = widthOf(chart.place);
  const { options, data } = chart.spec.draw(palette, width);
  const height = chart.spec.height;
  chart.plot = new uPlot({ ...options, width, height, legend: { show: false } }, data, chart.place);
}

/** Arrow keys walk along the points. */
function moveCursor(plot: uPlot | null, event: KeyboardEvent): void {
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  const step = steps[event.key];
  const x = plot?.data[0];
  if (plot === null || step === undefined || x === undefined || x.length === 0) return;
  event.preventDefault();
  const from = plot.cursor.idx ?? (step > 0 ? -1 : x.length);
  const to = Math.min(x.length - 1, Math.max(0, from + step));
  plot.setCursor({ left: plot.valToPos(x[to] ?? 0, "x"), top: plot.over.clientHeight / 2 });
}

/** One curve of a chart: its name, its look, and how its values read. */
export interface Curve {
  label: string;
  colour: Colour;
  dash?: number[];
  width?: number;
  /** Opacity of the area under it, 0 to 1. */
  fill?: number;
  format: (value: number) => string;
}

/** Names of curves with the values under the cursor. */
export class Key {
  readonly element = el("span", { class: "key" });
  readonly #values: HTMLElement[] = [];

  constructor(curves: Curve[]) {
    for (const curve of curves) {
      const sign = el("i", {
        class: curve.dash === undefined ? "sign" : "sign dashed",
        "aria-hidden": "true",
      });
      sign.style.color = `var(--${curve.colour})`;
      if (curve.fill !== undefined && curve.fill > 0.5) sign.classList.add("area");
      const value = el("b", {});
      this.#values.push(value);
      this.element.append(el("span", { class: "entry" }, sign, curve.label, value));
    }
  }

  show(texts: (string | null)[]): void {
    for (const [index, value] of this.#values.entries()) value.textContent = texts[index] ?? "";
  }
}

/** uPlot's series for a curve: points only where a line could not show them. */
export function seriesOf(curve: Curve, palette: Palette, extra: Partial<uPlot.Series> = {}): uPlot.Series {
  const stroke = palette(curve.colour);
  return {
    label: curve.label,
    stroke,
    paths: segments,
    width: curve.width ?? 1.5,
    ...(curve.dash === undefined ? {} : { dash: curve.dash }),
    ...(curve.fill === undefined ? {} : { fill: faded(stroke, curve.fill) }),
    points: {
      show: true,
      size: 4,
      width: 1,
      stroke,
      fill: stroke,
      filter: (plot, index) => isolated((plot.data[index] ?? []) as (number | null)[]),
    },
    ...extra,
  };
}

/**
 * Lines from point to point that end where a value is unknown. uPlot's own would draw across and clip, and the
 * clip leaves slivers of a line that was never measured.
 */
function segments(plot: uPlot, index: number, from: number, to: number): uPlot.Series.Paths {
  const [x = [], y = []] = [plot.data[0], plot.data[index] as (number | null)[] | undefined];
  const scale = plot.series[index]?.scale ?? "y";
  const floor = plot.valToPos(plot.scales[scale]?.min ?? 0, scale, true);
  const stroke = new Path2D();
  const fill = new Path2D();
  let last: number | null = null;
  for (let row = from; row <= to; row += 1) {
    const value = y[row];
    const left = plot.valToPos(x[row] ?? 0, "x", true);
    if (value == null) {
      if (last !== null) fill.lineTo(last, floor);
      last = null;
      continue;
    }
    const top = plot.valToPos(value, scale, true);
    if (last === null) {
      stroke.moveTo(left, top);
      fill.moveTo(left, floor);
    }
    stroke.lineTo(left, top);
    fill.lineTo(left, top);
    last = left;
  }
  if (last !== null) fill.lineTo(last, floor);
  return { stroke, fill };
}

/** A resolved colour `rgb(r, g, b)` with an opacity. */
export function faded(colour: string, opacity: number): string {
  return colour.replace(/^rgb\(([^)]+)\)$/, `rgba($1, ${opacity})`);
}

/** The font of axis labels and marks, as the page has it. */
export function axisFont(size = 11): string {
  return `${size}px "Helvetica Neue", Helvetica, Arial, sans-serif`;
}

/** An axis in the page's manner: hairlines, no frame. */
export function axis(palette: Palette, options: uPlot.Axis): uPlot.Axis {
  return {
    stroke: palette("muted"),
    font: axisFont(),
    gap: 6,
    grid: { stroke: palette("grid"), width: 1 },
    ticks: { show: false },
    border: { show: false },
    ...options,
  };
}

/** A word on a canvas, in CSS pixels whatever the screen's density. */
export function write(
  plot: uPlot,
  text: string,
  x: number,
  y: number,
  style: { colour: string; align?: CanvasTextAlign; size?: number; bold?: boolean },
): void {
  const { ctx } = plot;
  ctx.save();
  ctx.font = `${style.bold ? "600 " : ""}${axisFont((style.size ?? 11) * uPlot.pxRatio)}`;
  ctx.fillStyle = style.colour;
  ctx.textAlign = style.align ?? "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x, y);
  ctx.restore();
}
