// Everything over time, or over the steps of a ramp: load, latency and what the servers did, on one axis with one
// cursor. The section stays in the page while data arrive, so that no zoom, scroll or focus is lost.

import type { Charts } from "../charts/chart";
import { METRIC_CHARTS, OWN_CHARTS } from "../charts/metrics";
import { panelsOf } from "../charts/panels";
import type { Panel } from "../charts/parts";
import { drawStrip, heightOf, type StripHeld } from "../charts/stages";
import { type Settled, type Span, TimeView } from "../charts/view";
import type { Report } from "../document";
import { el, section } from "../dom";
import { isAbout, type Layout, layoutOf, outerOf, secondsShown } from "../layout";
import { areQuerySets } from "../reading";
import type { Scene } from "../scene";
import type { View } from "../state";
import { Strip } from "./strip";

/** A span is written to the millisecond in the address. */
const AS_WRITTEN_S = 2e-3;
/** A cursor moved by keys is read out when it has stood so long, milliseconds. */
const READ_AFTER_MS = 500;
/** Charts that say nothing of passes over a query set, whose transactions have little in common. */
const OF_TRANSACTIONS = ["throughput", "latency"];
const GROUPS: [Panel["group"], string][] = [
  ["load", "Load"],
  ["host", "The servers' hosts"],
  ["database", "The databases"],
  ["driver", "The driver"],
];

/**
 * Tells the page of a choice; `push` where a reader would go back from it. `drawn` where the section shows it already.
 */
export type Choose = (patch: Partial<View>, how: "push" | "replace", drawn?: boolean) => void;

