// What all charts share: their place in the page, size, colours and axes. A chart is described by a function of the
// palette, so that it can be drawn again in another theme or width.

import uPlot from "uplot";
import { el } from "../dom";
import type { Mark } from "../scene";
import { type Colour, type Palette, readPalette } from "../theme";
import { signOf } from "./marks";

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
  readonly #charts = new Map<HTMLElement, Mounted>();
  readonly #observer = new ResizeObserver((entries) => {
    for (const entry of entries) this.#resize(entry.target);
  });

  /** A place for a chart, drawn once it stands in the document. `label` says in words what it shows. */
  place(label: string, spec: ChartSpec, role = "img"): HTMLElement {
    const place = el("div", { class: "plot", role, "aria-label": label, tabindex: 0 });
    this.#charts.set(place, { place, spec, plot: null });
    place.style.height = `${spec.height}px`;
    this.#observer.observe(place);
    return place;
  }

  /** Draws another chart in a place. */
  change(place: HTMLElement, spec: ChartSpec): void {
    const chart = this.#charts.get(place);
    if (chart === undefined) return;
    chart.spec = spec;
    place.style.height = `${spec.height}px`;
    if (chart.plot !== null) drawChart(chart, readPalette(document.body));
  }

  remove(place: HTMLElement): void {
    this.#observer.unobserve(place);
    this.#charts.get(place)?.plot?.destroy();
    this.#charts.delete(place);
  }

  /** Draws what is not drawn yet; the places must stand in the document. */
  mount(): void {
    const palette = readPalette(document.body);
    for (const chart of this.#charts.values()) if (chart.plot === null) drawChart(chart, palette);
  }

  /** Draws everything anew: the colours may have changed. */
  redraw(): void {
    const palette = readPalette(document.body);
    for (const chart of this.#charts.values()) drawChart(chart, palette);
  }

  plotIn(place: HTMLElement): uPlot | null {
    return this.#charts.get(place)?.plot ?? null;
  }

  destroy(): void {
    this.#observer.disconnect();
    for (const chart of this.#charts.values()) chart.plot?.destroy();
    this.#charts.clear();
  }

  #resize(place: Element): void {
    const chart = this.#charts.get(place as HTMLElement);
    if (chart === undefined || !place.isConnected || chart.plot?.width === widthOf(chart.place)) return;
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

/** One curve of a chart: its name, its look, and how its values read. */
export interface Curve {
  label: string;
  colour: Colour;
  dash?: number[];
  mark?: Mark;
  width?: number;
  /** Opacity of the area under it, 0 to 1. */
  fill?: number;
  /** Of an area in a stack: how much of the colour there is, the rest being ground. */
  tint?: number;
  format: (value: number) => string;
}

type Percentile = "p50" | "p95" | "p99" | "p99.9" | "max";

/** How percentiles of one load are told apart. */
export const PERCENTILES: Record<Percentile, Pick<Curve, "colour" | "dash" | "mark">> = {
  p50: { colour: "latency-1", mark: "circle" },
  p95: { colour: "latency-2", mark: "square" },
  p99: { colour: "latency-3", dash: [7, 3], mark: "triangle" },
  "p99.9": { colour: "latency-4", dash: [2, 2], mark: "diamond" },
  max: { colour: "latency-4", dash: [2, 2], mark: "diamond" },
};

/** Names of curves with the values under the cursor. */
export class Key {
  readonly element = el("span", { class: "key" });
  readonly #values: HTMLElement[] = [];

  constructor(curves: Curve[]) {
    for (const curve of curves) {
      const value = el("b", {});
      this.#values.push(value);
      // A curve alone needs no sign.
      this.element.append(
        el("span", { class: "entry" }, curve.label !== "" && signOf(curve), curve.label, value),
      );
    }
  }

  show(texts: (string | null)[]): void {
    for (const [index, value] of this.#values.entries()) {
      const text = texts[index] ?? "";
      if (value.textContent !== text) value.textContent = text;
    }
  }
}

/** A resolved colour `rgb(r, g, b)` with an opacity. */
export function faded(colour: string, opacity: number): string {
  return colour.replace(/^rgb\(([^)]+)\)$/, `rgba($1, ${opacity})`);
}

/** A colour with so much of it left, on a ground that does not show through. */
export function tinted(colour: string, ground: string, left: number): string {
  const parts = (text: string) => (text.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  const [own, under] = [parts(colour), parts(ground)];
  return `rgb(${own.map((part, index) => Math.round(part * left + (under[index] ?? 0) * (1 - left))).join(", ")})`;
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
