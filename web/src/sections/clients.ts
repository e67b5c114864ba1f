// Throughput and latency against clients or the rate, a pair of charts for each series that climbed a ladder; with
// several targets all of them in one pair.

import type { Charts } from "../charts/chart";
import {
  type ClientsChart,
  intervalOf,
  isHeld,
  type Ladder,
  latencyAgainstLoad,
  shadedOf,
  throughputAgainstLoad,
} from "../charts/clients";
import type { Peak, StageResult } from "../document";
import { el, section } from "../dom";
import { counted, latency, long, short } from "../format";
import { askedText, holdOf, ladderOf, latencyName, latencyOf, stepOf } from "../reading";
import { drawnAs, type Lane, type Scene, seriesNames, seriesOfLane } from "../scene";
import type { View } from "../state";

interface Placed {
  id: string;
  form: string;
  place: HTMLElement;
  figure: HTMLElement;
}

export class ClientsSection {
  readonly element = section("clients", "Against clients");
  readonly #charts: Charts;
  readonly #pairs = el("div", { class: "pairs" });
  #placed: Placed[] = [];

  constructor(charts: Charts) {
    this.#charts = charts;
    this.element.append(this.#pairs);
    this.element.dataset.own = "clients";
  }

  update(scene: Scene, view: View): void {
    const wanted = seriesNames(scene).flatMap((name) => {
      const ladders = laddersOf(scene, view, name);
      return ladders.length === 0 ? [] : pairOf(scene, name, ladders);
    });
    this.element.hidden = wanted.length === 0;
    const open = scene.reports.some((report) =>
      report.stages.some((stage) => stage.kind === "ladder" && stage.arrival === "open"),
    );
    const title = this.element.querySelector("h2");
    if (title !== null) title.textContent = open ? "Against the rate" : "Against clients";
    // A rung that has ended changes little: what is drawn already stays, and is drawn anew only where it differs.
    const kept = new Map(this.#placed.map((placed) => [placed.id, placed]));
    this.#placed = wanted.map((figure) => this.#place(figure, kept.get(figure.id)));
    for (const placed of kept.values()) {
      if (!this.#placed.includes(placed)) this.#remove(placed);
    }
    for (const [index, { figure }] of this.#placed.entries()) {
      const there = this.#pairs.children[index];
      if (there !== figure) this.#pairs.insertBefore(figure, there ?? null);
    }
    this.#charts.mount();
  }

  #place(figure: Figure, before: Placed | undefined): Placed {
    if (before !== undefined && before.form === figure.form) return before;
    const { title, unit, words } = figure;
    const place = this.#charts.place(`${title}. ${words}`, figure.chart.spec, "application");
    place.setAttribute("aria-roledescription", "chart");
    place.addEventListener("keydown", (event) => this.#key(place, event));
    place.addEventListener("blur", () => this.#charts.plotIn(place)?.setCursor({ left: -10, top: -10 }));
    const head = el(
      "div",
      { class: "chart-head" },
      el("h3", {}, title),
      el("span", { class: "axis-unit" }, unit),
      figure.chart.key.element,
    );
    return {
      id: figure.id,
      form: figure.form,
      place,
      figure: el("figure", {}, head, place, el("figcaption", {}, words)),
    };
  }

  #remove(placed: Placed): void {
    this.#charts.remove(placed.place);
    placed.figure.remove();
  }

  /** Arrow keys walk along the rungs. */
  #key(place: HTMLElement, event: KeyboardEvent): void {
    const plot = this.#charts.plotIn(place);
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    const step = steps[event.key];
    const x = plot?.data[0];
    if (plot === null || step === undefined || x === undefined || x.length === 0) return;
    event.preventDefault();
    const inside = (plot.cursor.left ?? -1) >= 0;
    const from = (inside ? plot.cursor.idx : null) ?? (step > 0 ? -1 : x.length);
    const to = Math.min(x.length - 1, Math.max(0, from + step));
    plot.setCursor({ left: plot.valToPos(x[to] ?? 0, "x"), top: plot.over.clientHeight / 2 });
  }
}

interface Figure {
  id: string;
  /** Changes where the figure does. */
  form: string;
  title: string;
  unit: string;
  words: string;
  chart: ClientsChart;
}

function laddersOf(scene: Scene, view: View, name: string): Ladder[] {
  const several = scene.lanes.length > 1;
  return scene.lanes.flatMap((lane): Ladder[] => {
    const series = seriesOfLane(lane, name);
    if (series === undefined) return [];
    const { key, colour, dash, mark } = drawnAs(scene, lane, series);
    if (view.hidden.includes(key)) return [];
    const rungs = ladderOf(lane.report, series).filter((rung) => rung.throughput !== null);
    if (rungs.length === 0) return [];
    const { saturation } = series;
    const peak = series.peak?.rate_met === true ? null : series.peak;
    return [
      {
        label: several ? lane.label : "",
        colour,
        dash,
        mark,
        rungs,
        hold: holdOf(lane.report, series),
        stepOf: (stage) => stepOf(lane.report, stage),
        peak,
        saturation,
      },
    ];
  });
}

function pairOf(scene: Scene, name: string, ladders: Ladder[]): Figure[] {
  const form = JSON.stringify(
    ladders.map((ladder) => ({
      ...ladder,
      rungs: ladder.rungs.map((rung) => [
        rung.id,
        rung.throughput?.mean,
        rung.complete,
        ladder.stepOf(rung).id,
      ]),
    })),
  );
  const [only] = ladders;
  const first = only?.rungs[0];
  if (only === undefined || first === undefined) return [];
  const alone = ladders.length === 1;
  const figures: Figure[] = [
    {
      id: `${name} throughput`,
      form,
      title: `${name}: throughput`,
      unit: throughputUnit(ladders),
      words: (alone ? aloneWords(only) : ladders.map(besideWords).join(" ")) + heldWords(ladders),
      chart: throughputAgainstLoad(ladders),
    },
  ];
  if (ladders.some(({ rungs }) => rungs.some((rung) => latencyOf(rung) !== null))) {
    figures.push({
      id: `${name} latency`,
      form,
      title: alone ? `${name}: latency` : `${name}: latency, p99`,
      unit: `${latencyName(first)}, log scale`,
      words: alone ? latencyWords(only) : hiddenWords(scene, ladders),
      chart: latencyAgainstLoad(ladders),
    });
  }
  return figures;
}

/** Promises intervals only where there are some to see. */
function throughputUnit(ladders: Ladder[]): string {
  const rungs = ladders.flatMap((ladder) => ladder.rungs.map((rung) => intervalOf(ladder, rung)));
  const known = rungs.filter((interval) => interval !== null).length;
  if (known === 0) return "TPS; too short for 95% intervals";
  return known < rungs.length ? "TPS, with 95% intervals where known" : "TPS, with 95% intervals";
}

function rungText(ladder: Ladder, stage: StageResult | undefined): string {
  return stage === undefined ? "" : `${short(stage.throughput?.mean)} TPS ${whereText(ladder, stage)}`;
}

/** `at 8 clients`, `at 5,000/s`; of a load that stayed as it was `beside 8 clients of oltp`. */
function whereText({ stepOf }: Ladder, stage: StageResult): string {
  const step = stepOf(stage);
  return step === stage ? `at ${askedText(stage)}` : `beside ${askedText(step)} of ${step.series}`;
}

function aloneWords(ladder: Ladder): string {
  const cut = ladder.rungs.filter((rung) => !rung.complete).map((rung) => whereText(ladder, rung));
  return throughputWords(ladder) + (cut.length > 0 ? ` Cut short: ${cut.join(", ")}.` : "");
}

function heldWords(ladders: Ladder[]): string {
  const held = ladders.flatMap(({ hold }) => (isHeld(hold) ? [hold.throughput] : []));
  if (held.length === 0) return "";
  const known = held.some(({ half_width }) => half_width !== null) ? ", with its 95% interval" : "";
  return ladders.length === 1 ? ` The diamond is the hold${known}.` : ` A diamond is a hold${known}.`;
}

function besideWords(ladder: Ladder): string {
  const { label, rungs, peak, saturation } = ladder;
  const top = peak === null ? rungText(ladder, rungs.at(-1)) : peakText(rungs, peak);
  const where =
    saturation === null
      ? "no saturation found"
      : `saturated at ${saturation.rate_per_s === null ? counted(saturation.clients, "client") : `${long(saturation.rate_per_s)}/s`}`;
  // A load that stayed the same was not looked at for a saturation.
  const own = rungs.every((rung) => ladder.stepOf(rung) === rung) ? `; ${where}` : "";
  return `${label}: from ${rungText(ladder, rungs[0])} to ${top}${own}.`;
}

function peakText(rungs: StageResult[], peak: Peak): string {
  const rung = rungs.find(({ id }) => id === peak.stage);
  const at = rung === undefined ? counted(peak.clients, "client") : askedText(rung);
  return `${short(peak.throughput.mean)} TPS at ${at}`;
}

function hiddenWords(scene: Scene, ladders: Ladder[]): string {
  const left = scene.lanes.filter((lane: Lane) => !ladders.some(({ label }) => label === lane.label));
  const p99 = ladders
    .map(
      ({ label, rungs }) =>
        `${label}: p99 from ${latency(found(rungs[0]))} to ${latency(found(rungs.at(-1)))}.`,
    )
    .join(" ");
  return left.length === 0 ? p99 : `${p99} Not shown: ${left.map(({ label }) => label).join(", ")}.`;
}

function found(stage: StageResult | undefined): number | undefined {
  return stage === undefined ? undefined : latencyOf(stage)?.p99_us;
}

function throughputWords(ladder: Ladder): string {
  const { rungs, peak } = ladder;
  const [first, last] = [rungs[0], rungs.at(-1)];
  if (rungs.length === 1) return `${rungText(ladder, first)}.`;
  if (peak === null) return `From ${rungText(ladder, first)} to ${rungText(ladder, last)}.`;
  const top = peakText(rungs, peak);
  const band =
    shadedOf(ladder) === null ? "" : ` Shaded: with ${alikeText(peak)} it cannot be told from the peak.`;
  const after = last?.id === peak.stage ? "" : `; ${rungText(ladder, last)}`;
  return `From ${rungText(ladder, first)} to the peak of ${top}${after}.${band}`;
}

/** `1 client`, `1–16 clients` */
function alikeText({ indistinguishable_from: alike }: Peak): string {
  return `${alike} ${alike === "1" ? "client" : "clients"}`;
}

function latencyWords(ladder: Ladder): string {
  const { rungs } = ladder;
  const words = (stage: StageResult | undefined): string => {
    const found = stage === undefined ? null : latencyOf(stage);
    if (stage === undefined || found === null) return "unknown";
    const where = whereText(ladder, stage).replace(/^at /, "").replace(/^b/, "B");
    return `${where}: p50 ${latency(found.p50_us)}, p99 ${latency(found.p99_us)}, p99.9 ${latency(found.p999_us)}`;
  };
  const [first, last] = [rungs[0], rungs.at(-1)];
  return rungs.length === 1 ? `${words(first)}.` : `${words(first)}. ${words(last)}.`;
}
