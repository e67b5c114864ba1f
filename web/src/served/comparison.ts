// The comparison of runs or targets (`dyno.comparison/1`, described in `docs/compare.md`) as tables: each figure under the
// field's name for it and with its unit, and how it stands to the base's. What a ratio says is the document's own verdict,
// in the words of `dyno compare`.

import { signOf } from "../charts/marks";
import type { Cell, Comparison, Difference, FigureRow, Section, SideLoad, SpeedUp } from "../document";
import { type Child, el, icon, section, table } from "../dom";
import { counted, duration, long, sentence } from "../format";
import { clientsText } from "../reading";
import type { Lane, Scene } from "../scene";
import { severitySign } from "../sections/findings";
import { figureText, isShown, verdictOf } from "./terms";

const SCHEMA = "dyno.comparison/1";
/** What is shown of stages of a kind. */
const HEADLINES: Record<string, string> = {
  hold: "what was held",
  pass: "the passes",
  ramp: "over the ramp",
  ladder: "the peak of the ladder",
};

export function isComparison(value: unknown): value is Comparison {
  return typeof value === "object" && value !== null && (value as { schema?: unknown }).schema === SCHEMA;
}

export function comparisonSection(comparison: Comparison | null, scene: Scene): HTMLElement | null {
  if (comparison === null || comparison.series.length === 0) return null;
  return section(
    "comparison",
    "Compared",
    notComparable(comparison),
    ...comparison.series.flatMap((series) => [
      el("h3", {}, series.name),
      ...series.sections
        .filter(({ rows }) => rows.some(isShown))
        .map((part) => partTable(comparison, scene, series.name, part)),
      el("p", { class: "basis" }, sentence(series.basis.text)),
    ]),
    ...comparison.data
      .filter(({ rows }) => rows.some(isShown))
      .map(({ workload, rows }) =>
        figureTable(comparison, scene, `${workload}, its data`, "the data", [], rows),
      ),
    ...comparison.absent.map(({ series, present, lacking, compared }) =>
      el(
        "p",
        { class: "basis" },
        `${lacking.join(", ")} has no series ${series}, which ${present.join(", ")} has${compared ? "" : ": it is not compared"}.`,
      ),
    ),
    differences(comparison.differences),
  );
}

/** Said before any figure, for those who read no further. */
function notComparable(comparison: Comparison): Child {
  const told = notComparableText(comparison);
  if (told === null) return null;
  return el(
    "p",
    { class: "incomplete", role: "note" },
    icon("fail"),
    el("strong", {}, `${told.what}: `),
    `${told.aspects}. What differs is told under the figures.`,
  );
}

/** `Not comparable`, or `1 of 2 series not comparable (read)`, and in what; null where nothing makes it so. */
export function notComparableText({
  differences,
  series: all,
}: {
  differences: Pick<Difference, "aspect" | "severity" | "series">[];
  series: { name: string }[];
}): { what: string; aspects: string } | null {
  const grave = differences.filter(({ severity }) => severity === "invalid");
  if (grave.length === 0) return null;
  const own = new Set(grave.flatMap(({ series }) => series ?? []));
  const inPart = grave.every(({ series }) => series !== null) && own.size < all.length;
  const aspects = [...new Set(grave.map(({ aspect }) => aspect))].join(", ");
  const what = `${own.size} of ${all.length} series not comparable (${[...own].join(", ")})`;
  return { what: inPart ? what : "Not comparable", aspects };
}

/** What differs and matters, the gravest first. */
function differences(all: Difference[]): Child {
  if (all.length === 0) return el("p", { class: "basis" }, "The sides differ in nothing that dyno knows of.");
  const items = all.map(({ severity, series, text, advice }) =>
    el(
      "li",
      { class: severity },
      severitySign(severity),
      " ",
      series === null ? "" : `${series}: `,
      text,
      el("span", { class: "advice" }, ` → ${advice}`),
    ),
  );
  return [
    el("h3", {}, "What differs between the sides"),
    el("ul", { class: "differences", "aria-label": "What differs between the sides" }, items),
  ];
}

/** `what was held`; where nothing was, what stands for it. */
function headingOf({ kind, loads }: Section): string {
  if (kind === "common-load") return "at a load that all have climbed";
  if (kind === "peak") return "where the ladder has its peak";
  const kinds = new Set(
    loads.flatMap((load) => (load === null ? [] : [load.queries === null ? load.kind : "pass"])),
  );
  const words = [...kinds].map((one) => HEADLINES[one] ?? one);
  return words.length === 0 ? "what was measured" : words.join(" and ");
}

