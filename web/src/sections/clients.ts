// Throughput and latency against clients, a pair of charts for each series that climbed a ladder.

import type { Charts } from "../charts/chart";
import { type ClientsChart, latencyAgainstClients, throughputAgainstClients } from "../charts/clients";
import type { Peak, Report, Series, StageResult } from "../document";
import { el, section } from "../dom";
import { count, counted, latency, relativeError, short } from "../format";
import { holdOf, ladderOf, latencyName, latencyOf, seriesColour, seriesTitle } from "../reading";

export function clientsSection(report: Report, charts: Charts): HTMLElement | null {
  const parts = report.series.flatMap((series) => seriesCharts(report, series, charts));
  if (parts.length === 0) return null;
  return section("clients", "Against clients", el("div", { class: "pairs" }, parts));
}

function seriesCharts(report: Report, series: Series, charts: Charts): HTMLElement[] {
  const rungs = ladderOf(report, series).filter((rung) => rung.throughput !== null);
  const first = rungs[0];
  if (first === undefined) return [];
  const hold = holdOf(report, series);
  const name = seriesTitle(report, series);
  const input = { rungs, hold, peak: series.peak, colour: seriesColour(report, series) };
  const cut = rungs.filter((rung) => !rung.complete).map((rung) => counted(rung.clients, "client"));
  const throughput =
    throughputWords(rungs, series.peak) + (cut.length > 0 ? ` Cut short: ${cut.join(", ")}.` : "");
  const held = hold?.throughput == null ? "" : " The diamond is the hold.";
  const figures = [
    figure(
      `${name}: throughput`,
      throughputUnit(rungs),
      throughputAgainstClients(input),
      charts,
      throughput + held,
    ),
  ];
  if (rungs.some((rung) => latencyOf(rung) !== null)) {
    const unit = `${latencyName(first)}, log scale`;
    figures.push(figure(`${name}: latency`, unit, latencyAgainstClients(input), charts, latencyWords(rungs)));
  }
  return figures;
}

/** Promises intervals only where there are some to see. */
function throughputUnit(rungs: StageResult[]): string {
  const known = rungs.filter((rung) => rung.throughput?.half_width != null).length;
  if (known === 0) return "TPS; too short for 95% intervals";
  return known < rungs.length ? "TPS, with 95% intervals where known" : "TPS, with 95% intervals";
}

function figure(
  title: string,
  unit: string,
  chart: ClientsChart,
  charts: Charts,
  words: string,
): HTMLElement {
  return el(
    "figure",
    {},
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, title),
      el("span", { class: "axis-unit" }, unit),
      chart.key.element,
    ),
    charts.place(`${title} against clients. ${words}`, chart.spec),
    el("figcaption", {}, words),
  );
}

function throughputWords(rungs: StageResult[], peak: Peak | null): string {
  const rung = (stage: StageResult | undefined): string =>
    stage === undefined ? "" : `${short(stage.throughput?.mean)} TPS at ${counted(stage.clients, "client")}`;
  const [first, last] = [rungs[0], rungs.at(-1)];
  if (rungs.length === 1) return `${rung(first)}.`;
  if (peak === null) return `From ${rung(first)} to ${rung(last)}.`;
  const top = `${short(peak.throughput.mean)} TPS ${relativeError(peak.throughput)} at ${count(peak.clients)}`;
  const alike = peak.clients_indistinguishable.length > 1;
  const band = alike
    ? ` Shaded: ${peak.clients_indistinguishable.map(count).join(" and ")} clients cannot be told apart.`
    : "";
  return `From ${rung(first)} to the peak of ${top}; ${rung(last)}.${band}`;
}

function latencyWords(rungs: StageResult[]): string {
  const words = (stage: StageResult | undefined): string => {
    const found = stage === undefined ? null : latencyOf(stage);
    if (stage === undefined || found === null) return "unknown";
    const figures = `p50 ${latency(found.p50_us)}, p99 ${latency(found.p99_us)}, p99.9 ${latency(found.p999_us)}`;
    return `${counted(stage.clients, "client")}: ${figures}`;
  };
  const [first, last] = [rungs[0], rungs.at(-1)];
  return rungs.length === 1 ? `${words(first)}.` : `${words(first)}. ${words(last)}.`;
}
