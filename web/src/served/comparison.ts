// The comparison of runs or targets (`dyno.comparison/1`, described in `docs/compare.md`) as a small table: each figure,
// and how it stands to the base's. What a ratio says is the document's own verdict.

import { type Child, el, icon, section, table } from "../dom";
import { bytes, count, duration, latency, long, share } from "../format";

/** What the page reads of the document; there is more in it. */
export interface Comparison {
  schema: string;
  base: number;
  sides: { name: string; product: string | null }[];
  series: { name: string; basis: { text: string }; sections: Part[] }[];
  findings: { severity: string; evidence: string; about: string | null }[];
}

interface Part {
  kind: "headline" | "common-load" | "peak";
  loads: ({ clients: number; rate_per_s: number | null } | null)[];
  same_load: boolean;
  rows: { key: string; unit: string; cells: Cell[] }[];
}

export interface Cell {
  value: number | null;
  ratio: { value: number; interval: [number, number] | null; verdict: string } | null;
}

const SCHEMA = "dyno.comparison/1";
const PARTS: Record<Part["kind"], string> = {
  headline: "what was held",
  "common-load": "at a load that all have",
  peak: "at the peak of each",
};

export function isComparison(value: unknown): value is Comparison {
  return typeof value === "object" && value !== null && (value as { schema?: unknown }).schema === SCHEMA;
}

export function comparisonSection(comparison: Comparison | null): HTMLElement | null {
  if (comparison === null || comparison.series.length === 0) return null;
  const differences = comparison.findings.map((finding) =>
    el(
      "li",
      { class: finding.severity },
      el(
        "span",
        { class: `severity ${finding.severity}` },
        icon(finding.severity === "note" ? "note" : "doubt"),
        finding.severity,
      ),
      " ",
      finding.evidence,
    ),
  );
  return section(
    "comparison",
    "Compared",
    ...comparison.series.flatMap((series) => [
      el("h3", {}, series.name),
      ...series.sections
        .filter(({ rows }) => rows.length > 0)
        .map((part) => partTable(comparison, series.name, part)),
      el("p", { class: "basis" }, series.basis.text),
    ]),
    differences.length > 0 &&
      el("ul", { class: "differences", "aria-label": "What differs between the sides" }, differences),
  );
}

function partTable(comparison: Comparison, series: string, part: Part): HTMLElement {
  const { sides, base } = comparison;
  const columns = sides.flatMap((side, index) => [
    { label: side.name, figures: true, title: side.product ?? "product unknown" },
    ...(index === base
      ? []
      : [
          {
            label: `to ${sides[base]?.name ?? "the base"}`,
            figures: true,
            title: "ratio, with its 95% interval where there is one",
          },
        ]),
  ]);
  const rows = part.rows.map((row) => ({
    cells: [
      row.key.replaceAll("_", " "),
      ...row.cells.flatMap((cell, index): Child[] => [
        cell.value === null ? el("span", { class: "unknown" }, "unknown") : figure(cell.value, row.unit),
        ...(index === base ? [] : [ratioText(cell)]),
      ]),
    ],
  }));
  const loads: Child[] = part.loads.flatMap((load, index) => [
    loadText(load),
    ...(index === base ? [] : [part.same_load ? "" : "other load"]),
  ]);
  return table(
    `${series}, ${PARTS[part.kind]}`,
    [{ label: PARTS[part.kind] }, ...columns],
    [{ class: "at", cells: ["load", ...loads] }, ...rows],
  );
}

function loadText(load: Part["loads"][number]): Child {
  if (load === null) return el("span", { class: "unknown" }, "none");
  return load.rate_per_s === null ? `${count(load.clients)} clients` : `${long(load.rate_per_s)}/s`;
}

/** `1.83× better (1.79 to 1.88)`; where no difference is shown, no more than that. */
export function ratioText({ ratio }: Cell): string {
  if (ratio === null) return "";
  const { value, interval, verdict } = ratio;
  const digits = (number: number) => number.toFixed(Math.abs(number) < 9.995 ? 2 : 0);
  if (verdict === "no-difference-shown") return "no difference shown";
  const within = interval === null ? "" : ` (${digits(interval[0])} to ${digits(interval[1])})`;
  const words: Record<string, string> = { "no-interval": "no interval", "other-load": "other load" };
  return `${digits(value)}×${within} ${words[verdict] ?? verdict}`;
}

function figure(value: number, unit: string): string {
  const formats: Record<string, (value: number) => string> = {
    us: latency,
    share,
    bytes,
    s: duration,
    clients: count,
  };
  return (formats[unit] ?? long)(value) + (unit === "1/s" ? "/s" : "");
}
