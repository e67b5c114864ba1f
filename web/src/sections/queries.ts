// The times of each query on each target, as bars and in figures, and how many times as fast one target is as another.

import { type Bar, barChart, linearAxis, logAxis } from "../charts/bars";
import { signOf } from "../charts/marks";
import type { Passes, QueryTimes, Series, SpeedUp } from "../document";
import { type Child, type Column, el, icon, type Row, section, table } from "../dom";
import {
  count,
  countedQueries,
  latency,
  latencyTick,
  relativeError,
  seconds,
  short,
  tick,
  times,
} from "../format";
import { queryNames, spreadOf, timesOf, withoutTime } from "../queries";
import { clientsText, isLive, stageOf } from "../reading";
import { type Lane, type Scene, seriesNames, seriesOfLane } from "../scene";
import type { View } from "../state";
import { plansPart } from "./plans";

/** A lane with the passes of one series. */
interface Side {
  lane: Lane;
  series: Series;
  passes: Passes;
}

/** How many times as fast a series is on `own` as on `base`; undefined where that is not known. */
export type SpeedUpOf = (name: string, base: Lane, own: Lane) => SpeedUp | undefined;

/** As the report of both has it. */
export const speedUpInRun: SpeedUpOf = (name, base, own) =>
  base.report !== own.report
    ? undefined
    : seriesOfLane(own, name)?.passes?.speed_ups?.find((one) => one.base === base.target.name);

export function queriesSection(scene: Scene, view: View, speedUpOf: SpeedUpOf): HTMLElement | null {
  const parts = seriesNames(scene).flatMap((name) => {
    const all = scene.lanes.flatMap((lane): Side[] => {
      const series = seriesOfLane(lane, name);
      return series?.passes === undefined ? [] : [{ lane, series, passes: series.passes }];
    });
    return all.length === 0 ? [] : [{ name, all }];
  });
  if (parts.length === 0) return null;
  return section(
    "queries",
    "Queries",
    parts.map(({ name, all }) => seriesPart(name, all, view, parts.length > 1, speedUpOf)),
  );
}

function seriesPart(name: string, all: Side[], view: View, named: boolean, speedUpOf: SpeedUpOf): Child {
  const shown = all.filter(({ lane }) => !view.hidden.includes(lane.key));
  const [first] = shown;
  const head = named && el("h3", {}, name);
  if (first === undefined) return [head, el("p", { class: "nothing" }, "All targets are hidden.")];
  const base = shown.find(({ lane }) => lane.key === view.base) ?? first;
  const names = queryNames(shown.map(({ passes }) => passes));
  const speeds = shown.map(({ lane }) => speedUpOf(name, base.lane, lane));
  return [
    head,
    el("p", { class: "lead" }, leadOf(shown)),
    timesChart(name, names, shown, view.log),
    shown.length > 1 && speedPart(name, shown, base, speeds),
    figuresTable(name, names, shown, base, speeds),
    plansPart(names, shown, base),
  ];
}

/** `tpch/queries · 1 client · median of 3 passes, with the smallest and the largest` */
function leadOf(shown: Side[]): string {
  const distinct = (of: (side: Side) => string) => [...new Set(shown.map(of))].join(" or ");
  const clients = ({ lane, passes }: Side) => {
    const stage = stageOf(lane.report, passes.stages[0] ?? -1);
    return stage === undefined ? "clients unknown" : clientsText(stage);
  };
  const counts = shown.map(({ passes }) => passes.stages.length);
  const passes = [...new Set(counts)].map(count).join(" or ");
  const of = Math.max(...counts) > 1 ? `median of ${passes} passes` : "one pass";
  const caveat = shown[0]?.series.caveat;
  const parts = [distinct(({ series }) => series.workload), distinct(clients), of];
  return [...parts, ...(caveat === undefined ? [] : [caveat])].join(" · ");
}

function scaleChoice(log: boolean): HTMLElement {
  const one = (label: string, value: string, pressed: boolean) =>
    el(
      "button",
      { type: "button", "data-choose": "scale", "data-value": value, "aria-pressed": String(pressed) },
      label,
    );
  return el(
    "div",
    { class: "spans", role: "group", "aria-label": "Scale of the times" },
    one("linear", "linear", !log),
    one("logarithmic", "log", log),
  );
}

function timesChart(name: string, names: string[], shown: Side[], log: boolean): HTMLElement {
  const bars = (query: string) => shown.map(({ lane, passes }) => timeBar(lane, timesOf(passes, query)));
  const groups = names.map((query) => ({ name: query, bars: bars(query) }));
  const values = groups.flatMap((group) =>
    group.bars.flatMap(({ value, spread }) => [value ?? [], spread ?? []].flat()),
  );
  const write = (value: number) => (value === 0 ? "0" : latencyTick(value * 1e6));
  const axis = log ? logAxis(values, write) : linearAxis(values, write);
  const many = Math.max(...shown.map(({ passes }) => passes.stages.length));
  const spread = many > 1 ? "; lines from the smallest to the largest pass" : "";
  return el(
    "figure",
    { "data-chart": "queries" },
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, "Time of each query"),
      scaleChoice(log),
      el(
        "span",
        { class: "axis-unit" },
        `${many > 1 ? "median" : "one pass"}${log ? ", log scale" : ""}${spread}`,
      ),
      key(shown),
    ),
    barChart(groups, axis, {
      words: `Times of the queries of ${name}; the table has the same figures.`,
      signs: shown.length > 1,
    }),
  );
}

