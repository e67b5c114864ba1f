// What the charts over time share: the span that is shown, the cursor, the bands of the stages, and the ways to move
// about: by pointer, wheel and keyboard.

import type uPlot from "uplot";
import type { StageKind } from "../document";

export type Span = [number, number];

/** Of the axis on the left of every chart over time, so that all of them stand over each other; CSS pixels. */
export const AXIS_WIDTH = 62;

/** A stage, or a step of the axis, from where to where on the axis. */
export interface Band {
  from: number;
  to: number;
  kind: StageKind;
  /** Row of the strip above the charts: a lane's place among those that are shown. */
  row: number;
  /** Texts for it, the fullest first. */
  labels: string[];
  /** Heads a group of bands. */
  group: string;
  /** Where the cursor is, in words. */
  words: string;
}

/** How far a change of the span has got: `flowing` while keys or the wheel move it. */
export type Settled = "flowing" | "settled";

export class TimeView {
  whole: Span;
  span: Span;
  bands: Band[] = [];
  cursor: number | null = null;
  onSpan: (span: Span, how: Settled) => void = () => {};
  /** Told of every move of the cursor; `byKey` where a reader without a pointer moved it. */
  onCursor: (at: number | null, byKey: boolean) => void = () => {};
  readonly #plots = new Set<uPlot>();

  constructor(whole: Span) {
    this.whole = whole;
    this.span = whole;
  }

  get isWhole(): boolean {
    return this.span[0] === this.whole[0] && this.span[1] === this.whole[1];
  }

  /** Shows a span, kept within the whole and above what has any sense. */
  show([from, to]: Span, how: Settled): void {
    const [least, most] = this.whole;
    const width = Math.min(most - least, Math.max(to - from, (most - least) / 20_000, 1e-3));
    const start = Math.min(most - width, Math.max(least, from));
    this.span = width >= most - least ? this.whole : [start, start + width];
    this.redraw();
    this.onSpan(this.span, how);
  }

  /** Lets a chosen span follow new data, or the whole grow with it; tells nobody. */
  settle(whole: Span, chosen: Span | null): void {
    this.whole = whole;
    const within = chosen !== null && chosen[1] > whole[0] && chosen[0] < whole[1];
    this.span = within ? chosen : whole;
  }

  redraw(): void {
    const [min, max] = this.span;
    for (const plot of this.#plots) {
      plot.batch(() => {
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        plot.setScale("x", { min, max });
      });
    }
  }

  join(plot: uPlot): void {
    this.#plots.add(plot);
  }

  leave(plot: uPlot): void {
    this.#plots.delete(plot);
  }

  /** Moves the cursor of all charts; `from` is the one whose cursor stands there already. */
  point(at: number | null, from: uPlot | null, byKey = false): void {
    this.cursor = at;
    for (const plot of this.#plots) {
      if (plot === from) continue;
      const left = at === null ? -10 : plot.valToPos(at, "x");
      plot.setCursor({ left, top: at === null ? -10 : plot.over.clientHeight / 2 }, false);
    }
    this.onCursor(at, byKey);
  }

  pan(share: number): void {
    const by = (this.span[1] - this.span[0]) * share;
    this.show([this.span[0] + by, this.span[1] + by], "flowing");
  }

  /** Shows `factor` of the span, about the cursor or the middle. */
  zoom(factor: number, about = this.cursor ?? (this.span[0] + this.span[1]) / 2): void {
    const [from, to] = this.span;
    this.show([about - (about - from) * factor, about + (to - about) * factor], "flowing");
  }

  bandsAt(at: number): Band[] {
    return this.bands.filter((band) => at >= band.from && at <= band.to);
  }

  /** Keys, wheel and double click on a chart's place. */
  steer(place: HTMLElement): void {
    place.addEventListener("keydown", (event) => this.#key(event));
    place.addEventListener("dblclick", () => this.show(this.whole, "settled"));
    place.addEventListener("wheel", (event) => this.#wheel(event, place), { passive: false });
    place.addEventListener("blur", () => this.point(null, null));
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (forward !== 0 && event.shiftKey) this.#step(forward);
    else if (forward !== 0) this.pan(forward * 0.2);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "Escape") this.show(this.whole, "settled");
    else return;
    event.preventDefault();
  }

  /** A hundredth of what is shown to the side. */
  #step(forward: number): void {
    const [from, to] = this.span;
    const at = (this.cursor ?? (forward > 0 ? from : to)) + (forward * (to - from)) / 100;
    this.point(Math.min(to, Math.max(from, at)), null, true);
  }

  // A wheel over a chart scrolls the page, as everywhere, unless the reader is at the chart.
  #wheel(event: WheelEvent, place: HTMLElement): void {
    if (!(event.ctrlKey || event.shiftKey || document.activeElement === place)) return;
    event.preventDefault();
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) this.pan(Math.sign(event.deltaX) * 0.06);
    else this.zoom(event.deltaY > 0 ? 1.25 : 0.8);
  }
}

/** What was dragged over in a chart is shown by all. */
export function zoomTo(plot: uPlot, view: TimeView): void {
  const { left, width } = plot.select;
  if (width < 6) return;
  view.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")], "settled");
}

/** The pointer in a chart moves the cursor of all. */
export function pointTo(plot: uPlot, view: TimeView): void {
  const left = plot.cursor.left ?? -1;
  const at = left < 0 ? null : plot.posToVal(left, "x");
  if (at !== view.cursor) view.point(at, plot);
}