export class TimeSection {
  readonly element: HTMLElement;
  /** What of each run is shown, when it has changed. */
  onSeconds: (shown: Map<Report, Span>) => void = () => {};
  readonly #charts: Charts;
  readonly #choose: Choose;
  readonly #view = new TimeView([0, 1]);
  readonly #held: StripHeld = { rows: [], notes: [] };
  readonly #strips = new Map<string, Strip>();
  readonly #toolbar = el("div", { class: "toolbar" });
  readonly #wide = el("div", { class: "wide-strips" });
  readonly #grids = new Map(
    GROUPS.map(([group, title]) => [
      group,
      { title: el("h3", { class: "group" }, title), grid: el("div", { class: "grid" }) },
    ]),
  );
  readonly #caption = el("figcaption", {});
  readonly #readout = el("p", { class: "readout", "aria-hidden": "true" });
  readonly #aloud = el("output", { class: "aloud", "aria-live": "polite" });
  #stages: HTMLElement | null = null;
  #layout: Layout | null = null;
  #state: View | null = null;
  #height = 0;
  #ofQueries = false;
  #toolbarForm = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(charts: Charts, choose: Choose) {
    this.#charts = charts;
    this.#choose = choose;
    this.#view.onSpan = (span, how) => this.#spanChanged(span, how);
    this.#view.onCursor = (at, byKey) => this.#cursorMoved(at, byKey);
    const groups = [...this.#grids.values()].flatMap(({ title, grid }) => [title, grid]);
    this.element = section(
      "time",
      "Over time",
      el("figure", { class: "over-time" }, this.#toolbar, this.#wide, ...groups, this.#caption),
      this.#aloud,
    );
    this.element.dataset.own = "time";
  }

  get layout(): Layout | null {
    return this.#layout;
  }

  update(scene: Scene, state: View): void {
    const anything = scene.streams.some(
      ({ timeline }) => (timeline?.load.t_s.length ?? 0) > 0 || (timeline?.metrics.length ?? 0) > 0,
    );
    this.element.hidden = !anything;
    if (!anything) return;
    const layout = layoutOf(scene, state);
    this.#layout = layout;
    this.#state = state;
    this.#ofQueries = areQuerySets(scene.reports);
    const outer = layout.axis === "time" ? outerOf(scene, layout.whole) : layout.whole;
    this.#view.settle(layout.whole, state.span === null ? null : within(state.span, outer));
    this.#view.bands = layout.bands;
    const { panels, missing } = panelsOf(scene, layout, (chart) => this.#isShown(chart));
    this.#place(panels, layout);
    this.#describe(layout, missing);
    this.#fillToolbar(layout, state, panels);
    this.#charts.mount();
    this.#view.redraw();
    this.onSeconds(secondsShown(layout, this.#view.span));
  }

  #place(panels: Panel[], layout: Layout): void {
    this.#held.rows = layout.rows;
    this.#held.notes = layout.notes.map(({ at, grave, colour }, index) => ({
      at,
      grave,
      colour,
      number: index + 1,
    }));
    if (this.#stages === null) {
      this.#stages = this.#charts.place("Stages", drawStrip(this.#held, this.#view), "application");
      this.#stages.setAttribute("aria-roledescription", "chart of the stages");
      this.#stages.setAttribute("aria-describedby", "chart-help");
      this.#view.steer(this.#stages);
      this.#wide.append(this.#stages, this.#readout);
    } else if (this.#height !== heightOf(this.#held)) {
      this.#charts.change(this.#stages, drawStrip(this.#held, this.#view));
    }
    this.#height = heightOf(this.#held);
    const wanted = new Set(panels.map(({ id }) => id));
    for (const [id, strip] of this.#strips) {
      if (wanted.has(id)) continue;
      strip.remove();
      this.#strips.delete(id);
    }
    const places = new Map<HTMLElement, HTMLElement[]>();
    for (const panel of panels) {
      const before = this.#strips.get(panel.id);
      const strip = before ?? new Strip(panel, layout.abscissa, this.#view, this.#charts);
      if (before === undefined) this.#strips.set(panel.id, strip);
      else before.update(panel, layout.abscissa);
      const parent = panel.wide ? this.#wide : (this.#grids.get(panel.group)?.grid ?? this.#wide);
      places.set(parent, [...(places.get(parent) ?? []), strip.element]);
    }
    for (const [parent, elements] of places) arrange(parent, elements, parent === this.#wide ? 2 : 0);
    for (const { title, grid } of this.#grids.values()) {
      title.hidden = grid.childElementCount === 0;
      grid.hidden = grid.childElementCount === 0;
    }
  }

  #describe(layout: Layout, missing: string[]): void {
    const title = this.element.querySelector("h2");
    if (title !== null) title.textContent = layout.axis === "step" ? "Over the steps" : "Over time";
    const notes = layout.notes.map((note, index) =>
      el(
        "li",
        { value: index + 1, class: note.grave ? "grave" : undefined },
        el("b", {}, note.title),
        ` (${layout.where(note.at, false)}). `,
        note.text,
      ),
    );
    const stripes =
      layout.axis === "step" ? "" : "Hatched: warm-up, left out of every figure. Strong: hold. ";
    this.#caption.replaceChildren(
      ...(notes.length > 0 ? [el("ol", { class: "notes", "aria-label": "Notes on the axis" }, notes)] : []),
      el(
        "p",
        { id: "chart-help" },
        `${stripes}Drag to look closer; double-click or Esc shows the whole. At a chart, + and − and the wheel zoom, arrow keys move the span, Shift and arrow keys the cursor.`,
      ),
      ...(missing.length > 0
        ? [el("p", { class: "missing" }, `Unknown, since not measured: ${missing.join("; ")}.`)]
        : []),
    );
  }

  #fillToolbar(layout: Layout, state: View, panels: Panel[]): void {
    const form = JSON.stringify([
      layout.axes,
      layout.axis,
      layout.choices,
      layout.series,
      layout.spans.map(({ label }) => label),
      state.more,
      state.less,
      panels.map(({ chart }) => chart),
    ]);
    if (form !== this.#toolbarForm) {
      this.#toolbarForm = form;
      const open = this.#toolbar.querySelector("details")?.open ?? false;
      const focused = document.activeElement?.getAttribute("data-focus");
      this.#toolbar.replaceChildren(...this.#choices(layout), this.#zoomButtons(), this.#chooser(panels));
      const chooser = this.#toolbar.querySelector("details");
      if (chooser !== null) chooser.open = open;
      if (focused != null)
        this.#toolbar.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
    }
    this.#press();
  }

  #choices(layout: Layout): HTMLElement[] {
    const group = (label: string, buttons: HTMLElement[]) =>
      buttons.length > 0 ? [el("div", { class: "spans", role: "group", "aria-label": label }, buttons)] : [];
    const axes = layout.axes.map(({ kind, label }) =>
      this.#button(label, `axis-${kind}`, kind === layout.axis, () =>
        this.#choose({ axis: kind, span: null }, "push"),
      ),
    );
    const series = layout.choices.map((name) =>
      this.#button(name, `series-${name}`, name === layout.series, () =>
        this.#choose({ series: name, span: null }, "push"),
      ),
    );
    const spans = layout.spans.map(({ label }, index) => {
      const button = this.#button(label, `span-${label}`, false, () => {
        const span = this.#layout?.spans[index]?.span;
        if (span !== undefined) this.#showSpan(span);
      });
      button.dataset.span = String(index);
      return button;
    });
    return [
      ...group("Axis", axes.length > 1 ? axes : []),
      ...group("Series", series.length > 1 ? series : []),
      ...group("Span that is shown", spans),
    ];
  }

  #showSpan(span: Span): void {
    const whole = this.#view.whole;
    if (span[0] >= whole[0] && span[1] <= whole[1]) this.#view.show(span, "settled");
    else this.#choose({ span }, "push");
  }

  #zoomButtons(): HTMLElement {
    const act = (label: string, words: string, run: () => void) => {
      const button = this.#button(label, `zoom-${label}`, null, run);
      button.setAttribute("aria-label", words);
      return button;
    };
    return el(
      "div",
      { class: "spans", role: "group", "aria-label": "Zoom" },
      act("−", "Zoom out", () => this.#view.zoom(2)),
      act("+", "Zoom in", () => this.#view.zoom(0.5)),
    );
  }

  #button(label: string, focus: string, pressed: boolean | null, run: () => void): HTMLButtonElement {
    const button = el(
      "button",
      {
        type: "button",
        "data-focus": focus,
        ...(pressed === null ? {} : { "aria-pressed": String(pressed) }),
      },
      label,
    );
    button.addEventListener("click", run);
    return button;
  }

  /** Which charts there are, each to be turned on or off. */
  #chooser(panels: Panel[]): HTMLElement {
    const drawn = new Set(panels.map(({ chart }) => chart));
    const boxes = [...OWN_CHARTS, ...METRIC_CHARTS].map((chart) => {
      const box = el("input", {
        type: "checkbox",
        "data-focus": `chart-${chart.id}`,
        checked: this.#isShown(chart.id),
      });
      box.addEventListener("change", () => this.#toggleChart(chart.id, box.checked));
      const nothing = this.#isShown(chart.id) && !drawn.has(chart.id);
      return el(
        "label",
        { class: nothing ? "unknown" : undefined },
        box,
        chart.title,
        nothing && (chart.id === "failed" ? " (none)" : " (nothing known)"),
      );
    });
    return el(
      "details",
      { class: "chooser" },
      el("summary", {}, "charts"),
      el("div", { class: "boxes" }, boxes),
    );
  }

  #isShown(chart: string): boolean {
    const chosen = this.#isUsual(chart) ? this.#state?.less : this.#state?.more;
    return this.#isUsual(chart) !== (chosen?.includes(chart) ?? false);
  }

  #isUsual(chart: string): boolean {
    if (this.#ofQueries && OF_TRANSACTIONS.includes(chart)) return false;
    return [...OWN_CHARTS, ...METRIC_CHARTS].find(({ id }) => id === chart)?.usual ?? true;
  }

  #toggleChart(id: string, on: boolean): void {
    const usual = this.#isUsual(id);
    const { more, less } = this.#state ?? { more: [], less: [] };
    const without = (list: string[]) => list.filter((other) => other !== id);
    this.#choose(
      {
        more: on && !usual ? [...without(more), id] : without(more),
        less: !on && usual ? [...without(less), id] : without(less),
      },
      "push",
    );
  }

  #spanChanged(span: Span, how: Settled): void {
    this.#choose({ span: this.#view.isWhole ? null : span }, how === "settled" ? "push" : "replace", true);
    this.#press();
    for (const strip of this.#strips.values()) strip.spanChanged();
    if (this.#layout !== null) this.onSeconds(secondsShown(this.#layout, span));
  }

  #press(): void {
    for (const button of this.#toolbar.querySelectorAll<HTMLElement>("[data-span]")) {
      const span = this.#layout?.spans[Number(button.dataset.span)]?.span;
      const isShown = span !== undefined && isAbout(span, this.#view.span, AS_WRITTEN_S);
      button.setAttribute("aria-pressed", String(isShown));
    }
  }

  #cursorMoved(at: number | null, byKey: boolean): void {
    for (const strip of this.#strips.values()) strip.point(at);
    const layout = this.#layout;
    if (layout === null) return;
    const bands = at === null ? [] : this.#view.bandsAt(at).slice(0, 3);
    const place = at === null ? "" : layout.where(at, true);
    this.#readout.textContent =
      at === null
        ? ""
        : layout.axis === "step"
          ? `${layout.series} · ${place}`
          : [place, ...bands.map(({ words }) => words)].join(" · ");
    clearTimeout(this.#timer);
    if (!byKey || at === null) return;
    this.#timer = setTimeout(() => {
      const values = [...this.#strips.values()].slice(0, 2).map((strip) => strip.words(at));
      this.#aloud.textContent = [place, ...values].filter((part) => part !== "").join(". ");
    }, READ_AFTER_MS);
  }
}

/** A span as far as there is anything; all of it may lie before or behind the stages. */
function within([from, to]: Span, [least, most]: Span): Span | null {
  const span: Span = [Math.max(from, least), Math.min(to, most)];
  return span[1] > span[0] ? span : null;
}

/** Puts elements in order behind the first `skip` children, moving only those that stand elsewhere. */
function arrange(parent: HTMLElement, elements: HTMLElement[], skip: number): void {
  for (const [index, element] of elements.entries()) {
    const there = parent.children[index + skip];
    if (there !== element) parent.insertBefore(element, there ?? null);
  }
}