function key(shown: Side[]): Child {
  if (shown.length < 2) return null;
  const entries = shown.map(({ lane }) => el("span", { class: "entry" }, signOf(lane), lane.label));
  return el("span", { class: "key" }, entries);
}

function timeBar(lane: Lane, own: QueryTimes | undefined): Bar {
  const spread = own === undefined ? null : spreadOf(own);
  const value = own?.median_s ?? null;
  const live = isLive(lane.report);
  if (own === undefined || value === null || spread === null) {
    const text = live ? "not yet run" : withoutTime(own);
    const why = own?.failure == null ? "" : ` (${own.failure})`;
    return { lane, value: null, spread: null, text, more: `${lane.label}: ${text}${why}` };
  }
  const [low, high] = spread.map((time) => latency(time * 1e6));
  const range = low === high ? "" : `${low} to ${high}`;
  const ended = own.times_s.filter((time) => time !== null).length;
  const partly = !live && ended < own.times_s.length ? ` in ${ended} of ${own.times_s.length} passes` : "";
  return {
    lane,
    value,
    spread,
    text: [
      latency(value * 1e6),
      own.differs !== null && el("b", { class: "warned" }, " answer differs"),
      partly !== "" && el("b", { class: "warned" }, partly),
      range !== "" && el("span", { class: "bar-more" }, ` ${range}`),
    ],
    more: `${lane.label}: ${latency(value * 1e6)}${range === "" ? "" : `, ${range}`}${partly}`,
  };
}

/** Every target against one of them. */
function speedPart(name: string, shown: Side[], base: Side, speeds: (SpeedUp | undefined)[]): Child {
  const others = shown.flatMap((side, index) => {
    const found = speeds[index];
    return found === undefined ? [] : [{ side, found }];
  });
  if (others.length === 0) return null;
  const bars = others.flatMap(({ side, found }) => (found.mean === null ? [] : [speedBar(side, found)]));
  const values = bars.flatMap(({ bars }) =>
    bars.flatMap(({ value, spread }) => [value ?? 1, ...(spread ?? [])]),
  );
  const axis = logAxis([1, ...values], (value) => `${tick(value)}×`);
  const choice = shown.map(({ lane }) =>
    el(
      "button",
      {
        type: "button",
        "data-choose": "base",
        "data-value": lane.key,
        "aria-pressed": String(lane === base.lane),
      },
      lane.label,
    ),
  );
  return el(
    "figure",
    { class: "speed-up", "data-chart": "speed-up" },
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, "Times as fast as"),
      el(
        "div",
        { class: "spans", role: "group", "aria-label": "Target that others are compared with" },
        choice,
      ),
      el("span", { class: "axis-unit" }, "geometric mean over the queries with its 95% interval, log scale"),
    ),
    bars.length > 0 &&
      barChart(bars, axis, {
        words: `How many times as fast as ${base.lane.label} the others are in ${name}.`,
        signs: false,
        origin: 1,
      }),
    el(
      "figcaption",
      {},
      others.map(({ side, found }) => el("p", {}, speedWords(side, base, found))),
      el(
        "p",
        {},
        "The interval is over the queries: how much it depends on them, not how much passes scatter.",
      ),
    ),
  );
}

function speedBar({ lane }: Side, { mean, interval }: SpeedUp): { name: string; bars: Bar[] } {
  const range = interval === null ? "" : interval.map(times).join(" to ");
  const text = [times(mean), range !== "" && el("span", { class: "range" }, ` ${range}`)];
  return {
    name: lane.label,
    bars: [{ lane, value: mean, spread: interval, text, more: `${lane.label}: ${times(mean)} ${range}` }],
  };
}

/** `duck is 4.5 times as fast as pg (95%: 3.6 to 5.6), from 0.7 times in Q19 to 26 times in Q18.` */
function speedWords({ lane }: Side, base: Side, { ratios, mean, interval, without }: SpeedUp): Child {
  const number = (value: number) => times(value).slice(0, -1);
  const left =
    without.length === 0
      ? ""
      : ` Without ${without.join(", ")}, which did not run on both or whose answers differ.`;
  if (mean === null) return `${lane.label} cannot be compared with ${base.lane.label}.${left}`;
  const sorted = ratios.toSorted((a, b) => a.ratio - b.ratio);
  const [slow, fast] = [sorted[0], sorted.at(-1)];
  const known = interval === null ? "interval unknown" : `95%: ${interval.map(number).join(" to ")}`;
  const range =
    slow === undefined || fast === undefined || slow === fast
      ? ""
      : `, from ${number(slow.ratio)} times in ${slow.query} to ${number(fast.ratio)} times in ${fast.query}`;
  return [
    el("b", {}, `${lane.label} is ${number(mean)} times as fast as ${base.lane.label}`),
    ` (${known})${range}.${left}`,
  ];
}

