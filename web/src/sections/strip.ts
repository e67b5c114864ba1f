// One chart over time in the page: its heading, its legend with the values at the cursor, the chart, and its figures
// as a table for those who ask. It stays in the page while its data change.

import type { Charts, Key } from "../charts/chart";
import { type Abscissa, drawPanel, type Held, keyOf, valuesAt } from "../charts/panel";
import type { Panel, TimeCurve } from "../charts/parts";
import { extentOf, rowAt } from "../charts/trace";
import type { Span, TimeView } from "../charts/view";
import { type Child, el, table } from "../dom";

const ROWS_MAX = 60;

export class Strip {
  readonly element: HTMLElement;
  readonly #charts: Charts;
  readonly #view: TimeView;
  readonly #held: Held;
  readonly #place: HTMLElement;
  readonly #title = el("h3", {});
  readonly #unit = el("span", { class: "axis-unit" });
  readonly #unknown = el("span", { class: "lacking" });
  readonly #figures = el("div", { class: "chart-figures" });
  readonly #button: HTMLButtonElement;
  #key: Key;
  #form: string;

  constructor(panel: Panel, abscissa: Abscissa, view: TimeView, charts: Charts) {
    this.#charts = charts;
    this.#view = view;
    this.#held = { panel, abscissa };
    this.#form = formOf(panel, abscissa);
    this.#key = keyOf(panel);
    this.#place = charts.place(panel.title, drawPanel(this.#held, view), "application");
    this.#place.setAttribute("aria-roledescription", "chart");
    this.#place.setAttribute("aria-describedby", "chart-help");
    view.steer(this.#place);
    this.#button = el(
      "button",
      { type: "button", class: "as-table", "aria-expanded": "false", title: "this chart in figures" },
      "figures",
    );
    this.#button.addEventListener("click", () => this.#toggleFigures());
    const head = el(
      "div",
      { class: "chart-head" },
      this.#title,
      this.#unit,
      this.#unknown,
      this.#button,
      this.#key.element,
    );
    this.element = el("div", { class: "strip", "data-chart": panel.id }, head, this.#place, this.#figures);
    this.#label();
  }

  /** Takes a newer version of the same chart; it is drawn when the view next is. */
  update(panel: Panel, abscissa: Abscissa): void {
    const form = formOf(panel, abscissa);
    this.#held.panel = panel;
    this.#held.abscissa = abscissa;
    if (form !== this.#form) {
      this.#form = form;
      const key = keyOf(panel);
      this.#key.element.replaceWith(key.element);
      this.#key = key;
      this.#charts.change(this.#place, drawPanel(this.#held, this.#view));
    }
    this.#label();
    this.point(this.#view.cursor);
    if (this.#button.getAttribute("aria-expanded") === "true") this.#fillFigures();
  }

  point(at: number | null): void {
    this.#key.show(valuesAt(this.#held.panel, at, this.#view));
  }

  /** The values at the cursor in words. */
  words(at: number): string {
    const { panel } = this.#held;
    const values = valuesAt(panel, at, this.#view);
    const parts = panel.curves.flatMap(({ label }, index) =>
      values[index] == null ? [] : [`${label} ${values[index]}`.trim()],
    );
    return parts.length === 0 ? "" : `${panel.title}: ${parts.join(", ")}`;
  }

  spanChanged(): void {
    if (this.#button.getAttribute("aria-expanded") === "true") this.#fillFigures();
  }

  remove(): void {
    this.#charts.remove(this.#place);
    this.element.remove();
  }

  #label(): void {
    const { panel } = this.#held;
    this.#title.textContent = panel.title;
    this.#unit.textContent = panel.unit;
    this.#unknown.textContent = panel.unknown.join(" · ");
    this.element.classList.toggle("wide", panel.wide);
    const curves = panel.curves.map(({ label }) => label).filter((label) => label !== "");
    this.#place.setAttribute(
      "aria-label",
      `${panel.title}, ${panel.unit}${curves.length > 0 ? `: ${curves.join(", ")}` : ""}`,
    );
  }

  #toggleFigures(): void {
    const open = this.#button.getAttribute("aria-expanded") !== "true";
    this.#button.setAttribute("aria-expanded", String(open));
    if (open) this.#fillFigures();
    else this.#figures.replaceChildren();
  }

  #fillFigures(): void {
    this.#figures.replaceChildren(figuresOf(this.#held, this.#view.span));
  }
}

/** What a chart is drawn with beside its points: where it differs, it is set up anew. */
function formOf(panel: Panel, abscissa: Abscissa): string {
  const curves = panel.curves.map(({ label, colour, side, tint, format }) => [
    label,
    colour,
    side,
    tint,
    format.name,
  ]);
  return JSON.stringify([
    panel.axis,
    panel.height,
    panel.wide,
    panel.stacked,
    curves,
    abscissa.splits === null,
  ]);
}

/** Means, or the highest of percentiles, over equal parts of what is shown. */
function figuresOf({ panel, abscissa }: Held, [from, to]: Span): HTMLElement {
  const parts = Math.min(ROWS_MAX, abscissa.splits === null ? ROWS_MAX : Math.max(1, Math.round(to - from)));
  const rows: { cells: Child[] }[] = [];
  for (let part = 0; part < parts; part += 1) {
    const span: Span = [from + ((to - from) * part) / parts, from + ((to - from) * (part + 1)) / parts];
    const values = panel.curves.map((curve) =>
      panel.axis === "log" ? highest(curve, span) : mean(curve, span),
    );
    if (values.every((value) => value === null)) continue;
    rows.push({
      cells: [
        abscissa.write(span[0]),
        ...values.map((value, index) => (value === null ? "" : (panel.curves[index]?.format(value) ?? ""))),
      ],
    });
  }
  const what = panel.axis === "log" ? "highest interval" : "mean";
  return table(
    `${panel.title}, ${panel.unit}: ${what} of each part of what is shown`,
    [
      { label: "from" },
      ...panel.curves.map(({ label }) => ({
        label: `${label === "" ? panel.title : label}, ${what}`,
        figures: true,
      })),
    ],
    rows,
  );
}

function highest(curve: TimeCurve, span: Span): number | null {
  return extentOf(curve.x, curve.values, span)?.[1] ?? null;
}

function mean(curve: TimeCurve, [from, to]: Span): number | null {
  let [n, sum] = [0, 0];
  for (let row = rowAt(curve.x, from); row < curve.x.length && (curve.x[row] ?? to) < to; row += 1) {
    const value = curve.values[row] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    n += 1;
    sum += value;
  }
  return n === 0 ? null : sum / n;
}
