// The systems of one target side by side: a row for each figure, a column for each system.

import type { Report, VariantCell, VariantRow } from "../document";
import { type Child, el, section, table } from "../dom";
import { bytes, count, latency, short } from "../format";

export function variantsSection(report: Report): HTMLElement | null {
  const { variants, not_done: notDone = [] } = report;
  if (variants === undefined) return null;
  const grouped = variants.rows.map((row, at) => ({
    row,
    begins: row.group !== variants.rows[at - 1]?.group,
  }));
  return section(
    "variants",
    "Variants",
    el(
      "p",
      { class: "detail" },
      `One table kept in ${variants.systems.length} ways. Behind a figure stands its ratio to that of ${variants.systems[0]}.`,
    ),
    table(
      "Each variant in figures",
      [{ label: "Figure" }, ...variants.systems.map((label) => ({ label, figures: true }))],
      grouped.flatMap(({ row, begins }) => [
        ...(begins ? [{ class: "hold", cells: [row.group, ...row.cells.map(() => "")] }] : []),
        { cells: [row.name, ...row.cells.map((cell, at) => [figure(row, cell), at > 0 && ratioOf(cell)])] },
      ]),
    ),
    notDone.length > 0 &&
      el(
        "ul",
        { class: "not-done" },
        notDone.map(({ target, what, said }) =>
          el("li", {}, el("strong", {}, `${target} cannot do this: ${what}. `), said),
        ),
      ),
  );
}

function figure({ unit }: VariantRow, { value, not_done: said }: VariantCell): Child {
  if (value === null) {
    return said === null ? el("span", { class: "unknown" }, "–") : el("strong", { title: said }, "not done");
  }
  switch (unit) {
    case "s":
      return latency(value * 1e6);
    case "bytes":
      return bytes(value);
    case "count":
      return count(value);
    case "per-s":
      return `${short(value)}/s`;
  }
}

/** `×1.06`, `×0.0049`; empty where there is none, so that figures stand under each other. */
function ratioOf({ ratio }: VariantCell): Child {
  const text = ratio === null ? "" : ratio > 0 && ratio < 0.095 ? ratio.toPrecision(2) : short(ratio);
  return [" ", el("span", { class: "ratio" }, text && `×${text}`)];
}