/** All figures in seconds, so that they can be taken elsewhere. */
function figuresTable(
  name: string,
  names: string[],
  shown: Side[],
  base: Side,
  speeds: (SpeedUp | undefined)[],
): Child {
  const several = shown.length > 1;
  // Of one pass the smallest and the largest would say the same again.
  const spreads = Math.max(...shown.map(({ passes }) => passes.stages.length)) > 1;
  const isStreamed = shown.some(({ passes }) => passes.queries.some((own) => own.first_row_s !== undefined));
  const firstRow = isStreamed ? ["to the first row"] : [];
  const columns: Column[] = [
    { label: "Query" },
    ...shown.flatMap((side): Column[] => {
      const whose = several ? `${side.lane.label}, ` : "";
      const own = [...(spreads ? ["median", "smallest", "largest"] : ["time"]), ...firstRow].map((what) => ({
        label: `${whose}${what}`,
        figures: true,
      }));
      const ratio = { label: `times as fast as ${base.lane.label}`, figures: true };
      return speeds[shown.indexOf(side)] === undefined ? own : [...own, ratio];
    }),
    { label: "Rows", figures: true },
    { label: "Answers" },
  ];
  const row = (query: string): Row => {
    const all = shown.map(({ passes }) => timesOf(passes, query));
    return {
      cells: [
        query,
        ...all.flatMap((own, index) => {
          const spread = own === undefined ? null : spreadOf(own);
          const figures = [
            own?.median_s ?? null,
            ...(spreads ? [spread?.[0] ?? null, spread?.[1] ?? null] : []),
          ].map((time) =>
            time === null
              ? el("span", { class: "unknown", title: own?.failure ?? "" }, withoutTime(own))
              : seconds(time),
          );
          const first = own?.first_row_s;
          const cells = [...figures, ...firstRow.map(() => (first === undefined ? "" : seconds(first)))];
          const speed = speeds[index];
          const found = speed?.ratios.find((one) => one.query === query);
          return speed === undefined ? cells : [...cells, found === undefined ? "" : times(found.ratio)];
        }),
        [...new Set(all.flatMap((own) => own?.rows ?? []))].map(count).join(" or "),
        answersOf(shown, all, several),
      ],
    };
  };
  const hasQph = shown.some(({ passes }) => passes.qph !== null);
  const whole = (label: string, of: (passes: Passes) => string | null, mean: boolean): Row => ({
    class: "hold",
    cells: [
      label,
      ...shown.flatMap(({ passes }, index): Child[] => {
        const speed = speeds[index];
        const own = [
          of(passes) ?? el("span", { class: "unknown" }, "unknown"),
          ...(spreads ? ["", ""] : []),
          ...firstRow.map(() => ""),
        ];
        return speed === undefined ? own : [...own, mean && speed.mean !== null ? times(speed.mean) : ""];
      }),
      "",
      "",
    ],
  });
  const within = (mean: number | null, half_width: number | null, write: (value: number) => string) => {
    if (mean === null) return null;
    return half_width === null ? write(mean) : `${write(mean)} ${relativeError({ mean, half_width })}`;
  };
  const frame = table(`Times of the queries of ${name} in seconds`, columns, [
    ...names.map(row),
    whole("total", (of) => within(of.total_s, of.total_half_width_s, seconds), false),
    whole(
      "geometric mean",
      (of) => within(of.geometric_mean_s, of.geometric_mean_half_width_s, seconds),
      true,
    ),
    ...(hasQph ? [whole("QPH", (of) => within(of.qph, of.qph_half_width, short), false)] : []),
  ]);
  return el(
    "div",
    { class: "query-figures" },
    el(
      "div",
      { class: "chart-head" },
      el("h3", {}, `${countedQueries(names.length)} in figures`),
      el("span", { class: "axis-unit" }, "seconds"),
      el("button", { type: "button", class: "as-table", "data-choose": "copy" }, "copy"),
    ),
    frame,
  );
}

/** What is known of the answers to a query. */
function answersOf(shown: Side[], all: (QueryTimes | undefined)[], several: boolean): Child {
  const whose = (index: number) => (several ? `${shown[index]?.lane.label}: ` : "");
  const differing = all.flatMap((own, index) =>
    own?.differs == null ? [] : `${whose(index)}${own.differs}`,
  );
  if (differing.length > 0)
    return el("span", { class: "severity invalid" }, icon("fail"), differing.join("; "));
  const failed = all.flatMap((own, index) => (own?.failure == null ? [] : `${whose(index)}${own.failure}`));
  if (failed.length > 0) return el("span", { class: "severity doubt" }, icon("doubt"), failed.join("; "));
  const known = all.filter((own) => own !== undefined && own.rows !== null);
  if (known.length === 0) return el("span", { class: "unknown" }, "unknown");
  if (known.every((own) => own?.validated === true)) return "valid";
  return known.every((own) => own?.compared) ? "alike" : "kept";
}
