// The transactions of each mix, in the stage that stands for its series: their percentiles as marks, and all figures.

import { type Bar, barChart, logAxis } from "../charts/bars";
import { signOf } from "../charts/marks";
import type { CountResult, Percentiles, ResponseLimitResult, StageResult, TypeResult } from "../document";
import { type Child, type Column, el, icon, orUnknown, type Row, section, table } from "../dom";
import { count, latency, latencyTick, long, share } from "../format";
import { standingFor } from "../reading";
import { drawnAs, type Lane, type Scene, seriesNames, seriesOfLane } from "../scene";
import type { View } from "../state";

/** A target with the stage that stands for a series. */
interface Side {
  lane: Lane;
  stage: StageResult;
}

export function mixesSection(scene: Scene, view: View): HTMLElement | null {
  const parts = seriesNames(scene).flatMap((name) => {
    const sides = scene.lanes.flatMap((lane) => sideOf(scene, lane, name));
    const shown = sides.filter(({ lane }) => !view.hidden.includes(lane.key));
    return shown.length === 0 ? [] : [{ name, shown }];
  });
  if (parts.length === 0) return null;
  return section(
    "transactions",
    "Transactions",
    parts.map(({ name, shown }) => [
      parts.length > 1 && el("h3", {}, name),
      percentilesChart(name, shown),
      figuresTable(name, shown),
    ]),
  );
}

/** A single transaction only says the same again, but for its limits. */
function sideOf(scene: Scene, lane: Lane, name: string): Side[] {
  const series = seriesOfLane(lane, name);
  if (series === undefined || series.passes !== undefined) return [];
  const stage = standingFor(lane.report, series);
  if (stage === null || stage.pass === true) return [];
  const isTold = stage.by_type.length > 1 || stage.by_type.some(({ response_limits }) => response_limits);
  const { colour, dash, mark } = drawnAs(scene, lane, series);
  return isTold ? [{ lane: { ...lane, colour, dash, mark }, stage }] : [];
}

function namesOf(shown: Side[]): string[] {
  return [...new Set(shown.flatMap(({ stage }) => stage.by_type.map(({ name }) => name)))];
}

/** What a user would see, as of the whole stage. */
function latencyOfType({ response, service }: TypeResult): Percentiles | null {
  return response ?? service;
}

function percentilesChart(name: string, shown: Side[]): HTMLElement | null {
  const groups = namesOf(shown).map((type) => ({
    name: type,
    bars: shown.flatMap((side) => bar(side, type)),
  }));
  const values = groups.flatMap(({ bars }) => bars.flatMap(({ spread }) => spread ?? []));
  if (values.length === 0) return null;
  return el(
    "figure",
    { "data-chart": "transactions" },
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, "Response time of each transaction"),
      el("span", { class: "axis-unit" }, "p90, with a line from p50 to p99; log scale"),
      shown.length > 1 &&
        el(
          "span",
          { class: "key" },
          shown.map(({ lane }) => el("span", { class: "entry" }, signOf(lane), lane.label)),
        ),
    ),
    barChart(groups, logAxis(values, latencyTick), {
      words: `Response times of the transactions of ${name}; the table has the same figures.`,
      signs: shown.length > 1,
    }),
  );
}

function bar({ lane, stage }: Side, name: string): Bar[] {
  const type = stage.by_type.find((one) => one.name === name);
  const found = type === undefined ? null : latencyOfType(type);
  if (found === null) return [];
  const { p50_us, p90_us, p99_us } = found;
  const range = `${latency(p50_us)} to ${latency(p99_us)}`;
  return [
    {
      lane,
      value: p90_us,
      spread: [p50_us, p99_us],
      text: [latency(p90_us), el("span", { class: "bar-more" }, ` ${range}`)],
      more: `${lane.label}, ${name}: p90 ${latency(p90_us)}, p50 to p99 ${range}`,
    },
  ];
}

function figuresTable(name: string, shown: Side[]): HTMLElement {
  const several = shown.length > 1;
  const all = shown.flatMap(({ stage }) => stage.by_type);
  const hasLimits = all.some(({ response_limits }) => response_limits);
  const hasCounts = all.some(({ counts }) => counts);
  const hasRolledBack = all.some(({ rolled_back }) => rolled_back > 0);
  const columns: Column[] = [
    { label: "Transaction" },
    ...(several ? [{ label: "Target" }] : []),
    { label: "TPS", figures: true },
    { label: "Share", figures: true, title: "of all that ended well" },
    { label: "p50", figures: true },
    { label: "p90", figures: true },
    { label: "p99", figures: true },
    ...(hasCounts ? [{ label: "Counted", title: "by the workload, of those that ended well" }] : []),
    ...(hasLimits ? [{ label: "Limit", title: "that the workload sets" }] : []),
    { label: "Done", figures: true, title: "ended well before the time was up" },
    ...(hasRolledBack
      ? [{ label: "Rolled back", figures: true, title: "by design; a part of those done" }]
      : []),
    { label: "Failed", figures: true, title: "all that began in the stage" },
    { label: "Retries", figures: true },
  ];
  const rowOf = ({ lane }: Side, type: TypeResult): Row => {
    const found = latencyOfType(type);
    const us = (value: number | undefined) => orUnknown(value === undefined ? null : latency(value));
    return {
      cells: [
        type.name,
        ...(several ? [lane.label] : []),
        orUnknown(type.per_s === null ? null : long(type.per_s)),
        orUnknown(type.share === null ? null : share(type.share)),
        us(found?.p50_us),
        us(found?.p90_us),
        us(found?.p99_us),
        ...(hasCounts ? [(type.counts ?? []).map(counted).join(", ")] : []),
        ...(hasLimits ? [(type.response_limits ?? []).map(limit)] : []),
        count(type.done),
        ...(hasRolledBack ? [count(type.rolled_back)] : []),
        count(type.failed_with_drain),
        count(type.retries),
      ],
    };
  };
  const rows = namesOf(shown).flatMap((type) =>
    shown.flatMap((side) =>
      side.stage.by_type.filter((one) => one.name === type).map((one) => rowOf(side, one)),
    ),
  );
  return el(
    "div",
    {},
    table(`The transactions of ${name}`, columns, rows),
    shown.map(({ lane, stage }) => rolledBack(stage, several ? `${lane.label}: ` : "")),
  );
}

/** What is rolled back by design has ended as it should, and counts, as in other programs. */
function rolledBack({ by_type, totals }: StageResult, whose: string): Child {
  const undone = by_type.reduce((sum, { rolled_back }) => sum + rolled_back, 0);
  if (undone === 0 || totals.done === 0) return null;
  const text = `TPS counts the ${share(undone / totals.done)} that were rolled back by design.`;
  return el("p", { class: "detail" }, `${whose}${text}`);
}

/** `120 districts skipped (0.3 a transaction)` */
function counted({ about, count: found, per_transaction }: CountResult): string {
  const mean =
    per_transaction === null || per_transaction < 0.005 ? "" : ` (${long(per_transaction)} a transaction)`;
  return `${count(found)} ${about}${mean}`;
}

function limit({ percentile, limit_us, kept }: ResponseLimitResult): Child {
  const text = `p${percentile} ${latency(limit_us)}`;
  if (kept === null) return `${text} unknown `;
  return kept
    ? el("span", { class: "flag" }, icon("pass"), ` ${text} kept `)
    : el("span", { class: "flag severity doubt" }, icon("doubt"), ` ${text} not kept `);
}