function partTable(comparison: Comparison, scene: Scene, series: string, part: Section): HTMLElement {
  const loads: Child[] = part.loads.flatMap((load, index) => [
    loadText(load),
    ...(index === comparison.base ? [] : [part.same_load || part.kind === "peak" ? "" : "another load"]),
  ]);
  const some = part.loads.some((load) => load !== null);
  return figureTable(
    comparison,
    scene,
    `${series}, ${headingOf(part)}`,
    headingOf(part),
    some ? [{ class: "at", cells: ["load", ...loads] }] : [],
    part.rows,
  );
}

function figureTable(
  comparison: Comparison,
  scene: Scene,
  caption: string,
  heading: string,
  above: { class: string; cells: Child[] }[],
  rows: FigureRow[],
): HTMLElement {
  const { sides, base } = comparison;
  const baseName = sides[base]?.name ?? "the base";
  const columns = sides.flatMap((side, index) => [
    { label: sideHead(side, scene), figures: true },
    ...(index === base
      ? []
      : [
          {
            label: `to ${baseName}`,
            figures: true,
            title: "ratio, with its 95% interval where there is one",
          },
        ]),
  ]);
  const shown = rows.filter(isShown).map((row) => ({
    cells: [
      row.label,
      ...row.cells.flatMap((cell, index): Child[] => [
        cell.value === null ? el("span", { class: "unknown" }, "unknown") : figureText(row, cell),
        ...(index === base ? [] : [ratio(row, cell)]),
      ]),
    ],
  }));
  return table(caption, [{ label: heading }, ...columns], [...above, ...shown]);
}

/** Whether a side is this target of one run. */
function isOf({ runs, target }: Comparison["sides"][number], lane: Lane): boolean {
  return runs.length === 1 && runs[0] === lane.report.run.name && target === lane.target.name;
}

/** How many times as fast a series is on one of the sides as on another. */
export function speedUpAmong(
  { sides, series }: Pick<Comparison, "sides" | "series">,
  name: string,
  base: Lane,
  own: Lane,
): SpeedUp | undefined {
  const ofOwn = series.find((one) => one.name === name)?.speed_ups[
    sides.findIndex((side) => isOf(side, own))
  ];
  const baseName = sides.find((side) => isOf(side, base))?.name;
  return ofOwn?.find((one) => one.base === baseName);
}

/** A side's name with the sign of its target wherever that is drawn, and its product below. */
function sideHead(side: Comparison["sides"][number], scene: Scene): Child {
  const lane = scene.lanes.find((lane) => isOf(side, lane));
  return [
    lane !== undefined && signOf(lane),
    side.name,
    el("span", { class: "product" }, side.product ?? "product unknown"),
  ];
}

/** `8 clients`, `1 to 200 clients over 40 connections`, `5,000/s, 64 clients`. */
function loadText(load: SideLoad | null): Child {
  if (load === null) return el("span", { class: "unknown" }, "none");
  const pool = load.connections == null ? "" : ` over ${counted(load.connections, "connection")}`;
  const rate = load.rate_per_s === null ? "" : `${long(load.rate_per_s)}/s, `;
  if (load.queries !== null) {
    const passes = load.stages.length === 1 ? "1 pass" : `${load.stages.length} passes`;
    const queries = load.queries === 1 ? "1 query" : `${load.queries} queries`;
    return `${passes} over ${queries}, ${clientsText(load)}${pool}`;
  }
  const seconds = load.seconds > 0 ? `, ${duration(Math.round(load.seconds * 10) / 10)}` : "";
  return `${rate}${clientsText(load)}${pool}${seconds}`;
}

function ratio(row: FigureRow, cell: Cell): Child {
  const text = ratioText(row, cell);
  const verdict = cell.ratio?.verdict;
  const tone = verdict === "better" ? "good" : verdict === "worse" ? "bad" : "faint";
  return text === "" ? "" : el("span", { class: `ratio ${tone}` }, text);
}

/** `1.83× (1.79 to 1.88) faster`; `no difference shown (0.97 to 1.03)` where the interval holds 1. */
export function ratioText(
  row: Pick<FigureRow, "better" | "verdicts">,
  { ratio }: Pick<Cell, "ratio">,
): string {
  // How many clients a peak takes is a fact with no better or worse: a ratio of it helps nobody.
  if (ratio === null || row.better === "neither") return "";
  const { value, interval, verdict } = ratio;
  const within = interval === null ? "" : ` (${multiple(interval[0])} to ${multiple(interval[1])})`;
  const words = verdictOf(row, verdict);
  return verdict === "no-difference-shown" ? words + within : `${multiple(value)}×${within} ${words}`;
}

/** Three decimals near one, where two would hide what is meant. */
function multiple(value: number): string {
  if (value > 0 && value < 0.001) return "<0.001";
  const digits = value < 1.1 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toFixed(digits);
}
